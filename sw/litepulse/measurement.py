# SPDX-License-Identifier: BSD-2-Clause
"""Exact statistics of a train: what was launched and received against where it should have been. Pure, no device.

Pulse n of a train belongs at floor(A_n), A_0 = start, A_{n+1} = A_n + period, never rounded; a change made on the way
starts a new segment at the pulse it names.
"""

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from typing import Any, Protocol, runtime_checkable

from litepulse.layout import regs
from litepulse.units import Period

HEARD_BEFORE = 1000  # received edges that are kept for the first launch: none of these is later than its record


class IdealTrain:
    """Where each pulse of a train belongs."""

    def __init__(self, period: Period, start: int | None = None) -> None:
        self.period = period
        self.start = start
        self.changes: list[tuple[int, Fraction, Period]] = []  # [(first pulse, A of it, Period)]

    def anchor(self, n: int, tick: int) -> None:
        """Pulse n was seen at `tick`: gives the start if it is not known yet (A_0 is whole, so this
        is exact)."""
        if self.start is None and not self.changes:
            self.start = tick - math.floor(n * self.period.ticks)

    def _segment(self, n: int) -> tuple[int, Fraction, Period]:
        index = bisect_right(self.changes, n, key=lambda change: change[0]) - 1
        if index >= 0:
            return self.changes[index]
        assert self.start is not None, "anchor() comes first"
        return 0, Fraction(self.start), self.period

    @property
    def last_period(self) -> Period:
        """That of the newest change."""
        return self.changes[-1][2] if self.changes else self.period

    def exact(self, n: int) -> Fraction:
        """A_n, unrounded."""
        first, a, period = self._segment(n)
        return a + (n - first) * period.ticks

    def position(self, n: int) -> int:
        """The tick of pulse n."""
        return math.floor(self.exact(n))

    def first_behind(self, tick: int) -> int:
        """The first pulse at this tick or later, as things stand."""
        assert self.start is not None, "anchor() comes first"
        first, at, period = self.changes[-1] if self.changes else (0, Fraction(self.start), self.period)
        return first + max(0, math.ceil((tick - at) / period.ticks))

    def adjust(self, n: int, period: Period, step: int = 0) -> None:
        """Pulse n is the first at its new place. The fraction is kept when the denominator stays, else dropped once."""
        if n < 1 or (self.changes and n <= self.changes[-1][0]):
            raise ValueError(f"change at pulse {n} does not follow the one before it")
        before = self.exact(n - 1)
        if period.den != self._segment(n - 1)[2].den:
            before = Fraction(math.floor(before))
        self.changes.append((n, before + period.ticks + step, period))

    def forget(self, kept: int) -> None:
        """Keeps the newest changes only: pulses before them have no known place any more."""
        del self.changes[:-kept]


@runtime_checkable
class TrainListener(Protocol):
    """Receives each record of a train as it is added."""

    def launched(self, n: int, tick: int) -> None:
        """Pulse n left."""
        ...

    def refused(self, n: int, tick: int, reason: str) -> None:
        """Pulse n did not."""
        ...

    def received(self, tick: int, byte: int | None) -> None:
        """A start edge was seen."""
        ...


@dataclass
class TrainRecord:
    """What is known of one train, filled while it runs.

    limit: of pulses that are kept one by one, the newest; None: all. Counts and statistics are always those of all.
    """

    ideal: IdealTrain
    limit: int | None = None
    listener: TrainListener | None = None
    launched: dict[int, int] = field(default_factory=dict[int, int])  # pulse number: tick
    refused: dict[int, tuple[int, str]] = field(default_factory=dict[int, tuple[int, str]])  # pulse number: (tick, reason)
    received: list[int] = field(default_factory=list[int])  # ticks of start edges
    received_bytes: list[int] = field(default_factory=list[int])  # the bytes, where bytes were received
    first_refused: tuple[int, str] | None = None  # (pulse number, reason)
    launched_count: int = 0
    refused_count: int = 0
    received_count: int = 0
    bad_frames: int = 0
    events_lost: int = 0
    bytes_lost: int = 0
    lost_at_least: bool = False  # events_lost and bytes_lost are lower bounds
    done: int | None = None  # pulses counted, once it ended
    over: bool = False  # it has ended
    max_error: int | None = None
    min_interval: int | None = None
    max_interval: int | None = None
    _last: tuple[int, int] | None = None
    _delays: dict[int, int] = field(default_factory=dict[int, int])
    _heard: list[int] = field(default_factory=list[int])  # received, not yet compared with the launches
    _launches: list[int] = field(default_factory=list[int])  # ticks they are compared with, in order

    def add_launch(self, n: int, tick: int) -> tuple[int, int | None]:
        """Pulse n left at `tick`. Returns (error in ticks, interval to the pulse before or None)."""
        self.ideal.anchor(n, tick)
        self.launched[n] = tick
        self.launched_count += 1
        self._launches.append(tick)
        _trim(self.launched, self.limit)
        if self.listener:
            self.listener.launched(n, tick)
        error = tick - self.ideal.position(n)
        self.max_error = max(abs(error), self.max_error or 0)
        interval = None
        if self._last is not None and self._last[0] == n - 1:
            interval = tick - self._last[1]
            self.min_interval = interval if self.min_interval is None else min(self.min_interval, interval)
            self.max_interval = interval if self.max_interval is None else max(self.max_interval, interval)
        self._last = (n, tick)
        return error, interval

    def add_refused(self, n: int, tick: int, reason: str) -> None:
        """Pulse n did not leave."""
        if reason == "busy":
            self.ideal.anchor(n, tick)  # the stamp of a busy one is its own tick
        self.refused[n] = (tick, reason)
        self.refused_count += 1
        self.first_refused = self.first_refused or (n, reason)
        _trim(self.refused, self.limit)
        if self.listener:
            self.listener.refused(n, tick, reason)

    def add_received(self, tick: int, byte: int | None = None, good: bool = True) -> None:
        """A start edge was seen at `tick`; byte: what was read there, None for an edge; good: it is what was sent."""
        self.received.append(tick)
        if byte is not None:
            self.received_bytes.append(byte)
        self.received_count += 1
        self.bad_frames += not good
        self._heard.append(tick)
        _trim(self.received, self.limit)
        _trim(self.received_bytes, self.limit)
        if self.listener:
            self.listener.received(tick, byte)

    def compare(self) -> None:
        """Compares what was received with the launches as far as all of these are known: what lies behind the newest one waits."""
        if self._launches:
            self._match(self._launches[-1] - 1)
        else:
            del self._heard[:-HEARD_BEFORE]

    def _match(self, last: int) -> None:
        count = bisect_right(self._heard, last)
        self._delays = self._delays_with(self._heard[:count])
        del self._heard[:count]
        # Only the newest launch before what is still to come can be meant by it.
        del self._launches[: max(0, bisect_right(self._launches, self._heard[0] if self._heard else last) - 1)]

    def _delays_with(self, heard: Iterable[int]) -> dict[int, int]:
        found = dict(self._delays)
        for tick in heard:
            index = bisect_right(self._launches, tick) - 1
            if index >= 0:
                delay = tick - self._launches[index]
                found[delay] = found.get(delay, 0) + 1
        return found

    @property
    def lost(self) -> int:
        """Records the board had no room for, of both streams."""
        return self.events_lost + self.bytes_lost

    @property
    def mean_period(self) -> Fraction | None:
        """Exact mean period in ticks between the first and the last launched pulse that are kept, None below two."""
        if len(self.launched) < 2:
            return None
        first, last = min(self.launched), max(self.launched)
        return Fraction(self.launched[last] - self.launched[first], last - first)

    def delays(self) -> dict[int, int]:
        """{received − launched: how often}, each received edge against the latest launch not after it."""
        return self._delays_with(self._heard)

    @property
    def exact(self) -> bool:
        """All that have left by now are here, at their ticks, and, if anything was received, all of it as it left. No pulse: False."""
        clean = not self.lost and not self.refused_count and self.max_error == 0 and self._complete
        return clean and (not self.received_count or (self.delays() == {regs.LOOPBACK_TICKS: self.launched_count} and not self.bad_frames))

    @property
    def _complete(self) -> bool:
        """No pulse is missing: neither before the newest one nor, once the train is over, behind it."""
        newest = 0 if self._last is None else self._last[0] + 1
        return self.launched_count == newest and (self.done == newest if self.over else self.done in (None, newest))


def _trim(kept: dict[int, Any] | list[int], limit: int | None) -> None:
    """Forgets the oldest, but not one by one, which would take long with a list."""
    if limit is None or len(kept) < 2 * limit:
        return
    if isinstance(kept, list):
        del kept[: len(kept) - limit]
    else:
        for key in list(islice(kept, len(kept) - limit)):
            del kept[key]


def period_from_words(words: Mapping[str, int]) -> Period:
    """The Period in configuration words read back."""
    return Period(words["train_period"], words["train_num"], words["train_den"])


def histogram(values: Iterable[int]) -> list[tuple[int, int]]:
    """[(value, how often)] in order of value."""
    counts: dict[int, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    return sorted(counts.items())
