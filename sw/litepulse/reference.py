# SPDX-License-Identifier: BSD-2-Clause
"""Seconds against the board's ticks: those of UTC by the PC's clock, or of a pulse per second at an input.

Seconds are counted as codes/scale.py does: none is left out, and none comes twice.
"""

import time
from collections import deque
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

from litepulse.backends.wallclock import DRIFT, ClockTick
from litepulse.capture import EdgeEvent
from litepulse.codes.scale import UTC
from litepulse.errors import BadInput, LitePulseError
from litepulse.interrupt import current
from litepulse.named_time import NamedTime, next_of
from litepulse.units import si

if TYPE_CHECKING:
    from litepulse.board import Board

CLOCK = "realtime"
NANO = 10**9
_LOOKS = Fraction(1, 8)  # seconds from one reading of the clock to the next
_BASELINE = 2  # seconds between readings from which the rate of the clocks is known
_SURE = 10_000  # one part in this many, two readings must say of the rate: crystals differ by no more
_EDGES = 3  # of a pulse per second, from which its rate is known: fewer would say too little, more would say what it was
_STRAY = Fraction(1, 1000)  # of a second: an edge that is farther off begins none
_MISSING = Fraction(8, 5)  # seconds without an edge: there is none
_NEAR = 2  # seconds: what is farther ahead is waited for, and found then
_FAR = 366 * 86400  # seconds: what is farther ahead is a mistake


class Seconds(Protocol):
    """What a train can follow. key: as it is named; name: for people; steps: how often it jumped."""

    key: str
    name: str
    steps: int

    def look(self) -> int:
        """Reads what there is to read; returns the board's tick."""
        ...

    @property
    def ready(self) -> bool:
        """Whether seconds that are still to come are known."""
        ...

    def holds(self, tick: int) -> bool:
        """Whether at this tick it still came in, or had just done so."""
        ...

    @property
    def uncertainty(self) -> int:
        """By how many ns it may be wrong against what it is named for; of a pulse per second, against its edges."""
        ...

    def tick_of(self, second: int | Fraction) -> Fraction:
        """Where a second, or a part of it, is."""
        ...

    def second_of(self, tick: int) -> Fraction:
        """Which it is there."""
        ...


class UtcSeconds:
    """UTC, as the PC's clock has it, from readings of both: for seconds that are still to come."""

    key, name = "utc", "UTC of this PC"

    def __init__(self, board: "Board") -> None:
        self._board = board
        self._known: deque[tuple[int, int, int]] = deque(maxlen=64)  # (tick, ns of UTC without gaps, uncertainty)
        self.steps = 0  # how often the clock was set meanwhile

    def look(self) -> int:
        """Reads both, if the last time is long enough ago; returns the board's tick."""
        now = self._board.now().tick
        if not self._known or now - self._known[-1][0] >= _LOOKS * self._board.tick_hz:
            shown = self._board.time_of(now, CLOCK)
            posix = shown.ns // NANO
            steps = [start for start, _ in UTC.steps if abs(start - posix) <= 2]
            if not steps or not self._known:  # around a leap second the clock shows one twice
                ns = shown.ns + UTC.offset(UTC.of_posix(posix)) * NANO
                if self._known:
                    ahead = abs(ns - self.ns_of(now))
                    allowed = shown.uncertainty + self._known[-1][2] + self._nominal(now - self._known[-1][0]) / DRIFT
                    if ahead > 2 * allowed + NANO // 1000:  # the clock was set
                        self._known.clear()
                        self.steps += 1
                self._known.append((now, ns, shown.uncertainty))
        return now

    def _nominal(self, ticks: int) -> Fraction:
        return ticks * NANO / self._board.tick_hz

    @property
    def uncertainty(self) -> int:
        """ns, of the newest reading."""
        return self._known[-1][2]

    def _line(self) -> tuple[int, int, Fraction]:
        """(tick, ns there, ns in a tick)."""
        if self._board.simulated:  # its clock goes with the ticks
            return *self._known[0][:2], self._nominal(1)
        known = list(self._known)
        tick, ns, _ = min(known[-8:], key=lambda each: each[2])
        rate = nominal = self._nominal(1)
        if known[-1][0] - known[0][0] >= _BASELINE * self._board.tick_hz:
            few = max(1, len(known) // 4)  # so that at least half of the time lies between them
            old, new = (min(part, key=lambda each: each[2]) for part in (known[:few], known[-few:]))
            if (old[2] + new[2]) * _SURE <= new[1] - old[1]:  # else a crystal is nearer to its nominal rate
                rate = Fraction(new[1] - old[1], new[0] - old[0])
            rate = min(max(rate, nominal * (1 - Fraction(1, DRIFT))), nominal * (1 + Fraction(1, DRIFT)))
        return tick, ns, rate

    def ns_of(self, tick: int) -> Fraction:
        """ns of UTC without gaps, as scale.py counts seconds, at a tick."""
        known, ns, rate = self._line()
        return ns + (tick - known) * rate

    def tick_of(self, second: int | Fraction) -> Fraction:
        """Where a second begins."""
        known, ns, rate = self._line()
        return known + (second * NANO - ns) / rate

    @property
    def ready(self) -> bool:
        return bool(self._known)

    def holds(self, tick: int) -> bool:
        return True

    def second_of(self, tick: int) -> Fraction:
        return self.ns_of(tick) / NANO


class PpsSeconds:
    """Seconds that begin with the rising edges of an input. Which second it is says the PC's clock."""

    def __init__(self, board: "Board", channel: int) -> None:
        self.key = f"pps:{channel}"
        self.channel, self.name, self.steps = channel, f"the pulses at input {channel}", 0
        self.strays = 0  # edges that began no second
        self._utc, self._hz = UtcSeconds(board), board.tick_hz
        self._edges: deque[tuple[int, int]] = deque(maxlen=_EDGES)  # (second, tick)
        self._strayed: list[int] = []  # ticks of the latest ones, a second apart
        self._off: deque[Fraction] = deque(maxlen=8)  # by how many ticks edges lay behind where they were expected

    def look(self) -> int:
        return self._utc.look()

    def feed(self, tick: int) -> int | None:
        """A rising edge; returns the second that it begins, None: none that is expected."""
        if self._edges:
            passed = (tick - self._edges[-1][1]) / self._rate
            if not self._whole(passed):
                self._stray(tick)
                return None
            second = self._edges[-1][0] + round(passed)
            if len(self._edges) == _EDGES:
                self._off.append(abs(tick - self.tick_of(second)))
        else:
            second = round(self._utc.second_of(tick))
        self._strayed = []
        self._edges.append((second, tick))
        return second

    @staticmethod
    def _whole(seconds: Fraction) -> bool:
        return round(seconds) > 0 and abs(seconds - round(seconds)) <= _STRAY * round(seconds)

    def _stray(self, tick: int) -> None:
        """One that begins no second; so many of them, a second apart, are the new ones."""
        self.strays += 1
        if self._strayed and not self._whole((tick - self._strayed[-1]) / self._hz):
            self._strayed = []
        self._strayed.append(tick)
        if len(self._strayed) == _EDGES:
            ticks, self._strayed = self._strayed, []
            self.steps += 1
            begin = round(self.second_of(ticks[0]))  # the nearest: which one it is nobody says
            self._off.clear()
            self._edges.clear()
            self._edges.extend((begin + round((each - ticks[0]) / self._hz), each) for each in ticks)

    @property
    def _rate(self) -> Fraction:
        """Ticks in a second."""
        (first, begin), (last, end) = self._edges[0], self._edges[-1]
        return Fraction(end - begin, last - first) if last > first else self._hz

    @property
    def ready(self) -> bool:
        return len(self._edges) == _EDGES

    def holds(self, tick: int) -> bool:
        return self.ready and tick - self._edges[-1][1] < _MISSING * self._hz

    @property
    def uncertainty(self) -> int:
        return -(-int(max(self._off, default=Fraction(0)) + 1) * NANO // int(self._hz))

    def tick_of(self, second: int | Fraction) -> Fraction:
        last, tick = self._edges[-1]
        return tick + (second - last) * self._rate

    def second_of(self, tick: int) -> Fraction:
        last, edge = self._edges[-1]
        return last + (tick - edge) / self._rate


def seconds_of(board: "Board", clock: str) -> UtcSeconds | PpsSeconds:
    """What 'utc' or 'pps:0' names."""
    if clock == "utc":
        return UtcSeconds(board)
    kind, colon, number = clock.partition(":")
    if kind != "pps" or not colon:
        raise BadInput(f"clock: '{clock}' is not utc, or pps:0 for the pulses at input 0")
    channel = board.channel(number)
    if channel == board.identity.inputs:
        raise BadInput("clock: the pulses come in at an input: pps:0")
    return PpsSeconds(board, channel)


def tick_of(board: "Board", moment: NamedTime, what: str) -> ClockTick:
    """Where a time of a clock is on the board. One that is far ahead is waited for until shortly before: what a crystal does meanwhile
    nobody knows. BadInput if it has passed or is too far ahead."""
    if moment.clock == "monotonic":
        _wait(board, moment.second, lambda: Fraction(board.time_of(board.now(), "monotonic").ns, NANO), _NEAR, what)
        return board.tick_at(moment.second * NANO, "monotonic")
    utc = UtcSeconds(board)
    wanted = next_of(moment, utc.second_of(utc.look()))
    near = _NEAR if moment.channel is None else _NEAR + _EDGES
    _wait(board, wanted, lambda: utc.second_of(utc.look()), near, what)
    if moment.channel is None:
        return ClockTick(utc.tick_of(wanted), utc.uncertainty)
    pulses = PpsSeconds(board, moment.channel)
    pulses.look()
    with board.capture([moment.channel], edges="rise", duration=f"{near}s") as capture:
        for edge in capture:
            if isinstance(edge, EdgeEvent) and edge.level:
                pulses.feed(edge.tick)
            if pulses.ready:
                break
    if not pulses.ready:
        raise LitePulseError(f"{what}: {pulses.name} do not come in, a second apart")
    return ClockTick(pulses.tick_of(wanted), pulses.uncertainty)


def _wait(board: "Board", wanted: Fraction, now: Callable[[], Fraction], near: int, what: str) -> None:
    """Until so many seconds before a time."""
    left = wanted - now()
    if left <= 0:
        raise BadInput(f"{what}: that time has passed, {si(-left, 's')} ago")
    if left > _FAR:
        raise BadInput(f"{what}: that time is more than {_FAR // 86400} days ahead")
    flag = current()
    while not board.simulated and left > near:  # the time of a simulated board passes by commands, and its clock goes with it
        if flag:
            raise KeyboardInterrupt
        time.sleep(min(0.05, float(left - near)))
        left = wanted - now()
