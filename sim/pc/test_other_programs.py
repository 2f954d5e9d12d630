# SPDX-License-Identifier: BSD-2-Clause
"""Independent programs on /dev/ttyPULSE0: pyserial's own tests, picocom, and a file by ZMODEM
between two boards."""

import random

import pytest

from sim.guest.frames import data_of, profile, read_frames
from sim.pc.debian import programs
from sim.pc.python import python
from sim.pyserial_suite import WANT_MODEM_LINES, pyserial_tests

LINE = "6.12"
# pyserial's tests; this prints what became of each one, and the time it took. They sleep as long as a PC needs that computes nothing
# else; this machine computes the board and each of the PC's instructions.
SUITE = """
import sys, time, unittest
sleep = time.sleep
time.sleep = lambda seconds: sleep(max(seconds, 0.25))
class Result(unittest.TestResult):
    def startTest(self, test):
        super().startTest(test)
        self.since = time.monotonic()
    def report(self, how, test, why=""):
        print("test", how, test.id(), f"{time.monotonic() - self.since:.1f}", why.replace(chr(10), " | "), flush=True)
    def addSuccess(self, test): self.report("passed", test)
    def addFailure(self, test, error): self.report("failed", test, self._exc_info_to_string(error, test))
    def addError(self, test, error): self.report("failed", test, self._exc_info_to_string(error, test))
    def addSkip(self, test, why): self.report("skipped", test, why)
result = Result()
for name in sys.argv[2:]:
    module = __import__(name)
    module.PORT = sys.argv[1]
    unittest.defaultTestLoader.loadTestsFromModule(module).run(result)
print("tests", result.testsRun)
"""
IMPORTED = """
import handlers.protocol_test, importlib, unittest, serial.rs485, serial.threaded, serial.rfc2217, serial.serialutil, traceback, linecache
import encodings.ascii, encodings.utf_8, encodings.latin_1, encodings.idna
for name in ("loop", "socket", "rfc2217", "spy", "alt", "hwgrep"):
    importlib.import_module("serial.urlhandler.protocol_" + name)
"""
# This one is for systems without the other way to open a port.
NOT_FOR_LINUX = {"test_exclusive.Test_exclusive.test_exclusive_only_true"}


@pytest.mark.seconds(120)
def test_pyserial_s_own_tests(pc):
    """With TX wired to RX, as they require; all pass but those that need modem lines."""
    guest = pc(LINE)
    folder, names = pyserial_tests()
    imported = f"{IMPORTED}\nimport {', '.join(names)}"
    result = guest.attached(
        f"mkdir /dev/pts && mount -t devpts devpts /dev/pts && ./start suite.py /dev/ttyPULSE0 {' '.join(names)}",
        {**python("pyserial", imported, [folder]), "suite.py": SUITE.encode()},
        boards=[{"wires": ["tx:rx"], "record": False}],
        seconds=400,
    )
    results = [line.split(" ", 4) for line in result.lines if line.startswith("test ")]
    failed = {name: why for _, how, name, _, why in results if how == "failed"}
    assert set(failed) == WANT_MODEM_LINES, failed
    assert {name for _, how, name, *_ in results if how == "skipped"} == NOT_FOR_LINUX
    assert result.lines[-1] == f"tests {len(results)}" and len(results) > 50


def test_picocom(pc):
    """What it sends comes back over the wire; the frames on the pin are of its baud and format."""
    guest = pc(LINE)
    result = guest.attached(
        "./picocom -b 4800 --parity e --databits 7 --stopbits 2 --quiet --initstring 'Hello, board' --exit-after 500 /dev/ttyPULSE0; echo",
        programs("terminal-programs", "picocom"),
        wires=["tx:rx"],
    )
    assert result.lines == ["Hello, board"]
    assert data_of(read_frames(result.pin("tx"), [profile(4800, "7E2", result.hz)])) == b"Hello, board"


@pytest.mark.seconds(30)
def test_a_file_by_zmodem(pc, tmp_path):
    """From one board to the other, whose TX and RX are wired crosswise: every byte, control characters too."""
    guest = pc(LINE)
    data = random.Random(1).randbytes(3000) + bytes(range(256)) * 2
    link = {"hz": 1_000_000, "link": tmp_path / "wire"}
    result = guest.attached(
        """
        for port in /dev/ttyPULSE0 /dev/ttyPULSE1; do stty -F $port 38400 raw -echo; done
        (./rz --binary </dev/ttyPULSE1 >/dev/ttyPULSE1 2>rz.log; echo "rz $?") &
        ./sz --binary here/file </dev/ttyPULSE0 >/dev/ttyPULSE0 2>sz.log
        echo "sz $?"
        wait
        cmp here/file file && echo same || cat rz.log sz.log
    """,
        {**programs("terminal-programs", "sz", "rz"), "here/file": data},
        boards=[link, link],
        seconds=120,
    )
    assert sorted(result.lines) == ["rz 0", "same", "sz 0"]
    assert all(len(board.pins_of("tx")) > 100 for board in result.boards)
