// SPDX-License-Identifier: GPL-2.0-only
/*
 * The timebase as a PTP hardware clock
 *
 * Ticks are never adjusted: the clock is a linear function of them (litepulse_phc.h), and adjfine,
 * adjtime and settime change the function. Time stamps of the inputs come from the tick exactly.
 * Periodic output is a train that has the claim, as a program would: its period is the clock's, as
 * a fraction, so that the two never drift apart. A program that has the claim can have such a train
 * of its own.
 *
 * The PTP core hands out nanoseconds, and keeps at most 127 time stamps that were not read: it
 * drops the oldest without a report. /dev/litepulseN gives ticks and reports what was lost.
 */
#include <linux/bits.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/pps_kernel.h>
#include <linux/ptp_clock_kernel.h>
#include <linux/slab.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>

#include "litepulse_compat.h"
#include "litepulse_output.h"
#include "litepulse_phc.h"
#include "litepulse_ptp.h"
#include "litepulse_sink.h"

#define EXTTS_EDGES	(PTP_RISING_EDGE | PTP_FALLING_EDGE)
#define EXTTS_FLAGS	(EXTTS_EDGES | PTP_STRICT_FLAGS)
#define PEROUT_FLAGS	(PTP_PEROUT_DUTY_CYCLE | PTP_PEROUT_PHASE)

/* The input whose rising edges are those of the PPS source. */
#define PPS_INPUT	0

/* Line profile of the pulses. They are active high: receivers of a PPS take its rising edge. */
#define PROFILE		1
/* How far ahead a train is started or changed: at least, and at most, if that was too late. */
#define AHEAD_NS	(2 * NSEC_PER_MSEC)
#define AHEAD_SLEEPS_NS	(50 * NSEC_PER_MSEC)
#define AHEAD_MAX_NS	NSEC_PER_SEC
#define ATTEMPTS	6
/* The clock is read so often at least, to know what it showed when the board is reset. */
#define READ_INTERVAL	(16 * HZ)
/* Adjustments within the second that an event may wait in the board: servos make 16 at most. */
#define PAST		16
/* When periodic output is tried again. */
#define RETRY_INTERVAL	HZ

struct litepulse_ptp {
	struct litepulse *lp;
	struct ptp_clock *clock;	/* NULL until it is registered */
	struct ptp_clock_info info;
	struct litepulse_sink sink;	/* edges to be stamped; want: claim.mutex */
	struct litepulse_sink pps;	/* edges of the PPS source; want: claim.mutex */
	struct ptp_pin_desc *pins;	/* the inputs, the line, and the output */

	/* For what follows; innermost, interrupts off. Writers also hold claim.mutex. */
	spinlock_t lock;
	struct litepulse_phc phc;
	struct litepulse_phc past[PAST];	/* functions before phc, a ring */
	unsigned int newest;		/* index of the latest of them, modulo PAST */
	u64 seen_tick;			/* latest tick read */
	u64 seen_boot;			/* CLOCK_BOOTTIME when it was read, ns */
	unsigned int restarts;		/* how often ticks have begun again */

	/* The train that follows, periodic output or a program's: claim.mutex. */
	struct litepulse_claimant claimant;
	bool enabled;			/* periodic output has the claim */
	bool suspended;			/* nothing may run or access the board; read without */
	bool running;			/* so does the train, as below */
	bool failed;			/* to start again, which was reported */
	bool steps;			/* after a step of the clock it starts again */
	struct litepulse_phc_rhythm rhythm;	/* pulses when the clock shows these times */
	struct litepulse_train launch;	/* what a pulse is, and how many there are */
	u64 ahead;			/* ticks: at least @ahead_min, at most @ahead_max */
	u64 ahead_min;
	u64 ahead_max;
	struct litepulse_phc_train train;
};

static struct litepulse_ptp *litepulse_ptp_of(struct ptp_clock_info *info)
{
	return container_of(info, struct litepulse_ptp, info);
}

/* --- the clock -------------------------------------------------------------------------------- */

/*
 * Keeps in mind what was read when ticks had begun again @restarts times. -ESTALE if the board was
 * reset: the clock will be restarted, or was meanwhile.
 */
static int litepulse_ptp_note_tick(struct litepulse_ptp *ptp, u64 tick, unsigned int restarts)
{
	unsigned long flags;
	bool back;
	int error;

	spin_lock_irqsave(&ptp->lock, flags);
	if (ptp->restarts != restarts) {
		spin_unlock_irqrestore(&ptp->lock, flags);
		return -ESTALE;
	}
	back = tick < ptp->seen_tick;
	if (!back) {
		ptp->seen_tick = tick;
		ptp->seen_boot = ktime_get_boottime_ns();
	}
	spin_unlock_irqrestore(&ptp->lock, flags);
	if (!back)
		return 0;
	error = litepulse_board_check_session(ptp->lp);
	if (error)
		return error;
	/* Another reader has overtaken us; if it is by more than a second, its tick was wrong. */
	spin_lock_irqsave(&ptp->lock, flags);
	if (ptp->seen_tick > tick + litepulse_ns_to_ticks(&ptp->lp->rate, NSEC_PER_SEC)) {
		ptp->seen_tick = tick;
		ptp->seen_boot = ktime_get_boottime_ns();
	}
	spin_unlock_irqrestore(&ptp->lock, flags);
	return 0;
}

/* Under claim.mutex, so that the clock is not restarted meanwhile. */
static int litepulse_ptp_read_tick(struct litepulse_ptp *ptp, u64 *tick)
{
	lockdep_assert_held(&ptp->lp->claim.mutex);
	return litepulse_board_now(ptp->lp, tick) ?:
		litepulse_ptp_note_tick(ptp, *tick, ptp->restarts);
}

static u64 litepulse_ptp_tick_to_ns(struct litepulse_ptp *ptp, u64 tick)
{
	const struct litepulse_phc *phc = &ptp->phc;
	unsigned long flags;
	unsigned int back;
	u64 ns;

	spin_lock_irqsave(&ptp->lock, flags);
	/* What was before an adjustment keeps its time, even if it becomes known later. */
	for (back = 0; back < PAST && tick < phc->tick; back++)
		phc = &ptp->past[(ptp->newest - back) % PAST];
	ns = litepulse_phc_ns(phc, tick);
	spin_unlock_irqrestore(&ptp->lock, flags);
	return ns;
}

/* As if the clock had always been as it is. */
static void litepulse_ptp_forget_past(struct litepulse_ptp *ptp)
{
	unsigned int i;

	for (i = 0; i < PAST; i++)
		ptp->past[i] = ptp->phc;
}

static void litepulse_ptp_set_clock(struct litepulse_ptp *ptp, const struct litepulse_phc *phc)
{
	unsigned long flags;

	lockdep_assert_held(&ptp->lp->claim.mutex);
	spin_lock_irqsave(&ptp->lock, flags);
	ptp->past[++ptp->newest % PAST] = ptp->phc;
	ptp->phc = *phc;
	spin_unlock_irqrestore(&ptp->lock, flags);
}

static void litepulse_ptp_read_before(void *sts)
{
	ptp_read_system_prets(sts);
}

static void litepulse_ptp_read_after(void *sts)
{
	ptp_read_system_postts(sts);
}

static int litepulse_ptp_gettimex64(struct ptp_clock_info *info, struct timespec64 *ts,
				    struct ptp_system_timestamp *sts)
{
	const struct litepulse_stamper stamper = { litepulse_ptp_read_before,
						   litepulse_ptp_read_after, sts };
	struct litepulse_ptp *ptp = litepulse_ptp_of(info);
	const unsigned int restarts = READ_ONCE(ptp->restarts);
	u64 tick;
	int error;

	error = litepulse_board_enter(ptp->lp);
	if (error)
		return error;
	/* The threads of virtual clocks are not frozen either. */
	error = READ_ONCE(ptp->suspended) ?
			-EAGAIN : ptp->lp->ops->time(ptp->lp->context, &tick, &stamper);
	if (!error) {
		/* In this order: the clock may be restarted at any time. */
		*ts = ns_to_timespec64(litepulse_ptp_tick_to_ns(ptp, tick));
		error = litepulse_ptp_note_tick(ptp, tick, restarts);
	}
	litepulse_board_leave(ptp->lp);
	return error;
}

/* --- the train that follows: all with claim.mutex and gone_sem held --------------------------- */

/* Whose train it is; NULL: there is none. */
static struct litepulse_claimant *litepulse_ptp_holder(struct litepulse_ptp *ptp)
{
	struct litepulse_claimant *claimant = ptp->lp->claim.claimant;

	lockdep_assert_held(&ptp->lp->claim.mutex);
	if (ptp->enabled)
		return &ptp->claimant;
	/* A claim of before the reset or the suspend has no train any more. */
	return claimant && claimant->follows && !claimant->stale ? claimant : NULL;
}

/* A program's train ends before the program has stopped it. */
static void litepulse_ptp_end_follow(struct litepulse_ptp *ptp)
{
	litepulse_ptp_holder(ptp)->follows = false;
	ptp->running = false;
}

/* Twice as far ahead after a change that was too late, an eighth less after one in time. */
static void litepulse_ptp_adapt_ahead(struct litepulse_ptp *ptp, int error)
{
	if (error == -ETIME)
		ptp->ahead = min(2 * ptp->ahead, ptp->ahead_max);
	else if (!error)
		ptp->ahead = max(ptp->ahead - ptp->ahead / 8, ptp->ahead_min);
}

/* What periodic output needs of the line; a program has set that itself. */
static int litepulse_ptp_prepare_line(struct litepulse_ptp *ptp)
{
	static const struct litepulse_rest low = { .level = LITEPULSE_REST_LOW };
	struct litepulse_profile profile = {
		.index = PROFILE, .data_bits = 8, .flags = LITEPULSE_PROFILE_INVERT,
		.period = (u64)ptp->lp->samples << 12,
	};

	if (!ptp->enabled)
		return 0;
	return litepulse_output_set_profile(ptp->lp, &ptp->claimant, &profile) ?:
		litepulse_output_set_rest(ptp->lp, &ptp->claimant, &low);
}

/* From the next edge on that can be reached; @after: and the pulse on the line is over. */
static int litepulse_ptp_start_train(struct litepulse_ptp *ptp, bool after)
{
	struct litepulse_phc_train *train = &ptp->train;
	unsigned int attempt;
	u64 tick;
	int error;

	lockdep_assert_held(&ptp->lp->claim.mutex);
	error = litepulse_ptp_prepare_line(ptp);
	for (attempt = 0; !error && attempt < ATTEMPTS; attempt++) {
		struct litepulse_train request = ptp->launch;

		error = litepulse_ptp_read_tick(ptp, &tick);
		if (error)
			break;
		tick += ptp->ahead + (after ? ptp->launch.width : 0);
		error = litepulse_phc_train_init(train, &ptp->phc, &ptp->rhythm, tick);
		if (error)
			break;
		request.start = train->start;
		request.period = train->period;
		request.num = train->period_num;
		request.den = train->den;
		error = litepulse_output_train_start_changeable(ptp->lp, litepulse_ptp_holder(ptp),
								&request);
		litepulse_ptp_adapt_ahead(ptp, error);
		if (error != -ETIME) {
			ptp->running = !error;
			return error;
		}
		error = 0;
	}
	return error ?: -ETIME;
}

static int litepulse_ptp_restart_train(struct litepulse_ptp *ptp)
{
	const bool unknown = !ptp->running;
	u32 pulses;
	int error;

	lockdep_assert_held(&ptp->lp->claim.mutex);
	error = litepulse_output_train_stop(ptp->lp, litepulse_ptp_holder(ptp), &pulses);
	if (error)
		return error;
	ptp->running = false;
	/* How many pulses are left would be a guess. */
	if (ptp->launch.count && (unknown || pulses)) {
		litepulse_ptp_end_follow(ptp);
		return -ECANCELED;
	}
	return litepulse_ptp_start_train(ptp, true);
}

/* The clock's rate has changed: the train's follows, its pulses come when the clock shows so. */
static int litepulse_ptp_retune_train(struct litepulse_ptp *ptp)
{
	struct litepulse_phc_change change;
	unsigned int attempt;
	u64 tick;
	int error;

	lockdep_assert_held(&ptp->lp->claim.mutex);
	for (attempt = 0; attempt < ATTEMPTS; attempt++) {
		struct litepulse_train_adjust request = { };

		error = litepulse_ptp_read_tick(ptp, &tick);
		if (error)
			return error;
		tick += ptp->ahead;
		/* No pulse has come yet, so none is lost. */
		if (tick < ptp->train.start)
			return litepulse_ptp_restart_train(ptp);
		error = litepulse_phc_train_change(&ptp->train, &ptp->phc, tick, &change);
		if (error)
			break;
		request.period = change.then.period;
		request.num = change.then.period_num;
		request.den = change.then.den;
		request.at_pulse = change.pulse;
		request.step = change.step;
		error = litepulse_output_train_adjust(ptp->lp, litepulse_ptp_holder(ptp), &request);
		litepulse_ptp_adapt_ahead(ptp, error);
		if (!error)
			ptp->train = change.then;
		/* A further change would build upon a train that the board may not have. */
		if (litepulse_output_is_unknown(error))
			ptp->running = false;
		if (error != -ETIME)
			break;
	}
	if (error != -ERANGE && error != -EINVAL)
		return error;
	dev_info(ptp->lp->dev, "the PTP clock's rate changed by too much: its output starts again\n");
	return litepulse_ptp_restart_train(ptp);
}

/* A train with a count has ended when its last pulse has come. */
static int litepulse_ptp_look_for_end(struct litepulse_ptp *ptp)
{
	u32 status;
	int error;

	if (!ptp->launch.count || !ptp->running)
		return 0;
	error = litepulse_board_read_csr(ptp->lp, LITEPULSE_CSR_STATUS, &status);
	if (!error && !(status & LITEPULSE_CSR_STATUS_TRAIN_RUNNING_MASK))
		litepulse_ptp_end_follow(ptp);
	return error;
}

/*
 * Makes the train agree with the clock, @tick being the latest one. Return: 0, or in how many
 * jiffies to try again.
 */
static long litepulse_ptp_follow_clock(struct litepulse_ptp *ptp, u64 tick)
{
	int error;

	lockdep_assert_held(&ptp->lp->claim.mutex);
	if (!litepulse_ptp_holder(ptp) || ptp->suspended)
		return 0;
	error = litepulse_ptp_look_for_end(ptp);
	if (!error && litepulse_ptp_holder(ptp)) {
		if (!ptp->running)
			error = litepulse_ptp_restart_train(ptp);
		else if (!litepulse_phc_train_follows(&ptp->train, &ptp->phc, tick))
			error = litepulse_ptp_retune_train(ptp);
	}
	if (!litepulse_ptp_holder(ptp)) {
		if (error)
			dev_info(ptp->lp->dev,
				 "a program's train ends, it cannot follow the PTP clock\n");
		return 0;
	}
	/* The change before waits for its pulse. */
	if (error == -EBUSY && ptp->running)
		return nsecs_to_jiffies(litepulse_ticks_to_ns(&ptp->lp->rate, ptp->ahead)) + 1;
	if (error && !ptp->failed)
		dev_warn(ptp->lp->dev, "the train that follows the PTP clock fails: %d\n", error);
	ptp->failed = error;
	return error ? RETRY_INTERVAL : 0;
}

static void litepulse_ptp_follow_clock_soon(struct litepulse_ptp *ptp, u64 tick)
{
	long delay = litepulse_ptp_follow_clock(ptp, tick);

	if (delay)
		ptp_schedule_worker(ptp->clock, delay);
}

static void litepulse_ptp_disable_perout(struct litepulse_ptp *ptp)
{
	lockdep_assert_held(&ptp->lp->claim.mutex);
	/* Else the train is that of a program. */
	if (!ptp->enabled)
		return;
	litepulse_output_unclaim(ptp->lp, &ptp->claimant);
	ptp->enabled = false;
	ptp->running = false;
}

static int litepulse_ptp_to_ns(const struct ptp_clock_time *time, u64 *ns)
{
	if (time->sec < 0 || time->nsec >= NSEC_PER_SEC)
		return -EINVAL;
	if (time->sec >= KTIME_SEC_MAX)
		return -ERANGE;
	*ns = time->sec * NSEC_PER_SEC + time->nsec;
	return 0;
}

/* The width is that of the unadjusted clock, to the nearest tick: a change of rate leaves it. */
static int litepulse_ptp_check_perout(struct litepulse_ptp *ptp,
				      const struct ptp_perout_request *request,
				      struct litepulse_phc_rhythm *rhythm, u32 *width)
{
	const struct ptp_clock_time *start;
	struct litepulse_phc_train train;
	u64 on, ticks;
	int error;

	if (request->index >= ptp->info.n_per_out)
		return -EINVAL;
	if (ptp->pins[ptp->info.n_pins - 1].func != PTP_PF_PEROUT)
		return -EBUSY;
	if (request->flags & ~PEROUT_FLAGS)
		return -EOPNOTSUPP;
	start = request->flags & PTP_PEROUT_PHASE ? &request->phase : &request->start;
	rhythm->pulses = 1;
	error = litepulse_ptp_to_ns(start, &rhythm->origin) ?:
		litepulse_ptp_to_ns(&request->period, &rhythm->span) ?:
		litepulse_phc_train_init(&train, &ptp->phc, rhythm, ptp->phc.tick);
	if (error)
		return error;
	if (request->flags & PTP_PEROUT_DUTY_CYCLE) {
		error = litepulse_ptp_to_ns(&request->on, &on);
		if (error)
			return error;
		if (on >= rhythm->span)
			return -ERANGE;
		ticks = (litepulse_ns_to_ticks(&ptp->lp->rate, 2 * on) + 1) / 2;
	} else {
		ticks = train.period / 2;
	}
	/* At least a tick off, too: whatever the rate, a pulse never reaches the next. */
	if (!ticks || ticks >= train.period)
		return -ERANGE;
	*width = ticks;
	return 0;
}

static int litepulse_ptp_enable_perout(struct litepulse_ptp *ptp,
				       const struct ptp_perout_request *request)
{
	struct litepulse_phc_rhythm rhythm;
	u32 width, before;
	int error;

	lockdep_assert_held(&ptp->lp->claim.mutex);
	error = litepulse_ptp_check_perout(ptp, request, &rhythm, &width);
	if (error)
		return error;
	if (!ptp->enabled) {
		error = litepulse_output_claim_idle(ptp->lp, &ptp->claimant);
		if (error)
			return error;
		ptp->enabled = true;
		ptp->running = false;
	}
	before = ptp->launch.width;
	ptp->rhythm = rhythm;
	ptp->failed = false;
	ptp->steps = true;
	ptp->launch = (struct litepulse_train){
		.width = width, .kind = LITEPULSE_LAUNCH_PULSE, .profile = PROFILE,
	};
	if (ptp->running) {
		/* The last pulse of the old train may be wider. */
		ptp->launch.width = max(width, before);
		error = litepulse_ptp_restart_train(ptp);
	} else {
		error = litepulse_ptp_start_train(ptp, false);
	}
	if (error)
		litepulse_ptp_disable_perout(ptp);
	return error;
}

/* --- steps and rates -------------------------------------------------------------------------- */

/* A program's train ends, as it is not to follow a step. If that fails it is left as it runs. */
static void litepulse_ptp_stop_program(struct litepulse_ptp *ptp)
{
	struct litepulse_claimant *holder = litepulse_ptp_holder(ptp);
	u32 pulses;

	lockdep_assert_held(&ptp->lp->claim.mutex);
	litepulse_ptp_end_follow(ptp);
	if (litepulse_output_train_stop(ptp->lp, holder, &pulses))
		dev_warn(ptp->lp->dev, "the train could not be stopped\n");
}

/* From now on the clock shows something else. */
static void litepulse_ptp_step_clock(struct litepulse_ptp *ptp, u64 tick, u64 ns)
{
	struct litepulse_phc phc = ptp->phc;

	lockdep_assert_held(&ptp->lp->claim.mutex);
	phc.tick = tick;
	phc.ns = ns;
	phc.frac = 0;
	litepulse_ptp_set_clock(ptp, &phc);
	if (!litepulse_ptp_holder(ptp))
		return;
	if (!ptp->steps) {
		dev_info(ptp->lp->dev,
			 "the PTP clock was stepped: the train that follows it ends\n");
		litepulse_ptp_stop_program(ptp);
		return;
	}
	if (!ptp->running)
		return;
	dev_info(ptp->lp->dev,
		 "the PTP clock was stepped: its output stops until its next edge by the new time\n");
	ptp->running = false;
	litepulse_ptp_follow_clock_soon(ptp, tick);
}

static int litepulse_ptp_settime64(struct ptp_clock_info *info, const struct timespec64 *ts)
{
	struct litepulse_ptp *ptp = litepulse_ptp_of(info);
	u64 tick;
	int error;

	error = litepulse_board_begin_command(ptp->lp);
	if (error)
		return error;
	error = litepulse_ptp_read_tick(ptp, &tick);
	if (!error)
		litepulse_ptp_step_clock(ptp, tick, timespec64_to_ns(ts));
	litepulse_board_end_command(ptp->lp);
	return error;
}

static int litepulse_ptp_adjtime(struct ptp_clock_info *info, s64 delta)
{
	struct litepulse_ptp *ptp = litepulse_ptp_of(info);
	u64 tick;
	int error;

	error = litepulse_board_begin_command(ptp->lp);
	if (error)
		return error;
	error = litepulse_ptp_read_tick(ptp, &tick);
	if (!error)
		litepulse_ptp_step_clock(ptp, tick, litepulse_phc_ns(&ptp->phc, tick) + delta);
	litepulse_board_end_command(ptp->lp);
	return error;
}

static int litepulse_ptp_adjfine(struct ptp_clock_info *info, long scaled_ppm)
{
	struct litepulse_ptp *ptp = litepulse_ptp_of(info);
	struct litepulse_phc phc;
	u64 tick;
	int error;

	error = litepulse_board_begin_command(ptp->lp);
	if (error)
		return error;
	error = litepulse_ptp_read_tick(ptp, &tick);
	if (!error) {
		phc = ptp->phc;
		litepulse_phc_move(&phc, tick);
		litepulse_phc_adjust(&phc, scaled_ppm);
		litepulse_ptp_set_clock(ptp, &phc);
		litepulse_ptp_follow_clock_soon(ptp, tick);
	}
	litepulse_board_end_command(ptp->lp);
	return error;
}

static long litepulse_ptp_do_aux_work(struct ptp_clock_info *info)
{
	struct litepulse_ptp *ptp = litepulse_ptp_of(info);
	long delay = 0;
	u64 tick;

	if (litepulse_board_begin_command(ptp->lp))
		return -1;
	/* The thread of the PTP core is not frozen: what the board is behind may be suspended. */
	if (ptp->suspended) {
		litepulse_board_end_command(ptp->lp);
		return -1;
	}
	if (!litepulse_ptp_read_tick(ptp, &tick))
		delay = litepulse_ptp_follow_clock(ptp, tick);
	litepulse_board_end_command(ptp->lp);
	return delay ?: READ_INTERVAL;
}

/* --- time stamps of edges --------------------------------------------------------------------- */

/* Edges in other directions than those requested are not in @data. */
static void litepulse_ptp_put_event(struct litepulse_sink *sink,
				    const struct litepulse_record *record, u32 data,
				    const struct litepulse_stamp *stamp)
{
	struct litepulse_ptp *ptp = container_of(sink, struct litepulse_ptp, sink);
	unsigned int samples = ptp->lp->samples, sample, channel;
	struct ptp_clock_event extts = { .type = PTP_CLOCK_EXTTS };

	if (record->kind != LITEPULSE_KIND_EDGE)
		return;
	for (sample = 0; sample < samples; sample++) {
		for (channel = 0; channel <= ptp->lp->inputs; channel++) {
			if (!(data & BIT(channel * samples + sample)))
				continue;
			extts.index = channel;
			extts.timestamp = litepulse_ptp_tick_to_ns(ptp, record->tick + sample);
			ptp_clock_event(ptp->clock, &extts);
		}
	}
}

static int litepulse_ptp_enable_extts(struct litepulse_ptp *ptp,
				      const struct ptp_extts_request *request, bool on)
{
	struct litepulse_subscribe want = ptp->sink.want;
	unsigned int edges = request->flags & EXTTS_EDGES;
	u16 channel = BIT(request->index);

	if (request->index >= ptp->info.n_ext_ts)
		return -EINVAL;
	if (request->flags & ~(PTP_ENABLE_FEATURE | EXTTS_FLAGS))
		return -EOPNOTSUPP;
	/* The PTP core holds its lock of the pins. */
	if (on && ptp->pins[request->index].func != PTP_PF_EXTTS)
		return -EBUSY;
	want.rise &= ~channel;
	want.fall &= ~channel;
	if (on) {
		/* The first version of the request need not say which. */
		if (!edges)
			edges = PTP_RISING_EDGE;
		if (edges & PTP_RISING_EDGE)
			want.rise |= channel;
		if (edges & PTP_FALLING_EDGE)
			want.fall |= channel;
	}
	want.kinds = want.rise | want.fall ? BIT(LITEPULSE_KIND_EDGE) : 0;
	return litepulse_sink_change(ptp->lp, &ptp->sink, &want);
}

/*
 * A PPS source is about the host's clock, so it gets the time of the edge by that clock, to the
 * nanosecond as the device's events have it.
 */
static void litepulse_ptp_put_pps(struct litepulse_sink *sink,
				  const struct litepulse_record *record, u32 data,
				  const struct litepulse_stamp *stamp)
{
	struct litepulse_ptp *ptp = container_of(sink, struct litepulse_ptp, pps);
	struct ptp_clock_event pps = { .type = PTP_CLOCK_PPSUSR };
	struct timespec64 ago;
	u64 ns;

	if (record->kind != LITEPULSE_KIND_EDGE || !stamp)
		return;
	/* The edge may be of a later sample than the first one of its cycle. */
	ns = stamp->ns + litepulse_ticks_to_ns_fast(&ptp->lp->rate, __ffs(data & 0xffff));
	pps_get_ts(&pps.pps_times);
	ago = timespec64_sub(pps.pps_times.ts_real, ns_to_timespec64(ns));
	pps_sub_ts(&pps.pps_times, ago);
	ptp_clock_event(ptp->clock, &pps);
}

static int litepulse_ptp_enable_pps(struct litepulse_ptp *ptp, bool on)
{
	struct litepulse_subscribe want = {
		.kinds = on ? BIT(LITEPULSE_KIND_EDGE) : 0,
		.rise = BIT(PPS_INPUT),
		.clock = LITEPULSE_CLOCK_REALTIME,
	};

	return litepulse_sink_change(ptp->lp, &ptp->pps, &want);
}

/* --- pins ------------------------------------------------------------------------------------- */

/* What a pin can do does not change: an input has its channel, the output is the line's. */
static int litepulse_ptp_verify(struct ptp_clock_info *info, unsigned int pin,
				enum ptp_pin_function function, unsigned int channel)
{
	bool output = pin == info->n_pins - 1;

	if (function == PTP_PF_NONE)
		return 0;
	return function == (output ? PTP_PF_PEROUT : PTP_PF_EXTTS) &&
	       channel == (output ? 0 : pin) ? 0 : -EOPNOTSUPP;
}

static int litepulse_ptp_add_pins(struct litepulse_ptp *ptp)
{
	unsigned int inputs = ptp->lp->inputs + 1, pin;

	ptp->pins = kcalloc(inputs + 1, sizeof(*ptp->pins), GFP_KERNEL);
	if (!ptp->pins)
		return -ENOMEM;
	for (pin = 0; pin < inputs; pin++) {
		ptp->pins[pin].index = pin;
		ptp->pins[pin].func = PTP_PF_EXTTS;
		ptp->pins[pin].chan = pin;
		snprintf(ptp->pins[pin].name, sizeof(ptp->pins[pin].name),
			 pin < inputs - 1 ? "in%u" : "rx", pin);
	}
	ptp->pins[pin].index = pin;
	ptp->pins[pin].func = PTP_PF_PEROUT;
	strscpy(ptp->pins[pin].name, "tx", sizeof(ptp->pins[pin].name));
	ptp->info.pin_config = ptp->pins;
	ptp->info.n_pins = inputs + 1;
	return 0;
}

static int litepulse_ptp_enable(struct ptp_clock_info *info, struct ptp_clock_request *request,
				int on)
{
	struct litepulse_ptp *ptp = litepulse_ptp_of(info);
	int error;

	/* Pairs with litepulse_ptp_add(): the device is there a moment before it is known here. */
	if (!smp_load_acquire(&ptp->clock))
		return -EAGAIN;
	error = litepulse_board_begin_command(ptp->lp);
	if (error)
		return error;
	switch (request->type) {
	case PTP_CLK_REQ_PPS:
		error = litepulse_ptp_enable_pps(ptp, on);
		break;
	case PTP_CLK_REQ_EXTTS:
		error = litepulse_ptp_enable_extts(ptp, &request->extts, on);
		break;
	case PTP_CLK_REQ_PEROUT:
		if (on)
			error = litepulse_ptp_enable_perout(ptp, &request->perout);
		else
			litepulse_ptp_disable_perout(ptp);
		break;
	default:
		error = -EOPNOTSUPP;
	}
	litepulse_board_end_command(ptp->lp);
	return error;
}

/* litepulse.feed.phc_ns, under its lock: whatever adjustments came after the tick. */
static u64 litepulse_ptp_ns(struct litepulse *lp, u64 tick)
{
	return litepulse_ptp_tick_to_ns(lp->ptp, tick);
}

/* --- for the rest of the driver --------------------------------------------------------------- */

static const struct ptp_clock_info litepulse_ptp_info = {
	.owner = THIS_MODULE,
	.max_adj = LITEPULSE_PHC_MAX_ADJ,
	.n_per_out = 1,
	.pps = 1,
	.verify = litepulse_ptp_verify,
	.gettimex64 = litepulse_ptp_gettimex64,
	.settime64 = litepulse_ptp_settime64,
	.adjtime = litepulse_ptp_adjtime,
	.adjfine = litepulse_ptp_adjfine,
	.enable = litepulse_ptp_enable,
	.do_aux_work = litepulse_ptp_do_aux_work,
};

/**
 * litepulse_ptp_add - registers the clock, which shows the host's time at first
 * @lp: device
 *
 * Return: 0, also if the kernel has no PTP clocks, or a negative errno.
 */
int litepulse_ptp_add(struct litepulse *lp)
{
	u64 ahead = lp->ops->sleeps ? AHEAD_SLEEPS_NS : AHEAD_NS;
	u64 restarts = READ_ONCE(lp->feed.restarts);
	struct litepulse_header now;
	struct litepulse_ptp *ptp;
	struct ptp_clock *clock;
	u64 tick;
	int error;

	error = litepulse_board_now(lp, &tick);
	if (error)
		return error;
	ptp = kzalloc(sizeof(*ptp), GFP_KERNEL);
	if (!ptp)
		return -ENOMEM;
	if (litepulse_phc_init(&ptp->phc, &lp->rate, tick, ktime_get_real_ns())) {
		dev_warn(lp->dev, "no PTP clock: its rate could not be adjusted\n");
		kfree(ptp);
		return 0;
	}
	ptp->lp = lp;
	litepulse_ptp_forget_past(ptp);
	ptp->seen_tick = tick;
	ptp->seen_boot = ktime_get_boottime_ns();
	ptp->ahead_min = litepulse_ns_to_ticks(&lp->rate, ahead);
	ptp->ahead_max = litepulse_ns_to_ticks(&lp->rate, AHEAD_MAX_NS);
	ptp->ahead = ptp->ahead_min;
	spin_lock_init(&ptp->lock);
	ptp->info = litepulse_ptp_info;
	ptp->info.n_ext_ts = lp->inputs + 1;
	snprintf(ptp->info.name, sizeof(ptp->info.name), "litepulse%d", lp->id);
	litepulse_ptp_flags(&ptp->info, EXTTS_FLAGS, PEROUT_FLAGS);
	ptp->claimant.name = "ptp";
	ptp->sink.name = "ptp";
	ptp->sink.put = litepulse_ptp_put_event;
	ptp->sink.want.clock = LITEPULSE_CLOCK_NONE;
	ptp->pps.name = "pps";
	ptp->pps.put = litepulse_ptp_put_pps;
	error = litepulse_ptp_add_pins(ptp) ?: litepulse_sink_add(lp, &ptp->sink);
	if (error)
		goto free;
	litepulse_sink_init(&ptp->pps);
	clock = ptp_clock_register(&ptp->info, lp->dev);
	if (IS_ERR_OR_NULL(clock)) {
		error = PTR_ERR_OR_ZERO(clock);
		goto sink;
	}
	/* Pairs with litepulse_ptp_enable(), which may be called already. */
	smp_store_release(&ptp->clock, clock);
	mutex_lock(&lp->claim.mutex);
	spin_lock_irq(&lp->feed.lock);
	lp->ptp = ptp;
	lp->feed.phc_ns = litepulse_ptp_ns;
	spin_unlock_irq(&lp->feed.lock);
	/* The tick that the clock began with may be from before a reset. */
	if (restarts != lp->feed.restarts) {
		error = litepulse_board_header(lp, &now);
		if (!error)
			litepulse_ptp_restart_clock(lp, &now);
	}
	mutex_unlock(&lp->claim.mutex);
	if (error) {
		litepulse_ptp_remove(lp);
		return error;
	}
	ptp_schedule_worker(clock, READ_INTERVAL);
	return 0;

sink:
	litepulse_sink_remove(lp, &ptp->pps);
	litepulse_sink_remove(lp, &ptp->sink);
free:
	kfree(ptp->pins);
	kfree(ptp);
	return error;
}

/**
 * litepulse_ptp_remove - no lock held; sleeps until no call is under way
 * @lp: device, which may be gone
 */
void litepulse_ptp_remove(struct litepulse *lp)
{
	struct litepulse_ptp *ptp = lp->ptp;

	if (!ptp)
		return;
	litepulse_sink_remove(lp, &ptp->pps);
	litepulse_sink_remove(lp, &ptp->sink);
	ptp_clock_unregister(ptp->clock);
	mutex_lock(&lp->claim.mutex);
	litepulse_ptp_disable_perout(ptp);
	mutex_unlock(&lp->claim.mutex);
	spin_lock_irq(&lp->feed.lock);
	lp->feed.phc_ns = NULL;
	lp->ptp = NULL;
	spin_unlock_irq(&lp->feed.lock);
	kfree(ptp->pins);
	kfree(ptp);
}

/**
 * litepulse_ptp_index - number of the clock's /dev/ptp
 * @lp: device
 *
 * Return: -1 if it has none.
 */
int litepulse_ptp_index(struct litepulse *lp)
{
	return lp->ptp ? ptp_clock_index(lp->ptp->clock) : -1;
}
EXPORT_SYMBOL_NS_GPL(litepulse_ptp_index, LITEPULSE_NAMESPACE);

/**
 * litepulse_ptp_tick - when the clock will show a time, as it is adjusted now
 * @lp: device
 * @ns: the time
 * @tick: answer: the first tick at which the clock shows it, or more
 *
 * Return: 0, -ETIME if it lies before the latest adjustment, or -EOPNOTSUPP if there is no clock.
 */
int litepulse_ptp_tick(struct litepulse *lp, u64 ns, u64 *tick)
{
	struct litepulse_ptp *ptp = lp->ptp;
	unsigned long flags;
	int error = 0;
	u32 num;

	if (!ptp)
		return -EOPNOTSUPP;
	spin_lock_irqsave(&ptp->lock, flags);
	if (ns > ptp->phc.ns)
		*tick = litepulse_phc_tick(&ptp->phc, ns, &num) + !!num;
	else
		error = -ETIME;
	spin_unlock_irqrestore(&ptp->lock, flags);
	return error;
}
EXPORT_SYMBOL_NS_GPL(litepulse_ptp_tick, LITEPULSE_NAMESPACE);

/**
 * litepulse_ptp_follow - starts a train of a program that follows the clock
 * @lp: device
 * @claimant: holder of the claim
 * @follow: what; its answers are filled in
 *
 * Return: 0, -EOPNOTSUPP if there is no clock, -ERANGE if the core has no such period, -EBUSY while
 * a train runs or follows, -ETIME if no start that was early enough was found; else as
 * litepulse_output_train_start_changeable().
 */
int litepulse_ptp_follow(struct litepulse *lp, struct litepulse_claimant *claimant,
			 struct litepulse_train_follow *follow)
{
	struct litepulse_ptp *ptp = lp->ptp;
	int error;

	lockdep_assert_held(&lp->claim.mutex);
	if (follow->flags & ~LITEPULSE_FOLLOW_STEPS || follow->reserved || follow->reserved2 ||
	    follow->skipped || follow->start || !follow->span || !follow->pulses ||
	    follow->pulses > LITEPULSE_PHC_PULSES_MAX ||
	    (follow->flags & LITEPULSE_FOLLOW_STEPS && follow->count))
		return -EINVAL;
	if (!ptp)
		return -EOPNOTSUPP;
	error = litepulse_board_usable(lp, claimant);
	if (error)
		return error;
	if (claimant->follows)
		return -EBUSY;
	ptp->rhythm = (struct litepulse_phc_rhythm){
		.origin = follow->origin, .span = follow->span, .pulses = follow->pulses,
	};
	ptp->launch = (struct litepulse_train){
		.count = follow->count, .width = follow->width, .kind = follow->kind,
		.profile = follow->profile, .data = follow->data,
	};
	ptp->steps = follow->flags & LITEPULSE_FOLLOW_STEPS;
	ptp->failed = false;
	ptp->running = false;
	claimant->follows = true;
	error = litepulse_ptp_start_train(ptp, false);
	if (error) {
		litepulse_ptp_end_follow(ptp);
		return error;
	}
	follow->skipped = ptp->train.skipped;
	follow->start = ptp->train.start;
	return 0;
}

/**
 * litepulse_ptp_restart_clock - the board was reset: the clock goes on as the host's did meanwhile
 * @lp: device; claim.mutex held, and no sink gets anything yet
 * @now: of the board, since its reset
 */
void litepulse_ptp_restart_clock(struct litepulse *lp, const struct litepulse_header *now)
{
	const u64 boot = ktime_to_ns(ktime_mono_to_any(ns_to_ktime(now->mono), TK_OFFS_BOOT));
	struct litepulse_ptp *ptp = lp->ptp;

	if (!ptp)
		return;
	spin_lock_irq(&ptp->lock);
	ptp->phc.ns = litepulse_phc_ns(&ptp->phc, ptp->seen_tick) + boot - ptp->seen_boot;
	ptp->phc.tick = now->tick;
	ptp->phc.frac = 0;
	litepulse_ptp_forget_past(ptp);
	ptp->seen_tick = now->tick;
	ptp->seen_boot = boot;
	WRITE_ONCE(ptp->restarts, ptp->restarts + 1);
	spin_unlock_irq(&ptp->lock);
}

/**
 * litepulse_ptp_restarted - the board has stopped what ran on it: periodic output starts again
 * @lp: device; claim.mutex and gone_sem held
 */
void litepulse_ptp_restarted(struct litepulse *lp)
{
	struct litepulse_ptp *ptp = lp->ptp;

	if (!ptp || !ptp->enabled)
		return;
	/* The claim has gone stale: take it again. */
	litepulse_ptp_disable_perout(ptp);
	ptp->claimant = (struct litepulse_claimant) { .name = ptp->claimant.name };
	ptp->enabled = !litepulse_output_claim(lp, &ptp->claimant);
	/* Not before the core's answers can be heard. */
	ptp_schedule_worker(ptp->clock, 0);
}

/**
 * litepulse_ptp_suspend - output will be stopped, and it stays so; the clock is not read either
 * @lp: device; no lock held
 */
void litepulse_ptp_suspend(struct litepulse *lp)
{
	if (!lp->ptp)
		return;
	mutex_lock(&lp->claim.mutex);
	WRITE_ONCE(lp->ptp->suspended, true);
	lp->ptp->running = false;
	mutex_unlock(&lp->claim.mutex);
	/* Calls that have not seen it end. */
	down_write(&lp->gone_sem);
	up_write(&lp->gone_sem);
}

/**
 * litepulse_ptp_resume - output starts again, at its next edge
 * @lp: device; no lock held
 */
void litepulse_ptp_resume(struct litepulse *lp)
{
	if (!lp->ptp)
		return;
	mutex_lock(&lp->claim.mutex);
	WRITE_ONCE(lp->ptp->suspended, false);
	ptp_schedule_worker(lp->ptp->clock, 0);
	mutex_unlock(&lp->claim.mutex);
}
