# SPDX-License-Identifier: BSD-2-Clause
"""Checked frames of the serial bridge (docs/bridge.md): the bytes of a frame, and its answer as it arrives. Pure, no port.

A frame has commands, a number and a checksum; its answer has the words that were read, the number and a checksum. In a packed
answer bytes that repeat are left out.
"""

import binascii
import struct

from litepulse import regs

LONGEST = regs.BRIDGE_FRAME_MAX  # bytes of commands in a frame
PACKS = 2  # the version of the frames from which on answers can be packed
# bytes: a repeated byte is that of one period before; a mask is for a group
_PERIOD, _GROUP = 16, 8
_TRAILER = 3  # bytes: number, checksum
_PLAIN, _PACKED = 0xFFFF, 0xFFFE  # what the checksum of an answer begins with
_PLACES = tuple(tuple(bit for bit in range(_GROUP) if mask >> bit & 1) for mask in range(256))
_SENT = bytes(1 + len(places) for places in _PLACES)  # bytes of a group with that mask, the mask itself among them


def gets_shorter(count: int) -> bool:
    """Whether an answer of `count` words can get shorter by being packed: all of its first bytes are sent."""
    return 4 * count > _PERIOD


def frame(number: int, commands: bytes, packed: bool) -> bytes:
    """The bytes of a frame with 1 to LONGEST bytes of commands. packed: its answer is to be."""
    checked = bytes((number, len(commands) - 1)) + commands
    marker = regs.BRIDGE_PACKED_MARKER if packed else regs.BRIDGE_FRAME_MARKER
    return bytes((marker,)) + checked + binascii.crc_hqx(checked, _PLAIN).to_bytes(2, "big")


class Answer:
    """The answer to the frame with a number, of `count` words, as it arrives."""

    def __init__(self, number: int, count: int, packed: bool) -> None:
        self._number, self._count, self._packed = number, count, packed
        self._data = bytearray()
        # Of a packed answer: where the next mask is, and how many groups begin there or behind.
        self._mask, self._groups = 0, -(-4 * count // _GROUP) if packed else 0
        if not packed:
            self._mask = 4 * count

    @property
    def longest(self) -> int:
        """Bytes that it has at most."""
        return 4 * self._count + self._groups + _TRAILER

    def take(self, data: bytes) -> bool:
        """More bytes of it; whether they are all there, or too many."""
        self._data += data
        while self._groups and self._mask < len(self._data):
            self._mask += _SENT[self._data[self._mask]]
            self._groups -= 1
        return not self._groups and len(self._data) >= self._mask + _TRAILER

    def words(self) -> tuple[int, ...] | None:
        """Its words; None if it is not whole, or damaged, or the answer to another frame."""
        data = self._data
        if self._groups or len(data) != self._mask + _TRAILER or data[self._mask] != self._number:
            return None
        if binascii.crc_hqx(data[:-2], _PACKED if self._packed else _PLAIN) != int.from_bytes(data[-2:], "big"):
            return None
        return struct.unpack(f">{self._count}I", self._unpacked() if self._packed else data[: 4 * self._count])

    def _unpacked(self) -> bytearray:
        data, place = self._data, 0
        out = bytearray(_PERIOD)  # in front of the answer: all of its first bytes are sent
        while place < self._mask:
            group = out[-_PERIOD : _GROUP - _PERIOD]
            end = place + _SENT[data[place]]
            for where, byte in zip(_PLACES[data[place]], data[place + 1 : end]):
                group[where] = byte
            out += group
            place = end
        return out[_PERIOD : _PERIOD + 4 * self._count]
