// SPDX-License-Identifier: GPL-2.0-only
/*
 * When a tick was, by the host's clocks, known from readings that take their time
 *
 * Each reading states that its tick was between two moments of CLOCK_MONOTONIC_RAW, a clock that
 * nobody slews. With b the board's time in ns by its nominal rate, and r CLOCK_MONOTONIC_RAW, two
 * things are assumed of r - b: its slope is at most 2^-10, and changes by at most 2^-52 per ns (two
 * oscillators that wander 0.1 ppm a second each are below 0.2 ppm; this is 0.222 ppm). Hence, over
 * x ns, if the slope is from s to f now:
 *
 *	s x - x^2 / 2^53  <=  change of r - b  <=  f x + x^2 / 2^53
 *	s - x / 2^52  <=  slope then  <=  f + x / 2^52
 *
 * and if two ticks x ns apart were from e1 to l1 and from e2 to l2, the slope at the second is from
 * (e2 - l1 - x) / x - x / 2^53 to (l2 - e1 - x) / x + x / 2^53. What was known is carried on to
 * each new reading, and intersected with what that states, which never makes it wider: so a reading
 * that took long spoils nothing. All is rounded outwards. An anchor that is dropped drops an
 * inequality, so the bounds stay true.
 *
 * A reading costs 24 products of 64 bits, and a division for each anchor that narrows the slope. An
 * empty intersection shows that something else happened, a reset of the board for example: the
 * reading that shows it is where all begins again.
 */
#include <linux/export.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/time64.h>

#include "litepulse_clock_map.h"
#include "litepulse_compat.h"

#define RATE_SHIFT 32
/* 2^-10 */
#define RATE_MOST (1 << (RATE_SHIFT - LITEPULSE_CLOCK_DRIFT_SHIFT))
/* Of ns: after a longer silence all begins again. */
#define LONGEST_SHIFT 40
/* Anchors are 2^25 ns apart, four times as many, and so on. One younger than 2^24 ns is useless. */
#define FIRST_SHIFT 25
#define SHORTEST_SHIFT 24
/* Of ns: for so long a slew is followed. */
#define SLEW_SHIFT 33
/* Of ns: in a longer interval a slew may change often, by 2^-10. */
#define CALM_SHIFT 28
#define CALM_DRIFT_SHIFT 20
/* 2^-20: in a shorter one by so much, if it has not been seen to change by more. */
#define CALM_RATE (1 << (RATE_SHIFT - CALM_DRIFT_SHIFT))
/* Of ns: a quarter of an interval that is not longer. */
#define QUARTER_SHIFT (CALM_SHIFT - 2)
/* 1/8: more is a step, not a slew. */
#define SLEW_MOST (1 << (RATE_SHIFT - 3))
/*
 * Of ns: readings for a line are added to its map so far apart, as that takes a small CPU long. The
 * first ones are 2^20 ns apart, then twice as far, and so on.
 */
#define LINE_SHIFT 25
#define LINE_FIRST_SHIFT 20

/* x^2 / 2^53, rounded up */
static u64 litepulse_clock_map_wander(u64 ns)
{
	u64 steps = (ns >> 10) + 1;

	return (steps * steps >> 33) + 1;
}

/* The quotient, rounded down */
static s64 litepulse_clock_map_div(s64 value, s64 div)
{
	s64 quotient = div64_s64(value, div);

	return quotient - (quotient * div > value);
}

/* What a rate makes of a time, rounded down; @ns has at most LONGEST_SHIFT bits. */
static s64 litepulse_clock_map_part(s32 rate, s64 ns)
{
	return rate * ns >> RATE_SHIFT;
}

static void litepulse_clock_map_begin(struct litepulse_clock_map *map,
				      const struct litepulse_clock_anchor *reading)
{
	unsigned int i;

	map->valid = true;
	map->known = *reading;
	map->slow = -RATE_MOST;
	map->fast = RATE_MOST;
	for (i = 0; i < LITEPULSE_CLOCK_LEVELS; i++)
		map->young[i] = *reading;
	map->anchored = 0;
}

/* What the time since an anchor says of the rate now. */
static void litepulse_clock_map_learn(struct litepulse_clock_map *map,
				      const struct litepulse_rate *rate,
				      const struct litepulse_clock_anchor *anchor)
{
	u64 passed = litepulse_ticks_to_ns(rate, map->known.tick - anchor->tick);
	s64 most, least, limit = passed >> LITEPULSE_CLOCK_DRIFT_SHIFT, wandered;

	if (!(passed >> SHORTEST_SHIFT) || passed >> LONGEST_SHIFT)
		return;
	wandered = (passed >> 21) + 1;
	most = map->known.latest - anchor->earliest - passed;
	least = map->known.earliest - anchor->latest - passed - 1;
	/* Without a division if it says nothing new: products have less than 63 bits. */
	if (most < limit && most > -limit &&
	    most * (1LL << RATE_SHIFT) < (map->fast - wandered) * (s64)passed)
		map->fast = min_t(s64, map->fast, 1 + wandered +
				  litepulse_clock_map_div(most * (1LL << RATE_SHIFT), passed));
	if (least < limit && least > -limit &&
	    least * (1LL << RATE_SHIFT) > (map->slow + wandered) * (s64)passed)
		map->slow = max_t(s64, map->slow, -1 - wandered +
				  litepulse_clock_map_div(least * (1LL << RATE_SHIFT), passed));
}

/**
 * litepulse_clock_map_add() - one more reading
 * @map: changed
 * @rate: of the ticks
 * @tick: read
 * @before: CLOCK_MONOTONIC_RAW, ns, not after the tick
 * @after: CLOCK_MONOTONIC_RAW, ns, not before the tick
 */
void litepulse_clock_map_add(struct litepulse_clock_map *map, const struct litepulse_rate *rate,
			     u64 tick, u64 before, u64 after)
{
	const struct litepulse_clock_anchor reading = { tick, before, after };
	u64 passed, earliest, latest;
	s64 wandered;
	unsigned int i;

	if (!map->valid || tick < map->known.tick) {
		litepulse_clock_map_begin(map, &reading);
		return;
	}
	passed = litepulse_ticks_to_ns(rate, tick - map->known.tick);
	if (passed >> LONGEST_SHIFT) {
		litepulse_clock_map_begin(map, &reading);
		return;
	}
	litepulse_clock_map_bounds(map, rate, tick, &earliest, &latest);
	/* A reset since then moves the offset by what the board had run: could that be seen? */
	if (litepulse_ticks_to_ns(rate, map->known.tick) <= latest - earliest + after - before) {
		litepulse_clock_map_begin(map, &reading);
		return;
	}
	wandered = ((passed + 1) >> 20) + 1;
	map->slow = max_t(s64, map->slow - wandered, -RATE_MOST);
	map->fast = min_t(s64, map->fast + wandered, RATE_MOST);
	map->known.tick = tick;
	map->known.earliest = max(before, earliest);
	map->known.latest = min(after, latest);
	if (map->known.earliest <= map->known.latest && !map->coarse) {
		for (i = 0; i < LITEPULSE_CLOCK_LEVELS; i++) {
			litepulse_clock_map_learn(map, rate, &map->young[i]);
			if (map->anchored & 1 << i)
				litepulse_clock_map_learn(map, rate, &map->old[i]);
		}
	}
	if (map->known.earliest > map->known.latest || map->slow > map->fast) {
		map->breaks++;
		litepulse_clock_map_begin(map, &reading);
		return;
	}
	for (i = 0; i < LITEPULSE_CLOCK_LEVELS; i++) {
		unsigned int shift = FIRST_SHIFT + 2 * i;

		if (map->young[i].latest >> shift == map->known.latest >> shift)
			continue;
		map->old[i] = map->young[i];
		map->anchored |= 1 << i;
		map->young[i] = map->known;
	}
}
EXPORT_SYMBOL_NS_GPL(litepulse_clock_map_add, LITEPULSE_NAMESPACE);

/**
 * litepulse_clock_map_bounds() - when a tick was, or will be
 * @map: with a reading
 * @rate: of the ticks
 * @tick: any
 * @earliest: answer: CLOCK_MONOTONIC_RAW, ns: not before
 * @latest: answer: not after
 */
void litepulse_clock_map_bounds(const struct litepulse_clock_map *map,
				const struct litepulse_rate *rate, u64 tick, u64 *earliest,
				u64 *latest)
{
	const struct litepulse_clock_anchor *known = &map->known;
	bool ahead = tick >= known->tick;
	u64 ticks = ahead ? tick - known->tick : known->tick - tick;
	u64 passed = litepulse_ticks_to_ns(rate, ticks);
	s64 slow, fast;
	u64 unsure;

	if (passed >> LONGEST_SHIFT) {
		fast = passed >> LITEPULSE_CLOCK_DRIFT_SHIFT;
		slow = -fast;
		unsure = 2;
	} else {
		fast = litepulse_clock_map_part(map->fast, passed + 1);
		slow = litepulse_clock_map_part(map->slow, passed + 1);
		unsure = litepulse_clock_map_wander(passed + 1) + 2;
	}
	if (ahead) {
		*earliest = known->earliest + passed + slow - unsure;
		*latest = known->latest + passed + fast + unsure;
	} else {
		*earliest = known->earliest - passed - fast - unsure;
		*latest = known->latest - passed - slow + unsure;
	}
}

/* What slews there were in the last seconds, after one more interval. */
static void litepulse_clock_map_note_slew(struct litepulse_clock_beside *next,
					  const struct litepulse_clock_beside *before, s64 change)
{
	s64 span = next->span, scaled;
	s32 least, most;

	/* A longer interval may hide something. */
	next->since = before->span >> CALM_SHIFT ? before->raw : before->since;
	next->low = before->low;
	next->high = before->high;
	next->low_before = before->low_before;
	next->high_before = before->high_before;
	if ((next->raw ^ before->raw) >> SLEW_SHIFT) {
		next->low_before = next->low;
		next->high_before = next->high;
		next->low = SLEW_MOST;
		next->high = -SLEW_MOST;
	}
	/* Else it is a step. */
	if (abs(change) < span >> 3) {
		scaled = change * (1LL << RATE_SHIFT);
		if (scaled < next->low * span)
			next->low = litepulse_clock_map_div(scaled, span);
		if (scaled > next->high * span)
			next->high = litepulse_clock_map_div(scaled, span) + 1;
	}
	least = min(next->low, next->low_before);
	most = max(next->high, next->high_before);
	next->bend = max3(next->slew - least, most - next->slew, abs(next->slew - before->slew));
}

/*
 * By how much a slew changed that put the clock @away from where it should be. It is twice the mean:
 * the interval in which it changed, or the next one, shows half of it.
 */
static u32 litepulse_clock_map_jump(u64 away, u64 span)
{
	return div64_u64(min(away, span >> 3) << (RATE_SHIFT + 1), span);
}

/**
 * litepulse_clock_map_beside() - one more reading of another clock beside CLOCK_MONOTONIC_RAW
 * @beside: changed
 * @raw: CLOCK_MONOTONIC_RAW, ns
 * @shown: the other clock, ns
 * @error: by how much @shown may be wrong, ns
 */
void litepulse_clock_map_beside(struct litepulse_clock_beside *beside, u64 raw, u64 shown,
				u32 error)
{
	struct litepulse_clock_beside next = { .readings = 1, .raw = raw, .offset = shown - raw,
					       .error = error, .doubt = RATE_MOST,
					       .jump = beside->jump, .since = raw, .low = SLEW_MOST,
					       .high = -SLEW_MOST, .low_before = SLEW_MOST,
					       .high_before = -SLEW_MOST };
	u64 span = raw - beside->raw, away, noise, doubtful, size, doubt;
	s64 change;

	if ((raw ^ beside->raw) >> SLEW_SHIFT)
		next.jump -= next.jump >> 3;
	if (beside->readings && raw > beside->raw && !(span >> SLEW_SHIFT)) {
		change = next.offset - beside->offset;
		noise = (u64)error + beside->error;
		away = abs(change - litepulse_clock_map_part(beside->slew, span));
		size = abs(change);
		doubtful = noise + (beside->doubt * span >> RATE_SHIFT) + 1;
		next.slew = beside->slew;
		next.doubt = beside->doubt;
		/* More than 1/8 is a step. */
		if (size < span >> 3) {
			if (away > doubtful)
				next.jump = max(next.jump, litepulse_clock_map_jump(away, span));
			if (noise < span >> LITEPULSE_CLOCK_DRIFT_SHIFT &&
			    (away > doubtful ||
			     noise << RATE_SHIFT < (beside->doubt - 1ULL) * span)) {
				doubt = div64_u64(noise << RATE_SHIFT, span) + 1;
				next.slew = litepulse_clock_map_div(change * (1LL << RATE_SHIFT),
								    span);
				next.doubt = doubt;
			} else if (away > doubtful) {
				/* The slew is another one, but which? */
				doubt = div64_u64(min(away + noise, span >> 2) << RATE_SHIFT,
						  span) + 1;
				next.doubt = max_t(u64, beside->doubt, doubt);
			}
		}
		next.readings = 2;
		next.span = span;
		next.fault = away + doubtful;
		litepulse_clock_map_note_slew(&next, beside, change);
	}
	*beside = next;
}
EXPORT_SYMBOL_NS_GPL(litepulse_clock_map_beside, LITEPULSE_NAMESPACE);

/* By how much a slew may change and change back between two readings, 2^-32 ns per ns. */
static u32 litepulse_clock_map_unseen(const struct litepulse_clock_beside *beside, u64 span)
{
	return max_t(u32, beside->jump, span >> CALM_SHIFT ? RATE_MOST : CALM_RATE);
}

/* How far that moves the clock at most, ns, within an interval of @span and @edge from its end. */
static u64 litepulse_clock_map_hidden(const struct litepulse_clock_beside *beside, u64 span,
				      u64 edge)
{
	u64 rate = litepulse_clock_map_unseen(beside, span);

	/* All changes are up to the rate; or one is, or is greater, and the others are up to 2^-10. */
	return min(rate * edge, min_t(u64, rate, RATE_MOST) * (span + edge)) >> RATE_SHIFT;
}

/**
 * litepulse_clock_map_shown() - what the other clock showed, or will show
 * @beside: with a reading
 * @raw: CLOCK_MONOTONIC_RAW, ns
 * @unsure: answer: by how much it may be wrong, ns
 *
 * In two successive intervals between readings the clock is taken to change its slew once, or to be
 * set once, but for changes below 2^-10, or below 2^-20 in intervals below a quarter of a second.
 * That shows: the clock is not where it should be then, and by so much the bound grows. A clock that
 * was seen to change by more in the last minutes may do so more than once, and one change can hide
 * the other. Before these intervals its slew was one of those of the last seconds.
 */
u64 litepulse_clock_map_shown(const struct litepulse_clock_beside *beside, u64 raw, u64 *unsure)
{
	const s64 most = 1LL << SLEW_SHIFT;
	s64 passed = beside->raw - raw, before = passed - (s64)beside->span;
	s64 beyond = max(-passed, before), long_ago = max(passed, -passed) - most, missing;

	*unsure = beside->error + beside->fault + (beside->span >> CALM_DRIFT_SHIFT) + 3;
	if (beyond > 0) {
		*unsure += (beside->bend * (u64)min(beyond, most) >> RATE_SHIFT) + 1 +
			(max(long_ago, 0LL) >> 3);
		*unsure += litepulse_clock_map_hidden(beside, (1 << CALM_SHIFT) - 1,
						      min(beyond, 1LL << QUARTER_SHIFT));
		missing = max_t(s64, beside->since - raw, 0);
		*unsure += passed < 0 ? beyond >> LITEPULSE_CLOCK_DRIFT_SHIFT :
			(beyond >> CALM_DRIFT_SHIFT) + (missing >> LITEPULSE_CLOCK_DRIFT_SHIFT);
	} else {
		*unsure += litepulse_clock_map_hidden(beside, beside->span, min(passed, -beyond));
	}
	return raw + beside->offset -
		litepulse_clock_map_part(beside->slew, max(min(passed, most), -most));
}

/* The clock beside CLOCK_MONOTONIC_RAW gains less than this on it in @ns, without a trace. */
static u64 litepulse_clock_map_gained(const struct litepulse_clock_beside *beside, u64 ns)
{
	u64 followed = min_t(u64, ns, 1ULL << SLEW_SHIFT);

	return (ns >> LITEPULSE_CLOCK_DRIFT_SHIFT) + 2 +
		((abs(beside->slew) + (u64)beside->bend) * followed >> RATE_SHIFT) +
		(beside->jump * followed >> RATE_SHIFT);
}

/**
 * litepulse_clock_map_mono() - the likeliest moment of a tick, CLOCK_MONOTONIC in ns
 * @view: with readings
 * @rate: of the ticks
 * @tick: any
 * @uncertainty: answer: how much earlier or later it may have been, ns
 */
u64 litepulse_clock_map_mono(const struct litepulse_clock_view *view,
			     const struct litepulse_rate *rate, u64 tick, u32 *uncertainty)
{
	u64 earliest, latest, half, unsure, ns;

	litepulse_clock_map_bounds(&view->map, rate, tick, &earliest, &latest);
	half = (latest - earliest + 1) / 2;
	ns = litepulse_clock_map_shown(&view->mono, earliest + half, &unsure);
	/* What the clock gains from the middle to an end, too. */
	unsure += half + litepulse_clock_map_gained(&view->mono, half);
	*uncertainty = min_t(u64, unsure, U32_MAX);
	return ns;
}
EXPORT_SYMBOL_NS_GPL(litepulse_clock_map_mono, LITEPULSE_NAMESPACE);

/**
 * litepulse_clock_map_line() - one more reading, and ticks around it
 * @view: changed
 * @rate: of the ticks
 * @reading: a tick between two moments of CLOCK_MONOTONIC_RAW
 * @raw: CLOCK_MONOTONIC_RAW soon after that, ns
 * @mono: CLOCK_MONOTONIC at @raw, ns
 * @line: answer
 *
 * For interrupts of a small CPU: most readings are compared with what is known only, and a tick by
 * the line takes two products.
 */
void litepulse_clock_map_line(struct litepulse_clock_view *view, const struct litepulse_rate *rate,
			      const struct litepulse_clock_anchor *reading, u64 raw, u64 mono,
			      struct litepulse_clock_line *line)
{
	const struct litepulse_clock_map *map = &view->map;
	u64 earliest, latest, half, unsure, slew, part;
	bool add = true;

	if (map->valid && reading->tick >= map->known.tick &&
	    reading->latest - map->known.latest < 1ULL << (LINE_FIRST_SHIFT + view->added)) {
		litepulse_clock_map_bounds(map, rate, reading->tick, &earliest, &latest);
		earliest = max(earliest, reading->earliest);
		latest = min(latest, reading->latest);
		add = earliest > latest;
	}
	if (add) {
		litepulse_clock_map_add(&view->map, rate, reading->tick, reading->earliest,
					reading->latest);
		earliest = map->known.earliest;
		latest = map->known.latest;
		view->older = view->newer;
		litepulse_clock_map_beside(&view->newer, raw, mono, 1);
		if (view->added < LINE_SHIFT - LINE_FIRST_SHIFT)
			view->added++;
	}
	view->mono = view->older.readings ? view->older : view->newer;
	if (raw > view->mono.raw)
		litepulse_clock_map_beside(&view->mono, raw, mono, 1);
	/* What the reading between the two has shown. */
	view->mono.jump = max(view->mono.jump, view->newer.jump);
	half = (latest - earliest + 1) / 2;
	line->tick = reading->tick;
	line->mono = litepulse_clock_map_shown(&view->mono, earliest + half, &unsure);
	unsure += half + litepulse_clock_map_gained(&view->mono, half);
	line->uncertainty = min_t(u64, unsure, U32_MAX);
	line->reach = min_t(u64, view->mono.span, 1U << CALM_SHIFT);
	line->slew = (map->slow + map->fast) / 2 + view->mono.slew;
	line->bend = view->mono.bend;
	line->history = raw - view->mono.since;
	/* Of both, and what they are together; what changes meanwhile, since the map and in @reach. */
	slew = abs(view->mono.slew);
	part = max(abs(map->slow), abs(map->fast));
	line->doubt = (map->fast - map->slow) / 2 + 2 + (2U << (CALM_SHIFT - 20));
	line->doubt += (line->doubt >> 3) + (part * slew >> RATE_SHIFT);
	line->unseen = litepulse_clock_map_unseen(&view->mono, view->mono.span);
	line->hidden = litepulse_clock_map_hidden(&view->mono, view->mono.span, line->reach);
}

/**
 * litepulse_clock_map_on_line() - the likeliest moment of a tick, CLOCK_MONOTONIC in ns
 * @line: at a tick that is not much older or younger
 * @rate: of the ticks
 * @tick: any
 * @uncertainty: answer: how much earlier or later it may have been, ns
 */
u64 litepulse_clock_map_on_line(const struct litepulse_clock_line *line,
				const struct litepulse_rate *rate, u64 tick, u32 *uncertainty)
{
	bool ahead = tick > line->tick;
	u64 age, most, unsure, beyond;
	s64 gained;

	age = litepulse_ticks_to_ns_fast(rate, ahead ? tick - line->tick : line->tick - tick);
	if (!ahead && age <= line->reach) {
		unsure = (u64)line->unseen * (u32)age >> RATE_SHIFT;
		unsure = line->uncertainty + min_t(u64, unsure, line->hidden) +
			((u64)line->doubt * (u32)age >> RATE_SHIFT) + 4;
		*uncertainty = min_t(u64, unsure, U32_MAX);
		return line->mono - age - ((s64)line->slew * (s32)age >> RATE_SHIFT);
	}
	most = min(age, 1ULL << SLEW_SHIFT);
	gained = line->slew * (s64)most >> RATE_SHIFT;
	beyond = ahead ? age : age - line->reach;
	unsure = line->uncertainty + line->hidden + (line->doubt * most >> RATE_SHIFT) + 4 +
		(line->bend * min(beyond, 1ULL << SLEW_SHIFT) >> RATE_SHIFT);
	if (ahead)
		unsure += age >> LITEPULSE_CLOCK_DRIFT_SHIFT;
	else if (age > line->history)
		unsure += (age - line->history) >> LITEPULSE_CLOCK_DRIFT_SHIFT;
	unsure += age >> LONGEST_SHIFT ? age >> (LITEPULSE_CLOCK_DRIFT_SHIFT - 1) :
		litepulse_clock_map_wander(age);
	if (age > most)
		unsure += (age - most) >> 3;
	*uncertainty = min_t(u64, unsure, U32_MAX);
	return ahead ? line->mono + age + gained : line->mono - age - gained;
}

/**
 * litepulse_clock_map_reachable() - can a board's clock have advanced by @ticks?
 * @rate: of the ticks
 * @ticks: since the reading before
 * @passed: ns of the host's CLOCK_BOOTTIME since the reading before
 * @simulated: a simulated board may run up to 1024 times faster than its clock says
 *
 * A second of tolerance covers whatever the readings themselves took.
 *
 * Return: false if a bit of the tick was wrong, or the board lies.
 */
bool litepulse_clock_map_reachable(const struct litepulse_rate *rate, u64 ticks, u64 passed,
				   bool simulated)
{
	u64 ns = litepulse_ticks_to_ns(rate, ticks);

	if (simulated)
		ns >>= 10;
	return ns <= passed + (passed >> LITEPULSE_CLOCK_DRIFT_SHIFT) + NSEC_PER_SEC;
}
EXPORT_SYMBOL_NS_GPL(litepulse_clock_map_reachable, LITEPULSE_NAMESPACE);

/**
 * litepulse_clock_map_fell_behind() - were there fewer ticks between two readings than time passed?
 * @rate: of the ticks
 * @first: reading
 * @second: one that was begun when @first was over
 *
 * Return: true if so, also if they went back: the board was reset between the two, whose ticks
 * began at 0 then.
 */
bool litepulse_clock_map_fell_behind(const struct litepulse_rate *rate,
				     const struct litepulse_reading *first,
				     const struct litepulse_reading *second)
{
	u64 passed = second->before - min(first->after, second->before), ns;

	if (second->tick < first->tick)
		return true;
	ns = litepulse_ticks_to_ns(rate, second->tick - first->tick);
	/* It was rounded down. */
	return ns + 1 < passed - (passed >> LITEPULSE_CLOCK_DRIFT_SHIFT);
}
