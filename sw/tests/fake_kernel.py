# SPDX-License-Identifier: BSD-2-Clause
"""A kernel in Python, written from docs/chardev.md: what the driver answers to the ioctls of /dev/litepulseN."""

import errno
import fcntl
import os

from litepulse import regs
from litepulse.backends import driver_abi as abi

IOCTL = fcntl.ioctl


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
