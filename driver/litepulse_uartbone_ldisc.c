// SPDX-License-Identifier: GPL-2.0-only
/*
 * A board behind a serial port: the line discipline
 *
 * A program opens the port, sets its speed and raw mode, and this line discipline: `litepulse
 * attach`, or ldattach(8). While it keeps the port open there is a platform device "litepulse",
 * for which litepulse.ko has the driver.
 *
 * The tty layer calls open() and close() under locks that the device's own tty needs, and lets
 * nothing be received meanwhile: so a worker registers and unregisters the device, a little later.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/capability.h>
#include <linux/device.h>
#include <linux/jiffies.h>
#include <linux/kstrtox.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <linux/tty.h>
#include <linux/tty_ldisc.h>

#include "litepulse_compat.h"
#include "litepulse_uartbone.h"

/* The answer's words and what follows them. */
#define BUFFER_BYTES ((4 * LITEPULSE_ANSWER_WORDS / LITEPULSE_PACKED_GROUP + 1) * \
		      (LITEPULSE_PACKED_GROUP + 1) + LITEPULSE_TRAILER_BYTES)
#define POLL_US 1000
#define IDLE_US 10000
#define BAUD_RETRY_SECONDS 10

static int number = LITEPULSE_LDISC;
module_param_named(ldisc, number, int, 0444);
MODULE_PARM_DESC(ldisc, "number of the line discipline");

/*
 * Freezable: a port may go away while the machine resumes (usbcore unbinds a driver that cannot
 * reset its adapter), and devices are unregistered when threads and other workers run again.
 */
static struct workqueue_struct *workers;

/* --- the port --------------------------------------------------------------------------------- */

/*
 * Bytes come by receive_buf2 only. TIOCSTI would feed receive_buf: a process whose controlling tty
 * the port is could forge the board's answers.
 */
#ifdef LITEPULSE_LDISC_HAS_U8 /* says Kbuild */
static size_t litepulse_ldisc_receive_buf(struct tty_struct *tty, const u8 *bytes, const u8 *faults,
					  size_t count)
{
	litepulse_line_receive(tty->disc_data, bytes, faults, count);
	return count;
}
#else
static int litepulse_ldisc_receive_buf(struct tty_struct *tty, const unsigned char *bytes,
				       const char *faults,
				       int count)
{
	litepulse_line_receive(tty->disc_data, bytes, (const u8 *)faults, count);
	return count;
}
#endif

static void litepulse_ldisc_write_wakeup(struct tty_struct *tty)
{
	struct litepulse_link *link = tty->disc_data;

	clear_bit(TTY_DO_WRITE_WAKEUP, &tty->flags);
	WRITE_ONCE(link->room, true);
	wake_up(&link->wait);
}

/* --- what a person sees of the link ---------------------------------------------------------- */

static struct litepulse_link *litepulse_ldisc_to_link(struct device *dev)
{
	const struct litepulse_platform_data *data = dev_get_platdata(dev);

	return data->context;
}

static ssize_t port_show(struct device *dev, struct device_attribute *attribute,
			 char *text)
{
	return sysfs_emit(text, "%s\n", litepulse_ldisc_to_link(dev)->name);
}
static DEVICE_ATTR_RO(port);

static ssize_t baud_show(struct device *dev, struct device_attribute *attribute,
			 char *text)
{
	return sysfs_emit(text, "%u\n", READ_ONCE(litepulse_ldisc_to_link(dev)->baud));
}

static ssize_t baud_store(struct device *dev, struct device_attribute *attribute,
			  const char *text, size_t count)
{
	struct litepulse_link *link = litepulse_ldisc_to_link(dev);
	unsigned int baud;
	int error = kstrtouint(text, 0, &baud);

	error = error ?: litepulse_bus_lock_killable(link);
	if (error)
		return error;
	/* A rate that does not work costs everybody two seconds: users may try one now and then. */
	if (!capable(CAP_SYS_ADMIN) && time_before(jiffies, link->next_try))
		error = -EAGAIN;
	else
		error = litepulse_bus_set_baud(link, baud);
	if (error && error != -EAGAIN)
		link->next_try = jiffies + BAUD_RETRY_SECONDS * HZ;
	mutex_unlock(&link->bus);
	return error ?: count;
}
static DEVICE_ATTR_RW(baud);

static ssize_t checked_show(struct device *dev, struct device_attribute *attribute,
			    char *text)
{
	return sysfs_emit(text, "%d\n", READ_ONCE(litepulse_ldisc_to_link(dev)->framed));
}
static DEVICE_ATTR_RO(checked);

static ssize_t packed_show(struct device *dev, struct device_attribute *attribute,
			   char *text)
{
	return sysfs_emit(text, "%d\n", READ_ONCE(litepulse_ldisc_to_link(dev)->packs));
}
static DEVICE_ATTR_RO(packed);

static ssize_t litepulse_ldisc_store_us(const char *text, size_t count, unsigned int *us)
{
	unsigned int value;
	int error = kstrtouint(text, 0, &value);

	if (error)
		return error;
	if (value > LITEPULSE_POLL_MAX_US)
		return -EINVAL;
	WRITE_ONCE(*us, value);
	return count;
}

static ssize_t poll_us_show(struct device *dev, struct device_attribute *attribute,
			    char *text)
{
	return sysfs_emit(text, "%u\n", READ_ONCE(litepulse_ldisc_to_link(dev)->poll_us));
}

static ssize_t poll_us_store(struct device *dev, struct device_attribute *attribute,
			     const char *text, size_t count)
{
	return litepulse_ldisc_store_us(text, count, &litepulse_ldisc_to_link(dev)->poll_us);
}
static DEVICE_ATTR_RW(poll_us);

static ssize_t idle_us_show(struct device *dev, struct device_attribute *attribute,
			    char *text)
{
	return sysfs_emit(text, "%u\n", READ_ONCE(litepulse_ldisc_to_link(dev)->idle_us));
}

static ssize_t idle_us_store(struct device *dev, struct device_attribute *attribute,
			     const char *text, size_t count)
{
	return litepulse_ldisc_store_us(text, count, &litepulse_ldisc_to_link(dev)->idle_us);
}
static DEVICE_ATTR_RW(idle_us);

/* A counter of the link, which changes under the bus. */
static ssize_t litepulse_ldisc_show_count(struct litepulse_link *link, const u64 *count, char *text)
{
	u64 value;
	int error = litepulse_bus_lock_killable(link);

	if (error)
		return error;
	value = *count;
	mutex_unlock(&link->bus);
	return sysfs_emit(text, "%llu\n", value);
}

static ssize_t transactions_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	struct litepulse_link *link = litepulse_ldisc_to_link(dev);

	return litepulse_ldisc_show_count(link, &link->transactions, text);
}
static DEVICE_ATTR_RO(transactions);

static ssize_t repeats_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	struct litepulse_link *link = litepulse_ldisc_to_link(dev);

	return litepulse_ldisc_show_count(link, &link->repeats, text);
}
static DEVICE_ATTR_RO(repeats);

static ssize_t failures_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	struct litepulse_link *link = litepulse_ldisc_to_link(dev);

	return litepulse_ldisc_show_count(link, &link->failures, text);
}
static DEVICE_ATTR_RO(failures);

static ssize_t round_trip_ns_show(struct device *dev, struct device_attribute *attribute,
				  char *text)
{
	struct litepulse_link *link = litepulse_ldisc_to_link(dev);

	return litepulse_ldisc_show_count(link, &link->round_trip_ns, text);
}
static DEVICE_ATTR_RO(round_trip_ns);

static struct attribute *litepulse_ldisc_attributes[] = {
	&dev_attr_port.attr,
	&dev_attr_baud.attr,
	&dev_attr_checked.attr,
	&dev_attr_packed.attr,
	&dev_attr_poll_us.attr,
	&dev_attr_idle_us.attr,
	&dev_attr_transactions.attr,
	&dev_attr_repeats.attr,
	&dev_attr_failures.attr,
	&dev_attr_round_trip_ns.attr,
	NULL,
};

static const struct attribute_group litepulse_ldisc_group = {
	.name = "uartbone",
	.attrs = litepulse_ldisc_attributes,
};

static const struct attribute_group *litepulse_ldisc_groups[] = { &litepulse_ldisc_group, NULL };

/* --- life of the platform device ------------------------------------------------------------- */

static void litepulse_ldisc_free_link(struct litepulse_link *link)
{
	unsigned int i;

	put_device(link->port_dev);
	kvfree(link->words);
	for (i = 0; i < LITEPULSE_FLIGHTS; i++)
		kvfree(link->flights[i].buffer);
	kfree(link);
}

static void litepulse_ldisc_add_device(struct litepulse_link *link)
{
	struct litepulse_platform_data data = { .ops = &litepulse_link_ops,
						.context = link,
						.attach = litepulse_link_attach,
						.keeps = true };
	struct platform_device *pdev;
	int error;

	litepulse_bus_lock(link);
	error = litepulse_bus_connect(link);
	if (!error)
		data.bus_hz = litepulse_bus_hz(link);
	mutex_unlock(&link->bus);
	if (error) {
		if (error != -ENODEV)
			pr_err("%s: no LiteX UARTBone answers\n", link->name);
		return;
	}
	pdev = platform_device_alloc("litepulse", PLATFORM_DEVID_AUTO);
	if (!pdev)
		return;
	pdev->dev.groups = litepulse_ldisc_groups;
	error = platform_device_add_data(pdev, &data, sizeof(data)) ?: platform_device_add(pdev);
	if (error) {
		pr_err("%s: no platform device: error %d\n", link->name, error);
		platform_device_put(pdev);
		return;
	}
	link->pdev = pdev;
	/*
	 * The board is suspended before the port, and resumed after it. Not before the device has
	 * its name: Linux 6.1 makes a symbolic link of it.
	 */
	if (link->port_dev)
		device_link_add(&pdev->dev, link->port_dev, DL_FLAG_STATELESS);
}

static void litepulse_ldisc_work(struct work_struct *work)
{
	struct litepulse_link *link = container_of(work, struct litepulse_link, work);

	if (!READ_ONCE(link->gone)) {
		litepulse_ldisc_add_device(link);
		return;
	}
	if (link->pdev && link->port_dev)
		device_link_remove(&link->pdev->dev, link->port_dev);
	if (link->pdev)
		platform_device_unregister(link->pdev);
	litepulse_ldisc_free_link(link);
}

static int litepulse_ldisc_open(struct tty_struct *tty)
{
	struct litepulse_link *link;
	unsigned int i;
	bool whole;

	/* It makes devices. */
	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (!tty->ops->write)
		return -EOPNOTSUPP;
	/* Another process with the port open could take the line discipline off again. */
	if (tty->count > 1)
		return -EBUSY;
	/*
	 * Nor may anybody's session have the port as its terminal, open or not: the end of the
	 * session would hang it up.
	 */
	if (READ_ONCE(tty->ctrl.session))
		return -EBUSY;
	link = kzalloc(sizeof(*link), GFP_KERNEL);
	if (!link)
		return -ENOMEM;
	link->words = kvmalloc_array(LITEPULSE_ANSWER_WORDS, sizeof(u32), GFP_KERNEL);
	whole = link->words;
	for (i = 0; i < LITEPULSE_FLIGHTS; i++) {
		link->flights[i].buffer = kvmalloc(BUFFER_BYTES, GFP_KERNEL);
		whole &= !!link->flights[i].buffer;
	}
	if (!whole) {
		litepulse_ldisc_free_link(link);
		return -ENOMEM;
	}
	link->tty = tty;
	/* The device that is suspended: that of the adapter, or of the UART. */
	link->port_dev = get_device(tty->dev ? tty->dev->parent : NULL);
	strscpy(link->name, tty_name(tty), sizeof(link->name));
	mutex_init(&link->line);
	mutex_init(&link->bus);
	spin_lock_init(&link->lock);
	spin_lock_init(&link->io_lock);
	init_waitqueue_head(&link->wait);
	init_waitqueue_head(&link->kick);
	INIT_WORK(&link->work, litepulse_ldisc_work);
	link->last_byte = jiffies;
	link->next_try = jiffies;
	link->base_baud = tty_get_baud_rate(tty) ?: LITEPULSE_BRIDGE_BAUD;
	link->baud = link->base_baud;
	link->target_baud = link->base_baud;
	link->poll_us = POLL_US;
	link->idle_us = IDLE_US;
	tty->disc_data = link;
	tty->receive_room = BUFFER_BYTES;
	/* Nor may one open it from now on. */
	link->made_exclusive = !test_and_set_bit(TTY_EXCLUSIVE, &tty->flags);
	queue_work(workers, &link->work);
	return 0;
}

static void litepulse_ldisc_close(struct tty_struct *tty)
{
	struct litepulse_link *link = tty->disc_data;

	WRITE_ONCE(link->gone, true);
	wake_up_all(&link->wait);
	/* Waits until all calls of the port's functions have ended; no new ones begin. */
	mutex_lock(&link->line);
	link->tty = NULL;
	mutex_unlock(&link->line);
	clear_bit(TTY_DO_WRITE_WAKEUP, &tty->flags);
	if (link->made_exclusive)
		clear_bit(TTY_EXCLUSIVE, &tty->flags);
	tty->disc_data = NULL;
	queue_work(workers, &link->work);
}

/* Reading and writing are ours; what poll() is for here is to learn that the port is gone. */
static __poll_t litepulse_ldisc_poll(struct tty_struct *tty, struct file *file,
				     struct poll_table_struct *wait)
{
	poll_wait(file, &tty->read_wait, wait);
	return tty_hung_up_p(file) || test_bit(TTY_OTHER_CLOSED, &tty->flags) ? EPOLLHUP : 0;
}

/* Settings can be looked at, but a change would cut the link. */
static int litepulse_ldisc_ioctl(struct tty_struct *tty, unsigned int command,
				 unsigned long argument)
{
	switch (command) {
	case TCGETS:
	case TCGETA:
#ifdef TCGETS2
	case TCGETS2:
#endif
	case TIOCGSOFTCAR:
	case TIOCOUTQ:
		return n_tty_ioctl_helper(tty, command, argument);
	case TCSETS:
	case TCSETSW:
	case TCSETSF:
#ifdef TCSETS2
	case TCSETS2:
	case TCSETSW2:
	case TCSETSF2:
#endif
	case TCFLSH:
		return -EBUSY;
	default:
		return -ENOIOCTLCMD;
	}
}

static struct tty_ldisc_ops litepulse_ldisc_ops = {
	.owner = THIS_MODULE,
	.name = "litepulse",
	.open = litepulse_ldisc_open,
	.close = litepulse_ldisc_close,
	.ioctl = litepulse_ldisc_ioctl,
	.poll = litepulse_ldisc_poll,
	.receive_buf2 = litepulse_ldisc_receive_buf,
	.write_wakeup = litepulse_ldisc_write_wakeup,
};

static int __init litepulse_ldisc_init(void)
{
	int error;

	workers = alloc_workqueue("litepulse_uartbone", WQ_UNBOUND | WQ_FREEZABLE, 0);
	if (!workers)
		return -ENOMEM;
	litepulse_ldisc_ops.num = number;
	error = tty_register_ldisc(&litepulse_ldisc_ops);
	if (error) {
		pr_err("line discipline %d: error %d\n", number, error);
		destroy_workqueue(workers);
	}
	return error;
}
module_init(litepulse_ldisc_init);

static void __exit litepulse_ldisc_exit(void)
{
	tty_unregister_ldisc(&litepulse_ldisc_ops);
	destroy_workqueue(workers);
}
module_exit(litepulse_ldisc_exit);

MODULE_DESCRIPTION("LitePulse behind a serial port: line discipline for LiteX UARTBone");
MODULE_VERSION(LITEPULSE_VERSION);
MODULE_AUTHOR("The LitePulse authors");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(LITEPULSE_NAMESPACE);
MODULE_ALIAS_LDISC(LITEPULSE_LDISC);
