// SPDX-License-Identifier: GPL-2.0-only
/*
 * Entries of the launch queue: launches and waits
 *
 * An entry has the tick at which it happens, or, if it is relative, its distance from the entry
 * before it. A wait ends at its tick at the latest, so when it ends only the board knows.
 */
#include <linux/bitfield.h>
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "litepulse_entry.h"
#include "litepulse_regs.h"

/* The data of a wait is the low byte of its word, whose other fields lie as those of a launch. */
static_assert(LITEPULSE_WAIT_ENTRY_CHANNEL_SHIFT == 0);
static_assert(LITEPULSE_WAIT_RISE == LITEPULSE_WAIT_ENTRY_RISE_MASK);
static_assert(LITEPULSE_WAIT_FALL == LITEPULSE_WAIT_ENTRY_FALL_MASK);
static_assert(LITEPULSE_WAIT_STOP == LITEPULSE_WAIT_ENTRY_STOP_MASK);
static_assert(LITEPULSE_WAIT_EXCLUSIVE == LITEPULSE_WAIT_ENTRY_EXCLUSIVE_MASK);
static_assert(LITEPULSE_WAIT_ENTRY == LITEPULSE_LAUNCH_LAUNCH);
static_assert(LITEPULSE_WAIT_ENTRY_KIND_MASK == LITEPULSE_LAUNCH_LAUNCH_KIND_MASK);
static_assert(LITEPULSE_WAIT_ENTRY_RELATIVE_MASK == LITEPULSE_LAUNCH_LAUNCH_RELATIVE_MASK);
static_assert(LITEPULSE_WAIT_ENTRY_TAG_MASK == LITEPULSE_LAUNCH_LAUNCH_TAG_MASK);

static bool litepulse_entry_is_wait(const struct litepulse_launch *entry)
{
	return entry->kind == LITEPULSE_LAUNCH_WAIT;
}

static bool litepulse_entry_is_relative(const struct litepulse_launch *entry)
{
	return entry->flags & LITEPULSE_LAUNCH_RELATIVE;
}

/**
 * litepulse_entry_check_sent - whether something can be sent, by launches, trains and the responder
 * @kind: LITEPULSE_LAUNCH_*
 * @data: of a frame or a break
 * @width: of a pulse
 *
 * Return: 0 or -EINVAL.
 */
int litepulse_entry_check_sent(u8 kind, u8 data, u32 width)
{
	switch (kind) {
	case LITEPULSE_LAUNCH_FRAME:
		return width ? -EINVAL : 0;
	case LITEPULSE_LAUNCH_BREAK:
		return width || !data ? -EINVAL : 0;
	case LITEPULSE_LAUNCH_PULSE:
		return !width || data ? -EINVAL : 0;
	default:
		return -EINVAL;
	}
}

/**
 * litepulse_entry_check - whether the queue of a core can take an entry, whatever its tick is
 * @entry: what; its profile is checked for a wait only
 * @sequence: the core has waits and relative entries
 * @inputs: its capture inputs
 *
 * Return: 0, -EINVAL, or -EOPNOTSUPP if only a core with @sequence can take it.
 */
int litepulse_entry_check(const struct litepulse_launch *entry, bool sequence, unsigned int inputs)
{
	const bool wait = litepulse_entry_is_wait(entry);

	if (entry->flags & ~LITEPULSE_LAUNCH_RELATIVE ||
	    memchr_inv(entry->reserved, 0, sizeof(entry->reserved)))
		return -EINVAL;
	if (!sequence && (wait || litepulse_entry_is_relative(entry)))
		return -EOPNOTSUPP;
	if (!wait)
		return litepulse_entry_check_sent(entry->kind, entry->data, entry->width);
	/* Channel number @inputs is the line. */
	return entry->width || entry->profile ||
	       FIELD_GET(LITEPULSE_WAIT_ENTRY_CHANNEL_MASK, entry->data) > inputs ? -EINVAL : 0;
}

/**
 * litepulse_entry_check_tick - whether the tick of an entry is in order and has not passed
 * @entry: what
 * @last: litepulse_entry_last() of the one before
 * @now: tick of the board
 *
 * The board alone knows when a relative entry happens, and checks it.
 *
 * Return: 0, -EINVAL if it is before @last, or -ETIME.
 */
int litepulse_entry_check_tick(const struct litepulse_launch *entry, u64 last, u64 now)
{
	if (litepulse_entry_is_relative(entry))
		return 0;
	if (entry->tick < last)
		return -EINVAL;
	return entry->tick <= now ? -ETIME : 0;
}

/**
 * litepulse_entry_last - what the tick of the next entry must not be less than
 * @entry: the one before it
 *
 * Return: its tick; 0 if that is not known, as of a relative entry, or of a wait, which may end
 * sooner.
 */
u64 litepulse_entry_last(const struct litepulse_launch *entry)
{
	if (litepulse_entry_is_relative(entry) || litepulse_entry_is_wait(entry))
		return 0;
	return entry->tick;
}

/**
 * litepulse_entry_stops - whether an entry may stop the queue, which then refuses all until a flush
 * @entry: what
 */
bool litepulse_entry_stops(const struct litepulse_launch *entry)
{
	return litepulse_entry_is_wait(entry) && entry->data & LITEPULSE_WAIT_STOP;
}

/**
 * litepulse_entry_word - what happens, as the queue, the train and the responder have it
 * @kind: LITEPULSE_LAUNCH_*
 * @profile: line profile
 * @data: of a frame, a break or a wait
 *
 * Return: the word of the core.
 */
u32 litepulse_entry_word(u8 kind, u8 profile, u8 data)
{
	return FIELD_PREP(LITEPULSE_LAUNCH_LAUNCH_KIND_MASK, kind) |
	       FIELD_PREP(LITEPULSE_LAUNCH_LAUNCH_PROFILE_MASK, profile) |
	       FIELD_PREP(LITEPULSE_LAUNCH_LAUNCH_DATA_MASK, data);
}

/**
 * litepulse_entry_put - the words of an entry, as a transport takes them
 * @entry: one that was checked
 * @words: set to them
 */
void litepulse_entry_put(const struct litepulse_launch *entry, u32 words[LITEPULSE_ENTRY_WORDS])
{
	words[0] = lower_32_bits(entry->tick);
	words[1] = upper_32_bits(entry->tick);
	words[2] = entry->width;
	words[3] = litepulse_entry_word(entry->kind, entry->profile, entry->data) |
		   FIELD_PREP(LITEPULSE_LAUNCH_LAUNCH_TAG_MASK, entry->tag);
	if (litepulse_entry_is_relative(entry))
		words[3] |= LITEPULSE_LAUNCH_LAUNCH_RELATIVE_MASK;
}
