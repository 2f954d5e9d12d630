// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packed answers of a board's serial bridge
 *
 * Records differ little from the record before, so a byte that equals the one 16 bytes before it is
 * not sent: docs/bridge.md.
 */
#include <linux/math.h>

#include "litepulse_packed.h"

/**
 * litepulse_packed_groups() - number of groups in a packed answer
 * @words: 32-bit words in the answer
 *
 * Return: how many masks the answer has.
 */
unsigned int litepulse_packed_groups(unsigned int words)
{
	return DIV_ROUND_UP(4 * words, LITEPULSE_PACKED_GROUP);
}

/**
 * litepulse_packed_unpack() - restore the words of a packed answer
 * @packed: masks and bytes, at least as many as the masks say
 * @words: the words, in the machine's order
 * @count: of words
 *
 * Return: true, or false if a mask names bytes beyond the last word.
 */
bool litepulse_packed_unpack(const u8 *packed, u32 *words, unsigned int count)
{
	u8 history[LITEPULSE_PACKED_PERIOD] = {}, mask = 0;
	unsigned int at;

	for (at = 0; at < 4 * count; at++, mask >>= 1) {
		u8 *byte = &history[at % LITEPULSE_PACKED_PERIOD];

		if (at % LITEPULSE_PACKED_GROUP == 0)
			mask = *packed++;
		if (mask & 1)
			*byte = *packed++;
		words[at / 4] = words[at / 4] << 8 | *byte;
	}
	return !mask;
}
