# SPDX-License-Identifier: BSD-2-Clause
"""A run of the tests (sim/run.py, conftest.py): what it says, what it runs again, what it remembers, what a change asks for."""

import json
import os
import re
import subprocess

import pytest

from sim import groups, run
from sim.cocotb_rig import ROOT
from sim.groups import FULL_GROUPS, GROUPS, WITHOUT_QUICK

CASES = """
import os
from pathlib import Path

import pytest

def test_passes(): pass

def test_cannot(): pytest.skip("NOT TESTED: Linux 9.9: no mirror has it")

@pytest.mark.full
def test_long(): pass

@pytest.mark.wallclock
def test_alone(): assert "PYTEST_XDIST_WORKER" not in os.environ
"""
HANGS = 'import subprocess\ndef test_hangs(): subprocess.run(["sleep", "600"], check=True)\n'
FAILS = 'def test_fails(): assert 1 == 2, "as asked"\n'
UNSTEADY = """
from pathlib import Path

def test_unsteady():
    mark = Path(__file__).with_suffix(".mark")
    was_here = mark.exists()
    mark.touch()
    assert was_here
"""


@pytest.fixture
def tests(tmp_path, monkeypatch, capfd):
    """tests(text, *arguments, alone=False, **environment): (status, output) of a run of CASES and `text` in a tree of their own."""
    folder = tmp_path / "sim" / "house"
    folder.mkdir(parents=True)
    (folder / "test_made.py").write_text(CASES)
    build = tmp_path / "build"
    build.mkdir()
    monkeypatch.setattr(run, "ROOT", tmp_path)
    monkeypatch.setattr(run, "BUILD", build)
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "LITEPULSE_"))}
    plain |= {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'sw'}", "LITEPULSE_BUILD": str(build)}
    plain["PYTEST_ADDOPTS"] = f"-c {ROOT}/pyproject.toml --rootdir {tmp_path} -p conftest -p no:cacheprovider"

    def go(text="", *arguments, alone=False, **environment):
        (folder / "test_more.py").write_text(text)
        status = run.run([str(folder), *arguments], plain | environment, "2", alone)
        return status, capfd.readouterr().out

    return go


def test_a_failure_is_shown_at_once_and_fails_the_run(tests):
    status, output = tests(FAILS, "-m", "not full and not wallclock")
    assert status == 1 and "UNSTEADY" not in output
    shown = output.index("FAILED sim/house/test_more.py::test_fails, ")
    assert shown < output.index("AssertionError: as asked") < output.index("= FAILURES =")
    assert re.search(r"(?m)^house +1 passed, 1 failed, 1 skipped ", output)
    assert re.search(r"(?m)^=+ NOT TESTED =+\nLinux 9\.9: no mirror has it \(1 tests\)$", output)


def test_what_hangs_fails(tests, monkeypatch):
    monkeypatch.setattr(run, "HANGS", 2)
    status, output = tests(HANGS, "-m", "not full and not wallclock")
    assert status == 1 and "1 failed: each runs once more" in output
    assert output.count("FAILED sim/house/test_more.py::test_hangs, 2.") == 2 and "Failed: Timeout (>2.0s) from pytest-timeout." in output


def test_what_passes_alone_is_unsteady(tests):
    status, output = tests(UNSTEADY, "-m", "not full and not wallclock")
    assert status == 0
    assert output.endswith("UNSTEADY: failed among the others, passed alone; to be mended\n    sim/house/test_more.py::test_unsteady\n")
    assert "1 failed, 1 passed, 1 skipped" in output and re.search(r"(?m)^=+ 1 passed in ", output), "only what failed runs again"


def test_not_all_that_fails_runs_again(tests, monkeypatch):
    monkeypatch.setattr(run, "MOST_AGAIN", 1)
    status, output = tests(FAILS + FAILS.replace("test_fails", "test_too"), "-m", "not wallclock")
    assert status == 1 and "2 tests failed; none was run again" in output


def test_what_does_not_begin_fails_the_run(tests):
    status, output = tests("import nothing_of_this_name\n", "-m", "not wallclock")
    assert status not in (0, 5) and "No module named 'nothing_of_this_name'" in output


def test_the_wall_clock_is_watched_alone(tests):
    status, output = tests("", alone=True)
    assert status == 0 and "2 passed, 1 skipped" in output and re.search(r"(?m)^=+ 1 passed, 3 deselected", output)


def test_what_passed_is_remembered(tests, tmp_path):
    """At once, so that a run which is ended goes on; what failed or was skipped runs again."""
    memory = tmp_path / "memory"
    known = {"LITEPULSE_MEMORY": json.dumps({"house": str(memory)})}
    assert tests(FAILS, "-m", "not wallclock", **known)[0] == 1
    assert sorted(memory.read_text().splitlines()) == ["sim/house/test_made.py::test_long", "sim/house/test_made.py::test_passes"]
    status, output = tests(FAILS, "-m", "not wallclock", LITEPULSE_KNOWN=str(memory))
    assert status == 1 and "1 failed, 1 skipped" in output and "2 passed earlier with the same inputs" in output


def test_a_group_in_which_nothing_passed_fails_the_run(tests):
    status, output = tests("", "-k", "passes", LITEPULSE_TIER="test")
    failed = re.findall(r"(?m)^(\w+) +0 passed: a group without a passed test fails the whole run$", output)
    assert status == 1 and failed == [group for group in GROUPS if group not in ("house", *WITHOUT_QUICK)]


def test_tiers():
    assert set(WITHOUT_QUICK) <= set(FULL_GROUPS) <= set(GROUPS)


# What a change asks for -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, requested",
    [
        ("docs/core.md", ""),
        ("README.md", ""),
        (".github/workflows/test.yml", ""),
        ("hdl/litepulse_train.sv", "blocks bus phy core netlist formal soc? faults"),
        ("driver/litepulse_core.c", "driver pc?"),
        ("driver/uapi/linux/litepulse.h", "driver pc? tools"),
        ("sw/litepulse/train.py", "pc? tools"),
        ("sim/blocks/tb_events.py", "blocks"),
        ("Makefile", " ".join(f"{group}?" for group in GROUPS if group not in WITHOUT_QUICK)),
    ],
)
def test_a_path_selects_groups(name, requested):
    found = groups.groups_for([name])
    assert " ".join(group + ("" if whole else "?") for group, whole in found.items()) == requested


def test_the_stronger_wish_counts():
    assert groups.groups_for(["driver/x.c", "sim/pc/test_attach.py"])["pc"] and not groups.groups_for(["driver/x.c"])["pc"]


def test_every_path_of_the_map_exists():
    assert all(any(re.match(pattern, name) for name in groups.tree()) for pattern, _ in groups.CHANGED)
    assert all((ROOT / groups.folder_of(group)).is_dir() for group in GROUPS)


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A tree with one commit, in the place of this one."""
    files = {
        "hdl/a.sv": "module a; // one\n  assign x = 1;\nendmodule\n",
        "sw/b.py": "x = 1  # one\n",
        "driver/c.c": "int c; /* one */\n",
        "docs/d.md": "one\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(groups, "ROOT", tmp_path)
    groups.file_key.cache_clear()
    for command in (
        ["init", "-q", "-b", "main"],
        ["add", "-A"],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "one"],
    ):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    yield tmp_path
    groups.file_key.cache_clear()


def edit(path, old, new):
    path.write_text(path.read_text().replace(old, new))


def test_comments_are_no_change(repository):
    assert groups.changed_files("HEAD") == []
    for name in ("hdl/a.sv", "sw/b.py", "driver/c.c"):
        edit(repository / name, "one", "two")
    assert groups.changed_files("HEAD") == []
    edit(repository / "hdl/a.sv", "x = 1", "x = 2")
    edit(repository / "docs/d.md", "one", "two")
    (repository / "sw/new.py").write_text("")
    (repository / "driver/c.c").unlink()
    assert groups.changed_files("HEAD") == ["docs/d.md", "driver/c.c", "hdl/a.sv", "sw/new.py"]


def test_what_a_group_cannot_see():
    for group in GROUPS:
        seen = groups.inputs(group)
        assert f"{groups.folder_of(group)}/__init__.py" in seen or group == "tools"
        assert {"Makefile", "sim/run.py", "conftest.py", "requirements/test.txt"} <= set(seen)
    assert "hdl/litepulse.sv" in groups.inputs("linux") and "driver/litepulse_tty.c" in groups.inputs("linux")
    assert not [name for name in groups.inputs("formal") if name.startswith(("driver/", "docs/", "sw/", "sim/pc/"))]
    assert "docs/cli.md" in groups.inputs("tools") and "docs/cli.md" not in groups.inputs("pc")


def test_packages_of_a_group(monkeypatch):
    """A group forgets what passed when a package changes that its own tests use, or those that it imports from; no other does."""
    assert {"g++", "iverilog", "libpython3*"} <= groups.packages("blocks") and "ccache" not in groups.packages("blocks")
    assert not groups.packages("blocks") & {"chromium", "zsh", "debhelper", "gcc-or1k-elf"}
    assert "zsh" in groups.packages("tools") and "debhelper" in groups.packages("packages") and "gcc-or1k-elf" in groups.packages("linux")
    machines = {
        "before": ["g++ 12", "zsh 5.9", "vim 9"],
        "zsh": ["g++ 12", "zsh 6", "vim 9"],
        "vim": ["g++ 12", "zsh 5.9"],
        "g++": ["g++ 13", "zsh 5.9", "vim 9"],
    }
    keys = {}
    for name, have in machines.items():
        monkeypatch.setattr(groups, "installed", lambda have=have: have)
        keys[name] = {group: groups.machine(group) for group in ("blocks", "tools")}
    assert keys["before"] == keys["vim"]
    assert keys["before"]["blocks"] == keys["zsh"]["blocks"] and keys["before"]["tools"] != keys["zsh"]["tools"]
    assert all(keys["before"][group] != keys["g++"][group] for group in ("blocks", "tools"))


def test_groups_of_packages_exist():
    lines = [line.split() for line in (ROOT / "requirements" / "system.txt").read_text().splitlines() if line and not line.startswith("#")]
    named = {group for words in lines for group in words[3:4] for group in group.split(",")}
    assert named <= {*GROUPS, "-"} and all(len(words) <= 4 for words in lines)
