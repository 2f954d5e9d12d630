# SPDX-License-Identifier: BSD-2-Clause
"""LIN as ISO 17987-3 has it: identifiers, checksums, lengths and their limits. Pure, no device."""

from dataclasses import fields
from fractions import Fraction
from typing import TYPE_CHECKING

from litepulse.errors import BadInput
from litepulse.units import hexadecimal

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

SYNC = 0x55
BREAK_BITS = 13  # dominant bits that a master sends at least
DELIMITER_BITS = 1
BYTE_BITS = 10  # with start and stop bit
HEADER_BITS = BREAK_BITS + DELIMITER_BITS + 2 * BYTE_BITS
DATA_MAX = 8  # bytes
ID_MAX = 63
MASTER_REQUEST, SLAVE_RESPONSE = 60, 61  # diagnostic frames
CLASSIC_IDS = range(MASTER_REQUEST, ID_MAX + 1)  # these two and the two reserved ones: always with the classic checksum
STRETCH = Fraction(14, 10)  # header and response may each last this many times their nominal length
SPACE_BITS = (STRETCH - 1) * BYTE_BITS  # bit times of space for each byte of a response


def representation(record: "DataclassInstance", *names: str) -> str:
    """repr() of a dataclass, the fields with these names in hexadecimal."""
    values = {one.name: getattr(record, one.name) for one in fields(record) if one.repr}
    shown = (f"{name}={hexadecimal(value) if name in names and value is not None else repr(value)}" for name, value in values.items())
    return f"{type(record).__name__}({', '.join(shown)})"


def protected_id(frame_id: int) -> int:
    """The identifier with its two parity bits, as it goes on the line."""
    if not 0 <= frame_id <= ID_MAX:
        raise BadInput(f"id: {hexadecimal(frame_id)} is outside 0x00 to {hexadecimal(ID_MAX)}")
    bit = [frame_id >> n & 1 for n in range(6)]
    p0 = bit[0] ^ bit[1] ^ bit[2] ^ bit[4]
    p1 = 1 ^ bit[1] ^ bit[3] ^ bit[4] ^ bit[5]
    return frame_id | p0 << 6 | p1 << 7


def frame_id_of(pid: int) -> int | None:
    """The identifier of a protected one, None if its parity is wrong."""
    return pid & ID_MAX if protected_id(pid & ID_MAX) == pid else None


def checksum(data: bytes, pid: int | None = None) -> int:
    """The enhanced checksum over identifier and data, or the classic one of the data alone: without pid, or for 0x3C to 0x3F."""
    total = sum(data)
    if pid is not None and pid & ID_MAX not in CLASSIC_IDS:
        total += pid
    while total > 255:
        total = (total & 255) + (total >> 8)
    return total ^ 255


def response_bits(length: int) -> int:
    """Nominal length in bit times of a response with `length` data bytes."""
    return BYTE_BITS * (length + 1)


def header_limit() -> Fraction:
    """Bit times that a header may last."""
    return STRETCH * HEADER_BITS


def response_limit(length: int) -> Fraction:
    """Bit times from the end of the header within which a response with `length` data bytes has to
    end."""
    return STRETCH * response_bits(length)


def space_limit(length: int) -> Fraction:
    """Bit times that the response space and the spaces between bytes may take together."""
    return response_limit(length) - response_bits(length)


def slot_limit(length: int) -> Fraction:
    """Bit times of the longest frame that is allowed: a slot of a schedule must not be shorter."""
    return header_limit() + response_limit(length)
