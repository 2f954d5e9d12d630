# SPDX-License-Identifier: BSD-2-Clause
"""What the verbs say in common: the first line, the first keys of JSON, losses, how it ended."""

import signal
from fractions import Fraction
from typing import Any

from litepulse import Board, output
from litepulse.backends import SIM
from litepulse.interrupt import Interrupt
from litepulse.line import Profile
from litepulse.units import counted, exact, fixed, si

LOST = 1  # exit status when records were lost, launches refused, or nothing was answered


def shared(board: Board, command: str) -> dict[str, Any]:
    """What every result begins with."""
    identity = board.identity
    return {
        "command": command,
        "backend": identity.backend,
        "simulated": identity.simulated,
        "device": identity.name,
        "clock_hz": exact(identity.clock_hz),
        "samples_per_cycle": identity.samples_per_cycle,
        "tick_hz": exact(board.tick_hz),
    }


def shared_line(profile: Profile) -> dict[str, str]:
    """What results say about the line."""
    return {"baud": exact(profile.bit_period.baud), "bit_period_ticks": exact(profile.bit_period.ticks), "format": str(profile.format)}


def headline(board: Board) -> str:
    """The first line for people."""
    identity = board.identity
    clock, tick = si(identity.clock_hz, "Hz", 6), si(1 / board.tick_hz, "s")
    if identity.simulated:
        where = "" if identity.backend == SIM else f"{identity.name}: "
        return output.folded(f"{where}SIMULATED SoC at {clock}, 1 tick = {tick}")
    return output.folded(f"{identity.name}: LitePulse at {clock}, 1 tick = {tick}")


def simulated_mark(board: Board) -> str:
    """', SIMULATED' behind a title, where it is."""
    return ", SIMULATED" if board.simulated else ""


def clock_note(board: Board) -> str:
    """How true the clock is."""
    return output.SIM_NOTE if board.simulated else output.CLOCK_NOTE


def ended(interrupt: Interrupt, endless: bool) -> int:
    """Exit status: Ctrl-C is the ordinary end of what would go on forever."""
    if interrupt.signal is None or (endless and interrupt.signal == signal.SIGINT):
        return 0
    return 128 + interrupt.signal


def span(seconds: Fraction) -> str:
    """A wait of a second or more, for people, in its two largest units: '1.5 s', '2 min 5 s', '1157 d 9 h'."""
    if seconds < 60:
        return f"{fixed(seconds, 1).removesuffix('.0')} s"
    whole = round(seconds)
    for large, name, small, rest in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= large:
            left = whole % large // small
            return f"{whole // large} {name}" + (f" {left} {rest}" if left else "")
    raise AssertionError("unreachable")


def records_lost(number: int, at_least: bool) -> str:
    """'3 records lost', for people."""
    return f"{'at least ' if at_least else ''}{counted(number, 'record')} lost"
