# SPDX-License-Identifier: BSD-2-Clause
"""`python -m lab.experiments`: results are kept at once and used again, failures are reported, bad words are one error."""

import json
import re
import subprocess

import pytest

from lab.experiments import __main__ as runner
from lab.experiments import results as kept
from lab.experiments.experiment import RTL, Chart, Experiment, ExperimentError, Series, Step, by_rank, spread
from sim.cocotb_rig import ROOT
from sim.linux import linux_rig


@pytest.fixture
def one(tmp_path, monkeypatch):
    """An experiment of three steps, of which `bad` fails while `fails` is true; its folder; and how often each step ran."""
    monkeypatch.setenv("LITEPULSE_BUILD", str(tmp_path))
    ran, fails = [], [True]

    def step(name, seconds):
        def run():
            ran.append(name)
            if name == "bad" and fails[0]:
                raise ExperimentError("the pin has other edges\nand more")
            return {"value": seconds}

        return Step(name, f"measures {name}", seconds, run)

    experiment = Experiment(
        "p9",
        "a title",
        "a question?",
        "published",
        lambda long: [step("short", 1), step("bad", 2), step("longest", 100 if long else 50)],
        lambda found: [f"{name}: {figures['value']}" for name, figures in sorted(found.items())],
        lambda found: (
            [Chart("p9-chart", "a chart", "x", "y", [Series("s", [1], [found["short"]["value"]], RTL)])] if "short" in found else []
        ),
    )
    monkeypatch.setattr(runner, "EXPERIMENTS", (experiment,))
    return ran, fails, tmp_path / "experiments"


def test_a_run(one, capsys):
    ran, _, folder = one
    assert runner.main(["--jobs", "1"]) == 1
    out, err = capsys.readouterr()
    assert ran == ["longest", "bad", "short"]  # the longest first
    assert re.search(r"3 of 3: p9 measures short: \d s; all done", out) and "2 of 3: p9 measures bad: ExperimentError" in out
    assert (
        "not measured: bad: ExperimentError: the pin has other edges ... and more" in out
        and err == "experiments: 1 of 3 could not be measured\n"
    )
    assert (folder / "experiments.html").read_text().count("the pin has other edges ... and more") == 1
    assert (folder / "p9-chart.png").read_bytes().startswith(b"\x89PNG") and (folder / "p9-chart-dark.png").exists()


def test_it_goes_on_where_it_was(one, capsys):
    """Only what failed runs again; other sources, the other variant and --fresh run all."""
    ran, fails, _ = one
    runner.main([])
    ran.clear()
    fails[0] = False
    assert runner.main([]) == 0 and ran == ["bad"]
    assert runner.main([]) == 0 and ran == ["bad"]
    assert "0 of 3 to measure" in capsys.readouterr().out
    assert runner.main(["--long"]) == 0 and len(ran) == 4
    assert runner.main(["--long", "--fresh"]) == 0 and len(ran) == 7


def test_what_was_measured_elsewhere_stays(one, tmp_path, monkeypatch):
    """The page keeps an experiment that this folder never measured or has older results of; newer ones replace the page's."""
    _, fails, folder = one
    page = tmp_path / "experiments.json"
    monkeypatch.setattr(runner, "KEPT", page)
    monkeypatch.setattr(runner, "DOCUMENT", tmp_path / "docs" / "experiments.md")
    fails[0] = False

    def step(date, value):
        return {"short": {"figures": {"value": value}, "seconds": 1, "date": date, "sources": "x", "key": "k", "long": False}}

    there = {"p8": step("2026-01-01 00:00 UTC", 1), "p9": step("2026-01-01 00:00 UTC", 2)}
    page.write_text(json.dumps({"format": kept.FORMAT, "experiments": there}))
    assert runner.main(["--write"]) == 0
    now = json.loads(page.read_text())["experiments"]
    assert now["p8"] == there["p8"] and now["p9"]["short"]["figures"] == {"value": 1} and now["p9"]["longest"]
    later = {"p9": step("2999-01-01 00:00 UTC", 3)}
    page.write_text(json.dumps({"format": kept.FORMAT, "experiments": later}))
    assert runner.main(["--page", "--write"]) == 0
    assert json.loads(page.read_text())["experiments"]["p9"] == later["p9"]
    assert "short: 3" in (tmp_path / "docs" / "experiments.md").read_text()


def test_other_sources_measure_again(one, monkeypatch):
    ran, fails, _ = one
    fails[0] = False
    runner.main([])
    monkeypatch.setattr(kept, "key", lambda: "other")
    runner.main([])
    assert len(ran) == 6


def test_each_result_is_kept_at_once(one, monkeypatch):
    """What is killed in the middle has lost nothing that was measured."""
    ran, fails, folder = one
    fails[0] = False
    at_each = []
    put = kept.Results.put

    def look(self, *args, **options):
        put(self, *args, **options)
        at_each.append(set(json.loads((folder / "results.json").read_text())["experiments"]["p9"]))

    monkeypatch.setattr(kept.Results, "put", look)
    runner.main(["--jobs", "1"])
    assert at_each == [{"longest"}, {"longest", "bad"}, {"longest", "bad", "short"}]


def test_ranks_and_shares():
    values = [5, 1, 3, 3]
    assert [by_rank(values, percent) for percent in (1, 25, 50, 75, 76, 100)] == [1, 1, 3, 3, 5, 5]
    one = spread("a", values, RTL, True, least=2)
    assert (one.x, one.y, one.labels) == ([2, 3, 5], [0, 50, 100], ["least 1.00 s", "median 3.00 s", "most 5.00 s"])
    assert spread("a", range(1, 101), RTL, True).x == [1, 50, 99, 100]


def test_the_command_of_the_figures(one):
    """The page names the variant that was measured."""
    _, fails, folder = one
    fails[0] = False
    for words, command in (([], "p9"), (["--long"], "p9 --long")):
        assert runner.main(words) == 0
        assert f"python -m lab.experiments {command}</code>:" in (folder / "experiments.html").read_text()


@pytest.mark.parametrize("path", sorted((ROOT / "lab" / "experiments" / "guest").glob("*.c")), ids=lambda path: path.name)
def test_programs_of_the_guest_call_what_there_is(path):
    """Their real compilation is a part of a measurement, which no test runs."""
    folders = [f"-I{folder}" for folder in linux_rig.INCLUDES]
    command = ["gcc", "-fsyntax-only", "-D_GNU_SOURCE", "-Wall", "-Werror", *folders, path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
