/* SPDX-License-Identifier: GPL-2.0-only */
/* Entries of the core's LIN slave; under claim.mutex. */
#ifndef LITEPULSE_TABLE_H
#define LITEPULSE_TABLE_H

#include "litepulse.h"

int litepulse_table_write(struct litepulse *lp, struct litepulse_claimant *claimant,
			  const struct litepulse_lin_entry *entries, unsigned int count);
int litepulse_table_clear(struct litepulse *lp);

#endif /* LITEPULSE_TABLE_H */
