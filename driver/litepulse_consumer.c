// SPDX-License-Identifier: GPL-2.0-only
/* For other modules: see litepulse_consumer.h */
#include <linux/bitfield.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/platform_device.h>

#include "litepulse_compat.h"
#include "litepulse_consumer.h"
#include "litepulse_table.h"
#include "litepulse_tty.h"

/**
 * litepulse_consumer_add - the device that a module of the kernel binds to, if it is there
 * @lp: device; all else of it works
 *
 * Return: 0 or a negative errno.
 */
int litepulse_consumer_add(struct litepulse *lp)
{
	lp->lin = platform_device_register_data(lp->dev, LITEPULSE_CONSUMER_DEVICE, lp->id, &lp,
						sizeof(lp));
	return PTR_ERR_OR_ZERO(lp->lin);
}

/**
 * litepulse_consumer_remove - no module uses the device on return
 * @lp: device
 */
void litepulse_consumer_remove(struct litepulse *lp)
{
	platform_device_unregister(lp->lin);
}

/**
 * litepulse_consumer_claim - takes the claim, and the line from the tty
 * @lp: device
 * @claimant: a new one
 * @period: of a bit, 2^-8 ticks; 8N1
 * @loopback: the receiver sees the transmitter instead of the pin
 *
 * Return: 0, -EBUSY if the tty is open, a file has the claim, or something that an earlier claim
 * kept goes on; -EINVAL if the core cannot do the bit period, -ENODEV, -EINTR, or an error of the
 * transport.
 */
int litepulse_consumer_claim(struct litepulse *lp, struct litepulse_claimant *claimant, u64 period,
			     bool loopback)
{
	/* 8N1 */
	const u32 format =
		FIELD_PREP(LITEPULSE_CFG_PROFILE_FORMAT_DATA_BITS_MASK, 8 - 5) |
		FIELD_PREP(LITEPULSE_CFG_PROFILE_FORMAT_PARITY_MASK, LITEPULSE_PARITY_NONE) |
		FIELD_PREP(LITEPULSE_CFG_PROFILE_FORMAT_STOP_MASK, LITEPULSE_STOP_1);
	int error = litepulse_board_begin_command(lp);

	if (error)
		return error;
	error = litepulse_output_claim_idle(lp, claimant);
	if (!error) {
		error = litepulse_tty_lend(lp, format, period);
		if (error)
			litepulse_output_unclaim(lp, claimant);
	}
	if (!error) {
		litepulse_board_set_line(lp, LITEPULSE_CFG_LINE_LOOPBACK_MASK,
					 loopback ? LITEPULSE_CFG_LINE_LOOPBACK_MASK : 0);
		/* A failed write is repeated within a second. */
		(void)litepulse_board_flush_line(lp);
	}
	litepulse_board_end_command(lp);
	return error;
}
EXPORT_SYMBOL_NS_GPL(litepulse_consumer_claim, LITEPULSE_NAMESPACE);

/**
 * litepulse_consumer_release - gives line and claim back; nothing timed starts any more
 * @lp: device, which may be gone
 * @claimant: holder of the claim
 */
void litepulse_consumer_release(struct litepulse *lp, struct litepulse_claimant *claimant)
{
	down_read(&lp->gone_sem);
	mutex_lock(&lp->claim.mutex);
	litepulse_output_unclaim(lp, claimant);
	litepulse_tty_take_back(lp);
	mutex_unlock(&lp->claim.mutex);
	up_read(&lp->gone_sem);
}
EXPORT_SYMBOL_NS_GPL(litepulse_consumer_release, LITEPULSE_NAMESPACE);

/**
 * litepulse_consumer_renew - the claim is good again, if a reset of the board has made it stale
 * @lp: device
 * @claimant: holder of the claim; profile 0 is as it was, all else of the line is not
 *
 * Return: 0, -ENODEV or -EINTR.
 */
int litepulse_consumer_renew(struct litepulse *lp, struct litepulse_claimant *claimant)
{
	int error = litepulse_board_begin_command(lp);

	if (error)
		return error;
	if (claimant->stale) {
		litepulse_output_unclaim(lp, claimant);
		*claimant = (struct litepulse_claimant){ .name = claimant->name };
		error = litepulse_output_claim(lp, claimant);
		/* Without the claim nothing can be done but this, once more. */
		claimant->stale = error;
	}
	litepulse_board_end_command(lp);
	return error;
}
EXPORT_SYMBOL_NS_GPL(litepulse_consumer_renew, LITEPULSE_NAMESPACE);

/**
 * litepulse_consumer_launch - queues timed launches, all of them or none
 * @lp: device
 * @claimant: holder of the claim
 * @launches: in order, at most LITEPULSE_CONSUMER_LAUNCHES
 * @count: how many
 * @flushed: answer: the queue was emptied; its launches are discarded without a report
 *
 * Return: 0, -EAGAIN if the queue does not have enough room, or as litepulse_output_launch().
 */
int litepulse_consumer_launch(struct litepulse *lp, struct litepulse_claimant *claimant,
			      const struct litepulse_launch *launches, unsigned int count,
			      bool *flushed)
{
	u32 free;
	int error = litepulse_board_begin_command(lp);

	*flushed = false;
	if (error)
		return error;
	error = litepulse_board_read_csr(lp, LITEPULSE_CSR_FREE, &free);
	/* Nothing else can fill the queue. */
	if (!error && FIELD_GET(LITEPULSE_CSR_FREE_LAUNCH_MASK, free) < count)
		error = -EAGAIN;
	if (!error) {
		error = litepulse_output_launch(lp, claimant, launches, count);
		if (error >= 0 && error < count) {
			/*
			 * A fault of the transport between: what has begun is taken back, or goes
			 * out if the fault lasts. The caller learns of the fault.
			 */
			(void)litepulse_output_flush(lp, claimant);
			*flushed = true;
			error = -EIO;
		}
	}
	litepulse_board_end_command(lp);
	return min(error, 0);
}
EXPORT_SYMBOL_NS_GPL(litepulse_consumer_launch, LITEPULSE_NAMESPACE);

/**
 * litepulse_consumer_lin_entries - writes entries of the core's LIN slave, each whole
 * @lp: device
 * @claimant: holder of the claim
 * @entries: in order
 * @count: how many
 *
 * Return: as litepulse_table_write(), or -ENODEV or -EINTR.
 */
int litepulse_consumer_lin_entries(struct litepulse *lp, struct litepulse_claimant *claimant,
				   const struct litepulse_lin_entry *entries, unsigned int count)
{
	int error = litepulse_board_begin_command(lp);

	if (error)
		return error;
	error = litepulse_table_write(lp, claimant, entries, count);
	litepulse_board_end_command(lp);
	return error;
}
EXPORT_SYMBOL_NS_GPL(litepulse_consumer_lin_entries, LITEPULSE_NAMESPACE);

/**
 * litepulse_consumer_lin_arm - from now on the core answers headers by its entries
 * @lp: device
 * @claimant: holder of the claim
 * @space: ticks from the end of a received byte to the next one that is sent
 *
 * Return: as litepulse_output_set_responder().
 */
int litepulse_consumer_lin_arm(struct litepulse *lp, struct litepulse_claimant *claimant, u32 space)
{
	const struct litepulse_responder responder = {
		.trigger = LITEPULSE_TRIGGER_LIN,
		.flags = LITEPULSE_RESPONDER_REARM,
		.delay = space,
		.kind = LITEPULSE_LAUNCH_FRAME,
	};
	int error = litepulse_board_begin_command(lp);

	if (error)
		return error;
	error = litepulse_output_set_responder(lp, claimant, &responder);
	litepulse_board_end_command(lp);
	return error;
}
EXPORT_SYMBOL_NS_GPL(litepulse_consumer_lin_arm, LITEPULSE_NAMESPACE);

/**
 * litepulse_consumer_subscribe - events from now on
 * @lp: device
 * @sink: filled in, but for what is the ingest's
 *
 * Return: as litepulse_sink_change(), or -ENODEV or -EINTR.
 */
int litepulse_consumer_subscribe(struct litepulse *lp, struct litepulse_sink *sink)
{
	int error = litepulse_board_enter(lp);

	if (error)
		return error;
	error = litepulse_sink_add(lp, sink);
	litepulse_board_leave(lp);
	return error;
}
EXPORT_SYMBOL_NS_GPL(litepulse_consumer_subscribe, LITEPULSE_NAMESPACE);

/**
 * litepulse_consumer_unsubscribe - no events any more: none is being delivered on return
 * @lp: device, which may be gone
 * @sink: one that was subscribed
 */
void litepulse_consumer_unsubscribe(struct litepulse *lp, struct litepulse_sink *sink)
{
	down_read(&lp->gone_sem);
	litepulse_sink_remove(lp, sink);
	up_read(&lp->gone_sem);
}
EXPORT_SYMBOL_NS_GPL(litepulse_consumer_unsubscribe, LITEPULSE_NAMESPACE);

/**
 * litepulse_consumer_now - the board's tick
 * @lp: device
 * @tick: answer
 *
 * Return: 0, -ENODEV, -EINTR, or an error of the transport.
 */
int litepulse_consumer_now(struct litepulse *lp, u64 *tick)
{
	int error = litepulse_board_enter(lp);

	if (error)
		return error;
	error = litepulse_board_now(lp, tick);
	litepulse_board_leave(lp);
	return error;
}
EXPORT_SYMBOL_NS_GPL(litepulse_consumer_now, LITEPULSE_NAMESPACE);

/**
 * litepulse_consumer_seen - a tick such that sinks have been given all that was recorded before it
 * @lp: device
 * @tick: answer; 0 if nothing is known
 *
 * A board that is polled on a busy machine may be far ahead of it. Of one that interrupts it is the
 * board's tick: the interrupt may be pending.
 *
 * Return: 0, -ENODEV, -EINTR, or an error of the transport.
 */
int litepulse_consumer_seen(struct litepulse *lp, u64 *tick)
{
	unsigned long flags;
	int error;

	if (!lp->ops->sleeps)
		return litepulse_consumer_now(lp, tick);
	error = litepulse_board_enter(lp);
	if (error)
		return error;
	spin_lock_irqsave(&lp->feed.lock, flags);
	*tick = min(lp->feed.events.tick, lp->feed.bytes.tick);
	spin_unlock_irqrestore(&lp->feed.lock, flags);
	litepulse_board_leave(lp);
	return 0;
}
EXPORT_SYMBOL_NS_GPL(litepulse_consumer_seen, LITEPULSE_NAMESPACE);

/**
 * litepulse_consumer_time - the board's tick beside the host's clocks
 * @lp: device
 * @time: answer
 *
 * Return: 0, -ENODEV, -EINTR, or as litepulse_board_time().
 */
int litepulse_consumer_time(struct litepulse *lp, struct litepulse_time *time)
{
	int error = litepulse_board_enter(lp);

	if (error)
		return error;
	error = litepulse_board_time(lp, time);
	litepulse_board_leave(lp);
	return error;
}
EXPORT_SYMBOL_NS_GPL(litepulse_consumer_time, LITEPULSE_NAMESPACE);
