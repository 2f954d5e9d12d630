# SPDX-License-Identifier: BSD-2-Clause
"""The examples without LiteX, and the core itself, as FuseSoC lints and simulates them; the list of files."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from litex_soc.generate import ROOT
from sim.cocotb_rig import hdl_sources, tool_environment

pytestmark = pytest.mark.full
CORE, EXAMPLES = "litepulse:litepulse:litepulse", "litepulse:litepulse:examples"


def fusesoc(folder, target, core, tree=ROOT, passes=True):
    """Output of FuseSoC, called in `folder` as docs/verilog.md says; it must end as expected."""
    command = [str(Path(sys.executable).parent / "fusesoc"), "--cores-root", str(tree), "run", "--target", target, core]
    environment = {**tool_environment(), "XDG_CONFIG_HOME": str(folder / "config"), "XDG_DATA_HOME": str(folder / "data")}
    result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600, check=False)
    output = result.stdout + result.stderr
    assert (result.returncode == 0) == passes, output
    return output


@pytest.mark.parametrize(
    "target, core", [("lint_wishbone", CORE), ("lint_axil", CORE), ("lint_pulse_58hz", EXAMPLES), ("lint_axi_lite", EXAMPLES)]
)
def test_lint(tmp_path, target, core):
    output = fusesoc(tmp_path, target, core)
    assert "%Warning" not in output and "V e r i l a t i o n" in output


@pytest.mark.parametrize("example", ["pulse_58hz", "axi_lite"])
def test_yosys(example):
    """No import of a package, no latch, no loop."""
    sources = " ".join(str(path) for path in hdl_sources(f"examples/verilog/{example}.sv"))
    read = f"read_verilog -sv -I{ROOT / 'hdl'} {sources}; hierarchy -check -top {example}; proc; flatten; opt_clean; check -assert"
    output = subprocess.run(
        ["yosys", "-q", "-p", f"{read}; select -assert-none t:$dlatch t:$adlatch t:$sr"], capture_output=True, text=True
    )
    assert (output.returncode, output.stdout + output.stderr) == (0, "")


@pytest.mark.seconds(40)
@pytest.mark.parametrize(
    "target, result",
    [
        ("sim_pulse_58hz", "passed: pulses began 620689 cycles after the first one"),
        ("sim_axi_lite", "passed: two bytes sent at their ticks and received one tick later"),
    ],
)
def test_simulation(tmp_path, target, result):
    """The testbench looks at the pins."""
    assert result in fusesoc(tmp_path, target, EXAMPLES).splitlines()


@pytest.mark.seconds(40)
def test_a_mistake_is_noticed(tmp_path):
    """In a copy the period has another fraction: the testbench says which pulse is wrong, and FuseSoC ends with an error."""
    tree = tmp_path / "tree"
    for folder in ("hdl", "examples/verilog"):
        shutil.copytree(ROOT / folder, tree / folder)
    shutil.copyfile(ROOT / "litepulse.core", tree / "litepulse.core")
    example = tree / "examples" / "verilog" / "pulse_58hz.sv"
    text = example.read_text()
    assert text.count("word = 32'd29;") == 1
    example.write_text(text.replace("word = 32'd29;", "word = 32'd33;"))
    assert "pulse 2 began 413792 cycles after the first one" in fusesoc(tmp_path, "sim_pulse_58hz", EXAMPLES, tree, passes=False)


def test_file_list():
    """Each file of the core once, packages before those who use them; what is named exists."""
    lines = [line for line in (ROOT / "hdl" / "litepulse.f").read_text().splitlines() if not line.startswith(("//", "+"))]
    assert len(lines) == len(set(lines)) and all((ROOT / "hdl" / line).is_file() for line in lines)
    folders = [path.relative_to(ROOT / "hdl").as_posix() for folder in ("", "bus") for path in (ROOT / "hdl" / folder).glob("*.sv")]
    assert sorted(lines) == sorted([*folders, "phy/litepulse_phy_generic.sv"])
