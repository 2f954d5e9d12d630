# SPDX-License-Identifier: BSD-2-Clause
"""litepulse_phy_ecp5_start, alone and with the pads it starts."""

import pytest

from sim.cocotb_rig import ROOT, hdl_sources, simulate

BOTH = [pytest.param("verilator", marks=pytest.mark.full), "icarus"]


@pytest.mark.parametrize("simulator", BOTH)
@pytest.mark.parametrize("wait", [3, 8])
def test_sequence(wait, simulator):
    for case in ("order", "lost", "any_lock"):  # each from configuration
        assert simulate(
            "tb_start", "litepulse_phy_ecp5_start", hdl_sources("litepulse_phy_ecp5_start"), {"WAIT": wait}, simulator, testcase=case
        ) == [f"tb_start.{case}"]


@pytest.mark.parametrize("simulator", BOTH)
def test_gearing(simulator):
    sources = [ROOT / "sim" / "models" / f"{name}.sv" for name in ("IDDRX2F", "ODDRX2F", "CLKDIVF", "ECLKSYNCB")]
    names = simulate(
        "tb_start",
        "litepulse_gearing_tb",
        [*sources, *hdl_sources("sim/phy/litepulse_gearing_tb.sv")],
        {"N": 4},
        simulator,
        testcase=["in_step", "out_of_step"],
        build_args=["--timing"] if simulator == "verilator" else [],
    )
    assert names == ["tb_start.in_step", "tb_start.out_of_step"]
