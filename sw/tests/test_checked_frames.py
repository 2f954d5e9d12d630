# SPDX-License-Identifier: BSD-2-Clause
"""Checked frames on a port without the driver: what goes over the line, a damaged cable, several processes, bridges without them.

The bridge is fake_board's, which makes and reads frames by sim/bridge_frames.py.
"""

import json
import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import litepulse
from litepulse.backends import checked, connect, uartbone
from litepulse.backends.bus.backend import BusBackend
from litepulse.backends.interface import Wanted
from litepulse.backends.uartbone import open_port
from litepulse.errors import TransportError
from litepulse.layout import regs
from litepulse.line import Launch, Profile
from litepulse.units import BitPeriod, Period
from litex_soc import sim_soc
from sim import bridge_frames
from sim.bridge_rules import RULES, Watcher

from .fake_board import Bridge, Checked, FakeBoard, Server, split
from .test_transport import Memory

BRIDGE = regs.BRIDGE_BASE


@pytest.fixture(autouse=True)
def own_locks(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))


def framed_port(server):
    """A UARTBone on a Server that speaks frames."""
    bus = open_port(server.spec)
    bus.use_frames(BRIDGE)
    assert bus.framed
    return bus


# The bytes ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 3, 4, 5, 40, 1100])
@pytest.mark.parametrize("packed", [False, True])
def test_answers_are_read_as_they_arrive(count, packed):
    """Whole, in single bytes, with each byte damaged, short and long: right words or none."""
    draw = random.Random(count)
    for words in ([0] * count, [draw.getrandbits(32) for _ in range(count)], [0x55AA0000 | i for i in range(count)]):
        frame = checked.frame(0x91, bytes.fromhex("020100000000"), packed)
        data = bridge_frames.answer(frame, words)
        one = checked.Answer(0x91, count, packed)
        assert len(data) <= one.longest
        assert [one.take(bytes([byte])) for byte in data] == [False] * (len(data) - 1) + [True]
        assert list(one.words()) == words
        for other in (data[:-1], data + b"\0", bridge_frames.answer(checked.frame(0x92, bytes(6), packed), words)):
            one = checked.Answer(0x91, count, packed)
            one.take(other)
            assert one.words() is None
        for place in draw.sample(range(len(data)), min(len(data), 40)):
            one = checked.Answer(0x91, count, packed)
            one.take(data[:place] + bytes([data[place] ^ 1 << draw.randrange(8)]) + data[place + 1 :])
            assert one.words() is None


@pytest.mark.parametrize("packed", [False, True])
def test_frames_are_those_of_the_page(packed):
    commands = bridge_frames.write(0x90006000, 1, 2) + bridge_frames.read(0x8000, 2)
    marker = bridge_frames.PACKED if packed else bridge_frames.MARKER
    assert checked.frame(0x80, commands, packed) == bridge_frames.frame(0x80, commands, marker=marker)


# A bridge that knows them -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version, marker", [(1, bridge_frames.MARKER), (2, bridge_frames.PACKED), (3, bridge_frames.PACKED)])
def test_many_words_are_few_frames(version, marker):
    memory = Memory()
    with Server(memory, checked=Checked(version)) as server:
        bus = framed_port(server)
        before = len(server.checked.frames)
        values = [(i * 2654435761) & 0xFFFFFFFF for i in range(600)]
        bus.write(0x1000, values)
        assert [memory.words[0x1000 + 4 * i] for i in range(600)] == values
        assert len(server.checked.frames) - before == 1 + 10  # a read first, then 60 words each
        (words, one), before = bus.together([(0x40, [7])], [(0x1000, 600), (0x40, 1)]), len(server.checked.frames)
        assert words == values and one == [7]
        assert server.checked.frames[-1][1] == marker and bus.repeated == 0
        assert bus.read(0x1000, 1) == values[:1] and server.checked.frames[-1][1] == bridge_frames.MARKER
        bus.close()


@pytest.mark.parametrize("version", [0, 0x100, 0x12345678, 3])
def test_a_bridge_without_frames_gets_plain_commands(version):
    """A read of their register's address may give any value; if it looks like a version, a frame
    that only reads is tried."""
    memory = Memory()
    memory.words.update({BRIDGE + 4: version, 0x40: 6})
    with Server(memory) as server:
        # An answer that is late on a busy machine is requested again, in a frame; none comes to the frame of version 3.
        bus = open_port(server.spec, timeout=1 if version == 3 else 20)
        bus.use_frames(BRIDGE)
        bus.write(0x44, [9])
        assert not bus.framed and bus.read(0x40, 2) == [6, 9]
        assert (bytes([bridge_frames.MARKER]) in server.received) == (version == 3)
        bus.close()


def test_no_bridge_with_registers_no_frames():
    """As with a SoC's csr.csv that has none: its place is not read."""
    with Server(Memory(), checked=Checked()) as server:
        bus = open_port(server.spec)
        bus.use_frames(None)
        assert not bus.framed and server.received == b""
        bus.close()


def test_the_simulated_soc_gets_plain_commands():
    """Over TCP, where its time passes command by command."""
    with Server(Memory(), "tcp", checked=Checked()) as server:
        bus = open_port(server.spec)
        bus.use_frames(BRIDGE)
        assert not bus.framed and bus.read(0x40) == [0]
        bus.close()


# A cable that damages -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_each_write_is_done_once_whatever_gets_lost(seed, monkeypatch):
    """A fifth of the frames are lost, a fifth of the answers are lost or damaged: all is carried
    out once, in order."""
    monkeypatch.setattr(uartbone, "_FRAME_ANSWER", 0.06)
    draw = random.Random(seed)
    memory = Memory()

    def spoil(reply):
        kind = draw.randrange(15)
        return (b"", reply[:-1], reply[:-2] + b"\0\0")[kind] if kind < 3 and armed else reply

    armed = []
    with Server(memory, answer=spoil, checked=Checked()) as server:
        bus = framed_port(server)
        server.checked.lose = lambda frame: draw.randrange(5) == 0
        armed.append(True)
        for number in range(40):
            assert bus.together([(0x40, [number])], [(0x40, 1)]) == [[number]]
        assert [word for address, word in memory.written] == list(range(40))
        assert server.checked.repeats > 0 and bus.repeated > 0
        bus.close()


def test_an_unplugged_board_is_reported():
    memory = Memory()
    with Server(memory, checked=Checked()) as server:
        bus = framed_port(server)
        bus.timeout = 0.2
        server.checked.lose = lambda frame: True
        for work in (lambda: bus.read(0x40), lambda: bus.write(0x40, [1])):
            with pytest.raises(TransportError, match="does not answer"):
                work()
        assert memory.written == []
        bus.close()


# Several processes --------------------------------------------------------------------------------------------------------------------


def test_who_comes_a_moment_later_is_heard():
    """The bridge hears only frames for 2 s; the next process finds that out, and needs no fallback."""
    memory = Memory()
    with Server(memory, checked=Checked(lock=60)) as server:
        framed_port(server).close()
        bus = open_port(server.spec)
        assert bus.read(0x40) == [0] and bus.framed
        bus.write(0x40, [5])
        assert bus.read(0x40) == [5]
        bus.close()


def test_who_comes_beside_speaks_frames_at_once():
    """Another process's plain commands would make the bridge deaf for the one that records; it
    sends none."""
    with Server(Memory(), checked=Checked(lock=60)) as server:
        first = framed_port(server)
        before = len(server.received)
        second = open_port(server.spec)
        assert second.read(0x40) == [0] and second.repeated == 0
        assert server.received[before] == bridge_frames.MARKER
        first.close()
        second.close()


def test_who_spoke_plainly_before_goes_on_in_frames():
    with Server(Memory(), checked=Checked(lock=60)) as server:
        plain = open_port(server.spec, timeout=0.2)
        assert plain.read(0x40) == [0] and not plain.framed
        framed = framed_port(server)
        assert plain.read(0x40) == [0] and plain.framed
        framed.close()
        plain.close()


def test_equal_numbers_of_two_processes_lose_no_write():
    """The bridge leaves out the writes of a frame with the number of the one before it, which may be another process's."""
    memory = Memory()
    with Server(memory, checked=Checked(lock=60)) as server:
        buses = [framed_port(server) for _ in range(2)]
        for bus in buses:
            bus._number = 7
        for number in range(150):  # more than there are numbers
            buses[number % 2].write(0x40, [number])
        assert [word for _, word in memory.written] == list(range(150))
        for bus in buses:
            bus.close()


WORK = """
import sys
from litepulse.backends.uartbone import open_port
bus = open_port(sys.argv[1])
bus.use_frames(0x8800)
base = int(sys.argv[2])
for number in range(60):
    bus.write(base + 4 * number, [base + number])
    with bus.hold():
        (count,) = bus.read(0x40)
        bus.write(0x40, [count + 1])
assert bus.read(base, 60) == [base + number for number in range(60)]
"""


def test_processes_at_once():
    """Each word is written once, and accesses under a process's lock are not interrupted."""
    memory = Memory()
    with Server(memory, checked=Checked(lock=60)) as server:
        environment = {**os.environ, "PYTHONPATH": str(Path(uartbone.__file__).resolve().parents[2])}
        command = [sys.executable, "-c", WORK, server.spec]
        work = [subprocess.Popen([*command, str(base)], env=environment) for base in (0x1000, 0x2000, 0x3000)]
        assert [process.wait() for process in work] == [0, 0, 0]
        assert memory.words[0x40] == 180 and len(memory.written) == 2 * 180


def test_half_a_frame_of_a_process_that_was_killed():
    with Server(Memory(), checked=Checked(lock=60)) as server:
        first, second = framed_port(server), framed_port(server)
        with first.hold():
            first.stream.send(checked.frame(0x85, bytes(200), False)[:100])
        assert second.read(0x40) == [0]
        second.write(0x40, [3])
        assert second.read(0x40) == [3]
        first.close()
        second.close()


def test_threads_of_one_process():
    memory = Memory()
    with Server(memory, checked=Checked()) as server:
        bus = framed_port(server)

        def write(base):
            for number in range(50):
                bus.write(base + 4 * number, [number])

        threads = [threading.Thread(target=write, args=(base,)) for base in (0x1000, 0x2000)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(memory.written) == 100 and len(set(memory.written)) == 100
        bus.close()


# With a raised bit rate ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("locked", [False, True])
def test_a_raised_rate(locked):
    """Also if the bridge hears frames alone when it is raised, and again when it is lowered."""
    memory = Memory()
    with Server(memory, bridge=Bridge(), checked=Checked(lock=60)) as server:
        if locked:
            framed_port(server).close()
        bus = open_port(server.spec, bridge_baud=1_000_000)
        bus.use_frames(BRIDGE)
        bus.write(0x40, [1])
        before = len(server.checked.frames)
        bus.write(0x40, [2])
        assert len(server.checked.frames) == before + 1, "no other program has used a number"
        assert bus.read(0x40) == [2] and bus.repeated == locked and bus.framed
        bus.close()
        other = open_port(server.spec)
        assert other.read(0x40) == [2]
        other.close()
    assert server.bridge.rates == [2731, 315] and server.bridge.garbled == 0


# A board ------------------------------------------------------------------------------------------------------------------------------


def test_a_look_is_one_frame():
    """Status, events, bytes and what was acknowledged; bytes that are not wanted are not read."""
    board = FakeBoard(event_depth=8)
    with Server(board, checked=Checked()) as server:
        backend = connect(port=server.spec)
        backend.line.set_profile(1, Profile(BitPeriod(5000 * 256, backend.identity.timescale.tick_hz)))
        for received in (False, True):
            backend.recorder.record(Wanted(launched=("train",), train=True, received=received))
            backend.train.start(Launch("frame", 0x55, profile=1), Period(60_000, 0, 1), 20)
            before, events = len(server.checked.frames), []
            looks = 0
            while len(events) < 22:  # with the start and the end
                batch = backend.look()[1]
                events += batch.events
                looks += 1
            assert len(server.checked.frames) - before == looks and not backend.recorder.losses().total
            places = {address for _, _, payload in server.checked.frames[before:] for _, address, _ in split(payload)}
            assert (regs.WINDOW_BASE + regs.REGIONS["RECEIVE"][0] in places) == received
            assert [event.data for event in events if event.kind == "tx"] == list(range(20))
        backend.close()


def test_an_acknowledgement_with_the_number_of_another_process():
    """The bridge leaves it out, so the records are there again: each is given to the program once."""
    board = FakeBoard()
    with Server(board, checked=Checked()) as server:
        backend, other = connect(port=server.spec), framed_port(server)
        backend.line.set_profile(1, Profile(BitPeriod(5000 * 256, backend.identity.timescale.tick_hz)))
        backend.recorder.record(Wanted(launched=("train",), train=True))
        backend.train.start(Launch("frame", 0x55, profile=1), Period(60_000, 0, 1), 50)
        numbers, left_out = [], server.checked.repeats
        while len(numbers) < 50:
            other._number = backend.registers.bus._number
            other.read(0x40)
            numbers += [event.data for event in backend.look()[1].events if event.kind == "tx"]
        assert numbers == list(range(50)) and server.checked.repeats > left_out + 5 and not backend.recorder.losses().total
        other.close()
        backend.close()


def test_more_than_a_burst_is_one_frame():
    """200 records wait: one frame brings them all, the next one frees them while they are decoded."""
    board = FakeBoard(step=0)
    with Server(board, checked=Checked()) as server:
        backend = connect(port=server.spec)
        backend.line.set_profile(1, Profile(BitPeriod(5000 * 256, backend.identity.timescale.tick_hz)))
        backend.recorder.record(Wanted(launched=("train",), train=True))
        for known in (False, True):  # how many there may be
            backend.train.start(Launch("frame", 0x55, profile=1), Period(60_000, 0, 1), 200)
            with server.lock:
                board.advance(60_000 * 300)
            before = len(server.checked.frames)
            _, batch = backend.look()
            assert len([event for event in batch.events if event.kind == "tx"]) == 200 and not board.events.records
            assert not known or len(server.checked.frames) - before == 2
        backend.close()


def test_lost_frames_lose_no_record(monkeypatch):
    """A damaged cable: each record comes once, in order, none is lost."""
    monkeypatch.setattr(uartbone, "_FRAME_ANSWER", 0.06)
    draw = random.Random(5)
    board = FakeBoard(step=200_000)
    with Server(board, checked=Checked()) as server:
        backend = connect(port=server.spec)
        backend.line.set_profile(1, Profile(BitPeriod(5000 * 256, backend.identity.timescale.tick_hz)))
        backend.recorder.record(Wanted(launched=("train",), train=True))
        backend.train.start(Launch("frame", 0x55, profile=1), Period(60_000, 0, 1), 300)
        server.checked.lose = lambda frame: draw.randrange(5) == 0
        server.answer = lambda reply: reply if draw.randrange(5) else reply[:-1]
        numbers = []
        while len(numbers) < 300:
            numbers += [event.data for event in backend.look()[1].events if event.kind == "tx"]
        server.checked.lose, server.answer = lambda frame: False, None
        assert numbers == list(range(300)) and not backend.recorder.losses().total and backend.registers.bus.repeated > 10
        backend.close()


@pytest.mark.wallclock
def test_rules_of_the_bridge():
    """All that a host has to keep that speaks frames."""
    watcher, board = Watcher(), FakeBoard()
    draw = random.Random(1)
    with Server(board, bridge=Bridge(), watcher=watcher, checked=Checked()) as server:
        backend = connect(port=server.spec, bridge_baud=1_000_000)
        for keep, silence in ((False, 0), (True, 1.7), (False, 2.6)):
            time.sleep(silence)
            backend.pledge(keep=keep)
            assert board.session >> 31 == keep and board.session & 0xFFFF == backend.identity.session
            server.checked.lose = lambda frame: draw.randrange(5) == 0
            for _ in range(20):
                backend.look()
            server.checked.lose = lambda frame: False
        backend.close()
        watcher.end(time.monotonic())
    assert watcher.broken == []
    kept = {rule.name for rule in RULES if watcher.judged[rule.name]}
    assert kept >= {"first", "doubtful", "plain", "repeated", "pledge", "raising", "fallback"}, watcher.judged


def test_a_device_beside_the_reader():
    """As 'stop' and 'adjust': it reads what the reader has left, and takes no records."""
    board = FakeBoard(step=0)
    with Server(board, checked=Checked(lock=60)) as server:
        backend = connect(port=server.spec)
        beside = connect(port=server.spec, own=False)
        assert isinstance(beside, BusBackend) and beside.registers.framed and beside.identity.session == backend.identity.session
        backend.line.set_profile(1, Profile(BitPeriod(5000 * 256, backend.identity.timescale.tick_hz)))
        backend.recorder.record(Wanted(launched=("train",), train=True))
        backend.train.start(Launch("frame", 0x55, profile=1), Period(60_000, 0, 1), 0)
        with server.lock:
            board.step = 20_000
        stopped = beside.stop_all()
        assert stopped.what == ("train",) and stopped.pulses == board.train_over
        numbers = [event.data for event in backend.look()[1].events if event.kind == "tx"]
        assert numbers == list(range(stopped.pulses))
        beside.close()
        backend.close()


@pytest.mark.full
@pytest.mark.seconds(60)
def test_on_the_boards_own_bridge():
    """On the bridge of the simulated SoC: other processes read, adjust and stop while a train is
    followed, and nothing is lost."""
    command = [str(sim_soc.build()), "--pty", "--pulse-hz", "200000", "--pace", "--loop-tx-rx", "--exit-with-parent"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    port = json.loads(process.stdout.readline())["pty"]
    environment = {**os.environ, "PYTHONPATH": str(Path(uartbone.__file__).resolve().parents[2])}

    def run(*words):
        words = [sys.executable, "-m", "litepulse", "--port", port, *words]
        return subprocess.run(words, capture_output=True, text=True, check=True, env=environment).stdout

    try:
        with litepulse.open(port=port) as board:
            assert board.backend.registers.framed
            with board.train(rate=20, width="1ms") as train:
                pulses = [next(train) for _ in range(20)]
                assert "a train runs" in run("info")
                assert "adjusted from pulse" in run("adjust", "--rate", "25")
                assert "stopped: train" in run("stop")
                pulses += list(train)
            assert [pulse.number for pulse in pulses] == list(range(len(pulses))) and not any(pulse.error for pulse in pulses)
            assert train.record.exact and not train.record.lost
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()
