# SPDX-License-Identifier: BSD-2-Clause
"""From configuration to the first level on the pads: runs alone, as time 0 of the simulation is the end of configuration."""

import os

import cocotb
from cocotb.triggers import FallingEdge, First, Timer, ValueChange
from cocotb.utils import get_sim_time

from sim.core.bench import CLOCKS, CYCLE, TICK, Bench


class Pads:
    """Writes down what tx and de do: (time, tx driven, tx, de driven, de)."""

    def __init__(self, dut):
        self.handles = [getattr(dut, name) for name in ("oe_pin", "tx_pin", "de_oe_pin", "de_pin")]
        self.history = [self.sample()]
        self.task = cocotb.start_soon(self.watch())

    def sample(self):
        return (int(get_sim_time("step")), *(int(handle.value) for handle in self.handles))

    async def watch(self):
        changes = [ValueChange(handle) for handle in self.handles]
        while True:
            await First(*changes)
            self.history.append(self.sample())


@cocotb.test()
async def test_start_from_configuration(dut):
    """tx and de are not driven before the core is out of reset, whatever inputs and clocks do; the
    first level is the idle one."""
    half, delay = CLOCKS[os.environ.get("LITEPULSE_CLOCKS", "unrelated")]
    bench = Bench(dut)
    bench.sys_period = 2 * half
    assert get_sim_time("step") == 0, "this runs alone"
    await Timer(1, "step")
    assert int(dut.pulse_rst.value) and int(dut.sys_rst.value) and int(dut.phy_rst.value) and not int(dut.run.value)
    pads = Pads(dut)
    # No clock yet; the other end of the line is busy.
    dut.tick_half.value, dut.sys_half.value, dut.sys_delay.value = TICK // 2, half, delay
    for n in range(40):
        dut.rx_drive.value, dut.aux_drive.value = n & 1, n & 3
        await Timer(700, "step")
    bench.idle_inputs()
    # Clocks, not good yet: all resets are held.
    dut.run.value = 1
    for n in range(200):
        dut.rx_drive.value = n >> 1 & 1
        await Timer(CYCLE, "step")
    dut.run.value = 0
    await Timer(10 * max(CYCLE, bench.sys_period), "step")
    # Good clocks: first the pads leave their reset, and later the core.
    await bench.start_pads()
    dut.run.value = 1
    for n in range(300):
        dut.rx_drive.value = n >> 2 & 1
        await Timer(CYCLE, "step")
    dut.rx_drive.value = 1
    await FallingEdge(dut.sys_clk)
    dut.sys_rst.value = 0
    await bench.pulse_release()
    released = int(get_sim_time("step"))
    await Timer(3000 * CYCLE, "step")
    pads.task.cancel()
    before = [entry for entry in pads.history if entry[0] < released]
    assert all(entry[1:] == (0, 1, 0, 0) for entry in before), f"driven before the core left its reset: {before}"
    after = [entry for entry in pads.history if entry[0] >= released]
    assert len({entry[0] for entry in after}) == 1, f"more than one change: {after}"
    assert after[-1][1:] == (1, 1, 1, 0), f"tx and de driven together, idle: {after}"
    assert all(entry[2] == 1 and entry[4] == 0 for entry in after), after
    assert 0 < after[0][0] - released <= 12 * CYCLE and (after[0][0] - bench.released) % TICK == 0, (after, bench.released)
    bench.bus_lock = type(bench.bus_lock)()
    for stream in ("EVENTS", "RECEIVE"):
        head = await bench.header(stream)
        assert (head["ready"], head["lost"]) == (0, 0), head
