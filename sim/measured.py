# SPDX-License-Identifier: BSD-2-Clause
"""For benchmarks and experiments: where figures are kept, what they were measured on, and what is wrong with a measurement."""

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


class BenchError(RuntimeError):
    """What was measured is wrong; the message is one line."""


def check(right, what):
    """BenchError unless it is right."""
    if not right:
        raise BenchError(what)


def missed_lines(missed):
    """Lines of a page that name the aims that were missed, one paragraph each."""
    return [line for aim in missed for line in ("", f"**Missed:** {aim}.")]


def first_true(holds, candidates):
    """The first of the candidates for which it holds, None if for none; all after it are taken to hold, too."""
    low, high = 0, len(candidates)
    while low < high:
        middle = (low + high) // 2
        if holds(candidates[middle]):
            high = middle
        else:
            low = middle + 1
    return candidates[low] if low < len(candidates) else None
