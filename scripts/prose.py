# SPDX-License-Identifier: BSD-2-Clause
"""Prose: proselint on the sentences of pages, and words of the field (prose.toml) in pages and sources.

    python scripts/prose.py FILE...        prints FILE:LINE: what is wrong; exit status 1 if anything is

Sentences of a page are what is neither code nor in a table. A line with `prose: as it is` is left alone.
"""

import re
import sys
import tomllib
from pathlib import Path

from markdown_it import MarkdownIt
from proselint.checks import __register__
from proselint.config import Config
from proselint.registry import CheckRegistry
from proselint.tools import LintFile

RULES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
WORDS = [(re.compile(rf"\b(?:{pattern})\b", re.I), instead) for pattern, instead in RULES["instead"].items()]
CHECKS = Config(max_errors=1000, checks=dict.fromkeys(RULES["proselint"]["checks"], True))
LEFT_ALONE = "prose: as it is"
MISTAKEN = re.compile("in '[0-9 ]+'|'for ever'")  # repeated numbers; "for every"; prose: as it is


def sentences(page):
    """The lines of a page with everything but its sentences taken out. A piece of code becomes a word that occurs once."""
    lines, in_table, pieces, number = [""] * (page.count("\n") + 1), False, 0, 0
    for token in MarkdownIt().enable("table").parse(page):
        in_table = (in_table or token.type == "table_open") and token.type != "table_close"
        if token.type == "heading_close":
            lines[number] += "."
        if token.type != "inline" or in_table:
            continue
        number = token.map[0] if token.map else 0
        for child in token.children or ():
            if child.type in ("softbreak", "hardbreak"):
                number += 1
            elif child.type == "text":
                lines[number] += child.content
            elif child.type == "code_inline":
                pieces += 1
                lines[number] += f"code{pieces}"
    return lines


def faults(path):
    """[(line, what is wrong), ...] of a file."""
    text = path.read_text()
    lines = text.splitlines()
    found = [
        (number, f"'{hit[0]}': {instead}") for number, line in enumerate(lines, 1) for word, instead in WORDS for hit in word.finditer(line)
    ]
    if path.suffix == ".md":
        results = LintFile(str(path), "\n".join(sentences(text))).lint(CHECKS)
        reported = [(result.pos[0], " ".join(result.check_result.message.split())) for result in results]
        found += [fault for fault in reported if not MISTAKEN.search(fault[1])]
    return sorted(fault for fault in found if LEFT_ALONE not in lines[fault[0] - 1])


def main(names):
    CheckRegistry().register_many(__register__)
    found = [f"{name}:{number}: {what}" for name in names for number, what in faults(Path(name))]
    print("\n".join(found), end="\n" if found else "")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
