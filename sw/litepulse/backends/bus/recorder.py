# SPDX-License-Identifier: BSD-2-Clause
"""What a core records: which events and edges, both streams, and times in a clock of this PC."""

import contextlib
import math
from collections.abc import Callable, Generator

from litepulse.backends import reliance
from litepulse.backends.bus.record_stream import RecordStream
from litepulse.backends.bus.registers import Registers, Words
from litepulse.backends.bus.session import Session
from litepulse.backends.interface import Batch, Losses, Wanted
from litepulse.backends.wallclock import WallClock
from litepulse.layout import CONFIG, pack
from litepulse.streams import Event, EventStream, ReceiveStream, RxByte


class BusRecorder:
    """See Recorder."""

    def __init__(self, registers: Registers, session: Session, sleep: Callable[[float], None], wall_clock: WallClock | None = None) -> None:
        """sleep: how time passes between two looks; wall_clock: in which records have a time, too."""
        self._registers, self._session, self._sleep, self._wall_clock = registers, session, sleep, wall_clock
        self._wants_bytes = True
        self.patience = math.inf
        self.observer: Callable[[Batch], None] | None = None
        self.events = RecordStream(registers, "EVENTS", EventStream(), registers.identity.event_depth)
        self.received = RecordStream(registers, "RECEIVE", ReceiveStream(), registers.identity.receive_depth)

    @property
    def lag(self) -> int:
        """See Recorder: a look shows all that has happened."""
        return 0

    def record(self, wanted: Wanted) -> None:
        names = [*(f"tx_{source}" for source in wanted.launched), *(f"refused_{source}" for source in wanted.refused)]
        names += ["control", "train_done"] if wanted.train else []
        names += ["missed"] if wanted.missed else []
        names += ["edge"] if wanted.rise or wanted.fall else []
        filters = self._filter_word(wanted)
        self._wants_bytes = wanted.received
        self._registers.write_fields("event_mask", **dict.fromkeys(names, 1))
        self._registers.configure(("filter", filters))
        if not self.events.discard():  # a program that was killed may have left busy inputs switched on
            self._registers.configure(("capture_edges", 0))
            self.events.discard()
        self.received.discard()
        self._registers.write_fields("capture_edges", rise=wanted.rise, fall=wanted.fall)
        self._look_at_clock()

    def _filter_word(self, wanted: Wanted) -> int:
        """The word that filters what is wanted, and all else that runs as before. InUse if that cannot be."""
        before = self._registers.config_word("filter")
        length = wanted.filter if wanted.filtered else 0
        word = pack(CONFIG["filter"], enable=wanted.filtered, length=length)
        identity = self._registers.identity
        for one in self._session.relied():
            if one.channel is None or reliance.filter_of(before, one.channel) == reliance.filter_of(word, one.channel):
                continue
            was, bit = reliance.filter_of(before, one.channel), 1 << one.channel
            if wanted.filtered & bit or (wanted.filtered and was not in (1, length)):
                where = "rx" if one.channel == identity.inputs else one.channel
                raise one.refuse(identity.name, f"with a filter of {was} samples on {where}", f"one of {length or 1}")
            word = pack(CONFIG["filter"], enable=wanted.filtered | bit, length=was)
        return word

    def look(self, as_columns: bool = False) -> tuple[Words, Batch]:
        """The Words, then read(); in one transaction if the bridge has frames."""
        if not self._registers.framed:
            return self._registers.read_status(), self.read(as_columns)
        streams = [self.events, self.received] if self._wants_bytes else [self.events]
        with self._registers.bus.hold():
            owed = [each for stream in streams for each in stream.owed()]
            words, first = self._registers.exchange_with_status(owed, [stream.question() for stream in streams], True)
            return words, self._read(as_columns, *first)

    def read(self, as_columns: bool = False) -> Batch:
        return self._read(as_columns)

    def _read(self, as_columns: bool, events: list[int] | None = None, bytes_: list[int] | None = None) -> Batch:
        """As read(); events, bytes_: of each stream what RecordStream.drain() calls `first`."""
        parts = list(self.events.parts(events))
        # Only a responder needs the receiver on: what it receives is for no program, and stays there.
        received = self.received.drain(bytes_) if self._wants_bytes else []
        edges = self.events.decode_edges(parts) if as_columns and not received and self._wall_clock is None else None
        batch = Batch(
            self.events.known,
            self.events.tick,
            [e for e in self.events.decode(parts) if not isinstance(e, RxByte)] if edges is None else [],
            [b for b in received if not isinstance(b, Event)],
            edges,
            self.events.gap,
        )
        if self._wall_clock is not None and (batch.events or received):
            self._look_at_clock()
            batch = self._wall_clock.stamped(batch)
        if self.observer:
            self.observer(batch)
        return batch

    def _look_at_clock(self) -> None:
        """Another reading, if one is due."""
        if self._wall_clock is not None and self._wall_clock.due():
            self._wall_clock.look(self._registers.read_clocks())

    def wait(self, seconds: float) -> None:
        self._sleep(min(seconds, self.patience))

    def losses(self) -> Losses:
        received, at_least = (self.received.lost, self.received.lost_at_least) if self._wants_bytes else (0, False)
        return Losses(self.events.lost, received, self.events.lost_at_least or at_least)

    def stop(self) -> None:
        self._registers.configure(("capture_edges", 0))
        self._registers.write_fields("event_mask", control=1, train_done=1, missed=1)

    # Beside the program that reads the events

    @contextlib.contextmanager
    def also(self, name: str) -> Generator[None]:
        """Events of a bit of `event_mask` are recorded meanwhile, also those that were not
        wanted."""
        mask = self._registers.config_word("event_mask")
        bit = pack(CONFIG["event_mask"], **{name: 1})
        if not mask & bit:
            self._registers.configure(("event_mask", mask | bit))
        try:
            yield
        finally:
            if not mask & bit:
                self._registers.configure(("event_mask", mask))

    def end(self) -> int:
        """The position in the stream after the newest event."""
        header, _ = self.events.peek()
        return (header.position + header.ready) & 0xFFFF

    def since(self, position: int) -> list[Event]:
        """The events that came after a position, if their reader has left them there."""
        header, events = self.events.peek()
        fresh = events[max(0, len(events) - ((header.position + header.ready - position) & 0xFFFF)) :]
        return [event for event in fresh if isinstance(event, Event)]

    def newest_change(self, position: int) -> Event | None:
        """The newest of them that is about the train."""
        return next((event for event in reversed(self.since(position)) if event.source == "train_change"), None)
