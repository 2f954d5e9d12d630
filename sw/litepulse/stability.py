# SPDX-License-Identifier: BSD-2-Clause
"""How steady a clock is: the overlapping Allan deviation, and its rate. Pure, no device.

Terms: IEEE Std 1139; formula: NIST Special Publication 1065, 5.2.4.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Deviation:
    """The Allan deviation over tau seconds, without unit, from this many terms."""

    tau: float
    deviation: float
    terms: int


def allan(phase: Sequence[float | None], interval: float, factor: int) -> Deviation | None:
    """Over `factor` intervals, of a clock's time error in seconds, `interval` seconds apart; None: not enough. (Of an error in another
    unit: in that unit per second.)

    Where the error is not known (None), the terms that need it are left out.
    """
    total, terms = 0.0, 0
    for first, middle, last in zip(phase, phase[factor:], phase[2 * factor :]):
        if first is not None and middle is not None and last is not None:
            total += (last - 2 * middle + first) ** 2
            terms += 1
    tau = factor * interval
    return Deviation(tau, math.sqrt(total / (2 * terms)) / tau, terms) if terms else None


def octaves(phase: Sequence[float | None], interval: float) -> list[Deviation]:
    """The Allan deviation over 1, 2, 4, … intervals, as far as a quarter of all of them."""
    factors = [1 << n for n in range(len(phase).bit_length()) if 4 << n <= len(phase) or n == 0]
    return [found for factor in factors if (found := allan(phase, interval, factor))]


def slope(phase: Sequence[float | None], interval: float) -> float | None:
    """Seconds that the error grows in a second: of the straight line nearest to all; None: of less than two."""
    known = [(n * interval, error) for n, error in enumerate(phase) if error is not None]
    if len(known) < 2:
        return None
    middle, mean = (math.fsum(part) / len(known) for part in zip(*known))
    rise = math.fsum((at - middle) * (error - mean) for at, error in known)
    return rise / math.fsum((at - middle) ** 2 for at, _ in known)
