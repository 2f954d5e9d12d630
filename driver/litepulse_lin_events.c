// SPDX-License-Identifier: GPL-2.0-only
/* What the board reports of a LIN bus, until a worker takes it. Pure: no hardware. */
#include <linux/kfifo.h>
#include <linux/spinlock.h>

#include "litepulse_lin_events.h"

/**
 * litepulse_lin_events_init - makes it empty, for the first time
 * @events: not yet in use
 */
void litepulse_lin_events_init(struct litepulse_lin_events *events)
{
	spin_lock_init(&events->lock);
	INIT_KFIFO(events->fifo);
	litepulse_lin_events_reset(events);
}

/**
 * litepulse_lin_events_reset - drops all that waits, without a report
 * @events: nothing else uses it
 */
void litepulse_lin_events_reset(struct litepulse_lin_events *events)
{
	kfifo_reset(&events->fifo);
	events->lost = 0;
	events->restarted = false;
}

static struct litepulse_event litepulse_lin_events_loss(struct litepulse_lin_events *events)
{
	const struct litepulse_event loss = {
		.kind = LITEPULSE_KIND_LOST,
		.source = LITEPULSE_SRC_RECEIVER,
		.count = events->lost,
	};

	events->lost = 0;
	return loss;
}

/**
 * litepulse_lin_events_put - adds one, or counts it as lost
 * @events: where
 * @event: what; of several resets without room the latest counts
 */
void litepulse_lin_events_put(struct litepulse_lin_events *events,
			      const struct litepulse_event *event)
{
	unsigned long flags;

	spin_lock_irqsave(&events->lock, flags);
	if (kfifo_avail(&events->fifo) < 1 + !!events->lost + events->restarted) {
		if (event->kind == LITEPULSE_KIND_RESTARTED) {
			/* A reset outweighs the watchdog. */
			if (!events->restarted || !(event->flags & LITEPULSE_RESTARTED_WATCHDOG))
				events->restart = *event;
			events->restarted = true;
		} else {
			events->lost += event->kind == LITEPULSE_KIND_LOST ? event->count : 1;
		}
	} else {
		if (events->lost)
			kfifo_put(&events->fifo, litepulse_lin_events_loss(events));
		if (events->restarted)
			kfifo_put(&events->fifo, events->restart);
		events->restarted = false;
		kfifo_put(&events->fifo, *event);
	}
	spin_unlock_irqrestore(&events->lock, flags);
}

/**
 * litepulse_lin_events_get - takes the oldest one
 * @events: where
 * @event: answer
 *
 * Return: whether there was one.
 */
bool litepulse_lin_events_get(struct litepulse_lin_events *events, struct litepulse_event *event)
{
	unsigned long flags;
	bool found = true;

	spin_lock_irqsave(&events->lock, flags);
	if (kfifo_get(&events->fifo, event)) {
	} else if (events->lost) {
		*event = litepulse_lin_events_loss(events);
	} else if (events->restarted) {
		*event = events->restart;
		events->restarted = false;
	} else {
		found = false;
	}
	spin_unlock_irqrestore(&events->lock, flags);
	return found;
}
