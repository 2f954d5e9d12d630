/* SPDX-License-Identifier: GPL-2.0-only */
/* When a tick was by the host's clock, known from readings that take their time. Pure. */
#ifndef LITEPULSE_CLOCK_MAP_H
#define LITEPULSE_CLOCK_MAP_H

#include <linux/types.h>

#include "litepulse_time.h"

/* The two clocks never part faster than 1 in 2^10: two crystals, and what adjtimex() may slew. */
#define LITEPULSE_CLOCK_DRIFT_SHIFT 10

/**
 * struct litepulse_clock_map - the moment of one tick
 * @valid: there was a reading
 * @tick: the tick
 * @earliest: CLOCK_MONOTONIC, ns: not before
 * @latest: not after
 * @breaks: so often a reading contradicted those before it, which were forgotten then
 */
struct litepulse_clock_map {
	bool valid;
	u64 tick;
	u64 earliest;
	u64 latest;
	u64 breaks;
};

/**
 * struct litepulse_reading - one reading of the board's clock
 * @tick: it
 * @before: CLOCK_BOOTTIME, ns, not after the tick
 * @after: CLOCK_BOOTTIME, ns, not before the tick; 0: there was no reading
 */
struct litepulse_reading {
	u64 tick;
	u64 before;
	u64 after;
};

void litepulse_clock_map_add(struct litepulse_clock_map *map, const struct litepulse_rate *rate,
			     u64 tick, u64 before, u64 after);
bool litepulse_clock_map_reachable(const struct litepulse_rate *rate, u64 ticks, u64 passed,
				   bool simulated);
bool litepulse_clock_map_fell_behind(const struct litepulse_rate *rate,
				     const struct litepulse_reading *first,
				     const struct litepulse_reading *second);
u64 litepulse_clock_map_ns(const struct litepulse_clock_map *map);
u32 litepulse_clock_map_uncertainty(const struct litepulse_clock_map *map);

#endif /* LITEPULSE_CLOCK_MAP_H */
