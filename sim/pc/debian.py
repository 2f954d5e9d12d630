# SPDX-License-Identifier: BSD-2-Clause
"""Programs of Debian for the guest, with the loader and the libraries they were made for."""

import re
import subprocess
from pathlib import Path

from scripts.debian_package import obtain
from sim.guest.builds import BuildError

LOADER = "ld-linux-x86-64.so.2"


def needed(path):
    """Names of the libraries that a program or library asks for."""
    output = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True).stdout
    return re.findall(r"\(NEEDED\)\s+Shared library: \[(.+?)\]", output)


def programs(entry, *names):
    """{name in the guest: path or bytes}: programs of an entry of scripts/debian_packages.toml, to be called by their path, or from PATH.

    Raises PackageError, or BuildError when its packages have no such program.
    """
    tree = obtain(entry).path

    def find(name):
        found = [path for path in sorted(tree.rglob(name)) if path.is_file()]
        if not found:
            raise BuildError(f"there is no {name} in {tree.name}")
        return found[0]

    files: dict[str, Path | bytes] = {"debian/loader": find(LOADER)}
    wanted = list(names)
    while wanted:
        name = wanted.pop()
        if name != LOADER and f"debian/{name}" not in files:
            files[f"debian/{name}"] = library = find(name)
            wanted += needed(library)
    for name in names:
        files[name] = f'#!/bin/sh\nhere=${{0%/*}}/debian\nexec "$here/loader" --library-path "$here" "$here/{name}" "$@"\n'.encode()
    return files
