# SPDX-License-Identifier: BSD-2-Clause
"""NMEA sentences and the pulse per second, against a reader of the format alone."""

from fractions import Fraction

import pytest

from litepulse.codes import UTC, Civil, Fault, Frame, NmeaDecoder, decode, nmea
from litepulse.errors import BadInput

from .code_readers import HZ, check_damage, damaged, decode_parts, moment, read_nmea, ticks

NOW = UTC.of_posix(moment("2026-11-30 12:34:56"))
LEAP = UTC.second(Civil(2016, 12, 31, 23, 59, 60))


def sent(first, count, **options):
    return [byte for n in range(count) for byte in nmea.encode(first + n, **options)]


def recording(first, count, **options):
    return ticks(sent(first, count, **options), first - 1)


@pytest.mark.parametrize("first", [NOW, LEAP - 1, UTC.of_posix(moment("2024-12-31 23:59:59"))])
def test_a_reader_of_the_format(first):
    text = bytes(byte for _, byte in sent(first, 3)).decode("ascii")
    read = read_nmea(text)
    assert [name for name, _ in read] == ["GPRMC", "GPZDA"] * 3
    for n in range(3):
        civil, (_, rmc), (_, zda) = UTC.civil(first + n), read[2 * n], read[2 * n + 1]
        time = f"{civil.hour:02}{civil.minute:02}{civil.second:02}.00"
        assert rmc[0] == zda[0] == time and rmc[1] == "A" and len(rmc) == 12
        assert rmc[8] == f"{civil.day:02}{civil.month:02}{civil.year % 100:02}"
        assert zda[1:] == [f"{civil.day:02}", f"{civil.month:02}", str(civil.year), "00", "00"]


def test_a_sentence_of_the_standards_examples():
    """A published checksum."""
    assert nmea.checksum("GPGLL,5057.970,N,00146.110,E,142451,A") == 0x27
    assert nmea.checksum("GPZDA,201530.00,04,07,2002,00,00") == 0x60


def test_the_fields_package_reads_them():
    pynmea2 = pytest.importorskip("pynmea2", reason="NOT TESTED: pynmea2 is not installed")
    for second in (NOW, UTC.of_posix(moment("2024-02-29 00:00:00"))):
        for kind in nmea.SENTENCES:
            message = pynmea2.parse(nmea.sentence(kind, second).strip(), check=True)
            civil = UTC.civil(second)
            date = message.datestamp if kind == "RMC" else message.datestamp
            assert (message.timestamp.hour, message.timestamp.minute, message.timestamp.second) == (civil.hour, civil.minute, civil.second)
            assert (date.year, date.month, date.day) == (civil.year, civil.month, civil.day)


def test_when_the_bytes_start():
    """Back to back from 100 ms behind the second on, at any bit rate."""
    for baud in (4800, 9600, 115200):
        places = [at for at, _ in sent(NOW, 1, baud=baud)]
        assert places[0] == NOW + Fraction(1, 10) and {b - a for a, b in zip(places, places[1:])} == {Fraction(10, baud)}
    assert nmea.pulse(NOW) == [(NOW, 1), (NOW + Fraction(1, 10), 0)]


@pytest.mark.parametrize("first", [NOW, LEAP - 2])
def test_there_and_back_by_the_delay(first):
    found = decode(NmeaDecoder(HZ), recording(first, 5))
    assert [(frame.second, frame.tick) for frame in found] == [(first + n, (1 + n) * HZ) for n in range(5)]


def merged(first, count, offset, names="last", pulses=None):
    """Bytes and pulses in the order of time: what a decoder that has both finds. offset: of the pulses, in ticks."""
    delay = Fraction(1, 10) if names == "last" else Fraction(7, 10)
    shift = 0 if names == "last" else 1
    records = [
        (tick, value, False) for tick, value in ticks([b for n in range(count) for b in nmea.encode(first + n, delay=delay)], first - 1)
    ]
    records = [(tick - shift * HZ, value, pulse) for tick, value, pulse in records]
    records += [((1 + n) * HZ + offset, 1, True) for n in (range(count) if pulses is None else pulses)]
    decoder = NmeaDecoder(HZ, pulses=True, names=names)
    found = []
    for tick, value, pulse in sorted(records):
        found += decoder.pulse(tick) if pulse else decoder.feed(tick, value)
    return found + decoder.end()


@pytest.mark.parametrize("names", ["last", "next"])
@pytest.mark.parametrize("offset", [0, 31, -31])
def test_the_pulse_is_the_second(names, offset):
    """Of receivers that name the second that has begun, and of those that name the one to come."""
    found = merged(NOW, 4, offset, names)
    assert [(frame.second, frame.tick) for frame in found if isinstance(frame, Frame)] == [
        (NOW + n, (1 + n) * HZ + offset) for n in range(4)
    ]


def test_pulses_that_are_missing():
    found = merged(NOW, 4, 0, pulses=[0, 3])
    assert [type(each) for each in found] == [Frame, Fault, Fault, Frame]
    assert found[1].text.startswith("no pulse within a second before GPRMC 2026-11-30 12:34:57")
    found = merged(NOW, 4, 0, "next", pulses=[0, 3])
    assert [each.second for each in found if isinstance(each, Frame)] == [NOW, NOW + 3]
    assert sum("no pulse behind" in each.text for each in found if isinstance(each, Fault)) == 2


@pytest.mark.parametrize(
    "text, fault",
    [
        ("$GPRMC,123456.00,A,,,,,,,301126,,,A*00", "wrong checksum"),
        ("$GPRMC,123456.00,V,,,,,,,301126,,,N", "no fix"),
        ("$GPRMC,126056.00,A,,,,,,,301126,,,A", "minute: 60 is outside"),
        ("$GPRMC,123460.00,A,,,,,,,301126,,,A", "has no 2026-11-30 12:34:60"),
        ("$GPRMC,123456.00,A,,,,,,,310226,,,A", "has no 2026-02-31"),
        ("$GPRMC,,V,,,,,,,,,,N", "no fix"),
        ("$GPRMC,,A,,,,,,,,,,N", "no date and time"),
        ("$GPZDA,123456.00,30", "has 3 fields"),
        ("$GPZDA,12345x.00,30,11,2026,00,00", "no date and time"),
        ("$GPZDA,123456.00,30,11,2026,00", None),
        ("$GNZDA,123456,30,11,2026,00,00", None),
        ("$GPRMC,123456.000,A,4807.038,N,01131.000,E,022.4,084.4,301126,003.1,W", None),
    ],
)
def test_sentences_of_receivers(text, fault):
    if "*" not in text:
        text += f"*{nmea.checksum(text[1:]):02X}"
    found = decode(NmeaDecoder(HZ), [(n * 50_000, byte) for n, byte in enumerate(f"{text}\r\n".encode())])
    assert len(found) == 1
    if fault is None:
        assert found[0].second == NOW
    else:
        assert isinstance(found[0], Fault) and fault in found[0].text


def test_what_names_no_second_is_passed_over():
    """Other sentences, and the fixes between whole seconds."""
    lines = ["GPGGA,123456.00,,,,,0,00,,,M,,M,,", "GPRMC,123456.20,A,,,,,,,301126,,,A", "GPTXT,01,01,02,hello"]
    text = "".join(f"${line}*{nmea.checksum(line):02X}\r\n" for line in lines)
    assert decode(NmeaDecoder(HZ), [(n * 50_000, byte) for n, byte in enumerate(text.encode())]) == []


def test_noise_and_cut_sentences():
    whole = [(tick, value, True) for tick, value in recording(NOW, 3)]
    middle = len(whole) // 2
    whole[middle] = (whole[middle][0], whole[middle][1], False)
    records = [(n, value, True) for n, value in enumerate(b"\x00\xffabc,123\r\n$GPRM")] + whole
    found = decode(NmeaDecoder(HZ), records)
    assert {each.second for each in found if isinstance(each, Frame)} == {NOW, NOW + 1, NOW + 2}
    texts = [each.text for each in found if isinstance(each, Fault)]
    assert (
        texts
        == ["bytes of no sentence: 9", "a sentence that is not whole: it is cut", "a sentence that is not whole: a byte with an error"]
        or len(texts) >= 3
    )
    assert len(decode(NmeaDecoder(HZ), [(n, ord("x")) for n in range(250)])) == 3


@pytest.mark.parametrize("seed", range(40))
def test_nothing_is_invented_of_a_damaged_recording(seed):
    whole = recording(NOW, 5)
    parts, first, last = damaged(whole, seed)
    found = decode_parts(NmeaDecoder(HZ), parts, first, 10 * HZ)
    for frame in (each for each in found if isinstance(each, Frame)):
        # Without its first sentence a second has the place of its other one.
        assert -HZ // 10 <= frame.tick - (1 + frame.second - NOW) * HZ < HZ // 2 and NOW <= frame.second < NOW + 5
    clean = [each for each in found if isinstance(each, Frame) and abs(each.tick - (1 + each.second - NOW) * HZ) < 2]
    check_damage(clean, {(1 + n) * HZ: NOW + n for n in range(5)}, first, last, HZ)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: nmea.encode(NOW, baud=600), "baud: 600 is too slow"),
        (lambda: nmea.encode(NOW, delay=1), "delay: 1 s is not from 0 s"),
        (lambda: nmea.encode(NOW, sentences=("GGA",)), "sentences: 'GGA' is not one of RMC, ZDA"),
        (lambda: NmeaDecoder(HZ, names="both"), "names: 'both' is not last or next"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(BadInput) as error:
        call()
    assert str(error.value).startswith(message)
