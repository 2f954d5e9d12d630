# SPDX-License-Identifier: BSD-2-Clause
"""Checked frames (docs/bridge.md), plain and packed, made and read without the code under test: the CRC is the standard library's."""

import binascii
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Request:
    """A plain command, or a frame with its number: `reads` has the address of each word that is read, `writes` {address: word}."""

    raw: bytes
    number: int | None
    reads: tuple[int, ...]
    writes: dict[int, int]


def commands(payload):
    """(addresses read, {address: word} written, bytes that are no whole command) of commands in a row."""
    reads, writes = [], {}
    while len(payload) >= 6:
        code, count, address = payload[0], payload[1], 4 * int.from_bytes(payload[2:6], "big")
        size = 6 + (4 * count if code in (WRITE, WRITE_FIXED) else 0)
        if len(payload) < size:
            break
        places = [address + (4 * n if code in (WRITE, READ) else 0) for n in range(count)]
        if code in (READ, READ_FIXED):
            reads += places
        elif code in (WRITE, WRITE_FIXED):
            writes |= {place: int.from_bytes(payload[6 + 4 * n : 10 + 4 * n], "big") for n, place in enumerate(places)}
        payload = payload[size:]
    return tuple(reads), writes, payload


def answered(request, data):
    """(words of the answer to a request, what follows it); IndexError if it is not whole, AssertionError if it is wrong."""
    size = 4 * len(request.reads)
    if len(data) < size and request.raw[0] != PACKED:
        raise IndexError
    if request.number is None:
        return [int.from_bytes(data[n : n + 4], "big") for n in range(0, size, 4)], data[size:]
    packed = request.raw[0] == PACKED
    rest = unpack(data, size)[1] if packed else data[size:]
    if len(rest) < 3:
        raise IndexError
    return words_of(data[: len(data) - len(rest) + 3], request.number, len(request.reads) if packed else None), rest[3:]


class Line:
    """Splits what passes on the line of a bridge into requests and their answers. `waiting`: requests whose answers have not come."""

    def __init__(self):
        self.question = self.answer = b""
        self.waiting: list[Request] = []

    def requests(self, data):
        """The requests that `data` from the host ends."""
        self.question += data
        found = []
        while self.question:
            frame = self.question[0] in MARKERS
            size = 6
            if frame and len(self.question) >= 3:
                size = self.question[2] + 6
            elif self.question[0] in (WRITE, WRITE_FIXED) and len(self.question) >= 2:
                size += 4 * self.question[1]
            if len(self.question) < size:
                break
            raw = self.question[:size]
            if frame and heard(raw) is None or not frame and raw[0] not in (WRITE, READ, WRITE_FIXED, READ_FIXED):
                self.question = self.question[1:]
                continue
            self.question = self.question[size:]
            reads, writes, _ = commands(raw[3:-2] if frame else raw)
            found.append(Request(raw, raw[1] if frame else None, reads, writes))
        return found

    def replies(self, data):
        """[(request, words)] of the answers that `data` from the board ends; words are None if it is the answer to none."""
        self.answer += data
        found = []
        while self.waiting and self.answer:
            incomplete = False
            for place, request in enumerate(self.waiting):  # requests before the answered one may have got no answer
                try:
                    words, self.answer = answered(request, self.answer)
                except IndexError:
                    incomplete = True
                except AssertionError:
                    pass
                else:
                    found.append((request, words))
                    del self.waiting[: place + 1]
                    break
            else:
                if incomplete:
                    return found
                found.append((self.waiting[0], None))
                break
        self.answer = b""
        return found

    def forget(self):
        """No answer is waited for."""
        self.waiting, self.answer = [], b""
