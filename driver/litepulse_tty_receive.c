// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/ttyPULSEn: receiving
 *
 * A sink gets the bytes, mostly in the hard interrupt. How many of them an
 * interrupt brings is set in sysfs, beside the tty (/sys/class/tty/ttyPULSEn/):
 *   rx_trig_bytes    this many bytes (128), or
 *   rx_trig_age_us   the oldest has waited this long (10000); 0: forever, or
 *   rx_trig_idle_us  none came for this long; 0: forever; "auto", as it is at first: four frames.
 *                    Reads what it is now
 *   interrupts_max   this many a second, about; beyond, they wait for each other (1000). Of the
 *                    chardev's events, too
 * So a byte that no other follows is delivered after four frames, and at full rate 128 share an
 * interrupt from 128 kbaud on; below, the age limits how many. A reader of the chardev can make
 * it sooner, never later.
 */
#include <linux/bitfield.h>
#include <linux/device.h>
#include <linux/kstrtox.h>
#include <linux/kthread.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/serial_core.h>
#include <linux/sysfs.h>
#include <linux/tty.h>
#include <linux/tty_flip.h>

#include "litepulse_compat.h"
#include "litepulse_sink.h"
#include "litepulse_tty_port.h"

/* This many received bytes at a time are carried by the thread of the port, at most. */
#define CARRIED			32u

#define TRIGGER_BYTES		128u
#define TRIGGER_AGE_US		10000
#define TRIGGER_FRAMES		4
#define TRIGGER_MAX_US		USEC_PER_SEC
/*
 * Interrupts a second before they are moderated: at first; at least, with low_latency, which is for
 * bytes one by one up to 38400 baud; what can be set.
 */
#define INTERRUPTS_MAX		1000
#define INTERRUPTS_LOW_LATENCY	4000u
#define INTERRUPTS_LEAST	100
#define INTERRUPTS_MOST		100000

#define RX_ERRORS		(LITEPULSE_RX_PARITY | LITEPULSE_RX_FRAMING | LITEPULSE_RX_BREAK)

/* litepulse.feed.lock and port.lock are held. */
static void litepulse_tty_receive_insert(struct litepulse_tty *t, u8 data, u8 flag)
{
	if (tty_insert_flip_char(&t->port.state->port, data, flag))
		t->inserted++;
	else
		t->port.icount.buf_overrun++;
}

/*
 * Whether a byte or a break is part of a request to the kernel, whose console this is. What the
 * port itself has sent is none. litepulse.feed.lock and port.lock are held.
 */
static bool litepulse_tty_receive_is_sysrq(struct litepulse_tty *t, u8 data, u8 flags)
{
	if (!t->console || flags & LITEPULSE_RX_OWN)
		return false;
	if (flags & LITEPULSE_RX_BREAK)
		return uart_handle_break(&t->port);
	if (!uart_prepare_sysrq_char(&t->port, data))
		return false;
	WRITE_ONCE(t->lp->feed.sysrq, true);
	return true;
}

/* Begins what was requested, with no lock held. */
void litepulse_tty_receive_sysrq(struct litepulse *lp)
{
	struct litepulse_tty *t = READ_ONCE(lp->tty);
	unsigned long flags;

	WRITE_ONCE(lp->feed.sysrq, false);
	if (!t)
		return;
	uart_port_lock_irqsave(&t->port, &flags);
	uart_unlock_and_check_sysrq_irqrestore(&t->port, flags);
}

static void litepulse_tty_receive_one(struct litepulse_tty *t, u8 data, u8 flags)
{
	struct uart_port *port = &t->port;
	u32 status = flags & RX_ERRORS;
	u8 flag = TTY_NORMAL;

	if (!t->receiving || (t->drop_own && flags & LITEPULSE_RX_OWN))
		return;
	port->icount.rx++;
	if (status) {
		if (status & LITEPULSE_RX_BREAK) {
			status = LITEPULSE_RX_BREAK;
			port->icount.brk++;
		}
		if (status & LITEPULSE_RX_PARITY)
			port->icount.parity++;
		if (status & LITEPULSE_RX_FRAMING)
			port->icount.frame++;
		if (status & port->read_status_mask & LITEPULSE_RX_BREAK)
			flag = TTY_BREAK;
		else if (status & port->read_status_mask & LITEPULSE_RX_PARITY)
			flag = TTY_PARITY;
		else if (status & port->read_status_mask & LITEPULSE_RX_FRAMING)
			flag = TTY_FRAME;
	}
	if (litepulse_tty_receive_is_sysrq(t, data, flags))
		return;
	/* Without INPCK a byte has no parity that IGNPAR could find wrong. */
	status &= port->read_status_mask;
	if ((status | LITEPULSE_TTY_RX_ANY) & port->ignore_status_mask)
		return;
	litepulse_tty_receive_insert(t, data, flag);
}

/* Bytes without an error in a row, straight into the tty's buffer. */
static void litepulse_tty_receive_insert_run(struct litepulse_tty *t, const u32 *words,
					     unsigned int count)
{
	struct tty_port *buffer = &t->port.state->port;
	unsigned int room, i;
	u8 *chars;

	t->port.icount.rx += count;
	/* A byte that comes alone is in soonest without calls, and most of those do. */
	if (count == 1) {
		const u8 byte = litepulse_record_byte(words[LITEPULSE_RECEIVE_INFO / 4]);

		litepulse_tty_receive_insert(t, byte, TTY_NORMAL);
		return;
	}
	room = tty_prepare_flip_string(buffer, &chars, count);
	words += LITEPULSE_RECEIVE_INFO / 4;
	for (i = 0; i < room; i++, words += LITEPULSE_RECEIVE_WORDS)
		chars[i] = litepulse_record_byte(*words);
	t->inserted += room;
	t->port.icount.buf_overrun += count - room;
}

/* How many were lost behind the bytes that came; litepulse.feed.lock and port.lock are held. */
static void litepulse_tty_receive_lost(struct litepulse_tty *t, u64 lost)
{
	struct uart_port *port = &t->port;

	port->icount.overrun += lost;
	if (port->read_status_mask & ~port->ignore_status_mask & LITEPULSE_TTY_RX_OVERRUN)
		litepulse_tty_receive_insert(t, 0, TTY_OVERRUN);
}

/* litepulse.feed.lock is held. */
static void litepulse_tty_receive_put(struct litepulse_sink *sink,
				      const struct litepulse_record *record,
				      u32 data, const struct litepulse_stamp *stamp)
{
	struct litepulse_tty *t = container_of(sink, struct litepulse_tty, sink);
	unsigned long flags;

	uart_port_lock_irqsave(&t->port, &flags);
	if (record->kind == LITEPULSE_KIND_RX)
		litepulse_tty_receive_one(t, data, record->flags);
	else if (t->receiving && record->kind == LITEPULSE_KIND_LOST)
		litepulse_tty_receive_lost(t, record->count);
	uart_port_unlock_irqrestore(&t->port, flags);
}

/* Bits of the info word of a byte that cannot simply be put into the tty's buffer. */
static u32 litepulse_tty_receive_special(const struct litepulse_tty *t)
{
	/* All of them are dropped. */
	if (t->port.ignore_status_mask & LITEPULSE_TTY_RX_ANY)
		return 0;
	/* Behind a break each may be a request. */
	if (t->port.sysrq)
		return 0;
	return LITEPULSE_RECEIVE_INFO_OVERFLOW_MASK | LITEPULSE_RECEIVE_INFO_PARITY_ERROR_MASK |
	       LITEPULSE_RECEIVE_INFO_FRAMING_ERROR_MASK | LITEPULSE_RECEIVE_INFO_BREAK_MASK |
	       (t->drop_own ? LITEPULSE_RECEIVE_INFO_OWN_MASK : 0);
}

/* One record of @words that is a byte; false if it is none. */
static bool litepulse_tty_receive_take_special(struct litepulse_tty *t, const u32 *words)
{
	const u32 info = words[LITEPULSE_RECEIVE_INFO / 4];

	if (!litepulse_record_is_byte(info))
		return false;
	litepulse_tty_receive_one(t, litepulse_record_byte(info),
				  litepulse_record_byte_flags(info));
	return true;
}

static unsigned int litepulse_tty_receive_take_plain(struct litepulse_sink *sink,
						     struct litepulse_sequence *sequence,
						     const u32 *words, unsigned int count)
{
	struct litepulse_tty *t = container_of(sink, struct litepulse_tty, sink);
	unsigned int taken = 0, run;
	unsigned long flags;
	u32 special;

	/* Of a byte that may be older the tick counts. */
	if (sequence->since || sink->since[LITEPULSE_BYTES])
		return 0;
	uart_port_lock_irqsave(&t->port, &flags);
	special = litepulse_tty_receive_special(t);
	while (taken < count) {
		for (run = 0; special && taken + run < count; run++) {
			if (words[run * LITEPULSE_RECEIVE_WORDS + LITEPULSE_RECEIVE_INFO / 4] &
			    special)
				break;
		}
		if (run) {
			if (t->receiving)
				litepulse_tty_receive_insert_run(t, words, run);
		} else {
			if (!litepulse_tty_receive_take_special(t, words))
				break;
			special = litepulse_tty_receive_special(t);
			run = 1;
		}
		words += run * LITEPULSE_RECEIVE_WORDS;
		taken += run;
	}
	uart_port_unlock_irqrestore(&t->port, flags);
	sequence->next += taken;
	sink->got |= taken;
	return taken;
}

/*
 * Does the work of the tty's workqueue. The tty stays while this runs, closed or not: close() waits
 * for the workqueue only.
 */
static void litepulse_tty_receive_carry(struct kthread_work *work)
{
	struct litepulse_tty *t = container_of(work, struct litepulse_tty, carry);
	struct tty_port *buffer = &t->port.state->port;
	struct tty_struct *tty = tty_port_tty_get(buffer);

	if (!tty)
		return;
	buffer->buf.work.func(&buffer->buf.work);
	tty_kref_put(tty);
}

/*
 * Some bytes are carried to the line discipline by a thread of ours, of the priority that a
 * threaded interrupt has: a worker has to wait for other programs, and takes longer to wake. Many
 * bytes take a worker, so that programs get their turn. litepulse.feed.lock is held: nothing else
 * inserts anything.
 */
static void litepulse_tty_receive_done(struct litepulse_sink *sink)
{
	struct litepulse_tty *t = container_of(sink, struct litepulse_tty, sink);
	struct tty_port *buffer = &t->port.state->port;
	const unsigned int inserted = t->inserted;

	t->inserted = 0;
	if (!inserted)
		return;
	if (!t->carrier || inserted > CARRIED || work_pending(&buffer->buf.work)) {
		tty_flip_buffer_push(buffer);
		return;
	}
	/* As tty_flip_buffer_push() does. */
	smp_store_release(&buffer->buf.tail->commit, buffer->buf.tail->used);
	kthread_queue_work(t->carrier, &t->carry);
}

/*
 * Drops bytes that had been received by that tick: the board stamps them with their start edge, and
 * has them in the middle of their stop bit. setup.mutex is held.
 */
void litepulse_tty_receive_skip(struct litepulse_tty *t, u64 now)
{
	unsigned int halves = 2 * (6 + FIELD_GET(LITEPULSE_CFG_PROFILE_FORMAT_DATA_BITS_MASK,
						 t->format)) + 1;
	u64 ticks;

	if (FIELD_GET(LITEPULSE_CFG_PROFILE_FORMAT_PARITY_MASK, t->format) !=
	    LITEPULSE_PARITY_NONE)
		halves += 2;
	ticks = (t->period * halves) >> 9;
	if (now > ticks)
		litepulse_sink_skip_bytes(t->lp, &t->sink, now - ticks);
}

void litepulse_tty_receive_stop_rx(struct uart_port *port)
{
	litepulse_tty_of(port)->receiving = false;
}

/* The thread that carries received bytes. 0 or an error. */
static int litepulse_tty_receive_make_carrier(struct litepulse_tty *t)
{
	struct kthread_worker *carrier;

	/* Bytes over a cable have waited for other threads already. */
	if (t->lp->ops->sleeps)
		return 0;
	carrier = kthread_run_worker(0, "litepulse%d-tty", t->lp->id);
	if (IS_ERR(carrier))
		return PTR_ERR(carrier);
	sched_set_fifo(carrier->task);
	t->carrier = carrier;
	return 0;
}

void litepulse_tty_receive_end_carrier(struct litepulse_tty *t)
{
	if (t->carrier)
		kthread_destroy_worker(t->carrier);
	t->carrier = NULL;
}

/**
 * litepulse_tty_receive_init - prepares a port to receive, with the settings that it has at first
 * @t: its @lp is set
 *
 * Return: 0 or an error: there is no thread that carries bytes.
 */
int litepulse_tty_receive_init(struct litepulse_tty *t)
{
	t->trigger.level = min(TRIGGER_BYTES, t->lp->receive_depth / 2);
	t->trigger.age_us = TRIGGER_AGE_US;
	t->interrupts_max = INTERRUPTS_MAX;
	t->lp->setup.interrupts_max = INTERRUPTS_MAX;
	t->idle_auto = true;
	t->sink.name = "tty";
	t->sink.put = litepulse_tty_receive_put;
	t->sink.take_plain[LITEPULSE_BYTES] = litepulse_tty_receive_take_plain;
	t->sink.done = litepulse_tty_receive_done;
	litepulse_sink_init(&t->sink);
	kthread_init_work(&t->carry, litepulse_tty_receive_carry);
	return litepulse_tty_receive_make_carrier(t);
}

/* --- how many bytes an interrupt brings ------------------------------------------------------- */

/* The moderation that the transport gets while the tty is open. */
struct litepulse_moderation litepulse_tty_receive_moderation(struct litepulse_tty *t)
{
	struct litepulse_moderation wish = t->trigger;

	if (t->low_latency)
		return (struct litepulse_moderation){ .level = 1 };
	if (t->idle_auto) {
		wish.idle_us = DIV_ROUND_UP(t->port.frame_time, NSEC_PER_USEC) * TRIGGER_FRAMES;
		if (wish.age_us)
			wish.idle_us = min(wish.idle_us, wish.age_us);
	}
	return wish;
}

/* What the sink of an open tty subscribes to; setup.mutex is held. */
struct litepulse_subscribe litepulse_tty_receive_wanted(struct litepulse_tty *t)
{
	const struct litepulse_moderation now = litepulse_tty_receive_moderation(t);

	return (struct litepulse_subscribe){
		.kinds = BIT(LITEPULSE_KIND_RX),
		.watermark = now.level,
		.timeout_us = now.age_us,
		.clock = LITEPULSE_CLOCK_NONE,
	};
}

/* setup.mutex is held. */
void litepulse_tty_receive_moderate(struct litepulse_tty *t)
{
	struct litepulse *lp = t->lp;
	unsigned long flags;

	spin_lock_irqsave(&lp->feed.lock, flags);
	if (t->sink.want.kinds)
		t->sink.want = litepulse_tty_receive_wanted(t);
	t->sink.idle_us = litepulse_tty_receive_moderation(t).idle_us;
	spin_unlock_irqrestore(&lp->feed.lock, flags);
	WRITE_ONCE(lp->setup.interrupts_max, t->low_latency ?
					       max(t->interrupts_max, INTERRUPTS_LOW_LATENCY) :
					       t->interrupts_max);
	litepulse_sink_moderate(lp);
}

static int litepulse_tty_receive_set_trigger(struct litepulse_tty *t,
					     const struct litepulse_moderation *trigger,
					     bool idle_auto)
{
	struct litepulse *lp = t->lp;
	int error;

	if (!trigger->level || trigger->level > lp->receive_depth ||
	    trigger->age_us > TRIGGER_MAX_US || trigger->idle_us > TRIGGER_MAX_US)
		return -EINVAL;
	/* A byte would wait for others that may never come. */
	if (trigger->level > 1 && !trigger->age_us && !trigger->idle_us && !idle_auto)
		return -EINVAL;
	error = mutex_lock_killable(&lp->setup.mutex);
	if (error)
		return error;
	t->trigger = *trigger;
	t->idle_auto = idle_auto;
	litepulse_tty_receive_moderate(t);
	mutex_unlock(&lp->setup.mutex);
	return 0;
}

/* tty_port.mutex is held. */
static struct litepulse_tty *litepulse_tty_receive_of_port(struct tty_port *tty)
{
	struct uart_port *port = container_of(tty, struct uart_state, port)->uart_port;

	return port ? litepulse_tty_of(port) : NULL;
}

/* The attributes, and what each sets. */
enum { BYTES, AGE, IDLE };

static unsigned int *litepulse_tty_receive_member(struct litepulse_moderation *trigger,
						  const struct device_attribute *attr)
{
	switch ((uintptr_t)container_of(attr, struct dev_ext_attribute, attr)->var) {
	case BYTES:
		return &trigger->level;
	case AGE:
		return &trigger->age_us;
	default:
		return &trigger->idle_us;
	}
}

static ssize_t litepulse_tty_receive_trigger_show(struct device *dev, struct device_attribute *attr,
						  char *buf)
{
	struct tty_port *tty = dev_get_drvdata(dev);
	struct litepulse_moderation now;
	struct litepulse_tty *t;
	ssize_t length = -ENODEV;

	mutex_lock(&tty->mutex);
	t = litepulse_tty_receive_of_port(tty);
	if (t) {
		now = litepulse_tty_receive_moderation(t);
		length = sysfs_emit(buf, "%u\n", *litepulse_tty_receive_member(&now, attr));
	}
	mutex_unlock(&tty->mutex);
	return length;
}

static ssize_t litepulse_tty_receive_trigger_store(struct device *dev,
						   struct device_attribute *attr,
						   const char *buf, size_t count)
{
	struct tty_port *tty = dev_get_drvdata(dev);
	struct litepulse_moderation trigger;
	unsigned int value = 0, *place;
	struct litepulse_tty *t;
	bool idle_auto = false;
	int error = -ENODEV;

	mutex_lock(&tty->mutex);
	t = litepulse_tty_receive_of_port(tty);
	if (!t)
		goto unlock;
	trigger = t->trigger;
	place = litepulse_tty_receive_member(&trigger, attr);
	if (place == &trigger.idle_us)
		idle_auto = sysfs_streq(buf, "auto");
	else
		idle_auto = t->idle_auto;
	if (place != &trigger.idle_us || !idle_auto) {
		error = kstrtouint(buf, 0, &value);
		if (error)
			goto unlock;
	}
	*place = value;
	error = litepulse_tty_receive_set_trigger(t, &trigger, idle_auto);
unlock:
	mutex_unlock(&tty->mutex);
	return error ?: count;
}

static struct dev_ext_attribute rx_trig_bytes = {
	__ATTR(rx_trig_bytes, 0644, litepulse_tty_receive_trigger_show,
	       litepulse_tty_receive_trigger_store),
	(void *)BYTES
};

static struct dev_ext_attribute rx_trig_age_us = {
	__ATTR(rx_trig_age_us, 0644, litepulse_tty_receive_trigger_show,
	       litepulse_tty_receive_trigger_store),
	(void *)AGE
};

static struct dev_ext_attribute rx_trig_idle_us = {
	__ATTR(rx_trig_idle_us, 0644, litepulse_tty_receive_trigger_show,
	       litepulse_tty_receive_trigger_store),
	(void *)IDLE
};

static ssize_t interrupts_max_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct tty_port *tty = dev_get_drvdata(dev);
	struct litepulse_tty *t;
	ssize_t length = -ENODEV;

	mutex_lock(&tty->mutex);
	t = litepulse_tty_receive_of_port(tty);
	if (t)
		length = sysfs_emit(buf, "%u\n", t->interrupts_max);
	mutex_unlock(&tty->mutex);
	return length;
}

static ssize_t interrupts_max_store(struct device *dev, struct device_attribute *attr,
				    const char *buf, size_t count)
{
	struct tty_port *tty = dev_get_drvdata(dev);
	struct litepulse_tty *t;
	unsigned int value;
	int error;

	error = kstrtouint(buf, 0, &value);
	if (error)
		return error;
	if (value < INTERRUPTS_LEAST || value > INTERRUPTS_MOST)
		return -EINVAL;
	mutex_lock(&tty->mutex);
	t = litepulse_tty_receive_of_port(tty);
	error = t ? mutex_lock_killable(&t->lp->setup.mutex) : -ENODEV;
	if (!error) {
		t->interrupts_max = value;
		litepulse_tty_receive_moderate(t);
		mutex_unlock(&t->lp->setup.mutex);
	}
	mutex_unlock(&tty->mutex);
	return error ?: count;
}
static DEVICE_ATTR_RW(interrupts_max);

static struct attribute *trigger_attrs[] = {
	&rx_trig_bytes.attr.attr,
	&rx_trig_age_us.attr.attr,
	&rx_trig_idle_us.attr.attr,
	&dev_attr_interrupts_max.attr,
	NULL
};

struct attribute_group litepulse_tty_receive_group = { .attrs = trigger_attrs };
