# SPDX-License-Identifier: BSD-2-Clause
"""Sends one LIN frame, right or wrong on purpose, and listens to what comes of it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from litepulse.board import Board
from litepulse.errors import LitePulseError
from litepulse.interrupt import Flag, current
from litepulse.job import Job
from litepulse.lin.bus import BusRun
from litepulse.lin.faults import Injection
from litepulse.lin.frames import Expected, Frame
from litepulse.lin.monitor import DEFAULT_BAUD
from litepulse.lin.protocol import DATA_MAX, HEADER_BITS, slot_limit
from litepulse.plan import When
from litepulse.streams import RxByte
from litepulse.units import Number, counted


@dataclass(frozen=True)
class Heard:
    """What came of an injection. tick: of its break; frames: as the monitor understands them; records: the bytes themselves."""

    tick: int
    frames: tuple[Frame, ...]
    records: tuple[RxByte, ...]


class InjectJob(Job[Heard]):
    """One injection on its way: iterating over it gives what came of it."""

    def __init__(self, run: BusRun, injection: Injection, at: int | None) -> None:
        super().__init__(run.backend)
        self.run, self._injection, self._at = run, injection, at
        self._frames: list[Frame] = []
        self._tick = 0

    def _prepare(self) -> None:
        self.run.prepare()

    def _start(self) -> None:
        run = self.run
        self._tick = run.soon(16) if self._at is None else self._at
        run.source = iter(self._injection.launches(self._tick, run.bit))
        run.feed()

    def _follow(self, interrupt: Flag) -> Iterator[None]:
        run = self.run
        for found in run.frames(interrupt):
            self._frames += [item for item in found if isinstance(item, Frame)]
            yield
        # an answer, and the longest silence that ends a frame
        last = self._tick + int((2 * HEADER_BITS + slot_limit(DATA_MAX)) * run.bit)
        while run.now() < last and not interrupt:
            yield
            run.poller.pause(False)

    def _finish(self) -> None:
        if self.lost:
            raise LitePulseError(f"{counted(self.lost, 'record')} lost")
        self._frames += [item for item in self.run.take() if isinstance(item, Frame)]
        self._ready.append(Heard(self._tick, tuple(self._frames), tuple(self.run.received)))


def inject(
    board: Board,
    injection: Injection,
    *,
    at: When | None = None,
    baud: Number | str = DEFAULT_BAUD,
    expected: Mapping[int, Expected] | None = None,
    loopback: bool = False,
) -> Heard:
    """Sends a frame with the requested faults, soon or at a tick, and returns what was heard until
    the bus was silent again.

    expected: what is known of frames (Description.expected()), so that lengths and checksums are judged. Refused if the board could
    not keep a tick; then part of the frame may have gone out.
    """
    run = BusRun(board, baud, expected, loopback)
    tick = None if at is None else board.tick_of(at)
    with board.begin(InjectJob(run, injection, tick)) as job:
        heard = next(job)
    if job.interrupted and current() is None:
        raise KeyboardInterrupt
    return heard
