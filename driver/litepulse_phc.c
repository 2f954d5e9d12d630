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

/* --- trains --- */

/**
 * litepulse_phc_time - a time of a rhythm
 * @rhythm: which
 * @number: of the time
 * @part: answer: that is @part / @rhythm->pulses ns after the ns returned
 */
u64 litepulse_phc_time(const struct litepulse_phc_rhythm *rhythm, u64 number, u32 *part)
{
	u32 left;
	u64 spans = div_u64_rem(number, rhythm->pulses, &left);

	return rhythm->origin + spans * rhythm->span +
		litepulse_mul_div(rhythm->span, left, rhythm->pulses, part);
}

/* The number of the first time that is not before @ns. */
static u64 litepulse_phc_number(const struct litepulse_phc_rhythm *rhythm, u64 ns)
{
	u32 low = 0, high = rhythm->pulses, middle;
	u64 spans, behind;

	if (ns <= rhythm->origin)
		return 0;
	spans = div64_u64_rem(ns - rhythm->origin, rhythm->span, &behind);
	/* A product of 96 bits cannot be divided by 64: it is looked for. */
	while (low < high) {
		middle = low + (high - low) / 2;
		if (litepulse_mul_div(rhythm->span, middle, rhythm->pulses, NULL) < behind)
			low = middle + 1;
		else
			high = middle;
	}
	return spans * rhythm->pulses + low;
}

/* Ticks that are @num / phc->mul and @part / @pulses ns: whole ones, and @rest / (mul * pulses). */
static u64 litepulse_phc_add_part(const struct litepulse_phc *phc, u32 num, u32 part, u32 pulses,
				  u64 *rest)
{
	/* Each product is below 2^63, as @pulses is below 2^31. */
	const u64 sum = (u64)num * pulses + (u64)part * phc->div;

	return div64_u64_rem(sum, (u64)phc->mul * pulses, rest);
}

/* When a time of a rhythm is, exactly: @rest / (mul * pulses) of a tick after the tick returned. */
static u64 litepulse_phc_moment(const struct litepulse_phc *phc,
				const struct litepulse_phc_rhythm *rhythm, u64 number, u64 *rest)
{
	u32 num, part;
	u64 tick = litepulse_phc_tick(phc, litepulse_phc_time(rhythm, number, &part), &num);

	return tick + litepulse_phc_add_part(phc, num, part, rhythm->pulses, rest);
}

/* Binary digits of a fraction whose own denominator has more than 32 bits. */
#define DIGITS		31
#define DIGITS_DEN	BIT(DIGITS)
/* It is renewed after so many pulses, which is long before it is half a tick off. */
#define DRIFT_SHIFT	(DIGITS - 2)

/* @num / @den in units of 1 / DIGITS_DEN, rounded down; @den is at most 2^63. */
static u32 litepulse_phc_digits(u64 num, u64 den)
{
	unsigned int digit;
	u32 digits = 0;

	for (digit = 0; digit < DIGITS; digit++) {
		num <<= 1;
		digits <<= 1;
		if (num >= den) {
			num -= den;
			digits |= 1;
		}
	}
	return digits;
}

static u64 litepulse_phc_gcd(u64 a, u64 b)
{
	u64 rest;

	/* gcd() has unsigned long, which is too short on 32 bit. */
	while (b) {
		div64_u64_rem(a, b, &rest);
		a = b;
		b = rest;
	}
	return a;
}

/*
 * The period of the rhythm in ticks: exactly, or rounded down if the core has no such fraction.
 * -ERANGE if it has no such period.
 */
static int litepulse_phc_set_period(struct litepulse_phc_train *train,
				    const struct litepulse_phc *phc)
{
	const struct litepulse_phc_rhythm *rhythm = &train->rhythm;
	u64 den = (u64)phc->mul * rhythm->pulses, common, whole, rest;
	u32 part, num;

	whole = div_u64_rem(rhythm->span, rhythm->pulses, &part);
	whole = litepulse_mul_div(whole, phc->div, phc->mul, &num);
	if (whole > PERIOD_MAX)
		return -ERANGE;
	whole += litepulse_phc_add_part(phc, num, part, rhythm->pulses, &rest);
	if (whole > PERIOD_MAX)
		return -ERANGE;
	common = den > U32_MAX ? litepulse_phc_gcd(den, rest) : 1;
	train->period = whole;
	train->changes = phc->changes;
	train->drifts = div64_u64(den, common) > U32_MAX;
	train->den = train->drifts ? DIGITS_DEN : div64_u64(den, common);
	train->period_num = train->drifts ? litepulse_phc_digits(rest, den) :
					    div64_u64(rest, common);
	return 0;
}

/*
 * A period that was rounded down makes pulses come earlier and earlier. So it is rounded up if this
 * one, which is at most a tick after its moment, is less than half a tick after it: for as long as
 * the period lasts none leaves the tick.
 */
static void litepulse_phc_round_period(struct litepulse_phc_train *train, u32 after)
{
	if (!train->drifts || after >= DIGITS_DEN / 2)
		return;
	if (++train->period_num < DIGITS_DEN)
		return;
	train->period_num = 0;
	train->period++;
}

/**
 * litepulse_phc_train_init - the train whose pulses come when the clock shows times of a rhythm
 * @train: what is filled in
 * @phc: clock
 * @rhythm: pulse 0 is the first of its times that is neither before its origin nor before @from
 * @from: a tick that is not before @phc->tick
 *
 * Each pulse is less than a tick from the instant at which the clock shows its time.
 * Return: 0, or -ERANGE if the core has no such period or the time does not fit in 64 bits.
 */
int litepulse_phc_train_init(struct litepulse_phc_train *train, const struct litepulse_phc *phc,
			     const struct litepulse_phc_rhythm *rhythm, u64 from)
{
	u64 earliest = litepulse_phc_ns(phc, from), rest;
	u32 part;

	*train = (struct litepulse_phc_train){ .rhythm = *rhythm };
	if (!rhythm->pulses || rhythm->pulses > LITEPULSE_PHC_PULSES_MAX ||
	    rhythm->span < rhythm->pulses || litepulse_phc_set_period(train, phc))
		return -ERANGE;
	train->skipped = litepulse_phc_number(rhythm, earliest);
	if (litepulse_phc_time(rhythm, train->skipped, &part) < earliest)
		return -ERANGE;
	train->tick = litepulse_phc_moment(phc, rhythm, train->skipped, &rest);
	part = 0;
	if (rest)
		part = DIGITS_DEN - 1 -
			litepulse_phc_digits(rest, (u64)phc->mul * rhythm->pulses);
	litepulse_phc_round_period(train, part);
	train->tick += !!rest;
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
 * @tick: now
 *
 * A rate that was another one meanwhile has left the pulses beside their times. So has, after very
 * many pulses, a period that is not exact.
 */
bool litepulse_phc_train_follows(const struct litepulse_phc_train *train,
				 const struct litepulse_phc *phc, u64 tick)
{
	return train->changes == phc->changes &&
	       (!train->drifts || tick < train->tick ||
		(tick - train->tick) >> DRIFT_SHIFT < train->period);
}

/*
 * The fraction of the changed pulse. The core adds that of the period to @num of the pulse before,
 * which it forgets if the denominator is another one. Return: the whole tick that comes of that.
 */
static u32 litepulse_phc_fraction_of(const struct litepulse_phc_train *train,
				     struct litepulse_phc_train *then, u32 num)
{
	u64 sum = (u64)then->period_num + (then->den == train->den ? num : 0);
	u32 carry = sum >= then->den;

	then->num = sum - (carry ? then->den : 0);
	return carry;
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
	u64 den = (u64)phc->mul * train->rhythm.pulses, pulse, last, was, rest;
	u32 num, digits, carry;
	unsigned int later;
	s64 moved, step;

	*then = *train;
	if (litepulse_phc_set_period(then, phc))
		return -ERANGE;
	pulse = litepulse_phc_number(&train->rhythm, litepulse_phc_ns(phc, from));
	pulse = max(pulse, train->skipped + train->pulse) - train->skipped;
	/* The place of the one before must be known; number 0 has another meaning to the core. */
	for (later = 0; pulse <= train->pulse || !(u32)pulse ||
	     litepulse_phc_train_place(train, pulse, &num) < from; pulse++)
		if (++later > LATER_MAX)
			return -ERANGE;
	was = litepulse_phc_train_place(train, pulse, &num);
	last = litepulse_phc_train_place(train, pulse - 1, &num);
	/* Whole ticks are to do what the core's fraction does not. */
	then->tick = litepulse_phc_moment(phc, &train->rhythm, train->skipped + pulse, &rest);
	if (then->drifts) {
		digits = litepulse_phc_digits(rest, den);
		litepulse_phc_fraction_of(train, then, num);
		litepulse_phc_round_period(then, (then->num - digits) & (DIGITS_DEN - 1));
		carry = litepulse_phc_fraction_of(train, then, num);
		then->tick += digits >= then->num;
	} else {
		carry = litepulse_phc_fraction_of(train, then, num);
		then->tick += rest > then->num * div_u64(den, then->den);
	}
	then->pulse = pulse;
	moved = then->tick - was;
	step = then->tick - last - then->period - carry;
	if (abs(moved) > train->period / MOVE_MAX || step != (s32)step)
		return -ERANGE;
	change->pulse = pulse;
	change->step = step;
	return 0;
}
