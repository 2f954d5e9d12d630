/* SPDX-License-Identifier: GPL-2.0-only */
/* Sinks: who gets events, and what the hardware records for them. */
#ifndef LITEPULSE_SINK_H
#define LITEPULSE_SINK_H

#include "litepulse.h"

/**
 * struct litepulse_stamp - when an event was, by a clock of the host
 * @ns: by the clock that the sink wants
 * @uncertainty: the event was within this many ns of it
 */
struct litepulse_stamp {
	u64 ns;
	u32 uncertainty;
};

#define LITEPULSE_SINK_KINDS	(LITEPULSE_KIND_RESPONDER_MISSED + 1)
#define LITEPULSE_SINK_SOURCES	(LITEPULSE_SRC_RECEIVER + 1)
#define LITEPULSE_SINK_CHANNELS 16

/* A tick for each. */
struct litepulse_sink_parts {
	u64 kinds[LITEPULSE_SINK_KINDS];
	u64 sources[LITEPULSE_SINK_SOURCES];
	u64 rise[LITEPULSE_SINK_CHANNELS];
	u64 fall[LITEPULSE_SINK_CHANNELS];
};

/**
 * struct litepulse_sink - a user of events
 * @node: in litepulse.feed.sinks while it wants anything; litepulse.feed.lock and
 *	litepulse.setup.mutex
 * @name: what it is, for a person; NULL: of a module that gave none
 * @limited: at most LITEPULSE_SUBSCRIBERS_MAX of those that are limited may want anything
 * @of_claim: of the claim's holder, who may change the filter of what triggers its responder
 * @want: what it gets; litepulse.feed.lock and litepulse.setup.mutex
 * @clock: wanted in litepulse_event.ns, LITEPULSE_CLOCK_*
 * @selector: made of @want; litepulse.feed.lock
 * @since: tick from which on it wants all that it wants of a stream; litepulse.feed.lock
 * @parts: tick from which on it wants each part of the event stream, in which older events than the
 *	latest change of @want may wait: kinds, sources, edges of each channel; litepulse.feed.lock
 * @takes_older: also gets what the board recorded before the sink wanted it; constant, or
 *	litepulse.setup.mutex
 * @idle_us: time without a new byte after which it wants those that are there, us; 0: never.
 *	litepulse.feed.lock
 * @got: something was put since the last @done; litepulse.feed.lock
 * @put: takes one record. @data is its data, without the edges that the sink did not ask for;
 *	@stamp is its time, NULL if that is not known. Called under litepulse.feed.lock
 * @take_plain: of a stream NULL, or called in place of @put under litepulse.feed.lock, while this
 *	sink is the only one that wants the stream and its clock is LITEPULSE_CLOCK_NONE. Takes the
 *	words of records up to one that is not as usual, moves @sequence, sets @got, and returns how
 *	many records it took
 * @done: called after the last record of a batch, to wake those who wait; may be NULL. Called under
 *	litepulse.feed.lock
 */
struct litepulse_sink {
	struct list_head node;
	const char *name;
	struct litepulse_subscribe want;
	struct litepulse_selector selector;
	u64 since[LITEPULSE_STREAMS];
	struct litepulse_sink_parts parts;
	unsigned int idle_us;
	bool takes_older;
	bool limited;
	bool of_claim;
	bool got;
	void (*put)(struct litepulse_sink *sink, const struct litepulse_record *record, u32 data,
		    const struct litepulse_stamp *stamp);
	unsigned int (*take_plain[LITEPULSE_STREAMS])(struct litepulse_sink *sink,
						      struct litepulse_sequence *sequence,
						      const u32 *words, unsigned int count);
	void (*done)(struct litepulse_sink *sink);
};

/* The event that a sink was given, in one piece. */
static inline struct litepulse_event litepulse_sink_event(const struct litepulse_record *record,
							  u32 data,
							  const struct litepulse_stamp *stamp)
{
	return (struct litepulse_event){
		.tick = record->tick,
		.ns = stamp ? stamp->ns : 0,
		.seq = record->seq,
		.count = record->kind >= LITEPULSE_KIND_LOST ? record->count : 0,
		.data = data,
		.uncertainty = stamp ? stamp->uncertainty : 0,
		.flags = stamp ? record->flags | LITEPULSE_FLAG_NS : record->flags,
		.kind = record->kind,
		.source = record->source,
	};
}

bool litepulse_sink_wanted(const struct litepulse *lp, const struct litepulse_sink *sink,
			   const struct litepulse_record *record, u32 *data);
void litepulse_sink_forget_since(struct litepulse_sink *sink);
void litepulse_sink_init(struct litepulse_sink *sink);
int litepulse_sink_add(struct litepulse *lp, struct litepulse_sink *sink);
int litepulse_sink_set(struct litepulse *lp, struct litepulse_sink *sink,
		       const struct litepulse_subscribe *want);
int litepulse_sink_change(struct litepulse *lp, struct litepulse_sink *sink,
			  const struct litepulse_subscribe *want);
void litepulse_sink_skip_bytes(struct litepulse *lp, struct litepulse_sink *sink, u64 tick);
void litepulse_sink_remove(struct litepulse *lp, struct litepulse_sink *sink);
void litepulse_sink_forget_trigger(struct litepulse *lp);
int litepulse_sink_apply(struct litepulse *lp);
void litepulse_sink_moderate(struct litepulse *lp);
int litepulse_sink_unmoderate(struct litepulse *lp);
void litepulse_sink_end_unmoderate(struct litepulse *lp);

#endif /* LITEPULSE_SINK_H */
