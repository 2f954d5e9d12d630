# SPDX-License-Identifier: BSD-2-Clause
"""Programs of Debian for the guest, with the loader and the libraries they were made for."""

import re
import subprocess

from scripts.debian_package import fetch
from sim.linux.targets import BuildError

SUITE = "trixie"
LOADER = "ld-linux-x86-64.so.2"


def needed(path):
    """Names of the libraries that a program or library asks for."""
    said = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True).stdout
    return re.findall(r"\(NEEDED\)\s+Shared library: \[(.+?)\]", said)


def programs(package, *names):
    """{name in the guest: path or bytes}: programs of a package (name, or name=version), to be called as ./NAME.

    Raises PackageError, or BuildError when the package has no such program.
    """
    tree = fetch(package, SUITE, architecture="amd64", dependencies=True, only=["sbin/*", "bin/*", "*.so", "*.so.*"]).path

    def find(name):
        found = [path for path in sorted(tree.rglob(name)) if path.is_file()]
        if not found:
            raise BuildError(f"there is no {name} in {package} of {SUITE}")
        return found[0]

    files, wanted = {"debian/loader": find(LOADER)}, list(names)
    while wanted:
        name = wanted.pop()
        if name != LOADER and f"debian/{name}" not in files:
            files[f"debian/{name}"] = find(name)
            wanted += needed(files[f"debian/{name}"])
    for name in names:
        files[name] = f'#!/bin/sh\nexec debian/loader --library-path debian debian/{name} "$@"\n'.encode()
    return files
