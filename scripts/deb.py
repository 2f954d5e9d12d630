#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""`make deb`: the Debian packages of this tree, in build/deb.

deb.py [FOLDER]     builds them in FOLDER

The packages are built by dpkg-buildpackage from the source archive (`make dist`), so nothing that git does not track gets into them.
debian/changelog is written here: the version stands in sw/litepulse/__init__.py and nowhere else.
"""

import argparse
import email.utils
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REVISION = "1"
CHANGELOG = """litepulse ({version}-{revision}) unstable; urgency=medium

  * See /usr/share/doc/litepulse/changelog.gz.

 -- {maintainer}  {date}
"""


class DebError(RuntimeError):
    """The packages cannot be built; the message says why, in one line."""


def version_of(tree: Path) -> str:
    """The version of a tree."""
    found = re.search(r'(?m)^__version__ = "(.+)"$', (tree / "sw" / "litepulse" / "__init__.py").read_text(encoding="utf-8"))
    if not found:
        raise DebError(f"{tree}/sw/litepulse/__init__.py names no version")
    return found[1]


def date_of(tree: Path) -> str:
    """The date of the last commit, or now where there is no git; SOURCE_DATE_EPOCH goes before both. As debian/changelog has it."""
    seconds = os.environ.get("SOURCE_DATE_EPOCH", "")
    if not seconds and shutil.which("git"):
        command = ["git", "log", "-1", "--format=%ct"]
        seconds = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False).stdout.strip()
    return email.utils.formatdate(int(seconds) if seconds else None)


def source_tree(sdist: Path, folder: Path, date: str) -> Path:
    """A source archive as a tree that dpkg-buildpackage takes: unpacked into `folder`, with debian/changelog."""
    subprocess.run(["tar", "-xf", sdist, "-C", folder], check=True)
    tree = folder / sdist.name.removesuffix(".tar.gz")
    maintainer = re.search(r"(?m)^Maintainer: (.+)$", (tree / "debian" / "control").read_text(encoding="utf-8"))
    if not maintainer:
        raise DebError("debian/control names no maintainer")
    text = CHANGELOG.format(version=version_of(tree), revision=REVISION, maintainer=maintainer[1], date=date)
    (tree / "debian" / "changelog").write_text(text, encoding="utf-8")
    return tree


def check_tools(tree: Path) -> None:
    """Raises DebError that names missing packages."""
    if not shutil.which("dpkg-buildpackage"):
        raise DebError("there is no dpkg-buildpackage here: on Debian or Ubuntu, apt-get install dpkg-dev")
    result = subprocess.run(["dpkg-checkbuilddeps"], cwd=tree, capture_output=True, text=True, check=False)
    if result.returncode:
        missing = re.sub(r" \(.*?\)", "", result.stderr.strip().rpartition(": ")[2])
        raise DebError(f"packages are missing that build them; as root, run: apt-get install --no-install-recommends {missing}")


def build(folder: Path) -> list[Path]:
    """The packages of this tree, built in `folder`, which is recreated."""
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    dist = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(folder)]
    result = subprocess.run(dist, cwd=ROOT, capture_output=True, text=True, check=False)
    if result.returncode:
        raise DebError(f"hatchling failed: {(result.stderr or result.stdout).strip().splitlines()[-1]}")
    (sdist,) = folder.glob("*.tar.gz")
    tree = source_tree(sdist, folder, date_of(ROOT))
    check_tools(tree)
    # .venv is of no concern to it: what builds the packages is Debian's.
    outside = [part for part in os.environ.get("PATH", "").split(os.pathsep) if not part.startswith(str(ROOT))]
    env = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "PYTHONPATH")}
    env |= {"PATH": os.pathsep.join(["/usr/sbin", "/usr/bin", "/sbin", "/bin", *outside])}
    log = folder / "build.log"
    with open(log, "w", encoding="utf-8") as out:
        command = ["dpkg-buildpackage", "--build=binary", "--unsigned-changes"]
        status = subprocess.run(command, cwd=tree, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out, check=False).returncode
    if status:
        raise DebError(f"dpkg-buildpackage failed with status {status}: the end of {log} says why")
    shutil.rmtree(tree)
    return sorted(folder.glob("*.deb"))


def main(argv: list[str] | None = None) -> int:
    """The command; exit status 1 with one line if something is missing or fails."""
    parser = argparse.ArgumentParser(prog="make deb" if os.environ.get("MAKELEVEL") else None, description="Builds the Debian packages.")
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "build" / "deb")
    args = parser.parse_args(argv)
    try:
        for path in build(args.folder.resolve()):
            print(path)
        return 0
    except DebError as error:
        print(f"deb: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
