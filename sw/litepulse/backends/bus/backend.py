# SPDX-License-Identifier: BSD-2-Clause
"""A core behind a bus as a Backend: its parts, put together."""

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from litepulse.backends import stopping
from litepulse.backends.bus.identification import Core, identify
from litepulse.backends.bus.line import BusLine
from litepulse.backends.bus.queue import BusQueue
from litepulse.backends.bus.recorder import BusRecorder
from litepulse.backends.bus.registers import Bus, Registers, Words
from litepulse.backends.bus.responder import BusResponder
from litepulse.backends.bus.session import Session
from litepulse.backends.bus.train import BusTrain
from litepulse.backends.interface import SIM, Batch, ClockReading, Status, Stopped, pin_levels
from litepulse.backends.places import Places
from litepulse.backends.wallclock import WallClock
from litepulse.errors import LitePulseError

_TOUCH_SECONDS = 1.0  # much less than WATCHDOG_SECONDS


class BusBackend:
    """A core with its session open, and all that has to be closed after it. See Backend."""

    def __init__(
        self,
        bus: Bus,
        backend: str,
        name: str,
        simulated: bool = False,
        closers: Sequence[Callable[[], None]] = (),
        sleep: Callable[[float], None] = time.sleep,
        places: Places | None = None,
        identified: Callable[[Core], None] = lambda core: None,
        clock: str | None = None,
        chip: str | None = None,
    ) -> None:
        """closers: called in this order; sleep: how time passes between two looks; places: where the core lies, None: where one is
        found; identified: called before anything is written to the board; clock: of HOST_CLOCKS, in which records have a time, too;
        chip: see Identity.
        """
        self.clock = clock
        self._closers = list(closers)
        self._closing = threading.Event()
        try:
            core = identify(bus, backend, name, simulated, places)
            identified(core)
            if (use_frames := getattr(bus, "use_frames", None)) is not None:
                use_frames(core.bridge)
            self.registers = Registers(bus, core)
            self.session = Session(self.registers)
            self.session.open()
            self.identity = replace(self.registers.identity, chip=chip)
            self.wall_clock = None if clock is None else WallClock(clock, self.identity.timescale.tick_hz, self.identity.simulated)
        except BaseException:
            with contextlib.suppress(LitePulseError):
                self.close()
            raise
        self.recorder = BusRecorder(self.registers, self.session, sleep, self.wall_clock)
        self.responder = BusResponder(self.registers, self.session)
        self.line = BusLine(self.registers, self.session, self.responder)
        self.train = BusTrain(self.registers, self.session, self.recorder)
        self.queue = BusQueue(self.registers, self.session)

    # What is going on

    def status(self) -> Status:
        return self._status_of(self.registers.read_status())

    def _status_of(self, words: Words) -> Status:
        return Status(
            bool(words.train_running),
            bool(words.train_change_pending),
            bool(words.responder_armed),
            bool(words.queue_idle),
            bool(words.line_busy),
            words.launch_free,
            pin_levels(words.levels, self.identity),
        )

    def now(self) -> int:
        return self.registers.now()

    def read_clocks(self) -> ClockReading:
        return self.registers.read_clocks()

    def look(self, as_columns: bool = False) -> tuple[Status, Batch]:
        words, batch = self.recorder.look(as_columns)
        return self._status_of(words), batch

    # For how long

    def kept(self) -> tuple[str, ...]:
        others = self.session.others(self.registers.read_status())
        return tuple(one.text for one in self.session.relied() if one.what in others) if others else ()

    def pledge(self, keep: bool) -> None:
        self.registers.check_output()
        self.session.pledge(keep)

    def stay_in_touch(self) -> None:
        """See Backend: the simulated SoC of our own stands still meanwhile."""
        if self.identity.backend != SIM:
            threading.Thread(target=self._touch, name=f"litepulse {self.identity.name}", daemon=True).start()

    def _touch(self) -> None:
        with contextlib.suppress(LitePulseError):
            while not self._closing.wait(_TOUCH_SECONDS):
                self.registers.now()

    # The end of a job

    def stop_all(self) -> Stopped:
        before = self.status()
        position = self.recorder.end()
        self.session.quiet()
        stopping.come_to_rest(self)
        self.session.mine.clear()
        self.session.pledge(watched=False)
        event = self.recorder.newest_change(position)
        return Stopped(before.running, event.data if event is not None and event.stop and before.train_running else None)

    def release(self) -> None:
        mine = set(self.session.mine)
        others = self.session.others(self.registers.read_status())
        if "train" in mine:
            self.train.stop()
        if "responder" in mine:
            self.responder.disarm()
        if mine & {"launches", "bytes"}:
            self.registers.write_fields("command", flush_queue=int("launches" in mine), flush_tty=int("bytes" in mine))
        self.session.mine.clear()
        if not others:  # else the watchdog stays as it is: that is theirs
            self.session.pledge(watched=False)
        self.recorder.stop()

    def leave(self) -> None:
        self.recorder.stop()
        self.session.pledge(keep=True)
        self.session.mine.clear()

    def close(self) -> None:
        """See Backend. What runs is not touched. Raises the first LitePulseError of those that it closes, when all are closed."""
        self._closing.set()
        problem: LitePulseError | None = None
        while self._closers:
            try:
                self._closers.pop(0)()
            except LitePulseError as error:
                problem = problem or error
            except OSError:
                pass
        if problem:
            raise problem
