# SPDX-License-Identifier: BSD-2-Clause
"""What all codes have in common: frames that were decoded, what was not whole, and the line through them. Pure and exact."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from litepulse.errors import BadInput
from litepulse.units import Number, Whole, counted, fixed, to_rate, whole

MS = Fraction(1, 1000)
US = Fraction(1, 1_000_000)
Change = tuple[Fraction, int]  # when, in seconds as scale.py counts them, and the new level, or the byte that starts


@dataclass(frozen=True)
class Frame:
    """A whole frame.

    second: which one it names, as scale.py counts; tick: where that begins, exact; spread: by how many
    ticks the frame's own edges lie off an even grid at most; text: what the frame says
    """

    second: int
    tick: Fraction
    spread: Fraction
    text: str


@dataclass(frozen=True)
class Fault:
    """What begins at `tick` is not whole, or not right; no second was made of it."""

    tick: int
    text: str


Found = Frame | Fault


class Decoder:
    """Takes what was recorded, in the order of time, and gives the frames in it."""

    strange = "bytes of no frame"  # what is counted until it is reported

    def __init__(self, tick_hz: Number) -> None:
        self.tick_hz = to_rate(tick_hz, "tick_hz")
        self._last: int | None = None
        self._skipped = 0
        self._skipped_from = 0  # tick of the first of them

    def feed(self, tick: Whole, value: Whole, ok: bool = True) -> list[Found]:
        """The next edge (its tick and level) or byte (tick of its start edge, value, and whether it came without error)."""
        tick, value = whole(tick, "tick"), whole(value, "value")
        if self._last is not None and tick < self._last:
            raise BadInput(f"tick: {tick} comes after {self._last}: records have the order of time")
        self._last = tick
        return self._feed(tick, value, ok)

    def _feed(self, tick: int, value: int, ok: bool) -> list[Found]:
        raise NotImplementedError

    def _skip(self, tick: int) -> list[Found]:
        """A byte or a pulse that is no part of a frame; reported with the next frame, or every 100."""
        if not self._skipped:
            self._skipped_from = tick
        self._skipped += 1
        return self._report() if self._skipped >= 100 else []

    def _report(self) -> list[Found]:
        """What was skipped by now."""
        skipped, self._skipped = self._skipped, 0
        return [Fault(self._skipped_from, f"{self.strange}: {skipped}")] if skipped else []

    def advance(self, tick: int) -> list[Found]:
        """Nothing more comes before this tick."""
        del tick
        return []

    def drop(self, why: str) -> list[Found]:
        """What has begun is not whole: records are missing, or the recording ends."""
        raise NotImplementedError

    def end(self) -> list[Found]:
        """The recording ends here."""
        return self.drop("the recording ends")


def decode(decoder: Decoder, records: Iterable[Sequence[Whole]], until: Whole | None = None) -> list[Found]:
    """All frames and faults of a recording: (tick, level) of edges, or (tick, byte) or (tick, byte, ok) of bytes.

    until: the tick up to which was recorded, if that is behind the last record
    """
    found: list[Found] = []
    for record in records:
        if len(record) not in (2, 3):
            raise BadInput("records: each is (tick, level), (tick, byte) or (tick, byte, ok)")
        found += decoder.feed(record[0], record[1], len(record) == 2 or bool(record[2]))
    if until is not None:
        found += decoder.advance(whole(until, "until"))
    return found + decoder.end()


class PulseDecoder(Decoder):
    """Of a code that is made of pulses: a pulse begins with the edge to 1, with `invert` to 0."""

    def __init__(self, tick_hz: Number, invert: bool = False) -> None:
        super().__init__(tick_hz)
        self._active = 0 if invert else 1
        self._level: int | None = None
        self._rise: int | None = None

    def _feed(self, tick: int, value: int, ok: bool) -> list[Found]:
        if value not in (0, 1):
            raise BadInput(f"level: {value} is not 0 or 1")
        found: list[Found] = []
        if value == self._level:
            found = self.drop("an edge is missing") or [Fault(tick, "an edge is missing")]
            self._rise = None
        self._level = value
        if value == self._active:
            self._rise = tick
        elif self._rise is not None:
            rise, self._rise = self._rise, None
            found += self._pulse(rise, tick)
        return found

    def _pulse(self, rise: int, fall: int) -> list[Found]:
        raise NotImplementedError

    def _ms(self, ticks: int | Fraction) -> str:
        """A length for people."""
        return f"{fixed(ticks / self.tick_hz * 1000, 3)} ms"


class GridDecoder(PulseDecoder):
    """Of a code whose pulses lie on a grid: `loose` are those that no frame or fault has named yet."""

    noun = "pulse"

    def __init__(self, tick_hz: Number, invert: bool = False) -> None:
        super().__init__(tick_hz, invert)
        self._loose = 0
        self._first = 0  # tick of the first of them

    def _count(self, rise: int) -> None:
        if not self._loose:
            self._first = rise
        self._loose += 1

    def _forget(self) -> None:
        """The pulses by now are no part of a frame that is to come."""
        raise NotImplementedError

    def drop(self, why: str) -> list[Found]:
        loose, self._loose = self._loose, 0
        self._forget()
        if not loose:
            return []
        return [Fault(self._first, f"{counted(loose, self.noun)} of no whole frame: {why}")]

    def _no_bit(self, rise: int, fall: int) -> list[Found]:
        """A pulse that the code does not have."""
        why = f"a pulse of {self._ms(fall - rise)} at tick {rise}"
        return self.drop(why) or [Fault(rise, why)]


def spread(ticks: Sequence[int]) -> Fraction:
    """By how much ticks at equal distances lie off the line through the first and the last at most."""
    step = Fraction(ticks[-1] - ticks[0], len(ticks) - 1)
    return max(abs(tick - ticks[0] - number * step) for number, tick in enumerate(ticks))


def pulses(changes: Iterable[Change]) -> list[tuple[Fraction, Fraction]]:
    """(when, length) of the pulses to 1 in a list of changes."""
    found: list[tuple[Fraction, Fraction]] = []
    rise: Fraction | None = None
    for at, level in changes:
        if level:
            rise = at
        elif rise is not None:
            found.append((rise, at - rise))
            rise = None
    return found


class Fit:
    """The straight line through frames, by least squares: ticks against seconds. Sums alone are kept, exact."""

    def __init__(self, tick_hz: Number) -> None:
        self.tick_hz = to_rate(tick_hz, "tick_hz")
        self.count = 0
        self._second = 0
        self._tick = Fraction(0)
        self._x = self._y = self._xx = self._xy = Fraction(0)

    @property
    def rate(self) -> Fraction:
        """Ticks in a second of the code; the nominal rate until two seconds are known."""
        below = self.count * self._xx - self._x * self._x
        return self.tick_hz if not below else (self.count * self._xy - self._x * self._y) / below

    @property
    def ppm(self) -> Fraction:
        """By how many parts in a million the board's clock is fast against the code."""
        return (self.rate / self.tick_hz - 1) * 1_000_000

    def tick_of(self, second: int | Fraction) -> Fraction:
        """Where a second begins by the line."""
        if not self.count:
            raise BadInput("fit: there is no frame yet")
        return self._tick + (self._y + self.rate * (self.count * (second - self._second) - self._x)) / self.count

    def second_of(self, tick: int | Fraction) -> Fraction:
        """The time of a tick by the line."""
        return self._second + (tick - self.tick_of(self._second)) / self.rate

    def add(self, frame: Frame) -> Fraction:
        """One more frame; returns by how many ticks it lies behind the line through those before (0 for the first)."""
        residual = frame.tick - self.tick_of(frame.second) if self.count else Fraction(0)
        if not self.count:
            self._second, self._tick = frame.second, frame.tick
        x, y = frame.second - self._second, frame.tick - self._tick
        self.count += 1
        self._x += x
        self._y += y
        self._xx += x * x
        self._xy += x * y
        return residual
