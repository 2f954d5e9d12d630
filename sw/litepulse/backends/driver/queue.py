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
from litepulse.backends.driver.device import WAITS_ABI, reason
from litepulse.backends.driver.recorder import DriverRecorder
from litepulse.backends.interface import NO_WAITS, mapped_entry
from litepulse.errors import LitePulseError, Refused, Unsupported
from litepulse.layout import LAUNCH_KIND
from litepulse.line import Launch, Queued, QueueWait, Relative
from litepulse.streams import Event

_LATER_SECONDS = 3600


def _record(tick: int, tag: int, what: Queued) -> abi.Launch:
    flags = 0
    if isinstance(what, Relative):
        flags, what = abi.LAUNCH_RELATIVE, what.what
    if isinstance(what, QueueWait):
        data = what.channel | what.rise * abi.WAIT_RISE | what.fall * abi.WAIT_FALL | what.stop * abi.WAIT_STOP
        return abi.Launch(tick, 0, tag, abi.LAUNCH_WAIT, 0, data, flags)
    return abi.Launch(tick, what.width, tag, LAUNCH_KIND[what.kind], what.profile, what.data, flags)


class DriverQueue:
    """See LaunchQueue."""

    def __init__(self, claim: Claim, recorder: DriverRecorder) -> None:
        self._claim, self._device, self._recorder = claim, claim.device, recorder
        self._late: int | None = None  # tick of the entry before, if the driver refused it, so that the board does not know it
        self._halted: int | None = None  # tick of a wait with `stop` that the driver refused: nothing behind it may leave

    def check_waits(self) -> None:
        """See LaunchQueue."""
        self._device.require(WAITS_ABI, "waits in the launch queue, so the computer waits")
        if not self._device.identity.sequence:
            raise Unsupported(f"{self._device.path}: {NO_WAITS}")

    def launch(self, entries: Sequence[tuple[int, int, Queued]]) -> int:
        """See LaunchQueue. What is late already is refused like what turns out to be: by an event."""
        if not all(isinstance(what, Launch) for *_, what in entries):
            self.check_waits()
        done, file, waiting = 0, self._claim.take(), self._claim.line_use.waiting
        entries = [(tick, tag, mapped_entry(what, self._claim.numbers)) for tick, tag, what in entries]
        while done < len(entries):
            tick, tag, what = entries[done]
            if self._halted is not None:
                self._refuse(self._halted, entries[done], abi.REASON_ORDER)
                done += 1
                continue
            if self._late is not None and isinstance(what, Relative):  # it counts from an entry that the board does not have
                tick, what = self._late + tick, what.what
                entries[done] = tick, tag, what
            for _, each, entry in entries[done:]:
                waiting[each] = self._claim.length(entry)
            try:
                done += os.write(file, b"".join(_record(*entry).pack() for entry in entries[done:])) // abi.Launch.layout.size
                self._late = None
            except BlockingIOError:
                break
            except OSError as error:
                self._device.check_gone(error)
                if error.errno != errno.ETIME:
                    raise Refused(f"the driver refused a launch ({error.strerror})", reason(error), tick) from None
                self._late = tick
                if isinstance(what, QueueWait) and what.stop:
                    self._halted = tick
                self._refuse(tick, entries[done], abi.REASON_LATE)
                done += 1
        return done

    def _refuse(self, tick: int, entry: tuple[int, int, Queued], why: int) -> None:
        """As the board does it, by an event."""
        at, tag, what = entry
        self._claim.line_use.waiting.pop(tag, None)
        what = what.what if isinstance(what, Relative) else what
        self._recorder.events.append(Event(tick, 0, "refused", "queue", why, what.entry(at, tag)[3]))

    def seconds(self, count: int) -> Fraction:
        baud = self._device.attached_value("baud")
        return Fraction(10 * 24 * count, baud) if baud else Fraction(0)

    def rehearse(self, count: int, launch: Launch) -> int:
        """See LaunchQueue: they are to leave much later, and are taken back."""
        later = self._device.now() + math.ceil(_LATER_SECONDS * self._device.identity.timescale.tick_hz)
        self.launch([(later, 0, launch)] * count)
        self.flush()
        return 0

    def flush(self) -> None:
        try:
            fcntl.ioctl(self._claim.take(), abi.IOC_FLUSH)
        except OSError as error:
            self._device.check_gone(error)
            raise LitePulseError(f"{self._device.path}: the queue cannot be flushed ({error.strerror})") from None
        self._claim.line_use.waiting.clear()
        self._late = self._halted = None
