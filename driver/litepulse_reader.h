/* SPDX-License-Identifier: GPL-2.0-only */
/* A reader: an open file that gets events. Both the device's files and those of claims are. */
#ifndef LITEPULSE_READER_H
#define LITEPULSE_READER_H

#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/kfifo.h>
#include <linux/poll.h>

#include "litepulse_ring.h"
#include "litepulse_sink.h"

/*
 * Notes that can wait for room, at most one of each: LOST by us or by the board, of events or of
 * bytes, and RESTARTED.
 */
#define LITEPULSE_READER_NOTES 5

/* The FIFO of a reader, initialized when it has subscribed to something. */
struct litepulse_reader_fifo {
	DECLARE_KFIFO_PTR(events, struct litepulse_event);
};

/**
 * struct litepulse_reader - a file that gets events
 * @sink: where they come from
 * @lp: device; the file holds a reference
 * @claimant: holder of the claim whose file this is; NULL: the file is the device's
 * @node: in litepulse.feed.readers; litepulse.feed.lock
 * @writable: the file is open for writing
 * @mutex: the reading side of the FIFO, and changes of it
 * @fifo: events are put in under litepulse.feed.lock and taken out under @mutex; it is exchanged
 *	under both
 * @ring: in place of @fifo; NULL if there is none. Set once, under @mutex and litepulse.feed.lock
 * @due_until: of a ring: @due until the program has taken this many, modulo 2^32;
 *	litepulse.feed.lock
 * @timer_for: of a ring: this many were taken when @timer was started; litepulse.feed.lock
 * @came_at: CLOCK_MONOTONIC when the newest records came, ns; litepulse.feed.lock
 * @held: the note after the last event of the FIFO, on its way to the program; @mutex
 * @holding: there is one
 * @notes: found no room, in the order in which they began; litepulse.feed.lock
 * @waiting: how many of them; litepulse.feed.lock
 * @stats: litepulse.feed.lock; LITEPULSE_IOC_STATS calculates how many were delivered
 * @due: the oldest record has waited for its timeout, or a note came; litepulse.feed.lock
 * @timer: makes it due
 * @wait: for records
 */
struct litepulse_reader {
	struct litepulse_sink sink;
	struct litepulse *lp;
	struct litepulse_claimant *claimant;
	struct list_head node;
	bool writable;
	struct mutex mutex; /* above */
	struct litepulse_reader_fifo fifo;
	struct litepulse_ring_buffer *ring;
	u32 due_until;
	u32 timer_for;
	u64 came_at;
	struct litepulse_event held;
	bool holding;
	struct litepulse_event notes[LITEPULSE_READER_NOTES];
	unsigned int waiting;
	struct litepulse_stats stats;
	bool due;
	struct hrtimer timer;
	wait_queue_head_t wait;
};

void litepulse_reader_init(struct litepulse_reader *reader, struct litepulse *lp);
int litepulse_reader_alloc(struct litepulse_reader *reader, unsigned int size);
int litepulse_reader_add(struct litepulse_reader *reader);
void litepulse_reader_remove(struct litepulse_reader *reader);
void litepulse_reader_exit(struct litepulse_reader *reader);
int litepulse_reader_subscribe(struct litepulse_reader *reader,
			       const struct litepulse_subscribe *want);
int litepulse_reader_make_ring(struct litepulse_reader *reader, struct litepulse_ring *wanted);
int litepulse_reader_stats(struct litepulse_reader *reader, struct litepulse_stats *stats);
void litepulse_reader_wake_all(struct litepulse *lp);

/* File operations; file->private_data is the reader. */
ssize_t litepulse_reader_read(struct kiocb *iocb, struct iov_iter *to);
__poll_t litepulse_reader_poll(struct file *file, poll_table *wait);
int litepulse_reader_mmap(struct file *file, struct vm_area_struct *vma);

#endif /* LITEPULSE_READER_H */
