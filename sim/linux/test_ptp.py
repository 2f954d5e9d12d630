# SPDX-License-Identifier: BSD-2-Clause
"""/dev/ptp0 on a real kernel: what programs/ptp.c and the kernel's own testptp print, beside what
the pins did.

A tick is 20 ns. The clock at its nominal rate shows 20 * tick + c, with one integer c from each step to the next: stamps are compared
with that to the nanosecond, and edges of the output with the ticks at which it shows their times.
"""

import re
from fractions import Fraction
from math import ceil, floor
from typing import NamedTuple

import pytest

from sim.guest.frames import profile, read_frames
from sim.guest.pins import changes, pulses, sampled_edges
from sim.linux import linux_rig

TX, EDGE, APPLIED, LOST, RESTARTED = 1, 2, 5, 17, 18  # kinds of events
STOP = 128
NS_PER_TICK = 20
MS = 50_000  # ticks
INPUTS = ("aux0", "aux1", "aux2", "aux3", "rx")


class Event(NamedTuple):
    """A record of the device."""

    kind: int
    source: int
    tick: int
    data: int
    flags: int
    ns: int


class Report:
    """What programs/ptp.c printed."""

    def __init__(self, lines):
        self.lines = [line.split() for line in lines if line.strip()]
        self.events = [Event(*map(int, line[1:])) for line in self.lines if line[0] == "e"]
        self.marks = {line[1]: int(line[2]) for line in self.lines if line[0] == "mark"}
        self.calls = {line[1]: (int(line[2]), " ".join(line[3:])) for line in self.lines if line[0] == "result"}

    def numbers(self, name):
        """[[number, ...], ...] of the lines that begin with `name`."""
        return [[int(word) for word in line[1:]] for line in self.lines if line[0] == name]

    def clock(self, label):
        """What the clock was when it was read."""
        return next(int(line[2]) for line in self.lines if line[:2] == ["clock", label])

    def fine(self, *labels):
        """All these calls succeeded."""
        assert {label: self.calls[label] for label in labels} == dict.fromkeys(labels, (0, "0"))

    def samples(self, low, high):
        """[(tick, ns), ...] of what happened between two ticks."""
        return [(event.tick, event.ns) for event in self.events if low < event.tick < high]

    def offset(self, low, high):
        """The clock less the ticks' time between two ticks: constant, else it was not at its nominal rate."""
        offsets = {ns - tick * NS_PER_TICK for tick, ns in self.samples(low, high)}
        assert len(offsets) == 1, offsets
        return offsets.pop()

    def trains(self):
        """[(tick, ns, pulse), ...] of each train, from its pulse 0 on."""
        found = []
        for event in self.events:
            if event.kind == TX:
                if event.data == 0:
                    found.append([])
                found[-1].append((event.tick, event.ns, event.data))
        return found


@pytest.fixture(params=linux_rig.TESTED_CPUS)
def ptp(request, linux):
    """Runs one case of programs/ptp.c: (Report, pins, kernel's log)."""

    def run(case, stimulus="", **options):
        result = linux(request.param).run_program("ptp", [case], stimulus=stimulus, **options)
        return Report(result.lines), result.pins, "\n".join(result.kernel)

    return run


def beat(count, first=1000):
    """Stimulus: an edge each millisecond, by which the clock's time is known all along."""
    return "".join(f"+{first + k * MS} aux3 {1 - k % 2}\n" for k in range(count))


def check_beat(report, pins):
    """Edges were stamped with the ticks of the pin."""
    assert [event.tick for event in report.events if event.kind == EDGE] == [tick for tick, _, _ in sampled_edges(pins, ["aux3"])]


def rate_between(samples, ppm):
    """The clock's rate error, by each pair of readings, each rounded down."""
    exact = NS_PER_TICK * (1 + Fraction(ppm, 10**6))
    (tick, ns), spread = samples[0], [ns - tick * exact for tick, ns in samples]
    assert len(samples) > 4 and max(spread) - min(spread) < 1 + Fraction(1, 1000), [(t - tick, n - ns) for t, n in samples]


def on_lattice(ticks, period):
    """Is there a start for which the ticks are floor(start + k * period)?"""
    low = max(tick - k * period for k, tick in enumerate(ticks))
    high = min(tick + 1 - k * period for k, tick in enumerate(ticks))
    return low < high


def test_clock(ptp):
    """Set, shifted, faster; read beside the host's clocks."""
    report, pins, _ = ptp("clock", "after ready go\n" + beat(45))
    report.fine("set", "faster", "nominal", "back", "offsets")
    check_beat(report, pins)
    # It starts with the host's time.
    assert abs(report.clock("first") - report.numbers("real")[0][0]) < 50_000_000
    marks = report.marks
    first = report.offset(0, marks["set"])
    second = report.offset(marks["is_set"], marks["to_faster"])
    assert first != second
    # What was set was the time at some tick of the call.
    at_set = Fraction(1_700_000_000_999_999_999 - second, NS_PER_TICK)
    assert at_set.denominator == 1 and marks["set"] < at_set < marks["is_set"]
    assert at_set * NS_PER_TICK + second < report.clock("set") < marks["is_set"] * NS_PER_TICK + second
    fast = report.samples(marks["faster"], marks["to_nominal"])
    rate_between(fast, 30_000)
    # It changes its rate at one tick of each call, and shows the same before and after.
    third = report.offset(marks["nominal"], marks["back"])
    (tick, ns) = fast[0]
    gain = Fraction(NS_PER_TICK * 30_000, 10**6)
    begin = tick - (ns - tick * NS_PER_TICK - second) / gain
    assert marks["to_faster"] - 2 < begin < marks["faster"] + 2
    end = begin + (third - second) / gain
    assert marks["to_nominal"] - 2 < end < marks["nominal"] + 2
    assert report.offset(marks["is_back"], 1 << 62) == third - 600_000_000
    before, after, passed = report.clock("before"), report.clock("after"), report.numbers("mono")[0][0]
    assert 0 < after - before < passed
    for low, ns, high in report.numbers("offset"):
        assert low < high and high - low < 10_000_000 and ns > 0


def check_train(train, offset, period_ns, origin=0):
    """Pulses at nominal rate: the first tick at which the clock shows a multiple of the period, then by the exact period."""
    times = [
        origin + floor(Fraction(train[0][0] * NS_PER_TICK + offset - origin, period_ns)) * period_ns + k * period_ns
        for k in range(len(train))
    ]
    start = ceil(Fraction(times[0] - offset, NS_PER_TICK))
    period = Fraction(period_ns, NS_PER_TICK)
    assert [tick for tick, _, _ in train] == [start + floor(k * period) for k in range(len(train))]
    assert [pulse for _, _, pulse in train] == list(range(len(train)))
    for (_, ns, _), time in zip(train, times):
        assert abs(ns - time) < NS_PER_TICK
    return times[0]


def check_output(report, pins, *widths):
    """The line rests at 0 while output is on and rises for each pulse that was reported, by the width of its train.

    At the end it is 1 again: one more edge, unless a pulse is on the line.
    """
    sent = [(tick, width) for train, width in zip(report.trains(), widths, strict=True) for tick, _, _ in train]
    expected = [edge for tick, width in sent for edge in ((tick, 1), (tick + width, 0))]
    begin, *moved = changes(pins, "tx")
    assert begin[0] < sent[0][0] and begin[1] == 0
    assert moved in (expected[:-1], [*expected, (moved[-1][0], 1)])


def test_output_follows_the_clock(ptp):
    """Its edges are the clock's, at any rate; a step stops it, and it goes on by the new time."""
    period = 400_007
    report, pins, text = ptp("output", "after ready go\n" + beat(80))
    report.fine("perout", "faster", "slower", "slower_still", "nominal", "step", "set", "off")
    check_beat(report, pins)
    assert not [event for event in report.events if event.kind in (LOST, RESTARTED)]
    marks = report.marks
    check_output(report, pins, *[20_000 // NS_PER_TICK] * 3)
    tuned, stepped, was_set = report.trains()

    # At first: exact ticks. Then each pulse less than a tick from its time, but for those that the change came too late for.
    offset = report.offset(0, marks["to_faster"])
    first = check_train([pulse for pulse in tuned if pulse[0] < marks["to_faster"]], offset, period)
    assert [pulse for _, _, pulse in tuned] == list(range(len(tuned)))
    applied = [event.data for event in report.events if event.kind == APPLIED and event.data and not event.flags & STOP]
    stages = [("faster", 50), ("slower_still", -200), ("nominal", 0)]
    ends = [marks["to_slower"], marks["to_nominal"], marks["step"]]
    for (label, ppm), end in zip(stages, ends):
        rate_between(report.samples(marks[label], end), ppm)
        here = [number for number in applied if marks[f"to_{label}"] < tuned[number][0] < end]
        assert here, (label, applied)
        exact = [pulse for pulse in tuned if pulse[2] >= max(here) and pulse[0] < end]
        assert len(exact) > 5
        assert all(abs(ns - first - number * period) <= NS_PER_TICK for _, ns, number in exact), label
        assert on_lattice([tick for tick, _, _ in exact], Fraction(period, NS_PER_TICK) / (1 + Fraction(ppm, 10**6))), label
    # A change takes 20 ms at most, also one that has to wait for another; meanwhile the clock runs away by up to 250 ppm.
    assert all(abs(ns - first - number * period) < 5000 + NS_PER_TICK for tick, ns, number in tuned if tick < marks["step"])

    # Steps: nothing between the step and the next edge by the new time; exact ticks again.
    shift = report.offset(marks["stepped"], marks["set"]) - report.offset(marks["nominal"], marks["step"])
    assert shift == 12_345_678
    # What leaves between a step and the stop that it causes already has the new time.
    check_train([pulse for pulse in stepped if pulse[0] < marks["set"]], report.offset(marks["stepped"], marks["set"]), period)
    check_train(was_set, report.offset(marks["is_set"], 1 << 62), period)
    assert tuned[-1][0] < marks["stepped"] < stepped[0][0] and stepped[-1][0] < marks["is_set"] < was_set[0][0]
    assert len(stepped) > 5 and len(was_set) > 5 and was_set[-1][0] < marks["is_off"]
    assert text.count("the PTP clock was stepped: its output stops") == 2


def test_a_change_of_rate_that_moves_a_pulse_far_starts_the_output_again(ptp):
    """A pulse is moved by less than an eighth of the period. For more the train starts again, by
    the clock."""
    period, eighth = 200_000, 200_000 // NS_PER_TICK // 8
    report, pins, text = ptp("eighth", "after ready go\n" + beat(32))
    report.fine("perout", "less", "more", "off")
    check_beat(report, pins)
    moved, again = report.trains()
    marks = report.marks
    check_output(report, pins, *[20_000 // NS_PER_TICK] * 2)
    exact = Fraction(period, NS_PER_TICK)
    before = [pulse for pulse in moved if pulse[0] < marks["to_less"]]
    check_train(before, report.offset(0, marks["to_less"]), period)
    # So far the clock has run away from the train when the first pulse is reached, some milliseconds later.
    (number,) = [event.data for event in report.events if event.kind == APPLIED and event.data and not event.flags & STOP]
    assert [pulse for _, _, pulse in moved] == list(range(len(moved))) and moved[number][0] < marks["to_more"]
    distance = before[0][0] + number * exact - moved[number][0]
    assert eighth / 8 < distance < eighth
    assert text.count("changed by too much: its output starts again") == 1
    assert marks["to_more"] < again[0][0] < marks["off"] and moved[-1][0] < again[0][0]
    # The next would have been moved much farther. Before and after, they go by the clock's new time.
    for train, ppm in (([pulse for pulse in moved if pulse[2] >= number and pulse[0] < marks["to_more"]], 2_000), (again, 20_000)):
        first = round(Fraction(train[0][1], period)) * period
        assert len(train) > 15 and all(abs(ns - first - k * period) <= NS_PER_TICK for k, (_, ns, _) in enumerate(train))
        assert on_lattice([tick for tick, _, _ in train], exact / (1 + Fraction(ppm, 10**6)))
    assert [pulse for _, _, pulse in again] == list(range(len(again)))


def test_phase_start_and_half_on(ptp):
    """Phase: as soon as possible, at that offset from the clock's multiples. Start: not before; adjusted before it begins."""
    report, pins, _ = ptp("phase", "after ready go\n" + beat(50))
    report.fine("phase", "start", "faster", "off")
    by_phase, by_start = report.trains()
    check_output(report, pins, 400_000 // 2 // NS_PER_TICK, 500_000 // 2 // NS_PER_TICK)
    check_train(by_phase, report.offset(0, report.marks["phase"]), 400_000, origin=2500)
    assert len(by_phase) > 8
    start = report.numbers("start")[0][0]
    assert by_start[0][0] > report.marks["faster"]
    assert all(abs(ns - start - number * 500_000) <= NS_PER_TICK for _, ns, number in by_start)
    assert len(by_start) > 8 and on_lattice([tick for tick, _, _ in by_start], Fraction(500_000, NS_PER_TICK) / (1 + Fraction(100, 10**6)))


def test_stamps_are_the_pins(ptp):
    """Each requested edge, in its direction, at its tick; nothing else."""
    steps = "".join(
        f"+{1000 + 700 * k + 61 * channel} {pin} {(k + (pin != 'rx')) % 2}\n"
        for k in range(6)
        for channel, pin in enumerate(INPUTS)
        if pin != "aux3"
    )
    report, pins, _ = ptp("stamps", f"after ready edges\n{steps}after ready again\n{steps}")
    report.fine("rise", "fall", "both", "line", "off", "turn")
    assert report.calls["no_input"] == report.calls["no_edge"] == (-1, "EINVAL")
    assert report.calls["offset"] == (-1, "EOPNOTSUPP") and report.calls["unknown"][0] == -1
    offset = report.offset(0, 1 << 62)
    edges = sampled_edges(pins, INPUTS)
    by_tick = {}
    for tick, channel, _ in edges:
        by_tick[tick] = by_tick.get(tick, 0) | 1 << channel
    assert [(event.tick, event.data & 0xFFFF) for event in report.events] == list(by_tick.items())
    half = len(edges) // 2
    wanted = [{0: (1,), 1: (0,), 2: (0, 1), 4: (1,)}, {1: (1,), 2: (0, 1), 4: (1,)}]
    expected = [
        [(channel, tick * NS_PER_TICK + offset) for tick, channel, level in part if level in levels.get(channel, ())]
        for part, levels in zip((edges[:half], edges[half:]), wanted)
    ]
    stamps, parts = [[]], 0
    for line in report.lines:
        if line[0] == "stamp":
            stamps[-1].append((int(line[1]), int(line[2])))
        elif line[0] == "stamps_end":
            parts += 1
            stamps.append([])
    assert parts == 2 and [sorted(part) for part in stamps[:2]] == [sorted(part) for part in expected]
    assert len(expected[0]) > 10 and len(expected[1]) > 8


def test_ptp_keeps_only_127_stamps_but_the_device_loses_none(ptp):
    """What the documentation warns of."""
    report, pins, _ = ptp("flood", "after ready edges\n" + "".join(f"+{1000 + k * 2000} aux0 {1 - k % 2}\n" for k in range(200)))
    report.fine("both")
    edges = [tick for tick, _, _ in sampled_edges(pins, ["aux0"])]
    offset = report.offset(0, 1 << 62)
    assert len(edges) == 200 and [event.tick for event in report.events] == edges
    assert [ns for _, ns in report.numbers("stamp")] == [tick * NS_PER_TICK + offset for tick in edges[-127:]]
    assert report.numbers("stats")[0][3:6] == [0, 0, 0]


def test_what_does_not_fit_is_refused(ptp):
    """With PTP's errors; and only one program has the claim at a time."""
    report, pins, _ = ptp("refused")
    for label in ("no_channel", "unknown", "nsec", "negative"):
        assert report.calls[label] == (-1, "EINVAL"), label
    assert report.calls["one_shot"] == (-1, "EOPNOTSUPP")
    for label in ("long", "phase", "no_width", "always_on", "wide"):
        assert report.calls[label] == (-1, "ERANGE"), label
    assert report.calls["short"] == (-1, "EINVAL") and report.calls["too_short"][0] == -1
    report.fine("claim_free", "train", "keep", "claim_kept", "stop", "now", "off", "off_again", "claim_after")
    for label in ("claimed", "kept", "claim_perout"):
        assert report.calls[label] == (-1, "EBUSY"), label
    # The kept train did not notice.
    kept = [pulse for pulse in pulses(pins, "tx", active=0) if pulse[0] > report.marks["train"]][: report.numbers("kept_pulses")[0][0]]
    assert len(kept) > 1 and {later - tick for (tick, _), (later, _) in zip(kept, kept[1:])} == {25_000}
    assert {width for _, width in kept} == {500}


def test_pins(ptp):
    """Each pin has one function; without it the feature that needs the pin fails as busy."""
    report, _, _ = ptp("pins")
    pins = [line[1:] for line in report.lines if line[0] == "pin"]
    extts, perout = "1", "2"
    assert pins == [*([str(k), extts, str(k), f"in{k}"] for k in range(4)), ["4", extts, "4", "rx"], ["5", perout, "0", "tx"]]
    report.fine("same", "no_input", "input", "extts", "no_output", "output")
    for label in ("another_channel", "input_as_output", "output_as_input"):
        assert report.calls[label] == (-1, "EOPNOTSUPP"), label
    assert report.calls["extts_without_pin"] == report.calls["perout_without_pin"] == (-1, "EBUSY")


def test_a_pps_source_has_the_times_of_the_edges(ptp):
    """To the nanosecond those that the device gives in the host's clock; none when it is off."""
    steps = "".join(f"after ready edge\n+{5000 + 77 * k} aux0 1\n+{9000 + k} aux0 0\n" for k in range(3))
    report, _, _ = ptp("pps", f"{steps}after ready off\n+5000 aux0 1\n")
    report.fine("on", "off", "fetch")
    seen = report.numbers("pps")
    assert [sequence for sequence, _, _ in seen] == [1, 2, 3, 3]
    assert all(source == device for _, source, device in seen[:3]) and len({source for _, source, _ in seen}) == 3
    assert seen[3][1] == seen[2][1] < seen[3][2]


def test_output_outlives_its_program(ptp):
    """As PTP has it: it goes on until a program ends it."""
    report, pins, _ = ptp("close", "after ready go\n" + beat(30))
    report.fine("perout", "off")
    (train,) = report.trains()
    check_output(report, pins, 500_000 // 2 // NS_PER_TICK)
    check_train(train, report.offset(0, 1 << 62), 500_000)
    assert sum(tick > report.marks["closed"] for tick, _, _ in train) > 5 and train[-1][0] < report.marks["is_off"]


def test_the_end_of_output(ptp):
    """The line is 1 again: no edge of its own while a pulse is on the line, else one. The tty's byte waits for it."""
    report, pins, _ = ptp("end")
    report.fine("on0", "off0", "on1", "off1")
    moved, marks, width = changes(pins, "tx"), report.marks, 8_000_000 // NS_PER_TICK
    since = 0
    for k, train in enumerate(report.trains()):
        seen = [edge for edge in moved if since < edge[0] < marks[f"left{k}"]]
        since = marks[f"left{k}"]
        ups = [edge for tick, _, _ in train for edge in ((tick, 1), (tick + width, 0))]
        end = len(ups) if k == 0 else len(ups) + 1
        assert seen[0][1] == 0 and seen[1:end] == ups[: end - 1] and len(ups) > 1
        rose, high = seen[end] if k else seen[end - 1]
        assert high == 1 and (rose < marks["on0"] if k == 0 else marks["on1"] < rose < marks["off1"])
        (byte,) = read_frames([(rose, 1), *seen[end + (k == 1) :]], [profile(9600)])
        assert byte.launch.data == ord("U") and byte.tick > marks[f"on{k}"]


def test_clock_and_output_go_on_after_a_reset(ptp):
    """Ticks start again, the clock does not."""
    report, pins, text = ptp("restart", "after ready go\n" + beat(3) + "+200000 core_rst 1\n+200100 core_rst 0\n" + beat(30, 250_000))
    report.fine("set", "perout", "off")
    reset = [n for n, event in enumerate(report.events) if event.kind == RESTARTED]
    assert len(reset) == 1
    later = [event for event in report.events[reset[0] + 1 :] if event.kind in (EDGE, TX)]
    offsets = {event.ns - event.tick * NS_PER_TICK for event in later}
    assert len(offsets) == 1
    train = [(event.tick, event.ns, event.data) for event in later if event.kind == TX]
    assert len(train) > 3
    check_train(train, offsets.pop(), 1_000_000)
    reset = next(tick for tick, pin, level in pins if pin == "core_rst" and level)
    ups = [(tick, width) for tick, width in pulses(pins, "tx") if tick > reset + 100]
    assert {width for _, width in ups} == {25_000} and len(ups) >= len(train) - 1
    assert {later - tick for (tick, _), (later, _) in zip(ups, ups[1:])} == {50_000}
    # By the host's clock meanwhile, which is read twice: some microseconds.
    (before,), (after,) = report.numbers("mono")
    passed = report.clock("after") - report.clock("before")
    assert abs(passed - (after - before)) < 2_000_000
    assert "the board was reset" in text


def run_testptp(guest, script, **options):
    """Runs a shell script that uses the kernel's own testptp, unmodified; only glibc's way to ask for its version is given to it."""
    source = guest.kernel.source / "tools" / "testing" / "selftests" / "ptp" / "testptp.c"
    return guest.run(script, {"testptp": guest.program(source, flags=("-D__GLIBC_PREREQ(a,b)=1",))}, **options)


def test_testptp(linux):
    """Capabilities, rate, shift, offsets, output and its stamps over a wire."""
    result = run_testptp(
        linux("vexriscv"),
        """
        ./testptp -c
        ./testptp -f 1000
        ./testptp -f 0
        ./testptp -n 1000000
        ./testptp -T 1000
        ./testptp -x 2
        ./testptp -k 2
        ./testptp -p 1000000 -H 0 -w 300000
        ./testptp -i 4 -e 5
        ./testptp -p 0
    """,
        wires=["tx:rx"],
    )
    text = "\n".join(result.lines)
    caps = [int(number) for number in re.findall(r"(?m)^ +(\d+) [a-z]", text)[:9]]
    assert caps == [100_000_000, 0, 5, 1, 1, 6, 0, 0, 0]
    assert text.count("frequency adjustment okay") == 2 and "time shift okay" in text and "set time okay" in text
    assert "extended timestamp request returned 2 samples" in text and "system and phc clock time offset request okay" in text
    assert text.count("periodic output request okay") == 2
    stamps = [int(seconds) * 10**9 + int(ns) for seconds, ns in re.findall(r"event index 4 at (\d+)\.(\d+)", text)]
    # Without flags it asks for rising edges: those of the pulses, seen one tick later over the wire.
    high = pulses(result.pins, "tx")
    rising = [tick for tick, _ in high]
    assert len(stamps) == 5 and {width for _, width in high} == {300_000 // NS_PER_TICK}
    assert all(later - stamp == 1_000_000 for stamp, later in zip(stamps, stamps[1:]))
    assert {stamp % 1_000_000 for stamp in stamps} <= {20 + rest for rest in range(NS_PER_TICK)}
    offsets = {stamp - (tick + 1) * NS_PER_TICK for stamp in stamps for tick in rising}
    assert any(all(stamp - offset in {(tick + 1) * NS_PER_TICK for tick in rising} for stamp in stamps) for offset in offsets)
    assert {later - tick for (tick, _), (later, _) in zip(high, high[1:])} == {50_000}


def test_suspend_leaves_the_line_idle(linux):
    """Output stops for a suspend and goes on by the clock afterwards."""
    result = run_testptp(
        linux("vexriscv"),
        """
        ./testptp -p 1000000 -H 0
        usleep 5000
        echo devices >/sys/power/pm_test
        echo freeze >/sys/power/state
        usleep 10000
        ./testptp -p 0
    """,
    )
    recorded = pulses(result.pins, "tx")
    assert {width for _, width in recorded} == {25_000}
    ticks = [tick for tick, _ in recorded]
    gaps = [later - tick for tick, later in zip(ticks, ticks[1:])]
    assert len([gap for gap in gaps if gap != 50_000]) == 1 and all(gap % 50_000 == 0 for gap in gaps)
    assert [level for _, level in changes(result.pins, "tx")][-1] == 1
