# SPDX-License-Identifier: BSD-2-Clause
"""The headers of a board, as its card draws them (docs/boards): where on the board a pin is, and what is printed beside it."""

from dataclasses import dataclass

GND, POWER = "GND", "3.3 V"


@dataclass(frozen=True)
class Header:
    """A header of a board: `title`, and rows of (what the board calls the pin, the pin as in constraints/, GND, POWER or "")."""

    title: str
    rows: tuple


def pmod(title, connector):
    """A PMOD: pins 1 to 6 above pins 7 to 12; litex-boards counts its eight signals from 0."""
    rows = tuple(
        (*((str(first + n), f"{connector}:{index + n}") for n in range(4)), (str(first + 4), GND), (str(first + 5), POWER))
        for first, index in ((1, 0), (7, 4))
    )
    return Header(title, rows)


def pins(title, *rows):
    """A header of which only the named pins are shown; a row is "NAME=PIN NAME=PIN"."""
    return Header(title, tuple(tuple(tuple(word.split("=")) for word in line.split()) for line in rows))
