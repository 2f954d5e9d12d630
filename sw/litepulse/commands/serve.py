# SPDX-License-Identifier: BSD-2-Clause
"""litepulse serve"""

from argparse import Namespace

from litepulse import output
from litepulse.commands import VERBS, arguments
from litepulse.commands.arguments import Verbs
from litepulse.commands.report import ended, headline
from litepulse.interrupt import Interrupt
from litepulse.teensy_pulse import TeensyPulse, serve
from litepulse.terminal_port import Terminal
from litepulse.units import counted

EXAMPLES = """  litepulse --port /dev/ttyUSB1 serve --teensy-pulse --link ~/pulses
  litepulse serve --teensy-pulse --input 1
  litepulse --sim serve --teensy-pulse"""


def add(verbs: Verbs) -> None:
    """The verb, to the command line."""
    sub = arguments.add_verb(verbs, "serve", run, VERBS["serve"], (), EXAMPLES)
    what = sub.add_argument_group("what the board stands for").add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--teensy-pulse", action="store_true", help="a Teensy with Micro-Manager's pulse generator: high pulses on tx, on a terminal"
    )
    sub.add_argument("--link", metavar="FILE", help="also make this symbolic link to the terminal, until the command ends")
    sub.add_argument("--input", default="0", metavar="N", help="input whose rising edges pulses wait for on request (default 0)")


def run(args: Namespace) -> int:
    """litepulse serve"""
    with arguments.board(args) as board, Interrupt() as interrupt:

        def report(complaint: str) -> None:
            output.note(f"litepulse: {terminal.path}: {complaint}")

        with TeensyPulse(board, args.input, report) as device, Terminal(args.link) as terminal:
            where = terminal.path if args.link is None else f"{args.link} ({terminal.path})"
            output.write(f"{headline(board)}\n{where}: give it to Micro-Manager as the port of a TeensyPulseGenerator; Ctrl-C ends it")
            serve(device, terminal, interrupt)
            device.stop()
        output.write(f"{counted(device.total, 'pulse')} after {counted(device.starts, 'start')}")
    return ended(interrupt, True)
