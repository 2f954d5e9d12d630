# SPDX-License-Identifier: BSD-2-Clause
"""The driver on a core with two samples per cycle and the pins of an iCE40: a tick is half a cycle, 10 ns."""

from fractions import Fraction

import pytest

from sim.guest.pins import changes, pulses, sampled_edges
from sim.linux import test_ptp
from sim.linux.test_chardev import EDGE, RECEIVER, RX, TRAIN_DONE, TX, Report

SAMPLES, NS_PER_TICK, HZ = 2, 10, 100_000_000
INPUTS = ("aux0", "aux1", "aux2", "aux3", "rx")


@pytest.fixture
def guest(linux):
    """The driver is loaded."""
    return linux("vexriscv", samples=SAMPLES)


@pytest.fixture
def chardev(guest):
    """Runs one case of programs/chardev.c: (Report, pins)."""

    def run(case, stimulus=""):
        result = guest.run_program("chardev", [case], stimulus=stimulus, max_cycles=50_000_000)
        return Report(result.lines), result.pins

    return run


@pytest.fixture
def ptp(guest):
    """Runs one case of programs/ptp.c: (Report, pins)."""

    def run(case, stimulus=""):
        result = guest.run_program("ptp", [case], stimulus=stimulus)
        return test_ptp.Report(result.lines), result.pins

    return run


def edges_of(tick, data):
    """[(tick, channel, level), ...] of an EDGE event: `data` has a bit for each sample of each channel, the level above its change."""
    return [(tick + bit % SAMPLES, bit // SAMPLES, data >> 16 + bit & 1) for bit in range(SAMPLES * len(INPUTS)) if data >> bit & 1]


def test_what_there_is(chardev):
    report, _ = chardev("info")
    _, _, num, den, _, samples, inputs, *_ = report.one("info")
    assert (num, den, samples, inputs) == (HZ, 1, SAMPLES, 4)
    offsets = [(before - tick * NS_PER_TICK, after - tick * NS_PER_TICK) for tick, before, after, *_ in report.all("time")]
    assert max(low for low, _ in offsets) <= min(high for _, high in offsets)


def test_edges_have_the_ticks_of_the_pins(chardev):
    """In either half of a cycle, both in one, and of two inputs in one cycle."""
    report, pins = chardev(
        "edges",
        """
        after ready edges
        +1000 aux0 1
        +1001 aux0 0
        +2001 aux0 1
        +2002 aux0 0
        +3001 aux1 1
        +3002 aux0 1
        +4000 aux1 0
        +9000 aux0 0
        after ready again
        +1001 aux0 1
        +2000 aux0 0
    """,
    )
    events = report.events()
    # Requested are both edges of input 0, rises of input 1; the second time rises of input 0.
    wanted = [edge for edge in sampled_edges(pins, INPUTS) if edge[2] or edge[1] == 0][:-1]
    assert [edge for event in events for edge in sorted(edges_of(event[2], event[4]))] == wanted and len(wanted) == 8
    assert {event[0] for event in events} == {EDGE} and all(event[2] % SAMPLES == 0 for event in events)
    assert {tick % SAMPLES for tick, _, _ in wanted} == {0, 1} and len(events) == 6
    for one, two in zip(events, events[1:]):
        assert abs((two[7] - one[7]) - (two[2] - one[2]) * NS_PER_TICK) < 20_000


@pytest.mark.parametrize("first", [1000, 1001])
def test_bytes_have_the_tick_of_their_start_edge(chardev, first):
    frame = [0, 1, 0, 1, 0, 0, 1, 0, 1, 1]  # start, eight bits, stop
    steps = "".join(f"+{first + k * 10417} rx {level}\n" for k, level in enumerate(frame))  # 9600 baud
    report, pins = chardev("bytes", "after ready bytes\n" + steps)
    edges = [edge for event in report.events() if event[0] == EDGE for edge in edges_of(event[2], event[4])]
    assert edges == [(tick, INPUTS.index("rx"), level) for tick, _, level in sampled_edges(pins, ["rx"])] and len(edges) == 8
    received = [(event[1], event[2], event[4], event[5] & 0xFF) for event in report.events() if event[0] == RX]
    assert received == [(RECEIVER, edges[0][0], sum(level << i for i, level in enumerate(frame[1:9])), 0)]


def test_launches_happen_at_their_ticks(chardev):
    report, pins = chardev("launch")
    start, (_, baud, period) = report.one("start")[0], report.one("profile")
    assert baud == 115_200 and period == round(Fraction(HZ * 256, baud))
    frame = [start + k * period // 256 for k in range(10)]  # 0x55 changes at every bit
    ends = [*frame, start + 100_000, start + 101_234, start + 200_000, start + 200_000 + 12 * period // 256]
    assert changes(pins, "tx") == [(tick, k % 2) for k, tick in enumerate(ends)]
    assert [event[2] for event in report.events() if event[0] == TX] == [start, start + 100_000, start + 200_000]


def test_a_train_is_exact(chardev):
    """A period of 25000/29 ticks, then another: at even and odd ticks."""
    report, pins = chardev("train")
    start, period = report.one("start")[0], Fraction(25_000, 29)
    ticks = [int(start + k * period) for k in range(20)]
    ticks += [ticks[19] + 1077 + k * 1000 for k in range(20)]
    widths = [100] * 20 + [120] * 20
    assert pulses(pins, "tx", active=0)[:40] == list(zip(ticks, widths)) and {tick % SAMPLES for tick in ticks} == {0, 1}
    events = report.events(until=["result", "adjust-stopped"])
    assert [(event[2], event[4]) for event in events if event[0] == TX] == [(tick, k) for k, tick in enumerate(ticks)]
    assert [event[4] for event in events if event[0] == TRAIN_DONE] == [40]


def test_stamps_of_the_ptp_clock_are_the_pins(ptp):
    """EXTTS: each requested edge, at its own tick, also of two in one cycle."""
    steps = "".join(
        f"+{1000 + 700 * k + 61 * channel + k % 2} {pin} {(k + (pin != 'rx')) % 2}\n"
        for k in range(6)
        for channel, pin in enumerate(INPUTS)
        if pin != "aux3"
    )
    steps += "+8001 aux2 1\n+8002 aux2 0\n"
    report, pins = ptp("stamps", f"after ready edges\n{steps}after ready again\n{steps}")
    edges = sampled_edges(pins, INPUTS)
    found = [edge for event in report.events for edge in sorted(edges_of(event.tick, event.data))]
    assert sorted(found) == edges and {tick % SAMPLES for tick, _, _ in edges} == {0, 1}
    offsets = {event.ns - event.tick * NS_PER_TICK for event in report.events}
    assert len(offsets) == 1
    offset, half = offsets.pop(), len(edges) // 2
    wanted = [{0: (1,), 1: (0,), 2: (0, 1), 4: (1,)}, {1: (1,), 2: (0, 1), 4: (1,)}]
    expected = [
        sorted((channel, tick * NS_PER_TICK + offset) for tick, channel, level in part if level in levels.get(channel, ()))
        for part, levels in zip((edges[:half], edges[half:]), wanted)
    ]
    stamps = [[]]
    for line in report.lines:
        if line[0] == "stamp":
            stamps[-1].append((int(line[1]), int(line[2])))
        elif line[0] == "stamps_end":
            stamps.append([])
    assert [sorted(part) for part in stamps[:2]] == expected and len(expected[0]) > 10


def test_output_of_the_ptp_clock(ptp):
    """PEROUT: the exact period, by phase at nominal rate and by start at another, at even and odd ticks."""
    report, pins = ptp("phase", "after ready go\n" + test_ptp.beat(50))
    report.fine("phase", "start", "faster", "off")
    by_phase, by_start = report.trains()
    test_ptp.check_output(report, pins, 400_000 // 2 // NS_PER_TICK, 500_000 // 2 // NS_PER_TICK)
    times = [ns for _, ns, _ in by_phase]
    assert len(times) > 8 and times == [times[0] + 400_000 * k for k in range(len(times))] and (times[0] - 2500) % 400_000 < NS_PER_TICK
    start, exact = report.numbers("start")[0][0], Fraction(500_000, NS_PER_TICK) / (1 + Fraction(100, 10**6))
    ticks = [tick for tick, _, _ in by_start]
    assert len(ticks) > 8 and test_ptp.on_lattice(ticks, exact) and {tick % SAMPLES for tick in ticks} == {0, 1}
    assert all(abs(ns - start - number * 500_000) <= NS_PER_TICK for _, ns, number in by_start)
