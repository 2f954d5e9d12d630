// SPDX-License-Identifier: GPL-2.0-only
/*
 * From a transport's records to everybody who wants them
 *
 * A transport hands over the records of one stream in order, one batch at a time; the two streams
 * may come from two threads. What the hardware is told to record, and how soon it interrupts, is
 * the union of all sinks' wishes.
 */
#include <linux/bitfield.h>
#include <linux/bits.h>
#include <linux/poll.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/sched.h>

#include "litepulse.h"
#include "litepulse_clock_map.h"

/*
 * Without a wish the driver's own events (answers, what the claim's holder did not ask for) may
 * wait so long.
 */
#define DEFAULT_AGE_US 10000

/* Events decoded before they are delivered; they lie on the interrupt's stack. */
#define AT_ONCE 8u

static u64 event_ns(struct litepulse *lp, u32 clock, const struct litepulse_header *header,
		    u64 tick)
{
	u64 mono;

	if (clock == LITEPULSE_CLOCK_PHC)
		return litepulse_ptp_ns(lp, tick);
	/*
	 * A record is not younger than its header, but a launch is told at once, a few ticks
	 * before its tick.
	 */
	if (tick <= header->tick)
		mono = header->mono - litepulse_ticks_to_ns_fast(&lp->rate, header->tick - tick);
	else
		mono = header->mono + litepulse_ticks_to_ns_fast(&lp->rate, tick - header->tick);
	switch (clock) {
	case LITEPULSE_CLOCK_REALTIME:
		return ktime_to_ns(ktime_mono_to_real(ns_to_ktime(mono)));
	case LITEPULSE_CLOCK_TAI:
		return ktime_to_ns(ktime_mono_to_any(ns_to_ktime(mono), TK_OFFS_TAI));
	default:
		return mono;
	}
}

/* That of the header, and as much as the two clocks may have parted since the event. */
static u32 event_uncertainty(struct litepulse *lp, const struct litepulse_header *header, u64 tick)
{
	u64 ns = header->uncertainty;

	if (tick < header->tick)
		ns += litepulse_ticks_to_ns_fast(&lp->rate, header->tick - tick) >>
			LITEPULSE_CLOCK_DRIFT_SHIFT;
	return min_t(u64, ns, U32_MAX);
}

static void put_with_ns(struct litepulse *lp, struct litepulse_sink *sink,
			const struct litepulse_header *header, struct litepulse_event *event)
{
	/* The first to want them came after the header was read. */
	if (!header->mono && sink->want.clock != LITEPULSE_CLOCK_PHC) {
		sink->put(sink, event);
		return;
	}
	event->ns = event_ns(lp, sink->want.clock, header, event->tick);
	/* The PTP clock is a function of the tick, rounded down. */
	event->uncertainty = sink->want.clock == LITEPULSE_CLOCK_PHC ?
		1 : event_uncertainty(lp, header, event->tick);
	event->flags |= LITEPULSE_FLAG_NS;
	sink->put(sink, event);
	event->ns = 0;
	event->uncertainty = 0;
	event->flags &= ~LITEPULSE_FLAG_NS;
}

/*
 * To all who want them, in order. One sink after the other, because its code then stays in a small
 * cache. The events are as before afterwards: 48 bytes are long to copy.
 */
static void deliver(struct litepulse *lp, const struct litepulse_header *header,
		    struct litepulse_event *events, unsigned int count)
{
	struct litepulse_event *event;
	struct litepulse_sink *sink;

	lockdep_assert_held(&lp->lock);
	list_for_each_entry(sink, &lp->sinks, node) {
		for (event = events; event < events + count; event++) {
			const u64 since = sink->since[event->kind == LITEPULSE_KIND_RX ?
						      LITEPULSE_BYTES : LITEPULSE_EVENTS];
			const u32 data = event->data;

			/* A loss may have begun before. */
			if (event->tick < since && event->kind < LITEPULSE_KIND_LOST)
				continue;
			if (litepulse_select(&sink->selector, event, &event->data)) {
				sink->got = true;
				if (sink->want.clock == LITEPULSE_CLOCK_NONE)
					sink->put(sink, event);
				else
					put_with_ns(lp, sink, header, event);
			}
			event->data = data;
		}
	}
}

/* After the last of some events. */
static void wake_sinks(struct litepulse *lp)
{
	struct litepulse_sink *sink;

	lockdep_assert_held(&lp->lock);
	list_for_each_entry(sink, &lp->sinks, node) {
		if (sink->got && sink->done)
			sink->done(sink);
		sink->got = false;
	}
}

/*
 * Returns false if the board's ticks went back, and counts the batch as dropped: the board was
 * reset, or a tick was wrong. restart_work() of litepulse_core.c finds out which, and reports it.
 */
static bool ticks_advance(struct litepulse *lp, struct litepulse_sequence *stream, u64 tick,
			  unsigned int count)
{
	if (tick < stream->tick) {
		if (!stream->dropped)
			stream->dropped_tick = tick;
		stream->dropped += count;
		litepulse_schedule_restart(lp);
		return false;
	}
	stream->tick = tick;
	return true;
}

/* Is it one of the train's words that the core refused? Others' may be refused meanwhile. */
static bool is_train_word(u32 index)
{
	return index >= LITEPULSE_CONFIG_INDEX(LITEPULSE_CFG_TRAIN_START_LO) &&
	       index <= LITEPULSE_CONFIG_INDEX(LITEPULSE_CFG_TRAIN_COMMAND);
}

/*
 * Is this what the train was asked last? An earlier change may have waited until now; its stamp
 * gives it away. What is refused before the sequencer sees it is told by the configuration.
 */
static void note_answer(struct litepulse *lp, const struct litepulse_event *event)
{
	bool stop = event->flags & LITEPULSE_EVENT_FLAG_STOP;

	if (event->source != LITEPULSE_SRC_TRAIN_CHANGE && event->source != LITEPULSE_SRC_CONTROL)
		return;
	if (lp->answer_state != LITEPULSE_ANSWER_EXPECTED || event->tick < lp->answer_since)
		return;
	if (event->source == LITEPULSE_SRC_CONTROL &&
	    (event->kind != LITEPULSE_KIND_REFUSED || !is_train_word(event->data)))
		return;
	if (event->kind == LITEPULSE_KIND_APPLIED && stop != lp->answer_stop)
		return;
	lp->answer = *event;
	WRITE_ONCE(lp->answer_state, LITEPULSE_ANSWER_COME);
	wake_up(&lp->answer_wait);
}

/**
 * litepulse_take_events - records of the event stream
 * @lp: device
 * @header: that was read before them
 * @words: the records
 * @count: how many
 *
 * Interrupts may be off. Who waits for something is woken once, after all of them.
 */
void litepulse_take_events(struct litepulse *lp, const struct litepulse_header *header,
			   const u32 *words, unsigned int count)
{
	struct litepulse_event events[AT_ONCE * LITEPULSE_EVENTS_PER_RECORD];
	unsigned int batch, made, i;
	unsigned long flags;
	bool started;

	spin_lock_irqsave(&lp->lock, flags);
	if (!ticks_advance(lp, &lp->events, header->tick, count))
		count = 0;
	while (count) {
		started = lp->events.started;
		batch = min(count, AT_ONCE);
		made = litepulse_decode_events(&lp->events, words, batch, events);
		words += batch * LITEPULSE_EVENT_WORDS;
		count -= batch;
		if (started != lp->events.started)
			wake_up(&lp->answer_wait);
		for (i = 0; i < made && lp->answer_state == LITEPULSE_ANSWER_EXPECTED; i++)
			note_answer(lp, &events[i]);
		deliver(lp, header, events, made);
	}
	wake_sinks(lp);
	spin_unlock_irqrestore(&lp->lock, flags);
}
EXPORT_SYMBOL_GPL(litepulse_take_events);

static void flush_to_tty(struct litepulse *lp, struct litepulse_tty_bytes *bytes)
{
	if (bytes->count || bytes->lost)
		litepulse_tty_receive(lp, bytes);
	bytes->count = 0;
	bytes->lost = 0;
}

/*
 * Collects what the tty gets, which are bytes from tick @since on; hands it over when it is much,
 * or something was lost.
 */
static void for_the_tty(struct litepulse *lp, const struct litepulse_event *events,
			unsigned int count, u64 since, struct litepulse_tty_bytes *bytes)
{
	const struct litepulse_event *event;

	for (event = events; event < events + count; event++) {
		if (event->kind == LITEPULSE_KIND_LOST) {
			bytes->lost = event->count;
		} else if (event->tick < since) {
			continue;
		} else {
			bytes->data[bytes->count] = event->data;
			bytes->flags[bytes->count++] = event->flags;
		}
		if (bytes->lost || bytes->count == LITEPULSE_TTY_BATCH)
			flush_to_tty(lp, bytes);
	}
}

/**
 * litepulse_take_bytes - records of the receive stream
 * @lp: device
 * @header: that was read before them
 * @words: the records
 * @count: how many
 */
void litepulse_take_bytes(struct litepulse *lp, const struct litepulse_header *header,
			  const u32 *words, unsigned int count)
{
	struct litepulse_event events[AT_ONCE];
	struct litepulse_tty_bytes bytes;
	unsigned int batch, made;
	unsigned long flags;
	u64 since;

	bytes.count = 0;
	bytes.lost = 0;
	while (count) {
		spin_lock_irqsave(&lp->lock, flags);
		if (!ticks_advance(lp, &lp->bytes, header->tick, count))
			count = 0;
		batch = lp->bytes_wanted || lp->tty_since ? 0 :
			litepulse_decode_plain(&lp->bytes, words,
					       min(count, LITEPULSE_TTY_BATCH - bytes.count),
					       bytes.data + bytes.count,
					       bytes.flags + bytes.count);
		bytes.count += batch;
		made = 0;
		if (!batch) {
			batch = min(count, AT_ONCE);
			made = litepulse_decode_bytes(&lp->bytes, header->tick, words, batch,
						      events);
		}
		since = lp->tty_since;
		/* Once one was late enough, so are all that follow. */
		if (made && events[made - 1].tick >= since)
			lp->tty_since = 0;
		words += batch * LITEPULSE_RECEIVE_WORDS;
		count -= batch;
		deliver(lp, header, events, made);
		if (!count)
			wake_sinks(lp);
		spin_unlock_irqrestore(&lp->lock, flags);
		for_the_tty(lp, events, made, since, &bytes);
		if (bytes.count == LITEPULSE_TTY_BATCH)
			flush_to_tty(lp, &bytes);
	}
	flush_to_tty(lp, &bytes);
}
EXPORT_SYMBOL_GPL(litepulse_take_bytes);

/**
 * litepulse_take_room - what was waited for has come
 * @lp: device
 * @pending: LITEPULSE_WANT_TRANSMIT, _LAUNCH, _DRAINED; no longer asked for
 */
void litepulse_take_room(struct litepulse *lp, u32 pending)
{
	if (pending & LITEPULSE_WANT_LAUNCH) {
		WRITE_ONCE(lp->launch_full, false);
		wake_up_interruptible_poll(&lp->launch_wait, EPOLLOUT | EPOLLWRNORM);
	}
	if (pending & (LITEPULSE_WANT_TRANSMIT | LITEPULSE_WANT_DRAINED))
		litepulse_tty_room(lp, pending);
}
EXPORT_SYMBOL_GPL(litepulse_take_room);

/* Delivers a LOST event for what ticks_advance() dropped of a stream, and takes its tick anew. */
static u64 report_dropped(struct litepulse *lp, struct litepulse_sequence *stream, u8 source,
			  const struct litepulse_header *header)
{
	u64 count = stream->dropped;
	struct litepulse_event event = {
		.tick = stream->dropped_tick,
		.seq = stream->next,
		.count = count,
		.flags = LITEPULSE_FLAG_HARDWARE,
		.kind = LITEPULSE_KIND_LOST,
		.source = source,
	};

	lockdep_assert_held(&lp->lock);
	stream->tick = 0;
	stream->dropped = 0;
	if (!count)
		return 0;
	stream->next += count;
	stream->lost += count;
	deliver(lp, header, &event, 1);
	return count;
}

/**
 * litepulse_resume_streams - the board is still the same, so the tick of an earlier header was
 * wrong: what was dropped since is reported as lost, and ticks are believed again
 * @lp: device; called from a process, no lock of the tty held
 */
void litepulse_resume_streams(struct litepulse *lp)
{
	struct litepulse_header header = { .mono = ktime_get_ns() };
	struct litepulse_tty_bytes bytes = {};
	unsigned long flags;

	spin_lock_irqsave(&lp->lock, flags);
	report_dropped(lp, &lp->events, LITEPULSE_SRC_CONTROL, &header);
	bytes.lost = report_dropped(lp, &lp->bytes, LITEPULSE_SRC_RECEIVER, &header);
	wake_sinks(lp);
	spin_unlock_irqrestore(&lp->lock, flags);
	flush_to_tty(lp, &bytes);
}

/* Tells all sinks that the board was reset, and begins anew with its streams. */
void litepulse_tell_restart(struct litepulse *lp)
{
	struct litepulse_event event = { .kind = LITEPULSE_KIND_RESTARTED,
					 .source = LITEPULSE_SRC_CONTROL };
	struct litepulse_header header = { .mono = ktime_get_ns() };
	struct litepulse_sink *sink;
	unsigned long flags;

	mutex_lock(&lp->setup_mutex);
	lp->responder_listens = false;
	mutex_unlock(&lp->setup_mutex);
	spin_lock_irqsave(&lp->lock, flags);
	lp->restarts++;
	/* What a board that was reset has recorded before it gets our settings is not ours. */
	lp->events.tick = 0;
	lp->events.dropped = 0;
	lp->events.started = false;
	lp->bytes.tick = 0;
	lp->bytes.dropped = 0;
	lp->bytes.gap_open = false;
	/* All that a board has received since its reset is ours, and news to everybody. */
	lp->bytes.since = 0;
	lp->tty_since = 0;
	list_for_each_entry(sink, &lp->sinks, node)
		memset(sink->since, 0, sizeof(sink->since));
	event.seq = lp->events.next;
	event.count = lp->restarts;
	deliver(lp, &header, &event, 1);
	wake_sinks(lp);
	spin_unlock_irqrestore(&lp->lock, flags);
}

/* --- what the sinks want --- */

/* Bits of the event mask for what is wanted. */
static u32 event_mask(const struct litepulse_subscribe *want)
{
	static const struct {
		u8 kind;
		u8 source;
		u32 mask;
	} of[] = {
		{ LITEPULSE_KIND_TX, LITEPULSE_SRC_QUEUE, LITEPULSE_CFG_EVENT_MASK_TX_QUEUE_MASK },
		{ LITEPULSE_KIND_TX, LITEPULSE_SRC_TRAIN, LITEPULSE_CFG_EVENT_MASK_TX_TRAIN_MASK },
		{ LITEPULSE_KIND_TX, LITEPULSE_SRC_RESPONDER,
		  LITEPULSE_CFG_EVENT_MASK_TX_RESPONDER_MASK },
		{ LITEPULSE_KIND_TX, LITEPULSE_SRC_TTY, LITEPULSE_CFG_EVENT_MASK_TX_TTY_MASK },
		{ LITEPULSE_KIND_REFUSED, LITEPULSE_SRC_QUEUE,
		  LITEPULSE_CFG_EVENT_MASK_REFUSED_QUEUE_MASK },
		{ LITEPULSE_KIND_REFUSED, LITEPULSE_SRC_TRAIN,
		  LITEPULSE_CFG_EVENT_MASK_REFUSED_TRAIN_MASK },
		{ LITEPULSE_KIND_EDGE, LITEPULSE_SRC_CAPTURE, LITEPULSE_CFG_EVENT_MASK_EDGE_MASK },
		{ LITEPULSE_KIND_TRAIN_DONE, LITEPULSE_SRC_TRAIN,
		  LITEPULSE_CFG_EVENT_MASK_TRAIN_DONE_MASK },
		{ LITEPULSE_KIND_RESPONDER_MISSED, LITEPULSE_SRC_RESPONDER,
		  LITEPULSE_CFG_EVENT_MASK_MISSED_MASK },
	};
	u32 mask = LITEPULSE_CFG_EVENT_MASK_CONTROL_MASK;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(of); i++) {
		bool by_source = of[i].kind == LITEPULSE_KIND_TX ||
			of[i].kind == LITEPULSE_KIND_REFUSED;

		if (!(want->kinds & BIT(of[i].kind)))
			continue;
		if (by_source && want->sources && !(want->sources & BIT(of[i].source)))
			continue;
		mask |= of[i].mask;
	}
	return mask;
}

static bool wants_bytes(const struct litepulse_subscribe *want)
{
	return want->kinds & BIT(LITEPULSE_KIND_RX);
}

static bool wants_events(const struct litepulse_subscribe *want)
{
	return want->kinds & ~BIT(LITEPULSE_KIND_RX);
}

/* Does a sink's wish for the filter go together with all others'? */
static bool filter_agrees(struct litepulse *lp, const struct litepulse_sink *self,
			  const struct litepulse_subscribe *want)
{
	u16 mine = want->kinds & BIT(LITEPULSE_KIND_EDGE) ? want->rise | want->fall : 0, theirs;
	const struct litepulse_sink *sink;

	list_for_each_entry(sink, &lp->sinks, node) {
		if (sink == self || !(sink->want.kinds & BIT(LITEPULSE_KIND_EDGE)))
			continue;
		theirs = sink->want.rise | sink->want.fall;
		if (mine & theirs & (want->filtered ^ sink->want.filtered))
			return false;
		if (mine & want->filtered && theirs & sink->want.filtered &&
		    want->filter != sink->want.filter)
			return false;
	}
	return true;
}

static void milder(struct litepulse_moderation *all, const struct litepulse_moderation *one)
{
	all->level = min(all->level, one->level);
	if (one->age_us)
		all->age_us = all->age_us ? min(all->age_us, one->age_us) : one->age_us;
	if (one->idle_us)
		all->idle_us = all->idle_us ? min(all->idle_us, one->idle_us) : one->idle_us;
}

/**
 * litepulse_moderate - tells the transport how soon it must come, by all sinks' and the tty's
 * wishes
 * @lp: device; setup_mutex held
 */
void litepulse_moderate(struct litepulse *lp)
{
	struct litepulse_moderation events = { .level = lp->event_depth / 2,
					       .age_us = DEFAULT_AGE_US };
	struct litepulse_moderation bytes = { .level = lp->receive_depth / 2 };
	bool listened_to = lp->tty_moderation.level || lp->hurry;
	struct litepulse_sink *sink;
	unsigned long flags;

	lockdep_assert_held(&lp->setup_mutex);
	if (lp->tty_moderation.level)
		milder(&bytes, &lp->tty_moderation);
	spin_lock_irqsave(&lp->lock, flags);
	list_for_each_entry(sink, &lp->sinks, node) {
		struct litepulse_moderation one = { .level = max(sink->want.watermark, 1u),
						    .age_us = sink->want.timeout_us };

		if (wants_events(&sink->want))
			milder(&events, &one);
		if (wants_bytes(&sink->want))
			milder(&bytes, &one);
		listened_to |= sink->want.kinds;
	}
	if (lp->hurry)
		events.level = 1;
	lp->listened_to = listened_to;
	spin_unlock_irqrestore(&lp->lock, flags);
	lp->ops->moderate(lp->context, &events, &bytes);
}

/**
 * litepulse_apply_sinks - makes the hardware record what the sinks and the tty want
 * @lp: device; setup_mutex held
 *
 * Return: 0 or an error of the transport.
 */
int litepulse_apply_sinks(struct litepulse *lp)
{
	u32 mask = LITEPULSE_CFG_EVENT_MASK_CONTROL_MASK, rise = 0, fall = 0, filtered = 0,
	    length = 0;
	bool bytes = false, ns = false;
	struct litepulse_word words[3];
	struct litepulse_sink *sink;
	unsigned long flags;

	lockdep_assert_held(&lp->setup_mutex);
	spin_lock_irqsave(&lp->lock, flags);
	list_for_each_entry(sink, &lp->sinks, node) {
		const struct litepulse_subscribe *want = &sink->want;

		mask |= event_mask(want);
		bytes |= wants_bytes(want);
		ns |= want->kinds && want->clock != LITEPULSE_CLOCK_NONE;
		if (want->kinds & BIT(LITEPULSE_KIND_EDGE)) {
			rise |= want->rise;
			fall |= want->fall;
			filtered |= (want->rise | want->fall) & want->filtered;
			if ((want->rise | want->fall) & want->filtered)
				length = want->filter;
		}
	}
	lp->want_ns = ns;
	lp->bytes_wanted = bytes;
	spin_unlock_irqrestore(&lp->lock, flags);
	litepulse_moderate(lp);
	words[0] = (struct litepulse_word){ LITEPULSE_CFG_FILTER,
					    FIELD_PREP(LITEPULSE_CFG_FILTER_ENABLE_MASK, filtered) |
						    FIELD_PREP(LITEPULSE_CFG_FILTER_LENGTH_MASK,
							       length ?: 1) };
	words[1] = (struct litepulse_word){
		LITEPULSE_CFG_CAPTURE_EDGES,
		FIELD_PREP(LITEPULSE_CFG_CAPTURE_EDGES_RISE_MASK, rise) |
			FIELD_PREP(LITEPULSE_CFG_CAPTURE_EDGES_FALL_MASK, fall)
	};
	words[2] = (struct litepulse_word){ LITEPULSE_CFG_EVENT_MASK, mask };
	litepulse_set_line(lp, LITEPULSE_CFG_LINE_RX_ENABLE_MASK,
			   bytes || lp->tty_moderation.level || lp->responder_listens ?
				   LITEPULSE_CFG_LINE_RX_ENABLE_MASK :
				   0);
	/* Else the receiver would be switched on some time after the tty was opened. */
	litepulse_flush_line(lp);
	lp->ops->want(lp->context, LITEPULSE_WANT_EVENTS | LITEPULSE_WANT_BYTES,
		      LITEPULSE_WANT_EVENTS | LITEPULSE_WANT_BYTES);
	return litepulse_configure(lp, words, ARRAY_SIZE(words));
}

/**
 * litepulse_sink_add - from now on the sink gets what it wants
 * @lp: device
 * @sink: @want may be empty
 *
 * Return: as litepulse_sink_change().
 */
int litepulse_sink_add(struct litepulse *lp, struct litepulse_sink *sink)
{
	struct litepulse_subscribe want = sink->want;

	INIT_LIST_HEAD(&sink->node);
	sink->want = (struct litepulse_subscribe){};
	sink->selector = (struct litepulse_selector){};
	return want.kinds ? litepulse_sink_change(lp, sink, &want) : 0;
}

/* Only sinks that want something are in the list: each event costs time for each of them. */
static void list_sink(struct litepulse *lp, struct litepulse_sink *sink, bool wanted)
{
	lockdep_assert_held(&lp->lock);
	if (wanted == !list_empty(&sink->node))
		return;
	if (wanted)
		list_add_tail(&sink->node, &lp->sinks);
	else
		list_del_init(&sink->node);
	if (sink->limited)
		lp->limited_sinks += wanted ? 1 : -1;
}

static void set_want(struct litepulse *lp, struct litepulse_sink *sink,
		     const struct litepulse_subscribe *want)
{
	list_sink(lp, sink, want->kinds);
	sink->want = *want;
	/* Before the next header is read. */
	if (want->kinds && want->clock != LITEPULSE_CLOCK_NONE)
		WRITE_ONCE(lp->want_ns, true);
	sink->selector = litepulse_selector(want, lp->samples);
}

/**
 * litepulse_sink_change - the sink wants something else
 * @lp: device
 * @sink: one that was added
 * @want: checked by the caller
 *
 * Return: 0, -EBUSY if others want another filter, -EUSERS if there are too many sinks of its
 * sort, or an error of the transport; nothing has changed then.
 */
int litepulse_sink_change(struct litepulse *lp, struct litepulse_sink *sink,
			  const struct litepulse_subscribe *want)
{
	struct litepulse_subscribe before;
	unsigned long flags;
	u64 now = 0;
	int error;

	mutex_lock(&lp->setup_mutex);
	before = sink->want;
	/* The FIFOs may hold older records, of which others do not mind that they wait. */
	error = want->kinds & ~before.kinds ? litepulse_now(lp, &now) : 0;
	spin_lock_irqsave(&lp->lock, flags);
	if (!error && !filter_agrees(lp, sink, want))
		error = -EBUSY;
	if (!error && want->kinds && list_empty(&sink->node) && sink->limited &&
	    lp->limited_sinks >= LITEPULSE_SUBSCRIBERS_MAX)
		error = -EUSERS;
	if (!error) {
		if (wants_bytes(want) && !wants_bytes(&before))
			sink->since[LITEPULSE_BYTES] = now;
		if (wants_events(want) && !wants_events(&before))
			sink->since[LITEPULSE_EVENTS] = now;
		set_want(lp, sink, want);
	}
	spin_unlock_irqrestore(&lp->lock, flags);
	if (!error) {
		error = litepulse_apply_sinks(lp);
		if (error) {
			spin_lock_irqsave(&lp->lock, flags);
			set_want(lp, sink, &before);
			spin_unlock_irqrestore(&lp->lock, flags);
			litepulse_apply_sinks(lp);
		}
	}
	mutex_unlock(&lp->setup_mutex);
	return error;
}

/**
 * litepulse_sink_remove - the sink gets nothing more; it may be freed
 * @lp: device, which may be gone
 * @sink: one that was added
 */
void litepulse_sink_remove(struct litepulse *lp, struct litepulse_sink *sink)
{
	unsigned long flags;

	mutex_lock(&lp->setup_mutex);
	spin_lock_irqsave(&lp->lock, flags);
	list_sink(lp, sink, false);
	spin_unlock_irqrestore(&lp->lock, flags);
	if (!lp->gone && sink->want.kinds)
		litepulse_apply_sinks(lp);
	mutex_unlock(&lp->setup_mutex);
}
