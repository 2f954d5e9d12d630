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
 * on the spot. Both do it in steps: litepulse_tty_plan() and litepulse_tty_done() under the lock,
 * litepulse_tty_act() at the hardware.
 *
 * Receiving: a sink gets the bytes, mostly in the hard interrupt. How many of them an
 * interrupt brings is set in sysfs, beside the tty (/sys/class/tty/ttyPULSEn/):
 *   rx_trig_bytes    so many bytes (128), or
 *   rx_trig_age_us   the oldest has waited so long (10000); 0: forever, or
 *   rx_trig_idle_us  none came for so long; 0: forever; "auto", as it is at first: four frames.
 *                    Reads what it is now
 *   interrupts_max   so many a second, about; beyond, they wait for each other (1000). Of the
 *                    chardev's events, too
 * So a byte that no other follows is delivered after four frames, and at full rate 128 share an
 * interrupt from 128 kbaud on; below, the age limits how many. A reader of the chardev can make
 * it sooner, never later.
 *
 * A break of tcsendbreak() is one launch, of exactly so many ticks, if it is short, nobody has the
 * claim and nothing timed runs or waits. Else it is made of two settings, as one of TIOCSBRK is.
 * RTS, DTR and their inputs do not exist. `de` is always driven by the core; RS-485 sets its lead
 * and lag, and without SER_RS485_RX_DURING_TX bytes that came while we sent are dropped here (the
 * chardev has them). TIOCM_LOOP acts only while RS-485 is off: else serial core does not tell us.
 */
#include <linux/bitfield.h>
#include <linux/cdev.h>
#include <linux/console.h>
#include <linux/delay.h>
#include <linux/device.h>
#include <linux/kstrtox.h>
#include <linux/kthread.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/sched.h>
#include <linux/serial.h>
#include <linux/serial_core.h>
#include <linux/sysfs.h>
#include <linux/tty.h>
#include <linux/tty_flip.h>
#include <linux/uaccess.h>

#include "litepulse_compat.h"
#include "litepulse_early.h"
#include "litepulse_output.h"
#include "litepulse_sink.h"
#include "litepulse_tty.h"

/* Ours alone: no program needs a number of <linux/serial_core.h>. */
#define PORT_LITEPULSE		0x4c50

#define DEFAULT_BAUD		9600
/* In the core at once: so many ns worth of bytes, but at least so many. */
#define BURST_NS		10000000u
#define BURST_BYTES		64u
/* Copied at a time; they lie on the stack. */
#define CHUNK			64u
/* So many received bytes at a time are carried by the thread of the port, at most. */
#define CARRIED			32u

/* Room for what comes in so many ns is left in the core while received bytes may wait. */
#define SPARE_NS		20000000u

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

/* A break of tcsendbreak() is one launch up to so many ms. */
#define BREAK_LAUNCH_MS		1000u

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
	struct litepulse_sink sink;	/* received bytes; wants them while the tty is open */
	unsigned int inserted;		/* into the tty's buffer, not yet pushed: feed.lock */
	struct kthread_worker *carrier;	/* NULL if the transport sleeps */
	struct kthread_work carry;

	unsigned int low;		/* WANT_TRANSMIT: at most so many bytes wait in the core */
	unsigned int baud_min;
	unsigned int baud_max;
	struct work_struct work;

	/* port.lock protects what follows, up to the next comment. */
	bool added;			/* the serial core has the port, with its TIOCM_LOOP */
	bool open;
	bool receiving;
	bool drop_own;			/* bytes that came while we sent */
	bool suspended;			/* shut down, to be opened again with all it had */
	bool stopped;			/* XOFF, tcflow(), suspend */
	bool released;			/* what the core has may leave although stopped */
	bool breaking;			/* nothing may: a break is about to begin */
	bool held;			/* the buffer's first byte is in the core, or was */
	bool busy;			/* something in the core may not have left yet */
	bool full;			/* the core took less than it was given */
	bool flush;			/* the core must forget what it has */
	bool leftover;			/* the core may have bytes of an earlier open() */
	bool set_driver_enable;		/* the core must get @new_driver_enable */
	u32 new_driver_enable;
	u32 driver_enable;		/* what it has: lead and lag */
	bool lead_known;		/* not so while a board goes on with a lead of before */
	bool train_runs;		/* or may: the core refuses another lead */
	unsigned int flushes;
	unsigned int ahead;		/* at most so many bytes are in the core */
	unsigned int burst;		/* at most so many should be */
	bool console;			/* of the kernel: its bytes are among ours */
	bool refused;			/* a lead was, and nobody has said so yet */
	bool rs485_given;		/* settings of RS-485 were, and taken */
	u32 wanted;			/* LITEPULSE_WANT_*: asked for */
	u32 told;			/* LITEPULSE_WANT_*: came since they were asked for */

	/* litepulse.claim.mutex */
	u32 echo;			/* its tail in ticks */
	bool echo_known;		/* not so while a board goes on with one of before */

	/* litepulse.setup.mutex protects what follows. */
	u32 format;			/* of profile 0 */
	u64 period;
	bool profile_known;		/* the board has these */
	struct litepulse_moderation trigger;
	bool idle_auto;
	bool lent;			/* profile 0: it cannot be opened */
	bool low_latency;		/* each byte at once, as setserial(8) can ask for */
	unsigned int interrupts_max;	/* as set in sysfs */
};

/* What is done next; by litepulse_tty_act() without the lock if the transport sleeps. */
struct litepulse_tty_step {
	bool flush;
	bool set_driver_enable;
	bool refused;			/* answer: it was, as a train runs */
	int error;			/* answer: of all but @count */
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

static struct litepulse_tty *litepulse_tty_of(struct uart_port *port)
{
	return container_of(port, struct litepulse_tty, port);
}

/* --- sending --------------------------------------------------------------------------------- */

static void litepulse_tty_hold(struct litepulse_tty *t)
{
	bool hold = (t->breaking || (t->stopped && !t->released)) && !t->console;

	litepulse_board_set_line(t->lp, LITEPULSE_CFG_LINE_HOLD_TTY_MASK,
				 hold ? LITEPULSE_CFG_LINE_HOLD_TTY_MASK : 0);
}

/* Bytes of the port's buffer that are not in the core yet. */
static unsigned int litepulse_tty_unsent(struct litepulse_tty *t)
{
	return litepulse_xmit_pending(&t->port) - t->held;
}

static bool litepulse_tty_plan(struct litepulse_tty *t, struct litepulse_tty_step *step)
{
	bool more, waits;

	memset(step, 0, offsetof(struct litepulse_tty_step, bytes));
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
	more = t->port.x_char || (!t->stopped && litepulse_tty_unsent(t));
	if (t->port.x_char) {
		t->released = t->stopped;
		litepulse_tty_hold(t);
	}
	if (t->port.x_char && !t->full) {
		step->x_char = true;
		step->bytes[0] = t->port.x_char;
		step->count = 1;
	} else if (more && !waits && t->ahead < t->burst) {
		step->skip = t->held;
		step->count = min3(litepulse_tty_unsent(t), t->burst - t->ahead, CHUNK);
		step->count = litepulse_xmit_peek(&t->port, step->bytes, step->skip + step->count) -
			      step->skip;
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

static void litepulse_tty_act(struct litepulse_tty *t, struct litepulse_tty_step *step)
{
	const struct litepulse_word enable = { LITEPULSE_CFG_DRIVER_ENABLE, step->driver_enable };
	struct litepulse *lp = t->lp;
	u32 status;

	if (step->flush)
		step->error = litepulse_board_configure(lp, &flush_tty, 1);
	if (step->set_driver_enable && !step->error) {
		step->error = litepulse_board_configure(lp, &enable, 1);
		step->refused = step->error == -EINVAL;
		if (step->refused)
			step->error = 0;
	}
	/* What was told may be old: bytes may have followed since. */
	if (step->look && !step->error) {
		step->error = litepulse_board_read_csr(lp, LITEPULSE_CSR_STATUS, &status);
		step->idle = !step->error && status & LITEPULSE_CSR_STATUS_TX_IDLE_MASK;
	}
	/* What was changed before they were written is in force before they are sent. */
	if (step->count && !step->error)
		step->error = litepulse_board_flush_line(lp);
	if (step->count && !step->error)
		step->sent = lp->ops->transmit(lp->context, step->bytes + step->skip, step->count);
	if (step->want)
		lp->ops->want(lp->context, step->want, step->want);
}

/* False if the core cannot be reached. */
static bool litepulse_tty_done(struct litepulse_tty *t, const struct litepulse_tty_step *step)
{
	struct uart_port *port = &t->port;
	bool moved = false;

	if (step->error || step->sent < 0)
		litepulse_board_doubt(t->lp);
	if (step->error) {
		/* As if it had not been planned, until litepulse_tty_apply(). */
		t->flush |= step->flush;
		t->set_driver_enable |= step->set_driver_enable;
		t->told |= step->look ? LITEPULSE_WANT_DRAINED : 0;
		return false;
	}
	if (step->flush) {
		t->ahead = 0;
		t->full = false;
	}
	if (step->refused) {
		/* The message must not come back to us as the console's while we hold the lock. */
		t->refused = true;
		queue_work(litepulse_board_workers, &t->work);
	} else if (step->set_driver_enable) {
		t->driver_enable = step->driver_enable;
		t->lead_known = true;
	}
	if (step->idle) {
		t->busy = false;
		t->released = false;
		t->full = false;
		t->ahead = 0;
		litepulse_tty_hold(t);
		if (t->held) {
			t->held = false;
			uart_xmit_advance(port, 1);
			moved = true;
		}
	}
	if (step->sent > 0) {
		t->ahead += step->sent;
		if (step->x_char) {
			/* Another one may have been asked for meanwhile. */
			if (port->x_char == step->bytes[0])
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

static void litepulse_tty_serve_work(struct work_struct *work)
{
	struct litepulse_tty *t = container_of(work, struct litepulse_tty, work);
	unsigned long flags;
	struct litepulse_tty_step step;
	bool refused;

	uart_port_lock_irqsave(&t->port, &flags);
	refused = t->refused;
	t->refused = false;
	while (t->lp->ops->sleeps && litepulse_tty_plan(t, &step)) {
		uart_port_unlock_irqrestore(&t->port, flags);
		litepulse_tty_act(t, &step);
		uart_port_lock_irqsave(&t->port, &flags);
		if (!litepulse_tty_done(t, &step))
			break;
	}
	uart_port_unlock_irqrestore(&t->port, flags);
	if (refused)
		dev_warn_ratelimited(t->port.dev, "a train runs: RS-485 keeps its delays\n");
}

static void litepulse_tty_serve(struct litepulse_tty *t)
{
	struct litepulse_tty_step step;

	lockdep_assert_held(&t->port.lock);
	if (t->lp->ops->sleeps) {
		if (t->open)
			queue_work(litepulse_board_workers, &t->work);
		return;
	}
	while (litepulse_tty_plan(t, &step)) {
		litepulse_tty_act(t, &step);
		if (!litepulse_tty_done(t, &step))
			break;
	}
}

static void litepulse_tty_room(struct litepulse *lp, u32 pending)
{
	struct litepulse_tty *t = READ_ONCE(lp->tty);
	unsigned long flags;

	if (!t)
		return;
	uart_port_lock_irqsave(&t->port, &flags);
	t->wanted &= ~pending;
	t->told |= pending;
	litepulse_tty_serve(t);
	uart_port_unlock_irqrestore(&t->port, flags);
}

static unsigned int litepulse_tty_tx_empty(struct uart_port *port)
{
	/* What the core holds back over a suspend is not waited for. */
	return READ_ONCE(litepulse_tty_of(port)->busy) && !port->suspended ? 0 : TIOCSER_TEMT;
}

static void litepulse_tty_stop_tx(struct uart_port *port)
{
	struct litepulse_tty *t = litepulse_tty_of(port);

	t->stopped = true;
	litepulse_tty_hold(t);
}

static void litepulse_tty_start_tx(struct uart_port *port)
{
	struct litepulse_tty *t = litepulse_tty_of(port);

	/* Also called for an XON or XOFF character while stopped. */
	t->stopped = uart_tx_stopped(port);
	if (!t->stopped)
		t->released = false;
	litepulse_tty_hold(t);
	litepulse_tty_serve(t);
}

static void litepulse_tty_flush_buffer(struct uart_port *port)
{
	struct litepulse_tty *t = litepulse_tty_of(port);

	t->flushes++;
	t->held = false;
	t->flush = t->busy && !t->console;
	litepulse_tty_serve(t);
}

/* On return the break has begun or ended: the next call may come at once. */
static void litepulse_tty_break_ctl(struct uart_port *port, int ctl)
{
	struct litepulse *lp = litepulse_tty_of(port)->lp;

	litepulse_board_set_line(lp, LITEPULSE_CFG_LINE_BREAK_HOLD_MASK,
				 ctl ? LITEPULSE_CFG_LINE_BREAK_HOLD_MASK : 0);
	/* litepulse_tty_set_break() tells the error. */
	(void)litepulse_board_flush_line(lp);
}

/* --- receiving ------------------------------------------------------------------------------- */

/* litepulse.feed.lock and port.lock are held. */
static void litepulse_tty_insert(struct litepulse_tty *t, u8 data, u8 flag)
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
static bool litepulse_tty_is_sysrq(struct litepulse_tty *t, u8 data, u8 flags)
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
static void litepulse_tty_sysrq(struct litepulse *lp)
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
	if (litepulse_tty_is_sysrq(t, data, flags))
		return;
	/* Without INPCK a byte has no parity that IGNPAR could find wrong. */
	status &= port->read_status_mask;
	if ((status | RX_ANY) & port->ignore_status_mask)
		return;
	litepulse_tty_insert(t, data, flag);
}

/* Bytes without an error in a row, straight into the tty's buffer. */
static void litepulse_tty_insert_run(struct litepulse_tty *t, const u32 *words, unsigned int count)
{
	struct tty_port *buffer = &t->port.state->port;
	unsigned int room, i;
	u8 *chars;

	t->port.icount.rx += count;
	/* A byte that comes alone is in soonest without calls, and most of those do. */
	if (count == 1) {
		litepulse_tty_insert(t, litepulse_record_byte(words[LITEPULSE_RECEIVE_INFO / 4]),
				     TTY_NORMAL);
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
	if (port->read_status_mask & ~port->ignore_status_mask & RX_OVERRUN)
		litepulse_tty_insert(t, 0, TTY_OVERRUN);
}

/* litepulse.feed.lock is held. */
static void litepulse_tty_put(struct litepulse_sink *sink, const struct litepulse_record *record,
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

/* What a byte's info word has if there is more to do than to put it into the tty's buffer. */
static u32 litepulse_tty_special(const struct litepulse_tty *t)
{
	/* All of them are dropped. */
	if (t->port.ignore_status_mask & RX_ANY)
		return 0;
	/* Behind a break each may be a request. */
	if (t->port.sysrq)
		return 0;
	return LITEPULSE_RECEIVE_INFO_OVERFLOW_MASK | LITEPULSE_RECEIVE_INFO_PARITY_ERROR_MASK |
	       LITEPULSE_RECEIVE_INFO_FRAMING_ERROR_MASK | LITEPULSE_RECEIVE_INFO_BREAK_MASK |
	       (t->drop_own ? LITEPULSE_RECEIVE_INFO_OWN_MASK : 0);
}

/* One record of @words that is a byte; false if it is none. */
static bool litepulse_tty_take_special(struct litepulse_tty *t, const u32 *words)
{
	const u32 info = words[LITEPULSE_RECEIVE_INFO / 4];

	if (!litepulse_record_is_byte(info))
		return false;
	litepulse_tty_receive_one(t, litepulse_record_byte(info),
				  litepulse_record_byte_flags(info));
	return true;
}

static unsigned int litepulse_tty_take_plain(struct litepulse_sink *sink,
					     struct litepulse_sequence *sequence, const u32 *words,
					     unsigned int count)
{
	struct litepulse_tty *t = container_of(sink, struct litepulse_tty, sink);
	unsigned int taken = 0, run;
	unsigned long flags;
	u32 special;

	/* Of a byte that may be older the tick counts. */
	if (sequence->since || sink->since[LITEPULSE_BYTES])
		return 0;
	uart_port_lock_irqsave(&t->port, &flags);
	special = litepulse_tty_special(t);
	while (taken < count) {
		for (run = 0; special && taken + run < count; run++) {
			if (words[run * LITEPULSE_RECEIVE_WORDS + LITEPULSE_RECEIVE_INFO / 4] &
			    special)
				break;
		}
		if (run) {
			if (t->receiving)
				litepulse_tty_insert_run(t, words, run);
		} else {
			if (!litepulse_tty_take_special(t, words))
				break;
			special = litepulse_tty_special(t);
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
 * What the tty's workqueue would do. The tty stays while this runs, closed or not: who closes it
 * waits for the workqueue only.
 */
static void litepulse_tty_carry(struct kthread_work *work)
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
 * bytes take a worker, so that programs get their turn. litepulse.feed.lock is held: nobody else
 * inserts anything.
 */
static void litepulse_tty_bytes_done(struct litepulse_sink *sink)
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
static void litepulse_tty_skip_received(struct litepulse_tty *t, u64 now)
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

static void litepulse_tty_stop_rx(struct uart_port *port)
{
	litepulse_tty_of(port)->receiving = false;
}

/* What the transport is told while the tty is open. */
static struct litepulse_moderation litepulse_tty_moderation(struct litepulse_tty *t)
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

/* What the sink wants of an open tty; setup.mutex is held. */
static struct litepulse_subscribe litepulse_tty_wanted(struct litepulse_tty *t)
{
	const struct litepulse_moderation now = litepulse_tty_moderation(t);

	return (struct litepulse_subscribe){
		.kinds = BIT(LITEPULSE_KIND_RX),
		.watermark = now.level,
		.timeout_us = now.age_us,
		.clock = LITEPULSE_CLOCK_NONE,
	};
}

/* setup.mutex is held. */
static void litepulse_tty_moderate(struct litepulse_tty *t)
{
	struct litepulse *lp = t->lp;
	unsigned long flags;

	spin_lock_irqsave(&lp->feed.lock, flags);
	if (t->sink.want.kinds)
		t->sink.want = litepulse_tty_wanted(t);
	t->sink.idle_us = litepulse_tty_moderation(t).idle_us;
	spin_unlock_irqrestore(&lp->feed.lock, flags);
	WRITE_ONCE(lp->setup.interrupts_max, t->low_latency ?
					       max(t->interrupts_max, INTERRUPTS_LOW_LATENCY) :
					       t->interrupts_max);
	litepulse_sink_moderate(lp);
}

static int litepulse_tty_set_trigger(struct litepulse_tty *t,
				     const struct litepulse_moderation *trigger, bool idle_auto)
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
	litepulse_tty_moderate(t);
	mutex_unlock(&lp->setup.mutex);
	return 0;
}

/* tty_port.mutex is held. */
static struct litepulse_tty *litepulse_tty_of_port(struct tty_port *tty)
{
	struct uart_port *port = container_of(tty, struct uart_state, port)->uart_port;

	return port ? litepulse_tty_of(port) : NULL;
}

/* The attributes, and what each sets. */
enum { BYTES, AGE, IDLE };

static unsigned int *litepulse_tty_member(struct litepulse_moderation *trigger,
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

static ssize_t litepulse_tty_trigger_show(struct device *dev, struct device_attribute *attr,
					  char *buf)
{
	struct tty_port *tty = dev_get_drvdata(dev);
	struct litepulse_moderation now;
	struct litepulse_tty *t;
	ssize_t length = -ENODEV;

	mutex_lock(&tty->mutex);
	t = litepulse_tty_of_port(tty);
	if (t) {
		now = litepulse_tty_moderation(t);
		length = sysfs_emit(buf, "%u\n", *litepulse_tty_member(&now, attr));
	}
	mutex_unlock(&tty->mutex);
	return length;
}

static ssize_t litepulse_tty_trigger_store(struct device *dev, struct device_attribute *attr,
					   const char *buf, size_t count)
{
	struct tty_port *tty = dev_get_drvdata(dev);
	struct litepulse_moderation trigger;
	unsigned int value = 0, *place;
	struct litepulse_tty *t;
	bool idle_auto = false;
	int error = -ENODEV;

	mutex_lock(&tty->mutex);
	t = litepulse_tty_of_port(tty);
	if (!t)
		goto unlock;
	trigger = t->trigger;
	place = litepulse_tty_member(&trigger, attr);
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
	error = litepulse_tty_set_trigger(t, &trigger, idle_auto);
unlock:
	mutex_unlock(&tty->mutex);
	return error ?: count;
}

static struct dev_ext_attribute rx_trig_bytes = {
	__ATTR(rx_trig_bytes, 0644, litepulse_tty_trigger_show, litepulse_tty_trigger_store),
	(void *)BYTES
};

static struct dev_ext_attribute rx_trig_age_us = {
	__ATTR(rx_trig_age_us, 0644, litepulse_tty_trigger_show, litepulse_tty_trigger_store),
	(void *)AGE
};

static struct dev_ext_attribute rx_trig_idle_us = {
	__ATTR(rx_trig_idle_us, 0644, litepulse_tty_trigger_show, litepulse_tty_trigger_store),
	(void *)IDLE
};

static ssize_t interrupts_max_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct tty_port *tty = dev_get_drvdata(dev);
	struct litepulse_tty *t;
	ssize_t length = -ENODEV;

	mutex_lock(&tty->mutex);
	t = litepulse_tty_of_port(tty);
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
	t = litepulse_tty_of_port(tty);
	error = t ? mutex_lock_killable(&t->lp->setup.mutex) : -ENODEV;
	if (!error) {
		t->interrupts_max = value;
		litepulse_tty_moderate(t);
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

static struct attribute_group trigger_group = { .attrs = trigger_attrs };

/* --- settings -------------------------------------------------------------------------------- */

static void litepulse_tty_set_mctrl(struct uart_port *port, unsigned int mctrl)
{
	/* While the serial core adds a port it clears all. What a board goes on with stays. */
	if (!litepulse_tty_of(port)->added)
		return;
	litepulse_board_set_line(litepulse_tty_of(port)->lp, LITEPULSE_CFG_LINE_LOOPBACK_MASK,
				 mctrl & TIOCM_LOOP ? LITEPULSE_CFG_LINE_LOOPBACK_MASK : 0);
}

static unsigned int litepulse_tty_get_mctrl(struct uart_port *port)
{
	return TIOCM_CAR | TIOCM_DSR | TIOCM_CTS;
}

static u32 litepulse_tty_profile_format(unsigned int cflag)
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

/* The other way round: sets format and bits of the character. */
static void litepulse_tty_show_format(struct ktermios *termios, u32 format)
{
	static const tcflag_t sizes[] = { CS5, CS6, CS7, CS8 };

	termios->c_cflag &= ~(CSIZE | CSTOPB | PARENB | PARODD | CMSPAR);
	termios->c_cflag |= sizes[FIELD_GET(LITEPULSE_CFG_PROFILE_FORMAT_DATA_BITS_MASK, format)];
	if (FIELD_GET(LITEPULSE_CFG_PROFILE_FORMAT_STOP_MASK, format) != LITEPULSE_STOP_1)
		termios->c_cflag |= CSTOPB;
	switch (FIELD_GET(LITEPULSE_CFG_PROFILE_FORMAT_PARITY_MASK, format)) {
	case LITEPULSE_PARITY_ODD:
		termios->c_cflag |= PARENB | PARODD;
		break;
	case LITEPULSE_PARITY_EVEN:
		termios->c_cflag |= PARENB;
		break;
	case LITEPULSE_PARITY_MARK:
		termios->c_cflag |= PARENB | PARODD | CMSPAR;
		break;
	case LITEPULSE_PARITY_SPACE:
		termios->c_cflag |= PARENB | CMSPAR;
		break;
	}
}

/* The board has this profile 0. */
static void litepulse_tty_use_profile(struct litepulse_tty *t, u32 format, u64 period)
{
	unsigned int bits;
	u64 frame_ns;

	t->profile_known = true;
	t->format = format;
	t->period = period;
	/* A start bit, the data, a stop bit, at least. */
	bits = 7 + FIELD_GET(LITEPULSE_CFG_PROFILE_FORMAT_DATA_BITS_MASK, format);
	frame_ns = litepulse_ticks_to_ns(&t->lp->rate, (period * bits) >> 8);
	t->lp->setup.receive_spare = div64_u64(SPARE_NS, frame_ns + 1) + 1;
	litepulse_sink_moderate(t->lp);
}

static int litepulse_tty_put_profile(struct litepulse_tty *t, u32 format, u64 period)
{
	int error = litepulse_board_set_profile(t->lp, 0, format, period);

	/* It may have arrived all the same: the board gets the old one again. */
	if (error && error != -EINVAL) {
		t->profile_known = false;
		litepulse_board_doubt(t->lp);
	}
	if (error)
		return error;
	litepulse_tty_use_profile(t, format, period);
	return 0;
}

/*
 * Writing it makes the receiver begin anew: only if it is another one. setup.mutex is held. -EBUSY
 * if it is lent, or something uses it that a claim has kept.
 */
static int litepulse_tty_set_profile(struct litepulse_tty *t, u32 format, u64 period)
{
	if (t->profile_known && format == t->format && period == t->period)
		return 0;
	/* A program may have the tty open all the same, if it failed to start before that. */
	if (t->lent)
		return -EBUSY;
	return litepulse_output_check_profile(t->lp, 0) ?:
		litepulse_tty_put_profile(t, format, period);
}

int litepulse_tty_lend(struct litepulse *lp, u32 format, u64 period)
{
	struct litepulse_tty *t = lp->tty;
	int error;

	lockdep_assert_held(&lp->claim.mutex);
	error = mutex_lock_killable(&lp->setup.mutex);
	if (error)
		return error;
	if (t->sink.want.kinds || READ_ONCE(t->suspended) || READ_ONCE(t->console))
		error = -EBUSY;
	else
		error = litepulse_tty_set_profile(t, format, period);
	t->lent = !error;
	mutex_unlock(&lp->setup.mutex);
	return error;
}

void litepulse_tty_take_back(struct litepulse *lp)
{
	struct litepulse_tty *t = lp->tty;
	unsigned long flags;

	lockdep_assert_held(&lp->claim.mutex);
	/* It must finish: the claim ends. */
	mutex_lock(&lp->setup.mutex);
	t->lent = false;
	mutex_unlock(&lp->setup.mutex);
	/* The loopback is again what the serial core takes it for. */
	uart_port_lock_irqsave(&t->port, &flags);
	litepulse_tty_set_mctrl(&t->port, t->port.mctrl);
	uart_port_unlock_irqrestore(&t->port, flags);
}

static int litepulse_tty_fits_lin(struct litepulse *lp)
{
	struct litepulse_tty *t = lp->tty;
	int error = mutex_lock_killable(&lp->setup.mutex);

	if (error)
		return error;
	if (t->format != litepulse_tty_profile_format(CS8) ||
	    t->period < (u64)LITEPULSE_LIN_BIT_CYCLES_MIN * lp->samples << 8)
		error = -ERANGE;
	mutex_unlock(&lp->setup.mutex);
	return error;
}

static void litepulse_tty_set_status_masks(struct uart_port *port, const struct ktermios *termios)
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
static void litepulse_tty_set_burst(struct litepulse_tty *t, unsigned int bytes)
{
	struct litepulse *lp = t->lp;

	t->burst = min(max(bytes, BURST_BYTES), lp->transmit_depth);
	if (lp->ops->sleeps)
		WRITE_ONCE(lp->transmit_low, t->burst / 2);
	t->low = lp->transmit_low;
}

/* Bit period of baud_base / divisor in 2^-8 ticks, to the nearest; 0 if the core cannot do it. */
static u64 litepulse_tty_custom_period(struct litepulse_tty *t, int divisor)
{
	const struct litepulse_rate *rate = &t->lp->rate;
	u32 base = t->port.uartclk / 16, rest;
	u64 period;

	if (divisor <= 0)
		return 0;
	period = litepulse_mul_div(rate->num << 8, divisor, base, &rest);
	period = div64_u64(period + (rest >= base - rest) + rate->den / 2, rate->den);
	return period < PERIOD_MIN * t->lp->samples || period > PERIOD_MAX ? 0 : period;
}

/* As setserial(8) says it: with spd_cust, 38400 baud are baud_base / divisor. */
static bool litepulse_tty_is_custom(const struct uart_port *port, const struct ktermios *termios)
{
	return (port->flags & UPF_SPD_MASK) == UPF_SPD_CUST &&
	       tty_termios_baud_rate(termios) == 38400;
}

static void litepulse_tty_set_termios(struct uart_port *port, struct ktermios *new,
				      const struct ktermios *old)
{
	struct litepulse_tty *t = litepulse_tty_of(port);
	struct litepulse *lp = t->lp;
	bool custom = litepulse_tty_is_custom(port, new);
	unsigned long flags;
	unsigned int baud;
	u64 period;
	int error;

	new->c_cflag &= ~CRTSCTS;
	/* If it is impossible the old one, or a possible one. 0: none is. */
	baud = uart_get_baud_rate(port, new, old, t->baud_min, t->baud_max);

	/* There is no way to report that the program was killed. */
	mutex_lock(&lp->setup.mutex);
	t->low_latency = port->flags & UPF_LOW_LATENCY;
	period = baud ? litepulse_bit_period(&lp->rate, baud) : t->period;
	if (custom)
		period = litepulse_tty_custom_period(t, port->custom_divisor) ?: period;
	error = litepulse_tty_set_profile(t, litepulse_tty_profile_format(new->c_cflag), period);
	if (error && old)
		tty_termios_copy_hw(new, old);
	/* Something kept uses it: who opens the tty sees what it is. */
	if (error == -EBUSY) {
		litepulse_tty_show_format(new, t->format);
		custom = false;
	}
	baud = litepulse_baud(&lp->rate, t->period);
	/* A custom divisor is in force as long as the rate says 38400. */
	if (new->c_cflag & CBAUD && !custom)
		tty_termios_encode_baud_rate(new, baud, baud);

	uart_port_lock_irqsave(port, &flags);
	uart_update_timeout(port, new->c_cflag, baud);
	litepulse_tty_set_burst(t, BURST_NS / max(port->frame_time, 1u));
	litepulse_tty_set_status_masks(port, new);
	uart_port_unlock_irqrestore(port, flags);

	litepulse_tty_moderate(t);
	mutex_unlock(&lp->setup.mutex);
}

/* Has the core the lead of this word already, or will it soon? */
static bool litepulse_tty_keeps_lead(struct litepulse_tty *t, u32 word)
{
	if (t->set_driver_enable)
		word ^= t->new_driver_enable;
	else if (t->lead_known)
		word ^= t->driver_enable;
	else
		return false;
	return !FIELD_GET(LITEPULSE_CFG_DRIVER_ENABLE_LEAD_MASK, word);
}

/*
 * LITEPULSE_CFG_DRIVER_ENABLE as RS-485 is to have it, or -EINVAL if the core cannot count a delay.
 * Without SER_RS485_ENABLED both are 0.
 */
static int litepulse_tty_rs485_word(const struct litepulse_rate *rate,
				    const struct serial_rs485 *rs485, u32 *word)
{
	const bool on = rs485->flags & SER_RS485_ENABLED;
	u64 lead_ns = on ? (u64)rs485->delay_rts_before_send * NSEC_PER_MSEC : 0;
	u64 lag_ns = on ? (u64)rs485->delay_rts_after_send * NSEC_PER_MSEC : 0;
	u64 lead = litepulse_ticks_at_least(rate, lead_ns);
	u64 lag = litepulse_ticks_at_least(rate, lag_ns);

	if (lead > FIELD_MAX(LITEPULSE_CFG_DRIVER_ENABLE_LEAD_MASK) ||
	    lag > FIELD_MAX(LITEPULSE_CFG_DRIVER_ENABLE_LAG_MASK))
		return -EINVAL;
	*word = FIELD_PREP(LITEPULSE_CFG_DRIVER_ENABLE_LEAD_MASK, lead) |
		FIELD_PREP(LITEPULSE_CFG_DRIVER_ENABLE_LAG_MASK, lag);
	return 0;
}

/* The same, from a process; the log says how long delays can be. */
static int litepulse_tty_check_rs485(struct device *dev, const struct litepulse_rate *rate,
				     const struct serial_rs485 *rs485)
{
	const u32 most = FIELD_MAX(LITEPULSE_CFG_DRIVER_ENABLE_LEAD_MASK);
	u32 word;
	int error = litepulse_tty_rs485_word(rate, rs485, &word);

	if (error)
		dev_warn_ratelimited(dev, "lead and lag of RS-485 are %llu us at most\n",
				     div_u64(litepulse_ticks_to_ns(rate, most), NSEC_PER_USEC));
	return error;
}

/* Under port.lock. Serial core has made of the request what rs485_supported allows. */
static int litepulse_tty_rs485_config(struct uart_port *port, struct ktermios *termios,
				      struct serial_rs485 *rs485)
{
	struct litepulse_tty *t = litepulse_tty_of(port);
	u32 word;
	int error;

	/* Serial core repeats it after a suspend. A claim may have set other times since. */
	if (!termios && t->rs485_given)
		return 0;
	error = litepulse_tty_rs485_word(&t->lp->rate, rs485, &word);
	if (error)
		return error;
	if (t->train_runs && !litepulse_tty_keeps_lead(t, word))
		return -EBUSY;
	t->rs485_given = true;
	t->new_driver_enable = word;
	t->set_driver_enable = true;
	t->drop_own = rs485->flags & SER_RS485_ENABLED && !(rs485->flags & SER_RS485_RX_DURING_TX);
	litepulse_tty_serve(t);
	return 0;
}

/* The lead first: it is all that the core may refuse. */
static int litepulse_tty_set_driver_enable(struct litepulse *lp, const u32 *word, const u32 *echo)
{
	const struct litepulse_word lead_lag = { LITEPULSE_CFG_DRIVER_ENABLE, word ? *word : 0 };
	const struct litepulse_word tail = { LITEPULSE_CFG_ECHO, echo ? *echo : 0 };
	struct litepulse_tty *t = lp->tty;
	unsigned long flags;
	int error = 0;

	lockdep_assert_held(&lp->claim.mutex);
	/* What the tty was given before is written before. */
	flush_work(&t->work);
	if (word)
		error = litepulse_board_configure(lp, &lead_lag, 1);
	/* All fields fit, so nothing but a train can be in the way. */
	if (error == -EINVAL)
		return -EBUSY;
	if (!error && echo)
		error = litepulse_board_configure(lp, &tail, 1);
	/* Either may have arrived all the same: the board gets back what it had. */
	if (error) {
		litepulse_board_doubt(lp);
		return error;
	}
	if (word) {
		uart_port_lock_irqsave(&t->port, &flags);
		/* What a closed tty has not written yet is overruled. */
		t->set_driver_enable = false;
		t->driver_enable = *word;
		t->lead_known = true;
		uart_port_unlock_irqrestore(&t->port, flags);
	}
	if (echo) {
		t->echo = *echo;
		t->echo_known = true;
	}
	return 0;
}

static void litepulse_tty_train_starts(struct litepulse *lp)
{
	struct litepulse_tty *t = lp->tty;
	unsigned long flags;

	lockdep_assert_held(&lp->claim.mutex);
	uart_port_lock_irqsave(&t->port, &flags);
	t->train_runs = true;
	uart_port_unlock_irqrestore(&t->port, flags);
	flush_work(&t->work);
}

/* The port's buffer goes, and what is on its way to the core was of that. port.lock is held. */
static void litepulse_tty_forget(struct litepulse_tty *t)
{
	t->flushes++;
	t->held = false;
	t->flush = false;
	t->stopped = false;
	t->released = false;
	t->suspended = false;
	/* An XOFF that the board did not take must not stop the peer of the next open(). */
	t->port.x_char = 0;
}

/*
 * Before a port starts: it goes on with what it had only if the serial core resumes it. It does not
 * shut down a port that it could not resume, or that was hung up before it could.
 */
static int litepulse_tty_begin(struct litepulse_tty *t)
{
	unsigned long flags;
	int error = 0;

	uart_port_lock_irqsave(&t->port, &flags);
	if (t->suspended && !tty_port_suspended(&t->port.state->port)) {
		t->leftover = t->busy && !t->console;
		litepulse_tty_forget(t);
	}
	uart_port_unlock_irqrestore(&t->port, flags);
	if (t->leftover)
		error = litepulse_board_configure(t->lp, &flush_tty, 1);
	if (!error)
		t->leftover = false;
	return error;
}

/*
 * Over a cable there are two ttys, and calls to ours take locks of the port's: they are classes of
 * their own for lockdep, as the order is always ours, then the port's.
 */
static struct lock_class_key litepulse_port_mutex_key, litepulse_termios_key;

/* A resume must finish: a port that the serial core cannot resume is dead for its programs. */
static int litepulse_tty_lock_setup(struct litepulse_tty *t)
{
	if (!READ_ONCE(t->suspended))
		return mutex_lock_killable(&t->lp->setup.mutex);
	mutex_lock(&t->lp->setup.mutex);
	return 0;
}

static int litepulse_tty_startup(struct uart_port *port)
{
	struct litepulse_tty *t = litepulse_tty_of(port);
	struct litepulse *lp = t->lp;
	struct litepulse_subscribe want;
	unsigned long flags;
	int error;

	if (READ_ONCE(lp->gone))
		return -ENODEV;
	error = litepulse_tty_begin(t);
	if (error)
		return error;
	if (port->state->port.tty)
		lockdep_set_class(&port->state->port.tty->termios_rwsem, &litepulse_termios_key);
	error = litepulse_tty_lock_setup(t);
	if (error)
		return error;
	if (t->lent) {
		mutex_unlock(&lp->setup.mutex);
		return -EBUSY;
	}
	t->low_latency = port->flags & UPF_LOW_LATENCY;
	/* Bytes that came while nobody had it open are not for us. */
	t->sink.takes_older = t->suspended;
	want = litepulse_tty_wanted(t);
	t->sink.idle_us = litepulse_tty_moderation(t).idle_us;
	error = litepulse_sink_set(lp, &t->sink, &want);
	mutex_unlock(&lp->setup.mutex);
	if (error)
		return error;

	uart_port_lock_irqsave(port, &flags);
	t->open = true;
	t->suspended = false;
	t->receiving = true;
	/* If something was left in the core: what has become of it? */
	t->told |= LITEPULSE_WANT_DRAINED;
	litepulse_tty_serve(t);
	uart_port_unlock_irqrestore(port, flags);
	return 0;
}

static void litepulse_tty_shutdown(struct uart_port *port)
{
	struct litepulse_tty *t = litepulse_tty_of(port);
	struct litepulse *lp = t->lp;
	bool keep = port->suspended;
	unsigned long flags;

	uart_port_lock_irqsave(port, &flags);
	t->open = false;
	t->receiving = false;
	t->suspended = true;
	if (!keep)
		litepulse_tty_forget(t);
	uart_port_unlock_irqrestore(port, flags);
	cancel_work_sync(&t->work);
	litepulse_board_set_line(lp, LITEPULSE_CFG_LINE_BREAK_HOLD_MASK, 0);
	if (!keep) {
		if (t->busy && !t->console && litepulse_board_configure(lp, &flush_tty, 1))
			t->leftover = true;
		litepulse_board_set_line(lp, LITEPULSE_CFG_LINE_HOLD_TTY_MASK, 0);
	}
	/* Also if the cable fails: the tty is closed. */
	litepulse_sink_remove(lp, &t->sink);
}

static const char *litepulse_tty_type(struct uart_port *port)
{
	return port->type == PORT_LITEPULSE ? "LitePulse" : NULL;
}

static void litepulse_tty_config_port(struct uart_port *port, int flags)
{
	if (flags & UART_CONFIG_TYPE)
		port->type = PORT_LITEPULSE;
}

static int litepulse_tty_verify_port(struct uart_port *port, struct serial_struct *ser)
{
	if (ser->type != PORT_LITEPULSE || ser->baud_base != port->uartclk / 16)
		return -EINVAL;
	return 0;
}

/* The registers belong to the transport. */
static int litepulse_tty_request_port(struct uart_port *port)
{
	return 0;
}

/*
 * The port goes. The serial core leaves one that can be the console started when the last program
 * closes it, and would then not start the next port of this number.
 */
static void litepulse_tty_release_port(struct uart_port *port)
{
	struct tty_port *tty = &port->state->port;

	if (tty_port_initialized(tty)) {
		tty->console = false;
		tty_port_hangup(tty);
	}
}

static const struct uart_ops litepulse_uart_ops = {
	.tx_empty = litepulse_tty_tx_empty,
	.set_mctrl = litepulse_tty_set_mctrl,
	.get_mctrl = litepulse_tty_get_mctrl,
	.stop_tx = litepulse_tty_stop_tx,
	.start_tx = litepulse_tty_start_tx,
	.stop_rx = litepulse_tty_stop_rx,
	.break_ctl = litepulse_tty_break_ctl,
	.startup = litepulse_tty_startup,
	.shutdown = litepulse_tty_shutdown,
	.flush_buffer = litepulse_tty_flush_buffer,
	.set_termios = litepulse_tty_set_termios,
	.type = litepulse_tty_type,
	.request_port = litepulse_tty_request_port,
	.release_port = litepulse_tty_release_port,
	.config_port = litepulse_tty_config_port,
	.verify_port = litepulse_tty_verify_port,
};

/* --- for the console ------------------------------------------------------------------------- */

/**
 * litepulse_tty_console_send - sends bytes of the console, behind those of the tty in the core
 * @port: its lock is held, unless the kernel dies; its transport does not sleep
 * @bytes: them
 * @count: how many
 *
 * Return: how many the core took.
 */
unsigned int litepulse_tty_console_send(struct uart_port *port, const u8 *bytes,
					unsigned int count)
{
	struct litepulse_tty *t = litepulse_tty_of(port);
	struct litepulse *lp = t->lp;
	int sent = lp->ops->transmit(lp->context, bytes, count);

	if (sent <= 0)
		return 0;
	t->busy = true;
	t->ahead = min(t->ahead + sent, lp->transmit_depth);
	return sent;
}

/**
 * litepulse_tty_console_sent - lets the tty go on behind what the console has sent
 * @port: its lock is held
 */
void litepulse_tty_console_sent(struct uart_port *port)
{
	litepulse_tty_serve(litepulse_tty_of(port));
}

/**
 * litepulse_tty_console_idle - whether all has left the core
 * @port: its transport does not sleep
 */
bool litepulse_tty_console_idle(struct uart_port *port)
{
	u32 status;

	/* From a core that is gone nothing leaves any more. */
	return litepulse_board_read_csr(litepulse_tty_of(port)->lp, LITEPULSE_CSR_STATUS,
					&status) ||
	       status & LITEPULSE_CSR_STATUS_TX_IDLE_MASK;
}

/**
 * litepulse_tty_console_set - makes a port the console's, or ends that
 * @port: which
 * @on: the core no longer forgets or holds back what it was given for the tty: bytes of the console
 *	may be among it
 *
 * Return: 0, -ENODEV if its transport sleeps, as a console is written to in any context, or -EBUSY
 * if its line is lent.
 */
int litepulse_tty_console_set(struct uart_port *port, bool on)
{
	struct litepulse_tty *t = litepulse_tty_of(port);
	unsigned long flags;
	int error = 0;

	if (t->lp->ops->sleeps)
		return -ENODEV;
	mutex_lock(&t->lp->setup.mutex);
	if (on && t->lent)
		error = -EBUSY;
	if (!error) {
		uart_port_lock_irqsave(port, &flags);
		WRITE_ONCE(t->console, on);
		port->sysrq = 0;
		litepulse_tty_hold(t);
		uart_port_unlock_irqrestore(port, flags);
	}
	mutex_unlock(&t->lp->setup.mutex);
	return error;
}

/* --- the device ------------------------------------------------------------------------------ */

static struct uart_driver litepulse_uart_driver = {
	.owner = THIS_MODULE,
	.driver_name = "litepulse",
	.dev_name = "ttyPULSE",
	.nr = LITEPULSE_DEVICES,
};

/**
 * litepulse_tty_console_port - the port of a console
 * @console: its index is the port's, which cannot go meanwhile
 *
 * Return: it, or NULL if there is none.
 */
struct uart_port *litepulse_tty_console_port(const struct console *console)
{
	if (console->index < 0 || console->index >= LITEPULSE_DEVICES)
		return NULL;
	return litepulse_uart_driver.state[console->index].uart_port;
}

/* The serial core's, but for some calls. Written before there is a port. */
static struct tty_operations litepulse_tty_ops;
static const struct tty_operations *litepulse_serial_ops;

/* The device of a tty, with a reference; NULL: it has gone. */
static struct litepulse *litepulse_tty_get_board(struct tty_struct *tty)
{
	struct uart_state *state = &litepulse_uart_driver.state[tty->index];
	struct litepulse *lp = NULL;

	mutex_lock(&state->port.mutex);
	if (state->uart_port)
		lp = litepulse_board_get(litepulse_tty_of(state->uart_port)->lp);
	mutex_unlock(&state->port.mutex);
	return lp;
}

/* Whether a train runs, asked of the board. 0 or an error. */
static int litepulse_tty_look_for_train(struct litepulse *lp)
{
	unsigned long flags;
	u32 status;
	int error;

	error = litepulse_board_begin_command(lp);
	if (error)
		return error;
	error = litepulse_board_read_csr(lp, LITEPULSE_CSR_STATUS, &status);
	if (!error) {
		uart_port_lock_irqsave(&lp->tty->port, &flags);
		lp->tty->train_runs = status & LITEPULSE_CSR_STATUS_TRAIN_RUNNING_MASK;
		uart_port_unlock_irqrestore(&lp->tty->port, flags);
	}
	litepulse_board_end_command(lp);
	return error;
}

/*
 * The core refuses another lead while a train runs, and so does litepulse_tty_rs485_config(), which
 * cannot ask the board itself. A train that starts after the look says so before it starts. No lock
 * is held while the serial core copies the program's memory.
 */
static int litepulse_tty_set_rs485(struct tty_struct *tty, unsigned long arg)
{
	struct serial_rs485 wanted;
	struct litepulse *lp;
	int error = 0;

	if (copy_from_user(&wanted, (const void __user *)arg, sizeof(wanted)))
		return -EFAULT;
	/* The serial core would turn it round, and report success. */
	if (wanted.flags & SER_RS485_ENABLED && wanted.flags & SER_RS485_RTS_AFTER_SEND)
		return -EINVAL;
	lp = litepulse_tty_get_board(tty);
	if (lp) {
		/* It would also shorten delays of more than 100 ms. */
		error = litepulse_tty_check_rs485(tty->dev, &lp->rate, &wanted) ?:
			litepulse_tty_look_for_train(lp);
		litepulse_board_put(lp);
	}
	return error ?: litepulse_serial_ops->ioctl(tty, TIOCSRS485, arg);
}

/* Whether the tty's bytes wait in the board, as a break of tcsendbreak() is about to begin. */
static void litepulse_tty_set_breaking(struct tty_struct *tty, bool breaking)
{
	struct uart_state *state = &litepulse_uart_driver.state[tty->index];
	struct litepulse_tty *t;
	unsigned long flags;

	mutex_lock(&state->port.mutex);
	if (state->uart_port) {
		t = litepulse_tty_of(state->uart_port);
		uart_port_lock_irqsave(&t->port, &flags);
		t->breaking = breaking;
		litepulse_tty_hold(t);
		uart_port_unlock_irqrestore(&t->port, flags);
		/* The break that follows tells the error. */
		(void)litepulse_board_flush_line(t->lp);
	}
	mutex_unlock(&state->port.mutex);
}

/* Waits until nothing is on the line, or another's TIOCSBRK is. 0, -EINTR, or an error. */
static int litepulse_tty_wait_for_line(struct litepulse *lp)
{
	u32 status;
	int error;

	while (!(READ_ONCE(lp->line.word) & LITEPULSE_CFG_LINE_BREAK_HOLD_MASK)) {
		error = litepulse_board_enter(lp);
		if (error)
			return error;
		error = litepulse_board_read_csr(lp, LITEPULSE_CSR_STATUS, &status);
		litepulse_board_leave(lp);
		if (error || !(status & LITEPULSE_CSR_STATUS_LINE_BUSY_MASK))
			return error;
		if (signal_pending(current))
			return -EINTR;
		usleep_range(100, 1000);
	}
	return 0;
}

/* As litepulse_output_break(), but -EBUSY if it is too long for one launch. */
static int litepulse_tty_launch_break(struct litepulse *lp, unsigned int ms, u64 *end)
{
	u64 width = litepulse_ticks_at_least(&lp->rate, (u64)ms * NSEC_PER_MSEC);
	int error;

	if (ms > BREAK_LAUNCH_MS || !width || width > U32_MAX)
		return -EBUSY;
	error = litepulse_board_begin_command(lp);
	if (error)
		return error;
	error = litepulse_output_break(lp, width, end);
	litepulse_board_end_command(lp);
	return error;
}

/* Milliseconds until a tick, rounded up, 0 if it has come; or an error. */
static int litepulse_tty_ms_until(struct litepulse *lp, u64 tick)
{
	u64 now;
	int error;

	error = litepulse_board_enter(lp);
	if (error)
		return error;
	/* The ticks of a board that was reset begin anew. */
	error = litepulse_board_check_session(lp) ?: litepulse_board_now(lp, &now);
	litepulse_board_leave(lp);
	if (error || now >= tick)
		return error;
	return div_u64(litepulse_ticks_to_ns(&lp->rate, min_t(u64, tick - now, U32_MAX)),
		       NSEC_PER_MSEC) + 1;
}

/* A break, on (@state -1) or off (0): TIOCSBRK and TIOCCBRK. 0 or an error. */
static int litepulse_tty_set_break(struct tty_struct *tty, int state)
{
	struct litepulse *lp = litepulse_tty_get_board(tty);
	int error = litepulse_serial_ops->break_ctl(tty, state);

	if (lp) {
		error = error ?: litepulse_board_flush_line(lp);
		litepulse_board_put(lp);
	}
	/* It must not begin when the board can be reached again. */
	if (error && state)
		litepulse_serial_ops->break_ctl(tty, 0);
	return error;
}

/*
 * A break of so many ms, in a free line: as one launch, which nothing can end, or, if that cannot
 * be or it is long, made of two settings.
 */
static int litepulse_tty_send_break(struct tty_struct *tty, struct litepulse *lp, unsigned int ms)
{
	bool launched;
	int error, left;
	u64 end;

	litepulse_tty_set_breaking(tty, true);
	error = litepulse_tty_wait_for_line(lp) ?: litepulse_tty_launch_break(lp, ms, &end);
	launched = error != -EBUSY;
	if (!launched)
		error = litepulse_tty_set_break(tty, -1);
	litepulse_tty_set_breaking(tty, false);
	if (launched) {
		while (!error && (left = litepulse_tty_ms_until(lp, end))) {
			if (left > 0 && !msleep_interruptible(left))
				continue;
			error = left < 0 ? left : -EINTR;
		}
	} else if (!error) {
		msleep_interruptible(ms);
		error = litepulse_tty_set_break(tty, 0);
		if (!error && signal_pending(current))
			error = -EINTR;
	}
	return error;
}

/*
 * TIOCSBRK, TIOCCBRK, and of so many ms: TCSBRK and TCSBRKP, behind all that was written. Bytes
 * that are written meanwhile wait for the line, and so does another break. A signal ends the call;
 * it does not shorten a break that is one launch.
 */
static int litepulse_tty_break(struct tty_struct *tty, int state)
{
	struct litepulse *lp;
	int error = -EINTR;

	/* The line of a tty that did not start may be lent: it is not for that tty to hold low. */
	if (tty_io_error(tty))
		return -EIO;
	if (state == -1 || !state)
		return litepulse_tty_set_break(tty, state);
	lp = litepulse_tty_get_board(tty);
	if (!lp)
		return -EIO;
	if (!mutex_lock_interruptible(&lp->break_mutex)) {
		error = tty_io_error(tty) ? -EIO : litepulse_tty_send_break(tty, lp, state);
		mutex_unlock(&lp->break_mutex);
	}
	litepulse_board_put(lp);
	return error;
}

/*
 * TIOCSSERIAL: the serial core asks the driver only if the caller is root, and tells it nothing of
 * ASYNC_LOW_LATENCY, which acts at once here, whoever sets it.
 */
static int litepulse_tty_set_serial(struct tty_struct *tty, struct serial_struct *serial)
{
	struct uart_state *state = &litepulse_uart_driver.state[tty->index];
	bool custom = (serial->flags & ASYNC_SPD_MASK) == ASYNC_SPD_CUST;
	struct litepulse_tty *t;
	int error = 0;

	mutex_lock(&state->port.mutex);
	if (custom && state->uart_port &&
	    !litepulse_tty_custom_period(litepulse_tty_of(state->uart_port),
					 serial->custom_divisor))
		error = -EINVAL;
	mutex_unlock(&state->port.mutex);
	error = error ?: litepulse_serial_ops->set_serial(tty, serial);
	if (error)
		return error;
	mutex_lock(&state->port.mutex);
	if (state->uart_port) {
		t = litepulse_tty_of(state->uart_port);
		error = mutex_lock_killable(&t->lp->setup.mutex);
		if (!error) {
			t->low_latency = t->port.flags & UPF_LOW_LATENCY;
			litepulse_tty_moderate(t);
			mutex_unlock(&t->lp->setup.mutex);
		}
	}
	mutex_unlock(&state->port.mutex);
	return error;
}

/* Drops what has been received, also what is still in the board. 0 or an error. */
static int litepulse_tty_flush_input(struct tty_struct *tty)
{
	struct litepulse *lp = litepulse_tty_get_board(tty);
	int error;
	u64 now;

	if (!lp)
		return -EIO;
	error = litepulse_board_enter(lp);
	if (!error) {
		error = mutex_lock_killable(&lp->setup.mutex);
		if (!error) {
			/* With the mutex held, so that no reset is dealt with before it is used. */
			error = litepulse_board_now(lp, &now);
			if (!error)
				litepulse_tty_skip_received(lp->tty, now);
			mutex_unlock(&lp->setup.mutex);
		}
		litepulse_board_leave(lp);
	}
	litepulse_board_put(lp);
	/* What has come here meanwhile. */
	if (!error)
		tty_ldisc_flush(tty);
	return error;
}

/* Waits until all that was written has been sent. 0, or an error if a signal ends it. */
static int litepulse_tty_drain(struct tty_struct *tty)
{
	tty_wait_until_sent(tty, 0);
	return signal_pending(current) ? -ERESTARTSYS : 0;
}

/* A PPS on DCD would never tick. */
static int litepulse_tty_ldisc_ok(struct tty_struct *tty, int ldisc)
{
	if (ldisc != N_PPS)
		return 0;
	dev_notice_ratelimited(tty->dev, "has no DCD: the PTP clock stamps a PPS (EXTTS)\n");
	return -EOPNOTSUPP;
}

/*
 * The serial core's TIOCMIWAIT waits until a modem line changes; removing the port waits for that
 * in turn, though the tty was hung up. There is no such line here, so it would be forever: the
 * board could not go while a program waits.
 */
static int litepulse_tty_ioctl(struct tty_struct *tty, unsigned int cmd, unsigned long arg)
{
	int error = 0;

	switch (cmd) {
	case TIOCMIWAIT:
		return -ENOIOCTLCMD;
	case TIOCSRS485:
		return litepulse_tty_set_rs485(tty, arg);
	/*
	 * Of these the tty layer and the line discipline do the rest. A process in the background
	 * is stopped before it has any effect.
	 */
	case TCFLSH:
		if (arg == TCIFLUSH || arg == TCIOFLUSH)
			error = tty_check_change(tty) ?: litepulse_tty_flush_input(tty);
		break;
	case TCSETAF:
	case TCSETSF:
#ifdef TCSETSF2
	case TCSETSF2:
#endif
		error = tty_check_change(tty) ?: litepulse_tty_drain(tty) ?:
			litepulse_tty_flush_input(tty);
		break;
	}
	return error ?: litepulse_serial_ops->ioctl(tty, cmd, arg);
}

/*
 * If the line is lent the port does not start. The serial core lets root open such a tty all the
 * same, without input and output: who opens this one is told instead.
 */
static int litepulse_tty_open(struct tty_struct *tty, struct file *file)
{
	int error = litepulse_serial_ops->open(tty, file);
	struct litepulse *lp;

	/* The serial core would leave one that is to wake the machine running over a suspend. */
	if (tty->dev)
		device_set_wakeup_capable(tty->dev, false);
	if (error || !tty_io_error(tty))
		return error;
	lp = litepulse_tty_get_board(tty);
	if (!lp)
		return 0;
	error = mutex_lock_killable(&lp->setup.mutex);
	if (!error) {
		if (lp->tty && lp->tty->lent)
			error = -EBUSY;
		mutex_unlock(&lp->setup.mutex);
	}
	litepulse_board_put(lp);
	return error;
}

/**
 * litepulse_tty_init - makes the tty driver
 * @console: that a port can be, or NULL
 *
 * Return: 0 or an error of serial core.
 */
int litepulse_tty_init(struct console *console)
{
	struct ktermios *termios;
	int error;

	litepulse_uart_driver.cons = console;
	if (console)
		console->data = &litepulse_uart_driver;
	error = uart_register_driver(&litepulse_uart_driver);
	if (error)
		return error;
	for (int i = 0; i < LITEPULSE_DEVICES; i++)
		lockdep_set_class(&litepulse_uart_driver.state[i].port.mutex,
				  &litepulse_port_mutex_key);
	/*
	 * The serial core does not: without, closing a tty after the module had gone would write to
	 * what it has freed.
	 */
	litepulse_uart_driver.tty_driver->owner = THIS_MODULE;
	litepulse_serial_ops = litepulse_uart_driver.tty_driver->ops;
	litepulse_tty_ops = *litepulse_serial_ops;
	litepulse_tty_ops.open = litepulse_tty_open;
	litepulse_tty_ops.ioctl = litepulse_tty_ioctl;
	litepulse_tty_ops.set_serial = litepulse_tty_set_serial;
	litepulse_tty_ops.break_ctl = litepulse_tty_break;
	litepulse_set_ldisc_ok(&litepulse_tty_ops, litepulse_tty_ldisc_ok);
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

/* What a board goes on with may need its profile 0. Returns whether it has a valid one. */
static bool litepulse_tty_adopt_profile(struct litepulse_tty *t, u64 period_min)
{
	struct litepulse *lp = t->lp;
	const struct litepulse_profile_settings *found = &lp->claim.profiles[0];

	if (!lp->claim.kept || found->period < period_min)
		return false;
	uart_update_timeout(&t->port, CS8, litepulse_baud(&lp->rate, found->period));
	litepulse_tty_use_profile(t, found->format, found->period);
	return true;
}

/* The serial core knows the loopback of what a board goes on with, or of who was quicker. */
static void litepulse_tty_adopt_loopback(struct litepulse_tty *t)
{
	unsigned long flags;

	uart_port_lock_irqsave(&t->port, &flags);
	t->added = true;
	if (READ_ONCE(t->lp->line.word) & LITEPULSE_CFG_LINE_LOOPBACK_MASK)
		t->port.mctrl |= TIOCM_LOOP;
	litepulse_tty_set_mctrl(&t->port, t->port.mctrl);
	uart_port_unlock_irqrestore(&t->port, flags);
}

/*
 * Until somebody says otherwise: 8N1 as the kernel's early messages, or 9600 baud, or the nearest
 * that this clock can do.
 */
static int litepulse_tty_init_profile(struct litepulse_tty *t, const struct resource *csr)
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
	if (litepulse_tty_adopt_profile(t, period_min))
		return 0;
	baud = litepulse_early_baud(csr) ?: DEFAULT_BAUD;
	baud = clamp_t(unsigned int, baud, t->baud_min, t->baud_max);
	uart_update_timeout(&t->port, CS8, baud);
	return litepulse_tty_put_profile(t, litepulse_tty_profile_format(CS8),
					 litepulse_bit_period(rate, baud));
}

/*
 * When the serial core runs out of memory while it adds a port it keeps its pointer to it. The
 * port is freed soon, and the next one that is added would read it.
 */
static void litepulse_tty_forget_port(struct uart_port *port)
{
	struct uart_state *state = &litepulse_uart_driver.state[port->line];

	mutex_lock(&state->port.mutex);
	if (state->uart_port == port) {
		state->uart_port = NULL;
		/* The serial core's; not all of them need be from kmalloc(). */
		kfree_const(port->name);
	}
	mutex_unlock(&state->port.mutex);
}

/*
 * When the tty of a port cannot be made the serial core only says so in the log. Removing the
 * port then deletes the tty's character device, which is not there, or was freed: the tty layer
 * does not look. It gets `spare` to delete.
 */
static int litepulse_tty_add_port(struct uart_port *port)
{
	struct cdev *spare = cdev_alloc();
	int error;

	if (!spare)
		return -ENOMEM;
	error = uart_add_one_port(&litepulse_uart_driver, port);
	if (error) {
		litepulse_tty_forget_port(port);
	} else if (port->flags & UPF_DEAD) {
		litepulse_uart_driver.tty_driver->cdevs[port->line] = spare;
		uart_remove_one_port(&litepulse_uart_driver, port);
		return -ENOMEM;
	}
	kobject_put(&spare->kobj);
	return error;
}

const struct litepulse_port_ops litepulse_tty_port_ops = {
	.room = litepulse_tty_room,
	.sysrq = litepulse_tty_sysrq,
	.set_driver_enable = litepulse_tty_set_driver_enable,
	.train_starts = litepulse_tty_train_starts,
	.fits_lin = litepulse_tty_fits_lin,
};

/* The thread that carries received bytes. 0 or an error. */
static int litepulse_tty_make_carrier(struct litepulse_tty *t)
{
	struct kthread_worker *carrier;

	/* What arrives over a cable has waited for other threads already. */
	if (t->lp->ops->sleeps)
		return 0;
	carrier = kthread_run_worker(0, "litepulse%d-tty", t->lp->id);
	if (IS_ERR(carrier))
		return PTR_ERR(carrier);
	sched_set_fifo(carrier->task);
	t->carrier = carrier;
	return 0;
}

static void litepulse_tty_end_carrier(struct litepulse_tty *t)
{
	if (t->carrier)
		kthread_destroy_worker(t->carrier);
	t->carrier = NULL;
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
	litepulse_tty_set_burst(t, BURST_BYTES);
	t->lead_known = !lp->claim.kept;
	t->echo = LITEPULSE_ECHO_CYCLES_RESET * lp->samples;
	t->echo_known = !lp->claim.kept;
	t->trigger.level = min(TRIGGER_BYTES, lp->receive_depth / 2);
	t->trigger.age_us = TRIGGER_AGE_US;
	t->interrupts_max = INTERRUPTS_MAX;
	lp->setup.interrupts_max = INTERRUPTS_MAX;
	t->idle_auto = true;
	t->sink.name = "tty";
	t->sink.put = litepulse_tty_put;
	t->sink.take_plain[LITEPULSE_BYTES] = litepulse_tty_take_plain;
	t->sink.done = litepulse_tty_bytes_done;
	litepulse_sink_init(&t->sink);
	INIT_WORK(&t->work, litepulse_tty_serve_work);
	kthread_init_work(&t->carry, litepulse_tty_carry);
	error = litepulse_tty_make_carrier(t);
	if (error)
		return error;
	port = &t->port;
	spin_lock_init(&port->lock);
	/* From now on a board that is reset gets the profile again. */
	smp_store_release(&lp->tty, t);
	mutex_lock(&lp->setup.mutex);
	error = litepulse_tty_init_profile(t, csr);
	mutex_unlock(&lp->setup.mutex);
	if (error) {
		dev_err_probe(lp->dev, error, "line profile 0 cannot be set\n");
		goto error;
	}
	port->dev = lp->dev;
	port->line = lp->id;
	port->ops = &litepulse_uart_ops;
	port->type = PORT_LITEPULSE;
	port->flags = UPF_FIXED_TYPE | UPF_FIXED_PORT;
	port->has_sysrq = IS_ENABLED(CONFIG_LITEPULSE_CONSOLE);
	port->fifosize = lp->transmit_depth;
	/* So that its baud_base is the highest rate. */
	port->uartclk = min_t(u64, (u64)t->baud_max * 16, UINT_MAX);
	/* For people only: nothing is mapped by way of these, and no interrupt is requested. */
	port->iotype = csr ? UPIO_MEM : UPIO_UNKNOWN;
	port->mapbase = csr ? csr->start : 1 + lp->id;
	irq = platform_get_irq_optional(pdev, 0);
	port->irq = max(irq, 0);
	port->attr_group = &trigger_group;
	port->rs485_config = litepulse_tty_rs485_config;
	port->rs485_supported = (struct serial_rs485) {
		.flags = SER_RS485_ENABLED | SER_RS485_RTS_ON_SEND | SER_RS485_RX_DURING_TX,
		.delay_rts_before_send = 1,
		.delay_rts_after_send = 1,
	};
	error = uart_get_rs485_mode(port);
	if (error) {
		dev_err_probe(lp->dev, error, "RS-485 settings of the firmware\n");
		goto error;
	}
	if (port->rs485.flags & SER_RS485_RTS_AFTER_SEND) {
		error = dev_err_probe(lp->dev, -EINVAL,
				      "de is active high, rs485-rts-active-low cannot be had\n");
		goto error;
	}
	/* The serial core would go on without RS-485. */
	error = litepulse_tty_check_rs485(lp->dev, &lp->rate, &port->rs485);
	if (error)
		goto error;
	/* The serial core initialises port->lock anew, which litepulse_tty_apply() takes. */
	mutex_lock(&lp->claim.mutex);
	error = litepulse_tty_add_port(port);
	if (!error)
		litepulse_tty_adopt_loopback(t);
	mutex_unlock(&lp->claim.mutex);
	if (!error)
		return 0;
error:
	WRITE_ONCE(lp->tty, NULL);
	litepulse_tty_end_carrier(t);
	return error;
}

void litepulse_tty_remove(struct litepulse *lp)
{
	struct litepulse_tty *t = lp->tty;

	/* Hangs up; who waits for something is woken. */
	uart_remove_one_port(&litepulse_uart_driver, &t->port);
	litepulse_sink_remove(lp, &t->sink);
	cancel_work_sync(&t->work);
	litepulse_tty_end_carrier(t);
	/* litepulse_tty_open() may be looking at it. */
	mutex_lock(&lp->setup.mutex);
	WRITE_ONCE(lp->tty, NULL);
	mutex_unlock(&lp->setup.mutex);
}

int litepulse_tty_suspend(struct litepulse *lp)
{
	return uart_suspend_port(&litepulse_uart_driver, &lp->tty->port);
}

int litepulse_tty_resume(struct litepulse *lp)
{
	return uart_resume_port(&litepulse_uart_driver, &lp->tty->port);
}

/* What of DRIVER_ENABLE and ECHO the board is known to have, in order. 0 or an error. */
static int litepulse_tty_apply_de(struct litepulse_tty *t)
{
	const struct litepulse_word enable = { LITEPULSE_CFG_DRIVER_ENABLE,
					       READ_ONCE(t->driver_enable) };
	const struct litepulse_word echo = { LITEPULSE_CFG_ECHO, t->echo };
	int error = 0;

	if (READ_ONCE(t->lead_known))
		error = litepulse_board_configure(t->lp, &enable, 1);
	/* A train runs, and has another lead: writing one failed, but it had arrived. */
	if (error == -EINVAL) {
		WRITE_ONCE(t->lead_known, false);
		error = 0;
	}
	if (!error && t->echo_known)
		error = litepulse_board_configure(t->lp, &echo, 1);
	return error;
}

/**
 * litepulse_tty_apply - writes all settings of the tty, and goes on with what is to be sent
 * @lp: device; claim.mutex is held
 *
 * Return: 0, also if there is no tty yet, or an error of the transport: it is to be called again.
 */
int litepulse_tty_apply(struct litepulse *lp)
{
	struct litepulse_tty *t = READ_ONCE(lp->tty);
	unsigned long flags;
	int error = 0;

	/* The board may be reset while the driver is still being bound. */
	if (!t)
		return 0;
	lockdep_assert_held(&lp->claim.mutex);
	if (lp->restart.pending) {
		WRITE_ONCE(t->lead_known, true);
		t->echo_known = true;
	}
	mutex_lock(&lp->setup.mutex);
	if (lp->restart.pending)
		t->profile_known = false;
	/* Only then: a byte that is being received would be lost. */
	if (!t->profile_known && t->period) {
		error = litepulse_board_set_profile(lp, 0, t->format, t->period);
		t->profile_known = !error;
	}
	mutex_unlock(&lp->setup.mutex);
	error = error ?: litepulse_tty_apply_de(t);
	if (error)
		return error;
	uart_port_lock_irqsave(&t->port, &flags);
	t->wanted = 0;
	t->told |= LITEPULSE_WANT_DRAINED;
	litepulse_tty_serve(t);
	uart_port_unlock_irqrestore(&t->port, flags);
	return 0;
}
