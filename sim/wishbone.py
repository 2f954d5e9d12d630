# SPDX-License-Identifier: BSD-2-Clause
"""A Wishbone master for cocotb: classic cycles on the signals bus_* of a top, in the clock sys_clk."""

from cocotb.triggers import FallingEdge, RisingEdge


class BusError(Exception):
    """The slave ended an access with an error."""


async def access(dut, word, value=None, sel=0b1111):
    """One access to the word at 4 * `word`: reads, or writes `value`; the word read. BusError if it ended with an error."""
    await FallingEdge(dut.sys_clk)
    dut.bus_sel.value = sel
    dut.bus_adr.value = word
    dut.bus_we.value = value is not None
    dut.bus_dat_w.value = value or 0
    dut.bus_cyc.value = dut.bus_stb.value = 1
    for _ in range(2000):
        await RisingEdge(dut.sys_clk)
        ack, err = dut.bus_ack.value == 1, dut.bus_err.value == 1
        assert not (ack and err)
        if ack or err:
            read = int(dut.bus_dat_r.value) if ack else None
            await FallingEdge(dut.sys_clk)
            dut.bus_cyc.value = dut.bus_stb.value = 0
            if err:
                raise BusError
            return read
    raise AssertionError("the bus hangs")


async def give_up(dut, word, value, cycles, rng):
    """Begins an access and gives it up `cycles` later, unless it was answered by then: all signals then have values of `rng`, but CYC or
    STB is low for one to three cycles. True if it was answered. Nothing may be answered in these cycles.
    """
    await FallingEdge(dut.sys_clk)
    dut.bus_sel.value = 0b1111
    dut.bus_adr.value = word
    dut.bus_we.value = value is not None
    dut.bus_dat_w.value = value or 0
    dut.bus_cyc.value = dut.bus_stb.value = 1
    answered = False
    for _ in range(cycles):
        await RisingEdge(dut.sys_clk)
        if answered := dut.bus_ack.value == 1:
            break
    for _ in range(rng.randint(1, 3)):
        await FallingEdge(dut.sys_clk)
        dut.bus_cyc.value, dut.bus_stb.value = rng.choice(((0, 0), (0, 1), (1, 0)))
        dut.bus_adr.value, dut.bus_we.value = rng.choice((word, word ^ rng.getrandbits(7), rng.getrandbits(30))), rng.getrandbits(1)
        dut.bus_dat_w.value, dut.bus_sel.value = rng.getrandbits(32), rng.choice((0, 0b1111, rng.getrandbits(4)))
        await RisingEdge(dut.sys_clk)
        assert dut.bus_ack.value == 0 and dut.bus_err.value == 0, "an answer that belongs to no access"
    return answered
