# SPDX-License-Identifier: BSD-2-Clause
"""Listens to a LIN bus: the frames on it, with their ticks."""

import math
from fractions import Fraction

from litepulse.backends.interface import Backend
from litepulse.board import Board
from litepulse.capture import CapturePlan, Listen, LostEvent, Receiver
from litepulse.lin.description import Description
from litepulse.lin.frames import Assembler, Frame
from litepulse.line import Format
from litepulse.plan import Time, profile_of
from litepulse.streams import Lost
from litepulse.units import Number, to_duration

DEFAULT_BAUD = 19200


class ListenToBus(Listen[Frame | Lost, Frame | LostEvent]):
    """Iterating over it gives the frames on the bus."""

    at_once = 4

    def _item(self, found: Frame | Lost) -> Frame | LostEvent:
        return LostEvent.of(found, self._timescale) if isinstance(found, Lost) else found


class Monitor(ListenToBus):
    """A running monitor. `bit`: ticks of a bit, exact."""

    def __init__(self, backend: Backend, plan: CapturePlan, description: Description | None) -> None:
        """plan: of the bytes alone"""
        assert plan.profile is not None
        self._receiver = Receiver(backend, plan)
        super().__init__(backend, self._receiver.poller, plan.count, plan.duration)
        self.bit = Fraction(plan.profile.bit_period.ticks)
        self._assembler = Assembler(self.bit, description.expected() if description else None)

    def _prepare(self) -> None:
        self._receiver.prepare()

    def _poll(self) -> list[Frame | Lost]:
        found: list[Frame | Lost] = []
        for _, _, what, _, _ in self._receiver.poll():
            if isinstance(what, Lost):
                found.append(what)
            elif not isinstance(what, int):
                found.extend(self._assembler.feed(what, self.poller.tick))
        return found + self._assembler.advance(self.poller.tick)


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
    rate = baud if baud is not None else description.baud if description else DEFAULT_BAUD
    profile = profile_of(board.timescale, rate, Format())
    ticks = None if duration is None else math.floor(board.timescale.ticks(to_duration(duration, "duration")))
    plan = CapturePlan((), profile=profile, loopback=loopback, move_tx=move_tx, count=count, duration=ticks)
    return board.begin(Monitor(board.backend, plan, description))
