# SPDX-License-Identifier: BSD-2-Clause
"""docs/recipes: each command that begins with `$ ` is run, and prints what the page shows; each program prints what it says."""

import re
import subprocess
import sys

import pytest

from sim.cocotb_rig import ROOT
from sim.house import reader

FOLDER = ROOT / "docs" / "recipes"
PAGES = sorted(path.stem for path in FOLDER.glob("*.md"))
RECIPES = [name for name in PAGES if name != "index"]
# Their programs are not run, and why.
NOT_RUN = {"python-can": "python-can, and a network device of the driver's"}
COMMAND = re.compile(r"(?m)^    \$ ((?:.*\\\n)*.*)\n((?:    (?!\$ ).*\n|\n(?=    (?!\$ )))*)")
PROGRAM = re.compile(r"(?ms)^```python\n(.*?)^```")


def text(name):
    """A page."""
    return (FOLDER / f"{name}.md").read_text(encoding="utf-8")


def commands(page):
    """[(command, [line that it prints, ...])] of a page."""
    return [(command, [line.strip() for line in shown.splitlines()]) for command, shown in COMMAND.findall(page)]


def expected(program):
    """What its `print(...)  # text` lines say that they print."""
    return re.findall(r"(?m)^\s*print\(.*\)  # (.*)$", program)


def comparable(command, lines):
    """Lines without what no two runs have in common: how many edges `certify` needs to have those that it was asked for."""
    if " certify " not in command:
        return lines
    return [re.sub(r"^(edges|delay) .*", lambda found: re.sub(r"\d{3,}", "N", found[0]), line) for line in lines]


def run(words, folder):
    """What is printed on both outputs, as lines; the status must be 0."""
    done = reader.run(words, folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout
    return done.stdout.splitlines()


@pytest.mark.seconds(10)
@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe(name, tmp_path):
    """In the order of the page, in one folder, which has the repository's sw/: a later part may use a file of an earlier one."""
    (tmp_path / "sw").symlink_to(ROOT / "sw")
    page = text(name)
    for command, shown in commands(page):
        printed = [line.strip() for line in run(command, tmp_path)]
        assert comparable(command, printed) == comparable(command, shown), command
    for program in PROGRAM.findall(page) if name not in NOT_RUN else ():
        assert run([sys.executable, "-c", program], tmp_path) == expected(program)


def test_every_recipe_is_run():
    assert set(NOT_RUN) < set(RECIPES)
    for name in set(RECIPES) - set(NOT_RUN):
        page = text(name)
        ran = [command for command, _ in commands(page) if command.startswith("litepulse --sim ")]
        programs = PROGRAM.findall(page)
        assert ran or programs, name
        assert all(expected(program) for program in programs), name
        assert all(shown for command, shown in commands(page) if "litepulse --sim" in command), name


def test_the_index_has_every_recipe():
    assert re.findall(r"\]\(([\w-]+)\.md\) \|$", text("index"), re.MULTILINE) == sorted(RECIPES, key=text("index").find)


def test_limits_that_are_repeated_are_those_of_the_page():
    """A figure of docs/limits.md that a recipe repeats."""
    limits = (ROOT / "docs" / "limits.md").read_text(encoding="utf-8")
    for name, figures in {
        "58hz": ("| 6.667 µs (150 kHz) |", "| 89.478 s |"),
        "edge-times": ("| a tick | 20.833 ns |", "| events that wait in the board | 256 |"),
        "rs485": ("| shortest delay after a byte | 145.833 ns |",),
        "lin-slave": ("| highest bit rate as a LIN slave | 750 kBd |",),
    }.items():
        for figure in figures:
            number = re.search(r"[\d.]+ [µn]?s\b|\d+(?= kBd)|\d+", figure)
            assert figure in limits and number and number[0] in text(name), (name, figure)
