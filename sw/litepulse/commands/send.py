# SPDX-License-Identifier: BSD-2-Clause
"""litepulse send"""

import csv
import math
import os
import select
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping
from typing import Any

from litepulse import Board, Outcome, Send, output
from litepulse.backends import Losses
from litepulse.commands import VERBS, arguments
from litepulse.commands.arguments import Verbs
from litepulse.commands.following import Wait, to_the_end
from litepulse.commands.report import LOST, clock_note, ended, headline, records_lost, shared, shared_line, simulated_mark
from litepulse.errors import BadInput
from litepulse.interrupt import Interrupt
from litepulse.launch import Feed
from litepulse.line import Format, Launch
from litepulse.output import ns
from litepulse.plan import launch_of
from litepulse.spool import Spool
from litepulse.streams import RxByte
from litepulse.units import Duration, Timescale, approx, parse_byte, parse_count, parse_duration

BLOCK = 65536
AHEAD = 16 * BLOCK
CHECKED = 100_000  # rows whose order is checked before the first leaves; of a longer table each is when its turn comes
SHOWN = 3  # refused launches, for people
EXAMPLES = """  printf LitePulse | litepulse --sim send - --every 2ms --csv
  litepulse send message --at +1s --baud 115200
  litepulse send pulses.csv                              rows such as +100us,10us under the heading at,width"""


def add(verbs: Verbs) -> None:
    """The verb, to the command line."""
    sub = arguments.add_verb(verbs, "send", run, VERBS["send"], ("json", "csv", "vnl"), EXAMPLES)
    sub.add_argument(
        "file",
        metavar="FILE",
        help="bytes to send, - for standard input; or a table FILE.csv of launches: columns at or tick, and byte, width or break",
    )
    sub.add_argument("--raw", action="store_true", help="send the bytes of FILE, also if it is such a table")
    sub.add_argument(
        "--at",
        metavar="T",
        type=arguments.moment("at"),
        help="first byte: +10ms from now, or a time or tick since the board's reset (default: soon); of a table: where its + times begin",
    )
    sub.add_argument(
        "--every", metavar="T", type=arguments.duration("every", positive=True), help="a byte every so often (default: back to back)"
    )
    arguments.add_line(sub)


COLUMNS = ("at", "tick", "byte", "width", "break")


def is_table(name: str) -> bool:
    """Whether a file is a table of launches: its name ends in .csv, and its first line names columns of one."""
    if not name.endswith(".csv"):
        return False
    try:
        with open(name, "rb") as file:
            words = file.readline(1000).decode("utf-8-sig").strip().split(",")
    except (OSError, ValueError):
        return False
    return words[0] in COLUMNS and set(words) <= set(COLUMNS)


class Table:
    """Launches at any ticks: a row for each, with `at` or `tick`, and a byte, a width or a break. All is checked before any leaves."""

    def __init__(self, name: str, scale: Timescale, fmt: Format) -> None:
        self.name, self._scale, self._fmt = name, scale, fmt
        self.size = sum(1 for _ in self)
        if not self.size:
            raise BadInput(f"{name}: it has no rows, nothing to send")

    def __iter__(self) -> Iterator[tuple[Duration | int, Launch]]:
        try:
            with open(self.name, newline="", encoding="utf-8-sig") as file:
                rows = csv.DictReader(file, strict=True)
                for row in rows:
                    try:
                        yield self._launch(row)
                    except BadInput as error:
                        raise BadInput(f"{self.name}: line {rows.line_num}: {error}") from None
        except OSError as error:
            raise BadInput(f"{self.name}: cannot read it ({error.strerror})") from None
        except (csv.Error, UnicodeError) as error:
            raise BadInput(f"{self.name}: it is no CSV file ({error})") from None

    def _launch(self, row: dict[str | None, str | None]) -> tuple[Duration | int, Launch]:
        given = {name: text.strip() for name, text in row.items() if name is not None and text and text.strip()}
        if None in row:
            raise BadInput("more values than columns")
        if ("at" in given) == ("tick" in given):
            raise BadInput("give one of at and tick")
        if sum(name in given for name in ("byte", "width", "break")) != 1:
            raise BadInput("give one of byte, width and break")
        at = parse_count(given["tick"], "tick", 0, (1 << 63) - 1) if "tick" in given else parse_duration(given["at"], "at")
        if isinstance(at, Duration) and not at.relative:
            at = math.floor(self._scale.ticks(at))
        return at, launch_of(
            self._scale,
            parse_byte(given["byte"]) if "byte" in given else None,
            parse_duration(given["width"], "width") if "width" in given else None,
            parse_count(given["break"], "break") if "break" in given else None,
            self._fmt,
        )


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
    table = not args.raw and is_table(args.file)
    if table and args.every:
        raise BadInput(f"every: the rows of {args.file} say when each leaves; --raw sends the bytes of the file")
    source = None if table else Source(args.file)
    if source and args.file.endswith(".csv") and not args.raw:
        output.note(f"{args.file}: its heading is not that of a table of launches, so its bytes are sent; --raw omits this note")
    if arguments.several(args):
        from litepulse.commands import together

        return together.send(args, source)
    with arguments.board(args) as board, Interrupt() as interrupt:
        line = arguments.line_of(args)
        at = None if args.at is None else arguments.when(args.at, board)
        if source is None:
            rows = Table(args.file, board.timescale, line["format"])
            series = list(rows) if rows.size <= CHECKED else rows
            with arguments.named(start="at"):
                sending = board.launches(series, start=at, **line, keep=False)
            return follow(args, board, rows.size, sending, interrupt)
        source.check(line["format"].data_bits)
        sending = board.send(source, at, every=args.every, **line, keep=False)
        return follow(args, board, source.size, sending, interrupt)


def what(outcome: Outcome) -> dict[str, int]:
    """What a launch was, by the name that a file has for it; a pulse has a width, which is not known here."""
    name = {"frame": "byte", "break": "break", "mark": "code"}.get(outcome.kind)
    return {} if name is None else {name: outcome.byte}


class Tally:
    """What became of launches, as it is reported: everything for JSON, else only how much it was."""

    def __init__(self, style: str | None) -> None:
        self.keep = style == "json"
        self.sent, self.bad, self.heard = Spool(), Spool(), Spool()
        self.first_bad: list[tuple[str, Outcome]] = []  # (how people call it, what became of it)
        self.launched = self.refused = 0
        self.worst: int | None = None  # ticks between requested and launched

    def hear(self, byte: RxByte) -> None:
        """A received byte."""
        self.heard.add({"tick": byte.tick, "byte": byte.data})

    def add(self, outcome: Outcome, name: str, more: Mapping[str, int]) -> int:
        """One launch; its error in ticks. name: of it, for people; more: what JSON has of it, too."""
        error = outcome.tick - outcome.wanted
        if outcome.reason:
            self.refused += 1
            if self.keep:
                self.bad.add({**more, "n": outcome.number, "tick": outcome.tick, "reason": outcome.reason, **what(outcome)})
            elif len(self.first_bad) < SHOWN:
                self.first_bad.append((name, outcome))
            return error
        self.launched += 1
        self.worst = max(abs(error), self.worst or 0)
        if self.keep:
            self.sent.add({**more, "n": outcome.number, "tick": outcome.tick, "wanted": outcome.wanted, **what(outcome)})
        return error

    def result(self, losses: Losses) -> dict[str, Any]:
        """For programs."""
        return {
            "launched": self.sent,
            "refused": self.bad,
            "received": self.heard,
            "max_error_ticks": self.worst,
            "lost": losses.total,
            "lost_at_least": losses.at_least,
        }

    def summary(self, job: Feed[Any], losses: Losses) -> list[tuple[str, str]]:
        """For people."""
        run = job.run
        lost = records_lost(losses.total, losses.at_least)
        rows = [
            ("launched", f"{self.launched} of {run.fed - run.others_fed}, {self.refused} refused, {run.received_count} received, {lost}")
        ]
        if self.worst is not None:
            rows.append(("error", f"{self.worst} ticks at most between requested and launched"))
        return rows + [("refused", f"{name}: {outcome.reason}") for name, outcome in self.first_bad]


def follow(
    args: Namespace, board: Board, total: int | None, sending: Send, interrupt: Interrupt, command: str = "send", named: str = "bytes"
) -> int:
    """Shows what becomes of each until all have left, or an interrupt came."""
    ts, job, rows_out, tally = board.timescale, sending.run, None, Tally(args.style)
    one = "byte" if named == "bytes" else "pulse"
    if tally.keep:
        job.hear = tally.hear

    def look() -> None:
        nonlocal rows_out
        if args.style in ("csv", "vnl"):
            rows_out = output.Rows(args.style, ("n", "tick", "t_ns", "error_ticks", "outcome"), board.identity.backend)
        elif args.style is None:
            what = f"{total} {named}" if total else named
            line = f"{approx(job.profile.bit_period.baud, 3)} baud {job.profile.format}"
            output.write(f"{headline(board)}\n{what} from tick {sending.first_tick} on, at {line}")
        wait = Wait(board, f"the first {one}", sending.first_tick)
        with output.Live(f"sending{simulated_mark(board)}", total, args.style) as live:
            for batch in sending.batches():
                for outcome in batch:
                    error = tally.add(outcome, f"{one} {outcome.number}", {})
                    if rows_out:
                        shown = None if outcome.reason else error
                        rows_out.row(outcome.number, outcome.tick, ns(ts, outcome.tick), shown, outcome.reason or "launched")
                live.update(tally.launched + tally.refused, wait=wait.left(job.poller.tick))

    def report(losses: Losses) -> tuple[dict[str, Any], str]:
        result = shared(board, command) | shared_line(job.profile) | tally.result(losses)
        summary = [*tally.summary(sending, losses), ("clock", clock_note(board))]
        return result | {"ended": "interrupt" if interrupt else "all sent"}, "\n".join(output.aligned(summary))

    losses = to_the_end(sending, args.style, look, lambda: tally.launched, report)
    if interrupt:
        return ended(interrupt, False)
    return LOST if tally.refused or losses.total else 0
