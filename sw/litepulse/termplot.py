# SPDX-License-Identifier: BSD-2-Clause
"""Plots in a terminal: points in Braille cells (2 x 4 dots each), bars in block characters. Pure text."""

import math

from litepulse.units import fixed

_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def _label(value, step):
    """A number with as many decimals as `step` needs."""
    decimals = max(0, -math.floor(math.log10(step))) if step else 0
    return fixed(value, min(decimals, 9))


def points(xs, ys, title, x_label, y_label, width=80, height=12, y_range=None):
    """Lines of text: y over x."""
    if not xs:
        return [title, "  (nothing to plot)"]
    xs, ys = [float(x) for x in xs], [float(y) for y in ys]
    low, high = y_range or (min(ys), max(ys))
    if low == high:
        low, high = low - 1, high + 1
    left, right = min(xs), max(xs)
    if left == right:
        left, right = left - 1, right + 1
    step = (high - low) / 4
    marks = {round(i * (height - 1) / 4): _label(high - i * step, step) for i in range(5)}
    margin = max(len(m) for m in marks.values())
    columns = max(10, width - margin - 3)
    grid = [[0] * columns for _ in range(height)]
    for x, y in zip(xs, ys):
        if not low <= y <= high:
            continue
        px = round((x - left) / (right - left) * (columns * 2 - 1))
        py = round((high - y) / (high - low) * (height * 4 - 1))
        grid[py // 4][px // 2] |= _DOTS[py % 4][px % 2]
    out = [f"{title}  [{y_label}]"]
    for row in range(height):
        mark = marks.get(row, "")
        cells = "".join(chr(0x2800 + c) if c else " " for c in grid[row])
        out.append(f"{mark:>{margin}} {'┤' if mark else '│'}{cells}".rstrip())
    ends = f"{_label(left, 1)}{x_label:^{max(0, columns - 2 * len(_label(right, 1)))}}{_label(right, 1)}"
    out.append(f"{'':>{margin}} └{'─' * columns}")
    out.append(f"{'':>{margin}}  {ends}"[:width])
    return out


def bars(rows, title, width=80):
    """Lines of text: a horizontal bar for each (label, count)."""
    if not rows:
        return [title, "  (nothing to plot)"]
    labels = max(len(str(label)) for label, _ in rows)
    counts = max(len(str(count)) for _, count in rows)
    room = max(10, width - labels - counts - 4)
    most = max(count for _, count in rows)
    out = [title]
    for label, count in rows:
        eighths = max(1, round(count / most * room * 8)) if count else 0
        bar = "█" * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")
        out.append(f"{label!s:>{labels}} │{bar} {count:>{counts if not bar else 0}}")
    return out
