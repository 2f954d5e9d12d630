#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A GPIO line follows another one, by libgpiod 2 in Python: python3 answer_gpiod.py /dev/gpiochip0 17 18"""

import sys

import gpiod
from gpiod.line import Direction, Edge, Value


def main(chip: str, line_in: int, line_out: int) -> None:
    """Follows until it is ended."""
    config = {line_in: gpiod.LineSettings(edge_detection=Edge.BOTH), line_out: gpiod.LineSettings(direction=Direction.OUTPUT)}
    with gpiod.request_lines(chip, config=config) as lines:
        while True:
            for event in lines.read_edge_events(max_events=1):
                rose = event.event_type is gpiod.EdgeEvent.Type.RISING_EDGE
                lines.set_value(line_out, Value.ACTIVE if rose else Value.INACTIVE)


if __name__ == "__main__":
    try:
        name, *numbers = sys.argv[1:]
        number_in, number_out = map(int, numbers)
    except ValueError:
        sys.exit("answer_gpiod.py: usage: answer_gpiod.py CHIP IN OUT, for example /dev/gpiochip0 17 18")
    try:
        main(name, number_in, number_out)
    except (OSError, ValueError) as error:
        sys.exit(f"answer_gpiod.py: {name}: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
