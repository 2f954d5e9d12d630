# SPDX-License-Identifier: BSD-2-Clause
"""Frames that are wrong on purpose: what a node under test has to reject."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from litepulse.errors import BadInput
from litepulse.launch import Entry
from litepulse.lin.bus import launches
from litepulse.lin.frames import CLASSIC, ENHANCED
from litepulse.lin.protocol import BREAK_BITS, BYTE_BITS, DATA_MAX, SYNC, checksum, protected_id, representation


@dataclass(frozen=True)
class Injection:
    """A frame and what is wrong with it.

    data: None: the header alone; break_bits: length of the break; flip_parity, flip_checksum: bits that are wrong, as a mask (of the two
    parity bits, of the checksum); stretch: {(byte, bit): bit times by which it is longer, or shorter}, byte 0 is the sync byte, 1 the
    identifier, bit 0 the start bit, 9 the stop bit: all that follows is later
    """

    frame_id: int
    data: bytes | None = None
    model: str = ENHANCED
    break_bits: int = BREAK_BITS
    sync: int = SYNC
    flip_parity: int = 0
    flip_checksum: int = 0
    stretch: Mapping[tuple[int, int], Fraction] = field(default_factory=dict[tuple[int, int], Fraction])

    def __repr__(self) -> str:
        return representation(self, "frame_id", "sync", "flip_parity", "flip_checksum")

    def __post_init__(self) -> None:
        if self.data is not None and not 1 <= len(self.data) <= DATA_MAX:
            raise BadInput(f"data: {len(self.data)} bytes, a frame has 1 to {DATA_MAX}")
        if self.data is None and self.flip_checksum:
            raise BadInput("checksum: a header without data has none")
        if not 0 <= self.flip_parity <= 3:
            raise BadInput(f"parity: {self.flip_parity} is outside 0 to 3: it has two bits")
        if self.model not in (ENHANCED, CLASSIC):
            raise BadInput(f"checksum: '{self.model}' is not {ENHANCED} or {CLASSIC}")
        for (byte, bit), by in self.stretch.items():
            if byte >= len(self.bytes) or not 0 <= bit < BYTE_BITS:
                raise BadInput(f"stretch: the frame has no bit {bit} of byte {byte}")
            if by <= -1:
                raise BadInput("stretch: a bit can lose less than its whole length")

    @property
    def bytes(self) -> bytes:
        """What follows the break."""
        pid = protected_id(self.frame_id) ^ self.flip_parity << 6
        if self.data is None:
            return bytes([self.sync, pid])
        total = checksum(self.data, None if self.model == CLASSIC else protected_id(self.frame_id))
        return bytes([self.sync, pid, *self.data, total ^ self.flip_checksum])

    def launches(self, tick: int, bit: Fraction) -> list[Entry]:
        """What goes out, from a tick on."""
        return launches(tick, bit, self.bytes, self.break_bits, self.stretch)

    def edges(self, tick: int, bit: Fraction) -> list[tuple[int, int]]:
        """(tick, level) of each change of the bus, from a tick on, as another node would send it."""
        found: list[tuple[int, int]] = []
        for begin, launch in self.launches(tick, bit):
            if launch.kind == "pulse":
                found += [(begin, 0), (begin + launch.width, 1)]
                continue
            low = (1 << launch.data) - 1 if launch.kind == "break" else 0
            count = launch.data + 1 if launch.kind == "break" else BYTE_BITS
            bits = ~low if launch.kind == "break" else launch.data << 1 | 1 << BYTE_BITS - 1
            levels = [1, *(bits >> n & 1 for n in range(count))]
            found += [(begin + math.floor(n * bit), levels[n + 1]) for n in range(count) if levels[n] != levels[n + 1]]
        return found
