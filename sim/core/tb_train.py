# SPDX-License-Identifier: BSD-2-Clause
"""Promise 4 on the whole core: trains without drift, changes that are whole."""

from fractions import Fraction

import cocotb

from sim.core.bench import CONSTANTS, FAST, FULL, Bench, S, figure
from sim.core.model import (
    ALWAYS,
    APPLIED,
    BREAK,
    BUSY,
    FRAME,
    INVALID,
    LATE,
    ORDER,
    PULSE,
    REFUSED,
    TRAIN_CHANGE,
    TRAIN_DONE,
    Adjust,
    Grant,
    Launch,
    Profile,
    QueueEntry,
    Train,
    arbitrate,
    driver_wave,
    queue_fates,
    same_list,
)
from sim.long_runs import LONG

MINIMUM = CONSTANTS["CHANGE_MIN_PERIOD"] * S  # of a train that can be changed
FASTEST = CONSTANTS["TRAIN_MIN_PERIOD"] * S
START = CONSTANTS["TRAIN_LMIN_CYCLES"] * S
CHANGE, REDO = CONSTANTS["CHANGE_LMIN"] * S, CONSTANTS["CHANGE_REDO"] * S
PERIOD = MINIMUM + 60 * S
PULSES = 10_000 if LONG else 2_500 if FULL else 1_500 if FAST else 80


def scaled(exact, target):
    """The period with the fraction of `exact` and a whole part near `target`."""
    return int(target), exact.numerator % exact.denominator, exact.denominator


RATES = {
    "58 Hz": Fraction(48_000_000, 58),
    "44.1 kHz": Fraction(48_000_000, 44_100),
    "12345.678 Hz": Fraction(48_000_000_000, 12_345_678),
    "1 MHz / 7": Fraction(48_000_000 * 7, 1_000_000),
    "2^32 denominators": Fraction(0x9E3779B9, 1 << 32),
}


async def start_bench(dut, clocks="unrelated", events=True, watch=("tx",), width=2):
    bench = await Bench.start(dut, clocks, watch=watch)
    names = ("train_done", "control", "refused_train") + (("tx_train",) if events else ())
    await bench.record(*names)
    assert await bench.profile(1, Profile(Fraction(5 * S)))
    return bench, Launch(PULSE, bench.profiles[1], width=width, index=1)


async def begin(bench, launch, whole, num=0, den=1, count=0, clear=True):
    """Starts a train well in time; returns its model."""
    start = bench.ahead_train()
    await bench.train_words(whole, num, den, launch, start, count)
    assert await bench.train_start()
    if clear:
        await bench.cycles(20)
        await bench.sys_cycles(20)
        applied = [r for r in await bench.drain() if r.source == TRAIN_CHANGE]
        assert [(r.kind, r.flags, r.data) for r in applied] == [(APPLIED, 0, 0)], applied
    return Train(start, whole, num, den, count, launch)


async def no_drift(dut, rate, clocks):
    """Thousands of pulses, each compared with floor(start + n * period)."""
    bench, launch = await start_bench(dut, clocks)
    whole, num, den = scaled(RATES[rate], MINIMUM)
    pulses = PULSES if den < 1 << 32 else PULSES // 5
    bench.drain_start()
    train = await begin(bench, launch, whole, num, den, pulses, clear=False)
    await bench.until(train.tick(pulses) + 100 * S)
    await bench.drain_stop()
    grants = train.pulses()
    assert len(grants) == pulses
    bench.check_launches(grants, [], sources=(1,))
    edges = bench.check_line(grants)
    assert edges == 2 * pulses
    assert [r.data for r in bench.select(TRAIN_DONE)] == [pulses]
    errors = [g.tick - (train.tick(0) + n * (whole + Fraction(num, den))) for n, g in enumerate(bench.tx_grants(lambda _: launch))]
    assert -1 < min(errors) and max(errors) <= 0, "the floor of the exact place, and nothing accumulates"
    bench.check_sequence()
    figure(4, f"train, fraction of {rate}", pulses)


@cocotb.test()
async def test_promise4_no_drift_58_hz(dut):
    await no_drift(dut, "58 Hz", "unrelated")


@cocotb.test()
async def test_promise4_no_drift_44100_hz(dut):
    await no_drift(dut, "44.1 kHz", "1:1")


@cocotb.test()
async def test_promise4_no_drift_12345_678_hz(dut):
    await no_drift(dut, "12345.678 Hz", "1:1 shifted")


@cocotb.test()
async def test_promise4_no_drift_1_mhz_over_7(dut):
    await no_drift(dut, "1 MHz / 7", "2:1 shifted" if FAST else "1:1")


@cocotb.test()
async def test_promise4_no_drift_denominator_2_32(dut):
    await no_drift(dut, "2^32 denominators", "2:1")


@cocotb.test(skip=not (FULL or LONG))
async def test_promise4_58_hz_at_full_scale(dut):
    """58 Hz, 0xFF at 9600 baud, 48 MHz: 827586 6/29 cycles a pulse, nothing scaled."""
    bench, _ = await start_bench(dut, "2:1")
    clock = 48_000_000 * S
    profile = Profile(Fraction(clock, 9600))
    assert await bench.profile(2, profile)
    frame = Launch(FRAME, profile, 0xFF, index=2)
    exact = Fraction(clock, 58)
    count = 31 if LONG else 3
    train = await begin(bench, frame, int(exact), exact.numerator % exact.denominator, exact.denominator, count)
    await bench.until(train.tick(count - 1) + frame.length + 100 * S)
    await bench.drain()
    bench.check_launches(train.pulses(), [], sources=(1,))
    assert bench.check_line(train.pulses()) == 2 * count
    await bench.drain()
    assert [r.data for r in bench.select(TRAIN_DONE)] == [count]
    figure(4, "58 Hz at full scale", count)


@cocotb.test()
async def test_promise4_shortest_period_and_limits(dut):
    """The documented minimum runs without a skipped pulse; one tick less is refused whole."""
    bench, launch = await start_bench(dut, "1:4", events=False)
    count = 300 if FAST else 50
    bench.drain_start()
    train = await begin(bench, Launch(PULSE, bench.profiles[1], width=1, index=1), FASTEST, 1, 3, count, clear=False)
    await bench.until(train.tick(count) + 60 * S)
    await bench.drain_stop()
    bench.check_line(train.pulses())
    assert [r.data for r in bench.select(TRAIN_DONE)] == [count] and not bench.select(REFUSED)
    bench.events.clear()
    await bench.train_words(FASTEST - 1, 2, 3, launch, bench.ahead(5), 3)
    await bench.train_start()
    await bench.train_words(FASTEST, 0, 1)
    await bench.config("train_start_lo", max(0, bench.now - 5))
    await bench.train_start()  # in the past
    await bench.cycles(60)
    await bench.sys_cycles(60)
    await bench.drain()
    assert [(r.flags, r.source) for r in bench.select(REFUSED)] == [(INVALID, TRAIN_CHANGE), (LATE, TRAIN_CHANGE)], bench.events
    bench.check_line(train.pulses())


@cocotb.test()
async def test_promise4_asap_stop_restart(dut):
    """As soon as possible is soon; a stop ends between pulses and names the next one; a stopped train starts again."""
    bench, launch = await start_bench(dut, "unrelated", width=70 * S)
    period, grants = MINIMUM + 30 * S, []
    for run in range(6):
        await bench.train_words(period, 1, 4, launch, 0, 0)
        await bench.train_start(asap=True)
        answered = bench.now
        await bench.cycles(5 * period // S + 13 * run)
        assert bench.status("train_running")
        await bench.train_start(asap=True)  # refused busy
        await bench.train_stop()
        await bench.cycles(400)
        await bench.sys_cycles(20)
        assert not bench.status("train_running")
        new = await bench.drain()
        first = next(r.tick for r in new if r.kind == 1)
        assert first <= answered + START + 8 * S, f"asap was {first - answered} ticks after the answer"
        train = Train(first, period, 1, 4, 0, launch)
        (stop,) = [r for r in new if r.kind == APPLIED and r.flags == 0x80]
        assert [(r.kind, r.flags, r.source) for r in new if r.source == TRAIN_CHANGE] == [
            (APPLIED, 0, 5),
            (REFUSED, BUSY, 5),
            (APPLIED, 0x80, 5),
        ]
        sent = [r.data for r in new if r.kind == 1]
        assert sent == list(range(stop.data)), f"pulses {sent}, next would have been {stop.data}"
        assert train.tick(stop.data) >= stop.tick, "no pulse is missing before the stop"
        assert train.tick(stop.data - 1) <= stop.tick + 8 * S, "none starts after it"
        grants += train.pulses(stop=stop.data)
        await bench.train_stop()  # of a stopped train: the same again
        await bench.cycles(30)
        await bench.sys_cycles(30)
        again = await bench.drain()
        assert [(r.kind, r.flags, r.data) for r in again] == [(APPLIED, 0x80, stop.data)], again
    bench.check_line(grants)
    bench.check_sequence()


@cocotb.test()
async def test_promise4_skipped_pulses_use_their_number(dut):
    """Pulses under a long launch are refused, keep their numbers and move nothing."""
    bench, launch = await start_bench(dut, "2:1")
    await bench.record("train_done", "refused_train", "tx_train", "tx_queue", "refused_queue")
    period = MINIMUM + 14 * S
    train = await begin(bench, launch, period, 5, 8, 40, clear=False)
    long = Launch(PULSE, bench.profiles[1], width=6 * period + 70 * S + 1, index=1)
    tick = train.tick(12) - 1
    await bench.launch(tick, long, 77)
    bench.drain_start()
    await bench.until(train.tick(40) + 100 * S)
    await bench.drain_stop()
    granted, refused = arbitrate([*train.pulses(), Grant(tick, long, 0, 77)])
    assert [g.name for g in refused] == list(range(12, 19))
    bench.check_launches(granted, refused, sources=(0, 1))
    assert [r.data for r in bench.select(TRAIN_DONE)] == [40], "skipped ones count"
    figure(4, "skipped pulses", bench.check_line(granted))


def change_words(period):
    return int(period), (period - int(period)).numerator, (period - int(period)).denominator


async def outcome(bench):
    """The one answer of the train to the last command."""
    answers = []
    for _ in range(400):
        answers += [r for r in await bench.drain() if r.source == TRAIN_CHANGE]
        if answers:
            break
        await bench.cycles(10)
    assert len(answers) == 1, f"one answer to a change: {answers}"
    return answers[0]


@cocotb.test()
async def test_promise4_adjust_at_every_phase(dut):
    """n = 0 and steps of one tick, written at every cycle of a period: whole, once, and as early as can be."""
    bench, launch = await start_bench(dut, "1:1")
    period = MINIMUM + 7 * S
    await bench.train_words(period, 1, 3)
    train = await begin(bench, launch, period, 1, 3)
    bench.drain_start()
    await bench.drain_stop()
    changes = 0
    for step in (1, -1):
        for phase in range(0, period // S + 1, 1 if FULL else 3 if FAST else 7):
            await bench.train_words(period, 1, 3)  # a change writes all five rate words
            await bench.config("train_at_pulse", 0)
            await bench.config("train_step", step=step)
            # The next whole period boundary plus the phase.
            k = len(bench.select(1, 1)) + 1
            while train.tick(k) < bench.now + 8 * S:
                k += 1
            await bench.until(train.tick(k) + phase * S)
            wrote = bench.now
            await bench.config("train_command", command=2)
            answered = bench.now
            answer = await outcome(bench)
            assert answer.kind == APPLIED and answer.flags == 0, answer
            n = answer.data
            # The next to come when the command arrived, or the one after it if that was less than CHANGE_REDO ahead.
            following = [next(k for k in range(n + 9) if train.tick(k) > at) for at in (wrote - 8 * S, answered + 8 * S)]
            possible = {k + (train.tick(k) < at + REDO) for k in following for at in (wrote, answered)}
            assert n in possible, f"pulse {n} at {train.tick(n)} instead of {possible}: written {wrote}, answered {answered}"
            train.adjust(Adjust(n, period, 1, 3, step))
            changes += 1
    await bench.train_stop()
    stop = await outcome(bench)
    await bench.drain()
    grants = train.pulses(stop=stop.data)
    bench.check_line(grants)
    bench.check_launches(grants, [], sources=(1,))
    bench.check_sequence()
    figure(4, "adjust at every phase", changes)


@cocotb.test()
async def test_promise4_adjust_named_pulse(dut):
    """Named n: accepted whole at exactly n or refused late with the train unchanged, for every n from passed to far."""
    bench, launch = await start_bench(dut, "unrelated")
    period = Fraction(MINIMUM + 9 * S) + Fraction(2, 5)
    train = await begin(bench, launch, *change_words(period))
    rng, taken, refused = bench.random, 0, 0
    for trial in range(64 if FULL else 24):
        await bench.cycles(rng.randrange(1, int(period) // S))
        passed = len(train.pulses(until=bench.now))
        n = passed + (-2, 0, 1, 2, 3, 4, 5, 9)[trial % 8]
        step = rng.choice((0, 1, -1, 240 * S, 7, -5))
        new = period if trial % 3 else Fraction(MINIMUM + 9 * S) + Fraction(rng.randrange(7), 7) + rng.randrange(9)
        words = change_words(new)
        await bench.train_words(*words)
        wrote = bench.now
        if n <= 0:
            continue
        await bench.train_adjust(n, step)
        answered = bench.now
        answer = await outcome(bench)
        if answer.kind == APPLIED:
            assert answer.data == n and answer.flags == 0
            assert train.tick(n) >= wrote + (REDO if train.tick(n - 1) < wrote else CHANGE), f"{answer}, written at {wrote}"
            train.adjust(Adjust(n, *words, step))
            period = new
            taken += 1
        else:
            assert (answer.kind, answer.flags, answer.data) == (REFUSED, LATE, n), answer
            assert train.tick(n) < answered + REDO, f"{answer} was in time: pulse {n} at {train.tick(n)}"
            refused += 1
    assert taken > 5 and refused > 3, (taken, refused)
    # Numbers of 32 bits are compared: half of them are ahead, the others count as passed.
    for far, late in (((1 << 31) + 40, True), ((1 << 31) - 40, False)):
        n = len(train.pulses(until=bench.now)) + far
        await bench.train_words(*change_words(period))
        await bench.train_adjust(n, 0)
        await bench.until(bench.now + 3 * int(period))
        answers = [(r.kind, r.flags, r.data) for r in await bench.drain() if r.source == TRAIN_CHANGE]
        assert answers == ([(REFUSED, LATE, n)] if late else []), (n, answers)
    await bench.train_stop()  # the change that waits is dropped
    stop = await outcome(bench)
    await bench.cycles(200)
    await bench.drain()
    grants = train.pulses(stop=stop.data)
    bench.check_line(grants)
    bench.check_launches(grants, [], sources=(1,))
    bench.check_sequence()
    figure(4, "adjust at a named pulse", taken + refused)


@cocotb.test()
async def test_promise5_stamp_of_a_pulse_behind_a_refused_change(dut):
    """A change that is refused while its pulse comes keeps the pulse's record waiting, with any bits in the low byte of its time: the
    record has the pulse's tick nevertheless."""
    bench, launch = await start_bench(dut, "1:1")
    period = 513 * S  # each pulse comes a cycle later in the row of 256
    train = await begin(bench, launch, period)
    await bench.train_words(period)
    await bench.config("train_step", step=0)
    refused = 0
    for trial in range(1200 if FAST else 60):
        n = len(train.pulses(until=bench.now + 230 * S))
        await bench.config("train_at_pulse", n)
        # The command is looked at for 30 instructions of 4 cycles: the pulse comes at any of them.
        await bench.until(train.tick(n) - (trial * 7 % 160) * S)
        await bench.config("train_command", command=2)
        await bench.until(train.tick(n) + 60 * S)
        answers = [r for r in await bench.drain() if r.source == TRAIN_CHANGE]
        refused += [(r.kind, r.flags, r.data) for r in answers] == [(REFUSED, LATE, n)]
    assert refused > (1000 if FAST else 40), refused
    await bench.train_stop()
    stop = await outcome(bench)
    await bench.cycles(200)
    await bench.drain()
    bench.check_launches(train.pulses(stop=stop.data), [], sources=(1,))
    figure(5, "pulses behind a refused change", refused)


@cocotb.test()
async def test_promise4_width_of_a_running_train(dut):
    """The pulse that a change names is the first with its width, whichever pulse that is and whatever else changes, also while the one
    before is on the line; a change that is refused changes no width."""
    bench, launch = await start_bench(dut, "unrelated", width=7)
    period = MINIMUM + 9 * S
    train = await begin(bench, launch, period)
    rng, taken, refused = bench.random, 0, 0
    for trial in range(90 if FULL else 30):
        await bench.cycles(rng.randrange(1, period // S))
        passed = len(train.pulses(until=bench.now))
        n = (0, passed + 3, passed, 0, passed + 1, passed + 2, passed - 1)[trial % 7]
        width = rng.choice((1, 2, S, 2 * S + 1, 4 * S - 1, 4 * S, period - MINIMUM // 2, MINIMUM - 1))
        step = rng.choice((0, 0, 1, 200 * S))
        await bench.train_words(period)
        await bench.train_adjust(n, step, width=width)
        answer = await outcome(bench)
        if answer.kind == APPLIED:
            train.adjust(Adjust(answer.data, period, 0, 1, step, width))
            taken += 1
        else:
            assert (answer.kind, answer.flags, answer.data) == (REFUSED, LATE, n), answer
            refused += 1
        if trial % 3 == 2:  # a change that names none keeps it; the word stays as it was written, so it is written back after a refusal
            await bench.train_words(period)
            await bench.train_adjust(0, 0, width=train.launch_of(1 << 20).width if answer.kind == REFUSED else None)
            answer = await outcome(bench)
            assert answer.kind == APPLIED, answer
            train.adjust(Adjust(answer.data, period, 0, 1))
    assert taken > 10 and refused > 3, (taken, refused)
    await bench.train_adjust(0, 0, width=0)
    answer = await outcome(bench)
    assert (answer.kind, answer.flags) == (REFUSED, INVALID), answer
    await bench.train_adjust(0, 0, width=3)
    answer = await outcome(bench)
    assert answer.kind == APPLIED, answer
    train.adjust(Adjust(answer.data, period, 0, 1, 0, 3))
    await bench.train_words(period)
    await bench.train_adjust(len(train.pulses(until=bench.now)) + 3, 1, width=5)
    assert not await bench.config("train_width", 9), "not while a change waits"
    answer = await outcome(bench)
    train.adjust(Adjust(answer.data, period, 0, 1, 1, 5))
    await bench.cycles(3 * period // S)
    await bench.train_stop()
    stop = await outcome(bench)
    await bench.cycles(400)
    await bench.drain()
    granted, busy = arbitrate(train.pulses(stop=stop.data))
    bench.check_line(granted)
    bench.check_launches(granted, busy, sources=(1,))
    bench.check_sequence()
    figure(4, "width of a running train", taken + refused)


@cocotb.test()
async def test_promise4_width_of_a_train_of_frames(dut):
    """Neither a width of 0 nor another one does anything to frames and breaks."""
    bench, _ = await start_bench(dut, "1:1")
    for kind in (FRAME, BREAK):
        bench.events.clear()
        launch = Launch(kind, bench.profiles[1], 0x55 if kind == FRAME else 3, index=1)
        train = await begin(bench, launch, PERIOD)
        for width in (0, 1, 300 * S):
            await bench.train_words(PERIOD)
            await bench.train_adjust(0, 3, width=width)
            answer = await outcome(bench)
            assert answer.kind == APPLIED, answer
            train.adjust(Adjust(answer.data, PERIOD, 0, 1, 3, width))
            await bench.cycles(2 * PERIOD // S)
        await bench.train_stop()
        stop = await outcome(bench)
        await bench.cycles(400)
        await bench.drain()
        bench.check_line(train.pulses(stop=stop.data), since=train.tick(0) - 1)


@cocotb.test()
async def test_promise4_fast_train_takes_only_a_stop(dut):
    """Of a train that is faster than one that can be changed no command but a stop is looked at; the next one can be changed again."""
    bench, launch = await start_bench(dut, "1:1", events=False)
    lead, grants = 3 * S + 1, []
    assert await bench.config("driver_enable", lead=lead, lag=0)
    for period, fast in ((MINIMUM + lead - 1, True), (MINIMUM + lead, False), (FASTEST + lead, True)):
        bench.events.clear()
        train = await begin(bench, launch, period, 0, 1, 150)
        bench.events.clear()
        await bench.train_words(MINIMUM + 90 * S)
        await bench.config("train_at_pulse", 0)
        await bench.config("train_step", step=0)
        taken = [await bench.config("train_command", command=command) for command in (1, 0, 2)]
        assert taken == [False, False, not fast]
        await bench.until(train.tick(40))
        await bench.drain()
        if fast:
            assert [(r.kind, r.flags, r.source, r.data) for r in bench.events] == [(REFUSED, INVALID, TRAIN_CHANGE, 0)] * 3, bench.events
        else:
            assert [(r.kind, r.flags) for r in bench.events] == [(REFUSED, BUSY), (REFUSED, BUSY), (APPLIED, 0)], bench.events
            train.adjust(Adjust(bench.events[-1].data, MINIMUM + 90 * S, 0, 1))
        await bench.until(train.tick(150) + 100 * S)
        assert not bench.status("train_running")
        grants += train.pulses()
        # the end by its count ends that, too: there is no train to be changed
        bench.events.clear()
        await bench.drain()
        bench.events.clear()
        await bench.config("train_command", command=2)
        answer = await outcome(bench)
        assert (answer.kind, answer.flags, answer.source) == (REFUSED, INVALID, TRAIN_CHANGE), answer
    await bench.train_words(FASTEST + lead - 1, 0, 1, launch, bench.ahead_train() + lead)
    assert not await bench.train_start()
    answer = await outcome(bench)
    assert (answer.kind, answer.flags) == (REFUSED, INVALID), answer
    bench.check_line(grants)
    figure(4, "commands to a fast train", len(grants))


@cocotb.test()
async def test_promise4_fast_train_is_stopped_at_every_phase(dut):
    """The shortest period, and a stop that arrives at any cycle of it: no pulse before it is missing, none comes behind it."""
    bench, launch = await start_bench(dut, "1:1", events=False)
    grants, stops = [], 0
    # The program's way from pulse to pulse is as long as such a period with a count, or a denominator of 2^32.
    for den, count, apart in ((1, 0, 1 if FULL else 5), (1, 1 << 20, 3 if FULL else 7), (1 << 32, 0, 3 if FULL else 7)):
        for phase in range(0, FASTEST // S, apart):
            bench.events.clear()
            train = await begin(bench, launch, FASTEST, 0, den, count)
            await bench.until(train.tick(3) + phase * S + phase % S)
            await bench.train_stop()
            stop = await outcome(bench)
            assert (stop.kind, stop.flags) == (APPLIED, 0x80), stop
            # It is reported within 40 cycles, behind a pulse that has just left: within 170.
            assert train.tick(stop.data) >= stop.tick - 170 * S, f"pulse {stop.data} is missing at {train.tick(stop.data)}, {stop}"
            assert train.tick(stop.data - 1) <= stop.tick + 8 * S, "none starts after it"
            grants += train.pulses(stop=stop.data)
            stops += 1
            await bench.cycles(2 * FASTEST // S)
    bench.check_line(grants)
    figure(4, "stops of a fast train", stops)


@cocotb.test()
async def test_promise4_fast_train_beside_a_busy_queue(dut):
    """The shortest period while the queue's program never rests: entries as close as they can be without one that is late, and entries
    that are refused one after the other. Each edge is at its tick."""
    bench, launch = await start_bench(dut, "1:1", events=False, width=6 * S)
    await bench.record("train_done", "control", "refused_train", "refused_queue")
    profile, space = bench.profiles[1], (44 + CONSTANTS["LMIN_CYCLES"]) * S  # an entry is reported, the next one is at the head
    entries, count = [], 800 if FULL else 400
    bench.drain_start(3)
    train = await begin(bench, launch, FASTEST, 1, 7, count, clear=False)
    tick, refused = max(train.tick(2), bench.ahead(4)), 0
    while tick < train.tick(count - 12):
        while int(bench.dut.lq_free.value) < 4:
            await bench.sys_cycles(20)
        tick = max(tick, bench.ahead(2))
        out_of_order = len(entries) % 40 >= 30  # done with as soon as it is read
        refused += out_of_order
        pulse = Launch(PULSE, profile, width=1 + len(entries) % (5 * S), index=1)
        entries.append(QueueEntry(1000 - refused if out_of_order else tick, pulse, len(entries)))
        await bench.launch(entries[-1].tick, pulse, entries[-1].tag)
        tick += 110 * S if out_of_order else space
    await bench.until(train.tick(count) + 100 * S)
    await bench.drain_stop()
    assert not bench.select(4), "all records were read in time"
    assert not [r for r in bench.events if r.flags == LATE], "none is late"
    granted, losers = arbitrate([*queue_fates(entries), *train.pulses()])
    assert refused == len([r for r in bench.select(REFUSED, 0) if r.flags == ORDER]) > 50
    bench.check_line(granted)
    same_list("busy pulses", [r.data for r in bench.select(REFUSED, 1)], [g.name for g in losers if g.source == 1])
    assert {g.source for g in losers} == {0, 1}, "both lose sometimes"
    assert [r.data for r in bench.select(TRAIN_DONE)] == [count]
    figure(4, "fast train beside a busy queue", len(granted))


@cocotb.test()
async def test_promise4_adjust_refused(dut):
    """Busy while one is pending, invalid below the minimum, beyond the count or without a train; the train goes on unchanged."""
    bench, launch = await start_bench(dut, "1:1")
    await bench.train_words(PERIOD, 0, 1, launch)
    await bench.train_adjust(3, 1)
    answers = [await outcome(bench)]  # no train runs
    train = await begin(bench, launch, PERIOD, 0, 1, 60)
    bench.events.clear()
    for whole, num, den, step in ((MINIMUM - 1, 1, 2, 0), (PERIOD, 5, 5, 0), (PERIOD, 6, 5, 0), (0xFFFFFFFE, 0, 1, 2)):
        await bench.train_words(whole, num, den)  # too short; not a fraction; does not fit
        n = len(train.pulses(until=bench.now)) + 4
        await bench.train_adjust(n, step)
        answers.append(await outcome(bench))
        assert (answers[-1].kind, answers[-1].flags, answers[-1].data) == (REFUSED, INVALID, n), answers[-1]
    await bench.train_words(PERIOD, 0, 1)
    await bench.train_adjust(40, 2)
    await bench.train_words(PERIOD + 133 * S, 1, 3)
    await bench.train_adjust(50, 77)  # while the first is pending
    answers.append(await outcome(bench))
    assert bench.status("train_change_pending")
    assert [(r.kind, r.flags, r.data) for r in answers] == [(REFUSED, INVALID, 3)] + [(REFUSED, INVALID, r.data) for r in answers[1:-1]] + [
        (REFUSED, BUSY, 40)
    ], answers  # the one that waits
    train.adjust(Adjust(40, PERIOD, 0, 1, 2))
    await bench.until(train.tick(40) + 60 * S)
    await bench.train_words(PERIOD, 0, 1)
    await bench.train_adjust(60, 1)  # a pulse that never comes: reported when the train ends
    bench.drain_start()
    await bench.until(train.tick(60) + 100 * S)
    await bench.drain_stop()
    assert [(r.data, r.flags) for r in bench.select(APPLIED)] == [(40, 0)]
    assert [(r.data, r.flags) for r in bench.select(REFUSED)][-1] == (60, INVALID)
    assert [r.data for r in bench.select(TRAIN_DONE)] == [60]
    bench.check_line(train.pulses())


@cocotb.test()
async def test_promise4_lead_stays_while_a_train_runs(dut):
    """Another de lead is refused `busy` while a train runs, whose period leaves room for the one that it began with; a lag is taken."""
    bench, launch = await start_bench(dut, "1:1", watch=("tx", "de"), width=20 * S)
    lead, lag = 30 * S + 1, 7 * S
    assert await bench.config("driver_enable", lead=lead, lag=lag)
    train = await begin(bench, launch, MINIMUM + lead, 1, 2, 12)
    await bench.until(train.tick(2))
    for other in (lead + 1, lead - 1, 0, MINIMUM + lead + 500 * S):
        assert not await bench.config("driver_enable", lead=other, lag=lag + 1)
    await bench.until(train.tick(6) + 40 * S)
    assert await bench.config("driver_enable", lead=lead, lag=11 * S)
    await bench.until(train.tick(12) + 60 * S)
    await bench.drain()
    assert [(r.flags, r.source, r.data) for r in bench.select(REFUSED)] == [(BUSY, 6, 9)] * 4
    grants = train.pulses()
    bench.check_line(grants)
    wanted = [(ALWAYS, 0)]
    for grants_of, lag_of in ((grants[:7], lag), (grants[7:], 11 * S)):
        wanted += driver_wave(grants_of, lead, lag_of)[1:]
    bench.check_pin("de", wanted)
    # With the train at rest it may change, also to more than that train's period.
    assert not bench.status("train_running")
    assert await bench.config("driver_enable", lead=MINIMUM + 500 * S, lag=0)
    figure(4, "lead of a running train", len(grants))


@cocotb.test()
async def test_promise4_step_inside_lmin(dut):
    """A step back that would put pulse n less than Lmin ahead is refused and changes nothing; the nearest legal one is taken, with
    the new width."""
    bench, launch = await start_bench(dut, "1:1")
    period, fates = MINIMUM + 300 * S, []
    train = await begin(bench, launch, period)
    distances = range(0, MINIMUM, 1 if FULL else 3 * S + 1 if FAST else 7 * S + 1)
    for number, distance in enumerate(distances):
        n = len(train.pulses(until=bench.now)) + 4
        width = (1, 5 * S + 1, S, 40 * S, 4 * S - 1)[number % 5]
        await bench.train_words(period, 0, 1)
        await bench.train_adjust(n, distance - period, width=width)  # pulse n `distance` after pulse n-1
        await bench.until(train.tick(n) + 20 * S)
        answer = await outcome(bench)
        if answer.kind == APPLIED:
            train.adjust(Adjust(n, period, 0, 1, distance - period, width))
        else:
            assert (answer.kind, answer.flags, answer.data) == (REFUSED, LATE, n)
        fates.append(answer.kind)
    assert fates[0] == REFUSED and fates[-1] == APPLIED
    # The sequencer looks every four cycles, so a pulse's phase to it moves the limit by up to three.
    first = distances[fates.index(APPLIED)]
    last = max(d for d, fate in zip(distances, fates, strict=True) if fate == REFUSED)
    assert last < first + 4 * S, f"refused below, applied above: {fates}"
    assert CHANGE <= first, f"a step to {first} ticks after its predecessor cannot have been Lmin ahead"
    await bench.train_stop()
    stop = await outcome(bench)
    await bench.drain()
    bench.check_line(train.pulses(stop=stop.data))
    figure(4, "steps around Lmin", len(fates))


@cocotb.test(skip=not (FULL or LONG))
async def test_promise4_ethercat_cycle(dut):
    """1000 us at 48 MHz, nudged by up to +-5 us (240 ticks) while it runs."""
    bench, launch = await start_bench(dut, "2:1")
    unit = 48 * S  # ticks of a microsecond
    train = await begin(bench, launch, 1000 * unit)
    n = 2
    for step, period in (
        (5 * unit, 1000 * unit),
        (-5 * unit, 1000 * unit),
        (1, 1000 * unit),
        (-1, 1000 * unit),
        (0, 1005 * unit),
        (-240 * S, 995 * unit),
    ):
        await bench.train_words(period)
        assert await bench.train_adjust(n, step)
        train.adjust(Adjust(n, period, 0, 1, step))
        await bench.until(train.tick(n) + 30 * S)
        n += 2
    await bench.train_stop()
    await bench.cycles(60)
    await bench.drain()
    assert [r.data for r in bench.select(APPLIED) if not r.flags] == [0, 2, 4, 6, 8, 10, 12]
    stop = [r for r in bench.select(APPLIED) if r.flags][0].data
    bench.check_launches(train.pulses(stop=stop), [], sources=(1,))
    figure(4, "1000 us cycle, +-5 us", bench.check_line(train.pulses(stop=stop)))


@cocotb.test()
async def test_promise4_count_end_with_changes(dut):
    """The last pulses of a counted train, with a change of denominator on the way."""
    bench, launch = await start_bench(dut, "4:1")
    grants = []
    for count in (1, 2, 3, 25):
        train = await begin(bench, launch, PERIOD, 2, 3, count)
        if count == 25:
            await bench.train_words(PERIOD + 130 * S, 3, 5)
            await bench.train_adjust(20, -9)
            train.adjust(Adjust(20, PERIOD + 130 * S, 3, 5, -9))
        await bench.until(train.tick(count) + 150 * S)
        await bench.drain()
        await bench.sys_cycles(60)
        await bench.drain()
        assert [r.data for r in bench.select(TRAIN_DONE)][-1] == count
        assert not bench.status("train_running")
        grants += train.pulses()
    bench.check_line(grants)
    bench.check_sequence()
