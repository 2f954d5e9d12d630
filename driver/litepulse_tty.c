// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/ttyPULSEn through serial core
 *
 * It owns line profile 0 and the best-effort bytes; launches, train and responder know nothing
 * of it.
 *
 * RTS, DTR and their inputs do not exist. `de` is always driven by the core; RS-485 sets its lead
 * and lag, and without SER_RS485_RX_DURING_TX bytes that came while we sent are dropped here (the
 * chardev has them). TIOCM_LOOP acts only while RS-485 is off: else serial core does not tell us.
 */
#include <linux/device.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/platform_device.h>
#include <linux/serial.h>
#include <linux/serial_core.h>
#include <linux/tty.h>
#include <linux/workqueue.h>

#include "litepulse_compat.h"
#include "litepulse_sink.h"
#include "litepulse_tty.h"
#include "litepulse_tty_port.h"

/* Ours alone: no program needs a number of <linux/serial_core.h>. */
#define PORT_LITEPULSE		0x4c50

/* --- a port begins and ends ------------------------------------------------------------------- */

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
		error = litepulse_board_configure(t->lp, &litepulse_tty_send_flush, 1);
	if (!error)
		t->leftover = false;
	return error;
}

/*
 * Over a cable there are two ttys, and calls to ours take locks of the port's: they are classes of
 * their own for lockdep, as the order is always ours, then the port's.
 */
static struct lock_class_key litepulse_tty_termios_key;

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
		lockdep_set_class(&port->state->port.tty->termios_rwsem,
				  &litepulse_tty_termios_key);
	error = litepulse_tty_lock_setup(t);
	if (error)
		return error;
	if (t->lent) {
		mutex_unlock(&lp->setup.mutex);
		return -EBUSY;
	}
	t->low_latency = port->flags & UPF_LOW_LATENCY;
	/* Bytes that came while it was not open are discarded. */
	t->sink.takes_older = t->suspended;
	want = litepulse_tty_receive_wanted(t);
	t->sink.idle_us = litepulse_tty_receive_moderation(t).idle_us;
	error = litepulse_sink_set(lp, &t->sink, &want);
	mutex_unlock(&lp->setup.mutex);
	if (error)
		return error;

	uart_port_lock_irqsave(port, &flags);
	t->open = true;
	t->suspended = false;
	t->receiving = true;
	/* If something was left in the core: what has become of it? */
	t->notified |= LITEPULSE_WANT_DRAINED;
	litepulse_tty_send_serve(t);
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
		if (t->busy && !t->console &&
		    litepulse_board_configure(lp, &litepulse_tty_send_flush, 1))
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
	.tx_empty = litepulse_tty_send_tx_empty,
	.set_mctrl = litepulse_tty_settings_set_mctrl,
	.get_mctrl = litepulse_tty_settings_get_mctrl,
	.stop_tx = litepulse_tty_send_stop_tx,
	.start_tx = litepulse_tty_send_start_tx,
	.stop_rx = litepulse_tty_receive_stop_rx,
	.break_ctl = litepulse_tty_send_break_ctl,
	.startup = litepulse_tty_startup,
	.shutdown = litepulse_tty_shutdown,
	.flush_buffer = litepulse_tty_send_flush_buffer,
	.set_termios = litepulse_tty_settings_set_termios,
	.type = litepulse_tty_type,
	.request_port = litepulse_tty_request_port,
	.release_port = litepulse_tty_release_port,
	.config_port = litepulse_tty_config_port,
	.verify_port = litepulse_tty_verify_port,
};

/* --- for those who hold the claim ------------------------------------------------------------- */

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
		error = litepulse_tty_settings_set_profile(t, format, period);
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
	litepulse_tty_settings_set_mctrl(&t->port, t->port.mctrl);
	uart_port_unlock_irqrestore(&t->port, flags);
}

/* --- for the console -------------------------------------------------------------------------- */

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
	return litepulse_tty_serial_driver.state[console->index].uart_port;
}

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
	litepulse_tty_send_serve(litepulse_tty_of(port));
}

/**
 * litepulse_tty_console_idle - whether all has left the core
 * @port: its transport does not sleep
 */
bool litepulse_tty_console_idle(struct uart_port *port)
{
	u32 status;

	/* A core that is gone sends nothing any more. */
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
		litepulse_tty_send_hold(t);
		uart_port_unlock_irqrestore(port, flags);
	}
	mutex_unlock(&t->lp->setup.mutex);
	return error;
}

/* --- the device ------------------------------------------------------------------------------- */

const struct litepulse_port_ops litepulse_tty_port_ops = {
	.room = litepulse_tty_send_room,
	.sysrq = litepulse_tty_receive_sysrq,
	.set_driver_enable = litepulse_tty_settings_set_driver_enable,
	.set_port = litepulse_tty_settings_set_port,
	.train_starts = litepulse_tty_settings_train_starts,
	.fits_lin = litepulse_tty_settings_fits_lin,
};

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
	litepulse_tty_settings_set_burst(t, 0);
	t->lead_known = !lp->claim.kept;
	t->echo = LITEPULSE_ECHO_CYCLES_RESET * lp->samples;
	t->echo_known = !lp->claim.kept;
	INIT_WORK(&t->work, litepulse_tty_send_work);
	error = litepulse_tty_receive_init(t);
	if (error)
		return error;
	port = &t->port;
	spin_lock_init(&port->lock);
	/* From now on a board that is reset gets the profile again. */
	smp_store_release(&lp->tty, t);
	mutex_lock(&lp->setup.mutex);
	error = litepulse_tty_settings_init_profile(t, csr);
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
	port->attr_group = &litepulse_tty_receive_group;
	port->rs485_config = litepulse_tty_settings_rs485_config;
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
	error = litepulse_tty_settings_check_rs485(lp->dev, &lp->rate, &port->rs485);
	if (error)
		goto error;
	/* The serial core initialises port->lock again, which litepulse_tty_apply() takes. */
	mutex_lock(&lp->claim.mutex);
	error = litepulse_tty_serial_add_port(port);
	if (!error)
		litepulse_tty_settings_adopt_loopback(t);
	mutex_unlock(&lp->claim.mutex);
	if (!error)
		return 0;
error:
	WRITE_ONCE(lp->tty, NULL);
	litepulse_tty_receive_end_carrier(t);
	return error;
}

void litepulse_tty_remove(struct litepulse *lp)
{
	struct litepulse_tty *t = lp->tty;

	/* Hangs up; who waits for something is woken. */
	uart_remove_one_port(&litepulse_tty_serial_driver, &t->port);
	litepulse_sink_remove(lp, &t->sink);
	cancel_work_sync(&t->work);
	litepulse_tty_receive_end_carrier(t);
	/* litepulse_tty_serial_open() may be looking at it. */
	mutex_lock(&lp->setup.mutex);
	WRITE_ONCE(lp->tty, NULL);
	mutex_unlock(&lp->setup.mutex);
}

int litepulse_tty_suspend(struct litepulse *lp)
{
	return uart_suspend_port(&litepulse_tty_serial_driver, &lp->tty->port);
}

int litepulse_tty_resume(struct litepulse *lp)
{
	return uart_resume_port(&litepulse_tty_serial_driver, &lp->tty->port);
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
		t->mark_width_known = true;
	}
	mutex_lock(&lp->setup.mutex);
	if (lp->restart.pending)
		t->profile_known = false;
	/* Only then: a byte that is being received would be lost. */
	if (!t->profile_known && t->period) {
		error = litepulse_tty_settings_write_profile(t, t->format, t->period);
		t->profile_known = !error;
	}
	mutex_unlock(&lp->setup.mutex);
	error = error ?: litepulse_tty_settings_apply_de(t);
	if (error)
		return error;
	uart_port_lock_irqsave(&t->port, &flags);
	t->wanted = 0;
	t->notified |= LITEPULSE_WANT_DRAINED;
	litepulse_tty_send_serve(t);
	uart_port_unlock_irqrestore(&t->port, flags);
	return 0;
}
