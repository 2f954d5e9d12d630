/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints of litepulse.ko: what a board reports, what is launched, what an interrupt brings
 *
 * A board is the N of its /dev/litepulseN. Ticks and widths are in ticks of the board. An error is
 * 0 or a negative errno.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM litepulse

#if !defined(LITEPULSE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define LITEPULSE_TRACE_H

#include <linux/tracepoint.h>

#include "litepulse.h"

void litepulse_trace_events(const struct litepulse *lp, const struct litepulse_record *records,
			    unsigned int count);
void litepulse_trace_launches(const struct litepulse *lp, const struct litepulse_launch *launches,
			      unsigned int count, int error);

/* A record of either stream, for any reader. Fields are those of struct litepulse_event. */
TRACE_EVENT(litepulse_event,
	TP_PROTO(const struct litepulse *lp, const struct litepulse_record *record),
	TP_ARGS(lp, record),
	TP_STRUCT__entry(
		__field(u64, tick)
		__field(u64, seq)
		__field(u64, count)
		__field(u32, data)
		__field(int, board)
		__field(u16, flags)
		__field(u8, kind)
		__field(u8, source)
		__field(u8, reason)
	),
	TP_fast_assign(
		__entry->tick = record->tick;
		__entry->seq = record->seq;
		__entry->count = record->kind >= LITEPULSE_KIND_LOST ? record->count : 0;
		__entry->data = record->data;
		__entry->board = lp->id;
		__entry->flags = record->flags;
		__entry->kind = record->kind;
		__entry->source = record->source;
		__entry->reason = record->kind == LITEPULSE_KIND_REFUSED ||
				  record->kind == LITEPULSE_KIND_RESPONDER_MISSED ?
				  record->flags & 0xff : 0;
	),
	TP_printk("board=%d tick=%llu kind=%s source=%s data=0x%x flags=0x%x reason=%s seq=%llu count=%llu",
		  __entry->board, __entry->tick,
		  __print_symbolic(__entry->kind,
				   { LITEPULSE_KIND_TX, "TX" },
				   { LITEPULSE_KIND_EDGE, "EDGE" },
				   { LITEPULSE_KIND_REFUSED, "REFUSED" },
				   { LITEPULSE_KIND_APPLIED, "APPLIED" },
				   { LITEPULSE_KIND_TRAIN_DONE, "TRAIN_DONE" },
				   { LITEPULSE_KIND_RESPONDER_MISSED, "RESPONDER_MISSED" },
				   { LITEPULSE_KIND_RX, "RX" },
				   { LITEPULSE_KIND_LOST, "LOST" },
				   { LITEPULSE_KIND_RESTARTED, "RESTARTED" }),
		  __print_symbolic(__entry->source,
				   { LITEPULSE_SRC_QUEUE, "QUEUE" },
				   { LITEPULSE_SRC_TRAIN, "TRAIN" },
				   { LITEPULSE_SRC_RESPONDER, "RESPONDER" },
				   { LITEPULSE_SRC_TTY, "TTY" },
				   { LITEPULSE_SRC_CAPTURE, "CAPTURE" },
				   { LITEPULSE_SRC_TRAIN_CHANGE, "TRAIN_CHANGE" },
				   { LITEPULSE_SRC_CONTROL, "CONTROL" },
				   { LITEPULSE_SRC_RECEIVER, "RECEIVER" }),
		  __entry->data, __entry->flags,
		  __print_symbolic(__entry->reason,
				   { 0, "-" },
				   { LITEPULSE_REASON_LATE, "LATE" },
				   { LITEPULSE_REASON_BUSY, "BUSY" },
				   { LITEPULSE_REASON_ORDER, "ORDER" },
				   { LITEPULSE_REASON_INVALID, "INVALID" }),
		  __entry->seq, __entry->count)
);

/*
 * A timed launch or a wait on its way to the queue. Fields are those of struct litepulse_launch.
 * @error 0: the queue has it, and an event will tell what became of it; -EAGAIN: the queue is full.
 */
TRACE_EVENT(litepulse_launch,
	TP_PROTO(const struct litepulse *lp, const struct litepulse_launch *launch, int error),
	TP_ARGS(lp, launch, error),
	TP_STRUCT__entry(
		__field(u64, tick)
		__field(u32, width)
		__field(int, board)
		__field(int, error)
		__field(u16, tag)
		__field(u8, kind)
		__field(u8, profile)
		__field(u8, data)
		__field(u8, flags)
	),
	TP_fast_assign(
		__entry->tick = launch->tick;
		__entry->width = launch->width;
		__entry->board = lp->id;
		__entry->error = error;
		__entry->tag = launch->tag;
		__entry->kind = launch->kind;
		__entry->profile = launch->profile;
		__entry->data = launch->data;
		__entry->flags = launch->flags;
	),
	TP_printk("board=%d tick=%llu kind=%s data=0x%x width=%u profile=%u tag=%u flags=0x%x error=%d",
		  __entry->board, __entry->tick,
		  __print_symbolic(__entry->kind,
				   { LITEPULSE_LAUNCH_FRAME, "FRAME" },
				   { LITEPULSE_LAUNCH_BREAK, "BREAK" },
				   { LITEPULSE_LAUNCH_PULSE, "PULSE" },
				   { LITEPULSE_LAUNCH_WAIT, "WAIT" }),
		  __entry->data, __entry->width, __entry->profile, __entry->tag, __entry->flags,
		  __entry->error)
);

/*
 * An interrupt of a mapped core has been served: why it came, and how many records of each stream
 * were taken. @pending 0: no interrupt, but the worker that takes what is too much for one.
 */
TRACE_EVENT(litepulse_irq,
	TP_PROTO(const struct litepulse *lp, u32 pending, unsigned int events, unsigned int bytes),
	TP_ARGS(lp, pending, events, bytes),
	TP_STRUCT__entry(
		__field(int, board)
		__field(u32, pending)
		__field(unsigned int, events)
		__field(unsigned int, bytes)
	),
	TP_fast_assign(
		__entry->board = lp->id;
		__entry->pending = pending;
		__entry->events = events;
		__entry->bytes = bytes;
	),
	TP_printk("board=%d pending=%s events=%u bytes=%u", __entry->board,
		  __print_flags(__entry->pending, "|",
				{ LITEPULSE_CSR_EV_PENDING_EVENT_MASK, "EVENT" },
				{ LITEPULSE_CSR_EV_PENDING_RECEIVE_MASK, "RECEIVE" },
				{ LITEPULSE_CSR_EV_PENDING_TRANSMIT_MASK, "TRANSMIT" },
				{ LITEPULSE_CSR_EV_PENDING_LAUNCH_MASK, "LAUNCH" },
				{ LITEPULSE_CSR_EV_PENDING_DRAINED_MASK, "DRAINED" },
				{ LITEPULSE_CSR_EV_PENDING_FAULT_MASK, "FAULT" }),
		  __entry->events, __entry->bytes)
);

#endif /* LITEPULSE_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE litepulse_trace
#include <trace/define_trace.h>
