# SPDX-License-Identifier: BSD-2-Clause
"""Where figures are kept, and what they were measured on: for the benchmarks and for the experiments."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def build_folder():
    """Where results are kept."""
    return Path(os.environ.get("LITEPULSE_BUILD", ROOT / "build"))


def sources_state(*folders):
    """The commit, and whether what is measured, which lies in these folders, differs from it."""

    def git(*words):
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--", *folders)
        return git("rev-parse", "--short", "HEAD") + (" with uncommitted changes" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "no git checkout"
