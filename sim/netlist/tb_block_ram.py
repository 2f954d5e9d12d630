# SPDX-License-Identifier: BSD-2-Clause
"""DP16KD against a model that knows its cells one by one: random accesses at both ports, each with its own clock."""

import os
import random

import cocotb
from cocotb.triggers import Timer

WIDTHS = {port: int(os.environ[f"LITEPULSE_PARAM_W{port.upper()}"]) for port in "ab"}
MODES = {port: int(os.environ[f"LITEPULSE_PARAM_MODE_{port.upper()}"]) for port in "ab"}
OUT = {port: int(os.environ[f"LITEPULSE_PARAM_OUT_{port.upper()}"]) for port in "ab"}
SELECT, INVERT = (int(os.environ[f"LITEPULSE_PARAM_{name}"]) for name in ("SELECT", "INVERT"))
SEED = int(os.environ["LITEPULSE_RUN_SEED"])
NORMAL, THROUGH, BEFORE = range(3)


def places(width, address):
    """The cells that an address of 14 bits names, lowest bit of the data first: 18432 cells, each ninth of them not used below 9 bits."""
    unit = address // {1: 1, 2: 2, 4: 4, 9: 8, 18: 16, 36: 32}[width]
    if width >= 9:
        return list(range(unit * width, (unit + 1) * width))
    return [bit // 8 * 9 + bit % 8 for bit in range(unit * width, (unit + 1) * width)]


def enabled(width, address):
    """Which bits of the data a write takes: from 18 bits on the lowest bits of the address are byte enables."""
    return [width < 18 or address >> bit // 9 & 1 for bit in range(width)]


class Port:
    """What a port shows; at 36 bits port b shows on both."""

    def __init__(self, name):
        self.name, self.width, self.mode, self.out = name, WIDTHS[name], MODES[name], OUT[name]
        self.latch, self.register = 0, 0

    @property
    def shown(self):
        return self.register if self.out else self.latch

    def clock(self, cells, s):
        """One edge with the signals `s`; returns [(cell, level)] to be written."""
        old, writes = self.latch, []
        if s["ce"] and s["cs"] == SELECT and not (self.name == "a" and self.width == 36 and not s["we"]):
            where = places(self.width, s["ad"])
            before = [cells[cell] for cell in where]
            after = list(before)
            if s["we"]:
                for bit, take in enumerate(enabled(self.width, s["ad"])):
                    if take:
                        after[bit] = s["data"] >> bit & 1
                writes = list(zip(where, after))
            seen = before if not s["we"] or self.mode == BEFORE else after if self.mode == THROUGH else None
            if seen is not None and not (self.name == "a" and self.width == 36):
                self.latch = sum(level << bit for bit, level in enumerate(seen))
        if s["rst"] and not self.out:
            self.latch = 0
        self.register = 0 if s["rst"] else old if s["oce"] else self.register
        return writes


def choose(rng, port, last):
    """Random signals of a port."""
    address = last if rng.random() < 0.3 else rng.getrandbits(14)
    if rng.random() < 0.5:
        address &= 0xFF  # so that accesses meet
    return {
        "ce": int(rng.random() < 0.85),
        "oce": int(rng.random() < 0.8),
        "rst": int(rng.random() < 0.05),
        "cs": SELECT if rng.random() < 0.85 else rng.getrandbits(3),
        "ad": address,
        "we": int((port == "a" or WIDTHS["b"] != 36 and WIDTHS["a"] != 36) and rng.random() < 0.5),
    }


@cocotb.test()
async def test_random_accesses(dut):
    """Both ports, at times at the same instant: everything they show, after every edge."""
    rng = random.Random(SEED)
    cells = [(word * 40503 & 0x3FFFF) >> bit & 1 for word in range(1024) for bit in range(18)]
    ports = {name: Port(name) for name in "ab"}
    rest = INVERT
    dut.clk_a.value = dut.clk_b.value = rest
    shown, met, written = set(), 0, 0
    signals = {name: choose(rng, name, 0) for name in "ab"}
    for _ in range(3000):
        clocked = rng.choice(("a", "b", "ab"))
        pins = {"a": rng.getrandbits(18), "b": rng.getrandbits(18)}
        for name in "ab":
            # What a port that is not clocked has at its pins must not matter, but for the data that a takes at 36 bits.
            signals[name] = s = choose(rng, name, signals["a"]["ad"])
            s["data"] = pins["a"] | pins["b"] << 18 if name == "a" and WIDTHS["a"] == 36 else pins[name]
        wa, wb = (signals[n]["we"] and n in clocked for n in "ab")
        together = {cell // 18 for cell in places(WIDTHS["a"], signals["a"]["ad"])} & {
            cell // 18 for cell in places(WIDTHS["b"], signals["b"]["ad"])
        }
        if together and wa and wb:
            signals["b"]["we"] = 0  # two writes of one word at once: undefined
        met += bool(together and wa and "b" in clocked)
        for name in "ab":
            for signal in ("ce", "oce", "rst", "cs", "ad", "we"):
                getattr(dut, f"{signal}_{name}").value = signals[name][signal]
            getattr(dut, f"di_{name}").value = pins[name]
        await Timer(5, "ns")
        for name in clocked:
            getattr(dut, f"clk_{name}").value = 1 - rest
        writes = [write for name in clocked for write in ports[name].clock(cells, signals[name])]
        for cell, level in writes:
            cells[cell] = level
        written += bool(writes)
        await Timer(5, "ns")
        both = ports["b"].shown if WIDTHS["b"] == 36 else None
        seen = (int(dut.do_a.value), int(dut.do_b.value))
        expected = (both & 0x3FFFF, both >> 18) if both is not None else (ports["a"].shown, ports["b"].shown)
        assert seen == expected, f"{clocked}: {[hex(v) for v in seen]}, expected {[hex(v) for v in expected]}, {signals}"
        shown.add(seen)
        for name in clocked:
            getattr(dut, f"clk_{name}").value = rest
    # of the values they can show
    assert len(shown) > min(300, 1 << WIDTHS["b"] + WIDTHS["a"] % 36 - 1), len(shown)
    assert met > 50 and written > 300, (met, written)
