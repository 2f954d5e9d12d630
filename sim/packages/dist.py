# SPDX-License-Identifier: BSD-2-Clause
"""The wheel and the source archive, made from this tree as `make dist` makes them."""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

from sim.cocotb_rig import ROOT


def build(target: str, folder: Path, tree: Path = ROOT) -> Path:
    """Path of the `wheel` or `sdist` of a tree, made in `folder`."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    result = subprocess.run(command, cwd=tree, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    (made,) = folder.glob("*.whl" if target == "wheel" else "*.tar.gz")
    return made


def contents(archive: Path) -> dict[str, bytes]:
    """{name: content} of the files of a wheel or source archive. The folder that a source archive begins with is left out."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return {name: wheel.read(name) for name in wheel.namelist() if not name.endswith("/")}
    found: dict[str, bytes] = {}
    with tarfile.open(archive) as source:
        for member in source:
            if file := source.extractfile(member):
                found[member.name.partition("/")[2]] = file.read()
    return found
