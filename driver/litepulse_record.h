/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From the records of the board's streams to struct litepulse_event, and who wants which. Pure:
 * no hardware.
 */
#ifndef LITEPULSE_RECORD_H
#define LITEPULSE_RECORD_H

#include <linux/bits.h>
#include <linux/types.h>

#include "uapi/linux/litepulse.h"

/**
 * struct litepulse_sequence - where a stream has got to
 * @next: number of the next record
 * @lost: records lost by the board, told or missing
 * @open_ended: event stream: the latest OVERFLOW gave a lower bound, so the next record's number
 *	may be higher than @next
 * @started: event stream: the snapshot was seen that gives the low 16 bits of @next; what came
 *	before it is not ours
 * @since: receive stream: bytes from before this tick are not ours; 0 once one of ours has come
 * @tick: of the latest header
 * @dropped: records thrown away since a header's tick went back
 * @dropped_tick: tick of the first such header
 * @gap_tick: receive stream: tick of the first byte lost
 * @gap_open: ... and the record with the count comes next
 */
struct litepulse_sequence {
	u64 next;
	u64 lost;
	bool open_ended;
	bool started;
	u64 since;
	u64 tick;
	u64 dropped;
	u64 dropped_tick;
	u64 gap_tick;
	bool gap_open;
};

/**
 * struct litepulse_selector - what a subscriber wants, as it is quickest to compare with
 * @kinds: as in struct litepulse_subscribe
 * @sources: a bit for each, all of them if it does not care
 * @rise: samples of an edge record that it wants if they are 1
 * @fall: ... if they are 0
 */
struct litepulse_selector {
	u32 kinds;
	u32 sources;
	u32 rise;
	u32 fall;
};

/* An event record makes at most so many events: what is missing before it, and itself. */
#define LITEPULSE_EVENTS_PER_RECORD 2

unsigned int litepulse_decode_events(struct litepulse_sequence *sequence, const u32 *words,
				     unsigned int count, struct litepulse_event *events);
unsigned int litepulse_decode_bytes(struct litepulse_sequence *sequence, u64 now, const u32 *words,
				    unsigned int count, struct litepulse_event *events);
unsigned int litepulse_decode_plain(struct litepulse_sequence *sequence, const u32 *words,
				    unsigned int count, u8 *data, u8 *flags);
struct litepulse_selector litepulse_selector(const struct litepulse_subscribe *want,
					     unsigned int samples);
u32 litepulse_channel_samples(u32 channels, unsigned int samples);

/**
 * litepulse_select - what a subscriber gets of an event
 * @selector: what it asked for
 * @event: what there is
 * @data: set to the event's, without the edges it did not ask for
 *
 * Return: whether anything is left.
 */
static inline bool litepulse_select(const struct litepulse_selector *selector,
				    const struct litepulse_event *event, u32 *data)
{
	const u32 bytes = BIT(LITEPULSE_KIND_RX);
	u32 levels, changes;

	*data = event->data;
	switch (event->kind) {
	case LITEPULSE_KIND_RESTARTED:
		return selector->kinds;
	case LITEPULSE_KIND_LOST:
		return selector->kinds &
		       (event->source == LITEPULSE_SRC_RECEIVER ? bytes : ~bytes);
	case LITEPULSE_KIND_EDGE:
		levels = event->data >> 16;
		changes = event->data &
			((levels & selector->rise) | (~levels & selector->fall));
		*data = levels << 16 | changes;
		return changes && selector->kinds & BIT(LITEPULSE_KIND_EDGE);
	case LITEPULSE_KIND_TX:
	case LITEPULSE_KIND_REFUSED:
	case LITEPULSE_KIND_APPLIED:
		if (!(selector->sources & BIT(event->source)))
			return false;
		fallthrough;
	default:
		return selector->kinds & BIT(event->kind);
	}
}

#endif /* LITEPULSE_RECORD_H */
