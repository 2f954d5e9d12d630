# SPDX-License-Identifier: BSD-2-Clause
"""Formats, profiles and launches become the words that docs/registers.md describes."""

from fractions import Fraction

import pytest

from litepulse.errors import BadInput
from litepulse.layout import CONFIG, pack, unpack
from litepulse.line import Format, Launch, Profile
from litepulse.units import Timescale

TS = Timescale(48_000_000)


@pytest.mark.parametrize("text, bits", [("8N1", 10), ("7E1", 10), ("5O1.5", Fraction(17, 2)), ("8M2", 12), ("6s1", 9), ("8n2", 11)])
def test_frame_lengths(text, bits):
    assert Format.parse(text).bits == bits


@pytest.mark.parametrize("text", ["", "9N1", "8X1", "8N3", "4N1", "8N1.25", "N81", "8N1x"])
def test_formats_that_are_none(text):
    with pytest.raises(BadInput):
        Format.parse(text)


def test_profile_words_bit_by_bit():
    profile = Profile(TS.bit_period(9600), Format.parse("7E1.5", invert=True))
    fmt, period = profile.words()
    assert period == 5000 * 256
    # period_hi 0, data_bits 7-5 at 4, parity even = 2 at 6, stop 1.5 = 1 at 9, invert at 11
    assert fmt == 2 << 4 | 2 << 6 | 1 << 9 | 1 << 11
    assert Profile.from_words(fmt, period, TS.tick_hz) == profile


def test_a_period_of_more_than_32_bits_is_split():
    fast = Timescale(800_000_000, 2)
    profile = Profile(fast.bit_period(50))
    fmt, period = profile.words()
    assert (fmt & 15) << 32 | period == 32_000_000 * 256 and fmt & 15 == 1


def test_words_never_written_are_no_profile():
    assert Profile.from_words(0, 0, TS.tick_hz) is None
    assert Profile.from_words(7 << 6, 1280000, TS.tick_hz) is None


@pytest.mark.parametrize(
    "launch, word",
    [
        (Launch("frame", 0xA5, 1), 0xA5 | 1 << 8),
        (Launch("break", 13, 3), 13 | 3 << 8 | 1 << 10),
        (Launch("pulse", 0, 2, 77), 2 << 8 | 2 << 10),
    ],
)
def test_launch_words(launch, word):
    assert launch.word() == word
    assert launch.entry(0x1_2345_6789, 0xBEEF) == [0x23456789, 1, launch.width, word | 0xBEEF << 16]
    assert Launch.from_words(word, launch.width) == launch


def test_words_that_are_no_launch():
    assert Launch.from_words(3 << 10, 0) is None
    assert Launch.from_words(2 << 10, 0) is None
    assert Launch.from_words(1 << 10, 0) is None


@pytest.mark.parametrize("arguments", [("break", 0), ("break", 256), ("pulse", 0, 1, 0), ("pulse", 0, 1, 2**32), ("frame", 256)])
def test_launches_that_are_invalid(arguments):
    with pytest.raises(BadInput):
        Launch(*arguments)


def test_lengths_are_floors():
    profile = Profile(TS.bit_period(115200), Format.parse("8N1.5"))
    bit = Fraction(106667, 256)
    assert Launch("frame", 0).length(profile) == int(bit * Fraction(21, 2))
    assert Launch("break", 10).length(profile) == int(bit * Fraction(23, 2))
    assert Launch("pulse", 0, 1, 7).length(profile) == 7


def test_pack_refuses_what_does_not_fit():
    step = CONFIG["train_step"]
    assert pack(step, step=-1) == 0xFFFFFFFF and unpack(step, 0xFFFFFFFF) == {"step": -1}
    with pytest.raises(ValueError):
        pack(CONFIG["resp_match"], value=256)
    with pytest.raises(KeyError):
        pack(CONFIG["resp_match"], no_such_field=1)
