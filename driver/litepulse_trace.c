// SPDX-License-Identifier: GPL-2.0-only
/* Tracepoints: what runs only while they are enabled, apart from the code that must stay short */
#define CREATE_TRACE_POINTS
#include "litepulse_trace.h"

/**
 * litepulse_trace_events - traces records; called if trace_litepulse_event_enabled()
 * @lp: device
 * @records: of either stream
 * @count: how many
 */
void litepulse_trace_events(const struct litepulse *lp, const struct litepulse_record *records,
			    unsigned int count)
{
	while (count--)
		trace_litepulse_event(lp, records++);
}

/**
 * litepulse_trace_launches - traces launches; called if trace_litepulse_launch_enabled()
 * @lp: device
 * @launches: as the transport was to take them
 * @count: how many
 * @error: 0 if it took them
 */
void litepulse_trace_launches(const struct litepulse *lp, const struct litepulse_launch *launches,
			      unsigned int count, int error)
{
	while (count--)
		trace_litepulse_launch(lp, launches++, error);
}
