# SPDX-License-Identifier: BSD-2-Clause
"""Drives litepulse_tb the way a wrapper and the world around the pins would, and writes down what the pins do.

Signals are driven and read between clock edges, so that both simulators agree about what an edge sees. Times of the simulator
are ps; everything a test sees is ticks.
"""

import json
import os
import random
from fractions import Fraction
from pathlib import Path

import cocotb
from cocotb.triggers import FallingEdge, Lock, Timer, ValueChange
from cocotb.utils import get_sim_time

from litex_soc import regmap
from litex_soc.limits import cycles, latencies
from sim.core.model import ALWAYS, PULSE, Grant, Launch, Profile, line_wave, normal, same_list

ROOT = Path(__file__).resolve().parents[2]
SIMULATOR = os.environ.get("LITEPULSE_SIMULATOR", "")
S = int(os.environ.get("LITEPULSE_PARAM_S", 1))
INPUTS = int(os.environ.get("LITEPULSE_PARAM_INPUTS", 4))
PORT = os.environ.get("LITEPULSE_PARAM_PORT", "1") == "1"  # the defaults are those of litepulse_tb
SEQUENCE = os.environ.get("LITEPULSE_PARAM_SEQUENCE", "0") == "1"
WRAP_BIT = int(os.environ.get("LITEPULSE_PARAM_WRAP_BIT", 0))  # if not 0, the tick count begins a little before 2**WRAP_BIT
PHY = os.environ.get("LITEPULSE_PARAM_PHY", "").strip('"') or ("generic" if S == 1 else "model")
# The netlist that is run, "" for the core's sources.
NETLIST = os.environ.get("LITEPULSE_NETLIST_NAME", "")
SEED = int(os.environ.get("LITEPULSE_RUN_SEED", 1))
# LITEPULSE_SHORT=1: the smaller sizes on any simulator.
FAST = SIMULATOR == "verilator" and os.environ.get("LITEPULSE_SHORT", "") in ("", "0")
FULL = FAST and S == 1  # sub-cycle models and Icarus are slow: they get the same tests in smaller sizes
LINE = INPUTS  # capture channel of the line
MASK32 = 0xFFFFFFFF
CONSTANTS = cycles()
# The table is for LATENCY_IN + LATENCY_OUT = 2 and one sample per cycle.
for _name in (
    "LMIN_CYCLES",
    "TRAIN_LMIN_CYCLES",
    "CHANGE_LMIN",
    "CHANGE_REDO",
    "RESPONSE_MIN_CYCLES",
    "RESPONSE_MIN_BYTE",
    "RESPONSE_MIN_BREAK",
    "BURST_MIN_CYCLES",
    "OVERTAKEN_CYCLES",
    "BEST_EFFORT_SLACK",
    "SEQUENCE_MIN_CYCLES",
    "TIMEOUT_MIN_CYCLES",
    "WAIT_LISTEN_CYCLES",
):
    _more = "SAMPLES_LATENCY_BYTE" if _name in ("RESPONSE_MIN_BYTE", "RESPONSE_MIN_BREAK") else "SAMPLES_LATENCY"
    CONSTANTS[_name] += sum(latencies(PHY)) - 2 + (CONSTANTS[_more] if S > 1 else 0)
# Behind an edge of an unfiltered input other than the line: with several samples per cycle it need not be conditioned.
CONSTANTS["RESPONSE_MIN_INPUT"] = CONSTANTS["RESPONSE_MIN_CYCLES"]
if S > 1:
    CONSTANTS["RESPONSE_MIN_INPUT"] += CONSTANTS["SAMPLES_LATENCY_INPUT"] - CONSTANTS["SAMPLES_LATENCY"]
LMIN = CONSTANTS["LMIN_CYCLES"]
ECHO_TAIL = 16  # cycles, after a reset
FILTER = 1 if S == 1 else 3  # cycles from the answer to the word FILTER to the first sample that counts by it
SPACE = 2 * LMIN * S  # ticks between two queue entries that are plenty in every respect

# (half period of sys in ps, delay of its first edge) for a pulse cycle of 8000 ps.
CLOCKS = {
    "1:1": (4000, 0),
    "1:1 shifted": (4000, 1700),
    "2:1": (8000, 0),
    "2:1 shifted": (8000, 5300),
    "1:2": (2000, 300),
    "1:4": (1000, 0),
    "1:4 shifted": (1000, 900),
    "4:1": (16000, 2500),
    "unrelated": (6317, 1234),
    "unrelated fast": (2903, 77),
}
CYCLE = 8000  # ps
TICK = CYCLE // S
# From the rising edge of `pulse` to sampling instant 0 of the cycle.
PHASE = CYCLE // 2 if PHY == "ecp5_serdes" else 0

_measured = []  # largest distance in ticks between an edge and its place, per waveform compared
_zero = {}  # what the first calibration of a run found


def field(word, record, name):
    """A field of a record word, by its name in the register map."""
    for register in record:
        for f in register.fields:
            if f.name == name:
                return word >> f.offset & (1 << f.size) - 1
    raise KeyError(name)


def encode(register, **values):
    """A configuration word from its fields."""
    word = 0
    for f in register.fields:
        value = values.pop(f.name, 0)
        assert -(1 << f.size - 1) <= value < 1 << f.size, (register.name, f.name, value)
        word |= (value & (1 << f.size) - 1) << f.offset
    assert not values, f"{register.name} has no field {values}"
    return word


class Record:
    """An event as read."""

    __slots__ = ("tick", "seq", "kind", "source", "flags", "data")

    def __init__(self, words):
        self.tick = words[0] | words[1] << 32
        info = words[2]
        self.flags = field(info, regmap.EVENT_RECORD, "flags")
        self.source = field(info, regmap.EVENT_RECORD, "source")
        self.kind = field(info, regmap.EVENT_RECORD, "kind")
        self.seq = field(info, regmap.EVENT_RECORD, "seq")
        self.data = words[3]

    @property
    def key(self):
        return (self.tick, self.kind, self.source, self.flags, self.data)

    def __repr__(self):
        kind = regmap.EVENT_KINDS.get(self.kind, (str(self.kind),))[0]
        source = regmap.EVENT_SOURCES.get(self.source, (str(self.source),))[0]
        return f"<{self.seq}: {kind} {source} at {self.tick} flags {self.flags:#x} data {self.data:#x}>"


class Byte:
    """A received record as read."""

    __slots__ = ("tick", "data", "parity_error", "framing_error", "is_break", "overflow", "own", "noise", "count", "word0")

    def __init__(self, words):
        def get(name):
            return field(words[1], regmap.RECEIVE_RECORD, name)

        self.word0 = words[0]
        self.tick = words[0] | get("tick_47_32") << 32
        self.data = get("data")
        self.parity_error, self.framing_error, self.is_break = get("parity_error"), get("framing_error"), get("break")
        self.overflow, self.own, self.noise, self.count = get("overflow"), get("own"), get("noise"), get("count")

    @property
    def key(self):
        return (self.tick, self.data, self.parity_error, self.framing_error, self.is_break, self.noise, self.own)

    def __repr__(self):
        return (
            f"<byte {self.data:#x} at {self.tick} pe {self.parity_error} fe {self.framing_error} brk {self.is_break} "
            f"noise {self.noise} own {self.own} ovf {self.overflow} count {self.count}>"
        )


class Pin:
    """Writes down every change of a pin."""

    def __init__(self, handle):
        self.handle = handle
        self.changes = []
        self.task = cocotb.start_soon(self.watch())

    async def watch(self):
        changes, handle, change = self.changes, self.handle, ValueChange(self.handle)
        changes.append((-1, int(handle.value)))
        while True:
            await change
            changes.append((get_sim_time("step"), int(handle.value)))


class Falls(Pin):
    """Changes of an input that another device drives."""

    def __init__(self, bench, handle):
        super().__init__(handle)
        self.bench = bench

    def starts(self, bit):
        """Ticks of the first samples of start bits of 8N1 frames, `bit` ps a bit."""
        out, free = [], -1
        for time, level in self.changes:
            if time >= 0 and level == 0 and time >= free:
                out.append(-((self.bench.zero - time) // TICK))
                free = time + 9 * bit
        return out

    def since_change(self):
        """Ticks since the last change."""
        return (int(get_sim_time("step")) - self.changes[-1][0]) // TICK


class Bench:
    """One core, from reset on."""

    def __init__(self, dut, clocks="unrelated"):
        self.dut = dut
        self.clocks = clocks
        self.sys_period = 2 * CLOCKS[clocks][0]
        self.bus_lock = Lock()
        self.zero = None  # simulator time of tick 0
        self.pins = {}
        self.profiles = [None] * 4
        self.events, self.bytes = [], []
        self.positions = {"EVENTS": 0, "RECEIVE": 0}
        self.config_count = 0
        self.words, self.answers = 0, None  # configuration words: those written, and when each was answered, since `start`
        self.waited_for = 0  # number of the one that was waited for last
        self.aux_level = 0
        self.since = 0
        self.random = random.Random(SEED)

    # Time -------------------------------------------------------------------------------------------------------

    @classmethod
    async def start(cls, dut, clocks="unrelated", watch=("tx", "de"), calibrate=True):
        """A bench with running clocks, a core out of reset, known tick 0."""
        self = cls(dut, clocks)
        half, delay = CLOCKS[clocks]
        # The clocks of an earlier test come to rest, so that the phase is the one requested.
        dut.run.value = 0
        await Timer(100_000, "step")
        dut.pulse_rst.value, dut.sys_rst.value = 1, 1
        dut.tick_half.value = TICK // 2
        dut.sys_half.value = half
        dut.sys_delay.value = delay
        self.idle_inputs()
        await Timer(1, "step")
        await self.start_pads()
        dut.run.value = 1
        await Timer(1, "step")
        await self.reset()
        self.answers = Pin(dut.config_done)  # not before: Icarus has no level there until reset
        if calibrate:
            await self.calibrate()
        for name in watch:
            self.pins[name] = Pin(getattr(dut, f"{name}_pin"))
        await Timer(1, "step")
        self.since = self.now
        return self

    async def start_pads(self):
        """What a board does once, while its clocks stand still: the pads' gearing leaves its reset and gets a first edge of its clock,
        at which the divider that makes `pulse` does not rise yet."""
        dut = self.dut
        if int(dut.phy_rst.value):
            dut.phy_rst.value = 0
            for level in (1, 0):
                await Timer(TICK, "step")
                dut.edge_clk.value = level
            await Timer(TICK, "step")

    def idle_inputs(self):
        dut = self.dut
        dut.rx_drive.value, dut.rx_wire.value, dut.rx_bus.value, dut.rx_noise.value = 1, 0, 0, 0
        dut.aux_drive.value, dut.aux_wire.value = 0, 0
        dut.bus_stb.value = 0
        self.aux_level = 0

    async def reset(self, cycles=12):
        """Both resets, long enough for the slower clock, released between edges of `pulse`."""
        dut = self.dut
        dut.pulse_rst.value, dut.sys_rst.value = 1, 1
        await Timer(cycles * max(CYCLE, self.sys_period), "step")
        await FallingEdge(dut.sys_clk)
        dut.sys_rst.value = 0
        await self.pulse_release()
        self.profiles = [None] * 4
        self.events.clear()
        self.bytes.clear()
        self.positions = {"EVENTS": 0, "RECEIVE": 0}
        self.config_count = 0
        self.words = len(self.answer_times())  # what was on its way is not answered any more
        self.zero = self.released + _zero[S] if S in _zero else None
        await Timer(8 * max(CYCLE, self.sys_period), "step")

    async def pulse_release(self):
        await FallingEdge(self.dut.pulse_clk)
        self.dut.pulse_rst.value = 0
        # Instant 0 of the cycle that begins with the rising edge that follows, the first one out of reset.
        self.released = int(get_sim_time("step")) + CYCLE // 2 + PHASE

    async def calibrate(self):
        """Finds the instant of tick 0 from one pulse; the same in every run, which is what this asserts."""
        if S not in _zero:
            await self.profile(3, Profile(Fraction(16 * S)))
            head = await self.header("EVENTS")
            tick = head["tick"] + (60 + LMIN) * max(CYCLE, self.sys_period) // TICK
            pin = Pin(self.dut.tx_pin)
            await self.launch(tick, Launch(PULSE, self.profiles[3], width=S, index=3))
            await Timer((120 + LMIN) * max(CYCLE, self.sys_period), "step")
            pin.task.cancel()
            assert [level for _, level in pin.changes] == [1, 0, 1], f"the first launch: {pin.changes}"
            zero = pin.changes[1][0] - tick * TICK
            _zero[S] = zero - self.released
            await self.reset()

    @staticmethod
    def zero_offset():
        """From instant 0 of the first cycle out of reset to tick 0, in ps."""
        return _zero[S]

    @property
    def now(self):
        """The tick at or before this moment."""
        assert self.zero is not None, "not calibrated"
        return (int(get_sim_time("step")) - self.zero) // TICK

    def ahead(self, launches=1):
        """A tick that as many launches, committed from now on, reach well in time."""
        return self.now + (70 + LMIN + 60 * launches) * max(CYCLE, self.sys_period) // TICK

    def ahead_train(self):
        """A start tick that a train whose words are written from now on reaches well in time."""
        return self.ahead(14) + CONSTANTS["TRAIN_LMIN_CYCLES"] * S

    async def until(self, tick):
        """Waits until shortly after a tick's instant."""
        ahead = self.zero + tick * TICK + TICK // 4 - int(get_sim_time("step"))
        if ahead > 0:
            await Timer(ahead, "step")

    async def cycles(self, n):
        await Timer(n * CYCLE, "step")

    async def sys_cycles(self, n):
        await Timer(n * self.sys_period, "step")

    # Bus --------------------------------------------------------------------------------------------------------

    async def access(self, we, offset, data=0):
        """One access to the window; the master holds its request until the edge after the acknowledge has passed."""
        dut, edge = self.dut, FallingEdge(self.dut.sys_clk)
        async with self.bus_lock:
            await edge
            dut.bus_adr.value = offset >> 2
            dut.bus_we.value = we
            dut.bus_dat_w.value = data & MASK32
            dut.bus_stb.value = 1
            for _ in range(8000):  # a change of the train keeps the window waiting for as long as its lead lasts
                await edge
                if dut.bus_ack.value == 1:
                    break
            else:
                raise AssertionError(f"no acknowledge at {offset:#x}")
            value = int(dut.bus_dat_r.value) if not we else 0
            await edge
            dut.bus_stb.value = 0
        return value

    async def read(self, offset):
        return await self.access(0, offset)

    async def write(self, offset, value):
        await self.access(1, offset, value)

    async def read_block(self, offset, count):
        return [await self.access(0, offset + 4 * k) for k in range(count)]

    # Configuration ----------------------------------------------------------------------------------------------

    def config_answers(self):
        return int(self.dut.config_applied.value) + int(self.dut.config_refused.value) & 0xFF

    async def config(self, name, word=None, /, wait=True, **fields):
        """Writes a configuration word; returns whether it was applied (None with wait=False)."""
        register = regmap.config(name)
        if word is None:
            word = encode(register, **fields)
        return await self.config_word(register.index, word, wait)

    async def config_word(self, index, word, wait=True):
        """The same for any index, also of no word."""
        refused, number = int(self.dut.config_refused.value), self.words
        self.config_count = self.config_count + 1 & 0xFF
        self.words += 1
        await self.write(regmap.REGIONS["CONFIG"][0] + 4 * index, word)
        if not wait:
            return None
        await self.config_wait()
        self.waited_for = number
        return int(self.dut.config_refused.value) == refused

    def answered(self):
        """The cycle (tick // S) whose input samples the core saw while it answered the word that was waited for last. A board's pins do
        not show it: None."""
        if PHY not in ("generic", "model") or self.zero is None:
            return None
        return (self.answer_times()[self.waited_for] - self.zero) // CYCLE - latencies(PHY)[0]

    def answer_times(self):
        """When each word was answered. Icarus shows a level that was assigned and assigned again within one instant: normal() leaves it
        out."""
        return [time for time, level in normal(self.answers.changes) if level == 1 and time >= 0] if self.answers else []

    async def config_wait(self):
        for _ in range(8000):  # flushing takes a round of the crossing per byte
            if self.config_answers() == self.config_count:
                return
            await FallingEdge(self.dut.sys_clk)
        raise AssertionError("a configuration write was never answered")

    async def echo(self, tail):
        """How many ticks behind our own transmission its echo may come; returns whether that was taken."""
        return await self.config("echo", tail=tail)

    async def filter(self, mask, length):
        return await self.config("filter", enable=mask, length=length)

    async def profile(self, k, profile):
        """Sets a line profile; returns whether it was taken."""
        raw = profile.period * 256
        assert raw == int(raw), "the period is a multiple of 1/256 tick"
        raw = int(raw)
        stops = {Fraction(1): 0, Fraction(3, 2): 1, Fraction(2): 2}
        parities = {text[0].lower(): code for code, text in regmap.PARITIES.items()}
        await self.config(
            f"profile{k}_format",
            period_hi=raw >> 32,
            data_bits=profile.data_bits - 5,
            parity=parities[profile.parity],
            stop=stops[Fraction(profile.stop)],
            invert=int(profile.invert),
            to_port=int(profile.to_port),
        )
        taken = await self.config(f"profile{k}_period", raw & MASK32)
        self.profiles[k] = profile if taken else None
        return taken

    async def command(self, **bits):
        return await self.config("command", **bits)

    async def record(self, *names):
        """Which events are recorded."""
        names = names or tuple(f.name for f in regmap.config("event_mask").fields)
        await self.config("event_mask", wait=True, **{name: 1 for name in names})

    # Launches, train, responder, bytes --------------------------------------------------------------------------

    async def launch(self, tick, launch, tag=0):
        """Commits a timed launch to the queue."""
        await self.queue_entry(tick, launch.width, launch.word() | tag << 16)

    async def queue_entry(self, tick, width, word):
        """Commits an entry of the queue."""
        base = regmap.REGIONS["LAUNCH"][0]
        await self.write(base, tick & MASK32)
        await self.write(base + 4, tick >> 32 & MASK32)
        await self.write(base + 8, width)
        await self.write(base + 12, word)

    async def train_words(self, whole, num=0, den=1, launch=None, start=0, count=0):
        """Everything a start needs but the command. `den` is the true denominator."""
        if launch is not None:
            await self.config("train_launch", launch.word())
            await self.config("train_width", launch.width)
            await self.config("train_start_lo", start & MASK32)
            await self.config("train_start_hi", start >> 32)
            await self.config("train_count", count)
        await self.config("train_period", whole)
        await self.config("train_num", num)
        await self.config("train_den", den & MASK32)

    async def train_start(self, asap=False, wait=True):
        return await self.config("train_command", command=1, asap=int(asap), wait=wait)

    async def train_stop(self):
        return await self.config("train_command", command=3)

    async def train_adjust(self, n=0, step=0, wait=True, width=None):
        if width is not None:
            await self.config("train_width", width)
        await self.config("train_at_pulse", n)
        await self.config("train_step", step=step)
        return await self.config("train_command", command=2, wait=wait)

    async def responder(self, launch, delay, holdoff=0, match=None, arm=True, **trigger):
        """Sets it up; returns the cycles in which it was disarmed and armed, where the answers can be seen."""
        await self.config("resp_trigger", **trigger)
        disarmed = self.answered()
        if match is not None:
            await self.config("resp_match", value=match[0], mask=match[1])
        await self.config("resp_delay", delay)
        await self.config("resp_width", launch.width)
        await self.config("resp_launch", launch.word())
        await self.config("resp_holdoff", holdoff)
        if arm:
            await self.config("resp_arm", arm=1)
        return disarmed, self.answered()

    async def send(self, data):
        """Pushes bytes into the best-effort FIFO, as many per write as fit."""
        data = list(data)
        for k in range(0, len(data), 4):
            part = data[k : k + 4]
            await self.write(regmap.REGIONS["TX"][0] + (len(part) - 1) * regmap.TX_PART_SIZE, sum(b << 8 * i for i, b in enumerate(part)))

    def status(self, bit):
        """A status bit, as the sys side sees it."""
        names = ("tx_idle", "train_running", "train_change_pending", "responder_armed", "config_busy", "queue_idle", "line_busy", "rx_busy")
        return int(self.dut.status.value) >> names.index(bit) & 1

    # Streams ----------------------------------------------------------------------------------------------------

    async def header(self, stream):
        words = await self.read_block(regmap.REGIONS[stream][0], regmap.HEADER_WORDS)
        return {"ready": words[0] & 0xFFFF, "position": words[0] >> 16, "lost": words[1], "tick": words[2] | words[3] << 32}

    async def ack(self, stream, count, position=None):
        """Frees records; with `position` guarded."""
        word = count if position is None else count | (position & 0x7FFF) << 16 | 1 << 31
        await self.write(regmap.REGIONS[stream][0], word)

    async def drain_stream(self, stream, most):
        size = regmap.EVENT_WORDS if stream == "EVENTS" else regmap.RECEIVE_WORDS
        kind = Record if stream == "EVENTS" else Byte
        out = []
        while most is None or len(out) < most:
            head = await self.header(stream)
            if head["position"] != self.positions[stream]:
                continue  # the ack before has not arrived yet
            count = min(head["ready"], 0x2000 // 4 // size - 1)  # the window shows no more: its header takes the place of some
            count = count if most is None else min(count, most - len(out))
            if not count:
                break
            base = regmap.REGIONS[stream][0] + 4 * regmap.HEADER_WORDS
            words = await self.read_block(base, size * count)
            out += [kind(words[size * k : size * (k + 1)]) for k in range(count)]
            await self.ack(stream, count, head["position"])
            self.positions[stream] = head["position"] + count & 0xFFFF
        return out

    async def drain(self, most=None):
        """Reads and frees events; returns the new ones."""
        new = await self.drain_stream("EVENTS", most)
        self.events += new
        return new

    async def drain_bytes(self, most=None):
        new = await self.drain_stream("RECEIVE", most)
        for byte in new:
            if not byte.count:  # the record holds 48 bits
                byte.tick = self.now - (self.now - byte.tick) % (1 << 48)
        self.bytes += new
        return new

    def drain_start(self, pause=20):
        """Keeps both streams empty in the background."""

        async def loop():
            while self.draining:
                # Not until none is left: on a slow bus bytes may come as fast as they are read, and
                # events would wait forever.
                if count := int(self.dut.ev_ready.value):
                    await self.drain(count)
                if count := int(self.dut.rx_ready.value):
                    await self.drain_bytes(count)
                await self.sys_cycles(pause)

        self.draining = True
        self.drainer = cocotb.start_soon(loop())

    async def drain_stop(self):
        """Ends it, everything read."""
        self.draining = False
        await self.drainer
        await self.sys_cycles(60)
        await self.cycles(60)
        await self.drain()
        await self.drain_bytes()

    def select(self, kind, source=None):
        return [r for r in self.events if r.kind == kind and (source is None or r.source == source)]

    def check_sequence(self, first=0):
        """Every number occurs once, OVERFLOW reports gaps; returns the next one."""
        expected = first
        for record in self.events:
            assert record.seq == expected & 0xFFFF, f"{record} where {expected & 0xFFFF} should be"
            expected += record.data if record.kind == 4 else 1
        return expected

    def check_launches(self, granted, refused, sources=(0, 1, 2, 3)):
        """TX records of these sources are exactly `granted`, REFUSED and RESPONDER_MISSED `busy` exactly `refused`."""

        def data(grant):
            if grant.source in (0, 2):
                return grant.name << 16 | grant.launch.word()
            return grant.name if grant.source == 1 else grant.launch.data

        for source in sources:
            seen = [r.key for r in self.select(1, source)]
            expected = [(g.tick, 1, source, 0, data(g)) for g in sorted(granted) if g.source == source]
            same_list(f"TX of source {source}", seen, expected)
            seen = [r.key for r in self.events if r.kind in (3, 7) and r.source == source and r.flags == 2]
            kind = 7 if source == 2 else 3
            expected = [(g.tick, kind, source, 2, data(g)) for g in sorted(refused, key=lambda g: g.tick) if g.source == source]
            same_list(f"busy of source {source}", seen, expected)

    def check_edges(self, expected):
        """EDGE records are exactly `expected`, less what an OVERFLOW of this row accounts for."""
        lost = sum(r.data for r in self.select(4))
        seen = [(r.tick, r.flags, r.data) for r in self.select(2)]
        text = f"{len(seen)} seen, {lost} reported lost, {len(expected)} expected"
        assert len(seen) + lost == len(expected), text
        for group in (0, 0x80):
            row, wanted = ([r for r in records if r[1] == group] for records in (seen, expected))
            if not lost:
                same_list(f"edges of group {group:#x}", row, wanted)
            rest = iter(wanted)
            missing = [r for r in row if r not in rest]
            assert not missing, f"not in the model, or out of order: {missing[:3]}"
        return lost

    # Pins -------------------------------------------------------------------------------------------------------

    def wave(self, name, since=None):
        """What an output did, in ticks, from `since` on (the level then comes first)."""
        since = self.since if since is None else since
        wave = []
        for time, level in self.pins[name].changes:
            if time < 0:
                wave.append((ALWAYS, level))
                continue
            tick, rest = divmod(time - self.zero, TICK)
            assert rest == 0, f"{name} changed between ticks, at {time} ps"
            wave.append((tick, level))
        wave = normal(wave)
        before = [v for t, v in wave if t < since]
        return normal([(ALWAYS, before[-1]), *((t, v) for t, v in wave if t >= since)])

    def check_pin(self, name, expected, since=None):
        """The pin did exactly this since then; returns the number of edges."""
        since = self.since if since is None else since
        expected = normal(expected)
        before = [v for t, v in expected if t < since]
        expected = normal([(ALWAYS, before[-1]), *((t, v) for t, v in expected if t >= since)])
        seen = self.wave(name, since)
        if len(seen) == len(expected):
            _measured.append(max((abs(a[0] - b[0]) for a, b in zip(seen[1:], expected[1:])), default=0))
        if seen != expected:
            at = next((i for i, (a, b) in enumerate(zip(seen, expected)) if a != b), min(len(seen), len(expected)))
            raise AssertionError(
                f"{name}: change {at}: seen {seen[at : at + 4]} (of {len(seen)}), "
                f"expected {expected[at : at + 4]} (of {len(expected)}), before {expected[max(0, at - 2) : at]}"
            )
        return len(seen) - 1

    def check_line(self, grants, rest=1, since=None):
        return self.check_pin("tx", line_wave(grants, rest), since)

    def tx_grants(self, launches):
        """Grants as the TX records tell them; `launches(record)` gives the Launch."""
        names = {}
        out = []
        for r in self.select(1):
            name = r.data >> 16 if r.source in (0, 2) else r.data
            if r.source == 3:
                name = names[3] = names.get(3, -1) + 1
            out.append(Grant(r.tick, launches(r), r.source, name))
        return out

    async def play(self, handle_name, wave, jitter=None):
        """Drives an input so that the sample of each tick named is the first with its level."""
        handle = getattr(self.dut, handle_name)
        for tick, level in wave:
            if tick == ALWAYS:
                handle.value = level
                continue
            early = TICK // 2 if jitter is None else jitter.randrange(1, TICK)
            wait = self.zero + tick * TICK - early - int(get_sim_time("step"))
            assert wait >= 0, f"{handle_name} at {tick} is in the past"
            if wait:
                await Timer(wait, "step")
            handle.value = level

    def transceiver(self, ticks):
        """Lets rx show what tx does `ticks` later than a wire would. Returns the task, to be
        cancelled."""

        async def show(level):
            await Timer(ticks * TICK + TICK // 2, "step")
            self.dut.rx_drive.value = level

        async def watch():
            change = ValueChange(self.dut.tx_pin)
            while True:
                await change
                cocotb.start_soon(show(int(self.dut.tx_pin.value)))

        return cocotb.start_soon(watch())

    def watch_falls(self, handle):
        return Falls(self, handle)

    def set_aux(self, channel, level):
        """One aux pin, the others as they are."""
        self.aux_level = self.aux_level & ~(1 << channel) | level << channel
        self.dut.aux_drive.value = self.aux_level

    async def play_aux(self, changes):
        """[(tick, channel, level)], in order of ticks."""
        for tick, channel, level in changes:
            wait = self.zero + tick * TICK - TICK // 2 - int(get_sim_time("step"))
            assert wait >= 0, f"aux {channel} at {tick} is in the past"
            if wait:
                await Timer(wait, "step")
            self.set_aux(channel, level)


def figure(promise, what, stimuli):
    """Notes an exactness figure for the benchmark table: how many stimuli, and the largest error of an edge of a pin in ticks
    (None where no waveform was compared; records are compared as a whole, so what differs at all has failed before)."""
    error = max(_measured, default=None)
    _measured.clear()
    if os.environ.get("LITEPULSE_HDL"):
        return  # figures of a deliberately broken core are discarded
    # Netlists and boards' pins have a file of their own.
    kind = f"-{NETLIST or PHY}" if NETLIST or PHY not in ("generic", "model") else ""
    path = Path(os.environ["LITEPULSE_FIGURES"])
    table = json.loads(path.read_text()) if path.exists() else {}
    table.setdefault(f"exactness{kind}.json", {})[f"{promise}/{what}/{SIMULATOR}/S={S}"] = {
        "promise": promise,
        "what": what,
        "simulator": SIMULATOR,
        "samples_per_cycle": S,
        "stimuli": stimuli,
        "largest_error_ticks": error,
        "seed": SEED,
    }
    path.write_text(json.dumps(table))
