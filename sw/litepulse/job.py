# SPDX-License-Identifier: BSD-2-Clause
"""What all jobs on a board have in common: how it is polled, and how a program iterates over what happens."""

import datetime
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from litepulse.backends.interface import Backend, Batch, Losses, Status
from litepulse.errors import BadInput, InUse, LitePulseError, TransportError
from litepulse.interrupt import CtrlC, Flag, current
from litepulse.units import Duration, Number, to_duration

POLL_SECONDS = 0.02
SLOW_POLL_SECONDS = 0.05
STANDSTILL_SECONDS = 10.0


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
            self.backend.recorder.wait(POLL_SECONDS if seconds is None else seconds)

    def poll(self, as_columns: bool = False) -> tuple[Status, Batch]:
        """What is going on, and what happened since the last poll; as_columns: see Recorder.read()."""
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
            self.backend.recorder.wait(POLL_SECONDS)
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
Found = TypeVar("Found")


class Job(Generic[Item]):
    """A job as programs see it: a context manager, and an iterator over what happens.

    Ctrl-C while the iterator waits ends the iteration as if nothing more came, and sets `interrupted`; elsewhere it raises
    KeyboardInterrupt as always. Within an Interrupt, its signals end the iteration instead. Leaving the `with` block ends the job.
    Board.begin() begins it.
    """

    def __init__(self, backend: Backend) -> None:
        self.interrupted = False
        self._backend = backend
        self._losses: Losses | None = None  # once it has ended
        self._ended: Callable[[], None] | None = None  # lets the board begin its next job
        self._over = False
        self._turn = threading.RLock()  # a look at the board, or the end, is one thread's: another one's stop() waits for it
        self._ready: deque[Any] = deque()  # what _item() makes items of
        self._looks: Iterator[None] | None = None
        outer, ctrl_c = current(), CtrlC()
        self._flag: Flag = ctrl_c if outer is None else outer
        self._catching: AbstractContextManager[object] = ctrl_c if outer is None else nullcontext()

    def begin(self, ended: Callable[[], None]) -> None:
        """Prepares the board and starts what the job runs there. If a fault or a signal cuts the start short, what runs is ended.

        ended: is called at the end of the job
        """
        for _ in self.beginning(ended):
            pass

    def beginning(self, ended: Callable[[], None]) -> Generator[None]:
        """As begin(), in steps: while this job waits for what it begins with, others can begin."""
        self._prepare()
        self._ended = ended
        try:
            yield from self._starting()
        except BaseException:
            self.close()
            raise

    def _prepare(self) -> None:
        """Checks and sets what the job needs; nothing runs yet. What it refuses stays as it was."""
        raise NotImplementedError

    def _start(self) -> None:
        """Starts what runs on the board."""

    def _starting(self) -> Iterator[None]:
        """The same in steps, where that takes long."""
        self._start()
        yield from ()

    def _follow(self, interrupt: Flag) -> Iterator[None]:
        """Looks at the board, puts what came into _ready, and yields, until nothing more will come, or an interrupt came."""
        raise NotImplementedError

    def _finish(self) -> None:
        """Ends what runs and puts what still came into _ready. Called once."""

    def _release(self) -> None:
        """Nothing that the job began runs on the board, whatever state it is in, and nothing is recorded for it."""
        tidy(self._backend)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Item:
        while True:
            with self._turn:
                if self._ready:
                    return self._item(self._ready.popleft())
                if self._over:
                    raise StopIteration
                self._look()

    def _item(self, found: Any) -> Item:
        """What a program gets of something in _ready."""
        return found

    @property
    def over(self) -> bool:
        """Whether nothing more will come; what has come and was not taken is still there."""
        return self._over

    def poll(self) -> list[Item]:
        """What has come since the last look at the board, which may be nothing; does not wait for more."""
        with self._turn:
            if not self._over:
                with self._patience(0):
                    self._look()
            return [self._item(each) for each in self._take_ready()]

    def recv(self, timeout: Duration | datetime.timedelta | Number | str | None = None) -> Item | None:
        """The next item; None if none came within `timeout` (None: however long it takes; a number: seconds), or the job is over."""
        end = math.inf
        if timeout is not None:
            timescale = self._backend.identity.timescale
            end = time.monotonic() + float(timescale.seconds(timescale.ticks(to_duration(timeout, "timeout"))))
        while True:
            left = end - time.monotonic()
            with self._turn:
                if not self._ready and not self._over:
                    with self._patience(max(0.0, left)):
                        self._look()
                if self._ready:
                    return self._item(self._ready.popleft())
                if self._over or left <= 0:
                    return None

    @contextmanager
    def _patience(self, seconds: float) -> Generator[None]:
        """No look waits longer for something to happen."""
        self._backend.recorder.patience = seconds
        try:
            yield
        finally:
            self._backend.recorder.patience = math.inf

    def batches(self) -> Iterator[list[Item]]:
        """Instead of iterating over the job: what came, look by look, in lists that may be empty; the last has what came with the end."""
        return ([self._item(each) for each in batch] for batch in self._each_look(self._take_ready))

    def _each_look(self, take: Callable[[], list[Found]]) -> Iterator[list[Found]]:
        """Looks until the job is over, and yields what `take` finds after each."""
        over = False
        while not over:
            with self._turn:
                if not self._over:
                    self._look()
                found, over = take(), self._over
            yield found

    def _take_ready(self) -> list[Any]:
        """What waits in _ready."""
        found = list(self._ready)
        self._ready.clear()
        return found

    def _look(self) -> None:
        """One look; the end, if that was the last."""
        with self._catching:
            try:
                if self._looks is None:
                    self._looks = self._follow(self._flag)
                if next(self._looks, self) is self:
                    self.interrupted = bool(self._flag)
                    self._end()
            except BaseException:
                self._abandon()
                raise

    def _end(self) -> None:
        self._over = True
        self._finish()
        self._losses = self._backend.recorder.losses()
        self._release()
        self._close()

    def _abandon(self) -> None:
        """The end after a fault; does not raise LitePulseError."""
        self._over = True
        with suppress(LitePulseError):
            self._losses = self._backend.recorder.losses()
        with suppress(LitePulseError):
            self._release()
        self._close()

    def _close(self) -> None:
        ended, self._ended = self._ended, None
        if ended:
            ended()

    def stop(self) -> None:
        """Ends the job; what has come, and what comes until the line is idle, can still be iterated over."""
        with self._turn:
            if self._over:
                return
            try:
                self._end()
            except BaseException:
                self._abandon()
                raise

    def detach(self) -> None:
        """Ends the job here, and leaves what it started on the board running."""
        with self._turn:
            if self._over:
                return
            try:
                self._backend.leave()
            except BaseException:
                self._abandon()
                raise
            self._over = True
            self._close()

    @property
    def losses(self) -> Losses:
        """Records that are missing, by now."""
        return self._losses or self._backend.recorder.losses()

    @property
    def lost(self) -> int:
        """How many records are missing, by now."""
        return self.losses.total

    def close(self) -> None:
        """Ends the job. May be called again."""
        with self._turn:
            if not self._over:
                self._abandon()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self.stop()
        self.close()
