# SPDX-License-Identifier: BSD-2-Clause
"""litepulse tty"""

from argparse import Namespace

import serial

from litepulse import output
from litepulse.commands import VERBS, arguments
from litepulse.commands.arguments import Verbs
from litepulse.commands.report import ended, headline
from litepulse.errors import BadInput, LitePulseError
from litepulse.interrupt import Interrupt
from litepulse.serial_port import Serial
from litepulse.terminal_port import TerminalPort
from litepulse.units import counted

EXAMPLES = """  litepulse --port /dev/ttyUSB1 tty --link ~/ttyPULSE
  litepulse tty --baud 115200 --format 7E1
  litepulse --sim tty
  litepulse --port /dev/ttyUSB1 tty --marks --width 5ms --link ~/ttyMARK"""


def add(verbs: Verbs) -> None:
    """The verb, to the command line."""
    sub = arguments.add_verb(verbs, "tty", run, VERBS["tty"], (), EXAMPLES)
    sub.add_argument("--link", metavar="FILE", help="also make this symbolic link to the terminal, until the command ends")
    sub.add_argument("--marks", action="store_true", help="each byte that is written is a mark: its code appears on the marker port")
    sub.add_argument(
        "--width", metavar="T", type=arguments.duration("width"), help="with --marks: how long; 0: until the next (default: as before)"
    )
    arguments.add_terminal_line(sub, "a program", "data bits and parity, which no program can change")


def run(args: Namespace) -> int:
    """litepulse tty"""
    if args.width is not None and not args.marks:
        raise BadInput("width: only of marks, with --marks")
    with arguments.board(args) as board, Interrupt() as interrupt:
        if args.marks:
            board.set_marks(args.width)
        try:
            port = Serial(board, **arguments.terminal_of(args), marks=args.marks)
            with port, TerminalPort(port, args.link) as terminal:
                where = terminal.path if args.link is None else f"{args.link} ({terminal.path})"
                output.write(f"{headline(board)}\n{where}: open it with any program; Ctrl-C ends it")
                terminal.run(interrupt, lambda refused: output.note(f"litepulse: {terminal.path}: {refused}: the settings before stay"))
                lost = terminal.lost + port.lost
        except serial.SerialException as error:
            raise LitePulseError(str(error)) from None
        except ValueError as error:
            raise BadInput(str(error)) from None
        output.write(f"{counted(terminal.sent, 'byte')} sent, {terminal.received} received, {lost} lost")
    return ended(interrupt, True)
