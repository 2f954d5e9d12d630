# SPDX-License-Identifier: BSD-2-Clause
"""litepulse explain"""

import json
import shutil
from argparse import Namespace
from collections.abc import Generator
from contextlib import contextmanager
from typing import TextIO

from litepulse import Board, output, termplot
from litepulse.commands import VERBS, arguments
from litepulse.commands.arguments import Verbs
from litepulse.commands.report import LOST, ended, headline, shared
from litepulse.errors import BadInput, OutputLost
from litepulse.explain import perfetto, tracefs, words
from litepulse.explain.causes import USUAL
from litepulse.explain.run import Recorded, record
from litepulse.interrupt import Interrupt
from litepulse.units import counted

CLOCK = "monotonic"  # that of the kernel's trace
EXAMPLES = """  sudo litepulse explain --wire rx -- ./trigger 58
  sudo litepulse explain --every 1/58 --perfetto out.json -- chrt -f 80 ./trigger 58
  sudo litepulse explain --self --for 10s --json -- ./p1_tty /dev/ttyPULSE0"""


def add(verbs: Verbs) -> None:
    """The verb, to the command line."""
    sub = arguments.add_verb(verbs, "explain", run, VERBS["explain"], ("json",), EXAMPLES, pins=False, wire=False)
    sub.add_argument("program", nargs="+", metavar="PROGRAM", help="the program that writes, with its arguments, behind --")
    sub.add_argument("--wire", dest="wired", choices=("rx", "0", "1", "2", "3"), help="pin that the port's TX is wired to (default rx)")
    sub.add_argument("--self", dest="own", action="store_true", help="the program writes to the board's own tty: nothing is wired")
    sub.add_argument("--every", metavar="T", type=arguments.duration("every", positive=True), help="the beat that the program should keep")
    sub.add_argument(
        "--for", dest="duration", metavar="T", type=arguments.duration("for", positive=True), help="end the program after this time"
    )
    sub.add_argument("--perfetto", metavar="FILE", help="write pins, edges and the scheduler for ui.perfetto.dev")
    arguments.add_line(sub)


def check(args: Namespace) -> None:
    """BadInput, or Unsupported, if it cannot work."""
    if args.own and args.wired:
        raise BadInput("explain: --self is about the board's own tty: leave out --wire")
    if args.sim:
        raise BadInput("explain: no port of this PC is wired to the simulated SoC of --sim")
    if args.loopback:
        raise BadInput("explain: --loopback shows no other port: give --wire, or --self")
    if shutil.which(str(args.program[0])) is None:
        raise BadInput(f"explain: {args.program[0]}: there is no such program")
    tracefs.place_of()


@contextmanager
def perfetto_file(name: str | None) -> Generator[TextIO | None]:
    """The file, found to be writable before anything is recorded."""
    if name is None:
        yield None
        return
    try:
        with open(name, "w") as file:
            yield file
    except OSError as error:
        raise OutputLost(f"perfetto: {name} cannot be written: {error.strerror}") from None


def run(args: Namespace) -> int:
    """litepulse explain"""
    check(args)
    args.wall_clock = CLOCK
    with perfetto_file(args.perfetto) as file, arguments.board(args) as board, Interrupt() as interrupt:
        every, duration = (each and board.timescale.seconds(board.timescale.ticks(each)) for each in (args.every, args.duration))
        line = arguments.line_of(args)
        with output.Live("bytes or edges", None, args.style or "json") as live:
            recorded = record(
                board,
                args.program,
                interrupt,
                wire=args.wired or "rx",
                own=args.own,
                baud=line["baud"],
                format=line["format"],
                every=every,
                duration=None if duration is None else float(duration),
                progress=live.update,
            )
        if args.style == "json":
            output.write_json(shared(board, "explain") | words.result(recorded))
        else:
            show(board, recorded)
        if file:
            json.dump(perfetto.trace(recorded.found, recorded.pin, recorded.edges, 0 if line["format"].invert else 1), file)
            output.note(f"{args.perfetto}: open it at https://ui.perfetto.dev")
    return ended(interrupt, True) or (LOST if recorded.lost or recorded.found.missing or recorded.found.blind else 0)


def show(board: Board, recorded: Recorded) -> None:
    """For people."""
    found = recorded.found
    bars = [(share.label, round(share.share * 100)) for share in found.shares if share.share >= USUAL]
    rows = [("cause", "share", "mean, us", "worst, us", "edges"), *words.table(found)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        headline(board),
        "",
        *(
            "  ".join([f"{row[0]:<{widths[0]}}", *(f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:]))]).rstrip()
            for row in rows
        ),
        "",
        *termplot.bars(bars, "share of all delays [%]", output.columns(), output.is_plain()),
        "",
        *(output.folded(words.plain(edge)) for edge in found.worst()),
        "",
        *(output.folded(f"would have helped: {line}") for line in words.advice(found, recorded.port)),
    ]
    seen = [counted(found.missing, "write") + " without an edge"] * bool(found.missing)
    seen += [counted(found.stray, "edge") + " of no write"] * bool(found.stray)
    seen += [counted(found.blind, "edge") + " that the trace has gaps for"] * bool(found.blind)
    summary = [
        ("edges", ", ".join([f"{counted(len(found.edges), 'write')} explained", *seen])),
        ("late", words.hardware_line(found)),
        ("cost", words.cost_line(recorded.cost)),
    ]
    output.write("\n".join([*lines, *output.aligned(summary)]))
