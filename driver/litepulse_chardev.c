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
 * @mutex: the reading side of the FIFO, and changes of it
 * @room: of the FIFO
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
	/* Each side sees what the other did to @room before it moved its index. */
	return smp_load_acquire(&reader->in) - smp_load_acquire(&reader->out);
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
		if (note->kind == LITEPULSE_KIND_LOST)
			other->count += note->count;
		else
			other->count = note->count;
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
	if (mutex_lock_interruptible(&reader->mutex))
		return -ERESTARTSYS;
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

static int reader_init(struct reader *reader, struct litepulse *lp, unsigned int fifo)
{
	struct litepulse_event *room;

	if (!fifo)
		fifo = FIFO_DEFAULT;
	if (fifo < FIFO_MIN || fifo > FIFO_MAX || !is_power_of_2(fifo))
		return -EINVAL;
	room = kvmalloc_array(fifo, sizeof(*room), GFP_KERNEL_ACCOUNT);
	if (!room)
		return -ENOMEM;
	reader->room = room;
	reader->size = fifo;
	reader->sink.put = reader_put;
	reader->sink.done = reader_done;
	mutex_init(&reader->mutex);
	init_waitqueue_head(&reader->wait);
	litepulse_hrtimer_setup(&reader->timer, reader_due, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	reader->lp = litepulse_get(lp);
	return 0;
}

static void reader_exit(struct reader *reader)
{
	hrtimer_cancel(&reader->timer);
	kvfree(reader->room);
	litepulse_put(reader->lp);
}

/* --- ioctls --- */

/* An argument of a program that may know a shorter or a longer one; the size is in the number. */
static int get_argument(void *to, size_t size, unsigned int cmd, const void __user *from)
{
	return copy_struct_from_user(to, size, from, _IOC_SIZE(cmd));
}

static int put_argument(void __user *to, unsigned int cmd, const void *from, size_t size)
{
	size_t room = _IOC_SIZE(cmd);

	if (copy_to_user(to, from, min(room, size)))
		return -EFAULT;
	if (room > size && clear_user(to + size, room - size))
		return -EFAULT;
	return 0;
}

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
	struct litepulse_event *room;
	unsigned int size = want->fifo;
	int error;

	if (!size || size == reader->size)
		return litepulse_sink_change(reader->lp, &reader->sink, want);
	if (size < FIFO_MIN || size > FIFO_MAX || !is_power_of_2(size))
		return -EINVAL;
	room = kvmalloc_array(size, sizeof(*room), GFP_KERNEL_ACCOUNT);
	if (!room)
		return -ENOMEM;
	error = exchange_fifo(reader, &room, &size, 0);
	if (!error) {
		error = litepulse_sink_change(reader->lp, &reader->sink, want);
		/* Nothing is lost by that: should too much wait by now, the new one stays. */
		if (error)
			exchange_fifo(reader, &room, &size, size);
	}
	kvfree(room);
	return error;
}

static int ioctl_subscribe(struct reader *reader, unsigned int cmd, void __user *argument)
{
	struct litepulse *lp = reader->lp;
	const u32 channels = GENMASK(lp->inputs, 0);
	struct litepulse_subscribe want;
	int error;

	error = get_argument(&want, sizeof(want), cmd, argument);
	if (error)
		return error;
	if (want.kinds & ~KINDS || want.sources & ~SOURCES ||
	    (want.rise | want.fall | want.filtered) & ~channels || want.reserved ||
	    want.clock > LITEPULSE_CLOCK_NONE || want.timeout_us > TIMEOUT_MAX_US)
		return -EINVAL;
	if (want.filtered ?
		    !want.filter || want.filter > FIELD_MAX(LITEPULSE_CFG_FILTER_LENGTH_MASK) :
		    want.filter)
		return -EINVAL;
	if (want.clock == LITEPULSE_CLOCK_PHC && litepulse_ptp_index(lp) < 0)
		return -EOPNOTSUPP;
	mutex_lock(&reader->mutex);
	if (want.watermark > (want.fifo ?: reader->size))
		error = -EINVAL;
	if (!error)
		error = change_want_and_fifo(reader, &want);
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

static int ioctl_info(struct litepulse *lp, unsigned int cmd, void __user *argument)
{
	struct litepulse_info info = {
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

	return put_argument(argument, cmd, &info, sizeof(info));
}

static int ioctl_stats(struct reader *reader, unsigned int cmd, void __user *argument)
{
	struct litepulse *lp = reader->lp;
	struct litepulse_stats stats;
	unsigned int count, i;

	/* Nobody reads meanwhile. */
	if (mutex_lock_interruptible(&reader->mutex))
		return -ERESTARTSYS;
	spin_lock_irq(&lp->lock);
	stats = reader->stats;
	count = queued(reader);
	stats.lost_events = lp->events.lost;
	stats.lost_bytes = lp->bytes.lost;
	stats.restarts = lp->restarts;
	spin_unlock_irq(&lp->lock);
	for (i = 0; i < count; i++)
		stats.queued += !is_note(at(reader, reader->out + i));
	stats.delivered = stats.offered - stats.lost_host - stats.queued;
	mutex_unlock(&reader->mutex);
	return put_argument(argument, cmd, &stats, sizeof(stats));
}

static int ioctl_time(struct litepulse *lp, unsigned int cmd, void __user *argument)
{
	struct litepulse_time time;

	return litepulse_time(lp, &time) ?: put_argument(argument, cmd, &time, sizeof(time));
}

static int ioctl_status(struct litepulse *lp, unsigned int cmd, void __user *argument)
{
	struct litepulse_status status = {};
	u32 word, free;
	int error;

	error = litepulse_read_csr(lp, LITEPULSE_CSR_STATUS, &word) ?:
		litepulse_read_csr(lp, LITEPULSE_CSR_FREE, &free);
	if (error)
		return error;
	if (word & LITEPULSE_CSR_STATUS_TRAIN_RUNNING_MASK)
		status.flags |= LITEPULSE_STATUS_TRAIN;
	if (word & LITEPULSE_CSR_STATUS_TRAIN_CHANGE_PENDING_MASK)
		status.flags |= LITEPULSE_STATUS_CHANGE;
	if (word & LITEPULSE_CSR_STATUS_RESPONDER_ARMED_MASK)
		status.flags |= LITEPULSE_STATUS_RESPONDER;
	if (!(word & LITEPULSE_CSR_STATUS_QUEUE_IDLE_MASK))
		status.flags |= LITEPULSE_STATUS_QUEUE;
	status.launch_free = FIELD_GET(LITEPULSE_CSR_FREE_LAUNCH_MASK, free);
	return put_argument(argument, cmd, &status, sizeof(status));
}

static int ioctl_claim(struct litepulse *lp, unsigned int cmd, void __user *argument);

/* What any file may ask; -ENOTTY if that is none of it. */
static int reader_ioctl(struct reader *reader, unsigned int cmd, void __user *argument)
{
	struct litepulse *lp = reader->lp;

	switch (_IOC_NR(cmd)) {
	case _IOC_NR(LITEPULSE_IOC_INFO):
		return ioctl_info(lp, cmd, argument);
	case _IOC_NR(LITEPULSE_IOC_SUBSCRIBE):
		return ioctl_subscribe(reader, cmd, argument);
	case _IOC_NR(LITEPULSE_IOC_STATS):
		return ioctl_stats(reader, cmd, argument);
	case _IOC_NR(LITEPULSE_IOC_TIME):
		return ioctl_time(lp, cmd, argument);
	case _IOC_NR(LITEPULSE_IOC_STATUS):
		return ioctl_status(lp, cmd, argument);
	default:
		return -ENOTTY;
	}
}

/* Direction and magic of a number must be as defined; the size may differ. */
static bool known_number(unsigned int cmd)
{
	static const u8 directions[] = {
		[_IOC_NR(LITEPULSE_IOC_INFO)] = _IOC_DIR(LITEPULSE_IOC_INFO),
		[_IOC_NR(LITEPULSE_IOC_SUBSCRIBE)] = _IOC_DIR(LITEPULSE_IOC_SUBSCRIBE),
		[_IOC_NR(LITEPULSE_IOC_STATS)] = _IOC_DIR(LITEPULSE_IOC_STATS),
		[_IOC_NR(LITEPULSE_IOC_TIME)] = _IOC_DIR(LITEPULSE_IOC_TIME),
		[_IOC_NR(LITEPULSE_IOC_STATUS)] = _IOC_DIR(LITEPULSE_IOC_STATUS),
		[_IOC_NR(LITEPULSE_IOC_CLAIM)] = _IOC_DIR(LITEPULSE_IOC_CLAIM),
		[_IOC_NR(LITEPULSE_IOC_KEEP)] = _IOC_DIR(LITEPULSE_IOC_KEEP),
		[_IOC_NR(LITEPULSE_IOC_PROFILE)] = _IOC_DIR(LITEPULSE_IOC_PROFILE),
		[_IOC_NR(LITEPULSE_IOC_FLUSH)] = _IOC_DIR(LITEPULSE_IOC_FLUSH),
		[_IOC_NR(LITEPULSE_IOC_TRAIN_START)] = _IOC_DIR(LITEPULSE_IOC_TRAIN_START),
		[_IOC_NR(LITEPULSE_IOC_TRAIN_ADJUST)] = _IOC_DIR(LITEPULSE_IOC_TRAIN_ADJUST),
		[_IOC_NR(LITEPULSE_IOC_TRAIN_STOP)] = _IOC_DIR(LITEPULSE_IOC_TRAIN_STOP),
		[_IOC_NR(LITEPULSE_IOC_RESPONDER)] = _IOC_DIR(LITEPULSE_IOC_RESPONDER),
	};

	return _IOC_TYPE(cmd) == LITEPULSE_IOC_MAGIC && _IOC_NR(cmd) < ARRAY_SIZE(directions) &&
		_IOC_DIR(cmd) == directions[_IOC_NR(cmd)] && (!_IOC_DIR(cmd) || _IOC_SIZE(cmd));
}

static long device_ioctl(struct file *file, unsigned int cmd, unsigned long argument)
{
	struct reader *reader = file->private_data;
	struct litepulse *lp = reader->lp;
	long result = -ENODEV;

	if (!known_number(cmd))
		return -ENOTTY;
	down_read(&lp->gone_sem);
	if (!lp->gone) {
		if (_IOC_NR(cmd) == _IOC_NR(LITEPULSE_IOC_CLAIM))
			result = ioctl_claim(lp, cmd, (void __user *)argument);
		else
			result = reader_ioctl(reader, cmd, (void __user *)argument);
	}
	up_read(&lp->gone_sem);
	return result;
}

/* --- the device's files --- */

static int device_open(struct inode *inode, struct file *file)
{
	struct litepulse_chardev *chardev =
		container_of(file->private_data, struct litepulse_chardev, misc);
	struct reader *reader;
	int error;

	/* misc_open() holds the lock that misc_deregister() takes, so the device is there. */
	reader = kzalloc(sizeof(*reader), GFP_KERNEL_ACCOUNT);
	if (!reader)
		return -ENOMEM;
	error = reader_init(reader, chardev->lp, 0);
	if (error) {
		kfree(reader);
		return error;
	}
	litepulse_sink_add(chardev->lp, &reader->sink);
	file->private_data = reader;
	return stream_open(inode, file);
}

static int device_release(struct inode *inode, struct file *file)
{
	struct reader *reader = file->private_data;
	struct litepulse *lp = reader->lp;

	down_read(&lp->gone_sem);
	litepulse_sink_remove(lp, &reader->sink);
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

/* Returns with the device there and the claim's commands ours, or -ENODEV. */
static int claim_enter(struct claim_file *claim)
{
	struct litepulse *lp = claim->reader.lp;

	down_read(&lp->gone_sem);
	if (lp->gone) {
		up_read(&lp->gone_sem);
		return -ENODEV;
	}
	mutex_lock(&lp->claim_mutex);
	return 0;
}

static void claim_leave(struct claim_file *claim)
{
	struct litepulse *lp = claim->reader.lp;

	mutex_unlock(&lp->claim_mutex);
	up_read(&lp->gone_sem);
}

static int claim_command(struct claim_file *claim, unsigned int cmd, void __user *argument)
{
	struct litepulse_claimant *claimant = &claim->claimant;
	struct litepulse *lp = claim->reader.lp;
	union {
		struct litepulse_keep keep;
		struct litepulse_profile profile;
		struct litepulse_train train;
		struct litepulse_train_adjust adjust;
		struct litepulse_train_stop stop;
		struct litepulse_responder responder;
	} u;
	int error;

	switch (_IOC_NR(cmd)) {
	case _IOC_NR(LITEPULSE_IOC_KEEP):
		error = get_argument(&u.keep, sizeof(u.keep), cmd, argument);
		if (!error && (u.keep.flags & ~LITEPULSE_CLAIM_KEEP || u.keep.reserved))
			error = -EINVAL;
		if (!error)
			claimant->keep = u.keep.flags & LITEPULSE_CLAIM_KEEP;
		return error;
	case _IOC_NR(LITEPULSE_IOC_PROFILE):
		return get_argument(&u.profile, sizeof(u.profile), cmd, argument) ?:
			litepulse_profile_set(lp, claimant, &u.profile)		  ?:
			put_argument(argument, cmd, &u.profile, sizeof(u.profile));
	case _IOC_NR(LITEPULSE_IOC_FLUSH):
		return litepulse_flush(lp, claimant);
	case _IOC_NR(LITEPULSE_IOC_TRAIN_START):
		return get_argument(&u.train, sizeof(u.train), cmd, argument) ?:
			litepulse_train_start(lp, claimant, &u.train);
	case _IOC_NR(LITEPULSE_IOC_TRAIN_ADJUST):
		return get_argument(&u.adjust, sizeof(u.adjust), cmd, argument) ?:
			litepulse_train_adjust(lp, claimant, &u.adjust);
	case _IOC_NR(LITEPULSE_IOC_TRAIN_STOP):
		error = get_argument(&u.stop, sizeof(u.stop), cmd, argument);
		if (!error && (u.stop.flags || u.stop.pulses))
			error = -EINVAL;
		return error						   ?:
			litepulse_train_stop(lp, claimant, &u.stop.pulses) ?:
			put_argument(argument, cmd, &u.stop, sizeof(u.stop));
	case _IOC_NR(LITEPULSE_IOC_RESPONDER):
		return get_argument(&u.responder, sizeof(u.responder), cmd, argument) ?:
			litepulse_responder_set(lp, claimant, &u.responder);
	default:
		return -ENOTTY;
	}
}

static long claim_ioctl(struct file *file, unsigned int cmd, unsigned long argument)
{
	struct claim_file *claim = file->private_data;
	long result;

	if (!known_number(cmd))
		return -ENOTTY;
	result = claim_enter(claim);
	if (result)
		return result;
	result = claim_command(claim, cmd, (void __user *)argument);
	claim_leave(claim);
	if (result != -ENOTTY)
		return result;
	down_read(&claim->reader.lp->gone_sem);
	result = claim->reader.lp->gone ?
		-ENODEV :
		reader_ioctl(&claim->reader, cmd, (void __user *)argument);
	up_read(&claim->reader.lp->gone_sem);
	return result;
}

static bool launch_space(struct litepulse *lp)
{
	u32 free = 0;

	/* An error is for the next call to tell. */
	return READ_ONCE(lp->gone) || litepulse_read_csr(lp, LITEPULSE_CSR_FREE, &free) ||
		free & LITEPULSE_CSR_FREE_LAUNCH_MASK;
}

/* Waits until the queue has room. */
static int wait_for_space(struct claim_file *claim)
{
	struct litepulse *lp = claim->reader.lp;
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	int error = 0;

	add_wait_queue(&lp->launch_wait, &wait);
	for (;;) {
		bool room;

		down_read(&lp->gone_sem);
		if (!lp->gone)
			lp->ops->want(lp->context, LITEPULSE_WANT_LAUNCH, LITEPULSE_WANT_LAUNCH);
		room = launch_space(lp) || claim->claimant.stale;
		up_read(&lp->gone_sem);
		if (room)
			break;
		if (signal_pending(current)) {
			error = -ERESTARTSYS;
			break;
		}
		wait_woken(&wait, TASK_INTERRUPTIBLE, HZ);
	}
	remove_wait_queue(&lp->launch_wait, &wait);
	return error;
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
		result = claim_enter(claim);
		if (result)
			return done ?: result;
		result = litepulse_launch(claim->reader.lp, &claim->claimant, launches, batch);
		claim_leave(claim);
		if (result < 0)
			return done ?: result;
		done += result * width;
		left -= result;
		if (result == batch)
			continue;
		/*
		 * Full, or the next one is at fault: the latter is told when nothing went before
		 * it.
		 */
		if (result)
			continue;
		if (file->f_flags & O_NONBLOCK)
			return done ?: -EAGAIN;
		result = wait_for_space(claim);
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
	down_read(&lp->gone_sem);
	if (!lp->gone && poll_requested_events(wait) & EPOLLOUT) {
		lp->ops->want(lp->context, LITEPULSE_WANT_LAUNCH, LITEPULSE_WANT_LAUNCH);
		if (launch_space(lp))
			mask |= EPOLLOUT | EPOLLWRNORM;
	}
	up_read(&lp->gone_sem);
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
	litepulse_sink_remove(lp, &claim->reader.sink);
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

static int ioctl_claim(struct litepulse *lp, unsigned int cmd, void __user *argument)
{
	struct litepulse_claim request;
	struct claim_file *claim;
	struct file *file;
	int error, fd;

	error = get_argument(&request, sizeof(request), cmd, argument);
	if (error)
		return error;
	if (request.flags & ~LITEPULSE_CLAIM_KEEP || request.fd_flags & ~(O_CLOEXEC | O_NONBLOCK) ||
	    request.fd)
		return -EINVAL;
	claim = kzalloc(sizeof(*claim), GFP_KERNEL_ACCOUNT);
	if (!claim)
		return -ENOMEM;
	error = reader_init(&claim->reader, lp, request.fifo);
	if (error) {
		kfree(claim);
		return error;
	}
	/* Should it come to nothing, its end must not stop what an earlier claim kept. */
	claim->claimant.keep = true;
	claim->reader.sink.want =
		(struct litepulse_subscribe){ .kinds = OUTCOME_KINDS, .sources = OUTCOME_SOURCES };
	mutex_lock(&lp->claim_mutex);
	error = litepulse_claim(lp, &claim->claimant);
	mutex_unlock(&lp->claim_mutex);
	if (error)
		goto free;
	error = litepulse_sink_add(lp, &claim->reader.sink);
	if (error)
		goto unclaim;
	fd = get_unused_fd_flags(request.fd_flags & O_CLOEXEC);
	if (fd < 0) {
		error = fd;
		goto sink;
	}
	file = anon_inode_getfile("litepulse-claim", &claim_fops, claim,
				  O_RDWR | (request.fd_flags & O_NONBLOCK));
	if (IS_ERR(file)) {
		error = PTR_ERR(file);
		put_unused_fd(fd);
		goto sink;
	}
	stream_open(file_inode(file), file);
	request.fd = fd;
	error = put_argument(argument, cmd, &request, sizeof(request));
	if (error) {
		put_unused_fd(fd);
		/*
		 * Its release gives up the claim, and must not wait for the reader-writer
		 * semaphore its caller holds: it does not, as closing is put off until the return
		 * to user space.
		 */
		fput(file);
		return error;
	}
	claim->claimant.keep = request.flags & LITEPULSE_CLAIM_KEEP;
	fd_install(fd, file);
	return 0;

sink:
	litepulse_sink_remove(lp, &claim->reader.sink);
unclaim:
	mutex_lock(&lp->claim_mutex);
	litepulse_unclaim(lp, &claim->claimant);
	mutex_unlock(&lp->claim_mutex);
free:
	reader_exit(&claim->reader);
	kfree(claim);
	return error;
}

/* --- the device --- */

/* Wakes all who read: they find what is queued, then that the device is gone. */
static void wake_readers(struct litepulse *lp)
{
	struct litepulse_sink *sink;
	unsigned long flags;

	spin_lock_irqsave(&lp->lock, flags);
	list_for_each_entry(sink, &lp->sinks, node) {
		if (sink->put == reader_put)
			wake_up_interruptible_poll(&container_of(sink, struct reader, sink)->wait,
						   EPOLLIN | EPOLLHUP | EPOLLERR);
	}
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
	down_write(&lp->gone_sem);
	WRITE_ONCE(lp->gone, true);
	up_write(&lp->gone_sem);
	wake_readers(lp);
}
