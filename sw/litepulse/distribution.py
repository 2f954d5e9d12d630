# SPDX-License-Identifier: BSD-2-Clause
"""How often each value occurred. Nothing is rounded, and the memory grows with the number of different values, not with that of samples."""

import math
from bisect import insort
from collections.abc import Iterable
from fractions import Fraction

from litepulse.units import Number, Whole, to_fraction, whole, within

PERCENTILES = (Fraction(50), Fraction(99), Fraction(999, 10))


class Distribution:
    """Whole numbers and how often each occurred."""

    def __init__(self, values: Iterable[Whole] = ()) -> None:
        self.count = 0
        self._total = 0
        self._counts: dict[int, int] = {}
        self._values: list[int] = []  # in order
        for value in values:
            self.add(value)

    def add(self, value: Whole, count: Whole = 1) -> None:
        """`count` more of this value. BadInput unless both are whole."""
        value, count = whole(value, "value"), within(count, "count", 0, 1 << 63)
        if value not in self._counts:
            self._counts[value] = 0
            insort(self._values, value)
        self._counts[value] += count
        self._total += value * count
        self.count += count

    def rows(self) -> list[tuple[int, int]]:
        """[(value, how often)] in order of value."""
        return [(value, self._counts[value]) for value in self._values]

    @property
    def least(self) -> int:
        """The smallest value; ValueError if there is none."""
        return self._values[0] if self._values else _none()

    @property
    def most(self) -> int:
        """The largest value; ValueError if there is none."""
        return self._values[-1] if self._values else _none()

    @property
    def mean(self) -> Fraction:
        """Exact; ValueError if there is no value."""
        return Fraction(self._total, self.count) if self.count else Fraction(_none())

    def percentile(self, percent: Number) -> int:
        """The smallest value that at least `percent` of all samples do not exceed (nearest rank); ValueError if there is none."""
        exact = to_fraction(percent, "percent")
        if not self.count or not 0 <= exact <= 100:
            raise ValueError(f"percentile {percent} of {self.count} values")
        rank = max(1, math.ceil(exact * self.count / 100))
        for value in self._values:
            rank -= self._counts[value]
            if rank <= 0:
                return value
        raise AssertionError("unreachable")

    def bins(self, most: int, highest: int | None = None) -> tuple[list[tuple[int, int]], int]:
        """([(lower end, how often)] of at most `most` adjacent bins of equal width, how many values are above `highest`).

        The bins reach from the least value to `highest` (None: the largest); empty ones between are there, too.
        """
        if not self.count:
            return [], 0
        top = self.most if highest is None else highest
        first = self.least
        width = (top - first) // most + 1
        found = [0] * ((top - first) // width + 1)
        above = 0
        for value, count in self._counts.items():
            if value > top:
                above += count
            else:
                found[(value - first) // width] += count
        return [(first + index * width, count) for index, count in enumerate(found)], above


def _none() -> int:
    raise ValueError("no values")
