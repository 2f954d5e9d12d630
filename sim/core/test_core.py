# SPDX-License-Identifier: BSD-2-Clause
"""Runs the whole-core tests: every module on both simulators at S = 1, 2 and 4.

LITEPULSE_LONG=1 runs what takes minutes: full scale at the lowest bauds, more seeds.
"""

import os

import pytest
from rig import hdl_sources, simulate

MODULES = ("tb_launch", "tb_train", "tb_besteffort", "tb_responder", "tb_capture", "tb_streams", "tb_pins", "tb_stranger", "tb_random")
# (INPUTS + 1) * S must not exceed 16.
INPUTS = {1: 4, 2: 4, 4: 3}
LONG = os.environ.get("LITEPULSE_LONG", "") not in ("", "0")


@pytest.mark.parametrize("simulator", ["verilator", "icarus"])
@pytest.mark.parametrize("samples", [1, 2, 4])
@pytest.mark.parametrize("module", MODULES)
def test_core(module, samples, simulator):
    build_args = ["--timing"] if simulator == "verilator" else []
    simulate(module, "litepulse_tb", hdl_sources("sim/core/litepulse_tb.sv"), {"S": samples, "INPUTS": INPUTS[samples]}, simulator,
             build_args=build_args, timeout=3600 if LONG else 600)
