# SPDX-License-Identifier: BSD-2-Clause
"""A train that follows a clock: pulse n is at a second of it + n / rate, for as long as both run.

Once a second its period is changed a little, without a glitch, so that a second later the pulses are where they belong. Between two
changes they are evenly spaced, and all that a change does is in the record. While the clock is away the last period goes on.

The board's own PTP clock is followed by the kernel's driver instead, exactly: it knows that clock as a function of the ticks.
"""

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from litepulse.backends.interface import Batch, Rhythm
from litepulse.errors import BadInput, LitePulseError, Refused
from litepulse.event_clock import feed, with_edges
from litepulse.interrupt import Flag
from litepulse.measurement import IdealTrain, TrainListener, TrainRecord
from litepulse.named_time import next_of
from litepulse.plan import TrainPlan, When, named_of
from litepulse.reference import FedSeconds, PpsSeconds, Seconds, second_text
from litepulse.streams import Event
from litepulse.train import CHANGES, Row, Train, change_train
from litepulse.units import NANO, WORD, Period

if TYPE_CHECKING:
    from litepulse.board import Board

_LEAD = Fraction(1, 10)  # seconds that a change is asked for ahead of its pulse
_BEGIN = Fraction(1, 2)  # seconds that the train's words need before its first pulse, and more
_NEAR = Fraction(3, 2)  # seconds before its first pulse, the train is started
_STEP = Fraction(1, 1000)  # seconds: what is farther off is a step of the clock
PASSED = "start: that time has passed, or is too near"
MOST_PULSES = (1 << 31) - 1  # of a Rhythm
READY_SECONDS = 10  # in which a pulse per second has to come


@dataclass(frozen=True)
class Steered:
    """A change, or that there was none.

    second: of the clock; pulse: the first at its new place, None: nothing was changed; error: by how many ticks the one before it is
    late; ppm: by how much the board's clock is fast against the other; uncertainty: of the clock, ns
    why: 'locked', 'stepped' (the train followed a step), 'step' (one that it is not to follow), 'away' (the clock does not come in),
        'driver' (a change of the clock's rate, which the driver followed; error: by how many ticks it moved the pulse back)
    """

    second: Fraction
    pulse: int | None
    error: Fraction
    ppm: Fraction
    uncertainty: int
    why: str


def period_of_ticks(ticks: Fraction) -> Period:
    """The nearest Period; all have the same denominator, so that no change loses a fraction."""
    scaled = round(ticks * WORD)
    return Period(scaled // WORD, scaled % WORD, 0)


class Disciplined(Train):
    """A running train that follows a clock.

    seconds: that clock; steered: what was done, second by second
    """

    def __init__(
        self,
        board: "Board",
        plan: TrainPlan,
        seconds: Seconds,
        rate: Fraction,
        start: When | None = None,
        steps: bool = False,
        limit: int | None = None,
        listener: TrainListener | None = None,
    ) -> None:
        """rate: pulses in a second of the clock; start: of pulse 0, a time of the same clock, None: a whole second, soon; steps: of the
        clock are followed."""
        named = None if start is None else named_of(start, "start")
        if start is not None and (named is None or named.clock != seconds.key):
            example = "1234.5" if named is not None and named.counts or seconds.key[:3] in ("phc", "har") else "12:00:00"
            raise BadInput(f"start: of a train that follows {seconds.key} it is a time of that clock: {seconds.key}:{example}")
        if isinstance(seconds, FedSeconds) and seconds.channel == board.identity.inputs:
            raise BadInput("clock: the train's own pulses may come back on rx: the clock comes in at an input, harp:0")
        super().__init__(board.backend, replace(plan, period=period_of_ticks(plan.period.ticks)), limit, listener)
        self.seconds, self.rate = seconds, rate
        self.steered: list[Steered] = []
        self._named, self._steps = named, steps
        self._first: Fraction | None = None
        self._hz = board.tick_hz
        self._worst = Fraction(0)
        self._due = 0  # tick of the next look
        self._requested: int | None = None  # first pulse of a change that is not reported yet

    @property
    def first(self) -> Fraction:
        """The second of pulse 0, once the train has been started; behind a step, the one that pulse 0 would have had."""
        assert self._first is not None
        return self._first

    def _prepare(self) -> None:
        super()._prepare()
        if isinstance(self.seconds, FedSeconds):
            self._backend.recorder.record(with_edges(self._wanted(), self.seconds))

    def _starting(self) -> Iterator[None]:
        yield from self._wait_for_first()
        if self._done:
            return
        start = math.floor(self.seconds.tick_of(self.first))
        if start <= self.seconds.look():
            raise BadInput(PASSED)
        ahead = self._horizon()
        period = period_of_ticks((self._place(ahead) - self._place(0)) / ahead)
        self._begin_record(start, period)
        yield from super()._starting()
        self._due = start

    def _begin_record(self, start: int, period: Period) -> None:
        """From now on the train is one that starts at a tick."""
        self.plan = replace(self.plan, start=start, period=period)
        self.record = TrainRecord(IdealTrain(period, start), self.record.limit, self.record.listener)

    def _wait_for_first(self) -> Iterator[None]:
        """Waits until the clock is known, and its second of pulse 0 is near."""
        now = begun = self.seconds.look()
        deadline = time.monotonic() + 2 * READY_SECONDS
        while not self._flag:
            self._poll()
            now = self.seconds.look()
            if self.seconds.ready:
                if self._first is None:
                    second = self.seconds.second_of(now)
                    self._first = next_of(self._named, second) if self._named else Fraction(math.ceil(second + _BEGIN))
                if self.seconds.second_of(now) >= self._first - _NEAR:
                    break
            elif now - begun > READY_SECONDS * self._hz or time.monotonic() > deadline:
                never = "do not come in: none of them" if isinstance(self.seconds, PpsSeconds) else "does not come in: nothing"
                raise LitePulseError(f"clock: {self.seconds.name} {never} in {READY_SECONDS} s")
            self._backend.recorder.wait(0.002)
            yield
        else:
            self._done = True

    def _place(self, pulse: int) -> Fraction:
        """Where a pulse belongs."""
        return self.seconds.tick_of(self.first + pulse / self.rate)

    def _horizon(self) -> int:
        """Pulses from a change to the next one."""
        return max(1, round(self.rate))

    def _digest(self, batch: Batch) -> list[Row]:
        if isinstance(self.seconds, FedSeconds):
            feed(self.seconds, batch, self.timescale.samples_per_cycle)
        return super()._digest(batch)

    def _changed(self, pulse: int) -> None:
        super()._changed(pulse)
        if self._requested is not None and pulse >= self._requested:
            self._requested = None

    def _follow(self, interrupt: Flag) -> Iterator[None]:
        for _ in super()._follow(interrupt):
            yield
            if not self._done:
                self._steer()

    def _steer(self) -> None:
        """Once a second: looks where the pulses are, and where they belong."""
        if self.poller.tick < self._due:
            return
        now = self.seconds.look()
        ideal = self.record.ideal
        pulse = max(1, ideal.first_behind(now + math.ceil(_LEAD * self._hz)))
        if self._requested is not None:
            if now < ideal.position(self._requested) + self._hz:
                return
            self._requested = None  # it was refused, or its record was lost
        if ideal.changes and pulse <= ideal.changes[-1][0]:
            return
        if self.plan.count and pulse >= self.plan.count:
            return
        self._due = now + math.floor(self._hz * max(Fraction(1), 1 / self.rate))
        # The new period counts from the pulse before on.
        before, place = ideal.exact(pulse - 1), self._place(pulse - 1)
        error = before - place
        if not self.seconds.holds(now):
            return self._note(pulse - 1, None, error, "away")
        far = abs(error) > _STEP * self._hz
        if far and not self._steps:
            return self._note(pulse - 1, None, error, "step")
        step, ahead = 0, self._horizon()
        if far:  # one longer distance, and each pulse has the place of another one: none can come earlier than it was to
            pulses = math.ceil(error * self.rate / self._hz)
            self._first = self.first + pulses / self.rate
            step = round(self._place(pulse - 1) - before)
        period = period_of_ticks((self._place(pulse - 1 + ahead) - before - step) / ahead)
        try:
            change_train(self._backend, ideal.last_period, period, step, pulse)
        except Refused as refused:
            if refused.reason not in ("late", "busy", None):
                raise
            self._due = now  # the next look tries again
            return None
        self._requested = pulse
        return self._note(pulse - 1, pulse, error, "stepped" if far else "locked")

    def _note(self, at: int, pulse: int | None, error: Fraction, why: str) -> None:
        second = self.first + at / self.rate
        rate = self.seconds.tick_of(second + 1) - self.seconds.tick_of(second)
        self.steered.append(Steered(second, pulse, error, (rate / self._hz - 1) * 1_000_000, self.seconds.uncertainty, why))
        if why == "locked":
            self._worst = max(self._worst, abs(error))
        del self.steered[:-CHANGES]

    @property
    def worst(self) -> int:
        """By how many ns a pulse was away from its place at most, as seen at the changes, without steps."""
        return math.ceil(self._worst * NANO / self._hz)

    @property
    def began(self) -> str:
        """`first`, as UTC or the clock has it."""
        return second_text(self.seconds.key, self.first)


def can_follow(board: "Board", rate: Fraction) -> bool:
    """Whether the driver can follow the board's PTP clock with so many pulses a second."""
    share = rate / NANO
    return board.backend.train.can_follow and share.numerator <= MOST_PULSES and share.denominator < WORD * WORD


class DisciplinedByDriver(Disciplined):
    """A running train that follows the PTP clock of its board, as the driver does it: each pulse is less than a tick from its time.

    `steered` has what the driver changed. A step of the clock ends the train.
    """

    _change: tuple[int, Period] | None = None  # from which pulse on, whose place is not known yet

    def _starting(self) -> Iterator[None]:
        yield from self._wait_for_first()
        if not self._done:
            yield from Train._starting(self)

    def _request(self) -> None:
        origin, share = self.first * NANO, self.rate / NANO
        if origin.denominator != 1:
            raise BadInput("start: the PTP clock has whole nanoseconds")
        rhythm = Rhythm(int(origin), share.denominator, share.numerator)
        start, skipped = self._backend.train.follow(self.plan.launch, rhythm, self.plan.count)
        if skipped and self._named is not None:
            raise BadInput(PASSED)
        self._first = self.first + skipped / self.rate
        self._begin_record(start, self._period())

    def _period(self) -> Period:
        """The one that the driver has given the train last."""
        settings = self._backend.train.settings()
        return settings.period if settings is not None else self.record.ideal.last_period

    def _begins_again(self) -> bool:
        """A change of rate before the first pulse is a new start."""
        return not self.record.launched_count

    def _changed(self, pulse: int) -> None:
        period = self._period()
        if pulse:
            self._change = (pulse, period)
        else:
            self.record.ideal = IdealTrain(period)

    def _expect(self, event: Event) -> None:
        """The whole ticks of a change show at its pulse; where that was lost, at the next one."""
        if self._change is None or event.data < self._change[0]:
            return
        (pulse, period), ideal = self._change, self.record.ideal
        self._change = None
        was = ideal.exact(pulse)
        ideal.adjust(pulse, period)
        step = event.tick - ideal.position(event.data)
        if step:
            ideal.changes.pop()
            ideal.adjust(pulse, period, step)
        self.changes.append((pulse, period, step))
        if self.record.limit is not None:
            del self.changes[:-CHANGES]
            ideal.forget(CHANGES)
        ppm = (period.ticks * self.rate / self._hz - 1) * 1_000_000
        self.steered.append(Steered(self.first + pulse / self.rate, pulse, was - ideal.exact(pulse), ppm, 1, "driver"))
        del self.steered[:-CHANGES]

    def _steer(self) -> None:
        """The driver does it."""

    @property
    def worst(self) -> int:
        """ns that a pulse may be away: it is less than a tick, but for some milliseconds after each change of the clock's rate."""
        return math.ceil(NANO / self._hz)
