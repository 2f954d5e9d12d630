# SPDX-License-Identifier: BSD-2-Clause
"""A small Python program of this package that runs as a process of its own and ends with this one, however that ends.

Both speak lines of JSON: the program's standard input has requests, its standard output replies.
"""

import contextlib
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any

END_SECONDS = 10.0
LONGEST_LINE = 1 << 24  # bytes


class Child:
    """The program `python -m MODULE WORDS`, running. Its standard input closes when we are gone: then it ends."""

    def __init__(self, module: str, words: Mapping[str, Any]) -> None:
        # A session of its own: Ctrl-C is for us, who end it.
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, json.dumps(words)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        assert self.process.stdin and self.process.stdout
        self._input, self._output = self.process.stdin, self.process.stdout
        self._heard = b""
        self._silent = False  # it will say nothing more

    def tell(self, words: Mapping[str, Any]) -> None:
        """A line to it; it may have ended."""
        with contextlib.suppress(OSError):
            self._input.write(json.dumps(words).encode() + b"\n")
            self._input.flush()

    def hear(self, seconds: float) -> dict[str, Any]:
        """Its next message; nothing if there is none within `seconds`, or it has ended."""
        end = time.monotonic() + seconds
        while b"\n" not in self._heard:
            left = end - time.monotonic()
            if not select.select([self._output], [], [], max(0.0, left))[0]:
                return {}
            data = os.read(self._output.fileno(), 1 << 16)
            if not data:
                self._silent = True
                return {}
            self._heard += data
            if len(self._heard) > LONGEST_LINE:
                self._heard = b""
                return {}
        line, _, self._heard = self._heard.partition(b"\n")
        try:
            return dict(json.loads(line))
        except ValueError:
            return {}

    @property
    def ended(self) -> bool:
        """By itself."""
        return self._silent or self.process.poll() is not None

    def close(self) -> dict[str, Any]:
        """Ends it; its last words."""
        end(self.process)
        last: dict[str, Any] = {}
        while more := self.hear(0):
            last = more
        self._output.close()
        return last


def end(process: subprocess.Popen[bytes]) -> None:
    """Closes the standard input of a program that ends by that, and waits for it; it is killed if it takes too long."""
    assert process.stdin
    with contextlib.suppress(OSError):
        process.stdin.close()
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def say(words: Mapping[str, Any]) -> None:
    """A line to the process that started this program; it may be gone."""
    with contextlib.suppress(BrokenPipeError):
        os.write(sys.stdout.fileno(), json.dumps(words).encode() + b"\n")
