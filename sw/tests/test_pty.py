# SPDX-License-Identifier: BSD-2-Clause
"""`litepulse tty`: programs for serial ports work on the simulated board; their settings show on
the pins."""

import contextlib
import os
import shutil
import signal
import subprocess
import termios
import time
from fractions import Fraction

import pytest
import serial

from .test_sim import COMMAND, ENV, HZ, pins

C = r"""
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

int main(int count, char **words)
{
    char answer[64] = "";
    size_t got = 0;
    struct termios set;
    int port = open(words[1], O_RDWR | O_NOCTTY);

    if (port < 0 || tcgetattr(port, &set))
        return 1;
    cfmakeraw(&set);
    cfsetspeed(&set, B38400);
    set.c_cc[VMIN] = 1;
    if (tcsetattr(port, TCSANOW, &set) || tcsendbreak(port, 0) || write(port, words[2], strlen(words[2])) < 0)
        return 1;
    while (got < strlen(words[2])) {
        ssize_t more = read(port, answer + got, sizeof answer - 1 - got);

        if (more <= 0)
            return 1;
        got += more;
    }
    puts(answer);
    return 0;
}
"""


@contextlib.contextmanager
def running(tmp_path, *words):
    """(path of the link, pins when it has ended, what it printed) of a command that is ended by Ctrl-C."""
    link, vcd, printed = tmp_path / "port", tmp_path / "pins.vcd", []
    command = [*COMMAND, "--sim", "--vcd", str(vcd), "tty", "--link", str(link), *words]
    with subprocess.Popen(command, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            printed += [process.stdout.readline(), process.stdout.readline()]
            assert link.exists() and str(link) in printed[1], (printed, process.poll())
            yield link, vcd, printed
        finally:
            process.send_signal(signal.SIGINT)
            out, errors = process.communicate(timeout=60)
            printed += [out, errors]
    assert process.returncode == 0 and not link.is_symlink()


def sent(vcd, baud):
    """The bytes on TX, read in the middle of each bit of this rate."""
    changes, bit, found, free = pins(vcd)["tx"], Fraction(HZ, baud), b"", 0
    for tick, level in changes:
        if level == 0 and tick >= free:
            bits = [[level for at, level in changes if at <= tick + (n + Fraction(1, 2)) * bit][-1] for n in range(10)]
            assert bits[0] == 0 and bits[9] == 1, "start and stop bit"
            found += bytes([sum(one << n for n, one in enumerate(bits[1:9]))])
            free = tick + Fraction(19, 2) * bit
    return found


@pytest.mark.seconds(40)
def test_pyserial(tmp_path):
    """Bit rates as the program sets them, also one without a name; stop bits; what was received comes back in order."""
    with running(tmp_path, "--baud", "115200") as (link, vcd, printed):
        with serial.Serial(str(link), 115200, timeout=20) as port:
            assert port.write(b"first") == 5 and port.read(5) == b"first"
            port.baudrate = 31250
            time.sleep(0.2)  # a terminal reports a change behind its bytes, not between them
            port.write(b"second")
            assert port.read(6) == b"second"
            port.stopbits = 2
            time.sleep(0.2)
            port.write(bytes(range(64)))
            assert port.read(64) == bytes(range(64))
        with serial.Serial(str(link), 31250, timeout=20) as port:  # another program, later
            port.write(b"again")
            assert port.read(5) == b"again"
    assert printed[2] == "80 bytes sent, 80 received, 0 lost\n" and printed[3] == ""
    edges = pins(vcd)["tx"]
    assert min(b[0] - a[0] for a, b in zip(edges[1:], edges[2:])) in (416, 417), "a bit of 115200 baud"


@pytest.mark.seconds(40)
@pytest.mark.skipif(not shutil.which("cc"), reason="there is no C compiler")
def test_a_c_program(tmp_path):
    (tmp_path / "echo.c").write_text(C)
    subprocess.run(["cc", "-o", str(tmp_path / "echo"), str(tmp_path / "echo.c")], check=True)
    with running(tmp_path) as (link, vcd, printed):
        done = subprocess.run([tmp_path / "echo", link, "LitePulse"], capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stdout) == (0, "LitePulse\n")
    assert sent(vcd, 38400) == b"LitePulse", "tcsendbreak() does not reach a pseudo-terminal's other end"
    assert printed[2] == "9 bytes sent, 9 received, 0 lost\n"


@pytest.mark.seconds(40)
def test_the_format_is_the_commands(tmp_path):
    """Linux keeps a pseudo-terminal at 8 data bits without parity; --format says what is on the line."""
    with running(tmp_path, "--baud", "9600", "--format", "7E1") as (link, vcd, _):
        with serial.Serial(str(link), 9600, timeout=20) as port:
            port.write(b"U")
            assert port.read(1) == b"U"
    edges = [(tick, level) for tick, level in pins(vcd)["tx"] if tick]
    assert edges[-1][0] - edges[0][0] == 9 * 5000, "0x55 with seven bits and even parity: 0 1 0 1 0 1 0 1, parity 0, stop"


@pytest.mark.seconds(30)
def test_a_rate_that_the_board_does_not_have(tmp_path):
    """One line says so each time, and the settings before stay."""
    with running(tmp_path) as (link, _, printed):
        with serial.Serial(str(link), 9600, timeout=20) as port:
            for rate in (4_000_000 * 8, 9600, 4_000_000 * 8):
                port.baudrate = rate
                time.sleep(0.5)
            port.write(b"still")
            assert port.read(5) == b"still"
    lines = printed[3].splitlines()
    assert len(lines) == 2 and all(line.startswith("litepulse: /dev/pts/") and "the settings before stay" in line for line in lines)


@pytest.mark.seconds(20)
def test_links(tmp_path):
    """A file of that name is kept and named; a link that leads nowhere any more is replaced."""
    file = tmp_path / "file"
    file.write_text("mine")
    done = subprocess.run([*COMMAND, "--sim", "tty", "--link", str(file)], env=ENV, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and done.stderr == f"litepulse: link: cannot make {file} (File exists)\n" and file.read_text() == "mine"
    (tmp_path / "port").symlink_to("/dev/pts/99999")
    with running(tmp_path) as (link, _, _):
        assert os.readlink(link) != "/dev/pts/99999"
        with open(link, "rb") as opened:
            assert termios.tcgetattr(opened)[4] == termios.B9600
