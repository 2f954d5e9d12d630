# SPDX-License-Identifier: BSD-2-Clause
"""How long something takes to respond: stimuli leave at exact ticks, responses are captured, and each pair gives a delay in ticks."""

import heapq
import math
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from litepulse.backends.interface import Backend, Batch, Status, Wanted
from litepulse.distribution import Distribution
from litepulse.errors import BadInput
from litepulse.interrupt import Flag
from litepulse.job import POLL_SECONDS, Job
from litepulse.launch import SendRun
from litepulse.line import Launch, Profile, Trigger
from litepulse.pairing import ANSWERED, REFUSED, Pairing, Sample
from litepulse.streams import Event, Lost, edges

DEFAULT_TIMEOUT = Fraction(1)  # seconds


@dataclass(frozen=True)
class LatencyPlan:
    """A measurement as the board does it. Times are ticks.

    launch: the stimulus; on: the response, None: the byte that left comes back, each stimulus another one
    interval, jitter: from stimulus to stimulus, interval plus or minus up to jitter, by random numbers of `seed`
    count: of stimuli, 0: without end; duration: no stimulus later than this after the first; start:
    of the first, None: soon
    timeout: how long a response is waited for; blank: what comes sooner is no response; holdoff:
    what comes within this time after a response is part of it
    offset: delays count from this time after the stimulus's start edge; filter: levels of fewer
    samples are ignored
    """

    launch: Launch
    profile: Profile
    on: Trigger | None
    interval: int
    jitter: int
    seed: int
    count: int
    duration: int | None
    start: int | None
    timeout: int
    blank: int
    holdoff: int
    offset: int
    filter: int
    loopback: bool

    def stimulus(self, number: int) -> Launch:
        """What leaves."""
        if self.on is not None:
            return self.launch
        return Launch("frame", number % self.values(self.profile), self.launch.profile)

    @staticmethod
    def values(profile: Profile) -> int:
        """How many bytes differ."""
        return 1 << profile.format.data_bits


def check_intervals(backend: Backend, launch: Launch, profile: Profile, interval: int, jitter: int) -> None:
    """BadInput unless each stimulus is over when the next begins."""
    if not 0 <= jitter <= interval:
        named = backend.identity.timescale.named
        raise BadInput(f"jitter: {named(jitter)} is outside 0 to {named(interval)}, the interval")
    length, shortest = launch.length(profile), interval - jitter
    if shortest < max(length, 1):
        named = backend.identity.timescale.named
        raise BadInput(
            f"interval: the stimuli would overlap: one takes {named(length)}, "
            f"the shortest distance (interval less jitter) is {named(shortest)}"
        )


def check_timeout(backend: Backend, timeout: int | None, shortest: int, profile: Profile, on: Trigger | None) -> int:
    """The timeout to use, or BadInput if a byte could leave twice within it."""
    second = math.floor(backend.identity.timescale.ticks(DEFAULT_TIMEOUT))
    if on is not None:
        return second if timeout is None else timeout
    longest = LatencyPlan.values(profile) * shortest - 1
    if timeout is not None and timeout > longest:
        named = backend.identity.timescale.named
        raise BadInput(
            f"timeout: {named(timeout)} is more than {named(longest)}, when the same byte may leave again: "
            "use a longer interval, or less jitter"
        )
    return min(second, longest) if timeout is None else timeout


class _Stimuli(SendRun):
    """The launches of a plan, and all that is recorded meanwhile."""

    def __init__(self, backend: Backend, plan: LatencyPlan) -> None:
        super().__init__(backend, plan.profile, (), plan.loopback)
        self.keep = False
        self.plan = plan
        on, mask = plan.on, 0
        if on and on.kind == "edge":
            mask = 1 << on.channel
        self.wanted = Wanted(
            ("queue",),
            ("queue",),
            rise=mask if on and on.rise else 0,
            fall=mask if on and on.fall else 0,
            filtered=mask if plan.filter else 0,
            filter=plan.filter,
            received=not mask,
        )
        self.first: int | None = None  # tick of the first stimulus
        self.looks: list[tuple[Batch, list[tuple[int, Event]], bool]] = []  # (records, launches among them, whether records were lost)
        self.rest = min(POLL_SECONDS, float(self.timescale.seconds(plan.interval) * backend.identity.launch_depth / 4))
        self._random = random.Random(plan.seed)
        self._next = self._made = self._lost = 0
        self._look = 0  # ticks from one look to the next, at most by now
        self._looked: int | None = None

    def begin(self) -> None:
        """Plans and feeds the first ones."""
        plan = self.plan
        self.first = self._next = self.soon(plan.count or self.backend.identity.launch_depth) if plan.start is None else plan.start
        self.feed()

    def _done(self) -> bool:
        """No further stimulus is to be made."""
        plan, first = self.plan, self.first or 0
        return bool(plan.count and self._made >= plan.count) or (plan.duration is not None and self._next >= first + plan.duration)

    def feed(self, status: Status | None = None) -> None:
        """Fills the queue. When it ran dry, the next stimuli leave later: a longer gap changes no latency."""
        room = (status or self.backend.status()).launch_free
        while len(self.pending) < room and not self._done():
            self.pending.append((self._next, self.plan.stimulus(self._made)))
            self._made += 1
            self._next += self.plan.interval + self._random.randint(-self.plan.jitter, self.plan.jitter)
        part = self.pending[:room]
        if part and self.fed:
            way = math.ceil(self.timescale.ticks(self.backend.queue.seconds(len(part))))
            late = self.poller.tick + 2 * self._look + way - part[0][0]
            if late > 0:
                self._next += late
                self.pending = [(tick + late, launch) for tick, launch in self.pending]
        self._hand_over(room)

    @property
    def all_fed(self) -> bool:
        return self._done() and not self.pending

    def _digest(self, batch: Batch) -> list[tuple[int, Event]]:
        found = super()._digest(batch)
        lost = self.backend.recorder.losses().total
        self.looks.append((batch, found, lost != self._lost))
        self._lost = lost
        if self._looked is not None:
            self._look = max(self._look, batch.tick - self._looked)
        self._looked = batch.tick
        return found


class Latency(Job[Sample]):
    """A running measurement. Iterating over it gives a Sample for each stimulus, and for each response that belongs to none.

    `plan`: what was requested, in ticks; `delays`: the distribution of the delays by now, in ticks;
    `counts`: {Sample.outcome: how often} by now; `overtaken`: responses that came after the next
    stimulus, as far as that is known
    """

    def __init__(self, backend: Backend, plan: LatencyPlan) -> None:
        super().__init__(backend)
        self.plan = plan
        self.delays = Distribution()
        self.counts: Counter[str] = Counter()
        self.overtaken = 0
        self._stimuli = _Stimuli(backend, plan)
        self.poller = self._stimuli.poller
        self._pairing = Pairing(plan.timeout, plan.blank, plan.offset, plan.on is None, plan.holdoff)
        # Records in the order of time, of both streams: (tick, responses before stimuli, running number, record).
        self._records: list[tuple[int, int, int, tuple[int, Event] | tuple[int, bool]]] = []
        self._serial = 0
        # How long after its tick a record may come: a byte is stored at its end, an edge once the filter has accepted it.
        self._lag = 64 * backend.identity.samples_per_cycle + plan.filter
        if self._stimuli.wanted.received:
            self._lag += math.ceil((plan.profile.format.bits + 2) * plan.profile.bit_period.ticks)

    @property
    def first(self) -> int | None:
        """Tick of the first stimulus."""
        return self._stimuli.first

    @property
    def stimuli(self) -> int:
        """That left, by now."""
        return self._stimuli.reported - self.counts[REFUSED]

    def _prepare(self) -> None:
        self._stimuli.prepare()

    def _follow(self, interrupt: Flag) -> Iterator[None]:
        """Gives what is certain by each look, until all stimuli have had their time, or an interrupt came."""
        self._stimuli.begin()
        for _ in self._stimuli.follow(interrupt):
            self._ready += self._take()
            yield
        now = self.poller.tick
        # Further responses to the last stimulus are counted as those to the others are: until the next one would leave.
        least = now + self._lag + min(self.plan.timeout, self.plan.interval + self.plan.jitter)
        most = now + self._lag + self.plan.timeout + 1
        while not interrupt and self.poller.tick < (most if self._pairing.waiting else least):
            self._backend.recorder.wait(min(POLL_SECONDS, float(self._stimuli.timescale.seconds(self.plan.timeout))))
            self._stimuli.now()
            self._ready += self._take()
            yield
        self._ready += self._count(self._pair(self.poller.tick) + self._pairing.end())

    def _take(self) -> list[Sample]:
        """The samples of the looks since the last call."""
        samples: list[Sample] = []
        for batch, launches, lost in self._stimuli.looks:
            if lost:
                self._pairing.blind(batch.tick)
            for number, event in launches:
                self._add(event.tick, 1, (number, event))
            on = self.plan.on
            for event in batch.events:
                if not isinstance(event, Lost) and event.kind == "edge" and on:
                    for edge in edges(event, self._backend.identity.samples_per_cycle):
                        if edge.channel == on.channel:
                            self._add(edge.tick, 0, (0, True))
            for byte in batch.received:
                if isinstance(byte, Lost):
                    continue
                broken = byte.parity_error or byte.framing_error
                if on is None:
                    self._add(byte.tick, 0, (byte.data, not broken and not byte.is_break))
                elif byte.is_break if on.kind == "break" else not byte.is_break and byte.data & on.mask == on.value & on.mask:
                    self._add(byte.tick, 0, (byte.data, on.kind == "break" or not broken))
            samples += self._pair(batch.tick - self._lag)
        self._stimuli.looks.clear()
        return self._count(samples)

    def _add(self, tick: int, order: int, record: tuple[int, Event] | tuple[int, bool]) -> None:
        self._serial += 1
        heapq.heappush(self._records, (tick, order, self._serial, record))

    def _pair(self, horizon: int) -> list[Sample]:
        """All records up to a tick."""
        samples: list[Sample] = []
        while self._records and self._records[0][0] <= horizon:
            tick, _, _, (number, record) = heapq.heappop(self._records)
            if isinstance(record, bool):
                samples += self._pairing.response(tick, number, record)
            elif record.kind == "tx":
                samples += self._pairing.stimulus(tick, number, record.data & 0xFF)
            else:
                samples += self._pairing.refused(number, tick, record.reason or "unknown")
        return samples + self._pairing.pass_time(horizon)

    def _count(self, samples: list[Sample]) -> list[Sample]:
        for sample in samples:
            self.counts[sample.outcome] += 1
            self.overtaken += sample.overtaken
            if sample.outcome == ANSWERED and sample.delay is not None:
                self.delays.add(sample.delay)
        return samples
