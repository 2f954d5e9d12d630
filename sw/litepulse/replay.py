# SPDX-License-Identifier: BSD-2-Clause
"""What was captured, as launches: the pulses of a channel, or its bytes, with the distances that they had, to the tick.

All is checked before anything leaves: Recorded reads the file once to check it, and again for what is launched.
"""

import csv
import os
from collections.abc import Generator, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn, cast

from litepulse.backends.interface import LAUNCH_PROFILE
from litepulse.board import Board
from litepulse.errors import BadInput, shown
from litepulse.line import Format, Launch
from litepulse.plan import Order, frame, line_format, profile_of
from litepulse.sequence_plan import nearest
from litepulse.units import Duration, Number, Whole, whole, within
from litepulse.vcd import VcdChanges

BYTES = "bytes"  # the channel of what was received
_COLUMNS = {"tick", "channel", "value"}
Edge = tuple[int, int, str, str]  # (line, tick, channel, '0', '1', or 'x': not known)


class Recorded:
    """The pulses of a channel in a file that `capture --csv` or `--vcd` wrote, or in any VCD. BadInput, which names the line.

    channel: 'rx', '0', a signal of the VCD, or 'bytes' for those received; None if there is only one.
    idle: the level between the pulses (0 or 1), that before the first edge if it is not given.
    What has no beginning or no end in the file is left out: `left_out` says so. baud, format: of bytes
    """

    def __init__(
        self,
        board: Board,
        path: str | Path,
        channel: Whole | str | None = None,
        idle: Whole | None = None,
        *,
        baud: Number | str = 9600,
        format: Format | str = "8N1",
    ) -> None:
        if not isinstance(cast(object, board), Board):
            raise BadInput(f"board: {shown(board)} is not a Board")
        if not isinstance(cast(object, path), str | os.PathLike):
            raise BadInput(f"path: {shown(path)} is not a path")
        idle = None if idle is None else within(idle, "idle", 0, 1)
        channel = channel if channel is None or isinstance(channel, str) else str(whole(channel, "channel"))
        self.path, self._scale = path, board.timescale
        self._profile = profile_of(self._scale, baud, line_format(format))
        self._vcd = VcdChanges(path) if _is_vcd(path) else None
        self.channel = self._channel(channel)
        self.idle = idle
        self.left_out: list[str] = []
        self.count, self._first = 0, 0
        self._check()

    def __iter__(self) -> Iterator[tuple[Duration, Launch]]:
        """As Board.launches() takes them; the first one is at the start."""
        for _, tick, launch in self._launches():
            yield Duration(ticks=Fraction(tick - self._first), relative=True), launch

    @property
    def invert(self) -> bool:
        """Whether the line rests at 0."""
        return self.idle == 0

    def _check(self) -> None:
        order, apart, last = Order(self._profile), nearest(self._scale.samples_per_cycle), 0
        for line, tick, launch in self._launches(self.left_out):
            if not self.count:
                self._first = tick
            elif tick < last + apart:
                distance, least = self._scale.named(tick - last), self._scale.named(apart)
                self._refuse(line, f"it begins {distance} behind the one before; launches are at least {least} apart")
            try:
                order.check(self.count, tick, launch)
            except BadInput:
                self._refuse(line, "it begins before the one before is over")
            self.count, last = self.count + 1, tick
        if not self.count:
            raise BadInput(f"{self.path}: it has no {'byte' if self.channel == BYTES else f'pulse of {self.channel}'}, nothing to send")

    def _refuse(self, line: int, why: object) -> NoReturn:
        raise BadInput(f"{self.path}: line {line}: {why}") from None

    # What is launched

    def _launches(self, left_out: list[str] | None = None) -> Generator[tuple[int, int, Launch]]:
        """(line, tick, launch)."""
        if self.channel == BYTES:
            for line, tick, row in self._rows():
                if row["channel"] == "byte":
                    yield line, tick, self._frame(line, row)
            return
        level: int | None = None
        begun: tuple[int, int] | None = None  # (line, tick)
        for line, tick, channel, value in self._edges():
            if channel != self.channel:
                continue
            if value == "x":
                if level is not None:
                    self._refuse(line, f"records are missing from here on, {self.channel} is not known: what is replayed must be whole")
                continue
            new = int(value)
            if level is None and self._vcd:  # the level at the beginning
                level = new
                self.idle = new if self.idle is None else self.idle
                continue
            if level == new:
                if self._vcd:
                    continue
                self._refuse(line, f"{self.channel} is {new} already: an edge is missing")
            level = new
            self.idle = 1 - new if self.idle is None else self.idle
            if new != self.idle:
                begun = line, tick
            elif begun is None:
                if left_out is not None:
                    left_out.append(f"{self.path}: line {line}: the pulse that ends here has no beginning, and is left out")
            else:
                yield *begun, self._pulse(begun[0], tick - begun[1])
                begun = None
        if begun and left_out is not None:
            left_out.append(f"{self.path}: line {begun[0]}: the pulse that begins here has no end, and is left out")

    def _pulse(self, line: int, width: int) -> Launch:
        try:
            return Launch("pulse", 0, LAUNCH_PROFILE, width)
        except BadInput as error:
            self._refuse(line, error)

    def _frame(self, line: int, row: dict[str, str]) -> Launch:
        flags = set((row.get("flags") or "").split("+")) - {"", "-", "own", "noise"}
        if flags:
            self._refuse(line, f"a byte with {' and '.join(sorted(flags))} cannot be sent as one")
        try:
            return frame(_number(row["value"], "value"), self._profile.format)
        except BadInput as error:
            self._refuse(line, error)

    # The files

    def _channel(self, wanted: str | None) -> str:
        found = self._vcd.names if self._vcd else self._channels_of_rows()
        if wanted is not None:
            for name in (wanted, f"in{wanted}" if self._vcd else wanted.removeprefix("in")):
                if name in found:
                    return name
            raise BadInput(f"channel: {shown(wanted)} is not in {self.path} ({', '.join(found) or 'nothing is'})")
        if self._vcd:
            moving: dict[str, int] = {}
            for _, _, name, value in self._vcd:
                if name is not None and value != "x":
                    moving[name] = moving.get(name, 0) + 1
            found = [name for name in found if moving.get(name, 0) > 1]
        if len(found) != 1:
            what = f"{', '.join(found)}: give --channel (channel)" if found else "nothing, so nothing to send"
            raise BadInput(f"{self.path}: it has {what}")
        return found[0]

    def _channels_of_rows(self) -> list[str]:
        names = dict.fromkeys(row["channel"] for _, _, row in self._rows())
        return sorted(BYTES if name == "byte" else name for name in names if name != "lost")

    def _edges(self) -> Iterator[Edge]:
        if self._vcd:
            ticks = self._vcd.unit * self._scale.tick_hz
            for line, time, name, value in self._vcd:
                if name is not None:
                    yield line, round(time * ticks), name, value
            return
        for line, tick, row in self._rows():
            if row["channel"] != "byte":
                if row["value"] not in ("0", "1"):
                    self._refuse(line, f"value: {shown(row['value'])} is no level")
                yield line, tick, row["channel"], row["value"]

    def _rows(self) -> Iterator[tuple[int, int, dict[str, str]]]:
        """(line, tick, columns) of a CSV file."""
        try:
            with open(self.path, newline="", encoding="utf-8-sig") as file:
                rows = csv.DictReader(file, strict=True)
                if not set(rows.fieldnames or ()) >= _COLUMNS:
                    raise BadInput(f"{self.path}: it is neither a VCD nor what `capture --csv` writes (columns tick, channel, value)")
                last = 0
                for row in rows:
                    tick = self._tick(rows.line_num, row)
                    if row["channel"] != "byte":  # these come when they are over
                        if tick < last:
                            self._refuse(rows.line_num, f"tick {tick} is before that of the line before")
                        last = tick
                    yield rows.line_num, tick, row
        except OSError as error:
            raise BadInput(f"{self.path}: cannot read it ({error.strerror})") from None
        except (csv.Error, UnicodeError) as error:
            raise BadInput(f"{self.path}: it is no CSV file ({error})") from None

    def _tick(self, line: int, row: dict[Any, Any]) -> int:
        if None in row or None in row.values():
            self._refuse(line, "its columns are not those of the first line")
        try:
            tick = _number(row["tick"], "tick")
        except BadInput as error:
            self._refuse(line, error)
        if row["channel"] == "lost":
            self._refuse(line, f"{row['value']} records are missing here: what is replayed must be whole")
        named = row.get("t_ns")
        if named and named != (mine := self._scale.decimal(tick, 9, 3)):
            self._refuse(line, f"tick {tick} was at {named} ns, on this board it is at {mine} ns: its clock is another one")
        return tick


def _is_vcd(path: str | Path) -> bool:
    """Whether a file begins as one."""
    try:
        with open(path, "rb") as file:
            return file.read(1000).lstrip().startswith(b"$")
    except OSError as error:
        raise BadInput(f"{path}: cannot read it ({error.strerror})") from None


def _number(text: str, what: str) -> int:
    """Of a field."""
    if not text.isascii() or not text.isdigit() or len(text) > 19:
        raise BadInput(f"{what}: {shown(text)} is not a whole number")
    return int(text)
