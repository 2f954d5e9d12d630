# SPDX-License-Identifier: BSD-2-Clause
"""Programs of this package on a serial port of this PC, as processes of their own: what the port is, who starts them, what they open."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import serial

from litepulse.child import Child, say
from litepulse.errors import BadInput, LitePulseError, Unsupported
from litepulse.line import Format

START_SECONDS = 20.0
PTY_MAJORS = range(136, 144)  # Documentation/admin-guide/devices.txt of the kernel


@dataclass(frozen=True)
class PortKind:
    """What a serial port is: 'pseudo-terminal', or 'serial port' with the driver that the kernel names for it (or None)."""

    kind: str
    driver: str | None = None

    def __str__(self) -> str:
        if self.kind == "pseudo-terminal":
            return "a pseudo-terminal: no UART and no wire, software alone"
        return f"a serial port, driver {self.driver}" if self.driver else "a serial port"


def kind_of(port: str, what: str = "echo") -> PortKind:
    """Of the port of this name; BadInput, which begins with `what`, if there is no such character device."""
    try:
        status = os.stat(port)
        if not os.isatty(file := os.open(port, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)):
            os.close(file)
            raise BadInput(f"{what}: {port} is not a serial port")
        os.close(file)
    except OSError as error:
        raise BadInput(f"{what}: {port}: cannot open the port ({error.strerror})") from None
    if os.major(status.st_rdev) in PTY_MAJORS:
        return PortKind("pseudo-terminal")
    device = Path(f"/sys/dev/char/{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}/device").resolve()
    while (device / "subsystem").resolve().name == "serial-base":  # two devices of the serial core lie above that of the driver
        device = device.parent
    driver = device / "driver"
    return PortKind("serial port", driver.resolve().name if driver.exists() else None)


class PortProgram:
    """A program, running on a port. Leaving the context ends it.

    what: begins its errors; module: the program; words: its further arguments; called: its name in error messages
    """

    def __init__(self, what: str, module: str, called: str, port: str, baud: int, fmt: Format, **words: Any) -> None:
        self.port, self.kind = port, kind_of(port, what)
        if fmt.invert:
            raise BadInput(f"{what}: a serial port of this PC has no inverted line")
        self._called, self._module = f"{what}: {called} on {port}", module
        self._words = {"port": port, "baud": baud, "format": str(fmt), **words}
        self._child: Child | None = None

    def __enter__(self) -> Self:
        child = self._child = Child(self._module, self._words)
        try:
            message = child.hear(START_SECONDS)
            if "unsupported" in message:
                raise Unsupported(message["unsupported"])
            if "ready" not in message:
                raise LitePulseError(message.get("error") or f"{self._called} does not start")
            self.first_words(message)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def gone(self) -> LitePulseError:
        """Of a program that has ended by itself: what it complained of."""
        return LitePulseError(self.close() or f"{self._called} has ended")

    def first_words(self, message: Mapping[str, Any]) -> None:
        """Its message when it is ready."""

    def last_words(self, message: Mapping[str, Any]) -> None:
        """Its last message when it ended."""

    def close(self) -> str | None:
        """Ends it, and returns what it complained of. May be called again."""
        child, self._child = self._child, None
        if child is None:
            return None
        message = child.close()
        self.last_words(message)
        return message.get("error")


# In the program -------------------------------------------------------------------------------------------------------


def opened(request: Mapping[str, Any]) -> serial.Serial:
    """The port that a program was given, for itself alone; reading and writing wait."""
    fmt = Format.parse(request["format"])
    port = serial.Serial(request["port"], request["baud"], fmt.data_bits, fmt.letter, float(fmt.stop_bits), exclusive=True)
    os.set_blocking(port.fileno(), True)
    return port


def write_all(port: int, data: bytes) -> None:
    """Writes it whole."""
    while data:
        data = data[os.write(port, data) :]


def run(what: str, words: str, program: Callable[[dict[str, Any]], None]) -> int:
    """Its exit status. What goes wrong it says."""
    request = json.loads(words)
    try:
        program(request)
    except Unsupported as error:
        say({"unsupported": str(error)})
    except LitePulseError as error:
        say({"error": str(error)})
    except (OSError, ValueError) as error:  # serial.SerialException, too
        why = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else error
        say({"error": f"{what}: {request['port']}: {why}"})
    else:
        return 0
    return 2
