# SPDX-License-Identifier: BSD-2-Clause
"""From what a caller says (rates, times, bytes) to what a board does (periods, profiles, launches). Pure, no device."""

from datetime import timedelta
from fractions import Fraction

from litepulse.backends.interface import LAUNCH_PROFILE
from litepulse.errors import BadInput, check_text
from litepulse.line import Format, Launch, Profile
from litepulse.train import TrainPlan, plan_train
from litepulse.units import WORD, Duration, Number, Timescale, Whole, to_duration, to_rate, whole, within

Time = Duration | timedelta | Number | str  # a number is seconds, a timedelta may be NumPy's; text as the command takes it: "500ns", "24t"
DEFAULT_BYTE = 0xFF
BREAK_MAX = 255  # bit times


def line_format(value: Format | str, invert: bool = False) -> Format:
    """A Format, or its name: 8N1."""
    if isinstance(value, Format):
        return value
    return Format.parse(check_text(value, "format"), bool(invert))


def profile_of(timescale: Timescale, baud: Number | str, fmt: Format) -> Profile:
    """The profile as the device can do it."""
    return Profile(timescale.bit_period(to_rate(baud, "baud")), fmt)


def frame(byte: Whole, fmt: Format) -> Launch:
    """The launch of a byte, or BadInput if it does not fit the format."""
    number = whole(byte, "byte")
    if not 0 <= number <= 255:
        raise BadInput(f"byte: {number} does not fit a byte (0 to 255)")
    if number >> fmt.data_bits:
        raise BadInput(f"byte: 0x{number:02x} does not fit {fmt.data_bits} data bits")
    return Launch("frame", number, LAUNCH_PROFILE)


def launch_of(timescale: Timescale, byte: Whole | None, width: Time | None, break_bits: Whole | None, fmt: Format) -> Launch:
    """The launch of the one that is given; of a byte 0xff if none is."""
    if sum(each is not None for each in (byte, width, break_bits)) > 1:
        raise BadInput("byte, width and break exclude each other")
    if width is not None:
        return Launch("pulse", 0, LAUNCH_PROFILE, timescale.whole_ticks(to_duration(width, "width"), "width", 1))
    if break_bits is not None:
        return Launch("break", within(break_bits, "break", 1, BREAK_MAX), LAUNCH_PROFILE)
    return frame(DEFAULT_BYTE if byte is None else byte, fmt)


def period_of(timescale: Timescale, rate: Number | str | None, period: Time | None) -> tuple[Fraction, str]:
    """(exact period in ticks, which of the two was given)."""
    if (rate is None) == (period is None):
        raise BadInput("give a rate or a period")
    if rate is not None:
        return timescale.period_of_rate(to_rate(rate)), "rate"
    assert period is not None
    duration = to_duration(period, "period")
    if not duration.positive:
        raise BadInput(f"period: {period} is not more than 0")
    return timescale.ticks(duration), "period"


def train_plan(
    timescale: Timescale,
    *,
    rate: Number | str | None = None,
    period: Time | None = None,
    byte: Whole | None = None,
    width: Time | None = None,
    break_bits: Whole | None = None,
    count: Whole = 0,
    start: int | None = None,
    baud: Number | str = 9600,
    fmt: Format | None = None,
    loopback: bool = False,
) -> TrainPlan:
    """The plan of a train, all checked; start: its tick."""
    count = within(count, "count", 0, WORD - 1)
    fmt = fmt or Format()
    ticks, what = period_of(timescale, rate, period)
    launch = launch_of(timescale, byte, width, break_bits, fmt)
    return plan_train(timescale, ticks, launch, profile_of(timescale, baud, fmt), count, start, loopback, what)
