# SPDX-License-Identifier: BSD-2-Clause
"""What a capture writes for GTKWave, PulseView and sigrok: a VCD, a session, samples as they come.

The board is one in Python that plays a list of edges; sigrok-cli reads the files independently.
"""

import contextlib
import io
import itertools
import json
import os
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import pytest

import litepulse
from litepulse import backends, cli, session, witness
from litepulse.backends.bus.backend import BusBackend
from litepulse.pins import unit_of
from litepulse.units import Timescale
from litepulse.vcd import Vcd

from .fake_board import FakeBoard, Server

ROOT = Path(__file__).resolve().parents[2]
ENV = {**os.environ, "PYTHONPATH": f"{ROOT / 'sw'}{os.pathsep}{ROOT}", "COLUMNS": "80"}
COMMAND = [sys.executable, "-m", "litepulse"]
HZ = 48_000_000
RX = 4  # the channel of the line
FROM = 4_000_000  # a tick by which each capture has begun
NEEDS_SIGROK = pytest.mark.skipif(not witness.available(), reason="NOT TESTED: sigrok-cli is not installed")


class Pinned(FakeBoard):
    """Its pins follow a list of (tick, channel, level), and its receiver hears (start tick, byte) at 9600 baud."""

    def __init__(self, changes=(), heard=(), step=20_000, **options):
        self.changes = []
        super().__init__(step=step, **options)
        self.changes, self.heard = sorted(changes), sorted(heard)

    def advance(self, ticks):
        end = self.tick + ticks
        while self.heard and self.heard[0][0] <= end and self.profiles:
            start, data = self.heard.pop(0)
            self.arrives(start + 50_000, start, data)
        while self.changes and self.changes[0][0] <= end:
            tick, channel, level = self.changes.pop(0)
            super().advance(tick - self.tick)
            self.levels = self.levels & ~(1 << channel) | level << channel
            if self.word("capture_edges"):
                self.event(tick, 2, 4, 0, (self.levels & 0x1F) << 16 | 1 << channel, "edge", edge=True)
        super().advance(end - self.tick)


def opened(board):
    return litepulse.Board(BusBackend(board, "uartbone", "fake"))


@pytest.fixture
def command(monkeypatch):
    """The command on a board, in this process: (status) of it and words."""

    def run(board, *words):
        monkeypatch.setattr(backends, "connect", lambda *_, **__: BusBackend(board, "uartbone", "fake"))
        monkeypatch.setattr(BusBackend, "stay_in_touch", lambda self: None)
        monkeypatch.setattr("time.sleep", lambda seconds: None)
        return cli.main(["capture", *map(str, words)])

    return run


def frame(start, data, bit=5000):
    """Changes of rx."""
    levels = [1, 0, *(data >> n & 1 for n in range(8)), 1]
    return [(start + (n - 1) * bit, RX, levels[n]) for n in range(1, 11) if levels[n] != levels[n - 1]]


def some_changes(seed, count=400, gap=9000, first=FROM):
    random.seed(seed)
    levels, tick, found = [0, 0, 0, 0, 1], first, []
    for _ in range(count):
        tick += random.randint(1, gap)
        channel = random.choice((0, 1, RX))
        levels[channel] ^= 1
        found.append((tick, channel, levels[channel]))
    return found


def level_at(changes, tick, before):
    """By the list alone."""
    return ([before] + [level for at, level in changes if at <= tick])[-1]


def values(path):
    """{name: [(time, '0', '1', 'x', or text)]} of a VCD, and its last time: a reader of its own, by the standard's rules."""
    head, _, body = path.read_text().partition("$enddefinitions $end\n")
    names = {code: name for _, code, name in re.findall(r"\$var (\w+) 1 (\S+) (\S+) \$end", head)}
    found, now, times = {name: [] for name in names.values()}, 0, []
    for line in re.sub(r"\$comment.*?\$end|\$dumpvars|\$end", "", body).splitlines():
        if line.startswith("#"):
            now = int(line[1:])
            times.append(now)
        elif line.startswith("s"):
            text, code = line[1:].split()
            found[names[code]].append((now, text))
        elif line:
            found[names[line[1:]]].append((now, line[0]))
    assert times == sorted(set(times)), "time goes back"
    return found, now


def session_of(path):
    """(names of the pins, samples a second, all samples)."""
    with zipfile.ZipFile(path) as file:
        assert file.testzip() is None and file.read("version") == b"2"
        text = file.read("metadata").decode()
        parts = [name for name in file.namelist() if name.startswith("logic-1-")]
        assert parts == [f"logic-1-{n}" for n in range(1, len(parts) + 1)]
        samples = b"".join(file.read(name) for name in parts)
    return re.findall(r"probe\d+=(\S+)", text), int(re.search(r"samplerate=(\d+)$", text, re.M)[1]), samples


@pytest.mark.parametrize("seed", range(3))
def test_all_files_have_the_levels_of_the_board(seed, tmp_path, monkeypatch):
    """From the first tick on, also of pins that never move, and whatever comes in one look."""
    monkeypatch.setattr(session, "CHUNK", 65_537)
    monkeypatch.setattr(session, "WHOLE_SECONDS", 0)
    step = [20_000, 50_000, 90_000][seed % 3]
    changes = some_changes(seed, first=100 * step)
    board = Pinned(changes, step=step)
    board.levels |= 1 << 3
    board.levels = board.levels & ~0b11
    vcd, sr = litepulse.VcdFile(tmp_path / "x.vcd"), litepulse.SrFile(tmp_path / "x.sr")
    stream, coarse = io.BytesIO(), litepulse.SrFile(tmp_path / "y.sr", divide=1000)
    files = [vcd, sr, coarse, litepulse.SampleStream(stream, 192_000)]
    with opened(board) as opened_board:
        with opened_board.capture([0, 1, 3, "rx"], duration=litepulse.ticks(changes[-1][0] + 100_000), to=files) as capture:
            assert [(event.tick, event.level) for event in capture] == [(tick, level) for tick, _, level in changes]
    channels = [0, 1, 3, RX]
    by_pin = [[(tick, level) for tick, channel, level in changes if channel == pin] for pin in channels]
    before = [0, 0, 1, 1]
    read = Vcd(tmp_path / "x.vcd", HZ)
    assert [read.signals[name] for name in ("in0", "in1", "in3", "rx")] == [
        [(vcd.first_tick, start), *edges] for edges, start in zip(by_pin, before)
    ]
    assert read.worst_rounding < Fraction(1, 2) and vcd.first_tick == sr.first_tick < 100 * step

    def sample(tick):
        return sum(level_at(edges, tick, start) << n for n, (edges, start) in enumerate(zip(by_pin, before)))

    names, rate, samples = session_of(tmp_path / "x.sr")
    assert (names, rate) == (["in0", "in1", "in3", "rx", "lost"], HZ) and len(samples) == read.end - sr.first_tick + 1
    for tick in [sr.first_tick, read.end, *(tick + k for tick, *_ in changes for k in (-1, 0))]:
        assert samples[tick - sr.first_tick] == sample(tick)
    names, rate, samples = session_of(tmp_path / "y.sr")
    assert rate == HZ // 1000 and all(samples[n] == sample(sr.first_tick + 1000 * n) for n in range(0, len(samples), 7))
    samples = stream.getvalue()
    assert len(samples) == -((sr.first_tick - read.end) * 192 // 48_000)
    assert all(samples[n] == sample(sr.first_tick + 250 * n) for n in range(0, len(samples), 7))


@pytest.mark.parametrize("seed", range(4))
def test_where_records_are_missing_levels_are_not_known(seed, tmp_path):
    """Each level in the file is that of the board, or x; x begins at the first missing edge and ends with the next edge, or soon."""
    bursts = [some_changes(seed + n, 60, 300, FROM + n * 3_000_000) for n in range(3)]
    levels, changes = [0, 0, 0, 0, 1], []
    for tick, channel, _ in sorted(itertools.chain(*bursts)):
        levels[channel] ^= 1
        changes.append((tick, channel, levels[channel]))
    board = Pinned(changes, event_depth=5)
    with opened(board) as opened_board:
        files = [litepulse.VcdFile(tmp_path / "x.vcd", unit=Fraction(1, 10**12)), litepulse.SrFile(tmp_path / "x.sr")]
        with opened_board.capture([0, 1, "rx"], duration=litepulse.ticks(12_000_000), to=files) as capture:
            events = list(capture)
    lost = [event for event in events if isinstance(event, litepulse.LostEvent)]
    assert len(lost) >= 2 and not any(event.bytes for event in lost)
    found, end = values(tmp_path / "x.vcd")
    _, _, samples = session_of(tmp_path / "x.sr")
    first = files[0].first_tick

    def ticks(row):
        return [(round(Fraction(when * HZ, 10**12)), value) for when, value in row]

    assert [tick for tick, _ in ticks(found["lost"])] == [event.tick for event in lost]
    unknown = 0
    for n, (name, channel) in enumerate((("in0", 0), ("in1", 1), ("rx", RX))):
        mine = [(tick, level) for tick, at, level in changes if at == channel]
        for (tick, value), (until, _) in itertools.pairwise([*ticks(found[name]), (round(Fraction(end * HZ, 10**12)), "")]):
            inside = [tick, *(at for at, _ in mine if tick < at < until), until - 1]
            if value == "x":
                unknown += until - tick
                assert any(event.tick == tick for event in lost) and until - tick < 1_000_000
                assert all(samples[at - first] >> 3 & 1 for at in inside), "the pin 'lost' is 1"
            else:
                assert {level_at(mine, at, int(channel == RX)) for at in inside} == {int(value)}, (name, tick, until)
                assert {samples[at - first] >> n & 1 for at in inside} == {int(value)}
    assert unknown and f"$comment LOST {lost[0].count} records $end" in (tmp_path / "x.vcd").read_text()


def test_bytes_are_a_text_beside_the_line(tmp_path):
    """From the start edge to the end of the stop bit, in the order of time although a byte is known when it is over."""
    starts = [(FROM + 60_000 * n, 0x41 + n) for n in range(6)] + [(FROM + 360_000, 0x80 | 1 << 10)]  # the last with a framing error
    changes = [change for start, data in starts for change in frame(start, data & 0xFF)]
    board = Pinned(changes, starts)
    with opened(board) as opened_board:
        vcd = litepulse.VcdFile(tmp_path / "x.vcd")
        events = list(opened_board.capture(bytes=True, duration="100ms", to=vcd))
    assert sum(isinstance(event, litepulse.ByteEvent) for event in events) == 7
    found, _ = values(tmp_path / "x.vcd")
    wanted = [(vcd.first_tick, "-")]
    for start, data in starts:
        text = f"0x{data & 0xFF:02x}" + (":framing" if data >> 10 else "")
        wanted += [(start, text), (start + 50_000, "-")]
    assert [(round(Fraction(when, 10**8) * HZ), text) for when, text in found["bytes"]] == wanted
    assert Vcd(tmp_path / "x.vcd", HZ).signals == {"rx": [(vcd.first_tick, 1), *((tick, level) for tick, _, level in changes)]}


def test_the_unit_of_a_vcd():
    """Whole units to a tick where there is such a unit, else half a tick or less."""
    for hz, unit in ((HZ, 10**7), (10**8, 10**7), (125_000_000, 10**6), (Fraction(400_000_000, 3), 10**5 * 5), (27_000_000, 10**7)):
        fs = unit_of(Fraction(hz))
        tick = Fraction(10**15) / hz
        assert fs == 10 ** (len(str(fs)) - 1) and ((tick / fs).denominator == 1 or 2 * fs <= tick < 20 * fs)
        assert hz == Fraction(400_000_000, 3) or fs == unit
    for fs in (1, 10**3, 10**7):
        assert unit_of(Fraction(HZ), Fraction(fs, 10**15)) == fs
    for unit, why in ((Fraction(1, 10**7), "too coarse"), (Fraction(2, 10**9), "is not 1, 10 or 100"), (Fraction(0), "is not 1")):
        with pytest.raises(litepulse.BadInput, match=why):
            unit_of(Fraction(HZ), unit)


@pytest.mark.parametrize("hz", [HZ, 10**8, 27_000_000, 133_333_333])
@pytest.mark.parametrize("unit", [None, Fraction(1, 10**15), Fraction(1, 10**12)])
def test_no_rounding_adds_up(hz, unit):
    """Also after weeks: each time is that of its tick, to half a unit."""
    out = io.BytesIO()
    file = litepulse.VcdFile(out, unit)
    file.open(litepulse.Timescale(hz), ["rx"])
    file.begin(0, [1], False)
    ticks = sorted(random.Random(hz).sample(range(1, 1 << 47), 300)) + [(1 << 47) + 1, (1 << 47) + 2]
    for n, tick in enumerate(ticks):
        file.change(tick, 0, n & 1)
    file.end(ticks[-1])
    times = [int(line[1:]) for line in out.getvalue().decode().splitlines() if line.startswith("#")]
    fs = unit_of(Fraction(hz), unit)
    assert all(abs(Fraction(when * fs, 10**15) - Fraction(tick, hz)) * 2 <= Fraction(fs, 10**15) for when, tick in zip(times[1:], ticks))
    assert [round(Fraction(when * fs, 10**15) * hz) for when in times[1:]] == ticks


def test_a_session_that_is_full_goes_on_in_the_next_file(tmp_path, monkeypatch):
    monkeypatch.setattr(session, "CHUNK", 999)
    monkeypatch.setattr(session, "MOST_SAMPLES", 2500)
    sr = litepulse.SrFile(tmp_path / "pins.sr", divide=2)
    sr.open(litepulse.Timescale(HZ), ["a"])
    sr.begin(7, [0], False)
    for tick, level in ((1000, 1), (6000, 0), (11_000, 1)):
        sr.change(tick, 0, level)
    sr.end(12_000)
    sr.close()
    assert sr.parts == [(str(tmp_path / name), first) for name, first in (("pins.sr", 7), ("pins-2.sr", 5007), ("pins-3.sr", 10_007))]
    samples = b"".join(session_of(name)[2] for name, _ in sr.parts)
    assert list(samples) == [int(1000 <= tick < 6000 or tick >= 11_000) for tick in range(7, 12_001, 2)]


def test_nine_pins(tmp_path):
    sr, out = litepulse.SrFile(tmp_path / "x.sr"), io.BytesIO()
    stream = litepulse.SampleStream(out, HZ)
    for file in (sr, stream):
        file.open(litepulse.Timescale(HZ), [f"p{n}" for n in range(9)])
        file.begin(0, [0] * 8 + [1], False)
        file.change(2, 0, 1)
        file.end(3)
        file.close()
    assert session_of(tmp_path / "x.sr")[2] == b"\0\1\0\1\1\1\1\1" and out.getvalue() == b"\0\1\0\1\1\1"


# The command --------------------------------------------------------------------------------------------------------------------


def test_the_options(command, tmp_path, capsys):
    changes = some_changes(1, 40)
    status = command(
        Pinned(changes), "--inputs", "0,1,rx", "--for", "100ms", "--vcd", tmp_path / "x.vcd", "--sr", tmp_path / "x.sr", "--json"
    )
    result = json.loads(capsys.readouterr().out)
    first = Vcd(tmp_path / "x.vcd", HZ).signals["rx"][0][0]
    assert status == 0 and result["files"] == [
        {"kind": kind, "file": str(tmp_path / f"x.{kind}"), "first_tick": first} for kind in ("vcd", "sr")
    ]
    assert [edge["tick"] for edge in result["edges"]] == [tick for tick, *_ in changes]
    # Before the verb, too; to standard output; people see where the session begins.
    words = ["--inputs", "0,1,rx", "--for", "100ms"]
    assert command(Pinned(changes), *words, "--vcd", "-", "--unit", "1ps", "--sr", tmp_path / "y.sr", "--divide", "10") == 0
    out, errors = capsys.readouterr()
    (tmp_path / "y.vcd").write_text(out)
    assert Vcd(tmp_path / "y.vcd", HZ).signals == Vcd(tmp_path / "x.vcd", HZ).signals
    assert f"{tmp_path / 'y.sr'}: sample 0 is tick {first}" in errors and "40 edges" in errors


@pytest.mark.parametrize(
    "words, why",
    [
        (["--vcd", "x", "--sr", "./x"], "--vcd and --sr name the same file"),
        (["--vcd", "-", "--csv"], "--vcd - and --csv both write to standard output"),
        (["--binary", "1M", "--json"], "--binary and --json both write to standard output"),
        (["--binary", "1M", "--vcd", "-"], "--vcd - and --binary both write to standard output"),
        (["--binary", "49M"], "rate: 49000000 samples a second are more than ticks, of which there are 48000000"),
        (["--binary", "58.5"], "binary: '117/2' is not a whole number"),
        (["--sr", "-"], "sr: a session cannot be written to standard output"),
        (["--sr", "x", "--divide", "7"], "sr: a session needs a whole number of samples a second"),
        (["--sr", "/dev/null"], "sr: /dev/null is no ordinary file"),
        (["--sr", "/nonexistent/x"], "sr: cannot write /nonexistent/x: No such file"),
        (["--vcd", "/nonexistent/x"], "vcd: cannot write /nonexistent/x: No such file"),
        (["--vcd", "x", "--unit", "100ns"], "unit: 100 ns is too coarse for ticks of 20.833 ns"),
        (["--vcd", "x", "--unit", "1t"], "unit: a VCD has no ticks"),
        (["--unit", "1ns"], "unit: give --vcd, too"),
        (["--divide", "2"], "divide: give --sr, too"),
        (["--vcd", "x", "--edges", "rise"], "edges: rise alone do not tell the levels"),
        (["--vcd", "x", "--bytes", "--inputs", "none"], "inputs: a file of pins needs at least one"),
    ],
)
def test_what_cannot_be_is_refused(words, why, command, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert command(Pinned(), "--for", "1ms", *words) == 2
    out, errors = capsys.readouterr()
    assert errors.startswith("litepulse: ") and why in errors and errors.count("\n") == 1 and out == ""
    assert not list(tmp_path.iterdir())


def test_what_is_refused_in_python(tmp_path):
    with opened(Pinned()) as board:
        for to in ("x.vcd", 5, [tmp_path / "x.vcd"]):
            with pytest.raises(litepulse.BadInput, match="is not a file of pins"):
                board.capture(to=to)
        file = litepulse.VcdFile(tmp_path / "x.vcd")
        with board.capture(to=file, duration="1ms"), pytest.raises(litepulse.BadInput, match="being written by another"):
            litepulse.VcdFile(tmp_path / "x.vcd").open(board.timescale, ["rx"])
        with pytest.raises(litepulse.BadInput, match="make another object"):
            board.capture(to=file)
    for unit in ("1t", "x", litepulse.ticks(1), "-1ns"):
        with pytest.raises(litepulse.BadInput, match="unit"):
            litepulse.VcdFile("x", unit)
    for wrong in (lambda: litepulse.SrFile(io.BytesIO()), lambda: litepulse.VcdFile(5), lambda: litepulse.SrFile("x", 0)):
        with pytest.raises(litepulse.BadInput):
            wrong()


def test_an_older_file_stays_until_there_is_a_new_one(tmp_path):
    """A capture that is refused has written nothing, and lets go of the file."""
    (tmp_path / "x.vcd").write_text("older")
    with opened(Pinned()) as board, board.train(rate=50):
        with pytest.raises(litepulse.LitePulseError):
            board.capture(bytes=True, invert=True, to=[litepulse.VcdFile(tmp_path / "x.vcd"), litepulse.SrFile(tmp_path / "x.sr")])
    assert [path.read_text() for path in tmp_path.iterdir()] == ["older"]


@pytest.mark.parametrize("words", [["--vcd", "/dev/full"], ["--vcd", "-"], ["--binary", "1M"]])
def test_a_full_disk_is_one_line(words):
    with Server(Pinned(), "tcp") as server, open("/dev/full", "w") as full:
        line = [*COMMAND, "--port", server.spec, "capture", "--inputs", "0", "--for", "20ms", *words]
        done = subprocess.run(
            line, env=ENV, stdout=full if words[1] != "/dev/full" else subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 2 and "Traceback" not in done.stderr and "No space left on device" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("number, status", [(signal.SIGINT, 0), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_files_are_whole_after_a_signal(number, status, tmp_path):
    """After kill -9 the session has what it had a second before, the VCD all."""
    changes = some_changes(3, 20)
    with Server(Pinned(changes), "tcp") as server:
        line = [*COMMAND, "--port", server.spec, "capture", "--inputs", "0,1,rx", "--vcd", "x.vcd", "--sr", "x.sr"]
        process = subprocess.Popen(line, env=ENV, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        end = time.monotonic() + 120
        written = 0
        while written <= changes[-1][0]:  # it begins before
            assert time.monotonic() < end and process.poll() is None
            time.sleep(0.05)
            with contextlib.suppress(FileNotFoundError, zipfile.BadZipFile):  # it is just being written
                written = len(session_of(tmp_path / "x.sr")[2])
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == status and errors == ""
    read = Vcd(tmp_path / "x.vcd", HZ)
    assert [sorted(tick for tick, _ in read.signals[name][1:]) for name in ("in0", "in1", "rx")] == [
        [tick for tick, at, _ in changes if at == channel] for channel in (0, 1, RX)
    ]
    samples = session_of(tmp_path / "x.sr")[2]
    first = read.signals["rx"][0][0]
    assert all(samples[tick - first] >> (channel if channel < 2 else 2) & 1 == level for tick, channel, level in changes)


def test_a_session_can_be_opened_at_any_moment(tmp_path, monkeypatch):
    """As a program leaves it that is ended by SIGKILL between two looks: with all that it had when it was whole the last time."""
    monkeypatch.setattr(session, "CHUNK", 1000)
    monkeypatch.setattr(session, "WHOLE_SECONDS", 10)
    clock = [0]
    monkeypatch.setattr(session, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    file = session.SrFile(tmp_path / "x.sr")
    file.open(Timescale(HZ), ["rx"])
    file.begin(0, [1], False)
    for n in range(1, 60):
        file.change(n * 97, 0, n & 1)
        file.until(n * 97)
        clock[0] += 1
        if n >= 12:
            samples = session_of(tmp_path / "x.sr")[2]
            assert samples == bytes(max(1, tick // 97) & 1 for tick in range(97 * (n - (n - 12) % 11)))
    file.end(60 * 97)
    file.close()
    assert len(session_of(tmp_path / "x.sr")[2]) == 60 * 97 + 1


# sigrok -------------------------------------------------------------------------------------------------------------------------


@NEEDS_SIGROK
@pytest.mark.parametrize("kind", ["vcd", "sr"])
def test_sigrok_reads_the_files_exactly(kind, command, tmp_path, capsys):
    """Bytes with the sample of their start edge, and the length of each pulse; it skips the text of the bytes."""
    starts = [(FROM + 1_000_000 * n // 7, 0x55 + n) for n in range(12)]
    changes = [change for start, data in starts for change in frame(start, data)]
    file = tmp_path / f"x.{kind}"
    assert command(Pinned(changes, starts), "--bytes", "--for", "130ms", f"--{kind}", file, "--json") == 0
    first = json.loads(capsys.readouterr().out)["files"][0]["first_tick"]
    unit = Fraction(1, 10**8) if kind == "vcd" else Fraction(1, HZ)
    decoder = ["-P", "uart:rx=rx:baudrate=9600:format=hex", "-A", "uart=rx-data:rx-start:rx-warnings"]
    line = ["sigrok-cli", "-i", file, *decoder, "--protocol-decoder-samplenum"]
    rows = subprocess.run(line, capture_output=True, text=True, check=True).stdout.splitlines()
    found = [re.fullmatch(r"(\d+)-\d+ uart-1: (.*)", row).groups() for row in rows]
    # sigrok counts from the first time of a VCD on, which is rounded to the unit, too
    begun = round(Fraction(first, HZ) / unit) if kind == "vcd" else first
    assert [round((int(at) + begun) * unit * HZ) for at, text in found if text == "Start bit"] == [start for start, _ in starts]
    assert [int(text, 16) for _, text in found if text != "Start bit"] == [data for _, data in starts]
    line = ["sigrok-cli", "-i", file, "-P", "timing:data=rx", "-A", "timing=time", "--protocol-decoder-samplenum"]
    rows = subprocess.run(line, capture_output=True, text=True, check=True).stdout.splitlines()
    spans = [tuple(map(int, re.match(r"(\d+)-(\d+) ", row).groups())) for row in rows]
    ticks = [tick for tick, *_ in changes]
    assert [tuple(round((at + begun) * unit * HZ) for at in span) for span in spans] == list(itertools.pairwise(ticks))


@NEEDS_SIGROK
def test_sigrok_decodes_while_the_capture_runs():
    """The board's next byte comes only when sigrok has shown the one before: no end of the file is waited for."""
    board = Pinned()
    with Server(board, "tcp") as server:
        line = [*COMMAND, "--port", server.spec, "capture", "--binary", "96k"]
        capture = subprocess.Popen(line, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        decoder = ["-P", "uart:baudrate=9600:rx=0:format=hex", "-A", "uart=rx-data"]
        reader = ["sigrok-cli", "-I", "binary:numchannels=1:samplerate=96000", "-i", "-", *decoder]
        sigrok = subprocess.Popen(reader, stdin=capture.stdout, stdout=subprocess.PIPE, text=True)
        capture.stdout.close()
        try:
            head = [capture.stderr.readline(), capture.stderr.readline()]  # it has begun
            assert head[1] == b"read it by sigrok-cli -I binary:numchannels=1:samplerate=96000 -i -\n"
            for data in (0x4C, 0x69, 0x74):
                with server.lock:
                    board.changes = frame(board.tick + 100_000, data)
                assert select.select([sigrok.stdout], [], [], 60)[0], f"0x{data:02x} was not shown"
                assert sigrok.stdout.readline() == f"uart-1: {data:02X}\n" and capture.poll() is None
            capture.send_signal(signal.SIGINT)
            assert capture.wait(timeout=60) == 0 and b"edges" in capture.stderr.read()
            assert sigrok.stdout.read() == "" and sigrok.wait(timeout=60) == 0
        finally:
            for process in (capture, sigrok):
                process.kill()
                process.wait()


@pytest.mark.full
@NEEDS_SIGROK
@pytest.mark.skipif(not shutil.which("feedgnuplot") or not shutil.which("gnuplot"), reason="NOT TESTED: feedgnuplot is not installed")
def test_awk_and_feedgnuplot_draw_what_sigrok_measured(command, tmp_path, capsys):
    """The line of the recipe, as it is written, on pulses at 58 Hz."""
    changes = [(FROM + 24_000_000 * n // 29 + more, 0, int(not more)) for n in range(20) for more in (0, 480)]
    assert command(Pinned(changes), "--inputs", "0", "--for", "450ms", "--sr", tmp_path / "pins.sr", "--csv") == 0
    capsys.readouterr()
    page = (ROOT / "docs" / "recipes" / "pulseview.md").read_text()
    line = re.search(r"^    (sigrok-cli -i pins\.sr .*\|\n +awk .*feedgnuplot .*)$", page, re.M)[1]
    env = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    numbers = line.replace("\n", " ").partition("| feedgnuplot")[0]
    for text in (line, numbers):
        bash = ["bash", "-o", "pipefail", "-c", text]
        done = subprocess.run(bash, cwd=tmp_path, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    assert (tmp_path / "periods.png").read_bytes().startswith(b"\x89PNG") and done.stdout.splitlines() == ["17.241"] * 19


@NEEDS_SIGROK
@pytest.mark.seconds(20)
def test_on_the_simulated_soc(tmp_path, capsys):
    """The real core: what it captured is what was on its pins. After the verb the options mean the capture, before it the simulator."""
    stimulus = tmp_path / "stimulus"
    changes = [(tick, RX, level) for n in range(3) for tick, _, level in frame(500_000 + 70_000 * n, 0x61 + n)]
    stimulus.write_text("".join(f"{tick} rx {level}\n" for tick, _, level in changes))
    whole, mine = tmp_path / "whole.vcd", tmp_path / "mine.vcd"
    words = [
        "--sim",
        "--vcd",
        whole,
        "--stimulus",
        stimulus,
        "--wire",
        "none",
        "capture",
        "--inputs",
        "1,rx",
        "--for",
        "20ms",
        "--vcd",
        mine,
    ]
    assert cli.main([str(word) for word in [*words, "--json"]]) == 0
    capsys.readouterr()
    pins, captured = Vcd(whole, HZ).signals, Vcd(mine, HZ).signals
    assert captured["rx"][1:] == [(tick + 1, level) for tick, level in pins["rx"][1:]] and captured["rx"][0][1] == 1
    assert len(captured["in1"]) == 1 and [byte for _, byte in witness.read_uart(mine, HZ, "rx", 9600)] == [0x61, 0x62, 0x63]
