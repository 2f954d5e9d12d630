# SPDX-License-Identifier: BSD-2-Clause
"""A reader of docs/ at the shell: what pages show is run in an environment as theirs."""

import os
import subprocess

from sim.cocotb_rig import ROOT

# Programs of pages that import one of these are run by tests of their own: no such package is in .venv.
ELSEWHERE = ("ophyd_async", "from labscript", "psychopy", "expyriment", "import mne")

ENVIRONMENT = os.environ | {
    "PATH": f"{ROOT / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}",
    "PYTHONPATH": str(ROOT),
    "COLUMNS": "80",  # the pages' width
}


def run(words, folder, **streams):
    """The CompletedProcess of a program, [word, ...], or of a line of shell, with nothing on standard input."""
    command = ["bash", "-c", words] if isinstance(words, str) else words
    # The time limit is against hanging only.
    return subprocess.run(command, cwd=folder, env=ENVIRONMENT, stdin=subprocess.DEVNULL, text=True, timeout=300, check=False, **streams)
