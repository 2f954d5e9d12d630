# SPDX-License-Identifier: BSD-2-Clause
"""Pictures: what is on their axes, how they look with many points, on dark paper, in narrow and wide terminals."""

import io
import json
import os
import threading
import tracemalloc
from fractions import Fraction
from math import floor

import pytest

from litepulse import output, plot, result_file, termplot
from litepulse.errors import BadInput

PERIOD = Fraction(24_000_000, 29)


def train(count, period=PERIOD):
    """The result of an exact train at 48 MHz."""
    start = 1000
    return {
        "command": "train",
        "simulated": True,
        "backend": "sim",
        "tick_hz": "48000000",
        "rate_hz": str(48_000_000 / period),
        "period_ticks": str(period),
        "start": start,
        "pulses": list(range(count)),
        "launched": [start + floor(n * period) for n in range(count)],
    }


@pytest.fixture
def drawn(monkeypatch, tmp_path):
    """A function that saves a Series and returns what matplotlib drew."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    figures = []
    monkeypatch.setattr(pyplot, "close", figures.append)

    def draw(series, theme="light"):
        plot.save(series, tmp_path / "picture.png", theme)
        return figures[-1]

    return draw


@pytest.mark.parametrize("count", [2, 3, 7, 60, 20_000])
def test_pulses_are_whole_numbers_and_times_have_a_unit(drawn, count):
    figure = drawn(plot.from_result(train(count)))
    top, bottom = figure.axes[:2]
    for axis, name, unit in ((top, "period", "µs"), (bottom, "pulse", "ns")):
        low, high = axis.get_xlim()
        shown = [label.get_text().replace("\N{NARROW NO-BREAK SPACE}", "") for label in axis.get_xticklabels()]
        ticks = [tick for tick in axis.get_xticks() if low <= tick <= high]
        assert ticks and all(tick == round(tick) for tick in ticks) and not any("." in text or "e" in text for text in shown)
        assert axis.get_xlabel() == name and axis.get_ylabel().endswith(f"[{unit}]")
        assert not axis.yaxis.get_offset_text().get_text() and not axis.xaxis.get_offset_text().get_text()
    low, high = bottom.get_ylim()
    assert low < -1e9 / 48e6 and high > 0


def test_a_period_error_has_the_unit_that_fits(drawn):
    """µs beside the laptop's 0.1 ms, and at a position in ns; ns where the train is alone. Rounding
    is named as such."""
    for period, unit, factor in ((PERIOD, "µs", 1000), (Fraction(48_001, 3), "ns", 1)):
        top = drawn(plot.from_result(train(10, period))).axes[0]
        assert top.get_ylabel() == f"period error [{unit}]"
        for place, label in zip(top.get_yticks(), top.get_yticklabels(), strict=True):
            text = label.get_text().replace("\N{NARROW NO-BREAK SPACE}", "").replace("−", "-")
            assert float(text) * factor == pytest.approx(place)
        assert top.get_legend().get_texts()[-1].get_text().endswith(" ns, rounded to ticks of 20.8 ns")


SHARED = {"simulated": True, "backend": "sim", "tick_hz": "48000000"}
LATENCY = {"command": "latency", "stimulus": "pulse", "response": "edge", **SHARED}


def answers(*delays):
    """The result of a responder that answered after these delays in ticks."""
    return {"command": "respond", "trigger": "break", "answers": [{"delay_ticks": delay} for delay in delays], **SHARED}


# [(ticks, how often)], and the unit of the axis
DELAYS = {
    "one": ([(1, 20)], "ns"),
    "short": ([(470, 3), (479, 1)], "ns"),
    "long": ([(480, 3), (481, 2)], "µs"),
    "wide": ([(48_000, 5), (48_000 + 48 * 1000, 1)], "µs"),
}


@pytest.mark.parametrize("name", DELAYS)
@pytest.mark.parametrize("command", ["latency", "respond"])
def test_delays_are_times(drawn, command, name):
    """Each bar stands where its delay is, in ns or µs; no two marks of the axis read the same."""
    rows, unit = DELAYS[name]
    result = LATENCY | {"histogram": rows} if command == "latency" else answers(*(ticks for ticks, count in rows for _ in range(count)))
    series = plot.from_result(result)
    axis = drawn(series).axes[0]
    tick = 1e9 / 48e6 / {"ns": 1, "µs": 1000}[unit]
    bars = [(bar.get_x(), bar.get_x() + bar.get_width(), bar.get_height()) for bar in axis.patches if bar.get_height()]
    assert [count for _, _, count in bars] == [count for _, count in rows]
    slack = tick / 1000
    assert all(begin - slack <= ticks * tick <= end + slack for (begin, end, _), (ticks, _) in zip(bars, rows))
    assert axis.get_xlabel().startswith(f"delay [{unit}]") and axis.get_xlabel().endswith("1 tick = 20.83 ns")
    low, high = axis.get_xlim()
    shown = [label.get_text() for label in axis.get_xticklabels() if low <= label.get_position()[0] <= high]
    assert len(shown) == len(set(shown)) >= 2 and low < rows[0][0] * tick and rows[-1][0] * tick < high
    labels = [line.split("│")[0].strip() for line in plot.text(series, 80)[1:]]
    assert labels[0] == f"{rows[0][0] * tick:.3f}" and f"[delay [{unit}]" in plot.text(series, 80)[0]


def test_many_points_are_a_density(drawn):
    """Each point counts in one cell, none is painted over another."""
    from matplotlib.collections import QuadMesh

    series = plot.from_result(train(plot.DENSE))
    assert not any(isinstance(child, QuadMesh) for axis in drawn(series).axes for child in axis.get_children())
    count = 20_000
    series = plot.from_result(train(count, Fraction(160_000, 147)))
    meshes = [child for axis in drawn(series).axes[:2] for child in axis.get_children() if isinstance(child, QuadMesh)]
    assert [int(mesh.get_array().sum()) for mesh in meshes] == [count - 1, count]


def test_exact_edges_lie_at_zero(drawn):
    """The cells that have them are centred on it, not beside it."""
    from matplotlib.collections import QuadMesh

    series = plot.from_result(train(6000, Fraction(50_000)))
    assert set(series.y) == {0}
    for axis in drawn(series).axes[:2]:
        (mesh,) = [child for child in axis.get_children() if isinstance(child, QuadMesh)]
        filled = [row for row, cells in enumerate(mesh.get_array().reshape(mesh.get_coordinates().shape[0] - 1, -1)) if cells.any()]
        heights = mesh.get_coordinates()[:, 0, 1]
        assert [(heights[row] + heights[row + 1]) / 2 for row in filled] == pytest.approx([0], abs=1e-6)


@pytest.mark.parametrize("theme", plot.THEMES)
def test_themes(drawn, theme):
    """The paper is opaque, so the picture is readable on any page; lines and text stand out against it."""
    from matplotlib.colors import to_rgb

    colours = plot.THEMES[theme]
    light = {name: sum(to_rgb(value)) / 3 for name, value in vars(colours).items() if value.startswith("#")}
    assert all(abs(light[name] - light["paper"]) > 0.3 for name in ("ink", "points", "simulated"))
    figure = drawn(plot.from_result(train(20)), theme)
    assert figure.get_facecolor() == (*to_rgb(colours.paper), 1.0)
    assert figure.axes[0].get_facecolor() == (*to_rgb(colours.paper), 1.0)
    assert to_rgb(figure.axes[0].xaxis.label.get_color()) == to_rgb(colours.ink)
    assert (light["paper"] > 0.9) == (theme == "light")


def test_regular_intervals_are_shown_as_differences(tmp_path):
    """Not as 1e-5 + 17.24 ms: the numbers on the axis are the jitter."""
    file = tmp_path / "train.vnl"
    file.write_text("## backend: sim\n# t_ns dt_ms\n100.000 -\n200 17.241375000\n300 17.241395833\n400 17.241375000\n")
    series = plot.load(file)
    assert series.y == pytest.approx([0, 20.833, 0]) and series.y_label == "interval − median [ns]"
    assert series.title == "4 edges of train.vnl, median interval 17.241375 ms" and series.note == "SIMULATED (sim)"
    file.write_text("# t_ns dt_ms\n100.000 -\n200 1.5\n300 0.25\n")
    series = plot.load(file)
    assert series.y == [1_500_000, 250_000] and series.y_label == "time since the edge before [ns]"
    assert series.note == "backend not recorded in this format"


def test_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps(train(5)).encode())))
    assert plot.load("-").title == "5 pulses at 58 Hz"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff\xfe")))
    with pytest.raises(BadInput, match="-: cannot read it .not a text file"):
        plot.load("-")


@pytest.mark.parametrize(
    "change", [{"tick_hz": "0"}, {"tick_hz": "x"}, {"pulses": None}, {"start": "now"}, {"period_ticks": [1]}, {"launched": [{}]}]
)
def test_broken_results_are_refused(tmp_path, change):
    file = tmp_path / "train.json"
    file.write_text(json.dumps(train(3) | change))
    with pytest.raises(BadInput, match="train.json: not a result of litepulse"):
        plot.load(file)


@pytest.mark.parametrize(
    "text, why",
    [
        ("{}", "not a result of litepulse: it has no 'command'"),
        ('{"command": "train"}', "not a result of litepulse: it has no 'tick_hz'"),
        ('{"command": "train", "tick_hz"', "not a result of litepulse: it is not complete JSON"),
        ('{"command": "info", "tick_hz": "1", "backend": "sim"}', "nothing of 'info' can be plotted"),
        ('{"command": "latency", "tick_hz": "1", "backend": "sim", "runs": []}', "it compares settings; a picture has one measurement"),
        (json.dumps(train(3) | {"tick_hz": "x"}), "not a result of litepulse: a value in it is not as litepulse writes it"),
        ("Dear reader,\nthis is text.\n", "not a result of litepulse: neither JSON, nor rows with a column dt_ms"),
        ("t_ns,dt_ms\n1\n", "not a result of litepulse: a value in it is not as litepulse writes it"),
        ("", "not a result of litepulse: it is empty"),
    ],
)
def test_a_file_that_is_no_result(tmp_path, text, why):
    """The message speaks of the file, not of Python."""
    file = tmp_path / "file"
    file.write_text(text)
    with pytest.raises(BadInput) as error:
        plot.load(file)
    assert str(error.value) == f"{file}: {why}"


def test_no_interval_yet(drawn):
    """One edge has no interval; it is no error."""
    result = {
        "command": "capture",
        "simulated": False,
        "backend": "uartbone",
        "device": "/dev/ttyUSB1",
        "tick_hz": "48000000",
        "edges": [{"tick": 5}],
    }
    series = plot.from_result(result)
    assert series.y == [] and drawn(series).axes
    assert plot.text(series, 60)[-1] == "  (nothing to plot)"


# In a terminal --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [40, 80, 237])
def test_text_uses_the_width(width):
    lines = plot.text(plot.from_result(train(1000)), width)
    assert max(len(line) for line in lines[1:]) <= width and any(len(line) >= width - 2 for line in lines[1:])


def test_text_of_many_points_is_a_density():
    xs = list(range(4000))
    lines = termplot.points(xs, [n % 100 if n % 4 == 0 else 0 for n in xs], "t", "x", "y", 60)
    body = "".join(lines[1:-2])
    assert "█" in body and "░" in body and not any("⠁" <= character <= "⣿" for character in body)
    assert "#" in "".join(termplot.points(xs, [0] * 4000, "t", "x", "y", 60, plain=True))


def test_plain_terminals():
    """Every dot is seen, in characters of ASCII."""
    lines = termplot.points([0, 10, 20], [0, 5, 10], "a − b", "x", "y [ns]", 40, plain=True)
    assert all(line.isascii() for line in lines) and sum(line.count(c) for line in lines[1:-2] for c in ".':") >= 3
    lines = termplot.bars([(240, 3), (241, 1)], "delay", 40, plain=True)
    assert all(line.isascii() for line in lines) and lines[1].count("#") > lines[2].count("#") > 0


@pytest.mark.parametrize("encoding, plain", [("utf-8", False), ("ascii", True), ("latin-1", True), ("cp437", True)])
def test_plain_is_known_by_the_encoding(monkeypatch, encoding, plain):
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), encoding=encoding))
    assert output.is_plain() is plain


def test_live_picture():
    """As wide as the terminal is now, the newest points only, the scale kept unless a point lies outside."""
    rolling = termplot.Rolling("pulse", "error [ns]", (-40, 40))
    assert rolling.lines(80) == []
    for n in range(10_000):
        rolling.add(n, -n % 20)
    narrow, wide = rolling.lines(50), rolling.lines(200)
    assert max(map(len, narrow[1:])) <= 50 < 150 < max(map(len, wide[1:])) <= 200
    assert narrow[0].startswith(f"the last {2 * (50 - 12)}  ") and "9999" in narrow[-1] and "40" in narrow[1]
    rolling.add(10_000, 500)
    assert "500" in rolling.lines(50)[1]


# Long results -----------------------------------------------------------------------------------------------------------------


def write_result(path, kind, count):
    """A file of `count` edges, pulses or launches; one interval in the middle is out of the ordinary."""
    ticks, tick = [], 1000
    for n in range(count):
        tick += 48_000 + (n * 7919) % 5 + (9_000 if n == count // 2 else 0)
        ticks.append(tick)
    head = {"backend": "sim", "simulated": True, "tick_hz": "48000000"}
    if kind == "capture":
        value = {"command": "capture", **head, "edges": [{"tick": tick, "channel": "0", "level": n & 1} for n, tick in enumerate(ticks)]}
    elif kind == "send":
        value = {"command": "send", **head, "launched": [{"n": n, "tick": tick, "wanted": 48_002 * n} for n, tick in enumerate(ticks)]}
    elif kind == "train":
        value = train(count)
        value["launched"][count // 2] += 9_000
    else:
        rows = (f"{tick},{(tick - before) / 48_000:.6f}" for before, tick in zip(ticks, ticks[1:]))
        path.write_text("\n".join([f"tick,dt_ms\n{ticks[0]},", *rows]) + "\n")
        return
    path.write_text(json.dumps(value, indent=1 if kind == "send" else None))


KINDS = ["capture", "send", "train", "csv"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_long_result_needs_no_more_memory(kind, tmp_path, monkeypatch):
    """Ten times as many events, the same memory, and outliers are drawn."""
    monkeypatch.setattr(plot, "MOST", 200)
    monkeypatch.setattr(result_file, "IN_MEMORY", 200)
    monkeypatch.setattr(result_file, "_PIECE", 2000)
    needed, worst = [], []
    for count in (3000, 30_000):
        write_result(tmp_path / "file", kind, count)
        tracemalloc.start()
        try:
            series = plot.load(tmp_path / "file")
            plot.text(series, 80)
            needed.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
        assert f"{count - (kind in ('capture', 'csv')):,} " in series.note and "drawn, all extremes among them" in series.note
        assert series.title.startswith(f"{count} ") and 200 <= len(series.x) <= 600
        assert list(series.x) == sorted(series.x) and len(set(series.x)) == len(series.x)
        values = series.intervals_ns if kind == "train" else series.y
        worst.append(max(values))
        assert worst[-1] > 9_000 * 1000 / 48 * 0.99
    assert needed[1] < 1.2 * needed[0], needed


@pytest.mark.parametrize("kind", KINDS)
def test_a_long_result_is_read_as_a_short_one(kind, tmp_path, monkeypatch):
    """The list stays in the file, or is in memory: the same numbers."""
    write_result(tmp_path / "file", kind, 1000)
    whole = plot.load(tmp_path / "file")
    for most in (0, 999):
        monkeypatch.setattr(result_file, "IN_MEMORY", most)
        monkeypatch.setattr(result_file, "_PIECE", 37)
        assert plot.load(tmp_path / "file") == whole


def test_a_sample_is_like_the_whole():
    """Of a train whose ticks repeat every second pulse both kinds are drawn, as often."""
    thinned = plot.Thinned()
    for n in range(16 * plot.MOST):
        thinned.add(n, n % 2)
    share = sum(thinned.samples()) / len(thinned.samples())
    assert 0.48 < share < 0.52 and thinned.count == 16 * plot.MOST


def test_a_pipe_is_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_text(json.dumps(train(10))))
    writer.start()
    assert plot.load(tmp_path / "pipe").title.startswith("10 pulses")
    writer.join()


@pytest.mark.parametrize("cut", [1, 20, 40, 200, -30, -3])
def test_json_that_is_cut(cut, tmp_path, monkeypatch):
    monkeypatch.setattr(result_file, "IN_MEMORY", 3)
    monkeypatch.setattr(result_file, "_PIECE", 50)
    (tmp_path / "file").write_text(json.dumps(train(30))[:cut])
    with pytest.raises(BadInput, match="it is not complete JSON"):
        plot.load(tmp_path / "file")
