// SPDX-License-Identifier: GPL-2.0-only
/*
 * The file of a claim: it writes launches, and is a reader of what became of them
 *
 * The ioctls that only its holder may call are in the table of litepulse_chardev.c.
 */
#include <linux/anon_inodes.h>
#include <linux/fcntl.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "litepulse_claim_file.h"
#include "litepulse_output.h"

/*
 * Launches copied from user space at a time. On a cable each such batch takes two more accesses to
 * the board.
 */
#define LAUNCH_BATCH 16
#define LAUNCH_BATCH_CABLE 56

/* Outcomes of what the holder of a claim requested. */
#define OUTCOME_KINDS                                                                         \
	(BIT(LITEPULSE_KIND_TX) | BIT(LITEPULSE_KIND_REFUSED) | BIT(LITEPULSE_KIND_APPLIED) | \
	 BIT(LITEPULSE_KIND_TRAIN_DONE) | BIT(LITEPULSE_KIND_RESPONDER_MISSED))
#define OUTCOME_SOURCES                                                                       \
	(BIT(LITEPULSE_SRC_QUEUE) | BIT(LITEPULSE_SRC_TRAIN) | BIT(LITEPULSE_SRC_RESPONDER) | \
	 BIT(LITEPULSE_SRC_TRAIN_CHANGE))

struct litepulse_claim_file {
	struct litepulse_reader reader;
	struct litepulse_claimant claimant;
};

/*
 * May a launch be written? If the queue was full: not before the board reports room, which is
 * requested here.
 */
static bool litepulse_claim_file_has_room(struct litepulse *lp)
{
	if (READ_ONCE(lp->queue.full) && !litepulse_board_enter(lp)) {
		lp->ops->want(lp->context, LITEPULSE_WANT_LAUNCH, LITEPULSE_WANT_LAUNCH);
		litepulse_board_leave(lp);
	}
	return !READ_ONCE(lp->queue.full) || READ_ONCE(lp->gone);
}

/* Waits until the queue may have room, or a second: the board may not answer any more. */
static int litepulse_claim_file_wait_for_room(struct litepulse_reader *reader)
{
	struct litepulse_claimant *claimant = reader->claimant;
	struct litepulse *lp = reader->lp;
	long left;

	if (litepulse_claim_file_has_room(lp) || READ_ONCE(claimant->stale))
		return 0;
	left = wait_event_interruptible_timeout(lp->queue.wait,
						!READ_ONCE(lp->queue.full) ||
						READ_ONCE(lp->gone) ||
						READ_ONCE(claimant->stale), HZ);
	if (!left)
		WRITE_ONCE(lp->queue.full, false);
	return min(left, 0L);
}

static ssize_t litepulse_claim_file_write_batches(struct file *file, const char __user *buffer,
						  unsigned int left,
						  struct litepulse_launch *launches,
						  unsigned int most)
{
	struct litepulse_reader *reader = file->private_data;
	const size_t width = sizeof(*launches);
	unsigned int batch;
	ssize_t done = 0;
	int result;

	while (left) {
		batch = min(left, most);
		if (copy_from_user(launches, buffer + done, batch * width))
			return done ?: -EFAULT;
		result = litepulse_board_begin_command(reader->lp);
		if (result)
			return done ?: result;
		result = litepulse_output_launch(reader->lp, reader->claimant, launches, batch);
		litepulse_board_end_command(reader->lp);
		if (result < 0)
			return done ?: result;
		done += result * width;
		left -= result;
		/* A long list takes its time on a cable. */
		if (result && signal_pending(current))
			return done;
		/* Full, or the next one is at fault, which is reported when none went before it. */
		if (result)
			continue;
		if (file->f_flags & O_NONBLOCK)
			return done ?: -EAGAIN;
		result = litepulse_claim_file_wait_for_room(reader);
		if (result)
			return done ?: result;
	}
	return done;
}

ssize_t litepulse_claim_file_write(struct file *file, const char __user *buffer, size_t size,
				   loff_t *position)
{
	struct litepulse_launch few[LAUNCH_BATCH], *many;
	struct litepulse_reader *reader = file->private_data;
	const unsigned int count = size / sizeof(*few);
	ssize_t done;

	if (!size || size % sizeof(*few))
		return -EINVAL;
	if (count <= LAUNCH_BATCH || !reader->lp->ops->sleeps)
		return litepulse_claim_file_write_batches(file, buffer, count, few, LAUNCH_BATCH);
	many = kmalloc_array(LAUNCH_BATCH_CABLE, sizeof(*many), GFP_KERNEL);
	if (!many)
		return -ENOMEM;
	done = litepulse_claim_file_write_batches(file, buffer, count, many, LAUNCH_BATCH_CABLE);
	kfree(many);
	return done;
}

__poll_t litepulse_claim_file_poll(struct file *file, poll_table *wait)
{
	struct litepulse_reader *reader = file->private_data;
	struct litepulse *lp = reader->lp;
	__poll_t mask = litepulse_reader_poll(file, wait);

	poll_wait(file, &lp->queue.wait, wait);
	if (poll_requested_events(wait) & (EPOLLOUT | EPOLLWRNORM) &&
	    litepulse_claim_file_has_room(lp))
		mask |= EPOLLOUT | EPOLLWRNORM;
	return mask;
}

static void litepulse_claim_file_free(struct litepulse_claim_file *claim)
{
	litepulse_reader_exit(&claim->reader);
	kfree(claim);
}

static void litepulse_claim_file_end(struct litepulse_claim_file *claim)
{
	struct litepulse *lp = claim->reader.lp;

	mutex_lock(&lp->claim.mutex);
	litepulse_output_unclaim(lp, &claim->claimant);
	mutex_unlock(&lp->claim.mutex);
}

int litepulse_claim_file_release(struct inode *inode, struct file *file)
{
	struct litepulse_claim_file *claim =
		container_of(file->private_data, struct litepulse_claim_file, reader);
	struct litepulse *lp = claim->reader.lp;

	down_read(&lp->gone_sem);
	litepulse_claim_file_end(claim);
	litepulse_reader_remove(&claim->reader);
	up_read(&lp->gone_sem);
	litepulse_claim_file_free(claim);
	return 0;
}

/* Claim and subscription; gone_sem is held. */
static int litepulse_claim_file_add(struct litepulse_claim_file *claim)
{
	struct litepulse *lp = claim->reader.lp;
	int error = mutex_lock_killable(&lp->claim.mutex);

	if (error)
		return error;
	error = litepulse_output_claim(lp, &claim->claimant);
	mutex_unlock(&lp->claim.mutex);
	if (error)
		return error;
	error = litepulse_reader_add(&claim->reader);
	if (error)
		litepulse_claim_file_end(claim);
	return error;
}

/**
 * litepulse_claim_file_open - the file of a new claim; its release ends the claim
 * @lp: device; gone_sem is held
 * @request: size of its FIFO, and O_NONBLOCK or not
 * @fops: of the file: the operations above and the ioctls
 *
 * What an earlier claim kept goes on until litepulse_claim_file_begin().
 *
 * Return: the file, or an error: -EBUSY if another file has the claim.
 */
struct file *litepulse_claim_file_open(struct litepulse *lp, const struct litepulse_claim *request,
				       const struct file_operations *fops)
{
	struct litepulse_claim_file *claim;
	struct file *file;
	int error;

	claim = kzalloc(sizeof(*claim), GFP_KERNEL_ACCOUNT);
	if (!claim)
		return ERR_PTR(-ENOMEM);
	litepulse_reader_init(&claim->reader, lp);
	claim->reader.claimant = &claim->claimant;
	claim->reader.sink.name = "claim";
	claim->reader.writable = true;
	/* There is one at most, and readers must not keep it out. */
	claim->reader.sink.limited = false;
	claim->reader.sink.of_claim = true;
	claim->reader.sink.want =
		(struct litepulse_subscribe){ .kinds = OUTCOME_KINDS, .sources = OUTCOME_SOURCES };
	/* Should it come to nothing, its end must not stop what an earlier claim kept. */
	claim->claimant.keep = true;
	claim->claimant.name = "program";
	claim->claimant.pid = task_tgid_nr(current);
	error = litepulse_reader_alloc(&claim->reader, request->fifo) ?:
		litepulse_claim_file_add(claim);
	if (error)
		goto free;
	file = anon_inode_getfile("litepulse-claim", fops, &claim->reader,
				  O_RDWR | (request->fd_flags & O_NONBLOCK));
	if (!IS_ERR(file)) {
		stream_open(file_inode(file), file);
		return file;
	}
	error = PTR_ERR(file);
	litepulse_reader_remove(&claim->reader);
	litepulse_claim_file_end(claim);
free:
	litepulse_claim_file_free(claim);
	return ERR_PTR(error);
}

/**
 * litepulse_claim_file_begin - decides what becomes of output when the claim ends
 * @file: of the claim
 * @keep: it goes on; else it is stopped
 *
 * Return: as litepulse_output_set_keep(), or -ENODEV or -EINTR.
 */
int litepulse_claim_file_begin(struct file *file, bool keep)
{
	struct litepulse_reader *reader = file->private_data;
	int error = litepulse_board_begin_command(reader->lp);

	if (error)
		return error;
	error = litepulse_output_set_keep(reader->lp, reader->claimant, keep);
	litepulse_board_end_command(reader->lp);
	return error;
}
