# SPDX-License-Identifier: BSD-2-Clause
"""Options that emit and follow share."""

import argparse
from typing import Any

from litepulse.codes import LAYOUTS, SCALES, harp, irig_b
from litepulse.codes.emit import CODES
from litepulse.commands import arguments


def add_code(sub: argparse.ArgumentParser) -> None:
    """Which code, and what it shows."""
    sub.add_argument("code", metavar="CODE", choices=CODES, help=", ".join(CODES))
    sub.add_argument("--of", choices=sorted(SCALES, reverse=True), default="utc", help="what the code shows (default utc)")
    sub.add_argument("--for", dest="duration", metavar="T", type=arguments.duration("for"), help="stop after this time")
    group = sub.add_argument_group("what the code is like")
    group.add_argument("--baud", metavar="RATE", type=arguments.rate("baud"), help="nmea: bit rate (default 9600)")
    group.add_argument("--invert", action="store_true", help="the line rests at the other level")
    group.add_argument(
        "--expression", choices=sorted(irig_b.EXPRESSIONS), metavar="B00N", default="B004", help="irig-b: B000 to B007 (default B004)"
    )
    group.add_argument("--layout", choices=sorted(LAYOUTS), default="open-ephys", help="barcode: whose (default open-ephys)")
    group.add_argument(
        "--epoch",
        metavar="S",
        type=arguments.count("epoch", 0, (1 << 40) - 1),
        default=str(harp.EPOCH),
        help="harp: seconds from its zero to 1970 (default: from 1904)",
    )


def options_of(args: argparse.Namespace) -> dict[str, Any]:
    """These, as the library takes them."""
    return {name: getattr(args, name) for name in ("of", "duration", "baud", "invert", "expression", "layout", "epoch")}
