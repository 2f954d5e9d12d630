# SPDX-License-Identifier: BSD-2-Clause
"""Bytes from edges: a UART of 8 data bits without parity, for recordings of an input. Pure and exact."""

from fractions import Fraction

from litepulse.errors import BadInput
from litepulse.units import Number, Whole, to_rate, whole


class Uart:
    """Edges in, (tick of the start edge, byte, whether its stop bit is there) out. The line rests at 1, with `invert` at 0."""

    def __init__(self, tick_hz: Number, baud: Number, invert: bool = False) -> None:
        self._bit = to_rate(tick_hz, "tick_hz") / to_rate(baud, "baud")
        self._idle = 0 if invert else 1
        self._edges: list[tuple[int, int]] = []  # from the start edge on; empty while the line rests

    def feed(self, tick: Whole, level: Whole) -> list[tuple[int, int, bool]]:
        """The next edge."""
        tick, level = whole(tick, "tick"), whole(level, "level")
        if level not in (0, 1):
            raise BadInput(f"level: {level} is not 0 or 1")
        found = self.advance(tick)
        if self._edges or level != self._idle:
            self._edges.append((tick, level))
        return found

    def advance(self, tick: int) -> list[tuple[int, int, bool]]:
        """Nothing more comes before this tick."""
        if not self._edges or tick < self._edges[0][0] + self._bit * 19 / 2:
            return []
        start, edges = self._edges[0][0], self._edges
        self._edges = []
        # The level in the middle of the start bit, of the data bits and of the stop bit.
        levels = [self._level(edges, start + self._bit * (2 * n + 1) / 2) for n in range(10)]
        if levels[0] == self._idle:
            return []  # a glitch
        ones = [level == self._idle for level in levels]
        return [(start, sum(one << n for n, one in enumerate(ones[1:9])), ones[9])]

    @staticmethod
    def _level(edges: list[tuple[int, int]], at: Fraction) -> int:
        """The level at a moment behind the first edge."""
        return next(level for tick, level in reversed(edges) if tick <= at)

    def drop(self) -> None:
        """Edges are missing here: the byte that has begun is none."""
        self._edges = []
