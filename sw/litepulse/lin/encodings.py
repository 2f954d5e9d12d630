# SPDX-License-Identifier: BSD-2-Clause
"""The signals of a LIN description: their place in a frame, and their values: physical, logical, raw. Pure, no device."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from litepulse.errors import BadInput, printable, shown

Value = int | float | str | bytes | list[int]


class Raw(int):
    """A number that is sent as it is, whatever the encoding of its signal."""


@dataclass(frozen=True)
class Logical:
    """A number with a name. text: None if it has none."""

    value: int
    text: str | None

    def encode(self, value: Value, _bytes: int) -> int | None:
        """The raw value, None if it is another one."""
        return self.value if value == self.text or (value == self.value and not isinstance(value, str)) else None

    def decode(self, raw: int, _bytes: int) -> Value | None:
        """The name, None if it is another value's."""
        return (self.value if self.text is None else self.text) if raw == self.value else None

    def __str__(self) -> str:
        return str(self.value) if self.text is None else printable(self.text)


@dataclass(frozen=True)
class Physical:
    """Numbers from least to most, as they are sent, that mean number * scale + offset."""

    least: int
    most: int
    scale: Fraction
    offset: Fraction
    unit: str

    def encode(self, value: Value, _bytes: int) -> int | None:
        """The raw value nearest to a physical one; None if it is outside."""
        if isinstance(value, str):
            try:
                value = float(value.removesuffix(self.unit))
            except ValueError:
                return None
        if not isinstance(value, int | float) or value != value or value in (float("inf"), float("-inf")):
            return None
        raw = round((Fraction(value) - self.offset) / self.scale) if self.scale else self.least
        return raw if self.least <= raw <= self.most else None

    def decode(self, raw: int, _bytes: int) -> Value | None:
        """The physical value."""
        return float(raw * self.scale + self.offset) if self.least <= raw <= self.most else None

    def __str__(self) -> str:
        ends = sorted(float(raw * self.scale + self.offset) for raw in (self.least, self.most))
        return f"{ends[0]:g} to {ends[1]:g}{' ' if self.unit else ''}{printable(self.unit)}"


@dataclass(frozen=True)
class Bcd:
    """A decimal digit in each byte, the first one the highest."""

    def encode(self, value: Value, size: int) -> int | None:
        """The bytes as a number, the first one the highest."""
        if not isinstance(value, int) or not 0 <= value < 10**size:
            return None
        return int.from_bytes(bytes(value // 10**n % 10 for n in reversed(range(size))), "big")

    def decode(self, raw: int, size: int) -> Value | None:
        """The number."""
        digits = raw.to_bytes(size, "big")
        return int("".join(map(str, digits))) if max(digits) <= 9 else None

    def __str__(self) -> str:
        return "decimal digits"


@dataclass(frozen=True)
class Ascii:
    """A character in each byte."""

    def encode(self, value: Value, size: int) -> int | None:
        """The bytes as a number, the first one the highest."""
        if not isinstance(value, str) or not value.isascii() or len(value) != size:
            return None
        return int.from_bytes(value.encode(), "big")

    def decode(self, raw: int, size: int) -> Value | None:
        """The text."""
        data = raw.to_bytes(size, "big")
        return data.decode() if data.isascii() else None

    def __str__(self) -> str:
        return "one character for each byte"


Converter = Logical | Physical | Bcd | Ascii


@dataclass(frozen=True)
class Signal:
    """initial: a number, of an array its bytes, the first the lowest; converters: its encoding."""

    name: str
    width: int
    initial: int
    array: bool
    publisher: str
    subscribers: tuple[str, ...]
    big_endian: bool = False
    converters: tuple[Converter, ...] = ()

    def encoded(self, converters: tuple[Converter, ...]) -> "Signal":
        """The same with an encoding."""
        return dataclasses.replace(self, converters=converters)

    @property
    def size(self) -> int:
        """Bytes that it needs."""
        return (self.width + 7) // 8

    def _swapped(self, number: int) -> int:
        return int.from_bytes(number.to_bytes(self.size, "big"), "little")

    @property
    def initial_bits(self) -> int:
        """The initial value as it lies in the frame."""
        return self._swapped(self.initial) if self.big_endian and not self.array and self.width > 8 else self.initial

    def bits_of(self, value: Value) -> int:
        """A value as it lies in the frame. BadInput if it does not fit, or its encoding does not have it."""
        if isinstance(value, bytes | bytearray | list | tuple):
            return self._bits_of_bytes(value)
        number: int | None = None
        if self.converters and not isinstance(value, Raw):
            number = next((raw for one in self.converters if (raw := one.encode(value, self.size)) is not None), None)
            if number is None:
                known = "; ".join(map(str, self.converters))
                raise BadInput(f"{self.name}: {shown(value)} is not one of its values: {known}; raw:N (lin.Raw(N)) sends N")
        elif isinstance(value, int):
            number = int(value)
        if number is None:
            what = f"{self.size} bytes, like 1,2,0x03 or 0x010203" if self.array else "a whole number"
            raise BadInput(f"{self.name}: {shown(value)} is not {what}, and the signal has no encoding")
        if not 0 <= number < 1 << self.width:
            raise BadInput(f"{self.name}: {number} does not fit its {self.width} bits")
        swap = self.array or (self.big_endian and self.width > 8)
        return self._swapped(number) if swap else number

    def _bits_of_bytes(self, value: Sequence[int]) -> int:
        if not self.array or len(value) != self.size:
            count = f"{self.size} bytes" if self.array else "a number, no bytes"
            raise BadInput(f"{self.name}: {len(value)} bytes are given, the signal has {count}")
        if any(not 0 <= byte <= 255 for byte in value):
            raise BadInput(f"{self.name}: a byte is 0 to 255")
        return int.from_bytes(bytes(value), "little")

    def value_of(self, bits: int) -> Value:
        """What the bits in a frame mean: by the first part of the encoding that has it, else raw."""
        number = self._swapped(bits) if self.array or (self.big_endian and self.width > 8) else bits
        for one in self.converters:
            value = one.decode(number, self.size)
            if value is not None:
                return value
        return list(bits.to_bytes(self.size, "little")) if self.array else number
