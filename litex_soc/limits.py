# SPDX-License-Identifier: BSD-2-Clause
"""The constants of hdl/limits.toml: what the user of the core has to keep to, in cycles, and the latencies of the PHYs.

This module imports nothing of the project but litex_soc.places, so that test benches can use it, too.
"""

from __future__ import annotations

import functools
import tomllib
from pathlib import Path
from typing import Any

from litex_soc import places


@functools.cache
def _table(path: Path, name: str) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))[name]


def cycles() -> dict[str, int]:
    """{name: cycles} of the constants, for LATENCY_IN + LATENCY_OUT = 2 and one sample per cycle."""
    return dict(_table(places.hdl() / "limits.toml", "cycles"))


def latencies(phy: str) -> tuple[int, int]:
    """(LATENCY_IN, LATENCY_OUT) of a PHY in cycles."""
    into, out = _table(places.hdl() / "limits.toml", "latencies")[phy]
    return into, out


def depths() -> dict[str, tuple[int, int]]:
    """{FIFO: (least, most)}, log2 of the depths that the core can have: event, receive, transmit, launch."""
    return {name: (least, most) for name, (least, most) in _table(places.hdl() / "limits.toml", "depths").items()}
