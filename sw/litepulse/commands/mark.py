# SPDX-License-Identifier: BSD-2-Clause
"""litepulse mark"""

from argparse import Namespace

from litepulse import output
from litepulse.commands import VERBS, arguments, together
from litepulse.commands.arguments import Verbs
from litepulse.commands.following import Wait
from litepulse.commands.report import clock_note, ended, headline, shared
from litepulse.errors import BadInput
from litepulse.interrupt import Interrupt
from litepulse.output import ns
from litepulse.units import parse_byte, si

EXAMPLES = """  litepulse --sim mark 0x2a --width 5ms
  litepulse mark 42 --at +20ms
  litepulse mark --tty on --width 5ms                    bytes written to the board's tty are marks"""


def add(verbs: Verbs) -> None:
    """The verb, to the command line."""
    sub = arguments.add_verb(verbs, "mark", run, VERBS["mark"], ("json",), EXAMPLES)
    sub.add_argument(
        "code", nargs="?", metavar="CODE", type=lambda text: parse_byte(text, "code"), help="what the pins show: 0 to 255, or 0x2a"
    )
    sub.add_argument(
        "--at", metavar="T", type=arguments.moment("at"), help="+20ms from now, or a time or tick since the board's reset (default: soon)"
    )
    sub.add_argument(
        "--width",
        metavar="T",
        type=arguments.duration("width"),
        help="how long each mark lasts, from now on; 0: until the next one (default: as before, which after a reset is 0)",
    )
    sub.add_argument("--tty", choices=("on", "off"), help="whether bytes written to the tty of the kernel's driver are marks, from now on")


def run(args: Namespace) -> int:
    """litepulse mark"""
    if args.code is None and args.tty is None and args.width is None:
        raise BadInput("nothing to do: give a code, --width or --tty")
    if args.code is None and args.at is not None:
        raise BadInput("at: there is no code to show then")
    if arguments.several(args):
        return together.mark(args)
    with arguments.board(args) as board, Interrupt() as interrupt:
        board.set_marks(args.width, None if args.tty is None else args.tty == "on")
        result = shared(board, "mark") | {"code": args.code, "tick": None, "wanted": None, "t_ns": None}
        rows: list[tuple[str, str]] = []
        if args.code is None and args.width is not None:
            rows.append(("width", "of all marks from now on"))
        if args.tty is not None:
            rows.append(("tty", "each byte is a mark" if args.tty == "on" else "bytes go to the line"))
        if args.code is not None:
            try:
                tick = None if args.at is None else board.tick_of(arguments.when(args.at, board))
                result["wanted"] = tick
                Wait(board, "the mark", tick)
                outcome = board.mark(args.code, tick)
                result |= {"tick": outcome.tick, "wanted": outcome.wanted, "t_ns": ns(board.timescale, outcome.tick)}
                rows.insert(0, ("mark", f"0x{args.code:02x} from tick {outcome.tick} on, {si(outcome.time, 's', 9)} since reset"))
            except KeyboardInterrupt:
                rows.insert(0, ("mark", "taken back, nothing was shown"))
        if args.style == "json":
            output.write_json(result)
            return ended(interrupt, False)
        rows.append(("clock", clock_note(board)))
        output.write("\n".join([headline(board), *output.aligned(rows)]))
    return ended(interrupt, False)
