# SPDX-License-Identifier: BSD-2-Clause
"""Whether the error of a period comes back in those after it: the autocorrelation of the deviations
of the periods. Pure, no device.

With the deviations d(1) to d(n) of periods in a row from any one value, the autocorrelation at lag
k is the correlation coefficient of the pairs d(i), d(i + k), for i from 1 to n - k:

    r(k) = sum((d(i) - x) (d(i + k) - y)) / sqrt(sum((d(i) - x)^2) sum((d(i + k) - y)^2))

where x is the mean of the d(i), and y that of the d(i + k). It is from -1 to 1, and the value that
the deviations are from does not matter. Of several rows, the sums are over the pairs of all of
them; no pair is from two rows. It is not defined where all are equal.

r(1) is -1 if each error comes back with the other sign in the next period. It is -1/2, with 0 at
greater lags, if the errors of the edges are independent, as where each edge waits for an absolute
time: one late edge makes a long period, then a short one. It is 0 if the errors of the periods are
independent, as where each edge waits from the one before: errors add up. It goes towards 1 if the
period drifts.

Of n periods with independent errors, r(k) is within 2 / sqrt(n) of 0 in 95 of 100 cases.
"""

import itertools
import math
import operator
from collections.abc import Iterable, Sequence

LAGS = 10
_PIECE = 512  # values that are summed at a time


class Autocorrelation:
    """Sums, to which one deviation after the other is added. Whole numbers stay exact; others
    should be small, as deviations are."""

    def __init__(self, lags: int = LAGS) -> None:
        self.lags, self.count = lags, 0
        self._before: list[float] = []  # the last values that are summed already, as many as the longest lag
        self._new: list[float] = []
        self._pairs = [0] * lags
        # For each lag: of d(i), d(i + k), their squares, and their products.
        self._sums: list[list[float]] = [[0, 0, 0, 0, 0] for _ in range(lags)]

    def add(self, deviation: float) -> None:
        """One more."""
        self._new.append(deviation)
        if len(self._new) >= _PIECE:
            self._sum()

    def row(self, deviations: Iterable[float]) -> None:
        """A whole row, which has nothing to do with what was before."""
        self.cut()
        for each in deviations:
            self.add(each)
        self.cut()

    def cut(self) -> None:
        """What comes next is another row."""
        self._sum()
        self._before = []

    def _sum(self) -> None:
        if not self._new:
            return
        values = self._before + self._new
        old, length = len(self._before), len(values)
        sums = list(itertools.accumulate(values, initial=0))
        squares = list(itertools.accumulate(map(operator.mul, values, values), initial=0))
        for k in range(1, self.lags + 1):
            first = max(old, k)  # the first value that is new and has one k before it
            if first >= length:
                break
            products = sum(map(operator.mul, values[first - k :], values[first:]))
            added = (
                sums[length - k] - sums[first - k],
                sums[length] - sums[first],
                squares[length - k] - squares[first - k],
                squares[length] - squares[first],
                products,
            )
            self._sums[k - 1] = [total + more for total, more in zip(self._sums[k - 1], added)]
            self._pairs[k - 1] += length - first
        self.count += len(self._new)
        self._before, self._new = values[-self.lags :], []

    def values(self) -> list[float | None]:
        """r(1), r(2), …, as far as there are four times as many periods as the lag; None where it
        is not defined."""
        self._sum()
        return [self._at(k) for k in range(1, min(self.lags, self.count // 4) + 1)]

    def _at(self, k: int) -> float | None:
        n, (x, y, xx, yy, xy) = self._pairs[k - 1], self._sums[k - 1]
        of_x, of_y = n * xx - x * x, n * yy - y * y
        if n < 2 or of_x <= 0 or of_y <= 0:
            return None
        joint = n * xy - x * y
        found = joint / of_x if of_x == of_y else joint / (math.sqrt(of_x) * math.sqrt(of_y))
        return max(-1.0, min(1.0, found))


def bound(count: int) -> float:
    """95 of 100 values are no farther from 0 if the errors of `count` periods are independent."""
    return 2 / math.sqrt(count) if count else math.inf


def describe(values: Sequence[float | None], count: int) -> str:
    """One line."""
    if not values:
        return f"of {count} periods there is no autocorrelation yet"
    if values[0] is None:
        return f"all {count} equal"
    beyond = [abs(value) for value in values[1:] if value is not None]
    more = f", at most ±{max(beyond):.3f} at lags 2 to {len(values)}" if beyond else ""
    return f"autocorrelation {values[0]:+.3f} at lag 1{more}, {count} periods; ±{bound(count):.3f} if independent"
