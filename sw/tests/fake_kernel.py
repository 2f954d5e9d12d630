# SPDX-License-Identifier: BSD-2-Clause
"""A kernel in Python, written from docs/chardev.md: what the driver answers to the ioctls of /dev/litepulseN."""

import errno
import fcntl
import os
from collections import deque

from litepulse import regs
from litepulse.backends import driver_abi as abi
from litepulse.backends.driver.recorder import DriverRecorder

from .fake_board import CONFIG

IOCTL, READ, WRITE, CLOSE = fcntl.ioctl, os.read, os.write, os.close
OUTCOMES = 1 << abi.KIND_TX | 1 << abi.KIND_REFUSED


class Kernel:
    """The driver's side: one claim, a train and a responder that may outlive it."""

    def __init__(self):
        self.abi, self.flags = 3, 0
        self.train = self.responder = None
        self.profiles, self.claim, self.keep, self.calls = {}, None, 0, []
        self.ports = []  # changes of the marker port
        self.kept = {}  # {what: line profile} of what an earlier claim has left

    def ioctl(self, file, number, data=0, mutate=False):
        if number >> 8 & 0xFF != abi.IOC_MAGIC:
            return IOCTL(file, number, data, mutate) if mutate else IOCTL(file, number, data)
        self.calls.append(number)
        answer = self.answer(number, data)
        if answer is not None:
            data[:] = answer.pack()
        return 0

    def answer(self, number, data):
        if number == abi.IOC_INFO:
            return abi.Info(self.abi, regs.VERSION_MINOR, 48_000_000, 1, self.flags, 1, 4, 256, 512, 512, 64, 7, -1, 0, 64)
        if number == abi.IOC_STATUS:
            return abi.Status((self.train is not None) * abi.STATUS_TRAIN | (self.responder is not None) * abi.STATUS_RESPONDER, 64)
        if number == abi.IOC_TRAIN:
            if self.train is None:
                raise OSError(61, "No data available")
            return self.train
        if number == abi.IOC_CLAIM:
            self.claim, self.keep = os.open("/dev/null", os.O_RDWR), abi.Claim.unpack(data).flags & abi.CLAIM_KEEP
            running = (("train", self.train), ("responder", self.responder))
            self.kept = {what: one.profile for what, one in running if one}
            return abi.Claim(fd=self.claim)
        if number == abi.IOC_KEEP:
            self.keep = abi.Keep.unpack(data).flags
        elif number == abi.IOC_PROFILE:
            profile = abi.Profile.unpack(data)
            if profile.index in self.kept.values() and profile != self.profiles[profile.index]:
                raise OSError(errno.EBUSY, "Device or resource busy")
            self.profiles[profile.index] = profile
        elif number == abi.IOC_PORT:
            if not self.flags & abi.INFO_PORT:
                raise OSError(errno.EOPNOTSUPP, "Operation not supported")
            self.ports.append(abi.Port.unpack(data))
        elif number == abi.IOC_TRAIN_START:
            if abi.Train.unpack(data).profile not in self.profiles:
                raise OSError(errno.ENOENT, "No such file or directory")
            self.train = abi.Train.unpack(data)
        elif number == abi.IOC_TRAIN_STOP:
            self.train = None
            self.kept.pop("train", None)
            return abi.TrainStop(5)
        elif number == abi.IOC_RESPONDER:
            responder = abi.Responder.unpack(data)
            self.responder = responder if responder.trigger else None
            self.kept.pop("responder", None)
        return None

    def end(self):
        """The claim was closed."""
        if not self.keep:
            self.train = self.responder = None
        self.claim = None


def failed(number):
    return OSError(number, os.strerror(number))


def word(register, **values):
    """The value of a configuration register, from its fields."""
    places = {field.name: field.offset for field in CONFIG[register].fields}
    return sum(value << places[name] for name, value in values.items())


class BoardKernel(Kernel):
    """The driver of a board in Python: launches, waits and events. Like behind a cable it takes the board's records once in a while.

    version: of its interface; room: launches that find room, whatever IOC_STATUS says; errors: what write() has refused, as errno
    """

    POLL, STEP = 48_000, 2000  # ticks: between two looks at the board, and of a call

    def __init__(self, board, version=abi.ABI):
        super().__init__()
        self.board, self.abi, self.device = board, version, None
        self.flags = abi.INFO_SEQUENCE if board.has_sequence and version >= 9 else 0
        self.flags |= abi.INFO_PORT if board.has_port and version >= 7 else 0
        self.polled, self.events, self.wanted = board.tick, deque(), abi.Subscribe(OUTCOMES)
        self.last = 0  # the tick of the entry before; 0: it is not known
        self.room, self.errors, self.taken_back = 64, [], 0
        board.configure(CONFIG["event_mask"].index, (1 << 32) - 1)

    def install(self, monkeypatch):
        """For the rest of a test."""
        monkeypatch.setattr(fcntl, "ioctl", self.ioctl)
        for name, call in (("read", self.read), ("write", self.write), ("close", self.close)):
            monkeypatch.setattr(os, name, call)
        monkeypatch.setattr(DriverRecorder, "wait", lambda recorder, seconds: self.wait(min(seconds, recorder.patience)))

    # Time

    def advance(self, ticks):
        end = self.board.tick + ticks
        while self.polled + self.POLL <= end:
            self.board.advance(max(0, self.polled + self.POLL - self.board.tick))
            self.poll()
        self.board.advance(max(0, end - self.board.tick))

    def wait(self, seconds):
        """As poll() of the file does it."""
        end = self.board.tick + max(1, round(seconds * 48_000_000))
        while not self.events and self.board.tick < end:
            self.advance(min(self.POLL, end - self.board.tick))

    def poll(self):
        """Takes the records of the board."""
        self.polled = self.board.tick
        for low, high, info, data in self.board.events.records:
            kind, source, count, flags = info >> 12 & 15, info >> 8 & 15, 0, info & 0xFF
            if kind == 4:
                kind, count, data, flags = abi.KIND_LOST, data, 0, abi.FLAG_HARDWARE
            elif not self.wants(kind, source):
                continue
            self.events.append(abi.Event(low | high << 32, 0, info >> 16, count, data, 0, 0, flags, kind, source))
        self.board.events.ack(len(self.board.events.records))
        self.board.report_loss()

    def wants(self, kind, source):
        of_source = not self.wanted.sources or self.wanted.sources >> source & 1
        return self.wanted.kinds >> kind & 1 and (of_source or kind not in (abi.KIND_TX, abi.KIND_REFUSED))

    # Calls

    def answer(self, number, data):
        self.advance(self.STEP)
        board = self.board
        if number == abi.IOC_INFO:
            info = super().answer(number, data)
            info.core, info.tick_num, info.samples = board.version, int(board.clock * board.samples), board.samples
            return info
        if number == abi.IOC_TIME:
            return abi.Time(board.tick)
        if number == abi.IOC_STATUS:
            return abi.Status(abi.STATUS_QUEUE if board.queue else 0, 64 - len(board.queue), board.levels & 15, board.levels >> 4)
        if number == abi.IOC_FLUSH:
            self.flush()
            return None
        if number == abi.IOC_SUBSCRIBE:
            self.poll()
            self.wanted = want = abi.Subscribe.unpack(data)
            board.configure(CONFIG["capture_edges"].index, word("capture_edges", rise=want.rise, fall=want.fall))
            return None
        if number == abi.IOC_PROFILE:
            self.set_profile(abi.Profile.unpack(data))
        if number == abi.IOC_PORT and self.flags & abi.INFO_PORT and abi.Port.unpack(data).flags & abi.PORT_WIDTH:
            board.configure(CONFIG["port"].index, abi.Port.unpack(data).width)
        return super().answer(number, data)

    def set_profile(self, profile):
        invert, high = bool(profile.flags & abi.PROFILE_INVERT), profile.period >> 32
        to_port = bool(profile.flags & abi.PROFILE_TO_PORT)
        frame = {"data_bits": profile.data_bits - 5, "parity": profile.parity, "stop": profile.stop, "to_port": to_port}
        self.board.configure(2 * profile.index, word("profile0_format", period_hi=high, invert=invert, **frame))
        self.board.configure(2 * profile.index + 1, profile.period & 0xFFFFFFFF)

    def flush(self):
        self.taken_back += len(self.board.queue)
        self.last = 0
        self.board.configure(CONFIG["command"].index, word("command", flush_queue=1))

    def ioctl(self, file, number, data=0, mutate=False):
        if number == abi.IOC_INFO:
            self.device = file
        return super().ioctl(file, number, data, mutate)

    def read(self, file, size):
        if file not in (self.claim, self.device):
            return READ(file, size)
        self.advance(self.STEP)
        records = [self.events.popleft() for _ in range(min(len(self.events), size // abi.Event.layout.size))]
        if not records:
            raise failed(errno.EAGAIN)
        return b"".join(record.pack() for record in records)

    def write(self, file, data):
        """Launches: what is wrong with the first is the error, what is wrong with another ends the call."""
        if file != self.claim:
            return WRITE(file, data)
        size, taken, error = abi.Launch.layout.size, 0, 0
        if not data or len(data) % size:
            error = errno.EINVAL
        while not error and taken < len(data) // size:
            error = self.take(data[taken * size : (taken + 1) * size])
            taken += not error
        self.advance(self.STEP)
        if not taken:
            self.errors.append(error)
            raise failed(error)
        return taken * size

    def take(self, record):
        """One launch: 0, or what is wrong with it."""
        one, board = abi.Launch.unpack(record), self.board
        is_wait, relative = one.kind == abi.LAUNCH_WAIT, one.flags & abi.LAUNCH_RELATIVE
        reserved, kinds = (18, abi.LAUNCH_WAIT) if self.abi >= 9 else (17, abi.LAUNCH_PULSE)
        if any(record[reserved:]) or one.flags & ~abi.LAUNCH_RELATIVE or one.kind > kinds:
            return errno.EINVAL
        if (is_wait or relative) and not self.flags & abi.INFO_SEQUENCE:
            return errno.EOPNOTSUPP
        if is_wait and (one.width or one.profile or one.data & 15 > 4):
            return errno.EINVAL
        if (
            one.profile > 3
            or (one.kind == abi.LAUNCH_PULSE and one.data)
            or bool(one.width) != (one.kind == abi.LAUNCH_PULSE)
            or (one.kind == abi.LAUNCH_BREAK and not one.data)
        ):
            return errno.EINVAL
        if not relative and one.tick < self.last:
            return errno.EINVAL
        if not relative and one.tick <= board.tick:
            return errno.ETIME
        if len(board.queue) >= self.room:
            return errno.EAGAIN
        last = one.data | one.profile << 8 | one.kind << 10 | bool(relative) << 12 | one.tag << 16
        for part, value in enumerate((one.tick & 0xFFFFFFFF, one.tick >> 32, one.width, last)):
            board.write_word(board.window_base + regs.REGIONS["LAUNCH"][0] + 4 * part, value)
        self.last = 0 if is_wait or relative else one.tick
        return 0

    def close(self, file):
        if file == self.claim:
            if not self.keep:
                self.flush()
            self.end()
        CLOSE(file)
