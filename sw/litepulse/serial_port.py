# SPDX-License-Identifier: BSD-2-Clause
"""A board as pyserial knows serial ports, which also reports when each byte left and came.

The bytes are timed launches: what is written leaves at once, byte after byte, or at the tick that is named, and not one tick later.
"""

import math
import socket
import threading
import time
from collections import deque
from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import serial

from litepulse.backends.interface import LAUNCH_PROFILE, Wanted
from litepulse.board import Board, open_named
from litepulse.errors import BadInput, InUse, LitePulseError, Refused
from litepulse.job import check_alone, tidy
from litepulse.line import Format, Launch, Profile
from litepulse.plan import Time, When
from litepulse.streams import Event, Lost, RxByte
from litepulse.units import Moment, Number, to_duration, to_rate

if TYPE_CHECKING:
    from typing import Self

_STUCK = 5.0  # seconds in which a byte must leave that can
_ATTEMPTS = 4  # to send a break
_POLL = 0.002  # seconds between two looks while a thread waits
_PARITY = {"N": "none", "O": "odd", "E": "even", "M": "mark", "S": "space"}
_STOP = {1: 0, 1.5: 1, 2: 2}
_AHEAD = Fraction(1, 1000)  # seconds from writing to the first bit, at least


class TimedBytes(bytes):
    """Bytes that were received, with `ticks`: of the start edge of each; `records`: all that is known of each."""

    ticks: tuple[int, ...]
    records: tuple[RxByte, ...]

    def __new__(cls, received: Iterable[RxByte] = ()) -> "Self":
        """Of records."""
        records = tuple(received)
        self = super().__new__(cls, bytes(record.data for record in records))
        self.ticks, self.records = tuple(record.tick for record in records), records
        return self


class Written(int):
    """How many bytes were written, with `ticks` of their start edges: with `at` known at once, else those that have left by now."""

    ticks: list[int]

    def __new__(cls, count: int = 0, ticks: Iterable[int] = ()) -> "Self":
        """Of how many, and the ticks that are known."""
        self = super().__new__(cls, count)
        self.ticks = list(ticks)
        return self


class Serial(serial.SerialBase):
    """As serial.Serial, on a board, which it has alone. It has TX and RX only: no modem lines, no flow control."""

    # Of pyserial's base class, which keeps what its properties were set to.
    _port: str | None
    _baudrate: int | Fraction
    _bytesize: int
    _parity: str
    _stopbits: float
    _timeout: float | None
    _write_timeout: float | None
    _inter_byte_timeout: float | None
    _xonxoff: bool
    _rtscts: bool
    _dsrdtr: bool
    _rs485_mode: object
    _break_state: bool
    is_open: bool

    def __init__(self, board: Board | str | None = "litepulse", *arguments: Any, **options: Any) -> None:
        """board: a Board that is open, or what names one for open_named(): "litepulse" is the one there is, "/dev/litepulse0" a device of
        the kernel's driver, "port:/dev/ttyUSB1" and "port:tcp:host:port" a bridge, "sim" the simulated SoC. With None nothing is opened
        yet, as pyserial has it.

        Further arguments as of serial.Serial: baudrate (also a fraction: 45.45), bytesize, parity, stopbits, timeout, write_timeout,
        inter_byte_timeout. marks: each byte that is written is a mark, and appears on the board's marker port, not on the line; what is
        received is the line's as ever. ValueError when it is opened with what this port does not have: xonxoff, rtscts, dsrdtr, rs485_mode.
        """
        self._marks = bool(options.pop("marks", False))
        self._given = board if isinstance(board, Board) else None
        self._board: Board | None = None
        self._lock = threading.RLock()
        self._ends: tuple[socket.socket, socket.socket] | None = None  # of fileno(): a byte lies in the second while there are some to read
        self._watcher: threading.Thread | None = None
        self._shown = False  # that byte
        self._cancel_read = threading.Event()
        self._cancel_write = threading.Event()
        self._received: deque[RxByte] = deque()
        self._timed: deque[tuple[int, int]] = deque()  # (tag, tick) of launches whose outcome is not known
        self._unfed: list[tuple[int, Launch]] = []  # that found no room yet
        self._next_tag = 0
        self._bytes = bytearray()  # best effort, that found no room yet
        self._leaving: deque[Written] = deque()  # best effort, of which not all have left
        self._line_free = 0  # tick at which all timed launches have left
        self._tick, self._moved = -1, 0.0  # of the board at the last look, and since when it is that
        self._last_left = 0  # tick at which the last best-effort byte began to leave
        self._refused: list[tuple[int, str]] = []
        super().__init__(self._given.name if self._given else board, *arguments, **options)  # type: ignore[arg-type]

    # Opening ---------------------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Opens the board; SerialException if that cannot be."""
        if self._port is None:
            raise serial.SerialException("Port must be configured before it can be used.")
        if self.is_open:
            raise serial.SerialException("Port is already open.")
        self._check_options()
        taken = False
        try:
            self._board = self._given or open_named(str(self._port))
            if self._marks:
                self._board.set_marks()
            self._profile = self._make_profile()
            self._board.take()
            taken = True
            self._prepare()
        except LitePulseError as error:
            board, self._board = self._board, None
            if board and taken:
                board.give_back()
            if board and not self._given:
                board.close()
            raise serial.SerialException(str(error)) from None
        self.is_open = True

    def _prepare(self) -> None:
        backend = self.board.backend
        if backend.status().train_running:
            raise InUse(f"{self.board.name}: a train runs there; stop it first")
        check_alone(backend)
        backend.line.set_receiver(self._profile, True, False)
        backend.line.set_profile(LAUNCH_PROFILE, self._profile)
        backend.queue.flush()
        backend.recorder.record(Wanted(("queue", "tty"), ("queue",), received=True))

    def close(self) -> None:
        """Lets what was written leave, then closes."""
        if self.is_open:
            try:
                self.flush()
            except (serial.SerialException, LitePulseError):
                pass
            self.is_open = False
            self._unwatch()
            self._let_go()

    def _let_go(self) -> None:
        board, self._board = self._board, None
        if board:
            tidy(board.backend)
            board.give_back()
            if board is not self._given:
                board.close()

    @property
    def board(self) -> Board:
        """The board; PortNotOpenError while it is closed."""
        if self._board is None:
            raise serial.PortNotOpenError
        return self._board

    # Settings --------------------------------------------------------------------------------------------------------

    @property
    def baudrate(self) -> int | Fraction:  # pyright: ignore[reportIncompatibleMethodOverride]  # pyserial's has no fractions
        """Bits per second; a Fraction if it is not whole."""
        return self._baudrate

    @baudrate.setter
    def baudrate(self, baudrate: Number | str) -> None:
        try:
            rate = to_rate(baudrate, "baudrate")
        except BadInput as error:
            raise ValueError(str(error)) from None
        before = self._baudrate
        self._baudrate = rate.numerator if rate.denominator == 1 else rate
        try:
            self._reconfigure_port()
        except ValueError:
            self._baudrate = before
            raise

    def _check_options(self) -> None:
        """ValueError for what would be without effect; it is switched off again."""
        for what in ("xonxoff", "rtscts", "dsrdtr"):
            if getattr(self, f"_{what}"):
                self._xonxoff = self._rtscts = self._dsrdtr = False
                raise ValueError(f"{what}: this port has no flow control")
        if self._rs485_mode is not None:
            self._rs485_mode = None
            raise ValueError("rs485_mode: the pin `de` of the board is driver enable, without a mode")

    def _make_profile(self) -> Profile:
        fmt = Format(int(self._bytesize), _PARITY[str(self._parity)], _STOP[float(self._stopbits)], to_port=self._marks)
        return Profile(self.board.timescale.bit_period(self._baudrate), fmt)

    def _reconfigure_port(self) -> None:
        """pyserial calls this when a setting was changed. What was written before leaves first, with the old settings."""
        if self._board is None:
            return
        self._check_options()
        with self._lock:
            try:
                profile = self._make_profile()
                if profile != self._profile:
                    self.flush()
                    self._profile = profile
                    self.board.backend.line.set_receiver(profile, True, False)
                    self.board.backend.line.set_profile(LAUNCH_PROFILE, profile)
            except LitePulseError as error:
                raise ValueError(str(error)) from None

    # Bytes -----------------------------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Takes what came, and gives the board what it has room for."""
        with self._lock:
            try:
                batch = self.board.backend.recorder.read()
                self._check_clock(batch.now)
                for event in batch.events:
                    if isinstance(event, Event):
                        self._note(event)
                self._received.extend(byte for byte in batch.received if not isinstance(byte, Lost))
                self._show()
                self._feed()
            except LitePulseError as error:
                raise serial.SerialException(str(error)) from None

    def _check_clock(self, now: int) -> None:
        """SerialException if the board's clock stands still: what waits for a tick would wait forever."""
        if now != self._tick:
            self._tick, self._moved = now, time.monotonic()
        elif time.monotonic() > self._moved + _STUCK:
            raise serial.SerialException(f"{self.board.name}: the core's clock stands still")

    def _note(self, event: Event) -> None:
        """What became of a byte."""
        if event.source == "tty":
            self._last_left = event.tick
            if self._leaving:
                self._leaving[0].ticks.append(event.tick)
                if len(self._leaving[0].ticks) >= self._leaving[0]:
                    self._leaving.popleft()
            return
        while self._timed and self._timed[0][0] != event.tag:
            self._timed.popleft()  # its record was lost
        if self._timed:
            _, tick = self._timed.popleft()
            if event.kind == "refused":
                self._refused.append((tick, event.reason or "unknown"))

    def _feed(self) -> None:
        backend = self.board.backend
        if self._bytes:
            del self._bytes[: backend.line.transmit(bytes(self._bytes))]
        if self._unfed and (part := self._unfed[: backend.status().launch_free]):
            taken = backend.queue.launch([(tick, (self._next_tag + i) & 0xFFFF, launch) for i, (tick, launch) in enumerate(part)])
            for tick, _ in part[:taken]:
                self._timed.append((self._next_tag & 0xFFFF, tick))
                self._next_tag += 1
            del self._unfed[:taken]

    def write(self, b: Any, /, at: When | None = None) -> Written:
        """Bytes, which leave one behind the other: as soon as they can, or the first `at` a tick, exactly.

        Returns how many they are, with their `ticks`; waits until all are in the board. Those with `at` are timed launches: write() or
        flush() raises Refused, with the tick, if the board could not launch one.
        """
        data = bytes(b)
        if any(byte >> int(self._bytesize) for byte in data):
            raise BadInput(f"byte: 0x{max(data):02x} does not fit {self._bytesize} data bits")
        board = self.board
        self._cancel_write.clear()
        with self._lock:
            if at is None:
                written = Written(len(data))
                if data:
                    self._bytes += data
                    self._leaving.append(written)
            else:
                written = Written(len(data), self._launch(data, at))
            self._look()
        end = None if self._write_timeout is None else time.monotonic() + self._write_timeout
        while self._bytes or self._unfed:
            if self._cancel_write.is_set():
                return Written(len(data) - self._take_back(), written.ticks)
            if end is not None and time.monotonic() > end:
                self._take_back()
                raise serial.SerialTimeoutException("Write timeout")
            board.backend.recorder.wait(_POLL)
            self._look()
        self._check()
        return written

    def _launch(self, data: bytes, at: When) -> list[int]:
        start = self.board.tick_of(at)
        if self._marks and len(data) > 1:
            raise BadInput("at: two marks at one tick; write one byte at a time")
        if start < self._line_free:
            raise BadInput(f"at: the line is busy until tick {self._line_free} with what was written before")
        length = Launch("frame", 0, LAUNCH_PROFILE).length(self._profile)
        ticks = [start + k * length for k in range(len(data))]
        self._unfed += [(tick, Launch("frame", byte, LAUNCH_PROFILE)) for tick, byte in zip(ticks, data)]
        self._line_free = start + len(data) * length
        return ticks

    def _lead(self, count: int) -> int:
        """Ticks from now in which the first launches reach the board."""
        backend = self.board.backend
        first = backend.now()
        seconds = _AHEAD + backend.queue.seconds(min(count, self.board.identity.launch_depth))
        return 8 * (backend.now() - first) + math.ceil(self.board.timescale.ticks(seconds))

    def _take_back(self) -> int:
        """Discards bytes that are not in the board yet; their number."""
        with self._lock:
            count = len(self._unfed) + len(self._bytes)
            if self._unfed:
                self._line_free = self._unfed[0][0]
            self._unfed.clear()
            self._bytes.clear()
            if self._leaving:
                last = self._leaving.pop()
                self._leaving.append(Written(max(0, last - count), last.ticks))
            return count

    def _check(self) -> None:
        if self._refused:
            tick, reason = self._refused[0]
            self._refused.clear()
            raise Refused(f"the byte for tick {tick} was refused: {reason}", reason, tick)

    def read(self, size: int = 1, /) -> TimedBytes:
        """Up to `size` bytes, fewer if the timeout came before; `ticks` of what is returned has their start edges."""
        board = self.board
        self._cancel_read.clear()
        end = None if self._timeout is None else time.monotonic() + self._timeout
        last, known = time.monotonic(), len(self._received)
        while True:
            self._look()
            if len(self._received) != known:
                last, known = time.monotonic(), len(self._received)
            now = time.monotonic()
            gap = self._inter_byte_timeout is not None and known and now - last > self._inter_byte_timeout
            if known >= size or gap or self._cancel_read.is_set() or (end is not None and now >= end):
                break
            board.backend.recorder.wait(min(_POLL, max(0.0, end - now)) if end is not None else _POLL)
        with self._lock:
            taken = TimedBytes([self._received.popleft() for _ in range(min(size, len(self._received)))])
            self._show()
            return taken

    @property
    def in_waiting(self) -> int:
        """Bytes that can be read at once."""
        self._look()
        return len(self._received)

    @property
    def lost(self) -> int:
        """Received bytes that the board, or the driver, had no room for, because they were read too slowly."""
        self._look()
        return self.board.backend.recorder.losses().received

    @property
    def out_waiting(self) -> int:
        """Bytes that have not begun to leave."""
        self._look()
        return len(self._unfed) + len(self._timed) + sum(each - len(each.ticks) for each in self._leaving)

    def flush(self) -> None:
        """Waits until all that was written has left. Refused if a timed byte could not; SerialException if bytes do not leave at all."""
        board = self.board
        try:
            self._await_line(board)
        except serial.PortNotOpenError:
            if self.is_open:
                raise
            # Another thread has closed it, and waited for the same.

    def _await_line(self, board: Board) -> None:
        frame = Launch("frame", 0, LAUNCH_PROFILE).length(self._profile)
        last, end = -1, 0.0
        while waiting := self.out_waiting:
            if waiting != last:
                last, end = waiting, time.monotonic() + _STUCK
            elif time.monotonic() > end and board.backend.now() > self._line_free:
                self._leaving.clear()
                raise serial.SerialException(f"{waiting} bytes do not leave the board")
            board.backend.recorder.wait(_POLL)
        while self._tick < max(self._line_free, self._last_left + frame if self._last_left else 0):
            board.backend.recorder.wait(_POLL)
            self._look()
        self._look()
        self._check()

    def reset_input_buffer(self) -> None:
        """Forgets what was received."""
        with self._lock:
            self._look()
            self._received.clear()
            self._show()

    def reset_output_buffer(self) -> None:
        """What has not begun to leave never does."""
        with self._lock:
            self._unfed.clear()
            self._bytes.clear()
            try:
                self.board.backend.queue.flush()
                self.board.backend.line.flush_transmit()
            except LitePulseError as error:
                raise serial.SerialException(str(error)) from None
            self._look()
            self._timed.clear()
            self._leaving.clear()
            self._line_free = 0

    # select() and asyncio ------------------------------------------------------------------------------------------------

    def fileno(self) -> int:
        """A file for select(), poll() and asyncio's add_reader(), which can be read while read() has something, or a fault, to give.

        From the first call on a thread looks at the board. Only read() takes the bytes: do not read the file.
        """
        board = self.board
        with self._lock:
            if self._ends is None:
                self._ends = socket.socketpair()
                for end in self._ends:
                    end.setblocking(False)
                self._shown = False
                self._show()
                self._watcher = threading.Thread(target=self._watch, args=(board,), name=f"litepulse {board.name}", daemon=True)
                self._watcher.start()
            return self._ends[1].fileno()

    def _watch(self, board: Board) -> None:
        while self.is_open:
            try:
                self._look()
                board.backend.recorder.wait(_POLL)
            except (serial.SerialException, LitePulseError):
                self._show(fault=True)  # the next read looks, and gets the error
                return

    def _show(self, fault: bool = False) -> None:
        """The file of fileno() can be read just while there is something to read."""
        with self._lock:
            wanted = fault or bool(self._received)
            if self._ends is not None and wanted != self._shown:
                if wanted:
                    self._ends[0].send(b"\0")
                else:
                    self._ends[1].recv(1)
                self._shown = wanted

    def _unwatch(self) -> None:
        with self._lock:
            ends, self._ends = self._ends, None
            watcher, self._watcher = self._watcher, None
        if watcher and watcher is not threading.current_thread():
            watcher.join()
        for end in ends or ():
            end.close()

    def cancel_read(self) -> None:
        """A read() in another thread returns."""
        self._cancel_read.set()

    def cancel_write(self) -> None:
        """A write() in another thread returns; bytes that are not in the board's queue yet are not
        sent."""
        self._cancel_write.set()

    def send_break(self, duration: Time = 0.25) -> Moment:  # pyright: ignore[reportIncompatibleMethodOverride]  # pyserial returns None
        """A break of `duration`, as one launch, exact to the tick; returns its end, when it has
        ended.

        A byte may leave at that moment: write(..., at=end + ms(8)).
        """
        board = self.board
        width = max(1, round(board.timescale.ticks(to_duration(duration, "duration"))))
        for attempt in range(_ATTEMPTS):
            with self._lock:
                lead = self._lead(1) << 2 * attempt
                start = max(self._line_free, board.now().tick + lead)
                self._unfed.append((start, Launch("pulse", 0, LAUNCH_PROFILE, width)))
                self._line_free = start + width
            try:
                self.flush()
                return Moment(start + width, board.timescale)
            except Refused as error:
                # When it begins is our choice: a machine that was too slow for one tick is in time for a later one.
                if error.tick != start or attempt == _ATTEMPTS - 1:
                    raise
        raise AssertionError("unreachable")

    def now(self) -> Moment:
        """The board's time, for write(..., at=...)."""
        return self.board.now()

    # Lines that a board does not have ----------------------------------------------------------------------------------

    def _update_break_state(self) -> None:
        if self._break_state:
            raise serial.SerialException("a break has a length here: send_break()")

    def _update_rts_state(self) -> None:
        """There is none."""

    def _update_dtr_state(self) -> None:
        """There is none."""

    @property
    def cts(self) -> bool:
        """There is no such line: always ready."""
        return bool(self.board)

    @property
    def dsr(self) -> bool:
        """There is no such line: always ready."""
        return bool(self.board)

    @property
    def ri(self) -> bool:
        """There is no such line: never."""
        return not self.board

    @property
    def cd(self) -> bool:
        """There is no such line: always there."""
        return bool(self.board)


__all__ = ["Serial", "TimedBytes", "Written"]
