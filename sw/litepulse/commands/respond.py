# SPDX-License-Identifier: BSD-2-Clause
"""litepulse respond"""

import math
from argparse import Namespace
from typing import Any

from litepulse import Board, Trigger, output
from litepulse.backends import Losses
from litepulse.commands import VERBS, arguments
from litepulse.commands.arguments import Verbs
from litepulse.commands.following import to_the_end
from litepulse.commands.report import LOST, clock_note, ended, headline, records_lost, shared, simulated_mark
from litepulse.errors import BadInput
from litepulse.interrupt import Interrupt
from litepulse.job import tidy
from litepulse.output import ns
from litepulse.respond import Missed, RespondRun, check_echo
from litepulse.spool import Spool
from litepulse.units import Duration, in_ticks, si

EXAMPLES = """  litepulse respond --on edge:0:rise --delay 5us --width 1us
  litepulse respond --on byte:0x55 --delay 200us --byte 0xaa --baud 19200 --keep
  litepulse respond --off"""


def add(verbs: Verbs) -> None:
    """The verb, to the command line."""
    sub = arguments.add_verb(verbs, "respond", run, VERBS["respond"], ("json", "csv", "vnl"), EXAMPLES)
    time = arguments.duration
    sub.add_argument("--on", metavar="TRIGGER", type=arguments.trigger, help="edge:CHANNEL[:rise|fall|both], byte:VALUE[/MASK] or break")
    sub.add_argument("--off", action="store_true", help="disarm the responder and return")
    sub.add_argument("--delay", metavar="T", type=time("delay"), help="from the edge, or from the end of the received frame")
    sub.add_argument("--once", action="store_true", help="answer only the first trigger")
    sub.add_argument("--holdoff", default="0t", metavar="T", type=time("holdoff"), help="ignore triggers so long after an answer")
    sub.add_argument("--exclusive", action="store_true", help="no other bytes start while armed")
    sub.add_argument("--own", action="store_true", help="our own transmission may trigger, too")
    sub.add_argument(
        "--echo",
        metavar="T",
        type=time("echo"),
        help="our own transmission echoes until so long after its end (default: 16 cycles of the clock)",
    )
    sub.add_argument("--count", default="0", metavar="N", type=arguments.count(), help="stop after so many answers and misses")
    sub.add_argument("--for", dest="duration", metavar="T", type=time("for"), help="stop after this time of the board's clock")
    sub.add_argument("--keep", action="store_true", help="leave it armed and return")
    arguments.add_frame(sub)
    arguments.add_line(sub)


def run(args: Namespace) -> int:
    """litepulse respond"""
    if args.off:
        return disarm(args)
    missing = [name for name, value in (("--on TRIGGER", args.on), ("--delay T", args.delay)) if value is None]
    if missing:
        raise BadInput(f"give {' and '.join(missing)}, or --off")
    check_echo(args.echo, args.own)
    if args.keep and args.sim:
        raise BadInput("--keep needs a device that outlives this command; the simulated SoC of --sim ends with it")
    if args.sim and not args.stimulus and args.count == 0 and args.duration is None:
        raise BadInput("nothing triggers on the simulated SoC: give --stimulus FILE (lines 'tick channel level'), or --count or --for")
    with arguments.board(args) as board, Interrupt() as interrupt:
        line = arguments.line_of(args)
        job = board.respond_run(
            args.on,
            args.delay,
            once=args.once,
            holdoff=args.holdoff or Duration(),
            exclusive=args.exclusive,
            own=args.own,
            echo=args.echo,
            fmt=line["format"],
            baud=line["baud"],
            loopback=line["loopback"],
            **arguments.frame_of(args),
        )
        trigger = named(job.response.trigger, board)
        job.prepare()
        try:
            job.arm()
            if args.keep:
                return keep(args, board, job, trigger)
        except BaseException:
            tidy(board.backend)
            raise
        return follow(args, board, job, interrupt, trigger)


def named(trigger: Trigger, board: Board) -> str:
    """The trigger in words, its channel by name."""
    if trigger.kind != "edge" or trigger.channel != board.identity.inputs:
        return str(trigger)
    return str(trigger).replace(f"on {trigger.channel}", "on rx")


def disarm(args: Namespace) -> int:
    """--off"""
    with arguments.board(args, own=False) as board:
        board.backend.disarm()
        if args.style == "json":
            output.write_json(shared(board, "respond") | {"armed": False})
        else:
            output.write(f"{headline(board)}\nthe responder is disarmed")
    return 0


def keep(args: Namespace, board: Board, job: RespondRun, trigger: str) -> int:
    """Leaves it armed."""
    board.backend.leave()
    if args.style == "json":
        numbers = {"delay_ticks": job.response.delay, "echo_ticks": job.echo}
        output.write_json(shared(board, "respond") | {"armed": True, "trigger": trigger, **numbers})
    else:
        words = arguments.device_words(args, board)
        output.write(
            f"{headline(board)}\narmed: {trigger} → {job.response.launch} after {in_ticks(job.response.delay)}; "
            f"'litepulse{words} stop' disarms"
        )
    return 0


def follow(args: Namespace, board: Board, job: RespondRun, interrupt: Interrupt, trigger: str) -> int:
    """Shows what the responder does until it ends, then disarms it."""
    ts, rows_out, response = board.timescale, None, job.response
    answers, misses = Spool(), Spool()
    missed: list[Missed] = []
    delays: dict[int, int] = {}

    def look() -> None:
        nonlocal missed, rows_out
        if args.style in ("csv", "vnl"):
            rows_out = output.Rows(args.style, ("n", "tick", "t_ns", "delay_ns", "outcome"), board.identity.backend)
        elif args.style is None:
            length = si(ts.seconds(response.delay), "s")
            output.write(f"{headline(board)}\n{trigger} → {response.launch} after {in_ticks(response.delay)} = {length}")
        end = None if args.duration is None else board.now().tick + math.floor(ts.ticks(args.duration))
        with output.Live(f"answering{simulated_mark(board)}", args.count or None, args.style) as live:
            for new_answers, new_missed in job.follow(interrupt):
                for number, tick, reference in new_answers:
                    if reference is not None:
                        delays[tick - reference] = delays.get(tick - reference, 0) + 1
                    if rows_out:
                        rows_out.row(number, tick, ns(ts, tick), None if reference is None else ns(ts, tick - reference), "answered")
                for tick, reason in new_missed:
                    if rows_out:
                        rows_out.row(None, tick, ns(ts, tick), None, reason)
                if args.style == "json":
                    for number, tick, ref in new_answers:
                        delay = None if ref is None else tick - ref
                        answers.add({"n": number, "tick": tick, "reference": ref, "delay_ticks": delay})
                    for tick, reason in new_missed:
                        misses.add({"tick": tick, "reason": reason})
                missed += new_missed[: max(0, 3 - len(missed))]
                total = job.answer_count + job.missed_count
                live.update(total, [("answers", job.answer_count), ("missed", job.missed_count)])
                if (args.count and total >= args.count) or (end is not None and job.poller.tick >= end):
                    break

    def report(losses: Losses) -> tuple[dict[str, Any], str]:
        result = shared(board, "respond") | {
            "trigger": trigger,
            "launch": str(response.launch),
            "delay_ticks": response.delay,
            "echo_ticks": job.echo,
            "answers": answers,
            "missed": misses,
            "lost": losses.total,
            "lost_at_least": losses.at_least,
        }
        lost = records_lost(losses.total, losses.at_least)
        rows = [("answers", f"{job.answer_count}, {job.missed_count} missed, {lost}")]
        if delays:
            shown = sorted(delays.items())[:5]
            rows.append(("delay", ", ".join(f"{n}× {in_ticks(value)} = {si(ts.seconds(value), 's')}" for value, n in shown)))
        for tick, reason in missed:
            rows.append(("missed", f"{reason} at tick {tick}"))
        rows.append(("clock", clock_note(board)))
        return result, "\n".join(output.aligned(rows))

    losses = to_the_end(board, args.style, look, lambda: job.answer_count, report)
    return ended(interrupt, not args.count and args.duration is None) or (LOST if losses.total or not job.answer_count else 0)
