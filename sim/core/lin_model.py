# SPDX-License-Identifier: BSD-2-Clause
"""LIN as its standard has it: what a master puts on the bus, and what a slave has to answer to what was received.

Like model.py it works on whole intervals and shares nothing with hdl/. All times are ticks (int) unless named otherwise.
"""

from bisect import bisect_right
from collections import deque
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor
from typing import NamedTuple

from sim.core.model import Received, normal

SYNC = 0x55


def protected(identifier):
    """The identifier byte: six bits of identifier and two of parity."""
    bit = [identifier >> k & 1 for k in range(6)]
    even = (bit[0] + bit[1] + bit[2] + bit[4]) % 2
    odd = (bit[1] + bit[3] + bit[4] + bit[5] + 1) % 2
    return identifier | even << 6 | odd << 7


def checksum(data, pid=None):
    """The inverted sum with carry, classic; enhanced with the identifier byte."""
    total = sum(data) + (pid or 0)
    while total > 255:
        total = (total & 255) + (total >> 8)
    return 255 - total


@dataclass(frozen=True)
class Entry:
    """How an identifier is answered; of no data: not."""

    data: bytes = b""
    enhanced: bool = False
    once: bool = False
    own_checksum: bool = False
    flip: int = 0  # the checksum itself, or the bits of the right one that are turned over

    def answer(self, identifier):
        """All bytes of the answer."""
        right = checksum(self.data, protected(identifier) if self.enhanced else None)
        return [*self.data, self.flip if self.own_checksum else right ^ self.flip]

    def words(self, identifier):
        """The three configuration words: {name: fields or word}."""
        data = self.data.ljust(8, b"\0")
        return {
            "lin_data_lo": int.from_bytes(data[:4], "little"),
            "lin_data_hi": int.from_bytes(data[4:], "little"),
            "lin_entry": {
                "id": identifier,
                "length": len(self.data),
                "enhanced": int(self.enhanced),
                "once": int(self.once),
                "own_checksum": int(self.own_checksum),
                "checksum": self.flip,
            },
        }


class Master:
    """Writes what a master sends as a waveform, from `begin` on. `bit` is its bit time in ticks, a Fraction; edges are rounded up, as the
    first sample that shows a level is the first one behind its edge."""

    def __init__(self, begin, bit, jitter=None):
        self.time, self.bit, self.jitter = Fraction(begin), Fraction(bit), jitter
        self.changes = []

    def level(self, level, bits):
        """A level for `bits` bit times."""
        shake = Fraction(self.jitter.randrange(-100, 101), 100) * self.bit / 25 if self.jitter else 0
        tick = -floor(-(self.time + shake))
        if self.changes and tick <= self.changes[-1][0]:
            tick = self.changes[-1][0] + 1
        self.changes.append((tick, level))
        self.time += bits * self.bit

    def byte(self, value, stop=1, stop_level=1):
        """A frame of a byte."""
        for level in [0] + [value >> k & 1 for k in range(8)]:
            self.level(level, 1)
        self.level(stop_level, stop)

    def header(self, pid, low=13, delimiter=1, sync=SYNC, pause=0):
        """Break, delimiter, sync byte and identifier byte."""
        if low:
            self.level(0, low)
            self.level(1, delimiter)
        self.byte(sync, 1 + pause)
        self.byte(pid)

    @property
    def wave(self):
        """[(tick, level)]."""
        return normal(self.changes)


def random_entry(rng, length=None, **options):
    """A random entry."""
    return Entry(rng.randbytes(length or rng.randrange(1, 9)), **{"enhanced": rng.random() < 0.5, **options})


def random_header(rng, begin, bit, space, identifiers):
    """A Master with a header, maybe a faulty one and maybe something that comes into the answer.

    `bit` and `space` are those of the slave, in ticks; `identifiers` those that are requested most.
    """
    identifier = rng.choice(identifiers) if rng.random() < 0.6 else rng.randrange(64)
    off = Fraction(rng.choice((0, 0, 0, 1, -1, 2, -2, 2, -2, 14, -14, 8, -9)), 100)
    master = Master(begin, bit * (1 + off), rng if rng.random() < 0.3 else None)
    fault = rng.random()
    options = {"low": rng.choice((10, 11, 13, 13, 13, 20)), "delimiter": rng.choice((1, 1, Fraction(3, 2), 4))}
    pid = protected(identifier)
    if fault < 0.08:
        pid ^= rng.choice((0x40, 0x80, 0xC0))
    elif fault < 0.12:
        options["low"] = rng.choice((0, 5, 9))
    elif fault < 0.16:
        options["sync"] = rng.randrange(256)
    elif fault < 0.2:
        options["pause"] = Fraction(rng.randrange(1, 30), 10)
    master.header(pid, **options)
    if rng.random() < 0.25:
        master.time += Fraction(rng.randrange(int(3 * (10 * bit + space))))
        if rng.random() < 0.5:
            master.level(0, Fraction(rng.randrange(1, 40), 8))
            master.level(1, 1)
        else:
            master.header(protected(rng.choice(identifiers)))
    return master


class Expected(NamedTuple):
    """A byte that the slave has to launch, or to report as missed because the bus was taken (`busy`)."""

    tick: int
    data: int
    busy: bool
    header: int  # number of the header that it answers, from 0


@dataclass
class Slave:
    """What a slave does, by the bytes that were received.

    `period` is its own bit period, `space` from the end of a byte to the next one, `overtaken` the distance from the centre of a start bit
    to a launch, in cycles, below which that byte comes too late to hold the launch back. `entries` maps an identifier to [(tick, Entry)].
    """

    period: Fraction
    space: int
    overtaken: int
    samples: int
    entries: dict = field(default_factory=dict)

    def write(self, tick, identifier, entry):
        """From this tick on the identifier is answered like this."""
        self.entries.setdefault(identifier, []).append([tick, entry])

    def look(self, tick, identifier):
        """The entry in force, which is spent if it is for once."""
        found = [row for row in self.entries.get(identifier, []) if row[0] <= tick]
        if not found or not found[-1][1].data:
            return None
        entry = found[-1][1]
        if entry.once:
            found[-1][1] = Entry()
        return entry

    def end(self, byte):
        """Of the frame of a received byte."""
        return byte.tick + floor(10 * self.period)

    def breaks(self, wave):
        """Ticks at which a space of 11 bits of whole cycles has lasted long enough: it may lack a cycle, as its ends do.

        A cycle shows a mark if one of its samples does, and a mark ends the space if two of three cycles show it.
        """
        enough = 11 * floor(self.period / self.samples) - 1
        changes, spaces = normal(wave), []  # (first cycle, the one behind the last)
        last = changes[-1][0] + 2 * enough * self.samples
        for (tick, level), (end, _) in zip(changes, [*changes[1:], (last, 1)], strict=True):
            first, behind = -(-tick // self.samples), end // self.samples
            if level == 0 and first < behind:
                spaces.append((first, behind))
        found, began, length, before = [], 0, 0, -2  # of the space before: cycles, and the cycle behind it
        for first, behind in spaces:
            single = first - before == 1  # the mark between them
            goes_on = single and length > 1
            earlier = goes_on and before - began >= enough
            if not goes_on:
                began = first - single
            if behind - began >= enough and not earlier:
                found.append((began + enough) * self.samples)
            before, length = behind, behind - first
        return found

    def answers(self, received: list[Received], wave):
        """[Expected] for what was received from the bus, and the bus itself as a waveform of samples."""
        starts = [byte.tick for byte in received]
        out, state, rest, header = [], "none", [], -1
        sent, busy_until, leaves = None, None, 0  # leaves: the end of what was launched last
        breaks = deque(self.breaks(wave))
        for byte in received:
            good = not (byte.framing_error or byte.parity_error)
            while breaks and breaks[0] < byte.stored:
                breaks.popleft()
                state = "break"
            if state == "break":
                state = "sync" if good and byte.data == SYNC else "none"
                continue
            if state == "sync":
                state = "none"
                identifier = byte.data & 63
                if not good or byte.data != protected(identifier) or (busy_until is not None and byte.stored < busy_until):
                    continue
                header += 1
                entry = self.look(byte.stored, identifier)
                if entry is None:
                    continue
                rest = entry.answer(identifier)
            elif state == "answer":
                if not good or sent is None or byte.data != sent or not rest:
                    state = "none"
                    continue
            else:
                continue
            state = "answer"
            tick = self.end(byte) + self.space
            following = bisect_right(starts, byte.stored)
            centre = floor(self.period / 2 / self.samples)
            taken = following < len(starts) and starts[following] // self.samples + centre <= tick // self.samples - self.overtaken
            # a node that began a little before our byte, and sent the same, has moved the end that was received
            taken |= tick < leaves
            data = rest.pop(0)
            out.append(Expected(tick, data, taken, header))
            sent, busy_until = (None if taken else data), tick
            if not taken:
                leaves = tick + floor(10 * self.period)
        return out
