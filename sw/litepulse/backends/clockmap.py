# SPDX-License-Identifier: BSD-2-Clause
"""Ticks of a board in CLOCK_MONOTONIC_RAW, and that in another clock of the PC, each with a bound. Pure, no device.

docs/develop/clocks.md has the mathematics. The same as driver/litepulse_clock_map.c, to the last nanosecond: whole numbers only.
"""

from dataclasses import dataclass

RATE_SHIFT = 32  # rates are in 2^-32 ns per ns
RATE_MOST = 1 << 22  # 1/1024: the clocks never part faster
LONGEST_SHIFT = 40  # of ns: after a longer silence the map begins again
LEVELS, FIRST_SHIFT = 6, 25  # anchors are kept for 2^25 ns, for four times as long, and so on
SHORTEST_SHIFT = 24  # of ns: a younger anchor says nothing about the rate
SLEW_SHIFT = 33  # of ns: for so long a slew is followed
SLEW_MOST = 1 << 29  # 1/8: more is a step, not a slew
CALM_SHIFT = 28  # of ns: in a longer interval a slew may change often, by 2^-10
CALM_RATE = 1 << 12  # 2^-20: in a shorter one by so much, if it has not been seen to change by more


def wander(ns: int) -> int:
    """By how many ns a rate that was right parts the clocks: 2^-53 ns², rounded up."""
    steps = (ns >> 10) + 1
    return (steps * steps >> 33) + 1


def rate_wander(ns: int) -> int:
    """By how much the rate changes: 2^-52 per ns, rounded up."""
    return (ns >> 20) + 1


@dataclass(frozen=True)
class Anchor:
    """At this tick CLOCK_MONOTONIC_RAW was from `earliest` to `latest` ns."""

    tick: int
    earliest: int
    latest: int


class ClockMap:
    """When ticks were. A tick is numerator / denominator ns by the board's clock.

    coarse: nothing is assumed of the clocks but RATE_MOST; the board is simulated, and stands still now and then
    """

    def __init__(self, numerator: int, denominator: int, coarse: bool = False) -> None:
        self._numerator, self._denominator, self._coarse = numerator, denominator, coarse
        self.breaks = 0  # so often a reading contradicted those before it, which were forgotten then
        self.known: Anchor | None = None  # the latest reading, and all that is known of it
        self.slow, self.fast = -RATE_MOST, RATE_MOST
        self._young: list[Anchor | None] = [None] * LEVELS
        self._old: list[Anchor | None] = [None] * LEVELS

    def nominal(self, ticks: int) -> int:
        """ns by the board's clock, rounded down."""
        return ticks * self._numerator // self._denominator

    def forget(self) -> None:
        """What was known is no longer true: the board was reset, or the PC slept."""
        self.known = None

    def _begin(self, reading: Anchor) -> None:
        self.known = reading
        self.slow, self.fast = -RATE_MOST, RATE_MOST
        self._young = [reading] * LEVELS
        self._old = [None] * LEVELS

    def add(self, tick: int, before: int, after: int) -> None:
        """A reading: the tick was taken between the two, ns of CLOCK_MONOTONIC_RAW."""
        reading = Anchor(tick, before, after)
        if self.known is None or tick < self.known.tick:
            return self._begin(reading)
        passed = self.nominal(tick - self.known.tick)
        if passed >> LONGEST_SHIFT:
            return self._begin(reading)
        earliest, latest = self.at(tick)
        # A reset since then moves the offset by what the board had run: could that be seen?
        if self.nominal(self.known.tick) <= latest - earliest + after - before:
            return self._begin(reading)
        earliest, latest = max(before, earliest), min(after, latest)
        self.slow = max(self.slow - rate_wander(passed + 1), -RATE_MOST)
        self.fast = min(self.fast + rate_wander(passed + 1), RATE_MOST)
        self.known = Anchor(tick, earliest, latest)
        if earliest <= latest and not self._coarse:
            for anchor in (*self._young, *self._old):
                if anchor is not None:
                    self._learn_rate(anchor)
        if earliest > latest or self.slow > self.fast:
            self.breaks += 1
            return self._begin(reading)
        for level in range(LEVELS):
            young, shift = self._young[level], FIRST_SHIFT + 2 * level
            if young is None or young.latest >> shift != latest >> shift:
                self._old[level], self._young[level] = young, self.known
        return None

    def _learn_rate(self, anchor: Anchor) -> None:
        """What the time since an anchor says of the rate now."""
        known = self.known
        assert known is not None
        passed = self.nominal(known.tick - anchor.tick)
        if not passed >> SHORTEST_SHIFT or passed >> LONGEST_SHIFT:
            return
        wandered = (passed >> 21) + 1
        most, least = known.latest - anchor.earliest - passed, known.earliest - anchor.latest - passed - 1
        # What is more than 1/1024 apart says nothing.
        if most < passed >> 10 and most > -(passed >> 10):
            self.fast = min(self.fast, (most << RATE_SHIFT) // passed + 1 + wandered)
        if least < passed >> 10 and least > -(passed >> 10):
            self.slow = max(self.slow, (least << RATE_SHIFT) // passed - 1 - wandered)

    def at(self, tick: int) -> tuple[int, int]:
        """(earliest, latest) of a tick, after the first reading."""
        known = self.known
        assert known is not None
        passed = self.nominal(abs(tick - known.tick))
        if passed >> LONGEST_SHIFT:
            unsure, slow, fast = 2, -(passed >> 10), passed >> 10
        else:
            unsure = wander(passed + 1) + 2
            slow, fast = self.slow * (passed + 1) >> RATE_SHIFT, self.fast * (passed + 1) >> RATE_SHIFT
        if tick >= known.tick:
            return known.earliest + passed + slow - unsure, known.latest + passed + fast + unsure
        return known.earliest - passed - fast - unsure, known.latest - passed - slow + unsure


class BesideRaw:
    """What another clock shows at a time of CLOCK_MONOTONIC_RAW, from readings of both."""

    def __init__(self) -> None:
        self.readings = 0  # 2: also more
        self.raw, self._offset, self._error = 0, 0, 0  # of the latest
        self._span = 0  # ns from the reading before to it
        self._slew = 0  # of the clock against RAW
        self._doubt = RATE_MOST  # by how much that may be wrong
        self._bend = 0  # by how much the slew was another one in the last seconds
        self._jump = 0  # by how much the slew changed at once, at most; 1/8 is forgotten each 2^33 ns of RAW
        self._since = 0  # from this RAW on no reading is missing
        self._slews = (SLEW_MOST, -SLEW_MOST)  # the least and the most between two readings of the latest 2^33 ns of RAW
        self._slews_before = self._slews  # of the 2^33 ns before
        self.fault = 0  # ns that the clock was not where the readings before the latest had it: it was set, or its slew changed

    def add(self, raw: int, shown: int, error: int) -> None:
        """At this RAW, the clock was within `error` ns of `shown`."""
        span, offset = raw - self.raw, shown - raw
        if (raw ^ self.raw) >> SLEW_SHIFT:
            self._jump -= self._jump >> 3
        if not self.readings or span <= 0 or span >> SLEW_SHIFT:
            self.readings, self._span, self._slew, self._doubt, self._bend, self.fault = 1, 0, 0, RATE_MOST, 0, 0
            self.raw, self._offset, self._error, self._since = raw, offset, error, raw
            self._slews = self._slews_before = (SLEW_MOST, -SLEW_MOST)
            return
        change, noise = offset - self._offset, error + self._error
        away, slew = abs(change - (self._slew * span >> RATE_SHIFT)), self._slew
        doubtful = noise + (self._doubt * span >> RATE_SHIFT) + 1
        if abs(change) < span >> 3:  # more than 1/8 is a step
            if away > doubtful:  # the interval in which it changed, or the next one, shows half of it
                self._jump = max(self._jump, (min(away, span >> 3) << RATE_SHIFT + 1) // span)
            doubt = (noise << RATE_SHIFT) // span + 1
            if noise < span >> 10 and (away > doubtful or doubt < self._doubt):
                slew, self._doubt = (change << RATE_SHIFT) // span, doubt
            elif away > doubtful:  # the slew is another one, but which?
                self._doubt = max(self._doubt, (min(away + noise, span >> 2) << RATE_SHIFT) // span + 1)
        self._note_slew(raw, span, change, slew)
        self.readings, self._slew = 2, slew
        self.raw, self._offset, self._error = raw, offset, error
        self._span, self.fault = span, away + doubtful

    def _note_slew(self, raw: int, span: int, change: int, slew: int) -> None:
        """What slews there were in the last seconds, after one more interval."""
        if self._span >> CALM_SHIFT:  # a longer interval may hide something
            self._since = self.raw
        if (raw ^ self.raw) >> SLEW_SHIFT:
            self._slews, self._slews_before = (SLEW_MOST, -SLEW_MOST), self._slews
        if abs(change) < span >> 3:  # else it is a step
            low, high = self._slews
            mean = (change << RATE_SHIFT) // span
            exceeds = change << RATE_SHIFT > high * span
            self._slews = min(low, mean), mean + 1 if exceeds else high
        least, most = min(self._slews[0], self._slews_before[0]), max(self._slews[1], self._slews_before[1])
        self._bend = max(slew - least, most - slew, abs(slew - self._slew))

    def _hidden(self, span: int, edge: int) -> int:
        """How far changes that take each other back move the clock at most, within an interval and `edge` ns from its end."""
        rate = max(self._jump, RATE_MOST if span >> CALM_SHIFT else CALM_RATE)
        return min(rate * edge, min(rate, RATE_MOST) * (span + edge)) >> RATE_SHIFT

    def at(self, raw: int) -> tuple[int, int]:
        """(ns, by how many of them they may be wrong at most), after the first reading."""
        passed, most = self.raw - raw, 1 << SLEW_SHIFT
        beyond = max(-passed, passed - self._span)
        if beyond <= 0:
            unsure = self._hidden(self._span, min(passed, -beyond))
        else:
            unsure = self._hidden((1 << CALM_SHIFT) - 1, min(beyond, 1 << CALM_SHIFT - 2))
            unsure += (self._bend * min(beyond, most) >> RATE_SHIFT) + 1 + (max(abs(passed) - most, 0) >> 3)
            unsure += beyond >> 10 if passed < 0 else (beyond >> 20) + (max(self._since - raw, 0) >> 10)
        unsure += self._error + self.fault + (self._span >> 20) + 3
        return raw + self._offset - (self._slew * max(min(passed, most), -most) >> RATE_SHIFT), unsure

    def gained(self, ns: int) -> int:
        """What the clock may gain in so many ns, at most."""
        fastest, followed = abs(self._slew) + self._bend, min(ns, 1 << SLEW_SHIFT)
        return (ns >> 10) + 2 + (fastest * followed >> RATE_SHIFT) + (self._jump * followed >> RATE_SHIFT)


def time_of(known: ClockMap, beside: BesideRaw, tick: int) -> tuple[int, int, int]:
    """(RAW, the other clock, by how many ns that may be wrong at most) of a tick."""
    earliest, latest = known.at(tick)
    half = (latest - earliest + 1) // 2
    ns, unsure = beside.at(earliest + half)
    return earliest + half, ns, unsure + half + beside.gained(half)
