/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Frames that the board is to send: when each begins, and what has become of it. Pure: no hardware.
 *
 * The board's queue is one for all programs and goes in the order of ticks. So no frame may stand
 * in it that begins too late, and what has no time of its own waits outside until all that has one
 * is over. What is sent is in a slot from before the board has it until its outcome is known.
 */
#ifndef LITEPULSE_LIN_QUEUE_H
#define LITEPULSE_LIN_QUEUE_H

#include <linux/types.h>

struct sk_buff;

/* More than any core can hold: a frame has at least three launches. */
#define LITEPULSE_LIN_SLOTS 32

/**
 * struct litepulse_lin_slot - a frame that the board has, or is being given
 * @tick: of its break
 * @tag: of that launch; 0: the slot is free
 * @id: identifier
 * @length: of the data that we send, bytes
 * @untimed: the driver has chosen @tick
 * @started: its break has begun
 * @heard: its header was received, or it has none, or it is not known
 * @ns: when @started, by the PTP clock
 * @skb: what a program has sent, until @started; the caller's
 */
struct litepulse_lin_slot {
	u64 tick;
	u16 tag;
	u8 id;
	u8 length;
	bool untimed;
	bool started;
	bool heard;
	u64 ns;
	struct sk_buff *skb;
};

/**
 * struct litepulse_lin_queue - all in ticks
 * @ahead: this long before it begins an untimed frame is given to the board
 * @ahead_min: at least
 * @ahead_max: at most
 * @slack: an untimed frame may be given this much earlier, to follow the one before without a gap
 * @horizon: no frame may begin later than that from now
 * @free: what was given to the board is over by then
 * @patience: this long after a frame has begun its header must have been received
 * @outcome: this long after it was to begin its outcome must have been reported, unless that was
 *	lost
 * @tag: latest tag
 * @slots: of frames
 */
struct litepulse_lin_queue {
	u64 ahead;
	u64 ahead_min;
	u64 ahead_max;
	u64 slack;
	u64 horizon;
	u64 free;
	u64 patience;
	u64 outcome;
	u16 tag;
	struct litepulse_lin_slot slots[LITEPULSE_LIN_SLOTS];
};

int litepulse_lin_queue_check(const struct litepulse_lin_queue *queue, u64 now, u64 tick);
u64 litepulse_lin_queue_wait(const struct litepulse_lin_queue *queue, u64 now);
u64 litepulse_lin_queue_start(const struct litepulse_lin_queue *queue, u64 now);
void litepulse_lin_queue_adapt(struct litepulse_lin_queue *queue, bool late);
u64 litepulse_lin_queue_room(const struct litepulse_lin_queue *queue, u64 now);
struct litepulse_lin_slot *litepulse_lin_queue_add(struct litepulse_lin_queue *queue,
						   const struct litepulse_lin_slot *frame);
struct litepulse_lin_slot *litepulse_lin_queue_find(struct litepulse_lin_queue *queue, u16 tag);
void litepulse_lin_queue_hear(struct litepulse_lin_queue *queue, u64 tick, u64 within);
void litepulse_lin_queue_hear_all(struct litepulse_lin_queue *queue);
u64 litepulse_lin_queue_due(const struct litepulse_lin_queue *queue, u64 tick);
struct litepulse_lin_slot *litepulse_lin_queue_expired(struct litepulse_lin_queue *queue, u64 tick);

#endif /* LITEPULSE_LIN_QUEUE_H */
