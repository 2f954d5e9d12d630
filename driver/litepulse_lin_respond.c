// SPDX-License-Identifier: GPL-2.0-only
/*
 * How the core of a LIN device answers headers: the entries of its identifiers, and the response
 * space
 */
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>

#include "litepulse_lin.h"

/* After which the board is set up once more if it could not be armed again. */
#define RETRY_INTERVAL HZ

/* What the core is to have of a response. */
static struct litepulse_lin_entry
litepulse_lin_respond_entry(const struct litepulse_lin_response *response)
{
	return response->cached ? response->entry :
				  (struct litepulse_lin_entry){ .id = response->entry.id };
}

/**
 * litepulse_lin_respond_set - what is known of an identifier, and what the core answers
 * @lin: device
 * @response: of @response->entry.id; the kind of its checksum is set right
 *
 * Return: 0; if the core cannot have it, nothing has changed: -EOPNOTSUPP if it is no LIN slave or
 * has no such entry, -EINTR, or an error of the board.
 */
int litepulse_lin_respond_set(struct litepulse_lin *lin, struct litepulse_lin_response *response)
{
	const u8 id = response->entry.id;
	struct litepulse_lin_entry entry;
	u64 since = 0;
	int error;

	if (!litepulse_lin_frame_is_enhanced(id, true))
		response->entry.flags &= ~LITEPULSE_LIN_ENTRY_ENHANCED;
	entry = litepulse_lin_respond_entry(response);
	if (response->cached && id >= lin->lp->lin_entries)
		return -EOPNOTSUPP;
	error = mutex_lock_killable(&lin->mutex);
	if (error)
		return error;
	if (lin->up && id < lin->lp->lin_entries) {
		if (entry.flags & LITEPULSE_LIN_ENTRY_ONCE)
			error = litepulse_consumer_now(lin->lp, &since);
		error = error ?: litepulse_consumer_lin_entries(lin->lp, &lin->claimant, &entry, 1);
	}
	if (!error) {
		lin->responses[id] = *response;
		lin->responses[id].since = since;
		spin_lock_bh(&lin->lock);
		lin->expected[id] = (struct litepulse_lin_expected){
			.length = response->entry.length,
			.enhanced = response->entry.flags & LITEPULSE_LIN_ENTRY_ENHANCED,
		};
		spin_unlock_bh(&lin->lock);
	}
	mutex_unlock(&lin->mutex);
	return error;
}

/**
 * litepulse_lin_respond_space - ticks from a received byte to the next one that is sent
 * @lin: device; @mutex is held
 */
u64 litepulse_lin_respond_space(const struct litepulse_lin *lin)
{
	const u64 period = lin->up ? lin->period :
				     litepulse_bit_period(&lin->lp->rate,
							  lin->can.bittiming.bitrate);

	if (lin->space_ns < 0)
		return litepulse_lin_frame_bits(period, 1);
	return litepulse_ns_to_ticks(&lin->lp->rate, lin->space_ns);
}

static int litepulse_lin_respond_arm(struct litepulse_lin *lin)
{
	u64 space;

	lockdep_assert_held(&lin->mutex);
	if (!lin->lp->lin_entries)
		return 0;
	space = litepulse_lin_respond_space(lin);
	return space > U32_MAX ? -EINVAL :
				 litepulse_consumer_lin_arm(lin->lp, &lin->claimant, space);
}

/**
 * litepulse_lin_respond_set_space - the response space
 * @lin: device
 * @ns: nanoseconds; negative: one bit time
 *
 * A header that comes just now may not be answered.
 *
 * Return: 0; -EINVAL if the core cannot do it, -EINTR, or an error of the board: then it is as
 * before.
 */
int litepulse_lin_respond_set_space(struct litepulse_lin *lin, s64 ns)
{
	s64 before;
	int error = mutex_lock_killable(&lin->mutex);

	if (error)
		return error;
	before = lin->space_ns;
	lin->space_ns = ns;
	if (lin->up) {
		error = litepulse_lin_respond_arm(lin);
		if (error) {
			lin->space_ns = before;
			/* Else nothing would be answered from now on. */
			if (litepulse_lin_respond_arm(lin))
				litepulse_lin_set_up_in(lin, RETRY_INTERVAL);
		}
	}
	mutex_unlock(&lin->mutex);
	return error;
}

/**
 * litepulse_lin_respond_set_up - writes all entries to the board, and arms its responder
 * @lin: device; @mutex is held
 *
 * Return: 0 or an error of the board.
 */
int litepulse_lin_respond_set_up(struct litepulse_lin *lin)
{
	const unsigned int all = lin->lp->lin_entries;
	struct litepulse_lin_entry entries[8];
	unsigned int id, count;
	int error = 0;

	lockdep_assert_held(&lin->mutex);
	/* The board's ticks may count from 0 again, and any header uses up what is written now. */
	for (id = 0; id < LITEPULSE_LIN_IDS; id++)
		lin->responses[id].since = 0;
	for (id = 0; !error && id < all; id += count) {
		for (count = 0; count < ARRAY_SIZE(entries) && id + count < all; count++)
			entries[count] = litepulse_lin_respond_entry(&lin->responses[id + count]);
		error = litepulse_consumer_lin_entries(lin->lp, &lin->claimant, entries, count);
	}
	return error ?: litepulse_lin_respond_arm(lin);
}
