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

#include <linux/bitops.h>
#include <linux/capability.h>
#include <linux/delay.h>
#include <linux/device.h>
#include <linux/jiffies.h>
#include <linux/kstrtox.h>
#include <linux/ktime.h>
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
/* Of noise, which never ends, this much is listened to. */
#define NOISE_MS 1000
/* A port that takes nothing for so long is stuck. */
#define SEND_MS 1000
/* After which a port that said nothing is asked whether it has room. */
#define ROOM_MS 10
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

/* --- sending and receiving ------------------------------------------------------------------- */

static bool litepulse_line_is_over(struct litepulse_link *link, struct litepulse_flight *flight)
{
	return READ_ONCE(link->gone) || READ_ONCE(flight->whole);
}

/* From now on @wanted bytes are an answer, or the first ones of a packed one of @groups. */
static void litepulse_line_expect(struct litepulse_link *link, struct litepulse_flight *flight,
				  unsigned int wanted, unsigned int groups,
				  const struct litepulse_stamper *stamper)
{
	spin_lock_irq(&link->lock);
	flight->wanted = wanted;
	flight->groups = groups;
	flight->got = 0;
	flight->whole = false;
	flight->stamper = stamper;
	spin_unlock_irq(&link->lock);
}

/* Up to @count bytes, as many as the port takes now; the port may be closed at any other time. */
static int litepulse_line_send_some(struct litepulse_link *link, const u8 *bytes,
				    unsigned int count)
{
	int sent = -ENODEV;

	mutex_lock(&link->line);
	if (link->tty) {
		set_bit(TTY_DO_WRITE_WAKEUP, &link->tty->flags);
		sent = link->tty->ops->write(link->tty, bytes, count);
	}
	mutex_unlock(&link->line);
	return sent;
}

/**
 * litepulse_line_send() - sends, and prepares for an answer
 * @link: the bus is held; @count bytes of its @out are to be sent
 * @flight: whose answer it is; those of flights before it come before
 * @count: how many
 * @wanted: bytes of the answer; 0: none; 1 if it is packed: the first mask
 * @groups: of a packed answer; 0: it is not packed
 * @stamper: its @after is called when the answer begins; may be NULL
 *
 * Return: 0, -EIO if the port does not take them, -ENODEV if it is gone.
 */
int litepulse_line_send(struct litepulse_link *link, struct litepulse_flight *flight,
			unsigned int count, unsigned int wanted, unsigned int groups,
			const struct litepulse_stamper *stamper)
{
	unsigned long end = jiffies + msecs_to_jiffies(SEND_MS);
	const u8 *bytes = link->out;
	int sent;

	litepulse_line_expect(link, flight, wanted, groups, stamper);
	for (;;) {
		WRITE_ONCE(link->room, false);
		sent = litepulse_line_send_some(link, bytes, count);
		if (sent < 0 || (unsigned int)sent == count)
			break;
		bytes += sent;
		count -= sent;
		if (time_after(jiffies, end)) {
			sent = -EIO;
			break;
		}
		/* Not every port reports that it has room. */
		wait_event_idle_timeout(link->wait, READ_ONCE(link->room) || READ_ONCE(link->gone),
					msecs_to_jiffies(ROOM_MS));
	}
	if (sent >= 0)
		return 0;
	/* Nobody waits for an answer any more: @stamper lives on the caller's stack. */
	litepulse_line_expect(link, flight, 0, 0, NULL);
	return sent == -ENODEV ? sent : -EIO;
}

/**
 * litepulse_line_await() - waits for the answer to come whole
 * @link: the bus is held
 * @flight: no other was sent before it whose answer has not been awaited
 * @ms: so long
 *
 * Return: 0, -EIO if it has not, -ENODEV.
 */
int litepulse_line_await(struct litepulse_link *link, struct litepulse_flight *flight,
			 unsigned int ms)
{
	long left = wait_event_idle_timeout(link->wait, litepulse_line_is_over(link, flight),
					    msecs_to_jiffies(ms) + 1);

	spin_lock_irq(&link->lock);
	flight->wanted = 0;
	flight->groups = 0;
	flight->stamper = NULL;
	if (!left)
		link->stray += flight->got;
	spin_unlock_irq(&link->lock);
	if (READ_ONCE(link->gone))
		return -ENODEV;
	return left ? 0 : -EIO;
}

/**
 * litepulse_line_next() - the oldest flight is over, or forgotten
 * @link: the bus is held
 */
void litepulse_line_next(struct litepulse_link *link)
{
	struct litepulse_flight *flight = litepulse_link_flight(link, 0);

	spin_lock_irq(&link->lock);
	flight->wanted = 0;
	link->oldest = (link->oldest + 1) % LITEPULSE_FLIGHTS;
	spin_unlock_irq(&link->lock);
}

/**
 * litepulse_line_silence() - waits until nothing came for a while
 * @link: the bus is held; nothing is sent meanwhile
 * @ms: so long
 *
 * Return: 0, -EIO if there is no silence, -ENODEV.
 */
int litepulse_line_silence(struct litepulse_link *link, unsigned int ms)
{
	unsigned long begun = jiffies, end = begun + msecs_to_jiffies(ms + NOISE_MS), since;
	long left = 0;

	while (!READ_ONCE(link->gone)) {
		since = READ_ONCE(link->last_byte);
		if (time_before(since, begun))
			since = begun;
		left = since + msecs_to_jiffies(ms) + 1 - jiffies;
		if (left <= 0 || time_after(jiffies, end))
			break;
		wait_event_idle_timeout(link->wait, READ_ONCE(link->gone), left);
	}
	if (READ_ONCE(link->gone))
		return -ENODEV;
	WRITE_ONCE(link->stray, 0);
	return left <= 0 ? 0 : -EIO;
}

/**
 * litepulse_line_set_baud() - another bit rate, when all that was written has left
 * @link: the bus is held
 * @baud: bits per second
 *
 * Return: 0; -EINVAL if the port cannot do it, which then is as it was; -ENODEV.
 */
int litepulse_line_set_baud(struct litepulse_link *link, unsigned int baud)
{
	struct ktermios settings;
	int error = -ENODEV;

	mutex_lock(&link->line);
	if (link->tty) {
		tty_wait_until_sent(link->tty, msecs_to_jiffies(LITEPULSE_DRAIN_MS));
		/* What adapters say has left may still be in their own FIFO. */
		msleep(LITEPULSE_ADAPTER_MS);
		settings = link->tty->termios;
		tty_termios_encode_baud_rate(&settings, baud, baud);
		tty_set_termios(link->tty, &settings);
		/* Within 2 %: bridge and host may differ by 3. */
		error = abs((int)tty_get_baud_rate(link->tty) - (int)baud) <= baud / 50 ? 0 :
											  -EINVAL;
		if (error) {
			tty_termios_encode_baud_rate(&settings, link->baud, link->baud);
			tty_set_termios(link->tty, &settings);
		} else {
			link->baud = baud;
		}
	}
	mutex_unlock(&link->line);
	return error;
}

/* Takes the bytes of @count that belong to the answer; returns how many. Under lock. */
static unsigned int litepulse_line_take_answer(struct litepulse_flight *flight, const u8 *bytes,
					       unsigned int count)
{
	unsigned int taken = 0, part;

	if (count && flight->wanted && !flight->got) {
		flight->times.after = ktime_get_ns();
		if (flight->stamper)
			flight->stamper->after(flight->stamper->data);
	}
	while (taken < count && flight->got < flight->wanted) {
		part = min(count - taken, flight->wanted - flight->got);
		memcpy(flight->buffer + flight->got, bytes + taken, part);
		WRITE_ONCE(flight->got, flight->got + part);
		taken += part;
		if (flight->got < flight->wanted)
			break;
		if (!flight->groups) {
			WRITE_ONCE(flight->whole, true);
			break;
		}
		flight->groups--;
		flight->wanted += hweight8(flight->buffer[flight->got - 1]) +
			(flight->groups ? 1 : LITEPULSE_TRAILER_BYTES);
	}
	return taken;
}

/*
 * Bytes come by receive_buf2 only. TIOCSTI would feed receive_buf: a process whose controlling tty
 * the port is could forge the board's answers.
 */
static void litepulse_line_receive(struct litepulse_link *link, const u8 *bytes, const u8 *faults,
				   unsigned int count)
{
	bool damaged = false, whole = false;
	unsigned int taken = 0, i;
	unsigned long flags;

	for (i = 0; faults && i < count; i++)
		damaged |= faults[i] != TTY_NORMAL;
	spin_lock_irqsave(&link->lock, flags);
	for (i = 0; i < LITEPULSE_FLIGHTS; i++) {
		struct litepulse_flight *flight = litepulse_link_flight(link, i);

		taken += litepulse_line_take_answer(flight, bytes + taken, count - taken);
		whole |= flight->whole;
	}
	WRITE_ONCE(link->stray, link->stray + (damaged ? count : count - taken));
	WRITE_ONCE(link->last_byte, jiffies);
	spin_unlock_irqrestore(&link->lock, flags);
	if (whole)
		wake_up(&link->wait);
}

#ifdef LITEPULSE_LDISC_HAS_U8 /* says Kbuild */
static size_t litepulse_line_receive_buf(struct tty_struct *tty, const u8 *bytes, const u8 *faults,
					 size_t count)
{
	litepulse_line_receive(tty->disc_data, bytes, faults, count);
	return count;
}
#else
static int litepulse_line_receive_buf(struct tty_struct *tty, const unsigned char *bytes,
				      const char *faults,
				      int count)
{
	litepulse_line_receive(tty->disc_data, bytes, (const u8 *)faults, count);
	return count;
}
#endif

static void litepulse_line_write_wakeup(struct tty_struct *tty)
{
	struct litepulse_link *link = tty->disc_data;

	clear_bit(TTY_DO_WRITE_WAKEUP, &tty->flags);
	WRITE_ONCE(link->room, true);
	wake_up(&link->wait);
}

/* --- what a person sees of the link ---------------------------------------------------------- */

static struct litepulse_link *litepulse_line_to_link(struct device *dev)
{
	const struct litepulse_platform_data *data = dev_get_platdata(dev);

	return data->context;
}

static ssize_t port_show(struct device *dev, struct device_attribute *attribute,
			 char *text)
{
	return sysfs_emit(text, "%s\n", litepulse_line_to_link(dev)->name);
}
static DEVICE_ATTR_RO(port);

static ssize_t baud_show(struct device *dev, struct device_attribute *attribute,
			 char *text)
{
	return sysfs_emit(text, "%u\n", READ_ONCE(litepulse_line_to_link(dev)->baud));
}

static ssize_t baud_store(struct device *dev, struct device_attribute *attribute,
			  const char *text, size_t count)
{
	struct litepulse_link *link = litepulse_line_to_link(dev);
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
	return sysfs_emit(text, "%d\n", READ_ONCE(litepulse_line_to_link(dev)->framed));
}
static DEVICE_ATTR_RO(checked);

static ssize_t packed_show(struct device *dev, struct device_attribute *attribute,
			   char *text)
{
	return sysfs_emit(text, "%d\n", READ_ONCE(litepulse_line_to_link(dev)->packs));
}
static DEVICE_ATTR_RO(packed);

static ssize_t litepulse_line_store_us(const char *text, size_t count, unsigned int *us)
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
	return sysfs_emit(text, "%u\n", READ_ONCE(litepulse_line_to_link(dev)->poll_us));
}

static ssize_t poll_us_store(struct device *dev, struct device_attribute *attribute,
			     const char *text, size_t count)
{
	return litepulse_line_store_us(text, count, &litepulse_line_to_link(dev)->poll_us);
}
static DEVICE_ATTR_RW(poll_us);

static ssize_t idle_us_show(struct device *dev, struct device_attribute *attribute,
			    char *text)
{
	return sysfs_emit(text, "%u\n", READ_ONCE(litepulse_line_to_link(dev)->idle_us));
}

static ssize_t idle_us_store(struct device *dev, struct device_attribute *attribute,
			     const char *text, size_t count)
{
	return litepulse_line_store_us(text, count, &litepulse_line_to_link(dev)->idle_us);
}
static DEVICE_ATTR_RW(idle_us);

/* A counter of the link, which changes under the bus. */
static ssize_t litepulse_line_show_count(struct litepulse_link *link, const u64 *count, char *text)
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
	struct litepulse_link *link = litepulse_line_to_link(dev);

	return litepulse_line_show_count(link, &link->transactions, text);
}
static DEVICE_ATTR_RO(transactions);

static ssize_t repeats_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	struct litepulse_link *link = litepulse_line_to_link(dev);

	return litepulse_line_show_count(link, &link->repeats, text);
}
static DEVICE_ATTR_RO(repeats);

static ssize_t failures_show(struct device *dev, struct device_attribute *attribute, char *text)
{
	struct litepulse_link *link = litepulse_line_to_link(dev);

	return litepulse_line_show_count(link, &link->failures, text);
}
static DEVICE_ATTR_RO(failures);

static ssize_t round_trip_ns_show(struct device *dev, struct device_attribute *attribute,
				  char *text)
{
	struct litepulse_link *link = litepulse_line_to_link(dev);

	return litepulse_line_show_count(link, &link->round_trip_ns, text);
}
static DEVICE_ATTR_RO(round_trip_ns);

static struct attribute *litepulse_line_attributes[] = {
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

static const struct attribute_group litepulse_line_group = {
	.name = "uartbone",
	.attrs = litepulse_line_attributes,
};

static const struct attribute_group *litepulse_line_groups[] = { &litepulse_line_group, NULL };

/* --- life of the platform device ------------------------------------------------------------- */

static void litepulse_line_free_link(struct litepulse_link *link)
{
	unsigned int i;

	put_device(link->port_dev);
	kvfree(link->words);
	for (i = 0; i < LITEPULSE_FLIGHTS; i++)
		kvfree(link->flights[i].buffer);
	kfree(link);
}

static void litepulse_line_add_device(struct litepulse_link *link)
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
	pdev->dev.groups = litepulse_line_groups;
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

static void litepulse_line_work(struct work_struct *work)
{
	struct litepulse_link *link = container_of(work, struct litepulse_link, work);

	if (!READ_ONCE(link->gone)) {
		litepulse_line_add_device(link);
		return;
	}
	if (link->pdev && link->port_dev)
		device_link_remove(&link->pdev->dev, link->port_dev);
	if (link->pdev)
		platform_device_unregister(link->pdev);
	litepulse_line_free_link(link);
}

static int litepulse_line_open(struct tty_struct *tty)
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
		litepulse_line_free_link(link);
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
	INIT_WORK(&link->work, litepulse_line_work);
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

static void litepulse_line_close(struct tty_struct *tty)
{
	struct litepulse_link *link = tty->disc_data;

	WRITE_ONCE(link->gone, true);
	wake_up_all(&link->wait);
	/* Whoever is in a function of the port's driver leaves it, and nobody comes any more. */
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
static __poll_t litepulse_line_poll(struct tty_struct *tty, struct file *file,
				    struct poll_table_struct *wait)
{
	poll_wait(file, &tty->read_wait, wait);
	return tty_hung_up_p(file) || test_bit(TTY_OTHER_CLOSED, &tty->flags) ? EPOLLHUP : 0;
}

/* Settings can be looked at, but a change would cut the link. */
static int litepulse_line_ioctl(struct tty_struct *tty, unsigned int command,
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

static struct tty_ldisc_ops litepulse_line_ops = {
	.owner = THIS_MODULE,
	.name = "litepulse",
	.open = litepulse_line_open,
	.close = litepulse_line_close,
	.ioctl = litepulse_line_ioctl,
	.poll = litepulse_line_poll,
	.receive_buf2 = litepulse_line_receive_buf,
	.write_wakeup = litepulse_line_write_wakeup,
};

static int __init litepulse_line_init(void)
{
	int error;

	workers = alloc_workqueue("litepulse_uartbone", WQ_UNBOUND | WQ_FREEZABLE, 0);
	if (!workers)
		return -ENOMEM;
	litepulse_line_ops.num = number;
	error = tty_register_ldisc(&litepulse_line_ops);
	if (error) {
		pr_err("line discipline %d: error %d\n", number, error);
		destroy_workqueue(workers);
	}
	return error;
}
module_init(litepulse_line_init);

static void __exit litepulse_line_exit(void)
{
	tty_unregister_ldisc(&litepulse_line_ops);
	destroy_workqueue(workers);
}
module_exit(litepulse_line_exit);

MODULE_DESCRIPTION("LitePulse behind a serial port: line discipline for LiteX UARTBone");
MODULE_VERSION(LITEPULSE_VERSION);
MODULE_AUTHOR("The LitePulse authors");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(LITEPULSE_NAMESPACE);
MODULE_ALIAS_LDISC(LITEPULSE_LDISC);
