# SPDX-License-Identifier: BSD-2-Clause
"""Reads and writes of 32-bit words over LiteX's UARTBone, on a serial port or a TCP connection.

Reads are answered and may be repeated; writes are not acknowledged by the bridge, so whoever needs certainty reads
something back (device.py does). The bridge resets its parser after 100 ms of silence: that is how both ends find each
other again after garbage. Two processes may share one board: each transaction is made under a lock, and what takes several
(name the session if there is none, write and see it answered) holds the lock from the first to the last.
"""

import contextlib
import fcntl
import os
import select
import socket
import time

from litepulse.errors import BadInput, TransportError

MAX_BURST = 255  # words, the length is one byte
DEFAULT_BAUD = 115200
_WRITE, _READ = 0x01, 0x02
_RESYNC = 0.13  # seconds of silence after which the bridge listens for a command again
_ATTEMPTS = 3


class TcpStream:
    """Bytes over TCP."""

    def __init__(self, host, port, timeout):
        try:
            self.socket = socket.create_connection((host, port), timeout)
        except OSError as error:
            raise TransportError(f"tcp:{host}:{port}: cannot connect ({error.strerror or error})") from None
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    @contextlib.contextmanager
    def lock(self):
        """Nothing to do: the server keeps its connections apart; the simulated SoC has one at a time."""
        yield

    def receive(self, timeout):
        """Whatever has come, b'' after `timeout` seconds of nothing."""
        if not select.select([self.socket], [], [], timeout)[0]:
            return b""
        data = self.socket.recv(65536)
        if not data:
            raise OSError("the other end closed the connection")
        return data

    def send(self, data):
        """All of `data`."""
        self.socket.sendall(data)

    def close(self):
        """Closes the connection."""
        self.socket.close()


class SerialStream:
    """Bytes over a serial port or pseudo-terminal."""

    def __init__(self, path, baud):
        import serial

        self._lock = None
        try:
            self._lock = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
            with self.lock():  # opening throws away what has come, and that may be another's answer
                self.serial = serial.Serial(path, baud, timeout=0, write_timeout=5)
        except (OSError, ValueError) as error:
            if self._lock is not None:
                os.close(self._lock)
            number = getattr(error, "errno", None)
            raise TransportError(f"{path}: cannot open the port ({os.strerror(number) if number else error})") from None

    @contextlib.contextmanager
    def lock(self):
        """Keeps other processes of this package away from the port meanwhile."""
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)

    def receive(self, timeout):
        """Whatever has come, b'' after `timeout` seconds of nothing."""
        if not select.select([self.serial.fileno()], [], [], timeout)[0]:
            return b""
        data = os.read(self.serial.fileno(), 65536)
        if not data:
            raise OSError("the port is gone")
        return data

    def send(self, data):
        """All of `data`."""
        self.serial.write(data)

    def close(self):
        """Closes the port."""
        with contextlib.suppress(OSError):
            self.serial.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


class UARTBone:
    """Word access through a bridge at the other end of a byte stream."""

    def __init__(self, stream, name, baud=None, timeout=1.0):
        self.stream = stream
        self.name = name
        self.baud = baud
        self.timeout = timeout
        self.words_read = self.words_written = self.transactions = self.repeated = 0
        self._holding = False

    @contextlib.contextmanager
    def hold(self):
        """Transactions that belong together: no other process's comes between them. A lost port becomes a TransportError."""
        try:
            if self._holding:
                yield
                return
            with self.stream.lock():
                self._holding = True
                try:
                    yield
                finally:
                    self._holding = False
        except TransportError:
            raise
        except OSError as error:  # serial.SerialException is one
            raise TransportError(f"{self.name}: the port is gone ({error.strerror or error})") from None

    def close(self):
        """Closes the stream below."""
        self.stream.close()

    def read(self, address, count=1):
        """`count` words from byte address `address` in as few bursts as possible; repeated when the answer is incomplete."""
        words = []
        while len(words) < count:
            size = min(MAX_BURST, count - len(words))
            words += self._read_burst(address + 4 * len(words), size)
        return words

    def write(self, address, words):
        """Writes words to consecutive addresses. The bridge does not answer."""
        frames = []
        for start in range(0, len(words), MAX_BURST):
            part = words[start : start + MAX_BURST]
            frames.append(self._command(_WRITE, address + 4 * start, len(part)) + b"".join(w.to_bytes(4, "big") for w in part))
        with self.hold():
            for frame in frames:
                self.stream.send(frame)
        self.words_written += len(words)
        self.transactions += len(frames)

    @staticmethod
    def _command(code, address, count):
        return bytes((code, count)) + (address // 4).to_bytes(4, "big")

    def _limit(self, size):
        """Seconds within which `size` bytes must have come."""
        return self.timeout + (size * 10 / self.baud if self.baud else 0)

    def _read_burst(self, address, count):
        size = 4 * count
        with self.hold():
            for attempt in range(_ATTEMPTS):
                self._discard()
                self.stream.send(self._command(_READ, address, count))
                data = self._collect(size)
                if len(data) == size:
                    self.words_read += count
                    self.transactions += 1
                    return [int.from_bytes(data[i : i + 4], "big") for i in range(0, size, 4)]
                if attempt < _ATTEMPTS - 1:
                    self.repeated += 1
                    self._resync()
        what = "does not answer" if not data else f"answered {len(data)} of {size} bytes"
        raise TransportError(f"{self.name}: {what}: no LiteX UARTBone there, or the board has no clock or another baud rate")

    def _collect(self, size):
        data = b""
        end = time.monotonic() + self._limit(size)
        while len(data) < size:
            left = end - time.monotonic()
            if left <= 0:
                break
            data += self.stream.receive(left)
        return data if len(data) <= size else b""  # more than asked for: garbage, ask again

    def _discard(self):
        """Throws away what nobody asked for."""
        end = time.monotonic() + self.timeout
        while self.stream.receive(0):
            if time.monotonic() > end:
                raise TransportError(f"{self.name}: bytes keep coming unasked: this is not a LiteX UARTBone")

    def _resync(self):
        """Waits until the line has been silent long enough for the bridge's parser to start anew."""
        end = time.monotonic() + self.timeout
        while self.stream.receive(_RESYNC):
            if time.monotonic() > end:
                return


def open_port(spec, baud=DEFAULT_BAUD, timeout=1.0):
    """A UARTBone from '/dev/ttyUSB1' or 'tcp:host:port'."""
    if spec.startswith("tcp:"):
        host, _, port = spec[4:].rpartition(":")
        if not host or not port.isdigit() or not 0 < int(port) < 65536:
            raise BadInput(f"port: '{spec}' is not like tcp:localhost:1234")
        return UARTBone(TcpStream(host.strip("[]"), int(port), 5), spec, None, timeout)
    return UARTBone(SerialStream(spec, baud), spec, baud, timeout)
