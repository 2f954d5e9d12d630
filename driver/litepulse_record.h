/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From the records of the board's streams to struct litepulse_event, and who wants which. Pure:
 * no hardware.
 */
#ifndef LITEPULSE_RECORD_H
#define LITEPULSE_RECORD_H

#include <linux/types.h>

#include "uapi/linux/litepulse.h"

/**
 * struct litepulse_sequence - where a stream has got to
 * @next: number of the next record
 * @lost: records lost by the board, told or missing
 * @started: event stream: the snapshot was seen that gives the low 16 bits of @next; what came
 *	before it is not ours
 * @since: receive stream: bytes from before this tick are not ours
 * @tick: of the latest header
 * @gap_tick: receive stream: tick of the first byte lost
 * @gap_open: ... and the record with the count comes next
 */
struct litepulse_sequence {
	u64 next;
	u64 lost;
	bool started;
	u64 since;
	u64 tick;
	u64 gap_tick;
	bool gap_open;
};

/* A record makes at most so many events: what is missing before it, and itself. */
#define LITEPULSE_EVENTS_PER_RECORD 2

unsigned int litepulse_decode_event(struct litepulse_sequence *sequence, const u32 *words,
				    struct litepulse_event *events);
unsigned int litepulse_decode_byte(struct litepulse_sequence *sequence, u64 now, const u32 *words,
				   struct litepulse_event *events);
bool litepulse_select(const struct litepulse_subscribe *want, unsigned int samples,
		      struct litepulse_event *event);
u32 litepulse_channel_samples(u32 channels, unsigned int samples);

#endif /* LITEPULSE_RECORD_H */
