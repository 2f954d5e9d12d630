# SPDX-License-Identifier: BSD-2-Clause
"""Which pins of a board follow its tx: what a jumper really connects."""

import math
from dataclasses import dataclass
from fractions import Fraction

from litepulse.backends.interface import LAUNCH_PROFILE, Wanted
from litepulse.board import Board
from litepulse.errors import LitePulseError
from litepulse.interrupt import Flag
from litepulse.job import POLL_SECONDS, check_alone, tidy
from litepulse.line import Format, Launch
from litepulse.plan import profile_of
from litepulse.streams import Lost, edges
from litepulse.units import Whole

PULSES = 8
WIDTH = Fraction(1, 50_000)  # seconds: far longer than pads and a wire add, far shorter than anything that hums
PERIOD = Fraction(1, 2000)
_PATIENCE = Fraction(1, 500)  # seconds of the board's clock behind the last launch: what came until then is in a batch
_LEAD = Fraction(1, 200)  # seconds from now to the first pulse, at least
_TRIES = 5  # each with twice the time
_LATE = 4  # a pulse that comes belongs to its launch if it is late by less than this part of its width
_NOISE = PULSES  # edges of no launch at one pin: with more it moves by itself


@dataclass(frozen=True)
class Pins:
    """What was seen. follow: the pins that have every pulse of tx; moving: those that change by themselves.

    low: whether rx is at 0 while nothing is sent; None: this core does not report levels
    """

    follow: tuple[str, ...]
    moving: tuple[str, ...]
    low: bool | None


def look(board: Board, interrupt: Flag) -> Pins:
    """Sends some pulses and records all pins. LitePulseError if the board cannot, KeyboardInterrupt if it is interrupted."""
    backend, scale, inputs = board.backend, board.timescale, board.identity.inputs
    profile = profile_of(scale, min(Fraction(115_200), scale.clock_hz / 8), Format.parse("8N1"))
    width, period, patience = (math.ceil(scale.ticks(value)) for value in (WIDTH, PERIOD, _PATIENCE))
    mask = (1 << inputs + 1) - 1
    check_alone(backend)
    launched: list[int] = []
    seen: dict[int, list[tuple[int, int]]] = {channel: [] for channel in range(inputs + 1)}
    lost = False
    try:
        backend.line.set_receiver(profile, False, False)
        backend.line.set_profile(LAUNCH_PROFILE, profile)
        backend.queue.flush()
        levels = board.status().levels
        backend.recorder.record(Wanted(("queue",), ("queue",), rise=mask, fall=mask))
        backend.pledge(keep=False)
        before = backend.now()
        reach = math.ceil(scale.ticks(backend.queue.seconds(PULSES)))
        lead = max(8 * (backend.now() - before) + reach, math.ceil(scale.ticks(_LEAD)))
        tries = 0
        ticks: list[int] = []
        over = True
        while not (over and (lost or launched or tries == _TRIES)):
            if over:  # a busy PC may have been too late for all of them
                tries, over = tries + 1, False
                start = backend.now() + (lead << tries - 1)
                ticks = [start + n * period for n in range(PULSES)]
                taken = backend.queue.launch([(tick, n, Launch("pulse", 0, LAUNCH_PROFILE, width)) for n, tick in enumerate(ticks)])
                if taken < PULSES:
                    raise LitePulseError(f"the board took {taken} of {PULSES} launches")
            if interrupt:
                raise KeyboardInterrupt
            batch = backend.recorder.read()
            for event in batch.events:
                if isinstance(event, Lost):
                    lost = over = True  # a pin changes all the time
                elif event.kind == "edge":
                    for edge in edges(event, scale.samples_per_cycle):
                        seen[edge.channel].append((edge.tick, edge.level))
                elif event.kind == "tx":
                    launched.append(event.tick)
            over |= batch.tick > ticks[-1] + patience
            backend.recorder.wait(POLL_SECONDS)
    finally:
        tidy(backend)
    if not launched and not lost:
        raise LitePulseError("no pulse left the board")
    follow, moving = judged(seen, launched, width)
    names = [*(f"in{channel}" for channel in range(inputs)), "rx"]
    low = not levels[inputs] if levels else None
    return Pins(tuple(names[each] for each in follow), tuple(names[each] for each in moving), low)


def judged(seen: dict[int, list[tuple[int, int]]], launched: list[int], width: Whole) -> tuple[list[int], list[int]]:
    """(channels that follow tx, channels that move by themselves) of the edges at each: (tick, level)."""
    late = int(width) // _LATE
    wanted = [(tick + after, level) for tick in launched for after, level in ((0, 0), (int(width), 1))]
    follow: list[int] = []
    moving: list[int] = []
    for channel, found in seen.items():
        hits = {place for place, (tick, level) in enumerate(wanted) if any(one == level and 0 <= at - tick < late for at, one in found)}
        if wanted and len(hits) == len(wanted):
            follow.append(channel)
        elif len(found) - len(hits) > _NOISE:
            moving.append(channel)
    return follow, moving
