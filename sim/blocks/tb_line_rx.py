# SPDX-License-Identifier: BSD-2-Clause
"""The receiver alone, against what was put on the line and against a reading of the waveform in fractions."""

import os
import random
from bisect import bisect_right
from fractions import Fraction
from math import floor

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge

from sim.blocks.bundles import Bundle

S = int(os.environ.get("LITEPULSE_PARAM_S", "1"))
SEED = int(os.environ.get("LITEPULSE_RUN_SEED", "1"))
BASES = (0, (1 << 16) - 300, (1 << 32) - 300, (1 << 47) + 77)  # where the tick count stands in cycle 0
STOPS = (Fraction(1), Fraction(3, 2), Fraction(2))
PARITY, FRAMING, BREAK, OWN, NOISE = 1, 2, 4, 16, 32
BACK = 1 if S == 1 else 2  # cycles from the end of a frame or break to its strobe


class Format:
    def __init__(self, rng, period=None):
        self.period = period
        self.bits = rng.randrange(5, 9)
        self.parity = rng.randrange(5)
        self.stop = rng.randrange(3)
        self.invert = rng.getrandbits(1)

    def parity_of(self, byte):
        ones = sum(int(b) for b in f"{byte:b}")
        return (None, 1 - ones % 2, ones % 2, 1, 0)[self.parity]

    def levels(self, byte, stop=1):
        """Mark/space of each bit time before the stop bits, and the first stop bit."""
        out = [0] + [byte >> k & 1 for k in range(self.bits)]
        return out + ([self.parity_of(byte)] if self.parity else []) + [stop]

    @property
    def length(self):
        return (1 + self.bits + (self.parity > 0) + STOPS[self.stop]) * self.period


class Line:
    """A waveform: list of (tick, level), mark = 1."""

    def __init__(self):
        self.edges = [(-(10**9), 1)]

    def set(self, tick, level):
        assert tick > self.edges[-1][0]
        if level != self.edges[-1][1]:
            self.edges.append((tick, level))

    def at(self, tick):
        return self.edges[bisect_right(self.edges, (tick, 2)) - 1][1]

    def send(self, start, levels, period):
        for k, level in enumerate(levels):
            self.set(start + floor(k * period), level)
        return start + floor(len(levels) * period)


def read(line, fmt, until):
    """What a receiver must make of the line: (tick, flags, data, end) and the ends of breaks."""
    frames, ends, number, p = [], [], 1, Fraction(fmt.period)
    while number < len(line.edges):
        start, level = line.edges[number]
        if level or start >= until:
            number += 1
            continue

        def vote(k, start=start):
            middle = floor((k + Fraction(1, 2)) * p / S)
            votes = [line.at(start + (middle + d) * S) for d in (-1, 0, 1)]
            return sorted(votes)[1], len(set(votes)) > 1, start + middle * S

        first, noise, after = vote(0)
        if first == 0:
            bits = [vote(k) for k in range(1, fmt.bits + (fmt.parity > 0) + 2)]
            after = bits[-1][2]
            values = [b[0] for b in bits]
            byte = sum(v << i for i, v in enumerate(values[: fmt.bits]))
            flags = NOISE if noise or any(b[1] for b in bits) else 0
            data = byte
            if fmt.parity:
                data |= values[fmt.bits] << 8
                flags |= PARITY if values[fmt.bits] != fmt.parity_of(byte) else 0
            flags |= 0 if values[-1] else FRAMING
            if not any(values):
                flags |= BREAK
                ends.append(next((t for t, v in line.edges if t > after and v), None))
            frames.append((start, flags, data, start + floor(fmt.length)))
        number = next((i for i, (t, _) in enumerate(line.edges) if i > number and t > after), len(line.edges))
    return frames, ends


def young(now):
    """What the time base says of the upper parts of a count."""
    return sum(((now & ((1 << top) - 1)) >> 7 == 0) << i for i, top in enumerate((16, 32, 48)))


async def play(dut, line, fmt, cycles, delay, busy=lambda tick: 0):
    """Plays the waveform, returns (records, ends of frames, ends of breaks) seen. Cycle 0 begins at tick 0 of the waveform."""
    base = BASES[(fmt.bits + fmt.stop + int(fmt.period)) % len(BASES)]
    dut.rst.value = 1
    dut.enable.value = 0
    dut.now.value, dut.young.value = base, young(base)
    dut.line_delay.value = delay
    dut.period.value = int(fmt.period * 256)
    Bundle(dut.format, "frame_format_t")(data_bits=fmt.bits - 5, parity=fmt.parity, stop=fmt.stop)
    dut.invert.value = fmt.invert
    dut.cond_line.value = (2**S - 1) * (1 - fmt.invert)
    for _ in range(4):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    dut.enable.value = 1
    records, ends, breaks = [], [], []
    for n in range(cycles):
        dut.now.value, dut.young.value = base + n, young(base + n)
        dut.cond_line.value = sum((line.at((n - delay) * S + s) ^ fmt.invert) << s for s in range(S))
        dut.cond_next.value = sum((line.at((n + 1 - delay) * S + s) ^ fmt.invert) << s for s in range(S))
        dut.line_own.value = int(busy(n * S))
        await ReadOnly()
        if dut.rec_valid.value:
            records.append(((int(dut.rec_tick.value) - base * S) % 2**48, int(dut.rec_flags.value), int(dut.rec_data.value)))
        if dut.byte_end.value:
            ends.append((n - delay - BACK) * S + int(dut.byte_end_off.value))
        if dut.brk_stb.value:
            breaks.append((n - delay - BACK) * S + int(dut.brk_off.value))
        await RisingEdge(dut.clk)
    return records, ends, breaks


def different(a, b):
    """Where two lists part."""
    return next(((n, x, y) for n, (x, y) in enumerate(zip(a, b)) if x != y), (len(a), len(b)))


def compare(fmt, seen, line, until):
    records, ends, breaks = seen
    frames, marks = read(line, fmt, until)
    assert records == [f[:3] for f in frames], different(records, [f[:3] for f in frames])
    wanted = [f[3] for f in frames]
    assert ends == wanted, different(ends, wanted)
    assert breaks == [mark for mark in marks if mark is not None]
    return frames


@cocotb.test()
async def test_every_format_back_to_back(dut):
    """Frames without a gap at 4 cycles a bit and more, exact sender: every byte, stamp and end exact and without any flag."""
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    rng, total = random.Random(SEED), 0
    for number in range(60):
        low = 4 * S * 256
        period = Fraction(rng.choice([low, low + 1, low + rng.randrange(256 * S), rng.randrange(low, 12 * low)]), 256)
        fmt = Format(rng, period)
        fmt.stop = number % 3
        line, start, sent = Line(), rng.randrange(20 * S, 30 * S), []
        for _ in range(8):
            byte = rng.getrandbits(fmt.bits)
            sent.append((start, 0, byte | ((fmt.parity_of(byte) or 0) << 8)))
            line.send(start, fmt.levels(byte), period)
            start += floor(fmt.length) + rng.choice([0, 0, 0, 1, rng.randrange(5 * S)])
        delay = rng.choice([0, rng.randrange(63)])
        seen = await play(dut, line, fmt, start // S + delay + 20, delay)
        assert seen[0] == sent, different(seen[0], sent)
        compare(fmt, seen, line, start)
        total += len(sent)
    assert total == 480


@cocotb.test()
async def test_mismatch(dut):
    """From 16 ticks a bit a sender 2 % off is read without an error, frames back to back."""
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    rng = random.Random(SEED + 1)
    for number in range(40):
        fmt = Format(rng, Fraction(max(16, 4 * S) * 256 + rng.choice([0, rng.randrange(3000)]), 256))
        theirs = fmt.period * Fraction(100 + (-2, 2, -1, 1)[number % 4], 100)
        line, start, sent = Line(), 20 * S, []
        for _ in range(8):
            byte = rng.getrandbits(fmt.bits)
            sent.append((start, byte | ((fmt.parity_of(byte) or 0) << 8)))
            start = line.send(start, [*fmt.levels(byte), *[1] * floor(STOPS[fmt.stop] - 1)], theirs)
        seen = await play(dut, line, fmt, start // S + 30, 0)
        assert [(t, d) for t, f, d in seen[0]] == sent
        assert all(f & ~NOISE == 0 for _, f, _ in seen[0])
        assert seen[1] == [t + floor(fmt.length) for t, _ in sent]


@cocotb.test()
async def test_one_stop_bit_where_two_are_asked(dut):
    """A sender with fewer stop bits than the profile: nothing is missed, ends are still those of the profile."""
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    rng = random.Random(SEED + 2)
    for number in range(30):
        fmt = Format(rng, Fraction(rng.choice([4 * S * 256, rng.randrange(4 * S * 256, 40 * S * 256)]), 256))
        fmt.stop = 1 + number % 2
        line, start, sent = Line(), 20 * S, []
        for _ in range(6):
            byte = rng.getrandbits(fmt.bits)
            sent.append(start)
            start = line.send(start, fmt.levels(byte), fmt.period)
            # even before the stop bit is over
            start -= rng.choice([0, floor(fmt.period / 2) - 2 * S]) if fmt.period > 6 * S else 0
        seen = await play(dut, line, fmt, start // S + floor(fmt.length / S) + 30, 0)
        assert [r[0] for r in seen[0]] == sent
        compare(fmt, seen, line, start)


@cocotb.test()
async def test_noise_and_breaks(dut):
    """Anything on the line is read as the rules say: spikes, false starts, broken stop bits, breaks."""
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    rng, kinds = random.Random(SEED + 3), {}
    for _ in range(40):
        fmt = Format(rng, Fraction(rng.randrange(4 * S * 256, 24 * S * 256), 256))
        line, at, cycles = Line(), 20 * S, 0
        while at < 2500 * S:
            what = rng.randrange(5)
            if what == 0:  # a spike or a false start
                line.set(at, 0)
                at += rng.randrange(1, max(2, floor(fmt.period)))
                line.set(at, 1)
            elif what == 1:  # a break
                line.set(at, 0)
                at += floor(fmt.period * rng.randrange(6, 30)) + rng.randrange(S)
                line.set(at, 1)
            else:  # a frame, perhaps with a wrong parity or stop bit, perhaps with spikes
                levels = fmt.levels(rng.getrandbits(fmt.bits), stop=rng.choice([1, 1, 1, 0]))
                if rng.random() < 0.3:
                    levels[-2] ^= 1
                wave = Line()
                end = wave.send(at, [*levels, 1], fmt.period)
                spikes = {rng.randrange(at + 1, end): rng.randrange(1, 3) for _ in range(rng.choice([0, 0, 1, 2]))}
                for tick in range(at, end):
                    level = wave.at(tick) ^ any(t <= tick < t + n for t, n in spikes.items())
                    if level != line.edges[-1][1]:
                        line.set(tick, level)
                at = end
                if line.edges[-1][1] == 0:
                    line.set(at, 1)
            at += rng.choice([S, rng.randrange(1, 40 * S), floor(fmt.length) + S])
        delay = rng.choice([0, 5])
        cycles = at // S + 2 * floor(fmt.length / S) + 100
        seen = await play(dut, line, fmt, cycles, delay)
        for frame in compare(fmt, seen, line, at):
            for flag in (PARITY, FRAMING, BREAK, NOISE):
                kinds[flag] = kinds.get(flag, 0) + bool(frame[1] & flag)
            kinds[0] = kinds.get(0, 0) + (frame[1] == 0)
        kinds["ends"] = kinds.get("ends", 0) + len(seen[2])
    dut._log.info(f"seen: {kinds}")
    assert all(kinds[k] > 20 for k in (0, PARITY, FRAMING, BREAK, NOISE, "ends"))


@cocotb.test()
async def test_own(dut):
    """OWN: our transmitter was busy between start edge and storing."""
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    rng, seen_own = random.Random(SEED + 4), set()
    for _ in range(60):
        fmt = Format(rng, Fraction(10 * S))
        line, start = Line(), 50 * S
        line.send(start, fmt.levels(0x15), fmt.period)
        stored = start // S + floor((len(fmt.levels(0)) - Fraction(1, 2)) * 10)
        a = rng.randrange(20, stored + 30)
        b = a + rng.randrange(1, 60)
        seen = await play(dut, line, fmt, stored + 60, 0, lambda tick, a=a, b=b: a <= tick // S < b)
        own = bool(seen[0][0][1] & OWN)
        if b <= start // S - 1 or a > stored + 2:
            assert not own
        elif b > start // S + 1 and a < stored:
            assert own
        seen_own.add(own)
    assert seen_own == {True, False}


@cocotb.test()
async def test_disable(dut):
    """Switched off nothing is received; a frame under way is dropped, and one that is stored already does not come to its end."""
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    rng = random.Random(SEED + 5)
    fmt = Format(rng, Fraction(8 * S))
    fmt.invert = 0
    line = Line()
    line.send(50 * S, fmt.levels(0), fmt.period)
    line.send(400 * S, fmt.levels(0x15), fmt.period)
    stored = 51 + floor((len(fmt.levels(0)) - Fraction(1, 2)) * 8)
    for off in (*range(51, 90, 7), stored + 2):

        async def switch(off=off):
            for _ in range(off):
                await RisingEdge(dut.clk)
            dut.enable.value = 0
            await RisingEdge(dut.clk)
            dut.enable.value = 1

        task = None

        def busy(tick, off=off):
            nonlocal task
            if tick == 0 and task is None:
                task = cocotb.start_soon(switch(off))
            return 0

        seen = await play(dut, line, fmt, 600, 0, busy)
        assert seen[0][-1][0] == 400 * S
        assert (50 * S in [r[0] for r in seen[0]]) == (off > stored)
        assert seen[1] == [400 * S + floor(fmt.length)]


@cocotb.test(skip=S == 1)
async def test_a_break_ends_behind_the_stop_bit(dut):
    """The mark that ends a break may follow the sample of the stop bit's centre in the same cycle."""
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    rng = random.Random(SEED + 6)
    for _ in range(20):
        fmt = Format(rng, Fraction(rng.randrange(4 * S * 256, 24 * S * 256), 256))
        centre = S * floor((len(fmt.levels(0)) - Fraction(1, 2)) * fmt.period / S)  # of the first stop bit, from the start edge on
        for behind in range(1, S):
            line, at = Line(), 20 * S
            line.set(at, 0)
            line.set(at + centre + behind, 1)
            seen = await play(dut, line, fmt, (at + centre) // S + 2 * floor(fmt.length / S) + 100, 0)
            frames = compare(fmt, seen, line, at + centre + behind)
            assert len(frames) == 1 and frames[0][1] & BREAK and seen[2] == [at + centre + behind]
