// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of the driver's pure parts
 *
 * A quotient is checked by multiplying it out in 128 bits, never by dividing: nothing here goes the
 * way of what it tests.
 */
#include <kunit/test.h>
#include <linux/can.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/prandom.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "litepulse.h"
#include "litepulse_clock_map.h"
#include "litepulse_entry.h"
#include "litepulse_lin_events.h"
#include "litepulse_lin_frame.h"
#include "litepulse_lin_queue.h"
#include "litepulse_packed.h"
#include "litepulse_phc.h"
#include "litepulse_record.h"
#include "litepulse_regs.h"
#include "litepulse_ring.h"
#include "litepulse_time.h"

/* --- 128 bits --- */

struct wide {
	u64 high;
	u64 low;
};

static struct wide product(u64 a, u64 b)
{
	u64 low = (a & U32_MAX) * (b & U32_MAX);
	u64 mid1 = (a >> 32) * (b & U32_MAX);
	u64 mid2 = (a & U32_MAX) * (b >> 32);
	u64 carry = (low >> 32) + (mid1 & U32_MAX) + (mid2 & U32_MAX);

	return (struct wide){ .high = (a >> 32) * (b >> 32) + (mid1 >> 32) + (mid2 >> 32) +
				      (carry >> 32),
			      .low = carry << 32 | (low & U32_MAX) };
}

static struct wide plus(struct wide a, u64 b)
{
	a.low += b;
	a.high += a.low < b;
	return a;
}

static bool equal(struct wide a, struct wide b)
{
	return a.high == b.high && a.low == b.low;
}

/* Is it that 0 <= a - b < limit? */
static bool less_above(struct wide a, struct wide b, u64 limit)
{
	u64 high = a.high - b.high - (a.low < b.low);

	return !high && a.low - b.low < limit;
}

/* Is it that |a - b| <= limit? */
static bool near(struct wide a, struct wide b, u64 limit)
{
	return less_above(a, b, limit) || less_above(b, a, limit) || equal(a, plus(b, limit)) ||
	       equal(b, plus(a, limit));
}

/* --- time --- */

static const struct {
	u32 num;
	u32 den;
	unsigned int samples;
} clocks[] = {
	{ 48000000, 1, 1 },   { 48000000, 1, 2 },   { 50000000, 1, 4 }, { 100000000, 1, 4 },
	{ 315000000, 22, 1 }, { 1000000000, 3, 8 }, { 12000000, 1, 1 }, { 32768, 1, 1 },
	{ 299999989, 3, 1 },  { 4000000000u, 1, 1 },
};

static void rate_of(struct kunit *test, unsigned int i, struct litepulse_rate *rate)
{
	KUNIT_ASSERT_EQ(test, 0, litepulse_rate_init(rate, clocks[i].num, clocks[i].den,
						     clocks[i].samples));
}

static void rate_is_exact(struct kunit *test)
{
	struct litepulse_rate rate;
	unsigned int i;
	u64 a, b, prime;

	for (i = 0; i < ARRAY_SIZE(clocks); i++) {
		rate_of(test, i, &rate);
		KUNIT_EXPECT_EQ(test, rate.num, (u64)clocks[i].num * clocks[i].samples);
		KUNIT_EXPECT_EQ(test, rate.den, clocks[i].den);
		/* ns_mul / ns_div = 10^9 den / num, in lowest terms */
		KUNIT_EXPECT_TRUE(test, equal(product(rate.ns_mul, rate.num),
					      product(1000000000ull * rate.den, rate.ns_div)));
		a = rate.ns_mul;
		b = rate.ns_div;
		for (prime = 2; prime < 1000; prime++)
			KUNIT_EXPECT_FALSE(test, !(a % prime) && !(b % prime));
		/* mult / 2^shift is a tick or less than 2^-shift ns shorter */
		KUNIT_EXPECT_TRUE(test, less_above(product((u64)rate.ns_mul << rate.shift, 1),
						   product(rate.mult, rate.ns_div), rate.ns_div));
		KUNIT_EXPECT_LE(test, rate.shift, 31u);
	}
}

static void rate_is_refused(struct kunit *test)
{
	struct litepulse_rate rate;

	KUNIT_EXPECT_EQ(test, -EINVAL, litepulse_rate_init(&rate, 0, 1, 1));
	KUNIT_EXPECT_EQ(test, -EINVAL, litepulse_rate_init(&rate, 48000000, 0, 1));
	KUNIT_EXPECT_EQ(test, -EINVAL, litepulse_rate_init(&rate, 48000000, 1, 0));
	/* primes: no common factor to make the fraction fit */
	KUNIT_EXPECT_EQ(test, -EINVAL, litepulse_rate_init(&rate, 4294967291u, 4294967279u, 1));
	KUNIT_EXPECT_EQ(test, -EINVAL, litepulse_rate_init(&rate, 4294967291u, 1, 3));
	/* a tick of ten seconds */
	KUNIT_EXPECT_EQ(test, -EINVAL, litepulse_rate_init(&rate, 1, 10, 1));
}

/* Some ticks: few, about powers of two, anything, of which the ns fit 64 bits. */
static u64 some_ticks(struct rnd_state *random, const struct litepulse_rate *rate, unsigned int i)
{
	u64 ticks = (u64)prandom_u32_state(random) << 32 | prandom_u32_state(random);

	if (i < 64)
		ticks = i;
	else if (i < 256)
		ticks = (1ull << (i & 63)) + i / 64 - 2;
	else
		ticks >>= i & 31;
	while (product(ticks, rate->ns_mul).high >= rate->ns_div)
		ticks >>= 1;
	return ticks;
}

static void ticks_and_ns_are_exact(struct kunit *test)
{
	struct litepulse_rate rate;
	struct rnd_state random;
	unsigned int i, j;
	u64 ticks, ns, fast;

	prandom_seed_state(&random, 1);
	for (i = 0; i < ARRAY_SIZE(clocks); i++) {
		rate_of(test, i, &rate);
		for (j = 0; j < 2000; j++) {
			ticks = some_ticks(&random, &rate, j);
			ns = litepulse_ticks_to_ns(&rate, ticks);
			KUNIT_ASSERT_TRUE(test, less_above(product(ticks, rate.ns_mul),
							   product(ns, rate.ns_div), rate.ns_div));
			fast = litepulse_ticks_to_ns_fast(&rate, ticks);
			KUNIT_ASSERT_LE(test, ns - fast, ticks >> rate.shift ? 0ull : 1ull);
			if (product(ns, rate.ns_div).high >= rate.ns_mul)
				continue;
			ticks = litepulse_ns_to_ticks(&rate, ns);
			KUNIT_ASSERT_TRUE(test,
					  less_above(product(ns, rate.ns_div),
						     product(ticks, rate.ns_mul), rate.ns_mul));
			KUNIT_ASSERT_EQ(test, litepulse_ticks_at_least(&rate, ns),
					ticks + !equal(product(ns, rate.ns_div),
						       product(ticks, rate.ns_mul)));
		}
	}
}

/*
 * Exact where the quotient fits 64 bits, saturated where it does not: on x86-64 a quotient that
 * does not fit raises a divide error in mul_u64_u32_div().
 */
static void quotients_saturate(struct kunit *test)
{
	static const u32 factors[] = { 1, 2, 3, 125, 65535, 1000000000, 0x7fffffff, 0xffffffff };
	struct rnd_state random;
	unsigned int i, j, k, saturated = 0;
	u64 value, whole;
	u32 mul, div, rest;

	prandom_seed_state(&random, 2);
	for (i = 0; i < ARRAY_SIZE(factors); i++) {
		for (j = 0; j < ARRAY_SIZE(factors); j++) {
			mul = factors[i];
			div = factors[j];
			for (k = 0; k < 300; k++) {
				value = (u64)prandom_u32_state(&random) << 32 |
					prandom_u32_state(&random);
				value = k < 64 ? ~0ull >> k : k < 128 ? 1ull << (k - 64) : value;
				whole = litepulse_mul_div(value, mul, div, &rest);
				KUNIT_ASSERT_EQ(test, whole,
						litepulse_mul_div(value, mul, div, NULL));
				if (product(value, mul).high >= div) {
					saturated++;
					KUNIT_ASSERT_EQ(test, whole, ~0ull);
					KUNIT_ASSERT_EQ(test, rest, 0u);
					continue;
				}
				KUNIT_ASSERT_LT(test, rest, div);
				KUNIT_ASSERT_TRUE(test, equal(product(value, mul),
							      plus(product(whole, div), rest)));
			}
		}
	}
	KUNIT_EXPECT_GT(test, saturated, 1000u);
}

/* Whatever a board says its tick is, each function returns. */
static void wild_ticks_are_survived(struct kunit *test)
{
	struct litepulse_clock_view *view = kunit_kzalloc(test, sizeof(*view), GFP_KERNEL);
	struct litepulse_phc_change change;
	struct litepulse_phc_rhythm rhythm;
	struct litepulse_phc_train train;
	struct litepulse_rate rate;
	struct litepulse_phc phc;
	struct rnd_state random;
	unsigned int i, j;
	u64 tick;
	u32 num;

	KUNIT_ASSERT_NOT_NULL(test, view);
	prandom_seed_state(&random, 3);
	for (i = 0; i < ARRAY_SIZE(clocks); i++) {
		rate_of(test, i, &rate);
		KUNIT_EXPECT_EQ(test, litepulse_ticks_to_ns(&rate, ~0ull) == ~0ull,
				rate.ns_mul >= rate.ns_div);
		KUNIT_EXPECT_EQ(test, 0u, litepulse_baud(&rate, ~0ull));
		if (litepulse_phc_init(&phc, &rate, 1000, 1000000000ull))
			continue;
		for (j = 0; j < 500; j++) {
			tick = (u64)prandom_u32_state(&random) << 32 | prandom_u32_state(&random);
			tick = j < 64 ? ~0ull >> j : j < 128 ? 1ull << (j - 64) : tick;
			litepulse_ticks_to_ns_fast(&rate, tick);
			litepulse_ns_to_ticks(&rate, tick);
			litepulse_clock_map_mono(view, &rate, tick, &num);
			litepulse_clock_map_add(&view->map, &rate, tick, 1000 * j, 1000 * j + 500);
			litepulse_clock_map_mono(view, &rate, ~tick, &num);
			litepulse_clock_map_beside(&view->mono, tick, ~tick, num);
			litepulse_clock_map_reachable(&rate, tick, 1000, j & 1);
			litepulse_phc_ns(&phc, tick);
			litepulse_phc_tick(&phc, tick, &num);
			rhythm = (struct litepulse_phc_rhythm){
				tick, tick | 1, j & 2 ? prandom_u32_state(&random) : 1,
			};
			/* It need only come back. */
			if (!litepulse_phc_train_init(&train, &phc, &rhythm, tick))
				(void)litepulse_phc_train_change(&train, &phc, ~tick, &change);
			litepulse_phc_move(&phc, tick);
			litepulse_phc_adjust(&phc, (s64)(tick % 6553600) - 3276800);
		}
	}
	/* A period of 35 bits, and the largest denominator: the product would wrap to 0. */
	rate = (struct litepulse_rate){ .num = 48000000, .den = 1u << 29 };
	KUNIT_EXPECT_EQ(test, 0u, litepulse_baud(&rate, 1ull << 35));
}

static void bauds_are_nearest(struct kunit *test)
{
	static const u32 bauds[] = { 1,	     50,     110,    300,     9600,    19200,   57600,
				     115200, 460800, 921600, 1000000, 3000000, 12000000 };
	struct litepulse_rate rate;
	unsigned int i, j;
	u64 period, scaled;
	u32 baud;

	for (i = 0; i < ARRAY_SIZE(clocks); i++) {
		rate_of(test, i, &rate);
		KUNIT_EXPECT_EQ(test, 0ull, litepulse_bit_period(&rate, 0));
		KUNIT_EXPECT_EQ(test, 0u, litepulse_baud(&rate, 0));
		for (j = 0; j < ARRAY_SIZE(bauds); j++) {
			period = litepulse_bit_period(&rate, bauds[j]);
			/* 2 |period den baud - 256 num| <= den baud */
			scaled = (u64)rate.den * bauds[j];
			KUNIT_EXPECT_TRUE(test, near(product(2 * period, scaled),
						     product(512, rate.num), scaled));
			if (!period)
				continue;
			baud = litepulse_baud(&rate, period);
			scaled = rate.den * period;
			if (baud != U32_MAX)
				KUNIT_EXPECT_TRUE(test, near(product(2ull * baud, scaled),
							     product(512, rate.num), scaled));
		}
	}
}

static void ticks_are_extended(struct kunit *test)
{
	static const u64 nows[] = { 0x123456789abcdefull, 1ull << 48, (1ull << 48) - 1,
				    0xffff000000000000ull, 5ull << 48 };
	static const u64 ages[] = { 0, 1, 0xffffffff, 0x100000000, (1ull << 48) - 1 };
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(nows); i++)
		for (j = 0; j < ARRAY_SIZE(ages); j++)
			if (ages[j] <= nows[i])
				KUNIT_EXPECT_EQ(test, nows[i] - ages[j],
						litepulse_extend_tick(nows[i], (nows[i] - ages[j]) &
								      0xffffffffffffull));
}

/* --- entries of the launch queue --- */

#define ENTRY(...) (&(struct litepulse_launch){ __VA_ARGS__ })
#define WAIT(...) ENTRY(.kind = LITEPULSE_LAUNCH_WAIT, __VA_ARGS__)
#define RELATIVE(...) ENTRY(.flags = LITEPULSE_LAUNCH_RELATIVE, __VA_ARGS__)

/* Each kind has its own members, and all others are 0. */
static void launches_are_checked(struct kunit *test)
{
	const u8 frame = LITEPULSE_LAUNCH_FRAME, pulse = LITEPULSE_LAUNCH_PULSE;
	const u8 brk = LITEPULSE_LAUNCH_BREAK;
	struct litepulse_launch entry = { };
	unsigned int kind, i;

	KUNIT_EXPECT_EQ(test, 0, litepulse_entry_check(ENTRY(.kind = frame), false, 4));
	KUNIT_EXPECT_EQ(test, 0, litepulse_entry_check(ENTRY(.data = 0xff), false, 4));
	KUNIT_EXPECT_EQ(test, -EINVAL,
			litepulse_entry_check(ENTRY(.kind = frame, .width = 1), false, 4));
	KUNIT_EXPECT_EQ(test, 0, litepulse_entry_check(ENTRY(.kind = brk, .data = 1), false, 4));
	KUNIT_EXPECT_EQ(test, -EINVAL, litepulse_entry_check(ENTRY(.kind = brk), false, 4));
	KUNIT_EXPECT_EQ(test, -EINVAL,
			litepulse_entry_check(ENTRY(.kind = brk, .data = 1, .width = 1), false, 4));
	KUNIT_EXPECT_EQ(test, 0, litepulse_entry_check(ENTRY(.kind = pulse, .width = 1), false, 4));
	KUNIT_EXPECT_EQ(test, -EINVAL, litepulse_entry_check(ENTRY(.kind = pulse), false, 4));
	KUNIT_EXPECT_EQ(test, -EINVAL,
			litepulse_entry_check(ENTRY(.kind = pulse, .data = 1, .width = 1), 1, 4));
	/* Trains and the responder have no wait, and nobody has any other kind. */
	for (kind = LITEPULSE_LAUNCH_WAIT; kind < 256; kind++) {
		KUNIT_EXPECT_EQ(test, -EINVAL, litepulse_entry_check_sent(kind, 0, 0));
		KUNIT_EXPECT_EQ(test, kind == LITEPULSE_LAUNCH_WAIT ? 0 : -EINVAL,
				litepulse_entry_check(ENTRY(.kind = kind), true, 4));
	}
	for (i = 0; i < sizeof(entry.reserved); i++) {
		entry.reserved[i] = 1;
		KUNIT_EXPECT_EQ(test, -EINVAL, litepulse_entry_check(&entry, true, 4));
		entry.reserved[i] = 0;
	}
	for (i = 0; i < 8; i++) {
		const int expected = BIT(i) == LITEPULSE_LAUNCH_RELATIVE ? 0 : -EINVAL;

		KUNIT_EXPECT_EQ(test, expected,
				litepulse_entry_check(ENTRY(.flags = BIT(i)), true, 4));
	}
}

static void waits_are_checked(struct kunit *test)
{
	const u8 relative = LITEPULSE_LAUNCH_RELATIVE;
	unsigned int data, inputs;

	/* The line is the channel behind the last input. */
	for (inputs = 1; inputs < 16; inputs++)
		for (data = 0; data < 256; data++)
			KUNIT_EXPECT_EQ(test, (data & 15) > inputs ? -EINVAL : 0,
					litepulse_entry_check(WAIT(.data = data), true, inputs));
	KUNIT_EXPECT_EQ(test, 0, litepulse_entry_check(WAIT(.flags = relative), true, 4));
	KUNIT_EXPECT_EQ(test, -EINVAL, litepulse_entry_check(WAIT(.width = 1), true, 4));
	KUNIT_EXPECT_EQ(test, -EINVAL, litepulse_entry_check(WAIT(.profile = 1), true, 4));
	KUNIT_EXPECT_EQ(test, -EINVAL, litepulse_entry_check(WAIT(.flags = 2), true, 4));
	/* A core without sequences; what would be wrong on any core is wrong there, too. */
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, litepulse_entry_check(WAIT(.data = 0x11), false, 4));
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, litepulse_entry_check(RELATIVE(), false, 4));
	KUNIT_EXPECT_EQ(test, -EINVAL, litepulse_entry_check(WAIT(.flags = 2), false, 4));
	KUNIT_EXPECT_EQ(test, -EINVAL, litepulse_entry_check(WAIT(.reserved = { 1 }), false, 4));
	KUNIT_EXPECT_EQ(test, -EINVAL, litepulse_entry_check(ENTRY(.kind = 4), false, 4));
}

/* What the driver knows of the order of entries, and what it leaves to the board. */
static void order_is_checked_where_it_is_known(struct kunit *test)
{
	u64 last = litepulse_entry_last(ENTRY(.tick = 1000));

	KUNIT_EXPECT_EQ(test, 0, litepulse_entry_check_tick(ENTRY(.tick = 1000), last, 999));
	KUNIT_EXPECT_EQ(test, -ETIME, litepulse_entry_check_tick(ENTRY(.tick = 1000), last, 1000));
	KUNIT_EXPECT_EQ(test, -EINVAL, litepulse_entry_check_tick(ENTRY(.tick = 999), last, 998));
	/* Out of order counts more than too late. */
	KUNIT_EXPECT_EQ(test, -EINVAL, litepulse_entry_check_tick(ENTRY(.tick = 999), last, 999));
	/* A wait's own tick is like that of a launch. */
	KUNIT_EXPECT_EQ(test, 0, litepulse_entry_check_tick(WAIT(.tick = 1000), last, 999));
	KUNIT_EXPECT_EQ(test, -EINVAL, litepulse_entry_check_tick(WAIT(.tick = 999), last, 0));
	KUNIT_EXPECT_EQ(test, -ETIME, litepulse_entry_check_tick(WAIT(.tick = 1000), last, 1000));
	/* A distance is never too small. */
	KUNIT_EXPECT_EQ(test, 0, litepulse_entry_check_tick(RELATIVE(.tick = 0), last, 5000));
	/* Behind a wait, and behind a relative entry, it is not known. */
	KUNIT_EXPECT_EQ(test, 0ull, litepulse_entry_last(WAIT(.tick = 1000)));
	KUNIT_EXPECT_EQ(test, 0ull, litepulse_entry_last(RELATIVE(.tick = 1000)));
	KUNIT_EXPECT_EQ(test, 1ull << 63, litepulse_entry_last(ENTRY(.tick = 1ull << 63)));
	/* Only a wait can stop the queue. */
	KUNIT_EXPECT_TRUE(test, litepulse_entry_stops(WAIT(.data = 0x40)));
	KUNIT_EXPECT_TRUE(test, litepulse_entry_stops(WAIT(.data = 0xff)));
	KUNIT_EXPECT_FALSE(test, litepulse_entry_stops(WAIT(.data = 0xbf)));
	KUNIT_EXPECT_FALSE(test, litepulse_entry_stops(ENTRY(.data = 0xff)));
}

static void expect_words(struct kunit *test, const struct litepulse_launch *entry, u32 low,
			 u32 high, u32 width, u32 last)
{
	u32 words[LITEPULSE_ENTRY_WORDS];

	memset(words, 0xee, sizeof(words));
	litepulse_entry_put(entry, words);
	KUNIT_EXPECT_EQ(test, low, words[0]);
	KUNIT_EXPECT_EQ(test, high, words[1]);
	KUNIT_EXPECT_EQ(test, width, words[2]);
	KUNIT_EXPECT_EQ(test, last, words[3]);
}

/* The words of an entry, put together as docs/registers.md has them. */
static void entries_become_words(struct kunit *test)
{
	const u8 relative = LITEPULSE_LAUNCH_RELATIVE;

	expect_words(test, ENTRY(.tick = 0x123456789abcdef0, .tag = 0xabcd, .profile = 3,
				 .data = 0x5a), 0x9abcdef0, 0x12345678, 0, 0xabcd035a);
	expect_words(test, ENTRY(.tick = 7, .kind = LITEPULSE_LAUNCH_BREAK, .data = 13), 7, 0, 0,
		     0x40d);
	expect_words(test, ENTRY(.tick = 7, .kind = LITEPULSE_LAUNCH_PULSE, .profile = 1,
				 .width = 0xfedcba98, .flags = relative), 7, 0, 0xfedcba98, 0x1900);
	expect_words(test, WAIT(.tick = 1ull << 32, .tag = 2, .data = 0xf4), 0, 1, 0, 0x20cf4);
	expect_words(test, WAIT(.tick = 9, .tag = 0xffff, .data = 0x51, .flags = relative), 9, 0, 0,
		     0xffff1c51);
}

/* --- records --- */

/* A record of the event stream, put together as docs/registers.md has it. */
static unsigned int event_record(struct litepulse_sequence *sequence, u64 tick, u32 seq, u32 kind,
				 u32 source, u32 flags, u32 data, struct litepulse_record *events)
{
	u32 words[] = { tick & 0xffffffff, tick >> 32,
			(seq & 0xffff) << 16 | kind << 12 | source << 8 | flags, data };

	memset(events, 0xee, LITEPULSE_RECORDS_PER_EVENT * sizeof(*events));
	return litepulse_record_decode_events(sequence, words, 1, events);
}

static void events_are_counted(struct kunit *test)
{
	struct litepulse_record events[LITEPULSE_RECORDS_PER_EVENT];
	struct litepulse_sequence sequence = {};
	u64 seq;

	/* from before our time */
	KUNIT_EXPECT_EQ(test, 0u, event_record(&sequence, 5, 65500, 2, 4, 0, 1, events));
	KUNIT_EXPECT_EQ(test, 0u, event_record(&sequence, 6, 65530, 8, 6, 0, 0, events));
	KUNIT_EXPECT_TRUE(test, sequence.started);
	/* over the end of 16 bits, three times */
	for (seq = 65531; seq < 200000; seq++) {
		KUNIT_ASSERT_EQ(test, 1u, event_record(&sequence, seq << 30, seq, 2, 4, 0x80,
						       0xabcd0000 + (seq & 0xff), events));
		KUNIT_ASSERT_EQ(test, seq, events[0].seq);
	}
	KUNIT_EXPECT_EQ(test, 199999ull << 30, events[0].tick);
	KUNIT_EXPECT_EQ(test, 0xabcd0000u + (199999 & 0xff), events[0].data);
	KUNIT_EXPECT_EQ(test, LITEPULSE_KIND_EDGE, (int)events[0].kind);
	KUNIT_EXPECT_EQ(test, LITEPULSE_SRC_CAPTURE, (int)events[0].source);
	KUNIT_EXPECT_EQ(test, 0x80, (int)events[0].flags);
	KUNIT_EXPECT_EQ(test, 0ull, sequence.lost);
}

static void lost_events_are_reported(struct kunit *test)
{
	struct litepulse_record events[LITEPULSE_RECORDS_PER_EVENT];
	struct litepulse_sequence sequence = {};

	event_record(&sequence, 1, 9, 8, 6, 0, 0, events);
	/* by the board, more than 16 bits can count */
	KUNIT_ASSERT_EQ(test, 1u, event_record(&sequence, 70, 10, 4, 0, 0, 1000000, events));
	KUNIT_EXPECT_EQ(test, LITEPULSE_KIND_LOST, (int)events[0].kind);
	KUNIT_EXPECT_EQ(test, LITEPULSE_FLAG_HARDWARE, (int)events[0].flags);
	KUNIT_EXPECT_EQ(test, 10ull, events[0].seq);
	KUNIT_EXPECT_EQ(test, 70ull, events[0].tick);
	KUNIT_EXPECT_EQ(test, 1000000ull, events[0].count);
	KUNIT_ASSERT_EQ(test, 1u, event_record(&sequence, 80, 1000010, 1, 3, 0, 0, events));
	KUNIT_EXPECT_EQ(test, 1000010ull, events[0].seq);
	/* not reported: sequence numbers show it */
	KUNIT_ASSERT_EQ(test, 2u, event_record(&sequence, 90, 1000014, 1, 3, 0, 7, events));
	KUNIT_EXPECT_EQ(test, LITEPULSE_KIND_LOST, (int)events[0].kind);
	KUNIT_EXPECT_EQ(test, 1000011ull, events[0].seq);
	KUNIT_EXPECT_EQ(test, 3ull, events[0].count);
	KUNIT_EXPECT_EQ(test, 1000014ull, events[1].seq);
	KUNIT_EXPECT_EQ(test, 7u, events[1].data);
	/* both at once */
	KUNIT_ASSERT_EQ(test, 2u, event_record(&sequence, 95, 1000017, 4, 0, 0, 5, events));
	KUNIT_EXPECT_EQ(test, 1000015ull, events[0].seq);
	KUNIT_EXPECT_EQ(test, 2ull, events[0].count);
	KUNIT_EXPECT_EQ(test, 1000017ull, events[1].seq);
	KUNIT_EXPECT_EQ(test, 5ull, events[1].count);
	KUNIT_EXPECT_EQ(test, 1000010ull, sequence.lost);
}

/*
 * The board stopped counting: the next record has any number, and takes the lowest that fits. Its
 * LOST is the only one of the gap.
 */
static void losses_without_end_are_reported(struct kunit *test)
{
	const u32 stop = LITEPULSE_LOST_STOP + 3;
	struct litepulse_record events[LITEPULSE_RECORDS_PER_EVENT];
	struct litepulse_sequence sequence = {};
	u64 next;

	event_record(&sequence, 1, 9, 8, 6, 0, 0, events);
	KUNIT_ASSERT_EQ(test, 1u, event_record(&sequence, 70, 10, 4, 6, 0x80, stop, events));
	KUNIT_EXPECT_EQ(test, LITEPULSE_KIND_LOST, (int)events[0].kind);
	KUNIT_EXPECT_EQ(test, LITEPULSE_FLAG_HARDWARE | LITEPULSE_FLAG_AT_LEAST,
			(int)events[0].flags);
	KUNIT_EXPECT_EQ(test, 10ull, events[0].seq);
	KUNIT_EXPECT_EQ(test, 70ull, events[0].tick);
	KUNIT_EXPECT_EQ(test, (u64)stop, events[0].count);
	/* at least 10 + 0xffff0003 = 0xffff000d, and it ends with 000c */
	next = 0x10000000cull;
	KUNIT_ASSERT_EQ(test, 1u, event_record(&sequence, 80, 0xc, 1, 3, 0, 7, events));
	KUNIT_EXPECT_EQ(test, LITEPULSE_KIND_TX, (int)events[0].kind);
	KUNIT_EXPECT_EQ(test, next, events[0].seq);
	KUNIT_EXPECT_EQ(test, next - 10, sequence.lost);
	/* from there on each number counts again */
	KUNIT_ASSERT_EQ(test, 2u, event_record(&sequence, 90, 0xe, 1, 3, 0, 7, events));
	KUNIT_EXPECT_EQ(test, LITEPULSE_FLAG_HARDWARE, (int)events[0].flags);
	KUNIT_EXPECT_EQ(test, next + 1, events[0].seq);
	KUNIT_EXPECT_EQ(test, 1ull, events[0].count);
	KUNIT_EXPECT_EQ(test, next + 2, events[1].seq);
	/* one gap after the other, the second with an end; and the number that follows as it is */
	KUNIT_ASSERT_EQ(test, 1u, event_record(&sequence, 95, 0xf, 4, 6, 0x80, stop, events));
	/* at least 0x10000000f + 0xffff0003 = 0x1ffff0012 */
	KUNIT_ASSERT_EQ(test, 1u, event_record(&sequence, 96, 0x15, 4, 6, 0, 5, events));
	KUNIT_EXPECT_EQ(test, LITEPULSE_FLAG_HARDWARE, (int)events[0].flags);
	KUNIT_EXPECT_EQ(test, 0x1ffff0015ull, events[0].seq);
	KUNIT_ASSERT_EQ(test, 1u, event_record(&sequence, 97, 0x1a, 1, 3, 0, 7, events));
	KUNIT_EXPECT_EQ(test, 0x1ffff001aull, events[0].seq);
	/* after a reset nothing is left of it */
	event_record(&sequence, 98, 0x1b, 4, 6, 0x80, stop, events);
	sequence.started = false;
	event_record(&sequence, 1, 9, 8, 6, 0, 0, events);
	KUNIT_EXPECT_EQ(test, 2u, event_record(&sequence, 2, 11, 1, 3, 0, 7, events));
}

/* A record of the receive stream. */
static unsigned int byte_record(struct litepulse_sequence *sequence, u64 now, u64 tick, u32 flags,
				u32 data, struct litepulse_record *events)
{
	u32 words[] = { tick & 0xffffffff, (tick >> 32 & 0xffff) << 16 | flags << 9 | data };

	memset(events, 0xee, LITEPULSE_RECORDS_PER_EVENT * sizeof(*events));
	return litepulse_record_decode_bytes(sequence, now, words, 1, events);
}

static void bytes_are_decoded(struct kunit *test)
{
	static const u8 flags[] = { 0, LITEPULSE_RX_PARITY, LITEPULSE_RX_FRAMING,
				    LITEPULSE_RX_FRAMING | LITEPULSE_RX_BREAK, LITEPULSE_RX_OWN,
				    LITEPULSE_RX_NOISE };
	struct litepulse_record events[LITEPULSE_RECORDS_PER_EVENT];
	u64 now = 0x0123000000000010ull;
	struct litepulse_sequence sequence = { .since = now - 0x100 };
	unsigned int i;

	KUNIT_EXPECT_EQ(test, 0u, byte_record(&sequence, now, now - 0x101, 0, 0x41, events));
	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		KUNIT_ASSERT_EQ(test, 1u, byte_record(&sequence, now, now - 0x100 + i, flags[i],
						      0x1a5, events));
		KUNIT_EXPECT_EQ(test, now - 0x100 + i, events[0].tick);
		KUNIT_EXPECT_EQ(test, (u64)i, events[0].seq);
		KUNIT_EXPECT_EQ(test, 0x1a5u, events[0].data);
		KUNIT_EXPECT_EQ(test, (int)flags[i], (int)events[0].flags);
		KUNIT_EXPECT_EQ(test, LITEPULSE_KIND_RX, (int)events[0].kind);
		KUNIT_EXPECT_EQ(test, LITEPULSE_SRC_RECEIVER, (int)events[0].source);
	}
	/* overflow: the tick of the first one lost, then how many */
	KUNIT_EXPECT_EQ(test, 0u, byte_record(&sequence, now, now - 0x80, 0x08, 0, events));
	KUNIT_ASSERT_EQ(test, 1u, byte_record(&sequence, now, 70000, 0x48, 0, events));
	KUNIT_EXPECT_EQ(test, LITEPULSE_KIND_LOST, (int)events[0].kind);
	KUNIT_EXPECT_EQ(test, LITEPULSE_SRC_RECEIVER, (int)events[0].source);
	KUNIT_EXPECT_EQ(test, now - 0x80, events[0].tick);
	KUNIT_EXPECT_EQ(test, 70000ull, events[0].count);
	KUNIT_EXPECT_EQ(test, LITEPULSE_FLAG_HARDWARE, (int)events[0].flags);
	KUNIT_ASSERT_EQ(test, 1u, byte_record(&sequence, now, now, 0, 1, events));
	KUNIT_EXPECT_EQ(test, 70000ull + ARRAY_SIZE(flags), events[0].seq);
	/* ... or at least how many */
	KUNIT_EXPECT_EQ(test, 0u, byte_record(&sequence, now, now - 0x40, 0x08, 0, events));
	KUNIT_ASSERT_EQ(test, 1u, byte_record(&sequence, now, 0xffff0001, 0x48, 1, events));
	KUNIT_EXPECT_EQ(test, LITEPULSE_FLAG_HARDWARE | LITEPULSE_FLAG_AT_LEAST,
			(int)events[0].flags);
	KUNIT_EXPECT_EQ(test, 0xffff0001ull, events[0].count);
}

/* --- rings --- */

#define RING_PLACES 8

/* A packed ring without its program, and records of bytes for it. */
struct packed {
	struct litepulse_ring_buffer ring;
	struct litepulse_ring_state state;
	struct litepulse_ring_event events[RING_PLACES];
	struct litepulse_sequence sequence;
	u32 words[2 * LITEPULSE_RUN_MAX][LITEPULSE_RECEIVE_WORDS];
	unsigned int count;
};

static struct packed *packed_ring(u64 now)
{
	static struct packed packed;

	memset(&packed, 0, sizeof(packed));
	packed.ring = (struct litepulse_ring_buffer){ .state = &packed.state,
						      .events = packed.events,
						      .size = RING_PLACES };
	packed.sequence.tick = now;
	return &packed;
}

static void add_byte(struct packed *packed, u64 tick, u32 flags, u32 data)
{
	u32 *words = packed->words[packed->count++];

	words[0] = tick & 0xffffffff;
	words[1] = (tick >> 32 & 0xffff) << 16 | flags << 9 | data;
}

/* How many of the records added are taken; the next ones are others. */
static unsigned int take_run(struct packed *packed)
{
	unsigned int count = packed->count;

	packed->count = 0;
	return litepulse_ring_take_run(&packed->ring, &packed->sequence, packed->words[0], count);
}

/* Byte number @index behind the place of a run. */
static u32 run_byte(const struct packed *packed, unsigned int place, unsigned int index)
{
	const u32 *bytes = (const u32 *)packed->events;

	return bytes[((place + 1) * 4 + index) % (4 * RING_PLACES)];
}

static void runs_have_each_tick(struct kunit *test)
{
	static const u32 gaps[] = { 0, 1, 65535, 0, 700 };
	static const u8 flags[] = { 0, LITEPULSE_RX_PARITY,
				    LITEPULSE_RX_FRAMING | LITEPULSE_RX_BREAK, LITEPULSE_RX_OWN,
				    LITEPULSE_RX_NOISE };
	const u64 now = 0x0123456700000000ull;
	struct packed *packed = packed_ring(now);
	struct litepulse_ring_event *event = packed->events;
	u64 tick = now - 0x100000;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(gaps); i++) {
		tick += gaps[i];
		add_byte(packed, tick, flags[i], 0x1a5 - i);
	}
	KUNIT_ASSERT_EQ(test, 5u, take_run(packed));
	KUNIT_EXPECT_EQ(test, 3u, packed->state.head);
	KUNIT_EXPECT_EQ(test, 5ull, packed->sequence.next);
	KUNIT_EXPECT_EQ(test, now - 0x100000, event->tick);
	KUNIT_EXPECT_EQ(test, 5u, event->data);
	KUNIT_EXPECT_EQ(test, 0, (int)event->flags);
	KUNIT_EXPECT_EQ(test, LITEPULSE_KIND_RUN, (int)event->kind);
	KUNIT_EXPECT_EQ(test, LITEPULSE_SRC_RECEIVER, (int)event->source);
	for (i = 0; i < ARRAY_SIZE(gaps); i++) {
		u32 byte = run_byte(packed, 0, i);

		KUNIT_EXPECT_EQ(test, gaps[i], LITEPULSE_RUN_TICKS(byte));
		KUNIT_EXPECT_EQ(test, 0x1a5 - i, LITEPULSE_RUN_DATA(byte));
		KUNIT_EXPECT_EQ(test, (u32)flags[i], LITEPULSE_RUN_FLAGS(byte));
	}
	KUNIT_EXPECT_EQ(test, 5u, litepulse_ring_events(&packed->ring, 3, 3));
}

/* By a byte that is too far behind, by a record that is none, and where the ring is full. */
static void runs_end(struct kunit *test)
{
	const u64 now = 0x0123456700000000ull, begin = now - 0x200000000ull;
	struct packed *packed = packed_ring(now);
	unsigned int i;

	add_byte(packed, begin, 0, 1);
	add_byte(packed, begin + 65535, 0, 2);
	add_byte(packed, begin + 131071, 0, 3);
	KUNIT_EXPECT_EQ(test, 2u, take_run(packed));
	KUNIT_EXPECT_EQ(test, 2u, packed->state.head);
	/* A byte alone is an event as always. */
	add_byte(packed, begin + 131071, 0, 3);
	add_byte(packed, begin + 196607, 0, 4);
	KUNIT_EXPECT_EQ(test, 1u, take_run(packed));
	KUNIT_EXPECT_EQ(test, 3u, packed->state.head);
	KUNIT_EXPECT_EQ(test, LITEPULSE_KIND_RX, (int)packed->events[2].kind);
	KUNIT_EXPECT_EQ(test, begin + 131071, packed->events[2].tick);
	/* So it is if the next came when the lower 32 bits had come round. */
	add_byte(packed, begin + 200000, 0, 5);
	add_byte(packed, begin + 200100 + 0x100000000ull, 0, 6);
	KUNIT_EXPECT_EQ(test, 1u, take_run(packed));
	KUNIT_EXPECT_EQ(test, 4u, packed->state.head);
	KUNIT_EXPECT_EQ(test, 4u, litepulse_ring_events(&packed->ring, 4, 4));
	/* A loss stands in its place. */
	packed->state.tail = 4;
	add_byte(packed, now - 1000, 0, 1);
	add_byte(packed, now - 900, 0, 2);
	add_byte(packed, now - 800, 0x08, 0);
	KUNIT_EXPECT_EQ(test, 2u, take_run(packed));
	add_byte(packed, now - 800, 0x08, 0);
	KUNIT_EXPECT_EQ(test, 0u, take_run(packed));
	KUNIT_EXPECT_EQ(test, 6u, packed->state.head);
	/* Of 8 places 4 are left: one for the head of a run and 12 bytes, round the end. */
	packed->state.tail = 2;
	for (i = 0; i < 20; i++)
		add_byte(packed, now - 500 + i, 0, i);
	KUNIT_EXPECT_EQ(test, 12u, take_run(packed));
	KUNIT_EXPECT_EQ(test, 10u, packed->state.head);
	KUNIT_EXPECT_EQ(test, 12u, packed->events[6].data);
	for (i = 0; i < 12; i++)
		KUNIT_EXPECT_EQ(test, i, LITEPULSE_RUN_DATA(run_byte(packed, 6, i)));
	/* There is none in one place, which an event can have. */
	packed->state.tail = 3;
	add_byte(packed, now, 0, 1);
	add_byte(packed, now, 0, 2);
	KUNIT_EXPECT_EQ(test, 0u, take_run(packed));
	KUNIT_EXPECT_EQ(test, 10u, packed->state.head);
}

static void random_event(struct rnd_state *random, u32 *words, u64 tick, u16 seq)
{
	static const u8 kinds[] = { LITEPULSE_KIND_EDGE, LITEPULSE_KIND_EDGE, LITEPULSE_KIND_TX,
				    LITEPULSE_KIND_REFUSED, LITEPULSE_KIND_OVERFLOW };
	const u8 kind = kinds[prandom_u32_state(random) % ARRAY_SIZE(kinds)];

	words[LITEPULSE_EVENT_TICK_LO / 4] = tick & 0xffffffff;
	words[LITEPULSE_EVENT_TICK_HI / 4] = tick >> 32;
	words[LITEPULSE_EVENT_DATA / 4] =
		kind == LITEPULSE_KIND_OVERFLOW ? 3 : prandom_u32_state(random);
	words[LITEPULSE_EVENT_INFO / 4] =
		FIELD_PREP(LITEPULSE_EVENT_INFO_SEQ_MASK, seq) |
		FIELD_PREP(LITEPULSE_EVENT_INFO_KIND_MASK, kind) |
		FIELD_PREP(LITEPULSE_EVENT_INFO_FLAGS_MASK, prandom_u32_state(random) & 0xff) |
		FIELD_PREP(LITEPULSE_EVENT_INFO_SOURCE_MASK, prandom_u32_state(random) & 7);
}

/*
 * What is put at once is what the usual way makes, number by number. It ends before a loss, a gap,
 * an old record, and where there is no room.
 */
static void plain_events_are_put_as_usual(struct kunit *test)
{
	const struct litepulse_subscribe want = { .kinds = BIT(LITEPULSE_KIND_EDGE) |
							   BIT(LITEPULSE_KIND_TX),
						  .sources = 0x55, .rise = 0x0f, .fall = 0x33 };
	const struct litepulse_selector selector = litepulse_record_selector(&want, 1);
	struct litepulse_sequence usual = { .next = 0x1fff8, .started = true }, plain = usual;
	struct litepulse_record records[LITEPULSE_RECORDS_PER_EVENT];
	struct packed *ring = packed_ring(0);
	const u64 since = 0x100000400ull;
	unsigned int put = 0, taken = 0, i, at = 0;
	u32 words[LITEPULSE_EVENT_WORDS], data;
	u64 tick = 0x0ffffff00ull;
	struct rnd_state random;
	u16 seq = usual.next;

	prandom_seed_state(&random, 1);
	for (i = 0; i < 4000; i++) {
		bool room = ring->state.head - ring->state.tail < RING_PLACES;
		u64 before = usual.next;
		bool open_ended = usual.open_ended, is_plain;
		unsigned int made, one;

		tick += prandom_u32_state(&random) % 3;
		seq += prandom_u32_state(&random) % 16 ? 0 : 2;
		random_event(&random, words, tick, seq);
		made = litepulse_record_decode_events(&usual, words, 1, records);
		is_plain = made == 1 && usual.next == before + 1 && !open_ended && tick >= since &&
			   records[0].kind != LITEPULSE_KIND_LOST && room;
		one = litepulse_ring_take(&ring->ring, &selector, since, &plain, words, 1, &put);
		KUNIT_ASSERT_EQ(test, (unsigned int)is_plain, one);
		KUNIT_ASSERT_EQ(test, before + one, plain.next);
		if (one && litepulse_record_select(&selector, &records[0], &data)) {
			const struct litepulse_ring_event *event =
				&ring->events[at++ % RING_PLACES];

			KUNIT_ASSERT_EQ(test, 1u, put);
			KUNIT_ASSERT_EQ(test, tick, event->tick);
			KUNIT_ASSERT_EQ(test, data, event->data);
			KUNIT_ASSERT_EQ(test, records[0].flags, event->flags);
			KUNIT_ASSERT_EQ(test, records[0].kind, event->kind);
			KUNIT_ASSERT_EQ(test, records[0].source, event->source);
		} else {
			KUNIT_ASSERT_EQ(test, 0u, put);
		}
		KUNIT_ASSERT_EQ(test, at, ring->state.head);
		taken += one;
		plain = usual;
		seq = usual.next;
		if (prandom_u32_state(&random) % 4 == 0)
			ring->state.tail = ring->state.head;
	}
	KUNIT_EXPECT_GT(test, taken, 1000u);
}

/* Of records that are not delivered each is counted, and what they report as lost. */
static void dropped_records_are_counted(struct kunit *test)
{
	const u32 stop = LITEPULSE_LOST_STOP;
	struct litepulse_record events[LITEPULSE_RECORDS_PER_EVENT], lost;
	struct litepulse_sequence sequence = {}, before;
	u64 now = 1000;

	KUNIT_EXPECT_FALSE(test, litepulse_record_report_dropped(&sequence, 7, 99, &lost));
	/* bytes: two, and the two records of an overflow of 70000 */
	before = sequence;
	litepulse_record_drop(&sequence, &before, events,
			      byte_record(&sequence, now, 10, 0, 1, events));
	before = sequence;
	litepulse_record_drop(&sequence, &before, events,
			      byte_record(&sequence, now, 20, 0x08, 0, events));
	before = sequence;
	litepulse_record_drop(&sequence, &before, events,
			      byte_record(&sequence, now, 70000, 0x48, 0, events));
	before = sequence;
	litepulse_record_drop(&sequence, &before, events,
			      byte_record(&sequence, now, 30, 0, 1, events));
	KUNIT_ASSERT_TRUE(test, litepulse_record_report_dropped(&sequence, 7, 99, &lost));
	KUNIT_EXPECT_EQ(test, 70002ull, lost.count);
	KUNIT_EXPECT_EQ(test, 0ull, lost.seq);
	KUNIT_EXPECT_EQ(test, 99ull, lost.tick);
	KUNIT_EXPECT_EQ(test, LITEPULSE_FLAG_HARDWARE, (int)lost.flags);
	KUNIT_EXPECT_EQ(test, LITEPULSE_KIND_LOST, (int)lost.kind);
	KUNIT_EXPECT_EQ(test, 7, (int)lost.source);
	KUNIT_EXPECT_EQ(test, 70002ull, sequence.lost);
	KUNIT_EXPECT_FALSE(test, litepulse_record_report_dropped(&sequence, 7, 99, &lost));
	KUNIT_ASSERT_EQ(test, 1u, byte_record(&sequence, now, 40, 0, 1, events));
	KUNIT_EXPECT_EQ(test, 70002ull, events[0].seq);

	/* events: one after a gap of three, then a loss without end, and the number that follows */
	sequence = (struct litepulse_sequence){};
	event_record(&sequence, 1, 9, 8, 6, 0, 0, events);
	before = sequence;
	litepulse_record_drop(&sequence, &before, events,
			      event_record(&sequence, 70, 13, 1, 3, 0, 7, events));
	before = sequence;
	litepulse_record_drop(&sequence, &before, events,
			      event_record(&sequence, 80, 14, 4, 6, 0x80, stop, events));
	before = sequence;
	litepulse_record_drop(&sequence, &before, events,
			      event_record(&sequence, 90, 14 + 0x20, 1, 3, 0, 7, events));
	KUNIT_ASSERT_TRUE(test, litepulse_record_report_dropped(&sequence, 6, 100, &lost));
	/* at least 14 + 0xffff0000, and it ends with 2e */
	KUNIT_EXPECT_EQ(test, 0xffff002eull + 1 - 10, lost.count);
	KUNIT_EXPECT_EQ(test, 10ull, lost.seq);
	KUNIT_EXPECT_EQ(test, LITEPULSE_FLAG_HARDWARE | LITEPULSE_FLAG_AT_LEAST, (int)lost.flags);
	KUNIT_EXPECT_EQ(test, lost.count, sequence.lost);
	KUNIT_ASSERT_EQ(test, 1u, event_record(&sequence, 95, 0x2f, 1, 3, 0, 7, events));
	KUNIT_EXPECT_EQ(test, 0xffff002full, events[0].seq);
	/* the flag is that loss's only */
	before = sequence;
	litepulse_record_drop(&sequence, &before, events,
			      event_record(&sequence, 96, 0x30, 1, 3, 0, 7, events));
	KUNIT_ASSERT_TRUE(test, litepulse_record_report_dropped(&sequence, 6, 100, &lost));
	KUNIT_EXPECT_EQ(test, LITEPULSE_FLAG_HARDWARE, (int)lost.flags);
	KUNIT_EXPECT_EQ(test, 1ull, lost.count);

	/* it was a reset: nothing of it counts */
	before = sequence;
	for (now = 0; now < 2; now++) {
		const struct litepulse_sequence last = sequence;

		litepulse_record_drop(&sequence, &last, events,
				      event_record(&sequence, 1, now, 4, 6, 0x80, 5, events));
	}
	litepulse_record_forget_dropped(&sequence);
	KUNIT_EXPECT_EQ(test, before.next, sequence.next);
	KUNIT_EXPECT_EQ(test, before.lost, sequence.lost);
	KUNIT_EXPECT_FALSE(test, litepulse_record_report_dropped(&sequence, 6, 100, &lost));
}

/* So many that all sinks together are not given more than with one sink. */
static void records_at_once_are_few(struct kunit *test)
{
	struct litepulse *lp = kzalloc(sizeof(*lp), GFP_KERNEL);

	KUNIT_ASSERT_TRUE(test, lp);
	KUNIT_EXPECT_EQ(test, 512u, litepulse_records_at_once(lp, 512));
	KUNIT_EXPECT_EQ(test, 32u, litepulse_records_at_once(lp, 32));
	lp->feed.sink_count = 1;
	KUNIT_EXPECT_EQ(test, 512u, litepulse_records_at_once(lp, 512));
	lp->feed.sink_count = 64;
	KUNIT_EXPECT_EQ(test, 8u, litepulse_records_at_once(lp, 512));
	KUNIT_EXPECT_EQ(test, 8u, litepulse_records_at_once(lp, 16));
	lp->feed.sink_count = 67;
	KUNIT_EXPECT_EQ(test, 7u, litepulse_records_at_once(lp, 512));
	lp->feed.sink_count = 1000;
	KUNIT_EXPECT_EQ(test, 1u, litepulse_records_at_once(lp, 512));
	kfree(lp);
}

static bool selects(const struct litepulse_subscribe *want, unsigned int samples,
		    const struct litepulse_record *event, u32 *data)
{
	struct litepulse_selector selector = litepulse_record_selector(want, samples);

	return litepulse_record_select(&selector, event, data);
}

static void who_gets_what(struct kunit *test)
{
	struct litepulse_subscribe want = {};
	u32 data;
	struct litepulse_record event = { .kind = LITEPULSE_KIND_TX, .source = LITEPULSE_SRC_TTY };

	KUNIT_EXPECT_FALSE(test, selects(&want, 1, &event, &data));
	want.kinds = 1 << LITEPULSE_KIND_TX;
	KUNIT_EXPECT_TRUE(test, selects(&want, 1, &event, &data));
	want.sources = 1 << LITEPULSE_SRC_QUEUE;
	KUNIT_EXPECT_FALSE(test, selects(&want, 1, &event, &data));
	event.source = LITEPULSE_SRC_QUEUE;
	KUNIT_EXPECT_TRUE(test, selects(&want, 1, &event, &data));
	/* sources are for launches only */
	event.kind = LITEPULSE_KIND_RX;
	event.source = LITEPULSE_SRC_RECEIVER;
	KUNIT_EXPECT_FALSE(test, selects(&want, 1, &event, &data));
	want.kinds |= 1 << LITEPULSE_KIND_RX;
	KUNIT_EXPECT_TRUE(test, selects(&want, 1, &event, &data));
	/* a loss is reported to the readers concerned */
	event.kind = LITEPULSE_KIND_LOST;
	KUNIT_EXPECT_TRUE(test, selects(&want, 1, &event, &data));
	want.kinds = 1 << LITEPULSE_KIND_EDGE;
	KUNIT_EXPECT_FALSE(test, selects(&want, 1, &event, &data));
	event.source = LITEPULSE_SRC_CONTROL;
	KUNIT_EXPECT_TRUE(test, selects(&want, 1, &event, &data));
	event.kind = LITEPULSE_KIND_RESTARTED;
	KUNIT_EXPECT_TRUE(test, selects(&want, 1, &event, &data));
}

/* All edge records of 16 bits' worth of random levels, for every wish: bit by bit. */
static void edges_are_chosen(struct kunit *test)
{
	struct litepulse_subscribe want = { .kinds = 1 << LITEPULSE_KIND_EDGE };
	struct litepulse_record event = {};
	struct rnd_state random;
	unsigned int samples, i, bit, channel;
	u32 data, expected, left;

	prandom_seed_state(&random, 2);
	for (samples = 1; samples <= 8; samples *= 2) {
		for (i = 0; i < 2000; i++) {
			data = prandom_u32_state(&random);
			want.rise = prandom_u32_state(&random) & ((1 << 16 / samples) - 1);
			want.fall = prandom_u32_state(&random) & ((1 << 16 / samples) - 1);
			expected = 0;
			for (bit = 0; bit < 16; bit++) {
				channel = bit / samples;
				if (data >> bit & 1 &&
				    (data >> (16 + bit) & 1 ? want.rise : want.fall) >> channel & 1)
					expected |= 1 << bit;
			}
			event.kind = LITEPULSE_KIND_EDGE;
			event.data = data;
			KUNIT_ASSERT_EQ(test, selects(&want, samples, &event, &left), !!expected);
			KUNIT_ASSERT_EQ(test, left, (data & 0xffff0000) | expected);
		}
	}
}

/* --- PTP clock --- */

static void clock_is_exact(struct kunit *test)
{
	struct litepulse_phc phc, fixed;
	struct litepulse_rate rate;
	struct rnd_state random;
	unsigned int i, j;
	u64 since, ns;
	u32 num;

	prandom_seed_state(&random, 3);
	for (i = 0; i < ARRAY_SIZE(clocks); i++) {
		rate_of(test, i, &rate);
		if (litepulse_phc_init(&phc, &rate, 1000, 2000000000ull * 1000000000))
			continue;
		/* nominal: 10^9 den / num */
		KUNIT_EXPECT_TRUE(test, equal(product(phc.mul, rate.num),
					      product(1000000000ull * rate.den, phc.div)));
		fixed = phc;
		for (j = 0; j < 2000; j++) {
			since = (u64)prandom_u32_state(&random) << (j & 3);
			ns = litepulse_phc_ns(&phc, phc.tick + since);
			KUNIT_ASSERT_TRUE(test, less_above(plus(product(since, phc.mul), phc.frac),
							   product(ns - phc.ns, phc.div), phc.div));
			/* counted from elsewhere it shows the same, however often */
			litepulse_phc_move(&phc, phc.tick + since);
			KUNIT_ASSERT_EQ(test, ns, litepulse_phc_ns(&phc, phc.tick));
			KUNIT_ASSERT_EQ(test, phc.ns, ns);
			KUNIT_ASSERT_TRUE(test, equal(plus(product(phc.tick - fixed.tick, phc.mul),
							   fixed.frac),
						      plus(product(phc.ns - fixed.ns, phc.div),
							   phc.frac)));
			/* and before it, too */
			KUNIT_ASSERT_EQ(test, litepulse_phc_ns(&fixed, phc.tick - since / 2),
					litepulse_phc_ns(&phc, phc.tick - since / 2));
			ns += prandom_u32_state(&random) + 1ull;
			since = litepulse_phc_tick(&phc, ns, &num) - phc.tick;
			KUNIT_ASSERT_LT(test, num, phc.mul);
			KUNIT_ASSERT_TRUE(test, equal(plus(product(since, phc.mul),
							   (u64)num + phc.frac),
						      product(ns - phc.ns, phc.div)));
		}
	}
}

static void clock_is_adjusted(struct kunit *test)
{
	/* 2^-16 ppm: nothing, the least, some, all that is allowed */
	static const s64 offs[] = { 0, 1, 65536, 65536 * 50, 123456789, 6553600000ll };
	struct litepulse_phc phc;
	struct litepulse_rate rate;
	unsigned int i, j;
	s64 off, change;

	for (i = 0; i < ARRAY_SIZE(clocks); i++) {
		rate_of(test, i, &rate);
		if (litepulse_phc_init(&phc, &rate, 0, 0))
			continue;
		for (j = 0; j < 2 * ARRAY_SIZE(offs); j++) {
			off = j & 1 ? -offs[j / 2] : offs[j / 2];
			litepulse_phc_adjust(&phc, off);
			change = (s64)phc.mul - phc.nominal;
			KUNIT_EXPECT_FALSE(test, off < 0 ? change > 0 : change < 0);
			/* 2 |change 10^6 2^16 - nominal off| <= 10^6 2^16, and a little */
			KUNIT_EXPECT_TRUE(test, near(product(2 * abs(change), 65536000000ull),
						     product(2ull * phc.nominal, abs(off)),
						     65536000000ull + (1ull << 24)));
		}
	}
}

/* What the core does from one pulse to the next. */
static void core_goes_on(const struct litepulse_phc_train *train, u64 *tick, u64 *num)
{
	*tick += train->period;
	*num += train->period_num;
	if (*num >= train->den) {
		*num -= train->den;
		++*tick;
	}
}

/* And what it does at a change: the fraction stays if its denominator does. */
static void core_changes(const struct litepulse_phc_train *before,
			 const struct litepulse_phc_change *change, u64 *tick, u64 *num)
{
	if (before->den != change->then.den)
		*num = 0;
	*tick += change->step;
	core_goes_on(&change->then, tick, num);
}

static void change_is_the_cores(struct kunit *test, const struct litepulse_phc_train *before,
				const struct litepulse_phc_change *change)
{
	u32 num32;
	u64 tick = litepulse_phc_train_place(before, change->pulse - 1, &num32), num = num32;

	core_changes(before, change, &tick, &num);
	KUNIT_EXPECT_EQ(test, tick, change->then.tick);
	KUNIT_EXPECT_EQ(test, num, (u64)change->then.num);
}

/* Pulse after pulse, where the core has it, which keeps its place unrounded. */
static void trains_follow_the_clock(struct kunit *test)
{
	static const u64 periods[] = { 1000000, 17241379, 1000000000, 333333333, 20001 };
	struct litepulse_phc_rhythm rhythm = { .pulses = 1 };
	struct litepulse_phc_change change;
	struct litepulse_phc_train train;
	struct litepulse_phc phc;
	struct litepulse_rate rate;
	u64 tick, from, pulse, shown, due, tick_ns, period;
	unsigned int i, j, k;
	u32 num;

	for (i = 0; i < ARRAY_SIZE(clocks); i++) {
		rate_of(test, i, &rate);
		if (litepulse_phc_init(&phc, &rate, 12345, 1700000000ull * 1000000000 + 7))
			continue;
		tick_ns = rate.ns_mul / rate.ns_div + 2;
		for (j = 0; j < ARRAY_SIZE(periods); j++) {
			from = phc.tick + 1000000;
			period = periods[j];
			if (period < 100 * tick_ns)
				continue;
			rhythm.span = period;
			KUNIT_ASSERT_EQ(test, 0,
					litepulse_phc_train_init(&train, &phc, &rhythm, from));
			KUNIT_EXPECT_GE(test, train.start, from);
			KUNIT_EXPECT_LT(test, litepulse_phc_ns(&phc, train.start) -
					litepulse_phc_ns(&phc, from), period + tick_ns);
			for (k = 0, pulse = 0; k < 40; k++, pulse += 1 + pulse / 2) {
				tick = litepulse_phc_train_place(&train, pulse, &num);
				shown = litepulse_phc_ns(&phc, tick);
				due = (train.skipped + pulse) * period;
				KUNIT_ASSERT_LE(test, shown > due ? shown - due : due - shown,
						tick_ns);
			}
			/* a few of them on, the clock runs 20 ppm faster */
			litepulse_phc_move(&phc, litepulse_phc_train_place(&train, 20, &num));
			litepulse_phc_adjust(&phc, 20 * 65536);
			from = phc.tick + 10;
			KUNIT_ASSERT_EQ(test, 0,
					litepulse_phc_train_change(&train, &phc, from, &change));
			KUNIT_EXPECT_GT(test, change.pulse, 0ull);
			change_is_the_cores(test, &train, &change);
			pulse = change.pulse;
			for (k = 0; k < 1000; k++, pulse++) {
				tick = litepulse_phc_train_place(&change.then, pulse, &num);
				shown = litepulse_phc_ns(&phc, tick);
				due = (train.skipped + pulse) * period;
				KUNIT_ASSERT_LE(test, shown > due ? shown - due : due - shown,
						tick_ns);
			}
			litepulse_phc_adjust(&phc, 0);
		}
		/* no such period */
		from = phc.tick;
		rhythm.span = U64_MAX / 2;
		KUNIT_EXPECT_EQ(test, -ERANGE,
				litepulse_phc_train_init(&train, &phc, &rhythm, from));
	}
}

/* The clock's rate changes for a while and is then what it was: the pulses are behind by then. */
static void train_follows_a_rate_that_returns(struct kunit *test)
{
	const struct litepulse_phc_rhythm rhythm = { .span = 1000001, .pulses = 1 };
	struct litepulse_phc_change change;
	struct litepulse_phc_train train;
	struct litepulse_rate rate;
	struct litepulse_phc phc;
	u64 pulse, tick, shown, due;
	unsigned int i;
	u32 num;

	KUNIT_ASSERT_EQ(test, litepulse_rate_init(&rate, 48000000, 1, 1), 0);
	KUNIT_ASSERT_EQ(test, litepulse_phc_init(&phc, &rate, 0, 0), 0);
	KUNIT_ASSERT_EQ(test, litepulse_phc_train_init(&train, &phc, &rhythm, 1000), 0);
	litepulse_phc_adjust(&phc, 0);
	KUNIT_EXPECT_TRUE(test, litepulse_phc_train_follows(&train, &phc, phc.tick));
	litepulse_phc_move(&phc, 4800000);
	litepulse_phc_adjust(&phc, 20 * 65536);
	KUNIT_EXPECT_FALSE(test, litepulse_phc_train_follows(&train, &phc, phc.tick));
	/* for 0.5 s: 10 us */
	litepulse_phc_move(&phc, 28800000);
	litepulse_phc_adjust(&phc, 0);
	KUNIT_EXPECT_FALSE(test, litepulse_phc_train_follows(&train, &phc, phc.tick));
	KUNIT_ASSERT_EQ(test, 0,
			litepulse_phc_train_change(&train, &phc, phc.tick + 100, &change));
	KUNIT_EXPECT_TRUE(test, litepulse_phc_train_follows(&change.then, &phc, phc.tick));
	KUNIT_EXPECT_EQ(test, train.den, change.then.den);
	change_is_the_cores(test, &train, &change);
	for (i = 0, pulse = change.pulse; i < 100; i++, pulse++) {
		tick = litepulse_phc_train_place(&change.then, pulse, &num);
		shown = litepulse_phc_ns(&phc, tick);
		due = (train.skipped + pulse) * rhythm.span;
		KUNIT_ASSERT_LE(test, shown > due ? shown - due : due - shown, 22ull);
	}
}

/* Is a tick less than one from the moment of a time of the rhythm? All is multiplied out. */
static bool within_a_tick(const struct litepulse_phc *phc,
			  const struct litepulse_phc_rhythm *rhythm, u64 number, u64 tick)
{
	struct litepulse_phc here = *phc;
	u64 due, shown;

	/* Counted from close by, which is exact, all fits in 64 bits. */
	litepulse_phc_move(&here, max(phc->tick, tick - 1000));
	/* in 1 / pulses ns */
	due = (rhythm->origin - here.ns) * rhythm->pulses + number * rhythm->span;
	shown = (tick - here.tick) * here.mul + here.frac;
	return near(product(shown, rhythm->pulses), product(due, here.div),
		    (u64)here.mul * rhythm->pulses - 1);
}

static const struct {
	unsigned int clock;
	struct litepulse_phc_rhythm rhythm;
} rhythms[] = {
	{ 0, { 1700000001ull * NSEC_PER_SEC, NSEC_PER_SEC, 58 } },
	{ 2, { 5, 3ull * NSEC_PER_SEC, 29 } },
	{ 8, { 7, 7ull * NSEC_PER_SEC, 1000003 } },
};

/* A million pulses while a servo tunes the clock: none is a tick or more from its time. */
static void fractions_of_the_clock_are_exact(struct kunit *test)
{
	const struct litepulse_phc_rhythm *rhythm;
	struct litepulse_phc_change change;
	struct litepulse_phc_train train;
	struct litepulse_rate rate;
	struct litepulse_phc phc;
	struct rnd_state random;
	u64 pulse, tick, num, ahead;
	unsigned int i, seconds;

	prandom_seed_state(&random, 3);
	for (i = 0; i < ARRAY_SIZE(rhythms); i++) {
		rhythm = &rhythms[i].rhythm;
		rate_of(test, rhythms[i].clock, &rate);
		KUNIT_ASSERT_EQ(test, 0, litepulse_phc_init(&phc, &rate, 12345,
							    1700000000ull * NSEC_PER_SEC + 7));
		ahead = litepulse_ns_to_ticks(&rate, 2000000);
		KUNIT_ASSERT_EQ(test, 0, litepulse_phc_train_init(&train, &phc, rhythm,
								  phc.tick + ahead));
		if (!i) {
			/* 48 MHz / 58, in lowest terms */
			KUNIT_EXPECT_EQ(test, 827586u, train.period);
			KUNIT_EXPECT_EQ(test, 6u, train.period_num);
			KUNIT_EXPECT_EQ(test, 29u, train.den);
			KUNIT_EXPECT_FALSE(test, train.drifts);
			KUNIT_EXPECT_EQ(test, 0ull, train.skipped);
		}
		change.pulse = 0;
		tick = train.start;
		num = 0;
		for (pulse = 0, seconds = 0; pulse < 1000000; pulse++) {
			if (pulse && pulse == change.pulse) {
				core_changes(&train, &change, &tick, &num);
				train = change.then;
			} else if (pulse) {
				core_goes_on(&train, &tick, &num);
			}
			/* A change of the clock is followed some milliseconds later. */
			if (train.changes == phc.changes) {
				KUNIT_ASSERT_TRUE(test, within_a_tick(&phc, rhythm,
								      train.skipped + pulse, tick));
				seconds += !((train.skipped + pulse) % rhythm->pulses);
			}
			if (pulse % 977 != 976 || pulse < change.pulse)
				continue;
			litepulse_phc_move(&phc, tick + 10);
			litepulse_phc_adjust(&phc, (s64)(prandom_u32_state(&random) % 13107200) -
							   6553600);
			KUNIT_ASSERT_EQ(test, 0,
					litepulse_phc_train_change(&train, &phc, phc.tick + ahead,
								   &change));
		}
		KUNIT_EXPECT_GE(test, seconds, 1000000 / rhythm->pulses);
	}
}

/* A period whose fraction the core does not have: until it is renewed, no pulse leaves its tick. */
static void periods_that_drift_are_renewed(struct kunit *test)
{
	const struct litepulse_phc_rhythm *rhythm = &rhythms[2].rhythm;
	struct litepulse_phc_change change;
	struct litepulse_phc_train train;
	struct litepulse_rate rate;
	struct litepulse_phc phc;
	unsigned int i, j;
	u64 tick, pulse;
	u32 num;

	rate_of(test, rhythms[2].clock, &rate);
	KUNIT_ASSERT_EQ(test, 0, litepulse_phc_init(&phc, &rate, 0, 0));
	for (i = 0; i < 400; i++) {
		litepulse_phc_adjust(&phc, 12345 + 6789 * i);
		KUNIT_ASSERT_EQ(test, 0, litepulse_phc_train_init(&train, &phc, rhythm,
								  1000 + 12345 * i));
		KUNIT_ASSERT_TRUE(test, train.drifts);
		if (i & 1) {
			tick = litepulse_phc_train_place(&train, 1000, &num);
			KUNIT_ASSERT_EQ(test, 0, litepulse_phc_train_change(&train, &phc, tick,
									    &change));
			change_is_the_cores(test, &train, &change);
			train = change.then;
		}
		pulse = train.pulse + BIT(30) - 32;
		for (j = 0; j < 32; j++) {
			tick = litepulse_phc_train_place(&train, ++pulse, &num);
			KUNIT_ASSERT_TRUE(test, within_a_tick(&phc, rhythm, train.skipped + pulse,
							      tick));
		}
		KUNIT_EXPECT_FALSE(test, litepulse_phc_train_follows(&train, &phc, tick));
		KUNIT_EXPECT_TRUE(test, litepulse_phc_train_follows(&train, &phc, tick / 8));
		/* the same rate again, in its place */
		KUNIT_ASSERT_EQ(test, 0, litepulse_phc_train_change(&train, &phc, tick, &change));
		KUNIT_EXPECT_LE(test, abs((s64)change.step), 1ll);
		change_is_the_cores(test, &train, &change);
		KUNIT_EXPECT_TRUE(test, litepulse_phc_train_follows(&change.then, &phc, tick));
	}
}

/* --- when a tick was, from readings that take their time --- */

/* Of a tick of a 48 MHz clock that is off by @ppm and was 0 at @start, by the host's clock. */
static u64 moment(u64 start, u64 tick, int ppm)
{
	u64 ns = tick * 125 / 6;

	return start + ns - div_s64((s64)ns * ppm, 1000000);
}

static void readings_bound_the_moment(struct kunit *test)
{
	static const int drifts[] = { -900, -50, 0, 3, 900 };
	struct litepulse_rate rate;
	struct rnd_state random;
	unsigned int i, j;

	KUNIT_ASSERT_EQ(test, litepulse_rate_init(&rate, 48000000, 1, 1), 0);
	prandom_seed_state(&random, 5);
	for (i = 0; i < ARRAY_SIZE(drifts); i++) {
		struct litepulse_clock_map map = {};
		u64 start = 1ULL << 40, tick = 0, tightest = U64_MAX;

		for (j = 0; j < 2000; j++) {
			u32 before = prandom_u32_state(&random) % 300000;
			u32 after = prandom_u32_state(&random) % 300000;
			u64 true_ns, width;

			tick += prandom_u32_state(&random) % 480000;
			true_ns = moment(start, tick, drifts[i]);
			litepulse_clock_map_add(&map, &rate, tick, true_ns - before,
						true_ns + after);
			KUNIT_ASSERT_LE(test, map.known.earliest, true_ns + 1);
			KUNIT_ASSERT_GE(test, map.known.latest + 1, true_ns);
			width = map.known.latest - map.known.earliest;
			/* Never worse than the latest reading alone. */
			KUNIT_ASSERT_LE(test, width, (u64)before + after);
			tightest = min(tightest, width);
		}
		KUNIT_EXPECT_EQ(test, map.breaks, 0ULL);
		/* Readings of 0.3 ms, each up to 10 ms after the other, give much less. */
		KUNIT_EXPECT_LT(test, tightest, 10000ULL);
	}
}

/* The same tick, if two clocks part by 0.2 ppm more each second, the most that is allowed for. */
static u64 wandered(u64 start, u64 tick)
{
	u64 ns = tick * 125 / 6, steps = ns >> 10;

	return start + ns + div64_u64(steps * steps, 9536743165ULL);
}

static void wandering_clocks_stay_within_the_bound(struct kunit *test)
{
	struct litepulse_clock_map map = {};
	struct litepulse_rate rate;
	u64 start = 1ULL << 40, tick, true_ns, earliest, latest;
	unsigned int i;

	KUNIT_ASSERT_EQ(test, litepulse_rate_init(&rate, 48000000, 1, 1), 0);
	for (i = 0; i < 6000; i++) {
		tick = 960000ULL * i;
		/* A second without readings, now and then. */
		if (i % 500 > 450)
			continue;
		true_ns = wandered(start, tick);
		litepulse_clock_map_bounds(&map, &rate, tick, &earliest, &latest);
		if (i) {
			KUNIT_ASSERT_LE(test, earliest, true_ns + 1);
			KUNIT_ASSERT_GE(test, latest + 1, true_ns);
		}
		litepulse_clock_map_add(&map, &rate, tick, true_ns - 50, true_ns + 50);
		KUNIT_ASSERT_LE(test, map.known.earliest, true_ns + 1);
		KUNIT_ASSERT_GE(test, map.known.latest + 1, true_ns);
	}
	KUNIT_EXPECT_EQ(test, map.breaks, 0ULL);
	/* After two minutes the rate is known to 2 ppm. */
	KUNIT_EXPECT_LT(test, map.fast - map.slow, 2 * 4295);
	/* A second later that is less than 5 us. Before, it was 2 ms. */
	litepulse_clock_map_bounds(&map, &rate, tick + 48000000, &earliest, &latest);
	KUNIT_EXPECT_LT(test, latest - earliest, 5000ULL);
	/* A board that is simulated stands still now and then. */
	map.coarse = true;
	map.valid = false;
	for (i = 0; i < 100; i++)
		litepulse_clock_map_add(&map, &rate, 960000ULL * i, 20000000ULL * i,
					20000000ULL * i);
	KUNIT_EXPECT_EQ(test, map.fast - map.slow, 2 << 22);
}

static void contradicting_readings_start_again(struct kunit *test)
{
	struct litepulse_clock_map map = {};
	struct litepulse_rate rate;
	const u64 run = NSEC_PER_SEC;

	KUNIT_ASSERT_EQ(test, litepulse_rate_init(&rate, 1000000000, 1, 1), 0);
	litepulse_clock_map_add(&map, &rate, run + 1000, run + 5000, run + 5100);
	KUNIT_EXPECT_EQ(test, map.known.earliest, run + 5000);
	KUNIT_EXPECT_EQ(test, map.known.latest, run + 5100);
	/* Both bounds are wider than what is known, but for 1 in 1024, and what is rounded. */
	litepulse_clock_map_add(&map, &rate, run + 2024, run, run + 50000);
	KUNIT_EXPECT_EQ(test, map.known.earliest, run + 6024 - 5);
	KUNIT_EXPECT_EQ(test, map.known.latest, run + 6124 + 4);
	/* The host's clock jumped. */
	litepulse_clock_map_add(&map, &rate, run + 3000, run + 9000, run + 9100);
	KUNIT_EXPECT_EQ(test, map.breaks, 1ULL);
	KUNIT_EXPECT_EQ(test, map.known.earliest, run + 9000);
	KUNIT_EXPECT_EQ(test, map.known.latest, run + 9100);
	/* The board was reset. */
	litepulse_clock_map_add(&map, &rate, 10, run + 9500, run + 9600);
	KUNIT_EXPECT_EQ(test, map.breaks, 1ULL);
	KUNIT_EXPECT_EQ(test, map.known.tick, 10ULL);
	KUNIT_EXPECT_EQ(test, map.known.earliest, run + 9500);
	/* It was reset once more, and both readings are too wide to show that. */
	litepulse_clock_map_add(&map, &rate, 20, run + 9590, run + 9690);
	KUNIT_EXPECT_EQ(test, map.breaks, 1ULL);
	KUNIT_EXPECT_EQ(test, map.known.earliest, run + 9590);
	KUNIT_EXPECT_EQ(test, map.known.latest, run + 9690);
}

/* The clock shows 5000 more than raw, and is slewed by 100 ppm from the third reading on. */
static void another_clock_is_shown(struct kunit *test)
{
	struct litepulse_clock_view view = {};
	struct litepulse_rate rate;
	const u64 raw = 1000000000;
	u64 unsure;
	u32 uncertainty;

	litepulse_clock_map_beside(&view.mono, raw, raw + 5000, 1);
	KUNIT_EXPECT_EQ(test, litepulse_clock_map_shown(&view.mono, raw - 7, &unsure), raw + 4993);
	KUNIT_EXPECT_EQ(test, unsure, 5ULL);
	litepulse_clock_map_beside(&view.mono, raw + 10000000, raw + 10005000, 1);
	litepulse_clock_map_beside(&view.mono, raw + 20000000, raw + 20005000, 1);
	KUNIT_EXPECT_EQ(test, litepulse_clock_map_shown(&view.mono, raw + 10000000, &unsure),
			raw + 10005000);
	/* It is where it was expected. */
	KUNIT_EXPECT_LE(test, unsure, 30ULL);
	litepulse_clock_map_beside(&view.mono, raw + 30000000, raw + 30006000, 1);
	KUNIT_EXPECT_EQ(test, litepulse_clock_map_shown(&view.mono, raw + 30000000, &unsure),
			raw + 30006000);
	/* It is not, by 1000 ns. */
	KUNIT_EXPECT_GE(test, unsure, 1000ULL);
	KUNIT_EXPECT_LE(test, unsure, 1030ULL);
	/* Its slew may have changed by 100 ppm before, and back. */
	litepulse_clock_map_shown(&view.mono, raw + 25000000, &unsure);
	KUNIT_EXPECT_GE(test, unsure, 1500ULL);
	KUNIT_EXPECT_LE(test, unsure, 2030ULL);
	KUNIT_ASSERT_EQ(test, litepulse_rate_init(&rate, 1000000000, 1, 1), 0);
	litepulse_clock_map_add(&view.map, &rate, 77, raw + 29999900, raw + 30000100);
	KUNIT_EXPECT_EQ(test, litepulse_clock_map_mono(&view, &rate, 77, &uncertainty),
			raw + 30006000);
	KUNIT_EXPECT_GE(test, uncertainty, 1100U);
	KUNIT_EXPECT_LE(test, uncertainty, 1150U);
}

/* Readings of 400 ns on a bus, each 5 ms after the other; CLOCK_MONOTONIC is slewed by 50 ppm. */
static void ticks_are_on_a_line(struct kunit *test)
{
	struct litepulse_clock_view *view = kunit_kzalloc(test, sizeof(*view), GFP_KERNEL);
	struct litepulse_clock_anchor reading;
	struct litepulse_clock_line line;
	const u64 start = 1ULL << 36;
	struct litepulse_rate rate;
	u64 at, age, mono;
	u32 uncertainty;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, view);
	KUNIT_ASSERT_EQ(test, litepulse_rate_init(&rate, 50000000, 1, 1), 0);
	for (i = 0; i < 400; i++) {
		/* ns by the board's clock, and by CLOCK_MONOTONIC_RAW */
		at = start + i * 5000000ULL;
		reading = (struct litepulse_clock_anchor){ div_u64(at, 20), at - 200,
								 at + 200 };
		litepulse_clock_map_line(view, &rate, &reading, at + 2000,
					 at + 2000 + div_u64(at + 2000, 20000), &line);
		for (age = 0; age < 20000000; age += 999980) {
			mono = litepulse_clock_map_on_line(&line, &rate, div_u64(at - age, 20),
							   &uncertainty);
			mono -= at - age + div_u64(at - age, 20000);
			KUNIT_ASSERT_LE(test, abs((s64)mono), (s64)uncertainty);
			if (i > 100)
				KUNIT_ASSERT_LT(test, uncertainty, 600U);
		}
	}
	/* What is to come, and what is older than all readings, is known less well. */
	litepulse_clock_map_on_line(&line, &rate, div_u64(at, 20) + 50000, &uncertainty);
	KUNIT_EXPECT_GE(test, uncertainty, 1000000U / 1024);
	litepulse_clock_map_on_line(&line, &rate, div_u64(start - 1000000000, 20), &uncertainty);
	KUNIT_EXPECT_GE(test, uncertainty, 1000000000U / 1024);
}

static void ticks_are_reachable(struct kunit *test)
{
	const u64 second = 48000000;
	struct litepulse_rate rate;

	KUNIT_ASSERT_EQ(test, litepulse_rate_init(&rate, 48000000, 1, 1), 0);
	/* A second of tolerance; beyond it 1 in 1024. */
	KUNIT_EXPECT_TRUE(test, litepulse_clock_map_reachable(&rate, second, 0, false));
	KUNIT_EXPECT_FALSE(test, litepulse_clock_map_reachable(&rate, second + 1, 0, false));
	KUNIT_EXPECT_TRUE(test, litepulse_clock_map_reachable(&rate, 1026 * second,
							      1024000000000ull, false));
	KUNIT_EXPECT_FALSE(test, litepulse_clock_map_reachable(&rate, 1026 * second + 1,
							       1024000000000ull, false));
	/* A simulation runs as fast as it can. */
	KUNIT_EXPECT_TRUE(test, litepulse_clock_map_reachable(&rate, 1024 * second, 0, true));
	KUNIT_EXPECT_FALSE(test, litepulse_clock_map_reachable(&rate, 1025 * second, 0, true));
	KUNIT_EXPECT_FALSE(test, litepulse_clock_map_reachable(&rate, ~0ull, 1ull << 50, false));
}

/* --- packed answers --- */

/* Two records of 16 bytes, and a word: by hand. */
static void resets_show_in_the_ticks(struct kunit *test)
{
	/* 1000 ticks are 1000 ns */
	const struct litepulse_reading first = { .tick = 5000, .before = 100000, .after = 100500 };
	struct litepulse_reading second = { .before = 1124500, .after = 1125000 };
	struct litepulse_rate rate;

	KUNIT_ASSERT_EQ(test, litepulse_rate_init(&rate, 1000000000, 1, 1), 0);
	/* 1024000 ns at least, and a clock that is slower by 1 in 1024 */
	second.tick = 5000 + 1023000 - 1;
	KUNIT_EXPECT_FALSE(test, litepulse_clock_map_fell_behind(&rate, &first, &second));
	second.tick--;
	KUNIT_EXPECT_TRUE(test, litepulse_clock_map_fell_behind(&rate, &first, &second));
	/* back, and far ahead */
	second.tick = 4999;
	KUNIT_EXPECT_TRUE(test, litepulse_clock_map_fell_behind(&rate, &first, &second));
	second.tick = ~0ull;
	KUNIT_EXPECT_FALSE(test, litepulse_clock_map_fell_behind(&rate, &first, &second));
	/* no time passed for certain */
	second = (struct litepulse_reading){ .tick = 5000, .before = 100400, .after = 100600 };
	KUNIT_EXPECT_FALSE(test, litepulse_clock_map_fell_behind(&rate, &first, &second));
}

static void packed_answer_by_hand(struct kunit *test)
{
	static const u8 packed[] = {
		0xff, 0x00, 0x00, 0x12, 0x34, 0x00, 0x00, 0x00, 0x05,
		0xff, 0x00, 0x07, 0x03, 0x00, 0x00, 0x01, 0x00, 0x01,
		0x0c, 0x13, 0x01,
		0x02, 0x08,
		0x08, 0x99,
	};
	static const u32 expected[] = {
		0x00001234, 0x00000005, 0x00070300, 0x00010001,
		0x00001301, 0x00000005, 0x00080300, 0x00010001, 0x00001399,
	};
	u32 words[ARRAY_SIZE(expected)] = {};

	KUNIT_EXPECT_EQ(test, litepulse_packed_groups(ARRAY_SIZE(expected)), 5U);
	KUNIT_EXPECT_TRUE(test, litepulse_packed_unpack(packed, words, ARRAY_SIZE(expected)));
	KUNIT_EXPECT_EQ(test, memcmp(words, expected, sizeof(expected)), 0);
	/* One word fewer has four groups, and the last mask says nothing of a fifth. */
	KUNIT_EXPECT_EQ(test, litepulse_packed_groups(ARRAY_SIZE(expected) - 1), 4U);
	KUNIT_EXPECT_TRUE(test, litepulse_packed_unpack(packed, words, ARRAY_SIZE(expected) - 1));
}

static void packed_answer_beyond_its_end(struct kunit *test)
{
	static const u8 packed[] = { 0x1f, 1, 2, 3, 4, 5 };
	u32 word = 0;

	/* Of a group that one word is half of, no fifth byte can come. */
	KUNIT_EXPECT_FALSE(test, litepulse_packed_unpack(packed, &word, 1));
	KUNIT_EXPECT_EQ(test, word, 0x01020304U);
	KUNIT_EXPECT_EQ(test, litepulse_packed_groups(0), 0U);
	KUNIT_EXPECT_TRUE(test, litepulse_packed_unpack(packed, &word, 0));
}

/* Words that are packed here, byte by byte of a list of all, come out again. */
static void packed_answers_of_any_words(struct kunit *test)
{
	static u8 plain[4 * 64], packed[9 * 32];
	static u32 words[64];
	struct rnd_state random;
	unsigned int turn, i;

	prandom_seed_state(&random, 9);
	for (turn = 0; turn < 2000; turn++) {
		unsigned int count = 1 + prandom_u32_state(&random) % ARRAY_SIZE(words), at = 0;
		u8 *mask = NULL;

		for (i = 0; i < 4 * count; i++) {
			bool same = i >= 16 && prandom_u32_state(&random) % 4;

			plain[i] = same ? plain[i - 16] : prandom_u32_state(&random);
			if (i % 8 == 0) {
				mask = &packed[at++];
				*mask = 0;
			}
			if (same)
				continue;
			*mask |= 1 << i % 8;
			packed[at++] = plain[i];
		}
		KUNIT_ASSERT_TRUE(test, litepulse_packed_unpack(packed, words, count));
		for (i = 0; i < 4 * count; i++)
			KUNIT_ASSERT_EQ(test, (u8)(words[i / 4] >> (24 - 8 * (i % 4))), plain[i]);
	}
}

/* --- LIN --- */

/* A bit of 100.5 ticks. */
#define LIN_PERIOD ((100 << 8) + 128)

struct lin_bus {
	struct litepulse_lin_frame frame;
	struct litepulse_lin_expected expected[LITEPULSE_LIN_IDS];
	struct litepulse_lin_report report;
	u64 tick; /* of the next byte */
};

static void lin_init(struct lin_bus *bus)
{
	*bus = (struct lin_bus){ .frame.period = LIN_PERIOD, .tick = 1000 };
}

static bool lin_byte(struct lin_bus *bus, u8 data, u8 flags)
{
	const struct litepulse_event byte = { .kind = LITEPULSE_KIND_RX, .tick = bus->tick,
					      .ns = 2 * bus->tick, .data = data, .flags = flags };

	/* 13 bits and a stop bit; else ten */
	bus->tick += litepulse_lin_frame_bits(LIN_PERIOD, flags & LITEPULSE_RX_BREAK ? 14 : 10);
	return litepulse_lin_frame_take(&bus->frame, &byte, bus->expected, &bus->report);
}

static bool lin_header(struct lin_bus *bus, u8 pid, u8 flags)
{
	lin_byte(bus, 0, LITEPULSE_RX_BREAK | LITEPULSE_RX_FRAMING);
	lin_byte(bus, 0x55, 0);
	return lin_byte(bus, pid, flags);
}

/* Identifiers and checksums of the standard's examples. */
static void lin_parity_and_checksums(struct kunit *test)
{
	static const u8 pids[][2] = {
		{ 0x00, 0x80 }, { 0x01, 0xc1 }, { 0x10, 0x50 }, { 0x20, 0x20 }, { 0x25, 0x25 },
		{ 0x3c, 0x3c }, { 0x3d, 0x7d }, { 0x3f, 0xbf }, { 0x15, 0x55 }, { 0x2a, 0x6a },
	};
	static const u8 data[] = { 0x4a, 0x55, 0x93, 0xe5 };
	static const u8 ones[] = { 0xff, 0xff };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(pids); i++)
		KUNIT_EXPECT_EQ(test, litepulse_lin_frame_pid(pids[i][0]), pids[i][1]);
	KUNIT_EXPECT_EQ(test, litepulse_lin_frame_checksum(0x50, data, 4, false), 0xe6);
	/* 0x50 more, with carry: 0x19 + 0x50 = 0x69 */
	KUNIT_EXPECT_EQ(test, litepulse_lin_frame_checksum(0x50, data, 4, true), 0x96);
	KUNIT_EXPECT_EQ(test, litepulse_lin_frame_checksum(0x50, ones, 2, false), 0x00);
}

static void lin_frames(struct kunit *test)
{
	struct lin_bus bus;
	u64 start;

	lin_init(&bus);
	start = bus.tick;
	KUNIT_ASSERT_TRUE(test, lin_header(&bus, 0x50, LITEPULSE_RX_OWN));
	KUNIT_EXPECT_EQ(test, (int)bus.report.kind, LITEPULSE_LIN_HEADER);
	KUNIT_EXPECT_EQ(test, bus.report.id, 0x10);
	KUNIT_EXPECT_TRUE(test, bus.report.own);
	KUNIT_EXPECT_EQ(test, bus.report.tick, start);
	KUNIT_EXPECT_EQ(test, bus.report.ns, 2 * start);
	/* Of a known length: complete with its checksum. */
	bus.expected[0x10] = (struct litepulse_lin_expected){ .length = 2, .enhanced = true };
	start = bus.tick;
	KUNIT_EXPECT_FALSE(test, lin_byte(&bus, 0x11, 0));
	KUNIT_EXPECT_FALSE(test, lin_byte(&bus, 0x22, 0));
	KUNIT_ASSERT_TRUE(test, lin_byte(&bus, 0x7c, 0));
	KUNIT_EXPECT_EQ(test, (int)bus.report.kind, LITEPULSE_LIN_DATA);
	KUNIT_EXPECT_EQ(test, bus.report.length, 2);
	KUNIT_EXPECT_EQ(test, bus.report.data[1], 0x22);
	KUNIT_EXPECT_EQ(test, bus.report.tick, start);
	KUNIT_EXPECT_EQ(test, bus.report.ns, 2 * start);
	/* What follows belongs to nothing. */
	KUNIT_EXPECT_FALSE(test, lin_byte(&bus, 0x55, 0));
	/* The kind of the checksum is known with the length: the other one is wrong... */
	lin_header(&bus, 0x50, 0);
	KUNIT_EXPECT_FALSE(test, bus.report.own);
	lin_byte(&bus, 0x11, 0);
	lin_byte(&bus, 0x22, 0);
	KUNIT_ASSERT_TRUE(test, lin_byte(&bus, 0xcc, 0));
	KUNIT_EXPECT_EQ(test, (int)bus.report.kind, LITEPULSE_LIN_WRONG_CHECKSUM);
	/* ... and else either is right; the next break ends the response. */
	bus.expected[0x10].length = 0;
	lin_header(&bus, 0x50, 0);
	lin_byte(&bus, 0x11, 0);
	lin_byte(&bus, 0x22, 0);
	KUNIT_EXPECT_FALSE(test, lin_byte(&bus, 0xcc, 0));
	KUNIT_ASSERT_TRUE(test, lin_byte(&bus, 0, LITEPULSE_RX_BREAK));
	KUNIT_EXPECT_EQ(test, (int)bus.report.kind, LITEPULSE_LIN_DATA);
	KUNIT_EXPECT_EQ(test, bus.report.length, 2);
}

/* Each way a response can end before it is whole, and the ticks of the latest byte and look. */
static void lin_responses_end(struct kunit *test)
{
	const struct litepulse_event lost = { .kind = LITEPULSE_KIND_LOST };
	struct lin_bus bus;
	u64 latest;

	lin_init(&bus);
	bus.expected[0x10].length = 1;
	lin_header(&bus, 0x50, 0);
	latest = bus.tick - litepulse_lin_frame_bits(LIN_PERIOD, 10) +
		 litepulse_lin_frame_bits(LIN_PERIOD, LITEPULSE_LIN_RESPONSE_BITS);
	latest += litepulse_lin_frame_bits(LIN_PERIOD, 10);
	KUNIT_EXPECT_FALSE(test, litepulse_lin_frame_expire(&bus.frame, latest, bus.expected,
							    &bus.report));
	latest++;
	KUNIT_ASSERT_TRUE(test, litepulse_lin_frame_expire(&bus.frame, latest, bus.expected,
							   &bus.report));
	KUNIT_EXPECT_EQ(test, (int)bus.report.kind, LITEPULSE_LIN_NO_RESPONSE);
	KUNIT_EXPECT_EQ(test, bus.report.id, 0x10);
	/* The latest byte still counts, the next tick's is too late. */
	lin_header(&bus, 0x50, 0);
	bus.tick += litepulse_lin_frame_bits(LIN_PERIOD, LITEPULSE_LIN_RESPONSE_BITS) -
		    litepulse_lin_frame_bits(LIN_PERIOD, 10);
	KUNIT_EXPECT_FALSE(test, lin_byte(&bus, 0x11, 0));
	KUNIT_ASSERT_TRUE(test, lin_byte(&bus, 0xee, 0));
	KUNIT_EXPECT_EQ(test, (int)bus.report.kind, LITEPULSE_LIN_NO_RESPONSE);
	/* A byte without a stop bit. */
	lin_header(&bus, 0x50, 0);
	latest = bus.tick;
	KUNIT_ASSERT_TRUE(test, lin_byte(&bus, 0x11, LITEPULSE_RX_FRAMING));
	KUNIT_EXPECT_EQ(test, (int)bus.report.kind, LITEPULSE_LIN_FRAMING);
	KUNIT_EXPECT_EQ(test, bus.report.tick, latest);
	/* Lost bytes, and a board that was reset: nothing is made of what is left. */
	lin_header(&bus, 0x50, 0);
	lin_byte(&bus, 0x11, 0);
	KUNIT_EXPECT_FALSE(test, litepulse_lin_frame_take(&bus.frame, &lost, bus.expected,
							  &bus.report));
	KUNIT_EXPECT_FALSE(test, lin_byte(&bus, 0xee, 0));
	/* A break always restarts; a response of no more than its checksum is none. */
	bus.expected[0x10].length = 0;
	lin_header(&bus, 0x50, 0);
	lin_byte(&bus, 0xff, 0);
	KUNIT_ASSERT_TRUE(test, lin_byte(&bus, 0, LITEPULSE_RX_BREAK));
	KUNIT_EXPECT_EQ(test, (int)bus.report.kind, LITEPULSE_LIN_NO_RESPONSE);
	/* Nine bytes are all there can be. */
	lin_header(&bus, 0x50, 0);
	for (latest = 0; latest < 8; latest++)
		KUNIT_EXPECT_FALSE(test, lin_byte(&bus, 0, 0));
	KUNIT_ASSERT_TRUE(test, lin_byte(&bus, 0xff, 0));
	KUNIT_EXPECT_EQ(test, (int)bus.report.kind, LITEPULSE_LIN_DATA);
	KUNIT_EXPECT_EQ(test, bus.report.length, 8);
}

static void lin_bad_headers(struct kunit *test)
{
	struct lin_bus bus;
	u64 start;

	lin_init(&bus);
	/* Bytes without a break are nothing. */
	KUNIT_EXPECT_FALSE(test, lin_byte(&bus, 0x55, 0));
	KUNIT_EXPECT_FALSE(test, lin_byte(&bus, 0x50, 0));
	/* no 0x55 */
	start = bus.tick;
	lin_byte(&bus, 0, LITEPULSE_RX_BREAK);
	KUNIT_ASSERT_TRUE(test, lin_byte(&bus, 0x54, 0));
	KUNIT_EXPECT_EQ(test, (int)bus.report.kind, LITEPULSE_LIN_BAD_HEADER);
	KUNIT_EXPECT_EQ(test, bus.report.tick, start);
	KUNIT_EXPECT_FALSE(test, lin_byte(&bus, 0x50, 0));
	/* wrong parity, and no stop bit */
	KUNIT_ASSERT_TRUE(test, lin_header(&bus, 0x51, 0));
	KUNIT_EXPECT_EQ(test, (int)bus.report.kind, LITEPULSE_LIN_BAD_HEADER);
	KUNIT_ASSERT_TRUE(test, lin_header(&bus, 0x50, LITEPULSE_RX_FRAMING));
	KUNIT_EXPECT_EQ(test, (int)bus.report.kind, LITEPULSE_LIN_BAD_HEADER);
	/* a second break: the header is the one behind it */
	lin_byte(&bus, 0, LITEPULSE_RX_BREAK);
	start = bus.tick;
	KUNIT_ASSERT_TRUE(test, lin_header(&bus, 0x50, 0));
	KUNIT_EXPECT_EQ(test, (int)bus.report.kind, LITEPULSE_LIN_HEADER);
	KUNIT_EXPECT_EQ(test, bus.report.tick, start);
}

/* When to look again: as early as can be, and soon for a frame of before a reset. */
static void lin_frames_are_awaited(struct kunit *test)
{
	const u64 byte = litepulse_lin_frame_bits(LIN_PERIOD, 10);
	const u64 longest = litepulse_lin_frame_bits(LIN_PERIOD, LITEPULSE_LIN_RESPONSE_BITS);
	static const struct litepulse_event restarted = { .kind = LITEPULSE_KIND_RESTARTED };
	struct lin_bus bus;
	u64 start, end;

	lin_init(&bus);
	KUNIT_EXPECT_EQ(test, litepulse_lin_frame_wait(&bus.frame, 0), 0);
	start = bus.tick;
	lin_header(&bus, 0x50, 0);
	/* An entry that is written later is not this header's. */
	KUNIT_EXPECT_EQ(test, bus.report.end, bus.tick);
	end = bus.frame.deadline + byte + 1;
	KUNIT_EXPECT_EQ(test, litepulse_lin_frame_wait(&bus.frame, bus.tick), end - bus.tick);
	KUNIT_EXPECT_EQ(test, litepulse_lin_frame_wait(&bus.frame, end - 7), 7);
	KUNIT_EXPECT_EQ(test, litepulse_lin_frame_wait(&bus.frame, end), 1);
	KUNIT_EXPECT_EQ(test, litepulse_lin_frame_wait(&bus.frame, end + 1000), 1);
	/* It has begun since that tick, at whatever distance. */
	KUNIT_EXPECT_EQ(test, litepulse_lin_frame_wait(&bus.frame, start - 999), end - start);
	/* A master that takes its time: header and response are each awaited for this long. */
	start = bus.tick;
	lin_byte(&bus, 0, LITEPULSE_RX_BREAK);
	lin_byte(&bus, 0x55, 0);
	bus.tick = start + longest;
	KUNIT_ASSERT_TRUE(test, lin_byte(&bus, 0x50, 0));
	KUNIT_EXPECT_EQ(test, litepulse_lin_frame_wait(&bus.frame, start), 2 * longest + byte + 1);
	KUNIT_EXPECT_FALSE(test, lin_byte(&bus, 0x11, 0));
	KUNIT_EXPECT_FALSE(test, lin_byte(&bus, 0x22, 0));
	bus.expected[0x10].length = 2;
	KUNIT_ASSERT_TRUE(test, lin_byte(&bus, 0xcc, 0));
	KUNIT_EXPECT_EQ(test, (int)bus.report.kind, LITEPULSE_LIN_DATA);
	/* The board was up for days, and begins at 0 again. */
	bus.tick += 1ULL << 45;
	start = bus.tick;
	lin_header(&bus, 0x50, 0);
	KUNIT_EXPECT_EQ(test, litepulse_lin_frame_wait(&bus.frame, 5000),
			bus.frame.deadline + byte + 1 - start);
	litepulse_lin_frame_take(&bus.frame, &restarted, bus.expected, &bus.report);
	KUNIT_EXPECT_EQ(test, litepulse_lin_frame_wait(&bus.frame, 5000), 0);
	bus.tick = 6000;
	KUNIT_EXPECT_TRUE(test, lin_header(&bus, 0x50, 0));
	KUNIT_EXPECT_EQ(test, (int)bus.report.kind, LITEPULSE_LIN_HEADER);
}

/* Looks so late that a break at @start has no header any more. */
static bool lin_look(struct lin_bus *bus, u64 start)
{
	bus->tick =
		start + litepulse_lin_frame_bits(LIN_PERIOD, LITEPULSE_LIN_RESPONSE_BITS + 10) + 1;
	return litepulse_lin_frame_expire(&bus->frame, bus->tick, bus->expected, &bus->report);
}

static void lin_wake_ups(struct kunit *test)
{
	static const struct litepulse_event restarted = { .kind = LITEPULSE_KIND_RESTARTED };
	struct lin_bus bus;
	u64 start;

	lin_init(&bus);
	bus.frame.wake = litepulse_lin_frame_bits(LIN_PERIOD, 3);
	/* Five bits of a silent bus. */
	start = bus.tick;
	KUNIT_ASSERT_TRUE(test, lin_byte(&bus, 0xf0, 0));
	KUNIT_EXPECT_EQ(test, (int)bus.report.kind, LITEPULSE_LIN_WAKE_UP);
	KUNIT_EXPECT_EQ(test, bus.report.tick, start);
	KUNIT_EXPECT_EQ(test, bus.report.ns, 2 * start);
	/* Three are enough, two are not. More than one pulse, or one of ours, does not count. */
	KUNIT_EXPECT_TRUE(test, lin_byte(&bus, 0xfc, 0));
	KUNIT_EXPECT_FALSE(test, lin_byte(&bus, 0xfe, 0));
	KUNIT_EXPECT_FALSE(test, lin_byte(&bus, 0xe8, 0));
	KUNIT_EXPECT_FALSE(test, lin_byte(&bus, 0xf0, LITEPULSE_RX_OWN));
	KUNIT_EXPECT_FALSE(test, lin_byte(&bus, 0xf0, LITEPULSE_RX_FRAMING));
	/* Longer than a byte. */
	start = bus.tick;
	KUNIT_EXPECT_FALSE(test, lin_byte(&bus, 0, LITEPULSE_RX_BREAK));
	KUNIT_ASSERT_TRUE(test, lin_look(&bus, start));
	KUNIT_EXPECT_EQ(test, (int)bus.report.kind, LITEPULSE_LIN_WAKE_UP);
	KUNIT_EXPECT_EQ(test, bus.report.tick, start);
	/* Our own is a header that has not become one. */
	start = bus.tick;
	KUNIT_EXPECT_FALSE(test, lin_byte(&bus, 0, LITEPULSE_RX_BREAK | LITEPULSE_RX_OWN));
	KUNIT_ASSERT_TRUE(test, lin_look(&bus, start));
	KUNIT_EXPECT_EQ(test, (int)bus.report.kind, LITEPULSE_LIN_BAD_HEADER);
	/* Soon after a frame no pulse wakes the bus. */
	bus.expected[0x10].length = 1;
	lin_header(&bus, 0x50, 0);
	lin_byte(&bus, 0x11, 0);
	KUNIT_ASSERT_TRUE(test, lin_byte(&bus, 0xee, 0));
	KUNIT_EXPECT_FALSE(test, lin_byte(&bus, 0xf0, 0));
	start = bus.tick;
	KUNIT_EXPECT_FALSE(test, lin_byte(&bus, 0, LITEPULSE_RX_BREAK));
	KUNIT_ASSERT_TRUE(test, lin_look(&bus, start));
	KUNIT_EXPECT_EQ(test, (int)bus.report.kind, LITEPULSE_LIN_BAD_HEADER);
	/* Since a reset of the board its ticks count from 0 again. */
	KUNIT_EXPECT_FALSE(test, litepulse_lin_frame_take(&bus.frame, &restarted, bus.expected,
							  &bus.report));
	bus.tick = 1;
	KUNIT_ASSERT_TRUE(test, lin_byte(&bus, 0xf0, 0));
	KUNIT_EXPECT_EQ(test, (int)bus.report.kind, LITEPULSE_LIN_WAKE_UP);
}

/* Puts a received byte; @n is its tick. */
static void lin_put(struct litepulse_lin_events *events, u64 n)
{
	const struct litepulse_event byte = { .kind = LITEPULSE_KIND_RX, .tick = n };

	litepulse_lin_events_put(events, &byte);
}

static void lin_losses_are_in_place(struct kunit *test)
{
	struct litepulse_event reset = { .kind = LITEPULSE_KIND_RESTARTED, .count = 7 };
	struct litepulse_lin_events *events = kunit_kzalloc(test, sizeof(*events), GFP_KERNEL);
	const struct litepulse_event hardware = {
		.kind = LITEPULSE_KIND_LOST, .source = LITEPULSE_SRC_QUEUE, .count = 5,
	};
	struct litepulse_event event;
	u64 n;

	KUNIT_ASSERT_NOT_NULL(test, events);
	litepulse_lin_events_init(events);
	for (n = 0; n < LITEPULSE_LIN_EVENTS + 3; n++)
		lin_put(events, n);
	/* Also without room: the board's own loss, its watchdog, a reset, another byte. */
	litepulse_lin_events_put(events, &hardware);
	litepulse_lin_events_put(events, &reset);
	reset.flags = LITEPULSE_RESTARTED_WATCHDOG;
	litepulse_lin_events_put(events, &reset);
	/* Room for two, but three are due: both reports and the byte. */
	KUNIT_EXPECT_TRUE(test, litepulse_lin_events_get(events, &event));
	KUNIT_EXPECT_TRUE(test, litepulse_lin_events_get(events, &event));
	lin_put(events, 2000);
	KUNIT_EXPECT_TRUE(test, litepulse_lin_events_get(events, &event));
	lin_put(events, 2001);
	for (n = 3; n < LITEPULSE_LIN_EVENTS; n++) {
		KUNIT_ASSERT_TRUE(test, litepulse_lin_events_get(events, &event));
		KUNIT_EXPECT_EQ(test, event.tick, n);
	}
	/* Before the byte that found room again stands what was lost. */
	KUNIT_ASSERT_TRUE(test, litepulse_lin_events_get(events, &event));
	KUNIT_EXPECT_EQ(test, event.kind, LITEPULSE_KIND_LOST);
	KUNIT_EXPECT_EQ(test, event.source, LITEPULSE_SRC_RECEIVER);
	KUNIT_EXPECT_EQ(test, event.count, 3 + 5 + 1);
	KUNIT_ASSERT_TRUE(test, litepulse_lin_events_get(events, &event));
	KUNIT_EXPECT_EQ(test, event.kind, LITEPULSE_KIND_RESTARTED);
	KUNIT_EXPECT_EQ(test, event.flags, 0);
	KUNIT_EXPECT_EQ(test, event.count, 7);
	KUNIT_ASSERT_TRUE(test, litepulse_lin_events_get(events, &event));
	KUNIT_EXPECT_EQ(test, event.tick, 2001);
	KUNIT_EXPECT_FALSE(test, litepulse_lin_events_get(events, &event));
	/* If nothing comes after a loss, it is reported last, once. */
	for (n = 0; n < LITEPULSE_LIN_EVENTS + 1; n++)
		lin_put(events, n);
	for (n = 0; n < LITEPULSE_LIN_EVENTS; n++)
		KUNIT_ASSERT_TRUE(test, litepulse_lin_events_get(events, &event));
	KUNIT_EXPECT_EQ(test, event.kind, LITEPULSE_KIND_RX);
	KUNIT_ASSERT_TRUE(test, litepulse_lin_events_get(events, &event));
	KUNIT_EXPECT_EQ(test, event.kind, LITEPULSE_KIND_LOST);
	KUNIT_EXPECT_EQ(test, event.count, 1);
	KUNIT_EXPECT_FALSE(test, litepulse_lin_events_get(events, &event));
}

/* What frames of programs mean, by the table for their users: each line covers what it names. */
static enum litepulse_lin_word lin_word(u32 flags, bool eff, bool rtr, unsigned int length,
					bool commander)
{
	const u32 flags_of_eff = flags & ~0x800;

	if (!eff) {
		if (flags & ~0x180)
			return LITEPULSE_LIN_REFUSED;
		if (length && !rtr)
			return commander ? LITEPULSE_LIN_SEND_FRAME : LITEPULSE_LIN_PUBLISH;
		return commander ? LITEPULSE_LIN_SEND_HEADER : LITEPULSE_LIN_NO_COMMANDER;
	}
	if (rtr)
		return LITEPULSE_LIN_REFUSED;
	switch (flags_of_eff) {
	case 0x000: case 0x080: case 0x100: case 0x180:
		return LITEPULSE_LIN_EXPECT;
	case 0x040: case 0x0c0: case 0x140: case 0x1c0:
		return length ? LITEPULSE_LIN_PUBLISH : LITEPULSE_LIN_STOP;
	default:
		return LITEPULSE_LIN_REFUSED;
	}
}

/* All words of a form, from identifier 0x2a, and of each length and role. */
static void lin_expect_words(struct kunit *test, u32 form, unsigned int length, bool commander)
{
	const bool eff = form & CAN_EFF_FLAG;
	enum litepulse_lin_word want, found;
	u32 flags;

	for (flags = 0; flags < (eff ? 0x40000 : CAN_SFF_MASK); flags += 0x40) {
		want = lin_word(flags, eff, form & CAN_RTR_FLAG, length, commander);
		if (form & CAN_ERR_FLAG)
			want = LITEPULSE_LIN_REFUSED;
		found = litepulse_lin_frame_word(form | flags | 0x2a, length, commander);
		KUNIT_ASSERT_EQ(test, (int)want, (int)found);
	}
}

static void lin_words_have_a_meaning(struct kunit *test)
{
	static const u32 forms[] = {
		0, CAN_RTR_FLAG, CAN_EFF_FLAG, CAN_EFF_FLAG | CAN_RTR_FLAG, CAN_ERR_FLAG,
		CAN_ERR_FLAG | CAN_EFF_FLAG,
	};
	unsigned int form, role;

	for (form = 0; form < ARRAY_SIZE(forms); form++)
		for (role = 0; role < 2; role++) {
			lin_expect_words(test, forms[form], 0, role);
			lin_expect_words(test, forms[form], 1, role);
			lin_expect_words(test, forms[form], 8, role);
		}
	/* Of the whole bus, so without identifier and data. */
	for (role = 0; role < 2; role++) {
		KUNIT_EXPECT_EQ(test, (int)LITEPULSE_LIN_SEND_WAKE,
				(int)litepulse_lin_frame_word(CAN_EFF_FLAG | 0x200, 0, role));
		KUNIT_EXPECT_EQ(test, (int)LITEPULSE_LIN_REFUSED,
				(int)litepulse_lin_frame_word(CAN_EFF_FLAG | 0x200, 1, role));
		KUNIT_EXPECT_EQ(test, (int)LITEPULSE_LIN_REFUSED,
				(int)litepulse_lin_frame_word(CAN_EFF_FLAG | 0x600, 0, role));
	}
	KUNIT_EXPECT_EQ(test, (int)LITEPULSE_LIN_SEND_SLEEP,
			(int)litepulse_lin_frame_word(CAN_EFF_FLAG | 0x400, 0, true));
	KUNIT_EXPECT_EQ(test, (int)LITEPULSE_LIN_NO_COMMANDER,
			(int)litepulse_lin_frame_word(CAN_EFF_FLAG | 0x400, 0, false));
}

static void lin_diagnostic_frames_are_classic(struct kunit *test)
{
	static const u8 request[] = { 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	struct lin_bus bus;
	unsigned int id, i;

	for (id = 0; id < LITEPULSE_LIN_IDS; id++)
		KUNIT_EXPECT_EQ(test, litepulse_lin_frame_is_enhanced(id, true), id < 60);
	KUNIT_EXPECT_FALSE(test, litepulse_lin_frame_is_enhanced(0x10, false));
	/* Also of an unknown length. The sum of the request is 0xff, its checksum 0. */
	lin_init(&bus);
	lin_header(&bus, 0x3c, 0);
	for (i = 0; i < ARRAY_SIZE(request); i++)
		lin_byte(&bus, request[i], 0);
	KUNIT_ASSERT_TRUE(test, lin_byte(&bus, 0x00, 0));
	KUNIT_EXPECT_EQ(test, (int)bus.report.kind, LITEPULSE_LIN_DATA);
	KUNIT_EXPECT_TRUE(test, bus.report.sleep);
	lin_header(&bus, 0x3c, 0);
	for (i = 0; i < ARRAY_SIZE(request); i++)
		lin_byte(&bus, request[i], 0);
	KUNIT_ASSERT_TRUE(test, lin_byte(&bus, 0xc3, 0));
	KUNIT_EXPECT_EQ(test, (int)bus.report.kind, LITEPULSE_LIN_WRONG_CHECKSUM);
	KUNIT_EXPECT_FALSE(test, bus.report.sleep);
	/* Another request. */
	lin_header(&bus, 0x3c, 0);
	for (i = 0; i < ARRAY_SIZE(request); i++)
		lin_byte(&bus, i ? 0xff : 0x01, 0);
	KUNIT_ASSERT_TRUE(test, lin_byte(&bus, 0xfe, 0));
	KUNIT_EXPECT_EQ(test, (int)bus.report.kind, LITEPULSE_LIN_DATA);
	KUNIT_EXPECT_FALSE(test, bus.report.sleep);
}

static const struct litepulse_lin_queue lin_queue = {
	.ahead = 100, .ahead_min = 100, .ahead_max = 800, .slack = 20, .horizon = 10000,
	.patience = 50, .outcome = 1000,
};

static struct litepulse_lin_queue *lin_new_queue(struct kunit *test)
{
	struct litepulse_lin_queue *queue = kunit_kzalloc(test, sizeof(*queue), GFP_KERNEL);

	if (queue)
		*queue = lin_queue;
	return queue;
}

static void lin_frames_have_a_horizon(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, litepulse_lin_queue_check(&lin_queue, 5000, 5000), -ETIME);
	KUNIT_EXPECT_EQ(test, litepulse_lin_queue_check(&lin_queue, 5000, 5001), 0);
	KUNIT_EXPECT_EQ(test, litepulse_lin_queue_check(&lin_queue, 5000, 15000), 0);
	KUNIT_EXPECT_EQ(test, litepulse_lin_queue_check(&lin_queue, 5000, 15001), -ERANGE);
	KUNIT_EXPECT_EQ(test, litepulse_lin_queue_check(&lin_queue, 5000, U64_MAX), -ERANGE);
}

/* What has no time of its own: not before the bus is free, nor long before it begins. */
static void lin_untimed_frames_wait(struct kunit *test)
{
	struct litepulse_lin_queue *queue = lin_new_queue(test);

	KUNIT_ASSERT_NOT_NULL(test, queue);
	KUNIT_EXPECT_EQ(test, litepulse_lin_queue_wait(queue, 5000), 0);
	KUNIT_EXPECT_EQ(test, litepulse_lin_queue_start(queue, 5000), 5100);
	queue->free = 5150;
	KUNIT_EXPECT_EQ(test, litepulse_lin_queue_start(queue, 5000), 5150);
	/* twice as far ahead as needed, and the slack */
	queue->free = 5220;
	KUNIT_EXPECT_EQ(test, litepulse_lin_queue_wait(queue, 5000), 0);
	queue->free = 5221;
	KUNIT_EXPECT_EQ(test, litepulse_lin_queue_wait(queue, 5000), 1);
	queue->free = 15000;
	KUNIT_EXPECT_EQ(test, litepulse_lin_queue_wait(queue, 5000), 9780);
}

static void lin_frames_are_given_in_time(struct kunit *test)
{
	static const u64 ahead[] = { 200, 400, 800, 800 };
	struct litepulse_lin_queue *queue = lin_new_queue(test);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, queue);
	for (i = 0; i < ARRAY_SIZE(ahead); i++) {
		litepulse_lin_queue_adapt(queue, true);
		KUNIT_EXPECT_EQ(test, queue->ahead, ahead[i]);
	}
	litepulse_lin_queue_adapt(queue, false);
	KUNIT_EXPECT_EQ(test, queue->ahead, 700);
	for (i = 0; i < 20; i++)
		litepulse_lin_queue_adapt(queue, false);
	KUNIT_EXPECT_EQ(test, queue->ahead, queue->ahead_min);
}

static void lin_frames_have_slots(struct kunit *test)
{
	struct litepulse_lin_queue *queue = lin_new_queue(test);
	struct litepulse_lin_slot frame = { .tick = 6000, .id = 0x10 };
	const u16 first = 0xfffe;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, queue);
	queue->tag = first - 1;
	KUNIT_EXPECT_EQ(test, litepulse_lin_queue_room(queue, 5000), 0);
	for (i = 0; i < LITEPULSE_LIN_SLOTS; i++) {
		frame.tick += 100;
		KUNIT_ASSERT_NOT_NULL(test, litepulse_lin_queue_add(queue, &frame));
	}
	KUNIT_EXPECT_NULL(test, litepulse_lin_queue_add(queue, &frame));
	/* No tag is 0, and none is there twice. */
	KUNIT_EXPECT_NULL(test, litepulse_lin_queue_find(queue, 0));
	KUNIT_EXPECT_EQ(test, litepulse_lin_queue_find(queue, first)->tick, 6100);
	KUNIT_EXPECT_EQ(test, litepulse_lin_queue_find(queue, 0xffff)->tick, 6200);
	KUNIT_EXPECT_EQ(test, litepulse_lin_queue_find(queue, 1)->tick, 6300);
	/* The next one leaves the board when its time has come. */
	KUNIT_EXPECT_EQ(test, litepulse_lin_queue_room(queue, 5000), 1100);
	KUNIT_EXPECT_EQ(test, litepulse_lin_queue_room(queue, 6100), 100);
	KUNIT_EXPECT_EQ(test, litepulse_lin_queue_room(queue, 20000), 0);
	/* That it has begun must be reported, then its header be heard. */
	KUNIT_EXPECT_NULL(test, litepulse_lin_queue_expired(queue, 7100));
	KUNIT_EXPECT_PTR_EQ(test, litepulse_lin_queue_expired(queue, 7101),
			    litepulse_lin_queue_find(queue, first));
	KUNIT_EXPECT_EQ(test, litepulse_lin_queue_due(queue, 7000), 101);
	litepulse_lin_queue_find(queue, 0xffff)->started = true;
	KUNIT_EXPECT_NULL(test, litepulse_lin_queue_expired(queue, 6250));
	KUNIT_EXPECT_PTR_EQ(test, litepulse_lin_queue_expired(queue, 6251),
			    litepulse_lin_queue_find(queue, 0xffff));
	KUNIT_EXPECT_EQ(test, litepulse_lin_queue_due(queue, 6250), 1);
	/* The board was reset: its ticks are far below those of the slots. */
	KUNIT_EXPECT_EQ(test, litepulse_lin_queue_due(queue, 1000), 5251);
	frame.tick = 1ULL << 60;
	for (i = 0; i < LITEPULSE_LIN_SLOTS; i++)
		queue->slots[i].tick = frame.tick;
	KUNIT_EXPECT_EQ(test, litepulse_lin_queue_due(queue, 1000),
			queue->horizon + queue->outcome);
}

/* A slot is free when both are known: its break has begun, and its header was received. */
static void lin_headers_are_heard(struct kunit *test)
{
	const struct litepulse_lin_slot frame = { .tick = 6000, .id = 0x10 };
	struct litepulse_lin_queue *queue = lin_new_queue(test);
	struct litepulse_lin_slot *slot;

	KUNIT_ASSERT_NOT_NULL(test, queue);
	KUNIT_EXPECT_EQ(test, litepulse_lin_queue_due(queue, 5000), U64_MAX);
	slot = litepulse_lin_queue_add(queue, &frame);
	KUNIT_ASSERT_NOT_NULL(test, slot);
	litepulse_lin_queue_hear(queue, 5999, 13);
	litepulse_lin_queue_hear(queue, 6013, 13);
	KUNIT_EXPECT_FALSE(test, slot->heard);
	litepulse_lin_queue_hear(queue, 6012, 13);
	KUNIT_EXPECT_TRUE(test, slot->heard);
	KUNIT_EXPECT_NE(test, slot->tag, 0);
	slot->heard = false;
	slot->started = true;
	litepulse_lin_queue_hear(queue, 6000, 13);
	KUNIT_EXPECT_EQ(test, slot->tag, 0);
	slot = litepulse_lin_queue_add(queue, &frame);
	litepulse_lin_queue_hear_all(queue);
	KUNIT_EXPECT_TRUE(test, slot->heard);
	KUNIT_EXPECT_NE(test, slot->tag, 0);
}

static struct kunit_case litepulse_cases[] = {
	KUNIT_CASE(rate_is_exact),
	KUNIT_CASE(rate_is_refused),
	KUNIT_CASE(ticks_and_ns_are_exact),
	KUNIT_CASE(quotients_saturate),
	KUNIT_CASE(wild_ticks_are_survived),
	KUNIT_CASE(bauds_are_nearest),
	KUNIT_CASE(ticks_are_extended),
	KUNIT_CASE(launches_are_checked),
	KUNIT_CASE(waits_are_checked),
	KUNIT_CASE(order_is_checked_where_it_is_known),
	KUNIT_CASE(entries_become_words),
	KUNIT_CASE(events_are_counted),
	KUNIT_CASE(lost_events_are_reported),
	KUNIT_CASE(losses_without_end_are_reported),
	KUNIT_CASE(bytes_are_decoded),
	KUNIT_CASE(dropped_records_are_counted),
	KUNIT_CASE(runs_have_each_tick),
	KUNIT_CASE(runs_end),
	KUNIT_CASE(plain_events_are_put_as_usual),
	KUNIT_CASE(records_at_once_are_few),
	KUNIT_CASE(who_gets_what),
	KUNIT_CASE(edges_are_chosen),
	KUNIT_CASE(clock_is_exact),
	KUNIT_CASE(clock_is_adjusted),
	KUNIT_CASE(trains_follow_the_clock),
	KUNIT_CASE(train_follows_a_rate_that_returns),
	KUNIT_CASE(fractions_of_the_clock_are_exact),
	KUNIT_CASE(periods_that_drift_are_renewed),
	KUNIT_CASE(readings_bound_the_moment),
	KUNIT_CASE(wandering_clocks_stay_within_the_bound),
	KUNIT_CASE(contradicting_readings_start_again),
	KUNIT_CASE(another_clock_is_shown),
	KUNIT_CASE(ticks_are_on_a_line),
	KUNIT_CASE(ticks_are_reachable),
	KUNIT_CASE(resets_show_in_the_ticks),
	KUNIT_CASE(packed_answer_by_hand),
	KUNIT_CASE(packed_answer_beyond_its_end),
	KUNIT_CASE(packed_answers_of_any_words),
	KUNIT_CASE(lin_parity_and_checksums),
	KUNIT_CASE(lin_frames),
	KUNIT_CASE(lin_responses_end),
	KUNIT_CASE(lin_bad_headers),
	KUNIT_CASE(lin_wake_ups),
	KUNIT_CASE(lin_frames_are_awaited),
	KUNIT_CASE(lin_losses_are_in_place),
	KUNIT_CASE(lin_words_have_a_meaning),
	KUNIT_CASE(lin_diagnostic_frames_are_classic),
	KUNIT_CASE(lin_frames_have_a_horizon),
	KUNIT_CASE(lin_untimed_frames_wait),
	KUNIT_CASE(lin_frames_are_given_in_time),
	KUNIT_CASE(lin_frames_have_slots),
	KUNIT_CASE(lin_headers_are_heard),
	{}
};

static struct kunit_suite litepulse_suite = {
	.name = "litepulse",
	.test_cases = litepulse_cases,
};

kunit_test_suite(litepulse_suite);

MODULE_DESCRIPTION("KUnit tests of the LitePulse driver");
MODULE_AUTHOR("The LitePulse authors");
MODULE_LICENSE("GPL");
