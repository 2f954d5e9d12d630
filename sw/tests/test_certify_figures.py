# SPDX-License-Identifier: BSD-2-Clause
"""Figures of litepulse certify from records that are written here, so that the right figures are known."""

import random
from fractions import Fraction
from functools import cache
from math import floor

import numpy
import pytest

from litepulse.certify import analysis
from litepulse.certify.procedure import pair, rows
from litepulse.certify.records import Break, Echo, Exchange, Reading, Transfer
from litepulse.certify.result import distribution
from litepulse.line import Format

from .certify_model import deviations, histogram, least_squares

HZ = Fraction(48_000_000)
FORMATS = ("8N1", "7E1", "7O2", "5N1.5", "6M1", "8S2")


def bits_of(byte, text):
    """[(length in bits, level), ...] of a frame, written from docs/core.md."""
    size = int(text[0])
    data = [byte >> k & 1 for k in range(size)]
    parity = {"N": [], "E": [sum(data) % 2], "O": [1 - sum(data) % 2], "M": [1], "S": [0]}[text[1]]
    return [(Fraction(1), level) for level in (0, *data, *parity)] + [(Fraction(text[2:]), 1)]


def wave(data, text, bit, start, gaps):
    """([(tick, level)], [start of each frame], unrounded): a UART whose edges lie where they will; stamps are those of the next tick."""
    found, starts, place, level = [], [], Fraction(start), 1
    for byte, gap in zip(data, gaps):
        starts.append(place)
        for length, now in bits_of(byte, text):
            if now != level:
                found.append((floor(place) + 1, now))
                level = now
            place += length * bit
        place += gap
    return found, starts


# Frames ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", FORMATS)
@pytest.mark.parametrize("seed", range(3))
def test_frames_are_read(text, seed):
    rng = random.Random(f"{text} {seed}")
    bit = Fraction(rng.randrange(2000, 200_000), 97)
    data = [rng.randrange(1 << int(text[0])) for _ in range(40)]
    gaps = [rng.choice((0, 0, bit / 3, 7 * bit)) for _ in data]
    edges, starts = wave(data, text, bit, 5000 + Fraction(1, 3), gaps)
    frames = analysis.read_frames(edges, Format.parse(text), bit * Fraction(101, 100))
    assert [frame.data for frame in frames] == data and all(frame.good for frame in frames)
    assert [frame.start for frame in frames] == [floor(start) + 1 for start in starts]
    assert sum(len(frame.marks) for frame in frames) == len(edges), "each edge belongs to a frame"
    before_stop = [bits_of(byte, text)[-2][1] for byte in data]
    assert [frame.stop_mark is not None for frame in frames] == [not level for level in before_stop]


@pytest.mark.parametrize(
    "edges, why",
    [
        ([(100, 0), (200, 1), (300, 0), (400, 1)], None),  # 0x05 and the rest high: as it should be
        ([(100, 0), (200, 1), (300, 0), (1100, 1)], "no stop bit"),
        ([(100, 0), (245, 1), (300, 0), (400, 1)], "an edge in the middle of a bit"),
        ([(100, 0), (200, 1), (300, 0), (310, 1), (315, 0), (400, 1)], "a glitch"),
    ],
)
def test_bad_frames(edges, why):
    (frame,) = analysis.read_frames(edges, Format(), Fraction(100))
    assert frame.good == (why is None)


def test_wrong_parity_is_a_bad_frame():
    edges, _ = wave([0x2A], "7E1", Fraction(100), 1000, [0])
    (frame,) = analysis.read_frames(edges, Format.parse("7O1"), Fraction(100))
    assert not frame.good and frame.data == 0x2A


# Slopes ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_the_slope_is_that_of_least_squares(seed):
    """Against numpy's solution of the same: one slope, an offset for each group."""
    rng = random.Random(seed)
    groups = [[(k, 417 * k + rng.randrange(-5, 6) + 10_000 * g) for k in range(rng.randrange(2, 12))] for g in range(6)]
    found = analysis.slope_of(groups)
    matrix = [[k, *(float(h == g) for h in range(6))] for g, group in enumerate(groups) for k, _ in group]
    ticks = [t for group in groups for _, t in group]
    solution = numpy.linalg.lstsq(numpy.array(matrix), numpy.array(ticks, float), rcond=None)[0]
    assert float(found.value) == pytest.approx(solution[0], rel=1e-10) and found.count == len(ticks)
    assert [float(each) for each in found.offsets] == pytest.approx(list(solution[1:]), rel=1e-9)
    strays = [[t - float(o) - k * solution[0] for k, t in group] for o, group in zip(found.offsets, groups)]
    assert float(found.spread) == pytest.approx(max(1, *(max(each) - min(each) for each in strays)))


def test_no_slope_of_single_ticks():
    assert analysis.slope_of([[(0, 5)], [(0, 9)], []]) is None


@pytest.mark.parametrize("size", [2, 3, 10, 11])
def test_the_bound_is_reached_by_the_worst_stray(size):
    """Each tick off by half of the spread to the side that turns the line most."""
    exact = [(k, 1000 * k) for k in range(size)]
    middle = Fraction(size - 1, 2)
    turned = [(k, t + 8 * ((k > middle) - (k < middle))) for k, t in exact]
    found = analysis.slope_of([turned, turned])
    assert found.value - 1000 == found.bound / found.spread * 16


@pytest.mark.parametrize("seed", range(40))
def test_the_bit_period_is_within_its_bound(seed):
    """A UART of any rate at any place between ticks, with jitter: the true period is always within
    the stated bound."""
    rng = random.Random(seed)
    bit = Fraction(rng.randrange(20_000, 90_000), 101)
    jitter = rng.choice((0, 0, 3))
    edges, starts = wave([0x55] * 20, "8N1", bit, Fraction(rng.randrange(10**6), 7919), [0] * 20)
    stamped = [(tick + rng.randrange(jitter + 1), level) for tick, level in edges]
    found = analysis.bits_of([stamped], Format(), bit * Fraction(1003, 1000), HZ)
    assert found.frames == 20 and found.bad == 0
    assert abs(found.bit.value - bit) <= found.uncertainty
    run = analysis.runs_of([floor(start) + 1 for start in starts], 10 * bit, bit)
    assert [len(each) for each in run] == [20]
    by_rows = analysis.slope_of(run)
    assert abs(by_rows.value - 10 * bit) <= by_rows.bound
    baud = analysis.baud_of(by_rows.value / 10, by_rows.bound / 10, Fraction(9600), HZ)
    assert abs(baud.ppm - (HZ / bit / 9600 - 1) * 10**6) <= baud.uncertainty * Fraction(10001, 10000)


@pytest.mark.parametrize("seed", range(10))
def test_deviations_stop_bits_and_gaps_are_exact(seed):
    rng = random.Random(seed)
    bit = Fraction(417)
    data = [0x55] * 12
    gaps = [rng.choice((0, 0, 2000)) for _ in data]
    edges, starts = wave(data, "8N1", bit, 1000, gaps)
    stamped = [(tick + rng.randrange(5), level) for tick, level in edges]
    found = analysis.bits_of([stamped], Format(), bit, HZ)
    frames = [[tick for tick, _ in stamped[10 * n : 10 * n + 10]] for n in range(12)]
    assert found.bit.value == least_squares(frames)[0]
    assert distribution(found.deviations, "ps")["histogram"] == histogram(deviations(frames, HZ))
    stops = [b[0] - a[9] for a, b, gap in zip(frames, frames[1:], gaps) if not gap]
    assert distribution(found.stops, "ticks")["histogram"] == histogram(stops)
    firsts = [frame[0] for frame in frames]
    wanted = [round((b - a - 4170) * 10**9 / HZ) for a, b in zip(firsts, firsts[1:])]
    assert distribution(analysis.gaps_of([firsts], Fraction(4170), HZ), "ns")["histogram"] == histogram(wanted)


def test_a_frame_of_another_byte_is_a_bad_one():
    edges, _ = wave([0x55, 0x54, 0x55], "8N1", Fraction(100), 0, [500] * 3)
    found = analysis.bits_of([edges], Format(), Fraction(100), HZ)
    assert (found.frames, found.bad) == (2, 1)


def test_clocks_that_keep_step_average_nothing_out():
    """A bit of 104 1/6 ticks whose frames all begin on a tick: a thousand of them are as uncertain
    as one. Others are far less uncertain."""
    bit = Fraction(625, 6)

    def found(frames, gap, bit=bit):
        edges, _ = wave([0x55] * frames, "8N1", bit, 1000, [gap] * frames)
        return analysis.bits_of([edges], Format(), bit, HZ)

    in_step = [found(frames, 10 - 10 * bit % 1) for frames in (1, 1000)]
    assert in_step[0].bit.value == in_step[1].bit.value != bit and in_step[1].uncertainty >= abs(in_step[1].bit.value - bit) > 0
    assert in_step[1].uncertainty > bit / 1000
    other = Fraction(824_887, 7919)
    spread = found(1000, Fraction(1237, 97), other)
    assert abs(spread.bit.value - other) <= spread.uncertainty < in_step[1].uncertainty / 20


def test_places_between_ticks():
    def places(*quarters):
        return [n + Fraction(q, 4) + Fraction(1, 9) for n, q in enumerate(quarters)]

    assert analysis.is_spread(places(0, 1, 2, 3)) and analysis.is_spread(places(*[0] * 5, 1, 2, 3))
    assert not analysis.is_spread(places(*[0] * 6, 1, 2, 3)) and not analysis.is_spread(places(0, 1, 2)) and not analysis.is_spread([])


@pytest.mark.parametrize("value", [0, Fraction(1, 3), 2, 10**9, Fraction(1, 10**9)])
def test_roots(value):
    found = analysis.root(Fraction(value))
    assert found**2 >= value > (found - Fraction(2, 10**12)) ** 2 - Fraction(1, 10**20)


def test_a_gap_begins_another_run():
    assert analysis.runs_of([0, 100, 200, 340, 440, 530], Fraction(100), Fraction(10)) == [
        [(0, 0), (1, 100), (2, 200)],
        [(0, 340), (1, 440)],
        [(0, 530)],
    ]


# Loss -----------------------------------------------------------------------------------------------------------------


@cache
def fewest(sent, received):
    """(changes, lost + added) by trying all."""
    if not sent or not received:
        return (len(sent) + len(received),) * 2
    ways = [fewest(sent[1:], received[1:]) + (sent[0] != received[0], 0)]
    ways += [fewest(sent[1:], received) + (1, 1), fewest(sent, received[1:]) + (1, 1)]
    return min((changes + more, moved + also) for changes, moved, more, also in ways)


@pytest.mark.parametrize("seed", range(60))
def test_the_fewest_changes(seed):
    rng = random.Random(seed)
    sent, received = (bytes(rng.randrange(3) for _ in range(rng.randrange(7))) for _ in range(2))
    found = analysis.loss_of(Transfer(sent, received, (), 2))
    changes, moved = fewest(sent, received)
    assert (found.lost + found.wrong + found.added, found.lost + found.added) == (changes, moved)
    assert found.added - found.lost == len(received) - len(sent) and (found.sent, found.received) == (len(sent), len(received))
    assert not found.clean and found.errors == 2


def test_a_row_with_losses():
    sent = bytes(range(200))
    received = sent[:10] + sent[13:50] + b"\xff" + sent[51:100] + b"\x07" + sent[100:]
    assert analysis.loss_of(Transfer(sent, received)) == analysis.Loss(200, 198, 3, 1, 1, 0)
    assert analysis.loss_of(Transfer(sent, sent)).clean
    total = sum([analysis.loss_of(Transfer(b"ab", b"a")), analysis.loss_of(Transfer(b"ab", b"xb"))], analysis.Loss())
    assert total == analysis.Loss(4, 3, 1, 1, 0, 0)


def test_rows_count_up():
    assert b"".join(rows(600, 256, 128)) == bytes(k % 128 for k in range(600))
    assert [len(row) for row in rows(600, 256, 256)] == [256, 256, 88]


# Latency --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(30))
def test_mapped_times_are_as_sure_as_they_say(seed):
    """A clock that goes evenly but 80 ppm fast, brackets of any width: the true time is always
    within the stated bound."""
    rng = random.Random(seed)
    rate = HZ * Fraction(1_000_080, 1_000_000) / 10**9  # ticks per ns
    moments = sorted(rng.sample(range(10**6, 10**9), 40))
    readings = []
    for ns in moments:
        width = rng.randrange(20_000, 90_000)
        early = rng.randrange(width)
        readings.append(Reading(floor(ns * rate), ns - early, ns - early + width))
    clock = analysis.ClockMap(readings, HZ)
    seen = 0
    for _ in range(200):
        ns = rng.randrange(10**6, 10**9)
        mapped = clock.ns(floor(ns * rate))
        if mapped:
            seen += 1
            assert abs(mapped[0] - ns) <= mapped[1]
    assert seen > 50
    assert clock.ns(0) is None and clock.ns(10**12) is None


def test_a_clock_that_stood_still_leaves_its_times_open():
    """As that of a simulated board, which a busy machine halts."""
    readings = [Reading(0, 0, 100), Reading(1000, 1_000_000, 1_000_100), Reading(2000, 7_000_000, 7_000_100)]
    clock = analysis.ClockMap(readings, Fraction(1_000_000))
    assert clock.ns(500) == (500_050, 50 + 1000)
    ns, open_ns = clock.ns(1500)
    assert open_ns == 50 + 5_000_000 + 1000
    # it may have stood still before or behind that tick
    assert abs(1_500_050 - ns) <= open_ns and abs(6_500_050 - ns) <= open_ns


def test_wide_readings_do_not_count():
    readings = [Reading(0, 0, 100), Reading(10, 9_000, 11_000), Reading(20, 20_000, 20_200)]
    assert analysis.ClockMap(readings, Fraction(1_000_000)).ns(10) == (Fraction(50 + 20_100, 2), 100 + 50 + 1000)


def test_latencies():
    """Ticks of a microsecond, exact brackets of 2 us; the third exchange lies where the clock stood still."""
    readings = [Reading(t, 1000 * t - 1000, 1000 * t + 1000) for t in (0, 1000, 2000)] + [Reading(3000, 9_999_000, 10_001_000)]
    exchanges = [
        Exchange(100, 130_000, 135_000, 180),
        Exchange(1100, 1_150_000, 1_153_000, 1190),
        Exchange(2100, 2_300_000, 2_310_000, 2400),
        Exchange(3500, 10_600_000, 10_600_500, 3600),
    ]
    found = analysis.latency_of(Echo(exchanges, readings, 7), Fraction(1_000_000))
    assert found.round_trip.rows() == [(80, 1), (90, 1), (100, 1), (300, 1)]
    assert found.program.rows() == [(500, 1), (3000, 1), (5000, 1), (10_000, 1)]
    assert found.read.rows() == [(30_000, 1), (50_000, 1)] and found.write.rows() == [(37_000, 1), (45_000, 1)]
    assert (found.uncertainty, found.missing, found.left_out) == (2000, 7, 2)


def test_no_latencies():
    found = analysis.latency_of(Echo(missing=3), HZ)
    assert (found.round_trip.count, found.uncertainty, found.missing, found.left_out) == (0, None, 3, 0)


def test_answers_belong_to_their_requests():
    """A request without an answer, a byte that never came to the program, two that one read() got."""
    requests = [(0, 10, 20), (1, 30, None), (2, 50, 60), (3, 70, 80), (4, 90, 95), (5, 110, 120)]
    data = bytes([0, 1, 3, 4, 5])
    found = pair(requests, data, [(1, 2, 1), (3, 4, 1), (5, 6, 2), (7, 8, 1)])
    assert found == [Exchange(10, 1, 2, 20), Exchange(110, 7, 8, 120)]


# Breaks and driver enable ---------------------------------------------------------------------------------------------


def test_breaks():
    assert analysis.break_in([(10, 0), (20, 1), (100, 0), (1300, 1)], Fraction(1000)) == (100, 1300)
    assert analysis.break_in([(10, 0), (20, 1), (100, 0)], Fraction(1000)) is None
    assert analysis.break_in([(10, 0), (1010, 1)], Fraction(1000)) is None, "a frame of zeros is as long"
    found = analysis.breaks_of([Break(5, 25, 100, 1300), Break(6, 36, None, None)])
    assert (found.requested, found.seen.rows(), found.program.rows()) == (2, [(1200, 1)], [(20, 1), (30, 1)])


@pytest.mark.parametrize("active", [0, 1])
def test_driver_enable(active):
    """Two rows of two frames, 100 ticks a bit, ticks of 10 ns; the enable of the second ends before its last stop bit does."""
    edges, _ = wave([0x55] * 4, "8N1", Fraction(100), 999, [0, 5000, 0, 0])
    enable = [(950, active), (3030, 1 - active), (7970, active), (9990, 1 - active)]
    found = analysis.enable_of([(edges, enable, 1 - active)], Format(), Fraction(100), Fraction(100_000_000))
    assert (found.active, found.uncovered) == (active, 0)
    assert found.lead.rows() == [(300, 1), (500, 1)] and found.lag.rows() == [(-100, 1), (300, 1)]


def test_frames_outside_of_driver_enable():
    edges, _ = wave([0x55] * 4, "8N1", Fraction(100), 999, [5000] * 4)
    found = analysis.enable_of([(edges, [(950, 1), (13_900, 0)], 0)], Format(), Fraction(100), HZ)
    assert found.uncovered == 1 and found.lead.count == found.lag.count == 1
    idle = analysis.enable_of([(edges, [], 0)], Format(), Fraction(100), HZ)
    assert (idle.active, idle.uncovered, idle.lead.count) == (0, 0, 0), "an input that never changes says nothing"
