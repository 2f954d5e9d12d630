# SPDX-License-Identifier: BSD-2-Clause
"""A time in a named clock, as people write it: 'utc:2026-11-28T12:00:00.25Z'. Pure, no device."""

import re
from dataclasses import dataclass
from fractions import Fraction

from litepulse.codes.scale import DAY, SCALES, Civil
from litepulse.errors import BadInput, Unsupported, shown
from litepulse.units import NANO

_NAMED = re.compile(r"(utc|tai|monotonic|realtime|phc|harp|pps):(.*)", re.DOTALL)
_CALENDAR = re.compile(r"(?:(\d{4})-(\d\d)-(\d\d)[Tt ])?(\d\d):(\d\d):(\d\d)(\.\d{1,18})?([Zz]?)")
_SECONDS = re.compile(r"\d{1,12}(?:\.\d{1,18})?")
_INPUT = re.compile(r"[0-9]{1,9}")
_DEVICE = re.compile(r"[0-9]{1,9}|/[^\0\n]+")
NOT_YET = {"realtime": "its seconds are those of 'utc', which has leap seconds in the right place"}
# What a clock of this kind is called, for a message.
CLOCK_WORDS = "utc, tai, monotonic, realtime, pps:0, phc:0, harp or harp:0"


@dataclass(frozen=True)
class NamedTime:
    """A time in a clock.

    clock: 'utc', 'tai', 'monotonic'; 'pps:0': UTC, by the pulses at input 0; 'phc:0': of /dev/ptp0; 'harp', 'harp:0': of a Harp clock at
        rx, or at input 0
    second: as codes/scale.py counts; of the last three its own; with `daily` that of the day, which is the next one to come
    """

    clock: str
    second: Fraction
    daily: bool = False

    @property
    def channel(self) -> int | None:
        """Input that has the pulses."""
        return int(self.clock.partition(":")[2]) if self.clock.startswith("pps:") else None

    @property
    def comes_in(self) -> bool:
        """It comes in at the board: a capture finds it."""
        return self.clock.startswith(("pps:", "harp"))

    @property
    def counts(self) -> bool:
        """It has seconds alone, which no other clock names."""
        return self.clock.partition(":")[0] in ("monotonic", "phc", "harp")


def clock_name(text: str, what: str = "clock") -> str:
    """One name for each clock: 'phc:/dev/ptp0' is 'phc:0', 'harp:rx' is 'harp'. BadInput if there is none of this name."""
    kind, colon, where = text.partition(":")
    if not colon and kind in ("utc", "tai", "monotonic", "realtime", "phc", "harp"):
        return kind
    if kind == "pps" and _INPUT.fullmatch(where):
        return f"pps:{int(where)}"
    if kind == "harp" and (where == "rx" or _INPUT.fullmatch(where)):
        return "harp" if where == "rx" else f"harp:{int(where)}"
    if kind == "phc" and _DEVICE.fullmatch(where):
        number = re.fullmatch(r"(?:/dev/ptp)?([0-9]{1,9})", where)
        return f"phc:{int(number[1])}" if number else text
    raise BadInput(f"{what}: {shown(text)} is not {CLOCK_WORDS}")


def named_time(text: str, what: str) -> NamedTime | None:
    """What is meant; None if no clock is named. BadInput if it is no time, Unsupported for a clock that cannot be converted."""
    found = _NAMED.fullmatch(text.strip())
    if found is None:
        return None
    clock, rest = found[1], found[2]
    if clock in NOT_YET:
        raise Unsupported(f"{what}: '{clock}' is no clock for this: {NOT_YET[clock]}")
    if clock in ("monotonic", "phc", "harp"):
        return _counted(clock, rest, text, what)
    if clock == "pps":
        number, colon, rest = rest.partition(":")
        if not _INPUT.fullmatch(number) or not colon:
            raise BadInput(f"{what}: '{text}' is not a time: pps:0:12:00:00 is one by the pulses at input 0")
        clock = f"pps:{int(number)}"
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


_EXAMPLES = {
    "monotonic": "monotonic:1234.5 is one, in seconds",
    "phc": "phc:0:1796040037.5 is one, in seconds of /dev/ptp0",
    "harp": "harp:3878884800.5 is one, in seconds of the Harp clock at rx, harp:0:3878884800.5 at input 0",
}


def _counted(kind: str, rest: str, text: str, what: str) -> NamedTime:
    """Of a clock that has seconds alone: WHERE:SECONDS, or SECONDS."""
    where, colon, seconds = rest.rpartition(":")
    try:
        clock = clock_name(f"{kind}{colon}{where}")
    except BadInput:
        clock = None
    if clock is None or not _SECONDS.fullmatch(seconds) or (kind == "phc" and not colon):
        raise BadInput(f"{what}: '{text}' is not a time: {_EXAMPLES[kind]}")
    return NamedTime(clock, Fraction(seconds))


def time_text(clock: str, ns: int) -> str:
    """A time of a clock as named_time() reads it behind the clock's name: '2026-11-28T12:00:00.250000000Z', '1234.500000000'.

    ns: as ClockTime has them
    """
    kind = clock.partition(":")[0]
    second, rest = divmod(ns, NANO)
    if kind in ("monotonic", "phc", "harp"):
        return f"{second}.{rest:09}"
    scale = SCALES["tai" if kind == "tai" else "utc"]
    civil = scale.civil(scale.of_posix(second) if kind == "realtime" else second)
    return f"{str(civil).replace(' ', 'T')}.{rest:09}{'' if kind == 'tai' else 'Z'}"


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
