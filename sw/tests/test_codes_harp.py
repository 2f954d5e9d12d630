# SPDX-License-Identifier: BSD-2-Clause
"""Seconds with leap seconds, bytes from edges, and Harp's synchronization clock, against a reader of the specification alone."""

import random
from fractions import Fraction

import pytest

from litepulse import witness
from litepulse.codes import TAI, UTC, Civil, Fault, Fit, Frame, HarpDecoder, Scale, Uart, decode, harp
from litepulse.codes.scale import nearest, year_of
from litepulse.errors import BadInput

from .code_readers import HZ, check_damage, damaged, decode_parts, moment, read_harp, read_uart, sigrok, ticks

NOW = UTC.of_posix(moment("2026-11-30 12:00:00"))
SINCE_1904 = 2_082_844_800  # seconds from then to 1970, from Bonsai's and Harp's own tools


def uart_edges(sent, baud=100_000):
    """Edges [(when, level)] of bytes [(when, byte)]."""
    found, level = [], 1
    for at, byte in sent:
        for n, bit in enumerate([0, *(byte >> n & 1 for n in range(8)), 1]):
            if bit != level:
                found.append((at + Fraction(n, baud), bit))
                level = bit
    return found


# Seconds


@pytest.mark.parametrize(
    "text, offset",
    [
        ("1972-01-01 00:00:00", 10),
        ("1999-01-01 00:00:00", 32),
        ("2016-12-31 23:59:59", 36),
        ("2017-01-01 00:00:00", 37),
        ("2026-11-30 12:00:00", 37),
    ],
)
def test_tai_is_ahead_of_utc(text, offset):
    """Values of IERS Bulletin C and of the kernel's table."""
    posix = moment(text)
    assert UTC.of_posix(posix) == posix + offset and UTC.posix(posix + offset) == posix
    assert str(UTC.civil(posix + offset)) == text and UTC.offset(posix + offset) == offset
    assert str(TAI.civil(posix)) == text


def test_all_leap_seconds_are_where_the_kernel_has_them():
    """Those of the machine's own table of time zones, if it has one."""
    try:
        lines = open("/usr/share/zoneinfo/leapseconds", encoding="ascii").read().splitlines()
    except OSError:
        pytest.skip("NOT TESTED: no table of leap seconds on this machine")
    months = {"Jun": (6, 30), "Dec": (12, 31)}
    found = []
    for line in lines:
        words = line.split()
        if words and words[0] == "Leap":
            found.append((int(words[1]), *months[words[2]]))
    civils = [Civil(year, month, day, 23, 59, 60) for year, month, day in found]
    assert len(civils) == 27 == len(UTC.steps) - 1
    for civil in civils:
        assert UTC.civil(UTC.second(civil)) == civil


def test_a_leap_second_and_what_is_around_it():
    start = UTC.second(Civil(2016, 12, 31, 23, 59, 58))
    shown = [str(UTC.civil(start + n)) for n in range(4)]
    assert shown == ["2016-12-31 23:59:58", "2016-12-31 23:59:59", "2016-12-31 23:59:60", "2017-01-01 00:00:00"]
    assert [UTC.posix(start + n) - UTC.posix(start) for n in range(4)] == [0, 1, 2, 2]
    assert UTC.leap_after(start) == (start + 3, 1) and UTC.leap_after(start + 3) is None
    scale = UTC.with_leap(2029, 1, -1)
    start = scale.second(Civil(2028, 12, 31, 23, 59, 57))
    assert [str(scale.civil(start + n))[-8:] for n in range(3)] == ["23:59:57", "23:59:58", "00:00:00"]
    assert scale.leap_after(start) == (start + 2, -1)


@pytest.mark.parametrize(
    "civil", [Civil(2018, 12, 31, 23, 59, 60), Civil(2026, 2, 29), Civil(2026, 13, 1), Civil(2026, 1, 1, 24), Civil(2026, 1, 1, 0, 0, 61)]
)
def test_a_time_that_no_second_has(civil):
    with pytest.raises(BadInput):
        UTC.second(civil)


def test_every_second_has_one_name():
    chance = random.Random(1)
    scale = UTC.with_leap(2030, 7)
    for _ in range(500):
        leap = chance.choice(scale.steps[1:])
        second = leap[0] + leap[1] + chance.randrange(-5, 5) if chance.random() < 0.5 else chance.randrange(10**8, 10**10)
        assert scale.second(scale.civil(second)) == second


def test_days_of_a_year():
    assert Civil(2024, 12, 31).day_of_year == 366 and Civil(2026, 3, 1).day_of_year == 60
    assert Civil.of_day(2024, 366) == Civil(2024, 12, 31)
    for year, day in ((2026, 366), (2026, 0), (2024, 367)):
        with pytest.raises(BadInput):
            Civil.of_day(year, day)
    assert Civil(2026, 11, 30).weekday == 1


@pytest.mark.parametrize(
    "call", [lambda: UTC.civil(10**15), lambda: UTC.civil(1.5), lambda: UTC.with_leap(2000, 1), lambda: UTC.with_leap(2030, 1, 2)]
)
def test_seconds_that_make_no_sense(call):
    with pytest.raises(BadInput):
        call()


def test_what_few_digits_mean():
    assert [nearest(value, 10, 1234) for value in (4, 9, 8, 0)] == [1234, 1229, 1238, 1230]
    assert year_of(26, None) == 2026 and year_of(99, 2001) == 1999 and year_of(1, 2099) == 2101


# Bytes from edges


@pytest.mark.parametrize("invert", [False, True])
def test_bytes_from_edges(invert):
    chance = random.Random(3)
    sent = [(Fraction(n * 13, 100_000), chance.randrange(256)) for n in range(100)]
    edges = uart_edges(sent)
    uart = Uart(HZ, Fraction(100_000) * Fraction(102, 100), invert)  # 2 % beside the sender's
    got = []
    for at, level in edges:
        got += uart.feed(round(at * HZ), 1 - level if invert else level)
    got += uart.advance(10**9)
    assert (
        got
        == [(round(at * HZ), byte, True) for at, byte in sent]
        == [(*each, True) for each in ticks(read_uart(edges, Fraction(1, 100_000)), 0)]
    )


def test_a_break_and_a_glitch():
    uart = Uart(HZ, 100_000)
    records = [(1000, 0), (1100, 1), (100_000, 0), (106_000, 1)]
    got = [each for record in records for each in uart.feed(*record)] + uart.advance(10**6)
    assert got == [(100_000, 0, False)]
    with pytest.raises(BadInput):
        uart.feed(0, 2)


# Harp


def recording(first, count, scale=UTC, epoch=harp.EPOCH, hz=HZ):
    return [record for n in range(count) for record in ticks(harp.encode(first + n, scale, epoch), first - 2, hz)]


def test_the_last_byte_starts_672_us_before_the_second():
    """Exactly, on the ticks of every board: they are whole."""
    sent = harp.encode(NOW)
    (when, number), *none = read_harp(sent)
    assert not none and when == NOW and number == moment("2026-11-30 12:00:00") + SINCE_1904
    assert [byte for _, byte in sent[:2]] == [0xAA, 0xAF] and sent[5][0] == NOW - Fraction(672, 1_000_000)
    for clock in (12_000_000, 25_000_000, 48_000_000, 100_000_000, 800_000_000):
        assert (Fraction(672, 1_000_000) * clock).denominator == 1
    gaps = {b - a for (a, _), (b, _) in zip(sent, sent[1:])}
    assert min(gaps) >= Fraction(100, 1_000_000), "a byte takes 100 us"


@pytest.mark.parametrize("epoch", [0, harp.EPOCH, -moment("2026-11-30 11:00:00")])
def test_there_and_back(epoch):
    found = decode(HarpDecoder(HZ, epoch=epoch), recording(NOW, 20, epoch=epoch))
    assert [(frame.second, frame.tick) for frame in found] == [(NOW + n, (2 + n) * HZ) for n in range(20)]


def test_sigrok_reads_the_same_bytes(tmp_path):
    if not witness.available():
        pytest.skip("NOT TESTED: sigrok-cli is not installed")
    sent = harp.encode(NOW)
    edges = [(at - NOW + Fraction(2, 1000), level) for at, level in uart_edges(sent)]
    lines = sigrok(tmp_path, edges, 2_000_000, "uart:rx=0:baudrate=100000", "uart=rx-data", rest=1)
    assert [int(line.split()[-1], 16) for line in lines] == [byte for _, byte in sent]


def test_32_bits_wrap():
    """Harp's count since 1904 begins again in February 2040; one that began before goes on."""
    wrap = UTC.of_posix((1 << 32) - SINCE_1904)
    assert [read_harp(harp.encode(wrap + n))[0][1] for n in (-1, 0)] == [(1 << 32) - 1, 1 << 32] and harp.number_of(wrap) == 0
    found = decode(HarpDecoder(HZ, near=wrap), recording(wrap - 3, 6))
    assert [frame.second for frame in found] == [wrap - 3 + n for n in range(6)] and found[3].text == "0"
    found = decode(HarpDecoder(HZ), recording(wrap - 3, 6))
    assert [frame.second for frame in found[:3]] == [wrap - 3 + n for n in range(3)]


def test_a_number_with_the_header_in_it_is_not_sent():
    """As in the example of the specification; the receiver goes on by itself."""
    for payload in (0x0000AFAA, 0x00AFAA00, 0xAFAA0000):
        second = UTC.of_posix(payload + 1)
        assert harp.encode(second, epoch=0) == [] and len(harp.encode(second, epoch=-1)) == 6
    first = UTC.of_posix(0x5000AFA9)
    found = decode(HarpDecoder(HZ, epoch=0), recording(first, 4, epoch=0))
    assert [frame.second for frame in found] == [first, first + 1, first + 3]


def test_utc_and_tai_over_a_leap_second():
    """The count of UTC stands still for a second; that of TAI does not."""
    leap = UTC.second(Civil(2016, 12, 31, 23, 59, 60))
    numbers = {scale: [read_harp(harp.encode(leap + n, scale))[0][1] for n in (-1, 0, 1, 2)] for scale in (UTC, TAI)}
    assert [number - numbers[UTC][0] for number in numbers[UTC]] == [0, 1, 1, 2]
    assert [number - numbers[TAI][0] for number in numbers[TAI]] == [0, 1, 2, 3]


def test_a_byte_that_could_begin_the_next_frame():
    """A frame without its last byte, and then a header: the 0xAA is not taken for the last byte."""
    whole = recording(NOW, 3)
    cut = whole[:5] + whole[6:]
    found = decode(HarpDecoder(HZ), cut)
    assert [type(each) for each in found] == [Fault, Frame, Frame] and found[1].second == NOW + 1
    assert (
        decode(HarpDecoder(HZ), [(tick, value) for tick, value in whole[:5]] + [(whole[4][0] + 5760, 0xAA)])[0].text
        == "a frame of 6 bytes: the recording ends"
    )
    found = decode(HarpDecoder(HZ), [*whole[:6], (whole[5][0] + 5000, 0x12), *whole[6:]])
    assert isinstance(found[0], Fault) and [frame.second for frame in found if isinstance(frame, Frame)] == [NOW + 1, NOW + 2]


def test_the_reference_generator():
    """It sends five bytes behind a second, and the last one before the next: from the program of the specification."""
    records, number = [], moment("2026-11-30 12:00:00") + SINCE_1904
    for n in range(5):
        payload = (number + n).to_bytes(4, "little")
        places = [1, 2, 4, 6, 7]
        records += [(Fraction(n) + Fraction(place, 2000), byte) for place, byte in zip(places, [0xAA, 0xAF, *payload[:3]])]
        records.append((n + 1 - Fraction(672, 1_000_000), payload[3]))
    found = decode(HarpDecoder(HZ), ticks(records, 0))
    assert [(frame.second, frame.tick) for frame in found] == [(NOW + 1 + n, (n + 1) * HZ) for n in range(5)]


@pytest.mark.parametrize("seed", range(60))
def test_nothing_is_invented_of_a_damaged_recording(seed):
    count = 12
    whole = recording(NOW, count)
    truth = {(2 + n) * HZ: NOW + n for n in range(count)}
    parts, first, last = damaged(whole, seed)
    found = decode_parts(HarpDecoder(HZ), parts, first, min(last, (count + 3) * HZ))
    frames = [each for each in found if isinstance(each, Frame)]
    check_damage(frames, truth, first, last, HZ // 100)
    assert len(frames) == count or len(found) > len(frames) or sum(len(part) for part in parts) % 6 == 0


def test_bytes_with_errors_and_noise():
    whole = [(*record, True) for record in recording(NOW, 3)]
    whole[8] = (*whole[8][:2], False)
    found = decode(HarpDecoder(HZ), [(5, 0x33), (6, 0xAA), (7, 0x34), *whole])
    assert [type(each) for each in found] == [Fault, Frame, Fault, Fault, Frame] and found[0].text == "bytes of no frame: 3"
    assert "a byte with an error" in found[2].text
    assert sum(isinstance(each, Fault) for each in decode(HarpDecoder(HZ), [(n, 0x11) for n in range(1000)])) == 10


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: HarpDecoder(0), "tick_hz: 0 is not more than 0"),
        (lambda: decode(HarpDecoder(HZ), [(5, 1), (4, 1)]), "tick: 4 comes after 5"),
        (lambda: decode(HarpDecoder(HZ), [(5,)]), "records: each is"),
        (lambda: decode(HarpDecoder(HZ), [(5, "a")]), "value: 'a' is not a whole number"),
        (lambda: harp.encode(1.5), "second: 1.5 is not a whole number"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(BadInput) as error:
        call()
    assert str(error.value).startswith(message)


# The line through frames


def test_offset_and_rate_of_a_code():
    """A board whose clock is 12.5 ppm fast, frames beside the line by a tick or two."""
    rate = HZ * (1 + Fraction(125, 10_000_000))
    fit = Fit(HZ)
    places = [0, 1, -1, 2, 0, -2, 1, 0]
    frames = [Frame(NOW + n, 1000 + n * rate + off, Fraction(0), "") for n, off in enumerate(places * 10)]
    residuals = [fit.add(frame) for frame in frames]
    assert residuals[0] == 0 and residuals[1] == 601, "the second frame is judged by the nominal rate"
    assert max(abs(each) for each in residuals[3:]) < 8
    assert abs(fit.ppm - Fraction(25, 2)) < Fraction(1, 100)
    assert abs(fit.tick_of(NOW + 40) - 1000 - 40 * rate) < 1 and abs(fit.second_of(frames[40].tick) - NOW - 40) < Fraction(1, HZ) * 3
    with pytest.raises(BadInput):
        Fit(HZ).tick_of(0)


def test_a_scale_of_ones_own():
    scale = Scale("GPS", ((0, 19),))
    assert str(scale.civil(TAI.second(Civil(2026, 11, 30, 0, 0, 19)))) == "2026-11-30 00:00:00"
