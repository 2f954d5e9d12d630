# SPDX-License-Identifier: BSD-2-Clause
"""From what a caller says (rates, times, bytes) to what a board does (periods, profiles, launches). Pure, no device."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Real
from typing import NamedTuple, cast

from litepulse.backends.interface import LAUNCH_PROFILE, MARK_PROFILE
from litepulse.errors import BadInput, check_text, shown
from litepulse.layout import TRAIN_MIN_PERIOD
from litepulse.limits import BREAK_MAX
from litepulse.line import MARK, Format, Launch, Profile
from litepulse.named_time import NamedTime, named_time
from litepulse.units import WORD, Duration, Moment, Number, Period, Timescale, Whole, is_timedelta, to_duration, to_rate, whole, within

Time = Duration | timedelta | Number | str  # a number is seconds, a timedelta may be NumPy's; text as the command takes it: "500ns", "24t"
What = Launch | Whole | Duration | timedelta | str  # a byte, the width of a pulse, or a Launch, which may be a break
# A whole number is a tick; a Duration, or text with a + in front, is from now; text may name a clock: 'utc:12:00:00'.
When = Moment | NamedTime | Whole | Duration | timedelta | str
DEFAULT_BYTE = 0xFF
MARK_BAUD = 1200  # of the profile of marks: any
FARTHEST_DAYS = 366  # ahead of the board's time: what is farther away is a mistake


def named_of(when: When, what: str) -> NamedTime | None:
    """The time in a clock, if one is named."""
    return when if isinstance(when, NamedTime) else named_time(when, what) if isinstance(when, str) else None


def place_of(timescale: Timescale, when: When, what: str) -> tuple[bool, Fraction]:
    """(whether it is meant from now, or from a beginning; ticks, exact)."""
    if named_of(when, what) is not None:
        raise BadInput(f"{what}: a time of a clock is for a beginning alone, this counts from there")
    if isinstance(when, Moment):
        return False, Fraction(when.tick)
    if isinstance(when, str | Duration) or is_timedelta(when):
        duration = to_duration(cast(Duration, when), what)
        return duration.relative or not isinstance(when, str), timescale.ticks(duration)
    if isinstance(when, float | Fraction | Decimal) or (isinstance(when, Real) and not isinstance(when, Integral)):
        raise BadInput(f"{what}: {shown(when)} could be a tick or seconds: give an int for a tick, or a time such as s(...) or '1.5s'")
    return False, Fraction(whole(cast(Whole, when), what))


def line_format(value: Format | str, invert: bool = False) -> Format:
    """A Format, or its name: 8N1."""
    if isinstance(value, Format):
        return value
    return Format.parse(check_text(value, "format"), bool(invert))


def profile_of(timescale: Timescale, baud: Number | str, fmt: Format) -> Profile:
    """The profile as the device can do it."""
    return Profile(timescale.bit_period(to_rate(baud, "baud")), fmt)


def mark_profile(timescale: Timescale) -> Profile:
    """The profile of launches that go to the marker port."""
    return Profile(timescale.bit_period(Fraction(MARK_BAUD)), Format(to_port=True))


def mark(code: Whole) -> Launch:
    """The launch of a code on the marker port."""
    return Launch(MARK, within(code, "code", 0, 255), MARK_PROFILE)


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
        return Launch("pulse", 0, LAUNCH_PROFILE, timescale.whole_ticks(width, "width", 1))
    if break_bits is not None:
        return Launch("break", within(break_bits, "break", 1, BREAK_MAX), LAUNCH_PROFILE)
    return frame(DEFAULT_BYTE if byte is None else byte, fmt)


def launch_from(timescale: Timescale, what: What, fmt: Format) -> Launch:
    """One launch of a series."""
    if isinstance(what, Launch):
        if what.kind == MARK:
            return mark(what.data)
        return frame(what.data, fmt) if what.kind == "frame" else replace(what, profile=LAUNCH_PROFILE)
    if isinstance(what, str | Duration) or is_timedelta(what):
        return launch_of(timescale, None, cast(Time, what), None, fmt)
    try:
        return frame(cast(Whole, what), fmt)
    except BadInput as error:
        if isinstance(what, float):
            raise BadInput(f"byte: {what} is not a whole number; the width of a pulse is s(...), us(...) or text") from None
        raise error


@dataclass(frozen=True)
class Origin:
    """What messages count ticks from that are not, or not for certain, those of the board: a tick, and how people call it."""

    timescale: Timescale
    tick: int = 0
    name: str = "the beginning"


class _Place(NamedTuple):
    """A tick, for messages. origin: None if it is one of the board."""

    tick: int
    origin: Origin | None

    def text(self, at: str = "at ") -> str:
        """For people. at: before a tick."""
        origin = self.origin
        return f"{at}tick {self.tick}" if origin is None else f"{origin.timescale.named(self.tick - origin.tick)} from {origin.name}"


class Order:
    """Looks at the launches of a series one after the other: BadInput if the line is not free yet for one, or its tick is too low.

    A mark does not use the line.
    """

    def __init__(self, profile: Profile, others: Mapping[int, Profile] | None = None) -> None:
        """others: by number, of launches with other profiles."""
        self._profile, self._others = profile, others or {}
        self._free: _Place | None = None
        self._before: _Place | None = None

    @property
    def free(self) -> int | None:
        """From this tick on the line is free; None: nothing has used it."""
        return None if self._free is None else self._free.tick

    def check(self, where: int | str, tick: int, launch: Launch, origin: Origin | None = None) -> None:
        """The next one. where: its number, or how a message is to name it; origin: None if the tick is one of the board."""
        place, length = _Place(tick, origin), launch.length(self._others.get(launch.profile, self._profile))
        name = where if isinstance(where, str) else f"launch {where}"
        if length and self._free is not None and tick < self._free.tick:
            raise BadInput(f"{name}: it is {place.text()}, but the line is busy with the one before until {self._free.text('')}")
        if self._before is not None and tick < self._before.tick:
            raise BadInput(f"{name}: it is {place.text()}, but the one before is {self._before.text()}")
        self._before = place
        if length:
            self._free = _Place(tick + length, origin)


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


@dataclass(frozen=True)
class TrainPlan:
    """A train that fits the device: everything is checked before anything is written."""

    launch: Launch
    profile: Profile
    period: Period
    count: int = 0
    start: int | None = None
    loopback: bool = False


def check_overlap(launch: Launch, profile: Profile, period: Period, timescale: Timescale, what: str = "rate") -> None:
    """BadInput if one pulse is not over when the next begins."""
    check_length(launch.length(profile), period, timescale, what)


def check_length(length: int, period: Period, timescale: Timescale, what: str) -> None:
    """The same for pulses of so many ticks. The shortest interval of a train is floor(period)."""
    if length > math.floor(period.ticks):
        highest = float(timescale.tick_hz / length)
        raise BadInput(
            f"{what}: the pulses would overlap: one takes {timescale.named(length)}, "
            f"the period is only {timescale.named(math.floor(period.ticks))}, so at most {highest:.6g} Hz"
        )


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
    format: Format | str = "8N1",
    invert: bool = False,
    loopback: bool = False,
) -> TrainPlan:
    """The plan of a train, all checked; start: its tick."""
    count = within(count, "count", 0, WORD - 1)
    fmt = line_format(format, invert)
    ticks, what = period_of(timescale, rate, period)
    launch = launch_of(timescale, byte, width, break_bits, fmt)
    profile = profile_of(timescale, baud, fmt)
    fitting = timescale.period(ticks, TRAIN_MIN_PERIOD, what)
    check_overlap(launch, profile, fitting, timescale, what)
    return TrainPlan(launch, profile, fitting, count, start, loopback)
