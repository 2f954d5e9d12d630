# SPDX-License-Identifier: BSD-2-Clause
"""The time that a board goes by while the machine is suspended: time.monotonic() stands still then."""

import time


def boottime() -> float:
    """Seconds since the machine was started, suspended or not, where the system has such a clock; else time.monotonic()."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)


def slept() -> int:
    """ns that the machine has been suspended since it was started; 0 where the system does not say."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    # Whatever comes between the two makes it less.
    return 0 if clock is None else max(time.clock_gettime_ns(clock) - time.monotonic_ns() for _ in range(3))
