# SPDX-License-Identifier: BSD-2-Clause
"""What an experiment is made of: steps that measure, tables and charts that show what the steps found."""

from collections.abc import Callable
from dataclasses import dataclass, field

# Where a figure comes from. It stands beside each one, in tables, pictures and on the page.
RTL = "simulated gateware"  # the project's own Verilog, each clock cycle
PC = "simulated PC and gateware"  # a PC in QEMU with the simulated board on its cable
PUBLISHED = "published"  # a published figure of others
COMPUTED = "computed"  # arithmetic, nothing was run


class ExperimentError(RuntimeError):
    """What was measured is wrong, or could not be measured; the message is one line."""


def check(right, what):
    """ExperimentError unless it is right."""
    if not right:
        raise ExperimentError(what)


@dataclass(frozen=True)
class Step:
    """One measurement. Its result is kept, so that an interrupted run goes on where it was.

    name: of letters, digits and hyphens, different for each step of an experiment
    title: what it does, for people
    seconds: what it took on two cores with nothing kept, for the time that is left
    run: returns the figures, of JSON's types; ExperimentError (or another error of the rigs) if they are wrong
    """

    name: str
    title: str
    seconds: float
    run: Callable[[], dict]


@dataclass(frozen=True)
class Series:
    """One line, or one set of points, of a chart.

    name: for the legend
    x, y: numbers, equally many
    source: RTL, PC, PUBLISHED or COMPUTED
    style: "line", "steps" (y holds until the next x) or "points"
    ours: True for LitePulse's way, False for the ordinary way; decides the colour
    labels: what hovering over each point adds, or nothing
    """

    name: str
    x: list
    y: list
    source: str
    style: str = "points"
    ours: bool = True
    labels: list = field(default_factory=list)


@dataclass(frozen=True)
class Chart:
    """A picture of some series.

    name: of its files: letters, digits and hyphens
    title: what it shows, in one line
    x, y: what the axes are, with the unit in brackets
    log: which axes are logarithmic: "", "x", "y" or "xy"
    rows: each series is a row of its own with its name, from its first x to its last one; a large dot is where its y is 50, in percent
    """

    name: str
    title: str
    x: str
    y: str
    series: list
    log: str = ""
    rows: bool = False


@dataclass(frozen=True)
class Experiment:
    """One published experiment, repeated.

    name: "p1" to "p5"
    title, question: what it is about, in one line and in one paragraph
    published: what its author reported, in one paragraph, with the source
    steps: the Steps of the short variant, or of the long one if `long`
    tables: lines of Markdown from {step name: figures}; each table says where its figures come from
    charts: [Chart] from the same
    write_page: writes another page of docs/ that shows the figures, too, from the same and the line that says how they were measured
    """

    name: str
    title: str
    question: str
    published: str
    steps: Callable[[bool], list]
    tables: Callable[[dict], list]
    charts: Callable[[dict], list]
    write_page: Callable[[dict, str], None] | None = None


def by_rank(values, percent):
    """The smallest value that at least `percent` of them do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def with_unit(time):
    """A time in s with three digits and a unit."""
    for unit, scale in (("ns", 1e9), ("µs", 1e6), ("ms", 1e3), ("s", 1)):
        if time * scale < 999.5:
            break
    value = time * scale
    return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f} {unit}"


def spread(name, values, source, ours, least=0.0):
    """The row of a chart, from the smallest of some times in s to the largest; of 100 or more also p99.

    least: what stands for a smaller value, as 0 has no place on a logarithmic axis
    """
    shares = {0: min(values), 50: by_rank(values, 50), **({99: by_rank(values, 99)} if len(values) >= 100 else {}), 100: max(values)}
    words = {0: "least", 50: "median", 100: "most"}
    labels = [f"{words.get(percent, f'p{percent}')} {with_unit(value)}" for percent, value in shares.items()]
    return Series(name, [max(value, least) for value in shares.values()], [*shares], source, "line", ours, labels)


def limit(name, value):
    """The row of a published limit: one mark."""
    return Series(name, [value], [100], PUBLISHED, "line", False, [f"most {with_unit(value)}"])
