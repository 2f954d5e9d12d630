# SPDX-License-Identifier: BSD-2-Clause
"""Reads the pins back from a VCD, in exact ticks.

Each time in the file is that of a tick, rounded to the file's unit. The unit is at most half a tick, so rounding to ticks returns it.
"""

import contextlib
import itertools
import re
from collections.abc import Generator, Iterator
from fractions import Fraction
from pathlib import Path
from typing import TextIO

from litepulse.errors import BadInput, shown
from litepulse.units import Number, si

_UNITS = {"s": 0, "ms": -3, "us": -6, "ns": -9, "ps": -12, "fs": -15}
_HEAD_LINES = 100_000  # of a file that may be no VCD


class VcdChanges:
    """What a VCD says of its 1-bit signals, read line by line: a file of any length. Iterate over it as often as needed."""

    def __init__(self, path: str | Path) -> None:
        """BadInput if it cannot be read, or is none. `unit`: of its times, in seconds; `names`: of its signals."""
        self.path = path
        with self._opened() as file:
            head, line = "", ""
            for line in itertools.islice(file, _HEAD_LINES):
                head += line
                if "$enddefinitions" in line:
                    break
        scale = re.search(r"\$timescale\s+(1|10|100)\s*(s|ms|us|ns|ps|fs)\s+\$end", head)
        if "$enddefinitions" not in line or not scale:
            raise BadInput(f"{path}: not a VCD")
        self.unit_name = f"{scale[1]} {scale[2]}"
        self.unit = int(scale[1]) * Fraction(10) ** _UNITS[scale[2]]
        self._codes: dict[str, str] = {}
        for code, name in re.findall(r"\$var\s+(?!string|event)\w+\s+1\s+(\S+)\s+(\S+)[^$]*\$end", head):
            self._codes[code] = name
        self.names = list(dict.fromkeys(self._codes.values()))

    @contextlib.contextmanager
    def _opened(self) -> Generator[TextIO]:
        try:
            with open(self.path, encoding="ascii") as file:
                yield file
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(f"{self.path}: cannot read it ({getattr(error, 'strerror', None) or 'not text'})") from None

    def __iter__(self) -> Iterator[tuple[int, int, str | None, str]]:
        """(number of the line, time, name of the signal, '0', '1' or 'x'); without a name where time passes."""
        time, state = 0, "head"
        with self._opened() as file:
            for number, line in enumerate(file, 1):
                for word in line.split():
                    if state == "comment" or state == "head":
                        state = state if word != "$end" or (state == "head" and "$enddefinitions" not in line) else ""
                    elif state == "code":  # of a vector, a number or a text
                        state = ""
                    elif word[0] == "#":
                        time = self._time(word, number)
                        yield number, time, None, ""
                    elif word[0] in "01xXzZ" and word[1:] in self._codes:
                        yield number, time, self._codes[word[1:]], word[0] if word[0] in "01" else "x"
                    elif word[0] in "bBrRsS":
                        state = "code"
                    elif word == "$comment":
                        state = "comment"

    def _time(self, word: str, number: int) -> int:
        try:
            return int(word[1:])
        except ValueError:
            raise BadInput(f"{self.path}: line {number}: {shown(word)} is no time") from None


class Vcd:
    """1-bit signals of a VCD: {name: [(tick, level)]}, the first entry being the level at the file's first time."""

    def __init__(self, path: str | Path, tick_hz: Number) -> None:
        self.tick_hz = Fraction(tick_hz)
        self.end = 0
        self.worst_rounding = Fraction(0)  # distance of any time in the file from its tick, in ticks
        changes = VcdChanges(path)
        self.unit = changes.unit
        units = 1 / (self.unit * self.tick_hz)  # in a tick
        if units < 2 and units != 1:
            raise BadInput(f"{path}: its unit of {changes.unit_name} is too coarse for ticks of {si(1 / self.tick_hz, 's')}")
        self.signals: dict[str, list[tuple[int, int]]] = {name: [] for name in changes.names}
        for _, time, name, value in changes:
            if name is None:
                self.end = self._tick(time)
            elif value != "x":
                mine = self.signals[name]
                if not mine or mine[-1][1] != int(value):
                    mine.append((self.end, int(value)))

    def _tick(self, time: int) -> int:
        exact = time * self.unit * self.tick_hz
        tick = round(exact)
        self.worst_rounding = max(self.worst_rounding, abs(exact - tick))
        return tick

    def falls(self, name: str) -> list[int]:
        """Ticks at which a signal fell."""
        return [tick for tick, level in self.signals[name][1:] if level == 0]
