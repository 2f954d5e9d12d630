# SPDX-License-Identifier: BSD-2-Clause
"""Start-up of the ECP5's geared pads: the sequencer alone, and with the clocks and pads it starts. All times in ps."""

import os
import random

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge, Timer
from cocotb.utils import get_sim_time

WAIT = int(os.environ.get("LITEPULSE_PARAM_WAIT", 8))
HALF = 20000
CONFIGURED = (1, 1, 0)  # stop, gear_rst, ready


def now():
    """Simulated time, ps."""
    return round(get_sim_time("ps"))


async def cycle(dut, locked):
    """One cycle of clk; `locked` takes its new value somewhere in it. Returns (stop, gear_rst, ready) after the edge at its end."""
    early = random.randrange(1, HALF)
    await Timer(early, "ps")
    dut.locked.value = locked
    await Timer(HALF - early, "ps")
    dut.clk.value = 1
    await ReadOnly()
    seen = int(dut.stop.value), int(dut.gear_rst.value), int(dut.ready.value)
    await Timer(HALF, "ps")
    dut.clk.value = 0
    return seen


async def configured(dut):
    """Before any clock; `locked` may be anything."""
    dut.clk.value, dut.locked.value = 0, 1
    await Timer(1, "ps")
    assert (int(dut.stop.value), int(dut.gear_rst.value), int(dut.ready.value)) == CONFIGURED
    await Timer(10 * HALF, "ps")
    assert (int(dut.stop.value), int(dut.gear_rst.value), int(dut.ready.value)) == CONFIGURED


STARTED = [CONFIGURED] * (WAIT + 1) + [(1, 0, 0)] * WAIT + [(0, 0, 0)] * WAIT + [(0, 0, 1)] * 20  # after each edge that saw the lock


@cocotb.test()
async def order(dut):
    """Reset released, clock started, ready: WAIT cycles apart, the first WAIT + 2 edges after the lock; without a lock, nothing."""
    await configured(dut)
    for _ in range(50):
        assert await cycle(dut, 0) == CONFIGURED
    assert [await cycle(dut, 1) for _ in STARTED] == STARTED


@cocotb.test()
async def lost(dut):
    """A lock lost after any number of cycles, for one cycle or more: stop at once, reset WAIT cycles later, and the start once more."""
    await configured(dut)
    for length in range(1, 3 * WAIT + 12):
        for gap in (1, 2, WAIT, 3 * WAIT):
            for _ in range(4 * WAIT):
                outputs = await cycle(dut, 0)
            assert outputs == CONFIGURED
            seen = [await cycle(dut, 1) for _ in range(length)]
            assert seen == STARTED[:length]
            after = [await cycle(dut, 0) for _ in range(gap)] + [await cycle(dut, 1) for _ in range(6 * WAIT)]
            seen += after
            # two edges carry the loss in; the third shows it
            stop = [outputs[0] for outputs in seen]
            if 0 in stop[: length + 2]:
                assert STARTED[length + 1] == seen[length + 1] and seen[length + 2] == (1, 0, 0), seen
                assert seen[length + 2 : length + 2 + WAIT] == [(1, 0, 0)] * WAIT
                assert seen[length + 2 + WAIT] == CONFIGURED
            # the clock doesn't run again before a whole reset
            reset = seen.index(CONFIGURED, length + 2)
            assert all(outputs == (1, 0, 0) for outputs in seen[length + 2 : reset]), seen
            restart = next(i for i in range(reset, len(seen)) if seen[i][0] == 0)
            assert seen[restart - WAIT : restart] == [(1, 0, 0)] * WAIT
            assert seen[restart - 2 * WAIT : restart - WAIT] == [CONFIGURED] * WAIT
            assert seen[-1] == (0, 0, 1)


@cocotb.test()
async def any_lock(dut):
    """A lock that comes and goes at random: each step WAIT cycles from the last, in the one order."""
    await configured(dut)
    allowed = {(CONFIGURED, (1, 0, 0)), ((1, 0, 0), (0, 0, 0)), ((0, 0, 0), (0, 0, 1)), ((1, 0, 0), CONFIGURED)}
    losing = {((0, 0, 0), (1, 0, 0)), ((0, 0, 1), (1, 0, 0))}
    state, since, met = CONFIGURED, 0, set()
    for _ in range(600):
        level = random.randrange(2)
        for _ in range(random.choice((1, 2, 3, WAIT, random.randrange(1, 5 * WAIT)))):
            outputs, since = await cycle(dut, level), since + 1
            if outputs != state:
                met.add((state, outputs))
                assert (state, outputs) in allowed | losing, (state, outputs)
                assert since >= WAIT or (state, outputs) in losing, (state, outputs, since)
                state, since = outputs, 0
    assert met == allowed | losing


async def carry(dut, late):
    """Brings gear_rst to each reset, `late[i]` after it."""

    async def one(index, level):
        await Timer(late[index], "ps")
        dut.rst[index].value = level

    while True:
        await dut.gear_rst.value_change
        level = int(dut.gear_rst.value)
        for index in range(len(late)):
            cocotb.start_soon(one(index, level))


async def word_at(dut):
    """Sends one word; returns for each pad when it first saw it and what."""
    pads = len(dut.pad)
    await RisingEdge(dut.clk)
    dut.word.value = 0b0001
    await RisingEdge(dut.clk)
    dut.word.value = 0
    rows = []
    for _ in range(8):
        await RisingEdge(dut.clk)
        await ReadOnly()
        got = int(dut.got.value)
        rows.append([got >> 4 * pad & 15 for pad in range(pads)])
    await Timer(1, "ps")
    return [[row[pad] for row in rows] for pad in range(pads)]


async def restart(dut, skew, stopped):
    """Loses and finds the lock, with resets up to `skew` late; returns what each pad receives of one word, once all has come to rest."""
    late = [random.randrange(1, skew) for _ in range(len(dut.pad) + 1)]
    dut.never_stop.value = 0 if stopped else 1
    carrier = cocotb.start_soon(carry(dut, late))
    dut.locked.value = 0
    await Timer(60 * 40022, "ps")
    dut.locked.value = 1
    await RisingEdge(dut.ready)
    await Timer(100000, "ps")
    seen = await word_at(dut)
    carrier.cancel()
    return seen


@cocotb.test()
async def in_step(dut):
    """With the sequencer every pad receives its neighbour's output alike and one tick late, at every start, however late its reset."""
    for _ in range(40):
        seen = await restart(dut, 7 * 40022, stopped=True)
        assert seen == [[0, 0, 0, 0b0010, 0, 0, 0, 0]] * len(dut.pad), seen


@cocotb.test()
async def out_of_step(dut):
    """Were the clock not stopped, pads would differ: what the sequencer is for, and that the check above can tell."""
    starts = [await restart(dut, 7 * 40022, stopped=False) for _ in range(40)]
    assert any(any(seen != starts[0][0] for seen in start) for start in starts)
