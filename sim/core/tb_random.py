# SPDX-License-Identifier: BSD-2-Clause
"""Constrained-random scenes with all sources at once, and settings that change meanwhile, against the model. The seed is in the log and in
the figures."""

import random
from dataclasses import replace
from fractions import Fraction

import cocotb

from litex_soc import regmap
from sim.core.bench import CLOCKS, CONSTANTS, FAST, FILTER, INPUTS, LINE, LMIN, PHY, SEED, SPACE, Bench, S, figure, latencies
from sim.core.model import (
    ALWAYS,
    APPLIED,
    BREAK,
    BUSY,
    CONTROL,
    FRAME,
    MISSED,
    OVERFLOW,
    PULSE,
    QUEUE,
    REFUSED,
    RESPONDER,
    TRAIN,
    TRAIN_CHANGE,
    TTY,
    Adjust,
    Echo,
    Filters,
    Grant,
    Launch,
    Profile,
    QueueEntry,
    Responder,
    Steps,
    Train,
    arbitrate,
    capture,
    driver_wave,
    filter_delay,
    gaps,
    line_wave,
    normal,
    queue_fates,
    receive,
    same_list,
    shifted,
    switched,
    union,
)
from sim.long_runs import LONG

SLACK = CONSTANTS["BEST_EFFORT_SLACK"] * S
MINIMUM = CONSTANTS["TRAIN_MIN_PERIOD"] * S
RESPONSE = CONSTANTS["RESPONSE_MIN_CYCLES"] * S
REPORT = 24  # cycles in which a launch is reported, whatever else is
CONDITIONING = 2 if S > 1 else 0  # cycles from a sample's arrival to where edges are looked for
OUTPUT = sum(latencies(PHY))  # cycles from the samples that arrive to what is decided about the pins
LENGTH = 20_000 if FAST else 5_000  # cycles of a scene


def spans(wave):
    """[start, end) of level 1."""
    ticks = [t for t, _ in normal(wave)[1:]]
    return list(zip(ticks[::2], ticks[1::2]))


class Scene:
    """Chosen by a seed; run on a bench; judged by the model."""

    def __init__(self, seed):
        self.rng = rng = random.Random(seed)
        self.clocks = rng.choice(sorted(CLOCKS))
        self.profiles = [self.format(k) for k in range(4)]
        self.lead, self.lag = rng.choice(
            ((0, 0), (rng.randrange(30 * S), rng.randrange(60 * S)), (rng.randrange(400 * S), rng.randrange(60 * S)))
        )
        # While a train runs its lead stays: in some scenes it ends half way.
        self.half = rng.random() < 0.5
        self.longest_lead = max(self.lead, rng.choice((0, rng.randrange(60 * S), rng.randrange(400 * S)))) if self.half else self.lead
        self.longest = rng.choice((1, min(6 * S, 63), 63))  # of the filter, in this scene
        self.filter = self.a_filter() if rng.random() < 0.7 else (0, 1)
        self.tail = self.a_tail()
        self.rise, self.fall = rng.getrandbits(INPUTS + 1) | 1, rng.getrandbits(INPUTS + 1) | 1
        # A slow bus cannot carry away everybody's edges.
        self.edge_limits = (3, 1) if CLOCKS[self.clocks][0] > 4000 else ((1 << INPUTS + 1) - 1,) * 2
        self.rise &= self.edge_limits[0]
        self.fall &= self.edge_limits[1]
        # Settings over time, in cycles in which the core answered their words.
        self.rises, self.falls, self.recorded, self.lags = Steps(self.rise), Steps(self.fall), Steps(1), Steps(self.lag)
        self.leads, self.train_runs, self.stopping = Steps(self.lead), True, False
        self.loop, self.receiving, self.formats = Steps(0), Steps(1), [Steps(profile) for profile in self.profiles]
        self.filters, self.tails, self.echo_words = Filters(S, *self.filter), Steps(-(-self.tail // S)), []
        self.switches = []  # cycles in which the loopback was switched
        self.rests = Steps(1)  # level of the line at rest, in cycles of the pin

    def format(self, k):
        """Profile k, at random."""
        rng = self.rng
        return Profile(
            Fraction(rng.randrange(4 * S * 256, 12 * S * 256), 256),
            rng.choice((5, 6, 7, 8)),
            rng.choice(("none", "odd", "even", "mark", "space")),
            rng.choice((Fraction(1), Fraction(3, 2), Fraction(2))),
            (k > 0 or PHY in ("generic", "model")) and rng.random() < 0.3,
        )

    def a_filter(self):
        """Channels and length."""
        return self.rng.getrandbits(INPUTS + 1), self.rng.randrange(1, self.longest + 1)

    def a_tail(self):
        """Ticks; most are short, or all that is received would be our own."""
        return self.rng.choice((0, 1, self.rng.randrange(20 * S), self.rng.randrange(1023 * S + 1)))

    def launch(self):
        rng = self.rng
        index = rng.randrange(4)
        kind = rng.choice((FRAME, FRAME, BREAK, PULSE, PULSE))
        return Launch(
            kind,
            self.profiles[index],
            rng.randrange(1, 6) if kind == BREAK else rng.getrandbits(8),
            rng.choice((1, 2, S, S + 1, rng.randrange(1, 150 * S))) if kind == PULSE else rng.randrange(1000),
            index,
        )

    async def run(self, dut):
        rng = self.rng
        self.bench = bench = await Bench.start(dut, self.clocks)
        bench.random = rng
        await bench.record()
        for k, profile in enumerate(self.profiles):
            assert await bench.profile(k, profile)
            if k == 0:
                self.set_rest()
        await bench.config("driver_enable", lead=self.lead, lag=self.lag)
        await bench.filter(*self.filter)
        assert await bench.echo(self.tail)
        await bench.config("capture_edges", rise=self.rise, fall=self.fall)
        await bench.config("line", rx_enable=1)
        self.responders, self.refused_words = [], 0
        await self.set_responder()
        bench.drain_start(rng.randrange(5, 60))
        shot = self.launch()
        whole = max(shot.length + rng.randrange(4 * S, 300 * S), MINIMUM + self.lead)
        den = rng.choice((1, 7, 29, 147, 1 << 32))
        start = bench.ahead_train() + self.lead
        self.train = Train(start, whole, rng.randrange(den), den, 0, shot)
        await bench.train_words(whole, self.train.first.num, den, shot, start)
        assert await bench.train_start()
        while not bench.select(APPLIED, TRAIN_CHANGE):
            await bench.cycles(10)
        self.begin, self.end = bench.now + 200 * S, start + LENGTH * S
        self.train_end = start + (LENGTH // 2 * S if self.half else LENGTH * S)
        tasks = [cocotb.start_soon(t) for t in (self.queue(), self.bytes(), self.inputs(), self.changes(), self.stranger())]
        tasks += [cocotb.start_soon(self.settings())] if PHY in ("generic", "model") else []
        for task in tasks:
            await task
        self.lag = max(value for _, value in self.lags.steps)
        await bench.cycles(int(40 * 12) + self.lag // S + 400)
        # Whatever bytes are left get their chance, now that nothing is in their way.
        while not bench.status("tx_idle"):
            await bench.cycles(200)
        await bench.cycles(400 + self.lag // S)
        await bench.drain_stop()

    async def queue(self):
        rng, bench = self.rng, self.bench
        self.entries, row = [], self.begin  # row: the tick by which the queue has done with those before
        while row < self.end:
            # Plenty ahead of its tick, and after the one before it.
            tick = max(row + rng.randrange(SPACE, 7 * SPACE), bench.ahead(12)) + self.longest_lead
            entry = QueueEntry(tick, self.launch(), len(self.entries) & 0xFFFF)
            before = self.entries[-1].tick if self.entries else ALWAYS
            if rng.random() < 0.05 and self.entries:
                entry.tick = max(0, before - rng.randrange(1, 2000 * S))
            if rng.random() < 0.05:
                entry.launch = Launch(BREAK, self.profiles[0], 0)
            self.entries.append(entry)
            await bench.launch(entry.tick, entry.launch, entry.tag)
            # One out of order is refused when its turn comes, which takes a while.
            row = max(row, bench.now) + SPACE if entry.tick < before else tick
            while int(bench.dut.lq_free.value) < 50:
                await bench.sys_cycles(50)

    async def bytes(self):
        rng, bench = self.rng, self.bench
        self.data = []
        while bench.now < self.end:
            some = [rng.getrandbits(8) for _ in range(rng.randrange(1, 6))]
            if int(bench.dut.tx_free.value) > 100:
                await bench.send(some)
                self.data += [(bench.now, b) for b in some]
            await bench.cycles(rng.randrange(50, 1200))

    async def inputs(self):
        """Channel 0 triggers the responder; all at random."""
        rng, bench = self.rng, self.bench
        self.waves = [[(ALWAYS, 0)] for _ in range(INPUTS)]
        tick, level = bench.now + 60 * S, 0
        others, events = [bench.now + 60 * S] * INPUTS, []
        while tick < self.end:
            level ^= 1
            events.append((tick, 0, level))
            tick += rng.choice((1, S, rng.randrange(1, 70), rng.randrange(20 * S, 900 * S), rng.randrange(20 * S, 300 * S)))
        for channel in range(1, INPUTS):
            level, at = 0, others[channel] + rng.randrange(50 * S)
            while at < self.end:
                level ^= 1
                events.append((at, channel, level))
                glitch = rng.choice((1, 2, rng.randrange(1, self.longest + 16 * S), rng.randrange(1, 20 * S)))
                at += rng.choice((glitch, rng.randrange(20 * S, 600 * S), rng.randrange(20 * S, 600 * S)))
        for at, channel, level in sorted(events):
            self.waves[channel].append((at, level))
        await bench.play_aux(sorted(events))

    async def stranger(self):
        """Frames of profile 0 from outside, and the line's edges with them."""
        rng, bench = self.rng, self.bench
        tick, grants = bench.now + 80 * S, []
        while tick < self.end:
            grants.append(Grant(tick, Launch(FRAME, self.profiles[0], rng.getrandbits(8)), 0, 0))
            await bench.play("rx_drive", line_wave(grants[-1:])[1:], rng)
            tick = max(grants[-1].end + rng.choice((0, rng.randrange(900 * S))), bench.now + 2)
        self.line = line_wave(grants)

    async def settings(self):
        """Words that change something, each at any moment; when the core answered it says what has to happen when."""
        rng, bench = self.rng, self.bench
        changes = (
            self.set_edges,
            self.set_recorded,
            self.set_line,
            self.set_driver_enable,
            self.set_profile,
            self.set_responder,
            self.set_filter,
            self.set_echo,
        )
        while bench.now < self.end:
            await bench.cycles(rng.choice((rng.randrange(1, 60), rng.randrange(1, 1500))))
            await rng.choice(changes)()

    async def set_edges(self):
        rise, fall = (self.rng.getrandbits(INPUTS + 1) & limit for limit in self.edge_limits)
        await self.bench.config("capture_edges", rise=rise, fall=fall)
        self.rises.set(self.bench.answered(), rise)
        self.falls.set(self.bench.answered(), fall)

    async def set_recorded(self):
        edge = int(self.rng.random() < 0.8)
        await self.bench.record(*(f.name for f in regmap.config("event_mask").fields if edge or f.name != "edge"))
        self.recorded.set(self.bench.answered(), edge)

    async def set_line(self):
        loopback, rx_enable = int(self.rng.random() < 0.4), int(self.rng.random() < 0.8)
        await self.bench.config("line", loopback=loopback, rx_enable=rx_enable)
        if loopback != self.loop.steps[-1][1]:
            self.switches.append(self.bench.answered())
        self.loop.set(self.bench.answered(), loopback)
        self.receiving.set(self.bench.answered(), rx_enable)

    async def set_driver_enable(self):
        rng = self.rng
        lag = rng.choice((0, 1, rng.randrange(8 * S), rng.randrange(600 * S)))
        if not self.stopping and rng.random() < 0.2:
            # The train keeps its lead: such a word is refused as a whole.
            await self.bench.config("driver_enable", lead=self.lead + 1, lag=lag)
            self.refused_words += 1
            return
        lead = self.lead if self.train_runs else rng.choice((0, self.lead, rng.randrange(self.longest_lead + 1)))
        await self.bench.config("driver_enable", lead=lead, lag=lag)
        self.lags.set(self.bench.answered(), lag)
        self.leads.set(self.bench.answered(), lead)

    async def set_filter(self):
        mask, length = self.a_filter()
        before = self.filters.words.steps[-1][1]
        # Often only one of both changes, or nothing.
        self.filter = self.rng.choice(((mask, length), (before[0], length), (mask, before[1]), before))
        await self.bench.filter(*self.filter)
        self.filters.set(self.bench.answered() + FILTER, *self.filter)
        self.echo_words.append(self.bench.answered())

    async def set_echo(self):
        self.tail = self.a_tail()
        await self.bench.echo(self.tail)
        self.tails.set(self.bench.answered(), -(-self.tail // S))
        self.echo_words.append(self.bench.answered())

    async def set_responder(self):
        rng = self.rng
        rise, fall = rng.choice(((1, 0), (0, 1), (1, 1)))
        more = rng.choice((0, rng.randrange(20 * S), rng.randrange(200 * S)))
        holdoff = rng.choice((0, rng.randrange(40 * S), rng.randrange(300 * S)))
        rearm = int(rng.random() < 0.8)
        entry = Responder(self.launch(), RESPONSE + filter_delay(self.longest, S) * S + self.longest_lead + more, bool(rearm), holdoff)
        cycles = await self.bench.responder(entry.launch, entry.delay, holdoff, trigger=1, channel=0, rise=rise, fall=fall, rearm=rearm)
        self.responders.append((entry, rise, fall, *cycles))

    def answers(self):
        """What the responder does: a trigger counts from the cycle of the answer that armed it on; when it is disarmed, what is decided
        is carried out first."""
        edges = self.filters.edges(0, self.waves[0])
        missed, out, self.cancelled = {r.tick for r in self.bench.select(MISSED)}, [], []
        for (entry, rise, fall, _, armed), following in zip(self.responders, [*self.responders[1:], None]):
            triggers = [
                (t, shown // S)
                for t, level, shown in edges
                if (rise if level else fall) and (armed is None or shown // S + CONDITIONING >= armed)
            ]
            for grant in entry.answers(triggers, S, CONSTANTS["RESPONSE_REST"], missed):
                done = following is None or grant.tick // S < following[3] + OUTPUT - 8
                (out if done else self.cancelled).append(grant)
        return out

    async def set_profile(self):
        k = self.rng.randrange(4)
        profile = self.format(k)
        await self.bench.profile(k, profile)
        self.formats[k].set(self.bench.answered(), profile)
        self.profiles[k] = profile
        if k == 0:
            self.set_rest()

    def set_rest(self):
        """Profile 0 was written."""
        if self.rests.steps[-1][1] != self.profiles[0].idle:
            self.rests.set(self.bench.answered() + OUTPUT - 1, self.profiles[0].idle)

    def resting(self):
        """The waveform of the levels at rest."""
        return [(max(ALWAYS, cycle * S), level) for cycle, level in self.rests.steps]

    def as_launched(self, grant):
        """A launch takes its profile as it is when it begins."""
        launch, cycle = grant.launch, grant.tick // S - OUTPUT
        if launch.kind == PULSE and (grant.tick + launch.width) // S == grant.tick // S:
            cycle -= 1
        return grant._replace(launch=replace(launch, profile=self.formats[launch.index].at(cycle)))

    def received(self, line, granted):
        """The bytes that the receiver takes from its line: while it is on, and between two writes of profile 0."""
        delays, changes = self.filters.delays(LINE), [cycle - CONDITIONING for cycle in self.echo_words]
        moves = [cycle - 1 for cycle in self.switches] + [cycle - (S > 1) for cycle, _ in self.rests.steps[1:]]
        echo = Echo(granted, S, self.tails.later(-CONDITIONING), delays, changes, moves)
        off = [(begin, end) for begin, end, on in self.receiving.spans() if not on]
        off += [(begin - 1, begin + 1) for begin, _, _ in self.formats[0].spans()[1:]]
        out, since, shown = [], None, self.filters.shown(LINE, line)
        for begin, end in [*sorted(off, key=lambda span: span[0]), (None, None)]:
            if begin is None or since is None or begin > since:
                profile = self.formats[0].at(ALWAYS if since is None else since)
                until = None if begin is None else begin - 1 - CONDITIONING
                for byte in receive(shown, profile, S, None, until, None if since is None else since + 1 - CONDITIONING):
                    cycle = byte.tick // S
                    out.append(byte._replace(tick=byte.tick - delays.at(cycle) * S, own=echo.own(cycle, byte.stored // S)))
            if end is None:
                break
            since = end if since is None else max(since, end)
        return out

    async def changes(self):
        """Of the train, and its stop."""
        rng, bench = self.rng, self.bench
        self.asked = []
        while bench.now < self.train_end - 2000 * S:
            await bench.cycles(rng.randrange(400, 2500))
            passed = len(self.train.pulses(until=bench.now))
            n = rng.choice((0, passed + 1, passed + rng.randrange(2, 12)))
            first = self.train.first
            period = Fraction(first.whole) + rng.choice((Fraction(0), Fraction(rng.randrange(5), 5)))
            whole, num, den = int(period) + rng.randrange(9), (period % 1).numerator, (period % 1).denominator
            step = rng.choice((0, 1, -1, 5 * S, rng.randrange(100 * S)))
            known = len(bench.select(APPLIED, TRAIN_CHANGE)) + len(bench.select(REFUSED, TRAIN_CHANGE))
            await bench.train_words(whole, num, den)
            await bench.train_adjust(n, step)
            for _ in range(10_000):
                answers = [r for r in bench.events if r.source == TRAIN_CHANGE and r.kind in (APPLIED, REFUSED)]
                if len(answers) > known:
                    break
                await bench.cycles(20)
            answer = answers[known]
            if answer.kind == APPLIED:
                assert answer.data == n or n == 0
                self.train.adjust(Adjust(answer.data, whole, num, den, step))
            self.asked.append(answer)
        await bench.until(self.train_end)
        self.stopping = True
        await bench.train_stop()
        while bench.status("train_running"):
            await bench.cycles(20)
        self.train_runs = False

    def waited_for(self, launches):
        """Those that may be waited for when the lead changes, and so may miss it: of each source what was decided meanwhile, and the first
        one behind it."""
        out = set()
        for (_, before), (cycle, lead) in zip(self.leads.steps, self.leads.steps[1:]):
            if lead == before:
                continue
            for source in (QUEUE, RESPONDER, TTY):
                ticks = sorted(grant.tick for grant in launches if grant.source == source and grant.tick >= cycle * S)
                decided = sum(tick < (cycle + OUTPUT) * S for tick in ticks)
                out |= {(source, tick) for tick in ticks[: decided + 1]}
        return out

    def judge(self):
        bench = self.bench
        assert sum(r.data for r in bench.select(OVERFLOW)) < 20, "meant to be read in time"
        stop = [r for r in bench.select(APPLIED, TRAIN_CHANGE) if r.flags & 0x80]
        assert len(stop) == 1
        queue = queue_fates(self.entries)
        assert not [r for r in bench.select(REFUSED, QUEUE) if r.flags == 1], "none was meant to be late"
        answers = self.answers()
        train = self.train.pulses(stop=stop[0].data)
        tty = [Grant(r.tick, Launch(FRAME, self.profiles[0], r.data), TTY, n) for n, r in enumerate(bench.select(1, TTY))]
        tty = [self.as_launched(grant) for grant in tty]
        granted, refused = arbitrate([self.as_launched(grant) for grant in [*queue, *train, *answers]], tty)
        # Records.
        bench.check_launches(granted, refused)
        same_list(
            "refused by the queue",
            [(r.flags, r.data) for r in bench.select(REFUSED, QUEUE) if r.flags != BUSY],
            [(e.fate, e.tag << 16 | e.launch.word()) for e in self.entries if e.fate is not None],
        )
        assert not [r for r in bench.select(MISSED) if r.flags != BUSY]
        same_list("bytes sent", [g.launch.data for g in tty], [b for _, b in self.data])
        # Timed beats best-effort: only a launch that could not be known when the byte started may find it in its way.
        for grant in refused:
            blocker = next(g for g in granted if g.tick <= grant.tick < g.end)
            assert blocker.source != TTY or grant.source == RESPONDER, f"{blocker} was in the way of {grant}"
        prepared = [
            (r.tick, r.tick + ((REPORT + LMIN) * S if r.source == QUEUE else MINIMUM)) for r in bench.events if r.source in (QUEUE, TRAIN)
        ]
        delay = max(entry[0].delay for entry in self.responders)
        counting = [(t, t + delay) for t, _ in self.waves[0][1:]]
        free = min(g.tick for g in granted)
        sent = iter(tty)
        upcoming = next(sent, None)
        length = max(Launch(FRAME, profile, 0).length for _, profile in self.formats[0].steps)
        # A byte's length is counted anew.
        prepared += [(cycle * S, (cycle + 40) * S) for cycle, _ in self.formats[0].steps[1:]]
        # A byte's lead is counted anew, too; and the stop of a train holds bytes back.
        prepared += [(cycle * S, (cycle + 40) * S + self.longest_lead) for cycle, _ in self.leads.steps[1:]]
        for a, b in gaps(granted, self.end):
            if a <= stop[0].tick <= b:
                continue
            while upcoming is not None and upcoming.tick < a:
                upcoming = next(sent, None)
            if upcoming is None or a < free:
                continue
            ready = max(a, self.data[upcoming.name][0] + 40 * max(8000, bench.sys_period) // (8000 // S))
            for x, y in counting:
                if x <= b and y >= ready:
                    ready = b
            # While the next of queue or train is being prepared nothing starts.
            ready = max([ready, *(until for tick, until in prepared if tick < b)])
            assert b - ready < length + self.longest_lead + SLACK + 8 * S, f"a byte had room in [{ready}, {b})"
        # Pins.
        edges = bench.check_line(granted, self.resting())
        # A byte held back while its lead runs, or just as it has run out, takes the lead back, and so does a response that is cancelled;
        # what is waited for when the lead changes may miss it, or have another one, once. All else about `de` is exact.
        leads, waited_for = self.leads.later(OUTPUT), self.waited_for([*granted, *refused])

        def lead(grant):
            return 0 if (grant.source, grant.tick) in waited_for else leads.at(grant.tick // S)

        seen, wanted = (spans(w) for w in (bench.wave("de"), driver_wave(granted, lead, self.lags.later(OUTPUT), S)))
        more = spans(union(seen + wanted))
        missing = [span for span in more if span not in seen]
        assert not missing, f"de is not high where it should be: {missing[:3]}"
        uncertain = [grant.tick for grant in self.cancelled] + [tick for _, tick in waited_for]
        margin = 200 * max(8000, bench.sys_period) // (8000 // S)  # by which a byte is there before its write is noted
        waiting = [(written - margin, grant.tick) for (written, _), grant in zip(self.data, tty)]
        for a, b in seen:
            inside = [(a, a), *(w for w in wanted if a <= w[0] and w[1] <= b), (b, b)]
            for begin, end in ((before[1], after[0]) for before, after in zip(inside, inside[1:])):
                count = sum(begin <= tick and tick - self.longest_lead < end for tick in uncertain)
                count += any(written < end and begin <= sent for written, sent in waiting)
                assert end - begin <= count * self.longest_lead, f"de is high in [{begin}, {end})"
        edges += 2 * len(wanted)
        # Inputs.
        line = switched((self.line, shifted(line_wave(granted, self.resting()), 1)), self.loop, S)
        expected = capture(
            [*self.waves, line],
            S,
            self.rises.later(-CONDITIONING),
            self.falls.later(-CONDITIONING),
            self.filters,
            recorded=self.recorded.later(-CONDITIONING - 1),
        )
        bench.check_edges(expected)
        received = self.received(line, granted)
        assert len(received) == len(bench.bytes), (len(received), len(bench.bytes))
        for byte, want in zip(bench.bytes, received):
            assert want.key == byte.key, (byte, want)
        same_list(
            "words refused",
            [(r.flags, r.data) for r in bench.select(REFUSED, CONTROL)],
            [(BUSY, regmap.config("driver_enable").index)] * self.refused_words,
        )
        bench.check_sequence()
        kinds = {(g.source, g in refused) for g in [*granted, *refused]}
        return edges + len(bench.events) + len(received), kinds


@cocotb.test()
async def test_random_scenes(dut):
    """All promises at once."""
    kinds = set()
    for number in range(20 if LONG else 2 if FAST else 1):
        seed = SEED + number
        dut._log.info("scene with seed %d", seed)
        scene = Scene(seed)
        await scene.run(dut)
        checks, more = scene.judge()
        kinds |= more
        figure("all", f"random scene {number}", checks)
    assert {(QUEUE, False), (TRAIN, False), (RESPONDER, False), (TTY, False)} <= kinds, kinds
    assert not FAST or {(QUEUE, True), (TRAIN, True)} <= kinds, kinds
