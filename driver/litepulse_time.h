/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ticks and what they are in nanoseconds, bit periods, ticks known by their low bits. Pure: no
 * state, no hardware.
 */
#ifndef LITEPULSE_TIME_H
#define LITEPULSE_TIME_H

#include <linux/bits.h>
#include <linux/types.h>

/**
 * struct litepulse_rate - how fast ticks go by
 * @num: ticks per second are @num / @den
 * @den: not 0
 * @ns_mul: a tick is exactly @ns_mul / @ns_div ns, in lowest terms
 * @ns_div: not 0
 * @mult: a tick is @mult / 2^@shift ns, or up to 2^-@shift ns more
 * @shift: at most 31
 */
struct litepulse_rate {
	u64 num;
	u32 den;
	u32 ns_mul;
	u32 ns_div;
	u32 mult;
	u32 shift;
};

u64 litepulse_mul_div(u64 value, u32 mul, u32 div, u32 *rest);
int litepulse_rate_init(struct litepulse_rate *rate, u32 clock_num, u32 clock_den,
			unsigned int samples);
u64 litepulse_ticks_to_ns(const struct litepulse_rate *rate, u64 ticks);
u64 litepulse_ticks_to_ns_fast(const struct litepulse_rate *rate, u64 ticks);
u64 litepulse_ns_to_ticks(const struct litepulse_rate *rate, u64 ns);
u64 litepulse_ticks_at_least(const struct litepulse_rate *rate, u64 ns);
u64 litepulse_bit_period(const struct litepulse_rate *rate, u32 baud);
u32 litepulse_baud(const struct litepulse_rate *rate, u64 period);

/**
 * litepulse_extend_tick - a tick of which the low 48 bits are known
 * @now: a tick that is not earlier, by less than 2^48
 * @low48: the bits
 */
static inline u64 litepulse_extend_tick(u64 now, u64 low48)
{
	return now - ((now - low48) & GENMASK_ULL(47, 0));
}

#endif /* LITEPULSE_TIME_H */
