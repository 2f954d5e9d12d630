# SPDX-License-Identifier: BSD-2-Clause
"""Constrained-random scenes with all sources at once, and settings that change meanwhile, against the model. The seed is in the log and in
the figures."""

import random
from dataclasses import dataclass, replace
from fractions import Fraction

import cocotb

from litex_soc import regmap
from sim.core.bench import CLOCKS, CONSTANTS, FAST, FILTER, INPUTS, LINE, LMIN, PHY, PORT, SEED, SPACE, Bench, S, figure, latencies
from sim.core.model import (
    ALWAYS,
    APPLIED,
    BREAK,
    BUSY,
    CONTROL,
    FRAME,
    MISSED,
    NEVER,
    OVERFLOW,
    PULSE,
    QUEUE,
    REFUSED,
    RESPONDER,
    TRAIN,
    TRAIN_CHANGE,
    TTY,
    TX,
    Adjust,
    Echo,
    Filters,
    Grant,
    Launch,
    Profile,
    QueueEntry,
    Received,
    Responder,
    Steps,
    Train,
    arbitrate,
    arbitrate_marks,
    capture,
    driver_wave,
    edges,
    filter_delay,
    gaps,
    level_at,
    line_wave,
    normal,
    port_wave,
    queue_fates,
    receive,
    same_list,
    shifted,
    switched,
    union,
)
from sim.long_runs import LONG

SLACK = CONSTANTS["BEST_EFFORT_SLACK"] * S
MINIMUM, FASTEST = CONSTANTS["CHANGE_MIN_PERIOD"] * S, CONSTANTS["TRAIN_MIN_PERIOD"] * S
ON_EDGE, ON_BYTE, ON_BREAK = 1, 2, 3  # triggers of the responder
BURST_MIN = CONSTANTS["BURST_MIN_CYCLES"] * S
RESPONSE = {ON_EDGE: "RESPONSE_MIN_CYCLES", ON_BYTE: "RESPONSE_MIN_BYTE", ON_BREAK: "RESPONSE_MIN_BREAK"}
RESPONSE = {trigger: CONSTANTS[name] * S for trigger, name in RESPONSE.items()}
DISARMED = 18  # cycles and more between the words that disarm and arm the responder; stop bits of a frame are shorter
REPORT = 24  # cycles in which a launch is reported, whatever else is
CONDITIONING = 2 if S > 1 else 0  # cycles from a sample's arrival to where edges are looked for
OUTPUT = sum(latencies(PHY))  # cycles from the samples that arrive to what is decided about the pins
RECOGNISED = 1 if S == 1 else 2  # cycles from the one that shows the end of a byte or a break to that in which it triggers
LENGTH = 20_000 if FAST else 5_000  # cycles of a scene


@dataclass(frozen=True)
class Setting:
    """The responder as it is armed once: what it answers, how, and to what."""

    entry: Responder
    trigger: int
    channel: int
    rise: int
    fall: int
    ignore_own: int
    value: int
    mask: int
    disarmed: int | None  # the cycles in which the first and the last of its words were answered
    armed: int | None


@dataclass(frozen=True)
class Trigger:
    """Something that the responder may answer: the tick that it counts from, the cycle in which it is recognised."""

    tick: int
    cycle: int
    kind: int
    value: int = 0  # the byte; of an edge its channel and its level
    own: int = 0


def spans(wave):
    """[start, end) of level 1."""
    ticks = [t for t, _ in normal(wave)[1:]]
    return list(zip(ticks[::2], ticks[1::2]))


class Scene:
    """Chosen by a seed; run on a bench; judged by the model."""

    def __init__(self, seed):
        self.rng = rng = random.Random(seed)
        self.clocks = rng.choice(sorted(CLOCKS))
        self.fast = seed % 3 == 0  # the train is one that only stops
        # In some scenes the frames of profile 3 are marks.
        self.marks, self.mark_width = PORT and seed % 2 == 0, rng.choice((0, 1, S + 1, rng.randrange(1, 400 * S)))
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
        self.named, self.xoff = None, 0  # the level at rest as the word `line` names it; XOFF
        self.held = Steps(0)  # bytes are held back, in cycles in which the core answered what says so
        self.turned = []  # cycles of the pin in which profile 0's polarity changed while the word `line` names the level
        self.idle = 1  # by profile 0
        self.next_triggers = []

    def format(self, k):
        """Profile k, at random."""
        rng = self.rng
        return Profile(
            Fraction(rng.randrange(4 * S * 256, 12 * S * 256), 256),
            rng.choice((5, 6, 7, 8)),
            rng.choice(("none", "odd", "even", "mark", "space")),
            rng.choice((Fraction(1), Fraction(3, 2), Fraction(2))),
            (k > 0 or PHY in ("generic", "model")) and rng.random() < 0.3,
            k == 3 and self.marks,
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
        self.bench = bench = await Bench.start(dut, self.clocks, watch=("tx", "de", "port"))
        bench.random = rng
        await bench.record()
        for k, profile in enumerate(self.profiles):
            assert await bench.profile(k, profile)
            if k == 0:
                self.set_rest()
        if PORT:
            assert await bench.config("port", width=self.mark_width)
        await bench.config("driver_enable", lead=self.lead, lag=self.lag)
        await bench.filter(*self.filter)
        assert await bench.echo(self.tail)
        await bench.config("capture_edges", rise=self.rise, fall=self.fall)
        await bench.config("line", rx_enable=1)
        self.responders, self.refused_words = [], 0
        await self.set_responder(ON_EDGE, 0)
        bench.drain_start(rng.randrange(5, 60))
        shot = self.launch()
        whole = max(shot.length + rng.randrange(4 * S, 300 * S), MINIMUM + self.lead)
        if self.fast:
            whole = rng.randrange(FASTEST, MINIMUM) + self.lead
            shot = Launch(PULSE, self.profiles[1], 0, rng.randrange(1, FASTEST // 2), 1)
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
        """Frames and breaks of profile 0 from outside, and the line's edges with them."""
        rng, bench = self.rng, self.bench
        tick, grants = bench.now + 80 * S, []
        while tick < self.end:
            launch = Launch(FRAME, self.profiles[0], rng.getrandbits(8))
            if rng.random() < 0.25:
                launch = Launch(BREAK, self.profiles[0], rng.randrange(9, 15))
            grants.append(Grant(tick, launch, 0, 0))
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
            self.set_responder,
            self.set_filter,
            self.set_echo,
        )
        while bench.now < self.end:
            await bench.cycles(rng.choice((rng.randrange(1, 60), rng.randrange(1, 1500))))
            await rng.choice(changes)()
        # Bytes drain, and nothing answers itself forever.
        self.named, self.xoff = None, 0
        await self.write_line(self.loop.steps[-1][1], self.receiving.steps[-1][1])
        await self.set_responder(ON_EDGE, 0)

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
        rng = self.rng
        if rng.random() < 0.5:
            self.named = rng.choice((None, 0, 1))
        self.xoff = int(rng.random() < 0.2)
        await self.write_line(int(rng.random() < 0.4), int(rng.random() < 0.8))

    async def write_line(self, loopback, rx_enable):
        """The word `line`, with the level at rest and XOFF as they are now."""
        rest, level = int(self.named is not None), int(bool(self.named))
        await self.bench.config("line", loopback=loopback, rx_enable=rx_enable, hold_tty=self.xoff, rest=rest, rest_level=level)
        at = self.bench.answered()
        if loopback != self.loop.steps[-1][1]:
            self.switches.append(at)
        self.loop.set(at, loopback)
        self.receiving.set(at, rx_enable)
        self.rest_changes(at, OUTPUT + 2)

    def rest_level(self):
        """The level of the line at rest."""
        return self.profiles[0].idle if self.named is None else self.named

    def rest_changes(self, answered, later):
        """The level at rest was written, or profile 0: the line shows it `later` cycles behind the
        answer. A byte is held back while its start bit has no edge, too."""
        if self.rests.steps[-1][1] != self.rest_level():
            self.rests.set(answered + later, self.rest_level())
        held = int(self.xoff or self.rest_level() != self.profiles[0].idle)
        if held != self.held.steps[-1][1]:
            self.held.set(answered, held)

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

    async def set_responder(self, trigger=None, channel=None):
        """Each kind of trigger in turn, of the line or of input 0, or the one that is named."""
        rng = self.rng
        if trigger is None:
            self.next_triggers = self.next_triggers or rng.sample((ON_EDGE, ON_BYTE, ON_BYTE, ON_BREAK), 4)
            trigger = self.next_triggers.pop()
            channel = rng.choice((0, LINE))
        rise, fall = rng.choice(((1, 0), (0, 1), (1, 1)))
        more = rng.choice((0, rng.randrange(20 * S), rng.randrange(200 * S)))
        holdoff = rng.choice((0, rng.randrange(40 * S), rng.randrange(300 * S)))
        burst = rng.choice((0, 0, 1, rng.randrange(1, 7)))
        if burst:
            holdoff += BURST_MIN + self.longest_lead
        rearm, ignore_own = int(rng.random() < 0.8), rng.randrange(2)
        value, mask = rng.getrandbits(8), rng.choice((0, 0, 1, 0x24))
        delay = RESPONSE[trigger] + filter_delay(self.longest, S) * S + self.longest_lead + more
        entry = Responder(self.launch(), delay, bool(rearm), holdoff, burst + 1)
        options = {
            "trigger": trigger,
            "channel": channel,
            "rise": rise,
            "fall": fall,
            "rearm": rearm,
            "ignore_own": ignore_own,
            "burst": burst,
        }
        disarmed, armed = await self.bench.responder(entry.launch, entry.delay, holdoff, (value, mask), **options)
        # Else a byte could be compared before it is armed, and end behind that.
        assert armed is None or armed - disarmed > DISARMED
        self.responders.append(Setting(entry, trigger, channel, rise, fall, ignore_own, value, mask, disarmed, armed))

    def in_force(self):
        """[(setting, tick from which no launch is its own any more)]: what is decided is carried out before it is disarmed."""
        ends = [None if other.disarmed is None else (other.disarmed + OUTPUT - 8) * S for other in self.responders[1:]]
        return list(zip(self.responders, [*ends, NEVER]))

    def responses(self):
        """The responder's launches by their records. What triggers them is judged by what they put on the line: each counts from something
        before it, so only one row of them agrees with itself."""
        out = []
        for number, record in enumerate(self.bench.select(TX, RESPONDER)):
            setting = next(setting for setting, end in self.in_force() if record.tick < end)
            out.append(Grant(record.tick, setting.entry.launch, RESPONDER, number))
        return out

    def answers(self, triggers):
        """What the responder does: a trigger counts from the cycle of the answer that armed it on; when it is disarmed, what is decided
        is carried out first."""
        missed, out, self.cancelled, self.counted = {r.tick for r in self.bench.select(MISSED)}, [], [], []
        self.in_bursts = []  # launches behind the first of one
        for setting, end in self.in_force():
            mine = [
                (t.tick, t.cycle)
                for t in triggers
                if t.kind == setting.trigger
                and (setting.armed is None or t.cycle + CONDITIONING >= setting.armed)
                and not (t.own and setting.ignore_own)
                and (t.kind != ON_EDGE or t.value in {(setting.channel, level) for level in (0, 1) if (setting.fall, setting.rise)[level]})
                and (t.kind != ON_BYTE or (t.value ^ setting.value) & setting.mask == 0)
            ]
            entry = setting.entry
            for grant in entry.answers(mine, S, CONSTANTS["RESPONSE_REST"], missed):
                (out if grant.tick < end else self.cancelled).append(grant)
                first = entry.pulses == 1 or grant.name == 0
                self.in_bursts += [] if first else [grant]
                self.counted.append((grant.tick - (entry.delay if first else entry.holdoff), grant.tick, setting.trigger))
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
        at = self.bench.answered()
        if self.named is not None and self.idle != self.profiles[0].idle:
            self.turned.append(at + OUTPUT - 1)
        self.idle = self.profiles[0].idle
        self.rest_changes(at, OUTPUT - 1)

    def resting(self):
        """The waveform of the levels at rest."""
        return [(max(ALWAYS, cycle * S), level) for cycle, level in self.rests.steps]

    def as_launched(self, grant):
        """A launch takes its profile as it is when it begins."""
        launch, cycle = grant.launch, grant.tick // S - OUTPUT
        if launch.kind == PULSE and (grant.tick + launch.width) // S == grant.tick // S:
            cycle -= 1
        return grant._replace(launch=replace(launch, profile=self.formats[launch.index].at(cycle)))

    def echo(self, granted):
        """What the line shows of our own, in cycles as they are shown."""
        changes = [cycle - CONDITIONING for cycle in self.echo_words]
        moved = sorted({cycle for cycle, _ in self.rests.steps[1:]} | set(self.turned))
        moves = sorted([cycle - 1 for cycle in self.switches] + [cycle - (S > 1) for cycle in moved])
        return Echo(granted, S, self.tails.later(-CONDITIONING), self.filters.delays(LINE), changes, moves)

    def heard(self, line, echo):
        """The bytes that the receiver takes from its line while it is on, and between two writes of profile 0: [(byte in ticks as it is
        shown, its profile, the last cycle in which the receiver is on)]."""
        off = [(begin, end) for begin, end, on in self.receiving.spans() if not on]
        off += [(begin - 1, begin + 1) for begin, _, _ in self.formats[0].spans()[1:]]
        out, since, shown = [], None, self.filters.shown(LINE, line)
        for begin, end in [*sorted(off, key=lambda span: span[0]), (None, None)]:
            if begin is None or since is None or begin > since:
                profile = self.formats[0].at(ALWAYS if since is None else since)
                until = NEVER if begin is None else begin - 1 - CONDITIONING
                bytes_ = receive(shown, profile, S, None, until, None if since is None else since + 1 - CONDITIONING)
                out += [(byte._replace(own=echo.own(byte.tick // S, byte.stored // S)), profile, until) for byte in bytes_]
            if end is None:
                break
            since = end if since is None else max(since, end)
        return out

    def records(self, heard):
        """The bytes as they are recorded."""
        delays = self.filters.delays(LINE)
        return [byte._replace(tick=byte.tick - delays.at(byte.tick // S) * S) for byte, _, _ in heard]

    def triggers(self, line, heard, echo):
        """[Trigger] in the order in which they are recognised: edges of input 0 and of the line, bytes, breaks."""
        out, delays, shown, groups = [], self.filters.delays(LINE), self.filters.shown(LINE, line), self.filters.groups()
        for channel, wave in ((0, self.waves[0]), (LINE, line)):
            for tick, level, at in self.filters.edges(channel, wave):
                own = channel == LINE and echo.own(at // S, at // S - 1)
                quick = CONDITIONING if channel != LINE and not groups.at(at // S)[0] >> channel & 1 else 0
                out.append(Trigger(tick, at // S - quick, ON_EDGE, (channel, level), own))

        def behind(end, kind, **of):
            cycle = end // S + RECOGNISED
            out.append(Trigger(end - delays.at(cycle - (S > 1)) * S, cycle, kind, **of))

        for byte, profile, until in heard:
            bits = profile.frame_bits * Fraction(profile.period)
            # whole cycles are counted from that of the start edge; the samples may add up to one more
            if not (byte.parity_error or byte.framing_error) and byte.tick // S + int(bits) // S <= until:
                behind(byte.tick + int(bits), ON_BYTE, value=byte.data & 0xFF, own=byte.own)
            if byte.is_break:
                mark = self.mark(shown, profile, byte)
                if mark is not None and mark // S <= until:
                    behind(mark, ON_BREAK, own=echo.own(byte.tick // S, mark // S))
        return sorted(out, key=lambda trigger: (trigger.cycle, trigger.tick))

    @staticmethod
    def mark(shown, profile, byte: Received):
        """The first tick behind the centre of its stop bit at which the line shows a mark, or None."""
        if level_at(shown, byte.stored + 1) == profile.idle:
            return byte.stored + 1
        return next((tick for tick, level in edges(shown) if tick > byte.stored and level == profile.idle), None)

    async def changes(self):
        """Of the train, and its stop."""
        rng, bench = self.rng, self.bench
        while not self.fast and bench.now < self.train_end - 2000 * S:
            await bench.cycles(rng.randrange(400, 2500))
            passed = len(self.train.pulses(until=bench.now))
            n = rng.choice((0, passed + 1, passed + rng.randrange(2, 12)))
            first = self.train.first
            period = Fraction(first.whole) + rng.choice((Fraction(0), Fraction(rng.randrange(5), 5)))
            whole, num, den = int(period) + rng.randrange(9), (period % 1).numerator, (period % 1).denominator
            step = rng.choice((0, 1, -1, 5 * S, rng.randrange(100 * S)))
            width = rng.choice((None, 1, S + 1, rng.randrange(1, 150 * S)))  # of a frame or a break it does nothing
            known = len(bench.select(APPLIED, TRAIN_CHANGE)) + len(bench.select(REFUSED, TRAIN_CHANGE))
            await bench.train_words(whole, num, den)
            if width is not None:
                assert await bench.config("train_width", width)
            await bench.train_adjust(n, step)
            for _ in range(10_000):
                answers = [r for r in bench.events if r.source == TRAIN_CHANGE and r.kind in (APPLIED, REFUSED)]
                if len(answers) > known:
                    break
                await bench.cycles(20)
            answer = answers[known]
            if answer.kind == APPLIED:
                assert answer.data == n or n == 0
                self.train.adjust(Adjust(answer.data, whole, num, den, step, width))
            elif width is not None:
                # The word stays; a change that is refused does not.
                assert await bench.config("train_width", self.train.launch_of(passed + 100).width)
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
        train = self.train.pulses(stop=stop[0].data)
        tty = [Grant(r.tick, Launch(FRAME, self.profiles[0], r.data), TTY, n) for n, r in enumerate(bench.select(1, TTY))]
        tty = [self.as_launched(grant) for grant in tty]

        def competing(answers):
            """(granted, refused, marks granted, marks refused)."""
            timed = [self.as_launched(grant) for grant in [*queue, *train, *answers]]
            marks = [grant for grant in timed if grant.launch.mark]
            return *arbitrate([grant for grant in timed if not grant.launch.mark], tty), *arbitrate_marks(marks, (), S)

        def shows(granted):
            return switched((self.line, shifted(line_wave(granted, self.resting()), 1)), self.loop, S)

        launched = competing(self.responses())[0]
        echo, line = self.echo(launched), shows(launched)
        heard = self.heard(line, echo)
        granted, refused, marks, losers = competing(self.answers(self.triggers(line, heard, echo)))
        # Records.
        bench.check_launches([*granted, *marks], [*refused, *losers])
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
        counting = [(begin, until) for begin, until, _ in self.counted]
        free = min(g.tick for g in granted)
        sent = iter(tty)
        upcoming = next(sent, None)
        length = max(Launch(FRAME, profile, 0).length for _, profile in self.formats[0].steps)
        # A byte's length is counted again.
        prepared += [(cycle * S, (cycle + 40) * S) for cycle, _ in self.formats[0].steps[1:]]
        # Nothing is promised while bytes are held back.
        prepared += [(begin * S, (end + OUTPUT + 40) * S) for begin, end, held in self.held.spans() if held]
        # A byte's lead is counted again, too; and the stop of a train holds bytes back.
        prepared += [(cycle * S, (cycle + 40) * S + self.longest_lead) for cycle, _ in self.leads.steps[1:]]
        # A byte does not begin over a mark whose time is known, as over any launch.
        for a, b in gaps([*granted, *(grant._replace(launch=Launch(PULSE, None, width=1)) for grant in marks)], self.end):
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
        # None begins while it is held back, nor without an edge.
        for begin, end, held in self.held.spans():
            inside = [g for g in tty if held and (begin + OUTPUT + 3) * S <= g.tick < (end + OUTPUT - 2) * S]
            assert not inside, f"bytes begin while they are held back in [{begin}, {end}): {inside[:3]}"
        for grant in tty:
            assert self.rests.at(grant.tick // S) == grant.launch.profile.idle, f"{grant} begins at the level of its start bit"
        # Pins.
        count = bench.check_line(granted, self.resting()) + bench.check_pin("port", port_wave(marks, self.mark_width, S))
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
                times = sum(begin <= tick and tick - self.longest_lead < end for tick in uncertain)
                times += any(written < end and begin <= sent for written, sent in waiting)
                assert end - begin <= times * self.longest_lead, f"de is high in [{begin}, {end})"
        count += 2 * len(wanted)
        # Inputs.
        assert shows(granted) == line
        expected = capture(
            [*self.waves, line],
            S,
            self.rises.later(-CONDITIONING),
            self.falls.later(-CONDITIONING),
            self.filters,
            recorded=self.recorded.later(-CONDITIONING - 1),
        )
        bench.check_edges(expected)
        received = self.records(heard)
        assert len(received) == len(bench.bytes), (len(received), len(bench.bytes))
        for byte, want in zip(bench.bytes, received):
            assert want.key == byte.key, (byte, want)
        same_list(
            "words refused",
            [(r.flags, r.data) for r in bench.select(REFUSED, CONTROL)],
            [(BUSY, regmap.config("driver_enable").index)] * self.refused_words,
        )
        bench.check_sequence()
        kinds = {(g.source, g in refused) for g in [*granted, *refused]} | ({"mark"} if marks else set())
        kinds |= {"fast"} if self.fast else set()
        kinds |= {("trigger", trigger) for _, _, trigger in self.counted}
        kinds |= {("burst", grant in refused) for grant in self.in_bursts if grant in granted or grant in refused}
        return count + len(bench.events) + len(received), kinds


@cocotb.test()
async def test_random_scenes(dut):
    """All promises at once."""
    kinds, wanted = set(), {(QUEUE, False), (TRAIN, False), (RESPONDER, False), (TTY, False)}
    wanted |= {(QUEUE, True), (TRAIN, True), ("trigger", ON_EDGE), ("trigger", ON_BYTE), ("burst", False), "fast"} if FAST else set()
    wanted |= {"mark"} if FAST and PORT else set()
    wanted |= {("trigger", ON_BREAK), ("burst", True)} if LONG else set()
    least = 20 if LONG else 2 if FAST else 1
    for number in range(3 * least):
        if number >= least and wanted <= kinds:
            break
        seed = SEED + number
        dut._log.info("scene with seed %d", seed)
        scene = Scene(seed)
        await scene.run(dut)
        checks, more = scene.judge()
        kinds |= more
        figure("all", f"random scene {number}", checks)
    assert wanted <= kinds, wanted - kinds
