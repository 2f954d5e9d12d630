# SPDX-License-Identifier: BSD-2-Clause
"""DCF77, as its receivers give it: a pulse a second, civil time of Germany. Pure and exact.

A pulse begins with each second but the last of a minute. It lasts 100 ms for 0 and 200 ms for 1. The
bits of a minute name the minute that follows.
"""

from fractions import Fraction

from litepulse.codes.frames import MS, Change, Fault, Found, Frame, GridDecoder, spread
from litepulse.codes.scale import UTC, Civil, Scale, year_of
from litepulse.errors import BadInput
from litepulse.units import Number, Whole, fixed, whole

WIDTHS = {0: 100 * MS, 1: 200 * MS}
_TOLERANCE = 40 * MS
_PITCH_TOLERANCE = 100 * MS
_CHANGE, _SUMMER, _WINTER, _LEAP, _START = 16, 17, 18, 19, 20
_MINUTE, _HOUR, _DAY, _WEEKDAY, _MONTH, _YEAR = (21, 7), (29, 6), (36, 6), (42, 3), (45, 5), (50, 8)
_PARITIES = {28: (21, "minute"), 35: (29, "hour"), 58: (36, "date")}  # bit: (first bit that it covers, of what)


def _last_sunday(year: int, month: int) -> int:
    """01:00 of the last Sunday of a month of 31 days, in seconds since 1970."""
    last = Civil(year, month, 31, 1)
    return last.nominal - last.weekday % 7 * 86400


def is_summer(posix: int) -> bool:
    """Whether summer time holds, by the rule of the European Union since 1996."""
    year = Civil.of_nominal(posix).year
    return _last_sunday(year, 3) <= posix < _last_sunday(year, 10)


def bits(minute: Whole, scale: Scale = UTC) -> list[int]:
    """The bits of the minute that begins with this second: 59, in a minute with a leap second 60."""
    minute = whole(minute, "second")
    civil = scale.civil(minute)
    if civil.second:
        raise BadInput(f"second: {civil} is not the beginning of a minute")
    after = _next_minute(minute, scale)
    posix = scale.posix(after)
    summer = is_summer(posix)
    local = Civil.of_nominal(posix + (7200 if summer else 3600))
    found = [0] * 59

    def put(field: tuple[int, int], value: int) -> None:
        value = value // 10 << 4 | value % 10
        for n in range(field[1]):
            found[field[0] + n] = value >> n & 1

    hour = scale.posix(minute) + 3600
    found[_CHANGE] = int(is_summer(hour) != is_summer(hour - 3600))
    found[_SUMMER], found[_WINTER] = int(summer), int(not summer)
    leap = scale.leap_after(minute)
    found[_LEAP] = int(leap is not None and leap[0] - minute <= 3600 + leap[1])
    found[_START] = 1
    put(_MINUTE, local.minute)
    put(_HOUR, local.hour)
    put(_DAY, local.day)
    put(_WEEKDAY, local.weekday)
    put(_MONTH, local.month)
    put(_YEAR, local.year % 100)
    for bit, (first, _) in _PARITIES.items():
        found[bit] = sum(found[first:bit]) % 2
    return found + [0] * (after - minute - 60)


def _next_minute(minute: int, scale: Scale) -> int:
    """The second with which the minute behind this one begins."""
    return next(second for second in range(minute + 59, minute + 62) if scale.civil(second).second == 0)


def encode(second: Whole, scale: Scale = UTC) -> list[Change]:
    """[(when, level)] of a second; the line rests at 0. None in the last one of a minute."""
    second = whole(second, "second")
    place = scale.civil(second).second
    known = bits(second - place, scale)
    if place >= _next_minute(second - place, scale) - (second - place) - 1:
        return []
    return [(Fraction(second), 1), (second + WIDTHS[known[place]], 0)]


class DcfDecoder(GridDecoder):
    """Edges in, one second a minute out: the one with which the named minute begins. near: a second close by, for the century."""

    noun = "bit"

    def __init__(self, tick_hz: Number, scale: Scale = UTC, near: Whole | None = None, invert: bool = False) -> None:
        super().__init__(tick_hz, invert)
        self._scale = scale
        self._year = None if near is None else scale.civil(near).year
        self._bits: list[tuple[int, int]] = []  # (tick, bit), of a minute if _whole
        self._whole = False  # the first of them is bit 0

    def _forget(self) -> None:
        self._bits, self._whole = [], False

    def _pulse(self, rise: int, fall: int) -> list[Found]:
        width = (fall - rise) / self.tick_hz
        bit = next((bit for bit, ideal in WIDTHS.items() if abs(width - ideal) <= _TOLERANCE), None)
        if bit is None:
            return self._no_bit(rise, fall)
        found: list[Found] = []
        if self._bits:
            pitch = (rise - self._bits[-1][0]) / self.tick_hz
            seconds = round(pitch)
            if seconds not in (1, 2) or abs(pitch - seconds) > _PITCH_TOLERANCE:
                found += self.drop(f"the next one is {fixed(pitch * 1000, 3)} ms behind the last")
            elif seconds == 2:
                found += self._minute(rise)
                self._bits, self._whole, self._loose = [], True, 0
        self._count(rise)
        self._bits.append((rise, bit))
        if len(self._bits) > 60:
            found += self.drop("no minute has more")
        return found

    def _minute(self, mark: int) -> list[Found]:
        """What came before the mark of a minute."""
        if not self._whole or len(self._bits) not in (59, 60):
            return [Fault(self._first, f"bits of no whole minute: {len(self._bits)}")]
        ticks = [tick for tick, _ in self._bits]
        try:
            civil = self._read([bit for _, bit in self._bits])
            # On the grid of seconds the mark is two behind the last bit.
            line = spread(ticks)
            last = ticks[-1] + 2 * Fraction(ticks[-1] - ticks[0], len(ticks) - 1)
            return [Frame(self._scale.second(civil), Fraction(mark), max(line, abs(mark - last)), f"{civil} UTC")]
        except (BadInput, ValueError) as error:
            return [Fault(ticks[0], f"a minute that is not right: {error}")]

    def _read(self, got: list[int]) -> Civil:
        def get(field: tuple[int, int], what: str, least: int, most: int) -> int:
            number = sum(got[field[0] + n] << n for n in range(field[1]))
            value = (number >> 4) * 10 + (number & 15)
            if number & 15 > 9 or not least <= value <= most:
                raise BadInput(f"{what}: the digits {number >> 4} and {number & 15}")
            return value

        if got[0] or not got[_START]:
            raise BadInput("bit 0 is not 0, or bit 20 is not 1")
        for bit, (first, what) in _PARITIES.items():
            if sum(got[first : bit + 1]) % 2:
                raise BadInput(f"the parity of the {what}")
        if got[_SUMMER] == got[_WINTER]:
            raise BadInput("it is neither summer time nor winter time")
        if len(got) == 60 and (got[59] or not got[_LEAP]):
            raise BadInput("60 bits, but no leap second was announced")
        minute, hour = get(_MINUTE, "minute", 0, 59), get(_HOUR, "hour", 0, 23)
        day, month = get(_DAY, "day", 1, 31), get(_MONTH, "month", 1, 12)
        year = year_of(get(_YEAR, "year", 0, 99), self._year)
        local = Civil(year, month, day, hour, minute)
        if local.weekday != get(_WEEKDAY, "day of the week", 1, 7):
            raise BadInput(f"{local} is another day of the week")
        return Civil.of_nominal(local.nominal - (7200 if got[_SUMMER] else 3600))
