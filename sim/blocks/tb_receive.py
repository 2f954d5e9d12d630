# SPDX-License-Identifier: BSD-2-Clause
"""Promise 6 for received bytes: what is stored, what is lost, and what the stream says of it."""

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge

from litex_soc.regmap import LOST_STOP
from sim.blocks.bundles import Bundle

SEED = int(os.environ.get("LITEPULSE_RUN_SEED", "1"))
DEPTH = (1 << int(os.environ.get("LITEPULSE_PARAM_RING_AW", "4"))) - 1  # records
APART = 10  # cycles from a byte to the next
OVERFLOW, COUNT = 1 << 12, 1 << 15


class Writer:
    """Puts the records that are written together; look() once in each cycle."""

    def __init__(self, dut):
        self.dut, self.words = dut, []

    def look(self):
        """(tick, info) of a record as a reader sees it, when its last word is written."""
        dut = self.dut
        if not dut.rx_wr.value:
            assert not self.words, "a pause within a record"
            return None
        assert int(dut.rx_wword.value) == len(self.words)
        self.words.append(int(dut.rx_wdata.value))
        if len(self.words) < 4:
            return None
        low, middle, info, high = self.words
        self.words = []
        return low | middle << 16 | high << 32, info


def lost_shown(dut):
    """What the header would show."""
    return (int(dut.rx_nlost.value) ^ 0xFFFFFFFF) if dut.rx_gap.value else 0


@cocotb.test()
async def test_promise6_bytes(dut):
    """Random bytes and a reader that stops now and then: nothing is lost in silence, every gap has tick and number."""
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    rng, received = random.Random(SEED), Bundle(dut.received, "received_t")
    dut.rst.value = 1
    dut.rec_valid.value = 0
    dut.rx_free.value = DEPTH
    await RisingEdge(dut.clk)
    await RisingEdge(dut.clk)
    dut.rst.value = 0
    free, due, patience, faults = DEPTH, 5, 0, 0
    sent, stored = [], []  # [record, when it came, whether there was room when it was looked up]; ((tick, info), when it was begun)
    writer, looking, before, shown = Writer(dut), None, free, 0
    for n in range(60000):
        # each byte with the room there is when it comes, a cycle before it is written
        come = n >= due
        dut.rec_valid.value = int(come)
        if come:
            record = (rng.getrandbits(48), rng.getrandbits(16) & ~(OVERFLOW | COUNT))
            received(tick=record[0], flags=record[1] >> 9, data=record[1] & 511)
            sent.append([record, n, None])
            looking = sent[-1]
            due = n + rng.choice([APART, APART + 1, rng.randrange(APART, 60)])
        else:
            received(tick=rng.getrandbits(48), flags=0, data=0)
        if patience:
            patience -= 1
        elif rng.random() < 0.01:
            patience = rng.randrange(500)
        elif free < DEPTH and rng.random() < 0.3:
            free += min(DEPTH - free, rng.choice([1, 1, 2, 5]))
        dut.rx_free.value = free
        await ReadOnly()
        faults += int(dut.fault.value)
        if dut.rx_wr.value:
            assert free > 0
        if record := writer.look():
            stored.append((record, n - 3))
            free -= 1
        # the room in the cycle before decides, when no count is being written any more
        if looking and looking[1] < n and not dut.rx_wr.value:
            looking[2] = before
            looking = None
        before = free
        lost = lost_shown(dut)
        shown = max(shown, lost)
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
            assert more == OVERFLOW | COUNT and later == when + 4
            assert count > 0 and tick == sent[place][0][0]
            # the first found no room, all came before the first of the two records was written
            assert sent[place][2] == 0
            assert sent[place + count - 1][1] <= when + 3
            assert place + count == len(sent) or sent[place + count][1] > when + 3
            place, number, gaps = place + count, number + 2, gaps + 1
        else:
            assert (tick, info) == sent[place][0]
            # at once, or when the count has been written that was being written
            assert when == sent[place][1] + 2 or number and stored[number - 1][1] + 5 == when <= sent[place][1] + 5
            place, number = place + 1, number + 1
    assert len(sent) - place <= lost + 2
    assert gaps > 20 and faults >= gaps and shown > 1
    dut._log.info(f"{len(sent)} bytes, {gaps} gaps")


@cocotb.test()
async def test_promise6_count_stops(dut):
    """A gap's count stops at LOST_STOP and says so, and never wraps; a count below it is exact. The next gap counts from 1."""
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    received = Bundle(dut.received, "received_t")
    for begin, more in ((LOST_STOP - 5, 4), (LOST_STOP - 5, 5), (LOST_STOP - 5, 6), (LOST_STOP - 5, 300), (LOST_STOP - 5, 1)):
        dut.rst.value = 1
        dut.rec_valid.value = 0
        dut.rx_free.value = 0
        await RisingEdge(dut.clk)
        await RisingEdge(dut.clk)
        dut.rst.value = 0

        async def byte(tick):
            dut.rec_valid.value = 1
            received(tick=tick, flags=0, data=tick & 255)
            await RisingEdge(dut.clk)
            dut.rec_valid.value = 0
            for _ in range(APART - 1):
                await RisingEdge(dut.clk)

        async def gap():
            """Room comes: what is written of the gap, (tick, number, flagged)."""
            dut.rx_free.value = DEPTH
            writer, records = Writer(dut), []
            for _ in range(12):
                await ReadOnly()
                if record := writer.look():
                    records.append(record)
                await RisingEdge(dut.clk)
            (tick, first), (number, second) = records
            assert (first, second & ~1) == (OVERFLOW, OVERFLOW | COUNT)
            return tick, number, second & 1

        await byte(1000)
        assert lost_shown(dut) == 1
        dut.nlost.value = begin ^ 0xFFFFFFFF  # as if this many had come
        await RisingEdge(dut.clk)
        await RisingEdge(dut.clk)
        for n in range(more):
            await byte(2000 + n)
            # the header shows it
            assert lost_shown(dut) == min(begin + n + 1, LOST_STOP)
        tick, number, flagged = await gap()
        total = begin + more
        assert tick == 1000 and number == min(total, LOST_STOP)
        assert flagged if total > LOST_STOP else number == total
        assert not flagged or number == LOST_STOP
        assert lost_shown(dut) == 0
        dut.rx_free.value = 0
        await RisingEdge(dut.clk)
        for n in range(3):
            await byte(3000 + n)
        assert await gap() == (3000, 3, 0)
