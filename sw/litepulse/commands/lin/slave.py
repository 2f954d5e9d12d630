# SPDX-License-Identifier: BSD-2-Clause
"""litepulse lin slave"""

import contextlib
from argparse import Namespace
from collections.abc import Iterable
from typing import Any, TypeVar

from litepulse import Board, lin, output
from litepulse.commands import arguments
from litepulse.commands.arguments import Verbs
from litepulse.commands.lin.report import Report
from litepulse.commands.lin.words import add_bus, add_encoding, add_end, add_set, data_bytes, described, halves
from litepulse.commands.report import headline, shared
from litepulse.errors import BadInput
from litepulse.interrupt import Interrupt
from litepulse.lin.node import SlaveNode, checked_response
from litepulse.lin.protocol import SPACE_BITS
from litepulse.lin.slave import DEFAULT_SPACE, play
from litepulse.units import hexadecimal, parse_byte, to_fraction

Key = TypeVar("Key")
Given = TypeVar("Given")
EXAMPLES = """  litepulse lin slave door.ldf --node Window --set WindowPlace=40
  litepulse lin slave door.ldf --node Window --flip-checksum WindowState=0x80
  litepulse lin slave door.ldf --node Window --keep"""


def add(verbs: Verbs) -> None:
    """The verb, to the command line."""
    sub = arguments.add_verb(verbs, "slave", run, "answer as a node: each byte at its tick exactly", ("json", "csv", "vnl"), EXAMPLES)
    sub.add_argument("ldf", metavar="FILE", help="description of the network (LDF)")
    add_encoding(sub)
    sub.add_argument("--node", metavar="NAME", required=True, help="which of its slaves")
    add_set(sub)
    sub.add_argument(
        "--space",
        metavar="BITS",
        type=lambda text: to_fraction(text, "space"),
        help=f"bit times before each byte of an answer (default {DEFAULT_SPACE}; the standard allows {SPACE_BITS})",
    )
    sub.add_argument(
        "--respond",
        metavar="HEX",
        action="append",
        default=[],
        type=lambda text: checked_response(data_bytes(text, "respond")),
        help="eight bytes for the next header of SlaveResp; repeatable, one for each header",
    )
    own = sub.add_argument_group("what the master can read and configure")
    own.add_argument(
        "--identifier",
        metavar="N=HEX",
        action="append",
        default=[],
        type=lambda text: identified(text, "identifier"),
        help="what ReadByIdentifier reads: 0x01=78563412 the serial number, 0x20 to 0x3f one to five bytes; repeatable (default: refused)",
    )
    own.add_argument(
        "--dump", metavar="HEX", type=lambda text: data_bytes(text, "dump"), help="five bytes that answer DataDump (default: refused)"
    )
    own.add_argument(
        "--configuration",
        metavar="FILE",
        help="SaveConfiguration writes NAD and identifiers to it; they are taken from it at the beginning (default: refused)",
    )
    sub.add_argument(
        "--keep",
        action="store_true",
        help="leave the board answering and return; 'litepulse stop' ends it. Answers stay as they are: response_error is not set, and "
        "event-triggered frames and SlaveResp are answered once",
    )
    add_end(sub)
    wrong = sub.add_argument_group("what is wrong with the answers")
    wrong.add_argument(
        "--flip-checksum",
        metavar="ID=MASK",
        action="append",
        default=[],
        type=lambda text: frame_byte(text, "flip-checksum"),
        help="bits of the checksum; ID is an identifier or the name of a frame; repeatable",
    )
    wrong.add_argument(
        "--checksum",
        metavar="ID=B",
        action="append",
        default=[],
        type=lambda text: frame_byte(text, "checksum"),
        help="sent instead of the right one; repeatable",
    )
    add_bus(sub)


def run(args: Namespace) -> int:
    """litepulse lin slave"""
    if args.keep:
        check_keep(args)
    arguments.check_driven(args, "bus", "tick rx level")
    if args.sim:
        args.wire = args.wire or ["bus"]
    description = described(args, args.node)
    flips, checksums = merged(args.flip_checksum, "flip-checksum"), merged(args.checksum, "checksum")
    node = SlaveNode(description, args.node, flips, checksums, merged(args.identifier, "identifier"), args.dump, args.configuration)
    values = dict(args.set)
    node.changed(values)
    with arguments.board(args) as board, Interrupt() as interrupt:
        job = play(board, node, values, args.respond, args.space, args.baud, args.loopback, args.count, args.duration)
        if args.space is not None and args.space > SPACE_BITS:
            output.note(f"litepulse: space: the standard allows {SPACE_BITS} bit times before each byte")
        if args.keep:
            job.detach()
            return report_kept(args, board, job)
        report, run = Report(args, board, "slave", job.run.bit, description), job.run

        def more() -> dict[str, Any]:
            return {"node": args.node, "space_ticks": run.space, "answered": run.answered, "missed": run.missed}

        def rows() -> list[tuple[str, str]]:
            return [("answers", f"{run.answered} sent whole, {run.missed} missed")]

        return report.follow(job, interrupt, not args.count and args.duration is None, more, rows)


def check_keep(args: Namespace) -> None:
    """BadInput if the slave cannot go on without this command, or the command would have to stay."""
    if args.sim:
        raise BadInput("--keep needs a device that outlives this command; the simulated SoC of --sim ends with it")
    if args.count or args.duration is not None:
        raise BadInput("--keep returns at once: --count and --for have nothing to count")
    if args.loopback:
        raise BadInput("--keep and --loopback exclude each other: the receiver is wired back to the bus when the command ends")
    if args.style in ("csv", "vnl"):
        raise BadInput(f"--keep returns at once: there are no rows for --{args.style}")
    if args.identifier or args.dump is not None or args.configuration is not None:
        raise BadInput("--keep returns at once: nobody would answer the requests for --identifier, --dump and --configuration")
    if len(args.respond) > 1:
        raise BadInput("respond: with --keep the board can answer one header of SlaveResp, so give it once")


def report_kept(args: Namespace, board: Board, job: lin.Slave) -> int:
    """Prints what goes on after the command."""
    run = job.run
    frames = sorted(run.node.published.items())
    if args.style == "json":
        answers = {str(frame_id): name for frame_id, name in frames}
        output.write_json(shared(board, "lin slave") | {"armed": True, "node": args.node, "space_ticks": run.space, "answers": answers})
    else:
        words = arguments.device_words(args, board)
        names = ", ".join(f"{name} ({hexadecimal(frame_id)})" for frame_id, name in frames) or "no frame"
        output.write(f"{headline(board)}\narmed: {args.node} answers {names}; 'litepulse{words} stop' ends it")
    return 0


def merged(pairs: Iterable[tuple[Key, Given]], what: str) -> dict[Key, Given]:
    """{identifier or frame: what is given for it}; one may be given once."""
    found: dict[Key, Given] = {}
    for frame, byte in pairs:
        if frame in found:
            raise BadInput(f"{what}: {hexadecimal(frame) if isinstance(frame, int) else frame} is given twice")
        found[frame] = byte
    return found


def frame_byte(text: str, what: str) -> tuple[int | str, int]:
    """ID=BYTE; ID is an identifier or the name of a frame."""
    name, value = halves(text, what, "0x20=0x01")
    frame: int | str = name
    with contextlib.suppress(ValueError):
        frame = int(name, 0)
    return frame, parse_byte(value, what)


def identified(text: str, what: str) -> tuple[int, bytes]:
    """N=HEX."""
    name, value = halves(text, what, "0x20=0a0b")
    return parse_byte(name, what), data_bytes(value, what)
