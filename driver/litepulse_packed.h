/* SPDX-License-Identifier: GPL-2.0-only */
/* Packed answers of a board's serial bridge, in which bytes that repeat are left out. Pure. */
#ifndef LITEPULSE_PACKED_H
#define LITEPULSE_PACKED_H

#include <linux/types.h>

/* An answer is divided into groups of this size; each follows a mask of the bytes that are sent. */
#define LITEPULSE_PACKED_GROUP 8
/* How far before a byte is the one that it repeats if it is not sent. */
#define LITEPULSE_PACKED_PERIOD 16
/* What the bridge's checksum begins with for a packed answer. */
#define LITEPULSE_PACKED_CHECKSUM 0xfffe

unsigned int litepulse_packed_groups(unsigned int words);
bool litepulse_packed_unpack(const u8 *packed, u32 *words, unsigned int count);

#endif /* LITEPULSE_PACKED_H */
