# SPDX-License-Identifier: BSD-2-Clause
"""The file of a device of the driver: ioctls and what their errors mean, identity, status, time."""

import contextlib
import errno
import fcntl
import math
import os
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

from litepulse import attached
from litepulse.backends import driver_abi as abi
from litepulse.backends.interface import CLOCKS, DRIVER, ClockReading, Identity
from litepulse.boottime import slept
from litepulse.errors import InUse, LitePulseError, Refused, Restarted, TransportError, Unsupported
from litepulse.layout import regs

OLDEST_ABI = 1  # versions of the driver's interface: the least that will do, and the first with a LIN slave's table,
LIN_ABI = 2
BURST_ABI = 6  # with bursts of the responder, and its times of 32 bits,
PORT_ABI = WIDTH_ABI = 7  # with the marker port, and a width in a change of a train,
FOLLOW_ABI = 8  # with trains that follow the PTP clock,
WAITS_ABI = 9  # and with waits and relative entries of the launch queue
LAG_SECONDS = Fraction(1, 100)  # after which the driver has reported what happened
_REASON = {errno.ETIME: "late", errno.EBUSY: "busy", errno.EINVAL: "invalid", errno.ENOENT: "profile"}
_IFF_UP = 1
AnyRecord = TypeVar("AnyRecord", bound=abi.Record)


def reason(error: OSError) -> str | None:
    """The core's reason of a refusal, where the error gives it."""
    return _REASON.get(error.errno or 0)


def refused(what: str, error: OSError) -> Refused:
    """The error of something that the driver refused."""
    return Refused(f"the driver refused {what} ({error.strerror})", reason(error))


class Device:
    """An open device. `fifo`: records that wait for us in the driver, at most; `lag`: ticks after which it has reported what happened."""

    fifo = 16384

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self.file = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            hint = ": you are not in its group (dialout)" if error.errno == errno.EACCES else ""
            raise LitePulseError(f"{path}: cannot open it ({error.strerror}){hint}") from None
        try:
            self.abi, self.identity = self._identify()
        except BaseException:
            self.close()
            raise
        # A board on a cable is polled.
        lag = LAG_SECONDS + Fraction(3 * (self.attached_value("idle_us") or 0), 10**6)
        self.lag = math.ceil(self.identity.timescale.tick_hz * lag)
        self.seen = 0  # the board's tick when it was read last

    def close(self) -> None:
        """May be called again."""
        if self.file >= 0:
            os.close(self.file)
            self.file = -1

    def require(self, abi: int, what: str) -> None:
        """Unsupported if the driver's interface is older than the version that `what` came with."""
        if self.abi < abi:
            text = f"its interface is version {self.abi}, that takes {abi}"
            raise Unsupported(f"{self.path}: the kernel's driver is too old for {what}: {text}")

    # Calls

    def call(self, file: int, number: int, record: AnyRecord) -> AnyRecord:
        """An ioctl: the record as the driver answered it. OSError for what the caller can make sense of."""
        data = bytearray(record.pack())
        try:
            fcntl.ioctl(file, number, data, True)
        except OSError as error:
            self.check_gone(error)
            raise
        return type(record).unpack(data)

    def check_gone(self, error: OSError) -> None:
        """Raises what an OSError means for every call."""
        if error.errno == errno.ENODEV:
            raise TransportError(f"{self.path}: the board is gone") from None
        if error.errno == errno.ESTALE:
            raise Restarted("the board restarted, or the machine slept: whatever ran on it has stopped") from None
        if error.errno in (errno.EIO, errno.ETIMEDOUT):
            raise TransportError(f"{self.path}: the board does not answer") from None

    # What it is

    def _identify(self) -> tuple[int, Identity]:
        """(version of the driver's interface, what it is)."""
        try:
            info = self.call(self.file, abi.IOC_INFO, abi.Info())
        except OSError as error:
            hint = "; a serial port is given as port, --port" if str(self.path).startswith("/dev/tty") else ""
            raise LitePulseError(f"{self.path}: not a device of LitePulse's driver ({error.strerror}){hint}") from None
        if info.abi < OLDEST_ABI:
            raise LitePulseError(f"{self.path}: the driver's interface is version {info.abi}, this program needs {OLDEST_ABI}")
        nodes = {"pulse": self.path}
        if info.tty >= 0:
            nodes["tty"] = f"/dev/ttyPULSE{info.tty}"
        if info.phc >= 0:
            nodes["clock"] = f"/dev/ptp{info.phc}"
        return info.abi, Identity(
            DRIVER,
            self.path,
            bool(info.flags & abi.INFO_SIMULATED),
            (info.core >> 16, info.core & 0xFFFF),
            Fraction(info.tick_num, info.tick_den) / info.samples,
            info.samples,
            info.inputs,
            info.event_depth,
            info.receive_depth,
            info.transmit_depth,
            info.launch_depth,
            info.lin_entries,
            info.session,
            regs.ECHO_CYCLES_MAX * info.samples,
            tuple(name for name in CLOCKS if name != "phc" or info.phc >= 0),
            bool(info.flags & abi.INFO_PORT),
            bool(info.flags & abi.INFO_SEQUENCE),
            chip=self._chip(),
            nodes=nodes,
        )

    def _chip(self) -> str | None:
        """Where the kernel has the SoC whose line this is; None on a cable."""
        folder = self._sysfs
        return str(folder.resolve().parent) if folder.exists() and not attached.Attached.of(folder) else None

    @property
    def _sysfs(self) -> Path:
        return Path("/sys/class/misc") / Path(self.path).name / "device"

    def attached_value(self, name: str) -> int | None:
        """A value of a board on a cable in sysfs; None where there is none."""
        board = attached.Attached.of(self._sysfs)
        return board.value(name) if board else None

    def check_lin_device(self) -> None:
        """InUse if the board's LIN device is up: it has the claim then, and the tty cannot be opened."""
        for device in self._sysfs.glob("litepulse-lin*/net/*"):
            with contextlib.suppress(OSError, ValueError):
                if int((device / "flags").read_text(), 16) & _IFF_UP:
                    name = device.name
                    raise InUse(f"{self.path}: the network device {name} has the line; 'ip link set {name} down' gives it back") from None

    # What is going on

    def status(self) -> abi.Status:
        """A fresh look."""
        return self.call(self.file, abi.IOC_STATUS, abi.Status())

    def now(self) -> int:
        """The board's tick."""
        self.seen = self.call(self.file, abi.IOC_TIME, abi.Time()).tick
        return self.seen

    def read_clocks(self) -> ClockReading:
        """The tick, and clocks of this PC."""
        read = self.call(self.file, abi.IOC_TIME, abi.Time())
        return ClockReading(read.tick, read.raw_before, read.raw_after, read.monotonic, read.realtime, slept=slept())
