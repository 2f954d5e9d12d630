/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What another module of the kernel can do with a core: get its events, and use its line
 *
 * It binds a platform driver to LITEPULSE_CONSUMER_DEVICE, which is below each core's device and is
 * removed before the core goes. Its platform data is the struct litepulse * of the calls here.
 *
 * Events: fill in a struct litepulse_sink (@want, @put, @done) and subscribe it. @put gets bytes
 * and edges with their ticks, and their time by @want.clock, in the interrupt if the core is
 * mapped.
 *
 * Line: who holds the claim has queue, train and responder, as a program would, and line profile 0;
 * the tty cannot be opened meanwhile, as its profile is the receiver's. All calls but
 * litepulse_output_answer() may sleep. litepulse_time.h converts ticks at litepulse.rate.
 */
#ifndef LITEPULSE_CONSUMER_H
#define LITEPULSE_CONSUMER_H

#include "litepulse_output.h"
#include "litepulse_ptp.h"
#include "litepulse_sink.h"

#define LITEPULSE_CONSUMER_DEVICE "litepulse-lin"

#if IS_ENABLED(CONFIG_LITEPULSE_CONSUMER)
int litepulse_consumer_add(struct litepulse *lp);
void litepulse_consumer_remove(struct litepulse *lp);
#else
static inline int litepulse_consumer_add(struct litepulse *lp)
{
	return 0;
}

static inline void litepulse_consumer_remove(struct litepulse *lp)
{
}
#endif

#define LITEPULSE_CONSUMER_LAUNCHES 12
int litepulse_consumer_claim(struct litepulse *lp, struct litepulse_claimant *claimant, u64 period,
			     bool loopback);
void litepulse_consumer_release(struct litepulse *lp, struct litepulse_claimant *claimant);
int litepulse_consumer_renew(struct litepulse *lp, struct litepulse_claimant *claimant);
int litepulse_consumer_launch(struct litepulse *lp, struct litepulse_claimant *claimant,
			      const struct litepulse_launch *launches, unsigned int count,
			      bool *flushed);
int litepulse_consumer_lin_entries(struct litepulse *lp, struct litepulse_claimant *claimant,
				   const struct litepulse_lin_entry *entries, unsigned int count);
int litepulse_consumer_lin_arm(struct litepulse *lp, struct litepulse_claimant *claimant,
			       u32 space);
int litepulse_consumer_subscribe(struct litepulse *lp, struct litepulse_sink *sink);
void litepulse_consumer_unsubscribe(struct litepulse *lp, struct litepulse_sink *sink);
int litepulse_consumer_now(struct litepulse *lp, u64 *tick);
int litepulse_consumer_seen(struct litepulse *lp, u64 *tick);
int litepulse_consumer_time(struct litepulse *lp, struct litepulse_time *time);

#endif /* LITEPULSE_CONSUMER_H */
