# SPDX-License-Identifier: BSD-2-Clause
"""litepulse send"""

import os
import select
import sys
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from litepulse import Board, Outcome, Send, output
from litepulse.backends import Losses
from litepulse.commands import arguments
from litepulse.commands.arguments import Verbs
from litepulse.commands.following import Wait, to_the_end
from litepulse.commands.report import LOST, clock_note, ended, headline, records_lost, shared, shared_line, simulated_mark
from litepulse.errors import BadInput
from litepulse.interrupt import Interrupt
from litepulse.output import ns
from litepulse.spool import Spool
from litepulse.units import approx

BLOCK = 65536
AHEAD = 16 * BLOCK
SHOWN = 3  # refused launches, for people
EXAMPLES = """  printf LitePulse | litepulse --sim send - --every 2ms --csv
  litepulse send message --at +1s --baud 115200"""


def add(verbs: Verbs) -> None:
    """The verb, to the command line."""
    sub = arguments.add_verb(verbs, "send", run, "send a file's bytes as timed launches", ("json", "csv", "vnl"), EXAMPLES)
    sub.add_argument("file", metavar="FILE", help="bytes to send, - for standard input")
    sub.add_argument(
        "--at",
        metavar="T",
        type=arguments.duration("at"),
        help="first byte: +10ms from now, or a time or tick since the board's reset (default: soon)",
    )
    sub.add_argument(
        "--every", metavar="T", type=arguments.duration("every", positive=True), help="a byte every so often (default: back to back)"
    )
    arguments.add_line(sub)


class Source:
    """The bytes of a file, read as they are needed; one without end is no more than one that is long.

    The first AHEAD bytes are there before anything is launched, so that a slow pipe makes nothing late that fits into them.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        if name == "-" and sys.stdin is None:
            raise BadInput("-: standard input is closed")
        try:
            self.file = sys.stdin.fileno() if name == "-" else os.open(name, os.O_RDONLY | os.O_CLOEXEC)
            self.size = os.fstat(self.file).st_size if os.path.isfile(name) else None
            self.first = b""
            while len(self.first) < AHEAD and (block := os.read(self.file, BLOCK)):
                self.first += block
        except OSError as error:
            raise BadInput(f"{name}: cannot read it ({error.strerror})") from None
        if not self.first:
            raise BadInput(f"{name}: it is empty, nothing to send")

    def __iter__(self) -> Iterator[int | None]:
        block, ready = self.first, select.poll()
        if self.size is None:
            ready.register(self.file, select.POLLIN)
        while block:
            yield from block
            while self.size is None and not ready.poll(0):
                yield None  # a pipe with nothing in it must not keep Ctrl-C from being seen
            try:
                block = os.read(self.file, BLOCK)
            except OSError as error:
                raise BadInput(f"{self.name}: cannot be read to its end ({error.strerror})") from None

    def check(self, data_bits: int) -> None:
        """BadInput if the bytes that are known already do not fit; later ones are found when they come."""
        if max(self.first) >> data_bits:
            raise BadInput(f"{self.name}: holds bytes that do not fit {data_bits} data bits")


def run(args: Namespace) -> int:
    """litepulse send"""
    source = Source(args.file)
    with arguments.board(args) as board, Interrupt() as interrupt:
        line = arguments.line_of(args)
        source.check(line["format"].data_bits)
        at = None if args.at is None else arguments.when(args.at, board)
        sending = board.send(source, at, every=args.every, **line, keep=False)
        return follow(args, board, source, sending, interrupt)


def follow(args: Namespace, board: Board, source: Source, sending: Send, interrupt: Interrupt) -> int:
    """Shows what becomes of each until all have left, or an interrupt came."""
    ts, job, rows_out, total = board.timescale, sending.run, None, source.size
    sent, bad, heard = Spool(), Spool(), Spool()
    first_bad: list[Outcome] = []
    if args.style == "json":
        job.hear = lambda byte: heard.add({"tick": byte.tick, "byte": byte.data})
    launched = refused = 0
    worst: int | None = None

    def look() -> None:
        nonlocal rows_out, launched, refused, worst
        if args.style in ("csv", "vnl"):
            rows_out = output.Rows(args.style, ("n", "tick", "t_ns", "error_ticks", "outcome"), board.identity.backend)
        elif args.style is None:
            what = f"{total} bytes" if total else "bytes"
            line = f"{approx(job.profile.bit_period.baud, 3)} baud {job.profile.format}"
            output.write(f"{headline(board)}\n{what} from tick {sending.first_tick} on, at {line}")
        wait = Wait(board, "the first byte", sending.first_tick)
        with output.Live(f"sending{simulated_mark(board)}", total, args.style) as live:
            for found in job.follow(interrupt):
                for outcome in sending.take(found):
                    error = outcome.tick - outcome.wanted
                    if outcome.reason:
                        refused += 1
                        if args.style == "json":
                            bad.add({"n": outcome.number, "tick": outcome.tick, "reason": outcome.reason})
                        elif len(first_bad) < SHOWN:
                            first_bad.append(outcome)
                    else:
                        launched += 1
                        worst = max(abs(error), worst or 0)
                        if args.style == "json":
                            told = {"n": outcome.number, "tick": outcome.tick, "wanted": outcome.wanted, "byte": outcome.byte}
                            sent.add(told)
                    if rows_out:
                        shown = None if outcome.reason else error
                        rows_out.row(outcome.number, outcome.tick, ns(ts, outcome.tick), shown, outcome.reason or "launched")
                live.update(launched + refused, wait=wait.left(job.poller.tick))

    def report(losses: Losses) -> tuple[dict[str, Any], str]:
        result = (
            shared(board, "send")
            | shared_line(job.profile)
            | {
                "launched": sent,
                "refused": bad,
                "received": heard,
                "max_error_ticks": worst,
                "lost": losses.total,
                "lost_at_least": losses.at_least,
                "ended": "interrupt" if interrupt else "all sent",
            }
        )
        lost = records_lost(losses.total, losses.at_least)
        said = [("launched", f"{launched} of {job.fed}, {refused} refused, {job.received_count} received, {lost}")]
        if worst is not None:
            said.append(("error", f"{worst} ticks at most between asked and launched"))
        said += [("refused", f"byte {outcome.number}: {outcome.reason}") for outcome in first_bad]
        said.append(("clock", clock_note(board)))
        return result, "\n".join(output.aligned(said))

    losses = to_the_end(board, args.style, look, lambda: launched, report)
    if interrupt:
        return ended(interrupt, False)
    return LOST if refused or losses.total else 0
