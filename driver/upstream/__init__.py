# SPDX-License-Identifier: GPL-2.0-only
"""The driver as a series of patches for the kernel's own tree: docs/develop/upstream.md. `python -m driver.upstream --help`."""

from pathlib import Path

HERE = Path(__file__).resolve().parent
DRIVER = HERE.parent
PLACE = "drivers/tty/serial/litepulse"  # of the driver in the kernel


class SeriesError(Exception):
    """Sources, kernel tree or settings from which no series can be made: one line says what."""


def single(found, what):
    """The only element of a list, which is what `what` says. Raises SeriesError."""
    found = list(found)
    if len(found) != 1:
        raise SeriesError(f"{what}: expected one, found {len(found)}")
    return found[0]
