# SPDX-License-Identifier: BSD-2-Clause
"""The benchmark of a board on a cable measures, and notices faults. Its figures are in
docs/benchmarks.md."""

import time
from dataclasses import replace

import pytest

from sim.guest.frames import data_of, profile, read_frames
from sim.measured import BenchError
from sim.pc import cable_bench
from sim.pc.board import HZ
from sim.pc.cable_bench import Bench
from sim.pc.wire import PACKET, Wire

# 5,000 events of others, ten times what the board and two requests hold: also on a slow machine. From 1.2 s on the board counts as lost.
STILL_SECONDS, STILL_GAP = 0.8, 320


@pytest.fixture(scope="module")
def bench():
    """The load of the machine changes figures, and is not judged."""
    return Bench(steady=False)


@pytest.mark.wallclock
def test_events_through_a_slow_line(bench):
    """Each is read or counted as lost, at its tick; and the line lets no more bytes pass than its rate allows."""
    baud = 100_000
    first, second = bench.events(2000, baud, seconds=400 * 2000 / HZ, turns=2)
    for turn in (first, second):
        assert turn["made"] == 400 and turn["got"] + turn["lost"] == 400 and turn["requests"] > 1
        # A machine that is busy with other things may answer one too late.
        assert turn["repeats"] < 3
        assert turn["got"] * 16 * 10 / baud < turn["seconds"] < 20 and 0 < turn["thread"] < turn["busy"] < 1


def test_wakes(bench):
    for traffic in (0, 1000):
        found = bench.wakes(traffic, count=5)
        assert len(found["delays"]) == 5 and 0 < found["uncertainty"] and 0 < found["busy"] < 1


def test_wakes_while_all_stands_still(bench):
    """Until the board's FIFO overflows: each launch is measured by its own event, whatever is
    missing around it."""
    found = bench.wakes(STILL_GAP, count=10, when={"wake": lambda _: time.sleep(STILL_SECONDS)})
    assert found["losses"] > 0 and len(found["delays"]) == 10


@pytest.mark.wallclock
@pytest.mark.parametrize("case", ["send", "receive", "loop"])
def test_bytes(bench, case):
    """All come, in order; no faster than the baud in the board's own time: one that was behind catches up."""
    found = bench.tty(case, 20_000, None, 500)
    assert found["sound"] and found["seconds"] < 20
    assert found["board_seconds"] > (500 - 1) / 2000 * (0.5 if case == "receive" else 1)


def test_idle(bench):
    without, attached = bench.idle(500).values()
    assert without["requests"] == without["thread"] == 0 < attached["requests"] and 0 < attached["thread"] < 1
    # Counted in hundredths of a second: so short a time may have none, or one too few.
    assert without["busy"] < 1 and attached["busy"] < 1
    assert min(cable_bench.spin(bench.program)) > 0


@pytest.mark.wallclock
def test_launches_in_a_row(bench):
    """More than the queue holds, twice: all leave at their ticks, at a rate that a slow machine can keep."""
    turns = bench.launches(8_000, 115_200, count=150, turns=2)
    assert [turn["sustained"] for turn in turns] == [True, True] and all(turn["requests"] > 1 for turn in turns)


def test_launches_too_fast_for_the_line(bench):
    """Reported; those that leave do so at their ticks. 200 entries of 16 bytes take 320 ms, not 32 ms."""
    (turn,) = bench.launches(128, 100_000, count=200, turns=1)
    assert not turn["sustained"]


def test_a_launch_that_is_not_on_the_pin(bench, monkeypatch):
    """It is no figure, though the program had its outcome."""
    kept = bench.guest.run

    def run(*words, **options):
        result = kept(*words, **options)
        return replace(result, pins=[change for change in result.pins if change.pin != "tx"])

    monkeypatch.setattr(bench.guest, "run", run)
    with pytest.raises(BenchError, match="one every 10000 ticks: 3 pulses are missing, or are not as requested"):
        bench.launches(10_000, count=3, turns=1)


def test_the_table_of_launches():
    best = {"gap": 250, "busy": 0.301, "thread": 0.1, "requests": 1234.4}
    rows = [line for line in cable_bench.launch_lines({"a": best, "b": None}) if line.startswith("| ")]
    assert rows[1:] == ["| a | **2,000** | 1,234 | 30% | 10% |", "| b | less than 100 | - | - | - |"]


def test_a_busy_machine_is_reported(monkeypatch):
    """The board's time stood still: no figure."""
    monkeypatch.setattr(cable_bench, "ATTEMPTS", 1)
    strict = Bench()
    with pytest.raises(BenchError, match="this machine is too busy or too slow: the board's time is .* ms off"):
        strict.run("idle 100", hz=100_000_000)


def test_a_wire():
    """Bytes arrive in order, in packets, each when its last bit has passed; what follows in time fills the last packet."""
    now, came = [10.0], []
    wire = Wire(100, lambda data: came.append(bytes(data)), lambda: now[0])
    assert wire.next_at() is None
    wire.send(b"abc")
    now[0] = 10.1
    wire.send(b"d")
    assert wire.next_at() == pytest.approx(10.4)
    wire.send(bytes(PACKET))
    assert wire.next_at() == pytest.approx(10 + PACKET / 10)
    now[0] = 9.99 + PACKET / 10
    wire.pass_on()
    assert came == []
    now[0] = 10.01 + PACKET / 10
    wire.pass_on()
    assert came == [b"abcd" + bytes(PACKET - 4)] and wire.next_at() == pytest.approx(10.4 + PACKET / 10)
    now[0] = 1000.0
    wire.send(b"late")
    wire.pass_on()
    assert came[1:] == [bytes(4)] and wire.next_at() == pytest.approx(1000.4)
    now[0] = 1001.0
    wire.pass_on()
    assert came[2:] == [b"late"] and wire.next_at() is None


def test_a_wire_that_is_late():
    """All arrives later by the delay of the wire, and no slower."""
    now, came = [10.0], []
    wire = Wire(100, lambda data: came.append(bytes(data)), lambda: now[0], late=5)
    for time_sent in (10.0, 20.0):
        now[0] = time_sent
        wire.send(bytes(PACKET))
    assert wire.next_at() == pytest.approx(10 + PACKET / 10 + 5)
    now[0] = 14.9 + PACKET / 10
    wire.pass_on()
    assert not came
    now[0] = 15.1 + PACKET / 10
    wire.pass_on()
    assert len(came) == 1 and wire.next_at() == pytest.approx(20 + PACKET / 10 + 5)


def test_the_stimulus_is_bytes():
    rows = [line.split() for line in cable_bench.frames(5000, 40, 20).splitlines()]
    assert {channel for _, channel, _ in rows} == {"rx"}
    pin = [(0, 1), *((int(tick), int(level)) for tick, _, level in rows)]
    assert data_of(read_frames(pin, [profile(50_000_000 // 20)])) == bytes(k * 7 & 255 for k in range(40))


def figures(gap, idle):
    each = {"events": 100, "lost": 0, "carried": 5000.0, "busy": 0.5, "thread": 0.1, "requests": 100.0, "repeats": 0}
    wake = {"count": 3, "median": 2e6, "least": 1e6, "most": 9e6, "uncertainty": 1e5}
    tty = {"baud": 1000, "sound": True, "seconds": 1.0, "busy": 0.5, "thread": 0.1, "requests": 5.0, "repeats": 0, "rate": 77.0}
    return {
        "slower": [5.0, 9.0],
        "idle": dict.fromkeys(("without", "attached"), {**each, "busy": idle}),
        "missed": [],
        "events": {line: {"best": gap and {"gap": gap, **each}, "flood": each} for line in cable_bench.LINES},
        "wakes": {line: {"nothing": wake} for line in cable_bench.LINES},
        "ttys": {line: {"send": tty, "receive": tty, "loop": None} for line in cable_bench.LINES},
    }


def test_shortfalls_are_listed():
    assert cable_bench.shortcomings(figures(HZ // 18_000, 0.0099)) == []
    assert cable_bench.shortcomings(figures(HZ // 18_000 + 1, 0.01)) == [
        "17,857 events/s without loss at 3 Mbaud, not 18,000",
        "1.0% of the emulated CPU while idle, not under 1%",
    ]
    assert cable_bench.shortcomings(figures(None, 0))[0].startswith("0 events/s")


def test_rates_of_the_events_table():
    """Of a board at 1 MHz, not of the slower one that launches are measured with."""
    for gap, rest in ((91, "**10,989** | 100 "), (None, "less than 5,000 | - ")):
        rows = [line for line in cable_bench.lines(figures(gap, 0.0)) if line.startswith("| unlimited, none lost | ")]
        assert len(rows) == 1 and rows[0].startswith(f"| unlimited, none lost | {rest}")
