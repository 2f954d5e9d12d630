# SPDX-License-Identifier: BSD-2-Clause
"""litepulse lin: its verbs, a file each"""

from litepulse.commands import VERBS, arguments
from litepulse.commands.arguments import Verbs
from litepulse.commands.lin import header, inject, master, monitor, request, slave

INNER = (monitor, master, slave, request, header, inject)


def add(verbs: Verbs) -> None:
    """The verb and its own verbs, to the command line."""
    examples = "examples:\n" + "\n".join(each.EXAMPLES for each in (monitor, master, slave, request, inject, header))
    parser = verbs.add_parser("lin", help=VERBS["lin"], description=VERBS["lin"] + ".", epilog=examples)
    arguments.add_device(parser)
    inner = parser.add_subparsers(dest="lin_verb", metavar="VERB", required=True, parser_class=arguments.Parser)
    for verb in INNER:
        verb.add(inner)
