# SPDX-License-Identifier: BSD-2-Clause
"""litepulse detach"""

from argparse import Namespace

from litepulse import attach, output, ports
from litepulse.commands import VERBS, cable
from litepulse.commands.arguments import Verbs

EXAMPLES = """  sudo litepulse detach
  sudo litepulse detach /dev/ttyUSB1"""


def add(verbs: Verbs) -> None:
    """The verb, to the command line."""
    cable.add_verb(verbs, "detach", run, VERBS["detach"], EXAMPLES)


def run(args: Namespace) -> None:
    """litepulse detach"""
    host = ports.Host()
    held = attach.find(host, cable.requested_port(args))
    with output.Live("detaching", None, args.style):
        attach.detach(held)
    if args.style == "json":
        output.write_json({"command": "detach", "port": held.path, "pulse": str(host.dev / held.board.name), "process": held.process})
    else:
        output.write(f"detached: {held.path} is free, /dev/{held.board.name} is gone")
