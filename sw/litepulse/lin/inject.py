# SPDX-License-Identifier: BSD-2-Clause
"""Sends one LIN frame, right or wrong on purpose, and listens to what comes of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from litepulse.board import Board, When
from litepulse.errors import LitePulseError
from litepulse.interrupt import Flag
from litepulse.job import Job, tidy
from litepulse.lin.bus import BusRun
from litepulse.lin.faults import Injection
from litepulse.lin.frames import Expected, Frame
from litepulse.lin.monitor import DEFAULT_BAUD
from litepulse.lin.protocol import DATA_MAX, HEADER_BITS, slot_limit
from litepulse.streams import RxByte
from litepulse.units import Number


@dataclass(frozen=True)
class Heard:
    """What came of an injection. tick: of its break; frames: as the monitor understands them; records: the bytes themselves."""

    tick: int
    frames: tuple[Frame, ...]
    records: tuple[RxByte, ...]


class InjectJob(Job[Heard]):
    """One injection on its way: iterating over it gives what came of it."""

    def __init__(self, run: BusRun, ended: Callable[[], None], injection: Injection, at: int | None, interrupt: Flag | None) -> None:
        super().__init__(run.backend, ended, interrupt)
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

    def _advance(self, interrupt: Flag) -> bool:
        run = self.run
        for found in run.frames(interrupt):
            self._frames += [item for item in found if isinstance(item, Frame)]
        # an answer, and the longest silence that ends a frame
        last = self._tick + int((2 * HEADER_BITS + slot_limit(DATA_MAX)) * run.bit)
        while run.now() < last and not interrupt:
            run.poller.pause(False)
        return False

    def _finish(self) -> None:
        self._count_losses()
        if self.lost:
            raise LitePulseError(f"{self.lost} records were lost")
        tidy(self.run.backend)
        self._frames += [item for item in self.run.take() if isinstance(item, Frame)]
        self._ready.append(Heard(self._tick, tuple(self._frames), tuple(self.run.received)))

    def _abandon(self) -> None:
        tidy(self.run.backend)


def inject(
    board: Board,
    injection: Injection,
    *,
    at: When | None = None,
    baud: Number | str = DEFAULT_BAUD,
    expected: Mapping[int, Expected] | None = None,
    loopback: bool = False,
    interrupt: Flag | None = None,
) -> Heard:
    """Sends a frame with the faults that are asked for, soon or at a tick, and returns what was heard until the bus was silent again.

    expected: what is known of frames (Description.expected()), so that lengths and checksums are judged. Refused if the board could
    not keep a tick; then part of the frame may have gone out. interrupt: ends it early; without one, Ctrl-C
    does (KeyboardInterrupt).
    """
    run = BusRun(board, baud, expected, loopback)
    tick = None if at is None else board.tick_of(at)
    with board.begin(lambda ended: InjectJob(run, ended, injection, tick, interrupt)) as job:
        heard = next(job)
    if job.interrupted and interrupt is None:
        raise KeyboardInterrupt
    return heard
