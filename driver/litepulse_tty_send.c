// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/ttyPULSEn: sending
 *
 * Bytes are copied from the port's buffer into the core's FIFO. The last one copied
 * stays in the buffer, too, until the core says that all have left: so chars_in_buffer, on which
 * tcdrain() waits without a limit, is not 0 before, however long a train leaves no room for
 * them. Serial core's own wait for the transmitter would give up.
 * At most BURST_NS worth of bytes, but BURST_BYTES at least, are in the core at once, so that an
 * XON or XOFF character is not far behind. While output is stopped they wait in the core; such a
 * character that is sent then takes them along.
 *
 * A transport that sleeps cannot be called under port.lock: then a worker does what else is done
 * on the spot. Both do it in steps: litepulse_tty_send_plan() and litepulse_tty_send_done() under
 * the lock, litepulse_tty_send_act() at the hardware.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/serial_core.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "litepulse_compat.h"
#include "litepulse_tty_port.h"

/* Copied at a time; they lie on the stack. */
#define CHUNK 64u

/* What is done next; by litepulse_tty_send_act() without the lock if the transport sleeps. */
struct litepulse_tty_send_step {
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

void litepulse_tty_send_hold(struct litepulse_tty *t)
{
	bool hold = (t->breaking || (t->stopped && !t->released)) && !t->console;

	litepulse_board_set_line(t->lp, LITEPULSE_CFG_LINE_HOLD_TTY_MASK,
				 hold ? LITEPULSE_CFG_LINE_HOLD_TTY_MASK : 0);
}

/* Bytes of the port's buffer that are not in the core yet. */
static unsigned int litepulse_tty_send_unsent(struct litepulse_tty *t)
{
	return litepulse_xmit_pending(&t->port) - t->held;
}

static bool litepulse_tty_send_plan(struct litepulse_tty *t, struct litepulse_tty_send_step *step)
{
	bool more, waits;

	memset(step, 0, offsetof(struct litepulse_tty_send_step, bytes));
	if (!t->open)
		return false;
	if (t->notified & LITEPULSE_WANT_TRANSMIT) {
		t->ahead = min(t->ahead, t->low);
		t->full = false;
	}
	step->look = t->busy && t->notified & LITEPULSE_WANT_DRAINED;
	t->notified = 0;
	step->flush = t->flush;
	t->flush = false;
	step->set_driver_enable = t->set_driver_enable;
	step->driver_enable = t->new_driver_enable;
	t->set_driver_enable = false;
	step->flushes = t->flushes;
	if (step->look || step->flush || step->set_driver_enable)
		return true;

	waits = t->full || t->wanted & LITEPULSE_WANT_TRANSMIT;
	more = t->port.x_char || (!t->stopped && litepulse_tty_send_unsent(t));
	if (t->port.x_char) {
		t->released = t->stopped;
		litepulse_tty_send_hold(t);
	}
	if (t->port.x_char && !t->full) {
		step->x_char = true;
		step->bytes[0] = t->port.x_char;
		step->count = 1;
	} else if (more && !waits && t->ahead < t->burst) {
		step->skip = t->held;
		step->count = min3(litepulse_tty_send_unsent(t), t->burst - t->ahead, CHUNK);
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

const struct litepulse_word litepulse_tty_send_flush = {
	LITEPULSE_CFG_COMMAND, LITEPULSE_CFG_COMMAND_FLUSH_TTY_MASK
};

static void litepulse_tty_send_act(struct litepulse_tty *t, struct litepulse_tty_send_step *step)
{
	const struct litepulse_word enable = { LITEPULSE_CFG_DRIVER_ENABLE, step->driver_enable };
	struct litepulse *lp = t->lp;
	u32 status;

	if (step->flush)
		step->error = litepulse_board_configure(lp, &litepulse_tty_send_flush, 1);
	if (step->set_driver_enable && !step->error) {
		step->error = litepulse_board_configure(lp, &enable, 1);
		step->refused = step->error == -EINVAL;
		if (step->refused)
			step->error = 0;
	}
	/* The report may be outdated: bytes may have followed since. */
	if (step->look && !step->error) {
		step->error = litepulse_board_read_csr(lp, LITEPULSE_CSR_STATUS, &status);
		step->idle = !step->error && status & LITEPULSE_CSR_STATUS_TX_IDLE_MASK;
	}
	/* Settings that were changed before the bytes were written apply before they are sent. */
	if (step->count && !step->error)
		step->error = litepulse_board_flush_line(lp);
	if (step->count && !step->error)
		step->sent = lp->ops->transmit(lp->context, step->bytes + step->skip, step->count);
	if (step->want)
		lp->ops->want(lp->context, step->want, step->want);
}

/* False if the core cannot be reached. */
static bool litepulse_tty_send_done(struct litepulse_tty *t,
				    const struct litepulse_tty_send_step *step)
{
	struct uart_port *port = &t->port;
	bool moved = false;

	if (step->error || step->sent < 0)
		litepulse_board_doubt(t->lp);
	if (step->error) {
		/* As if it had not been planned, until litepulse_tty_apply(). */
		t->flush |= step->flush;
		t->set_driver_enable |= step->set_driver_enable;
		t->notified |= step->look ? LITEPULSE_WANT_DRAINED : 0;
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
		litepulse_tty_send_hold(t);
		if (t->held) {
			t->held = false;
			uart_xmit_advance(port, 1);
			moved = true;
		}
	}
	if (step->sent > 0) {
		t->ahead += step->sent;
		if (step->x_char) {
			/* Another one may have been requested meanwhile. */
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

void litepulse_tty_send_work(struct work_struct *work)
{
	struct litepulse_tty *t = container_of(work, struct litepulse_tty, work);
	unsigned long flags;
	struct litepulse_tty_send_step step;
	bool refused;

	uart_port_lock_irqsave(&t->port, &flags);
	refused = t->refused;
	t->refused = false;
	while (t->lp->ops->sleeps && litepulse_tty_send_plan(t, &step)) {
		uart_port_unlock_irqrestore(&t->port, flags);
		litepulse_tty_send_act(t, &step);
		uart_port_lock_irqsave(&t->port, &flags);
		if (!litepulse_tty_send_done(t, &step))
			break;
	}
	uart_port_unlock_irqrestore(&t->port, flags);
	if (refused)
		dev_warn_ratelimited(t->port.dev, "a train runs: RS-485 keeps its delays\n");
}

void litepulse_tty_send_serve(struct litepulse_tty *t)
{
	struct litepulse_tty_send_step step;

	lockdep_assert_held(&t->port.lock);
	if (t->lp->ops->sleeps) {
		if (t->open)
			queue_work(litepulse_board_workers, &t->work);
		return;
	}
	while (litepulse_tty_send_plan(t, &step)) {
		litepulse_tty_send_act(t, &step);
		if (!litepulse_tty_send_done(t, &step))
			break;
	}
}

void litepulse_tty_send_room(struct litepulse *lp, u32 pending)
{
	struct litepulse_tty *t = READ_ONCE(lp->tty);
	unsigned long flags;

	if (!t)
		return;
	uart_port_lock_irqsave(&t->port, &flags);
	t->wanted &= ~pending;
	t->notified |= pending;
	litepulse_tty_send_serve(t);
	uart_port_unlock_irqrestore(&t->port, flags);
}

unsigned int litepulse_tty_send_tx_empty(struct uart_port *port)
{
	/* Bytes that the core holds back over a suspend are not waited for. */
	return READ_ONCE(litepulse_tty_of(port)->busy) && !port->suspended ? 0 : TIOCSER_TEMT;
}

void litepulse_tty_send_stop_tx(struct uart_port *port)
{
	struct litepulse_tty *t = litepulse_tty_of(port);

	t->stopped = true;
	litepulse_tty_send_hold(t);
}

void litepulse_tty_send_start_tx(struct uart_port *port)
{
	struct litepulse_tty *t = litepulse_tty_of(port);

	/* Also called for an XON or XOFF character while stopped. */
	t->stopped = uart_tx_stopped(port);
	if (!t->stopped)
		t->released = false;
	litepulse_tty_send_hold(t);
	litepulse_tty_send_serve(t);
}

void litepulse_tty_send_flush_buffer(struct uart_port *port)
{
	struct litepulse_tty *t = litepulse_tty_of(port);

	t->flushes++;
	t->held = false;
	t->flush = t->busy && !t->console;
	litepulse_tty_send_serve(t);
}

/* On return the break has begun or ended: the next call may come at once. */
void litepulse_tty_send_break_ctl(struct uart_port *port, int ctl)
{
	struct litepulse *lp = litepulse_tty_of(port)->lp;

	litepulse_board_set_line(lp, LITEPULSE_CFG_LINE_BREAK_HOLD_MASK,
				 ctl ? LITEPULSE_CFG_LINE_BREAK_HOLD_MASK : 0);
	/* litepulse_tty_serial_set_break() returns the error. */
	(void)litepulse_board_flush_line(lp);
}
