# SPDX-License-Identifier: BSD-2-Clause
"""litepulse clock emit"""

from argparse import Namespace
from typing import Any

from litepulse import Board, output
from litepulse.backends import Losses
from litepulse.codes.emit import Emit, emit
from litepulse.commands import arguments
from litepulse.commands.arguments import Verbs
from litepulse.commands.clock.words import add_code, options_of
from litepulse.commands.following import to_the_end
from litepulse.commands.report import LOST, ended, headline, records_lost, shared, shared_line
from litepulse.interrupt import Interrupt
from litepulse.limits import LONGEST_STEP
from litepulse.output import ns
from litepulse.spool import Spool

EXAMPLES = """  litepulse clock emit harp
  litepulse clock emit irig-b --of tai --for 3600s --csv > seconds.csv"""
COLUMNS = ("second", "time", "tick", "t_ns", "error_ns", "uncertainty_ns", "launched", "refused", "reason")


def add(verbs: Verbs) -> None:
    """The verb, to the command line."""
    sub = arguments.add_verb(verbs, "emit", run, "send a time code on the line, by the PC's clock", ("json", "csv", "vnl"), EXAMPLES)
    add_code(sub)
    sub.add_argument(
        "--start", metavar="T", type=arguments.duration("start"), help="nothing leaves before this time or tick (default: soon)"
    )
    sub.add_argument(
        "--every", metavar="N", type=arguments.count("every", 1, 86400), default="5", help="barcode: seconds from one to the next"
    )
    sub.add_argument(
        "--delay", metavar="T", type=arguments.duration("delay"), default="100ms", help="nmea: from the second to the first byte"
    )
    sub.add_argument("--loopback", action="store_true", help="the receiver listens inside the core, not to the pin")


def run(args: Namespace) -> int:
    """litepulse clock emit"""
    with arguments.board(args, step=arguments.step(args, lambda _: LONGEST_STEP)) as board, Interrupt() as interrupt:
        start = None if args.start is None else arguments.when(args.start, board)
        job = emit(board, args.code, start=start, every=args.every, delay=args.delay, loopback=args.loopback, **options_of(args))
        return follow(args, board, job, interrupt)


def follow(args: Namespace, board: Board, job: Emit, interrupt: Interrupt) -> int:
    """Shows each second that was sent, until it ends."""
    seconds, ts = Spool(), board.timescale
    sent = refused = 0
    worst: int | None = None

    def look() -> None:
        nonlocal sent, refused, worst
        rows = output.Rows(args.style, COLUMNS, board.identity.backend) if args.style in ("csv", "vnl") else None
        if args.style is None:
            output.write(f"{headline(board)}\n{args.code} of {args.of.upper()}, by the PC's clock\n{'time':<19} {'tick':>14}  late by [ns]")
        for batch in job.batches():
            output.check()
            for each in batch:
                sent, refused = sent + 1, refused + each.refused
                worst = max(worst or 0, abs(each.error) + each.uncertainty)
                if rows:
                    time = each.text.replace(" ", "T")
                    late = (each.error, each.uncertainty, each.launched, each.refused, each.reason)
                    rows.row(each.second, time, each.tick, ns(ts, each.tick), *late)
                elif args.style == "json":
                    seconds.add({name: getattr(each, name) for name in each.__dataclass_fields__})
                else:
                    why = f"  {each.refused} refused: {each.reason}" if each.refused else ""
                    output.write(f"{each.text} {each.tick:>14}  {each.error} ± {each.uncertainty}{why}")

    def report(losses: Losses) -> tuple[dict[str, Any], str]:
        result = (
            shared(board, "clock emit")
            | shared_line(job.plan.profile)
            | {"code": args.code, "of": args.of, "seconds": seconds, "refused": refused}
            | {"max_error_ns": worst, "lost": losses.total, "lost_at_least": losses.at_least}
            | {"ended": "interrupt" if interrupt else "all sent"}
        )
        lost = records_lost(losses.total, losses.at_least)
        rows = [("seconds", f"{sent} sent, {refused} launches refused, {lost}")]
        if worst is not None:
            rows.append(("error", f"{worst} ns at most beside the PC's clock, with the uncertainty of reading it"))
        rows.append(("clock", output.SIM_NOTE if board.simulated else "the seconds are those of the PC's clock, as right as that is"))
        return result, "\n".join(output.aligned(rows))

    losses = to_the_end(job, args.style, look, lambda: sent, report)
    return ended(interrupt, args.duration is None) or (LOST if refused or losses.total else 0)
