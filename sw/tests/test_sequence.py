# SPDX-License-Identifier: BSD-2-Clause
"""Sequences: each launch at its exact tick, waits, what a backend cannot carry, what comes too late, and files as people write them."""

import contextlib
import errno
import functools
import io
import json
import os
import random
import signal
import threading
from fractions import Fraction
from math import floor

import numpy as np
import pytest

import litepulse
from litepulse import backends, cli
from litepulse.backends import driver_abi as abi
from litepulse.backends.bus.backend import BusBackend
from litepulse.backends.interface import LAUNCH_PROFILE, NO_WAITS, Wanted
from litepulse.line import Format, Launch, Profile, QueueWait, Relative
from litepulse.sequence import SequenceRun
from litepulse.vcd import Vcd

from .fake_board import FakeBoard, field
from .fake_kernel import BoardKernel

US = 48  # ticks
MS = 1000 * US
SHORT = "1us"


class Bench(FakeBoard):
    """Time passes by transactions, and while the program waits; `stimulus`: [(tick, channel, level)] of its inputs, in order."""

    def __init__(self, step=2000, **options):
        super().__init__(step=step, **options)
        self.stimulus = []

    def advance(self, ticks):
        end = self.tick + ticks
        while self.stimulus and self.stimulus[0][0] <= end:
            at, channel, level = self.stimulus.pop(0)
            super().advance(max(0, at - 1 - self.tick))
            if field(self.word("capture_edges"), "capture_edges", "rise" if level else "fall") >> channel & 1:
                self.event(at, 2, 4, 0, level << 16 + channel | 1 << channel, "edge", edge=True)
            self.edge(at, channel, level)
        super().advance(end - self.tick)

    def pause(self, seconds):
        self.advance(round(seconds * 48_000_000))


def connected(step=2000, **options):
    device = Bench(step, **options)
    return device, BusBackend(device, "uartbone", "fake", False, [], device.pause)


@pytest.fixture(autouse=True)
def no_time_of_python(monkeypatch):
    """What a board carries depends on the board in Python alone, not on this machine."""
    monkeypatch.setattr("time.thread_time", lambda: 0.0)


@pytest.fixture
def board():
    device, backend = connected()
    with litepulse.Board(backend) as board:
        board.device = device
        yield board


def launched(device):
    """[(tick, length)] of what went out."""
    return [(start, end - start) for start, end, source, _ in device.line_log if source == "queue"]


def kinds(found):
    """What became of each, in short."""
    return [each.ended if isinstance(each, litepulse.Waited) else each.reason for each in found]


def at_rest(board):
    """Nothing goes on on the board, and another job may begin."""
    assert not board.device.queue and not board.busy
    assert list(board.capture(duration="1ms")) == []


# Places --------------------------------------------------------------------------------------------------------------------------


def test_ten_thousand_random_entries(board):
    """Against a plain calculation with fractions: of all ways to give a place, none is rounded before the end."""
    chance = random.Random(7)
    first, place, wanted, entries = 4_800_000, Fraction(4_800_000), [], []
    for number in range(10_000):
        gap = Fraction(chance.randrange(200 * US, 900 * US)) + Fraction(chance.randrange(29), 29)
        place += gap
        width = chance.randrange(1, 100 * US)
        wanted.append((floor(place), width))
        what = litepulse.ticks(width)
        seconds = gap / 48_000_000
        match number % 5:
            case 0:
                entries.append({"after": f"{gap.numerator}/{gap.denominator}t", "width": what})
            case 1:
                entries.append(litepulse.Step(after=seconds, width=what))
            case 2:
                entries.append({"after": litepulse.s(seconds), "width": f"{width}t"})
            case 3:
                entries.append({"at": litepulse.ticks(place - first), "width": what})
            case _:
                place = Fraction(floor(place))
                entries.append((np.int64(floor(place)), what))
    with board.sequence(entries, start=first) as sequence:
        found = list(sequence)
    assert launched(board.device) == wanted and sequence.ended == "all sent" and sequence.lost == 0
    assert [(each.number, each.tick, each.wanted, each.reason) for each in found] == [(n, t, t, None) for n, (t, _) in enumerate(wanted)]
    at_rest(board)


def test_all_that_can_be_launched(board):
    entries = [
        {"after": 0, "byte": 0x55},
        {"after": "1ms", "byte": np.uint8(7), "profile": 2},
        {"after": "1ms", "break": 13},
        {"after": "1ms", "width": "99t"},
        {"after": "1ms", "byte": 0x1F, "profile": 3},
        (litepulse.ms(9), Launch("break", 11)),
    ]
    profiles = {2: (1_000_000, "8N1"), 3: ("57600", "5E2")}
    with board.sequence(entries, baud=115200, profiles=profiles) as sequence:
        assert kinds(sequence) == [None] * 6
    bits = {baud: board.timescale.bit_period(baud).ticks for baud in (115200, 1_000_000, 57600)}
    lengths = [floor(10 * bits[115200]), floor(10 * bits[1_000_000]), floor(14 * bits[115200]), 99]
    lengths += [floor(9 * bits[57600]), floor(12 * bits[115200])]
    first = sequence.first_tick
    assert launched(board.device) == [(first + place * MS, length) for place, length in zip((0, 1, 2, 3, 4, 9), lengths, strict=True)]


def test_on_the_pins(tmp_path):
    """The simulated SoC: each edge is at its tick, behind waits, too."""
    vcd, stimulus = tmp_path / "pins.vcd", tmp_path / "stimulus.txt"
    stimulus.write_text("9000000 0 1\n9000960 1 1\n9001000 1 0\n9100000 0 0\n")
    entries = [
        *({"after": "20us", "width": "5us"} for _ in range(100)),
        {"wait": 0, "timeout": "1s"},
        {"wait": 1, "edge": "fall", "timeout": "1s"},
        {"after": "5ms", "width": "5us"},
        {"after": "1000/3t", "width": SHORT},
        {"after": "1000/3t", "width": SHORT},
        {"wait": 2, "timeout": "1ms", "then": "go on"},
        {"at": "+5ms", "width": "3us"},
    ]
    with litepulse.open(sim=True, vcd=vcd, stimulus=stimulus) as board:
        hz = board.tick_hz
        with board.sequence(entries, invert=True) as sequence:
            found = list(sequence)
        first = sequence.first_tick
        waits = [(each.began, each.tick, each.ended, each.level, each.number) for each in found if isinstance(each, litepulse.Waited)]
    last = first + 100 * 20 * US
    pulses = [(first + (n + 1) * 20 * US, 5 * US) for n in range(100)]
    pulses += [(9001001 + 5 * MS, 5 * US), (9001001 + 5 * MS + 333, US), (9001001 + 5 * MS + 666, US)]
    began = pulses[-1][0]
    pulses.append((began + MS + 5 * MS, 3 * US))
    assert waits == [(last, 9000001, "edge", 1, 100), (9000001, 9001001, "edge", 0, 101), (began, began + MS, "timeout", None, 105)]
    edges = [(tick, level) for tick, level in Vcd(vcd, hz).signals["tx"] if tick >= first]
    assert edges == [edge for tick, width in pulses for edge in ((tick, 1), (tick + width, 0))]
    assert [each.tick for each in found if isinstance(each, litepulse.Outcome)] == [tick for tick, _ in pulses]


def test_waits_of_the_core_on_the_pins(tmp_path):
    """The simulated core itself waits: each launch behind an edge or a timeout is at its tick, at the least distance that is promised."""
    vcd, stimulus = tmp_path / "pins.vcd", tmp_path / "stimulus.txt"
    stimulus.write_text("9000000 0 1\n9000300 1 1\n9000800 1 0\n")
    entries = [
        {"after": "20us", "width": "5us"},
        {"wait": 0, "timeout": "1s"},
        {"after": "145t", "width": "10t"},
        {"after": "128t", "width": "11t"},
        {"wait": 1, "edge": "fall"},
        {"after": "145t", "width": "12t"},
        {"after": "300t", "wait": 2, "timeout": "256t", "then": "go on"},
        {"after": "205t", "width": "13t"},
        {"wait": 3, "edge": "both", "timeout": "1ms"},
        {"after": "1ms", "width": "14t"},
    ]
    with litepulse.open(sim=True, vcd=vcd, stimulus=stimulus) as board:
        hz = board.tick_hz
        with board.sequence(entries, invert=True, waits="board") as sequence:
            found = list(sequence)
        assert sequence.ended == "timeout" and sequence.reaction == LEAST
        with board.sequence(entries[:1], invert=True) as again:
            assert kinds(again) == [None]
    first, edge, fall = sequence.first_tick + 960, 9_000_001, 9_000_801
    out = fall + 145 + 300 + 256
    assert of_waits(found) == [
        (1, edge, "edge", "board"),
        (4, fall, "edge", "board"),
        (6, out, "timeout", "board"),
        (8, out + 205 + MS, "timeout", "board"),
    ]
    pulses = [(first, 240), (edge + 145, 10), (edge + 273, 11), (fall + 145, 12), (out + 205, 13), (again.first_tick + 960, 240)]
    assert [each.tick for each in found if isinstance(each, litepulse.Outcome)] == [tick for tick, _ in pulses[:-1]]
    edges = [(tick, level) for tick, level in Vcd(vcd, hz).signals["tx"] if tick >= first]
    assert edges == [change for tick, width in pulses for change in ((tick, 1), (tick + width, 0))]


# Waits ---------------------------------------------------------------------------------------------------------------------------


def test_a_run_for_each_edge(board):
    """Edges during a run are ignored; of `both`, either counts."""
    now = board.now().tick
    board.device.stimulus = [(now + n * MS, 2, level) for n, level in ((100, 1), (102, 0), (103, 1), (200, 0), (300, 1))]
    entries = [{"after": "10ms", "width": SHORT}, {"after": "5ms", "width": SHORT}]
    with board.sequence(entries, on=litepulse.Edge(2, "both"), repeat=3) as sequence:
        found = list(sequence)
    marks = [now + n * MS for n in (100, 200, 300)]
    assert launched(board.device) == [(mark + gap * MS, US) for mark in marks for gap in (10, 15)]
    assert [(each.run, each.number, each.tick) for each in found if isinstance(each, litepulse.Waited)] == [
        (run, None, mark) for run, mark in enumerate(marks)
    ]
    assert [(each.run, each.number) for each in found if isinstance(each, litepulse.Outcome)] == [(r, n) for r in range(3) for n in (0, 1)]
    at_rest(board)


@pytest.mark.parametrize("then, more", [("stop", 0), ("go on", 1)])
def test_a_wait_that_times_out(then, more, board):
    entries = [
        {"after": 0, "width": SHORT},
        {"after": "1ms", "wait": "rx", "edge": "rise", "timeout": "3ms", "then": then},
        {"after": "10ms", "width": SHORT},
    ]
    with board.sequence(entries, start="+50ms") as sequence:
        found = list(sequence)
    began = sequence.first_tick + MS
    assert (found[1].began, found[1].tick, found[1].ended, found[1].length) == (began, began + 3 * MS, "timeout", 3 * MS)
    assert launched(board.device)[1:] == [(began + 13 * MS, US)] * more
    assert sequence.ended == ("timeout" if then == "stop" else "all sent") and len(found) == 2 + more


@pytest.mark.parametrize("distance, ended", [(3 * MS, "edge"), (3 * MS + 1, "timeout")])
def test_an_edge_at_the_last_tick(distance, ended, board):
    """It is the ticks that decide, not when the computer looks."""
    began = board.now().tick + 50 * MS
    board.device.stimulus = [(began - 1, 0, 0), (began + distance, 0, 1)]
    with board.sequence([{"after": 0, "wait": 0, "timeout": "3ms"}], start=began) as sequence:
        assert kinds(sequence) == [ended]


def test_a_timeout_for_all_waits(board):
    entries = [{"wait": 0, "then": "go on"}, {"wait": 1, "timeout": "2ms", "then": "go on"}, {"after": "10ms", "width": SHORT}]
    with board.sequence(entries, on=litepulse.Edge(3), timeout="5ms") as sequence:
        assert [each.length for each in sequence] == [5 * MS] and sequence.ended == "timeout"
    with board.sequence(entries, timeout="5ms") as sequence:
        assert [each.length for each in sequence if isinstance(each, litepulse.Waited)] == [5 * MS, 2 * MS]


def test_the_edge_just_behind_the_launch(board):
    """The answer to a pulse counts although it comes before the computer knows that the pulse has left."""
    start = board.now().tick + 50 * MS
    board.device.stimulus = [(start + 30, 1, 1), (start + 60, 1, 0)]
    entries = [{"after": 0, "width": "10t"}, {"wait": 1}, {"wait": 1, "edge": "fall"}, {"after": "10ms", "width": SHORT}]
    with board.sequence(entries, start=start) as sequence:
        found = list(sequence)
    assert [each.tick - start for each in found] == [0, 30, 60, 60 + 10 * MS]


def test_lost_records_end_a_wait(board):
    """A flood on another input: the edge may be among what was lost, so nothing follows."""
    start = board.now().tick + 50 * MS
    board.device.stimulus = [(start + 100 + n, 1, n % 2) for n in range(600)]
    entries = iter([{"after": 0, "width": "10t"}, {"wait": 0}, {"after": "10ms", "width": SHORT}])
    sequence = board.sequence(entries, start=start, inputs=[0, 1])
    found = []
    with pytest.raises(litepulse.LitePulseError, match="^entry 1: records were lost while it waited, its edge may be among them"):
        for each in sequence:
            found.append(each)
    assert kinds(found) == [None] and sequence.ended == "lost" and sequence.lost > 0 and len(launched(board.device)) == 1
    at_rest(board)


def test_lost_records_without_a_wait_are_counted(board, monkeypatch):
    """As for send(): what is lost of the outcomes is missing there, and nowhere else."""
    entries = [{"after": "30us", "width": SHORT} for _ in range(300)]
    monkeypatch.setattr(board.device.events, "depth", 60)
    monkeypatch.setattr(SequenceRun, "_busy", lambda self, found: False)
    with board.sequence(entries) as sequence:
        found = list(sequence)
    assert len(launched(board.device)) == 300 == len(found) + sequence.lost
    assert {each.tick for each in found} <= {tick for tick, _ in launched(board.device)}
    assert all(each.tick == sequence.first_tick + 30 * US * (each.number + 1) for each in found)


def test_what_a_wait_needs(board):
    with board.sequence([{"after": 0, "wait": 0, "timeout": "1ms"}]) as sequence:
        list(sequence)
    least = sequence.pace.reaction
    for after, message in ((least - 1, "entry 1: .* behind a wait is too near: through the computer it takes"), (least, None)):
        entries = [{"wait": 0, "timeout": "1ms", "then": "go on"}, {"after": litepulse.ticks(after), "width": SHORT}]
        if message is None:
            with board.sequence(entries) as sequence:
                assert kinds(sequence) == ["timeout", None]
            continue
        with pytest.raises(litepulse.BadInput, match=message) as error:
            board.sequence(entries)
        assert str(error.value).endswith("`respond` answers an edge from 125 ns on, also with a burst")
        at_rest(board)


# Waits in the board --------------------------------------------------------------------------------------------------------------

LEAST = 145  # ticks behind an edge, 205 behind a timeout


@pytest.fixture(params=["bus", "driver"])
def waiting(request, monkeypatch):
    """A board whose launch queue has waits, at a port, and as the kernel driver has it."""
    if request.param == "driver":
        with on_the_driver(monkeypatch, sequence=True) as board:
            yield board
        return
    device, backend = connected(sequence=True)
    with litepulse.Board(backend) as board:
        board.device = device
        yield board


@contextlib.contextmanager
def on_the_driver(monkeypatch, version=abi.ABI, **options):
    """A Board of the kernel driver. Its tty has no inverted line, so nothing is received."""
    device = Bench(**options)
    kernel = BoardKernel(device, version)
    with monkeypatch.context() as patches:
        kernel.install(patches)
        with litepulse.open("/dev/null") as board:
            board.device, board.kernel = device, kernel
            patches.setattr(board, "sequence", functools.partial(board.sequence, invert=True))
            yield board
        assert set(kernel.errors) <= {errno.ETIME, errno.EAGAIN}


def of_waits(found):
    """[(number, tick, how, what waited)] of the waits."""
    return [(each.number, each.tick, each.ended, each.by) for each in found if isinstance(each, litepulse.Waited)]


def test_behind_an_edge_exactly(waiting):
    """The first launch leaves 145 ticks behind the edge, whenever that comes; the computer learns of both later."""
    start = waiting.now().tick + 100 * MS
    waiting.device.stimulus = [(start + 7777, 2, 1), (start + 300 * MS + 1, 2, 0)]
    entries = [
        {"after": 0, "width": "10t"},
        {"wait": 2},
        {"after": f"{LEAST}t", "width": "20t"},
        {"after": "128t", "width": "30t"},
        {"at": "+1ms", "width": "40t"},
        {"wait": 2, "edge": "both", "timeout": "1s"},
        {"after": "1000/3t", "width": "50t"},
        {"after": "1000/3t", "width": "60t"},
    ]
    with waiting.sequence(entries, start=start) as sequence:
        found = list(sequence)
    first, second = start + 7777, start + 300 * MS + 1
    places = [first + LEAST, first + LEAST + 128, first + MS, second + 333, second + 666]
    assert launched(waiting.device) == [(start, 10), *zip(places, (20, 30, 40, 50, 60), strict=True)]
    assert of_waits(found) == [(1, first, "edge", "board"), (5, second, "edge", "board")]
    assert [each.number for each in found] == list(range(8)) and sequence.ended == "all sent"
    assert [(each.began, each.length, each.level) for each in found if isinstance(each, litepulse.Waited)] == [
        (start, 7777, 1),
        (first + MS, second - first - MS, 0),
    ]
    assert all(each.tick == each.wanted for each in found if isinstance(each, litepulse.Outcome))
    assert sequence.reaction == LEAST < sequence.pace.reaction
    at_rest(waiting)


def test_what_a_wait_in_the_board_needs(waiting):
    """One tick less is refused before anything leaves; the computer is no better, and a board without waits says what one does."""
    for after, then, least in ((LEAST, "stop", LEAST), (205, "go on", 205)):
        wait = {"wait": 0, "timeout": "1ms", "then": then}
        message = (
            rf"^entry 1: .*\({least - 1} ticks\) behind a wait is too near: in the board it takes .*\({least} ticks\); `respond` answers"
        )
        with pytest.raises(litepulse.BadInput, match=message):
            waiting.sequence([wait, {"after": f"{after - 1}t", "width": SHORT}])
        with waiting.sequence([wait, {"after": f"{after}t", "width": SHORT}]) as sequence:
            assert kinds(sequence) == ["timeout", None][: 1 + (then == "go on")]
    with pytest.raises(litepulse.BadInput, match="through the computer it takes"):
        waiting.sequence([{"wait": 0}, {"after": "3us", "width": SHORT}], waits="host")
    at_rest(waiting)


def test_a_board_without_waits_is_named(board):
    with pytest.raises(litepulse.BadInput, match=r"a board with waits does it from 3.021 µs \(145 ticks\) on, `respond` answers"):
        board.sequence([{"wait": 0}, {"after": "3us", "width": SHORT}])
    with pytest.raises(litepulse.Unsupported, match="^fake: its launch queue has no waits: the computer waits"):
        board.sequence([{"wait": 0}], waits="board")
    with pytest.raises(litepulse.BadInput, match="^waits: 'me' is not 'board' or 'host'"):
        board.sequence([{"wait": 0}], waits="me")
    at_rest(board)


@pytest.mark.parametrize("distance, ended", [(3 * MS, "edge"), (3 * MS + 1, "timeout")])
@pytest.mark.parametrize("gap", [0, 5 * MS])
def test_an_edge_at_the_last_tick_in_the_board(gap, distance, ended, waiting):
    """Behind the launch at once, or later: the edges up to there do not count."""
    start = waiting.now().tick + 50 * MS
    began = start + gap
    waiting.device.stimulus = [(start - 1, 0, 1), (start, 0, 0), (began - 1, 0, 1), (began, 0, 0), (began + distance, 0, 1)][
        0 if gap else 4 :
    ]
    entries = [
        {"after": 0, "width": "10t"},
        {"after": litepulse.ticks(gap), "wait": 0, "timeout": "3ms", "then": "go on"},
        {"after": "5us", "width": "20t"},
    ]
    with waiting.sequence(entries, start=start, waits="board") as sequence:
        found = list(sequence)
    end = began + 3 * MS
    assert of_waits(found) == [(1, end, ended, "board")] and launched(waiting.device)[1:] == [(end + 240, 20)]
    assert found[1].began == began and found[1].level == (1 if ended == "edge" else None)


@pytest.mark.parametrize("more", [0, 300])
def test_a_timeout_in_the_board_that_stops(more, waiting):
    """Nothing behind it leaves, and nothing is left on the board."""
    entries = [{"after": "1ms", "width": SHORT}, {"wait": 1, "timeout": "3ms"}, *[{"after": "1ms", "width": SHORT}] * (1 + more)]
    with waiting.sequence(entries, waits="board") as sequence:
        found = list(sequence)
    assert kinds(found) == [None, "timeout"] and sequence.ended == "timeout" and len(launched(waiting.device)) == 1
    at_rest(waiting)
    with waiting.sequence(entries[:1]) as sequence:
        assert kinds(sequence) == [None]


def test_a_run_in_the_board_for_each_edge(waiting):
    """Edges during a run are ignored, until the line is free; of `both`, either counts."""
    now = waiting.now().tick
    waiting.device.stimulus = [
        (now + n * MS, 2, level) for n, level in ((300, 1), (302, 0), (304, 1), (305, 0), (500, 1), (505, 0), (600, 1))
    ]
    entries = [{"after": "3.1us", "width": SHORT}, {"after": "1ms", "width": "4.5ms"}]
    with waiting.sequence(entries, on=litepulse.Edge(2, "both"), repeat=3) as sequence:
        found = list(sequence)
    marks = [now + n * MS for n in (300, 500, 600)]
    first = floor(Fraction(31, 10) * US)
    assert launched(waiting.device) == [one for mark in marks for one in ((mark + first, US), (mark + first + MS, 9 * MS // 2))]
    assert of_waits(found) == [(None, mark, "edge", "board") for mark in marks]
    assert [each.run for each in found] == [0, 0, 0, 1, 1, 1, 2, 2, 2] and sequence.ended == "all sent"
    began = [each.began for each in found if isinstance(each, litepulse.Waited)]
    assert began[1:] == [mark + first + MS + 9 * MS // 2 for mark in marks[:2]] and sequence.first_tick == began[0]
    at_rest(waiting)


def test_many_entries_behind_waits_in_the_board(waiting):
    """More than the queue holds: it is refilled behind each wait, and while one is waited for."""
    entries = [{"wait": 0}, *[{"after": "1ms", "width": SHORT}] * 150]
    now = waiting.now().tick
    marks = [now + n * 1000 * MS + n for n in (1, 2, 3)]
    waiting.device.stimulus = [one for mark in marks for one in ((mark, 0, 1), (mark + 10 * MS, 0, 0))]
    with waiting.sequence(entries, repeat=3, waits="board") as sequence:
        found = list(sequence)
    assert launched(waiting.device) == [(mark + n * MS, US) for mark in marks for n in range(1, 151)]
    assert [tick for _, tick, *_ in of_waits(found)] == marks and {by for *_, by in of_waits(found)} == {"board"}
    assert len(sequence._sequence.labels) == 0


def test_a_wait_of_the_computer_between(waiting):
    """One that begins too soon behind the entry before: the launches behind it are placed by its end all the same."""
    start = waiting.now().tick + 50 * MS
    waiting.device.stimulus = [(start + 9 * MS, 0, 1), (start + 20 * MS, 1, 1), (start + 90 * MS, 2, 1)]
    entries = [
        {"after": 0, "width": "10t"},
        {"wait": 0},
        {"after": "200t", "width": "20t"},
        {"after": "100t", "wait": 1},
        {"after": "30ms", "width": "30t"},
        {"wait": 2},
        {"after": "200t", "width": "40t"},
    ]
    with waiting.sequence(entries, start=start) as sequence:
        found = list(sequence)
    assert [by for *_, by in of_waits(found)] == ["board", "host", "board"]
    assert [tick - start for tick, _ in launched(waiting.device)] == [0, 9 * MS + 200, 50 * MS, 90 * MS + 200]
    assert [each.number for each in found] == list(range(7)) and sequence.reaction == sequence.pace.reaction
    with pytest.raises(litepulse.BadInput, match="^entry 3: the board cannot wait here: it begins .*100 ticks.* behind the entry before"):
        waiting.sequence(entries, waits="board")
    with pytest.raises(litepulse.BadInput, match="^entry 0: the board cannot wait here: a timeout there is .*256 ticks.* or more"):
        waiting.sequence([{"wait": 0, "timeout": "255t"}], waits="board")
    at_rest(waiting)


def test_the_computer_waits_if_it_is_fast_enough(waiting):
    """Unless the program chooses: a sequence for a board without waits is as it was there, also if an edge comes at once. The board waits
    where the computer is too slow, for one launch or for their number."""
    shot, wait = {"after": 0, "width": "10t"}, {"wait": 1}
    far, near = {"after": "50ms", "width": SHORT}, {"after": "3.1us", "width": SHORT}

    def ways(entries, **options):
        start = waiting.now().tick + 50 * MS
        waiting.device.stimulus = [(start + 30, 1, 1), (start + 60, 1, 0), (start + 40 * MS, 1, 1), (start + 50 * MS, 1, 0)]
        with waiting.sequence(entries, start=start, **options) as sequence:
            return [(each.tick - start, each.by) for each in sequence if isinstance(each, litepulse.Waited)]

    assert ways([shot, wait, far]) == ways([shot, wait]) == ways([shot, wait, far], waits="host") == [(30, "host")]
    assert ways(iter([shot, wait, far]), inputs=[1]) == [(30, "host")]
    late = {"after": "1ms", "wait": 1}
    assert ways([shot, late, near]) == ways([shot, late, far], waits="board") == [(40 * MS, "board")]
    reaction = waiting.sequence([shot])
    least = {"after": litepulse.ticks(reaction.pace.reaction), "width": SHORT}
    assert list(reaction) and ways([shot, late, least, far]) == [(40 * MS, "host")]
    assert ways([shot, late, least, *[near] * 50]) == [(40 * MS, "board")]
    assert ways(iter([shot, late, near]), inputs=[1], waits="board") == [(40 * MS, "board")]
    with pytest.raises(litepulse.BadInput, match="through the computer it takes"):
        ways(iter([shot, late, near]), inputs=[1])
    at_rest(waiting)


@pytest.mark.parametrize("timeout", [None, "10ms"])
def test_an_edge_before_the_board_listens(timeout, waiting):
    """Within the first 112 cycles behind a launch: it is an error, no silence; the computer sees it."""
    entries = [
        {"after": 0, "width": "10t"},
        {"wait": 1, "timeout": timeout, "then": timeout and "go on"},
        {"after": "50ms", "width": SHORT},
    ]
    for waits in ("board", "host"):
        start = waiting.now().tick + 50 * MS
        waiting.device.stimulus = [(start + 30, 1, 1), (start + 60, 1, 0)]
        sequence, found = waiting.sequence(entries, start=start, waits=waits), []
        if waits == "host":
            assert kinds(sequence) == [None, "edge", None]
            continue
        with pytest.raises(litepulse.LitePulseError, match=rf"^entry 1: its edge came at tick {start + 30}, .*\(30 ticks\) behind its beg"):
            found += sequence
        assert kinds(found) == [] and len(launched(waiting.device)) == 1 or kinds(found) == [None]
        at_rest(waiting)
        waiting.device.line_log.clear()


def test_an_underrun_behind_a_wait_in_the_board(waiting, monkeypatch):
    """The computer stands still while the queue runs empty behind the wait: what was queued has left, nothing else."""
    waiting.device.stimulus = [(waiting.now().tick + 200 * MS, 0, 1)]
    entries = [{"wait": 0}, *[{"after": "1ms", "width": SHORT}] * 300]
    found, error = late(waiting, monkeypatch, between_looks, entries, waits="board")
    sent = launched(waiting.device)
    assert 60 <= len(sent) < 300 and error.entry == len(sent) + 1 and kinds(found) == ["edge"] + [None] * len(sent)
    at_rest(waiting)


def test_a_wait_that_comes_too_late(waiting, monkeypatch):
    """The board refuses it, and all behind it, although that would be in time."""
    start = waiting.now().tick + 50 * MS
    due = start + 65 * MS + 1000 * MS  # of the first launch behind it
    launches = [{"after": "1ms", "width": SHORT}] * 64
    entries = [*launches, {"wait": 0, "timeout": "1ms"}, {"after": "1s", "width": SHORT}, *[{"after": "100us", "width": SHORT}] * 5]

    def until_it_is_due(monkeypatch, board):
        launch = board.backend.queue.launch

        def slow(entries):
            if isinstance(entries[0][2], QueueWait):
                board.device.advance(due - 20_000 - board.device.tick)
            return launch(entries)

        monkeypatch.setattr(board.backend.queue, "launch", slow)

    found, error = late(waiting, monkeypatch, until_it_is_due, entries, start=start, waits="board")
    assert waiting.now().tick > due, "it could have left"
    assert len(launched(waiting.device)) == 64 and kinds(found) == [None] * 64 and error.entry == 64
    at_rest(waiting)


def test_ctrl_c_and_stop_while_the_board_waits(waiting, monkeypatch):
    """The wait and all behind it are taken back."""
    entries = [{"after": "1ms", "width": SHORT}, {"wait": 0}, {"after": "5us", "width": SHORT}]
    with waiting.sequence(entries) as sequence:
        assert next(sequence).reason is None
        sequence.stop()
        assert list(sequence) == [] and sequence.ended == "stop"
    at_rest(waiting)
    wait, once = waiting.backend.recorder.wait, [signal.SIGINT]

    def interrupted(seconds):
        if once and len(launched(waiting.device)) == 2:
            signal.raise_signal(once.pop())
        wait(seconds)

    with waiting.sequence(entries) as sequence:
        monkeypatch.setattr(waiting.backend.recorder, "wait", interrupted)
        assert kinds(sequence) == [None] and sequence.ended == "interrupt" and sequence.interrupted
    at_rest(waiting)
    waiting.device.stimulus = [(waiting.now().tick + 100 * MS, 0, 1)]
    with waiting.sequence(entries) as sequence:
        assert kinds(sequence) == [None, "edge", None]


def test_lost_records_do_not_end_a_wait_in_the_board(waiting):
    """A flood on another input: the launches are where they should be, what is lost of the records is counted."""
    start = waiting.now().tick + 50 * MS
    mark = start + 40 * MS
    waiting.device.stimulus = [*((start + 1000 + n, 1, n % 2) for n in range(600)), (mark, 0, 1)]
    entries = [{"after": 0, "width": "10t"}, {"wait": 0}, {"after": "10us", "width": SHORT}]
    with waiting.sequence(entries, start=start, inputs=[1]) as sequence:
        found = list(sequence)
    assert launched(waiting.device) == [(start, 10), (mark + 480, US)] and sequence.lost > 0
    assert of_waits(found) == [(1, mark, "edge", "board")]


def test_a_generator_sees_a_wait_end_in_the_board(waiting):
    """It gives None until it knows, and what it gives then counts from the end of the wait."""
    waiting.device.stimulus = [(waiting.now().tick + 300 * MS, 0, 1)]
    ended = []

    def entries():
        yield {"after": "1ms", "width": SHORT}
        yield {"wait": 0}
        while not ended:
            yield None
        yield {"after": "100ms", "width": SHORT}

    found = []
    with waiting.sequence(entries(), inputs=[0], waits="board") as sequence:
        for each in sequence:
            found.append(each)
            ended += [each] if isinstance(each, litepulse.Waited) else []
    assert kinds(found) == [None, "edge", None] and found[1].by == "board" and found[2].tick == found[1].tick + 100 * MS


# What a backend carries ----------------------------------------------------------------------------------------------------------


def test_too_dense_a_list_is_refused_before_it_begins(board):
    """The densest stretch beyond the queue decides: 64 at once are no matter, nor are many that are sparse."""
    with board.sequence([{"after": "10ms", "width": SHORT}]) as sequence:
        list(sequence)
    each, count = sequence.pace.each, len(board.device.line_log)
    burst = [{"after": "3us", "width": SHORT}] * 60
    with board.sequence([*burst, *[{"after": "1ms", "width": SHORT}] * 100, *burst]) as sequence:
        assert set(kinds(sequence)) == {None}
    dense = [{"after": litepulse.ticks(each // 2), "width": SHORT}] * 1000
    count = len(board.device.line_log)
    with pytest.raises(litepulse.BadInput) as error:
        board.sequence([*[{"after": "1ms", "width": SHORT}] * 200, *dense, {"after": "1ms", "width": SHORT}])
    assert "; 64 wait in fake, which is refilled within " in str(error.value)
    assert str(error.value).endswith(f" and then at {48_000_000 // each} entries a second")
    assert str(error.value).startswith("entry ") and 260 < int(str(error.value).split()[1][:-1]) < 420
    assert len(board.device.line_log) == count
    with board.sequence([{"after": litepulse.ticks(each), "width": SHORT}] * 1500) as sequence:
        assert set(kinds(sequence)) == {None}, "at the rate that it names it is carried"
    at_rest(board)


def test_short_runs_are_as_dense_as_a_long_one(board):
    entries = [{"after": "10us", "width": SHORT}] * 10
    with pytest.raises(litepulse.BadInput, match="too dense: .* entries within"):
        board.sequence(entries, repeat=1000)
    with board.sequence(entries, repeat=6) as sequence:
        assert [(each.run, each.number) for each in sequence] == [(run, n) for run in range(6) for n in range(10)]


def test_of_an_iterator_the_check_goes_along(board):
    def entries():
        for n in range(2000):
            yield {"after": "1ms" if n < 1000 else "3us", "width": SHORT}

    sequence = board.sequence(entries())
    with pytest.raises(litepulse.BadInput, match=r"^entry 1\d\d\d: too dense"):
        list(sequence)
    count = len(launched(board.device))
    assert 600 < count <= 1000
    at_rest(board)
    with pytest.raises(litepulse.BadInput, match="^entry 64: too dense: 65 entries within"):
        board.sequence({"after": "3us", "width": SHORT} for _ in range(1000))
    assert len(launched(board.device)) == count
    at_rest(board)


def test_neighbours_in_the_queue(board):
    with pytest.raises(litepulse.BadInput, match=r"^entry 1: .*\(127 ticks\) behind the one before is too near: .*\(128 ticks\)"):
        board.sequence([{"after": 0, "width": "10t"}, {"after": "127t", "width": "10t"}])
    with board.sequence([{"after": 0, "width": "10t"}, {"after": "128t", "width": "10t"}]) as sequence:
        assert kinds(sequence) == [None, None]


def test_a_beginning_that_is_too_soon(board):
    entries = [{"after": "10us", "width": SHORT}] * 60
    with pytest.raises(litepulse.BadInput, match=r"^entry 0: too soon"):
        board.sequence(entries, start=board.now().tick + 3000)
    assert not launched(board.device)
    at_rest(board)


# Too late ------------------------------------------------------------------------------------------------------------------------


def late(board, monkeypatch, when, entries, **options):
    """A sequence whose program stands still for a second once: (what came, the error)."""
    sequence, found = board.sequence(entries, **options), []
    when(monkeypatch, board)
    with pytest.raises(litepulse.Underrun) as error:
        for each in sequence:
            found.append(each)
    assert sequence.ended == "underrun" and sequence.underrun is error.value and list(sequence) == []
    return found, error.value


def between_looks(monkeypatch, board, device=None):
    look, looks = board.backend.look, iter(range(10**6))

    def slow(*words):
        if next(looks) == 5:
            (device or board.device).advance(48_000_000)
        return look(*words)

    monkeypatch.setattr(board.backend, "look", slow)


def on_the_way(monkeypatch, board):
    """Launches stand still between the last look at the time and the board."""
    launch, calls = board.backend.queue.launch, iter(range(10**6))

    def slow(entries):
        if next(calls) == 1:
            board.device.advance(48_000_000)
        return launch(entries)

    monkeypatch.setattr(board.backend.queue, "launch", slow)


def test_a_refill_that_comes_too_late(board, monkeypatch):
    """What was queued has left, nothing else; the error names the first that has not."""
    entries = [{"after": "1ms", "width": SHORT}] * 500
    found, error = late(board, monkeypatch, between_looks, entries)
    sent = launched(board.device)
    assert 64 <= len(sent) < 500 and len(found) == len(sent) and kinds(found) == [None] * len(sent)
    assert error.entry == len(sent) and error.run == 0 and error.reason == "late"
    assert str(error) == f"entry {len(sent)}: it could not be queued in time, so it did not leave: the sequence ends before it"
    at_rest(board)


def test_launches_that_are_late_on_their_way(board, monkeypatch):
    """The core refuses them; those behind are taken back."""
    entries = [{"after": "1ms", "width": SHORT}] * 64 + [{"after": "100ms", "width": SHORT}] * 100
    found, error = late(board, monkeypatch, on_the_way, entries)
    sent = launched(board.device)
    assert kinds(found).count("late") >= 1 and error.entry == kinds(found).index("late")
    assert [each.tick for each in found if each.reason is None] == [tick for tick, _ in sent]
    assert all(each.tick == each.wanted for each in found if each.reason is None)
    at_rest(board)


def test_a_generator_that_is_slow(board):
    def entries():
        for n in range(100):
            if n == 70:
                board.device.advance(48_000_000)
            yield {"after": "1ms", "width": SHORT}

    sequence = board.sequence(entries())
    board.device.line_log.clear()
    with pytest.raises(litepulse.Underrun) as error:
        list(sequence)
    assert error.value.entry == len(launched(board.device)) <= 70
    at_rest(board)


@pytest.mark.parametrize("waits", [False, True])
def test_a_first_entry_that_is_slow(board, waits):
    """The beginning is soon behind it, whether the generator blocks or gives None meanwhile."""

    def entries():
        board.device.advance(48_000_000)
        if waits:
            yield None
            board.device.advance(48_000_000)
        for _ in range(100):
            yield {"after": "1ms", "width": SHORT}

    sequence = board.sequence(entries())
    found = list(sequence)
    assert kinds(found) == kinds(found[:1]) * 100 and found[0].reason is None
    assert [each.tick for each in found] == [sequence.first_tick + 48_000 * n for n in range(1, 101)]


def test_a_generator_that_raises(board):
    def entries(count):
        for _ in range(count):
            yield {"after": "1ms", "width": SHORT}
        raise RuntimeError("no more paper")

    with pytest.raises(RuntimeError, match="no more paper"):
        board.sequence(entries(10))
    assert not launched(board.device)
    at_rest(board)
    sequence = board.sequence(entries(600))
    with pytest.raises(RuntimeError, match="no more paper"):
        list(sequence)
    at_rest(board)


def test_a_source_that_has_no_more_yet(board):
    entries = iter([{"after": 0, "width": SHORT}, None, None, {"after": "50ms", "width": SHORT}, None])
    with board.sequence(entries) as sequence:
        assert [(each.number, each.tick - sequence.first_tick) for each in sequence] == [(0, 0), (1, 50 * MS)]


# As a job ------------------------------------------------------------------------------------------------------------------------


def test_poll_recv_and_batches(board):
    entries = [{"after": "1ms", "width": SHORT}] * 20
    with board.sequence(entries) as sequence:
        found = []
        while not sequence.over:
            found += sequence.poll()
        assert [each.number for each in found] == list(range(20)) and sequence.recv(0) is None
    with board.sequence(entries) as sequence:
        assert [sequence.recv("10s").number for _ in range(20)] == list(range(20)) and sequence.recv() is None
    with board.sequence(entries) as sequence:
        assert [each.number for batch in sequence.batches() for each in batch] == list(range(20))
    assert sequence.ended == "all sent"


def test_stop_and_ctrl_c(board, monkeypatch):
    with board.sequence([{"after": "1ms", "width": SHORT}], repeat=0) as sequence:
        assert [next(sequence).run for _ in range(2000)] == list(range(2000))
        assert len(sequence._sequence.labels) < 400 > len(sequence._wanted), "memory grows with the length"
        sequence.stop()
        assert sequence.ended == "stop"
    at_rest(board)
    wait, once = board.backend.recorder.wait, [signal.SIGINT]

    def interrupted(seconds):
        if once:
            signal.raise_signal(once.pop())
        wait(seconds)

    with board.sequence([{"after": "1ms", "width": SHORT}], repeat=0) as sequence:
        monkeypatch.setattr(board.backend.recorder, "wait", interrupted)
        count = len(list(sequence))
        assert sequence.ended == "interrupt" and sequence.interrupted and count <= 64
    at_rest(board)


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    "entries, options, message",
    [
        ([], {}, "entries: there are none"),
        ("text", {}, "entries: 'text' is not a list"),
        (5, {}, "entries: 5 is a single value"),
        ([5], {}, "entry 0: 5 is not a Step, a mapping, or a pair (at, what)"),
        ([None], {}, "entries: None means that there are no more yet"),
        ([{"after": 0}], {}, "entry 0: give one of byte, width, break, code and wait"),
        ([{"after": 0, "byte": 1, "width": 1}], {}, "entry 0: give one of byte, width, break, code and wait"),
        ([{"byte": 1}], {}, "entry 0: give at or after"),
        ([{"byte": 1, "at": 5, "after": 5}], {}, "entry 0: give one of at and after"),
        ([{"byte": 1, "at": 5, "tick": 5}], {}, "entry 0: tick: it is given twice"),
        ([{"byte": 1, "colour": 5}], {}, "entry 0: 'colour' is not one of at, tick, after, byte,"),
        ([{"after": -1, "byte": 1}], {}, "entry 0: after: -1 is negative"),
        ([{"after": NAN, "byte": 1}], {}, "entry 0: after: nan is not a number"),
        ([{"after": INF, "byte": 1}], {}, "entry 0: after: inf is not a number"),
        ([{"after": np.float64("nan"), "byte": 1}], {}, "entry 0: after: "),
        ([{"after": True, "byte": 1}], {}, "entry 0: after: True is not a number"),
        ([{"after": "400d", "byte": 1}], {}, "entry 0: after: '400d' is not a number"),
        ([{"after": 10**9, "byte": 1}], {}, "entry 0: after: 1 Gs is more than 366 days"),
        ([{"after": 0, "byte": 300}], {}, "entry 0: byte: 300 does not fit"),
        ([{"after": 0, "byte": 1, "profile": 2}], {}, "entry 0: profile: no profile 2 is given"),
        ([{"after": 0, "byte": 1, "profile": 4}], {}, "entry 0: profile: 4 is outside 1 to 3"),
        ([{"after": 0, "byte": 1, "timeout": 1}], {}, "entry 0: timeout: only a wait has it"),
        ([{"wait": 7}], {}, "entry 0: wait: 7 is not a channel of this device"),
        ([{"wait": litepulse.Byte(1)}], {}, "entry 0: wait: byte 0x01 is not an edge"),
        ([{"wait": 0, "edge": "up"}], {}, "entry 0: edge: 'up' is not rise, fall or both"),
        ([{"wait": 0, "timeout": "1s", "then": "perhaps"}], {}, "entry 0: then: 'perhaps' is not 'go on' or 'stop'"),
        ([{"wait": 0, "then": "stop"}], {}, "entry 0: then: 'stop' says what happens after a timeout"),
        (
            [{"after": 0, "byte": 1}, {"after": "1ms", "byte": 1}],
            {},
            "entry 1: it is 1 ms (48000 ticks) from the beginning, but the line is busy",
        ),
        ([{"tick": 5, "byte": 1}], {}, "entry 0: tick 5 has passed, the board is at"),
        ([{"tick": 10**17, "byte": 1}], {}, "entry 0: tick 100000000000000000 is more than 366 days ahead"),
        ([(1.5, 1)], {}, "entry 0: at: 1.5 could be a tick or seconds"),
        ([{"wait": 0}, {"tick": 10**9, "byte": 1}], {}, "entry 1: its tick cannot be known in advance behind a wait"),
        ([{"tick": 10**9, "byte": 1}], {"on": litepulse.Edge(0)}, "entry 0: its tick cannot be known in advance"),
        ([{"tick": 10**9, "byte": 1}], {"repeat": 2}, "entry 0: its tick cannot be known in advance"),
        (
            [{"after": 0, "byte": 1}],
            {"repeat": 2},
            "entry 0 in run 2 of repeat: it is 0 s (0 ticks) from the beginning, but the line is busy",
        ),
        ([{"after": 0, "byte": 1}], {"on": litepulse.Break()}, "wait: break is not an edge"),
        ([{"after": 0, "byte": 1}], {"on": litepulse.Edge(0), "start": "+1s"}, "start and on exclude each other"),
        ([{"after": 0, "byte": 1}], {"profiles": {1: (9600, "8N1")}}, "profiles: 1 is outside 2 to 3"),
        ([{"after": 0, "byte": 1}], {"profiles": {2: 9600}}, "profiles: 9600 is not like"),
        ([{"after": 0, "byte": 1}], {"profiles": [2]}, "profiles: [2] is not like"),
    ],
)
def test_nothing_leaves_of_a_list_with_a_fault(entries, options, message, board):
    with pytest.raises(litepulse.BadInput) as error:
        board.sequence(entries, **options)
    assert str(error.value).startswith(message) and "\n" not in str(error.value)
    assert not launched(board.device) and not board.device.queue and not board.busy


@pytest.mark.parametrize(
    "entries, options, message",
    [
        # The beginning is not known yet: what is shown counts from it.
        (
            [{"at": "+1ms", "width": "10us"}, {"at": "+3ms", "width": "3ms"}],
            {"repeat": 3},
            "entry 0 in run 2 of repeat: it is 4 ms (192000 ticks) from the beginning, "
            "but the line is busy with the one before until 6 ms (288000 ticks) from the beginning",
        ),
        (
            [{"at": "+1ms", "width": "10us"}, {"at": "+3ms", "width": "9us"}, {"at": "+1ms", "width": "9us"}],
            {"repeat": 0},
            "entry 2: it is 1 ms (48000 ticks) from the beginning, but the line is busy with the one before until 3.009 ms",
        ),
        (
            [{"wait": 0}, {"after": "50ms", "width": "1ms"}, {"after": "1us", "width": "1us"}],
            {},
            "entry 2: it is 50.001 ms (2400048 ticks) from the end of the wait before, "
            "but the line is busy with the one before until 51 ms (2448000 ticks) from the end of the wait before",
        ),
        (
            [{"after": "50ms", "width": "1ms"}, {"after": "1us", "width": "1us"}],
            {"on": litepulse.Edge(0)},
            "entry 1: it is 50.001 ms (2400048 ticks) from the edge of on, but the line is busy with the one before until 51 ms",
        ),
        # It is known: these are the ticks of the board.
        (
            [{"after": "1ms", "width": "2ms"}, {"after": "1ms", "width": "1us"}],
            {"start": 9_600_000},
            "entry 1: it is at tick 9696000, but the line is busy with the one before until tick 9744000",
        ),
        (
            [{"tick": 9_600_000, "width": "2ms"}, {"after": "1ms", "width": "1us"}],
            {},
            "entry 1: it is at tick 9648000, but the line is busy with the one before until tick 9696000",
        ),
        (
            [{"after": 0, "width": "1s"}, {"tick": 9_600_000, "width": "1us"}],
            {},
            "entry 1: it is at tick 9600000, but the line is busy with the one before until 1 s (48000000 ticks) from the beginning",
        ),
    ],
)
def test_where_launches_overlap(entries, options, message, board):
    """No tick is shown that is none of the board's; the run is named."""
    with pytest.raises(litepulse.BadInput) as error:
        board.sequence(entries, **options)
    assert str(error.value).startswith(message)
    at_rest(board)


def test_where_launches_of_an_iterator_overlap(waiting):
    """Behind a wait in the board its end is not known; without one the ticks are those of the board."""
    dense = [{"after": "50ms", "width": "1ms"}, {"after": "500us", "width": "1us"}]
    with pytest.raises(litepulse.BadInput) as error:
        waiting.sequence(iter([{"wait": 0}, *dense]), inputs=[0], waits="board")
    assert str(error.value) == (
        "entry 2: it is 50.5 ms (2424000 ticks) from the end of the wait before, "
        "but the line is busy with the one before until 51 ms (2448000 ticks) from the end of the wait before"
    )
    first = waiting.now().tick + 100 * MS
    with pytest.raises(litepulse.BadInput) as error:
        waiting.sequence(iter(dense), start=first)
    busy = f"the line is busy with the one before until tick {first + 51 * MS}"
    assert str(error.value) == f"entry 1: it is at tick {first + 50 * MS + 24_000}, but {busy}"
    at_rest(waiting)


@pytest.mark.parametrize(
    "entries, options, message",
    [
        ([{"after": 0, "width": SHORT}], {"timeout": "1s"}, "timeout: nothing waits: there is no on, and no entry is a wait"),
        (iter([{"after": 0, "width": SHORT}]), {"timeout": "1s"}, "timeout: nothing waits: there is no on, and inputs names no channel"),
        ([{"after": 0, "width": SHORT}], {"mark_width": "1s"}, "mark_width: no entry has a code"),
    ],
)
def test_what_would_be_without_effect(entries, options, message, board):
    with pytest.raises(litepulse.BadInput) as error:
        board.sequence(entries, **options)
    assert str(error.value) == message
    at_rest(board)


def test_an_iterator_is_not_repeated(board):
    with pytest.raises(litepulse.BadInput, match="repeat: an iterator gives its entries once"):
        board.sequence(iter([{"after": "1ms", "byte": 1}]), repeat=2)
    with pytest.raises(litepulse.BadInput, match="entry 1: wait: edges of this channel are not recorded: name it in inputs"):
        board.sequence(iter([{"after": "1ms", "width": 1e-6}, {"wait": 0}]))
    at_rest(board)


def test_rows_of_numpy(board):
    first = board.now().tick + 100 * MS
    table = np.array([(first + n * 5 * MS, n) for n in range(5)])
    with board.sequence(table, baud="1M") as sequence:
        assert [(each.tick, each.byte) for each in sequence] == [(first + n * 5 * MS, n) for n in range(5)]


# Files ---------------------------------------------------------------------------------------------------------------------------


class Command:
    """`litepulse sequence` on a board in Python."""

    def __init__(self, monkeypatch, capsys, folder):
        self._patch, self._capsys, self._folder = monkeypatch, capsys, folder
        self.device, self.options = None, {}

    def __call__(self, content, *words, name="entries.csv", stimulus=()):
        self.device, backend = connected(**self.options)
        self.device.stimulus = list(stimulus)
        self._patch.setattr(backends, "connect", lambda *_arguments, **_options: backend)
        path = self._folder / name
        if content is not None:
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        status = cli.main(["sequence", str(path), *words])
        out, err = self._capsys.readouterr()
        return status, out, err.replace(str(path), name)


@pytest.fixture
def command(monkeypatch, capsys, tmp_path):
    return Command(monkeypatch, capsys, tmp_path)


GOOD = [("0us", "10us"), ("100us", "5us"), ("1/3000", "3us")]
HEAD = "after,width\n"


@pytest.mark.parametrize(
    "content",
    [
        "after,width\n0us,10us\n100us,5us\n1/3000,3us\n",
        "after,width\n0us,10us\n100us,5us\n1/3000,3us",
        "\ufeffafter,width\r\n0us,10us\r\n100us,5us\r\n1/3000,3us\r\n",
        "after;width\n0us;10us\n100us;5us\n1/3000;3us\n",
        "after\twidth\n0us\t10us\n100us\t5us\n1/3000\t3us\n",
        "\n# a comment\n\nafter,width\n\n0us,10us\n  # another\n100us,5us\n,,\n1/3000,3us\n\n",
        " after , width \n 0us , 10us \n 100 us,5 us\n1/3000 , 3us\n",
        "width,after\n10us,0us\n5us,100us\n3us,1/3000\n",
        "After,WIDTH,byte,wait,\n0us,10us,,,\n100us,5us,,,\n1/3000,3us,,,\n",
        '"after","width"\n"0us","10us"\n"100us","5us"\n"1/3000","3us"\n',
        "after,width\n0.0,0.00001\n1e-4,5e-6\n+16000t,144t\n",
        "at,width\n+0us,10us\n+100us,5us\n+20800t,3us\n",
    ],
)
def test_files_as_people_write_them(content, command):
    status, out, err = command(content, "--at", "100ms", "--csv")
    assert (status, launched(command.device)) == (0, [(4_800_000, 480), (4_804_800, 240), (4_820_800, 144)]), err
    assert out.splitlines() == [
        "run,n,what,tick,t_ns,error_ticks,outcome,began,length_ns,code",
        "0,0,launch,4800000,100000000.000,0,launched,,,",
        "0,1,launch,4804800,100100000.000,0,launched,,,",
        "0,2,launch,4820800,100433333.333,0,launched,,,",
    ]


BAD = [
    ("", "it has no entries"),
    ("after,width\n", "it has no entries"),
    ("# only\n\n", "it has no entries"),
    ("0us,10us\n", "line 1: '0us' is not a column: the first line names some of at, tick, after,"),
    ("after,colour\n0us,1\n", "line 1: 'colour' is not a column"),
    ("after,after,width\n", "line 1: column after is there twice"),
    ("after\n1ms\n", "line 1: the first line names a column at, tick or after, and byte, width, break, code or wait"),
    ("after,width\n0us,10us\n1ms\n", "line 3: give one of byte, width, break, code and wait"),
    ("after,width\n0us,10us,5\n", "line 2: more values than columns"),
    ("after;width\n0,001;10us\n", "line 2: after: '0,001' has a comma: decimals are written with a point"),
    ('after,width\n"0,001",10us\n', "line 2: after: '0,001' has a comma"),
    ("after,width\nnan,10us\n", "line 2: after: 'nan' is not a number"),
    ("after,width\n-1ms,10us\n", "line 2: after: -1ms is negative"),
    ("after,width\n1 h,10us\n", "line 2: after: '1 h' is not a number"),
    ("\ufeffafter,width\r\n\r\n# no\r\n1ms,1\u00a0\u00b5\r\n", "line 4: width: "),
    ("after,width\n1ms,0\n", "line 2: width: "),
    ("after,byte\n1ms,0x100\n", "line 2: byte: 0x100 does not fit a byte"),
    ("after,byte\n1ms,55.0\n", "line 2: byte: '55.0' is not a number"),
    ("tick,byte\n1.5,5\n", "line 2: tick: '1.5' is not a whole number"),
    ("tick,byte\n-5,5\n", "line 2: tick: -5 is outside 0 to"),
    ("at,tick,byte\n+1ms,5,5\n", "line 2: give one of at, tick and after"),
    ("after,break\n1ms,256\n", "line 2: break: 256 is outside 1 to 255"),
    ("after,byte,profile\n1ms,5,2\n", "line 2: profile: no profile 2 is given"),
    ("after,wait\n1ms,9\n", "line 2: wait: '9' is not a channel of this device"),
    ("after,wait\n1ms,byte:5\n", "line 2: wait: 'byte:5' is not a channel of this device"),
    ("after,wait,edge\n1ms,0,up\n", "line 2: edge: 'up' is not rise, fall or both"),
    ("after,wait,then\n1ms,0,go on\n", "line 2: then: 'go on' says what happens after a timeout"),
    (
        "after,width\n1ms,10us\n0.1us,10us\n",
        "line 3: it is 1 ms (48004 ticks) from the beginning, but the line is busy with the one before",
    ),
    ('after,width\n"1ms,10us\n', "line 2: it is no line of CSV"),
    ("after,width\r1ms,10us\r", "line 1: it is not a line of text"),
    (b"after,width\n1ms,10\xb5s\n", "line 2: it is not UTF-8 text"),
    ("after,width\n1ms,10us\n".encode("utf-16"), "line 1: the file is UTF-16: save it as UTF-8"),
    (b"\0" * 9000, "line 1: it has more than 4096 bytes"),
    (None, "cannot read it (No such file or directory)"),
]
BAD_JSON = [
    ("", "line 1: it is no JSON (a list of objects is expected"),
    ('{"after": 1}', "line 1: it is no JSON (a list of objects is expected"),
    ("[]", "it has no entries"),
    ('[\n{"after": "1ms", "width": "10us"},\n\n{"after": NaN, "width": "1us"}]', "line 4: NaN is not a number"),
    ('[{"after": "1ms", "width": "10us"},\n{"after": "1ms", "after": "1us"}]', "line 2: 'after' is there twice"),
    ('[{"after": "1ms", "width": "10us"},\n5]', "line 2: 5 is not an object such as"),
    ('[{"after": "1ms", "width": "10us"},\n]', "line 2: it is no JSON (Expecting value)"),
    ('[{"after": "1ms", "width": "10us"}\n{}]', "line 2: it is no JSON (a comma or ] is expected)"),
    ('[{"after": "1ms", "width": "10us"}] x', "line 1: it is no JSON (more follows behind the list)"),
    ('[{"after": "1ms", "width": true}]', "line 1: width: True is not a number"),
    ('[{"after": "1ms", "byte": 1.0}]', "line 1: byte: "),
    ('[{"after": "1ms", "bytes": 1}]', "line 1: 'bytes' is not one of"),
    ('[{"after": "1,5ms", "byte": 1}]', "line 1: after: '1,5ms' has a comma"),
    ("[" * 100_000, "line 1: it is no JSON (too deep)"),
]


@pytest.mark.parametrize("content, message, name", [(*row, "entries.csv") for row in BAD] + [(*row, "entries.json") for row in BAD_JSON])
def test_a_file_with_a_fault(content, message, name, command):
    """One line, with the number of that in the file, and nothing was begun."""
    status, out, err = command(content, name=name)
    assert (status, out, err.count("\n")) == (2, "", 1) and err.startswith(f"litepulse: {name}: {message}"), err
    assert not command.device.line_log and not command.device.queue


def test_a_file_of_json(command):
    entries = [
        {"after": 0, "width": 1e-05},
        {"after": "100us", "byte": "0x55", "profile": 2},
        {"wait": "edge:1:fall", "timeout": 0.002, "then": "go on"},
        {"after": 0.0123, "break": 13, "width": None},
    ]
    status, out, _ = command(json.dumps(entries), "--at", "100ms", "--profile", "2:1M:8E1", "--json", name="entries.json")
    result = json.loads(out)
    mark = 4_804_800 + 2 * MS
    assert status == 0 and result["ended"] == "all sent" and result["underrun"] is None and result["lost"] == 0
    assert result["waits"] == [{"run": 0, "n": 2, "began": 4_804_800, "tick": mark, "ended": "timeout", "level": None, "by": "host"}]
    assert result["launched"] == [
        {"run": 0, "n": n, "tick": tick, "wanted": tick, **what}
        for n, tick, what in ((0, 4_800_000, {}), (1, 4_804_800, {"byte": 0x55}), (3, mark + 590_400, {"break": 13}))
    ], "a pulse has no byte"


def test_the_command_reports_what_waits(command):
    """In the text and in the JSON; --waits chooses."""
    content, stimulus = "after,width,wait\n1ms,1us,\n,,0\n3.1us,1us,\n", [(9_000_000, 0, 1)]
    status, _, err = command(content, "--json", stimulus=stimulus)
    assert status == 2 and "line 4: 3.083" in err and "a board with waits does it from 3.021" in err
    status, _, err = command(content, "--waits", "board", "--json", stimulus=stimulus)
    assert (status, err) == (2, f"litepulse: fake: {NO_WAITS}\n")
    command.options = {"sequence": True}
    for words in ([], ["--waits", "board"]):
        status, out, _ = command(content, *words, "--json", stimulus=stimulus)
        result = json.loads(out)
        assert status == 0 and result["reaction_ticks"] == LEAST and [one["by"] for one in result["waits"]] == ["board"]
        assert launched(command.device)[1:] == [(9_000_000 + 148, US)]
    status, out, _ = command(content, stimulus=stimulus)
    assert "launched 2 of 2, 0 refused" in " ".join(out.split()), "a wait is no launch"
    assert "3.021 µs behind a wait in the board" in out and "1 ended by an edge, 0 timeouts, in the board" in " ".join(out.split())
    status, _, err = command(content, "--waits", "host", stimulus=stimulus)
    assert status == 2 and "through the computer it takes" in err


def test_waits_of_the_command(command):
    """A trigger, --repeat, --timeout, and the status where one timed out."""
    stimulus = [(5_000_000, 0, 1), (5_100_000, 0, 0), (8_000_000, 0, 1)]
    words = ["--on", "edge:0:rise", "--repeat", "3", "--timeout", "500ms", "--csv"]
    status, out, _ = command("after,width\n10ms,10us\n", *words, stimulus=stimulus)
    rows = [line.split(",") for line in out.splitlines()[1:]]
    assert status == 1 and [(row[0], row[2], row[3], row[6]) for row in rows] == [
        ("0", "wait", "5000000", "edge"),
        ("0", "launch", "5480000", "launched"),
        ("1", "wait", "8000000", "edge"),
        ("1", "launch", "8480000", "launched"),
        ("2", "wait", str(8_480_480 + 24_000_000), "timeout"),
    ]
    assert rows[4][7] == "8480480" and rows[4][8] == "500000000.000"


def test_an_underrun_of_the_command(command, monkeypatch):
    """What came before is reported, then one line with that of the file, and status 2."""
    follow = SequenceRun.follow

    def slow(self, interrupt):
        for found in follow(self, interrupt):
            if self.reported > 20:
                command.device.advance(10 * 48_000_000)
            yield found

    monkeypatch.setattr(SequenceRun, "follow", slow)
    status, out, err = command(HEAD + "1ms,10us\n" * 300, "--json")
    result, sent = json.loads(out), len(launched(command.device))
    assert status == 2 and err == f"litepulse: {result['error']}\n".replace(result["error"].split(": line")[0], "entries.csv")
    assert f"line {sent + 2}: it could not be queued in time" in err
    assert result["ended"] == "underrun" and result["underrun"] == {"run": 0, "n": sent} and len(result["launched"]) == sent


def test_a_pipe(command, tmp_path):
    """It is read as it comes; what is not there yet is waited for."""
    os.mkfifo(tmp_path / "pipe")

    def write():
        with open(tmp_path / "pipe", "w") as pipe:
            pipe.write(HEAD + "10ms,10us\n" * 100 + "wait")
            pipe.flush()

    thread = threading.Thread(target=write)
    thread.start()
    status, out, err = command(None, "--csv", name="pipe")
    thread.join()
    assert (status, err) == (2, "litepulse: pipe: line 102: give one of byte, width, break, code and wait\n") or "is not a number" in err
    assert out.count("launched") <= 100


def test_standard_input(command, monkeypatch, tmp_path):
    file = tmp_path / "input"
    file.write_text(HEAD + "10ms,10us\n" * 100)
    with open(file) as opened:
        monkeypatch.setattr("sys.stdin", opened)
        status, out, err = command(None, "--csv", name="nothing")
        assert status == 2 and "No such file" in err
        command.device, backend = connected()
        monkeypatch.setattr(backends, "connect", lambda *_arguments, **_options: backend)
        output = io.StringIO()
        monkeypatch.setattr("sys.stdout", output)
        assert cli.main(["sequence", "-", "--csv"]) == 0
    assert output.getvalue().count("launched") == 100 == len(launched(command.device))


@pytest.mark.parametrize(
    "words, message",
    [
        (["--on", "byte:5"], "on: a sequence begins at an edge, not at a byte: edge:0:rise"),
        (["--profile", "2"], "profile: '2' is not like 2:115200 or 2:115200:8E1"),
        (["--profile", "4:9600"], "profile: 4 is outside 2 to 3"),
        (["--profile", "2:9600", "--profile", "2:9600"], "profile: a number is given twice"),
        (["--timeout", "0"], "timeout: 0 is not more than 0"),
        (["--repeat", "-1"], "repeat: -1 is outside"),
        (["--at", "5t"], "at: tick 5 has passed, the board is at"),
        (["--at", "400d"], "at: '400d' is not a number"),
        (["--at", "5s", "--on", "edge:0:rise"], "at and on exclude each other: the edge of --on is the beginning"),
        (["--timeout", "5s"], "timeout: nothing waits: there is no on, and no entry is a wait"),
        (
            ["--inputs", "0"],
            "inputs: the entries of entries.csv name the channels that they wait for; only those of standard input need it",
        ),
    ],
)
def test_options_with_a_fault(words, message, command):
    status, out, err = command(HEAD + "1ms,10us\n", *words)
    assert (status, out) == (2, "") and err.startswith(f"litepulse: {message}") and err.count("\n") == 1


def test_a_long_file_is_not_kept(command, monkeypatch):
    """It is read again for each pass: the same launches leave."""
    monkeypatch.setattr("litepulse.board.KEPT", 10)
    status, _, err = command(HEAD + "1ms,10us\n" * 500, "--at", "100ms", "--json")
    assert status == 0 and launched(command.device) == [(4_800_000 + (n + 1) * MS, 480) for n in range(500)], err


# A board of the driver -----------------------------------------------------------------------------------------------------------


def test_a_board_of_the_driver(monkeypatch):
    """The same, by whole records of the claim. What was queued to measure the rate is taken back."""
    entries = [{"after": "1ms", "width": SHORT} for _ in range(200)]
    entries += [{"wait": 0, "timeout": "2s"}, {"after": "50ms", "width": "5us"}, {"wait": 0, "timeout": "1ms", "then": "go on"}]
    with on_the_driver(monkeypatch) as board:
        board.device.stimulus = [(48_000_000, 0, 1)]
        with board.sequence([*entries, {"after": "50ms", "width": "7us"}]) as sequence:
            found = list(sequence)
        assert sequence.ended == "all sent" and kinds(found) == [None] * 200 + ["edge", None, "timeout", None]
        first, last = sequence.first_tick, 48_000_000 + 50 * MS
        assert launched(board.device) == [(first + (n + 1) * MS, US) for n in range(200)] + [(last, 240), (last + 51 * MS, 336)]
        assert board.kernel.taken_back > 32 and board.timescale.seconds(sequence.pace.reaction) > Fraction(1, 100)
        with pytest.raises(litepulse.BadInput, match="behind a wait is too near"):
            board.sequence([{"wait": 0}, {"after": "10ms", "width": SHORT}])


def test_an_underrun_on_the_driver(monkeypatch):
    with on_the_driver(monkeypatch) as board:
        sequence = board.sequence([{"after": "1ms", "width": SHORT}] * 300)
        between_looks(monkeypatch, board)
        with pytest.raises(litepulse.Underrun) as error:
            list(sequence)
        assert error.value.entry == len(launched(board.device)) >= 64 and not board.device.queue


def test_a_driver_with_less_room_than_it_reports(monkeypatch):
    """What counts from the end of a wait counts from the launch before it that the board has, not from one that found no room."""
    entries = [{"wait": 0}, *[{"after": f"{50 + n}ms", "width": SHORT} for n in range(30)]]
    with on_the_driver(monkeypatch, sequence=True) as board:
        start, board.kernel.room = board.now().tick + 200 * MS, 7
        board.device.stimulus = [(start, 0, 1)]
        with board.sequence(entries, waits="board") as sequence:
            found = list(sequence)
        assert kinds(found) == ["edge"] + [None] * 30 and errno.EAGAIN in board.kernel.errors
        assert launched(board.device) == [(start + sum(50 + k for k in range(n + 1)) * MS, US) for n in range(30)]


@pytest.mark.parametrize("version, sequence", [(8, True), (9, False)])
def test_a_driver_or_a_board_without_waits(version, sequence, monkeypatch):
    """The computer waits, and one line says what lacks."""
    with on_the_driver(monkeypatch, version, sequence=sequence) as board:
        assert not board.identity.sequence
        lacks = "the kernel's driver is too old for waits in the launch queue, so the computer waits"
        with pytest.raises(litepulse.Unsupported) as error:
            board.sequence([{"wait": 0}], waits="board")
        assert str(error.value) == f"/dev/null: {f'{lacks}: its interface is version 8, that takes 9' if version == 8 else NO_WAITS}"
        board.device.stimulus = [(board.now().tick + 300 * MS, 0, 1)]
        with board.sequence([{"after": 0, "width": SHORT}, {"wait": 0}, {"after": "50ms", "width": SHORT}]) as done:
            assert [each.by for each in done if isinstance(each, litepulse.Waited)] == ["host"]
        board.backend.queue.flush()
        for what in (QueueWait(), Relative(Launch("pulse", width=9))):
            with pytest.raises(litepulse.Unsupported):
                board.backend.queue.launch([(1 << 40, 0, what)])
            assert not board.device.queue


@pytest.fixture
def queue(monkeypatch):
    """The launch queue of a board of the driver, and the board, which has waits."""
    with on_the_driver(monkeypatch, sequence=True) as board:
        board.backend.line.set_profile(LAUNCH_PROFILE, Profile(board.timescale.bit_period(9600), Format(invert=True)))
        board.backend.recorder.record(Wanted(("queue",), ("queue",)))
        yield board.backend.queue, board


def reported(board):
    """[(tag, kind, reason)] of what the queue reported within a second."""
    board.kernel.advance(48_000_000)
    return [(each.tag, each.kind, each.reason) for each in board.backend.look()[1].events if each.source == "queue"]


PULSE = Launch("pulse", width=10)


def test_all_of_a_wait_reaches_the_board(queue):
    """Each bit of an entry: what the queue of the board has is what a port would have put there."""
    launches, board = queue
    base = board.now().tick + 480_000
    entries = [
        (base, 1, QueueWait(3, rise=True)),
        (base, 2, QueueWait(4, fall=True, stop=True)),
        (77, 3, Relative(QueueWait(2, rise=True, fall=True, stop=True))),
        (1 << 40, 4, Relative(PULSE)),
        (base + (1 << 33), 0xFFFF, QueueWait()),
    ]
    assert launches.launch(entries) == 5
    words = [what.entry(tick, tag) for tick, tag, what in entries]
    assert board.device.queue == [(low | high << 32, width, last) for low, high, width, last in words]
    launches.flush()


def test_what_a_late_entry_leaves_behind(queue):
    """The driver refuses what has passed, so that the board does not have it: what counts from it counts from its tick all the same."""
    launches, board = queue
    now = board.now().tick
    assert launches.launch([(now - 5, 1, PULSE), (480_005, 2, Relative(PULSE)), (4800, 3, Relative(PULSE)), (now - 9, 4, PULSE)]) == 4
    assert reported(board) == [(1, "refused", "late"), (4, "refused", "late"), (2, "tx", None), (3, "tx", None)]
    assert launched(board.device) == [(now + 480_000, 10), (now + 484_800, 10)]
    now = board.now().tick
    assert launches.launch([(now - 5, 5, QueueWait(0, rise=True))]) == 1 and launches.launch([(480_005, 6, Relative(PULSE))]) == 1
    assert reported(board) == [(5, "refused", "late"), (6, "tx", None)] and launched(board.device)[2:] == [(now + 480_000, 10)]


def test_nothing_leaves_behind_a_late_wait_that_stops(queue):
    """As in the board: until a flush, whatever it is."""
    launches, board = queue
    now, wait = board.now().tick, QueueWait(0, rise=True, stop=True)
    assert launches.launch([(now - 5, 1, wait), (480_000, 2, Relative(PULSE)), (now + 480_000, 3, PULSE)]) == 3
    assert launches.launch([(now + 960_000, 4, PULSE)]) == 1
    assert reported(board) == [(1, "refused", "late"), *((tag, "refused", "order") for tag in (2, 3, 4))] and not launched(board.device)
    assert not board.busy
    launches.flush()
    now = board.now().tick
    assert launches.launch([(now + 480_000, 5, PULSE)]) == 1 and reported(board) == [(5, "tx", None)]


def test_a_wait_does_not_use_the_line(queue):
    """The driver does not say until when the line is busy: its launches do, and a wait is none."""
    launches, board = queue
    now = board.now().tick
    assert launches.launch([(now + 480_000, 1, QueueWait(0, rise=True)), (480_000, 2, Relative(Launch("pulse", width=96_000_000)))]) == 2
    board.kernel.advance(580_000)
    assert [each.tag for each in board.backend.look()[1].events] == [1] and not board.status().line_busy and not board.status().queue_idle
    board.kernel.advance(480_000)
    assert [each.tag for each in board.backend.look()[1].events] == [2] and board.status().line_busy and board.status().queue_idle
    board.kernel.advance(96_000_000)
    assert not board.status().line_busy
