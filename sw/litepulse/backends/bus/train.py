# SPDX-License-Identifier: BSD-2-Clause
"""The train of a core, and changes of one that another process may follow."""

import contextlib
import math
import time
from fractions import Fraction

from litepulse.backends.bus.recorder import BusRecorder
from litepulse.backends.bus.registers import Registers
from litepulse.backends.bus.session import Session
from litepulse.backends.interface import Rhythm, TrainChange, TrainSettings, mapped
from litepulse.errors import Refused, Unsupported
from litepulse.layout import CONFIG, MASK32, TRAIN_COMMAND, pack, unpack
from litepulse.line import Launch
from litepulse.measurement import period_from_words
from litepulse.streams import Event, newest_pulse
from litepulse.units import Period

_UNKNOWN = "reason 0"  # the record that had it was lost
# within these it is recorded whether a change came in time, if that can be known at once
_DECISION_CYCLES = 1000


class BusTrain:
    """See TrainControl."""

    def __init__(self, registers: Registers, session: Session, recorder: BusRecorder) -> None:
        self._registers, self._session, self._recorder = registers, session, recorder
        self._decision_ticks = _DECISION_CYCLES * registers.identity.samples_per_cycle

    def start(self, launch: Launch, period: Period, count: int = 0, start: int | None = None) -> None:
        if not self._registers.read_status().train_running:  # else the core refuses ours
            self._session.mine.add("train")
        launch, tick = mapped(launch, self._session.numbers), start or 0
        self._registers.configure(
            ("train_start_lo", tick & MASK32),
            ("train_start_hi", tick >> 32),
            ("train_count", count),
            ("train_width", launch.width),
            ("train_launch", launch.word()),
            ("train_period", period.whole),
            ("train_num", period.num),
            ("train_den", period.den & MASK32),
            ("train_command", pack(CONFIG["train_command"], command=TRAIN_COMMAND["start"], asap=int(start is None))),
        )

    def stop(self) -> None:
        self._registers.write_fields("train_command", command=TRAIN_COMMAND["stop"])

    @property
    def can_follow(self) -> bool:
        return False

    def follow(self, launch: Launch, rhythm: Rhythm, count: int = 0) -> tuple[int, int]:
        raise Unsupported("only the kernel's driver has a PTP clock of a board")

    def settings(self) -> TrainSettings | None:
        words = self._registers.config_words("train_count", "train_den")
        launch = Launch.from_words(words["train_launch"], words["train_width"])
        profile = self._registers.profile(launch.profile) if launch else None
        return TrainSettings(period_from_words(words), words["train_count"], launch, profile)

    # Changes

    def _change_words(self) -> dict[str, int]:
        return self._registers.config_words("train_period", "train_step")

    def last_change(self) -> tuple[Period, int] | None:
        """See TrainControl: as it was written last."""
        words = self._change_words()
        return period_from_words(words), unpack(CONFIG["train_step"], words["train_step"])["step"]

    def changing(self) -> contextlib.AbstractContextManager[object]:
        return self._recorder.also("control")

    def request_change(self, period: Period, step: int, at_pulse: int, width: int | None = None) -> TrainChange:
        old_words = self._change_words()
        old_width = {} if width is None else self._registers.config_words("train_width", "train_width")
        event, pending = self._change_once(period_from_words(old_words), period, at_pulse, step, width)
        if event is not None and event.kind == "refused":
            self._registers.configure(*old_width.items(), *old_words.items())
            raise Refused("the core refused the change", None if event.reason == _UNKNOWN else event.reason)
        return TrainChange(event.data if event is not None else at_pulse or None, pending)

    def adjust(self, period: Period, at_pulse: int = 0, step: int = 0, width: int | None = None) -> None:
        """Asks once for a change of period and phase, and of the width unless it is None, from pulse `at_pulse` on (0: as early as
        possible)."""
        self._registers.configure(
            *(() if width is None else (("train_width", width),)),
            ("train_period", period.whole),
            ("train_num", period.num),
            ("train_den", period.den & MASK32),
            ("train_at_pulse", at_pulse),
            ("train_step", pack(CONFIG["train_step"], step=step)),
            ("train_command", pack(CONFIG["train_command"], command=TRAIN_COMMAND["adjust"])),
        )

    def _change_once(self, old: Period, period: Period, at_pulse: int, step: int, width: int | None) -> tuple[Event | None, bool]:
        """Asks for a change once; (Event, still pending) as _await_change()."""
        # a program that follows the train would take the outcome's record
        with self._registers.bus.hold():
            position = self._recorder.end()
            try:
                self.adjust(period, at_pulse, step, width)
            except Refused:
                event = self._decision(position)
                if event is None or event.kind != "refused":  # there was no room for the record
                    return Event(0, 0, "refused", "train_change", 0, at_pulse), False
                return event, False
            event = self._decision(position)
        return (event, False) if event else self._await_change(position, max(old.ticks, period.ticks) + abs(step))

    def _decision(self, position: int) -> Event | None:
        """What the core decided at once about a change: the newest event about it as soon as its record must have come."""
        limit = self._registers.now() + self._decision_ticks
        while True:
            over = self._registers.now() > limit
            event = self._recorder.newest_change(position)
            if event is not None or over:
                return event

    def _await_change(self, position: int, ticks: int | Fraction) -> tuple[Event | None, bool]:
        """(Event, still pending): the outcome of a change that should come within `ticks`. A
        program that follows the train may take the record before we see it, so the end of two
        periods in which nothing was pending counts, too. A simulated board may need long for
        these."""
        longest = math.ceil(5 * self._registers.timescale.tick_hz)
        limit = self._registers.now() + min(2 * math.ceil(ticks) + self._decision_ticks, longest)
        end, seen = time.monotonic() + 5, False
        while True:
            over = self._registers.now() > limit
            pending = self._registers.read_status().train_change_pending
            event = self._recorder.newest_change(position)
            if event is not None or (not pending and (seen or over)):
                return event, False
            if over and time.monotonic() > end:
                return None, True
            seen = seen or bool(pending)
            self._recorder.wait(0.005)

    def newest_pulse(self) -> tuple[int, int] | None:
        end = time.monotonic() + 5
        # A program that follows a fast train would take its records, so it waits. No program reads
        # those of a slow one that often.
        fast = period_from_words(self._change_words()).ticks < self._registers.timescale.tick_hz / 10
        with self._recorder.also("tx_train"), self._registers.bus.hold() if fast else contextlib.nullcontext():
            position = self._recorder.end()
            while time.monotonic() < end:
                pulse = newest_pulse(self._recorder.since(position))
                if pulse:
                    return pulse.data, self._registers.now() - pulse.tick
                self._recorder.wait(0.002)
        return None
