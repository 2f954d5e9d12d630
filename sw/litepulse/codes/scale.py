# SPDX-License-Identifier: BSD-2-Clause
"""Seconds and what UTC calls them, with leap seconds. Pure and exact.

Every second has a number that never repeats: the TAI seconds since 1970-01-01 00:00:00 TAI. A Scale
says what a clock shows then: UTC with its leap seconds, or TAI itself.
"""

from bisect import bisect_right
from dataclasses import dataclass
from datetime import date

from litepulse.errors import BadInput
from litepulse.units import Whole, whole

DAY = 86400
_EPOCH = date(1970, 1, 1).toordinal()
# Beginnings of a month at which TAI - UTC grew by 1, from 10 s in 1972 on.
_STEPS = """1972-07 1973-01 1974-01 1975-01 1976-01 1977-01 1978-01 1979-01 1980-01 1981-07 1982-07
1983-07 1985-07 1988-01 1990-01 1991-01 1992-07 1993-07 1994-07 1996-01 1997-07 1999-01 2006-01
2009-01 2012-07 2015-07 2017-01""".split()


@dataclass(frozen=True, order=True)
class Civil:
    """A second as a calendar and a clock show it; `second` is 60 in a leap second."""

    year: int
    month: int
    day: int
    hour: int = 0
    minute: int = 0
    second: int = 0

    @property
    def day_of_year(self) -> int:
        """1 to 366."""
        return self._days - date(self.year, 1, 1).toordinal() + 1

    @property
    def weekday(self) -> int:
        """1 Monday to 7 Sunday."""
        return (self._days - 1) % 7 + 1

    @property
    def second_of_day(self) -> int:
        """0 to 86,399; 86,400 in a leap second."""
        return self.hour * 3600 + self.minute * 60 + self.second

    @property
    def _days(self) -> int:
        return date(self.year, self.month, self.day).toordinal()

    @property
    def nominal(self) -> int:
        """Seconds since 1970 with 86,400 in each day."""
        return (self._days - _EPOCH) * DAY + self.second_of_day

    @classmethod
    def of_nominal(cls, seconds: int) -> "Civil":
        """From seconds since 1970 with 86,400 in each day. BadInput outside of the years 1 to 9999."""
        days, rest = divmod(seconds, DAY)
        try:
            day = date.fromordinal(days + _EPOCH)
        except (ValueError, OverflowError):
            raise BadInput(f"second: {seconds} s since 1970 is no date of the years 1 to 9999") from None
        return cls(day.year, day.month, day.day, rest // 3600, rest // 60 % 60, rest % 60)

    @classmethod
    def of_day(cls, year: int, day_of_year: int) -> "Civil":
        """A day by its number in the year, 1 to 366. BadInput if the year has no such day."""
        first = cls(year, 1, 1)
        found = cls.of_nominal(first.nominal + (day_of_year - 1) * DAY)
        if day_of_year < 1 or found.year != year:
            raise BadInput(f"day: {year} has no day {day_of_year}")
        return found

    def __str__(self) -> str:
        return f"{self.year:04}-{self.month:02}-{self.day:02} {self.hour:02}:{self.minute:02}:{self.second:02}"


@dataclass(frozen=True)
class Scale:
    """What a clock shows. `steps`: (seconds since 1970 as UTC counts, TAI - UTC from there on)."""

    name: str
    steps: tuple[tuple[int, int], ...] = ((0, 0),)

    def _step(self, second: int) -> int:
        """Number of the step that holds at a second."""
        return max(0, bisect_right(self.steps, second, key=sum) - 1)

    def offset(self, second: Whole) -> int:
        """TAI minus what the clock shows."""
        return self.steps[self._step(whole(second, "second"))][1]

    def civil(self, second: Whole) -> Civil:
        """Date and time of a second."""
        second = whole(second, "second")
        number = self._step(second)
        shown = second - self.steps[number][1]
        if number + 1 < len(self.steps) and shown >= self.steps[number + 1][0]:  # a leap second
            last = Civil.of_nominal(self.steps[number + 1][0] - 1)
            return Civil(last.year, last.month, last.day, last.hour, last.minute, 60)
        return Civil.of_nominal(shown)

    def second(self, civil: Civil) -> int:
        """The second that has this date and time. BadInput if none has."""
        try:
            nominal = civil.nominal - (civil.second == 60)
            found = nominal + self._of(nominal) + (civil.second == 60)
        except (ValueError, OverflowError):
            found = None
        if found is None or self.civil(found) != civil:
            raise BadInput(f"second: {self.name} has no {civil}")
        return found

    def _of(self, nominal: int) -> int:
        """The offset that holds when the clock shows this."""
        return next((offset for start, offset in reversed(self.steps) if nominal >= start), self.steps[0][1])

    def posix(self, second: Whole) -> int:
        """Seconds since 1970 with 86,400 in each day; a leap second has the number of the next one."""
        second = whole(second, "second")
        return second - self.offset(second)

    def of_posix(self, seconds: Whole) -> int:
        """The second with this number; of two, the one after the leap second."""
        number = whole(seconds, "second")
        return number + self._of(number)

    def leap_after(self, second: Whole) -> tuple[int, int] | None:
        """The next leap second behind a second: (the second that follows it, +1 or -1), or None."""
        number = self._step(whole(second, "second")) + 1
        if number >= len(self.steps):
            return None
        start, offset = self.steps[number]
        return start + offset, offset - self.steps[number - 1][1]

    def with_leap(self, year: Whole, month: Whole, change: Whole = 1) -> "Scale":
        """The same with one more leap second, at the end of the month before: +1 or -1."""
        change = whole(change, "change")
        start = Civil(whole(year, "year"), whole(month, "month"), 1).nominal
        if change not in (1, -1) or start <= self.steps[-1][0]:
            raise BadInput("leap: it is +1 or -1, and later than those that are known")
        return Scale(self.name, (*self.steps, (start, self.steps[-1][1] + change)))


def _known() -> tuple[tuple[int, int], ...]:
    starts = [Civil(int(text[:4]), int(text[5:]), 1).nominal for text in ("1972-01", *_STEPS)]
    return tuple((start, 10 + number) for number, start in enumerate(starts))


UTC = Scale("UTC", _known())
TAI = Scale("TAI")
SCALES = {"utc": UTC, "tai": TAI}


def nearest(value: int, period: int, near: int) -> int:
    """Of the numbers that are `value` modulo `period`, the one nearest to `near`."""
    return near + (value - near + period // 2) % period - period // 2


def year_of(digits: int, near: int | None) -> int:
    """A year from its last two digits: the one nearest to the year `near`, else one of 2000 to 2099."""
    return 2000 + digits if near is None else nearest(digits, 100, near)
