#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Man pages of the command and of each verb, by help2man from `--help`: litepulse(1), litepulse-train(1), litepulse-lin-slave(1), ...

man_pages.py FOLDER     writes them into FOLDER; needs help2man, and the package litepulse on PYTHONPATH
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = "litepulse"
# Long lines, which roff breaks as it likes; without a width of its own, argparse would break them for a terminal.
ENVIRONMENT = {**os.environ, "COLUMNS": "5000", "LC_ALL": "C.UTF-8"}
# help2man runs a program by its name, and knows the synopsis by this word.
WRAPPER = """#!/bin/sh
"{python}" -m litepulse {verb} "$@" | sed '1s/^usage:/Usage:/'
"""


def run(*command: str) -> str:
    """Standard output of a command that must succeed."""
    return subprocess.run(command, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True).stdout


def verbs(help_text: str) -> dict[str, str]:
    """{verb: what it does} by the text of `litepulse --help`."""
    rows = help_text.partition("\n  VERB\n")[2].partition("\n\n")[0]
    return dict(re.findall(r"^ {4}(\S+) +(.+)$", rows, re.M))


def see_also(name: str, names: list[str]) -> str:
    """A section SEE ALSO for help2man."""
    others = [f".BR {other} (1)" for other in names if other != name]
    return "[SEE ALSO]\n" + ",\n".join(others) + "\n"


def write(folder: Path) -> list[Path]:
    """The pages, written into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        command = (sys.executable, "-m", PROGRAM)
        version = run(*command, "--version").split()[1]
        found = verbs(run(*command, "--help"))
        pages = {PROGRAM: ("", "a serial port whose every edge has a known time")}  # {page: (words, what it does)}
        for verb, text in found.items():
            pages[f"{PROGRAM}-{verb}"] = verb, text
            inners = verbs(run(*command, verb, "--help"))
            pages |= {f"{PROGRAM}-{verb}-{inner}": (f"{verb} {inner}", what) for inner, what in inners.items()}
        made: list[Path] = []
        for name, (words, text) in pages.items():
            program = Path(scratch) / name
            program.write_text(WRAPPER.format(python=sys.executable, verb=words))
            program.chmod(0o755)
            include = Path(scratch) / "include"
            include.write_text(see_also(name, list(pages)))
            page = folder / f"{name}.1"
            options = ["--no-info", f"--version-string={version}", f"--name={text}", f"--include={include}"]
            run("help2man", *options, f"--output={page}", str(program))
            made.append(page)
    return made


def main() -> int:
    """The command."""
    if len(sys.argv) != 2:
        print(f"usage: {sys.argv[0]} FOLDER", file=sys.stderr)
        return 2
    if not shutil.which("help2man"):
        print("man_pages: there is no help2man here; as root, run: apt-get install help2man", file=sys.stderr)
        return 1
    for page in write(Path(sys.argv[1])):
        print(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
