# SPDX-License-Identifier: BSD-2-Clause
"""Every flip-flop that samples a pin, and those it feeds directly, carry `async_reg`: vendor tools keep them, and keep them together."""

import json
import subprocess

import pytest

from sim.cocotb_rig import hdl_dir, hdl_sources, tool_environment
from sim.hdl_lint import PRIMITIVES

# Flip-flops that pins reach, counted by hand: two a pin with one sample a cycle; with more, what stands behind the pad's own registers.
EXPECTED = {
    "litepulse_phy_generic": 2 * 5,
    "litepulse_phy_ice40_ddr": 2 * 2 * 5,
    "litepulse_phy_ecp5_ddr": 2 * 5,
    "litepulse_phy_ecp5_serdes": 4 * 4,
    "litepulse_phy_ecp5_start": 2,
}


def netlist(module, tmp_path, sources):
    """Yosys' netlist of one module, flip-flops as $dff and $adff cells, as parsed JSON."""
    out = tmp_path / "netlist.json"
    read = f"{PRIMITIVES}; read_verilog -sv {' '.join(map(str, sources))}"
    script = f"{read}; hierarchy -top {module}; proc; select {module}; write_json -selected {out}"
    subprocess.run(["yosys", "-q", "-p", script], check=True, env=tool_environment(), stdin=subprocess.DEVNULL)
    return json.loads(out.read_text())["modules"][module]


def synchronisers(top):
    """Net bits of the outputs of flip-flops that sample something from outside, and of those directly behind them."""
    outside = {bit for name, port in top["ports"].items() if name.endswith("_pin") or name == "locked" for bit in port["bits"]}
    flops = []
    for cell in top["cells"].values():
        if cell["type"] in ("$dff", "$adff"):
            flops += zip(cell["connections"]["D"], cell["connections"]["Q"], strict=True)
        elif cell["type"] == "SB_IO" or cell["type"].startswith("IDDR"):
            outside |= {bit for port in ("D_IN_0", "D_IN_1", "Q0", "Q1", "Q2", "Q3") for bit in cell["connections"].get(port, [])}
    found: set[int] = set()
    while more := {q for d, q in flops if d in outside | found} - found:
        found |= more
    return found


def unmarked(top):
    """Of synchronisers(): those without the attribute, as names of nets."""
    marked = {bit for net in top["netnames"].values() if "async_reg" in net["attributes"] for bit in net["bits"]}
    names = {bit: name for name, net in top["netnames"].items() for bit in net["bits"]}
    return sorted({names[bit] for bit in synchronisers(top) - marked})


@pytest.mark.parametrize("module", sorted(EXPECTED))
def test_synchronisers_are_marked(module, tmp_path):
    top = netlist(module, tmp_path, hdl_sources(module))
    assert len(synchronisers(top)) == EXPECTED[module]
    assert unmarked(top) == []


def test_a_missing_mark_is_noticed(tmp_path):
    source = tmp_path / "litepulse_phy_generic.sv"
    text = (hdl_dir() / "phy" / source.name).read_text()
    assert "async_reg" in text
    source.write_text(text.replace("async_reg", "other"))
    assert len(unmarked(netlist(source.stem, tmp_path, [source]))) == 4


def test_every_phy_is_looked_at():
    known = {path.stem for path in (hdl_dir() / "phy").glob("*.sv")} - {"litepulse_phy_model"}
    assert known == set(EXPECTED)
