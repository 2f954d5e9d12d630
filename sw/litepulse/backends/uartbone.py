# SPDX-License-Identifier: BSD-2-Clause
"""Reads and writes of 32-bit words over LiteX's UARTBone, on a serial port or a TCP connection.

Reads are answered and may be repeated; plain writes are not acknowledged by the bridge, so a caller that needs certainty reads
something back (registers.py does). The bridge resets its parser after 100 ms of silence: that is how both ends find each
other again after garbage. Two processes may share one board: each transaction is made under a lock, and what takes several
(name the session if there is none, write and see it answered) holds the lock from the first to the last.

A bridge that knows checked frames (checked.py) is spoken to in these by all processes: it does not hear plain commands until
there was no frame for 2 s. It carries out the writes of two frames in a row with one number only once, and another process may
have used any number. So the first frame under the lock only reads.

On boards with LitePulse's own serial bridge (docs/bridge.md) the bit rate can be raised. The
program that raises it has the port
alone: the rate of bridge and port would be wrong for all others. The bridge falls back by itself when its host dies or pauses, so
nothing but a read, which is safe when it is not understood, goes out at a raised rate that is not known to be in force.
"""

import contextlib
import errno
import fcntl
import itertools
import os
import secrets
import select
import socket
import struct
import termios
import threading
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, cast

from litepulse import attached, regs
from litepulse.backends import checked, remote
from litepulse.boottime import boottime
from litepulse.errors import BadInput, LitePulseError, TransportError
from litepulse.layout import unpack
from litepulse.limits import DEFAULT_BAUD, LOWEST_BAUD
from litepulse.ports import SerialFlags, open_settled

MAX_BURST = 255  # words, the length is one byte
COMMAND_SECONDS = 0.09  # a bridge forgets a command that takes longer than 100 ms, its answer included
LOWEST_RAISED = 2 * DEFAULT_BAUD  # so that a command at 115200 is never one at the raised rate, nor the other way round
_WRITE, _READ = 0x01, 0x02
_PSEUDO_TERMINALS = range(136, 144)  # major numbers of their devices
_RESYNC = 0.13  # seconds of silence after which the bridge listens for a command again
_ATTEMPTS = 3
_SETTLE = 0.03  # seconds in which a serial adapter has sent what it has taken
_ANSWER = 0.15  # seconds within which a bridge whose rate is right answers
_SURE = 1.5  # seconds after an answered command in which the bridge has not fallen back
_FIRST_ANSWER = 0.1  # seconds that the first command is waited for: what hears only frames answers none
_FRAME_ANSWER = 0.2  # and each frame, besides its time on the line: several attempts fit into _SURE
_FRAME_SILENCE = regs.BRIDGE_FRAME_SILENCE_MS / 1000
_FRAME_WRITE = 60  # words of a write in a frame: as many as fit, of entries of four
_MOST_WORDS = 1028  # of one read in a frame: a header and 256 records
_BURSTS = 5  # and this many commands, also at a low bit rate
_BESIDE = 40  # words that are read in the same frame: the state of the board, a few received bytes
_NEWEST = 0xFF  # a version of the frames above it is something else that is read there
_FALLEN = regs.BRIDGE_FALLBACK_SECONDS + 0.3  # seconds of silence after which it has


class Stream(Protocol):
    """Bytes to and from a bridge. OSError when the other end is gone."""

    def lock(self) -> contextlib.AbstractContextManager[None]:
        """Keeps other users away meanwhile."""
        ...

    def receive(self, timeout: float) -> bytes:
        """Whatever has come, b'' after `timeout` seconds of nothing."""
        ...

    def send(self, data: bytes) -> None:
        """All of `data`."""
        ...

    def close(self) -> None:
        """Ends it."""
        ...


class RatedStream(Stream, Protocol):
    """One with a bit rate."""

    def claim(self) -> None:
        """Has the port alone from now on; TransportError if another process uses it."""
        ...

    def release(self) -> None:
        """Lets others in again."""
        ...

    def has_frames(self) -> bool:
        """Whether a process that uses the port speaks frames."""
        ...

    def mark_frames(self) -> None:
        """This one does from now on."""
        ...

    def set_baud(self, baud: int) -> None:
        """Another bit rate, once everything written has left."""
        ...


class TcpStream:
    """Bytes over TCP."""

    def __init__(self, host: str, port: int, timeout: float) -> None:
        try:
            self.socket = socket.create_connection((host, port), timeout)
        except OSError as error:
            raise TransportError(f"tcp:{host}:{port}: cannot connect ({error.strerror or error})") from None
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    @contextlib.contextmanager
    def lock(self) -> Generator[None]:
        """Nothing to do: the server keeps its connections apart; the simulated SoC has one at a time."""
        yield

    def receive(self, timeout: float) -> bytes:
        """Whatever has come, b'' after `timeout` seconds of nothing."""
        try:
            ready = select.select([self.socket], [], [], timeout)[0]
        except ValueError:  # another thread has closed it
            raise OSError(errno.EBADF, os.strerror(errno.EBADF)) from None
        if not ready:
            return b""
        data = self.socket.recv(65536)
        if not data:
            raise OSError("the other end closed the connection")
        return data

    def send(self, data: bytes) -> None:
        """All of `data`."""
        self.socket.sendall(data)

    def close(self) -> None:
        """Closes the connection."""
        self.socket.close()


_FRAMES = 1 << 33  # the byte of a port that is locked by those who speak frames; those below are numbers of processes
_FLOCK = "hhqqi4x"  # struct flock: kind, whence, start, length, process


def _lock_byte(file: int, kind: int, byte: int) -> bool:
    """Locks one byte of an open file against other openings of it; False if one of them has it."""
    try:
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack(_FLOCK, kind, os.SEEK_SET, byte, 1, 0))
    except (BlockingIOError, PermissionError):
        return False
    return True


def _other_user(file: int) -> int | str:
    """Number of another process that has the port open, or '?'."""
    wanted = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 1, 1 << 31, 0)
    kind, _, byte, _, _ = struct.unpack(_FLOCK, fcntl.fcntl(file, fcntl.F_OFD_GETLK, wanted))
    return "?" if kind == fcntl.F_UNLCK else byte


def _is_locked(file: int, byte: int) -> bool:
    """Whether another opening of a file has a lock on one byte of it."""
    wanted = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, byte, 1, 0)
    return struct.unpack(_FLOCK, fcntl.fcntl(file, fcntl.F_OFD_GETLK, wanted))[0] != fcntl.F_UNLCK


def open_for_locks(path: str) -> int:
    """A file of the port to hold locks on, or to ask who does; nothing of the port changes.

    A port that was just plugged in is waited for (ports.OPEN_SECONDS). OSError if it cannot be opened.
    """
    return open_settled(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)


def holder(file: int) -> int | str | None:
    """Number of the process that has the port of an open file alone, or '?'; None if no process
    has."""
    wanted = struct.pack(_FLOCK, fcntl.F_RDLCK, os.SEEK_SET, 0, 1, 0)
    kind = struct.unpack(_FLOCK, fcntl.fcntl(file, fcntl.F_OFD_GETLK, wanted))[0]
    return None if kind == fcntl.F_UNLCK else _other_user(file)


def rename_user(file: int, old: int, new: int) -> None:
    """The locks of an open file belong to process `new` instead of `old`."""
    _lock_byte(file, fcntl.F_RDLCK, new)
    _lock_byte(file, fcntl.F_UNLCK, old)


def _cannot_open(path: str, error: Exception) -> TransportError:
    """The TransportError for an OSError or ValueError of opening a port."""
    number = getattr(error, "errno", None)
    if number is None and f"({errno.ENOTTY}," in str(error):  # pyserial puts the error of the terminal's settings into its text
        return TransportError(f"{path}: cannot open the port (it is not a serial port)")
    return TransportError(f"{path}: cannot open the port ({os.strerror(number) if number else error})")


def _check_not_attached(path: str) -> None:
    """TransportError if the kernel drives a board over the port; opens nothing."""
    board = attached.at_path(path)
    if board:
        raise TransportError(
            f"{path}: attached to the kernel as /dev/{board.name}: use that, or 'litepulse detach {path}' gives the port back"
        )


def check_not_raised(spec: str) -> None:
    """TransportError if the port is another process's or the kernel's alone; touches nothing."""
    if spec.startswith("tcp:"):
        return
    _check_not_attached(spec)
    with contextlib.suppress(OSError):
        file = open_for_locks(spec)
        try:
            if not _lock_byte(file, fcntl.F_RDLCK, 0):
                raise TransportError(f"{spec}: in use at a raised bit rate by process {_other_user(file)}")
        finally:
            os.close(file)


class SerialStream:
    """Bytes over a serial port or pseudo-terminal.

    Besides the lock for transactions every user of the port holds two record locks on it: byte 0 says who needs the rate to stay
    (shared) or has raised it (exclusive), the byte with the number of its process who it is. A third one says that it speaks
    frames. All end with the process.
    """

    def __init__(self, path: str, baud: int, alone: str | None = None) -> None:
        """`alone`: what cannot be done, in words, unless this is the only user of the port; the port is touched only if it is."""
        import serial

        self.path = path
        _check_not_attached(path)
        try:
            self._lock = open_for_locks(path)
        except OSError as error:
            raise _cannot_open(path, error) from None
        try:
            _lock_byte(self._lock, fcntl.F_RDLCK, os.getpid())
            if not _lock_byte(self._lock, fcntl.F_RDLCK, 0):
                raise TransportError(f"{path}: in use at a raised bit rate by process {_other_user(self._lock)}")
            if alone:
                self.claim(alone)
            with self.lock():  # opening throws away what has come, and that may be another's answer
                self.serial = serial.Serial(path, baud, timeout=0, write_timeout=5)
            # By default an FTDI adapter keeps an answer back for 16 ms, in case more follows. To
            # change that needs no rights.
            self._flags = SerialFlags.read(self.serial.fileno())
            if self._flags and (self._flags.low_latency or not self._flags.with_low_latency().write(self.serial.fileno())):
                self._flags = None  # nothing to put back
        except TransportError:
            os.close(self._lock)
            raise
        except (OSError, ValueError) as error:
            os.close(self._lock)
            raise _cannot_open(path, error) from None

    @contextlib.contextmanager
    def lock(self) -> Generator[None]:
        """Keeps other processes of this package away from the port meanwhile. OSError after keep() and close()."""
        file = self._lock
        if file < 0:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)

    def receive(self, timeout: float) -> bytes:
        """Whatever has come, b'' after `timeout` seconds of nothing."""
        if not select.select([self.serial.fileno()], [], [], timeout)[0]:
            return b""
        data = os.read(self.serial.fileno(), 65536)
        if not data:
            raise OSError("the port is gone")
        return data

    def send(self, data: bytes) -> None:
        """All of `data`."""
        from serial import SerialTimeoutException

        try:
            self.serial.write(data)
        except SerialTimeoutException:
            raise TransportError(f"{self.path}: the port takes no bytes: this is not a LiteX UARTBone") from None

    def claim(self, otherwise: str = "its bit rate cannot be raised") -> None:
        """Has the port alone from now on; TransportError if another process uses it."""
        if not _lock_byte(self._lock, fcntl.F_WRLCK, 0):
            raise TransportError(f"{self.path}: process {_other_user(self._lock)} uses the port, too: {otherwise} meanwhile")

    def release(self) -> None:
        """Lets others in again."""
        _lock_byte(self._lock, fcntl.F_RDLCK, 0)

    @property
    def has_line(self) -> bool:
        """Whether its bytes need the time that they should: a pseudo-terminal's do not."""
        return os.major(os.fstat(self.serial.fileno()).st_rdev) not in _PSEUDO_TERMINALS

    def has_frames(self) -> bool:
        """Whether a process that uses the port speaks frames."""
        return _is_locked(self._lock, _FRAMES)

    def mark_frames(self) -> None:
        """This one does from now on."""
        _lock_byte(self._lock, fcntl.F_RDLCK, _FRAMES)

    def set_baud(self, baud: int) -> None:
        """Another bit rate, once everything written has left; throws away what has come. TransportError if the port cannot do it."""
        try:
            self._drain()
            time.sleep(_SETTLE)
            self.serial.baudrate = baud
            self.serial.reset_input_buffer()
        except ValueError:
            raise TransportError(f"{self.path}: the port cannot do {baud} baud") from None
        except termios.error as error:
            raise OSError(*error.args) from None

    def _drain(self) -> None:
        while True:
            try:
                self.serial.flush()
                return
            except termios.error as error:
                if error.args[0] != errno.EINTR:
                    raise

    def close(self) -> None:
        """Closes the port, its settings as they were."""
        if self._lock >= 0:
            with contextlib.suppress(OSError):
                if self._flags:
                    self._flags.write(self.serial.fileno())
            os.close(self.keep())

    def keep(self) -> int:
        """The file that holds the locks, still open, for the next user of the port. This object sends and receives nothing any more.

        The settings of the port and of its adapter stay as they are.
        """
        with contextlib.suppress(OSError):
            self.serial.close()
        file, self._lock = self._lock, -1
        return file


@dataclass(frozen=True)
class Raised:
    """A raised bit rate: its baud, and what the bridge's register reads while it is in force."""

    baud: int
    as_read: int
    base: int  # and at 115200


def bridge_clock(word: int) -> int:
    """Hz of the clock, to 10 kHz, by a word read from the rate register at 115200 baud; 0 if the
    bridge has a fixed bit rate."""
    rate = unpack(regs.BRIDGE[0], word)
    hertz, half = rate["clock"] * regs.BRIDGE_CLOCK_UNIT, regs.BRIDGE_CLOCK_UNIT // 2
    # Where there is no such bridge something else may be read: only 115200 baud of the reported clock can be meant.
    if abs(rate["word"] * hertz - DEFAULT_BAUD * regs.BRIDGE_WORD_ONE) > hertz // 2 + rate["word"] * half:
        return 0
    return hertz


def burst_at(baud: int | None) -> int:
    """Words that a command may have at a bit rate; None: bytes come as fast as they are taken."""
    return MAX_BURST if baud is None else max(1, min(MAX_BURST, int(COMMAND_SECONDS * baud / 10 - 6) // 4))


class UARTBone:
    """Word access through a bridge at the other end of a byte stream. rate_register: address of that of the bridge; None: it has none."""

    rate_register: int | None = regs.BRIDGE_BASE

    def __init__(self, stream: Stream, name: str, baud: int | None = None, timeout: float = 1.0) -> None:
        self.stream = stream
        self.name = name
        self.baud = baud
        self.timeout = timeout
        self.repeated = 0  # reads that were repeated
        self._holding = False
        self._threads = threading.RLock()  # those of this process; the stream's lock is for other processes
        self._raised: Raised | None = None
        self._proved = 0.0  # when the last command that was answered was sent
        self._sent = 0.0  # when something was last sent
        # A stream without a bit rate leads to the simulated SoC, whose time passes by commands.
        self.framed = baud is not None and self._line.has_frames()  # commands go in checked frames
        self._packs = False  # their answers can be packed
        self._number = secrets.randbelow(0x80)  # of the last frame
        self._known = False  # a frame of ours was answered since others may have sent any
        self._answered = regs.CSR_BASE  # an address that was read

    @contextlib.contextmanager
    def hold(self) -> Generator[None]:
        """Transactions that belong together: no other process's or thread's comes between them. A lost port becomes a TransportError."""
        try:
            with self._threads:
                if self._holding:
                    yield
                    return
                with self.stream.lock():
                    self._holding, self._known = True, self._known and self._raised is not None
                    try:
                        yield
                    finally:
                        self._holding = False
        except TransportError:
            raise
        except OSError as error:  # serial.SerialException is one
            raise TransportError(f"{self.name}: the port is gone ({error.strerror or error})") from None

    def close(self) -> None:
        """Closes the stream below; a bridge whose rate was raised is back at 115200, or will be within 2 s."""
        if self._raised:
            with contextlib.suppress(LitePulseError):
                self.lower_baud()
        self.stream.close()

    @property
    def _line(self) -> RatedStream:
        """The stream, where the caller knows that it has a bit rate."""
        return cast(RatedStream, self.stream)

    @property
    def burst(self) -> int:
        """Words that go in one command."""
        return burst_at(self.baud)

    @property
    def most_words(self) -> int:
        """Words that one transaction brings at most."""
        return min(_MOST_WORDS, _BURSTS * self.burst) if self.framed else self.burst

    # A raised bit rate ------------------------------------------------------------------------------------------

    def raise_to(self, baud: int | None) -> None:
        """As raise_baud(); None or 115200: the rate stays as it is."""
        if baud not in (None, DEFAULT_BAUD):
            self.raise_baud(baud)

    def raise_baud(self, baud: int) -> None:
        """Raises the bit rate of bridge and port to `baud`; no other program may use the port until
        it is lowered or closed.

        LitePulseError, and all as before, if the bridge cannot do it, or the port, or what is between them.
        """
        with self.hold():
            self._line.claim()
            try:
                raised = self._rate_of(baud)
                try:
                    self._line.set_baud(baud)  # or TransportError, while the bridge is still as it was
                finally:
                    self._line.set_baud(DEFAULT_BAUD)
                if not self._switch(raised):
                    self._await_fallback()
                    self._rate_of(baud)
                    if not self._switch(raised):
                        self._await_fallback()
                        raise TransportError(
                            f"{self.name}: the bridge does not answer at {baud} baud, only at {DEFAULT_BAUD}: the port cannot do it?"
                        )
            except BaseException:
                if self._raised:
                    self._base_rate()
                self._line.release()
                raise

    def lower_baud(self) -> None:
        """Back to 115200; nothing if the rate is not raised."""
        with self.hold():
            if self._raised is None:
                return
            base = self._raised.base
            if self._is_sure() or self._ping(self._raised):
                self._send_write(self._rate_address(), base)
            self._base_rate()
            self._line.release()

    def bus_clock(self) -> int:
        """Hz of the clock of the board's bus, to 10 kHz; 0 if its bridge does not tell."""
        if self.rate_register is None:
            return 0
        return bridge_clock(self._raised.base if self._raised else self.read(self.rate_register, 1)[0])

    def _rate_address(self) -> int:
        """Address of the rate register; TransportError if there is none."""
        if self.rate_register is None:
            raise TransportError(f"{self.name}: this SoC has no bridge whose bit rate can be raised")
        return self.rate_register

    def _rate_of(self, baud: int) -> Raised:
        """The Raised for `baud`, from the bridge's register; LitePulseError if there is none or it cannot do it."""
        word = self._read_burst(self._rate_address(), 1)[0]
        rate = unpack(regs.BRIDGE[0], word)
        hertz, half = bridge_clock(word), regs.BRIDGE_CLOCK_UNIT // 2
        if not hertz:
            raise TransportError(f"{self.name}: this bitstream's bridge has a fixed bit rate (its rate register reads 0x{word:08x})")
        if 8 * baud > hertz + half:
            raise BadInput(f"bridge-baud: {baud} is too much for this board, at most {hertz // 8}")
        fast = min((2 * baud * regs.BRIDGE_WORD_ONE + hertz) // (2 * hertz), regs.BRIDGE_WORD_MAX)
        return Raised(baud, word - rate["word"] + fast, word)

    def _switch(self, raised: Raised) -> bool:
        """Raises bridge and port, both at 115200; whether the bridge then answers."""
        self._send_write(self._rate_address(), raised.as_read)
        self._line.set_baud(raised.baud)
        self._raised, self.baud = raised, raised.baud
        return self._ping(raised)

    def _ping(self, raised: Raised) -> bool:
        """Whether the bridge answers at the raised rate. It takes no harm if that is not its rate."""
        for _ in range(2):
            if self._ask_either(self._rate_address(), 1, _ANSWER) == [raised.as_read]:
                return True
            self._resync()
        return False

    def _is_sure(self) -> bool:
        """Whether the raised rate is certainly still in force."""
        return boottime() - self._proved <= _SURE

    def _assure(self) -> None:
        """Before a command: the raised rate is in force, raised again if the bridge has fallen back."""
        if self._raised is None or self._is_sure() or self._ping(self._raised):
            return
        raised = self._raised
        self._await_fallback()
        if self._rate_of(raised.baud) != raised or not self._switch(raised):
            self._await_fallback()
            raise TransportError(f"{self.name}: the bridge does not answer at {raised.baud} baud any more")

    def _base_rate(self) -> None:
        """The port is at 115200."""
        self._raised, self.baud = None, DEFAULT_BAUD
        self._line.set_baud(DEFAULT_BAUD)

    def _await_fallback(self) -> None:
        """The port is at 115200, and so is the bridge if it has a clock."""
        self._base_rate()
        time.sleep(max(0.0, self._sent + _FALLEN - boottime()))

    # Words ------------------------------------------------------------------------------------------------------

    def read(self, address: int, count: int = 1) -> list[int]:
        """`count` words from byte address `address` in as few bursts as possible; repeated when the answer is incomplete."""
        return self.together((), [(address, count)])[0]

    def write(self, address: int, words: Sequence[int]) -> None:
        """Writes words to consecutive addresses. A bridge without frames does not answer."""
        self.together([(address, words)], ())

    def together(
        self, writes: Sequence[tuple[int, Sequence[int]]], reads: Sequence[tuple[int, int]], guarded: bool = False
    ) -> list[list[int]]:
        """Writes [(address, words)], then reads [(address, count)], in this order: the words of each read.

        With frames, what fits into one is one transaction, and it is carried out once. guarded: the writes may be
        done twice or not at all: the caller sees which from what is read.
        """
        with self.hold():
            if self.framed:
                return self._in_frames(writes, reads, guarded)
            for address, words in writes:
                self._write_plain(address, words)
            return [self._read_plain(address, count) for address, count in reads]

    def _read_plain(self, address: int, count: int) -> list[int]:
        words: list[int] = []
        while len(words) < count:
            size = min(self.burst, count - len(words))
            words += self._read_burst(address + 4 * len(words), size)
        return words

    def _write_plain(self, address: int, words: Sequence[int]) -> None:
        burst = self.burst
        for start in range(0, len(words), burst):
            self._assure()
            self._send(self._frame(address + 4 * start, words[start : start + burst]))

    @staticmethod
    def _command(code: int, address: int, count: int) -> bytes:
        return bytes((code, count)) + (address // 4).to_bytes(4, "big")

    def _frame(self, address: int, words: Sequence[int]) -> bytes:
        return self._command(_WRITE, address, len(words)) + b"".join(w.to_bytes(4, "big") for w in words)

    def _send(self, data: bytes) -> None:
        self.stream.send(data)
        self._sent = boottime()

    def _limit(self, size: int) -> float:
        """Seconds within which `size` bytes must have come."""
        return self.timeout + self._on_line(size)

    def _on_line(self, size: int) -> float:
        """Seconds that `size` bytes are on the line."""
        return size * 10 / self.baud if self.baud else 0

    def line_ns(self, words: int) -> tuple[int, int]:
        """ns that a read of a few words needs the line at least: for its request, if it is carried out when that has come, and for its
        answer. Both 0 unless the port leads to a line; a pseudo-terminal does not.

        A byte counts to the middle of its stop bit. The port may be faster than it says, by 1/32: beyond that the bridge hears nothing.
        """
        if not self.baud or not getattr(self.stream, "has_line", False):
            return 0, 0
        request = len(checked.frame(0, self._command(_READ, 0, 1), False)) if self.framed else 0
        answer = words if self._packs and checked.gets_shorter(words) else 4 * words
        bit = Fraction(31 * 10**9, 32 * self.baud)
        return max(10 * request - 1, 0) * bit // 1, max(10 * answer - 1, 0) * bit // 1

    def _read_burst(self, address: int, count: int) -> list[int]:
        with self.hold():
            if self.framed:  # since the burst before it
                return self._in_frames((), [(address, count)])[0]
            words: list[int] = []
            if self.baud is not None and not self._sent:
                # The first contact. Another program may have spoken frames a moment ago: then the bridge hears only these.
                words = self._ask(address, count, _FIRST_ANSWER + self._on_line(4 * count))
                if len(words) == count:
                    return words
                self.repeated += 1
                self._resync(_FRAME_SILENCE)
                if self._begin_frames(address):
                    return self._in_frames((), [(address, count)])[0]
            for attempt in range(_ATTEMPTS):
                self._assure()
                words = self._ask(address, count, self._limit(4 * count))
                if len(words) == count:
                    return words
                if attempt < _ATTEMPTS - 1:
                    self.repeated += 1
                    self._proved = 0.0
                    self._resync()
                    if self.baud is not None and self._line.has_frames() and self._begin_frames(address):
                        return self._in_frames((), [(address, count)])[0]
        raise self._no_answer(f"answered {len(words)} of {count} words" if words else "does not answer")

    def _no_answer(self, what: str) -> TransportError:
        return TransportError(f"{self.name}: {what}: no LiteX UARTBone there, or the board has no clock or another baud rate")

    def _ask(self, address: int, count: int, seconds: float) -> list[int]:
        """The words of one read command, as many as came whole within `seconds`; none if more came
        than were requested."""
        self._discard()
        begun = boottime()
        self._send(self._command(_READ, address, count))
        data = self._collect(4 * count, seconds)
        if len(data) == 4 * count:
            self._proved, self._answered = begun, address
        return [int.from_bytes(data[i : i + 4], "big") for i in range(0, len(data) - 3, 4)]

    def _collect(self, size: int, seconds: float) -> bytes:
        data = b""
        end = time.monotonic() + seconds
        while len(data) < size:
            left = end - time.monotonic()
            if left <= 0:
                break
            data += self.stream.receive(left)
        return data if len(data) <= size else b""  # more than requested: garbage, ask again

    def _discard(self) -> None:
        """Discards bytes that answer no request."""
        end = time.monotonic() + self.timeout
        while self.stream.receive(0):
            if time.monotonic() > end:
                raise TransportError(f"{self.name}: bytes keep coming unasked: this is not a LiteX UARTBone")

    def _resync(self, silence: float = _RESYNC) -> None:
        """Waits until the line has been silent long enough for the bridge to listen again."""
        end = time.monotonic() + self.timeout
        while self.stream.receive(silence):
            if time.monotonic() > end:
                return

    # Checked frames ---------------------------------------------------------------------------------------------

    def use_frames(self, bridge: int | None) -> None:
        """Speaks frames from now on if the bridge, whose registers are there (None: it has none), knows them."""
        self.rate_register = bridge
        if self.baud is None or bridge is None:
            return
        frames = bridge + 4 * regs.BRIDGE[1].index
        with self.hold():
            version = self.read(frames)[0]
            if self.framed or (0 < version <= _NEWEST and self._begin_frames(frames)):
                self._packs = version >= checked.PACKS

    def _begin_frames(self, address: int) -> bool:
        """Whether a frame that reads a word is answered as one; then they are spoken from now on."""
        self.framed = self._ask_in_frame(self._command(_READ, address, 1), 1) is not None
        if self.framed:
            self._answered = address
            self._line.mark_frames()
        else:
            self._resync()
        return self.framed

    def _in_frames(
        self, writes: Sequence[tuple[int, Sequence[int]]], reads: Sequence[tuple[int, int]], guarded: bool = False
    ) -> list[list[int]]:
        """As together()."""
        commands = [
            (self._frame(address + 4 * start, words[start : start + _FRAME_WRITE]), 0)
            for address, words in writes
            for start in range(0, len(words), _FRAME_WRITE)
        ]
        # A mask for every eight bytes, and a command has to end in time.
        burst = max(1, self.burst * 8 // 9) if self._packs else self.burst
        for address, count in reads:
            sizes = [min(burst, count - start) for start in range(0, count, burst)]
            commands += [(self._command(_READ, address + 4 * burst * number, size), size) for number, size in enumerate(sizes)]
        words: list[int] = []
        frame, requested, writing = b"", 0, False
        for command, size in commands:
            if len(frame + command) > checked.LONGEST or requested + size > self.most_words + _BESIDE:
                words += self._exchange(frame, requested, writing, guarded)
                frame, requested, writing = b"", 0, False
            frame, requested, writing = frame + command, requested + size, writing or not size
        if frame:
            words += self._exchange(frame, requested, writing, guarded)
        if reads:
            self._answered = reads[0][0]
        ends = list(itertools.accumulate((count for _, count in reads), initial=0))
        return [words[start:end] for start, end in itertools.pairwise(ends)]

    def _exchange(self, commands: bytes, count: int, writes: bool, guarded: bool = False) -> tuple[int, ...]:
        """The words that a frame's commands read. Repeated until it is answered, its writes done once. TransportError."""
        self._assure()
        # The first frame only reads: a bridge that does not listen for frames alone would take one that lost its marker for commands,
        # and the number may be that of another process's last one.
        if writes and not (self._is_sure() and (self._known or guarded)):
            self._exchange(self._command(_READ, self._answered, 1), 1, False)
        end = boottime() + _ATTEMPTS * self.timeout
        attempts, again = 0, False
        while True:
            words = self._ask_in_frame(commands, count, again=again)
            if words is not None:
                return words
            attempts, again = attempts + 1, self._is_sure()
            # A bridge that may have fallen back hears another frame first. After that this one would not be its last, and write again.
            if boottime() > end or (writes and not again):
                raise self._no_answer("does not answer")
            self.repeated += 1
            # What another process left behind may be half a command, which is forgotten later.
            self._resync(_RESYNC if attempts % 3 == 0 else _FRAME_SILENCE)
            if not again:
                self._assure()

    def _frame_number(self, again: bool = False) -> int:
        """The next number of a frame, or that of the last one. It begins no command, should a bridge that hears these lose the marker."""
        self._number += not again
        return 0x80 | self._number & 0x7F

    def _ask_in_frame(self, commands: bytes, count: int, seconds: float = _FRAME_ANSWER, again: bool = False) -> tuple[int, ...] | None:
        """The words of the right answer to a frame, None if none came in time. again: with the number of the last one."""
        number = self._frame_number(again)
        packed = self._packs and checked.gets_shorter(count)
        answer = checked.Answer(number, count, packed)
        frame = checked.frame(number, commands, packed)
        self._discard()
        begun = boottime()
        self._send(frame)
        end = time.monotonic() + seconds + self._on_line(len(frame) + answer.longest)
        while (left := end - time.monotonic()) > 0 and not answer.take(self.stream.receive(left)):
            pass
        words = answer.words()
        if words is not None:
            self._proved, self._known = begun, True
        return words

    def _ask_either(self, address: int, count: int, seconds: float) -> list[int]:
        """As _ask(), in a frame where these are spoken; none if it is not answered."""
        if not self.framed:
            return self._ask(address, count, seconds)
        return list(self._ask_in_frame(self._command(_READ, address, count), count, seconds) or ())

    def _send_write(self, address: int, word: int) -> None:
        """Writes a word, and does not wait for an answer."""
        command = self._frame(address, [word])
        if self.framed:
            command = checked.frame(self._frame_number(), command, False)
        self._send(command)


def check_bridge_baud(spec: str, baud: int, bridge_baud: int | None) -> None:
    """BadInput if a bridge at `spec` cannot be raised to `bridge_baud`, whatever is there."""
    if bridge_baud is None:
        return
    if spec.startswith(("tcp:", remote.PREFIX)):
        raise BadInput("bridge-baud: a TCP connection has no bit rate to raise, only a serial port has")
    if baud != DEFAULT_BAUD:
        raise BadInput(f"bridge-baud: only a bridge at {DEFAULT_BAUD} baud can be raised, not one at --port-baud {baud}")
    if bridge_baud != DEFAULT_BAUD and bridge_baud < LOWEST_RAISED:
        raise BadInput(f"bridge-baud: {bridge_baud} is neither {DEFAULT_BAUD} nor at least {LOWEST_RAISED}")


def open_port(spec: str, baud: int = DEFAULT_BAUD, timeout: float = 1.0, bridge_baud: int | None = None) -> "UARTBone":
    """A UARTBone from '/dev/ttyUSB1' or 'tcp:host:port', its bit rate raised to `bridge_baud` (None or 115200: as it is)."""
    check_bridge_baud(spec, baud, bridge_baud)
    if baud < LOWEST_BAUD:
        raise BadInput(f"port-baud: {baud} is less than {LOWEST_BAUD}: the bridge forgets a command that takes longer than 100 ms")
    if spec.startswith("tcp:"):
        host, _, port = spec[4:].rpartition(":")
        if not host or not port.isdigit() or not 0 < int(port) < 65536:
            raise BadInput(f"port: '{spec}' is not like tcp:localhost:1234")
        return UARTBone(TcpStream(host.strip("[]"), int(port), 5), spec, None, timeout)
    bus = UARTBone(SerialStream(spec, baud), spec, baud, timeout)
    try:
        bus.raise_to(bridge_baud)
    except BaseException:
        bus.close()
        raise
    return bus
