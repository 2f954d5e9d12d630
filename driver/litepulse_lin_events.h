/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the board reports of a LIN bus, until a worker takes it. Pure: no hardware.
 *
 * If the worker is late and there is no room, the newest events are lost. The loss is reported in
 * its place: what came before it is never joined to what came after it.
 */
#ifndef LITEPULSE_LIN_EVENTS_H
#define LITEPULSE_LIN_EVENTS_H

#include <linux/kfifo.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "uapi/linux/litepulse.h"

/* A second of a full bus at 20 kbit/s has 2000 bytes. */
#define LITEPULSE_LIN_EVENTS	1024

/**
 * struct litepulse_lin_events - a FIFO with one writer and one reader, in any context
 * @lock: of all that follows
 * @fifo: events that wait
 * @lost: number of events behind them that had no room
 * @restarted: @restart had no room either, and follows that loss
 * @restart: latest report of a reset
 */
struct litepulse_lin_events {
	spinlock_t lock; /* what follows */
	DECLARE_KFIFO(fifo, struct litepulse_event, LITEPULSE_LIN_EVENTS);
	u64 lost;
	bool restarted;
	struct litepulse_event restart;
};

void litepulse_lin_events_init(struct litepulse_lin_events *events);
void litepulse_lin_events_reset(struct litepulse_lin_events *events);
void litepulse_lin_events_put(struct litepulse_lin_events *events,
			      const struct litepulse_event *event);
bool litepulse_lin_events_get(struct litepulse_lin_events *events, struct litepulse_event *event);

#endif /* LITEPULSE_LIN_EVENTS_H */
