# SPDX-License-Identifier: BSD-2-Clause
"""litepulse_capture alone."""

import pytest

from sim.blocks.simulators import on_both_simulators
from sim.cocotb_rig import hdl_sources, simulate


@pytest.mark.parametrize("samples,inputs,simulator", on_both_simulators((1, 4), (2, 7), (4, 3), (8, 1)))
def test_edge_capture(samples, inputs, simulator):
    simulate("tb_edge_capture", "litepulse_capture", hdl_sources("litepulse_capture"), {"S": samples, "INPUTS": inputs}, simulator)
