# SPDX-License-Identifier: BSD-2-Clause
"""Plots of recorded results: reads what the command wrote (JSON, CSV or vnlog), draws PNG, SVG or text."""

import json
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from litepulse.errors import BadInput
from litepulse.measurement import histogram
from litepulse.units import approx, fixed, si

BAND_MS = 0.1  # what a tuned laptop reached: problem P1
SIMULATED = "SIMULATED"


@dataclass
class Series:
    """What a file holds, ready to draw. x and y are plain numbers."""

    title: str
    note: str
    x: list
    y: list
    x_label: str
    y_label: str
    bars: list | None = None  # [(value, count)] draws a histogram instead
    intervals_ns: list | None = None  # of a train: interval less exact period
    tick_ns: float | None = None
    band: bool = False  # slow enough to be compared with what software does


def load(path):
    """The Series in a file written by --json, --csv or --vnl."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: cannot read it ({getattr(error, 'strerror', None) or 'not a text file'})") from None
    try:
        if text.lstrip().startswith("{"):
            return from_result(json.loads(text))
        return _from_rows(text, path)
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise BadInput(f"{path}: not a result of litepulse ({type(error).__name__}: {error})") from None


def backend_note(result):
    """Where a result comes from; simulated ones say so."""
    return f"{SIMULATED} ({result['backend']})" if result.get("simulated") else f"{result['backend']}: {result.get('device', '')}"


def from_result(result):
    """The Series of one JSON result."""
    command = result["command"]
    if command == "train":
        return train_series(result)
    tick_ns = Fraction(10**9) / Fraction(result["tick_hz"])
    note = backend_note(result)
    if command == "respond":
        delays = [a["delay_ticks"] for a in result["answers"] if a["delay_ticks"] is not None]
        rows = histogram(delays)
        return Series(
            f"{len(delays)} answers to {result['trigger']}", note, [], [], "delay [ticks]", "answers", bars=rows, tick_ns=float(tick_ns)
        )
    if command == "capture":
        ticks = [e["tick"] for e in result["edges"]]
        gaps = [float((b - a) * tick_ns / 10**6) for a, b in zip(ticks, ticks[1:])]
        return Series(f"{len(ticks)} edges", note, list(range(1, len(ticks))), gaps, "edge", "time since the edge before [ms]")
    if command == "send":
        errors = [item["tick"] - item["wanted"] for item in result["launched"]]
        return Series(
            f"{len(errors)} timed launches", note, [item["n"] for item in result["launched"]], errors, "launch", "launched − wanted [ticks]"
        )
    raise ValueError(f"unknown command '{command}'")


def train_series(result):
    """Timing error of each edge against the exact, unrounded ideal, in ns."""
    tick_ns = Fraction(10**9) / Fraction(result["tick_hz"])
    period = Fraction(result["period_ticks"])
    numbers, ticks = result["pulses"], result["launched"]
    start = Fraction(result["start"]) if result["start"] is not None else Fraction(0)
    changes = [(c["pulse"], Fraction(c["tick_exact"]), Fraction(c["period_ticks"])) for c in result.get("changes", [])]

    def ideal(n):
        first, a, p = 0, start, period
        for change in changes:
            if n >= change[0]:
                first, a, p = change
        return a + (n - first) * p

    errors = [float((t - ideal(n)) * tick_ns) for n, t in zip(numbers, ticks)]
    deviations = [
        float((b - a - (ideal(m) - ideal(n))) * tick_ns) for n, m, a, b in zip(numbers, numbers[1:], ticks, ticks[1:]) if m == n + 1
    ]
    title = f"{len(ticks)} pulses at {approx(Fraction(result['rate_hz']), 6)} Hz"
    return Series(
        title,
        backend_note(result),
        numbers,
        errors,
        "pulse",
        "edge − exact ideal [ns]",
        intervals_ns=deviations,
        tick_ns=float(tick_ns),
        band=period * tick_ns > 10**6,
    )


def _from_rows(text, path):
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("##")]
    if not lines:
        raise ValueError("it is empty")
    if lines[0].startswith("#"):
        names, split = lines[0].lstrip("#").split(), str.split
    else:
        names, split = lines[0].split(","), lambda line: line.split(",")
    column = names.index("dt_ms")
    rows = [split(line) for line in lines[1:] if not line.startswith("#")]
    values = [float(row[column]) for row in rows if row[column] not in ("-", "")]
    return Series(
        f"{len(rows)} edges of {Path(path).name}",
        "backend not recorded in this format",
        list(range(1, len(values) + 1)),
        values,
        "interval",
        "dt [ms]",
    )


def text(series, width):
    """Lines for a terminal."""
    from litepulse import termplot

    title = f"{series.title}, {series.note}"
    if series.bars is not None:
        return termplot.bars(series.bars, f"{title}  [{series.x_label}]", width)
    y_range = None
    if series.tick_ns and series.intervals_ns is not None and series.y and max(map(abs, series.y)) <= 2 * series.tick_ns:
        y_range = (-2 * series.tick_ns, 2 * series.tick_ns)
    return termplot.points(series.x, series.y, title, series.x_label, series.y_label, width, 9, y_range)


def save(series, path):
    """PNG, SVG or PDF, by the name's ending."""
    suffix = Path(path).suffix.lower()
    if suffix not in (".png", ".svg", ".pdf"):
        raise BadInput(f"{path}: write to .png, .svg or .pdf")
    try:
        import matplotlib
    except ModuleNotFoundError:
        raise BadInput(f"{path}: drawing needs matplotlib: pip install 'litepulse[plot]'") from None

    matplotlib.use("Agg")
    from matplotlib import pyplot

    train = series.intervals_ns is not None
    figure, axes = pyplot.subplots(2 if train else 1, 1, figsize=(9, 7 if train else 4.5), squeeze=False)
    if train:
        _train_axes(axes[0][0], axes[1][0], series)
    elif series.bars is not None:
        axis = axes[0][0]
        axis.bar([value for value, _ in series.bars], [count for _, count in series.bars], color="#1f77b4")
        axis.set(xlabel=f"{series.x_label}, 1 tick = {series.tick_ns:.4g} ns", ylabel=series.y_label)
        axis.xaxis.get_major_locator().set_params(integer=True)
    else:
        axes[0][0].plot(series.x, series.y, ".", color="#1f77b4")
        axes[0][0].set(xlabel=series.x_label, ylabel=series.y_label)
        axes[0][0].grid(alpha=0.3)
    figure.suptitle(series.title)
    figure.text(
        0.995,
        0.003,
        series.note,
        ha="right",
        va="bottom",
        fontsize=9,
        color="#b00020" if series.note.startswith(SIMULATED) else "#555555",
        weight="bold",
    )
    figure.set_layout_engine("constrained", rect=(0, 0.03, 1, 0.97))
    try:
        figure.savefig(path, dpi=130)
    except OSError as error:
        raise BadInput(f"{path}: cannot write it ({error.strerror})") from None
    finally:
        pyplot.close(figure)


def _train_axes(top, bottom, series):
    """Above: the period error beside what a laptop reached. Below: the same edges, magnified to the tick."""
    worst = max((abs(v) for v in series.intervals_ns), default=0)
    if series.band:
        top.axhspan(-BAND_MS, BAND_MS, color="#d62728", alpha=0.12, label="±0.1 ms: tuned laptop, Linux 6.12, usleep and write()")
        top.set(ylim=(-1.6 * BAND_MS, 1.6 * BAND_MS))
    top.plot(
        range(1, len(series.intervals_ns) + 1),
        [v / 1e6 for v in series.intervals_ns],
        ".-",
        color="#1f77b4",
        markersize=3,
        linewidth=1,
        label=f"LitePulse: within ±{worst:.1f} ns",
    )
    top.set(ylabel="period error [ms]", xlabel="period")
    top.legend(loc="upper right", fontsize=9)
    bottom.axhspan(-series.tick_ns, 0, color="#2ca02c", alpha=0.12, label=f"one tick ({series.tick_ns:.2f} ns)")
    bottom.plot(series.x, series.y, ".", color="#1f77b4", markersize=4, label="each edge, at floor(start + n · period)")
    limit = max(2 * series.tick_ns, 1.1 * max((abs(v) for v in series.y), default=0))
    bottom.set(ylabel="edge − exact ideal [ns]", xlabel="pulse", ylim=(-limit, limit))
    bottom.legend(loc="upper right", fontsize=9)
    for axis in (top, bottom):
        axis.grid(alpha=0.3)


def describe(series):
    """One line about what was drawn."""
    if series.y and series.tick_ns:
        low, high = min(series.y), max(series.y)
        tick = si(Fraction(series.tick_ns) / 10**9, "s")
        return f"{series.title}: {series.y_label} from {fixed(Fraction(low), 3)} to {fixed(Fraction(high), 3)}, 1 tick = {tick}"
    return f"{series.title}"
