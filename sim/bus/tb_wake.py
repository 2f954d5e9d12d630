# SPDX-License-Identifier: BSD-2-Clause
"""cocotb: examples/verilog/pulse_58hz.sv from the end of configuration on. Time 0 is that end, so each run has one case."""

import os

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, First, ReadOnly, RisingEdge, Timer
from cocotb.utils import get_sim_time

PERIOD_PS = int(os.environ["WAKE_PERIOD_PS"])
RESET_CYCLES = int(os.environ["WAKE_RESET_CYCLES"])
WRITES = 440  # cycles from the end of the reset to the first pulse: nine words written, and the train's start
WIDTH = 12_000


async def start(dut):
    dut.clk.value = 0
    await Timer(PERIOD_PS, "ps")
    cocotb.start_soon(Clock(dut.clk, PERIOD_PS, unit="ps").start(start_high=False))


def cycle():
    """The cycle that has just begun; 0 is the first."""
    return (round(get_sim_time("ps")) - PERIOD_PS) // PERIOD_PS


@cocotb.test()
async def the_first_pulse(dut):
    """In its cycle and as long as requested, as if all memories had been readable from the
    beginning."""
    await start(dut)
    assert await First(RisingEdge(dut.pulse), ClockCycles(dut.clk, RESET_CYCLES + 1000)) is not None
    await ReadOnly()
    rose = cycle()
    assert dut.pulse.value == 1, f"no pulse within {rose} cycles"
    assert rose == RESET_CYCLES + WRITES
    await FallingEdge(dut.pulse)
    assert cycle() - rose == WIDTH


@cocotb.test()
async def no_pulse(dut):
    """What became of a core that began while its memories read 0: its train never starts, and the pin rests."""
    await start(dut)
    await ClockCycles(dut.clk, RESET_CYCLES + 4000)
    assert dut.pulse.value == 0
