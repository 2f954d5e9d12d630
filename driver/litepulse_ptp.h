/* SPDX-License-Identifier: GPL-2.0-only */
/* The timebase as a PTP hardware clock. */
#ifndef LITEPULSE_PTP_H
#define LITEPULSE_PTP_H

#include "litepulse.h"

#if IS_ENABLED(CONFIG_LITEPULSE_PTP)
int litepulse_ptp_add(struct litepulse *lp);
void litepulse_ptp_remove(struct litepulse *lp);
int litepulse_ptp_index(struct litepulse *lp);
int litepulse_ptp_tick(struct litepulse *lp, u64 ns, u64 *tick);
int litepulse_ptp_follow(struct litepulse *lp, struct litepulse_claimant *claimant,
			 struct litepulse_train_follow *follow);
void litepulse_ptp_restart_clock(struct litepulse *lp, const struct litepulse_header *now);
void litepulse_ptp_restarted(struct litepulse *lp);
void litepulse_ptp_suspend(struct litepulse *lp);
void litepulse_ptp_resume(struct litepulse *lp);
#else
static inline int litepulse_ptp_add(struct litepulse *lp)
{
	return 0;
}

static inline void litepulse_ptp_remove(struct litepulse *lp)
{
}

static inline int litepulse_ptp_index(struct litepulse *lp)
{
	return -1;
}

static inline int litepulse_ptp_tick(struct litepulse *lp, u64 ns, u64 *tick)
{
	return -EOPNOTSUPP;
}

static inline int litepulse_ptp_follow(struct litepulse *lp, struct litepulse_claimant *claimant,
				       struct litepulse_train_follow *follow)
{
	return -EOPNOTSUPP;
}

static inline void litepulse_ptp_restart_clock(struct litepulse *lp,
					       const struct litepulse_header *now)
{
}

static inline void litepulse_ptp_restarted(struct litepulse *lp)
{
}

static inline void litepulse_ptp_suspend(struct litepulse *lp)
{
}

static inline void litepulse_ptp_resume(struct litepulse *lp)
{
}
#endif

#endif /* LITEPULSE_PTP_H */
