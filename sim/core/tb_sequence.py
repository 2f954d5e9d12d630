# SPDX-License-Identifier: BSD-2-Clause
"""Waits and relative entries of the launch queue on the whole core, against the model: every launch behind a wait exact at its end and the
distance, or refused with a reason (promise 1); the line beside it as without (promise 7)."""

import cocotb

from sim.core.bench import CONSTANTS, FAST, INPUTS, LMIN, SPACE, Bench, S, figure
from sim.core.model import (
    ALWAYS,
    BUSY,
    INVALID,
    LATE,
    ORDER,
    PULSE,
    QUEUE,
    REFUSED,
    TIMED_OUT,
    TTY,
    TX,
    Filters,
    Fraction,
    Grant,
    Launch,
    Profile,
    SequenceEntry,
    Wait,
    arbitrate,
    filter_delay,
    run_sequence,
    same_list,
    sequence_outcomes,
)
from sim.long_runs import LONG

MIN = CONSTANTS["SEQUENCE_MIN_CYCLES"] * S
TIMEOUT_MIN = CONSTANTS["TIMEOUT_MIN_CYCLES"] * S
LISTEN = CONSTANTS["WAIT_LISTEN_CYCLES"] * S
RELATIVE = 1 << 12
AUX = INPUTS  # aux channels


async def start(dut, clocks, lead=0):
    """A bench with profile 1 for pulses."""
    bench = await Bench.start(dut, clocks)
    await bench.record()
    assert await bench.profile(1, Profile(Fraction(8 * S)))
    await bench.config("driver_enable", lead=lead, lag=3)
    return bench


def pulse(bench, width=3):
    return Launch(PULSE, bench.profiles[1], width=width, index=1)


def wait(channel=0, **more):
    return Wait(channel, inputs=INPUTS, **more)


async def put(bench, entry):
    """Commits an entry."""
    launch = entry.launch
    await bench.queue_entry(
        entry.tick, 0 if isinstance(launch, Wait) else launch.width, launch.word() | entry.tag << 16 | (RELATIVE if entry.relative else 0)
    )


async def put_all(bench, entries):
    """As many ahead as the queue takes."""
    for entry in entries:
        while int(bench.dut.lq_free.value) == 0:
            await bench.sys_cycles(20)
        await put(bench, entry)


def seen_outcomes(bench):
    return [
        (None if r.kind == REFUSED and r.flags != BUSY else r.tick, r.kind, r.flags, r.data)
        for r in bench.events
        if r.source == QUEUE and r.kind in (TX, REFUSED)
    ]


def check(bench, entries, edges_of, facts=()):
    """All that the queue did, and the pin, against the model; returns the grants."""
    granted, _ = arbitrate(run_sequence(entries, edges_of, S), facts)
    same_list("outcomes", seen_outcomes(bench), sequence_outcomes(entries, granted))
    bench.check_line(granted)
    return granted


async def finish(bench, tick):
    """Lets time pass until well after `tick`."""
    while bench.now < tick + 60 * S:
        await bench.drain()
        await bench.until(min(tick + 70 * S, bench.now + 1500 * S))
    await bench.cycles(200)
    await bench.drain()
    await bench.drain()


def waves_of(plan):
    """{channel: waveform} from [(tick, channel, level)]."""
    waves = {channel: [(ALWAYS, 0)] for channel in range(AUX)}
    for tick, channel, level in sorted(plan):
        waves[channel].append((tick, level))
    return waves


def edges_by_channel(plan, filters=None):
    filters = filters or Filters(S)
    return {channel: filters.edges(channel, wave) for channel, wave in waves_of(plan).items()}


@cocotb.test()
async def test_promise1_relative_entries(dut):
    """Entries relative to the one before, mixed with absolute ones, of all fates: the place is a sum, whatever became of the others."""
    for clocks in ("1:1", "unrelated"):
        bench = await start(dut, clocks)
        rng, entries, place = bench.random, [], bench.ahead(4)
        entries.append(SequenceEntry(place, pulse(bench), 0))
        back = False  # the entry before lies before the one before it
        for tag in range(1, 100 if FAST else 60):
            relative, step = rng.random() < 0.7 and not back, rng.randrange(SPACE, 3 * SPACE)
            good, back = entries[-1].launch.valid and not entries[-1].late and not back, False
            step += SPACE if entries[-1].late else 0  # the head of the queue is free only when that one is refused
            launch, late = pulse(bench, rng.choice((1, S, 5 * S + 1))), False
            shape = {1: 1, 2: 0.12, 3: 0}.get(tag, rng.random())  # at least one that is late, and one invalid
            if shape < 0.05:
                launch = Launch(PULSE, None, width=2, index=3)
            elif shape < 0.1:
                launch = Launch(PULSE, bench.profiles[1], width=0, index=1)
            elif shape < 0.15 and good:
                step, late = rng.randrange(2), True  # touches the one before: there is no time for it
            elif shape < 0.2 and good and not relative:
                step, back = -rng.randrange(1, 200), True
            entries.append(SequenceEntry(step if relative else place + step, launch, tag, relative=relative, late=late))
            place += step
            place += SPACE + 200 if back else 0  # the next one is not to be in a hurry
        # a tick that wraps is one before the entry before
        entries.append(SequenceEntry((1 << 64) - 5, pulse(bench), 500, relative=True))
        feeder = cocotb.start_soon(put_all(bench, entries))
        run_sequence(entries, {}, S)
        await finish(bench, max(e.place for e in entries[:-1]))
        await feeder
        check(bench, entries, {})
        assert {e.fate for e in entries} == {None, INVALID, LATE, ORDER}
        figure(1, "relative entries", len(entries))


async def sweep(bench, distances, timeout, filtered):
    """A wait that ends by an edge, or by its timeout, and a launch at each of the distances behind it: [(distance, kind)]."""
    out = []
    for number, distance in enumerate(distances):
        bench.events.clear()
        since = bench.now
        begin = bench.ahead(4)
        mark = begin + LISTEN + 40 * S + number % (5 * S)
        entries = [
            SequenceEntry(begin, pulse(bench), 1),
            SequenceEntry(mark - begin + (0 if timeout else 4000 * S), wait(rise=True), 2, relative=True),
            SequenceEntry(distance, pulse(bench), 3, relative=True),
        ]
        plan = [] if timeout else [(mark, 0, 1), (mark + 300 * S, 0, 0)]
        player = cocotb.start_soon(bench.play_aux(plan))
        await put_all(bench, entries)
        await finish(bench, max(mark + distance, mark + 300 * S))
        await player
        last = [r for r in bench.events if r.source == QUEUE][-1]
        entries[2].late = last.kind == REFUSED
        if entries[2].late:
            assert last.flags == LATE and mark + distance < last.tick + LMIN * S
        filters = Filters(S, filtered and 1, filtered)
        granted, _ = arbitrate(run_sequence(entries, edges_by_channel(plan, filters), S))
        same_list("outcomes", seen_outcomes(bench), sequence_outcomes(entries, granted))
        bench.check_line(granted, since=since)
        assert entries[1].end.tick == mark and entries[1].end.timeout == timeout
        out.append((distance, last.kind))
    return out


@cocotb.test()
async def test_promise1_first_entry_behind_a_wait(dut):
    """Tick by tick over the boundary: from the minimum on every launch goes, at the edge's stamp and the distance; far below none does."""
    for timeout, filtered in ((False, 0), (False, 63), (True, 0)):
        bench = await start(dut, "1:1")
        await bench.filter(1, filtered) if filtered else None
        least = TIMEOUT_MIN if timeout else MIN + filter_delay(filtered, S) * S
        distances = [*range(least - 40 * S, least + 5 * S, 1 if FAST else S + 1), 0, 1, least // 2, 3 * least]
        fates = await sweep(bench, distances, timeout, filtered)
        print(
            f"first entry, timeout {timeout}, filter {filtered}: {min(d for d, k in fates if k == TX) / S} cycles, "
            f"last late {max(d for d, k in fates if k == REFUSED) / S}"
        )
        assert all(kind == TX for distance, kind in fates if distance >= least)
        assert all(kind == REFUSED for distance, kind in fates if distance <= least // 2)
        assert S > 1 or any(kind == REFUSED for _, kind in fates[:-4]), "the constant is larger than it need be"
        figure(1, "first entry behind a wait", len(fates))


@cocotb.test()
async def test_promise1_a_wait_listens(dut):
    """From WAIT_LISTEN_CYCLES behind the launch before it on every edge counts; one before that launch never does."""
    bench = await start(dut, "1:1")
    first, ended = None, 0
    distances = [*range(-2 * S, 2 * S), *range(LISTEN - 36 * S, LISTEN + 6 * S, 1 if FAST else S + 1)]
    for number, distance in enumerate(distances):
        bench.events.clear()
        since, begin = bench.now, bench.ahead(5)
        entries = [
            SequenceEntry(begin, pulse(bench, 1 + number % 5), 1),
            SequenceEntry(LISTEN + 200 * S, wait(0, rise=True, fall=True), 2, relative=True),
        ]
        player = cocotb.start_soon(bench.play_aux([(begin + distance, 0, 1 - (bench.aux_level & 1))]))
        await put_all(bench, entries)
        await player
        await finish(bench, begin + LISTEN + 300 * S)
        end = [r for r in bench.events if r.source == QUEUE][-1]
        counts = end.flags == 0
        assert counts or distance < LISTEN, distance
        assert not counts or distance > 0
        first = distance if counts and first is None else first
        edges_of = {0: [(begin + distance, 1, begin + distance)] if counts else []}
        granted, _ = arbitrate(run_sequence(entries, edges_of, S))
        same_list("outcomes", seen_outcomes(bench), sequence_outcomes(entries, granted))
        bench.check_line(granted, since=since)
        ended += counts
    assert first is not None and ended < len(distances)
    print(f"a wait listens: first {first / S} cycles behind the launch before it")
    figure(1, "edges around the moment a wait listens", len(distances))


def random_sequence(bench, count, filters, rng):
    """(entries, edges of the aux inputs as a plan): waits for edges that come or do not, launches behind them, edges that do not count."""
    place = bench.ahead(6)
    entries, plan, levels = [SequenceEntry(place, pulse(bench), 0)], [], [0] * AUX
    quiet = max(2 * 64, 2 * S)  # ticks between changes of a channel: more than any filter

    def change(tick, channel):
        levels[channel] ^= 1
        plan.append((tick, channel, levels[channel]))

    waited = None  # the end of the wait before was a timeout
    for tag in range(1, count):
        least = SPACE if waited is None else (TIMEOUT_MIN if waited else MIN + filter_delay(63, S) * S)
        if rng.random() < 0.5:
            step = least + rng.randrange(2 * SPACE)
            entries.append(SequenceEntry(step, pulse(bench, rng.choice((1, S, 2 * S + 1))), tag, relative=True))
            place, waited = place + step, None
            continue
        channel, directions = rng.randrange(AUX), rng.choice(((1, 0), (0, 1), (1, 1)))
        listen = LISTEN if waited is None else TIMEOUT_MIN if waited else MIN + filter_delay(63, S) * S
        listen, listens = listen + 70 * S, (place + listen) // S
        edge = place + listen + quiet + rng.randrange(300 * S)
        # edges that do not count: of another channel, of the other direction
        for other in range(AUX):
            if other != channel and rng.random() < 0.5:
                change(place + listen + rng.randrange(quiet // 2), other)
        comes = rng.random() < 0.7
        wanted = directions[0] if not levels[channel] else directions[1]
        if not wanted:
            change(place + listen, channel)
        limit = edge + (rng.choice((0, 1, 1, 500 * S)) if comes else -rng.choice((1, 2, 30 * S)))
        if comes or rng.random() < 0.7:
            change(edge, channel)
        entries.append(
            SequenceEntry(
                limit - place, wait(channel, rise=bool(directions[0]), fall=bool(directions[1])), tag, relative=True, listens=listens
            )
        )
        place, waited = min(edge, limit), not comes
        if waited:
            place = limit
        # a channel has been quiet long enough when it changes again
    return entries, plan


@cocotb.test()
async def test_promise1_random_waits(dut):
    """Waits on all channels, filtered and not, rising and falling, some in vain, an edge at the very tick of the timeout and one behind it:
    every end is that of the model, and so is every launch behind it."""
    for clocks in ("unrelated", "2:1 shifted"):
        bench = await start(dut, clocks)
        rng = bench.random
        mask, length = rng.getrandbits(AUX), rng.choice((1, 2, 17, 63))
        filters = Filters(S, mask, length)
        await bench.filter(mask, length)
        entries, plan = random_sequence(bench, 40 if not FAST else 5000 if LONG else 120, filters, rng)
        edges_of = edges_by_channel(plan, filters)
        run_sequence(entries, edges_of, S)
        bench.drain_start()
        player = cocotb.start_soon(bench.play_aux(sorted(plan)))
        await put_all(bench, entries)
        await bench.until(entries[-1].place + 400 * S)
        await player
        await bench.drain_stop()
        check(bench, entries, edges_of)
        ends = [e.end.timeout for e in entries if e.end]
        assert any(ends) and not all(ends)
        figure(1, "waits of random sequences", len(ends))


@cocotb.test()
async def test_promise1_refill_comes_late(dut):
    """What is committed only after the wait has ended, on purpose: it goes exactly where it should, or is refused as late."""
    bench = await start(dut, "unrelated")
    rng, fates = bench.random, set()
    for number in range(20 if FAST else 12):
        bench.events.clear()
        since, begin = bench.now, bench.ahead(4)
        mark, distance = begin + LISTEN + 100 * S, rng.randrange(MIN, 4 * MIN)
        entries = [
            SequenceEntry(begin, pulse(bench), 1),
            SequenceEntry(5000 * S, wait(1, rise=number % 2 == 0, fall=number % 2 == 1), 2, relative=True),
            SequenceEntry(distance, pulse(bench), 3, relative=True),
            SequenceEntry(SPACE + 2000 * S, pulse(bench), 4, relative=True),
        ]
        plan = [(mark, 1, 1 - number % 2)]
        player = cocotb.start_soon(bench.play_aux(plan))
        await put_all(bench, entries[:2])
        await bench.until(mark + rng.randrange(2 * MIN))
        await put_all(bench, entries[2:])
        await player
        await finish(bench, mark + distance + SPACE + 2100 * S)
        third = [r for r in bench.events if r.source == QUEUE][2]
        entries[2].late = third.kind == REFUSED
        fates.add(third.kind)
        if entries[2].late:
            assert third.flags == LATE and mark + distance < third.tick + LMIN * S
        edges_of = {1: [(mark, 1 - number % 2, mark)]}
        granted, _ = arbitrate(run_sequence(entries, edges_of, S))
        same_list("outcomes", seen_outcomes(bench), sequence_outcomes(entries, granted))
        bench.check_line(granted, since=since)
    assert fates == {TX, REFUSED}
    figure(1, "entries committed behind a wait's end", number + 1)


@cocotb.test()
async def test_promise1_a_timeout_that_stops(dut):
    """All that is behind it is refused, also what comes later, until a flush; then the queue begins again."""
    bench = await start(dut, "2:1")
    begin = bench.ahead(8)
    entries = [
        SequenceEntry(begin, pulse(bench), 1),
        SequenceEntry(LISTEN + 300 * S, wait(2, stop=True), 2, relative=True),
        SequenceEntry(500 * S, pulse(bench), 3, relative=True),
        SequenceEntry(900 * S, wait(2), 4, relative=True),
        SequenceEntry(begin + 9000 * S, pulse(bench), 5),
    ]
    await put_all(bench, entries)
    await finish(bench, begin + 3000 * S)
    more = [SequenceEntry(bench.ahead(3), pulse(bench), 6), SequenceEntry(0, Launch(PULSE, None, index=3), 7, relative=True)]
    await put_all(bench, more)
    await finish(bench, bench.now + 400 * S)
    assert bench.status("queue_idle")
    entries += more
    check(bench, entries, {2: []})
    assert [e.fate for e in entries] == [None, None, ORDER, ORDER, ORDER, ORDER, ORDER]
    bench.events.clear()
    since = bench.now
    await bench.command(flush_queue=1)
    again = [SequenceEntry(bench.ahead(3), pulse(bench), 8), SequenceEntry(SPACE, pulse(bench), 9, relative=True)]
    await put_all(bench, again)
    await finish(bench, again[0].tick + 2 * SPACE)
    granted, _ = arbitrate(run_sequence(again, {}, S))
    same_list("outcomes", seen_outcomes(bench), sequence_outcomes(again, granted))
    bench.check_line(granted, since=since)
    (flushed,) = [r for r in bench.select(5, 6) if r.data & 1]
    assert flushed.data >> 16 == 0
    figure(1, "a timeout that stops", len(entries) + len(again))


@cocotb.test()
async def test_promise1_flush_ends_a_wait(dut):
    """In every phase: before it listens, while it does, around its edge and its timeout. What was there is dropped and counted, or has an
    outcome; the next entry is not measured by it."""
    bench = await start(dut, "1:1")
    phases = range(0, 260, 7 if FAST else 17)
    dropped = set()
    for number, phase in enumerate(phases):
        bench.events.clear()
        since, begin = bench.now, bench.ahead(5)
        end = begin + LISTEN + 120 * S
        timeout = number % 2 == 1
        entries = [
            SequenceEntry(begin, pulse(bench), 1),
            SequenceEntry(end - begin + (0 if timeout else 4000 * S), wait(0, fall=True), 2, relative=True),
            SequenceEntry(4000 * S, pulse(bench), 3, relative=True),
        ]
        plan = [] if timeout else [(end, 0, 1 - bench.aux_level)]
        player = cocotb.start_soon(bench.play_aux(plan))
        await put_all(bench, entries)
        await bench.until(begin + phase * (LISTEN // S + 320) // 260 * S)
        await bench.command(flush_queue=1)
        await player
        await bench.until(end + 100 * S)
        after = SequenceEntry(bench.ahead(3), pulse(bench), 4)
        await put_all(bench, [after])
        await finish(bench, after.tick)
        (flushed,) = [r for r in bench.select(5, 6) if r.data & 1]
        ended = [r for r in bench.events if r.source == QUEUE and r.data >> 16 == 2]
        assert len(ended) + (flushed.data >> 16) + 1 == 3 if phase > 5 else True, (phase, bench.events)
        for record in ended:
            assert (record.kind, record.tick, record.flags) == (TX, end, TIMED_OUT if timeout else 0)
        launched = [r for r in bench.events if r.source == QUEUE and r.data >> 16 in (1, 4)]
        grants = [Grant(r.tick, pulse(bench), QUEUE, r.data >> 16) for r in launched]
        assert [g.tick for g in grants][-1] == after.tick and all(r.kind == TX for r in launched)
        assert not [r for r in bench.events if r.source == QUEUE and r.data >> 16 == 3]
        bench.check_line(grants, since=since)
        dropped.add(flushed.data >> 16)
    assert {1, 2} <= dropped, dropped
    figure(1, "flushes of a wait", len(phases))


@cocotb.test()
async def test_promise1_waits_that_are_refused(dut):
    """invalid, order and late, as of any entry."""
    bench = await start(dut, "unrelated")
    begin = bench.ahead(8)
    entries = [
        SequenceEntry(begin, pulse(bench), 1),
        SequenceEntry(500 * S, wait(15, rise=False), 2, relative=True),
        SequenceEntry(500 * S, wait(INPUTS + 1), 3, relative=True),
        SequenceEntry(begin + 900 * S, wait(0), 4),
        SequenceEntry(7, wait(0), 5, relative=True, late=False),
        SequenceEntry(begin + 1800 * S, pulse(bench), 6),
    ]
    await put_all(bench, entries)
    await finish(bench, begin + 2500 * S)
    check(bench, entries, {0: []})
    assert [e.fate for e in entries] == [None, INVALID, INVALID, ORDER, None, None]
    bench.events.clear()
    since = bench.now
    late = [SequenceEntry(begin + 1900 * S, wait(0), 7, late=True), SequenceEntry(bench.ahead(4), pulse(bench), 8)]
    await put_all(bench, late)
    await finish(bench, late[1].tick)
    granted, _ = arbitrate(run_sequence(late, {0: []}, S, begin + 1800 * S))
    same_list("outcomes", seen_outcomes(bench), sequence_outcomes(late, granted))
    bench.check_line(granted, since=since)


@cocotb.test()
async def test_promise1_a_wait_that_stops_is_refused(dut):
    """late, order and invalid: nothing behind it leaves, relative or not, until a flush. Behind one that goes on, all does."""
    bench = await start(dut, "2:1")
    fates = {LATE: wait(0, stop=True), ORDER: wait(0, stop=True), INVALID: wait(15, stop=True), None: wait(15, rise=False)}
    for fate, refused in fates.items():
        for relative in (True, False):
            bench.events.clear()
            since, begin = bench.now, bench.ahead(10)
            place = {LATE: 1, ORDER: -5}.get(fate, 400 * S)  # a tick behind the launch before it there is no time
            entries = [
                SequenceEntry(begin, pulse(bench), 1),
                SequenceEntry(place % (1 << 64) if relative else begin + place, refused, 2, relative=relative, late=fate == LATE),
                SequenceEntry(2000 * S, pulse(bench), 3, relative=True),
                SequenceEntry(400 * S, pulse(bench), 4, relative=True),
                SequenceEntry(SPACE, wait(0), 5, relative=True),
                SequenceEntry(begin + 9000 * S, pulse(bench), 6),
            ]
            await put_all(bench, entries[:-1])
            await finish(bench, begin + 3000 * S)
            await put_all(bench, entries[-1:])  # what comes later, too
            await finish(bench, bench.now + (200 * S if fate else 9200 * S))
            granted, _ = arbitrate(run_sequence(entries, {0: []}, S))
            same_list("outcomes", seen_outcomes(bench), sequence_outcomes(entries, granted))
            bench.check_line(granted, since=since)
            assert [e.fate for e in entries] == ([None, fate, *[ORDER] * 4] if fate else [None, INVALID, *[None] * 4])
            assert bench.status("queue_idle")
            bench.events.clear()
            since = bench.now
            await bench.command(flush_queue=1)
            again = SequenceEntry(bench.ahead(3), pulse(bench), 7)
            await put_all(bench, [again])
            await finish(bench, again.tick)
            granted, _ = arbitrate(run_sequence([again], {}, S))
            same_list("outcomes", seen_outcomes(bench), sequence_outcomes([again], granted))
            bench.check_line(granted, since=since)
            figure(1, "entries behind a refused wait that stops", 4 if fate else 0)


@cocotb.test()
async def test_promise1_a_delay_before_a_wait(dut):
    """A wait without a direction ends at its tick, whatever its channel does. The wait behind it ends at no edge up to there, and at each
    from TIMEOUT_MIN_CYCLES behind it on."""
    bench = await start(dut, "1:1")
    distances = [*range(-2 * S, 2 * S), *range(TIMEOUT_MIN - 20 * S, TIMEOUT_MIN + 6 * S, 1 if FAST else S + 1)]
    ended = 0
    for number, distance in enumerate(distances):
        bench.events.clear()
        since, begin = bench.now, bench.ahead(6)
        delayed = begin + LISTEN + 700 * S + number % 3
        early = begin + LISTEN + 200 * S  # an edge while it is delayed
        entries = [
            SequenceEntry(begin, pulse(bench), 1),
            SequenceEntry(delayed - begin, wait(0, rise=False), 2, relative=True),
            SequenceEntry(TIMEOUT_MIN + 300 * S, wait(0, rise=True, fall=True), 3, relative=True),
            SequenceEntry(TIMEOUT_MIN + 20 * S, pulse(bench, 1 + number % 4), 4, relative=True),
        ]
        level = bench.aux_level & 1
        player = cocotb.start_soon(bench.play_aux([(early, 0, 1 - level), (delayed + distance, 0, level)]))
        await put_all(bench, entries)
        await player
        await finish(bench, delayed + 3 * TIMEOUT_MIN + 400 * S)
        counts = [r for r in bench.events if r.source == QUEUE][2].flags == 0
        assert counts or distance < TIMEOUT_MIN, distance
        assert not counts or distance > 0
        ended += counts
        edges_of = {0: [(delayed + distance, level, delayed + distance)] if counts else []}
        granted, _ = arbitrate(run_sequence(entries, edges_of, S))
        same_list("outcomes", seen_outcomes(bench), sequence_outcomes(entries, granted))
        bench.check_line(granted, since=since)
        assert entries[1].end == (delayed, True)
    assert 0 < ended < len(distances)
    figure(1, "edges around a delay before a wait", len(distances))


@cocotb.test()
async def test_promise7_best_effort_beside_a_wait(dut):
    """Bytes of the tty leave while it waits, and none does once the edge has come until the launch behind it; none at all if the wait is
    exclusive. Launches behind it are as without."""
    for exclusive in (False, True):
        bench = await start(dut, "unrelated")
        frame = Profile(Fraction(6 * S))
        assert await bench.profile(0, frame)
        begin = bench.ahead(8)
        mark = begin + LISTEN + 4000 * S
        distance = MIN
        entries = [
            SequenceEntry(begin, pulse(bench), 1),
            SequenceEntry(20000 * S, wait(0, exclusive=exclusive), 2, relative=True),
            SequenceEntry(distance, pulse(bench), 3, relative=True),
        ]
        await put_all(bench, entries)
        player = cocotb.start_soon(bench.play_aux([(mark, 0, 1)]))
        await bench.until(begin + 2 * LISTEN)
        await bench.send(bytes(range(40)) * 4)
        await player
        await finish(bench, mark + distance + 12000 * S)
        facts = [Grant(r.tick, Launch(0, frame, r.data), TTY, n) for n, r in enumerate(bench.select(TX, TTY))]
        check(bench, entries, {0: [(mark, 1, mark)]}, facts)
        before = [g for g in facts if g.tick < mark]
        assert len(facts) == 160 and (not before) == exclusive
        assert not [g for g in facts if mark + 16 * S <= g.tick < mark + distance]
