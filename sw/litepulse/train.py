# SPDX-License-Identifier: BSD-2-Clause
"""A pulse train: planned, started, followed to its end, compared with the exact ideal."""

import math
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

from litepulse import compatibility
from litepulse.backends.interface import LAUNCH_PROFILE, Backend, Batch, TrainChange, Wanted, check_train
from litepulse.errors import BadInput, LitePulseError, Refused, TransportError, shown
from litepulse.interrupt import Flag
from litepulse.job import SLOW_POLL_SECONDS, Job, Poller, check_alone
from litepulse.layout import CHANGE_MIN_PERIOD
from litepulse.line import Launch
from litepulse.measurement import IdealTrain, TrainListener, TrainRecord
from litepulse.plan import TrainPlan
from litepulse.streams import Event, Lost, edges
from litepulse.units import WORD, Period, Whole, within

START_SECONDS = 20  # for the core to tell that the train has started
AHEAD = (2, 8, 64)  # pulses at which a change is tried that was too late for the next one
TOO_LATE = ("late", None)  # reasons; None: its record was lost
FARTHEST_PULSE = (1 << 31) - 1  # that a change can name, after the next one: the core refuses as late what is farther ahead
CHANGES = 10_000  # the newest, of a train whose pulses are not all kept


@dataclass(frozen=True)
class Row:
    """One launched pulse, as it becomes known; error and interval in ticks."""

    n: int
    tick: int
    error: int
    interval: int | None
    ns: int | None = None


def start_refusal(reason: str | None) -> str:
    """Why a train did not start, for people."""
    texts = {
        "late": "its start tick is too close or has passed",
        "busy": "another train is running",
        "profile": "its line profile was never set",
        "invalid": "profile, kind, width, period or count are not usable",
    }
    return texts.get(reason or "", reason or "it does not say why")


def check_width(launch: Launch) -> None:
    """BadInput if what the train launches has no width."""
    if launch.kind != "pulse":
        raise BadInput(f"width: each pulse of this train is a {launch.kind}, which has none")


def check_ahead(backend: Backend, at_pulse: int) -> None:
    """BadInput if a change was refused as late because its pulse is too far ahead, as the running train shows. A pulse that is too
    close or has passed has a number near that of the newest one, or below it."""
    seen = backend.train.newest_pulse()
    if seen and at_pulse - seen[0] > FARTHEST_PULSE // 2:
        raise BadInput(f"pulse {at_pulse} is too far ahead: a change can name one that is at most {FARTHEST_PULSE} after the next")


def change_train(backend: Backend, old: Period, new: Period, step: int, at_pulse: int, width: int | None = None) -> TrainChange:
    """Changes the running train from a pulse on, 0: as early as possible; old: its period until then; width: of a pulse in ticks, None:
    as before. BadInput if the train is too fast to be changed, or the pulse too far ahead; Refused with the reason."""
    identity, timescale = backend.identity, backend.identity.timescale
    if width is not None:
        compatibility.require(identity.name, identity.version, compatibility.WIDTHS)
    least = CHANGE_MIN_PERIOD * timescale.samples_per_cycle
    if old.whole < least:
        period = timescale.named(old.whole)
        raise BadInput(
            f"this train is too fast to be changed: its period is {period}, the shortest that can be changed {timescale.named(least)}"
        )
    with backend.train.changing():
        try:
            return backend.train.request_change(new, step, at_pulse, width)
        except Refused as error:
            if error.reason == "late" and at_pulse > FARTHEST_PULSE:
                check_ahead(backend, at_pulse)
            if at_pulse or error.reason not in TOO_LATE:
                raise
            refused = error
        for lead in AHEAD:  # the next pulse's new place has passed already: one that is far enough ahead
            seen = backend.train.newest_pulse()
            if seen is None:
                raise LitePulseError(f"{backend.identity.name}: no pulse of the train is seen, so none can be named: give --at-pulse")
            number, since = seen
            try:
                return backend.train.request_change(new, step, number + lead + math.ceil(2 * since / old.ticks), width)
            except Refused as error:
                if error.reason not in TOO_LATE:
                    raise
                refused = error
        raise refused


@dataclass(frozen=True)
class Pulse:
    """One pulse of a train that left.

    tick: of its first edge; time: the same in seconds since the board's reset, exact; error: its distance from the exact ideal in
    ticks, 0 unless something is wrong; interval: ticks since the pulse before, None for the first and after one that did not leave;
    received: tick at which the board's own receiver saw it, None if it did not; ns: the tick in the
    clock that was given to open()
    """

    number: int
    tick: int
    time: Fraction
    error: int
    interval: int | None
    received: int | None
    ns: int | None


class Train(Job[Pulse]):
    """A running train. Iterating over it gives its pulses, each when it is known whether it was received.

    `record` has the statistics, `plan` what was requested, as the board does it; `changes`: [(first
    pulse, Period, step in ticks)], changes while it ran, of adjust() and by others; `stopped`:
    another process ended it
    """

    def __init__(self, backend: Backend, plan: TrainPlan, limit: int | None = None, listener: TrainListener | None = None) -> None:
        """limit: of pulses whose ticks are kept (TrainRecord); None: all."""
        super().__init__(backend)
        self.plan = plan
        self.poller = Poller(backend)
        self.timescale = backend.identity.timescale
        self.record = TrainRecord(IdealTrain(plan.period, plan.start), limit, listener)
        self.changes: list[tuple[int, Period, int]] = []
        self.stopped = False
        self._running = self._done = False  # the core has reported its start, its end
        self._rows: list[Row] = []  # of the last look
        self._waiting: deque[Row] = deque()
        self._heard: deque[int] = deque()  # received ticks that belong to no pulse yet
        self._seen = 0  # record.received_count so far

    def adjust(self, period: Period | None = None, step: Whole = 0, at_pulse: Whole = 0, width: Whole | None = None) -> int | None:
        """A new period, a step and a new width of its pulses in ticks, without a glitch, from a pulse on (0: as early as possible).

        Returns which one, None if that is not known. BadInput if the train is too fast to be changed, if the pulse is too far ahead, or
        if the train's pulses have no width.
        """
        new = self.record.ideal.last_period if period is None else period
        if not isinstance(cast(object, new), Period):
            raise BadInput(f"period: {shown(new)} is not a Period: Board.adjust() takes a time")
        ticks = within(step, "step", -(1 << 31), (1 << 31) - 1)
        number = within(at_pulse, "at_pulse", 0, WORD - 1)
        pulse_width = None if width is None else within(width, "width", 1, WORD - 1)
        if pulse_width is not None:
            check_width(self.plan.launch)
        return change_train(self._backend, self.record.ideal.last_period, new, ticks, number, pulse_width).pulse

    def rows(self) -> Iterator[list[Row]]:
        """As batches(), but each pulse at the look that shows that it was launched."""
        return self._each_look(self._take_rows)

    def _take_rows(self) -> list[Row]:
        self._ready.clear()
        rows, self._rows = self._rows, []
        return rows

    def _prepare(self) -> None:
        """Sets profiles and inputs, and forgets what was recorded; nothing moves yet."""
        backend, plan = self._backend, self.plan
        check_alone(backend, "a train is running already; 'litepulse stop' ends it, 'litepulse adjust' changes it")
        check_train(backend.identity, plan.period)
        frames = plan.launch.kind == "frame"
        backend.line.set_receiver(plan.profile, frames, plan.loopback)
        backend.line.set_profile(LAUNCH_PROFILE, plan.profile)
        backend.recorder.record(self._wanted())
        backend.pledge(keep=False)

    def _wanted(self) -> Wanted:
        """What is recorded."""
        frames = self.plan.launch.kind == "frame"
        line = 0 if frames else 1 << self._backend.identity.inputs
        rise, fall = (line, 0) if self.plan.profile.format.invert else (0, line)
        return Wanted(("train",), ("train",), train=True, rise=rise, fall=fall, received=frames)

    def _start(self) -> None:
        """Starts the train and waits until the core says that it did, or an interrupt came."""
        try:
            self._request()
        except Refused as error:
            if error.reason is not None:
                raise Refused(f"the core refused the train: {start_refusal(error.reason)}", error.reason, self.plan.start) from None
            # Else the event says why.
        deadline = time.monotonic() + START_SECONDS
        rows: list[Row] = []
        runs: int | None = None
        while not self._running and not self._flag:
            rows += self._poll()
            if self.record.events_lost and self._status.train_running:  # no other train ran before
                runs = self.poller.now if runs is None else runs
            # Where records were lost, that of the start may be one of them.
            self._running = self._running or self._done or (runs is not None and self.poller.tick > runs)
            if time.monotonic() > deadline:
                raise TransportError(f"{self._backend.identity.name}: the core does not answer the start of the train")
            if not self._running:
                self._backend.recorder.wait(0.002)
        self._take(rows)

    def _request(self) -> None:
        """Starts it on the board. Refused."""
        plan = self.plan
        self._backend.train.start(plan.launch, plan.period, plan.count, plan.start)

    def _poll(self) -> list[Row]:
        """The pulses that became known since the last poll."""
        self._status, batch = self.poller.poll()
        return self._digest(batch)

    def _digest(self, batch: Batch) -> list[Row]:
        record = self.record
        rows: list[Row] = []
        for event in batch.events:
            if isinstance(event, Lost):
                continue
            if event.source == "train" and event.kind == "tx":
                self._expect(event)
                error, interval = record.add_launch(event.data, event.tick)
                rows.append(Row(event.data, event.tick, error, interval, event.ns))
            elif event.source == "train" and event.kind == "refused":
                record.add_refused(event.data, event.tick, event.reason or "unknown")
            elif event.kind == "train_done":
                record.done, self._done = event.data, True
            elif event.source == "train_change":
                if event.kind == "refused":
                    if not self._running:
                        reason = start_refusal(event.reason)
                        raise Refused(f"the core refused the train: {reason}", event.reason, self.plan.start)
                elif event.stop and self._begins_again():
                    continue
                elif event.stop:
                    record.done, self.stopped, self._done = event.data, True, True
                elif not self._running:
                    self._running = True
                else:
                    self._changed(event.data)
            elif event.kind == "edge":
                for edge in edges(event, self.timescale.samples_per_cycle):
                    if edge.channel == self._backend.identity.inputs:
                        record.add_received(edge.tick)
        for byte in batch.received:
            if not isinstance(byte, Lost):
                good = not byte.framing_error and not byte.parity_error and byte.data == self.plan.launch.data
                record.add_received(byte.tick, byte.data, good)
        record.compare()
        losses = self._backend.recorder.losses()
        record.events_lost, record.bytes_lost, record.lost_at_least = losses.events, losses.received, losses.at_least
        return rows

    def _expect(self, event: Event) -> None:
        """A pulse has left, and is not compared yet."""

    def _begins_again(self) -> bool:
        """Whether a stop was not the end."""
        return False

    def _changed(self, pulse: int) -> None:
        """Another program adjusted it, from `pulse` on: the request can be read back."""
        change = self._backend.train.last_change()
        if change is not None:
            period, step = change
            self.record.ideal.adjust(pulse, period, step)
            self.changes.append((pulse, period, step))
            if self.record.limit is not None:
                del self.changes[:-CHANGES]
                self.record.ideal.forget(CHANGES)

    def _follow(self, interrupt: Flag) -> Iterator[None]:
        """Until the train has ended or an interrupt came."""
        # Often enough for the event FIFO and for eyes, no oftener: each look costs the simulated SoC time.
        seconds = min(SLOW_POLL_SECONDS, float(32 * self.timescale.seconds(self.plan.period.ticks)))
        quiet = 0
        if self._rows:  # of the start
            yield
        while not interrupt:
            self._rows.clear()
            rows = self._poll()
            self._take(rows)
            # A train that runs no more although no record of it came (it was lost) is looked at twice before that is believed.
            quiet = 0 if rows or self._status.train_running else quiet + 1
            if self._done or quiet > 1:
                return
            yield
            self.poller.pause(len(rows) >= 8 or quiet > 0, seconds)

    def _take(self, rows: list[Row], last: bool = False) -> None:
        """Pairs pulses with what was received; a pulse is given out when it has its partner, or none can come any more."""
        record, plan = self.record, self.plan
        self._rows += rows
        self._waiting.extend(rows)
        new = record.received_count - self._seen
        self._seen = record.received_count
        if new:
            self._heard.extend(record.received[-new:])
        due = self.poller.tick - plan.launch.length(plan.profile) - 2 * math.ceil(2 * plan.profile.bit_period.ticks)
        due -= 64 * self.timescale.samples_per_cycle
        while self._waiting:
            row = self._waiting[0]
            end = row.tick + math.floor(plan.period.ticks)
            while self._heard and self._heard[0] < row.tick:
                self._heard.popleft()
            received = self._heard[0] if self._heard and self._heard[0] < end else None
            if received is None and not last and row.tick > due:
                return
            self._waiting.popleft()
            self._ready.append(Pulse(row.n, row.tick, self.timescale.seconds(row.tick), row.error, row.interval, received, row.ns))

    def _finish(self) -> None:
        """Stops the train, and waits for the pulses that still become known; the line is idle afterwards."""
        rows: list[Row] = []
        if not self._done:
            self._backend.train.stop()
        rows += self._poll()
        last = self.poller.tick + self.plan.launch.length(self.plan.profile) + math.ceil(self.timescale.tick_hz)
        while not self.record.over:
            while self._status.train_running or self._status.line_busy:
                if self.poller.tick > last:
                    raise TransportError(f"{self._backend.identity.name}: the line does not come to rest")
                self._backend.recorder.wait(0.002)
                rows += self._poll()
            for _, batch in self.poller.wait_tick(self._backend.now() + self._settle()):
                rows += self._digest(batch)
            rows += self._poll()
            # A backend that does not see the line knows only now that the last pulse is still on it.
            self.record.over = not self._status.line_busy
        self._take(rows, last=True)

    def _settle(self) -> int:
        """Ticks in which a received frame has certainly been stored after the line fell idle."""
        return math.ceil(2 * self.plan.profile.bit_period.ticks) + 64 * self.timescale.samples_per_cycle
