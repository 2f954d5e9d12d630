# SPDX-License-Identifier: BSD-2-Clause
"""sim/models/SB_IO.sv against Yosys' model of the cell, on Icarus, which both can do."""

import pytest

from sim.cocotb_rig import SIM, simulate
from sim.netlist.synthesis import cells


# inputs at both edges; outputs: at both edges with registered enable and without, at one edge, straight
@pytest.mark.parametrize("pin_type", (0b000000, 0b110000, 0b010000, 0b100100, 0b101001, 0b000001))
def test_pad(pin_type):
    simulate(
        "tb_pad",
        "litepulse_pad_tb",
        [*cells("ice40"), SIM / "netlist" / "litepulse_pad_tb.sv"],
        {"PIN_TYPE": pin_type},
        "icarus",
        defines={"NO_ICE40_DEFAULT_ASSIGNMENTS": 1},
    )
