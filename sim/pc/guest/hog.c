// SPDX-License-Identifier: BSD-2-Clause
/*
 * Takes the CPU from everyone at SCHED_FIFO 50, for BUSY ms of each EACH ms, until it is killed.
 *
 *	hog BUSY EACH
 */
#include <err.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int argc, char **argv)
{
	const struct sched_param priority = { .sched_priority = 50 };
	long long busy, each, next;

	if (argc != 3)
		errx(2, "hog BUSY EACH");
	busy = atoll(argv[1]) * 1000000;
	each = atoll(argv[2]) * 1000000;
	if (sched_setscheduler(0, SCHED_FIFO, &priority))
		err(2, "SCHED_FIFO");
	for (next = now();; next += each) {
		const struct timespec until = { next / 1000000000, next % 1000000000 };

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		while (now() < next + busy)
			;
	}
}
