/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * LIN as a SocketCAN device: what the parts of litepulse_lin.ko have in common
 *
 * Layers of litepulse_lin.ko, bottom up, as in litepulse.h:
 *   lin_frame lin_queue	pure: frames from bytes, frames that are sent
 *   lin_events		events that wait for a worker
 *   lin_respond		what the core answers
 *   lin_sysfs		attributes
 *   lin_net		the network device
 *
 * Locks, outermost first: RTNL or an attribute in use, litepulse_lin.mutex, those of litepulse.h;
 * litepulse_lin.lock is innermost.
 */
#ifndef LITEPULSE_LIN_H
#define LITEPULSE_LIN_H

#include <linux/can/dev.h>
#include <linux/completion.h>
#include <linux/device.h>
#include <linux/mutex.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>
#include <linux/sysfs.h>
#include <linux/workqueue.h>

#include "litepulse_consumer.h"
#include "litepulse_lin_events.h"
#include "litepulse_lin_frame.h"
#include "litepulse_lin_queue.h"

/**
 * struct litepulse_lin_response - what is known of an identifier, and what the core answers
 * @entry: length and whether its checksum is enhanced are those of the frame
 * @cached: the core answers with it
 * @since: a header that is complete after this tick has used it up, if @entry is for one header
 */
struct litepulse_lin_response {
	struct litepulse_lin_entry entry;
	bool cached;
	u64 since;
};

/**
 * struct litepulse_lin - a network device
 * @can: must come first
 * @lp: device that is claimed while it is up
 * @ndev: itself
 * @sink: gets bytes and outcomes
 * @events: from @sink to @receive_work
 * @timed: frames that wait for @transmit_work: with a time, or for the driver itself
 * @untimed: and those without a time, which wait for these
 * @order: number of frames that programs have sent; under the queue's lock of the kernel
 * @wq: does what follows; one item does not wait for another
 * @receive_work: frames from bytes
 * @expire_work: ends a frame for which nothing comes
 * @transmit_work: what programs have sent
 * @setup_work: takes the line and sets the board up, once more after a reset and a suspend; gives
 *	the line back. The network's lock is not held
 * @settled: @setup_work has done what the network waits for
 * @opened: number of times that the device went up; under the network's lock
 * @claimed: the line is ours; by @setup_work
 * @taken: the @wanted that it is for
 * @frame: on the bus; by receive_work and expire_work, under @frame_mutex
 * @period: of a bit, 2^-8 ticks; constant while @claimed
 * @margin: ticks after which a byte has arrived here
 * @phc: times to send at are those of the PTP clock
 * @master: role
 * @up: the board can be given entries
 * @space_ns: response space; negative: one bit time
 * @claimant: holder of the claim
 * @responses: of each identifier
 * @expected: of each identifier, as in @responses
 * @heard: the same, for the assembler; @frame_mutex
 * @queue: frames that the board has
 * @expire_at: when @expire_work is due, if it is pending, in jiffies
 * @wanted: @opened if the device is up, else 0
 * @active: @expire_work and @transmit_work may be queued
 * @awaited: the network waits for @settled
 * @error: answer to that
 */
struct litepulse_lin {
	struct can_priv can;
	struct litepulse *lp;
	struct net_device *ndev;
	struct litepulse_sink sink;
	struct litepulse_lin_events events;
	struct sk_buff_head timed;
	struct sk_buff_head untimed;
	u32 order;
	struct workqueue_struct *wq;
	struct work_struct receive_work;
	struct delayed_work expire_work;
	struct delayed_work transmit_work;
	struct delayed_work setup_work;
	struct completion settled;
	unsigned int opened;
	unsigned int taken;
	bool claimed;

	struct mutex frame_mutex; /* the assembler */
	struct litepulse_lin_frame frame;
	struct litepulse_lin_expected heard[LITEPULSE_LIN_IDS];

	u64 period;
	u64 margin;
	bool phc;

	struct mutex mutex; /* what follows, and what is written to the board */
	bool master;
	bool up;
	s64 space_ns;
	struct litepulse_claimant claimant;
	struct litepulse_lin_response responses[LITEPULSE_LIN_IDS];
	spinlock_t lock; /* what follows */
	struct litepulse_lin_expected expected[LITEPULSE_LIN_IDS];
	struct litepulse_lin_queue queue;
	unsigned long expire_at;
	unsigned int wanted;
	bool active;
	bool awaited;
	int error;
};

/* The board is set up once more, in @delay jiffies, if the device is still up then. */
static inline void litepulse_lin_set_up_in(struct litepulse_lin *lin, unsigned long delay)
{
	spin_lock_bh(&lin->lock);
	if (lin->wanted)
		mod_delayed_work(lin->wq, &lin->setup_work, delay);
	spin_unlock_bh(&lin->lock);
}

/* litepulse_lin_respond.c */
int litepulse_lin_respond_set(struct litepulse_lin *lin, struct litepulse_lin_response *response);
u64 litepulse_lin_respond_space(const struct litepulse_lin *lin);
int litepulse_lin_respond_set_space(struct litepulse_lin *lin, s64 ns);
int litepulse_lin_respond_set_up(struct litepulse_lin *lin);

/* litepulse_lin_sysfs.c */
extern const struct device_type litepulse_lin_type;
void litepulse_lin_sysfs_init(void);

#endif /* LITEPULSE_LIN_H */
