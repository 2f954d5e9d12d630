# SPDX-License-Identifier: BSD-2-Clause
"""Ticks in a clock of the PC, for boards without the kernel driver: by readings of both, each with its bound. Pure, no device."""

import time
from collections import deque
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeVar

from litepulse.backends.interface import CLOCKS, Batch, ClockReading
from litepulse.errors import BadInput, Unsupported
from litepulse.streams import Event, Lost, RxByte

HOST_CLOCKS = tuple(clock for clock in CLOCKS if clock != "phc")
# one part in this many: more than two crystals and adjtimex() change the rate between the clocks
DRIFT = 1024
KEPT = 16  # readings
_NEARER = 4  # looks for the tick of a moment: each is 1000 times nearer
FRESH = 50_000_000  # ns: a reading that is older is followed by another one
Record = TypeVar("Record", Event, RxByte)


@dataclass(frozen=True)
class ClockTime:
    """A moment in a clock: ns, and by how many of them it may be wrong at most."""

    ns: int
    uncertainty: int


@dataclass(frozen=True)
class ClockTick:
    """Where a moment of a clock is on the board, in ticks, and by how many ns that may be wrong at most."""

    tick: Fraction
    uncertainty: int


def host_clock(clock: str) -> str:
    """One of HOST_CLOCKS, or BadInput; Unsupported if it takes the driver."""
    if clock == "phc":
        raise Unsupported("clock: 'phc' is the PTP clock, which only a board of the kernel driver has")
    if clock not in HOST_CLOCKS:
        raise BadInput(f"clock: '{clock}' is not {', '.join(HOST_CLOCKS)}")
    return clock


def _tai_offset() -> int:
    """ns that TAI is ahead of UTC, as it is set in the kernel."""
    clock: int = getattr(time, "CLOCK_TAI", time.CLOCK_REALTIME)
    return round((time.clock_gettime_ns(clock) - time.time_ns()) / 10**9) * 10**9


@dataclass(frozen=True)
class _Known:
    """At this tick the clock was between `low` and `high` ns, counted from the board's nominal time."""

    tick: int
    low: int
    high: int


class WallClock:
    """What a clock of the PC showed at a tick. Each reading bounds it, less and less tightly with the distance; all together count.

    exact: a simulated board, whose time passes by commands: its clock begins with the first
    reading, and goes with the ticks
    """

    def __init__(self, clock: str, tick_hz: Fraction, exact: bool) -> None:
        self.clock, self.exact = host_clock(clock), exact
        self._ns_in_tick = 10**9 / tick_hz
        self._numerator, self._denominator = self._ns_in_tick.as_integer_ratio()
        self._known: deque[_Known] = deque(maxlen=KEPT)
        self._fresh: int | None = None  # raw ns of the newest reading
        self._step: tuple[int, int] | None = None  # the clock was set: by, before this tick

    def _nominal(self, ticks: int) -> int:
        """ns, rounded down."""
        return ticks * self._numerator // self._denominator

    def due(self) -> bool:
        """Whether another reading is worth its time."""
        return self._fresh is None or (not self.exact and time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) - self._fresh >= FRESH)

    def look(self, reading: ClockReading) -> None:
        """Another reading of the board's tick and the clocks."""
        self._fresh = reading.raw_after
        shown = reading.monotonic if self.clock == "monotonic" else reading.realtime
        if self.clock == "tai":
            shown += _tai_offset()
        offset, unsure = shown - self._nominal(reading.tick), reading.uncertainty + self._nominal(1) + 1
        known = _Known(reading.tick, offset - unsure, offset + unsure)
        low, high = self._bounds(known.tick) if self._known else (known.low, known.high)
        gap = max(low - known.high, known.low - high)
        if gap > 0:  # the clock was set, or the machine slept
            self._known.clear()
            self._step = known.tick, gap + (high - low)
        self._known.append(known)

    def _bounds(self, tick: int) -> tuple[int, int]:
        """What all readings say of the offset at a tick."""
        lows: list[int] = []
        highs: list[int] = []
        for known in self._known:
            drift = 0 if self.exact else self._nominal(abs(tick - known.tick)) // DRIFT + 1
            lows.append(known.low - drift)
            highs.append(known.high + drift)
        return max(lows), min(highs)

    def at(self, tick: int) -> tuple[int, int]:
        """(ns, by how much they may be wrong at most) of the clock at a tick, after the first look()."""
        low, high = self._bounds(tick)
        unsure = abs(high - low) // 2 + 2
        if self._step is not None and tick < self._step[0]:
            unsure += self._step[1]
        return self._nominal(tick) + (low + high) // 2, unsure

    def tick_at(self, ns: int | Fraction) -> ClockTick:
        """Where the clock shows `ns`, after the first look()."""
        tick, unsure = Fraction(self._known[-1].tick), 0
        for _ in range(_NEARER):
            near = max(round(tick), 0)
            shown, unsure = self.at(near)
            tick = near + (ns - shown) / self._ns_in_tick
        return ClockTick(tick, unsure)

    def stamped(self, batch: Batch) -> Batch:
        """The same records, with their times."""

        def timed(one: Record | Lost) -> Record | Lost:
            if isinstance(one, Lost):
                return one
            ns, uncertainty = self.at(one.tick)
            return replace(one, ns=ns, uncertainty=uncertainty)

        return replace(batch, events=[timed(one) for one in batch.events], received=[timed(one) for one in batch.received])
