# SPDX-License-Identifier: BSD-2-Clause
"""More records come than can be read: each look at the board ends, so `--count`, `--for` and Ctrl-C
act, and losses are counted.

Judged by ticks and by transactions with the board, never by time.
"""

import errno
import fcntl
import json
import os
import signal
import threading
from pathlib import Path

import pytest
import serial

import litepulse
from litepulse import backends, cli
from litepulse.backends import driver_abi as abi
from litepulse.backends import remote
from litepulse.backends.bus.backend import BusBackend
from litepulse.backends.driver.backend import DriverBackend
from litepulse.backends.driver.device import LAG_SECONDS, Device
from litepulse.backends.driver.recorder import READ_RECORDS
from litepulse.backends.interface import Wanted
from litepulse.certify import patient
from litepulse.certify.procedure import Options, Procedure
from litepulse.certify.selftest import SelfTest
from litepulse.errors import TransportError
from litepulse.layout import CONFIG, pack
from litepulse.line import Format, Profile
from litepulse.streams import Lost

from .fake_board import FakeBoard
from .fake_kernel import Kernel

LDF = Path(__file__).resolve().parents[1] / "examples" / "door.ldf"
EDGES, BYTES = 300, 300  # that come while one transaction is made: a burst brings 62 edges at most, or 125 bytes
STEP = 20_000  # ticks of a transaction
# Transactions of one look: status, and both FIFOs (256 edges in bursts of 62, 512 bytes in bursts of 125), each burst acknowledged.
LOOK = 1 + 2 * 5 + 2 * 5
BEGIN, END = 110, 45  # transactions before the first look, and behind the last
PREPARED = 5 * STEP  # ticks from the first record to the beginning of the time that --for names, at most
SOON = 9 * LOOK * STEP  # ticks from now to a launch that is to leave soon: eight times what a look takes
LATENCY = ["latency", "--width", "10us", "--interval", "1ms", "--timeout", "2ms"]
ENOUGH = 3000  # what takes more does not end
HEADER = (3 << 10, 0x55, 0x50, 1, 2)  # of LIN: break, sync, identifier 0x10, and what may be an answer


class Flood(FakeBoard):
    """Records come faster than they can be read. `interrupt_at`: number of the transaction at which
    Ctrl-C comes."""

    interrupt_at = None

    def __init__(self, flooding=True, **options):
        super().__init__(step=STEP, **options)
        self.flooding, self.transactions, self.heard = flooding, 0, 0

    def _count(self):
        self.transactions += 1
        if self.transactions == self.interrupt_at:
            os.kill(os.getpid(), signal.SIGINT)
        assert self.transactions < ENOUGH, "it does not end"

    def read(self, address, count):
        self._count()
        return super().read(address, count)

    def write(self, address, words):
        self._count()
        super().write(address, words)

    def advance(self, ticks):
        first = self.tick
        super().advance(ticks)
        if self.flooding and self.word("capture_edges"):
            for n in range(EDGES):
                self.event(first + ticks * n // EDGES, 2, 4, 0, 0x1F | (0x1F << 16 if n % 2 else 0), "edge", edge=True)
        if self.flooding and self.word("line") & pack(CONFIG["line"], rx_enable=1):
            for n in range(BYTES):
                self.coming.insert(0, (self.tick, first + ticks * n // BYTES, HEADER[self.heard % len(HEADER)]))
                self.heard += 1
                self.receive()


@pytest.fixture
def board(monkeypatch):
    """A flooded one, which the command finds."""
    board = Flood()

    def connect(*_arguments, **_options):
        return BusBackend(board, "uartbone", "fake")

    monkeypatch.setattr(backends, "connect", connect)
    monkeypatch.setattr(BusBackend, "stay_in_touch", lambda self: None)  # else what passes would not be counted right
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    return board


EDGE = Wanted(rise=1, fall=1)


# The streams ----------------------------------------------------------------------------------------------------------------


def recording(board, wanted=EDGE):
    device = BusBackend(board, "test", "fake")
    device.recorder.record(wanted)
    return device


@pytest.mark.parametrize("kind", ["edges", "bytes"])
def test_a_look_ends_and_nothing_is_lost_uncounted(kind):
    """Each record of the board was read, or counted as lost; none is older than the tick up to
    which the look before was complete."""
    board = Flood(flooding=False)
    wanted = EDGE if kind == "edges" else Wanted(received=True)
    if kind == "bytes":
        board.configure(CONFIG["line"].index, pack(CONFIG["line"], rx_enable=1))
    device = recording(board, wanted)
    stream = device.recorder.events if kind == "edges" else device.recorder.received
    known, found = 0, []
    for look in range(12):
        board.flooding = look < 10
        transactions = board.transactions
        batch = device.recorder.read()
        assert board.transactions - transactions <= LOOK
        new = list(batch.events if kind == "edges" else batch.received)
        assert all(item.tick >= known for item in new if not isinstance(item, Lost))
        assert batch.tick >= known and batch.now >= batch.tick
        known, found = batch.tick, found + new
    read = [item for item in found if not isinstance(item, Lost)]
    made = board.seq if kind == "edges" else board.heard
    assert made == len(read) + device.recorder.losses().total and device.recorder.losses().total == stream.lost
    assert len(read) >= 10 * 200 and device.recorder.losses().total > 10 * EDGES
    assert sum(item.count for item in found if isinstance(item, Lost)) + stream.untold == device.recorder.losses().total


def test_what_came_before_is_forgotten_though_it_keeps_coming():
    """A program that was killed has left the inputs switched on."""
    board = Flood()
    board.configure(CONFIG["event_mask"].index, pack(CONFIG["event_mask"], edge=1))
    board.configure(CONFIG["capture_edges"].index, pack(CONFIG["capture_edges"], rise=2, fall=2))
    board.advance(STEP)
    device = recording(board)
    assert board.transactions < BEGIN
    begun = board.tick
    batch = device.recorder.read()
    assert batch.events and all(event.tick >= begun - 8 * STEP for event in batch.events)


def test_acknowledgements_that_never_arrive_end_the_look():
    board = Flood(flooding=False)
    device = recording(board)
    for n in range(200):
        board.event(1000 + n, 2, 4, 0, 1, "edge", edge=True)
    board.drop_write = lambda address, words: True
    with pytest.raises(TransportError, match="acknowledgement"):
        device.recorder.read()


def test_a_server_that_answers_too_little_or_too_much_is_reported():
    bus = object.__new__(remote.RemoteBus)
    bus.name, bus._threads = "remote:x:1", threading.RLock()
    for answer in ([], [1, 2, 3]):
        bus._client = type("Client", (), {"read": lambda self, address, count, answer=answer: answer})()
        with pytest.raises(TransportError, match="words"):
            bus.read(0, 2)


# The verbs ------------------------------------------------------------------------------------------------------------------

# Each that follows something, in a form that ends by itself: (words, keys of its JSON with the length of the list, ticks that it takes).
MS = 48_000
ENDING = {
    "capture, edges, for": (["capture", "--inputs", "0,1", "--for", "2ms"], {}, 2 * MS),
    "capture, edges, count": (["capture", "--inputs", "0", "--count", "1000"], {"edges": 1000}, 0),
    "capture, bytes, for": (["capture", "--inputs", "none", "--bytes", "--for", "2ms"], {}, 2 * MS),
    "capture, bytes, count": (["capture", "--inputs", "none", "--bytes", "--count", "700"], {"bytes": 700}, 0),
    "train, frames": (["train", "--rate", "1k", "--baud", "115200", "--count", "5"], {"pulses": 5}, 5 * MS),
    "train, pulses": (["train", "--rate", "1k", "--width", "10us", "--count", "5"], {"pulses": 5}, 5 * MS),
    "send": (["send", "{bytes}", "--baud", "115200"], {"launched": 20}, SOON + 2 * MS),
    "respond, edge, for": (["respond", "--on", "edge:0:rise", "--delay", "1us", "--for", "2ms"], {"answers": 0}, 2 * MS),
    "respond, byte, for": (["respond", "--on", "byte:0x55", "--delay", "1us", "--for", "2ms"], {"answers": 0}, 2 * MS),
    "latency, count": ([*LATENCY, "--on", "edge:0:fall", "--count", "5"], {"stimuli": 5}, SOON + 8 * MS),
    "latency, for": ([*LATENCY, "--on", "byte:0x55", "--for", "5ms"], {}, SOON + 8 * MS),
    "lin monitor, for": (["lin", "monitor", "--for", "2ms"], {}, 2 * MS),
    "lin monitor, count": (["lin", "monitor", "--count", "40"], {"frames": 40}, 0),
    "lin slave, for": (["lin", "slave", str(LDF), "--node", "Window", "--for", "2ms"], {}, 2 * MS),
    "lin master, rounds": (["lin", "master", str(LDF), "--schedule", "Normal", "--rounds", "1"], {}, SOON + 45 * MS),
}
ENDLESS = {
    "capture": ["capture", "--inputs", "0,1", "--bytes"],
    "train": ["train", "--rate", "1k", "--width", "10us"],
    "train, frames": ["train", "--rate", "1k", "--baud", "115200"],
    "send": ["send", "/dev/zero", "--every", "1ms", "--baud", "115200"],
    "respond": ["respond", "--on", "edge:0:rise", "--delay", "1us"],
    "latency": [*LATENCY, "--on", "edge:0:fall"],
    "lin monitor": ["lin", "monitor"],
    "lin slave": ["lin", "slave", str(LDF), "--node", "Window"],
    "lin master": ["lin", "master", str(LDF), "--schedule", "Normal"],
}


@pytest.mark.parametrize("name", ENDING)
def test_a_verb_ends_by_itself(name, board, capsys, tmp_path):
    words, lengths, ticks = ENDING[name]
    (tmp_path / "bytes").write_bytes(bytes(range(20)))
    status = cli.main([word.format(bytes=tmp_path / "bytes") for word in words] + ["--json"])
    out, err = capsys.readouterr()
    result = json.loads(out)
    assert status == 1 and "error" not in result, (status, err)
    assert board.transactions <= BEGIN + ticks // STEP + 2 * LOOK + END
    counts = {key: result[key] if isinstance(result[key], int) else len(result[key]) for key in lengths}
    assert counts == lengths and result["lost"] > EDGES
    for key in ("edges", "bytes"):  # nothing is shown that came after the end
        shown = [each["tick"] for each in result.get(key) or ()]
        assert not shown or not ticks or 0 < max(shown) - min(shown) <= ticks + PREPARED


@pytest.mark.parametrize("name", ENDLESS)
def test_ctrl_c_is_seen_at_the_next_look(name, board, capsys):
    board.interrupt_at = 300
    status = cli.main([*ENDLESS[name], "--json"])
    out, err = capsys.readouterr()
    result = json.loads(out)
    assert board.transactions - board.interrupt_at <= LOOK + END
    assert status in (0, 1, 130) and "error" not in result and result["lost"] > EDGES, (status, err)


def test_python_programs_end_by_themselves_too(board):
    with litepulse.open() as opened:
        with opened.capture(inputs=(0,), duration="2ms") as capture:
            edges = [event for event in capture if isinstance(event, litepulse.EdgeEvent)]
        assert edges and edges[-1].tick - edges[0].tick <= 2 * MS + PREPARED and capture.lost > EDGES
        with opened.capture(inputs=(0,), bytes=True, count=900) as capture:
            assert len([event for event in capture if not isinstance(event, litepulse.LostEvent)]) == 900
    assert board.transactions <= 2 * (BEGIN + 4 * LOOK + END)


def test_a_serial_port_reads_the_requested_count(board):
    with litepulse.open() as opened, litepulse.Serial(opened, 115200, timeout=None) as port:
        before = board.transactions
        assert len(port.read(1)) == 1 and board.transactions - before <= LOOK
        assert len(port.read(2000)) == 2000 and port.lost > BYTES
    assert board.transactions < 4 * BEGIN


def test_a_train_whose_records_are_lost_is_known_to_run(board):
    """The record of its start did not find room."""

    def event(tick, kind, source, *rest, **options):
        if (kind, source) == (5, 5) and not rest[1] and not rest[0]:
            board.seq += 1  # as an event that was dropped
            return
        FakeBoard.event(board, tick, kind, source, *rest, **options)

    board.event = event
    with litepulse.open() as opened, opened.train(rate=1000, width="10us", count=20) as train:
        pulses = list(train)
    assert [pulse.number for pulse in pulses] == list(range(20)) and train.lost > EDGES and not train.record.exact


# A board of the kernel's driver -----------------------------------------------------------------------------------------------


class FloodedKernel(Kernel):
    """Each read() of a file finds as many records as fit, one of them of a loss. `interrupt_at`: number of the read."""

    LOST = 50
    interrupt_at = None

    def __init__(self):
        super().__init__()
        self.tick = self.reads = self.records = self.lost = self.fifo = 0
        self.wanted = abi.Subscribe()

    def answer(self, number, data):
        if number == abi.IOC_TIME:
            self.tick += STEP
            return abi.Time(self.tick)
        if number == abi.IOC_SUBSCRIBE:
            self.wanted = abi.Subscribe.unpack(data)
            self.fifo = self.wanted.fifo or self.fifo
        return super().answer(number, data)

    def read(self, file, size):
        if os.readlink(f"/proc/self/fd/{file}") != "/dev/null":
            return READ(file, size)
        if not self.wanted.kinds:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        self.reads += 1
        if self.reads == self.interrupt_at:
            os.kill(os.getpid(), signal.SIGINT)
        assert self.reads < ENOUGH, "it does not end"
        made = [abi.Event(self.tick, count=self.LOST, kind=abi.KIND_LOST, source=abi.SRC_CAPTURE)]
        for _ in range(size // abi.Event.layout.size - 1):
            self.records += 1
            self.tick += 2
            if self.records % 3 and self.wanted.kinds >> abi.KIND_RX & 1:
                made.append(abi.Event(self.tick, data=HEADER[self.records % 5] & 0xFF, kind=abi.KIND_RX, source=abi.SRC_RECEIVER))
            else:
                made.append(abi.Event(self.tick, data=1 | self.records % 2 << 16, kind=abi.KIND_EDGE, source=abi.SRC_CAPTURE))
        self.lost += self.LOST
        return b"".join(each.pack() for each in made)


READ = os.read


@pytest.fixture
def kernel(monkeypatch):
    kernel = FloodedKernel()
    monkeypatch.setattr(Device, "fifo", FIFO)
    monkeypatch.setattr(fcntl, "ioctl", kernel.ioctl)
    monkeypatch.setattr(os, "read", kernel.read)
    monkeypatch.setattr(backends, "connect", lambda *_arguments, **_options: DriverBackend("/dev/null"))
    return kernel


FIFO = 1024  # less than it really has, so that a look is short
MOST = FIFO // READ_RECORDS + 1  # reads of a look: what waits at most, and the record of a loss


def test_a_look_at_the_driver_ends(kernel):
    """All that waited when it began is in it: what the FIFO holds, whose size is requested to
    suffice."""
    program = DriverBackend("/dev/null")
    program.recorder.record(EDGE)
    assert kernel.fifo == FIFO and kernel.reads == MOST
    for look in range(2, 5):
        batch = program.recorder.read()
        assert kernel.reads == look * MOST and len(batch.events) == MOST * READ_RECORDS
    assert program.recorder.losses().events == 3 * MOST * kernel.LOST
    program.close()


@pytest.mark.parametrize(
    "words, lengths",
    [
        (["capture", "--inputs", "0", "--for", "1ms"], {}),
        (["capture", "--inputs", "0", "--count", "100"], {"edges": 100}),
        (["respond", "--on", "edge:0:rise", "--delay", "1us", "--for", "1ms"], {"answers": 0}),
    ],
)
def test_a_verb_on_the_driver_ends_by_itself(words, lengths, kernel, capsys):
    assert cli.main([*words, "--json"]) == 1
    result = json.loads(capsys.readouterr().out)
    assert {key: len(result[key]) for key in lengths} == lengths and result["lost"] > kernel.LOST
    # The driver reports LAG_SECONDS later until when all is known.
    ticks = STEP + 2 * MOST * (READ_RECORDS - 1)
    assert kernel.reads <= MOST * (MS * (1 + 1000 * LAG_SECONDS) // ticks + 4)


def test_ctrl_c_on_the_driver(kernel, capsys):
    kernel.interrupt_at = 100
    assert cli.main(["capture", "--inputs", "0", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["lost"] > kernel.LOST and kernel.reads <= kernel.interrupt_at + MOST


# The simulated SoC ------------------------------------------------------------------------------------------------------------


def test_the_simulated_soc(tmp_path, capsys):
    """60,000 edges, 30 ticks apart: more than a look can read."""
    stimulus = tmp_path / "edges.txt"
    stimulus.write_text("".join(f"{30_000 + 30 * n} 0 {n + 1 & 1}\n" for n in range(60_000)))
    words = ["--sim", "--stimulus", str(stimulus), "capture", "--inputs", "0"]
    assert cli.main([*words, "--for", "2ms", "--json"]) == 1
    result = json.loads(capsys.readouterr().out)
    ticks = [edge["tick"] for edge in result["edges"]]
    assert result["lost"] > 1000 and len(ticks) > 300 and ticks == sorted(ticks) and ticks[-1] - ticks[0] < 2 * MS
    # Each edge is one of the stimulus: it is seen a tick after the pin has changed.
    assert all((tick - 30_001) % 30 == 0 and edge["level"] == ((tick - 30_001) // 30 + 1) % 2 for tick, edge in zip(ticks, result["edges"]))
    assert cli.main([*words, "--count", "500", "--json"]) == 1
    assert len(json.loads(capsys.readouterr().out)["edges"]) == 500


# What never comes -------------------------------------------------------------------------------------------------------------


def test_a_pipe_in_which_nothing_more_comes(board, monkeypatch, capsys):
    """Ctrl-C is seen while `send` waits for it."""
    monkeypatch.setattr("litepulse.commands.send.AHEAD", 4)
    board.flooding, board.interrupt_at = False, 400
    reading, writing = os.pipe()
    os.write(writing, b"four")
    assert cli.main(["send", f"/dev/fd/{reading}", "--baud", "115200", "--json"]) == 130
    result = json.loads(capsys.readouterr().out)
    assert [each["byte"] for each in result["launched"]] == list(b"four") and result["ended"] == "interrupt" and not result["refused"]
    assert board.transactions - board.interrupt_at <= LOOK + END
    os.close(reading)
    os.close(writing)


def test_data_that_is_not_there_yet(board):
    board.flooding = False
    data = iter([1, None, None, 2, None, 3])
    with litepulse.open() as opened, opened.send(data, every="10ms") as sending:
        outcomes = list(sending)
    assert [outcome.byte for outcome in outcomes] == [1, 2, 3] and {outcome.reason for outcome in outcomes} == {None}
    assert [b.wanted - a.wanted for a, b in zip(outcomes, outcomes[1:])] == [10 * MS, 10 * MS]


def silent(board):
    """It no longer reports what became of launches."""
    board.flooding = False
    board.event = lambda tick, kind, source, *rest, **options: None


@pytest.mark.parametrize("certify", [SelfTest, Procedure])
def test_launches_whose_outcome_never_comes(certify, board):
    silent(board)
    board.step = 100 * STEP
    with litepulse.open() as opened, pytest.raises(litepulse.LitePulseError, match="does not report what became of"):
        profile = Profile(opened.timescale.bit_period(115200))
        if certify is SelfTest:
            SelfTest(opened.backend, profile, 100, 1, (), lambda done: None).run()
        else:
            run = Procedure(opened.backend, profile, None, Options(115200, Format()), (), lambda step, done: None)
            run.prepare()
            run.begin()
            run.launch(b"abc")


def test_a_port_on_which_bytes_keep_coming(monkeypatch):
    monkeypatch.setattr(patient, "HEARD_SECONDS", 0)
    reading, writing = os.pipe()
    os.write(writing, bytes(3 * 4096))
    program = patient.Program(reading, reading, None)
    program.mode = "listen"
    with pytest.raises(litepulse.LitePulseError, match="bytes keep coming that nobody sent"):
        program.do_heard(0.01)
    assert len(program.data) == 4096
    os.close(reading)
    os.close(writing)


def test_a_clock_that_stands_still_ends_flush(board, monkeypatch):
    monkeypatch.setattr("litepulse.serial_port._STUCK", 0)
    board.flooding = False
    with litepulse.open() as opened:
        port = litepulse.Serial(opened, 115200)
        port.write(b"a", at="+1s")
        board.frozen = True
        with pytest.raises(serial.SerialException, match="clock stands still"):
            port.flush()
        board.frozen = False
        port.close()
