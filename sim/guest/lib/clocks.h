/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's clocks, and that of a PTP device. */
#ifndef CLOCKS_H
#define CLOCKS_H

#include <time.h>

#include "check.h"

#define NS	1000000000LL
#define CLOCK_OF(fd) ((clockid_t)(((unsigned int)~(fd) << 3) | 3)) /* of an open PTP clock */

static inline long long ns_of(clockid_t clock)
{
	struct timespec t;

	if (clock_gettime(clock, &t))
		die("clock_gettime");
	return t.tv_sec * NS + t.tv_nsec;
}

/* For limits of time only. */
static inline double seconds(void)
{
	return ns_of(CLOCK_MONOTONIC) * 1e-9;
}

#endif /* CLOCKS_H */
