// SPDX-License-Identifier: GPL-2.0-only
/* From the words of the board's streams to records, and who wants which. */
#include <linux/bitfield.h>
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/string.h>

#include "litepulse_record.h"
#include "litepulse_regs.h"

static_assert(sizeof(struct litepulse_event) == 48);
static_assert(sizeof(struct litepulse_record) == 32);
/* Of litepulse_record_byte_flags(). */
#define FLAGS_SHIFT LITEPULSE_RECEIVE_INFO_PARITY_ERROR_SHIFT
/* In the data of a COUNT record: at least this many were lost. */
#define RECEIVE_COUNT_AT_LEAST BIT(LITEPULSE_RECEIVE_INFO_DATA_SHIFT)

static_assert(LITEPULSE_RX_PARITY << FLAGS_SHIFT == LITEPULSE_RECEIVE_INFO_PARITY_ERROR_MASK);
static_assert(LITEPULSE_RX_FRAMING << FLAGS_SHIFT == LITEPULSE_RECEIVE_INFO_FRAMING_ERROR_MASK);
static_assert(LITEPULSE_RX_BREAK << FLAGS_SHIFT == LITEPULSE_RECEIVE_INFO_BREAK_MASK);
static_assert(LITEPULSE_RX_OWN << FLAGS_SHIFT == LITEPULSE_RECEIVE_INFO_OWN_MASK);
static_assert(LITEPULSE_RX_NOISE << FLAGS_SHIFT == LITEPULSE_RECEIVE_INFO_NOISE_MASK);

static inline void litepulse_record_set(struct litepulse_record *record, u64 tick, u64 seq,
					u32 data, u16 flags, u8 kind, u8 source)
{
	/* @count is for other kinds; this is done for each byte. */
	record->tick = tick;
	record->seq = seq;
	record->data = data;
	record->flags = flags;
	record->kind = kind;
	record->source = source;
}

static void litepulse_record_lost(struct litepulse_record *record, u8 source, u64 tick, u64 seq,
				  u64 count, bool open_ended)
{
	*record = (struct litepulse_record){
		.tick = tick,
		.seq = seq,
		.count = count,
		.flags = LITEPULSE_FLAG_HARDWARE | (open_ended ? LITEPULSE_FLAG_AT_LEAST : 0),
		.kind = LITEPULSE_KIND_LOST,
		.source = source,
	};
}

/* Returns how many records the words of one make. */
static unsigned int litepulse_record_decode_event(struct litepulse_sequence *sequence,
						  const u32 *words,
						  struct litepulse_record *records)
{
	u32 info = words[LITEPULSE_EVENT_INFO / 4], data = words[LITEPULSE_EVENT_DATA / 4];
	u64 tick = litepulse_record_tick(words);
	u16 seq = FIELD_GET(LITEPULSE_EVENT_INFO_SEQ_MASK, info), missing;
	unsigned int made = 0;

	if (!sequence->started) {
		if (litepulse_record_kind(info) == LITEPULSE_KIND_SNAPSHOT) {
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
			litepulse_record_lost(&records[made++], LITEPULSE_SRC_CONTROL, tick,
					      sequence->next, missing, false);
		sequence->next += missing;
		sequence->lost += missing;
	}
	sequence->open_ended = false;
	if (litepulse_record_kind(info) == LITEPULSE_KIND_OVERFLOW) {
		sequence->open_ended = litepulse_record_flags(info) &
			LITEPULSE_EVENT_FLAG_AT_LEAST;
		litepulse_record_lost(&records[made++], LITEPULSE_SRC_CONTROL, tick, sequence->next,
				      data, sequence->open_ended);
		sequence->next += data;
		sequence->lost += data;
		return made;
	}
	litepulse_record_set(&records[made++], tick, sequence->next++, data,
			     litepulse_record_flags(info),
			     litepulse_record_kind(info),
			     litepulse_record_source(info));
	return made;
}

/**
 * litepulse_record_decode_events - event records
 * @sequence: of the event stream
 * @words: the records, LITEPULSE_EVENT_WORDS words each
 * @count: how many
 * @records: room for LITEPULSE_RECORDS_PER_EVENT for each
 *
 * Until the first SNAPSHOT, which starts @sequence, nothing is made. Return: records made. Numbers
 * that are missing without an OVERFLOW record become a LOST, too. After an OVERFLOW whose count is
 * a lower bound, the next record takes the lowest number that has its low 16 bits.
 */
unsigned int litepulse_record_decode_events(struct litepulse_sequence *sequence, const u32 *words,
					    unsigned int count, struct litepulse_record *records)
{
	unsigned int made = 0;

	for (; count; count--, words += LITEPULSE_EVENT_WORDS)
		made += litepulse_record_decode_event(sequence, words, records + made);
	return made;
}

/* Decodes the two records of an overflow; returns how many records they make. */
static noinline unsigned int
litepulse_record_decode_overflow(struct litepulse_sequence *sequence, u64 tick, u32 low, u32 info,
				 struct litepulse_record *record)
{
	sequence->gap_open = !(info & LITEPULSE_RECEIVE_INFO_COUNT_MASK);
	if (sequence->gap_open) {
		sequence->gap_tick = tick;
		return 0;
	}
	if (sequence->gap_tick < sequence->since)
		return 0;
	litepulse_record_lost(record, LITEPULSE_SRC_RECEIVER, sequence->gap_tick, sequence->next,
			      low, info & RECEIVE_COUNT_AT_LEAST);
	sequence->next += low;
	sequence->lost += low;
	return 1;
}

/**
 * litepulse_record_decode_bytes - receive records
 * @sequence: of the receive stream
 * @now: tick of a header read after the records were stored
 * @words: the records, LITEPULSE_RECEIVE_WORDS words each
 * @count: how many
 * @records: room for one for each
 *
 * Return: records made: a byte each, or what the second of the two records of an overflow reports.
 */
unsigned int litepulse_record_decode_bytes(struct litepulse_sequence *sequence, u64 now,
					   const u32 *words, unsigned int count,
					   struct litepulse_record *records)
{
	struct litepulse_record *record = records;
	u64 next = sequence->next;

	for (; count; count--, words += LITEPULSE_RECEIVE_WORDS) {
		u32 low = words[LITEPULSE_RECEIVE_TICK_LO / 4];
		u32 info = words[LITEPULSE_RECEIVE_INFO / 4];
		u64 tick = litepulse_record_byte_tick(words, now);

		if (unlikely(!litepulse_record_is_byte(info))) {
			sequence->next = next;
			record += litepulse_record_decode_overflow(sequence, tick, low, info,
								   record);
			next = sequence->next;
			continue;
		}
		if (unlikely(sequence->since)) {
			if (tick < sequence->since)
				continue;
			sequence->since = 0;
		}
		litepulse_record_set(record++, tick, next++,
				     litepulse_record_byte(info),
				     litepulse_record_byte_flags(info), LITEPULSE_KIND_RX,
				     LITEPULSE_SRC_RECEIVER);
	}
	sequence->next = next;
	return record - records;
}

/**
 * litepulse_record_drop - counts records that are not delivered, for
 *	litepulse_record_report_dropped()
 * @sequence: of their stream, after they were decoded
 * @before: the same before; an event stream had been started
 * @records: what was made of them
 * @count: how many
 */
void litepulse_record_drop(struct litepulse_sequence *sequence,
			   const struct litepulse_sequence *before,
			   const struct litepulse_record *records, unsigned int count)
{
	const u64 missing = sequence->next - before->next;

	if (!sequence->dropped)
		sequence->lost_before = before->lost;
	sequence->dropped += missing;
	/* Not added: decoding has counted those of which the board reports that it lost them. */
	sequence->lost = before->lost + missing;
	for (; count; count--, records++) {
		if (records->kind == LITEPULSE_KIND_LOST &&
		    records->flags & LITEPULSE_FLAG_AT_LEAST)
			sequence->dropped_open_ended = true;
	}
}

/**
 * litepulse_record_forget_dropped - what was dropped is nothing that was lost, nor has it numbers:
 *	the board was reset
 * @sequence: of a stream
 */
void litepulse_record_forget_dropped(struct litepulse_sequence *sequence)
{
	if (!sequence->dropped)
		return;
	sequence->next -= sequence->dropped;
	sequence->lost = sequence->lost_before;
	sequence->dropped = 0;
	sequence->dropped_open_ended = false;
}

/**
 * litepulse_record_report_dropped - makes one record of all that were dropped
 * @sequence: of their stream
 * @source: of the record
 * @tick: when this is noticed: they are missing before it
 * @record: filled in
 *
 * Return: false if none was dropped.
 */
bool litepulse_record_report_dropped(struct litepulse_sequence *sequence, u8 source, u64 tick,
				     struct litepulse_record *record)
{
	const u64 count = sequence->dropped;

	if (!count)
		return false;
	litepulse_record_lost(record, source, tick, sequence->next - count, count,
			      sequence->dropped_open_ended);
	sequence->dropped = 0;
	sequence->dropped_open_ended = false;
	return true;
}

/**
 * litepulse_record_channel_samples - the bits of an edge record that belong to channels
 * @channels: a bit for each
 * @samples: per cycle
 */
u32 litepulse_record_channel_samples(u32 channels, unsigned int samples)
{
	u32 bits = 0;

	for (; channels; channels &= channels - 1)
		bits |= GENMASK(samples - 1, 0) << __builtin_ctz(channels) * samples;
	return bits & 0xffff;
}

/**
 * litepulse_record_selector - prepares litepulse_record_select()
 * @want: what a subscriber requested
 * @samples: per cycle
 *
 * Return: the same, worked out.
 */
struct litepulse_selector litepulse_record_selector(const struct litepulse_subscribe *want,
						    unsigned int samples)
{
	return (struct litepulse_selector){
		.kinds = want->kinds,
		.sources = want->sources ?: ~0u,
		.rise = litepulse_record_channel_samples(want->rise, samples),
		.fall = litepulse_record_channel_samples(want->fall, samples),
	};
}
