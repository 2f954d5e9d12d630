# SPDX-License-Identifier: BSD-2-Clause
"""litepulse completion"""

from argparse import Namespace

from litepulse import output
from litepulse.commands import VERBS
from litepulse.commands.arguments import Verbs
from litepulse.errors import BadInput, lacking

SHELLS = ("bash", "zsh", "fish")
EXAMPLES = """examples:
  litepulse completion bash > ~/.local/share/bash-completion/completions/litepulse
  litepulse completion zsh > ~/.zfunc/_litepulse        with fpath+=~/.zfunc before compinit
  litepulse completion fish > ~/.config/fish/completions/litepulse.fish"""


def add(verbs: Verbs) -> None:
    """The verb, to the command line."""
    sub = verbs.add_parser(
        "completion", help=VERBS["completion"], description="Print a script that lets a shell complete verbs and options.", epilog=EXAMPLES
    )
    sub.set_defaults(function=run)
    sub.add_argument("shell", metavar="SHELL", choices=SHELLS, help="bash, zsh or fish")


def run(args: Namespace) -> None:
    """litepulse completion"""
    try:
        import shtab
    except ModuleNotFoundError:
        raise BadInput(lacking("completion", "shtab")) from None
    output.write(shtab.complete(args.parser, args.shell))
