# SPDX-License-Identifier: BSD-2-Clause
"""No result of a call that may fail is dropped in the driver: a hook of `make lint`.

    python scripts/driver_results.py [FOLDER]      prints FILE:LINE: which call; exit status 1 if there is one. FOLDER: driver

Looked at are the functions, and the members of structures, that are declared there with the type `int`. A call of one that is a
statement by itself drops what it returns. With `(void)` before it that is meant, and a comment just above, or in the line, says why.
Read with regular expressions, as the driver is written (.editorconfig, checkpatch): no compiler with kernel headers is needed.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DRIVER = ROOT / "driver"
SKIPPED = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.DOTALL)
DECLARED = re.compile(r"^(?:static )?(?:inline )?int (\w+)\(|^\tint \(\*(\w+)\)\(", re.MULTILINE)
CALL = re.compile(r"^[ \t]+(?P<meant>\(void\))?(?P<call>(?:\w+(?:->|\.))*(?P<name>\w+))\(", re.MULTILINE)
# What ends before a statement begins. Behind a `)` it does so only if that closes the head of one of HEADS.
ENDS = re.compile(r"(?:[;{}]|\belse|\bdo|\n\w+:|\bdefault:|\bcase [^:?\n]*:|\))\Z")
HEADS = re.compile(r"\b(?:if|while|for|\w*for_each\w*)\s*\Z")


def partner(text: str, place: int) -> int:
    """Place of the bracket that belongs to the one at `place`."""
    step = 1 if text[place] == "(" else -1
    depth = 0
    while True:
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if not depth:
            return place
        place += step


def dropped(text: str, names: set[str]) -> Iterator[tuple[int, str]]:
    """(line, call) of each call in a source that drops what one of these functions returns, without saying why."""
    code = SKIPPED.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    lines = text.splitlines()
    for match in CALL.finditer(code):
        if match["name"] not in names or code[partner(code, match.end() - 1) + 1 :].lstrip()[:1] != ";":
            continue
        before = code[: match.start()].rstrip()
        if not ENDS.search(before) or (before.endswith(")") and not HEADS.search(before[: partner(before, len(before) - 1)])):
            continue
        line = code.count("\n", 0, match.start("call")) + 1
        first = max(0, line - (2 if before.endswith(";") else 3))
        if not match["meant"] or not any("*/" in near for near in lines[first:line]):
            yield line, match["call"]


def main(folder: Path = DRIVER) -> int:
    """The hook; exit status."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.[ch]"))}
    names = {name for text in texts.values() for pair in DECLARED.findall(text) for name in pair if name}
    found = [(path, line, call) for path, text in texts.items() for line, call in dropped(text, names)]
    for path, line, call in found:
        print(f"{path.relative_to(folder.parent)}:{line}: what {call}() returns is dropped")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:])))
