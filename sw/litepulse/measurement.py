# SPDX-License-Identifier: BSD-2-Clause
"""Exact statistics of a train: what was launched and received against where it should have been. Pure, no device.

Pulse n of a train belongs at floor(A_n), A_0 = start, A_{n+1} = A_n + period, never rounded; a change made on the way
starts a new segment at the pulse it names.
"""

import math
from bisect import bisect_right
from dataclasses import dataclass, field
from fractions import Fraction

from litepulse.layout import regs
from litepulse.units import Period


class IdealTrain:
    """Where each pulse of a train belongs."""

    def __init__(self, period, start=None):
        self.period = period
        self.start = start
        self.changes = []  # [(first pulse, A of it, Period)]

    def anchor(self, n, tick):
        """Pulse n was seen at `tick`: tells the start if it is not known yet (A_0 is whole, so this is exact)."""
        if self.start is None and not self.changes:
            self.start = tick - math.floor(n * self.period.ticks)

    def _segment(self, n):
        index = bisect_right([c[0] for c in self.changes], n) - 1
        if index >= 0:
            return self.changes[index]
        assert self.start is not None, "anchor() comes first"
        return 0, Fraction(self.start), self.period

    def exact(self, n):
        """A_n, unrounded."""
        first, a, period = self._segment(n)
        return a + (n - first) * period.ticks

    def position(self, n):
        """The tick of pulse n."""
        return math.floor(self.exact(n))

    def adjust(self, n, period, step=0):
        """Pulse n is the first at its new place. The fraction is kept when the denominator stays, else dropped once."""
        if n < 1 or (self.changes and n <= self.changes[-1][0]):
            raise ValueError(f"change at pulse {n} does not follow the one before it")
        before = self.exact(n - 1)
        if period.den != self._segment(n - 1)[2].den:
            before = Fraction(math.floor(before))
        self.changes.append((n, before + period.ticks + step, period))


@dataclass
class TrainRecord:
    """What is known of one train, filled while it runs."""

    ideal: IdealTrain
    launched: dict = field(default_factory=dict)  # pulse number: tick
    refused: dict = field(default_factory=dict)  # pulse number: (tick, reason)
    received: list = field(default_factory=list)  # ticks of start edges
    received_bytes: list = field(default_factory=list)  # the bytes, where bytes were received
    bad_frames: int = 0
    events_lost: int = 0
    bytes_lost: int = 0
    done: int | None = None  # pulses counted, once it ended
    max_error: int | None = None
    min_interval: int | None = None
    max_interval: int | None = None
    _last: tuple | None = None

    def add_launch(self, n, tick):
        """Pulse n left at `tick`. Returns (error in ticks, interval to the pulse before or None)."""
        self.ideal.anchor(n, tick)
        self.launched[n] = tick
        error = tick - self.ideal.position(n)
        self.max_error = max(abs(error), self.max_error or 0)
        interval = None
        if self._last is not None and self._last[0] == n - 1:
            interval = tick - self._last[1]
            self.min_interval = interval if self.min_interval is None else min(self.min_interval, interval)
            self.max_interval = interval if self.max_interval is None else max(self.max_interval, interval)
        self._last = (n, tick)
        return error, interval

    def add_refused(self, n, tick, reason):
        """Pulse n did not leave."""
        if reason == "busy":
            self.ideal.anchor(n, tick)  # the stamp of a busy one is its own tick
        self.refused[n] = (tick, reason)

    @property
    def lost(self):
        """Records the board had no room for, of both streams."""
        return self.events_lost + self.bytes_lost

    @property
    def mean_period(self):
        """Exact mean period in ticks between the first and the last launched pulse, None below two."""
        if len(self.launched) < 2:
            return None
        first, last = min(self.launched), max(self.launched)
        return Fraction(self.launched[last] - self.launched[first], last - first)

    def delays(self):
        """{received − launched: how often}, each received edge against the latest launch not after it."""
        ticks = sorted(self.launched.values())
        found = {}
        for tick in self.received:
            index = bisect_right(ticks, tick) - 1
            if index >= 0:
                found[tick - ticks[index]] = found.get(tick - ticks[index], 0) + 1
        return found

    @property
    def exact(self):
        """Nothing lost, nothing refused, every edge where it belongs and, if anything was received, all of it as it left."""
        clean = not self.lost and not self.refused and self.max_error == 0
        return clean and (not self.received or (self.delays() == {regs.LOOPBACK_TICKS: len(self.launched)} and not self.bad_frames))


def period_from_words(words):
    """The Period in configuration words read back."""
    return Period(words["train_period"], words["train_num"], words["train_den"])


def histogram(values):
    """[(value, how often)] in order of value."""
    counts = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    return sorted(counts.items())
