#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Locks the Python packages: requirements/NAME.in -> requirements/NAME.txt, all dependencies, with hashes. Run through `make lock`.

    lock.py --missing NAME...   prints how many packages of these locks are not installed, and their size

A package keeps its version unless a .in file asks for another one; delete a .txt file's entry to have the newest that fits.
Only files that CPython 3.11 to 3.13 on Linux x86-64 can use are listed. A package without such a wheel is listed by its source
archive; what builds it belongs in build.in.
"""

import hashlib
import importlib.metadata
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

REQUIREMENTS = Path(__file__).resolve().parent.parent / "requirements"
TOGETHER = ("demo", "test", "boards", "docs", "all", "lint", "build", "uv")  # installed into one .venv
# For single tests, each in a folder of its own. WITHOUT_DEPENDENCIES: the .in file lists all that the tests import; the rest is a GUI,
# or for other hardware.
APART = ("adapters", "eeg", "labscript", "pio", "psychopy")
WITHOUT_DEPENDENCIES = ("eeg", "labscript", "pio", "psychopy")
NAMES = (*TOGETHER, *APART)
PYTHONS = ((3, 11), (3, 12), (3, 13))
GLIBC_MINOR = 36  # of Debian 12, the oldest system that is supported
ENTRY = re.compile(
    r"(?P<name>[\w.-]+)==(?P<version>[\w.!+]+)(?: ; (?P<marker>[^\\\n]+))? \\\n"
    r"(?P<hashes>(?: +--hash=sha256:[0-9a-f]{64} \\\n)* +--hash=sha256:[0-9a-f]{64})  # (?P<bytes>\d+) bytes\n"
)
MARKER = re.compile(r"python_full_version (?P<than><|>=) '3\.(?P<minor>\d+)'")


def inputs(name):
    """The requirements of NAME.in, sorted, those of the files it includes among them."""
    found = set()
    for line in (REQUIREMENTS / f"{name}.in").read_text(encoding="utf-8").splitlines():
        line = line.partition("#")[0].strip()
        if line.startswith("-r "):
            found |= set(inputs(line.removeprefix("-r ").removesuffix(".in")))
        elif line:
            found.add(line)
    return sorted(found)


def digest(name):
    """Hash of what a lock is made from; its first lines repeat it."""
    return hashlib.sha256("\n".join(inputs(name)).encode()).hexdigest()[:16]


def entries(name):
    """The matches of ENTRY in NAME.txt."""
    return list(ENTRY.finditer((REQUIREMENTS / f"{name}.txt").read_text(encoding="utf-8")))


def applies(entry):
    """Does this Python need the entry? wanted_marker() lets no other markers pass."""
    marker = MARKER.fullmatch(entry["marker"] or "")
    return not marker or (sys.version_info[:2] < (3, int(marker["minor"]))) == (marker["than"] == "<")


def is_installed(name, version):
    """Is a Python package here, in this version?"""
    try:
        return importlib.metadata.version(name) == version
    except importlib.metadata.PackageNotFoundError:
        return False


def missing(names):
    """What the locks `names` ask for and this Python lacks, as a phrase."""
    wanted = {(entry["name"], entry["version"]): int(entry["bytes"]) for name in names for entry in entries(name) if applies(entry)}
    sizes = [size for (name, version), size in wanted.items() if not is_installed(name, version)]
    return f"{len(sizes)} package{'s' if len(sizes) > 1 else ''}, {sum(sizes) / 1e6:.1f} MB" if sizes else "nothing"


def uv(*arguments):
    """Runs `uv pip compile`; ends the program if it fails."""
    command = [Path(sys.executable).with_name("uv"), "pip", "compile", "--quiet", "--universal", "--python-version", "3.11", *arguments]
    if subprocess.run(command, check=False).returncode:
        sys.exit("lock: uv failed")


def environment(python):
    """What markers are evaluated with."""
    version = ".".join(map(str, python))
    linux = {"os_name": "posix", "platform_machine": "x86_64", "platform_system": "Linux", "sys_platform": "linux"}
    cpython = {"implementation_name": "cpython", "platform_python_implementation": "CPython"}
    return {**linux, **cpython, "python_version": version, "python_full_version": f"{version}.0", "extra": ""}


def usable_tags():
    """For each Python its wheel tags, best first."""
    from packaging.tags import compatible_tags, cpython_tags

    old = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}
    platforms = []
    for minor in range(GLIBC_MINOR, 4, -1):
        platforms += [f"manylinux_2_{minor}_x86_64", *([f"{old[minor]}_x86_64"] if minor in old else [])]
    platforms.append("linux_x86_64")
    return [
        [*cpython_tags(python, platforms=platforms), *compatible_tags(python, f"cp{python[0]}{python[1]}", platforms)] for python in PYTHONS
    ]


def files_of(package, tags):
    """(hashes, bytes of the largest that is taken, is it a source archive) of a package in uv's pylock.toml."""
    from packaging.utils import parse_wheel_filename

    wheels = [(file, parse_wheel_filename(file["url"].rsplit("/", 1)[1])[3]) for file in package.get("wheels", [])]
    hashes, sizes = set(), []
    for ranked in tags:
        rank = {tag: number for number, tag in enumerate(ranked)}
        fitting = [(min(rank[tag] for tag in of & rank.keys()), file) for file, of in wheels if of & rank.keys()]
        if not fitting:
            return [package["sdist"]["hashes"]["sha256"]], package["sdist"]["size"], True
        hashes |= {file["hashes"]["sha256"] for _, file in fitting}
        sizes.append(min(fitting, key=lambda pair: pair[0])[1]["size"])
    return sorted(hashes), max(sizes), False


def wanted_marker(text):
    """None: never needed here; "": always; else the marker."""
    from packaging.markers import Marker

    needed = [Marker(text).evaluate(environment(python)) for python in PYTHONS] if text else [True]
    if all(needed) or not any(needed):
        return "" if all(needed) else None
    if not MARKER.fullmatch(text):
        sys.exit(f"lock: applies() does not know the marker {text}")
    return text


def lock(names):
    """Locks these together: none of them has another version of a package than the others have."""
    extent = ["--no-deps"] if set(names) <= set(WITHOUT_DEPENDENCIES) else []
    known = {(found["name"], found["version"]) for name in names if (REQUIREMENTS / f"{name}.txt").exists() for found in entries(name)}
    with tempfile.TemporaryDirectory() as folder:
        every, files = Path(folder, "every.txt"), Path(folder, "pylock.toml")
        # uv prefers the versions that its output file has.
        every.write_text("".join(f"{name}=={version}\n" for name, version in sorted(known)), encoding="utf-8")
        uv(*extent, "--no-annotate", "--no-header", "-o", every, *(REQUIREMENTS / f"{name}.in" for name in names))
        uv(*extent, "--format", "pylock.toml", "-o", files, every)
        packages = {package["name"]: package for package in tomllib.loads(files.read_text(encoding="utf-8"))["packages"]}
        tags, sources = usable_tags(), set()
        for name in names:
            part = Path(folder, f"pylock.{name}.toml")
            uv(*extent, "--format", "pylock.toml", "-c", every, "-o", part, REQUIREMENTS / f"{name}.in")
            lines = [
                f"# Made by `make lock` from {name}.in: every package, its files for CPython 3.11 to 3.13 on Linux x86-64, and the size of",
                f"# the largest of these that is downloaded. Inputs: {digest(name)}",
            ]
            for package in tomllib.loads(part.read_text(encoding="utf-8"))["packages"]:
                marker = wanted_marker(package.get("marker"))
                if marker is None:
                    continue
                hashes, size, source = files_of(packages[package["name"]], tags)
                sources |= {package["name"]} if source else set()
                lines.append(f"{package['name']}=={package['version']}{f' ; {marker}' if marker else ''} \\")
                lines += [f"    --hash=sha256:{value} \\" for value in hashes[:-1]]
                lines.append(f"    --hash=sha256:{hashes[-1]}  # {size} bytes")
            (REQUIREMENTS / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
            print(f"lock: {name}.txt, {len(entries(name))} packages, {sum(int(found['bytes']) for found in entries(name)) / 1e6:.1f} MB")
    return sources


def main():
    sources = lock(TOGETHER).union(*(lock([name]) for name in APART))
    print(f"lock: without a wheel, built here: {', '.join(sorted(sources)) or 'none'}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--missing"]:
        print(missing(sys.argv[2:]))
    else:
        main()
