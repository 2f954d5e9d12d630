# SPDX-License-Identifier: BSD-2-Clause
"""The responder on the whole core: a fixed number of ticks after its trigger, whatever else happens."""

from dataclasses import replace
from fractions import Fraction

import cocotb

from litex_soc import regmap
from sim.core.bench import CONSTANTS, ECHO_TAIL, FAST, INPUTS, LINE, LMIN, PHY, Bench, S, figure, latencies
from sim.core.model import (
    ALWAYS,
    BREAK,
    BUSY,
    CONTROL,
    EDGE,
    FRAME,
    INVALID,
    LATE,
    MISSED,
    PULSE,
    REFUSED,
    RESPONDER,
    Echo,
    Grant,
    Launch,
    Profile,
    Responder,
    Train,
    arbitrate,
    driver_wave,
    filter_delay,
    filtered,
    level_at,
    line_wave,
    receive,
)
from sim.long_runs import LONG

FASTEST = CONSTANTS["RESPONSE_MIN_CYCLES"] * S
FASTEST_INPUT = CONSTANTS["RESPONSE_MIN_INPUT"] * S  # behind an edge of an unfiltered input, ...
QUICK = 2 if S > 1 else 0  # ... which is recognised so many cycles before it is shown
OUTPUT = sum(latencies(PHY))  # cycles from a word's answer to what obeys it at the pin
REST = CONSTANTS["RESPONSE_REST"]
BURST_MIN = CONSTANTS["BURST_MIN_CYCLES"] * S
CHANNEL = 1 % LINE  # an input other than the first, where there is one
TTY = Profile(Fraction(9 * S))
PERIOD = (CONSTANTS["CHANGE_MIN_PERIOD"] + 20) * S


def of_input(ticks):
    """Edges of an unfiltered input: (stamp, cycle in which it is recognised)."""
    return [(tick, tick // S - QUICK) for tick in ticks]


async def start_bench(dut, clocks="unrelated", profile=TTY):
    bench = await Bench.start(dut, clocks)
    await bench.record("tx_responder", "missed", "tx_train", "tx_queue", "refused_queue", "refused_train", "tx_tty", "control")
    assert await bench.profile(0, profile) and await bench.profile(1, Profile(Fraction(5 * S)))
    return bench, Launch(PULSE, bench.profiles[1], width=4 * S + 1, index=1)


async def start_with_echo(dut, tail, length, clocks="1:1", profile=TTY):
    """A bench whose own echo may come `tail` ticks late, with a filter of `length` on the line: (bench, pulse, cycles of the tail, cycles
    of the filter)."""
    bench, pulse = await start_bench(dut, clocks, profile)
    assert await bench.echo(tail)
    await bench.filter(1 << LINE if length else 0, length)
    return bench, pulse, -(-tail // S), filter_delay(length, S)


def numbers(bench):
    """Response numbers as they come back."""
    return [r.data >> 16 for r in bench.events if r.source == 2]


@cocotb.test()
async def test_promise1_responder_edges_at_every_sample(dut):
    """Rising, falling or both, at every sample of a cycle: launch tick - stamp is the delay, always."""
    bench, pulse = await start_bench(dut)
    delay, grants = FASTEST + 3, []
    for rise, fall in ((1, 0), (0, 1), (1, 1)):
        await bench.responder(pulse, delay, trigger=1, channel=CHANNEL, rise=rise, fall=fall, rearm=1)
        level = 0
        for trial in range(24 if FAST else 8):
            level ^= 1
            edge = bench.now + 8 * S + trial
            await bench.play_aux([(edge, CHANNEL, level)])
            await bench.until(edge + delay + 40 * S)
            if rise and level or fall and not level:
                grants.append(Grant(edge + delay, pulse, 2, len(grants)))
        assert level == 0
        await bench.drain()
    assert [r.tick for r in bench.select(1, 2)] == [g.tick for g in grants] and not bench.select(MISSED)
    each = [12, 12, 24] if FAST else [4, 4, 8]
    assert numbers(bench) == [k for count in each for k in range(count)], "numbers count from arming"
    bench.check_line(grants)
    figure(1, "responder, edges", len(grants))


@cocotb.test()
async def test_promise1_responder_shortest_delay(dut):
    """Delay by delay: below the minimum every answer is `late` and nothing goes out, from it on all are exact."""
    bench, pulse = await start_bench(dut, "1:1")
    fates, grants = [], []
    for delay in range(0, FASTEST_INPUT + 6 * S):
        await bench.responder(pulse, delay, trigger=1, channel=0, rise=1, rearm=1)
        tries = []
        for sample in range(S):
            edge = (bench.now // S + 10) * S + sample
            await bench.play_aux([(edge, 0, 1)])
            await bench.cycles(delay // S + 40)
            bench.set_aux(0, 0)
            await bench.cycles(10)
            new = [r for r in await bench.drain() if r.source == 2]
            assert len(new) == 1, f"one outcome: {new}"
            if new[0].kind == 1:
                assert new[0].tick == edge + delay
                grants.append(Grant(edge + delay, pulse, 2, 0))
            else:
                assert (new[0].kind, new[0].flags) == (MISSED, LATE)
            tries.append(new[0].kind == 1)
        fates.append(tries)
    always = next(d for d, tries in enumerate(fates) if all(tries))
    assert all(all(tries) for tries in fates[always:]) and not any(fates[0])
    assert always == FASTEST_INPUT, f"the shortest delay is {always} ticks"
    bench.check_line(grants)
    figure(1, "responder, shortest delay tried", len(fates) * S)


@cocotb.test()
async def test_promise1_responder_shortest_delay_of_a_filtered_input_and_the_line(dut):
    """Behind an edge that is conditioned first it is `SAMPLES_LATENCY`, not that of an input, and ⌈(F − 1)/S⌉ more."""
    bench, pulse = await start_bench(dut, "1:1")
    tried, lengths = 0, (1, 2, S + 1, 11)
    for channel, length in [(LINE, 0), *((channel, length) for channel in (0, LINE) for length in lengths)]:
        await bench.filter(1 << channel if length else 0, length)
        least = FASTEST + filter_delay(length, S) * S
        for delay in (least - S, least - 1, least, least + 1):
            await bench.responder(pulse, delay, trigger=1, channel=channel, rise=1, rearm=1)
            fates = []
            for sample in range(S):
                edge = (bench.now // S + 40) * S + sample
                if channel == LINE:
                    await bench.play("rx_drive", [(edge - 30 * S, 0), (edge, 1)])
                else:
                    await bench.play_aux([(edge, channel, 1), (edge + 30 * S, channel, 0)])
                await bench.until(edge + delay + 60 * S)
                (new,) = [r for r in await bench.drain() if r.source == 2]
                assert (new.kind, new.tick) == (1, edge + delay) or (new.kind, new.flags) == (MISSED, LATE)
                fates.append(new.kind == 1)
                tried += 1
            assert all(fates) == (delay >= least), f"channel {channel}, filter {length}, delay {delay} of {least}: {fates}"
    figure(1, "responder, shortest delay behind a filter and on the line", tried)


@cocotb.test()
async def test_promise1_responder_shortest_delay_on_the_line(dut):
    """The same behind the end of a frame and of a break."""
    bench, pulse = await start_bench(dut, "unrelated fast")
    await bench.config("line", rx_enable=1)
    grants, tried = [], 0
    frame = Launch(FRAME, TTY, 0x5A)
    for trigger, name in ((2, "RESPONSE_MIN_BYTE"), (3, "RESPONSE_MIN_BREAK")):
        fates, fastest = {}, CONSTANTS[name] * S
        for delay in range(fastest - 2 * S, fastest + S):
            fates[delay] = []
            for sample in range(S):
                await bench.responder(pulse, delay, trigger=trigger, match=(0x5A, 0xFF))
                start = (bench.now // S + 10) * S + sample
                end = start + (frame.length if trigger == 2 else 11 * 9 * S)
                await bench.play("rx_drive", line_wave([Grant(start, frame, 0, 0)])[1:] if trigger == 2 else [(start, 0), (end, 1)])
                await bench.until(end + delay + 30 * S)
                new = [r for r in await bench.drain() if r.source == 2]
                assert len(new) == 1 and not bench.status("responder_armed"), new
                if new[0].kind == 1:
                    assert new[0].tick == end + delay
                    grants.append(Grant(end + delay, pulse, 2, 0))
                else:
                    assert (new[0].kind, new[0].flags) == (MISSED, LATE)
                fates[delay].append(new[0].kind == 1)
                tried += 1
        always = min(delay for delay in fates if all(all(fates[d]) for d in fates if d >= delay))
        assert always == fastest, (name, fates)
    bench.check_line(grants)
    figure(1, "responder, shortest delay on the line", tried)


@cocotb.test()
async def test_promise1_responder_listens_again(dut):
    """Behind a launch: the last cycle whose triggers are ignored and the first one whose triggers count."""
    bench, pulse = await start_bench(dut, "2:1")
    rng, grants = bench.random, []
    for holdoff in (0, REST * S - S - 1, REST * S, REST * S + 1, 41 * S + rng.randrange(S), 300 * S + 1):
        for early in (0, 1) * (S if FAST else 1):
            delay = FASTEST + 20 * S + rng.randrange(S)
            await bench.responder(pulse, delay, holdoff, trigger=1, channel=0, rise=1, rearm=1)
            first = bench.now + 10 * S + rng.randrange(S)
            launch = first + delay
            cycle = max(-(-(launch + holdoff) // S), launch // S + REST) - early
            again = (cycle + QUICK) * S + rng.randrange(S)
            await bench.play_aux([(first, 0, 1), (first + 5 * S, 0, 0), (again, 0, 1), (again + 5 * S, 0, 0)])
            await bench.until(again + delay + 30 * S)
            new = [Grant(first + delay, pulse, 2, 0)] + [Grant(again + delay, pulse, 2, 1)] * (1 - early)
            got = [(r.kind, r.tick) for r in await bench.drain() if r.source == 2]
            assert got == [(1, g.tick) for g in new], (holdoff, early, got, new)
            grants += new
    bench.check_line(grants)
    figure(1, "responder, listens again", len(grants))


@cocotb.test()
async def test_promise1_responder_rearm_holdoff(dut):
    """Triggers while it counts or within the holdoff are ignored; without rearm one answer, then it is disarmed."""
    bench, pulse = await start_bench(dut)
    rng = bench.random
    delay, holdoff = 90 * S, 333 * S + 1
    await bench.responder(pulse, delay, holdoff, trigger=1, channel=2 % LINE, rise=1, fall=1, rearm=1)
    triggers, level, tick = [], 0, bench.now + 20 * S
    deaf = ALWAYS
    while len(triggers) < (120 if FAST else 40):
        tick += rng.choice((rng.randrange(12 * S, 60 * S), rng.randrange(200 * S, 600 * S)))
        level ^= 1
        triggers.append((tick, 2 % LINE, level))
        if tick >= deaf:
            deaf = tick + delay + holdoff
    player = cocotb.start_soon(bench.play_aux(triggers))
    bench.drain_start()
    await player
    await bench.cycles(600)
    await bench.drain_stop()
    grants = Responder(pulse, delay, True, holdoff).answers(of_input(t for t, _, _ in triggers), S, REST)
    assert [r.tick for r in bench.select(1, 2)] == [g.tick for g in grants]
    assert len(grants) < len(triggers) - 10
    # Now once only.
    await bench.responder(pulse, delay, 0, trigger=1, channel=0, rise=1)
    edges = [bench.now + 10 * S, bench.now + 400 * S]
    await bench.play_aux([(edges[0], 0, 1), (edges[0] + 200 * S, 0, 0), (edges[1], 0, 1)])
    await bench.cycles(300)
    await bench.drain()
    grants.append(Grant(edges[0] + delay, pulse, 2, len(grants)))
    assert not bench.status("responder_armed")
    bench.set_aux(0, 0)
    assert [r.tick for r in bench.select(1, 2)] == [g.tick for g in grants]
    bench.check_line(grants)
    figure(1, "responder, rearm and holdoff", len(triggers))


@cocotb.test()
async def test_promise1_responder_bursts(dut):
    """Launch k of a burst leaves at trigger + delay + k periods, exactly, from the shortest period on; triggers within it are ignored."""
    bench, pulse = await start_bench(dut)
    rng, checked, wanted = bench.random, 0, 10_000 if LONG else 2_000 if FAST else 40
    channel, level, grants = 2 % LINE, 0, []
    while checked < wanted:
        pulses, period = rng.randrange(2, 9), BURST_MIN + rng.choice((0, 1, S, rng.randrange(40 * S), rng.randrange(400 * S)))
        width = rng.randrange(1, period)
        launch, delay = replace(pulse, width=width), FASTEST_INPUT + rng.choice((0, rng.randrange(90 * S)))
        await bench.responder(launch, delay, period, trigger=1, channel=channel, rise=1, fall=1, rearm=1, burst=pulses - 1)
        triggers, tick = [], bench.now + 20 * S
        for _ in range(100 if FAST else 20):
            tick += rng.choice((rng.randrange(8 * S, 60 * S), delay + pulses * period + rng.randrange(8 * S, 60 * S)))
            level ^= 1
            triggers.append((tick, channel, level))
        bench.drain_start()
        await bench.play_aux(triggers)
        await bench.until(tick + delay + pulses * period + 60 * S)
        await bench.drain_stop()
        grants += Responder(launch, delay, True, period, pulses).answers(of_input(t for t, _, _ in triggers), S, REST)
        checked += len(triggers)
    assert not bench.select(MISSED)
    bench.check_launches(grants, [], sources=[RESPONDER])
    bench.check_line(grants)
    figure(1, "responder, bursts: triggers", checked)


@cocotb.test()
async def test_promise1_responder_burst_too_close(dut):
    """A period one tick below the least ends the burst with its second launch, `late`; the next trigger begins a new one."""
    bench, pulse = await start_bench(dut)
    pulse, delay = replace(pulse, width=1), FASTEST
    got, grants = [], []
    for period in (1, BURST_MIN - 12 * S, BURST_MIN - 1, BURST_MIN):
        await bench.responder(pulse, delay, period, trigger=1, channel=0, rise=1, rearm=1, burst=2)
        for _ in range(2):
            edge = bench.now + 20 * S
            edge -= (edge + delay) % S  # a launch at the first sample of its cycle: one behind it has room for the ticks between
            await bench.play_aux([(edge, 0, 1), (edge + 5 * S, 0, 0)])
            await bench.until(edge + 200 * S)
            ticks = [edge + delay + k * period for k in range(3 if period == BURST_MIN else 1)]
            grants += [Grant(tick, pulse, RESPONDER, k) for k, tick in enumerate(ticks)]
            new = await bench.drain()
            got.append([(r.kind, r.flags, r.data >> 16) for r in new if r.source == RESPONDER])
            assert [r.tick for r in new if r.kind == 1] == ticks
        wanted = [(1, 0, 0), (1, 0, 1), (1, 0, 2)] if period == BURST_MIN else [(1, 0, 0), (MISSED, LATE, 1)]
        assert got[-2:] == [wanted, wanted], (period, got[-2:])
    bench.check_line(grants)


@cocotb.test()
async def test_promise2_responder_burst_among_others(dut):
    """What finds the line busy names its place in the burst, and the next ones come; bytes wait for the end; a word ends it."""
    bench, pulse = await start_bench(dut)
    period = 6 * LMIN * S
    pulse = replace(pulse, width=2 * S)
    await bench.responder(pulse, FASTEST, period, trigger=1, channel=0, rise=1, rearm=1, burst=4)
    edge = bench.now + 4 * LMIN * S
    first = edge + FASTEST
    # The queue's launch covers the third launch of the burst, and the fifth.
    long = Launch(PULSE, bench.profiles[1], width=period, index=1)
    blocks = [Grant(first + k * period - period // 2, long, 0, k) for k in (2, 4)]
    for block in blocks:
        await bench.launch(block.tick, long, block.name)
    await bench.play_aux([(edge, 0, 1), (edge + 20 * S, 0, 0)])
    await bench.send(b"ab")
    await bench.until(first + 6 * period)
    await bench.drain()
    mine = Responder(pulse, FASTEST, True, period, 5).answers(of_input([edge]), S, REST)
    granted = blocks + [mine[k] for k in (0, 1, 3)]
    bench.check_launches(granted, [mine[2], mine[4]], sources=[0, RESPONDER])
    bytes_ = [Grant(r.tick, Launch(FRAME, TTY, r.data), 3, n) for n, r in enumerate(bench.select(1, 3))]
    assert [g.launch.data for g in bytes_] == list(b"ab") and bytes_[0].tick >= max(g.end for g in blocks)
    # Disarmed between two launches.
    await bench.responder(pulse, FASTEST, period, trigger=1, channel=0, rise=1, rearm=1, burst=0xFFFF)
    edge = bench.now + 20 * S
    await bench.play_aux([(edge, 0, 1), (edge + 20 * S, 0, 0)])
    await bench.until(edge + FASTEST + 2 * period + period // 4)
    assert await bench.config("resp_arm", 0) and not bench.status("responder_armed")
    await bench.send(b"c")
    await bench.until(edge + FASTEST + 5 * period)
    await bench.drain()
    granted += Responder(pulse, FASTEST, True, period, 3).answers(of_input([edge]), S, REST)
    bench.check_launches(granted, [mine[2], mine[4]], sources=[0, RESPONDER])
    bytes_ = [Grant(r.tick, Launch(FRAME, TTY, r.data), 3, n) for n, r in enumerate(bench.select(1, 3))]
    assert [g.launch.data for g in bytes_] == list(b"abc")
    bench.check_line(granted + bytes_)


@cocotb.test()
async def test_promise1_responder_on_bytes(dut):
    """Answers bytes that match under the mask, from the end of the frame; not those with errors, nor its own."""
    profile = Profile(Fraction(2311 * S, 256), 8, "even", Fraction(3, 2))
    bench, _ = await start_bench(dut, "2:1", profile)
    await bench.config("line", rx_enable=1)
    answer = Launch(FRAME, bench.profiles[1], 0x77, index=1)
    delay = CONSTANTS["RESPONSE_MIN_BYTE"] * S + 7
    await bench.responder(answer, delay, trigger=2, match=(0x3A, 0x7F), rearm=1)
    grants, wave = [], [(ALWAYS, 1)]
    wrong = profile._replace(parity="odd")
    tick = bench.now + 40 * S
    for data in (0x3A, 0x3B, 0xBA, 0x00, 0x3A, 0xBA):
        for sent in (profile, wrong):
            frame = Grant(tick, Launch(FRAME, sent, data), 0, 0)
            wave += line_wave([frame])[1:]
            if sent is profile and data & 0x7F == 0x3A:
                grants.append(Grant(frame.end + delay, answer, 2, len(grants)))
            tick = frame.end + delay + answer.length + bench.random.randrange(20 * S, 60 * S)
    await bench.play("rx_drive", wave)
    await bench.until(tick)
    await bench.drain()
    assert len(grants) == 4 and [r.tick for r in bench.select(1, 2)] == [g.tick for g in grants] and not bench.select(MISSED)
    bench.check_line(grants)
    figure(1, "responder, bytes", len(grants))


@cocotb.test()
async def test_promise1_responder_on_break(dut):
    """Answers a break from the edge that ends it."""
    bench, pulse = await start_bench(dut, "1:2")
    await bench.config("line", rx_enable=1)
    await bench.responder(pulse, FASTEST + 2 * S + 1, trigger=3, rearm=1)
    grants, wave, tick = [], [(ALWAYS, 1)], bench.now + 40 * S
    for bits in (9, 10, 11, 13, 30):
        end = tick + bits * 9 * S + bench.random.randrange(S)
        wave += [(tick, 0), (end, 1)]
        if bits >= 10:
            grants.append(Grant(end + FASTEST + 2 * S + 1, pulse, 2, len(grants)))
        tick = end + 200 * S
    await bench.play("rx_drive", wave)
    await bench.until(tick)
    await bench.drain()
    assert [r.tick for r in bench.select(1, 2)] == [g.tick for g in grants], (bench.events, grants)
    bench.check_line(grants)


@cocotb.test()
async def test_promise1_responder_refuses_what_does_not_fit(dut):
    """Arming what cannot be launched is refused and reported; the earlier settings still answer."""
    bench, pulse = await start_bench(dut)
    delay, unset = FASTEST + 5, Profile(Fraction(5 * S))
    await bench.responder(pulse, delay, holdoff=3 * S, trigger=1, channel=CHANNEL, rise=1, rearm=1)
    told = []

    async def refused(name, word):
        told.append(regmap.config(name).index)
        return not await bench.config(name, word)

    good = pulse.word()
    for word in (
        Launch(3, bench.profiles[1], 1, index=1).word(),
        Launch(FRAME, unset, 1, index=2).word(),
        Launch(BREAK, bench.profiles[1], 0, index=1).word(),
    ):
        assert await bench.config("resp_launch", word) and await refused("resp_arm", 1), f"launch {word:08x} was armed"
    assert await bench.config("resp_launch", good) and await bench.config("resp_width", 0) and await refused("resp_arm", 1)
    assert await bench.config("resp_width", pulse.width) and await bench.config("resp_trigger", trigger=0) and await refused("resp_arm", 1)
    assert not bench.status("responder_armed")
    assert await bench.config("resp_trigger", trigger=1, channel=CHANNEL, rise=1, rearm=1) and await bench.config("resp_arm", arm=1)
    edge = bench.now + 30 * S
    await bench.play_aux([(edge, CHANNEL, 1)])
    await bench.until(edge + delay + 60 * S)
    await bench.drain()
    assert [(r.source, r.flags, r.data) for r in bench.select(REFUSED)] == [(CONTROL, INVALID, index) for index in told]
    bench.check_line([Grant(edge + delay, pulse, 2, 0)])
    figure(1, "words of the responder, refused", len(told))


@cocotb.test()
async def test_promise1_responder_own_transmission(dut):
    """With ignore_own a loop from tx to rx never answers itself; without it, it does."""
    for ignore, sample in [*((1, s) for s in range(S)), (0, 0)]:
        bench, pulse = await start_bench(dut)
        await bench.config("line", rx_enable=1, loopback=1)
        await bench.responder(pulse, FASTEST + 9 * S, trigger=1, channel=LINE, fall=1, rearm=1, ignore_own=ignore)
        tick = bench.ahead(2) // S * S + sample
        frame = Launch(FRAME, bench.profiles[1], 0x55, index=1)
        await bench.launch(tick, frame, 1)
        await bench.until(tick + 900 * S)
        await bench.config("resp_arm", arm=0)
        await bench.cycles(200)
        await bench.drain()
        shots = bench.select(1, 2) + bench.select(MISSED)
        if ignore:
            assert not shots, f"it answered itself: {shots}"
            bench.check_line([Grant(tick, frame, 0, 1)])
        else:
            assert shots and shots[0].source == 2
            first = min(r.tick for r in shots)
            assert first == tick + 1 + FASTEST + 9 * S, "the loop's edge is a tick after the launch"
    bench, pulse = await start_bench(dut)
    await bench.config("line", rx_enable=1)
    await bench.responder(pulse, FASTEST + 5, trigger=1, channel=LINE, fall=1, rearm=1, ignore_own=1)
    edge = bench.now + 30 * S
    await bench.play("rx_drive", [(edge, 0), (edge + 50 * S, 1)])
    await bench.cycles(200)
    await bench.drain()
    assert [r.tick for r in bench.select(1, 2)] == [edge + FASTEST + 5], "the partner's edge counts"


@cocotb.test()
async def test_promise1_responder_ignores_another_rest_level(dut):
    """ignore_own: neither a rest level that the host changes nor a switch of the loopback between two levels makes it answer."""
    bench, pulse = await start_bench(dut)
    for tail in (0, ECHO_TAIL * S):
        for length in (0, 2 * S + 1, 63):
            for loopback in (1, 0):
                assert await bench.echo(tail)
                await bench.filter(1 << LINE if length else 0, length)
                await bench.config("line", loopback=loopback)
                dut.rx_wire.value = 1 - loopback
                await bench.cycles(200)
                await bench.responder(pulse, FASTEST + 100 * S, trigger=1, channel=LINE, rise=1, fall=1, rearm=1, ignore_own=1)
                for invert in (True, False):
                    assert await bench.profile(0, Profile(Fraction(9 * S), invert=invert))
                    answered = bench.answered()
                    await bench.cycles(400)
                    if answered is not None:
                        moved = (answered + OUTPUT - 1) * S
                        bench.check_pin("tx", [(ALWAYS, int(invert)), (moved, 1 - invert)], moved - 5 * S)
                    assert int(dut.tx_pin.value) == 1 - invert
                    answers = [r for r in await bench.drain() if r.source == 2]
                    assert not answers, f"it answered itself: {answers}"
            # The line's two sources at two levels.
            dut.rx_wire.value, dut.rx_drive.value = 0, 0
            await bench.config("line", loopback=1)
            await bench.cycles(200)
            await bench.drain()
            for loopback in (0, 1):
                await bench.config("line", loopback=loopback)
                await bench.cycles(400)
                answers = [r for r in await bench.drain() if r.source == 2]
                assert not answers, f"it answered a switch of the loopback: {answers}"
            dut.rx_drive.value = 1
            await bench.cycles(200)
            await bench.config("resp_arm", arm=0)
    # Another device's edge counts as before.
    await bench.config("line", loopback=0)
    await bench.filter(0, 1)
    await bench.cycles(2200)  # our own is still in view when the filter is written
    await bench.drain()
    await bench.responder(pulse, FASTEST + 5, trigger=1, channel=LINE, fall=1, rearm=1, ignore_own=1)
    edge = bench.now + 30 * S
    await bench.play("rx_drive", [(edge, 0), (edge + 50 * S, 1)])
    await bench.cycles(200)
    assert [r.tick for r in await bench.drain() if r.source == 2] == [edge + FASTEST + 5]


@cocotb.test()
async def test_promise1_responder_own_bytes(dut):
    """Byte triggers with ignore_own: our own looped frames carry OWN and do not count."""
    for ignore in (1, 0):
        bench, pulse = await start_bench(dut, "2:1")
        await bench.config("line", rx_enable=1, loopback=1)
        await bench.responder(pulse, FASTEST + 30 * S, trigger=2, match=(0x42, 0xFF), ignore_own=ignore)
        tick = bench.ahead(2)
        frame = Launch(FRAME, TTY, 0x42, index=0)
        await bench.launch(tick, frame, 1)
        await bench.until(tick + 600 * S)
        await bench.drain()
        expected = [] if ignore else [tick + 1 + frame.length + FASTEST + 30 * S]
        assert [r.tick for r in bench.select(1, 2)] == expected, bench.events
        received = await bench.drain_bytes()
        # (The response comes back over the loop, too; it is no frame.)
        assert [(b.data, b.own, b.tick) for b in received[:1]] == [(0x42, 1, tick + 1)]


async def own_pulse(bench, width):
    """Launches a pulse of our own; returns it."""
    grant = Grant(bench.ahead(2), Launch(PULSE, bench.profiles[1], width=width, index=1), 0, 1)
    await bench.launch(grant.tick, grant.launch, grant.name)
    return grant


@cocotb.test()
async def test_promise1_responder_own_pulse_behind_a_filter(dut):
    """ignore_own: no filter, however long, makes it answer itself, nor does rearming."""
    for rearm in (0, 1):
        bench, pulse = await start_bench(dut)
        await bench.config("line", loopback=1)
        await bench.responder(pulse, FASTEST + 100 * S, trigger=1, channel=LINE, rise=1, fall=1, rearm=rearm, ignore_own=1)
        lengths = range(1, 64, 1 if FAST and rearm else 6 if FAST else 20)
        for length in (*lengths, 16 * S % 64, (16 * S + 1) % 64):
            await bench.filter(1 << LINE, length)
            grant = await own_pulse(bench, 100)
            await bench.until(grant.end + 63 + (160 + ECHO_TAIL) * S)
            answers = [r for r in await bench.drain() if r.source == 2]
            assert not answers, f"it answered itself behind a filter of {length}: {answers}"
            bench.check_line([grant], since=grant.tick - 10 * S)
        assert bench.status("responder_armed")
        figure(1, f"responder, own pulse behind a filter, rearm {rearm}", len(lengths))


@cocotb.test()
async def test_promise1_responder_own_echo_at_the_end_of_the_tail(dut):
    """An echo on the pin that comes late: ignored to the tick that the tail names, and answered as anybody's edge from then on."""
    total = 0
    for tail, length in ((ECHO_TAIL * S, 0), (0, 0), (23 * S + 1, 0), (100 * S, 63), (3, 2 * S + 1)):
        bench, pulse, cycles, held = await start_with_echo(dut, tail, length, "unrelated")
        late = sorted({0, tail // 2, max(0, tail - 1), *range(cycles * S, (cycles + 3) * S + 1)})
        seen = set()
        for ticks in late if FAST else [late[0], cycles * S, cycles * S + 2 * S - 1]:
            delay = FASTEST + 63 + 20 * S
            transceiver = bench.transceiver(ticks)
            # The edge that ends our pulse; the one that begins it comes within the pulse.
            await bench.responder(pulse, delay, trigger=1, channel=LINE, rise=1, ignore_own=1)
            grant = await own_pulse(bench, ticks + 80 * S + bench.random.randrange(S))
            back = grant.end + 1 + ticks
            own = Echo([grant], S, cycles, held).edge(back)
            await bench.until(back + delay + 200 * S + ticks)
            answers = [(r.kind, r.tick) for r in await bench.drain() if r.source == 2]
            assert answers == ([] if own else [(1, back + delay)]), (tail, length, ticks, answers, back + delay)
            assert own or ticks > tail, "what comes within the tail is our own"
            seen.add(own)
            transceiver.cancel()
            await bench.cycles(200)
            total += 1
        assert seen == {0, 1}
    assert not await bench.echo(1023 * S + 1) and await bench.echo(1023 * S)
    assert (regmap.ECHO_CYCLES_RESET, regmap.ECHO_CYCLES_MAX) == (ECHO_TAIL, 1023), "what driver and tools believe"
    assert [(r.kind, r.flags, r.data) for r in await bench.drain() if r.source == 6] == [(REFUSED, INVALID, 14)]
    figure(1, "responder, late echoes", total)


@cocotb.test()
async def test_promise1_responder_own_edges_at_every_cycle(dut):
    """Another device's edge around our own pulse, at every cycle and sample of both ends of the
    window."""
    total = 0
    for tail, length in ((0, 0), (5 * S, 0), (ECHO_TAIL * S, 2 * S + 1), (20 * S, 63)):
        bench, pulse, cycles, held = await start_with_echo(dut, tail, length)
        delay, width = FASTEST + 63 + 400 * S, 2 if length else 1
        seen = {0: 0, 1: 0}
        for place in (-held * S, (2 + cycles) * S):  # an edge as far from our pulse
            for off in range(-2 * S, 3 * S) if FAST else (-1, 0, S):
                await bench.responder(pulse, delay, trigger=1, channel=LINE, fall=1, ignore_own=1)
                grant = await own_pulse(bench, width)
                edge = grant.tick + place + off + (width - 1 if place > 0 else 0)
                await bench.play("rx_drive", [(edge, 0), (edge + 70 * S, 1)])
                own = Echo([grant], S, cycles, held).edge(edge)
                await bench.until(edge + delay + 60 * S)
                answers = [(r.kind, r.tick) for r in await bench.drain() if r.source == 2]
                assert answers == ([] if own else [(1, edge + delay)]), (tail, length, place, off, answers, edge + delay)
                seen[own] += 1
                total += 1
        assert min(seen.values()) > 1, seen
    figure(1, "responder, edges beside our own", total)


@cocotb.test()
async def test_promise5_own_bytes_at_both_ends(dut):
    """OWN of another device's byte: from the cycle in which our launch is the last one too early to
    the first one too late."""
    total = 0
    profile = Profile(Fraction(6 * S * 256 + 77, 256) + (66 if S < 8 else 0), 8, "even")
    for tail, length in ((0, 0), (ECHO_TAIL * S, 0), (ECHO_TAIL * S, 63), (100 * S - 1, 2 * S + 1)):
        bench, _, cycles, held = await start_with_echo(dut, tail, length, profile=profile)
        await bench.config("line", rx_enable=1)
        frame = Launch(FRAME, profile, 0x5A)
        centre = int(Fraction(21, 2) * profile.period)
        seen = {0: 0, 1: 0}
        # our pulse ends as long before the byte begins; begins as long behind its stop bit's centre; ends within the byte
        places = [(-1, -(2 + cycles) * S + off) for off in (range(-2 * S, 2 * S + 1) if FAST else (-1, 0))]
        places += [(1, centre + (1 + held) * S + off) for off in (range(-3 * S, 2 * S + 1) if FAST else (-1, 0))]
        places += [(-1, 50 * S)]
        for which, place in places:
            width = 1 if which > 0 else bench.random.choice((1, 3, 120 * S))
            # The bus carries our pulse first; the byte begins as the place says.
            tick = bench.ahead(2) + centre + 400 * S + bench.random.randrange(S)
            start = tick + width - 1 - place if which < 0 else tick - place
            grant = Grant(tick, Launch(PULSE, bench.profiles[1], width=width, index=1), 0, 1)
            await bench.launch(grant.tick, grant.launch, grant.name)
            wave = [(ALWAYS, 1), *line_wave([Grant(start, frame, 0, 0)])[1:]]
            await bench.play("rx_drive", wave[1:])
            await bench.until(max(start + frame.length + 63 + 100 * S, grant.end))
            await bench.cycles(200)
            (byte,) = await bench.drain_bytes()
            (want,) = receive(filtered(wave, length), profile, S, Echo([grant], S, cycles, held))
            assert byte.key == want[:7], (tail, length, which, place, byte, want)
            seen[want.own] += 1
            total += 1
        assert min(seen.values()) > 1, seen
    figure(5, "own bytes", total)


@cocotb.test()
async def test_promise1_responder_own_breaks_at_both_ends(dut):
    """Another device's break with our own pulse before it or about its end, to the cycle."""
    total, length = 0, 11 * 9 * S + 3
    for tail, filter_length in ((0, 0), (ECHO_TAIL * S, 2 * S + 1)):
        bench, pulse, cycles, held = await start_with_echo(dut, tail, filter_length)
        await bench.config("line", rx_enable=1)
        delay, seen = FASTEST + 63 + 100 * S, {0: 0, 1: 0}
        for place in ((-2 - cycles) * S, length + held * S):
            for off in range(-2 * S, 2 * S + 1) if FAST else (-1, 0, S):
                await bench.responder(pulse, delay, trigger=3, ignore_own=1)
                # Our pulse of one tick; the break begins as the place says.
                tick = bench.ahead(2) + length + 400 * S + bench.random.randrange(S)
                grant, start = Grant(tick, Launch(PULSE, bench.profiles[1], width=1, index=1), 0, 1), tick - place - off
                await bench.launch(grant.tick, grant.launch, grant.name)
                await bench.play("rx_drive", [(start, 0), (start + length, 1)])
                own = Echo([grant], S, cycles, held).break_end(start, start + length)
                await bench.until(max(start + length + delay, tick) + 100 * S)
                answers = [(r.kind, r.tick) for r in await bench.drain() if r.source == 2]
                assert answers == ([] if own else [(1, start + length + delay)]), (tail, place, off, answers)
                seen[own] += 1
                total += 1
        assert min(seen.values()) > 1, seen
    figure(1, "responder, breaks beside our own", total)


@cocotb.test()
async def test_promise1_own_echo_while_settings_change(dut):
    """A filter or a tail written at any time around our pulse: its echo is ignored all the same, and bytes of the echo are own."""
    changes = 0
    for before, after in ((0, 63), (63, 0), (63, 2), (5, 63), ("tail", 0), ("tail", 60 * S)):
        bench, pulse = await start_bench(dut, "1:1")
        tail = 30 * S
        assert await bench.echo(tail)
        transceiver = bench.transceiver(tail)
        await bench.responder(pulse, FASTEST + 100 * S, trigger=1, channel=LINE, rise=1, fall=1, rearm=1, ignore_own=1)
        # A shorter tail written before our pulse has ended is that of the pulse: the echo would then come too late for it.
        for at in range(70 // S if (before, after) == ("tail", 0) else -20, 130, 1 if FAST else 41):
            if before == "tail":
                await bench.echo(tail)
            else:
                await bench.filter(1 << LINE if before else 0, before)
            await bench.cycles(2400 if at > -20 else 10)
            grant = await own_pulse(bench, 70)
            await bench.until(grant.tick + at * S)
            if before == "tail":
                await bench.echo(after)
            else:
                await bench.filter(1 << LINE if after else 0, after)
            await bench.until(grant.end + tail + 400 * S)
            answers = [r for r in await bench.drain() if r.source == 2]
            assert not answers, (before, after, at, answers)
            changes += 1
        transceiver.cancel()
        await bench.cycles(100)
    figure(1, "own echo while settings change", changes)


@cocotb.test()
async def test_promise1_responder_lead_changes(dut):
    """A de lead that is written while the responder counts, at every cycle towards T: T is met, only the lead itself may suffer, once."""
    total = 0
    for before, after in ((0, 700 * S), (0, 1), (5 * S + 1, 90 * S), (20 * S, 60000), (30 * S + 1, 0), (9 * S, 2 * S), (9 * S, 9 * S)):
        bench, pulse = await start_bench(dut, "1:1")
        grants, delay = [], 260 * S + bench.random.randrange(S)
        await bench.responder(pulse, delay, trigger=1, channel=0, rise=1, rearm=1)
        for left in range(80, -10, -1 if FAST else -20):
            assert await bench.config("driver_enable", lead=before, lag=3 * S)
            edge = bench.now + 10 * S + bench.random.randrange(S)
            tick = edge + delay
            await bench.play_aux([(edge, 0, 1), (edge + 5 * S, 0, 0)])
            await bench.until(tick - left * S)
            assert await bench.config("driver_enable", lead=after, lag=3 * S)
            await bench.until(tick + 60 * S)
            new = [(r.kind, r.flags, r.tick) for r in await bench.drain() if r.source == 2]
            assert new == [(1, 0, tick)], (before, after, left, new, tick)
            grants.append(Grant(tick, pulse, 2, 0))
            await bench.cycles(min(before, 100 * S) // S + 1)
            total += 1
        bench.check_line(grants)
        high = bench.wave("de")
        for grant in grants:
            assert all(level_at(high, t) for t in (grant.tick, grant.end - 1, grant.end + 3 * S - 1)) and not level_at(
                high, grant.end + 3 * S
            )
        # the one that comes next has the lead as it is now, if it has the time
        edge = bench.now + 10 * S
        await bench.play_aux([(edge, 0, 1), (edge + 5 * S, 0, 0)])
        await bench.until(edge + delay + 60 * S)
        new = [(r.kind, r.flags) for r in await bench.drain() if r.source == 2]
        assert new == [(1, 0) if after + FASTEST <= delay else (MISSED, LATE)], (before, after, new)
        if new[0][0] == 1:
            bench.check_pin("de", driver_wave([Grant(edge + delay, pulse, 2, 0)], after, 3 * S), since=edge)
    figure(1, "responder, lead changes", total)


@cocotb.test()
async def test_promise1_responder_filter_changes(dut):
    """A filter that is written in any cycle around a trigger: the response counts from the stamp that the edge's own record has."""
    bench, pulse = await start_bench(dut, "1:1")
    await bench.record("tx_responder", "missed", "edge")
    channel = INPUTS - 1
    await bench.config("capture_edges", rise=1 << channel)
    grants, delay = [], FASTEST + 63 + 40 * S
    for before, after in ((0, 63), (63, 0), (63, 2), (2 * S + 1, 17), (1, 0)):
        for at in range(-20, 90, 1 if FAST else 7):
            await bench.filter(1 << channel if before else 0, before)
            await bench.responder(pulse, delay, trigger=1, channel=channel, rise=1)
            edge = bench.now + 40 * S + bench.random.randrange(S)
            player = cocotb.start_soon(bench.play_aux([(edge, channel, 1), (edge + 200 * S, channel, 0)]))
            await bench.until(edge + at * S)
            await bench.filter(1 << channel if after else 0, after)
            await player
            await bench.until(edge + 300 * S + delay)
            new = await bench.drain()
            edges = [r for r in new if r.kind == EDGE]
            assert len(edges) == 1, (before, after, at, new)
            sample = (edges[0].data & 0xFFFF).bit_length() - 1 - S * channel
            grants.append(Grant(edges[0].tick + sample + delay, pulse, 2, 0))
            assert [(r.kind, r.tick) for r in new if r.source == 2] == [(1, grants[-1].tick)], (before, after, at, edge, new)
    bench.check_line(grants)
    figure(1, "responder, filter changes", len(grants))


@cocotb.test()
async def test_promise1_responder_missed_busy(dut):
    """A line that is busy at T: RESPONDER_MISSED busy with T; a miss disarms without rearm."""
    bench, pulse = await start_bench(dut)
    await bench.responder(pulse, 100 * S, trigger=1, channel=0, rise=1)
    tick = bench.ahead(2)
    block = Launch(PULSE, bench.profiles[1], width=500 * S, index=1)
    await bench.launch(tick, block, 5)
    edge = tick + 30 * S + 1
    await bench.play_aux([(edge, 0, 1), (edge + 60 * S, 0, 0), (edge + 150 * S, 0, 1)])
    await bench.until(tick + 900 * S)
    await bench.drain()
    missed = bench.select(MISSED)
    assert [(r.tick, r.flags, r.source, r.data & 0xFFF) for r in missed] == [(edge + 100 * S, BUSY, 2, pulse.word())], missed
    assert not bench.status("responder_armed")
    bench.check_line([Grant(tick, block, 0, 5)])


@cocotb.test()
async def test_promise7_no_such_word(dut):
    """A word that does not exist is refused and reported, and an armed responder stays armed,
    whatever index the word is near to."""
    bench, pulse = await start_bench(dut)
    strange = sorted(set(range(64)) - {register.index for register in regmap.CONFIG})
    await bench.responder(pulse, FASTEST, trigger=1, channel=0, rise=1, rearm=1)
    grants = []
    for index in strange:
        assert not await bench.config_word(index, bench.random.getrandbits(32)), index
        edge = bench.now + 10 * S
        await bench.play_aux([(edge, 0, 1), (edge + 5 * S, 0, 0)])
        await bench.until(edge + 40 * S)
        grants.append(Grant(edge + FASTEST, pulse, 2, len(grants)))
        await bench.drain()
    assert len(strange) > 20 and [r.tick for r in bench.select(1, 2)] == [g.tick for g in grants]
    # words of the train are answered by the train, which reports none
    told = [index for index in strange if not 16 <= index < 32]
    assert [(r.source, r.data) for r in bench.select(REFUSED)] == [(6, index) for index in told]
    bench.check_line(grants)
    figure(7, "words that do not exist", len(strange))


@cocotb.test()
async def test_promise1_same_tick_priority(dut):
    """Responder, queue and train at the same tick, in every combination and at every sample: the
    losers are reported, in this order."""
    bench, pulse = await start_bench(dut, "1:1")
    rng, granted, total = bench.random, [], 0
    shots = {source: Launch(PULSE, bench.profiles[1], width=5 + source, index=1) for source in (0, 1, 2)}
    delay = 400 * S
    await bench.responder(shots[2], delay, trigger=1, channel=0, rise=1, rearm=1)
    for sources in ((0, 1, 2), (0, 1), (0, 2), (1, 2)) * (S if FAST else 1):
        tick = bench.ahead(24) + delay + rng.randrange(4 * S)
        if 1 in sources:
            await bench.train_words(5000 * S, 0, 1, shots[1], tick, 1)
            assert await bench.train_start()
        if 0 in sources:
            await bench.launch(tick, shots[0], total)
        if 2 in sources:
            await bench.play_aux([(tick - delay, 0, 1)])
        await bench.until(tick + 60 * S)
        bench.set_aux(0, 0)
        await bench.cycles(40)
        new = [r for r in await bench.drain() if r.source in (0, 1, 2)]
        order = [s for s in (2, 0, 1) if s in sources]
        assert [(r.source, r.tick) for r in new] == [(s, tick) for s in order], new
        assert [r.kind for r in new] == [1] + [7 if s == 2 else 3 for s in order[1:]]
        assert [r.flags for r in new] == [0] + [BUSY] * (len(order) - 1)
        granted.append(Grant(tick, shots[order[0]], order[0], total))
        total += 1
    bench.check_line(granted)
    figure(1, "same tick", total)


@cocotb.test()
async def test_promise1_responder_against_train_and_queue(dut):
    """Random triggers among a train and queue entries: arbitration by tick as in the model."""
    bench, pulse = await start_bench(dut, "unrelated fast")
    rng = bench.random
    delay = 120 * S
    await bench.responder(pulse, delay, trigger=1, channel=CHANNEL, rise=1, fall=1, rearm=1)
    wide = Launch(PULSE, bench.profiles[1], width=PERIOD // 3, index=1)
    count = 80 if FAST else 25
    start = bench.ahead_train()
    await bench.train_words(PERIOD, 2, 7, wide, start, count)
    assert await bench.train_start()
    train = Train(start, PERIOD, 2, 7, count, wide)
    end, tick, triggers, level, candidates = train.tick(count), start + 50 * S, [], 0, []
    while tick + delay < end:
        level ^= 1
        triggers.append((tick, CHANNEL, level))
        candidates.append(Grant(tick + delay, pulse, 2, len(candidates)))
        tick += delay + rng.randrange(20 * S, 200 * S)
    bench.drain_start()
    await bench.play_aux(triggers)
    await bench.until(end + 200 * S)
    await bench.drain_stop()
    granted, refused = arbitrate([*candidates, *train.pulses()])
    for source in (1, 2):
        assert [r.tick for r in bench.select(1, source)] == [g.tick for g in granted if g.source == source]
    assert [r.tick for r in bench.select(MISSED)] == [g.tick for g in refused if g.source == 2]
    assert [r.tick for r in bench.select(3, 1)] == [g.tick for g in refused if g.source == 1]
    assert refused
    bench.check_line(granted)
    figure(1, "responder against train", len(granted) + len(refused))
