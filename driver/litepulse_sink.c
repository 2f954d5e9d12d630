// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sinks: who gets events
 *
 * What the hardware records, and how soon it interrupts, is the union of what all sinks want.
 */
#include <linux/bitfield.h>
#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "litepulse_sink.h"

/*
 * Events that no sink waits for (answers to the driver, what the holder of a claim did not
 * subscribe to) may wait this long.
 */
#define DEFAULT_AGE_US 10000

/* Bits of the event mask for what is wanted. */
static u32 litepulse_sink_event_mask(const struct litepulse_subscribe *want)
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

static bool litepulse_sink_wants_bytes(const struct litepulse_subscribe *want)
{
	return want->kinds & BIT(LITEPULSE_KIND_RX);
}

static bool litepulse_sink_wants_events(const struct litepulse_subscribe *want)
{
	return want->kinds & ~BIT(LITEPULSE_KIND_RX);
}

/* Whether the filter that a sink wants agrees with those that all others want. */
static bool litepulse_sink_filter_agrees(struct litepulse *lp, const struct litepulse_sink *self,
					 const struct litepulse_subscribe *want)
{
	u16 mine = want->kinds & BIT(LITEPULSE_KIND_EDGE) ? want->rise | want->fall : 0, theirs;
	const struct litepulse_sink *sink;

	list_for_each_entry(sink, &lp->feed.sinks, node) {
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

/* Whether a filter that a sink wants leaves that of a responder's input as it is. */
static bool litepulse_sink_filter_spares(const struct litepulse_trigger *trigger,
					 const struct litepulse_subscribe *want)
{
	u16 mine = want->kinds & BIT(LITEPULSE_KIND_EDGE) ?
		(want->rise | want->fall) & want->filtered : 0;

	return !trigger->channel || !mine || want->filter == trigger->length ||
	       (!(mine & trigger->channel) && trigger->length == 1);
}

/* The same for all responders whose filter a sink must not change. */
static bool litepulse_sink_filter_spares_all(const struct litepulse *lp,
					     const struct litepulse_sink *sink,
					     const struct litepulse_subscribe *want)
{
	lockdep_assert_held(&lp->setup.mutex);
	return litepulse_sink_filter_spares(&lp->claim.kept_uses.trigger, want) &&
	       (sink->of_claim || litepulse_sink_filter_spares(&lp->claim.uses.trigger, want));
}

/* The filter of the claim's responder follows the subscription of the claim's file. */
static void litepulse_sink_follow(struct litepulse *lp, const struct litepulse_sink *sink)
{
	const struct litepulse_subscribe *want = &sink->want;
	struct litepulse_trigger *trigger = &lp->claim.uses.trigger;
	u16 edges = want->kinds & BIT(LITEPULSE_KIND_EDGE) ? want->rise | want->fall : 0;

	lockdep_assert_held(&lp->setup.mutex);
	if (!sink->of_claim || !trigger->channel)
		return;
	if (edges & trigger->channel)
		trigger->length = want->filtered & trigger->channel ? want->filter : 1;
	else if (trigger->length > 1 && edges & want->filtered)
		trigger->length = want->filter; /* there is one length for all */
}

/* Forgets a responder that is armed no longer. 0 or an error of the transport. */
static int litepulse_sink_look_for_trigger(struct litepulse *lp)
{
	u32 status;
	int error;

	lockdep_assert_held(&lp->setup.mutex);
	if (!lp->claim.uses.trigger.channel && !lp->claim.kept_uses.trigger.channel)
		return 0;
	error = litepulse_board_read_csr(lp, LITEPULSE_CSR_STATUS, &status);
	if (!error && !(status & LITEPULSE_CSR_STATUS_RESPONDER_ARMED_MASK))
		litepulse_sink_forget_trigger(lp);
	return error;
}

/* The PTP clock is reckoned from the tick alone. */
static bool litepulse_sink_wants_ns(const struct litepulse_subscribe *want)
{
	return want->kinds && want->clock != LITEPULSE_CLOCK_NONE &&
	       want->clock != LITEPULSE_CLOCK_PHC;
}

static void litepulse_sink_merge(struct litepulse_moderation *all,
				 const struct litepulse_moderation *one)
{
	all->level = min(all->level, one->level);
	if (one->age_us)
		all->age_us = all->age_us ? min(all->age_us, one->age_us) : one->age_us;
	if (one->idle_us)
		all->idle_us = all->idle_us ? min(all->idle_us, one->idle_us) : one->idle_us;
}

/**
 * litepulse_sink_moderate - sets how soon the transport's streams interrupt, by what sinks want
 * @lp: device; setup.mutex held
 */
void litepulse_sink_moderate(struct litepulse *lp)
{
	struct litepulse_moderation events = { .level = lp->event_depth / 2,
					       .age_us = DEFAULT_AGE_US };
	struct litepulse_moderation bytes = {
		.level = lp->receive_depth - min(lp->setup.receive_spare, lp->receive_depth / 2),
	};
	bool listened_to = lp->setup.unmoderated;
	struct litepulse_sink *sink;
	unsigned long flags;

	lockdep_assert_held(&lp->setup.mutex);
	spin_lock_irqsave(&lp->feed.lock, flags);
	list_for_each_entry(sink, &lp->feed.sinks, node) {
		struct litepulse_moderation one = { .level = max(sink->want.watermark, 1u),
						    .age_us = sink->want.timeout_us,
						    .idle_us = sink->idle_us };

		if (litepulse_sink_wants_events(&sink->want))
			litepulse_sink_merge(&events, &one);
		if (litepulse_sink_wants_bytes(&sink->want))
			litepulse_sink_merge(&bytes, &one);
		listened_to |= sink->want.kinds;
	}
	if (lp->setup.unmoderated)
		events.level = 1;
	lp->feed.listened_to = listened_to;
	spin_unlock_irqrestore(&lp->feed.lock, flags);
	lp->setup.moderation[LITEPULSE_EVENTS] = events;
	lp->setup.moderation[LITEPULSE_BYTES] = bytes;
	lp->ops->moderate(lp->context, &events, &bytes);
}

/**
 * litepulse_sink_unmoderate - reports events at once, as a program waits for an answer
 * @lp: device
 *
 * Return: 0, then litepulse_sink_end_unmoderate() must follow, or -EINTR.
 */
int litepulse_sink_unmoderate(struct litepulse *lp)
{
	int error = mutex_lock_killable(&lp->setup.mutex);

	if (error)
		return error;
	lp->setup.unmoderated++;
	litepulse_sink_moderate(lp);
	mutex_unlock(&lp->setup.mutex);
	return 0;
}

/**
 * litepulse_sink_end_unmoderate - ends what litepulse_sink_unmoderate() began
 * @lp: device
 */
void litepulse_sink_end_unmoderate(struct litepulse *lp)
{
	/* It must finish, also if the program is to die. */
	mutex_lock(&lp->setup.mutex);
	lp->setup.unmoderated--;
	litepulse_sink_moderate(lp);
	mutex_unlock(&lp->setup.mutex);
}

/**
 * litepulse_sink_forget_trigger - no responder is armed any more
 * @lp: device; setup.mutex held. Its filter stays until litepulse_sink_apply()
 */
void litepulse_sink_forget_trigger(struct litepulse *lp)
{
	lockdep_assert_held(&lp->setup.mutex);
	lp->claim.uses.trigger = (struct litepulse_trigger){ };
	lp->claim.kept_uses.trigger = (struct litepulse_trigger){ };
}

/**
 * litepulse_sink_apply - makes the hardware record what the sinks want; what fails is repeated
 * @lp: device; setup.mutex held
 *
 * Return: 0 or an error of the transport.
 */
int litepulse_sink_apply(struct litepulse *lp)
{
	u32 mask = LITEPULSE_CFG_EVENT_MASK_CONTROL_MASK, rise = 0, fall = 0, filtered = 0,
	    length = 0;
	const struct litepulse_trigger *triggers[] = { &lp->claim.uses.trigger,
						       &lp->claim.kept_uses.trigger };
	bool bytes = false, ns = false;
	struct litepulse_word words[3];
	struct litepulse_sink *sink;
	unsigned long flags;
	unsigned int i;
	int error;

	lockdep_assert_held(&lp->setup.mutex);
	spin_lock_irqsave(&lp->feed.lock, flags);
	list_for_each_entry(sink, &lp->feed.sinks, node) {
		const struct litepulse_subscribe *want = &sink->want;

		mask |= litepulse_sink_event_mask(want);
		bytes |= litepulse_sink_wants_bytes(want);
		ns |= litepulse_sink_wants_ns(want);
		if (want->kinds & BIT(LITEPULSE_KIND_EDGE)) {
			rise |= want->rise;
			fall |= want->fall;
			filtered |= (want->rise | want->fall) & want->filtered;
			if ((want->rise | want->fall) & want->filtered)
				length = want->filter;
		}
	}
	lp->feed.want_ns = ns;
	spin_unlock_irqrestore(&lp->feed.lock, flags);
	litepulse_sink_moderate(lp);
	for (i = 0; i < ARRAY_SIZE(triggers); i++) {
		if (triggers[i]->length > 1) {
			filtered |= triggers[i]->channel;
			length = triggers[i]->length;
		}
	}
	lp->setup.filter = FIELD_PREP(LITEPULSE_CFG_FILTER_ENABLE_MASK, filtered) |
		FIELD_PREP(LITEPULSE_CFG_FILTER_LENGTH_MASK, length ?: 1);
	words[0] = (struct litepulse_word){ LITEPULSE_CFG_FILTER, lp->setup.filter };
	words[1] = (struct litepulse_word){
		LITEPULSE_CFG_CAPTURE_EDGES,
		FIELD_PREP(LITEPULSE_CFG_CAPTURE_EDGES_RISE_MASK, rise) |
			FIELD_PREP(LITEPULSE_CFG_CAPTURE_EDGES_FALL_MASK, fall)
	};
	words[2] = (struct litepulse_word){ LITEPULSE_CFG_EVENT_MASK, mask };
	bytes |= lp->setup.responder_listens;
	litepulse_board_set_line(lp, LITEPULSE_CFG_LINE_RX_ENABLE_MASK,
				 bytes ? LITEPULSE_CFG_LINE_RX_ENABLE_MASK : 0);
	/* Else the receiver would be switched on some time after the tty was opened. */
	error = litepulse_board_flush_line(lp);
	/* The board may be reached again by now. */
	if (error)
		error = litepulse_board_write_line(lp);
	lp->ops->want(lp->context, LITEPULSE_WANT_EVENTS | LITEPULSE_WANT_BYTES,
		      LITEPULSE_WANT_EVENTS | LITEPULSE_WANT_BYTES);
	error = error ?: litepulse_board_configure(lp, words, ARRAY_SIZE(words));
	if (error)
		litepulse_board_doubt(lp);
	return error;
}

/**
 * litepulse_sink_init - makes a sink one that wants nothing
 * @sink: its name and functions are set
 */
void litepulse_sink_init(struct litepulse_sink *sink)
{
	INIT_LIST_HEAD(&sink->node);
	sink->want = (struct litepulse_subscribe){};
	sink->selector = (struct litepulse_selector){};
}

/**
 * litepulse_sink_add - begins to give a sink what it wants
 * @lp: device
 * @sink: @want may be empty
 *
 * Return: as litepulse_sink_change().
 */
int litepulse_sink_add(struct litepulse *lp, struct litepulse_sink *sink)
{
	struct litepulse_subscribe want = sink->want;

	litepulse_sink_init(sink);
	return want.kinds ? litepulse_sink_change(lp, sink, &want) : 0;
}

/* Only sinks that want something are in the list: each event costs time for each of them. */
static void litepulse_sink_list(struct litepulse *lp, struct litepulse_sink *sink, bool wanted)
{
	lockdep_assert_held(&lp->feed.lock);
	if (wanted == !list_empty(&sink->node))
		return;
	if (wanted)
		list_add_tail(&sink->node, &lp->feed.sinks);
	else
		list_del_init(&sink->node);
	WRITE_ONCE(lp->feed.sink_count, lp->feed.sink_count + (wanted ? 1 : -1));
	if (sink->limited)
		lp->feed.limited_sinks += wanted ? 1 : -1;
}

/* The one sink that wants a stream, if it can take its records as they are. */
static struct litepulse_sink *litepulse_sink_only(struct litepulse *lp,
						  enum litepulse_stream stream)
{
	struct litepulse_sink *sink, *only = NULL;

	lockdep_assert_held(&lp->feed.lock);
	list_for_each_entry(sink, &lp->feed.sinks, node) {
		if (!(stream == LITEPULSE_BYTES ? litepulse_sink_wants_bytes(&sink->want) :
						  litepulse_sink_wants_events(&sink->want)))
			continue;
		if (only || !sink->take_plain[stream] || sink->want.clock != LITEPULSE_CLOCK_NONE)
			return NULL;
		only = sink;
	}
	return only;
}

static void litepulse_sink_set_want(struct litepulse *lp, struct litepulse_sink *sink,
				    const struct litepulse_subscribe *want)
{
	lockdep_assert_held(&lp->feed.lock);
	litepulse_sink_list(lp, sink, want->kinds);
	sink->want = *want;
	/* Before the next header is read. */
	if (litepulse_sink_wants_ns(want))
		WRITE_ONCE(lp->feed.want_ns, true);
	sink->selector = litepulse_record_selector(want, lp->samples);
	lp->feed.only_sink[LITEPULSE_EVENTS] = litepulse_sink_only(lp, LITEPULSE_EVENTS);
	lp->feed.only_sink[LITEPULSE_BYTES] = litepulse_sink_only(lp, LITEPULSE_BYTES);
}

/* Parts of the event stream that a sink wants, as bits. */
struct litepulse_sink_bits {
	u32 kinds;
	u32 sources;
	u32 rise;
	u32 fall;
};

/* Those that are new in a subscription. */
static struct litepulse_sink_bits litepulse_sink_new(const struct litepulse_subscribe *before,
						     const struct litepulse_subscribe *want)
{
	u32 sources = before->kinds ? before->sources ?: ~0u : 0;

	return (struct litepulse_sink_bits){
		.kinds = want->kinds & ~before->kinds,
		.sources = (want->sources ?: ~0u) & ~sources,
		.rise = want->rise & ~before->rise,
		.fall = want->fall & ~before->fall,
	};
}

static void litepulse_sink_mark(u64 *ticks, unsigned int count, u32 bits, u64 tick)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		if (bits & BIT(i))
			ticks[i] = tick;
	}
}

/* From @tick on the sink wants these, too. Under litepulse.feed.lock. */
static void litepulse_sink_mark_new(struct litepulse_sink *sink,
				    const struct litepulse_sink_bits *new, u64 tick)
{
	if (new->kinds & BIT(LITEPULSE_KIND_RX))
		sink->since[LITEPULSE_BYTES] = tick;
	if (!(new->kinds & ~BIT(LITEPULSE_KIND_RX) || new->sources || new->rise || new->fall))
		return;
	sink->since[LITEPULSE_EVENTS] = tick;
	litepulse_sink_mark(sink->parts.kinds, LITEPULSE_SINK_KINDS, new->kinds, tick);
	litepulse_sink_mark(sink->parts.sources, LITEPULSE_SINK_SOURCES, new->sources, tick);
	litepulse_sink_mark(sink->parts.rise, LITEPULSE_SINK_CHANNELS, new->rise, tick);
	litepulse_sink_mark(sink->parts.fall, LITEPULSE_SINK_CHANNELS, new->fall, tick);
}

/**
 * litepulse_sink_wanted - whether a sink that wants a record wanted it already when it happened
 * @lp: device, whose lock is held
 * @sink: it
 * @record: an event, not a loss or restart
 * @data: of it, with the edges that the sink wants; on return with those that it wanted then
 */
bool litepulse_sink_wanted(const struct litepulse *lp, const struct litepulse_sink *sink,
			   const struct litepulse_record *record, u32 *data)
{
	u32 levels = *data >> 16, changes = *data & 0xffff;
	unsigned int channel;

	if (record->kind >= LITEPULSE_SINK_KINDS || record->source >= LITEPULSE_SINK_SOURCES)
		return false;
	if (record->tick < sink->parts.kinds[record->kind])
		return false;
	if (record->kind != LITEPULSE_KIND_EDGE)
		return record->tick >= sink->parts.sources[record->source];
	for (channel = 0; channel <= lp->inputs; channel++) {
		u32 bits = litepulse_record_channel_samples(BIT(channel), lp->samples);

		if (record->tick < sink->parts.rise[channel])
			changes &= ~(bits & levels);
		if (record->tick < sink->parts.fall[channel])
			changes &= ~(bits & ~levels);
	}
	*data = levels << 16 | changes;
	return changes;
}

/**
 * litepulse_sink_forget_since - from now on the sink gets all that it wants: ticks start again
 * @sink: it; litepulse.feed.lock is held
 */
void litepulse_sink_forget_since(struct litepulse_sink *sink)
{
	memset(sink->since, 0, sizeof(sink->since));
	memset(&sink->parts, 0, sizeof(sink->parts));
}

/**
 * litepulse_sink_set - as litepulse_sink_change(), for a caller that holds setup.mutex
 * @lp: device
 * @sink: one that was added
 * @want: checked by the caller
 *
 * Return: as litepulse_sink_change().
 */
int litepulse_sink_set(struct litepulse *lp, struct litepulse_sink *sink,
		       const struct litepulse_subscribe *want)
{
	const struct litepulse_subscribe before = sink->want;
	const struct litepulse_sink_bits new = litepulse_sink_new(&before, want);
	struct litepulse_trigger trigger;
	unsigned long flags;
	u64 now = 0;
	int error = 0;

	lockdep_assert_held(&lp->setup.mutex);
	/* The FIFOs may hold older records, of which others do not mind that they wait. */
	if (want->kinds && (new.kinds || new.sources || new.rise || new.fall) &&
	    !sink->takes_older)
		error = litepulse_board_now(lp, &now);
	if (!error && want->kinds & BIT(LITEPULSE_KIND_EDGE))
		error = litepulse_sink_look_for_trigger(lp);
	trigger = lp->claim.uses.trigger;
	spin_lock_irqsave(&lp->feed.lock, flags);
	if (!error && !(litepulse_sink_filter_agrees(lp, sink, want) &&
			litepulse_sink_filter_spares_all(lp, sink, want)))
		error = -EBUSY;
	if (!error && want->kinds && list_empty(&sink->node) && sink->limited &&
	    lp->feed.limited_sinks >= LITEPULSE_SUBSCRIBERS_MAX)
		error = -EUSERS;
	if (!error) {
		litepulse_sink_mark_new(sink, &new, now);
		litepulse_sink_set_want(lp, sink, want);
	}
	spin_unlock_irqrestore(&lp->feed.lock, flags);
	if (error)
		return error;
	litepulse_sink_follow(lp, sink);
	error = litepulse_sink_apply(lp);
	if (error) {
		lp->claim.uses.trigger = trigger;
		spin_lock_irqsave(&lp->feed.lock, flags);
		litepulse_sink_set_want(lp, sink, &before);
		spin_unlock_irqrestore(&lp->feed.lock, flags);
		/* The caller gets the first error; this one is made good for later. */
		(void)litepulse_sink_apply(lp);
	}
	return error;
}

/**
 * litepulse_sink_change - changes what a sink gets
 * @lp: device
 * @sink: one that was added
 * @want: checked by the caller
 *
 * Return: 0, -EBUSY if others, or an armed responder, want another filter, -EUSERS if there are too
 * many sinks of its sort, -EINTR, or an error of the transport; nothing has changed then.
 */
int litepulse_sink_change(struct litepulse *lp, struct litepulse_sink *sink,
			  const struct litepulse_subscribe *want)
{
	int error = mutex_lock_killable(&lp->setup.mutex);

	if (error)
		return error;
	error = litepulse_sink_set(lp, sink, want);
	mutex_unlock(&lp->setup.mutex);
	return error;
}

/**
 * litepulse_sink_skip_bytes - a sink gets no bytes from before a tick
 * @lp: device
 * @sink: one that wants bytes, or none
 * @tick: of the start edge
 */
void litepulse_sink_skip_bytes(struct litepulse *lp, struct litepulse_sink *sink, u64 tick)
{
	unsigned long flags;

	spin_lock_irqsave(&lp->feed.lock, flags);
	sink->since[LITEPULSE_BYTES] = max(sink->since[LITEPULSE_BYTES], tick);
	spin_unlock_irqrestore(&lp->feed.lock, flags);
}

/**
 * litepulse_sink_remove - ends what a sink gets, also if the board cannot be reached
 * @lp: device, which may be gone
 * @sink: one that was added, and that nothing changes meanwhile
 *
 * On return it may be freed, or given something else by litepulse_sink_set().
 */
void litepulse_sink_remove(struct litepulse *lp, struct litepulse_sink *sink)
{
	static const struct litepulse_subscribe nothing;
	unsigned long flags;

	/* The file of a program that is to die need not wait. */
	if (!sink->want.kinds)
		return;
	/* Else it must finish: what @sink is part of is freed next. */
	mutex_lock(&lp->setup.mutex);
	spin_lock_irqsave(&lp->feed.lock, flags);
	litepulse_sink_set_want(lp, sink, &nothing);
	spin_unlock_irqrestore(&lp->feed.lock, flags);
	/* If it fails the board records too much for a while. */
	if (!lp->gone)
		(void)litepulse_sink_apply(lp);
	mutex_unlock(&lp->setup.mutex);
}
