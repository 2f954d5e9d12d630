# SPDX-License-Identifier: BSD-2-Clause
"""An independent witness: sigrok's UART decoder reads the pins and must find the same bytes at the same ticks."""

import re
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path

from litepulse.errors import LitePulseError
from litepulse.vcd import Vcd

NAME = "sigrok-cli"


def available() -> bool:
    """Is sigrok-cli installed?"""
    return shutil.which(NAME) is not None


def read_uart(path: str | Path, tick_hz: Fraction | int, signal: str, baud: Fraction | int) -> list[tuple[int, int | str]]:
    """[(tick of the start edge, byte)] as sigrok decodes `signal` of a VCD (8N1); instead of a byte, sigrok's complaint.

    sigrok counts units of the VCD, which are at most half a tick: the tick is the nearest one.
    """
    if Fraction(baud).denominator != 1:
        raise LitePulseError("sigrok takes whole numbers of baud only")
    unit = Vcd(path, tick_hz).unit
    decoder = ["-P", f"uart:rx={signal}:baudrate={baud}:format=hex", "-A", "uart=rx-data:rx-start:rx-warnings"]
    command = [NAME, "-i", str(path), *decoder, "--protocol-decoder-samplenum"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LitePulseError(f"{NAME} failed: {(done.stderr.strip().splitlines() or [f'exit status {done.returncode}'])[-1]}")
    found: list[tuple[int, int | str]] = []
    start = 0
    for line in done.stdout.splitlines():
        match = re.fullmatch(r"(\d+)-(\d+) uart-1: (.*)", line.strip())
        if not match:
            continue
        if match[3] in ("Start bit", "Start", "S"):
            start = round(int(match[1]) * unit * tick_hz)
        elif re.fullmatch(r"[0-9A-F]{2}", match[3]):
            found.append((start, int(match[3], 16)))
        else:
            found.append((round(int(match[1]) * unit * tick_hz), match[3]))
    return found
