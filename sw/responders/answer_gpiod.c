// SPDX-License-Identifier: BSD-2-Clause
/*
 * A GPIO line follows another one, by libgpiod 2: the program sleeps in read() until the kernel reports an edge.
 *
 *	answer-gpiod /dev/gpiochip0 17 18
 */
#include <errno.h>
#include <gpiod.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "line.h"

/* The line, requested with these settings. */
static struct gpiod_line_request *request(struct gpiod_chip *chip, unsigned int line,
					  enum gpiod_line_direction direction, enum gpiod_line_edge edge)
{
	struct gpiod_line_settings *settings = gpiod_line_settings_new();
	struct gpiod_line_config *config = gpiod_line_config_new();
	struct gpiod_line_request *requested = NULL;

	if (settings && config && !gpiod_line_settings_set_direction(settings, direction) &&
	    !gpiod_line_settings_set_edge_detection(settings, edge) &&
	    !gpiod_line_config_add_line_settings(config, &line, 1, settings))
		requested = gpiod_chip_request_lines(chip, NULL, config);
	if (!requested)
		fail("line %u: %s", line, strerror(errno));
	gpiod_line_config_free(config);
	gpiod_line_settings_free(settings);
	return requested;
}

int main(int argc, char **argv)
{
	struct gpiod_line_request *input, *output;
	struct gpiod_edge_event_buffer *events;
	struct gpiod_chip *chip;
	unsigned int in, out;

	program = "answer-gpiod";
	if (argc != 4)
		fail("usage: answer-gpiod CHIP IN OUT, for example /dev/gpiochip0 17 18");
	in = line_of(argv[2]);
	out = line_of(argv[3]);
	chip = gpiod_chip_open(argv[1]);
	if (!chip)
		fail("%s: %s", argv[1], strerror(errno));
	output = request(chip, out, GPIOD_LINE_DIRECTION_OUTPUT, GPIOD_LINE_EDGE_NONE);
	input = request(chip, in, GPIOD_LINE_DIRECTION_INPUT, GPIOD_LINE_EDGE_BOTH);
	events = gpiod_edge_event_buffer_new(1);
	if (!events)
		fail("no memory");
	while (gpiod_line_request_read_edge_events(input, events, 1) == 1) {
		struct gpiod_edge_event *event = gpiod_edge_event_buffer_get_event(events, 0);
		bool rose = gpiod_edge_event_get_event_type(event) == GPIOD_EDGE_EVENT_RISING_EDGE;

		if (gpiod_line_request_set_value(output, out, rose ? GPIOD_LINE_VALUE_ACTIVE : GPIOD_LINE_VALUE_INACTIVE))
			fail("line %u: %s", out, strerror(errno));
	}
	fail("line %u: %s", in, strerror(errno));
}
