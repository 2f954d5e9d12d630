# SPDX-License-Identifier: BSD-2-Clause
"""The LIN slave on the whole core: whole answers at their ticks to its own identifiers, and to nothing else."""

from fractions import Fraction

import cocotb

from sim.core.bench import CONSTANTS, FAST, SPACE, WRAP_BIT, S, figure
from sim.core.lin_bench import BIT, TRIGGER_LIN, LinBench
from sim.core.lin_model import Entry, Master, checksum, protected, random_entry, random_header
from sim.core.model import BREAK, FRAME, INVALID, LATE, MISSED, PULSE, REFUSED, RESPONDER, TX, Grant, Launch

FASTEST = CONSTANTS["RESPONSE_MIN_BYTE"] * S
SPECIFIED = Entry(bytes([0x4A, 0x55, 0x93, 0xE5]))  # of the standard: checksum 0xE6


@cocotb.test()
async def test_promise1_lin_answers(dut):
    """Identifiers, lengths, both checksums, every sample of a cycle, several spaces: each byte at the end of the one before + space."""
    lin = await LinBench.start(dut)
    rng, count = lin.bench.random, 24 if FAST else 6
    assert checksum(SPECIFIED.data) == 0xE6
    identifiers = [0x3F, 0x00, *rng.sample(range(1, 63), count - 2)]
    for n, identifier in enumerate(identifiers):
        assert await lin.write(identifier, SPECIFIED if n == 0 else random_entry(rng, 1 + n % 8, enhanced=n % 3 == 0))
    for n, identifier in enumerate(identifiers):
        if n == count // 2:
            await lin.check()
        await lin.header(identifier, 1 + n % 8 if n else 4, pause=Fraction(rng.randrange(S), S) / 7)
    frames = lin.frames(await lin.check())
    assert len(frames) == count
    assert frames[0] == [0x4A, 0x55, 0x93, 0xE5, 0xE6]
    figure(1, "LIN, answers", count)


@cocotb.test()
async def test_promise1_lin_space(dut):
    """The shortest space, and those around it: below it each answer is `late`, and the frame ends with its first byte."""
    lin = await LinBench.start(dut, "1:1")
    bench = lin.bench
    assert await lin.write(0x21, SPECIFIED)
    for space in (FASTEST - S - 1, FASTEST - 1, FASTEST, FASTEST + 1, 3 * int(BIT)):
        await lin.arm(space)
        fates = []
        for sample in range(S):
            master = Master((bench.now // S + 30) * S + sample, BIT)
            master.header(protected(0x21))
            await lin.play(master)
            await lin.answered(4)
            new = [(r.kind, r.flags) for r in await bench.drain() if r.source == RESPONDER]
            launched = new[: -1 if new[-1][0] == MISSED else None]
            assert all(kind == TX for kind, _ in launched) and new[len(launched) :] in ([], [(MISSED, LATE)]), new
            fates.append(len(launched))
        assert (min(fates) == 5) == (space >= FASTEST) and max(fates) <= 5, (space, fates)
    figure(1, "LIN, spaces", 5 * S)


@cocotb.test()
async def test_promise1_lin_bad_headers(dut):
    """Everything that is no header of ours: nothing is launched. The next good header is answered."""
    lin = await LinBench.start(dut)
    rng = lin.bench.random
    for identifier in range(64):
        if identifier != 0x11:
            assert await lin.write(identifier, random_entry(rng, 2))
    good = 0
    for identifier in range(0, 64, 1 if FAST else 9):
        for wrong in (0x40, 0x80, 0xC0):
            await lin.header(identifier, pid=protected(identifier) ^ wrong)
        await lin.bench.drain_bytes()
    bad = [
        {"low": 0},
        {"low": 9},
        {"low": 10},
        {"sync": 0x54},
        {"sync": 0x00, "delimiter": 2},
        {"sync": 0xD5},
        {"sync": 0xAA},
        {"pid": protected(0x11)},
    ]
    for options in bad:
        await lin.header(0x22, **options)
    # a byte too many, a framing error in sync and in identifier, a break instead of them
    for kind in range(5):
        master = lin.master()
        master.level(0, 13)
        master.level(1, 1)
        if kind == 0:
            master.byte(0x33)
        master.byte(0x55, 1, 0 if kind == 1 else 1)
        if kind in (1, 2):
            master.level(1, 1)
        if kind == 3:
            master.byte(0x55)
        if kind == 4:
            master.level(0, 13)
            master.level(1, 1)
        master.byte(protected(0x22), 1, 0 if kind == 2 else 1)
        master.level(1, 2)
        await lin.play(master)
        await lin.answered(2)
    assert not await lin.check()
    for identifier in (0x22, 0x3C):
        await lin.header(identifier, 2)
        good += 1
    assert len(lin.frames(await lin.check())) == good
    # break after break, each longer: only the last one's header counts
    for low in (11, 12, 14, 40):
        await lin.header(0x22, 2, low=low, delimiter=Fraction(3, 2))
        good += 1
    assert len(lin.frames(await lin.check())) == good
    figure(1, "LIN, bad headers", 64 * 3 + len(bad) + 5)


@cocotb.test()
async def test_promise1_lin_rates(dut):
    """Masters that are 2 % off, with jitter, are answered always; those 14 % off are never answered wrongly."""
    lin = await LinBench.start(dut)
    rng, count = lin.bench.random, 12 if FAST else 4
    for identifier in range(0, 64, 3):
        assert await lin.write(identifier, random_entry(rng, 1 + identifier % 3))
    for n in range(count):
        off = Fraction(rng.choice((-2, -1, 1, 2)), 100)
        await lin.header(3 * rng.randrange(22), 3, bit=BIT * (1 + off), jitter=rng if n % 2 else None)
    assert len(lin.frames(await lin.check())) == count
    for n in range(count):
        off = Fraction(rng.choice((-14, -10, -7, 7, 10, 14)), 100)
        await lin.header(3 * rng.randrange(22), 3, bit=BIT * (1 + off), jitter=rng if n % 2 else None)
    await lin.check()
    figure(1, "LIN, rates", 2 * count)


@cocotb.test()
async def test_promise1_lin_collisions(dut):
    """Another device pulls the bus low within our answer, at any bit: it ends with the byte that
    came back wrong. A break restarts."""
    lin = await LinBench.start(dut)
    rng = lin.bench.random
    assert await lin.write(0x2A, Entry(bytes([0xFF, 0x55, 0xF0])))
    answers = 0
    for trial in range(30 if FAST else 8):
        master = lin.master()
        master.header(protected(0x2A))
        begin = master.time
        offset = rng.randrange(int(4 * (10 * BIT + lin.space)))
        master.time = begin + offset
        if trial % 3 == 0:  # a whole header
            master.header(protected(0x2A))
            await lin.play(master)
            await lin.answered(3)
        else:
            master.level(0, Fraction(rng.choice((1, 2, 5, 9)), 2))
            master.level(1, 1)
            await lin.play(master)
        await lin.answered(3)
        answers += 1
    launched = await lin.check()
    frames = lin.frames(launched)
    assert any(len(frame) == 4 for frame in frames.values()) and any(len(frame) < 4 for frame in frames.values())
    figure(1, "LIN, collisions", answers)


@cocotb.test()
async def test_promise1_lin_overtaken(dut):
    """Another device's byte between the end of a byte and T, at every distance: if the centre of
    its start bit lies OVERTAKEN_CYCLES before T or more nothing is launched, and an event reports
    that; behind that the answer goes out at T."""
    lin = await LinBench.start(dut, "1:1", space=int(2 * BIT))
    assert await lin.write(0x15, Entry(bytes([0xFF])))
    limit = CONSTANTS["OVERTAKEN_CYCLES"] + int(BIT / 2 / S)
    for distance in [*range((limit - 2) * S, (limit + 3) * S), int(BIT), int(2 * BIT) + 5 * S]:
        master = lin.master()
        master.header(protected(0x15))
        pid = master.changes[-1][0]
        # the identifier byte's start edge is known, so T is
        start = master.time - 10 * BIT
        tick = -int(-start // 1) + int(10 * BIT) + lin.space
        assert pid < tick
        master.time = Fraction(tick - distance)
        master.level(0, Fraction(3, 4))
        master.level(1, 1)
        await lin.play(master)
        await lin.answered(1)
        new = [r for r in await lin.bench.drain() if r.source == RESPONDER]
        assert new[0].tick == tick, (new, tick)
        assert (new[0].kind == MISSED) == (tick // S - (tick - distance) // S >= limit), (distance, new)
    await lin.check()
    figure(1, "LIN, overtaken", 5 * S + 2)


@cocotb.test()
async def test_promise1_lin_noise_in_the_space(dut):
    """What is too short for a start bit does not keep an answer off the line, wherever it lies in the space."""
    lin = await LinBench.start(dut, "1:1", space=int(2 * BIT))
    assert await lin.write(0x21, Entry(b"\x12"))
    widths = (1, 2, S, 8 * S, 16 * S, 31 * S)
    for width in widths:
        for begin in (Fraction(1, 8), Fraction(1, 2), 1, Fraction(11, 8)):
            master = lin.master()
            master.header(protected(0x21))
            at = int(master.time + begin * BIT)
            master.changes += [(at, 0), (at + width, 1)]
            master.time = Fraction(at + 2 * width)
            await lin.play(master)
            await lin.answered(1)
    launched = await lin.check()
    assert [e.data for e in launched] == [0x12, checksum([0x12])] * 4 * len(widths)
    figure(1, "LIN, noise in the space", 4 * len(widths))


@cocotb.test()
async def test_promise1_lin_break_length(dut):
    """A space is a break from 11 bits of whole cycles less one on, to the cycle; a byte of zeros is none, however slow its sender."""
    lin = await LinBench.start(dut, "1:1")
    bench = lin.bench
    assert await lin.write(0x21, Entry(b"\x12"))
    enough = 11 * int(BIT / S) - 1  # cycles
    assert Fraction(108, 10) * BIT < enough * S < 11 * BIT
    for cycles in (int(Fraction(95, 10) * BIT / S), int(Fraction(104, 10) * BIT / S), enough - 1, enough, enough + 1, 14 * int(BIT / S)):
        master = Master((bench.now // S + 30) * S, BIT)
        master.header(protected(0x21), low=cycles * S / BIT)
        await lin.play(master)
        await lin.answered(1)
        sent = [r.kind for r in await bench.drain() if r.source == RESPONDER]
        assert sent == [TX, TX] * (cycles >= enough), (cycles, enough)
    for per_cent in range(0, 15, 2):
        master = lin.master()
        master.header(protected(0x02))
        master.time += lin.space
        slow = Master(master.time, BIT * (1 + Fraction(per_cent, 100)))
        slow.changes = master.changes
        for value in (0x00, 0x55, protected(0x21)):
            slow.byte(value)
        await lin.play(slow)
        await lin.answered(1)
    assert not [r for r in await bench.drain() if r.source == RESPONDER]
    await lin.check()
    figure(1, "LIN, lengths of breaks", 6)


@cocotb.test()
async def test_promise1_lin_break_within_a_byte(dut):
    """A master that begins again within a byte, at any half bit, of another node's or of ours: the header behind it is answered, whole."""
    lin = await LinBench.start(dut, "1:1")
    bench, restarts = lin.bench, 0
    assert await lin.write(0x21, Entry(b"\x12\x34"))
    step = 1 if FAST else 5
    for value in (0xFF, 0x55, 0x00, 0x01, 0x80):
        for half_bits in range(0, 20, step):
            master = lin.master()
            cut = master.time + Fraction(half_bits, 2) * BIT
            master.byte(value)
            master.changes = [(tick, level) for tick, level in master.changes if tick < cut]
            master.time = cut
            master.header(protected(0x21))
            await lin.play(master)
            await lin.answered(2)
            sent = [r.data & 0xFF for r in await bench.drain() if r.source == RESPONDER and r.kind == TX]
            await bench.drain_bytes()
            assert sent == [0x12, 0x34, checksum(b"\x12\x34")], (value, half_bits)
            restarts += 1
    for value in (0xFF, 0x00, 0x5A):
        entry = Entry(bytes([value, 0xFF]))
        assert await lin.write(0x21, entry)
        for half_bits in range(0, 24, step):
            master = lin.master()
            master.header(protected(0x21))
            master.time += lin.space + Fraction(half_bits, 2) * BIT
            master.header(protected(0x21))
            again = master.time
            await lin.play(master)
            await lin.answered(2)
            sent = [r for r in await bench.drain() if r.source == RESPONDER and r.kind == TX and r.tick >= again]
            await bench.drain_bytes()
            assert [r.data & 0xFF for r in sent] == entry.answer(0x21), (value, half_bits)
            restarts += 1
    await lin.check()
    figure(1, "LIN, breaks within a byte", restarts)


@cocotb.test()
async def test_promise1_lin_noise_in_a_break(dut):
    """A mark of one sample within a break does not end it; one of two cycles does."""
    lin = await LinBench.start(dut, "1:1")
    bench = lin.bench
    assert await lin.write(0x21, Entry(b"\x12"))
    for width, answered in ((1, True), (2 * S, False), (2 * S + 1, False)):
        for bits in (3, 5, 8):
            master = Master((bench.now // S + 30) * S, BIT)
            at = (int(master.time + bits * BIT) // S) * S
            master.header(protected(0x21))
            master.changes[1:1] = [(at, 1), (at + width, 0)]
            await lin.play(master)
            await lin.answered(1)
            sent = [r.kind for r in await bench.drain() if r.source == RESPONDER]
            assert sent == [TX, TX] * answered, (width, bits)
    await lin.check()


@cocotb.test()
async def test_promise1_lin_entries_are_whole(dut):
    """Entries written at any moment, without a pause: each answer is one that was written, whole."""
    lin = await LinBench.start(dut, "unrelated fast")
    bench, rng = lin.bench, lin.bench.random
    written, playing = [], True

    async def writer():
        while playing:
            value = len(written) % 251 + 1
            # equal bytes, so that a mixture shows
            entry = Entry(bytes([value] * (1 + value % 8)), enhanced=value % 2 == 0)
            written.append(entry.answer(0x07))
            for name, word in entry.words(0x07).items():
                assert await (bench.config(name, word) if isinstance(word, int) else bench.config(name, **word))

    await lin.write(0x07, Entry(b"\x00"))
    written.append(Entry(b"\x00").answer(0x07))
    task = cocotb.start_soon(writer())
    count = 40 if FAST else 8
    for _ in range(count):
        master = lin.master(ahead=30 + rng.randrange(100))
        master.header(protected(0x07))
        await lin.play(master)
        await lin.answered(8)
    playing = False
    await task
    await bench.drain()
    answers = [[]]
    for before, record in zip([None, *bench.select(1, 2)], bench.select(1, 2), strict=False):
        if before and record.tick - before.tick > 20 * BIT:
            answers.append([])
        answers[-1].append(record.data & 0xFF)
    assert len(answers) == count and all(answer in written for answer in answers), [a for a in answers if a not in written]
    assert len({tuple(answer) for answer in answers}) > 2
    figure(1, "LIN, entries written meanwhile", count)


@cocotb.test()
async def test_promise1_lin_entry_options(dut):
    """Once, off, a checksum of one's own, bits of it turned over; what is refused changes nothing."""
    lin = await LinBench.start(dut)
    bench = lin.bench
    data = bytes([1, 2, 3])
    assert await lin.write(1, Entry(data, once=True))
    assert await lin.write(2, Entry(data, own_checksum=True, flip=0x5A))
    assert await lin.write(3, Entry(data, enhanced=True, flip=0xFF))
    assert await lin.write(4, Entry(data))
    for identifier in (1, 1, 2, 3, 4):
        await lin.header(identifier, 3)
    assert await lin.write(4, Entry())
    assert not await bench.config("lin_entry", id=2, length=9) and not await bench.config("lin_entry", id=2, length=15)
    for identifier in (4, 2):
        await lin.header(identifier, 3)
    frames = list(lin.frames(await lin.check()).values())
    right = checksum(data)
    assert frames == [[1, 2, 3, right], [1, 2, 3, 0x5A], [1, 2, 3, checksum(data, protected(3)) ^ 0xFF], [1, 2, 3, right], [1, 2, 3, 0x5A]]
    # what cannot be armed: one answer only, or no frame
    for launch, rearm in ((Launch(FRAME, lin.profile), 0), (Launch(PULSE, lin.profile, width=9), 1), (Launch(BREAK, lin.profile, 9), 1)):
        await bench.responder(launch, lin.space, trigger=TRIGGER_LIN, rearm=rearm)
        assert not bench.status("responder_armed")
    refused = [(r.flags, r.data) for r in bench.select(REFUSED)]
    await bench.drain()
    refused = [(r.flags, r.data) for r in bench.select(REFUSED)]
    assert refused == [(INVALID, 42)] * 2 + [(INVALID, 38)] * 3, refused
    # disarmed it is silent, and begins again when armed
    await lin.header(4, 3)
    await lin.header(2, 3)
    assert not [r for r in await bench.drain() if r.source == RESPONDER]
    # a reset forgets all entries
    await bench.reset()
    figure(1, "LIN, options", 8)


@cocotb.test()
async def test_promise1_lin_master_and_slave(dut):
    """Headers by our own queue, each edge at its tick, and answered by our own table."""
    lin = await LinBench.start(dut)
    bench, rng = lin.bench, lin.bench.random
    for identifier in (5, 6):
        assert await lin.write(identifier, random_entry(rng, 2))
    begin = bench.ahead(4)
    count = 6 if FAST else 2
    for n in range(count):
        identifier = 5 + n % 2 if n % 3 else 9
        tick = max(begin, bench.ahead(4))
        places = (0, int(14 * BIT), int(14 * BIT) + int(10 * BIT))
        for place, launch in zip(
            places,
            (Launch(BREAK, lin.profile, 13), Launch(FRAME, lin.profile, 0x55), Launch(FRAME, lin.profile, protected(identifier))),
            strict=True,
        ):
            await bench.launch(tick + place, launch)
            lin.others.append(Grant(tick + place, launch, 0, n))
        await bench.until(tick + int(34 * BIT))
        await lin.answered(2)
        begin = bench.now + SPACE
    await bench.drain()
    assert not bench.select(REFUSED) and len(bench.select(1, 0)) == 3 * count
    frames = lin.frames(await lin.check())
    assert len(frames) == len([n for n in range(count) if n % 3])
    figure(1, "LIN, own headers", count)


@cocotb.test()
async def test_promise1_lin_decoded_by_sigrok(dut):
    """sigrok's decoders, an independent implementation, read the frames that the master and the core put on the bus."""
    for version, enhanced in ((1, False), (2, True)):
        lin = await LinBench.start(dut)
        frames = []
        for identifier, length in ((0x10, 4), (0x3C, 8), (0x00, 1), (0x3A, 2)):
            entry = random_entry(lin.bench.random, length, enhanced=enhanced and identifier < 60)
            assert await lin.write(identifier, entry)
            await lin.header(identifier, length)
            frames.append((identifier, entry.answer(identifier)))
        master = lin.master()  # the decoder reports a frame at the next break
        master.level(0, 13)
        master.level(1, 4)
        await lin.play(master)
        await lin.check()
        decoded = lin.decoded(version)
        if decoded is None:
            cocotb.log.warning("NOT TESTED: sigrok-cli is not installed")
        else:
            assert decoded == frames
    figure(1, "LIN, decoded by sigrok", 8)


@cocotb.test(skip=not WRAP_BIT)
async def test_promise1_lin_across_a_carry(dut):
    """The tick count passes the power of two at each place of a header and its answer, and in the cycles beside it: answers, stamps and
    pins are as ever. Each try begins with a reset, which sets the count back."""
    carry, tries = 1 << WRAP_BIT, 0
    for space in (FASTEST, 40 * S + 1):
        frame = int(10 * BIT)
        header = [0, int(11 * BIT), int(12 * BIT), int(22 * BIT), int(32 * BIT)]
        answer = [header[-1] + space, header[-1] + space + frame, header[-1] + 2 * space + frame, header[-1] + 2 * (space + frame)]
        near = (-130, -128, -64, -8, -2, -1, 0, 1, 2, 8)  # cycles: a stamp looks back by less than 128
        places = [(place // S + cycles) * S for place in (*header, *answer) for cycles in near]
        for place in places[tries % 3 :: (3 if S == 1 else 7) if FAST else 23]:
            lin = await LinBench.start(dut, "1:4")
            assert await lin.write(0x2A, Entry(b"\x9c"))
            await lin.arm(space)
            master = Master(Fraction(carry - place - lin.bench.random.randrange(S)), BIT)
            assert lin.bench.now + 4 * S < master.time
            master.header(protected(0x2A), low=11)
            await lin.play(master)
            await lin.answered(1)
            assert lin.bench.now > carry
            assert [e.data for e in await lin.check()] == [0x9C, checksum([0x9C])], place
            tries += 1
    figure(1, f"LIN, across 2**{WRAP_BIT}", tries)


@cocotb.test()
async def test_promise1_lin_random_traffic(dut):
    """Random headers, faults, collisions, rates, entries and spaces: all that is launched is what the model says, and nothing else."""
    total, wanted, answered = 0, 120 if FAST else 12, 0
    while total < wanted:
        lin = await LinBench.start(dut, "unrelated")
        bench, rng = lin.bench, lin.bench.random
        rng.seed(f"{rng.random()} {total}")
        identifiers = rng.sample(range(64), 12)
        await lin.arm(rng.choice((FASTEST, SPACE, rng.randrange(FASTEST, int(2 * BIT)))))
        bench.drain_start()
        for identifier in identifiers[::2]:
            assert await lin.write(identifier, random_entry(rng, rng.choice((1, 2, 8))))
        for _ in range(min(wanted - total, 300)):
            for _ in range(rng.choice((0, 0, 1, 3))):
                assert await lin.write(rng.choice(identifiers), random_entry(rng, rng.choice((1, 1, 2, 8)), once=rng.random() < 0.1))
            await lin.play(random_header(rng, bench.now + (20 + rng.randrange(200)) * S, BIT, lin.space, identifiers))
            await lin.answered(rng.choice((2, 8)))
            total += 1
        await lin.answered(8)
        await bench.drain_stop()
        answered += len(lin.frames(await lin.check()))
    assert answered > (wanted // 5 if FAST else 0)  # of a few headers few are good
    figure(1, "LIN, random traffic", wanted)
