# SPDX-License-Identifier: BSD-2-Clause
"""litepulse clock compare"""

from argparse import Namespace
from fractions import Fraction
from typing import Any

from litepulse import Board, LostEvent, output
from litepulse.backends import Losses
from litepulse.commands import arguments
from litepulse.commands.arguments import Verbs
from litepulse.commands.following import to_the_end
from litepulse.commands.report import LOST, ended, headline, records_lost, shared
from litepulse.compare import Compare, Compared, compare
from litepulse.interrupt import Interrupt
from litepulse.limits import LONGEST_STEP
from litepulse.output import ns
from litepulse.spool import Spool
from litepulse.streams import Lost
from litepulse.units import counted, exact, fixed

EXAMPLES = """  litepulse clock compare pps:0 pps:1 board --for 3600s --json > clocks.json"""
COLUMNS = ("second", "tick", "t_ns", "clock", "late_ns", "uncertainty_ns", "jump", "lost")


def add(verbs: Verbs) -> None:
    """The verb, to the command line."""
    text = "compare clocks second by second: how late each is, its rate, its Allan deviation"
    sub = arguments.add_verb(verbs, "compare", run, text, ("json", "csv", "vnl"), EXAMPLES)
    sub.add_argument(
        "clocks",
        metavar="CLOCK",
        nargs="+",
        help="pps:0 (edges at input 0), utc (of the PC), board (its crystal); the others are compared with the first",
    )
    sub.add_argument("--for", dest="duration", metavar="T", type=arguments.duration("for"), help="stop after this time")
    sub.add_argument("--count", metavar="N", type=arguments.count(), default="0", help="stop after N seconds of the first clock")


def run(args: Namespace) -> int:
    """litepulse clock compare"""
    arguments.check_driven(args)
    with arguments.board(args, step=arguments.step(args, lambda _: LONGEST_STEP)) as board, Interrupt() as interrupt:
        return show(args, board, compare(board, args.clocks, count=args.count, duration=args.duration), interrupt)


def ns_of(late: Fraction | None) -> str | None:
    """Three places, where it is known."""
    return None if late is None else fixed(late, 3)


def pair_of(job: Compare, number: int, missing: int) -> dict[str, Any]:
    """Clock `number` against the first, as --json has it."""
    fast = job.fast(number)
    return {
        "clock": job.clocks[number],
        "missing": missing,
        "ppm": None if fast is None else f"{fast * 1e6:.6f}",
        "allan_deviation": [{"tau_s": each.tau, "adev": f"{each.deviation:.6e}", "terms": each.terms} for each in job.deviations(number)],
    }


def table_of(first: str, pair: dict[str, Any]) -> list[tuple[str, str]]:
    """The same for people."""
    ppm = pair["ppm"]
    rate = "not known yet" if ppm is None else f"{ppm.removeprefix('-')} ppm {'slow' if ppm.startswith('-') else 'fast'}"
    deviations = ", ".join(f"{float(each['adev']):.2e} ({each['tau_s']:g} s)" for each in pair["allan_deviation"])
    return [(f"{pair['clock']} - {first}", f"{rate}, {counted(pair['missing'], 'second')} missing"), ("Allan deviation", deviations or "-")]


def show(args: Namespace, board: Board, job: Compare, interrupt: Interrupt) -> int:
    """Shows what comes until it ends."""
    seconds, ts = Spool(), board.timescale
    first, *others = job.clocks
    missing = [0] * len(others)
    count = 0

    def look() -> None:
        nonlocal count
        rows = output.Rows(args.style, COLUMNS, board.identity.backend) if args.style in ("csv", "vnl") else None
        if args.style is None:
            output.write(f"{headline(board)}\nby how many ns each begins its second behind {first}")
            output.write(f"{'t [ms]':>18}" + "".join(f"  {name:>16}" for name in others))
        for batch in job.batches():
            output.check()
            for each in batch:
                if isinstance(each, Compared):
                    count += 1
                    for number, late in enumerate(each.late):
                        missing[number] += late is None
                    if rows:
                        tick = round(each.tick)
                        for name, late, unsure in zip(others, each.late, each.uncertainty):
                            rows.row(each.second, tick, ns(ts, each.tick), name, ns_of(late), unsure, "jump" if each.jump else None, None)
                    elif args.style == "json":
                        seconds.add(
                            {
                                "second": each.second,
                                "tick": exact(each.tick),
                                "late_ns": [ns_of(late) for late in each.late],
                                "uncertainty_ns": list(each.uncertainty),
                                "jump": each.jump,
                            }
                        )
                    else:
                        line = "".join(f"  {ns_of(late) or '-':>16}" for late in each.late)
                        output.write(f"{output.ms(ts, each.tick):>18}{line}{'  JUMP' if each.jump else ''}")
                    continue
                assert isinstance(each, LostEvent)
                text = f"{Lost(each.tick, each.count, each.at_least)}"
                if rows:
                    rows.row(None, each.tick, ns(ts, each.tick), None, None, None, None, text.replace(" ", "_"))
                elif args.style is None:
                    output.write(f"{output.ms(ts, each.tick):>18}  {text}")

    def report(losses: Losses) -> tuple[dict[str, Any], str]:
        pairs = [pair_of(job, number + 1, gone) for number, gone in enumerate(missing)]
        result = (
            shared(board, "clock compare")
            | {"clocks": job.clocks, "count": count, "jumps": job.jumps, "seconds": seconds, "compared": pairs}
            | {"lost": losses.total, "lost_at_least": losses.at_least, "ended": "interrupt" if interrupt else "all there"}
        )
        if not count:
            return result, f"no second of {first} came"
        lost = records_lost(losses.total, losses.at_least)
        summary = [("seconds", f"{count} of {first}, {counted(job.jumps, 'jump')}, {lost}")]
        return result, "\n".join(output.aligned([*summary, *(row for pair in pairs for row in table_of(first, pair))]))

    losses = to_the_end(job, args.style, look, lambda: count, report)
    return ended(interrupt, not args.count and args.duration is None) or (LOST if losses.total or job.jumps or not count else 0)
