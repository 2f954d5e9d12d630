# SPDX-License-Identifier: BSD-2-Clause
"""The program on the port that is measured. It writes, reads, answers and sends breaks on request, and reports when it did.

It is a process of its own, so that the work of the measurement does not delay it. Each command is an object, each has one answer:

    {"do": "write", "data": HEX}        writes it all: {"written": bytes}
    {"do": "echo"}                      from now on each read() is answered by a write() of the same
    {"do": "listen"}                    from now on what comes is kept
    {"do": "heard", "quiet": SECONDS, "count": N}  ends either, once nothing came for SECONDS, or
    soon after N bytes came:
                                        {"data": HEX, "reads": [[ns, ns, bytes], ...]}; the times are those behind read() and before write()
    {"do": "break", "hold": SECONDS}    {"begun": ns, "ended": ns}: before the call that begins it, after the call that ends it
    {"do": "counters"}                  {"counters": {name: count}, or null if the port has none}
    {"do": "enable"}                    {"enabled": whether the driver has switched to RS-485}

Times are CLOCK_MONOTONIC_RAW.
"""

import contextlib
import fcntl
import gc
import json
import os
import select
import struct
import sys
import termios
import time
from collections.abc import Mapping
from typing import Any

from litepulse.child import say
from litepulse.errors import LitePulseError
from litepulse.line import Format
from litepulse.port_program import PortProgram, opened, run, write_all

QUIET_BEHIND_ALL = 0.02  # seconds in which bytes that were not sent show
HEARD_SECONDS = 20.0  # after which bytes that keep coming are the other end's fault
ANSWER_SECONDS = 60.0  # for a command that takes as long as bytes take on the line
_TIOCSBRK, _TIOCCBRK = 0x5427, 0x5428  # asm-generic/ioctls.h
# linux/serial.h: struct serial_icounter_struct, struct serial_rs485
_TIOCGICOUNT, _TIOCGRS485, _TIOCSRS485 = 0x545D, 0x542E, 0x542F
COUNTERS = ("rx", "tx", "frame", "overrun", "parity", "brk", "buf_overrun")
_FIRST_COUNTER = 4  # behind those of the modem lines
_RS485_SIZE, _RS485_ENABLED, _RS485_ON_SEND = 32, 1, 2


class Patient(PortProgram):
    """The program, running on a port. Leaving the context ends it."""

    def __init__(self, port: str, baud: int, fmt: Format) -> None:
        super().__init__("certify", "litepulse.certify.patient", "the program", port, baud, fmt)

    def tell(self, do: str, **words: Any) -> None:
        """A command; answer() is what it says to it."""
        assert self._child
        self._child.tell({"do": do, **words})

    def answer(self, seconds: float = 0) -> dict[str, Any] | None:
        """What it says to the oldest command without an answer, None if that takes longer. LitePulseError if it complains or is gone."""
        assert self._child
        reply = self._child.hear(seconds)
        if "error" in reply:
            raise LitePulseError(reply["error"])
        if not reply and self._child.ended:
            raise self.gone()
        return reply or None

    def ask(self, do: str, seconds: float = ANSWER_SECONDS, **words: Any) -> dict[str, Any]:
        """A command, and what it says to it."""
        self.tell(do, **words)
        reply = self.answer(seconds)
        if reply is None:
            raise LitePulseError(f"certify: {self.port}: '{do}' has not ended within {seconds:g} s")
        return reply


# The program ----------------------------------------------------------------------------------------------------------


def now() -> int:
    """Nanoseconds."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


def counters(port: int) -> dict[str, int] | None:
    """The kernel's, of an open port."""
    try:
        raw = fcntl.ioctl(port, _TIOCGICOUNT, bytes(80))
    except OSError:
        return None
    return dict(zip(COUNTERS, struct.unpack_from(f"{len(COUNTERS)}i", raw, 4 * _FIRST_COUNTER)))


class DriverEnable:
    """RS-485 of an open port, as the kernel knows it: driver enable while it sends."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._before: bytes | None = None

    def begin(self) -> bool:
        """Whether the driver has switched to it."""
        wanted = bytearray(_RS485_SIZE)
        try:
            fcntl.ioctl(self.port, _TIOCGRS485, wanted, True)
            before = bytes(wanted)
            (flags,) = struct.unpack_from("I", wanted)
            struct.pack_into("I", wanted, 0, flags | _RS485_ENABLED | _RS485_ON_SEND)
            fcntl.ioctl(self.port, _TIOCSRS485, bytes(wanted))
        except OSError:
            return False
        self._before = before if self._before is None else self._before
        return True

    def undo(self) -> None:
        """As it was before."""
        if self._before is not None:
            with contextlib.suppress(OSError):
                fcntl.ioctl(self.port, _TIOCSRS485, self._before)


class Program:
    """Carries out requests on an open port; `control` is where commands come from."""

    def __init__(self, port: int, control: int, rs485: DriverEnable) -> None:
        self.port, self.control, self.rs485 = port, control, rs485
        self.mode: str | None = None
        self.data = bytearray()
        self.reads: list[tuple[int, int, int]] = []

    def run(self) -> None:
        """Until no more commands can come."""
        heard = b""
        poll = select.poll()
        poll.register(self.port, select.POLLIN)
        poll.register(self.control, select.POLLIN)
        while True:
            for file, _ in poll.poll():
                if file == self.port:
                    self.read()
                    continue
                data = os.read(self.control, 1 << 16)
                if not data:
                    return
                *lines, heard = (heard + data).split(b"\n")
                for line in lines:
                    words = json.loads(line)
                    say(getattr(self, f"do_{words.pop('do')}")(**words))

    def read(self) -> None:
        """What has come. Without a mode it is dropped."""
        data = os.read(self.port, 4096)
        read = now()
        if self.mode == "echo":
            write = now()
            write_all(self.port, data)
        else:
            write = read
        if self.mode:
            self.data += data
            self.reads.append((read, write, len(data)))

    def do_write(self, data: str) -> Mapping[str, Any]:
        """Writes it all."""
        whole = bytes.fromhex(data)
        write_all(self.port, whole)
        return {"written": len(whole)}

    def do_echo(self) -> Mapping[str, Any]:
        """Answers from now on."""
        return self._start("echo")

    def do_listen(self) -> Mapping[str, Any]:
        """Keeps what comes from now on."""
        return self._start("listen")

    def _start(self, mode: str) -> Mapping[str, Any]:
        with contextlib.suppress(termios.error):
            termios.tcflush(self.port, termios.TCIFLUSH)
        self.mode, self.data, self.reads = mode, bytearray(), []
        gc.disable()
        return {"mode": mode}

    def do_heard(self, quiet: float, count: int | None = None) -> Mapping[str, Any]:
        """What came, once nothing more comes. LitePulseError if that never ends."""
        end = time.monotonic() + HEARD_SECONDS
        while select.select([self.port], [], [], quiet if count is None or len(self.data) < count else QUIET_BEHIND_ALL)[0]:
            self.read()
            if time.monotonic() > end:
                raise LitePulseError("certify: bytes keep coming that nobody sent: is the line noisy, or something else wired to it?")
        self.mode = None
        gc.enable()
        return {"data": self.data.hex(), "reads": self.reads}

    def do_break(self, hold: float) -> Mapping[str, Any]:
        """A break."""
        begun = now()
        with contextlib.suppress(OSError):  # a driver that has none: no break will be seen
            fcntl.ioctl(self.port, _TIOCSBRK)
            time.sleep(hold)
            fcntl.ioctl(self.port, _TIOCCBRK)
        return {"begun": begun, "ended": now()}

    def do_counters(self) -> Mapping[str, Any]:
        """Of the kernel."""
        return {"counters": counters(self.port)}

    def do_enable(self) -> Mapping[str, Any]:
        """RS-485."""
        return {"enabled": self.rs485.begin()}


def program(request: dict[str, Any]) -> None:
    """Reports when it is ready, then carries out requests."""
    with opened(request) as port:
        rs485 = DriverEnable(port.fileno())
        try:
            say({"ready": True})
            Program(port.fileno(), sys.stdin.fileno(), rs485).run()
        finally:
            rs485.undo()


if __name__ == "__main__":
    sys.exit(run("certify", sys.argv[1], program))
