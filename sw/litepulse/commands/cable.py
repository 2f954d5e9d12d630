# SPDX-License-Identifier: BSD-2-Clause
"""What attach, detach and doctor have in common: a serial port that is named or found."""

from argparse import Namespace
from collections.abc import Callable

from litepulse.commands import arguments
from litepulse.commands.arguments import Parser, Verbs
from litepulse.errors import BadInput
from litepulse.limits import DEFAULT_BAUD


def add_verb(verbs: Verbs, name: str, function: Callable[[Namespace], int | None], text: str, examples: str) -> Parser:
    """A verb about a port."""
    sub = arguments.add_verb(verbs, name, function, text, ("json",), examples)
    sub.add_argument("where", metavar="PORT", nargs="?", help="serial port, best by its name below /dev/serial/by-id")
    return sub


def requested_port(args: Namespace) -> str | None:
    """PORT, or what was given as --port."""
    if args.sim:
        raise BadInput(f"{args.verb} is for a board on a serial port, not for --sim")
    if args.port and args.where and args.port != args.where:
        raise BadInput(f"{args.verb}: two ports, {args.port} and {args.where}")
    return args.where or args.port or args.device


def first_baud(args: Namespace) -> int:
    """The rate at which the bridge is found."""
    return args.port_baud or DEFAULT_BAUD
