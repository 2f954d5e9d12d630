# SPDX-License-Identifier: BSD-2-Clause
"""sigrok sessions, and what a VCD must have to be read in ticks; no simulator."""

import shutil
import subprocess
import zipfile
from fractions import Fraction

import pytest

from litepulse import session
from litepulse.errors import BadInput
from litepulse.recording import Recording
from litepulse.vcd import Vcd

HEAD = "$timescale {scale} $end\n$scope module x $end\n{signals}$upscope $end\n$enddefinitions $end\n"
UNITS = {"10 ns": Fraction(1, 10**8), "1 us": Fraction(1, 10**6), "100 ns": Fraction(1, 10**7)}


def vcd_of(path, changes, end, scale="10 ns", hz=48_000_000, names=("a", "b")):
    """A Vcd of {name: [(tick, level)]}, written as the simulator writes it."""
    text = HEAD.format(scale=scale, signals="".join(f"$var wire 1 {chr(33 + n)} {name} $end\n" for n, name in enumerate(names)))
    rows = sorted((tick, n, level) for n, name in enumerate(names) for tick, level in changes[name])
    for tick, n, level in [*rows, (end, None, None)]:
        text += f"#{round(Fraction(tick) / hz / UNITS[scale])}\n" + (f"{int(level)}{chr(33 + n)}\n" if n is not None else "")
    path.write_text(text)
    return Vcd(path, hz)


def samples_of(path):
    """(lines of the metadata, bytes of all samples) of a session."""
    with zipfile.ZipFile(path) as file:
        assert file.read("version") == b"2"
        parts = sorted((name for name in file.namelist() if name.startswith("logic-1-")), key=lambda name: int(name.rpartition("-")[2]))
        return file.read("metadata").decode().splitlines(), b"".join(file.read(name) for name in parts)


def level(changes, tick):
    """What a pin has at a tick."""
    return [level for at, level in changes if at <= tick][-1]


@pytest.mark.parametrize("chunk", [5, 1 << 22])
def test_one_sample_per_tick(chunk, tmp_path, monkeypatch):
    monkeypatch.setattr(session, "CHUNK", chunk)
    changes = {"a": [(0, 1), (3, 0), (17, 1)], "b": [(0, 0), (3, 1), (4, 0), (19, 1)]}
    session.write(tmp_path / "x.sr", vcd_of(tmp_path / "x.vcd", changes, 19))
    metadata, samples = samples_of(tmp_path / "x.sr")
    assert list(samples) == [level(changes["a"], t) | level(changes["b"], t) << 1 for t in range(20)]
    assert {"samplerate=48000000", "total probes=2", "probe1=a", "probe2=b", "unitsize=1"} <= set(metadata)


def test_nine_pins_take_two_bytes(tmp_path):
    names = [f"p{n}" for n in range(9)]
    session.write(tmp_path / "x.sr", vcd_of(tmp_path / "x.vcd", {name: [(0, n == 8)] for n, name in enumerate(names)}, 3, names=names))
    assert samples_of(tmp_path / "x.sr")[1] == b"\0\1" * 4


@pytest.mark.skipif(not shutil.which("sigrok-cli"), reason="NOT TESTED: sigrok-cli is not installed")
def test_sigrok_reads_a_session(tmp_path):
    session.write(tmp_path / "x.sr", vcd_of(tmp_path / "x.vcd", {"a": [(0, 1), (3, 0), (5, 1)], "b": [(0, 0)]}, 7))
    command = ["sigrok-cli", "-i", tmp_path / "x.sr", "-O", "bits:width=8"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "a:11100111" in shown.splitlines() and "48 MHz" in shown


def test_what_no_session_can_hold(tmp_path, monkeypatch):
    vcd = vcd_of(tmp_path / "x.vcd", {"a": [(0, 1)], "b": [(0, 0)]}, 7)
    vcd.tick_hz = Fraction(400_000_000, 3)
    with pytest.raises(BadInput, match=r"x.sr: a session needs a whole number of samples"):
        session.write(tmp_path / "x.sr", vcd)
    vcd.tick_hz = Fraction(48_000_000)
    with pytest.raises(BadInput, match=r"cannot write it \(No space left"):
        session.write("/dev/full", vcd)
    with monkeypatch.context() as full:
        full.setattr(zipfile.ZipFile, "writestr", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        with pytest.raises(BadInput, match=r"x.sr: cannot write it"):
            session.write(tmp_path / "x.sr", vcd)
    assert not (tmp_path / "x.sr").exists(), "half a session stays"
    monkeypatch.setattr(session, "MOST_SAMPLES", 7)
    with pytest.raises(BadInput, match=r"145.833 ns are too long for a session, which holds 145.833 ns at most"):
        session.write(tmp_path / "x.sr", vcd)
    assert not (tmp_path / "x.sr").exists()


def test_a_unit_that_cannot_tell_ticks_apart_is_refused(tmp_path):
    """Half a tick is the largest unit; up to that every tick is read back, whatever the clock."""
    file = tmp_path / "x.vcd"
    changes = {"a": [(0, 0), *((tick, tick % 2) for tick in range(1, 2000))], "b": [(0, 0)]}
    for hz, scale in ((48_000_000, "10 ns"), (50_000_000, "10 ns"), (250_000, "1 us"), (Fraction(10_000_001, 3), "100 ns")):
        found = vcd_of(file, changes, 2000, scale, hz)
        assert found.signals["a"] == changes["a"] and found.end == 2000 and found.worst_rounding <= Fraction(1, 4)
    vcd_of(file, changes, 2000, "1 us", 250_000)
    with pytest.raises(BadInput, match=r"x.vcd: its unit of 1 us is too coarse for ticks of 20.833 ns"):
        Vcd(file, 48_000_000)


def test_recordings_that_cannot_be(tmp_path):
    with pytest.raises(BadInput, match="name the same file"):
        Recording(str(tmp_path / "x"), f"{tmp_path}/./x")
    with pytest.raises(BadInput, match=r"sr: cannot write /nonexistent/x.sr: No such file"):
        Recording(None, "/nonexistent/x.sr")
    with Recording(None, str(tmp_path / "x.sr")) as recording:
        assert recording.vcd != str(tmp_path / "x.sr")
    assert not list(tmp_path.iterdir())
    (tmp_path / "x.sr").write_bytes(b"an older one")
    with Recording(None, str(tmp_path / "x.sr")), pytest.raises(BadInput, match=r"sr: .*x.sr is being written by another litepulse"):
        Recording(None, str(tmp_path / "x.sr"))
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"an older one"], "what was not recorded replaces nothing"
