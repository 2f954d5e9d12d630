/* SPDX-License-Identifier: GPL-2.0-only */
/* Tracepoint of litepulse_uartbone.ko: requests to the board behind a port, and their answers */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM litepulse

#if !defined(LITEPULSE_UARTBONE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define LITEPULSE_UARTBONE_TRACE_H

#include <linux/string.h>
#include <linux/tracepoint.h>

#include "litepulse_compat.h"
#include "litepulse_uartbone.h"

/*
 * A request was answered or given up. @command and @address are those of its first command; there
 * may be more. @words: read by all of them. @bytes: of all, without the frame around them.
 * @round_trip_ns: from before it was sent first until the answer began; 0 without one.
 */
TRACE_EVENT(litepulse_transaction,
	TP_PROTO(const struct litepulse_link *link, const struct litepulse_flight *flight,
		 int error),
	TP_ARGS(link, flight, error),
	TP_STRUCT__entry(
		__array(char, port, 16)
		__field(u64, round_trip_ns)
		__field(u32, address)
		__field(unsigned int, words)
		__field(unsigned int, bytes)
		__field(unsigned int, tries)
		__field(int, error)
		__field(u8, command)
	),
	TP_fast_assign(
		strscpy(__entry->port, link->name, sizeof(__entry->port));
		__entry->round_trip_ns = error ? 0 : link->round_trip_ns;
		__entry->address = 4 * get_unaligned_be32(flight->request.payload + 2);
		__entry->words = flight->request.words;
		__entry->bytes = flight->request.length;
		__entry->tries = flight->tries;
		__entry->error = error;
		__entry->command = flight->request.payload[0];
	),
	TP_printk("port=%s command=%s address=0x%08x words=%u bytes=%u tries=%u round_trip_ns=%llu error=%d",
		  __entry->port,
		  __print_symbolic(__entry->command,
				   { LITEPULSE_BONE_WRITE, "WRITE" },
				   { LITEPULSE_BONE_READ, "READ" }),
		  __entry->address, __entry->words, __entry->bytes, __entry->tries,
		  __entry->round_trip_ns, __entry->error)
);

#endif /* LITEPULSE_UARTBONE_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE litepulse_uartbone_trace
#include <trace/define_trace.h>
