# SPDX-License-Identifier: BSD-2-Clause
"""litepulse respond"""

import math
from argparse import Namespace
from typing import Any

from litepulse import Answer, Board, Responder, Trigger, output
from litepulse.backends import Losses
from litepulse.commands import VERBS, arguments
from litepulse.commands.arguments import Verbs
from litepulse.commands.following import to_the_end
from litepulse.commands.report import LOST, clock_note, ended, headline, records_lost, shared, simulated_mark
from litepulse.errors import BadInput
from litepulse.interrupt import Interrupt
from litepulse.line import Response
from litepulse.output import ns
from litepulse.respond import PULSES_LIMIT, check_burst, check_echo
from litepulse.spool import Spool
from litepulse.units import Timescale, in_ticks, si

SHOWN_MISSES = 3
SHOWN_DELAYS = 5
EXAMPLES = """  litepulse respond --on edge:0:rise --delay 5us --width 1us
  litepulse respond --on edge:0:rise --delay 2ms --pulses 10 --every 20ms --width 1ms --high
  litepulse respond --on byte:0x55 --delay 200us --byte 0xaa --baud 19200 --keep
  litepulse respond --off"""


def add(verbs: Verbs) -> None:
    """The verb, to the command line."""
    sub = arguments.add_verb(verbs, "respond", run, VERBS["respond"], ("json", "csv", "vnl"), EXAMPLES)
    time = arguments.duration
    sub.add_argument("--on", metavar="TRIGGER", type=arguments.trigger, help="edge:CHANNEL[:rise|fall|both], byte:VALUE[/MASK] or break")
    sub.add_argument("--off", action="store_true", help="disarm the responder and return")
    sub.add_argument("--delay", metavar="T", type=time("delay"), help="from the edge, or from the end of the received frame")
    sub.add_argument(
        "--pulses",
        default="1",
        metavar="N",
        type=arguments.count("pulses", 1, PULSES_LIMIT),
        help=f"answer with a burst of N pulses or frames, 1 to {PULSES_LIMIT} (default 1)",
    )
    sub.add_argument("--every", metavar="T", type=time("every"), help="from each of them to the next")
    sub.add_argument("--once", action="store_true", help="answer only the first trigger")
    sub.add_argument(
        "--holdoff", metavar="T", type=time("holdoff"), help="ignore triggers for T after an answer (default 0; with --pulses: as --every)"
    )
    sub.add_argument("--exclusive", action="store_true", help="no other bytes start while armed")
    sub.add_argument("--own", action="store_true", help="our own transmission may trigger, too")
    sub.add_argument(
        "--echo", metavar="T", type=time("echo"), help="our own transmission may echo for T after its end (default: 16 cycles of the clock)"
    )
    sub.add_argument(
        "--count", default="0", metavar="N", type=arguments.count(), help="stop after N answers and misses; each pulse of a burst is one"
    )
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
    check_burst(args.pulses, args.every, args.holdoff)
    if args.keep and args.sim:
        raise BadInput("--keep needs a device that outlives this command; the simulated SoC of --sim ends with it")
    if args.sim and not args.stimulus and args.count == 0 and args.duration is None:
        raise BadInput("nothing triggers on the simulated SoC: give --stimulus FILE (lines 'tick channel level'), or --count or --for")
    with arguments.board(args) as board, Interrupt() as interrupt:
        job = board.respond(
            args.on,
            args.delay,
            pulses=args.pulses,
            every=args.every,
            once=args.once,
            holdoff=args.holdoff,
            exclusive=args.exclusive,
            own=args.own,
            echo=args.echo,
            **arguments.frame_of(args),
            **arguments.line_of(args),
        )
        return keep(args, board, job) if args.keep else follow(args, board, job, interrupt)


def named(trigger: Trigger, board: Board) -> str:
    """The trigger in words, its channel by name."""
    if trigger.kind != "edge" or trigger.channel != board.identity.inputs:
        return str(trigger)
    return str(trigger).replace(f"on {trigger.channel}", "on rx")


def described(response: Response, trigger: str, ts: Timescale) -> str:
    """A response in words, each time also in ticks."""

    def time_of(ticks: int) -> str:
        return f"{in_ticks(ticks)} = {si(ts.seconds(ticks), 's')}"

    launch = f"pulse of {time_of(response.launch.width)}" if response.launch.kind == "pulse" else response.launch
    if response.pulses == 1:
        return f"{trigger} → {launch} after {time_of(response.delay)}"
    return f"{trigger} → {response.pulses} × {launch}, every {time_of(response.holdoff)}, after {time_of(response.delay)}"


def disarm(args: Namespace) -> int:
    """--off"""
    if others := [word for word in args.parser.given(args) if word not in ("--off", "--json")]:
        raise BadInput(f"--off only disarms the responder: leave out {', '.join(others)}")
    with arguments.board(args, own=False) as board:
        board.disarm()
        if args.style == "json":
            output.write_json(shared(board, "respond") | {"armed": False})
        else:
            output.write(f"{headline(board)}\nthe responder is disarmed")
    return 0


def keep(args: Namespace, board: Board, job: Responder) -> int:
    """Leaves it armed."""
    job.detach()
    response, trigger = job.plan.response, named(job.plan.response.trigger, board)
    if args.style == "json":
        numbers = {"pulses": response.pulses, "delay_ticks": job.delay, "every_ticks": job.every, "echo_ticks": job.echo}
        output.write_json(shared(board, "respond") | {"armed": True, "trigger": trigger, **numbers})
    else:
        words = arguments.device_words(args, board)
        output.write(f"{headline(board)}\narmed: {described(response, trigger, board.timescale)}; 'litepulse{words} stop' disarms")
    return 0


def follow(args: Namespace, board: Board, job: Responder, interrupt: Interrupt) -> int:
    """Shows what the responder does until it ends, then disarms it."""
    ts, rows_out, response = board.timescale, None, job.plan.response
    trigger = named(response.trigger, board)
    number = "pulse" if response.burst else "n"
    answers, misses = Spool(), Spool()
    counts = {"answers": 0, "missed": 0}
    first_missed: list[Answer] = []
    delays: dict[int, int] = {}

    def show(answer: Answer) -> None:
        counts["answers" if answer.reason is None else "missed"] += 1
        delay, tick = answer.delay, answer.tick
        if rows_out:
            rows_out.row(answer.number, tick, ns(ts, tick), None if delay is None else ns(ts, delay), answer.reason or "answered")
        if answer.reason is not None:
            if args.style == "json":
                misses.add(({number: answer.number} if response.burst else {}) | {"tick": tick, "reason": answer.reason})
            elif len(first_missed) < SHOWN_MISSES:
                first_missed.append(answer)
            return
        if delay is not None:
            delays[delay] = delays.get(delay, 0) + 1
        if args.style == "json":
            answers.add({number: answer.number, "tick": tick, "reference": None if delay is None else tick - delay, "delay_ticks": delay})

    def look() -> None:
        nonlocal rows_out
        if args.style in ("csv", "vnl"):
            rows_out = output.Rows(args.style, (number, "tick", "t_ns", "delay_ns", "outcome"), board.identity.backend)
        elif args.style is None:
            output.write(f"{headline(board)}\n{described(response, trigger, ts)}")
        end = None if args.duration is None else board.now().tick + math.floor(ts.ticks(args.duration))
        with output.Live(f"answering{simulated_mark(board)}", args.count or None, args.style) as live:
            for batch in job.batches():
                for answer in batch:
                    show(answer)
                total = sum(counts.values())
                live.update(total, [*counts.items()])
                if (args.count and total >= args.count) or (end is not None and job.poller.tick >= end):
                    break

    def report(losses: Losses) -> tuple[dict[str, Any], str]:
        result = shared(board, "respond") | {
            "trigger": trigger,
            "launch": str(response.launch),
            "pulses": response.pulses,
            "delay_ticks": response.delay,
            "every_ticks": job.every,
            "echo_ticks": job.echo,
            "answers": answers,
            "missed": misses,
            "lost": losses.total,
            "lost_at_least": losses.at_least,
        }
        lost = records_lost(losses.total, losses.at_least)
        rows = [("answers", f"{counts['answers']}, {counts['missed']} missed, {lost}")]
        if delays:
            shown = [f"{n}× {in_ticks(value)} = {si(ts.seconds(value), 's')}" for value, n in sorted(delays.items())[:SHOWN_DELAYS]]
            rest = len(delays) - len(shown)
            rows.append(("delay", ", ".join(shown) + (f", and {rest} more" if rest else "")))
        which = "pulse {}: " if response.burst else ""
        rows += [("missed", f"{which.format(answer.number)}{answer.reason} at tick {answer.tick}") for answer in first_missed]
        rows.append(("clock", clock_note(board)))
        return result, "\n".join(output.aligned(rows))

    losses = to_the_end(job, args.style, look, lambda: counts["answers"], report)
    return ended(interrupt, not args.count and args.duration is None) or (LOST if losses.total or not counts["answers"] else 0)
