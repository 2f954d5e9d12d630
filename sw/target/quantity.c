// SPDX-License-Identifier: BSD-2-Clause
/* Numbers as people write them, exactly. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "quantity.h"

#define WORD (1ull << 32)

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

static struct ratio lowest(uint64_t num, uint64_t den)
{
	uint64_t divisor = common_divisor(num, den);

	return (struct ratio){ num / divisor, den / divisor };
}

bool ratio_multiply(struct ratio a, struct ratio b, struct ratio *product)
{
	struct ratio first = lowest(a.num, b.den), second = lowest(b.num, a.den);

	return !__builtin_mul_overflow(first.num, second.num, &product->num) &&
	       !__builtin_mul_overflow(first.den, second.den, &product->den);
}

bool ratio_divide(struct ratio a, struct ratio b, struct ratio *quotient)
{
	return b.num && ratio_multiply(a, (struct ratio){ b.den, b.num }, quotient);
}

uint64_t ratio_nearest(struct ratio value)
{
	uint64_t rest = value.num % value.den;

	return value.num / value.den + (rest >= value.den - rest);
}

bool ratio_to_period(struct ratio ticks, struct period *period)
{
	uint64_t whole = ticks.num / ticks.den;

	if (whole > WORD - 2 || ticks.den > WORD)
		return false;
	*period = (struct period){ whole, ticks.num % ticks.den, ticks.den % WORD };
	return true;
}

uint64_t period_times(struct period period, uint32_t count)
{
	return (uint64_t)count * period.whole + (uint64_t)count * period.num / (period.den ? period.den : WORD);
}

bool parse_whole(const char *text, uint64_t low, uint64_t high, uint64_t *value)
{
	char *end;

	/* Neither blanks nor a sign nor octal: what strtoull takes beyond numbers. */
	if (*text < '0' || *text > '9' || (*text == '0' && text[1] >= '0' && text[1] <= '9'))
		return false;
	errno = 0;
	*value = strtoull(text, &end, 0);
	return !errno && !*end && *value >= low && *value <= high;
}

static bool scale(struct ratio *value, int exponent)
{
	struct ratio power = { 1, 1 };

	for (; exponent > 0; exponent--)
		power.num *= 10;
	for (; exponent < 0; exponent++)
		power.den *= 10;
	return ratio_multiply(*value, power, value);
}

static bool power_of(char prefix, int *exponent)
{
	static const struct {
		char prefix;
		int exponent;
	} of[] = { { 'G', 9 }, { 'M', 6 }, { 'k', 3 }, { 'm', -3 } };

	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
		if (of[i].prefix == prefix) {
			*exponent = of[i].exponent;
			return true;
		}
	}
	return false;
}

/* Digits with at most one point among them, and, if allowed, a prefix. */
static bool parse_decimal(const char *text, size_t length, bool prefixes, struct ratio *value)
{
	int exponent = 0;
	bool digits = false, point = false;

	if (prefixes && length && power_of(text[length - 1], &exponent))
		length--;
	*value = (struct ratio){ 0, 1 };
	for (; length; text++, length--) {
		if (*text == '.' && !point) {
			point = true;
			continue;
		}
		if (*text < '0' || *text > '9' || __builtin_mul_overflow(value->num, 10, &value->num) ||
		    __builtin_add_overflow(value->num, (uint64_t)(*text - '0'), &value->num))
			return false;
		if (point && __builtin_mul_overflow(value->den, 10, &value->den))
			return false;
		digits = true;
	}
	*value = lowest(value->num, value->den);
	return digits && scale(value, exponent);
}

/* a or a/b */
static bool parse_fraction(const char *text, size_t length, bool prefixes, struct ratio *value)
{
	const char *slash = memchr(text, '/', length);
	struct ratio divisor;

	if (!slash)
		return parse_decimal(text, length, prefixes, value);
	return parse_decimal(text, slash - text, prefixes, value) &&
	       parse_decimal(slash + 1, length - (slash + 1 - text), prefixes, &divisor) && ratio_divide(*value, divisor, value);
}

static bool ends_with(const char *text, size_t length, const char *end)
{
	size_t tail = strlen(end);

	return length > tail && !memcmp(text + length - tail, end, tail);
}

bool ratio_parse_rate(const char *text, struct ratio *hz)
{
	static const char *const units[] = { "Hz", "Bd", "baud" };
	size_t length = strlen(text);

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (ends_with(text, length, units[i])) {
			length -= strlen(units[i]);
			break;
		}
	}
	return parse_fraction(text, length, true, hz) && hz->num;
}

bool ratio_parse_ticks(const char *text, struct ratio tick_hz, struct ratio *ticks)
{
	static const struct {
		const char *name;
		int exponent;
	} units[] = { { "ms", -3 }, { "us", -6 }, { "ns", -9 }, { "s", 0 } };
	size_t length = strlen(text);
	struct ratio seconds;
	int exponent = 0;

	if (ends_with(text, length, "t"))
		return parse_fraction(text, length - 1, false, ticks);
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (ends_with(text, length, units[i].name)) {
			length -= strlen(units[i].name);
			exponent = units[i].exponent;
			break;
		}
	}
	return parse_fraction(text, length, false, &seconds) && scale(&seconds, exponent) && ratio_multiply(seconds, tick_hz, ticks);
}
