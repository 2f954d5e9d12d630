# SPDX-License-Identifier: BSD-2-Clause
"""Clocks against one another: by how much later than the first one each begins its seconds, all stamped by one board."""

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from litepulse.board import Board
from litepulse.capture import CapturePlan, Listen, LostEvent, Receiver
from litepulse.errors import BadInput, check_text
from litepulse.plan import Time
from litepulse.reference import FedSeconds, HostSeconds, PpsSeconds, seconds_of
from litepulse.stability import Deviation, octaves, slope
from litepulse.streams import Lost
from litepulse.units import NANO, Whole, to_duration, within

BOARD = "board"  # the crystal of the board as a clock
_WAIT = Fraction(3, 5)  # of a second: so long behind a second of the first clock, those of the others have come
_KEPT = 8  # seconds of a clock that are known until they are compared
_LONGEST = 86_400  # seconds without the first clock; behind more, the comparison begins again


@dataclass(frozen=True)
class Compared:
    """A second of the first clock.

    second: as scale.py counts; tick: where it begins, exact; late: by how many ns each other clock begins its second behind it, from
    minus to plus half a second, None: it did not come; uncertainty: by how many ns each of these may be wrong
    jump: the second does not go on where those before ended
    """

    second: int
    tick: Fraction
    late: tuple[Fraction | None, ...]
    uncertainty: tuple[int, ...]
    jump: bool


class _Pulses:
    """Edges at an input. Which second one begins the PC's clock says, once."""

    def __init__(self, board: Board, seconds: PpsSeconds) -> None:
        self.key, self.channel, self._seconds = seconds.key, seconds.channel, seconds
        self._half, self._error = board.tick_hz / 2, math.ceil(NANO / board.tick_hz)
        self._begun: deque[tuple[int, int]] = deque(maxlen=_KEPT)  # (second, tick)

    @property
    def steps(self) -> int:
        """How often its seconds jumped."""
        return self._seconds.steps

    def look(self) -> None:
        """Before edges are fed; once these go on by themselves, the PC's clock is not needed."""
        if not self._seconds.ready:
            self._seconds.look()

    def feed(self, tick: int) -> None:
        """A rising edge."""
        second = self._seconds.feed(tick)
        if second is not None:
            self._begun.append((second, tick))

    def begun(self, before: Fraction) -> tuple[int, Fraction] | None:
        """The next second, and where it begins, if that is before a tick; each is given once."""
        if self._begun and self._begun[0][1] < before:
            second, tick = self._begun.popleft()
            return second, Fraction(tick)
        return None

    def near(self, second: int, tick: Fraction) -> tuple[Fraction, int] | None:
        """(where its second next to this tick begins, by how many ns that may be wrong)."""
        return next(((Fraction(edge), self._error) for _, edge in self._begun if abs(edge - tick) <= self._half), None)


class _Utc:
    """UTC of the PC, or a PTP clock of it."""

    def __init__(self, seconds: HostSeconds) -> None:
        self.key, self._seconds = seconds.key, seconds
        self._next: int | None = None
        self._set = seconds.steps

    @property
    def steps(self) -> int:
        """How often the clock was set."""
        return self._seconds.steps

    def look(self) -> None:
        """Reads both clocks."""
        now = self._seconds.look()
        if self._next is None:
            self._next = math.ceil(self._seconds.second_of(now))

    def begun(self, before: Fraction) -> tuple[int, Fraction] | None:
        """As _Pulses.begun()."""
        assert self._next is not None
        newest = math.ceil(self._seconds.second_of(math.floor(before))) - 1
        if self.steps != self._set or newest - self._next >= _KEPT:
            self._set, self._next = self.steps, newest
        if newest < self._next:
            return None
        second, self._next = self._next, self._next + 1
        return second, self._seconds.tick_of(second)

    def near(self, second: int, tick: Fraction) -> tuple[Fraction, int]:
        """As _Pulses.near()."""
        return self._seconds.tick_of(round(self._seconds.second_of(round(tick)))), self._seconds.uncertainty


class _Crystal:
    """The board's own clock: its first second begins with one of the clock that it is compared with."""

    key = BOARD

    def __init__(self, tick_hz: Fraction) -> None:
        self._hz = tick_hz
        self._first: tuple[int, Fraction] | None = None

    def near(self, second: int, tick: Fraction) -> tuple[Fraction, int]:
        """Where this second begins."""
        first, at = self._first = self._first or (second, tick)
        return at + (second - first) * self._hz, 0


class Compare(Listen[Compared | Lost, Compared | LostEvent]):
    """Clocks that are being compared. Iterating over it gives the seconds of the first one, and losses.

    clocks: their names, the one first with which the others are compared; errors: of each other one, how late in ticks, second by second
    since the last jump, None: not known; jumps: how often the seconds of the first clock did not go on
    """

    def __init__(self, board: Board, first: _Pulses | _Utc, others: Sequence[_Pulses | _Utc | _Crystal], plan: CapturePlan) -> None:
        self._first, self._others = first, others
        self._receiver = Receiver(board.backend, plan)
        super().__init__(board.backend, self._receiver.poller, plan.count, plan.duration)
        self.clocks = [clock.key for clock in (first, *others)]
        self.errors: list[list[float | None]] = [[] for _ in others]
        self.jumps = 0
        self._wait, self._tick_ns, self._tick = _WAIT * board.tick_hz, NANO / board.tick_hz, float(1 / board.tick_hz)
        self._second: int | None = None
        self._steps = 0

    def _prepare(self) -> None:
        self._receiver.prepare()

    def _poll(self) -> Sequence[Compared | Lost]:
        found: list[Compared | Lost] = []
        read = [clock for clock in (self._first, *self._others) if not isinstance(clock, _Crystal)]
        for clock in read:
            clock.look()
        for tick, what, value, _, _ in self._receiver.poll():
            if isinstance(value, Lost):
                found.append(value)
            elif value:
                for clock in read:
                    if isinstance(clock, _Pulses) and what == str(clock.channel):
                        clock.feed(tick)
        while begun := self._first.begun(self.poller.tick - self._wait):
            found.append(self._judged(*begun))
        return found

    def _judged(self, second: int, tick: Fraction) -> Compared:
        """All clocks at a second of the first one."""
        passed = 1 if self._second is None else second - self._second
        jump = not 0 < passed <= _LONGEST or self._steps != self._first.steps
        self._steps = self._first.steps
        if jump:
            self.jumps += 1
            self.errors = [[] for _ in self._others]
        self._second = second
        late: list[Fraction | None] = []
        unsure: list[int] = []
        for clock, errors in zip(self._others, self.errors):
            place, uncertainty = clock.near(second, tick) or (None, 0)
            behind = None if place is None else place - tick
            errors += [None] * (0 if jump else passed - 1)
            errors.append(None if behind is None else float(behind))  # mostly whole: no rounding
            late.append(None if behind is None else behind * self._tick_ns)
            unsure.append(uncertainty)
        return Compared(second, tick, tuple(late), tuple(unsure), jump)

    def _is_loss(self, found: Compared | Lost) -> bool:
        return isinstance(found, Lost)

    def _item(self, found: Compared | Lost) -> Compared | LostEvent:
        return LostEvent.of(found, self._timescale) if isinstance(found, Lost) else found

    def deviations(self, number: int) -> list[Deviation]:
        """The Allan deviation of clock `number` (1: the second of `clocks`) against the first, over 1, 2, 4, … seconds."""
        return [replace(each, deviation=each.deviation * self._tick) for each in octaves(self.errors[number - 1], 1)]

    def fast(self, number: int) -> float | None:
        """By how much that clock is fast against the first, without unit; None: not known yet."""
        rise = slope(self.errors[number - 1], 1)
        return None if rise is None else -rise * self._tick


def compare(board: Board, clocks: str | Sequence[str], *, count: Whole = 0, duration: Time | None = None) -> Compare:
    """Compares clocks: 'pps:0' (each rising edge at input 0 begins a second), 'utc' (of the PC), 'board' (its crystal).

    Each is compared with the first, which is not 'board'; one alone is compared with the board. It ends after count seconds of the
    first, after duration, or when it is stopped.
    """
    names = [clocks] if isinstance(clocks, str) else [check_text(name, "clocks") for name in clocks]
    if not names:
        raise BadInput("clocks: give names of clocks: utc, board, pps:0")
    if len(set(names)) < len(names):
        raise BadInput("clocks: one is there twice")
    if len(names) == 1:
        names.append(BOARD)
    if names[0] == BOARD:
        raise BadInput("clocks: the first is the one with which the others are compared; the board stands behind it")

    def made(name: str) -> _Pulses | _Utc:
        seconds = seconds_of(board, name)
        if isinstance(seconds, FedSeconds) and not isinstance(seconds, PpsSeconds):
            raise BadInput(f"clocks: {name} cannot be compared: utc, board, pps:0 or phc:0 can")
        return _Pulses(board, seconds) if isinstance(seconds, PpsSeconds) else _Utc(seconds)

    first = made(names[0])
    others = [_Crystal(board.tick_hz) if name == BOARD else made(name) for name in names[1:]]
    channels = sorted(clock.channel for clock in (first, *others) if isinstance(clock, _Pulses))
    plan = CapturePlan(
        channels,
        fall=False,
        count=within(count, "count", 0, (1 << 63) - 1),
        duration=None if duration is None else math.floor(board.timescale.ticks(to_duration(duration, "duration"))),
    )
    return board.begin(Compare(board, first, others, plan))
