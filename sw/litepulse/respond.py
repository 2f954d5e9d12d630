# SPDX-License-Identifier: BSD-2-Clause
"""The responder: a launch a fixed time after a trigger, by hardware."""

import math
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

from litepulse.backends.interface import LAUNCH_PROFILE, Backend, Batch, Wanted
from litepulse.errors import BadInput, shown
from litepulse.interrupt import Flag
from litepulse.job import Job, Poller, tidy, timescale_of
from litepulse.layout import CONFIG
from litepulse.line import Launch, Profile, Response, Trigger
from litepulse.streams import Lost, edges
from litepulse.units import WORD, Whole, whole, within

RESPONDER_LIMIT = (1 << CONFIG["resp_delay"].fields[0].size) - 1  # ticks of delay and holdoff

Answered = tuple[int, int, int | None]  # (number, tick, tick of the trigger's reference or None)
Missed = tuple[int, str]  # (tick, reason)


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


class RespondRun:
    """Arms the responder and follows its answers."""

    def __init__(
        self,
        backend: Backend,
        trigger: Trigger,
        launch: Launch,
        profile: Profile,
        delay: int,
        holdoff: int = 0,
        rearm: bool = True,
        exclusive: bool = False,
        ignore_own: bool = True,
        loopback: bool = False,
        echo: int | None = None,
    ) -> None:
        """delay, holdoff, echo: ticks."""
        self.backend, self.profile, self.loopback = backend, profile, loopback
        self.response = Response(trigger, launch, delay, holdoff, rearm, exclusive, ignore_own)
        self.samples = backend.identity.samples_per_cycle
        self.echo = echo
        self.poller = Poller(backend)
        self.answer_count = self.missed_count = 0
        self._references: deque[int] = deque()  # in order

    def prepare(self) -> None:
        """Sets profiles and forgets what was recorded. Then `echo` is as the core uses it."""
        backend, trigger = self.backend, self.response.trigger
        edge = trigger.kind == "edge"
        backend.set_receiver(self.profile, not edge, self.loopback, instead_of="responder")
        backend.set_profile(LAUNCH_PROFILE, self.profile)
        self.echo = backend.set_echo(self.echo)
        bit = 1 << trigger.channel if edge else 0
        backend.record(
            Wanted(
                ("responder",),
                missed=True,
                rise=bit if trigger.rise else 0,
                fall=bit if trigger.fall else 0,
                received=trigger.kind == "byte",
            )
        )
        backend.pledge(keep=False)

    def arm(self) -> None:
        """Arms it."""
        self.backend.arm(self.response)

    def _reference(self, tick: int) -> int | None:
        """The trigger that an answer at `tick` belongs to: the delay is fixed, so it is known exactly where to look."""
        wanted = tick - self.response.delay
        while self._references and self._references[0] < wanted:
            self._references.popleft()
        return wanted if self._references and self._references[0] == wanted else None

    def poll(self) -> tuple[list[Answered], list[Missed]]:
        """New answers and misses."""
        self.status, batch = self.poller.poll()
        return self._digest(batch)

    def _digest(self, batch: Batch) -> tuple[list[Answered], list[Missed]]:
        trigger = self.response.trigger
        for event in batch.events:
            if not isinstance(event, Lost) and event.kind == "edge":
                self._references += [e.tick for e in edges(event, self.samples) if e.channel == trigger.channel]
        if trigger.kind == "byte":
            length = math.floor(self.profile.format.bits * self.profile.bit_period.ticks)
            self._references += [b.tick + length for b in batch.received if not isinstance(b, Lost)]
        answers: list[Answered] = []
        missed: list[Missed] = []
        for event in batch.events:
            if isinstance(event, Lost) or event.source != "responder":
                continue
            if event.kind == "tx":
                answers.append((event.tag, event.tick, self._reference(event.tick)))
            elif event.kind == "responder_missed":
                missed.append((event.tick, event.reason or "unknown"))
        # What triggered nothing that was told within the longest delay has no answer.
        oldest = self.poller.tick - 2 * RESPONDER_LIMIT
        while self._references and self._references[0] < oldest:
            self._references.popleft()
        self.answer_count += len(answers)
        self.missed_count += len(missed)
        return answers, missed

    def follow(self, interrupt: Flag) -> Iterator[tuple[list[Answered], list[Missed]]]:
        """Yields (answers, missed) until interrupted or, without re-arm, the one trigger came."""
        while not interrupt:
            answers, missed = self.poll()
            yield answers, missed
            if not self.status.responder_armed and not answers and not missed:
                # It has answered, but that may take a moment to be told.
                for _, batch in self.poller.wait_tick(self.backend.now()):
                    yield self._digest(batch)
                return
            self.poller.pause(len(answers) >= 8)


@dataclass(frozen=True)
class Answer:
    """An answer of the responder, or a miss.

    tick: of the launch; time: the same in seconds since the board's reset, exact; delay: ticks since the trigger's reference, None if
    the trigger's record is not known; reason: None, or why nothing was launched: 'late', 'busy'. number: None for a miss
    """

    number: int | None
    tick: int
    time: Fraction
    delay: int | None
    reason: str | None = None


class Responder(Job[Answer]):
    """An armed responder. Iterating over it gives its answers and misses; stop(), close() or the board's close() disarms it."""

    def __init__(self, run: RespondRun, ended: Callable[[], None]) -> None:
        super().__init__(run.backend, ended)
        self._run = run
        self._batches = run.follow(self._flag)

    def _prepare(self) -> None:
        self._run.prepare()

    def _start(self) -> None:
        self._run.arm()

    @property
    def delay(self) -> int:
        """Ticks from the trigger's reference to the launch."""
        return self._run.response.delay

    def _take(self, answers: list[Answered], missed: list[Missed]) -> None:
        seconds = timescale_of(self._run.backend).seconds
        for number, tick, reference in answers:
            self._ready.append(Answer(number, tick, seconds(tick), None if reference is None else tick - reference))
        for tick, reason in missed:
            self._ready.append(Answer(None, tick, seconds(tick), None, reason))

    def _advance(self, interrupt: Flag) -> bool:
        batch = next(self._batches, None)
        if batch is None:
            return False
        self._take(*batch)
        return True

    def _finish(self) -> None:
        self._run.backend.disarm()
        self._take(*self._run.poll())
        self._count_losses()
        tidy(self._run.backend)

    def _abandon(self) -> None:
        tidy(self._run.backend)
