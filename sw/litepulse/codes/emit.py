# SPDX-License-Identifier: BSD-2-Clause
"""Sends a time code: each second of the PC's clock as timed launches, at the tick that the clock has there."""

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from litepulse.backends.interface import LAUNCH_PROFILE
from litepulse.board import Board
from litepulse.codes import barcode, dcf77, harp, irig_b, nmea
from litepulse.codes.frames import Change, pulses
from litepulse.codes.scale import SCALES, UTC, Scale
from litepulse.errors import BadInput, check_text, shown
from litepulse.interrupt import Flag
from litepulse.job import Job
from litepulse.launch import Entry, SendRun
from litepulse.line import Format, Launch, Profile
from litepulse.plan import Time, When, frame, profile_of
from litepulse.reference import CLOCK, DRIFT, UtcSeconds
from litepulse.streams import Event
from litepulse.units import NANO, Number, Whole, to_duration, to_fraction, within

CODES = ("harp", "irig-b", "barcode", "nmea", "dcf77")
_AHEAD = Fraction(3, 4)  # seconds before its first launch, a second is handed over: the queue holds 64 launches


@dataclass(frozen=True)
class EmitPlan:
    """A code as the board does it.

    frames: what goes out for a second, [(when, byte, or length of a pulse)], and how sure the clock is of it (IRIG's quality)
    """

    code: str
    scale: Scale
    profile: Profile
    frames: Callable[[int, int], Sequence[tuple[Fraction, int | Fraction]]]
    loopback: bool = False


@dataclass(frozen=True)
class Emitted:
    """A second that was sent.

    second: as scale.py counts; text: what the code calls it; tick: where it is
    ns: what the PC's clock showed at that tick; error: by how many ns that is late; uncertainty: by how many ns both may be wrong
    launched, refused: how many launches left, and did not; reason: of the first that did not
    """

    second: int
    text: str
    tick: int
    ns: int
    error: int
    uncertainty: int
    launched: int
    refused: int
    reason: str | None


@dataclass
class _Second:
    """One that is under way."""

    number: int
    tick: int  # where it shall be
    first: int  # number of its first launch
    count: int
    launched: int = 0
    reasons: list[str] = field(default_factory=list)


class Emit(Job[Emitted]):
    """A time code that is being sent. Iterating over it gives each second when it has left."""

    def __init__(self, board: Board, plan: EmitPlan, start: int | None, duration: int | None) -> None:
        """start: tick that no launch is before; duration: ticks from there, None: until it is stopped."""
        super().__init__(board.backend)
        self.plan, self._board = plan, board
        self._first_tick, self._duration = start, duration
        self.run = SendRun(board.backend, plan.profile, (), plan.loopback)
        self.run.keep = False
        self.clock = UtcSeconds(board)
        self._seconds: deque[_Second] = deque()
        self._skipped: list[Emitted] = []
        self._fed = 0

    def _prepare(self) -> None:
        self.run.prepare()

    def _start(self) -> None:
        for _ in range(2):
            self.clock.look()
        if self._first_tick is None:
            self._first_tick = self.run.soon(self._backend.identity.launch_depth)
        self.run.source = self._launches(self._first_tick)
        self.run.feed()

    def _launches(self, first_tick: int) -> Iterator[Entry | None]:
        """What the queue gets, second by second, and None while the next one is not due yet."""
        plan, hz = self.plan, self._board.tick_hz
        end = None if self._duration is None else first_tick + self._duration
        second = math.floor(self.clock.ns_of(first_tick) / NANO)
        free, steps = first_tick, self.clock.steps
        while True:
            now = self.clock.look()
            if steps != self.clock.steps:  # the clock was set: go on with the second that comes next
                steps, second = self.clock.steps, math.floor(self.clock.ns_of(max(free, now)) / NANO) + 1
            items = plan.frames(second, quality_of(self.clock.uncertainty))
            begin = self.clock.tick_of(second)
            step = self.clock.tick_of(second + 1) - begin
            if end is not None and begin >= end:
                return
            if not items:
                second += 1
                continue
            places = [round(begin + (at - second) * step) for at, _ in items]
            if places[0] - _AHEAD * hz > now:
                yield None
                continue
            if places[0] < first_tick:  # it has begun before the start
                second += 1
                continue
            launches = [self._launch(what) for _, what in items]
            if places[0] < max(free, now + self._soon()):
                self._skipped.append(self._result(_Second(second, round(begin), 0, 0, 0, ["late"]), len(items)))
                second += 1
                yield None
                continue
            self._seconds.append(_Second(second, round(begin), self._fed, len(items)))
            self._fed += len(items)
            for place, launch in zip(places, launches):
                free = max(free, place)
                yield free, launch
                free += launch.length(plan.profile)
            second += 1

    def _soon(self) -> int:
        """Ticks that a launch needs to get into the queue."""
        return math.ceil(self._board.tick_hz / 100)

    def _launch(self, what: int | Fraction) -> Launch:
        if isinstance(what, int):
            return frame(what, self.plan.profile.format)
        return Launch("pulse", 0, LAUNCH_PROFILE, max(1, round(what * self._board.tick_hz)))

    def _follow(self, interrupt: Flag) -> Iterator[None]:
        for found in self.run.follow(interrupt):
            self._ready += self._digest(found)
            yield

    def _finish(self) -> None:
        self._ready += [self._result(each) for each in self._seconds]
        self._seconds.clear()

    def _digest(self, found: Iterable[tuple[int, Event]]) -> list[Emitted]:
        """Seconds of which all is known, from (number, Event) of the queue."""
        skipped, self._skipped = self._skipped, []
        over: list[Emitted] = list(skipped)
        for number, event in found:
            while self._seconds and self._seconds[0].first + self._seconds[0].count <= number:
                over.append(self._result(self._seconds.popleft()))  # a record was lost
            second = self._seconds[0]
            if event.kind == "tx":
                second.launched += 1
            else:
                second.reasons.append(event.reason or "unknown")
            if number == second.first + second.count - 1:
                over.append(self._result(self._seconds.popleft()))
        return over

    def _result(self, second: _Second, refused: int | None = None) -> Emitted:
        """What became of a second: its tick in the PC's clock, read again now that it is over."""
        shown = self._board.time_of(max(second.tick, 0), CLOCK)
        before = math.ceil(max(-second.tick, 0) * NANO / self._board.tick_hz)  # a second that began ahead of the board's reset
        wanted = UTC.posix(second.number) * NANO
        return Emitted(
            second.number,
            str(self.plan.scale.civil(second.number)),
            second.tick,
            shown.ns - before,
            shown.ns - before - wanted,
            shown.uncertainty + before // DRIFT,
            second.launched,
            len(second.reasons) if refused is None else refused,
            second.reasons[0] if second.reasons else None,
        )


def quality_of(uncertainty: int) -> int:
    """IRIG's time quality of a bound in ns: n says that the time is right within 10^(n - 10) s."""
    return next((n for n in range(1, 12) if uncertainty <= 10 ** (n - 1)), 15)


def _pulses(encode: Callable[[int, int], list[Change]]) -> Callable[[int, int], Sequence[tuple[Fraction, int | Fraction]]]:
    return lambda second, quality: pulses(encode(second, quality))


def check_code(code: str, baud: Number | str | None) -> None:
    """BadInput if there is no such code, or if it has no bit rate that can be chosen."""
    if code not in CODES:
        raise BadInput(f"code: {shown(code)} is not one of {', '.join(CODES)}")
    if baud is not None and code != "nmea":
        raise BadInput(f"baud: {code} has its own bit rate" if code == "harp" else f"baud: {code} is made of pulses")


def scale_of(of: str, code: str) -> Scale:
    """The scale that a code shows."""
    if check_text(of, "of") not in SCALES:
        raise BadInput(f"of: {shown(of)} is not utc or tai")
    if of != "utc" and code in ("nmea", "dcf77"):
        raise BadInput(f"of: {code} has UTC alone")
    return SCALES[of]


def emit(
    board: Board,
    code: str,
    *,
    start: When | None = None,
    duration: Time | None = None,
    of: str = "utc",
    baud: Number | str | None = None,
    invert: bool = False,
    loopback: bool = False,
    expression: str = "B004",
    layout: str | barcode.Layout = "open-ephys",
    every: Whole = 5,
    delay: Time = nmea.DELAY,
    epoch: Whole = harp.EPOCH,
) -> Emit:
    """Sends 'harp', 'irig-b', 'barcode', 'nmea' or 'dcf77' on the line, by the PC's clock: iterating over it gives each second.

    of: 'utc' or 'tai', what the code shows; start: no launch is before; duration: from there, else until it is stopped
    baud: of nmea; invert: the line rests at the other level; expression: of irig-b; layout, every: of barcode, a barcode
    every so many seconds; delay: of nmea, from the second to the first byte; epoch: of harp, seconds from its zero to 1970
    """
    check_code(code, baud)
    scale, hz = scale_of(of, code), board.tick_hz
    if code == "harp":
        profile = profile_of(board.timescale, harp.BAUD, Format(invert=bool(invert)))
        plan = EmitPlan(code, scale, profile, lambda second, _: harp.encode(second, scale, epoch))
        harp.encode(0, scale, epoch)
    elif code == "nmea":
        late = board.timescale.ticks(to_duration(delay, "delay")) / hz
        profile = profile_of(board.timescale, 9600 if baud is None else baud, Format(invert=bool(invert)))
        rate = to_fraction(profile.bit_period.baud)
        nmea.encode(0, scale, rate, late)
        plan = EmitPlan(code, scale, profile, lambda second, _: nmea.encode(second, scale, rate, late))
    else:
        # The bit rate is of no use to pulses; the line rests at 0, so that they are high.
        profile = profile_of(board.timescale, 9600, Format(invert=not invert))
        if code == "irig-b":
            irig_b.bits(0, scale, expression)
            frames = _pulses(lambda second, quality: irig_b.encode(second, scale, expression, quality))
        elif code == "barcode":
            shape = barcode.layout_of(layout)
            every = within(every, "every", math.floor(shape.length) + 1, 86400)
            frames = _pulses(lambda second, _: [] if scale.posix(second) % every else barcode.encode(second, scale, shape))
        else:
            frames = _pulses(lambda second, _: dcf77.encode(second, scale))
        plan = EmitPlan(code, scale, profile, frames)
    ticks = None if duration is None else math.floor(board.timescale.ticks(to_duration(duration, "duration")))
    first = None if start is None else board.tick_of(start, "start")
    return board.begin(Emit(board, replace(plan, loopback=bool(loopback)), first, ticks))
