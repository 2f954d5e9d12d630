# SPDX-License-Identifier: BSD-2-Clause
"""The crossing, the window and the interrupts together, at several clock ratios and phases."""

import pytest

from sim.cocotb_rig import hdl_sources, simulate
from sim.long_runs import LONG

# periods in ps of pulse and sys, phase of sys; -1: a random one for each case, by the seed of the run
CLOCKS = {
    "same": (20832, 20832, 0),
    "same_random": (20832, 20832, -1),
    "sys_half": (20832, 41664, 0),
    "sys_half_random": (20832, 41664, -1),
    "sys_quadruple_random": (40000, 10000, -1),
    "sys_quarter": (10000, 40000, 0),
    "unrelated": (20832, 38462, 5004),
    "almost_same": (20832, 20870, 1000),
}
# enough for the slower simulator
SLOW = ("same", "sys_quadruple_random", "unrelated", *(("sys_half_random",) if LONG else ()))
QUICK = ("unrelated",)  # for the quick tier
SMALL = {"EV_AW": 4, "RX_AW": 5, "RING_AW": 2, "TX_AW": 4, "LQ_AW": 2}
DEEP = {**SMALL, "EV_AW": 5, "NEAR_AW": 3}  # a ring of events whose free places are not all counted


def run(clocks, simulator, parameters=SMALL, **options):
    """Simulates the bench; `clocks` as in CLOCKS, `options` of simulate()."""
    top = "litepulse_crossing_tb"
    env = {"CLOCKS": ",".join(map(str, clocks))}
    simulate("tb_crossing", top, hdl_sources(f"sim/blocks/{top}.sv"), parameters, simulator, env=env, **options)


@pytest.mark.parametrize(
    "clocks,simulator",
    [pytest.param(clocks, "verilator", marks=() if clocks in QUICK else pytest.mark.full) for clocks in CLOCKS]
    + [pytest.param(clocks, "icarus", marks=pytest.mark.full) for clocks in SLOW],
)
def test_crossing(clocks, simulator):
    run(CLOCKS[clocks], simulator)


@pytest.mark.full
@pytest.mark.parametrize("simulator", ["verilator", *(["icarus"] if LONG else [])])
def test_crossing_at_full_depth(simulator):
    run((20832, 41664, 9000), simulator, {}, testcase=["traffic", "reset_in_the_middle"])


@pytest.mark.parametrize(
    "clocks",
    [
        pytest.param(clocks, marks=() if clocks in QUICK else pytest.mark.full)
        for clocks in ("same", "sys_half_random", "sys_quadruple_random", "unrelated")
    ],
)
def test_crossing_of_a_deep_ring(clocks):
    """Its free places are counted to an end, and its records are written a cycle later."""
    run(CLOCKS[clocks], "verilator", DEEP)
