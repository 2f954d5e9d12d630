# SPDX-License-Identifier: BSD-2-Clause
"""litepulse_events alone."""

import pytest
from rig import hdl_sources, simulate


@pytest.mark.parametrize("simulator", ["verilator", "icarus"])
@pytest.mark.parametrize("samples,bits", [(1, 5), (2, 16), (4, 16)])
def test_events(samples, bits, simulator):
    simulate("tb_events", "litepulse_events", hdl_sources("litepulse_events"), {"S": samples, "EB": bits, "EV_AW": 6}, simulator)
