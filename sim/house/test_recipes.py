# SPDX-License-Identifier: BSD-2-Clause
"""docs/recipes: each command that begins with `$ ` is run, and prints what the page shows; each program prints what it says."""

import importlib
import re
import struct
import subprocess
import sys

import pytest

from sim.cocotb_rig import ROOT
from sim.house import reader

FOLDER = ROOT / "docs" / "recipes"
PAGES = sorted(path.stem for path in FOLDER.glob("*.md"))
RECIPES = [name for name in PAGES if name != "index"]
# Of these other tests run the programs: they need the kernel's trace (test_explain_pc), a network device of the driver's
# (test_python_can), or are tests for pytest (sw/tests/test_pytest_plugin.py, test_labgrid.py), or import what is not in .venv
# (reader.ELSEWHERE).
NOT_RUN = {"explain", "python-can", "pytest", "labgrid", "labscript", "psychopy", "expyriment", "mne"}
COMMAND = re.compile(r"(?m)^    \$ ((?:.*\\\n)*.*)\n((?:    (?!\$ ).*\n|\n(?=    (?!\$ )))*)")
PROGRAM = re.compile(r"(?ms)^```python\n(.*?)^```")


def text(name):
    """A page."""
    return (FOLDER / f"{name}.md").read_text(encoding="utf-8")


def commands(page):
    """[(command, [line that it prints, ...])] of a page."""
    return [(command, [line.strip() for line in shown.splitlines()]) for command, shown in COMMAND.findall(page)]


def expected(program):
    """What its `print(...)  # text` lines say that they print."""
    return re.findall(r"(?m)^\s*print\(.*\)  # (.*)$", program)


def comparable(command, lines):
    """Lines without what differs between runs: how many edges `certify` needs for those
    requested."""
    if " certify " not in command:
        return lines
    return [re.sub(r"^(edges|delay) .*", lambda found: re.sub(r"\d{3,}", "N", found[0]), line) for line in lines]


def run(words, folder):
    """What is printed on both outputs, as lines; the status must be 0."""
    done = reader.run(words, folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout
    return done.stdout.splitlines()


@pytest.mark.seconds(10)
@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe(name, tmp_path):
    """In the order of the page, in one folder, which has the repository's sw/: a later part may use a file of an earlier one."""
    (tmp_path / "sw").symlink_to(ROOT / "sw")
    page = text(name)
    for command, shown in commands(page):
        printed = [line.strip() for line in run(command, tmp_path)]
        assert comparable(command, printed) == comparable(command, shown), command
    for program in PROGRAM.findall(page) if name not in NOT_RUN else ():
        if any(module in program for module in reader.ELSEWHERE):
            continue
        assert run([sys.executable, "-c", program], tmp_path) == expected(program)


def test_every_recipe_is_run():
    assert set(RECIPES) > NOT_RUN
    for name in set(RECIPES) - NOT_RUN:
        page = text(name)
        ran = [command for command, _ in commands(page) if command.startswith("litepulse --sim ")]
        programs = PROGRAM.findall(page)
        assert ran or programs, name
        assert all(expected(program) for program in programs), name
        assert all(shown for command, shown in commands(page) if "litepulse --sim" in command), name


def test_the_index_has_every_recipe():
    assert re.findall(r"\]\(([\w-]+)\.md\) \|$", text("index"), re.MULTILINE) == sorted(RECIPES, key=text("index").find)


def test_limits_that_are_repeated_are_those_of_the_page():
    """A figure of docs/limits.md that a recipe repeats."""
    limits = (ROOT / "docs" / "limits.md").read_text(encoding="utf-8")
    for name, figures in {
        "58hz": ("| 2.5 µs (400 kHz) |", "| 89.478 s |"),
        "edge-times": ("| a tick | 20.833 ns |", "| events that wait in the board | 256 |"),
        "rs485": ("| shortest delay after a byte | 145.833 ns |",),
        "lin-slave": ("| highest bit rate as a LIN slave | 750 kBd |",),
    }.items():
        for figure in figures:
            number = re.search(r"[\d.]+ [µn]?s\b|\d+(?= kBd)|\d+", figure)
            assert figure in limits and number and number[0] in text(name), (name, figure)


EXTENDED, REMOTE = 1 << 31, 1 << 30  # of a SocketCAN identifier


def raw(identifier, data=b""):
    """The bytes of a SocketCAN frame."""
    return struct.pack("=IB2xB8s", identifier, len(data), len(data), data)


def test_python_can(monkeypatch, capsys):
    """The program runs with python-can's own virtual bus, and each message of the page is the frame that docs/lin.md has for it."""
    can = pytest.importorskip("can")
    frame_of = importlib.import_module("can.interfaces.socketcan.socketcan").build_can_frame
    sent = []
    heard = [raw(0x10 | REMOTE), raw(0x10, b"\xa1\xb2")]

    class Lin0(importlib.import_module("can.interfaces.virtual").VirtualBus):
        """Ends when it has given what was on the bus."""

        def send(self, msg, timeout=None):
            sent.append(frame_of(msg))

        def __iter__(self):
            for frame in heard:
                (identifier, length), data = struct.unpack("=IB", frame[:5]), frame[8:]
                yield can.Message(
                    timestamp=1.5,
                    arbitration_id=identifier & 0x1FFFFFFF,
                    is_extended_id=bool(identifier & EXTENDED),
                    is_remote_frame=bool(identifier & REMOTE),
                    dlc=length,
                    data=data[:length],
                )

    def bus(channel, interface):
        assert (channel, interface) == ("lin0", "socketcan")
        return Lin0(channel)

    monkeypatch.setattr(can, "Bus", bus)
    page = text("python-can")
    (program,) = PROGRAM.findall(page)
    exec(compile(program, "python-can.md", "exec"), {})
    assert sent == [raw(EXTENDED | 0xD0, b"\xa1\xb2")]
    assert capsys.readouterr().out.splitlines() == ["1.5 0x10 ", "1.5 0x10 a1b2"]
    messages = [eval(code, {"can": can}) for code in re.findall(r"`(can\.Message\(.*\))`", page)]
    assert [frame_of(message) for message in messages] == [raw(0x10 | REMOTE), raw(0x11, bytes.fromhex("4a5593e5"))]
    enhanced = can.Message(arbitration_id=int(re.search(r"`arbitration_id=(0x\w+)`", page)[1], 16), is_extended_id=False, data=b"\1")
    assert frame_of(enhanced) == raw(0x91, b"\1")
