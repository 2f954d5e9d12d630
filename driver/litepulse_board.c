// SPDX-License-Identifier: GPL-2.0-only
/* A board: its lifetime, single accesses to it, the line word, the session by which it is known */
#include <linux/bitfield.h>
#include <linux/export.h>
#include <linux/idr.h>
#include <linux/of.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/platform_device.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "litepulse.h"
#include "litepulse_compat.h"

/* Attempts to read the clocks between two settings of them. */
#define TIME_ATTEMPTS 10

/* This long after it was last heard its watchdog has not fired; the two clocks differ by less. */
#define UNFIRED_NS (LITEPULSE_WATCHDOG_SECONDS * (u64)NSEC_PER_SEC - 100 * NSEC_PER_MSEC)

static DEFINE_IDA(litepulse_ids);

/*
 * Works that may wait seconds for a board on a cable. Not freezable: they are flushed when a device
 * is suspended or goes, which may be while threads are frozen.
 */
struct workqueue_struct *litepulse_board_workers;

/**
 * litepulse_board_init - makes what all boards share
 *
 * Return: 0 or -ENOMEM.
 */
int litepulse_board_init(void)
{
	litepulse_board_workers = alloc_workqueue("litepulse", WQ_UNBOUND, 0);
	return litepulse_board_workers ? 0 : -ENOMEM;
}

void litepulse_board_exit(void)
{
	destroy_workqueue(litepulse_board_workers);
}

/* --- lifetime --- */

static void litepulse_board_release(struct kref *ref)
{
	struct litepulse *lp = container_of(ref, struct litepulse, ref);

	ida_free(&litepulse_ids, lp->id);
	kfree(lp);
}

/**
 * litepulse_board_get - takes a reference
 * @lp: device
 *
 * Return: @lp.
 */
struct litepulse *litepulse_board_get(struct litepulse *lp)
{
	kref_get(&lp->ref);
	return lp;
}

/**
 * litepulse_board_put - gives a reference back; the last one frees the device
 * @lp: device
 */
void litepulse_board_put(struct litepulse *lp)
{
	kref_put(&lp->ref, litepulse_board_release);
}

/**
 * litepulse_board_set_gone - makes all later calls fail with -ENODEV; waits for those under way
 * @lp: device
 */
void litepulse_board_set_gone(struct litepulse *lp)
{
	down_write(&lp->gone_sem);
	WRITE_ONCE(lp->gone, true);
	up_write(&lp->gone_sem);
}

/**
 * litepulse_board_enter - begins a call from user space: the device stays until
 *	litepulse_board_leave()
 * @lp: device
 *
 * Return: 0, -EINTR if the process is to die, or -ENODEV if the device has gone.
 */
int litepulse_board_enter(struct litepulse *lp)
{
	if (down_read_killable(&lp->gone_sem))
		return -EINTR;
	if (!lp->gone)
		return 0;
	up_read(&lp->gone_sem);
	return -ENODEV;
}

/**
 * litepulse_board_leave - ends what litepulse_board_enter() began
 * @lp: device
 */
void litepulse_board_leave(struct litepulse *lp)
{
	up_read(&lp->gone_sem);
}

/**
 * litepulse_board_begin_command - as litepulse_board_enter(), and no one else changes output or
 *	clock until litepulse_board_end_command()
 * @lp: device
 *
 * Return: as litepulse_board_enter().
 */
int litepulse_board_begin_command(struct litepulse *lp)
{
	int error = litepulse_board_enter(lp);

	if (error)
		return error;
	error = mutex_lock_killable(&lp->claim.mutex);
	if (error)
		litepulse_board_leave(lp);
	return error;
}

/**
 * litepulse_board_end_command - ends what litepulse_board_begin_command() began
 * @lp: device
 */
void litepulse_board_end_command(struct litepulse *lp)
{
	mutex_unlock(&lp->claim.mutex);
	litepulse_board_leave(lp);
}

/* --- single accesses --- */

/**
 * litepulse_board_read_csr - one register
 * @lp: device
 * @offset: LITEPULSE_CSR_*
 * @word: its value
 *
 * Return: 0 or an error of the transport.
 */
int litepulse_board_read_csr(struct litepulse *lp, u32 offset, u32 *word)
{
	return lp->ops->read_csr(lp->context, offset, word, 1);
}

/**
 * litepulse_board_configure - writes configuration words and waits for the core's answers
 * @lp: device
 * @words: in order
 * @count: how many
 *
 * Return: 0, -EINVAL if the core refused any, or an error of the transport.
 */
int litepulse_board_configure(struct litepulse *lp, const struct litepulse_word *words,
			      unsigned int count)
{
	return lp->ops->configure(lp->context, words, count);
}

static void litepulse_board_read_before(void *data)
{
	struct litepulse_reading *reading = data;

	reading->before = ktime_get_boottime_ns();
}

static void litepulse_board_read_after(void *data)
{
	struct litepulse_reading *reading = data;

	reading->after = ktime_get_boottime_ns();
}

/* Whether the board's clock went on from one reading to the other as it should. */
static bool litepulse_board_went_on(struct litepulse *lp, const struct litepulse_reading *first,
				    const struct litepulse_reading *second)
{
	return !litepulse_clock_map_fell_behind(&lp->rate, first, second) &&
		litepulse_clock_map_reachable(&lp->rate, second->tick - first->tick,
					      second->after - first->before, false);
}

/* Whether the board was certainly reset between two readings. A simulated one may be slow. */
static bool litepulse_board_was_reset(struct litepulse *lp,
				      const struct litepulse_reading *first,
				      const struct litepulse_reading *second)
{
	return lp->simulated ? second->tick < first->tick :
			       litepulse_clock_map_fell_behind(&lp->rate, first, second);
}

/* The board's clock beside CLOCK_BOOTTIME. A break in it shows that the board was reset. */
static int litepulse_board_read(struct litepulse *lp, struct litepulse_reading *reading)
{
	const struct litepulse_stamper stamper = { litepulse_board_read_before,
						   litepulse_board_read_after, reading };
	unsigned long flags;
	int error = lp->ops->time(lp->context, &reading->tick, &stamper);
	struct litepulse_clock *clock = &lp->clock;

	if (error)
		return error;
	spin_lock_irqsave(&lp->feed.lock, flags);
	/* Else the other reader saw what we see. */
	if (reading->before >= clock->reading.after) {
		if (clock->reading.after && !litepulse_board_went_on(lp, &clock->reading, reading))
			WRITE_ONCE(clock->breaks, clock->breaks + 1);
		clock->reading = *reading;
	}
	spin_unlock_irqrestore(&lp->feed.lock, flags);
	return 0;
}

/**
 * litepulse_board_now - the board's tick
 * @lp: device
 * @tick: answer
 *
 * Return: 0 or an error of the transport.
 */
int litepulse_board_now(struct litepulse *lp, u64 *tick)
{
	struct litepulse_reading reading;
	int error;

	if (!lp->keeps)
		return lp->ops->time(lp->context, tick, NULL);
	error = litepulse_board_read(lp, &reading);
	if (!error)
		*tick = reading.tick;
	return error;
}

/**
 * litepulse_board_header - the board's tick and CLOCK_MONOTONIC, as the header of a stream has them
 * @lp: device
 * @now: answer
 *
 * Return: 0 or an error of the transport.
 */
int litepulse_board_header(struct litepulse *lp, struct litepulse_header *now)
{
	struct litepulse_reading reading;
	int error = litepulse_board_read(lp, &reading);
	u64 half;

	if (error)
		return error;
	half = (reading.after - reading.before) / 2;
	*now = (struct litepulse_header){
		.tick = reading.tick,
		.mono = reading.before + half -
			ktime_to_ns(ktime_mono_to_any(0, TK_OFFS_BOOT)),
		.uncertainty = min_t(u64, half + 1, U32_MAX),
	};
	return 0;
}

/* The host's clocks before [0] and after [1] the tick was taken. */
struct litepulse_board_clocks {
	struct litepulse_clocks at[2];
};

static void litepulse_board_clocks_before(void *data)
{
	struct litepulse_board_clocks *pair = data;

	litepulse_read_clocks(&pair->at[0]);
}

static void litepulse_board_clocks_after(void *data)
{
	struct litepulse_board_clocks *pair = data;

	litepulse_read_clocks(&pair->at[1]);
}

/* What of a slew falls into a part of the time in which it happened; half needs no product. */
static s64 litepulse_board_share(s64 slew, u64 part, u64 whole)
{
	u64 share = abs(slew) / 2;

	if (part != whole / 2 && !(whole >> 32))
		share = litepulse_mul_div(abs(slew), part, whole, NULL);
	return slew < 0 ? -(s64)share : (s64)share;
}

/**
 * litepulse_board_time - the board's tick beside the host's clocks
 * @lp: device
 * @time: answer
 *
 * Return: 0, -EAGAIN if CLOCK_REALTIME was set again and again meanwhile, or an error of the
 * transport.
 */
int litepulse_board_time(struct litepulse *lp, struct litepulse_time *time)
{
	struct litepulse_board_clocks pair;
	const struct litepulse_clocks *before = &pair.at[0], *after = &pair.at[1];
	u64 tick, middle, offset, width, request, answer;
	const struct litepulse_stamper stamper = {
		.before = litepulse_board_clocks_before,
		.after = litepulse_board_clocks_after,
		.data = &pair,
		.request_ns = &request,
		.answer_ns = &answer,
	};
	unsigned int attempts = TIME_ATTEMPTS;
	struct litepulse_clocks end;
	int error;

	/* The readings can be compared only if the clock was not set between them. */
	do {
		if (!attempts--)
			return -EAGAIN;
		request = 0;
		answer = 0;
		error = lp->ops->time(lp->context, &tick, &stamper);
		if (error)
			return error;
		offset = ktime_to_ns(ktime_mono_to_real(0));
		litepulse_read_clocks(&end);
	} while (before->set_count != end.set_count);
	width = after->raw - before->raw;
	/* Of what is left without them; CLOCK_REALTIME may be slewed. */
	middle = (width + request - answer) / 2;
	middle += litepulse_board_share(after->real - before->real - width, middle, width);
	middle += before->real;
	width -= request + answer;
	*time = (struct litepulse_time){
		.tick = tick,
		.raw_before = before->raw + request,
		.raw_after = after->raw - answer,
		.realtime = middle,
		.monotonic = middle - offset,
		.uncertainty = min_t(u64, (width + 1) / 2, U32_MAX),
	};
	return 0;
}

/**
 * litepulse_board_read_host - CLOCK_MONOTONIC beside CLOCK_MONOTONIC_RAW, at one moment
 * @host: as it was the last time, or all 0; answer
 */
void litepulse_board_read_host(struct litepulse_host *host)
{
	struct litepulse_clocks clocks, end;

	litepulse_read_clocks(&clocks);
	while (!host->offset_known || clocks.set_count != host->set_count) {
		host->offset = ktime_to_ns(ktime_mono_to_real(0));
		host->set_count = clocks.set_count;
		litepulse_read_clocks(&end);
		host->offset_known = end.set_count == clocks.set_count;
		if (!host->offset_known)
			clocks = end;
	}
	host->raw = clocks.raw;
	host->mono = clocks.real - host->offset;
	host->cycles = clocks.cycles;
	host->source_count = clocks.source_count;
}
EXPORT_SYMBOL_NS_GPL(litepulse_board_read_host, LITEPULSE_NAMESPACE);

/**
 * litepulse_board_doubt - a setting may not have arrived: all are written again within a second, or
 * when the board can be reached again
 * @lp: device; any context
 */
void litepulse_board_doubt(struct litepulse *lp)
{
	atomic_inc(&lp->restart.doubts);
}

/* One at a time, so that no older word comes after a newer one. */
static int litepulse_board_put_line(struct litepulse *lp)
{
	struct litepulse_word word = { LITEPULSE_CFG_LINE, READ_ONCE(lp->line.word) };
	int error = litepulse_board_configure(lp, &word, 1);

	WRITE_ONCE(lp->line.error, error);
	if (error)
		litepulse_board_doubt(lp);
	return error;
}

/**
 * litepulse_board_write_line - writes the line word; what fails is repeated
 * @lp: device; called from a process
 *
 * Return: 0 or an error of the transport.
 */
int litepulse_board_write_line(struct litepulse *lp)
{
	int error;

	if (lp->ops->sleeps) {
		mutex_lock(&lp->line.mutex);
		error = litepulse_board_put_line(lp);
		mutex_unlock(&lp->line.mutex);
	} else {
		spin_lock_irq(&lp->line.lock);
		error = litepulse_board_put_line(lp);
		spin_unlock_irq(&lp->line.lock);
	}
	return error;
}

static void litepulse_board_line_work(struct work_struct *work)
{
	/* litepulse.line.error has the error for litepulse_board_flush_line(). */
	(void)litepulse_board_write_line(container_of(work, struct litepulse, line.work));
}

/**
 * litepulse_board_set_line - changes bits of the line word, from any context
 * @lp: device
 * @mask: LITEPULSE_CFG_LINE_*_MASK
 * @bits: their values
 */
void litepulse_board_set_line(struct litepulse *lp, u32 mask, u32 bits)
{
	unsigned long flags;
	u32 line;

	spin_lock_irqsave(&lp->line.lock, flags);
	line = (lp->line.word & ~mask) | bits;
	if (line != lp->line.word) {
		WRITE_ONCE(lp->line.word, line);
		if (lp->ops->sleeps)
			queue_work(litepulse_board_workers, &lp->line.work);
		else /* litepulse.line.error has the error for litepulse_board_flush_line(). */
			(void)litepulse_board_put_line(lp);
	}
	spin_unlock_irqrestore(&lp->line.lock, flags);
}

/**
 * litepulse_board_flush_line - waits until the line word is as it was set last
 * @lp: device; called from a process, without a lock that a transport's call may not be under
 *
 * Return: 0 or an error of the transport: it is written again when the board can be reached.
 */
int litepulse_board_flush_line(struct litepulse *lp)
{
	if (lp->ops->sleeps)
		flush_work(&lp->line.work);
	return READ_ONCE(lp->line.error);
}

/**
 * litepulse_board_set_profile - format and bit period of a line profile; they take effect together
 * @lp: device
 * @index: 0 to 3
 * @format: LITEPULSE_CFG_PROFILE_FORMAT_*, without the period's upper bits
 * @period: bit period in 2^-8 ticks
 *
 * Return: 0, -EINVAL if the core refuses it, or an error of the transport.
 */
int litepulse_board_set_profile(struct litepulse *lp, unsigned int index, u32 format, u64 period)
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
	return litepulse_board_configure(lp, words, ARRAY_SIZE(words));
}

/* --- session --- */

/**
 * litepulse_board_write_session - names the board, and sets what it does when it hears nothing
 * @lp: device; claim.mutex is held, unless it is not registered yet
 * @keep: its output goes on then
 * @watched: it stops its output then, unless @keep; else it does not watch
 *
 * Return: 0 or an error of the transport.
 */
int litepulse_board_write_session(struct litepulse *lp, bool keep, bool watched)
{
	u32 word = FIELD_PREP(LITEPULSE_CSR_SESSION_SESSION_MASK, lp->session);
	int error;

	if (lp->keeps)
		word |= FIELD_PREP(LITEPULSE_CSR_SESSION_KEEP_MASK, keep) |
			FIELD_PREP(LITEPULSE_CSR_SESSION_LIMIT_MASK,
				   watched ? lp->watch_limit : 0);
	lp->claim.pledge_unknown = true;
	error = lp->ops->write_csr(lp->context, LITEPULSE_CSR_SESSION, word);
	if (error) {
		litepulse_board_doubt(lp);
		return error;
	}
	lp->claim.pledge_unknown = false;
	lp->claim.kept = keep;
	lp->claim.unwatched = !watched;
	return 0;
}

/* Another name than the board has. */
static void litepulse_board_choose_session(struct litepulse *lp)
{
	u16 session;

	do {
		session = get_random_u32() & LITEPULSE_CSR_SESSION_SESSION_MASK;
	} while (!session || session == lp->session);
	WRITE_ONCE(lp->session, session);
}

/**
 * litepulse_board_name_session - gives the board a new name, by which it is known until its reset
 * @lp: device
 *
 * Return: 0 or an error of the transport.
 */
int litepulse_board_name_session(struct litepulse *lp)
{
	litepulse_board_choose_session(lp);
	return litepulse_board_write_session(lp, false, true);
}

/**
 * litepulse_board_pledge - as litepulse_board_write_session(), if that is a change
 * @lp: device; claim.mutex is held, unless it is not registered yet
 * @keep: its output goes on when we have been silent for LITEPULSE_WATCHDOG_SECONDS
 * @watched: it stops its output then, unless @keep; false: nothing runs that would have to stop
 *
 * The core of a SoC has no such watchdog: whatever ends the kernel resets it, too, and a kernel
 * that is only late must not lose its output.
 *
 * Return: 0, also if the board turns out to have been reset, or an error of the transport.
 */
int litepulse_board_pledge(struct litepulse *lp, bool keep, bool watched)
{
	const bool kept = lp->claim.kept, unwatched = lp->claim.unwatched;
	const bool watching = lp->claim.pledge_unknown || !(kept || unwatched);
	struct litepulse_reading before, after;
	bool late;
	int error;

	if (!lp->keeps || (!lp->claim.pledge_unknown && keep == kept && watched == !unwatched))
		return 0;
	/*
	 * A board that was reset, or whose watchdog has fired, must not get its old name back.
	 * Reading the tick makes the watchdog count again, so it cannot fire before the write, if
	 * this machine does not stand still in between.
	 */
	error = litepulse_board_read(lp, &before) ?: litepulse_board_check_session(lp);
	if (error)
		return error == -ESTALE ? 0 : error;
	error = litepulse_board_write_session(lp, keep, watched);
	late = watching && ktime_get_boottime_ns() - before.before > UNFIRED_NS;
	error = error ?: litepulse_board_read(lp, &after);
	/* It was reset, and got the name from a frame that was sent again; or it may have fired. */
	if (late || (!error && litepulse_board_was_reset(lp, &before, &after))) {
		litepulse_board_choose_session(lp);
		litepulse_board_schedule_restart(lp);
	}
	if (error) {
		/* The board's setting is not known for certain. */
		lp->claim.pledge_unknown = true;
		lp->claim.kept = kept;
		lp->claim.unwatched = unwatched;
		litepulse_board_doubt(lp);
	}
	return error;
}

/**
 * litepulse_board_schedule_restart - soon finds out whether the board was reset, and acts on it
 * @lp: device; any context
 */
void litepulse_board_schedule_restart(struct litepulse *lp)
{
	/* It must not touch a port that is suspended. */
	queue_work(lp->ops->sleeps ? system_freezable_wq : system_wq, &lp->restart.work);
}

/**
 * litepulse_board_check_session - finds out whether the board was reset
 * @lp: device
 *
 * Return: 0, -ESTALE if it was reset since (all readers will be notified), or an error of
 * the transport.
 */
int litepulse_board_check_session(struct litepulse *lp)
{
	u32 session;
	int error = litepulse_board_read_csr(lp, LITEPULSE_CSR_SESSION, &session);

	if (error)
		return error;
	if (FIELD_GET(LITEPULSE_CSR_SESSION_SESSION_MASK, session) == READ_ONCE(lp->session))
		return 0;
	litepulse_board_schedule_restart(lp);
	return -ESTALE;
}

/**
 * litepulse_board_usable - whether a claim can do anything but end
 * @lp: device
 * @claimant: holder of the claim
 *
 * Return: 0, -ESTALE if the board was reset since, or an error of the transport.
 */
int litepulse_board_usable(struct litepulse *lp, const struct litepulse_claimant *claimant)
{
	lockdep_assert_held(&lp->claim.mutex);
	return claimant->stale ? -ESTALE : litepulse_board_check_session(lp);
}

/* --- what it is --- */

/**
 * litepulse_board_identify - reads what the core is, and fills in what is constant of it
 * @lp: device that is not registered yet
 *
 * Return: 0, -ENODEV if it is no LitePulse or one of another version, -EINVAL if its clock is
 * unusable, or an error of the transport; the log has it.
 */
int litepulse_board_identify(struct litepulse *lp)
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
	if (major != LITEPULSE_VERSION_MAJOR || minor < LITEPULSE_MINOR_OLDEST)
		return dev_err_probe(lp->dev, -ENODEV,
				     "the core is version %u.%u, this driver is for %u.%u to %u.%u\n",
				     major, minor, LITEPULSE_VERSION_MAJOR, LITEPULSE_MINOR_OLDEST,
				     LITEPULSE_VERSION_MAJOR, LITEPULSE_VERSION_MINOR);
	if (litepulse_is_newer(lp))
		dev_warn(lp->dev,
			 "the core is version %u.%u, newer than this driver's %u.%u: it sends nothing\n",
			 major, minor, LITEPULSE_VERSION_MAJOR, LITEPULSE_VERSION_MINOR);
	geometry = WORD(ID_GEOMETRY);
	lp->samples = FIELD_GET(LITEPULSE_CSR_ID_GEOMETRY_SAMPLES_MASK, geometry);
	lp->inputs = FIELD_GET(LITEPULSE_CSR_ID_GEOMETRY_INPUTS_MASK, geometry);
	lp->event_depth = 1 << FIELD_GET(LITEPULSE_CSR_ID_GEOMETRY_EVENT_DEPTH_MASK, geometry);
	lp->receive_depth = 1 << FIELD_GET(LITEPULSE_CSR_ID_GEOMETRY_RECEIVE_DEPTH_MASK, geometry);
	lp->setup.receive_spare = lp->receive_depth / 2;
	lp->transmit_depth = 1
		<< FIELD_GET(LITEPULSE_CSR_ID_GEOMETRY_TRANSMIT_DEPTH_MASK, geometry);
	lp->transmit_low = lp->transmit_depth / 16;
	lp->launch_depth = 1 << FIELD_GET(LITEPULSE_CSR_ID_GEOMETRY_LAUNCH_DEPTH_MASK, geometry);
	if (geometry & LITEPULSE_CSR_ID_GEOMETRY_LIN_DEPTH_MASK)
		lp->lin_entries = min_t(u32, LITEPULSE_LIN_IDS, 1
			<< FIELD_GET(LITEPULSE_CSR_ID_GEOMETRY_LIN_DEPTH_MASK, geometry));
	/* Whatever used the board before us may have left any. */
	if (lp->lin_entries)
		lp->claim.lin_answers = GENMASK_ULL(lp->lin_entries - 1, 0);
	lp->simulated = geometry & LITEPULSE_CSR_ID_GEOMETRY_SIMULATED_MASK;
	lp->has_port = geometry & LITEPULSE_CSR_ID_GEOMETRY_PORT_MASK;
	lp->has_sequence = geometry & LITEPULSE_CSR_ID_GEOMETRY_SEQUENCE_MASK;
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

/**
 * litepulse_board_watch_limit - LITEPULSE_CSR_SESSION_LIMIT for LITEPULSE_WATCHDOG_SECONDS
 * @lp: device, identified
 * @bus_hz: clock of its bus; 0: unknown
 *
 * Return: units of 2^18 cycles of that clock, rounded up.
 */
u32 litepulse_board_watch_limit(const struct litepulse *lp, u32 bus_hz)
{
	u64 cycles = (u64)LITEPULSE_WATCHDOG_SECONDS * (bus_hz ?: lp->clock_num / lp->clock_den);

	return min_t(u64, (cycles >> LITEPULSE_WATCHDOG_UNIT) + 1,
		     FIELD_MAX(LITEPULSE_CSR_SESSION_LIMIT_MASK));
}

/**
 * litepulse_board_filter_length - what a channel's filter is
 * @filter: LITEPULSE_CFG_FILTER
 * @channel: a bit
 *
 * Return: equal samples that make a level; 1 without a filter.
 */
u8 litepulse_board_filter_length(u32 filter, u16 channel)
{
	if (!(FIELD_GET(LITEPULSE_CFG_FILTER_ENABLE_MASK, filter) & channel))
		return 1;
	return max_t(u8, FIELD_GET(LITEPULSE_CFG_FILTER_LENGTH_MASK, filter), 1);
}

/* What an armed responder uses. 0 or an error of the transport. */
static int litepulse_board_find_responder(struct litepulse *lp, struct litepulse_uses *uses)
{
	u32 words[(LITEPULSE_CFG_RESP_LAUNCH - LITEPULSE_CFG_RESP_TRIGGER) / 4 + 1], filter;
	unsigned int channel;
	int error;

	error = lp->ops->read_config(lp->context, LITEPULSE_CFG_RESP_TRIGGER, words,
				     ARRAY_SIZE(words)) ?:
		lp->ops->read_config(lp->context, LITEPULSE_CFG_FILTER, &filter, 1);
	if (error)
		return error;
	uses->responder = BIT(FIELD_GET(LITEPULSE_CFG_RESP_LAUNCH_PROFILE_MASK,
					words[ARRAY_SIZE(words) - 1]));
	if (FIELD_GET(LITEPULSE_CFG_RESP_TRIGGER_TRIGGER_MASK, words[0]) ==
	    LITEPULSE_TRIGGER_EDGE) {
		channel = FIELD_GET(LITEPULSE_CFG_RESP_TRIGGER_CHANNEL_MASK, words[0]);
	} else {
		channel = lp->inputs;
		uses->responder |= BIT(0);
	}
	uses->trigger = (struct litepulse_trigger){
		.channel = BIT(channel),
		.length = litepulse_board_filter_length(filter, BIT(channel)),
	};
	return 0;
}

/*
 * What output uses that goes on, by STATUS, and what the line profiles are. Launches that wait
 * cannot be read: they may use any. 0 or an error of the transport.
 */
static int litepulse_board_find_uses(struct litepulse *lp, u32 status)
{
	u32 words[2 * LITEPULSE_PROFILES], train, format;
	u8 uses, inverted = 0;
	unsigned int i;
	int error;

	error = lp->ops->read_config(lp->context, LITEPULSE_CFG_PROFILE0_FORMAT, words,
				     ARRAY_SIZE(words)) ?:
		lp->ops->read_config(lp->context, LITEPULSE_CFG_TRAIN_LAUNCH, &train, 1);
	if (!error && status & LITEPULSE_CSR_STATUS_RESPONDER_ARMED_MASK)
		error = litepulse_board_find_responder(lp, &lp->claim.kept_uses);
	if (error)
		return error;
	/* The line rests at the level of profile 0, which the tty never inverts. */
	if (words[0] & LITEPULSE_CFG_PROFILE_FORMAT_INVERT_MASK)
		inverted = BIT(0);
	if (status & LITEPULSE_CSR_STATUS_TRAIN_RUNNING_MASK)
		lp->claim.kept_uses.train = inverted |
			BIT(FIELD_GET(LITEPULSE_CFG_TRAIN_LAUNCH_PROFILE_MASK, train));
	if (lp->claim.kept_uses.responder)
		lp->claim.kept_uses.responder |= inverted;
	uses = lp->claim.kept_uses.train | lp->claim.kept_uses.responder;
	if (!(status & LITEPULSE_CSR_STATUS_QUEUE_IDLE_MASK))
		lp->claim.kept_uses.queue = GENMASK(LITEPULSE_PROFILES - 1, 0);
	lp->claim.kept_uses.stops = lp->has_sequence;
	/* Of the others it is not known whether the words are from before a reset. */
	lp->claim.profiles_set = uses & ~BIT(0);
	lp->claim.profiles_found = true;
	for (i = 0; i < LITEPULSE_PROFILES; i++) {
		format = words[2 * i];
		lp->claim.profiles[i] = (struct litepulse_profile_settings){
			.format = format & ~LITEPULSE_CFG_PROFILE_FORMAT_PERIOD_HI_MASK,
			.period = (u64)FIELD_GET(LITEPULSE_CFG_PROFILE_FORMAT_PERIOD_HI_MASK,
						 format) << 32 | words[2 * i + 1],
		};
		if (i && format & LITEPULSE_CFG_PROFILE_FORMAT_INVERT_MASK)
			lp->claim.profiles_inverted |= BIT(i);
	}
	return 0;
}

/**
 * litepulse_board_find_kept - finds out whether the board still runs what it was set to keep
 * @lp: device, identified
 * @kept: set if it does. The board then keeps its name, as does one on which nothing ran
 *
 * Return: 0 or an error of the transport.
 */
int litepulse_board_find_kept(struct litepulse *lp, bool *kept)
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
	lp->setup.responder_listens = words[ARRAY_SIZE(words) - 1] &
		LITEPULSE_CSR_STATUS_RESPONDER_ARMED_MASK;
	error = lp->ops->read_config(lp->context, LITEPULSE_CFG_LINE, &word, 1);
	if (error)
		return error;
	lp->line.word = word & (LITEPULSE_LINE_REST | LITEPULSE_CFG_LINE_LOOPBACK_MASK);
	if (lp->setup.responder_listens)
		lp->line.word |= LITEPULSE_CFG_LINE_RX_ENABLE_MASK;
	return litepulse_board_find_uses(lp, words[ARRAY_SIZE(words) - 1]);
}

/**
 * litepulse_board_create - a board, not yet registered; litepulse_board_put() frees it
 * @dev: its platform device
 * @transport: its transport
 *
 * The caller initializes what belongs to layers above: @take, @port_ops, @restart.watch_work and
 * @restart.work.
 *
 * Return: the board, -ENOMEM, or -ENODEV if there are too many, which the log has.
 */
struct litepulse *litepulse_board_create(struct device *dev,
					 const struct litepulse_platform_data *transport)
{
	struct litepulse *lp = kzalloc(sizeof(*lp), GFP_KERNEL);
	int id, alias;

	if (!lp)
		return ERR_PTR(-ENOMEM);
	/* The number that the device tree gives it, if that is free. */
	alias = dev->of_node ? of_alias_get_id(dev->of_node, "serial") : -ENODEV;
	id = alias >= 0 && alias < LITEPULSE_DEVICES ?
		     ida_alloc_range(&litepulse_ids, alias, alias, GFP_KERNEL) : -ENOSPC;
	if (id == -ENOSPC)
		id = ida_alloc_max(&litepulse_ids, LITEPULSE_DEVICES - 1, GFP_KERNEL);
	if (id < 0) {
		kfree(lp);
		if (id != -ENOSPC)
			return ERR_PTR(id);
		dev_err(dev, "%u boards at most\n", LITEPULSE_DEVICES);
		/* Of others the driver core makes a line more. */
		return ERR_PTR(-ENODEV);
	}
	lp->id = id;
	lp->dev = dev;
	lp->ops = transport->ops;
	lp->context = transport->context;
	lp->attach = transport->attach;
	lp->keeps = transport->keeps;
	kref_init(&lp->ref);
	init_rwsem(&lp->gone_sem);
	spin_lock_init(&lp->feed.lock);
	INIT_LIST_HEAD(&lp->feed.sinks);
	INIT_LIST_HEAD(&lp->feed.readers);
	init_waitqueue_head(&lp->answer.wait);
	init_waitqueue_head(&lp->queue.wait);
	mutex_init(&lp->setup.mutex);
	spin_lock_init(&lp->line.lock);
	mutex_init(&lp->line.mutex);
	INIT_WORK(&lp->line.work, litepulse_board_line_work);
	mutex_init(&lp->claim.mutex);
	mutex_init(&lp->break_mutex);
	return lp;
}
