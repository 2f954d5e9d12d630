# SPDX-License-Identifier: BSD-2-Clause
"""litepulse_line_rx alone."""

import pytest

from sim.blocks.simulators import on_both_simulators
from sim.cocotb_rig import hdl_sources, simulate


@pytest.mark.parametrize(
    "samples,simulator", on_both_simulators((1,), (2,), (4,), slow=((1, "verilator"), (4, "verilator"), (1, "icarus")))
)
def test_line_rx(samples, simulator):
    simulate("tb_line_rx", "litepulse_line_rx", hdl_sources("litepulse_line_rx"), {"S": samples}, simulator)
