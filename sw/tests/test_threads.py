# SPDX-License-Identifier: BSD-2-Clause
"""Threads on one board: one job at a time, whichever thread begins it, with all its records. And
systems without such a board."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import serial

import litepulse
from litepulse.backends.bus.backend import BusBackend
from litepulse.measurement import IdealTrain, TrainRecord
from litepulse.units import Period

from .fake_board import FakeBoard

TRAIN = {"rate": 1000, "baud": 115200}
OTHERS = {
    "train": lambda board: board.train(**TRAIN),
    "launch": lambda board: board.launch(byte=1),
    "send": lambda board: board.send(b"x"),
    "capture": lambda board: board.capture(),
    "respond": lambda board: board.respond(litepulse.Edge(0), "1us"),
    "latency": lambda board: board.latency(litepulse.Edge(0), width="1us"),
}


class Stopping(FakeBoard):
    """A thread that names itself 'slow' stands still in its first transaction, until `go`."""

    def __init__(self):
        super().__init__(step=20_000)
        self.inside, self.go = threading.Event(), threading.Event()
        self.go.set()
        self.turn = threading.RLock()

    def hold(self):
        return self.turn

    def _wait(self):
        if threading.current_thread().name == "slow" and not self.inside.is_set():
            self.inside.set()
            assert self.go.wait(60)

    def read(self, address, count):
        self._wait()
        with self.turn:
            return super().read(address, count)

    def write(self, address, words):
        self._wait()
        with self.turn:
            super().write(address, words)


@pytest.fixture
def board():
    with litepulse.Board(BusBackend(Stopping(), "uartbone", "fake", False, [], lambda seconds: None)) as board:
        yield board


def begin_slowly(board):
    """A thread that begins a train and stands between the look whether it may and the train."""
    device, pulses, exact = board.backend.registers.bus, [], []
    device.go.clear()

    def run():
        with board.train(count=50, **TRAIN) as train:
            pulses.extend(train)
        exact.append(train.record.exact)

    thread = threading.Thread(target=run, name="slow")
    thread.start()
    assert device.inside.wait(60)
    return thread, pulses, exact


@pytest.mark.parametrize("other", OTHERS)
def test_a_second_job_is_refused_while_the_first_begins(other, board):
    thread, pulses, exact = begin_slowly(board)
    assert board.busy
    with pytest.raises(litepulse.InUse, match="a job on it already"):
        OTHERS[other](board)
    board.backend.registers.bus.go.set()
    thread.join(60)
    assert [pulse.number for pulse in pulses] == list(range(50)) and exact == [True] and not board.busy


def test_a_serial_port_is_a_job(board):
    thread, _, exact = begin_slowly(board)
    with pytest.raises(serial.SerialException, match="a job on it already"):
        litepulse.Serial(board, 9600)
    board.backend.registers.bus.go.set()
    thread.join(60)
    assert exact == [True]
    with litepulse.Serial(board, 9600) as port:
        for job in OTHERS.values():
            with pytest.raises(litepulse.InUse):
                job(board)
        assert port.is_open and board.busy
    assert not board.busy and board.launch(byte=1).reason is None


def test_a_job_that_cannot_begin_leaves_the_board_free(board):
    with pytest.raises(litepulse.BadInput):
        board.launch(at=1, byte=1)
    with pytest.raises(serial.SerialException):
        litepulse.Serial(board, 10**8)
    assert not board.busy and board.launch(byte=1).reason is None


def test_one_of_many_threads_gets_it(board):
    gate, got, refused = threading.Barrier(8), [], []

    def run():
        gate.wait(60)
        try:
            train = board.train(count=5, **TRAIN)
        except litepulse.InUse as error:
            refused.append(error)
            return
        got.append(train)

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(got) == 1 and len(refused) == 7
    assert len(list(got[0])) == 5 and got[0].record.exact


def test_another_thread_may_stop_a_job(board):
    """No record is taken by the wrong one: the pulses have no gap, and the count is that of the core."""
    for _ in range(5):
        pulses, enough = [], threading.Event()
        train = board.train(**TRAIN)

        def run(train=train, pulses=pulses, enough=enough):
            for pulse in train:
                pulses.append(pulse)
                if len(pulses) > 20:
                    enough.set()

        thread = threading.Thread(target=run)
        thread.start()
        assert enough.wait(60)
        train.stop()
        thread.join(60)
        assert not thread.is_alive()
        assert [pulse.number for pulse in pulses] == list(range(train.record.done)) and train.record.exact


@pytest.mark.parametrize(
    "pulses, done, over, exact",
    [
        ([0, 1, 2], None, False, True),  # it still runs
        ([0, 1, 2], 3, True, True),
        ([0], 50, True, False),  # 1 of 50
        ([0, 1, 2], None, True, False),  # how many there should be is unknown
        ([0, 2], 3, True, False),
        ([0, 1, 2], 4, False, False),
        ([1, 2], 3, True, False),
        ([], 0, True, False),
    ],
)
def test_exact_means_all_of_them(pulses, done, over, exact):
    record = TrainRecord(IdealTrain(Period(1000, 0, 1), 500))
    for number in pulses:
        record.add_launch(number, 500 + 1000 * number)
    record.done, record.over = done, over
    assert record.exact is exact


WITHOUT = "import sys; sys.modules.update(dict.fromkeys(['fcntl', 'termios', 'pty', 'tty', 'resource'])); "
SW = Path(__file__).resolve().parents[1]


COMMAND = "sys.argv[1:] = ['{}']; from litepulse.entry import main; sys.exit(main())"
PROGRAM = """import litepulse
try:
    {}
except litepulse.Unsupported as error:
    print("litepulse:", error, file=sys.stderr)"""


@pytest.mark.parametrize(
    "program, status", [(COMMAND.format("info"), 2), (PROGRAM.format("litepulse.open()"), 0), (PROGRAM.format("litepulse.Serial"), 0)]
)
def test_windows_is_refused_in_one_line(program, status):
    """Python's modules for Unix are missing there."""
    env = {**os.environ, "PYTHONPATH": str(SW)}
    done = subprocess.run([sys.executable, "-c", WITHOUT + program], env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == status and not done.stdout
    assert done.stderr == "litepulse: this system is not supported: LitePulse needs Linux or macOS; on Windows use WSL or a Linux VM\n"
