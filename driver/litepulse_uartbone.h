/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A board behind a serial port: what the parts of litepulse_uartbone.ko have in common
 *
 * Layers of litepulse_uartbone.ko, bottom up, as in litepulse.h:
 *   uartbone_line	bytes of requests to the port, and its bytes to answers
 *   uartbone_bus		requests: each carried out once and answered, or an error
 *   uartbone_io		transport: polls the streams, does what the driver asks for
 *   uartbone_ldisc	line discipline: the port, and the life of the platform device
 *
 * Locks, outermost first: bus, line, lock. The bus may be held while records are handed to the
 * driver, which takes no lock then that sleeps.
 */
#ifndef LITEPULSE_UARTBONE_H
#define LITEPULSE_UARTBONE_H

#include <linux/atomic.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "litepulse.h"
#include "litepulse_clock_map.h"
#include "litepulse_packed.h"

struct platform_device;
struct task_struct;
struct tty_struct;

/* A bridge that hears nothing for two seconds takes its host for dead. */
#define LITEPULSE_POLL_MAX_US 1000000
/* Before the port gets another bit rate: until it has sent all, and until its adapter has. */
#define LITEPULSE_DRAIN_MS 100
#define LITEPULSE_ADAPTER_MS 20
/* First byte of a command. */
#define LITEPULSE_BONE_WRITE 1
#define LITEPULSE_BONE_READ 2
/* A read command has at most this many words: its length is one byte. */
#define LITEPULSE_BURST_WORDS 255
/* Number and checksum, at the end of the answer to a frame. */
#define LITEPULSE_TRAILER_BYTES 3
/* Requests under way at most: the board answers one, and has the next. */
#define LITEPULSE_FLIGHTS 2
/* Words that a request may ask for: 256 records of each stream, and the board's state. */
#define LITEPULSE_ANSWER_WORDS \
	(2 * LITEPULSE_HEADER_WORDS + 256 * (LITEPULSE_EVENT_WORDS + LITEPULSE_RECEIVE_WORDS) + 16)

/**
 * struct litepulse_request - commands that are sent together
 * @length: bytes of @payload in use
 * @words: of the answers to all reads
 * @writes: it writes anything
 * @once: it writes what must not be written twice
 * @repeatable: it is safe to carry it out twice, and the caller makes it again
 * @shorter: if no good answer comes the caller asks for less, in another request
 * @full: a command did not fit, and is missing
 */
struct litepulse_request {
	unsigned int length;
	unsigned int words;
	bool writes;
	bool once;
	bool repeatable;
	bool shorter;
	bool full;
	u8 payload[LITEPULSE_BRIDGE_FRAME_MAX];
};

/**
 * struct litepulse_times - CLOCK_MONOTONIC_RAW, ns
 * @before: nothing of the request had been sent
 * @after: the first bytes of the answer had come
 */
struct litepulse_times {
	u64 before;
	u64 after;
};

/**
 * struct litepulse_flight - a request under way
 * @request: commands
 * @sequence: number of its frame
 * @sent: it was sent ahead, and its answer is to be awaited
 * @tries: how often it was sent
 * @begun: CLOCK_BOOTTIME before it was sent first, ns
 * @buffer: bytes of the answer; what follows is protected by the link's lock
 * @wanted: bytes of it, as far as is known; 0: nothing waits for one
 * @groups: of a packed answer that are not known yet: the last of @wanted is the mask of the next
 * @got: bytes that have come
 * @first: bytes that had come at @times.after
 * @whole: all have
 * @times: of the request
 * @stamper: of it; may be NULL
 */
struct litepulse_flight {
	struct litepulse_request request;
	u8 sequence;
	bool sent;
	unsigned int tries;
	u64 begun;
	u8 *buffer;
	unsigned int wanted;
	unsigned int groups;
	unsigned int got;
	unsigned int first;
	bool whole;
	struct litepulse_times times;
	const struct litepulse_stamper *stamper;
};

/**
 * struct litepulse_link_stream - where we are in a stream of records, by their positions
 * @position: of the oldest record that we have not handed over
 * @oldest: of the oldest record that the board has, as far as we know
 * @freed: up to there requests under way free
 * @requested: requests under way ask for the records up to there, if there are that many
 * @end: up to there the board had records when it answered last
 * @growth: this many came between the last two answers
 * @most: records to ask for at most
 */
struct litepulse_link_stream {
	u16 position;
	u16 oldest;
	u16 freed;
	u16 requested;
	u16 end;
	unsigned int growth;
	unsigned int most;
};

/**
 * struct litepulse_link - one board behind one port
 * @tty: the port; NULL when it is gone; @line
 * @made_exclusive: TTY_EXCLUSIVE was not set before
 * @name: of the port
 * @line: a function of the port's driver is running
 * @lock: protects what is received, in @flights, too, up to @wait
 * @gone: the port is; nothing will come any more
 * @room: the port has reported room; cleared by who sends
 * @flights: requests, as they are answered: that of @oldest first, and those behind it
 * @oldest: changes under @bus and @lock
 * @stray: bytes that came without a request, or damaged, since the last silence
 * @last_byte: jiffies
 * @wait: something came, there is room to send, or the port is gone
 * @work: registers or unregisters the platform device
 * @pdev: the device
 * @port_dev: the port's device in the machine; NULL if it has none
 *
 * @waiting: this many wait for @bus
 * @bus: one request at a time; protects what follows, up to @io_lock
 * @framed: the bridge carries out checked frames
 * @packs: and packs the answers to them, on request
 * @overlaps: and has one wait while it answers another
 * @sequence: of the latest frame
 * @baud: of the port
 * @base_baud: of the bridge before it is raised, and of the port at first
 * @base_rate: what the bridge's rate register read at that
 * @target_baud: wanted; not @base_baud: raised again when the bridge has fallen back
 * @next_try: jiffies from which on users may change the rate again
 * @answered: CLOCK_BOOTTIME before the latest request that was answered was sent, ns
 * @unsettled: the latest attempt failed: nothing is sent before silence
 * @ahead: this many of @flights were sent, or are to be, before their answers are awaited
 * @lost: it does not answer any more; only the poller looks whether it does again
 * @times: of the latest request that was answered
 * @round_trip_ns: of that
 * @request_ns: what the line needed of that for the request, as far as that is certain
 * @answer_ns: and for the answer
 * @transactions: requests answered
 * @repeats: sent again
 * @failures: given up
 * @refused: configuration words refused, as the board counts
 * @refused_known: @refused is
 * @free_transmit: bytes for which there certainly is room
 * @free_launch: launches
 * @rate: of the board's ticks
 * @simulated: no board
 * @tick: of the latest answer that was believed
 * @tick_boot: CLOCK_BOOTTIME then, ns; 0: there was none since the attach
 * @doubts: answers since then whose tick was not believed
 * @out: frame to send
 * @words: answers to the poller, and its own
 *
 * @io_lock: protects what follows, up to @poller
 * @wants: LITEPULSE_WANT_*
 * @kicked: poll at once
 *
 * @poller: the thread, its own: what follows
 * @lp: who gets records
 * @poll_us: interval while something happens
 * @idle_us: interval at most
 */
struct litepulse_link {
	struct tty_struct *tty;
	bool made_exclusive;
	char name[64];
	struct mutex line; /* around functions of the port's driver */
	spinlock_t lock; /* what is received */
	bool gone;
	bool room;
	struct litepulse_flight flights[LITEPULSE_FLIGHTS];
	unsigned int oldest;
	unsigned int stray;
	unsigned long last_byte;
	wait_queue_head_t wait;
	struct work_struct work;
	struct platform_device *pdev;
	struct device *port_dev;

	atomic_t waiting;
	struct mutex bus; /* one request at a time */
	bool framed;
	bool packs;
	bool overlaps;
	u8 sequence;
	unsigned int baud;
	unsigned int base_baud;
	u32 base_rate;
	unsigned int target_baud;
	unsigned long next_try;
	u64 answered;
	bool unsettled;
	unsigned int ahead;
	bool lost;
	struct litepulse_times times;
	u64 round_trip_ns;
	u64 request_ns;
	u64 answer_ns;
	u64 transactions;
	u64 repeats;
	u64 failures;
	u8 refused;
	bool refused_known;
	unsigned int free_transmit;
	unsigned int free_launch;
	struct litepulse_rate rate;
	bool simulated;
	u64 tick;
	u64 tick_boot;
	unsigned int doubts;
	u8 out[LITEPULSE_BRIDGE_FRAME_MAX + 8];
	u32 *words;

	spinlock_t io_lock; /* what is waited for */
	u32 wants;
	bool kicked;
	wait_queue_head_t kick;

	struct task_struct *poller;
	struct litepulse *lp;
	struct litepulse_link_stream events;
	struct litepulse_link_stream bytes;
	struct litepulse_clock_view view;
	struct litepulse_host host;
	unsigned int poll_us;
	unsigned int idle_us;
};

/* The flight behind @number others. */
static inline struct litepulse_flight *litepulse_link_flight(struct litepulse_link *link,
							     unsigned int number)
{
	return &link->flights[(link->oldest + number) % LITEPULSE_FLIGHTS];
}

/* Has the board polled at once, or looked for. */
static inline void litepulse_link_kick(struct litepulse_link *link)
{
	WRITE_ONCE(link->kicked, true);
	wake_up(&link->kick);
}

/* The holder of the bus can see that another thread waits. For requests that must be made. */
static inline void litepulse_bus_lock(struct litepulse_link *link)
{
	atomic_inc(&link->waiting);
	mutex_lock(&link->bus);
	atomic_dec(&link->waiting);
}

/* The same for what changes nothing: 0, or -EINTR if the process is to die. */
static inline int litepulse_bus_lock_killable(struct litepulse_link *link)
{
	int error;

	atomic_inc(&link->waiting);
	error = mutex_lock_killable(&link->bus);
	atomic_dec(&link->waiting);
	return error;
}

/* litepulse_uartbone_line.c: all but litepulse_line_receive() under bus */
int litepulse_line_send(struct litepulse_link *link, struct litepulse_flight *flight,
			unsigned int count, unsigned int wanted, unsigned int groups,
			const struct litepulse_stamper *stamper);
int litepulse_line_await(struct litepulse_link *link, struct litepulse_flight *flight,
			 unsigned int ms);
void litepulse_line_next(struct litepulse_link *link);
int litepulse_line_silence(struct litepulse_link *link, unsigned int ms);
int litepulse_line_set_baud(struct litepulse_link *link, unsigned int baud);
void litepulse_line_receive(struct litepulse_link *link, const u8 *bytes, const u8 *faults,
			    unsigned int count);

/* litepulse_uartbone_bus.c: under bus */
extern unsigned int litepulse_csr_base, litepulse_window_base;

struct litepulse_request *litepulse_bus_request(struct litepulse_link *link);
void litepulse_bus_read(struct litepulse_request *request, u32 address, unsigned int count);
void litepulse_bus_write(struct litepulse_request *request, u32 address, const u32 *words,
			 unsigned int count);
void litepulse_bus_send_ahead(struct litepulse_link *link);
void litepulse_bus_forget(struct litepulse_link *link);
int litepulse_bus_transact(struct litepulse_link *link, u32 *words,
			   const struct litepulse_stamper *stamper);
int litepulse_bus_connect(struct litepulse_link *link);
u32 litepulse_bus_hz(struct litepulse_link *link);
int litepulse_bus_recover(struct litepulse_link *link);
int litepulse_bus_set_baud(struct litepulse_link *link, unsigned int baud);

/* litepulse_uartbone_io.c */
extern const struct litepulse_io_ops litepulse_link_ops;
int litepulse_link_attach(void *context, struct litepulse *lp);

#endif /* LITEPULSE_UARTBONE_H */
