// SPDX-License-Identifier: GPL-2.0-only
/*
 * LitePulse, a serial port whose every edge has a known time: the platform driver
 *
 * Finds out what core it is, ties transport, ingest, tty, chardev and PTP clock together, and
 * undoes it.
 */
#include <linux/bitfield.h>
#include <linux/idr.h>
#include <linux/ktime.h>
#include <linux/mod_devicetable.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/pm.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "litepulse.h"
#include "litepulse_compat.h"

/* How often a board from which nothing comes is asked whether it is still the same. */
#define WATCH_INTERVAL HZ
/* A board on a cable that hears nothing for so long stops what was not to be kept. */
#define WATCHDOG_SECONDS 5
/* How often it is asked for the event that everything begins with. */
#define SNAPSHOTS 10
/* Readings of the clocks until one is not disturbed by somebody who sets them. */
#define TIME_ATTEMPTS 10

static DEFINE_IDA(litepulse_ids);

/* --- lifetime --- */

static void litepulse_release(struct kref *ref)
{
	struct litepulse *lp = container_of(ref, struct litepulse, ref);

	ida_free(&litepulse_ids, lp->id);
	kfree(lp);
}

struct litepulse *litepulse_get(struct litepulse *lp)
{
	kref_get(&lp->ref);
	return lp;
}

void litepulse_put(struct litepulse *lp)
{
	kref_put(&lp->ref, litepulse_release);
}

/**
 * litepulse_set_gone - waits until nobody is in a call; whoever comes finds the device gone
 * @lp: device
 */
void litepulse_set_gone(struct litepulse *lp)
{
	down_write(&lp->gone_sem);
	WRITE_ONCE(lp->gone, true);
	up_write(&lp->gone_sem);
}

/**
 * litepulse_enter - begins a call from user space: until litepulse_leave() the device stays
 * @lp: device
 *
 * Return: 0, -EINTR if the process is to die, or -ENODEV if the device has gone.
 */
int litepulse_enter(struct litepulse *lp)
{
	if (down_read_killable(&lp->gone_sem))
		return -EINTR;
	if (!lp->gone)
		return 0;
	up_read(&lp->gone_sem);
	return -ENODEV;
}

/**
 * litepulse_leave - ends what litepulse_enter() began
 * @lp: device
 */
void litepulse_leave(struct litepulse *lp)
{
	up_read(&lp->gone_sem);
}

/**
 * litepulse_begin_command - as litepulse_enter(), and nobody else changes output or clock until
 *	litepulse_end_command()
 * @lp: device
 *
 * Return: as litepulse_enter().
 */
int litepulse_begin_command(struct litepulse *lp)
{
	int error = litepulse_enter(lp);

	if (error)
		return error;
	error = mutex_lock_killable(&lp->claim_mutex);
	if (error)
		litepulse_leave(lp);
	return error;
}

/**
 * litepulse_end_command - ends what litepulse_begin_command() began
 * @lp: device
 */
void litepulse_end_command(struct litepulse *lp)
{
	mutex_unlock(&lp->claim_mutex);
	litepulse_leave(lp);
}

/* --- single accesses --- */

/**
 * litepulse_read_csr - one register
 * @lp: device
 * @offset: LITEPULSE_CSR_*
 * @word: its value
 *
 * Return: 0 or an error of the transport.
 */
int litepulse_read_csr(struct litepulse *lp, u32 offset, u32 *word)
{
	return lp->ops->read_csr(lp->context, offset, word, 1);
}

/**
 * litepulse_configure - writes configuration words and waits for the core's answers
 * @lp: device
 * @words: in order
 * @count: how many
 *
 * Return: 0, -EINVAL if the core refused any, or an error of the transport.
 */
int litepulse_configure(struct litepulse *lp, const struct litepulse_word *words,
			unsigned int count)
{
	return lp->ops->configure(lp->context, words, count);
}

/**
 * litepulse_now - the board's tick
 * @lp: device
 * @tick: answer
 *
 * Return: 0 or an error of the transport.
 */
int litepulse_now(struct litepulse *lp, u64 *tick)
{
	return lp->ops->time(lp->context, tick, NULL);
}

/* The host's clocks before [0] and after [1] the tick was taken. */
struct litepulse_clock_pair {
	struct litepulse_clocks at[2];
};

static void litepulse_clocks_before(void *data)
{
	struct litepulse_clock_pair *pair = data;

	litepulse_read_clocks(&pair->at[0]);
}

static void litepulse_clocks_after(void *data)
{
	struct litepulse_clock_pair *pair = data;

	litepulse_read_clocks(&pair->at[1]);
}

/**
 * litepulse_time - the board's tick beside the host's clocks
 * @lp: device
 * @time: answer
 *
 * Return: 0, -EAGAIN if CLOCK_REALTIME was set again and again meanwhile, or an error of the
 * transport.
 */
int litepulse_time(struct litepulse *lp, struct litepulse_time *time)
{
	struct litepulse_clock_pair pair;
	const struct litepulse_clocks *before = &pair.at[0], *after = &pair.at[1];
	const struct litepulse_stamper stamper = { litepulse_clocks_before, litepulse_clocks_after,
						   &pair };
	unsigned int attempts = TIME_ATTEMPTS;
	struct litepulse_clocks end;
	u64 tick, middle, offset;
	int error;

	/* The readings can be compared only if nobody set the clock between them. */
	do {
		if (!attempts--)
			return -EAGAIN;
		error = lp->ops->time(lp->context, &tick, &stamper);
		if (error)
			return error;
		offset = ktime_to_ns(ktime_mono_to_real(0));
		litepulse_read_clocks(&end);
	} while (before->set_count != end.set_count);
	middle = before->real + (after->real - before->real) / 2;
	*time = (struct litepulse_time){
		.tick = tick,
		.raw_before = before->raw,
		.raw_after = after->raw,
		.realtime = middle,
		.monotonic = middle - offset,
		.uncertainty = min_t(u64, (after->raw - before->raw + 1) / 2, U32_MAX),
	};
	return 0;
}

static void write_line(struct litepulse *lp)
{
	struct litepulse_word word = { LITEPULSE_CFG_LINE, READ_ONCE(lp->line) };

	litepulse_configure(lp, &word, 1);
}

static void line_work(struct work_struct *work)
{
	write_line(container_of(work, struct litepulse, line_work));
}

/**
 * litepulse_set_line - changes bits of the line word, from any context
 * @lp: device
 * @mask: LITEPULSE_CFG_LINE_*_MASK
 * @bits: their values
 */
void litepulse_set_line(struct litepulse *lp, u32 mask, u32 bits)
{
	unsigned long flags;
	u32 line;

	spin_lock_irqsave(&lp->line_lock, flags);
	line = (lp->line & ~mask) | bits;
	if (line != lp->line) {
		WRITE_ONCE(lp->line, line);
		if (lp->ops->sleeps)
			schedule_work(&lp->line_work);
		else
			write_line(lp);
	}
	spin_unlock_irqrestore(&lp->line_lock, flags);
}

/**
 * litepulse_flush_line - waits until the line word is as it was set last
 * @lp: device; called from a process, without a lock that a transport's call may not be under
 */
void litepulse_flush_line(struct litepulse *lp)
{
	if (lp->ops->sleeps)
		flush_work(&lp->line_work);
}

/**
 * litepulse_set_profile - format and bit period of a line profile; they take effect together
 * @lp: device
 * @index: 0 to 3
 * @format: LITEPULSE_CFG_PROFILE_FORMAT_*, without the period's upper bits
 * @period: bit period in 2^-8 ticks
 *
 * Return: 0, -EINVAL if the core refuses it, or an error of the transport.
 */
int litepulse_set_profile(struct litepulse *lp, unsigned int index, u32 format, u64 period)
{
	const u32 step = LITEPULSE_CFG_PROFILE1_FORMAT - LITEPULSE_CFG_PROFILE0_FORMAT;
	struct litepulse_word words[] = {
		{ LITEPULSE_CFG_PROFILE0_FORMAT + step * index, 0 },
		{ LITEPULSE_CFG_PROFILE0_PERIOD + step * index, lower_32_bits(period) },
	};

	if (upper_32_bits(period) > FIELD_MAX(LITEPULSE_CFG_PROFILE_FORMAT_PERIOD_HI_MASK))
		return -EINVAL;
	words[0].value = format |
		FIELD_PREP(LITEPULSE_CFG_PROFILE_FORMAT_PERIOD_HI_MASK, upper_32_bits(period));
	return litepulse_configure(lp, words, ARRAY_SIZE(words));
}

/**
 * litepulse_stop_output - nothing timed starts any more: train, responder, queue
 * @lp: device, whose claim_mutex is held unless nobody else knows it yet
 *
 * What is on the line is finished.
 *
 * Return: 0 or an error of the transport.
 */
int litepulse_stop_output(struct litepulse *lp)
{
	static const struct litepulse_word words[] = {
		{ LITEPULSE_CFG_TRAIN_COMMAND, LITEPULSE_TRAIN_CMD_STOP },
		{ LITEPULSE_CFG_RESP_ARM, 0 },
		{ LITEPULSE_CFG_COMMAND, LITEPULSE_CFG_COMMAND_FLUSH_QUEUE_MASK },
	};

	lp->last_launch = 0;
	WRITE_ONCE(lp->launch_full, false);
	return litepulse_configure(lp, words, ARRAY_SIZE(words));
}

/**
 * litepulse_hurry - somebody waits for an answer: events are told at once, or again as moderately
 * as wished
 * @lp: device
 * @hurry: once for each true a false
 */
void litepulse_hurry(struct litepulse *lp, bool hurry)
{
	mutex_lock(&lp->setup_mutex);
	lp->hurry += hurry ? 1 : -1;
	litepulse_moderate(lp);
	mutex_unlock(&lp->setup_mutex);
}

/* --- session --- */

/* The board's name, and what it does when it hears nothing from us for long. */
static int write_session(struct litepulse *lp, bool keep, bool watched)
{
	u32 word = FIELD_PREP(LITEPULSE_CSR_SESSION_SESSION_MASK, lp->session);
	int error;

	if (lp->keeps)
		word |= FIELD_PREP(LITEPULSE_CSR_SESSION_KEEP_MASK, keep) |
			FIELD_PREP(LITEPULSE_CSR_SESSION_LIMIT_MASK,
				   watched ? lp->watch_limit : 0);
	error = lp->ops->write_csr(lp->context, LITEPULSE_CSR_SESSION, word);
	if (error)
		return error;
	lp->kept = keep;
	lp->unwatched = !watched;
	return 0;
}

/* Gives the board a name by which it is known until its next reset. */
static int name_session(struct litepulse *lp)
{
	u16 session;

	do {
		session = get_random_u32() & LITEPULSE_CSR_SESSION_SESSION_MASK;
	} while (!session);
	lp->session = session;
	return write_session(lp, false, true);
}

/**
 * litepulse_pledge - tells the board what becomes of its output when it no longer hears from us
 * @lp: device, whose claim_mutex is held unless nobody else knows it yet
 * @keep: it goes on
 * @watched: else it stops, as soon as we have been silent for WATCHDOG_SECONDS; not @watched:
 *	nothing runs that would have to
 *
 * The core of a SoC has no such watchdog: whatever ends the kernel resets it, too, and a kernel
 * that is only late must not lose its output.
 *
 * Return: 0, also if the board turns out to have been reset, or an error of the transport.
 */
int litepulse_pledge(struct litepulse *lp, bool keep, bool watched)
{
	int error;

	if (!lp->keeps || (keep == lp->kept && watched == !lp->unwatched))
		return 0;
	/* A board that was reset must not get its old name back. */
	error = litepulse_check_session(lp);
	if (error)
		return error == -ESTALE ? 0 : error;
	return write_session(lp, keep, watched);
}

/**
 * litepulse_schedule_restart - finds out, soon, whether the board was reset, and acts accordingly
 * @lp: device; any context
 */
void litepulse_schedule_restart(struct litepulse *lp)
{
	/* What it waits for comes from a thread that sleeps while the machine is suspended. */
	queue_work(lp->ops->sleeps ? system_freezable_wq : system_wq, &lp->restart_work);
}

/**
 * litepulse_check_session - is the board still the one it was?
 * @lp: device
 *
 * Return: 0, -ESTALE if it was reset since (all will be told), or an error of the transport.
 */
int litepulse_check_session(struct litepulse *lp)
{
	u32 session;
	int error = litepulse_read_csr(lp, LITEPULSE_CSR_SESSION, &session);

	if (error)
		return error;
	if (FIELD_GET(LITEPULSE_CSR_SESSION_SESSION_MASK, session) == READ_ONCE(lp->session))
		return 0;
	litepulse_schedule_restart(lp);
	return -ESTALE;
}

/*
 * Begins with the streams: a snapshot gives the number of the event before ours, so that a loss
 * at the head shows, too; older ones are thrown away. That the snapshot arrives shows that
 * interrupts do. A board that is full of older ones loses it, and is asked again when they went.
 */
static int start_streams(struct litepulse *lp)
{
	/* Both each time: the board may be reset meanwhile. */
	static const struct litepulse_word words[] = {
		{ LITEPULSE_CFG_EVENT_MASK, LITEPULSE_CFG_EVENT_MASK_SNAPSHOT_MASK },
		{ LITEPULSE_CFG_COMMAND, LITEPULSE_CFG_COMMAND_SNAPSHOT_MASK },
	};
	unsigned int i;
	long left = 0;
	int error = 0;

	mutex_lock(&lp->setup_mutex);
	lp->ops->want(lp->context, LITEPULSE_WANT_EVENTS, LITEPULSE_WANT_EVENTS);
	lp->hurry++;
	litepulse_moderate(lp);
	for (i = 0; !error && !left && i < SNAPSHOTS; i++) {
		error = litepulse_configure(lp, words, ARRAY_SIZE(words));
		if (!error)
			left = wait_event_timeout(lp->answer_wait, READ_ONCE(lp->events.started),
						  litepulse_patience(lp) / SNAPSHOTS);
	}
	lp->hurry--;
	if (!error)
		error = left ? litepulse_apply_sinks(lp) : -ETIMEDOUT;
	mutex_unlock(&lp->setup_mutex);
	if (error == -ETIMEDOUT)
		dev_err(lp->dev, "its %s\n",
			lp->ops->sleeps ? "events do not arrive" : "interrupt does not arrive");
	return error;
}

/*
 * The board was reset: its settings are gone, and so is what ran on it. Or its watchdog has fired,
 * because this machine stood still: its ticks go on, and its settings are written once more.
 */
static void restart_work(struct work_struct *work)
{
	struct litepulse *lp = container_of(work, struct litepulse, restart_work);
	u32 session;

	down_read(&lp->gone_sem);
	mutex_lock(&lp->claim_mutex);
	if (lp->gone || litepulse_read_csr(lp, LITEPULSE_CSR_SESSION, &session))
		goto unlock;
	if (FIELD_GET(LITEPULSE_CSR_SESSION_SESSION_MASK, session) == lp->session) {
		litepulse_resume_streams(lp);
		goto unlock;
	}
	dev_warn(lp->dev,
		 "the board was reset, or heard nothing for long: what ran on it has stopped\n");
	name_session(lp);
	if (lp->claimant)
		lp->claimant->stale = true;
	/* A launch of the old claim may have come just after the reset: it must not start. */
	litepulse_stop_output(lp);
	litepulse_tell_restart(lp);
	write_line(lp);
	litepulse_tty_restarted(lp);
	litepulse_ptp_restarted(lp);
	start_streams(lp);
	wake_up_interruptible_all(&lp->launch_wait);
unlock:
	mutex_unlock(&lp->claim_mutex);
	up_read(&lp->gone_sem);
}

static void watch_work(struct work_struct *work)
{
	struct litepulse *lp = container_of(to_delayed_work(work), struct litepulse, watch_work);

	litepulse_check_session(lp);
	mutex_lock(&lp->claim_mutex);
	if (lp->unstopped && !lp->claimant)
		lp->unstopped = litepulse_stop_output(lp);
	mutex_unlock(&lp->claim_mutex);
	schedule_delayed_work(&lp->watch_work, round_jiffies_relative(WATCH_INTERVAL));
}

/* --- probe --- */

static int identify(struct litepulse *lp)
{
	u32 words[(LITEPULSE_CSR_ID_CLOCK_DEN - LITEPULSE_CSR_ID_MAGIC) / 4 + 1], geometry;
	unsigned int major, minor;
	int error;

	error = lp->ops->read_csr(lp->context, LITEPULSE_CSR_ID_MAGIC, words, ARRAY_SIZE(words));
	if (error)
		return dev_err_probe(lp->dev, error, "no answer\n");
#define WORD(name) words[(LITEPULSE_CSR_##name - LITEPULSE_CSR_ID_MAGIC) / 4]
	if (WORD(ID_MAGIC) != LITEPULSE_MAGIC)
		return dev_err_probe(lp->dev, -ENODEV,
				     "no LitePulse: it identifies itself as 0x%08x, not 0x%08x\n",
				     WORD(ID_MAGIC), LITEPULSE_MAGIC);
	lp->version = WORD(ID_VERSION);
	major = FIELD_GET(LITEPULSE_CSR_ID_VERSION_MAJOR_MASK, lp->version);
	minor = FIELD_GET(LITEPULSE_CSR_ID_VERSION_MINOR_MASK, lp->version);
	/* While major is 0, any change counts as minor. */
	if (major != LITEPULSE_VERSION_MAJOR || (!major && minor != LITEPULSE_VERSION_MINOR))
		return dev_err_probe(lp->dev, -ENODEV,
				     "the core is version %u.%u, this driver is for %u.%u\n", major,
				     minor, LITEPULSE_VERSION_MAJOR, LITEPULSE_VERSION_MINOR);
	geometry = WORD(ID_GEOMETRY);
	lp->samples = FIELD_GET(LITEPULSE_CSR_ID_GEOMETRY_SAMPLES_MASK, geometry);
	lp->inputs = FIELD_GET(LITEPULSE_CSR_ID_GEOMETRY_INPUTS_MASK, geometry);
	lp->event_depth = 1 << FIELD_GET(LITEPULSE_CSR_ID_GEOMETRY_EVENT_DEPTH_MASK, geometry);
	lp->receive_depth = 1 << FIELD_GET(LITEPULSE_CSR_ID_GEOMETRY_RECEIVE_DEPTH_MASK, geometry);
	lp->transmit_depth = 1
		<< FIELD_GET(LITEPULSE_CSR_ID_GEOMETRY_TRANSMIT_DEPTH_MASK, geometry);
	lp->transmit_low = lp->transmit_depth / 16;
	lp->launch_depth = 1 << FIELD_GET(LITEPULSE_CSR_ID_GEOMETRY_LAUNCH_DEPTH_MASK, geometry);
	lp->simulated = geometry & LITEPULSE_CSR_ID_GEOMETRY_SIMULATED_MASK;
	if (!lp->samples || (lp->inputs + 1) * lp->samples > 16 || lp->event_depth < 2 ||
	    lp->receive_depth < 2 || lp->transmit_depth < 2)
		return dev_err_probe(lp->dev, -ENODEV, "impossible geometry 0x%08x\n", geometry);
	lp->clock_num = WORD(ID_CLOCK_NUM);
	lp->clock_den = WORD(ID_CLOCK_DEN);
#undef WORD
	error = litepulse_rate_init(&lp->rate, lp->clock_num, lp->clock_den, lp->samples);
	if (error)
		return dev_err_probe(lp->dev, error,
				     "unusable clock of %u/%u Hz, %u ticks per cycle\n",
				     lp->clock_num, lp->clock_den, lp->samples);
	return 0;
}

/*
 * Nothing waits or is recorded, and, unless it is @kept, nothing runs: at the beginning, whatever
 * a boot loader left, and at the end.
 */
static int settle(struct litepulse *lp, bool kept)
{
	const struct litepulse_word words[] = {
		{ LITEPULSE_CFG_COMMAND, LITEPULSE_CFG_COMMAND_FLUSH_TTY_MASK },
		{ LITEPULSE_CFG_EVENT_MASK, 0 },
		{ LITEPULSE_CFG_CAPTURE_EDGES, 0 },
		{ LITEPULSE_CFG_LINE, lp->line },
		/* not of a board that is kept */
		{ LITEPULSE_CFG_DRIVER_ENABLE, 0 },
		{ LITEPULSE_CFG_ECHO, LITEPULSE_ECHO_CYCLES_RESET * lp->samples },
	};

	if (!kept)
		litepulse_stop_output(lp);
	return litepulse_configure(lp, words, ARRAY_SIZE(words) - (kept ? 2 : 0));
}

/* After how many 2^18 cycles of its bus clock the board counts us as gone; rounded up. */
static u32 watch_limit(const struct litepulse *lp, u32 bus_hz)
{
	u64 cycles = (u64)WATCHDOG_SECONDS * (bus_hz ?: lp->clock_num / lp->clock_den);

	return min_t(u64, (cycles >> LITEPULSE_WATCHDOG_UNIT) + 1,
		     FIELD_MAX(LITEPULSE_CSR_SESSION_LIMIT_MASK));
}

/*
 * Is this a board that goes on with what it was told to keep? Then it also keeps its name, as does
 * one that was left with nothing to be stopped.
 */
static int find_kept(struct litepulse *lp, bool *kept)
{
	u32 words[(LITEPULSE_CSR_STATUS - LITEPULSE_CSR_SESSION) / 4 + 1], word;
	int error;

	if (!lp->keeps)
		return 0;
	error = lp->ops->read_csr(lp->context, LITEPULSE_CSR_SESSION, words, ARRAY_SIZE(words));
	if (error)
		return error;
	word = words[0];
	*kept = word & LITEPULSE_CSR_SESSION_KEEP_MASK;
	if (*kept || !(word & LITEPULSE_CSR_SESSION_LIMIT_MASK))
		lp->session = FIELD_GET(LITEPULSE_CSR_SESSION_SESSION_MASK, word);
	if (!lp->session)
		*kept = false;
	if (!*kept)
		return 0;
	/* It may listen; what for cannot be read. */
	lp->responder_listens = words[ARRAY_SIZE(words) - 1] &
		LITEPULSE_CSR_STATUS_RESPONDER_ARMED_MASK;
	if (lp->responder_listens)
		lp->line = LITEPULSE_CFG_LINE_RX_ENABLE_MASK;
	return 0;
}

static int litepulse_probe(struct platform_device *pdev)
{
	struct litepulse_platform_data transport = {}, *given = dev_get_platdata(&pdev->dev);
	struct litepulse *lp;
	bool kept = false;
	int error;

	if (given) {
		transport = *given;
	} else {
		error = litepulse_mmio_probe(pdev, &transport);
		if (error)
			return error;
	}
	lp = kzalloc(sizeof(*lp), GFP_KERNEL);
	if (!lp)
		return -ENOMEM;
	lp->dev = &pdev->dev;
	lp->ops = transport.ops;
	lp->context = transport.context;
	lp->attach = transport.attach;
	lp->keeps = transport.keeps;
	kref_init(&lp->ref);
	init_rwsem(&lp->gone_sem);
	spin_lock_init(&lp->lock);
	INIT_LIST_HEAD(&lp->sinks);
	INIT_LIST_HEAD(&lp->readers);
	init_waitqueue_head(&lp->answer_wait);
	init_waitqueue_head(&lp->launch_wait);
	mutex_init(&lp->setup_mutex);
	spin_lock_init(&lp->line_lock);
	INIT_WORK(&lp->line_work, line_work);
	mutex_init(&lp->claim_mutex);
	INIT_DELAYED_WORK(&lp->watch_work, watch_work);
	INIT_WORK(&lp->restart_work, restart_work);
	lp->id = ida_alloc_max(&litepulse_ids, LITEPULSE_DEVICES - 1, GFP_KERNEL);
	if (lp->id < 0) {
		error = lp->id;
		kfree(lp);
		return error;
	}

	error = identify(lp);
	if (error)
		goto put;
	lp->watch_limit = watch_limit(lp, transport.bus_hz);
	error = find_kept(lp, &kept) ?: settle(lp, kept);
	if (error) {
		dev_err_probe(lp->dev, error, "the core does not take its settings\n");
		goto put;
	}
	error = lp->session ? write_session(lp, kept, true) : name_session(lp);
	if (error)
		goto put;
	lp->kept = kept;
	platform_set_drvdata(pdev, lp);
	/* What was received before is nobody's. */
	error = litepulse_now(lp, &lp->bytes.since);
	if (error)
		goto put;
	error = lp->attach(lp->context, lp);
	if (error)
		goto put;
	error = start_streams(lp);
	if (error)
		goto detach;
	error = litepulse_tty_add(lp);
	if (error)
		goto detach;
	error = litepulse_ptp_add(lp);
	if (error)
		goto tty;
	error = litepulse_chardev_add(lp);
	if (error)
		goto ptp;
	schedule_delayed_work(&lp->watch_work, WATCH_INTERVAL);
	dev_info(lp->dev, "litepulse%d: version %u.%u, %llu/%u ticks per second, %u inputs%s\n",
		 lp->id, lp->version >> 16, lp->version & 0xffff, lp->rate.num, lp->rate.den,
		 lp->inputs, lp->simulated ? ", simulated" : "");
	return 0;

ptp:
	litepulse_set_gone(lp);
	litepulse_ptp_remove(lp);
tty:
	litepulse_set_gone(lp);
	litepulse_tty_remove(lp);
detach:
	litepulse_set_gone(lp);
	lp->attach(lp->context, NULL);
	cancel_work_sync(&lp->restart_work);
	cancel_work_sync(&lp->line_work);
put:
	litepulse_put(lp);
	return error;
}

static void litepulse_remove(struct platform_device *pdev)
{
	struct litepulse *lp = platform_get_drvdata(pdev);
	bool kept;

	/* Who is in a call finishes it; who waits is woken and comes no further. */
	litepulse_chardev_remove(lp);
	wake_up_all(&lp->launch_wait);
	mutex_lock(&lp->claim_mutex);
	kept = lp->keeps && lp->kept;
	/* If that fails the board stops by itself, or is stopped when it is found again. */
	if (!kept && !litepulse_stop_output(lp))
		litepulse_pledge(lp, false, false);
	mutex_unlock(&lp->claim_mutex);
	cancel_delayed_work_sync(&lp->watch_work);
	litepulse_ptp_remove(lp);
	litepulse_tty_remove(lp);
	lp->line = kept ? lp->line & LITEPULSE_CFG_LINE_RX_ENABLE_MASK : 0;
	settle(lp, kept);
	lp->attach(lp->context, NULL);
	cancel_work_sync(&lp->restart_work);
	cancel_work_sync(&lp->line_work);
	litepulse_put(lp);
}

static int litepulse_resume(struct device *dev)
{
	struct litepulse *lp = dev_get_drvdata(dev);

	litepulse_check_session(lp);
	if (!lp->ops->sleeps)
		flush_work(&lp->restart_work);
	mutex_lock(&lp->claim_mutex);
	litepulse_pledge(lp, lp->kept, true);
	mutex_unlock(&lp->claim_mutex);
	litepulse_ptp_resume(lp);
	schedule_delayed_work(&lp->watch_work, WATCH_INTERVAL);
	return litepulse_tty_resume(lp);
}

static int litepulse_suspend(struct device *dev)
{
	struct litepulse *lp = dev_get_drvdata(dev);
	int error = litepulse_tty_suspend(lp);

	if (error)
		return error;
	cancel_delayed_work_sync(&lp->watch_work);
	litepulse_ptp_suspend(lp);
	/* Whatever was kept, too: nobody is there to see what a train does meanwhile. */
	mutex_lock(&lp->claim_mutex);
	error = litepulse_stop_output(lp);
	if (!error)
		litepulse_pledge(lp, lp->kept, false);
	mutex_unlock(&lp->claim_mutex);
	if (error) {
		dev_err(dev, "what runs on the board could not be stopped: no suspend\n");
		litepulse_resume(dev);
	}
	return error;
}

static DEFINE_SIMPLE_DEV_PM_OPS(litepulse_pm_ops, litepulse_suspend, litepulse_resume);

static const struct of_device_id litepulse_of_match[] = { { .compatible = "litex,litepulse" }, {} };
MODULE_DEVICE_TABLE(of, litepulse_of_match);

static const struct platform_device_id litepulse_ids_match[] = { { .name = "litepulse" }, {} };
MODULE_DEVICE_TABLE(platform, litepulse_ids_match);

static struct platform_driver litepulse_driver = {
	.probe = litepulse_probe,
	.litepulse_remove_op = litepulse_remove,
	.id_table = litepulse_ids_match,
	.driver = {
		.name = "litepulse",
		.of_match_table = litepulse_of_match,
		.pm = pm_sleep_ptr(&litepulse_pm_ops),
	},
};

static int __init litepulse_init(void)
{
	int error = litepulse_tty_init();

	if (error)
		return error;
	error = platform_driver_register(&litepulse_driver);
	if (error)
		litepulse_tty_exit();
	return error;
}
module_init(litepulse_init);

static void __exit litepulse_exit(void)
{
	platform_driver_unregister(&litepulse_driver);
	litepulse_tty_exit();
	ida_destroy(&litepulse_ids);
}
module_exit(litepulse_exit);

MODULE_DESCRIPTION("LitePulse: a serial port whose every edge has a known time");
MODULE_LICENSE("GPL");
