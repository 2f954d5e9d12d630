# SPDX-License-Identifier: BSD-2-Clause
"""A time in a named clock, as people write it: 'utc:2026-11-28T12:00:00.25Z'. Pure, no device."""

import re
from dataclasses import dataclass
from fractions import Fraction

from litepulse.codes.scale import DAY, SCALES, Civil
from litepulse.errors import BadInput, Unsupported

_NAMED = re.compile(r"(utc|tai|monotonic|realtime|phc|harp|pps):(.*)", re.DOTALL)
_CALENDAR = re.compile(r"(?:(\d{4})-(\d\d)-(\d\d)[Tt ])?(\d\d):(\d\d):(\d\d)(\.\d{1,18})?([Zz]?)")
_SECONDS = re.compile(r"\d{1,12}(?:\.\d{1,18})?")
NOT_YET = {
    "phc": "only the kernel's driver has that clock, and PEROUT is its train (docs/ptp.md)",
    "harp": "'litepulse clock follow harp' shows at which tick each second is; give that tick",
    "realtime": "its seconds are those of 'utc', which has leap seconds in the right place",
}


@dataclass(frozen=True)
class NamedTime:
    """A time in a clock.

    clock: 'utc', 'tai', 'monotonic'; 'pps:0': UTC, by the pulses at input 0
    second: as codes/scale.py counts; of 'monotonic' its own; with `daily` that of the day, which is the next one to come
    """

    clock: str
    second: Fraction
    daily: bool = False

    @property
    def channel(self) -> int | None:
        """Input that has the pulses."""
        return int(self.clock.partition(":")[2]) if self.clock.startswith("pps:") else None


def named_time(text: str, what: str) -> NamedTime | None:
    """What is meant; None if no clock is named. BadInput if it is no time, Unsupported for a clock that cannot be converted."""
    found = _NAMED.fullmatch(text.strip())
    if found is None:
        return None
    clock, rest = found[1], found[2]
    if clock in NOT_YET:
        raise Unsupported(f"{what}: '{clock}' is no clock for this: {NOT_YET[clock]}")
    if clock == "pps":
        number, colon, rest = rest.partition(":")
        if not (number.isdecimal() and number.isascii() and len(number) < 10) or not colon:
            raise BadInput(f"{what}: '{text}' is not a time: pps:0:12:00:00 is one by the pulses at input 0")
        clock = f"pps:{int(number)}"
    if clock == "monotonic":
        if not _SECONDS.fullmatch(rest):
            raise BadInput(f"{what}: '{text}' is not a time: monotonic:1234.5 is one, in seconds")
        return NamedTime(clock, Fraction(rest))
    part = _CALENDAR.fullmatch(rest)
    scale = SCALES["tai" if clock == "tai" else "utc"]
    if part is None or (part[8] and clock == "tai"):
        zone = "" if clock == "tai" else "Z"
        raise BadInput(f"{what}: '{text}' is not a time: {clock}:2026-11-28T12:00:00.25{zone} is one, {clock}:12:00:00 the next noon")
    hour, minute, second = int(part[4]), int(part[5]), int(part[6])
    fraction = Fraction(part[7] or 0)
    if hour > 23 or minute > 59 or second > (59 if scale is SCALES["tai"] else 60):
        raise BadInput(f"{what}: '{text}' is not a time of a day")
    if part[1] is None:
        if second == 60:
            raise BadInput(f"{what}: '{text}' needs a date: not every day has a leap second")
        return NamedTime(clock, hour * 3600 + minute * 60 + second + fraction, daily=True)
    try:
        day = Civil(int(part[1]), int(part[2]), int(part[3]), hour, minute, second)
        return NamedTime(clock, scale.second(day) + fraction)
    except (BadInput, ValueError):
        raise BadInput(f"{what}: there is no {rest} in {scale.name}") from None


def next_of(moment: NamedTime, now: Fraction) -> Fraction:
    """The second that is meant, if it is `now`."""
    if not moment.daily:
        return moment.second
    scale = SCALES["tai" if moment.clock == "tai" else "utc"]
    today = scale.civil(int(now))
    midnight = scale.second(Civil(today.year, today.month, today.day))
    for day in (midnight, scale.of_posix(scale.posix(midnight) + DAY)):
        second = day + moment.second
        if second > now:
            return second
    return scale.of_posix(scale.posix(midnight) + 2 * DAY) + moment.second
