# SPDX-License-Identifier: BSD-2-Clause
"""Ticks in a clock of the PC, for boards without the kernel driver: by readings of both, each with its bound. No device."""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeVar

from litepulse.backends.clockmap import BesideRaw, ClockMap, time_of
from litepulse.backends.interface import CLOCKS, Batch, ClockReading
from litepulse.errors import BadInput, Unsupported
from litepulse.streams import Event, Lost, RxByte

HOST_CLOCKS = tuple(clock for clock in CLOCKS if clock != "phc")
KEPT = 16  # steps of the clock
STEP = 100_000  # ns: a smaller one is in the bound of the times around it
SLEEP = 1_000_000  # ns: no machine sleeps for less
_NEARER = 4  # looks for the tick of a moment: each is 1000 times nearer
FRESH = 50_000_000  # ns: a reading that is older is followed by another one
FURTHEST = 1_000_000  # ns from a program's clock to the one that it is; two different clocks are farther apart
Record = TypeVar("Record", Event, RxByte)


@dataclass(frozen=True)
class ClockTime:
    """A moment in a clock: ns, and by how many of them it may be wrong at most.

    clock: which one. ns of 'utc' and 'pps:0' are those since 1970 as codes.UTC counts seconds, none of which comes twice.
    """

    ns: int
    uncertainty: int
    clock: str = "realtime"


@dataclass(frozen=True)
class ClockTick:
    """Where a moment of a clock is on the board, in ticks, and by how many ns that may be wrong at most; clock: which one."""

    tick: Fraction
    uncertainty: int
    clock: str = "realtime"


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


def clock_of(get_time: Callable[[], float]) -> str | None:
    """Which of HOST_CLOCKS a function of another program reads, in seconds, by measuring it; None: none of them."""
    distances: dict[str, float] = {}
    for name in HOST_CLOCKS:
        number: int | None = getattr(time, f"CLOCK_{name.upper()}", None)
        if number is None:
            continue
        tries: list[float] = []
        for _ in range(5):
            before = time.clock_gettime_ns(number)
            ours = get_time() * 1e9
            after = time.clock_gettime_ns(number)
            tries.append(max(0.0, before - ours, ours - after))
        distances[name] = min(tries)
    nearest = min(distances, key=lambda name: distances[name])
    return nearest if distances[nearest] <= FURTHEST else None


@dataclass(frozen=True)
class _Step:
    """The clock was set by this many ns before a reading at this time of CLOCK_MONOTONIC_RAW."""

    raw: int
    ns: int


class WallClock:
    """What a clock of the PC showed at a tick: ticks in CLOCK_MONOTONIC_RAW, and the clock beside that (docs/develop/clocks.md).

    exact: a simulated board, whose time passes by commands: its clock begins with the first
    reading, and goes with the ticks; show: of a clock that is none of HOST_CLOCKS, (ns, by how many they may be wrong) at a reading
    """

    def __init__(self, clock: str, tick_hz: Fraction, exact: bool, show: Callable[[ClockReading], tuple[int, int]] | None = None) -> None:
        self.clock, self.exact, self._show = clock if show else host_clock(clock), exact, show
        self._ns_in_tick = 10**9 / tick_hz
        self._map = ClockMap(*self._ns_in_tick.as_integer_ratio())
        self._beside = BesideRaw()
        self._fresh: int | None = None  # raw ns of the newest reading
        self._slept = 0
        self._steps: deque[_Step] = deque(maxlen=KEPT)
        self._begun: tuple[int, int] | None = None  # exact: (tick, ns) of the first reading
        self._error = 0  # of that, ns

    def due(self) -> bool:
        """Whether another reading is worth its time."""
        return self._fresh is None or (not self.exact and time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) - self._fresh >= FRESH)

    def look(self, reading: ClockReading) -> None:
        """Another reading of the board's tick and the clocks."""
        if abs(reading.slept - self._slept) > SLEEP:
            self._map.forget()
        self._fresh, self._slept = reading.raw_after, reading.slept
        shown, unsure = self._show(reading) if self._show else (self._of_host(reading), 0)
        if self.exact:
            if self._begun is None:
                self._begun, self._error = (reading.tick, shown), reading.uncertainty + unsure + 2
            return
        middle = (reading.raw_before + reading.raw_after) // 2
        raw, error = reading.clocks_raw, reading.clocks_error
        if raw is None:
            raw, error = middle, (reading.raw_after - reading.raw_before >> 11) + 2
        error += unsure
        self._map.add(reading.tick, reading.raw_before, reading.raw_after)
        self._beside.add(raw, shown - (middle - raw), error + 1)
        if self._beside.fault > 2 * error + STEP:
            self._steps.append(_Step(raw, self._beside.fault))

    def _of_host(self, reading: ClockReading) -> int:
        """ns of the clock at a reading."""
        shown = reading.monotonic if self.clock == "monotonic" else reading.realtime
        return shown + (_tai_offset() if self.clock == "tai" else 0)

    def at(self, tick: int) -> tuple[int, int]:
        """(ns, by how much they may be wrong at most) of the clock at a tick, after the first look()."""
        if self._begun is not None:
            begun, ns = self._begun
            passed = self._map.nominal(abs(tick - begun))
            return ns + (passed if tick >= begun else -passed), self._error
        raw, ns, unsure = time_of(self._map, self._beside, tick)
        # The newest one is in it already.
        return ns, unsure + sum(step.ns for step in self._steps if raw - unsure < step.raw != self._beside.raw)

    def tick_at(self, ns: int | Fraction) -> ClockTick:
        """Where the clock shows `ns`, after the first look()."""
        ticks = 1 / self._ns_in_tick
        if self._begun is not None:
            begun, shown = self._begun
            return ClockTick(begun + (ns - shown) * ticks, self._error, self.clock)
        known = self._map.known
        assert known is not None
        tick, unsure = Fraction(known.tick), 0
        for _ in range(_NEARER):
            near = max(round(tick), 0)
            shown, unsure = self.at(near)
            tick = near + (ns - shown) * ticks
        return ClockTick(tick, unsure, self.clock)

    def stamped(self, batch: Batch) -> Batch:
        """The same records, with their times."""

        def timed(one: Record | Lost) -> Record | Lost:
            if isinstance(one, Lost):
                return one
            ns, uncertainty = self.at(one.tick)
            return replace(one, ns=ns, uncertainty=uncertainty)

        return replace(batch, events=[timed(one) for one in batch.events], received=[timed(one) for one in batch.received])
