# SPDX-License-Identifier: BSD-2-Clause
"""The register map of a release, frozen: addresses and fields, in a file of sw/tests/maps/ that nothing changes afterwards.

    python -m litex_soc.frozen_map [--check]     writes that of this version, if it is not there; or only says that it is not

Tests compare the map with all of them: a later one only adds. They also let a board in Python answer by an old one.
"""

import sys
from pathlib import Path

from litex_soc import SPDX, regmap

FOLDER = Path(__file__).resolve().parent.parent / "sw" / "tests" / "maps"
CODES = ("EVENT_KINDS", "EVENT_SOURCES", "REASONS", "LAUNCH_KINDS", "PARITIES", "STOPS", "TRIGGERS", "TRAIN_COMMANDS")


def text(given=regmap):
    """The file of a map, a module like regmap."""
    version = f"{given.VERSION_MAJOR}.{given.VERSION_MINOR}"
    out = [
        f"# {SPDX} BSD-2-Clause",
        f"# Register map {version}, frozen: do not edit. Of each register its word, of each field [first bit, bits].",
        f'version = "{version}"',
        f"magic = 0x{given.MAGIC:08x}",
        "",
        "[regions]",
        *(f"{name} = 0x{place:04x}" for name, (place, _) in given.REGIONS.items()),
    ]
    for name in CODES:
        out += ["", f"[codes.{name}]", *(f'"{meaning[0]}" = {code}' for code, meaning in getattr(given, name).items())]
    for table in ("CSRS", "CONFIG", "EVENT_RECORD", "RECEIVE_RECORD", "STREAM_HEADER", "STREAM_ACK", "LAUNCH_ENTRY"):
        for register in getattr(given, table):
            out += ["", f"[registers.{table}.{register.name}]", f"word = {register.index}"]
            out += [f"{field.name} = [{field.offset}, {field.size}]" for field in register.fields]
    return "\n".join(out) + "\n"


def main(check=False):
    """Writes the file; exit status 1 if it is another one, or with `check` is not there."""
    path = FOLDER / f"{regmap.VERSION_MAJOR}.{regmap.VERSION_MINOR}.toml"
    if path.exists():
        if path.read_text() != text():
            print(f"{path.name} is frozen, and the map differs from it: raise VERSION_MINOR", file=sys.stderr)
            return 1
        return 0
    if check:
        print(f"{path.name} is not there", file=sys.stderr)
        return 1
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text())
    print(f"written: {path.relative_to(FOLDER.parents[2])}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] == ["--check"]))
