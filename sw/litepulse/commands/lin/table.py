# SPDX-License-Identifier: BSD-2-Clause
"""The table of LIN frames for people: one line a frame, or several where the terminal is too narrow for that."""

import textwrap
from collections.abc import Sequence
from fractions import Fraction

from litepulse import Board, LostEvent, lin, output
from litepulse.errors import printable
from litepulse.output import ms
from litepulse.streams import Lost
from litepulse.units import fixed, hexadecimal

INDENT, NARROW_INDENT = 26, 2  # columns of what follows a frame's first line: below its name where there is room
INDENTED = 60  # columns from which on there is
DATA, SPACES = 38, 18  # columns


class FrameTable:
    """Makes the lines of the table. width: columns of the terminal; None: rows of any length, for a file or a pipe."""

    def __init__(self, board: Board, bit: Fraction, description: lin.Description | None = None, width: int | None = None) -> None:
        self.board, self.bit, self.description, self.width = board, bit, description, width

    def heading(self) -> str:
        """Above the frames."""
        return self._fit(["t [ms]".rjust(18) + "  id  ", "name", "data [checksum]", "spaces"])

    def frame(self, frame: lin.Frame) -> str:
        """A frame's line, or lines."""
        number = "-" if frame.frame_id is None else hexadecimal(frame.frame_id)
        data = " ".join(f"{byte:02x}" for byte in frame.data)
        if frame.checksum is not None:
            data += f" [{frame.checksum:02x} {frame.model or '?'}]"
        bit = self.bit
        wait = f"{fixed(frame.spaces / bit, 2)} of {fixed(frame.limit / bit, 0)} bits" if frame.spaces is not None and frame.limit else ""
        notes = [frame.error] if frame.error else []
        notes += ["SLOW"] if frame.slow else []
        notes += ["own"] if frame.own_response else []
        signals = self.description.decode(frame.name, frame.data) if self.description and frame.name and not frame.error else {}
        notes += [f"{signal}={printable(str(value))}" for signal, value in signals.items()]
        return self._fit([f"{ms(self.board.timescale, frame.tick):>18}  {number:>4}", frame.name, data, wait, *notes])

    def loss(self, lost: LostEvent) -> str:
        """Records are missing here."""
        return self._fit([f"{ms(self.board.timescale, lost.tick):>18}  LOST", str(Lost(lost.tick, lost.count, lost.at_least))])

    def _fit(self, parts: Sequence[str]) -> str:
        """Time and identifier, name, data, spaces and notes in their columns, on one line if it fits, else on as many as it takes."""
        head, name, data, wait, *notes = [*parts, "", "", ""]
        notes = [note for note in notes if note]
        row = f"{head}  {name:<16} {data:<{DATA}} {wait:<{SPACES}} {' '.join(notes)}".rstrip()
        if self.width is None or len(row) <= self.width:
            return row
        indent = " " * (INDENT if self.width >= INDENTED else NARROW_INDENT)
        lines = [f"{head}  "]
        for number, part in enumerate([name, data, wait, *notes]):
            padded = f"{part:<16} " if number == 0 and lines == [f"{head}  "] else f"{part} " * bool(part)
            if number != 2 and len((lines[-1] + padded).rstrip()) <= self.width:
                lines[-1] += padded
            elif part:
                lines += textwrap.wrap(part, self.width, initial_indent=indent, subsequent_indent=indent)
                lines[-1] += " "
        return "\n".join(line.rstrip() for line in lines)


def fits() -> int | None:
    """Columns that a line may have."""
    return output.terminal_width() if output.is_terminal() else None
