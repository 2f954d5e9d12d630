# SPDX-License-Identifier: BSD-2-Clause
"""Which boards there are: those that the kernel's driver has, and those that are plugged in and not attached."""

from dataclasses import dataclass

from litepulse import attached, ports
from litepulse.errors import LitePulseError, printable


@dataclass(frozen=True)
class Found:
    """A board. device: of the kernel's driver, or None; port: where it is plugged in, or None where that is no port."""

    device: str | None
    port: str | None
    title: str = ""

    @property
    def option(self) -> str:
        """The option that means it."""
        return f"--device {self.device}" if self.device else printable(f"--port {self.port}")

    @property
    def call(self) -> str:
        """The call that means it."""
        return printable(f"open({self.device!r})" if self.device else f"open(port={self.port!r})")

    def __str__(self) -> str:
        if self.device:
            return f"{self.device} (on {self.port})" if self.port else self.device
        return printable(f"{self.port} ({self.title}, not attached)")


class NotOne(LitePulseError):
    """There is no board, or a choice. The message is for programs; `options` says the same with the options of the command."""

    def __init__(self, boards: list[Found]) -> None:
        several = f"{len(boards)} boards are there, choose one: "
        if boards:
            message = several + ", ".join(f"{board.call} [{board}]" for board in boards)
            self.options = several + ", ".join(f"{board.option} [{board}]" for board in boards)
        else:
            message = (
                'no board: give open(port="/dev/ttyUSB1") or open(port="tcp:host:port"), or open(sim=True) for the simulated SoC; '
                "`litepulse doctor` looks for what is wrong"
            )
            self.options = "no device: give --port /dev/ttyUSB1 or --port tcp:host:port, or --sim for the simulated SoC"
        super().__init__(message)


def devices(host: ports.Host) -> list[str]:
    """Paths of the driver's devices, in order."""
    found = [path for path in host.dev.glob("litepulse*") if path.name.removeprefix("litepulse").isdigit() and path.is_char_device()]
    return [str(path) for path in sorted(found, key=lambda path: int(path.name.removeprefix("litepulse")))]


def find() -> list[Found]:
    """All of them; opens nothing."""
    host = ports.Host()
    on_cable = {board.pulse: board.port for board in attached.boards(host) if board.pulse}
    found: list[Found] = []
    for path in devices(host):
        port = on_cable.get(path.rpartition("/")[2])
        found.append(Found(path, str(host.dev / port) if port else None))
    taken = set(on_cable.values())
    for port in ports.find_bridges(host):
        if port.name not in taken:
            found.append(Found(None, ports.preferred(host, port.path), port.product))
    return found


def others(name: str) -> list[str]:
    """What else is there, for people; `name`: of the device or port that is used."""
    return [str(board) for board in find() if name not in (board.device, board.port)]


def the_one() -> Found:
    """The one board there is; of several the only one that the kernel has. NotOne if there is none, or a choice."""
    boards = find()
    driven = [board for board in boards if board.device]
    choice = driven or boards
    if len(choice) == 1:
        return choice[0]
    raise NotOne(choice)
