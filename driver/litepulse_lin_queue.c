// SPDX-License-Identifier: GPL-2.0-only
/* Frames that the board is to send: when each begins, and what has become of it. */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>

#include "litepulse_lin_queue.h"

/**
 * litepulse_lin_queue_check - whether a frame may begin at a time that a program has chosen
 * @queue: of the board
 * @now: the board's tick
 * @tick: when it is to begin
 *
 * Return: 0, -ETIME if it has passed, or -ERANGE if it is beyond the horizon.
 */
int litepulse_lin_queue_check(const struct litepulse_lin_queue *queue, u64 now, u64 tick)
{
	if (tick <= now)
		return -ETIME;
	return tick - now > queue->horizon ? -ERANGE : 0;
}

/**
 * litepulse_lin_queue_wait - how long a frame without a time has to wait outside of the board
 * @queue: of the board
 * @now: the board's tick
 *
 * If it had a place in the board's queue, frames with a time could not come before it any more.
 *
 * Return: ticks; 0: it can be given to the board.
 */
u64 litepulse_lin_queue_wait(const struct litepulse_lin_queue *queue, u64 now)
{
	const u64 soon = now + 2 * queue->ahead + queue->slack;

	return queue->free > soon ? queue->free - soon : 0;
}

/**
 * litepulse_lin_queue_start - tick at which a frame without a time begins, if it need not wait
 * @queue: of the board
 * @now: the board's tick
 */
u64 litepulse_lin_queue_start(const struct litepulse_lin_queue *queue, u64 now)
{
	return max(now + queue->ahead, queue->free);
}

/**
 * litepulse_lin_queue_adapt - a frame without a time has begun, or came too late for the board
 * @queue: of the board
 * @late: it came too late: twice as far ahead from now on; else an eighth less
 *
 * Frames with a time do not count: another program may give them to us too late.
 */
void litepulse_lin_queue_adapt(struct litepulse_lin_queue *queue, bool late)
{
	if (late)
		queue->ahead = min(2 * queue->ahead, queue->ahead_max);
	else
		queue->ahead = max(queue->ahead - queue->ahead / 8, queue->ahead_min);
}

/**
 * litepulse_lin_queue_room - how long the board's queue stays as full as it is
 * @queue: of the board
 * @now: the board's tick
 *
 * Return: ticks until the next frame leaves it; 0: none is in it.
 */
u64 litepulse_lin_queue_room(const struct litepulse_lin_queue *queue, u64 now)
{
	const struct litepulse_lin_slot *slot;
	u64 least = 0;

	for (slot = queue->slots; slot < queue->slots + LITEPULSE_LIN_SLOTS; slot++)
		if (slot->tag && slot->tick > now && (!least || slot->tick - now < least))
			least = slot->tick - now;
	return least;
}

/**
 * litepulse_lin_queue_add - takes a slot
 * @queue: of the board
 * @frame: what is in it; its tag is found here
 *
 * Return: the slot, or NULL if none is free.
 */
struct litepulse_lin_slot *litepulse_lin_queue_add(struct litepulse_lin_queue *queue,
						   const struct litepulse_lin_slot *frame)
{
	struct litepulse_lin_slot *slot = litepulse_lin_queue_find(queue, 0);

	if (slot) {
		*slot = *frame;
		slot->tag = ++queue->tag ?: ++queue->tag;
	}
	return slot;
}

/**
 * litepulse_lin_queue_find - the slot that has a tag
 * @queue: of the board
 * @tag: which; 0: a free slot
 *
 * Return: the slot or NULL.
 */
struct litepulse_lin_slot *litepulse_lin_queue_find(struct litepulse_lin_queue *queue, u16 tag)
{
	struct litepulse_lin_slot *slot;

	for (slot = queue->slots; slot < queue->slots + LITEPULSE_LIN_SLOTS; slot++)
		if (slot->tag == tag)
			return slot;
	return NULL;
}

/* Tick by which a slot must have ended. */
static u64 litepulse_lin_queue_end(const struct litepulse_lin_queue *queue,
				   const struct litepulse_lin_slot *slot)
{
	return slot->tick + (slot->started ? queue->patience : queue->outcome);
}

/**
 * litepulse_lin_queue_expired - a slot that must have ended
 * @queue: of the board
 * @tick: all that came before it has been reported
 *
 * Return: the slot or NULL.
 */
struct litepulse_lin_slot *litepulse_lin_queue_expired(struct litepulse_lin_queue *queue, u64 tick)
{
	struct litepulse_lin_slot *slot;

	for (slot = queue->slots; slot < queue->slots + LITEPULSE_LIN_SLOTS; slot++)
		if (slot->tag && litepulse_lin_queue_end(queue, slot) < tick)
			return slot;
	return NULL;
}

/**
 * litepulse_lin_queue_hear - a header of ours was received
 * @queue: of the board
 * @tick: of its break, as received
 * @within: at most this many ticks later than it was sent
 */
void litepulse_lin_queue_hear(struct litepulse_lin_queue *queue, u64 tick, u64 within)
{
	struct litepulse_lin_slot *slot;

	for (slot = queue->slots; slot < queue->slots + LITEPULSE_LIN_SLOTS; slot++) {
		if (!slot->tag || slot->tick > tick || tick - slot->tick >= within)
			continue;
		slot->heard = true;
		if (slot->started)
			slot->tag = 0;
	}
}

/**
 * litepulse_lin_queue_hear_all - received bytes were lost: headers of ours may be among them
 * @queue: of the board
 */
void litepulse_lin_queue_hear_all(struct litepulse_lin_queue *queue)
{
	struct litepulse_lin_slot *slot;

	for (slot = queue->slots; slot < queue->slots + LITEPULSE_LIN_SLOTS; slot++) {
		slot->heard = true;
		if (slot->started)
			slot->tag = 0;
	}
}

/**
 * litepulse_lin_queue_due - how long until a slot has expired
 * @queue: of the board
 * @tick: of the board; no slot has expired by then
 *
 * Return: ticks, at most as many as a slot can take, as its tick may be from before a reset of the
 * board; U64_MAX: there is no slot.
 */
u64 litepulse_lin_queue_due(const struct litepulse_lin_queue *queue, u64 tick)
{
	const struct litepulse_lin_slot *slot;
	u64 due = U64_MAX;

	for (slot = queue->slots; slot < queue->slots + LITEPULSE_LIN_SLOTS; slot++)
		if (slot->tag)
			due = min(due, litepulse_lin_queue_end(queue, slot) + 1);
	return due == U64_MAX ? due : min(due - tick, queue->horizon + queue->outcome);
}
