# SPDX-License-Identifier: BSD-2-Clause
"""Barcodes that align recordings, as Open Ephys, SpikeGLX and others record them. Pure and exact.

A barcode is a high pulse and a low one, then 32 bits of equal length, the least significant first. Here
its value is the number of the second (since 1970, as UTC counts, modulo 2^bits) in which its first edge is.
"""

from dataclasses import dataclass, field
from fractions import Fraction

from litepulse.codes.frames import MS, Change, Fault, Found, Frame, PulseDecoder
from litepulse.codes.scale import UTC, Scale, nearest
from litepulse.errors import BadInput, check_text, shown
from litepulse.units import Number, Whole, to_fraction, whole, within


@dataclass(frozen=True)
class Layout:
    """Lengths in seconds. high, low: of the pulses before the bits; tail: low, high and low again behind them."""

    bit: Fraction = field(default=29 * MS)
    bits: int = 32
    high: Fraction = field(default=20 * MS)
    low: Fraction = field(default=20 * MS)
    tail: tuple[Fraction, ...] = ()

    def __post_init__(self) -> None:
        within(self.bits, "bits", 1, 64)
        for name in ("bit", "high", "low"):
            object.__setattr__(self, name, to_fraction(getattr(self, name), name))
        tail = tuple(to_fraction(length, "tail") for length in self.tail)
        object.__setattr__(self, "tail", tail)
        if min(self.bit, self.high, self.low, *tail) <= 0:
            raise BadInput("barcode: its lengths are more than 0")
        if len(tail) not in (0, 3):
            raise BadInput("tail: none, or the lengths of a low, a high and a low level")
        if self.bits_of(self.high) is not None or self.high / self.bit > self.bits:
            raise BadInput("high: the pulse before the bits has the length of one or more bits, so that its end cannot be told from theirs")

    @property
    def length(self) -> Fraction:
        """From the first edge to the end, in seconds."""
        return self.high + self.low + self.bits * self.bit + sum(self.tail)

    def bits_of(self, length: Fraction) -> int | None:
        """The number of bits that a level of this length is, to a quarter of a bit."""
        number = round(length / self.bit)
        return number if number and abs(length - number * self.bit) <= self.bit / 4 else None

    def is_first(self, length: Fraction) -> bool:
        """Whether a pulse has the length of the one before the bits."""
        return abs(length - self.high) <= self.high / 4 and self.bits_of(length) is None


OPEN_EPHYS = Layout()
ONE_CORE = Layout(30 * MS, 32, 10 * MS, 10 * MS, (10 * MS, 10 * MS, 10 * MS))
LAYOUTS = {"open-ephys": OPEN_EPHYS, "one-core": ONE_CORE}


def layout_of(name: str | Layout) -> Layout:
    """The same layout, or one of LAYOUTS by its name."""
    if isinstance(name, Layout):
        return name
    if check_text(name, "layout") not in LAYOUTS:
        raise BadInput(f"layout: {shown(name)} is not one of {', '.join(LAYOUTS)}")
    return LAYOUTS[name]


def encode(second: Whole, scale: Scale = UTC, layout: Layout = OPEN_EPHYS, value: Whole | None = None) -> list[Change]:
    """[(when, level)] of the barcode that begins with a second; the line rests at 0. value: another one than the second's number."""
    second = whole(second, "second")
    number = scale.posix(second) % (1 << layout.bits) if value is None else within(value, "value", 0, (1 << layout.bits) - 1)
    begin = second + layout.high + layout.low
    levels = [(Fraction(second), 1), (second + layout.high, 0)]
    levels += [(begin + n * layout.bit, number >> n & 1) for n in range(layout.bits)]
    end = begin + layout.bits * layout.bit
    levels.append((end, 0))
    if layout.tail:
        levels += [(end + layout.tail[0], 1), (end + layout.tail[0] + layout.tail[1], 0)]
    found: list[Change] = []
    for at, level in levels:
        if not found or level != found[-1][1]:
            found.append((at, level))
    return found


class BarcodeDecoder(PulseDecoder):
    """Edges in, seconds out. near: a second close by, which the value is completed with.

    A generator that counts barcodes has no times in them: the seconds are then its numbers.
    """

    strange = "pulses of no barcode"

    def __init__(
        self, tick_hz: Number, scale: Scale = UTC, layout: Layout = OPEN_EPHYS, near: Whole | None = None, invert: bool = False
    ) -> None:
        super().__init__(tick_hz, invert)
        self._scale, self._layout = scale, layout
        self._near = None if near is None else scale.posix(near)
        self._begin: int | None = None  # tick of the first edge of a barcode
        self._pulses: list[tuple[int, int]] = []  # those behind its first one

    def _feed(self, tick: int, value: int, ok: bool) -> list[Found]:
        return self.advance(tick) + super()._feed(tick, value, ok)

    def _pulse(self, rise: int, fall: int) -> list[Found]:
        if self._begin is not None:
            self._pulses.append((rise, fall))
            return []
        if self._layout.is_first((fall - rise) / self.tick_hz):
            self._begin = rise
            return self._report()
        return self._skip(rise)

    def advance(self, tick: int) -> list[Found]:
        """A barcode is whole when its time is over and the line is low."""
        if self._begin is None or tick < self._begin + (self._layout.length + self._layout.bit / 4) * self.tick_hz:
            return []
        begin, got, self._begin, self._pulses = self._begin, self._pulses, None, []
        if self._rise is not None:  # since before the end
            return [Fault(begin, "a barcode that does not end")]
        return [self._frame(begin, got)]

    def _frame(self, begin: int, got: list[tuple[int, int]]) -> Found:
        layout = self._layout
        start = begin + (layout.high + layout.low) * self.tick_hz
        worst, number, tails = Fraction(0), 0, 0
        tail = start + (layout.bits * layout.bit + layout.tail[0]) * self.tick_hz if layout.tail else None
        for rise, fall in got:
            if tail is not None and abs(rise - tail) <= layout.tail[1] / 4 * self.tick_hz:
                if abs((fall - rise) / self.tick_hz - layout.tail[1]) > layout.tail[1] / 4:
                    return Fault(begin, f"a barcode whose last pulse lasts {self._ms(fall - rise)}")
                tails += 1
                continue
            if layout.bits_of((fall - rise) / self.tick_hz) is None:
                return Fault(begin, f"a barcode with a pulse of {self._ms(fall - rise)} in it, at tick {rise}")
            places: list[int] = []
            for edge in (rise, fall):
                place = round((edge - start) / (layout.bit * self.tick_hz))
                off = abs(edge - start - place * layout.bit * self.tick_hz)
                worst = max(worst, off)
                if off > layout.bit / 4 * self.tick_hz or not 0 <= place <= layout.bits:
                    return Fault(begin, f"a barcode with an edge between its bits, at tick {edge}")
                places.append(place)
            number |= (1 << places[1]) - (1 << places[0])
        if tail is not None and tails != 1:
            return Fault(begin, "a barcode without its last pulse")
        full = number if self._near is None else nearest(number, 1 << layout.bits, self._near)
        self._near = full if self._near is not None else None
        return Frame(self._scale.of_posix(full), Fraction(begin), worst, f"{number}")

    def drop(self, why: str) -> list[Found]:
        found = self._report()
        if self._begin is not None:
            found.append(Fault(self._begin, f"a barcode that is not whole: {why}"))
        self._begin, self._pulses = None, []
        return found

    def end(self) -> list[Found]:
        """A barcode whose bits are all there is whole if its last edge shows that; else it may have been cut."""
        layout = self._layout
        if self._begin is not None and self._pulses and self._rise is None:
            last = (self._pulses[-1][1] - self._begin) / self.tick_hz
            if last >= layout.length - (layout.tail[2] if layout.tail else Fraction(0)) - layout.bit / 4:
                return self.advance(self._begin + round((layout.length + layout.bit) * self.tick_hz))
        return super().end()
