# SPDX-License-Identifier: BSD-2-Clause
"""The interrupt controller against a model written from the PLIC specification, under random accesses and levels."""

import random

import pytest
from migen import Module, Signal, passive, run_simulation

from litex_soc.plic import PLIC

PRIORITY, PENDING, ENABLE, THRESHOLD, CLAIM = 0, 0x1000, 0x2000, 0x20_0000, 0x20_0004


class Model:
    """Gateways that let one request through at a time, and the notification; a step is a clock cycle."""

    def __init__(self):
        self.waiting, self.in_service, self.allowed, self.important = set(), set(), set(), set()
        self.masked = False

    def forward(self, levels):
        """A cycle of the gateways."""
        self.waiting |= {n for n in range(1, 32) if levels >> n & 1 and n not in self.in_service}

    def best(self):
        """The source a claim gets; 0: none."""
        return min(self.waiting & self.allowed & self.important, default=0)

    @property
    def notifies(self):
        """The hart's interrupt."""
        return int(self.best() != 0 and not self.masked)

    def read(self, address):
        """The word, with what reading it does."""
        if address == CLAIM:
            source = self.best()
            if source:
                self.waiting.discard(source)
                self.in_service.add(source)
            return source
        if address < 128:
            return int(address // 4 in self.important)
        words = {PENDING: sum(1 << n for n in self.waiting), ENABLE: sum(1 << n for n in self.allowed), THRESHOLD: int(self.masked)}
        return words.get(address, 0)

    def write(self, address, value):
        """What writing does."""
        if address == CLAIM:
            if value in self.allowed:
                self.in_service.discard(value)
        elif address == ENABLE:
            self.allowed = {n for n in range(1, 32) if value >> n & 1}
        elif address == THRESHOLD:
            self.masked = value != 0
        elif 0 < address < 128:
            (self.important.add if value else self.important.discard)(address // 4)


class Bench(Module):
    """The controller with its levels as a signal."""

    def __init__(self):
        self.levels = Signal(32)
        self.submodules.dut = PLIC(self.levels)


def run(process, *more):
    """Simulates generator functions of (bench), the first to its end; returns what that returned."""
    bench, result = Bench(), []

    def main():
        result.append((yield from process(bench)))

    run_simulation(bench, [main(), *(passive(other)(bench) for other in more)])
    return result[0]


def access(bench, address, value=None):
    """One access of the bus; the word read. The controller takes two cycles, the first does it."""
    bus = bench.dut.bus
    yield bus.adr.eq(address // 4)
    yield bus.we.eq(value is not None)
    yield bus.dat_w.eq(value or 0)
    yield bus.sel.eq(15)
    yield bus.cyc.eq(1)
    yield bus.stb.eq(1)
    yield
    yield
    assert (yield bus.ack) == 1
    word = yield bus.dat_r
    yield bus.cyc.eq(0)
    yield bus.stb.eq(0)
    yield
    assert (yield bus.ack) == 0
    return word


def settle(cycles=4):
    """Time for a level to reach the interrupt."""
    for _ in range(cycles):
        yield


@pytest.mark.parametrize("seed", range(4))
def test_random(seed):
    """Levels change between accesses; each answer and the interrupt are the model's. Each kind of answer comes up."""
    chance = random.Random(seed)
    seen = {"claimed": 0, "nothing": 0, "interrupt": 0, "none": 0}

    def process(bench):
        model = Model()
        claimed = []
        for _ in range(600):
            levels = chance.getrandbits(32) & chance.getrandbits(32) if chance.random() < 0.5 else 0
            yield bench.levels.eq(levels)
            yield from settle()
            model.forward(levels)
            what = chance.random()
            if what < 0.35:
                address = CLAIM
            else:
                address = chance.choice([PENDING, ENABLE, THRESHOLD, 0x1004, 0x2080, 0x20_1000, 4 * chance.randrange(40)])
            if what < 0.7:
                expected = model.read(address)
                assert (yield from access(bench, address)) == expected, hex(address)
                if address == CLAIM:
                    seen["claimed" if expected else "nothing"] += 1
                    claimed += [expected] if expected else []
            else:
                if what < 0.85:
                    address, value = CLAIM, (claimed.pop(0) if claimed and chance.random() < 0.8 else chance.choice([0, 5, 40, 2**31 + 3]))
                else:
                    value = chance.choice([0, 1, 7, chance.getrandbits(32)]) if address != ENABLE else chance.getrandbits(32)
                model.write(address, value)
                yield from access(bench, address, value)
            model.forward(levels)
            yield from settle()
            assert (yield bench.dut.irq) == model.notifies
            seen["interrupt" if model.notifies else "none"] += 1

    run(process)
    assert min(seen.values()) > 10, seen


def test_one_request_at_a_time():
    """A level that stays gives one interrupt per completion, and a claim that comes with a new level loses none."""

    def process(bench):
        yield from access(bench, 4 * 7, 1)
        yield from access(bench, ENABLE, 1 << 7)
        yield bench.levels.eq(1 << 7)
        yield from settle()
        assert (yield bench.dut.irq) == 1
        for _ in range(3):
            assert (yield from access(bench, CLAIM)) == 7
            assert (yield from access(bench, CLAIM)) == 0
            yield from settle(20)
            assert (yield bench.dut.irq) == 0
            yield from access(bench, CLAIM, 7)
            yield from settle()
            assert (yield bench.dut.irq) == 1
        assert (yield from access(bench, CLAIM)) == 7
        yield bench.levels.eq(0)
        yield from settle()
        yield from access(bench, CLAIM, 7)
        yield from settle()
        assert (yield bench.dut.irq) == 0
        return True

    assert run(process)


def test_a_short_pulse_waits():
    """A level of one cycle is kept until it is claimed; source 0 does not exist."""

    def process(bench):
        yield from access(bench, 4 * 31, 1)
        yield from access(bench, 0, 1)
        yield from access(bench, ENABLE, 0xFFFF_FFFF)
        assert (yield from access(bench, ENABLE)) == 0xFFFF_FFFE and (yield from access(bench, 0)) == 0
        yield bench.levels.eq(1 << 31 | 1)
        yield
        yield bench.levels.eq(0)
        yield from settle()
        assert (yield bench.dut.irq) == 1 and (yield from access(bench, PENDING)) == 1 << 31
        assert (yield from access(bench, CLAIM)) == 31
        yield from settle()
        assert (yield bench.dut.irq) == 0
        return True

    assert run(process)
