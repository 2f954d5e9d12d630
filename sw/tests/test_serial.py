# SPDX-License-Identifier: BSD-2-Clause
"""litepulse.Serial: pyserial's own tests pass on it, and what it writes and reads has its time."""

import importlib.util
import json
import subprocess
import sys
import threading
import time
import unittest

import pytest
import serial

import litepulse
from sim.pyserial_suite import WANT_MODEM_LINES, pyserial_tests

pytestmark = pytest.mark.full
# Of pyserial's tests those about ports; the rest is about pseudo-terminals, other operating systems, RFC 2217 and its test servers.
ABOUT_PORTS = (
    "test",
    "test_advanced",
    "test_cancel",
    "test_context",
    "test_high_load",
    "test_iolib",
    "test_readline",
    "test_settings_dict",
    "test_threaded",
    "test_timeout_class",
    "test_util",
)

WANTS_XOFF = {"test.Test_MoreTimeouts.test_WriteTimeout"}  # xonxoff is refused, as it would have no effect


@pytest.fixture(scope="module")
def url():
    """A simulated board whose time goes by the wall clock, TX wired to RX."""
    from litex_soc import sim_soc

    words = [sim_soc.build(), "--tcp", "0", "--exit-with-parent", "--pace", "--pulse-hz", "1000000", "--loop-tx-rx"]
    process = subprocess.Popen([str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    yield f"litepulse://port:tcp:127.0.0.1:{json.loads(process.stdout.readline())['tcp']}"
    process.stdin.close()
    process.wait(timeout=20)
    process.stdout.close()


@pytest.fixture
def packages(monkeypatch):
    """serial.serial_for_url() knows boards."""
    monkeypatch.setattr(serial, "protocol_handler_packages", [*serial.protocol_handler_packages, "litepulse"])


class Result(unittest.TestResult):
    """Names of the tests that passed."""

    def __init__(self):
        super().__init__()
        self.passed = set()

    def addSuccess(self, test):
        self.passed.add(test.id())


@pytest.mark.seconds(60)
@pytest.mark.parametrize("name", ABOUT_PORTS)
def test_pyserial_s_own_tests(name, url, packages, monkeypatch):
    """All pass but those that want modem lines or flow control. A loaded machine gets longer for
    bytes that must arrive within a moment."""
    folder, names = pyserial_tests()
    assert set(ABOUT_PORTS) <= set(names)
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    module.PORT = url
    sleep = time.sleep
    monkeypatch.setattr(time, "sleep", lambda seconds: sleep(max(seconds, 0.25) if seconds > 0.01 else seconds))
    result = Result()
    unittest.defaultTestLoader.loadTestsFromModule(module).run(result)
    failed = {test.id(): why for test, why in [*result.failures, *result.errors]}
    assert set(failed) == {each for each in WANT_MODEM_LINES | WANTS_XOFF if each.startswith(f"{name}.")}, failed
    assert result.passed


def test_written_at_a_tick_and_read_with_it():
    with litepulse.open(sim=True) as board, litepulse.Serial(board, 115200, timeout=5) as port:
        bit = board.timescale.bit_period(115200).ticks
        start = port.now() + litepulse.ms(5)
        written = port.write(b"LitePulse", at=start)
        assert written == 9 and written.ticks == [start.tick + k * int(10 * bit) for k in range(9)]
        data = port.read(9)
        assert data == b"LitePulse" and data.ticks == tuple(tick + 1 for tick in written.ticks)
        with pytest.raises(litepulse.BadInput, match="has passed"):
            port.write(b"x", at=start)
        later = port.now() + litepulse.ms(20)
        port.write(b"ab", at=later)
        with pytest.raises(litepulse.BadInput, match="busy until tick"):
            port.write(b"c", at=later + litepulse.us(10))
        assert port.read(2) == b"ab" and port.out_waiting == 0


def test_best_effort_bytes_tell_when_they_left():
    with litepulse.Serial("sim", 115200, timeout=5) as port:
        bit = port.board.timescale.bit_period(115200).ticks
        written = port.write(bytes(range(100)))
        port.flush()
        data = port.read(100)
        assert written == 100 and data == bytes(range(100))
        assert data.ticks == tuple(tick + 1 for tick in written.ticks)
        assert all(b - a >= int(10 * bit) for a, b in zip(written.ticks, written.ticks[1:]))


def test_timed_bytes_go_before_best_effort_ones():
    with litepulse.Serial("sim", 9600, timeout=5) as port:
        at = port.now() + litepulse.ms(10)
        port.write(b"T", at=at)
        written = port.write(b"e" * 12)
        port.flush()
        data = port.read(13)
        place = data.index(b"T")
        assert data.ticks[place] == at.tick + 1 and 0 < place < 12 and len(written.ticks) == 12
        assert list(data.ticks[:place] + data.ticks[place + 1 :]) == [tick + 1 for tick in written.ticks]


def test_settings_and_a_break():
    with litepulse.Serial("sim", 19200, bytesize=7, parity="E", stopbits=2, timeout=2) as port:
        assert port.write(b"7e2") == 3 and port.read(3) == b"7e2"
        with pytest.raises(litepulse.BadInput, match="does not fit 7 data bits"):
            port.write(b"\xff")
        port.baudrate, port.bytesize, port.parity, port.stopbits = 57600, 8, "N", 1
        assert port.write(b"\xff8n1") == 4 and port.read(4) == b"\xff8n1"
        port.send_break(0.002)
        assert port.read(1) == b"\0", "a break is received as such"
        with pytest.raises(ValueError, match="no flow control"):
            port.rtscts = True


def test_what_cannot_be_opened():
    with pytest.raises(serial.SerialException, match="no board|boards are there"):
        litepulse.Serial()
    with pytest.raises(serial.SerialException, match="cannot open"):
        litepulse.Serial("/dev/litepulse99")
    port = litepulse.Serial(None)
    assert not port.is_open
    with pytest.raises(serial.SerialException):
        port.open()


def test_bytes_that_found_no_room_are_counted():
    """The board holds a limited number; none of them is read meanwhile."""
    with litepulse.open(sim=True, step=200_000) as board, litepulse.Serial(board, 1_000_000, timeout=1) as port:
        room = board.identity.receive_depth
        for _ in range(3):
            assert board.backend.line.transmit(b"x" * room) == room
            end = board.now() + litepulse.ticks(room * 480)
            while board.now() < end:
                pass
        data = port.read(3 * room)
        assert port.lost > 0 and len(data) + port.lost == 3 * room


def test_what_runs_is_not_disturbed():
    with litepulse.open(sim=True) as board, board.train(rate=1000, baud=115200) as train:
        with pytest.raises(serial.SerialException, match="this program has a job on it already"):
            litepulse.Serial(board, 115200)
        with pytest.raises(serial.SerialException, match="baud: 60000000 is outside"):
            litepulse.Serial(board, 60_000_000)
        assert next(iter(train)).error == 0 and board.status().train_running


def test_a_board_is_given_back_unharmed():
    with litepulse.open(sim=True) as board:
        with litepulse.Serial(board, 115200, timeout=2) as port:
            assert port.write(b"x") == 1 and port.read() == b"x"
        with board.train(rate=1000, baud=115200, count=3) as train:
            assert len(list(train)) == 3 and train.record.exact


def test_a_program_may_take_its_time(monkeypatch):
    """Over a port a board stops what a silent program runs; a thread of ours keeps the board's
    watchdog from firing."""
    from .fake_board import FakeBoard, Server

    monkeypatch.setattr("litepulse.backends.bus.backend._TOUCH_SECONDS", 0.02)
    with Server(FakeBoard(step=1000), "tcp") as server, litepulse.open(port=server.spec):
        reads = server.board.reads
        time.sleep(0.5)
        assert server.board.reads > reads + 5
        assert any(thread.name.startswith("litepulse tcp:") for thread in threading.enumerate())
    reads = server.board.reads
    time.sleep(0.1)
    assert server.board.reads == reads
