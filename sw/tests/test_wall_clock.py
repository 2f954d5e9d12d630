# SPDX-License-Identifier: BSD-2-Clause
"""Times of the PC's clocks on boards without the driver: within their bound of the truth, which is made here."""

import csv
import io
import json
import os
import random
import re
import time
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import pytest

import litepulse
from litepulse import cli
from litepulse.backends.bus.registers import Registers
from litepulse.backends.interface import ClockReading
from litepulse.backends.uartbone import SerialStream, UARTBone
from litepulse.backends.wallclock import WallClock, clock_of
from litepulse.errors import BadInput, Unsupported

from .fake_board import FakeBoard, Server
from .test_sim import HZ, frame_edges

MS = HZ // 1000
YEAR_2026 = 1_767_225_600_000_000_000  # ns


OFFSET = YEAR_2026  # of the clock against CLOCK_MONOTONIC_RAW


def reading(rng, tick, truth, most):
    """A reading at a tick, which is somewhere between the two raw readings, `most` ns apart at most."""
    width = rng.randrange(1, most)
    before = truth - OFFSET - rng.randrange(width + 1)
    middle = before + width // 2
    return ClockReading(tick, before, before + width, middle + OFFSET, middle + OFFSET)


@pytest.mark.parametrize("ppm", [0, 97, -450, 900])
@pytest.mark.parametrize("most", [20, 2_000, 1_000_000])
def test_the_truth_is_within_the_bound(ppm, most):
    """Ticks between the readings, before the first and behind the last; the board's crystal is wrong, each reading by chance."""
    rng = random.Random(ppm * 1_000_003 + most)
    rate = 1 + Fraction(ppm, 1_000_000)

    def truth(tick):
        return YEAR_2026 + int(tick * Fraction(10**9, HZ) * rate)

    clock = WallClock("realtime", Fraction(HZ), False)
    tick, widths = 5_000_000, []
    for _ in range(60):
        clock.look(reading(rng, tick, truth(tick), most))
        for _ in range(5):
            at = tick + rng.randrange(-20 * MS, 20 * MS)
            ns, bound = clock.at(at)
            assert abs(ns - truth(at)) <= bound
            widths.append(bound)
        near, far = clock.at(tick)[0], clock.at(tick + MS)[0]
        assert abs(far - near - 1_000_000) <= 1_000_000 // 1024 + 2, "neighbours keep their distance"
        tick += rng.randrange(5 * MS, 60 * MS)
    # Half of the reading, 20 ms by the rates of both clocks, and what the readings of the other clock leave open.
    assert max(widths) <= most // 2 + 60 + 3 * 20_000_000 // 1024 + most // 100 + 60_000_000 // 1024


def test_many_readings_know_more_than_one():
    """All readings together give the bound: it is less than that of the best of them."""
    rng = random.Random(7)
    clock, single = (WallClock("realtime", Fraction(HZ), False) for _ in range(2))
    for n in range(12):
        one = reading(rng, HZ + n * MS // 100, YEAR_2026 + n * 10_000, 1_000_000)
        clock.look(one)
    single.look(one)
    assert clock.at(HZ + 12 * MS // 100)[1] < single.at(HZ + 12 * MS // 100)[1]


def test_a_board_that_is_reset_again_and_again():
    """The second reset could hide in readings that took longer than the board had run: then the later one counts alone."""
    clock = WallClock("monotonic", Fraction(HZ), False)
    clock.look(ClockReading(HZ, 10**10, 10**10 + 10**7, 10**10 + 5 * 10**6, 0))
    for begun in (10**10 + 2 * 10**7, 10**10 + 2 * 10**7 + 10**6):
        tick = MS // 2 if begun % 10**7 == 0 else MS
        middle = begun + tick * 1_000_000 // MS
        clock.look(ClockReading(tick, middle - 10**6, middle + 9 * 10**6, middle + 4 * 10**6, 0))
        ns, bound = clock.at(tick)
        assert abs(ns - middle) <= bound < 5_100_000


def exact(tick, step=0, **more):
    """A reading of a board without fault, whose tick 0 was at 10 s of CLOCK_MONOTONIC_RAW."""
    raw = 10**10 + tick * 1_000_000 // MS
    return ClockReading(tick, raw - 50, raw + 50, raw, raw + OFFSET + step, **more)


@pytest.mark.parametrize("step", [3_600_000_000_000, -50_000_000, 1_000_000])
def test_a_clock_that_is_set(step):
    """Ticks behind it have the new time, those before it a bound that says so, also later."""
    clock = WallClock("realtime", Fraction(HZ), False)
    # A step below 1/8 of an interval may have been a slew, which may come back and end between two readings: 2^-10 of two intervals.
    most = 5000 if abs(step) > 10_000_000 / 8 else 5000 + 2 * 10_000_000 // 1024
    for n in range(0, 40, 10):
        clock.look(exact(n * MS))
    for n in range(40, 200, 10):
        clock.look(exact(n * MS, step))
        ns, bound = clock.at(25 * MS)
        assert abs(ns - (exact(25 * MS).realtime)) <= bound
        if n > 60:  # another reading, and one more in which the slew may have changed
            ns, bound = clock.at(n * MS - MS)
            assert abs(ns - exact(n * MS - MS, step).realtime) <= bound < most


def test_a_reading_that_took_long_spoils_nothing():
    """The PC is loaded: each second reading says nothing."""
    clock = WallClock("realtime", Fraction(HZ), False)
    for n in range(0, 2000, 50):
        one = exact(n * MS)
        clock.look(one)
        late = replace(one, raw_before=one.raw_before - 10**7, raw_after=one.raw_after + 10**8, clocks_raw=10**10 + (n + 1) * 10**6)
        clock.look(replace(late, tick=one.tick + MS, monotonic=one.monotonic + 45 * 10**6, realtime=one.realtime + 45 * 10**6))
        ns, bound = clock.at(one.tick)
        assert abs(ns - one.realtime) <= bound and (n < 500 or bound < 2000), n


def test_a_pc_that_slept():
    """CLOCK_MONOTONIC_RAW stood still, for less than any bound could show: what was known before is forgotten."""
    clock = WallClock("monotonic", Fraction(HZ), False)
    clock.look(ClockReading(0, 10**10, 10**10 + 10**8, 10**10, 0))
    late = replace(exact(0), tick=40 * MS, slept=10**8)
    clock.look(late)
    ns, bound = clock.at(late.tick)
    assert abs(ns - late.monotonic) <= bound < 200_000


def test_the_line_is_taken_off():
    """A port leads to a line, whose time for request and answer is known; a pseudo-terminal does not."""
    read, write = os.openpty()
    stream = object.__new__(SerialStream)
    for file, wanted in ((write, False), (os.open("/dev/null", os.O_RDONLY), True)):
        stream.serial = SimpleNamespace(fileno=lambda file=file: file)
        assert stream.has_line == wanted
        os.close(file)
    os.close(read)
    bus = UARTBone(SimpleNamespace(has_line=True), "board", None)
    assert bus.line_ns(4) == (0, 0)
    bus.baud, bus.framed = 115200, True
    # 11 bytes and 16, less half a bit each at least; 1/32 less
    assert bus.line_ns(4) == (int(109 * Fraction(31, 32) * 10**9 / 115200), int(159 * Fraction(31, 32) * 10**9 / 115200))
    bus.framed = False
    assert bus.line_ns(4)[0] == 0 and bus.line_ns(4)[1] > 0
    bus.stream = SimpleNamespace()
    assert bus.line_ns(4) == (0, 0)


def test_the_clocks():
    for name in ("monotonic", "realtime", "tai"):
        clock = WallClock(name, Fraction(HZ), False)
        clock.look(ClockReading(0, 1_000, 1_000, 1_000, YEAR_2026))
        tai = round((time.clock_gettime_ns(time.CLOCK_TAI) - time.time_ns()) / 10**9) * 10**9
        wanted = {"monotonic": 1_000, "realtime": YEAR_2026, "tai": YEAR_2026 + tai}[name]
        assert abs(clock.at(0)[0] - wanted) <= 1
    with pytest.raises(Unsupported, match="'phc' is the PTP clock"):
        WallClock("phc", Fraction(HZ), False)
    with pytest.raises(BadInput, match="clock: 'utc' is not monotonic, realtime, tai"):
        WallClock("utc", Fraction(HZ), False)


@pytest.mark.parametrize("name", ["monotonic", "realtime", "tai"])
def test_which_clock_a_program_has(name):
    number = getattr(time, f"CLOCK_{name.upper()}")
    found = clock_of(lambda: time.clock_gettime(number))
    # Where nobody has set it, TAI is UTC.
    assert found == name or abs(time.clock_gettime(time.CLOCK_TAI) - time.time()) < 0.1
    assert clock_of(lambda: time.clock_gettime(number) - 3600) is None


# On boards -------------------------------------------------------------------------------------------------------------------


def edges_file(tmp_path, *ticks):
    file = tmp_path / "edges.txt"
    file.write_text("".join(f"{tick} 0 {(number + 1) % 2}\n" for number, tick in enumerate(ticks)))
    return file


def test_a_simulated_board_goes_on_from_its_beginning(tmp_path):
    """Its time is exact: differences of ns are those of the ticks. Its clock begins when it is opened."""
    before = time.time_ns()
    with litepulse.open(sim=True, clock="realtime", stimulus=edges_file(tmp_path, 1_000_000, 1_000_480, 3_000_000)) as board:
        assert board.clocks == ("monotonic", "realtime", "tai")
        found = list(board.capture(inputs=(0,), count=3))
        assert board.time_of(found[2].tick).ns == found[2].ns
    after = time.time_ns()
    assert [(event.ns - found[0].ns) * HZ for event in found] == pytest.approx([(e.tick - found[0].tick) * 10**9 for e in found], abs=HZ)
    begin = found[0].ns - found[0].tick * 10**9 // HZ
    assert before - 10**9 < begin < after and all(0 < event.uncertainty < 10**9 for event in found)


@pytest.mark.parametrize("style", ["csv", "vnl", "json", None])
@pytest.mark.parametrize("clock", ["realtime", "monotonic", "tai"])
def test_capture_with_a_clock(style, clock, tmp_path, capsys):
    """Edges and bytes in each format, each with its ns and their bound."""
    file = tmp_path / "bytes.txt"
    bits = [(tick, "rx", level) for tick, level in frame_edges(2_000_000, 0x55, Fraction(HZ, 19200))]
    file.write_text(
        "".join(f"{tick} {channel} {level}\n" for tick, channel, level in sorted([*bits, (2_500_000, 0, 1), (2_500_480, 0, 0)]))
    )
    words = ["--sim", "--wire", "none", "--stimulus", str(file), "capture", "--inputs", "0", "--bytes", "--baud", "19200", "--count", "3"]
    now = {"realtime": time.time_ns, "monotonic": time.monotonic_ns, "tai": lambda: time.clock_gettime_ns(time.CLOCK_TAI)}[clock]
    before = now()
    assert cli.main([*words, "--clock", clock, *([f"--{style}"] if style else [])]) == 0
    out = capsys.readouterr().out
    if style == "json":
        result = json.loads(out)
        assert result["clock"] == clock
        rows = [(one["tick"], one["ns"], one["uncertainty_ns"]) for one in (*result["bytes"], *result["edges"])]
    elif style is None:
        lines = [line for line in out.splitlines() if " ± " in line]
        assert len(lines) == 3 and max(map(len, lines)) <= 80
        if clock == "monotonic":
            assert all(re.match(r" *\d+\.\d{9} s ± \d+(\.\d+)? [nµm]?s +\d+  ", line) for line in lines), lines
        else:
            assert all(re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{9} ± ", line) for line in lines), lines
        return
    else:
        text = [line.removeprefix("# ") for line in out.splitlines() if not line.startswith("##")]
        table = csv.DictReader(io.StringIO("\n".join(text)), delimiter="," if style == "csv" else " ")
        rows = [(int(row["tick"]), int(row[f"{clock}_ns"]), int(row["uncertainty_ns"])) for row in table]
    assert [tick for tick, _, _ in rows] == [2_000_001, 2_500_001, 2_500_481]
    for tick, ns, bound in rows:
        assert 0 < bound and before - 10**9 < ns < now() + 10**9
        assert abs((ns - rows[0][1]) * HZ - (tick - rows[0][0]) * 10**9) <= HZ


def test_without_a_clock_nothing_changes(tmp_path, capsys):
    file = edges_file(tmp_path, 1_000_000)
    assert cli.main(["--sim", "--stimulus", str(file), "capture", "--inputs", "0", "--count", "1", "--csv"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "t_ns,dt_ms,tick,channel,value,flags"


def test_a_board_on_a_port(monkeypatch, capsys):
    """Its clock is read again and again; each time is within its bound of what this test knows of the board."""
    rate = 1 + Fraction(80, 1_000_000)
    rng = random.Random(3)
    made = 0

    def read_clocks(self):
        nonlocal made
        made += 1
        tick = self.now()
        return reading(rng, tick, truth(tick), 300_000)

    def truth(tick):
        return YEAR_2026 + int(tick * Fraction(10**9, HZ) * rate)

    monkeypatch.setattr(Registers, "read_clocks", read_clocks)
    monkeypatch.setattr("litepulse.backends.wallclock.FRESH", -(10**6))
    with Server(FakeBoard(step=50_000), "tcp") as server, litepulse.open(port=server.spec, clock="realtime") as board:
        with board.capture(inputs=(0,), bytes=True, baud=9600, count=40) as capture:
            found = []
            for n in range(40):
                with server.lock:
                    server.board.event(server.board.tick - rng.randrange(MS), 2, 4, 0, (1 - n % 2) << 16 | 1, "edge", edge=True)
                    server.board.advance(MS)
                found.append(next(capture))
    assert len(found) == 40 and made > 20
    for event in found:
        assert abs(event.ns - truth(event.tick)) <= event.uncertainty < 400_000


def test_a_tick_in_a_clock(monkeypatch):
    """For ticks that no event has: what was sent, what is planned."""
    rate = 1 - Fraction(50, 1_000_000)
    rng = random.Random(5)

    def truth(tick):
        return YEAR_2026 + int(tick * Fraction(10**9, HZ) * rate)

    monkeypatch.setattr("litepulse.backends.wallclock.FRESH", -(10**6))
    monkeypatch.setattr(Registers, "read_clocks", lambda self: reading(rng, tick := self.now(), truth(tick), 300_000))
    with Server(FakeBoard(step=50_000), "tcp") as server, litepulse.open(port=server.spec) as board:
        for distance in (0, -MS, MS, 200 * MS):
            tick = board.now() + litepulse.ticks(distance)
            for moment in (tick, tick.tick):
                found = board.time_of(moment)
                assert abs(found.ns - truth(tick.tick)) <= found.uncertainty < 151_000 + 2 * abs(distance) * 10**9 // HZ // 1000 + 50_000
        assert board.time_of(0, "monotonic").ns < board.time_of(HZ, clock="monotonic").ns
        with pytest.raises(BadInput, match="clock: 'gps' is not"):
            board.time_of(0, "gps")
        with pytest.raises(BadInput, match="tick: -1 is out of range"):
            board.time_of(-1)


@pytest.mark.parametrize(
    "words, message",
    [
        (
            ["--sim", "capture", "--for", "1ms", "--clock", "phc"],
            "clock: 'phc' is the PTP clock, which only a board of the kernel driver has",
        ),
        (
            ["--sim", "capture", "--for", "1ms", "--clock", "gps"],
            "clock: 'gps' is not utc, tai, monotonic, realtime, pps:0, phc:0, harp or harp:0",
        ),
        (["--sim", "capture", "--for", "1ms", "--clock", "phc:999999"], "clock: /dev/ptp999999: cannot read it as a PTP clock"),
    ],
)
def test_clocks_that_there_are_not(words, message, capsys):
    assert cli.main(words) == 2
    errors = capsys.readouterr().err
    assert errors.startswith(f"litepulse: {message}") and errors.count("\n") == 1
