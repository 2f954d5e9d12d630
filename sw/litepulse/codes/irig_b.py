# SPDX-License-Identifier: BSD-2-Clause
"""IRIG-B as a DC level shift (B000 to B007 of IRIG 200): 100 pulses a second. Pure and exact.

A pulse begins every 10 ms. It lasts 2 ms for 0, 5 ms for 1 and 8 ms for a marker; two markers in a
row say that the second begins with the edge of the latter.
"""

from collections import deque
from fractions import Fraction

from litepulse.codes.frames import MS, Change, Fault, Found, Frame, GridDecoder, spread
from litepulse.codes.scale import UTC, Civil, Scale, year_of
from litepulse.errors import BadInput, check_text, shown
from litepulse.units import Number, Whole, fixed, whole, within

BITS = 100
MARKERS = (0, *range(9, 100, 10))
WIDTHS = {0: 2 * MS, 1: 5 * MS, 2: 8 * MS}  # 2: a marker
_TOLERANCE = MS  # of a width
_PITCH_TOLERANCE = MS / 2  # of the distance of two pulses
# What the expressions of the standard have besides the time of the year.
_YEAR, _CONTROL, _BINARY = "year", "control", "binary"
EXPRESSIONS = {
    "B000": {_CONTROL, _BINARY},
    "B001": {_CONTROL},
    "B002": set[str](),
    "B003": {_BINARY},
    "B004": {_YEAR, _CONTROL, _BINARY},
    "B005": {_YEAR, _CONTROL},
    "B006": {_YEAR},
    "B007": {_YEAR, _BINARY},
}
# (number of the first bit, bits of the units, number of the first bit of the tens, their bits)
_SECOND, _MINUTE, _HOUR, _YEARS = (1, 4, 6, 3), (10, 4, 15, 3), (20, 4, 25, 2), (50, 4, 55, 4)
_DAY = ((30, 4, 1), (35, 4, 10), (40, 2, 100))
_LEAP_PENDING, _LEAP_DELETE, _QUALITY, _PARITY = 60, 61, 71, 75  # control bits as IEEE 1344 has them
_BINARY_LOW, _BINARY_HIGH = 80, 90


def _parts(expression: str) -> set[str]:
    if check_text(expression, "expression") not in EXPRESSIONS:
        raise BadInput(f"expression: {shown(expression)} is not one of {', '.join(EXPRESSIONS)}")
    return EXPRESSIONS[expression]


def bits(second: Whole, scale: Scale = UTC, expression: str = "B004", quality: Whole = 0) -> list[int]:
    """The 100 symbols of a second, 2 for a marker; quality: 0 locked to UTC, n within 10^(n-10) s, 15 unknown.

    The control bits are those of IEEE 1344: a leap second is announced for 59 s, and the parity of bits 1 to 74 is even.
    """
    parts, quality = _parts(expression), within(quality, "quality", 0, 15)
    civil = scale.civil(second)
    found = [0] * BITS

    def put(first: int, count: int, value: int) -> None:
        for n in range(count):
            found[first + n] = value >> n & 1

    def put_decimal(field: tuple[int, int, int, int], value: int) -> None:
        put(field[0], field[1], value % 10)
        put(field[2], field[3], value // 10)

    put_decimal(_SECOND, civil.second)
    put_decimal(_MINUTE, civil.minute)
    put_decimal(_HOUR, civil.hour)
    for first, count, unit in _DAY:
        put(first, count, civil.day_of_year // unit % 10)
    if _YEAR in parts:
        put_decimal(_YEARS, civil.year % 100)
    if _CONTROL in parts:
        change = leap_pending(whole(second, "second"), scale)
        put(_LEAP_PENDING, 1, change != 0)
        put(_LEAP_DELETE, 1, change < 0)
        put(_QUALITY, 4, quality)
        put(_PARITY, 1, sum(found[1:_PARITY]) % 2)
    if _BINARY in parts:
        put(_BINARY_LOW, 9, civil.second_of_day & 0x1FF)
        put(_BINARY_HIGH, 8, civil.second_of_day >> 9)
    for marker in MARKERS:
        found[marker] = 2
    return found


def leap_pending(second: int, scale: Scale) -> int:
    """+1 or -1 in the last 59 s before a leap second, and in it; else 0."""
    leap = scale.leap_after(second)
    if leap is None:
        return 0
    end, change = leap
    return change if end - second <= 59 + (change > 0) else 0


def encode(second: Whole, scale: Scale = UTC, expression: str = "B004", quality: Whole = 0) -> list[Change]:
    """[(when, level)] of a second; the line rests at 0."""
    second, found = whole(second, "second"), list[Change]()
    for number, symbol in enumerate(bits(second, scale, expression, quality)):
        rise = second + number * 10 * MS
        found += [(rise, 1), (rise + WIDTHS[symbol], 0)]
    return found


class IrigDecoder(GridDecoder):
    """Edges in, seconds out.

    near: a second close by: the century, and for codes without a year also the year, are those that are nearest to it. Without it
    the years are 2000 to 2099, and a code without a year is refused. parity: 'even', 'odd' or 'none', of the control bits.
    """

    noun = "bit"

    def __init__(
        self,
        tick_hz: Number,
        scale: Scale = UTC,
        expression: str = "B004",
        near: Whole | None = None,
        parity: str = "even",
        invert: bool = False,
    ) -> None:
        super().__init__(tick_hz, invert)
        self._scale, self._expression, self._parts = scale, expression, _parts(expression)
        if _YEAR not in self._parts and near is None:
            raise BadInput(f"near: {expression} has no year: give a second close by")
        if parity not in ("even", "odd", "none"):
            raise BadInput(f"parity: {shown(parity)} is not even, odd or none")
        self._near = None if near is None else scale.civil(near).nominal
        self._parity = parity
        self._bits: deque[tuple[int, int]] = deque(maxlen=BITS)  # (tick, symbol)

    def _forget(self) -> None:
        self._bits.clear()

    def _pulse(self, rise: int, fall: int) -> list[Found]:
        width = (fall - rise) / self.tick_hz
        symbol = next((symbol for symbol, ideal in WIDTHS.items() if abs(width - ideal) <= _TOLERANCE), None)
        if symbol is None:
            return self._no_bit(rise, fall)
        found: list[Found] = []
        if self._bits:
            pitch = (rise - self._bits[-1][0]) / self.tick_hz
            if abs(pitch - 10 * MS) > _PITCH_TOLERANCE:
                found += self.drop(f"the next one is {fixed(pitch * 1000, 3)} ms behind the last")
        self._count(rise)
        self._bits.append((rise, symbol))
        symbols = [symbol for _, symbol in self._bits] if symbol == 2 else []
        if len(symbols) == BITS and [n for n, symbol in enumerate(symbols) if symbol == 2] == _MARKED:
            if self._loose > BITS:
                found.append(Fault(self._first, f"bits of no whole frame before this one: {self._loose - BITS}"))
            ticks = [tick for tick, _ in self._bits]
            self._loose = 0
            self._bits.clear()
            found.append(self._frame(symbols, ticks))
        elif self._loose >= 2 * BITS:
            found.append(Fault(self._first, f"{BITS} bits without a whole frame"))
            self._loose -= BITS
            self._first = self._bits[0][0]
        return found

    def _frame(self, symbols: list[int], ticks: list[int]) -> Found:
        """What 100 symbols with all their markers say."""
        try:
            civil, text = self._read(symbols)
            return Frame(self._scale.second(civil), Fraction(ticks[0]), spread(ticks), text)
        except BadInput as error:
            return Fault(ticks[0], f"a frame that is not right: {error}")

    def _read(self, symbols: list[int]) -> tuple[Civil, str]:
        def get(first: int, count: int) -> int:
            return sum(symbols[first + n] << n for n in range(count))

        def decimal(field: tuple[int, int, int, int], what: str, most: int) -> int:
            units, tens = get(*field[:2]), get(*field[2:])
            if units > 9 or tens > 9 or tens * 10 + units > most:
                raise BadInput(f"{what}: {tens} tens and {units}")
            return tens * 10 + units

        second, minute = decimal(_SECOND, "second", 60), decimal(_MINUTE, "minute", 59)
        hour = decimal(_HOUR, "hour", 23)
        digits = [get(first, count) for first, count, _ in _DAY]
        if max(digits) > 9:
            raise BadInput(f"day: the digits {digits[2]}, {digits[1]} and {digits[0]}")
        day = sum(digit * unit for digit, (_, _, unit) in zip(digits, _DAY))
        if _CONTROL in self._parts and self._parity != "none" and sum(symbols[n] for n in _CHECKED) % 2 != (self._parity == "odd"):
            raise BadInput(f"parity: it is not {self._parity}")
        if _YEAR in self._parts:
            near = None if self._near is None else Civil.of_nominal(self._near).year
            year = year_of(decimal(_YEARS, "year", 99), near)
        else:
            year = self._nearest_year(day, hour, minute)
        found = Civil.of_day(year, day)
        civil = Civil(found.year, found.month, found.day, hour, minute, second)
        if _BINARY in self._parts:
            number = get(_BINARY_LOW, 9) | get(_BINARY_HIGH, 8) << 9
            if number != civil.second_of_day:
                raise BadInput(f"second of the day: {number}, but the time is {hour:02}:{minute:02}:{second:02}")
        return civil, f"{self._expression} {civil}"

    def _nearest_year(self, day: int, hour: int, minute: int) -> int:
        """That in which this day is nearest to the second that is close by."""
        assert self._near is not None
        near = self._near
        about = Civil.of_nominal(near).year

        def distance(year: int) -> int:
            try:
                return abs(Civil.of_day(year, day).nominal + hour * 3600 + minute * 60 - near)
            except BadInput:  # no day 366
                return 1 << 62

        return min((about - 1, about, about + 1), key=distance)


_MARKED = list(MARKERS)
_CHECKED = [n for n in range(1, _PARITY + 1) if n not in _MARKED]
