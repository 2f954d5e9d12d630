# SPDX-License-Identifier: BSD-2-Clause
"""Each model of an ECP5 primitive alone: order of the samples, latency, reset. OBZ on Icarus only: Verilator shows no undriven port.

SB_IO is not here: test_phy runs the same cases with it and with Yosys' own model.
"""

import pytest

from sim.cocotb_rig import ROOT, simulate

MODELS = ROOT / "sim" / "models"
CASES = {
    "IDDRX1F": "iddrx1f",
    "ODDRX1F": "oddrx1f",
    "IDDRX2F": "iddrx2f",
    "ODDRX2F": "oddrx2f",
    "CLKDIVF": "clkdivf",
    "ECLKSYNCB": "eclksyncb",
    "OFS1P3BX": "ofs1p3bx",
    "OBZ": "obz",
    "IB": "ib",
    "IBPU": "ib",
}


@pytest.mark.parametrize(
    "simulator, primitive",
    [
        pytest.param(simulator, primitive, marks=pytest.mark.full if simulator == "verilator" else ())
        for simulator in ("verilator", "icarus")
        for primitive in CASES
        if (simulator, primitive) != ("verilator", "OBZ")
    ],
)
def test_primitive(simulator, primitive):
    case = CASES[primitive]
    assert simulate("tb_primitives", primitive, [MODELS / f"{primitive}.sv"], {}, simulator, testcase=case) == [f"tb_primitives.{case}"]
