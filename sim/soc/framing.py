# SPDX-License-Identifier: BSD-2-Clause
"""Checked frames (docs/bridge.md), made and taken apart apart from the code under test: the CRC is the standard library's."""

import binascii

MARKER, LONGEST = 0xF5, 256
WRITE, READ, WRITE_FIXED, READ_FIXED = 1, 2, 3, 4


def write(address, *words, code=WRITE):
    """A command that writes."""
    return bytes([code, len(words)]) + (address // 4).to_bytes(4, "big") + b"".join(w.to_bytes(4, "big") for w in words)


def read(address, count=1, code=READ):
    """A command that reads."""
    return bytes([code, count]) + (address // 4).to_bytes(4, "big")


def checked(data):
    """`data` and its CRC."""
    return data + binascii.crc_hqx(data, 0xFFFF).to_bytes(2, "big")


def frame(number, *commands):
    """The bytes of a frame."""
    payload = b"".join(commands)
    return bytes([MARKER]) + checked(bytes([number, len(payload) - 1]) + payload)


def spoilt(data):
    """With a wrong CRC."""
    return data[:-1] + bytes([data[-1] ^ 1])


def heard(data):
    """The frame at the beginning of what comes without a pause, None if there is none: what a locked bridge makes of it."""
    if len(data) < 3 or data[0] != MARKER:
        return None
    size = 3 + data[2] + 1 + 2
    return data[:size] if len(data) >= size and binascii.crc_hqx(data[1:size], 0xFFFF) == 0 else None


def words_of(answer, number):
    """The words in the answer to a frame; AssertionError if it is not the answer to that one."""
    assert answer == checked(answer[:-3] + bytes([number])), answer.hex()
    return [int.from_bytes(answer[i : i + 4], "big") for i in range(0, len(answer) - 3, 4)]
