# SPDX-License-Identifier: BSD-2-Clause
"""Serial ports as the kernel shows them: which USB plug, which of its ports, which stable name; and where boards are plugged in."""

import contextlib
import errno
import fcntl
import os
import re
import shutil
import stat
import struct
import subprocess
import termios
import time
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from litepulse.errors import BadInput, printable
from litepulse.usb_boards import BOARDS as TABLE

OPEN_SECONDS = 2.0  # how long a port that was just plugged in may take until it can be opened
_STEP = 0.02  # seconds between two tries
_STA_UNSYNC = 0x40  # of linux/timex.h


@dataclass(frozen=True)
class Board:
    """A board whose bridge is a port of its own USB plug."""

    title: str
    vendor: str
    chip: str
    product: str  # a pattern
    interface: str

    def matches(self, port: "Port") -> bool:
        """Whether a Port belongs to the plug of such a board, compared as udev does."""
        return (port.vendor, port.chip) == (self.vendor, self.chip) and fnmatchcase(port.product, self.product)


BOARDS = tuple(Board(*row) for row in TABLE)


def _state_folder() -> Path:
    """Of what this user's programs note until the machine is started again."""
    if os.geteuid() == 0:
        return Path("/run/litepulse")
    folder = Path(os.environ.get("XDG_RUNTIME_DIR") or "")
    usable = folder.is_absolute() and os.access(folder, os.W_OK)  # after sudo -u it may be another user's
    return folder / "litepulse" if usable else Path(f"/tmp/litepulse-{os.geteuid()}")


@dataclass(frozen=True)
class Host:
    """Where the kernel shows its devices, and how it is queried; tests simulate another."""

    sysfs: Path = Path("/sys")
    dev: Path = Path("/dev")
    proc: Path = Path("/proc")
    modules: Path = Path("/lib/modules")
    udev: Path = Path("/run/udev/data")
    state: Path = field(default_factory=_state_folder)

    def set_discipline(self, file: int, number: int) -> None:
        """Puts a line discipline on an open port. OSError if the kernel refuses."""
        while True:
            try:
                fcntl.ioctl(file, termios.TIOCSETD, struct.pack("i", number))
            except InterruptedError:
                continue  # the machine is about to sleep: the kernel freezes processes by a signal
            return

    def discipline(self, file: int) -> int:
        """Number of the line discipline of an open port. OSError if it is gone."""
        (number,) = struct.unpack("i", fcntl.ioctl(file, termios.TIOCGETD, bytes(4)))
        return number

    def run(self, program: str, *arguments: str) -> tuple[int, str]:
        """(exit status, what it says on either output) of a system's program; 127 if there is none."""
        path = shutil.which(program, path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin")
        if path is None:
            return 127, ""
        try:
            done = subprocess.run([path, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=10, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            return 126, str(error)
        return done.returncode, (done.stdout + done.stderr).strip()

    @staticmethod
    def release() -> str:
        """Of the kernel that runs."""
        return os.uname().release

    def clock_is_set(self) -> bool | None:
        """Whether a time service keeps this PC's clock right; None if that cannot be known."""
        import ctypes

        # chronyd marks the kernel's clock only with `rtcsync`.
        if re.search(r"(?m)^Leap status *: Normal$", self.run("chronyc", "-n", "tracking")[1]):
            return True
        values = ctypes.create_string_buffer(256)  # struct timex, all 0: nothing is set
        try:
            if ctypes.CDLL(None).adjtimex(values) < 0:
                return None
        except AttributeError:  # of Linux only
            return None
        *_, status = struct.unpack_from("@Illlli", values)
        return not status & _STA_UNSYNC


def text(path: str | Path) -> str:
    """What is in a small file, '' if it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


@dataclass(frozen=True)
class Port:
    """A serial port; unknown strings, as of a port that is not on USB, are ''."""

    path: str  # as the user gave it
    name: str  # the kernel's: ttyUSB1
    vendor: str = ""
    chip: str = ""  # USB product id
    product: str = ""  # what the plug says that it is
    maker: str = ""
    serial: str = ""
    interface: str = ""  # two digits, "01" is the second port of an FTDI
    usb: Path | None = None  # folder of the USB device
    latency_file: Path | None = None  # of the adapter's latency timer

    @property
    def board(self) -> Board | None:
        """The row of the table of boards for this plug, whichever of its ports this is; or None."""
        return next((board for board in BOARDS if board.matches(self)), None)

    @property
    def latency(self) -> int | None:
        """The latency timer in milliseconds, or None."""
        value = text(self.latency_file) if self.latency_file else ""
        return int(value) if value.isdigit() else None

    def title(self) -> str:
        """What is plugged in, for people."""
        words = f"{self.maker} {self.product}".strip()
        return words + (f", serial number {self.serial}" if self.serial else "")


# A port that was just plugged in: its node is in /dev a moment before it can be opened.


def is_settling(path: str | Path, number: int | None) -> bool:
    """Whether the errno with which opening a port failed may be over in a moment, because the port was just plugged in."""
    if number in (errno.ENXIO, errno.ENODEV):
        # The kernel makes a tty's node before its character device; usb-serial opens no port before all of the adapter's are there.
        return True
    if number == errno.EACCES:
        # Only root may open a new node until udev has set its rights, which changes its ctime, too.
        with contextlib.suppress(OSError):
            return abs(time.time() - os.stat(path).st_ctime) < OPEN_SECONDS
    return False


def open_settled(path: str | Path, flags: int) -> int:
    """os.open() of a port, tried again for OPEN_SECONDS while it may be settling. OSError; at once if the path does not exist."""
    end = time.monotonic() + OPEN_SECONDS
    while True:
        try:
            return os.open(path, flags)
        except OSError as error:
            if time.monotonic() >= end or not is_settling(path, error.errno):
                raise
        time.sleep(_STEP)


def may_open(path: str | Path) -> bool:
    """Whether this user may open a port, once udev has set its rights."""
    while not os.access(path, os.R_OK | os.W_OK):
        if not is_settling(path, errno.EACCES):
            return False
        time.sleep(_STEP)
    return True


def describe(host: Host, path: str | Path) -> Port:
    """The Port at a path of /dev. BadInput if there is none."""
    path = str(path)
    try:
        status = os.stat(path)
    except OSError as error:
        raise BadInput(f"{path}: there is no such port ({error.strerror})") from None
    if not stat.S_ISCHR(status.st_mode):
        raise BadInput(f"{path}: this is not a serial port")
    number = f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"
    link = host.sysfs / "dev" / "char" / number
    if not link.exists():  # a pseudo-terminal
        return Port(path, os.path.relpath(os.path.realpath(path), "/dev").replace("/", ""))
    return _of_node(path, link.resolve())


def _of_node(path: str, node: Path) -> Port:
    values: dict[str, Any] = {}
    for folder in (node, *node.parents):
        if (folder / "latency_timer").is_file():
            values.setdefault("latency_file", folder / "latency_timer")
        if "interface" not in values and (folder / "bInterfaceNumber").is_file():
            values["interface"] = text(folder / "bInterfaceNumber")
        if (folder / "idVendor").is_file():
            names = {"vendor": "idVendor", "chip": "idProduct", "product": "product", "maker": "manufacturer", "serial": "serial"}
            values |= {name: printable(text(folder / file)) for name, file in names.items()} | {"usb": folder}
            break
    return Port(path, node.name, **values)


@dataclass(frozen=True)
class UsbDevice:
    """A USB device. folder: the kernel's; nodes: what a program that writes its flash has to open."""

    folder: Path
    title: str
    serial: str
    nodes: tuple[Path, ...]


def usb_devices(host: Host, vendor: str, chip: str) -> list[UsbDevice]:
    """The USB devices with these ids. BadInput where there is no USB at all."""
    folder = host.sysfs / "bus" / "usb" / "devices"
    if not folder.is_dir():
        raise BadInput("this system shows no USB devices (a container?)")
    found: list[UsbDevice] = []
    for path in sorted(folder.iterdir()):
        if (text(path / "idVendor"), text(path / "idProduct")) != (vendor, chip):
            continue
        # A DAPLink is driven through its HID interface.
        nodes = [host.dev / hid.name for hid in sorted(path.glob(f"{path.name}:*/*/hidraw/hidraw*"))]
        if not nodes:
            nodes = [host.dev / "bus" / "usb" / text(path / "busnum").zfill(3) / text(path / "devnum").zfill(3)]
        title = printable(f"{text(path / 'manufacturer')} {text(path / 'product')}".strip())
        found.append(UsbDevice(path.resolve(), title, printable(text(path / "serial")), tuple(nodes)))
    return found


def find_bridges(host: Host) -> list[Port]:
    """The ports that are a known board's bridge, as [Port], by name; found by product string and interface."""
    found: list[Port] = []
    for link in sorted((host.sysfs / "class" / "tty").glob("*"), key=lambda path: _natural(path.name)):
        port = _of_node(str(host.dev / link.name), link.resolve())
        if port.usb and port.board and port.board.interface == port.interface:
            found.append(port)
    return found


def _natural(name: str) -> list[int | str]:
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def preferred(host: Host, path: str | Path) -> str:
    """The name of a port that stays the same wherever else is plugged in: below /dev/serial/by-id, or the path itself."""
    real = os.path.realpath(path)
    for link in sorted((host.dev / "serial" / "by-id").glob("*")):
        if os.path.realpath(link) == real:
            return str(link)
    return str(path)


def sibling(host: Host, port: Port, interface: str) -> str | None:
    """Path of the port that is another interface of the same plug, or None."""
    for folder in sorted(port.usb.iterdir()) if port.usb else ():
        if text(folder / "bInterfaceNumber") == interface:
            names = [path.name for pattern in ("ttyUSB*", "tty/*") for path in folder.glob(pattern)]
            if names:
                return str(host.dev / names[0])
    return None


def check_interface(host: Host, port: Port) -> None:
    """BadInput, which names the right one, if this is a known board's plug but not the port that is its bridge."""
    board = port.board
    if board is None or port.interface in ("", board.interface):
        return
    other = sibling(host, port, board.interface)
    where = f": {preferred(host, other)}" if other else ", which is not there"
    this = f"this is interface {port.interface} of the {board.title}"
    raise BadInput(f"{port.path}: {this}, its bridge is interface {board.interface}{where}")


def choose(host: Host, path: str | None) -> Port:
    """The Port to use: the given one, or the one board that is plugged in. BadInput if there is none, or more than one to choose from."""
    if path is not None:
        if path.startswith("tcp:"):
            raise BadInput(f"{path}: only a serial port of this computer can become a device")
        port = describe(host, path)
        check_interface(host, port)
        return port
    found = find_bridges(host)
    if not found:
        raise BadInput(
            f"no board found by what its USB plug says ({', '.join(board.title for board in BOARDS)}): plug it in, or name the port, "
            "such as /dev/serial/by-id/..."
        )
    if len(found) > 1:
        listing = ", ".join(f"{preferred(host, port.path)} ({port.product})" for port in found)
        raise BadInput(f"{len(found)} boards are there, name the port of one: {listing}")
    # Of a plug that just came, the kernel lists the port before it makes the node. Without one, opening says so.
    end = time.monotonic() + OPEN_SECONDS
    while not os.path.exists(found[0].path) and time.monotonic() < end:
        time.sleep(_STEP)
    return found[0]


@dataclass(frozen=True)
class SerialFlags:
    """The kernel's struct serial_struct of a port: only its flags are looked at."""

    raw: bytes

    _FLAGS = 16  # offset
    LOW_LATENCY = 1 << 13
    _TIOCGSERIAL, _TIOCSSERIAL = 0x541E, 0x541F

    @classmethod
    def read(cls, file: int) -> "SerialFlags | None":
        """Those of an open port; None if it has none."""
        try:
            return cls(fcntl.ioctl(file, cls._TIOCGSERIAL, bytes(128)))
        except OSError:
            return None

    @property
    def low_latency(self) -> bool:
        """Whether the adapter is set not to wait for more bytes."""
        return bool(struct.unpack_from("i", self.raw, self._FLAGS)[0] & self.LOW_LATENCY)

    def with_low_latency(self) -> "SerialFlags":
        """The same with it."""
        raw = bytearray(self.raw)
        struct.pack_into("i", raw, self._FLAGS, struct.unpack_from("i", raw, self._FLAGS)[0] | self.LOW_LATENCY)
        return SerialFlags(bytes(raw))

    def write(self, file: int) -> bool:
        """True if the port took them."""
        try:
            fcntl.ioctl(file, self._TIOCSSERIAL, self.raw)
        except OSError:
            return False
        return True
