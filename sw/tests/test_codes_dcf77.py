# SPDX-License-Identifier: BSD-2-Clause
"""DCF77 against a reader of PTB's table, and against sigrok's decoder."""

from fractions import Fraction

import pytest

from litepulse import witness
from litepulse.codes import UTC, Civil, DcfDecoder, Fault, Frame, dcf77, decode
from litepulse.errors import BadInput

from .code_readers import HZ, check_damage, damaged, dcf_utc, decode_parts, moment, read_dcf77, sigrok, ticks

LEAP = UTC.second(Civil(2016, 12, 31, 23, 59, 60))
SPRING, AUTUMN = (UTC.of_posix(moment(text)) for text in ("2026-03-29 01:00:00", "2026-10-25 01:00:00"))
NOW = UTC.of_posix(moment("2026-11-30 12:34:00"))


def edges(first, seconds):
    return [edge for n in range(seconds) for edge in dcf77.encode(first + n)]


def recording(first, seconds):
    return ticks(edges(first, seconds), first - 10)


@pytest.mark.parametrize("first", [NOW, LEAP - 180, SPRING - 180, AUTUMN - 180, UTC.of_posix(moment("2024-12-31 22:57:00"))])
def test_a_reader_of_the_table(first):
    """Over a leap second, both changes of the time, and a new year in Germany."""
    read = read_dcf77(edges(first, 400))
    assert len(read) >= 5
    for when, local, more in read:
        assert dcf_utc(local, more["summer"]) == UTC.posix(int(when)) and UTC.civil(int(when)).second == 0


def test_the_change_of_the_time():
    """02:00 becomes 03:00 in spring; in autumn 02:59 is followed by 02:00."""
    for change, hours, summer in ((SPRING, (1, 3), (0, 1)), (AUTUMN, (2, 2), (1, 0))):
        read = {when: (local, more) for when, local, more in read_dcf77(edges(change - 180, 360))}
        before, after = read[change - 60], read[change]
        assert (before[0].hour, after[0].hour) == hours and (before[0].minute, after[0].minute) == (59, 0)
        assert (before[1]["summer"], after[1]["summer"]) == summer


@pytest.mark.parametrize("change, what", [(SPRING, "change"), (AUTUMN, "change"), (LEAP + 1, "leap")])
def test_announcements_last_for_an_hour(change, what):
    """In the 60 minutes before, and in no other."""
    place = {"change": 16, "leap": 19}[what]
    announced = []
    for number in range(-63, 3):
        start = UTC.of_posix(UTC.posix(change) + number * 60)
        announced += [number] if dcf77.bits(start)[place] else []
    assert announced == list(range(-60, 0))


def test_the_minute_of_a_leap_second():
    """It has a pulse more, and is followed by the second without one."""
    start = LEAP - 60
    assert len(dcf77.bits(start)) == 60 and len(dcf77.bits(start + 61)) == 59
    assert [len(dcf77.encode(start + n)) for n in (58, 59, 60, 61)] == [2, 2, 0, 2]
    ((_, local, more),) = [each for each in read_dcf77(edges(LEAP - 130, 200)) if each[0] == LEAP + 1]
    assert more["bits"] == 60 and str(local) == "2017-01-01 01:00:00"


def test_sigrok_reads_the_same(tmp_path):
    if not witness.available():
        pytest.skip("NOT TESTED: sigrok-cli is not installed")
    first = SPRING - 120
    pins = [(at - first + 3, level) for at, level in edges(first - 2, 185)]
    lines = [line.split(": ", 1)[1] for line in sigrok(tmp_path, pins, 1000, "dcf77:data=0", "dcf77")]
    text = "\n".join(lines)
    for wanted in (
        "Minutes: 59",
        "Hours: 1",
        "Minutes: 0",
        "Hours: 3",
        "Day: 29",
        "Day of week: 7 (Sunday)",
        "Month: 3 (March)",
        "Year: 26",
    ):
        assert wanted in text, wanted
    assert "INVALID" not in text and "Invalid" not in text and text.count("Date parity: OK") >= 2
    assert "Summer time announcement: active" in text and "CET: in effect" in text and "CEST: in effect" in text


@pytest.mark.parametrize("invert", [False, True])
@pytest.mark.parametrize("first", [NOW, LEAP - 120])
def test_there_and_back(first, invert):
    records = [(tick, 1 - level if invert else level) for tick, level in recording(first - 30, 240)]
    found = decode(DcfDecoder(HZ, invert=invert), records)
    frames = [each for each in found if isinstance(each, Frame)]
    assert len(frames) >= 2 and all(frame.spread == 0 and frame.tick == (frame.second - first + 40) * HZ for frame in frames)
    assert all(UTC.civil(frame.second).second == 0 for frame in frames)
    assert isinstance(found[0], Fault) and isinstance(found[-1], Fault), "what is before and behind whole minutes is reported"


def altered(changes):
    """Two minutes, the first of them with some bits changed."""
    found = []
    for n in range(-2, 62):
        level = dcf77.encode(NOW + n)
        if level and n in changes:
            level = [level[0], (level[0][0] + Fraction(1 + changes[n], 10), 0)]
        found += level
    return ticks(found, NOW - 10)


@pytest.mark.parametrize(
    "changes, text",
    [
        ({21: 1 - dcf77.bits(NOW)[21]}, "the parity of the minute"),
        ({30: 1 - dcf77.bits(NOW)[30]}, "the parity of the hour"),
        ({40: 1 - dcf77.bits(NOW)[40]}, "the parity of the date"),
        ({0: 1}, "bit 0 is not 0"),
        ({20: 0}, "bit 20 is not 1"),
        ({17: 1}, "neither summer time nor winter time"),
        ({42: 0, 43: 1}, "another day of the week"),
        ({24: 1, 23: 1, 22: 1}, "the digits"),
    ],
)
def test_a_minute_that_is_not_right(changes, text):
    found = decode(DcfDecoder(HZ), altered(changes))
    assert not any(isinstance(each, Frame) for each in found)
    assert any(text in each.text for each in found), found


@pytest.mark.parametrize("seed", range(30))
def test_nothing_is_invented_of_a_damaged_recording(seed):
    whole = recording(NOW - 2, 303)
    truth = {(12 + 60 * n) * HZ: NOW + 60 * n for n in range(1, 6)}
    parts, first, last = damaged(whole, seed)
    found = decode_parts(DcfDecoder(HZ), parts, first, 400 * HZ)
    frames = [each for each in found if isinstance(each, Frame)]
    check_damage(frames, truth, first, last, 121 * HZ)
    assert len(frames) == 5 or len(found) > len(frames)


def test_noise():
    """A short pulse spoils its minute; the wrong polarity gives none at all."""
    whole = recording(NOW - 2, 131)
    place = 30 * HZ + HZ // 2
    found = decode(DcfDecoder(HZ), sorted([*whole, (place, 1), (place + 4800, 0)]))
    assert [each.second for each in found if isinstance(each, Frame)] == [NOW + 120]
    found = decode(DcfDecoder(HZ, invert=True), whole)
    assert found and not any(isinstance(each, Frame) for each in found)


def test_bad_input():
    with pytest.raises(BadInput, match="is not the beginning of a minute"):
        dcf77.bits(NOW + 1)
