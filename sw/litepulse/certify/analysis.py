# SPDX-License-Identifier: BSD-2-Clause
"""From what was seen of a serial port to figures. Pure: no device, no file, no clock; ticks and fractions, nothing is a float.

A stamp is the tick of the first sample that shows a new level, so each is late by up to one tick.
The stated uncertainty covers that.
"""

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from litepulse.certify.records import Break, Echo, PinEdge, Reading, Transfer
from litepulse.distribution import Distribution
from litepulse.line import Format

OFF_GRID = Fraction(35, 100)  # of a bit: an edge farther from where it belongs makes the frame a bad one
# of a bit: a frame that begins no later than this behind the one before is in a row with it
ROW = Fraction(1, 2)
PARITY_BIT = {"odd": 1, "even": 0}
LEAST_ROW = 4  # frames in a row from which a slope is taken


@dataclass(frozen=True)
class Frame:
    """A frame on the line. marks: (k, tick) of its edges, k bit times behind the start edge; the start edge is (0, start).

    good: stop bit and parity are right, and every edge is near its place. stop_mark: the tick of the edge that begins the stop bit, None
    if the bit before it is high, too.
    """

    start: int
    data: int
    good: bool
    marks: tuple[tuple[int, int], ...]
    stop_mark: int | None


def levels_of(data: int, fmt: Format) -> list[int]:
    """Level of each bit of a frame: start, data, parity, one stop bit."""
    bits = [data >> k & 1 for k in range(fmt.data_bits)]
    parity = {"none": [], "mark": [1], "space": [0]}.get(fmt.parity)
    if parity is None:
        parity = [sum(bits) & 1 ^ PARITY_BIT[fmt.parity]]
    return [0, *bits, *parity, 1]


def alternating(fmt: Format) -> int:
    """The byte whose bits alternate behind the start bit: a frame with as many edges as there can be."""
    return 0x55 & (1 << fmt.data_bits) - 1


def read_frames(edges: Sequence[PinEdge], fmt: Format, bit: Fraction) -> list[Frame]:
    """The frames that the edges of a line make, which is idle (high) before them; bit: its bit period in ticks."""
    ticks = [tick for tick, _ in edges]
    stop = 1 + fmt.data_bits + (fmt.parity != "none")  # bits before the stop bit
    found: list[Frame] = []
    index = 0
    while index < len(edges):
        start, level = edges[index]
        if level:
            index += 1
            continue
        end = bisect_right(ticks, start + (stop + ROW) * bit)
        mine = edges[index:end]

        def level_at(k: Fraction, start: int = start) -> int:
            last = bisect_right(ticks, start + k * bit) - 1
            return edges[last][1]

        bits = [level_at(k + Fraction(1, 2)) for k in range(stop + 1)]
        data = sum(value << k for k, value in enumerate(bits[1 : 1 + fmt.data_bits]))
        marks = tuple((round((tick - start) / bit), tick) for tick, _ in mine)
        on_grid = all(abs(tick - start - k * bit) <= OFF_GRID * bit for k, tick in marks) and len({k for k, _ in marks}) == len(marks)
        stop_mark = next((tick for k, tick in marks if k == stop), None)
        found.append(Frame(start, data, on_grid and bits == levels_of(data, fmt), marks, stop_mark))
        index = max(end, index + 1)
    return found


# The slope of edges over their numbers --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Slope:
    """Ticks from one number to the next by least squares, the same for all groups; each group begins where it will.

    value: exact; spread: most that the ticks of a group stray from its line, from the earliest to the latest, and at least one tick;
    bound: value may be off by this much if each tick is off by anything up to half of spread either
    way
    """

    value: Fraction
    spread: Fraction
    bound: Fraction
    count: int  # of ticks
    offsets: tuple[Fraction, ...]  # tick of number 0 of each group, by the line


def slope_of(groups: Sequence[Sequence[tuple[int, int]]]) -> Slope | None:
    """Of groups of (number, tick); None if no group has two numbers."""
    groups = [group for group in groups if len(group) > 1]
    above = below = Fraction(0)
    reach = Fraction(0)
    for group in groups:
        mean_k = Fraction(sum(k for k, _ in group), len(group))
        mean_t = Fraction(sum(t for _, t in group), len(group))
        for k, t in group:
            above += (k - mean_k) * (t - mean_t)
            below += (k - mean_k) ** 2
            reach += abs(k - mean_k)
    if not below:
        return None
    value = above / below
    offsets = [Fraction(sum(t for _, t in group), len(group)) - value * Fraction(sum(k for k, _ in group), len(group)) for group in groups]
    spread = Fraction(1)
    for offset, group in zip(offsets, groups):
        strays = [t - offset - k * value for k, t in group]
        spread = max(spread, max(strays) - min(strays))
    return Slope(value, spread, spread / 2 * reach / below, sum(map(len, groups)), tuple(offsets))


def uncertainty_of(slope: Slope, groups: Sequence[Sequence[tuple[int, int]]]) -> Fraction:
    """How much a slope may be off: three times its standard error if the groups begin anywhere between two ticks, so that rounding averages
    out. Else also as far as the farthest slope with which all ticks agree: where two clocks keep step, as in a simulation, each group is
    rounded the same way, and more of them say nothing.
    """
    lowest, highest = Fraction(0), None
    squares = below = Fraction(0)
    count = 0
    for offset, group in zip(slope.offsets, (group for group in groups if len(group) > 1)):
        middle = Fraction(sum(k for k, _ in group), len(group))
        for i, (k, t) in enumerate(group):
            squares += (t - offset - k * slope.value) ** 2
            below += (k - middle) ** 2
            for later, tick in group[i + 1 :]:
                lowest = max(lowest, Fraction(tick - t - 1, later - k))
                most = Fraction(tick - t + 1, later - k)
                highest = most if highest is None else min(highest, most)
        count += len(group)
    free = max(1, count - len(slope.offsets) - 1)
    error = 3 * root(squares / free / below)
    if is_spread(slope.offsets) or highest is None or lowest > highest:
        return error
    return max(error, highest - slope.value, slope.value - lowest)


def is_spread(places: Sequence[Fraction]) -> bool:
    """Whether places in ticks lie anywhere between two of them: each quarter has at least half of its share."""
    counts = [0] * 4
    for place in places:
        counts[math.floor(place % 1 * 4)] += 1
    return min(counts) * 8 >= len(places) > 0


def root(value: Fraction) -> Fraction:
    """Square root, rounded up in the twelfth decimal."""
    return Fraction(math.isqrt(math.ceil(value * 10**24)) + 1, 10**12)


# Bits -----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bits:
    """What blocks of alternating bits show. Ticks.

    bit: from the edges within frames, and how much it may be off; deviations: of each edge from the line through its frame, in picoseconds
    stops: lengths of stop bits that the next frame ends; bad: frames that are none of the byte that was sent
    """

    bit: Slope | None
    uncertainty: Fraction
    frames: int
    bad: int
    deviations: Distribution
    stops: Distribution


def bits_of(blocks: Iterable[Sequence[PinEdge]], fmt: Format, nominal: Fraction, tick_hz: Fraction) -> Bits:
    """nominal: the bit period that was requested, in ticks."""
    frames = [read_frames(edges, fmt, nominal) for edges in blocks]
    wanted = alternating(fmt)
    good = [[frame for frame in block if frame.good and frame.data == wanted] for block in frames]
    bad = sum(map(len, frames)) - sum(map(len, good))
    marks = [frame.marks for block in good for frame in block]
    slope = slope_of(marks)
    deviations, stops = Distribution(), Distribution()
    if slope:
        for offset, frame in zip(slope.offsets, (frame for block in good for frame in block)):
            for k, tick in frame.marks:
                deviations.add(round((tick - offset - k * slope.value) / tick_hz * 10**12))
        for block in good:
            for frame, follower in zip(block, block[1:]):
                distance = follower.start - frame.start
                if frame.stop_mark is not None and distance <= (fmt.bits + ROW) * slope.value:
                    stops.add(follower.start - frame.stop_mark)
    return Bits(slope, uncertainty_of(slope, marks) if slope else Fraction(0), sum(map(len, good)), bad, deviations, stops)


# Rows of bytes --------------------------------------------------------------------------------------------------------


def runs_of(starts: Sequence[int], frame: Fraction, bit: Fraction) -> list[list[tuple[int, int]]]:
    """Start edges in a row, as [(number, tick)] for each run without a gap; frame: length of one in ticks."""
    runs: list[list[tuple[int, int]]] = []
    for before, tick in zip([None, *starts], starts):
        if before is None or not abs(tick - before - frame) <= ROW * bit:
            runs.append([])
        runs[-1].append((len(runs[-1]), tick))
    return runs


def gaps_of(rows: Iterable[Sequence[int]], frame: Fraction, tick_hz: Fraction) -> Distribution:
    """Time between the end of a frame and the start of the next one, in nanoseconds; below 0 by what is within the uncertainty."""
    gaps = Distribution()
    for starts in rows:
        for before, tick in zip(starts, starts[1:]):
            gaps.add(round((tick - before - frame) / tick_hz * 10**9))
    return gaps


@dataclass(frozen=True)
class Baud:
    """A bit rate, its distance from the nominal one and how much that may be off, both in parts per million, exact."""

    baud: Fraction
    ppm: Fraction
    uncertainty: Fraction


def baud_of(bit: Fraction, uncertainty: Fraction, nominal_baud: Fraction, tick_hz: Fraction) -> Baud:
    """bit: period in ticks, and how much that may be off."""
    baud = tick_hz / bit
    return Baud(baud, (baud / nominal_baud - 1) * 10**6, uncertainty / bit * baud / nominal_baud * 10**6)


# Loss -----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Loss:
    """How what came differs from what was sent, by the fewest changes: bytes missing, bytes that
    differ, bytes that were not sent."""

    sent: int = 0
    received: int = 0
    lost: int = 0
    wrong: int = 0
    added: int = 0
    errors: int = 0

    def __add__(self, other: "Loss") -> "Loss":
        return Loss(
            self.sent + other.sent,
            self.received + other.received,
            self.lost + other.lost,
            self.wrong + other.wrong,
            self.added + other.added,
            self.errors + other.errors,
        )

    @property
    def clean(self) -> bool:
        """All came as it was sent."""
        return not (self.lost or self.wrong or self.added or self.errors)


def loss_of(transfer: Transfer) -> Loss:
    """Of one row. The fewest changes; of as few, those with the most bytes that differ."""
    sent, received = transfer.sent, transfer.received
    size = (len(sent), len(received))
    while sent and received and sent[0] == received[0]:
        sent, received = sent[1:], received[1:]
    while sent and received and sent[-1] == received[-1]:
        sent, received = sent[:-1], received[:-1]
    # best[j]: (changes, lost + added, lost, added) from the first i bytes sent to the first j received
    best = [(j, j, 0, j) for j in range(len(received) + 1)]
    for i, byte in enumerate(sent, 1):
        row = [(i, i, i, 0)]
        for j, seen in enumerate(received, 1):
            changes, moved, lost, added = best[j - 1]
            ways = [(changes + (byte != seen), moved, lost, added)]
            changes, moved, lost, added = best[j]
            ways.append((changes + 1, moved + 1, lost + 1, added))
            changes, moved, lost, added = row[j - 1]
            ways.append((changes + 1, moved + 1, lost, added + 1))
            row.append(min(ways))
        best = row
    changes, moved, lost, added = best[-1]
    return Loss(*size, lost, changes - moved, added, transfer.errors)


# Latency --------------------------------------------------------------------------------------------------------------


class ClockMap:
    """Ticks of the board as nanoseconds of the host, between readings of both. What the readings leave open, the result leaves open, too.

    Of the readings, those count that leave open at most twice as much as the best one. Between two
    of them, a board's clock goes evenly. As far as it did not go at its nominal rate, it is unknown
    when it went how fast, so that is open, too. And so is a tick: a stamp is a whole one.
    """

    def __init__(self, readings: Iterable[Reading], tick_hz: Fraction) -> None:
        self._ns_per_tick = 10**9 / tick_hz
        all_of_them = sorted(readings, key=lambda each: each.tick)
        least = min((each.after - each.before for each in all_of_them), default=0)
        kept = [each for each in all_of_them if each.after - each.before <= 2 * least]
        self._readings = [each for before, each in zip([None, *kept], kept) if before is None or each.tick > before.tick]
        self._ticks = [each.tick for each in self._readings]

    def ns(self, tick: int) -> tuple[Fraction, Fraction] | None:
        """(nanoseconds, how much they may be off either way), None before the first and after the last reading."""
        after = bisect_right(self._ticks, tick)
        if after == len(self._ticks) and after and tick == self._ticks[-1]:
            after -= 1
        if not 0 < after < len(self._ticks):
            return None
        left, right = self._readings[after - 1], self._readings[after]
        share = Fraction(tick - left.tick, right.tick - left.tick)
        middles = [Fraction(each.before + each.after, 2) for each in (left, right)]
        passed = middles[1] - middles[0]
        open_ns = max(Fraction(each.after - each.before, 2) for each in (left, right))
        open_ns += abs(passed - (right.tick - left.tick) * self._ns_per_tick) + self._ns_per_tick
        return middles[0] + share * passed, open_ns


@dataclass
class Latency:
    """Distributions of the exchanges. round_trip: ticks from the end of the request to the start of the answer, exact.

    program: from read() to write() in the patient; read: from the end of the request to read(); write: from write() to the start of the
    answer; all ns, rounded. uncertainty: most that one of read and write may be off, ns; None without samples of them. missing: requests
    without an answer; left_out: exchanges without read and write, because the clocks' relation was not known well then
    """

    round_trip: Distribution = field(default_factory=Distribution)
    program: Distribution = field(default_factory=Distribution)
    read: Distribution = field(default_factory=Distribution)
    write: Distribution = field(default_factory=Distribution)
    uncertainty: int | None = None
    missing: int = 0
    left_out: int = 0


def latency_of(echo: Echo, tick_hz: Fraction) -> Latency:
    """Of all exchanges under one load. Of read and write, those count that are at most twice as uncertain as the median."""
    clock, found = ClockMap(echo.readings, tick_hz), Latency(missing=echo.missing)
    mapped: list[tuple[Fraction, Fraction, Fraction]] = []  # (uncertainty, read, write)
    for each in echo.exchanges:
        found.round_trip.add(each.answered - each.ended)
        found.program.add(each.write - each.read)
        ended, answered = clock.ns(each.ended), clock.ns(each.answered)
        if ended and answered:
            mapped.append((max(ended[1], answered[1]), each.read - ended[0], answered[0] - each.write))
    limit = 2 * sorted(open_ns for open_ns, *_ in mapped)[len(mapped) // 2] if mapped else 0
    for open_ns, read, write in mapped:
        if open_ns <= limit:
            found.read.add(round(read))
            found.write.add(round(write))
            found.uncertainty = max(found.uncertainty or 0, math.ceil(open_ns))
    found.left_out = len(echo.exchanges) - found.read.count
    return found


# Breaks, driver enable ------------------------------------------------------------------------------------------------


@dataclass
class Breaks:
    """requested: how many; seen: lengths on the line in ticks; program: ns from the call that begins one to the end of the last"""

    requested: int = 0
    seen: Distribution = field(default_factory=Distribution)
    program: Distribution = field(default_factory=Distribution)


def breaks_of(breaks: Iterable[Break]) -> Breaks:
    """All of them."""
    found = Breaks()
    for each in breaks:
        found.requested += 1
        found.program.add(each.ended - each.begun)
        if each.fall is not None and each.rise is not None:
            found.seen.add(each.rise - each.fall)
    return found


def break_in(edges: Sequence[PinEdge], longest_frame: Fraction) -> tuple[int, int] | None:
    """(fall, rise) of the longest low level if no frame is that long, else None."""
    lows = [(tick, up) for (tick, level), (up, _) in zip(edges, edges[1:]) if not level]
    fall, rise = max(lows, key=lambda low: low[1] - low[0], default=(0, 0))
    return (fall, rise) if rise - fall > longest_frame else None


@dataclass
class Enable:
    """Driver enable around frames, ns, rounded. lead: from its begin to the first start edge; lag: from the end of the last stop bit to
    its end, below 0 if that comes before. active: its level then; uncovered: frames that began while it was not active"""

    lead: Distribution = field(default_factory=Distribution)
    lag: Distribution = field(default_factory=Distribution)
    active: int | None = None
    uncovered: int = 0


def enable_of(blocks: Iterable[tuple[Sequence[PinEdge], Sequence[PinEdge], int]], fmt: Format, bit: Fraction, tick_hz: Fraction) -> Enable:
    """blocks: (edges of the line, edges of the enable, its level before them); bit: period in ticks."""
    seen: list[tuple[list[Frame], Sequence[PinEdge], int]] = []
    votes = 0
    for edges, enable, before in blocks:
        frames = read_frames(edges, fmt, bit)
        seen.append((frames, enable, before))
        votes += sum(1 if _level(enable, before, frame.start) else -1 for frame in frames)
    found = Enable(active=int(votes > 0) if votes else None)
    for frames, enable, before in seen:
        times = [(None, before), *enable]
        for (begin, level), (end, _) in zip(times, [*times[1:], (None, 0)]):
            if level != found.active:
                continue
            inside = [f for f in frames if (begin is None or f.start >= begin) and (end is None or f.start < end)]
            if inside and begin is not None:
                found.lead.add(round((inside[0].start - begin) / tick_hz * 10**9))
            if inside and end is not None:
                found.lag.add(round((end - inside[-1].start - fmt.bits * bit) / tick_hz * 10**9))
        found.uncovered += sum(_level(enable, before, frame.start) != found.active for frame in frames)
    return found


def _level(edges: Sequence[PinEdge], before: int, tick: int) -> int:
    index = bisect_right([each for each, _ in edges], tick)
    return edges[index - 1][1] if index else before
