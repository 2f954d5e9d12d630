# SPDX-License-Identifier: BSD-2-Clause
"""Which board is meant without an option: the kernel's, else the one that is plugged in; several
need an option."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import serial

import litepulse
from litepulse import attached, ports
from litepulse.backends.found import find, others, the_one
from litepulse.backends.owner import Owner
from litepulse.errors import BadInput, LitePulseError

from .fake_board import FakeBoard, Server
from .fake_machine import Machine

ROOT = Path(__file__).resolve().parents[2]
ENV = {**os.environ, "PYTHONPATH": f"{ROOT / 'sw'}{os.pathsep}{ROOT}", "COLUMNS": "200"}


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A simulated PC, which this process takes for its own."""
    made = Machine(tmp_path).make()
    monkeypatch.setattr(ports, "Host", lambda: made.host)
    monkeypatch.setattr(attached, "Host", lambda: made.host)
    return made


@pytest.fixture
def terminals():
    """Two pseudo-terminals with a board at the other end."""
    with Server(FakeBoard()) as first, Server(FakeBoard()) as second:
        yield first.spec, second.spec


def test_no_board(machine):
    assert find() == [] and others("/dev/litepulse0") == []
    with pytest.raises(LitePulseError, match=r"^no board: give open\(port=.*\), or open\(sim=True\) .*; `litepulse doctor` looks for"):
        litepulse.open()
    with pytest.raises(serial.SerialException, match=r"^no board: give open\(port="):
        litepulse.Serial()
    assert not re.search("--[a-z]", str(the_error()))


def the_error():
    with pytest.raises(LitePulseError) as error:
        litepulse.open()
    return error.value


def test_what_excludes_each_other_is_named_as_in_python():
    for options in ({"sim": True, "port": "x"}, {"device": "x", "sim": True}, {"sim": True, "bridge_baud": 9600}, {"core": "x"}):
        with pytest.raises(BadInput) as error:
            litepulse.open(**options)
        assert "--" not in str(error.value)


def test_one_that_is_plugged_in(machine, terminals):
    machine.plug(terminals[0])
    board = the_one()
    assert board.device is None and board.port.endswith("usb-1BitSquared_iCEBreaker_V1.0e_ib7A-if01-port0")
    assert str(board).endswith("(iCEBreaker V1.0e, not attached)") and board.option == f"--port {board.port}"
    assert others("/dev/ttyUSB9") == [str(board)] and others(board.port) == []


def test_two_that_are_plugged_in(machine, terminals):
    machine.plug(terminals[0])
    machine.plug(terminals[1], "ttyUSB3", place="1-3", serial="second")
    assert re.fullmatch(r"2 boards are there, choose one: open\(port='.*ib7A.*\) \[.*\], open\(port='.*second.*\]", str(the_error()))


def test_the_kernel_s_board_comes_first(machine, terminals):
    machine.plug(terminals[0])
    machine.appear("ttyUSB1")
    machine.plug(terminals[1], "ttyUSB3", place="1-3", serial="second")
    board = the_one()
    assert board.device == str(machine.dev / "litepulse0") and board.port == str(machine.dev / "ttyUSB1")
    (other,) = others(board.device)
    assert "second" in other and other.endswith("not attached)")
    machine.appear("ttyUSB3", 1)
    assert [board.device for board in find()] == [str(machine.dev / name) for name in ("litepulse0", "litepulse1")]
    assert re.search(r"choose one: open\('.*litepulse0'\) .*, open\('.*litepulse1'\)", str(the_error()))


def test_a_plug_that_speaks_to_the_terminal(machine, terminals):
    machine.plug(terminals[0], product="iCEBreaker \x1b[2J")
    assert [str(board) for board in find()] and "\x1b" not in str(find()[0])
    (port,) = ports.find_bridges(ports.Host())
    assert port.product == port.title().split(",")[0].removeprefix(port.maker).strip() and port.product.isprintable()


@pytest.mark.parametrize("trap", ["symlink", "folder", "of another user"])
def test_a_lock_that_is_a_trap(trap, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    owner = Owner("/dev/null")
    if trap == "symlink":
        owner.path.symlink_to("/etc/passwd")
    elif trap == "folder":
        owner.path.mkdir()
    else:
        monkeypatch.setattr(os, "getuid", lambda: 12345)
    with pytest.raises(LitePulseError, match="remove it"):
        owner.acquire()


def test_what_is_no_device_of_ours(machine):
    (machine.dev / "litepulse").mkdir()
    (machine.dev / "litepulse-old").symlink_to("/dev/null")
    (machine.dev / "litepulse7").write_text("no device")
    assert find() == []


def test_the_command_finds_it(tmp_path, terminals):
    machine = Machine(tmp_path).make()
    words = [sys.executable, Path(__file__).with_name("fake_machine.py"), machine.folder, "info"]
    done = subprocess.run(words, env=ENV, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stderr == "litepulse: no device: give --port /dev/ttyUSB1 or --port tcp:host:port, or --sim for the simulated SoC\n"
    machine.plug(terminals[0])
    words = [sys.executable, Path(__file__).with_name("fake_machine.py"), machine.folder]
    done = subprocess.run([*words, "info", "--json"], env=ENV, capture_output=True, text=True, timeout=60, check=False)
    info = json.loads(done.stdout)
    assert done.returncode == 0 and done.stderr == "" and info["backend"] == "uartbone" and info["device"].endswith("if01-port0")
    assert info["others"] == []
    machine.plug(terminals[1], "ttyUSB3", place="1-3", serial="second")
    done = subprocess.run([*words, "info"], env=ENV, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and "2 boards are there, choose one: --port " in done.stderr and done.stderr.count("\n") == 1
    done = subprocess.run(
        [*words, "--port", str(machine.dev / "ttyUSB1"), "info"], env=ENV, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0 and "also" in done.stdout and "second" in done.stdout
    machine.appear("ttyUSB1")
    done = subprocess.run([*words, "info"], env=ENV, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and "litepulse0: not a device of LitePulse's driver" in done.stderr and done.stderr.count("\n") == 1
