# SPDX-License-Identifier: BSD-2-Clause
"""Plots in a terminal: points in Braille cells (2 x 4 dots each), bars in block characters. Pure text.

A terminal that cannot show these gets plots of ASCII characters (`plain`).
"""

import math
import textwrap
from collections import deque
from collections.abc import Iterable, Sequence

from litepulse.units import Number, fixed

_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_UPPER = _DOTS[0][0] | _DOTS[0][1] | _DOTS[1][0] | _DOTS[1][1]
_FRAME = {"┤": "+", "│": "|", "└": "+", "─": "-", "−": "-"}
_SHADES, _PLAIN_SHADES = " ░▒▓█", " .:+#"
DENSE = 8  # more points to a column than this are drawn as a density
SAMPLE = "⣿█┤"  # what a terminal must be able to show for plots that are not plain


def _cell(dots: int, plain: bool) -> str:
    """The character of a cell with these dots."""
    if not dots:
        return " "
    if not plain:
        return chr(0x2800 + dots)
    return ":" if dots & _UPPER and dots & ~_UPPER else "'" if dots & _UPPER else "."


def _plain(lines: Iterable[str]) -> list[str]:
    """Lines without the characters of a frame."""
    return [line.translate(str.maketrans(_FRAME)).encode("ascii", "replace").decode() for line in lines]


def _label(value: Number, step: float) -> str:
    """A number with as many decimals as `step` needs."""
    decimals = max(0, -math.floor(math.log10(step))) if step else 0
    return fixed(value, min(decimals, 9))


def points(
    xs: Sequence[float],
    ys: Sequence[float],
    title: str,
    x_label: str,
    y_label: str,
    width: int = 80,
    height: int = 12,
    y_range: tuple[float, float] | None = None,
    plain: bool = False,
) -> list[str]:
    """Lines of text: y over x; the density of points where there are many.

    `width` in columns, marks included; `height` in lines, without title and axis.
    """
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
    grid, counts = [[0] * columns for _ in range(height)], [[0] * columns for _ in range(height)]
    for x, y in zip(xs, ys):
        if not low <= y <= high:
            continue
        px = round((x - left) / (right - left) * (columns * 2 - 1))
        py = round((high - y) / (high - low) * (height * 4 - 1))
        grid[py // 4][px // 2] |= _DOTS[py % 4][px % 2]
        counts[py // 4][px // 2] += 1
    shades = (_PLAIN_SHADES if plain else _SHADES) if len(xs) > DENSE * columns else None
    most = max(map(max, counts))
    out = textwrap.wrap(f"{title}  [{y_label}]", width, replace_whitespace=False, drop_whitespace=False) or [""]
    for row in range(height):
        mark = marks.get(row, "")
        if shades:
            cells = "".join(shades[-(-4 * count // most)] for count in counts[row])
        else:
            cells = "".join(_cell(dots, plain) for dots in grid[row])
        out.append(f"{mark:>{margin}} {'┤' if mark else '│'}{cells}".rstrip())
    ends = f"{_label(left, 1)}{x_label:^{max(0, columns - 2 * len(_label(right, 1)))}}{_label(right, 1)}"
    out.append(f"{'':>{margin}} └{'─' * columns}")
    out.append(f"{'':>{margin}}  {ends}"[:width])
    return _plain(out) if plain else out


class Rolling:
    """The last points of something that goes on, drawn as wide as the terminal is at that moment."""

    def __init__(self, x_label: str, y_label: str, y_range: tuple[float, float] | None = None, most: int = 4000) -> None:
        self.x_label, self.y_label, self.y_range = x_label, y_label, y_range
        self._points: deque[tuple[float, float]] = deque(maxlen=most)

    def add(self, x: float, y: float) -> None:
        """The newest point."""
        self._points.append((x, y))

    def lines(self, width: int, height: int = 7, plain: bool = False) -> list[str]:
        """A picture: two points to a column, so that each is seen; none while there is nothing to see."""
        shown = list(self._points)[-2 * max(10, width - 12) :]
        if len(shown) < 2:
            return []
        xs, ys = zip(*shown)
        y_range = self.y_range
        if y_range and not y_range[0] <= min(ys) <= max(ys) <= y_range[1]:
            y_range = None
        return points(xs, ys, f"the last {len(shown)}", self.x_label, self.y_label, width, height, y_range, plain)


def bars(rows: Sequence[tuple[object, int]], title: str, width: int = 80, plain: bool = False) -> list[str]:
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
        bar = "#" * (-(-eighths // 8)) if plain else "█" * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")
        out.append(f"{label!s:>{labels}} │{bar} {count:>{counts if not bar else 0}}")
    return _plain(out) if plain else out
