// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel's console on /dev/ttyPULSEn
 *
 * Only on a core whose registers are mapped: a console is written to in any context, and a cable
 * sleeps. A message goes into the core's FIFO behind what the tty has there, and the tty goes on
 * behind it. The CPU waits only while the FIFO is full. It waits for the last stop bit, too, when
 * the machine may be reset right after: in an oops, a panic and a shutdown.
 *
 * Timed launches come first, so a train without gaps can hold a message back forever. If no byte
 * leaves for WAIT_US the rest of the message is dropped, and so is what follows, without a wait,
 * until there is room again. The number of bytes lost is then printed on the console.
 */
#include <linux/console.h>
#include <linux/delay.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/nmi.h>
#include <linux/notifier.h>
#include <linux/panic_notifier.h>
#include <linux/serial_core.h>

#include "litepulse_compat.h"
#include "litepulse_console.h"
#include "litepulse_tty.h"

#define DEFAULT_BAUD	115200
/* Converted at a time; they lie on the stack. */
#define CHUNK		64u
#define WAIT_US		100000u
#define POLL_US		10u

/* Only the one who writes to the console reads and writes these. */
static bool litepulse_console_stuck;
static unsigned int litepulse_console_lost;
static bool litepulse_console_panic;

/* The longest that a frame takes to leave while nothing timed is in the way, or WAIT_US. */
static unsigned int litepulse_console_patience(const struct uart_port *port)
{
	return max(WAIT_US, 2 * (port->frame_time / (unsigned int)NSEC_PER_USEC));
}

static void litepulse_console_put(struct uart_port *port, const u8 *bytes, unsigned int count)
{
	unsigned int waited = 0, sent;

	while (count) {
		sent = litepulse_tty_console_send(port, bytes, count);
		bytes += sent;
		count -= sent;
		if (sent) {
			litepulse_console_stuck = false;
			waited = 0;
			continue;
		}
		if (litepulse_console_stuck || waited >= litepulse_console_patience(port)) {
			litepulse_console_stuck = true;
			litepulse_console_lost += count;
			return;
		}
		udelay(POLL_US);
		waited += POLL_US;
		touch_nmi_watchdog();
	}
}

static void litepulse_console_put_text(struct uart_port *port, const char *text,
				       unsigned int count)
{
	u8 bytes[CHUNK];
	unsigned int filled = 0;

	for (; count; count--, text++) {
		if (*text == '\n')
			bytes[filled++] = '\r';
		bytes[filled++] = *text;
		if (filled >= CHUNK - 1 || count == 1) {
			litepulse_console_put(port, bytes, filled);
			filled = 0;
		}
	}
}

static void litepulse_console_report_lost(struct uart_port *port)
{
	const unsigned int lost = litepulse_console_lost;
	char text[48];

	if (!lost)
		return;
	litepulse_console_lost = 0;
	litepulse_console_put_text(port, text, scnprintf(text, sizeof(text),
							 "\n** %u bytes lost **\n", lost));
	if (litepulse_console_lost)
		litepulse_console_lost = lost;
}

/* Time in which a full FIFO leaves, in us. */
static u64 litepulse_console_drain_us(const struct uart_port *port)
{
	u64 ns = (u64)port->frame_time * (port->fifosize + 1);

	return div_u64(ns, NSEC_PER_USEC) + litepulse_console_patience(port);
}

static void litepulse_console_drain(struct uart_port *port)
{
	u64 left = litepulse_console_drain_us(port);

	while (!litepulse_console_stuck && !litepulse_tty_console_idle(port)) {
		if (left < POLL_US)
			litepulse_console_stuck = true;
		udelay(POLL_US);
		left -= POLL_US;
		touch_nmi_watchdog();
	}
}

static void litepulse_console_write_all(struct uart_port *port, const char *text,
					unsigned int count)
{
	litepulse_console_report_lost(port);
	litepulse_console_put_text(port, text, count);
	if (oops_in_progress || litepulse_console_panic || system_state > SYSTEM_RUNNING)
		litepulse_console_drain(port);
}

static void litepulse_console_write(struct console *console, const char *text,
				    unsigned int count)
{
	struct uart_port *port = litepulse_tty_console_port(console);
	unsigned long flags;

	if (!oops_in_progress) {
		uart_port_lock_irqsave(port, &flags);
	} else if (!uart_port_trylock_irqsave(port, &flags)) {
		/* The CPU that has it may be stopped. */
		litepulse_console_write_all(port, text, count);
		return;
	}
	litepulse_console_write_all(port, text, count);
	if (!oops_in_progress)
		litepulse_tty_console_sent(port);
	uart_port_unlock_irqrestore(port, flags);
}

static int litepulse_console_setup(struct console *console, char *options)
{
	struct uart_port *port = litepulse_tty_console_port(console);
	int baud = DEFAULT_BAUD, parity = 'n', bits = 8, flow = 'n';
	int error = port ? litepulse_tty_console_set(port, true) : -ENODEV;

	if (error) {
		/* Else the serial core would take the port with this number for a console. */
		console->index = -1;
		return error;
	}
	if (options)
		uart_parse_options(options, &baud, &parity, &bits, &flow);
	return uart_set_options(port, console, baud, parity, bits, flow);
}

/* What was written last still leaves. */
static int litepulse_console_end(struct console *console)
{
	struct uart_port *port = litepulse_tty_console_port(console);
	u64 left = litepulse_console_drain_us(port);

	while (!litepulse_tty_console_idle(port) && left >= USEC_PER_MSEC) {
		usleep_range(USEC_PER_MSEC, 2 * USEC_PER_MSEC);
		left -= USEC_PER_MSEC;
	}
	return litepulse_tty_console_set(port, false);
}

static struct console litepulse_console = {
	.name = "ttyPULSE",
	.write = litepulse_console_write,
	.device = uart_console_device,
	.setup = litepulse_console_setup,
	.exit = litepulse_console_end,
	.flags = CON_PRINTBUFFER,
	.index = -1,
};

static int litepulse_console_note_panic(struct notifier_block *block, unsigned long event,
					void *message)
{
	litepulse_console_panic = true;
	return NOTIFY_DONE;
}

static struct notifier_block litepulse_console_panic_block = {
	.notifier_call = litepulse_console_note_panic,
};

/**
 * litepulse_console_init - prepares the console
 *
 * Return: it, for litepulse_tty_serial_init().
 */
struct console *litepulse_console_init(void)
{
	atomic_notifier_chain_register(&panic_notifier_list, &litepulse_console_panic_block);
	return &litepulse_console;
}

void litepulse_console_exit(void)
{
	atomic_notifier_chain_unregister(&panic_notifier_list, &litepulse_console_panic_block);
}
