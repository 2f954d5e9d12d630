# SPDX-License-Identifier: BSD-2-Clause
"""Charts as pictures, on light and on dark paper."""

from typing import Any

from lab.experiments.experiment import COMPUTED, PUBLISHED
from litepulse.plot import SIMULATED

THEMES = {"light": ("#ffffff", "#1f2328"), "dark": ("#0d1117", "#d0d7de")}
# LitePulse's ways are blue and green, the ordinary ones red to brown, what was not measured here grey.
OURS = {"light": ("#0969da", "#1a7f37", "#0550ae", "#2da44e", "#218bff"), "dark": ("#79c0ff", "#3fb950", "#58a6ff", "#7ee787", "#a5d6ff")}
OTHERS = {"light": ("#cf222e", "#bc4c00", "#a40e26", "#953800", "#82071e"), "dark": ("#ff7b72", "#ffa657", "#ffa198", "#f0883e", "#f85149")}
GREY = {"light": ("#6e7781", "#8c959f", "#57606a", "#424a53", "#afb8c1"), "dark": ("#8b949e", "#6e7681", "#b1bac4", "#c9d1d9", "#484f58")}
MARKERS = "osD^vPX*"


def palette_of(one):
    """The colours for a series of its kind."""
    return GREY if one.source in (PUBLISHED, COMPUTED) else OURS if one.ours else OTHERS


def colour_of(chart, theme):
    """{name: colour} of all series of a chart. Rows have their names beside them, so that one colour a kind does."""
    counts, found = {}, {}
    for one in chart.series:
        palette = palette_of(one)
        number = counts[id(palette)] = counts.get(id(palette), -1) + 1
        colours = palette[theme]
        found[one.name] = colours[0 if chart.rows else number % len(colours)]
    return found


def seconds_of(chart):
    """The label of a logarithmic axis of seconds, whose numbers have the unit themselves: 100 ns, 10 µs. None of another axis."""
    label, unit, _ = chart.x.partition(" [s]")
    return label if unit and "x" in chart.log else None


def draw_lines(chart, figure, axis, colours):
    """Lines and points, with a legend below."""
    for number, one in enumerate(chart.series):
        label, colour = f"{one.name} ({one.source})", colours[one.name]
        if one.style == "points":
            axis.plot(one.x, one.y, MARKERS[number % len(MARKERS)], color=colour, markersize=4.5, alpha=0.85, label=label)
        elif one.style == "steps":
            axis.step(one.x, one.y, where="post", color=colour, linewidth=1.8, label=label)
        else:
            axis.plot(one.x, one.y, "--" if one.source == PUBLISHED else "-", color=colour, linewidth=1.4, label=label)
    axis.set_ylabel(chart.y)
    figure.legend(*axis.get_legend_handles_labels(), loc="outside lower left", fontsize=8, frameon=False)


def draw_rows(chart, figure, axis, colours):
    """A row for each series, the first one on top."""
    for row, one in enumerate(chart.series):
        colour = colours[one.name]
        axis.plot(one.x, [row] * len(one.x), "-", color=colour, linewidth=2.4, solid_capstyle="butt")
        axis.plot(one.x, [row] * len(one.x), "|", color=colour, markersize=8, markeredgewidth=1.4)
        medians = [x for x, y in zip(one.x, one.y) if y == 50]
        axis.plot(medians, [row] * len(medians), "o", color=colour, markersize=6.5)
    axis.set_yticks(range(len(chart.series)), [one.name for one in chart.series], fontsize=8)
    axis.set_ylim(len(chart.series) - 0.4, -0.6)
    kinds = {
        PUBLISHED if one.source == PUBLISHED else "LitePulse" if one.ours else "the ordinary way": colours[one.name] for one in chart.series
    }
    for kind, colour in kinds.items():
        axis.plot([], [], "-o", color=colour, label=kind, linewidth=2.4)
    figure.legend(*axis.get_legend_handles_labels(), loc="outside lower left", fontsize=8, frameon=False, ncols=len(kinds))


def draw(chart, path, theme="light"):
    """Writes a chart as PNG."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.ticker import EngFormatter, FuncFormatter

    paper, ink = THEMES[theme]
    settings: dict[Any, str] = {  # pyplot's type for the keys is an endless list
        "figure.facecolor": paper,
        "axes.facecolor": paper,
        "savefig.facecolor": paper,
        "legend.facecolor": paper,
        **{
            name: ink
            for name in ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color", "grid.color", "legend.edgecolor")
        },
    }
    colours = colour_of(chart, theme)
    with pyplot.rc_context(settings):
        figure, axis = pyplot.subplots(figsize=(9, 1.6 + 0.235 * len(chart.series) if chart.rows else 4.8 + 0.19 * len(chart.series)))
        (draw_rows if chart.rows else draw_lines)(chart, figure, axis, colours)
        plain = FuncFormatter(lambda value, _: f"{value:,g}")  # 1,000 and not 10 with an exponent
        if "x" in chart.log:
            axis.set_xscale("log")
            axis.xaxis.set_major_formatter(EngFormatter("s") if seconds_of(chart) else plain)
        if "y" in chart.log:
            axis.set_yscale("log")
            axis.yaxis.set_major_formatter(plain)
        axis.set_xlabel(seconds_of(chart) or chart.x)
        # The names beside rows take room: their title is the whole picture's.
        (figure.suptitle if chart.rows else axis.set_title)(chart.title, fontsize=12)
        axis.grid(alpha=0.25, which="major")
        figure.text(0.995, 0.005, SIMULATED, ha="right", va="bottom", fontsize=9, color="#cf222e", weight="bold")
        figure.set_layout_engine("constrained")
        figure.savefig(path, dpi=100)
        pyplot.close(figure)
