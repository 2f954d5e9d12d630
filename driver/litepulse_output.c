// SPDX-License-Identifier: GPL-2.0-only
/*
 * The claim, and what its holder may do: profiles, timed launches, the train, the responder
 *
 * All are called with claim_mutex and gone_sem held, from processes. A claim that has gone stale
 * by a reset of the board can only end.
 */
#include <linux/bitfield.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/sched/signal.h>
#include <linux/string.h>

#include "litepulse.h"

/* Launches handed to the transport at a time. */
#define BATCH 16
static_assert(sizeof(struct litepulse_launch) == 32);

/* The receiver must be on for the responder to hear bytes and breaks, whoever else reads. */
static int listen(struct litepulse *lp, bool on)
{
	int error = 0;

	mutex_lock(&lp->setup_mutex);
	if (lp->responder_listens != on) {
		lp->responder_listens = on;
		error = litepulse_apply_sinks(lp);
	}
	mutex_unlock(&lp->setup_mutex);
	return error;
}

/* What can be put on the line: the same rules for launches, trains and the responder. */
static int check_launch(u8 kind, u8 profile, u8 data, u32 width)
{
	if (profile >= LITEPULSE_PROFILES)
		return -EINVAL;
	switch (kind) {
	case LITEPULSE_LAUNCH_FRAME:
		return width ? -EINVAL : 0;
	case LITEPULSE_LAUNCH_BREAK:
		return width || !data ? -EINVAL : 0;
	case LITEPULSE_LAUNCH_PULSE:
		return !width || data ? -EINVAL : 0;
	default:
		return -EINVAL;
	}
}

static u32 launch_word(u8 kind, u8 profile, u8 data)
{
	return FIELD_PREP(LITEPULSE_LAUNCH_LAUNCH_KIND_MASK, kind) |
		FIELD_PREP(LITEPULSE_LAUNCH_LAUNCH_PROFILE_MASK, profile) |
		FIELD_PREP(LITEPULSE_LAUNCH_LAUNCH_DATA_MASK, data);
}

static int usable(struct litepulse *lp, struct litepulse_claimant *claimant)
{
	lockdep_assert_held(&lp->claim_mutex);
	return claimant->stale ? -ESTALE : litepulse_check_session(lp);
}

/**
 * litepulse_claim - becomes the one who may launch
 * @lp: device
 * @claimant: a new one
 *
 * Return: 0, or -EBUSY.
 */
int litepulse_claim(struct litepulse *lp, struct litepulse_claimant *claimant)
{
	lockdep_assert_held(&lp->claim_mutex);
	if (lp->claimant)
		return -EBUSY;
	lp->claimant = claimant;
	return 0;
}

/**
 * litepulse_set_keep - whether what runs goes on when a claim ends, and when the host is gone
 * @lp: device
 * @claimant: holder of the claim; until this is called what an earlier claim left stays as it is
 * @keep: it does
 *
 * Return: 0, or an error of the transport: then nothing has changed.
 */
int litepulse_set_keep(struct litepulse *lp, struct litepulse_claimant *claimant, bool keep)
{
	int error;

	lockdep_assert_held(&lp->claim_mutex);
	error = claimant->stale ? 0 : litepulse_pledge(lp, keep, true);
	if (!error)
		claimant->keep = keep;
	return error;
}

/**
 * litepulse_unclaim - ends a claim; stops what runs unless it is to be kept
 * @lp: device, which may be gone
 * @claimant: holder of the claim
 */
void litepulse_unclaim(struct litepulse *lp, struct litepulse_claimant *claimant)
{
	lockdep_assert_held(&lp->claim_mutex);
	lp->claimant = NULL;
	if (lp->gone || claimant->keep || claimant->stale)
		return;
	lp->unstopped = litepulse_stop_output(lp);
	listen(lp, false);
}

/**
 * litepulse_profile_set - a line profile, not the tty's
 * @lp: device
 * @claimant: holder of the claim
 * @profile: baud and period are filled in
 *
 * Return: 0, -EINVAL if there is no such profile or the core cannot do it, -ESTALE, or an error
 * of the transport.
 */
int litepulse_profile_set(struct litepulse *lp, struct litepulse_claimant *claimant,
			  struct litepulse_profile *profile)
{
	u64 period = profile->baud ? litepulse_bit_period(&lp->rate, profile->baud) :
				     profile->period;
	u32 format;
	int error;

	if (!profile->index || profile->index >= LITEPULSE_PROFILES || profile->data_bits < 5 ||
	    profile->data_bits > 8 || profile->parity > LITEPULSE_PARITY_SPACE ||
	    profile->stop > LITEPULSE_STOP_2 || profile->flags & ~LITEPULSE_PROFILE_INVERT ||
	    profile->reserved || (profile->baud && profile->period))
		return -EINVAL;
	error = usable(lp, claimant);
	if (error)
		return error;
	format = FIELD_PREP(LITEPULSE_CFG_PROFILE_FORMAT_DATA_BITS_MASK, profile->data_bits - 5) |
		FIELD_PREP(LITEPULSE_CFG_PROFILE_FORMAT_PARITY_MASK, profile->parity) |
		FIELD_PREP(LITEPULSE_CFG_PROFILE_FORMAT_STOP_MASK, profile->stop) |
		FIELD_PREP(LITEPULSE_CFG_PROFILE_FORMAT_INVERT_MASK,
			   profile->flags & LITEPULSE_PROFILE_INVERT ? 1 : 0);
	error = litepulse_set_profile(lp, profile->index, format, period);
	if (error)
		return error;
	profile->period = period;
	profile->baud = litepulse_baud(&lp->rate, period);
	return 0;
}

/**
 * litepulse_launch - queues timed launches
 * @lp: device
 * @claimant: holder of the claim
 * @launches: in order
 * @count: how many
 *
 * Return: how many the queue took, 0 if it is full; if it took none, and the first is at fault:
 * -EINVAL (also: its tick is less than the one before), -ETIME if its tick has passed; -ESTALE,
 * or an error of the transport.
 */
int litepulse_launch(struct litepulse *lp, struct litepulse_claimant *claimant,
		     const struct litepulse_launch *launches, unsigned int count)
{
	u32 words[BATCH * 4], *word;
	unsigned int done = 0, batch;
	int error, taken;
	u64 now;

	error = usable(lp, claimant) ?: litepulse_now(lp, &now);
	while (!error && done < count) {
		u64 last = lp->last_launch;

		word = words;
		for (batch = 0; batch < BATCH && done + batch < count; batch++) {
			const struct litepulse_launch *launch = &launches[done + batch];

			error = check_launch(launch->kind, launch->profile, launch->data,
					     launch->width);
			if (memchr_inv(launch->reserved, 0, sizeof(launch->reserved)) ||
			    launch->tick < last)
				error = -EINVAL;
			else if (!error && launch->tick <= now)
				error = -ETIME;
			if (error)
				break;
			last = launch->tick;
			*word++ = lower_32_bits(launch->tick);
			*word++ = upper_32_bits(launch->tick);
			*word++ = launch->width;
			*word++ = launch_word(launch->kind, launch->profile, launch->data) |
				FIELD_PREP(LITEPULSE_LAUNCH_LAUNCH_TAG_MASK, launch->tag);
		}
		taken = lp->ops->launch(lp->context, words, batch);
		if (taken < 0) {
			error = taken;
			break;
		}
		done += taken;
		if (done)
			lp->last_launch = launches[done - 1].tick;
		if (taken < batch) {
			WRITE_ONCE(lp->launch_full, true);
			break;
		}
	}
	return done ?: error;
}

/**
 * litepulse_flush - takes back what waits in the queue
 * @lp: device
 * @claimant: holder of the claim
 *
 * Return: 0, -ESTALE, or an error of the transport.
 */
int litepulse_flush(struct litepulse *lp, struct litepulse_claimant *claimant)
{
	static const struct litepulse_word word = { LITEPULSE_CFG_COMMAND,
						    LITEPULSE_CFG_COMMAND_FLUSH_QUEUE_MASK };
	int error = usable(lp, claimant) ?: litepulse_configure(lp, &word, 1);

	if (!error) {
		lp->last_launch = 0;
		WRITE_ONCE(lp->launch_full, false);
	}
	return error;
}

/* Whole ticks, at least as long as @ns; @ns has 32 bits, so nothing saturates. */
static u64 ticks_at_least(struct litepulse *lp, u32 ns)
{
	u32 rest;
	u64 ticks = litepulse_mul_div(ns, lp->rate.ns_div, lp->rate.ns_mul, &rest);

	return ticks + !!rest;
}

/**
 * litepulse_driver_enable_set - lead and lag of the de pin, and the tail of the echo
 * @lp: device
 * @claimant: holder of the claim
 * @driver_enable: how long
 *
 * Return: 0, -EINVAL (also: more ticks than the core can count), -EBUSY if the lead would change
 * while a train runs, -ESTALE, or an error of the transport.
 */
int litepulse_driver_enable_set(struct litepulse *lp, struct litepulse_claimant *claimant,
				const struct litepulse_driver_enable *driver_enable)
{
	u64 lead = ticks_at_least(lp, driver_enable->lead_ns);
	u64 lag = ticks_at_least(lp, driver_enable->lag_ns);
	u64 echo = ticks_at_least(lp, driver_enable->echo_ns);
	bool set_echo = driver_enable->flags & LITEPULSE_DRIVER_ENABLE_ECHO;
	u32 word;
	int error;

	if (driver_enable->flags & ~LITEPULSE_DRIVER_ENABLE_ECHO ||
	    (driver_enable->echo_ns && !set_echo) ||
	    lead > FIELD_MAX(LITEPULSE_CFG_DRIVER_ENABLE_LEAD_MASK) ||
	    lag > FIELD_MAX(LITEPULSE_CFG_DRIVER_ENABLE_LAG_MASK) ||
	    echo > LITEPULSE_ECHO_CYCLES_MAX * lp->samples)
		return -EINVAL;
	word = FIELD_PREP(LITEPULSE_CFG_DRIVER_ENABLE_LEAD_MASK, lead) |
	       FIELD_PREP(LITEPULSE_CFG_DRIVER_ENABLE_LAG_MASK, lag);
	/* The lead first: it is all that the core may refuse. */
	error = usable(lp, claimant) ?: litepulse_tty_set_driver_enable(lp, word);
	return error || !set_echo ? error : litepulse_tty_set_echo(lp, echo);
}

/* --- train --- */

static int reason_to_errno(const struct litepulse_event *answer)
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

static bool answered(struct litepulse *lp)
{
	return READ_ONCE(lp->answer_state) == LITEPULSE_ANSWER_COME;
}

static void expect_answer(struct litepulse *lp, u64 since, bool stop)
{
	spin_lock_irq(&lp->lock);
	lp->answer_since = since;
	lp->answer_stop = stop;
	WRITE_ONCE(lp->answer_state, LITEPULSE_ANSWER_EXPECTED);
	spin_unlock_irq(&lp->lock);
}

/* 0, -EINTR, or -EIO if none comes. */
static int wait_for_answer(struct litepulse *lp)
{
	long left = wait_event_killable_timeout(lp->answer_wait, answered(lp),
						litepulse_patience(lp));

	return left > 0 ? 0 : left ? -EINTR : -EIO;
}

/*
 * Waits until STATUS has @bits where @mask is set, or, if @answer, until the train has answered. 0,
 * -EINTR, -EIO if it does not come (the board was reset, or it lies), or the transport's error.
 */
static int wait_for_status(struct litepulse *lp, u32 mask, u32 bits, bool answer)
{
	unsigned long end = jiffies + litepulse_patience(lp);
	u32 status;
	int error;

	while (!answer || !answered(lp)) {
		error = litepulse_read_csr(lp, LITEPULSE_CSR_STATUS, &status);
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
static int train_command(struct litepulse *lp, const struct litepulse_word *words,
			 unsigned int count, bool stop, bool change)
{
	const u32 pending = LITEPULSE_CSR_STATUS_TRAIN_CHANGE_PENDING_MASK;
	u64 now;
	int error;

	error = litepulse_now(lp, &now);
	if (error)
		return error;
	litepulse_hurry(lp, true);
	expect_answer(lp, now, stop);
	error = litepulse_configure(lp, words, count);
	/* An event tells why it was refused. */
	if (error == -EINVAL)
		error = 0;
	if (change)
		error = error ?: wait_for_status(lp, pending, pending, true);
	else
		error = error ?: wait_for_answer(lp);
	spin_lock_irq(&lp->lock);
	if (!error && lp->answer_state == LITEPULSE_ANSWER_COME)
		error = reason_to_errno(&lp->answer);
	lp->answer_state = LITEPULSE_ANSWER_NONE;
	spin_unlock_irq(&lp->lock);
	litepulse_hurry(lp, false);
	return error;
}

static bool fraction_ok(u32 num, u32 den)
{
	return !den || num < den;
}

/**
 * litepulse_train_start - starts a train and waits until the core has taken it
 * @lp: device
 * @claimant: holder of the claim
 * @train: what
 *
 * Return: 0, -EINVAL, -EBUSY while one runs, -ETIME if it should have begun before that can be,
 * -ESTALE, or an error of the transport.
 */
int litepulse_train_start(struct litepulse *lp, struct litepulse_claimant *claimant,
			  const struct litepulse_train *train)
{
	bool asap = train->flags & LITEPULSE_TRAIN_ASAP;
	const struct litepulse_word words[] = {
		{ LITEPULSE_CFG_TRAIN_START_LO, lower_32_bits(train->start) },
		{ LITEPULSE_CFG_TRAIN_START_HI, upper_32_bits(train->start) },
		{ LITEPULSE_CFG_TRAIN_COUNT, train->count },
		{ LITEPULSE_CFG_TRAIN_WIDTH, train->width },
		{ LITEPULSE_CFG_TRAIN_LAUNCH,
		  launch_word(train->kind, train->profile, train->data) },
		{ LITEPULSE_CFG_TRAIN_PERIOD, train->period },
		{ LITEPULSE_CFG_TRAIN_NUM, train->num },
		{ LITEPULSE_CFG_TRAIN_DEN, train->den },
		{ LITEPULSE_CFG_TRAIN_COMMAND,
		  LITEPULSE_TRAIN_CMD_START |
			  FIELD_PREP(LITEPULSE_CFG_TRAIN_COMMAND_ASAP_MASK, asap) },
	};
	u32 status;
	int error;

	if (train->flags & ~LITEPULSE_TRAIN_ASAP || train->reserved || train->reserved2 ||
	    (asap && train->start) || !fraction_ok(train->num, train->den))
		return -EINVAL;
	error = check_launch(train->kind, train->profile, train->data, train->width) ?:
		usable(lp, claimant)						     ?:
		litepulse_read_csr(lp, LITEPULSE_CSR_STATUS, &status);
	if (error)
		return error;
	if (status & LITEPULSE_CSR_STATUS_TRAIN_RUNNING_MASK)
		return -EBUSY;
	litepulse_tty_train_starts(lp);
	return train_command(lp, words, ARRAY_SIZE(words), false, false);
}

/**
 * litepulse_train_adjust - changes period and phase of the train that runs
 * @lp: device
 * @claimant: holder of the claim
 * @adjust: how
 *
 * Return: 0 when it is taken; -EINVAL, -EBUSY while another change waits, -ETIME if it is too
 * late, -ESTALE, or an error of the transport.
 */
int litepulse_train_adjust(struct litepulse *lp, struct litepulse_claimant *claimant,
			   const struct litepulse_train_adjust *adjust)
{
	const struct litepulse_word words[] = {
		{ LITEPULSE_CFG_TRAIN_PERIOD, adjust->period },
		{ LITEPULSE_CFG_TRAIN_NUM, adjust->num },
		{ LITEPULSE_CFG_TRAIN_DEN, adjust->den },
		{ LITEPULSE_CFG_TRAIN_AT_PULSE, adjust->at_pulse },
		{ LITEPULSE_CFG_TRAIN_STEP, (u32)adjust->step },
		{ LITEPULSE_CFG_TRAIN_COMMAND, LITEPULSE_TRAIN_CMD_ADJUST },
	};
	u32 status;
	int error;

	if (adjust->flags || !fraction_ok(adjust->num, adjust->den))
		return -EINVAL;
	error = usable(lp, claimant) ?: litepulse_read_csr(lp, LITEPULSE_CSR_STATUS, &status);
	if (error)
		return error;
	if (!(status & LITEPULSE_CSR_STATUS_TRAIN_RUNNING_MASK))
		return -EINVAL;
	if (status & LITEPULSE_CSR_STATUS_TRAIN_CHANGE_PENDING_MASK)
		return -EBUSY;
	return train_command(lp, words, ARRAY_SIZE(words), false, true);
}

/**
 * litepulse_train_stop - no further pulse starts
 * @lp: device
 * @claimant: holder of the claim
 * @pulses: answer: number of the pulse that would have come next
 *
 * Return: 0, -ESTALE, or an error of the transport.
 */
int litepulse_train_stop(struct litepulse *lp, struct litepulse_claimant *claimant, u32 *pulses)
{
	static const struct litepulse_word word = { LITEPULSE_CFG_TRAIN_COMMAND,
						    LITEPULSE_TRAIN_CMD_STOP };
	int error = usable(lp, claimant) ?: train_command(lp, &word, 1, true, false);

	if (!error)
		*pulses = lp->answer.data;
	return error;
}

/*
 * Nobody has a claim, and nothing timed runs or waits. Then the tty may use the train. 0, -EBUSY,
 * or an error of the transport.
 */
static int output_is_free(struct litepulse *lp)
{
	u32 status;
	int error;

	if (lp->claimant || READ_ONCE(lp->line) & LITEPULSE_CFG_LINE_BREAK_HOLD_MASK)
		return -EBUSY;
	error = litepulse_read_csr(lp, LITEPULSE_CSR_STATUS, &status);
	if (error)
		return error;
	/* What an earlier claim has left may be on the line when the break is due. */
	return status & (LITEPULSE_CSR_STATUS_TRAIN_RUNNING_MASK |
			 LITEPULSE_CSR_STATUS_RESPONDER_ARMED_MASK) ||
	       !(status & LITEPULSE_CSR_STATUS_QUEUE_IDLE_MASK) ? -EBUSY : 0;
}

/**
 * litepulse_break - a break of the tty as one launch: the pulse of a train of one
 * @lp: device
 * @width: how long, ticks, not 0
 * @end: answer: by this tick it has ended
 *
 * On return it has begun, and nobody can change it.
 *
 * Return: 0, -EBUSY if somebody has the claim or something timed runs or waits, -EINTR, -ESTALE,
 * or an error of the transport.
 */
int litepulse_break(struct litepulse *lp, u32 width, u64 *end)
{
	const struct litepulse_train train = {
		.flags = LITEPULSE_TRAIN_ASAP,
		.kind = LITEPULSE_LAUNCH_PULSE,
		.width = width,
		.count = 1,
		.period = U32_MAX - 1,
	};
	struct litepulse_claimant tty = { };
	int error;

	lockdep_assert_held(&lp->claim_mutex);
	error = output_is_free(lp) ?: litepulse_train_start(lp, &tty, &train);
	if (error)
		return error;
	/* Just after its only pulse has begun it no longer runs. */
	error = wait_for_status(lp, LITEPULSE_CSR_STATUS_TRAIN_RUNNING_MASK, 0, false) ?:
		litepulse_now(lp, end);
	if (!error)
		*end += width;
	return error;
}

/* --- responder --- */

/**
 * litepulse_responder_set - programs and arms the responder, or disarms it
 * @lp: device
 * @claimant: holder of the claim
 * @responder: how
 *
 * A delay shorter than the core can do is told by RESPONDER_MISSED, when it is triggered.
 *
 * Return: 0, -EINVAL (also: what does not fit), -ESTALE,
 * or an error of the transport.
 */
int litepulse_responder_set(struct litepulse *lp, struct litepulse_claimant *claimant,
			    const struct litepulse_responder *responder)
{
	const u32 known = LITEPULSE_RESPONDER_RISE | LITEPULSE_RESPONDER_FALL |
		LITEPULSE_RESPONDER_REARM | LITEPULSE_RESPONDER_EXCLUSIVE |
		LITEPULSE_RESPONDER_IGNORE_OWN;
	static const struct litepulse_word disarm = { LITEPULSE_CFG_RESP_ARM, 0 };
	struct litepulse_word words[] = {
		{ LITEPULSE_CFG_RESP_TRIGGER,
		  FIELD_PREP(LITEPULSE_CFG_RESP_TRIGGER_TRIGGER_MASK, responder->trigger & 3) |
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
				     responder->flags & LITEPULSE_RESPONDER_IGNORE_OWN ? 1 : 0) },
		{ LITEPULSE_CFG_RESP_MATCH,
		  FIELD_PREP(LITEPULSE_CFG_RESP_MATCH_VALUE_MASK, responder->value) |
			  FIELD_PREP(LITEPULSE_CFG_RESP_MATCH_MASK_MASK, responder->mask) },
		{ LITEPULSE_CFG_RESP_DELAY, responder->delay },
		{ LITEPULSE_CFG_RESP_WIDTH, responder->width },
		{ LITEPULSE_CFG_RESP_LAUNCH,
		  launch_word(responder->kind, responder->profile, responder->data) },
		{ LITEPULSE_CFG_RESP_HOLDOFF, responder->holdoff },
		{ LITEPULSE_CFG_RESP_ARM, 1 },
	};
	static const struct litepulse_responder off;
	int error;

	if (responder->trigger == LITEPULSE_TRIGGER_OFF) {
		if (memcmp(responder, &off, sizeof(off)))
			return -EINVAL;
		return usable(lp, claimant) ?: litepulse_configure(lp, &disarm, 1) ?:
			listen(lp, false);
	}
	if (responder->trigger > LITEPULSE_TRIGGER_BREAK || responder->channel > lp->inputs ||
	    responder->flags & ~known ||
	    responder->delay > FIELD_MAX(LITEPULSE_CFG_RESP_DELAY_DELAY_MASK) ||
	    responder->holdoff > FIELD_MAX(LITEPULSE_CFG_RESP_HOLDOFF_HOLDOFF_MASK) ||
	    responder->reserved)
		return -EINVAL;
	if (responder->trigger == LITEPULSE_TRIGGER_EDGE ?
		    !(responder->flags & (LITEPULSE_RESPONDER_RISE | LITEPULSE_RESPONDER_FALL)) :
		    responder->channel)
		return -EINVAL;
	error = check_launch(responder->kind, responder->profile, responder->data,
			     responder->width) ?:
		usable(lp, claimant);
	if (error)
		return error;
	error = listen(lp, responder->trigger != LITEPULSE_TRIGGER_EDGE) ?:
		litepulse_configure(lp, words, ARRAY_SIZE(words));
	if (error) {
		litepulse_configure(lp, &disarm, 1); /* nothing half done */
		listen(lp, false);
	}
	return error;
}
