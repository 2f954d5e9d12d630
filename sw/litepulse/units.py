# SPDX-License-Identifier: BSD-2-Clause
"""The one place where SI units and ticks meet. Everything is exact: numbers are Fractions, ticks are integers.

A rate or a time that a person writes ("44.1k", "617/10", "5us", "24000000/29t") is parsed without rounding; `Timescale`
converts between seconds and ticks; the only roundings are the ones that the hardware makes (the bit period in 1/256 tick,
a whole number of ticks for widths and delays) and they are visible in what is returned.
"""

import datetime
import math
import operator
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import Any, SupportsIndex, cast, overload

from litepulse.errors import BadInput, shown

_NUMBER = re.compile(r"[0-9]{1,40}(?:\.[0-9]{0,40})?(?:[eE][+-]?[0-9]{1,2})?|\.[0-9]{1,40}(?:[eE][+-]?[0-9]{1,2})?")
_SI = {"": 0, "G": 9, "M": 6, "k": 3, "m": -3, "u": -6, "µ": -6, "μ": -6, "n": -9, "p": -12}
_RATE_PREFIXES = {"", "G", "M", "k", "m"}
_TIME_UNITS = {"s": 0, "ms": -3, "us": -6, "µs": -6, "μs": -6, "ns": -9, "ps": -12}

# A float, Python's or NumPy's, stands for the decimal that is shown for it. Numbers of NumPy are taken, too, True and False are not.
Number = int | float | Fraction | Decimal
Whole = SupportsIndex  # int, and the integers of NumPy

BIT_PERIOD_FRACTION = 256  # the bit period is held in 1/256 tick (Q28.8)
BIT_PERIOD_LIMIT = 1 << 36
MIN_BIT_CYCLES = 4
WORD = 1 << 32
NANO = 10**9
_LARGEST_BITS = 1100  # of numerator and denominator: each float has fewer. Python prints no more than 14000
_LARGEST_EXPONENT = 400  # of a Decimal: more digits have no room in _LARGEST_BITS
# Seconds of NumPy's units of time; years and months have no length.
_NUMPY_TIME = {
    **{"W": Fraction(604800), "D": Fraction(86400), "h": Fraction(3600), "m": Fraction(60)},
    **{unit: Fraction(1, 1000**n) for n, unit in enumerate(("s", "ms", "us", "ns", "ps", "fs", "as"))},
}


def _decimal(text: str, what: str) -> Fraction:
    """One unsigned number, without prefix, as a Fraction."""
    if not _NUMBER.fullmatch(text):
        raise BadInput(f"{what}: '{text}' is not a number")
    return Fraction(text if text[-1] != "." else text + "0")


def _ratio(text: str, what: str, prefixes: Collection[str]) -> Fraction:
    """a or a/b, each with an SI prefix of `prefixes`; a sign in front counts for the whole."""
    sign = 1
    if text[:1] in ("+", "-"):
        sign = -1 if text[0] == "-" else 1
        text = text[1:]
    parts = text.split("/")
    if len(parts) > 2:
        raise BadInput(f"{what}: '{text}' is not a number or a fraction a/b")
    values: list[Fraction] = []
    for part in parts:
        part = part.strip()
        prefix = part[-1:] if part[-1:] in prefixes else ""
        number = part[:-1] if prefix else part
        values.append(_decimal(number.rstrip(), what) * Fraction(10) ** _SI[prefix])
    if len(values) == 2:
        if values[1] == 0:
            raise BadInput(f"{what}: '{text}' divides by zero")
        return sign * values[0] / values[1]
    return sign * values[0]


def parse_rate(text: str, what: str = "rate") -> Fraction:
    """Hertz or baud as a positive Fraction: 58, 61.7, 617/10, 44.1k, 1M/7, 58Hz."""
    body = text.strip()
    for unit in ("Hz", "hz", "Bd", "baud"):
        if body.endswith(unit):
            body = body[: -len(unit)].strip()
            break
    value = _ratio(body, what, _RATE_PREFIXES)
    if value <= 0:
        raise BadInput(f"{what}: {text.strip()} is not more than 0")
    return value


@dataclass(frozen=True)
class Duration:
    """A length of time, exact: `seconds` or `ticks`, or the sum of both. What a person wrote has exactly one of them."""

    seconds: Fraction | None = None
    ticks: Fraction | None = None
    relative: bool = False  # written with a + in front

    def __post_init__(self) -> None:
        for name, value in (("seconds", self.seconds), ("ticks", self.ticks)):
            if value is not None and type(value) is not Fraction:
                object.__setattr__(self, name, to_fraction(value, name))

    @property
    def positive(self) -> bool:
        """More than nothing?"""
        return (self.ticks or self.seconds or 0) > 0

    def __add__(self, other: "Duration") -> "Duration":
        return Duration(_sum(self.seconds, other.seconds), _sum(self.ticks, other.ticks), self.relative)

    def __neg__(self) -> "Duration":
        return self * -1

    def __sub__(self, other: "Duration") -> "Duration":
        return self + -other

    def __mul__(self, factor: Number) -> "Duration":
        factor = to_fraction(factor, "factor")
        return Duration(
            None if self.seconds is None else self.seconds * factor, None if self.ticks is None else self.ticks * factor, self.relative
        )

    __rmul__ = __mul__


def _sum(a: Fraction | None, b: Fraction | None) -> Fraction | None:
    return b if a is None else a if b is None else a + b


def to_fraction(value: Number | str, what: str = "number") -> Fraction:
    """An exact number. A float stands for the decimal that Python shows for it: 61.7 is 617/10."""
    if isinstance(value, str):
        return _ratio(value.strip(), what, _RATE_PREFIXES)
    try:
        number = _fraction(_scalar(value))
    except (TypeError, ValueError, OverflowError):
        raise BadInput(f"{what}: {shown(value)} is not a number") from None
    if number is None:
        raise BadInput(f"{what}: the number has too many digits")
    if max(number.numerator.bit_length(), number.denominator.bit_length()) > _LARGEST_BITS:
        raise BadInput(f"{what}: the number has too many digits")
    return number


def _scalar(value: Any) -> Any:
    """The same number; that in an array of NumPy without dimensions. TypeError for what only looks like a number: truths, times."""
    if getattr(value, "ndim", None) == 0 and hasattr(value, "dtype"):
        value = value[()]
    if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_", "timedelta64", "datetime64"):
        raise TypeError
    return value


def _fraction(value: Any) -> Fraction | None:
    """Exact; None if it has too many digits. ValueError or OverflowError if it is not finite."""
    if isinstance(value, Integral):
        return Fraction(int(value))
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, Decimal):
        return None if value.is_finite() and abs(value.adjusted()) > _LARGEST_EXPONENT else Fraction(value)
    if isinstance(value, Real):
        return Fraction(float.__repr__(value) if isinstance(value, float) else str(value))
    return Fraction(operator.index(value))


def to_rate(value: Number | str, what: str = "rate") -> Fraction:
    """Hertz or baud: a positive number, or text as parse_rate() takes it."""
    if isinstance(value, str):
        return parse_rate(value, what)
    rate = to_fraction(value, what)
    if rate <= 0:
        raise BadInput(f"{what}: {value} is not more than 0")
    return rate


def to_duration(value: "Duration | datetime.timedelta | Number | str", what: str = "time", signed: bool = False) -> "Duration":
    """A Duration, a timedelta of Python or NumPy, a number of seconds, or text as parse_duration() takes it: '500ns', '24t'."""
    if isinstance(value, str):
        return parse_duration(value, what, signed)
    if is_timedelta(value):
        duration = Duration(seconds=_timedelta(value, what))
    else:
        duration = value if isinstance(value, Duration) else Duration(seconds=to_fraction(cast(Number, value), what))
    if not signed and ((duration.seconds or 0) < 0 or (duration.ticks or 0) < 0):
        raise BadInput(f"{what}: {value} is negative")
    return duration


def is_timedelta(value: object) -> bool:
    """Whether it is a length of time of Python's or NumPy's."""
    return isinstance(value, datetime.timedelta) or type(value).__name__ == "timedelta64"


def _timedelta(value: Any, what: str) -> Fraction:
    """Exact seconds."""
    if isinstance(value, datetime.timedelta):  # Pandas' has nanoseconds, too
        nanoseconds = getattr(value, "nanoseconds", 0)
        return Fraction(value.days * 86400 + value.seconds) + Fraction(value.microseconds * 1000 + nanoseconds, 10**9)
    import numpy  # a program with such a time has loaded it

    unit, count = numpy.datetime_data(value.dtype)
    if numpy.isnat(value) or unit not in _NUMPY_TIME:
        raise BadInput(f"{what}: {shown(value)} has no length in seconds")
    return int(value.astype("int64")) * count * _NUMPY_TIME[unit]


def s(value: Number | str) -> Duration:
    """Seconds."""
    return Duration(seconds=to_fraction(value))


def ms(value: Number | str) -> Duration:
    """Milliseconds."""
    return Duration(seconds=to_fraction(value) / 10**3)


def us(value: Number | str) -> Duration:
    """Microseconds."""
    return Duration(seconds=to_fraction(value) / 10**6)


def ns(value: Number | str) -> Duration:
    """Nanoseconds."""
    return Duration(seconds=to_fraction(value) / 10**9)


def ticks(value: Number | str) -> Duration:
    """Ticks of the board."""
    return Duration(ticks=to_fraction(value))


def parse_duration(text: str, what: str = "time", signed: bool = False) -> Duration:
    """5us, 1.5ms, 1/58 (seconds), 827586t, 24000000/29t, -12t (only if `signed`). A leading + is remembered."""
    body = text.strip()
    relative = body.startswith("+")
    negative = body.startswith("-")
    if negative and not signed:
        raise BadInput(f"{what}: {body} is negative")
    body = body.rstrip()
    for unit in ("ticks", "tick", "t"):
        if body.endswith(unit):
            return Duration(ticks=_ratio(body[: -len(unit)].strip(), what, {""}), relative=relative)
    for unit, exponent in sorted(_TIME_UNITS.items(), key=lambda item: -len(item[0])):
        if body.endswith(unit):
            return Duration(seconds=_ratio(body[: -len(unit)].strip(), what, {""}) * Fraction(10) ** exponent, relative=relative)
    try:
        return Duration(seconds=_ratio(body, what, {""}), relative=relative)
    except BadInput as error:
        if re.search(r"\d\s*[^\W\d]+$", body):
            raise BadInput(f"{error}; units are s, ms, us, ns, and t for ticks") from None
        raise


def parse_byte(text: str, what: str = "byte") -> int:
    """0 to 255, decimal, 0x, 0b or 0o."""
    try:
        value = int(text.strip(), 0)
    except ValueError:
        raise BadInput(f"{what}: '{text}' is not a number") from None
    if not 0 <= value <= 255:
        raise BadInput(f"{what}: {text.strip()} does not fit a byte (0 to 255)")
    return value


def parse_count(text: str, what: str = "count", low: int = 0, high: int = WORD - 1) -> int:
    """A whole number from `low` to `high`."""
    try:
        value = int(text.strip(), 0)
    except ValueError:
        raise BadInput(f"{what}: '{text}' is not a whole number") from None
    return within(value, what, low, high)


def whole(value: Whole, what: str) -> int:
    """The same number as an int, or BadInput if it is none, or a huge one. What may have decimals (a float) is none, True neither."""
    if type(value) is int:
        number = value
    else:
        try:
            value = _scalar(value)
            number = int(value) if isinstance(value, Integral) else operator.index(value)
        except TypeError:
            number = None
    if number is None:
        raise BadInput(f"{what}: {shown(value)} is not a whole number") from None
    if number.bit_length() > _LARGEST_BITS:
        raise BadInput(f"{what}: the number has too many digits")
    return number


def within(value: Whole, what: str, low: int, high: int) -> int:
    """The same number, or BadInput unless it is whole and from `low` to `high`."""
    number = whole(value, what)
    if not low <= number <= high:
        raise BadInput(f"{what}: {number} is outside {low} to {high}")
    return number


def hexadecimal(number: int) -> str:
    """An identifier, an address or a byte, as all texts of LIN have it: 0x0a."""
    return f"{number:#04x}"


def counted(number: int, noun: str) -> str:
    """'1 edge', '3 edges'."""
    return f"{number} {noun}{'' if abs(number) == 1 else 's'}"


def in_ticks(number: int) -> str:
    """'1 tick', '24000 ticks'."""
    return counted(number, "tick")


def exact(value: Number) -> str:
    """How an exact number is written for programs: '58', '24000000/29'."""
    value = Fraction(value)
    return str(value.numerator) if value.denominator == 1 else f"{value.numerator}/{value.denominator}"


def approx(value: Number, digits: int = 9) -> str:
    """An exact number for people: all of it if short, else rounded with a mark that says so."""
    value = Fraction(value)
    scaled = value * 10**digits
    if scaled.denominator == 1:
        text = fixed(value, digits)
        return text.rstrip("0").rstrip(".") if "." in text else text
    return f"≈{fixed(value, digits)}"


def fixed(value: Number, digits: int, rounding: Callable[[Fraction], int] = round) -> str:
    """`value` with exactly `digits` decimals, rounded (half to even) from the exact value (floats would lose digits)."""
    scaled = rounding(Fraction(value) * 10**digits)
    sign = "-" if scaled < 0 else ""
    integer, rest = divmod(abs(scaled), 10**digits)
    return f"{sign}{integer}.{rest:0{digits}d}" if digits else f"{sign}{integer}"


def si(value: Number, unit: str, digits: int = 3, rounding: Callable[[Fraction], int] = round) -> str:
    """A number for people with the prefix that fits: 17.241 ms, 48 MHz."""
    value = Fraction(value)
    if value == 0:
        return f"0 {unit}"
    for prefix, exponent in (("G", 9), ("M", 6), ("k", 3), ("", 0), ("m", -3), ("µ", -6), ("n", -9), ("p", -12)):
        if abs(value) >= Fraction(10) ** exponent or exponent == -12:
            text = fixed(value / Fraction(10) ** exponent, digits, rounding)
            if "." in text:
                text = text.rstrip("0").rstrip(".")
            return f"{text} {prefix}{unit}"
    raise AssertionError("unreachable")


@dataclass(frozen=True)
class Period:
    """A period as the core takes it: I + N/D ticks; D = 0 stands for 2³²."""

    whole: int
    num: int
    den: int

    @property
    def ticks(self) -> Fraction:
        """The exact period in ticks."""
        return self.whole + Fraction(self.num, self.den or WORD)


@dataclass(frozen=True)
class BitPeriod:
    """A bit period as the core takes it, in 1/256 tick, and the baud rate it really is."""

    raw: int
    tick_hz: Fraction

    @property
    def ticks(self) -> Fraction:
        """The exact bit period in ticks."""
        return Fraction(self.raw, BIT_PERIOD_FRACTION)

    @property
    def baud(self) -> Fraction:
        """The exact baud rate."""
        return self.tick_hz / self.ticks


class Timescale:
    """Converts between seconds and the ticks of one device. `clock_hz` is exact, S the samples per cycle."""

    def __init__(self, clock_hz: Number, samples_per_cycle: Whole = 1) -> None:
        self.clock_hz = to_rate(clock_hz, "clock_hz")
        self.samples_per_cycle: int = within(samples_per_cycle, "samples_per_cycle", 1, WORD)
        self.tick_hz = self.clock_hz * self.samples_per_cycle
        self._decimal: dict[tuple[int, int], tuple[int, int]] = {}  # {(power, digits): (factor, divisor)} of decimal()

    def seconds(self, ticks: Number) -> Fraction:
        """Exact seconds of a number of ticks."""
        if type(ticks) is int:  # each event has some; one division instead of two
            return Fraction(ticks * self.tick_hz.denominator, self.tick_hz.numerator)
        return to_fraction(ticks, "ticks") / self.tick_hz

    def decimal(self, ticks: int | Fraction, power: int, digits: int) -> str:
        """A number of ticks in units of 10^-power s, with `digits` decimals, rounded as fixed() does. Each row has two: whole numbers."""
        factor, divisor = self._decimal.get((power, digits)) or self._decimal.setdefault(
            (power, digits), (self.tick_hz.denominator * 10 ** (power + digits), self.tick_hz.numerator)
        )
        divisor *= ticks.denominator
        scaled, rest = divmod(ticks.numerator * factor, divisor)
        rest *= 2
        scaled += rest > divisor or (rest == divisor and scaled & 1)
        integer, rest = divmod(abs(scaled), 10**digits)
        return f"{'-' if scaled < 0 else ''}{integer}.{rest:0{digits}d}"

    def ns(self, ticks: Number) -> Fraction:
        """Exact nanoseconds of a number of ticks."""
        return self.seconds(ticks) * 10**9

    def ticks(self, duration: Duration | datetime.timedelta | Number) -> Fraction:
        """Exact ticks (a Fraction) of a Duration, a timedelta, or a number of seconds."""
        duration = to_duration(duration, signed=True)
        return (duration.ticks or Fraction(0)) + (duration.seconds or Fraction(0)) * self.tick_hz

    def whole_ticks(self, duration: Duration | datetime.timedelta | Number | str, what: str, low: int = 0, high: int = WORD - 1) -> int:
        """The nearest whole number of ticks of what to_duration() takes; half goes up. Out of range is refused."""
        value = math.floor(self.ticks(to_duration(duration, what, signed=low < 0)) + Fraction(1, 2))
        if not low <= value <= high:
            least = self.named(low, math.ceil) if low else "0"
            raise BadInput(f"{what}: {self.named(value)} is outside {least} to {self.named(high, math.floor)}")
        return value

    def named(self, ticks: int, rounding: Callable[[Fraction], int] = round) -> str:
        """A number of ticks for people: '500 ms (24000000 ticks)'."""
        return f"{si(self.seconds(ticks), 's', rounding=rounding)} ({in_ticks(ticks)})"

    def period_of_rate(self, rate_hz: Number) -> Fraction:
        """Exact period in ticks of a rate."""
        return self.tick_hz / to_rate(rate_hz)

    def period(self, ticks: Number, minimum_cycles: int, what: str = "period") -> Period:
        """A Period that is exactly `ticks`, or BadInput: nothing is ever rounded here."""
        ticks = to_fraction(ticks, what)
        floor = math.floor(ticks)
        rest = ticks - floor
        least = minimum_cycles * self.samples_per_cycle
        if floor < least:
            if what == "rate":
                raise BadInput(f"rate: {si(self.tick_hz / ticks, 'Hz')} is too fast, the highest is {si(self.tick_hz / least, 'Hz')}")
            raise BadInput(f"{what}: {si(self.seconds(ticks), 's')} is too short, the shortest is {self.named(least, math.ceil)}")
        if floor > WORD - 2:
            raise BadInput(f"{what}: {si(self.seconds(ticks), 's')} does not fit, the longest is {si(self.seconds(WORD - 2), 's')}")
        if rest.denominator > WORD:
            raise BadInput(f"{what}: {exact(ticks)} ticks does not fit, the fraction's denominator must be at most 2^32")
        if rest.denominator == WORD:
            return Period(floor, rest.numerator, 0)
        return Period(floor, rest.numerator, rest.denominator)

    def bit_period(self, baud: Number, what: str = "baud") -> BitPeriod:
        """The BitPeriod nearest to `baud`, or BadInput when a bit would be shorter than 4 cycles, or not shorter than 2^28 ticks."""
        baud = to_fraction(baud, what)
        highest = self.clock_hz / MIN_BIT_CYCLES
        raw = math.floor(self.tick_hz / baud * BIT_PERIOD_FRACTION + Fraction(1, 2)) if baud > 0 else BIT_PERIOD_LIMIT
        if baud > highest or raw >= BIT_PERIOD_LIMIT:
            lowest = fixed(self.lowest_baud, 3, math.ceil)
            limits = (
                f"{lowest} (bits of {si(1 / self.lowest_baud, 's', rounding=math.floor)}) to {approx(highest, 3)} (a quarter of the clock)"
            )
            raise BadInput(f"{what}: {approx(baud, 3)} is outside {limits}")
        return BitPeriod(raw, self.tick_hz)

    @property
    def lowest_baud(self) -> Fraction:
        """With the longest bit."""
        return self.tick_hz / Fraction(BIT_PERIOD_LIMIT - 1, BIT_PERIOD_FRACTION)


@dataclass(frozen=True, order=True)
class Moment:
    """A time of a board: a tick since its reset. Adding a Duration gives the Moment nearest to the exact sum."""

    tick: int
    timescale: Timescale = field(compare=False, repr=False)

    def __post_init__(self) -> None:
        if type(self.tick) is not int:
            object.__setattr__(self, "tick", whole(self.tick, "tick"))

    @property
    def time(self) -> Fraction:
        """Exact seconds since the board's reset."""
        return self.timescale.seconds(self.tick)

    def _moved(self, other: object, sign: int) -> "Moment":
        if not isinstance(other, Duration) and not is_timedelta(other):
            raise BadInput(f"time: {shown(other)} could be ticks or seconds: give ticks(...) or s(...)")
        duration = sign * to_duration(cast(Duration, other), signed=True)
        return Moment(self.tick + math.floor(self.timescale.ticks(duration) + Fraction(1, 2)), self.timescale)

    def __add__(self, other: Duration | datetime.timedelta) -> "Moment":
        return self._moved(other, 1)

    @overload
    def __sub__(self, other: Duration | datetime.timedelta) -> "Moment": ...
    @overload
    def __sub__(self, other: "Moment") -> Duration: ...
    def __sub__(self, other: "Duration | datetime.timedelta | Moment") -> "Moment | Duration":
        if isinstance(other, Moment):
            return Duration(ticks=Fraction(self.tick - other.tick))
        return self._moved(other, -1)
