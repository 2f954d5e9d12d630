# SPDX-License-Identifier: BSD-2-Clause
"""The watchdog on the whole core: exactly when it fires, that all it must stop stops, and that no access of a host goes amiss meanwhile."""

import os
from fractions import Fraction

import cocotb
from cocotb.triggers import FallingEdge, Timer

from litex_soc import regmap
from sim.core.bench import CONSTANTS, FAST, Bench, S
from sim.core.model import APPLIED, CONTROL, PULSE, QUEUE, RESPONDER, TRAIN, TRAIN_CHANGE, TX, Grant, Launch, Profile, Train

UNIT = 1 << int(os.environ.get("LITEPULSE_PARAM_WATCHDOG_UNIT", "8"))  # as in litepulse_tb
PERIOD = (CONSTANTS["CHANGE_MIN_PERIOD"] + 20) * S
STOP_FLAG = regmap.EVENT_FLAG_STOP
CONFIG = regmap.REGIONS["CONFIG"][0]
# What the watchdog hands over, in this order.
STOPS = ("train_command", "resp_arm", "command")


class Watch:
    """SESSION as the wrapper has it, and in which cycles of `sys` the host talked and the watchdog fired."""

    def __init__(self, bench):
        self.bench, self.dut = bench, bench.dut
        self.cycle, self.talked, self.fired, self.fired_tick = 0, None, [], None
        self.task = cocotb.start_soon(self.run())

    async def run(self):
        dut = self.dut
        while True:
            await FallingEdge(dut.sys_clk)
            await Timer(1, "step")  # what a bus master changes at this edge is there
            self.cycle += 1
            if int(dut.watch_fired.value):
                self.fired.append((self.cycle, self.talked))
                self.fired_tick = self.bench.now
                dut.watch_limit.value, dut.watch_keep.value = 0, 0
            if int(dut.bus_stb.value) or int(dut.watch_written.value):
                self.talked = self.cycle

    async def session(self, limit, keep=0):
        """The host writes SESSION."""
        dut = self.dut
        await FallingEdge(dut.sys_clk)
        dut.watch_limit.value, dut.watch_keep.value, dut.watch_written.value = limit, keep, 1
        await FallingEdge(dut.sys_clk)
        dut.watch_written.value = 0

    async def until(self, cycle):
        """Before the end of this cycle of `sys`."""
        while self.cycle < cycle:
            await FallingEdge(self.dut.sys_clk)
            await Timer(2, "step")

    def check(self, limit, times=1):
        """It has fired so often, each time exactly `limit` units behind the last talk."""
        assert [fired - talked for fired, talked in self.fired] == [limit * UNIT + 2] * times, self.fired
        self.fired.clear()


async def start_bench(dut, clocks="unrelated"):
    bench = await Bench.start(dut, clocks, watch=("tx",))
    await bench.record("tx_train", "tx_queue", "tx_responder", "control")
    assert await bench.profile(1, Profile(Fraction(5 * S)))
    return bench, Watch(bench), Launch(PULSE, bench.profiles[1], width=2 * S, index=1)


async def begin_all(bench, launch, far=1 << 40):
    """A train without end, two launches that are far off, a responder that listens to input 0: the train's model."""
    await bench.responder(launch, 40 * S, trigger=1, channel=0, rise=1, rearm=1)
    for tag in (1, 2):
        await bench.launch(bench.now + far, launch, tag)
    start = bench.ahead_train()
    await bench.train_words(PERIOD, 1, 3, launch, start, 0)
    assert await bench.train_start()
    return Train(start, PERIOD, 1, 3, 0, launch)


async def stops_all(dut, clocks):
    bench, watch, launch = await start_bench(dut, clocks)
    train = await begin_all(bench, launch)
    limit = 1 + 9 * PERIOD // S // UNIT * 8000 // bench.sys_period
    await watch.session(limit)
    before = bench.config_answers()
    edge = bench.now + PERIOD
    await bench.play_aux([(edge, 0, 1)])
    while not watch.fired:
        await bench.sys_cycles(16)
    fired = watch.fired_tick
    await bench.sys_cycles(200)
    await bench.cycles(250)
    watch.check(limit)
    assert bench.config_answers() == before + len(STOPS) & 0xFF
    bench.config_count = bench.config_answers()
    assert not bench.status("train_running") and not bench.status("responder_armed") and bench.status("queue_idle")
    # nothing comes any more, not by a trigger either
    await bench.play_aux([(bench.now + 20 * S, 0, 0), (bench.now + 60 * S, 0, 1)])
    await bench.until(bench.now + 4 * PERIOD)
    await bench.drain()
    stop, flush = (r for r in bench.events if r.kind == APPLIED and (r.source == CONTROL or r.flags == STOP_FLAG))
    assert (stop.source, stop.flags, flush.flags) == (TRAIN_CHANGE, STOP_FLAG, 0), (stop, flush)
    assert flush.data == 2 << 16 | 1, "two launches are flushed, by that command"
    assert fired <= stop.tick < flush.tick < fired + 400 * S * max(8000, bench.sys_period) // 8000
    pulses = [Grant(train.tick(n), launch, TRAIN, n) for n in range(stop.data)]
    assert len(pulses) >= 4 and pulses[-1].tick <= stop.tick and fired < train.tick(stop.data), "all before it fired, none behind the stop"
    answer = Grant(edge + 40 * S, launch, RESPONDER, 0)
    clear = all(abs(answer.tick - g.tick) > 2 * S for g in pulses)
    assert clear and [r.tick for r in bench.select(TX, TRAIN)] == [g.tick for g in pulses]
    assert [r.tick for r in bench.select(TX, RESPONDER)] == [answer.tick] and not bench.select(TX, QUEUE)
    bench.check_line([*pulses, answer])
    bench.check_sequence()
    # the host comes back: it is not stopped again, and what it starts runs
    await begin_all(bench, launch)
    await bench.sys_cycles(3 * UNIT)
    assert not watch.fired and bench.status("train_running") and bench.status("responder_armed") and not bench.status("queue_idle")


@cocotb.test()
async def test_watchdog_stops_all(dut):
    """Train, queue and responder, exactly `limit` units after the last access; what left before is what the pins show."""
    for clocks in ("unrelated", "1:1", "2:1 shifted", "1:4") if FAST else ("unrelated",):
        await stops_all(dut, clocks)


@cocotb.test()
async def test_watchdog_keeps(dut):
    """Never with keep, never with a limit of 0; a limit that is given later counts from when it was written."""
    bench, watch, launch = await start_bench(dut)
    await begin_all(bench, launch)
    for limit, keep in ((1, 1), (0, 0), (0, 1)):
        await watch.session(limit, keep)
        await bench.sys_cycles(4 * UNIT)
        assert not watch.fired and bench.status("train_running"), (limit, keep)
    await watch.session(2)
    await bench.sys_cycles(2 * UNIT + 40)
    watch.check(2)
    await bench.cycles(60)
    assert not bench.status("train_running")


@cocotb.test()
async def test_watchdog_hears_the_host(dut):
    """An access or a write of SESSION in the very last cycle is in time, in the next one it is not."""
    bench, watch, _ = await start_bench(dut)
    tries = {
        "a read of the window": lambda: bench.read(regmap.REGIONS["EVENTS"][0] + 4),
        "a read where nothing is": lambda: bench.read(regmap.REGIONS["TX"][0]),
        "a write to the window": lambda: bench.write(regmap.REGIONS["EVENTS"][0], 0),
        "SESSION": lambda: watch.session(2),
    }
    for what, talk in tries.items():
        # this much earlier than the cycle before the one that is too late
        for early in (-1, 0, 1, 2):
            await watch.session(2)
            last = watch.talked + 2 * UNIT + 1
            # a master changes its signals at the next falling edge, which is in the next cycle
            await watch.until(last - early - 1)
            await talk()
            heard = early >= 0
            assert bool(watch.fired) != heard, (what, early, watch.fired, watch.talked)
            await bench.sys_cycles(2 * UNIT + 20)
            watch.check(2)
            await bench.sys_cycles(60)
            await bench.cycles(60)


@cocotb.test()
async def test_watchdog_beside_accesses(dut):
    """Whatever a host begins while the three words are on their way is answered, done once, and behind none or all of them."""
    bench, watch, launch = await start_bench(dut, "2:1 shifted")
    at_filter = CONFIG + 4 * regmap.config("filter").index  # a word that can be written at any time
    tx = regmap.REGIONS["TX"][0] + 3 * regmap.TX_PART_SIZE
    assert await bench.profile(0, Profile(Fraction(4 * S)))
    done = {"bytes": 0, "launches": 0}

    async def header():
        head = await bench.header("EVENTS")
        assert head["tick"] <= bench.now + S

    async def config(value):
        await bench.write(at_filter, value % 64 << 16)
        assert await bench.read(at_filter) == value % 64 << 16

    async def send(value):
        await bench.write(tx, value * 0x01010101)
        done["bytes"] += 4

    async def queue(value):
        await bench.launch(1 << 50, launch, value)
        done["launches"] += 1

    async def read_back(_):
        for name, word in (("train_command", 1), ("resp_arm", 1), ("command", 0)):
            assert await bench.read(CONFIG + 4 * regmap.config(name).index) == word, f"{name}: the host's own word"

    accesses = {"header": lambda _: header(), "config": config, "bytes": send, "launch": queue, "read_back": read_back}
    await bench.command()
    for what, access in accesses.items():
        for delay in range(0, 90 if FAST else 30, 1 if FAST else 7):
            await begin_all(bench, launch, far=1 << 41)
            done.update(launches=0)
            accepted = int(dut.launch_accepted.value)
            await watch.session(1)
            counted = bench.config_answers()
            await watch.until(watch.cycle + UNIT - 6 + delay)
            early = not watch.fired
            await access(delay + 1)
            own = 1 if what == "config" else 0
            if early and not watch.fired:  # it was heard; again
                await bench.sys_cycles(UNIT + 20)
            await bench.sys_cycles(140)
            await bench.cycles(140)
            watch.check(1)
            assert bench.config_answers() == counted + len(STOPS) + own & 0xFF, (what, delay)
            bench.config_count = bench.config_answers()
            assert not bench.status("train_running") and not bench.status("responder_armed"), (what, delay)
            assert int(dut.launch_accepted.value) == accepted + done["launches"] & 0xFF, (what, delay)
            assert int(dut.config_refused.value) == 0 and int(dut.launch_refused.value) == 0, (what, delay, await bench.drain())
            await bench.command(flush_queue=1)
            await bench.command()
            await bench.drain()
    bench.check_sequence()
    sent = [r for r in bench.events if r.kind == TX and r.source == 3]
    assert not sent, "bytes are not recorded here"
    assert int(dut.tx_dropped.value) == 0 and done["bytes"]


async def until_fired(watch, bench, cycles=0):
    """`cycles` of `sys` behind that in which it fires: from there on SESSION reads 0."""
    while not watch.fired:
        await bench.sys_cycles(1)
    for _ in range(cycles):
        await bench.sys_cycles(1)


@cocotb.test()
async def test_watchdog_before_a_host_that_returns(dut):
    """What a host writes after SESSION reads 0 comes behind all three words: it stays armed, and its launch stays in the queue."""
    for clocks in ("1:1", "1:4", "unrelated", "4:1") if FAST else ("1:1",):
        bench, watch, launch = await start_bench(dut, clocks)
        for delay in (*range(0, 40, 3), 59, 80, 120) if FAST else (0, 4, 40):
            for words in (0, 1, 12)[delay % 2 :: 2] if delay > 12 else (0, 1, 12):
                await begin_all(bench, launch)
                await bench.drain()
                await watch.session(1)
                counted = bench.config_answers()
                await until_fired(watch, bench, delay)
                what = (clocks, delay, words)
                for n in range(words):
                    await bench.config("filter", enable=0, length=n + 1, wait=False)
                if words:
                    await bench.config("resp_arm", arm=1, wait=False)
                tick = bench.now + 6000 * S * max(1, bench.sys_period // 8000)
                await bench.launch(tick, launch, 7)
                await bench.sys_cycles(100)
                await bench.cycles(400)
                watch.check(1)
                assert bench.config_answers() == counted + len(STOPS) + words + (words > 0) & 0xFF, what
                bench.config_count = bench.config_answers()
                assert not bench.status("train_running"), what
                assert bench.status("responder_armed") == (words > 0), what
                assert not bench.status("queue_idle"), f"the launch of a host that came back was flushed: {what}"
                (flush,) = (r for r in await bench.drain() if r.kind == APPLIED and r.source == CONTROL)
                assert flush.data == 2 << 16 | 1, what
                assert int(dut.config_refused.value) == 0 and int(dut.launch_refused.value) == 0, what
                await bench.config("resp_arm", arm=0)
                await bench.command(flush_queue=1)
        bench.check_sequence()


@cocotb.test()
async def test_watchdog_beside_the_last_word(dut):
    """A word of the host in any cycle around that in which it fires: all four are answered, the host's is not lost."""
    bench, watch, launch = await start_bench(dut, "1:1")
    for early in range(6 if FAST else 2):
        await begin_all(bench, launch)
        await watch.session(1)
        counted = bench.config_answers()
        await watch.until(watch.talked + UNIT - early + 2)
        await bench.config("filter", enable=0, length=early + 1, wait=False)
        fired = bool(watch.fired)
        await bench.sys_cycles(UNIT + 600)
        watch.check(1)
        assert bench.config_answers() == counted + len(STOPS) + 1 & 0xFF, (early, fired)
        bench.config_count = bench.config_answers()
        assert not bench.status("train_running") and not bench.status("responder_armed") and bench.status("queue_idle")


@cocotb.test()
async def test_watchdog_ends_a_held_break(dut):
    """A line that a host held in break rests again, and so does `de`; its other settings of the line stay."""
    for clocks in ("1:1", "unrelated"):
        bench, watch, launch = await start_bench(dut, clocks)
        assert await bench.profile(0, Profile(Fraction(4 * S)))
        await bench.config("line", break_hold=1, hold_tty=1, loopback=1)
        # The host's own commands do not end it.
        await bench.command(flush_queue=1, flush_tty=1, snapshot=1)
        await bench.config("train_command", command=3)
        await bench.config("resp_arm", arm=0)
        await bench.cycles(60)
        assert (int(dut.tx_pin.value), int(dut.de_pin.value)) == (0, 1) and bench.status("line_busy")
        await watch.session(1)
        await until_fired(watch, bench, 300)
        await bench.cycles(400)
        watch.check(1)
        bench.config_count = bench.config_answers()
        assert (int(dut.tx_pin.value), int(dut.de_pin.value)) == (1, 0) and not bench.status("line_busy")
        await bench.send([0x55])
        await bench.cycles(400)
        assert int(dut.tx_pin.value) == 1 and not bench.status("tx_idle"), "hold_tty stays"
        # A host that comes back may hold it again, and launch.
        await bench.config("line", break_hold=1)
        await bench.cycles(60)
        assert int(dut.tx_pin.value) == 0
        await bench.config("line")
        await bench.cycles(200)
        assert int(dut.tx_pin.value) == 1 and bench.status("tx_idle")
