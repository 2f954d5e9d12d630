# SPDX-License-Identifier: BSD-2-Clause
"""A board of the driver as a Backend: its parts, put together."""

import contextlib

from litepulse.backends import driver_abi as abi
from litepulse.backends import stopping
from litepulse.backends.driver.claim import Claim
from litepulse.backends.driver.device import Device
from litepulse.backends.driver.line import DriverLine
from litepulse.backends.driver.queue import DriverQueue
from litepulse.backends.driver.recorder import DriverRecorder
from litepulse.backends.driver.responder import DriverResponder
from litepulse.backends.driver.train import DriverTrain
from litepulse.backends.driver.tty import Tty
from litepulse.backends.interface import CLOCKS, Batch, ClockReading, Identity, Status, Stopped, pin_levels
from litepulse.backends.wallclock import WallClock
from litepulse.errors import BadInput, LitePulseError, Unsupported


class DriverBackend:
    """See Backend."""

    def __init__(self, path: str, clock: str | None = None) -> None:
        """clock: of CLOCKS, in which events have a time, too."""
        if clock is not None and clock not in CLOCKS:
            raise BadInput(f"clock: '{clock}' is not {', '.join(CLOCKS)}")
        self.clock = clock
        self.device = Device(path)
        if clock is not None and clock not in self.identity.clocks:
            self.device.close()
            raise Unsupported(f"{path}: it has no PTP clock: this kernel or driver was built without")
        self.wall_clock: WallClock | None = None  # the driver itself gives records their times
        self.claim, self.tty = Claim(self.device), Tty(self.device)
        self.recorder = DriverRecorder(self.claim, self.tty, clock)
        self.responder = DriverResponder(self.claim)
        self.line = DriverLine(self.claim, self.tty, self.responder)
        self.train = DriverTrain(self.claim, self.recorder)
        self.queue = DriverQueue(self.claim, self.recorder)

    @property
    def identity(self) -> Identity:
        return self.device.identity

    # What is going on

    def status(self) -> Status:
        """See Backend. The driver does not tell whether the line is busy: that follows from what was launched."""
        status, until = self.device.status(), self.claim.line_use.until
        busy = until > self.device.seen and until > self.device.now()
        return Status(
            bool(status.flags & abi.STATUS_TRAIN),
            bool(status.flags & abi.STATUS_CHANGE),
            bool(status.flags & abi.STATUS_RESPONDER),
            not status.flags & abi.STATUS_QUEUE,
            busy,
            status.launch_free,
            pin_levels(status.inputs | status.rx << self.identity.inputs, self.identity),
        )

    def now(self) -> int:
        return self.device.now()

    def read_clocks(self) -> ClockReading:
        return self.device.read_clocks()

    def look(self, as_columns: bool = False) -> tuple[Status, Batch]:
        return self.status(), self.recorder.read(as_columns)

    # For how long

    def kept(self) -> tuple[str, ...]:
        """See Backend. The driver does not tell what a responder answers."""
        return tuple(f"a {name}" for name in self.claim.others())

    def pledge(self, keep: bool) -> None:
        self.claim.pledge(keep)

    def stay_in_touch(self) -> None:
        """See Backend: the driver does that."""

    # The end of a job

    def stop_all(self) -> Stopped:
        before = self.status()
        with self.claim.momentary(keep=False):
            pulses = self.train.stop() if before.train_running else None
            self.queue.flush()
            self.responder.disarm()
            stopping.come_to_rest(self)
        return Stopped(before.running, pulses)

    def release(self) -> None:
        """See Backend. The end of a claim ends what runs; one beside others keeps theirs."""
        try:
            if self.claim.file is not None and self.claim.beside:
                if "train" in self.claim.mine:
                    self.train.stop()
                if "responder" in self.claim.mine:
                    self.responder.disarm()
                self.queue.flush()
        finally:
            self.claim.end()
            self.tty.restore()

    def leave(self) -> None:
        """See Backend. Settings of the tty stay: what goes on may need them."""
        self.claim.pledge(keep=True)
        self.tty.keep_settings()
        self.claim.end()

    def close(self) -> None:
        if self.device.file >= 0:
            with contextlib.suppress(LitePulseError):  # the board may be gone
                self.release()
            self.device.close()
