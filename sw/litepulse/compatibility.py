# SPDX-License-Identifier: BSD-2-Clause
"""Which versions of the register map this program can use, and how far. docs/compatibility.md has the same as a table.

An older map is driven as far as it goes. A newer one is only read, and what runs on it can be stopped: from release 0.2.0 on a minor
version adds to the map and changes nothing of it (CHANGELOG.md).
"""

from litepulse import __version__
from litepulse.errors import NotLitePulse, Unsupported
from litepulse.layout import regs

Version = tuple[int, int]

OURS: Version = (regs.VERSION_MAJOR, regs.VERSION_MINOR)
OLDEST: Version = (0, 6)  # before it, an address or a meaning was another one
# What is not in each map from OLDEST on: since which minor version it is there. A verb that needs it says so.
LEVELS, LOW_REST = "levels of the pins", "a line that rests at 0"
BURSTS, LONG_TIMES = "bursts of the responder", "delays and holdoffs of 16777216 ticks or more"
MARKS, WIDTHS, FAST_TRAINS = "marks", "a new width of a running train", "trains with a period below 320 cycles"
WAITS = "waits and relative entries of the launch queue"
SINCE: dict[str, Version] = {
    LOW_REST: (0, 7),
    LEVELS: (0, 8),
    BURSTS: (0, 9),
    LONG_TIMES: (0, 9),
    MARKS: (0, 10),
    WIDTHS: (0, 10),
    FAST_TRAINS: (0, 10),
    WAITS: (0, 11),
}
SHORT_TIMES = 1 << 24  # ticks: times of the responder below it are in every map
READABLE = "info, capture of edges and bytes, and stop"  # what works with a newer map

_FLASH = f"litepulse flash writes the bitstream of release {__version__}"


def named(version: Version) -> str:
    """'0.9'."""
    return f"{version[0]}.{version[1]}"


def is_newer(version: Version) -> bool:
    """Whether the board may be more than this program knows."""
    return version > OURS


def has(version: Version, what: str) -> bool:
    """Whether a map has something of SINCE."""
    return version >= SINCE[what]


def check(name: str, version: Version) -> None:
    """NotLitePulse, with what to do, if the map of a board cannot even be read."""
    if version[0] != OURS[0] or version < OLDEST:
        known = f"{named(OLDEST)} to {named(OURS)}"
        raise NotLitePulse(f"{name}: the core is version {named(version)}, this program drives versions {known}: {_FLASH}")


def require(name: str, version: Version, what: str) -> None:
    """Unsupported, with what to do, if an older map lacks something of SINCE."""
    if not has(version, what):
        raise Unsupported(f"{name}: {what}: that takes register map {named(SINCE[what])}, the board has {named(version)}: {_FLASH}")


def require_known(name: str, version: Version) -> None:
    """Unsupported, with what to do, if the map is newer: nothing may be started on it."""
    if is_newer(version):
        raise Unsupported(f"{name}: {note(version)}")


def note(version: Version) -> str:
    """What a user should know of the map of a board; '' if it is ours."""
    if is_newer(version):
        what = f"the core is version {named(version)}, newer than this program's {named(OURS)}, so only {READABLE} work"
        return f"{what}: install a newer litepulse, or {_FLASH}"
    missing = [what for what in SINCE if not has(version, what)]
    if missing:
        return f"the core is version {named(version)}, without {'; '.join(missing)}: {_FLASH}"
    return ""
