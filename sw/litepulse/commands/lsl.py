# SPDX-License-Identifier: BSD-2-Clause
"""litepulse lsl"""

from argparse import Namespace
from typing import Any

from litepulse import Board, Capture, output
from litepulse.backends import Losses
from litepulse.capture import LostEvent
from litepulse.commands import VERBS, arguments, capture
from litepulse.commands.arguments import Verbs
from litepulse.commands.following import to_the_end
from litepulse.commands.report import LOST, ended, headline, records_lost, shared
from litepulse.interrupt import Interrupt
from litepulse.lsl import CLOCK, Outlet, warnings_only
from litepulse.units import counted

EXAMPLES = """  litepulse lsl --inputs 0,1
  litepulse lsl --inputs none --bytes --baud 115200 --name 'trigger box'
  litepulse --sim --stimulus edges.txt lsl --inputs 0 --count 3 --wait"""
LOOK_SECONDS = 0.2  # between two looks at Ctrl-C while no program records


def add(verbs: Verbs) -> None:
    """The verb, to the command line."""
    sub = arguments.add_verb(verbs, "lsl", run, VERBS["lsl"], ("json",), EXAMPLES)
    sub.add_argument(
        "--name", default="LitePulse", metavar="NAME", help="name of the stream of markers (default LitePulse); 'NAME ticks' has the ticks"
    )
    sub.add_argument("--wait", action="store_true", help="begin when a program records the markers")
    capture.add_wanted(sub)


def run(args: Namespace) -> int:
    """litepulse lsl"""
    capture.check_wanted(args)
    args.wall_clock = CLOCK
    warnings_only()
    with arguments.board(args) as board, Interrupt() as interrupt, Outlet(board, args.name) as outlet:
        if args.style is None:
            output.write(f"{headline(board)}\noffers the LSL streams '{args.name}' (Markers) and '{args.name} ticks' (Events)")
        while args.wait and not interrupt and not outlet.wait(LOOK_SECONDS):
            pass
        return 0 if interrupt else follow(args, board, capture.begin(args, board), outlet, interrupt)


def follow(args: Namespace, board: Board, job: Capture, outlet: Outlet, interrupt: Interrupt) -> int:
    """Passes on what comes until it ends."""
    pushed = 0

    def look() -> None:
        nonlocal pushed
        for batch in job.batches():
            for event in batch:
                outlet.push(event)
                pushed += not isinstance(event, LostEvent)

    def report(losses: Losses) -> tuple[dict[str, Any], str]:
        result = shared(board, "lsl") | {"name": args.name, "markers": pushed, "lost": losses.total, "lost_at_least": losses.at_least}
        lost = records_lost(losses.total, losses.at_least)
        return result, f"{'SIMULATED: ' if board.simulated else ''}{counted(pushed, 'marker')}, {lost}"

    losses = to_the_end(job, args.style, look, lambda: pushed, report)
    return ended(interrupt, not args.count and args.duration is None) or (LOST if losses.total else 0)
