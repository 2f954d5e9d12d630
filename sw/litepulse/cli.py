# SPDX-License-Identifier: BSD-2-Clause
"""The command `litepulse`: wires the verbs of commands/ to the command line, errors to exit statuses."""

import contextlib
import io
import sys

from litepulse import __version__, output
from litepulse.commands import (
    adjust,
    arguments,
    attach,
    capture,
    certify,
    completion,
    detach,
    doctor,
    info,
    latency,
    lin,
    plot,
    respond,
    send,
    stop,
    train,
)
from litepulse.errors import LitePulseError, OutputClosed

VERBS = (info, train, stop, adjust, capture, send, respond, latency, certify, lin, attach, detach, doctor, plot, completion)
BAD = 2  # exit status of everything the user can mend


def make_parser() -> arguments.Parser:
    """The whole command line."""
    parser = arguments.Parser(
        prog="litepulse",
        description="A serial port whose every edge has a known time.",
        epilog="Numbers are exact: 58, 61.7, 617/10, 44.1k; times: 5us, 1.5ms, 1/58 (s), 24000000/29t (ticks).",
    )
    parser.add_argument("--version", action="version", version=f"litepulse {__version__}")
    arguments.add_device(parser, top=True)
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True, parser_class=arguments.Parser)
    for verb in VERBS:
        verb.add(verbs)
    parser.set_defaults(parser=parser)  # for what speaks of the whole command line
    return parser


def main(argv: list[str] | None = None) -> int:
    """The command; returns the exit status."""
    output.occupy_standard_files()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            with contextlib.suppress(ValueError):
                stream.reconfigure(errors="replace")
    try:
        words = arguments.join_negatives(sys.argv[1:] if argv is None else argv)
        args = make_parser().parse(words or ["--help"])
        return args.function(args) or 0
    except OutputClosed:
        return 0
    except LitePulseError as error:
        output.note(f"litepulse: {error}")
        return BAD
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
