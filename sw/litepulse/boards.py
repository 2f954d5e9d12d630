# SPDX-License-Identifier: BSD-2-Clause
"""Several boards as one: what is launched on all of them leaves at one moment of a clock, or on none."""

import contextlib
import math
from collections.abc import Callable, Generator, Iterable, Mapping
from collections.abc import Sequence as Listed
from dataclasses import dataclass
from fractions import Fraction
from types import TracebackType
from typing import Any, NamedTuple, NoReturn, Self, cast, overload

from litepulse.alignment import Alignment
from litepulse.board import Board, open, open_named
from litepulse.capture import EdgeEvent
from litepulse.codes.scale import UTC
from litepulse.discipline import Disciplined
from litepulse.errors import BadInput, LitePulseError, Refused, check_text, shown
from litepulse.job import Job
from litepulse.job_group import PATIENCE_SECONDS, JobGroup, JobType, close_all
from litepulse.launch import Outcome, Send
from litepulse.line import Format, Launch
from litepulse.named_time import NamedTime, next_of
from litepulse.plan import Time, What, When, launch_of, line_format, mark, named_of
from litepulse.reference import FedSeconds, HostSeconds, PpsSeconds, Seconds, UtcSeconds, seconds_of, wait_until
from litepulse.sequence import Sequence
from litepulse.sequence_plan import SequenceEntry
from litepulse.train import Train
from litepulse.units import NANO, Number, Whole, within

_PULSES_SECONDS = 5  # in which a pulse per second must have been seen three times
_LOOKS = 120  # that it takes to set a board up, at most; each as long as it takes to read the time
_SEQUENCE_LOOKS = 400  # the same where the board's pace is measured before
_REST = Fraction(1, 20)  # seconds more
Name = str | Mapping[str, Any] | Board


@dataclass(frozen=True)
class CommonMoment:
    """One moment on all boards.

    ticks: of each board, in their order
    uncertainty: by how many ns it may be away from the moment that was meant, on the board where that is most; 0 if all share their
    ticks and it was given in these
    apart: by how many ns it may differ between two of the boards; 0 if all share their ticks
    """

    ticks: tuple[int, ...]
    uncertainty: int
    apart: int


class Launched(NamedTuple):
    """What became of a launch on all boards, and when that was."""

    outcomes: tuple[Outcome, ...]
    moment: CommonMoment


def open_all(*ports: Name, shared: bool | None = None, **options: Any) -> "Boards":
    """Several boards, in this order: all are opened, or none.

    ports: each a board by one word, as "/dev/litepulse0", "port:/dev/ttyUSB1", "port:tcp:host:port", "sim"; or a mapping with arguments
        of open(), as {"port": "/dev/ttyUSB1", "csr": "csr.csv", "core": "pulse1"}; or a board that is open
    shared: False if lines of one chip do not leave a reset together, so that each has ticks of its own; None: they do
    options: further arguments of open(), for all of them
    """
    if not ports:
        raise BadInput("ports: name the boards: '/dev/litepulse0', 'port:/dev/ttyUSB1'")
    boards: list[Board] = []
    try:
        for port in ports:
            if isinstance(port, Board):
                boards.append(port)
            elif isinstance(port, Mapping):
                boards.append(open(**{**options, **port}))
            else:
                boards.append(open_named(check_text(port, "ports"), **options))
        return Boards(boards, shared)
    except BaseException:
        close_all(boards)
        raise


class Together(JobGroup[JobType, tuple[int, Any]]):
    """Jobs of the same kind on all boards. Iterating over it gives (number of the board, what happened there), as it comes.

    jobs: one for each board; moment: when they begin. What cannot go on on one board ends on all, with an error that names the board.
    """

    def __init__(self, boards: "Boards", jobs: Listed[JobType], moment: CommonMoment) -> None:
        super().__init__(jobs, boards.fail)
        self.moment = moment
        self._ready: list[tuple[int, Any]] = []

    def poll(self) -> list[tuple[int, Any]]:
        """What has come on all boards since the last look; does not wait."""
        for number, job in enumerate(self.jobs):
            self._take(number, job.poll)
        if self.interrupted:
            self.stop()
        found, self._ready = self._ready, []
        return found

    def _keep(self, number: int, items: Listed[Any]) -> None:
        for item in items:
            if isinstance(item, Outcome) and item.reason is not None:
                raise Refused(f"the launch at tick {item.wanted} was refused: {item.reason}", item.reason, item.wanted)
            self._ready.append((number, item))


class Boards(Listed[Board]):
    """Several boards, in order. Use it as a context: leaving it closes all of them.

    Where one moment is given for all (`at`, `start`), it is soon, a time of a clock ("utc:12:00:00", "pps:0:12:00:00"), or a tick, a
    Moment or a time from now (ms(500)) of the board `of`, the first one. `clock`: in which it is found on the other boards: 'utc', or
    'pps:0' for a pulse per second at input 0 of each.
    """

    def __init__(self, boards: Iterable[Board], shared: bool | None = None) -> None:
        """shared: see open_all()."""
        self.boards = tuple(boards)
        if not self.boards or not all(isinstance(cast(object, board), Board) for board in self.boards):
            raise BadInput("boards: they are a list of boards")
        self._leaders = list(range(len(self.boards)))  # of each board the first one that has its ticks
        for number, board in enumerate(self.boards):
            same = (other for other in range(number) if shared is not False and self._share(self.boards[other], board))
            self._leaders[number] = self._leaders[next(same, number)]

    @staticmethod
    def _share(first: Board, second: Board) -> bool:
        """Whether a tick is the same moment on both: they are lines of one chip, and have been reset together."""
        chip = first.identity.chip
        if chip is None or chip != second.identity.chip or first.tick_hz != second.tick_hz:
            return False
        before, between, after = first.now(), second.now(), first.now()
        return before <= between <= after

    @overload
    def __getitem__(self, index: int) -> Board: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Board, ...]: ...
    def __getitem__(self, index: int | slice) -> Board | tuple[Board, ...]:
        return self.boards[index]

    def __len__(self) -> int:
        return len(self.boards)

    @property
    def shared(self) -> bool:
        """All share their ticks: they are lines of one chip."""
        return not any(self._leaders)

    def name(self, number: int) -> str:
        """What to call one of them in a message."""
        names = [board.name for board in self.boards]
        return names[number] if names.count(names[number]) == 1 else f"board {number}, {names[number]}"

    def fail(self, number: int, error: LitePulseError, more: str = "") -> NoReturn:
        """Raises an error of one board with its name in front."""
        text, name = str(error), self.name(number)
        error.args = ((text if text.startswith(f"{name}: ") else f"{name}: {text}") + more,)
        raise error

    @contextlib.contextmanager
    def _naming(self, number: int) -> Generator[None]:
        try:
            yield
        except LitePulseError as error:
            self.fail(number, error)

    # One moment

    def moment(self, at: When | None = None, *, clock: str = "utc", of: Whole = 0) -> CommonMoment:
        """Where one moment is on all boards, and how surely; None: soon, with time enough to set all of them up."""
        return self._moment(at, clock, of, _LOOKS, "at")

    def _moment(self, at: When | None, clock: str, of: Whole, looks: int, what: str) -> CommonMoment:
        of = within(of, "of", 0, len(self.boards) - 1)
        pulses = self._clock(clock)
        named = None if at is None else named_of(at, what)
        if named is not None and named.channel is not None:
            pulses = named.channel
        lead = self._lead(looks)
        if named is None and self.shared:
            board = self.boards[of]
            with self._naming(of):
                tick = board.now().tick + math.ceil(lead * board.tick_hz) if at is None else board.tick_of(at, what)
            return CommonMoment((tick,) * len(self.boards), 0, 0)
        if named is not None and named.comes_in and named.channel is None:
            raise BadInput(f"{what}: a time of {named.clock} is for one board; a train on several may follow that clock")
        if pulses is not None:
            return self._by_pulses(at, named, pulses, of, lead, what)
        if named is not None:
            return self._by_name(named, lead, what)
        return self._by_tick(at, of, lead, what)

    def _clock(self, clock: str) -> int | None:
        """The input whose pulses are meant; None for UTC."""
        if check_text(clock, "clock") == "utc":
            return None
        channel = None
        for number, board in enumerate(self.boards):
            with self._naming(number):
                seconds = seconds_of(board, clock)
                if not isinstance(seconds, PpsSeconds):
                    raise BadInput(f"clock: '{clock}' finds no moment on several boards: utc or pps:0 does")
                channel = seconds.channel
        return channel

    def _lead(self, looks: int) -> Fraction:
        """Seconds that it takes to set all of them up."""
        total = _REST
        for number, board in enumerate(self.boards):
            with self._naming(number):
                ticks = [board.now().tick for _ in range(5)]  # the slowest counts: the PC may be busy
                slowest = max(after - before for before, after in zip(ticks, ticks[1:]))
                total += looks * board.timescale.seconds(slowest) + board.backend.queue.seconds(board.identity.launch_depth)
        return total

    def _found(self, where: Mapping[int, tuple[Fraction, int]]) -> CommonMoment:
        """From (tick, uncertainty in ns) of each board that others share their ticks with."""
        ticks: dict[int, int] = {}
        sure: dict[int, int] = {}
        for number, (tick, uncertainty) in where.items():
            ticks[number] = math.floor(tick)
            sure[number] = uncertainty + (0 if tick == ticks[number] else math.ceil(self.boards[number].timescale.ns(1)))
        worst = sorted(sure.values())
        return CommonMoment(tuple(ticks[leader] for leader in self._leaders), worst[-1], sum(worst[-2:]) if len(worst) > 1 else 0)

    def _groups(self) -> list[int]:
        """A board of each chip."""
        return sorted(set(self._leaders))

    def _by_tick(self, at: When | None, of: int, lead: Fraction, what: str) -> CommonMoment:
        """Soon, or a tick of one board; the others by the clock of the PC that nobody sets."""
        where: dict[int, tuple[Fraction, int]] = {}
        if at is None:
            ns = max(board.time_of(board.now(), "monotonic").ns for board in self.boards) + math.ceil(lead * NANO)
            meant = 0
        else:
            of = self._leaders[of]
            board = self.boards[of]
            with self._naming(of):
                tick = board.tick_of(at, what)
                self._await(lambda: board.timescale.seconds(tick - board.now().tick), lead, what)
                ns, meant = board.time_of(tick, "monotonic").ns, board.time_of(tick, "monotonic").uncertainty
            where[of] = Fraction(tick), 0
        for number in self._groups():
            if number not in where:
                with self._naming(number):
                    found = self.boards[number].tick_at(ns, "monotonic")
                where[number] = found.tick, found.uncertainty + meant
        return self._found(where)

    def _by_name(self, named: NamedTime, lead: Fraction, what: str) -> CommonMoment:
        """A time of a clock of the PC."""
        first = self.boards[0]
        name = named.clock if named.counts else "realtime"

        def now() -> Fraction:
            shown = Fraction(first.time_of(first.now(), name).ns, NANO)
            return shown if named.counts else UTC.of_posix(math.floor(shown)) + shown % 1

        with self._naming(0):
            wanted = next_of(named, Fraction(0) if named.counts else now())
            self._await(lambda: wanted - now(), lead, what)
            # A leap second in between is not on the clock yet.
            ns = wanted if named.counts else wanted - UTC.offset(math.floor(now()))
        where: dict[int, tuple[Fraction, int]] = {}
        for number in self._groups():
            with self._naming(number):
                found = self.boards[number].tick_at(ns * NANO, name)
                where[number] = found.tick, found.uncertainty
        return self._found(where)

    def _await(self, left: Callable[[], Fraction], lead: Fraction, what: str) -> None:
        """Until `lead` before a moment: the nearer it is, the better it is known where it is."""
        wait_until(left, lead, any(board.simulated for board in self.boards), what)

    def _by_pulses(self, at: When | None, named: NamedTime | None, channel: int, of: int, lead: Fraction, what: str) -> CommonMoment:
        """By the edges of a pulse per second that comes in at all boards."""
        near = lead + _PULSES_SECONDS
        second: Fraction | None = None
        tick = 0
        if named is not None:
            utc = UtcSeconds(self.boards[0])
            with self._naming(0):
                second = next_of(named, utc.second_of(utc.look()))
                wanted = second
                self._await(lambda: wanted - utc.second_of(utc.look()), near, what)
        elif at is not None:
            board = self.boards[of]
            with self._naming(of):
                tick = board.tick_of(at, what)
                self._await(lambda: board.timescale.seconds(tick - board.now().tick), near, what)

        def wanted_of(seconds: list[PpsSeconds]) -> Fraction:
            if second is not None:
                return second
            return seconds[of].second_of(tick) if at is not None else Fraction(math.ceil(shown(seconds) + lead))

        def shown(seconds: list[PpsSeconds]) -> Fraction:
            return seconds[0].second_of(self.boards[0].now().tick)

        soon = at is None
        seconds = self._pulses(channel, lambda found: soon or wanted_of(found) - shown(found) <= lead + 1)
        wanted = wanted_of(seconds)
        where: dict[int, tuple[Fraction, int]] = {}
        for number in self._groups():
            ahead = seconds[number].since(wanted)
            where[number] = seconds[number].tick_of(wanted), seconds[number].uncertainty + seconds[number].wander(ahead)
        return self._found(where)

    def _pulses(self, channel: int, enough: Callable[[list[PpsSeconds]], bool]) -> list[PpsSeconds]:
        """Where seconds are on each board, from three edges or more."""
        seconds = [PpsSeconds(board, channel) for board in self.boards]
        captures: list[Job[Any]] = []
        try:
            for number, board in enumerate(self.boards):
                with self._naming(number):
                    seconds[number].look()
                    captures.append(board.capture([channel], edges="rise", duration=f"{2 * _PULSES_SECONDS}s"))
            while not (all(each.ready for each in seconds) and (enough(seconds) or any(each.over for each in captures))):
                for number, capture in enumerate(captures):
                    with self._naming(number):
                        edge = capture.recv(PATIENCE_SECONDS / len(captures))
                        if isinstance(edge, EdgeEvent) and edge.level:
                            seconds[number].feed(edge.tick)
                        if capture.interrupted:
                            raise KeyboardInterrupt
                        if capture.over and not seconds[number].ready:
                            raise LitePulseError(f"{seconds[number].name} do not come in, a second apart")
        finally:
            close_all(captures)
        return seconds

    # On all of them

    def _begin(
        self, begin: Callable[[Board, int], JobType], at: When | None, clock: str, of: Whole, what: str, looks: int = _LOOKS
    ) -> Together[JobType]:
        """A job on each at one moment. If one cannot begin, none does."""
        moment = self._moment(at, clock, of, looks, what)
        jobs: list[JobType] = []
        try:
            for number, (board, tick) in enumerate(zip(self.boards, moment.ticks)):
                with self._naming(number):
                    jobs.append(begin(board, tick))
        except BaseException:
            close_all(jobs)
            raise
        return Together(self, jobs, moment)

    def launch(
        self,
        at: When | None = None,
        *,
        byte: Whole | None = None,
        width: Time | None = None,
        break_bits: Whole | None = None,
        clock: str = "utc",
        of: Whole = 0,
        baud: Number | str = 9600,
        format: Format | str = "8N1",
        invert: bool = False,
        loopback: bool = False,
    ) -> Launched:
        """Puts one thing on the line of each board at one moment, and returns when all have left.

        If one board cannot, what waits on the others is taken back, and Refused names the board.
        """
        fmt = line_format(format, invert)
        launches = [launch_of(board.timescale, byte, width, break_bits, fmt) for board in self.boards]
        return self._launch_one(launches, at, clock, of, baud, fmt, bool(loopback))

    def mark(self, code: Whole, at: When | None = None, *, width: Time | None = None, clock: str = "utc", of: Whole = 0) -> Launched:
        """Shows a code on the marker port of each board from one moment on; see Board.mark()."""
        launch = mark(code)
        for number, board in enumerate(self.boards):
            with self._naming(number):
                board.set_marks(width)
        return self._launch_one([launch] * len(self.boards), at, clock, of, 9600, Format(), False)

    def _launch_one(
        self, launches: Listed[Launch], at: When | None, clock: str, of: Whole, baud: Number | str, fmt: Format, loopback: bool
    ) -> Launched:
        what = {id(board): launch for board, launch in zip(self.boards, launches)}

        def begin(board: Board, tick: int) -> Send:
            return board.launches([("+0us", what[id(board)])], start=tick, baud=baud, format=fmt, loopback=loopback)

        outcomes: dict[int, Outcome] = {}
        with self._begin(begin, at, clock, of, "at") as sending:
            try:
                outcomes |= dict(sending)
            except Refused as error:
                left = [self.name(number) for number, job in enumerate(sending.jobs) if job.run.launched]
                error.args = (f"{error}; it had left on {', '.join(left)}" if left else str(error),)
                raise
            if sending.interrupted:
                raise KeyboardInterrupt
        for number in range(len(self.boards)):
            if number not in outcomes:
                self.fail(number, LitePulseError("the board did not say what became of the launch"))
        return Launched(tuple(outcomes[number] for number in range(len(self.boards))), sending.moment)

    def send(
        self,
        data: Iterable[Whole],
        at: When | None = None,
        *,
        every: Time | None = None,
        clock: str = "utc",
        of: Whole = 0,
        baud: Number | str = 9600,
        format: Format | str = "8N1",
        invert: bool = False,
        loopback: bool = False,
    ) -> Together[Send]:
        """The same bytes on all boards, the first at one moment; see Board.send()."""
        given = list(data) if isinstance(data, bytes | bytearray) else self._listed(data, "data")

        def begin(board: Board, tick: int) -> Send:
            return board.send(given, tick, every=every, baud=baud, format=format, invert=invert, loopback=loopback)

        return self._begin(begin, at, clock, of, "at")

    def launches(
        self,
        series: Iterable[tuple[When, What]],
        *,
        start: When | None = None,
        clock: str = "utc",
        of: Whole = 0,
        baud: Number | str = 9600,
        format: Format | str = "8N1",
        invert: bool = False,
        loopback: bool = False,
    ) -> Together[Send]:
        """The same series on all boards, from one moment on; see Board.launches(). Its times count from `start`."""
        given = self._listed(series, "series")

        def begin(board: Board, tick: int) -> Send:
            return board.launches(given, start=tick, baud=baud, format=format, invert=invert, loopback=loopback)

        return self._begin(begin, start, clock, of, "start")

    def sequence(
        self,
        entries: Iterable[SequenceEntry],
        *,
        start: When | None = None,
        clock: str = "utc",
        of: Whole = 0,
        timeout: Time | None = None,
        repeat: Whole = 1,
        profiles: Mapping[int, tuple[Number | str, Format | str]] | None = None,
        waits: str | None = None,
        mark_width: Time | None = None,
        baud: Number | str = 9600,
        format: Format | str = "8N1",
        invert: bool = False,
        loopback: bool = False,
    ) -> Together[Sequence]:
        """The same sequence on all boards, from one moment on; see Board.sequence(). Each waits for edges of its own inputs."""
        given = self._listed(entries, "entries")

        def begin(board: Board, tick: int) -> Sequence:
            return board.sequence(
                given,
                start=tick,
                timeout=timeout,
                repeat=repeat,
                profiles=profiles,
                waits=waits,
                mark_width=mark_width,
                baud=baud,
                format=format,
                invert=invert,
                loopback=loopback,
            )

        return self._begin(begin, start, clock, of, "start", _SEQUENCE_LOOKS)

    @staticmethod
    def _listed(given: object, what: str) -> Listed[Any]:
        """A list, which all boards can have."""
        if isinstance(given, str | bytes) or not isinstance(given, Listed):
            raise BadInput(f"{what}: {shown(given)} is not a list, which is what several boards can have")
        return cast("Listed[Any]", given)

    def train(
        self,
        rate: Number | str | None = None,
        *,
        start: When | None = None,
        clock: str | None = None,
        follow_steps: bool = False,
        of: Whole = 0,
        period: Time | None = None,
        byte: Whole | None = None,
        width: Time | None = None,
        break_bits: Whole | None = None,
        count: Whole = 0,
        baud: Number | str = 9600,
        format: Format | str = "8N1",
        invert: bool = False,
        loopback: bool = False,
        limit: Whole | None = None,
    ) -> Together[Train]:
        """The same train on all boards, pulse 0 at one moment; see Board.train().

        clock: the train of each board follows it as long as the job runs, so that they stay together; None: they begin together, and
        the crystals do the rest
        """

        def job(board: Board, start: When | None) -> Train:
            return board.train_to_begin(
                rate,
                period=period,
                byte=byte,
                width=width,
                break_bits=break_bits,
                count=count,
                start=start,
                baud=baud,
                format=format,
                invert=invert,
                loopback=loopback,
                limit=limit,
                clock=clock,
                follow_steps=follow_steps,
            )

        if clock is None:
            return self._begin(lambda board, tick: board.begin(job(board, tick)), start, "utc", of, "start")
        if clock == "phc":
            raise BadInput("clock: 'phc' is another clock on each board: phc:0, /dev/ptp0, is one for all")
        seconds = [seconds_of(board, check_text(clock, "clock")) for board in self.boards]
        if start is None:
            start = self._whole_second(seconds[0])
        trains: list[Train] = []
        for number, board in enumerate(self.boards):
            with self._naming(number):
                trains.append(job(board, start))
        return self._begin_followed(trains)

    def _whole_second(self, seconds: Seconds) -> NamedTime:
        """One that all of them can begin at."""
        if isinstance(seconds, FedSeconds) and not isinstance(seconds, PpsSeconds):
            raise BadInput(f"start: give one, {seconds.key}:SECONDS: what {seconds.name} shows is not known yet")
        clock = seconds if isinstance(seconds, HostSeconds) else UtcSeconds(self.boards[0])
        with self._naming(0):
            now = clock.second_of(clock.look())
        wait = _PULSES_SECONDS if isinstance(seconds, PpsSeconds) else 1
        return NamedTime(seconds.key, Fraction(math.ceil(now + self._lead(_LOOKS)) + wait))

    def _begin_followed(self, trains: list[Train]) -> Together[Train]:
        """Trains that follow a clock: each waits for it while the others do."""
        starting = [board.beginning(train) for board, train in zip(self.boards, trains)]
        waiting = set(range(len(starting)))
        try:
            while waiting:
                for number in sorted(waiting):
                    with self._naming(number):
                        if next(starting[number], starting) is starting:
                            waiting.remove(number)
        except BaseException:
            for each in starting:
                each.close()
            close_all(trains)
            raise
        sure = sorted(train.seconds.uncertainty for train in trains if isinstance(train, Disciplined))
        ticks = tuple(train.record.ideal.start or 0 for train in trains)
        return Together(self, trains, CommonMoment(ticks, sure[-1], sum(sure[-2:]) if len(sure) > 1 else 0))

    def offset(
        self, inputs: Whole | str | Iterable[Whole | str] = 0, *, edges: str = "rise", count: Whole = 0, duration: Time | None = None
    ) -> Alignment:
        """By how much the boards' times differ, from edges of one wire that leads to an input of each; iterate over it.

        inputs: a channel that is the same on all boards, or a list of one for each; edges: 'rise' or 'fall'; it ends after count edges
        that all boards have, or after duration, or when it is stopped
        """
        if len(self.boards) < 2:
            raise BadInput("boards: the offset is that between two of them")
        if edges not in ("rise", "fall"):
            raise BadInput(f"edges: {shown(edges)} is not rise or fall")
        alone = isinstance(inputs, str) or not isinstance(inputs, Iterable)
        given = [inputs] * len(self.boards) if alone else self._listed(inputs, "inputs")
        if len(given) != len(self.boards):
            raise BadInput(f"inputs: there are {len(given)}, and {len(self.boards)} boards")
        count = within(count, "count", 0, (1 << 63) - 1)
        captures: list[Any] = []
        try:
            for number, (board, channel) in enumerate(zip(self.boards, given)):
                with self._naming(number):
                    captures.append(board.capture([channel], edges=edges, duration=duration))
        except BaseException:
            close_all(captures)
            raise
        return Alignment(self.boards, captures, int(edges == "rise"), count, self.fail)

    # The end

    def stop(self) -> None:
        """Ends all that runs on any of them by itself, also what other programs left there."""
        for number, board in enumerate(self.boards):
            with self._naming(number):
                board.stop()

    def close(self) -> None:
        """Closes all of them, also if that fails for one; then its error is raised."""
        error = close_all(self.boards)
        if error is not None:
            raise error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            self.close()
        except LitePulseError:
            if error is None:  # else that one is what counts
                raise
