/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * LitePulse: a board, as transports and all above them see it
 *
 * Layers of litepulse.ko, bottom up. A file includes and calls only files that stand before it. It
 * reaches a later file through what that one has registered: a sink, or a structure of operations.
 *   time record entry clock_map packed phc	pure arithmetic
 *   board			what one board is: its lifetime, locks, single accesses, session
 *   trace		tracepoints
 *   mmio			transport of a core whose registers are mapped
 *   early			the kernel's messages before the driver is bound
 *   sink			who gets events
 *   ingest			records of the transport become events of the sinks
 *   table output		LIN entries; claim, launches, train, responder
 *   tty_port		one port, as the files of the tty see it
 *   tty_send tty_receive tty_settings tty_serial tty	device of the serial core
 *   ptp			device of the PTP core
 *   console			the tty as the kernel's console
 *   ring reader claim_file chardev	/dev/litepulseN
 *   consumer			interface for other modules
 *   debugfs			what one who debugs the driver wants to see
 *   core			probe, remove, suspend
 *
 * Other modules: litepulse_uartbone.ko is a transport, litepulse_lin.ko is a consumer.
 *
 * Locks, outermost first. What stands in a structure beside its lock is protected by it:
 *   litepulse.break_mutex  one break of tcsendbreak(), from its begin to its end
 *   litepulse.gone_sem     for reading: every call from user space that may touch the hardware,
 *                          between litepulse_board_enter() and litepulse_board_leave()
 *   litepulse.claim.mutex  who holds the claim; what changes output or clock comes one at a time,
 *                          between litepulse_board_begin_command() and _end_command()
 *   litepulse.setup.mutex  the settings that are made of what all sinks want
 *   litepulse.line.mutex   the line word is written by one at a time
 *   litepulse.feed.lock    sinks and what they are given; interrupts off
 *   uart_port.lock         the tty
 *   the transport's own    innermost
 *
 * A lock that is held while a board on a cable is waited for may be held for seconds. A program
 * waits for such a lock only until it is killed; what undoes something (the end of a claim or of a
 * subscription, a removal), or cannot report an error, waits until it has it.
 */
#ifndef LITEPULSE_H
#define LITEPULSE_H

#include <linux/kref.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "litepulse_clock_map.h"
#include "litepulse_record.h"
#include "litepulse_regs.h"
#include "litepulse_time.h"

struct dentry;
struct device;
struct litepulse;
struct platform_device;
struct seq_file;

/* --- transport --- */

/* A word for the configuration window: LITEPULSE_CFG_* and its value. */
struct litepulse_word {
	u32 offset;
	u32 value;
};

/* Number of a configuration word, as the events of the core have it. */
#define LITEPULSE_CONFIG_INDEX(offset) (((offset) - LITEPULSE_WIN_CONFIG) / 4)

/* The two streams of records: received bytes, and all other events. */
enum litepulse_stream {
	LITEPULSE_EVENTS,
	LITEPULSE_BYTES,
	LITEPULSE_STREAMS
};

/**
 * struct litepulse_header - header of a stream, and when it was read
 * @ready: number of records that can be read
 * @tick: tick of the snapshot; no ready record is younger
 * @mono: CLOCK_MONOTONIC at that tick, ns; 0: not known
 * @uncertainty: the tick was taken within this many ns of @mono
 * @view: what is known of other ticks; NULL: no more than that, or than @line
 * @line: the same, if it has to be cheap
 */
struct litepulse_header {
	u32 ready;
	u64 tick;
	u64 mono;
	u32 uncertainty;
	const struct litepulse_clock_view *view;
	const struct litepulse_clock_line *line;
};

/* The tick in a header of LITEPULSE_HEADER_WORDS words. */
static inline u64 litepulse_header_tick(const u32 *header)
{
	return (u64)header[LITEPULSE_HEADER_TICK_HI / 4] << 32 |
		header[LITEPULSE_HEADER_TICK_LO / 4];
}

/**
 * struct litepulse_moderation - when a stream interrupts, whichever comes first
 * @level: number of ready records at which it does; at least 1
 * @age_us: waiting time of the oldest record at which it does, us; 0: not by age
 * @idle_us: time without a new record after which it does, us; 0: not by silence
 */
struct litepulse_moderation {
	unsigned int level;
	unsigned int age_us;
	unsigned int idle_us;
};

/* The oldest minor version of the register map that is driven, and since which it has what. */
#define LITEPULSE_MINOR_OLDEST 6
#define LITEPULSE_MINOR_REST 7
#define LITEPULSE_MINOR_LEVELS 8
#define LITEPULSE_MINOR_BURST 9
#define LITEPULSE_MINOR_WIDTH 10 /* and fast trains */
#define LITEPULSE_SHORT_TIME BIT(24) /* before BURST, times of the responder were below it */

/* Of the line word: the level between launches. */
#define LITEPULSE_LINE_REST (LITEPULSE_CFG_LINE_REST_MASK | LITEPULSE_CFG_LINE_REST_LEVEL_MASK)

/**
 * struct litepulse_host - the host's clocks at one moment
 * @raw: CLOCK_MONOTONIC_RAW, ns
 * @mono: CLOCK_MONOTONIC, ns
 * @cycles: the counter that they are made from
 * @source_count: changes whenever that is another one
 * @offset_known: @offset is right while @set_count does not change
 * @offset: CLOCK_REALTIME less @mono, ns
 * @set_count: changes whenever CLOCK_REALTIME is set
 */
struct litepulse_host {
	u64 raw;
	u64 mono;
	u64 cycles;
	u8 source_count;
	bool offset_known;
	u64 offset;
	unsigned int set_count;
};

/**
 * struct litepulse_stamper - reads clocks of the host
 * @before: called before the tick is taken; interrupts are off if the transport does not sleep
 * @after: called after it was taken
 * @data: for both
 * @request_ns: answer: the tick was taken at least so long after @before; 0 at first; or NULL
 * @answer_ns: answer: and at least so long before @after; likewise
 */
struct litepulse_stamper {
	void (*before)(void *data);
	void (*after)(void *data);
	void *data;
	u64 *request_ns;
	u64 *answer_ns;
};

/* What a part of the driver waits for: bits of the CSR ev_enable. */
#define LITEPULSE_WANT_EVENTS	LITEPULSE_CSR_EV_ENABLE_EVENT_MASK
#define LITEPULSE_WANT_BYTES	LITEPULSE_CSR_EV_ENABLE_RECEIVE_MASK
#define LITEPULSE_WANT_TRANSMIT LITEPULSE_CSR_EV_ENABLE_TRANSMIT_MASK
#define LITEPULSE_WANT_LAUNCH	LITEPULSE_CSR_EV_ENABLE_LAUNCH_MASK
#define LITEPULSE_WANT_DRAINED	LITEPULSE_CSR_EV_ENABLE_DRAINED_MASK

/**
 * struct litepulse_io_ops - how the core is reached
 *
 * All but @moderate, @pause, @restarted, @want and @show return a negative errno if the core cannot
 * be reached, -ENODEV if it is gone. A transport that sleeps is called from processes only, any
 * other from any context.
 * Reads return -EINTR if a killed process would have to wait for its turn. Writes wait: the end of
 * a claim must not be abandoned. The transport hands over records by litepulse_take_events(),
 * litepulse_take_bytes() and
 * litepulse_take_room().
 *
 * @sleeps: calls may sleep
 * @read_csr: @count registers from byte offset @offset on
 * @write_csr: one register
 * @time: the board's tick; @stamper, if not NULL, reads the host's clocks just before and after
 *	it was taken
 * @read_config: configuration words as they were written last, by whomever
 * @configure: words, in order, and waits for the answers; -EINVAL if the core refused any
 * @launch: queues launches of 4 words each while there is room; returns how many
 * @transmit: queues bytes of the tty while there is room; returns how many
 * @want: from now on service is requested for these LITEPULSE_WANT_* of @mask
 * @moderate: how eagerly
 * @pause: hands over nothing until it is called with false; from a process, while attached; may be
 *	NULL. Ending the attachment ends it
 * @restarted: the core was reset: its streams have begun again; from a process. NULL: the transport
 *	keeps no place in them
 * @show: its state in lines for a person, from a process, without an access to the core; may be
 *	NULL
 */
struct litepulse_io_ops {
	bool sleeps;
	int (*read_csr)(void *context, u32 offset, u32 *words, unsigned int count);
	int (*write_csr)(void *context, u32 offset, u32 word);
	int (*time)(void *context, u64 *tick, const struct litepulse_stamper *stamper);
	int (*read_config)(void *context, u32 offset, u32 *words, unsigned int count);
	int (*configure)(void *context, const struct litepulse_word *words, unsigned int count);
	int (*launch)(void *context, const u32 *words, unsigned int count);
	int (*transmit)(void *context, const u8 *bytes, unsigned int count);
	void (*want)(void *context, u32 mask, u32 wanted);
	void (*moderate)(void *context, const struct litepulse_moderation *events,
			 const struct litepulse_moderation *bytes);
	void (*pause)(void *context, bool pause);
	void (*restarted)(void *context);
	void (*show)(void *context, struct seq_file *file);
};

/**
 * struct litepulse_platform_data - for a platform device whose registers are not mapped
 * @ops: operations of its transport
 * @context: their first argument
 * @attach: lets the transport hand over records to a board. NULL ends it: no record is under way on
 *	return
 * @keeps: the board has power of its own: it may have been ours before, and what was kept then
 *	still runs. Its watchdog is set
 * @bus_hz: clock of the board's bus; 0: unknown, not above that of the core
 */
struct litepulse_platform_data {
	const struct litepulse_io_ops *ops;
	void *context;
	int (*attach)(void *context, struct litepulse *lp);
	bool keeps;
	u32 bus_hz;
};

/* --- the device --- */

/* Shortest bit of a LIN slave in cycles of the core, which looks up its table within a bit. */
#define LITEPULSE_LIN_BIT_CYCLES_MIN 64

/* A change that waits for its pulse has its answer expected until the next command. */
enum litepulse_answer_state {
	LITEPULSE_ANSWER_NONE,
	LITEPULSE_ANSWER_EXPECTED,
	LITEPULSE_ANSWER_COME,
};

/**
 * struct litepulse_claimant - who may launch, run the train and program the responder
 * @keep: what runs goes on when the claim ends
 * @stale: the board was reset since, or a suspend has stopped what ran or waited: everything but
 *	the end of the claim is -ESTALE
 * @follows: its train follows the PTP clock, which alone may start and change it
 * @name: of this part of the kernel, for a person; NULL: of a module that gave none
 * @pid: of the program that claimed; 0: a part of the kernel did
 */
struct litepulse_claimant {
	bool keep;
	bool stale;
	bool follows;
	const char *name;
	pid_t pid;
};

/**
 * struct litepulse_take_ops - what a transport hands over
 * @events: records of the event stream, which were ready when @header was read. If interrupts are
 *	off, no more than litepulse_records_at_once(). Those who wait for something are woken once,
 *	after all of them
 * @bytes: likewise of the receive stream
 * @room: LITEPULSE_WANT_TRANSMIT, _LAUNCH, _DRAINED that have come; they are no longer requested
 * @reached: the core can be reached again after a time in which it could not
 */
struct litepulse_take_ops {
	void (*events)(struct litepulse *lp, const struct litepulse_header *header,
		       const u32 *words, unsigned int count);
	void (*bytes)(struct litepulse *lp, const struct litepulse_header *header,
		      const u32 *words, unsigned int count);
	void (*room)(struct litepulse *lp, u32 pending);
	void (*reached)(struct litepulse *lp);
};

/**
 * struct litepulse_port_ops - the tty, for what is below it. It owns profile 0 and the de pin
 *
 * All but @room and @sysrq are called under claim.mutex, and sleep.
 *
 * @room: LITEPULSE_WANT_TRANSMIT or _DRAINED has come. Any context but with uart_port.lock held
 * @sysrq: litepulse.feed.sysrq was set. Any context, no lock held
 * @set_driver_enable: LITEPULSE_CFG_DRIVER_ENABLE, lead and lag of the de pin, and
 *	LITEPULSE_CFG_ECHO, tail of the echo in ticks; NULL: it stays. 0, -EBUSY if the lead would
 *	change while a train runs, or an error of the transport: then the board has, or gets back,
 *	what it had
 * @set_port: ticks that marks last, and whether the tty's bytes are marks; NULL: it stays. 0,
 *	-EBUSY if profile 0 is in use, or an error of the transport: then as above
 * @train_starts: a train is about to start: the lead that the tty was given is in force on return,
 *	and the tty gets no other lead while the train runs
 * @fits_lin: 0 if profile 0 is one that a LIN slave can have, else -ERANGE; or -EINTR
 */
struct litepulse_port_ops {
	void (*room)(struct litepulse *lp, u32 pending);
	void (*sysrq)(struct litepulse *lp);
	int (*set_driver_enable)(struct litepulse *lp, const u32 *word, const u32 *echo);
	int (*set_port)(struct litepulse *lp, const u32 *width, const bool *tty);
	void (*train_starts)(struct litepulse *lp);
	int (*fits_lin)(struct litepulse *lp);
};

/* Words of this many events or bytes become records before these are delivered. */
#define LITEPULSE_RECORDS_AT_ONCE 16u
/* About this many times a record is given to a sink while interrupts are off. */
#define LITEPULSE_PUTS_AT_ONCE 512u

struct litepulse_tty;
struct litepulse_ptp;
struct litepulse_chardev;

/* What triggers an armed responder. */
struct litepulse_trigger {
	u16 channel; /* a bit; 0: there is none */
	u8 length; /* of its filter, samples; 1: it has none */
};

/* What timed output uses, and others must not change. */
struct litepulse_uses {
	u8 train, responder, queue; /* line profiles: a bit for each that it may use */
	bool stops; /* the queue has had a wait that may have stopped it until a flush */
	struct litepulse_trigger trigger; /* of the responder, which may still be armed */
};

struct litepulse_profile_settings {
	u32 format; /* LITEPULSE_CFG_PROFILE_FORMAT_*, without the period's upper bits */
	u64 period; /* of a bit, in 2^-8 ticks */
};

/**
 * struct litepulse_feed - sinks, and what they are given
 * @lock: interrupts off
 * @sinks: struct litepulse_sink
 * @sink_count: of them; also read without the lock
 * @limited_sinks: number of those that are limited
 * @only_sink: takes the records of a stream as they are; NULL: none does
 * @readers: struct litepulse_reader
 * @events: of the event stream
 * @bytes: of the receive stream
 * @restarts: resets of the board
 * @want_ns: a sink wants times that are reckoned from the host's clock
 * @phc_ns: what the PTP clock showed at the tick of an event, ns; NULL: there is no such clock
 * @listened_to: a sink wants anything
 * @sysrq: a request to the kernel was received, for litepulse.port_ops
 */
struct litepulse_feed {
	spinlock_t lock; /* what follows */
	struct list_head sinks;
	unsigned int sink_count;
	unsigned int limited_sinks;
	struct litepulse_sink *only_sink[LITEPULSE_STREAMS];
	struct list_head readers;
	struct litepulse_sequence events;
	struct litepulse_sequence bytes;
	u64 restarts;
	bool want_ns;
	u64 (*phc_ns)(struct litepulse *lp, u64 tick);
	bool listened_to;
	bool sysrq;
};

/**
 * struct litepulse_ingest - the way from the transport to the sinks; litepulse.feed.lock
 * @epoch: number of resets since which ticks count from 0 again
 * @taken: number of records that the transport has handed over
 * @records: of one stream, decoded and then delivered; on the stack each call would clear them
 */
struct litepulse_ingest {
	unsigned int epoch;
	u64 taken[LITEPULSE_STREAMS];
	struct litepulse_record records[LITEPULSE_RECORDS_AT_ONCE * LITEPULSE_RECORDS_PER_EVENT];
};

/**
 * struct litepulse_answer - the train's answer to its latest command; litepulse.feed.lock
 * @record: it
 * @state: whether it has come
 * @since: the command was given after this tick
 * @stop: the command was a stop
 * @wait: for it
 */
struct litepulse_answer {
	struct litepulse_record record;
	enum litepulse_answer_state state;
	u64 since;
	bool stop;
	wait_queue_head_t wait;
};

/**
 * struct litepulse_queue - room in the queue of launches
 * @wait: for it
 * @full: the queue was full, and no room was reported since; no lock
 */
struct litepulse_queue {
	wait_queue_head_t wait;
	bool full;
};

/**
 * struct litepulse_clock - whether the board's clock goes on; litepulse.feed.lock
 * @reading: the latest one, if the board has power of its own
 * @breaks: how often the ticks since the one before did not fit the time
 */
struct litepulse_clock {
	struct litepulse_reading reading;
	unsigned int breaks;
};

/**
 * struct litepulse_setup - the settings that are made of what all sinks want
 * @mutex: theirs
 * @filter: FILTER as it was written last
 * @responder_listens: to bytes or breaks: the receiver is on for it
 * @unmoderated: number of those who wait for an answer
 * @moderation: what the transport was given last
 * @interrupts_max: about this many interrupts a second are taken as they come. A transport that has
 *	none ignores it. Read without the mutex, too
 * @receive_spare: received bytes for which the board has room when it interrupts
 */
struct litepulse_setup {
	struct mutex mutex; /* what follows */
	u32 filter;
	bool responder_listens;
	unsigned int unmoderated;
	struct litepulse_moderation moderation[LITEPULSE_STREAMS];
	unsigned int interrupts_max;
	unsigned int receive_spare;
};

/**
 * struct litepulse_line - the line word
 * @lock: its own, as the tty changes @word under uart_port.lock
 * @mutex: around writing it, if the transport sleeps
 * @word: LITEPULSE_CFG_LINE
 * @error: of writing it last; no lock
 * @work: writes it, if the transport sleeps
 */
struct litepulse_line {
	spinlock_t lock; /* @word */
	struct mutex mutex; /* around writing @word */
	u32 word;
	int error;
	struct work_struct work;
};

/**
 * struct litepulse_claim_state - the file that may launch, and what the board was set to do
 * @mutex: lets the claim's commands in one at a time
 * @claimant: the file that holds it, or NULL
 * @profiles_set: those whose settings are known, but for the tty's; bit: number
 * @profiles_inverted: those of them
 * @profiles_found: others may be set, too: the board was found with kept output
 * @profiles: their settings
 * @uses: of the claim's own output; the trigger: litepulse.setup.mutex
 * @kept_uses: of what earlier claims have kept; likewise. Its profiles are read without the mutex,
 *	too
 * @kept: SESSION is to say that output goes on without us
 * @unwatched: SESSION says that the board does not watch for us: nothing runs
 * @pledge_unknown: what SESSION says is not known: writing it failed
 * @unstopped: output of an earlier claim is to be stopped: it could not, or a reset
 * @train: the latest one; period 0: none was started by us
 * @train_before: what it was before the change that was taken last, which may still be refused
 * @last_launch: litepulse_entry_last() of the latest entry queued
 * @lin_answers: a bit for each identifier whose entry may answer
 */
struct litepulse_claim_state {
	struct mutex mutex; /* what follows */
	struct litepulse_claimant *claimant;
	u8 profiles_set, profiles_inverted;
	bool profiles_found;
	struct litepulse_profile_settings profiles[LITEPULSE_PROFILES];
	struct litepulse_uses uses;
	struct litepulse_uses kept_uses;
	bool kept;
	bool unwatched;
	bool pledge_unknown;
	bool unstopped;
	struct litepulse_train train;
	struct litepulse_train train_before;
	u64 last_launch;
	u64 lin_answers;
};

/**
 * struct litepulse_restart - what the board lacks of what the driver wants of it
 * @doubts: how often a setting may not have arrived
 * @settled: @doubts when all settings were written last; litepulse.claim.mutex, as all that
 *	follows
 * @pending: the board was reset, and lacks settings since
 * @ticks_go_on: it was its watchdog only: it lacks nothing but output
 * @breaks_known: of litepulse.clock.breaks: there was no reset since
 * @unreported: and the sinks do not know of it yet
 * @failing: the latest attempt failed, which the log says
 * @watch_work: notices a reset while nothing comes
 * @work: writes all settings, again and again until that has succeeded
 */
struct litepulse_restart {
	atomic_t doubts;
	int settled;
	bool pending;
	bool ticks_go_on;
	unsigned int breaks_known;
	bool unreported;
	bool failing;
	struct delayed_work watch_work;
	struct work_struct work;
};

/**
 * struct litepulse - one core
 *
 * Constant after probe, but for @transmit_low:
 * @dev: the platform device; not after gone
 * @id: N of /dev/litepulseN and /dev/ttyPULSEN
 * @ops: transport
 * @context: of the transport
 * @attach: of the transport
 * @take: gets what the transport hands over
 * @port_ops: of the tty
 * @keeps: the board has power of its own
 * @watch_limit: of its watchdog: LITEPULSE_CSR_SESSION_LIMIT
 * @rate: of the ticks
 * @clock_num: of the core's clock, Hz
 * @clock_den: of the core's clock
 * @version: of the core, major << 16 | minor
 * @simulated: no board
 * @has_port: the core has a marker port
 * @has_sequence: its queue has waits and relative entries
 * @samples: ticks per cycle
 * @inputs: capture inputs
 * @event_depth: events the board holds; @receive_depth, @transmit_depth, @launch_depth likewise
 * @lin_entries: identifiers below it can have an answer; 0: the core is no LIN slave
 * @transmit_low: LITEPULSE_WANT_TRANSMIT comes when at most this many bytes wait; of a transport
 *	that sleeps the tty changes it with its bit rate
 *
 * @memory: bytes of FIFOs and rings of all files
 * @gone_sem: written: all calls have ended, and those that begin see @gone
 * @session: SESSION as the board had it last; litepulse.feed.lock
 * @break_mutex: breaks of tcsendbreak() come one after the other
 * @lin: for the driver in litepulse_lin.ko
 */
struct litepulse {
	struct device *dev;
	int id;
	const struct litepulse_io_ops *ops;
	void *context;
	int (*attach)(void *context, struct litepulse *lp);
	const struct litepulse_take_ops *take;
	const struct litepulse_port_ops *port_ops;
	bool keeps;
	u32 watch_limit;
	struct litepulse_rate rate;
	u32 clock_num;
	u32 clock_den;
	u32 version;
	bool simulated;
	bool has_port;
	bool has_sequence;
	unsigned int samples;
	unsigned int inputs;
	unsigned int event_depth;
	unsigned int receive_depth;
	unsigned int transmit_depth;
	unsigned int transmit_low;
	unsigned int launch_depth;
	unsigned int lin_entries;

	struct kref ref;
	atomic_long_t memory;
	struct rw_semaphore gone_sem;
	bool gone;

	struct litepulse_feed feed;
	struct litepulse_ingest ingest;
	struct litepulse_answer answer;
	struct litepulse_queue queue;
	struct litepulse_clock clock;
	u16 session;
	struct litepulse_setup setup;
	struct litepulse_line line;
	struct mutex break_mutex; /* one break at a time */
	struct litepulse_claim_state claim;
	struct litepulse_restart restart;

	struct litepulse_chardev *chardev;
	struct litepulse_tty *tty;
	struct litepulse_ptp *ptp;
	struct platform_device *lin;
	struct dentry *debugfs;
};

/* Whether the core's register map is at least that old, see LITEPULSE_MINOR_OLDEST. */
static inline bool litepulse_has(const struct litepulse *lp, unsigned int minor)
{
	return lp->version >= (LITEPULSE_VERSION_MAJOR << 16 | minor);
}

/* A core with a newer map is read, and sends nothing: its map only adds to ours. */
static inline bool litepulse_is_newer(const struct litepulse *lp)
{
	return litepulse_has(lp, LITEPULSE_VERSION_MINOR + 1);
}

/* As struct litepulse_take_ops says; for transports. */
static inline void litepulse_take_events(struct litepulse *lp,
					 const struct litepulse_header *header,
					 const u32 *words, unsigned int count)
{
	lp->take->events(lp, header, words, count);
}

static inline void litepulse_take_bytes(struct litepulse *lp, const struct litepulse_header *header,
					const u32 *words, unsigned int count)
{
	lp->take->bytes(lp, header, words, count);
}

/* How many records may be delivered with interrupts off, as each goes to all sinks: 1 to @most. */
static inline unsigned int litepulse_records_at_once(const struct litepulse *lp, unsigned int most)
{
	const unsigned int sinks = READ_ONCE(lp->feed.sink_count);

	/* A division takes long. */
	if (likely(sinks <= 1))
		return min(LITEPULSE_PUTS_AT_ONCE, most);
	return clamp(LITEPULSE_PUTS_AT_ONCE / sinks, 1u, most);
}

static inline void litepulse_take_room(struct litepulse *lp, u32 pending)
{
	lp->take->room(lp, pending);
}

static inline void litepulse_take_reached(struct litepulse *lp)
{
	lp->take->reached(lp);
}

/*
 * A board on a cable that hears nothing for this time stops its output, unless it is to be kept.
 * How this fits to all times of a cable stands in litepulse_uartbone_bus.c.
 */
#define LITEPULSE_WATCHDOG_SECONDS 8
/* How long to wait for an answer of the core: it takes microseconds, a cable longer. */
#define LITEPULSE_PATIENCE_SLEEPS_SECONDS 5
#define LITEPULSE_PATIENCE_SECONDS 1

/* In jiffies. */
static inline unsigned long litepulse_board_patience(const struct litepulse *lp)
{
	return (lp->ops->sleeps ? LITEPULSE_PATIENCE_SLEEPS_SECONDS : LITEPULSE_PATIENCE_SECONDS) *
		HZ;
}

/* litepulse_board.c */
extern struct workqueue_struct *litepulse_board_workers;

int litepulse_board_init(void);
void litepulse_board_exit(void);
struct litepulse *litepulse_board_get(struct litepulse *lp);
void litepulse_board_put(struct litepulse *lp);
void litepulse_board_set_gone(struct litepulse *lp);
int litepulse_board_enter(struct litepulse *lp);
void litepulse_board_leave(struct litepulse *lp);
int litepulse_board_begin_command(struct litepulse *lp);
void litepulse_board_end_command(struct litepulse *lp);
int litepulse_board_read_csr(struct litepulse *lp, u32 offset, u32 *word);
int litepulse_board_configure(struct litepulse *lp, const struct litepulse_word *words,
			      unsigned int count);
int litepulse_board_now(struct litepulse *lp, u64 *tick);
int litepulse_board_header(struct litepulse *lp, struct litepulse_header *now);
int litepulse_board_time(struct litepulse *lp, struct litepulse_time *time);
void litepulse_board_read_host(struct litepulse_host *host);
int litepulse_board_check_session(struct litepulse *lp);
int litepulse_board_usable(struct litepulse *lp, const struct litepulse_claimant *claimant);
int litepulse_board_pledge(struct litepulse *lp, bool keep, bool watched);
void litepulse_board_schedule_restart(struct litepulse *lp);
void litepulse_board_set_line(struct litepulse *lp, u32 mask, u32 bits);
int litepulse_board_flush_line(struct litepulse *lp);
int litepulse_board_set_profile(struct litepulse *lp, unsigned int index, u32 format, u64 period);
int litepulse_board_identify(struct litepulse *lp);
int litepulse_board_find_kept(struct litepulse *lp, bool *kept);
u8 litepulse_board_filter_length(u32 filter, u16 channel);
int litepulse_board_name_session(struct litepulse *lp);
int litepulse_board_write_session(struct litepulse *lp, bool keep, bool watched);
int litepulse_board_write_line(struct litepulse *lp);
void litepulse_board_doubt(struct litepulse *lp);
struct litepulse *litepulse_board_create(struct device *dev,
					 const struct litepulse_platform_data *transport);
u32 litepulse_board_watch_limit(const struct litepulse *lp, u32 bus_hz);

#endif /* LITEPULSE_H */
