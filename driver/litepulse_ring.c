// SPDX-License-Identifier: GPL-2.0-only
/*
 * A ring of events in memory that a program shares with the driver
 *
 * For rates at which copying costs more than all else: an event takes 16 bytes here and is written
 * once, into its place. Events are put in under litepulse.feed.lock.
 */
#include <linux/gfp.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "litepulse_compat.h"
#include "litepulse_regs.h"
#include "litepulse_ring.h"

static_assert(sizeof(struct litepulse_ring_event) == 16);
static_assert(sizeof(struct litepulse_ring_state) <= PAGE_SIZE);
static_assert(sizeof(struct litepulse_ring_event) == 4 * LITEPULSE_RUN_PER_EVENT);
/* What LITEPULSE_RUN_DATA() and LITEPULSE_RUN_FLAGS() find in a record's info word, shifted. */
static_assert(LITEPULSE_RECEIVE_INFO_DATA_SHIFT == 0);
static_assert(LITEPULSE_RECEIVE_INFO_PARITY_ERROR_SHIFT == 25 - 16);
static_assert(LITEPULSE_RECEIVE_INFO_TICK_47_32_SHIFT == 16);
/* Flags, kind and source are written at once. */
static_assert(offsetof(struct litepulse_ring_event, flags) == 12);
static_assert(offsetof(struct litepulse_ring_event, kind) == 14);
static_assert(offsetof(struct litepulse_ring_event, source) == 15);

/**
 * litepulse_ring_alloc - a ring
 * @size: events
 *
 * Return: the ring or -EINVAL or -ENOMEM.
 */
struct litepulse_ring_buffer *litepulse_ring_alloc(u32 size)
{
	struct litepulse_ring_buffer *ring;

	if (size < LITEPULSE_RING_MIN || size > LITEPULSE_RING_MAX || !is_power_of_2(size))
		return ERR_PTR(-EINVAL);
	ring = kzalloc(sizeof(*ring), GFP_KERNEL_ACCOUNT);
	if (!ring)
		return ERR_PTR(-ENOMEM);
	ring->size = size;
	/* Not vmalloc_user(), whose memory is not accounted to the program. */
	ring->page_count = 1 + DIV_ROUND_UP(size * sizeof(*ring->events), PAGE_SIZE);
	ring->pages = kvcalloc(ring->page_count, sizeof(*ring->pages), GFP_KERNEL_ACCOUNT);
	if (!ring->pages)
		goto no_memory;
	for (unsigned int i = 0; i < ring->page_count; i++) {
		ring->pages[i] = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
		if (!ring->pages[i])
			goto no_memory;
	}
	ring->state = vmap(ring->pages, ring->page_count, VM_MAP, PAGE_KERNEL);
	if (!ring->state)
		goto no_memory;
	ring->events = (void *)ring->state + PAGE_SIZE;
	return ring;

no_memory:
	litepulse_ring_free(ring);
	return ERR_PTR(-ENOMEM);
}

/* @ring may be NULL. */
void litepulse_ring_free(struct litepulse_ring_buffer *ring)
{
	if (!ring)
		return;
	vunmap(ring->state);
	for (unsigned int i = 0; ring->pages && i < ring->page_count; i++) {
		if (ring->pages[i])
			__free_page(ring->pages[i]);
	}
	kvfree(ring->pages);
	kfree(ring);
}

/**
 * litepulse_ring_map - shows the ring to a program
 * @ring: it
 * @vma: where
 *
 * Return: 0, -EINVAL if that is not all of the ring or not shared, or an error of the mapping.
 */
int litepulse_ring_map(struct litepulse_ring_buffer *ring, struct vm_area_struct *vma)
{
	if (!(vma->vm_flags & VM_SHARED) || vma->vm_pgoff ||
	    vma_pages(vma) != ring->page_count)
		return -EINVAL;
	/* It is not the program's own: neither a longer one nor in its core dump. */
	litepulse_set_vm_flags(vma, VM_DONTEXPAND | VM_DONTDUMP);
	return vm_map_pages(vma, ring->pages, ring->page_count);
}

static inline void litepulse_ring_write_at(struct litepulse_ring_event *event, u64 tick, u32 data,
					   u16 flags, u8 kind, u8 source)
{
	event->tick = tick;
	event->data = data;
#ifdef __LITTLE_ENDIAN
	*(u32 *)&event->flags = flags | (u32)kind << 16 | (u32)source << 24;
#else
	*(u32 *)&event->flags = (u32)flags << 16 | (u32)kind << 8 | source;
#endif
}

static inline void litepulse_ring_write(struct litepulse_ring_buffer *ring, u32 head, u64 tick,
					u32 data, u16 flags, u8 kind, u8 source)
{
	litepulse_ring_write_at(&ring->events[head & (ring->size - 1)], tick, data, flags, kind,
				source);
}

static inline void litepulse_ring_publish(struct litepulse_ring_buffer *ring, u32 head)
{
	ring->head = head;
	/* The program sees what was written before it. */
	smp_store_release(&ring->state->head, head);
}

/**
 * litepulse_ring_put - one event
 * @ring: has room
 * @tick: as in struct litepulse_ring_event
 * @data: likewise
 * @flags: likewise
 * @kind: likewise
 * @source: likewise
 */
void litepulse_ring_put(struct litepulse_ring_buffer *ring, u64 tick, u32 data, u16 flags, u8 kind,
			u8 source)
{
	litepulse_ring_write(ring, ring->head, tick, data, flags, kind, source);
	litepulse_ring_publish(ring, ring->head + 1);
}

/**
 * litepulse_ring_take_bytes - received bytes, straight into the ring
 * @ring: it
 * @sequence: of the receive stream, with the tick of a header read after they were stored
 * @words: its records
 * @count: how many
 *
 * The same as litepulse_record_decode_bytes() and litepulse_ring_put(), for the usual case only: it
 * stops at a record that reports a loss, and when the ring is full. No byte may be too old.
 *
 * Return: bytes taken.
 */
unsigned int litepulse_ring_take_bytes(struct litepulse_ring_buffer *ring,
				       struct litepulse_sequence *sequence, const u32 *words,
				       unsigned int count)
{
	const u64 now = sequence->tick;
	u32 head = ring->head, info;
	unsigned int i;

	count = min(count, ring->size - litepulse_ring_queued(ring));
	for (i = 0; i < count; i++, words += LITEPULSE_RECEIVE_WORDS) {
		info = words[LITEPULSE_RECEIVE_INFO / 4];
		if (!litepulse_record_is_byte(info))
			break;
		litepulse_ring_write(ring, head + i, litepulse_record_byte_tick(words, now),
				     litepulse_record_byte(info),
				     litepulse_record_byte_flags(info), LITEPULSE_KIND_RX,
				     LITEPULSE_SRC_RECEIVER);
	}
	sequence->next += i;
	if (i)
		litepulse_ring_publish(ring, head + i);
	return i;
}

/* The place of an event, which four bytes of a run have. */
static inline u32 *litepulse_ring_place(struct litepulse_ring_buffer *ring, u32 index)
{
	return (u32 *)&ring->events[index & (ring->size - 1)];
}

/*
 * How many records are bytes of one run. It ends also where the upper bits of the tick change: a
 * byte may have waited in the board for longer than the lower ones take to come round.
 */
static unsigned int litepulse_ring_run_length(const u32 *words, unsigned int count)
{
	const u32 first = words[LITEPULSE_RECEIVE_INFO / 4];
	u32 before = words[LITEPULSE_RECEIVE_TICK_LO / 4];
	unsigned int length;

	for (length = 0; length < count; length++, words += LITEPULSE_RECEIVE_WORDS) {
		const u32 low = words[LITEPULSE_RECEIVE_TICK_LO / 4];
		const u32 info = words[LITEPULSE_RECEIVE_INFO / 4];

		if (!litepulse_record_is_byte(info) || low - before > U16_MAX ||
		    (info ^ first) & LITEPULSE_RECEIVE_INFO_TICK_47_32_MASK)
			break;
		before = low;
	}
	return length;
}

/**
 * litepulse_ring_take_run - received bytes as a run, straight into the ring
 * @ring: it
 * @sequence: of the receive stream, with the tick of a header read after they were stored
 * @words: its records
 * @count: how many, at least one
 *
 * For the usual case only, as litepulse_ring_take_bytes(), which takes a byte that is alone.
 *
 * Return: bytes taken; 0 if the first record is none, or there is no room for a run.
 */
unsigned int litepulse_ring_take_run(struct litepulse_ring_buffer *ring,
				     struct litepulse_sequence *sequence, const u32 *words,
				     unsigned int count)
{
	const u32 room = ring->size - litepulse_ring_queued(ring);
	const u64 tick = litepulse_record_byte_tick(words, sequence->tick);
	u32 head = ring->head + 1, before = tick;
	unsigned int i, length;

	if (room < 2)
		return 0;
	count = min3(count, (room - 1) * LITEPULSE_RUN_PER_EVENT, (u32)LITEPULSE_RUN_MAX);
	length = litepulse_ring_run_length(words, count);
	if (length < 2)
		return litepulse_ring_take_bytes(ring, sequence, words, length);
	for (i = 0; i < length; i++, words += LITEPULSE_RECEIVE_WORDS) {
		const u32 low = words[LITEPULSE_RECEIVE_TICK_LO / 4];

		/* Flags and data lie as in the record. */
		litepulse_ring_place(ring, head + i / LITEPULSE_RUN_PER_EVENT)
			[i % LITEPULSE_RUN_PER_EVENT] =
				words[LITEPULSE_RECEIVE_INFO / 4] << 16 | (low - before);
		before = low;
	}
	litepulse_ring_write(ring, ring->head, tick, length, 0, LITEPULSE_KIND_RUN,
			     LITEPULSE_SRC_RECEIVER);
	sequence->next += length;
	litepulse_ring_publish(ring, head + LITEPULSE_RUN_PLACES(length));
	return length;
}

/**
 * litepulse_ring_events - how many events and bytes lie in some places, notes not counted
 * @ring: it; needs no lock. Nonsense if the program wrote there, or took a run in part
 * @head: number of the place behind the last
 * @count: places
 */
unsigned int litepulse_ring_events(const struct litepulse_ring_buffer *ring, u32 head,
				   unsigned int count)
{
	unsigned int found = 0, i = 0, bytes;

	while (i < count) {
		const u32 place = (head - count + i++) & (ring->size - 1);
		const struct litepulse_ring_event *event = &ring->events[place];
		const u8 kind = READ_ONCE(event->kind);

		if (kind == LITEPULSE_KIND_RUN) {
			bytes = min_t(u32, READ_ONCE(event->data), LITEPULSE_RUN_MAX);
			found += bytes;
			i += LITEPULSE_RUN_PLACES(bytes);
		} else if (kind != LITEPULSE_KIND_LOST && kind != LITEPULSE_KIND_RESTARTED) {
			found++;
		}
	}
	return found;
}

static void litepulse_ring_write_plain(void *at, u32 index, u64 tick, u64 seq, u32 data, u32 info)
{
	struct litepulse_ring_event *events = at;

	litepulse_ring_write_at(&events[index], tick, data, litepulse_record_flags(info),
				litepulse_record_kind(info), litepulse_record_source(info));
}

/**
 * litepulse_ring_take - plain records, straight into the ring
 * @ring: it
 * @selector: what is wanted
 * @since: from this tick on
 * @sequence: of the event stream
 * @words: its records
 * @count: how many
 * @put: set to how many events were put
 *
 * Return: records taken, as litepulse_record_take_plain().
 */
unsigned int litepulse_ring_take(struct litepulse_ring_buffer *ring,
				 const struct litepulse_selector *selector, u64 since,
				 struct litepulse_sequence *sequence, const u32 *words,
				 unsigned int count, unsigned int *put)
{
	const struct litepulse_record_places places = { ring->events, ring->head, ring->size - 1 };
	unsigned int taken = litepulse_record_take_plain(sequence, selector, since, words, count,
							 ring->size - litepulse_ring_queued(ring),
							 litepulse_ring_write_plain, places, put);

	if (*put)
		litepulse_ring_publish(ring, ring->head + *put);
	return taken;
}
