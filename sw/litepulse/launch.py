# SPDX-License-Identifier: BSD-2-Clause
"""Timed launches: each at its tick exactly or not at all."""

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from litepulse.backends.interface import DRIVER, LAUNCH_PROFILE, Backend, Batch, Status, Wanted
from litepulse.interrupt import Flag
from litepulse.job import POLL_SECONDS, Item, Job, Poller, check_alone
from litepulse.line import MARK, Launch, Profile, QueueWait
from litepulse.streams import Event, Lost, RxByte

_AHEAD = 256  # launches taken from the iterable before there is room for them
Entry = tuple[int, Launch]
QueueEntry = tuple[int, Launch | QueueWait]  # for a queue with waits


class SendRun:
    """Feeds timed launches into the queue and follows what became of each."""

    def __init__(
        self,
        backend: Backend,
        profile: Profile,
        launches: Iterable[QueueEntry | None],
        loopback: bool = False,
        profiles: Mapping[int, Profile] | None = None,
    ) -> None:
        """launches: (tick, Launch), ticks never decrease; taken as there is room, so the iterable may be long. None: nothing more yet.

        profile: of the line; profiles: of the launches, by number, None: it is that of all
        """
        self.backend, self.profile, self.loopback = backend, profile, loopback
        self.profiles = {LAUNCH_PROFILE: profile} if profiles is None else profiles
        self.timescale = backend.identity.timescale
        self.source = iter(launches)
        self.exhausted = False
        self.pending: list[QueueEntry] = []
        self.fed: int = 0
        self.others_fed = 0  # of these, what is no launch
        self.reported: int = 0
        self.launched: dict[int, int] = {}  # number: tick
        self.refused: dict[int, tuple[int, str]] = {}  # number: (tick, reason)
        self.received: list[RxByte] = []
        self.received_count = 0
        self.keep = True  # what became of each, in the three above
        self.hear: Callable[[RxByte], None] | None = None  # receives each byte
        self.rest: float | None = None  # seconds between two looks, None: as usual
        self._queued: deque[int] = deque()  # ticks of those that the queue has
        self.marks = all(each.format.to_port for each in self.profiles.values())  # the line is not used
        self.wanted = Wanted(("queue",), ("queue",), received=self._hears and not self.marks)
        self.poller = Poller(backend)

    @property
    def _hears(self) -> bool:
        """The kernel's tty has no inverted line: of what is sent there only the launches are seen."""
        return not (self.profile.format.invert and self.backend.identity.backend == DRIVER)

    def prepare(self) -> None:
        """Sets profiles, empties the queue, forgets what was recorded."""
        backend = self.backend
        if not self.marks:  # these do not use the line
            check_alone(backend)
            backend.line.set_receiver(self.profile, self.wanted.received, self.loopback)
        backend.line.set_profiles(self.profiles)
        backend.queue.flush()
        backend.recorder.record(self.wanted)
        backend.pledge(keep=False)

    def now(self) -> int:
        """The board's tick."""
        self._digest(self.poller.poll()[1])
        return self.poller.tick

    def soon(self, count: int) -> int:
        """A tick that the first launches reach in time, judged by how long two looks take."""
        backend = self.backend
        first = backend.now()
        self.now()
        now = backend.now()
        seconds = Fraction(1, 100) + backend.queue.seconds(min(count, backend.identity.launch_depth))
        return now + 8 * (now - first) + math.ceil(self.timescale.ticks(seconds))

    def feed(self, status: Status | None = None) -> None:
        """Fills the queue as far as there is room."""
        room = (status or self.backend.status()).launch_free
        while not self.exhausted and len(self.pending) < max(room, _AHEAD):
            try:
                entry = next(self.source)
            except StopIteration:
                self.exhausted = True
                break
            if entry is None:
                break
            self.pending.append(entry)
        self._hand_over(room)

    def _hand_over(self, room: int) -> None:
        """Gives the queue up to `room` of those that wait."""
        part = self.pending[:room]
        if part:
            taken = self.backend.queue.launch([(tick, (self.fed + i) & 0xFFFF, launch) for i, (tick, launch) in enumerate(part)])
            self.fed += taken
            self._queued.extend(tick for tick, _ in self.pending[:taken])
            del self.pending[:taken]

    def _pause(self) -> float | None:
        """Seconds to the next look: before half of the queue has left, if others wait for room there."""
        while self._queued and self._queued[0] < self.poller.now:
            self._queued.popleft()
        if not self.pending or not self._queued:
            return self.rest
        left = self.timescale.seconds(self._queued[len(self._queued) // 2] - self.poller.now)
        return min(POLL_SECONDS if self.rest is None else self.rest, float(left))

    def _busy(self, found: list[tuple[int, Event]]) -> bool:
        """The next look follows at once."""
        return len(found) >= 8

    @property
    def all_fed(self) -> bool:
        """Nothing is left that the queue has not."""
        return self.exhausted and not self.pending

    def _index(self, tag: int) -> int:
        """The number of the launch from its 16-bit tag: the queue is far shorter than 65536."""
        number = (self.fed & ~0xFFFF) | tag
        return number if number < self.fed else number - 0x10000

    def _digest(self, batch: Batch) -> list[tuple[int, Event]]:
        found: list[tuple[int, Event]] = []
        for event in batch.events:
            if isinstance(event, Lost) or event.source != "queue":
                continue
            number = self._index(event.tag)
            self.reported += 1
            if self.keep and event.kind == "tx":
                self.launched[number] = event.tick
            elif self.keep:
                self.refused[number] = (event.tick, event.reason or "unknown")
            found.append((number, event))
        heard = [byte for byte in batch.received if not isinstance(byte, Lost)]
        self.received_count += len(heard)
        if self.keep:
            self.received += heard
        if self.hear:
            for byte in heard:
                self.hear(byte)
        return found

    def follow(self, interrupt: Flag) -> Iterator[list[tuple[int, Event]]]:
        """Yields batches of (number, Event) until all is sent and the line is idle, or an interrupt came."""
        while not interrupt:
            status, batch = self.poller.poll()
            found = self._digest(batch)
            fed = self.fed
            if not self.all_fed:
                self.feed(status)
            yield found
            # All that left the queue before this look is reported, unless its record was lost.
            complete = self.reported >= self.fed or (self.fed == fed and status.queue_idle and self.backend.recorder.losses().events > 0)
            if self.all_fed and complete and (self.marks or not status.line_busy):
                break
            self.poller.pause(self._busy(found), self._pause())
        else:
            self.backend.queue.flush()
        settle = math.ceil(2 * self.profile.bit_period.ticks) + 64 * self.timescale.samples_per_cycle
        for _, batch in self.poller.wait_tick(self.backend.now() + settle):
            yield self._digest(batch)


@dataclass(frozen=True)
class Outcome:
    """What became of a launch.

    number: from 0 on, of a sequence that of its entry, in this run; byte: of a frame, bit times of a break; tick: when it left, or was
    refused; wanted: when it should have left; time: the tick in seconds since the board's reset, exact; reason: None if it left, else
    'late', 'busy', 'order' or 'invalid'; ns: the tick in the clock that was given to open(); kind: 'frame', 'break', 'pulse', or 'mark'
    with its code
    """

    number: int
    byte: int
    tick: int
    wanted: int
    time: Fraction
    reason: str | None
    ns: int | None = None
    run: int = 0
    kind: str = "frame"
    code: int | None = None


class Feed(Job[Item]):
    """Launches on their way, by a SendRun."""

    def __init__(self, backend: Backend, run: SendRun) -> None:
        super().__init__(backend)
        self._wanted: deque[tuple[int, int, str]] = deque()  # (number, tick, kind) of what is fed and not reported yet
        self.run = run

    def _prepare(self) -> None:
        self.run.prepare()

    def start(self, launches: Iterable[QueueEntry | None], keep: bool = True) -> None:
        """Begins to feed (tick, Launch), or None where nothing more is known yet.

        keep: all outcomes are kept in `run`, else only the caller that iterates has them
        """
        self.run.source = self._remember(launches)
        self.run.keep = keep
        self.run.feed()

    def _remember(self, launches: Iterable[QueueEntry | None]) -> Iterator[QueueEntry | None]:
        number = 0
        for entry in launches:
            if entry is not None:
                self._wanted.append((number, entry[0], self._kind(entry[1])))
                number += 1
            yield entry

    def _outcomes(self, found: Iterable[tuple[int, Event]]) -> list[Outcome]:
        """Of (number, Event) of run.follow()."""
        outcomes: list[Outcome] = []
        for number, event in found:
            while self._wanted and self._wanted[0][0] < number:
                self._wanted.popleft()  # its record was lost
            known = self._wanted and self._wanted[0][0] == number
            _, wanted, kind = self._wanted.popleft() if known else (number, event.tick, "frame")
            reason, data = None if event.kind == "tx" else event.reason or "unknown", event.data & 0xFF
            time, code = self.run.timescale.seconds(event.tick), data if kind == MARK else None
            outcomes.append(Outcome(number, data, event.tick, wanted, time, reason, event.ns, kind=kind, code=code))
        return outcomes

    def _kind(self, what: Launch | QueueWait) -> str:
        """Of a launch; a wait has no outcome."""
        if isinstance(what, QueueWait):
            return ""
        profile = self.run.profiles.get(what.profile, self.run.profile)
        return MARK if what.kind == "frame" and profile.format.to_port else what.kind

    @property
    def received(self) -> list[RxByte]:
        """What the board's own receiver has heard by now."""
        return self.run.received


class Send(Feed[Outcome]):
    """Launches on their way. Iterating over it gives what became of each, in order."""

    def __init__(self, backend: Backend, profile: Profile, loopback: bool, profiles: Mapping[int, Profile] | None = None) -> None:
        super().__init__(backend, SendRun(backend, profile, (), loopback, profiles))
        self.first_tick = 0

    def _follow(self, interrupt: Flag) -> Iterator[None]:
        for found in self.run.follow(interrupt):
            self._ready += self._outcomes(found)
            yield
