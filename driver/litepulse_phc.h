/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The time of a PTP clock as a function of ticks, and a train that keeps to it. Pure: no hardware.
 *
 * Why not timecounter:
 * - Ticks and nanoseconds are a fraction of 32-bit numbers here, and no rounding adds up. With
 *   timecounter's rounded factor the pulses of PEROUT, whose period is a fraction of ticks, would
 *   drift from the clock.
 * - timecounter has to be read before its product overflows. Nothing has to be read in time here.
 * - An event may be older than the latest adjustment, which must not change its time. The clock
 *   keeps earlier functions for that; timecounter has only the present one.
 */
#ifndef LITEPULSE_PHC_H
#define LITEPULSE_PHC_H

#include <linux/limits.h>
#include <linux/types.h>

struct litepulse_rate;

/* The clock can be made this much faster or slower, in 10^-9 of its rate. */
#define LITEPULSE_PHC_MAX_ADJ	100000000

/**
 * struct litepulse_phc - what the clock shows, from one adjustment to the next
 * @tick: tick of the latest adjustment
 * @ns: what it shows at @tick, whole ns
 * @frac: what it shows beyond @ns, in units of 1 / @div ns
 * @mul: a tick takes @mul / @div ns
 * @div: the same whatever the rate; not 0
 * @nominal: @mul of the unadjusted clock
 * @changes: how often @mul has changed, modulo 2^32
 */
struct litepulse_phc {
	u64 tick;
	u64 ns;
	u32 frac;
	u32 mul;
	u32 div;
	u32 nominal;
	u32 changes;
};

/* Most pulses of a rhythm: sums of products with them have 64 bits. */
#define LITEPULSE_PHC_PULSES_MAX	S32_MAX

/**
 * struct litepulse_phc_rhythm - times of the clock: @origin + n * @span / @pulses, exactly
 * @origin: ns
 * @span: ns, at least @pulses
 * @pulses: 1 to LITEPULSE_PHC_PULSES_MAX
 */
struct litepulse_phc_rhythm {
	u64 origin;
	u64 span;
	u32 pulses;
};

/**
 * struct litepulse_phc_train - a train as the core runs it
 * @rhythm: the times of its pulses
 * @skipped: pulse 0 is at time number @skipped of @rhythm
 * @start: tick of pulse 0
 * @pulse: since this pulse its rate is the present one
 * @tick: this pulse is at @tick + @num / @den
 * @num: less than @den
 * @period: whole ticks
 * @period_num: and @period_num / @den of a tick
 * @den: the period is exactly that of the clock, unless @drifts
 * @changes: litepulse_phc.changes for which it was worked out
 * @drifts: the exact period has no denominator of 32 bits: it is up to 2^-31 ticks off
 */
struct litepulse_phc_train {
	struct litepulse_phc_rhythm rhythm;
	u64 skipped;
	u64 start;
	u64 pulse;
	u64 tick;
	u32 num;
	u32 period;
	u32 period_num;
	u32 den;
	u32 changes;
	bool drifts;
};

/**
 * struct litepulse_phc_change - how a train gets a new rate
 * @pulse: the first one at its new place
 * @step: ticks by which it is moved beside
 * @then: the train as it is from then on
 */
struct litepulse_phc_change {
	u64 pulse;
	s32 step;
	struct litepulse_phc_train then;
};

int litepulse_phc_init(struct litepulse_phc *phc, const struct litepulse_rate *rate,
		       u64 tick, u64 ns);
u64 litepulse_phc_ns(const struct litepulse_phc *phc, u64 tick);
u64 litepulse_phc_tick(const struct litepulse_phc *phc, u64 ns, u32 *num);
void litepulse_phc_move(struct litepulse_phc *phc, u64 tick);
void litepulse_phc_adjust(struct litepulse_phc *phc, s64 scaled_ppm);

u64 litepulse_phc_time(const struct litepulse_phc_rhythm *rhythm, u64 number, u32 *part);
int litepulse_phc_train_init(struct litepulse_phc_train *train, const struct litepulse_phc *phc,
			     const struct litepulse_phc_rhythm *rhythm, u64 from);
u64 litepulse_phc_train_place(const struct litepulse_phc_train *train, u64 pulse, u32 *num);
bool litepulse_phc_train_follows(const struct litepulse_phc_train *train,
				 const struct litepulse_phc *phc, u64 tick);
int litepulse_phc_train_change(const struct litepulse_phc_train *train,
			       const struct litepulse_phc *phc, u64 from,
			       struct litepulse_phc_change *change);

#endif /* LITEPULSE_PHC_H */
