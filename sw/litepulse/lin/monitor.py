# SPDX-License-Identifier: BSD-2-Clause
"""Listens to a LIN bus: the frames on it, with their ticks."""

import math
from collections.abc import Iterator
from fractions import Fraction

from litepulse.board import Board
from litepulse.capture import CaptureRun, Listen, LostEvent
from litepulse.interrupt import Flag
from litepulse.lin.description import Description
from litepulse.lin.frames import Assembler, Frame
from litepulse.line import Format
from litepulse.plan import Time
from litepulse.streams import Lost
from litepulse.units import Number, to_duration

DEFAULT_BAUD = 19200


class MonitorRun:
    """What is heard, batch by batch."""

    def __init__(self, run: CaptureRun, description: Description | None) -> None:
        assert run.profile is not None
        self.run, self.backend = run, run.backend
        self.assembler = Assembler(Fraction(run.profile.bit_period.ticks), description.expected() if description else None)

    def prepare(self) -> None:
        """Begins to listen."""
        self.run.prepare()

    @property
    def tick(self) -> int:
        """The board's, at the last look."""
        return self.run.tick

    def poll(self) -> list[Frame | Lost]:
        """What is new."""
        found: list[Frame | Lost] = []
        heard = self.run.poll()
        for _, _, what, _, _ in heard:
            if isinstance(what, Lost):
                found.append(what)
            elif not isinstance(what, int):
                found.extend(self.assembler.feed(what, self.tick))
        return found + self.assembler.advance(self.tick)

    def follow(self, interrupt: Flag) -> Iterator[list[Frame | Lost]]:
        """Yields batches until interrupted."""
        while not interrupt:
            found = self.poll()
            yield found
            self.run.poller.pause(len(found) >= 4)


def monitor_run(
    board: Board, baud: Number | str | None = None, description: Description | None = None, loopback: bool = False, move_tx: bool = False
) -> MonitorRun:
    """The run of a monitor, planned and not begun. baud: that of the description, or 19200, unless given."""
    rate = baud if baud is not None else description.baud if description else DEFAULT_BAUD
    run = board.capture_run((), edges="both", filter=0, bytes=True, baud=rate, fmt=Format(), loopback=loopback, move_tx=move_tx)
    return MonitorRun(run, description)


class ListenToBus(Listen[Frame | Lost, Frame | LostEvent]):
    """Iterating over it gives the frames on the bus."""

    def _item(self, found: Frame | Lost) -> Frame | LostEvent:
        return LostEvent.of(found, self._timescale) if isinstance(found, Lost) else found


class Monitor(ListenToBus):
    """A running monitor."""


def monitor(
    board: Board,
    description: Description | None = None,
    *,
    baud: Number | str | None = None,
    loopback: bool = False,
    move_tx: bool = False,
    count: int = 0,
    duration: Time | None = None,
) -> Monitor:
    """Listens: iterating over what is returned gives the frames on the bus, a LostEvent where records are missing.

    description: what is known of the frames, and their bit rate; baud: unless that says it, default 19200; it ends after count frames,
    after duration, or when it is stopped; move_tx: TX may move to the bus's idle level, 1
    """
    run = monitor_run(board, baud, description, loopback, move_tx)
    ticks = None if duration is None else math.floor(board.timescale.ticks(to_duration(duration, "for")))
    return board.begin(lambda ended: Monitor(run, ended, count, ticks))
