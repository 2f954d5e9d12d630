// SPDX-License-Identifier: GPL-2.0-only
/*
 * A board behind a serial port: bytes of requests to the port, and its bytes to answers
 */
#include <linux/bitops.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/tty.h>
#include <linux/wait.h>

#include "litepulse_uartbone.h"

/* Noise may never end: how long to listen to it. */
#define NOISE_MS 1000
/* A port that takes nothing for this long is stuck. */
#define SEND_MS 1000
/* After which the room of a port that reported none is checked. */
#define ROOM_MS 10

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
	/* Nothing waits for an answer any more: @stamper lives on the caller's stack. */
	litepulse_line_expect(link, flight, 0, 0, NULL);
	return sent == -ENODEV ? sent : -EIO;
}

/**
 * litepulse_line_await() - waits for the answer to come whole
 * @link: the bus is held
 * @flight: no other was sent before it whose answer has not been awaited
 * @ms: how long
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
 * @ms: how long
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
		/* Bytes that an adapter reports as sent may still be in its own FIFO. */
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
	bool begins = count && flight->wanted && !flight->got;
	unsigned int taken = 0, part;

	if (begins) {
		flight->times.after = ktime_get_raw_ns();
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
	if (begins)
		flight->first = flight->got;
	return taken;
}

/**
 * litepulse_line_receive() - bytes have come: answers to flights, or stray ones
 * @link: it
 * @bytes: they
 * @faults: of each, as the tty layer has them; NULL: none
 * @count: how many
 */
void litepulse_line_receive(struct litepulse_link *link, const u8 *bytes, const u8 *faults,
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
