# SPDX-License-Identifier: BSD-2-Clause
"""Autocorrelation of periods: closed forms, its definition term by term, and how plot shows it."""

import itertools
import json
import math
import random
from fractions import Fraction

import pytest

from litepulse import autocorrelation, plot
from litepulse.autocorrelation import Autocorrelation, bound, describe

from .test_plot import SHARED, drawn, train

__all__ = ["drawn"]  # the fixture


def of(*rows, lags=autocorrelation.LAGS):
    sums = Autocorrelation(lags)
    for row in rows:
        sums.row(row)
    return sums.values()


def by_definition(rows, k):
    """The correlation coefficient of the pairs, exact but for the root."""
    pairs = [pair for row in rows for pair in zip(row, row[k:])]
    x, y = (Fraction(sum(side), len(pairs)) for side in zip(*pairs))
    top = sum((a - x) * (b - y) for a, b in pairs)
    return float(top) / math.sqrt(sum((a - x) ** 2 for a, _ in pairs) * sum((b - y) ** 2 for _, b in pairs))


def m_sequence():
    """±1 with as much of the one as there can be: over its length of 1023, each shift of it has the sum of products -1."""
    state, found = 1, []
    for _ in range(1023):
        found.append(1 if state & 1 else -1)
        state = state >> 1 | (state ^ state >> 3) % 2 << 9
    assert all(sum(a * b for a, b in zip(found, found[k:] + found[:k])) == -1 for k in range(1, 1023))
    return found


@pytest.mark.parametrize("count", [8, 9, 100, 3001])
@pytest.mark.parametrize("mean", [0, 17, 827_586])
def test_an_error_that_comes_back_with_the_other_sign(count, mean):
    """Exactly -1 at odd lags and 1 at even ones, also of an odd number."""
    values = of([mean + (-1) ** n * 5 for n in range(count)])
    assert values == [(-1.0) ** k for k in range(1, min(10, count // 4) + 1)]


def test_edges_with_independent_errors():
    """Exactly -1/2 at lag 1 and 0 beyond: shifts of the sequence do not correlate, periods are its differences."""
    jitter = list(itertools.islice(itertools.cycle(m_sequence()), 4 * 1023 + 20))
    periods = [1000 + 3 * (b - a) for a, b in zip(jitter, jitter[1:])]
    for k in range(1, 11):  # so many that the pairs are whole sequences
        assert of(periods[: 4 * 1023 + k], lags=k)[-1] == (-0.5 if k == 1 else 0)


def test_periods_with_independent_errors():
    """White noise: the mean square of r(k) is 1/n, and none of these ten is beyond four of its roots."""
    chance = random.Random(7)
    values = of([chance.gauss(0, 1) for _ in range(40_000)])
    assert len(values) == 10 and max(map(abs, values)) < 4 / math.sqrt(40_000) == 2 * bound(40_000)
    chance, within = random.Random(8), 0
    for _ in range(400):
        within += abs(of([chance.random() for _ in range(100)], lags=1)[0]) <= bound(100)
    assert 400 * 0.92 < within < 400 * 0.98, within


def test_random_edges():
    """-1/2 within the same bound."""
    chance = random.Random(9)
    edges = [1000 * n + chance.gauss(0, 20) for n in range(40_001)]
    first, *more = of([b - a - 1000 for a, b in zip(edges, edges[1:])])
    assert abs(first + 0.5) < 4 / math.sqrt(40_000) and max(map(abs, more)) < 8 / math.sqrt(40_000)


def test_a_drift():
    assert of(list(range(50)))[0] == 1.0 == of([0.5 * n for n in range(3000)])[0]


@pytest.mark.parametrize("lengths", [[30], [3, 1, 0, 40, 7], [600, 511, 1030], [2] * 30])
def test_rows_by_the_definition(lengths):
    """However the values come, no pair is from two rows."""
    chance = random.Random(sum(lengths))
    rows = [[chance.randrange(-50, 1000) for _ in range(length)] for length in lengths]
    values = of(*rows)
    assert len(values) == min(10, sum(lengths) // 4)
    for k, value in enumerate(values, 1):
        pairs = sum(max(0, length - k) for length in lengths)
        assert value == (pytest.approx(by_definition(rows, k), abs=1e-12) if pairs > 1 else None)


@pytest.mark.parametrize("values", [[], [5], [5, 6, 7], [5] * 100])
def test_where_it_is_not_defined(values):
    assert not any(each is not None for each in of(values))


def test_in_words():
    assert describe([], 3) == "of 3 periods there is no autocorrelation yet" and describe([None] * 2, 100) == "all 100 equal"
    assert describe([-0.5, 0.02, None, -0.04], 400) == (
        "autocorrelation -0.500 at lag 1, at most ±0.040 at lags 2 to 4, 400 periods; ±0.100 if independent"
    )


# In plots -----------------------------------------------------------------------------------------------------------------


def capture(ticks):
    """Of both edges of pulses that begin at these ticks. Widths differ; the periods do not depend on them."""
    edges = [{"tick": tick + n % 7 * level, "channel": "0", "level": 1 - level} for n, tick in enumerate(ticks) for level in (0, 1)]
    return {"command": "capture", "edges": edges, **SHARED}


def alternating(count):
    """Starts whose periods are 40 ticks too long and too short in turn."""
    return [1000 + 48_000 * n + 40 * (n % 2) for n in range(count)]


def test_a_capture_has_the_periods_of_one_kind_of_edge():
    """Not the widths of its pulses."""
    series = plot.from_result(capture(alternating(60)))
    assert series.correlated == 59 and series.correlation == [(-1.0) ** k for k in range(1, 11)]
    assert plot.correlation_line(series).startswith("periods: autocorrelation -1.000 at lag 1, at most ±1.000 at lags 2 to 10, 59 periods")


@pytest.mark.parametrize("separator", [",", " "])
def test_rows_have_it_too(tmp_path, separator):
    rows, before = ["t_ns dt_ms channel value"], None
    for edge in capture(alternating(60))["edges"]:
        interval = "-" if before is None else f"{(edge['tick'] - before) / 48_000:.6f}"
        rows.append(f"0 {interval} {edge['channel']} {edge['level']}")
        before = edge["tick"]
    text = "\n".join(rows).replace(" ", separator)
    (tmp_path / "rows").write_text(f"# {text}\n" if separator == " " else f"{text}\n")
    series = plot.load(tmp_path / "rows")
    assert series.correlated == 59 and series.correlation == pytest.approx([(-1.0) ** k for k in range(1, 11)], abs=1e-3)


def test_a_train_has_its_own():
    """Of exact edges, 827586 and 6/29 ticks apart, which are rounded: never two long periods in a
    row, so -p / (1 - p) with p = 6/29. None where the period is a whole number of ticks."""
    series = plot.from_result(train(2000))
    assert series.correlated == 1999 and series.correlation[0] == pytest.approx(-6 / 23, abs=1e-3)
    assert plot.correlation_line(plot.from_result(train(50, Fraction(48_000)))) == "periods: all 49 equal"
    delays = {"command": "latency", "stimulus": "a", "response": "b", "histogram": [], **SHARED}
    assert plot.correlation_line(plot.from_result(delays)) is None


def test_bars_of_the_picture(drawn):
    axis = drawn(plot.from_result(capture(alternating(60)))).axes[-1]
    bars = [bar for bar in axis.patches if bar.get_width() == pytest.approx(0.4)]
    assert [round(bar.get_x() + 0.2) for bar in bars] == list(range(1, 11)) and [bar.get_height() for bar in bars] == [
        (-1.0) ** k for k in range(1, 11)
    ]
    assert axis.get_xlabel() == "lag [periods]" and axis.get_ylabel() == "autocorrelation"
    assert axis.get_legend().get_texts()[0].get_text().startswith("±0.260: 95 % of these")


def test_there_is_no_panel_where_all_periods_are_equal(drawn):
    assert len(drawn(plot.from_result(train(50, Fraction(48_000)))).axes) == 2


def test_the_command_prints_the_line(tmp_path, capsys, monkeypatch):
    from litepulse import cli

    monkeypatch.setenv("COLUMNS", "60")
    (tmp_path / "edges.json").write_text(json.dumps(capture(alternating(60))))
    assert cli.main(["plot", str(tmp_path / "edges.json")]) == 0
    lines = capsys.readouterr().out.splitlines()
    place = next(n for n, line in enumerate(lines) if line.startswith("periods: autocorrelation -1.000"))
    assert max(map(len, lines[place:])) <= 60
