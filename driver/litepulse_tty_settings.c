// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/ttyPULSEn: its settings, and what the board has of them: line profile 0, lead and lag of de
 */
#include <linux/bitfield.h>
#include <linux/device.h>
#include <linux/ioport.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/serial.h>
#include <linux/serial_core.h>
#include <linux/tty.h>

#include "litepulse_compat.h"
#include "litepulse_early.h"
#include "litepulse_output.h"
#include "litepulse_sink.h"
#include "litepulse_tty_port.h"

#define DEFAULT_BAUD		9600
/* In the core at once: bytes of this many ns, but at least this many bytes. */
#define BURST_NS		10000000u
#define BURST_BYTES		64u

/* Room for what comes in this time, in ns, is left in the core while received bytes may wait. */
#define SPARE_NS		20000000u

/* The core's limits of a bit period, in 2^-8 ticks; the lower one for each sample per cycle. */
#define PERIOD_MIN		(4 << 8)
#define PERIOD_HI_MAX		FIELD_MAX(LITEPULSE_CFG_PROFILE_FORMAT_PERIOD_HI_MASK)
#define PERIOD_MAX		(((PERIOD_HI_MAX + 1ULL) << 32) - 1)

void litepulse_tty_settings_set_mctrl(struct uart_port *port, unsigned int mctrl)
{
	/* While the serial core adds a port it clears all. What a board goes on with stays. */
	if (!litepulse_tty_of(port)->added)
		return;
	litepulse_board_set_line(litepulse_tty_of(port)->lp, LITEPULSE_CFG_LINE_LOOPBACK_MASK,
				 mctrl & TIOCM_LOOP ? LITEPULSE_CFG_LINE_LOOPBACK_MASK : 0);
}

unsigned int litepulse_tty_settings_get_mctrl(struct uart_port *port)
{
	return TIOCM_CAR | TIOCM_DSR | TIOCM_CTS;
}

/* Gives the serial core the loopback that the board still has, or that another program has set. */
void litepulse_tty_settings_adopt_loopback(struct litepulse_tty *t)
{
	unsigned long flags;

	uart_port_lock_irqsave(&t->port, &flags);
	t->added = true;
	if (READ_ONCE(t->lp->line.word) & LITEPULSE_CFG_LINE_LOOPBACK_MASK)
		t->port.mctrl |= TIOCM_LOOP;
	litepulse_tty_settings_set_mctrl(&t->port, t->port.mctrl);
	uart_port_unlock_irqrestore(&t->port, flags);
}

static u32 litepulse_tty_settings_format(unsigned int cflag)
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
static void litepulse_tty_settings_show_format(struct ktermios *termios, u32 format)
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
static void litepulse_tty_settings_use_profile(struct litepulse_tty *t, u32 format, u64 period)
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

/* Profile 0 to the board; only there does @format say where the bytes go. setup.mutex is held. */
int litepulse_tty_settings_write_profile(struct litepulse_tty *t, u32 format, u64 period)
{
	if (t->to_port)
		format |= LITEPULSE_CFG_PROFILE_FORMAT_TO_PORT_MASK;
	return litepulse_board_set_profile(t->lp, 0, format, period);
}

static int litepulse_tty_settings_put_profile(struct litepulse_tty *t, u32 format, u64 period)
{
	int error = litepulse_tty_settings_write_profile(t, format, period);

	/* It may have arrived all the same: the board gets the old one again. */
	if (error && error != -EINVAL) {
		t->profile_known = false;
		litepulse_board_doubt(t->lp);
	}
	if (error)
		return error;
	litepulse_tty_settings_use_profile(t, format, period);
	return 0;
}

/*
 * Written only if it is another one, because that restarts the receiver. setup.mutex is held.
 * -EBUSY if it is lent, or something uses it that a claim has kept.
 */
int litepulse_tty_settings_set_profile(struct litepulse_tty *t, u32 format, u64 period)
{
	if (t->profile_known && format == t->format && period == t->period)
		return 0;
	/* A program may have the tty open all the same, if it failed to start before that. */
	if (t->lent)
		return -EBUSY;
	return litepulse_output_check_profile(t->lp, 0) ?:
		litepulse_tty_settings_put_profile(t, format, period);
}

int litepulse_tty_settings_fits_lin(struct litepulse *lp)
{
	struct litepulse_tty *t = lp->tty;
	int error = mutex_lock_killable(&lp->setup.mutex);

	if (error)
		return error;
	if (t->format != litepulse_tty_settings_format(CS8) ||
	    t->period < (u64)LITEPULSE_LIN_BIT_CYCLES_MIN * lp->samples << 8)
		error = -ERANGE;
	mutex_unlock(&lp->setup.mutex);
	return error;
}

static void litepulse_tty_settings_set_masks(struct uart_port *port, const struct ktermios *termios)
{
	unsigned int iflag = termios->c_iflag;

	port->read_status_mask = 0;
	if (iflag & INPCK)
		port->read_status_mask |= LITEPULSE_RX_PARITY | LITEPULSE_RX_FRAMING;
	if (iflag & (IGNBRK | BRKINT | PARMRK))
		port->read_status_mask |= LITEPULSE_RX_BREAK;
	/* TTY_DRIVER_REAL_RAW: else the report of an overrun would be read as a byte. */
	if ((iflag & (BRKINT | PARMRK) && !(iflag & IGNBRK)) ||
	    (iflag & INPCK && !(iflag & IGNPAR)))
		port->read_status_mask |= LITEPULSE_TTY_RX_OVERRUN;
	port->ignore_status_mask = 0;
	if (iflag & IGNPAR)
		port->ignore_status_mask |= LITEPULSE_RX_PARITY | LITEPULSE_RX_FRAMING;
	if (iflag & IGNBRK) {
		port->ignore_status_mask |= LITEPULSE_RX_BREAK;
		if (iflag & IGNPAR)
			port->ignore_status_mask |= LITEPULSE_TTY_RX_OVERRUN;
	}
	if (!(termios->c_cflag & CREAD))
		port->ignore_status_mask |= LITEPULSE_TTY_RX_ANY | LITEPULSE_TTY_RX_OVERRUN;
}

/*
 * At most @bytes, which the core can hold, are in the core at once. A board on a cable is polled
 * rarely: more is written when half of them have left, so that the other half lasts until the next
 * poll. port.lock is held, or the port is not registered yet.
 */
void litepulse_tty_settings_set_burst(struct litepulse_tty *t, unsigned int bytes)
{
	struct litepulse *lp = t->lp;

	t->burst = min(max(bytes, BURST_BYTES), lp->transmit_depth);
	if (lp->ops->sleeps)
		WRITE_ONCE(lp->transmit_low, t->burst / 2);
	t->low = lp->transmit_low;
}

/* Bit period of baud_base / divisor in 2^-8 ticks, to the nearest; 0 if the core cannot do it. */
u64 litepulse_tty_settings_custom_period(struct litepulse_tty *t, int divisor)
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
static bool litepulse_tty_settings_is_custom(const struct uart_port *port,
					     const struct ktermios *termios)
{
	return (port->flags & UPF_SPD_MASK) == UPF_SPD_CUST &&
	       tty_termios_baud_rate(termios) == 38400;
}

void litepulse_tty_settings_set_termios(struct uart_port *port, struct ktermios *new,
					const struct ktermios *old)
{
	struct litepulse_tty *t = litepulse_tty_of(port);
	struct litepulse *lp = t->lp;
	bool custom = litepulse_tty_settings_is_custom(port, new);
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
		period = litepulse_tty_settings_custom_period(t, port->custom_divisor) ?: period;
	error = litepulse_tty_settings_set_profile(t, litepulse_tty_settings_format(new->c_cflag),
						   period);
	if (error && old)
		tty_termios_copy_hw(new, old);
	/* Something kept uses it: who opens the tty sees what it is. */
	if (error == -EBUSY) {
		litepulse_tty_settings_show_format(new, t->format);
		custom = false;
	}
	baud = litepulse_baud(&lp->rate, t->period);
	/* A custom divisor is in force as long as the rate says 38400. */
	if (new->c_cflag & CBAUD && !custom)
		tty_termios_encode_baud_rate(new, baud, baud);

	uart_port_lock_irqsave(port, &flags);
	uart_update_timeout(port, new->c_cflag, baud);
	litepulse_tty_settings_set_burst(t, BURST_NS / max(port->frame_time, 1u));
	litepulse_tty_settings_set_masks(port, new);
	uart_port_unlock_irqrestore(port, flags);

	litepulse_tty_receive_moderate(t);
	mutex_unlock(&lp->setup.mutex);
}

/* What a board goes on with may need its profile 0. Returns whether it has a valid one. */
static bool litepulse_tty_settings_adopt_profile(struct litepulse_tty *t, u64 period_min)
{
	struct litepulse *lp = t->lp;
	const struct litepulse_profile_settings *found = &lp->claim.profiles[0];

	if (!lp->claim.kept || found->period < period_min)
		return false;
	uart_update_timeout(&t->port, CS8, litepulse_baud(&lp->rate, found->period));
	t->to_port = found->format & LITEPULSE_CFG_PROFILE_FORMAT_TO_PORT_MASK;
	litepulse_tty_settings_use_profile(t, found->format &
					   ~LITEPULSE_CFG_PROFILE_FORMAT_TO_PORT_MASK,
					   found->period);
	return true;
}

/*
 * Until a program sets it: 8N1 as the kernel's early messages, or 9600 baud, or the nearest
 * that this clock can do.
 */
int litepulse_tty_settings_init_profile(struct litepulse_tty *t, const struct resource *csr)
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
	if (litepulse_tty_settings_adopt_profile(t, period_min))
		return 0;
	baud = litepulse_early_baud(csr) ?: DEFAULT_BAUD;
	baud = clamp_t(unsigned int, baud, t->baud_min, t->baud_max);
	uart_update_timeout(&t->port, CS8, baud);
	return litepulse_tty_settings_put_profile(t, litepulse_tty_settings_format(CS8),
						  litepulse_bit_period(rate, baud));
}

/* Has the core the lead of this word already, or will it soon? */
static bool litepulse_tty_settings_keeps_lead(struct litepulse_tty *t, u32 word)
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
static int litepulse_tty_settings_rs485_word(const struct litepulse_rate *rate,
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
int litepulse_tty_settings_check_rs485(struct device *dev, const struct litepulse_rate *rate,
				       const struct serial_rs485 *rs485)
{
	const u32 most = FIELD_MAX(LITEPULSE_CFG_DRIVER_ENABLE_LEAD_MASK);
	u32 word;
	int error = litepulse_tty_settings_rs485_word(rate, rs485, &word);

	if (error)
		dev_warn_ratelimited(dev, "lead and lag of RS-485 are %llu us at most\n",
				     div_u64(litepulse_ticks_to_ns(rate, most), NSEC_PER_USEC));
	return error;
}

/* Under port.lock. Serial core has made of the request what rs485_supported allows. */
int litepulse_tty_settings_rs485_config(struct uart_port *port, struct ktermios *termios,
					struct serial_rs485 *rs485)
{
	struct litepulse_tty *t = litepulse_tty_of(port);
	u32 word;
	int error;

	/* Serial core repeats it after a suspend. A claim may have set other times since. */
	if (!termios && t->rs485_given)
		return 0;
	error = litepulse_tty_settings_rs485_word(&t->lp->rate, rs485, &word);
	if (error)
		return error;
	if (t->train_runs && !litepulse_tty_settings_keeps_lead(t, word))
		return -EBUSY;
	t->rs485_given = true;
	t->new_driver_enable = word;
	t->set_driver_enable = true;
	t->drop_own = rs485->flags & SER_RS485_ENABLED && !(rs485->flags & SER_RS485_RX_DURING_TX);
	litepulse_tty_send_serve(t);
	return 0;
}

/* The lead first: it is all that the core may refuse. */
int litepulse_tty_settings_set_driver_enable(struct litepulse *lp, const u32 *word,
					     const u32 *echo)
{
	const struct litepulse_word lead_lag = { LITEPULSE_CFG_DRIVER_ENABLE, word ? *word : 0 };
	const struct litepulse_word tail = { LITEPULSE_CFG_ECHO, echo ? *echo : 0 };
	struct litepulse_tty *t = lp->tty;
	unsigned long flags;
	int error = 0;

	lockdep_assert_held(&lp->claim.mutex);
	/* Earlier settings and bytes of the tty are written first. */
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
		/* Settings that a closed tty has not written yet are overruled. */
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

/* Whether bytes go to the marker port. Like another format it restarts the receiver. */
static int litepulse_tty_settings_set_to_port(struct litepulse_tty *t, bool to_port)
{
	int error = 0;

	mutex_lock(&t->lp->setup.mutex);
	if (to_port != t->to_port) {
		error = t->lent ? -EBUSY : litepulse_output_check_profile(t->lp, 0);
		if (!error) {
			t->to_port = to_port;
			error = litepulse_tty_settings_put_profile(t, t->format, t->period);
		}
		if (error && error != -EBUSY)
			t->to_port = !to_port;
	}
	mutex_unlock(&t->lp->setup.mutex);
	return error;
}

int litepulse_tty_settings_set_port(struct litepulse *lp, const u32 *width, const bool *tty)
{
	const struct litepulse_word word = { LITEPULSE_CFG_PORT, width ? *width : 0 };
	struct litepulse_tty *t = lp->tty;
	int error = 0;

	lockdep_assert_held(&lp->claim.mutex);
	/* Earlier bytes of the tty are written first. */
	flush_work(&t->work);
	if (tty)
		error = litepulse_tty_settings_set_to_port(t, *tty);
	if (error || !width)
		return error;
	error = litepulse_board_configure(lp, &word, 1);
	/* It may have arrived all the same: the board gets back what it had. */
	if (error) {
		litepulse_board_doubt(lp);
		return error;
	}
	t->mark_width = *width;
	t->mark_width_known = true;
	return 0;
}

void litepulse_tty_settings_train_starts(struct litepulse *lp)
{
	struct litepulse_tty *t = lp->tty;
	unsigned long flags;

	lockdep_assert_held(&lp->claim.mutex);
	uart_port_lock_irqsave(&t->port, &flags);
	t->train_runs = true;
	uart_port_unlock_irqrestore(&t->port, flags);
	flush_work(&t->work);
}

/* The known values of DRIVER_ENABLE, ECHO and PORT in the board, in order. 0 or an error. */
int litepulse_tty_settings_apply_de(struct litepulse_tty *t)
{
	const struct litepulse_word enable = { LITEPULSE_CFG_DRIVER_ENABLE,
					       READ_ONCE(t->driver_enable) };
	const struct litepulse_word echo = { LITEPULSE_CFG_ECHO, t->echo };
	const struct litepulse_word port = { LITEPULSE_CFG_PORT, t->mark_width };
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
	if (!error && t->lp->has_port && t->mark_width_known)
		error = litepulse_board_configure(t->lp, &port, 1);
	return error;
}
