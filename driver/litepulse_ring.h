/* SPDX-License-Identifier: GPL-2.0-only */
/* A ring of events in memory that a program shares with the driver. */
#ifndef LITEPULSE_RING_H
#define LITEPULSE_RING_H

#include <asm/barrier.h>
#include <linux/types.h>

#include "litepulse_record.h"

struct page;
struct vm_area_struct;

#define LITEPULSE_RING_MIN 64
#define LITEPULSE_RING_MAX 262144

/**
 * struct litepulse_ring_buffer - a ring
 * @state: shared, so the program may write anything anywhere in it; only its @tail is read
 * @events: shared, too; read only for when an event was, and for how many there are
 * @size: events it holds, a power of two
 * @packed: received bytes may come as runs
 * @head: events ever put into it, modulo 2^32; what @state says is a copy
 * @pages: of both
 * @page_count: how many
 */
struct litepulse_ring_buffer {
	struct litepulse_ring_state *state;
	struct litepulse_ring_event *events;
	unsigned int size;
	bool packed;
	u32 head;
	struct page **pages;
	unsigned int page_count;
};

struct litepulse_ring_buffer *litepulse_ring_alloc(u32 size);
void litepulse_ring_free(struct litepulse_ring_buffer *ring);
int litepulse_ring_map(struct litepulse_ring_buffer *ring, struct vm_area_struct *vma);
void litepulse_ring_put(struct litepulse_ring_buffer *ring, u64 tick, u32 data, u16 flags, u8 kind,
			u8 source);
unsigned int litepulse_ring_take(struct litepulse_ring_buffer *ring,
				 const struct litepulse_selector *selector, u64 since,
				 struct litepulse_sequence *sequence, const u32 *words,
				 unsigned int count, unsigned int *put);
unsigned int litepulse_ring_take_bytes(struct litepulse_ring_buffer *ring,
				       struct litepulse_sequence *sequence, const u32 *words,
				       unsigned int count);
unsigned int litepulse_ring_take_run(struct litepulse_ring_buffer *ring,
				     struct litepulse_sequence *sequence, const u32 *words,
				     unsigned int count);
unsigned int litepulse_ring_events(const struct litepulse_ring_buffer *ring, u32 head,
				   unsigned int count);

/* Events that the program has not taken. One that claims more than there were gets no error. */
static inline unsigned int litepulse_ring_queued(const struct litepulse_ring_buffer *ring)
{
	/* The program is done with what it has taken before it says so. */
	u32 queued = ring->head - smp_load_acquire(&ring->state->tail);

	return queued > ring->size ? ring->size : queued;
}

/* The tick of the oldest event that the program has not taken; nonsense if it wrote there. */
static inline u64 litepulse_ring_oldest(const struct litepulse_ring_buffer *ring)
{
	u32 oldest = ring->head - litepulse_ring_queued(ring);

	return READ_ONCE(ring->events[oldest & (ring->size - 1)].tick);
}

#endif /* LITEPULSE_RING_H */
