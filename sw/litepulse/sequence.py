# SPDX-License-Identifier: BSD-2-Clause
"""Sequences: launches of any number and waits for edges. The board's queue is refilled while it runs; nothing leaves late."""

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

from litepulse import sequence_plan
from litepulse.backends.interface import LAUNCH_PROFILE, Backend, Batch, Status
from litepulse.errors import BadInput, LitePulseError, Underrun
from litepulse.interrupt import Flag
from litepulse.launch import Entry as Queued
from litepulse.launch import Feed, Outcome, SendRun
from litepulse.plan import FARTHEST_DAYS
from litepulse.sequence_plan import Admission, Course, Entry, Pace, SequencePlan, WaitPlan, nearest, soonest
from litepulse.streams import ChannelEdge, Event, Lost, edges

EDGE, TIMEOUT = "edge", "timeout"  # how a wait ended
WATCH_SECONDS = 0.001  # between two looks while an edge, or the next entry, is waited for
_REHEARSED, _TIMES = 32, 3  # launches, and how often, to measure what the backend carries
_MARGIN = Fraction(5, 4)  # of what was measured
_SETTLE_CYCLES = 64  # after which the record of an edge is there
_EDGES = 1 << 16  # that are remembered for a wait which has not been read yet


@dataclass(frozen=True)
class Waited:
    """A wait that has ended.

    number: of its entry, from 0 on, None: of `on`; began: the tick from which on an edge counted; tick: of the edge, or of the end of
    the timeout; ended: 'edge' or 'timeout'; time: the tick in seconds since the board's reset, exact; length: ticks; level: that of the
    edge; ns: of the edge, in the clock that was given to open()
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


class _Label(NamedTuple):
    """Which entry a launch is."""

    run: int
    entry: int
    where: str


class SequenceRun(SendRun):
    """Feeds the entries of a plan into the queue, waits for edges in between, and stops before a launch that would be late."""

    def __init__(self, backend: Backend, plan: SequencePlan) -> None:
        super().__init__(backend, plan.profiles[LAUNCH_PROFILE], (), plan.loopback)
        self.keep = False
        self.plan = plan
        self.wanted = replace(self.wanted, rise=plan.channels[0], fall=plan.channels[1])
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
        self.remember: Callable[[Iterable[Queued | None]], Iterator[Queued | None]] = iter
        self._made = 0
        self.first = 0  # tick of the beginning
        self._began = 0  # the board's tick when the first entry was placed
        self._watching = False  # an edge is waited for, or the program's next entry
        self._edges: deque[ChannelEdge] = deque()
        self._blind: tuple[int, int] | None = None  # ticks between which edges may be missing
        self._lost = self._seen = 0  # events; the tick until which all is known
        self._mask = plan.channels[0] | plan.channels[1]

    # The beginning

    def prepare(self) -> None:
        super().prepare()
        for number, profile in self.plan.profiles.items():
            if number != LAUNCH_PROFILE:
                self.backend.line.set_profile(number, profile)
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
        return Pace(backend.identity.launch_depth, each, math.ceil(_MARGIN * (2 * look + hand)), reaction, nearest(samples))

    def _timed(self, count: int) -> int:
        """Ticks that `count` launches take into the queue, and a look at what became of them."""
        begun, left = self.backend.now(), self.backend.queue.rehearse(count) if count else 0
        self.backend.look()
        done = self.backend.now()
        for _ in range(8):  # the reports may take a moment
            if not left:
                break
            left -= sum(isinstance(event, Event) and event.kind == "refused" for event in self.backend.look()[1].events)
        return done - begun

    def begin(self) -> None:
        """Finds the beginning, and feeds the first launches."""
        plan, pace = self.plan, self.pace
        assert pace is not None
        if self._soon_alone:
            self.first, ready = self._soonest(), None
        else:
            self.now()
            now = self.backend.now()
            self.first, ready = now if plan.start is None else plan.start, now + self._hand
        self._began = self.backend.now()
        self._admission = Admission(self.timescale, plan.profiles, pace, self.backend.identity.name)
        self._admission.begin(None, ready)
        self._course.begin(self.first, absolute=plan.on is None and plan.repeat == 1)
        self.source = self.remember(self._launches(self.first))
        self.feed()

    @property
    def _soon_alone(self) -> bool:
        """Nothing names the beginning: it is as soon as the queue can be full."""
        return self.plan.on is None and self.plan.start is None

    def _soonest(self) -> int:
        assert self.pace is not None
        return self.soon(self.pace.depth) + self.pace.depth * self.pace.each

    # The entries

    def _launches(self, first: int) -> Iterator[Queued | None]:
        """The launches in their order; None while a wait has not ended, or nothing more is known yet."""
        plan = self.plan
        while not plan.repeat or self.run_number < plan.repeat:
            if plan.on is not None:
                began = first if self._admission.order.free is None else max(first, self._admission.order.free)
                yield from self._await(plan.on, None, began, "on")
            elif self.run_number:
                self._course.again()
            before = self._made
            if not self.stopped:
                yield from self._run()
            if self.stopped:
                return
            self.run_number += 1
            if before == self._made:
                yield None  # waits alone: each look has its turn

    def _run(self) -> Iterator[Queued | None]:
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
            tick = self._course.place(entry)
            if entry.wait is not None:
                yield from self._await(entry.wait, number, tick, entry.where)
                if self.stopped:
                    return
            elif entry.launch is not None:
                self._check_time(entry, tick)
                self._admission.check(entry.where, tick, entry.launch)
                self.labels[self._made] = _Label(self.run_number, number, entry.where)
                self._made += 1
                yield tick, entry.launch
            number += 1

    def _check_time(self, entry: Entry, tick: int) -> None:
        """BadInput if a tick that was given has passed, or is too far away."""
        if not entry.absolute:
            return
        if tick <= self._began:
            raise BadInput(f"{entry.where}: tick {tick} has passed, the board is at {self._began}")
        if self.timescale.seconds(tick - self._began) > FARTHEST_DAYS * 86400:
            raise BadInput(f"{entry.where}: tick {tick} is more than {FARTHEST_DAYS} days ahead, the board is at {self._began}")

    def _await(self, wait: WaitPlan, number: int | None, began: int, where: str) -> Iterator[None]:
        """Until the wait has ended; what follows counts from its end."""
        self._watching = True
        if wait.rise << wait.channel & ~self.plan.channels[0] or wait.fall << wait.channel & ~self.plan.channels[1]:
            raise BadInput(f"{where}: wait: edges of this channel are not recorded: name it in inputs")
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
        self._course.begin(ended.tick)
        self._admission.begin(ended.tick)

    def _ended(self, wait: WaitPlan, began: int, number: int | None) -> Waited | None:
        """How a wait has ended; None if it has not, as far as is known."""
        last = math.inf if wait.timeout is None else began + wait.timeout
        known = last if self._blind is None or self._blind[1] < began else min(last, self._blind[0] - 1)
        while self._edges and self._edges[0].tick <= known:
            edge = self._edges.popleft()
            if edge.tick >= began and edge.channel == wait.channel and (wait.rise if edge.level else wait.fall):
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
        for number, event in found:
            if event.kind != "tx" and event.reason == "late" and self.failure is None:
                self._underrun(number, event.tick, flush=True)
        return found

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
        if self.pending[0][0] < self.poller.now + near + count * each:
            now = self.backend.now() + self._hand
            in_time = next((n for n in range(count) if self.pending[n][0] < now + n * each // 2), count)
            if not in_time:
                self._underrun(self.fed, now, flush=False)
                return
            count = in_time
        super()._hand_over(count)

    def _underrun(self, number: int, now: int, flush: bool) -> None:
        """The sequence ends before this launch. flush: others may wait behind it in the board."""
        label = self.labels.get(number) or _Label(self.run_number, number, f"launch {number}")
        run = f" in run {label.run}" if label.run else ""
        index = number - self.fed
        tick = self.pending[index][0] if 0 <= index < len(self.pending) else now
        text = f"{label.where}{run}: it could not be queued in time, so it did not leave: the sequence ends before it"
        self._fail(Underrun(text, label.entry, label.run, tick))
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
        return WATCH_SECONDS if self._watching else super()._pause()

    def _busy(self, found: list[tuple[int, Event]]) -> bool:
        dense = bool(self.pending) and self.poller.now < self._admission.dense_until
        return dense or super()._busy(found)

    def follow(self, interrupt: Flag) -> Iterator[list[tuple[int, Event]]]:
        return super().follow(_Either(interrupt, self))

    def feed(self, status: Status | None = None) -> None:
        if self.failure is None:
            super().feed(status)


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
        self._sequence.remember = self._remember
        self.plan = plan

    def _start(self) -> None:
        if self.plan.finite:
            sequence_plan.check(self.plan, self.run.timescale, self.pace, self._backend.identity.name)
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
        return "all sent" if self.run.all_fed else "stop"

    def _follow(self, interrupt: Flag) -> Iterator[None]:
        for found in self._sequence.follow(interrupt):
            self._ready += self._labelled(self._outcomes(found))
            self._ready += self._sequence.waited
            self._sequence.waited.clear()
            yield
        if self._sequence.failure is not None:
            raise self._sequence.failure

    def _labelled(self, outcomes: list[Outcome]) -> list[Outcome]:
        """With the numbers of their entries."""
        labelled: list[Outcome] = []
        for outcome in outcomes:
            label = self._sequence.labels.pop(outcome.number)
            labelled.append(replace(outcome, number=label.entry, run=label.run))
        return labelled
