# SPDX-License-Identifier: BSD-2-Clause
"""Programs that LitePulse has adapters for, and that have no place in .venv: the .in files of APART in scripts/lock.py say why."""

import os
import subprocess
import sys
from pathlib import Path

from litex_soc.build_cache import Store, content_key

ROOT = Path(__file__).resolve().parent.parent.parent
ADAPTERS = Store("adapters")


def environment(name="adapters"):
    """The environment variables of a Python that finds the packages of a lock before those of .venv."""
    lock = ROOT / "requirements" / f"{name}.txt"

    def make(folder):
        options = ("--no-deps", "--require-hashes", "--no-compile", "--disable-pip-version-check", "--quiet")
        command = [sys.executable, "-m", "pip", "install", *options, "--requirement", lock, "--target", folder / "packages"]
        subprocess.run(command, check=True)

    folder = ADAPTERS.folder(name, content_key(lock, sys.version), make, f"the packages of requirements/{name}.txt")
    return {**os.environ, "PYTHONPATH": f"{folder / 'packages'}:{ROOT / 'sw'}:{ROOT}"}


def pinned(name, package):
    """The version of a package in a lock's .in file."""
    lines = (ROOT / "requirements" / f"{name}.in").read_text(encoding="utf-8").splitlines()
    (version,) = [line.partition("==")[2].split()[0] for line in lines if line.startswith(f"{package}==")]
    return version
