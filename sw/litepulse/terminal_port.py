# SPDX-License-Identifier: BSD-2-Clause
"""A pseudo-terminal for a board without the kernel driver: programs that open a serial port by its path work with it.

What a pseudo-terminal passes on are bytes, bit rate and stop bits. Linux keeps its data bits at 8 and its parity at none, whatever a
program sets, and does not report tcsendbreak().
"""

import contextlib
import os
import select
import struct
import termios
import tty
from collections.abc import Callable
from fcntl import ioctl
from pathlib import Path
from types import TracebackType
from typing import Self

import serial

from litepulse.errors import BadInput
from litepulse.interrupt import Flag
from litepulse.serial_port import Serial

_TCGETS2, _TERMIOS2 = 0x802C542A, "4IB19B2I"  # also rates that have no name
_NAMED = {getattr(termios, name): int(name[1:]) for name in dir(termios) if name[0] == "B" and name[1:].isdigit()}
_PIECE = 64  # bytes that are taken from a program at once: what follows waits in the terminal, as at a port that is busy
_MOST = 1 << 16  # received bytes that wait for a program
_REST = 0.05  # seconds between two looks at the settings while nothing comes


class Terminal:
    """A pseudo-terminal and its link, as a context. path: what programs open."""

    def __init__(self, link: str | None = None) -> None:
        """link: a symbolic link to the terminal, which lasts as long. BadInput if something else has that name."""
        self.link = None if link is None else Path(link)
        self._waiting = bytearray()  # for the program that reads
        self._master, self._slave = os.openpty()  # our own hold on the slave: it outlives the programs
        try:
            tty.setraw(self._slave)
            os.set_blocking(self._master, False)
            self.path = os.ttyname(self._slave)
            self._prepare()
            if self.link is not None:
                self._make_link(self.link)
        except BaseException:
            self._close()
            raise

    def _prepare(self) -> None:
        """Before the link is there."""

    def _make_link(self, link: Path) -> None:
        if link.is_symlink() and not link.exists():
            link.unlink()  # left by one that was killed
        try:
            link.symlink_to(self.path)
        except OSError as error:
            raise BadInput(f"link: cannot make {link} ({error.strerror})") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._close()

    def _close(self) -> None:
        if self.link is not None and self.link.is_symlink() and os.readlink(self.link) == getattr(self, "path", None):
            with contextlib.suppress(OSError):
                self.link.unlink()
        os.close(self._master)
        os.close(self._slave)

    def exchange(self, answer: Callable[[bytes], bytes], seconds: float) -> None:
        """Waits for bytes of a program, so long at most, and gives it the answer to them."""
        ready, _, _ = select.select([self._master], [self._master] if self._waiting else [], [], seconds)
        if self._master in ready:
            with contextlib.suppress(BlockingIOError):
                self._pass_on(answer(os.read(self._master, _PIECE)))
        elif self._waiting:
            self._pass_on(b"")

    def _pass_on(self, data: bytes) -> int:
        """Gives a program these bytes, after those that it has not read yet; how many found no room."""
        room = _MOST - len(self._waiting)
        self._waiting += data[:room]
        if self._waiting:
            with contextlib.suppress(BlockingIOError):
                del self._waiting[: os.write(self._master, self._waiting)]
        return max(0, len(data) - room)


class TerminalPort(Terminal):
    """One that is a board's serial port. received, sent, lost: bytes by now."""

    def __init__(self, port: Serial, link: str | None = None) -> None:
        """port: open; link: as of a Terminal."""
        self.port = port
        self.received = self.sent = self.lost = 0
        self._refused: object = None  # rate and stop bits that the board does not have
        super().__init__(link)

    def _prepare(self) -> None:
        self._set_speed()
        self._settings = self._requested()

    def _set_speed(self) -> None:
        """A program that sets nothing sees the port's rate, if it has a name."""
        speed = getattr(termios, f"B{self.port.baudrate}", None)
        attributes = termios.tcgetattr(self._slave)
        if speed is not None:
            attributes[4] = attributes[5] = speed
        if self.port.stopbits == serial.STOPBITS_TWO:
            attributes[2] |= termios.CSTOPB
        termios.tcsetattr(self._slave, termios.TCSANOW, attributes)

    def run(self, end: Flag, refused: Callable[[str], None]) -> None:
        """Passes bytes and settings on until `end`. refused: is called with what the board does not do. SerialException if it is gone."""
        board = self.port.fileno()
        while not end:
            room = self.port.out_waiting <= _PIECE
            wanted = [board, *([self._master] if room else [])]
            ready, _, _ = select.select(wanted, [self._master] if self._waiting else [], [], _REST if room else 0.002)
            self._follow_settings(refused)
            if self._master in ready:
                self._send()
            self._receive()

    def _requested(self) -> tuple[int, int]:
        """(bit rate, 1 or 2 stop bits) as programs have set the terminal."""
        flags = termios.tcgetattr(self._slave)
        rate = _NAMED.get(flags[5], 0)
        with contextlib.suppress(OSError):  # where the call has another number, only rates with a name are known
            rate = struct.unpack(_TERMIOS2, ioctl(self._slave, _TCGETS2, bytes(struct.calcsize(_TERMIOS2))))[-1]
        return rate, 2 if flags[2] & termios.CSTOPB else 1

    def _follow_settings(self, refused: Callable[[str], None]) -> None:
        requested = self._requested()
        if requested == self._settings:
            self._refused = None  # a repeated request is refused again
        if requested in (self._settings, self._refused) or not requested[0]:  # B0 hangs up: there is nothing to hang up
            return
        rate, stop = requested
        before = (self.port.baudrate, self.port.stopbits)
        try:
            self.port.baudrate, self.port.stopbits = rate, stop
        except ValueError as error:
            self._refused = requested
            with contextlib.suppress(ValueError):
                self.port.baudrate, self.port.stopbits = before
            refused(str(error))
            return
        self._settings, self._refused = requested, None

    def _send(self) -> None:
        try:
            data = os.read(self._master, _PIECE)
        except BlockingIOError:
            return
        self.port.write(data)
        self.sent += len(data)

    def _receive(self) -> None:
        data = self.port.read(self.port.in_waiting)
        self.received += len(data)
        self.lost += self._pass_on(data)
