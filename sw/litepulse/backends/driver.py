# SPDX-License-Identifier: BSD-2-Clause
"""The backend of a board that the Linux driver has: /dev/litepulseN, by its ioctls. docs/chardev.md has their semantics.

What launches is the claim, a file of its own that one program at a time has. It is taken when it is first needed, and its end stops
what runs. Line profile 0 is the tty's, so bit rate and format of the receiver are set on the tty, and put back at the end.
"""

import contextlib
import errno
import fcntl
import math
import os
import select
import struct
import termios
import time
from collections.abc import Generator, Sequence
from dataclasses import fields, replace
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

from litepulse import attached, columns
from litepulse.backends import driver_abi as abi
from litepulse.backends.interface import (
    CLOCKS,
    DRIVER,
    LAUNCH_PROFILE,
    NO_LIN_SLAVE,
    RECEIVE_PROFILE,
    REST_SECONDS,
    Batch,
    ClockReading,
    Identity,
    Losses,
    Status,
    Stopped,
    TrainChange,
    TrainSettings,
    Wanted,
    pin_levels,
)
from litepulse.backends.wallclock import WallClock
from litepulse.columns import EdgeRecords
from litepulse.errors import BadInput, InUse, LitePulseError, Refused, Restarted, TransportError, Unsupported
from litepulse.layout import KIND_NAME, LAUNCH_KIND, LAUNCH_KIND_NAME, PARITY, SOURCE_NAME, TRIGGER, regs
from litepulse.line import Format, Launch, LinEntry, Profile, Response
from litepulse.streams import Event, Lost, RxByte
from litepulse.units import Period, Timescale, hexadecimal

OLDEST_ABI = 1  # versions of the driver's interface: the least that will do, and the first with a LIN slave's table
LIN_ABI = 2
FIFO = 16384  # records that wait for us in the driver, at most
READ_RECORDS = 256
READ_BYTES = READ_RECORDS * abi.Event.layout.size
LAG_SECONDS = Fraction(1, 100)  # after which the driver has told what happened
CHANGE_SECONDS = 5.0  # for which a change of a train is waited for
_SOURCE = {name: code for code, name in SOURCE_NAME.items()}
_REASON = {errno.ETIME: "late", errno.EBUSY: "busy", errno.EINVAL: "invalid", errno.ENOENT: "profile"}
_CLOCK = {name: getattr(abi, f"CLOCK_{name.upper()}") for name in CLOCKS}
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
_IFF_UP = 1
_EVENT_MEMBERS = tuple(member.name for member in fields(abi.Event))
AnyRecord = TypeVar("AnyRecord", bound=abi.Record)


def _lin_entry(entry: LinEntry) -> abi.LinEntry:
    """As the driver takes it: all is 0 of one that is off."""
    if not entry.data:
        return abi.LinEntry(entry.frame_id)
    flags = (
        (abi.LIN_ENTRY_ENHANCED if entry.enhanced else 0)
        | (abi.LIN_ENTRY_ONCE if entry.once else 0)
        | (abi.LIN_ENTRY_OWN_CHECKSUM if entry.checksum is not None else 0)
    )
    checksum = entry.flip if entry.checksum is None else entry.checksum
    return abi.LinEntry(entry.frame_id, len(entry.data), checksum, flags=flags, data=entry.data)


def _cflag(fmt: Format) -> int:
    """What of _FORMAT a format has."""
    return _BITS[fmt.data_bits] | _PARITY_FLAGS[fmt.parity] | (termios.CSTOPB if fmt.stop else 0)


class Driver:
    """See Backend."""

    def __init__(self, path: str, clock: str | None = None) -> None:
        """clock: of CLOCKS, in which events have a time, too."""
        if clock is not None and clock not in CLOCKS:
            raise BadInput(f"clock: '{clock}' is not {', '.join(CLOCKS)}")
        self.path = path
        self._claim: int | None = None
        self._mine: set[str] = set()  # of 'train', 'responder': what this program began and has to end
        self._roomy = False  # the FIFO of the device's file has been made larger
        self._beside = False  # others run that were kept, so that the claim keeps what runs, too
        self._launch_profile = LAUNCH_PROFILE  # the number that it has in the driver
        self.wall_clock: WallClock | None = None  # the driver itself gives records their times
        self._clock = abi.CLOCK_NONE if clock is None else _CLOCK[clock]
        try:
            self._device = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            hint = ": you are not in its group (dialout)" if error.errno == errno.EACCES else ""
            raise LitePulseError(f"{path}: cannot open it ({error.strerror}){hint}") from None
        try:
            self._identity = self._identify()
            if clock is not None and clock not in self._identity.clocks:
                raise Unsupported(f"{path}: it has no PTP clock: this kernel or driver was built without")
        except BaseException:
            os.close(self._device)
            raise
        self._tick_hz = self._identity.clock_hz * self._identity.samples_per_cycle
        self._lag = math.ceil(self._tick_hz * self._lag_seconds())
        self._profiles: dict[int, Profile] = {}
        self._lengths: dict[int, int] = {}  # ticks on the line of launches that wait, by tag
        self._train_length = self._answer_length = 0
        self._change: tuple[Period, int] | None = None
        self._busy_until = self._seen = 0
        self._tty: int | None = None  # open while it is set to loop back
        self._tty_before: bytes | None = None  # its settings before ours
        self._forget()

    # Calls ---------------------------------------------------------------------------------------------------------

    def _call(self, file: int, number: int, record: AnyRecord) -> AnyRecord:
        """An ioctl: the record as the driver answered it. OSError for what the caller can make sense of."""
        data = bytearray(record.pack())
        try:
            fcntl.ioctl(file, number, data, True)
        except OSError as error:
            self._check_gone(error)
            raise
        return type(record).unpack(data)

    def _check_gone(self, error: OSError) -> None:
        """Raises what an OSError means for every call."""
        if error.errno == errno.ENODEV:
            raise TransportError(f"{self.path}: the board is gone") from None
        if error.errno == errno.ESTALE:
            raise Restarted("the board restarted, or the machine slept: whatever ran on it has stopped") from None
        if error.errno in (errno.EIO, errno.ETIMEDOUT):
            raise TransportError(f"{self.path}: the board does not answer") from None

    def _identify(self) -> Identity:
        try:
            info = self._call(self._device, abi.IOC_INFO, abi.Info())
        except OSError as error:
            hint = "; a serial port is given as port, --port" if str(self.path).startswith("/dev/tty") else ""
            raise LitePulseError(f"{self.path}: not a device of LitePulse's driver ({error.strerror}){hint}") from None
        if info.abi < OLDEST_ABI:
            raise LitePulseError(f"{self.path}: the driver's interface is version {info.abi}, this program needs {OLDEST_ABI}")
        self._abi = info.abi
        nodes = {"pulse": self.path}
        if info.tty >= 0:
            nodes["tty"] = f"/dev/ttyPULSE{info.tty}"
        if info.phc >= 0:
            nodes["clock"] = f"/dev/ptp{info.phc}"
        return Identity(
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
            nodes,
        )

    def _lag_seconds(self) -> Fraction:
        """How long after an event the driver has certainly told it, while the cable is sound: a board on one is asked, not heard."""
        board = attached.Attached.of(Path("/sys/class/misc") / Path(self.path).name / "device")
        idle_us = board.value("idle_us") if board else None
        return LAG_SECONDS + Fraction(3 * (idle_us or 0), 10**6)

    @property
    def identity(self) -> Identity:
        """See Backend."""
        return self._identity

    def _status(self) -> abi.Status:
        return self._call(self._device, abi.IOC_STATUS, abi.Status())

    def status(self) -> Status:
        """See Backend. The driver does not tell whether the line is busy: that follows from what was launched."""
        status = self._status()
        busy = self._busy_until > self._seen and self._busy_until > self.now()
        return Status(
            bool(status.flags & abi.STATUS_TRAIN),
            bool(status.flags & abi.STATUS_CHANGE),
            bool(status.flags & abi.STATUS_RESPONDER),
            not status.flags & abi.STATUS_QUEUE,
            busy,
            status.launch_free,
            pin_levels(status.inputs | status.rx << self.identity.inputs, self.identity.inputs),
        )

    def now(self) -> int:
        """See Backend."""
        self._seen = self._call(self._device, abi.IOC_TIME, abi.Time()).tick
        return self._seen

    def read_clocks(self) -> ClockReading:
        """See Backend."""
        read = self._call(self._device, abi.IOC_TIME, abi.Time())
        return ClockReading(read.tick, read.raw_before, read.raw_after, read.monotonic, read.realtime)

    # Records -------------------------------------------------------------------------------------------------------

    @property
    def _reader(self) -> int:
        return self._device if self._claim is None else self._claim

    def _forget(self) -> None:
        self._events: list[Event | Lost] = []
        self._received: list[RxByte | Lost] = []
        self._losses = Losses()

    def record(self, wanted: Wanted) -> None:
        """See Backend."""
        kinds = sources = 0
        for names, kind in ((wanted.launched, abi.KIND_TX), (wanted.refused, abi.KIND_REFUSED)):
            kinds |= 1 << kind if names else 0
            for name in names:
                sources |= 1 << _SOURCE[name]
        if wanted.train:
            kinds |= 1 << abi.KIND_APPLIED | 1 << abi.KIND_REFUSED | 1 << abi.KIND_TRAIN_DONE
            sources |= 1 << abi.SRC_TRAIN_CHANGE
        kinds |= 1 << abi.KIND_RESPONDER_MISSED if wanted.missed else 0
        kinds |= 1 << abi.KIND_EDGE if wanted.rise or wanted.fall else 0
        kinds |= 1 << abi.KIND_RX if wanted.received else 0
        want = abi.Subscribe(
            kinds, sources, wanted.rise, wanted.fall, wanted.filtered, wanted.filter if wanted.filtered else 0, clock=self._clock
        )
        if self._claim is None and not self._roomy:  # the claim has as much from its beginning; only an empty FIFO can be exchanged
            want.fifo, self._roomy = FIFO, True
        try:
            try:
                self._call(self._reader, abi.IOC_SUBSCRIBE, want)
            except OSError as error:
                if error.errno != errno.ENOMEM:
                    raise
                want.fifo = 0
                self._call(self._reader, abi.IOC_SUBSCRIBE, want)
        except OSError as error:
            if error.errno == errno.EBUSY:
                raise InUse(f"{self.path}: another program, or an armed responder, filters these inputs otherwise") from None
            raise LitePulseError(f"{self.path}: the driver does not record this ({error.strerror})") from None
        self._drain()
        self._forget()

    def _drain(self) -> None:
        """Takes all that waits in the driver."""
        for data in self._parts():
            self._take_all(data)

    def _drain_edges(self) -> EdgeRecords | None:
        """As _drain(); what waits as columns instead, if it is nothing but edges, and nothing was taken before."""
        data = b"".join(self._parts())
        if not self._events and not self._received:
            records = columns.of_structs(data, abi.Event.layout, _EVENT_MEMBERS, abi.KIND_EDGE)
            if records is not None:
                return records
        self._take_all(data)
        return None

    def _parts(self) -> Generator[bytes]:
        """Records that wait in the driver when this begins, and few more: what keeps coming is for the next call."""
        for _ in range(FIFO // READ_RECORDS + 1):  # one more, for the record of losses
            try:
                data = os.read(self._reader, READ_BYTES)
            except BlockingIOError:
                return
            except OSError as error:
                self._check_gone(error)
                raise TransportError(f"{self.path}: cannot be read ({error.strerror})") from None
            yield data
            if len(data) < READ_BYTES:
                return

    def _take_all(self, data: bytes) -> None:
        for values in abi.Event.layout.iter_unpack(data):
            self._take(abi.Event(*values))

    def _take(self, record: abi.Event) -> None:
        ns = record.ns if record.flags & abi.FLAG_NS else None
        if record.kind == abi.KIND_RESTARTED:
            if record.flags & abi.RESTARTED_SUSPEND:
                raise Restarted("the machine slept: whatever ran on the board has stopped")
            raise Restarted("the board restarted: whatever ran on it has stopped")
        if record.kind == abi.KIND_RX:
            flags = record.flags
            self._received.append(
                RxByte(
                    record.tick,
                    record.data & 0xFF,
                    record.data >> 8 & 1,
                    bool(flags & abi.RX_PARITY),
                    bool(flags & abi.RX_FRAMING),
                    bool(flags & abi.RX_BREAK),
                    bool(flags & abi.RX_OWN),
                    bool(flags & abi.RX_NOISE),
                    ns,
                    record.uncertainty,
                )
            )
        elif record.kind == abi.KIND_LOST:
            lost = Lost(record.tick, record.count, bool(record.flags & abi.FLAG_AT_LEAST))
            of_bytes = record.source == abi.SRC_RECEIVER
            before = self._losses
            self._losses = Losses(
                before.events + (0 if of_bytes else lost.count),
                before.received + (lost.count if of_bytes else 0),
                before.at_least or lost.at_least,
            )
            if of_bytes:
                self._received.append(lost)
            else:
                self._events.append(lost)
        else:
            event = Event(
                record.tick,
                record.seq,
                KIND_NAME.get(record.kind, f"kind{record.kind}"),
                SOURCE_NAME.get(record.source, f"source{record.source}"),
                record.flags & 0xFF,
                record.data,
                ns,
                record.uncertainty,
            )
            self._note_line(event)
            self._events.append(event)

    def _note_line(self, event: Event) -> None:
        """How long the line is busy by what has left."""
        length = self._lengths.pop(event.tag, 0) if event.source == "queue" else 0
        if event.kind == "tx":
            length = {"train": self._train_length, "responder": self._answer_length}.get(event.source, length)
            self._busy_until = max(self._busy_until, event.tick + length)

    def look(self, as_columns: bool = False) -> tuple[Status, Batch]:
        """See Backend."""
        return self.status(), self.read(as_columns)

    def read(self, as_columns: bool = False) -> Batch:
        """See Backend."""
        tick = self.now()
        edges = None
        if as_columns:
            edges = self._drain_edges()
        else:
            self._drain()
        events, received = self._events, self._received
        self._events, self._received = [], []
        return Batch(max(0, tick - self._lag), tick, events, received, edges)

    def wait(self, seconds: float) -> None:
        """See Backend."""
        if seconds > 0:
            poll = select.poll()
            poll.register(self._reader, select.POLLIN)
            poll.poll(math.ceil(1000 * seconds))

    def losses(self) -> Losses:
        """See Backend."""
        return self._losses

    # The claim -----------------------------------------------------------------------------------------------------

    def _take_claim(self, keep: bool = False) -> int:
        try:
            claim = abi.Claim(abi.CLAIM_KEEP if keep else 0, os.O_NONBLOCK | os.O_CLOEXEC, FIFO)
            return self._call(self._device, abi.IOC_CLAIM, claim).fd
        except OSError as error:
            if error.errno == errno.EBUSY:
                self._check_lin_device()
                process = self._holder()
                who = f"process {process}" if process else "another program"
                raise InUse(f"{self.path}: {who} has it: only one at a time may launch; end that one first", process) from None
            raise LitePulseError(f"{self.path}: cannot be claimed ({error.strerror})") from None

    def _check_lin_device(self) -> None:
        """InUse if the board's LIN device is up: it has the claim then, and the tty cannot be opened."""
        for device in (Path("/sys/class/misc") / Path(self.path).name / "device").glob("litepulse-lin*/net/*"):
            with contextlib.suppress(OSError, ValueError):
                if int((device / "flags").read_text(), 16) & _IFF_UP:
                    name = device.name
                    raise InUse(f"{self.path}: the network device {name} has the line; 'ip link set {name} down' gives it back") from None

    @staticmethod
    def _holder() -> int | None:
        """The process that has a claim, if there is just one that we may see."""
        found: set[int] = set()
        for link in Path("/proc").glob("[0-9]*/fd/*"):
            with contextlib.suppress(OSError):
                if os.readlink(link) == "anon_inode:litepulse-claim":
                    found.add(int(link.parts[2]))
        return found.pop() if len(found) == 1 else None

    def _claimed(self) -> int:
        if self._claim is None:
            self._beside = bool(self._others())
            self._claim = self._take_claim(self._beside)
        return self._claim

    def _others(self) -> tuple[str, ...]:
        """'train', 'responder': those that run and are not ours."""
        flags = self._status().flags
        running = (("train", flags & abi.STATUS_TRAIN), ("responder", flags & abi.STATUS_RESPONDER))
        others = tuple(name for name, runs in running if runs and name not in self._mine)
        if others:
            self._check_lin_device()  # what runs is its own then
        return others

    def kept(self) -> tuple[str, ...]:
        """See Backend. The driver does not tell what a responder answers."""
        return tuple(f"a {name}" for name in self._others())

    @contextlib.contextmanager
    def _any_claim(self, keep: bool) -> Generator[int]:
        """The claim we have, or one for the moment; `keep`: then what runs goes on after it."""
        if self._claim is not None:
            yield self._claim
            return
        self._claim = self._take_claim(keep)
        try:
            yield self._claim
        finally:
            self._end_claim()

    def _end_claim(self) -> None:
        if self._claim is not None:
            os.close(self._claim)
            self._claim = None
            self._mine.clear()
            self._profiles.clear()
            self._lengths.clear()

    def pledge(self, keep: bool) -> None:
        """See Backend."""
        claim = self._claimed()
        self._call(claim, abi.IOC_KEEP, abi.Keep(abi.CLAIM_KEEP if keep or self._beside else 0))

    # Settings ------------------------------------------------------------------------------------------------------

    def set_profile(self, number: int, profile: Profile) -> None:
        """See Backend. That of launches is the first which the driver does not refuse because something kept uses it."""
        fmt = profile.format
        numbers = (LAUNCH_PROFILE, 2, 3) if number == LAUNCH_PROFILE else (number,)
        taken = next((one for one in numbers if self._put_profile(one, profile)), None)
        if taken is None:
            raise InUse(f"{self.path}: what goes on here uses each line profile; 'litepulse stop' ends it")
        if number == LAUNCH_PROFILE:
            self._launch_profile = taken
        try:
            self._call(self._claimed(), abi.IOC_REST, abi.Rest(abi.REST_LOW if fmt.invert else abi.REST_HIGH))
        except OSError as error:
            if error.errno == errno.EBUSY:
                raise InUse("invert: what runs on the line needs its level at rest as it is; 'litepulse stop' ends it") from None
            raise Refused(f"the driver refused the level of the line at rest ({error.strerror})") from None
        self._profiles[taken] = profile

    def _put_profile(self, number: int, profile: Profile) -> bool:
        """False if something that was kept uses it with other settings."""
        fmt = profile.format
        request = abi.Profile(
            number, fmt.data_bits, PARITY[fmt.parity], fmt.stop, abi.PROFILE_INVERT if fmt.invert else 0, period=profile.bit_period.raw
        )
        try:
            self._call(self._claimed(), abi.IOC_PROFILE, request)
        except OSError as error:
            if error.errno == errno.EBUSY:
                return False
            raise Refused(f"the driver refused the line profile ({error.strerror})", _REASON.get(error.errno or 0)) from None
        return True

    def _mapped(self, launch: Launch) -> Launch:
        """With the number that its profile has in the driver."""
        return replace(launch, profile=self._launch_profile) if launch.profile == LAUNCH_PROFILE else launch

    def idle_level(self) -> int | None:
        """See Backend: that of the tty's profile, which the driver does not tell."""
        return None

    def set_receiver(self, profile: Profile | None, receive: bool, loopback: bool, instead_of: str = "") -> None:
        """See Backend. The settings are the tty's, with a bit rate of whole baud. What triggers a responder is not told, so any might
        rely on them.
        """
        if receive and profile is not None and profile.format.invert:
            raise Unsupported("invert: the kernel's tty cannot receive inverted frames")
        armed = bool(self._status().flags & abi.STATUS_RESPONDER)
        if armed and instead_of == "responder":
            self.disarm()
        elif armed and loopback and self._tty is None:
            raise InUse(f"{self.path}: a responder is armed; to listen to the transmitter inside the core might disturb it: stop it first")
        elif armed and receive and profile is not None:
            self._check_tty(profile)
            return
        if loopback or (receive and profile is not None):
            with self._open_tty(loopback) as tty:
                if receive and profile is not None:
                    self._set_tty(tty, profile)
                    self._profiles[RECEIVE_PROFILE] = profile
                if loopback:
                    fcntl.ioctl(tty, termios.TIOCMBIS, _LOOP)

    @contextlib.contextmanager
    def _open_tty(self, stay: bool = False) -> Generator[int]:
        path = self._identity.nodes.get("tty")
        if path is None:
            raise Unsupported(f"{self.path}: it has no tty, whose settings the receiver has")
        try:
            tty = self._tty if self._tty is not None else os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError as error:
            if error.errno == errno.EBUSY:
                self._check_lin_device()
            raise LitePulseError(f"{path}: cannot open it ({error.strerror})") from None
        try:
            yield tty
            if stay:
                self._tty = tty
        except OSError as error:
            self._check_gone(error)
            raise LitePulseError(f"{path}: cannot be set ({error.strerror})") from None
        finally:
            if self._tty != tty:
                os.close(tty)

    def _check_tty(self, profile: Profile) -> None:
        """InUse unless the tty has this bit rate and format. They are not written again: that would end a byte which is being received."""
        with self._open_tty() as tty:
            _, _, cflag, _, _, _, _, baud = _TERMIOS2.unpack(fcntl.ioctl(tty, _TCGETS2, bytes(_TERMIOS2.size)))
        if (cflag & _FORMAT, baud) != (_cflag(profile.format), round(profile.bit_period.baud)):
            raise InUse(f"{self.path}: a responder is armed, and receives with the tty's settings, {baud} baud; others would disturb it")
        self._profiles[RECEIVE_PROFILE] = profile

    def _set_tty(self, tty: int, profile: Profile) -> None:
        """Bit rate and format of the receiver."""
        fmt = profile.format
        if fmt.stop == 1 and fmt.data_bits != 5:
            raise Unsupported("format: the kernel's tty has 1.5 stop bits with 5 data bits only")
        before = fcntl.ioctl(tty, _TCGETS2, bytes(_TERMIOS2.size))
        iflag, oflag, cflag, lflag, discipline, cc, _, _ = _TERMIOS2.unpack(before)
        cflag &= ~(_FORMAT | _CBAUD | _CIBAUD)
        cflag |= _cflag(fmt) | _BOTHER
        baud = round(profile.bit_period.baud)
        if not baud:
            raise Unsupported("baud: the kernel's tty has no bit rate below 1")
        fcntl.ioctl(tty, _TCSETSW2, _TERMIOS2.pack(iflag, oflag, cflag, lflag, discipline, cc, baud, baud))
        if self._tty_before is None:
            self._tty_before = before
        got = _TERMIOS2.unpack(fcntl.ioctl(tty, _TCGETS2, bytes(_TERMIOS2.size)))
        if abs(got[-1] - baud) * 100 > baud:
            raise Unsupported(f"baud: the kernel's tty made {got[-1]} of {baud}")

    def _restore_tty(self) -> None:
        """As it was before us."""
        loop, self._tty, before, self._tty_before = self._tty, None, self._tty_before, None
        with contextlib.suppress(LitePulseError, OSError):
            if before is not None:
                with self._open_tty() as tty:
                    fcntl.ioctl(tty, _TCSETSW2, before)
        if loop is not None:
            with contextlib.suppress(OSError):
                fcntl.ioctl(loop, termios.TIOCMBIC, _LOOP)
            os.close(loop)

    def set_echo(self, ticks: int | None) -> int:
        """See Backend."""
        samples = self._identity.samples_per_cycle
        wanted = samples * regs.ECHO_CYCLES_RESET if ticks is None else ticks
        if not 0 <= wanted <= self._identity.echo_limit:
            named = Timescale(self._identity.clock_hz, samples).named
            raise BadInput(f"echo: {named(wanted)} is outside 0 to {named(self._identity.echo_limit, math.floor)}")
        used = samples * math.ceil(Fraction(wanted, samples))
        # The driver rounds the ns up to whole ticks: less than a tick below the ns of `used` gives just `used`.
        ns = math.floor(used * 10**9 / self._tick_hz)
        flags = abi.DRIVER_ENABLE_ECHO | abi.DRIVER_ENABLE_UNCHANGED
        try:
            self._call(self._claimed(), abi.IOC_DRIVER_ENABLE, abi.DriverEnable(flags=flags, echo_ns=ns))
        except OSError as error:
            raise Refused(f"the driver refused the echo's time ({error.strerror})", _REASON.get(error.errno or 0)) from None
        return used

    # Output --------------------------------------------------------------------------------------------------------

    def start_train(self, launch: Launch, period: Period, count: int = 0, start: int | None = None) -> None:
        """See Backend."""
        launch = self._mapped(launch)
        request = abi.Train(
            start or 0,
            period.whole,
            period.num,
            period.den & 0xFFFFFFFF,
            count,
            launch.width,
            LAUNCH_KIND[launch.kind],
            launch.profile,
            launch.data,
            flags=abi.TRAIN_ASAP if start is None else 0,
        )
        try:
            self._call(self._claimed(), abi.IOC_TRAIN_START, request)
        except OSError as error:
            raise Refused("the core refused the train", _REASON.get(error.errno or 0, error.strerror)) from None
        self._mine.add("train")
        self._train_length = launch.length(self._profiles[launch.profile])

    def changing(self) -> contextlib.AbstractContextManager[object]:
        """See Backend."""
        return self._any_claim(keep=True)

    def ask_change(self, period: Period, step: int, at_pulse: int) -> TrainChange:
        """See Backend. The records stay for the program that follows the train."""
        self._drain()
        looked = self._told = len(self._events)
        try:
            request = abi.TrainAdjust(period.whole, period.num, period.den & 0xFFFFFFFF, at_pulse, step)
            self._call(self._claimed(), abi.IOC_TRAIN_ADJUST, request)
        except OSError as error:
            raise Refused("the core refused the change", _REASON.get(error.errno or 0, str(error.strerror))) from None
        self._change = period, step
        limit = self.now() + 2 * (math.ceil(period.ticks) + abs(step)) + self._lag
        end = time.monotonic() + CHANGE_SECONDS
        while True:
            self._drain()
            new, looked = self._events[looked:], len(self._events)
            for event in new:
                if isinstance(event, Event) and event.source == "train_change":
                    if event.kind == "refused":
                        raise Refused("the core refused the change", event.reason)
                    return TrainChange(event.data)
            if time.monotonic() > end and self.now() > limit:
                return TrainChange(None, self.status().train_change_pending)
            self.wait(0.02)

    def newest_pulse(self) -> tuple[int, int] | None:
        """See Backend."""
        end = time.monotonic() + CHANGE_SECONDS
        while time.monotonic() < end:
            self._drain()
            pulses = [e for e in self._events[self._told :] if isinstance(e, Event) and e.source == "train" and e.kind == "tx"]
            if pulses:
                return pulses[-1].data, self.now() - pulses[-1].tick
            self.wait(0.02)
        return None

    def stop_train(self) -> None:
        """See Backend."""
        self._stop_train(self._claimed())

    def _stop_train(self, claim: int) -> int:
        try:
            return self._call(claim, abi.IOC_TRAIN_STOP, abi.TrainStop()).pulses
        except OSError as error:
            raise LitePulseError(f"{self.path}: the train cannot be stopped ({error.strerror})") from None

    def train(self) -> TrainSettings | None:
        """See Backend. The driver knows what was asked for since the board was attached."""
        try:
            told = self._call(self._device, abi.IOC_TRAIN, abi.Train())
        except OSError:
            return None
        kind = LAUNCH_KIND_NAME.get(told.kind)
        launch = Launch(kind, told.data, told.profile, told.width) if kind else None
        return TrainSettings(Period(told.period, told.num, told.den), told.count, launch, None)

    def train_change(self) -> tuple[Period, int] | None:
        """See Backend. Nobody but us changes a train that we have the claim of."""
        return self._change

    def launch(self, entries: Sequence[tuple[int, int, Launch]]) -> int:
        """See Backend. What is late already is refused like what turns out to be: by an event."""
        done, claim = 0, self._claimed()
        entries = [(tick, tag, self._mapped(launch)) for tick, tag, launch in entries]
        while done < len(entries):
            records = b"".join(
                abi.Launch(tick, launch.width, tag, LAUNCH_KIND[launch.kind], launch.profile, launch.data).pack()
                for tick, tag, launch in entries[done:]
            )
            for _, tag, launch in entries[done:]:
                self._lengths[tag] = launch.length(self._profiles[launch.profile])
            try:
                done += os.write(claim, records) // abi.Launch.layout.size
            except BlockingIOError:
                break
            except OSError as error:
                self._check_gone(error)
                if error.errno != errno.ETIME:
                    raise Refused(
                        f"the driver refused a launch ({error.strerror})", _REASON.get(error.errno or 0), entries[done][0]
                    ) from None
                tick, tag, launch = entries[done]
                self._lengths.pop(tag, None)
                self._events.append(Event(tick, 0, "refused", "queue", abi.REASON_LATE, tag << 16 | launch.data))
                done += 1
        return done

    def launch_seconds(self, count: int) -> Fraction:
        """See Backend."""
        board = attached.Attached.of(Path("/sys/class/misc") / Path(self.path).name / "device")
        baud = board.value("baud") if board else None
        return Fraction(10 * 24 * count, baud) if baud else Fraction(0)

    def flush(self) -> None:
        """See Backend."""
        try:
            fcntl.ioctl(self._claimed(), abi.IOC_FLUSH)
        except OSError as error:
            self._check_gone(error)
            raise LitePulseError(f"{self.path}: the queue cannot be flushed ({error.strerror})") from None
        self._lengths.clear()

    def transmit(self, data: bytes) -> int:
        """See Backend. They go through the tty, which stays open until the job ends."""
        with self._open_tty(stay=True) as tty:
            try:
                return os.write(tty, data)
            except BlockingIOError:
                return 0

    def flush_transmit(self) -> None:
        """See Backend."""
        with self._open_tty(stay=True) as tty:
            termios.tcflush(tty, termios.TCOFLUSH)

    def stay_in_touch(self) -> None:
        """See Backend: the driver does that."""

    def arm(self, response: Response) -> None:
        """See Backend."""
        trigger, launch = response.trigger, self._mapped(response.launch)
        flags = (
            (abi.RESPONDER_RISE if trigger.rise else 0)
            | (abi.RESPONDER_FALL if trigger.fall else 0)
            | (abi.RESPONDER_REARM if response.rearm else 0)
            | (abi.RESPONDER_EXCLUSIVE if response.exclusive else 0)
            | (abi.RESPONDER_IGNORE_OWN if response.ignore_own else 0)
        )
        request = abi.Responder(
            TRIGGER[trigger.kind],
            trigger.channel,
            trigger.value,
            trigger.mask if trigger.kind == "byte" else 0,
            flags,
            response.delay,
            response.holdoff,
            launch.width,
            LAUNCH_KIND[launch.kind],
            launch.profile,
            launch.data,
        )
        try:
            self._call(self._claimed(), abi.IOC_RESPONDER, request)
        except OSError as error:
            if trigger.kind == "lin" and error.errno == errno.ERANGE:
                tty = self._identity.nodes.get("tty")
                raise Refused(
                    f"{tty}: another program has changed its settings: a LIN slave needs 8N1, and slower bits", "invalid"
                ) from None
            raise Refused(f"the driver refused the responder ({error.strerror})", _REASON.get(error.errno or 0)) from None
        self._mine.add("responder")
        self._answer_length = launch.length(self._profiles[launch.profile])

    def disarm(self) -> None:
        """See Backend."""
        with self._any_claim(keep=True) as claim:
            try:
                self._call(claim, abi.IOC_RESPONDER, abi.Responder())
            except OSError as error:
                raise LitePulseError(f"{self.path}: the responder cannot be disarmed ({error.strerror})") from None
            self._mine.discard("responder")

    def lin_entries(self) -> int:
        """See Backend."""
        if self._abi < LIN_ABI:
            raise Unsupported(
                f"{self.path}: the kernel's driver is too old for a LIN slave: its interface is version {self._abi}, that takes {LIN_ABI}"
            )
        if not self._identity.lin_entries:
            raise Unsupported(f"{self.path}: {NO_LIN_SLAVE}")
        return self._identity.lin_entries

    def set_lin(self, entries: Sequence[LinEntry]) -> None:
        """See Backend."""
        for entry in entries:
            try:
                self._call(self._claimed(), abi.IOC_LIN_ENTRY, _lin_entry(entry))
            except OSError as error:
                raise Refused(
                    f"the driver refused the answer of identifier {hexadecimal(entry.frame_id)} ({error.strerror})",
                    _REASON.get(error.errno or 0),
                ) from None

    def stop_all(self) -> Stopped:
        """See Backend."""
        before = self.status()
        pulses = None
        with self._any_claim(keep=False) as claim:
            if before.train_running:
                pulses = self._stop_train(claim)
            self.flush()
            self._call(claim, abi.IOC_RESPONDER, abi.Responder())
            end = time.monotonic() + REST_SECONDS
            while (now := self.status()).train_running or now.responder_armed or not now.queue_idle or now.line_busy:
                if time.monotonic() > end:
                    raise LitePulseError(f"{self.path}: it does not come to rest")
                self.wait(0.01)
        names = (("train", before.train_running), ("responder", before.responder_armed), ("launches", not before.queue_idle))
        return Stopped(tuple(name for name, was in names if was), pulses)

    # The end of a job ----------------------------------------------------------------------------------------------

    def stop_recording(self) -> None:
        """See Backend."""
        with contextlib.suppress(OSError):
            self._call(self._reader, abi.IOC_SUBSCRIBE, abi.Subscribe(clock=abi.CLOCK_NONE))
        self._drain()
        self._forget()
        if self._claim is None:
            self._restore_tty()

    def release(self) -> None:
        """See Backend. The end of a claim ends what runs; one beside others keeps theirs."""
        try:
            if self._claim is not None and self._beside:
                if "train" in self._mine:
                    self._stop_train(self._claim)
                if "responder" in self._mine:
                    self.disarm()
                self.flush()
        finally:
            self._end_claim()
            self._restore_tty()

    def leave(self) -> None:
        """See Backend. Settings of the tty stay: what goes on may need them."""
        self.pledge(keep=True)
        self._tty_before = None
        self._end_claim()

    def close(self) -> None:
        """See Backend."""
        if self._device >= 0:
            with contextlib.suppress(LitePulseError):  # the board may be gone
                self.release()
            os.close(self._device)
            self._device = -1
