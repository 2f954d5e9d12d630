# SPDX-License-Identifier: BSD-2-Clause
"""Runs that are judged only if this machine did not stall meanwhile: the simulated board and the PC
go by the wall clock."""

import threading
import time

import pytest

STALL_SECONDS = 0.05  # from the driver's request to the answer there are four programs that wait for a CPU, and it waits 0.2 s
TRIES = 3


class Stalls:
    """Measures how long this machine kept a runnable program waiting. Use it as a context:
    `longest`, in seconds."""

    STEP = 0.01

    def __init__(self):
        self.longest, self.over, self.thread = 0.0, threading.Event(), threading.Thread(target=self.watch, daemon=True)

    def watch(self):
        """Sleeps, and sees by how much that was longer than wanted."""
        before = time.monotonic()
        while not self.over.wait(self.STEP):
            now = time.monotonic()
            self.longest, before = max(self.longest, now - before - self.STEP), now

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


def judged(run, check, stalls=Stalls):
    """Checks what a run returns. A failed check counts if the machine did not stall meanwhile; else
    the run is repeated.

    run: makes a result; check: raises AssertionError. If all runs are of no use the test is not passed but skipped, with the reason.
    """
    longest = []
    for _ in range(TRIES):
        with stalls() as seen:
            result = run()
        try:
            check(result)
        except AssertionError:
            if seen.longest < STALL_SECONDS:
                raise
            longest.append(f"{seen.longest * 1000:.0f}")
        else:
            return
    pytest.skip(f"this machine stood still for {', '.join(longest)} ms in {TRIES} runs, too long for what goes by the wall clock")
