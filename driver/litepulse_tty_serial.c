// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/ttyPULSEn: what the serial core lacks, or would do wrong
 *
 * A break of tcsendbreak() is one launch, exact to the tick, if it is short, there is no claim, and
 * nothing timed runs or waits. Else it is made of two settings, as one of TIOCSBRK is.
 */
#include <linux/cdev.h>
#include <linux/console.h>
#include <linux/delay.h>
#include <linux/device.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/serial.h>
#include <linux/serial_core.h>
#include <linux/tty.h>
#include <linux/uaccess.h>

#include "litepulse_compat.h"
#include "litepulse_output.h"
#include "litepulse_tty_port.h"
#include "litepulse_tty_serial.h"

/* A break of tcsendbreak() is one launch up to this many ms. */
#define BREAK_LAUNCH_MS		1000u

struct uart_driver litepulse_tty_serial_driver = {
	.owner = THIS_MODULE,
	.driver_name = "litepulse",
	.dev_name = "ttyPULSE",
	.nr = LITEPULSE_DEVICES,
};

/* The serial core's, but for some calls. Written before there is a port. */
static struct tty_operations litepulse_tty_ops;
static const struct tty_operations *litepulse_serial_ops;

/* The device of a tty, with a reference; NULL: it has gone. */
static struct litepulse *litepulse_tty_serial_get_board(struct tty_struct *tty)
{
	struct uart_state *state = &litepulse_tty_serial_driver.state[tty->index];
	struct litepulse *lp = NULL;

	mutex_lock(&state->port.mutex);
	if (state->uart_port)
		lp = litepulse_board_get(litepulse_tty_of(state->uart_port)->lp);
	mutex_unlock(&state->port.mutex);
	return lp;
}

/* --- breaks ----------------------------------------------------------------------------------- */

/* Whether the tty's bytes wait in the board, as a break of tcsendbreak() is about to begin. */
static void litepulse_tty_serial_set_breaking(struct tty_struct *tty, bool breaking)
{
	struct uart_state *state = &litepulse_tty_serial_driver.state[tty->index];
	struct litepulse_tty *t;
	unsigned long flags;

	mutex_lock(&state->port.mutex);
	if (state->uart_port) {
		t = litepulse_tty_of(state->uart_port);
		uart_port_lock_irqsave(&t->port, &flags);
		t->breaking = breaking;
		litepulse_tty_send_hold(t);
		uart_port_unlock_irqrestore(&t->port, flags);
		/* The break that follows returns the error. */
		(void)litepulse_board_flush_line(t->lp);
	}
	mutex_unlock(&state->port.mutex);
}

/* Waits until nothing is on the line, or another's TIOCSBRK is. 0, -EINTR, or an error. */
static int litepulse_tty_serial_wait_for_line(struct litepulse *lp)
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
static int litepulse_tty_serial_launch_break(struct litepulse *lp, unsigned int ms, u64 *end)
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
static int litepulse_tty_serial_ms_until(struct litepulse *lp, u64 tick)
{
	u64 now;
	int error;

	error = litepulse_board_enter(lp);
	if (error)
		return error;
	/* The ticks of a board that was reset count from 0 again. */
	error = litepulse_board_check_session(lp) ?: litepulse_board_now(lp, &now);
	litepulse_board_leave(lp);
	if (error || now >= tick)
		return error;
	return div_u64(litepulse_ticks_to_ns(&lp->rate, min_t(u64, tick - now, U32_MAX)),
		       NSEC_PER_MSEC) + 1;
}

/* A break, on (@state -1) or off (0): TIOCSBRK and TIOCCBRK. 0 or an error. */
static int litepulse_tty_serial_set_break(struct tty_struct *tty, int state)
{
	struct litepulse *lp = litepulse_tty_serial_get_board(tty);
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
 * A break of @ms, in a free line: as one launch, which nothing can end, or, if that cannot
 * be or it is long, made of two settings.
 */
static int litepulse_tty_serial_send_break(struct tty_struct *tty, struct litepulse *lp,
					   unsigned int ms)
{
	bool launched;
	int error, left;
	u64 end;

	litepulse_tty_serial_set_breaking(tty, true);
	error = litepulse_tty_serial_wait_for_line(lp) ?:
		litepulse_tty_serial_launch_break(lp, ms, &end);
	launched = error != -EBUSY;
	if (!launched)
		error = litepulse_tty_serial_set_break(tty, -1);
	litepulse_tty_serial_set_breaking(tty, false);
	if (launched) {
		while (!error && (left = litepulse_tty_serial_ms_until(lp, end))) {
			if (left > 0 && !msleep_interruptible(left))
				continue;
			error = left < 0 ? left : -EINTR;
		}
	} else if (!error) {
		msleep_interruptible(ms);
		error = litepulse_tty_serial_set_break(tty, 0);
		if (!error && signal_pending(current))
			error = -EINTR;
	}
	return error;
}

/*
 * TIOCSBRK, TIOCCBRK, and of a given length: TCSBRK and TCSBRKP, behind all that was written. Bytes
 * that are written meanwhile wait for the line, and so does another break. A signal ends the call;
 * it does not shorten a break that is one launch.
 */
static int litepulse_tty_serial_break(struct tty_struct *tty, int state)
{
	struct litepulse *lp;
	int error = -EINTR;

	/* The line of a tty that did not start may be lent: it is not for that tty to hold low. */
	if (tty_io_error(tty))
		return -EIO;
	if (state == -1 || !state)
		return litepulse_tty_serial_set_break(tty, state);
	lp = litepulse_tty_serial_get_board(tty);
	if (!lp)
		return -EIO;
	if (!mutex_lock_interruptible(&lp->break_mutex)) {
		error = tty_io_error(tty) ? -EIO : litepulse_tty_serial_send_break(tty, lp, state);
		mutex_unlock(&lp->break_mutex);
	}
	litepulse_board_put(lp);
	return error;
}

/* --- settings and calls ----------------------------------------------------------------------- */

/* Reads from the board whether a train runs. 0 or an error. */
static int litepulse_tty_serial_look_for_train(struct litepulse *lp)
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
 * The core refuses another lead while a train runs, and so does
 * litepulse_tty_settings_rs485_config(), which cannot ask the board itself. A train that starts
 * after the look says so before it starts. No lock is held while the serial core copies the
 * program's memory.
 */
static int litepulse_tty_serial_set_rs485(struct tty_struct *tty, unsigned long arg)
{
	struct serial_rs485 wanted;
	struct litepulse *lp;
	int error = 0;

	if (copy_from_user(&wanted, (const void __user *)arg, sizeof(wanted)))
		return -EFAULT;
	/* The serial core would turn it round, and report success. */
	if (wanted.flags & SER_RS485_ENABLED && wanted.flags & SER_RS485_RTS_AFTER_SEND)
		return -EINVAL;
	lp = litepulse_tty_serial_get_board(tty);
	if (lp) {
		/* It would also shorten delays of more than 100 ms. */
		error = litepulse_tty_settings_check_rs485(tty->dev, &lp->rate, &wanted) ?:
			litepulse_tty_serial_look_for_train(lp);
		litepulse_board_put(lp);
	}
	return error ?: litepulse_serial_ops->ioctl(tty, TIOCSRS485, arg);
}

/*
 * TIOCSSERIAL: the serial core asks the driver only if the caller is root, and never passes it
 * ASYNC_LOW_LATENCY, which acts at once here, also for other callers.
 */
static int litepulse_tty_serial_set_serial(struct tty_struct *tty, struct serial_struct *serial)
{
	struct uart_state *state = &litepulse_tty_serial_driver.state[tty->index];
	bool custom = (serial->flags & ASYNC_SPD_MASK) == ASYNC_SPD_CUST;
	struct litepulse_tty *t;
	int error = 0;

	mutex_lock(&state->port.mutex);
	if (custom && state->uart_port &&
	    !litepulse_tty_settings_custom_period(litepulse_tty_of(state->uart_port),
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
			litepulse_tty_receive_moderate(t);
			mutex_unlock(&t->lp->setup.mutex);
		}
	}
	mutex_unlock(&state->port.mutex);
	return error;
}

/* Drops what has been received, also what is still in the board. 0 or an error. */
static int litepulse_tty_serial_flush_input(struct tty_struct *tty)
{
	struct litepulse *lp = litepulse_tty_serial_get_board(tty);
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
				litepulse_tty_receive_skip(lp->tty, now);
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
static int litepulse_tty_serial_drain(struct tty_struct *tty)
{
	tty_wait_until_sent(tty, 0);
	return signal_pending(current) ? -ERESTARTSYS : 0;
}

/* A PPS on DCD would never tick. */
static int litepulse_tty_serial_ldisc_ok(struct tty_struct *tty, int ldisc)
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
static int litepulse_tty_serial_ioctl(struct tty_struct *tty, unsigned int cmd, unsigned long arg)
{
	int error = 0;

	switch (cmd) {
	case TIOCMIWAIT:
		return -ENOIOCTLCMD;
	case TIOCSRS485:
		return litepulse_tty_serial_set_rs485(tty, arg);
	/*
	 * Of these the tty layer and the line discipline do the rest. A process in the background
	 * is stopped before it has any effect.
	 */
	case TCFLSH:
		if (arg == TCIFLUSH || arg == TCIOFLUSH)
			error = tty_check_change(tty) ?: litepulse_tty_serial_flush_input(tty);
		break;
	case TCSETAF:
	case TCSETSF:
#ifdef TCSETSF2
	case TCSETSF2:
#endif
		error = tty_check_change(tty) ?: litepulse_tty_serial_drain(tty) ?:
			litepulse_tty_serial_flush_input(tty);
		break;
	}
	return error ?: litepulse_serial_ops->ioctl(tty, cmd, arg);
}

/*
 * If the line is lent the port does not start. The serial core lets root open such a tty all the
 * same, without input and output: opening this one fails instead. That of a core which is newer
 * than this driver fails, too, as its bytes would be sent.
 */
static int litepulse_tty_serial_open(struct tty_struct *tty, struct file *file)
{
	int error = litepulse_serial_ops->open(tty, file);
	struct litepulse *lp;

	/* The serial core would leave one that is to wake the machine running over a suspend. */
	if (tty->dev)
		device_set_wakeup_capable(tty->dev, false);
	if (error)
		return error;
	lp = litepulse_tty_serial_get_board(tty);
	if (!lp)
		return 0;
	if (litepulse_is_newer(lp)) {
		error = -EOPNOTSUPP;
	} else if (tty_io_error(tty)) {
		error = mutex_lock_killable(&lp->setup.mutex);
		if (!error) {
			if (lp->tty && lp->tty->lent)
				error = -EBUSY;
			mutex_unlock(&lp->setup.mutex);
		}
	}
	litepulse_board_put(lp);
	return error;
}

/* --- the driver, and its ports ---------------------------------------------------------------- */

/*
 * Over a cable there are two ttys, and calls to ours take locks of the port's: they are classes of
 * their own for lockdep, as the order is always ours, then the port's.
 */
static struct lock_class_key litepulse_tty_serial_mutex_key;

/**
 * litepulse_tty_serial_init - makes the tty driver
 * @console: that a port can be, or NULL
 *
 * Return: 0 or an error of serial core.
 */
int litepulse_tty_serial_init(struct console *console)
{
	struct ktermios *termios;
	int error;

	litepulse_tty_serial_driver.cons = console;
	if (console)
		console->data = &litepulse_tty_serial_driver;
	error = uart_register_driver(&litepulse_tty_serial_driver);
	if (error)
		return error;
	for (int i = 0; i < LITEPULSE_DEVICES; i++)
		lockdep_set_class(&litepulse_tty_serial_driver.state[i].port.mutex,
				  &litepulse_tty_serial_mutex_key);
	/*
	 * The serial core does not: without, closing a tty after the module had gone would write to
	 * what it has freed.
	 */
	litepulse_tty_serial_driver.tty_driver->owner = THIS_MODULE;
	litepulse_serial_ops = litepulse_tty_serial_driver.tty_driver->ops;
	litepulse_tty_ops = *litepulse_serial_ops;
	litepulse_tty_ops.open = litepulse_tty_serial_open;
	litepulse_tty_ops.ioctl = litepulse_tty_serial_ioctl;
	litepulse_tty_ops.set_serial = litepulse_tty_serial_set_serial;
	litepulse_tty_ops.break_ctl = litepulse_tty_serial_break;
	litepulse_set_ldisc_ok(&litepulse_tty_ops, litepulse_tty_serial_ldisc_ok);
	litepulse_tty_serial_driver.tty_driver->flags |= TTY_DRIVER_HARDWARE_BREAK;
	litepulse_tty_serial_driver.tty_driver->ops = &litepulse_tty_ops;
	/* Raw: N_TTY's echo would answer what is looped back. No device is there yet. */
	termios = &litepulse_tty_serial_driver.tty_driver->init_termios;
	termios->c_iflag = 0;
	termios->c_oflag = 0;
	termios->c_lflag = 0;
	return 0;
}

void litepulse_tty_serial_exit(void)
{
	uart_unregister_driver(&litepulse_tty_serial_driver);
}

/*
 * When the serial core runs out of memory while it adds a port it keeps its pointer to it. The
 * port is freed soon, and the next one that is added would read it.
 */
static void litepulse_tty_serial_forget_port(struct uart_port *port)
{
	struct uart_state *state = &litepulse_tty_serial_driver.state[port->line];

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
int litepulse_tty_serial_add_port(struct uart_port *port)
{
	struct cdev *spare = cdev_alloc();
	int error;

	if (!spare)
		return -ENOMEM;
	error = uart_add_one_port(&litepulse_tty_serial_driver, port);
	if (error) {
		litepulse_tty_serial_forget_port(port);
	} else if (port->flags & UPF_DEAD) {
		litepulse_tty_serial_driver.tty_driver->cdevs[port->line] = spare;
		uart_remove_one_port(&litepulse_tty_serial_driver, port);
		return -ENOMEM;
	}
	kobject_put(&spare->kobj);
	return error;
}
