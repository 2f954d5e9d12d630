/* SPDX-License-Identifier: GPL-2.0-only */
/* Entries of the launch queue, as programs write them and as the core takes them. Pure. */
#ifndef LITEPULSE_ENTRY_H
#define LITEPULSE_ENTRY_H

#include <linux/types.h>

#include "uapi/linux/litepulse.h"

/* Words of an entry, as a transport takes them. */
#define LITEPULSE_ENTRY_WORDS 4

int litepulse_entry_check_sent(u8 kind, u8 data, u32 width);
int litepulse_entry_check(const struct litepulse_launch *entry, bool sequence, unsigned int inputs);
int litepulse_entry_check_tick(const struct litepulse_launch *entry, u64 last, u64 now);
u64 litepulse_entry_last(const struct litepulse_launch *entry);
bool litepulse_entry_stops(const struct litepulse_launch *entry);
u32 litepulse_entry_word(u8 kind, u8 profile, u8 data);
void litepulse_entry_put(const struct litepulse_launch *entry, u32 words[LITEPULSE_ENTRY_WORDS]);

#endif /* LITEPULSE_ENTRY_H */
