# SPDX-License-Identifier: BSD-2-Clause
"""Checked frames (docs/bridge.md), plain and packed, made and read without the code under test: the CRC is the standard library's."""

import binascii

MARKER, PACKED, LONGEST = 0xF5, 0xF7, 256
MARKERS = (MARKER, PACKED)
CHECKED = {MARKER: 0xFFFF, PACKED: 0xFFFE}  # what the CRC of an answer begins with
WRITE, READ, WRITE_FIXED, READ_FIXED = 1, 2, 3, 4


def write(address, *words, code=WRITE):
    """A command that writes."""
    return bytes([code, len(words)]) + (address // 4).to_bytes(4, "big") + b"".join(w.to_bytes(4, "big") for w in words)


def read(address, count=1, code=READ):
    """A command that reads."""
    return bytes([code, count]) + (address // 4).to_bytes(4, "big")


def checked(data, begin=0xFFFF):
    """`data` and its CRC, which begins with that value."""
    return data + binascii.crc_hqx(data, begin).to_bytes(2, "big")


def frame(number, *commands, marker=MARKER):
    """The bytes of a frame."""
    payload = b"".join(commands)
    return bytes([marker]) + checked(bytes([number, len(payload) - 1]) + payload)


def pack(data):
    """The bytes of an answer, those that repeat left out."""
    repeats = [n >= 16 and data[n] == data[n - 16] for n in range(len(data))]
    out = b""
    for group in range(0, len(data), 8):
        sent = [n for n in range(group, min(group + 8, len(data))) if not repeats[n]]
        out += bytes([sum(1 << n - group for n in sent)]) + bytes(data[n] for n in sent)
    return out


def unpack(data, size):
    """(the `size` bytes of a packed answer, what follows them); IndexError if it is not whole, AssertionError if not as pack() makes it."""
    out, left = b"", data
    while len(out) < size:
        mask, left = left[0], left[1:]
        for n in range(min(8, size - len(out))):
            if mask >> n & 1:
                out, left = out + left[:1], left[1:]
            else:
                out += out[-16:-15]
    assert data[: len(data) - len(left)] == pack(out), data.hex()
    return out, left


def answer(data, words):
    """The answer to the frame `data`, which reads these words."""
    plain = b"".join(word.to_bytes(4, "big") for word in words)
    return checked((pack(plain) if data[0] == PACKED else plain) + data[1:2], CHECKED[data[0]])


def spoilt(data):
    """With a wrong CRC."""
    return data[:-1] + bytes([data[-1] ^ 1])


def heard(data):
    """The frame at the beginning of what comes without a pause, None if there is none: what a locked bridge makes of it."""
    if len(data) < 3 or data[0] not in MARKERS:
        return None
    size = 3 + data[2] + 1 + 2
    return data[:size] if len(data) >= size and binascii.crc_hqx(data[1:size], 0xFFFF) == 0 else None


def words_of(got, number, count=None):
    """The words in the answer to a frame; AssertionError if it is not the answer to that one. `count` of words: it is packed."""
    assert got == checked(got[:-3] + bytes([number]), CHECKED[MARKER if count is None else PACKED]), got.hex()
    plain = got[:-3]
    if count is not None:
        plain, left = unpack(plain, 4 * count)
        assert not left, got.hex()
    return [int.from_bytes(plain[i : i + 4], "big") for i in range(0, len(plain), 4)]
