# SPDX-License-Identifier: BSD-2-Clause
"""What modules take for granted of each other is checked in the simulations, all of it, and a breach ends them."""

import re
import shutil

import pytest

from sim.cocotb_rig import BUILD, ROOT
from sim.core.environment import SOURCES
from sim.core.test_core import simulate_core
from sim.proofs import FORMAL


def test_all_are_bound():
    """Each has its module, and is in the module's own proof and in that of them all."""
    bound = re.findall(r"(?m)^bind (\w+) (\w+) ", (ROOT / "sim/core/environment.sv").read_text())
    assert [f"{module}_environment" for module, _ in bound] == [name for _, name in bound]
    assert sorted(name for _, name in bound) == [path.stem for path in sorted(FORMAL.glob("litepulse_*_environment.sv"))]
    together = (FORMAL / "environment.sby").read_text()
    for module, name in bound:
        assert f"  {name} " in (FORMAL / f"{module}.svh").read_text()
        assert f"\n{name}.sv\n" in (FORMAL / f"{module.removeprefix('litepulse_')}.sby").read_text() and f"\n{name}.sv\n" in together
    assert len(SOURCES) == len(bound) + 2


@pytest.mark.full
@pytest.mark.seconds(60)
def test_a_breach_ends_the_simulation(monkeypatch):
    """A word for the filter that litepulse_config does not announce."""
    folder = BUILD / "environment" / "hdl"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "hdl", folder)
    text = (folder / "litepulse_config.sv").read_text()
    assert text.count("filt_new <= 1'b1;") == 1
    (folder / "litepulse_config.sv").write_text(text.replace("filt_new <= 1'b1;", ""))
    monkeypatch.setenv("LITEPULSE_HDL", str(folder))
    with pytest.raises(AssertionError, match="litepulse_capture_environment.sv:.*: Assertion failed"):
        simulate_core("tb_capture", 1, "verilator", testcase="test_promise5_filter")
