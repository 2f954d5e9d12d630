# SPDX-License-Identifier: BSD-2-Clause
"""The train of a board by the driver, and changes of it."""

import contextlib
import errno
import math
import time
from dataclasses import dataclass

from litepulse.backends import driver_abi as abi
from litepulse.backends.driver.claim import Claim
from litepulse.backends.driver.device import FOLLOW_ABI, WIDTH_ABI, AnyRecord, reason
from litepulse.backends.driver.recorder import DriverRecorder
from litepulse.backends.interface import Rhythm, TrainChange, TrainSettings, mapped
from litepulse.errors import LitePulseError, Refused
from litepulse.layout import LAUNCH_KIND, LAUNCH_KIND_NAME
from litepulse.line import Launch
from litepulse.streams import Event, newest_pulse
from litepulse.units import Period

CHANGE_SECONDS = 5.0  # for which a change of a train is waited for


@dataclass(eq=False)
class _Request:
    """A requested change (period, step), and the record of what the core decided."""

    change: tuple[Period, int]
    decision: Event | None = None


class DriverTrain:
    """See TrainControl."""

    def __init__(self, claim: Claim, recorder: DriverRecorder) -> None:
        self._claim, self._device, self._recorder = claim, claim.device, recorder
        self._change: tuple[Period, int] | None = None  # that the core took last
        self._undecided: list[_Request] = []  # the oldest one may wait for its pulse
        self._known = 0  # events in the recorder that are older than the request
        recorder.listeners.append(self._note)

    def start(self, launch: Launch, period: Period, count: int = 0, start: int | None = None) -> None:
        launch = mapped(launch, self._claim.numbers)
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
        self._begin(launch, abi.IOC_TRAIN_START, request)

    def _begin(self, launch: Launch, number: int, request: AnyRecord) -> AnyRecord:
        """Requests a train, which is ours from now on; the driver's answer. Refused."""
        try:
            answer = self._claim.call(number, request)
        except OSError as error:
            raise Refused("the core refused the train", reason(error) or error.strerror) from None
        self._undecided.clear()
        self._claim.mine.add("train")
        self._claim.line_use.lengths["train"] = self._claim.length(launch)
        return answer

    @property
    def can_follow(self) -> bool:
        return self._device.abi >= FOLLOW_ABI and "phc" in self._device.identity.clocks

    def follow(self, launch: Launch, rhythm: Rhythm, count: int = 0) -> tuple[int, int]:
        launch = mapped(launch, self._claim.numbers)
        request = abi.TrainFollow(
            rhythm.origin, rhythm.span, rhythm.pulses, count, launch.width, LAUNCH_KIND[launch.kind], launch.profile, launch.data
        )
        answer = self._begin(launch, abi.IOC_TRAIN_FOLLOW, request)
        return answer.start, answer.skipped

    def stop(self) -> int:
        try:
            return self._claim.call(abi.IOC_TRAIN_STOP, abi.TrainStop()).pulses
        except OSError as error:
            raise LitePulseError(f"{self._device.path}: the train cannot be stopped ({error.strerror})") from None

    def settings(self) -> TrainSettings | None:
        """See TrainControl. The driver knows what was requested since the board was attached."""
        try:
            found = self._device.call(self._device.file, abi.IOC_TRAIN, abi.Train())
        except OSError:
            return None
        kind = LAUNCH_KIND_NAME.get(found.kind)
        launch = Launch(kind, found.data, found.profile, found.width) if kind else None
        return TrainSettings(Period(found.period, found.num, found.den), found.count, launch, None)

    def last_change(self) -> tuple[Period, int] | None:
        """See TrainControl. Only the holder of the claim changes the train."""
        return self._change

    def changing(self) -> contextlib.AbstractContextManager[object]:
        return self._claim.momentary(keep=True)

    def _note(self, event: Event) -> None:
        """What the core decides about a change, whichever thread takes the record. While one waits for its pulse, others are refused."""
        if event.source == "train_change" and self._undecided:
            request = self._undecided.pop(-1 if event.kind == "refused" else 0)
            request.decision = event
            if event.kind != "refused":
                self._change = request.change

    def request_change(self, period: Period, step: int, at_pulse: int, width: int | None = None) -> TrainChange:
        """See TrainControl. The records stay for the program that follows the train."""
        if width is not None:
            self._device.require(WIDTH_ABI, "a new width of a running train")
        self._recorder.drain()
        self._known = len(self._recorder.events)
        request = _Request((period, step))
        self._undecided.append(request)
        try:
            flags = 0 if width is None else abi.ADJUST_WIDTH
            adjust = abi.TrainAdjust(period.whole, period.num, period.den & 0xFFFFFFFF, at_pulse, step, flags, width or 0)
            self._claim.call(abi.IOC_TRAIN_ADJUST, adjust)
        except OSError as error:
            self._undecided.remove(request)
            why = "fast" if error.errno == errno.EOPNOTSUPP else reason(error) or str(error.strerror)
            raise Refused("the core refused the change", why) from None
        limit = self._device.now() + 2 * (math.ceil(period.ticks) + abs(step)) + self._device.lag
        end = time.monotonic() + CHANGE_SECONDS
        while True:
            self._recorder.drain()
            if request.decision is not None:
                if request.decision.kind == "refused":
                    raise Refused("the core refused the change", request.decision.reason)
                return TrainChange(request.decision.data)
            if time.monotonic() > end and self._device.now() > limit:
                pending = bool(self._device.status().flags & abi.STATUS_CHANGE)
                if not pending:  # it was decided, and the record was lost
                    self._undecided.remove(request)
                    self._change = request.change
                return TrainChange(None, pending)
            self._recorder.wait(0.02)

    def newest_pulse(self) -> tuple[int, int] | None:
        end = time.monotonic() + CHANGE_SECONDS
        while time.monotonic() < end:
            self._recorder.drain()
            pulse = newest_pulse(self._recorder.events[self._known :])
            if pulse:
                return pulse.data, self._device.now() - pulse.tick
            self._recorder.wait(0.02)
        return None
