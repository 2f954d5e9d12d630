# SPDX-License-Identifier: BSD-2-Clause
"""What all jobs on a board have in common: how it is polled, and how a program iterates over what happens."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import Generic, Self, TypeVar

from litepulse.backends.interface import Backend, Batch, Status
from litepulse.errors import BadInput, InUse, LitePulseError, TransportError
from litepulse.interrupt import CtrlC, Flag
from litepulse.units import Timescale

POLL_SECONDS = 0.02
SLOW_POLL_SECONDS = 0.05
STANDSTILL_SECONDS = 10.0


def timescale_of(backend: Backend) -> Timescale:
    """Converts between the board's ticks and seconds."""
    return Timescale(backend.identity.clock_hz, backend.identity.samples_per_cycle)


class Poller:
    """Polls status and records; notices a core whose clock stands still."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.tick = self.now = 0  # at the last poll: until when all is known that happened, and the board's tick
        self._moved = time.monotonic()
        self._tick = -1

    def pause(self, busy: bool, seconds: float | None = None) -> None:
        """Between two polls: not at all while much happens."""
        if not busy:
            self.backend.wait(POLL_SECONDS if seconds is None else seconds)

    def poll(self, as_columns: bool = False) -> tuple[Status, Batch]:
        """What is going on, and what happened since the last poll; as_columns: see Backend.read()."""
        status, batch = self.backend.look(as_columns)
        self.tick, self.now = batch.tick, batch.now
        now = time.monotonic()
        if self.now != self._tick:
            self._tick, self._moved = self.now, now
        elif now - self._moved > STANDSTILL_SECONDS:
            raise TransportError(f"{self.backend.identity.name}: the core's clock stands still")
        return status, batch

    def wait_tick(self, tick: int, interrupt: Flag | None = None) -> Iterator[tuple[Status, Batch]]:
        """Polls until the board's time has passed `tick`."""
        while self.tick < tick and not interrupt:
            self.backend.wait(POLL_SECONDS)
            yield self.poll()


def check_alone(backend: Backend, running: str = "a train is running on this line; 'litepulse stop' ends it") -> None:
    """BadInput with `running` if a train runs, InUse if something was kept: the board has one watchdog and one profile 0 for all."""
    if backend.status().train_running:
        raise BadInput(running)
    for kept in backend.kept():
        raise InUse(f"{backend.identity.name}: {kept} goes on here, and would be disturbed; 'litepulse stop' ends it")


def tidy(backend: Backend) -> None:
    """After a job: nothing that this program began runs, nothing is recorded. Best effort: the board may be gone."""
    try:
        backend.release()
    except LitePulseError:
        pass


Item = TypeVar("Item")


class Job(Generic[Item]):
    """A job as programs see it: a context manager, and an iterator over what happens.

    Ctrl-C while the iterator waits ends the iteration as if nothing more came, and sets `interrupted`; elsewhere it raises
    KeyboardInterrupt as always. Leaving the `with` block ends the job. The board that makes it calls begin().
    """

    def __init__(self, backend: Backend, ended: Callable[[], None], interrupt: Flag | None = None) -> None:
        """interrupt: ends the iteration instead of Ctrl-C; whoever gives it catches the signals."""
        self.interrupted = False
        self._backend = backend
        self._lost: int | None = None  # once it has ended
        self._ended = ended  # tells the board that the next job may begin
        self._closed = self._over = False
        self._turn = threading.RLock()  # a look at the board, or the end, is one thread's: another one's stop() waits for it
        self._ready: deque[Item] = deque()
        ctrl_c = CtrlC()
        self._flag = ctrl_c if interrupt is None else interrupt
        self._catching: AbstractContextManager[object] = ctrl_c if interrupt is None else nullcontext()

    def begin(self) -> None:
        """Prepares the board and starts what the job runs there. If a fault or a signal cuts the start short, what runs is ended."""
        self._prepare()
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def _prepare(self) -> None:
        """Checks and sets what the job needs; nothing runs yet. What it refuses stays as it was."""
        raise NotImplementedError

    def _start(self) -> None:
        """Starts what runs on the board."""

    def _advance(self, interrupt: Flag) -> bool:
        """Looks once, puts what came into _ready; False: nothing more will come."""
        raise NotImplementedError

    def _finish(self) -> None:
        """Ends what runs and puts what still came into _ready. Called once."""
        raise NotImplementedError

    def _abandon(self) -> None:
        """Ends what runs, whatever state it is in; does not raise LitePulseError. Called once, if _finish() was not, or failed."""
        raise NotImplementedError

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Item:
        while True:
            with self._turn:
                if self._ready:
                    return self._ready.popleft()
                if self._over:
                    raise StopIteration
                self._look()

    def _look(self) -> None:
        """One look; the end, if that was the last."""
        with self._catching:
            try:
                if not self._advance(self._flag) or self._flag:
                    self._over = True
                    self.interrupted = bool(self._flag)
                    self._end()
            except BaseException:
                self._over = True
                self._abandon()
                self._close()
                raise

    def stop(self) -> None:
        """Ends the job; what has come, and what comes until the line is idle, can still be iterated over."""
        with self._turn:
            if self._over:
                return
            self._over = True
            try:
                self._end()
            except BaseException:
                self._abandon()
                self._close()
                raise

    def _end(self) -> None:
        self._finish()
        self._close()

    @property
    def lost(self) -> int:
        """Records that are missing, by now."""
        return self._lost if self._lost is not None else self._backend.losses().total

    def close(self) -> None:
        """Ends the job. May be called again."""
        with self._turn:
            if not self._over:
                self._over = True
                self._abandon()
            self._close()

    def _close(self) -> None:
        if not self._closed:
            self._closed = True
            self._ended()

    def _count_losses(self) -> None:
        """At the end of the job, before the next one begins."""
        self._lost = self._backend.losses().total

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self.stop()
        self.close()
