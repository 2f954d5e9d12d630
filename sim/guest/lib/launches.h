/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pulses in a row through the queue of launches: the list is made before, the queue is refilled
 * while it runs, and the outcomes are read beside that.
 */
#ifndef LAUNCHES_H
#define LAUNCHES_H

#include <stdbool.h>

#include "guest.h"

#define ROW_SILENCE_MS	3000	/* after which no more outcomes come */
#define ROW_FIFO	4096

struct launch_row {
	struct litepulse_launch *list;
	long count;
};

/* Pulses, `period` ticks apart, the first one `lead` ticks from now. */
static inline struct launch_row make_row(int fd, uint64_t lead, uint64_t period, uint32_t width,
					 long count)
{
	struct launch_row row = { calloc(count, sizeof(*row.list)), count };
	uint64_t tick = now(fd) + lead;

	if (!row.list)
		die("calloc");
	for (long i = 0; i < count; i++, tick += period)
		row.list[i] = LAUNCH(.tick = tick, .kind = LITEPULSE_LAUNCH_PULSE, .width = width,
				     .tag = i);
	return row;
}

/* A claim that gets the outcomes of launches, many at a time. */
static inline int claim_for_row(int fd)
{
	int claim = claim_device(fd, 0, O_NONBLOCK);

	subscribe(claim, WANT(KIND(TX) | KIND(REFUSED), NONE, .sources = 1u << LITEPULSE_SRC_QUEUE,
			      .fifo = ROW_FIFO, .watermark = 256, .timeout_us = 20000));
	return claim;
}

/* What became of a row. It ends with its last launch, or with the first that is too late. */
struct row_outcome {
	long got;	/* launched, each at its tick */
	long wrong;	/* records of anything else */
	long refused;	/* by the core */
	long behind;	/* number of the launch whose tick had passed when it was written, or -1 */
};

static inline void count_outcome(const struct launch_row *row, const struct litepulse_event *event,
				 struct row_outcome *outcome)
{
	const struct litepulse_launch *next = &row->list[outcome->got];

	if (event->kind == LITEPULSE_KIND_REFUSED)
		outcome->refused++;
	else if (event->kind == LITEPULSE_KIND_TX && outcome->got < row->count &&
		 event->tick == next->tick && event->data >> 16 == next->tag)
		outcome->got++;
	else
		outcome->wrong++;
}

/* `fd`: any file of the device. */
static inline struct row_outcome launch_row(int fd, int claim, const struct launch_row *row)
{
	static struct litepulse_event events[ROW_FIFO];
	struct row_outcome outcome = { .behind = -1 };
	bool ended = false;
	long next = 0;

	while (outcome.got < row->count && !outcome.refused) {
		struct pollfd p = { .fd = claim,
				    .events = POLLIN | (next < row->count ? POLLOUT : 0) };
		int found = poll(&p, 1, ROW_SILENCE_MS);
		ssize_t size;

		if (found < 0)
			die("poll");
		if (!found) {
			if (ended)
				break;
			/* On a busy machine a simulated board is late. */
			ended = now(fd) > row->list[next ? next - 1 : 0].tick;
			continue;
		}
		if (p.revents & POLLOUT) {
			size = write(claim, row->list + next,
				     (row->count - next) * sizeof(*row->list));
			if (size < 0 && errno == ETIME) {
				outcome.behind = next;
				break;
			}
			if (size < 0 && errno != EAGAIN)
				die("write");
			next += size < 0 ? 0 : size / sizeof(*row->list);
		}
		if (p.revents & POLLIN) {
			size = read(claim, events, sizeof(events));
			if (size < 0 && errno != EAGAIN)
				die("read");
			for (ssize_t i = 0; i < size / (ssize_t)sizeof(events[0]); i++)
				count_outcome(row, &events[i], &outcome);
		}
	}
	return outcome;
}

/* `row START GOT WRONG REFUSED BEHIND` */
static inline void tell_row(const struct launch_row *row, struct row_outcome outcome)
{
	printf("row %llu %ld %ld %ld %ld\n", (unsigned long long)row->list[0].tick, outcome.got,
	       outcome.wrong, outcome.refused, outcome.behind);
}

#endif /* LAUNCHES_H */
