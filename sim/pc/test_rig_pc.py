# SPDX-License-Identifier: BSD-2-Clause
"""The rig itself: Debian's kernels boot, a board on the cable answers, boards are plugged and
unplugged, and mistakes are noticed."""

import os
import pty
import re
import select
import sys
import time

import pytest

from litex_soc import regmap
from sim import series
from sim.cocotb_rig import ROOT
from sim.pc import pc_rig

every = pytest.mark.parametrize("line", series.each(pc_rig.LINES))
ONE = "6.12"


@every
@pytest.mark.seconds(20)
def test_the_board_answers(pc, line):
    """By plain UARTBone through Debian's ftdi_sio: magic, version, geometry, clock."""
    guest = pc(line)
    result = guest.run(f"uname -r; ./uartbone /dev/ttyUSB0 {regmap.CSR_BASE:#x} 5", {"uartbone": guest.guest_program("uartbone")})
    release, magic, version, _, num, den = result.lines
    assert release.startswith(f"{line}.") and release == guest.kernel.release
    assert int(magic, 16) == regmap.MAGIC and int(version, 16) == regmap.VERSION_MAJOR << 16 | regmap.VERSION_MINOR
    assert int(num, 16) == result.hz and int(den, 16) == 1
    assert any("FTDI USB Serial Device converter now attached to ttyUSB0" in text for text in result.kernel)


@every
def test_the_driver_fits_the_kernel(pc, line):
    guest = pc(line)
    guest.run("insmod litepulse.ko && grep -q '^litepulse ' /proc/modules && rmmod litepulse", guest.driver(), boards=[])


def test_files_and_statuses(pc):
    """Files pass unchanged, byte by byte; each way to end is reported; later runs see nothing of
    earlier ones."""
    guest = pc(ONE)
    data = bytes(range(256)) * 41 + b"odd"
    result = guest.run("od -An -v -tx1 folder/data; echo last", {"folder/data": data}, boards=[])
    found = [line for line in result.lines if re.fullmatch(r"( [0-9a-f]{2})+", line)]
    assert bytes.fromhex("".join(found)) == data and result.lines[-1] == "last"
    assert guest.run("exit 7", boards=[], status=7).status == 7
    assert guest.run("kill -9 $$", boards=[], status=None).status == 128 + 9
    assert guest.run("sleep 1000 & exit 0", boards=[]).status == 0
    assert guest.run("test ! -e folder", boards=[]).lines == []


@pytest.mark.parametrize(
    "command, options, message",
    [
        ("exit 3", {}, "exit status 3, not 0"),
        ("echo begun; sleep 100", {"seconds": 5}, r"not done within(.|\n)*begun"),
        ("echo 'WARNING: a mistake' >/dev/kmsg", {}, "the kernel complains: .*a mistake"),
        ("echo c >/proc/sysrq-trigger; sleep 100", {}, "the kernel complains: .*Kernel panic"),
        ("true", {"complaints": ["as expected"]}, "the kernel did not say 'as expected'"),
        ("true", {"when": {"a word": lambda machine: None}}, "never printed: a word"),
        ("patience=5; await /dev/ttyUSB0", {"seconds": 5}, "not done within 5 s; it waits until /dev/ttyUSB0 comes"),
        ("patience=5; gone /dev/null", {"seconds": 5}, "not done within 5 s; it waits until /dev/null goes"),
        ("insmod none.ko || exit 5", {"boards": [{}], "status": 4}, "exit status 5, not 4"),
    ],
)
def test_failures_are_reported(pc, command, options, message):
    with pytest.raises(pc_rig.GuestError, match=message):
        pc(ONE).run(command, **{"boards": [], **options})


def test_a_wait_ends_by_what_happens(pc):
    """It does not end by a time limit, as a busy machine is slow."""
    result = pc(ONE).run("patience=5; (usleep 300000; touch file; usleep 300000; rm file) & await file; gone file; echo end", boards=[])
    assert result.lines == ["end"]


def test_a_wrong_option_of_the_board(pc):
    with pytest.raises(pc_rig.GuestError, match="the simulated SoC does not start: .*--nonsense"):
        pc(ONE).run("true", boards=[{"options": ["--nonsense"]}])


def test_boards_come_and_go(pc):
    """Two at once, each its own; one is unplugged while it is open, and plugged in again with the
    other's board on it."""
    guest = pc(ONE)

    def swap(machine):
        board = machine.adapters[1].board
        machine.unplug(0)
        machine.unplug(1)
        machine.plug(0, board)

    clock = f"clock() {{ ./uartbone /dev/$1 {regmap.CSR_BASE + 12:#x} 1; }}"
    result = guest.run(
        f"{clock}; clock ttyUSB0; clock ttyUSB1; exec 5<>/dev/ttyUSB0; echo swap; gone /dev/ttyUSB0; exec 5<&-; await /dev/ttyUSB0; "
        "clock ttyUSB0",
        {"uartbone": guest.guest_program("uartbone")},
        boards=[{"hz": 1_000_000}, {"hz": 1_500_000}],
        when={"swap": swap},
    )
    assert [int(word, 16) for word in result.lines if word != "swap"] == [1_000_000, 1_500_000, 1_500_000]
    assert any("USB disconnect" in line for line in result.kernel)


def test_the_line_can_be_damaged(pc):
    """A test can change the bytes that pass an adapter."""
    guest = pc(ONE)

    def damage(machine):
        machine.adapters[0].mangle = lambda to_the_pc, data: bytes(byte ^ 0xFF for byte in data) if to_the_pc else data

    magic = f"./uartbone /dev/ttyUSB0 {regmap.CSR_BASE:#x} 1"
    result = guest.run(
        f"{magic}; echo damage; usleep 300000; {magic}", {"uartbone": guest.guest_program("uartbone")}, when={"damage": damage}
    )
    sound, _, damaged = result.lines
    assert int(sound, 16) == regmap.MAGIC == int(damaged, 16) ^ 0xFFFF_FFFF


def test_a_dead_board_is_reported(pc):
    with pytest.raises(pc_rig.GuestError, match="a board's simulator ended with status -9"):
        pc(ONE).run("echo now; sleep 1", when={"now": lambda machine: machine.adapters[0].board.process.kill()})


def test_pins_are_recorded(pc):
    """From tick 0 on, beside the readings of the board's clock."""
    result = pc(ONE).run("usleep 200000", boards=[{"hz": 1_000_000, "options": ["--level", "2=1"]}])
    assert result.pin("tx") == [(0, 1)] and result.pin("aux2") == [(0, 1)] and result.pin("aux0") == [(0, 0)]
    assert result.stats["cycles"] > 200_000


class Person:
    """A user at a terminal."""

    def __init__(self, *words):
        self.process, self.terminal = pty.fork()
        if not self.process:
            os.chdir(ROOT)
            os.execv(sys.executable, [sys.executable, *words])
        self.seen = ""

    def sees(self, text, seconds=60):
        """Until the screen has a text, or the program has ended: False."""
        deadline = time.monotonic() + seconds
        while text not in self.seen:
            assert time.monotonic() < deadline, self.seen
            if select.select([self.terminal], [], [], 0.1)[0]:
                try:
                    self.seen += os.read(self.terminal, 4096).decode(errors="replace")
                except OSError:
                    return False
        return True

    def types(self, text):
        """Characters."""
        os.write(self.terminal, text.encode())

    def status(self):
        """After the program's end."""
        self.sees("\0")
        _, status = os.waitpid(self.process, 0)
        os.close(self.terminal)
        return os.waitstatus_to_exitcode(status)


def test_make_pc(pc, tmp_path):
    """A user at the console: the board and the user's files are there, Ctrl-C goes to the guest,
    Ctrl-A x ends."""
    (tmp_path / "mine").write_text("a file of mine\n")
    person = Person("-m", "sim.pc", "--files", tmp_path, "--hz", "1000000")
    assert person.sees("# ", 300)  # the first time it builds the programs
    # A signal would be lost on a program that has just ended: what is to be interrupted says first that it runs.
    person.types("litepulse-info; cat mine; sh -c 'echo 1$((1 + 1))3; exec sleep 1000'\r")
    assert person.sees("\r\n123\r\n") and "a file of mine" in person.seen and "1000000" in person.seen
    person.types("\x03echo 4$((1 + 1))\r")
    assert person.sees("\r\n42\r\n")
    person.types("\x01x")
    assert person.status() == 0 and "/dev/ttyUSB0" in person.seen


@pytest.mark.parametrize(
    "words, message, here, there",
    [
        (["--wire", "tx:rx", "tx:aux2"], "TX is wired to RX; TX is wired to aux2", "PULSE0", "PULSE0"),
        (["--boards", "2"], "TX of each board is wired to RX of the other", "PULSE1", "PULSE0"),
    ],
)
def test_make_pc_with_wires(pc, words, message, here, there):
    """Sent bytes are received again, or by the other board."""
    person = Person("-m", "sim.pc", "--hz", "500000", *words)
    assert person.sees("# ", 300) and message in person.seen
    person.types(f"head -c 6 </dev/tty{there} & sleep 1; printf '%s\\n' heard >/dev/tty{here}; wait; echo 4$((1 + 1))\r")
    assert person.sees("\r\n42\r\n") and "heard\r\n" in person.seen.split("echo", 1)[1].split("\n", 1)[1]
    person.types("\x01x")
    assert person.status() == 0


def test_make_pc_with_lin(pc):
    """lin0 without a board: the response that it publishes comes back over the wire, by can-utils and ip."""
    person = Person("-m", "sim.pc", "--hz", "500000", "--wire", "tx:rx")
    assert person.sees("# ", 300) and "LIN goes to 7812 baud" in person.seen
    for line in (
        "ip link set lin0 type can bitrate 2400 && echo master >/sys/class/net/lin0/role && ip link set lin0 up; echo set $?",
        "candump -n 2 lin0,010:7ff & sleep 1; cansend lin0 000000D0#A1B2; sleep 1; cansend lin0 010#R; wait; echo 4$((1 + 1))",
    ):
        person.types(f"{line}\r")
    assert person.sees("\r\n42\r\n") and "set 0" in person.seen and re.search(r"lin0 +010 +\[2\] +A1 B2", person.seen), person.seen
    person.types("\x01x")
    assert person.status() == 0


@pytest.mark.parametrize(
    "words, message",
    [
        (["--kernel", "5.10"], "invalid choice"),
        (["--hz", "0"], "above 0 Hz"),
        (["--files", "/nowhere"], "no folder"),
        (["--wire", "rx:tx"], "invalid choice"),
        (["--boards", "2", "--wire", "tx:rx"], "RX is wired to the other board"),
    ],
)
def test_make_pc_refuses(words, message):
    person = Person("-m", "sim.pc", *words)
    assert person.status() == 2 and message in person.seen
