# SPDX-License-Identifier: BSD-2-Clause
"""The core's tests on its sources with the pins of real boards, whose primitives are modelled in sim/models."""

import pytest

from sim.core.test_core import MODULES
from sim.long_runs import LONG
from sim.netlist.synthesis import NETLISTS

# What depends on the pins. Of the marker port that is the register of `ecp5_serdes`; waits count the cycles from and to the pins.
ON_PADS = ("tb_pins", "tb_capture", "tb_responder", "tb_port", "tb_sequence")
CASES = [
    (pads, module)
    for pads in ("ice40_ddr", "ecp5_ddr", "ecp5_serdes")
    for module in (*MODULES, "tb_sequence")
    if (LONG and module != "tb_random" or module in ON_PADS) and NETLISTS[pads].has_parts_for(module)
]


@pytest.mark.parametrize("pads, module", CASES)
def test_pads(pads, module):
    """The core's sources with a board's PHY."""
    NETLISTS[pads].simulate_rtl(module)
