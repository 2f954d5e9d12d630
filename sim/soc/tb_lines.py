# SPDX-License-Identifier: BSD-2-Clause
"""cocotb: several cores of one chip that leave their reset together. What happens on a pin that all see has one tick in all of them."""

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge, Timer

from litepulse import regs

CORES = int(os.environ["LINES_CORES"])
EVENTS = regs.REGIONS["EVENTS"][0] // 4
CONFIG = regs.REGIONS["CONFIG"][0] // 4
WORDS = {r.name: CONFIG + r.index for r in regs.CONFIG}
EDGES_RECORDED = 4  # the bit of `edge` in event_mask


async def access(dut, word, value=None):
    """The same access to all cores in the same cycle: [word read]."""
    await FallingEdge(dut.sys_clk)
    dut.bus_adr.value, dut.bus_we.value, dut.bus_dat_w.value = word, value is not None, value or 0
    waiting, read = set(range(CORES)), [None] * CORES
    for n in waiting:
        getattr(dut, f"cyc{n}").value = 1
    for _ in range(2000):
        await RisingEdge(dut.sys_clk)
        done = {n for n in waiting if getattr(dut, f"ack{n}").value == 1}
        for n in done:
            read[n] = int(getattr(dut, f"dat_r{n}").value)
        if done:
            await FallingEdge(dut.sys_clk)
        for n in done:
            getattr(dut, f"cyc{n}").value = 0
        waiting -= done
        if not waiting:
            return read
    raise AssertionError(f"the bus of {waiting} hangs")


async def records(dut, count):
    """[[(tick, data)]] of the oldest `count` events of each core, freed."""
    words = [await access(dut, EVENTS + word) for word in range(4 + 4 * count)]
    assert all(level & 0xFFFF == count for level in words[0])
    await access(dut, EVENTS, count)
    return [[(words[4 * i][n] | words[4 * i + 1][n] << 32, words[4 * i + 3][n]) for i in range(1, count + 1)] for n in range(CORES)]


@cocotb.test()
async def one_time(dut):
    """After a reset of either side, however it falls: equal ticks for each edge, and the right distance between them."""
    rng = random.Random(7)
    pulse_period, sys_period = 7620, 20834
    cocotb.start_soon(Clock(dut.sys_clk, sys_period, unit="ps").start())
    cocotb.start_soon(Clock(dut.pulse_clk, pulse_period, unit="ps").start())
    for name in ("sys_rst", "pulse_rst", "bus_we", "bus_adr", "bus_dat_w", "aux", *(f"cyc{n}" for n in range(CORES))):
        getattr(dut, name).value = 0
    for attempt in range(8):
        side, clk = (("sys_rst", dut.sys_clk), ("pulse_rst", dut.pulse_clk))[attempt % 2]
        await Timer(rng.randrange(1, 40_000), "ps")
        getattr(dut, side).value = 1
        await Timer(rng.randrange(5_000, 60_000), "ps")
        getattr(dut, side).value = 0
        await ClockCycles(clk, 100)
        await access(dut, WORDS["event_mask"], 1 << EDGES_RECORDED)
        await access(dut, WORDS["capture_edges"], 1 | 1 << 16)
        await ClockCycles(dut.sys_clk, 100)
        distances = [rng.randrange(3, 200) for _ in range(9)]
        await FallingEdge(dut.pulse_clk)
        for cycles in distances:
            dut.aux.value = 1 - int(dut.aux.value)
            await ClockCycles(dut.pulse_clk, cycles)
            await FallingEdge(dut.pulse_clk)
        dut.aux.value = 1 - int(dut.aux.value)
        await ClockCycles(dut.sys_clk, 200)
        first, *others = await records(dut, 10)
        assert all(found == first for found in others), (attempt, first, others)
        ticks = [tick for tick, _ in first]
        assert 100 < ticks[0] < 10_000, "a reset restarts time"
        assert [later - tick for tick, later in zip(ticks, ticks[1:])] == distances
        if int(dut.aux.value):
            dut.aux.value = 0
            await ClockCycles(dut.sys_clk, 200)
