# SPDX-License-Identifier: BSD-2-Clause
"""Programs that LitePulse has adapters for, and that have no place in .venv: requirements/adapters.in says why."""

import os
import subprocess
import sys
from pathlib import Path

from litex_soc.build_cache import Store, content_key

ROOT = Path(__file__).resolve().parent.parent.parent
LOCK = ROOT / "requirements" / "adapters.txt"
ADAPTERS = Store("adapters")


def environment():
    """The environment variables of a Python that finds these packages before those of .venv."""

    def make(folder):
        options = ("--no-deps", "--require-hashes", "--no-compile", "--disable-pip-version-check", "--quiet")
        command = [sys.executable, "-m", "pip", "install", *options, "--requirement", LOCK, "--target", folder / "packages"]
        subprocess.run(command, check=True)

    folder = ADAPTERS.folder("packages", content_key(LOCK, sys.version), make, "the packages of requirements/adapters.txt")
    return {**os.environ, "PYTHONPATH": f"{folder / 'packages'}:{ROOT / 'sw'}:{ROOT}"}
