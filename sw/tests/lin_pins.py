# SPDX-License-Identifier: BSD-2-Clause
"""LIN frames read off a recorded pin, and the standard's checksums: written from the standard alone, for tests to judge by."""

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction

from .test_sim import frame_edges

BREAK = 11  # bit times of a dominant level from which on it is a break


@dataclass(frozen=True)
class Heard:
    """What follows one break. tick: its falling edge; length: of the break in ticks; bytes and the ticks of their falling edges."""

    tick: int
    length: int
    bytes: bytes
    ticks: tuple[int, ...]

    @property
    def pid(self):
        return self.bytes[1]

    @property
    def response(self):
        return self.bytes[2:]


def pid_of(frame_id):
    """An identifier with its parity: P0 = ID0 ^ ID1 ^ ID2 ^ ID4, P1 = not (ID1 ^ ID3 ^ ID4 ^ ID5)."""
    even = bin(frame_id & 0b010111).count("1") & 1
    odd = 1 - (bin(frame_id & 0b111010).count("1") & 1)
    return frame_id + 64 * even + 128 * odd


def checksum_of(data, frame_id, model):
    """The inverted sum with carry, by the remainder: modulo 255, where 255 stays 255 unless all is 0."""
    total = sum(data) + (pid_of(frame_id) if model == "enhanced" else 0)
    return 255 - (total % 255 or (255 if total else 0))


def response_of(data, frame_id, model, *, flip=0):
    """Data and checksum. flip: bits of it that are wrong."""
    return bytes(data) + bytes([checksum_of(data, frame_id, model) ^ flip])


def frames_of(changes, bit):
    """The frames on a pin. changes: [(tick, level)], the first the level at the beginning; bit: ticks. Every stop bit has to be right."""
    ticks = [tick for tick, _ in changes]

    def level(tick):
        return changes[max(bisect_right(ticks, tick) - 1, 0)][1]

    found, place = [], 0
    for (tick, value), (after, _) in zip(changes, [*changes[1:], (float("inf"), 1)]):
        if value or tick < place:
            continue
        if after - tick >= BREAK * bit:
            found.append((tick, after - tick, [], []))
            continue
        bits = [level(int(tick + (n + Fraction(1, 2)) * bit)) for n in range(10)]
        assert bits[0] == 0 and bits[9] == 1, f"no byte at tick {tick}: {bits}"
        assert found, f"a byte at tick {tick} before any break"
        found[-1][2].append(sum(one << n for n, one in enumerate(bits[1:9])))
        found[-1][3].append(tick)
        place = tick + int(Fraction(19, 2) * bit)
    return [Heard(tick, length, bytes(values), tuple(places)) for tick, length, values, places in found]


def header_edges(tick, frame_id, bit, *, break_bits=13):
    """[(tick, level)] of a header."""
    edges = [(tick, 0), (int(tick + break_bits * bit), 1)]
    for number, byte in enumerate((0x55, pid_of(frame_id))):
        edges += frame_edges(int(tick + (break_bits + 1 + 10 * number) * bit), byte, bit)
    return edges


def response_edges(tick, response, bit, *, space=0, break_bits=13):
    """[(tick, level)] of a response to the header that begins at a tick. space: bit times before its first byte."""
    start = tick + (break_bits + 21 + space) * bit
    return [edge for number, byte in enumerate(response) for edge in frame_edges(int(start + 10 * number * bit), byte, bit)]


def stimulus(path, *parts):
    """A file for --stimulus: what the other nodes do."""
    path.write_text("".join(f"{tick} rx {level}\n" for tick, level in sorted(edge for part in parts for edge in part)))
    return path
