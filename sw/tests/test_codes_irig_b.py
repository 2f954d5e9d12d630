# SPDX-License-Identifier: BSD-2-Clause
"""IRIG-B against a reader of the standard's table of bits."""

import random
from fractions import Fraction

import pytest

from litepulse.codes import TAI, UTC, Civil, Fault, Frame, IrigDecoder, decode, irig_b, pulses
from litepulse.errors import BadInput

from .code_readers import HZ, check_damage, damaged, decode_parts, moment, read_irig_b, ticks

NOW = UTC.of_posix(moment("2026-11-30 12:34:56"))
DAY_366 = UTC.of_posix(moment("2024-12-31 23:59:58"))
LEAP = UTC.second(Civil(2016, 12, 31, 23, 59, 60))


def edges(first, count, scale=UTC, expression="B004"):
    return [edge for n in range(count) for edge in irig_b.encode(first + n, scale, expression)]


def recording(first, count, **options):
    return ticks(edges(first, count, **options), first - 1)


@pytest.mark.parametrize("first", [NOW, DAY_366, UTC.of_posix(moment("2025-12-31 23:59:58")), LEAP - 2])
def test_a_reader_of_the_standard(first):
    """Seconds, day of the year, year, seconds of the day, a leap second."""
    read = read_irig_b(edges(first, 5))
    assert [when for when, _ in read] == [first + n for n in range(5)]
    for n, (_, got) in enumerate(read):
        civil = UTC.civil(first + n)
        assert (got["second"], got["minute"], got["hour"]) == (civil.second, civil.minute, civil.hour)
        assert (got["day"], got["year"], got["sbs"]) == (civil.day_of_year, civil.year % 100, civil.second_of_day)
        assert got["ones"] % 2 == 0 and not any(got["unused"])


def test_edges_lie_at_whole_milliseconds():
    """2, 5 and 8 ms from every tenth one, exactly."""
    for at, width in pulses(edges(NOW, 1)):
        assert ((at - NOW) * 100).denominator == 1 and width * 1000 in (2, 5, 8)


@pytest.mark.parametrize("expression", irig_b.EXPRESSIONS)
def test_what_each_expression_has(expression):
    """Years in B004 to B007, control bits in B000, B001, B004 and B005, binary seconds in B000, B003, B004 and B007."""
    ((_, got),) = read_irig_b(edges(LEAP, 1, expression=expression))
    number = int(expression[-1])
    assert got["year"] == (16 if number >= 4 else 0)
    assert got["leap"] == ((1, 0) if number in (0, 1, 4, 5) else (0, 0))
    assert got["sbs"] == (86400 if number in (0, 3, 4, 7) else 0)
    found = decode(IrigDecoder(HZ, expression=expression, near=LEAP + 10**6), recording(LEAP, 2, expression=expression))
    assert [frame.second for frame in found] == [LEAP, LEAP + 1]


def test_a_leap_second_is_announced_for_59_seconds():
    announced = [n for n in range(-70, 5) if read_irig_b(edges(LEAP + n, 1))[0][1]["leap"] == (1, 0)]
    assert announced == list(range(-59, 1))
    scale = UTC.with_leap(2029, 1, -1)
    last = scale.second(Civil(2028, 12, 31, 23, 59, 58))
    assert [read_irig_b(edges(last + n, 1, scale))[0][1]["leap"] for n in (-59, -58, 0, 1)] == [(0, 0), (1, 1), (1, 1), (0, 0)]
    assert read_irig_b(edges(LEAP, 1, TAI))[0][1]["leap"] == (0, 0)


def test_how_sure_the_time_is():
    assert [read_irig_b(irig_b.encode(NOW, quality=quality))[0][1]["quality"] for quality in (0, 7, 15)] == [0, 7, 15]


@pytest.mark.parametrize("first", [NOW, DAY_366, LEAP - 2])
@pytest.mark.parametrize("invert", [False, True])
def test_there_and_back(first, invert):
    records = [(tick, 1 - level if invert else level) for tick, level in recording(first, 5)]
    found = decode(IrigDecoder(HZ, invert=invert), records)
    assert [(frame.second, frame.tick, frame.spread) for frame in found] == [(first + n, (1 + n) * HZ, 0) for n in range(5)]


def test_the_wrong_polarity_gives_nothing():
    records = [(tick, 1 - level) for tick, level in recording(NOW, 4)]
    found = decode(IrigDecoder(HZ), records)
    assert found and not any(isinstance(each, Frame) for each in found)


@pytest.mark.parametrize("ppm", [-100, 3, 100])
def test_another_clock_and_a_line_that_jitters(ppm):
    """Edges up to 20 us beside their place: `spread` says so, whatever the rate of the board."""
    chance = random.Random(ppm)
    rate = HZ * (1 + Fraction(ppm, 1_000_000))
    clean = [round((at - NOW + 1) * rate) for at, _ in edges(NOW, 3)]
    records = [(tick + chance.randrange(-960, 961), n % 2 == 0) for n, tick in enumerate(clean)]
    found = decode(IrigDecoder(HZ), [(tick, int(level)) for tick, level in records])
    assert [frame.second for frame in found] == [NOW, NOW + 1, NOW + 2]
    assert all(0 < frame.spread <= 2 * 960 + 1 for frame in found)
    exact = decode(IrigDecoder(HZ), [(tick, int(n % 2 == 0)) for n, tick in enumerate(clean)])
    assert all(frame.spread <= 1 for frame in exact)


@pytest.mark.parametrize("expression", ["B000", "B002"])
def test_a_year_that_is_not_in_the_code(expression):
    """The one in which the day is nearest: around new year, and day 366 of a leap year."""
    for text, near in (
        ("2025-12-31 23:59:59", "2026-01-01 00:00:10"),
        ("2026-01-01 00:00:00", "2025-12-31 23:00:00"),
        ("2024-12-31 12:00:00", "2025-06-01 00:00:00"),
    ):
        second = UTC.of_posix(moment(text))
        decoder = IrigDecoder(HZ, expression=expression, near=UTC.of_posix(moment(near)))
        assert [frame.second for frame in decode(decoder, recording(second, 1, expression=expression))] == [second]
    with pytest.raises(BadInput, match="has no year"):
        IrigDecoder(HZ, expression=expression)


def with_bits(changes):
    """A second with some of its bits changed."""
    symbols = irig_b.bits(NOW)
    for place, symbol in changes.items():
        symbols[place] = symbol
    found = []
    for n, symbol in enumerate(symbols):
        found += [(HZ + n * HZ // 100, 1), (HZ + n * HZ // 100 + HZ * (2, 5, 8)[symbol] // 1000, 0)]
    return found


@pytest.mark.parametrize(
    "changes, text",
    [
        ({1: 1}, "parity: it is not even"),
        ({1: 1, 2: 0}, "second of the day"),
        ({4: 1, 2: 1}, "second: 5 tens and 14"),
        ({80: 1 - irig_b.bits(NOW)[80]}, "second of the day"),
        ({50: 1, 53: 1, 51: 1, 52: 1}, "year"),
        ({37: 1, 30: 1}, "2026 has no day 375"),
    ],
)
def test_a_frame_that_is_not_right(changes, text):
    found = decode(IrigDecoder(HZ), with_bits(changes))
    assert len(found) == 1 and isinstance(found[0], Fault) and text in found[0].text and found[0].tick == HZ


def test_the_parity_that_others_send():
    """Some clocks send it odd."""
    symbols = irig_b.bits(NOW)
    odd = with_bits({75: 1 - symbols[75]})
    assert [type(decode(IrigDecoder(HZ, parity=parity), odd)[0]) for parity in ("even", "odd", "none")] == [Fault, Frame, Frame]


@pytest.mark.parametrize("place", [9, 50, 99])
def test_a_marker_that_is_missing(place):
    records = with_bits({place: 0}) + [(tick + HZ, level) for tick, level in with_bits({})]
    found = decode(IrigDecoder(HZ), records) if place != 50 else decode(IrigDecoder(HZ), with_bits({place: 2}) + records[200:])
    assert [type(each) for each in found] == [Fault, Frame] and "100" in found[0].text and found[1].tick == 2 * HZ


@pytest.mark.parametrize("seed", range(30))
def test_nothing_is_invented_of_a_damaged_recording(seed):
    whole = recording(NOW, 5)
    truth = {(1 + n) * HZ: NOW + n for n in range(5)}
    parts, first, last = damaged(whole, seed)
    for reported in (True, False):
        found = decode_parts(IrigDecoder(HZ), parts if reported else [sum(parts, [])], first, 10 * HZ)
        frames = [each for each in found if isinstance(each, Frame)]
        check_damage(frames, truth, first, last, HZ)
        assert len(frames) == 5 or len(found) > len(frames) or sum(len(part) for part in parts) % 200 == 0


@pytest.mark.parametrize("width", [HZ // 10**6, HZ // 5000])
def test_a_glitch(width):
    """A pulse that is too short spoils its second, and no other one."""
    whole = recording(NOW, 3)
    place = 2 * HZ + HZ // 2 + HZ // 110
    records = sorted([*whole, (place, 1), (place + width, 0)])
    found = decode(IrigDecoder(HZ), records)
    assert [each.second for each in found if isinstance(each, Frame)] == [NOW, NOW + 2]
    assert "a pulse of" in next(each.text for each in found if isinstance(each, Fault))


def test_what_runs_on_without_a_frame_is_reported():
    records = [(n * HZ // 100 + edge * HZ // 500, 1 - edge) for n in range(1000) for edge in (0, 1)]
    found = decode(IrigDecoder(HZ), records)
    assert len(found) == 10 and all(isinstance(each, Fault) for each in found)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: irig_b.encode(NOW, expression="B009"), "expression: 'B009' is not one of B000"),
        (lambda: irig_b.encode(NOW, quality=16), "quality: 16 is outside 0 to 15"),
        (lambda: irig_b.encode(0.5), "second: 0.5 is not a whole number"),
        (lambda: IrigDecoder(HZ, parity="mark"), "parity: 'mark' is not even, odd or none"),
        (lambda: decode(IrigDecoder(HZ), [(1, 2)]), "level: 2 is not 0 or 1"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(BadInput) as error:
        call()
    assert str(error.value).startswith(message)
