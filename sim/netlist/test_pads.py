# SPDX-License-Identifier: BSD-2-Clause
"""The core's tests on its sources with the pins of real boards, whose primitives are modelled in sim/models."""

import pytest

from sim.core.test_core import MODULES
from sim.long_runs import LONG
from sim.netlist.synthesis import NETLISTS

# What depends on the pins.
ON_PADS = ("tb_pins", "tb_capture", "tb_responder")


@pytest.mark.parametrize("module", [module for module in MODULES if LONG and module != "tb_random" or module in ON_PADS])
@pytest.mark.parametrize("pads", ("ice40_ddr", "ecp5_ddr", "ecp5_serdes"))
def test_pads(pads, module):
    """The core's sources with a board's PHY."""
    NETLISTS[pads].simulate_rtl(module)
