# SPDX-License-Identifier: BSD-2-Clause
"""litepulse stop"""

from argparse import Namespace

from litepulse import output
from litepulse.commands import VERBS, arguments
from litepulse.commands.arguments import Verbs
from litepulse.commands.report import headline, shared
from litepulse.errors import BadInput
from litepulse.units import counted

EXAMPLES = """  litepulse stop
  litepulse --port /dev/ttyUSB1 stop"""


def add(verbs: Verbs) -> None:
    """The verb, to the command line."""
    arguments.add_verb(verbs, "stop", run, VERBS["stop"], ("json",), EXAMPLES)


def run(args: Namespace) -> None:
    """litepulse stop"""
    if args.sim:
        raise BadInput("--sim starts a simulated SoC of its own, nothing runs on it: stop works with --port or --device")
    with arguments.board(args, own=False) as board:
        stopped = board.stop()
        if args.style == "json":
            output.write_json(shared(board, "stop") | {"stopped": list(stopped.what), "pulses": stopped.pulses})
            return
        summary = f"stopped: {', '.join(stopped.what)}" if stopped.what else "nothing was running"
        pulses = f" after {counted(stopped.pulses, 'pulse')}" if stopped.pulses is not None else ""
        output.write(f"{headline(board)}\n{summary}{pulses}; the line is idle")
