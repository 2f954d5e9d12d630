// SPDX-License-Identifier: GPL-2.0-only
/* Ticks and what they are in nanoseconds, bit periods, ticks known by their low bits. */
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>

#include "litepulse_compat.h"
#include "litepulse_time.h"

/**
 * litepulse_mul_div - @value * @mul / @div, rounded down, saturating
 * @value: any
 * @mul: any
 * @div: not 0
 * @rest: answer: the remainder of the division; 0 if the result saturates. May be NULL
 *
 * A board chooses @value. mul_u64_u32_div() raises a divide error on x86-64 if the quotient has
 * more than 64 bits, so no other function of this driver divides a product of 64 bits.
 *
 * Return: the quotient, or U64_MAX if it has more than 64 bits.
 */
u64 litepulse_mul_div(u64 value, u32 mul, u32 div, u32 *rest)
{
	u64 whole, high, low;
	u32 left;

	/* value = whole * div + left, and left * mul / div < mul has 32 bits. */
	whole = div_u64_rem(value, div, &left);
	low = div_u64_rem((u64)left * mul, div, &left) + (u64)lower_32_bits(whole) * mul;
	high = (u64)upper_32_bits(whole) * mul + upper_32_bits(low);
	if (upper_32_bits(high)) {
		high = U32_MAX;
		low = U32_MAX;
		left = 0;
	}
	if (rest)
		*rest = left;
	return high << 32 | lower_32_bits(low);
}
EXPORT_SYMBOL_NS_GPL(litepulse_mul_div, LITEPULSE_NAMESPACE);

/**
 * litepulse_rate_init - from the clock of the core
 * @rate: what is filled in
 * @clock_num: Hz, numerator
 * @clock_den: Hz, denominator
 * @samples: ticks per cycle
 *
 * Return: 0, or -EINVAL if there is no such clock or a tick in ns is no fraction of two 32-bit
 * numbers.
 */
int litepulse_rate_init(struct litepulse_rate *rate, u32 clock_num, u32 clock_den,
			unsigned int samples)
{
	u64 num = (u64)clock_num * samples, mul = (u64)NSEC_PER_SEC * clock_den;
	u64 a = mul, b = num, rest, mult;

	if (!clock_num || !clock_den || !samples)
		return -EINVAL;
	rate->num = num;
	rate->den = clock_den;
	/* gcd() has unsigned long, which is too short on 32 bit. */
	while (b) {
		div64_u64_rem(a, b, &rest);
		a = b;
		b = rest;
	}
	mul = div64_u64(mul, a);
	num = div64_u64(num, a);
	if (mul > U32_MAX || num > U32_MAX)
		return -EINVAL;
	rate->ns_mul = mul;
	rate->ns_div = num;
	for (rate->shift = 31;; rate->shift--) {
		mult = litepulse_mul_div(BIT_ULL(rate->shift), rate->ns_mul, rate->ns_div, NULL);
		if (mult <= U32_MAX)
			break;
		if (!rate->shift)
			return -EINVAL;
	}
	rate->mult = mult;
	return 0;
}

/**
 * litepulse_ticks_to_ns - exact, rounded down
 * @rate: of the ticks
 * @ticks: any; the result saturates after 584 years
 */
u64 litepulse_ticks_to_ns(const struct litepulse_rate *rate, u64 ticks)
{
	return litepulse_mul_div(ticks, rate->ns_mul, rate->ns_div, NULL);
}
EXPORT_SYMBOL_NS_GPL(litepulse_ticks_to_ns, LITEPULSE_NAMESPACE);

/**
 * litepulse_ticks_to_ns_fast - the same without a division while ticks are few, then up to 1 ns
 * too small
 * @rate: of the ticks
 * @ticks: few are less than 2^@rate->shift: more than half a second, whatever the rate
 */
u64 litepulse_ticks_to_ns_fast(const struct litepulse_rate *rate, u64 ticks)
{
	if (ticks >> rate->shift)
		return litepulse_ticks_to_ns(rate, ticks);
	return ((u32)ticks * (u64)rate->mult) >> rate->shift;
}

/**
 * litepulse_ns_to_ticks - exact, rounded down
 * @rate: of the ticks
 * @ns: any; the result saturates
 */
u64 litepulse_ns_to_ticks(const struct litepulse_rate *rate, u64 ns)
{
	return litepulse_mul_div(ns, rate->ns_div, rate->ns_mul, NULL);
}
EXPORT_SYMBOL_NS_GPL(litepulse_ns_to_ticks, LITEPULSE_NAMESPACE);

/**
 * litepulse_ticks_at_least - whole ticks that are no shorter than a time
 * @rate: of the ticks
 * @ns: any; the result saturates
 */
u64 litepulse_ticks_at_least(const struct litepulse_rate *rate, u64 ns)
{
	u32 rest;
	u64 ticks = litepulse_mul_div(ns, rate->ns_div, rate->ns_mul, &rest);

	return ticks + !!rest;
}

/**
 * litepulse_bit_period - of a baud rate
 * @rate: of the ticks
 * @baud: bits per second
 *
 * Return: 2^-8 ticks, to the nearest; 0 if @baud is 0.
 */
u64 litepulse_bit_period(const struct litepulse_rate *rate, u32 baud)
{
	u64 per_tick = (u64)rate->den * baud;

	if (!baud)
		return 0;
	return div64_u64((rate->num << 8) + per_tick / 2, per_tick);
}
EXPORT_SYMBOL_NS_GPL(litepulse_bit_period, LITEPULSE_NAMESPACE);

/**
 * litepulse_baud - the inverse
 * @rate: of the ticks
 * @period: 2^-8 ticks
 *
 * Return: bits per second, to the nearest; 0 if @period is 0 or so long that it is nearest.
 */
u32 litepulse_baud(const struct litepulse_rate *rate, u64 period)
{
	u64 ticks = rate->den * period;

	/* The core's periods have 35 bits; longer ones could make the product wrap to 0. */
	if (!period || upper_32_bits(period) >= U32_MAX / rate->den)
		return 0;
	return min_t(u64, div64_u64((rate->num << 8) + ticks / 2, ticks), U32_MAX);
}
