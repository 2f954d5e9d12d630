# SPDX-License-Identifier: BSD-2-Clause
"""docs/develop/test-map.md names tests and proofs that exist: who renames one finds out here. docs/develop/testing.md lists every group.
Figures were measured on sources that the repository has.
"""

import ast
import re
import subprocess
from fnmatch import fnmatchcase

import pytest

from sim.cocotb_rig import ROOT
from sim.groups import GROUPS, folder_of

TEXT = (ROOT / "docs" / "develop" / "test-map.md").read_text()
KUNIT = ROOT / "driver" / "litepulse_test.c"
# `test_x` is a case of sim/core; `file::name` a test of a file or, with `kunit`, a KUnit case. `*` stands for any rest.
NAME = re.compile(r"`(?:(\w+)::)?([\w*]+)`")


def functions(path):
    """Names of the functions of a Python file that pytest or cocotb runs."""
    return {
        node.name
        for node in ast.parse(path.read_text()).body
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and (node.name.startswith("test_") or node.decorator_list)
    }


def driver_files():
    """{name: path} of the files with tests of the driver."""
    folders = [ROOT / folder_of(group) for group in ("driver", "linux_soc", "linux", "pc", "experiments")]
    paths = [path for folder in folders for path in folder.glob("test_*.py")]
    assert len({path.stem for path in paths}) == len(paths), "two files of one name: a reference to one would be a reference to both"
    return {path.stem: path for path in paths}


def rows(section):
    """[[cell, ...], ...] of the table below a heading; without header and rule."""
    text = TEXT.split(f"\n{section}\n", 1)[1].split("\n#", 1)[0]
    found = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    assert len(found) > 2 and set("".join(found[1])) <= set("-")
    return found[2:]


def missing(cell, tests):
    """Names in a cell that are those of no test. `tests`: {file: {name, ...}}, "" for the file of names without any."""
    return [
        f"{file}::{name}" if file else name
        for file, name in NAME.findall(cell)
        if not any(fnmatchcase(test, name) for test in tests.get(file, ()))
    ]


@pytest.fixture(scope="module")
def tests():
    found = {name: functions(path) for name, path in driver_files().items()}
    found["kunit"] = set(re.findall(r"KUNIT_CASE\((\w+)\)", KUNIT.read_text()))
    found |= {path.stem: functions(path) for path in (ROOT / "sim" / "blocks").glob("tb_*.py")}
    found |= {name: functions(ROOT / "sim" / "netlist" / f"{name}.py") for name in ("test_bitstream", "test_delays")}
    found[""] = {name for path in (ROOT / "sim" / "core").glob("tb_*.py") for name in functions(path)}
    return found


def test_the_core(tests):
    proofs = {path.stem for path in (ROOT / "sim" / "formal").glob("*.sby")}
    table = rows("# What is promised, and where it is shown")
    assert len(table) >= 30
    for _, sentence, cases, formal in table:
        assert NAME.search(cases) and not missing(cases, tests), (sentence, missing(cases, tests))
        assert not missing(formal, {"": proofs}), sentence
        assert all((ROOT / path).is_file() for path in re.findall(r"`(sim/[\w/]+\.py)`", cases + formal)), sentence


def test_the_driver(tests):
    table = rows("## The driver")
    assert len(table) > 50
    for _, sentence, cases in table:
        found = NAME.findall(cases)
        assert found and all(file for file, _ in found), sentence
        assert not missing(cases, tests), (sentence, missing(cases, tests))


def test_packages_and_pictures():
    files = [path for folder in ("sim/packages", "sim/house", "sw/tests", "lab/experiments") for path in (ROOT / folder).glob("test_*.py")]
    tests = {path.stem: functions(path) for path in files}
    for _, sentence, cases in rows("## Packages and pictures"):
        assert NAME.findall(cases) and not missing(cases, tests), (sentence, missing(cases, tests))


@pytest.mark.parametrize(
    "cell, wrong",
    [
        ("`test_a::test_x`, `kunit::good`", []),
        ("`test_a::test_y`", ["test_a::test_y"]),
        ("`test_b::test_x`", ["test_b::test_x"]),
        ("`kunit::goo`", ["kunit::goo"]),
        ("`test_a::test_*`", []),
        ("`test_a::test_z*`", ["test_a::test_z*"]),
        ("`test_core`", []),
        ("`test_x`", ["test_x"]),
    ],
)
def test_a_wrong_name_is_noticed(cell, wrong):
    assert missing(cell, {"": {"test_core"}, "test_a": {"test_x"}, "kunit": {"good"}}) == wrong


def test_groups_are_listed():
    text = (ROOT / "docs" / "develop" / "testing.md").read_text()
    assert re.findall(r"(?m)^\| (\w+) \| `([\w/]+)/`", text) == [(group, folder_of(group)) for group in GROUPS]


def git(*words):
    """What git says, and whether it could."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip(), done.returncode == 0


def not_in_history(text):
    """Commits that a page's figures were measured on, and that are no ancestors of this one; and those measured on something else."""
    measured = re.findall(r"\bsources ([0-9a-f]{7,40})(?: with uncommitted changes)?\b", text)
    changed = re.findall(r"\bsources [0-9a-f]{7,40} with uncommitted changes", text)
    return changed + [commit for commit in measured if not git("merge-base", "--is-ancestor", commit, "HEAD")[1]]


def test_figures_are_of_commits_that_exist():
    """So that everybody can measure them again. A copy without history knows none."""
    if git("rev-parse", "--is-shallow-repository") != ("false", True):
        pytest.skip("no repository with its history")
    pages = sorted((ROOT / "docs").rglob("*.md"))
    assert {str(path.relative_to(ROOT)): wrong for path in pages if (wrong := not_in_history(path.read_text()))} == {}
    assert not_in_history(f"sources {git('rev-parse', 'HEAD')[0][:8]}, and more") == []
    assert not_in_history("sources 0000000; and sources 1111111 with uncommitted changes") == [
        "sources 1111111 with uncommitted changes",
        "0000000",
        "1111111",
    ]
