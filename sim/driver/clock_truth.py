# SPDX-License-Identifier: BSD-2-Clause
"""Readings of a board's ticks beside a PC's clocks, made from a truth: two oscillators that wander as far and as fast as they may.

All is whole numbers, in 1e-21 ns, so that the truth has no error worth mention.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

ONE = 10**21  # a ns
PPM = 10**15  # of a rate, in 1e-21
FARTHEST = 100 * PPM  # of each oscillator
FASTEST = 10**5  # change of a rate per ns: 0.1 ppm/s


@dataclass(frozen=True)
class Made:
    """A reading, and where in CLOCK_MONOTONIC_RAW its tick was, in 1e-21 ns; and a tick before it, and where that was."""

    tick: int
    before: int
    after: int
    true: int
    past: int
    past_true: int


class Oscillator:
    """Its time, from when it is turned on; its rate is off by what it has wandered."""

    def __init__(self, rng: random.Random, time: int) -> None:
        self.time, self.off = time * ONE, rng.randrange(-FARTHEST * 9 // 10, FARTHEST * 9 // 10)
        self.slope = 0

    def wander(self, slope: int, ns: int) -> None:
        """From now on, for `ns`, by `slope`."""
        self.slope = slope if abs(self.off + slope * ns) <= FARTHEST else -slope

    def at(self, ns: int) -> int:
        """The time it will show."""
        return self.time + ns * ONE + self.off * ns + self.slope * ns * ns // 2

    def advance(self, ns: int) -> None:
        """Time passes."""
        self.time = self.at(ns)
        self.off += self.slope * ns


def readings(
    seed: int,
    count: int,
    interval: Callable[[random.Random], int],
    request: Callable[[random.Random], float],
    answer: Callable[[random.Random], float],
    hz: int = 48_000_000,
) -> Iterator[Made]:
    """`count` of them; interval, request, answer: ns between two, from the PC's first look to the tick, and from the tick to the second."""
    rng = random.Random(seed)
    board, raw = Oscillator(rng, 3_000_000_000), Oscillator(rng, 7_000_000_000)
    slope = FASTEST
    for _ in range(count):
        ns = interval(rng)
        if rng.random() < ns / 20e9:
            slope = -slope if rng.random() < 0.8 else 0 if slope else FASTEST
        board.wander(-slope, ns)
        raw.wander(slope, ns)
        # A moment between the two readings, of which the tick is that which the board shows then.
        some = rng.randrange(ns // 2, ns)
        past, past_true = _tick(board, raw, some, hz)
        tick, true = _tick(board, raw, ns, hz)
        yield Made(tick, true // ONE - int(request(rng)), -(-true // ONE) + int(answer(rng)), true, past, past_true)
        board.advance(ns)
        raw.advance(ns)


def _tick(board: Oscillator, raw: Oscillator, ns: int, hz: int) -> tuple[int, int]:
    """(the latest tick of the board in `ns`, where in RAW it was). The tick is less than a tick away: rates do not matter for that."""
    at = board.at(ns)
    tick = at * hz // (10**9 * ONE)
    return tick, raw.at(ns) - (at - -(-tick * 10**9 * ONE // hz))
