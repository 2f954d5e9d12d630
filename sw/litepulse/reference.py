# SPDX-License-Identifier: BSD-2-Clause
"""Seconds against the board's ticks: of UTC by the PC's clock, of a PTP clock, of a pulse per second or a Harp clock at an input.

Seconds are counted as codes/scale.py does: none is left out, and none comes twice. A PTP clock and a Harp clock have their own.
"""

import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

from litepulse.backends.wallclock import ClockTick, ClockTime
from litepulse.capture import EdgeEvent
from litepulse.codes.frames import Found, Frame
from litepulse.codes.harp import BAUD, LAST_BYTE, HarpDecoder
from litepulse.codes.scale import TAI, UTC
from litepulse.codes.uart import Uart
from litepulse.errors import BadInput, LitePulseError
from litepulse.interrupt import current
from litepulse.named_time import NamedTime, clock_name, next_of, time_text
from litepulse.units import NANO, fixed, si

if TYPE_CHECKING:
    from litepulse.board import Board

CLOCK = "realtime"
_LOOKS = Fraction(1, 8)  # seconds from one reading of the clock to the next
_BASELINE = 2  # seconds between readings from which the rate of the clocks is known
_SURE = 10_000  # one part in this many, two readings must say of the rate: crystals differ by no more
WANDER = 1 << 52  # ns: a rate changes by a part in it for each ns, see wander() of the clock map
DRIFT = 1024  # one part in this many: more than two crystals differ
_EDGES = 3  # of a pulse per second, from which its rate is known: fewer would say too little, more would say what it was
_STRAY = Fraction(1, 1000)  # of a second: an edge that is farther off begins none
_MISSING = Fraction(8, 5)  # seconds without an edge: there is none
_NEAR = 2  # seconds: what is farther ahead is waited for, and found then
_FAR = 366 * 86400  # seconds: what is farther ahead is a mistake
_READY = 10  # seconds in which a clock has to come in
FEWEST = 2  # seconds of a clock that comes in, from which times are known


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


class HostSeconds:
    """A clock of the PC, from readings of both: for seconds that are still to come."""

    def __init__(self, board: "Board", key: str, name: str, clock: str) -> None:
        """clock: as Board.time_of() calls it."""
        self.key, self.name = key, name
        self._board, self._clock = board, clock
        self._known: deque[tuple[int, int, int]] = deque(maxlen=64)  # (tick, ns of UTC without gaps, uncertainty)
        self.steps = 0  # how often the clock was set meanwhile

    def look(self) -> int:
        """Reads both, if the last time is long enough ago; returns the board's tick."""
        now = self._board.now().tick
        if not self._known or now - self._known[-1][0] >= _LOOKS * self._board.tick_hz:
            shown = self._board.time_of(now, self._clock)
            ns, doubtful = self._without_gaps(shown.ns)
            if not doubtful or not self._known:
                if self._known:
                    ahead = abs(ns - self.ns_of(now))
                    allowed = shown.uncertainty + self._known[-1][2] + self._nominal(now - self._known[-1][0]) / DRIFT
                    if ahead > 2 * allowed + NANO // 1000:  # the clock was set
                        self._known.clear()
                        self.steps += 1
                self._known.append((now, ns, shown.uncertainty))
        return now

    def _without_gaps(self, ns: int) -> tuple[int, bool]:
        """(what the clock shows as seconds are counted, whether it may be another one)."""
        return ns, False

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


class UtcSeconds(HostSeconds):
    """UTC, as the PC's clock has it."""

    def __init__(self, board: "Board") -> None:
        super().__init__(board, "utc", "UTC of this PC", CLOCK)

    def _without_gaps(self, ns: int) -> tuple[int, bool]:
        return utc_of(ns)


def utc_of(realtime: int) -> tuple[int, bool]:
    """(ns as scale.py counts seconds, whether a leap second is so near that it may be the next or the last one), from CLOCK_REALTIME."""
    posix = realtime // NANO
    near = any(abs(start - posix) <= 2 for start, _ in UTC.steps)  # the clock shows a second twice
    return realtime + UTC.offset(UTC.of_posix(posix)) * NANO, near


class FedSeconds:
    """Seconds that come in at a channel of the board, as edges. What they are is for a subclass to say.

    key: as it is named; name: for people; channel: where they come in; both: falling edges are needed, too; steps: how often they jumped;
    strays: how many were no second
    """

    both = False
    _unsure = 0  # ns by which a second may begin elsewhere

    def __init__(self, board: "Board", key: str, name: str, channel: int) -> None:
        self.key, self.name, self.channel = key, name, channel
        self.steps = self.strays = 0
        self._board, self._hz = board, board.tick_hz
        self._edges: deque[tuple[int, Fraction]] = deque(maxlen=_EDGES)  # (second, tick)
        self._strayed: list[tuple[int | None, Fraction]] = []  # the latest ones, a second apart
        self._off: deque[Fraction] = deque(maxlen=8)  # by how many ticks they lay behind where they were expected

    def look(self) -> int:
        """The board's tick."""
        return self._board.now().tick

    def edge(self, tick: int, level: int) -> None:
        """An edge of the channel."""
        raise NotImplementedError

    def passed(self, tick: int) -> None:
        """No further edge comes before this tick."""

    def lost(self) -> None:
        """Edges are missing here."""

    def _first(self, tick: Fraction) -> int:
        """Which second begins at a tick, if nothing names it."""
        raise NotImplementedError

    def begin(self, tick: Fraction, named: int | None = None) -> int | None:
        """A second, perhaps with its name, begins; returns which one, None: it is none that is expected."""
        if self._edges:
            passed = (tick - self._edges[-1][1]) / self._rate
            second = self._edges[-1][0] + round(passed)
            if not self._whole(passed) or (named is not None and named != second):
                self._stray(tick, named)
                return None
            if len(self._edges) == _EDGES:
                self._off.append(abs(tick - self.tick_of(second)))
        else:
            second = self._first(tick) if named is None else named
        self._strayed = []
        self._edges.append((second, tick))
        return second

    @staticmethod
    def _whole(seconds: Fraction) -> bool:
        return round(seconds) > 0 and abs(seconds - round(seconds)) <= _STRAY * round(seconds)

    def _stray(self, tick: Fraction, named: int | None) -> None:
        """One that begins no second; so many of them, a second apart, are the new ones."""
        self.strays += 1
        if self._strayed and not self._goes_on(tick, named):
            self._strayed = []
        self._strayed.append((named, tick))
        if len(self._strayed) == _EDGES:
            strayed, self._strayed = self._strayed, []
            self.steps += 1
            (named, tick), begin = strayed[0], strayed[0][0]
            if begin is None:
                begin = round(self.second_of(tick))  # the nearest: which one it is nobody says
            self._off.clear()
            self._edges.clear()
            self._edges.extend((begin + round((each - tick) / self._hz), each) for _, each in strayed)

    def _goes_on(self, tick: Fraction, named: int | None) -> bool:
        """Whether it lies whole seconds behind the last stray, as its name does."""
        before, last = self._strayed[-1]
        passed = (tick - last) / self._hz
        return self._whole(passed) and (named is None or before is None or named == before + round(passed))

    @property
    def _rate(self) -> Fraction:
        """Ticks in a second."""
        (first, begin), (last, end) = self._edges[0], self._edges[-1]
        return (end - begin) / (last - first) if last > first else self._hz

    @property
    def known(self) -> int:
        """How many seconds came in, of those that are kept."""
        return len(self._edges)

    @property
    def ready(self) -> bool:
        return len(self._edges) == _EDGES

    def holds(self, tick: int) -> bool:
        return self.ready and tick - self._edges[-1][1] < _MISSING * self._hz

    @property
    def uncertainty(self) -> int:
        return -(-int(max(self._off, default=Fraction(0)) + 1) * NANO // int(self._hz)) + self._unsure

    def bound(self, tick: int | Fraction) -> int:
        """By how many ns second_of() may be wrong against what came in: the stamps, how far off seconds were, and what a crystal does
        meanwhile (docs/develop/clocks.md)."""
        (first, _), (last, end) = self._edges[0], self._edges[-1]
        distance, base = abs(tick - end) / self._hz, last - first
        stamps = 1 + 2 * distance / base + max(self._off, default=Fraction(0)) * max(Fraction(1), distance)
        return math.ceil(stamps * NANO / self._hz) + self.wander(distance) + self._unsure

    def wander(self, distance: Fraction) -> int:
        """By how many ns a crystal may leave the rate of the seconds that came in, so many of them from the last one."""
        base = self._edges[-1][0] - self._edges[0][0]
        return math.ceil(distance * (distance + base) * NANO * NANO / 2 / WANDER)

    def time_of(self, tick: int) -> ClockTime:
        """A tick in this clock, once FEWEST seconds are known."""
        return ClockTime(math.floor(self.second_of(tick) * NANO), self.bound(tick) + 1, self.key)

    def since(self, second: int | Fraction) -> Fraction:
        """How many seconds a second, or a part of it, lies behind the last one."""
        return second - Fraction(self._edges[-1][0])

    def tick_of(self, second: int | Fraction) -> Fraction:
        last, tick = self._edges[-1]
        return tick + (second - last) * self._rate

    def second_of(self, tick: int | Fraction) -> Fraction:
        last, edge = self._edges[-1]
        return last + (tick - edge) / self._rate


class PpsSeconds(FedSeconds):
    """Seconds that begin with the rising edges of an input. Which second it is says the PC's clock."""

    def __init__(self, board: "Board", channel: int) -> None:
        super().__init__(board, f"pps:{channel}", f"the pulses at input {channel}", channel)
        self._utc = UtcSeconds(board)

    def look(self) -> int:
        return self._utc.look()

    def edge(self, tick: int, level: int) -> None:
        if level:
            self.feed(tick)

    def feed(self, tick: int) -> int | None:
        """A rising edge; returns the second that it begins, None: none that is expected."""
        return self.begin(Fraction(tick))

    def _first(self, tick: Fraction) -> int:
        return round(self._utc.second_of(round(tick)))


class HarpSeconds(FedSeconds):
    """Seconds of a Harp clock, as it counts them."""

    both = True
    _unsure = math.ceil(LAST_BYTE * NANO / DRIFT)  # from the last byte to the second, by the board's crystal

    def __init__(self, board: "Board", channel: int) -> None:
        rx = channel == board.identity.inputs
        super().__init__(board, "harp" if rx else f"harp:{channel}", f"the Harp clock at {'rx' if rx else f'input {channel}'}", channel)
        self._uart = Uart(board.tick_hz, BAUD)
        self._decoder = HarpDecoder(board.tick_hz, TAI, 0)

    def edge(self, tick: int, level: int) -> None:
        for start, byte, ok in self._uart.feed(tick, level):
            self._take(self._decoder.feed(start, byte, ok))

    def passed(self, tick: int) -> None:
        for start, byte, ok in self._uart.advance(tick):
            self._take(self._decoder.feed(start, byte, ok))
        self._take(self._decoder.advance(tick))

    def lost(self) -> None:
        self._uart.drop()
        self._decoder.drop("records were lost")

    def _take(self, found: Sequence[Found]) -> None:
        for frame in found:
            if isinstance(frame, Frame):
                self.begin(frame.tick, frame.second)


def seconds_of(board: "Board", clock: str) -> HostSeconds | FedSeconds:
    """What 'utc', 'pps:0', 'phc:0' or 'harp:0' names."""
    kind, _, where = clock.partition(":")
    if clock == "utc":
        return UtcSeconds(board)
    if kind == "pps" and where:
        channel = board.channel(where)
        if channel == board.identity.inputs:
            raise BadInput("clock: the pulses come in at an input: pps:0")
        return PpsSeconds(board, channel)
    if kind == "harp":
        name = clock_name(clock)
        return HarpSeconds(board, board.channel(name.partition(":")[2] or "rx"))
    if clock == "phc":
        device = board.identity.nodes.get("clock")
        if device is None:
            raise BadInput("clock: 'phc' is the PTP clock of a board of the kernel's driver, and this one has none; phc:0 is /dev/ptp0")
        name = clock_name(f"phc:{device}")
        return HostSeconds(board, name, f"the board's PTP clock {device}", name)
    if kind == "phc" and where:
        name = clock_name(clock)
        return HostSeconds(board, name, f"the PTP clock {name.partition(':')[2]}", name)
    raise BadInput(f"clock: '{clock}' is not utc, or pps:0 for the pulses at input 0; phc:0 is /dev/ptp0, harp:0 a Harp clock at input 0")


def time_of(board: "Board", tick: int, clock: str) -> ClockTime:
    """A tick in a clock that is none of the PC's: 'utc', 'pps:0', 'harp'. LitePulseError if it is not known yet, and why."""
    if clock == "utc":
        shown = board.time_of(tick, CLOCK)
        ns, near = utc_of(shown.ns)
        return ClockTime(ns, shown.uncertainty + NANO * near, clock)
    return _fed(board, clock).time_of(tick)


def tick_at(board: "Board", ns: Fraction, clock: str) -> ClockTick:
    """Where a clock that is none of the PC's shows `ns`, as time_of() has them."""
    if clock == "utc":
        second = math.floor(ns / NANO)
        near = any(abs(start - UTC.posix(second)) <= 2 for start, _ in UTC.steps)
        found = board.tick_at(ns - UTC.offset(second) * NANO, CLOCK)
        return ClockTick(found.tick, found.uncertainty + NANO * near, clock)
    seconds = _fed(board, clock)
    tick = seconds.tick_of(ns / NANO)
    return ClockTick(tick, seconds.bound(tick), clock)


def _fed(board: "Board", clock: str) -> FedSeconds:
    """What came in of a clock. LitePulseError if that is too little."""
    seconds = board.came_in(clock)
    if seconds is None:
        raise LitePulseError(f"clock: nothing of {clock} came in yet: capture(clock='{clock}') reads it")
    if seconds.known < FEWEST:
        raise LitePulseError(f"clock: {counted_seconds(seconds)}, {FEWEST} are needed")
    return seconds


def counted_seconds(seconds: FedSeconds) -> str:
    """How much is known, for people."""
    return f"of {seconds.name} {'one second' if seconds.known else 'no second'} came in"


def second_text(clock: str, second: Fraction) -> str:
    """For people: '2026-11-30 12:00:00.25 UTC', or the number that a clock with its own count has."""
    if clock == "utc" or clock.startswith("pps:"):
        whole = math.floor(second)
        return f"{UTC.civil(whole)}{fixed(second - whole, 9).rstrip('0').rstrip('.')[1:]} UTC"
    return f"{time_text(clock, math.floor(second * NANO)).rstrip('0').rstrip('.')} s of {clock}"


def tick_of(board: "Board", moment: NamedTime, what: str) -> ClockTick:
    """Where a time of a clock is on the board. One that is far ahead is waited for until shortly before: what a crystal does meanwhile
    nobody knows. BadInput if it has passed or is too far ahead."""
    if moment.clock == "monotonic":
        wait_until(lambda: moment.second - Fraction(board.time_of(board.now(), "monotonic").ns, NANO), _NEAR, board.simulated, what)
        return board.tick_at(moment.second * NANO, "monotonic")
    if moment.clock.startswith("phc"):
        ptp = seconds_of(board, moment.clock)
        wait_until(lambda: moment.second - ptp.second_of(ptp.look()), _NEAR, board.simulated, what)
        return board.tick_at(moment.second * NANO, ptp.key)
    if moment.clock.startswith("harp"):
        return _by_frames(board, moment, what)
    utc = UtcSeconds(board)
    wanted = next_of(moment, utc.second_of(utc.look()))
    near = _NEAR if moment.channel is None else _NEAR + _EDGES
    wait_until(lambda: wanted - utc.second_of(utc.look()), near, board.simulated, what)
    if moment.channel is None:
        return ClockTick(utc.tick_of(wanted), utc.uncertainty, moment.clock)
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
    return ClockTick(pulses.tick_of(wanted), pulses.uncertainty, moment.clock)


def _by_frames(board: "Board", moment: NamedTime, what: str) -> ClockTick:
    """Where a time of a clock is that alone says when it is: it is read until shortly before."""
    clock = seconds_of(board, moment.clock)
    assert isinstance(clock, FedSeconds)
    flag = current()
    with board.capture([clock.channel]) as capture:
        begun = now = board.now().tick
        while not clock.ready or moment.second - clock.second_of(now) > _NEAR:
            if flag:
                raise KeyboardInterrupt
            for edge in capture.poll():
                if isinstance(edge, EdgeEvent):
                    clock.edge(edge.tick, edge.level)
                else:
                    clock.lost()
            now = board.now().tick
            clock.passed(now - math.floor(board.tick_hz / 100))
            if clock.ready:
                _check_ahead(moment.second - clock.second_of(now), what)
            elif now - begun > _READY * board.tick_hz:
                raise LitePulseError(f"{what}: {clock.name} does not come in, a second apart")
            if not board.simulated:  # its time passes by what is asked of it
                time.sleep(0.01)
    return ClockTick(clock.tick_of(moment.second), clock.uncertainty, clock.key)


def _check_ahead(left: Fraction, what: str) -> None:
    """BadInput unless a time is still to come, in `left` seconds, and that within a year."""
    if left <= 0:
        raise BadInput(f"{what}: that time has passed, {si(-left, 's')} ago")
    if left > _FAR:
        raise BadInput(f"{what}: that time is more than {_FAR // 86400} days ahead")


def wait_until(left: Callable[[], Fraction], near: Fraction | int, simulated: bool, what: str) -> None:
    """Until a time is `near` seconds ahead; left: how many it is now. BadInput if it has passed or is too far ahead.

    simulated: the time of the board passes by commands, and its clock goes with it: nothing is waited for
    """
    seconds = left()
    _check_ahead(seconds, what)
    flag = current()
    while not simulated and seconds > near:
        if flag:
            raise KeyboardInterrupt
        time.sleep(min(0.05, float(seconds - near)))
        seconds = left()
