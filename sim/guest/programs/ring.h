/* SPDX-License-Identifier: BSD-2-Clause */
/* The program's side of a ring of events. */
#ifndef RING_H
#define RING_H

#include <stdbool.h>
#include <sys/mman.h>

#include "guest.h"

struct ring {
	int fd;
	struct litepulse_ring_state *state;
	struct litepulse_ring_event *events;
	uint32_t size, offset;
	uint64_t length;
};

static inline void ring_open(struct ring *ring, int fd, unsigned int size)
{
	struct litepulse_ring wanted = { .events = size };

	if (ioctl(fd, LITEPULSE_IOC_RING, &wanted))
		die("ring");
	ring->state = mmap(NULL, wanted.length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring->state == MAP_FAILED)
		die("mmap");
	ring->events = (void *)((char *)ring->state + wanted.offset);
	ring->fd = fd;
	ring->size = size;
	ring->offset = wanted.offset;
	ring->length = wanted.length;
}

/* The next event, if there is one. */
static inline bool ring_take(struct ring *ring, struct litepulse_ring_event *event)
{
	uint32_t tail = ring->state->tail;

	if (tail == __atomic_load_n(&ring->state->head, __ATOMIC_ACQUIRE))
		return false;
	*event = ring->events[tail & (ring->size - 1)];
	__atomic_store_n(&ring->state->tail, tail + 1, __ATOMIC_RELEASE);
	return true;
}

#endif /* RING_H */
