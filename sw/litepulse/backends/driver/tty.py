# SPDX-License-Identifier: BSD-2-Clause
"""The tty of a board, whose bit rate and format the receiver has: set, and put back at the end."""

import contextlib
import errno
import fcntl
import os
import struct
import termios
from collections.abc import Generator

from litepulse.backends.driver.device import Device
from litepulse.errors import InUse, LitePulseError, Unsupported
from litepulse.line import Format, Profile

_TERMIOS2 = struct.Struct("IIIIB19sII")
_TCGETS2, _TCSETSW2, _BOTHER, _CMSPAR = 0x802C542A, 0x402C542C, 0o010000, 0o10000000000
_CBAUD, _CIBAUD = 0o010017, 0o2003600000  # bit rates in c_cflag
_LOOP = struct.pack("I", 0x8000)  # TIOCM_LOOP
_BITS = {5: termios.CS5, 6: termios.CS6, 7: termios.CS7, 8: termios.CS8}
_PARITY_FLAGS = {
    "none": 0,
    "even": termios.PARENB,
    "odd": termios.PARENB | termios.PARODD,
    "space": termios.PARENB | _CMSPAR,
    "mark": termios.PARENB | termios.PARODD | _CMSPAR,
}
_FORMAT = termios.CSIZE | termios.CSTOPB | termios.PARENB | termios.PARODD | _CMSPAR  # of c_cflag


def _cflag(fmt: Format) -> int:
    """What of _FORMAT a format has."""
    return _BITS[fmt.data_bits] | _PARITY_FLAGS[fmt.parity] | (termios.CSTOPB if fmt.stop else 0)


class Tty:
    """The tty of a device. It stays open while it is looped back, or has bytes of ours to send."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._file: int | None = None
        self._before: bytes | None = None  # its settings before ours

    @property
    def stays(self) -> bool:
        """It is open: this program has it looped back, or sends by it."""
        return self._file is not None

    @contextlib.contextmanager
    def open(self, stay: bool = False) -> Generator[int]:
        """Its file, for the moment, or until restore(). LitePulseError for an OSError meanwhile."""
        path = self._device.identity.nodes.get("tty")
        if path is None:
            raise Unsupported(f"{self._device.path}: it has no tty, whose settings the receiver has")
        try:
            file = self._file if self._file is not None else os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError as error:
            if error.errno == errno.EBUSY:
                self._device.check_lin_device()
            raise LitePulseError(f"{path}: cannot open it ({error.strerror})") from None
        try:
            yield file
            if stay:
                self._file = file
        except OSError as error:
            self._device.check_gone(error)
            raise LitePulseError(f"{path}: cannot be set ({error.strerror})") from None
        finally:
            if self._file != file:
                os.close(file)

    def check(self, profile: Profile) -> None:
        """InUse unless it has this bit rate and format. They are not written again: that would end a byte which is being received."""
        with self.open() as file:
            _, _, cflag, _, _, _, _, baud = _TERMIOS2.unpack(fcntl.ioctl(file, _TCGETS2, bytes(_TERMIOS2.size)))
        if (cflag & _FORMAT, baud) != (_cflag(profile.format), round(profile.bit_period.baud)):
            text = f"a responder is armed, and receives with the tty's settings, {baud} baud; others would disturb it"
            raise InUse(f"{self._device.path}: {text}")

    def set(self, file: int, profile: Profile) -> None:
        """Bit rate and format of the open tty."""
        fmt = profile.format
        if fmt.stop == 1 and fmt.data_bits != 5:
            raise Unsupported("format: the kernel's tty has 1.5 stop bits with 5 data bits only")
        before = fcntl.ioctl(file, _TCGETS2, bytes(_TERMIOS2.size))
        iflag, oflag, cflag, lflag, discipline, cc, _, _ = _TERMIOS2.unpack(before)
        cflag &= ~(_FORMAT | _CBAUD | _CIBAUD)
        cflag |= _cflag(fmt) | _BOTHER
        baud = round(profile.bit_period.baud)
        if not baud:
            raise Unsupported("baud: the kernel's tty has no bit rate below 1")
        fcntl.ioctl(file, _TCSETSW2, _TERMIOS2.pack(iflag, oflag, cflag, lflag, discipline, cc, baud, baud))
        if self._before is None:
            self._before = before
        got = _TERMIOS2.unpack(fcntl.ioctl(file, _TCGETS2, bytes(_TERMIOS2.size)))
        if abs(got[-1] - baud) * 100 > baud:
            raise Unsupported(f"baud: the kernel's tty made {got[-1]} of {baud}")

    @staticmethod
    def loop_back(file: int) -> None:
        """The receiver listens to the open tty's own transmitter, until restore()."""
        fcntl.ioctl(file, termios.TIOCMBIS, _LOOP)

    def keep_settings(self) -> None:
        """restore() leaves bit rate and format as they are: what goes on may need them."""
        self._before = None

    def restore(self) -> None:
        """As it was before us."""
        loop, self._file, before, self._before = self._file, None, self._before, None
        with contextlib.suppress(LitePulseError, OSError):
            if before is not None:
                with self.open() as file:
                    fcntl.ioctl(file, _TCSETSW2, before)
        if loop is not None:
            with contextlib.suppress(OSError):
                fcntl.ioctl(loop, termios.TIOCMBIC, _LOOP)
            os.close(loop)
