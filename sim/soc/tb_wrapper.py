# SPDX-License-Identifier: BSD-2-Clause
"""cocotb: a LitePulse wrapper reset from either side, at several phases of two unrelated clocks."""

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge, Timer

from litepulse import regs
from sim import wishbone

EVENTS = regs.REGIONS["EVENTS"][0] // 4
CONFIG = regs.REGIONS["CONFIG"][0] // 4
TRAIN_COUNT, TRAIN_START, LINE, FORMAT = (
    CONFIG + next(r.index for r in regs.CONFIG if r.name == name) for name in ("train_count", "train_start_lo", "line", "profile0_format")
)
BREAK_HOLD = 1 << 2
SEPARATE = os.environ["WRAPPER_DOMAIN"] == "pulse"
WINDOW = 0x9000_0000 // 4


async def access(dut, word, value=None, sel=0b1111):
    """Accesses a word of the window. Returns the word read, or None after a bus error."""
    try:
        return await wishbone.access(dut, WINDOW + word, value, sel)
    except wishbone.BusError:
        return None


async def tick(dut):
    """Current tick, by a header."""
    await access(dut, EVENTS)
    return await access(dut, EVENTS + 2) | await access(dut, EVENTS + 3) << 32


async def start(dut):
    """Clocks and a reset."""
    cocotb.start_soon(Clock(dut.sys_clk, 41668 if SEPARATE else 20834, unit="ps").start())
    if SEPARATE:
        cocotb.start_soon(Clock(dut.pulse_clk, 20834, unit="ps").start())
    for name in ("pulse_rst", "bus_cyc", "bus_stb", "bus_we", "bus_adr", "bus_dat_w", "bus_sel", "aux"):
        if hasattr(dut, name):
            getattr(dut, name).value = 0
    dut.rx.value = 1
    dut.sys_rst.value = 1
    await ClockCycles(dut.sys_clk, 4)
    dut.sys_rst.value = 0
    await ClockCycles(dut.sys_clk, 64)


@cocotb.test()
async def parts_of_words(dut):
    """Parts of words are not written, and an error reports that; bytes that are not selected are
    not even read. Each access ends."""
    await start(dut)
    await access(dut, TRAIN_COUNT, 0x11223344)
    for sel in range(1, 15):
        assert await access(dut, TRAIN_COUNT, 0x55667788, sel) is None
        assert await access(dut, TRAIN_COUNT, sel=sel) == 0x11223344
    assert await access(dut, TRAIN_COUNT, 0x55667788, 0) is not None
    assert await access(dut, TRAIN_COUNT) == 0x11223344
    await access(dut, EVENTS)  # takes the snapshot of the tick
    before = await access(dut, EVENTS + 2)
    await access(dut, EVENTS, sel=0)
    assert await access(dut, EVENTS + 2) == before
    await access(dut, EVENTS, sel=0b0001)
    assert await access(dut, EVENTS + 2) != before


@cocotb.test()
async def reset_of_either_side_resets_both(dut):
    pulse_period = 20834
    cocotb.start_soon(Clock(dut.sys_clk, 41668 if SEPARATE else pulse_period, unit="ps").start())
    if SEPARATE:
        cocotb.start_soon(Clock(dut.pulse_clk, pulse_period, unit="ps").start())
    for name in ("sys_rst", "pulse_rst", "bus_cyc", "bus_stb", "bus_we", "bus_adr", "bus_dat_w", "bus_sel", "aux"):
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


@cocotb.test()
async def accesses_that_are_given_up(dut):
    """They are done whole or not at all, and never answered later; the next access gets its own
    answer. The core does what its words say: a word that was being handed over when its access
    ended does not become that of another access."""
    await start(dut)
    rng, given_up = random.Random(17), 0
    may_be = {TRAIN_COUNT: {0}, TRAIN_START: {0}, LINE: {0}}
    for number, word in enumerate((*may_be, FORMAT)):
        value = 0 if word == LINE else 0x100 + number
        if word == FORMAT:
            value = 3 << 4
        else:
            may_be[word] = {value}
        await access(dut, word, value)
    for _ in range(600):
        word = rng.choice(list(may_be))
        value = rng.choice((0, BREAK_HOLD)) if word == LINE else rng.getrandbits(32)
        if rng.random() < 0.4:
            value = None
        if rng.random() < 0.5:
            answered = await wishbone.give_up(dut, WINDOW + word, value, rng.randrange(12), rng)
            given_up += not answered
            if value is not None:
                may_be[word] = {value} if answered else may_be[word] | {value}
            if rng.random() < 0.2:
                await wishbone.give_up(dut, WINDOW + rng.choice((EVENTS, EVENTS + 2, EVENTS + 5)), None, rng.randrange(30), rng)
        elif value is None:
            read = await access(dut, word)
            assert read in may_be[word], (hex(word), read, may_be[word])
            may_be[word] = {read}
            if word == LINE:
                await ClockCycles(dut.sys_clk, 60)
                assert dut.tx.value == (read != BREAK_HOLD)
        else:
            await access(dut, word, value)
            may_be[word] = {value}
    assert given_up > 150
