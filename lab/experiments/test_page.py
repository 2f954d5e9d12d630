# SPDX-License-Identifier: BSD-2-Clause
"""The interactive page, in headless Chromium; and docs/experiments.md, which shows the same results."""

import re
from dataclasses import replace

import pytest

from lab.experiments import p3_lin, page
from lab.experiments.catalog import EXPERIMENTS
from lab.experiments.p3_lin import P3
from lab.experiments.results import KEPT, Results
from sim import browser
from sim.cocotb_rig import ROOT
from sim.linux import lin_bench

# What a reader sees of each chart: how many traces are drawn, what hovering over the first point of each shows; and the page as a whole.
LOOK = """() => {
  const charts = {};
  for (const chart of CHARTS) {
    const plot = document.getElementById(chart.id), hovers = [];
    for (let n = 0; n < chart.traces.length; n++) {
      Plotly.Fx.hover(plot, [{ curveNumber: n, pointNumber: 0 }]);
      hovers.push([...plot.querySelectorAll(".hoverlayer text")].map(text => text.textContent).join(" "));
    }
    charts[chart.id] = { drawn: plot.querySelectorAll(".scatterlayer .trace").length, hovers, section: plot.closest("section").id,
      width: plot.getBoundingClientRect().width, paper: plot.querySelector(".main-svg").style.background };
  }
  return { charts, width: document.documentElement.scrollWidth, paper: getComputedStyle(document.body).backgroundColor,
    sections: [...document.querySelectorAll("section[id]")].map(one => one.id),
    tables: document.querySelectorAll("section[id] table").length };
}"""


@pytest.fixture(scope="module")
def results():
    return Results(KEPT)


@pytest.fixture(scope="module")
def text(results):
    return page.interactive(EXPERIMENTS, results)


@pytest.mark.parametrize("width, dark", [(1200, False), (400, False), (1200, True)], ids=["wide", "narrow", "dark"])
def test_the_page_in_a_browser(text, tmp_path, width, dark):
    """Five sections with a plot each and no error; hovering shows values; nothing sticks out of a narrow window; dark is dark."""
    assert browser.chromium(), "no Chromium: apt install chromium"
    errors, found = browser.look_at(text, LOOK, tmp_path, width=width, dark=dark)
    assert errors == []
    assert found["sections"] == [one.name for one in EXPERIMENTS] and found["tables"] >= len(EXPERIMENTS)
    assert {chart["section"] for chart in found["charts"].values()} == set(found["sections"])
    assert found["width"] <= width
    assert found["paper"] == ("rgb(13, 17, 23)" if dark else "rgb(255, 255, 255)")
    for chart in found["charts"].values():
        assert chart["drawn"] == len(chart["hovers"]) and width - 60 < chart["width"] <= width or width == 1200
        assert all(re.search(r"\d", hover) and "(" in hover for hover in chart["hovers"]), chart["hovers"]
        assert chart["paper"] == found["paper"]


def test_the_page_loads_no_other_file(text):
    """No file from outside is named where a browser would load it."""
    own = text.split("</script></head>")[1]
    assert not re.search(r"(src|href)=[\"']?(https?:)?//", own) and "@import" not in text.split("<script>")[0]


FOREIGN = '<script>document.title = "run"</script><img src=x onerror=alert(1)> ![a](https://example.org/a.png)'


def test_markup_in_output_of_programs_is_text(text, results):
    """An error's text and a table's cell are other people's: the page shows their letters, and carries none of it out."""
    changed = Results(KEPT)
    changed.all = {name: dict(steps) for name, steps in results.all.items()}
    changed.all["p2"]["foreign"] = {"error": FOREIGN}
    first = replace(EXPERIMENTS[0], tables=lambda _: ["", "| a |", "|---|", f"| {FOREIGN} |"])
    made = page.interactive([first, *EXPERIMENTS[1:]], changed)
    assert made.count("&lt;script&gt;document.title") == 2 and made.count("&lt;img src=x onerror") == 2
    assert made.count("<script") == text.count("<script") and made.count("<img") == text.count("<img") == 0


def test_the_document_shows_the_results(results):
    """docs/experiments.md, its pictures, the table of docs/lin.md and docs/experiments.json belong together."""
    assert (ROOT / "docs" / "experiments.md").read_text(encoding="utf-8") == page.document(EXPERIMENTS, results), (
        "stale: python -m lab.experiments --page --write"
    )
    how = page.how_measured(P3, results)
    lin = lin_bench.PAGE.read_text(encoding="utf-8")
    assert lin == lin_bench.with_table(lin, p3_lin.table_rows(results.figures("p3")), how), (
        "stale: python -m lab.experiments --page --write"
    )
    charts = [chart for one in EXPERIMENTS for chart in page.charts_of(one, results)]
    files = {path.name for path in (ROOT / "docs" / page.IMAGES).iterdir()}
    assert files == {f"{chart.name}{ending}.png" for chart in charts for ending in ("", "-dark")}


def test_the_document_begins_with_a_line_for_each_problem(results):
    """The ordinary way and LitePulse's; without results there is no table."""
    lines = page.in_short(EXPERIMENTS, results)
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| [")]
    assert [re.findall(r"\[(P\d)\]", row[0]) for row in cells] == [["P1"], ["P2"], ["P3"], ["P4"], ["P5"]]
    worst = max(abs(error) for error in results.figures("p4")["sleep-loaded"]["errors_us"])
    assert cells[3][2:] == [f"{worst:.0f} µs", "less than a tick (20.0 ns)"]
    headings = re.findall(r"(?m)^## (P\d): ", (ROOT / "docs" / "experiments.md").read_text(encoding="utf-8"))
    assert headings == ["P1", "P2", "P3", "P4", "P5"]
    assert page.in_short(EXPERIMENTS, Results(ROOT / "nothing.json")) == []


def test_choosing_has_what_was_measured(results):
    """The figures of P2 on docs/choosing.md: CPU, interrupts and waits of three ways at 19,200 baud."""
    text = (ROOT / "docs" / "choosing.md").read_text(encoding="utf-8")
    found = results.figures("p2")
    each, shared, tty = (found[f"{name}-19200"] for name in ("1-0", "450-199000", "tty"))
    for one, words in (
        (each, "{wait:.1f} ms at most at 19,200 baud, for {cpu:.1%} of the CPU"),
        (shared, "{rate:.1f} interrupts a second, {cpu:.1%} of the CPU"),
        (tty, "{wait:.1f} ms at most at 19,200 baud, for {cpu:.1%} of the CPU"),
    ):
        cell = words.format(wait=one["latency_us"][1] / 1000, cpu=one["cpu"], rate=one["per_second"]).replace("%", " %")
        assert cell in text, cell
    assert f"32 lines would take {32 * shared['per_second']:.0f} interrupts a second and {32 * shared['cpu']:.0%}".replace(
        "%", ""
    ) in text.replace("\n", " ")
