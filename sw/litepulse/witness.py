# SPDX-License-Identifier: BSD-2-Clause
"""An independent witness: sigrok's UART decoder reads the pins and must find the same bytes at the same ticks."""

import re
import shutil
import subprocess
import tempfile
from fractions import Fraction
from pathlib import Path

from litepulse.errors import LitePulseError

NAME = "sigrok-cli"


def available():
    """Is sigrok-cli installed?"""
    return shutil.which(NAME) is not None


def read_uart(vcd, signal, baud, folder=None):
    """[(tick of the start edge, byte)] as sigrok decodes `signal` of a Vcd (8N1). The tick rate must be a whole number of Hz.

    sigrok chokes on a VCD of 1 ps; a binary file with one sample per tick is exact.
    """
    falls = vcd.falls(signal)
    if not falls:
        return []
    rate = vcd.tick_hz
    if Fraction(rate).denominator != 1 or Fraction(baud).denominator != 1:
        raise LitePulseError("sigrok takes whole numbers of Hz and baud only")
    margin = int(rate / baud) * 12
    first = max(0, falls[0] - margin)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        samples = Path(scratch) / "pins.bin"
        samples.write_bytes(vcd.samples(signal, first, falls[-1] + margin))
        done = subprocess.run(
            [
                NAME,
                "-I",
                f"binary:numchannels=1:samplerate={rate}",
                "-i",
                str(samples),
                "-P",
                f"uart:rx=0:baudrate={baud}:format=hex",
                "-A",
                "uart=rx-data:rx-start:rx-warnings",
                "--protocol-decoder-samplenum",
            ],
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise LitePulseError(f"{NAME} failed: {done.stderr.strip().splitlines()[-1:] or done.returncode}")
    found, start = [], 0
    for line in done.stdout.splitlines():
        match = re.fullmatch(r"(\d+)-(\d+) uart-1: (.*)", line.strip())
        if not match:
            continue
        if match[3] in ("Start bit", "Start", "S"):
            start = int(match[1])
        elif re.fullmatch(r"[0-9A-F]{2}", match[3]):
            found.append((first + start, int(match[3], 16)))
        else:
            found.append((first + int(match[1]), match[3]))
    return found
