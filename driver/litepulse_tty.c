// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/ttyPULSEn through serial core
 *
 * It owns line profile 0 and the best-effort bytes; launches, train and responder know nothing
 * of it.
 *
 * Sending: bytes are copied from the port's buffer into the core's FIFO. The last one copied
 * stays in the buffer, too, until the core says that all have left: so chars_in_buffer, on which
 * tcdrain() waits without a limit, is not 0 before, however long a train leaves no room for
 * them. Serial core's own wait for the transmitter would give up.
 * At most BURST_NS worth of bytes, but BURST_BYTES at least, are in the core at once, so that an
 * XON or XOFF character is not far behind. While output is stopped they wait in the core; such a
 * character that is sent then takes them along.
 *
 * A transport that sleeps cannot be called under port.lock: then a worker does what else is done
 * on the spot. Both do it in steps: plan() and done() under the lock, act() at the hardware.
 *
 * Receiving: records come from ingest, mostly in the hard interrupt. How many of them an
 * interrupt brings is set in sysfs, beside the tty (/sys/class/tty/ttyPULSEn/):
 *   rx_trig_bytes    so many bytes (128), or
 *   rx_trig_age_us   the oldest has waited so long (10000); 0: for ever, or
 *   rx_trig_idle_us  none came for so long; 0: for ever; "auto", as it is at first: four frames.
 *                    Reads what it is now
 * So a byte that no other follows is delivered after four frames, and at full rate 128 share an
 * interrupt from 128 kbaud on; below, the age limits how many. A reader of the chardev can make
 * it sooner, never later.
 *
 * A break of tcsendbreak() is one launch, of exactly so many ticks, while nobody has the claim and
 * nothing timed runs or waits. Else it is made of two settings, as one of TIOCSBRK is.
 * RTS, DTR and their inputs do not exist. `de` is always driven by the core; RS-485 sets its lead
 * and lag, and without SER_RS485_RX_DURING_TX bytes that came while we sent are dropped here (the
 * chardev has them). TIOCM_LOOP acts only while RS-485 is off: else serial core does not tell us.
 */
#include <linux/bitfield.h>
#include <linux/cdev.h>
#include <linux/delay.h>
#include <linux/device.h>
#include <linux/kstrtox.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/serial.h>
#include <linux/serial_core.h>
#include <linux/sysfs.h>
#include <linux/tty.h>
#include <linux/tty_flip.h>

#include "litepulse.h"
#include "litepulse_compat.h"

/* Ours alone; the numbers of <linux/serial_core.h> are for drivers in the kernel. */
#define PORT_LITEPULSE		0x4c50

#define DEFAULT_BAUD		9600
/* In the core at once: so many ns worth of bytes, but at least so many. */
#define BURST_NS		10000000u
#define BURST_BYTES		64u
/* Copied at a time; they lie on the stack. */
#define CHUNK			64u

#define TRIGGER_BYTES		128u
#define TRIGGER_AGE_US		10000
#define TRIGGER_FRAMES		4
#define TRIGGER_MAX_US		USEC_PER_SEC

/* In read_status_mask and ignore_status_mask, beside LITEPULSE_RX_*. */
#define RX_OVERRUN		BIT(8)
#define RX_ANY			BIT(9)
#define RX_ERRORS		(LITEPULSE_RX_PARITY | LITEPULSE_RX_FRAMING | LITEPULSE_RX_BREAK)

/* The core's limits of a bit period, in 2^-8 ticks; the lower one for each sample per cycle. */
#define PERIOD_MIN		(4 << 8)
#define PERIOD_HI_MAX		FIELD_MAX(LITEPULSE_CFG_PROFILE_FORMAT_PERIOD_HI_MASK)
#define PERIOD_MAX		(((PERIOD_HI_MAX + 1ULL) << 32) - 1)

/* A port. Lives as long as the driver is bound: longer than the transport hands over anything. */
struct litepulse_tty {
	struct uart_port port;
	struct litepulse *lp;
	unsigned int low;		/* WANT_TRANSMIT: at most so many bytes wait in the core */
	unsigned int baud_min;
	unsigned int baud_max;
	struct work_struct work;

	/* port.lock protects what follows, up to the next comment. */
	bool open;
	bool receiving;
	bool drop_own;			/* bytes that came while we sent */
	bool suspended;			/* shut down, to be opened again with all it had */
	bool stopped;			/* XOFF, tcflow(), suspend */
	bool released;			/* ... but not for what the core has, until all has left */
	bool held;			/* the buffer's first byte is in the core, or was */
	bool busy;			/* something in the core may not have left yet */
	bool full;			/* the core took less than it was given */
	bool flush;			/* the core must forget what it has */
	bool set_driver_enable;		/* ... and get this */
	u32 new_driver_enable;
	u32 driver_enable;		/* what it has: lead and lag */
	bool lead_known;		/* not so while a board goes on with a lead of before */
	bool train_runs;		/* or may: the core refuses another lead */
	unsigned int flushes;
	unsigned int ahead;		/* at most so many bytes are in the core */
	unsigned int burst;		/* at most so many should be */
	u32 wanted;			/* LITEPULSE_WANT_*: asked for */
	u32 told;			/* ... and come since */

	u32 echo;			/* its tail in ticks; litepulse.claim_mutex */

	/* litepulse.setup_mutex protects what follows. */
	u32 format;			/* of profile 0 */
	u64 period;
	struct litepulse_moderation trigger;
	bool idle_auto;
	bool low_latency;		/* each byte at once, as setserial(8) can ask for */
};

/* What is done next; by act() without the lock if the transport sleeps. */
struct step {
	bool flush;
	bool set_driver_enable;
	bool refused;			/* answer: it was, as a train runs */
	bool look;			/* whether all has left */
	bool idle;			/* answer: it has */
	bool x_char;
	u32 driver_enable;
	u32 want;
	unsigned int flushes;
	unsigned int skip;		/* of bytes: those in the core already */
	unsigned int count;
	int sent;			/* answer, or an error */
	u8 bytes[1 + CHUNK];
};

static struct litepulse_tty *to_litepulse_tty(struct uart_port *port)
{
	return container_of(port, struct litepulse_tty, port);
}

/* --- sending --------------------------------------------------------------------------------- */

static void hold(struct litepulse_tty *t)
{
	litepulse_set_line(t->lp, LITEPULSE_CFG_LINE_HOLD_TTY_MASK,
			   t->stopped && !t->released ? LITEPULSE_CFG_LINE_HOLD_TTY_MASK : 0);
}

/* Bytes of the port's buffer that are not in the core yet. */
static unsigned int unsent(struct litepulse_tty *t)
{
	return litepulse_xmit_pending(&t->port) - t->held;
}

static bool plan(struct litepulse_tty *t, struct step *step)
{
	bool more, waits;

	memset(step, 0, offsetof(struct step, bytes));
	if (!t->open)
		return false;
	if (t->told & LITEPULSE_WANT_TRANSMIT) {
		t->ahead = min(t->ahead, t->low);
		t->full = false;
	}
	step->look = t->busy && t->told & LITEPULSE_WANT_DRAINED;
	t->told = 0;
	step->flush = t->flush;
	t->flush = false;
	step->set_driver_enable = t->set_driver_enable;
	step->driver_enable = t->new_driver_enable;
	t->set_driver_enable = false;
	step->flushes = t->flushes;
	if (step->look || step->flush || step->set_driver_enable)
		return true;

	waits = t->full || t->wanted & LITEPULSE_WANT_TRANSMIT;
	more = t->port.x_char || (!t->stopped && unsent(t));
	if (t->port.x_char) {
		t->released = t->stopped;
		hold(t);
	}
	if (t->port.x_char && !t->full) {
		step->x_char = true;
		step->bytes[0] = t->port.x_char;
		step->count = 1;
	} else if (more && !waits && t->ahead < t->burst) {
		step->skip = t->held;
		step->count = min3(unsent(t), t->burst - t->ahead, CHUNK);
		litepulse_xmit_peek(&t->port, step->bytes, step->skip + step->count);
	}
	if (step->count) {
		t->busy = true;
		return true;
	}
	if (more)
		step->want = LITEPULSE_WANT_TRANSMIT & ~t->wanted;
	else if (t->busy)
		step->want = LITEPULSE_WANT_DRAINED & ~t->wanted;
	t->wanted |= step->want;
	return step->want;
}

static const struct litepulse_word flush_tty = {
	LITEPULSE_CFG_COMMAND, LITEPULSE_CFG_COMMAND_FLUSH_TTY_MASK
};

static void act(struct litepulse_tty *t, struct step *step)
{
	const struct litepulse_word enable = { LITEPULSE_CFG_DRIVER_ENABLE, step->driver_enable };
	struct litepulse *lp = t->lp;
	u32 status;

	if (step->flush)
		litepulse_configure(lp, &flush_tty, 1);
	if (step->set_driver_enable)
		step->refused = litepulse_configure(lp, &enable, 1) == -EINVAL;
	/* What was told may be old: bytes may have followed since. */
	if (step->look && !litepulse_read_csr(lp, LITEPULSE_CSR_STATUS, &status))
		step->idle = status & LITEPULSE_CSR_STATUS_TX_IDLE_MASK;
	if (step->count) {
		/* What was changed before they were written is in force before they are sent. */
		litepulse_flush_line(lp);
		step->sent = lp->ops->transmit(lp->context, step->bytes + step->skip, step->count);
	}
	if (step->want)
		lp->ops->want(lp->context, step->want, step->want);
}

/* False if the core cannot be reached. */
static bool done(struct litepulse_tty *t, const struct step *step)
{
	struct uart_port *port = &t->port;
	bool moved = false;

	if (step->flush) {
		t->ahead = 0;
		t->full = false;
	}
	if (step->refused) {
		dev_warn_ratelimited(port->dev, "a train runs: RS-485 keeps its delays\n");
	} else if (step->set_driver_enable) {
		t->driver_enable = step->driver_enable;
		t->lead_known = true;
	}
	if (step->idle) {
		t->busy = false;
		t->released = false;
		t->full = false;
		t->ahead = 0;
		hold(t);
		if (t->held) {
			t->held = false;
			uart_xmit_advance(port, 1);
			moved = true;
		}
	}
	if (step->sent > 0) {
		t->ahead += step->sent;
		if (step->x_char) {
			port->x_char = 0;
			port->icount.tx++;
		} else if (step->flushes == t->flushes) {
			uart_xmit_advance(port, step->skip + step->sent - 1);
			t->held = true;
			moved = true;
		}
	}
	if (step->sent < (int)step->count)
		t->full = true;
	if (moved && litepulse_xmit_pending(port) < WAKEUP_CHARS)
		uart_write_wakeup(port);
	return step->sent >= 0;
}

static void serve_work(struct work_struct *work)
{
	struct litepulse_tty *t = container_of(work, struct litepulse_tty, work);
	unsigned long flags;
	struct step step;

	uart_port_lock_irqsave(&t->port, &flags);
	while (plan(t, &step)) {
		uart_port_unlock_irqrestore(&t->port, flags);
		act(t, &step);
		uart_port_lock_irqsave(&t->port, &flags);
		if (!done(t, &step))
			break;
	}
	uart_port_unlock_irqrestore(&t->port, flags);
}

static void serve(struct litepulse_tty *t)
{
	struct step step;

	lockdep_assert_held(&t->port.lock);
	if (t->lp->ops->sleeps) {
		if (t->open)
			schedule_work(&t->work);
		return;
	}
	while (plan(t, &step)) {
		act(t, &step);
		if (!done(t, &step))
			break;
	}
}

void litepulse_tty_room(struct litepulse *lp, u32 pending)
{
	struct litepulse_tty *t = READ_ONCE(lp->tty);
	unsigned long flags;

	if (!t)
		return;
	uart_port_lock_irqsave(&t->port, &flags);
	t->wanted &= ~pending;
	t->told |= pending;
	serve(t);
	uart_port_unlock_irqrestore(&t->port, flags);
}

static unsigned int litepulse_tx_empty(struct uart_port *port)
{
	/* What the core holds back over a suspend is not waited for. */
	return READ_ONCE(to_litepulse_tty(port)->busy) && !port->suspended ? 0 : TIOCSER_TEMT;
}

static void litepulse_stop_tx(struct uart_port *port)
{
	struct litepulse_tty *t = to_litepulse_tty(port);

	t->stopped = true;
	hold(t);
}

static void litepulse_start_tx(struct uart_port *port)
{
	struct litepulse_tty *t = to_litepulse_tty(port);

	/* Also called for an XON or XOFF character while stopped. */
	t->stopped = uart_tx_stopped(port);
	if (!t->stopped)
		t->released = false;
	hold(t);
	serve(t);
}

static void litepulse_flush_buffer(struct uart_port *port)
{
	struct litepulse_tty *t = to_litepulse_tty(port);

	t->flushes++;
	t->held = false;
	t->flush = t->busy;
	serve(t);
}

/* On return the break has begun or ended: the next call may come at once. */
static void litepulse_break_ctl(struct uart_port *port, int ctl)
{
	struct litepulse *lp = to_litepulse_tty(port)->lp;

	litepulse_set_line(lp, LITEPULSE_CFG_LINE_BREAK_HOLD_MASK,
			   ctl ? LITEPULSE_CFG_LINE_BREAK_HOLD_MASK : 0);
	litepulse_flush_line(lp);
}

/* --- receiving ------------------------------------------------------------------------------- */

static void receive_one(struct litepulse_tty *t, u8 data, u8 flags)
{
	struct uart_port *port = &t->port;
	u32 status = flags & RX_ERRORS;
	u8 flag = TTY_NORMAL;

	if (t->drop_own && flags & LITEPULSE_RX_OWN)
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
	if ((status | RX_ANY) & port->ignore_status_mask)
		return;
	if (!tty_insert_flip_char(&port->state->port, data, flag))
		port->icount.buf_overrun++;
}

static void receive(struct litepulse_tty *t, const struct litepulse_tty_bytes *bytes)
{
	struct uart_port *port = &t->port;
	struct tty_port *buffer = &port->state->port;
	u8 special = t->drop_own ? RX_ERRORS | LITEPULSE_RX_OWN : RX_ERRORS, all = 0;
	unsigned int i;

	for (i = 0; i < bytes->count; i++)
		all |= bytes->flags[i];
	if (all & special || port->ignore_status_mask & RX_ANY) {
		for (i = 0; i < bytes->count; i++)
			receive_one(t, bytes->data[i], bytes->flags[i]);
	} else {
		port->icount.rx += bytes->count;
		port->icount.buf_overrun += bytes->count -
			tty_insert_flip_string(buffer, bytes->data, bytes->count);
	}
	if (!bytes->lost)
		return;
	port->icount.overrun += bytes->lost;
	if (port->read_status_mask & ~port->ignore_status_mask & RX_OVERRUN &&
	    !tty_insert_flip_char(buffer, 0, TTY_OVERRUN))
		port->icount.buf_overrun++;
}

void litepulse_tty_receive(struct litepulse *lp, const struct litepulse_tty_bytes *bytes)
{
	struct litepulse_tty *t = READ_ONCE(lp->tty);
	unsigned long flags;

	if (!t || !READ_ONCE(t->receiving))
		return;
	uart_port_lock_irqsave(&t->port, &flags);
	if (t->receiving) {
		receive(t, bytes);
		tty_flip_buffer_push(&t->port.state->port);
	}
	uart_port_unlock_irqrestore(&t->port, flags);
}

static void litepulse_stop_rx(struct uart_port *port)
{
	to_litepulse_tty(port)->receiving = false;
}

/* What the transport is told while the tty is open. */
static struct litepulse_moderation moderation(struct litepulse_tty *t)
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

/* setup_mutex is held. */
static void moderate(struct litepulse_tty *t)
{
	struct litepulse *lp = t->lp;

	if (!lp->tty_moderation.level)
		return;
	lp->tty_moderation = moderation(t);
	litepulse_moderate(lp);
}

static int set_trigger(struct litepulse_tty *t, const struct litepulse_moderation *trigger,
		       bool idle_auto)
{
	struct litepulse *lp = t->lp;

	if (!trigger->level || trigger->level > lp->receive_depth ||
	    trigger->age_us > TRIGGER_MAX_US || trigger->idle_us > TRIGGER_MAX_US)
		return -EINVAL;
	/* A byte would wait for others that may never come. */
	if (trigger->level > 1 && !trigger->age_us && !trigger->idle_us && !idle_auto)
		return -EINVAL;
	mutex_lock(&lp->setup_mutex);
	t->trigger = *trigger;
	t->idle_auto = idle_auto;
	moderate(t);
	mutex_unlock(&lp->setup_mutex);
	return 0;
}

/* tty_port.mutex is held. */
static struct litepulse_tty *port_of(struct tty_port *tty)
{
	struct uart_port *port = container_of(tty, struct uart_state, port)->uart_port;

	return port ? to_litepulse_tty(port) : NULL;
}

/* The attributes, and what each sets. */
enum { BYTES, AGE, IDLE };

static unsigned int *member(struct litepulse_moderation *trigger,
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

static ssize_t trigger_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct tty_port *tty = dev_get_drvdata(dev);
	struct litepulse_moderation now;
	struct litepulse_tty *t;
	ssize_t length = -ENODEV;

	mutex_lock(&tty->mutex);
	t = port_of(tty);
	if (t) {
		now = moderation(t);
		length = sysfs_emit(buf, "%u\n", *member(&now, attr));
	}
	mutex_unlock(&tty->mutex);
	return length;
}

static ssize_t trigger_store(struct device *dev, struct device_attribute *attr, const char *buf,
			     size_t count)
{
	struct tty_port *tty = dev_get_drvdata(dev);
	struct litepulse_moderation trigger;
	unsigned int value = 0, *place;
	struct litepulse_tty *t;
	bool idle_auto = false;
	int error = -ENODEV;

	mutex_lock(&tty->mutex);
	t = port_of(tty);
	if (!t)
		goto unlock;
	trigger = t->trigger;
	place = member(&trigger, attr);
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
	error = set_trigger(t, &trigger, idle_auto);
unlock:
	mutex_unlock(&tty->mutex);
	return error ?: count;
}

static struct dev_ext_attribute rx_trig_bytes = {
	__ATTR(rx_trig_bytes, 0644, trigger_show, trigger_store), (void *)BYTES
};

static struct dev_ext_attribute rx_trig_age_us = {
	__ATTR(rx_trig_age_us, 0644, trigger_show, trigger_store), (void *)AGE
};

static struct dev_ext_attribute rx_trig_idle_us = {
	__ATTR(rx_trig_idle_us, 0644, trigger_show, trigger_store), (void *)IDLE
};

static struct attribute *trigger_attrs[] = {
	&rx_trig_bytes.attr.attr,
	&rx_trig_age_us.attr.attr,
	&rx_trig_idle_us.attr.attr,
	NULL
};

static struct attribute_group trigger_group = { .attrs = trigger_attrs };

/* --- settings -------------------------------------------------------------------------------- */

static void litepulse_set_mctrl(struct uart_port *port, unsigned int mctrl)
{
	litepulse_set_line(to_litepulse_tty(port)->lp, LITEPULSE_CFG_LINE_LOOPBACK_MASK,
			   mctrl & TIOCM_LOOP ? LITEPULSE_CFG_LINE_LOOPBACK_MASK : 0);
}

static unsigned int litepulse_get_mctrl(struct uart_port *port)
{
	return TIOCM_CAR | TIOCM_DSR | TIOCM_CTS;
}

static u32 profile_format(unsigned int cflag)
{
	unsigned int parity = LITEPULSE_PARITY_NONE, stop = LITEPULSE_STOP_1;
	unsigned int bits = tty_get_char_size(cflag);

	if (cflag & PARENB && cflag & CMSPAR)
		parity = cflag & PARODD ? LITEPULSE_PARITY_MARK : LITEPULSE_PARITY_SPACE;
	else if (cflag & PARENB)
		parity = cflag & PARODD ? LITEPULSE_PARITY_ODD : LITEPULSE_PARITY_EVEN;
	if (cflag & CSTOPB)
		stop = bits == 5 ? LITEPULSE_STOP_1_5 : LITEPULSE_STOP_2;
	return FIELD_PREP(LITEPULSE_CFG_PROFILE_FORMAT_DATA_BITS_MASK, bits - 5) |
	       FIELD_PREP(LITEPULSE_CFG_PROFILE_FORMAT_PARITY_MASK, parity) |
	       FIELD_PREP(LITEPULSE_CFG_PROFILE_FORMAT_STOP_MASK, stop);
}

/* Writing it makes the receiver begin anew: only if it is another one. setup_mutex is held. */
static int set_profile(struct litepulse_tty *t, u32 format, u64 period)
{
	int error;

	if (format == t->format && period == t->period)
		return 0;
	error = litepulse_set_profile(t->lp, 0, format, period);
	if (error)
		return error;
	t->format = format;
	t->period = period;
	return 0;
}

static void set_status_masks(struct uart_port *port, const struct ktermios *termios)
{
	unsigned int iflag = termios->c_iflag;

	port->read_status_mask = 0;
	if (iflag & INPCK)
		port->read_status_mask |= LITEPULSE_RX_PARITY | LITEPULSE_RX_FRAMING;
	if (iflag & (IGNBRK | BRKINT | PARMRK))
		port->read_status_mask |= LITEPULSE_RX_BREAK;
	/* TTY_DRIVER_REAL_RAW: else what tells of an overrun would be read as a byte. */
	if ((iflag & (BRKINT | PARMRK) && !(iflag & IGNBRK)) ||
	    (iflag & INPCK && !(iflag & IGNPAR)))
		port->read_status_mask |= RX_OVERRUN;
	port->ignore_status_mask = 0;
	if (iflag & IGNPAR)
		port->ignore_status_mask |= LITEPULSE_RX_PARITY | LITEPULSE_RX_FRAMING;
	if (iflag & IGNBRK) {
		port->ignore_status_mask |= LITEPULSE_RX_BREAK;
		if (iflag & IGNPAR)
			port->ignore_status_mask |= RX_OVERRUN;
	}
	if (!(termios->c_cflag & CREAD))
		port->ignore_status_mask |= RX_ANY | RX_OVERRUN;
}

/*
 * At most so many bytes, a number that the core can hold, are in the core at once. A board on a
 * cable is asked once in a while only: more is written when half of them have left, so that the
 * other half lasts until the next look. port.lock is held, or nobody else knows the port yet.
 */
static void set_burst(struct litepulse_tty *t, unsigned int bytes)
{
	struct litepulse *lp = t->lp;

	t->burst = min(max(bytes, BURST_BYTES), lp->transmit_depth);
	if (lp->ops->sleeps)
		WRITE_ONCE(lp->transmit_low, t->burst / 2);
	t->low = lp->transmit_low;
}

static void litepulse_set_termios(struct uart_port *port, struct ktermios *new,
				  const struct ktermios *old)
{
	struct litepulse_tty *t = to_litepulse_tty(port);
	struct litepulse *lp = t->lp;
	unsigned long flags;
	unsigned int baud;
	u64 period;

	new->c_cflag &= ~CRTSCTS;
	/* If it is impossible the old one, or a possible one. 0: none is. */
	baud = uart_get_baud_rate(port, new, old, t->baud_min, t->baud_max);

	mutex_lock(&lp->setup_mutex);
	t->low_latency = port->flags & UPF_LOW_LATENCY;
	period = baud ? litepulse_bit_period(&lp->rate, baud) : t->period;
	if (set_profile(t, profile_format(new->c_cflag), period) && old)
		tty_termios_copy_hw(new, old);
	baud = litepulse_baud(&lp->rate, t->period);
	if (new->c_cflag & CBAUD)
		tty_termios_encode_baud_rate(new, baud, baud);

	uart_port_lock_irqsave(port, &flags);
	uart_update_timeout(port, new->c_cflag, baud);
	set_burst(t, BURST_NS / max(port->frame_time, 1u));
	set_status_masks(port, new);
	uart_port_unlock_irqrestore(port, flags);

	moderate(t);
	mutex_unlock(&lp->setup_mutex);
}

/* Has the core the lead of this word already, or will it soon? */
static bool keeps_lead(struct litepulse_tty *t, u32 word)
{
	if (t->set_driver_enable)
		word ^= t->new_driver_enable;
	else if (t->lead_known)
		word ^= t->driver_enable;
	else
		return false;
	return !FIELD_GET(LITEPULSE_CFG_DRIVER_ENABLE_LEAD_MASK, word);
}

/* Under port.lock. Serial core has made of the request what rs485_supported allows. */
static int litepulse_rs485_config(struct uart_port *port, struct ktermios *termios,
				  struct serial_rs485 *rs485)
{
	struct litepulse_tty *t = to_litepulse_tty(port);
	u64 lead_ns = (u64)rs485->delay_rts_before_send * NSEC_PER_MSEC;
	u64 lag_ns = (u64)rs485->delay_rts_after_send * NSEC_PER_MSEC;
	u64 lead = litepulse_ns_to_ticks(&t->lp->rate, lead_ns);
	u64 lag = litepulse_ns_to_ticks(&t->lp->rate, lag_ns);
	u32 word;

	if (lead > FIELD_MAX(LITEPULSE_CFG_DRIVER_ENABLE_LEAD_MASK) ||
	    lag > FIELD_MAX(LITEPULSE_CFG_DRIVER_ENABLE_LAG_MASK))
		return -EINVAL;
	/* Without SER_RS485_ENABLED all else is 0. */
	word = FIELD_PREP(LITEPULSE_CFG_DRIVER_ENABLE_LEAD_MASK, lead) |
	       FIELD_PREP(LITEPULSE_CFG_DRIVER_ENABLE_LAG_MASK, lag);
	if (t->train_runs && !keeps_lead(t, word))
		return -EBUSY;
	t->new_driver_enable = word;
	t->set_driver_enable = true;
	t->drop_own = rs485->flags & SER_RS485_ENABLED && !(rs485->flags & SER_RS485_RX_DURING_TX);
	serve(t);
	return 0;
}

int litepulse_tty_set_driver_enable(struct litepulse *lp, u32 word)
{
	const struct litepulse_word enable = { LITEPULSE_CFG_DRIVER_ENABLE, word };
	struct litepulse_tty *t = lp->tty;
	unsigned long flags;
	int error;

	lockdep_assert_held(&lp->claim_mutex);
	/* What the tty was given before is written before. */
	flush_work(&t->work);
	error = litepulse_configure(lp, &enable, 1);
	/* Both fields fit, so nothing but a train can be in the way. */
	if (error)
		return error == -EINVAL ? -EBUSY : error;
	uart_port_lock_irqsave(&t->port, &flags);
	/* What a closed tty has not written yet is overruled. */
	t->set_driver_enable = false;
	t->driver_enable = word;
	t->lead_known = true;
	uart_port_unlock_irqrestore(&t->port, flags);
	return 0;
}

int litepulse_tty_set_echo(struct litepulse *lp, u32 ticks)
{
	const struct litepulse_word echo = { LITEPULSE_CFG_ECHO, ticks };
	int error;

	lockdep_assert_held(&lp->claim_mutex);
	error = litepulse_configure(lp, &echo, 1);
	if (!error)
		lp->tty->echo = ticks;
	return error;
}

void litepulse_tty_train_starts(struct litepulse *lp)
{
	struct litepulse_tty *t = lp->tty;
	unsigned long flags;

	lockdep_assert_held(&lp->claim_mutex);
	uart_port_lock_irqsave(&t->port, &flags);
	t->train_runs = true;
	uart_port_unlock_irqrestore(&t->port, flags);
	flush_work(&t->work);
}

/*
 * Over a cable there are two ttys, and calls to ours take locks of the port's: they are classes of
 * their own for lockdep, as the order is always ours, then the port's.
 */
static struct lock_class_key litepulse_port_mutex_key, litepulse_termios_key;

static int litepulse_startup(struct uart_port *port)
{
	struct litepulse_tty *t = to_litepulse_tty(port);
	struct litepulse *lp = t->lp;
	unsigned long flags;
	u64 since = 0;
	int error = 0;

	if (READ_ONCE(lp->gone))
		return -ENODEV;
	if (port->state->port.tty)
		lockdep_set_class(&port->state->port.tty->termios_rwsem, &litepulse_termios_key);
	mutex_lock(&lp->setup_mutex);
	t->low_latency = port->flags & UPF_LOW_LATENCY;
	lp->tty_moderation = moderation(t);
	/* Bytes that came while nobody had it open are not for us. */
	if (!t->suspended) {
		error = litepulse_now(lp, &since);
		spin_lock_irqsave(&lp->lock, flags);
		lp->tty_since = since;
		spin_unlock_irqrestore(&lp->lock, flags);
	}
	error = error ?: litepulse_apply_sinks(lp);
	if (error)
		lp->tty_moderation.level = 0;
	mutex_unlock(&lp->setup_mutex);
	if (error)
		return error;

	uart_port_lock_irqsave(port, &flags);
	t->open = true;
	t->suspended = false;
	t->receiving = true;
	/* If something was left in the core: what has become of it? */
	t->told |= LITEPULSE_WANT_DRAINED;
	serve(t);
	uart_port_unlock_irqrestore(port, flags);
	return 0;
}

static void litepulse_shutdown(struct uart_port *port)
{
	struct litepulse_tty *t = to_litepulse_tty(port);
	struct litepulse *lp = t->lp;
	bool keep = port->suspended;
	unsigned long flags;

	uart_port_lock_irqsave(port, &flags);
	t->open = false;
	t->receiving = false;
	t->suspended = keep;
	if (!keep) {
		/* The port's buffer goes; what is on its way to the core was of that. */
		t->flushes++;
		t->held = false;
		t->flush = false;
		t->stopped = false;
		t->released = false;
	}
	uart_port_unlock_irqrestore(port, flags);
	cancel_work_sync(&t->work);
	litepulse_set_line(lp, LITEPULSE_CFG_LINE_BREAK_HOLD_MASK, 0);
	if (!keep) {
		if (t->busy)
			litepulse_configure(lp, &flush_tty, 1);
		litepulse_set_line(lp, LITEPULSE_CFG_LINE_HOLD_TTY_MASK, 0);
	}
	mutex_lock(&lp->setup_mutex);
	lp->tty_moderation.level = 0;
	litepulse_apply_sinks(lp);
	mutex_unlock(&lp->setup_mutex);
}

static const char *litepulse_type(struct uart_port *port)
{
	return port->type == PORT_LITEPULSE ? "LitePulse" : NULL;
}

static void litepulse_config_port(struct uart_port *port, int flags)
{
	if (flags & UART_CONFIG_TYPE)
		port->type = PORT_LITEPULSE;
}

/*
 * Also where TIOCSSERIAL of root is heard of: ASYNC_LOW_LATENCY acts at once. Of other users it
 * acts from the next open() or change of the settings on.
 */
static int litepulse_verify_port(struct uart_port *port, struct serial_struct *ser)
{
	struct litepulse_tty *t = to_litepulse_tty(port);

	if (ser->type != PORT_LITEPULSE || ser->baud_base != port->uartclk / 16)
		return -EINVAL;
	mutex_lock(&t->lp->setup_mutex);
	t->low_latency = ser->flags & ASYNC_LOW_LATENCY;
	moderate(t);
	mutex_unlock(&t->lp->setup_mutex);
	return 0;
}

/* The registers belong to the transport. */
static int litepulse_request_port(struct uart_port *port)
{
	return 0;
}

static void litepulse_release_port(struct uart_port *port)
{
}

static const struct uart_ops litepulse_uart_ops = {
	.tx_empty = litepulse_tx_empty,
	.set_mctrl = litepulse_set_mctrl,
	.get_mctrl = litepulse_get_mctrl,
	.stop_tx = litepulse_stop_tx,
	.start_tx = litepulse_start_tx,
	.stop_rx = litepulse_stop_rx,
	.break_ctl = litepulse_break_ctl,
	.startup = litepulse_startup,
	.shutdown = litepulse_shutdown,
	.flush_buffer = litepulse_flush_buffer,
	.set_termios = litepulse_set_termios,
	.type = litepulse_type,
	.request_port = litepulse_request_port,
	.release_port = litepulse_release_port,
	.config_port = litepulse_config_port,
	.verify_port = litepulse_verify_port,
};

/* --- the device ------------------------------------------------------------------------------ */

static struct uart_driver litepulse_uart_driver = {
	.owner = THIS_MODULE,
	.driver_name = "litepulse",
	.dev_name = "ttyPULSE",
	.nr = LITEPULSE_DEVICES,
};

/* The serial core's, but for three calls. Written before there is a port. */
static struct tty_operations litepulse_tty_ops;
static const struct tty_operations *litepulse_serial_ops;

/* The device of a tty, with a reference; NULL: it has gone. */
static struct litepulse *get_litepulse(struct tty_struct *tty)
{
	struct uart_state *state = &litepulse_uart_driver.state[tty->index];
	struct litepulse *lp = NULL;

	mutex_lock(&state->port.mutex);
	if (state->uart_port)
		lp = litepulse_get(to_litepulse_tty(state->uart_port)->lp);
	mutex_unlock(&state->port.mutex);
	return lp;
}

/* Whether a train runs, asked of the board. 0 or an error. */
static int look_for_train(struct litepulse *lp)
{
	unsigned long flags;
	u32 status;
	int error;

	error = litepulse_begin_command(lp);
	if (error)
		return error;
	error = litepulse_read_csr(lp, LITEPULSE_CSR_STATUS, &status);
	if (!error) {
		uart_port_lock_irqsave(&lp->tty->port, &flags);
		lp->tty->train_runs = status & LITEPULSE_CSR_STATUS_TRAIN_RUNNING_MASK;
		uart_port_unlock_irqrestore(&lp->tty->port, flags);
	}
	litepulse_end_command(lp);
	return error;
}

/*
 * The core refuses another lead while a train runs, and so does litepulse_rs485_config(), which
 * cannot ask the board itself. A train that starts after the look says so before it starts. No lock
 * is held while the serial core copies the program's memory.
 */
static int set_rs485(struct tty_struct *tty, unsigned long arg)
{
	struct litepulse *lp = get_litepulse(tty);
	int error = 0;

	if (lp) {
		error = look_for_train(lp);
		litepulse_put(lp);
	}
	return error ?: litepulse_serial_ops->ioctl(tty, TIOCSRS485, arg);
}

/* As litepulse_break(), but -EBUSY if it is longer than one launch can be. */
static int launch_break(struct litepulse *lp, unsigned int ms, u64 *end)
{
	u64 width = litepulse_ns_to_ticks(&lp->rate, (u64)ms * NSEC_PER_MSEC);
	int error;

	if (!width || width > U32_MAX)
		return -EBUSY;
	error = litepulse_begin_command(lp);
	if (error)
		return error;
	error = litepulse_break(lp, width, end);
	litepulse_end_command(lp);
	return error;
}

/* Milliseconds until a tick, rounded up, 0 if it has come; or an error. */
static int ms_until(struct litepulse *lp, u64 tick)
{
	u64 now;
	int error;

	error = litepulse_enter(lp);
	if (error)
		return error;
	/* The ticks of a board that was reset begin anew. */
	error = litepulse_check_session(lp) ?: litepulse_now(lp, &now);
	litepulse_leave(lp);
	if (error || now >= tick)
		return error;
	return div_u64(litepulse_ticks_to_ns(&lp->rate, min_t(u64, tick - now, U32_MAX)),
		       NSEC_PER_MSEC) + 1;
}

/*
 * A break, on (@state -1), off (0), or of so many ms: TCSBRK and TCSBRKP, behind all that was
 * written. Bytes that are written meanwhile wait for the line. A signal ends the call; it does not
 * shorten a break that is one launch.
 */
static int litepulse_tty_break(struct tty_struct *tty, int state)
{
	struct litepulse *lp;
	int error, left;
	u64 end;

	if (state == -1 || !state)
		return litepulse_serial_ops->break_ctl(tty, state);
	lp = get_litepulse(tty);
	if (!lp || tty_io_error(tty)) {
		error = -EIO;
		goto put;
	}
	error = launch_break(lp, state, &end);
	while (!error && (left = ms_until(lp, end))) {
		if (left > 0 && !msleep_interruptible(left))
			continue;
		error = left < 0 ? left : -EINTR;
	}
	if (error != -EBUSY)
		goto put;
	error = litepulse_serial_ops->break_ctl(tty, -1);
	if (!error) {
		msleep_interruptible(state);
		error = litepulse_serial_ops->break_ctl(tty, 0);
		if (!error && signal_pending(current))
			error = -EINTR;
	}
put:
	if (lp)
		litepulse_put(lp);
	return error;
}

/*
 * The serial core's TIOCMIWAIT waits until a modem line changes; removing the port waits for that
 * in turn, though the tty was hung up. There is no such line here, so it would be for ever: the
 * board could not go while a program waits.
 */
static int litepulse_ioctl(struct tty_struct *tty, unsigned int cmd, unsigned long arg)
{
	if (cmd == TIOCMIWAIT)
		return -ENOIOCTLCMD;
	if (cmd == TIOCSRS485)
		return set_rs485(tty, arg);
	return litepulse_serial_ops->ioctl(tty, cmd, arg);
}

int litepulse_tty_init(void)
{
	struct ktermios *termios;
	int error = uart_register_driver(&litepulse_uart_driver), i;

	if (error)
		return error;
	for (i = 0; i < LITEPULSE_DEVICES; i++)
		lockdep_set_class(&litepulse_uart_driver.state[i].port.mutex,
				  &litepulse_port_mutex_key);
	/*
	 * The serial core does not: without, closing a tty after the module had gone would write to
	 * what it has freed.
	 */
	litepulse_uart_driver.tty_driver->owner = THIS_MODULE;
	litepulse_serial_ops = litepulse_uart_driver.tty_driver->ops;
	litepulse_tty_ops = *litepulse_serial_ops;
	litepulse_tty_ops.ioctl = litepulse_ioctl;
	litepulse_tty_ops.break_ctl = litepulse_tty_break;
	litepulse_uart_driver.tty_driver->flags |= TTY_DRIVER_HARDWARE_BREAK;
	litepulse_uart_driver.tty_driver->ops = &litepulse_tty_ops;
	/* Raw: N_TTY's echo would answer what is looped back. No device is there yet. */
	termios = &litepulse_uart_driver.tty_driver->init_termios;
	termios->c_iflag = 0;
	termios->c_oflag = 0;
	termios->c_lflag = 0;
	return 0;
}

void litepulse_tty_exit(void)
{
	uart_unregister_driver(&litepulse_uart_driver);
}

/* Until somebody says otherwise: 9600 baud 8N1, or the nearest that this clock can do. */
static int init_profile(struct litepulse_tty *t)
{
	const struct litepulse_rate *rate = &t->lp->rate;
	const u64 period_min = PERIOD_MIN * t->lp->samples;
	unsigned int baud;

	t->baud_max = litepulse_baud(rate, period_min);
	while (t->baud_max && litepulse_bit_period(rate, t->baud_max) < period_min)
		t->baud_max--;
	t->baud_min = 1;
	while (litepulse_bit_period(rate, t->baud_min) > PERIOD_MAX)
		t->baud_min++;
	if (t->baud_min > t->baud_max)
		return -ERANGE;
	baud = clamp_t(unsigned int, DEFAULT_BAUD, t->baud_min, t->baud_max);
	uart_update_timeout(&t->port, CS8, baud);
	return set_profile(t, profile_format(CS8), litepulse_bit_period(rate, baud));
}

/*
 * When the serial core runs out of memory while it adds a port it keeps its pointer to it. The
 * port is freed soon, and the next one that is added would read it.
 */
static void forget_port(struct uart_port *port)
{
	struct uart_state *state = &litepulse_uart_driver.state[port->line];

	mutex_lock(&state->port.mutex);
	if (state->uart_port == port) {
		state->uart_port = NULL;
		kfree(port->name);
	}
	mutex_unlock(&state->port.mutex);
}

/*
 * When the tty of a port cannot be made the serial core only says so in the log. Removing the
 * port then deletes the tty's character device, which is not there, or was freed: the tty layer
 * does not look. It gets `spare` to delete.
 */
static int add_port(struct uart_port *port)
{
	struct cdev *spare = cdev_alloc();
	int error;

	if (!spare)
		return -ENOMEM;
	error = uart_add_one_port(&litepulse_uart_driver, port);
	if (error) {
		forget_port(port);
	} else if (port->flags & UPF_DEAD) {
		litepulse_uart_driver.tty_driver->cdevs[port->line] = spare;
		uart_remove_one_port(&litepulse_uart_driver, port);
		return -ENOMEM;
	}
	kobject_put(&spare->kobj);
	return error;
}

/**
 * litepulse_tty_add - makes /dev/ttyPULSEn
 * @lp: device; its transport is attached
 *
 * Return: 0, -ERANGE if the clock is too slow for any baud rate, or an error of serial core or
 * the transport.
 */
int litepulse_tty_add(struct litepulse *lp)
{
	struct platform_device *pdev = to_platform_device(lp->dev);
	const struct resource *csr = platform_get_resource_byname(pdev, IORESOURCE_MEM, "csr");
	struct litepulse_tty *t = devm_kzalloc(lp->dev, sizeof(*t), GFP_KERNEL);
	struct uart_port *port;
	int irq, error;

	if (!t)
		return -ENOMEM;
	t->lp = lp;
	set_burst(t, BURST_BYTES);
	t->lead_known = !lp->kept;
	t->echo = LITEPULSE_ECHO_CYCLES_RESET * lp->samples;
	t->trigger.level = min(TRIGGER_BYTES, lp->receive_depth / 2);
	t->trigger.age_us = TRIGGER_AGE_US;
	t->idle_auto = true;
	INIT_WORK(&t->work, serve_work);
	port = &t->port;
	spin_lock_init(&port->lock);
	/* From now on a board that is reset gets the profile again. */
	WRITE_ONCE(lp->tty, t);
	mutex_lock(&lp->setup_mutex);
	error = init_profile(t);
	mutex_unlock(&lp->setup_mutex);
	if (error) {
		dev_err_probe(lp->dev, error, "line profile 0 cannot be set\n");
		goto error;
	}
	port->dev = lp->dev;
	port->line = lp->id;
	port->ops = &litepulse_uart_ops;
	port->type = PORT_LITEPULSE;
	port->flags = UPF_FIXED_TYPE | UPF_FIXED_PORT;
	port->fifosize = lp->transmit_depth;
	/* So that its baud_base is the highest rate. */
	port->uartclk = min_t(u64, (u64)t->baud_max * 16, UINT_MAX);
	/* For people only: nothing is mapped by way of these, and no interrupt is requested. */
	port->iotype = csr ? UPIO_MEM : UPIO_UNKNOWN;
	port->mapbase = csr ? csr->start : 1 + lp->id;
	irq = platform_get_irq_optional(pdev, 0);
	port->irq = max(irq, 0);
	port->attr_group = &trigger_group;
	port->rs485_config = litepulse_rs485_config;
	port->rs485_supported = (struct serial_rs485) {
		.flags = SER_RS485_ENABLED | SER_RS485_RTS_ON_SEND | SER_RS485_RX_DURING_TX,
		.delay_rts_before_send = 1,
		.delay_rts_after_send = 1,
	};
	error = add_port(port);
	if (!error)
		return 0;
error:
	WRITE_ONCE(lp->tty, NULL);
	return error;
}

void litepulse_tty_remove(struct litepulse *lp)
{
	struct litepulse_tty *t = lp->tty;

	/* Hangs up; who waits for something is woken. */
	uart_remove_one_port(&litepulse_uart_driver, &t->port);
	cancel_work_sync(&t->work);
	WRITE_ONCE(lp->tty, NULL);
}

int litepulse_tty_suspend(struct litepulse *lp)
{
	return uart_suspend_port(&litepulse_uart_driver, &lp->tty->port);
}

int litepulse_tty_resume(struct litepulse *lp)
{
	return uart_resume_port(&litepulse_uart_driver, &lp->tty->port);
}

void litepulse_tty_restarted(struct litepulse *lp)
{
	struct litepulse_tty *t = READ_ONCE(lp->tty);
	struct litepulse_word words[2];
	unsigned long flags;

	/* The board may be reset while the driver is still being bound. */
	if (!t)
		return;
	lockdep_assert_held(&lp->claim_mutex);
	words[0] = (struct litepulse_word){ LITEPULSE_CFG_DRIVER_ENABLE,
					    READ_ONCE(t->driver_enable) };
	words[1] = (struct litepulse_word){ LITEPULSE_CFG_ECHO, t->echo };
	mutex_lock(&lp->setup_mutex);
	litepulse_set_profile(lp, 0, t->format, t->period);
	litepulse_configure(lp, words, ARRAY_SIZE(words));
	mutex_unlock(&lp->setup_mutex);
	uart_port_lock_irqsave(&t->port, &flags);
	t->lead_known = true;
	t->wanted = 0;
	t->told |= LITEPULSE_WANT_DRAINED;
	serve(t);
	uart_port_unlock_irqrestore(&t->port, flags);
}
