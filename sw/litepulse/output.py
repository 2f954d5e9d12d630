# SPDX-License-Identifier: BSD-2-Clause
"""How results reach people and programs: standard output that may close, rows, live table, progress bar."""

import json
import os
import shutil
import sys

from litepulse.errors import OutputClosed
from litepulse.units import fixed

CLOCK_NOTE = "all times are those of the board's crystal (typically within ±50 ppm of true time until disciplined)"
SIM_NOTE = "SIMULATED: no board; the times are those of the simulated clock, which is exact by definition"


def write(text, end="\n"):
    """To standard output, at once; OutputClosed when nobody reads it."""
    try:
        sys.stdout.write(text + end)
        sys.stdout.flush()
    except BrokenPipeError:
        silence()
        raise OutputClosed from None


def note(text):
    """To standard error, where rows on standard output must stay clean."""
    try:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
    except BrokenPipeError:
        pass


def silence():
    """Nothing more goes to standard output, also not at the interpreter's end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def columns():
    """Width to use."""
    return max(40, min(shutil.get_terminal_size((80, 24)).columns, 160))


def write_json(result):
    """One object; lists of ticks on one line each."""
    lines = [f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in result.items()]
    write("{\n" + ",\n".join(lines) + "\n}")


class Rows:
    """Rows for programs while it runs: vnlog ('# a b' and blanks) or CSV."""

    def __init__(self, style, names, backend):
        self.style = style
        if style == "vnl":
            write(f"## backend: {backend}")
            write("# " + " ".join(names))
        else:
            write(",".join(names))

    def row(self, *values):
        """None is '-' in vnlog and empty in CSV."""
        if self.style == "vnl":
            write(" ".join("-" if v is None else str(v) for v in values))
        else:
            write(",".join("" if v is None else str(v) for v in values))


class Live:
    """What a person sees while something runs: a table and a progress bar, or only the bar, or nothing where nobody looks.

    The table goes to standard output if that is a terminal and belongs to people; else a bar goes to standard error if
    that is one.
    """

    def __init__(self, title, total=None, style=None):
        self.table = style is None and sys.stdout.isatty()
        rows_there = style in ("csv", "vnl") and sys.stdout.isatty()  # a bar between them would only disturb
        self.visible = self.table or (sys.stderr.isatty() and not rows_there)
        self.title, self.total = title, total
        self._live = self._bar = None

    def __enter__(self):
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

    def __exit__(self, *problem):
        if self._live:
            self._live.__exit__(*problem)

    def update(self, done, rows=()):
        """`done` of the total; rows are (name, value) of the table."""
        if self._bar is None or self._live is None:
            return
        self._bar.update(self._bar.task_ids[0], completed=done)
        if self.table and rows:
            from rich.console import Group
            from rich.table import Table

            table = Table(box=None, show_header=False, pad_edge=False)
            for name, value in rows:
                table.add_row(f"{name}", str(value))
            self._live.update(Group(table, self._bar))


def aligned(rows, indent="  "):
    """(name, text) pairs as lines, wrapped to the terminal."""
    import textwrap

    width = max(len(name) for name, _ in rows) + 2
    out = []
    for name, text in rows:
        lines = textwrap.wrap(text, max(30, columns() - width - len(indent))) or [""]
        out.append(f"{indent}{name:<{width}}{lines[0]}")
        out += [f"{indent}{'':<{width}}{line}" for line in lines[1:]]
    return out


def ms(timescale, ticks):
    """Milliseconds of a number of ticks, to the picosecond."""
    return fixed(timescale.seconds(ticks) * 1000, 9)


def ns(timescale, ticks):
    """Nanoseconds of a number of ticks, to the picosecond."""
    return fixed(timescale.ns(ticks), 3)
