# SPDX-License-Identifier: BSD-2-Clause
"""litepulse replay"""

from argparse import Namespace
from dataclasses import replace

from litepulse import Recorded, output
from litepulse.commands import VERBS, arguments, send
from litepulse.commands.arguments import Verbs
from litepulse.interrupt import Interrupt

EXAMPLES = """  litepulse replay pulses.csv                  of litepulse capture --inputs 0 --csv > pulses.csv
  litepulse replay pins.vcd --channel rx --at +1s"""
MOST_KNOWN = 100_000  # pulses that are checked in the board's time before the first leaves, too; of more each is when its turn comes


def add(verbs: Verbs) -> None:
    """The verb, to the command line."""
    sub = arguments.add_verb(verbs, "replay", run, VERBS["replay"], ("json", "csv", "vnl"), EXAMPLES)
    sub.add_argument("file", metavar="FILE", help="what capture --csv or --vcd wrote, or another VCD")
    sub.add_argument(
        "--channel", metavar="NAME", help="whose pulses: 0, rx, a signal of the VCD; bytes: those received (default: the only one)"
    )
    sub.add_argument(
        "--idle", choices=("0", "1"), help="the level between the pulses, at which tx rests (default: that before the first edge)"
    )
    sub.add_argument(
        "--at", metavar="T", type=arguments.duration("at"), help="first pulse: +10ms from now, or a time or tick since the board's reset"
    )
    arguments.add_line(sub)


def run(args: Namespace) -> int:
    """litepulse replay"""
    with arguments.board(args) as board, Interrupt() as interrupt:
        line = arguments.line_of(args)
        idle = None if args.idle is None else int(args.idle)
        recorded = Recorded(board, args.file, args.channel, idle, baud=line["baud"], format=line["format"])
        for text in recorded.left_out:
            output.note(f"litepulse: {text}")
        line["format"] = replace(line["format"], invert=args.invert != recorded.invert)
        series = list(recorded) if recorded.count <= MOST_KNOWN else recorded
        at = None if args.at is None else arguments.when(args.at, board)
        what = "bytes" if recorded.channel == "bytes" else f"pulses of {recorded.channel}"
        return send.follow(args, board, recorded.count, board.launches(series, start=at, **line, keep=False), interrupt, "replay", what)
