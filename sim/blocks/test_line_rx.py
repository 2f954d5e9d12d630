# SPDX-License-Identifier: BSD-2-Clause
"""litepulse_line_rx alone."""

import pytest
from rig import hdl_sources, simulate


@pytest.mark.parametrize("simulator", ["verilator", "icarus"])
@pytest.mark.parametrize("samples", [1, 2, 4])
def test_line_rx(samples, simulator):
    simulate("tb_line_rx", "litepulse_line_rx", hdl_sources("litepulse_line_rx"), {"S": samples}, simulator)
