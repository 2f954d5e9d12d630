# SPDX-License-Identifier: BSD-2-Clause
"""Edges and received bytes with their ticks."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar, cast

from litepulse import columns
from litepulse.backends.interface import Backend, Batch, Wanted
from litepulse.errors import BadInput, LitePulseError
from litepulse.interrupt import Flag
from litepulse.job import Item, Job, Poller
from litepulse.line import Launch, Profile
from litepulse.named_time import time_text
from litepulse.pins import PinFile, Pins, wanted_names
from litepulse.streams import Lost, RxByte, edges
from litepulse.units import Timescale

if TYPE_CHECKING:
    from litepulse.columns import Array

Raw = TypeVar("Raw")
# (tick, channel, 'byte', 'lost' (edges) or LOST_BYTES; level, byte or loss; ns in the clock of
# open(), by how much they may be wrong)
Found = tuple[int, str, "int | RxByte | Lost", "int | None", int]
LOST_BYTES = "lost bytes"
SETTLE = 64  # cycles of the core: a record is there that long after what it reports, at most, beside what a filter takes


def channel_name(backend: Backend, channel: int) -> str:
    """'0', '1', … or 'rx'."""
    return "rx" if channel == backend.identity.inputs else str(channel)


class Times(Protocol):
    """A clock in which records get a time, see event_clock.py."""

    name: str

    def wanted(self, wanted: Wanted) -> Wanted:
        """What is recorded, with what the clock needs."""
        ...

    def take(self, batch: Batch) -> None:
        """What came at a look."""
        ...

    def at(self, tick: int, ns: int | None, uncertainty: int) -> tuple[int | None, int]:
        """(ns, by how many they may be wrong) of a record that has these in the clock of open()."""
        ...


@dataclass(frozen=True)
class CapturePlan:
    """What is recorded, as the board does it: edges of channels, those that last `filter` samples, and bytes if there is a profile.

    move_tx: the idle level of TX may change to that of the profile; count: of edges and bytes, 0: without end; duration: ticks
    """

    channels: Sequence[int]
    rise: bool = True
    fall: bool = True
    filter: int = 0
    profile: Profile | None = None
    loopback: bool = False
    move_tx: bool = False
    count: int = 0
    duration: int | None = None


class Receiver:
    """Records what a plan asks for, look by look. clock: in which it gives records a time; None: that of open(), if there is one."""

    def __init__(self, backend: Backend, plan: CapturePlan, clock: Times | None = None) -> None:
        self.backend, self.plan, self.clock = backend, plan, clock
        self.samples = backend.identity.samples_per_cycle
        self.poller = Poller(backend)
        self.levels: tuple[bool, ...] = ()  # of the pins, at the last look
        self.gap = False  # of the last batch

    def prepare(self) -> None:
        """Enables the channels and forgets what was recorded. BadInput or InUse if listening would disturb something."""
        plan, backend = self.plan, self.backend
        self._check_idle()
        mask = sum(1 << channel for channel in plan.channels)
        backend.line.set_receiver(plan.profile, plan.profile is not None, plan.loopback)
        wanted = Wanted(
            rise=mask if plan.rise else 0,
            fall=mask if plan.fall else 0,
            filtered=mask if plan.filter else 0,
            filter=plan.filter,
            received=plan.profile is not None,
        )
        backend.recorder.record(self.clock.wanted(wanted) if self.clock else wanted)

    def _check_idle(self) -> None:
        """BadInput if TX would move: the receiver's polarity is also that of TX at rest."""
        level = self.backend.line.idle_level()
        if self.plan.profile is None or self.plan.move_tx or level is None:
            return
        wanted = 0 if self.plan.profile.format.invert else 1
        if level != wanted:
            raise BadInput(
                f"invert: TX rests at {level}; to receive with an idle level of {wanted} would move it: --move-tx (move_tx) allows that"
            )

    def poll(self) -> list[Found]:
        """What is new, in the order of time."""
        status, batch = self.poller.poll()
        self.levels, self.gap = status.levels, batch.gap
        return self._found(batch)

    def poll_columns(self) -> "Array | list[Found]":
        """As poll(); edges as an array of columns.dtype(), if there is nothing else."""
        _, batch = self.poller.poll(as_columns=True)
        return self._found(batch) if batch.edges is None else columns.edges(batch.edges, self.samples, self.plan.channels)

    def _found(self, batch: Batch) -> list[Found]:
        """What is in a batch of records, in the order of time."""
        found: list[Found] = []
        plan, clock = self.plan, self.clock
        if clock:
            clock.take(batch)
        for event in batch.events:
            if isinstance(event, Lost):
                found.append((event.tick, "lost", event, None, 0))
            elif event.kind == "edge":
                for edge in edges(event, self.samples):
                    # Of a channel that only the clock needs, or needs both edges of, not all are wanted.
                    if edge.channel in plan.channels and (not clock or (plan.rise if edge.level else plan.fall)):
                        ns, uncertainty = edge.ns, edge.uncertainty
                        if clock:
                            ns, uncertainty = clock.at(edge.tick, ns, uncertainty)
                        found.append((edge.tick, channel_name(self.backend, edge.channel), edge.level, ns, uncertainty))
        for byte in batch.received:
            if isinstance(byte, Lost):
                found.append((byte.tick, LOST_BYTES, byte, None, 0))
            else:
                ns, uncertainty = clock.at(byte.tick, byte.ns, byte.uncertainty) if clock else (byte.ns, byte.uncertainty)
                found.append((byte.tick, "byte", byte, ns, uncertainty))
        return sorted(found, key=lambda item: item[0])


@dataclass(frozen=True)
class EdgeEvent:
    """An edge: tick of the first sample that shows the new level; time: the same in seconds since the board's reset, exact.

    channel: number of the input, or 'rx'; ns: the tick in the clock that was given to capture() or open(), None: not known, or
    not yet; uncertainty: by how many ns that may be wrong; clock: which one, None: none was given
    """

    tick: int
    time: Fraction
    channel: int | str
    level: int
    ns: int | None = None
    uncertainty: int = 0
    clock: str | None = None


@dataclass(frozen=True)
class ByteEvent:
    """A received byte: tick and time of its start edge; ok: no parity or framing error, and no break."""

    tick: int
    time: Fraction
    data: int
    ok: bool
    byte: RxByte
    ns: int | None = None
    uncertainty: int = 0
    clock: str | None = None


@dataclass(frozen=True)
class LostEvent:
    """`count` records are missing here, from `tick` on; at_least: or more; bytes: of received bytes, not of edges."""

    tick: int
    time: Fraction
    count: int
    at_least: bool
    bytes: bool = False

    @classmethod
    def of(cls, lost: Lost, timescale: Timescale, bytes: bool = False) -> "LostEvent":
        """What a stream reported."""
        return cls(lost.tick, timescale.seconds(lost.tick), lost.count, lost.at_least, bytes)


CaptureEvent = EdgeEvent | ByteEvent | LostEvent


class Listen(Job[Item], Generic[Raw, Item]):
    """A job that only records. Ends by itself after `count` items that are no losses (0: does not), or `duration` ticks."""

    at_once = 8  # this many found at a look, and the next one follows at once

    def __init__(self, backend: Backend, poller: Poller, count: int = 0, duration: int | None = None) -> None:
        super().__init__(backend)
        self.poller = poller
        self._timescale = backend.identity.timescale
        self._count = count
        self._given: int = 0
        self._duration = duration
        self._last_tick: int | None = None

    def _start(self) -> None:
        if self._duration is not None:
            self._last_tick = self._backend.now() + self._duration

    def _poll(self) -> Sequence[Raw]:
        """What is new."""
        raise NotImplementedError

    def _rest(self) -> Sequence[Raw]:
        """What has come since the last look, at the end."""
        return self._poll()

    def _wanted(self, found: Raw) -> bool:
        """Whether it belongs to what was requested."""
        return True

    def _is_loss(self, found: Raw) -> bool:
        """Whether it stands for records that are missing."""
        return isinstance(found, Lost)

    def _take(self, batch: Sequence[Raw]) -> bool:
        """False: that was all."""
        for found in batch:
            if self._wanted(found):
                self._ready.append(found)
                self._given += not self._is_loss(found)
                if self._count and self._given >= self._count:
                    return False
        return self._last_tick is None or self.poller.tick < self._last_tick

    def _follow(self, interrupt: Flag) -> Iterator[None]:
        while not interrupt:
            batch = self._poll()
            if not self._take(batch):
                return
            yield
            if not interrupt:
                self.poller.pause(len(batch) >= self.at_once)

    def _finish(self) -> None:
        if not self._count or self._given < self._count:
            self._take(self._rest())

    def _release(self) -> None:
        self._backend.recorder.stop()


class Capture(Listen[Found, CaptureEvent]):
    """A running capture. Iterating over it gives what happens, in the order of time within each look at the board.

    `plan`: what was requested, as the board does it; `clock`: in which its events have a time, None: in none
    """

    def __init__(self, backend: Backend, plan: CapturePlan, to: Sequence[PinFile] = (), clock: Times | None = None) -> None:
        """to: files that are written with what is found, as it comes; clock: None is that of open()."""
        self.plan, self._receiver = plan, Receiver(backend, plan, clock)
        self.clock = clock.name if clock else backend.clock
        self._timed = 0  # the tick from which on a file of pins shows the clock again
        super().__init__(backend, self._receiver.poller, plan.count, plan.duration)
        self._as_columns = False
        self._pins = self._pins_of(backend, plan, to) if to else None

    @staticmethod
    def _pins_of(backend: Backend, plan: CapturePlan, to: Sequence[PinFile]) -> Pins:
        identity = backend.identity
        frame = Launch("frame", 0).length(plan.profile) if plan.profile else 0
        hold = plan.filter + SETTLE * identity.samples_per_cycle + 2 * frame
        return Pins(to, identity.timescale, wanted_names(plan.channels, identity.inputs), plan.profile is not None, hold, frame)

    def _prepare(self) -> None:
        if self._pins:
            self._pins.open()
        try:
            self._receiver.prepare()
        except BaseException:
            if self._pins:
                self._pins.close()
            raise

    def _start(self) -> None:
        super()._start()
        if self._pins:
            self._pins.start(self._backend.now())

    def _poll(self) -> "Sequence[Found]":
        if self._as_columns and not self._pins and not self._receiver.clock:
            return cast("Sequence[Found]", self._receiver.poll_columns())
        return self._receiver.poll()

    def rows(self) -> Iterator[list[Found]]:
        """As batches(), what was found as it is."""
        return self._each_look(self._take_ready)

    def _wanted(self, found: Found) -> bool:
        return self._last_tick is None or found[0] < self._last_tick

    def _is_loss(self, found: Found) -> bool:
        return isinstance(found[2], Lost)

    def _item(self, found: "Found | Array") -> CaptureEvent:
        if not isinstance(found, tuple):
            return cast(CaptureEvent, found)  # of array(), which is the one that iterates
        tick, what, value, ns, uncertainty = found
        time = self._timescale.seconds(tick)
        if isinstance(value, Lost):
            return LostEvent.of(value, self._timescale, what == LOST_BYTES)
        if isinstance(value, RxByte):
            ok = not (value.parity_error or value.framing_error or value.is_break)
            return ByteEvent(tick, time, value.data, ok, value, ns, uncertainty, self.clock)
        return EdgeEvent(tick, time, int(what) if what.isdigit() else what, value, ns, uncertainty, self.clock)

    def array(self) -> "Array":
        """All edges from now to the end of the capture: a NumPy array with the fields tick (uint64), channel (uint8), level (uint8).

        The line, 'rx', is the channel behind the last input. LitePulseError if records were lost: the array would have gaps unseen.
        """
        import numpy

        line = self._backend.identity.inputs
        found: list[Array] = []
        single: list[tuple[int, int, int]] = []  # edges that came as objects, since the last block

        def block() -> "Array":
            made = numpy.array(single, columns.dtype())
            single.clear()
            return made

        with self._turn:
            self._as_columns = True
        for event in self:
            if isinstance(event, LostEvent):
                self.close()
                self._ready.clear()
                raise LitePulseError(f"{event.count} records were lost at tick {event.tick}")
            if isinstance(event, numpy.ndarray):
                found += [block(), event]
            elif isinstance(event, EdgeEvent):
                single.append((event.tick, line if isinstance(event.channel, str) else event.channel, event.level))
        return numpy.concatenate([*found, block()])

    def _take(self, batch: Sequence[Found]) -> bool:
        before = len(self._ready)
        more = super()._take(batch) if isinstance(batch, list) else self._take_edges(cast("Array", batch))
        if self._pins:
            self._show(self._pins, list(itertools.islice(self._ready, before, None)))
        return more

    def _show(self, pins: Pins, taken: list[Found]) -> None:
        """To the files, what of a look was taken."""
        channels = self.plan.channels
        numbers = {channel_name(self._backend, channel): number for number, channel in enumerate(channels)}
        pins_now = self._receiver.levels
        levels = [pins_now[channel] if pins_now else None for channel in channels]
        known = self.poller.tick
        if self._last_tick is not None:
            known = min(known, self._last_tick)
        if self._count and self._given >= self._count:
            known = max((tick for tick, *_ in taken), default=known)
        if self.clock:
            for tick, _, _, ns, uncertainty in taken:
                if ns is not None and tick >= self._timed:
                    self._timed = tick + math.ceil(self._timescale.tick_hz)
                    pins.remark(tick, f"tick {tick}: {self.clock} {time_text(self.clock, ns)}, to {uncertainty} ns")
        pins.look([(tick, numbers.get(what, what), value) for tick, what, value, *_ in taken], levels, known, self._receiver.gap)

    def _close(self) -> None:
        super()._close()
        if self._pins:
            self._pins.close()

    def _take_edges(self, edges: "Array") -> bool:
        """As _take(), of edges in the order of time."""
        if self._last_tick is not None:
            import numpy

            edges = edges[: edges["tick"].searchsorted(numpy.uint64(self._last_tick))]  # an int would make both floats
        if self._count:
            edges = edges[: self._count - self._given]
        self._ready.append(edges)
        self._given += len(edges)
        if self._count and self._given >= self._count:
            return False
        return self._last_tick is None or self.poller.tick < self._last_tick
