# SPDX-License-Identifier: BSD-2-Clause
"""Where a core and the serial bridge lie on the bus: from the csr.csv or csr.json that LiteX writes, or by looking at a few addresses.

Without a file a core is found at CSR location 16 of a SoC with no CPU, or with a CPU whose CSRs are at 0xf000_0000 or 0xe000_0000; the
core itself reports where its window is, if not at the usual place. With several cores in one chip,
or one elsewhere, the file is needed.
"""

import csv
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from litepulse import regs
from litepulse.errors import BadInput

_FIRST, _BRIDGE, _WINDOW = "_id_magic", "_rate", "_window"  # ends of the names by which a file's parts are known
_CSR_REGIONS = (0, 0xF000_0000, 0xE000_0000)  # where LiteX's CPUs have their CSRs, no CPU first
_DEFAULT_NAME = "pulse"


@dataclass(frozen=True)
class Places:
    """Byte addresses on the bus. window: None if only the core knows; bridge: None if there is no bridge with a rate to set."""

    csr: int = regs.CSR_BASE
    window: int | None = None
    bridge: int | None = regs.BRIDGE_BASE


CANDIDATES = tuple(Places(base + regs.CSR_BASE, None, base + regs.BRIDGE_BASE) for base in _CSR_REGIONS)


def _address(value: Any) -> int:
    return value if isinstance(value, int) else int(value, 0)


def _parse_csv(text: str) -> tuple[dict[str, int], dict[str, int]]:
    registers: dict[str, int] = {}
    regions: dict[str, int] = {}
    for row in csv.reader(line for line in io.StringIO(text) if not line.startswith("#")):
        if row and row[0] == "csr_register":
            registers[row[1]] = _address(row[2])
        elif row and row[0] == "memory_region":
            regions[row[1]] = _address(row[2])
    return registers, regions


def _parse_json(text: str) -> tuple[dict[str, int], dict[str, int]]:
    found = json.loads(text)
    registers = {name: _address(register["addr"]) for name, register in found["csr_registers"].items()}
    return registers, {name: _address(region["base"]) for name, region in found["memories"].items()}


def read_file(path: str | Path) -> dict[str, Places]:
    """{name of a core: Places} of a csr.csv or csr.json; BadInput if it is none, or has no core."""
    path = Path(path)
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"csr: cannot read {path}: {getattr(error, 'strerror', None) or 'not a text'}") from None
    parse: Callable[[str], tuple[dict[str, int], dict[str, int]]] = _parse_json if text.lstrip().startswith("{") else _parse_csv
    try:
        registers, regions = parse(text)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, csv.Error):
        raise BadInput(f"csr: {path} is no csr.csv or csr.json of LiteX") from None
    bridges = [registers[name] for name in registers if name.endswith(_BRIDGE) and f"{name.removesuffix(_BRIDGE)}_frames" in registers]
    cores = {
        name: Places(address, regions.get(f"{name}{_WINDOW}"), bridges[0] if bridges else None)
        for register, address in registers.items()
        if (name := register.removesuffix(_FIRST)) != register
    }
    if not cores:
        raise BadInput(f"csr: no LitePulse core in {path} (no register that ends in {_FIRST})")
    return dict(sorted(cores.items()))


def choose(path: str | Path, core: str | None = None) -> tuple[str | None, Places]:
    """(name, Places) of the core that is called `core` in a file; None: the only one, or the one called `pulse`.

    The name is None for the core that is meant without one.
    """
    cores = read_file(path)
    usual = next(iter(cores)) if len(cores) == 1 else _DEFAULT_NAME
    name = core or usual
    if name not in cores:
        raise BadInput(f"core: no '{name}' in {path}; there is {', '.join(cores)}" if core else f"core: choose one of {', '.join(cores)}")
    return None if name == usual else name, cores[name]
