# SPDX-License-Identifier: BSD-2-Clause
"""Promise 6 on the whole core: nothing is lost in silence."""

import os
from fractions import Fraction

import cocotb

from litex_soc import regmap
from sim.core.bench import CONSTANTS, FAST, LINE, Bench, Record, S, figure
from sim.core.model import FRAME, OVERFLOW, PULSE, EventFifo, Grant, Launch, Profile

DEPTH = 1 << int(os.environ.get("LITEPULSE_PARAM_EV_AW", "8"))
RX_DEPTH = 512
RING = 63  # received records that wait in the crossing when the host reads none
RX_FULL = RX_DEPTH + RING


async def start_bench(dut, clocks="unrelated"):
    bench = await Bench.start(dut, clocks)
    await bench.record("edge", "tx_queue", "tx_train", "refused_queue")
    assert await bench.profile(1, Profile(Fraction(5 * S)))
    await bench.config("capture_edges", rise=1, fall=1)
    return bench, Launch(PULSE, bench.profiles[1], width=2, index=1)


async def toggle(bench, count, fifo=None, spacing=8):
    """Edges on channel 0, `spacing` cycles apart, each passed to the model."""
    tick, changes = bench.now + 4 * S, []
    for _ in range(count):
        bench.toggled = 1 - getattr(bench, "toggled", 0)
        changes.append((tick, 0, bench.toggled))
        if fifo is not None:
            cycle, sample = divmod(tick, S)
            levels = sum((bench.toggled if s >= sample else 1 - bench.toggled) << s for s in range(S)) | (1 << S) - 1 << LINE * S
            fifo.happen(cycle * S, True, (2, 4, 0, levels << 16 | 1 << sample))
        tick += spacing * S + bench.random.randrange(S)
    await bench.play_aux(changes)
    await bench.cycles(20)


async def launches(bench, pulse, count, fifo, tag):
    for n in range(count):
        tick = bench.ahead(1)
        await bench.launch(tick, pulse, tag + n)
        fifo.happen(tick, False, (1, 0, 0, (tag + n) << 16 | pulse.word()))
        await bench.until(tick + 30 * S)


def check_fifo(bench, fifo):
    """Everything read is exactly what the model stored."""
    expected = []
    for what, tick, seq, payload in fifo.stored:
        expected.append((tick, seq, *(payload if what == "event" else (4, 6, 0x80 if what == "at_least" else 0, payload))))
    seen = [(r.tick, r.seq, r.kind, r.source, r.flags, r.data) for r in bench.events]
    for n, (a, b) in enumerate(zip(seen, expected)):
        assert a == b, f"record {n}: {a} where {b} should be"
    assert len(seen) == len(expected), (len(seen), len(expected))


@cocotb.test()
async def test_promise6_overflow_exact(dut):
    """A flood of edges: 240 stored, the rest counted; launches still find room; the gap is reported
    with tick and count."""
    bench, pulse = await start_bench(dut)
    fifo = EventFifo(DEPTH, regmap.EVENT_RESERVE)
    await toggle(bench, DEPTH - 20, fifo)
    await toggle(bench, 57, fifo)
    assert fifo.lost == 53
    head = await bench.header("EVENTS")
    assert head["ready"] == DEPTH - regmap.EVENT_RESERVE and head["lost"] == 53, head
    await launches(bench, pulse, 3, fifo, 100)  # the first of them reports the gap
    await toggle(bench, 11, fifo)  # a second gap
    await launches(bench, pulse, 15, fifo, 200)  # until nothing fits, and one that is lost
    head = await bench.header("EVENTS")
    assert head["ready"] == DEPTH and head["lost"] == fifo.lost > 0, (head, fifo.lost)
    # Slots come back one by one: the last gap is reported by itself as soon as more than the
    # reserve is free.
    for count in (1, 15, 1, 3):
        await bench.drain(count)
        fifo.free(count)
        await bench.sys_cycles(30)
        await bench.cycles(30)
        head = await bench.header("EVENTS")
        assert (head["ready"], head["lost"]) == (fifo.used, fifo.lost), (count, head, fifo.used, fifo.lost)
    await toggle(bench, 5, fifo)
    await bench.drain()
    check_fifo(bench, fifo)
    bench.check_sequence()
    figure(6, "events lost and reported", sum(r.data for r in bench.select(OVERFLOW)))


@cocotb.test()
async def test_promise6_longest_burst(dut):
    """Nobody reads: a burst of as many edges as fit loses none, and one more is counted as lost."""
    bench, _ = await start_bench(dut)
    count, spacing = DEPTH - regmap.EVENT_RESERVE, 4
    start = (bench.now // S + 8) * S  # the record's tick is that of the cycle
    await bench.play_aux([(start + n * spacing * S, 0, 1 - n % 2) for n in range(count)])
    await bench.cycles(40)
    await bench.sys_cycles(40)
    head = await bench.header("EVENTS")
    assert (head["ready"], head["lost"]) == (count, 0), head
    await bench.play_aux([(bench.now + 8 * S, 0, 1)])
    await bench.cycles(40)
    await bench.sys_cycles(40)
    head = await bench.header("EVENTS")
    assert (head["ready"], head["lost"], int(dut.ev_ready.value)) == (count, 1, count), head
    # The oldest of each window, then the rest: what a record says tells its place in the burst.
    number = 0
    while number < count:
        shown = min(511, count - number)
        some = (0, shown // 2, shown - 1)
        words = [await bench.read_block(regmap.REGIONS["EVENTS"][0] + 16 * (1 + n), regmap.EVENT_WORDS) for n in some]
        for at, record in zip(some, map(Record, words), strict=True):
            said = (record.kind, record.seq, record.tick)
            assert said == (2, number + at & 0xFFFF, start + (number + at) * spacing * S), (number, at, said)
        await bench.ack("EVENTS", shown)
        number += shown
    bench.positions["EVENTS"] = number
    await bench.sys_cycles(60)
    await bench.cycles(60)
    (gap,) = await bench.drain()
    assert (gap.kind, gap.data, gap.seq) == (OVERFLOW, 1, number & 0xFFFF)
    figure(6, "edges of the longest burst", count)


@cocotb.test()
async def test_promise6_floating_input_hides_nothing(dut):
    """An input toggles all the time and nothing reads: every launch and every refusal is still
    recorded."""
    bench, pulse = await start_bench(dut, "2:1")
    running = True

    async def float_input():
        level = 0
        while running:
            level ^= 1
            bench.set_aux(0, level)
            await bench.cycles(2)

    task = cocotb.start_soon(float_input())
    await bench.cycles(2 * 256 + 200)
    ticks = []
    for n in range(7):
        tick = bench.ahead(1)
        await bench.launch(tick, pulse, n)
        ticks.append(tick)
        await bench.until(tick + 20 * S)
    running = False
    await task
    await bench.drain()
    assert [r.tick for r in bench.select(1, 0)] == ticks
    total = bench.check_sequence()
    gaps = bench.select(OVERFLOW)
    assert gaps and sum(r.data for r in gaps) > 100
    assert total - sum(r.data for r in gaps) == len(bench.events) - len(gaps)
    assert (await bench.header("EVENTS"))["lost"] == 0
    figure(6, "edges of a floating input", total)


@cocotb.test()
async def test_promise6_sequence_under_slow_reader(dut):
    """A reader that reads too rarely for a while: gaps are whole, ticks ascend, every stored edge
    is a true one."""
    bench, _ = await start_bench(dut, "unrelated fast")
    tick, wave, level = bench.now + 400 * S, [], 0
    for _ in range(1500 if FAST else 600):
        level ^= 1
        wave.append((tick, 0, level))
        tick += bench.random.randrange(2 * S, 14 * S)
    player = cocotb.start_soon(bench.play_aux(wave))
    while not player.done():
        await bench.cycles(bench.random.randrange(500, 3500))
        await bench.drain(bench.random.randrange(1, 200))
    await bench.cycles(30)
    await bench.drain()
    await bench.sys_cycles(40)
    await bench.drain()
    assert bench.check_sequence() == len({t // S for t, _, _ in wave}), "every edge has a number"
    true = {t // S * S for t, _, _ in wave}
    stamps = [r.tick for r in bench.select(2)]
    assert stamps == sorted(stamps) and set(stamps) <= true
    ordered, at = sorted(true), 0
    for record in bench.events:
        assert record.tick == ordered[at], f"{record} is number {at}, at {ordered[at]}"
        at += record.data if record.kind == OVERFLOW else 1
    figure(6, "edges past a slow reader", len(wave))


@cocotb.test()
async def test_promise6_receive_overflow_pairs(dut):
    """Bytes past the end of the stream: a pair of records with the first lost tick and the exact count, before any later byte. The
    stream is full when both the memory that the bus reads and the ring in front of it are."""
    bench = await Bench.start(dut, "2:1")
    profile = Profile(Fraction(4 * S), 5)
    assert await bench.profile(0, profile) and await bench.profile(1, profile)
    await bench.config("line", loopback=1, rx_enable=1)
    frame = Launch(FRAME, profile, 0x15, index=1)
    period = max(frame.length + 1, CONSTANTS["CHANGE_MIN_PERIOD"] * S)
    lost = 9
    start = bench.ahead_train()
    await bench.train_words(period, 0, 1, frame, start, RX_FULL + lost)
    assert await bench.train_start()
    await bench.until(start + (RX_FULL + lost) * period + 20 * S)
    head = await bench.header("RECEIVE")
    assert (head["ready"], head["lost"]) == (RX_DEPTH, lost), head
    await bench.drain_bytes(1)
    await bench.sys_cycles(60)
    await bench.cycles(60)
    head = await bench.header("RECEIVE")
    assert (head["ready"], head["lost"]) == (RX_DEPTH, lost), "one free place is not enough for the pair"
    await bench.drain_bytes(1)
    await bench.sys_cycles(60)
    await bench.cycles(60)
    head = await bench.header("RECEIVE")
    assert (head["ready"], head["lost"]) == (RX_DEPTH, 0), "two are, in the ring"
    await bench.drain_bytes(RING + 2)
    await bench.sys_cycles(30 * RING)
    head = await bench.header("RECEIVE")
    assert (head["ready"], head["lost"]) == (RX_DEPTH - 2, 0), head
    tick = bench.ahead(2)
    await bench.launch(tick, frame, 1)
    await bench.until(tick + 200 * S)
    await bench.drain_bytes()
    plain = [b for b in bench.bytes if not b.overflow]
    assert [b.tick for b in plain] == [start + n * period + 1 for n in range(RX_FULL)] + [tick + 1]
    assert {(b.data, b.framing_error, b.is_break, b.own) for b in plain} == {(0x15, 0, 0, 1)}
    first, second = [b for b in bench.bytes if b.overflow]
    assert bench.bytes.index(first) == RX_FULL and bench.bytes.index(second) == RX_FULL + 1
    assert first.count == 0 and first.tick == start + RX_FULL * period + 1
    assert second.count == 1 and second.word0 == lost
    figure(6, "bytes lost and reported", RX_FULL + lost + 1)


@cocotb.test()
async def test_promise6_peek_and_acknowledge(dut):
    """Reading has no side effect; repeated, late, stray and too large acks free nothing; what is beyond `ready` reads as 0."""
    bench, pulse = await start_bench(dut, "1:4")
    await toggle(bench, 10)
    first = await bench.read_block(0, 4 + 4 * 12)
    again = await bench.read_block(0, 4 + 4 * 12)
    assert first[0] == again[0] == 10 and first[4:] == again[4:], "peek"
    assert first[4 + 40 :] == [0] * 8 and all(first[4 + 4 * n + 2] for n in range(10))

    async def level(expected, what):
        await bench.sys_cycles(40)
        await bench.cycles(40)
        head = await bench.header("EVENTS")
        assert (head["ready"], head["position"]) == expected, (what, head)

    await bench.ack("EVENTS", 11)
    await level((10, 0), "more than ready")
    await bench.ack("EVENTS", 0)
    await level((10, 0), "none")
    await bench.ack("EVENTS", 3, 5)
    await level((10, 0), "wrong position")
    await bench.ack("EVENTS", 3, 0)
    await level((7, 3), "guarded")
    await bench.ack("EVENTS", 3, 0)
    await level((7, 3), "the same once more")
    assert (await bench.read_block(16, 4)) == first[4 + 12 : 4 + 16], "the oldest is the fourth now"
    await bench.ack("EVENTS", 2)
    await level((5, 5), "unguarded")
    for offset in (0, 16, 0x1FFC, 0x2000, 0x2010, 0x5000):
        await bench.write(offset, 0x12345678) if offset < 0x5000 else None
    await level((5, 5), "the streams are read only")
    bench.positions["EVENTS"] = 5
    await bench.drain()
    assert [r.seq for r in bench.events] == [5, 6, 7, 8, 9]


@cocotb.test()
async def test_promise6_positions_wrap(dut):
    """More records than twice the depth, read in odd portions: none twice, none missing."""
    bench, _ = await start_bench(dut, "unrelated")
    for _ in range(5 if FAST else 3):
        await toggle(bench, 230, spacing=2)
        while (await bench.header("EVENTS"))["ready"]:
            await bench.drain(bench.random.randrange(1, 77))
    assert bench.check_sequence() == 230 * (5 if FAST else 3) and not bench.select(OVERFLOW)


@cocotb.test()
async def test_promise6_launch_window_full(dut):
    """The 65th launch is refused and counted, the 64 are kept; configuration answers are all counted."""
    bench, pulse = await start_bench(dut, "2:1")
    await bench.config("capture_edges")
    depth = int(dut.lq_free.value)
    start = bench.ahead(2 * depth + 10)
    grants = []
    for n in range(depth + 3):
        await bench.launch(start + n * 100 * S, pulse, n)
        if n < depth:
            grants.append(Grant(start + n * 100 * S, pulse, 0, n))
    await bench.sys_cycles(40)
    accepted, refused = int(dut.launch_accepted.value), int(dut.launch_refused.value)
    assert accepted + refused == depth + 3 and refused in (1, 2, 3), (accepted, refused)
    # One or two places may have come free again while the first entries moved on to be prepared.
    grants = [Grant(start + n * 100 * S, pulse, 0, n) for n in range(accepted)]
    bench.drain_start()
    await bench.until(start + (depth + 4) * 100 * S)
    await bench.drain_stop()
    bench.check_launches(grants, [], sources=(0,))
    bench.check_line(grants)


@cocotb.test()
async def test_promise6_many_config_writes(dut):
    """Configuration written as fast as the bus takes it: every word is answered, the last one holds."""
    for clocks in ("1:4", "4:1"):
        bench = await Bench.start(dut, clocks)
        values = [bench.random.getrandbits(24) for _ in range(40)]
        for value in values:
            await bench.config("driver_enable", value, wait=False)
            await bench.config("resp_delay", value ^ 0xFFFFFF, wait=False)
        await bench.config_wait()
        assert int(dut.config_applied.value) == 80 and int(dut.config_refused.value) == 0
        index = regmap.config("resp_delay").index
        assert await bench.read(0x6000 + 4 * index) == values[-1] ^ 0xFFFFFF
