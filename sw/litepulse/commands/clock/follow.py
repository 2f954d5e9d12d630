# SPDX-License-Identifier: BSD-2-Clause
"""litepulse clock follow"""

from argparse import Namespace
from contextlib import closing, nullcontext
from fractions import Fraction
from typing import Any

from litepulse import Board, LostEvent, output
from litepulse.backends import Losses
from litepulse.chrony import ChronySocket
from litepulse.codes.follow import Follow, Followed, follow
from litepulse.codes.frames import Fault
from litepulse.commands import arguments
from litepulse.commands.arguments import Verbs
from litepulse.commands.clock.words import add_code, options_of
from litepulse.commands.following import to_the_end
from litepulse.commands.report import LOST, ended, headline, records_lost, shared
from litepulse.errors import BadInput
from litepulse.interrupt import Interrupt
from litepulse.limits import LONGEST_STEP
from litepulse.output import ns
from litepulse.reference import CLOCK
from litepulse.spool import Spool
from litepulse.streams import Lost
from litepulse.units import NANO, counted, exact, fixed

EXAMPLES = """  litepulse clock follow irig-b --input 0
  litepulse clock follow nmea --pps 0 --count 60 --json > receiver.json
  litepulse clock follow irig-b --input 0 --chrony /run/chrony.irig.sock"""
COLUMNS = ("second", "tick", "t_ns", "spread_ticks", "residual_ticks", "ppm", "frame", "fault")


def add(verbs: Verbs) -> None:
    """The verb, to the command line."""
    text = "read a time code that comes in: its time against the board's ticks"
    sub = arguments.add_verb(verbs, "follow", run, text, ("json", "csv", "vnl"), EXAMPLES)
    add_code(sub)
    sub.add_argument("--input", metavar="IN", default="rx", help="rx, or the number of an input (default rx)")
    sub.add_argument("--pps", metavar="IN", help="nmea: the input that has the pulse per second")
    sub.add_argument("--names", choices=("last", "next"), default="last", help="nmea: the second that a sentence names (default last)")
    sub.add_argument("--delay", metavar="T", type=arguments.duration("delay"), default="100ms", help="nmea without --pps: how late it is")
    sub.add_argument("--parity", choices=("even", "odd", "none"), default="even", help="irig-b: of its control bits (default even)")
    sub.add_argument("--count", metavar="N", type=arguments.count(), default="0", help="stop after N frames")
    sub.add_argument("--chrony", metavar="SOCKET", help="give each second to chronyd: the path of its 'refclock SOCK'")
    arguments.add_move_tx(sub)


def run(args: Namespace) -> int:
    """litepulse clock follow"""
    arguments.check_driven(args)
    options = {name: getattr(args, name) for name in ("input", "pps", "names", "delay", "parity", "count", "move_tx")}
    with arguments.board(args, step=arguments.step(args, lambda _: LONGEST_STEP)) as board, Interrupt() as interrupt:
        if args.chrony is not None and board.simulated:
            raise BadInput("chrony: a simulated board has its own time, which the PC's clock is not to follow")
        with nullcontext() if args.chrony is None else closing(ChronySocket(args.chrony)) as chrony:
            return show(args, board, follow(board, args.code, **options, **options_of(args)), interrupt, chrony)


def value_of(each: Followed) -> dict[str, Any]:
    """A frame as --json has it."""
    return {
        "second": each.second,
        "frame": each.text,
        "tick": exact(each.tick),
        "spread_ticks": exact(each.spread),
        "residual_ticks": fixed(each.residual, 3),
        "ppm": fixed(each.ppm, 6),
        "jump": each.jump,
    }


def tell(chrony: ChronySocket, board: Board, each: Followed) -> None:
    """To chronyd: what the PC's clock showed at the beginning of a second."""
    tick = round(each.tick)
    shown = board.time_of(tick, CLOCK).ns + (each.tick - tick) * NANO / board.tick_hz
    chrony.send(each.second, shown)


def show(args: Namespace, board: Board, job: Follow, interrupt: Interrupt, chrony: ChronySocket | None) -> int:
    """Shows what comes until it ends."""
    frames, faults, ts = Spool(), Spool(), board.timescale
    count = wrong = jumps = 0
    worst = Fraction(0)

    def look() -> None:
        nonlocal count, wrong, jumps, worst
        rows = output.Rows(args.style, COLUMNS, board.identity.backend) if args.style in ("csv", "vnl") else None
        if args.style is None:
            output.write(f"{headline(board)}\n{'t [ms]':>18}  {'residual':>10}  {'spread':>8}  {'ppm':>9}  frame")
        for batch in job.batches():
            output.check()
            for each in batch:
                if isinstance(each, Followed):
                    count, jumps = count + 1, jumps + each.jump
                    worst = worst if each.jump else max(worst, abs(each.residual))
                    if chrony and not each.jump:
                        tell(chrony, board, each)
                    numbers = (fixed(each.spread, 3), fixed(each.residual, 3), fixed(each.ppm, 6))
                    if rows:
                        tick = round(each.tick)
                        frame = each.text.replace(" ", "_")
                        rows.row(each.second, tick, ns(ts, each.tick), *numbers, frame, "jump" if each.jump else None)
                    elif args.style == "json":
                        frames.add(value_of(each))
                    else:
                        mark = "  JUMP" if each.jump else ""
                        line = f"{output.ms(ts, each.tick):>18}  {fixed(each.residual, 1):>10}  {fixed(each.spread, 1):>8}"
                        output.write(f"{line}  {fixed(each.ppm, 3):>9}  {each.text}{mark}")
                    continue
                text = f"{Lost(each.tick, each.count, each.at_least)}" if isinstance(each, LostEvent) else each.text
                wrong += isinstance(each, Fault)
                if rows:
                    rows.row(None, each.tick, ns(ts, each.tick), None, None, None, None, text.replace(" ", "_").replace(",", ";"))
                elif args.style == "json":
                    faults.add({"tick": each.tick, "text": text})
                else:
                    output.write(f"{output.ms(ts, each.tick):>18}  {'-':>10}  {'-':>8}  {'-':>9}  NOT WHOLE: {text}")

    def report(losses: Losses) -> tuple[dict[str, Any], str]:
        fit = job.fit
        line = {} if not fit.count else {"second": exact(fit.second_of(0)), "ticks_per_second": exact(fit.rate), "ppm": fixed(fit.ppm, 6)}
        result = (
            shared(board, "clock follow")
            | {"code": args.code, "of": args.of, "input": str(args.input), "frames": frames, "faults": faults, "count": count}
            | {"at_tick_0": line, "jumps": jumps, "max_residual_ticks": fixed(worst, 3)}
            | {"lost": losses.total, "lost_at_least": losses.at_least, "ended": "interrupt" if interrupt else "all there"}
        )
        lost = records_lost(losses.total, losses.at_least)
        summary = [("frames", f"{count}, {counted(wrong, 'part')} not whole, {counted(jumps, 'jump')}, {lost}")]
        if fit.count:
            summary.append(("rate", f"the board's clock is {fixed(fit.ppm, 3)} ppm fast against the code"))
            summary.append(("residual", f"{fixed(worst, 3)} ticks at most from the line through the frames before"))
        if chrony:
            result["chrony"] = {"taken": chrony.taken, "refused": chrony.refused}
            summary.append(("chronyd", f"{counted(chrony.taken, 'sample')}; {chrony.refused} more while it was away"))
        if wrong and not fit.count:
            summary.append(("hint", "no frame was whole: see --invert, and the options of the code"))
        return result, "\n".join(output.aligned(summary))

    losses = to_the_end(job, args.style, look, lambda: count + wrong, report)
    return ended(interrupt, not args.count and args.duration is None) or (LOST if losses.total or jumps or not count else 0)
