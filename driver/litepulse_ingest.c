// SPDX-License-Identifier: GPL-2.0-only
/*
 * From a transport's records to everybody who wants them
 *
 * A transport hands over the records of one stream in order, one batch at a time; the two streams
 * may come from two threads.
 */
#include <linux/bits.h>
#include <linux/device.h>
#include <linux/poll.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/sched.h>

#include "litepulse_clock_map.h"
#include "litepulse_ingest.h"
#include "litepulse_sink.h"
#include "litepulse_trace.h"

/* Attempts to get the event that everything begins with. */
#define SNAPSHOTS 10

/* CLOCK_MONOTONIC in ns as another clock of the host. */
static u64 litepulse_ingest_ns(u32 clock, u64 mono)
{
	switch (clock) {
	case LITEPULSE_CLOCK_REALTIME:
		return ktime_to_ns(ktime_mono_to_real(ns_to_ktime(mono)));
	case LITEPULSE_CLOCK_TAI:
		return ktime_to_ns(ktime_mono_to_any(ns_to_ktime(mono), TK_OFFS_TAI));
	default:
		return mono;
	}
}

/* When a tick was, by the clock that a sink wants; false if that is not known. */
static bool litepulse_ingest_stamp(struct litepulse *lp, u32 clock,
				   const struct litepulse_header *header, u64 tick,
				   struct litepulse_stamp *stamp)
{
	u64 age, uncertainty, mono;

	if (clock == LITEPULSE_CLOCK_PHC) {
		/* It is a function of the tick, rounded down. */
		stamp->ns = lp->feed.phc_ns ? lp->feed.phc_ns(lp, tick) : 0;
		stamp->uncertainty = 1;
		return true;
	}
	/* The first to want a time may have come after the header was read. */
	if (!header->mono)
		return false;
	if (header->view) {
		mono = litepulse_clock_map_mono(header->view, &lp->rate, tick, &stamp->uncertainty);
		stamp->ns = litepulse_ingest_ns(clock, mono);
		return true;
	}
	if (header->line) {
		mono = litepulse_clock_map_on_line(header->line, &lp->rate, tick,
						   &stamp->uncertainty);
		stamp->ns = litepulse_ingest_ns(clock, mono);
		return true;
	}
	/*
	 * A record is not younger than its header, but a launch is reported at once, a few ticks
	 * before its tick.
	 */
	if (tick > header->tick) {
		age = litepulse_ticks_to_ns_fast(&lp->rate, tick - header->tick);
		stamp->ns = litepulse_ingest_ns(clock, header->mono + age);
		stamp->uncertainty = header->uncertainty;
		return true;
	}
	age = litepulse_ticks_to_ns_fast(&lp->rate, header->tick - tick);
	stamp->ns = litepulse_ingest_ns(clock, header->mono - age);
	/* That of the header, and as much as the two clocks may have parted since the event. */
	uncertainty = header->uncertainty + (age >> LITEPULSE_CLOCK_DRIFT_SHIFT);
	stamp->uncertainty = min_t(u64, uncertainty, U32_MAX);
	return true;
}

/*
 * Records of one stream to all who want them, in order. One sink after the other, because its code
 * then stays in a small cache.
 */
static void litepulse_ingest_deliver(struct litepulse *lp, enum litepulse_stream stream,
				     const struct litepulse_header *header,
				     const struct litepulse_record *records, unsigned int count)
{
	const struct litepulse_record *record;
	struct litepulse_stamp stamp;
	struct litepulse_sink *sink;

	lockdep_assert_held(&lp->feed.lock);
	if (trace_litepulse_event_enabled())
		litepulse_trace_events(lp, records, count);
	list_for_each_entry(sink, &lp->feed.sinks, node) {
		const u64 since = sink->since[stream];
		const u32 clock = sink->want.clock;

		for (record = records; record < records + count; record++) {
			bool stamped;
			u32 data;

			if (!litepulse_record_select(&sink->selector, record, &data))
				continue;
			/* A loss may have begun before. */
			if (since && record->tick < since && record->kind < LITEPULSE_KIND_LOST &&
			    !litepulse_sink_wanted(lp, sink, record, &data))
				continue;
			stamped = clock != LITEPULSE_CLOCK_NONE &&
				  litepulse_ingest_stamp(lp, clock, header, record->tick, &stamp);
			sink->got = true;
			sink->put(sink, record, data, stamped ? &stamp : NULL);
		}
		/* Bytes come in order: when one is late enough, so are all that follow. */
		if (since && count && stream == LITEPULSE_BYTES && record[-1].tick >= since)
			sink->since[stream] = 0;
	}
}

/* After the last of some records. */
static void litepulse_ingest_done(struct litepulse *lp)
{
	struct litepulse_sink *sink;

	lockdep_assert_held(&lp->feed.lock);
	list_for_each_entry(sink, &lp->feed.sinks, node) {
		if (sink->got && sink->done)
			sink->done(sink);
		sink->got = false;
	}
}

/* Reports what was dropped of a stream, if anything was: it is missing before @header. */
static noinline void litepulse_ingest_report_dropped(struct litepulse *lp,
						     enum litepulse_stream stream,
						     const struct litepulse_header *header)
{
	const bool bytes = stream == LITEPULSE_BYTES;
	struct litepulse_record record;

	lockdep_assert_held(&lp->feed.lock);
	if (litepulse_record_report_dropped(bytes ? &lp->feed.bytes : &lp->feed.events,
					    bytes ? LITEPULSE_SRC_RECEIVER : LITEPULSE_SRC_CONTROL,
					    header->tick, &record))
		litepulse_ingest_deliver(lp, stream, header, &record, 1);
}

/*
 * Returns false if the board's ticks went back: the batch is to be dropped, as the board was reset,
 * or a tick was wrong. litepulse.restart.work finds out which. What was dropped is reported as lost
 * by then, or before anything else is delivered.
 */
static bool litepulse_ingest_ticks_advance(struct litepulse *lp, enum litepulse_stream which,
					   const struct litepulse_header *header)
{
	struct litepulse_sequence *stream =
		which == LITEPULSE_BYTES ? &lp->feed.bytes : &lp->feed.events;

	lockdep_assert_held(&lp->feed.lock);
	if (header->tick < stream->tick) {
		litepulse_board_schedule_restart(lp);
		return false;
	}
	stream->tick = header->tick;
	if (unlikely(stream->dropped))
		litepulse_ingest_report_dropped(lp, which, header);
	return true;
}

/* Whether a word that the core refused is one of the train's; others' may be refused meanwhile. */
static bool litepulse_ingest_is_train_word(u32 index)
{
	return index >= LITEPULSE_CONFIG_INDEX(LITEPULSE_CFG_TRAIN_START_LO) &&
	       index <= LITEPULSE_CONFIG_INDEX(LITEPULSE_CFG_TRAIN_COMMAND);
}

/*
 * Is this the outcome of the train's latest command? An earlier change may have waited until now;
 * its stamp shows that. The configuration reports what is refused before the sequencer sees it.
 */
static void litepulse_ingest_note_answer(struct litepulse *lp,
					 const struct litepulse_record *record)
{
	bool stop = record->flags & LITEPULSE_EVENT_FLAG_STOP;

	lockdep_assert_held(&lp->feed.lock);
	if (record->source != LITEPULSE_SRC_TRAIN_CHANGE && record->source != LITEPULSE_SRC_CONTROL)
		return;
	if (lp->answer.state != LITEPULSE_ANSWER_EXPECTED || record->tick < lp->answer.since)
		return;
	if (record->source == LITEPULSE_SRC_CONTROL &&
	    (record->kind != LITEPULSE_KIND_REFUSED ||
	     !litepulse_ingest_is_train_word(record->data)))
		return;
	if (record->kind == LITEPULSE_KIND_APPLIED && stop != lp->answer.stop)
		return;
	lp->answer.record = *record;
	WRITE_ONCE(lp->answer.state, LITEPULSE_ANSWER_COME);
	wake_up(&lp->answer.wait);
}

/*
 * How many records the only sink of a stream has taken as they are. A traced stream takes the usual
 * way, which decodes them.
 */
static unsigned int litepulse_ingest_take_plain(struct litepulse *lp, enum litepulse_stream stream,
						struct litepulse_sequence *sequence,
						const u32 *words, unsigned int count)
{
	struct litepulse_sink *sink = lp->feed.only_sink[stream];

	lockdep_assert_held(&lp->feed.lock);
	if (trace_litepulse_event_enabled())
		return 0;
	return sink ? sink->take_plain[stream](sink, sequence, words, count) : 0;
}

/* Between some records and those that follow others get their turn. False if these are void now. */
static bool litepulse_ingest_go_on(struct litepulse *lp, unsigned long *flags)
{
	const unsigned int epoch = lp->ingest.epoch;

	spin_unlock_irqrestore(&lp->feed.lock, *flags);
	spin_lock_irqsave(&lp->feed.lock, *flags);
	return lp->ingest.epoch == epoch;
}

/* litepulse_take_ops */
static void litepulse_ingest_events(struct litepulse *lp, const struct litepulse_header *header,
				    const u32 *words, unsigned int count)
{
	struct litepulse_record *records = lp->ingest.records;
	struct litepulse_sequence before;
	unsigned int batch, made, i;
	unsigned long flags;
	bool drop;

	spin_lock_irqsave(&lp->feed.lock, flags);
	lp->ingest.taken[LITEPULSE_EVENTS] += count;
	drop = !litepulse_ingest_ticks_advance(lp, LITEPULSE_EVENTS, header);
	while (count) {
		if (!drop && lp->answer.state != LITEPULSE_ANSWER_EXPECTED) {
			batch = litepulse_ingest_take_plain(lp, LITEPULSE_EVENTS, &lp->feed.events,
							    words, count);
			words += batch * LITEPULSE_EVENT_WORDS;
			count -= batch;
			if (!count)
				break;
		}
		before = lp->feed.events;
		/* Of those before the snapshot none is ours. */
		batch = drop && !before.started ? 1 :
			litepulse_records_at_once(lp, min(count, LITEPULSE_RECORDS_AT_ONCE));
		made = litepulse_record_decode_events(&lp->feed.events, words, batch, records);
		words += batch * LITEPULSE_EVENT_WORDS;
		count -= batch;
		if (before.started != lp->feed.events.started)
			wake_up(&lp->answer.wait);
		if (drop) {
			if (before.started)
				litepulse_record_drop(&lp->feed.events, &before, records, made);
			continue;
		}
		for (i = 0; i < made && lp->answer.state == LITEPULSE_ANSWER_EXPECTED; i++)
			litepulse_ingest_note_answer(lp, &records[i]);
		litepulse_ingest_deliver(lp, LITEPULSE_EVENTS, header, records, made);
		if (count && !litepulse_ingest_go_on(lp, &flags))
			break;
	}
	litepulse_ingest_done(lp);
	spin_unlock_irqrestore(&lp->feed.lock, flags);
}

/*
 * Bytes that no sink takes as they are, or not yet. Apart from litepulse_ingest_bytes(), which must
 * stay short: a byte that comes alone finds nothing of it in the caches.
 */
static noinline void litepulse_ingest_other_bytes(struct litepulse *lp,
						  const struct litepulse_header *header,
						  const u32 *words, unsigned int count, bool drop,
						  unsigned long *flags)
{
	struct litepulse_record *records = lp->ingest.records;
	struct litepulse_sequence before;
	unsigned int batch, made;

	while (count) {
		batch = drop ? 0 : litepulse_ingest_take_plain(lp, LITEPULSE_BYTES, &lp->feed.bytes,
							       words, count);
		if (!batch) {
			before = lp->feed.bytes;
			batch = litepulse_records_at_once(lp,
							  min(count, LITEPULSE_RECORDS_AT_ONCE));
			made = litepulse_record_decode_bytes(&lp->feed.bytes, header->tick, words,
							     batch, records);
			if (drop)
				litepulse_record_drop(&lp->feed.bytes, &before, records, made);
			else
				litepulse_ingest_deliver(lp, LITEPULSE_BYTES, header, records,
							 made);
			if (count > batch && !litepulse_ingest_go_on(lp, flags))
				break;
		}
		words += batch * LITEPULSE_RECEIVE_WORDS;
		count -= batch;
	}
}

/* litepulse_take_ops */
static void litepulse_ingest_bytes(struct litepulse *lp, const struct litepulse_header *header,
				   const u32 *words, unsigned int count)
{
	unsigned int taken = 0;
	unsigned long flags;
	bool drop;

	spin_lock_irqsave(&lp->feed.lock, flags);
	lp->ingest.taken[LITEPULSE_BYTES] += count;
	drop = !litepulse_ingest_ticks_advance(lp, LITEPULSE_BYTES, header);
	if (!drop && count)
		taken = litepulse_ingest_take_plain(lp, LITEPULSE_BYTES, &lp->feed.bytes, words,
						    count);
	if (taken < count)
		litepulse_ingest_other_bytes(lp, header, words + taken * LITEPULSE_RECEIVE_WORDS,
					     count - taken, drop, &flags);
	litepulse_ingest_done(lp);
	spin_unlock_irqrestore(&lp->feed.lock, flags);
	/* It may do anything, so no lock is held. */
	if (unlikely(READ_ONCE(lp->feed.sysrq)))
		lp->port_ops->sysrq(lp);
}

/* litepulse_take_ops */
static void litepulse_ingest_room(struct litepulse *lp, u32 pending)
{
	if (pending & LITEPULSE_WANT_LAUNCH) {
		WRITE_ONCE(lp->queue.full, false);
		wake_up_interruptible_poll(&lp->queue.wait, EPOLLOUT | EPOLLWRNORM);
	}
	if (pending & (LITEPULSE_WANT_TRANSMIT | LITEPULSE_WANT_DRAINED))
		lp->port_ops->room(lp, pending);
}

/* litepulse_take_ops: what was written meanwhile may not have arrived. */
static void litepulse_ingest_reached(struct litepulse *lp)
{
	litepulse_board_doubt(lp);
	litepulse_board_schedule_restart(lp);
}

const struct litepulse_take_ops litepulse_ingest_ops = {
	.events = litepulse_ingest_events,
	.bytes = litepulse_ingest_bytes,
	.room = litepulse_ingest_room,
	.reached = litepulse_ingest_reached,
};

/**
 * litepulse_ingest_resume - reports what was dropped as lost, and believes ticks again: the board
 *	was not reset, so the tick of an earlier header was wrong
 * @lp: device; called from a process, no lock of the tty held
 *
 * Return: 0, or an error of the transport: it is to be called again.
 */
int litepulse_ingest_resume(struct litepulse *lp)
{
	struct litepulse_header now;
	unsigned long flags;
	bool dropped;
	int error;

	spin_lock_irqsave(&lp->feed.lock, flags);
	lp->feed.events.tick = 0;
	lp->feed.bytes.tick = 0;
	dropped = lp->feed.events.dropped || lp->feed.bytes.dropped;
	spin_unlock_irqrestore(&lp->feed.lock, flags);
	if (!dropped)
		return 0;
	/* No header of these can be relied upon. */
	error = litepulse_board_header(lp, &now);
	if (error)
		return error;
	spin_lock_irqsave(&lp->feed.lock, flags);
	litepulse_ingest_report_dropped(lp, LITEPULSE_EVENTS, &now);
	litepulse_ingest_report_dropped(lp, LITEPULSE_BYTES, &now);
	litepulse_ingest_done(lp);
	spin_unlock_irqrestore(&lp->feed.lock, flags);
	return 0;
}

/* Records of a board from between its reset and our settings are not ours. */
static void litepulse_ingest_start_over(struct litepulse *lp)
{
	struct litepulse_sink *sink;

	lockdep_assert_held(&lp->feed.lock);
	lp->ingest.epoch++;
	litepulse_record_forget_dropped(&lp->feed.events);
	lp->feed.events.started = false;
	litepulse_record_forget_dropped(&lp->feed.bytes);
	lp->feed.bytes.gap_open = false;
	/* All that a board has received since its reset is ours, and new to all sinks. */
	lp->feed.bytes.since = 0;
	list_for_each_entry(sink, &lp->feed.sinks, node)
		litepulse_sink_forget_since(sink);
}

/**
 * litepulse_ingest_report_restart - reports to all sinks that what ran on the board has stopped
 * @lp: device; called from a process
 * @now: of the board, after it
 * @why: LITEPULSE_RESTARTED_*: ticks go on, and so do numbers and all that was recorded; 0: it was
 *	reset, its ticks are forgotten
 */
void litepulse_ingest_report_restart(struct litepulse *lp, const struct litepulse_header *now,
				     unsigned int why)
{
	/* Ticks begin at the reset. When the watchdog has fired is not known, only that it has. */
	struct litepulse_record record = { .tick = why ? now->tick : 0,
					   .flags = why,
					   .kind = LITEPULSE_KIND_RESTARTED,
					   .source = LITEPULSE_SRC_CONTROL };
	unsigned long flags;

	spin_lock_irqsave(&lp->feed.lock, flags);
	lp->feed.restarts++;
	lp->feed.events.tick = 0;
	lp->feed.bytes.tick = 0;
	if (why) {
		litepulse_ingest_report_dropped(lp, LITEPULSE_EVENTS, now);
		litepulse_ingest_report_dropped(lp, LITEPULSE_BYTES, now);
	} else {
		litepulse_ingest_start_over(lp);
	}
	record.seq = lp->feed.events.next;
	record.count = lp->feed.restarts;
	litepulse_ingest_deliver(lp, LITEPULSE_EVENTS, now, &record, 1);
	litepulse_ingest_done(lp);
	spin_unlock_irqrestore(&lp->feed.lock, flags);
}

/**
 * litepulse_ingest_start - begins with the streams
 * @lp: device, attached; called from a process
 *
 * A snapshot gives the number of the event before ours, so that a loss at the head shows, too;
 * older events are dropped. That the snapshot arrives shows that interrupts do. A board that is
 * full of older events loses it, and gets another command when these have been read.
 *
 * Return: 0, -ETIMEDOUT if no event arrives, or an error of the transport.
 */
int litepulse_ingest_start(struct litepulse *lp)
{
	/* Both each time: the board may be reset meanwhile. */
	static const struct litepulse_word words[] = {
		{ LITEPULSE_CFG_EVENT_MASK, LITEPULSE_CFG_EVENT_MASK_SNAPSHOT_MASK },
		{ LITEPULSE_CFG_COMMAND, LITEPULSE_CFG_COMMAND_SNAPSHOT_MASK },
	};
	unsigned int i;
	long left = 0;
	int error = 0;

	mutex_lock(&lp->setup.mutex);
	lp->ops->want(lp->context, LITEPULSE_WANT_EVENTS, LITEPULSE_WANT_EVENTS);
	lp->setup.unmoderated++;
	litepulse_sink_moderate(lp);
	for (i = 0; !error && !left && i < SNAPSHOTS; i++) {
		error = litepulse_board_configure(lp, words, ARRAY_SIZE(words));
		if (!error)
			left = wait_event_timeout(lp->answer.wait,
						  READ_ONCE(lp->feed.events.started),
						  litepulse_board_patience(lp) / SNAPSHOTS);
	}
	lp->setup.unmoderated--;
	if (!error)
		error = left ? litepulse_sink_apply(lp) : -ETIMEDOUT;
	mutex_unlock(&lp->setup.mutex);
	return error;
}

