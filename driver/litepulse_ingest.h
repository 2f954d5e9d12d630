/* SPDX-License-Identifier: GPL-2.0-only */
/* From a transport's records to sinks. */
#ifndef LITEPULSE_INGEST_H
#define LITEPULSE_INGEST_H

#include "litepulse.h"

/* What a transport hands over goes here. */
extern const struct litepulse_take_ops litepulse_ingest_ops;

int litepulse_ingest_start(struct litepulse *lp);
int litepulse_ingest_resume(struct litepulse *lp);
void litepulse_ingest_report_restart(struct litepulse *lp, const struct litepulse_header *now,
				     unsigned int why);

#endif /* LITEPULSE_INGEST_H */
