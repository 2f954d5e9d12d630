// SPDX-License-Identifier: BSD-2-Clause
/*
 * Boards without hardware, for the debug kernel: what is sent comes back, launches happen, ticks are nanoseconds.
 *
 * It does no more than the driver must have to work at all; how a board really behaves is the simulated SoC's to show. Records come from
 * an hrtimer, which is an interrupt, or with sleeps=1 from a workqueue, and then every access sleeps: both kinds of transport.
 */
#include <linux/bitfield.h>
#include <linux/bits.h>
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/pm.h>
#include <linux/property.h>
#include <linux/random.h>
#include <linux/syscore_ops.h>
#include <linux/tty.h>
#include <linux/tty_ldisc.h>
#include <linux/workqueue.h>

#include "litepulse.h"

#define BYTE_NS		86805	/* 115200 baud */
#define EVENTS		256
#define BYTES		512
#define LAUNCHES	64
#define INPUTS		4
#define CONFIG_WORDS	64
#define LIN_ENTRIES	16	/* of the first board; the second is no LIN slave */
#define TRANSMIT_LOW	(BYTES / 16)

#define TIMEOUT		LITEPULSE_EVENT_FLAG_TIMEOUT

#define BOARDS		2

static unsigned int boards = 1;
module_param(boards, uint, 0444);
MODULE_PARM_DESC(boards, "how many there are, 1 or 2: platform devices litepulse and litepulse.1");

static bool sleeps;
module_param(sleeps, bool, 0444);
MODULE_PARM_DESC(sleeps, "as behind a cable: accesses sleep");

static char *port = "";
module_param(port, charp, 0444);
MODULE_PARM_DESC(port, "as behind this serial port: its platform device has the files of one, for udev");

static unsigned int reset_at;
module_param(reset_at, uint, 0444);
MODULE_PARM_DESC(reset_at, "board 0 is reset by itself at this access to it, counted from 1; 0: never");

static unsigned int minor = LITEPULSE_VERSION_MINOR;
module_param(minor, uint, 0444);
MODULE_PARM_DESC(minor, "version of the register map; levels are reported as by that of now");

static bool sequences = true;
module_param(sequences, bool, 0444);
MODULE_PARM_DESC(sequences, "the queue has waits and relative entries, if its register map has them");

static bool hide_train;
module_param(hide_train, bool, 0644);
MODULE_PARM_DESC(hide_train, "the status does not show that a train runs: as if it began just after it was read");

static bool refuse_others;
module_param(refuse_others, bool, 0644);
MODULE_PARM_DESC(refuse_others, "refuses a word that another program wrote, just before each command of the train");

static bool hold_change;
module_param(hold_change, bool, 0644);
MODULE_PARM_DESC(hold_change, "a change of the train waits for its pulse until refuse_change is written");

static bool unreachable;
module_param(unreachable, bool, 0644);
MODULE_PARM_DESC(unreachable, "takes no configuration, as behind a cable that failed");

static unsigned int levels = 1 << 4;
module_param(levels, uint, 0644);
MODULE_PARM_DESC(levels, "of the pins: bit c of input c, bit 4 of rx");

static unsigned int rs485_ms;
module_param(rs485_ms, uint, 0444);
MODULE_PARM_DESC(rs485_ms, "the firmware wants RS-485 with this lead and lag; 0: it does not");

static bool stuck;
module_param(stuck, bool, 0644);
MODULE_PARM_DESC(stuck, "boards that sleep do not answer configuration words before this is cleared");

static bool fail_echo;
module_param(fail_echo, bool, 0644);
MODULE_PARM_DESC(fail_echo, "the tail of the echo does not arrive, all else does");

static bool keeps_bytes;
module_param(keeps_bytes, bool, 0644);
MODULE_PARM_DESC(keeps_bytes, "received bytes stay in the boards, as while their interrupts are moderated");

static bool fails_on_resume;
module_param(fails_on_resume, bool, 0644);
MODULE_PARM_DESC(fails_on_resume, "the next resume of the machine sets `unreachable`, before the driver resumes the boards");

static unsigned int nap_ms;
module_param(nap_ms, uint, 0644);
MODULE_PARM_DESC(nap_ms, "the machine stays suspended so long, while other threads of the kernel go on");

static bool wild;
module_param(wild, bool, 0644);
MODULE_PARM_DESC(wild, "ticks of headers and events are wrong now and then: any bit of them");

static bool keeps;
module_param(keeps, bool, 0444);
MODULE_PARM_DESC(keeps, "the boards have power of their own");

static unsigned int fast_ppm;
module_param(fast_ppm, uint, 0444);
MODULE_PARM_DESC(fast_ppm, "their ticks are so much faster than nanoseconds");

static bool reset_before_name;
module_param(reset_before_name, bool, 0644);
MODULE_PARM_DESC(reset_before_name, "board 0 is reset just before it gets its name: a frame was sent again after that. Once");

static unsigned int stand_still;
module_param(stand_still, uint, 0644);
MODULE_PARM_DESC(stand_still, "the machine stands still for 10 s when board 0 gets its name. 1: just before, and its watchdog fires; "
			      "2: just after. Once");

static bool hold;
module_param(hold, bool, 0644);
MODULE_PARM_DESC(hold, "what happens waits in the boards");

static bool slow_line;
module_param(slow_line, bool, 0644);
MODULE_PARM_DESC(slow_line, "the next line word arrives late, so that others may overtake it; of boards that sleep");

static bool ahead;
module_param(ahead, bool, 0644);
MODULE_PARM_DESC(ahead, "ticks of headers are too high, so that those of later ones seem to have gone back");

static bool first_low;
module_param(first_low, bool, 0644);
MODULE_PARM_DESC(first_low, "the next events that wait come with two headers, of which the first has too low a tick: once");

static bool reset_behind_time;
module_param(reset_behind_time, bool, 0644);
MODULE_PARM_DESC(reset_behind_time, "the next time that board 0's tick is read it is reset just after that, and the answer takes 3 s; "
				    "of boards that sleep. Once");

struct board {
	struct platform_device *pdev;
	struct hrtimer timer;
	struct delayed_work work;
	struct litepulse *lp;		/* who takes records; written while nothing runs */

	spinlock_t lock;		/* protects what follows */
	u64 reset;			/* time of the latest one, ns */
	u32 session, event_mask, wanted, line, driver_enable, echo, period;
	u32 config[CONFIG_WORDS];	/* as written last */
	bool train, change, armed;
	u32 train_count, train_width;
	u64 busy_until;			/* end of the train's pulse that is on the line */
	u64 low_since;			/* tick from which on BREAK_HOLD holds the line low */
	unsigned int lows, low_us;	/* pulses and breaks, and how long all of them were */
	unsigned int level;		/* of received bytes at which it interrupts */
	u32 events[EVENTS][LITEPULSE_EVENT_WORDS], launches[LAUNCHES][4];
	u64 committed[LAUNCHES];	/* ticks at which the launches came */
	u64 entry_tick;			/* of the queue's latest entry, or the end of a wait */
	bool stopped;			/* a wait has stopped the queue */
	u32 bytes[BYTES][LITEPULSE_RECEIVE_WORDS];
	u8 waiting[BYTES];
	unsigned int event_count, byte_count, launch_count, waiting_count;
	u16 seq;
	atomic_t accesses;
	unsigned int wants;

	/* What is being handed over, by serve() only. */
	u32 told_events[EVENTS][LITEPULSE_EVENT_WORDS];
	u32 told_bytes[BYTES][LITEPULSE_RECEIVE_WORDS];
};

static struct board all[BOARDS];

static bool asleep;			/* what the boards are behind is suspended */
static atomic_t accesses_asleep;

static u64 tick_of(struct board *b)
{
	u64 passed = ktime_get_ns() - b->reset;

	return passed + div_u64(passed * fast_ppm, 1000000);
}

/* The queue is empty, and takes any tick. */
static void flush_queue(struct board *b)
{
	b->launch_count = 0;
	b->entry_tick = 0;
	b->stopped = false;
}

static bool has_sequences(void)
{
	return sequences && minor >= 11;
}

/* It heard nothing for too long: what its watchdog stops, and as it would be had a host written that. */
static void watchdog(struct board *b)
{
	unsigned long flags;

	spin_lock_irqsave(&b->lock, flags);
	b->session = 0;
	flush_queue(b);
	b->train = false;
	b->armed = false;
	spin_unlock_irqrestore(&b->lock, flags);
}

/* As its button does. What was on its way to it then arrives afterwards: a launch for a tick that was. */
static void reset_board(struct board *b)
{
	static const u32 stale[] = { U32_MAX, 1, 0, 0 };
	unsigned long flags;

	spin_lock_irqsave(&b->lock, flags);
	b->reset = ktime_get_ns();
	b->session = 0;
	b->event_mask = 0;
	b->event_count = 0;
	b->byte_count = 0;
	flush_queue(b);
	memcpy(b->launches[0], stale, sizeof(stale));
	b->committed[0] = 0;
	b->launch_count = 1;
	b->waiting_count = 0;
	b->seq = 0;
	b->train = false;
	b->armed = false;
	b->line = 0;
	b->busy_until = 0;
	b->driver_enable = 0;
	b->echo = LITEPULSE_ECHO_CYCLES_RESET;
	spin_unlock_irqrestore(&b->lock, flags);
}

/* Each access begins with it. */
static void access(struct board *b)
{
	if (sleeps)
		usleep_range(200, 300);
	if (READ_ONCE(asleep))
		atomic_inc(&accesses_asleep);
	if (b == &all[0] && atomic_inc_return(&b->accesses) == reset_at)
		reset_board(b);
}

/* A tick as it is reported. */
static u64 told(u64 tick)
{
	return wild && !get_random_u32_below(20) ? tick ^ BIT_ULL(get_random_u32_below(64)) : tick;
}

static void event(struct board *b, u64 tick, u32 kind, u32 source, u32 flags, u32 data)
{
	u32 *words = b->events[b->event_count];

	if (b->event_count == EVENTS)
		return;
	b->event_count++;
	tick = told(tick);
	words[0] = lower_32_bits(tick);
	words[1] = upper_32_bits(tick);
	words[2] = b->seq++ << LITEPULSE_EVENT_INFO_SEQ_SHIFT | kind << LITEPULSE_EVENT_INFO_KIND_SHIFT |
		source << LITEPULSE_EVENT_INFO_SOURCE_SHIFT | flags << LITEPULSE_EVENT_INFO_FLAGS_SHIFT;
	words[3] = data;
}

/* A record of the receiver; info: its second word, without the upper bits of the tick. */
static void put_byte(struct board *b, u64 tick, u32 info)
{
	u32 *words = b->bytes[b->byte_count];

	if (b->byte_count == BYTES)
		return;
	b->byte_count++;
	words[0] = lower_32_bits(tick);
	words[1] = (u32)(upper_32_bits(tick) & 0xffff) << 16 | info;
}

/*
 * Events and bytes were lost: 5 of each, or so many that the board stopped counting, and 5 more events, as the number of the next event
 * says. In place of what was lost stand the records that tell of it.
 */
static void lose(struct board *b, bool open_ended)
{
	const u32 count = open_ended ? LITEPULSE_LOST_STOP : 5;
	unsigned long flags;
	u64 now;

	spin_lock_irqsave(&b->lock, flags);
	now = tick_of(b);
	event(b, now, LITEPULSE_KIND_OVERFLOW, LITEPULSE_SRC_CONTROL, open_ended ? LITEPULSE_EVENT_FLAG_AT_LEAST : 0, count);
	/* that one has no number of its own */
	b->seq += (u16)(count + (open_ended ? 5 : 0)) - 1;
	if (b->byte_count + 2 <= BYTES) {
		u32 *words;

		put_byte(b, now, LITEPULSE_RECEIVE_INFO_OVERFLOW_MASK);
		words = b->bytes[b->byte_count++];
		words[0] = count;
		words[1] = LITEPULSE_RECEIVE_INFO_OVERFLOW_MASK | LITEPULSE_RECEIVE_INFO_COUNT_MASK | open_ended;
	}
	spin_unlock_irqrestore(&b->lock, flags);
}

/* Nothing is sent: neither a byte, nor a pulse, nor a break. */
static bool line_is_free(struct board *b, u64 now)
{
	return now >= b->busy_until && !(b->line & LITEPULSE_CFG_LINE_BREAK_HOLD_MASK) &&
		(!b->waiting_count || b->line & LITEPULSE_CFG_LINE_HOLD_TTY_MASK);
}

/* The only pulse of a train comes at once, or finds the line busy. */
static void pulse(struct board *b, u64 now)
{
	if (!line_is_free(b, now)) {
		if (b->event_mask & LITEPULSE_CFG_EVENT_MASK_REFUSED_TRAIN_MASK)
			event(b, now, LITEPULSE_KIND_REFUSED, LITEPULSE_SRC_TRAIN, LITEPULSE_REASON_BUSY, 0);
		return;
	}
	b->busy_until = now + b->train_width;
	b->lows++;
	b->low_us += b->train_width / NSEC_PER_USEC;
	if (b->event_mask & LITEPULSE_CFG_EVENT_MASK_TX_TRAIN_MASK)
		event(b, now, LITEPULSE_KIND_TX, LITEPULSE_SRC_TRAIN, 0, 0);
}

/* A break begins when what is on the line is over. There is none if it is to end before. */
static void set_line(struct board *b, u32 line, u64 now)
{
	u32 changed = line ^ b->line;
	bool bytes = b->waiting_count && !(b->line & LITEPULSE_CFG_LINE_HOLD_TTY_MASK);

	if (changed & line & LITEPULSE_CFG_LINE_BREAK_HOLD_MASK)
		b->low_since = max(b->busy_until, now + (bytes ? BYTE_NS : 0));
	if (changed & ~line & LITEPULSE_CFG_LINE_BREAK_HOLD_MASK && now > b->low_since) {
		b->lows++;
		b->low_us += div_u64(now - b->low_since, NSEC_PER_USEC);
	}
	b->line = line;
}

/* --- the queue, as docs/core.md has it; an entry may come until just before its tick --- */

static u32 kind_of(const u32 *words)
{
	return FIELD_GET(LITEPULSE_LAUNCH_LAUNCH_KIND_MASK, words[3]);
}

/* Why the queue refuses its first entry, whose tick is set: a reason, or 0. */
static u32 first_refused(const struct board *b, u64 *tick)
{
	const u32 *words = b->launches[0];
	const bool relative = has_sequences() && words[3] & LITEPULSE_LAUNCH_LAUNCH_RELATIVE_MASK;

	*tick = (u64)words[1] << 32 | words[0];
	if (relative)
		*tick += b->entry_tick;
	if (b->stopped || *tick < b->entry_tick)
		return LITEPULSE_REASON_ORDER;
	if (kind_of(words) == LITEPULSE_LAUNCH_WAIT &&
	    (!has_sequences() || FIELD_GET(LITEPULSE_WAIT_ENTRY_CHANNEL_MASK, words[3]) > INPUTS))
		return LITEPULSE_REASON_INVALID;
	return *tick <= b->committed[0] ? LITEPULSE_REASON_LATE : 0;
}

/* The first entry has been done at a tick, or has not: its event, and the next one is the first. */
static void end_first(struct board *b, u64 tick, u32 reason, u32 flags, u64 now)
{
	const u32 word = b->launches[0][3];
	const bool ends_by_edge = !reason && !flags;

	if (reason ? b->event_mask & LITEPULSE_CFG_EVENT_MASK_REFUSED_QUEUE_MASK :
		     b->event_mask & LITEPULSE_CFG_EVENT_MASK_TX_QUEUE_MASK)
		event(b, reason ? now : tick, reason ? LITEPULSE_KIND_REFUSED : LITEPULSE_KIND_TX, LITEPULSE_SRC_QUEUE, reason | flags,
		      word & ~LITEPULSE_LAUNCH_LAUNCH_RELATIVE_MASK);
	if (kind_of(b->launches[0]) == LITEPULSE_LAUNCH_WAIT && word & LITEPULSE_WAIT_ENTRY_STOP_MASK && !ends_by_edge)
		b->stopped = true;
	b->entry_tick = tick;
	b->launch_count--;
	memmove(b->launches, b->launches + 1, b->launch_count * sizeof(b->launches[0]));
	memmove(b->committed, b->committed + 1, b->launch_count * sizeof(b->committed[0]));
}

/* Input 0 has an edge, and all up to that was done: does it end the wait that is first? */
static void end_wait(struct board *b, u64 now, bool rises)
{
	const u32 direction = rises ? LITEPULSE_WAIT_ENTRY_RISE_MASK : LITEPULSE_WAIT_ENTRY_FALL_MASK;
	const u32 *words = b->launches[0];
	u64 tick;

	if (b->launch_count && kind_of(words) == LITEPULSE_LAUNCH_WAIT && !first_refused(b, &tick) && now > b->entry_tick &&
	    words[3] & direction && !FIELD_GET(LITEPULSE_WAIT_ENTRY_CHANNEL_MASK, words[3]))
		end_first(b, now, 0, 0, now);
}

static bool holds_bytes_back(const struct board *b)
{
	const u32 *words = b->launches[0];

	return b->launch_count && kind_of(words) == LITEPULSE_LAUNCH_WAIT && words[3] & LITEPULSE_WAIT_ENTRY_EXCLUSIVE_MASK;
}

/* What happened until now. */
static void advance(struct board *b, u64 now)
{
	while (b->launch_count) {
		u64 tick;
		u32 reason = first_refused(b, &tick);

		if (!reason && tick > now)
			break;
		end_first(b, tick, reason, !reason && kind_of(b->launches[0]) == LITEPULSE_LAUNCH_WAIT ? TIMEOUT : 0, now);
	}
	if (b->waiting_count && b->byte_count < BYTES && now >= b->busy_until && !holds_bytes_back(b) &&
	    !(b->line & (LITEPULSE_CFG_LINE_HOLD_TTY_MASK | LITEPULSE_CFG_LINE_BREAK_HOLD_MASK))) {
		put_byte(b, now, b->waiting[0]);
		memmove(b->waiting, b->waiting + 1, --b->waiting_count);
	}
}

/* Hands over what there is; nothing else does at the same time. */
static void serve(struct board *b)
{
	struct litepulse_header header = {};
	unsigned int event_count, byte_count;
	unsigned long flags;
	u32 pending = 0;

	if (READ_ONCE(hold))
		return;
	spin_lock_irqsave(&b->lock, flags);
	header.tick = tick_of(b);
	header.mono = ktime_get_ns();
	advance(b, header.tick);
	header.tick = told(header.tick) | (ahead ? BIT_ULL(40) : 0);
	event_count = b->wanted & LITEPULSE_WANT_EVENTS ? b->event_count : 0;
	memcpy(b->told_events, b->events, event_count * sizeof(b->events[0]));
	b->event_count -= event_count;
	byte_count = b->wanted & LITEPULSE_WANT_BYTES && !keeps_bytes ? b->byte_count : 0;
	memcpy(b->told_bytes, b->bytes, byte_count * sizeof(b->bytes[0]));
	b->byte_count -= byte_count;
	if (b->waiting_count <= TRANSMIT_LOW)
		pending |= LITEPULSE_WANT_TRANSMIT;
	if (!b->waiting_count)
		pending |= LITEPULSE_WANT_DRAINED;
	if (b->launch_count < LAUNCHES)
		pending |= LITEPULSE_WANT_LAUNCH;
	pending &= b->wanted;
	b->wanted &= ~pending;
	spin_unlock_irqrestore(&b->lock, flags);
	header.ready = event_count;
	if (first_low && event_count > 1) {
		struct litepulse_header low = header;

		first_low = false;
		low.tick = 1;
		litepulse_take_events(b->lp, &low, b->told_events[0], 1);
		litepulse_take_events(b->lp, &header, b->told_events[1], event_count - 1);
	} else if (event_count) {
		litepulse_take_events(b->lp, &header, b->told_events[0], event_count);
	}
	header.ready = byte_count;
	if (byte_count)
		litepulse_take_bytes(b->lp, &header, b->told_bytes[0], byte_count);
	if (pending)
		litepulse_take_room(b->lp, pending);
}

static enum hrtimer_restart interrupt(struct hrtimer *timer)
{
	serve(container_of(timer, struct board, timer));
	hrtimer_forward_now(timer, ns_to_ktime(BYTE_NS));
	return HRTIMER_RESTART;
}

static void poll_work(struct work_struct *work)
{
	struct board *b = container_of(to_delayed_work(work), struct board, work);

	serve(b);
	schedule_delayed_work(&b->work, 1);
}

static int board_read_csr(void *context, u32 offset, u32 *words, unsigned int count)
{
	struct board *b = context;
	unsigned long flags;

	access(b);
	spin_lock_irqsave(&b->lock, flags);
	for (; count; count--, offset += 4, words++) {
		switch (offset) {
		case LITEPULSE_CSR_ID_MAGIC:
			*words = LITEPULSE_MAGIC;
			break;
		case LITEPULSE_CSR_ID_VERSION:
			*words = LITEPULSE_VERSION_MAJOR << 16 | minor;
			break;
		case LITEPULSE_CSR_ID_GEOMETRY:
			*words = 1 << LITEPULSE_CSR_ID_GEOMETRY_SAMPLES_SHIFT | INPUTS << LITEPULSE_CSR_ID_GEOMETRY_INPUTS_SHIFT |
				ilog2(EVENTS) << LITEPULSE_CSR_ID_GEOMETRY_EVENT_DEPTH_SHIFT |
				ilog2(BYTES) << LITEPULSE_CSR_ID_GEOMETRY_RECEIVE_DEPTH_SHIFT |
				ilog2(BYTES) << LITEPULSE_CSR_ID_GEOMETRY_TRANSMIT_DEPTH_SHIFT |
				ilog2(LAUNCHES) << LITEPULSE_CSR_ID_GEOMETRY_LAUNCH_DEPTH_SHIFT |
				(b == &all[0] ? ilog2(LIN_ENTRIES) : 0) << LITEPULSE_CSR_ID_GEOMETRY_LIN_DEPTH_SHIFT |
				(b == &all[0] && minor >= 10 ? LITEPULSE_CSR_ID_GEOMETRY_PORT_MASK : 0) |
				(has_sequences() ? LITEPULSE_CSR_ID_GEOMETRY_SEQUENCE_MASK : 0) |
				LITEPULSE_CSR_ID_GEOMETRY_INTERRUPTS_MASK | LITEPULSE_CSR_ID_GEOMETRY_SIMULATED_MASK;
			break;
		case LITEPULSE_CSR_ID_CLOCK_NUM:
			*words = 1000000000;
			break;
		case LITEPULSE_CSR_ID_CLOCK_DEN:
			*words = 1;
			break;
		case LITEPULSE_CSR_SESSION:
			*words = b->session;
			break;
		case LITEPULSE_CSR_FREE:
			*words = (BYTES - b->waiting_count) << LITEPULSE_CSR_FREE_TRANSMIT_SHIFT |
				(LAUNCHES - b->launch_count) << LITEPULSE_CSR_FREE_LAUNCH_SHIFT;
			break;
		case LITEPULSE_CSR_STATUS:
			*words = (b->waiting_count ? 0 : LITEPULSE_CSR_STATUS_TX_IDLE_MASK) |
				(b->launch_count ? 0 : LITEPULSE_CSR_STATUS_QUEUE_IDLE_MASK) |
				(b->train && !hide_train ? LITEPULSE_CSR_STATUS_TRAIN_RUNNING_MASK : 0) |
				(b->change ? LITEPULSE_CSR_STATUS_TRAIN_CHANGE_PENDING_MASK : 0) |
				(b->armed ? LITEPULSE_CSR_STATUS_RESPONDER_ARMED_MASK : 0) |
				(line_is_free(b, tick_of(b)) ? 0 : LITEPULSE_CSR_STATUS_LINE_BUSY_MASK) |
				levels << LITEPULSE_CSR_STATUS_LEVELS_SHIFT;
			break;
		default:
			*words = 0;
		}
	}
	spin_unlock_irqrestore(&b->lock, flags);
	return 0;
}

static int board_write_csr(void *context, u32 offset, u32 word)
{
	struct board *b = context;

	access(b);
	if (offset == LITEPULSE_CSR_SESSION) {
		if (reset_before_name && b == &all[0])
			reset_board(b);
		reset_before_name = false;
		if (stand_still == 1 && b == &all[0]) {
			watchdog(b);
			msleep(10000);
		}
		WRITE_ONCE(b->session, word);
		if (stand_still == 2 && b == &all[0])
			msleep(10000);
		stand_still = 0;
	}
	return 0;
}

static int board_time(void *context, u64 *tick, const struct litepulse_stamper *stamper)
{
	struct board *b = context;

	if (stamper)
		stamper->before(stamper->data);
	access(b);
	*tick = tick_of(b);
	if (sleeps && reset_behind_time && b == &all[0]) {
		reset_behind_time = false;
		reset_board(b);
		msleep(3000);
	}
	if (stamper)
		stamper->after(stamper->data);
	return 0;
}

/* The core writes the number of a word that it refuses into an event. */
static int refuse(struct board *b, u32 offset, u32 reason)
{
	if (b->event_mask & LITEPULSE_CFG_EVENT_MASK_CONTROL_MASK)
		event(b, tick_of(b), LITEPULSE_KIND_REFUSED, LITEPULSE_SRC_CONTROL, reason, LITEPULSE_CONFIG_INDEX(offset));
	return -EINVAL;
}

static int board_read_config(void *context, u32 offset, u32 *words, unsigned int count)
{
	struct board *b = context;

	access(b);
	memcpy(words, &b->config[LITEPULSE_CONFIG_INDEX(offset)], count * sizeof(*words));
	return 0;
}

static int board_configure(void *context, const struct litepulse_word *words, unsigned int count)
{
	struct board *b = context;
	unsigned long flags;
	int error = 0;

	access(b);
	while (sleeps && READ_ONCE(stuck))
		msleep(10);
	if (unreachable)
		return -EIO;
	if (sleeps && slow_line && words->offset == LITEPULSE_CFG_LINE) {
		slow_line = false;
		msleep(300);
	}
	spin_lock_irqsave(&b->lock, flags);
	for (; count; count--, words++) {
		u64 now = tick_of(b);

		b->config[LITEPULSE_CONFIG_INDEX(words->offset)] = words->value;
		if (fail_echo && words->offset == LITEPULSE_CFG_ECHO) {
			error = -EIO;
			continue;
		}
		switch (words->offset) {
		case LITEPULSE_CFG_EVENT_MASK:
			b->event_mask = words->value;
			break;
		case LITEPULSE_CFG_COMMAND:
			if (words->value & LITEPULSE_CFG_COMMAND_FLUSH_QUEUE_MASK)
				flush_queue(b);
			if (words->value & LITEPULSE_CFG_COMMAND_FLUSH_TTY_MASK)
				b->waiting_count = 0;
			if (words->value & b->event_mask >> LITEPULSE_CFG_EVENT_MASK_SNAPSHOT_SHIFT
			    << LITEPULSE_CFG_COMMAND_SNAPSHOT_SHIFT & LITEPULSE_CFG_COMMAND_SNAPSHOT_MASK)
				event(b, now, LITEPULSE_KIND_SNAPSHOT, LITEPULSE_SRC_CONTROL, 0, 0);
			break;
		case LITEPULSE_CFG_LINE:
			set_line(b, words->value, now);
			break;
		case LITEPULSE_CFG_PROFILE0_PERIOD:
			b->period = words->value;
			break;
		case LITEPULSE_CFG_DRIVER_ENABLE:
			if (b->train && (words->value ^ b->driver_enable) & LITEPULSE_CFG_DRIVER_ENABLE_LEAD_MASK)
				error = refuse(b, words->offset, LITEPULSE_REASON_BUSY);
			else
				b->driver_enable = words->value;
			break;
		case LITEPULSE_CFG_ECHO:
			if (words->value > LITEPULSE_ECHO_CYCLES_MAX)
				error = refuse(b, words->offset, LITEPULSE_REASON_INVALID);
			else
				b->echo = words->value;
			break;
		case LITEPULSE_CFG_RESP_ARM:
			b->armed = words->value;
			break;
		case LITEPULSE_CFG_TRAIN_COUNT:
			b->train_count = words->value;
			break;
		case LITEPULSE_CFG_TRAIN_WIDTH:
			if (b->train && minor < 10)
				error = refuse(b, LITEPULSE_CFG_TRAIN_WIDTH, LITEPULSE_REASON_INVALID);
			else
				b->train_width = words->value;
			break;
		case LITEPULSE_CFG_TRAIN_COMMAND:
			if (refuse_others)
				refuse(b, LITEPULSE_CFG_PROFILE0_PERIOD, LITEPULSE_REASON_INVALID);
			b->change = hold_change &&
				(words->value & LITEPULSE_CFG_TRAIN_COMMAND_COMMAND_MASK) == LITEPULSE_TRAIN_CMD_ADJUST;
			if (b->change)
				break;
			b->train = (words->value & LITEPULSE_CFG_TRAIN_COMMAND_COMMAND_MASK) != LITEPULSE_TRAIN_CMD_STOP &&
				b->train_count != 1;	/* of one pulse: it has ended at once */
			if (b->event_mask & LITEPULSE_CFG_EVENT_MASK_CONTROL_MASK)
				event(b, now, LITEPULSE_KIND_APPLIED, LITEPULSE_SRC_TRAIN_CHANGE,
				      (words->value & LITEPULSE_CFG_TRAIN_COMMAND_COMMAND_MASK) == LITEPULSE_TRAIN_CMD_STOP ?
				      LITEPULSE_EVENT_FLAG_STOP : 0, 0);
			if ((words->value & LITEPULSE_CFG_TRAIN_COMMAND_COMMAND_MASK) == LITEPULSE_TRAIN_CMD_START && !b->train)
				pulse(b, now);
			break;
		}
	}
	spin_unlock_irqrestore(&b->lock, flags);
	return error;
}

static int board_launch(void *context, const u32 *words, unsigned int count)
{
	struct board *b = context;
	unsigned long flags;
	unsigned int i;
	u64 now;

	access(b);
	spin_lock_irqsave(&b->lock, flags);
	now = tick_of(b);
	count = min(count, LAUNCHES - b->launch_count);
	memcpy(b->launches[b->launch_count], words, count * sizeof(b->launches[0]));
	for (i = 0; i < count; i++)
		b->committed[b->launch_count + i] = now;
	b->launch_count += count;
	spin_unlock_irqrestore(&b->lock, flags);
	return count;
}

static int board_transmit(void *context, const u8 *bytes, unsigned int count)
{
	struct board *b = context;
	unsigned long flags;

	access(b);
	spin_lock_irqsave(&b->lock, flags);
	count = min(count, BYTES - b->waiting_count);
	memcpy(b->waiting + b->waiting_count, bytes, count);
	b->waiting_count += count;
	spin_unlock_irqrestore(&b->lock, flags);
	return count;
}

static void board_want(void *context, u32 mask, u32 wanted)
{
	struct board *b = context;
	unsigned long flags;

	spin_lock_irqsave(&b->lock, flags);
	b->wants++;
	b->wanted = (b->wanted & ~mask) | (wanted & mask);
	spin_unlock_irqrestore(&b->lock, flags);
}

static void board_moderate(void *context, const struct litepulse_moderation *events, const struct litepulse_moderation *bytes)
{
	struct board *b = context;

	WRITE_ONCE(b->level, bytes->level);
}

static int board_attach(void *context, struct litepulse *lp)
{
	struct board *b = context;

	if (lp) {
		b->lp = lp;
		if (sleeps)
			schedule_delayed_work(&b->work, 0);
		else
			hrtimer_start(&b->timer, ns_to_ktime(BYTE_NS), HRTIMER_MODE_REL);
	} else {
		hrtimer_cancel(&b->timer);
		cancel_delayed_work_sync(&b->work);
		b->lp = NULL;
	}
	return 0;
}

static struct litepulse_io_ops ops = {
	.read_csr = board_read_csr, .write_csr = board_write_csr, .time = board_time, .read_config = board_read_config,
	.configure = board_configure, .launch = board_launch,
	.transmit = board_transmit, .want = board_want, .moderate = board_moderate,
};

/* Writing a board's number to this parameter resets it, as its button does. */
static int reset_set(const char *value, const struct kernel_param *parameter)
{
	unsigned int number;

	if (kstrtouint(value, 10, &number) || number >= boards)
		return -EINVAL;
	reset_board(&all[number]);
	return 0;
}

static const struct kernel_param_ops reset_ops = { .set = reset_set };
module_param_cb(reset, &reset_ops, NULL, 0200);

/* Writing to this parameter refuses the change of board 0 that waits, as its pulse is too near. */
static int refuse_change_set(const char *value, const struct kernel_param *parameter)
{
	struct board *b = &all[0];
	unsigned long flags;

	spin_lock_irqsave(&b->lock, flags);
	if (b->change)
		event(b, tick_of(b), LITEPULSE_KIND_REFUSED, LITEPULSE_SRC_TRAIN_CHANGE, LITEPULSE_REASON_LATE, 0);
	b->change = false;
	spin_unlock_irqrestore(&b->lock, flags);
	return 0;
}

static const struct kernel_param_ops refuse_change_ops = { .set = refuse_change_set };
module_param_cb(refuse_change, &refuse_change_ops, NULL, 0200);

/* Writing to this parameter fires the watchdog of board 0. */
static int silence_set(const char *value, const struct kernel_param *parameter)
{
	watchdog(&all[0]);
	return 0;
}

static const struct kernel_param_ops silence_ops = { .set = silence_set };
module_param_cb(silence, &silence_ops, NULL, 0200);

/* Writing to this parameter makes board 0 lose events and bytes: 0 a few, 1 more than it counts. */
static int lose_set(const char *value, const struct kernel_param *parameter)
{
	bool open_ended;

	if (kstrtobool(value, &open_ended))
		return -EINVAL;
	lose(&all[0], open_ended);
	return 0;
}

static const struct kernel_param_ops lose_ops = { .set = lose_set };
module_param_cb(lose, &lose_ops, NULL, 0200);

/*
 * Writing 1 to this parameter makes input 0 of board 0 rise, 0 makes it fall. It is recorded if edges are, and may end a wait in any case.
 */
static int edge_set(const char *value, const struct kernel_param *parameter)
{
	struct board *b = &all[0];
	unsigned long flags;
	bool rises;
	u64 now;

	if (kstrtobool(value, &rises))
		return -EINVAL;
	spin_lock_irqsave(&b->lock, flags);
	now = tick_of(b);
	/* An edge at the very tick of a wait ends it. */
	advance(b, now - 1);
	end_wait(b, now, rises);
	if (b->event_mask & LITEPULSE_CFG_EVENT_MASK_EDGE_MASK)
		event(b, now, LITEPULSE_KIND_EDGE, LITEPULSE_SRC_CAPTURE, 0, rises << 16 | 1);
	spin_unlock_irqrestore(&b->lock, flags);
	return 0;
}

static const struct kernel_param_ops edge_ops = { .set = edge_set };
module_param_cb(edge, &edge_ops, NULL, 0200);

/*
 * Writing N to this parameter makes N edges of input 0 of board 0, up and down, while there is
 * room.
 */
static int flood_set(const char *value, const struct kernel_param *parameter)
{
	unsigned int count, i;
	unsigned long flags;

	if (kstrtouint(value, 10, &count))
		return -EINVAL;
	spin_lock_irqsave(&all[0].lock, flags);
	for (i = 0; i < count; i++)
		event(&all[0], tick_of(&all[0]) + i, LITEPULSE_KIND_EDGE, LITEPULSE_SRC_CAPTURE, 0, (i & 1 ? 0 : 1 << 16) | 1);
	spin_unlock_irqrestore(&all[0].lock, flags);
	return 0;
}

static const struct kernel_param_ops flood_ops = { .set = flood_set };
module_param_cb(flood, &flood_ops, NULL, 0200);

/*
 * Writing "COUNT GAP" to this parameter makes board 0 receive a row of bytes 0, 1, 2 ..., one every GAP ticks, the last of them now. Every
 * third was sent by another device at the same time.
 */
static int row_set(const char *value, const struct kernel_param *parameter)
{
	struct board *b = &all[0];
	unsigned int count, gap, i;
	unsigned long flags;
	u64 tick;

	if (sscanf(value, "%u %u", &count, &gap) != 2 || count > BYTES)
		return -EINVAL;
	spin_lock_irqsave(&b->lock, flags);
	tick = tick_of(b) - (u64)gap * count;
	for (i = 0; i < count; i++) {
		tick += gap;
		put_byte(b, tick, (i % 3 ? 0 : LITEPULSE_RX_NOISE << 9) | (i & 0xff));
	}
	spin_unlock_irqrestore(&b->lock, flags);
	return 0;
}

static const struct kernel_param_ops row_ops = { .set = row_set };
module_param_cb(row, &row_ops, NULL, 0200);

/* Writing "DATA FLAGS" to this parameter makes board 0 receive one byte, with these LITEPULSE_RX_*. */
static int receive_set(const char *value, const struct kernel_param *parameter)
{
	struct board *b = &all[0];
	unsigned int data, of_it;
	unsigned long flags;

	if (sscanf(value, "%u %u", &data, &of_it) != 2)
		return -EINVAL;
	spin_lock_irqsave(&b->lock, flags);
	put_byte(b, tick_of(b), of_it << 9 | (data & 0x1ff));
	spin_unlock_irqrestore(&b->lock, flags);
	return 0;
}

static const struct kernel_param_ops receive_ops = { .set = receive_set };
module_param_cb(receive, &receive_ops, NULL, 0200);

/* What the boards know, for programs to look at. */
static int known_get(char *text, const struct kernel_param *parameter)
{
	u64 now = tick_of(&all[0]);

	return sysfs_emit(text, "launches %u wanted %u lead %u lag %u echo %u asleep %d break %d lows %u low_us %u now %d level %u period %u "
			  "rest %u filtered %u samples %u loop %u behind %u delay %u apart %u width %u mark %u port0 %u port1 %u\n",
			  all[0].launch_count + all[1].launch_count, all[0].wants,
			  (u32)FIELD_GET(LITEPULSE_CFG_DRIVER_ENABLE_LEAD_MASK, all[0].driver_enable),
			  (u32)FIELD_GET(LITEPULSE_CFG_DRIVER_ENABLE_LAG_MASK, all[0].driver_enable), all[0].echo,
			  atomic_read(&accesses_asleep), !!(all[0].line & LITEPULSE_CFG_LINE_BREAK_HOLD_MASK), all[0].lows, all[0].low_us,
			  now < all[0].busy_until || all[0].line & LITEPULSE_CFG_LINE_BREAK_HOLD_MASK, all[0].level, all[0].period,
			  !!(all[0].line & LITEPULSE_CFG_LINE_REST_MASK),
			  (u32)FIELD_GET(LITEPULSE_CFG_FILTER_ENABLE_MASK, all[0].config[LITEPULSE_CONFIG_INDEX(LITEPULSE_CFG_FILTER)]),
			  (u32)FIELD_GET(LITEPULSE_CFG_FILTER_LENGTH_MASK, all[0].config[LITEPULSE_CONFIG_INDEX(LITEPULSE_CFG_FILTER)]),
			  !!(all[0].line & LITEPULSE_CFG_LINE_LOOPBACK_MASK),
			  (u32)FIELD_GET(LITEPULSE_CFG_RESP_TRIGGER_BURST_MASK,
					 all[0].config[LITEPULSE_CONFIG_INDEX(LITEPULSE_CFG_RESP_TRIGGER)]),
			  all[0].config[LITEPULSE_CONFIG_INDEX(LITEPULSE_CFG_RESP_DELAY)],
			  all[0].config[LITEPULSE_CONFIG_INDEX(LITEPULSE_CFG_RESP_HOLDOFF)], all[0].train_width,
			  all[0].config[LITEPULSE_CONFIG_INDEX(LITEPULSE_CFG_PORT)],
			  !!(all[0].config[LITEPULSE_CONFIG_INDEX(LITEPULSE_CFG_PROFILE0_FORMAT)] &
			     LITEPULSE_CFG_PROFILE_FORMAT_TO_PORT_MASK),
			  !!(all[0].config[LITEPULSE_CONFIG_INDEX(LITEPULSE_CFG_PROFILE1_FORMAT)] &
			     LITEPULSE_CFG_PROFILE_FORMAT_TO_PORT_MASK));
}

static const struct kernel_param_ops known_ops = { .get = known_get };
module_param_cb(known, &known_ops, NULL, 0444);
MODULE_PARM_DESC(known, "launches waiting; of board 0: services, lead, lag and tail in ticks, accesses while suspended, TX held low, "
		 "times that it was low until now, how long in all, whether it is low now, bytes that interrupt, bit period in 2^-8 ticks, "
		 "whether it has a level at rest of its own, channels behind the filter, its length, whether its output is looped back, "
		 "launches of the responder behind the first, its delay, and the ticks between them, width of the train's pulses, "
		 "ticks that marks last, whether frames by profile 0 and by profile 1 are marks");

static ssize_t port_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", port);
}
static DEVICE_ATTR_RO(port);

static ssize_t number_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "115200\n");
}
static struct device_attribute baud = __ATTR(baud, 0644, number_show, NULL);
static struct device_attribute poll_us = __ATTR(poll_us, 0644, number_show, NULL);
static struct device_attribute idle_us = __ATTR(idle_us, 0644, number_show, NULL);

static struct attribute *port_attrs[] = { &dev_attr_port.attr, &baud.attr, &poll_us.attr, &idle_us.attr, NULL };
static const struct attribute_group port_group = { .name = "uartbone", .attrs = port_attrs };
static const struct attribute_group *port_groups[] = { &port_group, NULL };

static int register_on_port(struct board *b, const struct litepulse_platform_data *data)
{
	int err;

	b->pdev = platform_device_alloc("litepulse", 0);
	if (!b->pdev)
		return -ENOMEM;
	b->pdev->dev.groups = port_groups;
	err = platform_device_add_data(b->pdev, data, sizeof(*data));
	if (!err)
		err = platform_device_add(b->pdev);
	if (err)
		platform_device_put(b->pdev);
	return err;
}

static int add(struct board *b, int id)
{
	struct litepulse_platform_data data = { .ops = &ops, .context = b, .attach = board_attach, .keeps = keeps };
	const u32 delays[] = { rs485_ms, rs485_ms };
	const struct property_entry rs485[] = {
		PROPERTY_ENTRY_BOOL("linux,rs485-enabled-at-boot-time"), PROPERTY_ENTRY_U32_ARRAY("rs485-rts-delay", delays), {}
	};

	spin_lock_init(&b->lock);
	b->reset = ktime_get_ns();
	hrtimer_init(&b->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	b->timer.function = interrupt;
	INIT_DELAYED_WORK(&b->work, poll_work);
	if (*port)
		return register_on_port(b, &data);
	b->pdev = platform_device_register_full(&(struct platform_device_info){
		.name = "litepulse", .id = id, .data = &data, .size_data = sizeof(data), .properties = rs485_ms ? rs485 : NULL,
	});
	return PTR_ERR_OR_ZERO(b->pdev);
}

/* The boards' parent, say an adapter: suspended after the boards, resumed before them. */
static int adapter_suspend(struct device *dev)
{
	WRITE_ONCE(asleep, true);
	msleep(nap_ms);
	return 0;
}

static int adapter_resume(struct device *dev)
{
	WRITE_ONCE(asleep, false);
	if (fails_on_resume)
		unreachable = true;
	fails_on_resume = false;
	return 0;
}

/* It has no driver, whose name the debug kernel would keep for a while after the module has gone. */
static struct dev_pm_domain adapter_domain = { .ops = { .suspend = adapter_suspend, .resume = adapter_resume } };
static struct platform_device *adapter;

static int add_adapter(void)
{
	int error;

	adapter = platform_device_alloc("echo_adapter", PLATFORM_DEVID_NONE);
	if (!adapter)
		return -ENOMEM;
	adapter->dev.pm_domain = &adapter_domain;
	error = platform_device_add(adapter);
	if (error)
		platform_device_put(adapter);
	return error;
}

static void remove_adapter(void)
{
	platform_device_unregister(adapter);
}

/* A line discipline of the number that the kernel's PPS has. */
static struct tty_ldisc_ops pps = { .owner = THIS_MODULE, .num = N_PPS, .name = "echo_pps" };

/* What the next kernel finds, when all devices have been shut down. */
static void tell_at_shutdown(void)
{
	pr_info("echo_board: train %d launches %u session %#x low %d\n", all[0].train, all[0].launch_count, all[0].session >> 16,
		all[0].line & LITEPULSE_CFG_LINE_REST_MASK ? 1 : 0);
}

static struct syscore_ops syscore = { .shutdown = tell_at_shutdown };

static void __exit echo_board_exit(void)
{
	unregister_syscore_ops(&syscore);
	tty_unregister_ldisc(&pps);
	while (boards--)
		platform_device_unregister(all[boards].pdev);
	remove_adapter();
}
module_exit(echo_board_exit);

static int __init echo_board_init(void)
{
	int error;

	if (!boards || boards > BOARDS)
		return -EINVAL;
	ops.sleeps = sleeps;
	error = tty_register_ldisc(&pps);
	if (error)
		return error;
	error = add_adapter();
	if (error) {
		tty_unregister_ldisc(&pps);
		return error;
	}
	error = add(&all[0], PLATFORM_DEVID_NONE);
	if (!error && boards == 2) {
		error = add(&all[1], 1);
		if (error)
			platform_device_unregister(all[0].pdev);
	}
	if (error) {
		remove_adapter();
		tty_unregister_ldisc(&pps);
	} else {
		register_syscore_ops(&syscore);
	}
	return error;
}
module_init(echo_board_init);

MODULE_DESCRIPTION("boards without hardware");
MODULE_LICENSE("Dual BSD/GPL");
