# SPDX-License-Identifier: BSD-2-Clause
"""/dev/litepulse0 on a real kernel: what programs/chardev.c prints, beside what the pins did. Every
tick must be equal."""

from fractions import Fraction
from typing import NamedTuple

import pytest

from litepulse.backends.driver_abi import ABI
from sim.core.model import (
    FRAME,
    TTY,
    WAIT,
    Grant,
    Launch,
    SequenceEntry,
    Steps,
    Wait,
    line_wave,
    port_wave,
    run_sequence,
    same_list,
    sequence_outcomes,
)
from sim.guest.frames import edges as levels
from sim.guest.frames import frame, profile, row, wave
from sim.guest.pins import changes, codes, pulses, sampled_edges
from sim.linux.linux_rig import DRIVER, TESTED_CPUS

TX, EDGE, REFUSED, APPLIED, TRAIN_DONE, MISSED, RX, LOST, RESTARTED = 1, 2, 3, 5, 6, 7, 16, 17, 18
QUEUE, TRAIN, RESPONDER, CAPTURE, TRAIN_CHANGE, CONTROL, RECEIVER = 0, 1, 2, 4, 5, 6, 7
LATE, BUSY, INVALID = 1, 2, 4
NS, HARDWARE = 0x100, 0x200
SIZE = 48  # of a record
NS_PER_TICK = 20  # 50 MHz, one sample per cycle


class Report:
    """What a guest program printed: a list of words for each line, found by the first."""

    def __init__(self, lines, late=0):
        self.late = late  # ticks by which a program may be notified later, when the machine is busy
        self.lines = [line.split() for line in lines if line.strip()]

    def all(self, name):
        """[[word, ...], ...] of the lines that begin with `name`."""
        return [[int(word) if word.lstrip("-").isdigit() else word for word in line[1:]] for line in self.lines if line[0] == name]

    def one(self, name):
        """Words of the one line that begins with `name`."""
        found = self.all(name)
        assert len(found) == 1, (name, found)
        return found[0]

    def result(self, label):
        """(value, errno's name) of a call."""
        found = [line[1:] for line in self.all("result") if line[0] == label]
        assert len(found) == 1, (label, found)
        return tuple(found[0])

    def results(self, label):
        """The same for a label that comes several times."""
        return [tuple(line[1:]) for line in self.all("result") if line[0] == label]

    def events(self, since=None, until=None):
        """Event tuples (kind, source, tick, seq, data, flags, count, ns), between two other lines if named by their first word."""
        lines = self.lines
        if since:
            lines = lines[next(i for i, line in enumerate(lines) if line[: len(since)] == since) + 1 :]
        if until:
            lines = lines[: next(i for i, line in enumerate(lines) if line[: len(until)] == until)]
        return [tuple(map(int, line[1:])) for line in lines if line[0] == "event"]


@pytest.fixture(params=TESTED_CPUS)
def chardev(request, linux):
    """Runs one case of programs/chardev.c: (Report, pins)."""

    def run(case, stimulus="", **options):
        result = linux(request.param).run_program("chardev", [case], stimulus=stimulus, max_cycles=50_000_000, **options)
        return Report(result.lines), result.pins

    return run


def test_info(chardev):
    report, _ = chardev("info")
    abi, core, num, den, flags, samples, inputs, *depths, session, tty = report.one("info")
    assert (abi, num, den, flags, samples, inputs, session, tty) == (ABI, 50_000_000, 1, 1, 1, 4, 1, 0)
    assert core > 0 and depths == [256, 512, 512, 64, 64]
    times = report.all("time")
    assert len(times) == 5
    offsets = []
    for tick, before, after, mono, real, uncertainty, raw0, raw1, mono0, real0 in times:
        assert raw0 <= before <= after <= raw1
        assert uncertainty == (after - before + 1) // 2
        # The two clocks of the host at the middle of the bracket: between their own readings before the call and after it.
        assert 0 <= mono - mono0 <= raw1 - raw0 and 0 <= real - real0 <= raw1 - raw0 + 1_000_000
        offsets.append((before - tick * NS_PER_TICK, after - tick * NS_PER_TICK))
    # One offset between raw clock and ticks explains all readings (the simulated machine has one crystal).
    assert max(low for low, _ in offsets) <= min(high for _, high in offsets)


def test_edges_have_the_ticks_of_the_pins(chardev):
    report, pins = chardev(
        "edges",
        """
        after ready edges
        +1000 aux0 1
        +1001 aux0 0
        +1500 aux1 1
        +1700 aux1 0
        +3000 aux0 1
        +3000 aux1 1
        +9000 aux0 0
        after ready again
        +1000 aux0 1
        +2000 aux0 0
    """,
    )
    start = changes(pins, "aux0")[0][0]
    first = report.events(["ready", "edges"], ["ready", "again"])
    wanted = [(tick, channel) for tick, channel, level in sampled_edges(pins, ["aux0", "aux1"]) if level or channel == 0]
    by_tick = {}
    for tick, channel in wanted:
        by_tick[tick] = by_tick.get(tick, 0) | 1 << channel
    again = report.events(["ready", "again"])
    assert [(e[2], e[4] & 0xFFFF) for e in first] == list(by_tick.items())[: len(first)] and len(first) == 5
    assert [(e[2], e[4] & 0xFFFF) for e in again] == [(tick, mask) for tick, mask in by_tick.items() if tick > first[-1][2]][:1]
    assert start + 1 == first[0][2]
    for part, events in enumerate((first, again)):
        before, after = report.all("before")[part][0], report.all("after")[part][0]
        for kind, source, _, _, _, flags, count, ns in events:
            assert (kind, source, flags, count) == (EDGE, CAPTURE, NS, 0)
            assert before < ns < after
        # Differences of two stamps are exact but for the rounding and what the reading of the header adds.
        for one, two in zip(events, events[1:]):
            assert abs((two[7] - one[7]) - (two[2] - one[2]) * NS_PER_TICK) < 20_000
    assert report.result("other") == (-1, "EAGAIN")
    seqs = [e[3] for e in first + again]
    assert seqs == sorted(set(seqs))


def test_bytes_and_their_edges(chardev):
    frame = [0, 1, 0, 1, 0, 0, 1, 0, 1, 1]  # start, eight bits, stop
    byte = sum(level << i for i, level in enumerate(frame[1:9]))
    steps = "".join(f"+{1000 + k * 5208} rx {level}\n" for k, level in enumerate(frame))  # 9600 baud
    report, pins = chardev("bytes", "after ready bytes\n" + steps)
    edges = [e for e in report.events() if e[0] == EDGE]
    received = [e for e in report.events() if e[0] == RX]
    assert [e[2] for e in edges] == [tick for tick, _, _ in sampled_edges(pins, ["rx"])]
    assert [(e[1], e[2], e[4], e[5] & 0xFF) for e in received] == [(RECEIVER, edges[0][2], byte, 0)]


def test_bad_input(chardev):
    report, _ = chardev("bad-input")
    for i in range(18):
        assert report.result(f"subscribe{i}") == (-1, "EINVAL"), i
    assert report.result("short-read") == (-1, "EINVAL")
    assert report.result("empty") == (-1, "EAGAIN")
    assert report.result("fault") == report.result("fault-in") == (-1, "EFAULT")
    for label in ("unknown", "magic", "direction", "train-unclaimed"):
        assert report.result(label) == (-1, "ENOTTY"), label
    assert report.result("write") == (-1, "EINVAL")
    assert (
        report.result("longer-zero") == (0, 0)
        and report.result("longer-set") == (-1, "E2BIG")
        and report.result("shorter") == (-1, "ENOTTY")
    )
    assert report.result("longer-info") == (0, 0) and report.one("tail") == [0, 0]
    assert report.result("claim-flags") == report.result("claim-fd-flags") == (-1, "EINVAL")


def test_filter_is_one_for_all(chardev):
    report, pins = chardev(
        "filter",
        """
        after ready filter
        +1000 aux0 1
        +1004 aux0 0
        +2000 aux0 1
        +2005 aux0 0
        +4000 aux1 1
        +4001 aux1 0
    """,
    )
    assert report.result("other-length") == report.result("unfiltered") == (-1, "EBUSY")
    assert report.result("other-input") == (0, 0)
    start = changes(pins, "aux0")[0][0] - 1000
    filtered = report.events(until=["two"])
    assert [(e[2], e[4] & 0xFFFF, e[5] & 0xFF) for e in filtered] == [(start + 2001, 1, 0x80), (start + 2006, 1, 0x80)]
    assert [(e[2], e[4] & 0xFFFF, e[5] & 0xFF) for e in report.events(["two"])] == [(start + 4001, 2, 0), (start + 4002, 2, 0)]
    assert report.result("half") == (-1, "EBUSY") and report.result("as-before") == (0, 0)


def toggles(count, step, first=1000, pin="aux0"):
    """Stimulus: `count` edges."""
    return "".join(f"+{first + k * step} {pin} {1 - k % 2}\n" for k in range(count))


def test_losses_of_a_slow_reader_are_reported(chardev):
    report, pins = chardev("slow", "after ready flood\n" + toggles(41, 20_000) + "after ready more\n+9000 aux0 0\n")
    edges = [tick for tick, _, _ in sampled_edges(pins, ["aux0"])]
    assert len(edges) == 42
    events = report.events(["ready", "flood"], ["ready", "more"])
    kept, lost = events[:-1], events[-1]
    assert len(kept) == 16, events
    assert [e[2] for e in kept] == edges[:16]
    assert (lost[0], lost[1], lost[2], lost[3], lost[6], lost[5] & HARDWARE) == (LOST, CONTROL, edges[16], kept[-1][3] + 1, 25, 0)
    stats = report.all("stats")
    assert stats[0] == [41, 0, 16, 25, 0, 0, 0] and stats[1] == [41, 16, 0, 25, 0, 0, 0]
    assert [(e[0], e[2]) for e in report.events(["ready", "more"], ["fast"])] == [(EDGE, edges[41])]
    fast = report.events(["fast"])
    assert [(e[0], e[2]) for e in fast] == [(EDGE, tick) for tick in edges]
    assert stats[2] == [42, 42, 0, 0, 0, 0, 0]


def test_losses_of_the_board_are_reported(chardev):
    count = 3000
    report, pins = chardev("flood", "after ready flood\n" + toggles(count, 3) + f"+{count * 3 + 1_000_000} aux0 {1 - count % 2}\n")
    edges = [tick for tick, _, _ in sampled_edges(pins, ["aux0"])]
    assert len(edges) == count + 1
    events = report.events(["ready", "flood"])
    at, seq = 0, events[0][3]
    for kind, source, tick, number, _, flags, lost, _ in events:
        assert (tick, number) == (edges[at], seq)
        if kind == LOST:
            assert source == CONTROL and flags & HARDWARE and lost > 0
        step = lost if kind == LOST else 1
        at, seq = at + step, seq + step
    assert at == len(edges)
    total = sum(e[6] for e in events if e[0] == LOST)
    assert total > 0 and report.one("stats")[3:6] == [0, total, 0]


def test_watermark_and_timeout(chardev):
    report, pins = chardev("watermark", "after ready eight\n" + toggles(8, 10_000) + "after ready three\n" + toggles(3, 10_000))
    assert report.all("polled") == [[1], [1]] and report.all("records") == [[8], [3]]
    # The board interrupted once for the eight and once for the three.
    first = sampled_edges(pins, ["aux0"])[0][0]
    assert len([tick for tick, level in changes(pins, "irq") if level and tick > first]) == 2
    # What the board held back has waited already: the 5 ms are not waited once more in the file.
    waited = report.one("woken")[0] - sampled_edges(pins, ["aux0"])[8][0]
    assert 5_000_000 <= waited * NS_PER_TICK < 7_000_000  # waking up and reading the clock take this CPU a millisecond and more
    assert [e[2] for e in report.events()] == [tick for tick, _, _ in sampled_edges(pins, ["aux0"])]


def test_times_of_edges(chardev):
    """By CLOCK_MONOTONIC, of edges that are read at once, and of edges that the board holds back for 30 ms: after a few they are known as
    exactly as this CPU can read a clock. It has none of its own: a read takes 80 instructions and more at 50 MHz."""
    each, held = 200, 100
    report, pins = chardev("stamps", "after ready each\n" + toggles(each, 20_000) + "after ready held\n" + toggles(held, 15_000))
    stamps = report.all("stamp")
    assert [tick for tick, _, _ in stamps] == [tick for tick, _, _ in sampled_edges(pins, ["aux0"])] and len(stamps) == each + held
    # One offset between clock and ticks explains all of them: the simulated machine has one crystal.
    least = max(ns - unsure - tick * NS_PER_TICK for tick, ns, unsure in stamps)
    most = min(ns + unsure - tick * NS_PER_TICK for tick, ns, unsure in stamps)
    assert least <= most
    bounds = [unsure for _, _, unsure in stamps]
    # The counter is used from the second millisecond on, and the rate is known after some more.
    assert max(bounds) < 15_000 and sorted(bounds[:each])[each // 2] < 2_100
    assert max(bounds[each:]) < 2_100


def test_records_left_behind_are_reported_in_time(chardev):
    """A read that leaves some: they wait for the timeout, not forever. A program that already waits
    does so by the new settings."""
    report, pins = chardev("left-behind", "after ready twelve\n" + toggles(12, 30) + "after ready three\n" + toggles(3, 10_000))
    assert report.all("polled") == [[1], [1], [0]]
    assert report.result("eight")[0] == 8 * SIZE and report.result("four")[0] == 4 * SIZE and report.result("three")[0] == 3 * SIZE
    assert [e[2] for e in report.events()] == [tick for tick, _, _ in sampled_edges(pins, ["aux0"])]
    waited = report.one("after")[0] - report.one("before")[0]
    assert waited < 10_000_000 // NS_PER_TICK  # the timeout is half of that


def test_under_strain_an_event_waits_a_millisecond(chardev):
    """Too many interrupts are reduced, but a reader that wants each event at once does not wait
    much longer."""
    report, pins = chardev("strain", "after ready edges\n" + toggles(30, 20_000))
    edges = [tick for tick, _, _ in sampled_edges(pins, ["aux0"])]
    irq = [*changes(pins, "irq"), (edges[-1] + 10**9, 0)]
    asserted = [(rise, fall) for (rise, level), (fall, _) in zip(irq, irq[1:]) if level]
    # What comes while it is asserted is taken with the rest; so may be what comes right behind that, while the handler looks once more.
    late = [tick for tick in edges if not any(fall <= tick < fall + 1000 for _, fall in asserted)]
    assert len(late) > 20
    waited = [min(max(rise, tick) for rise, fall in asserted if fall > tick) - tick for tick in late]
    assert [e[2] for e in report.events()] == edges
    # Some did wait; the rest is units of the hardware's times and a handler that was still busy with those before.
    assert 20_000 < max(waited) < 60_000


def test_ns_are_right_from_the_first_on(chardev):
    report, pins = chardev("clock-changes", "after ready edges\n" + toggles(200, 53_777))
    (before,), (after,) = report.all("before")[0], report.all("after")[0]
    events = report.events()
    ticks = {tick for tick, _, _ in sampled_edges(pins, ["aux0"])}
    assert len(events) > 10 and all(e[2] in ticks for e in events)
    assert any(e[5] & NS for e in events) and all(before < e[7] < after for e in events if e[5] & NS)
    assert not any(e[7] for e in events if not e[5] & NS)


def test_ns_of_tai(chardev):
    report, pins = chardev("tai", "after ready edges\n" + toggles(2, 5000))
    ticks, events = [tick for tick, _, _ in sampled_edges(pins, ["aux0"])], report.events()
    assert report.result("offset")[0] >= 0 and [e[2] for e in events] == ticks * 2 and all(e[5] & NS for e in events)
    assert [tai[7] - real[7] for tai, real in zip(events, events[2:])] == [37_000_000_000] * 2
    assert all(report.one("before")[0] < e[7] < report.one("after")[0] for e in events[:2])


# Steps of programs/chardev.c's case "pieces" that read: records they ask for, as bytes, and what they get; `queued` before the first.
PIECES = [
    ("not-whole", 2),
    ("nowhere", "EFAULT"),
    ("first-cut", "EFAULT"),
    ("third-cut", 2),
    ("to-the-loss", 12),
    ("loss-nowhere", "EFAULT"),
    ("loss", 1),
    ("to-the-tail", 3),
    ("tail-nowhere", "EFAULT"),
    ("tail", 1),
    ("end", "EAGAIN"),
    ("after", 1),
]


def test_every_piece_of_a_read(chardev):
    """Only whole records, each once, whatever failed before; a loss is reported in the middle and
    at the end; the numbers add up."""
    report, pins = chardev(
        "pieces",
        "after ready flood\n"
        + toggles(41, 20_000)
        + "after ready more\n"
        + "".join(f"+{1000 + k * 20_000} aux0 {k % 2}\n" for k in range(5))
        + "after ready last\n+1000 aux0 1\n",
    )
    edges = [tick for tick, _, _ in sampled_edges(pins, ["aux0"])]
    assert len(edges) == 47
    for label, got in PIECES:
        assert report.result(label) == ((got * SIZE, 0) if isinstance(got, int) else (-1, got)), label
    events = report.events()
    first = events[0][3]
    wanted = [*((EDGE, k, 0) for k in range(16)), (LOST, 16, 25), *((EDGE, k, 0) for k in range(41, 44)), (LOST, 44, 2), (EDGE, 46, 0)]
    assert [(e[0], e[2], e[3] - first, e[6]) for e in events] == [(kind, edges[at], at, count) for kind, at, count in wanted]
    stats = report.all("stats")
    assert [s[:4] for s in stats] == [
        [41, 0, 16, 25],
        [41, 2, 14, 25],
        [41, 2, 14, 25],
        [41, 2, 14, 25],
        [41, 4, 12, 25],
        [46, 4, 15, 27],
        [46, 16, 3, 27],
        [46, 16, 3, 27],
        [46, 16, 3, 27],
        [46, 19, 0, 27],
        [46, 19, 0, 27],
        [46, 19, 0, 27],
        [47, 20, 0, 27],
    ]
    assert all(offered == delivered + queued + lost for offered, delivered, queued, lost, *_ in stats)


def test_losses_of_board_and_reader_are_distinguished(chardev):
    """Both at once, in a FIFO that is full when the board's loss is reported: each edge was read or is in one of the two counts."""
    count = 3000
    report, pins = chardev("both-lose", "after ready flood\n" + toggles(count, 3) + f"+{count * 3 + 1_000_000} aux0 {1 - count % 2}\n")
    edges = [tick for tick, _, _ in sampled_edges(pins, ["aux0"])]
    events = report.events()
    by = {hardware: [e for e in events if e[0] == LOST and bool(e[5] & HARDWARE) == hardware] for hardware in (False, True)}
    by_host, by_board = (sum(e[6] for e in by[hardware]) for hardware in (False, True))
    assert by_host > 0 and by_board > 0
    read = [e for e in events if e[0] == EDGE]
    assert len(read) + by_host + by_board == len(edges) == count + 1
    assert all(e[2] == edges[e[3] - events[0][3]] and e[1] == CONTROL for e in events if e[0] == LOST)
    assert all(e[2] == edges[e[3] - events[0][3]] for e in read)
    for stats in report.all("stats"):
        offered, delivered, queued, lost, board, *_ = stats
        assert offered == delivered + queued + lost == len(edges) - by_board and (lost, board) == (by_host, by_board)
    assert report.all("stats")[1][1:3] == [len(read), 0]


def steps(frames):
    """Stimulus: frames on the line."""
    return "".join(f"+{tick} rx {level}\n" for tick, level in levels(wave(frames)))


def test_bytes_that_the_board_lost_are_reported_to_all(chardev):
    """/dev/litepulse0 reports each loss at its place among the bytes, and the tty counts the same.
    Each byte is one that came, or is counted."""
    count, width = 3000, 40  # 12.5 Mbaud
    report, pins = chardev(
        "lost-bytes", "after ready flood\n" + steps(row(2000, bytes(k % 256 for k in range(count)), profile(12_500_000)))
    )
    first = changes(pins, "rx")[0][0] + 1
    runs, read, lost, at = report.all("run"), [], 0, 0
    for kind, source, tick, seq, data, flags, missing, events, step in runs:
        assert (source, tick, seq) == (RECEIVER, first + at * width, at)
        if kind == LOST:
            assert (events, data, flags) == (1, 0, HARDWARE) and missing > 0
            at, lost = at + missing, lost + missing
        else:
            assert (kind, flags, missing, data) == (RX, 0, 0, at % 256) and (step == width or events == 1)
            read += [(at + k) % 256 for k in range(events)]
            at += events
    assert at == count == len(read) + lost and lost > 0 and {run[0] for run in runs} == {RX, LOST}
    assert [(byte + k) % 256 for byte, several in report.all("bytes") for k in range(several)] == read
    assert report.one("icount") == [len(read), lost, 0] and report.one("stats") == [len(read), len(read), 0, 0, 0, lost, 0]


def test_a_reset_is_reported_to_a_full_reader(chardev):
    report, pins = chardev(
        "full-restart",
        "after ready flood\n" + toggles(20, 20_000) + "+3000000 core_rst 1\n+3000100 core_rst 0\n",
        complaints=["the board was reset"],
    )
    assert report.result("stop") == (-1, "ESTALE")
    events, edges = report.events(), [tick for tick, _, _ in sampled_edges(pins, ["aux0"])]
    assert [(e[0], e[2], e[6]) for e in events] == [*((EDGE, tick, 0) for tick in edges[:16]), (LOST, edges[16], 4), (RESTARTED, 0, 1)]
    assert [s[:4] + s[6:] for s in report.all("stats")] == [[20, 0, 16, 4, 0], [20, 0, 16, 4, 1], [20, 16, 0, 4, 1]]


def test_unaligned_buffers(chardev):
    """All calls with buffers at odd addresses: the same records, the same answers, and each request
    is carried out."""
    report, pins = chardev("unaligned", "after ready edges\n" + toggles(16, 5000))
    for label in ("info", "subscribe", "stats", "time", "claim", "profile", "start", "adjust", "status", "stop", "responder", "keep"):
        assert report.result(f"odd-{label}") == (0, 0), label
    assert report.one("same-info") == report.one("same-stats") == report.one("running") == [1]
    assert report.one("before")[0] < report.one("between")[0] < report.one("after")[0]
    assert report.results("odd-read") == [(2 * SIZE, 0)] * 8
    even, odd = report.events(until=["result", "odd-read"]), report.events(["result", "odd-read"], ["result", "odd-stats"])
    assert [e[2] for e in even] == [tick for tick, _, _ in sampled_edges(pins, ["aux0"])] and odd == even and len(even) == 16
    _, baud, period = report.one("profile")
    assert baud == 115_200 and period == round(Fraction(50_000_000 * 256, 115_200))
    launches = [tuple(launch) for launch in report.all("launch")]
    seen = pulses(pins, "tx", active=0)
    assert report.result("odd-write") == (3 * 32, 0) and seen[:3] == launches
    assert [(e[0], e[1], e[2], e[4] >> 16) for e in report.events(["result", "odd-outcomes"])] == [
        (TX, QUEUE, tick, tag) for tag, (tick, _) in enumerate(launches)
    ]
    train = seen[3:]
    assert report.one("pulses")[0] == len(train) and {width for _, width in train} == {300}
    steps = [b[0] - a[0] for a, b in zip(train, train[1:])]
    assert set(steps) == {50_000, 60_000} and steps == sorted(steps)


# --- the claim ------------------------------------------------------------------------------------------------------------


def test_launches_happen_at_their_ticks_or_not_at_all(chardev):
    report, pins = chardev("launch")
    assert report.result("second") == (-1, "EBUSY") and report.result("third")[1] == 0
    start = report.one("start")[0]
    _, baud, period = report.one("profile")
    assert baud == 115_200 and period == round(Fraction(50_000_000 * 256, 115_200))
    line = changes(pins, "tx")

    def at(bits):
        return bits * period // 256

    frame = [start + at(k) for k in range(10)]  # 0x55 changes at every bit
    assert [tick for tick, _ in line][:13] == [*frame[:10], start + 100_000, start + 101_234, start + 200_000][:13]
    assert line[13] == (start + 200_000 + at(12), 1)
    assert report.result("write")[0] == 96
    outcome = [(e[0], e[1], e[2], e[4] >> 16) for e in report.events(until=["result", "short"])]
    assert outcome == [(TX, QUEUE, start + k * 100_000, k + 1) for k in range(3)]
    assert report.result("short")[0] == 32
    # Ten ticks ahead is past, too, by the time the driver sees it.
    assert report.result("past") == report.result("late") == (-1, "ETIME")
    for label in ("decreasing", "reserved", "kind", "width", "profile", "size"):
        assert report.result(label) == (-1, "EINVAL"), label
    assert report.result("flush")[0] == 0
    rest = [(e[0], e[4] >> 16, e[5] & 0xFF) for e in report.events(["result", "short"]) if e[1] == QUEUE]
    assert rest == [(REFUSED, 9, INVALID)]
    assert len(line) == 14


def test_refusals_of_the_board_are_reported(chardev):
    """A launch less than Lmin behind the one before, and one at a tick at which that one is on the
    line; the next begins at its end."""
    report, pins = chardev("refused")
    start = report.one("start")[0]
    assert pulses(pins, "tx", active=0) == [(start, 1020)] and report.result("write") == (4 * 32, 0)
    (_, _, when, *_), *_ = late = [e for e in report.events() if e[5] & 0xFF == LATE]
    assert [(e[0], e[1], e[2], e[4] >> 16, e[5] & 0xFF) for e in report.events()] == [
        (TX, QUEUE, start, 1, 0),
        (REFUSED, QUEUE, when, 2, LATE),
        (REFUSED, QUEUE, start + 500, 3, BUSY),
        (TX, QUEUE, start + 1000, 4, 0),
    ]
    assert len(late) == 1 and start < when < start + 500


# --- waits, relative entries, marks ------------------------------------------------------------------------------------------


class Entry(NamedTuple):
    """An entry of the queue, as case "sequence" or "marks" writes it."""

    tick: int
    kind: int
    data: int
    width: int
    relative: int
    tag: int
    profile: int

    def for_model(self, forms):
        """The same for the model; `forms`: profiles by their number."""
        if self.kind == WAIT:
            launch = Wait(self.data & 0xF, *(bool(self.data >> bit & 1) for bit in range(4, 8)))
        else:
            launch = Launch(self.kind, forms[self.profile], self.data, self.width, self.profile)
        return SequenceEntry(self.tick, launch, self.tag, relative=bool(self.relative))


def entries_of(report, forms):
    """What a case wrote into the queue."""
    return [Entry(*words).for_model(forms) for words in report.all("entry")]


def edges_by_channel(pins, names):
    """{channel: [(stamp, level, tick at which it is shown), ...]} for the model of sequences."""
    edges = {channel: [] for channel in range(len(names))}
    for tick, channel, level in sampled_edges(pins, names):
        edges[channel].append((tick, level, tick))
    return edges


def test_waits_and_relative_entries(chardev):
    """Edges end waits, waits time out and stop the queue until a flush; what is behind them leaves at their ends' exact distances."""
    report, pins = chardev(
        "sequence",
        """
        after ready edges
        +5000 aux0 1
        +30000 aux1 1
        +40000 aux1 0
        +60000 aux0 0
        after ready line
        +5000 rx 0
        +5200 rx 1
        """,
    )
    assert report.result("write") == (11 * 32, 0) and report.result("last") == (2 * 32, 0)
    assert report.result("flush") == report.result("behind")[1:] * 2 == (0, 0) and report.result("byte") == (1, 0)
    form = profile(115_200)
    entries, inputs = entries_of(report, {1: form}), ("aux0", "aux1", "aux2", "aux3", "rx")
    edges = edges_by_channel(pins, inputs)
    granted = []
    for part in (entries[:12], entries[12:]):
        granted += run_sequence(part, edges, 1)
    (one, *_), (_, two), (three, *_) = ([tick for tick, *_ in edges[inputs.index(name)]] for name in ("aux0", "aux1", "rx"))
    ends = [(entry.tag, entry.end.tick, entry.end.timeout) for entry in entries if entry.end]
    far = two + 300 + 100_000
    assert ends == [
        (1, one, False),
        (4, two, False),
        (6, far, True),
        (8, far + 205 + 20_000, True),
        (10, far + 205 + 20_000 + 300 + 50_000, True),
        (13, three, False),
    ]
    seen = [(e[2] if e[0] == TX else None, e[0], e[5] & 0xFF, e[4]) for e in report.events() if e[1] == QUEUE]
    same_list("outcomes", seen, sequence_outcomes(entries, granted))
    assert [entry.tag for entry in entries if entry.fate is not None] == [11, 12]
    # The tty's byte waits for the end of the wait, which is exclusive, and then for the launch, as it does not fit before that.
    ((start, byte),) = [(e[2], e[4]) for e in report.events() if e[1] == TTY]
    assert granted[-1].tick == three + 400 and start >= granted[-1].end and byte == ord("U")
    assert changes(pins, "tx") == levels(line_wave([*granted, frame(start, byte, form)]))


def test_marks_are_on_the_port(chardev):
    """Those of the queue at their ticks for their width, beside a frame on the line; bytes of the tty, whoever has the claim."""
    report, pins = chardev("marks")
    labels = ("profile", "width", "write", "stays", "stay", "on", "marks", "off", "byte")
    assert [report.result(label) for label in labels] == [
        *((0, 0), (0, 0), (4 * 32, 0), (0, 0), (2 * 32, 0)),
        *((0, 0), (4, 0), (0, 0), (1, 0)),
    ]
    form = profile(115_200)
    entries = entries_of(report, {1: form, 2: form._replace(to_port=True)})
    launches = run_sequence(entries, {}, 1)
    events = report.events()
    assert [(e[0], e[2], e[4] >> 16) for e in events if e[1] == QUEUE] == [(TX, grant.tick, grant.name) for grant in launches]
    *shown, (last, byte) = [(e[2], e[4]) for e in events if e[1] == TTY]
    assert bytes(code for _, code in shown) == b"\1\x80\0U" and byte == ord("A") and len(launches) == 6
    marks = [grant for grant in launches if grant.launch.mark]
    width = Steps(4000)
    width.set(marks[3].tick, 0)
    marks += [Grant(tick, Launch(FRAME, form, code), TTY, n) for n, (tick, code) in enumerate(shown)]
    assert codes(pins) == levels(port_wave(marks, width))
    (on_line,) = (grant for grant in launches if not grant.launch.mark)
    assert changes(pins, "tx") == levels(wave([on_line, frame(last, byte, form)]))


def test_poll_reports_room(chardev):
    report, _ = chardev("pollout")
    start, (when, ready, events) = report.one("start")[0], report.one("woken")
    assert report.result("write") == (64 * 32, 0) and report.one("empty") == [1] and report.one("full") == [0]
    # It is notified when a quarter of the queue is free: when the sixteenth launch has gone, and the next is far.
    assert (ready, events) == (1, 0x4) and start + 15 * 50_000 < when < start + 16 * 50_000 + report.late
    assert report.result("more") == (32, 0)


def test_a_signal_interrupts_a_write_that_waits(chardev):
    """It returns the number of bytes taken, or EINTR if there are none; nothing is queued twice."""
    report, pins = chardev("interrupted")
    assert report.result("some") == (64 * 32, 0) and report.result("none") == (-1, "EINTR")
    assert report.result("flush") == (0, 0) and report.result("all") == (64 * 32, 0)
    assert not changes(pins, "tx")


def test_a_full_queue_blocks_or_fails(chardev):
    report, pins = chardev("full")
    start = report.one("start")[0]
    first = report.result("write")[0]
    assert first == 64 * 32 and report.result("again") == (-1, "EAGAIN") and report.one("polled") == [0]
    assert report.result("blocking")[0] == 36 * 32
    assert pulses(pins, "tx", active=0) == [(start + k * 20_000, 100 + k) for k in range(100)]
    assert [(e[0], e[2], e[4] >> 16) for e in report.events()] == [(TX, start + k * 20_000, k) for k in range(100)]
    # The last ones could not be written before the first ones had gone.
    assert report.one("waited-until")[0] > start


def test_trains_are_exact_and_adjusted_without_a_glitch(chardev):
    report, pins = chardev("train")
    assert report.result("start")[0] == 0 and report.result("twice") == (-1, "EBUSY")
    assert report.result("adjust")[0] == 0 and report.result("adjust-twice") == (-1, "EBUSY")
    start, period = report.one("start")[0], Fraction(25_000, 29)
    places = [start + k * period for k in range(20)]
    # The fraction of the accumulator is dropped where the denominator changes.
    places += [int(places[19]) + 1077 + k * 1000 for k in range(20)]
    expected = [(int(place), 100 if k < 20 else 120) for k, place in enumerate(places)]
    seen = pulses(pins, "tx", active=0)
    assert seen[:40] == expected
    events = report.events(until=["result", "adjust-stopped"])
    assert [(e[2], e[4]) for e in events if e[0] == TX] == [(tick, k) for k, (tick, _) in enumerate(expected)]
    assert [(e[0], e[4]) for e in events if e[1] == TRAIN_CHANGE] == [(APPLIED, 0), (APPLIED, 20)]
    assert [e[4] for e in events if e[0] == TRAIN_DONE] == [40]
    assert report.result("past") == (-1, "ETIME")
    for label in ("adjust-stopped", "both", "fraction", "short", "reserved"):
        assert report.result(label) == (-1, "EINVAL"), label
    assert report.result("forever")[0] == 0 and report.one("running")[0] == 1 and report.result("stop")[0] == 0
    assert report.one("pulses")[0] == len(seen) - 40 > 50
    assert all(b[0] - a[0] == 50_000 for a, b in zip(seen[40:], seen[41:]))
    # Of a profile that was never set the core wants nothing; once it is set, only a train that is impossible is refused.
    assert report.result("unset") == report.result("unset-responder") == (-1, "ENOENT")
    assert report.result("set") == (-1, "EINVAL") and report.result("set-responder")[0] == 0


def test_a_denominator_of_0_and_inverted_frames(chardev):
    report, pins = chardev("den-and-invert")
    train, upright, inverted = (report.one(name)[0] for name in ("train", "frames", "inverted"))
    assert report.result("start") == report.result("inverted") == report.result("rest") == (0, 0)
    assert report.result("rest-running") == (-1, "EBUSY")
    assert report.result("no-edge") == report.result("no-edge-low") == report.result("rest-reserved") == (-1, "EINVAL")
    assert report.result("write") == report.result("write-inverted") == (32, 0), "a record each"
    places = [int(train + k * (1000 + Fraction(0xC000_0001, 1 << 32))) for k in range(9)]
    line = profile(115_200, "7E2")._replace(invert=True)
    first = levels(wave([frame(upright, 0x53, profile(115_200))]))
    second = levels(line_wave([frame(inverted, 0x53, line)], 0))
    assert pulses([change for change in pins if change[0] < upright], "tx", active=0) == [(tick, 100) for tick in places]
    *seen, (end, high) = [change for change in changes(pins, "tx") if change[0] >= upright]
    low = seen[len(first)]
    assert seen == [*first, low, *second] and first[-1][0] < low[0] < inverted and low[1] == 0
    assert end > second[-1][0] and high == 1, "the claim has ended"
    assert [e[2] for e in report.events() if e[0] == TX] == [*places, upright, inverted]


def test_a_killed_holder_stops_its_train_unless_kept(chardev):
    report, pins = chardev("kill")
    running = report.all("running")
    assert [(when, state) for when, state, _ in running] == [
        ("before", 1),
        ("after", 0),
        ("claimed", 0),
        ("stopped", 0),
        ("before", 1),
        ("after", 1),
        ("claimed", 1),
        ("stopped", 0),
    ]
    seen = [tick for tick, _ in pulses(pins, "tx", active=0)]
    when = [tick for _, _, tick in running]
    assert not [tick for tick in seen if when[1] < tick < when[3]]
    kept = [tick for tick in seen if when[4] < tick < when[7]]
    assert len(kept) > 10 and all(b - a == 50_000 + (0, 1)[(b - a) % 50_000] for a, b in zip(kept, kept[1:]))
    assert not [tick for tick in seen if tick > when[7]]


def test_closing_a_claim_ends_what_it_left_unless_kept(chardev):
    """Queue and responder: after the close nothing is sent; with KEEP everything is."""
    report, pins = chardev("close", "".join(f"after ready {what}\n+1000 aux1 1\n+2000 aux1 0\n" for what in ("ended", "kept")))
    assert report.results("arm") == report.results("close") == [(0, 0)] * 2 and report.results("write") == [(2 * 32, 0)] * 2
    assert report.all("left") == [[0], [0x4 | 0x8]]  # LITEPULSE_STATUS_RESPONDER, _QUEUE
    rises = [tick for tick, _, level in sampled_edges(pins, ["aux1"]) if level]
    assert len(rises) == 2 and rises[1] < report.all("launches")[1][0]
    assert pulses(pins, "tx", active=0) == [(rises[1] + 300, 50), *((tick, 101) for tick in report.all("launches")[1])]


def test_a_claim_that_fails_leaves_a_kept_train(chardev):
    report, pins = chardev("failed-claim")
    assert report.result("read-only") == (-1, "EFAULT") and report.result("stop") == (0, 0)
    assert [(when, state) for when, state, _ in report.all("running")] == [("kept", 1), ("after", 1)]
    seen = [tick for tick, _ in pulses(pins, "tx", active=0)]
    assert len(seen) == report.one("pulses")[0] > 5 and {b - a for a, b in zip(seen, seen[1:])} <= {50_000, 50_001}


def test_the_responder_answers_by_itself(chardev):
    report, pins = chardev(
        "responder", "after ready edges\n" + toggles(6, 7777, pin="aux1") + "after ready silent\n" + toggles(2, 5000, pin="aux1")
    )
    rises = [tick for tick, _, level in sampled_edges(pins, ["aux1"]) if level]
    assert len(rises) == 4
    assert pulses(pins, "tx", active=0) == [(tick + 300, 50) for tick in rises[:3]]
    assert [(e[0], e[1], e[2]) for e in report.events()] == [(TX, RESPONDER, tick + 300) for tick in rises[:3]]
    assert report.result("arm")[0] == report.result("off")[0] == 0
    # A delay that is too short is not known before the trigger comes: it is missed then.
    assert report.result("too-short")[0] == 0
    for label in ("channel", "off-with"):
        assert report.result(label) == (-1, "EINVAL"), label


def test_the_responder_answers_bytes_and_breaks(chardev):
    slow, delay = profile(9600), 700
    sent = row(2000, b"aBA", slow, gap=20_000)
    ended, last = 71_000, row(200_000, b"A", slow)
    report, pins = chardev("answer-bytes", f"after ready bytes\n{steps(sent)}after ready breaks\n+1000 rx 0\n+{ended} rx 1\n{steps(last)}")
    line = changes(pins, "rx")
    # Where the first frame, and the break, began: all else lies as far from there as in the stimulus. One tick later it is sampled.
    first = line[0][0] - 2000 + 1
    broken = next(a for (a, low), (b, _) in zip(line, line[1:]) if not low and b - a == ended - 1000) - 1000 + 1
    one, two = (first + requested.end + delay for requested in sent if requested.launch.data in b"aA")
    pulse = broken + ended + 900
    assert report.results("arm") == [(0, 0)] * 2
    assert changes(pins, "tx") == [*levels(wave([frame(tick, 0x99, profile(115_200)) for tick in (one, two)])), (pulse, 0), (pulse + 60, 1)]
    assert [(e[0], e[1], e[2], e[4]) for e in report.events()] == [
        (TX, RESPONDER, one, 0x199),
        (TX, RESPONDER, two, 0x10199),
        (TX, RESPONDER, pulse, 0x900),
    ]


def test_who_comes_later_gets_nothing_older(chardev):
    old, new, form = b"abc", b"de", profile(9600)
    report, _ = chardev("from-now-on", f"after ready old\n{steps(row(2000, old, form))}after ready new\n{steps(row(2000, new, form))}")
    fresh, slow = report.events(["ready", "new"], ["tty"]), report.events(["ready", "slow"])
    assert bytes(e[4] for e in fresh) == new and bytes(report.one("tty")) == new
    assert bytes(e[4] for e in slow) == old + new and slow[-2:] == fresh and all(e[0] == RX for e in slow)


def test_misses_of_the_responder_are_reported(chardev):
    """Too late, line busy; edges within the holdoff are no triggers; without REARM it answers
    once."""
    # Levels of 1 from ... to; the holdoff ends 20,000 ticks behind the launch, which is 300 behind the edge.
    highs = {"late": [1000], "busy": [1000, 11_000, 31_000], "holdoff": [1000, 21_270, 21_320], "once": [1000, 3000]}
    report, pins = chardev(
        "missed",
        "".join(
            f"after ready {name}\n" + "".join(f"+{tick} aux1 1\n+{tick + 10} aux1 0\n" for tick in ticks) for name, ticks in highs.items()
        ),
    )
    late, *busy, held, _, free, once, _ = [tick for tick, _, level in sampled_edges(pins, ["aux1"]) if level]
    (first, *rest) = report.events()
    assert first[:2] == (MISSED, RESPONDER) and first[5] & 0xFF == LATE and late <= first[2] < late + 20
    assert [(e[0], e[2], e[5] & 0xFF, e[4] >> 16) for e in rest] == [
        (TX, busy[0] + 300, 0, 0),
        (MISSED, busy[1] + 300, BUSY, 1),
        (TX, busy[2] + 300, 0, 2),
        (TX, held + 300, 0, 0),
        (TX, free + 300, 0, 1),
        (TX, once + 300, 0, 0),
    ]
    assert pulses(pins, "tx", active=0) == [
        (busy[0] + 300, 20_000),
        (busy[2] + 300, 20_000),
        (held + 300, 50),
        (free + 300, 50),
        (once + 300, 50),
    ]
    assert report.all("armed") == [[1], [1], [1], [0]]


def test_bursts_of_the_responder(chardev):
    """Launch k comes at trigger + delay + k * period. Until one period after the last one nothing else triggers."""
    delay = 300  # of all; the periods are those of the program
    # The first burst's last launch is at 1000 + 300 + 3 * 3000, so edges trigger again from 13,300 on. The last ones are single bursts.
    highs = {"whole": [1000, 4000, 9000, 13_270, 13_320], "busy": [1000], "once": [1000, 12_000], "short": [1000, 12_000]}
    report, pins = chardev(
        "burst",
        "".join(
            f"after ready {name}\n" + "".join(f"+{tick} aux1 1\n+{tick + 10} aux1 0\n" for tick in ticks) for name, ticks in highs.items()
        ),
    )
    one, _, _, _, two, busy, once, _, short, _ = [tick for tick, _, level in sampled_edges(pins, ["aux1"]) if level]
    assert report.results("arm") == [(0, 0)] * 4 and report.all("armed") == [[1], [1], [0], [0]]
    events = [(e[0], e[1], e[2], e[5] & 0xFF, e[4] >> 16) for e in report.events()]
    assert events[:8] == [(TX, RESPONDER, edge + delay + k * 3000, 0, k) for edge in (one, two) for k in range(4)]
    held = busy + delay + 2 * 200_000
    # The queue reports a launch later than the responder does.
    assert sorted(events[8:13], key=lambda event: event[2]) == [
        (TX, RESPONDER, busy + delay, 0, 0),
        (TX, RESPONDER, busy + delay + 200_000, 0, 1),
        (TX, QUEUE, held - 10, 0, 9),
        (MISSED, RESPONDER, held, BUSY, 2),
        (TX, RESPONDER, held + 200_000, 0, 3),
    ]
    assert events[13:17] == [(TX, RESPONDER, once + delay + k * 2000, 0, k) for k in range(3)] + [(TX, RESPONDER, short + delay, 0, 0)]
    (missed,) = events[17:]
    assert missed[:2] == (MISSED, RESPONDER) and missed[3:] == (LATE, 1) and short + delay < missed[2] < short + delay + 100
    wide = [(tick, 20 if source == QUEUE else 50) for kind, source, tick, _, _ in events[:16] if kind == TX]
    assert pulses(pins, "tx", active=0) == [*sorted(wide), (short + delay, 2)]


def test_an_exclusive_responder_keeps_the_tty_waiting(chardev):
    report, pins = chardev("exclusive", "after ready edge\n+1000 aux1 1\n")
    ((rise, _, _),) = sampled_edges(pins, ["aux1"])
    answer, *byte = changes(pins, "tx")[::2]
    assert answer == (rise + 300, 0) and changes(pins, "tx")[1] == (rise + 350, 1) and report.result("byte") == (1, 0)
    start = byte[0][0]
    assert start > report.one("disarming")[0] and changes(pins, "tx")[2:] == levels(wave([frame(start, 0x55, profile(115_200))]))


def test_the_responder_ignores_its_own_line(chardev):
    report, pins = chardev("own", wires=["tx:rx"])
    (ignored,), (answered,) = report.all("launch")
    assert report.results("arm") == [(0, 0)] * 2
    assert pulses(pins, "tx", active=0) == [(ignored, 50), (answered, 50), (answered + 1 + 5000, 40)]
    assert [(e[1], e[2]) for e in report.events()] == [(QUEUE, ignored), (QUEUE, answered), (RESPONDER, answered + 1 + 5000)]


# --- coming and going --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cpu", TESTED_CPUS)
def test_unbind_with_files_open(linux, cpu):
    machine = linux(cpu)
    result = machine.run_program(
        "chardev", ["unbind", machine.device_name], stimulus="after ready edge\n+1000 aux0 1\n", max_cycles=50_000_000
    )
    report = Report(result.lines)
    assert report.result("sleeper") == (-1, "ENODEV")
    assert report.one("queued") == [1, 0x18]
    assert [e[0] for e in report.events()] == [EDGE]
    assert report.result("read") == (-1, "ENODEV") and report.result("info") == report.result("launch") == (-1, "ENODEV")
    assert report.result("close")[0] == 0 and report.result("reopen")[0] == -1
    # It went on until the driver was unbound, KEEP or not, and no longer.
    cycle = next(line.at for line in result.console if "/unbind" in line.text)
    unbound = cycle + result.stats["start_tick"] - result.stats["start_cycle"]
    seen = [tick for tick, _ in pulses(result.pins, "tx", active=0)]
    assert seen[-1] > report.one("unbinding")[0] and seen[-1] < unbound < result.stats["end_tick"] - 500_000


def test_a_board_that_was_reset(chardev):
    report, pins = chardev(
        "restart",
        "after ready reset\n+1000 core_rst 1\n+1100 core_rst 0\nafter ready edge\n+1000 aux0 1\n",
        complaints=["the board was reset"],
    )
    assert report.result("stop") == report.result("stale") == (-1, "ESTALE")
    assert report.result("start")[0] == 0
    events = report.events()
    assert [e[0] for e in events] == [RESTARTED, EDGE]
    # Ticks count from the reset.
    reset = next(tick for tick, level in changes(pins, "core_rst") if not level)
    edge = next(tick for tick, _, level in sampled_edges(pins, ["aux0"]) if level)
    assert 0 <= (edge - reset) - events[1][2] <= 16
    assert report.one("stats")[6] == 1


def test_a_reset_ends_a_write_that_waits(chardev):
    report, _ = chardev("stale-write", "after ready reset\n+100000 core_rst 1\n+100100 core_rst 0\n", complaints=["the board was reset"])
    assert report.result("fill") == (64 * 32, 0) and report.result("write") == (-1, "ESTALE")
    # Ticks count from the reset: it was not the watch, which looks once a second, that reported it.
    assert report.one("woken")[0] < 1_000_000


@pytest.mark.parametrize("cpu", TESTED_CPUS)
def test_the_module_stays_while_a_file_is_open(linux, cpu):
    guest = linux(cpu)
    result = guest.run_program(
        "chardev",
        ["module"],
        files={"litepulse.ko": guest.module(DRIVER)["litepulse"]},
        stimulus="after ready edge\n+1000 aux0 1\n",
        max_cycles=50_000_000,
    )
    report = Report(result.lines)
    assert [report.result(label) for label in ("both", "claim", "tty")] == [(-1, "EAGAIN")] * 3
    assert report.result("none") == (0, 0) and report.one("there") == [0, 0] and report.result("insert") == (0, 0)
    assert [e[2] for e in report.events()] == [tick for tick, _, _ in sampled_edges(result.pins, ["aux0"])] and len(report.events()) == 1
    # The train that was kept ended with the driver, not before.
    calls = [next(line.at for line in result.console if line.text.startswith(f"result {label} ")) for label in ("claim", "none")]
    kept, removed = (cycle + result.stats["start_tick"] - result.stats["start_cycle"] for cycle in calls)
    seen = [tick for tick, _ in pulses(result.pins, "tx", active=0)]
    assert kept + 200_000 < seen[-1] < removed and len(seen) > 5 and {b - a for a, b in zip(seen, seen[1:])} <= {50_000, 50_001}


def test_suspended_nothing_is_sent(linux):
    # mor1kx' kernel cannot suspend.
    result = linux("vexriscv").run_program("chardev", ["suspend"], stimulus="after ready edge\n+1000 aux0 1\n", max_cycles=50_000_000)
    report, pins = Report(result.lines), result.pins
    asleep, awake = report.one("suspending")[0], report.one("resumed")[0]
    seen = [tick for tick, _ in pulses(pins, "tx", active=0)]
    silences = [(a, b) for a, b in zip(seen, seen[1:]) if b - a > 50_001]
    assert len(silences) == 1 and asleep < silences[0][0] + 50_001 and silences[0][1] > awake
    assert report.result("stale") == (-1, "ESTALE") and report.result("start")[0] == 0
    edge = next(tick for tick, _, level in sampled_edges(pins, ["aux0"]) if level)
    ((kind, _, stopped, _, _, flags, *_), *edges) = report.events()
    assert (kind, flags & 0xFF) == (RESTARTED, 0x02) and asleep < stopped < awake and [e[2] for e in edges] == [edge]
