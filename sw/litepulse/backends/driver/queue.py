# SPDX-License-Identifier: BSD-2-Clause
"""Timed launches by the driver: whole records, written to the claim."""

import errno
import fcntl
import math
import os
from collections.abc import Sequence
from fractions import Fraction

from litepulse.backends import driver_abi as abi
from litepulse.backends.driver.claim import Claim
from litepulse.backends.driver.device import reason
from litepulse.backends.driver.recorder import DriverRecorder
from litepulse.backends.interface import mapped
from litepulse.errors import LitePulseError, Refused, Unsupported
from litepulse.layout import LAUNCH_KIND
from litepulse.line import Launch, Queued
from litepulse.streams import Event

_LATER_SECONDS = 3600


class DriverQueue:
    """See LaunchQueue."""

    def __init__(self, claim: Claim, recorder: DriverRecorder) -> None:
        self._claim, self._device, self._recorder = claim, claim.device, recorder

    def launch(self, entries: Sequence[tuple[int, int, Queued]]) -> int:
        """See LaunchQueue. What is late already is refused like what turns out to be: by an event."""
        done, file, waiting = 0, self._claim.take(), self._claim.line_use.waiting
        launches = [(tick, tag, what) for tick, tag, what in entries if isinstance(what, Launch)]
        if len(launches) < len(entries):
            raise Unsupported(f"{self._device.path}: the driver queues launches, no waits")
        entries = [(tick, tag, mapped(launch, self._claim.launch_profile)) for tick, tag, launch in launches]
        while done < len(entries):
            records = b"".join(
                abi.Launch(tick, launch.width, tag, LAUNCH_KIND[launch.kind], launch.profile, launch.data).pack()
                for tick, tag, launch in entries[done:]
            )
            for _, tag, launch in entries[done:]:
                waiting[tag] = self._claim.length(launch)
            try:
                done += os.write(file, records) // abi.Launch.layout.size
            except BlockingIOError:
                break
            except OSError as error:
                self._device.check_gone(error)
                tick, tag, launch = entries[done]
                if error.errno != errno.ETIME:
                    raise Refused(f"the driver refused a launch ({error.strerror})", reason(error), tick) from None
                waiting.pop(tag, None)
                self._recorder.events.append(Event(tick, 0, "refused", "queue", abi.REASON_LATE, tag << 16 | launch.data))
                done += 1
        return done

    def seconds(self, count: int) -> Fraction:
        baud = self._device.attached_value("baud")
        return Fraction(10 * 24 * count, baud) if baud else Fraction(0)

    def rehearse(self, count: int) -> int:
        """See LaunchQueue: they are to leave much later, and are taken back."""
        later = self._device.now() + math.ceil(_LATER_SECONDS * self._device.identity.timescale.tick_hz)
        self.launch([(later, 0, Launch("pulse", width=1))] * count)
        self.flush()
        return 0

    def flush(self) -> None:
        try:
            fcntl.ioctl(self._claim.take(), abi.IOC_FLUSH)
        except OSError as error:
            self._device.check_gone(error)
            raise LitePulseError(f"{self._device.path}: the queue cannot be flushed ({error.strerror})") from None
        self._claim.line_use.waiting.clear()
