# SPDX-License-Identifier: BSD-2-Clause
"""A run tells what it does: failures with their message at once, groups as they end, the time left; tiers and their groups."""

import os
import re
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from litex_soc.build_cache import say
from sim.cocotb_rig import ROOT
from sim.conftest import GROUPS, WITHOUT_QUICK, group_of, place
from sim.progress import MESSAGE_LINES, QUIET_SECONDS, Progress, clock, first_lines, seconds_left


class Run:
    """A Progress with a clock of its own; what it wrote is in `lines`."""

    def __init__(self, expected=10, messages=None, workers=2):
        self.time, self.lines = 0.0, []
        self.progress = Progress(
            lambda text, **markup: self.lines.append(text), group_of, lambda nodeid: expected, messages, workers, lambda: self.time
        )

    def test(self, nodeid, seconds=10.0, outcome="passed", text=""):
        """A test begins, lasts and ends."""
        self.progress.started(nodeid)
        self.time += seconds
        report = SimpleNamespace(nodeid=nodeid, when="call", duration=seconds, longreprtext=text)
        for name in ("passed", "failed", "skipped"):
            setattr(report, name, name == outcome)
        self.progress.reported(report)
        self.progress.finished(nodeid)


TESTS = ["sim/blocks/test_a.py::test_1", "sim/blocks/test_a.py::test_2", "sw/tests/test_b.py::test_3"]


@pytest.mark.parametrize("seconds, text", [(0, "0:00"), (59.9, "0:59"), (62, "1:02"), (3723, "1:02:03")])
def test_clock(seconds, text):
    assert clock(seconds) == text


def test_groups_are_told_as_they_end():
    run = Run()
    run.progress.collected(TESTS)
    assert run.lines == ["[0:00] 3 tests in 2 groups, 2 at a time, about 0:15"]
    run.test(TESTS[0])
    assert len(run.lines) == 1
    run.test(TESTS[2], outcome="skipped")
    assert run.lines[1] == "[0:20, about 0:05 left] tools: 1 skipped"
    run.test(TESTS[1])
    assert run.lines[2:] == ["[0:30] blocks: 2 passed"]


def test_a_failure_is_told_at_once():
    run = Run()
    run.progress.collected(TESTS)
    text = "def test_1():\n>       assert 1 == 2\nE       assert 1 == 2\n\ntest_a.py:3: AssertionError"
    run.test(TESTS[0], 1.25, "failed", text)
    assert run.lines[1:] == [f"[0:01, about 0:14 left] FAILED {TESTS[0]}, 1.2 s", "    assert 1 == 2"]
    run.test(TESTS[1])
    assert run.lines[-1].endswith("blocks: 1 passed, 1 failed")


def test_a_long_message_is_cut():
    report = SimpleNamespace(longreprtext="\n".join(f"E    line {number}" for number in range(100)))
    lines = first_lines(report)
    assert lines[:2] == ["line 0", "line 1"] and len(lines) == MESSAGE_LINES + 1
    assert lines[-1] == f"... {100 - MESSAGE_LINES} lines more at the end of the run"
    assert first_lines(SimpleNamespace(longreprtext="no mark\n\nat all")) == ["no mark", "at all"]


def test_time_left():
    """As expected at first; then by how long tests really take; what runs counts less the longer it runs."""
    assert seconds_left(100, 0, 0, 2) == 50
    assert seconds_left(100, 600, 1200, 1) == pytest.approx(100 * 1500 / 900)
    assert seconds_left(100, 10**6, 1, 1) == 20 and seconds_left(100, 1, 10**6, 1) == 300
    # Of much work to come a little that took long says little.
    assert seconds_left(8000, 10, 600, 2) == pytest.approx(4000 * 4600 / 4010)
    run = Run()
    run.progress.collected(TESTS)
    run.test(TESTS[0])
    run.progress.started(TESTS[1])
    assert run.progress.left() == ", about 0:10 left"
    run.time += 6
    assert run.progress.left() == ", about 0:07 left"


def test_a_sign_of_life():
    run = Run()
    run.progress.collected(TESTS)
    run.test(TESTS[0], outcome="failed", text="E   no")
    run.progress.started(TESTS[1])
    run.progress.look()
    before = len(run.lines)
    run.time += QUIET_SECONDS
    run.progress.look()
    run.progress.look()
    assert len(run.lines) == before + 1
    assert re.fullmatch(rf"\[0:40, about \S+ left\] 2 tests to go, 1 failed; running: {re.escape(TESTS[1])} for 0:30", run.lines[-1])


def test_what_others_say_is_passed_on(tmp_path, monkeypatch, capsys):
    """Whole lines, once; a build or a download in another process says what it does."""
    monkeypatch.setenv("LITEPULSE_MESSAGES", str(tmp_path / "messages"))
    run = Run(messages=tmp_path / "messages")
    run.progress.look()
    say("downloading a kernel: 153 MB")
    with open(tmp_path / "messages", "a") as file:
        file.write("half a")
    run.progress.look()
    run.progress.look()
    assert run.lines == ["[0:00] downloading a kernel: 153 MB"] and capsys.readouterr().err == "downloading a kernel: 153 MB\n"
    with open(tmp_path / "messages", "a") as file:
        file.write(" line, größer\n")
    run.progress.look()
    assert run.lines[1:] == ["[0:00] half a line, größer"]


CASES = """
import pytest

def test_passes(): pass

def test_fails(): assert 1 == 2, "as asked"

def test_cannot(): pytest.skip("NOT TESTED: Linux 9.9: no mirror has it")

@pytest.mark.full
def test_long(): pass

@pytest.mark.late
@pytest.mark.seconds(60)
def test_late(): pass
"""


def outside_of_this_run():
    """The environment without what this run was told."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "LITEPULSE_"))}


@pytest.fixture
def pytest_run(tmp_path):
    """pytest_run(*arguments, **environment): (status, output) of pytest with CASES in a tree of its own, two workers."""
    folder = tmp_path / "sim" / "house"
    folder.mkdir(parents=True)
    (folder / "test_made.py").write_text(CASES)

    def run(*arguments, **environment):
        env = outside_of_this_run()
        env |= {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'sw'}", "LITEPULSE_BUILD": str(tmp_path)} | environment
        options = [
            "-c",
            str(ROOT / "pyproject.toml"),
            "--rootdir",
            str(tmp_path),
            "-p",
            "sim.conftest",
            "-p",
            "no:cacheprovider",
            "-n",
            "2",
        ]
        command = [sys.executable, "-m", "pytest", *options, f"--junitxml={tmp_path}/tests.xml", str(folder), *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    return run


def test_a_run(pytest_run):
    status, output = pytest_run("-m", "not full")
    lines = output.splitlines()
    failed = next(number for number, line in enumerate(lines) if "] FAILED sim/house/test_made.py::test_fails, " in line)
    assert status == 1 and "as asked" in lines[failed + 1]
    assert failed < next(number for number, line in enumerate(lines) if line.startswith("=") and "FAILURES" in line)
    assert re.search(r"\] house: 2 passed, 1 failed, 1 skipped$", output, re.M)
    assert re.search(r"=+ NOT TESTED =+\nLinux 9\.9: no mirror has it \(1 tests\)\n", output)
    assert "1 failed, 2 passed, 1 skipped" in lines[-1]
    assert "3 passed" in pytest_run()[1].splitlines()[-1], "without -m the marked one runs, too"


@pytest.mark.parametrize("tier, without", [("test", WITHOUT_QUICK), ("all", ())])
def test_a_group_in_which_nothing_passed_fails_the_run(pytest_run, tier, without):
    status, output = pytest_run("-k", "passes", LITEPULSE_TIER=tier)
    told = re.findall(r"^(\w+) +0 passed: a group without a passed test fails the whole run$", output, re.M)
    assert status == 1 and told == [group for group in GROUPS if group not in ("house", *without)]
    assert pytest_run("-k", "passes")[0] == 0


def test_a_limited_run(pytest_run):
    """What did not begin in time is listed and does not fail the run, nor does its group; what began is judged."""
    limits = {"LITEPULSE_TIER": "all", "LITEPULSE_MINUTES": "30"}
    status, output = pytest_run(**limits, LITEPULSE_BEGAN=str(time.time() - 31 * 60))
    assert re.search(r"=+ NOT TESTED =+\nthe run had no time left of its 30 minutes \(MINUTES\) \(5 tests\)\n", output)
    assert "5 skipped" in output.splitlines()[-1] and not re.search("^house +0 passed: a group", output, re.M)
    assert status == 1 and re.search("^core +0 passed: a group", output, re.M), "groups that have no tests are no matter of time"
    output = pytest_run(**limits, LITEPULSE_BEGAN=str(time.time() - 29 * 60))[1]
    assert "1 failed, 2 passed, 2 skipped" in output.splitlines()[-1], "a late one needs twice the time that it takes"
    assert re.search(r"minutes \(MINUTES\) \(1 tests\)\n", output)
    output = pytest_run(**limits, LITEPULSE_BEGAN=str(time.time() - 27 * 60))[1]
    assert "1 failed, 3 passed, 1 skipped" in output.splitlines()[-1]


def test_a_limit_holds_for_the_tests_outside_of_sim(tmp_path):
    """pytest asks the hooks of a conftest.py about the tests below its folder only."""
    env = outside_of_this_run()
    env |= {"LITEPULSE_MINUTES": "1", "LITEPULSE_BEGAN": "0", "LITEPULSE_NESTED": "1"}
    tests = ["sw/tests/test_units.py", "sim/house/test_progress.py::test_clock"]  # of both trees, as in a whole run
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={tmp_path}/tests.xml", *tests]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and re.match(r"\d+ skipped in", done.stdout.splitlines()[-1]), done.stdout


@pytest.mark.parametrize("minutes, order", [("", "bdca"), ("30", "cabd")])
def test_order(monkeypatch, minutes, order):
    """Long tests first; in a limited run the short ones before them, and the late ones last."""
    seconds = {"a": 0.1, "b": 600, "c": 4, "d": 100}
    marked = {"d": "late"}
    items = [
        SimpleNamespace(nodeid=f"sim/core/test_x.py::{name}", get_closest_marker=lambda mark, name=name: marked.get(name) == mark or None)
        for name in seconds
    ]
    monkeypatch.setenv("LITEPULSE_MINUTES", minutes)
    known = {item.nodeid: seconds[item.nodeid[-1]] for item in items}
    assert "".join(item.nodeid[-1] for item in sorted(items, key=lambda item: place(item, known))) == order
