# SPDX-License-Identifier: BSD-2-Clause
"""Reads the pins back from a VCD, in exact ticks.

Each time in the file is that of a tick, rounded to the file's unit. The unit is at most half a tick, so rounding to ticks returns it.
"""

import re
from fractions import Fraction
from pathlib import Path

from litepulse.errors import BadInput
from litepulse.units import Number, si

_UNITS = {"s": 0, "ms": -3, "us": -6, "ns": -9, "ps": -12, "fs": -15}


class Vcd:
    """1-bit signals of a VCD: {name: [(tick, level)]}, the first entry being the level at the file's first time."""

    def __init__(self, path: str | Path, tick_hz: Number) -> None:
        self.tick_hz = Fraction(tick_hz)
        self.signals: dict[str, list[tuple[int, int]]] = {}
        self.end = 0
        self.worst_rounding = Fraction(0)  # distance of any time in the file from its tick, in ticks
        try:
            text = Path(path).read_text(encoding="ascii")
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(f"{path}: cannot read it ({getattr(error, 'strerror', None) or 'not text'})") from None
        head, mark, body = text.partition("$enddefinitions $end")
        scale = re.search(r"\$timescale\s+(1|10|100)\s*(s|ms|us|ns|ps|fs)\s+\$end", head)
        if not mark or not scale:
            raise BadInput(f"{path}: not a VCD")
        self.unit = int(scale[1]) * Fraction(10) ** _UNITS[scale[2]]
        if self.unit * self.tick_hz > Fraction(1, 2):
            raise BadInput(f"{path}: its unit of {scale[1]} {scale[2]} is too coarse for ticks of {si(1 / self.tick_hz, 's')}")
        ids: dict[str, list[tuple[int, int]]] = {}
        for code, name in re.findall(r"\$var\s+\w+\s+1\s+(\S+)\s+(\S+)[^$]*\$end", head):
            ids[code] = self.signals.setdefault(name, [])
        tick = 0
        for word in body.split():
            if word[0] == "#":
                tick = self._tick(int(word[1:]))
            elif word[0] in "01" and word[1:] in ids:
                changes = ids[word[1:]]
                if not changes or changes[-1][1] != int(word[0]):
                    changes.append((tick, int(word[0])))
        self.end = tick

    def _tick(self, time: int) -> int:
        exact = time * self.unit * self.tick_hz
        tick = round(exact)
        self.worst_rounding = max(self.worst_rounding, abs(exact - tick))
        return tick

    def falls(self, name: str) -> list[int]:
        """Ticks at which a signal fell."""
        return [tick for tick, level in self.signals[name][1:] if level == 0]
