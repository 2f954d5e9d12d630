/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers as people write them, exactly: "58", "1000/3", "44.1k", "10us". Nothing here rounds but ratio_nearest(). */
#ifndef QUANTITY_H
#define QUANTITY_H

#include <stdbool.h>
#include <stdint.h>

/* A number that is not negative, in lowest terms; den is not 0. */
struct ratio {
	uint64_t num;
	uint64_t den;
};

/* A period as the core takes it: whole + num/den ticks; den 0 stands for 2^32. */
struct period {
	uint32_t whole;
	uint32_t num;
	uint32_t den;
};

/* All return false when the result is no such number or does not fit. */
bool ratio_parse_rate(const char *text, struct ratio *hz);		/* 58, 617/10, 44.1k, 1M/7, 58Hz; more than 0 */
bool ratio_parse_ticks(const char *text, struct ratio tick_hz, struct ratio *ticks); /* 5us, 1.5ms, 1/58, 24000000/29t */
bool ratio_multiply(struct ratio a, struct ratio b, struct ratio *product);
bool ratio_divide(struct ratio a, struct ratio b, struct ratio *quotient);
bool ratio_to_period(struct ratio ticks, struct period *period);
bool parse_whole(const char *text, uint64_t low, uint64_t high, uint64_t *value); /* decimal or 0x... */

/* The nearest whole number; half goes up. */
uint64_t ratio_nearest(struct ratio value);
/* floor(count * period) */
uint64_t period_times(struct period period, uint32_t count);

#endif
