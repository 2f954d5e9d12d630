# SPDX-License-Identifier: BSD-2-Clause
"""litepulse capture"""

import contextlib
import math
from argparse import Namespace
from typing import Any

from litepulse import Board, output
from litepulse.backends import Backend, Losses
from litepulse.board import FILTER_MAX
from litepulse.capture import CaptureRun
from litepulse.commands import VERBS, arguments
from litepulse.commands.arguments import Verbs
from litepulse.commands.following import to_the_end
from litepulse.commands.report import LOST, ended, headline, records_lost, shared
from litepulse.errors import BadInput, LitePulseError
from litepulse.interrupt import Interrupt
from litepulse.output import ms, ns
from litepulse.spool import Spool
from litepulse.streams import Lost, RxByte

EXAMPLES = """  litepulse capture --inputs 0,1,rx --for 2s
  litepulse capture --bytes --inputs none --baud 115200 --csv > bytes.csv
  litepulse --sim --stimulus edges.txt capture --inputs 0 --count 3"""


def add(verbs: Verbs) -> None:
    """The verb, to the command line."""
    sub = arguments.add_verb(verbs, "capture", run, VERBS["capture"], ("json", "csv", "vnl"), EXAMPLES)
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
    sub.add_argument("--count", default="0", metavar="N", type=arguments.count(), help="stop after so many edges and bytes")
    sub.add_argument(
        "--for", dest="duration", metavar="T", type=arguments.duration("for"), help="stop after this time of the board's clock"
    )
    arguments.add_line(sub)
    arguments.add_move_tx(sub)


class Found:
    """What was captured, as it is written down: everything for JSON, else only how much it was."""

    def __init__(self, style: str | None) -> None:
        self.keep = style == "json"
        self.edges, self.bytes = Spool(), Spool()
        self.edge_count = self.byte_count = 0

    def add(self, tick: int, what: str, value: int | RxByte | Lost) -> tuple[int, str | None, str]:
        """An edge or a byte; returns what to show of it: (value and flags for programs, text for people)."""
        if isinstance(value, Lost):
            return value.count, "at_least" if value.at_least else None, f"LOST {value}"
        if isinstance(value, RxByte):
            self.byte_count += 1
            flags = byte_flags(value)
            if self.keep:
                self.bytes.add({"tick": value.tick, "data": value.data, "flags": flags})
            return value.data, "+".join(flags) or None, f"byte 0x{value.data:02x}{''.join(f' {flag}' for flag in flags)}"
        self.edge_count += 1
        if self.keep:
            self.edges.add({"tick": tick, "channel": what, "level": value})
        return value, None, f"{what} {'↑' if value else '↓'}"

    @property
    def count(self) -> int:
        """Edges and bytes."""
        return self.edge_count + self.byte_count


def byte_flags(byte: RxByte) -> list[str]:
    """Of parity, framing, break, own and noise those that apply."""
    names = (
        ("parity", byte.parity_error),
        ("framing", byte.framing_error),
        ("break", byte.is_break),
        ("own", byte.own),
        ("noise", byte.noise),
    )
    return [name for name, on in names if on]


def run(args: Namespace) -> int:
    """litepulse capture"""
    if args.sim and not args.stimulus and args.count == 0 and args.duration is None:
        raise BadInput("nothing drives the simulated inputs: give --stimulus FILE (lines 'tick channel level'), or --count or --for")
    if not args.inputs and not args.bytes:
        raise BadInput("inputs: none leaves nothing to capture without --bytes")
    with arguments.board(args) as board, Interrupt() as interrupt:
        line = arguments.line_of(args)
        job = board.capture_run(
            args.inputs,
            edges=args.edges,
            filter=args.filter,
            bytes=args.bytes,
            baud=line["baud"],
            fmt=line["format"],
            loopback=line["loopback"],
            move_tx=args.move_tx,
        )
        return follow(args, board, job, interrupt)


def follow(args: Namespace, board: Board, job: CaptureRun, interrupt: Interrupt) -> int:
    """Shows what comes until it ends, then leaves the inputs alone."""
    ts, found, rows_out = board.timescale, Found(args.style), None

    def look() -> None:
        nonlocal rows_out
        job.prepare()  # what is refused has no heading
        if args.style in ("csv", "vnl"):
            rows_out = output.Rows(args.style, ("t_ns", "dt_ms", "tick", "channel", "value", "flags"), board.identity.backend)
        elif args.style is None:
            output.write(f"{headline(board)}\n{'t [ms]':>18}  {'dt [ms]':>16}  {'tick':>14}  what")
        last = None
        end = None if args.duration is None else board.now().tick + math.floor(ts.ticks(args.duration))
        for batch in job.follow(interrupt):
            for tick, what, value, _ in batch:
                if end is not None and tick >= end:
                    continue
                dt = ms(ts, tick - last) if last is not None else None
                shown, flags, text = found.add(tick, what, value)
                if args.style is None:
                    output.write(f"{ms(ts, tick):>18}  {dt or '-':>16}  {tick:>14}  {text}")
                elif rows_out:
                    rows_out.row(ns(ts, tick), dt, tick, what, shown, flags)
                last = tick
                if args.count and found.count >= args.count:
                    break
            if (args.count and found.count >= args.count) or (end is not None and job.poller.tick >= end):
                break

    def report(losses: Losses) -> tuple[dict[str, Any], str]:
        result = shared(board, "capture") | {
            "edges": found.edges,
            "lost": losses.total,
            "lost_at_least": losses.at_least,
            "bytes": found.bytes,
        }
        where, lost = "SIMULATED: " if board.simulated else "", records_lost(losses.total, losses.at_least)
        return result, f"{where}{found.edge_count} edges, {found.byte_count} bytes, {lost}"

    losses = to_the_end(board, args.style, look, lambda: found.count, report, release=quiet)
    return ended(interrupt, not args.count and args.duration is None) or (LOST if losses.total else 0)


def quiet(backend: Backend) -> None:
    """Nothing more is recorded; what else runs on the board goes on."""
    with contextlib.suppress(LitePulseError):
        backend.stop_recording()
