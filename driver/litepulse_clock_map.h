/* SPDX-License-Identifier: GPL-2.0-only */
/* When a tick was by the host's clocks, known from readings that take their time. Pure. */
#ifndef LITEPULSE_CLOCK_MAP_H
#define LITEPULSE_CLOCK_MAP_H

#include <linux/types.h>

#include "litepulse_time.h"

/* Two clocks never part faster than 1 in 2^10. */
#define LITEPULSE_CLOCK_DRIFT_SHIFT 10

#define LITEPULSE_CLOCK_LEVELS 6

/**
 * struct litepulse_clock_anchor - the moment of one tick
 * @tick: the tick
 * @earliest: CLOCK_MONOTONIC_RAW, ns: not before
 * @latest: not after
 */
struct litepulse_clock_anchor {
	u64 tick;
	u64 earliest;
	u64 latest;
};

/**
 * struct litepulse_clock_map - the moment of any tick
 * @coarse: nothing is assumed of the clocks but LITEPULSE_CLOCK_DRIFT_SHIFT, as a simulated board
 *	stands still now and then
 * @valid: there was a reading
 * @known: of the tick read last, by all readings
 * @slow: CLOCK_MONOTONIC_RAW gains at least this on the ticks now, 2^-32 ns per ns
 * @fast: at most this
 * @young: earlier readings, the first of each 2^25 ns, of each 2^27 ns ...
 * @old: those before them
 * @anchored: levels of @old that are there
 * @breaks: so often a reading contradicted those before it, which were forgotten then
 */
struct litepulse_clock_map {
	bool coarse;
	bool valid;
	struct litepulse_clock_anchor known;
	s32 slow;
	s32 fast;
	struct litepulse_clock_anchor young[LITEPULSE_CLOCK_LEVELS];
	struct litepulse_clock_anchor old[LITEPULSE_CLOCK_LEVELS];
	u8 anchored;
	u64 breaks;
};

/**
 * struct litepulse_clock_beside - another clock of the host, beside CLOCK_MONOTONIC_RAW
 * @readings: of both; 2 stands for more, too
 * @raw: CLOCK_MONOTONIC_RAW at the latest, ns
 * @offset: the other clock less @raw, ns
 * @error: by so much @offset may be wrong, ns
 * @span: from the reading before the latest, ns
 * @slew: what the other clock gains, 2^-32 ns per ns
 * @doubt: by how much @slew may be wrong
 * @bend: by how much @slew was another one in the last seconds
 * @jump: by how much @slew changed at once, at most, of which 1/8 is forgotten each 2^33 ns of
 *	CLOCK_MONOTONIC_RAW
 * @fault: by how much the clock was not where the readings before the latest had it, ns
 * @since: CLOCK_MONOTONIC_RAW from which on no reading is missing, ns
 * @low: the least slew between two readings of the latest 2^33 ns of CLOCK_MONOTONIC_RAW
 * @high: the most
 * @low_before: the same of the 2^33 ns before
 * @high_before: the same
 */
struct litepulse_clock_beside {
	u8 readings;
	u64 raw;
	s64 offset;
	u32 error;
	u64 span;
	s32 slew;
	u32 doubt;
	u32 bend;
	u32 jump;
	u64 fault;
	u64 since;
	s32 low;
	s32 high;
	s32 low_before;
	s32 high_before;
};

/**
 * struct litepulse_clock_view - ticks in CLOCK_MONOTONIC
 * @map: ticks in CLOCK_MONOTONIC_RAW, which nobody slews
 * @mono: CLOCK_MONOTONIC beside it
 * @newer: the same by the latest reading that was added, for litepulse_clock_map_line()
 * @older: by the one before that
 * @added: readings that were added, as far as that matters
 * @slept: CLOCK_BOOTTIME less CLOCK_MONOTONIC at the latest reading, ns
 */
struct litepulse_clock_view {
	struct litepulse_clock_map map;
	struct litepulse_clock_beside mono;
	struct litepulse_clock_beside newer;
	struct litepulse_clock_beside older;
	u8 added;
	u64 slept;
};

/**
 * struct litepulse_clock_line - ticks around one of them in CLOCK_MONOTONIC, cheaply
 * @tick: that one
 * @mono: CLOCK_MONOTONIC, ns
 * @uncertainty: by so much @mono may be wrong, ns
 * @slew: what CLOCK_MONOTONIC gains on the ticks, 2^-32 ns per ns
 * @doubt: by how much @slew may be wrong
 * @unseen: by how much the slew may have been another one for a while in @reach, without a trace
 * @hidden: by how much that has moved CLOCK_MONOTONIC at most, ns
 * @bend: by how much the slew of CLOCK_MONOTONIC may have been another one before @reach
 * @reach: how far back @doubt holds, ns; less than 2^31
 * @history: how far back @bend holds, ns
 */
struct litepulse_clock_line {
	u64 tick;
	u64 mono;
	u32 uncertainty;
	s32 slew;
	u32 doubt;
	u32 unseen;
	u32 hidden;
	u32 bend;
	u32 reach;
	u64 history;
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
void litepulse_clock_map_bounds(const struct litepulse_clock_map *map,
				const struct litepulse_rate *rate, u64 tick, u64 *earliest,
				u64 *latest);
void litepulse_clock_map_beside(struct litepulse_clock_beside *beside, u64 raw, u64 shown,
				u32 error);
u64 litepulse_clock_map_shown(const struct litepulse_clock_beside *beside, u64 raw, u64 *unsure);
u64 litepulse_clock_map_mono(const struct litepulse_clock_view *view,
			     const struct litepulse_rate *rate, u64 tick, u32 *uncertainty);
void litepulse_clock_map_line(struct litepulse_clock_view *view, const struct litepulse_rate *rate,
			      const struct litepulse_clock_anchor *reading, u64 raw, u64 mono,
			      struct litepulse_clock_line *line);
u64 litepulse_clock_map_on_line(const struct litepulse_clock_line *line,
				const struct litepulse_rate *rate, u64 tick, u32 *uncertainty);
bool litepulse_clock_map_reachable(const struct litepulse_rate *rate, u64 ticks, u64 passed,
				   bool simulated);
bool litepulse_clock_map_fell_behind(const struct litepulse_rate *rate,
				     const struct litepulse_reading *first,
				     const struct litepulse_reading *second);

#endif /* LITEPULSE_CLOCK_MAP_H */
