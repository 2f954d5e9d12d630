// SPDX-License-Identifier: GPL-2.0-only
/*
 * When a tick was by the host's clock, known from readings that take their time
 *
 * Each reading states that its tick was between two moments. What earlier readings stated is still
 * true of a later tick if as much is added as the clocks may have drifted apart since. What both
 * state is kept, so the tightest of the latest readings counts, and the bounds are never a guess.
 */
#include <linux/export.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/time64.h>

#include "litepulse_clock_map.h"
#include "litepulse_compat.h"

/**
 * litepulse_clock_map_add() - one more reading
 * @map: changed
 * @rate: of the ticks
 * @tick: read
 * @before: CLOCK_MONOTONIC, ns, not after the tick
 * @after: CLOCK_MONOTONIC, ns, not before the tick
 */
void litepulse_clock_map_add(struct litepulse_clock_map *map, const struct litepulse_rate *rate,
			     u64 tick, u64 before, u64 after)
{
	u64 passed, parted, earliest, latest;

	if (map->valid && tick >= map->tick) {
		passed = litepulse_ticks_to_ns(rate, tick - map->tick);
		/* Rounded up, as the nanoseconds were rounded down. */
		parted = (passed >> LITEPULSE_CLOCK_DRIFT_SHIFT) + 2;
		earliest = max(before, map->earliest + passed - min(parted, passed));
		latest = min(after, map->latest + passed + parted);
		if (earliest <= latest) {
			before = earliest;
			after = latest;
		} else {
			map->breaks++;
		}
	}
	map->valid = true;
	map->tick = tick;
	map->earliest = before;
	map->latest = after;
}
EXPORT_SYMBOL_NS_GPL(litepulse_clock_map_add, LITEPULSE_NAMESPACE);

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

/**
 * litepulse_clock_map_ns() - the likeliest moment of the tick read last, CLOCK_MONOTONIC in ns
 * @map: with a reading
 */
u64 litepulse_clock_map_ns(const struct litepulse_clock_map *map)
{
	return map->earliest + (map->latest - map->earliest) / 2;
}
EXPORT_SYMBOL_NS_GPL(litepulse_clock_map_ns, LITEPULSE_NAMESPACE);

/**
 * litepulse_clock_map_uncertainty() - how much earlier or later it may have been, ns
 * @map: with a reading
 */
u32 litepulse_clock_map_uncertainty(const struct litepulse_clock_map *map)
{
	return min_t(u64, (map->latest - map->earliest + 1) / 2, U32_MAX);
}
EXPORT_SYMBOL_NS_GPL(litepulse_clock_map_uncertainty, LITEPULSE_NAMESPACE);
