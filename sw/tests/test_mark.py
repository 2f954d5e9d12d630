# SPDX-License-Identifier: BSD-2-Clause
"""Marks: codes on the eight pins of the marker port, by the library, the command and a terminal."""

import fcntl
import json
import os
import re
import signal
import subprocess
import time

import pytest

import litepulse
from litepulse import cli
from litepulse.backends import driver_abi as abi
from litepulse.backends.bus.backend import BusBackend
from litepulse.backends.driver.backend import DriverBackend
from litepulse.backends.interface import LAUNCH_PROFILE
from litepulse.line import Format, Profile

from .fake_board import CONFIG, FakeBoard, Server
from .fake_kernel import Kernel
from .test_sim import COMMAND, ENV, pins

MS = 48_000  # ticks


def connected(**options):
    board = FakeBoard(step=2000, **options)
    return board, BusBackend(board, "uartbone", "fake", False, [], lambda seconds: board.advance(round(seconds * 48_000_000)))


def codes(changes, until=None):
    """[(tick, code)] of the marker port by its eight pins in a VCD, from the first that is not 0 on."""
    ticks = sorted({tick for n in range(8) for tick, _ in changes[f"port{n}"]})
    seen, levels = [], [0] * 8
    for tick in ticks:
        for n in range(8):
            levels[n] = next((level for t, level in changes[f"port{n}"] if t == tick), levels[n])
        code = sum(level << n for n, level in enumerate(levels))
        if code != (seen[-1][1] if seen else 0):
            seen.append((tick, code))
    return [each for each in seen if until is None or each[0] < until]


def test_marks_on_the_pins(tmp_path):
    """Each from its tick on, for the width to the tick; one that overlaps replaces it; the line rests."""
    vcd = tmp_path / "pins.vcd"
    with litepulse.open(sim=True, vcd=vcd) as board:
        assert board.identity.port
        first = board.mark(0x2A, width="100us")
        at = board.now() + litepulse.ms(20)
        second = board.mark(200, at=at, width=litepulse.ms(1000))
        third = board.mark(7, width="10us")
        board.mark(0, width=0)
        last = board.mark(0xFF)
    assert (first.reason, second.tick, second.wanted) == (None, at.tick, at.tick)
    changes = pins(vcd)
    assert codes(changes) == [
        (first.tick, 0x2A),
        (first.tick + 4800, 0),
        (second.tick, 200),
        (third.tick, 7),
        (third.tick + 480, 0),
        (last.tick, 0xFF),
    ]
    assert not [tick for tick, _ in changes["tx"] if tick], "the line does not change"


def test_marks_beside_a_kept_train():
    """They do not use the line."""
    device, backend = connected()
    with litepulse.Board(backend) as board:
        board.train(rate=500).detach()
        outcome = board.mark(5, width="1ms")
        assert device.train and device.marks == [(outcome.tick, "queue", 5)]
        board.stop()


def test_a_board_without_a_port():
    """One line, and nothing changes."""
    device, backend = connected(port=False)
    with litepulse.Board(backend) as board:
        writes = device.configs_written
        for call in (lambda: board.mark(1), lambda: board.set_marks("1ms"), lambda: litepulse.Serial(board, marks=True)):
            with pytest.raises((litepulse.LitePulseError, OSError), match="this board has no marker port"):
                call()
        assert device.configs_written == writes and not device.marks and not board.busy


@pytest.mark.parametrize(
    "words, message",
    [
        (["mark"], "nothing to do: give a code, --width or --tty"),
        (["mark", "256"], "litepulse: code: 256 does not fit a byte (0 to 255)"),
        (["mark", "--at", "+1s", "--width", "1ms"], "at: there is no code to show then"),
        (["mark", "1", "--width", "100s"], "width: 100 s (4800000000 ticks) is outside 0 to"),
        (["mark", "--tty", "on"], "the kernel does not drive this board: 'litepulse tty --marks' makes a terminal whose bytes are marks"),
        (["tty", "--width", "1ms"], "width: only of marks, with --marks"),
    ],
)
def test_bad_words(words, message, capsys):
    with Server(FakeBoard(step=2000), "tcp") as server:
        assert cli.main(["--port", server.spec, *words]) == 2
    error = capsys.readouterr().err
    assert message in error and error.startswith("litepulse: ") and error.count("\n") == 1


def test_the_command(capsys):
    """The width stays; what is printed is when it was."""
    device = FakeBoard(step=2000)
    with Server(device, "tcp") as server:
        assert cli.main(["--port", server.spec, "mark", "--width", "5ms"]) == 0
        capsys.readouterr()
        assert cli.main(["--port", server.spec, "mark", "0x2a", "--at", "+50ms", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["code"] == 0x2A and result["tick"] == result["wanted"] and device.marks == [(result["tick"], "queue", 0x2A)]
    assert device.config[CONFIG["port"].index] == 5 * MS


def taken_back(*words):
    """(tick that is announced, what is printed) of a mark that Ctrl-C takes back while it waits."""
    process = subprocess.Popen([*COMMAND, *words], env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    announced = re.fullmatch(r"litepulse: the mark leaves in \d.* (?:d|h|min|s), at tick (\d+)\n", process.stderr.readline())
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert announced and process.returncode == 130 and not errors, errors
    return int(announced[1]), out


@pytest.mark.parametrize("at", ["+3600s", "9999999999999t"])
def test_a_long_wait_is_announced(at):
    """At once, on standard error. Ctrl-C takes the mark back, and the command reports that."""
    device = FakeBoard(step=2000)
    with Server(device, "tcp") as server:
        words = ["--port", server.spec, "mark", "0x2a", "--width", "5ms", "--at", at]
        _, out = taken_back(*words)
        assert "mark taken back, nothing was shown" in [" ".join(row.split()) for row in out.splitlines()]
        tick, out = taken_back(*words, "--json")
    result = json.loads(out)
    assert (result["code"], result["tick"], result["wanted"], result["t_ns"]) == (0x2A, None, tick, None)
    assert tick == 9999999999999 or at == "+3600s"
    assert not device.marks and not device.queue


def test_a_long_wait_for_a_time_of_a_clock_is_announced():
    """The simulator's time passes by what is asked of it, so the tick is known an hour before."""
    tick, out = taken_back("--sim", "mark", "0x2a", "--at", f"monotonic:{time.monotonic() + 3600:.3f}", "--json")
    assert json.loads(out)["wanted"] == tick


def test_bytes_of_a_terminal_are_marks(tmp_path):
    """A program that knows nothing of marks writes bytes to `litepulse tty --marks`."""
    link, vcd = tmp_path / "port", tmp_path / "pins.vcd"
    command = [*COMMAND, "--sim", "--vcd", str(vcd), "tty", "--marks", "--width", "0", "--link", str(link)]
    with subprocess.Popen(command, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.readline(), process.stdout.readline()
        with open(link, "wb", buffering=0) as port:
            for code in (0x2A, 0x55, 0x00, 0xFF):
                os.write(port.fileno(), bytes([code]))
                time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        printed, complaints = process.communicate(timeout=60)
    assert process.returncode == 0 and not complaints and "4 bytes sent" in printed
    changes = pins(vcd)
    assert [code for _, code in codes(changes)] == [0x2A, 0x55, 0x00, 0xFF]
    assert not [tick for tick, _ in changes["tx"] if tick]


def test_info_shows_the_port(capsys):
    for port, text in ((True, "8 pins"), (False, "none in this core")):
        with Server(FakeBoard(port=port), "tcp") as server:
            assert cli.main(["--port", server.spec, "info"]) == 0
            assert f"marker port  {text}" in " ".join(capsys.readouterr().out.split()).replace("marker port ", "marker port  ")
            assert cli.main(["--port", server.spec, "info", "--json"]) == 0
            assert json.loads(capsys.readouterr().out)["port"] is port


def test_info_shows_who_waits(capsys):
    for sequence, text in ((True, "in the launch queue"), (False, "by the host")):
        with Server(FakeBoard(sequence=sequence), "tcp") as server:
            assert cli.main(["--port", server.spec, "info"]) == 0
            assert f"waits {text}" in " ".join(capsys.readouterr().out.split())
            assert cli.main(["--port", server.spec, "info", "--json"]) == 0
            assert json.loads(capsys.readouterr().out)["sequence"] is sequence


@pytest.fixture
def kernel(monkeypatch):
    kernel = Kernel()
    kernel.abi, kernel.flags = 7, abi.INFO_PORT
    monkeypatch.setattr(fcntl, "ioctl", kernel.ioctl)
    return kernel


def test_what_the_driver_gets(kernel):
    """The width, the tty's mode, a profile to the port; the level at rest of the line stays as it is."""
    program = DriverBackend("/dev/null")
    with litepulse.Board(program) as board:
        board.set_marks("5ms", tty=True)
        board.set_marks(tty=False)
        assert kernel.ports == [abi.Port(abi.PORT_WIDTH, 5 * MS), abi.Port(abi.PORT_TTY, tty=1), abi.Port(abi.PORT_TTY)]
        program.line.set_profile(LAUNCH_PROFILE, Profile(board.timescale.bit_period(9600), Format(to_port=True)))
        assert kernel.profiles[1].flags == abi.PROFILE_TO_PORT and abi.IOC_REST not in kernel.calls


@pytest.mark.parametrize("version, flags, text", [(7, 0, "this board has no marker port"), (6, abi.INFO_PORT, "too old for a marker port")])
def test_a_driver_without(version, flags, text, kernel):
    """An older one, or a board without the port."""
    kernel.abi, kernel.flags = version, flags
    with litepulse.Board(DriverBackend("/dev/null")) as board, pytest.raises(litepulse.Unsupported, match=text):
        board.set_marks("1ms")
