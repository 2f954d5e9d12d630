# SPDX-License-Identifier: BSD-2-Clause
"""One PHY against a model of what pins do: levels over time, and instants at which they are sampled or may change.

All times in ps. Instant s of cycle k is that of sample s; cycle k begins at rising edge k of the PHY's clk (ecp5_serdes: half a cycle
later, as its header says). The latencies tested are those of hdl/limits.toml.
"""

import os
import random
from bisect import bisect_left

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge, Timer
from cocotb.utils import get_sim_time

from litex_soc.limits import latencies

KIND = int(os.environ["LITEPULSE_PARAM_KIND"])
S = int(os.environ["LITEPULSE_PARAM_S"])
INPUTS = int(os.environ["LITEPULSE_PARAM_INPUTS"])
PADS = int(os.environ["LITEPULSE_PARAM_PADS"])
DE = int(os.environ["LITEPULSE_PARAM_DE"])
GENERIC, ICE40_DDR, ECP5_DDR, ECP5_SERDES = range(4)
NAME = ("generic", "ice40_ddr", "ecp5_ddr", "ecp5_serdes")[KIND]
LATENCY_IN, LATENCY_OUT = latencies(NAME)
# Cycles from the edge after which tx_oe_i is 1 to the one that makes the pads drive.
ENABLE = (0, 1, 4, 4)[KIND]
TICK = 2500
PERIOD = S * TICK
UNDRIVEN = 2
ALL = 1 << S


def now():
    """Simulated time, ps."""
    return round(get_sim_time("ps"))


class Bench:
    """Clocks, and a record of every level of the two output pads from time 0 on."""

    def __init__(self, dut):
        self.dut = dut
        self.levels = {"tx": [], "de": []}
        for name in self.levels:
            cocotb.start_soon(self.record(name, getattr(dut, f"{name}_seen")))

    async def record(self, name, signal):
        """[(time, level)], one for each time at which the level is another than before."""
        log = self.levels[name]
        while True:
            await ReadOnly()
            level = int(signal.value)
            if not log or log[-1][1] != level:
                log.append((now(), level))
            await signal.value_change

    async def start(self):
        """Clocks as after configuration; the core's outputs are what its reset makes them. Cycle 0 is a past edge when this returns."""
        dut = self.dut
        await Timer(50 * TICK, "ps")
        dut.xtal_run.value = 1
        dut.run.value = 1
        if KIND == ECP5_SERDES:
            await Timer(777 * TICK, "ps")
            dut.locked.value = 1
            await RisingEdge(dut.ready)
        else:
            await Timer(17 * PERIOD + 123, "ps")
            dut.reset.value = 0
        await RisingEdge(dut.clk)
        self.zero = now()
        await self.cycles(8)

    async def cycles(self, number):
        for _ in range(number):
            await RisingEdge(self.dut.clk)
            assert (now() - self.zero) % PERIOD == 0, "clk is not what the bench reckons with"

    async def enable(self):
        """The core leaves its reset: tx_oe_i rises after this edge."""
        await self.cycles(1)
        self.dut.tx_oe_i.value = 1
        await self.cycles(ENABLE + 8)

    def cycle(self):
        """Number of the last rising edge of clk."""
        return (now() - self.zero) // PERIOD

    def instant(self, cycle, sample=0):
        """When sample `sample` of a cycle is taken, or leaves."""
        return self.zero + cycle * PERIOD + sample * TICK + (PERIOD // 2 if KIND == ECP5_SERDES else 0)


class Wave:
    """A level over time: changes [(time, level)], and what it was before the first."""

    def __init__(self, before):
        self.before, self.times, self.after = before, [], []

    def change(self, time, level):
        assert not self.times or time > self.times[-1]
        self.times.append(time)
        self.after.append(level)

    def level(self, time):
        """The level up to `time`: a change at that very time does not count."""
        index = bisect_left(self.times, time)
        return self.after[index - 1] if index else self.before


async def play(dut, waves):
    """Puts waves on rx (channel 0) and aux (1...)."""
    changes = sorted((time, channel, level) for channel, wave in enumerate(waves) for time, level in zip(wave.times, wave.after))
    aux = sum(wave.before << channel for channel, wave in enumerate(waves[1:]))
    for time, channel, level in changes:
        if time > now():
            await Timer(time - now(), "ps")
        if channel:
            aux = aux & ~(1 << channel - 1) | level << channel - 1
            dut.aux_drive.value = aux
        else:
            dut.rx_drive.value = level


async def samples(bench, until):
    """{cycle: [[sample, ...] of rx, of aux 0, ...]} as the core gets them, up to a cycle; cycle = the one they were taken in."""
    dut, rows = bench.dut, {}
    while True:
        await RisingEdge(dut.clk)
        await ReadOnly()
        cycle = bench.cycle() - LATENCY_IN
        word = int(dut.rx_o.value) | int(dut.aux_o.value) << S
        rows[cycle] = [[word >> channel * S + sample & 1 for sample in range(S)] for channel in range(INPUTS + 1)]
        if cycle >= until:
            return rows


def expected(bench, waves, cycle):
    """What `samples` must give for a cycle."""
    return [[wave.level(bench.instant(cycle, sample)) for sample in range(S)] for wave in waves] + [[0] * S] * (INPUTS - PADS)


@cocotb.test()
async def each_instant(dut):
    """A change 1 ps before an instant is in that sample, one 1 ps after it is in the next: every channel, sample and direction."""
    bench = Bench(dut)
    await bench.start()
    waves = [Wave(1)] + [Wave(0) for _ in range(PADS)]
    cycle, cases = bench.cycle() + 5, []
    for channel, wave in enumerate(waves):
        for sample in range(S):
            for side in (-1, 1):
                for level in (1 - wave.before, wave.before):
                    wave.change(bench.instant(cycle, sample) + side, level)
                    cases.append((channel, S * cycle + sample + (side > 0), level))
                    cycle += 3
    assert len(cases) == 4 * S * (PADS + 1)
    cocotb.start_soon(play(dut, waves))
    rows = await samples(bench, cycle + 5)
    for channel, tick, level in cases:
        seen = [rows[t // S][channel][t % S] for t in range(tick - S, tick + 2 * S)]
        assert seen == [1 - level] * S + [level] * 2 * S, f"channel {channel} sample {tick % S} to {level}: {seen}"
    for row, channels in rows.items():
        assert channels == expected(bench, waves, row), f"cycle {row}: {channels}"


@cocotb.test()
async def any_edges(dut):
    """Edges at any time on all channels at once, shorter than a tick too, against the model, sample by sample."""
    bench = Bench(dut)
    await bench.start()
    waves = [Wave(1)] + [Wave(0) for _ in range(PADS)]
    cycles = 3000
    first = bench.cycle() + 3
    for wave in waves:
        level, time = wave.before, bench.instant(first)
        while True:
            time += random.randrange(1, random.choice((TICK, 2 * TICK, 3 * TICK, 4 * TICK, 10 * PERIOD)))
            time += (time - bench.zero) % TICK == 0  # what is seen of a change at the very instant is undefined
            if time > bench.instant(first + cycles):
                break
            level ^= 1
            wave.change(time, level)
    cocotb.start_soon(play(dut, waves))
    rows = await samples(bench, first + cycles)
    assert len(rows) >= cycles
    for row, channels in rows.items():
        assert channels == expected(bench, waves, row), f"cycle {row}: {channels}"
    assert all(len({tuple(channels[channel]) for channels in rows.values()}) == 2**S for channel in range(PADS + 1)), "patterns missing"


@cocotb.test()
async def each_tick(dut):
    """Random samples leave at their instants, for exactly one tick, without a glitch: all changes of the pads, to the ps."""
    bench = Bench(dut)
    await bench.start()
    await bench.enable()
    first, cycles, sent = bench.cycle() + 1, 1500, []
    for _ in range(cycles):
        await bench.cycles(1)
        sent.append((random.randrange(ALL), random.randrange(ALL)))
        dut.tx_i.value, dut.de_i.value = sent[-1]
    await bench.cycles(1)
    dut.tx_i.value, dut.de_i.value = ALL - 1, 0
    await bench.cycles(LATENCY_OUT + 3)
    for index, name in enumerate(("tx", "de")[: 1 + DE]):
        level, changes = 1 - index, []
        for number, words in enumerate([*sent, (ALL - 1, 0)]):
            for sample in range(S):
                if words[index] >> sample & 1 != level:
                    level ^= 1
                    changes.append((bench.instant(first + number + LATENCY_OUT - 1, sample), level))
        seen = [change for change in bench.levels[name] if change[0] >= bench.instant(first)]
        assert len(changes) > cycles * S // 3
        assert seen == changes, next((name, i, a, b) for i, (a, b) in enumerate(zip(seen + [None], changes + [None])) if a != b)


@cocotb.test()
async def loop(dut):
    """Over a wire from tx, a level launched at tick T is first received in the sample of T + 1, whatever the sample, on all inputs."""
    bench = Bench(dut)
    await bench.start()
    await bench.enable()
    dut.rx_wire.value, dut.aux_wire.value = 1, (1 << PADS) - 1
    await bench.cycles(12)
    launches = []  # (tick of the change, level)
    reader = cocotb.start_soon(samples(bench, bench.cycle() + 60 * S))
    for sample in range(S):
        for width in (1, S + 1, 3 * S):  # ticks low
            low = range(sample, sample + width)
            begin = bench.cycle() + 1
            for cycle in range(8):
                await bench.cycles(1)
                dut.tx_i.value = sum((S * cycle + bit not in low) << bit for bit in range(S))
            tick = S * (begin + LATENCY_OUT - 1) + sample
            launches += [(tick, 0), (tick + width, 1)]
    rows = await reader
    received = {}
    for channel in range(PADS + 1):
        level, seen = 1, []
        for cycle, channels in sorted(rows.items()):
            for sample, sampled in enumerate(channels[channel]):
                if sampled != level:
                    level = sampled
                    seen.append((S * cycle + sample, level))
        received[channel] = seen
    assert len(launches) == 6 * S
    for channel, seen in received.items():
        assert seen == [(tick + 1, level) for tick, level in launches], f"channel {channel}: {seen}, launched {launches}"


@cocotb.test()
async def undriven(dut):
    """The output pads drive nothing from time 0 until tx_oe_i, with and without clocks; then tx is 1 and de 0, without a glitch."""
    bench = Bench(dut)
    await Timer(1, "ps")
    assert bench.levels == {"tx": [(0, UNDRIVEN)], "de": [(0, UNDRIVEN)]}, bench.levels
    await Timer(1000 * TICK, "ps")
    await bench.start()
    await bench.cycles(100)
    assert bench.levels == {"tx": [(0, UNDRIVEN)], "de": [(0, UNDRIVEN)]}, bench.levels
    begin = bench.cycle() + 1
    await bench.enable()
    await bench.cycles(100)
    on = bench.zero + (begin + ENABLE) * PERIOD
    assert bench.levels["tx"] == [(0, UNDRIVEN), (on, 1)], bench.levels
    assert bench.levels["de"] == [(0, UNDRIVEN), (on, 0)][: 1 + DE], bench.levels
    # the first level is the core's own: its samples of the cycle of tx_oe_i reach the pad no later
    assert bench.instant(begin + LATENCY_OUT - 1) <= on + (PERIOD // 2 if KIND == ECP5_SERDES else 0)


@cocotb.test()
async def clock_lost(dut):
    """The pads let go when their reset comes, without a clock; what the core shows for two cycles after that does not reach them."""
    bench = Bench(dut)
    await bench.start()
    await bench.enable()
    await bench.cycles(1)
    dut.tx_i.value, dut.de_i.value = 0, ALL - 1  # a break, say
    await bench.cycles(20)
    assert (bench.levels["tx"][-1][1], bench.levels["de"][-1][1]) == (0, DE or UNDRIVEN)
    await Timer(321, "ps")
    if KIND == ECP5_SERDES:
        dut.locked.value = 0
        await RisingEdge(dut.rst)
    else:
        dut.run.value = 0
        await Timer(10 * TICK, "ps")
        dut.reset.value = 1
    lost = now()
    await Timer(10, "ps")
    for name, log in bench.levels.items():
        if name == "tx" or DE:
            assert log[-1] == (lost, UNDRIVEN), f"{name}: {log[-3:]}, reset at {lost}"
    count = {name: len(log) for name, log in bench.levels.items()}
    await Timer(200 * TICK, "ps")
    if KIND == ECP5_SERDES:
        dut.locked.value = 1
    else:
        dut.reset.value = 0
        await Timer(50 * TICK, "ps")
        dut.run.value = 1
    for _ in range(2):
        await RisingEdge(dut.clk)  # the core's reset comes only now
    dut.tx_oe_i.value, dut.tx_i.value, dut.de_i.value = 0, ALL - 1, 0
    for _ in range(50):
        await RisingEdge(dut.clk)
    assert {name: len(log) for name, log in bench.levels.items()} == count, bench.levels
    dut.tx_oe_i.value = 1
    for _ in range(20):
        await RisingEdge(dut.clk)
    assert [level for _, level in bench.levels["tx"][count["tx"] :]] == [1]
    assert [level for _, level in bench.levels["de"][count["de"] :]] == [0] * DE
