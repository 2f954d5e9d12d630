# SPDX-License-Identifier: BSD-2-Clause
"""Promise 5 on the whole core: a timestamp means the pin, for edges, for bytes and for the clock itself."""

import random
from fractions import Fraction

import cocotb
from cocotb.triggers import Timer
from cocotb.utils import get_sim_time

from litex_soc import regmap
from sim.core.bench import CYCLE, FAST, FILTER, FULL, INPUTS, LINE, SPACE, TICK, Bench, S, _zero, figure
from sim.core.model import (
    ALWAYS,
    BREAK,
    EDGE,
    FRAME,
    PULSE,
    Echo,
    Filters,
    Grant,
    Launch,
    Profile,
    capture,
    filtered,
    line_wave,
    normal,
    receive,
    same_list,
)

ALL = (1 << INPUTS + 1) - 1


def random_waves(rng, start, cycles, spacing, lines=INPUTS + 1):
    """A waveform per channel: aux from 0, the line from 1. `spacing` is the usual distance of edges in ticks."""
    waves = []
    for channel in range(lines):
        level = int(channel == INPUTS)
        wave, tick = [(ALWAYS, level)], start + rng.randrange(spacing)
        while tick < start + cycles * S:
            level ^= 1
            wave.append((tick, level))
            tick += rng.choice((1, 1, 2, 3, rng.randrange(1, spacing), rng.randrange(1, spacing)))
        waves.append(wave)
    return waves


async def play_all(bench, waves):
    """All inputs at once, each change at its own moment within the tick before its first sample."""
    changes = sorted((tick, channel, level) for channel, wave in enumerate(waves) for tick, level in wave[1:])
    for tick, channel, level in changes:
        wait = bench.zero + tick * TICK - TICK // 2 - int(get_sim_time("step"))
        assert wait >= 0
        if wait:
            await Timer(wait, "step")
        if channel == LINE:
            bench.dut.rx_drive.value = level
        else:
            bench.set_aux(channel, level)


async def edges_against_model(bench, waves, rise, fall, mask=0, length=1):
    """Drives the waves, compares every EDGE record; returns how many edges there were."""
    bench.events.clear()
    await bench.config("filter", enable=mask, length=length)
    await bench.config("capture_edges", rise=rise, fall=fall)
    bench.drain_start()
    await play_all(bench, waves)
    await bench.cycles(120)
    await bench.drain_stop()
    expected = capture(waves, S, rise, fall, Filters(S, mask, length))
    # Edges that come faster than a record per cycle may be lost, but only a few here, and the loss
    # is reported.
    assert bench.check_edges(expected) <= max(8, len(expected) // 8)
    return sum(bin(data & 0xFFFF).count("1") for _, _, data in expected)


@cocotb.test()
async def test_promise5_edges_unfiltered(dut):
    """Random edges on all channels, several in a cycle: one record per cycle, tick and masks exact."""
    bench = await Bench.start(dut, "1:2")
    await bench.record("edge")
    total = 0
    for rise, fall in ((ALL, ALL), (0b10101 & ALL, 0b01110 & ALL), (ALL, 0), (0, ALL)):
        waves = random_waves(bench.random, bench.now + 600 * S, 15000 if FULL else 5000 if FAST else 2500, 900 * S)
        total += await edges_against_model(bench, waves, rise, fall)
        # Back to the levels of the start, with no edges recorded.
        await bench.config("capture_edges")
        bench.idle_inputs()
        await bench.cycles(60)
        await bench.drain()
    bench.events.clear()
    figure(5, "edges", total)


@cocotb.test()
async def test_promise5_edges_at_every_place(dut):
    """One edge at each tick of a few cycles, then every pair of edges within two cycles on two channels."""
    bench = await Bench.start(dut, "unrelated fast")
    await bench.record("edge")
    start = bench.now + 600 * S
    waves = [[(ALWAYS, int(c == LINE))] for c in range(INPUTS + 1)]
    tick, level = start, 0
    for offset in range(4 * S):
        level ^= 1
        waves[0].append((tick + offset, level))
        tick += 40 * S
    other = 0
    for a in range(2 * S):
        for b in range(2 * S):
            level, other = level ^ 1, other ^ 1
            waves[0].append((tick + a, level))
            waves[LINE].append((tick + b, 1 - other))
            tick += 40 * S
    total = await edges_against_model(bench, waves, ALL, ALL)
    assert total == sum(len(w) - 1 for w in waves)
    figure(5, "edges at every place", total)


@cocotb.test()
async def test_promise5_filter(dut):
    """Filtered channels among unfiltered ones, every kind of length: glitches vanish, edges keep the first sample's stamp."""
    bench = await Bench.start(dut, "unrelated fast")
    await bench.record("edge")
    total = 0
    for length in (1, 2, 3, S, 7, 16, 63):
        mask = bench.random.randrange(1, ALL + 1) if length != 7 else ALL
        spacing, cycles = 1200 * S + 4 * length, 8000 if FULL else 3000 if FAST else 1500
        begin = bench.now + 600 * S
        waves = random_waves(bench.random, begin, cycles, spacing)
        # Back at rest at the end, for the next round.
        rest = max(w[-1][0] for w in waves) + 64 + S
        waves = [w + [(rest, int(c == LINE))] if w[-1][1] != int(c == LINE) else w for c, w in enumerate(waves)]
        total += await edges_against_model(bench, waves, ALL, ALL, mask, length)
        await bench.cycles(80)
        await bench.drain()
    figure(5, "edges through the filter", total)


@cocotb.test()
async def test_promise5_filter_changes(dut):
    """FILTER written around an edge: one record, stamped with the edge by the old settings, or by the new ones with the edge or the first
    sample that counts by them, which lies FILTER cycles behind the answer. Where pins do not show the answer it may be any cycle between
    write and answer."""
    bench = await Bench.start(dut, "1:1")
    await bench.record("edge")
    await bench.config("capture_edges", rise=ALL, fall=ALL)
    rest = [[(ALWAYS, int(c == LINE))] for c in range(INPUTS + 1)]
    level, by_new, total = 0, 0, 0
    long = min(12 * S, 63)
    for old, new in (
        ((0, long), (1, long)),
        ((1, long), (0, long)),
        ((1, long), (1, 5 * S)),
        ((0, long), (1, long)),
        ((1, 7), (0, 7)),
        ((1, 5), (1, 0)),
        ((1, 5), (1, min(9 * S + 1, 63))),
    ):
        for offset in range(0, 40, 1 if FAST else 3):
            await bench.config("filter", enable=old[0], length=old[1])
            await bench.cycles(20)
            bench.events.clear()
            level ^= 1
            edge = bench.now + (8 + offset) * S + bench.random.randrange(S)
            player = cocotb.start_soon(bench.play_aux([(edge, 0, level)]))
            before = bench.now // S
            await bench.config("filter", enable=new[0], length=new[1])
            after, answered = bench.now // S, bench.answered()
            await player
            await bench.cycles(40)
            await bench.sys_cycles(20)
            await bench.drain()
            seen = [(r.tick, r.flags, r.data) for r in bench.select(EDGE)]
            waves = [[(ALWAYS, level ^ 1), (edge, level)], *rest[1:]]
            allowed = []
            for cycle in range(before - 4, after + 4) if answered is None else (answered + FILTER,):
                filters = Filters(S, *old)
                filters.set(cycle, *new)
                allowed.append(capture(waves, S, ALL, ALL, filters))
            assert seen in allowed, f"{old} to {new}, edge at {edge}, between {before * S} and {after * S}: {seen}, not of {allowed}"
            assert len(seen) == 1
            by_new += seen[0][0] != edge or bool(seen[0][1]) != bool(old[0])
            total += 1
    assert 0 < by_new < total
    figure(5, "edges around a write to the filter", total)


@cocotb.test()
async def test_promise5_received_less_launched(dut):
    """tx to rx over a wire and over the internal loop: stamp - launch tick is LOOPBACK_TICKS for edges and bytes, at any phase."""
    for clocks, inner in (("1:1", 0), ("unrelated", 1), ("1:4", 0)):
        bench = await Bench.start(dut, clocks)
        await bench.record("edge", "tx_queue")
        dut.rx_wire.value = 1 - inner
        period = Fraction(bench.random.randrange(4 * 256 * S, 11 * 256 * S), 256)
        profile = Profile(period, 8, "even")
        assert await bench.profile(0, profile) and await bench.profile(1, profile)
        await bench.config("line", loopback=inner, rx_enable=1)
        await bench.config("capture_edges", rise=1 << LINE, fall=1 << LINE)
        bench.drain_start()
        tick, grants = bench.ahead(3), []
        for n in range(24 if FAST else 8):
            frame = Launch(FRAME, profile, bench.random.getrandbits(8), index=1)
            tick = max(tick, bench.ahead(1)) + bench.random.randrange(8)
            grants.append(Grant(tick, frame, 0, n))
            await bench.launch(tick, frame, n)
            tick += max(frame.length, SPACE)
        await bench.until(tick + 100 * S)
        await bench.drain_stop()
        bench.check_line(grants)
        line = [(t + regmap.LOOPBACK_TICKS if t != ALWAYS else t, v) for t, v in line_wave(grants)]
        idle = [[(ALWAYS, 0)]] * INPUTS
        same_list(
            "edges of the loop", [(r.tick, r.flags, r.data) for r in bench.select(EDGE)], capture([*idle, line], S, 1 << LINE, 1 << LINE)
        )
        assert [b.tick - g.tick for b, g in zip(bench.bytes, grants)] == [regmap.LOOPBACK_TICKS] * len(grants)
        expected = receive(line, profile, S, Echo(grants, S))
        assert len(bench.bytes) == len(expected)
        for seen, want, grant in zip(bench.bytes, expected, grants):
            assert want.key == seen.key, (seen, want)
            assert seen.data & 0xFF == grant.launch.data and seen.own == 1
        figure(5, f"received - launched, {'inner' if inner else 'wire'}, {clocks}", len(grants))


@cocotb.test()
async def test_promise5_receive_every_format(dut):
    """A stranger sends every format, with the errors a receiver must see, at awkward speeds: tick, data and flags exact."""
    bench = await Bench.start(dut, "unrelated")
    rng, total = bench.random, 0
    formats = [(d, p) for d in (5, 6, 7, 8) for p in ("none", "odd", "even", "mark", "space")]
    for data_bits, parity in formats if FAST else formats[::3]:
        period = Fraction(rng.randrange(6 * 256 * S, 20 * 256 * S), 256)
        stop = rng.choice((Fraction(1), Fraction(3, 2), Fraction(2)))
        profile = Profile(period, data_bits, parity, stop, bool(rng.getrandbits(1)))
        rest = profile.idle
        await bench.config("line")
        bench.dut.rx_drive.value = rest
        assert await bench.profile(0, profile)
        await bench.cycles(20)
        await bench.config("line", rx_enable=1)
        await bench.cycles(4)
        await bench.drain_bytes()
        bench.bytes.clear()
        tick, grants = bench.now + 200 * S, []
        wrong = profile._replace(parity={"none": "none", "odd": "even", "even": "odd", "mark": "space", "space": "mark"}[parity])
        for n in range(6):
            shape = rng.random()
            if shape < 0.15:
                launch = Launch(BREAK, profile, 1 + data_bits + (parity != "none") + rng.randrange(1, 6))
            else:
                launch = Launch(FRAME, wrong if shape < 0.3 else profile, rng.getrandbits(data_bits))
            grants.append(Grant(tick, launch, 0, n))
            tick += launch.length + rng.choice((0, 0, rng.randrange(40 * S)))
        wave = [(ALWAYS, rest), *line_wave(grants, rest)[1:]]
        await bench.play("rx_drive", wave)
        await bench.until(tick + 60 * S)
        await bench.drain_bytes()
        expected = receive(wave, profile, S)
        assert len(bench.bytes) == len(expected), (bench.bytes, expected)
        for seen, want in zip(bench.bytes, expected):
            assert want.key == seen.key, (profile, seen, want)
        total += len(expected)
    assert total > 30
    figure(5, "bytes from an independent UART", total)


@cocotb.test()
async def test_promise5_receive_odd_things(dut):
    """False starts, framing errors with a wait for mark, breaks of any length, receiver off, noise on single samples."""
    bench = await Bench.start(dut, "2:1")
    profile = Profile(Fraction(20 * S))
    assert await bench.profile(0, profile)
    await bench.config("line", rx_enable=1)
    unit, start = 20 * S, bench.now + 300 * S
    wave, tick = [(ALWAYS, 1)], start
    for low in (1, 2 * S, 9 * S):
        wave += [(tick, 0), (tick + low, 1)]  # false starts
        tick += 40 * S
    wave += [(tick, 0), (tick + 3 * unit, 1), (tick + 5 * unit, 0), (tick + 14 * unit, 1)]  # stop bit low, then low for long
    tick += 20 * unit
    for bits in (10, 11, 40):
        wave += [(tick, 0), (tick + bits * unit, 1)]
        tick += (bits + 3) * unit
    frame = line_wave([Grant(tick, Launch(FRAME, profile, 0xA6), 0, 0)])[1:]
    wave += frame
    # One sample turned over at the centre of bit 3: outvoted, but noticed.
    middle = tick + 3 * unit + unit // 2
    level = 0xA6 >> 2 & 1
    wave = sorted([*wave, (middle, 1 - level), (middle + 1, level)])
    tick += 14 * unit
    await bench.play("rx_drive", wave)
    await bench.until(tick)
    await bench.drain_bytes()
    expected = receive(wave, profile, S)
    assert [e[:5] for e in expected[-4:]] == [(t, 0, 0, 1, 1) for t in [e.tick for e in expected[-4:-1]]] + [(frame[0][0], 0xA6, 0, 0, 0)]
    assert len(bench.bytes) == len(expected), (bench.bytes, expected)
    for seen, want in zip(bench.bytes, expected):
        assert want.key == seen.key, (seen, want)
    assert bench.bytes[-1].noise == 1
    await bench.config("line")
    bench.bytes.clear()
    tick = bench.now + 20 * S
    await bench.play("rx_drive", line_wave([Grant(tick, Launch(FRAME, profile, 0x11), 0, 0)])[1:])
    await bench.cycles(300)
    await bench.drain_bytes()
    assert not bench.bytes, "the receiver was off"
    figure(5, "odd things received", len(expected))


@cocotb.test()
async def test_promise5_receiver_without_a_profile(dut):
    """Before profile 0 is valid the receiver receives nothing, also when it is switched on first, and after a reset."""
    bench = await Bench.start(dut, "1:1")
    profile = Profile(Fraction(6 * S))
    frame = Launch(FRAME, profile, 0x5A)
    for again in range(2):
        await bench.config("line", rx_enable=1)
        dut.rx_drive.value = 0
        for _ in range(40):
            await bench.cycles(10)
            assert not bench.status("rx_busy"), "busy without a profile"
        dut.rx_drive.value = 1
        await bench.cycles(40)
        # A profile that is refused changes nothing.
        assert not await bench.profile(0, Profile(Fraction(3 * S)))
        start = bench.now + 20 * S
        await bench.play("rx_drive", line_wave([Grant(start, frame, 0, 0)])[1:])
        await bench.cycles(40)
        assert not await bench.drain_bytes()
        assert await bench.profile(0, profile)
        start = bench.now + 20 * S
        await bench.play("rx_drive", line_wave([Grant(start, frame, 0, 0)])[1:])
        await bench.cycles(60)
        assert [(b.tick, b.data) for b in await bench.drain_bytes()] == [(start, 0x5A)]
        if not again:
            await bench.reset()


@cocotb.test()
async def test_promise5_receive_through_filter(dut):
    """Spikes shorter than the filter change neither data, nor ticks, nor flags."""
    bench = await Bench.start(dut, "unrelated")
    rng = bench.random
    profile = Profile(Fraction(24 * 256 * S + 37, 256))
    assert await bench.profile(0, profile)
    await bench.record("edge")
    length = 4 * S
    await bench.config("filter", enable=1 << LINE, length=length)
    await bench.config("line", rx_enable=1)
    await bench.config("capture_edges", fall=1 << LINE, rise=1 << LINE)
    grants, tick = [], bench.now + 300 * S
    for n in range(30 if FAST else 8):
        grants.append(Grant(tick, Launch(FRAME, profile, rng.getrandbits(8)), 0, n))
        tick = grants[-1].end + rng.randrange(60 * S)
    clean = line_wave(grants)
    flips, at = [], clean[1][0] - 40 * S
    edges = [t for t, _ in clean[1:]]
    while at < tick:
        width = rng.randrange(1, length)
        # Away from true edges, or the run of equal samples that makes the edge would begin elsewhere.
        if all(not at - length - 1 <= e <= at + width + length + 1 for e in edges):
            flips.append((at, width))
        at += width + length + 2 + rng.randrange(20 * S)
    wave = list(clean)
    for at, width in flips:
        level = [v for t, v in clean if t <= at][-1]
        wave += [(at, 1 - level), (at + width, level)]
    wave = sorted(wave)
    assert filtered(wave, length) == normal(clean)
    bench.drain_start()
    await bench.play("rx_drive", wave)
    await bench.until(tick + 100 * S)
    await bench.drain_stop()
    same_list("bytes", [b.key for b in bench.bytes], [(g.tick, g.launch.data, 0, 0, 0, 0, 0) for g in grants])
    same_list(
        "edges",
        [(r.tick, r.flags, r.data) for r in bench.select(EDGE)],
        capture([[(ALWAYS, 0)]] * INPUTS + [wave], S, 1 << LINE, 1 << LINE, Filters(S, 1 << LINE, length)),
    )
    figure(5, "bytes under spikes", len(grants))


@cocotb.test()
async def test_promise5_tick_zero_and_header(dut):
    """Tick 0 lies the same few cycles from reset under all clocks; the header's tick is the moment it was read."""
    for clocks in ("1:1", "2:1 shifted", "1:4", "unrelated"):
        bench = await Bench.start(dut, clocks)
        assert (bench.zero - bench.released) % CYCLE == 0 and abs(bench.zero - bench.released) <= 8 * CYCLE
        assert bench.zero - bench.released == _zero[S]
        await bench.profile(1, Profile(Fraction(8 * S)))
        tick = bench.ahead(2)
        pulse = Launch(PULSE, bench.profiles[1], width=3, index=1)
        await bench.launch(tick, pulse, 1)
        await bench.until(tick + 50 * S)
        bench.check_line([Grant(tick, pulse, 0, 1)])
        for stream in ("EVENTS", "RECEIVE"):
            for _ in range(6):
                before = bench.now
                await bench.read(regmap.REGIONS[stream][0])
                after = bench.now
                words = await bench.read_block(regmap.REGIONS[stream][0] + 8, 2)
                seen = words[0] | words[1] << 32
                # The snapshot travels between the clocks for a few periods of each.
                late = (8 * bench.sys_period + 8 * CYCLE) // TICK
                assert before - late <= seen <= after, f"{seen} is not between {before} and {after}"
                await bench.sys_cycles(3)


@cocotb.test()
async def test_promise5_snapshot_and_levels_at_reset(dut):
    """A SNAPSHOT is stamped between write and answer; an input that is not at its resting level at reset yields one edge."""
    bench = await Bench.start(dut, "unrelated")
    await bench.record("snapshot", "edge", "control")
    for _ in range(5):
        before = bench.now
        assert await bench.command(snapshot=1)
        after = bench.now
        await bench.cycles(30)
        await bench.sys_cycles(20)
        await bench.drain()
        record = bench.select(8)[-1]
        assert before <= record.tick <= after and record.data == 0 and record.source == 6
        applied = bench.select(5, 6)[-1]
        assert applied.data == 4
    assert len(bench.select(8)) == 5
    await bench.config("capture_edges", rise=ALL, fall=ALL)
    await bench.cycles(100)
    await bench.drain()
    assert not bench.select(EDGE)


@cocotb.test()
async def test_levels_are_those_of_the_pins(dut):
    """Each pin by itself, 3 bus cycles after its sample; neither the filter nor the loopback is in between."""
    bench = await Bench.start(dut, "unrelated")
    rng = random.Random(11)
    await bench.config("filter", enable=ALL, length=63)
    for loopback in (0, 1):
        await bench.config("line", loopback=loopback)
        for _ in range(40):
            levels = rng.choice((1 << rng.randrange(INPUTS + 1), rng.randrange(ALL + 1)))
            dut.rx_drive.value = levels >> LINE
            for channel in range(INPUTS):
                bench.set_aux(channel, levels >> channel & 1)
            await bench.cycles(4)
            await bench.sys_cycles(3)
            assert int(dut.levels.value) == levels


@cocotb.test()
async def test_promise5_event_mask(dut):
    """Only what the mask enables is recorded, and only that is numbered."""
    bench = await Bench.start(dut, "2:1")
    assert await bench.profile(1, Profile(Fraction(5 * S)))
    await bench.config("capture_edges", rise=1, fall=1)
    pulse = Launch(PULSE, bench.profiles[1], width=3, index=1)
    names = [f.name for f in regmap.config("event_mask").fields]
    for chosen in (("tx_queue",), ("edge",), ("refused_queue",), ("tx_queue", "edge", "snapshot"), ()):
        await bench.config("event_mask", **{n: 1 for n in chosen})
        await bench.drain()
        bench.events.clear()
        tick = bench.ahead(2)
        await bench.launch(tick, pulse, 1)
        await bench.launch(3, pulse, 2)  # refused: order
        await bench.until(tick + 40 * S)
        bench.set_aux(0, 1)
        await bench.cycles(10)
        bench.set_aux(0, 0)
        await bench.command(snapshot=1)
        await bench.cycles(60)
        await bench.sys_cycles(20)
        await bench.drain()
        count = {"tx_queue": 1, "edge": 2, "refused_queue": 1, "snapshot": 1}
        assert len(bench.events) == sum(count[n] for n in chosen), (chosen, bench.events)
    assert set(names) >= {"tx_queue", "edge"}
