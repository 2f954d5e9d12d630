# SPDX-License-Identifier: BSD-2-Clause
"""litepulse lin inject"""

import re
from argparse import Namespace
from collections.abc import Iterable
from fractions import Fraction

from litepulse import lin, output
from litepulse.commands import arguments
from litepulse.commands.arguments import Verbs
from litepulse.commands.lin.report import value_of
from litepulse.commands.lin.table import FrameTable, fits
from litepulse.commands.lin.words import add_bus, data_bytes, identifier
from litepulse.commands.report import LOST, ended, headline, shared
from litepulse.errors import BadInput
from litepulse.interrupt import Interrupt
from litepulse.limits import BREAK_MAX
from litepulse.lin.monitor import DEFAULT_BAUD
from litepulse.units import parse_byte, to_fraction

EXAMPLES = """  litepulse lin inject --id 0x10 --data 4a5593e5 --flip-checksum 0x01
  litepulse lin inject --id 0x11 --break 9
  litepulse --sim lin inject --id 0x12 --data 00 --stretch 2.3=+0.4 --json"""


def add(verbs: Verbs) -> None:
    """The verb, to the command line."""
    sub = arguments.add_verb(verbs, "inject", run, "send one frame, right or wrong on purpose", ("json",), EXAMPLES)
    sub.add_argument("--id", metavar="N", required=True, type=identifier, help="identifier, 0x00 to 0x3f")
    sub.add_argument("--data", metavar="HEX", type=data_bytes, help="1 to 8 bytes, e.g. 4a5593e5 (default: the header alone)")
    sub.add_argument("--model", choices=(lin.ENHANCED, lin.CLASSIC), default=lin.ENHANCED, help="checksum (default enhanced)")
    sub.add_argument("--at", metavar="T", type=arguments.moment("at"), help="+10ms from now, or a tick (default: soon)")
    wrong = sub.add_argument_group("what is wrong with it")
    wrong.add_argument(
        "--break", dest="break_bits", default="13", metavar="N", type=arguments.count("break", 1, BREAK_MAX), help="its length"
    )
    wrong.add_argument("--sync", default="0x55", metavar="B", type=lambda text: parse_byte(text, "sync"), help="instead of 0x55")
    wrong.add_argument(
        "--flip-parity", default="0", metavar="MASK", type=arguments.count("flip-parity", 0, 3), help="of the two parity bits"
    )
    wrong.add_argument(
        "--flip-checksum", default="0", metavar="MASK", type=lambda text: parse_byte(text, "flip-checksum"), help="bits of the checksum"
    )
    wrong.add_argument(
        "--stretch",
        metavar="BYTE.BIT=BITS",
        action="append",
        default=[],
        type=stretched,
        help="a bit that is longer by so many bit times, or shorter: 1.0=+0.3 is the start bit of the identifier; repeatable",
    )
    add_bus(sub)


def run(args: Namespace) -> int:
    """litepulse lin inject"""
    injection = lin.Injection(
        args.id, args.data, args.model, args.break_bits, args.sync, args.flip_parity, args.flip_checksum, stretches(args.stretch)
    )
    with arguments.board(args) as board, Interrupt() as interrupt:
        at = None if args.at is None else arguments.when(args.at, board)
        heard = lin.inject(board, injection, at=at, baud=args.baud or DEFAULT_BAUD, loopback=args.loopback)
        if interrupt:
            return ended(interrupt, False)
        if args.style == "json":
            records = [
                {"tick": one.tick, "byte": one.data, "break": one.is_break, "framing_error": one.framing_error} for one in heard.records
            ]
            sent = {"sent": injection.bytes.hex(), "tick": heard.tick, "break_bits": injection.break_bits}
            output.write_json(shared(board, "lin inject") | sent | {"frames": [value_of(one) for one in heard.frames], "records": records})
        else:
            bit = board.timescale.bit_period(Fraction(args.baud or DEFAULT_BAUD)).ticks
            data = " ".join(f"{byte:02x}" for byte in injection.bytes)
            sent = output.folded(f"sent at tick {heard.tick}: a break of {injection.break_bits} bits, {data}")
            output.write(f"{headline(board)}\n{sent}\nheard:")
            table = FrameTable(board, bit, width=fits())
            output.write("\n".join(table.frame(frame) for frame in heard.frames) or "nothing: is the line wired back to RX?")
        return 0 if heard.frames else LOST


def stretches(pairs: Iterable[tuple[tuple[int, int], Fraction]]) -> dict[tuple[int, int], Fraction]:
    """{(byte, bit): bit times}; one bit may be given once."""
    found: dict[tuple[int, int], Fraction] = {}
    for place, by in pairs:
        if place in found:
            raise BadInput(f"stretch: bit {place[1]} of byte {place[0]} is given twice")
        found[place] = by
    return found


def stretched(text: str) -> tuple[tuple[int, int], Fraction]:
    """BYTE.BIT=BITS."""
    match = re.fullmatch(r"(\d+)\.(\d+)=([+-]?[0-9./]+)", text.strip())
    if not match:
        raise BadInput(f"stretch: '{text}' is not like 2.3=+0.4")
    return (int(match[1]), int(match[2])), to_fraction(match[3], "stretch")
