# SPDX-License-Identifier: BSD-2-Clause
"""The synchronization clock of Harp: six bytes a second at 100 kbaud. Pure and exact.

0xAA, 0xAF and four bytes, the least significant first. The last byte starts exactly 672 us before a
second begins. The four bytes are the number of the second that then ends: the new one is one more.
https://github.com/harp-tech/protocol/blob/main/SynchronizationClock.md
"""

from fractions import Fraction

from litepulse.codes.frames import US, Change, Decoder, Fault, Found, Frame
from litepulse.codes.scale import UTC, Civil, Scale, nearest
from litepulse.units import Number, Whole, whole

BAUD = 100_000
LAST_BYTE = 672 * US  # from the start of the last byte to the second
SPACING = 120 * US  # from byte to byte: two bits more than a frame, so that a receiver's clock may be slow
SILENCE = 800 * US  # behind the last byte; the next frame begins 1172 us after its start at the soonest
LONGEST = Fraction(11, 10)  # seconds from the first byte to the last
EPOCH = -Civil(1904, 1, 1).nominal  # Harp's tools count the seconds of UTC since 1904
HEADER = (0xAA, 0xAF)
_WORD = 1 << 32


def _may_leave(payload: bytes) -> bool:
    """The protocol does not send a number that has the header in it."""
    return bytes(HEADER) not in payload


def number_of(second: Whole, scale: Scale = UTC, epoch: Whole = EPOCH) -> int:
    """Harp's number of a second, 32 bits; epoch: seconds from its zero to 1970."""
    return (scale.posix(second) + whole(epoch, "epoch")) % _WORD


def encode(second: Whole, scale: Scale = UTC, epoch: Whole = EPOCH) -> list[Change]:
    """[(when a byte starts, byte)] that announce a second; none where the number has the header in it."""
    second = whole(second, "second")
    payload = ((number_of(second, scale, epoch) - 1) % _WORD).to_bytes(4, "little")
    if not _may_leave(payload):
        return []
    last = second - LAST_BYTE
    return [(last - (5 - n) * SPACING, byte) for n, byte in enumerate((*HEADER, *payload))]


class HarpDecoder(Decoder):
    """Bytes in, seconds out. near: a second close by, which the 32 bits are completed with; else they count from `epoch` on."""

    def __init__(self, tick_hz: Number, scale: Scale = UTC, epoch: Whole = EPOCH, near: Whole | None = None) -> None:
        super().__init__(tick_hz)
        self._scale, self._epoch = scale, whole(epoch, "epoch")
        self._near = None if near is None else scale.posix(near) + self._epoch
        self._bytes: list[tuple[int, int]] = []

    def _feed(self, tick: int, value: int, ok: bool) -> list[Found]:
        found = self.advance(tick)
        got = self._bytes
        if len(got) == 6:  # and too soon: these six are no frame
            if ok and (got[5][1], value) == HEADER:
                self._bytes = [got[5], (tick, value)]
                return [Fault(got[0][0], "a frame without its last byte")]
            return self.drop("another byte at its end") + self._skip(tick)
        if got and tick - got[0][0] > self.tick_hz * LONGEST:
            found += self.drop("the rest did not come within a second")
            got = self._bytes
        if not ok or not 0 <= value <= 255:
            return found + (self.drop("a byte with an error") if got else self._skip(tick))
        got.append((tick, value))
        values = tuple(byte for _, byte in got)
        if len(got) <= 2 and values != HEADER[: len(got)]:
            self._bytes = [(tick, value)] if value == HEADER[0] else []
            for strange, _ in got[: len(got) - len(self._bytes)]:
                found += self._skip(strange)
        elif len(got) == 2:
            found += self._report()
        elif values[-2:] == HEADER:
            self._bytes = got[-2:]
            found.append(Fault(got[0][0], "a frame without its last bytes"))
        return found

    def _whole(self) -> list[Found]:
        """The six bytes that are there."""
        got, self._bytes = self._bytes, []
        number = int.from_bytes(bytes(byte for _, byte in got[2:]), "little") + 1
        full = number % _WORD if self._near is None else nearest(number, _WORD, self._near)
        self._near = full
        second = self._scale.of_posix(full - self._epoch)
        return [Frame(second, got[5][0] + LAST_BYTE * self.tick_hz, Fraction(0), f"{number % _WORD}")]

    def advance(self, tick: int) -> list[Found]:
        # Six bytes are a frame when nothing follows: the last could be the first of the next header.
        if len(self._bytes) == 6 and tick - self._bytes[5][0] >= self.tick_hz * SILENCE:
            return self._whole()
        return []

    def drop(self, why: str) -> list[Found]:
        found = self._report()
        if self._bytes:
            found.append(Fault(self._bytes[0][0], f"a frame of {len(self._bytes)} bytes: {why}"))
        self._bytes = []
        return found

    def end(self) -> list[Found]:
        if len(self._bytes) == 6 and self._bytes[5][1] != HEADER[0]:
            return self._whole()
        return super().end()
