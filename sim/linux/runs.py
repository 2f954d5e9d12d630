# SPDX-License-Identifier: BSD-2-Clause
"""What the simulator makes of a run, and what it made of the same run before.

    made = simulate([program, "--restore", state], work, [state's key, options, files])        Made: console, pins, stats

A run from a state of the machine goes the same way each time, cycle by cycle (test_runs.py), so what it produced is kept by the content of
all that goes into it. Only that: what is promised is judged each time. Kept are runs that came to their end; LITEPULSE_FRESH=1 simulates
them again. The memory is never needed and may be deleted.
"""

import contextlib
import json
import os
import shlex
import subprocess
import threading
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path

from sim.linux.targets import LINUX, key_of

FORMAT = 1                  # of what is kept, and of how simulate() runs the simulator
FOLDER = LINUX / "runs"
BYTES = 100 << 20           # kept of all runs, those that were used last: some thousand


@dataclass(frozen=True)
class Made:
    """What one run of the simulator gave."""
    console: str                            # with --mark
    pins: str                               # the record
    stats: dict
    refused: str = ""                       # why there was no run
    unfinished: str = ""                    # why it ended before it should
    kept: bool = False                      # simulated earlier


class Count:
    """Runs of this process, for the summary of the tests."""
    kept = simulated = 0


def fresh():
    """Whether all is to be simulated again."""
    return os.environ.get("LITEPULSE_FRESH", "") not in ("", "0")


def simulate(arguments, work, inputs=None):
    """Runs the simulator with what it writes in the folder `work`, unless a run of the same inputs is kept; a `Made`.

    inputs: all that goes into the run, as for sim.linux.targets.key_of; None: it is neither looked for nor kept
    """
    key = inputs and key_of(FORMAT, inputs)
    if key and not fresh() and (made := recall(key)):
        Count.kept += 1
        return made
    Count.simulated += 1
    pins, stats = work / "pins", work / "stats"
    command = [str(word) for word in (*arguments, "--mark", "--pins", pins, "--stats", stats)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode == 2 or not stats.exists():
        return Made("", "", {}, refused=f"{done.stderr.strip()}\n{shlex.join(command)}")
    made = Made(done.stdout, pins.read_text(), json.loads(stats.read_text()), unfinished=done.stderr.strip() if done.returncode else "")
    if key and not done.returncode:
        remember(key, made)
    return made


def recall(key):
    """The `Made` that is kept under a key, None if there is none, or none that is whole."""
    path = FOLDER / key
    try:
        values = json.loads(zlib.decompress(path.read_bytes()))
        os.utime(path)
    except (OSError, ValueError, zlib.error):
        return None
    return Made(**{**values, "kept": True})


def remember(key, made):
    """Keeps it, and forgets what was not used for longest."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    new = FOLDER / f"{key}.{os.getpid()}.{threading.get_ident()}"
    new.write_bytes(zlib.compress(json.dumps(asdict(made)).encode()))
    new.replace(FOLDER / key)
    forget()


def forget():
    """Removes what was used longest ago of what is more than BYTES."""
    total, found = 0, []
    for entry in os.scandir(FOLDER):
        with contextlib.suppress(FileNotFoundError):        # another process forgets, too
            found.append((entry.stat().st_mtime_ns, entry.stat().st_size, entry.path))
    for _, size, path in sorted(found, reverse=True):
        total += size
        if total > BYTES:
            Path(path).unlink(missing_ok=True)
