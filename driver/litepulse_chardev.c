// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/litepulseN, and all ioctls: what happened and when, and, on the file of a claim, what is to
 * happen
 *
 * Both kinds of file are a litepulse_reader (litepulse_reader.c); its @claimant distinguishes them.
 */
#include <linux/bitfield.h>
#include <linux/compat.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "litepulse_chardev.h"
#include "litepulse_claim_file.h"
#include "litepulse_output.h"
#include "litepulse_ptp.h"
#include "litepulse_table.h"

struct litepulse_chardev {
	struct miscdevice misc;
	struct litepulse *lp;
	char name[16];
};

/* The argument of any ioctl. It is copied from and to the program while no lock is held. */
union litepulse_chardev_argument {
	struct litepulse_info info;
	struct litepulse_subscribe subscribe;
	struct litepulse_stats stats;
	struct litepulse_time time;
	struct litepulse_status status;
	struct {
		struct litepulse_claim claim;
		struct file *claim_file;	/* behind what the program sees */
	};
	struct litepulse_keep keep;
	struct litepulse_profile profile;
	struct litepulse_train train;
	struct litepulse_train_adjust adjust;
	struct litepulse_train_follow follow;
	struct litepulse_train_stop stop;
	struct litepulse_responder responder;
	struct litepulse_driver_enable driver_enable;
	struct litepulse_rest rest;
	struct litepulse_port port;
	struct litepulse_lin_entry lin_entry;
	struct litepulse_ring ring;
};

/* --- ioctls of any file: gone_sem is held --- */

static int litepulse_chardev_info(struct litepulse_reader *reader,
				  union litepulse_chardev_argument *argument)
{
	struct litepulse *lp = reader->lp;

	argument->info = (struct litepulse_info){
		.abi = LITEPULSE_ABI,
		.core = lp->version,
		.tick_num = lp->rate.num,
		.tick_den = lp->rate.den,
		.flags = (lp->simulated ? LITEPULSE_INFO_SIMULATED : 0) |
			 (lp->has_port ? LITEPULSE_INFO_PORT : 0) |
			 (lp->has_sequence ? LITEPULSE_INFO_SEQUENCE : 0),
		.samples = lp->samples,
		.inputs = lp->inputs,
		.event_depth = lp->event_depth,
		.receive_depth = lp->receive_depth,
		.transmit_depth = lp->transmit_depth,
		.launch_depth = lp->launch_depth,
		.session = READ_ONCE(lp->session),
		.phc = litepulse_ptp_index(lp),
		.tty = lp->id,
		.lin_entries = lp->lin_entries,
	};
	return 0;
}

static int litepulse_chardev_subscribe(struct litepulse_reader *reader,
				       union litepulse_chardev_argument *argument)
{
	return litepulse_reader_subscribe(reader, &argument->subscribe);
}

static int litepulse_chardev_ring(struct litepulse_reader *reader,
				  union litepulse_chardev_argument *argument)
{
	return litepulse_reader_make_ring(reader, &argument->ring);
}

static int litepulse_chardev_stats(struct litepulse_reader *reader,
				   union litepulse_chardev_argument *argument)
{
	return litepulse_reader_stats(reader, &argument->stats);
}

static int litepulse_chardev_time(struct litepulse_reader *reader,
				  union litepulse_chardev_argument *argument)
{
	return litepulse_board_time(reader->lp, &argument->time);
}

static int litepulse_chardev_status(struct litepulse_reader *reader,
				    union litepulse_chardev_argument *argument)
{
	struct litepulse_status *status = &argument->status;
	struct litepulse *lp = reader->lp;
	u32 word, free, levels;
	int error;

	error = litepulse_board_read_csr(lp, LITEPULSE_CSR_STATUS, &word) ?:
		litepulse_board_read_csr(lp, LITEPULSE_CSR_FREE, &free);
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
	/* Bits that an older core does not have read 0, see LITEPULSE_MINOR_LEVELS. */
	levels = FIELD_GET(LITEPULSE_CSR_STATUS_LEVELS_MASK, word);
	status->inputs = levels & (BIT(lp->inputs) - 1);
	status->rx = !!(levels & BIT(lp->inputs));
	return 0;
}

static int litepulse_chardev_train(struct litepulse_reader *reader,
				   union litepulse_chardev_argument *argument)
{
	struct litepulse *lp = reader->lp;
	int error = mutex_lock_killable(&lp->claim.mutex);

	if (error)
		return error;
	error = litepulse_output_train_get(lp, &argument->train);
	mutex_unlock(&lp->claim.mutex);
	return error;
}

/* --- the claim, of a device's file --- */

static const struct file_operations litepulse_chardev_claim_fops;

static int litepulse_chardev_claim(struct litepulse_reader *reader,
				   union litepulse_chardev_argument *argument)
{
	struct litepulse_claim *claim = &argument->claim;
	struct file *file;
	int fd;

	if (claim->flags & ~LITEPULSE_CLAIM_KEEP || claim->fd ||
	    claim->fd_flags & ~(O_CLOEXEC | O_NONBLOCK))
		return -EINVAL;
	if (!reader->writable)
		return -EACCES;
	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		return fd;
	file = litepulse_claim_file_open(reader->lp, claim, &litepulse_chardev_claim_fops);
	if (IS_ERR(file)) {
		put_unused_fd(fd);
		return PTR_ERR(file);
	}
	claim->fd = fd;
	argument->claim_file = file;
	return 0;
}

/* The program has the number of the file, or @error: then the claim comes to nothing. */
static int litepulse_chardev_claimed(union litepulse_chardev_argument *argument, int error)
{
	const struct litepulse_claim *claim = &argument->claim;
	struct file *file = argument->claim_file;

	if (!error)
		error = litepulse_claim_file_begin(file, claim->flags & LITEPULSE_CLAIM_KEEP);
	if (error) {
		put_unused_fd(claim->fd);
		fput(file);
	} else {
		fd_install(claim->fd, file);
	}
	return error;
}

/* --- ioctls of a claim's file: claim.mutex is held, too --- */

static int litepulse_chardev_keep(struct litepulse_reader *reader,
				  union litepulse_chardev_argument *argument)
{
	if (argument->keep.flags & ~LITEPULSE_CLAIM_KEEP || argument->keep.reserved)
		return -EINVAL;
	return litepulse_output_set_keep(reader->lp, reader->claimant,
					 argument->keep.flags & LITEPULSE_CLAIM_KEEP);
}

static int litepulse_chardev_profile(struct litepulse_reader *reader,
				     union litepulse_chardev_argument *argument)
{
	return litepulse_output_set_profile(reader->lp, reader->claimant, &argument->profile);
}

static int litepulse_chardev_flush(struct litepulse_reader *reader,
				   union litepulse_chardev_argument *argument)
{
	return litepulse_output_flush(reader->lp, reader->claimant);
}

/*
 * Whether the train is that of the PTP clock. It may not run, between a step of the clock and its
 * next start. One of before a reset is -ESTALE like all else.
 */
static bool litepulse_chardev_follows(const struct litepulse_reader *reader)
{
	return reader->claimant->follows && !reader->claimant->stale;
}

static int litepulse_chardev_train_start(struct litepulse_reader *reader,
					 union litepulse_chardev_argument *argument)
{
	if (litepulse_chardev_follows(reader))
		return -EBUSY;
	return litepulse_output_train_start(reader->lp, reader->claimant, &argument->train);
}

static int litepulse_chardev_train_adjust(struct litepulse_reader *reader,
					  union litepulse_chardev_argument *argument)
{
	if (litepulse_chardev_follows(reader))
		return -EBUSY;
	return litepulse_output_train_adjust(reader->lp, reader->claimant, &argument->adjust);
}

static int litepulse_chardev_train_follow(struct litepulse_reader *reader,
					  union litepulse_chardev_argument *argument)
{
	return litepulse_ptp_follow(reader->lp, reader->claimant, &argument->follow);
}

static int litepulse_chardev_train_stop(struct litepulse_reader *reader,
					union litepulse_chardev_argument *argument)
{
	int error;

	if (argument->stop.flags || argument->stop.pulses)
		return -EINVAL;
	error = litepulse_output_train_stop(reader->lp, reader->claimant, &argument->stop.pulses);
	if (!error)
		reader->claimant->follows = false;
	return error;
}

static int litepulse_chardev_responder(struct litepulse_reader *reader,
				       union litepulse_chardev_argument *argument)
{
	return litepulse_output_set_responder(reader->lp, reader->claimant, &argument->responder);
}

static int litepulse_chardev_driver_enable(struct litepulse_reader *reader,
					   union litepulse_chardev_argument *argument)
{
	return litepulse_output_set_driver_enable(reader->lp, reader->claimant,
						  &argument->driver_enable);
}

static int litepulse_chardev_rest(struct litepulse_reader *reader,
				  union litepulse_chardev_argument *argument)
{
	return litepulse_output_set_rest(reader->lp, reader->claimant, &argument->rest);
}

static int litepulse_chardev_port(struct litepulse_reader *reader,
				  union litepulse_chardev_argument *argument)
{
	return litepulse_output_set_port(reader->lp, reader->claimant, &argument->port);
}

static int litepulse_chardev_lin_entry(struct litepulse_reader *reader,
				       union litepulse_chardev_argument *argument)
{
	return litepulse_table_write(reader->lp, reader->claimant, &argument->lin_entry, 1);
}

/* --- all ioctls --- */

enum litepulse_chardev_files {
	LITEPULSE_DEVICE_FILE = 1,
	LITEPULSE_CLAIM_FILE = 2,
	LITEPULSE_ANY_FILE = 3,
};

/**
 * struct litepulse_chardev_ioctl - one ioctl
 * @cmd: its number, with the size of its argument
 * @min_size: size of the argument's first version; 0: as in @cmd
 * @files: which files have it
 * @run: carries it out
 * @finish: NULL, or called when @run has succeeded and its answer was copied to the program, or
 *	could not be: @error. Returns what the ioctl returns
 */
struct litepulse_chardev_ioctl {
	unsigned int cmd;
	unsigned int min_size;
	enum litepulse_chardev_files files;
	int (*run)(struct litepulse_reader *reader, union litepulse_chardev_argument *argument);
	int (*finish)(union litepulse_chardev_argument *argument, int error);
};

static const struct litepulse_chardev_ioctl litepulse_ioctls[] = {
	{ LITEPULSE_IOC_INFO, offsetof(struct litepulse_info, lin_entries), LITEPULSE_ANY_FILE,
	  litepulse_chardev_info },
	{ LITEPULSE_IOC_SUBSCRIBE, 0, LITEPULSE_ANY_FILE, litepulse_chardev_subscribe },
	{ LITEPULSE_IOC_STATS, 0, LITEPULSE_ANY_FILE, litepulse_chardev_stats },
	{ LITEPULSE_IOC_TIME, 0, LITEPULSE_ANY_FILE, litepulse_chardev_time },
	{ LITEPULSE_IOC_STATUS, offsetof(struct litepulse_status, inputs), LITEPULSE_ANY_FILE,
	  litepulse_chardev_status },
	{ LITEPULSE_IOC_TRAIN, 0, LITEPULSE_ANY_FILE, litepulse_chardev_train },
	{ LITEPULSE_IOC_RING, 0, LITEPULSE_DEVICE_FILE, litepulse_chardev_ring },
	{ LITEPULSE_IOC_CLAIM, 0, LITEPULSE_DEVICE_FILE, litepulse_chardev_claim,
	  litepulse_chardev_claimed },
	{ LITEPULSE_IOC_KEEP, 0, LITEPULSE_CLAIM_FILE, litepulse_chardev_keep },
	{ LITEPULSE_IOC_PROFILE, 0, LITEPULSE_CLAIM_FILE, litepulse_chardev_profile },
	{ LITEPULSE_IOC_FLUSH, 0, LITEPULSE_CLAIM_FILE, litepulse_chardev_flush },
	{ LITEPULSE_IOC_TRAIN_START, 0, LITEPULSE_CLAIM_FILE, litepulse_chardev_train_start },
	{ LITEPULSE_IOC_TRAIN_ADJUST, offsetof(struct litepulse_train_adjust, width),
	  LITEPULSE_CLAIM_FILE, litepulse_chardev_train_adjust },
	{ LITEPULSE_IOC_TRAIN_FOLLOW, 0, LITEPULSE_CLAIM_FILE, litepulse_chardev_train_follow },
	{ LITEPULSE_IOC_TRAIN_STOP, 0, LITEPULSE_CLAIM_FILE, litepulse_chardev_train_stop },
	{ LITEPULSE_IOC_RESPONDER, 0, LITEPULSE_CLAIM_FILE, litepulse_chardev_responder },
	{ LITEPULSE_IOC_DRIVER_ENABLE, 0, LITEPULSE_CLAIM_FILE, litepulse_chardev_driver_enable },
	{ LITEPULSE_IOC_LIN_ENTRY, 0, LITEPULSE_CLAIM_FILE, litepulse_chardev_lin_entry },
	{ LITEPULSE_IOC_REST, 0, LITEPULSE_CLAIM_FILE, litepulse_chardev_rest },
	{ LITEPULSE_IOC_PORT, 0, LITEPULSE_CLAIM_FILE, litepulse_chardev_port },
};

/* The ioctl of a file, whatever version of its argument the program has; NULL: there is none. */
static const struct litepulse_chardev_ioctl *
litepulse_chardev_find_ioctl(const struct litepulse_reader *reader, unsigned int cmd)
{
	const unsigned int size_bits = _IOC_SIZEMASK << _IOC_SIZESHIFT;
	const unsigned int file = reader->claimant ? LITEPULSE_CLAIM_FILE : LITEPULSE_DEVICE_FILE;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(litepulse_ioctls); i++) {
		const struct litepulse_chardev_ioctl *known = &litepulse_ioctls[i];

		if ((cmd ^ known->cmd) & ~size_bits ||
		    _IOC_SIZE(cmd) < (known->min_size ?: _IOC_SIZE(known->cmd)))
			continue;
		if (known->files & file)
			return known;
	}
	return NULL;
}

/* What a program knows beyond our version of an argument must be 0. Nothing is locked. */
static int litepulse_chardev_get_argument(union litepulse_chardev_argument *argument,
					  unsigned int cmd, size_t size, const void __user *from)
{
	memset(argument, 0, sizeof(*argument));
	if (!(_IOC_DIR(cmd) & _IOC_WRITE))
		return 0;
	return copy_struct_from_user(argument, size, from, _IOC_SIZE(cmd));
}

/* A program of an earlier version gets what it knows. */
static int litepulse_chardev_put_argument(void __user *to, unsigned int cmd,
					  const union litepulse_chardev_argument *argument,
					  size_t size)
{
	if (!(_IOC_DIR(cmd) & _IOC_READ))
		return 0;
	size = min_t(size_t, size, _IOC_SIZE(cmd));
	if (copy_to_user(to, argument, size) || clear_user(to + size, _IOC_SIZE(cmd) - size))
		return -EFAULT;
	return 0;
}

static long litepulse_chardev_ioctl(struct file *file, unsigned int cmd, unsigned long user)
{
	struct litepulse_reader *reader = file->private_data;
	const struct litepulse_chardev_ioctl *known = litepulse_chardev_find_ioctl(reader, cmd);
	struct litepulse *lp = reader->lp;
	union litepulse_chardev_argument argument;
	bool of_claim;
	size_t size;
	int error;

	if (!known)
		return -ENOTTY;
	size = _IOC_SIZE(known->cmd);
	of_claim = known->files == LITEPULSE_CLAIM_FILE;
	error = litepulse_chardev_get_argument(&argument, cmd, size, (void __user *)user);
	if (error)
		return error;
	error = of_claim ? litepulse_board_begin_command(lp) : litepulse_board_enter(lp);
	if (error)
		return error;
	error = known->run(reader, &argument);
	if (of_claim)
		litepulse_board_end_command(lp);
	else
		litepulse_board_leave(lp);
	if (error)
		return error;
	error = litepulse_chardev_put_argument((void __user *)user, cmd, &argument, size);
	return known->finish ? known->finish(&argument, error) : error;
}

/* No process would be signalled: O_ASYNC is refused. */
static int litepulse_chardev_fasync(int fd, struct file *file, int on)
{
	return on ? -EOPNOTSUPP : 0;
}

static const struct file_operations litepulse_chardev_claim_fops = {
	.owner = THIS_MODULE,
	.release = litepulse_claim_file_release,
	.read_iter = litepulse_reader_read,
	.write = litepulse_claim_file_write,
	.poll = litepulse_claim_file_poll,
	.unlocked_ioctl = litepulse_chardev_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.fasync = litepulse_chardev_fasync,
};

/* --- the device --- */

static int litepulse_chardev_open(struct inode *inode, struct file *file)
{
	struct litepulse_chardev *chardev =
		container_of(file->private_data, struct litepulse_chardev, misc);
	struct litepulse_reader *reader;
	int error;

	/* misc_open() holds the lock that misc_deregister() takes, so the device is there. */
	reader = kzalloc(sizeof(*reader), GFP_KERNEL_ACCOUNT);
	if (!reader)
		return -ENOMEM;
	litepulse_reader_init(reader, chardev->lp);
	reader->writable = file->f_mode & FMODE_WRITE;
	error = litepulse_reader_add(reader);
	if (error) {
		kfree(reader);
		return error;
	}
	file->private_data = reader;
	return stream_open(inode, file);
}

static int litepulse_chardev_release(struct inode *inode, struct file *file)
{
	struct litepulse_reader *reader = file->private_data;
	struct litepulse *lp = reader->lp;

	down_read(&lp->gone_sem);
	litepulse_reader_remove(reader);
	up_read(&lp->gone_sem);
	litepulse_reader_exit(reader);
	kfree(reader);
	return 0;
}

static const struct file_operations litepulse_chardev_fops = {
	.owner = THIS_MODULE,
	.open = litepulse_chardev_open,
	.release = litepulse_chardev_release,
	.read_iter = litepulse_reader_read,
	.poll = litepulse_reader_poll,
	.mmap = litepulse_reader_mmap,
	.unlocked_ioctl = litepulse_chardev_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.fasync = litepulse_chardev_fasync,
};

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
		.fops = &litepulse_chardev_fops,
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
	litepulse_board_set_gone(lp);
	litepulse_reader_wake_all(lp);
}
