# SPDX-License-Identifier: BSD-2-Clause
"""litepulse lin request"""

from argparse import Namespace
from fractions import Fraction

from litepulse import lin, output
from litepulse.commands import arguments
from litepulse.commands.arguments import Verbs
from litepulse.commands.lin.report import value_of
from litepulse.commands.lin.table import FrameTable, fits
from litepulse.commands.lin.words import add_bus, add_encoding, data_bytes, described
from litepulse.commands.report import LOST, ended, headline, shared
from litepulse.errors import BadInput
from litepulse.interrupt import Interrupt
from litepulse.lin.protocol import CLASSIC_IDS
from litepulse.units import hexadecimal, parse_byte

EXAMPLES = """  litepulse lin request door.ldf --node Window --data b200ff7fffff
  litepulse lin request door.ldf --nad 0x02 --data 22f190 --schedule Normal"""


def add(verbs: Verbs) -> None:
    """The verb, to the command line."""
    sub = arguments.add_verb(verbs, "request", run, "send a diagnostic request to a node, and wait for its answer", ("json",), EXAMPLES)
    sub.add_argument("ldf", metavar="FILE", help="description of the network (LDF)")
    add_encoding(sub)
    which = sub.add_mutually_exclusive_group(required=True)
    which.add_argument("--node", metavar="NAME", help="the slave; its NAD is that of the description")
    which.add_argument("--nad", metavar="N", type=lambda text: parse_byte(text, "nad"), help="address of the node, e.g. 0x02")
    sub.add_argument(
        "--data",
        metavar="HEX",
        required=True,
        type=data_bytes,
        help="service and its data, up to 4095 bytes, e.g. b200ff7fffff: ReadByIdentifier 0 of any product",
    )
    sub.add_argument("--schedule", metavar="NAME", help="runs meanwhile (default: nothing else is sent)")
    sub.add_argument(
        "--timeout",
        metavar="T",
        default="1s",
        type=arguments.duration("timeout"),
        help="end if no frame of the answer comes for so long (default 1s)",
    )
    add_bus(sub)


def run(args: Namespace) -> int:
    """litepulse lin request"""
    description = described(args)
    nad: int | None = args.nad
    if args.node is not None:
        description.check_slave(args.node)
        nad = description.network.slaves[args.node].nad
        if nad is None:
            raise BadInput(f"{args.node} has no NAD in its Node_attributes: give it with --nad")
    assert nad is not None
    lin.segments(nad, args.data)
    if args.schedule is not None:
        description.schedule(args.schedule)
    with arguments.board(args) as board, Interrupt() as interrupt:
        begin = board.now().tick
        done, frames = lin.request(
            board, description, nad, args.data, schedule=args.schedule, timeout=args.timeout, baud=args.baud, loopback=args.loopback
        )
        if interrupt:
            return ended(interrupt, False)
        answer = None if done.answer is None else done.answer.hex()
        if args.style == "json":
            result = {"nad": nad, "request": args.data.hex(), "answer": answer, "refused": done.refused}
            output.write_json(shared(board, "lin request") | result | {"tick": begin, "frames": [value_of(one) for one in frames]})
        else:
            bit = board.timescale.bit_period(Fraction(args.baud or description.baud)).ticks
            table = FrameTable(board, bit, width=fits())
            shown = "\n".join(table.frame(frame) for frame in frames if frame.frame_id in CLASSIC_IDS)
            heading = "no answer" if answer is None else f"refused: {answer}" if done.refused else f"answer: {answer}"
            lines = [headline(board), output.folded(f"to {hexadecimal(nad)}: {args.data.hex()}"), shown, output.folded(heading)]
            output.write("\n".join(line for line in lines if line))
        return LOST if answer is None or done.refused else 0
