# SPDX-License-Identifier: BSD-2-Clause
"""The rate of a board's crystal against the PC's clock, with a bound for how wrong that may be."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from litepulse.backends.interface import ClockReading
from litepulse.board import Board
from litepulse.errors import LitePulseError
from litepulse.interrupt import Flag

READINGS = 60
MILLION = 1_000_000
STEP = 1_000_000  # ns: the PC's clock was set if it moves against CLOCK_MONOTONIC by more
_PAUSE = 0.05  # seconds between two looks at the interrupt


@dataclass(frozen=True)
class Crystal:
    """By how many ppm the board's clock is fast against the PC's, and by how many that may be wrong; round_trip: the shortest, ns.

    was_set: the PC's clock was set meanwhile, so that the rest means nothing
    """

    ppm: Fraction
    uncertainty: Fraction
    seconds: Fraction
    round_trip: int
    was_set: bool


def measure(board: Board, seconds: Fraction, interrupt: Flag, progress: Callable[[int], None]) -> Crystal:
    """Reads both clocks for so long. LitePulseError if they say nothing, KeyboardInterrupt if it is interrupted."""
    begun, readings = time.monotonic(), list[ClockReading]()
    while True:
        readings.append(board.read_clocks())
        progress(min(READINGS, len(readings)))
        due = begun + float(seconds) * len(readings) / READINGS
        while (left := due - time.monotonic()) > 0:
            if interrupt:
                raise KeyboardInterrupt
            time.sleep(min(left, _PAUSE))
        if interrupt:
            raise KeyboardInterrupt
        if time.monotonic() - begun >= seconds and len(readings) > 1:
            return rate_of(readings, board.tick_hz)


def rate_of(readings: list[ClockReading], tick_hz: Fraction) -> Crystal:
    """What follows from readings: each pair of an early and a late one bounds the rate.

    LitePulseError if the board's time stands still, or if the readings exclude each other.
    """
    most = None
    least = None
    part = max(1, len(readings) // 3)
    for early in readings[:part]:
        for late in readings[-part:]:
            passed = late.realtime - early.realtime
            unsure = sum(each.uncertainty + each.clocks_error for each in (early, late))
            ticks = late.tick - early.tick
            if ticks <= 0:
                raise LitePulseError("the core's clock stands still")
            if passed > unsure:
                low, high = Fraction(ticks, passed + unsure), Fraction(ticks, passed - unsure)
                least = low if least is None else max(least, low)
                most = high if most is None else min(most, high)
    if least is None or most is None:
        raise LitePulseError("too short to tell: an answer of the board takes longer than all of it")
    apart = [each.realtime - each.monotonic for each in readings]
    nominal = tick_hz / 10**9
    middle, half = (least + most) / 2, abs(most - least) / 2
    return Crystal(
        (middle / nominal - 1) * MILLION,
        half / nominal * MILLION,
        Fraction(readings[-1].realtime - readings[0].realtime, 10**9),
        min(2 * each.uncertainty for each in readings),
        max(apart) - min(apart) > STEP or least > most,
    )
