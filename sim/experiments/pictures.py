# SPDX-License-Identifier: BSD-2-Clause
"""Charts as pictures, on light and on dark paper."""

from typing import Any

from litepulse.plot import SIMULATED
from sim.experiments.experiment import COMPUTED, PUBLISHED

THEMES = {"light": ("#ffffff", "#1f2328"), "dark": ("#0d1117", "#d0d7de")}
# LitePulse's ways are blue and green, the ordinary ones red to brown, what was not measured here grey.
OURS = {"light": ("#0969da", "#1a7f37", "#0550ae", "#2da44e", "#218bff"), "dark": ("#79c0ff", "#3fb950", "#58a6ff", "#7ee787", "#a5d6ff")}
OTHERS = {"light": ("#cf222e", "#bc4c00", "#a40e26", "#953800", "#82071e"), "dark": ("#ff7b72", "#ffa657", "#ffa198", "#f0883e", "#f85149")}
GREY = {"light": ("#6e7781", "#8c959f", "#57606a", "#424a53", "#afb8c1"), "dark": ("#8b949e", "#6e7681", "#b1bac4", "#c9d1d9", "#484f58")}
MARKERS = "osD^vPX*"


def colour_of(series, theme):
    """{name: colour} of all series of a chart."""
    counts, found = {}, {}
    for one in series:
        palette = GREY if one.source in (PUBLISHED, COMPUTED) else OURS if one.ours else OTHERS
        number = counts[id(palette)] = counts.get(id(palette), -1) + 1
        colours = palette[theme]
        found[one.name] = colours[number % len(colours)]
    return found


def draw(chart, path, theme="light"):
    """Writes a chart as PNG."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

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
    colours = colour_of(chart.series, theme)
    with pyplot.rc_context(settings):
        columns = 1 if len(chart.series) < 9 else 2
        figure, axis = pyplot.subplots(figsize=(9, 4.8 + 0.19 * -(-len(chart.series) // columns)))
        for number, one in enumerate(chart.series):
            label, colour = f"{one.name} ({one.source})", colours[one.name]
            if one.style == "points":
                axis.plot(one.x, one.y, MARKERS[number % len(MARKERS)], color=colour, markersize=4.5, alpha=0.85, label=label)
            elif one.style == "steps":
                axis.step(one.x, one.y, where="post", color=colour, linewidth=1.8, label=label)
            else:
                axis.plot(one.x, one.y, "--" if one.source == PUBLISHED else "-", color=colour, linewidth=1.4, label=label)
        if "x" in chart.log:
            axis.set_xscale("log")
        if "y" in chart.log:
            axis.set_yscale("log")
        axis.set_xlabel(chart.x)
        axis.set_ylabel(chart.y)
        axis.set_title(chart.title, fontsize=12)
        axis.grid(alpha=0.25, which="major")
        figure.legend(
            *axis.get_legend_handles_labels(), loc="outside lower left", fontsize=8 if columns == 1 else 6.5, ncols=columns, frameon=False
        )
        figure.text(0.995, 0.005, SIMULATED, ha="right", va="bottom", fontsize=9, color="#cf222e", weight="bold")
        figure.set_layout_engine("constrained")
        figure.savefig(path, dpi=100)
        pyplot.close(figure)
