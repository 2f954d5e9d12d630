# SPDX-License-Identifier: BSD-2-Clause
"""litepulse adjust"""

from argparse import Namespace

from litepulse import output
from litepulse.commands import VERBS, arguments
from litepulse.commands.arguments import Verbs
from litepulse.commands.report import headline, shared
from litepulse.errors import BadInput
from litepulse.units import approx, exact, in_ticks, si

EXAMPLES = """  litepulse adjust --step -5us
  litepulse adjust --rate 1234.5 --at-pulse 5000
  litepulse adjust --width 1500us"""


def add(verbs: Verbs) -> None:
    """The verb, to the command line."""
    sub = arguments.add_verb(verbs, "adjust", run, VERBS["adjust"], ("json",), EXAMPLES)
    pace = sub.add_mutually_exclusive_group()
    pace.add_argument("--rate", metavar="HZ", type=arguments.rate("rate"), help="new rate")
    pace.add_argument("--period", metavar="T", type=arguments.duration("period", positive=True), help="new period")
    sub.add_argument(
        "--step", metavar="T", type=arguments.duration("step", signed=True), help="move the pulses once by this much: 5us, -1t"
    )
    sub.add_argument(
        "--width", metavar="T", type=arguments.duration("width", positive=True), help="new width of the pulses of a train --width"
    )
    sub.add_argument(
        "--at-pulse",
        default="0",
        metavar="N",
        type=arguments.count("at-pulse"),
        help="first pulse at its new place, with its new width, 0 = the earliest possible (default)",
    )


def run(args: Namespace) -> None:
    """litepulse adjust"""
    if args.rate is None and args.period is None and args.step is None and args.width is None:
        raise BadInput("nothing to adjust: give --rate, --period, --step or --width")
    if args.sim:
        raise BadInput("--sim starts a simulated SoC of its own, no train runs on it: adjust works with --port or --device")
    with arguments.board(args, own=False) as board:
        ts = board.timescale
        adjusted = board.adjust(rate=args.rate, period=args.period, step=args.step, width=args.width, at_pulse=args.at_pulse)
        if adjusted.rounded:
            output.note(f"litepulse: step rounded to {in_ticks(adjusted.step)} = {si(ts.seconds(adjusted.step), 's')}")
        if adjusted.change.pending:
            output.note("litepulse: accepted; the pulse it waits for has not come yet")
        pulse = adjusted.change.pulse
        if args.style == "json":
            rate = {"rate_hz": exact(ts.tick_hz / adjusted.period), "period_ticks": exact(adjusted.period)}
            used = {"step_ticks": adjusted.step} | ({} if adjusted.width is None else {"width_ticks": adjusted.width})
            output.write_json(shared(board, "adjust") | rate | used | {"at_pulse": pulse})
            return
        width = "" if adjusted.width is None else f", width {in_ticks(adjusted.width)} = {si(ts.seconds(adjusted.width), 's')}"
        output.write(
            f"{headline(board)}\nadjusted{f' from pulse {pulse} on' if pulse is not None else ''}: "
            f"{approx(ts.tick_hz / adjusted.period, 6)} Hz, period {exact(adjusted.period)} ticks, step {adjusted.step} ticks{width}"
        )
