# SPDX-License-Identifier: BSD-2-Clause
"""Clocks against one another, on a board whose inputs get the pulses of crystals that are known exactly."""

import csv
import io
import json
import math
import random
from fractions import Fraction

import pytest

import litepulse
from litepulse import backends, cli, plot
from litepulse.backends.bus.backend import BusBackend
from litepulse.compare import compare
from litepulse.stability import allan, octaves, slope

from .code_readers import HZ
from .test_clock import Slow, connected

# NIST Special Publication 1065, 12.2 and 12.4: frequencies, and their overlapping Allan deviations.
NBS14 = (892, 809, 823, 798, 671, 644, 883, 903, 677)
RILEY = {1: 2.922319e-01, 10: 9.159953e-02, 100: 3.241343e-02}


def phase_of(frequencies):
    """The time error of a clock: one value more than there are frequencies."""
    found = [0.0]
    for each in frequencies:
        found.append(found[-1] + each)
    return found


def test_the_published_deviations():
    phase = phase_of(NBS14)
    assert round(allan(phase, 1, 1).deviation, 5) == 91.22945 and round(allan(phase, 1, 2).deviation, 5) == 85.95287
    number, frequencies = 1234567890, []
    for _ in range(1000):
        frequencies.append(number / 2147483647)
        number = 16807 * number % 2147483647
    for factor, wanted in RILEY.items():
        found = allan(phase_of(frequencies), 1, factor)
        assert f"{found.deviation:.6e}" == f"{wanted:.6e}" and found.terms == 1001 - 2 * factor


def test_what_is_not_known_is_left_out():
    phase = [0.0, 1.0, None, 3.0, 5.0, 6.0, 7.0]
    assert allan(phase, 1, 1).terms == 2 and allan(phase, 1, 1).deviation == pytest.approx(math.sqrt(1 / 4))
    assert allan([None] * 9, 1, 1) is None and allan([0.0, 1.0], 1, 1) is None
    assert [found.tau for found in octaves([0.0] * 16, 1)] == [1, 2, 4] and octaves([], 1) == []
    assert slope([None, 1.0, None, 5.0], 1) == 2 and slope([1.0, None], 1) is None


def pulses(channel, ticks, width=4800):
    """Of a pulse per second that begins at these ticks."""
    return [(tick + more, channel, level) for tick in ticks for more, level in ((0, 1), (width, 0))]


def compared(pins, clocks, **options):
    """(all that compare() gives, the job)."""
    device, board = connected()
    device.pins = sorted(pins)
    with board, compare(board, clocks, **options) as job:
        found = list(job)
    return found, job


def test_two_pulses_per_second():
    """By how many ns each edge is behind the other one, to the tick."""
    drawn = random.Random(4)
    first = [HZ + n * HZ for n in range(20)]
    second = [tick + 480 + 3 * n + drawn.randrange(-2, 3) for n, tick in enumerate(first)]
    found, job = compared([*pulses(0, first), *pulses(2, second)], ["pps:0", "pps:2"], count=18)
    assert [each.tick for each in found] == first[:18]
    assert [each.late for each in found] == [(Fraction(b - a) * 10**9 / HZ,) for a, b in zip(first, second)][:18]
    assert all(b.second == a.second + 1 for a, b in zip(found, found[1:])) and not any(each.jump for each in found)
    assert {each.uncertainty for each in found} == {(21,)} and job.clocks == ["pps:0", "pps:2"]
    phase = [(b - a) / HZ for a, b in zip(first, second)][:18]
    assert [(each.tau, each.terms) for each in job.deviations(1)] == [(1, 16), (2, 14), (4, 10)]
    assert job.deviations(1)[1].deviation == pytest.approx(allan(phase, 1, 2).deviation)
    assert job.fast(1) == pytest.approx(-slope(phase, 1))


def test_the_crystal_of_the_board():
    """It is 40 ppm fast: its seconds begin earlier and earlier."""
    ticks = [HZ + round(n * HZ * (1 + Fraction(40, 10**6))) for n in range(12)]
    found, job = compared(pulses(1, ticks), "pps:1", count=10)
    assert job.clocks == ["pps:1", "board"]
    assert [each.late[0] for each in found] == [Fraction(-1920 * n) * 10**9 / HZ for n in range(10)]
    assert job.fast(1) == pytest.approx(40e-6, rel=1e-9) and job.deviations(1)[0].deviation == 0


def test_utc_is_one_of_them():
    """The clock of a simulated board goes with its ticks."""
    ticks = [HZ + n * HZ for n in range(8)]
    found, _ = compared(pulses(0, ticks), ["utc", "board", "pps:0"], count=6)
    assert all(abs(each.late[0]) <= 21 for each in found)
    near = [[(tick - each.tick) * 10**9 / HZ for tick in ticks if abs(tick - each.tick) <= HZ / 2] for each in found]
    assert [each.late[1] for each in found] == [next(iter(each), None) for each in near] and sum(map(len, near)) >= 4


@pytest.mark.parametrize("clocks", [["utc", "pps:0"], ["pps:0", "utc"]])
def test_a_program_that_looks_late_loses_no_second(clocks):
    device, board = connected()
    device.pins = pulses(0, [HZ + n * HZ for n in range(20)])
    found = []
    with board, compare(board, clocks, count=12) as job:
        for each in job:
            found.append(each)
            if len(found) == 4:
                device.advance(4 * HZ)
    assert {b.second - a.second for a, b in zip(found, found[1:])} == {1} and not any(each.jump for each in found)
    assert all(each.late != (None,) for each in found[3:]) and job.jumps == 0 and found[0].tick > 0


def test_pulses_that_jump():
    """They come 0.3 s later from the 6th on, and are the new ones when three were there: the comparison begins again."""
    ticks = [HZ + n * HZ + (3 * HZ // 10 if n > 5 else 0) for n in range(14)]
    found, job = compared(pulses(0, ticks), "pps:0", count=10)
    assert [each.jump for each in found].count(True) == job.jumps == 1
    assert [each.tick for each in found] == ticks[:6] + ticks[9:13] and job.errors[0] == [-3 * HZ // 10] * 4


def test_missing_pulses():
    """Of the other clock: no value; of the first: no row, and the deviation knows of the gap."""
    first = [HZ + n * HZ for n in range(16) if n != 9]
    second = [HZ + n * HZ + 100 for n in range(16) if n != 4]
    found, job = compared([*pulses(0, first), *pulses(1, second)], ["pps:0", "pps:1"], count=13)
    begun = found[0].second
    assert [each.second - begun for each in found] == [n for n in range(14) if n != 9]
    assert [each.second - begun for each in found if each.late == (None,)] == [4] and job.jumps == 0
    assert [n for n, error in enumerate(job.errors[0]) if error is None] == [4, 9]


def test_lost_records_are_reported():
    device, board = connected()
    edges = [HZ + n * HZ // 400 for n in range(8000)]
    device.pins = sorted([*pulses(0, [HZ + n * HZ for n in range(40)]), *pulses(1, edges, 2400)])
    with board, compare(board, ["pps:0", "pps:1"], duration="20s") as job:
        device.advance(30 * HZ)  # the program does not look
        found = list(job)
    assert any(isinstance(each, litepulse.LostEvent) for each in found) and job.lost


@pytest.mark.parametrize(
    "clocks, message",
    [
        ([], "give names of clocks"),
        ("board", "the first is the one with which the others are compared"),
        (["pps:0", "pps:0"], "one is there twice"),
        (["gps"], "is not utc, or pps:0"),
        (["pps:9"], "inputs"),
        (["utc", 3], "is not text"),
    ],
)
def test_clocks_that_are_none(clocks, message):
    _, board = connected()
    with board, pytest.raises(litepulse.BadInput, match=message):
        compare(board, clocks)


# The command


class Two(Slow):
    """A board with a pulse per second at two inputs, the second 1000 ticks later, then 2 ticks more every second."""

    def __init__(self):
        super().__init__()
        self.pins = sorted(
            [*pulses(0, [HZ + n * HZ for n in range(100)]), *pulses(1, [HZ + n * HZ + 1000 + 2 * n + n % 2 for n in range(100)])]
        )


@pytest.fixture
def at_the_command(monkeypatch):
    device = Two()
    backend = BusBackend(device, "uartbone", "fake", True, [], device.pause)
    monkeypatch.setattr(backends, "connect", lambda *_arguments, **_options: backend)


ARGUMENTS = ["clock", "compare", "pps:0", "pps:1", "--count", "20"]


def test_the_command(at_the_command, capsys):
    assert cli.main([*ARGUMENTS, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["command"] == "clock compare" and result["clocks"] == ["pps:0", "pps:1"] and result["count"] == 20
    assert [row["late_ns"] for row in result["seconds"][:2]] == [["20833.333"], ["20895.833"]]
    (pair,) = result["compared"]
    assert pair["clock"] == "pps:1" and pair["missing"] == 0 and float(pair["ppm"]) == pytest.approx(-2 / 48, rel=0.01)
    assert [each["tau_s"] for each in pair["allan_deviation"]] == [1, 2, 4]
    series = plot.from_result(result)
    assert [curve[0] for curve in series.curves] == ["pps:1"] and series.curves[0][1] == [1, 2, 4]


def test_rows_of_the_command(at_the_command, capsys):
    assert cli.main([*ARGUMENTS, "--csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["late_ns"] for row in rows[:3]] == ["20833.333", "20895.833", "20916.667"] and {row["clock"] for row in rows} == {"pps:1"}


def test_text_of_the_command(at_the_command, capsys):
    assert cli.main(ARGUMENTS) == 0
    out = capsys.readouterr().out
    assert "pps:1 - pps:0" in out and "Allan deviation" in out and "ppm slow" in out


def test_a_picture(at_the_command, capsys, tmp_path):
    pytest.importorskip("matplotlib")
    cli.main([*ARGUMENTS, "--json"])
    result = tmp_path / "compared.json"
    result.write_text(capsys.readouterr().out)
    assert cli.main(["plot", str(result), "-o", str(tmp_path / "compared.png")]) == 0
    assert (tmp_path / "compared.png").stat().st_size > 10_000 and "Allan deviation" in capsys.readouterr().out
    assert cli.main(["plot", str(result)]) == 0
    assert "pps:1" in capsys.readouterr().out


def test_a_clock_that_does_not_come(at_the_command, capsys):
    assert cli.main(["clock", "compare", "pps:3", "--for", "3s"]) == 1
    assert "no second of pps:3" in capsys.readouterr().out
