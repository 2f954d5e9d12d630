# SPDX-License-Identifier: BSD-2-Clause
"""cocotb: a LitePulse wrapper reset from either side, at several phases of two unrelated clocks."""

import os

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge, Timer

from litepulse import regs

EVENTS = regs.REGIONS["EVENTS"][0] // 4
CONFIG = regs.REGIONS["CONFIG"][0] // 4
TRAIN_COUNT = CONFIG + next(r.index for r in regs.CONFIG if r.name == "train_count")
SEPARATE = os.environ["WRAPPER_DOMAIN"] == "pulse"


async def access(dut, word, value=None):
    """One bus access; the word read."""
    await FallingEdge(dut.sys_clk)
    dut.bus_adr.value = 0x90000000 // 4 + word
    dut.bus_we.value = value is not None
    dut.bus_dat_w.value = value or 0
    dut.bus_cyc.value = dut.bus_stb.value = 1
    for _ in range(2000):
        await RisingEdge(dut.sys_clk)
        if dut.bus_ack.value == 1:
            read = int(dut.bus_dat_r.value)
            await FallingEdge(dut.sys_clk)
            dut.bus_cyc.value = dut.bus_stb.value = 0
            return read
    raise AssertionError("the bus hangs")


async def tick(dut):
    """Current tick, by a header."""
    await access(dut, EVENTS)
    return await access(dut, EVENTS + 2) | await access(dut, EVENTS + 3) << 32


@cocotb.test()
async def reset_of_either_side_resets_both(dut):
    pulse_period = 20834
    cocotb.start_soon(Clock(dut.sys_clk, 41668 if SEPARATE else pulse_period, unit="ps").start())
    if SEPARATE:
        cocotb.start_soon(Clock(dut.pulse_clk, pulse_period, unit="ps").start())
    for name in ("sys_rst", "pulse_rst", "bus_cyc", "bus_stb", "bus_we", "bus_adr", "bus_dat_w", "aux"):
        if hasattr(dut, name):
            getattr(dut, name).value = 0
    dut.rx.value = 1
    sides = [("sys_rst", dut.sys_clk)] + ([("pulse_rst", dut.pulse_clk)] if SEPARATE else [])
    for attempt in range(6):
        for name, clk in sides:
            await Timer(1 + 7919 * attempt, "ps")
            await FallingEdge(clk)
            getattr(dut, name).value = 1
            await FallingEdge(clk)
            getattr(dut, name).value = 0
            released = 0
            for _ in range(64):
                await RisingEdge(dut.sys_clk)
                released += int(dut.tx_oe.value)
                assert dut.tx_oe.value == 0 or dut.tx.value == 1, "the line may only be driven to idle"
            assert 0 < released < 60, f"{name}, {attempt}: undriven during reset, driven after it: {released}"
            first = await tick(dut)
            assert 0 < first < 400, f"{name}: time goes on from {first}"
            await access(dut, TRAIN_COUNT, 0x1234 + attempt)
            assert await access(dut, TRAIN_COUNT) == 0x1234 + attempt
            await ClockCycles(dut.sys_clk, 500)
            assert await tick(dut) > first + (900 if SEPARATE else 450)
