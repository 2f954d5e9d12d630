# SPDX-License-Identifier: BSD-2-Clause
"""The driver enable, resets, and promise 7 on the whole core: nothing else moves the edges."""

from fractions import Fraction

import cocotb
from cocotb.triggers import FallingEdge

from litex_soc import regmap
from sim.core.bench import CONSTANTS, CYCLE, FAST, LINE, SPACE, TICK, Bench, S, figure
from sim.core.model import ALWAYS, FRAME, PULSE, Grant, Launch, Profile, Train, arbitrate, driver_wave, same_list

TTY = Profile(Fraction(1201 * S, 256))
MASK = (1 << LINE + 1) - 1


@cocotb.test()
async def test_promise1_driver_enable(dut):
    """de rises `lead` before every launch and falls `lag` after its end, joined where they overlap, for every source."""
    edges = 0
    pairs = ((0, 0), (1, 0), (0, 1), (3 * S + 1, 2 * S + 1), (150 * S, 90 * S + 1), (700 * S, 300 * S))
    for lead, lag in pairs[:: 1 if FAST else 3]:
        bench = await Bench.start(dut, "unrelated")
        await bench.record("tx_queue", "tx_train", "tx_tty", "refused_queue", "refused_train", "tx_responder", "missed")
        assert await bench.profile(0, TTY) and await bench.profile(1, Profile(Fraction(6 * S)))
        assert await bench.config("driver_enable", lead=lead, lag=lag)
        pulse = Launch(PULSE, bench.profiles[1], width=7 * S + 1, index=1)
        frame = Launch(FRAME, bench.profiles[1], 0x6C, index=1)
        bench.drain_start()
        tick, entries = bench.ahead(3) + lead, []
        for n in range(14 if FAST else 6):
            # Distances on both sides of lead + lag, and launches that touch.
            launch = (pulse, frame)[n % 2]
            tick = max(tick, bench.ahead(1) + lead)
            entries.append(Grant(tick, launch, 0, n))
            await bench.launch(tick, launch, n)
            near = lead + lag + bench.random.randrange(-2, 3)
            tick += launch.length + max(lead + SPACE, bench.random.choice((near, near + 40 * S, 0)))
        await bench.until(tick + lead + lag + 50 * S)
        start = bench.ahead_train() + lead
        count = 12 if FAST else 5
        whole = max(pulse.length + lead + lag + 3, CONSTANTS["CHANGE_MIN_PERIOD"] * S + lead)
        await bench.train_words(whole, 1, 2, pulse, start, count)
        assert await bench.train_start()
        train = Train(start, whole, 1, 2, count, pulse)
        await bench.until(train.tick(count) + lead + 40 * S)
        await bench.send([0x10, 0x20, 0x30])
        await bench.cycles((4 * (Launch(FRAME, TTY, 0).length + lead) + lag) // S + 100)
        await bench.responder(pulse, CONSTANTS["RESPONSE_MIN_INPUT"] * S + lead + 2, trigger=1, channel=0, rise=1)
        edge = bench.now + 20 * S
        await bench.play_aux([(edge, 0, 1)])
        await bench.cycles((2 * lead + lag) // S + 200)
        await bench.drain_stop()
        tty = [Grant(r.tick, Launch(FRAME, TTY, r.data), 3, n) for n, r in enumerate(bench.select(1, 3))]
        shot = [Grant(edge + CONSTANTS["RESPONSE_MIN_INPUT"] * S + lead + 2, pulse, 2, 0)]
        granted, refused = arbitrate([*entries, *train.pulses(), *shot], tty)
        assert not refused and [g.launch.data for g in tty] == [0x10, 0x20, 0x30]
        bench.check_launches(granted, refused, sources=(0, 1, 3))
        assert [r.tick for r in bench.select(1, 2)] == [shot[0].tick]
        bench.check_line(granted)
        edges += bench.check_pin("de", driver_wave(granted, lead, lag))
    figure(1, "driver enable", edges)


@cocotb.test()
async def test_promise1_driver_enable_with_another_lag(dut):
    """A pulse within a cycle, in a lag that was lowered or raised meanwhile: from then on its own lag counts, to the tick."""
    edges = 0
    for before, after in ((600 * S, 0), (600 * S, 1), (600 * S, S + 1), (500 * S, 600 * S)):
        bench = await Bench.start(dut, "1:1")
        assert await bench.profile(1, Profile(Fraction(6 * S)))
        for off in range(S):
            assert await bench.config("driver_enable", lead=0, lag=before)
            first = bench.ahead(4) // S * S
            second = first + 400 * S + off
            grants = [Grant(tick, Launch(PULSE, bench.profiles[1], width=1, index=1), 0, n) for n, tick in enumerate((first, second))]
            for grant in grants:
                await bench.launch(grant.tick, grant.launch, grant.name)
            await bench.until(first + 20 * S)
            assert await bench.config("driver_enable", lead=0, lag=after)
            assert bench.now < second - 100 * S
            await bench.until(second + 1200 * S)
            wanted = [(ALWAYS, 0), (first, 1), (second + 1 + after, 0)]
            edges += bench.check_pin("de", wanted, since=first - 10 * S)
    figure(1, "driver enable, another lag", edges)


@cocotb.test()
async def test_promise1_driver_enable_refused_and_flushed(dut):
    """A launch refused busy adds nothing to de; a flushed one takes its lead back."""
    bench = await Bench.start(dut, "2:1")
    await bench.record()
    assert await bench.profile(1, Profile(Fraction(6 * S)))
    lead, lag = 300 * S, 20 * S
    await bench.config("driver_enable", lead=lead, lag=lag)
    block = Launch(PULSE, bench.profiles[1], width=600 * S, index=1)
    pulse = Launch(PULSE, bench.profiles[1], width=5, index=1)
    start = bench.ahead_train() + lead
    await bench.train_words(900 * S, 0, 1, block, start, 1)
    await bench.train_start()
    await bench.launch(start + 599 * S, pulse, 1)  # busy
    await bench.launch(start + 1600 * S, pulse, 2)  # flushed while de is up for it
    await bench.until(start + 1400 * S)
    assert int(dut.de_pin.value) == 1
    await bench.command(flush_queue=1)
    await bench.until(start + 2500 * S)
    await bench.drain()
    assert [(r.kind, r.flags, r.tick) for r in bench.select(1) + bench.select(3)] == [(1, 0, start), (3, 2, start + 599 * S)]
    granted = [Grant(start, block, 1, 0)]
    bench.check_line(granted)
    wave = bench.wave("de")
    assert wave[:3] == [(ALWAYS, 0), (start - lead, 1), (start + 600 * S + lag, 0)]
    assert [v for _, v in wave[3:]] == [1, 0] and wave[3][0] == start + 1300 * S and wave[4][0] < start + 1600 * S, wave


async def quiet_after_reset(bench, dut):
    """Nothing moves, nothing is recorded, nothing is armed, everything has to be set again."""
    since = bench.now
    await bench.cycles(1500)
    for name, rest in (("tx", 1), ("de", 0)):
        late = [c for c in bench.pins[name].changes if c[0] >= 0 and (c[0] - bench.zero) // TICK >= since - 8 * S]
        assert not late, f"{name} moved after reset: {late}"
        assert int(getattr(dut, f"{name}_pin").value) == rest
    for stream in ("EVENTS", "RECEIVE"):
        head = await bench.header(stream)
        assert (head["ready"], head["position"], head["lost"]) == (0, 0, 0), head
        assert head["tick"] <= bench.now
    assert bench.status("tx_idle") and bench.status("queue_idle")
    for bit in ("train_running", "train_change_pending", "responder_armed", "config_busy", "line_busy", "rx_busy"):
        assert not bench.status(bit), bit


@cocotb.test()
async def test_reset_in_the_middle_of_anything(dut):
    """Reset at any moment of a busy core: the line rests and is released within a few cycles and nothing comes back."""
    bench = await Bench.start(dut, "unrelated")
    for trial in range(12 if FAST else 4):
        await bench.record()
        assert await bench.profile(0, TTY) and await bench.profile(1, Profile(Fraction(7 * S), invert=bool(trial & 1)))
        await bench.config("driver_enable", lead=20 * S, lag=50 * S)
        await bench.config("capture_edges", rise=MASK, fall=MASK)
        await bench.config("line", loopback=1, rx_enable=1)
        frame = Launch(FRAME, bench.profiles[1], 0xA9, index=1)
        await bench.responder(frame, 200 * S, trigger=1, channel=0, rise=1, fall=1, rearm=1, exclusive=trial >> 1 & 1)
        tick = bench.ahead(30) + CONSTANTS["TRAIN_LMIN_CYCLES"] * S
        await bench.train_words(frame.length + 90 * S, 1, 3, frame, tick)
        await bench.train_start()
        for n in range(5):
            await bench.launch(tick + 40 * S + n * 300 * S, frame, n)
        await bench.send(range(40))
        if trial % 4 == 3:
            await bench.config("line", break_hold=1)
        await bench.until(tick)
        bench.set_aux(0, trial & 1)
        await bench.cycles(bench.random.randrange(1, 900))
        bench.set_aux(0, 1 - (trial & 1))
        # Anywhere within a cycle, also amid a bus access.
        access = cocotb.start_soon(bench.train_adjust(0, 3))
        await bench.cycles(bench.random.randrange(0, 150))
        while not access.done() and trial % 3 == 0 and dut.bus_stb.value == 0:
            await FallingEdge(dut.pulse_clk)
        access.cancel()
        bench.idle_inputs()
        dut.pulse_rst.value, dut.sys_rst.value = 1, 1
        began = bench.now
        await bench.cycles(6)
        assert (int(dut.tx_pin.value), int(dut.de_pin.value), int(dut.oe_pin.value)) == (1, 0, 0)
        moved = [c for name in ("tx", "de") for c in bench.pins[name].changes if (c[0] - bench.zero) // TICK > began + 6 * S]
        assert not moved
        bench.bus_lock = type(bench.bus_lock)()
        await bench.reset(3 + trial)
        assert int(dut.oe_pin.value) == 1, "driven again once out of reset"
        await quiet_after_reset(bench, dut)
        # A launch before any profile is set is refused, not sent.
        await bench.record()
        await bench.launch(bench.ahead(2), frame, 3)
        await bench.cycles(60)
        await bench.sys_cycles(60)
        new = await bench.drain()
        assert [(r.kind, r.flags) for r in new if r.source == 0] == [(3, 4)], new
    figure(1, "resets in the middle", 12 if FAST else 4)


@cocotb.test()
async def test_reset_released_in_either_order(dut):
    """The two domains may leave reset in any order and at any distance."""
    for sys_first, distance in ((1, 1), (1, 40), (0, 1), (0, 40), (1, 200), (0, 200)):
        bench = await Bench.start(dut, "unrelated")
        dut.pulse_rst.value, dut.sys_rst.value = 1, 1
        await bench.cycles(20)
        if sys_first:
            await FallingEdge(dut.sys_clk)
            dut.sys_rst.value = 0
            await bench.sys_cycles(distance)
            await bench.pulse_release()
        else:
            await bench.pulse_release()
            await bench.cycles(distance)
            await FallingEdge(dut.sys_clk)
            dut.sys_rst.value = 0
        bench.config_count = 0
        bench.zero = bench.released + bench.zero_offset()
        await bench.cycles(40)
        await bench.sys_cycles(10)
        await bench.record()
        assert await bench.profile(1, Profile(Fraction(7 * S)))
        tick = bench.ahead(2)
        pulse = Launch(PULSE, bench.profiles[1], width=3, index=1)
        since = bench.now
        await bench.launch(tick, pulse, 4)
        await bench.until(tick + 80 * S)
        new = await bench.drain()
        assert [r.key for r in new] == [(tick, 1, 0, 0, 4 << 16 | pulse.word())], new
        bench.check_line([Grant(tick, pulse, 0, 4)], since=since)


# Promise 7 -------------------------------------------------------------------------------------------------------


async def scene(bench, disturb):
    """A scene with all sources, its writes at fixed ticks; `disturb` says what else happens. Returns the pins."""
    disturbance = Disturbance(bench) if disturb else None
    assert await bench.profile(0, TTY) and await bench.profile(1, Profile(Fraction(6 * 256 * S + 31, 256), 7, "odd"))
    await bench.record()
    await bench.config("driver_enable", lead=9 * S, lag=4 * S + 1)
    await bench.config("line", hold_tty=1, rx_enable=1, loopback=1)
    await bench.config("capture_edges", rise=MASK, fall=MASK)
    frame = Launch(FRAME, bench.profiles[1], 0x2B, index=1)
    pulse = Launch(PULSE, bench.profiles[1], width=5, index=1)
    await bench.responder(pulse, 150 * S, trigger=1, channel=0, rise=1, fall=1, rearm=1)
    start = 6000 * max(CYCLE, bench.sys_period) // CYCLE * S
    await bench.train_words(700 * S, 3, 7, frame, start, 0)
    await bench.train_start()
    for n in range(30):
        await bench.launch(start + 350 * S + n * 173 * S, (frame, pulse)[n % 2], n)
    await bench.send([n * 37 & 0xFF for n in range(30)])
    assert bench.now < start - 400 * S
    scale = -(-max(CYCLE, bench.sys_period) // CYCLE)
    script = [
        (start + 100 * S, "line", {"loopback": 1, "rx_enable": 1}),
        (start + 2300 * S, "train_at_pulse", 0),
        (start + 2350 * S, "train_step", {"step": -7}),
        (start + 2411 * S, "train_command", {"command": 2}),
        (start + 3600 * S, "line", {"hold_tty": 1}),
        (start + 4300 * S, "line", {}),
        (start + 5700 * S, "train_command", {"command": 3}),
    ]
    triggers = [(start + 190 * S + k * 611 * S + k, 0, k + 1 & 1) for k in range(9)]
    player = cocotb.start_soon(bench.play_aux(triggers))
    if disturb:
        disturbance.resume()
    lead = 400 * S * scale  # in which whatever disturbs has surely come to an end
    for (tick, name, fields), after in zip(script, [*(entry[0] for entry in script[1:]), start + 8000 * S]):
        if disturb:
            await bench.until(tick - lead)
            begin = bench.now
            await disturbance.pause()
            assert bench.now - begin < lead, "the disturbance did not end in time"
        await bench.until(tick)
        await (bench.config(name, fields) if isinstance(fields, int) else bench.config(name, **fields))
        if disturb and after - bench.now > lead + 100 * S:
            disturbance.resume()
    await bench.until(start + 8000 * S)
    if disturb:
        await disturbance.pause()
    await player
    return bench.wave("tx", start - 300 * S), bench.wave("de", start - 300 * S), disturbance.count if disturb else 0


class Disturbance:
    """Reads, acks and writes that have no business with the line, as fast as the bus takes them."""

    def __init__(self, bench):
        self.bench, self.rng = bench, bench.random
        self.running, self.count = False, 0
        self.task = None

    def resume(self):
        self.running = True
        self.task = cocotb.start_soon(self.run())

    async def pause(self):
        self.running = False
        if self.task is not None:
            await self.task
            await self.bench.config_wait()
        self.task = None

    async def run(self):
        bench, rng = self.bench, self.rng
        while self.running:
            shape = rng.randrange(8)
            if shape < 3:
                await bench.read(rng.randrange(0, regmap.WINDOW_SIZE, 4))
            elif shape == 3:
                await bench.drain(rng.randrange(1, 9))
            elif shape == 4:
                await bench.write(regmap.REGIONS["LAUNCH"][0] + 4 * rng.randrange(3), rng.getrandbits(32))
            elif shape == 5:
                # Settings of records, and words that wait for a commit that never comes. Not
                # `filter`: triggers pass through it.
                name = rng.choice(("train_start_lo", "train_count", "profile3_format", "capture_edges", "event_mask"))
                await bench.config(name, rng.getrandbits(30), wait=False)
            elif shape == 6:
                await bench.ack("EVENTS", rng.randrange(300, 500))
                await bench.ack("RECEIVE", 1, bench.positions["RECEIVE"] + 77)
            else:
                await bench.write(regmap.REGIONS["EVENTS"][0] + 4 * rng.randrange(64), rng.getrandbits(32))
            self.count += 1


@cocotb.test()
async def test_promise7_bus_traffic_moves_nothing(dut):
    """The same scene alone with FIFOs filling up, and under constant bus traffic with other levels: the same pins, to the tick."""
    total = 0
    for clocks in ("unrelated", "2:1") if FAST else ("2:1",):
        # The very first start calibrates; from the second on all have the same clocks out of the same reset.
        await Bench.start(dut, clocks)
        alone = await scene(await Bench.start(dut, clocks), False)
        bench = await Bench.start(dut, clocks)
        crowded = await scene(bench, True)
        assert crowded[2] > 100, "the bus was busy"
        assert len(alone[0]) > 200 and len(alone[1]) > 40
        same_list("tx with and without bus traffic", crowded[0], alone[0])
        same_list("de with and without bus traffic", crowded[1], alone[1])
        total += crowded[2]
    figure(7, "bus accesses beside a scene", total)


@cocotb.test()
async def test_promise7_clock_ratio_moves_nothing(dut):
    """Queue, train and responder set up in time give the same edges whatever clock the bus has."""
    waves = []
    for clocks in ("1:1", "1:4", "4:1", "unrelated") if FAST else ("2:1", "unrelated"):
        bench = await Bench.start(dut, clocks)
        assert await bench.profile(1, Profile(Fraction(6 * S)))
        frame = Launch(FRAME, bench.profiles[1], 0x99, index=1)
        pulse = Launch(PULSE, bench.profiles[1], width=3, index=1)
        await bench.responder(pulse, 90 * S, trigger=1, channel=0, rise=1, fall=1, rearm=1)
        start = 5000 * S
        await bench.train_words((CONSTANTS["CHANGE_MIN_PERIOD"] + 12) * S, 1, 3, pulse, start, 12)
        assert await bench.train_start()
        for n in range(8):
            await bench.launch(start + 31 * S + n * 411 * S, frame, n)
        assert bench.now < start - 300 * S
        await bench.play_aux([(start + k * 517 * S + k, 0, k + 1 & 1) for k in range(6)])
        await bench.until(start + 4500 * S)
        waves.append((bench.wave("tx", start - 100), bench.wave("de", start - 100)))
    assert all(w == waves[0] for w in waves) and len(waves[0][0]) > 60
    figure(7, "clock ratios", len(waves) * len(waves[0][0]))
