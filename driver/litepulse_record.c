// SPDX-License-Identifier: GPL-2.0-only
/* From the records of the board's streams to struct litepulse_event, and who wants which. */
#include <linux/bitfield.h>
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/string.h>

#include "litepulse_record.h"
#include "litepulse_regs.h"
#include "litepulse_time.h"

static_assert(sizeof(struct litepulse_event) == 48);
/* The flags of a receive record lie together, as in the interface. */
#define FLAGS_SHIFT LITEPULSE_RECEIVE_INFO_PARITY_ERROR_SHIFT
#define FLAGS_MASK GENMASK(LITEPULSE_RECEIVE_INFO_COUNT_SHIFT, FLAGS_SHIFT)
/* In the data of a COUNT record: at least so many were lost. */
#define RECEIVE_COUNT_AT_LEAST BIT(LITEPULSE_RECEIVE_INFO_DATA_SHIFT)

static_assert(LITEPULSE_RX_PARITY << FLAGS_SHIFT == LITEPULSE_RECEIVE_INFO_PARITY_ERROR_MASK);
static_assert(LITEPULSE_RX_FRAMING << FLAGS_SHIFT == LITEPULSE_RECEIVE_INFO_FRAMING_ERROR_MASK);
static_assert(LITEPULSE_RX_BREAK << FLAGS_SHIFT == LITEPULSE_RECEIVE_INFO_BREAK_MASK);
static_assert(LITEPULSE_RX_OWN << FLAGS_SHIFT == LITEPULSE_RECEIVE_INFO_OWN_MASK);
static_assert(LITEPULSE_RX_NOISE << FLAGS_SHIFT == LITEPULSE_RECEIVE_INFO_NOISE_MASK);

/* Field by field: compilers clear all 48 bytes first when given an initializer. */
static inline void set(struct litepulse_event *event, u64 tick, u64 seq, u32 data, u16 flags,
		       u8 kind, u8 source)
{
	event->tick = tick;
	event->ns = 0;
	event->seq = seq;
	event->count = 0;
	event->data = data;
	event->subtick = 0;
	event->uncertainty = 0;
	event->flags = flags;
	event->kind = kind;
	event->source = source;
}

static void lost(struct litepulse_event *event, u8 source, u64 tick, u64 seq, u64 count,
		 bool open_ended)
{
	*event = (struct litepulse_event){
		.tick = tick,
		.seq = seq,
		.count = count,
		.flags = LITEPULSE_FLAG_HARDWARE | (open_ended ? LITEPULSE_FLAG_AT_LEAST : 0),
		.kind = LITEPULSE_KIND_LOST,
		.source = source,
	};
}

/* Returns how many events an event record makes. */
static unsigned int decode_event(struct litepulse_sequence *sequence, const u32 *words,
				 struct litepulse_event *events)
{
	u32 info = words[LITEPULSE_EVENT_INFO / 4], data = words[LITEPULSE_EVENT_DATA / 4];
	u64 tick = (u64)words[LITEPULSE_EVENT_TICK_HI / 4] << 32 |
		words[LITEPULSE_EVENT_TICK_LO / 4];
	u16 seq = FIELD_GET(LITEPULSE_EVENT_INFO_SEQ_MASK, info), missing;
	unsigned int made = 0;

	if (!sequence->started) {
		if (FIELD_GET(LITEPULSE_EVENT_INFO_KIND_MASK, info) == LITEPULSE_KIND_SNAPSHOT) {
			sequence->next = seq + 1;
			sequence->open_ended = false;
			sequence->started = true;
		}
		return 0;
	}
	missing = seq - (u16)sequence->next;
	if (missing) {
		/* What an open-ended gap holds beyond its count was reported with it. */
		if (!sequence->open_ended)
			lost(&events[made++], LITEPULSE_SRC_CONTROL, tick, sequence->next, missing,
			     false);
		sequence->next += missing;
		sequence->lost += missing;
	}
	sequence->open_ended = false;
	if (FIELD_GET(LITEPULSE_EVENT_INFO_KIND_MASK, info) == LITEPULSE_KIND_OVERFLOW) {
		sequence->open_ended = FIELD_GET(LITEPULSE_EVENT_INFO_FLAGS_MASK, info) &
			LITEPULSE_EVENT_FLAG_AT_LEAST;
		lost(&events[made++], LITEPULSE_SRC_CONTROL, tick, sequence->next, data,
		     sequence->open_ended);
		sequence->next += data;
		sequence->lost += data;
		return made;
	}
	set(&events[made++], tick, sequence->next++, data,
	    FIELD_GET(LITEPULSE_EVENT_INFO_FLAGS_MASK, info),
	    FIELD_GET(LITEPULSE_EVENT_INFO_KIND_MASK, info),
	    FIELD_GET(LITEPULSE_EVENT_INFO_SOURCE_MASK, info));
	return made;
}

/**
 * litepulse_decode_events - event records
 * @sequence: of the event stream
 * @words: the records, LITEPULSE_EVENT_WORDS words each
 * @count: how many
 * @events: room for LITEPULSE_EVENTS_PER_RECORD for each; ns is left 0
 *
 * Until the first SNAPSHOT, which starts @sequence, nothing is made. Return: events made. Numbers
 * that are missing without an OVERFLOW record become a LOST, too. After an OVERFLOW whose count is
 * a lower bound, the next record takes the lowest number that has its low 16 bits.
 */
unsigned int litepulse_decode_events(struct litepulse_sequence *sequence, const u32 *words,
				     unsigned int count, struct litepulse_event *events)
{
	unsigned int made = 0;

	for (; count; count--, words += LITEPULSE_EVENT_WORDS)
		made += decode_event(sequence, words, events + made);
	return made;
}

/* Returns how many events a receive record makes. */
static unsigned int decode_byte(struct litepulse_sequence *sequence, u64 now, const u32 *words,
				struct litepulse_event *events)
{
	u32 low = words[LITEPULSE_RECEIVE_TICK_LO / 4], info = words[LITEPULSE_RECEIVE_INFO / 4];
	u64 high = FIELD_GET(LITEPULSE_RECEIVE_INFO_TICK_47_32_MASK, info);
	u64 tick = litepulse_extend_tick(now, high << 32 | low);

	if (info & LITEPULSE_RECEIVE_INFO_OVERFLOW_MASK) {
		sequence->gap_open = !(info & LITEPULSE_RECEIVE_INFO_COUNT_MASK);
		if (sequence->gap_open) {
			sequence->gap_tick = tick;
			return 0;
		}
		if (sequence->gap_tick < sequence->since)
			return 0;
		lost(events, LITEPULSE_SRC_RECEIVER, sequence->gap_tick, sequence->next, low,
		     info & RECEIVE_COUNT_AT_LEAST);
		sequence->next += low;
		sequence->lost += low;
		return 1;
	}
	if (tick < sequence->since)
		return 0;
	sequence->since = 0;
	set(events, tick, sequence->next++, FIELD_GET(LITEPULSE_RECEIVE_INFO_DATA_MASK, info),
	    FIELD_GET(FLAGS_MASK, info), LITEPULSE_KIND_RX, LITEPULSE_SRC_RECEIVER);
	return 1;
}

/**
 * litepulse_decode_bytes - receive records
 * @sequence: of the receive stream
 * @now: tick of a header read after the records were stored
 * @words: the records, LITEPULSE_RECEIVE_WORDS words each
 * @count: how many
 * @events: room for one for each; ns is left 0
 *
 * Return: events made: a byte each, or what the second of the two records of an overflow tells.
 */
unsigned int litepulse_decode_bytes(struct litepulse_sequence *sequence, u64 now, const u32 *words,
				    unsigned int count, struct litepulse_event *events)
{
	unsigned int made = 0;

	for (; count; count--, words += LITEPULSE_RECEIVE_WORDS)
		made += decode_byte(sequence, now, words, events + made);
	return made;
}

/**
 * litepulse_decode_plain - receive records that nobody wants as events
 * @sequence: of the receive stream
 * @words: the records
 * @count: how many
 * @data: set to the data of each
 * @flags: set to the LITEPULSE_RX_* of each
 *
 * Return: records decoded; the next one, if there is one, is for litepulse_decode_bytes().
 */
unsigned int litepulse_decode_plain(struct litepulse_sequence *sequence, const u32 *words,
				    unsigned int count, u8 *data, u8 *flags)
{
	unsigned int i;

	for (i = 0; i < count && !sequence->since; i++, words += LITEPULSE_RECEIVE_WORDS) {
		u32 info = words[LITEPULSE_RECEIVE_INFO / 4];

		if (info & LITEPULSE_RECEIVE_INFO_OVERFLOW_MASK)
			break;
		data[i] = FIELD_GET(LITEPULSE_RECEIVE_INFO_DATA_MASK, info);
		flags[i] = FIELD_GET(FLAGS_MASK, info);
	}
	sequence->next += i;
	return i;
}

/**
 * litepulse_channel_samples - the bits of an edge record that belong to channels
 * @channels: a bit for each
 * @samples: per cycle
 */
u32 litepulse_channel_samples(u32 channels, unsigned int samples)
{
	u32 bits = 0;

	for (; channels; channels &= channels - 1)
		bits |= GENMASK(samples - 1, 0) << __builtin_ctz(channels) * samples;
	return bits & 0xffff;
}

/**
 * litepulse_selector - prepares litepulse_select()
 * @want: what a subscriber asked for
 * @samples: per cycle
 *
 * Return: the same, worked out.
 */
struct litepulse_selector litepulse_selector(const struct litepulse_subscribe *want,
					     unsigned int samples)
{
	return (struct litepulse_selector){
		.kinds = want->kinds,
		.sources = want->sources ?: ~0u,
		.rise = litepulse_channel_samples(want->rise, samples),
		.fall = litepulse_channel_samples(want->fall, samples),
	};
}
