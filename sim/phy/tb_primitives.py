# SPDX-License-Identifier: BSD-2-Clause
"""The models of ECP5 primitives in sim/models, each against what its header says. The test makes all clocks, half a tick at a time."""

import random

import cocotb
from cocotb.triggers import ReadOnly, Timer

QUARTER = 500  # ps: edges lie four quarters apart


async def at_rest(dut, **values):
    """Sets inputs and lets them act."""
    for name, value in values.items():
        getattr(dut, name).value = value
    await Timer(QUARTER, "ps")


async def edge(dut, settle=QUARTER, **clocks):
    """Sets clocks, in any order, and waits; the model's answer to it is there when this returns."""
    names = list(clocks)
    random.shuffle(names)
    for name in names:
        getattr(dut, name).value = clocks[name]
    await Timer(settle, "ps")


def word(dut, *names):
    """Levels of outputs, first name first."""
    return [int(getattr(dut, name).value) for name in names]


class Pulses:
    """Records every level a signal has, with the number of the clock edge at which it took it: glitches show as too many."""

    def __init__(self, signal):
        self.signal, self.seen, self.edge = signal, [], 0
        cocotb.start_soon(self.run())

    async def run(self):
        while True:
            await self.signal.value_change
            await ReadOnly()
            self.seen.append((self.edge, int(self.signal.value)))


@cocotb.test()
async def iddrx1f(dut):
    """Q0 and Q1: the samples of the edge before and of the falling edge after that. RST clears all without a clock."""
    await at_rest(dut, SCLK=0, D=0, RST=0)
    assert word(dut, "Q0", "Q1") == [0, 0]
    for _ in range(30):
        rise = fall = 0
        for _ in range(random.randrange(3, 40)):
            before = [rise, fall]
            await at_rest(dut, D=(rise := random.randrange(2)))
            await edge(dut, SCLK=1)
            assert word(dut, "Q0", "Q1") == before
            dut.D.value = random.randrange(2)
            await at_rest(dut, D=(fall := random.randrange(2)))
            await edge(dut, SCLK=0)
            assert word(dut, "Q0", "Q1") == before
            await at_rest(dut, D=random.randrange(2))
        await at_rest(dut, SCLK=random.randrange(2))
        await at_rest(dut, RST=1)
        assert word(dut, "Q0", "Q1") == [0, 0]
        for level in (1, 0, 1, 0):
            await at_rest(dut, SCLK=level, D=1)
            assert word(dut, "Q0", "Q1") == [0, 0]
        await at_rest(dut, RST=0)


@cocotb.test()
async def oddrx1f(dut):
    """D0 leaves two edges after it was taken, D1 half a cycle later, each change once. RST clears all without a clock."""
    await at_rest(dut, SCLK=0, D0=0, D1=0, RST=0)
    pulses, expected = Pulses(dut.Q), []
    level = 0

    def leaves(bit):
        nonlocal level
        if bit != level:
            level = bit
            expected.append((pulses.edge, bit))

    for _ in range(30):
        sent = [(0, 0), (0, 0)]
        for _ in range(random.randrange(3, 40)):
            sent.append((random.randrange(2), random.randrange(2)))
            await at_rest(dut, D0=sent[-1][0], D1=sent[-1][1])
            pulses.edge += 1
            leaves(sent[-3][0])
            await edge(dut, SCLK=1)
            await at_rest(dut, D0=random.randrange(2), D1=random.randrange(2))
            pulses.edge += 1
            leaves(sent[-3][1])
            await edge(dut, SCLK=0)
        pulses.edge += 1
        leaves(0)
        await at_rest(dut, RST=1)
        for clock in (1, 0, 1, 0):
            await at_rest(dut, SCLK=clock, D0=1, D1=1)
        await at_rest(dut, RST=0)
    assert pulses.seen == expected and len(expected) > 300


class Gear:
    """ECLK and SCLK, SCLK rising at the even or odd rising edges of ECLK, counted from a reset."""

    def __init__(self, dut, odd):
        self.dut, self.odd, self.number = dut, odd, 0

    def sclk(self):
        """Level of SCLK from the coming rising edge of ECLK on, and whether that is an edge to 1."""
        rises = self.number % 2 == self.odd
        return int(rises), rises

    async def rise(self):
        """One rising edge of ECLK, with the edge of SCLK that comes with it."""
        await edge(self.dut, ECLK=1, SCLK=self.sclk()[0])
        self.number += 1

    async def fall(self):
        await edge(self.dut, ECLK=0)


@cocotb.test()
async def iddrx2f(dut):
    """Four samples from an even edge e on show at the first edge of SCLK at or after e + 3, whichever edges SCLK has."""
    names = ("Q0", "Q1", "Q2", "Q3")
    await at_rest(dut, ECLK=0, SCLK=0, D=0, RST=1, ALIGNWD=0)
    assert word(dut, *names) == [0] * 4
    for turn in range(30):
        await at_rest(dut, RST=0)
        gear, taken, shown = Gear(dut, turn % 2), [], [0] * 4  # taken: at rising edge n as [2n], at the falling edge after it as [2n + 1]
        for _ in range(random.randrange(10, 60)):
            rises = gear.sclk()[1]
            if rises:
                even = (gear.number - 3) // 2 * 2
                shown = taken[2 * even : 2 * even + 4] if even >= 0 else [0] * 4
            taken.append(random.randrange(2))
            await at_rest(dut, D=taken[-1])
            await gear.rise()
            # before the first whole group nothing is promised
            assert word(dut, *names) == shown or gear.number < 6, (turn, gear.number)
            dut.D.value = 1 - taken[-1]
            taken.append(random.randrange(2))
            await at_rest(dut, D=taken[-1])
            await gear.fall()
            assert word(dut, *names) == shown or gear.number < 6
            await at_rest(dut, D=random.randrange(2))
        await at_rest(dut, RST=1)
        assert word(dut, *names) == [0] * 4
        dut.SCLK.value = 0
        for level in (1, 0, 1, 0):
            await edge(dut, ECLK=level)


@cocotb.test()
async def oddrx2f(dut):
    """What was taken before an odd edge u leaves from u + 3 on, a sample per edge of ECLK, each change once, whichever edges SCLK has."""
    await at_rest(dut, ECLK=0, SCLK=0, D0=0, D1=0, D2=0, D3=0, RST=1)
    pulses, expected = Pulses(dut.Q), []
    level = 0
    for turn in range(30):
        await at_rest(dut, RST=0)
        gear, leaving, taken = Gear(dut, turn % 2), {}, [0] * 4  # leaving: {half edge: level}
        for number in range(random.randrange(10, 60)):
            if number % 2:
                leaving.update({2 * (number + 3) + half: bit for half, bit in enumerate(taken)})
            if gear.sclk()[1]:
                taken = [random.randrange(2) for _ in range(4)]
                await at_rest(dut, **{f"D{i}": bit for i, bit in enumerate(taken)})
            for half in range(2):
                pulses.edge += 1
                bit = leaving.get(2 * number + half, 0)
                if bit != level:
                    level = bit
                    expected.append((pulses.edge, bit))
                await (gear.fall() if half else gear.rise())
                await at_rest(dut, D0=random.randrange(2), D1=random.randrange(2), D2=random.randrange(2), D3=random.randrange(2))
        pulses.edge += 1
        if level:
            level = 0
            expected.append((pulses.edge, 0))
        await at_rest(dut, RST=1)
        dut.SCLK.value = 0
        for clock in (1, 0, 1, 0):
            await edge(dut, ECLK=clock)
    assert pulses.seen == expected and len(expected) > 300


@cocotb.test()
async def clkdivf(dut):
    """Rises at odd edges after the reset, falls at even ones, changes at no other time; low in reset, without a clock."""
    await at_rest(dut, CLKI=0, RST=1, ALIGNWD=0)
    for _ in range(20):
        assert word(dut, "CDIVX") == [0]
        for level in (1, 0, 1, 0):
            await edge(dut, CLKI=level)
            assert word(dut, "CDIVX") == [0]
        await at_rest(dut, RST=0)
        for number in range(random.randrange(2, 30)):
            await edge(dut, CLKI=1)
            assert word(dut, "CDIVX") == [number % 2]
            await edge(dut, CLKI=0)
            assert word(dut, "CDIVX") == [number % 2]
        await at_rest(dut, CLKI=random.randrange(2))
        await at_rest(dut, RST=1)
        await at_rest(dut, CLKI=0)


@cocotb.test()
async def eclksyncb(dut):
    """Begins and ends with the fourth falling edge after STOP, whole pulses only; still at the start."""
    await at_rest(dut, ECLKI=0, STOP=1)
    pulses, expected, number, stops = Pulses(dut.ECLKO), [], 0, [1] * 4
    for _ in range(60):
        await at_rest(dut, STOP=random.randrange(2))
        for _ in range(random.randrange(1, 12)):
            going = not stops[-4]
            for level in (1, 0):
                number += 1
                pulses.edge = number
                if going:
                    expected.append((number, level))
                if not level:
                    stops.append(int(dut.STOP.value))
                await edge(dut, ECLKI=level)
                assert word(dut, "ECLKO") == [int(going and level)]
                if level and random.randrange(3) == 0:
                    await at_rest(dut, STOP=random.randrange(2))
    assert pulses.seen == expected and 50 < len(expected) < 2 * number - 50


@cocotb.test()
async def ofs1p3bx(dut):
    """Starts at 1, takes D at an edge with SP, is set by PD at any time."""
    await at_rest(dut, SCLK=0, PD=0, SP=0, D=0)
    level = 1
    assert word(dut, "Q") == [level]
    for _ in range(300):
        enable, value = random.randrange(2), random.randrange(2)
        await at_rest(dut, SP=enable, D=value)
        await edge(dut, SCLK=1)
        level = value if enable else level
        assert word(dut, "Q") == [level]
        await edge(dut, SCLK=0)
        assert word(dut, "Q") == [level]
        if random.randrange(5) == 0:
            await at_rest(dut, PD=1)
            assert word(dut, "Q") == [1]
            await edge(dut, SCLK=1)
            assert word(dut, "Q") == [1]
            await at_rest(dut, SCLK=0)
            await at_rest(dut, PD=0)
            level = 1


@cocotb.test()
async def obz(dut):
    """Drives I while T is 0, nothing while it is 1."""
    for off, level in [(1, 0), (0, 0), (0, 1), (1, 1), (0, 1), (0, 0), (1, 0)]:
        await at_rest(dut, T=off, I=level)
        assert str(dut.O.value) == ("Z" if off else str(level))


@cocotb.test()
async def ib(dut):
    """Passes the level of the pad on."""
    for level in (0, 1, 0, 1, 1, 0):
        await at_rest(dut, I=level)
        assert word(dut, "O") == [level]
