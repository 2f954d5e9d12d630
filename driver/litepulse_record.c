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

static_assert(LITEPULSE_RX_PARITY << FLAGS_SHIFT == LITEPULSE_RECEIVE_INFO_PARITY_ERROR_MASK);
static_assert(LITEPULSE_RX_FRAMING << FLAGS_SHIFT == LITEPULSE_RECEIVE_INFO_FRAMING_ERROR_MASK);
static_assert(LITEPULSE_RX_BREAK << FLAGS_SHIFT == LITEPULSE_RECEIVE_INFO_BREAK_MASK);
static_assert(LITEPULSE_RX_OWN << FLAGS_SHIFT == LITEPULSE_RECEIVE_INFO_OWN_MASK);
static_assert(LITEPULSE_RX_NOISE << FLAGS_SHIFT == LITEPULSE_RECEIVE_INFO_NOISE_MASK);

static void lost(struct litepulse_event *event, u8 source, u64 tick, u64 seq, u64 count)
{
	*event = (struct litepulse_event){
		.tick = tick,
		.seq = seq,
		.count = count,
		.flags = LITEPULSE_FLAG_HARDWARE,
		.kind = LITEPULSE_KIND_LOST,
		.source = source,
	};
}

/**
 * litepulse_decode_event - an event record
 * @sequence: of the event stream
 * @words: the record, LITEPULSE_EVENT_WORDS words
 * @events: room for LITEPULSE_EVENTS_PER_RECORD; ns is left 0
 *
 * Until the first SNAPSHOT, which starts @sequence, nothing is made. Return: events made. Numbers
 * that are missing without an OVERFLOW record become a LOST, too.
 */
unsigned int litepulse_decode_event(struct litepulse_sequence *sequence, const u32 *words,
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
			sequence->started = true;
		}
		return 0;
	}
	missing = seq - (u16)sequence->next;
	if (missing) {
		lost(&events[made++], LITEPULSE_SRC_CONTROL, tick, sequence->next, missing);
		sequence->next += missing;
		sequence->lost += missing;
	}
	if (FIELD_GET(LITEPULSE_EVENT_INFO_KIND_MASK, info) == LITEPULSE_KIND_OVERFLOW) {
		lost(&events[made++], LITEPULSE_SRC_CONTROL, tick, sequence->next, data);
		sequence->next += data;
		sequence->lost += data;
		return made;
	}
	events[made++] = (struct litepulse_event){
		.tick = tick,
		.seq = sequence->next++,
		.data = data,
		.flags = FIELD_GET(LITEPULSE_EVENT_INFO_FLAGS_MASK, info),
		.kind = FIELD_GET(LITEPULSE_EVENT_INFO_KIND_MASK, info),
		.source = FIELD_GET(LITEPULSE_EVENT_INFO_SOURCE_MASK, info),
	};
	return made;
}

/**
 * litepulse_decode_byte - a receive record
 * @sequence: of the receive stream
 * @now: tick of a header read after the record was stored
 * @words: the record, LITEPULSE_RECEIVE_WORDS words
 * @events: room for LITEPULSE_EVENTS_PER_RECORD; ns is left 0
 *
 * Return: events made: a byte, or what the second of the two records of an overflow tells.
 */
unsigned int litepulse_decode_byte(struct litepulse_sequence *sequence, u64 now, const u32 *words,
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
		lost(events, LITEPULSE_SRC_RECEIVER, sequence->gap_tick, sequence->next, low);
		sequence->next += low;
		sequence->lost += low;
		return 1;
	}
	if (tick < sequence->since)
		return 0;
	*events = (struct litepulse_event){
		.tick = tick,
		.seq = sequence->next++,
		.data = FIELD_GET(LITEPULSE_RECEIVE_INFO_DATA_MASK, info),
		.flags = FIELD_GET(GENMASK(LITEPULSE_RECEIVE_INFO_COUNT_SHIFT, FLAGS_SHIFT), info),
		.kind = LITEPULSE_KIND_RX,
		.source = LITEPULSE_SRC_RECEIVER,
	};
	return 1;
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
 * litepulse_select - what a subscriber gets of an event
 * @want: what it asked for
 * @samples: per cycle
 * @event: edges it did not ask for are taken out of it
 *
 * Return: whether anything is left.
 */
bool litepulse_select(const struct litepulse_subscribe *want, unsigned int samples,
		      struct litepulse_event *event)
{
	const u32 bytes = BIT(LITEPULSE_KIND_RX);
	u32 levels, changes;

	if (event->kind == LITEPULSE_KIND_RESTARTED)
		return want->kinds;
	if (event->kind == LITEPULSE_KIND_LOST)
		return want->kinds & (event->source == LITEPULSE_SRC_RECEIVER ? bytes : ~bytes);
	if (!(want->kinds & BIT(event->kind)))
		return false;
	switch (event->kind) {
	case LITEPULSE_KIND_TX:
	case LITEPULSE_KIND_REFUSED:
	case LITEPULSE_KIND_APPLIED:
		return !want->sources || want->sources & BIT(event->source);
	case LITEPULSE_KIND_EDGE:
		levels = event->data >> 16;
		changes = event->data &
			((levels & litepulse_channel_samples(want->rise, samples)) |
			 (~levels & litepulse_channel_samples(want->fall, samples)));
		event->data = levels << 16 | changes;
		return changes;
	default:
		return true;
	}
}
