# SPDX-License-Identifier: BSD-2-Clause
"""A Serial without a board: what is written is noted, what a test hears comes in."""

import contextlib
import socket
import threading
import time
from fractions import Fraction
from types import SimpleNamespace

import litepulse
from litepulse.backends.wallclock import ClockTime
from litepulse.serial_port import TimedBytes, Written
from litepulse.streams import RxByte

HZ = 48_000_000
EPOCH = 1_800_000_000  # s: 2027-01-15T08:00:00Z, at tick 0


class FakeLine(litepulse.Serial):
    """log: [(baud, format, bytes)] as they left, and ("break", seconds). out_waiting: what a test sets.

    echo: what is written comes back; seconds_per_byte: of writing
    """

    out_waiting = 0

    def __init__(self, echo=False, seconds_per_byte=0.0):
        self.log, self.echo, self.pace = [], echo, seconds_per_byte
        self.tick, self.count_lost, self.resets, self.fault = 0, 0, 0, None
        self._line_lock = threading.Lock()
        self._signal, self._signalled = socket.socketpair()
        self._signal.setblocking(False)
        self._records = []
        super().__init__(None, 9600, timeout=0)
        self.stand_in = SimpleNamespace(
            name="a fake line",
            simulated=True,
            clock="realtime",
            tick_hz=Fraction(HZ),
            timescale=litepulse.Timescale(HZ),
            identity=SimpleNamespace(backend="test"),
            time_of=lambda tick, clock: ClockTime(EPOCH * 10**9 + tick * 10**9 // HZ, 5),
            now=lambda: litepulse.Moment(self.tick, litepulse.Timescale(HZ)),
        )
        self.is_open = True

    @property
    def board(self):
        return self.stand_in

    def fileno(self):
        return self._signalled.fileno()

    def hear(self, data, **flags):
        """Bytes that the board received, 480 ticks apart."""
        with self._line_lock:
            for byte in data:
                self.tick += 480
                self._records.append(RxByte(self.tick, byte, ns=EPOCH * 10**9 + self.tick * 10**9 // HZ, uncertainty=7, **flags))
            self._tell()

    def _tell(self):
        """There is something to read. A slow reader that has as many signals as fit in needs no more."""
        with contextlib.suppress(BlockingIOError):
            self._signal.send(b"\0")

    def break_down(self, fault):
        """The board is gone."""
        self.fault = fault
        self._tell()

    @property
    def in_waiting(self):
        return len(self._records)

    def read(self, size=1):
        if self.fault:
            raise self.fault
        with self._line_lock:
            if self._records:
                self._signalled.recv(4096)
            taken, self._records = TimedBytes(self._records[:size]), self._records[size:]
            if self._records:
                self._tell()
            return taken

    @property
    def lost(self):
        return self.count_lost

    def write(self, data, at=None):
        time.sleep(self.pace * len(data))
        self.log.append((self.baudrate, f"{self.bytesize}{self.parity}{self.stopbits:g}", bytes(data)))
        if self.echo:
            self.hear(data)
        return Written(len(data))

    def sent(self):
        """All bytes that left."""
        return b"".join(data for *_, data in self.log)

    def send_break(self, duration=0.25):
        self.log.append(("break", duration))

    def reset_output_buffer(self):
        self.resets += 1

    def _reconfigure_port(self):
        """A board that is as fast as this has no 4 GHz, and no 1.5 stop bits."""
        if self.is_open and (self._baudrate > 12_000_000 or self._stopbits == 1.5):
            raise ValueError("not on this board")

    def close(self):
        self.is_open = False
