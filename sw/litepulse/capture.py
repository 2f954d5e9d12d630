# SPDX-License-Identifier: BSD-2-Clause
"""Edges and received bytes with their ticks."""

import contextlib
from collections.abc import Callable, Iterator, Sequence, Sized
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar, cast

from litepulse import columns
from litepulse.backends.interface import Backend, Batch, Wanted
from litepulse.errors import BadInput, LitePulseError
from litepulse.interrupt import Flag
from litepulse.job import Item, Job, Poller, timescale_of
from litepulse.line import Profile
from litepulse.streams import Lost, RxByte, edges
from litepulse.units import Timescale

if TYPE_CHECKING:
    from litepulse.columns import Array

Look = TypeVar("Look", bound=Sized)
Raw = TypeVar("Raw")
# (tick, channel, 'byte' or 'lost'; level, byte or loss; ns in the clock asked for, by how much they may be wrong)
Found = tuple[int, str, "int | RxByte | Lost", "int | None", int]


def channel_name(backend: Backend, channel: int) -> str:
    """'0', '1', … or 'rx'."""
    return "rx" if channel == backend.identity.inputs else str(channel)


class CaptureRun:
    """Streams edges of chosen channels, and bytes if a profile is given."""

    def __init__(
        self,
        backend: Backend,
        channels: Sequence[int],
        rise: bool = True,
        fall: bool = True,
        filtered: int = 0,
        profile: Profile | None = None,
        loopback: bool = False,
        move_tx: bool = False,
    ) -> None:
        """move_tx: the idle level of TX may change to that of the profile."""
        self.backend, self.channels, self.rise, self.fall = backend, channels, rise, fall
        self.filtered, self.profile, self.loopback, self.move_tx = filtered, profile, loopback, move_tx
        self.samples = backend.identity.samples_per_cycle
        self.poller = Poller(backend)
        self.edge_count = self.byte_count = 0

    def prepare(self) -> None:
        """Enables the channels and forgets what was recorded. BadInput or InUse if listening would disturb something."""
        self._check_idle()
        mask = sum(1 << channel for channel in self.channels)
        self.backend.set_receiver(self.profile, self.profile is not None, self.loopback)
        self.backend.record(
            Wanted(
                rise=mask if self.rise else 0,
                fall=mask if self.fall else 0,
                filtered=mask if self.filtered else 0,
                filter=self.filtered,
                received=self.profile is not None,
            )
        )

    def _check_idle(self) -> None:
        """BadInput if TX would move: the receiver's polarity is also that of TX at rest."""
        level = self.backend.idle_level()
        if self.profile is None or self.move_tx or level is None:
            return
        wanted = 0 if self.profile.format.invert else 1
        if level != wanted:
            raise BadInput(
                f"invert: TX rests at {level}; to receive with an idle level of {wanted} would move it: --move-tx (move_tx) allows that"
            )

    @property
    def tick(self) -> int:
        """The board's, at the last look."""
        return self.poller.tick

    def poll(self) -> list[Found]:
        """What is new, in the order of time."""
        return self._found(self.poller.poll()[1])

    def poll_columns(self) -> "Array | list[Found]":
        """As poll(); edges as an array of columns.dtype(), if there is nothing else."""
        _, batch = self.poller.poll(as_columns=True)
        if batch.edges is None:
            return self._found(batch)
        found = columns.edges(batch.edges, self.samples, self.channels)
        self.edge_count += len(found)
        return found

    def _found(self, batch: Batch) -> list[Found]:
        """What is in a batch of records, in the order of time."""
        found: list[Found] = []
        for event in batch.events:
            if isinstance(event, Lost):
                found.append((event.tick, "lost", event, None, 0))
            elif event.kind == "edge":
                for edge in edges(event, self.samples):
                    if edge.channel in self.channels:
                        found.append((edge.tick, channel_name(self.backend, edge.channel), edge.level, edge.ns, edge.uncertainty))
                        self.edge_count += 1
        for byte in batch.received:
            if isinstance(byte, Lost):
                found.append((byte.tick, "lost", byte, None, 0))
            else:
                found.append((byte.tick, "byte", byte, byte.ns, byte.uncertainty))
                self.byte_count += 1
        return sorted(found, key=lambda item: item[0])

    def follow(self, interrupt: Flag) -> Iterator[list[Found]]:
        """Yields batches until interrupted."""
        return self._looks(self.poll, interrupt)

    def follow_columns(self, interrupt: Flag) -> "Iterator[Array | list[Found]]":
        """As follow(), with what poll_columns() has."""
        return self._looks(self.poll_columns, interrupt)

    def _looks(self, look: "Callable[[], Look]", interrupt: Flag) -> "Iterator[Look]":
        while not interrupt:
            found = look()
            yield found
            self.poller.pause(len(found) >= 8)


@dataclass(frozen=True)
class EdgeEvent:
    """An edge: tick of the first sample that shows the new level; time: the same in seconds since the board's reset, exact.

    channel: number of the input, or 'rx'; ns: the tick in the clock that open() was asked for, or None; uncertainty: by how many ns that
    may be wrong.
    """

    tick: int
    time: Fraction
    channel: int | str
    level: int
    ns: int | None = None
    uncertainty: int = 0


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


@dataclass(frozen=True)
class LostEvent:
    """`count` records are missing here, from `tick` on; at_least: or more."""

    tick: int
    time: Fraction
    count: int
    at_least: bool

    @classmethod
    def of(cls, lost: Lost, timescale: Timescale) -> "LostEvent":
        """What a stream told."""
        return cls(lost.tick, timescale.seconds(lost.tick), lost.count, lost.at_least)


CaptureEvent = EdgeEvent | ByteEvent | LostEvent


class ListenRun(Protocol[Raw]):
    """What is heard on a board, look by look."""

    @property
    def backend(self) -> Backend:
        """Of the board."""
        ...

    @property
    def tick(self) -> int:
        """The board's, at the last look."""
        ...

    def prepare(self) -> None:
        """Begins to record."""
        ...

    def poll(self) -> list[Raw]:
        """What is new."""
        ...

    def follow(self, interrupt: Flag) -> Iterator[list[Raw]]:
        """Yields batches until interrupted."""
        ...


class Listen(Job[Item], Generic[Raw, Item]):
    """A job that only records. Ends by itself after `count` items that are no losses (0: does not), or `duration` ticks."""

    def __init__(self, run: ListenRun[Raw], ended: Callable[[], None], count: int = 0, duration: int | None = None) -> None:
        super().__init__(run.backend, ended)
        self._run, self._count, self._given = run, count, 0
        self._timescale = timescale_of(run.backend)
        self._duration = duration
        self._last_tick: int | None = None
        self._batches = run.follow(self._flag)

    def _prepare(self) -> None:
        self._run.prepare()

    def _start(self) -> None:
        if self._duration is not None:
            self._last_tick = self._backend.now() + self._duration

    def _item(self, found: Raw) -> Item | None:
        """What a program gets of it; None: nothing."""
        raise NotImplementedError

    def _take(self, batch: list[Raw]) -> bool:
        """False: that was all."""
        for found in batch:
            item = self._item(found)
            if item is None:
                continue
            self._ready.append(item)
            self._given += not isinstance(item, LostEvent)
            if self._count and self._given >= self._count:
                return False
        return self._last_tick is None or self._run.tick < self._last_tick

    def _advance(self, interrupt: Flag) -> bool:
        batch = next(self._batches, None)
        return batch is not None and self._take(batch)

    def _finish(self) -> None:
        if not self._count or self._given < self._count:
            self._take(self._rest())
        self._count_losses()
        self._undo()

    def _abandon(self) -> None:
        with contextlib.suppress(LitePulseError):
            self._undo()

    def _rest(self) -> list[Raw]:
        """What has come since the last look."""
        return self._run.poll()

    def _undo(self) -> None:
        """Undoes what prepare() did."""
        self._backend.stop_recording()


class Capture(Listen[Found, CaptureEvent]):
    """A running capture. Iterating over it gives what happens, in the order of time within each look at the board."""

    def __init__(self, run: CaptureRun, ended: Callable[[], None], count: int = 0, duration: int | None = None) -> None:
        super().__init__(run, ended, count, duration)
        self._capture = run
        self._columns: Iterator[Array | list[Found]] | None = None  # instead of _batches, once array() has begun

    def _item(self, found: Found) -> CaptureEvent | None:
        tick, what, value, ns, uncertainty = found
        if self._last_tick is not None and tick >= self._last_tick:
            return None
        time = self._timescale.seconds(tick)
        if isinstance(value, Lost):
            return LostEvent.of(value, self._timescale)
        if isinstance(value, RxByte):
            ok = not (value.parity_error or value.framing_error or value.is_break)
            return ByteEvent(tick, time, value.data, ok, value, ns, uncertainty)
        return EdgeEvent(tick, time, int(what) if what.isdigit() else what, value, ns, uncertainty)

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
            self._columns = self._capture.follow_columns(self._flag)
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

    def _advance(self, interrupt: Flag) -> bool:
        if self._columns is None:
            return super()._advance(interrupt)
        look = next(self._columns, None)
        return look is not None and (self._take(look) if isinstance(look, list) else self._take_edges(look))

    def _rest(self) -> list[Found]:
        if self._columns is None:
            return super()._rest()
        look = self._capture.poll_columns()
        if isinstance(look, list):
            return look
        self._take_edges(look)
        return []

    def _take_edges(self, edges: "Array") -> bool:
        """As _take(), of edges in the order of time."""
        if self._last_tick is not None:
            import numpy

            edges = edges[: edges["tick"].searchsorted(numpy.uint64(self._last_tick))]  # an int would make both floats
        if self._count:
            edges = edges[: self._count - self._given]
        self._ready.append(cast(CaptureEvent, edges))  # array(), which asked for it, is the one that iterates
        self._given += len(edges)
        if self._count and self._given >= self._count:
            return False
        return self._last_tick is None or self._run.tick < self._last_tick
