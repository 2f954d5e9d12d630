# SPDX-License-Identifier: BSD-2-Clause
"""By how much the times of boards differ: edges of one wire that all of them capture."""

import math
from collections import deque
from collections.abc import Sequence as Listed
from dataclasses import dataclass
from fractions import Fraction

from litepulse.board import Board
from litepulse.capture import Capture, CaptureEvent, EdgeEvent, LostEvent
from litepulse.job_group import Fail, JobGroup
from litepulse.reference import DRIFT
from litepulse.units import NANO

_KNOWN = 16384  # the same once their rates have been seen for a second: more than they change
_SLACK = Fraction(1, 1_000_000)  # seconds: what a wire may take more or less
_CLOCK = Fraction(1, 1000)  # seconds: the same before the first edge, beside the bound of the PC's clock
_SIMULATED = Fraction(1, 10)  # seconds: the same of simulated boards, whose time does not go with the PC's
_SETTLE = 64  # cycles after which the record of an edge is there
_AGAIN = 5  # edges without a partner, one after the other: the first ones were paired wrongly


@dataclass(frozen=True)
class Offset:
    """An edge that two boards have captured.

    number: of the edge, from 0 on; board: which one is compared with the first one; tick, other: of the edge on the first and on this one
    offset: seconds that this board's time is ahead of the first one's, each counted from its own reset; exact from the ticks
    uncertainty: by how many ns that may be wrong: a tick of each. What the wire takes to one more than to the other is not known
    ppm: by how much this board is fast against the first one, on the average since edge 0, which has None; ppm_uncertainty: by how
    much that may be wrong
    """

    number: int
    board: int
    tick: int
    other: int
    offset: Fraction
    uncertainty: int
    ppm: Fraction | None = None
    ppm_uncertainty: Fraction | None = None


class Alignment(JobGroup[Capture, Offset]):
    """Captures on all boards, compared. Iterating over it gives an Offset for each edge, and each board but the first.

    lone: edges that not all boards had, or that could not be told apart; lost: records that are missing; latest: the newest Offset of
    each board but the first, by its number
    """

    def __init__(self, boards: Listed[Board], captures: Listed[Capture], level: int, count: int, fail: Fail) -> None:
        """level: behind an edge; count: edges until it ends, 0: it does not."""
        super().__init__(captures, fail)
        self.lone = self.lost = self.count = 0
        self.latest: dict[int, Offset] = {}
        self._boards = tuple(boards)
        self._level, self._wanted = level, count
        self._edges: list[deque[int]] = [deque() for _ in boards]
        self._first: tuple[int, ...] | None = None  # ticks of the first edge, and of the newest
        self._last: tuple[int, ...] | None = None
        self._missed = 0
        self._hz = [board.tick_hz for board in boards]

    def poll(self) -> list[Offset]:
        """What has come since the last look; does not wait."""
        for number, capture in enumerate(self.jobs):
            self._take(number, capture.poll)
        if self.interrupted:
            self.stop()
        found: list[Offset] = []
        while not (self._wanted and self.count >= self._wanted):
            ticks = self._next()
            if ticks is None:
                return found
            found += self._compared(ticks)
        self.close()
        return found

    def _keep(self, number: int, items: Listed[CaptureEvent]) -> None:
        for event in items:
            if isinstance(event, EdgeEvent):
                if event.level == self._level:
                    self._edges[number].append(event.tick)
            elif isinstance(event, LostEvent):
                self.lost += event.count

    def _next(self) -> tuple[int, ...] | None:
        """The ticks of an edge on all boards; None if none is known yet."""
        while self._edges[0]:
            tick = self._edges[0][0]
            ticks = [tick]
            for number in range(1, len(self._boards)):
                found = self._partner(number, tick)
                if found is None:
                    return None
                if found < 0:
                    break
                ticks.append(found)
            self._edges[0].popleft()
            if len(ticks) < len(self._boards):
                self.lone += 1
                self._missed += 1
                if self._missed >= _AGAIN:
                    self._first = self._last = None
                continue
            for number, edge in enumerate(ticks[1:], 1):
                while self._edges[number] and self._edges[number][0] <= edge:
                    self._edges[number].popleft()
            self._missed = 0
            return tuple(ticks)
        return None

    def _partner(self, number: int, tick: int) -> int | None:
        """The tick of the same edge on another board; -1 if it has none, or it is not sure which; None if that is not known yet."""
        expected, window = self._expected(number, tick)
        edges = self._edges[number]
        while edges and edges[0] < expected - window:
            edges.popleft()
            self.lone += 1
        near = [edge for edge in edges if edge <= expected + window]
        known = self.jobs[number].poller.tick - _SETTLE * self._boards[number].identity.samples_per_cycle
        if known <= expected + window and not self.jobs[number].over:
            return None
        close = len(self._edges[0]) > 1 and (self._edges[0][1] - tick) * self._hz[number] / self._hz[0] <= window
        return near[0] if len(near) == 1 and not close else -1

    def _expected(self, number: int, tick: int) -> tuple[Fraction, Fraction]:
        """(tick on another board, how far from there it may be), of a tick on the first one."""
        hz = self._hz[number]
        if self._last is None or self._first is None:
            shown = self._boards[0].time_of(tick, "monotonic")
            found = self._boards[number].tick_at(shown.ns, "monotonic")
            slack = _SIMULATED if self._boards[0].simulated or self._boards[number].simulated else _CLOCK
            return found.tick, (Fraction(shown.uncertainty + found.uncertainty, NANO) + slack) * hz
        rate, drift = hz / self._hz[0], DRIFT
        seen = self._last[0] - self._first[0]
        if seen >= self._hz[0]:
            rate, drift = Fraction(self._last[number] - self._first[number], seen), _KNOWN
        passed = (tick - self._last[0]) * rate
        return self._last[number] + passed, abs(passed) / drift + _SLACK * hz + 2

    def _compared(self, ticks: tuple[int, ...]) -> list[Offset]:
        """What an edge says."""
        if self._first is None:
            self._first = ticks
        self._last = ticks
        found: list[Offset] = []
        for number in range(1, len(ticks)):
            hz = self._hz[number]
            error = 1 / self._hz[0] + 1 / hz
            passed = (ticks[0] - self._first[0]) / self._hz[0]
            ppm = sure = None
            if passed:
                ppm = ((ticks[number] - self._first[number]) / hz / passed - 1) * 1_000_000
                sure = error / passed * 1_000_000
            offset = ticks[number] / hz - ticks[0] / self._hz[0]
            one = Offset(self.count, number, ticks[0], ticks[number], offset, math.ceil(error * NANO), ppm, sure)
            self.latest[number] = one
            found.append(one)
        self.count += 1
        return found
