# SPDX-License-Identifier: BSD-2-Clause
"""Writes pins as a sigrok session (.sr), which PulseView and sigrok-cli open: a zip file with one sample of each pin per tick.

The number of a sample is the tick, so nothing is rounded. The format: https://sigrok.org/wiki/File_format:Sigrok/v2
"""

import os
import struct
import time
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from litepulse.errors import BadInput
from litepulse.pins import Level, PinFile
from litepulse.streams import Lost
from litepulse.units import Timescale, Whole, approx, si, within
from litepulse.vcd import Vcd

CHUNK = 1 << 22  # bytes of samples in a part of the file, as sigrok writes them
MOST_SAMPLES = 1 << 32
WHOLE_SECONDS = 1  # after which a session that is being written is whole again
MOST_KEPT = 1 << 22  # bytes until it is whole again before
LOST = "lost"  # the pin that is 1 while levels are not known


def metadata(rate: int, names: Sequence[str]) -> str:
    """The file of this name in a session."""
    lines = ["[global]", "sigrok version=0.5.2", "", "[device 1]", "capturefile=logic-1", f"total probes={len(names)}"]
    lines += [f"samplerate={rate}", "total analog=0"]
    lines += [*(f"probe{n}={name}" for n, name in enumerate(names, 1)), f"unitsize={(len(names) + 7) // 8}"]
    return "\n".join(lines) + "\n"


def write(path: str | Path, vcd: Vcd) -> None:
    """Writes the signals of a Vcd from tick 0 to its end. Raises BadInput if the tick rate is no whole number of Hz, or it is too long."""
    rate = vcd.tick_hz
    if rate.denominator != 1:
        raise BadInput(f"{path}: a session needs a whole number of samples a second, and a tick is 1/({approx(rate)}) s: record a .vcd")
    if vcd.end >= MOST_SAMPLES:
        longest = si(MOST_SAMPLES / rate, "s")
        raise BadInput(f"{path}: {si(vcd.end / rate, 's')} are too long for a session, which holds {longest} at most: record a .vcd")
    names = list(vcd.signals)
    size = (len(names) + 7) // 8
    try:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
            file.writestr("version", "2")
            file.writestr("metadata", metadata(rate.numerator, names))
            for number, part in enumerate(_parts(vcd, names, size), 1):
                file.writestr(f"logic-1-{number}", part)
    except OSError as error:
        if os.path.isfile(path):  # half of it is of no use
            os.unlink(path)
        raise BadInput(f"{path}: cannot write it ({error.strerror})") from None


def _parts(vcd: Vcd, names: list[str], size: int) -> Iterator[bytes]:
    """The samples of ticks 0 to the end, in parts of whole samples."""
    changes = sorted((tick, bit, level) for bit, name in enumerate(names) for tick, level in vcd.signals[name])
    length = CHUNK // size * size
    part, state, tick = bytearray(), 0, 0
    for at, bit, level in [*changes, (vcd.end + 1, 0, 0)]:
        sample = state.to_bytes(size, "little")
        while tick < at:
            count = min(at - tick, (length - len(part)) // size)
            part += sample * count
            tick += count
            if len(part) == length:
                yield bytes(part)
                part.clear()
        state = state & ~(1 << bit) | level << bit
    if part:
        yield bytes(part)


class SrFile(PinFile):
    """A sigrok session, for PulseView and sigrok-cli: a sample per tick, or per `divide` ticks, the first of them at `first_tick`.

    It cannot say that a level is not known: the level is as it was before, and one more pin, 'lost', is 1.
    A file holds MOST_SAMPLES samples. What follows is in further ones: pins.sr, pins-2.sr. `parts` has their names and first ticks.
    """

    kind = "sr"
    rereads = True

    def __init__(self, path: str | Path, divide: Whole = 1) -> None:
        super().__init__(path)
        self.divide = within(divide, "divide", 1, 1 << 32)
        self.parts: list[tuple[str, int]] = []
        self._first_name: str = self.name

    def check(self, scale: Timescale, names: Sequence[str]) -> None:
        rate = scale.tick_hz / self.divide
        if rate.denominator != 1:
            raise BadInput(f"sr: a session needs a whole number of samples a second, these are {approx(rate)}: write a VCD, or divide")
        self._rate, self._pins = rate.numerator, [*names, LOST]
        self._size = (len(self._pins) + 7) // 8
        self._chunk = CHUNK // self._size * self._size
        self._unknown: set[int] = set()
        self._state = 0

    def begin(self, tick: int, levels: Sequence[Level], with_bytes: bool) -> None:
        self._begin_part(tick)
        for pin, level in enumerate(levels):
            self._set(pin, level)

    def _begin_part(self, tick: int) -> None:
        self.parts.append((self.name, tick))
        self._count = self._chunks = self._end = self._written = 0
        self._part, self._new = bytearray(), bytearray()
        self._entries: list[bytes] = []  # of the directory
        self._constant: dict[int, tuple[int, bytes]] = {}  # {state: a packed chunk of it}
        self._whole_at = time.monotonic()
        self._add("version", _pack(b"2"))
        self._add("metadata", _pack(metadata(self._rate, self._pins).encode()))

    def _set(self, pin: int, level: Level) -> None:
        lost = 1 << len(self._pins) - 1
        if level is None:
            self._unknown.add(pin)
        else:
            self._unknown.discard(pin)
            self._state = self._state & ~(1 << pin) | level << pin
        self._state = self._state | lost if self._unknown else self._state & ~lost

    def change(self, tick: int, pin: int, level: Level) -> None:
        self._fill(tick)
        self._set(pin, level)

    def lost(self, tick: int, loss: Lost) -> None:
        del loss
        self._fill(tick)

    def until(self, tick: int) -> None:
        self._fill(tick)
        if time.monotonic() - self._whole_at > WHOLE_SECONDS:
            self._make_whole()

    def end(self, tick: int) -> None:
        self._fill(tick + 1)
        self._make_whole()

    def _fill(self, tick: int) -> None:
        """Samples of what is set, up to a tick."""
        while (left := -((self.parts[-1][1] - tick) // self.divide) - self._count) > 0:
            if self._count == MOST_SAMPLES:
                self._next_part()
                continue
            count = min(left, MOST_SAMPLES - self._count, (self._chunk - len(self._part)) // self._size)
            if not self._part and count * self._size == self._chunk:
                self._add_chunk(self._constant_chunk())
            else:
                self._part += self._state.to_bytes(self._size, "little") * count
                if len(self._part) == self._chunk:
                    self._add_chunk(_pack(self._part))
                    self._part = bytearray()
            self._count += count

    def _next_part(self) -> None:
        """The next file."""
        begun = self.parts[-1][1] + MOST_SAMPLES * self.divide
        self._make_whole()
        super().close()
        path = Path(self._first_name)
        self._path = path.with_name(f"{path.stem}-{len(self.parts) + 1}{path.suffix}")
        self.name = str(self._path)
        self.reopen()
        self._begin_part(begun)

    def _constant_chunk(self) -> tuple[int, int, bytes]:
        """A chunk of one state: while nothing happens, nothing is packed again."""
        if self._state not in self._constant:
            self._constant.clear()
            _, checksum, data = _pack(self._state.to_bytes(self._size, "little") * (self._chunk // self._size))
            self._constant[self._state] = checksum, data
        return self._chunk, *self._constant[self._state]

    # The zip file: its directory is at the end, and is written again whenever the file is to be whole

    def _add_chunk(self, packed: tuple[int, int, bytes]) -> None:
        self._chunks += 1
        self._add(f"logic-1-{self._chunks}", packed)

    def _add(self, name: str, packed: tuple[int, int, bytes]) -> None:
        """A file behind those that stay. It is kept, so that what is on the disk can be opened until there is a new directory."""
        header, entry = _headers(name, packed, self._end)
        self._new += header + packed[2]
        self._entries.append(entry)
        self._end += len(header) + len(packed[2])
        if len(self._new) > MOST_KEPT:
            self._make_whole()

    def _make_whole(self) -> None:
        """What is on the disk can be opened; the last chunk will be written once more."""
        entries, at, last = list(self._entries), self._end, b""
        if self._part:
            packed = _pack(self._part)
            header, entry = _headers(f"logic-1-{self._chunks + 1}", packed, at)
            last = header + packed[2]
            entries.append(entry)
        directory = b"".join(entries)
        number = len(entries)
        end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, number, number, len(directory), at + len(last), 0)
        self.cut(self._written)
        self.put(bytes(self._new) + last + directory + end)
        self._written, self._new = self._end, bytearray()
        self._whole_at = time.monotonic()


def _pack(data: bytes | bytearray) -> tuple[int, int, bytes]:
    """(size, checksum, packed)."""
    packer = zlib.compressobj(1, zlib.DEFLATED, -15)
    return len(data), zlib.crc32(data), packer.compress(data) + packer.flush()


def _headers(name: str, packed: tuple[int, int, bytes], offset: int) -> tuple[bytes, bytes]:
    """What stands before a file of a zip, and what the directory has of it."""
    size, checksum, data = packed
    same = struct.pack("<5H3L2H", 20, 0, 8, 0, 33, checksum, len(data), size, len(name), 0)  # of 1980-01-01
    entry = b"PK\1\2" + struct.pack("<H", 20) + same + struct.pack("<3H2L", 0, 0, 0, 0o644 << 16, offset) + name.encode()
    return b"PK\3\4" + same + name.encode(), entry
