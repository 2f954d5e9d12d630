# SPDX-License-Identifier: BSD-2-Clause
"""What monitor, master and slave show: the frames as they come, and what they add up to."""

from argparse import Namespace
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from litepulse import Board, LostEvent, lin, output
from litepulse.backends import Losses
from litepulse.commands.following import to_the_end
from litepulse.commands.lin.table import FrameTable, fits
from litepulse.commands.report import LOST, clock_note, ended, headline, records_lost, shared
from litepulse.interrupt import Interrupt
from litepulse.job import Job
from litepulse.lin.frames import BINS, Spaces
from litepulse.lin.log import FrameLog
from litepulse.output import ns
from litepulse.spool import Spool
from litepulse.units import Timescale, counted, exact, fixed, hexadecimal

COLUMNS = ("t_ns", "tick", "id", "name", "pid", "data", "checksum", "model", "space_ticks", "spaces_ticks", "limit_ticks", "own", "error")


def value_of(frame: lin.Frame) -> dict[str, Any]:
    """A frame as --json has it."""
    return {
        "tick": frame.tick,
        "id": frame.frame_id,
        "name": frame.name or None,
        "pid": frame.pid,
        "data": frame.data.hex(),
        "checksum": frame.checksum,
        "model": frame.model,
        "space_ticks": None if frame.space is None else exact(frame.space),
        "spaces_ticks": None if frame.spaces is None else exact(frame.spaces),
        "limit_ticks": None if frame.limit is None else exact(frame.limit),
        "slow": frame.slow,
        "own_header": frame.own_header,
        "own_response": frame.own_response,
        "error": frame.error,
    }


def shown_byte(value: int | None) -> str | None:
    """An identifier or a byte."""
    return None if value is None else hexadecimal(value)


def row_of(frame: lin.Frame, timescale: Timescale) -> tuple[int | str | None, ...]:
    """A frame as CSV and vnlog have it."""
    own = {(True, True): "both", (True, False): "header", (False, True): "response"}.get((frame.own_header, frame.own_response))
    return (
        ns(timescale, frame.tick),
        frame.tick,
        shown_byte(frame.frame_id),
        frame.name or None,
        shown_byte(frame.pid),
        frame.data.hex() or None,
        shown_byte(frame.checksum),
        frame.model,
        None if frame.space is None else fixed(frame.space, 3),
        None if frame.spaces is None else fixed(frame.spaces, 3),
        None if frame.limit is None else fixed(frame.limit, 3),
        own,
        frame.error.replace(" ", "_") if frame.error else None,
    )


class Report:
    """Shows frames as they come, and in the end what they add up to."""

    def __init__(self, args: Namespace, board: Board, verb: str, bit: Fraction, description: lin.Description | None) -> None:
        self.args, self.board, self.verb, self.bit, self.description = args, board, verb, bit, description
        self.frames = Spool()
        self.spaces: dict[int, Spaces] = {}
        self.errors: dict[str, int] = {}
        self.count = 0
        self.log: FrameLog | None = None
        self.log_offset = 0.0  # seconds since 1970 at tick 0
        self.rows: output.Rows | None = None
        if args.style in ("csv", "vnl"):
            self.rows = output.Rows(args.style, COLUMNS, board.identity.backend)
        self.table = FrameTable(board, bit, description, fits())
        if args.style is None:
            output.write(f"{headline(board)}\n{self.table.heading()}")

    def show(self, item: lin.Frame | LostEvent) -> None:
        """A frame, or a loss."""
        if isinstance(item, LostEvent):
            if self.args.style is None:
                output.write(self.table.loss(item))
            return
        self.count += 1
        if self.log:
            self.log.add(item, self.log_offset + float(self.board.timescale.seconds(item.tick)))
        if item.error:
            self.errors[item.error] = self.errors.get(item.error, 0) + 1
        if item.frame_id is not None and not item.error:
            self.spaces.setdefault(item.frame_id, Spaces()).add(item)
        if self.args.style is None:
            output.write(self.table.frame(item))
        elif self.rows:
            self.rows.row(*row_of(item, self.board.timescale))
        else:
            self.frames.add(value_of(item))

    def histogram(self) -> list[str]:
        """Lines: how long the responses let wait, by identifier."""
        lines: list[str] = []
        for frame_id, spaces in sorted(self.spaces.items()):
            if spaces.least is None or spaces.most is None:
                continue
            bits = [fixed(value / self.bit, 2) for value in (spaces.least, spaces.most)]
            share = fixed(100 * spaces.share, 0)
            answers = counted(spaces.count, "response")
            heading = f"id {hexadecimal(frame_id)}: {answers}, spaces {bits[0]} to {bits[1]} bits, {share} % of the limit"
            lines.append(output.folded(heading))
            top, bar = max(spaces.bins.values()), min(40, (fits() or 80) - 28)
            for number, count in sorted(spaces.bins.items()):
                label = "more than the limit" if number == BINS else f"{100 * number // BINS:3d} to {100 * (number + 1) // BINS:3d} %"
                lines.append(f"{label:>19} {count:7d} {'#' * max(1, bar * count // top)}")
        return lines

    def end(self, losses: Losses, interrupt: Interrupt, more: dict[str, Any], rows: list[tuple[str, str]]) -> tuple[dict[str, Any], str]:
        """What it adds up to, for programs and for people."""
        wrong = ", ".join(f"{count} {what}" for what, count in sorted(self.errors.items())) or "none with an error"
        slow = sum(spaces.slow for spaces in self.spaces.values())
        summary = [("frames", f"{self.count}, {wrong}; {slow} slow; {records_lost(losses.total, losses.at_least)}")]
        summary += [*rows, ("clock", clock_note(self.board))]
        result = (
            shared(self.board, f"lin {self.verb}")
            | {"bit_period_ticks": exact(self.bit)}
            | more
            | {
                "frames": self.frames,
                "count": self.count,
                "errors": self.errors,
                "spaces": {
                    hexadecimal(frame_id): {
                        "count": spaces.count,
                        "slow": spaces.slow,
                        "least_ticks": None if spaces.least is None else exact(spaces.least),
                        "most_ticks": None if spaces.most is None else exact(spaces.most),
                        "histogram": [spaces.bins.get(number, 0) for number in range(BINS + 1)],
                    }
                    for frame_id, spaces in sorted(self.spaces.items())
                },
                "lost": losses.total,
                "lost_at_least": losses.at_least,
                "ended": "interrupt" if interrupt else "all there",
            }
        )
        return result, "\n".join([*self.histogram(), *output.aligned(summary)])

    def follow(
        self,
        job: Job[lin.Frame | LostEvent],
        interrupt: Interrupt,
        endless: bool,
        more: Callable[[], dict[str, Any]] = dict[str, Any],
        rows: Callable[[], list[tuple[str, str]]] = list[tuple[str, str]],
    ) -> int:
        """Shows what comes of a job until it ends; the exit status. more: for --json; rows: for people, in the end."""

        def look() -> None:
            for batch in job.batches():
                output.check()
                for item in batch:
                    self.show(item)

        losses = to_the_end(job, self.args.style, look, lambda: self.count, lambda losses: self.end(losses, interrupt, more(), rows()))
        return ended(interrupt, endless) or (LOST if losses.total or self.errors or not self.count else 0)
