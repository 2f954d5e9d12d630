# SPDX-License-Identifier: BSD-2-Clause
"""The guests' programs have the cases that the tests name, and no others: read from the sources of both, nothing is run."""

import ast
import re
import subprocess

import pytest

from sim.cocotb_rig import SIM, run_folder
from sim.driver.echo_rig import USE
from sim.guest.cable_programs import GUEST, compiled
from sim.guest.cases import Texts, cases, known

HERE = SIM / "driver"
SOURCES = {"use": USE, **{name: [GUEST / "cable" / f"{name}.c"] for name in ("cable", "watch", "fail", "fuzz", "clock")}}
RIGS = ("cable_rig.py", "echo_rig.py", "kcsan.py", "test_cases.py")
ELSEWHERE = {("fuzz", "pull")}  # an adapter can only be pulled out of the simulated PC


def named_by(path):
    """{(program, case)} that a Python source has run: as `run /PROGRAM CASE`, or as a use of cable_boot() or cable_jobs()."""
    texts = Texts(path)
    found = {pair for text in texts.all() for pair in re.findall(r"run /(\w+) ([\w?-]+)", text)}
    for call, uses in [*texts.arguments("cable_boot"), *texts.arguments("cable_jobs")]:
        names = [word.value.value for word in call.keywords if word.arg == "name" and isinstance(word.value, ast.Constant)]
        for use in uses:
            words = use.split() if use.startswith("/") else [f"/{names[0] if names else 'cable'}", *use.split()]
            found.add((words[0][1:], words[1]))
    return {(program, case) for program, case in known(found) if program in SOURCES}


NAMED = set().union(*(named_by(path) for path in sorted(HERE.glob("*.py")) if path.name not in RIGS))


@pytest.mark.quick
@pytest.mark.parametrize("program", SOURCES)
def test_each_case_is_used_and_there(program):
    """Each case is used by a test, and no test names a missing case."""
    there = {(program, case) for case in cases(*SOURCES[program])}
    named = {pair for pair in NAMED | ELSEWHERE if pair[0] == program}
    assert there and there - named == set() and named - there == set()


@pytest.mark.quick
@pytest.mark.parametrize(
    "text, named",
    [
        ('works("run /use all")', {("use", "all")}),
        ('works("run /use", "run /fail use litepulse")', {("fail", "use")}),
        ('def a(what):\n    works(f"run /use {what}")\na("wild"); a("lost")', {("use", "wild"), ("use", "lost")}),
        ('cable_boot(["use", "storm 40"], [board])', {("cable", "use"), ("cable", "storm")}),
        (
            'def a():\n    uses = ["/fail attach /dev/ttyS0", "keep"]\n    kcsan.cable_boot(uses, board)',
            {("fail", "attach"), ("cable", "keep")},
        ),
        ('cable_boot([f"run {seed} 1"], [board], name="fuzz")', {("fuzz", "run")}),
    ],
)
def test_what_a_source_names(text, named, monkeypatch, tmp_path):
    """Control: words are found wherever tests have them."""
    monkeypatch.setattr("sim.guest.cases.ROOT", tmp_path)
    path = tmp_path / "source.py"
    path.write_text(text)
    assert named_by(path) == named


@pytest.mark.quick
def test_a_program_prints_its_cases():
    """All of its tables, each with what it does."""
    done = subprocess.run([compiled(run_folder("cases") / "use", *USE)], capture_output=True, text=True, check=False)
    printed = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    assert done.returncode == 2 and set(printed) == cases(*USE) and all(printed.values())
