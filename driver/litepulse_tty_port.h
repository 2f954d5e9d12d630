/* SPDX-License-Identifier: GPL-2.0-only */
/* A port, as the files of the tty see it. */
#ifndef LITEPULSE_TTY_PORT_H
#define LITEPULSE_TTY_PORT_H

#include <linux/bits.h>
#include <linux/container_of.h>
#include <linux/kthread.h>
#include <linux/serial_core.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "litepulse.h"
#include "litepulse_sink.h"

struct attribute_group;
struct device;
struct resource;
struct tty_struct;

/* In read_status_mask and ignore_status_mask, beside LITEPULSE_RX_*. */
#define LITEPULSE_TTY_RX_OVERRUN BIT(8)
#define LITEPULSE_TTY_RX_ANY BIT(9)

/* A port. Lives as long as the driver is bound: longer than the transport hands over anything. */
struct litepulse_tty {
	struct uart_port port;
	struct litepulse *lp;
	struct litepulse_sink sink;	/* received bytes; wants them while the tty is open */
	unsigned int inserted;		/* into the tty's buffer, not yet pushed: feed.lock */
	struct kthread_worker *carrier;	/* NULL if the transport sleeps */
	struct kthread_work carry;

	unsigned int low;		/* WANT_TRANSMIT: at most that many bytes in the core */
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
	bool lead_known;		/* false while the board may still use an earlier lead */
	bool train_runs;		/* or may: the core refuses another lead */
	unsigned int flushes;
	unsigned int ahead;		/* at most this many bytes are in the core */
	unsigned int burst;		/* at most this many should be */
	bool console;			/* of the kernel: its bytes are among ours */
	bool refused;			/* a lead was, which is not reported yet */
	bool rs485_given;		/* settings of RS-485 were, and taken */
	u32 wanted;			/* LITEPULSE_WANT_*: requested */
	u32 notified;			/* LITEPULSE_WANT_*: arrived since */

	/* litepulse.claim.mutex */
	u32 echo;			/* its tail in ticks */
	bool echo_known;		/* false while the board may still use an earlier one */
	u32 mark_width;			/* of the marker port, ticks */
	bool mark_width_known;		/* as echo_known */

	/* litepulse.setup.mutex protects what follows. */
	u32 format;			/* of profile 0 */
	u64 period;
	bool profile_known;		/* the board has these */
	bool to_port;			/* what is sent by it goes to the marker port */
	struct litepulse_moderation trigger;
	bool idle_auto;
	bool lent;			/* profile 0: it cannot be opened */
	bool low_latency;		/* each byte at once, as setserial(8) can ask for */
	unsigned int interrupts_max;	/* as set in sysfs */
};

static inline struct litepulse_tty *litepulse_tty_of(struct uart_port *port)
{
	return container_of(port, struct litepulse_tty, port);
}

/* litepulse_tty_send.c */
extern const struct litepulse_word litepulse_tty_send_flush;
void litepulse_tty_send_hold(struct litepulse_tty *t);
void litepulse_tty_send_work(struct work_struct *work);
void litepulse_tty_send_serve(struct litepulse_tty *t);
void litepulse_tty_send_room(struct litepulse *lp, u32 pending);
unsigned int litepulse_tty_send_tx_empty(struct uart_port *port);
void litepulse_tty_send_stop_tx(struct uart_port *port);
void litepulse_tty_send_start_tx(struct uart_port *port);
void litepulse_tty_send_flush_buffer(struct uart_port *port);
void litepulse_tty_send_break_ctl(struct uart_port *port, int ctl);

/* litepulse_tty_receive.c */
extern struct attribute_group litepulse_tty_receive_group;
void litepulse_tty_receive_sysrq(struct litepulse *lp);
void litepulse_tty_receive_skip(struct litepulse_tty *t, u64 now);
void litepulse_tty_receive_stop_rx(struct uart_port *port);
void litepulse_tty_receive_end_carrier(struct litepulse_tty *t);
int litepulse_tty_receive_init(struct litepulse_tty *t);
struct litepulse_moderation litepulse_tty_receive_moderation(struct litepulse_tty *t);
struct litepulse_subscribe litepulse_tty_receive_wanted(struct litepulse_tty *t);
void litepulse_tty_receive_moderate(struct litepulse_tty *t);

/* litepulse_tty_settings.c */
void litepulse_tty_settings_set_mctrl(struct uart_port *port, unsigned int mctrl);
unsigned int litepulse_tty_settings_get_mctrl(struct uart_port *port);
void litepulse_tty_settings_adopt_loopback(struct litepulse_tty *t);
int litepulse_tty_settings_set_profile(struct litepulse_tty *t, u32 format, u64 period);
int litepulse_tty_settings_fits_lin(struct litepulse *lp);
void litepulse_tty_settings_set_burst(struct litepulse_tty *t, unsigned int bytes);
u64 litepulse_tty_settings_custom_period(struct litepulse_tty *t, int divisor);
void litepulse_tty_settings_set_termios(struct uart_port *port, struct ktermios *new,
					const struct ktermios *old);
int litepulse_tty_settings_init_profile(struct litepulse_tty *t, const struct resource *csr);
int litepulse_tty_settings_check_rs485(struct device *dev, const struct litepulse_rate *rate,
				       const struct serial_rs485 *rs485);
int litepulse_tty_settings_rs485_config(struct uart_port *port, struct ktermios *termios,
					struct serial_rs485 *rs485);
int litepulse_tty_settings_write_profile(struct litepulse_tty *t, u32 format, u64 period);
int litepulse_tty_settings_set_port(struct litepulse *lp, const u32 *width, const bool *tty);
int litepulse_tty_settings_set_driver_enable(struct litepulse *lp, const u32 *word,
					     const u32 *echo);
void litepulse_tty_settings_train_starts(struct litepulse *lp);
int litepulse_tty_settings_apply_de(struct litepulse_tty *t);

/* litepulse_tty_serial.c */
extern struct uart_driver litepulse_tty_serial_driver;
int litepulse_tty_serial_add_port(struct uart_port *port);

#endif /* LITEPULSE_TTY_PORT_H */
