# SPDX-License-Identifier: BSD-2-Clause
"""Promises 1 and 3 on the whole core: timed launches are exact or refused, frames are identical."""

from fractions import Fraction

import cocotb
from cocotb.triggers import FallingEdge

from sim.core.bench import CONSTANTS, FAST, FULL, SEQUENCE, SPACE, Bench, S, figure
from sim.core.model import (
    BREAK,
    BUSY,
    FRAME,
    INVALID,
    LATE,
    ORDER,
    PULSE,
    QUEUE,
    REFUSED,
    WAIT,
    Grant,
    Launch,
    Profile,
    QueueEntry,
    Train,
    arbitrate,
    queue_fates,
    same_list,
)
from sim.long_runs import LONG

LMIN = CONSTANTS["LMIN_CYCLES"] * S
MINIMUM = CONSTANTS["CHANGE_MIN_PERIOD"] * S


async def commit(bench, entries):
    """Launches in order, as many ahead as the queue takes."""
    for entry in entries:
        while int(bench.dut.lq_free.value) == 0:
            await bench.sys_cycles(20)
        await bench.launch(entry.tick, entry.launch, entry.tag)


async def finish(bench, tick):
    """Lets time pass until well after `tick`, reading records meanwhile."""
    while bench.now < tick + 32 * S:
        await bench.drain()
        await bench.until(min(tick + 40 * S, bench.now + 2000 * S))
    await bench.cycles(40)
    await bench.drain()
    await bench.drain()


def check_queue(bench, entries, others=()):
    """Everything the queue did, against the model; returns the grants."""
    candidates = queue_fates(entries)
    granted, refused = arbitrate([*candidates, *others])
    bench.check_launches(granted, refused, sources=(QUEUE,))
    seen = [(r.flags, r.data) for r in bench.select(REFUSED, QUEUE) if r.flags != BUSY]
    expected = [(e.fate, e.tag << 16 | e.launch.word()) for e in entries if e.fate is not None]
    same_list("refused by the queue", seen, expected)
    return granted


@cocotb.test()
async def test_promise3_every_format(dut):
    """5 to 8 bits, five parities, three stops: every edge at start + floor(k * period), equal bytes equal."""
    bench = await Bench.start(dut, "unrelated")
    await bench.record("tx_queue", "refused_queue")
    rng, entries, tag = bench.random, [], 0
    formats = [
        (d, p, s)
        for d in (5, 6, 7, 8)
        for p in ("none", "odd", "even", "mark", "space")
        for s in (Fraction(1), Fraction(3, 2), Fraction(2))
    ]
    rng.shuffle(formats)
    for number, (data_bits, parity, stop) in enumerate(formats):
        period = Fraction(rng.randrange(4 * S * 256, 9 * S * 256), 256)
        profile = Profile(period, data_bits, parity, stop, bool(rng.getrandbits(1)))
        index = 1 + number // 2 % 3
        if entries:
            # Profiles are latched at the start of a launch: rewriting one in the middle must not show.
            await bench.until(entries[-1].tick + 2)
        assert await bench.profile(index, profile)
        tick, data = bench.ahead(2), rng.getrandbits(8)
        for _ in range(2):
            # Twice the same byte, the second one as close as can be: at the end of the first.
            entries.append(QueueEntry(tick, Launch(FRAME, profile, data, index=index), tag))
            await bench.launch(tick, entries[-1].launch, tag)
            tick += max(entries[-1].launch.length, SPACE)
            tag += 1
    await finish(bench, tick)
    grants = check_queue(bench, entries)
    assert len(grants) == len(entries) == 120
    edges = bench.check_line(grants)
    bench.check_sequence()
    figure(3, "formats", edges)


@cocotb.test()
async def test_promise3_profile_is_latched_at_the_start(dut):
    """A launch that waits takes the profile as it is when it starts; the tty's profile 0 never touches another one's."""
    bench = await Bench.start(dut, "2:1")
    await bench.record("tx_queue", "refused_queue")
    slow, fast = Profile(Fraction(40 * S)), Profile(Fraction(9 * 256 * S + 85, 256), 7, "odd", invert=True)
    assert await bench.profile(1, slow) and await bench.profile(0, slow)
    tick = bench.ahead(6)
    await bench.launch(tick, Launch(FRAME, slow, 0x4D, index=1), 1)
    second = tick + Launch(FRAME, slow, 0x4D).length
    await bench.launch(second, Launch(FRAME, slow, 0x4D, index=1), 2)
    await bench.until(tick + 30 * S)
    assert await bench.profile(1, fast), "a profile may change at any time"
    assert await bench.profile(0, Profile(Fraction(5 * S)))
    await finish(bench, second + 600 * S)
    grants = [Grant(tick, Launch(FRAME, slow, 0x4D, index=1), QUEUE, 1), Grant(second, Launch(FRAME, fast, 0x4D, index=1), QUEUE, 2)]
    bench.check_line(grants)
    bench.check_launches(grants, [], sources=(QUEUE,))


BAUDS = (50, 110, 300, 1200, 2400, 4800, 9600, 19200, 57600, 115200, 250000, 921600, 1000000, Fraction(12345678, 1000), 12000000)


@cocotb.test()
async def test_promise3_awkward_bauds(dut):
    """Bauds from 50 to clock/4, as a 48 MHz clock makes them. The slowest at a clock scaled so that a frame is short."""
    bench = await Bench.start(dut, "2:1")
    await bench.record("tx_queue", "refused_queue")
    entries, tag = [], 0
    limit = 10**7 if LONG else 6000 if FULL else 700 * S if FAST else 200 * S
    for baud in BAUDS:
        clock = Fraction(48_000_000 * S)
        while clock / baud > limit:
            clock /= 7  # keeps the fraction awkward
        period = Fraction(round(clock / baud * 256), 256)
        profile = Profile(period)
        if entries:
            await finish(bench, entries[-1].tick + entries[-1].launch.length - 64 * S)
        assert await bench.profile(1, profile), f"{baud} baud: {period} ticks refused"
        entries.append(QueueEntry(bench.ahead(2), Launch(FRAME, profile, 0x5A ^ tag, index=1), tag))
        await bench.launch(entries[-1].tick, entries[-1].launch, tag)
        tag += 1
    await finish(bench, entries[-1].tick + entries[-1].launch.length)
    grants = check_queue(bench, entries)
    assert len(grants) == len(BAUDS)
    figure(3, "bauds 50 to clock/4", bench.check_line(grants))


@cocotb.test()
async def test_promise3_period_limits(dut):
    """4 cycles is the fastest bit; a shorter one is refused and leaves the profile invalid for launches or as it was."""
    bench = await Bench.start(dut, "1:1")
    await bench.record()
    assert not await bench.profile(1, Profile(Fraction(4 * S) - Fraction(1, 256)))
    assert await bench.profile(2, Profile(Fraction(4 * S)))
    tick = bench.ahead(2)
    fast = Launch(FRAME, bench.profiles[2], 0x33, index=2)
    entries = [QueueEntry(tick, Launch(FRAME, None, 0x11, index=1), 1), QueueEntry(tick, fast, 2)]
    await commit(bench, entries)
    await finish(bench, tick + fast.length)
    bench.check_line(check_queue(bench, entries))
    await bench.drain()
    assert [r.source for r in bench.select(REFUSED) if r.source == 6] == [6], "a refused profile leaves one REFUSED of control"
    assert bench.select(REFUSED, 6)[0].data == 3 and bench.select(REFUSED, 6)[0].flags == INVALID


@cocotb.test()
async def test_promise1_breaks_and_pulses(dut):
    """Breaks of 1 to 255 bits, pulses from one tick: edges exact, also at T = end of the one before and at every sample."""
    bench = await Bench.start(dut, "unrelated fast")
    await bench.record("tx_queue", "refused_queue")
    rng = bench.random
    profile = Profile(Fraction(1200 * S + 77, 256) if S > 1 else Fraction(1101, 256), stop=Fraction(3, 2))
    inverted = Profile(profile.period + 1, invert=True)
    assert await bench.profile(1, profile) and await bench.profile(2, inverted)
    entries, tick = [], bench.ahead(1)
    shapes = [(BREAK, n, 0) for n in (1, 2, 10, 13, 100, 255)]
    shapes += [(PULSE, 0, w) for w in [*range(1, 3 * S + 3), 17 * S + 1, 255, 256, 257, 65535 if FULL else 1025]]
    shapes += [(PULSE, 0, rng.randrange(40 * S, 90 * S)) for _ in range(24)]
    for kind, data, width in shapes:
        index = rng.choice((1, 2))
        launch = Launch(kind, (profile, inverted)[index - 1], data, width, index)
        tick = max(tick, bench.ahead(1))
        entries.append(QueueEntry(tick, launch, len(entries)))
        await commit(bench, entries[-1:])
        # Touching when the queue's own spacing allows it, else a free stretch of any length in ticks.
        tick += launch.length if launch.length >= SPACE and rng.random() < 0.8 else launch.length + SPACE + rng.randrange(4 * S)
    await finish(bench, tick)
    grants = check_queue(bench, entries)
    assert len(grants) == len(entries)
    figure(1, "breaks and pulses", bench.check_line(grants))


@cocotb.test()
async def test_promise1_touching_within_one_cycle(dut):
    """T = end is granted and T = end - 1 refused, at every sample of the cycle, between queue and train."""
    bench = await Bench.start(dut, "1:1")
    await bench.record("tx_queue", "refused_queue", "tx_train", "refused_train")
    assert await bench.profile(1, Profile(Fraction(5 * S)))
    profile = bench.profiles[1]
    period, pulse = MINIMUM + 1, Launch(PULSE, profile, width=3, index=1)
    start = bench.ahead_train()
    count = 20 * S
    train = Train(start, period, count=count, launch=pulse)
    await bench.train_words(period, launch=pulse, start=start, count=count)
    assert await bench.train_start()
    entries = []
    for n in range(count):
        place = train.tick(n)
        # Before, at the same tick (it wins over the train), right at its end, with every small width and distance.
        offset = (-3, -2, -1, 0, 1, 2, 3, 4)[n % 8]
        width = 1 + n // 8 % (2 * S)
        entries.append(QueueEntry(place + offset, Launch(PULSE, profile, width=width, index=1), n))
        await commit(bench, entries[-1:])
        await bench.drain()
    await finish(bench, train.tick(count - 1))
    candidates = queue_fates(entries)
    granted, refused = arbitrate([*candidates, *train.pulses()])
    bench.check_launches(granted, refused, sources=(0, 1))
    assert {g.source for g in refused} == {0, 1}, "both have to lose sometimes"
    figure(1, "touching launches", bench.check_line(granted))


@cocotb.test()
async def test_promise1_order_and_invalid(dut):
    """invalid, order, late are decided in this order, by the entry before whatever became of it; flush forgets."""
    bench = await Bench.start(dut, "4:1")
    await bench.record()
    assert await bench.profile(1, Profile(Fraction(6 * S)))
    profile, tick = bench.profiles[1], bench.ahead(10)

    def pulse(at, tag, width=3, **more):
        return QueueEntry(at, Launch(PULSE, profile, width=width, index=1), tag, **more)

    entries = [
        pulse(tick, 1),
        pulse(tick - 1, 2),
        pulse(tick + 1000 * S, 3),
        pulse(tick + 999 * S, 4),
        QueueEntry(tick + 2000 * S, Launch(PULSE, None, width=2, index=3), 5),  # a profile that was never set
        pulse(tick + 1999 * S, 6),  # still after an entry of 2000 S
        # A wait: of a channel that is not there, where the core has waits.
        QueueEntry(tick + 2100 * S, Launch(WAIT, profile, 15 if SEQUENCE else 0, width=2, index=1), 7),
        pulse(tick + 2200 * S, 8, width=0),
        QueueEntry(tick + 2300 * S, Launch(BREAK, profile, 0, index=1), 9),
        pulse(0, 10),
        pulse(1, 11, late=True),
        pulse(0, 12),
        pulse(tick + 2000 * S, 13),
    ]
    await commit(bench, entries)
    await finish(bench, tick + 2400 * S)
    grants = check_queue(bench, entries)
    assert [e.fate for e in entries] == [None, ORDER, None, ORDER, INVALID, ORDER, INVALID, INVALID, INVALID, ORDER, LATE, ORDER, None]
    bench.check_line(grants)
    # 13 was waiting behind refused ones only. Now a flush with two pending launches, then one at an earlier tick.
    bench.events.clear()
    far = bench.ahead(6) + 4000 * S
    await bench.launch(far, Launch(PULSE, profile, width=9, index=1), 20)
    await bench.launch(far + 100 * S, Launch(PULSE, profile, width=9, index=1), 21)
    await bench.sys_cycles(40)
    await bench.command(flush_queue=1)
    after = QueueEntry(bench.ahead(2), Launch(PULSE, profile, width=4, index=1), 22)
    await commit(bench, [after])
    await finish(bench, far + 200 * S)
    grants.append(Grant(after.tick, after.launch, QUEUE, 22))
    assert [r.data >> 16 for r in bench.select(1, QUEUE)] == [22] and not bench.select(REFUSED)
    flushed = [r for r in bench.select(5, 6) if r.data & 1]
    assert len(flushed) == 1 and flushed[0].data == 2 << 16 | 1, flushed
    bench.check_line(grants)
    assert int(dut.launch_accepted.value) == (len(entries) + 3) % 256 and int(dut.launch_refused.value) == 0


@cocotb.test()
async def test_promise1_flush_of_a_full_queue(dut):
    """Launches until one is refused for want of room. A flush takes back all of them and reports
    their number; none of them is sent."""
    bench = await Bench.start(dut, "2:1")
    await bench.record()
    assert await bench.profile(1, Profile(Fraction(6 * S)))
    profile, start, fed = bench.profiles[1], bench.ahead(200) + 20000 * S, 0
    while not int(dut.launch_refused.value):
        await bench.launch(start + 50 * S * fed, Launch(PULSE, profile, width=9, index=1), fed)
        await bench.sys_cycles(8)
        fed += 1
        assert fed < 200, "the queue has no end"
    taken = fed - int(dut.launch_refused.value)
    assert taken >= 64
    await bench.command(flush_queue=1)
    after = QueueEntry(bench.ahead(2), Launch(PULSE, profile, width=4, index=1), 300)
    await commit(bench, [after])
    await finish(bench, start + 50 * S * fed)
    (flushed,) = [r for r in bench.select(5, 6) if r.data & 1]
    assert flushed.data == taken << 16 | 1 and not bench.select(REFUSED)
    assert [(r.tick, r.data >> 16) for r in bench.select(1, QUEUE)] == [(after.tick, 300)]
    bench.check_line([Grant(after.tick, after.launch, QUEUE, 300)])
    figure(1, "launches flushed from a full queue", taken)


async def late_sweep(bench, lead, ticks):
    """Commits launches at `ticks` after a moment of fixed phase; returns [(distance, record, reference tick)]."""
    out = []
    for distance in ticks:
        # Out of reset each time, so that the crossing takes as long each time.
        await bench.reset()
        await bench.record("tx_queue", "refused_queue")
        assert await bench.profile(1, Profile(Fraction(8 * S)))
        await bench.config("driver_enable", lead=lead, lag=3)
        await FallingEdge(bench.dut.sys_clk)
        reference = since = bench.now
        tick = reference + distance
        launch = Launch(PULSE, bench.profiles[1], width=2, index=1)
        await bench.launch(tick, launch, distance)
        await bench.until(max(bench.now, tick) + lead + 200 * S)
        mine = await bench.drain()
        assert len(mine) == 1, f"one outcome each: {mine}"
        (record,) = mine
        assert record.data == distance << 16 | launch.word()
        if record.kind == 1:
            assert record.tick == tick
        else:
            assert (record.kind, record.flags) == (REFUSED, LATE), record
            # It was decided at or before the stamp; a launch at Lmin or more from there would have to go.
            assert tick < record.tick + LMIN + lead, f"{record} for {tick}: that was {tick - record.tick} ticks ahead"
        bench.check_line([Grant(tick, launch, QUEUE, distance)] if record.kind == 1 else [], since=since)
        out.append((distance, record, reference))
    return out


@cocotb.test()
async def test_promise1_earliest_legal_tick(dut):
    """Tick by tick over the boundary: all below are late, all from it on launch, and the boundary is Lmin, lead included."""
    for lead in (0, 37 * S + 1):
        bench = await Bench.start(dut, "1:1")
        # Coarsely first, then every tick around the boundary.
        coarse = await late_sweep(bench, lead, range(0, lead + 160 * S, 8 * S))
        edge = max(d for d, r, _ in coarse if r.kind == REFUSED)
        assert edge < max(d for d, r, _ in coarse)
        fine = await late_sweep(bench, lead, range(edge - 2 * S, edge + 9 * S))
        fates = [r.kind for _, r, _ in fine]
        assert fates == sorted(fates, reverse=True), "late below, launched above, nothing in between"
        first = min(d for d, r, _ in fine if r.kind == 1)
        stamp = {r.tick - reference for _, r, reference in fine if r.kind == REFUSED}
        assert len(stamp) == 1, f"refused after a fixed time: {stamp}"
        # `stamp` ticks after the reference the entry had reached the head and been refused; Lmin counts from the head on.
        assert first <= stamp.pop() + LMIN + lead, "a launch Lmin ahead must go"
        figure(1, f"earliest legal tick, lead {'0' if not lead else '> 0'}", len(coarse) + len(fine))


@cocotb.test()
async def test_promise1_lmin_after_predecessor(dut):
    """The next entry counts from the report of the one before: tick by tick from touching to plenty."""
    bench = await Bench.start(dut, "2:1 shifted")
    await bench.record("tx_queue", "refused_queue")
    assert await bench.profile(1, Profile(Fraction(8 * S)))
    profile, grants, fates = bench.profiles[1], [], []
    for distance in range(1, 2 * LMIN, 1 if FAST else S + 1):
        tick = bench.ahead(2)
        await bench.launch(tick, Launch(PULSE, profile, width=1, index=1), 0)
        await bench.launch(tick + distance, Launch(PULSE, profile, width=1, index=1), 1)
        await bench.until(tick + distance + 60 * S)
        new = [r for r in await bench.drain() if r.source == QUEUE]
        assert len(new) == 2 and (new[0].kind, new[0].tick) == (1, tick), new
        grants.append(Grant(tick, Launch(PULSE, profile, width=1, index=1), QUEUE, 0))
        if new[1].kind == 1:
            assert new[1].tick == tick + distance
            grants.append(Grant(tick + distance, Launch(PULSE, profile, width=1, index=1), QUEUE, 1))
        else:
            assert (new[1].kind, new[1].flags) == (REFUSED, LATE) and tick + distance < new[1].tick + LMIN
        fates.append(new[1].kind)
    # The sequencer looks every four cycles, so the phase of the first one moves the limit by up to three.
    first, last = fates.index(1), max(n for n, fate in enumerate(fates) if fate == REFUSED)
    assert fates[0] == REFUSED and fates[-1] == 1 and (last - first) * (1 if FAST else S + 1) < 4 * S, fates
    bench.check_line(grants)
    figure(1, "second of two launches", len(fates))


@cocotb.test()
async def test_promise1_late_one_does_not_hold_up_the_next(dut):
    """A late entry is refused at once, so that the next can still be in time."""
    bench = await Bench.start(dut, "1:4")
    await bench.record("tx_queue", "refused_queue")
    assert await bench.profile(1, Profile(Fraction(8 * S)))
    tick = bench.ahead(5)
    pulse = Launch(PULSE, bench.profiles[1], width=5, index=1)
    entries = [
        QueueEntry(0, pulse, 1, late=True),
        QueueEntry(2, pulse, 2, late=True),
        QueueEntry(2, pulse, 3, late=True),
        QueueEntry(tick, pulse, 4),
    ]
    await commit(bench, entries)
    await finish(bench, tick)
    bench.check_line(check_queue(bench, entries))
    stamps = [r.tick for r in bench.select(REFUSED, QUEUE)]
    assert stamps == sorted(stamps) and stamps[-1] < tick - LMIN


@cocotb.test()
async def test_promise1_queue_against_train(dut):
    """Hundreds of launches that get in each other's way: who goes is decided as the model says, edges exact."""
    bench = await Bench.start(dut, "unrelated")
    await bench.record("tx_queue", "refused_queue", "tx_train", "refused_train", "train_done")
    rng = bench.random
    profiles = [Profile(Fraction(rng.randrange(4 * S * 256, 7 * S * 256), 256), invert=k == 2) for k in (1, 2)]
    assert await bench.profile(1, profiles[0]) and await bench.profile(2, profiles[1])
    frame = Launch(FRAME, profiles[0], 0xC5, index=1)
    count = 120 if FULL else 50
    whole, num, den = frame.length + MINIMUM, 3, 7
    start = bench.ahead_train()
    train = Train(start, whole, num, den, count, frame)
    await bench.train_words(whole, num, den, frame, start, count)
    assert await bench.train_start()
    end, tick, entries = train.tick(count - 1), start + rng.randrange(50 * S), []
    while tick < end:
        shape = rng.random()
        index = rng.choice((1, 2))
        if shape < 0.3:
            launch = Launch(FRAME, profiles[index - 1], rng.getrandbits(8), index=index)
        elif shape < 0.4:
            launch = Launch(BREAK, profiles[index - 1], rng.randrange(1, 5), index=index)
        else:
            launch = Launch(PULSE, profiles[index - 1], width=rng.choice((1, 2, S, rng.randrange(1, 60 * S))), index=index)
        if rng.random() < 0.6:
            # Aimed at a pulse of the train: its tick, its end, and one to either side.
            k = next((k for k in range(count) if train.tick(k) > tick), count - 1)
            aimed = train.tick(k) + rng.choice((0, -1, 1, frame.length, frame.length - 1, frame.length + 1))
            tick = max(tick, aimed)
        entries.append(QueueEntry(tick, launch, len(entries)))
        tick += rng.randrange(SPACE, 260 * S)
    bench.drain_start()
    await commit(bench, entries)
    await bench.until(max(end, entries[-1].tick) + 400 * S)
    await bench.drain_stop()
    granted, refused = arbitrate([*queue_fates(entries), *train.pulses()])
    assert not [r for r in bench.select(REFUSED, QUEUE) if r.flags != BUSY], "the test meant all of them in time"
    bench.check_launches(granted, refused, sources=(0, 1))
    assert len([g for g in refused if g.source == 0]) > 3 and len([g for g in refused if g.source == 1]) > 3
    bench.check_sequence()
    assert [r.data for r in bench.select(6)] == [count]
    bench.check_line(granted)
    figure(1, "queue against train", len(granted) + len(refused))
