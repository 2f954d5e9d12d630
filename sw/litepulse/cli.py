# SPDX-License-Identifier: BSD-2-Clause
"""The command `litepulse`: wires the verbs of commands/ to the command line, errors to exit statuses."""

import contextlib
import io
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from litepulse import __version__, output
from litepulse.commands import VERBS, arguments
from litepulse.errors import LitePulseError, OutputClosed

BAD = 2  # exit status of everything the user can mend


def make_parser(words: Sequence[str] | None = None) -> arguments.Parser:
    """The command line. With `words` only the verbs that are among them have their options; `completion` speaks of all."""
    loaded = VERBS if words is None or "completion" in words else {*words}
    parser = arguments.Parser(
        prog="litepulse",
        description="A serial port whose every edge has a known time.",
        epilog="Numbers are exact: 58, 61.7, 617/10, 44.1k; times: 5us, 1.5ms, 1/58 (s), 24000000/29t (ticks).",
    )
    parser.add_argument("--version", action="version", version=f"litepulse {__version__}")
    arguments.add_device(parser, top=True)
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True, parser_class=arguments.Parser)
    for name, text in VERBS.items():
        if name in loaded:
            import_module(f"litepulse.commands.{name.replace('-', '_')}").add(verbs)
        else:
            verbs.add_parser(name, help=text)
    parser.set_defaults(parser=parser)  # for what speaks of the whole command line
    return parser


def main(argv: list[str] | None = None, loaded: Callable[[], None] = lambda: None) -> int:
    """The command; returns the exit status. loaded: called when the verb's modules have been loaded, before anything is done."""
    output.occupy_standard_files()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            with contextlib.suppress(ValueError):
                stream.reconfigure(errors="replace")
    try:
        words = arguments.join_negatives(sys.argv[1:] if argv is None else argv)
        args = make_parser(words).parse(words or ["--help"], make_parser)
        loaded()
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
