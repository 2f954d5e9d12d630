# SPDX-License-Identifier: BSD-2-Clause
"""The responder: a launch, or a burst of them, a fixed time after a trigger, by hardware."""

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

from litepulse.backends.interface import LAUNCH_PROFILE, Backend, Batch, Wanted
from litepulse.errors import BadInput, shown
from litepulse.interrupt import Flag
from litepulse.job import Job, Poller
from litepulse.layout import BURST_MIN_CYCLES, CONFIG, SAMPLES_LATENCY, place
from litepulse.line import Launch, Profile, Response, Trigger
from litepulse.plan import Time
from litepulse.streams import Event, Lost, edges
from litepulse.units import WORD, Timescale, Whole, whole, within

RESPONDER_LIMIT = (1 << CONFIG["resp_delay"].fields[0].size) - 1  # ticks of delay and holdoff
PULSES_LIMIT = place(CONFIG["resp_trigger"], "burst")[1] + 1
_REPORTED_TICKS = 1 << 24  # behind a launch, its record has been read
_REFERENCES = 1 << 18  # triggers that are remembered at most


def Edge(channel: Whole | str, way: str = "rise") -> Trigger:
    """Triggers on an edge of an input (its number) or of the line ('rx', or the number behind the last input): 'rise', 'fall', 'both'."""
    if way not in ("rise", "fall", "both"):
        raise BadInput(f"edge: {shown(way)} is not rise, fall or both")
    try:
        number = -1 if isinstance(channel, str) and channel == "rx" else within(cast(Whole, channel), "edge", 0, WORD)
    except BadInput:
        raise BadInput(f"edge: {shown(channel)} is not the number of an input, nor rx") from None
    return Trigger("edge", number, way != "fall", way != "rise")


def Byte(value: Whole, mask: Whole = 0xFF) -> Trigger:
    """Triggers on a received byte with these bits where the mask has ones."""
    wanted, bits = whole(value, "byte"), whole(mask, "byte")
    if not 0 <= wanted <= 255 or not 0 <= bits <= 255:
        raise BadInput(f"byte: {wanted}/{bits} does not fit a byte (0 to 255)")
    return Trigger("byte", value=wanted, mask=bits)


def Break() -> Trigger:
    """Triggers on a break."""
    return Trigger("break")


def check_trigger(on: object) -> None:
    """BadInput unless it is a Trigger."""
    if not isinstance(on, Trigger):
        raise BadInput(f"on: {shown(on)} is not an Edge, a Byte or a Break")


def check_echo(echo: object, own: bool) -> None:
    """BadInput if an echo's time is given (not None) although our own transmission triggers, too."""
    if echo is not None and own:
        raise BadInput("echo and own exclude each other: echo says for how long our own transmission does not trigger, with own it does")


def check_burst(pulses: Whole, every: object, holdoff: object) -> int:
    """The number of pulses, or BadInput unless it, `every` and `holdoff` (None: not given) fit together."""
    number = within(pulses, "pulses", 1, PULSES_LIMIT)
    if number == 1 and every is not None:
        raise BadInput("every: it is the time between the pulses of a burst: give pulses, 2 or more, too")
    if number > 1 and every is None:
        raise BadInput(f"pulses: {number} of them need every, the time from one to the next")
    if number > 1 and holdoff is not None:
        raise BadInput("holdoff: behind the last pulse of a burst triggers are ignored for as long as every says: leave it out")
    return number


def period_of_burst(timescale: Timescale, every: Time, launch: Launch, profile: Profile) -> int:
    """Ticks from pulse to pulse, or BadInput if the core cannot do that, or one is not over when the next begins."""
    samples = timescale.samples_per_cycle
    least = (BURST_MIN_CYCLES + (SAMPLES_LATENCY if samples > 1 else 0)) * samples
    ticks = timescale.whole_ticks(every, "every", least, RESPONDER_LIMIT)
    length = launch.length(profile)
    if ticks < length:
        named = timescale.named
        raise BadInput(f"every: the pulses would overlap: one takes {named(length)}, the next begins after {named(ticks)}")
    return ticks


@dataclass(frozen=True)
class RespondPlan:
    """A response as the board does it.

    echo: ticks behind its end for which our own transmission may come back without triggering, None: the core's least
    """

    response: Response
    profile: Profile
    loopback: bool = False
    echo: int | None = None


@dataclass(frozen=True)
class Answer:
    """An answer of the responder, or a miss.

    tick: of the launch; time: the same in seconds since the board's reset, exact; delay: ticks since the trigger's reference, None if
    the trigger's record is not known; reason: None, or why nothing was launched: 'late', 'busy'. number: of the answer since the
    responder was armed, None for a miss; of a burst: of the pulse within it, from 0, also for a miss
    """

    number: int | None
    tick: int
    time: Fraction
    delay: int | None
    reason: str | None = None


class Responder(Job[Answer]):
    """An armed responder. Iterating over it gives its answers and misses; stop(), close() or the board's close() disarms it."""

    def __init__(self, backend: Backend, plan: RespondPlan) -> None:
        super().__init__(backend)
        self.plan = plan
        self.echo = plan.echo  # as the core uses it, once it is armed
        self.poller = Poller(backend)
        self._seconds = backend.identity.timescale.seconds
        self._samples = backend.identity.samples_per_cycle
        self._references: deque[int] = deque(maxlen=_REFERENCES)  # in order
        self._reference: int | None = None  # that of the last answer whose trigger is known
        trigger = plan.response.trigger
        self._edge_channel = trigger.channel if trigger.kind == "edge" else None

    @property
    def delay(self) -> int:
        """Ticks from the trigger's reference to the launch, the first one of a burst."""
        return self.plan.response.delay

    @property
    def every(self) -> int | None:
        """Ticks from pulse to pulse of a burst; None without one."""
        return self.plan.response.holdoff if self.plan.response.burst else None

    def _prepare(self) -> None:
        """Sets profiles and forgets what was recorded."""
        backend, plan, trigger = self._backend, self.plan, self.plan.response.trigger
        backend.responder.check(plan.response)
        backend.line.set_receiver(plan.profile, trigger.kind != "edge", plan.loopback, instead_of="responder")
        backend.line.set_profile(LAUNCH_PROFILE, plan.profile)
        self.echo = backend.line.set_echo(plan.echo)
        bit = 0 if self._edge_channel is None else 1 << self._edge_channel
        backend.recorder.record(
            Wanted(
                ("responder",),
                missed=True,
                rise=bit if trigger.rise else 0,
                fall=bit if trigger.fall else 0,
                received=trigger.kind == "byte",
            )
        )
        backend.pledge(keep=False)

    def _start(self) -> None:
        self._backend.responder.arm(self.plan.response)

    def _follow(self, interrupt: Flag) -> Iterator[None]:
        """Until interrupted or, without re-arm, the one trigger came."""
        while not interrupt:
            status, batch = self.poller.poll()
            found = self._digest(batch)
            yield
            if not status.responder_armed and not found:
                # It has answered, but the report may take a moment.
                for _, batch in self.poller.wait_tick(self._backend.now()):
                    self._digest(batch)
                    yield
                return
            self.poller.pause(found >= 8)

    def _digest(self, batch: Batch) -> int:
        """Takes the answers and misses of a batch; how many."""
        self._note_references(batch)
        found = [
            self._answer(event)
            for event in batch.events
            if not isinstance(event, Lost) and event.source == "responder" and event.kind in ("tx", "responder_missed")
        ]
        self._ready += found
        # A trigger whose first answer was not reported by now has none.
        self._forget(self.poller.tick - self.delay - _REPORTED_TICKS)
        return len(found)

    def _answer(self, event: Event) -> Answer:
        """Of its record."""
        response, time = self.plan.response, self._seconds(event.tick)
        delay = response.delay_of(event.tag if response.burst else 0)
        # A late one has the tick at which that was found, any other one that at which it was to be launched.
        known = event.reason != "late" and self._is_known(event.tick, delay)
        if event.kind == "tx":
            return Answer(event.tag, event.tick, time, delay if known else None)
        return Answer(event.tag if response.burst else None, event.tick, time, None, event.reason or "unknown")

    def _note_references(self, batch: Batch) -> None:
        """The triggers of a batch."""
        for event in batch.events:
            if not isinstance(event, Lost) and event.kind == "edge":
                self._references += [e.tick for e in edges(event, self._samples) if e.channel == self._edge_channel]
        if self.plan.response.trigger.kind == "byte":
            length = math.floor(self.plan.profile.format.bits * self.plan.profile.bit_period.ticks)
            self._references += [b.tick + length for b in batch.received if not isinstance(b, Lost)]

    def _forget(self, tick: int) -> None:
        """The triggers before a tick."""
        while self._references and self._references[0] < tick:
            self._references.popleft()

    def _is_known(self, tick: int, delay: int) -> bool:
        """Whether the trigger that an answer at `tick` belongs to was recorded: the delay is fixed, so its place is known exactly."""
        wanted = tick - delay
        self._forget(wanted)
        if self._references and self._references[0] == wanted:
            self._reference = wanted
        self._forget(tick + 1)  # until its launch a trigger is ignored: none of them has an answer
        return self._reference == wanted

    def _finish(self) -> None:
        self._backend.responder.disarm()
        self._digest(self.poller.poll()[1])
