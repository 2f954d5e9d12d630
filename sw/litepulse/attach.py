# SPDX-License-Identifier: BSD-2-Clause
"""Makes a board behind a serial port a device of the kernel, and keeps it so: the process that has the port open holds the board.

The port is read first, by ordinary reads. Only a LitePulse of a known version is given to the
kernel, whose line discipline then speaks to it (driver/litepulse_uartbone.c). Any other port is
left as it was.
"""

import contextlib
import errno
import fcntl
import os
import select
import signal
import socket
import termios
import time
from collections.abc import Generator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import FrameType
from typing import NoReturn

from litepulse import attached, regs
from litepulse.backends import driver_abi
from litepulse.backends.bus.identification import identify
from litepulse.backends.uartbone import SerialStream, UARTBone, bridge_clock, holder, open_for_locks, rename_user
from litepulse.errors import BadInput, LitePulseError, TransportError, Unsupported
from litepulse.limits import DEFAULT_BAUD
from litepulse.ports import Host, Port, SerialFlags, check_interface, describe, text
from litepulse.tuning import HIGHEST_NICE, LATENCY_MS, port_workers

MODULE = "litepulse_uartbone"
LDISC = "litepulse"  # the line discipline's name in /proc/tty/ldiscs
N_TTY, N_LITEPULSE = 0, driver_abi.LDISC  # line disciplines
BAUDS = (3_000_000, 2_000_000, 1_500_000, 1_000_000, 500_000, 230_400)
_PATIENCE = 0.2  # seconds for an answer while the port is looked at: three times that, and some silence, are well below 2 s
_APPEAR = 8.0  # seconds in which the kernel has made the devices
_VANISH = 8.0  # and removed them
_RIGHTS = 1.5  # seconds in which udev has given rights to files
_LEFT = 3.0  # seconds in which a service that ends leaves the port
_QUIET = regs.BRIDGE_FALLBACK_SECONDS + 0.3  # seconds after which a bridge answers plain commands at 115200 baud again
_STEP = 0.02  # seconds between two looks

_REFUSALS = {errno.EIO: "no answer", errno.EINVAL: "not by this bridge or this port"}

# struct termios2, which also holds rates that have no name; not every processor has it.
_TCGETS2, _TCSETS2, _TERMIOS2 = 0x802C542A, 0x402C542B, 44


class OnlyRoot(LitePulseError):
    """This user may not give a port to the kernel."""


@dataclass(frozen=True)
class Found:
    """What answers behind a port."""

    version: tuple[int, int]
    clock_hz: Fraction
    simulated: bool
    bridge_hz: int  # clock of a bridge whose bit rate can be raised, else 0
    checked: bool  # whether the bridge can check what goes over the cable

    def bauds(self, wanted: int | None) -> list[int]:
        """Rates to try, the highest first, from `wanted` (None: as high as it can) down."""
        most = self.bridge_hz // 8 if self.bridge_hz else 0
        rates = [baud for baud in BAUDS if wanted is None or baud < wanted]
        if wanted is not None and wanted > DEFAULT_BAUD:
            rates.insert(0, wanted)
        return [baud for baud in rates if baud <= most + regs.BRIDGE_CLOCK_UNIT // 16]


def look(stream: SerialStream, name: str, baud: int) -> Found:
    """What answers behind an open SerialStream, by reads only: Found. LitePulseError, within 2 s, if it is no LitePulse of ours."""
    bus = UARTBone(stream, name, baud, _PATIENCE)
    try:
        identity = identify(bus, "uartbone", name).identity
    except TransportError as error:
        if "does not answer" not in str(error):
            raise
        # A bridge that was left at a raised rate looks like an empty port, and we do not wait for
        # its fallback.
        raise TransportError(f"{error}; if it was in use a moment ago, try again in 3 s") from None
    rate, frames = (bus.read(regs.BRIDGE_BASE + 4 * register.index)[0] for register in regs.BRIDGE)
    return Found(identity.version, identity.clock_hz, identity.simulated, bridge_clock(rate) if baud == DEFAULT_BAUD else 0, bool(frames))


class Settings:
    """A port's own settings, to give them back: line settings, and how long the adapter waits for more bytes."""

    def __init__(self, file: int, port: Port) -> None:
        self._latency, self._latency_file = port.latency, port.latency_file
        self._flags = SerialFlags.read(file)
        try:
            self._line = fcntl.ioctl(file, _TCGETS2, bytes(_TERMIOS2))
        except OSError:
            self._line = termios.tcgetattr(file)

    def quicken(self) -> None:
        """The adapter passes bytes on after 1 ms instead of 16, also where SerialStream could not set its flag; needs rights of root."""
        self._set_latency(LATENCY_MS)

    def _set_latency(self, value: int | None) -> None:
        if self._latency_file and value is not None and text(self._latency_file) != str(value):
            with contextlib.suppress(OSError):
                self._latency_file.write_text(f"{value}\n", encoding="ascii")

    def restore(self, file: int) -> None:
        """Everything as it was, as far as the port is still there."""
        if self._flags:
            self._flags.write(file)
        self._set_latency(self._latency)
        with contextlib.suppress(OSError, termios.error):
            if isinstance(self._line, bytes):
                fcntl.ioctl(file, _TCSETS2, self._line)
            else:
                termios.tcsetattr(file, termios.TCSANOW, self._line)


def open_port(port: Port, baud: int, wait: float = _LEFT) -> tuple[SerialStream, Settings]:
    """(SerialStream, Settings it had before) of a Port that no one else uses. LitePulseError if it
    cannot be had."""
    try:
        file = open_for_locks(port.path)
    except OSError as error:
        raise TransportError(f"{port.path}: cannot open the port ({error.strerror})") from None
    try:
        end = time.monotonic() + wait
        while holder(file) and time.monotonic() < end:  # a service that ends leaves the bridge at rest
            time.sleep(_STEP)
        settings = Settings(file, port)
    except (OSError, termios.error) as error:
        raise TransportError(f"{port.path}: this is not a serial port ({error.args[-1]})") from None
    finally:
        os.close(file)
    stream = SerialStream(port.path, baud, alone="it cannot be attached")
    stream.serial.write_timeout = _PATIENCE
    return stream, settings


def close(stream: SerialStream, settings: Settings) -> None:
    """Closes a SerialStream, its port as it was before."""
    file = stream.keep()
    with contextlib.suppress(OSError, termios.error):
        termios.tcflush(file, termios.TCIOFLUSH)  # else closing would wait for what a port that is stuck does not take
    settings.restore(file)
    os.close(file)


def inspect(port: Port, baud: int = DEFAULT_BAUD) -> Found:
    """What answers behind a Port, which is then as it was: Found, or LitePulseError."""
    stream, settings = open_port(port, baud, 0)
    try:
        return look(stream, port.path, baud)
    finally:
        close(stream, settings)


def workers(host: Host, port: Port) -> list[Path]:
    """The workqueues that carry bytes from this port and from the ttys of boards, as sysfs has them; from Linux 7.2 on each driver has one.

    Unsupported: the kernel has none for this port.
    """
    queues = port_workers(host, port.name)
    if not queues:
        raise Unsupported("realtime: this kernel has no workers for this port alone, as Linux 7.2 does: docs/tty.md says what can be done")
    return queues


def raise_workers(host: Host, port: Port) -> list[str]:
    """Gives the workers of workers() the highest priority that is no real-time one; the names of their workqueues.

    Unsupported: there are none. LitePulseError: the kernel refuses.
    """
    queues = workers(host, port)
    for queue in queues:
        try:
            (queue / "nice").write_text(f"{HIGHEST_NICE}\n")
        except OSError as error:
            raise LitePulseError(f"realtime: {queue / 'nice'}: {error.strerror}") from None
    return [queue.name for queue in queues]


class Link:
    """A board that this process holds in the kernel."""

    def __init__(self, host: Host, port: Port, baud: int = DEFAULT_BAUD) -> None:
        """Attaches it. LitePulseError if that cannot be; the port is then as it was."""
        self.host, self.port = host, port
        self._board: attached.Attached | None = None
        self._ours: int | None = None  # the line discipline's number, once the port is given to it
        stream, self._settings = open_port(port, baud)
        try:
            self.found = look(stream, port.path, baud)
            self._settings.quicken()
        except BaseException:
            close(stream, self._settings)
            raise
        self.file = stream.keep()
        try:
            self._engage()
            self._board = self._await_board()
        except BaseException:
            self.release()
            raise

    @property
    def board(self) -> attached.Attached:
        """The board as the kernel has it."""
        assert self._board is not None
        return self._board

    # Into the kernel ------------------------------------------------------------------------------------------------

    def _number(self) -> int:
        """Of the line discipline. LitePulseError if another module has registered the same, which the kernel allows."""
        value = text(self.host.sysfs / "module" / MODULE / "parameters" / "ldisc")
        number = int(value) if value.isdigit() else N_LITEPULSE
        for line in text(self.host.proc / "tty" / "ldiscs").splitlines():
            name, _, its_number = line.rpartition(" ")
            if its_number == str(number) and name.strip() != LDISC:
                raise LitePulseError(
                    f"line discipline {number} belongs to '{name.strip()}', another module of the kernel: "
                    f"unload that, or load {MODULE} with another number (ldisc=N)"
                )
        return number

    def _engage(self) -> None:
        """Gives the port to the line discipline."""
        problem, failure = "", None
        for again in (False, True):
            try:
                self._ours = self._number()
                self.host.set_discipline(self.file, self._ours)
                return
            except OSError as error:
                failure = error
            # The kernel loads it by itself where it may; there are systems where only root may have a line discipline loaded.
            if again or failure.errno == errno.EPERM or (self.host.sysfs / "module" / MODULE).exists():
                break
            problem = self.host.run("modprobe", MODULE)[1]
        self._ours = None
        if failure.errno == errno.EPERM:
            raise OnlyRoot(f"{self.port.path}: only root may give a port to the kernel: try it with sudo")
        if (self.host.sysfs / "module" / MODULE).exists():
            raise LitePulseError(f"{self.port.path}: the kernel does not take the port ({failure.strerror}); its log may say more (dmesg)")
        if "Key was rejected" in problem or "Required key" in problem:
            raise LitePulseError(
                f"the kernel refuses its module {MODULE}, which no key that it knows has signed: docs/driver-install.md, Secure Boot"
            )
        if is_installed(self.host):
            why = problem.splitlines()[-1].rsplit(": ", 1)[-1] if problem else failure.strerror
            raise LitePulseError(f"the kernel's module {MODULE} is installed but not loaded ({why}): 'sudo modprobe {MODULE}'")
        raise LitePulseError(f"the kernel has no module {MODULE}: 'make driver-install' installs it ('litepulse doctor' checks the rest)")

    def _await_board(self) -> attached.Attached:
        """The board with its devices. LitePulseError if the kernel does not make them."""
        end = time.monotonic() + _APPEAR
        board = last = None
        while True:
            last, board = board, attached.on_port(self.host, self.port.name)
            if board and board.whole and board == last and all(os.path.exists(node) for node in board.nodes(self.host).values()):
                return board
            if time.monotonic() > end:
                break
            if self._is_gone():
                raise TransportError(f"{self.port.path}: the port is gone")
            time.sleep(_STEP)
        log = "its log may say why (dmesg)"
        if board is None:
            raise LitePulseError(f"{self.port.path}: the kernel found no board there within {_APPEAR:.0f} s; {log}")
        if not (self.host.sysfs / "module" / "litepulse").exists():
            raise LitePulseError(f"{self.port.path}: the kernel has no driver litepulse for the board: 'sudo modprobe litepulse'")
        if not board.bound and sum(other.bound for other in attached.boards(self.host)) >= driver_abi.DEVICES:
            raise LitePulseError(f"{self.port.path}: {driver_abi.DEVICES} boards at most can be attached, and so many are: detach one")
        if not board.bound:
            raise LitePulseError(f"{self.port.path}: the kernel's driver refuses the board; {log}")
        raise LitePulseError(f"{self.port.path}: the board's devices did not appear within {_APPEAR:.0f} s; {log}")

    def raise_baud(self, wanted: int | None = None) -> str | None:
        """Raises the bridge's bit rate to the highest that it and the port carry, or from `wanted` down. A remark, or None."""
        refused = None
        for baud in self.found.bauds(wanted):
            if baud == self.board.value("baud"):
                break
            try:
                self._set_baud(baud)
                break
            except PermissionError:
                return "the bit rate is as it was: this user may not change it (the udev rule of 'make driver-install' allows it)"
            except OSError as error:
                refused = refused or f"{baud} cannot be had ({_REFUSALS.get(error.errno or 0, error.strerror)})"
        now = self.board.value("baud")
        if wanted and now != wanted:
            most = self.found.bridge_hz // 8
            too_much = f"the bridge can do {most} at most" if most else "this bitstream's bridge has a fixed one"
            return f"the bit rate is {now}, not {wanted}: {refused or too_much}"
        return None

    def _set_baud(self, baud: int) -> None:
        end = time.monotonic() + _RIGHTS
        while True:
            try:
                self.board.set("baud", baud)
                return
            except PermissionError:
                if time.monotonic() > end:
                    raise
                time.sleep(_STEP)

    # As long as it lasts ------------------------------------------------------------------------------------------------

    def _is_gone(self) -> bool:
        """Whether the port is unplugged, or another program has taken it from us."""
        poll = select.poll()
        poll.register(self.file, 0)
        if any(events & (select.POLLHUP | select.POLLERR | select.POLLNVAL) for _, events in poll.poll(0)):
            return True
        try:
            return self.host.discipline(self.file) != self._ours
        except OSError:
            return True

    def hold(self, woken: int) -> bool:
        """Waits until the port is gone (True) or until `woken`, a file, can be read (False)."""
        poll = select.poll()
        poll.register(self.file, 0)
        poll.register(woken, select.POLLIN)
        while not self._is_gone():
            # A hangup need not wake us, so we look by ourselves, too.
            if any(file == woken for file, _ in poll.poll(1000)):
                return False
        return True

    def release(self) -> None:
        """Gives the port back: the devices go, the settings are as before, the bridge is at rest."""
        if self.file < 0:
            return
        spoken = self._ours is not None and (self.found.checked or self._board is None or self._board.value("baud") != DEFAULT_BAUD)
        # The driver stops what was not marked KEEP while it still reaches the board; without the port it could not.
        if self._board:
            with contextlib.suppress(OSError):
                self._board.unbind(self.host)
        with contextlib.suppress(OSError):
            self.host.set_discipline(self.file, N_TTY)
        quiet = time.monotonic() + (_QUIET if spoken else 0)
        await_gone(self.host, self.port.name)
        self._settings.restore(self.file)
        # The port is ours until the bridge answers again, so the next program finds one that does.
        time.sleep(max(0.0, quiet - time.monotonic()))
        os.close(self.file)
        self.file = -1

    def drop(self) -> None:
        """Forgets a port that is gone."""
        os.close(self.file)
        self.file = -1

    def belongs_to(self, process: int, before: int) -> None:
        """The locks on the port name another process as its user."""
        rename_user(self.file, before, process)


def is_installed(host: Host) -> bool:
    """Whether the module lies where modprobe finds it, for the kernel that runs."""
    return f"{MODULE}.ko" in text(host.modules / host.release() / "modules.dep")


def await_gone(host: Host, name: str) -> bool:
    """Waits until the kernel has no board on the port it calls `name`; False if that does not come true."""
    end = time.monotonic() + _VANISH
    while attached.on_port(host, name):
        if time.monotonic() > end:
            return False
        time.sleep(_STEP)
    return True


# The service ----------------------------------------------------------------------------------------------------------


def _woken(number: int, frame: FrameType | None) -> None:
    """A signal need only wake us."""


@contextlib.contextmanager
def wakened() -> Generator[int]:
    """A file that can be read once SIGTERM, SIGINT or SIGHUP came."""
    reader, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    before = {number: signal.signal(number, _woken) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    old = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    try:
        yield reader
    finally:
        signal.set_wakeup_fd(old)
        for number, action in before.items():
            signal.signal(number, action)
        os.close(reader)
        os.close(writer)


def serve(link: Link) -> bool:
    """Holds the board until a signal comes or the port is gone; True if it is gone."""
    with wakened() as woken:
        notify("READY=1", f"STATUS=/dev/{link.board.name} on {link.port.path}")
        gone = link.hold(woken)
        notify("STOPPING=1")
        if gone:
            link.drop()
        else:
            link.release()
    return gone


def notify(*lines: str) -> None:
    """Notifies systemd, if it started us."""
    address = os.environ.get("NOTIFY_SOCKET")
    if address:
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as to:
            to.connect("\0" + address[1:] if address.startswith("@") else address)
            to.send("\n".join(lines).encode())


def start_service(link: Link) -> int:
    """Leaves the board to a process in the background; its number."""
    us = os.getpid()
    reader, writer = os.pipe2(os.O_CLOEXEC)
    child = os.fork()
    if not child:
        _become_service(link, us, writer)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as lines:
        answer = lines.readline().strip()
    if not answer.isdigit():
        raise LitePulseError(f"{link.port.path}: the service that holds the port did not start")
    os.close(link.file)
    return int(answer)


def _become_service(link: Link, parent: int, writer: int) -> NoReturn:
    """In the child: a grandchild of no terminal, which ends with the board. Never returns."""
    status = 1
    try:
        os.setsid()
        if os.fork():
            os._exit(0)
        with contextlib.suppress(KeyError):
            del os.environ["NOTIFY_SOCKET"]
        os.chdir("/")
        null = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(null, number)
        for number in map(int, os.listdir("/proc/self/fd")):  # what we inherited, others may wait for the end of
            if number > 2 and number not in (link.file, writer):
                with contextlib.suppress(OSError):
                    os.close(number)
        link.belongs_to(os.getpid(), parent)
        os.write(writer, f"{os.getpid()}\n".encode())
        os.close(writer)
        serve(link)
        status = 0
    finally:
        os._exit(status)


# Detaching ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Holder:
    """The process that holds an attached board: its number, or None if it is none of ours."""

    host: Host
    board: attached.Attached
    path: str
    process: int | None


def find(host: Host, path: str | None = None) -> Holder:
    """The Holder of the board on a port, of the device named, or of the only board that is attached. BadInput if there is none."""
    boards = attached.boards(host)
    if path is None:
        if len(boards) != 1:
            listing = ", ".join(f"{host.dev / board.port} ({board.name})" for board in boards)
            raise BadInput(f"{len(boards)} boards are attached, name the port of one: {listing}" if boards else "no board is attached")
        board = boards[0]
        path = str(host.dev / board.port)
    else:
        real = os.path.realpath(path)
        board = next((b for b in boards if real in map(os.path.realpath, b.nodes(host).values())), None)
        if board:
            path = str(host.dev / board.port)
        else:
            board = attached.on_port(host, describe(host, path).name)
        if board is None:
            check_interface(host, describe(host, path))
            raise BadInput(f"{path}: no board is attached there")
    return Holder(host, board, path, holding_process(path))


def holding_process(path: str) -> int | None:
    """Number of the process of ours that has a port alone; None if there is none, or only root may know.

    TransportError if the port cannot be opened.
    """
    try:
        file = open_for_locks(path)
    except OSError as error:
        if error.errno == errno.EBUSY:  # attached: the kernel lets only root open it
            return None
        raise TransportError(f"{path}: cannot open the port ({error.strerror})") from None
    try:
        process = holder(file)
    finally:
        os.close(file)
    return process if isinstance(process, int) else None


def has_port(process: int, path: str) -> bool:
    """Whether a process of root or of this user has a port open. PermissionError if this user may not know."""
    port = os.stat(path).st_rdev
    if os.stat(f"/proc/{process}").st_uid not in (0, os.geteuid()):
        return False
    folder = f"/proc/{process}/fd"
    for name in os.listdir(folder):
        with contextlib.suppress(FileNotFoundError):
            if os.stat(f"{folder}/{name}").st_rdev == port:
                return True
    return False


def detach(held: Holder) -> None:
    """Ends the process that holds a board; returns when the port is free. LitePulseError if it is not to be ended."""
    if held.process is None and os.geteuid():
        raise LitePulseError(f"{held.path}: only root can detach it: try it with sudo")
    if held.process is None:
        raise LitePulseError(f"{held.path}: attached by another program (ldattach?): end that one")
    try:
        process = os.pidfd_open(held.process)
        try:
            # Anybody who may open the port can place the lock that names a process.
            if not has_port(held.process, held.path):
                raise LitePulseError(f"{held.path}: process {held.process} is named as its holder but does not have it open: left alone")
            signal.pidfd_send_signal(process, signal.SIGTERM)
            ended = select.select([process], [], [], _VANISH + _QUIET)[0]
        finally:
            os.close(process)
    except (ProcessLookupError, FileNotFoundError):
        ended = True
    except PermissionError:
        raise LitePulseError(f"{held.path}: process {held.process}, which holds it, is another user's: try it with sudo") from None
    if not ended or not await_gone(held.host, held.board.port):
        raise LitePulseError(f"{held.path}: process {held.process} was told to end, but /dev/{held.board.name} is still there")
