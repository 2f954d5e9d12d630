# SPDX-License-Identifier: BSD-2-Clause
"""litepulse_receive alone."""

import pytest

from sim.cocotb_rig import hdl_sources, simulate


@pytest.mark.parametrize("simulator", ["verilator", "icarus"])
def test_receive(simulator):
    simulate("tb_receive", "litepulse_receive", hdl_sources("litepulse_receive"), {"RING_AW": 4}, simulator)
