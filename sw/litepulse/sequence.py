# SPDX-License-Identifier: BSD-2-Clause
"""Sequences: launches of any number and waits for edges. The board's queue is refilled while it runs; nothing leaves late."""

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

from litepulse import sequence_plan
from litepulse.backends.interface import LAUNCH_PROFILE, Backend, Batch, Status
from litepulse.errors import BadInput, LitePulseError, Underrun
from litepulse.interrupt import Flag
from litepulse.launch import Feed, Outcome, QueueEntry, SendRun
from litepulse.layout import regs
from litepulse.line import Launch, Queued, QueueWait, Relative
from litepulse.plan import FARTHEST_DAYS, Origin, mark
from litepulse.sequence_plan import (
    BOARD,
    HOST,
    Admission,
    Course,
    Entry,
    Pace,
    Places,
    SequencePlan,
    WaitPlan,
    Way,
    behind,
    in_run,
    nearest,
    refuse_host,
    soonest,
)
from litepulse.streams import ChannelEdge, Event, Lost, edges

EDGE, TIMEOUT = "edge", "timeout"  # how a wait ended
WATCH_SECONDS = 0.001  # between two looks while an edge, or the next entry, is waited for
_REHEARSED, _TIMES = 32, 3  # launches, and how often, to measure what the backend carries
_MARGIN = Fraction(5, 4)  # of what was measured
_SETTLE_CYCLES = 64  # after which the record of an edge is there
_EDGES = 1 << 16  # that are remembered for a wait which has not been read yet
_REPORTED_CYCLES = 4000  # after which the end of a wait in the board has been reported
_NEVER = 1 << 62  # the tick of a wait in the board without a timeout


@dataclass(frozen=True)
class Waited:
    """A wait that has ended.

    number: of its entry, from 0 on, None: of `on`; began: the tick from which on an edge counted; tick: of the edge, or of the end of
    the timeout; ended: 'edge' or 'timeout'; time: the tick in seconds since the board's reset, exact; length: ticks; level: that of the
    edge; ns: of the edge, in the clock that was given to open(); by: what waited, 'board' or 'host'
    """

    number: int | None
    began: int
    tick: int
    ended: str
    time: Fraction
    length: int
    level: int | None = None
    run: int = 0
    ns: int | None = None
    by: str = HOST


@dataclass
class _Base:
    """What places count from: the end of a wait in the board, or tick 0. tick: None until it is known; earliest: at the worst."""

    tick: int | None
    earliest: int = 0

    def at(self, offset: int) -> int:
        """The tick of a place, as far as it is known."""
        return (self.earliest if self.tick is None else self.tick) + offset


class _Label(NamedTuple):
    """Which entry a launch, a wait in the board, or the delay before it is, and its place.

    Of a wait the place is its beginning; end: what counts from it; launch: None of the other two
    """

    run: int
    entry: int | None
    where: str
    base: _Base
    offset: int
    wait: WaitPlan | None = None
    end: _Base | None = None
    is_delay: bool = False
    launch: Launch | None = None

    @property
    def place(self) -> tuple[_Base, int]:
        """From which the next one counts: of a wait in the board its end."""
        return (self.base, self.offset) if self.end is None else (self.end, 0)


class SequenceRun(SendRun):
    """Feeds the entries of a plan into the queue, waits for edges in between, and stops before a launch that would be late."""

    def __init__(self, backend: Backend, plan: SequencePlan) -> None:
        profiles = {number: plan.profiles[number] for number in plan.numbers}
        super().__init__(backend, plan.profiles[LAUNCH_PROFILE], (), plan.loopback, profiles)
        self.keep = False
        self.plan = plan
        mask = plan.channels[0] | plan.channels[1]
        if plan.loopback or mask >> backend.identity.inputs & 1:  # the line is listened to
            self.marks = False
        self.wanted = replace(self.wanted, rise=plan.channels[0], fall=plan.channels[1], received=self._hears and not self.marks)
        self.pace: Pace | None = None
        self.failure: LitePulseError | None = None
        self.flushed = False  # launches that had been queued were taken back
        self.stopped = False  # by a wait that timed out
        self.waited: list[Waited] = []  # since the last look
        self.labels: dict[int, _Label] = {}  # of launches that are not reported yet, by number
        self.run_number = 0
        self._hand = 0  # ticks that one launch takes into the queue
        self._admission = Admission(self.timescale, plan.profiles, None)
        self._course = Course()
        self._made = 0
        self.first = 0  # tick of the beginning
        self._began = 0  # the board's tick when the first entry was placed
        self._watching = False  # an edge is waited for, or the program's next entry
        self._edges: deque[ChannelEdge] = deque()
        self._blind: tuple[int, int] | None = None  # ticks between which edges may be missing
        self._lost = self._seen = 0  # events; the tick until which all is known
        self._mask = mask
        self._base = _Base(0)
        self._places = Places(self.timescale, None)
        self._handed: tuple[_Base, int] = (self._base, 0)  # place of the last entry in the queue
        self._open: deque[int] = deque()  # waits in the queue that have not ended, by number
        self.ended_waits: dict[int, Waited] = {}  # of waits in the board, by number
        self._halted: int | None = None  # the wait behind which the board refuses all
        self.ways: set[str] = set()  # what has waited: 'board', 'host'

    # The beginning

    def prepare(self) -> None:
        super().prepare()
        if self.plan.mark_width is not None:
            self.backend.line.set_mark_width(self.plan.mark_width)
        self.pace = self._measure()
        self.backend.recorder.record(self.wanted)

    def _measure(self) -> Pace:
        """What the backend carries, by launches none of which leaves; the longest of some times, and a margin."""
        backend, samples = self.backend, self.timescale.samples_per_cycle
        many = max(1, min(_REHEARSED, backend.identity.launch_depth // 2))
        cycle = look = hand = react = 0
        for _ in range(_TIMES):
            hand = max(hand, self._timed(1))
            look = max(look, self._timed(0))
            begun = backend.now()
            backend.recorder.wait(WATCH_SECONDS)
            react = max(react, backend.now() - begun + self._timed(1))
            cycle = max(cycle, self._timed(many))
        by_line = math.ceil(self.timescale.ticks(backend.queue.seconds(many)))
        cycle = max(cycle, by_line)
        hand = max(hand, math.ceil(self.timescale.ticks(backend.queue.seconds(1))))
        each = math.ceil(_MARGIN * cycle / many + self.timescale.ticks(Fraction(self.plan.seconds)))
        self._hand = hand + soonest(samples)
        reaction = backend.recorder.lag + math.ceil(_MARGIN * (react + look + hand)) + soonest(samples)
        in_board = behind(samples) if backend.identity.sequence and self.plan.waits != HOST else None
        return Pace(backend.identity.launch_depth, each, math.ceil(_MARGIN * (2 * look + hand)), reaction, nearest(samples), in_board)

    def _timed(self, count: int) -> int:
        """Ticks that `count` launches take into the queue, and a look at what became of them."""
        rehearsed = mark(0) if self.plan.marks_alone else Launch("pulse", width=1)
        begun, left = self.backend.now(), self.backend.queue.rehearse(count, rehearsed) if count else 0
        self.backend.look()
        done = self.backend.now()
        for _ in range(8):  # the reports may take a moment
            if not left:
                break
            left -= sum(isinstance(event, Event) and event.kind == "refused" for event in self.backend.look()[1].events)
        return done - begun

    def choose(self) -> None:
        """Decides whether the board waits, and checks all that is known.

        The board misses an edge that comes at once behind a launch. So the computer waits, as for a board without waits, if it carries
        the whole sequence, or if the entries are not known yet
        """
        plan, pace = self.plan, self.pace
        assert pace is not None
        name = self.backend.identity.name
        if plan.waits is None and pace.behind is not None and any(plan.channels):
            by_host = replace(pace, behind=None)
            try:
                if plan.finite:
                    sequence_plan.check(plan, self.timescale, by_host, name)
                self.pace = by_host
                return
            except BadInput:
                pass
        if plan.finite:
            sequence_plan.check(plan, self.timescale, pace, name)

    def begin(self) -> None:
        """Finds the beginning, and feeds the first launches."""
        plan, pace = self.plan, self.pace
        assert pace is not None
        self._places = Places(self.timescale, pace)
        if self._soon_alone or (plan.on is not None and self._places.way(plan.on, 0).by == BOARD):
            self.first, ready = self._soonest(), None
        else:
            self.now()
            now = self.backend.now()
            self.first, ready = now if plan.start is None else plan.start, now + self._hand
        self._began = self.backend.now()
        self._admission = Admission(self.timescale, plan.profiles, pace, self.backend.identity.name)
        self._admission.begin(None, ready)
        self._course.begin(self.first, absolute=plan.on is None and plan.repeat == 1)
        self.source = self._launches(self.first)
        self.feed()

    @property
    def _soon_alone(self) -> bool:
        """Nothing names the beginning: it is as soon as the queue can be full."""
        return self.plan.on is None and self.plan.start is None

    def _soonest(self) -> int:
        assert self.pace is not None
        return self.soon(self.pace.depth) + self.pace.depth * self.pace.each

    # The entries

    def _launches(self, first: int) -> Iterator[QueueEntry | None]:
        """The launches in their order; None while a wait has not ended, or nothing more is known yet."""
        plan = self.plan
        while not plan.repeat or self.run_number < plan.repeat:
            before = self._made
            if plan.on is not None:
                offset = self._places.between_runs()
                if offset is None:
                    offset = first if self._admission.order.free is None else max(first, self._admission.order.free)
                yield from self._wait(plan.on, None, offset, "on")
            elif self.run_number:
                self._course.again()
            if not self.stopped:
                yield from self._run()
            if self.stopped:
                return
            self.run_number += 1
            if before == self._made:
                yield None  # waits of the computer alone: each look has its turn

    def _run(self) -> Iterator[QueueEntry | None]:
        """The launches of one run."""
        number = 0
        soon = self._soon_alone and not self.plan.finite and not self.run_number
        for entry in self.plan.entries():
            if entry is None:
                self._watching = True
                yield None
                self._watching = False
                continue
            if soon and not number:  # it may have come late
                self.first = self._soonest()
                self._course.begin(self.first, self._course.absolute)
            offset = self._course.place(entry)
            if entry.wait is not None:
                yield from self._wait(entry.wait, number, offset, entry.where)
                if self.stopped:
                    return
            elif entry.launch is not None:
                base, tick = self._base, self._base.at(offset)
                self._check_time(entry, tick)
                origin = None if base.tick is not None else Origin(self.timescale, base.earliest, "the end of the wait before")
                self._admission.check(in_run(entry.where, self.run_number), tick, entry.launch, origin)
                free = self._admission.order.free
                self._places.launched(offset, offset if free is None else offset + free - tick)
                yield self._made_one(_Label(self.run_number, number, entry.where, base, offset, launch=entry.launch), entry.launch)
            number += 1

    def _made_one(self, label: _Label, what: Launch | QueueWait) -> QueueEntry:
        """One more entry for the queue."""
        self.labels[self._made] = label
        self._made += 1
        return label.base.at(label.offset), what

    def _check_time(self, entry: Entry, tick: int) -> None:
        """BadInput if a tick that was given has passed, or is too far away."""
        if not entry.absolute:
            return
        if tick <= self._began:
            raise BadInput(f"{entry.where}: tick {tick} has passed, the board is at {self._began}")
        if self.timescale.seconds(tick - self._began) > FARTHEST_DAYS * 86400:
            raise BadInput(f"{entry.where}: tick {tick} is more than {FARTHEST_DAYS} days ahead, the board is at {self._began}")

    def _wait(self, wait: WaitPlan, number: int | None, offset: int, where: str) -> Iterator[QueueEntry | None]:
        """A wait that begins at a place: in the board, or through the computer."""
        if wait.rise << wait.channel & ~self.plan.channels[0] or wait.fall << wait.channel & ~self.plan.channels[1]:
            raise BadInput(f"{where}: wait: edges of this channel are not recorded: name it in inputs")
        base, way = self._base, self._places.way(wait, offset)
        if way.by == BOARD and base.tick is not None and base.tick + offset < self.poller.now + self._hand:
            way = Way(HOST, "it came too late from the program")
        self.ways.add(way.by)
        if way.by == HOST:
            refuse_host(self.plan, where, way)
            while base.tick is None:  # what is before it in the board
                self._watching = True
                yield None
            yield from self._await(wait, number, base.tick + offset, where)
            return
        if way.delay:
            yield self._made_one(_Label(self.run_number, number, where, base, offset, is_delay=True), QueueWait())
        mark = self._admission.wait(where, base.at(offset), way, wait.timeout is not None and not wait.stop)
        self._base = _Base(None, mark)
        self._places.board_waits(0)
        self._course.begin(0)
        what = QueueWait(wait.channel, wait.rise, wait.fall, wait.stop and wait.timeout is not None)
        yield self._made_one(_Label(self.run_number, number, where, base, offset, wait, self._base), what)

    def _await(self, wait: WaitPlan, number: int | None, began: int, where: str) -> Iterator[None]:
        """Until the wait has ended; what follows counts from its end."""
        self._watching = True
        while True:
            ended = self._ended(wait, began, number)
            if ended is not None:
                break
            if self._blind is not None and self._blind[1] >= began:
                self._fail(
                    LitePulseError(f"{where}: records were lost while it waited, its edge may be among them: the sequence ends here")
                )
                self.stopped = True
                return
            yield None
        self._watching = False
        self._blind = None
        self.waited.append(ended)
        self.stopped = ended.ended == TIMEOUT and wait.stop
        self._base = _Base(0)
        self._course.begin(ended.tick)
        self._admission.begin(ended.tick)
        self._places.host_waited(ended.tick)

    def _ended(self, wait: WaitPlan, began: int, number: int | None) -> Waited | None:
        """How a wait has ended; None if it has not, as far as is known."""
        last = math.inf if wait.timeout is None else began + wait.timeout
        known = last if self._blind is None or self._blind[1] < began else min(last, self._blind[0] - 1)
        while self._edges and self._edges[0].tick <= known:
            edge = self._edges.popleft()
            if edge.tick >= began and _matches(wait, edge):
                return self._waited(number, began, edge.tick, EDGE, edge)
        settled = self.poller.tick - _SETTLE_CYCLES * self.timescale.samples_per_cycle
        if wait.timeout is not None and known == last and settled >= last:
            return self._waited(number, began, began + wait.timeout, TIMEOUT, None)
        return None

    def _waited(self, number: int | None, began: int, tick: int, ended: str, edge: ChannelEdge | None) -> Waited:
        level, ns = (None, None) if edge is None else (edge.level, edge.ns)
        return Waited(number, began, tick, ended, self.timescale.seconds(tick), tick - began, level, self.run_number, ns)

    # Looks

    def _digest(self, batch: Batch) -> list[tuple[int, Event]]:
        if self._mask:
            self._note_edges(batch)
        found = super()._digest(batch)
        self._seen = batch.tick
        found.sort(key=lambda one: one[0])  # the driver refuses at once, and reports what was before it later
        if self._halted is not None:
            found = [one for one in found if one[0] <= (self._halted or 0)]
        for place, (number, event) in enumerate(found):
            if event.kind != "tx" and event.reason == "late" and self.failure is None:
                self._underrun(number, event.tick, flush=True)
                label = self.labels.get(number)
                if label is not None and label.wait is not None and label.wait.stop:
                    self._halted = number  # the board refuses what is behind it
                    return found[: place + 1]
            elif event.kind == "tx" and self._end_wait(number, event):
                return found[: place + 1]
        self._check_edge_seen(batch.tick)
        return found

    # Waits in the board

    @property
    def waiting(self) -> bool:
        """A wait is in the queue and has not ended."""
        return bool(self._open)

    def _end_wait(self, number: int, event: Event) -> bool:
        """Takes the end of a wait from the record of the queue. Whether the sequence ends with it."""
        label = self.labels.get(number)
        if label is None:
            return False
        if label.wait is None or label.end is None:
            if label.base.tick is None and not label.is_delay:  # the wait's record was lost
                self._resolve(label.base, event.tick - label.offset)
            return False
        while self._open and self._open[0] <= number:
            self._open.popleft()
        timed_out = bool(event.flags & regs.EVENT_FLAG_STOP)
        self._resolve(label.end, event.tick)
        began = label.base.at(label.offset) if label.base.tick is not None else event.tick
        seen = self._edges_until(label.wait, began, event.tick)
        if label.entry is None:
            began = min(began, event.tick)
        elif seen and (timed_out or seen[0].tick < event.tick):
            self._fail_unseen(label, seen[0])
            return True
        level = None if label.wait.rise and label.wait.fall else int(label.wait.rise)
        if seen and seen[-1].tick == event.tick:
            level = seen[-1].level
        self.ended_waits[number] = Waited(
            label.entry,
            began,
            event.tick,
            TIMEOUT if timed_out else EDGE,
            self.timescale.seconds(event.tick),
            event.tick - began,
            None if timed_out else level,
            label.run,
            event.ns,
            BOARD,
        )
        if timed_out and label.wait.stop:
            self.stopped, self._halted = True, number
            self._take_back()
            return True
        return False

    def _edges_until(self, wait: WaitPlan, began: int, end: int) -> list[ChannelEdge]:
        """What was recorded for a wait from its beginning to its end; all up to there is forgotten."""
        seen: list[ChannelEdge] = []
        while self._edges and self._edges[0].tick <= end:
            edge = self._edges.popleft()
            if edge.tick >= began and _matches(wait, edge):
                seen.append(edge)
        return seen

    def _resolve(self, base: _Base, tick: int) -> None:
        """The end of a wait in the board is known, and so is where all lies that counts from it."""
        if base.tick is not None:
            return
        base.tick, shift = tick, tick - base.earliest
        if self._admission.dense_until >= base.earliest:
            self._admission.dense_until += max(0, shift)
        for number in range(self.fed - 1, -1, -1):
            if number not in self.labels:
                break
            label = self.labels[number]
            if label.base is base:
                self._queued.append(base.at(label.offset))
        self._queued = deque(sorted(self._queued))
        for index, (_, what) in enumerate(self.pending):
            label = self.labels[self.fed + index]
            if label.base is base:
                self.pending[index] = base.at(label.offset), what

    def _check_edge_seen(self, tick: int) -> None:
        """An edge came while the board did not listen: the wait would not end by it."""
        label = self.labels.get(self._open[0]) if self._open else None
        if label is None or label.wait is None or label.base.tick is None or label.entry is None:
            return
        began, settled = label.base.at(label.offset), tick - _REPORTED_CYCLES * self.timescale.samples_per_cycle
        while self._edges and self._edges[0].tick < began:
            self._edges.popleft()
        edge = next((edge for edge in self._edges if edge.tick < settled and _matches(label.wait, edge)), None)
        if edge is not None and (label.wait.timeout is None or edge.tick <= began + label.wait.timeout):
            self._fail_unseen(label, edge)

    def _fail_unseen(self, label: _Label, edge: ChannelEdge) -> None:
        """The sequence ends: what is behind the wait would not count from the edge that it names."""
        behind = self.timescale.named(edge.tick - label.base.at(label.offset))
        self._fail(
            LitePulseError(
                f"{label.where}: its edge came at tick {edge.tick}, {behind} behind its beginning, before the board listened: "
                "the sequence ends here; waits='host' sees it, and takes longer"
            )
        )
        self.stopped = True
        self._take_back()

    def _take_back(self) -> None:
        """Nothing more leaves."""
        self.pending.clear()
        self.source = iter(())
        self.exhausted = True
        self.backend.queue.flush()
        self.flushed = True

    def _note_edges(self, batch: Batch) -> None:
        """Of what is waited for, in their order."""
        missing: list[int] = []
        for event in batch.events:
            if isinstance(event, Lost):
                missing.append(event.tick)
            elif event.kind == "edge":
                self._edges += edges(event, self.timescale.samples_per_cycle)
        lost = self.backend.recorder.losses().events
        if missing or lost != self._lost:
            begun = min(missing, default=self._seen)
            self._lost, self._blind = lost, (begun if self._blind is None else min(begun, self._blind[0]), batch.tick)
        while len(self._edges) > _EDGES:
            self._blind = (0, self._edges.popleft().tick)

    def _hand_over(self, room: int) -> None:
        """As far as it is in time. The first that is not ends the sequence."""
        count = min(room, len(self.pending))
        if not count or self.pace is None:
            return
        near, each = self._hand + self.pace.look, self.pace.each
        known = next((n for n in range(count) if self.labels[self.fed + n].base.tick is None), count)
        if known and self.pending[0][0] < self.poller.now + near + known * each:
            now = self.backend.now() + self._hand
            in_time = next((n for n in range(known) if self.pending[n][0] < now + n * each // 2), known)
            if not in_time:
                self._underrun(self.fed, now, flush=False)
                return
            count = in_time if in_time < known else count
        places = [self._handed, *(self.labels[self.fed + n].place for n in range(count))]
        part = [self._entry(self.fed + n, *self.pending[n], places[n]) for n in range(count)]
        taken = self.backend.queue.launch(part)
        self._handed = places[taken]
        for number in range(self.fed, self.fed + taken):
            label = self.labels[number]
            self.others_fed += label.launch is None
            if label.wait is not None:
                self._open.append(number)
            if label.base.tick is not None:
                self._queued.append(label.base.at(label.offset))
        self.fed += taken
        del self.pending[:taken]

    def _entry(self, number: int, tick: int, what: Launch | QueueWait, handed: tuple[_Base, int]) -> tuple[int, int, Queued]:
        """(tick, tag, what) for the queue: relative if it counts from a wait whose end is not known. handed: place of the one before."""
        label = self.labels[number]
        (base, before), offset = handed, label.offset
        if label.wait is not None:
            offset = _NEVER if label.wait.timeout is None else offset + label.wait.timeout
        if label.base.tick is not None:
            return (_NEVER if offset == _NEVER else label.base.tick + offset), number & 0xFFFF, what
        assert base is label.base
        return offset - (0 if offset == _NEVER else before), number & 0xFFFF, Relative(what)

    def _underrun(self, number: int, now: int, flush: bool) -> None:
        """The sequence ends before this launch. flush: others may wait behind it in the board."""
        label = self.labels.get(number) or _Label(self.run_number, number, f"launch {number}", self._base, now)
        index = number - self.fed
        tick = self.pending[index][0] if 0 <= index < len(self.pending) else now
        where = in_run(label.where, label.run)
        text = f"{where}: it could not be queued in time, so it did not leave: the sequence ends before it"
        self._fail(Underrun(text, label.entry or 0, label.run, tick))
        if flush:
            self.backend.queue.flush()
            self.flushed = True

    def _fail(self, error: LitePulseError) -> None:
        """Nothing more is fed; what is queued and in time still leaves."""
        self.failure = self.failure or error
        self.pending.clear()
        self.source = iter(())
        self.exhausted = True

    def _pause(self) -> float | None:
        refill = bool(self._open) and bool(self.pending)  # there is room once the wait has ended
        return WATCH_SECONDS if self._watching or refill else super()._pause()

    def _busy(self, found: list[tuple[int, Event]]) -> bool:
        dense = bool(self.pending) and self.poller.now < self._admission.dense_until
        return dense or super()._busy(found)

    def follow(self, interrupt: Flag) -> Iterator[list[tuple[int, Event]]]:
        return super().follow(_Either(interrupt, self))

    def feed(self, status: Status | None = None) -> None:
        if self.failure is None:
            super().feed(status)


def _matches(wait: WaitPlan, edge: ChannelEdge) -> bool:
    """Whether the edge is one that ends the wait."""
    return edge.channel == wait.channel and (wait.rise if edge.level else wait.fall)


class _Either:
    """A Flag: an interrupt came, or launches were taken back, which are not reported."""

    def __init__(self, interrupt: Flag, run: SequenceRun) -> None:
        self._interrupt, self._run = interrupt, run

    def __bool__(self) -> bool:
        return bool(self._interrupt) or self._run.flushed


class Sequence(Feed[Outcome | Waited]):
    """A sequence on its way. Iterating over it gives what became of each launch, an Outcome, and of each wait, a Waited, in order.

    `plan`: what was requested, in ticks
    """

    def __init__(self, backend: Backend, plan: SequencePlan) -> None:
        self._sequence = SequenceRun(backend, plan)
        super().__init__(backend, self._sequence)
        self.plan = plan

    def _start(self) -> None:
        self._sequence.choose()
        self._sequence.begin()

    @property
    def first_tick(self) -> int:
        """Of the beginning, which moves until the first entry is known."""
        return self._sequence.first

    @property
    def pace(self) -> Pace:
        """What the backend carries, as it was measured at the start."""
        assert self._sequence.pace is not None
        return self._sequence.pace

    @property
    def rate(self) -> Fraction:
        """Entries per second that the backend carries for any length of time."""
        return self.pace.rate(self.run.timescale)

    @property
    def reaction(self) -> int:
        """Ticks from an edge to the first launch behind its wait, at least: in the board if it waits, else through the computer."""
        return self.pace.behind[0] if self.pace.behind and HOST not in self._sequence.ways else self.pace.reaction

    @property
    def underrun(self) -> Underrun | None:
        """Why it ended early."""
        return self._sequence.failure if isinstance(self._sequence.failure, Underrun) else None

    @property
    def ended(self) -> str | None:
        """'all sent', 'timeout' (of a wait that says stop), 'underrun', 'lost', 'interrupt' or 'stop'; None while it goes on."""
        if not self._over:
            return None
        if self._sequence.failure is not None:
            return "underrun" if self.underrun else "lost"
        if self._sequence.stopped:
            return TIMEOUT
        if self.interrupted:
            return "interrupt"
        return "all sent" if self.run.all_fed and not self._sequence.waiting else "stop"

    def _follow(self, interrupt: Flag) -> Iterator[None]:
        for found in self._sequence.follow(interrupt):
            self._ready += self._labelled(found)
            self._ready += self._sequence.waited
            self._sequence.waited.clear()
            yield
        if self._sequence.failure is not None:
            raise self._sequence.failure

    def _labelled(self, found: list[tuple[int, Event]]) -> list[Outcome | Waited]:
        """What became of the entries."""
        labelled: list[Outcome | Waited] = []
        for number, event in found:
            label = self._sequence.labels.pop(number)
            if label.wait is not None or label.is_delay:
                if number in self._sequence.ended_waits:
                    labelled.append(self._sequence.ended_waits.pop(number))
                continue
            assert label.launch is not None
            self._wanted.append((number, label.base.at(label.offset), self._kind(label.launch)))
            (outcome,) = self._outcomes([(number, event)])
            labelled.append(replace(outcome, number=label.entry or 0, run=label.run))
        return labelled
