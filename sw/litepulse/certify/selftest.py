# SPDX-License-Identifier: BSD-2-Clause
"""LitePulse's own port, pin to pin over one wire from tx to rx: the tick at which each edge was launched against that at which it came.

Frames of random bytes leave at random distances. Edge k of a frame belongs at the launch's tick + floor(k * bit period).
"""

import math
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from litepulse.backends.interface import LAUNCH_PROFILE, Backend, Wanted
from litepulse.certify.analysis import levels_of
from litepulse.distribution import Distribution
from litepulse.errors import LitePulseError
from litepulse.interrupt import Flag
from litepulse.job import POLL_SECONDS, check_alone, tidy
from litepulse.layout import regs
from litepulse.line import Launch, Profile
from litepulse.streams import Event, Lost, edges

SPARE = 8  # event records that are left free
ENOUGH = 256  # records of a board that are used, also of one that holds more: what is missing is noticed as soon
GAP = 3  # bit times between two frames, at most
PATIENCE = Fraction(1, 10)  # seconds of the board's clock after which what is missing will not come


@dataclass
class SelfResult:
    """What came of it. delays: captured less launched, of each edge, in ticks; edges: launched.

    missing: edges that did not come; extra: edges of no launch; moved: frames that left at another
    tick than requested;
    refused: frames that did not leave, because they came to the board too late, and were requested again
    """

    delays: Distribution = field(default_factory=Distribution)
    frames: int = 0
    edges: int = 0
    missing: int = 0
    extra: int = 0
    moved: int = 0
    refused: int = 0

    @property
    def complaints(self) -> list[str]:
        """What was wrong, a sentence each."""
        found = [
            f"{number} {what}"
            for number, what in (
                (self.missing, "edges did not come"),
                (self.extra, "edges came that nobody launched"),
                (self.moved, "frames left at another tick than requested"),
            )
            if number
        ]
        if self.delays.count and (self.delays.least, self.delays.most) != (regs.LOOPBACK_TICKS, regs.LOOPBACK_TICKS):
            found.append(f"not every edge came {regs.LOOPBACK_TICKS} tick after its launch")
        return found


class SelfTest:
    """One run: `edges` of them at least."""

    def __init__(
        self, backend: Backend, profile: Profile, wanted: int, seed: int, interrupt: Flag, progress: Callable[[int], None]
    ) -> None:
        self.backend, self.profile, self.wanted = backend, profile, wanted
        self.interrupt, self.progress = interrupt, progress
        self.scale, self.bit = backend.identity.timescale, profile.bit_period.ticks
        self.length = Launch("frame", 0, LAUNCH_PROFILE).length(profile)
        self.room = min(backend.identity.event_depth, ENOUGH) - regs.EVENT_RESERVE - SPARE
        self.result = SelfResult()
        self.chance = random.Random(seed)
        self.pending: deque[tuple[int, int]] = deque()  # (tick, byte) of frames whose fate is not known
        self.expected: deque[tuple[int, int]] = deque()  # (tick, level) of edges that were launched
        self.captured: deque[tuple[int, int]] = deque()
        self.coming = 0  # edges of frames that are requested or launched, and have not come
        self.free = 0  # tick from which the line is free
        self.lead = 0  # ticks from now to a launch: the longest that launches took to the board of late, and half of that
        self.batch_refused = False

    def edges_of(self, byte: int) -> list[tuple[int, int]]:
        """(ticks from the start edge, level)."""
        levels = [1, *levels_of(byte, self.profile.format)]
        return [(math.floor(k * self.bit), level) for k, (before, level) in enumerate(zip(levels, levels[1:])) if level != before]

    def run(self) -> SelfResult:
        """All of it. LitePulseError if nothing is wired, KeyboardInterrupt if it is interrupted."""
        backend = self.backend
        check_alone(backend)
        mask = 1 << backend.identity.inputs
        try:
            backend.line.set_receiver(self.profile, False, False)
            backend.line.set_profile(LAUNCH_PROFILE, self.profile)
            backend.queue.flush()
            backend.recorder.record(Wanted(("queue",), ("queue",), rise=mask, fall=mask))
            backend.pledge(keep=False)
            before = backend.now()
            self.lead = 8 * (backend.now() - before) + math.ceil(self.scale.ticks(backend.queue.seconds(backend.identity.launch_depth)))
            while self.result.edges < self.wanted or self.pending or self.expected:
                if self.interrupt:
                    raise KeyboardInterrupt
                if self.result.edges < self.wanted:
                    self.feed()
                self.look()
                self.progress(self.result.delays.count)
        finally:
            tidy(backend)
        return self.result

    def feed(self) -> None:
        """As many frames as there is room for the records of."""
        room = self.room - self.coming - len(self.pending)
        most = self.backend.identity.launch_depth - len(self.pending)
        if room < self.room // 2 or most <= 0:
            return
        if self.batch_refused:
            self.lead, self.batch_refused = 2 * self.lead, False
        now = self.backend.now()
        tick = max(self.free, now + self.lead)
        entries: list[tuple[int, int, Launch]] = []
        while len(entries) < most:
            byte = self.chance.randrange(1 << self.profile.format.data_bits)
            records = 1 + len(self.edges_of(byte))
            if records > room:
                break
            room -= records
            self.coming += records - 1
            self.pending.append((tick, byte))
            entries.append((tick, len(entries), Launch("frame", byte, LAUNCH_PROFILE)))
            tick += self.length + self.chance.randrange(math.ceil(GAP * self.bit))
        self.free = tick
        taken = self.backend.queue.launch(entries)
        if taken < len(entries):
            raise LitePulseError(f"certify: the board took {taken} of {len(entries)} launches")
        self.lead = max(self.lead * 7 // 8, (self.backend.now() - now) * 3 // 2)

    def look(self) -> None:
        """What has happened."""
        batch = self.backend.recorder.read()
        for event in batch.events:
            if isinstance(event, Lost):
                raise LitePulseError(f"certify: {event} were lost on the board: more edges came than were launched; is the wire loose?")
            if event.kind == "edge":
                self.captured.extend((edge.tick, edge.level) for edge in edges(event, self.scale.samples_per_cycle))
            else:
                self.outcome(event)
        self.pair(batch.tick)
        if self.pending and batch.tick > self.pending[-1][0] + self.scale.ticks(PATIENCE):
            raise LitePulseError(f"certify: the board does not report what became of {len(self.pending)} launches")
        if not batch.events:
            self.backend.recorder.wait(POLL_SECONDS / 20)

    def outcome(self, event: Event) -> None:
        """A frame has left, or not."""
        tick, byte = self.pending.popleft()
        mine = self.edges_of(byte)
        if event.kind != "tx":
            self.result.refused += 1
            self.coming -= len(mine)
            self.batch_refused = True
            return
        self.result.frames += 1
        self.result.edges += len(mine)
        self.result.moved += event.tick != tick
        self.expected.extend((event.tick + k, level) for k, level in mine)

    def pair(self, now: int) -> None:
        """Edges that were launched with those that came."""
        half = self.bit / 2
        while self.expected:
            tick, level = self.expected[0]
            if self.captured and self.captured[0][0] < tick - half:
                self.captured.popleft()
                self.result.extra += 1
            elif self.captured and self.captured[0][0] <= tick + half and self.captured[0][1] == level:
                self.result.delays.add(self.captured.popleft()[0] - tick)
                self.expected.popleft()
                self.coming -= 1
            elif self.captured or now > tick + self.scale.ticks(PATIENCE):
                self.expected.popleft()
                self.coming -= 1
                self.result.missing += 1
                if not self.result.delays.count and self.result.missing > self.room:
                    raise LitePulseError("certify: no edge comes back: wire tx of the board to rx")
            else:
                return
        if not self.pending:
            self.result.extra += len(self.captured)
            self.captured.clear()
