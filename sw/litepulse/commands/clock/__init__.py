# SPDX-License-Identifier: BSD-2-Clause
"""litepulse clock: its verbs, a file each"""

from litepulse.commands import VERBS, arguments
from litepulse.commands.arguments import Verbs
from litepulse.commands.clock import emit, follow

INNER = (emit, follow)


def add(verbs: Verbs) -> None:
    """The verb and its own verbs, to the command line."""
    examples = "examples:\n" + "\n".join(each.EXAMPLES for each in INNER)
    parser = verbs.add_parser("clock", help=VERBS["clock"], description=VERBS["clock"] + ".", epilog=examples)
    arguments.add_device(parser)
    inner = parser.add_subparsers(dest="clock_verb", metavar="VERB", required=True, parser_class=arguments.Parser)
    for verb in INNER:
        verb.add(inner)
