# SPDX-License-Identifier: BSD-2-Clause
"""Plots of recorded results: reads what the command wrote (JSON, CSV or vnlog), draws PNG, SVG or text. Times are in ns."""

import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from litepulse import autocorrelation
from litepulse.autocorrelation import Autocorrelation
from litepulse.distribution import Distribution
from litepulse.errors import BadInput, lacking, shown
from litepulse.measurement import histogram
from litepulse.result_file import ResultFile
from litepulse.units import approx, fixed, si

BAND_NS = 100_000  # what a tuned laptop reached: problem P1
SIMULATED = "SIMULATED"
_NO_RESULT = "not a result of litepulse"
BINS = 200  # bars of a histogram of delays
MICROSECONDS_NS = 10_000  # axes that reach this far are in µs
DENSE = 1000  # more points than this are drawn as a density
MOST = 50_000  # of more points than this not all are drawn
STACKED = 7  # causes that have a colour of their own
OTHERS = "others"
REGULAR = Fraction(1, 100)  # intervals that differ from their median by less are drawn as differences
SUFFIXES = (".png", ".svg", ".pdf")


class _NotPlottable(ValueError):
    """A file of which no picture is made; the message says why."""


@dataclass(frozen=True)
class Theme:
    """Colours of a picture: its background, lines and text, points, the maps of densities, marked ranges, and the word SIMULATED."""

    paper: str
    ink: str
    points: str
    density: str
    limits: str
    tick: str
    simulated: str


THEMES = {
    "light": Theme("#ffffff", "#24292f", "#1f77b4", "Blues", "#d62728", "#2ca02c", "#b00020"),
    "dark": Theme("#0d1117", "#d0d7de", "#79c0ff", "Blues_r", "#ff7b72", "#3fb950", "#ff7b72"),
}


@dataclass
class Series:
    """What a file holds, ready to draw. x and y are plain numbers."""

    title: str
    note: str
    x: Sequence[int]
    y: Sequence[float]
    x_label: str
    y_label: str
    bars: Sequence[tuple[Fraction, int]] | None = None  # [(time, exact, and count)] draws a histogram instead
    bar_width: float = 1  # from bar to bar
    bars_begin: bool = False  # a bar of several ticks begins at its time; one of a single tick is centred on it
    intervals_ns: Sequence[float] | None = None  # of a train: interval less exact period
    periods: Sequence[int] = ()  # and their numbers
    tick_ns: float | None = None
    band: bool = False  # slow enough to be compared with what software does
    stacks: Sequence[tuple[str, Sequence[float]]] = ()  # parts of each y, by their names: drawn one on the other
    curves: Sequence[tuple[str, Sequence[float], Sequence[float]]] = ()  # (name, x, y), on logarithmic axes
    correlation: Sequence[float | None] = ()  # of the deviations of the periods, at lags 1, 2, …
    correlated: int = 0  # periods that it is of


class Thinned:
    """Points in order of x: all of them or, of more than MOST, three of each block of equally many: its extremes, and one at random."""

    def __init__(self) -> None:
        self.count = 0
        self._size, self._left = 1, 0  # points of a block, and how many the last one lacks
        self._blocks: list[list[tuple[int, Any]]] = []  # [one at random, least, greatest]
        self._random = random.Random(0)  # every 2^k-th would show a pattern of its own

    def add(self, x: int, y: Any) -> None:
        """One more; `y` is a number."""
        self.count += 1
        point = (x, y)
        if self._left:
            self._left -= 1
            self._merge(self._blocks[-1], [point, point, point], self._size - self._left)
            return
        if len(self._blocks) == MOST:
            halves, self._size = self._blocks, 2 * self._size
            for first, second in zip(halves[::2], halves[1::2]):
                self._merge(first, second, 2)
            self._blocks = halves[::2]
        self._blocks.append([point, point, point])
        self._left = self._size - 1

    def _merge(self, block: list[tuple[int, Any]], other: list[tuple[int, Any]], parts: int) -> None:
        """Into the first block: the other is the last of `parts` equal parts of both."""
        if self._random.random() * parts < 1:
            block[0] = other[0]
        if other[1][1] < block[1][1]:
            block[1] = other[1]
        if other[2][1] > block[2][1]:
            block[2] = other[2]

    def points(self) -> tuple[list[int], list[Any]]:
        """Those that are left: (their x, their y)."""
        points = [point for block in self._blocks for point in (sorted(set(block)) if self._size > 1 else block[:1])]
        return [x for x, _ in points], [y for _, y in points]

    def samples(self) -> list[Any]:
        """The y of those at random: as all are distributed."""
        return [block[0][1] for block in self._blocks]

    def note(self, what: str) -> str:
        """How many are drawn, to be put behind a note; '' if it is all of them."""
        return "" if self._size == 1 else f"; {len(self.points()[0]):,} of {self.count:,} {what} drawn, all extremes among them"


class Periods:
    """The periods of the first kind of edge that comes, such as rising ones at input 0: how far each is from the first one."""

    def __init__(self) -> None:
        self.sums = Autocorrelation()
        self._kind: Any = None
        self._before: Any = None
        self._first: Any = None

    def edge(self, kind: Any, time: Any) -> None:
        """An edge; `time` is a number, exact."""
        if self._before is None:
            self._kind, self._before = kind, time
        elif kind == self._kind:
            period, self._before = time - self._before, time
            if self._first is None:
                self._first = period
            deviation = period - self._first
            self.sums.add(deviation if isinstance(deviation, int) else float(deviation))

    def of(self, series: Series) -> Series:
        """The same with their autocorrelation."""
        series.correlation, series.correlated = self.sums.values(), self.sums.count
        return series


def load(path: str | Path) -> Series:
    """The Series in a file written by --json, --csv or --vnl; `-` is standard input. Raises BadInput."""
    name = "standard input" if str(path) == "-" else Path(path).name
    try:
        file = ResultFile(path)
    except OSError as error:
        raise BadInput(f"{path}: cannot read it ({error.strerror})") from None
    try:
        return from_result(file.read()) if file.is_object() else _from_rows(file.lines(), name)
    except OSError as error:
        raise BadInput(f"{path}: cannot read it ({error.strerror})") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path}: cannot read it (not a text file)") from None
    except _NotPlottable as error:
        raise BadInput(f"{path}: {error}") from None
    except KeyError as error:
        raise BadInput(f"{path}: {_NO_RESULT}: it has no {error}") from None
    except json.JSONDecodeError:
        raise BadInput(f"{path}: {_NO_RESULT}: it is not complete JSON") from None
    except (ValueError, TypeError, IndexError, AttributeError, ArithmeticError):
        raise BadInput(f"{path}: {_NO_RESULT}: a value in it is not as litepulse writes it") from None
    finally:
        file.close()


def backend_note(result: dict[str, Any]) -> str:
    """Where a result comes from; simulated ones say so."""
    return f"{SIMULATED} ({result['backend']})" if result.get("simulated") else f"{result['backend']}: {result.get('device', '')}"


def from_result(result: dict[str, Any]) -> Series:
    """The Series of one JSON result."""
    command = result["command"]
    if command == "train":
        return train_series(result)
    tick_ns = Fraction(10**9) / Fraction(result["tick_hz"])
    note = backend_note(result)
    if command == "respond":
        rows = histogram(a["delay_ticks"] for a in result["answers"] if a["delay_ticks"] is not None)
        return delay_series(f"{sum(often for _, often in rows)} answers to {result['trigger']}", note, rows, 1, "answers", tick_ns)
    if command == "latency":
        return latency_series(result, note, tick_ns)
    if command == "explain":
        return explain_series(result, note)
    if command == "clock compare":
        return stability_series(result, note)
    if command == "capture":
        before, intervals, periods = None, Thinned(), Periods()
        for edge in result["edges"]:
            tick = edge["tick"]
            if before is not None:
                intervals.add(intervals.count + 1, tick - before)
            before = tick
            periods.edge((edge.get("channel"), edge.get("level")), tick)
        return interval_series(f"{intervals.count + (before is not None)} edges", note, intervals, tick_ns, periods)
    if command in ("send", "sequence"):
        errors = Thinned()
        for item in result["launched"]:
            errors.add(item["n"] if command == "send" else errors.count, item["tick"] - item["wanted"])
        numbers, late = errors.points()
        return Series(
            f"{errors.count} timed launches",
            note + errors.note("launches"),
            numbers,
            [float(error * tick_ns) for error in late],
            "launch",
            "launched − wanted [ns]",
            tick_ns=float(tick_ns),
        )
    raise _NotPlottable(f"nothing of {shown(command)} can be plotted")


def explain_series(result: dict[str, Any], note: str) -> Series:
    """How late each edge was, cut into its causes: the largest ones of all, and the others."""
    edges = result["edges"]
    labels = {(cause["cause"], cause["name"]): cause["label"] for cause in result["causes"][:STACKED]}
    stacks = {label: [0.0] * len(edges) for label in [*labels.values(), OTHERS]}
    for number, edge in enumerate(edges):
        for part in edge["parts"]:
            stacks[labels.get((part["cause"], part["name"]), OTHERS)][number] += part["ns"] / 1000
    drawn = [(label, values) for label, values in stacks.items() if any(values)]
    late = [edge["late_ns"] / 1000 for edge in edges]
    return Series(f"{len(edges)} edges and why they were late", note, list(range(len(edges))), late, "edge", "late by [µs]", stacks=drawn)


def stability_series(result: dict[str, Any], note: str) -> Series:
    """The Allan deviation of each clock against the first."""
    curves = [
        (
            pair["clock"],
            [float(each["tau_s"]) for each in pair["allan_deviation"]],
            [float(each["adev"]) for each in pair["allan_deviation"]],
        )
        for pair in result["compared"]
    ]
    title = f"Clocks against {result['clocks'][0]}, {result['count']} seconds"
    return Series(title, note, [], [], "τ [s]", "Allan deviation", curves=[curve for curve in curves if any(curve[2])])


def latency_series(result: dict[str, Any], note: str, tick_ns: Fraction) -> Series:
    """The delays of a latency measurement, in bins of as many ticks as it takes for BINS of them at most."""
    if "runs" in result:
        raise _NotPlottable("it compares settings; a picture has one measurement")
    delays = Distribution()
    for value, count in result["histogram"]:
        delays.add(value, count)
    bars, _ = delays.bins(BINS)
    width = bars[1][0] - bars[0][0] if len(bars) > 1 else 1
    return delay_series(f"{delays.count} responses: {result['stimulus']} → {result['response']}", note, bars, width, "responses", tick_ns)


def delay_series(title: str, note: str, rows: Sequence[tuple[int, int]], width: int, what: str, tick_ns: Fraction) -> Series:
    """A histogram of delays, in ns, or in µs where they are long. rows: [(ticks, how often)], a bar is `width` ticks wide."""
    unit, scale = ("µs", tick_ns / 1000) if rows and rows[-1][0] * tick_ns >= MICROSECONDS_NS else ("ns", tick_ns)
    label = f"delay [{unit}]" if width == 1 else f"delay [{unit}], a bar is {width} ticks"
    bars = [(ticks * scale, count) for ticks, count in rows]
    return Series(title, note, [], [], label, what, bars=bars, bar_width=float(width * scale), bars_begin=width > 1, tick_ns=float(tick_ns))


def train_series(result: dict[str, Any]) -> Series:
    """Timing error of each edge against the exact, unrounded ideal, in ns."""
    tick_ns = Fraction(10**9) / Fraction(result["tick_hz"])
    tick = float(tick_ns)
    period = Fraction(result["period_ticks"])
    start = Fraction(result["start"]) if result["start"] is not None else Fraction(0)
    changes = [(c["pulse"], Fraction(c["tick_exact"]), Fraction(c["period_ticks"])) for c in result.get("changes", [])]

    def ideal(n: int) -> Fraction:
        first, a, p = 0, start, period
        for change in changes:
            if n >= change[0]:
                first, a, p = change
        return a + (n - first) * p

    errors, deviations, sums = Thinned(), Thinned(), Autocorrelation()
    before: tuple[int, Fraction] | None = None
    for n, launched in zip(result["pulses"], result["launched"]):
        error = launched - ideal(n)
        errors.add(n, float(error * tick_ns))
        if before is not None and n == before[0] + 1:
            deviation = float(error - before[1])
            deviations.add(deviations.count + 1, deviation * tick)
            sums.add(deviation)
        else:
            sums.cut()
        before = n, error
    numbers, late = errors.points()
    periods, intervals = deviations.points()
    title = f"{errors.count} pulses at {approx(Fraction(result['rate_hz']), 6)} Hz"
    return Series(
        title,
        backend_note(result) + errors.note("pulses"),
        numbers,
        late,
        "pulse",
        "edge − exact ideal [ns]",
        intervals_ns=intervals,
        periods=periods,
        tick_ns=tick,
        band=period * tick_ns > 10**6,
        correlation=sums.values(),
        correlated=sums.count,
    )


def interval_series(title: str, note: str, intervals: Thinned, unit_ns: Fraction, periods: Periods) -> Series:
    """The Series of exact intervals, in units of `unit_ns`: how far each is from their median or, if they differ much, how long it is."""
    numbers, values = intervals.points()
    if not numbers:
        return Series(title, note, [], [], "interval", "time since the edge before [ns]")
    note += intervals.note("intervals")
    samples = sorted(intervals.samples())
    median = samples[(len(samples) - 1) // 2]
    if max(abs(each - median) for each in values) < REGULAR * median:
        shown = f"{title}, median interval {fixed(median * unit_ns / 10**6, 6)} ms"
        late = [float((each - median) * unit_ns) for each in values]
        return periods.of(Series(shown, note, numbers, late, "interval", "interval − median [ns]"))
    return periods.of(
        Series(title, note, numbers, [float(each * unit_ns) for each in values], "interval", "time since the edge before [ns]")
    )


def _from_rows(lines: Iterable[str], name: str) -> Series:
    """The Series of CSV or vnlog; a vnlog's first line says what it came from."""
    separator, column, count = None, None, 0
    notes: list[str] = []
    intervals, periods, now = Thinned(), Periods(), Fraction(0)
    kinds: list[int] = []
    for line in lines:
        if not line.strip():
            continue
        if line.startswith("##"):
            notes.append(line[2:].strip())
        elif column is None:
            separator = None if line.startswith("#") else ","
            names = line.lstrip("#").split(separator)
            if "dt_ms" not in names:
                raise _NotPlottable(f"{_NO_RESULT}: neither JSON, nor rows with a column dt_ms")
            column = names.index("dt_ms")
            kinds = [names.index(name) for name in ("channel", "value") if name in names]
        elif not line.startswith("#"):
            count += 1
            cells = line.strip().split(separator)
            value = cells[column]
            if value not in ("-", ""):
                interval = Fraction(value)
                intervals.add(intervals.count + 1, interval)
                now += interval
            periods.edge([cells[place] for place in kinds], now)
    if column is None:
        raise _NotPlottable(f"{_NO_RESULT}: it is empty")
    backend = next((note.removeprefix("backend:").strip() for note in notes if note.startswith("backend:")), None)
    note = "backend not recorded in this format" if backend is None else f"{SIMULATED} (sim)" if backend == "sim" else backend
    return interval_series(f"{count} edges of {name}", note, intervals, Fraction(10**6), periods)


def text(series: Series, width: int, plain: bool = False) -> list[str]:
    """Lines for a terminal; `plain`: of ASCII characters only."""
    from litepulse import termplot

    title = f"{series.title}, {series.note}"
    if series.bars is not None:
        rows = [(fixed(value, 3), count) for value, count in series.bars]
        return termplot.bars(rows, f"{title}  [{series.x_label}]", width, plain)
    if series.curves:
        rows = [[series.x_label, *(label for label, _, _ in series.curves)]]
        for tau in sorted({x for _, xs, _ in series.curves for x in xs}):
            values = [next((y for x, y in zip(xs, ys) if x == tau), None) for _, xs, ys in series.curves]
            rows.append([f"{tau:g}", *("-" if value is None else f"{value:.3e}" for value in values)])
        return [f"{title}: {series.y_label}", *("  ".join(f"{cell:>10}" for cell in row) for row in rows)]
    y_range = None
    if series.tick_ns and series.y and max(map(abs, series.y)) <= 2 * series.tick_ns:
        y_range = (-2 * series.tick_ns, 2 * series.tick_ns)
    return termplot.points(series.x, series.y, title, series.x_label, series.y_label, width, 9, y_range, plain)


def save(series: Series, path: str | Path, theme: str = "light") -> None:
    """PNG, SVG or PDF, by the name's ending, on a background of its own; `theme`: a name of THEMES. Raises BadInput."""
    if Path(path).suffix.lower() not in SUFFIXES:
        raise BadInput(f"{path}: write to .png, .svg or .pdf")
    try:
        matplotlib, pyplot = _matplotlib()
    except ModuleNotFoundError:
        raise BadInput(lacking(f"{path}: drawing", "matplotlib")) from None
    colours = THEMES[theme]
    train = series.intervals_ns is not None
    with matplotlib.rc_context(settings(colours)):
        heights = [3.5, 3.5] if train else [4.5]
        if is_correlated := any(value is not None for value in series.correlation):
            heights.append(2.2)
        figure, axes = pyplot.subplots(len(heights), 1, figsize=(9, sum(heights)), height_ratios=heights, squeeze=False)
        figure.set_layout_engine("constrained", rect=(0, 0.03, 1, 0.97))
        try:
            if train:
                _train_axes(figure, axes[0][0], axes[1][0], series, colours)
            elif series.bars is not None:
                _bar_axes(axes[0][0], series, series.bars, colours)
            elif series.curves:
                _curve_axes(axes[0][0], series)
            elif series.stacks:
                _stack_axes(axes[0][0], series)
            else:
                _points(figure, axes[0][0], series.x, series.y, colours)
                axes[0][0].set(xlabel=series.x_label, ylabel=series.y_label)
                if series.y and min(series.y) == max(series.y):
                    reach = 2 * (series.tick_ns or 1)
                    axes[0][0].set_ylim(series.y[0] - reach, series.y[0] + reach)
                _ticks(axes[0][0])
            if is_correlated:
                _correlation_axes(axes[-1][0], series, colours)
            figure.suptitle(series.title)
            is_simulated = series.note.startswith(SIMULATED)
            note = {"fontsize": 9, "weight": "bold", "color": colours.simulated if is_simulated else colours.ink}
            figure.text(0.995, 0.003, series.note, ha="right", va="bottom", **note)
            figure.savefig(path, dpi=130)
        except OSError as error:
            raise BadInput(f"{path}: cannot write it ({error.strerror})") from None
        finally:
            pyplot.close(figure)


def _matplotlib() -> tuple[Any, Any]:
    """(matplotlib, its pyplot), to draw into files. Any: matplotlib's own annotations are incomplete."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return matplotlib, pyplot


def settings(colours: Theme) -> dict[Any, Any]:
    """matplotlib's settings for a Theme. Any: its own type for the keys is an endless list."""
    paper = ("figure.facecolor", "savefig.facecolor", "axes.facecolor", "legend.facecolor")
    ink = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color", "legend.edgecolor", "grid.color")
    return {
        **dict.fromkeys(paper, colours.paper),
        **dict.fromkeys(ink, colours.ink),
        "grid.alpha": 0.25,
        "axes.axisbelow": True,
        "legend.fontsize": 9,
    }


def _number(value: float, _: object = None) -> str:
    """A number on an axis, all digits, in groups of three."""
    return f"{value:,.10g}".replace(",", "\N{NARROW NO-BREAK SPACE}").replace("-", "−")


def _thousandth(value: float, _: object = None) -> str:
    """ns on an axis as µs."""
    return _number(value / 1000)


def _ticks(axis: Any) -> None:
    """Whole numbers of pulses from left to right, and no powers or offsets on either axis."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1, steps=[1, 2, 5, 10]))
    axis.xaxis.set_major_formatter(FuncFormatter(_number))
    axis.yaxis.set_major_formatter(FuncFormatter(_number))
    axis.grid(True)


def _points(
    figure: Any,
    axis: Any,
    xs: Sequence[int],
    ys: Sequence[float],
    colours: Theme,
    label: str | None = None,
    limits: tuple[float, float] | None = None,
) -> None:
    """Points or, if there are many, their density: a cell is the darker (on dark paper the brighter) the more points it has."""
    if len(xs) <= DENSE:
        axis.plot(xs, ys, ".", color=colours.points, markersize=4, label=label)
        return
    low, high = limits or (min(ys), max(ys))
    if low == high:
        low, high = low - 1, high + 1
    bins = (min(240, xs[-1] - xs[0] + 1), 81)  # of an odd number one is centred on 0 where the range is symmetric
    *_, mesh = axis.hist2d(xs, ys, bins=bins, range=((xs[0] - 0.5, xs[-1] + 0.5), (low, high)), cmin=1, cmap=colours.density, vmin=0)
    figure.colorbar(mesh, ax=axis, label="per cell", pad=0.01)
    if label:
        axis.plot([], [], "s", color=colours.points, label=label)


def _bar_axes(axis: Any, series: Series, bars: Sequence[tuple[Fraction, int]], colours: Theme) -> None:
    """A histogram over times that are whole numbers of ticks."""
    from matplotlib.ticker import MaxNLocator

    values, width, several = [float(value) for value, _ in bars], series.bar_width, series.bars_begin
    places = [value + width / 2 for value in values] if several else values
    axis.bar(places, [count for _, count in bars], color=colours.points, width=width if several else 0.8 * width)
    if values:
        axis.set_xlim(min(values) - 2.5 * width, max(values) + (2 if several else 1) * 2.5 * width)
    axis.set(xlabel=f"{series.x_label}, 1 tick = {series.tick_ns:.4g} ns", ylabel=series.y_label)
    _ticks(axis)
    axis.xaxis.set_major_locator(MaxNLocator(steps=[1, 2, 5, 10]))
    axis.yaxis.get_major_locator().set_params(integer=True)


def _curve_axes(axis: Any, series: Series) -> None:
    """Curves on logarithmic axes."""
    for label, xs, ys in series.curves:
        axis.loglog(xs, ys, ".-", label=label)
    axis.set(xlabel=series.x_label, ylabel=series.y_label)
    axis.grid(True, which="both")
    axis.legend(loc="upper right")


def _stack_axes(axis: Any, series: Series) -> None:
    """The parts of each value, one on the other."""
    base = [0.0] * len(series.x)
    for label, values in series.stacks:
        top = [low + value for low, value in zip(base, values)]
        axis.fill_between(series.x, base, top, step="mid", linewidth=0, label=label)
        base = top
    axis.set(xlabel=series.x_label, ylabel=series.y_label, ylim=(0, None))
    axis.legend(loc="upper right")
    _ticks(axis)


def _train_axes(figure: Any, top: Any, bottom: Any, series: Series, colours: Theme) -> None:
    """Above: the period error beside what a laptop reached. Below: the same edges, magnified to the tick."""
    intervals, tick_ns = series.intervals_ns, series.tick_ns
    assert intervals is not None and tick_ns is not None  # it is a train
    worst = max((abs(v) for v in intervals), default=0)
    limit = 1.6 * max(BAND_NS if series.band else 0, worst, tick_ns)
    if series.band:
        label = "±0.1 ms: tuned laptop, Linux 6.12, usleep and write()"
        top.axhspan(-BAND_NS, BAND_NS, color=colours.limits, alpha=0.15, label=label)
    periods = series.periods
    rounding = f", rounded to ticks of {tick_ns:.1f} ns" if worst <= tick_ns else ""
    _points(figure, top, periods, intervals, colours, f"LitePulse: within ±{worst:.1f} ns{rounding}", (-limit, limit))
    top.set(ylabel="period error [ns]", xlabel="period", ylim=(-limit, limit))
    microseconds = limit >= MICROSECONDS_NS
    limit = max(2 * tick_ns, 1.3 * max((abs(v) for v in series.y), default=0))
    bottom.axhspan(-tick_ns, 0, color=colours.tick, alpha=0.15, label=f"one tick ({tick_ns:.2f} ns)")
    _points(figure, bottom, series.x, series.y, colours, "each edge, at floor(start + n · period)", (-limit, limit))
    bottom.set(ylabel="edge − exact ideal [ns]", xlabel="pulse", ylim=(-limit, limit))
    for axis in (top, bottom):
        _ticks(axis)
        axis.legend(loc="upper right")
    if microseconds:
        top.set_ylabel("period error [µs]")
        top.yaxis.set_major_formatter(_thousandth)


def _correlation_axes(axis: Any, series: Series, colours: Theme) -> None:
    """Whether the error of a period comes back in those after it."""
    limit = autocorrelation.bound(series.correlated)
    values = [value or 0.0 for value in series.correlation]
    axis.axhspan(-limit, limit, color=colours.tick, alpha=0.15, label=f"±{limit:.3f}: 95 % of these, if periods are independent")
    axis.axhline(0, color=colours.ink, linewidth=0.8)
    axis.bar(range(1, len(values) + 1), values, width=0.4, color=colours.points)
    axis.set(xlabel="lag [periods]", ylabel="autocorrelation", xlim=(0.4, len(values) + 0.6), ylim=(-1.05, 1.05))
    _ticks(axis)
    axis.legend(loc="upper right")


def correlation_line(series: Series) -> str | None:
    """One line about the periods; None if this is no series of them."""
    if not series.correlated:
        return None
    return f"periods: {autocorrelation.describe(series.correlation, series.correlated)}"


def describe(series: Series) -> str:
    """One line about what was drawn."""
    if series.y and series.tick_ns:
        low, high = min(series.y), max(series.y)
        tick = si(Fraction(series.tick_ns) / 10**9, "s")
        return f"{series.title}: {series.y_label} from {fixed(Fraction(low), 3)} to {fixed(Fraction(high), 3)}, 1 tick = {tick}"
    return f"{series.title}: {series.y_label}" if series.curves else series.title
