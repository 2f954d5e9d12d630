# SPDX-License-Identifier: BSD-2-Clause
"""The entries of a sequence: what each means, where it lies in time, and whether a board carries them. Pure, no device."""

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, cast

from litepulse.backends.interface import LAUNCH_PROFILE, LAUNCH_PROFILES, MARK_PROFILE
from litepulse.errors import BadInput, shown
from litepulse.layout import LMIN_CYCLES, PHY_LATENCY, RESPONSE_MIN_CYCLES, SAMPLES_LATENCY, SEQUENCE_MIN_CYCLES, TIMEOUT_MIN_CYCLES
from litepulse.line import MARK, Launch, Profile, Trigger
from litepulse.plan import FARTHEST_DAYS, Order, Origin, Time, What, When, launch_from, launch_of, mark, place_of
from litepulse.units import Timescale, Whole, si, to_duration, within

GO_ON, STOP = "go on", "stop"  # what a wait may say that happens when it timed out
KEPT = 100_000  # entries that are kept in memory; a longer collection is read again for each pass
PROFILES = LAUNCH_PROFILES  # numbers that entries may name; 1 is that of `baud` and `format`
NO_PROFILE = "code: marks need one of the three line profiles for themselves, and what else is launched has them all"
WAYS = ("rise", "fall", "both")
QUEUE_MIN_CYCLES = 128  # from launch to launch in the queue: LMIN_CYCLES, and the report of the first one; 94 were seen to do
WAIT_LEAST_CYCLES = 256  # of a delay or a timeout in the board: TIMEOUT_MIN_CYCLES, what a PHY adds, and LMIN_CYCLES less than it
BOARD, HOST = "board", "host"  # what waits for an edge
DENSE = 4  # a stretch where the backend is busier than one part in so many is looked at without a pause
_ABSOLUTE, _BEGINNING, _BEFORE = "tick", "beginning", "before"  # Entry.base


@dataclass(frozen=True)
class Step:
    """An entry of a sequence: a launch (one of byte, width, break_bits, code), or a wait for an edge.

    at: its tick, a Moment, or a time since the board's reset as text; a Duration, or text with a + in front, counts from the beginning:
        from `start`, the edge of `on`, or the end of the wait before
    after: instead, its distance from the entry before it: from its tick, or from the end of a wait. The first one counts from the
        beginning, in a later run from the last entry of the run before
    profile: 1, or the number of one of `profiles`
    wait: the channel whose edge ends the wait ('rx' for the line), or an Edge; edge: 'rise' (unless given), 'fall' or 'both'; timeout:
        the wait ends after this time; then: 'stop' (unless given) or 'go on' when it has
    where: how messages name the entry, instead of by its number
    code: what the marker port shows from then on, 0 to 255; it does not use the line
    """

    at: When | None = None
    after: Time | None = None
    byte: Whole | None = None
    width: Time | None = None
    break_bits: Whole | None = None
    profile: Whole | None = None
    wait: Whole | str | Trigger | None = None
    edge: str | None = None
    timeout: Time | None = None
    then: str | None = None
    where: str | None = None
    code: Whole | None = None


SequenceEntry = Step | Mapping[str, Any] | tuple[When, What] | None
_NAMES = {field.name: field.name for field in fields(Step)} | {"break": "break_bits", "tick": "at"}


@dataclass(frozen=True)
class WaitPlan:
    """A wait as the board's channels have it. timeout: ticks; stop: what happens then."""

    channel: int
    rise: bool
    fall: bool
    timeout: int | None
    stop: bool


@dataclass(frozen=True)
class Entry:
    """An entry as the board does it. base, offset: its place, from a tick 0, the beginning, or the entry before; exact."""

    where: str
    base: str
    offset: Fraction
    launch: Launch | None
    wait: WaitPlan | None = None

    @property
    def absolute(self) -> bool:
        """Its tick was given."""
        return self.base == _ABSOLUTE


@dataclass(frozen=True)
class Pace:
    """What a backend carries, in ticks.

    depth: launches that wait in the board; each: for one more of many; look: until room in the queue has been seen;
    reaction: from an edge to the first launch behind it, through the computer; nearest: from a launch to the next one in the queue;
    behind: the same as `reaction` where the board waits, from an edge and from a timeout; None: it has no waits, or they are not wanted
    """

    depth: int
    each: int
    look: int
    reaction: int
    nearest: int
    behind: tuple[int, int] | None = None

    def rate(self, timescale: Timescale) -> Fraction:
        """Entries per second that it carries for any length of time."""
        return timescale.tick_hz / max(self.each, self.nearest)


def nearest(samples: int) -> int:
    """Ticks from a launch in the queue to the next one, at least."""
    return QUEUE_MIN_CYCLES * samples


def soonest(samples: int) -> int:
    """Ticks from the moment at which a launch is queued to its own, at least."""
    return LMIN_CYCLES * samples


def behind(samples: int) -> tuple[int, int]:
    """Ticks from the edge that ends a wait in the board, and from its timeout, to the launch behind it, at least."""
    more = PHY_LATENCY + (SAMPLES_LATENCY if samples > 1 else 0)
    return (SEQUENCE_MIN_CYCLES + more) * samples, (TIMEOUT_MIN_CYCLES + more) * samples


@dataclass(frozen=True)
class Way:
    """How a wait is done: by 'board' or 'host'. why: the board cannot; delay: a delay in the board is before it."""

    by: str
    why: str = ""
    delay: bool = False


class Places:
    """What is before a wait in the board's queue, in ticks from wherever the caller counts: it decides whether the board can wait there."""

    def __init__(self, timescale: Timescale, pace: Pace | None) -> None:
        self._timescale, self._pace = timescale, pace
        self._least = WAIT_LEAST_CYCLES * timescale.samples_per_cycle
        self._before: int | None = None  # the last entry of the queue
        self._free: int | None = None  # when the line is free behind it
        self._mark: int | None = None  # the end of a wait of the computer, with nothing behind it

    def launched(self, tick: int, free: int) -> None:
        """A launch is queued. free: when the line is, behind it."""
        self._before, self._free = tick, free

    def board_waits(self, end: int) -> None:
        """What follows counts from the end of a wait in the board."""
        self._before = self._free = end

    def host_waited(self, end: int) -> None:
        """Nothing is in the queue."""
        self._before, self._mark = None, end

    def between_runs(self) -> int | None:
        """Where the wait for the next run begins: when the line is free, or at the last launch if it is too short for a delay."""
        if self._before is None or self._free is None:
            return None
        return self._free if self._free - self._before >= self._least else self._before

    def way(self, wait: WaitPlan, tick: int) -> Way:
        """Of a wait that begins at a tick."""
        if self._pace is None or self._pace.behind is None:
            return Way(HOST, "it has no waits")
        named, gap = self._timescale.named, None if self._before is None else tick - self._before
        if wait.timeout is not None and wait.timeout < self._least:
            return Way(HOST, f"a timeout there is {named(self._least)} or more")
        if gap is None and self._mark is not None and tick - self._mark < self._pace.reaction:
            return Way(HOST, "it is too near behind a wait of the computer")
        if gap is not None and 0 < gap < self._least:
            return Way(HOST, f"it begins {named(gap)} behind the entry before: there that is 0, or {named(self._least)} or more")
        return Way(BOARD, delay=gap != 0)


class Meaning:
    """Makes entries of what a program gives: a Step, a mapping with the names of its fields, or a pair (at, what) as launches() takes it.

    channel: the number of a channel by its name; timeout: of waits that have none of their own; check_marks: raises if the board has no
    marker port
    """

    def __init__(
        self,
        timescale: Timescale,
        profiles: Mapping[int, Profile],
        channel: Callable[[Whole | str], int],
        timeout: Time | None = None,
        check_marks: Callable[[], None] = lambda: None,
    ) -> None:
        self._timescale, self._profiles, self._channel, self._check_marks = timescale, profiles, channel, check_marks
        self._timeout = None if timeout is None else self._ticks(timeout, "timeout")

    def entries(self, given: Iterable[SequenceEntry]) -> Iterator[Entry | None]:
        """Of all of them. BadInput names the one that is wrong."""
        number = 0
        for one in given:
            yield None if one is None else self.entry(one, number)
            number += one is not None

    def entry(self, given: SequenceEntry, number: int) -> Entry:
        """Of one of them."""
        where = (given.where if isinstance(given, Step) else None) or f"entry {number}"
        try:
            if isinstance(given, Step):
                return self._of_step(given, where)
            if isinstance(given, Mapping):
                return self._of_step(step_of(given), where)
            try:
                at, what = cast("tuple[When, What]", given)
            except (TypeError, ValueError):
                raise BadInput(f"{shown(given)} is not a Step, a mapping, or a pair (at, what)") from None
            launch = launch_from(self._timescale, what, self._profiles[LAUNCH_PROFILE].format)
            return Entry(where, *self._place(at, None, False), self._mark(launch) if launch.kind == MARK else launch)
        except BadInput as error:
            raise BadInput(f"{where}: {error}") from None

    def wait_of(self, channel: Whole | str | Trigger, edge: str | None, timeout: Time | None, then: str | None) -> WaitPlan:
        """A wait for an edge."""
        if isinstance(channel, Trigger):
            if channel.kind != "edge" or edge is not None:
                raise BadInput(f"wait: {channel} is not an edge" if edge is None else "edge: the Edge of wait says it already")
            number, rise, fall = self._channel("rx" if channel.channel == -1 else channel.channel), channel.rise, channel.fall
        else:
            if edge not in (None, *WAYS):
                raise BadInput(f"edge: {shown(edge)} is not rise, fall or both")
            try:
                number, rise, fall = self._channel(channel), edge != "fall", edge in ("fall", "both")
            except BadInput as error:
                raise BadInput(str(error).replace("inputs: ", "wait: ")) from None
        if then not in (None, GO_ON, STOP):
            raise BadInput(f"then: {shown(then)} is not '{GO_ON}' or '{STOP}'")
        ticks = self._timeout if timeout is None else self._ticks(timeout, "timeout")
        if then is not None and ticks is None:
            raise BadInput(f"then: '{then}' says what happens after a timeout: give one, too")
        return WaitPlan(number, rise, fall, ticks, then != GO_ON)

    def _ticks(self, time: Time, what: str) -> int:
        return self._timescale.whole_ticks(time, what, 1, self._farthest)

    @property
    def _farthest(self) -> int:
        return math.floor(FARTHEST_DAYS * 86400 * self._timescale.tick_hz)

    def _of_step(self, step: Step, where: str) -> Entry:
        if sum(each is not None for each in (step.byte, step.width, step.break_bits, step.code, step.wait)) != 1:
            raise BadInput("give one of byte, width, break, code and wait")
        base, offset = self._place(step.at, step.after, step.wait is not None)
        if step.wait is not None:
            if step.profile is not None:
                raise BadInput("profile: a wait has none")
            return Entry(where, base, offset, None, self.wait_of(step.wait, step.edge, step.timeout, step.then))
        for name in ("edge", "timeout", "then"):
            if getattr(step, name) is not None:
                raise BadInput(f"{name}: only a wait has it")
        if step.code is not None:
            if step.profile is not None:
                raise BadInput("profile: a code has none")
            return Entry(where, base, offset, self._mark(mark(step.code)))
        number = LAUNCH_PROFILE if step.profile is None else within(step.profile, "profile", PROFILES[0], PROFILES[-1])
        if number not in self._profiles:
            raise BadInput(f"profile: no profile {number} is given")
        launch = launch_of(self._timescale, step.byte, step.width, step.break_bits, self._profiles[number].format)
        return Entry(where, base, offset, replace(launch, profile=number))

    def _mark(self, launch: Launch) -> Launch:
        """The same, which is a mark, if the board can show it."""
        self._check_marks()
        if MARK_PROFILE not in self._profiles:
            raise BadInput(NO_PROFILE)
        return launch

    def _place(self, at: When | None, after: Time | None, is_wait: bool) -> tuple[str, Fraction]:
        """(base, offset) of an entry."""
        if at is not None and after is not None:
            raise BadInput("give one of at and after")
        if at is not None:
            relative, offset = place_of(self._timescale, at, "at")
            base, what = _BEGINNING if relative else _ABSOLUTE, "at"
        elif after is not None or is_wait:
            base, what = _BEFORE, "after"
            offset = Fraction(0) if after is None else self._timescale.ticks(to_duration(after, "after"))
        else:
            raise BadInput("give at or after: when it leaves")
        if base != _ABSOLUTE and offset > self._farthest:
            raise BadInput(f"{what}: {si(self._timescale.seconds(offset), 's')} is more than {FARTHEST_DAYS} days")
        if not 0 <= offset < 1 << 63:
            raise BadInput(f"{what}: tick {math.floor(offset)} is out of range")
        return base, offset


def step_of(given: Mapping[str, Any]) -> Step:
    """The Step of a mapping with the names of its fields, `break` for break_bits and `tick` for a tick as `at`."""
    values: dict[str, Any] = {}
    for key, value in given.items():
        name = _NAMES.get(key) if isinstance(cast(object, key), str) else None
        if name is None:
            raise BadInput(f"{shown(key)} is not one of {', '.join(NAMES)}")
        if value is None:
            continue
        if name in values:
            raise BadInput(f"{key}: it is given twice")
        if key == "tick":
            value = within(value, "tick", 0, (1 << 63) - 1)
        values[name] = value
    return Step(**values)


NAMES = ("at", "tick", "after", "byte", "width", "break", "code", "profile", "wait", "edge", "timeout", "then")  # of mappings, and columns


class Course:
    """Where entries lie: exact, and rounded down to a tick only at the end, so that nothing adds up."""

    def __init__(self) -> None:
        self._beginning = self._place = Fraction(0)
        self.absolute = True  # ticks may be given: neither a trigger nor a wait lies before them
        self.origin: Origin | None = None  # of the place of the last entry, None: it is a tick of the board
        self._origin: Origin | None = None  # the same of the beginning

    def begin(self, tick: int, absolute: bool = False, origin: Origin | None = None) -> None:
        """What follows counts from here. origin: None if that is a tick of the board."""
        self._beginning = self._place = Fraction(tick)
        self.absolute = absolute
        self.origin = self._origin = origin

    def again(self) -> None:
        """Another run, behind the last entry of the one before."""
        self._beginning, self.absolute = self._place, False
        self._origin = self.origin

    def place(self, entry: Entry) -> int:
        """The tick of the next entry."""
        if entry.base == _BEFORE:
            self._place += entry.offset
        elif entry.base == _BEGINNING:
            self._place, self.origin = self._beginning + entry.offset, self._origin
        elif self.absolute:
            self._place, self.origin = entry.offset, None
        else:
            raise BadInput(
                f"{entry.where}: its tick cannot be known in advance behind a wait, a trigger or another run: give after, or at with a +"
            )
        return math.floor(self._place)


class Admission:
    """Looks at entries one after the other, and refuses with BadInput what the line or the backend cannot carry.

    The model: `depth` launches wait in the board. The next one finds room when the first has left, at the next look, and each takes its
    time on the way. Behind a wait the queue is empty.
    """

    def __init__(self, timescale: Timescale, profiles: Mapping[int, Profile], pace: Pace | None, name: str = "the board") -> None:
        """pace: None while it is not known; then only the line counts."""
        self._timescale, self._pace, self._name = timescale, pace, name
        self.order = Order(profiles[LAUNCH_PROFILE], profiles)
        self._ticks: deque[int] = deque(maxlen=1 if pace is None else pace.depth)  # of those that may wait in the board
        self._last: int | None = None
        self._done: int | None = None  # when the last one has arrived in the board
        self._mark: int | None = None  # the end of the wait, while no launch is behind it
        self._least = 0  # ticks behind it, if the board waits; 0: the computer does
        self._ready: int | None = None  # when the first one can be queued, until one had to wait for room
        self._since: tuple[int, int] = (0, 0)  # (number of launches, tick) at the beginning of the stretch without a pause
        self._count = 0
        self.dense_until = 0  # the last tick of a stretch that keeps the backend busy
        self._recent: deque[int] = deque(maxlen=32)

    def begin(self, mark: int | None, ready: int | None = None) -> None:
        """Nothing waits in the board. mark: the end of a wait; ready: from when on launches can be queued, None: long before the first."""
        self._ticks.clear()
        self._mark, self._done, self._ready, self._least = mark, ready, ready, 0
        self._since = (self._count, ready or 0)
        if mark is not None and self._pace is not None:
            self._done = mark + self._pace.reaction - self._pace.each
            self._since = (self._count, mark)

    def wait(self, where: str, tick: int, way: Way, timeout: bool) -> int:
        """A wait in the board that begins at a tick. When it ends, at the earliest. timeout: what is behind it may count from that."""
        pace = self._pace
        assert pace is not None and pace.behind is not None
        for _ in range(1 + way.delay):
            self._check_arrival(where, tick, pace)
        self._mark, self._least, self._last = max(tick, self.order.free or 0), pace.behind[timeout], None
        return self._mark

    def check(self, where: str, tick: int, launch: Launch, origin: Origin | None) -> None:
        """The next launch. origin: see Course."""
        if self._pace is not None:
            self._check_pace(where, tick, self._pace)
        self.order.check(where, tick, launch, origin)
        self._last, self._mark = tick, None

    def _check_pace(self, where: str, tick: int, pace: Pace) -> None:
        named = self._timescale.named
        if self._last is not None and self._last <= tick < self._last + pace.nearest:
            distance = named(tick - self._last)
            raise BadInput(f"{where}: {distance} behind the one before is too near: launches of the queue need {named(pace.nearest)}")
        least = self._least or pace.reaction
        if self._mark is not None and tick < self._mark + least:
            fastest, samples = si(Fraction(RESPONSE_MIN_CYCLES) / self._timescale.clock_hz, "s"), self._timescale.samples_per_cycle
            how = "in the board" if self._least else "through the computer"
            better = "" if pace.behind else f"a board with waits does it from {named(behind(samples)[0])} on, "
            raise BadInput(
                f"{where}: {named(tick - self._mark)} behind a wait is too near: {how} it takes {named(least)}; {better}"
                f"`respond` answers an edge from {fastest} on, also with a burst"
            )
        self._check_arrival(where, tick, pace)
        self._note_density(tick, pace)

    def _check_arrival(self, where: str, tick: int, pace: Pace) -> None:
        """The next entry of the queue has arrived in the board by this tick."""
        if len(self._ticks) == pace.depth:
            room = self._ticks[0] + pace.look
            if self._done is None or room >= self._done:
                self._done, self._since, self._ready = room, (self._count - pace.depth, self._ticks[0]), None
        if self._done is not None:
            self._done += pace.each
            if self._done > tick:
                self._refuse(where, tick, pace)
        self._count += 1
        self._ticks.append(tick)

    def _note_density(self, tick: int, pace: Pace) -> None:
        if len(self._recent) == self._recent.maxlen and tick - self._recent[0] < DENSE * len(self._recent) * pace.each:
            self.dense_until = tick
        self._recent.append(tick)

    def _refuse(self, where: str, tick: int, pace: Pace) -> None:
        number, begun = self._since
        count, rate = self._count - number + 1, math.floor(pace.rate(self._timescale))
        named = self._timescale.named
        if self._ready is not None:
            late = named(self._done - tick if self._done is not None else 0)
            raise BadInput(
                f"{where}: too soon: to queue all up to it takes {late} longer: begin later, or leave the beginning to the board"
            )
        raise BadInput(
            f"{where}: too dense: {count} entries within {named(max(0, tick - begun))}; {pace.depth} wait in {self._name}, "
            f"which is refilled within {named(pace.look)} and then at {rate} entries a second"
        )


@dataclass(frozen=True)
class SequencePlan:
    """A sequence as the board does it. Everything that can be checked without the board has been.

    entries: of one run, called for each; finite: they are all known, so that they are checked before the first leaves
    profiles: by number, of launches that entries may name; numbers: of those that are set on the board
    channels: whose edges are recorded: (rising, falling) masks; on: what begins each run; repeat: runs, 0: without
    end; start: the beginning, None: soon; seconds: that Python takes for an entry; waits: what waits, None: the board where it can
    mark_width: ticks for which each mark lasts, 0: until the next one, None: as before
    """

    entries: Callable[[], Iterable[Entry | None]]
    finite: bool
    profiles: Mapping[int, Profile]
    channels: tuple[int, int]
    on: WaitPlan | None = None
    repeat: int = 1
    start: int | None = None
    loopback: bool = False
    seconds: float = 0.0
    waits: str | None = None
    numbers: frozenset[int] = frozenset({LAUNCH_PROFILE})
    mark_width: int | None = None

    @property
    def marks_alone(self) -> bool:
        """All launches are marks: the line is not used."""
        return self.numbers == frozenset({MARK_PROFILE})


def in_run(where: str, run: int) -> str:
    """An entry, for messages: 'entry 3', 'entry 3 in run 2 of repeat'. run: from 0 on."""
    return f"{where} in run {run + 1} of repeat" if run else where


def refuse_host(plan: SequencePlan, where: str, way: Way) -> None:
    """BadInput if the board is to wait, and cannot."""
    if plan.waits == BOARD and way.by == HOST:
        raise BadInput(f"{where}: the board cannot wait here: {way.why}; leave out waits, and the computer does")


def check(plan: SequencePlan, timescale: Timescale, pace: Pace | None, name: str = "the board") -> int:
    """Looks at all entries of a finite plan: BadInput if one of them cannot be. How many there are in a run."""
    admission, course, places = Admission(timescale, plan.profiles, pace, name), Course(), Places(timescale, pace)
    course.begin(plan.start or 0, plan.repeat == 1, None if plan.start is not None else Origin(timescale))

    def wait(one: WaitPlan, tick: int, where: str) -> None:
        """The edge comes at once, at the worst."""
        way = places.way(one, tick)
        if way.by == BOARD:
            mark = admission.wait(where, tick, way, one.timeout is not None and not one.stop)
            places.board_waits(mark)
        else:
            if pace is not None:
                refuse_host(plan, where, way)
            mark = max(tick, admission.order.free or 0) if pace is None and plan.waits != HOST else tick
            admission.begin(mark)
            places.host_waited(mark)
        course.begin(mark, origin=Origin(timescale, mark, "the end of the wait before" if where != "on" else "the edge of on"))

    run, launches, count, most = 0, 0, 0, 4 * (pace.depth if pace else 1)
    while not plan.repeat or run < plan.repeat:
        if run:
            course.again()
        if plan.on:
            began = places.between_runs()
            wait(plan.on, max(plan.start or 0, admission.order.free or 0) if began is None else began, "on")
        for entry in plan.entries():
            assert entry is not None
            count += not run
            tick = course.place(entry)
            if entry.launch is not None:
                admission.check(in_run(entry.where, run), tick, entry.launch, course.origin)
                places.launched(tick, admission.order.free or tick)
                launches += 1
            elif entry.wait is not None:
                wait(entry.wait, tick, in_run(entry.where, run))
        run += 1
        if not launches or (run >= 3 and launches >= most):
            break  # what follows is as what was
    return count


def masks(waits: Iterable[WaitPlan | None]) -> tuple[int, int]:
    """(rising, falling) of the channels that are waited for."""
    rise = fall = 0
    for wait in waits:
        if wait is not None:
            rise |= wait.rise << wait.channel
            fall |= wait.fall << wait.channel
    return rise, fall


def used_by(entries: Iterable[Entry | None]) -> tuple[set[WaitPlan], frozenset[int]]:
    """(the waits, the numbers of the profiles) that entries have."""
    waits: set[WaitPlan] = set()
    numbers: set[int] = set()
    for entry in entries:
        if entry is not None and entry.wait is not None:
            waits.add(entry.wait)
        elif entry is not None and entry.launch is not None:
            numbers.add(entry.launch.profile)
    return waits, frozenset(numbers)


def sized(entries: object) -> int:
    """How many of them a collection has."""
    return len(cast(Sized, entries))
