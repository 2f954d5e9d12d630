# SPDX-License-Identifier: BSD-2-Clause
"""litepulse_events alone."""

import pytest

from sim.blocks.simulators import on_both_simulators
from sim.cocotb_rig import hdl_sources, simulate

CASES = ((1, 5), (2, 8), (4, 4))
SLOW = ((1, 5, "verilator"), (1, 5, "icarus"))


@pytest.mark.parametrize("samples,channels,simulator", on_both_simulators(*CASES, slow=SLOW))
def test_events(samples, channels, simulator):
    simulate("tb_events", "litepulse_events", hdl_sources("litepulse_events"), {"S": samples, "C": channels, "EV_AW": 6}, simulator)
