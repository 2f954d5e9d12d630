/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The claim, and what its holder may do. All but litepulse_output_answer() are called by the
 * holder, under claim.mutex.
 */
#ifndef LITEPULSE_OUTPUT_H
#define LITEPULSE_OUTPUT_H

#include "litepulse.h"

int litepulse_output_claim(struct litepulse *lp, struct litepulse_claimant *claimant);
int litepulse_output_claim_idle(struct litepulse *lp, struct litepulse_claimant *claimant);
void litepulse_output_look_for_end(struct litepulse *lp);
void litepulse_output_unclaim(struct litepulse *lp, struct litepulse_claimant *claimant);
int litepulse_output_set_keep(struct litepulse *lp, struct litepulse_claimant *claimant, bool keep);
int litepulse_output_check_profile(struct litepulse *lp, unsigned int index);
int litepulse_output_set_profile(struct litepulse *lp, struct litepulse_claimant *claimant,
				 struct litepulse_profile *profile);
int litepulse_output_set_rest(struct litepulse *lp, struct litepulse_claimant *claimant,
			      const struct litepulse_rest *rest);
int litepulse_output_launch(struct litepulse *lp, struct litepulse_claimant *claimant,
			    const struct litepulse_launch *launches, unsigned int count);
int litepulse_output_answer(struct litepulse *lp, struct litepulse_claimant *claimant,
			    struct litepulse_launch *launch, u32 lead);
int litepulse_output_flush(struct litepulse *lp, struct litepulse_claimant *claimant);
bool litepulse_output_is_unknown(int error);
int litepulse_output_train_start(struct litepulse *lp, struct litepulse_claimant *claimant,
				 const struct litepulse_train *train);
int litepulse_output_train_start_changeable(struct litepulse *lp,
					    struct litepulse_claimant *claimant,
					    const struct litepulse_train *train);
int litepulse_output_train_adjust(struct litepulse *lp, struct litepulse_claimant *claimant,
				  const struct litepulse_train_adjust *adjust);
int litepulse_output_train_get(struct litepulse *lp, struct litepulse_train *train);
int litepulse_output_train_stop(struct litepulse *lp, struct litepulse_claimant *claimant,
				u32 *pulses);
int litepulse_output_break(struct litepulse *lp, u32 width, u64 *end);
int litepulse_output_set_responder(struct litepulse *lp, struct litepulse_claimant *claimant,
				   const struct litepulse_responder *responder);
int litepulse_output_set_port(struct litepulse *lp, struct litepulse_claimant *claimant,
			      const struct litepulse_port *port);
int litepulse_output_set_driver_enable(struct litepulse *lp, struct litepulse_claimant *claimant,
				       const struct litepulse_driver_enable *driver_enable);
int litepulse_output_stop(struct litepulse *lp);
int litepulse_output_suspend(struct litepulse *lp, bool *ended);
int litepulse_output_stop_owed(struct litepulse *lp);

#endif /* LITEPULSE_OUTPUT_H */
