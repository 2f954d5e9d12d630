# SPDX-License-Identifier: BSD-2-Clause
"""Boards that the kernel drives over a serial port: their devices, the state of their cable, as the
driver reports it in sysfs."""

import os
from dataclasses import dataclass
from pathlib import Path

from litepulse.ports import Host, text

_FOLDERS = "litepulse.*"  # below /sys/devices/platform
COUNTERS = ("transactions", "repeats", "failures", "round_trip_ns")


@dataclass(frozen=True)
class Attached:
    """A board behind a serial port, as a platform device. `pulse`, `tty`, `clock`: names of its devices, '' where it has none (yet)."""

    folder: Path
    port: str  # the kernel's name: ttyUSB1
    bound: bool  # the driver drives it
    pulse: str
    tty: str
    clock: str

    @classmethod
    def of(cls, folder: Path) -> "Attached | None":
        """What is in the folder of a platform device; None if it is no board behind a port."""
        port = text(folder / "uartbone" / "port")
        if not port:
            return None
        names = {"misc": "", "tty": "", "ptp": ""}
        # Newer kernels put devices of their own between the board and its tty. Links lead out of the tree: they are not followed.
        for path, folders, _ in os.walk(folder):
            kind = os.path.basename(path)
            if kind in names and folders and not names[kind]:
                names[kind] = min(folders)
        return cls(folder, port, (folder / "driver").exists(), names["misc"], names["tty"], names["ptp"])

    @property
    def whole(self) -> bool:
        """Whether it is driven and has its devices. A clock it has only if the driver was built with it."""
        return bool(self.bound and self.pulse and self.tty)

    @property
    def name(self) -> str:
        """What to call it."""
        return self.pulse or self.folder.name

    def value(self, name: str) -> int | None:
        """A number of its folder uartbone/; None if it is not there."""
        content = text(self.folder / "uartbone" / name)
        return int(content) if content.lstrip("-").isdigit() else None

    def set(self, name: str, value: int) -> None:
        """Writes a number there. OSError if the driver or the file's rights refuse."""
        file = os.open(self.folder / "uartbone" / name, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(file, f"{value}\n".encode())
        finally:
            os.close(file)

    def unbind(self, host: Host) -> None:
        """Takes the board from the driver; OSError."""
        file = os.open(host.sysfs / "bus" / "platform" / "drivers" / "litepulse" / "unbind", os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(file, self.folder.name.encode())
        finally:
            os.close(file)

    def nodes(self, host: Host) -> dict[str, str]:
        """{what: path below /dev} of its devices."""
        names = {"pulse": self.pulse, "tty": self.tty, "clock": self.clock}
        return {what: str(host.dev / name) for what, name in names.items() if name}


def boards(host: Host) -> list[Attached]:
    """All of them, [Attached]."""
    found = [Attached.of(folder) for folder in sorted((host.sysfs / "devices" / "platform").glob(_FOLDERS))]
    return [board for board in found if board]


def on_port(host: Host, name: str) -> Attached | None:
    """The one on the port that the kernel calls `name`, or None."""
    return next((board for board in boards(host) if board.port == name), None)


def at_path(path: str | Path, host: Host | None = None) -> Attached | None:
    """The one on the port at a path of /dev, or None; opens nothing."""
    from litepulse.errors import BadInput
    from litepulse.ports import describe

    host = host or Host()
    try:
        return on_port(host, describe(host, path).name)
    except BadInput:
        return None
