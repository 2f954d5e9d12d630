// SPDX-License-Identifier: GPL-2.0-only
/*
 * Transport of a core whose registers and window are mapped: a LiteX SoC with a CPU
 *
 * Records are taken in the hard interrupt, so that who waits for one does not wait for a worker
 * first. LiteX has its registers in the CPU's byte order, which is what litex_read32() and
 * litex_write32() are for.
 */
#include <linux/bitfield.h>
#include <linux/clk.h>
#include <linux/interrupt.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/litex.h>
#include <linux/platform_device.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/timer.h>
#include <linux/timex.h>
#include <linux/workqueue.h>

#include "litepulse_clock_map.h"
#include "litepulse_compat.h"
#include "litepulse_mmio.h"
#include "litepulse_trace.h"

/* Words of records read at a time: 32 events, or 64 bytes. */
#define BATCH_WORDS 128u
/* Records of a stream taken in one turn of a worker; and in one interrupt, if few want them. */
#define BUDGET 512u
/* get_cycles() is the counter that the host's clocks are made from, and is read in order. */
#define HAS_COUNTER IS_ENABLED(CONFIG_RISCV)
/* Of ns: for so long the counter of the clocks is measured at least, and at most. */
#define COUNTER_SHIFT_MIN 20
#define COUNTER_SHIFT_MAX 32
/* Of cycles: it is read so soon after a snapshot. */
#define COUNTER_BITS 16
#define IRQ_TIME_MAX FIELD_MAX(LITEPULSE_CSR_IRQ_EVENT_TIME_AGE_MASK)
/*
 * When there are more interrupts than litepulse.setup.interrupts_max, records come a quarter of a
 * FIFO at a time, or when they have waited this long.
 */
#define STRAINED_AGE_US 1000u
/* This many are always taken before they count as too many, however short a jiffy is. */
#define CALLS_PER_JIFFY_MIN 4u
/* These are requested once, and reported once. */
#define ONCE (LITEPULSE_WANT_TRANSMIT | LITEPULSE_WANT_LAUNCH | LITEPULSE_WANT_DRAINED)

/* A fault is reported by an event that must not wait for others. */
#define EVENT_INTERRUPTS (LITEPULSE_WANT_EVENTS | LITEPULSE_CSR_EV_ENABLE_FAULT_MASK)

/* What a stream is made of. */
struct litepulse_mmio_kind {
	u32 window;
	unsigned int words; /* of a record */
	u32 enable; /* the interrupts that call for it */
	void (*hand_over)(struct litepulse *lp, const struct litepulse_header *header,
			  const u32 *words, unsigned int count);
};

static const struct litepulse_mmio_kind kinds[LITEPULSE_STREAMS] = {
	[LITEPULSE_EVENTS] = { LITEPULSE_WIN_EVENTS, LITEPULSE_EVENT_WORDS, EVENT_INTERRUPTS,
			       litepulse_take_events },
	[LITEPULSE_BYTES] = { LITEPULSE_WIN_RECEIVE, LITEPULSE_RECEIVE_WORDS, LITEPULSE_WANT_BYTES,
			      litepulse_take_bytes },
};

struct litepulse_mmio {
	struct device *dev;
	void __iomem *csr;
	void __iomem *window;
	int irq;
	unsigned long bus_hz;
	struct litepulse *lp; /* while attached */

	/*
	 * Around a snapshot: reading a header's level latches its tick. Raw, so that no one is
	 * preempted between the snapshot and the host's clock, PREEMPT_RT or not. Innermost.
	 */
	raw_spinlock_t snapshot_lock;
	/* The host's clocks, by @snapshot_lock. */
	struct litepulse_mmio_clocks {
		struct litepulse_clock_view view;
		struct litepulse_host host; /* at the latest snapshot */
		struct litepulse_host base; /* by this the counter's rate is known */
		u32 counter_ns; /* a cycle of the counter, 2^-20 ns; 0: not known */
		u32 counter_unsure;
	} clocks;

	/* What counts the core's answers, one at a time. Protects what follows, up to @unit. */
	spinlock_t lock;
	u32 enabled;
	struct litepulse_moderation events; /* as requested */
	struct litepulse_moderation bytes;
	bool strained; /* there are too many interrupts: moderated more than requested */
	u32 unit; /* of their times */
	u32 aged; /* the interrupts that an age, or silence, can call for */
	struct timer_list relaxed_timer; /* ends it */
	unsigned long jiffy; /* of the latest interrupts, used by them only */
	unsigned int calls; /* number of interrupts in @jiffy */
	unsigned long interrupts; /* number of all, written by them only */
	struct litepulse_mmio_stream {
		const struct litepulse_mmio_kind *kind;
		struct litepulse_mmio *mmio;
		struct work_struct work; /* takes what is too much for an interrupt */
		bool busy; /* it does: @lock */
		unsigned int taken; /* records, written by the interrupt, or the worker */
		u32 records[BATCH_WORDS]; /* of the interrupt, or the worker */
	} streams[LITEPULSE_STREAMS];
};

static u32 litepulse_mmio_get_csr(const struct litepulse_mmio *mmio, u32 offset)
{
	return litex_read32(mmio->csr + offset);
}

static void litepulse_mmio_put_csr(const struct litepulse_mmio *mmio, u32 offset, u32 word)
{
	litex_write32(mmio->csr + offset, word);
}

static int litepulse_mmio_read_csr(void *context, u32 offset, u32 *words, unsigned int count)
{
	while (count--) {
		*words++ = litepulse_mmio_get_csr(context, offset);
		offset += 4;
	}
	return 0;
}

static int litepulse_mmio_read_config(void *context, u32 offset, u32 *words, unsigned int count)
{
	struct litepulse_mmio *mmio = context;

	for (; count--; offset += 4)
		*words++ = litex_read32(mmio->window + offset);
	return 0;
}

static int litepulse_mmio_write_csr(void *context, u32 offset, u32 word)
{
	litepulse_mmio_put_csr(context, offset, word);
	return 0;
}

/* Of the latest snapshot. */
static u64 litepulse_mmio_tick(const struct litepulse_mmio *mmio, u32 window)
{
	u32 header[LITEPULSE_HEADER_WORDS];

	header[LITEPULSE_HEADER_TICK_LO / 4] =
		litex_read32(mmio->window + window + LITEPULSE_HEADER_TICK_LO);
	header[LITEPULSE_HEADER_TICK_HI / 4] =
		litex_read32(mmio->window + window + LITEPULSE_HEADER_TICK_HI);
	return litepulse_header_tick(header);
}

static int litepulse_mmio_time(void *context, u64 *tick, const struct litepulse_stamper *stamper)
{
	struct litepulse_mmio *mmio = context;
	unsigned long flags;

	raw_spin_lock_irqsave(&mmio->snapshot_lock, flags);
	if (stamper)
		stamper->before(stamper->data);
	litex_read32(mmio->window + LITEPULSE_WIN_EVENTS + LITEPULSE_HEADER_LEVEL);
	if (stamper)
		stamper->after(stamper->data);
	*tick = litepulse_mmio_tick(mmio, LITEPULSE_WIN_EVENTS);
	raw_spin_unlock_irqrestore(&mmio->snapshot_lock, flags);
	return 0;
}

static bool litepulse_mmio_is_busy(const struct litepulse_mmio *mmio)
{
	return litepulse_mmio_get_csr(mmio, LITEPULSE_CSR_STATUS) &
	       LITEPULSE_CSR_STATUS_CONFIG_BUSY_MASK;
}

/*
 * The bus holds each access to a word until the word before it is answered (docs/core.md,
 * Configuration). That takes some cycles; for a flush some ten cycles for each byte that waits in
 * the board, of which the tty gives it 10 ms or 64 bytes. It gives up after 2^17 of its cycles,
 * and leaves the word unanswered, only if the core's clock stands still. Later calls then write
 * nothing, so interrupts are off for long once.
 */
static int litepulse_mmio_configure(void *context, const struct litepulse_word *words,
				    unsigned int count)
{
	struct litepulse_mmio *mmio = context;
	unsigned long flags;
	u32 before, after;
	int error = 0;

	spin_lock_irqsave(&mmio->lock, flags);
	if (litepulse_mmio_is_busy(mmio)) {
		error = -EIO;
		goto unlock;
	}
	before = litepulse_mmio_get_csr(mmio, LITEPULSE_CSR_CONFIGS);
	while (count--) {
		litex_write32(mmio->window + words->offset, words->value);
		words++;
	}
	/* The last one is answered, too. No CPU takes this before the writes: it is the window. */
	litex_read32(mmio->window + LITEPULSE_CFG_LINE);
	after = litepulse_mmio_get_csr(mmio, LITEPULSE_CSR_CONFIGS);
	/* Writes that the bus gave up count as refused. */
	if (litepulse_mmio_is_busy(mmio))
		error = -EIO;
	else if ((before ^ after) & LITEPULSE_CSR_CONFIGS_REFUSED_MASK)
		error = -EINVAL;
unlock:
	spin_unlock_irqrestore(&mmio->lock, flags);
	return error;
}

static int litepulse_mmio_launch(void *context, const u32 *words, unsigned int count)
{
	struct litepulse_mmio *mmio = context;
	unsigned long flags;
	unsigned int i;

	spin_lock_irqsave(&mmio->lock, flags);
	count = min(count, FIELD_GET(LITEPULSE_CSR_FREE_LAUNCH_MASK,
				     litepulse_mmio_get_csr(mmio, LITEPULSE_CSR_FREE)));
	for (i = 0; i < 4 * count; i++)
		litex_write32(mmio->window + LITEPULSE_WIN_LAUNCH + 4 * (i % 4), words[i]);
	spin_unlock_irqrestore(&mmio->lock, flags);
	return count;
}

static int litepulse_mmio_put_bytes(struct litepulse_mmio *mmio, const u8 *bytes,
				    unsigned int count)
{
	unsigned int sent = 0, part, i;
	u32 word;

	count = min(count, FIELD_GET(LITEPULSE_CSR_FREE_TRANSMIT_MASK,
				     litepulse_mmio_get_csr(mmio, LITEPULSE_CSR_FREE)));
	while (sent < count) {
		part = min(count - sent, 4u);
		for (i = 0, word = 0; i < part; i++)
			word |= bytes[sent + i] << 8 * i;
		litex_write32(mmio->window + LITEPULSE_WIN_TX + (part - 1) * LITEPULSE_TX_PART_SIZE,
			      word);
		sent += part;
	}
	return count;
}

static int litepulse_mmio_transmit(void *context, const u8 *bytes, unsigned int count)
{
	struct litepulse_mmio *mmio = context;
	unsigned long flags;
	int sent;

	/* The console's messages when the kernel dies; the CPU that has the lock may be stopped. */
	if (oops_in_progress)
		return litepulse_mmio_put_bytes(mmio, bytes, count);
	spin_lock_irqsave(&mmio->lock, flags);
	sent = litepulse_mmio_put_bytes(mmio, bytes, count);
	spin_unlock_irqrestore(&mmio->lock, flags);
	return sent;
}

/* The wanted interrupts, except of a stream that is being emptied; @lock is held. */
static void litepulse_mmio_write_enable(struct litepulse_mmio *mmio)
{
	u32 enabled = mmio->enabled;
	unsigned int which;

	for (which = 0; which < LITEPULSE_STREAMS; which++) {
		if (mmio->streams[which].busy)
			enabled &= ~mmio->streams[which].kind->enable;
	}
	litepulse_mmio_put_csr(mmio, LITEPULSE_CSR_EV_ENABLE, enabled);
}

static void litepulse_mmio_enable(struct litepulse_mmio *mmio, u32 mask, u32 wanted)
{
	unsigned long flags;

	spin_lock_irqsave(&mmio->lock, flags);
	mmio->enabled = (mmio->enabled & ~mask) | (wanted & mask);
	/* Written even if it is the same: a reset may have cleared it. */
	litepulse_mmio_write_enable(mmio);
	spin_unlock_irqrestore(&mmio->lock, flags);
}

static void litepulse_mmio_want(void *context, u32 mask, u32 wanted)
{
	if (mask & LITEPULSE_WANT_EVENTS) {
		mask |= EVENT_INTERRUPTS;
		if (wanted & LITEPULSE_WANT_EVENTS)
			wanted |= EVENT_INTERRUPTS;
	}
	litepulse_mmio_enable(context, mask, wanted);
}

static void litepulse_mmio_set_busy(struct litepulse_mmio_stream *stream, bool busy)
{
	struct litepulse_mmio *mmio = stream->mmio;
	unsigned long flags;

	spin_lock_irqsave(&mmio->lock, flags);
	stream->busy = busy;
	litepulse_mmio_write_enable(mmio);
	spin_unlock_irqrestore(&mmio->lock, flags);
}

/* Rounded up, and one more, as the first unit may end at once: never less than requested. */
static u32 litepulse_mmio_irq_units(const struct litepulse_mmio *mmio, unsigned int us, u32 unit)
{
	u64 units = litepulse_mul_div(mmio->bus_hz, us, USEC_PER_SEC, NULL) >>
		    (LITEPULSE_IRQ_UNIT + LITEPULSE_IRQ_UNIT_STEP * unit);

	return us ? min_t(u64, units + 2, U32_MAX) : 0;
}

/* What a stream is moderated by when interrupts have become too many. */
static void litepulse_mmio_relax(struct litepulse_moderation *stream, unsigned int depth)
{
	/* Records due at once must not wait for the age, which was set when it did not matter. */
	if (stream->level < depth / 4) {
		stream->level = depth / 4;
		stream->age_us = STRAINED_AGE_US;
	} else if (stream->age_us) {
		stream->age_us = max(stream->age_us, STRAINED_AGE_US);
	}
}

/* A record that interrupts at once waits for no time. */
static bool litepulse_mmio_is_aged(const struct litepulse_moderation *stream)
{
	return stream->level > 1 && (stream->age_us || stream->idle_us);
}

/* Writes how soon the streams interrupt; the lock is held. */
static void litepulse_mmio_write_moderation(struct litepulse_mmio *mmio)
{
	struct litepulse_moderation events = mmio->events, bytes = mmio->bytes;
	u32 unit = 0, longest, word;

	if (mmio->strained) {
		litepulse_mmio_relax(&events, mmio->lp->event_depth);
		litepulse_mmio_relax(&bytes, mmio->lp->receive_depth);
	}
	longest = max(max(events.age_us, events.idle_us), max(bytes.age_us, bytes.idle_us));
	while (unit < LITEPULSE_CSR_IRQ_UNIT_UNIT_MASK &&
	       litepulse_mmio_irq_units(mmio, longest, unit) > IRQ_TIME_MAX)
		unit++;
#define TIME(us) min_t(u32, litepulse_mmio_irq_units(mmio, us, unit), IRQ_TIME_MAX)
	WRITE_ONCE(mmio->aged, (litepulse_mmio_is_aged(&events) ? EVENT_INTERRUPTS : 0) |
		   (litepulse_mmio_is_aged(&bytes) ? LITEPULSE_WANT_BYTES : 0));
	word = FIELD_PREP(LITEPULSE_CSR_IRQ_LEVEL_EVENT_MASK, events.level) |
	       FIELD_PREP(LITEPULSE_CSR_IRQ_LEVEL_RECEIVE_MASK, bytes.level);
	litepulse_mmio_put_csr(mmio, LITEPULSE_CSR_IRQ_LEVEL, word);
	word = FIELD_PREP(LITEPULSE_CSR_IRQ_EVENT_TIME_AGE_MASK, TIME(events.age_us)) |
	       FIELD_PREP(LITEPULSE_CSR_IRQ_EVENT_TIME_IDLE_MASK, TIME(events.idle_us));
	litepulse_mmio_put_csr(mmio, LITEPULSE_CSR_IRQ_EVENT_TIME, word);
	word = FIELD_PREP(LITEPULSE_CSR_IRQ_RECEIVE_TIME_AGE_MASK, TIME(bytes.age_us)) |
	       FIELD_PREP(LITEPULSE_CSR_IRQ_RECEIVE_TIME_IDLE_MASK, TIME(bytes.idle_us));
	litepulse_mmio_put_csr(mmio, LITEPULSE_CSR_IRQ_RECEIVE_TIME, word);
	litepulse_mmio_put_csr(mmio, LITEPULSE_CSR_IRQ_SEND,
			       FIELD_PREP(LITEPULSE_CSR_IRQ_SEND_TRANSMIT_LOW_MASK,
					  mmio->lp->transmit_low) |
				       FIELD_PREP(LITEPULSE_CSR_IRQ_SEND_LAUNCH_SPACE_MASK,
						  max(mmio->lp->launch_depth / 4, 1u)));
	/* This restarts all times. */
	if (unit != litepulse_mmio_get_csr(mmio, LITEPULSE_CSR_IRQ_UNIT))
		litepulse_mmio_put_csr(mmio, LITEPULSE_CSR_IRQ_UNIT, unit);
	mmio->unit = unit;
#undef TIME
}

static void litepulse_mmio_moderate(void *context, const struct litepulse_moderation *events,
				    const struct litepulse_moderation *bytes)
{
	struct litepulse_mmio *mmio = context;
	unsigned long flags;

	spin_lock_irqsave(&mmio->lock, flags);
	mmio->events = *events;
	mmio->bytes = *bytes;
	litepulse_mmio_write_moderation(mmio);
	spin_unlock_irqrestore(&mmio->lock, flags);
}

static void litepulse_mmio_show(void *context, struct seq_file *file)
{
	struct litepulse_mmio *mmio = context;

	seq_printf(file, "interrupts: irq=%d count=%lu enabled=%#x strained=%d\n", mmio->irq,
		   READ_ONCE(mmio->interrupts), READ_ONCE(mmio->enabled),
		   READ_ONCE(mmio->strained));
}

static const struct litepulse_io_ops mmio_ops = {
	.read_csr = litepulse_mmio_read_csr,
	.write_csr = litepulse_mmio_write_csr,
	.time = litepulse_mmio_time,
	.read_config = litepulse_mmio_read_config,
	.configure = litepulse_mmio_configure,
	.launch = litepulse_mmio_launch,
	.transmit = litepulse_mmio_transmit,
	.want = litepulse_mmio_want,
	.moderate = litepulse_mmio_moderate,
	.show = litepulse_mmio_show,
};

/* A cycle of the counter that the clocks are made from, in 2^-20 ns. */
static void litepulse_mmio_learn_counter(struct litepulse_mmio_clocks *known)
{
	const struct litepulse_host *now = &known->host;
	u64 ns = now->raw - known->base.raw;
	u32 cycles = now->cycles - known->base.cycles;

	if (!HAS_COUNTER)
		return;
	if (!known->base.raw || now->source_count != known->base.source_count ||
	    (!known->counter_ns && ns >> COUNTER_SHIFT_MAX)) {
		known->counter_ns = 0;
		known->base = *now;
		return;
	}
	if (known->counter_ns || !(ns >> COUNTER_SHIFT_MIN) || !cycles)
		return;
	known->counter_ns = min_t(u64, div_u64(ns << 20, cycles), U32_MAX);
	/* Both moments are rounded to a ns. */
	known->counter_unsure = div_u64(2 << 20, cycles) + 1;
}

/*
 * Narrows a reading to when the counter was @first and @second. Only if they are of the counter
 * that the clocks are made from, which were read soon after.
 */
static void litepulse_mmio_narrow(const struct litepulse_mmio_clocks *known, unsigned long first,
				  unsigned long second, struct litepulse_clock_anchor *reading)
{
	const struct litepulse_host *now = &known->host;
	u32 since_first = now->cycles - first, since_second = now->cycles - second;
	u64 earliest, latest;

	if (!known->counter_ns || since_first >> COUNTER_BITS || since_second > since_first)
		return;
	earliest = now->raw - 2 -
		((u64)since_first * (known->counter_ns + known->counter_unsure) >> 20);
	latest = now->raw + 1 -
		((u64)since_second * (known->counter_ns - known->counter_unsure) >> 20);
	/* Else it was another one. */
	if (earliest < reading->earliest || latest > reading->latest)
		return;
	reading->earliest = earliest;
	reading->latest = latest;
}

/* A snapshot of a stream's header, whose level it returns, beside the host's clocks. */
static u32 litepulse_mmio_snapshot(struct litepulse_mmio *mmio, u32 window,
				   struct litepulse_header *header,
				   struct litepulse_clock_line *line)
{
	struct litepulse_mmio_clocks *known = &mmio->clocks;
	u64 slept = ktime_to_ns(ktime_mono_to_any(0, TK_OFFS_BOOT));
	struct litepulse_clock_anchor reading = {};
	unsigned long first, second;
	u32 level;

	lockdep_assert_held(&mmio->snapshot_lock);
	reading.earliest = ktime_get_raw_ns();
	/* A clock is read in many steps, a counter in one. readl() is over before what follows. */
	first = HAS_COUNTER ? get_cycles() : 0;
	rmb();
	level = litex_read32(mmio->window + window + LITEPULSE_HEADER_LEVEL);
	second = HAS_COUNTER ? get_cycles() : 0;
	litepulse_board_read_host(&known->host);
	reading.latest = known->host.raw;
	reading.tick = litepulse_mmio_tick(mmio, window);
	litepulse_mmio_learn_counter(known);
	litepulse_mmio_narrow(known, first, second, &reading);
	if (slept != known->view.slept)
		known->view.map.valid = false;
	known->view.slept = slept;
	litepulse_clock_map_line(&known->view, &mmio->lp->rate, &reading, known->host.raw,
				 known->host.mono, line);
	*header = (struct litepulse_header){
		.tick = reading.tick,
		.mono = line->mono,
		.uncertainty = line->uncertainty,
		.line = line,
	};
	return level;
}

/* Takes up to @most records of a stream out of the core, not over BATCH_WORDS; returns the rest. */
static unsigned int litepulse_mmio_take(struct litepulse_mmio_stream *stream, unsigned int most)
{
	struct litepulse_mmio *mmio = stream->mmio;
	const struct litepulse_mmio_kind *kind = stream->kind;
	void __iomem *window = mmio->window + kind->window;
	u32 *records = stream->records, level;
	unsigned int count;
	const bool want_ns = READ_ONCE(mmio->lp->feed.want_ns);
	struct litepulse_header header = {};
	struct litepulse_clock_line line;
	unsigned long flags;

	raw_spin_lock_irqsave(&mmio->snapshot_lock, flags);
	if (want_ns) {
		level = litepulse_mmio_snapshot(mmio, kind->window, &header, &line);
	} else {
		level = litex_read32(window + LITEPULSE_HEADER_LEVEL);
		header.tick = litepulse_mmio_tick(mmio, kind->window);
	}
	header.ready = FIELD_GET(LITEPULSE_HEADER_LEVEL_READY_MASK, level);
	raw_spin_unlock_irqrestore(&mmio->snapshot_lock, flags);
	count = min(header.ready, most);
	if (count) {
		/* Without a barrier for each word. */
		__ioread32_copy(records, window + 4 * LITEPULSE_HEADER_WORDS, count * kind->words);
		/* All of them are read before they are acknowledged. */
		mb();
		litex_write32(window + LITEPULSE_STREAM_ACK,
			      FIELD_PREP(LITEPULSE_STREAM_ACK_COUNT_MASK, count));
	}
	stream->taken += count;
	kind->hand_over(mmio->lp, &header, records, count);
	return header.ready - count;
}

/*
 * The core counts an age from when a FIFO was empty last. Records that arrive while others are
 * taken keep it from ever being so, and would soon interrupt one by one. So ages start again before
 * everything is taken: of the streams whose interrupts are in @taken, and there is nothing in the
 * others.
 */
static void litepulse_mmio_restart_ages(struct litepulse_mmio *mmio, u32 taken)
{
	unsigned long flags;
	unsigned int which;
	u32 level = 0;

	spin_lock_irqsave(&mmio->lock, flags);
	for (which = 0; which < LITEPULSE_STREAMS; which++) {
		if (taken & kinds[which].enable)
			continue;
		raw_spin_lock(&mmio->snapshot_lock);
		level |= litex_read32(mmio->window + kinds[which].window + LITEPULSE_HEADER_LEVEL);
		raw_spin_unlock(&mmio->snapshot_lock);
	}
	if (!FIELD_GET(LITEPULSE_HEADER_LEVEL_READY_MASK, level))
		litepulse_mmio_put_csr(mmio, LITEPULSE_CSR_IRQ_UNIT, mmio->unit);
	spin_unlock_irqrestore(&mmio->lock, flags);
}

/* Up to @budget of them; returns whether none is left. */
static bool litepulse_mmio_take_some(struct litepulse_mmio_stream *stream, unsigned int budget)
{
	const unsigned int most = BATCH_WORDS / stream->kind->words;
	unsigned int batch;

	for (; budget; budget -= batch) {
		batch = min(litepulse_records_at_once(stream->mmio->lp, most), budget);
		if (!litepulse_mmio_take(stream, batch))
			return true;
	}
	return false;
}

/*
 * Records that come faster than an interrupt may take them are left to this worker, so that the
 * rest of the machine can run; the core counts lost ones.
 */
static void litepulse_mmio_take_rest(struct work_struct *work)
{
	struct litepulse_mmio_stream *stream =
		container_of(work, struct litepulse_mmio_stream, work);
	const bool events = stream->kind == &kinds[LITEPULSE_EVENTS];
	unsigned int taken = stream->taken;
	bool all;

	litepulse_mmio_restart_ages(stream->mmio, stream->kind->enable);
	all = litepulse_mmio_take_some(stream, BUDGET);
	taken = stream->taken - taken;
	trace_litepulse_irq(stream->mmio->lp, 0, events ? taken : 0, events ? 0 : taken);
	if (all)
		litepulse_mmio_set_busy(stream, false);
	else
		schedule_work(work);
}

static void litepulse_mmio_end_strain(struct timer_list *timer)
{
	struct litepulse_mmio *mmio = timer_container_of(mmio, timer, relaxed_timer);
	unsigned long flags;

	spin_lock_irqsave(&mmio->lock, flags);
	mmio->strained = false;
	litepulse_mmio_write_moderation(mmio);
	spin_unlock_irqrestore(&mmio->lock, flags);
}

/* A sink wants each event at once, but there are too many: in batches, until the next jiffy. */
static void litepulse_mmio_count_call(struct litepulse_mmio *mmio)
{
	unsigned long flags;

	if (time_after(jiffies, mmio->jiffy)) {
		mmio->jiffy = jiffies;
		mmio->calls = 0;
	}
	if (++mmio->calls != max(READ_ONCE(mmio->lp->setup.interrupts_max) / HZ,
				 CALLS_PER_JIFFY_MIN))
		return;
	spin_lock_irqsave(&mmio->lock, flags);
	mmio->strained = true;
	litepulse_mmio_write_moderation(mmio);
	spin_unlock_irqrestore(&mmio->lock, flags);
	mod_timer(&mmio->relaxed_timer, jiffies + 1);
}

static irqreturn_t litepulse_mmio_irq(int irq, void *data)
{
	struct litepulse_mmio *mmio = data;
	u32 pending = litepulse_mmio_get_csr(mmio, LITEPULSE_CSR_EV_PENDING) &
		      READ_ONCE(mmio->enabled);
	unsigned int which, count[LITEPULSE_STREAMS] = {};
	u32 taken = 0;

	if (!pending)
		return IRQ_NONE;
	WRITE_ONCE(mmio->interrupts, mmio->interrupts + 1);
	if (pending & LITEPULSE_CSR_EV_PENDING_FAULT_MASK)
		litepulse_mmio_put_csr(mmio, LITEPULSE_CSR_EV_PENDING,
				       LITEPULSE_CSR_EV_PENDING_FAULT_MASK);
	for (which = 0; which < LITEPULSE_STREAMS; which++) {
		if (pending & kinds[which].enable && !READ_ONCE(mmio->streams[which].busy))
			taken |= kinds[which].enable;
	}
	if (taken & READ_ONCE(mmio->aged))
		litepulse_mmio_restart_ages(mmio, taken);
	for (which = 0; which < LITEPULSE_STREAMS; which++) {
		struct litepulse_mmio_stream *stream = &mmio->streams[which];
		unsigned int before;
		bool all;

		if (!(taken & stream->kind->enable))
			continue;
		before = stream->taken;
		all = litepulse_mmio_take_some(stream, litepulse_records_at_once(mmio->lp, BUDGET));
		count[which] = stream->taken - before;
		if (all)
			continue;
		litepulse_mmio_set_busy(stream, true);
		schedule_work(&stream->work);
	}
	if (taken)
		litepulse_mmio_count_call(mmio);
	if (pending & ONCE) {
		litepulse_mmio_enable(mmio, pending & ONCE, 0);
		litepulse_take_room(mmio->lp, pending & ONCE);
	}
	trace_litepulse_irq(mmio->lp, pending, count[LITEPULSE_EVENTS], count[LITEPULSE_BYTES]);
	return IRQ_HANDLED;
}

static int litepulse_mmio_attach(void *context, struct litepulse *lp)
{
	struct litepulse_mmio *mmio = context;
	unsigned int which;
	int error;

	if (lp) {
		mmio->lp = lp;
		mmio->clocks = (struct litepulse_mmio_clocks){};
		mmio->jiffy = jiffies;
		litepulse_mmio_put_csr(mmio, LITEPULSE_CSR_EV_ENABLE, 0);
		litepulse_mmio_put_csr(mmio, LITEPULSE_CSR_EV_PENDING, ~0);
		timer_setup(&mmio->relaxed_timer, litepulse_mmio_end_strain, 0);
		error = request_irq(mmio->irq, litepulse_mmio_irq, 0, dev_name(mmio->dev), mmio);
		if (error)
			return dev_err_probe(mmio->dev, error, "interrupt %d\n", mmio->irq);
		return 0;
	}
	litepulse_mmio_enable(mmio, ~0, 0);
	free_irq(mmio->irq, mmio);
	timer_delete_sync(&mmio->relaxed_timer);
	for (which = 0; which < LITEPULSE_STREAMS; which++) {
		cancel_work_sync(&mmio->streams[which].work);
		mmio->streams[which].busy = false;
	}
	litepulse_mmio_enable(mmio, ~0, 0);
	return 0;
}

static void __iomem *litepulse_mmio_map_region(struct platform_device *pdev, const char *name,
					       resource_size_t needed)
{
	struct resource *region = platform_get_resource_byname(pdev, IORESOURCE_MEM, name);

	if (!region)
		return IOMEM_ERR_PTR(dev_err_probe(&pdev->dev, -EINVAL,
						   "no memory region \"%s\"\n", name));
	if (resource_size(region) < needed)
		return IOMEM_ERR_PTR(dev_err_probe(&pdev->dev, -EINVAL,
						   "memory region \"%s\" is too short\n", name));
	return devm_ioremap_resource(&pdev->dev, region); /* says what is wrong */
}

static int litepulse_mmio_clock_rate(struct device *dev, const char *name, unsigned long *hz)
{
	struct clk *clk = devm_clk_get_enabled(dev, name);

	if (IS_ERR(clk))
		return dev_err_probe(dev, PTR_ERR(clk) == -ENOENT ? -EINVAL : PTR_ERR(clk),
				     "no clock \"%s\"\n", name);
	*hz = clk_get_rate(clk);
	if (!*hz)
		return dev_err_probe(dev, -EINVAL, "clock \"%s\" has a rate of 0\n", name);
	return 0;
}

/**
 * litepulse_mmio_probe - the registers of a device on the bus
 * @pdev: has memory regions "csr" and "window", an interrupt, clocks "pulse" and "sys"
 * @transport: filled in
 *
 * Return: 0, -ENXIO or -EINVAL if something is missing or two descriptions of the clock differ,
 * which it has logged.
 */
int litepulse_mmio_probe(struct platform_device *pdev, struct litepulse_platform_data *transport)
{
	struct device *dev = &pdev->dev;
	struct litepulse_mmio *mmio;
	unsigned long pulse_hz;
	u32 num, den, hz, rest;
	unsigned int which;
	int error;

	mmio = devm_kzalloc(dev, sizeof(*mmio), GFP_KERNEL);
	if (!mmio)
		return -ENOMEM;
	mmio->dev = dev;
	raw_spin_lock_init(&mmio->snapshot_lock);
	spin_lock_init(&mmio->lock);
	for (which = 0; which < LITEPULSE_STREAMS; which++) {
		mmio->streams[which].kind = &kinds[which];
		mmio->streams[which].mmio = mmio;
		INIT_WORK(&mmio->streams[which].work, litepulse_mmio_take_rest);
	}
	mmio->csr = litepulse_mmio_map_region(pdev, "csr", LITEPULSE_CSR_EV_ENABLE + 4);
	if (IS_ERR(mmio->csr))
		return PTR_ERR(mmio->csr);
	mmio->window = litepulse_mmio_map_region(pdev, "window", LITEPULSE_WINDOW_SIZE);
	if (IS_ERR(mmio->window))
		return PTR_ERR(mmio->window);
	mmio->irq = platform_get_irq(pdev, 0);
	if (mmio->irq < 0)
		return mmio->irq; /* it has logged that */
	error = litepulse_mmio_clock_rate(dev, "pulse", &pulse_hz);
	if (error)
		return error;
	error = litepulse_mmio_clock_rate(dev, "sys", &mmio->bus_hz);
	if (error)
		return error;
	/*
	 * Else the clock would be compared with an unknown one. The core's identification
	 * is checked later.
	 */
	if (litepulse_mmio_get_csr(mmio, LITEPULSE_CSR_ID_MAGIC) == LITEPULSE_MAGIC) {
		num = litepulse_mmio_get_csr(mmio, LITEPULSE_CSR_ID_CLOCK_NUM);
		den = litepulse_mmio_get_csr(mmio, LITEPULSE_CSR_ID_CLOCK_DEN);
		hz = den ? num / den : 0;
		rest = den ? num % den : 0;
		if (pulse_hz != hz && !(rest && pulse_hz == hz + 1))
			return dev_err_probe(dev, -EINVAL,
					     "clock \"pulse\" has %lu Hz, the core says %u/%u Hz\n",
					     pulse_hz, num, den);
	}
	*transport = (struct litepulse_platform_data){ .ops = &mmio_ops,
						       .context = mmio,
						       .attach = litepulse_mmio_attach };
	return 0;
}
