# SPDX-License-Identifier: BSD-2-Clause
"""What master and injection have in common: frames as launches, and what is heard on the bus while they leave."""

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction

from litepulse.backends.interface import LAUNCH_PROFILE, Batch
from litepulse.board import Board
from litepulse.errors import Refused
from litepulse.interrupt import Flag
from litepulse.launch import Entry, SendRun
from litepulse.lin.frames import Assembler, Expected, Frame
from litepulse.lin.protocol import BREAK_BITS, BYTE_BITS, DELIMITER_BITS
from litepulse.line import Format, Launch
from litepulse.plan import profile_of
from litepulse.streams import Event, Lost
from litepulse.units import Number


def launches(
    tick: Fraction | int,
    bit: Fraction,
    data: bytes,
    break_bits: int = BREAK_BITS,
    stretch: Mapping[tuple[int, int], Fraction] | None = None,
) -> list[Entry]:
    """A break and the bytes behind it, back to back from a tick on. Places are exact and rounded down.

    stretch: {(byte, bit): bit times by which it is longer}; such a byte is made of pulses, one for each run of dominant bits
    """
    found = [(math.floor(tick), Launch("break", break_bits, LAUNCH_PROFILE))]
    place = tick + (break_bits + DELIMITER_BITS) * bit
    for number, byte in enumerate(data):
        lengths = [bit * (1 + (stretch or {}).get((number, n), Fraction(0))) for n in range(BYTE_BITS)]
        if all(length == bit for length in lengths):
            found.append((math.floor(place), Launch("frame", byte, LAUNCH_PROFILE)))
            place += BYTE_BITS * bit
            continue
        begin: Fraction | None = None
        for level, length in zip([0, *(byte >> n & 1 for n in range(8)), 1], lengths):
            if level == 0 and begin is None:
                begin = place
            elif level == 1 and begin is not None:
                found.append((math.floor(begin), Launch("pulse", 0, LAUNCH_PROFILE, math.floor(place) - math.floor(begin))))
                begin = None
            place += length
    return found


class BusRun(SendRun):
    """Launches on a bus, and the frames that are heard there."""

    def __init__(self, board: Board, baud: Number | str, expected: Mapping[int, Expected] | None, loopback: bool) -> None:
        profile = profile_of(board.timescale, baud, Format())
        super().__init__(board.backend, profile, (), loopback)
        self.bit = Fraction(profile.bit_period.ticks)
        self.assembler = Assembler(self.bit, expected)
        self.heard: list[Frame | Lost] = []

    def _digest(self, batch: Batch) -> list[tuple[int, Event]]:
        for byte in batch.received:
            self._hear([byte] if isinstance(byte, Lost) else self.assembler.feed(byte, batch.tick))
        self._hear([event for event in batch.events if isinstance(event, Lost)])
        self._hear(self.assembler.advance(batch.tick))
        return super()._digest(batch)

    def _hear(self, found: "list[Frame] | list[Lost]") -> None:
        self.heard += found

    def take(self) -> list[Frame | Lost]:
        """What was heard and not taken yet."""
        found, self.heard = self.heard, []
        return found

    def frames(self, interrupt: Flag) -> Iterator[list[Frame | Lost]]:
        """Yields what is heard, batch by batch, until all has left or an interrupt came. Refused: a tick could not be kept."""
        for found in self.follow(interrupt):
            yield self.take()
            for _, event in found:
                if event.kind != "tx":
                    raise Refused(f"the board could not send at tick {event.tick}: {event.reason}", event.reason, event.tick)
