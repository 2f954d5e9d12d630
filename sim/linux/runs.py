# SPDX-License-Identifier: BSD-2-Clause
"""Runs of the simulator, and the kept results of equal runs.

    made = simulate([program, "--restore", state], work, [state's key, options, files])        Made: console, pins, stats

A run from a state of the machine goes the same way each time, cycle by cycle (test_runs.py), so what it produced is kept by the content of
all that goes into it. Only that: what is promised is judged each time. Kept are runs that came to their end; LITEPULSE_FRESH=1 simulates
them again. The memory is never needed and may be deleted.
"""

import json
import shlex
import subprocess
from dataclasses import asdict, dataclass

from litex_soc.build_cache import Store, content_key

FORMAT = 1  # of what is kept, and of how simulate() runs the simulator
RUNS = Store("runs")


@dataclass(frozen=True)
class Made:
    """What one run of the simulator gave."""

    console: str  # with --mark
    pins: str  # the record
    stats: dict
    refused: str = ""  # why there was no run
    unfinished: str = ""  # why it ended before it should
    kept: bool = False  # simulated earlier


class Count:
    """Runs of this process, for the summary of the tests."""

    kept = simulated = 0


def simulate(arguments, work, inputs=None, label="run"):
    """Runs the simulator with what it writes in the folder `work`, unless a run of the same inputs is kept; a `Made`.

    inputs: all that goes into the run, as for content_key; None: it is neither looked for nor kept
    label: what run it is, whatever goes into it
    """
    key = inputs and content_key(FORMAT, inputs)
    if key and (known := RUNS.recall(label, key)):
        Count.kept += 1
        return Made(**{**known, "kept": True})
    Count.simulated += 1
    pins, stats = work / "pins", work / "stats"
    command = [str(word) for word in (*arguments, "--mark", "--pins", pins, "--stats", stats)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode == 2 or not stats.exists():
        return Made("", "", {}, refused=f"{done.stderr.strip()}\n{shlex.join(command)}")
    made = Made(done.stdout, pins.read_text(), json.loads(stats.read_text()), unfinished=done.stderr.strip() if done.returncode else "")
    if key and not done.returncode:
        RUNS.remember(label, key, asdict(made))
    return made
