# SPDX-License-Identifier: BSD-2-Clause
"""litepulse_events alone."""

import pytest

from sim.blocks.simulators import on_both_simulators
from sim.cocotb_rig import hdl_sources, simulate

CASES = ((1, 5, 6, 0), (1, 5, 4, 2), (2, 8, 4, 2), (4, 4, 6, 0))
SLOW = tuple((*case, simulator) for case in CASES[:2] for simulator in ("verilator", "icarus"))


@pytest.mark.parametrize("samples,channels,ports,brief,simulator", on_both_simulators(*CASES, slow=SLOW))
def test_events(samples, channels, ports, brief, simulator):
    simulate(
        "tb_events",
        "litepulse_events",
        hdl_sources("litepulse_events"),
        {"S": samples, "C": channels, "EV_AW": 6, "PORTS": ports, "BRIEF": brief},
        simulator,
    )
