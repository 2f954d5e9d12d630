# SPDX-License-Identifier: BSD-2-Clause
"""Puts back the settings of the machine that a program has changed, when that program was killed.

It is a process of its own, which waits for that.
"""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from litepulse.child import end
from litepulse.errors import LitePulseError
from litepulse.journal import PROC, Journal, Program, started_at

START_SECONDS = 60.0  # a busy machine takes long to start it


class Guardian:
    """The process, running. It costs no time while it waits."""

    def __init__(self, folder: Path, who: Program) -> None:
        """LitePulseError if it does not start."""
        words = {"folder": str(folder), "id": who.id, "process": who.process, "started": who.started}
        # A session of its own: what ends the program by its group or its terminal does not end this.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "litepulse.guardian", json.dumps(words)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        assert self._process.stdout
        ready = select.select([self._process.stdout], [], [], START_SECONDS)[0] and self._process.stdout.readline()
        if not ready:
            self._process.kill()
            self.close()
            raise LitePulseError("the process that puts settings back if this one is killed does not start")

    @property
    def process(self) -> int:
        """Its number."""
        return self._process.pid

    def close(self) -> None:
        """It has nothing more to do."""
        assert self._process.stdin and self._process.stdout
        with contextlib.suppress(OSError):  # a process that this one has forked may hold the pipe open, so closing it says nothing
            self._process.stdin.write(b"\n")
            self._process.stdin.flush()
        end(self._process)
        self._process.stdout.close()


def wait(process: int, started: str) -> None:
    """Until standard input has something or closes, or the process has ended."""
    with contextlib.ExitStack() as stack:
        poll = select.poll()
        poll.register(sys.stdin.fileno(), select.POLLIN)
        with contextlib.suppress(OSError, AttributeError):  # Linux before 5.3: the pipe alone
            watched = os.pidfd_open(process)
            stack.callback(os.close, watched)
            poll.register(watched, select.POLLIN)
        if started_at(PROC / str(process)) == started:
            poll.poll()


def main(words: str) -> int:
    """Its exit status."""
    request: dict[str, Any] = json.loads(words)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # it ends with the program, not before it
    with contextlib.suppress(BrokenPipeError):
        os.write(sys.stdout.fileno(), b"ready\n")
    wait(request["process"], request["started"])
    try:
        notes = Journal(Path(request["folder"])).release(request["id"])
    except (LitePulseError, OSError) as error:
        notes = [str(error)]
    for note in notes:
        with contextlib.suppress(OSError):
            sys.stderr.write(f"litepulse: {note}\n")
            sys.stderr.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
