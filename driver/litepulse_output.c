// SPDX-License-Identifier: GPL-2.0-only
/*
 * The claim, and what its holder may do: profiles, timed launches, the train, the responder
 *
 * All but litepulse_output_answer() are called with claim.mutex and gone_sem held, from processes.
 * A claim that has gone stale, by a reset of the board or a suspend, can only end.
 */
#include <linux/bitfield.h>
#include <linux/delay.h>
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/sched/signal.h>
#include <linux/string.h>

#include "litepulse_compat.h"
#include "litepulse_entry.h"
#include "litepulse_output.h"
#include "litepulse_sink.h"
#include "litepulse_table.h"
#include "litepulse_trace.h"

/* Entries of the queue handed to the transport at a time. */
#define BATCH 16
static_assert(sizeof(struct litepulse_launch) == 32);

/* What ends each kind of output. */
enum { STOP_TRAIN, DISARM, FLUSH_QUEUE };
static const struct litepulse_word litepulse_output_end[] = {
	[STOP_TRAIN] = { LITEPULSE_CFG_TRAIN_COMMAND, LITEPULSE_TRAIN_CMD_STOP },
	[DISARM] = { LITEPULSE_CFG_RESP_ARM, 0 },
	[FLUSH_QUEUE] = { LITEPULSE_CFG_COMMAND, LITEPULSE_CFG_COMMAND_FLUSH_QUEUE_MASK },
};

/* The receiver is on for the responder, which needs it for bytes and breaks, or, with none, off. */
static int litepulse_output_listen(struct litepulse *lp, bool on)
{
	lockdep_assert_held(&lp->setup.mutex);
	if (lp->setup.responder_listens == on && !lp->claim.uses.trigger.channel &&
	    !lp->claim.kept_uses.trigger.channel)
		return 0;
	lp->setup.responder_listens = on;
	litepulse_sink_forget_trigger(lp);
	return litepulse_sink_apply(lp);
}

/* No responder is armed any more. It must finish, also if the program is to die. */
static void litepulse_output_end_responder(struct litepulse *lp)
{
	lockdep_assert_held(&lp->claim.mutex);
	mutex_lock(&lp->setup.mutex);
	/* If it fails receiver and filter stay on for a while: it is repeated. */
	(void)litepulse_output_listen(lp, false);
	mutex_unlock(&lp->setup.mutex);
}

/*
 * Arms it by these words. What triggers it keeps the filter that it has now. If it fails the
 * triggers are those of what may be armed.
 */
static int litepulse_output_arm(struct litepulse *lp, u16 channel, bool listens, u8 profiles,
				const struct litepulse_word *words, unsigned int count)
{
	const struct litepulse_trigger own = lp->claim.uses.trigger;
	const struct litepulse_trigger kept = lp->claim.kept_uses.trigger;
	int error;

	lockdep_assert_held(&lp->setup.mutex);
	error = litepulse_output_listen(lp, listens);
	if (error) {
		lp->claim.uses.trigger = own;
		lp->claim.kept_uses.trigger = kept;
		return error;
	}
	lp->claim.uses.responder = profiles;
	WRITE_ONCE(lp->claim.kept_uses.responder, 0);
	lp->claim.uses.trigger = (struct litepulse_trigger){
		.channel = channel,
		.length = litepulse_board_filter_length(lp->setup.filter, channel),
	};
	return litepulse_board_configure(lp, words, count);
}

/* From now on the claim's output that goes on is kept, with that of earlier claims. */
static void litepulse_output_keep(struct litepulse *lp)
{
	struct litepulse_uses *kept = &lp->claim.kept_uses;

	lockdep_assert_held(&lp->claim.mutex);
	/* It must finish: the claim ends. */
	mutex_lock(&lp->setup.mutex);
	WRITE_ONCE(kept->train, kept->train | lp->claim.uses.train);
	WRITE_ONCE(kept->responder, kept->responder | lp->claim.uses.responder);
	WRITE_ONCE(kept->queue, kept->queue | lp->claim.uses.queue);
	kept->stops |= lp->claim.uses.stops;
	if (lp->claim.uses.trigger.channel)
		kept->trigger = lp->claim.uses.trigger;
	lp->claim.uses = (struct litepulse_uses){ };
	mutex_unlock(&lp->setup.mutex);
}

/* The queue is empty, and not stopped. */
static void litepulse_output_flushed(struct litepulse *lp)
{
	lockdep_assert_held(&lp->claim.mutex);
	lp->claim.last_launch = 0;
	WRITE_ONCE(lp->queue.full, false);
	lp->claim.uses.queue = 0;
	lp->claim.uses.stops = false;
	WRITE_ONCE(lp->claim.kept_uses.queue, 0);
	lp->claim.kept_uses.stops = false;
}

/* Nothing goes on, but for a responder that litepulse_output_end_responder() ends. */
static void litepulse_output_use_nothing(struct litepulse *lp)
{
	lockdep_assert_held(&lp->claim.mutex);
	lp->claim.uses.train = 0;
	lp->claim.uses.responder = 0;
	WRITE_ONCE(lp->claim.kept_uses.train, 0);
	WRITE_ONCE(lp->claim.kept_uses.responder, 0);
	litepulse_output_flushed(lp);
}

/* A line profile that launches, trains and the responder may use for this kind. 0 or -EINVAL. */
static int litepulse_output_check_level(const struct litepulse *lp, u8 kind, u8 profile)
{
	const u32 rest = READ_ONCE(lp->line.word) & LITEPULSE_LINE_REST;
	const bool low = rest == LITEPULSE_CFG_LINE_REST_MASK;

	if (profile >= LITEPULSE_PROFILES)
		return -EINVAL;
	/* At the line's level at rest it has no edge. What was kept may have any level. */
	if ((!profile || lp->claim.profiles_set & BIT(profile)) &&
	    !(lp->claim.profiles_inverted & BIT(profile)) == low &&
	    /* A mark is not on the line. */
	    !(kind == LITEPULSE_LAUNCH_FRAME && profile &&
	      lp->claim.profiles[profile].format & LITEPULSE_CFG_PROFILE_FORMAT_TO_PORT_MASK))
		return -EINVAL;
	return 0;
}

/* What can be put on the line: the same rules for launches, trains and the responder. */
static int litepulse_output_check_launch(const struct litepulse *lp, u8 kind, u8 profile, u8 data,
					 u32 width)
{
	return litepulse_entry_check_sent(kind, data, width) ?:
		litepulse_output_check_level(lp, kind, profile);
}

/* What can be put into the queue. A wait does not use the line. 0, -EINVAL, or -EOPNOTSUPP. */
static int litepulse_output_check_entry(const struct litepulse *lp,
					const struct litepulse_launch *entry)
{
	int error = litepulse_entry_check(entry, lp->has_sequence, lp->inputs);

	if (error || entry->kind == LITEPULSE_LAUNCH_WAIT)
		return error;
	return litepulse_output_check_level(lp, entry->kind, entry->profile);
}

/* The core refused something that has this profile: why. */
static int litepulse_output_refused(const struct litepulse *lp, u8 profile)
{
	return !profile || lp->claim.profiles_set & BIT(profile) || lp->claim.profiles_found ?
		       -EINVAL :
		       -ENOENT;
}

/**
 * litepulse_output_stop - ends all timed output: train, responder, queue and LIN entries
 * @lp: device, whose claim.mutex is held
 *
 * What is on the line is finished.
 *
 * Return: 0 or an error of the transport.
 */
int litepulse_output_stop(struct litepulse *lp)
{
	int error;

	lockdep_assert_held(&lp->claim.mutex);
	lp->claim.last_launch = 0;
	WRITE_ONCE(lp->queue.full, false);
	error = litepulse_board_configure(lp, litepulse_output_end,
					  ARRAY_SIZE(litepulse_output_end));
	if (error)
		return error;
	litepulse_output_use_nothing(lp);
	litepulse_output_end_responder(lp);
	return litepulse_table_clear(lp);
}

/**
 * litepulse_output_stop_owed - stops what an earlier claim left because the cable failed, or the
 *	board was reset
 * @lp: device
 *
 * Return: 0 or an error of the transport: it is still to be stopped.
 */
int litepulse_output_stop_owed(struct litepulse *lp)
{
	int error = 0;

	lockdep_assert_held(&lp->claim.mutex);
	if (lp->claim.unstopped)
		error = litepulse_output_stop(lp);
	if (!error)
		lp->claim.unstopped = false;
	return error;
}

/**
 * litepulse_output_claim - takes the claim
 * @lp: device
 * @claimant: a new one
 *
 * Return: 0, -EBUSY, -EOPNOTSUPP if the core is newer than this driver, or an error of the
 * transport: what the claim before has left could not be stopped, and must not be taken for output
 * of this one later.
 */
int litepulse_output_claim(struct litepulse *lp, struct litepulse_claimant *claimant)
{
	int error;

	lockdep_assert_held(&lp->claim.mutex);
	if (litepulse_is_newer(lp))
		return -EOPNOTSUPP;
	if (lp->claim.claimant)
		return -EBUSY;
	error = litepulse_output_stop_owed(lp);
	if (error)
		return error;
	lp->claim.claimant = claimant;
	return 0;
}

/* Something that an earlier claim kept goes on, and may use any profile. 0, -EBUSY, or an error. */
static int litepulse_output_check_idle(struct litepulse *lp)
{
	const u32 busy = LITEPULSE_CSR_STATUS_TRAIN_RUNNING_MASK |
			 LITEPULSE_CSR_STATUS_RESPONDER_ARMED_MASK;
	const u32 idle = LITEPULSE_CSR_STATUS_QUEUE_IDLE_MASK;
	u32 status;
	int error;

	lockdep_assert_held(&lp->claim.mutex);
	error = litepulse_board_read_csr(lp, LITEPULSE_CSR_STATUS, &status);
	if (error)
		return error;
	return (status & (busy | idle)) == idle ? 0 : -EBUSY;
}

/* Without other output on it the line rests as the tty needs it. 0 or an error of the transport. */
static int litepulse_output_end_rest(struct litepulse *lp)
{
	lockdep_assert_held(&lp->claim.mutex);
	if (!(READ_ONCE(lp->line.word) & LITEPULSE_LINE_REST))
		return 0;
	litepulse_board_set_line(lp, LITEPULSE_LINE_REST, 0);
	return litepulse_board_flush_line(lp);
}

/**
 * litepulse_output_suspend - as litepulse_output_stop(), as the machine is about to sleep
 * @lp: device
 * @ended: set if that has ended anything of a program: then its claim has gone stale. Parts of the
 *	kernel begin again by themselves
 *
 * Return: 0 or an error of the transport.
 */
int litepulse_output_suspend(struct litepulse *lp, bool *ended)
{
	struct litepulse_claimant *claimant = lp->claim.claimant;
	int busy = litepulse_output_check_idle(lp), error;

	lockdep_assert_held(&lp->claim.mutex);
	/* The flush lets a queue go on that a wait has stopped, which must not happen unseen. */
	*ended = (busy == -EBUSY || lp->claim.uses.stops) && (!claimant || claimant->pid);
	error = busy == -EBUSY ? 0 : busy;
	error = error ?: litepulse_output_stop(lp);
	if (error || !*ended)
		return error;
	lp->claim.kept = false;
	/* litepulse_output_answer() reads it without the mutex. */
	if (claimant)
		WRITE_ONCE(claimant->stale, true);
	wake_up_interruptible_all(&lp->queue.wait);
	return litepulse_output_end_rest(lp);
}

/**
 * litepulse_output_look_for_end - nothing is left of what earlier claims have kept: ends its level
 *	at rest, too
 * @lp: device
 */
void litepulse_output_look_for_end(struct litepulse *lp)
{
	lockdep_assert_held(&lp->claim.mutex);
	if (lp->claim.claimant || !(READ_ONCE(lp->line.word) & LITEPULSE_LINE_REST))
		return;
	/* A failure is tried again: this is called once a second. */
	if (!litepulse_output_check_idle(lp))
		(void)litepulse_output_end_rest(lp);
}

/*
 * A wait that an earlier claim kept may have stopped the queue, which then refuses all until a
 * flush. If nothing waits in it, it takes launches again. 0 or an error of the transport.
 */
static int litepulse_output_restart_queue(struct litepulse *lp)
{
	u32 status;
	int error;

	/* What a wait of this claim has stopped stays so. */
	if (!lp->claim.kept_uses.stops || lp->claim.uses.stops)
		return 0;
	error = litepulse_board_read_csr(lp, LITEPULSE_CSR_STATUS, &status);
	if (error || !(status & LITEPULSE_CSR_STATUS_QUEUE_IDLE_MASK))
		return error;
	error = litepulse_board_configure(lp, &litepulse_output_end[FLUSH_QUEUE], 1);
	if (!error)
		litepulse_output_flushed(lp);
	return error;
}

/**
 * litepulse_output_claim_idle - as litepulse_output_claim(), for a part of the kernel: nothing that
 *	was kept goes on beside it, and nothing is kept when its claim ends
 * @lp: device
 * @claimant: a new one; only its name is kept
 *
 * Return: 0, -EBUSY, or an error of the transport.
 */
int litepulse_output_claim_idle(struct litepulse *lp, struct litepulse_claimant *claimant)
{
	int error;

	*claimant = (struct litepulse_claimant){ .keep = true, .name = claimant->name };
	error = litepulse_output_claim(lp, claimant);
	if (error)
		return error;
	error = litepulse_output_check_idle(lp) ?: litepulse_output_end_rest(lp) ?:
		litepulse_output_set_keep(lp, claimant, false);
	if (error)
		litepulse_output_unclaim(lp, claimant);
	return error;
}

/**
 * litepulse_output_set_keep - whether what runs goes on when a claim ends, and when the host is
 *	gone
 * @lp: device
 * @claimant: holder of the claim; until this is called what an earlier claim left stays as it is
 * @keep: it does
 *
 * Return: 0, or an error of the transport: then nothing has changed.
 */
int litepulse_output_set_keep(struct litepulse *lp, struct litepulse_claimant *claimant, bool keep)
{
	int error = 0;

	lockdep_assert_held(&lp->claim.mutex);
	if (!claimant->stale)
		error = (keep ? 0 : litepulse_output_restart_queue(lp)) ?:
			litepulse_board_pledge(lp, keep, true);
	if (!error)
		claimant->keep = keep;
	return error;
}

/**
 * litepulse_output_unclaim - ends a claim; stops what runs unless it is to be kept
 * @lp: device, which may be gone
 * @claimant: holder of the claim
 */
void litepulse_output_unclaim(struct litepulse *lp, struct litepulse_claimant *claimant)
{
	lockdep_assert_held(&lp->claim.mutex);
	lp->claim.claimant = NULL;
	if (claimant->keep && !claimant->stale)
		litepulse_output_keep(lp);
	if (lp->gone || claimant->stale)
		return;
	if (claimant->keep) {
		litepulse_output_look_for_end(lp);
		return;
	}
	lp->claim.unstopped = litepulse_output_stop(lp);
	/* A failed write is repeated when the board can be reached. */
	(void)litepulse_output_end_rest(lp);
}

/**
 * litepulse_output_check_profile - whether a line profile may change
 * @lp: device; the caller need not have claim.mutex
 * @index: 0 to 3
 *
 * Return: 0, -EBUSY if something uses it that an earlier claim has kept, or an error of the
 * transport.
 */
int litepulse_output_check_profile(struct litepulse *lp, unsigned int index)
{
	const u8 train = READ_ONCE(lp->claim.kept_uses.train);
	const u8 responder = READ_ONCE(lp->claim.kept_uses.responder);
	const u8 queue = READ_ONCE(lp->claim.kept_uses.queue);
	u32 status;
	int error;

	if (!((train | responder | queue) & BIT(index)))
		return 0;
	error = litepulse_board_read_csr(lp, LITEPULSE_CSR_STATUS, &status);
	if (error)
		return error;
	return (status & LITEPULSE_CSR_STATUS_TRAIN_RUNNING_MASK && train & BIT(index)) ||
	       (status & LITEPULSE_CSR_STATUS_RESPONDER_ARMED_MASK && responder & BIT(index)) ||
	       (!(status & LITEPULSE_CSR_STATUS_QUEUE_IDLE_MASK) && queue & BIT(index)) ?
	       -EBUSY : 0;
}

/**
 * litepulse_output_set_profile - a line profile, not the tty's
 * @lp: device
 * @claimant: holder of the claim
 * @profile: baud and period are filled in
 *
 * Return: 0, -EINVAL if there is no such profile or the core cannot do it, -EOPNOTSUPP if it needs
 * a marker port that the core does not have, -EBUSY if it would
 * change and something uses it that an earlier claim has kept, -ESTALE, or an error of the
 * transport.
 */
int litepulse_output_set_profile(struct litepulse *lp, struct litepulse_claimant *claimant,
				 struct litepulse_profile *profile)
{
	u64 period = profile->baud ? litepulse_bit_period(&lp->rate, profile->baud) :
				     profile->period;
	struct litepulse_profile_settings *known;
	u32 format;
	bool same;
	int error;

	lockdep_assert_held(&lp->claim.mutex);
	if (!profile->index || profile->index >= LITEPULSE_PROFILES || profile->data_bits < 5 ||
	    profile->data_bits > 8 || profile->parity > LITEPULSE_PARITY_SPACE ||
	    profile->stop > LITEPULSE_STOP_2 ||
	    profile->flags & ~(LITEPULSE_PROFILE_INVERT | LITEPULSE_PROFILE_TO_PORT) ||
	    profile->reserved || (profile->baud && profile->period))
		return -EINVAL;
	if (profile->flags & LITEPULSE_PROFILE_TO_PORT && !lp->has_port)
		return -EOPNOTSUPP;
	error = litepulse_board_usable(lp, claimant);
	if (error)
		return error;
	format = FIELD_PREP(LITEPULSE_CFG_PROFILE_FORMAT_DATA_BITS_MASK, profile->data_bits - 5) |
		FIELD_PREP(LITEPULSE_CFG_PROFILE_FORMAT_PARITY_MASK, profile->parity) |
		FIELD_PREP(LITEPULSE_CFG_PROFILE_FORMAT_STOP_MASK, profile->stop) |
		FIELD_PREP(LITEPULSE_CFG_PROFILE_FORMAT_INVERT_MASK,
			   profile->flags & LITEPULSE_PROFILE_INVERT ? 1 : 0) |
		FIELD_PREP(LITEPULSE_CFG_PROFILE_FORMAT_TO_PORT_MASK,
			   profile->flags & LITEPULSE_PROFILE_TO_PORT ? 1 : 0);
	known = &lp->claim.profiles[profile->index];
	same = lp->claim.profiles_set & BIT(profile->index) && known->format == format &&
		known->period == period;
	error = litepulse_output_check_profile(lp, profile->index);
	if (!error)
		error = litepulse_board_set_profile(lp, profile->index, format, period);
	else if (error == -EBUSY && same)
		error = 0;
	/* It may have arrived all the same. */
	if (error && error != -EINVAL && error != -EBUSY)
		lp->claim.profiles_set &= ~BIT(profile->index);
	if (error)
		return error;
	lp->claim.profiles_set |= BIT(profile->index);
	*known = (struct litepulse_profile_settings){ .format = format, .period = period };
	if (profile->flags & LITEPULSE_PROFILE_INVERT)
		lp->claim.profiles_inverted |= BIT(profile->index);
	else
		lp->claim.profiles_inverted &= ~BIT(profile->index);
	profile->period = period;
	profile->baud = litepulse_baud(&lp->rate, period);
	return 0;
}

/**
 * litepulse_output_set_rest - level of the line between launches
 * @lp: device
 * @claimant: holder of the claim
 * @rest: which
 *
 * Return: 0, -EINVAL, -EBUSY if something timed runs or waits, -EOPNOTSUPP if the core is too old,
 * -ESTALE, or an error of the transport: then nothing has changed.
 */
int litepulse_output_set_rest(struct litepulse *lp, struct litepulse_claimant *claimant,
			      const struct litepulse_rest *rest)
{
	const u32 before = READ_ONCE(lp->line.word) & LITEPULSE_LINE_REST;
	u32 bits = rest->level == LITEPULSE_REST_LOW ? LITEPULSE_CFG_LINE_REST_MASK : 0;
	int error;

	lockdep_assert_held(&lp->claim.mutex);
	if (rest->level > LITEPULSE_REST_LOW || rest->reserved)
		return -EINVAL;
	if (bits && !litepulse_has(lp, LITEPULSE_MINOR_REST))
		return -EOPNOTSUPP;
	error = litepulse_board_usable(lp, claimant);
	if (error || bits == before)
		return error;
	error = litepulse_output_check_idle(lp);
	if (error)
		return error;
	litepulse_board_set_line(lp, LITEPULSE_LINE_REST, bits);
	error = litepulse_board_flush_line(lp);
	if (error)
		litepulse_board_set_line(lp, LITEPULSE_LINE_REST, before);
	return error;
}

/* Forgets kept launches that have left, before others wait. 0 or an error of the transport. */
static int litepulse_output_look_for_kept(struct litepulse *lp)
{
	u32 status;
	int error;

	if (!lp->claim.kept_uses.queue)
		return 0;
	error = litepulse_board_read_csr(lp, LITEPULSE_CSR_STATUS, &status);
	if (!error && status & LITEPULSE_CSR_STATUS_QUEUE_IDLE_MASK)
		WRITE_ONCE(lp->claim.kept_uses.queue, 0);
	return error;
}

/**
 * litepulse_output_launch - queues timed launches and waits
 * @lp: device
 * @claimant: holder of the claim
 * @launches: in order
 * @count: how many
 *
 * Return: how many the queue took, 0 if it is full; if it took none, and the first is at fault:
 * -EINVAL (also: its tick is less than the one before, if that is known), -ETIME if its tick has
 * passed, -EOPNOTSUPP if the core has no waits and relative entries; -ESTALE, or an error of the
 * transport.
 */
int litepulse_output_launch(struct litepulse *lp, struct litepulse_claimant *claimant,
			    const struct litepulse_launch *launches, unsigned int count)
{
	u32 words[BATCH * LITEPULSE_ENTRY_WORDS], *word;
	unsigned int done = 0, batch;
	int error, taken;
	u64 now;

	lockdep_assert_held(&lp->claim.mutex);
	error = litepulse_board_usable(lp, claimant) ?: litepulse_output_look_for_kept(lp) ?:
		litepulse_board_now(lp, &now);
	while (!error && done < count) {
		u64 last = lp->claim.last_launch;

		word = words;
		for (batch = 0; batch < BATCH && done + batch < count; batch++) {
			const struct litepulse_launch *launch = &launches[done + batch];

			error = litepulse_output_check_entry(lp, launch) ?:
				litepulse_entry_check_tick(launch, last, now);
			if (error)
				break;
			last = litepulse_entry_last(launch);
			if (launch->kind != LITEPULSE_LAUNCH_WAIT)
				lp->claim.uses.queue |= BIT(launch->profile);
			lp->claim.uses.stops |= litepulse_entry_stops(launch);
			litepulse_entry_put(launch, word);
			word += LITEPULSE_ENTRY_WORDS;
		}
		taken = lp->ops->launch(lp->context, words, batch);
		if (taken < 0) {
			error = taken;
			break;
		}
		if (trace_litepulse_launch_enabled())
			litepulse_trace_launches(lp, &launches[done], taken, 0);
		done += taken;
		if (done)
			lp->claim.last_launch = litepulse_entry_last(&launches[done - 1]);
		if (taken < batch) {
			WRITE_ONCE(lp->queue.full, true);
			/* The rest waits, whatever may be wrong with it. */
			error = -EAGAIN;
		}
	}
	if (error && done < count && trace_litepulse_launch_enabled())
		litepulse_trace_launches(lp, &launches[done], 1, error);
	if (done || error == -EAGAIN)
		return done;
	return error;
}

/**
 * litepulse_output_answer - queues one launch at a time relative to now; does not sleep
 * @lp: device
 * @claimant: holder of the claim, which queues nothing else meanwhile
 * @launch: what; @launch->tick is the answer: when
 * @lead: ticks from now to the launch
 *
 * Unlike all else here it takes no mutex: a sink's put() may call it, also in an interrupt. The
 * sink must be removed before the claim ends. If the lead is shorter than the time to queue the
 * launch and the core's LMIN, an event reports that it was refused, as of every launch.
 *
 * Return: 0, -EINVAL, -EOPNOTSUPP if the transport sleeps, -ESTALE, -EAGAIN if the queue is full,
 * or an error of the transport.
 */
int litepulse_output_answer(struct litepulse *lp, struct litepulse_claimant *claimant,
			    struct litepulse_launch *launch, u32 lead)
{
	u32 words[LITEPULSE_ENTRY_WORDS];
	int error, taken;
	u64 now;

	if (lp->ops->sleeps)
		return -EOPNOTSUPP;
	if (READ_ONCE(claimant->stale))
		return -ESTALE;
	/* Its tick is the answer, so it is a launch, and not relative. */
	if (launch->kind == LITEPULSE_LAUNCH_WAIT || launch->flags)
		return -EINVAL;
	error = litepulse_output_check_entry(lp, launch) ?:
		lp->ops->time(lp->context, &now, NULL);
	if (error)
		return error;
	launch->tick = now + lead;
	litepulse_entry_put(launch, words);
	taken = lp->ops->launch(lp->context, words, 1);
	error = taken > 0 ? 0 : taken ?: -EAGAIN;
	if (trace_litepulse_launch_enabled())
		litepulse_trace_launches(lp, launch, 1, error);
	if (!error)
		lp->claim.last_launch = launch->tick;
	return error;
}
EXPORT_SYMBOL_NS_GPL(litepulse_output_answer, LITEPULSE_NAMESPACE);

/**
 * litepulse_output_flush - removes all that is in the queue, which takes launches again if a wait
 *	has stopped it
 * @lp: device
 * @claimant: holder of the claim
 *
 * Return: 0, -ESTALE, or an error of the transport.
 */
int litepulse_output_flush(struct litepulse *lp, struct litepulse_claimant *claimant)
{
	int error = litepulse_board_usable(lp, claimant) ?:
		litepulse_board_configure(lp, &litepulse_output_end[FLUSH_QUEUE], 1);

	lockdep_assert_held(&lp->claim.mutex);
	if (!error)
		litepulse_output_flushed(lp);
	return error;
}

/**
 * litepulse_output_set_driver_enable - lead and lag of the de pin, and the tail of the echo
 * @lp: device
 * @claimant: holder of the claim
 * @driver_enable: how long
 *
 * Return: 0, -EINVAL (also: more ticks than the core can count), -EBUSY if the lead would change
 * while a train runs, -ESTALE, or an error of the transport.
 */
int litepulse_output_set_driver_enable(struct litepulse *lp, struct litepulse_claimant *claimant,
				       const struct litepulse_driver_enable *driver_enable)
{
	u64 lead = litepulse_ticks_at_least(&lp->rate, driver_enable->lead_ns);
	u64 lag = litepulse_ticks_at_least(&lp->rate, driver_enable->lag_ns);
	u64 echo = litepulse_ticks_at_least(&lp->rate, driver_enable->echo_ns);
	bool set_echo = driver_enable->flags & LITEPULSE_DRIVER_ENABLE_ECHO;
	bool unchanged = driver_enable->flags & LITEPULSE_DRIVER_ENABLE_UNCHANGED;
	u32 word, echo_ticks;

	lockdep_assert_held(&lp->claim.mutex);
	if (driver_enable->flags &
		    ~(LITEPULSE_DRIVER_ENABLE_ECHO | LITEPULSE_DRIVER_ENABLE_UNCHANGED) ||
	    (unchanged && (lead || lag)) ||
	    (driver_enable->echo_ns && !set_echo) ||
	    lead > FIELD_MAX(LITEPULSE_CFG_DRIVER_ENABLE_LEAD_MASK) ||
	    lag > FIELD_MAX(LITEPULSE_CFG_DRIVER_ENABLE_LAG_MASK) ||
	    echo > LITEPULSE_ECHO_CYCLES_MAX * lp->samples)
		return -EINVAL;
	word = FIELD_PREP(LITEPULSE_CFG_DRIVER_ENABLE_LEAD_MASK, lead) |
	       FIELD_PREP(LITEPULSE_CFG_DRIVER_ENABLE_LAG_MASK, lag);
	echo_ticks = echo;
	return litepulse_board_usable(lp, claimant) ?:
		lp->port_ops->set_driver_enable(lp, unchanged ? NULL : &word,
						set_echo ? &echo_ticks : NULL);
}

/**
 * litepulse_output_set_port - width of marks, and whether the tty's bytes are marks
 * @lp: device
 * @claimant: holder of the claim
 * @port: what changes
 *
 * Return: 0, -EINVAL, -EOPNOTSUPP if the core has no marker port, -EBUSY if something uses profile
 * 0 that an earlier claim has kept, -ESTALE, or an error of the transport.
 */
int litepulse_output_set_port(struct litepulse *lp, struct litepulse_claimant *claimant,
			      const struct litepulse_port *port)
{
	const bool set_width = port->flags & LITEPULSE_PORT_WIDTH;
	const bool set_tty = port->flags & LITEPULSE_PORT_TTY;
	bool tty = port->tty;

	lockdep_assert_held(&lp->claim.mutex);
	if (!port->flags || port->flags & ~(LITEPULSE_PORT_WIDTH | LITEPULSE_PORT_TTY) ||
	    port->tty > 1 || (port->tty && !set_tty) || (port->width && !set_width) ||
	    port->reserved)
		return -EINVAL;
	if (!lp->has_port)
		return -EOPNOTSUPP;
	return litepulse_board_usable(lp, claimant) ?:
		lp->port_ops->set_port(lp, set_width ? &port->width : NULL,
				       set_tty ? &tty : NULL);
}

/* --- train --- */

static int litepulse_output_reason_to_errno(const struct litepulse_record *answer)
{
	if (answer->kind == LITEPULSE_KIND_APPLIED)
		return 0;
	switch (answer->flags & 0xff) {
	case LITEPULSE_REASON_LATE:
		return -ETIME;
	case LITEPULSE_REASON_BUSY:
		return -EBUSY;
	default:
		return -EINVAL;
	}
}

static bool litepulse_output_answered(struct litepulse *lp)
{
	return READ_ONCE(lp->answer.state) == LITEPULSE_ANSWER_COME;
}

static void litepulse_output_expect_answer(struct litepulse *lp, u64 since, bool stop)
{
	spin_lock_irq(&lp->feed.lock);
	lp->answer.since = since;
	lp->answer.stop = stop;
	WRITE_ONCE(lp->answer.state, LITEPULSE_ANSWER_EXPECTED);
	spin_unlock_irq(&lp->feed.lock);
}

/* 0, -EINTR, or -EIO if none comes. */
static int litepulse_output_wait_for_answer(struct litepulse *lp)
{
	long left = wait_event_killable_timeout(lp->answer.wait, litepulse_output_answered(lp),
						litepulse_board_patience(lp));

	return left > 0 ? 0 : left ? -EINTR : -EIO;
}

/*
 * Waits until STATUS has @bits where @mask is set, or, if @answer, until the train has answered. 0,
 * -EINTR, -EIO if it does not come (the board was reset, or it lies), or the transport's error.
 */
static int litepulse_output_wait_for_status(struct litepulse *lp, u32 mask, u32 bits, bool answer)
{
	unsigned long end = jiffies + litepulse_board_patience(lp);
	u32 status;
	int error;

	while (!answer || !litepulse_output_answered(lp)) {
		error = litepulse_board_read_csr(lp, LITEPULSE_CSR_STATUS, &status);
		if (error || (status & mask) == bits)
			return error;
		if (fatal_signal_pending(current))
			return -EINTR;
		if (time_after(jiffies, end))
			return -EIO;
		usleep_range(50, 200);
	}
	return 0;
}

/*
 * Does something with the train and waits for what the sequencer says: an event, or, as a change
 * may wait long for its pulse, the status that it waits.
 */
static int litepulse_output_train_command(struct litepulse *lp, const struct litepulse_word *words,
					  unsigned int count, bool stop, bool change)
{
	const u32 pending = LITEPULSE_CSR_STATUS_TRAIN_CHANGE_PENDING_MASK;
	u64 now;
	int error;

	lockdep_assert_held(&lp->claim.mutex);
	error = litepulse_board_now(lp, &now) ?: litepulse_sink_unmoderate(lp);
	if (error)
		return error;
	litepulse_output_expect_answer(lp, now, stop);
	error = litepulse_board_configure(lp, words, count);
	/* An event reports why it was refused. */
	if (error == -EINVAL)
		error = 0;
	if (change)
		error = error ?: litepulse_output_wait_for_status(lp, pending, pending, true);
	else
		error = error ?: litepulse_output_wait_for_answer(lp);
	spin_lock_irq(&lp->feed.lock);
	if (!error && lp->answer.state == LITEPULSE_ANSWER_COME)
		error = litepulse_output_reason_to_errno(&lp->answer.record);
	/* The answer to a change that waits is looked at later. */
	if (error || !change || lp->answer.state == LITEPULSE_ANSWER_COME)
		lp->answer.state = LITEPULSE_ANSWER_NONE;
	spin_unlock_irq(&lp->feed.lock);
	litepulse_sink_end_unmoderate(lp);
	return error;
}

/**
 * litepulse_output_is_unknown - whether the board may have taken a command all the same
 * @error: of litepulse_output_train_start() and the like, which failed or not
 *
 * Return: false if it has taken it, or has refused it.
 */
bool litepulse_output_is_unknown(int error)
{
	return error && error != -EINVAL && error != -EBUSY && error != -ETIME;
}

static bool litepulse_output_fraction_ok(u32 num, u32 den)
{
	return !den || num < den;
}

/* The least period of a train that can be changed, in ticks: hdl/limits.toml. */
#define CHANGE_MIN_PERIOD 320

/*
 * Whether a train can be changed: 0, -EOPNOTSUPP if it is too fast, or an error of the transport.
 * Its lead is in force, and stays while it runs.
 */
static int litepulse_output_check_changeable(struct litepulse *lp, u32 period)
{
	u32 word;
	int error = lp->ops->read_config(lp->context, LITEPULSE_CFG_DRIVER_ENABLE, &word, 1);

	if (error)
		return error;
	return period < CHANGE_MIN_PERIOD * lp->samples +
			FIELD_GET(LITEPULSE_CFG_DRIVER_ENABLE_LEAD_MASK, word) ? -EOPNOTSUPP : 0;
}

/*
 * A change that was taken may have been refused at its pulse: then the train is as before. No
 * change waits now, so the answer is there, or comes at once. 0 or -EINTR.
 */
static int litepulse_output_note_refusal(struct litepulse *lp)
{
	bool refused;
	int error;

	lockdep_assert_held(&lp->claim.mutex);
	if (READ_ONCE(lp->answer.state) == LITEPULSE_ANSWER_NONE)
		return 0;
	error = litepulse_sink_unmoderate(lp);
	if (error)
		return error;
	error = litepulse_output_wait_for_answer(lp);
	litepulse_sink_end_unmoderate(lp);
	if (error == -EINTR)
		return error;
	spin_lock_irq(&lp->feed.lock);
	refused = litepulse_output_answered(lp) &&
		  litepulse_output_reason_to_errno(&lp->answer.record);
	/* If none has come the record was lost. */
	lp->answer.state = LITEPULSE_ANSWER_NONE;
	spin_unlock_irq(&lp->feed.lock);
	if (refused && lp->claim.train.period)
		lp->claim.train = lp->claim.train_before;
	return 0;
}

static int litepulse_output_train_begin(struct litepulse *lp, struct litepulse_claimant *claimant,
					const struct litepulse_train *train, bool changes)
{
	bool asap = train->flags & LITEPULSE_TRAIN_ASAP;
	const struct litepulse_word words[] = {
		{ LITEPULSE_CFG_TRAIN_START_LO, lower_32_bits(train->start) },
		{ LITEPULSE_CFG_TRAIN_START_HI, upper_32_bits(train->start) },
		{ LITEPULSE_CFG_TRAIN_COUNT, train->count },
		{ LITEPULSE_CFG_TRAIN_WIDTH, train->width },
		{ LITEPULSE_CFG_TRAIN_LAUNCH,
		  litepulse_entry_word(train->kind, train->profile, train->data) },
		{ LITEPULSE_CFG_TRAIN_PERIOD, train->period },
		{ LITEPULSE_CFG_TRAIN_NUM, train->num },
		{ LITEPULSE_CFG_TRAIN_DEN, train->den },
		{ LITEPULSE_CFG_TRAIN_COMMAND,
		  LITEPULSE_TRAIN_CMD_START |
			  FIELD_PREP(LITEPULSE_CFG_TRAIN_COMMAND_ASAP_MASK, asap) },
	};
	u32 status;
	int error;

	lockdep_assert_held(&lp->claim.mutex);
	if (train->flags & ~LITEPULSE_TRAIN_ASAP || train->reserved || train->reserved2 ||
	    (asap && train->start) || !litepulse_output_fraction_ok(train->num, train->den))
		return -EINVAL;
	error = litepulse_output_check_launch(lp, train->kind, train->profile, train->data,
					      train->width) ?:
		litepulse_board_usable(lp, claimant) ?:
		litepulse_board_read_csr(lp, LITEPULSE_CSR_STATUS, &status);
	if (error)
		return error;
	if (status & LITEPULSE_CSR_STATUS_TRAIN_RUNNING_MASK)
		return -EBUSY;
	lp->port_ops->train_starts(lp);
	/* An older core has no other trains than those that can be changed. */
	if (changes || !litepulse_has(lp, LITEPULSE_MINOR_WIDTH)) {
		error = litepulse_output_check_changeable(lp, train->period);
		if (error)
			return changes && error == -EOPNOTSUPP ? -EINVAL : error;
	}
	/* Until it is known what the board has taken. */
	lp->claim.train.period = 0;
	lp->claim.uses.train = BIT(train->profile);
	WRITE_ONCE(lp->claim.kept_uses.train, 0);
	error = litepulse_output_train_command(lp, words, ARRAY_SIZE(words), false, false);
	if (!error)
		lp->claim.train = *train;
	return error == -EINVAL ? litepulse_output_refused(lp, train->profile) : error;
}

/**
 * litepulse_output_train_start - starts a train and waits until the core has taken it
 * @lp: device
 * @claimant: holder of the claim
 * @train: what
 *
 * Return: 0, -EINVAL, -ENOENT if its profile was never set, -EBUSY while one runs, -ETIME if it
 * should have begun before that can be, -EOPNOTSUPP if the core is too old for so fast a train,
 * -ESTALE, or an error of the transport.
 */
int litepulse_output_train_start(struct litepulse *lp, struct litepulse_claimant *claimant,
				 const struct litepulse_train *train)
{
	return litepulse_output_train_begin(lp, claimant, train, false);
}

/**
 * litepulse_output_train_start_changeable - the same for a train that is to be changed
 * @lp: device
 * @claimant: holder of the claim
 * @train: what
 *
 * Return: as litepulse_output_train_start(); -EINVAL also if it is too fast for that.
 */
int litepulse_output_train_start_changeable(struct litepulse *lp,
					    struct litepulse_claimant *claimant,
					    const struct litepulse_train *train)
{
	return litepulse_output_train_begin(lp, claimant, train, true);
}

/**
 * litepulse_output_train_adjust - changes period, phase and width of the train that runs
 * @lp: device
 * @claimant: holder of the claim
 * @adjust: how
 *
 * Return: 0 when it is taken; -EINVAL, -EBUSY while another change waits, -ETIME if it is too
 * late, -EOPNOTSUPP if the train is too fast to be changed, or the core too old for a width,
 * -ENODATA if a width is given and it is not known what train runs, -ESTALE, or an error of the
 * transport.
 */
int litepulse_output_train_adjust(struct litepulse *lp, struct litepulse_claimant *claimant,
				  const struct litepulse_train_adjust *adjust)
{
	const bool new_width = adjust->flags & LITEPULSE_ADJUST_WIDTH;
	/* Not the first word unless it is known: the train's own. */
	struct litepulse_word words[] = {
		{ LITEPULSE_CFG_TRAIN_WIDTH, adjust->width },
		{ LITEPULSE_CFG_TRAIN_PERIOD, adjust->period },
		{ LITEPULSE_CFG_TRAIN_NUM, adjust->num },
		{ LITEPULSE_CFG_TRAIN_DEN, adjust->den },
		{ LITEPULSE_CFG_TRAIN_AT_PULSE, adjust->at_pulse },
		{ LITEPULSE_CFG_TRAIN_STEP, (u32)adjust->step },
		{ LITEPULSE_CFG_TRAIN_COMMAND, LITEPULSE_TRAIN_CMD_ADJUST },
	};
	const struct litepulse_train *train = &lp->claim.train;
	unsigned int skip;
	u32 status;
	int error;

	lockdep_assert_held(&lp->claim.mutex);
	if (adjust->flags & ~LITEPULSE_ADJUST_WIDTH || adjust->reserved ||
	    (!new_width && adjust->width) ||
	    !litepulse_output_fraction_ok(adjust->num, adjust->den))
		return -EINVAL;
	if (new_width && !litepulse_has(lp, LITEPULSE_MINOR_WIDTH))
		return -EOPNOTSUPP;
	error = litepulse_board_usable(lp, claimant) ?:
		litepulse_board_read_csr(lp, LITEPULSE_CSR_STATUS, &status);
	if (error)
		return error;
	if (!(status & LITEPULSE_CSR_STATUS_TRAIN_RUNNING_MASK))
		return -EINVAL;
	if (status & LITEPULSE_CSR_STATUS_TRAIN_CHANGE_PENDING_MASK)
		return -EBUSY;
	error = litepulse_output_note_refusal(lp);
	if (!error && train->period)
		error = litepulse_output_check_changeable(lp, train->period);
	if (error)
		return error;
	if (train->period) {
		const bool pulses = train->kind == LITEPULSE_LAUNCH_PULSE;

		if (new_width && pulses == !adjust->width)
			return -EINVAL;
		/* The word may still have the width of a change that was refused. */
		if (!new_width)
			words[0].value = train->width;
	} else if (new_width) {
		return -ENODATA;
	}
	/* While a train runs an older core refuses the word. */
	skip = train->period && litepulse_has(lp, LITEPULSE_MINOR_WIDTH) ? 0 : 1;
	error = litepulse_output_train_command(lp, words + skip, ARRAY_SIZE(words) - skip, false,
					       true);
	if (litepulse_output_is_unknown(error)) {
		lp->claim.train.period = 0;
	} else if (!error && train->period) {
		lp->claim.train_before = *train;
		lp->claim.train.period = adjust->period;
		lp->claim.train.num = adjust->num;
		lp->claim.train.den = adjust->den;
		if (new_width)
			lp->claim.train.width = adjust->width;
	}
	return error;
}

/**
 * litepulse_output_train_get - the train that runs, as it was requested
 * @lp: device; claim.mutex is held
 * @train: answer
 *
 * Return: 0, -ENODATA if none runs or it was started before the driver found the board, or an
 * error of the transport.
 */
int litepulse_output_train_get(struct litepulse *lp, struct litepulse_train *train)
{
	u32 status;
	int error = litepulse_board_read_csr(lp, LITEPULSE_CSR_STATUS, &status);

	lockdep_assert_held(&lp->claim.mutex);
	if (error)
		return error;
	if (!(status & LITEPULSE_CSR_STATUS_TRAIN_RUNNING_MASK) || !lp->claim.train.period)
		return -ENODATA;
	if (!(status & LITEPULSE_CSR_STATUS_TRAIN_CHANGE_PENDING_MASK))
		error = litepulse_output_note_refusal(lp);
	*train = lp->claim.train;
	return error;
}

/**
 * litepulse_output_train_stop - stops the train: no further pulse starts
 * @lp: device
 * @claimant: holder of the claim
 * @pulses: answer: number of the pulse that would have come next
 *
 * Return: 0, -ESTALE, or an error of the transport.
 */
int litepulse_output_train_stop(struct litepulse *lp, struct litepulse_claimant *claimant,
				u32 *pulses)
{
	int error = litepulse_board_usable(lp, claimant) ?:
		litepulse_output_train_command(lp, &litepulse_output_end[STOP_TRAIN], 1, true,
					       false);

	lockdep_assert_held(&lp->claim.mutex);
	if (!error)
		*pulses = lp->answer.record.data;
	return error;
}

/*
 * There is no claim, and nothing timed runs or waits. Then the tty may use the train. 0, -EBUSY,
 * or an error of the transport.
 */
static int litepulse_output_is_free(struct litepulse *lp)
{
	u32 status;
	int error;

	if (lp->claim.claimant || READ_ONCE(lp->line.word) & LITEPULSE_CFG_LINE_BREAK_HOLD_MASK)
		return -EBUSY;
	error = litepulse_board_read_csr(lp, LITEPULSE_CSR_STATUS, &status);
	if (error)
		return error;
	/* What an earlier claim has left may be on the line when the break is due. */
	return status & (LITEPULSE_CSR_STATUS_TRAIN_RUNNING_MASK |
			 LITEPULSE_CSR_STATUS_RESPONDER_ARMED_MASK) ||
	       !(status & LITEPULSE_CSR_STATUS_QUEUE_IDLE_MASK) ? -EBUSY : 0;
}

/* The outcome of a pulse of the train. */
struct litepulse_output_pulse {
	struct litepulse_sink sink;
	struct litepulse *lp;
	struct litepulse_record outcome; /* its kind is 0 until it is known */
};

static void litepulse_output_pulse_put(struct litepulse_sink *sink,
				       const struct litepulse_record *record, u32 data,
				       const struct litepulse_stamp *stamp)
{
	struct litepulse_output_pulse *pulse =
		container_of(sink, struct litepulse_output_pulse, sink);

	if (!pulse->outcome.kind) {
		pulse->outcome = *record;
		wake_up(&pulse->lp->answer.wait);
	}
}

/* 0, -EINTR, or -EIO if it does not come. */
static int litepulse_output_wait_for_pulse(struct litepulse_output_pulse *pulse)
{
	struct litepulse *lp = pulse->lp;
	long left = wait_event_killable_timeout(lp->answer.wait, READ_ONCE(pulse->outcome.kind),
						litepulse_board_patience(lp));

	return left > 0 ? 0 : left ? -EINTR : -EIO;
}

/**
 * litepulse_output_break - a break of the tty as one launch: the pulse of a train of one
 * @lp: device
 * @width: how long, ticks, not 0
 * @end: answer: at this tick it has ended
 *
 * On return it has begun, and can no longer be changed.
 *
 * Return: 0, -EBUSY if a file has the claim, something timed runs or waits, or the line was not
 * free when it was due; -EINTR, -ESTALE, or an error of the transport. -EIO also if what became of
 * it was lost.
 */
int litepulse_output_break(struct litepulse *lp, u32 width, u64 *end)
{
	const struct litepulse_train train = {
		.flags = LITEPULSE_TRAIN_ASAP,
		.kind = LITEPULSE_LAUNCH_PULSE,
		.width = width,
		.count = 1,
		.period = U32_MAX - 1,
	};
	struct litepulse_output_pulse pulse = {
		.lp = lp,
		.sink = {
			.name = "break",
			.put = litepulse_output_pulse_put,
			.want = {
				.kinds = BIT(LITEPULSE_KIND_TX) | BIT(LITEPULSE_KIND_REFUSED),
				.sources = BIT(LITEPULSE_SRC_TRAIN),
				.watermark = 1,
				.clock = LITEPULSE_CLOCK_NONE,
			},
		},
	};
	struct litepulse_claimant tty = { };
	int error;

	lockdep_assert_held(&lp->claim.mutex);
	error = litepulse_output_is_free(lp) ?: litepulse_output_end_rest(lp) ?:
		litepulse_sink_add(lp, &pulse.sink);
	if (error)
		return error;
	error = litepulse_output_train_start(lp, &tty, &train) ?:
		litepulse_output_wait_for_pulse(&pulse);
	litepulse_sink_remove(lp, &pulse.sink);
	if (error)
		return error;
	*end = pulse.outcome.tick + width;
	switch (pulse.outcome.kind) {
	case LITEPULSE_KIND_TX:
		return 0;
	case LITEPULSE_KIND_REFUSED:
		return -EBUSY;
	default:
		return -EIO;
	}
}

/* --- responder --- */

/*
 * What a LIN slave needs beyond the rules for all. 0, -EINVAL, -EOPNOTSUPP if the core is none, or
 * -ERANGE if the settings of the line, which are the tty's, are not those of a bus.
 */
static int litepulse_output_check_lin(struct litepulse *lp,
				      const struct litepulse_responder *responder)
{
	/* The bytes are those of the table, and the profile is that of the receiver. */
	if (responder->kind != LITEPULSE_LAUNCH_FRAME || responder->profile || responder->data ||
	    responder->value || responder->mask || responder->holdoff ||
	    (responder->flags | LITEPULSE_RESPONDER_EXCLUSIVE) !=
		    (LITEPULSE_RESPONDER_REARM | LITEPULSE_RESPONDER_EXCLUSIVE))
		return -EINVAL;
	if (!lp->lin_entries)
		return -EOPNOTSUPP;
	return lp->port_ops->fits_lin(lp);
}

/**
 * litepulse_output_set_responder - programs and arms the responder, or disarms it
 * @lp: device
 * @claimant: holder of the claim
 * @responder: how
 *
 * If the delay, or the period of a burst, is shorter than the core can do, RESPONDER_MISSED reports
 * it when it is triggered.
 *
 * Return: 0, -EINVAL (also: what does not fit), -ENOENT if its profile was never set, -ESTALE, or
 * an error of the transport; -EOPNOTSUPP if the core is too old for a burst or for these times. Of
 * a LIN slave also: -EOPNOTSUPP if the core is none, -ERANGE if the tty's settings are not those of
 * a bus, -EINTR.
 */
int litepulse_output_set_responder(struct litepulse *lp, struct litepulse_claimant *claimant,
				   const struct litepulse_responder *responder)
{
	const u32 known = LITEPULSE_RESPONDER_RISE | LITEPULSE_RESPONDER_FALL |
		LITEPULSE_RESPONDER_REARM | LITEPULSE_RESPONDER_EXCLUSIVE |
		LITEPULSE_RESPONDER_IGNORE_OWN | LITEPULSE_RESPONDER_PULSES_MASK;
	struct litepulse_word words[] = {
		{ LITEPULSE_CFG_RESP_TRIGGER,
		  FIELD_PREP(LITEPULSE_CFG_RESP_TRIGGER_TRIGGER_MASK, responder->trigger & 7) |
			  FIELD_PREP(LITEPULSE_CFG_RESP_TRIGGER_CHANNEL_MASK,
				     responder->channel & 15) |
			  FIELD_PREP(LITEPULSE_CFG_RESP_TRIGGER_RISE_MASK,
				     responder->flags & LITEPULSE_RESPONDER_RISE ? 1 : 0) |
			  FIELD_PREP(LITEPULSE_CFG_RESP_TRIGGER_FALL_MASK,
				     responder->flags & LITEPULSE_RESPONDER_FALL ? 1 : 0) |
			  FIELD_PREP(LITEPULSE_CFG_RESP_TRIGGER_REARM_MASK,
				     responder->flags & LITEPULSE_RESPONDER_REARM ? 1 : 0) |
			  FIELD_PREP(LITEPULSE_CFG_RESP_TRIGGER_EXCLUSIVE_MASK,
				     responder->flags & LITEPULSE_RESPONDER_EXCLUSIVE ? 1 : 0) |
			  FIELD_PREP(LITEPULSE_CFG_RESP_TRIGGER_IGNORE_OWN_MASK,
				     responder->flags & LITEPULSE_RESPONDER_IGNORE_OWN ? 1 : 0) |
			  FIELD_PREP(LITEPULSE_CFG_RESP_TRIGGER_BURST_MASK,
				     FIELD_GET(LITEPULSE_RESPONDER_PULSES_MASK,
					       responder->flags)) },
		{ LITEPULSE_CFG_RESP_MATCH,
		  FIELD_PREP(LITEPULSE_CFG_RESP_MATCH_VALUE_MASK, responder->value) |
			  FIELD_PREP(LITEPULSE_CFG_RESP_MATCH_MASK_MASK, responder->mask) },
		{ LITEPULSE_CFG_RESP_DELAY, responder->delay },
		{ LITEPULSE_CFG_RESP_WIDTH, responder->width },
		{ LITEPULSE_CFG_RESP_LAUNCH,
		  litepulse_entry_word(responder->kind, responder->profile, responder->data) },
		{ LITEPULSE_CFG_RESP_HOLDOFF, responder->holdoff },
		{ LITEPULSE_CFG_RESP_ARM, 1 },
	};
	static const struct litepulse_responder off;
	const bool edge = responder->trigger == LITEPULSE_TRIGGER_EDGE;
	int error;

	lockdep_assert_held(&lp->claim.mutex);
	if (responder->trigger == LITEPULSE_TRIGGER_OFF) {
		if (memcmp(responder, &off, sizeof(off)))
			return -EINVAL;
		error = litepulse_board_usable(lp, claimant) ?:
			litepulse_board_configure(lp, &litepulse_output_end[DISARM], 1);
		if (!error)
			litepulse_output_end_responder(lp);
		return error;
	}
	if (responder->trigger > LITEPULSE_TRIGGER_LIN ||
	    responder->channel > lp->inputs ||
	    responder->flags & ~known ||
	    responder->reserved)
		return -EINVAL;
	if (edge ? !(responder->flags & (LITEPULSE_RESPONDER_RISE | LITEPULSE_RESPONDER_FALL)) :
		   responder->channel)
		return -EINVAL;
	error = litepulse_output_check_launch(lp, responder->kind, responder->profile,
					      responder->data, responder->width);
	if (!error && responder->trigger == LITEPULSE_TRIGGER_LIN)
		error = litepulse_output_check_lin(lp, responder);
	if (!error && !litepulse_has(lp, LITEPULSE_MINOR_BURST) &&
	    (responder->flags & LITEPULSE_RESPONDER_PULSES_MASK ||
	     max(responder->delay, responder->holdoff) >= LITEPULSE_SHORT_TIME))
		error = -EOPNOTSUPP;
	error = error ?: litepulse_board_usable(lp, claimant);
	error = error ?: mutex_lock_killable(&lp->setup.mutex);
	if (error)
		return error;
	/* By profile 0 it receives what triggers it. */
	error = litepulse_output_arm(lp, BIT(edge ? responder->channel : lp->inputs), !edge,
				     BIT(responder->profile) | (edge ? 0 : BIT(0)), words,
				     ARRAY_SIZE(words));
	mutex_unlock(&lp->setup.mutex);
	/* Undone if it failed. A board that cannot be reached may be armed until the claim ends. */
	if (error && !litepulse_board_configure(lp, &litepulse_output_end[DISARM], 1))
		litepulse_output_end_responder(lp);
	return error == -EINVAL ? litepulse_output_refused(lp, responder->profile) : error;
}
