/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * LIN as a SocketCAN device: what the parts of litepulse_lin.ko have in common
 *
 * Locks, outermost first: RTNL or an attribute in use, litepulse_lin.mutex, those of litepulse.h;
 * litepulse_lin.lock is innermost.
 */
#ifndef LITEPULSE_LIN_H
#define LITEPULSE_LIN_H

#include <linux/can/dev.h>
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

/* Bits of can_id above the identifier, as the line discipline sllin has them. */
#define LITEPULSE_LIN_ID_MASK	    0x3f
/* EFF to the device: the core answers headers with these data */
#define LITEPULSE_LIN_CACHED	    0x40
/* EFF and SFF to the device: the checksum takes the identifier in */
#define LITEPULSE_LIN_ENHANCED	    0x80
/* EFF to the device: one header only; SFF: as LITEPULSE_LIN_ENHANCED */
#define LITEPULSE_LIN_ONCE	    0x100
/* EFF to the device: sends a pulse that wakes the bus; from it: another node has */
#define LITEPULSE_LIN_WAKE	    0x200
/* EFF to the device: sends the master's request to sleep */
#define LITEPULSE_LIN_SLEEP	    0x400
/* EFF from the device */
#define LITEPULSE_LIN_ERR_TIMEOUT   0x4000
#define LITEPULSE_LIN_ERR_CHECKSUM  0x8000
#define LITEPULSE_LIN_ERR_FRAMING   0x10000

/**
 * struct litepulse_lin_response - what is known of an identifier, and what the core answers
 * @entry: length and whether its checksum is enhanced are those of the frame
 * @cached: the core answers with it
 * @since: a header that is complete after this tick has used it up, if @entry is for one header only
 */
struct litepulse_lin_response {
	struct litepulse_lin_entry entry;
	bool cached;
	u64 since;
};

/* The files of the folder lin_ids. */
struct litepulse_lin_attributes {
	struct attribute_group group;
	struct attribute *list[LITEPULSE_LIN_IDS + 1];
	struct device_attribute attribute[LITEPULSE_LIN_IDS];
	char name[LITEPULSE_LIN_IDS][4];
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
 * @wq: does what follows; one item does not wait for another
 * @receive_work: frames from bytes
 * @expire_work: ends a frame for which nothing comes
 * @transmit_work: what programs have sent
 * @setup_work: entries and responder once more, after a reset of the board and a suspend
 * @frame: on the bus; by receive_work and expire_work, under @frame_mutex
 * @period: of a bit, 2^-8 ticks; constant while up
 * @margin: ticks after which a byte has arrived here
 * @phc: times to send at are those of the PTP clock
 * @master: role
 * @up: the line is ours
 * @space_ns: response space; negative: one bit time
 * @claimant: holder of the claim
 * @responses: of each identifier
 * @expected: of each identifier, as in @responses
 * @heard: the same, for the assembler; @frame_mutex
 * @queue: frames that the board has
 * @expire_at: when @expire_work is due, if it is pending, in jiffies
 * @ids: attributes
 */
struct litepulse_lin {
	struct can_priv can;
	struct litepulse *lp;
	struct net_device *ndev;
	struct litepulse_sink sink;
	struct litepulse_lin_events events;
	struct sk_buff_head timed;
	struct sk_buff_head untimed;
	struct workqueue_struct *wq;
	struct work_struct receive_work;
	struct delayed_work expire_work;
	struct delayed_work transmit_work;
	struct delayed_work setup_work;

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

	struct litepulse_lin_attributes ids;
};

/* litepulse_lin_net.c */
int litepulse_lin_net_respond(struct litepulse_lin *lin,
			      const struct litepulse_lin_response *response);
int litepulse_lin_net_set_space(struct litepulse_lin *lin, s64 ns);
u64 litepulse_lin_net_space(const struct litepulse_lin *lin);

/* litepulse_lin_sysfs.c */
extern const struct attribute_group litepulse_lin_sysfs_group;
int litepulse_lin_sysfs_add_ids(struct litepulse_lin *lin);
void litepulse_lin_sysfs_remove_ids(struct litepulse_lin *lin);

#endif /* LITEPULSE_LIN_H */
