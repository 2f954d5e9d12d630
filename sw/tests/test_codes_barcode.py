# SPDX-License-Identifier: BSD-2-Clause
"""Barcodes against a reader that works as the field's scripts do."""

import random
from fractions import Fraction

import pytest

from litepulse.codes import LAYOUTS, UTC, BarcodeDecoder, Fault, Frame, Layout, barcode, decode
from litepulse.errors import BadInput

from .code_readers import HZ, check_damage, damaged, decode_parts, moment, read_barcodes, ticks

NOW = UTC.of_posix(moment("2026-11-30 12:00:00"))
MS = Fraction(1, 1000)
FIELD = {"open-ephys": (29 * MS, 40 * MS), "one-core": (30 * MS, 20 * MS)}  # a bar, and from the first edge to the first bar


def recording(count, layout, every=5):
    edges = [edge for n in range(count) for edge in barcode.encode(NOW + n * every, layout=LAYOUTS[layout])]
    return ticks(edges, NOW - 2)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_reader_of_the_field(layout):
    """Its number, its first edge: that of the second."""
    edges = [edge for n in range(4) for edge in barcode.encode(NOW + n * 5, layout=LAYOUTS[layout])]
    bar, begin = FIELD[layout]
    assert read_barcodes(edges, Fraction(2), bar, begin) == [(NOW + n * 5, UTC.posix(NOW) + n * 5) for n in range(4)]


def read_as_the_example(rises, falls, start):
    """The number that the example script of Open Ephys gives of a barcode that starts there.

    It looks once a bar, from the end of the first pulse on, and takes 1 where the next edge is a rise.
    """
    later = [at for at in rises if at > start], [at for at in falls if at > start]
    here, number = later[1][0], 0
    for bit in range(32):
        rise, fall = (min((at for at in edges if at > here), default=start + 3) for edges in later)
        number |= (rise < fall) << bit
        here += Fraction(29, 1000)
    return number


def test_the_example_script_of_open_ephys():
    """Its number is another one, of this generator as of Open Ephys': inverted, and one bit further (with bit 30 set)."""
    for value in (UTC.posix(NOW), 0x40000000, 0x52345678, 0x7FFFFFFF):
        edges = barcode.encode(NOW, value=value)
        rises, falls = ([at for at, level in edges if level == wanted] for wanted in (1, 0))
        assert read_as_the_example(rises, falls, NOW) == ((~value & 0xFFFFFFFF) << 1 | 1) & 0xFFFFFFFF


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("value", [0, 1, 1 << 31, (1 << 32) - 1, 0xAAAAAAAA, 0x0000FFFF])
def test_any_number(layout, value):
    edges = barcode.encode(NOW, layout=LAYOUTS[layout], value=value)
    bar, begin = FIELD[layout]
    assert read_barcodes(edges, Fraction(2), bar, begin) == [(NOW, value)]
    (frame,) = decode(BarcodeDecoder(HZ, layout=LAYOUTS[layout]), ticks(edges, NOW - 2), until=4 * HZ)
    assert (frame.text, frame.tick, UTC.posix(frame.second)) == (str(value), 2 * HZ, value)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("invert", [False, True])
def test_there_and_back(layout, invert):
    records = [(tick, 1 - level if invert else level) for tick, level in recording(6, layout)]
    found = decode(BarcodeDecoder(HZ, layout=LAYOUTS[layout], invert=invert), records, until=40 * HZ)
    assert [(frame.second, frame.tick, frame.spread) for frame in found] == [(NOW + 5 * n, (2 + 5 * n) * HZ, 0) for n in range(6)]
    wrong = decode(BarcodeDecoder(HZ, layout=LAYOUTS[layout], invert=not invert), records, until=40 * HZ)
    assert not any(isinstance(each, Frame) for each in wrong) and wrong


def test_fewer_bits_are_completed():
    layout = Layout(bits=16, bit=10 * MS, high=7 * MS, low=7 * MS)
    edges = [edge for n in range(8) for edge in barcode.encode(NOW + n * 20_000, layout=layout)]
    found = decode(BarcodeDecoder(HZ, layout=layout, near=NOW - 5000), ticks(edges, NOW - 2), until=10**15)
    assert [frame.second for frame in found] == [NOW + n * 20_000 for n in range(8)]


@pytest.mark.parametrize("seed", range(3))
def test_a_microcontroller(seed):
    """Its levels last up to 2 ms too long, by chance: delay() and digitalWrite() of a sketch."""
    chance = random.Random(seed)
    at, edges = Fraction(0), []
    for number in range(5):
        levels = [(1, 20), (0, 20), *((0x12345678 + number >> n & 1, 29) for n in range(32)), (0, 4000)]
        slow = Fraction(chance.randrange(-3, 4), 1000)
        for level, length in levels:
            edges.append((at, level))
            at += length * MS * (1 + slow) + Fraction(chance.randrange(40), 1_000_000)
    kept = [edge for n, edge in enumerate(edges) if n == 0 or edge[1] != edges[n - 1][1]]
    found = decode(BarcodeDecoder(HZ), ticks(kept, -1), until=10**10)
    assert [frame.text for frame in found] == [str(0x12345678 + n) for n in range(5)]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("seed", range(30))
def test_nothing_is_invented_of_a_damaged_recording(layout, seed):
    whole = recording(6, layout)
    truth = {(2 + 5 * n) * HZ: NOW + 5 * n for n in range(6)}
    parts, first, last = damaged(whole, seed)
    found = decode_parts(BarcodeDecoder(HZ, layout=LAYOUTS[layout]), parts, first, first if last == 1 << 62 else 40 * HZ)
    check_damage([each for each in found if isinstance(each, Frame)], truth, first, last, 2 * HZ)


def test_a_recording_that_begins_within_a_barcode():
    """Its last pulse, or bits that look like a first pulse, begin no barcode."""
    records = recording(2, "one-core")
    second = next(n for n, (tick, _) in enumerate(records) if tick == 7 * HZ)
    for cut in range(1, second):
        found = decode(BarcodeDecoder(HZ, layout=barcode.ONE_CORE), records[cut:], until=40 * HZ)
        assert [each.second for each in found if isinstance(each, Frame)] == [NOW + 5], cut
        assert any(isinstance(each, Fault) for each in found) or cut == second - 1


@pytest.mark.parametrize("place, width, text", [(300, 1, "pulse of 1.000 ms"), (500, 20, "an edge between its bits")])
def test_a_glitch(place, width, text):
    edges = barcode.encode(NOW, value=0)
    records = sorted(ticks(edges, NOW - 2) + [(2 * HZ + (40 + place) * HZ // 1000, 1), (2 * HZ + (40 + place + width) * HZ // 1000, 0)])
    (fault,) = decode(BarcodeDecoder(HZ), records, until=5 * HZ)
    assert isinstance(fault, Fault) and ("barcode with a" in fault.text or text in fault.text)


def test_pulses_of_something_else():
    records = [(n * HZ // 2 + edge * HZ // 4, 1 - edge) for n in range(1, 200) for edge in (0, 1)]
    found = decode(BarcodeDecoder(HZ), records, until=200 * HZ)
    assert [each.text for each in found] == ["pulses of no barcode: 100", "pulses of no barcode: 99"]


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: Layout(bit=10 * MS, high=20 * MS), "high: the pulse before the bits has the length"),
        (lambda: Layout(bits=65), "bits: 65 is outside 1 to 64"),
        (lambda: Layout(bit=0), "barcode: its lengths are more than 0"),
        (lambda: Layout(tail=(1,)), "tail: none, or"),
        (lambda: barcode.encode(NOW, value=1 << 32), "value: 4294967296 is outside"),
        (lambda: barcode.layout_of("x"), "layout: 'x' is not one of open-ephys, one-core"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(BadInput) as error:
        call()
    assert str(error.value).startswith(message)
