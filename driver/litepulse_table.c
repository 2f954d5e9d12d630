// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table of the core's LIN slave: which identifiers it answers, and how
 *
 * All are called with claim.mutex and gone_sem held, from processes.
 */
#include <linux/bitfield.h>
#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "litepulse_compat.h"
#include "litepulse_table.h"

/* Words of an entry that answers; one that does not needs the last of them only. */
#define ENTRY_WORDS 3
/* Entries handed to the transport at a time. */
#define BATCH 8

static int litepulse_table_check_entry(const struct litepulse *lp,
				       const struct litepulse_lin_entry *entry)
{
	const u32 known = LITEPULSE_LIN_ENTRY_ENHANCED | LITEPULSE_LIN_ENTRY_ONCE |
		LITEPULSE_LIN_ENTRY_OWN_CHECKSUM;

	if (entry->id >= LITEPULSE_LIN_IDS || entry->length > sizeof(entry->data) ||
	    entry->reserved || entry->flags & ~known ||
	    memchr_inv(entry->data + entry->length, 0, sizeof(entry->data) - entry->length) ||
	    (!entry->length && (entry->flags || entry->checksum)))
		return -EINVAL;
	return entry->id < lp->lin_entries ? 0 : -EOPNOTSUPP;
}

static unsigned int litepulse_table_entry_words(const struct litepulse_lin_entry *entry,
						struct litepulse_word *words)
{
	unsigned int count = 0;

	if (entry->length) {
		words[count++] = (struct litepulse_word){ LITEPULSE_CFG_LIN_DATA_LO,
							  get_unaligned_le32(entry->data) };
		words[count++] = (struct litepulse_word){ LITEPULSE_CFG_LIN_DATA_HI,
							  get_unaligned_le32(entry->data + 4) };
	}
	words[count++] = (struct litepulse_word){
		LITEPULSE_CFG_LIN_ENTRY,
		FIELD_PREP(LITEPULSE_CFG_LIN_ENTRY_ID_MASK, entry->id) |
			FIELD_PREP(LITEPULSE_CFG_LIN_ENTRY_LENGTH_MASK, entry->length) |
			FIELD_PREP(LITEPULSE_CFG_LIN_ENTRY_ENHANCED_MASK,
				   entry->flags & LITEPULSE_LIN_ENTRY_ENHANCED ? 1 : 0) |
			FIELD_PREP(LITEPULSE_CFG_LIN_ENTRY_ONCE_MASK,
				   entry->flags & LITEPULSE_LIN_ENTRY_ONCE ? 1 : 0) |
			FIELD_PREP(LITEPULSE_CFG_LIN_ENTRY_OWN_CHECKSUM_MASK,
				   entry->flags & LITEPULSE_LIN_ENTRY_OWN_CHECKSUM ? 1 : 0) |
			FIELD_PREP(LITEPULSE_CFG_LIN_ENTRY_CHECKSUM_MASK, entry->checksum)
	};
	return count;
}

static int litepulse_table_write_batch(struct litepulse *lp,
				       const struct litepulse_lin_entry *entries,
				       unsigned int count)
{
	struct litepulse_word words[BATCH * ENTRY_WORDS];
	unsigned int used = 0, i;
	u64 off = 0;
	int error;

	lockdep_assert_held(&lp->claim.mutex);
	for (i = 0; i < count; i++) {
		used += litepulse_table_entry_words(&entries[i], words + used);
		/* If the transport fails it may have been written, or not: both may answer. */
		if (entries[i].length)
			lp->claim.lin_answers |= BIT_ULL(entries[i].id);
	}
	error = litepulse_board_configure(lp, words, used);
	if (error)
		return error;
	for (i = 0; i < count; i++) {
		if (entries[i].length)
			off &= ~BIT_ULL(entries[i].id);
		else
			off |= BIT_ULL(entries[i].id);
	}
	lp->claim.lin_answers &= ~off;
	return 0;
}

/**
 * litepulse_table_write - writes entries, each whole
 * @lp: device
 * @claimant: holder of the claim
 * @entries: in order
 * @count: how many
 *
 * Return: 0; nothing was written: -EINVAL, -EOPNOTSUPP if the core has no such entry, -ESTALE; or
 * an error of the transport.
 */
int litepulse_table_write(struct litepulse *lp, struct litepulse_claimant *claimant,
			  const struct litepulse_lin_entry *entries, unsigned int count)
{
	unsigned int i;
	int error = 0;

	lockdep_assert_held(&lp->claim.mutex);
	for (i = 0; !error && i < count; i++)
		error = litepulse_table_check_entry(lp, &entries[i]);
	error = error ?: litepulse_board_usable(lp, claimant);
	for (i = 0; !error && i < count; i += BATCH)
		error = litepulse_table_write_batch(lp, entries + i,
						    min_t(unsigned int, count - i, BATCH));
	return error;
}

/**
 * litepulse_table_clear - switches all entries off
 * @lp: device, whose claim.mutex is held
 *
 * Return: 0 or an error of the transport.
 */
int litepulse_table_clear(struct litepulse *lp)
{
	struct litepulse_lin_entry entries[BATCH];
	unsigned int count, id;
	int error = 0;
	u64 left;

	while (!error && lp->claim.lin_answers) {
		left = lp->claim.lin_answers;
		for (count = 0; left && count < BATCH; left &= left - 1) {
			id = __ffs64(left);
			entries[count++] = (struct litepulse_lin_entry){ .id = id };
		}
		error = litepulse_table_write_batch(lp, entries, count);
	}
	return error;
}
