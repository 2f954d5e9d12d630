# SPDX-License-Identifier: BSD-2-Clause
"""The time that a board goes by while the machine is suspended: time.monotonic() stands still then."""

import time


def boottime() -> float:
    """Seconds since the machine was started, suspended or not, where the system has such a clock; else time.monotonic()."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)
