# SPDX-License-Identifier: BSD-2-Clause
"""Judges what lib/launches.h says of launches in a row: the pin must agree."""

from sim.guest.pins import pulses
from sim.measured import check

LAUNCHES = 4_000  # in a row, more than 40 times what the queue, the driver and a buffer of the program hold


def whole_rows(rows, pins, period, width, count):
    """[whether all launches of a row have left, each at its tick] of rows: (START, GOT, WRONG, REFUSED, BEHIND) as the guest prints them.

    BenchError if the pin `tx` lacks a pulse of a row that is whole, or has one at another tick or of another width than was requested.
    """
    seen, requested, missing, whole = set(pulses(pins, "tx", 0)), set(), set(), []
    for start, *outcome in rows:
        places = {(start + k * period, width) for k in range(count)}
        whole.append(outcome == [count, 0, 0, -1])
        requested |= places
        missing |= places - seen if whole[-1] else set()
    odd = len(missing) + len(seen - requested)
    check(not odd, f"launches, one every {period} ticks: {odd} pulses are missing, or are not as requested")
    return whole
