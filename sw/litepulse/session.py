# SPDX-License-Identifier: BSD-2-Clause
"""Writes pins as a sigrok session (.sr), which PulseView and sigrok-cli open: a zip file with one sample of each pin per tick.

The number of a sample is the tick, so nothing is rounded. The format: https://sigrok.org/wiki/File_format:Sigrok/v2
"""

import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

from litepulse.errors import BadInput
from litepulse.units import approx, si
from litepulse.vcd import Vcd

CHUNK = 1 << 22  # bytes of samples in a part of the file, as sigrok writes them
MOST_SAMPLES = 1 << 32


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
    lines = ["[global]", "sigrok version=0.5.2", "", "[device 1]", "capturefile=logic-1", f"total probes={len(names)}"]
    lines += [f"samplerate={rate.numerator}", "total analog=0"]
    lines += [*(f"probe{n}={name}" for n, name in enumerate(names, 1)), f"unitsize={size}"]
    try:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
            file.writestr("version", "2")
            file.writestr("metadata", "\n".join(lines) + "\n")
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
