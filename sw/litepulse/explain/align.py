# SPDX-License-Identifier: BSD-2-Clause
"""The board's ticks and the kernel's clock on one time line.

The clocks are compared by the bytes themselves. An edge never comes before the UART has its byte,
and the hardware of the fastest byte takes a constant time. So a straight line below all (edge -
handed) is that constant and the drift of the clocks; what an edge lies above it is delay.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

MAX_DRIFT = Fraction(1, 5000)  # of two clocks: crystals are better by far
PATIENCE = 10**9  # ns: a later edge than this belongs to another byte


@dataclass(frozen=True)
class Frame:
    """A start edge on the wire. ns: the same in CLOCK_MONOTONIC, wrong by up to `uncertainty`;
    ticks: until the end of its stop bit."""

    tick: int
    ns: int
    uncertainty: int
    ticks: int
    data: int | None = None


def frames_of_edges(edges: Iterable[tuple[int, int, int, int]], bit: Fraction, bits: Fraction, idle: int = 1) -> list[Frame]:
    """The frames of edges (tick, level, ns, uncertainty) of a line that rests at `idle`; bit:
    ticks; bits: of a frame, all of them."""
    found: list[Frame] = []
    free: int | Fraction = 0
    for tick, level, ns, uncertainty in edges:
        if level != idle and tick >= free:
            found.append(Frame(tick, ns, uncertainty, int(bit * bits)))
            free = tick + bit * (bits - Fraction(1, 2))
    return found


def frames_of_bytes(received: Iterable[tuple[int, int, int, int]], bit: Fraction, bits: Fraction) -> list[Frame]:
    """The frames of received bytes (tick, value, ns, uncertainty)."""
    return [Frame(tick, ns, uncertainty, int(bit * bits), data) for tick, data, ns, uncertainty in received]


def paired(handed: Sequence[tuple[int, int]], frames: Sequence[Frame]) -> list[Frame | None]:
    """The first frame of each write; handed: (when, how many bytes), in their order. None: there is
    no edge for it.

    If there are as many frames as bytes, they belong together in their order. Else a frame before
    the UART had its byte, or long after, is not of that write.
    """
    found: list[Frame | None] = []
    at = 0
    if sum(size for _, size in handed) == len(frames):
        for _, size in handed:
            found.append(frames[at])
            at += size
        return found
    left = sum(size for _, size in handed)
    for number, (when, size) in enumerate(handed):
        while at < len(frames) and frames[at].ns + frames[at].uncertainty < when:
            at += 1
        frame = frames[at] if at < len(frames) else None
        later = handed[number + 1][0] if number + 1 < len(handed) else None
        left -= size
        if frame is not None and frame.ns - frame.uncertainty <= when + PATIENCE:
            lacking = left + size > len(frames) - at
            if not (lacking and later is not None and frame.ns + frame.uncertainty >= later):
                found.append(frame)
                # Those of the same write follow without a pause.
                last = at + size
                at += 1
                while at < min(last, len(frames)) and frames[at].tick - frames[at - 1].tick < 2 * frames[at - 1].ticks:
                    at += 1
                continue
        found.append(None)
    return found


@dataclass(frozen=True)
class Line:
    """value(t) = offset + slope * (t - origin), ns."""

    origin: int
    offset: Fraction
    slope: Fraction

    def value(self, at: int) -> Fraction:
        """At a time."""
        return self.offset + self.slope * (at - self.origin)


def below(points: Sequence[tuple[int, int]], least: Fraction = -MAX_DRIFT, most: Fraction = MAX_DRIFT) -> Line:
    """The highest straight line, at the mean of all times, that lies below all points (time,
    value); its slope is `least` to `most`."""
    points = sorted(points)
    hull: list[tuple[int, int]] = []
    for x, y in points:
        while len(hull) > 1 and (hull[-1][1] - hull[-2][1]) * (x - hull[-2][0]) >= (y - hull[-2][1]) * (hull[-1][0] - hull[-2][0]):
            hull.pop()
        if hull and hull[-1][0] == x:
            if hull[-1][1] <= y:
                continue
            hull.pop()
        hull.append((x, y))
    middle = Fraction(sum(x for x, _ in points), len(points))
    slope = Fraction(0)
    for (x0, y0), (x1, y1) in zip(hull, hull[1:]):
        slope = Fraction(y1 - y0, x1 - x0)
        if middle <= x1:
            break
    slope = max(least, min(most, slope))
    origin = points[0][0]
    return Line(origin, min(y - slope * (x - origin) for x, y in points), slope)


@dataclass(frozen=True)
class Alignment:
    """late: of each byte, by how many ns its edge came later after `handed` than that of the fastest
    byte; line: below all.

    constant: what is left between `handed` and the fastest edge by the board's own clock map, ns, and
    uncertainty: by how much it may be wrong; drift: of the board's clock against the kernel's.
    """

    late: list[int]
    line: Line
    origin: int
    tick_ns: Fraction
    constant: int
    uncertainty: int

    @property
    def drift(self) -> Fraction:
        """Of the board's clock: 1/10**6 is a ppm by which its ticks are too long."""
        return self.line.slope

    def ns_of(self, tick: int) -> int:
        """A tick in CLOCK_MONOTONIC, as if the fastest byte had left when the UART got it."""
        raw = self.origin + tick * self.tick_ns
        return round(raw - self.line.value(round(raw - self.line.offset)))


def drifts(frames: Sequence[Frame], tick_ns: Fraction) -> tuple[Fraction, Fraction]:
    """The least and the most that the clocks may drift, by the board's clock map at the first
    and the last frame."""
    first, last = frames[0], frames[-1]
    length = (last.tick - first.tick) * tick_ns
    if not length:
        return -MAX_DRIFT, MAX_DRIFT
    drift = (last.ns - first.ns - length) / length
    error = (first.uncertainty + last.uncertainty) / length
    least, most = max(drift - error, -MAX_DRIFT), min(drift + error, MAX_DRIFT)
    return (least, most) if least <= most else (-MAX_DRIFT, MAX_DRIFT)


def align(handed: Sequence[int], frames: Sequence[Frame], tick_hz: Fraction, waited: Collection[int] = ()) -> Alignment:
    """Of bytes: when the UART got each, and its frame. At least one. waited: ticks of frames that
    began when the one before it had ended: they say nothing about the hardware's constant."""
    tick_ns = 10**9 / tick_hz
    origin = frames[0].ns - int(frames[0].tick * tick_ns)
    raw = [origin + int(frame.tick * tick_ns) for frame in frames]
    points = [(at, edge - at) for at, edge, frame in zip(handed, raw, frames) if frame.tick not in waited]
    line = below(points or [(at, edge - at) for at, edge in zip(handed, raw)], *drifts(frames, tick_ns))
    late = [max(0, round(edge - at - line.value(at))) for at, edge in zip(handed, raw)]
    least = min(range(len(handed)), key=lambda number: late[number])
    frame = frames[least]
    return Alignment(late, line, origin, tick_ns, frame.ns - handed[least], frame.uncertainty)
