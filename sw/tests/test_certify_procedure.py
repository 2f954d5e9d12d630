# SPDX-License-Identifier: BSD-2-Clause
"""The procedure of litepulse certify in a world of its own: a board and a port that obey it to the tick, so that every record is known.

What no rig has is here: driver enable on an input, breaks, a half-duplex line, launches that come too late, records that are lost."""

import contextlib
import math
from fractions import Fraction
from types import SimpleNamespace

import pytest

from litepulse.backends.interface import Batch, ClockReading, Losses
from litepulse.certify import procedure
from litepulse.certify.procedure import BREAKS, Options, Procedure
from litepulse.certify.records import LOADS, Break, Exchange
from litepulse.certify.result import figures
from litepulse.errors import BadInput, LitePulseError
from litepulse.line import Format
from litepulse.plan import profile_of
from litepulse.streams import Event, Lost, RxByte
from litepulse.units import Timescale

from .certify_model import histogram

HZ, BAUD, LINE, ENABLE = 1_000_000, 9600, 4, 2
BIT = Fraction(HZ, BAUD)
NS, EPOCH = 1000, 777_000_000  # of a tick; the host's clock at tick 0
READ, PROGRAM, ANSWER = 130, 20, 400  # ticks from the end of a request to read(), to write(), to the start of the answer
LEAD, LAG = 55, 77  # ticks of driver enable


class World:
    """The board's side is a Backend and its parts, `port` the Patient. Each look takes `step` ticks."""

    def __init__(self, step=300, late=0, half_duplex=False, rs485=True, running=False, lose=None):
        """late: ticks that launches take to the board; lose: name of a step in which a record is lost."""
        self.tick, self.step, self.late, self.half_duplex, self.rs485, self.running = 1000, step, late, half_duplex, rs485, running
        self.identity = SimpleNamespace(
            inputs=4, event_depth=256, receive_depth=512, launch_depth=64, timescale=Timescale(HZ), samples_per_cycle=1, name="world"
        )
        self.future = []  # (tick, 'event' or 'byte', record)
        self.wanted, self.mode, self.heard, self.reads, self.free = None, None, bytearray(), [], 0
        self.edges, self.enables, self.refused, self.released, self.lose = [], [], 0, 0, lose
        self.answers = []
        self.port = self.recorder = self.line = self.queue = self

    # The board

    def pass_time(self, ticks):
        self.tick += ticks

    def status(self):
        self.pass_time(self.step)
        return SimpleNamespace(train_running=self.running)

    def now(self):
        self.pass_time(self.step)
        return self.tick

    def read_clocks(self):
        self.pass_time(self.step)
        middle = self.tick * NS + EPOCH
        return ClockReading(self.tick, middle - 500, middle + 500, 0, 0)

    def record(self, wanted):
        self.wanted = wanted
        self.future = [each for each in self.future if each[0] > self.tick]

    def look(self, as_columns):
        return self.status(), self.read()

    def read(self):
        self.pass_time(self.step)
        due = sorted((each for each in self.future if each[0] <= self.tick), key=lambda each: each[0])
        self.future = [each for each in self.future if each[0] > self.tick]
        events = [record for _, kind, record in due if kind == "event"]
        events = [e for e in events if isinstance(e, Lost) or e.kind != "edge" or e.data & self.wanted.rise]
        return Batch(self.tick, self.tick, events, [record for _, kind, record in due if kind == "byte"])

    def wait(self, seconds):
        self.pass_time(int(seconds * HZ))

    def launch(self, entries):
        self.pass_time(self.late)
        for tick, tag, launch in entries:
            if tick < self.tick:
                self.refused += 1
                self.future.append((self.tick, "event", Event(self.tick, 0, "refused", "queue", 1, tag << 16)))
                continue
            self.future.append((tick, "event", Event(tick, 0, "tx", "queue", 0, tag << 16 | launch.data)))
            self.arrives(launch.data, tick + math.floor(10 * Fraction(round(256 * BIT), 256)))
            if self.half_duplex:
                self.future.append((tick + 1040, "byte", RxByte(tick + 1, launch.data, own=True)))
        return len(entries)

    def seconds(self, count):
        return Fraction(0)

    def losses(self):
        return Losses()

    def kept(self):
        return ()

    def release(self):
        self.released += 1

    def nothing(self, *_, **__):
        pass

    set_receiver = set_profile = flush = pledge = nothing

    # The port

    def arrives(self, byte, end):
        """A request has ended."""
        if self.mode is None:
            return
        self.heard.append(byte)
        if self.mode == "echo":
            read, write = ((end + ticks) * NS + EPOCH for ticks in (READ, READ + PROGRAM))
            self.reads.append((read, write, 1))
            self.answers.append((end, read, write, end + ANSWER + 1))
            self.frame(byte, end + ANSWER)

    def edge(self, tick, channel, level):
        self.future.append((tick, "event", Event(tick, 0, "edge", "capture", 0, level << 16 + channel | 1 << channel)))

    def frame(self, byte, start):
        """Of the patient's TX; returns the exact end of its stop bit."""
        levels, before = [0, *(byte >> k & 1 for k in range(8)), 1], 1
        for k, level in enumerate(levels):
            if level != before:
                tick = math.floor(start + k * BIT) + 1
                self.edge(tick, LINE, level)
                self.edges.append((tick, level))
            before = level
        self.future.append((math.floor(start + Fraction(19, 2) * BIT), "byte", RxByte(math.floor(start) + 1, byte)))
        return start + 10 * BIT

    def ask(self, do, seconds=0, **words):
        self.tell(do, **words)
        return self.answer()

    def tell(self, do, **words):
        self.reply = getattr(self, f"do_{do}")(**words)

    def answer(self, seconds=0):
        reply, self.reply = self.reply, None
        return reply

    def do_enable(self):
        return {"enabled": self.rs485}

    def do_counters(self):
        return {"counters": {"rx": len(self.heard), "tx": len(self.edges)}}

    def do_write(self, data):
        data = bytes.fromhex(data)
        start = place = Fraction(self.tick + 500)
        for byte in data:
            place = self.frame(byte, place)
        if self.rs485:
            for tick, level in ((start - LEAD + 1, 1), (math.ceil(place) + LAG, 0)):
                self.edge(int(tick), ENABLE, level)
                self.enables.append((int(tick), level))
        if self.lose and len(data) == self.lose:
            self.future.append((self.tick + 700, "event", Lost(self.tick + 600, 5)))
        return {"written": len(data)}

    def do_listen(self):
        self.mode, self.heard, self.reads = "listen", bytearray(), []
        return {"mode": "listen"}

    def do_echo(self):
        self.mode, self.heard, self.reads = "echo", bytearray(), []
        return {"mode": "echo"}

    def do_heard(self, quiet, count=None):
        self.pass_time(int(quiet * HZ))
        self.mode = None
        return {"data": bytes(self.heard).hex(), "reads": self.reads}

    def do_break(self, hold):
        begin = self.tick + 40
        end = begin + int(hold * HZ) + 13
        self.edge(begin, LINE, 0)
        self.edge(end, LINE, 1)
        return {"begun": self.tick * NS + EPOCH, "ended": (end + 7) * NS + EPOCH}


@pytest.fixture(autouse=True)
def no_load(monkeypatch):
    """Nothing is measured here that processes could disturb."""
    monkeypatch.setattr(procedure, "Load", lambda: contextlib.nullcontext(SimpleNamespace(count=3)))


def run(world, **options):
    chosen = Options(BAUD, Format(), **{"samples": 30, "size": 300, "blocks": 3, "enable": ENABLE, **options})
    steps = []
    made = Procedure(world, profile_of(Timescale(HZ), BAUD, Format()), world, chosen, False, lambda step, done: steps.append((step, done)))
    try:
        return made.run(), made, steps
    finally:
        assert world.released == 1, "the board is let go of, however it ends"


def falls(edges):
    """Ticks of start edges: each frame of 0x55 has ten edges."""
    return [edges[k][0] for k in range(0, len(edges), 10)]


@pytest.mark.parametrize(
    "world", [World(), World(step=3000), World(late=70_000), World(half_duplex=True)], ids=("", "slow", "late", "half")
)
def test_every_record(world):
    records, _, _ = run(world)
    assert (world.refused > 0) == (world.late > 0), "what came too late is launched again"
    assert records.enable and records.rs485 and records.load == 3
    wiring = 16 * 10
    for number, block in enumerate(records.blocks):
        begin = wiring + 230 * number
        assert block.edges == tuple(world.edges[begin : begin + 230])
        assert block.enable == tuple(world.enables[2 + 2 * number : 4 + 2 * number]) and block.enable_before == 0
    assert len(records.blocks) == 3 and len(records.breaks) == BREAKS
    for each in records.breaks:
        assert each == Break(
            each.begun, each.begun + (40 + 10_013 + 7) * NS, (each.begun - EPOCH) // NS + 40, (each.begun - EPOCH) // NS + 10_053
        )
    data = bytes(k % 256 for k in range(300))
    for load in LOADS:
        assert [row.sent for row in records.from_patient[load]] == [data[:256], data[256:]]
        assert [len(row.sent) for row in records.to_patient[load]] == [64, 64, 64, 64, 44]
        for row in (*records.from_patient[load], *records.to_patient[load]):
            assert row.received == row.sent and row.errors == 0
        assert all(len(row.starts) == len(row.sent) for row in records.from_patient[load])
        assert records.echo[load].missing == 0 and len(records.echo[load].readings) == 31
    exchanges = [Exchange(*each) for each in world.answers]
    assert [*records.echo["idle"].exchanges, *records.echo["loaded"].exchanges] == exchanges and len(exchanges) == 60
    assert records.counters is not None and records.counters["tx"] > 0


def test_their_figures():
    world = World()
    records, made, steps = run(world)
    found = figures(records, Fraction(HZ))
    for load in LOADS:
        latency = found["latency"][load]
        assert latency["round_trip"]["histogram"] == [[ANSWER + 1, 30]] and latency["program"]["histogram"] == [[PROGRAM * NS, 30]]
        assert latency["pin_to_read"]["histogram"] == [[READ * NS, 30]] and latency["left_out"] == 0
        assert latency["write_to_pin"]["histogram"] == [[(ANSWER + 1 - READ - PROGRAM) * NS, 30]]
        assert latency["uncertainty_ns"] == 500 + NS and latency["resolved"] == {"pin_to_read": True, "write_to_pin": True}
    assert found["break"]["seen"]["histogram"] == [[10_013, BREAKS]] and found["break"]["program"]["histogram"] == [[10_060_000, BREAKS]]
    bit = Fraction(found["bits"]["bit_ticks"])
    lasts = [falls(block.edges)[-1] for block in records.blocks]
    lags = [round((block.enable[1][0] - last - 10 * bit) * NS) for block, last in zip(records.blocks, lasts)]
    enable = found["driver_enable"]
    assert enable["lead"]["histogram"] == [[LEAD * NS, 3]] and enable["lag"]["histogram"] == histogram(lags)
    assert (enable["active_level"], enable["by_driver"], enable["uncovered_frames"], found["complaints"]) == (1, True, 0, [])
    # every step is announced, in order, as far as it goes
    assert list(dict.fromkeys(step for step, _ in steps)) == list(made.steps)
    assert all(done < made.steps[step] for step, done in steps) and made.steps["latency, loaded"] == 30


def test_a_port_without_rs485_whose_enable_moves_anyway():
    """As an adapter that switches by itself."""
    world = World()
    world.do_enable = lambda: {"enabled": False}
    records, _, _ = run(world)
    assert not records.rs485 and figures(records, Fraction(HZ))["driver_enable"]["by_driver"] is False


@pytest.mark.parametrize(
    "world, error, why",
    [
        (World(rs485=False), LitePulseError, "nothing comes on input 2 while"),
        (World(running=True), BadInput, "a train is running on this line"),
        (World(lose=23), LitePulseError, "certify: 5 records were lost on the board"),
        (World(late=10**7), LitePulseError, "the board did not get 16 launches in time"),
    ],
    ids=("no enable", "a train", "lost records", "never in time"),
)
def test_what_ends_it(world, error, why):

    with pytest.raises(error, match=why):
        run(world)


def test_a_port_that_takes_no_bytes(monkeypatch):
    """Not forever."""
    monkeypatch.setattr(procedure, "ANSWER_SECONDS", 0.05)
    world = World()
    monkeypatch.setattr(world, "answer", lambda seconds=0: None if world.reply == {"written": 256} else World.answer(world))
    with pytest.raises(LitePulseError, match="has not taken all bytes within 0.05 s"):
        run(world)


def test_a_request_without_an_answer_is_counted(monkeypatch):
    world = World()
    frame, echoed = world.frame, []

    def some(byte, start):
        if world.mode == "echo":
            echoed.append(byte)
            if len(echoed) % 5 == 0:
                return start
        return frame(byte, start)

    monkeypatch.setattr(world, "frame", some)
    records, _, _ = run(world, samples=10)
    assert [records.echo[load].missing for load in LOADS] == [2, 2]
    assert [len(records.echo[load].exchanges) for load in LOADS] == [8, 8]
    assert figures(records, Fraction(HZ))["complaints"] == ["2 requests had no answer, idle", "2 requests had no answer, loaded"]
