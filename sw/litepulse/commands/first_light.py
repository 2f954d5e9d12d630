# SPDX-License-Identifier: BSD-2-Clause
"""litepulse first-light"""

import os
import select
import sys
from argparse import Namespace
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from litepulse import Board, flash, flash_boards, output, ports
from litepulse.certify.files import Files
from litepulse.commands import VERBS, arguments, cable
from litepulse.commands import flash as flash_verb
from litepulse.commands.arguments import Verbs
from litepulse.commands.report import ended
from litepulse.doctor import FAULT, NOTE, OK, SKIPPED, Check
from litepulse.errors import BadInput
from litepulse.first_light.report import page, report
from litepulse.first_light.steps import FirstLight, Hands, Options, failed
from litepulse.flash_boards import FlashBoard
from litepulse.interrupt import Interrupt

NAME, EDGES, SECONDS = "first-light", "20000", "60s"
STEP = 5_000  # cycles of the simulator between two looks
SHOWN = {OK: "OK", FAULT: "FAULT", NOTE: "note", SKIPPED: "-"}
FORM = "Send both by the issue form 'Tested on metal', whatever came out."
EXAMPLES = """  litepulse first-light --board icebreaker --from litepulse-0.2.0
  litepulse first-light --no-flash --port /dev/ttyUSB1
  litepulse --sim first-light --edges 2000           the steps, without a board"""
_LOOK = 0.1  # seconds between two looks at the interrupt while a person is asked


def add(verbs: Verbs) -> None:
    """The verb, to the command line."""
    sub = arguments.add_verb(verbs, NAME, run, VERBS[NAME], ("json",), EXAMPLES)
    what = sub.add_argument_group("which board and bitstream")
    what.add_argument("--board", metavar="NAME", help=f"{', '.join(flash_boards.BOARDS)} (default: the one that is plugged in)")
    what.add_argument("--file", metavar="FILE", help="this bitstream (default: that of the installed release)")
    what.add_argument("--from", dest="folder", metavar="FOLDER", help="of the release in this folder")
    what.add_argument("--fpga", metavar="F", help="the FPGA on it, where there are several: 25f, 45f, 85f")
    what.add_argument("--samples", metavar="S", choices=("1", "2", "4"), help="samples per cycle: 1, 2 or 4 (default: the board's)")
    what.add_argument("--serial", metavar="N", help="serial number of the board, of several")
    what.add_argument("--no-flash", action="store_true", help="write nothing: the board has its bitstream")
    how = sub.add_argument_group("how it is tried")
    how.add_argument("--yes", action="store_true", help="ask nothing: write the flash, and the jumper is in its place")
    how.add_argument("--edges", default=EDGES, metavar="N", type=arguments.count("edges", 1), help=f"over the jumper (default {EDGES})")
    how.add_argument(
        "--for",
        dest="duration",
        default=SECONDS,
        metavar="T",
        type=arguments.duration("for", positive=True),
        help=f"how long the crystal is compared with this PC's clock (default {SECONDS})",
    )
    sub.add_argument("--with-serial", action="store_true", help="the report has the board's serial number, too")
    sub.add_argument("-o", dest="name", metavar="NAME", help=f"write NAME.md and NAME.json (default {NAME}-BOARD)")


def check(args: Namespace) -> None:
    """BadInput if options do not fit together, or if nobody can be asked."""
    for name in ("file", "folder", "fpga", "samples", "serial"):
        if args.no_flash and getattr(args, name) is not None:
            raise BadInput(f"--no-flash and --{'from' if name == 'folder' else name} exclude each other: nothing is written")
    if args.file is not None and (args.folder is not None or args.samples is not None):
        raise BadInput(f"--file and --{'samples' if args.folder is None else 'from'} exclude each other: the file is what it is")
    if args.device:
        raise BadInput(f"{NAME}: the kernel has {args.device}: 'litepulse detach' gives its port back, which this is about")
    if arguments.several(args):
        raise BadInput(f"{NAME}: it takes one board, and {arguments.several(args)} are given")
    if not args.sim and not args.yes and not (sys.stdin and sys.stdin.isatty()):
        raise BadInput(f"{NAME}: it asks before it writes and for a jumper, and there is no terminal: --yes asks nothing")


def options_of(args: Namespace) -> Options:
    """What is wanted."""
    if args.duration.seconds is None:
        raise BadInput("for: this is a time of the PC's clock, and that has no ticks")
    board = None if args.board is None else flash.board_of(args.board)
    if board is not None and args.fpga is not None:
        flash.check_fpga(board, args.fpga.lower())

    def bitstream(found: FlashBoard) -> flash.Chosen:
        return flash_verb.chosen_by(Namespace(**{**vars(args), "board": found.name, "variant": None}))

    return Options(
        where=args.port,
        sim=args.sim,
        board=board,
        bitstream=bitstream,
        serial=args.serial,
        write=not args.no_flash,
        baud=cable.first_baud(args),
        edges=args.edges,
        seconds=args.duration.seconds,
    )


def asking(args: Namespace, interrupt: Interrupt) -> Callable[[str], bool]:
    """What asks a person, at the terminal. Enter goes on."""

    def ask(question: str) -> bool:
        if args.yes:
            return True
        output.note(f"? {question} Enter goes on, n leaves it out.")
        answer = b""
        while not answer.endswith(b"\n"):
            while not select.select([sys.stdin], [], [], _LOOK)[0]:
                if interrupt:
                    raise KeyboardInterrupt
            part = os.read(sys.stdin.fileno(), 1024)
            if not part:
                return False
            answer += part
        return answer.strip().lower() in (b"", b"y", b"yes")

    return ask


@contextmanager
def progress(args: Namespace, title: str, total: int) -> Generator[Callable[[int], None]]:
    """Shows how far something is."""
    with output.Live(title, total, args.style) as live:
        yield lambda done: live.update(min(done, total))


def run(args: Namespace) -> int:
    """litepulse first-light"""
    check(args)
    options = options_of(args)
    name = args.name or f"{NAME}-{args.board or ('sim' if args.sim else 'board')}"
    with Files(name, NAME, "md", page) as files, Interrupt() as interrupt:

        def opened(where: str | None) -> AbstractContextManager[Board]:
            args.port = where
            return arguments.board(args, step=STEP)

        out = sys.stderr if args.style == "json" else None
        hands = Hands(asking(args, interrupt), opened, interrupt, lambda title, total: progress(args, title, total), out)
        light = FirstLight(ports.Host(), options, hands)
        checks: list[Check] = []
        try:
            for found in light.run():
                checks.append(found)
                show(args, found)
        except KeyboardInterrupt:
            return ended(interrupt, False) or 130
        result = report(light, checks, args.with_serial)
        files.write(result)
        close(args, result, name)
    return int(failed(checks))


def show(args: Namespace, found: Check) -> None:
    """A line for each step, for people."""
    if args.style is None:
        output.write(f"{SHOWN[found.state]:<6}{found.name:<14} {found.finding}{f'; look at: {found.fix}' if found.fix else ''}")
    else:
        output.check()


def close(args: Namespace, result: dict[str, Any], name: str) -> None:
    """The end."""
    if args.style == "json":
        output.write_json(result)
        return
    sent = "SIMULATED: there is nothing to send." if result["board"]["simulated"] else FORM
    output.write(f"written: {name}.md, {name}.json\n{sent}")
