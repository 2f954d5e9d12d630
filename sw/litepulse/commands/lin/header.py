# SPDX-License-Identifier: BSD-2-Clause
"""litepulse lin header"""

import math
from argparse import Action, ArgumentParser, Namespace
from fractions import Fraction
from typing import Any

from litepulse import lin, output
from litepulse.commands import arguments
from litepulse.commands.arguments import Verbs
from litepulse.commands.lin.words import data_bytes, identifier
from litepulse.errors import BadInput
from litepulse.lin.monitor import DEFAULT_BAUD
from litepulse.units import Timescale

EXAMPLES = """  litepulse lin header --id 0x20 > header.txt
  litepulse lin header --id 0x10 --data 2aff --id 0x20 --every 20ms > nodes.txt"""


def add(verbs: Verbs) -> None:
    """The verb, to the command line."""
    sub = verbs.add_parser(
        "header",
        help="write a file for --stimulus: another node's frames",
        description="Write a file for --stimulus to the standard output: frames of another node for the simulated board.",
        epilog=f"examples:\n{EXAMPLES}",
    )
    sub.set_defaults(function=run, style=None)
    sub.add_argument(
        "--id",
        dest="frames",
        metavar="N",
        required=True,
        action=NextFrame,
        type=identifier,
        help="identifier of a frame, 0x00 to 0x3f; repeatable",
    )
    sub.add_argument(
        "--data", dest="frames", metavar="HEX", action=NextData, type=data_bytes, help="of the frame before it (default: none)"
    )
    sub.add_argument("--model", choices=(lin.ENHANCED, lin.CLASSIC), default=lin.ENHANCED, help="checksum (default enhanced)")
    sub.add_argument("--at", metavar="T", default="40ms", type=arguments.duration("at"), help="first break (default 40ms)")
    sub.add_argument("--every", metavar="T", default="20ms", type=arguments.duration("every"), help="from break to break (default 20ms)")
    sub.add_argument("--baud", metavar="RATE", type=arguments.rate("baud"), help=f"bit rate (default {DEFAULT_BAUD})")
    sub.add_argument(
        "--clock", metavar="HZ", default="48M", type=arguments.rate("clock"), help="ticks per second of the simulated board (default 48M)"
    )


class NextFrame(Action):
    """--id begins a frame."""

    def __call__(self, parser: ArgumentParser, namespace: Namespace, values: Any, option_string: str | None = None) -> None:
        setattr(namespace, self.dest, [*(getattr(namespace, self.dest) or []), (values, None)])


class NextData(Action):
    """--data gives the frame before it its data."""

    def __call__(self, parser: ArgumentParser, namespace: Namespace, values: Any, option_string: str | None = None) -> None:
        frames: list[tuple[int, bytes | None]] = getattr(namespace, self.dest) or []
        if not frames or frames[-1][1] is not None:
            raise BadInput("data: give it behind the --id that it belongs to, once")
        setattr(namespace, self.dest, [*frames[:-1], (frames[-1][0], values)])


def run(args: Namespace) -> int:
    """litepulse lin header"""
    timescale = Timescale(args.clock, 1)
    bit = timescale.bit_period(Fraction(args.baud or DEFAULT_BAUD)).ticks
    at, every = (math.floor(timescale.ticks(value)) for value in (args.at, args.every))
    last, lines = 0, list[str]()
    for number, (frame_id, data) in enumerate(args.frames):
        edges = lin.Injection(frame_id, data, args.model).edges(at + number * every, bit)
        if edges[0][0] <= last:
            raise BadInput("every: a frame is longer than that")
        last = edges[-1][0]
        lines += (f"{tick} rx {level}" for tick, level in edges)
    output.write("\n".join(lines))
    return 0
