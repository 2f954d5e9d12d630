// SPDX-License-Identifier: GPL-2.0-only
/*
 * Readers: files that get events
 *
 * Every open file of a device, and every claim, is a reader: it has its own subscription, its own
 * FIFO and its own account of what it lost. The newest record is dropped when the FIFO is full, so
 * what was read is always without a gap up to a LOST record. That one comes as soon as there is
 * room again, or as the last one when all before it was read. What the driver itself reports (LOST,
 * RESTARTED) is a note: it takes no part in the numbers of LITEPULSE_IOC_STATS, and none is lost.
 *
 * The FIFO is a kfifo with one writer (the sink, under litepulse.feed.lock) and one reader (under
 * litepulse_reader.mutex). Its length is read under litepulse.feed.lock: that orders what was put
 * before what is read, which kfifo leaves to the processor. Its indices are data races by design.
 */
#include <linux/bitfield.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "litepulse_compat.h"
#include "litepulse_ptp.h"
#include "litepulse_reader.h"

#define FIFO_DEFAULT   1024
#define FIFO_MIN       16
#define FIFO_MAX       65536
#define TIMEOUT_MAX_US USEC_PER_SEC
/* FIFOs and rings of all files together; also at most an eighth of the machine's memory. */
#define MEMORY_MAX     SZ_64M
/* Events for which memory of the program is fetched at once. */
#define FETCH_EVENTS   1024

#define KINDS                                                                              \
	(BIT(LITEPULSE_KIND_TX) | BIT(LITEPULSE_KIND_EDGE) | BIT(LITEPULSE_KIND_REFUSED) | \
	 BIT(LITEPULSE_KIND_APPLIED) | BIT(LITEPULSE_KIND_TRAIN_DONE) |                    \
	 BIT(LITEPULSE_KIND_RESPONDER_MISSED) | BIT(LITEPULSE_KIND_RX))
#define SOURCES GENMASK(LITEPULSE_SRC_RECEIVER, LITEPULSE_SRC_QUEUE)

/* --- the FIFO --- */

static bool litepulse_reader_is_note(u8 kind)
{
	return kind >= LITEPULSE_KIND_LOST;
}

/* Under litepulse.feed.lock. */
static unsigned int litepulse_reader_queued(struct litepulse_reader *reader)
{
	if (reader->ring)
		return litepulse_ring_queued(reader->ring);
	/* Events may be taken out meanwhile; none is put in. */
	return data_race(kfifo_len(&reader->fifo.events));
}

static unsigned int litepulse_reader_size(struct litepulse_reader *reader)
{
	if (reader->ring)
		return reader->ring->size;
	return kfifo_initialized(&reader->fifo.events) ? kfifo_size(&reader->fifo.events) :
							 FIFO_DEFAULT;
}

/* The event behind @index others. kfifo_peek() would copy it, and finds only the first. */
static const struct litepulse_event *litepulse_reader_at(struct litepulse_reader *reader,
							 unsigned int index)
{
	const struct __kfifo *fifo = &reader->fifo.events.kfifo;
	const struct litepulse_event *events = fifo->data;

	/* An event that is taken out meanwhile may be looked at all the same. */
	return &events[data_race(fifo->out + index) & fifo->mask];
}

static void litepulse_reader_append(struct litepulse_reader *reader,
				    const struct litepulse_event *event)
{
	if (reader->ring) {
		u64 data = litepulse_reader_is_note(event->kind) ? event->count : event->data;

		litepulse_ring_put(reader->ring, event->tick, min_t(u64, data, U32_MAX),
				   data > U32_MAX ? event->flags | LITEPULSE_FLAG_AT_LEAST :
						    event->flags,
				   event->kind, event->source);
		return;
	}
	/* Events may be taken out meanwhile. */
	data_race(kfifo_put(&reader->fifo.events, *event));
}

/* A note for which there is no room: added to the one of its sort, if there is one. */
static void litepulse_reader_add_note(struct litepulse_reader *reader,
				      const struct litepulse_event *note)
{
	struct litepulse_event *other;

	for (other = reader->notes; other < reader->notes + reader->waiting; other++) {
		if (other->kind != note->kind || other->source != note->source ||
		    (other->flags ^ note->flags) & LITEPULSE_FLAG_HARDWARE)
			continue;
		if (note->kind == LITEPULSE_KIND_LOST) {
			other->count += note->count;
			other->flags |= note->flags & LITEPULSE_FLAG_AT_LEAST;
		} else if (note->flags & LITEPULSE_RESTARTED_WATCHDOG) {
			other->count = note->count;
		} else {
			/* A reset outweighs the watchdog, and ticks count from the latest. */
			*other = *note;
		}
		return;
	}
	if (WARN_ON_ONCE(reader->waiting == LITEPULSE_READER_NOTES))
		return;
	*other = *note;
	reader->waiting++;
	wake_up_interruptible_poll(&reader->wait, EPOLLIN | EPOLLRDNORM | EPOLLPRI);
}

/* How many the program has taken, modulo 2^32. Of a FIFO that does not matter. */
static u32 litepulse_reader_taken(struct litepulse_reader *reader)
{
	return reader->ring ? reader->ring->head - litepulse_ring_queued(reader->ring) : 0;
}

/* The oldest @count of those that are queued wait for no more. */
static void litepulse_reader_set_due(struct litepulse_reader *reader, unsigned int count)
{
	reader->due = true;
	reader->due_until = litepulse_reader_taken(reader) + count;
}

/* A FIFO's reader ends it when it is empty; the driver does not see how a ring is emptied. */
static bool litepulse_reader_is_due(struct litepulse_reader *reader)
{
	if (reader->due && reader->ring)
		reader->due = (s32)(reader->due_until - litepulse_reader_taken(reader)) > 0;
	return reader->due;
}

/* The notes that wait, for which there is room. Return: whether there was any. */
static bool litepulse_reader_append_notes(struct litepulse_reader *reader)
{
	bool any = reader->waiting;
	unsigned int i;

	lockdep_assert_held(&reader->lp->feed.lock);
	for (i = 0; i < reader->waiting; i++)
		litepulse_reader_append(reader, &reader->notes[i]);
	reader->waiting = 0;
	return any;
}

/*
 * There is no room, or there was none, or it is a note. Apart from litepulse_reader_put(), which
 * must stay short for the sake of small instruction caches.
 */
static noinline void litepulse_reader_put_specially(struct litepulse_reader *reader,
						    const struct litepulse_record *record,
						    u32 data, const struct litepulse_stamp *stamp)
{
	const bool is_note = litepulse_reader_is_note(record->kind);
	struct litepulse_event own = litepulse_sink_event(record, data, stamp);
	bool noted;

	lockdep_assert_held(&reader->lp->feed.lock);
	if (!is_note)
		reader->stats.offered++;
	if (litepulse_reader_size(reader) - litepulse_reader_queued(reader) < reader->waiting + 1) {
		if (!is_note) {
			reader->stats.lost_host++;
			own.count = 1;
			own.data = 0;
			own.flags &= LITEPULSE_FLAG_NS;
			own.kind = LITEPULSE_KIND_LOST;
			own.source = record->kind == LITEPULSE_KIND_RX ? LITEPULSE_SRC_RECEIVER :
									LITEPULSE_SRC_CONTROL;
		}
		litepulse_reader_add_note(reader, &own);
		return;
	}
	noted = litepulse_reader_append_notes(reader);
	litepulse_reader_append(reader, &own);
	if (noted || is_note)
		litepulse_reader_set_due(reader, litepulse_reader_queued(reader));
}

/* Takes one event, under litepulse.feed.lock. */
static void litepulse_reader_put(struct litepulse_sink *sink, const struct litepulse_record *record,
				 u32 data, const struct litepulse_stamp *stamp)
{
	struct litepulse_reader *reader = container_of(sink, struct litepulse_reader, sink);
	struct litepulse_reader_fifo *fifo = &reader->fifo;
	bool put = false;

	if (likely(!litepulse_reader_is_note(record->kind) && !reader->waiting)) {
		if (reader->ring) {
			put = litepulse_ring_queued(reader->ring) < reader->ring->size;
			if (put)
				litepulse_ring_put(reader->ring, record->tick, data, record->flags,
						   record->kind, record->source);
		} else {
			/* Events may be taken out meanwhile. */
			put = data_race(kfifo_put(&fifo->events,
						  litepulse_sink_event(record, data, stamp)));
		}
	}
	if (likely(put))
		reader->stats.offered++;
	else
		litepulse_reader_put_specially(reader, record, data, stamp);
}

static void litepulse_reader_write_plain(void *at, u32 index, u64 tick, u64 seq, u32 data, u32 info)
{
	struct litepulse_event *events = at;

	events[index] = (struct litepulse_event){
		.tick = tick,
		.seq = seq,
		.data = data,
		.flags = litepulse_record_flags(info),
		.kind = litepulse_record_kind(info),
		.source = litepulse_record_source(info),
	};
}

/* Takes plain records; under litepulse.feed.lock. */
static unsigned int litepulse_reader_take_plain(struct litepulse_sink *sink,
						struct litepulse_sequence *sequence,
						const u32 *words, unsigned int count)
{
	struct litepulse_reader *reader = container_of(sink, struct litepulse_reader, sink);
	struct __kfifo *fifo = &reader->fifo.events.kfifo;
	const u64 since = sink->since[LITEPULSE_EVENTS];
	unsigned int put, taken;

	if (reader->waiting)
		return 0;
	if (reader->ring) {
		taken = litepulse_ring_take(reader->ring, &sink->selector, since, sequence, words,
					    count, &put);
	} else {
		const struct litepulse_record_places places = { fifo->data, fifo->in, fifo->mask };
		/* Events may be taken out meanwhile. */
		const unsigned int room = data_race(kfifo_avail(&reader->fifo.events));

		taken = litepulse_record_take_plain(sequence, &sink->selector, since, words, count,
						    room, litepulse_reader_write_plain, places,
						    &put);
		/* As kfifo_put() does it, but once for all. */
		smp_wmb();
		/* The reader may look at it meanwhile. */
		data_race(fifo->in += put);
	}
	reader->stats.offered += put;
	sink->got |= put;
	return taken;
}

/* The same of received bytes, of a reader that has a ring. */
static unsigned int litepulse_reader_take_bytes(struct litepulse_sink *sink,
						struct litepulse_sequence *sequence,
						const u32 *words, unsigned int count)
{
	struct litepulse_reader *reader = container_of(sink, struct litepulse_reader, sink);
	unsigned int taken;

	/* Of a byte that may be older the tick counts. */
	if (reader->waiting || sequence->since || sink->since[LITEPULSE_BYTES])
		return 0;
	if (reader->ring->packed)
		taken = litepulse_ring_take_run(reader->ring, sequence, words, count);
	else
		taken = litepulse_ring_take_bytes(reader->ring, sequence, words, count);
	reader->stats.offered += taken;
	sink->got |= taken;
	return taken;
}

/*
 * The oldest record waits for others, but not longer than the timeout: counted from its tick, as
 * the board may have held it back for as long as that. Under litepulse.feed.lock.
 */
static void litepulse_reader_start_waiting(struct litepulse_reader *reader)
{
	struct litepulse *lp = reader->lp;
	u64 timeout = reader->sink.want.timeout_us * (u64)NSEC_PER_USEC, waited = 0;
	u64 now = max(lp->feed.events.tick, lp->feed.bytes.tick), since;

	lockdep_assert_held(&reader->lp->feed.lock);
	/* Not hrtimer_active(): while it runs for an older record, a newer one needs its own. */
	if (!timeout || hrtimer_is_queued(&reader->timer))
		return;
	since = reader->ring ? litepulse_ring_oldest(reader->ring) :
			       litepulse_reader_at(reader, 0)->tick;
	if (since < now)
		waited = litepulse_ticks_to_ns_fast(&lp->rate, now - since);
	waited += ktime_get_ns() - reader->came_at;
	if (waited < timeout) {
		reader->timer_for = litepulse_reader_taken(reader);
		hrtimer_start(&reader->timer, ns_to_ktime(timeout - waited), HRTIMER_MODE_REL);
	} else {
		litepulse_reader_set_due(reader, 1);
		wake_up_interruptible_poll(&reader->wait, EPOLLIN | EPOLLRDNORM);
	}
}

/* Wakes who waits if there is enough, else the oldest waits; under litepulse.feed.lock. */
static void litepulse_reader_wake(struct litepulse_reader *reader)
{
	lockdep_assert_held(&reader->lp->feed.lock);
	if (litepulse_reader_is_due(reader) ||
	    litepulse_reader_queued(reader) >= max(reader->sink.want.watermark, 1u))
		wake_up_interruptible_poll(&reader->wait, EPOLLIN | EPOLLRDNORM);
	else
		litepulse_reader_start_waiting(reader);
}

/* Nothing more for now, under litepulse.feed.lock. */
static void litepulse_reader_done(struct litepulse_sink *sink)
{
	struct litepulse_reader *reader = container_of(sink, struct litepulse_reader, sink);

	if (sink->want.timeout_us)
		reader->came_at = ktime_get_ns();
	litepulse_reader_wake(reader);
}

static enum hrtimer_restart litepulse_reader_timeout(struct hrtimer *timer)
{
	struct litepulse_reader *reader = container_of(timer, struct litepulse_reader, timer);
	unsigned long flags;

	spin_lock_irqsave(&reader->lp->feed.lock, flags);
	/* All may have been read meanwhile: then the next record begins to wait again. */
	if (litepulse_reader_queued(reader)) {
		/* Of a ring it may be another one that is the oldest now. */
		if (reader->timer_for == litepulse_reader_taken(reader))
			litepulse_reader_set_due(reader, 1);
		litepulse_reader_wake(reader);
	}
	spin_unlock_irqrestore(&reader->lp->feed.lock, flags);
	return HRTIMER_NORESTART;
}

/* --- read and poll --- */

/* A loss while a ring was full is added when there is room; under litepulse.feed.lock. */
static void litepulse_reader_report_notes(struct litepulse_reader *reader)
{
	if (!reader->waiting ||
	    litepulse_reader_size(reader) - litepulse_reader_queued(reader) < reader->waiting)
		return;
	litepulse_reader_append_notes(reader);
	litepulse_reader_set_due(reader, litepulse_reader_queued(reader));
}

/* The result of poll(), except the room to write. */
static __poll_t litepulse_reader_events(struct litepulse_reader *reader)
{
	struct litepulse *lp = reader->lp;
	__poll_t mask = 0;
	unsigned int len;

	spin_lock_irq(&lp->feed.lock);
	if (reader->ring)
		litepulse_reader_report_notes(reader);
	len = litepulse_reader_queued(reader);
	if (len >= max(reader->sink.want.watermark, 1u) || (len && litepulse_reader_is_due(reader)))
		mask |= EPOLLIN | EPOLLRDNORM;
	else if (len && reader->ring)
		litepulse_reader_start_waiting(reader);
	if (reader->waiting || reader->holding)
		mask |= EPOLLIN | EPOLLRDNORM | EPOLLPRI;
	spin_unlock_irq(&lp->feed.lock);
	if (READ_ONCE(lp->gone))
		mask |= EPOLLIN | EPOLLRDNORM | EPOLLHUP | EPOLLERR;
	return mask;
}

/*
 * After some records were taken: the first note behind the last event, if there is one, goes into
 * @held; and what is left waits. Return: whether anything is left.
 */
static bool litepulse_reader_settle(struct litepulse_reader *reader)
{
	bool left;

	spin_lock_irq(&reader->lp->feed.lock);
	left = litepulse_reader_queued(reader);
	if (left) {
		if (!reader->due && litepulse_reader_queued(reader) < reader->sink.want.watermark)
			litepulse_reader_start_waiting(reader);
	} else {
		if (!reader->holding && reader->waiting) {
			reader->held = reader->notes[0];
			reader->waiting--;
			memmove(reader->notes, reader->notes + 1,
				reader->waiting * sizeof(reader->notes[0]));
			reader->holding = true;
		}
		left = reader->holding;
		hrtimer_try_to_cancel(&reader->timer);
		reader->due = false;
	}
	spin_unlock_irq(&reader->lp->feed.lock);
	return left;
}

/*
 * Reads what there is, @mutex held; @size is a multiple of an event's. Return: bytes; @error is
 * -EFAULT if more is left but the program's memory has to be fetched first: others may wait for
 * @mutex with a lock that all need, and memory may never come.
 */
static size_t litepulse_reader_take(struct litepulse_reader *reader, char __user *buffer,
				    size_t size, int *error)
{
	const size_t one = sizeof(reader->held);
	unsigned int queued, copied;
	size_t done = 0;
	bool left;

	*error = 0;
	pagefault_disable();
	do {
		/* The note came before whatever is in the FIFO by now. */
		if (reader->holding) {
			*error = copy_to_user(buffer + done, &reader->held, one) ? -EFAULT : 0;
			if (*error)
				break;
			spin_lock_irq(&reader->lp->feed.lock);
			reader->holding = false;
			spin_unlock_irq(&reader->lp->feed.lock);
			done += one;
		}
		spin_lock_irq(&reader->lp->feed.lock);
		queued = litepulse_reader_queued(reader);
		spin_unlock_irq(&reader->lp->feed.lock);
		if (queued) {
			/* Others may be put in meanwhile. */
			*error = data_race(kfifo_to_user(&reader->fifo.events, buffer + done,
							 min(size - done, queued * one), &copied));
			done += copied;
		}
		left = litepulse_reader_settle(reader);
	} while (!*error && left && done < size);
	pagefault_enable();
	return done;
}

/* An ioctl on this file holds the mutex while it waits for a board on a cable. */
static int litepulse_reader_lock(struct litepulse_reader *reader, bool may_wait)
{
	if (!may_wait)
		return mutex_trylock(&reader->mutex) ? 0 : -EAGAIN;
	return mutex_lock_interruptible(&reader->mutex) ? -ERESTARTSYS : 0;
}

/* Fetches the program's memory for an event, and for more of them. No lock is held. */
static int litepulse_reader_fetch(char __user *buffer, size_t size)
{
	const size_t one = sizeof(struct litepulse_event);

	if (fatal_signal_pending(current))
		return -EINTR;
	size = min_t(size_t, size, FETCH_EVENTS * one);
	return size - fault_in_subpage_writeable(buffer, size) < one ? -EFAULT : 0;
}

/* Events that fit into a piece of the program's memory: bytes of one event or more, or an error. */
static ssize_t litepulse_reader_read_piece(struct litepulse_reader *reader, char __user *buffer,
					   size_t size, bool may_wait)
{
	size_t done = 0;
	bool look;
	int error;

	size -= size % sizeof(struct litepulse_event);
	if (!size || READ_ONCE(reader->ring))
		return -EINVAL;
	error = litepulse_reader_lock(reader, may_wait);
	if (error)
		return error;
	/* If one event is enough, taking it is quicker than looking whether there is one. */
	look = may_wait && reader->sink.want.watermark > 1;
	while (!done) {
		if (look && !litepulse_reader_events(reader)) {
			mutex_unlock(&reader->mutex);
			error = wait_event_interruptible(reader->wait,
							 litepulse_reader_events(reader));
			if (error)
				return error;
			if (mutex_lock_interruptible(&reader->mutex))
				return -ERESTARTSYS;
		}
		done = litepulse_reader_take(reader, buffer, size, &error);
		/* The rest would wait for @watermark of its own, so it comes now. */
		while (error) {
			mutex_unlock(&reader->mutex);
			error = litepulse_reader_fetch(buffer + done, size - done) ?:
				litepulse_reader_lock(reader, may_wait);
			if (error)
				return done ?: error;
			done += litepulse_reader_take(reader, buffer + done, size - done, &error);
		}
		if (done)
			break;
		if (READ_ONCE(reader->lp->gone))
			error = -ENODEV;
		else if (!may_wait)
			error = -EAGAIN;
		if (error)
			break;
		look = true;
	}
	mutex_unlock(&reader->mutex);
	return done ?: error;
}

/* Only for the first event it waits: not for more of them, when one has been read. */
ssize_t litepulse_reader_read(struct kiocb *iocb, struct iov_iter *to)
{
	struct file *file = iocb->ki_filp;
	const bool may_wait = !(file->f_flags & O_NONBLOCK) && !(iocb->ki_flags & IOCB_NOWAIT);
	char __user *piece;
	ssize_t done = 0, result;
	size_t size;

	if (!user_backed_iter(to))
		return -EINVAL;
	while (iov_iter_count(to)) {
		piece = litepulse_iter_piece(to, &size);
		result = size ? litepulse_reader_read_piece(file->private_data, piece, size,
							    may_wait && !done) : 0;
		if (result < 0)
			return done ?: result;
		done += result;
		iov_iter_advance(to, result);
		if (result < size)
			break;
	}
	return done;
}

__poll_t litepulse_reader_poll(struct file *file, poll_table *wait)
{
	struct litepulse_reader *reader = file->private_data;

	poll_wait(file, &reader->wait, wait);
	return litepulse_reader_events(reader);
}

/* --- subscription --- */

/* Counts memory that a file takes. 0 or -ENOMEM. */
static int litepulse_reader_charge(struct litepulse *lp, size_t bytes)
{
	const u64 most = min_t(u64, MEMORY_MAX, (u64)totalram_pages() << PAGE_SHIFT >> 3);

	if (atomic_long_add_return(bytes, &lp->memory) <= most)
		return 0;
	atomic_long_sub(bytes, &lp->memory);
	return -ENOMEM;
}

static int litepulse_reader_fifo_init(struct litepulse *lp, struct litepulse_reader_fifo *fifo,
				      unsigned int size)
{
	struct litepulse_event *room;
	int error;

	if (size < FIFO_MIN || size > FIFO_MAX || !is_power_of_2(size))
		return -EINVAL;
	error = litepulse_reader_charge(lp, size * sizeof(*room));
	if (error)
		return error;
	/* Not kfifo_alloc(), which takes all of it in one piece. */
	room = kvmalloc_array(size, sizeof(*room), GFP_KERNEL_ACCOUNT);
	if (!room) {
		atomic_long_sub(size * sizeof(*room), &lp->memory);
		return -ENOMEM;
	}
	return kfifo_init(&fifo->events, room, size * sizeof(*room));
}

/* @fifo may be cleared memory. */
static void litepulse_reader_fifo_free(struct litepulse *lp, struct litepulse_reader_fifo *fifo)
{
	if (!kfifo_initialized(&fifo->events))
		return;
	kvfree(fifo->events.kfifo.data);
	atomic_long_sub(kfifo_size(&fifo->events) * sizeof(struct litepulse_event), &lp->memory);
}

static size_t litepulse_reader_ring_bytes(const struct litepulse_ring_buffer *ring)
{
	return (size_t)ring->page_count << PAGE_SHIFT;
}

/* A ring, or an error. */
static struct litepulse_ring_buffer *litepulse_reader_alloc_ring(struct litepulse *lp, u32 size)
{
	struct litepulse_ring_buffer *ring = litepulse_ring_alloc(size);
	int error;

	if (IS_ERR(ring))
		return ring;
	error = litepulse_reader_charge(lp, litepulse_reader_ring_bytes(ring));
	if (!error)
		return ring;
	litepulse_ring_free(ring);
	return ERR_PTR(error);
}

/*
 * Another FIFO instead of the reader's, which @fifo becomes. At most @most events may be in the
 * reader's: they move. @mutex is held.
 */
static int litepulse_reader_exchange(struct litepulse_reader *reader,
				     struct litepulse_reader_fifo *fifo, unsigned int most)
{
	struct litepulse_event event;
	int error = 0;

	spin_lock_irq(&reader->lp->feed.lock);
	if (litepulse_reader_queued(reader) > most) {
		error = -EBUSY;
	} else {
		while (kfifo_get(&reader->fifo.events, &event))
			kfifo_put(&fifo->events, event);
		swap(reader->fifo, *fifo);
	}
	spin_unlock_irq(&reader->lp->feed.lock);
	return error;
}

/* Subscription and FIFO: both change, or neither. @mutex is held. */
static int litepulse_reader_change(struct litepulse_reader *reader,
				   const struct litepulse_subscribe *want)
{
	unsigned int size = want->fifo ?: litepulse_reader_size(reader), most;
	struct litepulse_reader_fifo fifo;
	int error;

	if (want->watermark > size)
		return -EINVAL;
	if (reader->ring)
		return want->fifo || want->clock != LITEPULSE_CLOCK_NONE ?
			       -EINVAL :
			       litepulse_sink_change(reader->lp, &reader->sink, want);
	if (kfifo_initialized(&reader->fifo.events) && size == litepulse_reader_size(reader))
		return litepulse_sink_change(reader->lp, &reader->sink, want);
	error = litepulse_reader_fifo_init(reader->lp, &fifo, size);
	if (error)
		return error;
	error = litepulse_reader_exchange(reader, &fifo, 0);
	if (!error) {
		error = litepulse_sink_change(reader->lp, &reader->sink, want);
		most = kfifo_initialized(&fifo.events) ? kfifo_size(&fifo.events) : 0;
		/* Nothing is lost by that: should too much wait by now, the new one stays. */
		if (error && most)
			(void)litepulse_reader_exchange(reader, &fifo, most);
	}
	litepulse_reader_fifo_free(reader->lp, &fifo);
	return error;
}

/**
 * litepulse_reader_subscribe - what the reader gets from now on
 * @reader: one that was added
 * @want: as the program asks for it
 *
 * Return: 0, -EINVAL, -EOPNOTSUPP if there is no PTP clock, -EACCES if the file is not open for
 * writing and wants the filter, which is one for all, -EBUSY if the FIFO is to change and is not
 * empty, -ENOMEM, -ERESTARTSYS, or as litepulse_sink_change(). Then nothing has changed.
 */
int litepulse_reader_subscribe(struct litepulse_reader *reader,
			       const struct litepulse_subscribe *want)
{
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
	if (want->filtered && !reader->writable)
		return -EACCES;
	if (mutex_lock_interruptible(&reader->mutex))
		return -ERESTARTSYS;
	error = litepulse_reader_change(reader, want);
	if (!error) {
		/* The new watermark and timeout apply to events and programs that wait already. */
		spin_lock_irq(&lp->feed.lock);
		hrtimer_try_to_cancel(&reader->timer);
		if (litepulse_reader_queued(reader))
			litepulse_reader_wake(reader);
		spin_unlock_irq(&lp->feed.lock);
	}
	mutex_unlock(&reader->mutex);
	return error;
}

/**
 * litepulse_reader_make_ring - a ring in place of the FIFO
 * @reader: of a device's file
 * @wanted: as the program asks for it; answer
 *
 * Return: 0, -EINVAL, -EOPNOTSUPP if a program could see other contents than the kernel does,
 * -EBUSY if it has a ring or has subscribed to something, -ENOMEM or -ERESTARTSYS.
 */
int litepulse_reader_make_ring(struct litepulse_reader *reader, struct litepulse_ring *wanted)
{
	struct litepulse_ring_buffer *ring;
	int error = 0;

	if (wanted->flags & ~LITEPULSE_RING_PACKED || wanted->offset || wanted->reserved ||
	    wanted->length)
		return -EINVAL;
	if (cpu_dcache_is_aliasing())
		return -EOPNOTSUPP;
	if (mutex_lock_interruptible(&reader->mutex))
		return -ERESTARTSYS;
	ring = reader->ring || kfifo_initialized(&reader->fifo.events) ?
		       ERR_PTR(-EBUSY) :
		       litepulse_reader_alloc_ring(reader->lp, wanted->events);
	if (IS_ERR(ring)) {
		error = PTR_ERR(ring);
	} else {
		wanted->offset = (void *)ring->events - (void *)ring->state;
		wanted->length = litepulse_reader_ring_bytes(ring);
		ring->packed = wanted->flags & LITEPULSE_RING_PACKED;
		spin_lock_irq(&reader->lp->feed.lock);
		/* mmap() and read() take no lock. */
		smp_store_release(&reader->ring, ring);
		reader->sink.take_plain[LITEPULSE_BYTES] = litepulse_reader_take_bytes;
		spin_unlock_irq(&reader->lp->feed.lock);
	}
	mutex_unlock(&reader->mutex);
	return error;
}

/* The ring of a file. -ENODEV if it has none, or as litepulse_ring_map(). */
int litepulse_reader_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct litepulse_reader *reader = file->private_data;
	/* litepulse_reader_make_ring() */
	struct litepulse_ring_buffer *ring = smp_load_acquire(&reader->ring);

	return ring ? litepulse_ring_map(ring, vma) : -ENODEV;
}

/**
 * litepulse_reader_stats - what became of the events
 * @reader: any
 * @stats: answer
 *
 * Return: 0 or -ERESTARTSYS.
 */
int litepulse_reader_stats(struct litepulse_reader *reader, struct litepulse_stats *stats)
{
	struct litepulse *lp = reader->lp;
	unsigned int count, i;
	u32 head;

	/* No program reads meanwhile. */
	if (mutex_lock_interruptible(&reader->mutex))
		return -ERESTARTSYS;
	spin_lock_irq(&lp->feed.lock);
	*stats = reader->stats;
	if (reader->ring)
		litepulse_reader_report_notes(reader);
	count = litepulse_reader_queued(reader);
	head = reader->ring ? reader->ring->head : 0;
	stats->lost_events = lp->feed.events.lost;
	stats->lost_bytes = lp->feed.bytes.lost;
	stats->restarts = lp->feed.restarts;
	spin_unlock_irq(&lp->feed.lock);
	if (reader->ring) {
		stats->queued = litepulse_ring_events(reader->ring, head, count);
	} else {
		for (i = 0; i < count; i++)
			stats->queued +=
				!litepulse_reader_is_note(litepulse_reader_at(reader, i)->kind);
	}
	stats->delivered = stats->offered - stats->lost_host - stats->queued;
	mutex_unlock(&reader->mutex);
	return 0;
}

/* --- lifetime --- */

/**
 * litepulse_reader_init - makes a reader of cleared memory; litepulse_reader_exit() ends it
 * @reader: it
 * @lp: device, of which it gets a reference
 */
void litepulse_reader_init(struct litepulse_reader *reader, struct litepulse *lp)
{
	reader->sink.name = "reader";
	reader->sink.put = litepulse_reader_put;
	reader->sink.done = litepulse_reader_done;
	reader->sink.take_plain[LITEPULSE_EVENTS] = litepulse_reader_take_plain;
	reader->sink.limited = true;
	mutex_init(&reader->mutex);
	init_waitqueue_head(&reader->wait);
	litepulse_hrtimer_setup(&reader->timer, litepulse_reader_timeout, CLOCK_MONOTONIC,
				HRTIMER_MODE_REL);
	reader->lp = litepulse_board_get(lp);
}

/**
 * litepulse_reader_alloc - the FIFO of a reader that is added with a subscription
 * @reader: one without a FIFO, which nothing else refers to yet
 * @size: events; 0: as many as usual
 *
 * Return: 0, -EINVAL or -ENOMEM.
 */
int litepulse_reader_alloc(struct litepulse_reader *reader, unsigned int size)
{
	return litepulse_reader_fifo_init(reader->lp, &reader->fifo, size ?: FIFO_DEFAULT);
}

/**
 * litepulse_reader_add - adds the reader to those of the device, and subscribes it
 * @reader: initialized; sink.want is its subscription, which may be empty
 *
 * Return: as litepulse_sink_add().
 */
int litepulse_reader_add(struct litepulse_reader *reader)
{
	struct litepulse *lp = reader->lp;
	int error = litepulse_sink_add(lp, &reader->sink);

	if (error)
		return error;
	spin_lock_irq(&lp->feed.lock);
	list_add_tail(&reader->node, &lp->feed.readers);
	spin_unlock_irq(&lp->feed.lock);
	return 0;
}

/**
 * litepulse_reader_remove - the reader gets nothing more
 * @reader: one that was added
 */
void litepulse_reader_remove(struct litepulse_reader *reader)
{
	struct litepulse *lp = reader->lp;

	litepulse_sink_remove(lp, &reader->sink);
	spin_lock_irq(&lp->feed.lock);
	list_del(&reader->node);
	spin_unlock_irq(&lp->feed.lock);
}

/**
 * litepulse_reader_exit - ends what litepulse_reader_init() began
 * @reader: one that was removed, or never added
 */
void litepulse_reader_exit(struct litepulse_reader *reader)
{
	hrtimer_cancel(&reader->timer);
	if (reader->ring)
		atomic_long_sub(litepulse_reader_ring_bytes(reader->ring), &reader->lp->memory);
	litepulse_ring_free(reader->ring);
	litepulse_reader_fifo_free(reader->lp, &reader->fifo);
	litepulse_board_put(reader->lp);
}

/**
 * litepulse_reader_wake_all - wakes all who read: they find what is queued, then that the device
 * is gone
 * @lp: device
 */
void litepulse_reader_wake_all(struct litepulse *lp)
{
	struct litepulse_reader *reader;
	unsigned long flags;

	spin_lock_irqsave(&lp->feed.lock, flags);
	list_for_each_entry(reader, &lp->feed.readers, node)
		wake_up_interruptible_poll(&reader->wait, EPOLLIN | EPOLLHUP | EPOLLERR);
	spin_unlock_irqrestore(&lp->feed.lock, flags);
}
