// SPDX-License-Identifier: GPL-2.0-only
/* The time of a PTP clock as a function of ticks, and a train that keeps to it. */
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>

#include "litepulse_phc.h"
#include "litepulse_time.h"

/* Longest period of the core's train, in ticks. */
#define PERIOD_MAX	(U32_MAX - 1)
/* A change that moves pulses by more than this part of a period is no change of rate. */
#define MOVE_MAX	8
/* The same for its number: this many pulses later than the clock's new time requires. */
#define LATER_MAX	16

/**
 * litepulse_phc_init - a clock at its nominal rate
 * @phc: what is filled in
 * @rate: of the ticks
 * @tick: at which it shows @ns
 * @ns: ns
 *
 * Return: 0, or -ERANGE if the length of a tick leaves no room for adjustments.
 */
int litepulse_phc_init(struct litepulse_phc *phc, const struct litepulse_rate *rate,
		       u64 tick, u64 ns)
{
	/* As large as adjustments allow: 1 / mul, the finest of them, is below 10^-9. */
	u32 room = U32_MAX - U32_MAX / (NSEC_PER_SEC / LITEPULSE_PHC_MAX_ADJ + 1) - 1;
	u32 factor = min(room / rate->ns_mul, U32_MAX / rate->ns_div);

	if (!factor)
		return -ERANGE;
	*phc = (struct litepulse_phc) {
		.tick = tick, .ns = ns, .mul = rate->ns_mul * factor, .div = rate->ns_div * factor,
	};
	phc->nominal = phc->mul;
	return 0;
}

/**
 * litepulse_phc_ns - what the clock shows at a tick, rounded down
 * @phc: clock
 * @tick: before or after its latest adjustment, as if that had always been
 */
u64 litepulse_phc_ns(const struct litepulse_phc *phc, u64 tick)
{
	s64 since = tick - phc->tick;
	u64 whole;
	u32 rest;

	if (since < 0) {
		whole = litepulse_mul_div(-(u64)since, phc->mul, phc->div, &rest);
		return phc->ns - whole - (rest > phc->frac);
	}
	whole = litepulse_mul_div(since, phc->mul, phc->div, &rest);
	return phc->ns + whole + ((u64)rest + phc->frac >= phc->div);
}

/**
 * litepulse_phc_tick - when the clock shows a time
 * @phc: clock
 * @ns: the time, not before @phc->ns
 * @num: answer: that is @num / @phc->mul ticks after the tick returned
 */
u64 litepulse_phc_tick(const struct litepulse_phc *phc, u64 ns, u32 *num)
{
	u64 whole = litepulse_mul_div(ns - phc->ns, phc->div, phc->mul, num), rest = *num;

	for (; rest < phc->frac; whole--)
		rest += phc->mul;
	*num = rest - phc->frac;
	return phc->tick + whole;
}

/**
 * litepulse_phc_move - from now on counted from another tick; what it shows stays the same
 * @phc: clock
 * @tick: not before @phc->tick
 */
void litepulse_phc_move(struct litepulse_phc *phc, u64 tick)
{
	u64 whole, frac;
	u32 rest;

	whole = litepulse_mul_div(tick - phc->tick, phc->mul, phc->div, &rest);
	frac = (u64)rest + phc->frac;
	if (frac >= phc->div) {
		frac -= phc->div;
		whole++;
	}
	phc->tick = tick;
	phc->ns += whole;
	phc->frac = frac;
}

/**
 * litepulse_phc_adjust - another rate from @phc->tick on
 * @phc: clock
 * @scaled_ppm: off the nominal rate, 2^-16 ppm; at most LITEPULSE_PHC_MAX_ADJ
 */
void litepulse_phc_adjust(struct litepulse_phc *phc, s64 scaled_ppm)
{
	/* 10^6 * 2^16 = 15625 * 2^22 */
	u64 off = litepulse_mul_div(abs(scaled_ppm), phc->nominal, 15625, NULL);
	u32 mul;

	off = (off + BIT_ULL(21)) >> 22;
	mul = scaled_ppm < 0 ? phc->nominal - off : phc->nominal + off;
	phc->changes += mul != phc->mul;
	phc->mul = mul;
}

/* A period of the clock in ticks, exactly; den is phc->mul. */
static int litepulse_phc_period_of(const struct litepulse_phc *phc, u64 period_ns, u32 *period,
				   u32 *num)
{
	u64 whole;

	whole = litepulse_mul_div(period_ns, phc->div, phc->mul, num);
	if (whole > PERIOD_MAX)
		return -ERANGE;
	*period = whole;
	return 0;
}

/**
 * litepulse_phc_train_init - the train whose pulses come when the clock shows origin + k periods
 * @train: what is filled in
 * @phc: clock
 * @origin: pulse 0 is the first of these times that is neither before it nor before @from
 * @period_ns: not 0
 * @from: a tick that is not before @phc->tick
 *
 * Each pulse is less than a tick from the instant at which the clock shows its time.
 * Return: 0, or -ERANGE if the core has no such period or the time does not fit in 64 bits.
 */
int litepulse_phc_train_init(struct litepulse_phc_train *train, const struct litepulse_phc *phc,
			     u64 origin, u64 period_ns, u64 from)
{
	u64 earliest = litepulse_phc_ns(phc, from), first = origin, behind;
	u32 num;

	*train = (struct litepulse_phc_train) {
		.period_ns = period_ns, .den = phc->mul, .changes = phc->changes,
	};
	if (litepulse_phc_period_of(phc, period_ns, &train->period, &train->period_num))
		return -ERANGE;
	if (first < earliest) {
		div64_u64_rem(earliest - origin, period_ns, &behind);
		first = earliest + (behind ? period_ns - behind : 0);
	}
	if (first < earliest)
		return -ERANGE;
	train->first = first;
	train->tick = litepulse_phc_tick(phc, first, &num);
	if (num)
		train->tick++;
	train->start = train->tick;
	return 0;
}

/**
 * litepulse_phc_train_place - where a pulse of the train is
 * @train: train
 * @pulse: not before the latest change
 * @num: answer: fraction of a tick behind the returned tick, in units of 1 / @train->den
 */
u64 litepulse_phc_train_place(const struct litepulse_phc_train *train, u64 pulse, u32 *num)
{
	u64 count = pulse - train->pulse, tick, rest;

	tick = litepulse_mul_div(count, train->period_num, train->den, num);
	tick += train->tick + count * train->period;
	rest = (u64)*num + train->num;
	if (rest >= train->den) {
		rest -= train->den;
		tick++;
	}
	*num = rest;
	return tick;
}

/**
 * litepulse_phc_train_follows - whether the clock's rate is that of the train, and was so since
 * @train: train
 * @phc: clock
 *
 * A rate that was another one meanwhile has left the pulses beside their times.
 */
bool litepulse_phc_train_follows(const struct litepulse_phc_train *train,
				 const struct litepulse_phc *phc)
{
	return train->changes == phc->changes;
}

/**
 * litepulse_phc_train_change - how a train follows a clock whose rate has changed
 * @train: as it runs
 * @phc: the clock as it is now
 * @from: pulses before this tick stay; after @train->start and not before @phc->tick
 * @change: answer
 *
 * From the changed pulse on all are where litepulse_phc_train_init() says.
 * Return: 0, or -ERANGE if that is too far from where they are: the train has to start again then.
 */
int litepulse_phc_train_change(const struct litepulse_phc_train *train,
			       const struct litepulse_phc *phc, u64 from,
			       struct litepulse_phc_change *change)
{
	struct litepulse_phc_train *then = &change->then;
	u64 earliest = litepulse_phc_ns(phc, from), pulse, last, was;
	unsigned int later;
	s64 moved, step;
	u32 num;

	*then = *train;
	then->den = phc->mul;
	then->changes = phc->changes;
	if (litepulse_phc_period_of(phc, train->period_ns, &then->period, &then->period_num))
		return -ERANGE;
	pulse = train->pulse;
	if (earliest > train->first)
		pulse = max(pulse, DIV64_U64_ROUND_UP(earliest - train->first, train->period_ns));
	/* The place of the one before must be known; number 0 has another meaning to the core. */
	for (later = 0; pulse <= train->pulse || !(u32)pulse ||
	     litepulse_phc_train_place(train, pulse, &num) < from; pulse++)
		if (++later > LATER_MAX)
			return -ERANGE;
	last = litepulse_phc_train_place(train, pulse - 1, &num);
	was = litepulse_phc_train_place(train, pulse, &num);
	/* The core sets the fraction to that of the period: the whole ticks are to do the rest. */
	then->tick = litepulse_phc_tick(phc, train->first + pulse * train->period_ns, &num);
	if (num > then->period_num)
		then->tick++;
	then->num = then->period_num;
	then->pulse = pulse;
	moved = then->tick - was;
	step = then->tick - last - then->period;
	if (abs(moved) > train->period / MOVE_MAX || step != (s32)step)
		return -ERANGE;
	change->pulse = pulse;
	change->step = step;
	return 0;
}
