/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From the words of the board's streams to records, and who wants which. Pure:
 * no hardware.
 */
#ifndef LITEPULSE_RECORD_H
#define LITEPULSE_RECORD_H

#include <linux/bitfield.h>
#include <linux/bits.h>
#include <linux/types.h>

#include "litepulse_regs.h"
#include "litepulse_time.h"
#include "uapi/linux/litepulse.h"

/**
 * struct litepulse_sequence - where a stream has got to
 * @next: number of the next record
 * @lost: records lost by the board, reported or missing
 * @open_ended: event stream: the latest OVERFLOW gave a lower bound, so the next record's number
 *	may be higher than @next
 * @started: event stream: the snapshot was seen that gives the low 16 bits of @next; what came
 *	before it is not ours
 * @since: receive stream: bytes from before this tick are not ours; 0 once one of ours has come
 * @tick: of the latest header
 * @dropped: this many before @next were not delivered, as a header's tick had gone back
 * @dropped_open_ended: at least this many
 * @lost_before: @lost before the first of them
 * @gap_tick: receive stream: tick of the first byte lost in the latest gap
 * @gap_open: receive stream: the record with the count of that gap comes next
 */
struct litepulse_sequence {
	u64 next;
	u64 lost;
	bool open_ended;
	bool started;
	u64 since;
	u64 tick;
	u64 dropped;
	bool dropped_open_ended;
	u64 lost_before;
	u64 gap_tick;
	bool gap_open;
};

/**
 * struct litepulse_record - something that happened: what struct litepulse_event has for every
 * reader
 * @tick: as in struct litepulse_event
 * @seq: likewise
 * @count: likewise, of LOST and RESTARTED only: undefined for other kinds
 * @data: likewise
 * @flags: likewise, but for LITEPULSE_FLAG_NS
 * @kind: likewise
 * @source: likewise
 *
 * It is small because one is made for each received byte.
 */
struct litepulse_record {
	u64 tick;
	u64 seq;
	u64 count;
	u32 data;
	u16 flags;
	u8 kind;
	u8 source;
};

/**
 * struct litepulse_selector - what a subscriber wants, as it is quickest to compare with
 * @kinds: as in struct litepulse_subscribe
 * @sources: a bit for each, all of them if it does not care
 * @rise: samples of an edge record that it wants if they are 1
 * @fall: samples of an edge record that it wants if they are 0
 */
struct litepulse_selector {
	u32 kinds;
	u32 sources;
	u32 rise;
	u32 fall;
};

/* The words of an event make at most this many records: what is missing before it, and itself. */
#define LITEPULSE_RECORDS_PER_EVENT 2

unsigned int litepulse_record_decode_events(struct litepulse_sequence *sequence, const u32 *words,
					    unsigned int count, struct litepulse_record *records);
unsigned int litepulse_record_decode_bytes(struct litepulse_sequence *sequence, u64 now,
					   const u32 *words, unsigned int count,
					   struct litepulse_record *records);
void litepulse_record_drop(struct litepulse_sequence *sequence,
			   const struct litepulse_sequence *before,
			   const struct litepulse_record *records, unsigned int count);
void litepulse_record_forget_dropped(struct litepulse_sequence *sequence);
bool litepulse_record_report_dropped(struct litepulse_sequence *sequence, u8 source, u64 tick,
				     struct litepulse_record *record);
struct litepulse_selector litepulse_record_selector(const struct litepulse_subscribe *want,
						    unsigned int samples);
u32 litepulse_record_channel_samples(u32 channels, unsigned int samples);

static inline u64 litepulse_record_tick(const u32 *words)
{
	return (u64)words[LITEPULSE_EVENT_TICK_HI / 4] << 32 | words[LITEPULSE_EVENT_TICK_LO / 4];
}

/* Fields of the info word of an event. */
static inline u8 litepulse_record_kind(u32 info)
{
	return FIELD_GET(LITEPULSE_EVENT_INFO_KIND_MASK, info);
}

static inline u8 litepulse_record_source(u32 info)
{
	return FIELD_GET(LITEPULSE_EVENT_INFO_SOURCE_MASK, info);
}

static inline u8 litepulse_record_flags(u32 info)
{
	return FIELD_GET(LITEPULSE_EVENT_INFO_FLAGS_MASK, info);
}

/* Has the event number @seq, and is it not the report of a loss? */
static inline bool litepulse_record_is_plain(u32 info, u16 seq)
{
	return FIELD_GET(LITEPULSE_EVENT_INFO_SEQ_MASK, info) == seq &&
	       litepulse_record_kind(info) != LITEPULSE_KIND_OVERFLOW;
}

/* Whether an info word of the receive stream describes a byte; otherwise it reports a loss. */
static inline bool litepulse_record_is_byte(u32 info)
{
	return !(info & LITEPULSE_RECEIVE_INFO_OVERFLOW_MASK);
}

/* The tick of a record of the receive stream, which had been stored at @now. */
static inline u64 litepulse_record_byte_tick(const u32 *words, u64 now)
{
	const u64 high = FIELD_GET(LITEPULSE_RECEIVE_INFO_TICK_47_32_MASK,
				   words[LITEPULSE_RECEIVE_INFO / 4]);

	return litepulse_extend_tick(now, high << 32 | words[LITEPULSE_RECEIVE_TICK_LO / 4]);
}

/* The fields of a byte's info word. */
static inline u16 litepulse_record_byte(u32 info)
{
	return FIELD_GET(LITEPULSE_RECEIVE_INFO_DATA_MASK, info);
}

/* LITEPULSE_RX_*: they lie together, as in the interface. */
static inline u8 litepulse_record_byte_flags(u32 info)
{
	return FIELD_GET(GENMASK(LITEPULSE_RECEIVE_INFO_COUNT_SHIFT,
				 LITEPULSE_RECEIVE_INFO_PARITY_ERROR_SHIFT), info);
}

/**
 * litepulse_record_select_data - what a subscriber gets of a record
 * @selector: what it requested
 * @kind: of the record
 * @source: of the record
 * @all: the record's data
 * @data: set to them, without the edges that the subscriber did not ask for
 *
 * Return: whether anything is left.
 */
static inline bool litepulse_record_select_data(const struct litepulse_selector *selector, u8 kind,
						u8 source, u32 all, u32 *data)
{
	const u32 bytes = BIT(LITEPULSE_KIND_RX);
	u32 levels, changes;

	*data = all;
	if (kind == LITEPULSE_KIND_RX)
		return selector->kinds & bytes;
	switch (kind) {
	case LITEPULSE_KIND_RESTARTED:
		return selector->kinds;
	case LITEPULSE_KIND_LOST:
		return selector->kinds & (source == LITEPULSE_SRC_RECEIVER ? bytes : ~bytes);
	case LITEPULSE_KIND_EDGE:
		levels = all >> 16;
		changes = all & ((levels & selector->rise) | (~levels & selector->fall));
		*data = levels << 16 | changes;
		return changes && selector->kinds & BIT(LITEPULSE_KIND_EDGE);
	case LITEPULSE_KIND_TX:
	case LITEPULSE_KIND_REFUSED:
	case LITEPULSE_KIND_APPLIED:
		if (!(selector->sources & BIT(source)))
			return false;
		fallthrough;
	default:
		return selector->kinds & BIT(kind);
	}
}

/* The same of a whole record. */
static inline bool litepulse_record_select(const struct litepulse_selector *selector,
					   const struct litepulse_record *record, u32 *data)
{
	return litepulse_record_select_data(selector, record->kind, record->source, record->data,
					    data);
}

/**
 * struct litepulse_record_places - where events are put
 * @at: the memory, of the type that is written
 * @first: index of the first of them
 * @mask: of an index
 *
 * A copy of what a FIFO or a ring says of itself, which is then in registers.
 */
struct litepulse_record_places {
	void *at;
	u32 first;
	u32 mask;
};

/**
 * litepulse_record_take_plain - events straight from their words to where they are read
 * @sequence: of the event stream
 * @selector: what is wanted
 * @since: from this tick on
 * @words: the records
 * @count: how many
 * @room: for this many events
 * @write: one of them; inlined
 * @places: for @write
 * @put: set to how many events were put
 *
 * The same as litepulse_record_decode_events() and litepulse_record_select(), for the usual case
 * only: it stops at a record that reports a loss, follows a gap, or is older than @since, and when
 * there is no room.
 *
 * Return: records taken.
 */
static __always_inline unsigned int
litepulse_record_take_plain(struct litepulse_sequence *sequence,
			    const struct litepulse_selector *selector, u64 since, const u32 *words,
			    unsigned int count, unsigned int room,
			    void (*write)(void *at, u32 index, u64 tick, u64 seq, u32 data,
					  u32 info),
			    const struct litepulse_record_places places, unsigned int *put)
{
	const u64 next = sequence->next;
	unsigned int i, made = 0;
	u32 info, data;
	u64 tick;

	if (!sequence->started || sequence->open_ended)
		count = 0;
	for (i = 0; i < count && made < room; i++, words += LITEPULSE_EVENT_WORDS) {
		info = words[LITEPULSE_EVENT_INFO / 4];
		if (!litepulse_record_is_plain(info, (u32)next + i))
			break;
		tick = litepulse_record_tick(words);
		if (tick < since)
			break;
		if (litepulse_record_select_data(selector, litepulse_record_kind(info),
						 litepulse_record_source(info),
						 words[LITEPULSE_EVENT_DATA / 4], &data))
			write(places.at, (places.first + made++) & places.mask, tick, next + i,
			      data, info);
	}
	sequence->next = next + i;
	*put = made;
	return i;
}

#endif /* LITEPULSE_RECORD_H */
