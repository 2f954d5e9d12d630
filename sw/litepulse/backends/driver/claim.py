# SPDX-License-Identifier: BSD-2-Clause
"""The claim of a board: what launches, of one program at a time, and ends what runs."""

import contextlib
import errno
import os
from collections.abc import Generator
from pathlib import Path

from litepulse import compatibility
from litepulse.backends import driver_abi as abi
from litepulse.backends.driver.device import AnyRecord, Device
from litepulse.backends.driver.line_use import LineUse
from litepulse.errors import InUse, LitePulseError
from litepulse.line import Profile, Queued, QueueWait, Relative


def _holder() -> int | None:
    """The process that has a claim, if there is just one that we may see."""
    found: set[int] = set()
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):
            if os.readlink(link) == "anon_inode:litepulse-claim":
                found.add(int(link.parts[2]))
    return found.pop() if len(found) == 1 else None


class Claim:
    """The claim of a device, taken when it is first needed.

    `file`: None while we have none; `mine`: of 'train', 'responder', what this program began and has to end; `beside`: others run that
    were kept, so that the claim keeps what runs, too; `profiles`: as they were set by number; `numbers`: that the profiles of launches
    have in the driver
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self.file: int | None = None
        self.mine: set[str] = set()
        self.beside = False
        self.profiles: dict[int, Profile] = {}
        self.numbers: dict[int, int] = {}
        self.line_use = LineUse()

    def _open(self, keep: bool) -> int:
        device = self.device
        compatibility.require_known(device.path, device.identity.version)
        try:
            wanted = abi.Claim(abi.CLAIM_KEEP if keep else 0, os.O_NONBLOCK | os.O_CLOEXEC, device.fifo)
            return device.call(device.file, abi.IOC_CLAIM, wanted).fd
        except OSError as error:
            if error.errno == errno.EBUSY:
                device.check_lin_device()
                process = _holder()
                who = f"process {process}" if process else "another program"
                raise InUse(f"{device.path}: {who} has it: only one at a time may launch; end that one first", process) from None
            raise LitePulseError(f"{device.path}: cannot be claimed ({error.strerror})") from None

    def take(self) -> int:
        """Its file."""
        if self.file is None:
            self.beside = bool(self.others())
            self.file = self._open(self.beside)
        return self.file

    @contextlib.contextmanager
    def momentary(self, keep: bool) -> Generator[int]:
        """The claim we have, or one for the moment; `keep`: then what runs goes on after it."""
        if self.file is not None:
            yield self.file
            return
        self.file = self._open(keep)
        try:
            yield self.file
        finally:
            self.end()

    def end(self) -> None:
        """Gives it up."""
        if self.file is not None:
            os.close(self.file)
            self.file = None
            self.mine.clear()
            self.profiles.clear()
            self.line_use.waiting.clear()

    @property
    def reader(self) -> int:
        """The file that has the records."""
        return self.device.file if self.file is None else self.file

    def call(self, number: int, record: AnyRecord) -> AnyRecord:
        """An ioctl of the claim, which is taken if it has to be: as Device.call()."""
        return self.device.call(self.take(), number, record)

    def pledge(self, keep: bool) -> None:
        """Whether what runs goes on if this program dies; beside others it does."""
        file = self.take()
        self.device.call(file, abi.IOC_KEEP, abi.Keep(abi.CLAIM_KEEP if keep or self.beside else 0))

    def others(self) -> tuple[str, ...]:
        """'train', 'responder': those that run and are not ours."""
        flags = self.device.status().flags
        running = (("train", flags & abi.STATUS_TRAIN), ("responder", flags & abi.STATUS_RESPONDER))
        others = tuple(name for name, runs in running if runs and name not in self.mine)
        if others:
            self.device.check_lin_device()  # what runs is its own then
        return others

    def length(self, what: Queued) -> int:
        """Ticks on the line of one that is mapped; a wait does not use it."""
        if isinstance(what, Relative):
            what = what.what
        return 0 if isinstance(what, QueueWait) else what.length(self.profiles[what.profile])
