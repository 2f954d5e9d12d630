# SPDX-License-Identifier: BSD-2-Clause
"""Parsing and conversion are exact, and values that do not fit are refused."""

import decimal
import math
import random
import tomllib
from fractions import Fraction
from pathlib import Path

import pytest

from litepulse import layout
from litepulse.errors import BadInput
from litepulse.line import Launch
from litepulse.units import (
    Duration,
    Period,
    Timescale,
    approx,
    exact,
    fixed,
    in_ticks,
    parse_byte,
    parse_count,
    parse_duration,
    parse_rate,
    si,
)

UP5K = Timescale(48_000_000)


@pytest.mark.parametrize(
    "text, value",
    [
        ("58", 58),
        ("61.7", Fraction(617, 10)),
        ("617/10", Fraction(617, 10)),
        ("44.1k", 44100),
        ("1M/7", Fraction(10**6, 7)),
        ("1e3", 1000),
        ("58Hz", 58),
        ("44.1 kHz", 44100),
        (".5", Fraction(1, 2)),
        ("12345.678", Fraction(12345678, 1000)),
        ("5.", 5),
        ("100m", Fraction(1, 10)),
        ("1/3", Fraction(1, 3)),
        ("2.5E-3", Fraction(1, 400)),
        (" 9600 ", 9600),
    ],
)
def test_rates_are_exact(text, value):
    assert parse_rate(text) == value


@pytest.mark.parametrize(
    "text", ["0", "-1", "0/5", "nan", "inf", "", "k", "1/0", "1/2/3", "58Mhz!", "1e999999999", "0x10", "1_000", "--5", "+-5", "١"]
)
def test_rates_that_are_none(text):
    with pytest.raises(BadInput):
        parse_rate(text)


@pytest.mark.parametrize(
    "text, value",
    [
        ("5us", Duration(seconds=Fraction(5, 10**6))),
        ("5µs", Duration(seconds=Fraction(5, 10**6))),
        ("1.5ms", Duration(seconds=Fraction(3, 2000))),
        ("1/58", Duration(seconds=Fraction(1, 58))),
        ("2s", Duration(seconds=Fraction(2))),
        ("827586t", Duration(ticks=Fraction(827586))),
        ("24000000/29t", Duration(ticks=Fraction(24000000, 29))),
        ("7 ticks", Duration(ticks=Fraction(7))),
        ("250ns", Duration(seconds=Fraction(1, 4 * 10**6))),
        ("+10ms", Duration(seconds=Fraction(1, 100), relative=True)),
        ("1 tick", Duration(ticks=Fraction(1))),
    ],
)
def test_durations_are_exact(text, value):
    assert parse_duration(text) == value


def test_signed_durations():
    assert parse_duration("-5us", signed=True).seconds == Fraction(-5, 10**6)
    assert parse_duration("-1t", signed=True).ticks == -1
    with pytest.raises(BadInput, match="negative"):
        parse_duration("-1t")


@pytest.mark.parametrize("text", ["", "t", "abc", "1h", "nanms", "1ms2", "1e99999s"])
def test_durations_that_are_none(text):
    with pytest.raises(BadInput):
        parse_duration(text)


def test_bytes_and_counts():
    assert [parse_byte(t) for t in ("0xff", "255", "0b101", "0")] == [255, 255, 5, 0]
    for bad in ("300", "-1", "256", "x", "1.5", ""):
        with pytest.raises(BadInput):
            parse_byte(bad)
    assert parse_count("4294967295") == 2**32 - 1
    for bad in ("-1", "4294967296", "2.5", "many"):
        with pytest.raises(BadInput):
            parse_count(bad)


def test_58_hz_keeps_its_fraction():
    period = UP5K.period(UP5K.period_of_rate(58), 80)
    assert period == Period(827586, 6, 29) and period.ticks == Fraction(24_000_000, 29)


def test_a_denominator_of_two_to_the_32_is_written_as_zero():
    ticks = 1000 + Fraction(1, 2**32)
    period = UP5K.period(ticks, 80)
    assert period.den == 0 and period.ticks == ticks


@pytest.mark.parametrize("ticks", [Fraction(1, 2**33) + 1000, 1000 + Fraction(1, 2**32 + 1), 2**32 - 1, 79, Fraction(7999, 100), 0])
def test_periods_that_do_not_fit(ticks):
    with pytest.raises(BadInput):
        UP5K.period(ticks, 80)


def test_the_longest_period_fits():
    assert UP5K.period(2**32 - 1 - Fraction(1, 2**32), 80) == Period(2**32 - 2, 2**32 - 1, 0)


def test_the_minimum_counts_cycles_not_ticks():
    fast = Timescale(48_000_000, 4)
    assert fast.period(320, 80).whole == 320
    with pytest.raises(BadInput, match=r"the shortest is 1\.667 µs \(320 ticks\)$"):
        fast.period(319, 80)


@pytest.mark.parametrize(
    "baud, raw",
    [
        (9600, 5000 * 256),
        (12_000_000, 4 * 256),
        (50, 960000 * 256),
        (5, 9_600_000 * 256),
        (Fraction(4545, 100), 270363036),
        (115200, 106667),
    ],
)
def test_bit_periods_round_to_the_nearest(baud, raw):
    bit = UP5K.bit_period(baud)
    assert bit.raw == raw and bit.baud == Fraction(48_000_000 * 256, raw)


def test_no_other_bit_period_is_nearer():
    for baud in (Fraction(12345678, 1000), 57600, 921600, 250000, Fraction(617, 10)):
        ideal = 48_000_000 * 256 / Fraction(baud)
        assert abs(UP5K.bit_period(baud).raw - ideal) <= Fraction(1, 2)


@pytest.mark.parametrize("baud", [0, -1, Fraction(1788, 10**4), 12_000_001, 10**9])
def test_bauds_out_of_range(baud):
    with pytest.raises(BadInput, match=r"baud: .* is outside 0.179 \(bits of 5.592 s\) to 12000000 \(a quarter of the clock\)"):
        UP5K.bit_period(baud)


@pytest.mark.parametrize(
    "ticks, message",
    [
        (24_000_000, "delay: 500 ms (24000000 ticks) is outside 0 to 349.525 ms (16777215 ticks)"),
        (1 << 24, "delay: 349.525 ms (16777216 ticks) is outside 0 to 349.525 ms (16777215 ticks)"),
    ],
)
def test_what_does_not_fit_names_the_longest_time(ticks, message):
    with pytest.raises(BadInput) as caught:
        UP5K.whole_ticks(Duration(ticks=Fraction(ticks)), "delay", 0, (1 << 24) - 1)
    assert str(caught.value) == message


def test_the_longest_time_that_is_named_fits():
    """It is rounded down, others to the nearest."""
    scale = Timescale(700_000_000)
    assert (scale.named(1999, math.floor), scale.named(1999)) == ("2.855 µs (1999 ticks)", "2.856 µs (1999 ticks)")


def test_a_period_that_is_too_short_is_named_as_it_was_given():
    """A rate by rates, a period by times; the shortest one is accepted."""
    with pytest.raises(BadInput, match=r"^rate: 1 GHz is too fast, the highest is 150 kHz$"):
        UP5K.period(UP5K.period_of_rate(10**9), 320, "rate")
    with pytest.raises(BadInput, match=r"^period: 1 µs is too short, the shortest is 6\.667 µs \(320 ticks\)$"):
        UP5K.period(48, 320)
    assert UP5K.period(UP5K.period_of_rate(150_000), 320, "rate") == UP5K.period(320, 320) == Period(320, 0, 1)


def test_one_tick():
    assert [in_ticks(number) for number in (0, 1, -1, 2, 24_000)] == ["0 ticks", "1 tick", "-1 tick", "2 ticks", "24000 ticks"]


def test_ticks_and_seconds_are_inverse():
    odd = Timescale(Fraction(100_000_000, 3), 2)
    for ticks in (0, 1, 12345678901234567890, Fraction(1, 3)):
        assert odd.ticks(odd.seconds(ticks)) == ticks
    assert odd.ns(2) == 30
    assert UP5K.whole_ticks(Duration(seconds=Fraction(5, 10**6)), "step") == 240
    assert UP5K.whole_ticks(Duration(ticks=Fraction(-1)), "step", -5) == -1
    with pytest.raises(BadInput):
        UP5K.whole_ticks(Duration(ticks=Fraction(2**32)), "width")


def test_numbers_for_people_and_programs():
    assert exact(Fraction(24000000, 29)) == "24000000/29" and exact(58) == "58"
    assert fixed(Fraction(1, 3), 3) == "0.333" and fixed(Fraction(-1, 8), 2) == "-0.12" and fixed(5, 0) == "5"
    assert fixed(Fraction(2**64 + 1, 10**3), 3) == "18446744073709551.617"
    assert approx(Fraction(617, 10)) == "61.7" and approx(Fraction(1, 3), 3) == "≈0.333" and approx(100) == "100"
    assert si(Fraction(1, 58), "s") == "17.241 ms" and si(48_000_000, "Hz") == "48 MHz" and si(0, "s") == "0 s"
    assert math.isclose(float(fixed(UP5K.ns(1), 3)), 20.833)


@pytest.mark.parametrize(
    "name",
    [
        "TRAIN_MIN_PERIOD",
        "CHANGE_MIN_PERIOD",
        "RESPONSE_MIN_BYTE",
        "SAMPLES_LATENCY_BYTE",
        "BURST_MIN_CYCLES",
        "SAMPLES_LATENCY",
        "SEQUENCE_MIN_CYCLES",
        "TIMEOUT_MIN_CYCLES",
    ],
)
def test_constants_are_those_of_the_core(name):
    limits = tomllib.loads((Path(__file__).resolve().parents[2] / "hdl" / "limits.toml").read_text(encoding="utf-8"))
    assert getattr(layout, name) == limits["cycles"][name]
    assert max(map(sum, limits["latencies"].values())) - sum(limits["latencies"]["generic"]) == layout.PHY_LATENCY


def test_the_shortest_bit_of_a_lin_slave_is_the_documented_one():
    page = (Path(__file__).resolve().parents[2] / "docs" / "core.md").read_text(encoding="utf-8")
    assert f"bit period of at least {layout.LIN_BIT_MIN} cycles" in page
    header = (Path(__file__).resolve().parents[2] / "driver" / "litepulse.h").read_text(encoding="utf-8")
    assert f"#define LITEPULSE_LIN_BIT_CYCLES_MIN {layout.LIN_BIT_MIN}\n" in header, "the driver's is another one"


@pytest.mark.parametrize("hz", [48_000_000, Fraction(525_000_000, 4), Fraction(1_000_000, 3), 7])
def test_ticks_as_decimal_numbers(hz):
    """Rounded half to even from the exact value; the reference is Python's decimal arithmetic."""
    timescale = Timescale(hz, 1)
    draw = random.Random(7)
    values = [draw.randrange(-(1 << bits), 1 << bits) for bits in range(1, 63) for _ in range(20)]
    values += [Fraction(draw.randrange(-(1 << 40), 1 << 40), draw.randrange(1, 1 << 20)) for _ in range(200)] + [0, 1, -1]
    with decimal.localcontext() as context:
        context.prec, context.rounding = 200, decimal.ROUND_HALF_EVEN
        for ticks in values:
            seconds = Fraction(ticks) / Fraction(hz)
            for power, digits in ((3, 9), (9, 3)):
                # The quotient of two integers below 2^200 cannot come so close to a half without being one.
                exact = decimal.Decimal(seconds.numerator) / decimal.Decimal(seconds.denominator)
                wanted = exact.scaleb(power).quantize(decimal.Decimal(1).scaleb(-digits))
                assert timescale.decimal(ticks, power, digits) == f"{wanted if wanted else abs(wanted):f}"
    # 3.5 and 4.5 units of the last digit
    assert (
        Timescale(2, 1).decimal(7, 0, 1) == "3.5"
        and Timescale(20, 1).decimal(7, 0, 1) == "0.4"
        and Timescale(20, 1).decimal(9, 0, 1) == "0.4"
    )


def test_one_is_not_many():
    assert (in_ticks(0), in_ticks(1), in_ticks(2)) == ("0 ticks", "1 tick", "2 ticks")
    assert Timescale(Fraction(48_000_000)).named(1) == "20.833 ns (1 tick)" and str(Launch("pulse", width=1)) == "pulse of 1 tick"
