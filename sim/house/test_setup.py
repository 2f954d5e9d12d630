# SPDX-License-Identifier: BSD-2-Clause
"""What `make setup` promises: it says what is missing, does nothing when nothing is, and the tools work where the tree may lie."""

import ast
import contextlib
import importlib.metadata
import importlib.util
import os
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import pytest

from scripts import lock
from sim.cocotb_rig import ROOT, tool_environment

# What a minimal Debian has; no compiler, no Python but the one given.
BASICS = (
    "sh dirname cat cksum printf tr grep sed uname id mkdir rm cp ls getent cut tail head test env make perl git sudo apt-get sleep awk"
).split()


def copy_of_tree(place):
    """The parts of the tree that set-up reads."""
    for name in ("scripts", "requirements"):
        shutil.copytree(ROOT / name, place / name)
    for name in ("pyproject.toml", "Makefile"):
        shutil.copy(ROOT / name, place / name)
    return place


def fake_system(folder, without=(), **scripts):
    """A PATH with the basics; `scripts` are programs of one's own."""
    folder.mkdir()
    for name in BASICS:
        real = shutil.which(name)
        # a stand-in must be a file of its own: written through a link it would overwrite the machine's program
        if real and name.replace("-", "_") not in scripts and name not in without:
            (folder / name).symlink_to(real)
    (folder / "python3").symlink_to(Path(sys.executable).resolve())
    for name, text in scripts.items():
        assert not (folder / name.replace("_", "-")).is_symlink()
        (folder / name.replace("_", "-")).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name.replace("_", "-")).chmod(0o755)
    return {"PATH": str(folder), "HOME": str(folder)}


def set_up(tree, need, env):
    return subprocess.run(
        ["/bin/sh", str(tree / "scripts" / "setup.sh"), need],
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_missing_packages_are_reported_to_a_user(tmp_path):
    tree = copy_of_tree(tmp_path / "tree")
    env = fake_system(tmp_path / "bin", id="echo 1000", apt_get="echo no; exit 9", sudo="echo no; exit 9")
    result = set_up(tree, "demo", env)
    assert result.returncode == 1 and not (tree / ".venv").exists()
    assert "missing: g++" in result.stderr and "apt-get install" in result.stderr and len(result.stderr.splitlines()) == 1
    # The perl of a minimal Debian lacks modules.
    env = fake_system(tmp_path / "perl-base", id="echo 1000", perl='case "$*" in *FindBin*) exit 2;; esac')
    assert " perl" in set_up(tree, "demo", env).stderr and " perl" not in result.stderr
    env = fake_system(tmp_path / "again", id="echo 1000")
    # The demo needs no simulator for tests, the tests do.
    assert "iverilog" not in result.stderr and "iverilog" in set_up(tree, "test", env).stderr


# An apt that logs its calls, offers two archives of 1.5 MB together, and installs nothing.
APT = """echo "$@" >>"{log}"
case "$*" in *--print-uris*) {offer};; esac"""
OFFER = "printf \"'%s' name.deb %s SHA256:0\\n\" a 500000 b 1000000"


def test_root_installs_what_is_missing(tmp_path):
    tree = copy_of_tree(tmp_path / "tree")
    log = tmp_path / "apt.log"
    env = fake_system(tmp_path / "bin", id="echo 0", apt_get=APT.format(log=log, offer=OFFER))
    result = set_up(tree, "demo", env)
    assert result.returncode == 1 and re.fullmatch(r"setup: still missing after the installation: g\+\+.*\n", result.stderr)
    assert "installing system packages (to download: 2 packages, 1.5 MB): g++" in result.stdout
    calls = log.read_text().splitlines()
    assert len(calls) == 2 and re.fullmatch(r"-o \S+ install -y --no-install-recommends .*g\+\+.*", calls[1])


def test_root_without_package_lists(tmp_path):
    tree = copy_of_tree(tmp_path / "tree")
    log = tmp_path / "apt.log"
    offer = f'grep -q update "{log}" && {OFFER}'
    result = set_up(tree, "demo", fake_system(tmp_path / "bin", id="echo 0", apt_get=APT.format(log=log, offer=offer)))
    assert "fetching apt's package lists" in result.stdout and "(to download: 2 packages, 1.5 MB)" in result.stdout
    assert [re.search(r"print-uris|update|install -y", call)[0] for call in log.read_text().splitlines()] == [
        "print-uris",
        "update",
        "print-uris",
        "install -y",
    ]


def test_stale_package_lists_are_renewed_once(tmp_path):
    tree = copy_of_tree(tmp_path / "tree")
    log = tmp_path / "apt.log"
    apt = APT.format(log=log, offer=OFFER) + '\ncase "$*" in *install\\ -y*) echo "E: 404  Not Found" >&2; exit 100;; esac'
    result = set_up(tree, "demo", fake_system(tmp_path / "bin", id="echo 0", apt_get=apt))
    assert result.returncode == 1 and "404" in result.stderr and "apt-get failed" in result.stderr.splitlines()[-1]
    assert [re.search(r"print-uris|update|install -y", call)[0] for call in log.read_text().splitlines()] == [
        "print-uris",
        "install -y",
        "update",
        "install -y",
    ]


@pytest.mark.parametrize("lock", ["/var/lib/dpkg/lock-frontend", "/var/lib/apt/lists/lock", "/var/cache/apt/archives/lock"])
def test_another_program_that_installs_is_waited_for(tmp_path, lock):
    tree = copy_of_tree(tmp_path / "tree")
    log = tmp_path / "apt.log"
    held = f'\n[ $(grep -c "install -y" "{log}") -gt 3 ] || {{ echo "E: Could not get lock {lock}. It is held by" >&2; exit 100; }}'
    apt = APT.format(log=log, offer=OFFER) + '\ncase "$*" in *--print-uris*) exit;; esac' + held
    result = set_up(tree, "demo", fake_system(tmp_path / "bin", id="echo 0", apt_get=apt, sleep=f'echo "sleep $1" >>"{log}"'))
    assert "still missing after the installation" in result.stderr, result.stderr
    assert result.stdout.count("another program is installing packages: waiting for it") == 1
    calls = log.read_text().splitlines()[1:]
    assert [call.split()[0] for call in calls] == ["-o", "sleep", "-o", "sleep", "-o", "sleep", "-o"]
    assert all("DPkg::Lock::Timeout=300" in call for call in calls[::2])


def test_a_lock_that_is_never_released(tmp_path):
    tree = copy_of_tree(tmp_path / "tree")
    log = tmp_path / "apt.log"
    held = '\ncase "$*" in *install*) echo "E: Could not get lock /x" >&2; exit 100;; *update*) exit 1;; esac'
    apt = APT.format(log=log, offer=OFFER) + held
    result = set_up(tree, "demo", fake_system(tmp_path / "bin", id="echo 0", apt_get=apt, sleep=f'echo "sleep $1" >>"{log}"'))
    assert result.returncode == 1 and "Could not get lock /x" in result.stderr and "apt-get failed" in result.stderr.splitlines()[-1]
    assert log.read_text().count("sleep 5") == 60


def test_steps_ask_for_what_they_need(tmp_path):
    tree = copy_of_tree(tmp_path / "tree")
    env = fake_system(tmp_path / "bin", id="echo 1000", without=["git"])
    steps = ("demo", "test", "boards", "docs", "all")
    lacks = {step: set_up(tree, step, env).stderr.split("are missing:")[1].split(". As root")[0].split() for step in steps}
    assert "git" in lacks["test"] and "git" not in lacks["boards"]
    assert "gcc-riscv64-linux-gnu" in lacks["boards"] and "gcc-riscv64-linux-gnu" not in lacks["test"]
    assert set(lacks["demo"]) < set(lacks["test"]) < set(lacks["all"]) and set(lacks["demo"]) < set(lacks["boards"]) < set(lacks["all"])
    assert lacks["docs"] == lacks["demo"]


def test_without_apt(tmp_path):
    tree = copy_of_tree(tmp_path / "tree")
    result = set_up(tree, "demo", fake_system(tmp_path / "bin", without=["apt-get"]))
    assert result.returncode == 1 and "There is no apt-get here" in result.stderr and "g++" in result.stderr


def test_path_with_a_space(tmp_path):
    tree = copy_of_tree(tmp_path / "a tree")
    result = set_up(tree, "demo", tool_environment())
    assert result.returncode == 1 and "holds a space" in result.stderr


@pytest.mark.skipif(
    "LITEPULSE_TIER" not in os.environ or Path(sys.prefix) != ROOT / ".venv",
    reason="only `make test` is sure to run in a .venv that is up to date",
)
def test_second_run_does_nothing():
    result = set_up(ROOT, "test", tool_environment())
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def pins(*names):
    """{package: version} of locks."""
    return {entry["name"]: entry["version"] for name in names for entry in lock.entries(name)}


@pytest.mark.parametrize("name", lock.NAMES)
def test_locks_are_those_of_the_inputs(name):
    assert f"Inputs: {lock.digest(name)}\n" in (lock.REQUIREMENTS / f"{name}.txt").read_text(), "run `make lock`"


def test_dependencies_and_extras_are_locked():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    demo = [*project["dependencies"], *extras["plot"], *extras["litex"], *extras["sim"]]
    for step, wanted in {"demo": demo, "boards": extras["gateware"]}.items():
        assert {re.match(r"[\w-]+", requirement)[0] for requirement in wanted} <= set(pins(step))


def test_version_is_in_one_place():
    """pyproject.toml reads it from the package; DKMS wants it literally."""
    version = runpy.run_path(str(ROOT / "sw" / "litepulse" / "__init__.py"))["__version__"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" not in project["project"] and project["tool"]["hatch"]["version"]["path"] == "sw/litepulse/__init__.py"
    assert f'PACKAGE_VERSION="{version}"\n' in (ROOT / "driver" / "dkms.conf").read_text()
    assert importlib.metadata.version("litepulse") == version


@pytest.mark.full  # needs all packages installed
def test_imports_are_pinned():
    """A .venv that was kept may hold packages which a fresh one would lack."""
    tracked = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    tracked = [path for path in tracked if not path.startswith("sw/responders/")]  # they run on other machines
    ours = {part.removesuffix(".py") for path in tracked for part in Path(path).parts}
    imported = {}
    for path in tracked:
        for node in ast.walk(ast.parse((ROOT / path).read_text())):
            names = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module]
                if isinstance(node, ast.ImportFrom) and not node.level
                else []
            )
            imported |= {name.partition(".")[0]: path for name in names}
    distributions, every = importlib.metadata.packages_distributions(), pins("all")
    # _typeshed: type checkers bring it, and no program imports it when it runs
    foreign = set(imported) - ours - set(sys.stdlib_module_names) - {"_typeshed"}
    assert {"litex", "litedram", "cocotb", "serial"} <= foreign
    loose = {
        name: imported[name]
        for name in foreign
        if not any(package.lower().replace("_", "-") in every for package in distributions.get(name, []))
    }
    assert not loose


def wrapper():
    """scripts/yowasp_tool.py as a module."""
    spec = importlib.util.spec_from_file_location("yowasp_tool", ROOT / "scripts" / "yowasp_tool.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pre_pack_becomes_pcf(tmp_path):
    (tmp_path / "clocks.py").write_text("# made by LiteX\nctx.addClock(\"sys_clk\", 24.0)\nctx.addClock('pulse_clk', 48.0)\n")
    (tmp_path / "pins.pcf").write_text("set_io tx 9")
    for form in (["--pcf", f"{tmp_path}/pins.pcf"], [f"--pcf={tmp_path}/pins.pcf"]):
        arguments = ["--up5k", "--pre-pack", f"{tmp_path}/clocks.py", *form, "--seed", "1"]
        wrapper().clocks_to_pcf(arguments)
        assert arguments == ["--up5k", "--pcf", f"{tmp_path}/pins.clocks.pcf", "--seed", "1"]


def test_unknown_pre_pack_is_refused(tmp_path):
    (tmp_path / "clocks.py").write_text('ctx.createRegion("a", 0, 0, 1, 1)\n')
    with pytest.raises(SystemExit, match="only ctx.addClock"):
        wrapper().clocks_to_pcf(["--pre-pack", f"{tmp_path}/clocks.py"])


@pytest.mark.parametrize("absolute", [True, False])
def test_yosys_sees_folders_of_tmp(tmp_path, absolute):
    """pytest's folder lies below /tmp by default; an unrepaired YoWASP finds no absolute path
    there."""
    (tmp_path / "inverter.sv").write_text("module inverter (input logic a, output logic y); assign y = !a; endmodule\n")
    path = tmp_path / "inverter.sv" if absolute else "inverter.sv"
    out = tmp_path / "out.v" if absolute else "out.v"
    subprocess.run(
        ["yosys", "-q", "-p", f"read_verilog -sv {path}; synth; write_verilog -noattr {out}"],
        cwd=tmp_path,
        env=tool_environment(),
        stdin=subprocess.DEVNULL,
        check=True,
    )
    assert "module inverter" in (tmp_path / "out.v").read_text()


def test_folders_of_a_full_tmp(monkeypatch):
    """More of them than can be offered: those that are needed are."""
    module = wrapper()
    module.MAX_FOLDERS = 3
    with contextlib.ExitStack() as stack:
        here, first, second, *_ = (Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/tmp"))) for _ in range(9))
        monkeypatch.chdir(here)
        words = ["-p", f"read_verilog {second}/a.sv; write_json {first}/a.json"]
        assert module.folders_of_tmp(words) == [here.name, second.name, first.name]


@pytest.mark.full  # needs the step `boards`
def test_place_and_route_with_litex_clocks(tmp_path):
    (tmp_path / "toggle.sv").write_text(
        "module toggle (input logic clk, output logic q);\n  always_ff @(posedge clk) q <= !q;\nendmodule\n"
    )
    (tmp_path / "clocks.py").write_text('ctx.addClock("clk", 48.0)\n')
    for command in (
        ["yosys", "-q", "-p", "read_verilog -sv toggle.sv; synth_ice40 -top toggle -json toggle.json"],
        [
            "nextpnr-ice40",
            "--up5k",
            "--package",
            "sg48",
            "--json",
            "toggle.json",
            "--pre-pack",
            "clocks.py",
            "--asc",
            "toggle.asc",
            "--report",
            "report.json",
        ],
        ["icepack", "toggle.asc", "toggle.bin"],
    ):
        subprocess.run(command, cwd=tmp_path, env=tool_environment(), stdin=subprocess.DEVNULL, check=True, capture_output=True)
    assert (tmp_path / "toggle.bin").stat().st_size > 10_000
    constraint = re.search(r'"constraint":\s*([\d.]+)', (tmp_path / "report.json").read_text())
    assert abs(float(constraint[1]) - 48.0) < 0.01


def test_verilator_has_a_version():
    out = subprocess.run(["verilator", "--version"], env=tool_environment(), capture_output=True, text=True, check=True).stdout
    assert re.match(r"Verilator 5\.\d{3}\b", out)
