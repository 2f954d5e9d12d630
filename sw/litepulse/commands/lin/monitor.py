# SPDX-License-Identifier: BSD-2-Clause
"""litepulse lin monitor"""

import contextlib
import time
from argparse import Namespace

from litepulse import lin
from litepulse.commands import arguments
from litepulse.commands.arguments import Verbs
from litepulse.commands.lin.report import Report
from litepulse.commands.lin.words import add_bus, add_encoding, add_end, described
from litepulse.errors import BadInput
from litepulse.interrupt import Interrupt
from litepulse.lin.log import FrameLog

EXAMPLES = """  litepulse lin monitor --ldf door.ldf
  litepulse lin monitor --baud 9600 --for 10s --json > frames.json
  litepulse lin monitor --ldf door.ldf --log drive.asc"""


def add(verbs: Verbs) -> None:
    """The verb, to the command line."""
    sub = arguments.add_verb(verbs, "monitor", run, "show the frames on the bus, with their ticks", ("json", "csv", "vnl"), EXAMPLES)
    sub.add_argument("--ldf", metavar="FILE", help="description of the network: names, lengths, checksums, signals, bit rate")
    add_encoding(sub)
    sub.add_argument("--log", metavar="FILE", help="also write the frames to FILE.asc, FILE.blf (Vector) or FILE.log (candump)")
    add_end(sub)
    add_bus(sub)
    arguments.add_move_tx(sub)


def run(args: Namespace) -> int:
    """litepulse lin monitor"""
    arguments.check_driven(args, "bus", "tick rx level")
    description = described(args) if args.ldf else None
    if args.encoding and not args.ldf:
        raise BadInput("encoding: there is no description whose text it could be: give --ldf FILE")
    with arguments.board(args) as board, Interrupt() as interrupt:
        job = lin.monitor(
            board, description, baud=args.baud, loopback=args.loopback, move_tx=args.move_tx, count=args.count, duration=args.duration
        )
        report = Report(args, board, "monitor", job.bit, description)
        with contextlib.closing(FrameLog(args.log)) if args.log else contextlib.nullcontext() as report.log:
            report.log_offset = time.time() - float(board.timescale.seconds(board.now().tick))
            return report.follow(job, interrupt, not args.count and args.duration is None)
