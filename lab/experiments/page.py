# SPDX-License-Identifier: BSD-2-Clause
"""All experiments on one interactive page that needs no network: plotly's script is in it. And docs/experiments.md."""

import html
import importlib
import itertools
import json
import re
import textwrap

from lab.experiments.experiment import COMPUTED, PC, PUBLISHED, RTL, with_unit
from lab.experiments.pictures import colour_of, seconds_of
from litex_soc import SPDX

TITLE = "Five published experiments, repeated"
COMMAND = "python -m lab.experiments"
IMAGES = "images/experiments"  # below docs/
INTRODUCTION = (
    "LitePulse was built because five people published figures. Here each of their experiments is repeated, the ordinary way and "
    "LitePulse's in the same run."
)
# What each word beside a figure means.
SOURCES = {
    RTL: "every clock cycle of the project's own Verilog was computed, with Linux and its drivers on it where a program is measured. "
    "Figures are cycles, and exact: the same sources give the same.",
    PC: "a PC in QEMU with the simulated board on its USB port. The board's clock is slowed down until it keeps up with real time; how "
    "long the PC takes is the emulator's affair. So only ratios within a run say anything.",
    COMPUTED: "arithmetic; nothing was run.",
    PUBLISHED: "somebody else's figure, on their hardware.",
}
TICK = 20e-9  # of the Linux SoC that all of IN_SHORT was measured on, in s
# Experiment: what is compared, the ordinary way's row and LitePulse's in the first picture of rows, and where on them: percent.
IN_SHORT = {
    "p1": ("error of a 58 Hz period, at most", "usleep() and write(), liteuart, loaded", "hardware train, loaded", 100),
    "p3": ("a LIN slave's answer of one byte, at the latest", "a program, liteuart's tty, loaded", "lin0, loaded", 100),
    "p4": (
        "a nudged cycle: distance from the commanded time, at most",
        "clock_nanosleep(), SCHED_FIFO and write(), liteuart, loaded",
        "timed launches, scheduled badly on purpose, loaded",
        100,
    ),
    "p5": (
        "from stimulus to answer, median",
        "a program on liteuart's tty, Linux SoC, 50 MHz, CPU loaded",
        "LitePulse's responder, Linux SoC, 50 MHz, CPU loaded",
        50,
    ),
}
STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1f2328; --dim: #57606a; --line: #d0d7de; --accent: #0969da; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #0d1117; --ink: #d0d7de; --dim: #8b949e; --line: #30363d; --accent: #79c0ff; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 70rem; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.7rem; line-height: 1.2; } h2 { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 1rem; }
nav a { margin-right: 1rem; white-space: nowrap; } a { color: var(--accent); }
.published { border-left: 4px solid var(--line); padding-left: 1rem; color: var(--dim); }
.how { color: var(--dim); font-size: 0.85rem; }
.plot { width: 100%; margin: 1rem 0; }
.table { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.85rem; font-variant-numeric: tabular-nums; }
th, td { border: 1px solid var(--line); padding: 0.3rem 0.55rem; text-align: left; }
dt { font-weight: 600; } dd { margin: 0 0 0.5rem 1rem; }
@media (max-width: 40rem) { body { padding: 0.6rem; font-size: 15px; } }
"""
SCRIPT = """
const dark = matchMedia("(prefers-color-scheme: dark)");
function draw() {
  const theme = dark.matches ? "dark" : "light", narrow = innerWidth < 640;
  for (const chart of CHARTS) {
    const colours = chart.colours[theme], paper = theme === "dark" ? "#0d1117" : "#ffffff", ink = theme === "dark" ? "#d0d7de" : "#1f2328";
    const grid = theme === "dark" ? "#30363d" : "#d8dee4";
    const axis = (title, log) => ({ title: { text: title, standoff: 8 }, type: log ? "log" : "linear", gridcolor: grid, zerolinecolor: grid,
      linecolor: grid, automargin: true, exponentformat: "power" });
    const data = chart.traces.map((trace, n) => ({ ...trace, line: { ...trace.line, color: colours[n] },
      marker: { color: colours[n], size: trace.sizes ?? (narrow ? 5 : 7), opacity: trace.sizes ? 1 : 0.85 } }));
    // Names are above their rows; else there is room for the legend below.
    const rows = { type: "category", autorange: "reversed", ticklabelposition: "inside top", tickfont: { size: narrow ? 9 : 12 } };
    const seconds = { tickformat: "~s", ticksuffix: "s", dtick: 1 };  // 100 ns, 1 µs
    const height = chart.rows ? 5 + chart.traces.length * 2.1 : 24 + chart.traces.length * (narrow ? 1.2 : 0.8);
    document.getElementById(chart.id).style.height = `${height}rem`;
    Plotly.react(chart.id, data, {
      paper_bgcolor: paper, plot_bgcolor: paper, font: { color: ink },
      xaxis: { ...axis(chart.x, chart.log.includes("x")), ...(chart.seconds ? seconds : {}) },
      yaxis: { ...axis(chart.y, chart.log.includes("y")), ...(chart.rows ? rows : {}) },
      showlegend: !chart.rows,
      legend: { orientation: "h", y: -0.22, font: { size: narrow ? 10 : 12 } }, hovermode: "closest",
      margin: narrow ? { l: 45, r: 8, t: 10, b: 40 } : { l: 70, r: 20, t: 30, b: 60 },
    }, { responsive: true, displaylogo: false, displayModeBar: !narrow });
  }
}
dark.addEventListener("change", draw);
addEventListener("resize", draw);
draw();
"""


def row_of(one):
    """A row for plotly, without its colour."""
    return {
        "type": "scatter",
        "name": f"{one.name} ({one.source})",
        "x": one.x,
        "y": [one.name] * len(one.x),
        "mode": "lines+markers",
        "line": {"width": 4},
        "sizes": [12 if percent == 50 else 6 for percent in one.y],
        "text": one.labels,
        "hovertemplate": "%{text}<extra>%{fullData.name}</extra>",
    }


def trace_of(one):
    """A series for plotly, without its colours."""
    labels = one.labels or [""] * len(one.x)
    return {
        "type": "scatter",
        "name": f"{one.name} ({one.source})",
        "x": one.x,
        "y": one.y,
        "mode": "markers" if one.style == "points" else "lines",
        "line": {"shape": "hv" if one.style == "steps" else "linear", "dash": "dash" if one.source == PUBLISHED else "solid"},
        "text": labels,
        "hovertemplate": "%{x:.6~g}, %{y:.6~g}<br>%{text}<extra>%{fullData.name}</extra>"
        if one.labels
        else "%{x:.6~g}, %{y:.6~g}<extra>%{fullData.name}</extra>",
    }


def chart_data(chart):
    """A chart for the page's script."""
    colours = {theme: [colour_of(chart, theme)[one.name] for one in chart.series] for theme in ("light", "dark")}
    return {
        "id": chart.name,
        "x": seconds_of(chart) or chart.x,
        "seconds": seconds_of(chart) is not None,
        "y": chart.y,
        "log": chart.log,
        "rows": chart.rows,
        "colours": colours,
        "traces": [(row_of if chart.rows else trace_of)(one) for one in chart.series],
    }


def charts_of(experiment, results):
    """[Chart] of what was measured."""
    figures = results.figures(experiment.name)
    return experiment.charts(figures) if figures else []


def how_measured(experiment, results):
    """The line that says what was run, when, on which sources; or that it was not."""
    how = results.measured(experiment.name)
    long = " --long" if results.long(experiment.name) else ""
    return f"`{COMMAND} {experiment.name}{long}`: {how}." if how else f"Not measured yet: `{COMMAND} {experiment.name}`."


def section_lines(experiment, results):
    """Lines of Markdown below an experiment's title, without its pictures: what, who, how, what came out."""
    name, errors = experiment.name, results.errors(experiment.name)
    figures = results.figures(name)
    return {
        "question": [experiment.question],
        "published": [f"Published: {experiment.published}"],
        "how": [how_measured(experiment, results)],
        "tables": experiment.tables(figures) if figures else [],
        "errors": [f"**Not measured:** {step}: {error}" for step, error in sorted(errors.items())],
    }


def to_html(lines):
    """Markdown as HTML; tables can be scrolled sideways. Cells and errors quote kernels and programs: of HTML only the text shows."""
    from markdown_it import MarkdownIt

    made = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image").render("\n".join(lines))
    return made.replace("<table>", '<div class="table"><table>').replace("</table>", "</table></div>")


def interactive(experiments, results):
    """The page: text of HTML."""
    get_plotlyjs = importlib.import_module("plotly.offline").get_plotlyjs  # of the step `all`, so the type check cannot rely on it

    out, charts = [], []
    for one in experiments:
        parts = section_lines(one, results)
        out.append(f'<section id="{one.name}"><h2>{one.name.upper()}: {html.escape(one.title)}</h2>')
        out.append(to_html(parts["question"]))
        out.append(f'<div class="published">{to_html(parts["published"])}</div>')
        for chart in charts_of(one, results):
            charts.append(chart_data(chart))
            out.append(f'<h3>{html.escape(chart.title)}</h3><div class="plot" id="{chart.name}"></div>')
        out.append(to_html(parts["tables"]) + to_html(parts["errors"]))
        out.append(f'<div class="how">{to_html(parts["how"])}</div></section>')
    links = "".join(f'<a href="#{one.name}">{one.name.upper()} {html.escape(one.title)}</a>' for one in experiments)
    legend = "".join(f"<dt>{html.escape(word)}</dt><dd>{html.escape(text)}</dd>" for word, text in SOURCES.items())
    data = json.dumps(charts, separators=(",", ":")).replace("</", "<\\/")
    return "\n".join(
        [
            f'<!DOCTYPE html>\n<!-- Written by `{COMMAND}`. {SPDX} BSD-2-Clause, and plotly.js: MIT -->\n<html lang="en"><head>',
            '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>LitePulse: {TITLE.lower()}</title><style>{STYLE}</style><script>{get_plotlyjs()}</script></head><body>",
            f"<h1>{TITLE}</h1><p>{INTRODUCTION} Nothing here was measured on hardware yet.</p><nav>{links}</nav>",
            *out,
            f"<section><h2>Where the figures come from</h2><dl>{legend}</dl></section>",
            f"<script>const CHARTS = {data};{SCRIPT}</script></body></html>",
        ]
    )


def picture_lines(chart):
    """A chart's picture in Markdown."""
    return [
        "<picture>",
        f'  <source media="(prefers-color-scheme: dark)" srcset="{IMAGES}/{chart.name}-dark.png">',
        f'  <img src="{IMAGES}/{chart.name}.png" alt="{html.escape(chart.title)}">',
        "</picture>",
    ]


def is_prose(line):
    """Whether a line of Markdown may be wrapped: none of a table, code, a picture or a heading."""
    return bool(line) and line[0] not in "|<#-" and not line.startswith("  ")


def wrapped(lines):
    """Markdown with its prose at 100 columns."""
    found = []
    for prose, group in itertools.groupby(lines, is_prose):
        if prose:
            found += textwrap.wrap(" ".join(group), 100, break_on_hyphens=False)
        else:
            for line in group:
                found += textwrap.wrap(line, 100, subsequent_indent="  ", break_on_hyphens=False) if line.startswith("- ") else [line]
    return found


def anchor(experiment):
    """Of its heading in docs/experiments.md, as GitHub makes it."""
    heading = f"{experiment.name}: {experiment.title}".lower()
    return re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")


def in_short(experiments, results):
    """Lines of a table: each problem, the ordinary way and LitePulse's, on the Linux SoC with its CPU loaded."""

    def in_words(seconds):
        return f"less than a tick ({with_unit(TICK)})" if seconds < TICK else with_unit(seconds)

    out = []
    for one in experiments:
        if one.name in IN_SHORT:
            what, ordinary, ours, percent = IN_SHORT[one.name]
            found = {series.name: series for chart in charts_of(one, results) if chart.rows for series in chart.series}
            if ordinary in found and ours in found:
                values = [in_words(found[name].x[found[name].y.index(percent)]) for name in (ordinary, ours)]
                out.append(f"| [{one.name.upper()}](#{anchor(one)}) | {what} | {values[0]} | {values[1]} |")
        elif one.name == "p2" and (figures := results.figures("p2")):
            rows = [row for row in figures.values() if row["baud"] == 19_200 and row.get("who") in ("liteuart", "LitePulse")]
            most = {ours: [row["per_second"] for row in rows if (row["who"] != "liteuart") == ours] for ours in (False, True)}
            if all(most.values()):
                what = "interrupts a second at 19,200 baud"
                known = "each byte with its tick"
                out.append(f"| [P2](#{anchor(one)}) | {what} | {max(most[False]):,.0f} | {min(most[True]):,.1f}, {known} |")
    if not out:
        return []
    head = ["| | what | ordinary port (liteuart) | LitePulse |", "|---|---|---|---|"]
    return [f"In short, on the Linux SoC at 50 MHz ({RTL}), with the CPU loaded but for P2:", "", *head, *out]


def document(experiments, results):
    """docs/experiments.md."""
    out = [
        f"<!-- Written by `{COMMAND} --write`. {SPDX} BSD-2-Clause -->",
        f"# {TITLE}",
        "",
        INTRODUCTION,
        "",
        "    make experiments              # all five on simulated systems, within half an hour; ONLY=p4: one of them",
        "    make experiments LONG=1       # with more samples and whole files: hours",
        "",
        "It shows how far it is. If you interrupt it, the same command goes on where it was. It writes this page's tables and",
        "pictures, and an interactive page that needs no network, to `build/experiments/`. `WRITE=1` updates this page.",
        "",
        *in_short(experiments, results),
        "",
        "Each figure says where it comes from. None was measured on hardware yet:",
        "",
        *(f"- **{word}**: {text}" for word, text in SOURCES.items()),
    ]
    for one in experiments:
        parts = section_lines(one, results)
        out += ["", f"## {one.name.upper()}: {one.title}", "", *parts["question"], "", *parts["published"]]
        for chart in charts_of(one, results):
            out += ["", *picture_lines(chart)]
        for what in ("tables", "errors", "how"):
            if parts[what]:
                out += ["", *parts[what]]
    return "\n".join(wrapped(out)) + "\n"
