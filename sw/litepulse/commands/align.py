# SPDX-License-Identifier: BSD-2-Clause
"""litepulse align"""

from argparse import Namespace
from typing import Any

from litepulse import Alignment, Boards, Offset, output
from litepulse.commands import VERBS, arguments
from litepulse.commands.arguments import Verbs
from litepulse.commands.report import LOST, clock_note, ended, headline, records_lost, shared
from litepulse.errors import BadInput
from litepulse.interrupt import Interrupt
from litepulse.spool import Spool
from litepulse.units import counted, fixed

COLUMNS = ("edge", "board", "tick", "other_tick", "offset_ns", "uncertainty_ns", "ppm", "ppm_uncertainty")
WIRE = "the wire's delay is not known, and not in it"
EXAMPLES = """  litepulse align --device /dev/litepulse0 --device /dev/litepulse1 --for 60s
  litepulse align --port /dev/ttyUSB1 --port /dev/ttyUSB3 --input 0 --input rx --edge fall --csv"""


def add(verbs: Verbs) -> None:
    """The verb, to the command line."""
    sub = arguments.add_verb(verbs, "align", run, VERBS["align"], ("json", "csv", "vnl"), EXAMPLES, pins=False, wire=False)
    sub.add_argument(
        "--input",
        action="append",
        metavar="CHANNEL",
        help="where the wire comes in, 0 or rx; once for all boards, or once for each (default 0)",
    )
    sub.add_argument("--edge", choices=("rise", "fall"), default="rise", help="which edge is compared (default rise)")
    sub.add_argument("--count", default="0", metavar="N", type=arguments.count(), help="stop after N edges that all boards have")
    sub.add_argument(
        "--for", dest="duration", metavar="T", type=arguments.duration("for"), help="stop after this time (default: until Ctrl-C)"
    )


def run(args: Namespace) -> int:
    """litepulse align"""
    if not arguments.several(args):
        raise BadInput("align: it takes two boards or more: give --device or --port for each")
    inputs: list[str] = args.input or ["0"]
    with arguments.boards(args) as boards, Interrupt() as interrupt:
        if len(inputs) not in (1, len(boards)):
            raise BadInput(f"input: give one for all boards, or {len(boards)}")
        wanted = inputs if len(inputs) > 1 else inputs * len(boards)
        offset = boards.offset(wanted, edges=args.edge, count=args.count, duration=args.duration)
        return follow(args, boards, offset, interrupt)


def row_of(each: Offset) -> tuple[Any, ...]:
    """For programs."""
    ppm = None if each.ppm is None or each.ppm_uncertainty is None else (fixed(each.ppm, 6), fixed(each.ppm_uncertainty, 6))
    ns = fixed(each.offset * 10**9, 3)
    return each.number, each.board, each.tick, each.other, ns, each.uncertainty, *(ppm or (None, None))


def follow(args: Namespace, boards: Boards, offset: Alignment, interrupt: Interrupt) -> int:
    """Shows what each edge says, and in the end what all say."""
    rows = output.Rows(args.style, COLUMNS, boards[0].identity.backend) if args.style in ("csv", "vnl") else None
    kept = Spool()
    if args.style is None:
        output.write("\n".join(headline(board) for board in boards))
    with offset:
        for found in offset.batches():
            for each in found:
                if rows:
                    rows.row(*row_of(each))
                elif args.style == "json":
                    kept.add({"edge": each.number, "board": each.board, "tick": each.tick, "other": each.other})
    if args.style == "json":
        output.write_json(result_of(args, boards, offset, kept))
    else:
        text = "\n".join(output.aligned(text_of(boards, offset)))
        (output.write if args.style is None else output.note)(text)
    return ended(interrupt, args.count == 0 and args.duration is None) or (LOST if offset.lost or not offset.count else 0)


def result_of(args: Namespace, boards: Boards, offset: Alignment, kept: Spool) -> dict[str, Any]:
    """The JSON object."""
    results: list[dict[str, Any]] = []
    for number, board in enumerate(boards):
        result, latest = shared(board, args.verb), offset.latest.get(number)
        if latest is not None:
            _, _, _, _, ns, uncertainty, ppm, sure = row_of(latest)
            result |= {"offset_ns": ns, "uncertainty_ns": uncertainty, "ppm": ppm, "ppm_uncertainty": sure, "edges": latest.number + 1}
        results.append(result)
    return {"command": args.verb, "edges": offset.count, "lone": offset.lone, "lost": offset.lost, "boards": results, "pairs": kept}


def text_of(boards: Boards, offset: Alignment) -> list[tuple[str, str]]:
    """For people."""
    lost = records_lost(offset.lost, False)
    rows = [("edges", f"{offset.count} on all boards, {offset.lone} alone or not told apart, {lost}")]
    for number, latest in offset.latest.items():
        ns = fixed(latest.offset * 10**9, 0)
        rows.append((boards.name(number), f"{ns} ns ahead of {boards.name(0)}, ±{latest.uncertainty} ns at edge {latest.number}"))
        if latest.ppm is not None and latest.ppm_uncertainty is not None:
            way = "fast" if latest.ppm >= 0 else "slow"
            rows.append(("", f"{fixed(abs(latest.ppm), 3)} ppm {way}, ±{fixed(latest.ppm_uncertainty, 3)} ppm, since edge 0"))
    if not offset.latest:
        rows.append(("", f"no edge came in at all {counted(len(boards), 'board')}"))
    return [*rows, ("wire", WIRE), ("clock", clock_note(boards[0]))]
