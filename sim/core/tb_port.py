# SPDX-License-Identifier: BSD-2-Clause
"""The marker port on the whole core: marks of every source against the model, and promise 7: the line does not notice them."""

from fractions import Fraction

import cocotb

from sim.core.bench import CONSTANTS, FAST, PHY, SPACE, Bench, S, figure, latencies
from sim.core.model import (
    BUSY,
    FRAME,
    INVALID,
    PULSE,
    QUEUE,
    REFUSED,
    RESPONDER,
    TRAIN,
    TTY,
    TX,
    Grant,
    Launch,
    Profile,
    Steps,
    Train,
    arbitrate,
    arbitrate_marks,
    driver_wave,
    port_wave,
)

MINIMUM = CONSTANTS["TRAIN_MIN_PERIOD"] * S
RESPONSE = CONSTANTS["RESPONSE_MIN_INPUT"] * S
OUTPUT = sum(latencies(PHY))
LINE_PROFILE = Profile(Fraction(1201 * S, 256))
MARKS = LINE_PROFILE._replace(to_port=True)


async def start(dut, clocks, **profiles):
    """A bench that watches the port: profile 0 for the line, 1 for marks, 2 for pulses."""
    bench = await Bench.start(dut, clocks, watch=("tx", "de", "port"))
    await bench.record()
    for k, profile in enumerate((LINE_PROFILE, MARKS, Profile(Fraction(6 * S)))):
        assert await bench.profile(k, profile)
    bench.drain_start()
    return bench


def mark(code, index=1):
    """A launch that is one."""
    return Launch(FRAME, MARKS, code, index=index)


def tty_marks(bench):
    """Best-effort marks as their records tell."""
    return [Grant(r.tick, mark(r.data, 0), TTY, n) for n, r in enumerate(bench.select(TX, TTY))]


@cocotb.test()
async def test_promise1_marks(dut):
    """Every code from the cycle of its tick on, for exactly the width; one that overlaps replaces the one before and lasts as long."""
    widths = (1, S, 16 * S, 16 * S + 1, 2 * SPACE + 1, 0, 5 * SPACE)
    bench = await start(dut, "unrelated")
    rng, width, entries = bench.random, Steps(0), []
    for number, ticks in enumerate(widths):
        assert await bench.config("port", width=ticks)
        width.set(bench.now // S, ticks)
        tick = bench.ahead(4)
        for _ in range(8 if FAST else 3):
            entries.append(Grant(tick, mark(rng.randrange(256)), QUEUE, len(entries)))
            await bench.launch(tick, entries[-1].launch, entries[-1].name)
            tick = max(tick, bench.ahead(1)) + rng.choice((SPACE, rng.randrange(SPACE, 4 * SPACE)))
        await bench.until(tick + (2 * SPACE if number == len(widths) - 1 else 0))
    await bench.until(tick + 6 * SPACE)
    await bench.drain_stop()
    bench.check_launches(entries, [], sources=(QUEUE,))
    edges = bench.check_pin("port", port_wave(entries, width, S))
    assert bench.check_line([]) == 0 and bench.check_pin("de", [(0, 0)]) == 0
    figure(1, "marks", edges)


@cocotb.test()
async def test_promise1_one_mark_a_cycle(dut):
    """Of queue and train in one cycle the queue's mark is shown and the train's refused, at every sample of the cycle; of neighbours
    both are."""
    bench = await start(dut, "1:1")
    assert await bench.config("port", width=MINIMUM // 2)
    count = 30
    train = Train(bench.ahead_train(), MINIMUM + 1, 0, 1, count, mark(0x55))
    await bench.train_words(MINIMUM + 1, 0, 1, train.launch, train.tick(0), count)
    assert await bench.train_start()
    entries = []
    for k in range(2, count):
        tick = train.tick(k) + (k % (2 * S + 1)) - S
        entries.append(Grant(tick, mark(k), QUEUE, k))
        await bench.launch(tick, entries[-1].launch, k)
    await bench.until(train.tick(count) + SPACE)
    await bench.drain_stop()
    granted, refused = arbitrate_marks([*entries, *train.pulses()], (), S)
    assert refused and {g.source for g in refused} == {TRAIN}
    bench.check_launches(granted, refused, sources=(QUEUE, TRAIN))
    figure(1, "marks in one cycle", bench.check_pin("port", port_wave(granted, MINIMUM // 2, S)))
    bench.check_line([])


@cocotb.test()
async def test_promise7_marks_beside_the_line(dut):
    """A line crowded by a train and the responder, marks at random from the queue: each as if the other were not there."""
    bench = await start(dut, "unrelated fast")
    rng = bench.random
    lead, lag = rng.choice(((0, 0), (30 * S + 1, 50 * S)))
    assert await bench.config("driver_enable", lead=lead, lag=lag)
    width = rng.randrange(1, 3 * SPACE)
    assert await bench.config("port", width=width)
    pulse, frame = Launch(PULSE, bench.profiles[2], width=MINIMUM // 2, index=2), Launch(FRAME, LINE_PROFILE, 0x4D)
    count = 120 if FAST else 24
    delay = RESPONSE + lead + 3
    await bench.responder(frame, delay, trigger=1, channel=0, rise=1, rearm=1)
    whole = 2 * MINIMUM + frame.length
    train = Train(bench.ahead_train() + lead, whole, 2, 7, count, pulse)
    await bench.train_words(whole, 2, 7, pulse, train.tick(0), count)
    assert await bench.train_start()
    ticks = [train.tick(k) + MINIMUM // 2 + rng.randrange(MINIMUM // 4) for k in range(2, count)]
    played = cocotb.start_soon(bench.play_aux([(tick + d, 0, int(d == 0)) for tick in ticks for d in (0, 3 * S)]))
    entries, tick = [], bench.ahead(4) + lead
    while tick < train.tick(count):
        entries.append(Grant(tick, mark(rng.randrange(256)), QUEUE, len(entries)))
        await bench.launch(tick, entries[-1].launch, entries[-1].name)
        # Often together with a pulse of the train.
        tick = max(tick + SPACE + lead, bench.ahead(2) + lead) + rng.randrange(SPACE)
        near = next((train.tick(k) for k in range(count) if train.tick(k) >= tick), tick)
        tick = near if rng.random() < 0.5 else tick
        while int(dut.lq_free.value) == 0:
            await bench.sys_cycles(20)
    await played
    await bench.until(max(tick, train.tick(count)) + 4 * SPACE + lead + lag)
    await bench.drain_stop()
    shots = [Grant(tick + delay, frame, RESPONDER, n) for n, tick in enumerate(ticks)]
    granted, refused = arbitrate([*train.pulses(), *shots])
    bench.check_launches(granted, refused, sources=(TRAIN, RESPONDER))
    bench.check_launches(entries, [], sources=(QUEUE,))
    edges = bench.check_pin("port", port_wave(entries, width, S))
    edges += bench.check_line(granted) + bench.check_pin("de", driver_wave(granted, lead, lag, S))
    assert len(entries) > count // 2
    figure(7, "marks beside the line", edges)


@cocotb.test()
async def test_promise7_marks_of_train_and_responder(dut):
    """The train and the responder mark, the queue has the line, whose launches lie on top of them; bytes wait as ever."""
    bench = await start(dut, "2:1")
    rng = bench.random
    assert await bench.config("port", width=40 * S)
    pulse = Launch(PULSE, bench.profiles[2], width=MINIMUM + 3, index=2)
    count = 40 if FAST else 12
    await bench.responder(mark(0xA5), RESPONSE, trigger=1, channel=0, rise=1, rearm=1)
    train = Train(bench.ahead_train(), 2 * MINIMUM, 1, 3, count, mark(0x81))
    await bench.train_words(2 * MINIMUM, 1, 3, train.launch, train.tick(0), count)
    assert await bench.train_start()
    ticks = [train.tick(k) + rng.choice((-RESPONSE, rng.randrange(MINIMUM))) for k in range(2, count)]
    played = cocotb.start_soon(bench.play_aux([(tick + d, 0, int(d == 0)) for tick in ticks for d in (0, 3 * S)]))
    entries, k = [], 2
    while k < count:
        tick = train.tick(k) - rng.randrange(MINIMUM)
        if tick > bench.ahead(2):
            entries.append(Grant(tick, pulse, QUEUE, k))
            await bench.launch(tick, pulse, k)
            await bench.send([k])
        k += 2
    await played
    await bench.until(train.tick(count) + 4 * SPACE)
    while not bench.status("tx_idle"):
        await bench.cycles(200)
    await bench.drain_stop()
    marks, losers = arbitrate_marks([*train.pulses(), *(Grant(t + RESPONSE, mark(0xA5), RESPONDER, n) for n, t in enumerate(ticks))], (), S)
    bytes_ = [Grant(r.tick, Launch(FRAME, LINE_PROFILE, r.data), TTY, n) for n, r in enumerate(bench.select(TX, TTY))]
    granted, refused = arbitrate(entries, bytes_)
    assert losers and not refused and len(bytes_) == len(entries) > 2
    bench.check_launches([*granted, *marks], losers)
    edges = bench.check_pin("port", port_wave(marks, 40 * S, S)) + bench.check_line(granted)
    figure(7, "marks of train and responder", edges)


@cocotb.test()
async def test_promise2_bytes_are_marks(dut):
    """Profile 0 to the port: each byte is a mark as soon as possible, on a busy line, too, held by nothing of it; never in the way of a
    timed one. Behind the switch back they are frames."""
    bench = await start(dut, "unrelated")
    width = 2 * SPACE
    assert await bench.config("port", width=width) and await bench.config("driver_enable", lead=20 * S, lag=10 * S)
    # A start bit would have no edge at this level, and a held break keeps the line.
    assert await bench.config("line", rest=1, rest_level=0, break_hold=1)
    assert await bench.profile(0, MARKS)
    data = [bench.random.getrandbits(8) for _ in range(40 if FAST else 10)]
    entries, tick = [], bench.now
    for code in data:
        if bench.random.random() < 0.4:
            tick = max(tick + SPACE, bench.ahead(2)) + 20 * S + bench.random.randrange(SPACE)
            entries.append(Grant(tick, mark(code ^ 0xFF), QUEUE, len(entries)))
            await bench.launch(tick, entries[-1].launch, entries[-1].name)
        await bench.send([code, code ^ 1])
        await bench.cycles(bench.random.randrange(1, 300))
    await bench.cycles(600)
    assert bench.status("tx_idle"), "marks are not on the line"
    await bench.drain_stop()
    marks = tty_marks(bench)
    assert [g.launch.data for g in marks] == [c ^ k for c in data for k in (0, 1)]
    granted, refused = arbitrate_marks(entries, marks, S)
    assert not refused
    bench.check_launches(granted, [], sources=(QUEUE, TTY))
    figure(2, "bytes as marks", bench.check_pin("port", port_wave(granted, width, S)))
    assert bench.wave("tx")[-1][1] == 0, "the held break"
    # Back to the line.
    bench.drain_start()
    await bench.config("line")
    assert await bench.profile(0, LINE_PROFILE)
    await bench.cycles(100)
    since = bench.now
    await bench.send(data[:3])
    await bench.cycles(3 * Launch(FRAME, LINE_PROFILE, 0).length // S + 400)
    await bench.drain_stop()
    frames = [Grant(r.tick, Launch(FRAME, LINE_PROFILE, r.data), TTY, n) for n, r in enumerate(bench.select(TX, TTY)[len(marks) :])]
    assert [g.launch.data for g in frames] == data[:3]
    bench.check_line(frames, since=since)
    assert bench.check_pin("port", [(0, 0)], since=since) == 0
    bench.check_sequence()


@cocotb.test()
async def test_width_acts_at_once(dut):
    """A new width counts for marks from the cycle behind its answer's output on; a mark that is shown keeps its own."""
    bench = await start(dut, "2:1")
    assert await bench.config("port", width=50 * S)
    width, entries, tick = Steps(50 * S), [], bench.ahead(40)
    for n in range(30 if FAST else 8):
        entries.append(Grant(tick, mark(n + 1), QUEUE, n))
        await bench.launch(tick, entries[-1].launch, n)
        await bench.until(tick - bench.random.randrange(-12, 40) * S)
        ticks = bench.random.randrange(1, 60 * S)
        assert await bench.config("port", width=ticks)
        if (answer := bench.answered()) is not None:
            width.set(answer + OUTPUT + 1, ticks)
        tick = bench.ahead(2) + 90 * S
    await bench.until(tick)
    await bench.drain_stop()
    if bench.answered() is not None:
        bench.check_pin("port", port_wave(entries, width, S))


@cocotb.test()
async def test_to_port_acts_at_once(dut):
    """A launch is a mark or a frame by its profile as it is in its own cycle, written around it."""
    bench = await start(dut, "1:1")
    to_port, entries, tick = Steps(True), [], bench.ahead(40)
    for n in range(30 if FAST else 8):
        entries.append((tick, n + 1))
        await bench.launch(tick, mark(n + 1), n)
        await bench.until(tick - bench.random.randrange(-4, 40) * S)
        now = not to_port.steps[-1][1]
        assert await bench.profile(1, MARKS if now else LINE_PROFILE)
        if (answer := bench.answered()) is not None:
            to_port.set(answer + OUTPUT + (1 if S == 1 else 2), now)
        tick = bench.ahead(2) + 90 * S
    await bench.until(tick)
    await bench.drain_stop()
    if bench.answered() is not None:
        marks = [Grant(tick, mark(code), QUEUE, code - 1) for tick, code in entries if to_port.at(tick // S)]
        frames = [Grant(tick, Launch(FRAME, LINE_PROFILE, code, index=1), QUEUE, code - 1) for tick, code in entries]
        frames = [grant for grant in frames if not to_port.at(grant.tick // S)]
        assert marks and frames
        bench.check_pin("port", port_wave(marks, 0, S))
        bench.check_line(frames)
        bench.check_launches([*marks, *frames], [], sources=(QUEUE,))


@cocotb.test()
async def test_reset_and_flush(dut):
    """A reset clears the port; a flushed mark does not come; kinds other than frame are on the line."""
    bench = await start(dut, "1:1")
    pulse = Launch(PULSE, MARKS, width=9 * S, index=1)
    tick = bench.ahead(4)
    await bench.launch(tick, pulse, 0)
    await bench.launch(tick + SPACE, mark(0xC3), 1)
    await bench.launch(tick + 40 * SPACE, mark(0x3C), 2)
    await bench.until(tick + 3 * SPACE)
    await bench.command(flush_queue=1)
    await bench.until(tick + 42 * SPACE)
    await bench.drain_stop()
    bench.check_line([Grant(tick, pulse, QUEUE, 0)])
    bench.check_pin("port", port_wave([Grant(tick + SPACE, mark(0xC3), QUEUE, 1)], 0, S))
    await bench.reset()
    await bench.cycles(10)
    assert int(dut.port_pin.value) == 0


@cocotb.test()
async def test_no_late_mark(dut):
    """A mark that is late, or whose profile is not valid, is refused as any launch, and nothing is shown."""
    bench = await start(dut, "unrelated")
    await bench.launch(bench.now, mark(0xFF), 1)
    await bench.launch(bench.ahead(2), mark(0xFF, 3), 2)
    await bench.cycles(600)
    await bench.drain_stop()
    assert [(r.flags, r.data >> 16) for r in bench.select(REFUSED, QUEUE)] == [(1, 1), (INVALID, 2)]
    assert BUSY not in {r.flags for r in bench.select(REFUSED)} and bench.check_pin("port", [(0, 0)]) == 0
