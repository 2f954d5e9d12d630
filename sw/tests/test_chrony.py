# SPDX-License-Identifier: BSD-2-Clause
"""`litepulse clock follow --chrony`: samples as chronyd reads them."""

import re
import socket
import struct
import subprocess
import time
from fractions import Fraction

import pytest

import litepulse
from litepulse import backends, cli
from litepulse.backends.bus.backend import BusBackend
from litepulse.chrony import ChronySocket, sample
from litepulse.codes import UTC, irig_b
from scripts.debian_package import PackageError
from sim.guest.builds import BuildError
from sim.pc.debian import programs

from .code_readers import HZ
from .test_clock import Slow, pins_of

NOW = UTC.of_posix(1_796_000_000)


def read(data):
    """(seconds of the system's clock, offset) of struct sock_sample on a 64-bit Linux."""
    assert len(data) == 40
    seconds, micro, offset, pulse, leap, padding, magic = struct.unpack("<qqdiiii", data)
    assert (pulse, leap, padding, magic) == (0, 0, 0, 0x534F434B) and 0 <= micro < 10**6
    return Fraction(seconds) + Fraction(micro, 10**6), offset


@pytest.mark.parametrize("late", [0, 1, 999, -1, 1500, 10**9, -(10**9) - 7, Fraction(1, 3)])
def test_a_sample(late):
    """The system's time and the offset give the second again."""
    at, offset = read(sample(NOW, UTC.posix(NOW) * 10**9 + Fraction(late)))
    assert abs(at + Fraction(offset) - UTC.posix(NOW)) < Fraction(1, 10**9) and abs(at - UTC.posix(NOW)) <= abs(late) / 10**9 + 1e-6
    assert offset == pytest.approx(float(-late) / 1e9, abs=2e-6)


def test_no_chronyd_there(tmp_path):
    with pytest.raises(litepulse.BadInput, match="refclock SOCK"):
        ChronySocket(str(tmp_path / "none.sock"))


def test_a_chronyd_that_ends_and_comes_back(tmp_path):
    path = str(tmp_path / "chrony.sock")

    def listen():
        found = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        found.bind(path)
        found.settimeout(10)
        return found

    first = listen()
    chrony = ChronySocket(path)
    chrony.send(NOW, Fraction(UTC.posix(NOW) * 10**9))
    assert read(first.recv(100)) == (UTC.posix(NOW), 0)
    first.close()
    chrony.send(NOW, Fraction(0))
    (tmp_path / "chrony.sock").unlink()
    chrony.send(NOW, Fraction(0))
    second = listen()
    chrony.send(NOW + 1, Fraction(UTC.posix(NOW + 1) * 10**9))
    assert read(second.recv(100))[0] == UTC.posix(NOW + 1) and (chrony.taken, chrony.refused) == (2, 2)
    chrony.close()
    second.close()


@pytest.fixture
def board_with_code(monkeypatch):
    """Of a board whose input has IRIG-B that is 250 ms ahead of the PC's clock; it lives as fast as the PC."""

    class Live(Slow):
        def __init__(self):
            super().__init__()
            self.begun = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)

        def pause(self, seconds):
            time.sleep(seconds)
            passed = (time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) - self.begun) * HZ // 10**9
            if passed > self.tick:
                self.advance(passed - self.tick)

    device = Live()
    second = UTC.of_posix(int(time.time())) + 1
    ahead = time.time() + 0.25  # what the code shows at tick 0
    frames = [edge for n in range(60) for edge in irig_b.encode(second + n)]
    device.pins = pins_of([(round((at - second + Fraction(UTC.posix(second)) - Fraction(ahead)) * HZ), level) for at, level in frames], 0)
    backend = BusBackend(device, "uartbone", "fake", False, [], device.pause)
    monkeypatch.setattr(backends, "connect", lambda *_arguments, **_options: backend)


def test_the_command(board_with_code, tmp_path, capsys):
    """The true time is 0.25 s ahead of the PC's clock."""
    path = str(tmp_path / "chrony.sock")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(path)
        assert cli.main(["clock", "follow", "irig-b", "--input", "0", "--count", "3", "--chrony", path]) == 0
        offsets = [read(listener.recv(100))[1] for _ in range(3)]
    assert all(abs(offset - 0.25) < 0.05 for offset in offsets), offsets
    assert "3 samples" in capsys.readouterr().out


def test_not_of_a_simulated_board(capsys, tmp_path):
    assert cli.main(["clock", "follow", "irig-b", "--sim", "--count", "1", "--chrony", str(tmp_path)]) == 2
    assert "a simulated board has its own time" in capsys.readouterr().err


@pytest.mark.full
@pytest.mark.seconds(20)
def test_chronyd_takes_them(board_with_code, tmp_path):
    """The daemon itself, which may not set the clock, takes the samples and shows the offset."""
    try:
        files = programs("chrony", "chronyd", "chronyc")
    except (PackageError, BuildError) as error:
        pytest.skip(f"NOT TESTED: {error}")
    for name, what in files.items():
        target = tmp_path / name
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(what if isinstance(what, bytes) else what.read_bytes())
        target.chmod(0o755)
    path, command = tmp_path / "irig.sock", tmp_path / "command.sock"
    tmp_path.chmod(0o700)
    (tmp_path / "chrony.conf").write_text(
        f"refclock SOCK {path} poll 0 filter 1 refid IRIG\nbindcmdaddress {command}\ncmdport 0\n"
        f"pidfile {tmp_path}/pid\ndriftfile {tmp_path}/drift\nlogdir {tmp_path}\nlog refclocks\n"
    )
    user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
    daemon = subprocess.Popen([tmp_path / "chronyd", "-x", "-d", "-u", user, "-f", tmp_path / "chrony.conf"])
    try:
        until = time.monotonic() + 10
        while not path.exists() and time.monotonic() < until:
            time.sleep(0.05)
        assert cli.main(["clock", "follow", "irig-b", "--input", "0", "--for", "14s", "--chrony", str(path)]) == 0
        out = subprocess.run([tmp_path / "chronyc", "-h", command, "-c", "sources"], capture_output=True, text=True, check=True).stdout
    finally:
        daemon.terminate()
        daemon.wait(10)
    fields = next(line for line in out.splitlines() if re.search(r"\bIRIG\b", line)).split(",")
    assert fields[0] == "#" and fields[5] != "0", out  # it was reached
    # By so much the PC's clock is behind. (Of sources chronyc shows what is left once it has chosen this one.)
    rows = [line.split() for line in (tmp_path / "refclocks.log").read_text().splitlines()]
    offsets = [float(row[6]) for row in rows if row[2:3] == ["IRIG"] and row[6] != "-"]
    assert len(offsets) >= 5 and all(abs(offset - 0.25) < 0.05 for offset in offsets), rows
