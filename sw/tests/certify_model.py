# SPDX-License-Identifier: BSD-2-Clause
"""What litepulse certify must say of a line whose every edge is known. It shares nothing with the package."""

from collections import Counter
from fractions import Fraction


def histogram(values):
    """[[value, how often], ...]"""
    return [list(row) for row in sorted(Counter(values).items())]


def frames_of(changes, bit):
    """[(byte, [tick of each edge])] of 8N1 on a line that is idle first; changes: [(tick, level)]; bit: about its period."""
    found, index = [], 0
    while index < len(changes):
        start, level = changes[index]
        assert level == 0, f"no start bit at {start}"
        mine = [changes[index]]
        while index + len(mine) < len(changes) and changes[index + len(mine)][0] < start + Fraction(19, 2) * bit:
            mine.append(changes[index + len(mine)])
        levels = []
        for k in range(10):
            levels.append([level for tick, level in mine if tick <= start + (k + Fraction(1, 2)) * bit][-1])
        assert levels[9] == 1, f"no stop bit at {start}"
        found.append((sum(level << k for k, level in enumerate(levels[1:9])), [tick for tick, _ in mine]))
        index += len(mine)
    return found


def least_squares(frames):
    """(slope, [offset of each]) of frames of alternating bits, each ten ticks: by sums of products."""
    above = below = Fraction(0)
    for ticks in frames:
        assert len(ticks) == 10
        above += sum(k * t for k, t in enumerate(ticks)) - Fraction(45 * sum(ticks), 10)
        below += 285 - Fraction(45**2, 10)
    slope = above / below
    return slope, [Fraction(sum(ticks), 10) - slope * Fraction(9, 2) for ticks in frames]


def deviations(frames, hz):
    """Picoseconds of each edge from the line through its frame, rounded."""
    slope, offsets = least_squares(frames)
    return [round((tick - offset - k * slope) * 10**12 / hz) for offset, ticks in zip(offsets, frames) for k, tick in enumerate(ticks)]
