# SPDX-License-Identifier: BSD-2-Clause
"""cocotb: litepulse_reset, with clocks of any ratio, one of which may stand still, and a reset of any length and phase."""

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, ReadOnly, RisingEdge, Timer
from cocotb.utils import get_sim_time

WAIT = int(os.environ["LITEPULSE_PARAM_WAIT"])  # cycles of the sys clock


async def released(dut, clk, reset, found):
    """Notes when `reset` ends, and that this is at an edge of its clock."""
    await FallingEdge(reset)
    assert clk.value == 1, "it ends in step with its own clock"
    found[reset._name] = get_sim_time("ps")


@cocotb.test()
async def with_the_configuration(dut):
    """Where rst is never asserted the reset begins with the initial values of the registers. The first case: they are still there."""
    dut.rst.value = dut.sys_clk.value = dut.pulse_clk.value = 0
    await Timer(1, "ns")
    assert (dut.sys_rst.value, dut.pulse_rst.value) == (1, 1)
    cocotb.start_soon(Clock(dut.sys_clk, 10, unit="ns").start())
    cocotb.start_soon(Clock(dut.pulse_clk, 10, unit="ns").start())
    await ClockCycles(dut.sys_clk, max(5, WAIT))
    assert (dut.sys_rst.value, dut.pulse_rst.value) == (1, 1), "for at least four cycles, and WAIT"
    await ClockCycles(dut.sys_clk, 7)
    assert (dut.sys_rst.value, dut.pulse_rst.value) == (0, 0)


@cocotb.test()
async def both_for_long_enough(dut):
    """Both begin at once, without a clock; neither ends before four cycles of each clock, and WAIT, have passed since rst, nor much
    later."""
    rng = random.Random(5)
    dut.sys_clk.value = dut.pulse_clk.value = dut.rst.value = 0
    for attempt in range(60):
        periods = {"sys": 2 * rng.randrange(1_000, 40_000), "pulse": 2 * rng.randrange(1_000, 40_000)}
        clocks = [
            cocotb.start_soon(Clock(dut.sys_clk, periods["sys"], unit="ps").start(start_high=bool(rng.getrandbits(1)))),
            cocotb.start_soon(Clock(dut.pulse_clk, periods["pulse"], unit="ps").start(start_high=bool(rng.getrandbits(1)))),
        ]
        await Timer(rng.randrange(100_000, 900_000), "ps")
        dut.rst.value = 1
        await ReadOnly()
        assert (dut.sys_rst.value, dut.pulse_rst.value) == (1, 1), "at once"
        await Timer(rng.choice((100, rng.randrange(1, 300_000))), "ps")
        dut.rst.value = 0
        began, found = get_sim_time("ps"), {}
        for name in periods:
            cocotb.start_soon(released(dut, getattr(dut, f"{name}_clk"), getattr(dut, f"{name}_rst"), found))
        slower = max(periods.values())
        wait = WAIT * periods["sys"]
        await Timer(12 * slower + wait, "ps")
        assert set(found) == {"sys_rst", "pulse_rst"}
        for name, at in found.items():
            assert max(4 * slower, wait) <= at - began <= 9 * slower + wait, (attempt, name, periods, at - began)
        for clock in clocks:
            clock.cancel()


@cocotb.test()
async def a_clock_that_stands_still(dut):
    """No side is let go before both clocks run."""
    dut.sys_clk.value = dut.pulse_clk.value = 0
    dut.rst.value = 1
    await Timer(1, "ns")
    dut.rst.value = 0
    cocotb.start_soon(Clock(dut.sys_clk, 10, unit="ns").start())
    for _ in range(200):
        await RisingEdge(dut.sys_clk)
        assert (dut.sys_rst.value, dut.pulse_rst.value) == (1, 1)
    cocotb.start_soon(Clock(dut.pulse_clk, 14, unit="ns").start())
    await ClockCycles(dut.pulse_clk, 12)  # the other clock has run for longer than WAIT
    assert (dut.sys_rst.value, dut.pulse_rst.value) == (0, 0)
