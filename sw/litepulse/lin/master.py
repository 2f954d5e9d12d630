# SPDX-License-Identifier: BSD-2-Clause
"""A LIN master: every header at its tick, from a schedule, and what came back."""

import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction

from litepulse.board import Board, When
from litepulse.capture import LostEvent
from litepulse.errors import BadInput
from litepulse.interrupt import Flag
from litepulse.job import Job, tidy
from litepulse.launch import Entry
from litepulse.lin.bus import BusRun, launches
from litepulse.lin.description import CONFIGURATION, EVENT, REQUEST, SPORADIC, UNCONDITIONAL, Description, Slot, Value
from litepulse.lin.frames import BAD_RESPONSE, CLASSIC, Frame
from litepulse.lin.protocol import DATA_MAX, HEADER_BITS, MASTER_REQUEST, SYNC, checksum, protected_id, response_bits, slot_limit
from litepulse.streams import Lost
from litepulse.units import Number

AHEAD = Fraction(6, 100)  # seconds before a slot at which it is given to the board: what a slow look at it takes
EVENT_AHEAD, EVENT_REST = Fraction(2, 100), 0.002  # the same, and between two looks, where a collision changes what follows


class MasterRun(BusRun):
    """Feeds the slots of a schedule, each shortly before its time, and follows what is heard on the bus."""

    def __init__(self, board: Board, description: Description, schedule: str, baud: Number | str | None, loopback: bool) -> None:
        super().__init__(board, description.baud if baud is None else baud, description.expected(), loopback)
        self.description, self.schedule = description, schedule
        self.slots = description.schedule(schedule)
        self.values: dict[str, Value] = {}
        self.updated: set[str] = set()  # frames, for sporadic slots
        self.requests: deque[bytes] = deque()  # for the slots of MasterReq
        self.rounds = 0  # through the schedule; 0: forever
        self._resolve: str | None = None
        self._events: dict[int, Slot] = {}  # event-triggered frames by identifier
        self.check(schedule)
        self.keep = False
        if self._events:
            self.rest = EVENT_REST

    def _longest(self, slot: Slot) -> int:
        """Data bytes of the longest frame that a slot may bring."""
        return max((self.description.length(name) for name in slot.frames), default=DATA_MAX)

    def check(self, schedule: str) -> None:
        """BadInput if a slot is shorter than its frame."""
        for slot in self.description.schedule(schedule):
            if self.timescale.tick_hz * slot.seconds < (HEADER_BITS + response_bits(self._longest(slot))) * self.bit:
                milliseconds = float(slot.seconds * 1000)
                raise BadInput(f"schedule {schedule}: the frame {slot.name} does not fit its slot of {milliseconds:g} ms at this bit rate")
            if slot.kind == EVENT:
                self._events[self.description.frame_id(slot.name)] = slot
                if slot.resolving and all(one.kind != EVENT for one in self.description.schedule(slot.resolving)):
                    self.check(slot.resolving)

    def tight_slots(self) -> list[str]:
        """Frames whose slot is shorter than the longest that the standard allows them to be."""
        tick_hz = self.timescale.tick_hz
        return [slot.name for slot in self.slots if tick_hz * slot.seconds < slot_limit(self._longest(slot)) * self.bit]

    def set(self, values: Mapping[str, Value]) -> None:
        """New values of signals that the master publishes; a sporadic frame that has one of them is sent in its next slot."""
        description = self.description
        for signal, value in values.items():
            frames = [name for name in description.frames_with(signal) if description.publisher(name) == description.master]
            if not frames:
                raise BadInput(f"signal {signal}: {description.publisher(description.frames_with(signal)[0])} publishes it, not the master")
            for name in frames:
                description.encode(name, self.values | {signal: value})
            self.values[signal] = value
            self.updated.update(frames)

    def begin(self, rounds: int, start: int | None = None) -> int:
        """So many times through the schedule (0: forever), from a tick on or soon, after prepare(); returns that tick."""
        first = self.soon(16) if start is None else start
        self.rounds = rounds
        self.source = self._launches(first)
        self.feed()
        return first

    def _launches(self, start: int) -> Iterator[Entry | None]:
        ahead = math.ceil((EVENT_AHEAD if self._events else AHEAD) * self.timescale.tick_hz)
        tick, done = Fraction(start), 0
        while not self.rounds or done < self.rounds:
            done += 1
            for slot in self.slots:
                for one in (*self._resolving(), slot):
                    while self.poller.now < math.floor(tick) - ahead:
                        yield None
                    yield from self._slot(one, tick)
                    tick += one.seconds * self.timescale.tick_hz
        while self.poller.tick < math.floor(tick):  # what the last slot brings belongs to it
            yield None

    def _resolving(self) -> Sequence[Slot]:
        """The slots that follow a collision: at the first border behind it that the board has not been given yet."""
        name, self._resolve = self._resolve, None
        return self.description.schedule(name) if name else ()

    def _slot(self, slot: Slot, tick: Fraction) -> list[Entry]:
        """What the master sends in a slot; nothing in one for sporadic frames of which none was updated."""
        description, name = self.description, slot.name
        if slot.kind == SPORADIC:
            name = next((one for one in slot.frames if one in self.updated), None)
            if name is None:
                return []
        response = b""
        if slot.kind == CONFIGURATION:
            return launches(tick, self.bit, bytes([SYNC, protected_id(MASTER_REQUEST)]) + slot.data + bytes([checksum(slot.data)]))
        pid = protected_id(description.frame_id(name))
        if slot.kind == REQUEST:
            if not self.requests:
                return []
            data = self.requests.popleft()
            response = data + bytes([checksum(data)])
        elif slot.kind in (UNCONDITIONAL, SPORADIC) and description.publisher(name) == description.master:
            data = description.encode(name, self.values)
            response = data + bytes([checksum(data, None if description.checksum_of(name) == CLASSIC else pid)])
            self.updated.discard(name)
        return launches(tick, self.bit, bytes([SYNC, pid]) + response)

    def _hear(self, found: list[Frame] | list[Lost]) -> None:
        for item in found:
            slot = self._events.get(item.frame_id) if isinstance(item, Frame) and item.frame_id is not None else None
            if slot and slot.resolving and isinstance(item, Frame) and item.error in BAD_RESPONSE:  # more than one node has answered
                self._resolve = slot.resolving
        super()._hear(found)


class Master(Job[Frame | LostEvent]):
    """A running master. Iterating over it gives the frames on the bus, its own and others'; Refused if the board could not keep a tick."""

    def __init__(self, run: MasterRun, ended: Callable[[], None], rounds: int, start: int | None) -> None:
        super().__init__(run.backend, ended)
        self.run, self._rounds, self._first = run, rounds, start
        self.start = 0  # tick of the first slot
        self._batches = run.frames(self._flag)

    def _prepare(self) -> None:
        self.run.prepare()

    def _start(self) -> None:
        self.start = self.run.begin(self._rounds, self._first)

    def set(self, **values: Value) -> None:
        """New values of signals that the master publishes; they are sent from the next slot on that is not on its way to the board yet."""
        self.run.set(values)

    def request(self, data: bytes) -> None:
        """Eight bytes for the next slot of MasterReq."""
        if len(data) != DATA_MAX:
            raise BadInput(f"request: {len(data)} bytes are not {DATA_MAX}")
        self.run.requests.append(bytes(data))

    def _advance(self, interrupt: Flag) -> bool:
        found = next(self._batches, None)
        self._give(found or [])
        return found is not None

    def _give(self, found: list[Frame | Lost]) -> None:
        for item in found:
            self._ready.append(LostEvent.of(item, self.run.timescale) if isinstance(item, Lost) else item)

    def _finish(self) -> None:
        self._give(self.run.take())
        self._count_losses()
        tidy(self.run.backend)

    def _abandon(self) -> None:
        tidy(self.run.backend)


def master(
    board: Board,
    description: Description,
    schedule: str,
    *,
    start: When | None = None,
    rounds: int = 0,
    values: Mapping[str, Value] | None = None,
    baud: Number | str | None = None,
    loopback: bool = False,
) -> Master:
    """Runs a schedule of a description: each header at its tick exactly, with the responses that the master publishes.

    start: of the first slot, soon unless given; rounds: how often, 0: forever; values: of signals, others have their initial value;
    baud: instead of the description's
    """
    run = MasterRun(board, description, schedule, baud, loopback)
    run.set(values or {})
    first = None if start is None else board.tick_of(start, "start")
    return board.begin(lambda ended: Master(run, ended, rounds, first))
