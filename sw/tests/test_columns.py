# SPDX-License-Identifier: BSD-2-Clause
"""`array()` against the iterator of the same capture: on random streams of both backends edges, errors and counts are the same."""

import copy
import fcntl
import os
import random
from functools import partial

import numpy
import pytest

from litepulse import Board, LitePulseError, columns
from litepulse.backends import driver_abi as abi
from litepulse.backends.bus.backend import BusBackend
from litepulse.backends.driver.backend import DriverBackend
from litepulse.capture import EdgeEvent, LostEvent
from litepulse.streams import Event, EventStream, edges

from .fake_board import FakeBoard
from .fake_kernel import Kernel

CARRIES = (0, (1 << 32) - 200_000, (1 << 48) - 200_000, (1 << 63) - 30_000_000)  # where the board's time begins
EDGE, OVERFLOW, MISSED = 2, 4, 7  # kinds of docs/core.md
CAPTURE, FILTERED = 4, 1  # source, flag


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    monkeypatch.setattr("litepulse.job.POLL_SECONDS", 0.0)


def changed_bits(draw, width):
    """Of an edge record: mostly one bit."""
    return 1 << draw.randrange(width) | (draw.getrandbits(width) if draw.random() < 0.2 else 0)


def collected(begin, whole):
    """What a program gets of a capture that it begins: rows of edges or the error's text, then how many records were lost."""
    rows, fault, job = [], None, None
    try:
        job = begin()
        if whole:
            found = job.array()
            assert found.dtype == [("tick", "u8"), ("channel", "u1"), ("level", "u1")]
            rows = [tuple(row) for row in found.tolist()]
        else:
            for event in job:
                if isinstance(event, LostEvent):
                    job.close()
                    raise LitePulseError(f"{event.count} records were lost at tick {event.tick}")
                if isinstance(event, EdgeEvent):
                    rows.append((event.tick, 4 if event.channel == "rx" else event.channel, event.level))
    except LitePulseError as error:
        rows, fault = [], (type(error), str(error))
    return rows, fault, job and job.lost


# A stream ------------------------------------------------------------------------------------------------------------------


def block(draw, seq, tick):
    """(records, next sequence number, tick): mostly edges in a row, now and then a gap, a loss, another kind or no record."""
    words = []
    for _ in range(draw.randrange(0, 40)):
        tick += draw.choice([1, 2, 50, 1 << 20, 1 << 31])
        what = draw.random()
        kind, flags, source, data = EDGE, draw.choice([0, FILTERED, 2]), CAPTURE, draw.getrandbits(16) << 16 | draw.getrandbits(16)
        if draw.random() < 0.6:
            data = draw.getrandbits(16) << 16 | 1 << draw.randrange(16)
        step = 1
        if what < 0.01:
            seq += draw.randrange(1, 5)
        elif what < 0.02:
            kind, source, flags, data = OVERFLOW, 6, draw.getrandbits(1), draw.randrange(1, 1000)
            step = data
        elif what < 0.03:
            kind, source = draw.choice([MISSED, 1, 5, 12]), draw.randrange(8)
        elif what < 0.035:
            kind, step = 0, 0
        words += [tick & 0xFFFFFFFF, tick >> 32, (seq & 0xFFFF) << 16 | kind << 12 | source << 8 | flags, data]
        seq += step
    return words, seq, tick


@pytest.mark.parametrize("samples, inputs", [(1, 4), (2, 4), (4, 3), (8, 1)])
def test_blocks_of_records(samples, inputs):
    draw = random.Random(f"blocks {samples}")
    whole = kept = 0
    for begin in CARRIES:
        one, other = EventStream(), EventStream()
        seq, tick = draw.randrange(1 << 16), begin
        for _ in range(400):
            words, seq, tick = block(draw, seq, tick)
            channels = tuple(sorted(draw.sample(range(inputs + 1), draw.randrange(inputs + 2))))
            before = copy.copy(vars(other))
            found = columns.of_words(words, other)
            single = [one.feed(words[n : n + 4], tick) for n in range(0, len(words), 4)]
            if found is None:
                kept += 1
                assert vars(other) == before, "records that are not decoded are not counted"
                for n in range(0, len(words), 4):
                    other.feed(words[n : n + 4], tick)
            else:
                whole += 1
                events = [event for each in single for event in each]
                assert all(isinstance(event, Event) and event.kind == "edge" for event in events)
                wanted = [
                    (edge.tick, edge.channel, edge.level) for event in events for edge in edges(event, samples) if edge.channel in channels
                ]
                assert columns.edges(found, samples, channels).tolist() == sorted(wanted, key=lambda edge: edge[0])
            assert vars(one) == vars(other)
    assert min(whole, kept) > 200, (whole, kept)


# A board behind registers ------------------------------------------------------------------------------------------------------


class Busy(FakeBoard):
    """Inputs change, bytes come: what, how often and in which bursts is drawn from a seed. Now and then it is reset."""

    def __init__(self, seed, begin, samples):
        self.draw = random.Random(seed)
        self.rate = self.draw.choice([3, 40, 150])  # edges in a transaction
        self.bytes, self.resets, self.others = self.draw.random() < 0.3, self.draw.random() < 0.1, self.draw.random() < 0.3
        super().__init__(step=9_000, samples=samples)
        self.tick = self.time = begin

    def advance(self, ticks):
        super().advance(ticks)
        if not self.config:
            return
        self.time = max(self.time, self.tick - ticks)
        for _ in range(self.draw.randrange(self.rate) if self.word("capture_edges") else 0):
            self.time += self.samples * self.draw.randrange(1, 1 + ticks // self.rate)
            if self.time > self.tick:
                break
            data = self.draw.getrandbits(16) << 16 | changed_bits(self.draw, 5 * self.samples)
            self.event(self.time, EDGE, CAPTURE, self.draw.getrandbits(1), data, "edge", edge=True)
            if self.others and self.draw.random() < 0.01:
                self.store(self.time, MISSED, 2, 2, 0, self.seq)
                self.seq += 1
        if self.bytes and self.word("line") and self.draw.random() < 0.1:
            self.arrives(self.tick, self.tick - 100, self.draw.getrandbits(8))
        if self.resets and self.draw.random() < 0.01:
            self.reset()


@pytest.mark.parametrize("samples", [1, 2])
def test_a_board_behind_registers(samples):
    seen = {"edges": 0, "lost": 0, "restarted": 0, "bytes": 0}
    for number in range(40):
        seed = f"board {samples} {number}"
        draw = random.Random(seed)
        begin = draw.choice(CARRIES)
        options = {"inputs": draw.choice([(0,), (0, 1, 2, 3, "rx"), (1, "rx"), ()]), "bytes": draw.random() < 0.5}
        options["duration"] = f"{draw.randrange(1, 20)}ms"
        if draw.random() < 0.5:
            options["count"] = draw.randrange(1, 2000)
        options["bytes"] |= not options["inputs"]
        outcomes = []
        for whole in (False, True):
            fake = Busy(seed, begin, samples)
            if options.get("count") == 3:
                fake.bytes = True
            device = BusBackend(fake, "test", "fake")
            with Board(device) as board:
                outcomes.append(
                    (*collected(partial(board.capture, **options), whole), vars(device.recorder.events.decoder), fake.reads + fake.writes)
                )
        assert outcomes[0] == outcomes[1], seed
        rows, fault, lost = outcomes[0][:3]
        seen["edges"] += len(rows)
        seen["lost"] += fault is not None and "records were lost" in fault[1]
        seen["restarted"] += fault is not None and "restarted" in fault[1]
        seen["bytes"] += options["bytes"]
    assert all(seen.values()), seen


# A board of the kernel's driver ---------------------------------------------------------------------------------------------------


class Reporting(Kernel):
    """A kernel whose device has records already; the board's time goes on with each look."""

    tick = 0

    def answer(self, number, data):
        if number == abi.IOC_TIME:
            self.tick += 50_000
            return abi.Time(self.tick)
        return super().answer(number, data)


def records(draw, tick):
    """Structures as the driver hands them over."""
    out, kinds = [], [abi.KIND_EDGE] * 400 + [abi.KIND_RX, abi.KIND_LOST, abi.KIND_TX] * draw.getrandbits(1)
    for seq in range(draw.randrange(1, 1000)):
        tick += draw.choice([1, 100, 5_000])
        kind = draw.choice(kinds)
        data = draw.getrandbits(16) << 16 | changed_bits(draw, 5)
        count = draw.randrange(1, 9) if kind == abi.KIND_LOST else 0
        flags = draw.choice([0, FILTERED, abi.FLAG_NS])
        out.append(abi.Event(tick, 7 * tick % (1 << 64), seq, count, data, 0, 12, flags, kind, CAPTURE).pack())
    return out


def test_a_board_of_the_driver(monkeypatch, tmp_path):
    os.mkfifo(tmp_path / "litepulse0")
    seen = {"edges": 0, "lost": 0, "whole": 0}
    for number in range(40):
        draw = random.Random(f"driver {number}")
        begin = draw.choice(CARRIES)
        events = records(draw, begin)
        options = {"count": draw.randrange(1, 1500)} if draw.random() < 0.5 else {}
        outcomes = []
        for whole in (False, True):
            kernel = Reporting()
            kernel.tick = begin
            monkeypatch.setattr(fcntl, "ioctl", kernel.ioctl)
            with Board(DriverBackend(str(tmp_path / "litepulse0"))) as board:

                def begin_job(board=board, events=events, options=options):
                    job = board.capture(inputs=(0, 2, "rx"), duration="100ms", **options)
                    assert os.write(board.backend.device.file, b"".join(events)) == len(events) * abi.Event.layout.size
                    return job

                outcomes.append(collected(begin_job, whole))
        assert outcomes[0] == outcomes[1], number
        rows, fault, _ = outcomes[0]
        seen["edges"] += len(rows)
        seen["lost"] += fault is not None
        seen["whole"] += fault is None
    assert all(seen.values()), seen


def test_no_object_is_made_of_an_edge(monkeypatch):
    """Blocks of edges go from words to columns, which makes them fast; the test needs no clock."""
    monkeypatch.setattr(Event, "decode", lambda words: pytest.fail("an edge became an object"))
    fake = Busy("plain", 0, 1)
    fake.bytes = fake.resets = fake.others = False
    fake.rate = 3
    device = BusBackend(fake, "test", "fake")
    with Board(device) as board:
        found = board.capture(inputs=(0, 1, 2, 3, "rx"), count=500).array()
    assert len(found) == 500 and (numpy.diff(found["tick"].astype("i8")) >= 0).all()
