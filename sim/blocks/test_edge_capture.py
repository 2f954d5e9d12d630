# SPDX-License-Identifier: BSD-2-Clause
"""litepulse_capture alone."""

import pytest
from rig import hdl_sources, simulate


@pytest.mark.parametrize("simulator", ["verilator", "icarus"])
@pytest.mark.parametrize("samples,inputs", [(1, 4), (2, 7), (4, 3), (8, 1)])
def test_edge_capture(samples, inputs, simulator):
    simulate("tb_edge_capture", "litepulse_capture", hdl_sources("litepulse_capture"), {"S": samples, "INPUTS": inputs}, simulator)
