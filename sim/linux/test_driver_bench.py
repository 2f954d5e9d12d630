# SPDX-License-Identifier: BSD-2-Clause
"""The benchmark of the driver measures, and notices faults. Its figures are in
docs/benchmarks.md."""

import pytest

from sim.core.model import edges
from sim.guest.frames import data_of, profile, read_frames, row, wave
from sim.guest.launches import whole_rows
from sim.linux import driver_bench, linux_rig
from sim.linux.driver_bench import PEER, PULSE, Answers, Bench
from sim.measured import BenchError


class FakeResult:
    """A result of the rig."""

    def __init__(self, *lines, pins=()):
        self.lines, self.pins = lines, list(pins)


@pytest.fixture(scope="module")
def bench():
    return Bench()


@pytest.mark.parametrize("port", [PULSE, PEER])
def test_cost(bench, port):
    """A byte costs something and less than the whole CPU; only liteuart interrupts for each, and again at its end."""
    cost = bench.cost(port, "rx", 19200, "idle")
    assert cost["lost"] == 0 and cost["bytes"] == 192 and 0 < cost["busy"] < 1
    assert cost["cycles"] == pytest.approx(cost["busy"] * 192 * 26041 / 192, rel=0.2)
    assert (cost["interrupts"] < 0.1) == (port is PULSE)


@pytest.mark.parametrize("cpu", linux_rig.TESTED_CPUS)
def test_a_flood_wanted_one_by_one(cpu):
    """6,667 edges a second, a program that wants each at once, and a busy one: no program starves,
    no edge is lost."""
    # A read() of one event takes 3,240 cycles, so half of the CPU is just enough.
    count, apart = 800, 7500
    stimulus = [(driver_bench.LEAD + apart * k, "aux0", 1 - k % 2) for k in range(count)]
    answers = Bench(cpu).run(f"edge {count} loaded", stimulus, max_cycles=50_000_000)
    first, *_, last = [tick for tick, _ in driver_bench.changes(answers.pins, "aux0")]
    marks = answers.rises("printed", first)[:count]
    # Half of the CPU is the program's, late by the one tick of the scheduler that the other may be ahead: for at most
    # half a tick of work still to do after the last edge, that is 2 x (1/2 + 1) ticks of 10 ms.
    assert len(marks) == count and marks[-1] - last < 3 * 500_000
    assert len(answers.rises("asked", first)) < count // 2


def test_a_missing_byte_is_counted(bench):
    """More than driver and board can hold, while no program reads."""
    answers, got, _ = bench.receive(PEER, 4_000_000, 2000, "loaded")
    assert got < 2000 and answers.numbers("got")[0] == got


def test_launches_in_a_row(bench):
    """More than the queue holds: all leave at their ticks, while the CPU still has time."""
    assert bench.launches(10_000, "idle", count=200)


def test_launches_too_fast_to_be_written(bench):
    """Reported; those that leave do so at their ticks."""
    assert not bench.launches(130, "idle", count=400)


def test_a_row_must_be_on_the_pin():
    """A launch that is reported but missing, or has another place or width, is no figure; one that is reported missing may be."""

    def judge(places, *outcome):
        moves = [move for tick, width in places for move in ((tick, "tx", 0), (tick + width, "tx", 1))]
        (whole,) = whole_rows([[1000, *outcome]], [(0, "tx", 1), *moves], 500, 24, 3)
        return whole

    *first, (tick, width) = requested = [(1000 + 500 * k, 24) for k in range(3)]
    assert judge(requested, 3, 0, 0, -1)
    for outcome in ((2, 0, 1, -1), (2, 0, 0, 2), (2, 1, 0, -1), (2, 0, 0, -1)):
        assert not judge(first, *outcome)
    for last, odd in (([], 1), ([(tick + 1, width)], 2), ([(tick, width + 1)], 2)):
        with pytest.raises(BenchError, match=f"launches, one every 500 ticks: {odd} pulses are missing, or are not as requested"):
            judge([*first, *last], 3, 0, 0, -1)
    with pytest.raises(BenchError, match="1 pulses are missing"):
        judge([*first, (tick + 1, width)], 2, 0, 0, 2)


def test_the_table_of_launches():
    table = driver_bench.launch_lines({"idle": 1000, "loaded": None})
    rows = [line for line in table if line.startswith("| ")]
    assert rows[1:] == ["| idle | **50,000** | 1,000 |", "| loaded | less than 1,000 | - |"]


def test_frames_are_the_models():
    data = bytes(range(0, 250, 7))
    # 200 ticks a bit: no fraction to be rounded
    made, starts, end = driver_bench.frames(5000, data, 250_000)
    ours = row(5000, data, profile(250_000))
    assert made == edges(wave(ours)) and starts == [one.tick for one in ours] and end == ours[-1].end
    assert data_of(read_frames([(0, 1), *made], [profile(250_000)])) == data


def test_bytes_of_a_pin():
    data = bytes(range(0, 250, 7))
    made, starts, _ = driver_bench.frames(5000, data, 115200)
    pins = [(0, "tx", 1), *((tick, "tx", level) for tick, level in made)]
    assert driver_bench.sent(pins, PULSE, 115200) == list(zip(starts, data))


def test_busy_is_what_the_other_process_missed():
    answers = Answers(FakeResult("free 1000000 1000", "took 500000 200"))
    assert answers.cycles() == (25_000, 15_000)


def test_interrupts_of_one_port():
    answers = Answers(
        FakeResult(
            "interrupts 5 liteuart",
            "interrupts 30 liteuart",
            "interrupts 2 f0008000.serial",
            "interrupts 7 liteuart",
            "interrupts 31 liteuart",
            "interrupts 9 f0008000.serial",
        )
    )
    assert (answers.interrupts(PULSE), answers.interrupts(PEER)) == (7, 2)


def test_marks_must_follow_their_stimuli():
    pins = [(0, "printed", 0), (0, "irq", 0), (0, "asked", 0), (100, "irq", 1), (120, "asked", 1), (500, "printed", 1)]
    answers = Answers(FakeResult(pins=pins))
    assert driver_bench.steps(answers, PULSE, [90]) == {"irq": [10], "handler": [30], "read": [410]}
    with pytest.raises(BenchError, match="marks and stimuli differ"):
        driver_bench.steps(answers, PULSE, [90, 95])


def figures(mine, peer, period, ring=333):
    return {
        "costs": [
            {
                "port": port,
                "direction": direction,
                "baud": baud,
                "load": load,
                "bytes": 10,
                "lost": 0,
                "interrupts": 1,
                "cycles": cycles,
                "busy": 0.5,
            }
            for port, cycles in (("litepulse", mine), ("liteuart", peer))
            for direction in ("rx", "tx")
            for baud in driver_bench.BAUDS
            for load in driver_bench.LOADS
        ],
        "latencies": [],
        "events": {"events": dict.fromkeys(driver_bench.LOADS, period), "ring": dict.fromkeys(driver_bench.LOADS, ring)},
        "bauds": {},
        "missed": [],
    }


def test_shortfalls_are_listed():
    assert driver_bench.shortcomings(figures(10, 100, 500)) == []
    assert len(driver_bench.shortcomings(figures(100, 990, 500))) == 8  # at 1 Mbaud all of the CPU is not enough to tell
    missed = driver_bench.shortcomings(figures(10, 99, 501))
    assert len(missed) == 14 and "9.9 times cheaper" in missed[0] and "99,800 events/s" in missed[-1]
    assert [line.split(" ")[0] for line in driver_bench.shortcomings(figures(10, 100, 500, 334))] == ["149,700"]
