# SPDX-License-Identifier: BSD-2-Clause
"""In which clock the events of a capture have a time: what the clock itself needs of the board, and a tick in it."""

from dataclasses import replace
from typing import TYPE_CHECKING

from litepulse.backends.interface import Batch, Wanted
from litepulse.reference import FEWEST, FedSeconds, utc_of
from litepulse.streams import Lost, edges
from litepulse.units import NANO

if TYPE_CHECKING:
    from litepulse.board import Board


def with_edges(wanted: Wanted, seconds: FedSeconds) -> Wanted:
    """And the edges that a clock comes in by."""
    mask = 1 << seconds.channel
    return replace(wanted, rise=wanted.rise | mask, fall=wanted.fall | (mask if seconds.both else 0))


def feed(seconds: FedSeconds, batch: Batch, samples: int) -> None:
    """To a clock, what of it is in a batch of records."""
    for event in batch.events:
        if isinstance(event, Lost):
            seconds.lost()
        elif event.kind == "edge":
            for edge in edges(event, samples):
                if edge.channel == seconds.channel:
                    seconds.edge(edge.tick, edge.level)
    seconds.passed(batch.tick)


class EventClock:
    """A clock that is not the one of open()."""

    def __init__(self, board: "Board", name: str) -> None:
        self.name, self._board = name, board

    def wanted(self, wanted: Wanted) -> Wanted:
        """What is recorded, with what the clock needs."""
        return wanted

    def take(self, batch: Batch) -> None:
        """What came at a look, before its records are given their times."""

    def at(self, tick: int, ns: int | None, uncertainty: int) -> tuple[int | None, int]:
        """(ns, by how many they may be wrong) of a record; None: not known yet. ns, uncertainty: what it has in the clock of open()."""
        found = self._board.time_of(tick, self.name)
        return found.ns, found.uncertainty


class UtcOfEvents(EventClock):
    """UTC, where open() has CLOCK_REALTIME."""

    def at(self, tick: int, ns: int | None, uncertainty: int) -> tuple[int | None, int]:
        if ns is None:
            return None, 0
        utc, near = utc_of(ns)
        return utc, uncertainty + NANO * near


class FedClock(EventClock):
    """One that comes in at the board."""

    def __init__(self, board: "Board", seconds: FedSeconds) -> None:
        super().__init__(board, seconds.key)
        self.seconds, self._samples = seconds, board.identity.samples_per_cycle

    def wanted(self, wanted: Wanted) -> Wanted:
        return with_edges(wanted, self.seconds)

    def take(self, batch: Batch) -> None:
        if not self.seconds.known:
            self.seconds.look()
        feed(self.seconds, batch, self._samples)

    def at(self, tick: int, ns: int | None, uncertainty: int) -> tuple[int | None, int]:
        if self.seconds.known < FEWEST:
            return None, 0
        found = self.seconds.time_of(tick)
        return found.ns, found.uncertainty
