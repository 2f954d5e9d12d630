# SPDX-License-Identifier: BSD-2-Clause
"""The ring of a file of /dev/litepulse0: what programs/ring.c prints, beside what the pins did.
Every tick must be equal."""

import pytest

from sim.core.model import edges as edges_of
from sim.guest.frames import profile, row, wave
from sim.guest.pins import changes, sampled_edges
from sim.linux.linux_rig import TESTED_CPUS
from sim.linux.test_chardev import CAPTURE, CONTROL, EDGE, HARDWARE, LOST, NS_PER_TICK, RECEIVER, RX, Report, toggles

IN, PRI = 1, 2  # of poll()
SIZE = 64  # of the ring


@pytest.fixture(params=TESTED_CPUS)
def ring(request, linux):
    """Runs one case of programs/ring.c: (Report, pins)."""

    def run(case, stimulus=""):
        result = linux(request.param).run_program("ring", [case], stimulus=stimulus, max_cycles=50_000_000)
        return Report(result.lines), result.pins

    return run


def put(report, since=None, until=None):
    """[(kind, source, tick, data, flags), ...] that were in the ring."""
    found = Report([])
    found.lines = [["event", *line[1:]] if line[0] == "in" else line for line in report.lines if line[0] != "event"]
    return found.events(since, until)


def edges(pins, names=("aux0",)):
    """Ticks of the edges of inputs."""
    return [tick for tick, _, _ in sampled_edges(pins, list(names))]


def test_what_is_refused(ring):
    report, _ = ring("refused")
    assert report.result("no-ring") == (-1, "ENODEV")
    assert report.results("bad") == [(-1, "EINVAL")] * 8
    assert report.result("subscribed") == report.result("again") == (-1, "EBUSY") and report.result("of-a-claim") == (-1, "ENOTTY")
    for label in ("short", "long", "private", "offset", "read", "clock", "fifo", "watermark"):
        assert report.result(label) == (-1, "EINVAL"), label
    assert report.result("twice") == (0, 0)
    assert report.one("ring") == [4096, 8192]


def test_events_have_the_ticks_of_the_pins(ring):
    """Alone, three times round, straight from the records; and beside a reader of the same events,
    through the FIFO."""
    both = "".join(f"+{1000 + 4000 * k} {pin} {1 - k % 2}\n" for k in range(200) for pin in (("aux0", "aux1") if k % 3 == 0 else ("aux0",)))
    report, pins = ring("edges", "after ready alone\n" + both + "after ready both\n" + toggles(40, 4000))
    wanted, levels = {}, {}
    for tick, channel, level in sampled_edges(pins, ["aux0", "aux1"]):
        levels.setdefault(tick, 0)
        levels[tick] |= level << channel
        if level or channel == 0:
            wanted[tick] = wanted.get(tick, 0) | 1 << channel
    wanted = list(wanted.items())
    found = put(report)
    assert len(wanted) == 240 and [(tick, data & 0xFFFF) for _, _, tick, data, _ in found] == wanted
    assert all(kind == EDGE and source == CAPTURE and not flags for kind, source, _, _, flags in found)
    assert all(data >> 16 & data & 3 == levels[tick] & data for _, _, tick, data, _ in found)
    # The other reader has the same, with times.
    read = report.events(["ready", "both"])
    assert [(e[0], e[1], e[2], e[4]) for e in read] == [e[:4] for e in put(report, ["ready", "both"])] and len(read) == 40
    assert report.one("stats") == [240, 240, 0, 0, 0, 0, 0]


def test_losses_of_a_slow_program_are_reported(ring):
    stimulus = f"after ready hundred\n{toggles(100, 2000)}after ready seventy\n{toggles(70, 2000)}after ready one\n+1000 aux0 1\n"
    report, pins = ring("full", stimulus)
    ticks = edges(pins)
    assert len(ticks) == 171
    assert report.all("polled") == [["full", 1, IN | PRI], ["empty", 0, 0]]
    first = put(report, ["ready", "hundred"], ["polled", "empty"])[:SIZE]
    assert [(e[0], e[2]) for e in first] == [(EDGE, tick) for tick in ticks[:SIZE]]
    # At the tail: poll() or STATS puts it as soon as there is room.
    second = put(report, ["ready", "hundred"], ["ready", "seventy"])[SIZE:]
    assert [e[:4] for e in second] == [(LOST, CONTROL, ticks[SIZE], 100 - SIZE)] and not second[0][4] & HARDWARE
    # In the middle, where there is room for nothing more, then for it and what comes behind.
    third = put(report, ["ready", "seventy"])
    assert [(e[0], e[2]) for e in third[:SIZE]] == [(EDGE, tick) for tick in ticks[100 : 100 + SIZE]]
    assert [e[:4] for e in third[SIZE:]][0] == (LOST, CONTROL, ticks[100 + SIZE], 70 - SIZE)
    assert [(e[0], e[2]) for e in third[SIZE + 1 :]] == [(EDGE, ticks[170])]
    stats = report.all("stats")
    assert stats == [[100, 0, SIZE, 36, 0, 0, 0], [100, SIZE, 0, 36, 0, 0, 0], [171, 129, 0, 42, 0, 0, 0]]


@pytest.mark.parametrize("case, many", [("bytes", 80), ("runs", 300)])
def test_bytes_have_the_ticks_of_the_pins(ring, case, many):
    """Straight from the records, which have no time but the tick; bytes that did not fit are
    reported behind the rest, in their place.

    As runs, too: bytes of one interrupt that are too far apart for a run are two of them.
    """
    form, first, rest = profile(1_000_000), bytes(range(70)), bytes(k % 251 for k in range(many))
    far = 2000 + 35 * 500 + 100_000  # more than the 65535 ticks of a run
    rows = {"taken": [*row(2000, first[:35], form), *row(far, first[35:], form)], "left": row(2000, rest, form)}
    stimulus = [
        line for name, frames in rows.items() for line in (f"after ready {name}", *(f"+{t} rx {v}" for t, v in edges_of(wave(frames))))
    ]
    report, pins = ring(case, "\n".join(stimulus))
    falls = [tick for tick, _, level in sampled_edges(pins, ["rx"]) if not level]
    late = falls[0] - 2000
    again = next(tick for tick in falls if tick > late + rows["taken"][-1].end) - 2000
    taken = [(RX, RECEIVER, late + frame.tick, byte, 0) for frame, byte in zip(rows["taken"], first)]
    left = [(RX, RECEIVER, again + frame.tick, byte, 0) for frame, byte in zip(rows["left"], rest)]
    found = put(report)
    fit = len(found) - 71
    assert found[:70] == taken and found[70:-1] == left[:fit] and (fit == SIZE if case == "bytes" else 2 * SIZE < fit < many)
    assert found[-1][:4] == (LOST, RECEIVER, left[fit][2], many - fit) and not found[-1][4] & HARDWARE
    assert report.all("polled") == [["left", 1, IN]] and report.one("stats") == [70 + many, 70 + fit, 0, many - fit, 0, 0, 0]


def test_losses_of_the_board_are_reported(ring):
    count = 3000
    report, pins = ring("flood", "after ready flood\n" + toggles(count, 3) + f"+{count * 3 + 1_000_000} aux0 {1 - count % 2}\n")
    ticks = edges(pins)
    at = lost = 0
    for kind, source, tick, data, flags in put(report):
        assert tick == ticks[at]
        if kind == LOST:
            assert source == CONTROL and flags & HARDWARE and data
            lost += data
        else:
            assert (kind, source, flags) == (EDGE, CAPTURE, 0)
        at += data if kind == LOST else 1
    assert at == len(ticks) == count + 1 and lost and report.one("stats")[3:6] == [0, lost, 0]


def test_watermark_and_timeout(ring):
    stimulus = f"after ready eight\n{toggles(8, 10_000)}after ready three\n{toggles(3, 10_000)}"
    report, pins = ring("watermark", f"{stimulus}after ready early\n{toggles(3, 10_000)}after ready late\n{toggles(5, 10_000)}")
    assert report.all("polled") == [[label, 1, IN] for label in ("eight", "three", "left", "late")]
    first = sampled_edges(pins, ["aux0"])[0][0]
    assert len([tick for tick, level in changes(pins, "irq") if level and tick > first]) >= 3
    ticks = edges(pins)
    assert [e[2] for e in put(report)] == ticks and len(ticks) == 17
    # The 5 ms are those of the oldest that is there: not waited once more, nor those of one that was taken.
    for (woken,), oldest in zip(report.all("woken"), (ticks[8], ticks[13])):
        assert 5_000_000 <= (woken - oldest) * NS_PER_TICK < 7_000_000


def test_a_tail_of_nonsense_is_a_full_ring(ring):
    names = ("one", "thousand", "half", "behind")
    report, pins = ring("wrong-tail", "".join(f"after ready {name}\n{toggles(6, 2000)}" for name in names))
    assert report.all("polled") == [["wrong", 1, IN | PRI], ["right", 1, IN]] * len(names)
    ticks = edges(pins)
    assert [e[:4] for e in put(report)] == [(LOST, CONTROL, ticks[6 * k], 6) for k in range(len(names))]
    assert report.one("stats") == [24, 0, 0, 24, 0, 0, 0]
