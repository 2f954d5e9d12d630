// SPDX-License-Identifier: GPL-2.0-only
/*
 * lin0: a LIN bus as a SocketCAN device
 *
 * While it is up it holds the line of a core (litepulse_consumer.h). Received bytes come from the
 * ingest; a worker makes frames of them. What programs send goes to the board by another worker,
 * in order. Responses are sent by the core itself, from its table of entries.
 *
 * can_id is that of the line discipline sllin, see uapi/linux/can_lin.h. The time stamp of a frame
 * is the PTP clock's time of a start edge: that of the break for a header, of the first byte for
 * data.
 */
#include <linux/can/error.h>
#include <linux/can/skb.h>
#include <linux/ethtool.h>
#include <linux/mod_devicetable.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/net_tstamp.h>
#include <linux/platform_device.h>
#include <linux/pm.h>
#include <linux/uaccess.h>
#include <net/sock.h>

#include "litepulse_compat.h"
#include "litepulse_lin.h"

#define DEFAULT_BITRATE 19200
/* Frames that wait to be sent until programs have to. */
#define QUEUED_MAX	16
/* How far ahead a launch is given to the board, and how late a byte may be here. */
#define AHEAD_NS	(2 * NSEC_PER_MSEC)
#define AHEAD_SLEEPS_NS (50 * NSEC_PER_MSEC)
#define AHEAD_MAX_NS	(500 * NSEC_PER_MSEC)
/* No frame may begin later, as in the queueing discipline fq; and none waits longer to be sent. */
#define HORIZON_NS	(10ULL * NSEC_PER_SEC)
/* A pulse that wakes the bus: this long at least if we send it, and if others do */
#define WAKE_US		250
#define WAKE_HEARD_NS	(150 * NSEC_PER_USEC)
/* No node has to be ready earlier. */
#define WAKE_READY_NS	(100 * NSEC_PER_MSEC)
#define MARGIN_NS	(3 * NSEC_PER_MSEC)
#define MARGIN_SLEEPS_NS (50 * NSEC_PER_MSEC)
/* The report of a launch has not been lost on the way earlier. */
#define OUTCOME_NS	NSEC_PER_SEC
#define ATTEMPTS	5
/* While a device goes up or down the network's lock is held: not longer than that for a board. */
#define SETTLE_INTERVAL	HZ
/* When the kernel tries again to set up a board that failed, unless another time was set. */
#define RESTART_MS	1000

/* LIN has up to 20 kbit/s; test equipment goes above. */
static const u32 bitrates[] = {
	1000, 1200, 2400, 4800, 5000, 9600, 10000, 10400, 10417, 14400, 15000, 19200, 20000,
	38400, 57600, 100000, 115200,
};

/* --- what has come ---------------------------------------------------------------------------- */

static void litepulse_lin_net_deliver(struct litepulse_lin *lin, canid_t id, const u8 *data,
				      u8 length, u64 ns)
{
	struct net_device *ndev = lin->ndev;
	struct can_frame *frame;
	struct sk_buff *skb = alloc_can_skb(ndev, &frame);

	if (!skb) {
		ndev->stats.rx_dropped++;
		return;
	}
	frame->can_id = id;
	frame->len = length;
	memcpy(frame->data, data, length);
	skb_hwtstamps(skb)->hwtstamp = ns_to_ktime(ns);
	ndev->stats.rx_packets++;
	ndev->stats.rx_bytes += length;
	netif_rx(skb);
}

/*
 * Only sockets that have requested errors get it. @class: CAN_ERR_*; @detail: of it; @place:
 * CAN_ERR_PROT_LOC_*
 */
static void litepulse_lin_net_deliver_error_at(struct litepulse_lin *lin, canid_t class, u8 detail,
					       u8 place, u64 ns)
{
	struct can_frame *frame;
	struct sk_buff *skb = alloc_can_err_skb(lin->ndev, &frame);

	if (!skb) {
		lin->ndev->stats.rx_dropped++;
		return;
	}
	frame->can_id |= class;
	if (class == CAN_ERR_CRTL)
		frame->data[1] = detail;
	else if (class == CAN_ERR_PROT)
		frame->data[2] = detail;
	frame->data[3] = place;
	skb_hwtstamps(skb)->hwtstamp = ns_to_ktime(ns);
	netif_rx(skb);
}

static void litepulse_lin_net_deliver_error(struct litepulse_lin *lin, canid_t class, u8 detail,
					    u64 ns)
{
	litepulse_lin_net_deliver_error_at(lin, class, detail, 0, ns);
}

/**
 * struct litepulse_lin_net_tx - of a frame that a program has sent, in its skb's cb
 * @since: when the driver got it, in jiffies
 * @time: when it is to begin, by @clock; 0: as soon as it can
 * @clock: of its socket
 * @order: number of those that the driver got before it
 * @late: so often did the board get it too late, though it has no time
 */
struct litepulse_lin_net_tx {
	unsigned long since;
	ktime_t time;
	clockid_t clock;
	u32 order;
	u32 late;
};

static struct litepulse_lin_net_tx *litepulse_lin_net_waiting(const struct sk_buff *skb)
{
	return (struct litepulse_lin_net_tx *)skb->cb;
}

/*
 * A frame that a program has sent begins on the bus, or was a word to the device: programs get it
 * back. @ns: when it has begun, by the PTP clock; 0: it is not on the bus. Takes @skb.
 */
static void litepulse_lin_net_echo(struct sk_buff *skb, u64 ns)
{
	skb_hwtstamps(skb)->hwtstamp = ns_to_ktime(ns);
	if (skb_shinfo(skb)->tx_flags & SKBTX_IN_PROGRESS)
		skb_tstamp_tx(skb, skb_hwtstamps(skb));
	/* Its socket may want no echo. */
	if (skb->pkt_type != PACKET_LOOPBACK) {
		dev_consume_skb_any(skb);
		return;
	}
	skb->pkt_type = PACKET_BROADCAST;
	netif_rx(skb);
}

/* It goes behind those that the driver got before it. Takes @skb. */
static void litepulse_lin_net_put_back(struct sk_buff_head *frames, struct sk_buff *skb)
{
	const u32 order = litepulse_lin_net_waiting(skb)->order;
	struct sk_buff *next;
	unsigned long flags;

	spin_lock_irqsave(&frames->lock, flags);
	skb_queue_walk(frames, next)
		if ((s32)(litepulse_lin_net_waiting(next)->order - order) > 0)
			break;
	__skb_queue_before(frames, next, skb);
	spin_unlock_irqrestore(&frames->lock, flags);
}

/* A response that is sent only once has been sent: the core has dropped it. */
static void litepulse_lin_net_use_up(struct litepulse_lin *lin, u8 id, u64 end)
{
	struct litepulse_lin_response *response = &lin->responses[id];

	mutex_lock(&lin->mutex);
	if (response->cached && response->entry.flags & LITEPULSE_LIN_ENTRY_ONCE &&
	    end > response->since)
		response->cached = false;
	mutex_unlock(&lin->mutex);
}

static void litepulse_lin_net_deliver_report(struct litepulse_lin *lin,
					     const struct litepulse_lin_report *report)
{
	struct net_device_stats *stats = &lin->ndev->stats;
	canid_t id = report->id;

	switch (report->kind) {
	case LITEPULSE_LIN_HEADER:
		if (READ_ONCE(lin->responses[id].entry.flags) & LITEPULSE_LIN_ENTRY_ONCE)
			litepulse_lin_net_use_up(lin, id, report->end);
		if (report->own) {
			spin_lock_bh(&lin->lock);
			litepulse_lin_queue_hear(&lin->queue, report->tick,
						 litepulse_lin_frame_bits(lin->period,
									  LITEPULSE_LIN_BREAK));
			spin_unlock_bh(&lin->lock);
		}
		/* All programs know of it by its echo. */
		if (!(report->own && lin->master))
			litepulse_lin_net_deliver(lin, id | CAN_RTR_FLAG, NULL, 0, report->ns);
		return;
	case LITEPULSE_LIN_DATA:
		litepulse_lin_net_deliver(lin, id, report->data, report->length, report->ns);
		if (report->sleep)
			litepulse_lin_net_deliver(lin, CAN_LIN_SLEEP | CAN_EFF_FLAG, NULL, 0,
						  report->ns);
		return;
	case LITEPULSE_LIN_WAKE_UP:
		litepulse_lin_net_deliver(lin, CAN_LIN_WAKE | CAN_EFF_FLAG, NULL, 0,
					  report->ns);
		return;
	case LITEPULSE_LIN_NO_RESPONSE:
		stats->rx_errors++;
		id |= CAN_LIN_ERR_NO_RESPONSE;
		litepulse_lin_net_deliver_error(lin, CAN_ERR_ACK, 0, report->ns);
		break;
	case LITEPULSE_LIN_WRONG_CHECKSUM:
		stats->rx_errors++;
		stats->rx_crc_errors++;
		id |= CAN_LIN_ERR_CHECKSUM;
		litepulse_lin_net_deliver_error_at(lin, CAN_ERR_PROT, CAN_ERR_PROT_FORM,
						   CAN_ERR_PROT_LOC_CRC_SEQ, report->ns);
		break;
	case LITEPULSE_LIN_FRAMING:
		stats->rx_errors++;
		stats->rx_frame_errors++;
		id |= CAN_LIN_ERR_FRAMING;
		litepulse_lin_net_deliver_error_at(lin, CAN_ERR_PROT, CAN_ERR_PROT_FORM,
						   CAN_ERR_PROT_LOC_DATA, report->ns);
		break;
	default:
		stats->rx_errors++;
		stats->rx_frame_errors++;
		litepulse_lin_net_deliver_error(lin, CAN_ERR_PROT, CAN_ERR_PROT_FORM, report->ns);
		return;
	}
	litepulse_lin_net_deliver(lin, id | CAN_EFF_FLAG, NULL, 0, report->ns);
}

/* The break of a frame that we send has begun. */
static void litepulse_lin_net_take_sent(struct litepulse_lin *lin,
					const struct litepulse_event *event)
{
	struct litepulse_lin_slot *slot;
	struct sk_buff *skb = NULL;

	spin_lock_bh(&lin->lock);
	slot = litepulse_lin_queue_find(&lin->queue, event->data >> 16);
	if (slot && !slot->started) {
		swap(skb, slot->skb);
		lin->ndev->stats.tx_packets++;
		lin->ndev->stats.tx_bytes += slot->length;
		if (slot->untimed)
			litepulse_lin_queue_adapt(&lin->queue, false);
		slot->started = true;
		slot->ns = event->ns;
		if (slot->heard)
			slot->tag = 0;
	}
	spin_unlock_bh(&lin->lock);
	if (skb)
		litepulse_lin_net_echo(skb, event->ns);
}

/* A break whose header must have been received by now has none. */
static void litepulse_lin_net_deliver_unheard(struct litepulse_lin *lin,
					      const struct litepulse_lin_slot *slot)
{
	lin->ndev->stats.tx_errors++;
	litepulse_lin_net_deliver_error(lin, CAN_ERR_PROT, CAN_ERR_PROT_TX, slot->ns);
	litepulse_lin_net_deliver(lin, slot->id | CAN_LIN_ERR_NO_RESPONSE | CAN_EFF_FLAG, NULL, 0,
				  slot->ns);
}

/* A launch was refused, or the core could not answer. */
static void litepulse_lin_net_deliver_missed(struct litepulse_lin *lin,
					     const struct litepulse_event *event)
{
	const u8 reason = event->flags & 0xff;
	canid_t class;

	lin->ndev->stats.tx_errors++;
	class = reason == LITEPULSE_REASON_BUSY ? CAN_ERR_LOSTARB : CAN_ERR_TX_TIMEOUT;
	litepulse_lin_net_deliver_error(lin, class, 0, event->ns);
}

/* Frames are sent, in @delay jiffies at the latest, unless the line is given up. */
static void litepulse_lin_net_transmit_in(struct litepulse_lin *lin, unsigned long delay)
{
	spin_lock_bh(&lin->lock);
	if (lin->active && (!delay || !delayed_work_pending(&lin->transmit_work)))
		mod_delayed_work(lin->wq, &lin->transmit_work, delay);
	spin_unlock_bh(&lin->lock);
}

/*
 * The board could not send a frame. If it got it too late and the driver had chosen its time, the
 * frame is given to it again, sooner: a program that writes to a CAN socket expects that.
 */
static void litepulse_lin_net_take_refused(struct litepulse_lin *lin,
					   const struct litepulse_event *event)
{
	const bool late = (event->flags & 0xff) == LITEPULSE_REASON_LATE;
	struct litepulse_lin_slot *slot;
	struct sk_buff *skb = NULL;
	bool again = false;

	spin_lock_bh(&lin->lock);
	slot = litepulse_lin_queue_find(&lin->queue, event->data >> 16);
	if (slot) {
		swap(skb, slot->skb);
		again = skb && slot->untimed && late;
		if (again)
			litepulse_lin_queue_adapt(&lin->queue, true);
		slot->tag = 0;
	}
	spin_unlock_bh(&lin->lock);
	if (again && ++litepulse_lin_net_waiting(skb)->late < ATTEMPTS) {
		litepulse_lin_net_put_back(&lin->untimed, skb);
		litepulse_lin_net_transmit_in(lin, 0);
		return;
	}
	dev_kfree_skb_any(skb);
	litepulse_lin_net_deliver_missed(lin, event);
}

static void litepulse_lin_net_overflow(struct litepulse_lin *lin, u64 count)
{
	lin->ndev->stats.rx_over_errors += count;
	lin->ndev->stats.rx_errors += count;
	litepulse_lin_net_deliver_error(lin, CAN_ERR_CRTL, CAN_ERR_CRTL_RX_OVERFLOW, 0);
}

/* The board lacks what it was given, and until it has it again nothing is sent. */
static void litepulse_lin_net_set_up_soon(struct litepulse_lin *lin)
{
	if (lin->can.state == CAN_STATE_ERROR_ACTIVE)
		lin->can.state = CAN_STATE_STOPPED;
	litepulse_lin_set_up_in(lin, 0);
}

static void litepulse_lin_net_take_event(struct litepulse_lin *lin,
					 const struct litepulse_event *event)
{
	struct litepulse_lin_report report;

	switch (event->kind) {
	/* Of its break; else the frame is not whole, which what is received shows. */
	case LITEPULSE_KIND_TX:
		if (event->data >> 16)
			litepulse_lin_net_take_sent(lin, event);
		return;
	case LITEPULSE_KIND_REFUSED:
		if (event->data >> 16)
			litepulse_lin_net_take_refused(lin, event);
		return;
	case LITEPULSE_KIND_RESPONDER_MISSED:
		litepulse_lin_net_deliver_missed(lin, event);
		return;
	case LITEPULSE_KIND_LOST:
		litepulse_lin_net_overflow(lin, event->count);
		if (event->source != LITEPULSE_SRC_RECEIVER)
			return;
		spin_lock_bh(&lin->lock);
		litepulse_lin_queue_hear_all(&lin->queue);
		spin_unlock_bh(&lin->lock);
		break;
	case LITEPULSE_KIND_RESTARTED:
		litepulse_lin_net_deliver_error(lin, CAN_ERR_RESTARTED, 0, 0);
		litepulse_lin_net_set_up_soon(lin);
		break;
	default:
		break;
	}
	if (litepulse_lin_frame_take(&lin->frame, event, lin->heard, &report))
		litepulse_lin_net_deliver_report(lin, &report);
}

/* All that has come; frame_mutex is held. */
static void litepulse_lin_net_take_events(struct litepulse_lin *lin)
{
	struct litepulse_event event;

	lockdep_assert_held(&lin->frame_mutex);
	spin_lock_bh(&lin->lock);
	memcpy(lin->heard, lin->expected, sizeof(lin->heard));
	spin_unlock_bh(&lin->lock);
	while (litepulse_lin_events_get(&lin->events, &event))
		litepulse_lin_net_take_event(lin, &event);
}

/* Looks at the frame on the bus, and at what was sent, in @ticks at the latest. */
static void litepulse_lin_net_expire_in(struct litepulse_lin *lin, u64 ticks)
{
	const u64 ns = litepulse_ticks_to_ns(&lin->lp->rate, ticks);
	const unsigned long delay = nsecs_to_jiffies(ns) + 1;

	spin_lock_bh(&lin->lock);
	if (lin->active && (!delayed_work_pending(&lin->expire_work) ||
			    time_before(jiffies + delay, lin->expire_at))) {
		lin->expire_at = jiffies + delay;
		mod_delayed_work(lin->wq, &lin->expire_work, delay);
	}
	spin_unlock_bh(&lin->lock);
}

/* Looks at the frame again when it must be over; @tick: so late is it. */
static void litepulse_lin_net_expire_later(struct litepulse_lin *lin, u64 tick)
{
	const u64 wait = litepulse_lin_frame_wait(&lin->frame, tick);

	if (wait)
		litepulse_lin_net_expire_in(lin, wait + lin->margin);
}

/* Ends slots whose time is over; @tick: all before it is known. */
static void litepulse_lin_net_expire_slots(struct litepulse_lin *lin, u64 tick)
{
	struct litepulse_lin_slot *slot, ended = { };
	u64 due;

	for (;;) {
		spin_lock_bh(&lin->lock);
		slot = litepulse_lin_queue_expired(&lin->queue, tick);
		if (slot) {
			ended = *slot;
			slot->tag = 0;
			slot->skb = NULL;
		}
		due = litepulse_lin_queue_due(&lin->queue, tick);
		spin_unlock_bh(&lin->lock);
		if (!slot)
			break;
		if (!ended.heard)
			litepulse_lin_net_deliver_unheard(lin, &ended);
		else if (ended.skb)
			lin->ndev->stats.tx_errors++;
		/* The report of its outcome was lost, and that was reported. */
		dev_kfree_skb_any(ended.skb);
	}
	if (due != U64_MAX)
		litepulse_lin_net_expire_in(lin, due);
}

static void litepulse_lin_net_receive_work(struct work_struct *work)
{
	struct litepulse_lin *lin =
		container_of(work, struct litepulse_lin, receive_work);

	mutex_lock(&lin->frame_mutex);
	litepulse_lin_net_take_events(lin);
	litepulse_lin_net_expire_later(lin, lin->frame.break_tick);
	mutex_unlock(&lin->frame_mutex);
}

static void litepulse_lin_net_expire_work(struct work_struct *work)
{
	struct litepulse_lin *lin = container_of(to_delayed_work(work), struct litepulse_lin,
						 expire_work);
	const u64 second = litepulse_ns_to_ticks(&lin->lp->rate, NSEC_PER_SEC);
	struct litepulse_lin_report report;
	u64 tick;
	int error;

	error = litepulse_consumer_seen(lin->lp, &tick);
	if (error) {
		/* No further byte need come. */
		if (error != -ENODEV)
			litepulse_lin_net_expire_in(lin, second);
		return;
	}
	mutex_lock(&lin->frame_mutex);
	litepulse_lin_net_take_events(lin);
	if (tick > lin->margin &&
	    litepulse_lin_frame_expire(&lin->frame, tick - lin->margin, lin->heard, &report))
		litepulse_lin_net_deliver_report(lin, &report);
	litepulse_lin_net_expire_slots(lin, tick);
	litepulse_lin_net_expire_later(lin, tick);
	mutex_unlock(&lin->frame_mutex);
}

static void litepulse_lin_net_put_event(struct litepulse_sink *sink,
					const struct litepulse_record *record, u32 data,
					const struct litepulse_stamp *stamp)
{
	struct litepulse_lin *lin = container_of(sink, struct litepulse_lin, sink);
	const struct litepulse_event event = litepulse_sink_event(record, data, stamp);

	litepulse_lin_events_put(&lin->events, &event);
}

static void litepulse_lin_net_events_done(struct litepulse_sink *sink)
{
	struct litepulse_lin *lin = container_of(sink, struct litepulse_lin, sink);

	queue_work(lin->wq, &lin->receive_work);
}

/* --- setting the board up -------------------------------------------------------------------- */

/* Forgets all that the board was given. Returns how many of these frames have not begun. */
static unsigned int litepulse_lin_net_clear_slots(struct litepulse_lin *lin)
{
	struct litepulse_lin_slot *slot;
	struct sk_buff_head gone;
	unsigned int count;

	__skb_queue_head_init(&gone);
	spin_lock_bh(&lin->lock);
	for (slot = lin->queue.slots; slot < lin->queue.slots + LITEPULSE_LIN_SLOTS; slot++) {
		if (slot->skb)
			__skb_queue_tail(&gone, slot->skb);
		slot->skb = NULL;
		slot->tag = 0;
	}
	lin->queue.free = 0;
	spin_unlock_bh(&lin->lock);
	count = skb_queue_len(&gone);
	__skb_queue_purge(&gone);
	return count;
}

/* What the board was given is gone: it is not sent, and its outcome will not be reported. */
static void litepulse_lin_net_drop_slots(struct litepulse_lin *lin)
{
	const unsigned int dropped = litepulse_lin_net_clear_slots(lin);

	if (!dropped)
		return;
	lin->ndev->stats.tx_errors += dropped;
	lin->ndev->stats.tx_dropped += dropped;
	litepulse_lin_net_deliver_error(lin, CAN_ERR_TX_TIMEOUT, 0, 0);
}

/*
 * The board could not be set up. The kernel restarts it: after restart-ms, or when a user asks for
 * it. @lock is held.
 */
static void litepulse_lin_net_bus_off(struct litepulse_lin *lin)
{
	struct can_frame *frame = NULL;
	struct sk_buff *skb = alloc_can_err_skb(lin->ndev, &frame);

	can_change_state(lin->ndev, frame, CAN_STATE_BUS_OFF, CAN_STATE_BUS_OFF);
	can_bus_off(lin->ndev);
	if (skb)
		netif_rx(skb);
}

/* The kernel ends bus-off: it holds RTNL, so that the board is not waited for here. */
static int litepulse_lin_net_set_mode(struct net_device *ndev, enum can_mode mode)
{
	struct litepulse_lin *lin = netdev_priv(ndev);

	if (mode != CAN_MODE_START)
		return -EOPNOTSUPP;
	lin->can.state = CAN_STATE_STOPPED;
	litepulse_lin_set_up_in(lin, 0);
	return 0;
}

/* --- what is to be sent ----------------------------------------------------------------------- */

/* Of data without CAN_EFF_FLAG, which a responder publishes, it is as known unless they say. */
static bool litepulse_lin_net_is_enhanced(struct litepulse_lin *lin, const struct can_frame *frame)
{
	const u8 id = frame->can_id & CAN_LIN_ID_MASK;
	const u8 known = READ_ONCE(lin->responses[id].entry.flags);

	if (frame->can_id & CAN_EFF_FLAG)
		return frame->can_id & CAN_LIN_ENHANCED;
	return frame->can_id & (CAN_LIN_ENHANCED | CAN_LIN_ONCE) ||
	       known & LITEPULSE_LIN_ENTRY_ENHANCED;
}

static int litepulse_lin_net_configure(struct litepulse_lin *lin, const struct can_frame *frame,
				       bool publish)
{
	struct litepulse_lin_response response = {
		.entry.id = frame->can_id & CAN_LIN_ID_MASK,
		.entry.length = frame->len,
		.cached = publish,
	};

	if (litepulse_lin_net_is_enhanced(lin, frame))
		response.entry.flags |= LITEPULSE_LIN_ENTRY_ENHANCED;
	if (frame->can_id & CAN_EFF_FLAG && frame->can_id & CAN_LIN_ONCE)
		response.entry.flags |= LITEPULSE_LIN_ENTRY_ONCE;
	memcpy(response.entry.data, frame->data, frame->len);
	return litepulse_lin_respond_set(lin, &response);
}

/* Tick at which a frame is to begin that has a time. */
static int litepulse_lin_net_launch_tick(struct litepulse_lin *lin, const struct sk_buff *skb,
					 u64 *tick)
{
	ktime_t at = litepulse_lin_net_waiting(skb)->time;
	const clockid_t clock = litepulse_lin_net_waiting(skb)->clock;
	struct litepulse_time time;
	int error;

	if (clock != CLOCK_MONOTONIC && READ_ONCE(lin->phc))
		return litepulse_ptp_tick(lin->lp, ktime_to_ns(at), tick);
	if (clock == CLOCK_REALTIME)
		at = ktime_sub(at, ktime_mono_to_any(0, TK_OFFS_REAL));
	else if (clock == CLOCK_TAI)
		at = ktime_sub(at, ktime_mono_to_any(0, TK_OFFS_TAI));
	else if (clock != CLOCK_MONOTONIC)
		return -EINVAL;
	error = litepulse_consumer_time(lin->lp, &time);
	if (error)
		return error;
	if (at <= (s64)time.monotonic)
		return -ETIME;
	*tick = time.tick + litepulse_ns_to_ticks(&lin->lp->rate, at - time.monotonic);
	return 0;
}

/* What the standard allows a frame of @length data bytes, in bit times: 1.4 times its length. */
static unsigned int litepulse_lin_net_frame_bits(unsigned int length)
{
	return DIV_ROUND_UP(14 * (34 + LITEPULSE_LIN_BYTE_BITS * (length + 1)), 10);
}

/*
 * Tick at which what is sent begins, from @now on; -EAGAIN: it waits, at least @wait ticks. -ETIME
 * or -ERANGE: a program wants it too early or too late.
 */
static int litepulse_lin_net_start_tick(struct litepulse_lin *lin, const struct sk_buff *skb,
					u64 now, u64 *start, u64 *wait)
{
	int error;

	if (litepulse_lin_net_waiting(skb)->time)
		return litepulse_lin_net_launch_tick(lin, skb, start) ?:
			litepulse_lin_queue_check(&lin->queue, now, *start);
	spin_lock_bh(&lin->lock);
	*wait = litepulse_lin_queue_wait(&lin->queue, now);
	*start = litepulse_lin_queue_start(&lin->queue, now);
	error = *wait ? -EAGAIN : 0;
	spin_unlock_bh(&lin->lock);
	return error;
}

/*
 * Gives a frame to the board. The next frame without a time of its own begins no earlier than @over
 * ticks after it has begun.
 */
static int litepulse_lin_net_launch(struct litepulse_lin *lin,
				    const struct litepulse_lin_slot *frame,
				    struct litepulse_launch *launches, unsigned int count,
				    u64 over)
{
	struct litepulse_lin_slot *slot;
	struct sk_buff *skb = NULL;
	bool flushed;
	int error;

	spin_lock_bh(&lin->lock);
	slot = litepulse_lin_queue_add(&lin->queue, frame);
	if (slot) {
		launches[0].tag = slot->tag;
		skb_get(slot->skb);
	}
	spin_unlock_bh(&lin->lock);
	if (!slot)
		return -EAGAIN;
	error = litepulse_consumer_launch(lin->lp, &lin->claimant, launches, count, &flushed);
	spin_lock_bh(&lin->lock);
	if (!error) {
		lin->queue.free = frame->tick + over;
	} else if (slot->tag == launches[0].tag) {
		swap(skb, slot->skb);
		slot->tag = 0;
	}
	spin_unlock_bh(&lin->lock);
	dev_consume_skb_any(skb);
	if (flushed)
		litepulse_lin_net_drop_slots(lin);
	return error;
}

/* A pulse that wakes the bus. */
static int litepulse_lin_net_send_wake(struct litepulse_lin *lin, struct litepulse_lin_slot *slot)
{
	struct litepulse_launch pulse = {
		.tick = slot->tick,
		.kind = LITEPULSE_LAUNCH_BREAK,
		.data = DIV_ROUND_UP(lin->can.bittiming.bitrate * WAKE_US, USEC_PER_SEC),
	};

	slot->heard = true;
	return litepulse_lin_net_launch(lin, slot, &pulse, 1,
					litepulse_ns_to_ticks(&lin->lp->rate, WAKE_READY_NS));
}

/* Header, and response if it has one. */
static int litepulse_lin_net_send_frame(struct litepulse_lin *lin, const struct can_frame *frame,
					struct litepulse_lin_slot *slot)
{
	const u8 id = frame->can_id & CAN_LIN_ID_MASK;
	const u8 length = frame->can_id & CAN_RTR_FLAG ? 0 : frame->len;
	struct litepulse_launch launches[LITEPULSE_CONSUMER_LAUNCHES] = { };
	const u8 pid = litepulse_lin_frame_pid(id);
	const struct litepulse_lin_entry *known = &lin->responses[id].entry;
	bool enhanced = litepulse_lin_frame_is_enhanced(id,
							litepulse_lin_net_is_enhanced(lin, frame));
	unsigned int count, bits, i;

	launches[0].kind = LITEPULSE_LAUNCH_BREAK;
	launches[0].data = LITEPULSE_LIN_BREAK;
	launches[1].data = LITEPULSE_LIN_SYNC;
	launches[2].data = pid;
	count = 3;
	if (length) {
		for (i = 0; i < length; i++)
			launches[count++].data = frame->data[i];
		launches[count++].data =
			litepulse_lin_frame_checksum(pid, frame->data, length, enhanced);
	}
	launches[0].tick = slot->tick;
	bits = LITEPULSE_LIN_BREAK + 1;
	for (i = 1; i < count; i++) {
		launches[i].kind = LITEPULSE_LAUNCH_FRAME;
		launches[i].tick = slot->tick + litepulse_lin_frame_bits(lin->period, bits);
		bits += LITEPULSE_LIN_BYTE_BITS;
	}
	slot->id = id;
	slot->length = length;
	bits = litepulse_lin_net_frame_bits(length ?: known->length ?: LITEPULSE_LIN_DATA_MAX);
	return litepulse_lin_net_launch(lin, slot, launches, count,
					litepulse_lin_frame_bits(lin->period, bits));
}

/* The role does not change while frames are sent. */
static enum litepulse_lin_word litepulse_lin_net_word(struct litepulse_lin *lin,
						      const struct sk_buff *skb)
{
	const struct can_frame *frame = (const struct can_frame *)skb->data;

	return litepulse_lin_frame_word(frame->can_id, frame->len, READ_ONCE(lin->master));
}

/* A word to the driver itself: nothing is sent on the bus. */
static bool litepulse_lin_net_is_setting(struct litepulse_lin *lin, const struct sk_buff *skb)
{
	switch (litepulse_lin_net_word(lin, skb)) {
	case LITEPULSE_LIN_SEND_HEADER:
	case LITEPULSE_LIN_SEND_FRAME:
	case LITEPULSE_LIN_SEND_WAKE:
	case LITEPULSE_LIN_SEND_SLEEP:
		return false;
	default:
		return true;
	}
}

/* -EAGAIN: it has to wait, at least @wait ticks. */
static int litepulse_lin_net_send_once(struct litepulse_lin *lin, struct sk_buff *skb, u64 *wait)
{
	const struct can_frame *frame = (const struct can_frame *)skb->data;
	static const struct can_frame sleep = {
		.can_id = LITEPULSE_LIN_MASTER_REQUEST,
		.len = LITEPULSE_LIN_DATA_MAX,
		.data = { 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff },
	};
	struct litepulse_lin_slot slot = {
		.untimed = !litepulse_lin_net_waiting(skb)->time,
		.skb = skb,
	};
	u64 now;
	int error;

	lockdep_assert_held(&lin->mutex);
	error = litepulse_consumer_now(lin->lp, &now) ?:
		litepulse_lin_net_start_tick(lin, skb, now, &slot.tick, wait);
	if (error)
		return error;
	switch (litepulse_lin_net_word(lin, skb)) {
	case LITEPULSE_LIN_SEND_WAKE:
		error = litepulse_lin_net_send_wake(lin, &slot);
		break;
	case LITEPULSE_LIN_SEND_SLEEP:
		error = litepulse_lin_net_send_frame(lin, &sleep, &slot);
		break;
	default:
		error = litepulse_lin_net_send_frame(lin, frame, &slot);
		break;
	}
	if (error == -EAGAIN) {
		spin_lock_bh(&lin->lock);
		*wait = litepulse_lin_queue_room(&lin->queue, now);
		spin_unlock_bh(&lin->lock);
	}
	if (!error)
		litepulse_lin_net_expire_in(lin, slot.tick - now + lin->queue.patience + 1);
	return error;
}

/* What has no time of its own is sent as soon as the board takes it. */
static int litepulse_lin_net_send(struct litepulse_lin *lin, struct sk_buff *skb, u64 *wait)
{
	unsigned int attempt;
	int error = -ETIME;

	for (attempt = 0; error == -ETIME && attempt < ATTEMPTS; attempt++) {
		error = litepulse_lin_net_send_once(lin, skb, wait);
		if (error != -ETIME || litepulse_lin_net_waiting(skb)->time)
			return error;
		spin_lock_bh(&lin->lock);
		litepulse_lin_queue_adapt(&lin->queue, true);
		spin_unlock_bh(&lin->lock);
	}
	return error;
}

/*
 * 0 if it is done with, whatever became of it: then it takes @skb. -EAGAIN: not before @wait
 * ticks.
 */
static int litepulse_lin_net_transmit(struct litepulse_lin *lin, struct sk_buff *skb, u64 *wait)
{
	const struct can_frame *frame = (const struct can_frame *)skb->data;
	const enum litepulse_lin_word word = litepulse_lin_net_word(lin, skb);
	struct net_device *ndev = lin->ndev;
	int error;

	switch (word) {
	case LITEPULSE_LIN_REFUSED:
		error = -EINVAL;
		break;
	case LITEPULSE_LIN_NO_COMMANDER:
		error = -EPERM;
		if (net_ratelimit())
			netdev_warn(ndev, "a slave sends no header: its role is not master\n");
		break;
	case LITEPULSE_LIN_PUBLISH:
	case LITEPULSE_LIN_STOP:
	case LITEPULSE_LIN_EXPECT:
		error = litepulse_lin_net_configure(lin, frame, word == LITEPULSE_LIN_PUBLISH);
		if (!error) {
			litepulse_lin_net_echo(skb, 0);
			return 0;
		}
		if (error == -EOPNOTSUPP && net_ratelimit())
			netdev_warn(ndev, "identifier 0x%02x has no entry in this core\n",
				    frame->can_id & CAN_LIN_ID_MASK);
		break;
	default:
		mutex_lock(&lin->mutex);
		error = -EAGAIN;
		if (lin->can.state == CAN_STATE_ERROR_ACTIVE)
			error = litepulse_lin_net_send(lin, skb, wait);
		mutex_unlock(&lin->mutex);
		/* Its echo comes when it begins. */
		if (!error) {
			dev_consume_skb_any(skb);
			return 0;
		}
		break;
	}
	if (error == -EAGAIN && time_before(jiffies, litepulse_lin_net_waiting(skb)->since +
							     nsecs_to_jiffies(HORIZON_NS)))
		return error;
	ndev->stats.tx_errors++;
	ndev->stats.tx_dropped++;
	litepulse_lin_net_deliver_error(lin, CAN_ERR_TX_TIMEOUT, 0, 0);
	dev_kfree_skb_any(skb);
	return 0;
}

/* Nothing of what programs have sent is sent any more. */
static void litepulse_lin_net_purge(struct litepulse_lin *lin)
{
	lin->ndev->stats.tx_dropped += skb_queue_len(&lin->timed) + skb_queue_len(&lin->untimed);
	skb_queue_purge(&lin->timed);
	skb_queue_purge(&lin->untimed);
}

/* As many of them as can be; @wait is then not more than the ticks until the next one can. */
static void litepulse_lin_net_transmit_all(struct litepulse_lin *lin, struct sk_buff_head *frames,
					   u64 *wait)
{
	struct sk_buff *skb;
	u64 ticks = 0;

	while ((skb = skb_dequeue(frames))) {
		if (litepulse_lin_net_transmit(lin, skb, &ticks)) {
			litepulse_lin_net_put_back(frames, skb);
			*wait = min(*wait, ticks);
			return;
		}
		netif_wake_queue(lin->ndev);
	}
}

static void litepulse_lin_net_transmit_work(struct work_struct *work)
{
	struct litepulse_lin *lin = container_of(to_delayed_work(work), struct litepulse_lin,
						 transmit_work);
	u64 wait = U64_MAX;

	if (lin->can.state == CAN_STATE_BUS_OFF) {
		litepulse_lin_net_purge(lin);
		netif_wake_queue(lin->ndev);
	}
	if (lin->can.state != CAN_STATE_ERROR_ACTIVE)
		return;
	litepulse_lin_net_transmit_all(lin, &lin->timed, &wait);
	litepulse_lin_net_transmit_all(lin, &lin->untimed, &wait);
	if (wait != U64_MAX) {
		const u64 ns = litepulse_ticks_to_ns(&lin->lp->rate, wait);

		litepulse_lin_net_transmit_in(lin, nsecs_to_jiffies(ns) + 1);
	}
}

static netdev_tx_t litepulse_lin_net_start_xmit(struct sk_buff *skb, struct net_device *ndev)
{
	struct litepulse_lin *lin = netdev_priv(ndev);
	struct litepulse_lin_net_tx tx;
	bool setting;

	if (can_dev_dropped_skb(ndev, skb))
		return NETDEV_TX_OK;
	if (skb->protocol != htons(ETH_P_CAN)) {
		ndev->stats.tx_dropped++;
		kfree_skb(skb);
		return NETDEV_TX_OK;
	}
	setting = litepulse_lin_net_is_setting(lin, skb);
	if (skb_shinfo(skb)->tx_flags & SKBTX_HW_TSTAMP && !setting &&
	    litepulse_ptp_index(lin->lp) >= 0)
		skb_shinfo(skb)->tx_flags |= SKBTX_IN_PROGRESS;
	skb_tx_timestamp(skb);
	if (skb_queue_len(&lin->timed) + skb_queue_len(&lin->untimed) >= QUEUED_MAX - 1)
		netif_stop_queue(ndev);
	tx = (struct litepulse_lin_net_tx){ .since = jiffies, .order = lin->order++ };
	/* A frame that is passed on from another device has the time at which it was received. */
	if (skb->sk && sock_flag(skb->sk, SOCK_TXTIME)) {
		tx.time = skb->tstamp;
		tx.clock = skb->sk->sk_clockid;
	}
	/* The socket stays until its frame comes back, even if its program ends before that. */
	skb = can_create_echo_skb(skb);
	if (!skb) {
		ndev->stats.tx_dropped++;
		return NETDEV_TX_OK;
	}
	*litepulse_lin_net_waiting(skb) = tx;
	skb_set_delivery_time(skb, 0, 0);
	skb->ip_summed = CHECKSUM_UNNECESSARY;
	skb->dev = ndev;
	if (litepulse_lin_net_waiting(skb)->time || setting)
		skb_queue_tail(&lin->timed, skb);
	else
		skb_queue_tail(&lin->untimed, skb);
	litepulse_lin_net_transmit_in(lin, 0);
	return NETDEV_TX_OK;
}

/* --- the device ------------------------------------------------------------------------------- */

/* Nothing of the line runs or waits any more, nor begins again; but for setup_work. */
static void litepulse_lin_net_quiesce(struct litepulse_lin *lin)
{
	spin_lock_bh(&lin->lock);
	lin->active = false;
	spin_unlock_bh(&lin->lock);
	litepulse_consumer_unsubscribe(lin->lp, &lin->sink);
	cancel_work_sync(&lin->receive_work);
	cancel_delayed_work_sync(&lin->expire_work);
	cancel_delayed_work_sync(&lin->transmit_work);
}

/* The line is given back, if it is ours; by setup_work, or instead of it. */
static void litepulse_lin_net_give_up(struct litepulse_lin *lin)
{
	mutex_lock(&lin->mutex);
	lin->up = false;
	mutex_unlock(&lin->mutex);
	litepulse_lin_net_quiesce(lin);
	lin->ndev->stats.tx_dropped += litepulse_lin_net_clear_slots(lin);
	litepulse_lin_net_purge(lin);
	litepulse_lin_events_reset(&lin->events);
	if (!lin->claimed)
		return;
	litepulse_consumer_release(lin->lp, &lin->claimant);
	lin->claimed = false;
}

/* Nothing is sent yet, and nothing is known of how quickly this machine is; @period is set. */
static void litepulse_lin_net_init_queue(struct litepulse_lin *lin)
{
	const struct litepulse_rate *rate = &lin->lp->rate;
	const u64 ahead = lin->lp->ops->sleeps ? AHEAD_SLEEPS_NS : AHEAD_NS;

	lin->queue = (struct litepulse_lin_queue){
		.ahead = litepulse_ns_to_ticks(rate, ahead),
		.ahead_min = litepulse_ns_to_ticks(rate, ahead),
		.ahead_max = litepulse_ns_to_ticks(rate, AHEAD_MAX_NS),
		/* A worker may be so late. */
		.slack = litepulse_ns_to_ticks(rate, 2 * TICK_NSEC),
		.horizon = litepulse_ns_to_ticks(rate, HORIZON_NS),
		.patience = litepulse_lin_frame_bits(lin->period, LITEPULSE_LIN_HEADER_BITS) +
			    lin->margin,
		.outcome = litepulse_ns_to_ticks(rate, OUTCOME_NS),
	};
}

/* The line becomes ours, and the board gets all that it needs. */
static int litepulse_lin_net_take_line(struct litepulse_lin *lin)
{
	const struct litepulse_subscribe want = {
		.kinds = BIT(LITEPULSE_KIND_RX) | BIT(LITEPULSE_KIND_TX) |
			 BIT(LITEPULSE_KIND_REFUSED) | BIT(LITEPULSE_KIND_RESPONDER_MISSED),
		.sources = BIT(LITEPULSE_SRC_QUEUE),
		.watermark = 1,
		.clock = litepulse_ptp_index(lin->lp) < 0 ? LITEPULSE_CLOCK_NONE :
							     LITEPULSE_CLOCK_PHC,
	};
	struct litepulse *lp = lin->lp;
	int error;

	mutex_lock(&lin->mutex);
	lin->period = litepulse_bit_period(&lp->rate, lin->can.bittiming.bitrate);
	mutex_unlock(&lin->mutex);
	lin->frame = (struct litepulse_lin_frame){
		.period = lin->period,
		.wake = litepulse_ns_to_ticks(&lp->rate, WAKE_HEARD_NS),
	};
	litepulse_lin_net_init_queue(lin);
	error = litepulse_consumer_claim(lp, &lin->claimant, lin->period,
					 lin->can.ctrlmode & CAN_CTRLMODE_LOOPBACK);
	if (error)
		return error;
	lin->claimed = true;
	spin_lock_bh(&lin->lock);
	lin->active = true;
	spin_unlock_bh(&lin->lock);
	lin->sink.want = want;
	error = litepulse_consumer_subscribe(lp, &lin->sink);
	if (error)
		lin->sink.want = (struct litepulse_subscribe){ };
	mutex_lock(&lin->mutex);
	if (!error) {
		lin->up = true;
		error = litepulse_lin_respond_set_up(lin);
	}
	mutex_unlock(&lin->mutex);
	if (error)
		litepulse_lin_net_give_up(lin);
	return error;
}

/* After a reset of the board, a suspend, or bus-off. */
static int litepulse_lin_net_set_up_again(struct litepulse_lin *lin)
{
	int error;

	mutex_lock(&lin->mutex);
	litepulse_lin_net_drop_slots(lin);
	error = litepulse_consumer_renew(lin->lp, &lin->claimant) ?:
		litepulse_lin_respond_set_up(lin);
	mutex_unlock(&lin->mutex);
	return error;
}

/* The board becomes what the network wants it to be. */
static void litepulse_lin_net_setup_work(struct work_struct *work)
{
	struct litepulse_lin *lin = container_of(to_delayed_work(work), struct litepulse_lin,
						 setup_work);
	const unsigned int wanted = READ_ONCE(lin->wanted);
	const bool set_up = wanted && lin->can.state != CAN_STATE_BUS_OFF;
	bool same, awaited;
	int error = 0;

	if (lin->taken != wanted)
		litepulse_lin_net_give_up(lin);
	lin->taken = wanted;
	if (set_up) {
		error = lin->claimed ? litepulse_lin_net_set_up_again(lin) :
				       litepulse_lin_net_take_line(lin);
	}
	spin_lock_bh(&lin->lock);
	same = lin->wanted == wanted;
	awaited = lin->awaited && same;
	if (set_up && !error && same)
		lin->can.state = CAN_STATE_ERROR_ACTIVE;
	if (awaited) {
		lin->awaited = false;
		lin->error = error;
		complete(&lin->settled);
	}
	/*
	 * A program that waits gets the error. A device that has gone down meanwhile is not
	 * bus-off: its restart would begin when close_candev() can no longer cancel it.
	 */
	if (error && error != -ENODEV && same && !awaited)
		litepulse_lin_net_bus_off(lin);
	spin_unlock_bh(&lin->lock);
	litepulse_lin_net_transmit_in(lin, 0);
}

/*
 * Brings the board into the state that the network wants: @wanted is 0, or of a device that has
 * just gone up. 0, or an error that occurred within SETTLE_INTERVAL; the rest follows later.
 */
static int litepulse_lin_net_settle(struct litepulse_lin *lin, unsigned int wanted)
{
	bool pending;

	spin_lock_bh(&lin->lock);
	reinit_completion(&lin->settled);
	lin->wanted = wanted;
	lin->awaited = true;
	mod_delayed_work(lin->wq, &lin->setup_work, 0);
	spin_unlock_bh(&lin->lock);
	wait_for_completion_timeout(&lin->settled, SETTLE_INTERVAL);
	spin_lock_bh(&lin->lock);
	pending = lin->awaited;
	lin->awaited = false;
	spin_unlock_bh(&lin->lock);
	return pending ? 0 : lin->error;
}

static int litepulse_lin_net_open(struct net_device *ndev)
{
	struct litepulse_lin *lin = netdev_priv(ndev);
	const struct litepulse *lp = lin->lp;
	const u32 bitrate = lin->can.bittiming.bitrate;
	int error;

	if (litepulse_bit_period(&lp->rate, bitrate) <
	    (u64)LITEPULSE_LIN_BIT_CYCLES_MIN * lp->samples << 8) {
		netdev_err(ndev, "%u bit/s are too fast: a bit is shorter than %u cycles\n",
			   bitrate, LITEPULSE_LIN_BIT_CYCLES_MIN);
		return -ERANGE;
	}
	error = open_candev(ndev);
	if (error)
		return error;
	lin->can.state = CAN_STATE_STOPPED;
	lin->opened = lin->opened + 1 ?: 1;
	error = litepulse_lin_net_settle(lin, lin->opened);
	if (error == -EBUSY)
		netdev_err(ndev, "the line is in use: ttyPULSE%d is open, or a program has the claim\n",
			   lp->id);
	if (error) {
		WRITE_ONCE(lin->wanted, 0);
		close_candev(ndev);
		return error;
	}
	netif_start_queue(ndev);
	return 0;
}

static int litepulse_lin_net_stop(struct net_device *ndev)
{
	struct litepulse_lin *lin = netdev_priv(ndev);

	netif_stop_queue(ndev);
	/* Going down cannot fail. */
	(void)litepulse_lin_net_settle(lin, 0);
	close_candev(ndev);
	lin->can.state = CAN_STATE_STOPPED;
	return 0;
}

/* All that is received or sent on the bus has a time. */
static int litepulse_lin_net_get_hwtstamp(struct net_device *ndev,
					  struct litepulse_hwtstamp *config)
{
	struct litepulse_lin *lin = netdev_priv(ndev);

	if (litepulse_ptp_index(lin->lp) < 0)
		return -EOPNOTSUPP;
	*config = (struct litepulse_hwtstamp){
		.tx_type = HWTSTAMP_TX_ON,
		.rx_filter = HWTSTAMP_FILTER_ALL,
	};
	return 0;
}

static int litepulse_lin_net_set_hwtstamp(struct net_device *ndev,
					  struct litepulse_hwtstamp *config,
					  struct netlink_ext_ack *extack)
{
	if (config->flags ||
	    (config->tx_type != HWTSTAMP_TX_OFF && config->tx_type != HWTSTAMP_TX_ON))
		return -ERANGE;
	return litepulse_lin_net_get_hwtstamp(ndev, config);
}

#ifndef LITEPULSE_HAS_NDO_HWTSTAMP
static int litepulse_lin_net_eth_ioctl(struct net_device *ndev, struct ifreq *request, int command)
{
	struct litepulse_hwtstamp config;
	int error = -EOPNOTSUPP;

	if (command != SIOCSHWTSTAMP && command != SIOCGHWTSTAMP)
		return error;
	if (copy_from_user(&config, request->ifr_data, sizeof(config)))
		return -EFAULT;
	error = command == SIOCSHWTSTAMP ? litepulse_lin_net_set_hwtstamp(ndev, &config, NULL) :
					   litepulse_lin_net_get_hwtstamp(ndev, &config);
	if (error)
		return error;
	return copy_to_user(request->ifr_data, &config, sizeof(config)) ? -EFAULT : 0;
}
#endif

static const struct net_device_ops litepulse_lin_netdev_ops = {
	.ndo_open = litepulse_lin_net_open,
	.ndo_stop = litepulse_lin_net_stop,
	.ndo_start_xmit = litepulse_lin_net_start_xmit,
	LITEPULSE_LIN_CHANGE_MTU
#ifdef LITEPULSE_HAS_NDO_HWTSTAMP
	.ndo_hwtstamp_get = litepulse_lin_net_get_hwtstamp,
	.ndo_hwtstamp_set = litepulse_lin_net_set_hwtstamp,
#else
	.ndo_eth_ioctl = litepulse_lin_net_eth_ioctl,
#endif
};

static int litepulse_lin_net_get_ts_info(struct net_device *ndev, struct litepulse_ts_info *info)
{
	struct litepulse_lin *lin = netdev_priv(ndev);

	info->so_timestamping = SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_RX_SOFTWARE |
				SOF_TIMESTAMPING_SOFTWARE;
	info->phc_index = litepulse_ptp_index(lin->lp);
	info->tx_types = BIT(HWTSTAMP_TX_OFF);
	info->rx_filters = BIT(HWTSTAMP_FILTER_NONE);
	if (info->phc_index >= 0) {
		info->so_timestamping |= SOF_TIMESTAMPING_TX_HARDWARE |
					 SOF_TIMESTAMPING_RX_HARDWARE |
					 SOF_TIMESTAMPING_RAW_HARDWARE;
		info->tx_types = BIT(HWTSTAMP_TX_ON);
		info->rx_filters = BIT(HWTSTAMP_FILTER_ALL);
	}
	return 0;
}

static const struct ethtool_ops litepulse_lin_ethtool_ops = {
	.get_ts_info = litepulse_lin_net_get_ts_info,
};

static void litepulse_lin_net_init_lin(struct litepulse_lin *lin, struct litepulse *lp)
{
	const bool sleeps = lp->ops->sleeps;
	unsigned int id;

	lin->lp = lp;
	lin->claimant.name = "lin";
	lin->sink.name = "lin";
	lin->sink.put = litepulse_lin_net_put_event;
	lin->sink.done = litepulse_lin_net_events_done;
	litepulse_lin_events_init(&lin->events);
	skb_queue_head_init(&lin->timed);
	skb_queue_head_init(&lin->untimed);
	INIT_WORK(&lin->receive_work, litepulse_lin_net_receive_work);
	INIT_DELAYED_WORK(&lin->expire_work, litepulse_lin_net_expire_work);
	INIT_DELAYED_WORK(&lin->setup_work, litepulse_lin_net_setup_work);
	INIT_DELAYED_WORK(&lin->transmit_work, litepulse_lin_net_transmit_work);
	init_completion(&lin->settled);
	mutex_init(&lin->frame_mutex);
	mutex_init(&lin->mutex);
	spin_lock_init(&lin->lock);
	lin->space_ns = -1;
	lin->margin = litepulse_ns_to_ticks(&lp->rate, sleeps ? MARGIN_SLEEPS_NS : MARGIN_NS);
	for (id = 0; id < LITEPULSE_LIN_IDS; id++)
		lin->responses[id].entry.id = id;
	lin->can.bittiming.bitrate = DEFAULT_BITRATE;
	lin->can.bitrate_const = bitrates;
	lin->can.bitrate_const_cnt = ARRAY_SIZE(bitrates);
	lin->can.ctrlmode_supported = CAN_CTRLMODE_LOOPBACK;
	lin->can.state = CAN_STATE_STOPPED;
	lin->can.do_set_mode = litepulse_lin_net_set_mode;
	lin->can.restart_ms = RESTART_MS;
}

static int litepulse_lin_net_probe(struct platform_device *pdev)
{
	struct litepulse **lp = dev_get_platdata(&pdev->dev);
	struct litepulse_lin *lin;
	struct net_device *ndev;
	int error;

	/* A frame of eight bytes would never fit into its queue. */
	if ((*lp)->launch_depth < LITEPULSE_CONSUMER_LAUNCHES) {
		dev_info(&pdev->dev, "no LIN device: this core holds %u launches, a frame has %u\n",
			 (*lp)->launch_depth, LITEPULSE_CONSUMER_LAUNCHES);
		return -ENODEV;
	}
	ndev = alloc_candev(sizeof(*lin), 0);
	if (!ndev)
		return -ENOMEM;
	lin = netdev_priv(ndev);
	lin->ndev = ndev;
	litepulse_lin_net_init_lin(lin, *lp);
	lin->wq = alloc_workqueue("%s", WQ_HIGHPRI | WQ_FREEZABLE | WQ_UNBOUND, 0,
				  dev_name(&pdev->dev));
	if (!lin->wq) {
		error = -ENOMEM;
		goto free;
	}
	strscpy(ndev->name, "lin%d", sizeof(ndev->name));
	ndev->netdev_ops = &litepulse_lin_netdev_ops;
	ndev->ethtool_ops = &litepulse_lin_ethtool_ops;
	ndev->flags |= IFF_ECHO;
	SET_NETDEV_DEV(ndev, &pdev->dev);
	SET_NETDEV_DEVTYPE(ndev, &litepulse_lin_type);
	error = register_candev(ndev);
	if (error)
		goto wq;
	platform_set_drvdata(pdev, ndev);
	return 0;

wq:
	destroy_workqueue(lin->wq);
free:
	free_candev(ndev);
	return error;
}

static void litepulse_lin_net_remove(struct platform_device *pdev)
{
	struct net_device *ndev = platform_get_drvdata(pdev);
	struct litepulse_lin *lin = netdev_priv(ndev);

	unregister_candev(ndev);
	/* It may not have been over when the network had to go on, and frozen since. */
	cancel_delayed_work_sync(&lin->setup_work);
	litepulse_lin_net_give_up(lin);
	destroy_workqueue(lin->wq);
	free_candev(ndev);
}

static int litepulse_lin_net_suspend(struct device *dev)
{
	struct net_device *ndev = dev_get_drvdata(dev);

	/* The board gets the command to stop all output next; workers are frozen. */
	if (netif_running(ndev))
		netif_device_detach(ndev);
	return 0;
}

static int litepulse_lin_net_resume(struct device *dev)
{
	struct net_device *ndev = dev_get_drvdata(dev);
	struct litepulse_lin *lin = netdev_priv(ndev);

	if (!netif_running(ndev))
		return 0;
	litepulse_lin_net_set_up_soon(lin);
	netif_device_attach(ndev);
	return 0;
}

static DEFINE_SIMPLE_DEV_PM_OPS(litepulse_lin_pm_ops, litepulse_lin_net_suspend,
				litepulse_lin_net_resume);

static const struct platform_device_id litepulse_lin_ids[] = {
	{ .name = LITEPULSE_CONSUMER_DEVICE },
	{}
};
MODULE_DEVICE_TABLE(platform, litepulse_lin_ids);

static struct platform_driver litepulse_lin_driver = {
	.probe = litepulse_lin_net_probe,
	.litepulse_remove_op = litepulse_lin_net_remove,
	.id_table = litepulse_lin_ids,
	.driver = {
		.name = LITEPULSE_CONSUMER_DEVICE,
		.pm = pm_sleep_ptr(&litepulse_lin_pm_ops),
	},
};

static int __init litepulse_lin_net_init(void)
{
	litepulse_lin_sysfs_init();
	return platform_driver_register(&litepulse_lin_driver);
}
module_init(litepulse_lin_net_init);

static void __exit litepulse_lin_net_exit(void)
{
	platform_driver_unregister(&litepulse_lin_driver);
}
module_exit(litepulse_lin_net_exit);

MODULE_DESCRIPTION("LitePulse: LIN as a SocketCAN device");
MODULE_VERSION(LITEPULSE_VERSION);
MODULE_AUTHOR("The LitePulse authors");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(LITEPULSE_NAMESPACE);
