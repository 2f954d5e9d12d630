# SPDX-License-Identifier: BSD-2-Clause
"""A PTP clock of this PC, /dev/ptpN, beside CLOCK_REALTIME: by the ioctls of linux/ptp_clock.h, the closest that its driver has."""

import errno
import os
import struct
from collections.abc import Callable
from dataclasses import dataclass

from litepulse.backends.interface import ClockReading
from litepulse.errors import LitePulseError, Unsupported
from litepulse.units import NANO

SAMPLES = 5
CROSS = 100  # ns: a cross time stamp is that of one moment, as far as the hardware's counters go
FAR = 10**7  # ns from a reading of the board to that of the clock: somebody may have set CLOCK_REALTIME meanwhile
_TIME = struct.Struct("=qII")  # struct ptp_clock_time
_HEAD = 16  # bytes before the times of OFFSET and EXTENDED
_MOST = 25  # PTP_MAX_SAMPLES


def _number(direction: int, size: int, number: int) -> int:
    """Of an ioctl."""
    return direction << 30 | size << 16 | ord("=") << 8 | number


OFFSET = _number(1, _HEAD + (2 * _MOST + 1) * _TIME.size, 5)
PRECISE = _number(3, 4 * _TIME.size, 8)
EXTENDED = _number(3, _HEAD + 3 * _MOST * _TIME.size, 9)
_MISSING = {errno.EOPNOTSUPP, errno.ENOTTY, errno.EINVAL, errno.ENOSYS}
Call = Callable[[int, int, bytearray], object]  # as fcntl.ioctl()


@dataclass(frozen=True)
class PhcReading:
    """The clock and CLOCK_REALTIME at one moment, ns, to within `error` ns."""

    ns: int
    realtime: int
    error: int


def path_of(clock: str) -> str:
    """The device of 'phc:0' or 'phc:/dev/...'."""
    where = clock.partition(":")[2]
    return where if where.startswith("/") else f"/dev/ptp{where}"


def _ioctl(handle: int, number: int, data: bytearray) -> object:
    try:
        import fcntl
    except ImportError:
        raise Unsupported("clock: PTP clocks can be read on Linux alone") from None
    return fcntl.ioctl(handle, number, data)


def _times(data: bytearray, at: int, count: int) -> list[int]:
    """So many struct ptp_clock_time, in ns."""
    return [seconds * NANO + ns for seconds, ns, _ in _TIME.iter_unpack(bytes(data[at : at + count * _TIME.size]))]


def _best(samples: list[tuple[int, int, int]]) -> PhcReading:
    """Of (CLOCK_REALTIME before, clock, CLOCK_REALTIME after) the closest."""
    before, ns, after = min((each for each in samples if each[2] >= each[0]), key=lambda each: each[2] - each[0], default=(0, 0, -1))
    if after < before:
        raise LitePulseError("CLOCK_REALTIME was set while the PTP clock was read")
    return PhcReading(ns, (before + after) // 2, (after - before + 1) // 2 + 1)


def read(handle: int, call: Call = _ioctl) -> PhcReading:
    """A clock whose device is open. OSError."""
    data = bytearray(PRECISE >> 16 & 0x3FFF)
    if _called(call, handle, PRECISE, data):
        ns, realtime, _ = _times(data, 0, 3)
        return PhcReading(ns, realtime, CROSS)
    data = bytearray(EXTENDED >> 16 & 0x3FFF)
    struct.pack_into("=I", data, 0, SAMPLES)
    if _called(call, handle, EXTENDED, data):
        times = _times(data, _HEAD, 3 * SAMPLES)
        return _best([(times[n], times[n + 1], times[n + 2]) for n in range(0, len(times), 3)])
    data = bytearray(OFFSET >> 16 & 0x3FFF)
    struct.pack_into("=I", data, 0, SAMPLES)
    call(handle, OFFSET, data)
    times = _times(data, _HEAD, 2 * SAMPLES + 1)
    return _best([(times[n], times[n + 1], times[n + 2]) for n in range(0, 2 * SAMPLES, 2)])


def _called(call: Call, handle: int, number: int, data: bytearray) -> bool:
    """False: the driver or the kernel has no such ioctl."""
    try:
        call(handle, number, data)
    except OSError as error:
        if error.errno not in _MISSING:
            raise
        return False
    return True


class PtpClock:
    """What a clock shows when a board was read. It is opened for each reading, so that nothing is left to close."""

    def __init__(self, clock: str, call: Call = _ioctl) -> None:
        self.clock, self.path, self._call = clock, path_of(clock), call
        self.read()

    def read(self) -> PhcReading:
        """The clock beside CLOCK_REALTIME. LitePulseError."""
        try:
            handle = os.open(self.path, os.O_RDONLY)
            try:
                return read(handle, self._call)
            finally:
                os.close(handle)
        except OSError as error:
            raise LitePulseError(f"clock: {self.path}: cannot read it as a PTP clock ({error.strerror})") from None

    def show(self, reading: ClockReading) -> tuple[int, int]:
        """(ns of the clock at a reading of the board, by how many of them they may be wrong)."""
        found = self.read()
        away = reading.realtime - found.realtime
        # Meanwhile the two clocks part by 1/1024 at most.
        unsure = (abs(away) >> 10) + 1 + (abs(away) if abs(away) > FAR else 0)
        return found.ns + away, found.error + unsure
