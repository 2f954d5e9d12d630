# SPDX-License-Identifier: BSD-2-Clause
"""How results reach people and programs: standard output that may close, rows, live table, progress bar."""

import contextlib
import json
import os
import select
import shutil
import sys
from collections.abc import Generator, Iterable, Mapping, Sequence
from fractions import Fraction
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TextIO

from litepulse.errors import OutputClosed, OutputLost
from litepulse.units import Timescale

if TYPE_CHECKING:
    from rich.live import Live as RichLive
    from rich.progress import Progress

    from litepulse.termplot import Rolling

CLOCK_NOTE = "all times are those of the board's crystal (typically within ±50 ppm of true time until disciplined)"
SIM_NOTE = "SIMULATED: no board; the times are those of the simulated clock, which is exact by definition"


@contextlib.contextmanager
def _writing() -> Generator[None]:
    """OutputClosed when no program reads standard output any more, OutputLost when it cannot be written."""
    if sys.stdout is None:
        raise OutputLost("standard output is closed")
    try:
        yield
    except BrokenPipeError:
        silence()
        raise OutputClosed from None
    except OSError as error:
        silence()
        raise OutputLost(f"standard output cannot be written: {error.strerror}") from None


def write(text: str, end: str = "\n") -> None:
    """To standard output, at once. OutputClosed, OutputLost."""
    with _writing():
        sys.stdout.write(text + end)
        sys.stdout.flush()


class Binary:
    """Standard output for bytes instead of text."""

    def write(self, data: bytes) -> None:
        """OutputClosed, OutputLost."""
        with _writing():
            sys.stdout.buffer.write(data)

    def flush(self) -> None:
        """OutputClosed, OutputLost."""
        with _writing():
            sys.stdout.buffer.flush()


def check() -> None:
    """OutputClosed when no program reads standard output any more, also while there is nothing to
    write."""
    try:
        poll = select.poll()
        poll.register(sys.stdout.fileno(), 0)
        gone = any(event & select.POLLERR for _, event in poll.poll(0))
    except (AttributeError, OSError, ValueError):
        return  # closed, or no file at all
    if gone:
        silence()
        raise OutputClosed


def note(text: str) -> None:
    """To standard error, where rows on standard output must stay clean."""
    try:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
    except (AttributeError, OSError):
        pass  # the message cannot be printed


def silence() -> None:
    """Nothing more goes to standard output, also not at the interpreter's end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def occupy_standard_files() -> None:
    """Opens /dev/null for what the shell has closed, or the next file that is opened would become
    standard output."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(number)


def columns() -> int:
    """Width to use."""
    return max(40, min(shutil.get_terminal_size((80, 24)).columns, 160))


def terminal_width() -> int:
    """All columns there are, for what gets better with the width."""
    return max(40, shutil.get_terminal_size((80, 24)).columns)


def is_plain() -> bool:
    """Whether standard output takes ASCII characters only, as in the locale C."""
    from litepulse.termplot import SAMPLE

    try:
        SAMPLE.encode(getattr(sys.stdout, "encoding", None) or "ascii")  # None: standard output is closed
    except (UnicodeEncodeError, LookupError):
        return True
    return False


def write_json(result: Mapping[str, Any]) -> None:
    """One object; lists of ticks on one line each. A Spool is a list, too."""
    from litepulse.spool import Spool

    lines = ""
    for number, (key, value) in enumerate(result.items()):
        lines += f"{',' if number else '{'}\n  {json.dumps(key)}: "
        if isinstance(value, Spool):
            write(lines, end="")
            for piece in value.pieces():
                write(piece, end="")
            lines = ""
        else:
            lines += json.dumps(value, ensure_ascii=False)
    write(lines + "\n}")


class Rows:
    """Rows for programs while it runs: vnlog ('# a b' and blanks) or CSV."""

    def __init__(self, style: str, names: Sequence[str], backend: str) -> None:
        self.style = style
        if style == "vnl":
            write(f"## backend: {backend}")
            write("# " + " ".join(names))
        else:
            write(",".join(names))

    def row(self, *values: object) -> None:
        """None is '-' in vnlog and empty in CSV."""
        if self.style == "vnl":
            write(" ".join("-" if v is None else str(v) for v in values))
        else:
            write(",".join("" if v is None else str(v) for v in values))


def is_terminal() -> bool:
    """Whether standard output is a terminal."""
    return _is_terminal(sys.stdout)


def _is_terminal(file: TextIO | None) -> bool:
    return file is not None and file.isatty()


class Live:
    """What a user sees while something runs: a table and a progress bar, or only the bar, or
    nothing without a terminal.

    The table goes to standard output if that is a terminal and belongs to people; else a bar goes to standard error if
    that is one.
    """

    def __init__(self, title: str, total: int | None = None, style: str | None = None) -> None:
        self.table = style is None and _is_terminal(sys.stdout)
        rows_there = style in ("csv", "vnl") and _is_terminal(sys.stdout)  # a bar between them would only disturb
        self.visible = self.table or (_is_terminal(sys.stderr) and not rows_there)
        self.title, self.total = title, total
        self._live: RichLive | None = None
        self._bar: Progress | None = None

    def __enter__(self) -> Self:
        if self.visible:
            from rich.console import Console
            from rich.live import Live as RichLive
            from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

            console = Console(stderr=not self.table, highlight=False)
            parts = [SpinnerColumn(), TextColumn("{task.description}")]
            if self.total:
                parts += [BarColumn(bar_width=None), TextColumn("{task.completed}/{task.total}"), TimeRemainingColumn()]
            self._bar = Progress(*parts, TimeElapsedColumn(), console=console, expand=bool(self.total))
            self._bar.add_task(self.title, total=self.total)
            self._live = RichLive(
                self._bar, console=console, refresh_per_second=8, transient=True, redirect_stdout=False, redirect_stderr=False
            )
            self._live.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._live:
            self._live.__exit__(kind, error, trace)

    def update(self, done: int, rows: Iterable[tuple[str, object]] = (), picture: "Rolling | None" = None, wait: str = "") -> None:
        """`done` of the total; rows are (name, value) of the table; picture: a termplot.Rolling below it; wait: behind the title."""
        check()
        if self._bar is None or self._live is None:
            return
        self._bar.update(self._bar.task_ids[0], completed=done, description=f"{self.title}{wait}")
        if self.table and rows:
            from rich.console import Group
            from rich.table import Table
            from rich.text import Text

            table = Table(box=None, show_header=False, pad_edge=False)
            for name, value in rows:
                table.add_row(f"{name}", str(value))
            lines = picture.lines(self._bar.console.width - 1, plain=is_plain()) if picture else []
            self._live.update(Group(table, *([Text("\n".join(lines), no_wrap=True)] if lines else []), self._bar))


def aligned(rows: Iterable[tuple[str, str]], indent: str = "  ") -> list[str]:
    """(name, text) pairs as lines, wrapped to the terminal."""
    import textwrap

    width = max(len(name) for name, _ in rows) + 2
    out: list[str] = []
    for name, text in rows:
        lines = textwrap.wrap(text, max(10, columns() - width - len(indent))) or [""]
        out.append(f"{indent}{name:<{width}}{lines[0]}")
        out += [f"{indent}{'':<{width}}{line}" for line in lines[1:]]
    return out


def folded(text: str) -> str:
    """A text whose lines fit the terminal; as it is where there is none."""
    import textwrap

    return "\n".join(textwrap.fill(line, terminal_width()) for line in text.split("\n")) if is_terminal() else text


def ms(timescale: Timescale, ticks: int | Fraction) -> str:
    """Milliseconds of a number of ticks, to the picosecond."""
    return timescale.decimal(ticks, 3, 9)


def ns(timescale: Timescale, ticks: int | Fraction) -> str:
    """Nanoseconds of a number of ticks, to the picosecond."""
    return timescale.decimal(ticks, 9, 3)
