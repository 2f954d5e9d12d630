// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/litepulseN: what happened and when, and, on the file of a claim, what is to happen
 *
 * Every open file, and every claim, is a reader: it has its own subscription, its own FIFO and
 * its own account of what it lost. The newest record is dropped when the FIFO is full, so what
 * was read is always without a gap up to a LOST record, which comes as soon as there is room
 * again, or as the last one when all before it was read. What the driver tells of itself (LOST,
 * RESTARTED) is a note: it takes no part in the numbers of LITEPULSE_IOC_STATS, and none is lost.
 */
#include <linux/anon_inodes.h>
#include <linux/bitfield.h>
#include <linux/compat.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "litepulse.h"
#include "litepulse_compat.h"

#define FIFO_DEFAULT   1024
#define FIFO_MIN       16
#define FIFO_MAX       65536
#define TIMEOUT_MAX_US USEC_PER_SEC
/* Launches copied from user space at a time. */
#define LAUNCH_BATCH 16

#define KINDS                                                                              \
	(BIT(LITEPULSE_KIND_TX) | BIT(LITEPULSE_KIND_EDGE) | BIT(LITEPULSE_KIND_REFUSED) | \
	 BIT(LITEPULSE_KIND_APPLIED) | BIT(LITEPULSE_KIND_TRAIN_DONE) |                    \
	 BIT(LITEPULSE_KIND_RESPONDER_MISSED) | BIT(LITEPULSE_KIND_RX))
#define SOURCES GENMASK(LITEPULSE_SRC_RECEIVER, LITEPULSE_SRC_QUEUE)
/* What becomes of what the holder of a claim asks for. */
#define OUTCOME_KINDS                                                                         \
	(BIT(LITEPULSE_KIND_TX) | BIT(LITEPULSE_KIND_REFUSED) | BIT(LITEPULSE_KIND_APPLIED) | \
	 BIT(LITEPULSE_KIND_TRAIN_DONE) | BIT(LITEPULSE_KIND_RESPONDER_MISSED))
#define OUTCOME_SOURCES                                                                       \
	(BIT(LITEPULSE_SRC_QUEUE) | BIT(LITEPULSE_SRC_TRAIN) | BIT(LITEPULSE_SRC_RESPONDER) | \
	 BIT(LITEPULSE_SRC_TRAIN_CHANGE))

/*
 * Notes that can wait for room, at most one of each: LOST by us or by the board, of events or of
 * bytes, and RESTARTED.
 */
#define NOTES 5

/**
 * struct reader - a file that gets events
 * @sink: where they come from
 * @lp: device; the file holds a reference
 * @node: in litepulse.readers; litepulse.lock
 * @writable: the file is open for writing
 * @mutex: the reading side of the FIFO, and changes of it
 * @room: of the FIFO; NULL until it subscribes to something
 * @size: of it in events, a power of two
 * @in: events ever put into it; written under litepulse.lock
 * @out: ... and taken out; written under @mutex
 * @held: the note after the last event of the FIFO, on its way to the program; @mutex
 * @holding: there is one
 * @notes: found no room, as they will be told and in the order they began; litepulse.lock
 * @waiting: so many of them; litepulse.lock
 * @stats: litepulse.lock; what was delivered is worked out when asked for
 * @due: the oldest record has waited its time, or a note came; litepulse.lock
 * @timer: makes it due
 * @wait: for records
 */
struct reader {
	struct litepulse_sink sink;
	struct litepulse *lp;
	struct list_head node;
	bool writable;
	struct mutex mutex; /* above */
	struct litepulse_event *room;
	unsigned int size;
	unsigned int in;
	unsigned int out;
	struct litepulse_event held;
	bool holding;
	struct litepulse_event notes[NOTES];
	unsigned int waiting;
	struct litepulse_stats stats;
	bool due;
	struct hrtimer timer;
	wait_queue_head_t wait;
};

struct claim_file {
	struct reader reader;
	struct litepulse_claimant claimant;
};

struct litepulse_chardev {
	struct miscdevice misc;
	struct litepulse *lp;
	char name[16];
};

/* --- the FIFO --- */

/*
 * A FIFO of our own: the kernel's copies an event twice, and most of what an event costs is copying
 * and fetching code.
 */

static bool is_note(const struct litepulse_event *event)
{
	return event->kind >= LITEPULSE_KIND_LOST;
}

static unsigned int queued(struct reader *reader)
{
	/*
	 * Each side sees what the other did to @room before it moved its index. @out first: it
	 * never passes @in, so the difference is not negative without a lock either.
	 */
	unsigned int out = smp_load_acquire(&reader->out);

	/* append() */
	return smp_load_acquire(&reader->in) - out;
}

static struct litepulse_event *at(struct reader *reader, unsigned int index)
{
	return &reader->room[index & (reader->size - 1)];
}

static void append(struct reader *reader, const struct litepulse_event *event)
{
	*at(reader, reader->in) = *event;
	/* queued() */
	smp_store_release(&reader->in, reader->in + 1);
}

/* The loss of a record by us. */
static struct litepulse_event loss_of(const struct litepulse_event *event)
{
	return (struct litepulse_event){
		.tick = event->tick,
		.ns = event->ns,
		.seq = event->seq,
		.count = 1,
		.uncertainty = event->uncertainty,
		.flags = event->flags & LITEPULSE_FLAG_NS,
		.kind = LITEPULSE_KIND_LOST,
		.source = event->kind == LITEPULSE_KIND_RX ? LITEPULSE_SRC_RECEIVER :
							     LITEPULSE_SRC_CONTROL,
	};
}

/* A note for which there is no room: added to the one of its sort, if there is one. */
static void add_note(struct reader *reader, const struct litepulse_event *note)
{
	struct litepulse_event *other;

	for (other = reader->notes; other < reader->notes + reader->waiting; other++) {
		if (other->kind != note->kind || other->source != note->source ||
		    (other->flags ^ note->flags) & LITEPULSE_FLAG_HARDWARE)
			continue;
		if (note->kind == LITEPULSE_KIND_LOST) {
			other->count += note->count;
			other->flags |= note->flags & LITEPULSE_FLAG_AT_LEAST;
		} else {
			other->count = note->count;
		}
		return;
	}
	if (WARN_ON_ONCE(reader->waiting == NOTES))
		return;
	*other = *note;
	WRITE_ONCE(reader->waiting, reader->waiting + 1);
	wake_up_interruptible_poll(&reader->wait, EPOLLIN | EPOLLRDNORM | EPOLLPRI);
}

/*
 * There is no room, or there was none, or it is a note. Apart from reader_put(), which must stay
 * short for the sake of small instruction caches.
 */
static noinline void put_specially(struct reader *reader, const struct litepulse_event *event)
{
	struct litepulse_event lost;
	unsigned int i;

	if (reader->size - queued(reader) < reader->waiting + 1) {
		if (!is_note(event)) {
			reader->stats.offered++;
			reader->stats.lost_host++;
			lost = loss_of(event);
			event = &lost;
		}
		add_note(reader, event);
		return;
	}
	for (i = 0; i < reader->waiting; i++)
		append(reader, &reader->notes[i]);
	WRITE_ONCE(reader->waiting, 0);
	append(reader, event);
	if (!is_note(event))
		reader->stats.offered++;
	if (i || is_note(event))
		WRITE_ONCE(reader->due, true);
}

/* Takes one event, under litepulse.lock. */
static void reader_put(struct litepulse_sink *sink, const struct litepulse_event *event)
{
	struct reader *reader = container_of(sink, struct reader, sink);

	if (likely(!is_note(event) && !reader->waiting && queued(reader) < reader->size)) {
		append(reader, event);
		reader->stats.offered++;
	} else {
		put_specially(reader, event);
	}
}

/* The oldest record waits for others, but not for ever. Under litepulse.lock. */
static void start_waiting(struct reader *reader)
{
	u64 timeout_us = reader->sink.want.timeout_us;

	/* Not hrtimer_active(): while it tells of an older record, a newer one needs its own. */
	if (timeout_us && !hrtimer_is_queued(&reader->timer))
		hrtimer_start(&reader->timer, ns_to_ktime(timeout_us * NSEC_PER_USEC),
			      HRTIMER_MODE_REL);
}

/* Nothing more for now, under litepulse.lock. */
static void reader_done(struct litepulse_sink *sink)
{
	struct reader *reader = container_of(sink, struct reader, sink);

	if (reader->due || queued(reader) >= max(sink->want.watermark, 1u))
		wake_up_interruptible_poll(&reader->wait, EPOLLIN | EPOLLRDNORM);
	else
		start_waiting(reader);
}

static enum hrtimer_restart reader_due(struct hrtimer *timer)
{
	struct reader *reader = container_of(timer, struct reader, timer);
	unsigned long flags;

	spin_lock_irqsave(&reader->lp->lock, flags);
	/* All may have been read meanwhile: then the next record begins to wait anew. */
	if (queued(reader))
		WRITE_ONCE(reader->due, true);
	spin_unlock_irqrestore(&reader->lp->lock, flags);
	wake_up_interruptible_poll(&reader->wait, EPOLLIN | EPOLLRDNORM);
	return HRTIMER_NORESTART;
}

/*
 * Is it worth to come: enough records, or one that has waited long enough, or a loss, or the end?
 */
static bool reader_ready(struct reader *reader)
{
	unsigned int len = queued(reader);

	return len >= max(READ_ONCE(reader->sink.want.watermark), 1u) ||
		(len && READ_ONCE(reader->due)) || READ_ONCE(reader->waiting) ||
	       READ_ONCE(reader->holding) || READ_ONCE(reader->lp->gone);
}

/*
 * After some records were taken: the first note behind the last event, if there is one, into
 * @held; and what is left waits.
 */
static void settle(struct reader *reader)
{
	spin_lock_irq(&reader->lp->lock);
	if (queued(reader)) {
		if (!reader->due && queued(reader) < reader->sink.want.watermark)
			start_waiting(reader);
	} else {
		if (!reader->holding && reader->waiting) {
			reader->held = reader->notes[0];
			WRITE_ONCE(reader->waiting, reader->waiting - 1);
			memmove(reader->notes, reader->notes + 1,
				reader->waiting * sizeof(reader->notes[0]));
			WRITE_ONCE(reader->holding, true);
		}
		hrtimer_try_to_cancel(&reader->timer);
		WRITE_ONCE(reader->due, false);
	}
	spin_unlock_irq(&reader->lp->lock);
}

/* What there is, @mutex held; @size is a multiple of an event's. Return: bytes, or -EFAULT. */
static ssize_t reader_take(struct reader *reader, char __user *buffer, size_t size)
{
	const size_t one = sizeof(reader->held);
	unsigned int out, count;
	size_t done = 0;

	do {
		if (reader->holding) {
			if (copy_to_user(buffer + done, &reader->held, one))
				return done ?: -EFAULT;
			WRITE_ONCE(reader->holding, false);
			done += one;
		}
		/* As many as lie one behind the other. */
		out = reader->out & (reader->size - 1);
		count = min3(queued(reader), reader->size - out,
			     (unsigned int)((size - done) / one));
		if (count) {
			count -= DIV_ROUND_UP(copy_to_user(buffer + done, &reader->room[out],
							   count * one), one);
			if (!count)
				return done ?: -EFAULT;
			/* queued() */
			smp_store_release(&reader->out, reader->out + count);
			done += count * one;
		}
		settle(reader);
	} while (done < size && (reader->holding || queued(reader)));
	return done;
}

static ssize_t reader_read(struct reader *reader, struct file *file, char __user *buffer,
			   size_t size)
{
	ssize_t done = 0;
	int error;

	size -= size % sizeof(struct litepulse_event);
	if (!size)
		return -EINVAL;
	/* An ioctl on this file holds it while it waits for a board on a cable. */
	if (file->f_flags & O_NONBLOCK) {
		if (!mutex_trylock(&reader->mutex))
			return -EAGAIN;
	} else if (mutex_lock_interruptible(&reader->mutex)) {
		return -ERESTARTSYS;
	}
	while (!done) {
		if (!(file->f_flags & O_NONBLOCK) && !reader_ready(reader)) {
			mutex_unlock(&reader->mutex);
			error = wait_event_interruptible(reader->wait, reader_ready(reader));
			if (error)
				return error;
			if (mutex_lock_interruptible(&reader->mutex))
				return -ERESTARTSYS;
		}
		done = reader_take(reader, buffer, size);
		if (done)
			break;
		if (READ_ONCE(reader->lp->gone))
			done = -ENODEV;
		else if (file->f_flags & O_NONBLOCK)
			done = -EAGAIN;
	}
	mutex_unlock(&reader->mutex);
	return done;
}

static __poll_t reader_poll(struct reader *reader, struct file *file, poll_table *wait)
{
	__poll_t mask = 0;

	poll_wait(file, &reader->wait, wait);
	if (reader_ready(reader))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (READ_ONCE(reader->waiting) || READ_ONCE(reader->holding))
		mask |= EPOLLPRI;
	if (READ_ONCE(reader->lp->gone))
		mask |= EPOLLHUP | EPOLLERR;
	return mask;
}

/* Memory for a FIFO of @size records, or an error. */
static struct litepulse_event *make_room(unsigned int size)
{
	struct litepulse_event *room;

	if (size < FIFO_MIN || size > FIFO_MAX || !is_power_of_2(size))
		return ERR_PTR(-EINVAL);
	room = kvmalloc_array(size, sizeof(*room), GFP_KERNEL_ACCOUNT);
	return room ?: ERR_PTR(-ENOMEM);
}

static void reader_init(struct reader *reader, struct litepulse *lp)
{
	reader->size = FIFO_DEFAULT;
	reader->sink.put = reader_put;
	reader->sink.done = reader_done;
	reader->sink.limited = true;
	mutex_init(&reader->mutex);
	init_waitqueue_head(&reader->wait);
	litepulse_hrtimer_setup(&reader->timer, reader_due, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	reader->lp = litepulse_get(lp);
}

/* Puts the reader among those of the device, and subscribes it to what its sink wants. */
static int reader_add(struct reader *reader)
{
	struct litepulse *lp = reader->lp;
	int error = litepulse_sink_add(lp, &reader->sink);

	if (error)
		return error;
	spin_lock_irq(&lp->lock);
	list_add_tail(&reader->node, &lp->readers);
	spin_unlock_irq(&lp->lock);
	return 0;
}

static void reader_remove(struct reader *reader)
{
	struct litepulse *lp = reader->lp;

	litepulse_sink_remove(lp, &reader->sink);
	spin_lock_irq(&lp->lock);
	list_del(&reader->node);
	spin_unlock_irq(&lp->lock);
}

static void reader_exit(struct reader *reader)
{
	hrtimer_cancel(&reader->timer);
	kvfree(reader->room);
	litepulse_put(reader->lp);
}

/* --- ioctls --- */

/*
 * Another FIFO instead of this one, which it becomes: @room of @size records. At most @most may
 * wait in this one. @mutex is held.
 */
static int exchange_fifo(struct reader *reader, struct litepulse_event **room, unsigned int *size,
			 unsigned int most)
{
	unsigned int i;
	int error = 0;

	spin_lock_irq(&reader->lp->lock);
	if (queued(reader) > most) {
		error = -EBUSY;
	} else {
		for (i = reader->out; i != reader->in; i++)
			(*room)[i & (*size - 1)] = *at(reader, i);
		swap(reader->room, *room);
		swap(reader->size, *size);
	}
	spin_unlock_irq(&reader->lp->lock);
	return error;
}

/* Both or neither; @mutex is held. */
static int change_want_and_fifo(struct reader *reader, const struct litepulse_subscribe *want)
{
	unsigned int size = want->fifo ?: reader->size;
	struct litepulse_event *room;
	int error;

	if (reader->room && size == reader->size)
		return litepulse_sink_change(reader->lp, &reader->sink, want);
	room = make_room(size);
	if (IS_ERR(room))
		return PTR_ERR(room);
	error = exchange_fifo(reader, &room, &size, 0);
	if (!error) {
		error = litepulse_sink_change(reader->lp, &reader->sink, want);
		/* Nothing is lost by that: should too much wait by now, the new one stays. */
		if (error && room)
			exchange_fifo(reader, &room, &size, size);
	}
	kvfree(room);
	return error;
}

/* The argument of any ioctl. It is copied from and to the program while no lock is held. */
union litepulse_argument {
	struct litepulse_info info;
	struct litepulse_subscribe subscribe;
	struct litepulse_stats stats;
	struct litepulse_time time;
	struct litepulse_status status;
	struct litepulse_claim claim;
	struct litepulse_keep keep;
	struct litepulse_profile profile;
	struct litepulse_train train;
	struct litepulse_train_adjust adjust;
	struct litepulse_train_stop stop;
	struct litepulse_responder responder;
	struct litepulse_driver_enable driver_enable;
};

static int ioctl_subscribe(struct reader *reader, union litepulse_argument *argument)
{
	const struct litepulse_subscribe *want = &argument->subscribe;
	struct litepulse *lp = reader->lp;
	const u32 channels = GENMASK(lp->inputs, 0);
	int error;

	if (want->kinds & ~KINDS || want->sources & ~SOURCES ||
	    (want->rise | want->fall | want->filtered) & ~channels || want->reserved ||
	    want->clock > LITEPULSE_CLOCK_NONE || want->timeout_us > TIMEOUT_MAX_US)
		return -EINVAL;
	if (want->filtered ?
		    !want->filter || want->filter > FIELD_MAX(LITEPULSE_CFG_FILTER_LENGTH_MASK) :
		    want->filter)
		return -EINVAL;
	if (want->clock == LITEPULSE_CLOCK_PHC && litepulse_ptp_index(lp) < 0)
		return -EOPNOTSUPP;
	/* The filter is one for all files. */
	if (want->filtered && !reader->writable)
		return -EACCES;
	if (mutex_lock_interruptible(&reader->mutex))
		return -ERESTARTSYS;
	error = want->watermark > (want->fifo ?: reader->size) ? -EINVAL :
								 change_want_and_fifo(reader, want);
	if (!error) {
		/* What waits already, and who waits for it: by the new watermark and timeout. */
		spin_lock_irq(&lp->lock);
		hrtimer_try_to_cancel(&reader->timer);
		if (queued(reader))
			reader_done(&reader->sink);
		spin_unlock_irq(&lp->lock);
	}
	mutex_unlock(&reader->mutex);
	return error;
}

static int ioctl_info(struct reader *reader, union litepulse_argument *argument)
{
	struct litepulse *lp = reader->lp;

	argument->info = (struct litepulse_info){
		.abi = LITEPULSE_ABI,
		.core = lp->version,
		.tick_num = lp->rate.num,
		.tick_den = lp->rate.den,
		.flags = lp->simulated ? LITEPULSE_INFO_SIMULATED : 0,
		.samples = lp->samples,
		.inputs = lp->inputs,
		.event_depth = lp->event_depth,
		.receive_depth = lp->receive_depth,
		.transmit_depth = lp->transmit_depth,
		.launch_depth = lp->launch_depth,
		.session = READ_ONCE(lp->session),
		.phc = litepulse_ptp_index(lp),
		.tty = lp->id,
	};
	return 0;
}

static int ioctl_stats(struct reader *reader, union litepulse_argument *argument)
{
	struct litepulse_stats *stats = &argument->stats;
	struct litepulse *lp = reader->lp;
	unsigned int count, i;

	/* Nobody reads meanwhile. */
	if (mutex_lock_interruptible(&reader->mutex))
		return -ERESTARTSYS;
	spin_lock_irq(&lp->lock);
	*stats = reader->stats;
	count = queued(reader);
	stats->lost_events = lp->events.lost;
	stats->lost_bytes = lp->bytes.lost;
	stats->restarts = lp->restarts;
	spin_unlock_irq(&lp->lock);
	for (i = 0; i < count; i++)
		stats->queued += !is_note(at(reader, reader->out + i));
	stats->delivered = stats->offered - stats->lost_host - stats->queued;
	mutex_unlock(&reader->mutex);
	return 0;
}

static int ioctl_time(struct reader *reader, union litepulse_argument *argument)
{
	return litepulse_time(reader->lp, &argument->time);
}

static int ioctl_status(struct reader *reader, union litepulse_argument *argument)
{
	struct litepulse_status *status = &argument->status;
	struct litepulse *lp = reader->lp;
	u32 word, free;
	int error;

	error = litepulse_read_csr(lp, LITEPULSE_CSR_STATUS, &word) ?:
		litepulse_read_csr(lp, LITEPULSE_CSR_FREE, &free);
	if (error)
		return error;
	if (word & LITEPULSE_CSR_STATUS_TRAIN_RUNNING_MASK)
		status->flags |= LITEPULSE_STATUS_TRAIN;
	if (word & LITEPULSE_CSR_STATUS_TRAIN_CHANGE_PENDING_MASK)
		status->flags |= LITEPULSE_STATUS_CHANGE;
	if (word & LITEPULSE_CSR_STATUS_RESPONDER_ARMED_MASK)
		status->flags |= LITEPULSE_STATUS_RESPONDER;
	if (!(word & LITEPULSE_CSR_STATUS_QUEUE_IDLE_MASK))
		status->flags |= LITEPULSE_STATUS_QUEUE;
	status->launch_free = FIELD_GET(LITEPULSE_CSR_FREE_LAUNCH_MASK, free);
	return 0;
}

/* --- ioctls of a claim: claim_mutex is held --- */

static struct litepulse_claimant *claimant_of(struct reader *reader)
{
	return &container_of(reader, struct claim_file, reader)->claimant;
}

static int ioctl_keep(struct reader *reader, union litepulse_argument *argument)
{
	if (argument->keep.flags & ~LITEPULSE_CLAIM_KEEP || argument->keep.reserved)
		return -EINVAL;
	return litepulse_set_keep(reader->lp, claimant_of(reader),
				  argument->keep.flags & LITEPULSE_CLAIM_KEEP);
}

static int ioctl_profile(struct reader *reader, union litepulse_argument *argument)
{
	return litepulse_profile_set(reader->lp, claimant_of(reader), &argument->profile);
}

static int ioctl_flush(struct reader *reader, union litepulse_argument *argument)
{
	return litepulse_flush(reader->lp, claimant_of(reader));
}

static int ioctl_train_start(struct reader *reader, union litepulse_argument *argument)
{
	return litepulse_train_start(reader->lp, claimant_of(reader), &argument->train);
}

static int ioctl_train_adjust(struct reader *reader, union litepulse_argument *argument)
{
	return litepulse_train_adjust(reader->lp, claimant_of(reader), &argument->adjust);
}

static int ioctl_train_stop(struct reader *reader, union litepulse_argument *argument)
{
	if (argument->stop.flags || argument->stop.pulses)
		return -EINVAL;
	return litepulse_train_stop(reader->lp, claimant_of(reader), &argument->stop.pulses);
}

static int ioctl_responder(struct reader *reader, union litepulse_argument *argument)
{
	return litepulse_responder_set(reader->lp, claimant_of(reader), &argument->responder);
}

static int ioctl_driver_enable(struct reader *reader, union litepulse_argument *argument)
{
	return litepulse_driver_enable_set(reader->lp, claimant_of(reader),
					   &argument->driver_enable);
}

/* --- all ioctls --- */

/**
 * struct litepulse_ioctl - one of them
 * @cmd: its number; the size in it is that of version 1, which no program may fall short of
 * @claim: of the file of a claim only
 * @run: carries it out, with gone_sem held
 */
struct litepulse_ioctl {
	unsigned int cmd;
	bool claim;
	int (*run)(struct reader *reader, union litepulse_argument *argument);
};

static const struct litepulse_ioctl litepulse_ioctls[] = {
	{ LITEPULSE_IOC_INFO, false, ioctl_info },
	{ LITEPULSE_IOC_SUBSCRIBE, false, ioctl_subscribe },
	{ LITEPULSE_IOC_STATS, false, ioctl_stats },
	{ LITEPULSE_IOC_TIME, false, ioctl_time },
	{ LITEPULSE_IOC_STATUS, false, ioctl_status },
	{ LITEPULSE_IOC_KEEP, true, ioctl_keep },
	{ LITEPULSE_IOC_PROFILE, true, ioctl_profile },
	{ LITEPULSE_IOC_FLUSH, true, ioctl_flush },
	{ LITEPULSE_IOC_TRAIN_START, true, ioctl_train_start },
	{ LITEPULSE_IOC_TRAIN_ADJUST, true, ioctl_train_adjust },
	{ LITEPULSE_IOC_TRAIN_STOP, true, ioctl_train_stop },
	{ LITEPULSE_IOC_RESPONDER, true, ioctl_responder },
	{ LITEPULSE_IOC_DRIVER_ENABLE, true, ioctl_driver_enable },
};

/* Is @cmd the ioctl @known, perhaps of a program that knows a longer argument? */
static bool is_ioctl(unsigned int cmd, unsigned int known)
{
	const unsigned int size = _IOC_SIZEMASK << _IOC_SIZESHIFT;

	return (cmd & ~size) == (known & ~size) && _IOC_SIZE(cmd) >= _IOC_SIZE(known);
}

static const struct litepulse_ioctl *find_ioctl(unsigned int cmd)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(litepulse_ioctls); i++) {
		if (is_ioctl(cmd, litepulse_ioctls[i].cmd))
			return &litepulse_ioctls[i];
	}
	return NULL;
}

/* What a program knows beyond our version of an argument must be 0. Nothing is locked. */
static int get_argument(union litepulse_argument *argument, unsigned int cmd, size_t size,
			const void __user *from)
{
	memset(argument, 0, sizeof(*argument));
	if (!(_IOC_DIR(cmd) & _IOC_WRITE))
		return 0;
	return copy_struct_from_user(argument, size, from, _IOC_SIZE(cmd));
}

static int put_argument(void __user *to, unsigned int cmd, const union litepulse_argument *argument,
			size_t size)
{
	if (!(_IOC_DIR(cmd) & _IOC_READ))
		return 0;
	if (copy_to_user(to, argument, size) || clear_user(to + size, _IOC_SIZE(cmd) - size))
		return -EFAULT;
	return 0;
}

static long run_ioctl(struct reader *reader, const struct litepulse_ioctl *known, unsigned int cmd,
		      void __user *user)
{
	const size_t size = _IOC_SIZE(known->cmd);
	struct litepulse *lp = reader->lp;
	union litepulse_argument argument;
	int error;

	error = get_argument(&argument, cmd, size, user);
	if (error)
		return error;
	error = known->claim ? litepulse_begin_command(lp) : litepulse_enter(lp);
	if (error)
		return error;
	error = known->run(reader, &argument);
	if (known->claim)
		litepulse_end_command(lp);
	else
		litepulse_leave(lp);
	return error ?: put_argument(user, cmd, &argument, size);
}

static long ioctl_claim(struct reader *reader, unsigned int cmd, void __user *user);

static long device_ioctl(struct file *file, unsigned int cmd, unsigned long argument)
{
	const struct litepulse_ioctl *known = find_ioctl(cmd);
	void __user *user = (void __user *)argument;
	struct reader *reader = file->private_data;

	if (is_ioctl(cmd, LITEPULSE_IOC_CLAIM))
		return ioctl_claim(reader, cmd, user);
	if (!known || known->claim)
		return -ENOTTY;
	return run_ioctl(reader, known, cmd, user);
}

/* --- the device's files --- */

static int device_open(struct inode *inode, struct file *file)
{
	struct litepulse_chardev *chardev =
		container_of(file->private_data, struct litepulse_chardev, misc);
	struct reader *reader;

	/* misc_open() holds the lock that misc_deregister() takes, so the device is there. */
	reader = kzalloc(sizeof(*reader), GFP_KERNEL_ACCOUNT);
	if (!reader)
		return -ENOMEM;
	reader_init(reader, chardev->lp);
	reader->writable = file->f_mode & FMODE_WRITE;
	reader_add(reader);
	file->private_data = reader;
	return stream_open(inode, file);
}

static int device_release(struct inode *inode, struct file *file)
{
	struct reader *reader = file->private_data;
	struct litepulse *lp = reader->lp;

	down_read(&lp->gone_sem);
	reader_remove(reader);
	up_read(&lp->gone_sem);
	reader_exit(reader);
	kfree(reader);
	return 0;
}

static ssize_t device_read(struct file *file, char __user *buffer, size_t size, loff_t *position)
{
	return reader_read(file->private_data, file, buffer, size);
}

static __poll_t device_poll(struct file *file, poll_table *wait)
{
	return reader_poll(file->private_data, file, wait);
}

static const struct file_operations device_fops = {
	.owner = THIS_MODULE,
	.open = device_open,
	.release = device_release,
	.read = device_read,
	.poll = device_poll,
	.unlocked_ioctl = device_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

/* --- the claim's file --- */

static long claim_ioctl(struct file *file, unsigned int cmd, unsigned long argument)
{
	const struct litepulse_ioctl *known = find_ioctl(cmd);
	struct claim_file *claim = file->private_data;

	return known ? run_ioctl(&claim->reader, known, cmd, (void __user *)argument) : -ENOTTY;
}

/*
 * May a launch be written? If the queue was full: not before the board says that it has room,
 * which it is asked to.
 */
static bool has_launch_room(struct litepulse *lp)
{
	if (READ_ONCE(lp->launch_full) && !litepulse_enter(lp)) {
		lp->ops->want(lp->context, LITEPULSE_WANT_LAUNCH, LITEPULSE_WANT_LAUNCH);
		litepulse_leave(lp);
	}
	return !READ_ONCE(lp->launch_full) || READ_ONCE(lp->gone);
}

/* Waits until the queue may have room, or a second: the board may not answer any more. */
static int wait_for_launch_room(struct claim_file *claim)
{
	struct litepulse *lp = claim->reader.lp;
	long left;

	if (has_launch_room(lp) || READ_ONCE(claim->claimant.stale))
		return 0;
	left = wait_event_interruptible_timeout(lp->launch_wait,
						!READ_ONCE(lp->launch_full) ||
						READ_ONCE(lp->gone) ||
						READ_ONCE(claim->claimant.stale), HZ);
	if (!left)
		WRITE_ONCE(lp->launch_full, false);
	return min(left, 0L);
}

static ssize_t claim_write(struct file *file, const char __user *buffer, size_t size,
			   loff_t *position)
{
	struct litepulse_launch launches[LAUNCH_BATCH];
	struct claim_file *claim = file->private_data;
	const size_t width = sizeof(*launches);
	unsigned int left = size / width, batch;
	ssize_t done = 0;
	int result;

	if (!size || size % width)
		return -EINVAL;
	while (left) {
		batch = min_t(unsigned int, left, LAUNCH_BATCH);
		if (copy_from_user(launches, buffer + done, batch * width))
			return done ?: -EFAULT;
		result = litepulse_begin_command(claim->reader.lp);
		if (result)
			return done ?: result;
		result = litepulse_launch(claim->reader.lp, &claim->claimant, launches, batch);
		litepulse_end_command(claim->reader.lp);
		if (result < 0)
			return done ?: result;
		done += result * width;
		left -= result;
		/* A long list takes its time on a cable. */
		if (result && signal_pending(current))
			return done;
		if (result == batch)
			continue;
		/* Full, or the next one is at fault, which is reported when none went before it. */
		if (result)
			continue;
		if (file->f_flags & O_NONBLOCK)
			return done ?: -EAGAIN;
		result = wait_for_launch_room(claim);
		if (result)
			return done ?: result;
	}
	return done;
}

static ssize_t claim_read(struct file *file, char __user *buffer, size_t size, loff_t *position)
{
	struct claim_file *claim = file->private_data;

	return reader_read(&claim->reader, file, buffer, size);
}

static __poll_t claim_poll(struct file *file, poll_table *wait)
{
	struct claim_file *claim = file->private_data;
	struct litepulse *lp = claim->reader.lp;
	__poll_t mask = reader_poll(&claim->reader, file, wait);

	poll_wait(file, &lp->launch_wait, wait);
	if (poll_requested_events(wait) & EPOLLOUT && has_launch_room(lp))
		mask |= EPOLLOUT | EPOLLWRNORM;
	return mask;
}

static int claim_release(struct inode *inode, struct file *file)
{
	struct claim_file *claim = file->private_data;
	struct litepulse *lp = claim->reader.lp;

	down_read(&lp->gone_sem);
	mutex_lock(&lp->claim_mutex);
	litepulse_unclaim(lp, &claim->claimant);
	mutex_unlock(&lp->claim_mutex);
	reader_remove(&claim->reader);
	up_read(&lp->gone_sem);
	reader_exit(&claim->reader);
	kfree(claim);
	return 0;
}

static const struct file_operations claim_fops = {
	.owner = THIS_MODULE,
	.release = claim_release,
	.read = claim_read,
	.write = claim_write,
	.poll = claim_poll,
	.unlocked_ioctl = claim_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

/* The file of a new claim; its release ends the claim. */
static struct file *make_claim(struct litepulse *lp, const struct litepulse_claim *request)
{
	struct claim_file *claim;
	struct file *file;
	int error;

	claim = kzalloc(sizeof(*claim), GFP_KERNEL_ACCOUNT);
	if (!claim)
		return ERR_PTR(-ENOMEM);
	reader_init(&claim->reader, lp);
	claim->reader.size = request->fifo ?: FIFO_DEFAULT;
	claim->reader.room = make_room(claim->reader.size);
	if (IS_ERR(claim->reader.room)) {
		error = PTR_ERR(claim->reader.room);
		claim->reader.room = NULL;
		goto reader;
	}
	claim->reader.writable = true;
	/* There is one at most, and readers must not keep it out. */
	claim->reader.sink.limited = false;
	/* Should it come to nothing, its end must not stop what an earlier claim kept. */
	claim->claimant.keep = true;
	claim->reader.sink.want =
		(struct litepulse_subscribe){ .kinds = OUTCOME_KINDS, .sources = OUTCOME_SOURCES };
	error = mutex_lock_killable(&lp->claim_mutex);
	if (error)
		goto reader;
	error = litepulse_claim(lp, &claim->claimant);
	mutex_unlock(&lp->claim_mutex);
	if (error)
		goto reader;
	error = reader_add(&claim->reader);
	if (error)
		goto unclaim;
	file = anon_inode_getfile("litepulse-claim", &claim_fops, claim,
				  O_RDWR | (request->fd_flags & O_NONBLOCK));
	if (!IS_ERR(file)) {
		stream_open(file_inode(file), file);
		return file;
	}
	error = PTR_ERR(file);
	reader_remove(&claim->reader);
unclaim:
	mutex_lock(&lp->claim_mutex);
	litepulse_unclaim(lp, &claim->claimant);
	mutex_unlock(&lp->claim_mutex);
reader:
	reader_exit(&claim->reader);
	kfree(claim);
	return ERR_PTR(error);
}

/* From now on the end of the claim stops what runs, unless that is to be kept. */
static int begin_claim(struct litepulse *lp, struct file *file, bool keep)
{
	struct claim_file *claim = file->private_data;
	int error = litepulse_begin_command(lp);

	if (error)
		return error;
	error = litepulse_set_keep(lp, &claim->claimant, keep);
	litepulse_end_command(lp);
	return error;
}

static long ioctl_claim(struct reader *reader, unsigned int cmd, void __user *user)
{
	const size_t size = sizeof(struct litepulse_claim);
	struct litepulse *lp = reader->lp;
	union litepulse_argument argument;
	struct file *file;
	int error;

	error = get_argument(&argument, cmd, size, user);
	if (error)
		return error;
	if (argument.claim.flags & ~LITEPULSE_CLAIM_KEEP || argument.claim.fd ||
	    argument.claim.fd_flags & ~(O_CLOEXEC | O_NONBLOCK))
		return -EINVAL;
	if (!reader->writable)
		return -EACCES;
	error = litepulse_enter(lp);
	if (error)
		return error;
	file = make_claim(lp, &argument.claim);
	litepulse_leave(lp);
	if (IS_ERR(file))
		return PTR_ERR(file);
	argument.claim.fd = get_unused_fd_flags(O_CLOEXEC);
	error = argument.claim.fd < 0 ? argument.claim.fd :
					put_argument(user, cmd, &argument, size);
	if (!error)
		error = begin_claim(lp, file, argument.claim.flags & LITEPULSE_CLAIM_KEEP);
	if (error) {
		if (argument.claim.fd >= 0)
			put_unused_fd(argument.claim.fd);
		fput(file);
		return error;
	}
	fd_install(argument.claim.fd, file);
	return 0;
}

/* --- the device --- */

/* Wakes all who read: they find what is queued, then that the device is gone. */
static void wake_readers(struct litepulse *lp)
{
	struct reader *reader;
	unsigned long flags;

	spin_lock_irqsave(&lp->lock, flags);
	list_for_each_entry(reader, &lp->readers, node)
		wake_up_interruptible_poll(&reader->wait, EPOLLIN | EPOLLHUP | EPOLLERR);
	spin_unlock_irqrestore(&lp->lock, flags);
}

/**
 * litepulse_chardev_add - makes /dev/litepulseN
 * @lp: device; all else of it works
 *
 * Return: 0 or a negative errno.
 */
int litepulse_chardev_add(struct litepulse *lp)
{
	struct litepulse_chardev *chardev = kzalloc(sizeof(*chardev), GFP_KERNEL);
	int error;

	if (!chardev)
		return -ENOMEM;
	chardev->lp = lp;
	snprintf(chardev->name, sizeof(chardev->name), "litepulse%d", lp->id);
	chardev->misc = (struct miscdevice){
		.minor = MISC_DYNAMIC_MINOR,
		.name = chardev->name,
		.fops = &device_fops,
		.parent = lp->dev,
	};
	error = misc_register(&chardev->misc);
	if (error) {
		kfree(chardev);
		return error;
	}
	lp->chardev = chardev;
	return 0;
}

/**
 * litepulse_chardev_remove - no new file is opened; those that are get -ENODEV when all was read
 * @lp: device
 */
void litepulse_chardev_remove(struct litepulse *lp)
{
	misc_deregister(&lp->chardev->misc);
	kfree(lp->chardev);
	lp->chardev = NULL;
	litepulse_set_gone(lp);
	wake_readers(lp);
}
