# SPDX-License-Identifier: BSD-2-Clause
"""Verbs on several boards at one moment: what they have in common, and what they report for each board."""

import json
from argparse import Namespace
from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from litepulse import Boards, CommonMoment, Launched, Outcome, Together, output
from litepulse.commands import arguments
from litepulse.commands.report import LOST, clock_note, ended, headline, shared, shared_line
from litepulse.errors import BadInput
from litepulse.interrupt import Interrupt
from litepulse.launch import Feed
from litepulse.output import ns
from litepulse.spool import Spool
from litepulse.units import NANO, counted, si

if TYPE_CHECKING:
    from litepulse.commands.send import Source
    from litepulse.commands.train import Options


def moment_of(moment: CommonMoment) -> dict[str, Any]:
    """For programs."""
    return {"ticks": list(moment.ticks), "uncertainty_ns": moment.uncertainty, "apart_ns": moment.apart}


def moment_text(boards: Boards, moment: CommonMoment) -> list[str]:
    """For people."""
    if boards.shared and not moment.apart:
        return [f"{counted(len(boards), 'line')} of one chip, at tick {moment.ticks[0]}"]
    apart = si(Fraction(moment.apart, NANO), "s")
    return [f"{counted(len(boards), 'board')} at one moment, at most {apart} apart"]


def start_of(args: Namespace, boards: Boards, given: Any) -> Any:
    """A beginning as the library takes it; ticks are those of the first board."""
    return None if given is None else arguments.when(given, boards[0])


def show(args: Namespace, command: str, boards: Boards, moment: CommonMoment, results: list[dict[str, Any]], lines: list[str]) -> None:
    """The result of all."""
    if args.style == "json":
        output.write_json({"command": command, **moment_of(moment), "boards": results})
    else:
        output.write("\n".join([*moment_text(boards, moment), *lines]))


def train(args: Namespace, options: "Options") -> int:
    """litepulse train"""
    from litepulse.commands.train import KEPT, title_of, train_result, train_text

    if args.keep:
        raise BadInput("--keep leaves one train; several boards are followed to the end")
    with arguments.boards(args) as boards, Interrupt() as interrupt:
        start = start_of(args, boards, args.start)
        limit = None if args.style == "json" else KEPT
        with boards.train(**options, start=start, limit=limit, clock=args.clock, follow_steps=args.follow_steps) as trains:
            for _ in trains:
                pass
        results: list[dict[str, Any]] = []
        lines: list[str] = []
        bad = False
        for board, job in zip(boards, trains.jobs):
            result = train_result(board, job, interrupt)
            results.append(result)
            lines += [f"{headline(board)}\n{title_of(board, job.plan)}", *train_text(board, job, result)]
            bad = bad or bool(job.record.lost or job.record.refused_count)
        show(args, "train", boards, trains.moment, results, lines)
        return ended(interrupt, args.count == 0) or (LOST if bad else 0)


def send(args: Namespace, source: "Source | None") -> int:
    """litepulse send"""
    from litepulse.commands.send import Table

    with arguments.boards(args) as boards, Interrupt() as interrupt:
        line, at = arguments.line_of(args), start_of(args, boards, args.at)
        if source is None:
            rows = list(Table(args.file, boards[0].timescale, line["format"]))
            with arguments.named(start="at"):
                launches = boards.launches(rows, start=at, **line)
            return follow(args, "send", boards, launches, interrupt)
        if source.size != len(source.first):
            raise BadInput(f"{args.file}: to several boards a file is sent, of 1 MiB at most")
        source.check(line["format"].data_bits)
        return follow(args, "send", boards, boards.send(source.first, at, every=args.every, **line), interrupt)


def sequence(args: Namespace, entries: Iterable[Any]) -> int:
    """litepulse sequence"""
    from litepulse.commands.sequence import NAMED

    if args.on is not None or args.profile or args.inputs:
        raise BadInput("--on, --profile and --inputs are for one board")
    with arguments.boards(args) as boards, Interrupt() as interrupt:
        args.width = 0 if args.high else None  # for line_of()
        line, at = arguments.line_of(args), start_of(args, boards, args.at)
        with arguments.named(**NAMED):
            job = boards.sequence(
                list(entries), start=at, timeout=args.timeout, repeat=args.repeat, waits=args.waits, mark_width=args.mark_width, **line
            )
        return follow(args, "sequence", boards, job, interrupt)


def follow(args: Namespace, command: str, boards: Boards, jobs: Together[Any], interrupt: Interrupt) -> int:
    """Launches on all boards, to their end."""
    from litepulse.commands.send import Tally

    tallies = [Tally(args.style) for _ in boards]
    waits = [0] * len(boards)
    with jobs:
        for number, found in jobs:
            if isinstance(found, Outcome):
                tallies[number].add(found, f"launch {found.number}", {})
            else:
                waits[number] += 1
    results: list[dict[str, Any]] = []
    lines: list[str] = []
    bad = False
    for number, (board, tally) in enumerate(zip(boards, tallies)):
        job: Feed[Any] = jobs.jobs[number]
        found = tally.result(job.losses)
        found |= {key: json.loads("".join(value.pieces())) for key, value in found.items() if isinstance(value, Spool)}
        results.append(shared(board, command) | shared_line(job.run.profile) | found | {"waits": waits[number]})
        rows = [*tally.summary(job, job.losses), ("from", f"tick {jobs.moment.ticks[number]}"), ("clock", clock_note(board))]
        lines += [headline(board), *output.aligned(rows)]
        bad = bad or bool(tally.refused or job.losses.total)
    show(args, command, boards, jobs.moment, results, lines)
    return ended(interrupt, False) or (LOST if bad else 0)


def mark(args: Namespace) -> int:
    """litepulse mark"""
    if args.code is None or args.tty is not None:
        raise BadInput("several boards show a code; --tty and --width alone are for one board")
    with arguments.boards(args) as boards, Interrupt() as interrupt:
        try:
            done: Launched = boards.mark(args.code, start_of(args, boards, args.at), width=args.width)
        except KeyboardInterrupt:  # it was taken back
            return ended(interrupt, False)
        results: list[dict[str, Any]] = []
        lines: list[str] = []
        for board, outcome in zip(boards, done.outcomes):
            more = {"code": args.code, "tick": outcome.tick, "wanted": outcome.wanted, "t_ns": ns(board.timescale, outcome.tick)}
            results.append(shared(board, "mark") | more)
            lines += [headline(board), f"  mark   0x{args.code:02x} from tick {outcome.tick} on"]
        show(args, "mark", boards, done.moment, results, lines)
    return 0
