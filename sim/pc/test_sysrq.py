# SPDX-License-Identifier: BSD-2-Clause
"""A break on the tty that is the kernel's console, and a key: a request to Debian's kernel (SysRq).

Only a core whose registers are mapped can be the console, so the board is one without hardware (sim/driver/echo_board).
"""

import re
import shutil
import tempfile
from functools import cache
from pathlib import Path

import pytest

from sim import series
from sim.cocotb_rig import ROOT, SIM
from sim.guest.driver_tree import DRIVER, sources
from sim.pc import kernels, pc_rig

CONSOLE = "console=ttyPULSE0,115200"
NUL, H = "0 0", "104 0"
BREAK, OWN = 1 << 2, 1 << 4  # LITEPULSE_RX_*
BROKEN, OWN_BROKEN = f"0 {BREAK}", f"0 {BREAK | OWN}"
LINE = "6.12"  # the release of the kernel that the board is written for
# The driver without what the test does not use.
BEFORE, BEHIND = "LITEPULSE_PTP := n\nLITEPULSE_CONSUMER := n\nLITEPULSE_UARTBONE := n\n", "obj-m += echo_board.o\n"


@cache
def modules():
    """{file name: path} of the driver's module and the board's."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path in sources():
            target = folder / path.relative_to(DRIVER)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
        shutil.copy(SIM / "driver" / "echo_board" / "echo_board.c", folder)
        kbuild = folder / "Kbuild"
        kbuild.write_text(BEFORE + kbuild.read_text() + BEHIND)
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        return {f"{module}.ko": path for module, path in kernels.modules(LINE, folder, files, "echo-board").items()}


def receives(*steps, before="", parameters=""):
    """(bytes that a program reads from the tty, lines of the console): the board receives bytes, "DATA FLAGS", or the shell does a step."""
    guest = series.or_not_tested(lambda line: pc_rig.boot(line, CONSOLE))(LINE)
    commands = [f"echo {step} >/sys/module/echo_board/parameters/receive" if step[0].isdigit() else step for step in steps]
    command = f"""
        # What was read already is not written to a new console.
        cat /proc/kmsg >/dev/null &
        sleep 1
        kill $!
        insmod litepulse.ko && insmod echo_board.ko {parameters} || exit 90
        await /dev/ttyPULSE0
        {before}
        # What the console has written since comes back first.
        ./tty_steps /dev/ttyPULSE0 set=115200,8N1 read=8192,2000 >steps
        cat /dev/ttyPULSE0 >got &
        sleep 1
        {"; usleep 200000; ".join(commands)}
        sleep 2
        kill $!
        echo got $(hexdump -v -e '1/1 "%02x"' got)
    """
    files = {**modules(), "tty_steps": guest.guest_program("tty_steps")}
    result = guest.run(command, files, boards=[])
    (got,) = [line.split()[1:] for line in result.lines if line.split()[:1] == ["got"]]
    return bytes.fromhex("".join(got)), [line.text for line in result.console]


def helped(console):
    """How often the kernel has listed its requests."""
    return sum("sysrq: HELP : " in line for line in console)


def test_a_break_and_a_key_are_a_request():
    """The kernel lists its requests, on the console; neither break nor key reaches a program."""
    got, console = receives(BROKEN, H)
    assert helped(console) == 1
    # The board sends back what it is sent, as far as it fits into its FIFO.
    assert re.match(rb"\[ *\d+\.\d+\] sysrq: HELP : ", got) and b"\0" not in got, got


@pytest.mark.parametrize(
    "steps, read",
    [
        ((BROKEN, "sleep 6", H), b"h"),
        ((BROKEN, BROKEN, H), b"\0h"),
        ((OWN_BROKEN, H), b"\0h"),
        ((BROKEN, f"104 {OWN}", NUL, H), b"h\0h"),
        ((H, BROKEN, NUL, H), b"h\0h"),
    ],
    ids=["late", "twice", "own", "own-key", "nul"],
)
def test_what_is_no_request(steps, read):
    """A key that comes later than 5 s, two breaks, or the port's own bytes: the program gets
    them."""
    got, console = receives(*steps)
    assert not helped(console) and got == read


@pytest.mark.parametrize(
    "before, parameters", [("echo N >/sys/class/tty/ttyPULSE0/console", ""), ("", "sleeps=1")], ids=["no-console", "cable"]
)
def test_only_the_console_takes_requests(before, parameters):
    """A break on another port is a NUL, as always, and a key a byte."""
    got, console = receives(BROKEN, H, before=before, parameters=parameters)
    assert not helped(console) and got == b"\0h"


@pytest.mark.parametrize("name, bit", [("BREAK", BREAK), ("OWN", OWN)])
def test_the_flags_are_those_of_the_interface(name, bit):
    header = (ROOT / "driver/uapi/linux/litepulse.h").read_text()
    (found,) = re.findall(rf"#define LITEPULSE_RX_{name}\s+(0x[0-9a-f]+)", header)
    assert int(found, 16) == bit
