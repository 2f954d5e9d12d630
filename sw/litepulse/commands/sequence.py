# SPDX-License-Identifier: BSD-2-Clause
"""litepulse sequence"""

import math
from argparse import Namespace
from fractions import Fraction
from typing import Any

from litepulse import Board, Outcome, Sequence, Trigger, Waited, output
from litepulse.backends import Losses
from litepulse.commands import VERBS, arguments, sequence_file, together
from litepulse.commands.arguments import Verbs
from litepulse.commands.following import Wait, to_the_end
from litepulse.commands.report import LOST, clock_note, ended, headline, shared, shared_line, simulated_mark
from litepulse.commands.send import Tally
from litepulse.errors import BadInput
from litepulse.interrupt import Interrupt
from litepulse.line import Format
from litepulse.output import ns
from litepulse.spool import Spool
from litepulse.units import counted, parse_count, parse_rate, si

COLUMNS = ("run", "n", "what", "tick", "t_ns", "error_ticks", "outcome", "began", "length_ns", "code")
NAMED = {"start": "at", "mark_width": "mark-width"}  # arguments of the library that are options of another name
EXAMPLES = """  litepulse sequence ramp.csv --high                     rows such as 5ms,10us under the heading after,width
  litepulse sequence shots.csv --on edge:0:rise --timeout 5s --repeat 20
  litepulse sequence pattern.json --repeat 0 --csv > log.csv
  ./generate | litepulse sequence - --csv                the entries as another program writes them"""


def add(verbs: Verbs) -> None:
    """The verb, to the command line."""
    sub = arguments.add_verb(verbs, "sequence", run, VERBS["sequence"], ("json", "csv", "vnl"), EXAMPLES)
    sub.add_argument("file", metavar="FILE", help="FILE.csv or FILE.json with launches and waits, - for CSV on standard input")
    sub.add_argument("--on", metavar="EDGE", type=trigger, help="each run begins at an edge: edge:CHANNEL[:rise|fall|both]")
    sub.add_argument(
        "--timeout",
        metavar="T",
        type=arguments.duration("timeout", positive=True),
        help="--on, and waits of the file without a timeout, end after T (default: they wait)",
    )
    sub.add_argument(
        "--repeat",
        default="1",
        metavar="N",
        type=arguments.count("repeat"),
        help="N runs, each behind the last entry of the one before, or with --on for each edge; 0: until Ctrl-C (default 1)",
    )
    sub.add_argument("--at", metavar="T", type=arguments.moment("at"), help="beginning: +10ms from now, or a time or tick (default: soon)")
    sub.add_argument(
        "--profile",
        metavar="N:BAUD[:FORMAT]",
        action="append",
        type=profile,
        help="bit rate and format of entries with this profile, 2 or 3; 1 is that of --baud and --format",
    )
    sub.add_argument(
        "--inputs", default="none", metavar="LIST", type=arguments.channels, help="channels that entries of standard input wait for"
    )
    sub.add_argument(
        "--waits",
        choices=("board", "host"),
        help="what waits for edges; board: or it is an error (default: the computer, or the board where that is too slow)",
    )
    sub.add_argument(
        "--mark-width",
        metavar="T",
        type=arguments.duration("mark-width"),
        help="how long each code is shown, also after this; 0: until the next one (default: as before, which after a reset is 0)",
    )
    sub.add_argument("--high", action="store_true", help="pulses from 0 to 1: tx rests at 0, as with --invert")
    arguments.add_line(sub)


def trigger(text: str) -> Trigger:
    """An edge."""
    return sequence_file.edge_of(arguments.trigger(text))


def profile(text: str) -> tuple[int, tuple[Fraction, Format]]:
    """2:115200:8E1"""
    number, *rest = text.split(":")
    if not 1 <= len(rest) <= 2:
        raise BadInput(f"profile: '{text}' is not like 2:115200 or 2:115200:8E1")
    return parse_count(number, "profile", 2, 3), (parse_rate(rest[0], "profile"), Format.parse(rest[1] if len(rest) == 2 else "8N1"))


def run(args: Namespace) -> int:
    """litepulse sequence"""
    if args.sim and args.on and args.timeout is None and not args.stimulus and not args.wire:
        raise BadInput("nothing triggers on the simulated SoC: give --stimulus FILE (lines 'tick channel level'), --wire or --timeout")
    if args.on is not None and args.at is not None:
        raise BadInput("at and on exclude each other: the edge of --on is the beginning")
    entries = sequence_file.read(args.file)
    known = isinstance(entries, list | sequence_file.Sized)
    if args.inputs and known:
        raise BadInput(f"inputs: the entries of {args.file} name the channels that they wait for; only those of standard input need it")
    if arguments.several(args):
        return together.sequence(args, entries)
    rests_low = args.invert or args.high
    args.invert, args.high = rests_low, False
    wanted: list[tuple[int, tuple[Fraction, Format]]] = args.profile or []
    given = dict(wanted)
    if len(given) != len(wanted):
        raise BadInput("profile: a number is given twice")
    profiles = {n: (baud, Format(fmt.data_bits, fmt.parity, fmt.stop, rests_low)) for n, (baud, fmt) in given.items()}
    with arguments.board(args) as board, Interrupt() as interrupt:
        with arguments.named(**NAMED):
            job = board.sequence(
                entries,
                on=args.on,
                timeout=args.timeout,
                repeat=args.repeat,
                start=None if args.at is None else arguments.when(args.at, board),
                profiles=profiles,
                inputs=args.inputs,
                waits=args.waits,
                mark_width=args.mark_width,
                **arguments.line_of(args),
            )
        total = len(entries) * args.repeat if known else None
        return follow(args, board, job, total, interrupt)


def follow(args: Namespace, board: Board, job: Sequence, total: int | None, interrupt: Interrupt) -> int:
    """Shows what becomes of each entry."""
    ts, rows_out, tally, waits = board.timescale, None, Tally(args.style), Spool()
    by: dict[str, int] = {"edge": 0, "timeout": 0}
    ways: set[str] = set()
    if tally.keep:
        job.run.hear = tally.hear

    def show(found: Outcome | Waited) -> None:
        if isinstance(found, Outcome):
            error = tally.add(found, f"entry {found.number} of run {found.run}", {"run": found.run})
            if rows_out:
                shown = None if found.reason else error
                time, outcome = ns(ts, found.tick), found.reason or "launched"
                rows_out.row(found.run, found.number, "launch", found.tick, time, shown, outcome, None, None, found.code)
            return
        by[found.ended] += 1
        ways.add(found.by)
        if tally.keep:
            waits.add(
                {"run": found.run, "n": found.number, "began": found.began, "tick": found.tick, "ended": found.ended, "level": found.level}
                | {"by": found.by}
            )
        if rows_out:
            length = ns(ts, found.length)
            rows_out.row(found.run, found.number, "wait", found.tick, ns(ts, found.tick), None, found.ended, found.began, length, None)

    def look() -> None:
        nonlocal rows_out
        if args.style in ("csv", "vnl"):
            rows_out = output.Rows(args.style, COLUMNS, board.identity.backend)
        elif args.style is None:
            rate, reaction = math.floor(job.rate), si(ts.seconds(job.reaction), "s")
            in_board = " in the board" if job.reaction != job.pace.reaction else ""
            first = f"tick {job.first_tick}" if args.on is None else "an edge"
            output.write(f"{headline(board)}\nfrom {first} on; carries {rate} entries a second, {reaction} behind a wait{in_board}")
        wait = Wait(board, "the first entry", job.first_tick)
        with output.Live(f"sequence{simulated_mark(board)}", total, args.style) as live:
            for batch in job.batches():
                for found in batch:
                    show(found)
                live.update(tally.launched + tally.refused + sum(by.values()), wait=wait.left(job.run.poller.tick))

    def report(losses: Losses) -> tuple[dict[str, Any], str]:
        result = shared(board, "sequence") | shared_line(job.run.profile) | tally.result(losses) | {"waits": waits}
        result |= {"rate": math.floor(job.rate), "reaction_ticks": job.reaction, "ended": job.ended}
        late = job.underrun
        result |= {"underrun": None if late is None else {"run": late.run, "n": late.entry}}
        rows = tally.summary(job, losses)
        if sum(by.values()):
            where = " and ".join(name for way, name in (("board", "in the board"), ("host", "through the computer")) if way in ways)
            rows.append(("waits", f"{by['edge']} ended by an edge, {counted(by['timeout'], 'timeout')}, {where}"))
        return result, "\n".join(output.aligned([*rows, ("ended", job.ended or ""), ("clock", clock_note(board))]))

    losses = to_the_end(job, args.style, look, lambda: tally.launched + sum(by.values()), report)
    if interrupt:
        return ended(interrupt, False)
    return LOST if tally.refused or losses.total or job.ended == "timeout" else 0
