# SPDX-License-Identifier: BSD-2-Clause
"""What a core is, and where on the bus it lies, by reads alone."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from litepulse import compatibility
from litepulse.backends.interface import Identity
from litepulse.backends.places import CANDIDATES, Places
from litepulse.backends.wallclock import HOST_CLOCKS
from litepulse.errors import NotLitePulse
from litepulse.layout import CSRS, regs, unpack


class Readable(Protocol):
    """A bus that can be read."""

    def read(self, address: int, count: int = 1) -> list[int]:
        """Words from a byte address on."""
        ...


@dataclass(frozen=True)
class Core:
    """A core that was found: byte addresses of its registers, its window, its bridge (see Places), and what it is, with no session yet."""

    csr: int
    window: int
    bridge: int | None
    identity: Identity


def read_csrs(bus: Readable, base: int, first: str, last: str) -> dict[str, int]:
    """{name: word} of the registers from `first` to `last`, in one burst. base: address of the first register there is."""
    low, high = CSRS[first].index, CSRS[last].index
    words = bus.read(base + 4 * low, high - low + 1)
    return {r.name: words[r.index - low] for r in CSRS.values() if low <= r.index <= high}


def _find(bus: Readable, name: str, known: Places | None) -> tuple[Places, dict[str, int]]:
    """Where the core lies, and the words that identify it."""
    seen: list[str] = []
    for places in [known] if known else CANDIDATES:
        words = read_csrs(bus, places.csr, "id_magic", "id_clock_den")
        if words["id_magic"] == regs.MAGIC:
            return places, words
        seen.append(f"0x{words['id_magic']:08x} at 0x{places.csr:08x}")
    raise NotLitePulse(f"{name}: a bridge answers, but this is not a LitePulse (read {', '.join(seen)}, not 0x{regs.MAGIC:08x})")


def identify(bus: Readable, backend: str, name: str, simulated: bool = False, known: Places | None = None) -> Core:
    """The core on a bus. known: where it lies, None: at one of CANDIDATES. NotLitePulse if this program does not drive what is there."""
    places, words = _find(bus, name, known)
    version = unpack(CSRS["id_version"], words["id_version"])
    theirs = (version["major"], version["minor"])
    compatibility.check(name, theirs)
    window = places.window or read_csrs(bus, places.csr, "id_window", "id_window")["id_window"] or regs.WINDOW_BASE
    geometry = unpack(CSRS["id_geometry"], words["id_geometry"])
    samples, inputs = geometry["samples"], geometry["inputs"]
    if samples not in (1, 2, 4, 8) or (inputs + 1) * samples > 16:
        raise NotLitePulse(f"{name}: impossible geometry 0x{words['id_geometry']:08x}")
    if not words["id_clock_num"] or not words["id_clock_den"]:
        raise NotLitePulse(f"{name}: the core does not tell its clock")
    depths = (1 << geometry[f"{which}_depth"] for which in ("event", "receive", "transmit", "launch"))
    identity = Identity(
        backend,
        name,
        simulated or bool(geometry["simulated"]),
        theirs,
        Fraction(words["id_clock_num"], words["id_clock_den"]),
        samples,
        inputs,
        *depths,
        lin_entries=1 << geometry["lin_depth"] if geometry["lin_depth"] else 0,
        session=0,
        echo_limit=regs.ECHO_CYCLES_MAX * samples,
        clocks=HOST_CLOCKS,
        port=bool(geometry["port"]),
        sequence=bool(geometry["sequence"]),
    )
    return Core(places.csr, window, places.bridge, identity)
