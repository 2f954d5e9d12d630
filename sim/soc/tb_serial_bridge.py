# SPDX-License-Identifier: BSD-2-Clause
"""cocotb: a host at the pins of the serial bridge. Its bits are times, its checks are cycles; it knows nothing of the bridge's insides.

The transmitter's edges are compared with the accumulator docs/bridge.md describes: eight steps a bit, a step whenever the
sum of the rate words passes a multiple of 8192. `watch_rate` shows the cycle in which the rate
changes.
"""

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge, Timer, ValueChange
from cocotb.utils import get_sim_time

SYS_HZ, PERIOD = int(os.environ["BRIDGE_SYS_HZ"]), int(os.environ["BRIDGE_PERIOD"])  # Hz, ps
FALLBACK, UNIT, TIMEOUT = (int(os.environ[f"BRIDGE_{name}"]) for name in ("FALLBACK", "UNIT", "TIMEOUT"))  # cycles
RAM, RATE = 0x1000_0000, 0x8800
BASE = 115200
FULL = 8192
RATES = (1_000_000, 1_500_000, 3_000_000)
WRITE, READ, WRITE_FIXED, READ_FIXED = 1, 2, 3, 4


def word_of(baud):
    """The rate word of docs/bridge.md, in integers."""
    return min((2 * 65536 * baud + SYS_HZ) // (2 * SYS_HZ), 8191)


def cycle():
    """Number of the current cycle; edges of the design happen at its start."""
    return int(get_sim_time("ps")) // PERIOD


class Host:
    """A serial port with a clock of its own; `baud` is what it is set to, `skew` how fast its clock runs."""

    def __init__(self, dut):
        self.dut, self.baud, self.skew = dut, BASE, 1.0
        self.before = 0  # the rate word of the step before the byte, if that was another one
        self.edges = []  # [(cycle, level)] of tx
        self.rates = []  # [(cycle, word)]
        self.acks = []  # cycles of the bridge's bus acknowledges
        self.at = 0  # the cycle behind the byte received last, in its stop bit
        self.random = random.Random(int(os.environ["LITEPULSE_RUN_SEED"]))

    async def start(self):
        """Clock, reset."""
        dut = self.dut
        cocotb.start_soon(Clock(dut.sys_clk, PERIOD, unit="ps", period_high=PERIOD // 2).start())
        dut.serial_rx.value = 1
        dut.other_stb.value = dut.other_adr.value = dut.other_dat_w.value = 0
        dut.sys_rst.value = 1
        await ClockCycles(dut.sys_clk, 4)
        dut.sys_rst.value = 0
        await ClockCycles(dut.sys_clk, 4)
        for coroutine in (self.watch(dut.serial_tx, self.edges), self.watch(dut.watch_rate, self.rates), self.watch_acks()):
            cocotb.start_soon(coroutine)
        assert self.rate() == word_of(BASE)
        await self.idle_bits()  # it must have seen the idle line once

    def rate(self):
        return int(self.dut.watch_rate.value)

    async def watch(self, signal, log):
        while True:
            await ValueChange(signal)
            log.append((cycle(), int(signal.value)))

    async def watch_acks(self):
        while True:
            await RisingEdge(self.dut.watch_ack)
            self.acks.append(cycle())

    def bit(self):
        """ps"""
        return 10**12 / (self.baud * self.skew)

    async def send(self, data):
        """Bytes back to back. Ends after the last stop bit."""
        begin, n = get_sim_time("ps"), 0
        for byte in data:
            for level in (0, *((byte >> i) & 1 for i in range(8)), 1):
                self.dut.serial_rx.value = level
                n += 1
                await Timer(round(begin + n * self.bit() - get_sim_time("ps")), "ps")

    async def receive(self, count, patience=40, at=0):
        """`count` bytes from the cycle `at` on, or those that came before `patience` bit times of nothing. Each edge is checked."""
        got = b""
        while len(got) < count:
            waited = 0
            while not any(c >= at and level == 0 for c, level in self.edges) and waited < patience:
                await Timer(round(self.bit()), "ps")
                waited += 1
            start = next((c for c, level in self.edges if c >= at and level == 0), None)
            if start is None:
                break
            await Timer(max(1, round(start * PERIOD + 9.5 * self.bit() - get_sim_time("ps"))), "ps")
            levels = [self.level_at(start * PERIOD + (i + 0.5) * self.bit()) for i in range(10)]
            assert levels[0] == 0 and levels[9] == 1, f"framing: {levels}"
            got += bytes([sum(level << i for i, level in enumerate(levels[1:9]))])
            self.at = at = start + int(9.5 * self.bit() / PERIOD)
            self.last = start, self.check_edges(start, levels)
        return got

    def level_at(self, ps):
        """Level of tx at a time that has passed."""
        level = 1
        for c, value in self.edges:
            if c * PERIOD > ps:
                break
            level = value
        return level

    def check_edges(self, start, levels):
        """Every edge of a byte on the very cycle; returns the (low, high) the accumulator may have held after the step at `start`."""
        w = self.rate()
        low, high = 0, max(w, self.before) - 1
        expected = [i for i in range(1, 10) if levels[i] != levels[i - 1]]
        seen = [c for c, _ in self.edges if start < c <= start + 9.5 * self.bit() / PERIOD]
        assert len(seen) == len(expected), f"edges {seen} of {levels}"
        for i, c in zip(expected, seen):
            d = c - start  # the step in which the sum passes 8 i x 8192: held + d w >= 65536 i > held + (d - 1) w
            low, high = max(low, FULL * 8 * i - d * w), min(high, FULL * 8 * i - (d - 1) * w - 1)
        assert low <= high, f"no accumulator makes these edges: {[c - start for c in seen]} with word {w}"
        return low, high

    async def idle_bits(self, bits=3):
        await Timer(round(bits * self.bit()), "ps")

    def forget(self):
        """Only what comes from now on matters."""
        self.edges.clear()
        self.acks.clear()

    async def write(self, address, *words, command=WRITE):
        self.forget()
        await self.send(bytes([command, len(words)]) + (address // 4).to_bytes(4, "big") + b"".join(w.to_bytes(4, "big") for w in words))
        await ClockCycles(self.dut.sys_clk, 16)  # the receiver is two cycles and some steps behind
        assert len(self.acks) == len(words), f"{len(self.acks)} of {len(words)} words written"

    async def read(self, address, count=1, command=READ):
        self.forget()
        answer = cocotb.start_soon(self.receive(4 * count, patience=160))
        await self.send(bytes([command, count]) + (address // 4).to_bytes(4, "big"))
        data = await answer
        await self.idle_bits(1)
        assert len(data) == 4 * count, f"{len(data)} of {4 * count} bytes came: {self.acks} {self.edges[:9]}"
        return [int.from_bytes(data[i : i + 4], "big") for i in range(0, len(data), 4)]

    async def check_words(self):
        """Two bursts there and back."""
        words = [self.random.getrandbits(32) for _ in range(3)]
        await self.write(RAM + 0x40, *words)
        assert await self.read(RAM + 0x40, 3) == words

    def as_read(self, word):
        """What the register must read."""
        return word | SYS_HZ // 10_000 << 16

    async def set_rate(self, baud):
        """As a host does it. The change must come two cycles after the acknowledge, and tell itself."""
        before = self.rate()
        self.rates.clear()
        await self.write(RATE, word_of(baud))
        assert self.rates == ([] if word_of(baud) == before else [(self.acks[-1] + 2, word_of(baud))])
        self.baud = baud
        assert await self.read(RATE) == [self.as_read(word_of(baud))]

    async def fallback_at(self, expected):
        """The rate must change at one of the cycles `expected`, and to the base."""
        self.rates.clear()
        await ClockCycles(self.dut.sys_clk, max(1, min(expected) - cycle() - 2))
        assert not self.rates, f"too early: {self.rates}, expected {expected}"
        await ClockCycles(self.dut.sys_clk, max(expected) - min(expected) + 6)
        assert len(self.rates) == 1 and self.rates[0][0] in expected and self.rates[0][1] == word_of(BASE), (
            f"{self.rates}, expected {expected}"
        )
        self.baud = BASE

    def after_write(self):
        """The cycle of the fallback, by the last write."""
        return [self.acks[-1] + FALLBACK + 4]

    def after_read(self):
        """Those it may be by the last read: as the answer's last stop bit ends, which no edge shows."""
        start, (low, high) = self.last
        w = self.rate()
        ends = {-(-(FULL * 80 - held) // w) for held in (low, high)}
        return [start + d + FALLBACK + 3 for d in range(min(ends), max(ends) + 1)]


@cocotb.test()
async def words(dut):
    """115200 baud, all four commands, the register."""
    host = Host(dut)
    await host.start()
    assert await host.read(RATE) == [host.as_read(word_of(BASE))]
    await host.check_words()
    await host.write(RAM + 0x80, 1, 2, 3, command=WRITE_FIXED)
    assert await host.read(RAM + 0x80, 2, command=READ_FIXED) == [3, 3]
    assert await host.read(RATE + 4) == [3]
    assert not host.rates


@cocotb.test()
async def raised(dut):
    """Up, down, from one to another; the change cuts no bit, and what comes at once after it is understood."""
    host = Host(dut)
    await host.start()
    for baud in (*RATES, RATES[0], BASE, SYS_HZ // 8):
        await host.set_rate(baud)
        await host.check_words()
    await host.set_rate(BASE)
    await host.check_words()
    # A burst whose last word is the register.
    host.rates.clear()
    await host.write(RATE - 4, 5, word_of(RATES[1]))
    assert [word for _, word in host.rates] == [word_of(RATES[1])]
    host.baud = RATES[1]
    await host.check_words()


@cocotb.test()
async def tolerance(dut):
    """A host whose clock is 3 percent off is understood."""
    host = Host(dut)
    await host.start()
    for baud in (BASE, *RATES):
        await host.set_rate(baud)
        for host.skew in (0.97, 1.03):
            words = [host.random.getrandbits(32) for _ in range(4)]
            await host.write(RAM, *words)
            assert await host.read(RAM, 4) == words
            await host.write(RAM + 4, 0, 0xFFFFFFFF)
            assert await host.read(RAM, 3) == [words[0], 0, 0xFFFFFFFF]
        host.skew = 1.0


@cocotb.test()
async def unusable(dut):
    """Words outside the range, writes that are not a command's last word, and other masters change nothing."""
    host = Host(dut)
    await host.start()
    for baud in (BASE, RATES[1]):
        await host.set_rate(baud)
        host.rates.clear()
        for word in (0, 1, word_of(BASE) - 1, 8192, 8192 + word_of(RATES[0]), 16384, 0x8000 | word_of(RATES[0]), 0xFFFF):
            await host.write(RATE, word)
            assert await host.read(RATE) == [host.as_read(word_of(baud))]
        await host.write(RATE, word_of(RATES[0]), 0)
        await host.write(RATE, word_of(RATES[0]), word_of(RATES[0]))
        await host.write(RATE, word_of(RATES[0]), word_of(RATES[2]), 0, command=WRITE_FIXED)
        assert await host.read(RATE, 2) == [host.as_read(word_of(baud)), 3]
        dut.other_adr.value, dut.other_dat_w.value, dut.other_stb.value = RATE // 4, word_of(RATES[0]), 1
        await RisingEdge(dut.other_ack)
        await FallingEdge(dut.other_ack)
        dut.other_stb.value = 0
        await ClockCycles(dut.sys_clk, 20)
        assert await host.read(RATE) == [host.as_read(word_of(baud))]
        assert not host.rates
    # The upper half does not matter.
    await host.write(RATE, 0xABCD0000 | word_of(RATES[0]))
    host.baud = RATES[0]
    assert await host.read(RATE) == [host.as_read(word_of(RATES[0]))]


@cocotb.test()
async def falls_back(dut):
    """The bridge falls back an exact number of cycles after the last valid command, a write or a
    read; each valid one counts again."""
    host = Host(dut)
    await host.start()
    host.rates.clear()
    await host.write(RATE, word_of(RATES[1]))  # the write that raised it, and then nothing
    await host.fallback_at(host.after_write())
    await host.check_words()
    await host.set_rate(RATES[2])  # ends with a read
    await host.fallback_at(host.after_read())
    await host.check_words()
    await host.set_rate(RATES[0])
    await host.write(RAM, 1)
    host.rates.clear()
    await ClockCycles(dut.sys_clk, host.after_write()[0] - cycle() - 20_000)
    await host.write(RAM, 2)  # in time
    await host.fallback_at(host.after_write())
    assert await host.read(RATE) == [host.as_read(word_of(BASE))]
    await ClockCycles(dut.sys_clk, FALLBACK + 1000)
    assert len(host.rates) == 1 and await host.read(RAM) == [2]


@cocotb.test()
async def garbage(dut):
    """Bytes that are no command, broken bits, another baud rate: not valid, so the fallback comes when it would have come."""
    host = Host(dut)
    await host.start()
    for make, baud in (("unknown", RATES[1]), ("slow", RATES[1]), ("slow", 2 * BASE), ("slow", 300_000), ("noise", RATES[0])):
        await host.set_rate(baud)
        await host.write(RAM, 7)
        expected = host.after_write()
        host.forget()
        host.rates.clear()
        if make == "unknown":  # whole commands with codes that do not exist
            while cycle() < expected[0] - 40_000:
                await host.send([host.random.choice([0, *range(5, 256)]), *(host.random.getrandbits(8) for _ in range(5))])
        elif make == "slow":  # a host that knows nothing of the raised rate
            raised_to, host.baud = host.baud, BASE
            while cycle() < expected[0] - 120 * SYS_HZ // BASE:
                await host.send(bytes([READ, 1]) + (RATE // 4).to_bytes(4, "big"))
                await host.send(host.random.randbytes(4))
            host.baud = raised_to
        else:  # pulses much shorter than a bit; LiteX takes any for a start bit, so they become bytes 0xff
            while cycle() < expected[0] - 40_000:
                dut.serial_rx.value = 0
                await ClockCycles(dut.sys_clk, 6)
                dut.serial_rx.value = 1
                await host.idle_bits(12)
        # What is left of a command of garbage holds the fallback up until it has timed out.
        steps = [expected[0] + k * UNIT for k in range(TIMEOUT // UNIT + 1)]
        assert not host.rates and not host.acks and not host.edges
        await ClockCycles(dut.sys_clk, steps[-1] - cycle() + 10)
        assert len(host.rates) == 1 and host.rates[0][1] == word_of(BASE) and not host.acks and not host.edges, (make, host.rates)
        late = host.rates[0][0] - expected[0]
        assert 0 <= late <= TIMEOUT, (make, late)
        host.baud = BASE
        await Timer(round(TIMEOUT * PERIOD), "ps")
        await host.check_words()


@cocotb.test()
async def under_way(dut):
    """A command under way when the time is over: an answer comes whole, and counts; half a command times out first."""
    host = Host(dut)
    await host.start()
    await host.set_rate(RATES[0])
    words = [host.random.getrandbits(32) for _ in range(60)]
    for i in range(0, 60, 20):
        await host.write(RAM + 4 * i, *words[i : i + 20])
    expected = host.after_write()[0]
    host.rates.clear()
    byte = 10 * SYS_HZ // RATES[0]
    await ClockCycles(dut.sys_clk, expected - cycle() - 100 * byte)  # 6 bytes there, 240 back
    assert await host.read(RAM, 60) == words
    assert cycle() > expected + 100 * byte and not host.rates
    await host.fallback_at(host.after_read())

    await host.set_rate(RATES[1])
    await host.write(RAM, 1)
    expected = host.after_write()[0]
    host.rates.clear()
    await ClockCycles(dut.sys_clk, expected - cycle() - 10 * SYS_HZ // RATES[1] * 20)
    started = cycle()
    await host.send([WRITE, 1, 4, 0])
    await ClockCycles(dut.sys_clk, started + TIMEOUT + 20 * SYS_HZ // RATES[1] - cycle())
    ((at, word),) = host.rates
    # The timeout is counted in the same units as the fallback; the parser takes a cycle more, and the rate one.
    assert word == word_of(BASE) and (at - expected) % UNIT == 1 and TIMEOUT - UNIT <= at - started, (at - expected, at - started)
    host.baud = BASE
    assert await host.read(RAM) == [1]

    # An answer that takes longer than the timeout is cut off, and so was no valid command.
    await host.set_rate(2 * BASE)
    await host.write(RAM, 1)
    expected = host.after_write()[0]
    host.forget()
    answer = cocotb.start_soon(host.receive(240, patience=200))
    await host.send(bytes([READ, 60]) + (RAM // 4).to_bytes(4, "big"))
    assert 4 < len(await answer) < 240
    await host.fallback_at([expected])


@cocotb.test()
async def reset(dut):
    """A reset of the bus brings 115200 back at once."""
    host = Host(dut)
    await host.start()
    await host.set_rate(RATES[2])
    await FallingEdge(dut.sys_clk)
    dut.sys_rst.value = 1
    await FallingEdge(dut.sys_clk)
    dut.sys_rst.value = 0
    await ClockCycles(dut.sys_clk, 3)
    assert host.rate() == word_of(BASE)
    host.baud = BASE
    await host.idle_bits()
    await host.check_words()


@cocotb.test()
async def true_scale(dut):
    """What a valid command loads is 2 s; a jump to the end of it shows that the counters run out just then."""
    host = Host(dut)
    await host.start()
    await host.set_rate(RATES[1])
    await host.write(RAM, 1)
    ack = host.acks[-1]
    assert UNIT == 1 << len(dut.unit_begun) and abs(FALLBACK - 2 * SYS_HZ) <= UNIT // 2
    top = 1 << len(dut.units_left) - 1
    assert int(dut.units_left.value) - top + 1 == FALLBACK // UNIT
    await FallingEdge(dut.sys_clk)
    begun = int(dut.unit_begun.value)
    assert begun == cycle() - ack - 2, "counted since the end of the command"
    dut.units_left.value = top  # the last unit
    dut.unit_begun.value = UNIT - 3000
    skipped = FALLBACK - UNIT + (UNIT - 3000 - begun)
    await host.fallback_at([ack + FALLBACK + 4 - skipped])
    await host.check_words()
