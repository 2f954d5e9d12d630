# SPDX-License-Identifier: BSD-2-Clause
"""A LIN master: every header at its tick, from a schedule, and what came back."""

import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from litepulse.backends.interface import LAUNCH_PROFILE
from litepulse.board import Board
from litepulse.capture import LostEvent
from litepulse.errors import BadInput
from litepulse.interrupt import Flag
from litepulse.job import Job
from litepulse.launch import Entry
from litepulse.lin.bus import BusRun, launches
from litepulse.lin.configuration import BROADCAST_NAD, FUNCTIONAL_NAD, SLEEP
from litepulse.lin.description import CONFIGURATION, EVENT, REQUEST, RESPONSE, SPORADIC, UNCONDITIONAL, Description, Slot, Value
from litepulse.lin.frames import BAD_RESPONSE, CLASSIC, NO_HEADER, NO_SYNC, Frame
from litepulse.lin.protocol import (
    DATA_MAX,
    HEADER_BITS,
    MASTER_REQUEST,
    SLAVE_RESPONSE,
    SYNC,
    checksum,
    protected_id,
    response_bits,
    slot_limit,
)
from litepulse.lin.transport import Reassembly, segments
from litepulse.line import Launch
from litepulse.plan import Time, When
from litepulse.streams import Lost
from litepulse.units import Number, to_duration

AHEAD = Fraction(6, 100)  # seconds before a slot at which it is given to the board: what a slow look at it takes
EVENT_AHEAD, EVENT_REST = Fraction(2, 100), 0.002  # the same, and between two looks, where a collision changes what follows
# seconds: this long the outcome of an event-triggered frame is waited for
RESOLVE_AHEAD = Fraction(8, 1000)
SOON = Fraction(2, 100)  # seconds ahead, of a slot that no schedule waits for
REQUESTED = "asked"  # kind of a slot for a frame of a Request


TIME_BASE = Fraction(5, 1000)  # seconds: slots that are put between those of a schedule are multiples of it
ANSWER_SECONDS = Fraction(1)  # for each frame of an answer
WAKE_PULSE, WAKE_READY = Fraction(3, 10_000), Fraction(1, 10)  # seconds: of 250 us to 5 ms; nodes are ready 100 ms after it
PENDING, REFUSED, ANSWERED = 0x78, 0x7F, 0x40  # answer: more time is needed; a refusal; added to the service


class Request:
    """A message to a node, and its answer. frames: still to be sent; done: nothing more comes; answer: None if there is none."""

    def __init__(self, nad: int, message: bytes, timeout: int) -> None:
        """timeout: in ticks, for each frame of the answer."""
        self.nad, self.message, self.timeout = nad, message, timeout
        self.frames = deque(segments(nad, message))
        self.answer: bytes | None = None
        self.done = False
        self._answer = Reassembly()
        self.deadline: int | None = None  # tick, once all is sent

    @property
    def refused(self) -> bool:
        """The node answered, and refused."""
        return self.answer is not None and self.answer[:1] == bytes([REFUSED])

    def hear(self, data: bytes, now: int) -> None:
        """A frame of SlaveResp. Answers of other nodes, and to other requests, do not count."""
        if self.done or self.frames:
            return
        found = self._answer.feed(data)
        if self._answer.begun:
            self.deadline = now + self.timeout
        if found is None:
            return
        nad, answer = found
        if self.nad != BROADCAST_NAD and nad != self.nad:
            return
        if answer[:2] == bytes([REFUSED, self.message[0]]):
            if answer[2:3] == bytes([PENDING]):
                self.deadline = now + self.timeout
                return
        elif answer[0] != self.message[0] + ANSWERED & 0xFF:
            return
        self.answer, self.done = answer, True


class MasterRun(BusRun):
    """Feeds the slots of a schedule, each shortly before its time, and follows what is heard on the bus."""

    def __init__(self, board: Board, description: Description, schedule: str | None, baud: Number | str | None, loopback: bool) -> None:
        super().__init__(board, description.baud if baud is None else baud, description.expected(), loopback)
        self.description, self.schedule = description, schedule
        self.slots: Sequence[Slot] = description.schedule(schedule) if schedule is not None else ()
        self._next: str | None = None  # schedule that follows at the next border
        self.open_requests: deque[Request] = deque()
        self.asleep = False
        self._waking: Fraction | None = None  # tick of the pulse that woke the bus, or that is to
        self._sleep, self._slept = False, Fraction(0)
        self._answer_end: Fraction | None = None  # of the slot of SlaveResp that is on its way
        self._until: Fraction | None = None  # end of the slot whose outcome decides what follows
        self._outcome = True
        self.values: dict[str, Value] = {}
        self.updated: set[str] = set()  # frames, for sporadic slots
        self.requests: deque[bytes] = deque()  # for the slots of MasterReq
        self.rounds = 0  # through the schedule; 0: forever
        self._resolve: str | None = None
        self._events: dict[int, Slot] = {}  # event-triggered frames by identifier
        if schedule is not None:
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
        self.description.check_values(values)
        self.values |= values
        self.updated.update(name for signal in values for name in self.description.frames_of(self.description.master, signal))

    def begin(self, rounds: int, start: int | None = None) -> int:
        """`rounds` times through the schedule (0: forever), from a tick on or soon, after
        prepare(); returns that tick."""
        first = start
        if first is None:  # a slow PC takes long to make the first frames, too
            first = max(self.soon(16), self.backend.now() + math.ceil(AHEAD * self.timescale.tick_hz))
        self.rounds = rounds
        self.source = self._launches(first)
        self.feed()
        return first

    def switch(self, schedule: str) -> None:
        """Another schedule, from the next border between two slots on that is not on its way to the board yet."""
        self.description.schedule(schedule)
        self.check(schedule)
        if self._events:
            self.rest = EVENT_REST
        self._next = schedule

    def sleep(self) -> None:
        """The go-to-sleep request at the next border; then nothing, until a node wakes the bus or wake() does."""
        self._sleep = True

    def wake(self) -> None:
        """Wakes the bus, and goes on with the schedule 100 ms later."""
        if self.asleep:
            self._waking = Fraction(-1)

    def _launches(self, start: int) -> Iterator[Entry | None]:
        hz = self.timescale.tick_hz
        tick, done = Fraction(start), 0
        over = False
        while not over and (not self.rounds or done < self.rounds):
            done += 1
            for number in range(max(len(self.slots), 1)):
                slots = [*self._resolving(), *self.slots[number : number + 1]]
                if number == len(self.slots) - 1 or not self.slots:
                    slots += self._diagnostic()
                if not slots:
                    over = not self.open_requests
                    tick = Fraction(max(math.ceil(tick), self.poller.now + math.ceil(SOON * hz)))
                    yield None
                for one in slots:
                    while not self._due(tick):
                        yield None
                    for more in self._resolving():
                        yield from self._slot(more, tick)
                        tick += more.seconds * hz
                    yield from self._slot(one, tick)
                    self._watch(one, tick)
                    tick += one.seconds * hz
                if self._sleep:
                    while not self._due(tick):
                        yield None
                    yield from launches(tick, self.bit, bytes([SYNC, protected_id(MASTER_REQUEST)]) + SLEEP + bytes([checksum(SLEEP)]))
                    self._sleep, self.asleep, self._waking, self._slept = False, True, None, tick
                    quiet = math.ceil(tick + self._diagnostic_seconds() * hz)
                    while self._waking is None or self.poller.now < quiet:
                        yield None
                    if self._waking < 0:
                        self._waking = Fraction(self.poller.now + math.ceil(AHEAD * hz))
                        yield math.floor(self._waking), Launch("pulse", 0, LAUNCH_PROFILE, math.ceil(WAKE_PULSE * hz))
                    self.asleep = False
                    tick = max(self._waking + WAKE_READY * hz, Fraction(self.poller.now + math.ceil(AHEAD * hz)))
                if self._next is not None:
                    self.schedule, self._next = self._next, None
                    self.slots = self.description.schedule(self.schedule)
                    break
        while self.poller.tick < math.floor(tick) or self._open_before(tick):  # what the last slot brings belongs to it
            yield None

    def _open_before(self, tick: Fraction) -> bool:
        """Whether a frame that began before a tick has not ended: a short slot is over before a missing response is known to be missing."""
        return self.assembler.begun is not None and self.assembler.begun < tick

    def _due(self, tick: Fraction) -> bool:
        """Whether it is time to give the board what begins at a tick. Behind an event-triggered frame its outcome is waited for."""
        hz = self.timescale.tick_hz
        if self._until is not None and not self._outcome:
            return self.poller.now >= tick - RESOLVE_AHEAD * hz
        return self.poller.now >= math.floor(tick) - math.ceil((EVENT_AHEAD if self._events else AHEAD) * hz)

    def _watch(self, slot: Slot, tick: Fraction) -> None:
        """What is heard in this slot decides what follows."""
        self._outcome = slot.kind != EVENT or not slot.resolving
        self._until = None if self._outcome else tick

    def _resolving(self) -> Sequence[Slot]:
        """The slots that follow a collision: at the first border behind it that the board has not been given yet."""
        name, self._resolve = self._resolve, None
        return self.description.schedule(name) if name else ()

    def _diagnostic_seconds(self) -> Fraction:
        """Of a slot for a diagnostic frame."""
        return math.ceil(slot_limit(DATA_MAX) * self.bit / self.timescale.tick_hz / TIME_BASE) * TIME_BASE

    def _diagnostic(self) -> Sequence[Slot]:
        """What a round through the schedule is followed by while a request waits: a slot for one of its frames, or of its answer."""
        seconds = self._diagnostic_seconds()
        if self.requests and all(slot.kind != REQUEST for slot in self.slots):
            return [Slot(REQUEST, "MasterReq", (), seconds)]
        while self.open_requests and (self.open_requests[0].done or self._timed_out(self.open_requests[0])):
            self.open_requests.popleft()
        if not self.open_requests:
            return ()
        if self.open_requests[0].frames:
            return [Slot(REQUESTED, "MasterReq", (), seconds)]
        return [] if self._answer_due else [Slot(RESPONSE, "SlaveResp", (), seconds)]

    @property
    def _answer_due(self) -> bool:
        """Whether the outcome of a header of SlaveResp is not known yet."""
        return self._answer_end is not None and self.poller.tick < self._answer_end

    def _timed_out(self, request: Request) -> bool:
        if request.deadline is None or request.frames or self._answer_due or self.poller.now < request.deadline:
            return False
        request.done = True
        return True

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
        if slot.kind == RESPONSE:
            self._answer_end = tick + slot.seconds * self.timescale.tick_hz
        if slot.kind == REQUESTED:
            request = self.open_requests[0]
            data = request.frames.popleft()
            response = data + bytes([checksum(data)])
            request.deadline = math.ceil(tick) + request.timeout
            request.done = request.nad == FUNCTIONAL_NAD and not request.frames
        elif slot.kind == REQUEST:
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
            if isinstance(item, Frame):
                self._judge(item)
        super()._hear(found)

    def _judge(self, frame: Frame) -> None:
        """What a frame means for what follows."""
        slot = self._events.get(frame.frame_id) if frame.frame_id is not None else None
        if slot and slot.resolving:
            if frame.error in BAD_RESPONSE:  # more than one node has answered
                self._resolve = slot.resolving
            if self._until is not None and frame.tick >= self._until:
                self._outcome = True
        if frame.frame_id == SLAVE_RESPONSE:
            self._answer_end = None
            if frame.error is None and self.open_requests:
                self.open_requests[0].hear(frame.data, frame.tick)
        foreign = not frame.own_header and not frame.own_response and frame.tick > self._slept
        if self.asleep and self._waking is None and foreign and frame.error in (NO_HEADER, NO_SYNC):
            self._waking = Fraction(frame.tick)


class Master(Job[Frame | LostEvent]):
    """A running master. Iterating over it gives the frames on the bus, its own and others'; Refused if the board could not keep a tick."""

    def __init__(self, run: MasterRun, rounds: int, start: int | None) -> None:
        super().__init__(run.backend)
        self.run, self._rounds, self._first = run, rounds, start
        self.start = 0  # tick of the first slot

    def _prepare(self) -> None:
        self.run.prepare()

    def _start(self) -> None:
        self.start = self.run.begin(self._rounds, self._first)

    def set(self, **values: Value) -> None:
        """New values of signals that the master publishes; they are sent from the next slot on that is not on its way to the board yet."""
        self.run.set(values)

    def request(self, data: bytes) -> None:
        """Eight bytes for the next slot of MasterReq; in a schedule without one, in a slot of its own behind the schedule's last."""
        if len(data) != DATA_MAX:
            raise BadInput(f"request: {len(data)} bytes are not {DATA_MAX}")
        self.run.requests.append(bytes(data))

    def ask(self, nad: int, message: bytes, timeout: Time = ANSWER_SECONDS) -> Request:
        """A message (service and data, up to 4095 bytes) to a node, and its answer, beside the running schedule.

        Behind each round through the schedule one slot is put for a frame of the request, then of the answer, until the answer is whole or
        `timeout` has passed without one of its frames. What is returned has the answer once it is `done`, while the frames are iterated
        over.
        """
        request = Request(nad, bytes(message), math.ceil(self.run.timescale.ticks(to_duration(timeout, "timeout"))))
        self.run.open_requests.append(request)
        return request

    def switch(self, schedule: str) -> None:
        """Another schedule, from the next border between two slots on that is not on its way to the board yet, at most 60 ms ahead."""
        self.run.switch(schedule)

    def sleep(self) -> None:
        """The go-to-sleep request at the next border, then silence. A wake-up of a node, or wake(), goes on with the schedule."""
        self.run.sleep()

    def wake(self) -> None:
        """Wakes a bus that sleep() sent to sleep: a pulse of 300 us, and the schedule 100 ms behind it."""
        self.run.wake()

    @property
    def asleep(self) -> bool:
        """sleep() has been carried out, and nothing has woken the bus yet."""
        return self.run.asleep

    @property
    def bit(self) -> Fraction:
        """Ticks of a bit, exact."""
        return self.run.bit

    def _follow(self, interrupt: Flag) -> Iterator[None]:
        for found in self.run.frames(interrupt):
            self._ready += found
            yield

    def _item(self, found: Frame | Lost) -> Frame | LostEvent:
        return LostEvent.of(found, self.run.timescale) if isinstance(found, Lost) else found

    def _finish(self) -> None:
        self._ready += self.run.take()


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
    return board.begin(Master(run, rounds, first))


def request(
    board: Board,
    description: Description,
    nad: int,
    message: bytes,
    *,
    schedule: str | None = None,
    timeout: Time = ANSWER_SECONDS,
    baud: Number | str | None = None,
    loopback: bool = False,
) -> tuple[Request, list[Frame]]:
    """A message (service and data, up to 4095 bytes) to a node, with its answer, and the frames that were heard. See Master.ask().

    schedule: runs meanwhile, None: nothing else is sent
    """
    run = MasterRun(board, description, schedule, baud, loopback)
    query = Request(nad, bytes(message), math.ceil(board.timescale.ticks(to_duration(timeout, "timeout"))))
    run.open_requests.append(query)
    frames: list[Frame] = []
    with board.begin(Master(run, 0, None)) as job:
        for item in job:
            if isinstance(item, Frame):
                frames.append(item)
            if query.done:
                break
    return query, frames
