/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * LitePulse: what the parts of the driver have in common
 *
 *   transport (litepulse_mmio.c, or a bridge)
 *     --records-->  litepulse_ingest.c
 *     --events-->   sinks (litepulse_chardev.c, litepulse_ptp.c) and litepulse_tty.c
 *   litepulse_chardev.c, litepulse_ptp.c
 *     --commands--> litepulse_output.c: claim, launches, train, responder
 *     --words-->    transport
 *
 * Locks, outermost first:
 *   litepulse.gone_sem     for reading: every call from user space that may touch the hardware,
 *                          between litepulse_enter() and litepulse_leave()
 *   litepulse.claim_mutex  who holds the claim; what changes output or clock comes one at a time,
 *                          between litepulse_begin_command() and litepulse_end_command()
 *   litepulse.setup_mutex  the settings that are made of all sinks' wishes
 *   uart_port.lock         the tty
 *   litepulse.lock         sinks and what ingest hands them; interrupts off
 *   the transport's own    innermost
 */
#ifndef LITEPULSE_H
#define LITEPULSE_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "litepulse_record.h"
#include "litepulse_regs.h"
#include "litepulse_time.h"

struct device;
struct litepulse;
struct platform_device;

/* --- transport --- */

/* A word for the configuration window: LITEPULSE_CFG_* and its value. */
struct litepulse_word {
	u32 offset;
	u32 value;
};

/* Number of a configuration word, as the events of the core have it. */
#define LITEPULSE_CONFIG_INDEX(offset) (((offset) - LITEPULSE_WIN_CONFIG) / 4)

/* The two streams of records: of received bytes, and of all else. */
enum litepulse_stream {
	LITEPULSE_EVENTS,
	LITEPULSE_BYTES,
	LITEPULSE_STREAMS
};

/**
 * struct litepulse_header - header of a stream, and when it was read
 * @ready: records that can be read
 * @tick: of the snapshot; no ready record is younger
 * @mono: CLOCK_MONOTONIC of it, ns, if asked for
 * @uncertainty: of @mono, ns: the tick was taken within it
 */
struct litepulse_header {
	u32 ready;
	u64 tick;
	u64 mono;
	u32 uncertainty;
};

/**
 * struct litepulse_moderation - when a stream asks for service
 * @level: as soon as so many records are ready; at least 1
 * @age_us: or the oldest has waited so long; 0: never
 * @idle_us: or none came for so long; 0: never
 */
struct litepulse_moderation {
	unsigned int level;
	unsigned int age_us;
	unsigned int idle_us;
};

/* So many cores: numbers of /dev/litepulseN and /dev/ttyPULSEN. */
#define LITEPULSE_DEVICES 16

/* Reads clocks of the host, interrupts off if the transport does not sleep. */
struct litepulse_stamper {
	void (*before)(void *data);
	void (*after)(void *data);
	void *data;
};

/* What a driver's part waits for: bits of the CSR ev_enable. */
#define LITEPULSE_WANT_EVENTS	LITEPULSE_CSR_EV_ENABLE_EVENT_MASK
#define LITEPULSE_WANT_BYTES	LITEPULSE_CSR_EV_ENABLE_RECEIVE_MASK
#define LITEPULSE_WANT_TRANSMIT LITEPULSE_CSR_EV_ENABLE_TRANSMIT_MASK
#define LITEPULSE_WANT_LAUNCH	LITEPULSE_CSR_EV_ENABLE_LAUNCH_MASK
#define LITEPULSE_WANT_DRAINED	LITEPULSE_CSR_EV_ENABLE_DRAINED_MASK

/**
 * struct litepulse_io_ops - how the core is reached
 *
 * All but @moderate and @want return a negative errno if the core cannot be reached (-ENODEV: it
 * is gone). A transport that sleeps is called from processes only; one that does not, from
 * anywhere. Records come the other way, by litepulse_take_events() and its sisters.
 *
 * @sleeps: calls may sleep
 * @read_csr: @count registers from byte offset @offset on
 * @write_csr: one register
 * @time: the board's tick; @stamper, if not NULL, reads the host's clocks just before and after
 *	it was taken
 * @configure: words, in order, and waits for the answers; -EINVAL if the core refused any
 * @launch: queues launches of 4 words each while there is room; returns how many
 * @transmit: queues bytes of the tty while there is room; returns how many
 * @want: from now on service is asked for these LITEPULSE_WANT_* of @mask
 * @moderate: how eagerly
 */
struct litepulse_io_ops {
	bool sleeps;
	int (*read_csr)(void *context, u32 offset, u32 *words, unsigned int count);
	int (*write_csr)(void *context, u32 offset, u32 word);
	int (*time)(void *context, u64 *tick, const struct litepulse_stamper *stamper);
	int (*configure)(void *context, const struct litepulse_word *words, unsigned int count);
	int (*launch)(void *context, const u32 *words, unsigned int count);
	int (*transmit)(void *context, const u8 *bytes, unsigned int count);
	void (*want)(void *context, u32 mask, u32 wanted);
	void (*moderate)(void *context, const struct litepulse_moderation *events,
			 const struct litepulse_moderation *bytes);
};

/**
 * struct litepulse_platform_data - for a platform device whose registers are not mapped
 * @ops: of its transport
 * @context: for them
 * @attach: may hand over records from now on; NULL: no longer, and none is under way on return
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

/**
 * struct litepulse_sink - somebody who gets events
 * @node: in litepulse.sinks while it wants anything; litepulse.lock
 * @limited: only so many of this sort may want anything at a time
 * @want: what it gets; litepulse.lock
 * @clock: wanted in litepulse_event.ns, LITEPULSE_CLOCK_*
 * @selector: made of @want; litepulse.lock
 * @since: tick from which on it wants each stream; litepulse.lock
 * @got: something was put since the last @done; litepulse.lock
 * @put: takes one event, ns filled in. Called under litepulse.lock
 * @done: no more for now: wakes whoever waits; may be NULL. Called under litepulse.lock
 */
struct litepulse_sink {
	struct list_head node;
	struct litepulse_subscribe want;
	struct litepulse_selector selector;
	u64 since[LITEPULSE_STREAMS];
	bool limited;
	bool got;
	void (*put)(struct litepulse_sink *sink, const struct litepulse_event *event);
	void (*done)(struct litepulse_sink *sink);
};

/**
 * struct litepulse_claimant - who may launch, run the train and program the responder
 * @keep: what runs goes on when the claim ends
 * @stale: the board was reset since: everything but the end of the claim is -ESTALE
 */
struct litepulse_claimant {
	bool keep;
	bool stale;
};

enum litepulse_answer {
	LITEPULSE_ANSWER_NONE,
	LITEPULSE_ANSWER_EXPECTED,
	LITEPULSE_ANSWER_COME,
};

struct litepulse_tty;
struct litepulse_ptp;
struct litepulse_chardev;

/**
 * struct litepulse - one core
 *
 * Constant after probe:
 * @dev: the platform device; not after gone
 * @id: N of /dev/litepulseN and /dev/ttyPULSEN
 * @ops: transport
 * @context: of the transport
 * @attach: of the transport
 * @keeps: the board has power of its own
 * @watch_limit: of its watchdog: LITEPULSE_CSR_SESSION_LIMIT
 * @rate: of the ticks
 * @clock_num: of the core's clock, Hz
 * @clock_den: of the core's clock
 * @version: of the core, major << 16 | minor
 * @simulated: no board
 * @samples: ticks per cycle
 * @inputs: capture inputs
 * @event_depth: events the board holds; @receive_depth, @transmit_depth, @launch_depth likewise
 * @transmit_low: LITEPULSE_WANT_TRANSMIT comes when at most so many bytes wait; of a transport that
 *	sleeps the tty changes it with its bit rate
 */
struct litepulse {
	struct device *dev;
	int id;
	const struct litepulse_io_ops *ops;
	void *context;
	int (*attach)(void *context, struct litepulse *lp);
	bool keeps;
	u32 watch_limit;
	struct litepulse_rate rate;
	u32 clock_num;
	u32 clock_den;
	u32 version;
	bool simulated;
	unsigned int samples;
	unsigned int inputs;
	unsigned int event_depth;
	unsigned int receive_depth;
	unsigned int transmit_depth;
	unsigned int transmit_low;
	unsigned int launch_depth;

	struct kref ref;
	/* Written: nobody is in a call any more, and whoever comes sees @gone. */
	struct rw_semaphore gone_sem;
	bool gone;

	/* Protects what follows, up to the next comment. */
	spinlock_t lock;
	struct list_head sinks;
	unsigned int limited_sinks; /* so many of them are limited */
	struct list_head readers; /* all files of litepulse_chardev.c */
	struct litepulse_sequence events;
	struct litepulse_sequence bytes;
	u64 restarts;
	u16 session;
	bool want_ns; /* a sink wants another clock than none */
	bool bytes_wanted; /* a sink wants received bytes, not only the tty */
	bool listened_to; /* a sink wants anything, or the tty is open */
	/* The tty gets no older bytes; 0 once one has come. */
	u64 tty_since;
	struct litepulse_event answer; /* of the train to its latest command... */
	enum litepulse_answer answer_state;
	u64 answer_since; /* ... which was given after this tick... */
	bool answer_stop; /* ... and was a stop */
	wait_queue_head_t answer_wait;
	wait_queue_head_t launch_wait; /* there is room in the queue of launches */
	bool launch_full; /* there was none, and none was reported since; no lock */

	/* For the settings that are made of all sinks' and the tty's wishes. */
	struct mutex setup_mutex;
	struct litepulse_moderation tty_moderation; /* level 0: the tty is closed */
	bool responder_listens; /* to bytes or breaks: the receiver is on for it; setup_mutex */
	unsigned int hurry; /* somebody waits for an answer: no moderation; setup_mutex */

	/* The line word. Its own lock, as the tty changes it under uart_port.lock. */
	spinlock_t line_lock;
	u32 line;
	struct work_struct line_work; /* writes it, if the transport sleeps */

	/* Protects what follows, up to @last_launch; lets the claim's commands in one at a time. */
	struct mutex claim_mutex;
	struct litepulse_claimant *claimant;
	bool kept; /* what runs on the board goes on without us; as its SESSION says */
	bool unwatched; /* nothing runs, and the board does not care whether it hears from us */
	bool unstopped; /* what the last one left could not be stopped: a cable that failed */
	u64 last_launch; /* tick of the latest one queued: the next must not be earlier */

	struct delayed_work watch_work; /* notices a reset while nothing comes */
	struct work_struct restart_work;

	struct litepulse_chardev *chardev;
	struct litepulse_tty *tty;
	struct litepulse_ptp *ptp;
};

/* The core answers within microseconds; a cable takes its time to tell. In jiffies. */
static inline unsigned long litepulse_patience(const struct litepulse *lp)
{
	return lp->ops->sleeps ? 5 * HZ : HZ;
}

/* litepulse_core.c */
struct litepulse *litepulse_get(struct litepulse *lp);
void litepulse_put(struct litepulse *lp);
void litepulse_set_gone(struct litepulse *lp);
int litepulse_enter(struct litepulse *lp);
void litepulse_leave(struct litepulse *lp);
int litepulse_begin_command(struct litepulse *lp);
void litepulse_end_command(struct litepulse *lp);
int litepulse_read_csr(struct litepulse *lp, u32 offset, u32 *word);
int litepulse_configure(struct litepulse *lp, const struct litepulse_word *words,
			unsigned int count);
int litepulse_now(struct litepulse *lp, u64 *tick);
int litepulse_time(struct litepulse *lp, struct litepulse_time *time);
int litepulse_check_session(struct litepulse *lp);
int litepulse_pledge(struct litepulse *lp, bool keep, bool watched);
void litepulse_schedule_restart(struct litepulse *lp);
void litepulse_set_line(struct litepulse *lp, u32 mask, u32 bits);
void litepulse_flush_line(struct litepulse *lp);
int litepulse_set_profile(struct litepulse *lp, unsigned int index, u32 format, u64 period);
void litepulse_moderate(struct litepulse *lp);
int litepulse_stop_output(struct litepulse *lp);
void litepulse_hurry(struct litepulse *lp, bool hurry);

/* litepulse_ingest.c */
int litepulse_sink_add(struct litepulse *lp, struct litepulse_sink *sink);
int litepulse_sink_change(struct litepulse *lp, struct litepulse_sink *sink,
			  const struct litepulse_subscribe *want);
void litepulse_sink_remove(struct litepulse *lp, struct litepulse_sink *sink);
int litepulse_apply_sinks(struct litepulse *lp);
void litepulse_take_events(struct litepulse *lp, const struct litepulse_header *header,
			   const u32 *words, unsigned int count);
void litepulse_take_bytes(struct litepulse *lp, const struct litepulse_header *header,
			  const u32 *words, unsigned int count);
void litepulse_take_room(struct litepulse *lp, u32 pending);
void litepulse_tell_restart(struct litepulse *lp);
void litepulse_resume_streams(struct litepulse *lp);

/* litepulse_mmio.c */
int litepulse_mmio_probe(struct platform_device *pdev, struct litepulse_platform_data *transport);

/* litepulse_output.c: under claim_mutex, by the holder of the claim */
int litepulse_claim(struct litepulse *lp, struct litepulse_claimant *claimant);
void litepulse_unclaim(struct litepulse *lp, struct litepulse_claimant *claimant);
int litepulse_set_keep(struct litepulse *lp, struct litepulse_claimant *claimant, bool keep);
int litepulse_profile_set(struct litepulse *lp, struct litepulse_claimant *claimant,
			  struct litepulse_profile *profile);
int litepulse_launch(struct litepulse *lp, struct litepulse_claimant *claimant,
		     const struct litepulse_launch *launches, unsigned int count);
int litepulse_flush(struct litepulse *lp, struct litepulse_claimant *claimant);
int litepulse_train_start(struct litepulse *lp, struct litepulse_claimant *claimant,
			  const struct litepulse_train *train);
int litepulse_train_adjust(struct litepulse *lp, struct litepulse_claimant *claimant,
			   const struct litepulse_train_adjust *adjust);
int litepulse_train_stop(struct litepulse *lp, struct litepulse_claimant *claimant, u32 *pulses);
int litepulse_break(struct litepulse *lp, u32 width, u64 *end);
int litepulse_responder_set(struct litepulse *lp, struct litepulse_claimant *claimant,
			    const struct litepulse_responder *responder);
int litepulse_driver_enable_set(struct litepulse *lp, struct litepulse_claimant *claimant,
				const struct litepulse_driver_enable *driver_enable);

/* litepulse_chardev.c */
int litepulse_chardev_add(struct litepulse *lp);
void litepulse_chardev_remove(struct litepulse *lp);

/* litepulse_tty.c */
int litepulse_tty_init(void);
void litepulse_tty_exit(void);
int litepulse_tty_add(struct litepulse *lp);
void litepulse_tty_remove(struct litepulse *lp);
int litepulse_tty_suspend(struct litepulse *lp);
int litepulse_tty_resume(struct litepulse *lp);
/* Bytes handed over at a time; they lie on the interrupt's stack. */
#define LITEPULSE_TTY_BATCH 32

/**
 * struct litepulse_tty_bytes - what was received
 * @count: bytes
 * @data: they
 * @flags: LITEPULSE_RX_* of each
 * @lost: bytes that the board lost after them
 */
struct litepulse_tty_bytes {
	unsigned int count;
	u8 data[LITEPULSE_TTY_BATCH];
	u8 flags[LITEPULSE_TTY_BATCH];
	u64 lost;
};

/*
 * Bytes as they came: RX, and LOST with what is missing. Any context but with uart_port.lock or
 * litepulse.lock held.
 */
void litepulse_tty_receive(struct litepulse *lp, const struct litepulse_tty_bytes *bytes);
/* There is room for more, or all has left: LITEPULSE_WANT_TRANSMIT, _DRAINED. As above. */
void litepulse_tty_room(struct litepulse *lp, u32 pending);
/*
 * Lead and lag of the de pin, LITEPULSE_CFG_DRIVER_ENABLE. Under claim_mutex. 0, -EBUSY if the lead
 * would change while a train runs, or an error of the transport.
 */
int litepulse_tty_set_driver_enable(struct litepulse *lp, u32 word);
/* Tail of the echo in ticks, LITEPULSE_CFG_ECHO. Under claim_mutex. 0 or the transport's error. */
int litepulse_tty_set_echo(struct litepulse *lp, u32 ticks);
/*
 * A train is about to start: the lead that the tty was given is in force on return, and it gets no
 * other one while the train runs. Under claim_mutex. Sleeps.
 */
void litepulse_tty_train_starts(struct litepulse *lp);
/* The board was reset: write profile 0, driver enable and echo again. Sleeps. */
void litepulse_tty_restarted(struct litepulse *lp);

/* litepulse_ptp.c */
#if IS_ENABLED(CONFIG_LITEPULSE_PTP)
int litepulse_ptp_add(struct litepulse *lp);
void litepulse_ptp_remove(struct litepulse *lp);
int litepulse_ptp_index(struct litepulse *lp);
u64 litepulse_ptp_ns(struct litepulse *lp, u64 tick);
void litepulse_ptp_restarted(struct litepulse *lp);
void litepulse_ptp_suspend(struct litepulse *lp);
void litepulse_ptp_resume(struct litepulse *lp);
#else
static inline int litepulse_ptp_add(struct litepulse *lp)
{
	return 0;
}

static inline void litepulse_ptp_remove(struct litepulse *lp)
{
}

static inline int litepulse_ptp_index(struct litepulse *lp)
{
	return -1;
}

static inline u64 litepulse_ptp_ns(struct litepulse *lp, u64 tick)
{
	return 0;
}

static inline void litepulse_ptp_restarted(struct litepulse *lp)
{
}

static inline void litepulse_ptp_suspend(struct litepulse *lp)
{
}

static inline void litepulse_ptp_resume(struct litepulse *lp)
{
}
#endif

#endif /* LITEPULSE_H */
