# SPDX-License-Identifier: BSD-2-Clause
"""A LIN slave: the board answers headers by itself, at an exact tick; the program changes what it answers, and hears the bus."""

import dataclasses
import math
import threading
from collections import deque
from collections.abc import Iterable, Mapping
from fractions import Fraction
from pathlib import Path

from litepulse.backends.interface import LAUNCH_PROFILE, RECEIVE_PROFILE, Batch, Wanted
from litepulse.board import Board
from litepulse.errors import BadInput, LitePulseError
from litepulse.job import Poller, tidy
from litepulse.layout import LIN_BIT_MIN, RESPONSE_MIN_BYTE, SAMPLES_LATENCY_BYTE
from litepulse.lin.configuration import FUNCTIONAL_NAD, SLEEP
from litepulse.lin.description import Description, Value
from litepulse.lin.frames import BAD_CHECKSUM, BAD_RESPONSE, CLASSIC, ENHANCED, NO_HEADER, Assembler, Frame
from litepulse.lin.monitor import ListenToBus
from litepulse.lin.node import Faults, SlaveNode, checked_response
from litepulse.lin.protocol import (
    BYTE_BITS,
    CLASSIC_IDS,
    DATA_MAX,
    ID_MAX,
    MASTER_REQUEST,
    SLAVE_RESPONSE,
    checksum,
    header_limit,
    protected_id,
    response_limit,
)
from litepulse.lin.transport import Reassembly, segments
from litepulse.line import Format, Launch, LinEntry, Response, Trigger
from litepulse.plan import Time, profile_of
from litepulse.respond import RESPONDER_LIMIT
from litepulse.streams import Lost
from litepulse.units import Number, Timescale, approx, hexadecimal, to_duration, to_fraction

DEFAULT_SPACE = Fraction(1)  # bit times before each byte, a quarter of what the standard allows
SILENCE = 4  # seconds without a frame after which a node is asleep
WAKE_PULSE, WAKE_REPEAT, WAKES = Fraction(3, 10_000), Fraction(2, 10), 3  # seconds; of 250 us to 5 ms, 150 to 250 ms
WAKE_AHEAD = Fraction(5, 100)  # seconds before a pulse at which it is given to the board


def check_bit(timescale: Timescale, bit: Fraction) -> None:
    """BadInput if a bit of so many ticks is too short for the board's table of answers."""
    if bit < LIN_BIT_MIN * timescale.samples_per_cycle:
        most = math.floor(timescale.clock_hz / LIN_BIT_MIN)
        raise BadInput(f"baud: a LIN slave needs bits of {LIN_BIT_MIN} cycles or more, at most {most} baud on this board")


def answers(space: int) -> Response:
    """What is armed so that the board answers by its table, so many ticks behind a header; its
    own headers, too."""
    return Response(Trigger("lin"), Launch("frame", 0, RECEIVE_PROFILE), space, ignore_own=False)


class SlaveRun:
    """Keeps the board's table of answers, and follows what is heard on the bus. Other threads may call set() and respond()."""

    def __init__(
        self, board: Board, node: SlaveNode, space: Number | str | None = None, baud: Number | str | None = None, loopback: bool = False
    ) -> None:
        """space: bit times"""
        self.backend, self.node, self.description, self.loopback = board.backend, node, node.description, loopback
        self.entries = self.backend.responder.lin_entries()
        self.profile = profile_of(board.timescale, self.description.baud if baud is None else baud, Format())
        self.bit = Fraction(self.profile.bit_period.ticks)
        samples = board.timescale.samples_per_cycle
        check_bit(board.timescale, self.bit)
        self.space = self._ticks(space, samples)
        self.timescale = board.timescale
        self.configured = node.configured
        self.known = self.description.expected()
        self.assembler = Assembler(self.bit, self.known)
        self._place(ID_MAX + 1)
        for frame_id in (*node.published, *node.events):
            self._check_entry(frame_id)

        self.poller = Poller(self.backend)
        self.answered = self.missed = 0  # whole answers, and those that the board reports as missed
        self.values: dict[str, Value] = {}
        self._updated: dict[str, int] = {}  # frame that an event-triggered one has to bring: what begins later has its new values
        self._error = self._error_written = False  # response_error: as it is, and in the table
        # For SlaveResp: eight bytes, and whether they answer a request, which the next one takes back.
        self._responses: deque[tuple[bytes, bool]] = deque()
        self._requests, self._requested = Reassembly(), False
        self.asleep = False
        self._active = 0  # tick of the last frame or pulse
        self._wakes: deque[int] = deque()  # ticks of wake-up pulses to come
        self._response_tick: int | None = None  # since when the first of them is in the table
        self._held: deque[Frame | Lost] = deque()  # heard; whether an answer was missed may come later
        self._misses: list[tuple[int, str]] = []  # (tick, reason)
        self._lock = threading.Lock()
        self._touched = self._begun = self._over = False

    def _ticks(self, space: Number | str | None, samples: int) -> int:
        """A space in ticks, rounded down."""
        least = (RESPONSE_MIN_BYTE + (SAMPLES_LATENCY_BYTE if samples > 1 else 0)) * samples
        bits = DEFAULT_SPACE if space is None else to_fraction(space, "space")
        ticks = math.floor(bits * self.bit)
        if not least <= ticks <= RESPONDER_LIMIT:
            bound = [math.ceil(1000 * least / self.bit) / 1000, math.floor(1000 * RESPONDER_LIMIT / self.bit) / 1000]
            raise BadInput(
                f"space: {approx(bits)} bit times is outside {bound[0]:g} to {bound[1]:.15g}, what the board can do at this bit rate"
            )
        return ticks

    def _check_entry(self, frame_id: int) -> None:
        """BadInput if the board cannot answer it."""
        if frame_id >= self.entries:
            name, last = self.node.name_of(frame_id), hexadecimal(self.entries - 1)
            raise BadInput(f"{name}: identifier {hexadecimal(frame_id)} is beyond the board's table of answers, which ends at {last}")

    # What is answered

    def _data(self, name: str, values: Mapping[str, Value]) -> bytes:
        """Of a frame, with response_error as it is."""
        data = bytearray(self.description.encode(name, values))
        if name in self.node.events.values():  # its identifier, which the master may have changed
            data[0] = next((protected_id(number) for number, one in self.node.published.items() if one == name), data[0])
        if self.node.error_signal in self.description.signals(name) and self.node.error_signal:
            byte, bit = divmod(self.description.bit_of(name, self.node.error_signal), 8)
            data[byte] = data[byte] & ~(1 << bit) | self._error << bit
        return bytes(data)

    def _entry(self, frame_id: int, data: bytes, model: str, once: bool = False) -> LinEntry:
        return LinEntry(frame_id, data, model == ENHANCED, once, self.node.checksums.get(frame_id), self.node.flips.get(frame_id, 0))

    def _entries(self, names: "list[str] | tuple[str, ...]", events: bool) -> list[LinEntry]:
        """Those of frames, and with `events` of the event-triggered ones that may bring them."""
        entries: list[LinEntry] = []
        for name in names:
            data, model = self._data(name, self.values), self.description.checksum_of(name)
            entries += [self._entry(number, data, model) for number, one in self.node.published.items() if one == name]
            if events:
                entries += [self._entry(event, data, model, once=True) for event, one in self.node.events.items() if one == name]
        return entries

    def set(self, values: Mapping[str, Value]) -> None:
        """New values of signals that the node publishes: all of them, or BadInput and none. An event-triggered frame has to bring them."""
        with self._lock:
            if self._over:
                raise LitePulseError("the slave has ended")
            self.values, names = self.node.changed(values, self.values)
            signal = self.node.error_signal
            if signal is not None and signal in values:
                self._error = bool(values[signal])
            self._updated |= dict.fromkeys((name for name in names if name in self.node.events.values()), 0)
            if self._begun:
                self._write(names)
                self._write_error()

    def _write(self, names: "list[str] | tuple[str, ...]") -> None:
        """Frames with new values. They are certain in frames that begin behind the tick that is
        read then."""
        self.backend.responder.set_lin(self._entries(names, events=True))
        waiting = [name for name in names if name in self._updated]
        if waiting:
            self._updated |= dict.fromkeys(waiting, self.backend.now())

    def _write_error(self) -> None:
        """response_error, where the table has another one. Its change alone is no event."""
        if self._error != self._error_written and self.node.error_signal:
            self._error_written = self._error
            names = [name for name in self.description.frames_with(self.node.error_signal) if name in self.node.published.values()]
            self.backend.responder.set_lin(self._entries(names, events=False))

    def respond(self, data: bytes) -> None:
        """Eight bytes for the next header of SlaveResp that has none yet; each answers one header."""
        response = checked_response(data)
        self._check_entry(SLAVE_RESPONSE)
        with self._lock:
            if self._over:
                raise LitePulseError("the slave has ended")
            self._respond([response], self._requested)

    def answer(self, message: bytes) -> None:
        """A message, as one frame or several of the node's own address, for the next headers of SlaveResp. A new request takes it back."""
        nad = self.configured.nad
        if nad is None:
            raise BadInput(f"{self.node.name} has no NAD in its Node_attributes")
        frames = segments(nad, message)
        self._check_entry(SLAVE_RESPONSE)
        with self._lock:
            if self._over:
                raise LitePulseError("the slave has ended")
            self._respond(frames, True)

    def _respond(self, frames: list[bytes], requested: bool) -> None:
        self._responses.extend((frame, requested) for frame in frames)
        if self._begun and self._response_tick is None:
            self._write_response()

    def _write_response(self) -> None:
        """The first that waits, if one does."""
        self._response_tick = None
        if self._responses:
            self.backend.responder.set_lin([self._entry(SLAVE_RESPONSE, self._responses[0][0], CLASSIC, once=True)])
            self._response_tick = self.backend.now()

    # From the beginning to the end

    def prepare(self) -> None:
        """Fills the table, begins to listen, and arms the board."""
        backend = self.backend
        if backend.status().train_running:
            raise BadInput("a train is running on this line; 'litepulse stop' ends it")
        self._touched = True
        try:
            backend.line.set_receiver(self.profile, True, self.loopback, instead_of="responder")
            backend.line.set_echo(None)
            with self._lock:
                # An earlier slave may have left answers in the table.
                backend.responder.set_lin([LinEntry(frame_id) for frame_id in range(self.entries)])
                backend.responder.set_lin(self._entries(tuple(self.node.published.values()), events=False))
                self._error_written = self._error
                self._write([name for name in self._updated])
                self._write_response()
                self._begun = True
                self._active = backend.now()
            backend.recorder.record(Wanted(missed=True, received=True))
            backend.pledge(keep=False)
            backend.responder.arm(answers(self.space))
        except BaseException:
            self.end()
            raise

    def end(self) -> None:
        """Disarms the board: nothing is answered any more, nothing recorded. What ran there before prepare() refused it goes on."""
        self.freeze()
        if self._touched:
            tidy(self.backend)

    def freeze(self) -> None:
        """The table stays as it is."""
        with self._lock:
            self._over = True

    def poll(self) -> list[Frame | Lost]:
        """What is new, and the table as it has to be after it."""
        _, batch = self.poller.poll()
        with self._lock:
            found = self._digest(batch)
            for item in found:
                if isinstance(item, Frame):
                    self._judge(item)
            if any(isinstance(item, Lost) for item in found):
                self._recover()
            if self._begun and not self._over:
                self._write_error()
                self._sleep(found, batch.tick)
        return found

    def rest(self) -> list[Frame | Lost]:
        """What was held back, at the end."""
        _, batch = self.poller.poll()
        with self._lock:
            return self._digest(batch, wait=False)

    # What was heard

    def _digest(self, batch: Batch, wait: bool = True) -> list[Frame | Lost]:
        """Frames that have ended, with what was missed; wait: until that is certain."""
        for event in batch.events:
            if isinstance(event, Lost):
                self._held.append(event)
            elif event.kind == "responder_missed":
                self._misses.append((event.tick, event.reason or "unknown"))
                self.missed += 1
        for byte in batch.received:
            self._held.extend([byte] if isinstance(byte, Lost) else self.assembler.feed(byte, batch.tick))
        self._held.extend(self.assembler.advance(batch.tick))
        found: list[Frame | Lost] = []
        while self._held:
            item = self._held[0]
            if isinstance(item, Frame):
                if wait and not self._certain(item, batch.tick):
                    break
                item = self._with_miss(item)
                self.answered += self._sent(item)
            self._held.popleft()
            found.append(item)
        return found + self._strays(batch.tick)

    def _ends(self, frame: Frame) -> list[int]:
        """Where the frames of those bytes end behind which the board may have had to send one."""
        if frame.pid_tick is None or frame.frame_id not in (*self.node.published, *self.node.events, SLAVE_RESPONSE):
            return []
        return [tick + math.floor(BYTE_BITS * self.bit) for tick in (frame.pid_tick, *frame.ticks)]

    def _certain(self, frame: Frame, now: int) -> bool:
        """Whether all that was missed within a frame is known at the board's tick `now`."""
        ends = self._ends(frame)
        return not ends or self._sent(frame) or now > ends[-1] + self.space + BYTE_BITS * self.bit

    def _with_miss(self, frame: Frame) -> Frame:
        """The frame, with the answer that was missed in it as its error. Reported is the tick of the launch, or when it was too late."""
        for end in self._ends(frame):
            for miss in self._misses:
                tick, reason = miss
                if tick - self.space == end or (reason == "late" and end <= tick < end + BYTE_BITS * self.bit):
                    self._misses.remove(miss)
                    return dataclasses.replace(frame, error=f"missed {reason}")
        return frame

    def _strays(self, now: int) -> list[Frame]:
        """Missed answers whose header is missing among what was heard."""
        longest = (header_limit() + 2 * response_limit(DATA_MAX)) * self.bit + 2 * self.space
        old = [miss for miss in self._misses if miss[0] + longest < now]
        self._misses = [miss for miss in self._misses if miss not in old]
        return [Frame(tick, error=f"missed {reason}") for tick, reason in old]

    def _sent(self, frame: Frame) -> bool:
        """Whether this board has sent the response, whole and as it was meant: its checksum may be wrong on purpose."""
        if not frame.own_response or frame.frame_id is None:
            return False
        name = self.node.published.get(frame.frame_id) or self.node.events.get(frame.frame_id)
        length = self.description.length(name) if name else DATA_MAX
        enhanced = name is not None and self.description.checksum_of(name) == ENHANCED and frame.frame_id not in CLASSIC_IDS
        right = checksum(frame.data, protected_id(frame.frame_id) if enhanced else None) ^ self.node.flips.get(frame.frame_id, 0)
        meant = self.node.checksums.get(frame.frame_id, right)
        return frame.error in (None, BAD_CHECKSUM) and len(frame.data) == length and frame.checksum == meant

    def _judge(self, frame: Frame) -> None:
        """What a frame means for response_error, for event-triggered frames and for SlaveResp."""
        frame_id, sent = frame.frame_id, self._sent(frame)
        if frame_id in self.node.events:
            self._event(self.node.events[frame_id], frame, sent)  # a collision is no error
        elif frame_id in self.node.published:
            name = self.node.published[frame_id]
            if sent:
                self._is_sent(name, frame)
                self._is_brought(name, frame)
            elif frame.error in BAD_RESPONSE:
                self._error = True
        elif frame_id == SLAVE_RESPONSE and self._response_tick is not None:
            self._response(frame, sent)
        elif frame_id in self.node.received and frame.error in BAD_RESPONSE:
            self._error = True
        elif frame_id == MASTER_REQUEST and frame.error is None and len(frame.data) == DATA_MAX:
            self._request(frame.data)

    def _request(self, data: bytes) -> None:
        """Of the master's: an answer that waits is taken back, and what the node itself can answer is answered."""
        if data[0] == SLEEP[0]:
            self.asleep = True
            return
        if data[0] != FUNCTIONAL_NAD:
            self._requested = True
            self._take_back()
        message = self._requests.feed(data)
        answer = self.configured.answer(*message) if message else None
        if answer is None or self._over or not self._begun or self.entries <= SLAVE_RESPONSE:
            return
        self._respond(segments(*answer), True)
        self._move()

    def _take_back(self) -> None:
        """Answers to an earlier request."""
        if not any(requested for _, requested in self._responses):
            return
        waiting = self._response_tick is not None and self._responses[0][1]
        self._responses = deque(one for one in self._responses if not one[1])
        if waiting and not self._over:
            self.backend.responder.set_lin([LinEntry(SLAVE_RESPONSE)])
            self._write_response()

    def _place(self, entries: int) -> None:
        """Which frame has which identifier below `entries` now."""
        self.node.place(entries)
        self.assembler.expected = {
            number: dataclasses.replace(known)
            for name, number in self.configured.frames.items()
            for known in self.known.values()
            if number is not None and known.name == name
        } | {number: self.known[number] for number in (MASTER_REQUEST, SLAVE_RESPONSE)}

    def _move(self) -> None:
        """The frames have the identifiers that the master has assigned; one beyond the board's table is not answered."""
        before = (self.node.published, self.node.events)
        self._place(self.entries)
        if (self.node.published, self.node.events) == before:
            return
        old = {number for frames in before for number in frames} - {*self.node.published, *self.node.events}
        self.backend.responder.set_lin([LinEntry(number) for number in sorted(old - {SLAVE_RESPONSE})])
        self.backend.responder.set_lin(self._entries(tuple(self.node.published.values()), events=False))
        self._write([name for name in self._updated if name in self.node.published.values()])

    def _sleep(self, found: list[Frame | Lost], now: int) -> None:
        """Asleep after SILENCE without a frame, awake with the next one; and the pulses that wake the others."""
        second = self.timescale.tick_hz
        for frame in (frame for frame in found if isinstance(frame, Frame)):
            self._active = max(self._active, frame.tick)
            if frame.error != NO_HEADER:
                self._wakes.clear()  # a master has begun
            self.asleep = self.asleep and frame.data[:1] == SLEEP[:1] and frame.frame_id == MASTER_REQUEST
        if now - self._active >= SILENCE * second:
            self.asleep = True
        while self._wakes and now >= self._wakes[0] - WAKE_AHEAD * second:
            tick = max(self._wakes.popleft(), now + math.ceil(WAKE_AHEAD * second) // 2)
            self.backend.queue.launch([(tick, 0, Launch("pulse", 0, LAUNCH_PROFILE, math.ceil(WAKE_PULSE * second)))])

    def wake(self) -> None:
        """Wakes the bus: pulses of 300 us, 200 ms apart and three at most, until a master sends a header."""
        with self._lock:
            if self._over or not self._begun:
                raise LitePulseError("the slave does not run")
            second = self.timescale.tick_hz
            self.backend.line.set_profile(LAUNCH_PROFILE, self.profile)
            begin = self.backend.now() + math.ceil(WAKE_AHEAD * second)
            self._active = begin
            self._wakes = deque(begin + math.ceil(n * WAKE_REPEAT * second) for n in range(WAKES))
            self.asleep = False

    def _is_sent(self, name: str, frame: Frame) -> None:
        """response_error was sent, so it is cleared."""
        if self.node.error_signal and self.node.error_signal in self.description.signals(name):
            byte, bit = divmod(self.description.bit_of(name, self.node.error_signal), 8)
            if frame.data[byte] >> bit & 1:
                self._error = False

    def _is_brought(self, name: str, frame: Frame) -> None:
        """The master has the new values of a frame: they are no event any more."""
        if name in self._updated and frame.tick > self._updated[name]:
            del self._updated[name]
            if self._begun and not self._over:
                self.backend.responder.set_lin([LinEntry(event) for event, one in self.node.events.items() if one == name])

    def _event(self, name: str, frame: Frame, sent: bool) -> None:
        """The header of an event-triggered frame used up the answer that the board had."""
        if sent:
            self._is_brought(name, frame)
        if name in self._updated and not self._over:
            self._write([name])

    def _response(self, frame: Frame, sent: bool) -> None:
        """The header of SlaveResp used up the answer: the next one is due, or this one again if nothing of it was sent."""
        assert self._response_tick is not None
        if frame.own_response or sent:
            self._responses.popleft()
            if frame.error in BAD_RESPONSE and not sent:
                self._error = True
        elif frame.tick <= self._response_tick and not (frame.error or "").startswith("missed"):
            return  # it came before
        if not self._over:
            self._write_response()

    def _recover(self) -> None:
        """Records were lost: answers may have been used up unseen. They are given again, so that one may be sent twice, and none never."""
        if self._over or not self._begun:
            return
        if self._updated:
            self._write(list(self._updated))
        if self._response_tick is not None:
            self._write_response()


class Slave(ListenToBus):
    """A running slave. Iterating over it gives the frames on the bus, its own and others'. A missed answer is the error of its frame."""

    def __init__(self, run: SlaveRun, count: int = 0, duration: int | None = None) -> None:
        super().__init__(run.backend, run.poller, count, duration)
        self.run = run

    def _prepare(self) -> None:
        self.run.prepare()

    def set(self, **values: Value) -> None:
        """New values of signals that the node publishes: each frame is answered with the old ones or with the new ones, never with some.

        Another thread may call it while this one waits for a frame.
        """
        self.run.set(values)

    def respond(self, data: bytes) -> None:
        """Eight bytes for the next header of SlaveResp. Several wait for one header each. Another thread may call it, too.

        What is given after a request answers that one: the next request takes it back.
        """
        self.run.respond(data)

    def answer(self, message: bytes) -> None:
        """A message of up to 4095 bytes (service and data) for the next headers of SlaveResp, from the node's own address."""
        self.run.answer(message)

    def wake(self) -> None:
        """Wakes the bus: pulses of 300 us, 200 ms apart and three at most, until a master sends a header."""
        self.run.wake()

    @property
    def asleep(self) -> bool:
        """The master has sent the bus to sleep, or there was no frame for 4 s. A header wakes the node, and is answered."""
        return self.run.asleep

    @property
    def answered(self) -> int:
        """Answers that were sent whole, by now."""
        return self.run.answered

    @property
    def missed(self) -> int:
        """Answers that the board could not send, by now."""
        return self.run.missed

    def detach(self) -> None:
        """Ends the job here; the board goes on answering, with the table as it is: frames no longer
        change it."""
        self.run.freeze()
        super().detach()

    def _poll(self) -> list[Frame | Lost]:
        return self.run.poll()

    def _rest(self) -> list[Frame | Lost]:
        return [*self.run.poll(), *self.run.rest()]

    def _release(self) -> None:
        self.run.end()


def slave(
    board: Board,
    description: Description,
    node: str,
    *,
    values: Mapping[str, Value] | None = None,
    space: Number | str | None = None,
    flip_checksum: Faults | None = None,
    checksum: Faults | None = None,
    baud: Number | str | None = None,
    loopback: bool = False,
    identifiers: Mapping[int, bytes] | None = None,
    dump: bytes | None = None,
    configuration: str | Path | None = None,
    count: int = 0,
    duration: Time | None = None,
) -> Slave:
    """Plays a slave of a description: the board answers the headers of all frames that the node publishes, whatever this program does.

    values: of signals, others have their initial value; space: bit times (1) from the end of the identifier to the answer, and between
    its bytes; flip_checksum, checksum: {identifier or name of a frame: byte}, bits of its checksum that are inverted, or what is sent
    instead; baud: instead of the description's; it ends after count frames, after duration, or when it is stopped.
    identifiers: what ReadByIdentifier reads beside the product, {1: four bytes of the serial number, 32 to 63: one to five bytes};
    dump: five bytes that answer DataDump; configuration: a file that SaveConfiguration writes, and from which NAD and identifiers of the
    frames are taken at the beginning if it exists. Without them these requests are refused, as the standard allows.
    Unsupported if the board has no LIN slave, or its driver is too old.
    """
    played = SlaveNode(description, node, flip_checksum, checksum, identifiers, dump, configuration)
    return play(board, played, values, (), space, baud, loopback, count, duration)


def play(
    board: Board,
    node: SlaveNode,
    values: Mapping[str, Value] | None = None,
    responses: Iterable[bytes] = (),
    space: Number | str | None = None,
    baud: Number | str | None = None,
    loopback: bool = False,
    count: int = 0,
    duration: Time | None = None,
) -> Slave:
    """As slave(), a node that is known already; responses: for the first headers of SlaveResp."""
    run = SlaveRun(board, node, space, baud, loopback)
    run.set(values or {})
    for data in responses:
        run.respond(data)
    ticks = None if duration is None else math.floor(board.timescale.ticks(to_duration(duration, "duration")))
    return board.begin(Slave(run, count, ticks))
