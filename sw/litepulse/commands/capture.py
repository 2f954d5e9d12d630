# SPDX-License-Identifier: BSD-2-Clause
"""litepulse capture"""

import math
import time
from argparse import Namespace
from fractions import Fraction
from typing import Any

from litepulse import Board, Capture, output
from litepulse.backends import CLOCKS, Losses
from litepulse.board import FILTER_MAX
from litepulse.commands import VERBS, arguments
from litepulse.commands.arguments import Parser, Verbs
from litepulse.commands.following import to_the_end
from litepulse.commands.report import LOST, ended, headline, records_lost, shared
from litepulse.errors import BadInput
from litepulse.interrupt import Interrupt
from litepulse.output import ms, ns
from litepulse.spool import Spool
from litepulse.streams import Lost, RxByte
from litepulse.units import counted, si

EXAMPLES = """  litepulse capture --inputs 0,1,rx --for 2s
  litepulse capture --bytes --inputs none --baud 115200 --csv > bytes.csv
  litepulse capture --bytes --inputs none --clock realtime --csv > log.csv
  litepulse --sim --stimulus edges.txt capture --inputs 0 --count 3"""


def add(verbs: Verbs) -> None:
    """The verb, to the command line."""
    sub = arguments.add_verb(verbs, "capture", run, VERBS["capture"], ("json", "csv", "vnl"), EXAMPLES)
    add_wanted(sub)
    sub.add_argument(
        "--clock",
        dest="wall_clock",
        choices=CLOCKS,
        help="also show each time in a clock of this PC, and by how much it may be wrong (default: the board's ticks alone)",
    )


def add_wanted(sub: Parser) -> None:
    """The options of what is captured; begin() takes them."""
    sub.add_argument(
        "--inputs",
        default="rx",
        metavar="LIST",
        type=arguments.channels,
        help="channels whose edges are shown, e.g. 0,1,rx, or none with --bytes (default rx)",
    )
    sub.add_argument("--edges", choices=("both", "rise", "fall"), default="both", help="which edges are shown (default both)")
    sub.add_argument(
        "--filter",
        default="0",
        metavar="N",
        type=arguments.count("filter", 0, FILTER_MAX),
        help="ignore levels shorter than N samples, up to 63 (default 0: off)",
    )
    sub.add_argument("--bytes", action="store_true", help="decode received bytes, too (with --baud, --format)")
    sub.add_argument("--count", default="0", metavar="N", type=arguments.count(), help="stop after N edges and bytes")
    sub.add_argument(
        "--for", dest="duration", metavar="T", type=arguments.duration("for"), help="stop after this time of the board's clock"
    )
    arguments.add_line(sub)
    arguments.add_move_tx(sub)


class Found:
    """What was captured, as it is written down: everything for JSON, else only how much it was."""

    def __init__(self, style: str | None, clock: str | None = None) -> None:
        self.keep, self.clock = style == "json", clock
        self.edges, self.bytes = Spool(), Spool()
        self.edge_count = self.byte_count = 0

    def add(self, tick: int, what: str, value: int | RxByte | Lost, ns: int | None, uncertainty: int) -> tuple[int, str | None, str]:
        """An edge or a byte, with its time in the requested clock; returns (value and flags for
        programs, text for people)."""
        if isinstance(value, Lost):
            return value.count, "at_least" if value.at_least else None, f"LOST {value}"
        more = {} if self.clock is None else {"ns": ns, "uncertainty_ns": uncertainty}
        if isinstance(value, RxByte):
            self.byte_count += 1
            flags = value.flags
            if self.keep:
                self.bytes.add({"tick": value.tick, "data": value.data, "flags": flags} | more)
            return value.data, "+".join(flags) or None, f"byte 0x{value.data:02x}{''.join(f' {flag}' for flag in flags)}"
        self.edge_count += 1
        if self.keep:
            self.edges.add({"tick": tick, "channel": what, "level": value} | more)
        return value, None, f"{what} {'↑' if value else '↓'}"

    @property
    def count(self) -> int:
        """Edges and bytes."""
        return self.edge_count + self.byte_count


def check_wanted(args: Namespace) -> None:
    """BadInput if there would be nothing to capture."""
    if args.sim and not args.stimulus and args.count == 0 and args.duration is None:
        raise BadInput("nothing drives the simulated inputs: give --stimulus FILE (lines 'tick channel level'), or --count or --for")
    if not args.inputs and not args.bytes:
        raise BadInput("inputs: none leaves nothing to capture without --bytes")


def begin(args: Namespace, board: Board) -> Capture:
    """The capture that the options ask for."""
    return board.capture(
        args.inputs,
        edges=args.edges,
        filter=args.filter,
        bytes=args.bytes,
        count=args.count,
        duration=args.duration,
        **arguments.line_of(args),
        move_tx=args.move_tx,
    )


def run(args: Namespace) -> int:
    """litepulse capture"""
    check_wanted(args)
    with arguments.board(args) as board, Interrupt() as interrupt:
        return follow(args, board, begin(args, board), interrupt)


def follow(args: Namespace, board: Board, job: Capture, interrupt: Interrupt) -> int:
    """Shows what comes until it ends."""
    clock: str | None = args.wall_clock
    ts, found, rows_out = board.timescale, Found(args.style, clock), None
    names = ("t_ns", "dt_ms", "tick", "channel", "value", "flags", *((f"{clock}_ns", "uncertainty_ns") if clock else ()))

    def look() -> None:
        nonlocal rows_out
        if args.style in ("csv", "vnl"):
            rows_out = output.Rows(args.style, names, board.identity.backend)
        elif args.style is None:
            heading = f"{'t [ms]':>18}  {'dt [ms]':>16}  {'tick':>14}  what" if clock is None else f"{clock:<42}  {'tick':>14}  what"
            output.write(f"{headline(board)}\n{heading}")
        last = None
        for batch in job.rows():
            for tick, what, value, nanoseconds, uncertainty in batch:
                dt = ms(ts, tick - last) if last is not None else None
                shown, flags, text = found.add(tick, what, value, nanoseconds, uncertainty)
                if args.style is None and clock is not None:
                    output.write(f"{moment_of(clock, nanoseconds, uncertainty):<42}  {tick:>14}  {text}")
                elif args.style is None:
                    output.write(f"{ms(ts, tick):>18}  {dt or '-':>16}  {tick:>14}  {text}")
                elif rows_out:
                    timed = () if clock is None else (nanoseconds, None if nanoseconds is None else uncertainty)
                    rows_out.row(ns(ts, tick), dt, tick, what, shown, flags, *timed)
                last = tick

    def report(losses: Losses) -> tuple[dict[str, Any], str]:
        result = (
            shared(board, "capture")
            | ({"clock": clock} if clock else {})
            | {"edges": found.edges, "lost": losses.total, "lost_at_least": losses.at_least, "bytes": found.bytes}
        )
        where, lost = "SIMULATED: " if board.simulated else "", records_lost(losses.total, losses.at_least)
        return result, f"{where}{counted(found.edge_count, 'edge')}, {counted(found.byte_count, 'byte')}, {lost}"

    losses = to_the_end(job, args.style, look, lambda: found.count, report)
    return ended(interrupt, not args.count and args.duration is None) or (LOST if losses.total else 0)


def moment_of(clock: str, nanoseconds: int | None, uncertainty: int) -> str:
    """A time of a clock for people, in UTC where it is a time of day, and by how much it may be wrong."""
    if nanoseconds is None:
        return "-"
    bound = si(Fraction(uncertainty, 10**9), "s", 1, math.ceil)
    seconds, rest = divmod(nanoseconds, 10**9)
    if clock == "monotonic":
        return f"{seconds:>18}.{rest:09} s ± {bound}"
    return f"{time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime(seconds))}.{rest:09} ± {bound}"
