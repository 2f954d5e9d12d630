# SPDX-License-Identifier: BSD-2-Clause
"""Promise 2 on the whole core: timed beats best-effort, and best effort still gets all the room there is."""

from dataclasses import replace
from fractions import Fraction

import cocotb

from sim.core.bench import CONSTANTS, FAST, FULL, PHY, Bench, S, figure, latencies
from sim.core.model import ALWAYS, FRAME, PULSE, Grant, Launch, Profile, Train, arbitrate, gaps

SLACK = CONSTANTS["BEST_EFFORT_SLACK"] * S
OUTPUT = sum(latencies(PHY))  # cycles from a word's answer to what obeys it at the pin
PLACING = CONSTANTS["CHANGE_MIN_PERIOD"] * S  # longer than the train takes to place its next pulse
TTY = Profile(Fraction(1100 * S, 256))


def tty_grants(bench, profile=None):
    """Best-effort frames as their records tell."""
    return [Grant(r.tick, Launch(FRAME, profile or TTY, r.data), 3, n) for n, r in enumerate(bench.select(1, 3))]


def break_end(cleared):
    """The tick from which on the line is free of a held break, by the cycle in which the word that cleared it was answered. The pin shows
    mark a cycle before."""
    return (cleared + OUTPUT + (1 if S == 1 else 2)) * S


async def start_bench(dut, clocks, profile=TTY):
    bench = await Bench.start(dut, clocks)
    await bench.record("tx_tty", "tx_train", "tx_queue", "tx_responder", "refused_queue", "refused_train", "control", "missed")
    assert await bench.profile(0, profile) and await bench.profile(1, Profile(Fraction(5 * S)))
    return bench


@cocotb.test()
async def test_promise2_bytes_in_order(dut):
    """Without timed launches bytes go out in order, back to back, each a perfect frame."""
    bench = await start_bench(dut, "unrelated")
    data = [bench.random.getrandbits(8) for _ in range(300 if FULL else 60 if FAST else 20)]
    bench.drain_start()
    await bench.send(data)
    while len(bench.select(1, 3)) < len(data):
        await bench.cycles(500)
    await bench.cycles(100)
    await bench.drain_stop()
    grants = tty_grants(bench)
    assert [r.data for r in bench.select(1, 3)] == data
    pauses = [b.tick - a.end for a, b in zip(grants[3:], grants[4:])]
    assert min(pauses) >= 0 and max(pauses) <= SLACK, f"bytes that wait start within the slack: {sorted(set(pauses))}"
    assert bench.status("tx_idle") and int(dut.tx_dropped.value) == 0
    figure(2, "best-effort bytes", bench.check_line(grants))
    bench.check_sequence()


@cocotb.test()
async def test_promise2_guard_both_halves(dut):
    """Gaps of every length between train pulses: never a frame that would not end in time, always one that fits."""
    length = Launch(FRAME, TTY, 0).length
    bench = await start_bench(dut, "2:1")
    sums = [0, 0]
    gaps = range(length - 2, length + SLACK + 4 * S, 1 if FULL else 5)
    if not FAST:  # both sides of both limits
        gaps = (length - 1, length, length + SLACK, length + SLACK + 3 * S)
    for gap in gaps:
        # Wider than the train takes to place its next pulse, until which nothing of the tty starts.
        pulse = Launch(PULSE, bench.profiles[1], width=PLACING, index=1)
        period, pulses = gap + pulse.width, 8
        await bench.command(flush_tty=1)
        await bench.config("line", hold_tty=1)
        await bench.send(range(1, 13))
        start = bench.ahead_train()
        await bench.train_words(period, 0, 1, pulse, start, pulses)
        assert await bench.train_start()
        train = Train(start, period, 0, 1, pulses, pulse)
        await bench.until(start + 2 * S)
        bench.events.clear()
        await bench.drain()
        await bench.config("line")
        free = bench.now
        await bench.until(train.tick(pulses - 1) - 8 * S)
        await bench.command(flush_tty=1)
        await bench.until(train.tick(pulses - 1) + 2 * length)
        await bench.drain()
        inside = [g for g in tty_grants(bench) if g.tick < train.tick(pulses - 1)]
        for a in range(pulses - 1):
            if train.tick(a) + pulse.width < free:
                continue
            here = [g for g in inside if train.tick(a) <= g.tick < train.tick(a + 1)]
            fits = gap >= length
            must = gap >= length + SLACK
            assert len(here) <= int(fits), f"gap {gap}: {here} between {train.tick(a)} and {train.tick(a + 1)}"
            assert len(here) >= int(must), f"gap {gap}: nothing between {train.tick(a)} and {train.tick(a + 1)}"
            assert all(g.end <= train.tick(a + 1) for g in here)
            sums[0] += 1
            sums[1] += len(here)
        assert not [r for r in bench.events if r.kind == 3], "no timed launch was ever pushed aside"
    must = sum(gap >= length + SLACK for gap in gaps)
    assert must and sums[0] >= 4 * len(gaps) and sums[1] >= 4 * must, sums
    figure(2, "guard, gaps tried", sums[0])


@cocotb.test()
async def test_promise2_queue_head_holds_back(dut):
    """A known queue head keeps its place; one that arrives too late finds the line busy and says so."""
    slow = Profile(Fraction(60 * 256 * S + 77, 256))
    bench = await start_bench(dut, "unrelated", slow)
    length = Launch(FRAME, slow, 0).length
    pulse = Launch(PULSE, bench.profiles[1], width=3, index=1)
    pushed, launches, collided = 0, [], 0
    for trial in range(40 if FULL else 16 if FAST else 8):
        early = trial % 2 == 0
        if early:
            # The launch is known long before the byte: the byte has to wait when it does not fit.
            tick = bench.ahead(6) + bench.random.randrange(3 * length)
            await bench.launch(tick, pulse, trial)
            await bench.send([trial])
        else:
            # The byte is on its way when the launch comes: if it has started, the launch is refused.
            await bench.send([trial])
            tick = bench.ahead(1) + bench.random.randrange(length // 2)
            await bench.launch(tick, pulse, trial)
        pushed += 1
        launches.append((Grant(tick, pulse, 0, trial), early))
        await bench.until(tick + 2 * length + 60 * S)
        await bench.drain()
    bytes_sent = tty_grants(bench, slow)
    assert [g.launch.data for g in bytes_sent] == list(range(pushed))
    granted, refused = arbitrate([g for g, _ in launches], bytes_sent)
    bench.check_launches(granted, refused, sources=(0, 3))
    for grant, early in launches:
        if early:
            assert grant not in refused, f"{grant} was known before the byte started"
        else:
            collided += grant in refused
    assert collided, "some late ones must have collided"
    figure(2, "queue head against bytes", bench.check_line(granted))


@cocotb.test()
async def test_promise2_room_before_a_far_launch(dut):
    """A launch far ahead holds back only what would not end in time: bytes fill the room to within the slack."""
    bench = await start_bench(dut, "1:4")
    length = Launch(FRAME, TTY, 0).length
    pulse = Launch(PULSE, bench.profiles[1], width=9, index=1)
    for trial in range(8 if FAST else 3):
        await bench.config("line", hold_tty=1)
        await bench.send(range(24))
        tick = bench.ahead(4) + 6 * length + trial * (length // 8)
        await bench.launch(tick, pulse, trial)
        await bench.sys_cycles(60)
        await bench.cycles(60)
        bench.events.clear()
        await bench.config("line")
        await bench.until(tick + 28 * length)
        await bench.drain()
        sent = tty_grants(bench)
        assert [g.launch.data for g in sent] == list(range(24))
        before = [g for g in sent if g.tick < tick]
        assert len(before) >= 4 and before[-1].end <= tick
        assert tick - before[-1].end < length + SLACK, f"room for another byte before {tick}: {before[-1]}"
        after = [g for g in sent if g.tick >= tick]
        assert after[0].tick >= tick + 9 and after[0].tick <= tick + 9 + SLACK + 8 * S, "and goes on right after it"
        assert [r.tick for r in bench.select(1, 0)] == [tick]


@cocotb.test()
async def test_promise2_exclusive_responder(dut):
    """While a responder is armed `exclusive` nothing best-effort starts; when it disarms the bytes go."""
    bench = await start_bench(dut, "unrelated")
    answer = Launch(PULSE, bench.profiles[1], width=11, index=1)
    await bench.responder(answer, 300 * S, trigger=1, channel=0, rise=1, exclusive=1)
    assert bench.status("responder_armed")
    await bench.send([0x31, 0x32])
    await bench.cycles(1500)
    await bench.drain()
    assert not bench.select(1), "nothing starts while armed"
    edge = bench.now + 20 * S
    await bench.play_aux([(edge, 0, 1)])
    await bench.cycles(1200)
    await bench.drain()
    shots = bench.select(1, 2)
    assert [r.tick for r in shots] == [edge + 300 * S]
    sent = tty_grants(bench)
    assert [g.launch.data for g in sent] == [0x31, 0x32] and sent[0].tick >= shots[0].tick + 11
    bench.check_line([*sent, Grant(shots[0].tick, answer, 2, 0)])


@cocotb.test()
async def test_promise2_countdown_holds_back(dut):
    """While a responder that is not exclusive counts down, nothing best-effort starts either: its launch is never in danger."""
    bench = await start_bench(dut, "2:1")
    length = Launch(FRAME, TTY, 0).length
    answer = Launch(PULSE, bench.profiles[1], width=11, index=1)
    await bench.responder(answer, 2 * length, trigger=1, channel=0, rise=1, rearm=1)
    edges, grants = [], []
    for trial in range(10):
        edge = bench.now + 30 * S
        await bench.play_aux([(edge, 0, 1)])
        await bench.cycles(40)
        await bench.send([trial])
        bench.set_aux(0, 0)
        await bench.cycles(5 * length // S)
        edges.append(edge)
        grants.append(Grant(edge + 2 * length, answer, 2, trial))
    await bench.drain()
    assert [r.tick for r in bench.select(1, 2)] == [g.tick for g in grants]
    sent = tty_grants(bench)
    assert len(sent) == 10 and not bench.select(7)
    for grant, byte in zip(grants, sent):
        assert grant.end <= byte.tick <= grant.end + SLACK + 8 * S
    bench.check_line([*grants, *sent])


@cocotb.test()
async def test_promise2_hold_and_break(dut):
    """hold_tty holds bytes; break_hold takes the free line at once, keeps it, and makes timed launches busy."""
    bench = await start_bench(dut, "unrelated fast")
    await bench.config("line", hold_tty=1)
    await bench.send([0x61, 0x62, 0x63])
    await bench.cycles(900)
    await bench.drain()
    assert not bench.select(1) and not bench.status("tx_idle")
    await bench.config("line")
    await bench.cycles(1000)
    await bench.drain()
    sent = tty_grants(bench)
    assert [g.launch.data for g in sent] == [0x61, 0x62, 0x63]
    bench.check_line(sent)
    before = bench.now
    await bench.config("line", break_hold=1)
    await bench.cycles(50)
    pulse = Launch(PULSE, bench.profiles[1], width=4, index=1)
    tick = bench.ahead(2)
    await bench.launch(tick, pulse, 9)
    asked = bench.now
    assert await bench.profile(3, bench.profiles[1])
    alone = bench.now - asked
    await bench.send([0x64])
    await bench.until(tick + 400 * S)
    # a byte that waits behind the break, perhaps forever, does not keep settings waiting
    asked = bench.now
    assert await bench.profile(3, bench.profiles[1])
    assert bench.now - asked <= alone + 100 * S
    after = bench.now
    await bench.config("line")
    await bench.cycles(900)
    await bench.drain()
    wave = bench.wave("tx", before)
    assert [v for _, v in wave[:3]] == [1, 0, 1]
    low, high = wave[1][0], wave[2][0]
    assert before <= low <= before + (60 * S + 40 * bench.sys_period // (8000 // S)) and high >= after
    assert [(r.tick, r.flags) for r in bench.select(3, 0)] == [(tick, 2)]
    last = tty_grants(bench)[-1]
    assert last.launch.data == 0x64 and last.tick >= high
    bench.check_line([*sent, last], [(ALWAYS, 1), (low, 0), (high, 1)])


@cocotb.test()
async def test_promise2_break_hold_and_polarity(dut):
    """A held break is the space level of profile 0 also if its polarity changes meanwhile."""
    bench = await start_bench(dut, "1:1")
    await bench.config("line", break_hold=1)
    begins = (bench.answered() + OUTPUT + 1) * S
    await bench.cycles(60)
    wave = [(ALWAYS, 1), (begins, 0)]
    for invert in (True, False, True):
        assert await bench.profile(0, Profile(TTY.period, invert=invert))
        wave.append(((bench.answered() + OUTPUT - 1) * S, int(invert)))  # space
        await bench.cycles(20)
    await bench.config("line")
    ends = break_end(bench.answered())
    await bench.cycles(20)
    bench.check_pin("tx", [*wave, (ends - S, 0)])  # mark
    bench.check_pin("de", [(ALWAYS, 0), (begins, 1), (ends, 0)])


@cocotb.test()
async def test_promise1_launch_behind_a_held_break(dut):
    """A held break ends in the cycle that the answer names. A launch at its end is granted, one a tick earlier is refused."""
    bench = await start_bench(dut, "1:1")
    pulse = Launch(PULSE, bench.profiles[1], width=3, index=1)
    distances = set()
    for place in range(-20 * S, 20 * S) if FAST else range(-8 * S, 8 * S, S):
        await bench.config("line", break_hold=1)
        await bench.cycles(40)
        tick = bench.ahead(2) // S * S + 100 * S + place
        await bench.launch(tick, pulse, place & 0xFF)
        await bench.until(tick - place - 30 * S)
        await bench.config("line")
        end = break_end(bench.answered())
        await bench.until(tick + 100 * S)
        new = [(r.kind, r.tick) for r in await bench.drain() if r.source == 0]
        since = tick - place - 60 * S
        if new == [(3, tick)]:
            free = next(t for t, level in bench.wave("de", since) if not level)
            assert tick < free, f"refused at {tick}, but de says that the line is free from {free} on"
        granted = tick >= end
        assert new == [(1 if granted else 3, tick)], (tick, end, new)
        pulse_wave = [(tick, 0), (tick + 3, 1)] if granted else []
        bench.check_pin("tx", [(ALWAYS, 0), (end - S, 1), *pulse_wave], since)
        bench.check_pin("de", [(t, 1 - level) for t, level in [(ALWAYS, 0), (end, 1), *pulse_wave]], since)
        distances.add(tick - end)
    assert not FAST or set(range(-2 * S, 2 * S)) <= distances, sorted(distances)


@cocotb.test()
async def test_promise2_break_hold_cleared_before_it_begins(dut):
    """A held break that is cleared before it begins leaves the line alone."""
    bench = await start_bench(dut, "1:1")
    lengths = set()
    pulse = Launch(PULSE, bench.profiles[1], width=120 * S, index=1)
    for place in range(-56, 4):
        tick = bench.ahead(3) // S * S + 100 * S + place * 7 % 11 * S  # the word's turn in the crossing comes at all of them
        await bench.launch(tick, pulse, place & 0xFF)
        await bench.until(tick + 2 * S)
        await bench.config("line", break_hold=1)
        free = tick + pulse.width + 2 * S  # two cycles behind the launch
        await bench.until(free + place * S)
        await bench.config("line")
        cleared = bench.answered()
        await bench.until(free + 100 * S)
        held = cleared + OUTPUT > free // S
        length = break_end(cleared) - S - free if held else 0
        lengths.add(length // S)
        bench.check_line([Grant(tick, pulse, 0, 0)] + [Grant(free, replace(pulse, width=length), 0, 0)] * held, since=tick - S)
        await bench.drain()
    assert min(lengths - {0}) == (1 if S == 1 else 2) and 0 in lengths, lengths


@cocotb.test()
async def test_promise2_flush_and_drops(dut):
    """A full FIFO drops and counts; flush drops what has not started and never cuts a frame."""
    bench = await start_bench(dut, "1:1")
    await bench.config("line", hold_tty=1)
    room = int(dut.tx_free.value)
    data = [n & 0xFF for n in range(room + 2)]
    await bench.send(data[:room])
    await bench.sys_cycles(40)
    # The head may have moved on to where it waits.
    more = int(dut.tx_free.value)
    assert int(dut.tx_dropped.value) == 0 and more <= 2
    await bench.send(data[room : room + more])
    await bench.sys_cycles(20)
    assert int(dut.tx_dropped.value) == 0 and int(dut.tx_free.value) == 0
    await bench.send([1, 2, 3, 4, 5])
    await bench.sys_cycles(20)
    assert int(dut.tx_dropped.value) == 5
    await bench.config("line")
    await bench.cycles(4 * Launch(FRAME, TTY, 0).length // S)
    await bench.command(flush_tty=1)
    await bench.cycles(600)
    await bench.drain()
    sent = tty_grants(bench)
    assert [g.launch.data for g in sent] == list(range(len(sent))) and 3 <= len(sent) <= 8
    bench.check_line(sent)
    assert bench.status("tx_idle")
    await bench.send([0x99])
    await bench.cycles(400)
    await bench.drain()
    assert [g.launch.data for g in tty_grants(bench)][-1] == 0x99
    bench.check_line(tty_grants(bench))


@cocotb.test()
async def test_promise2_invalid_profile(dut):
    """Bytes wait, or are dropped, but never appear while profile 0 is not valid; they use its polarity when it is."""
    bench = await Bench.start(dut, "unrelated")
    await bench.record("tx_tty")
    await bench.send([0x15])
    await bench.cycles(400)
    await bench.drain()
    assert not bench.select(1)
    bench.check_line([])
    inverted = Profile(Fraction(5 * S), 7, "even", Fraction(3, 2), True)
    await bench.command(flush_tty=1)
    assert await bench.profile(0, inverted)
    await bench.cycles(20)
    since = bench.now
    await bench.send([0x35, 0x4A])
    await bench.cycles(400)
    await bench.drain()
    sent = tty_grants(bench, inverted)
    assert [g.launch.data for g in sent] == [0x35, 0x4A]
    bench.check_line(sent, 0, since=since)


@cocotb.test()
async def test_promise2_bytes_around_a_dense_train(dut):
    """Hundreds of bytes through a train of frames: none lost, none late for the train, every large enough gap used."""
    bench = await start_bench(dut, "2:1 shifted")
    length = Launch(FRAME, TTY, 0).length
    assert await bench.profile(2, Profile(Fraction(PLACING * 256 // 10, 256)))
    frame = Launch(FRAME, bench.profiles[2], 0xFF, index=2)
    whole = frame.length + 2 * length + 3 * SLACK + 5
    count = 60 if FULL else 15
    data = [bench.random.getrandbits(8) for _ in range(count + 30)]
    await bench.send(data)
    start = bench.ahead_train()
    await bench.train_words(whole, 1, 3, frame, start, count)
    assert await bench.train_start()
    train = Train(start, whole, 1, 3, count, frame)
    bench.drain_start()
    await bench.until(train.tick(count) + 40 * length)
    await bench.drain_stop()
    sent = tty_grants(bench)
    assert [g.launch.data for g in sent] == data
    granted, refused = arbitrate(train.pulses(), sent)
    assert not refused
    bench.check_launches(granted, refused, sources=(1, 3))
    last = sent[-1].tick
    for a, b in gaps(granted, train.tick(count - 1)):
        if a >= start and b < last:
            assert b - a < length + SLACK, f"a byte would have fitted in [{a}, {b})"
    figure(2, "bytes through a train", bench.check_line(granted))


def rests(answered):
    """The tick from which on the line rests as a word says, by the cycle in which it was answered."""
    return (answered + OUTPUT + 2) * S


@cocotb.test()
async def test_promise2_rest_level(dut):
    """The line rests at the level named, whatever profile 0 says; pulses go to the other one and back; bytes wait without being lost."""
    bench = await start_bench(dut, "unrelated")
    up = Profile(Fraction(5 * S), invert=True)
    assert await bench.profile(2, up)
    await bench.config("line", rest=1, rest_level=0)
    low = rests(bench.answered())
    await bench.send([0x61, 0x62])
    pulses = [Launch(PULSE, up, width=width, index=2) for width in (1, 7, 60 * S)]
    first = bench.ahead(3)
    for n, pulse in enumerate(pulses):
        await bench.launch(first + 100 * S * n, pulse, n)
    frame = Launch(FRAME, up, 0x53, 0, 2)
    await bench.launch(first + 300 * S, frame, 3)
    await bench.until(first + 500 * S)
    # a held break is profile 0's space level here, too
    await bench.config("line", rest=1, rest_level=0, break_hold=1)
    await bench.cycles(20)
    assert await bench.profile(0, Profile(TTY.period, invert=True))
    space = (bench.answered() + OUTPUT - 1) * S
    assert await bench.profile(0, TTY)
    back = (bench.answered() + OUTPUT - 1) * S
    await bench.config("line", rest=1, rest_level=0)
    await bench.cycles(20)
    await bench.drain()
    assert not bench.select(1, 3) and not bench.status("tx_idle")
    await bench.config("line", rest=1, rest_level=1)
    high = rests(bench.answered())
    await bench.cycles(1000)
    await bench.config("line", rest=1, rest_level=0)
    again = rests(bench.answered())
    await bench.cycles(20)
    await bench.config("line")
    end = rests(bench.answered())
    await bench.cycles(100)
    await bench.drain()
    sent = tty_grants(bench)
    assert [g.launch.data for g in sent] == [0x61, 0x62] and sent[0].tick > high and sent[1].end < again
    grants = [Grant(first + 100 * S * n, pulse, 0, n) for n, pulse in enumerate([*pulses, frame])]
    assert [(r.tick, r.data >> 16) for r in bench.select(1, 0)] == [(g.tick, g.name) for g in grants]
    bench.check_line([*grants, *sent], [(ALWAYS, 1), (low, 0), (space, 1), (back, 0), (high, 1), (again, 0), (end, 1)])


@cocotb.test()
async def test_promise2_no_byte_begins_at_another_rest_level(dut):
    """A byte beside the word that names a rest level, at any distance, is whole or waits."""
    bench = await start_bench(dut, "1:1")
    whole = 0
    for place in range(0, 60, 1 if FAST else 3):
        bench.events.clear()
        since = bench.now
        if place < 30:
            await bench.send([0x55])
            await bench.cycles(place + 1)
            await bench.config("line", rest=1, rest_level=0)
        else:
            await bench.config("line", rest=1, rest_level=0, wait=False)
            await bench.cycles(place - 29)
            await bench.send([0x55])
            await bench.config_wait()
            bench.waited_for = bench.words - 1
        low = rests(bench.answered())
        await bench.cycles(600)
        await bench.drain()
        early = tty_grants(bench)
        whole += len(early)
        await bench.config("line")
        high = rests(bench.answered())
        await bench.cycles(600)
        await bench.drain()
        (sent,) = tty_grants(bench)
        bench.check_line([sent], [(ALWAYS, 1), (low, 0), (high, 1)], since)
        assert (sent in early) == (sent.tick <= low) and sent.tick != high
    assert 0 < whole < 60
