# SPDX-License-Identifier: BSD-2-Clause
"""Promise 6 for received bytes: what is stored, what is lost, and what the stream says of it."""

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge

from litex_soc.regmap import LOST_STOP

SEED = int(os.environ.get("LITEPULSE_RUN_SEED", "1"))
DEPTH = 1 << int(os.environ.get("LITEPULSE_PARAM_RX_AW", "4"))
OVERFLOW, COUNT = 1 << 12, 1 << 15


def decode(word):
    """(tick, info) of a record as a reader sees it."""
    low, high = word & 0xFFFFFFFF, word >> 32
    return low | (high >> 16) << 32, high & 0xFFFF


@cocotb.test()
async def test_promise6_bytes(dut):
    """Random bytes and a reader that stops now and then: nothing is lost in silence, every gap has tick and number."""
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    rng = random.Random(SEED)
    dut.rst.value = 1
    dut.rec_valid.value = 0
    dut.rx_free.value = DEPTH
    await RisingEdge(dut.clk)
    await RisingEdge(dut.clk)
    dut.rst.value = 0
    free, due, patience, faults = DEPTH, 5, 0, 0
    sent, stored = [], []
    for n in range(60000):
        # each byte with the room there is when it comes, a cycle before it is written
        come = n >= due
        dut.rec_valid.value = int(come)
        if come:
            record = (rng.getrandbits(48), rng.getrandbits(16) & ~(OVERFLOW | COUNT))
            dut.rec_tick.value, dut.rec_flags.value, dut.rec_data.value = record[0], record[1] >> 9, record[1] & 511
            sent.append([record, n, None])
            due = n + rng.choice([4, 5, rng.randrange(4, 40)])
        else:
            dut.rec_tick.value, dut.rec_flags.value, dut.rec_data.value = rng.getrandbits(48), 0, 0
        if patience:
            patience -= 1
        elif rng.random() < 0.01:
            patience = rng.randrange(200)
        elif free < DEPTH and rng.random() < 0.3:
            free += min(DEPTH - free, rng.choice([1, 1, 2, 5]))
        dut.rx_free.value = free
        await ReadOnly()
        if come:
            sent[-1][2] = free - int(dut.rx_wr.value)
        faults += int(dut.fault.value)
        if dut.rx_wr.value:
            assert free > 0
            stored.append((decode(int(dut.rx_wdata.value)), n))
            free -= 1
        lost = int(dut.rx_lost.value)
        await RisingEdge(dut.clk)

    # read it as software would
    place, gaps, number = 0, 0, 0
    while number < len(stored):
        (tick, info), when = stored[number]
        if info & OVERFLOW:
            assert not info & COUNT
            if number + 1 == len(stored):
                break
            (count, more), later = stored[number + 1]
            assert more == OVERFLOW | COUNT and later == when + 1
            assert count > 0 and tick == sent[place][0][0]
            # the first found no room, all came before the gap was told
            assert sent[place][2] == 0
            assert sent[place + count - 1][1] <= when
            assert place + count == len(sent) or sent[place + count][1] >= when
            place, number, gaps = place + count, number + 2, gaps + 1
        else:
            assert (tick, info) == sent[place][0]
            assert when == sent[place][1] + 1
            place, number = place + 1, number + 1
    assert len(sent) - place <= lost + 1
    assert gaps > 20 and faults >= gaps
    dut._log.info(f"{len(sent)} bytes, {gaps} gaps")


@cocotb.test()
async def test_promise6_count_stops(dut):
    """A gap's count stops at LOST_STOP and says so, and never wraps; a count below it is exact. The next gap counts from 1."""
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    for begin, more in ((LOST_STOP - 5, 4), (LOST_STOP - 5, 5), (LOST_STOP - 5, 6), (LOST_STOP - 5, 300), (LOST_STOP - 5, 1)):
        dut.rst.value = 1
        dut.rec_valid.value = 0
        dut.rx_free.value = 0
        await RisingEdge(dut.clk)
        await RisingEdge(dut.clk)
        dut.rst.value = 0

        async def byte(tick):
            dut.rec_valid.value, dut.rec_tick.value, dut.rec_flags.value, dut.rec_data.value = 1, tick, 0, tick & 255
            await RisingEdge(dut.clk)
            dut.rec_valid.value = 0
            for _ in range(4):
                await RisingEdge(dut.clk)

        async def gap():
            """Room comes: what is written of the gap, (tick, number, flagged)."""
            dut.rx_free.value = DEPTH
            words = []
            for _ in range(6):
                await ReadOnly()
                if dut.rx_wr.value:
                    words.append(decode(int(dut.rx_wdata.value)))
                await RisingEdge(dut.clk)
            (tick, first), (number, second) = words
            assert (first, second & ~1) == (OVERFLOW, OVERFLOW | COUNT)
            return tick, number, second & 1

        await byte(1000)
        assert int(dut.rx_lost.value) == 1
        dut.lost.value = begin  # as if so many had come
        await RisingEdge(dut.clk)
        await RisingEdge(dut.clk)
        for n in range(more):
            await byte(2000 + n)
            # the header shows it
            assert int(dut.rx_lost.value) == min(begin + n + 1, LOST_STOP)
        tick, number, flagged = await gap()
        total = begin + more
        assert tick == 1000 and number == min(total, LOST_STOP)
        assert flagged if total > LOST_STOP else number == total
        assert not flagged or number == LOST_STOP
        assert int(dut.rx_lost.value) == 0
        dut.rx_free.value = 0
        await RisingEdge(dut.clk)
        for n in range(3):
            await byte(3000 + n)
        assert await gap() == (3000, 3, 0)
