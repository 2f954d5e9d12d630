# SPDX-License-Identifier: BSD-2-Clause
"""The pulses of one shot: from labscript's description of a clock to launches at their ticks, to a
train, or to a sequence where it waits. Imports nothing of labscript."""

import math
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from litepulse import sequence_plan
from litepulse.board import Board
from litepulse.errors import BadInput, LitePulseError, Unsupported
from litepulse.launch import Outcome
from litepulse.plan import FARTHEST_DAYS
from litepulse.sequence import TIMEOUT, Waited
from litepulse.sequence_plan import Step
from litepulse.train import Pulse, Train
from litepulse.units import WORD, counted, ticks

_MANY = 64  # launches that a board's queue holds: no train is worth it for fewer
_WAIT = "WAIT"  # of labscript, among the steps of a clock


class Row(NamedTuple):
    """Pulses at equal distances: the tick of the first one since the start of the shot, the ticks
    from one to the next, how many."""

    start: int
    period: int
    pulses: int


class Wait(NamedTuple):
    """The clock stands still: the tick since the start of the shot, as if no wait before it took any
    time; the ticks after which it goes on without an edge."""

    label: str
    start: int
    timeout: int


class Waits(NamedTuple):
    """The waits of a shot. channel: 0 for `in0`, or 'rx'; its edge, 'rise', 'fall' or 'both', ends a
    wait; resume: ticks from there to the pulse at which the clock goes on."""

    each: Sequence[Wait] = ()
    channel: int | str = 0
    edge: str = "rise"
    resume: int = 0


class Pause(NamedTuple):
    """How long a wait was: all that is behind it came so many ticks later. None: its record was lost."""

    ticks: int | None
    timed_out: bool


class Left(NamedTuple):
    """A pulse of the shot. wanted, tick: since its start; left: it was on the line at that tick,
    else the core refused it."""

    wanted: int
    tick: int
    left: bool


def rows_of(clock: Iterable[Any], clock_line: object, tick_hz: int) -> list[Row]:
    """The rows of a labscript.Pseudoclock's `clock` at which the clock line ticks."""
    rows: list[Row] = []
    for step in clock:
        if step != _WAIT and step["reps"] and clock_line in step["enabled_clocks"]:
            rows.append(Row(round(step["start"] * tick_hz), round(step["step"] * tick_hz), int(step["reps"])))
    return rows


def waits_of(clock: Sequence[Any], table: Sequence[tuple[str, float]], tick_hz: int) -> list[Wait]:
    """The waits among a clock's steps. table: (label, timeout in seconds) of each, in order."""
    starts = [round(after["start"] * tick_hz) for step, after in zip(clock, clock[1:]) if step == _WAIT]
    if len(starts) != len(table):
        raise BadInput(f"wait(): two of {', '.join(label for label, _ in table)} are at the same tick")
    waits: list[Wait] = []
    least, most = sequence_plan.WAIT_LEAST_CYCLES, math.floor(FARTHEST_DAYS * 86400 * tick_hz)
    for start, (label, timeout) in zip(starts, table):
        count = round(timeout * tick_hz) if math.isfinite(timeout) else most + 1
        if not least <= count <= most:
            raise BadInput(f"wait {label!r}: its timeout is {counted(least, 'tick')} to {FARTHEST_DAYS} days, not {timeout} s")
        waits.append(Wait(label, start, count))
    return waits


def check_rows(rows: Sequence[Row], width: int) -> None:
    """BadInput if a pulse of so many ticks is not over, and TX at rest for a tick, when the next one begins."""
    free = 0
    for row in rows:
        if row.start < free or (row.pulses > 1 and row.period <= width):
            raise BadInput(
                f"the clock's pulse of {counted(width, 'tick')} does not end before the next one, in the row from tick {row.start}"
            )
        free = row.start + (row.pulses - 1) * row.period + width + 1


def places(rows: Iterable[Row]) -> Iterator[int]:
    """The tick of each pulse since the start of the shot."""
    for start, period, pulses in rows:
        yield from range(start, start + pulses * period, period)


def one_train(rows: Sequence[Row], least: int) -> Row | None:
    """All rows as one, if their pulses are equally far apart, by at least so many ticks; None if
    not, or if they are few."""
    whole: Row | None = None
    for row in rows:
        if whole is None:
            whole = row
        elif whole.pulses == 1:
            whole = Row(whole.start, row.start - whole.start, 1 + row.pulses)
            if row.pulses > 1 and row.period != whole.period:
                return None
        elif row.start != whole.start + whole.pulses * whole.period or (row.pulses > 1 and row.period != whole.period):
            return None
        else:
            whole = Row(whole.start, whole.period, whole.pulses + row.pulses)
    fits = whole is not None and whole.start == 0 and _MANY < whole.pulses < WORD and least <= whole.period < WORD - 1
    return whole if fits else None


@dataclass(frozen=True)
class Program:
    """A shot as the shot file has it. width: of each pulse in ticks; high: it goes from 0 to 1;
    tick_hz: of the board that it was made for."""

    rows: Sequence[Row]
    width: int
    high: bool
    tick_hz: Fraction
    waits: Waits = Waits()

    def check(self, board: Board) -> None:
        """BadInput unless it was made for a board with these ticks. Unsupported if it waits, and the board does not."""
        if self.tick_hz != board.tick_hz:
            raise BadInput(f"tick_hz: the shot is made for {self.tick_hz} ticks a second, {board.name} has {board.tick_hz}")
        if not self.waits.each:
            return
        if not board.identity.sequence:
            raise Unsupported(f"wait(): the launch queue of {board.name} has no waits, or its kernel driver is too old for them")
        try:
            board.channel(self.waits.channel)
        except BadInput as error:
            raise BadInput(str(error).replace("inputs: ", "wait_input: ")) from None

    @property
    def pulses(self) -> int:
        """How many there are."""
        return sum(row.pulses for row in self.rows)


class _Entries:
    """A shot with waits as the entries of a sequence. waits: of each entry that is one, its number among the waits."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self.waits: dict[int, int] = {}
        for number, (_, wait) in enumerate(self._places()):
            if wait is not None:
                self.waits[number] = len(self.waits)
        self._count = program.pulses + len(self.waits)

    def __len__(self) -> int:
        return self._count

    def _places(self) -> Iterator[tuple[int, Wait | None]]:
        """The tick of each pulse and each wait, which is before the pulse at the same tick."""
        waits = iter(self._program.waits.each)
        wait = next(waits, None)
        for place in places(self._program.rows):
            while wait is not None and wait.start <= place:
                yield wait.start, wait
                wait = next(waits, None)
            yield place, None

    def __iter__(self) -> Iterator[Step]:
        """What is behind a wait counts from its end."""
        waits, width, offset = self._program.waits, ticks(self._program.width), 0
        for place, wait in self._places():
            at = ticks(place + offset)
            if wait is None:
                yield Step(at, width=width)
            else:
                timeout, where = ticks(wait.timeout), f"wait {wait.label!r}"
                yield Step(at, wait=waits.channel, edge=waits.edge, timeout=timeout, then=sequence_plan.GO_ON, where=where)
                offset = waits.resume - wait.start


class Shot:
    """A shot on a board. A thread of its own follows it, so that the board's queue is refilled
    whatever the rest of the program does."""

    def __init__(self, board: Board, program: Program) -> None:
        program.check(board)
        self.program = program
        self.first_tick: int | None = None  # the board's tick at which the shot began, once that is known
        self.left: list[Left] = []  # in the order of time
        self.ended: list[tuple[int, Pause]] = []  # the waits that have ended: their numbers, from 0 on
        self._error: BaseException | None = None
        width = ticks(program.width)
        train = None if program.waits.each else one_train(program.rows, board.identity.train_min_period)
        self._train = train
        self._waits: dict[int, int] = {}
        if program.waits.each:
            entries = _Entries(program)
            self._waits = entries.waits
            self._job = board.sequence(entries, invert=program.high, waits=sequence_plan.BOARD)
            self.first_tick = self._job.first_tick
        elif train:
            self._job = board.train(period=ticks(train.period), width=width, count=train.pulses, invert=program.high)
        else:
            pairs = ((ticks(place), width) for place in places(program.rows))
            self._job = board.launches(pairs, invert=program.high, keep=False)
            self.first_tick = self._job.first_tick
        self._thread = threading.Thread(target=self._follow, name="litepulse labscript", daemon=True)
        self._thread.start()

    @property
    def is_train(self) -> bool:
        """The board makes the pulses by itself: they are a train. Else they are launches."""
        return self._train is not None

    def _follow(self) -> None:
        try:
            with self._job as job:
                for batch in job.batches():
                    for item in batch:
                        self._take(item)
        except BaseException as error:
            self._error = error

    def _take(self, item: Outcome | Waited | Pulse) -> None:
        if isinstance(item, Waited):
            assert item.number is not None
            self.ended.append((self._waits[item.number], Pause(item.length + self.program.waits.resume, item.ended == TIMEOUT)))
            return
        if isinstance(item, Outcome):
            assert self.first_tick is not None
            self.left.append(Left(item.wanted - self.first_tick, item.tick - self.first_tick, item.reason is None))
            return
        assert self._train
        wanted = item.number * self._train.period
        if self.first_tick is None:
            self.first_tick = item.tick - item.error - wanted
        self.left.append(Left(wanted, item.tick - self.first_tick, True))

    @property
    def pauses(self) -> list[Pause]:
        """Of each wait of a shot that is over."""
        ended = dict(self.ended)
        return [ended.get(number, Pause(None, False)) for number in range(len(self.program.waits.each))]

    @property
    def over(self) -> bool:
        """Nothing more comes of it."""
        return not self._thread.is_alive()

    def wait(self, seconds: float | None = None) -> bool:
        """Until it is over, so long at most; whether it is."""
        self._thread.join(seconds)
        return self.over

    def abort(self) -> None:
        """Ends it: the line is idle afterwards."""
        self._job.close()
        self._thread.join()

    def check(self) -> None:
        """Of a shot that is over: LitePulseError unless each pulse left at its tick."""
        if self._error is not None:
            raise self._error
        exact = sum(each.left and each.tick == each.wanted for each in self.left)
        lacking = self.program.pulses - exact
        if isinstance(self._job, Train) and self._job.record.first_refused:
            number, reason = self._job.record.first_refused
            raise LitePulseError(f"{counted(lacking, 'pulse')} of the shot did not leave, the first is pulse {number}: {reason}")
        for number, each in enumerate(self.left):
            if not each.left:
                raise LitePulseError(f"{counted(lacking, 'pulse')} of the shot did not leave at their ticks, the first is pulse {number}")
        if lacking:
            raise LitePulseError(f"of {counted(lacking, 'pulse')} of the shot nothing is known: records were lost")
        unknown = sum(pause.ticks is None for pause in self.pauses)
        if unknown:
            raise LitePulseError(f"of {counted(unknown, 'wait')} of the shot nothing is known: records were lost")
