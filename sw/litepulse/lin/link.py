# SPDX-License-Identifier: BSD-2-Clause
"""A LIN bus without a description: a program sends frames, has identifiers answered, and hears all, in one job."""

import math
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from litepulse.backends.interface import LAUNCH_PROFILE, Batch, Wanted
from litepulse.board import Board
from litepulse.capture import LostEvent
from litepulse.errors import BadInput, LitePulseError
from litepulse.interrupt import Flag
from litepulse.job import Job
from litepulse.launch import Entry
from litepulse.lin.bus import BusRun
from litepulse.lin.faults import Injection
from litepulse.lin.frames import ENHANCED, Expected, Frame
from litepulse.lin.monitor import DEFAULT_BAUD
from litepulse.lin.protocol import DATA_MAX, HEADER_BITS, ID_MAX, slot_limit
from litepulse.lin.slave import answers, check_bit
from litepulse.line import Launch, LinEntry
from litepulse.streams import Event, Lost
from litepulse.units import Number, hexadecimal

WAKE_PULSE = Fraction(3, 10_000)  # seconds, of 250 us to 5 ms
_TURN = 0.005  # seconds between two tries to have the turn
_UNHEARD_BITS = 60  # after a header, in which it has to be heard


@dataclass(frozen=True)
class Missed:
    """What this board could not send. tick: of the launch; answer: to a header; reason: 'late', 'busy', 'order', 'invalid', 'unheard'."""

    tick: int
    answer: bool
    reason: str


class LinkRun(BusRun):
    """Frames as a program gives them, one behind the other."""

    def __init__(self, board: Board, baud: Number | str) -> None:
        super().__init__(board, baud, None, False)
        self.wanted = Wanted(("queue",), ("queue",), missed=True, received=True)
        self.keep = False
        self.given: deque[Entry] = deque()
        self.source = iter(self._next, self)  # without end
        self.free = 0  # tick at which what was given is over
        self.sent: deque[tuple[int, int]] = deque()  # where headers begin and have to be heard
        self.missed: list[Missed] = []

    def _next(self) -> Entry | None:
        return self.given.popleft() if self.given else None

    def _digest(self, batch: Batch) -> list[tuple[int, Event]]:
        for event in batch.events:
            if not isinstance(event, Lost) and event.kind == "responder_missed":
                self.missed.append(Missed(event.tick, True, event.reason or "unknown"))
        found = super()._digest(batch)
        for _, event in found:
            if event.kind != "tx":
                self._refused(event)
        while self.sent and self.sent[0][1] < batch.tick and self.assembler.begun is None:
            self.missed.append(Missed(self.sent.popleft()[0], False, "unheard"))
        return found

    def _refused(self, event: Event) -> None:
        """One report for each frame."""
        for begin, end in self.sent:
            if begin <= event.tick <= end:
                self.sent.remove((begin, end))
                self.missed.append(Missed(begin, False, event.reason or "unknown"))
                return

    def _hear(self, found: "list[Frame] | list[Lost]") -> None:
        for item in found:
            if isinstance(item, Frame) and item.own_header:
                for begin, end in self.sent:
                    if begin <= item.tick <= begin + self.bit:
                        self.sent.remove((begin, end))
                        break
        super()._hear(found)

    def give(self, entries: Callable[[int], list[Entry]], bits: Fraction, header: bool) -> int:
        """Sends what begins at a tick as soon as the bus is free; nothing follows for so many bit times. Returns the tick."""
        tick = max(self.soon(DATA_MAX + 4), self.free)
        self.free = tick + math.ceil(bits * self.bit)
        if header:
            self.sent.append((tick, tick + math.ceil((HEADER_BITS + _UNHEARD_BITS) * self.bit + self.timescale.tick_hz / 20)))
        self.given += entries(tick)
        self.feed()
        return tick


class _Request:
    """What another thread than the one that looks at the board wants of it."""

    def __init__(self, action: Callable[[], int]) -> None:
        self.action, self.done = action, threading.Event()
        self.result = 0
        self.error: BaseException | None = None

    def run(self, over: bool) -> None:
        """Called by the thread that has the turn."""
        try:
            if over:
                raise LitePulseError("the LIN bus is closed")
            self.result = self.action()
        except BaseException as error:
            self.error = error
        self.done.set()


class Link(Job[Frame | LostEvent | Missed]):
    """A LIN bus in use. Iterating over it gives the frames on the bus, also this board's own, and what the board could not send.

    Any thread may send(), answer() and wake() while one iterates; what is sent leaves also while none does.
    """

    def __init__(self, board: Board, baud: Number | str) -> None:
        self.run = LinkRun(board, baud)
        super().__init__(board.backend)
        self._requests: deque[_Request] = deque()
        self._entries: int | None = None  # of the board's table, once it is in use

    @property
    def bit(self) -> Fraction:
        """Ticks of a bit, exact."""
        return self.run.bit

    def _prepare(self) -> None:
        self.run.prepare()

    def _follow(self, interrupt: Flag) -> Iterator[None]:
        for _ in self.run.follow(interrupt):
            self._serve()
            self._take()
            yield

    def _take(self) -> None:
        self._ready += self.run.take()
        self._ready += self.run.missed
        self.run.missed.clear()

    def _finish(self) -> None:
        self._take()

    def _item(self, found: Frame | Lost | Missed) -> Frame | LostEvent | Missed:
        return LostEvent.of(found, self.run.timescale) if isinstance(found, Lost) else found

    # A thread that looks at the board holds the turn nearly always, so it does what the others want.

    def _serve(self) -> None:
        while self._requests:
            self._requests.popleft().run(self._over)

    def _in_turn(self, action: Callable[[], int]) -> int:
        request = _Request(action)
        self._requests.append(request)
        while not request.done.is_set():
            if self._turn.acquire(timeout=_TURN):
                try:
                    self._serve()
                finally:
                    self._turn.release()
            else:
                request.done.wait(_TURN)
        if request.error is not None:
            raise request.error
        return request.result

    def send(self, frame_id: int, data: bytes | None = None, model: str = ENHANCED) -> int:
        """A header, with data also the response, as soon as the frames before it are over. Returns the tick at which its break begins.

        A frame is over when the longest one that the standard allows is: with the length of the response that expect() was given.
        """
        injection = Injection(frame_id, data, model)
        known = self.run.assembler.expected.get(frame_id)
        length = len(data) if data is not None else known.length if known else DATA_MAX
        return self._in_turn(lambda: self.run.give(lambda tick: injection.launches(tick, self.bit), slot_limit(length), True))

    def wake(self) -> int:
        """A pulse of 300 us that wakes the bus. Returns its tick."""
        width = math.ceil(WAKE_PULSE * self.run.timescale.tick_hz)
        return self._in_turn(
            lambda: self.run.give(lambda tick: [(tick, Launch("pulse", 0, LAUNCH_PROFILE, width))], width / self.bit + 1, False)
        )

    def expect(self, frame_id: int, length: int, model: str = ENHANCED) -> None:
        """How long the response of an identifier is, and its checksum: less is an error. 0: nothing is known."""
        LinEntry(_checked(frame_id), bytes(_length(length)))
        expected = {**self.run.assembler.expected}
        expected.pop(frame_id, None)
        if length:
            expected[frame_id] = Expected(length, model)
        self.run.assembler.expected = expected

    def answer(self, frame_id: int, data: bytes, model: str = ENHANCED, once: bool = False) -> None:
        """The board answers headers of an identifier, its own ones, too, with these bytes; without bytes no more. once: one header only.

        An answer begins one bit time after the header. Unsupported if the board has no LIN slave.
        """
        _length(len(data))
        entry = LinEntry(_checked(frame_id), bytes(data), model == ENHANCED, once)
        self._in_turn(lambda: self._answer(entry))
        self.expect(frame_id, len(data), model)

    def _answer(self, entry: LinEntry) -> int:
        responder = self._backend.responder
        if self._entries is None:
            entries = responder.lin_entries()
            check_bit(self.run.timescale, self.bit)
            self._backend.line.set_echo(None)
            responder.set_lin([LinEntry(frame_id) for frame_id in range(entries)])
            responder.arm(answers(math.floor(self.bit)))
            self._entries = entries
        if entry.frame_id >= self._entries:
            last = hexadecimal(self._entries - 1)
            raise BadInput(f"id: {hexadecimal(entry.frame_id)} is beyond the board's table of answers, which ends at {last}")
        responder.set_lin([entry])
        return 0

    def flush(self) -> None:
        """Waits until what was given has left."""
        while not self._over and (self.run.pending or self.run.given or self.run.poller.tick <= self.run.free):
            with self._turn:
                if not self._over:
                    self._look()


def _checked(frame_id: int) -> int:
    if not 0 <= frame_id <= ID_MAX:
        raise BadInput(f"id: {hexadecimal(frame_id)} is outside 0x00 to {hexadecimal(ID_MAX)}")
    return frame_id


def _length(length: int) -> int:
    if not 0 <= length <= DATA_MAX:
        raise BadInput(f"data: {length} bytes, a frame has 1 to {DATA_MAX}")
    return length


def link(board: Board, *, baud: Number | str = DEFAULT_BAUD) -> Link:
    """Uses a LIN bus: hears all frames, sends those that the program gives, and answers identifiers by the board itself."""
    return board.begin(Link(board, baud))
