/* SPDX-License-Identifier: BSD-2-Clause */
/* The program's side of a ring of events. */
#ifndef RING_H
#define RING_H

#include <stdbool.h>
#include <sys/mman.h>

#include "device.h"

struct ring {
	int fd;
	struct litepulse_ring_state *state;
	struct litepulse_ring_event *events;
	uint32_t size, offset;
	uint64_t length;
	/* Of a run: its bytes that are left, and the latest one. */
	uint32_t left;
	uint32_t at;
	uint64_t tick;
};

/* Flags: as LITEPULSE_RING_PACKED, with which received bytes may come as runs. */
static inline void ring_open(struct ring *ring, int fd, unsigned int size, unsigned int flags)
{
	struct litepulse_ring wanted = { .events = size, .flags = flags };

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
	ring->left = 0;
}

/* Mapped, it is filled though its file is closed. */
static inline void ring_close(struct ring *ring)
{
	if (munmap(ring->state, ring->length) || close(ring->fd))
		die("munmap");
}

static inline uint32_t ring_head(const struct ring *ring)
{
	return __atomic_load_n(&ring->state->head, __ATOMIC_ACQUIRE);
}

/* All before this place is the driver's again. */
static inline void ring_free(struct ring *ring, uint32_t tail)
{
	__atomic_store_n(&ring->state->tail, tail, __ATOMIC_RELEASE);
}

/* The next byte of a run as an event. The places are the driver's again behind the last. */
static inline void ring_take_byte(struct ring *ring, struct litepulse_ring_event *event)
{
	const uint32_t *bytes = (const void *)ring->events;
	uint32_t byte = bytes[ring->at++ % (ring->size * LITEPULSE_RUN_PER_EVENT)];

	ring->tick += LITEPULSE_RUN_TICKS(byte);
	*event = (struct litepulse_ring_event) {
		.tick = ring->tick, .data = LITEPULSE_RUN_DATA(byte),
		.flags = LITEPULSE_RUN_FLAGS(byte), .kind = LITEPULSE_KIND_RX,
		.source = LITEPULSE_SRC_RECEIVER,
	};
	if (!--ring->left)
		ring_free(ring, LITEPULSE_RUN_PLACES(ring->at));
}

/* The next event, if there is one; of a run the next byte. */
static inline bool ring_take(struct ring *ring, struct litepulse_ring_event *event)
{
	uint32_t tail = ring->state->tail;

	if (!ring->left && tail == ring_head(ring))
		return false;
	*event = ring->events[tail & (ring->size - 1)];
	if (!ring->left && event->kind == LITEPULSE_KIND_RUN) {
		ring->left = event->data;
		ring->tick = event->tick;
		ring->at = (tail + 1) * LITEPULSE_RUN_PER_EVENT;
	}
	if (ring->left)
		ring_take_byte(ring, event);
	else
		ring_free(ring, tail + 1);
	return true;
}

#endif /* RING_H */
