# SPDX-License-Identifier: BSD-2-Clause
"""The transport layer of diagnostics: messages of up to 4095 bytes as diagnostic frames of eight bytes. Pure, no device."""

from litepulse.errors import BadInput
from litepulse.lin.protocol import DATA_MAX
from litepulse.units import hexadecimal

SINGLE, FIRST, CONSECUTIVE = 0x00, 0x10, 0x20  # the high half of the second byte
SINGLE_MAX, FIRST_DATA, CONSECUTIVE_DATA = 6, 5, 6  # bytes of a message in one frame
LONGEST = 0xFFF
UNUSED = b"\xff"


def segments(nad: int, message: bytes) -> list[bytes]:
    """The frames of a message (service and its data) to or from a node: one, or a first one and consecutive ones. Unused bytes are 0xff."""
    if not 0 <= nad <= 0xFF:
        raise BadInput(f"nad: {hexadecimal(nad)} is outside 0x00 to 0xff")
    if not 1 <= len(message) <= LONGEST:
        raise BadInput(f"message: {len(message)} bytes, it has 1 to {LONGEST}")
    if len(message) <= SINGLE_MAX:
        return [(bytes([nad, SINGLE | len(message)]) + message).ljust(DATA_MAX, UNUSED)]
    found = [bytes([nad, FIRST | len(message) >> 8, len(message) & 0xFF]) + message[:FIRST_DATA]]
    rest = message[FIRST_DATA:]
    for number, place in enumerate(range(0, len(rest), CONSECUTIVE_DATA), 1):
        part = rest[place : place + CONSECUTIVE_DATA]
        found.append((bytes([nad, CONSECUTIVE | number & 0xF]) + part).ljust(DATA_MAX, UNUSED))
    return found


class Reassembly:
    """Messages of diagnostic frames, in the order in which these came. What does not continue a message is left out."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forgets a message that has begun."""
        self._nad = self._length = self._number = 0
        self._data = b""

    @property
    def begun(self) -> bool:
        """A message has begun and has not ended."""
        return bool(self._length)

    def feed(self, frame: bytes) -> tuple[int, bytes] | None:
        """Eight bytes; (NAD, message) if it ends with them."""
        if len(frame) != DATA_MAX:
            return None
        nad, kind, low = frame[0], frame[1] & 0xF0, frame[1] & 0x0F
        if kind == SINGLE:
            self.reset()
            return (nad, frame[2 : 2 + low]) if 1 <= low <= SINGLE_MAX else None
        if kind == FIRST:
            self.reset()
            length = low << 8 | frame[2]
            if length > SINGLE_MAX:
                self._nad, self._length, self._data, self._number = nad, length, frame[3:], 1
            return None
        if kind != CONSECUTIVE or not self._length or nad != self._nad or low != self._number & 0xF:
            self.reset()
            return None
        self._data += frame[2:]
        self._number += 1
        if len(self._data) < self._length:
            return None
        message = self._data[: self._length]
        self.reset()
        return nad, message
