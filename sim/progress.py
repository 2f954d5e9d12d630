# SPDX-License-Identifier: BSD-2-Clause
"""What a run of the tests says while it goes: failures with their message at once, groups as they end, elapsed time and the time left.

A pytest plugin, registered by sim/conftest.py. With -v or -q pytest's own output takes its place.
"""

import threading
import time
from collections import Counter
from pathlib import Path

import pytest

QUIET_SECONDS = 30  # without a line, after which one says how far the run is
MESSAGE_LINES = 12  # of a failure, shown at once; all of it comes at the end
LOOK_SECONDS = 0.5


def clock(seconds):
    """'1:02' of 62 seconds, '1:02:03' of 3723."""
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def seconds_left(remaining, done_expected, busy, workers):
    """Estimated seconds to go.

    remaining: expected seconds of the tests to come; done_expected, busy: expected and real seconds of those that ended
    """
    # Trust in the expectation: the longest tests run first, and in a first run they take far longer than the mean of their group.
    trust = max(300, remaining / 2)
    pace = min(max((busy + trust) / (done_expected + trust), 0.2), 3)
    return remaining * pace / workers


def first_lines(report):
    """What a failure says, in a few lines: the assertion and what it compares, else the end of the report."""
    lines = report.longreprtext.splitlines()
    said = [line[1:].strip() for line in lines if line.startswith("E ")] or [line for line in lines if line.strip()][-MESSAGE_LINES:]
    more = len(said) - MESSAGE_LINES
    return said[:MESSAGE_LINES] + ([f"... {more} lines more at the end of the run"] if more > 0 else [])


class Progress:
    """Lines on a terminal or in a log, about a run of tests that several processes share.

    write(text, **markup): puts out a line; group_of(nodeid): a test's group; expected(nodeid): about how many seconds it takes;
    messages: a file to which others add lines (litex_soc.build_cache.say), None if there is none; now: clock, in seconds
    """

    def __init__(self, write, group_of, expected, messages=None, workers=1, now=time.monotonic):
        self.write, self.group_of, self.expected, self.messages, self.workers, self.now = write, group_of, expected, messages, workers, now
        self.start = self.last = now()
        self.waiting, self.running, self.groups, self.ended = {}, {}, {}, Counter()
        self.done_expected = self.busy = self.read = 0
        self.lock = threading.RLock()
        self.over = threading.Event()

    # What the run tells ------------------------------------------------------------------------------------------------

    def collected(self, nodeids):
        """The tests that will run."""
        with self.lock:
            self.waiting = {nodeid: self.expected(nodeid) for nodeid in nodeids}
            for nodeid in nodeids:
                self.groups.setdefault(self.group_of(nodeid), set()).add(nodeid)
            left = clock(sum(self.waiting.values()) / self.workers)
            self.line(f"{len(nodeids)} tests in {len(self.groups)} groups, {self.workers} at a time, about {left}")

    def started(self, nodeid):
        """A test begins."""
        with self.lock:
            self.running[nodeid] = self.now()

    def reported(self, report):
        """A phase of a test has ended."""
        with self.lock:
            self.busy += report.duration
            if report.failed:
                where = "" if report.when == "call" else f" ({report.when})"
                self.line(f"FAILED {report.nodeid}{where}, {report.duration:.1f} s", red=True)
                for line in first_lines(report):
                    self.write(f"    {line}")
                self.ended[self.group_of(report.nodeid), "failed"] += 1
            elif report.skipped:
                self.ended[self.group_of(report.nodeid), "skipped"] += 1
            elif report.when == "call":
                self.ended[self.group_of(report.nodeid), "passed"] += 1

    def finished(self, nodeid):
        """All phases of a test have ended."""
        with self.lock:
            self.running.pop(nodeid, None)
            self.done_expected += self.waiting.pop(nodeid, 0)
            group = self.group_of(nodeid)
            left = self.groups.get(group, set())
            left.discard(nodeid)
            if not left and self.groups.pop(group, None) is not None:
                counts = ", ".join(
                    f"{self.ended[group, what]} {what}" for what in ("passed", "failed", "skipped") if self.ended[group, what]
                )
                self.line(f"{group}: {counts or 'nothing ran'}", red=bool(self.ended[group, "failed"]))

    # What people see ---------------------------------------------------------------------------------------------------

    def line(self, text, **markup):
        """A line that begins with the elapsed time."""
        self.last = self.now()
        self.write(f"[{clock(self.last - self.start)}{self.left()}] {text}", **markup)

    def left(self):
        """', about 1:20 left' once that can be told."""
        now = self.now()
        if not self.waiting or not self.busy:
            return ""
        spent = {nodeid: now - begin for nodeid, begin in self.running.items()}
        remaining = sum(max(seconds - spent.get(nodeid, 0), 0) for nodeid, seconds in self.waiting.items())
        return f", about {clock(seconds_left(remaining, self.done_expected, self.busy, self.workers))} left"

    def look(self):
        """Passes messages on, and says how far the run is when nothing was said for long."""
        with self.lock:
            for text in self.new_messages():
                self.line(text)
            if self.waiting and self.now() - self.last >= QUIET_SECONDS:
                longest = sorted(self.running, key=lambda nodeid: self.running[nodeid])[:4]
                running = "; ".join(f"{nodeid} for {clock(self.now() - self.running[nodeid])}" for nodeid in longest)
                failed = sum(count for (_, what), count in self.ended.items() if what == "failed")
                self.line(f"{len(self.waiting)} tests to go{f', {failed} failed' if failed else ''}; running: {running or 'none'}")

    def new_messages(self):
        """Whole lines that came since the last look."""
        if not self.messages or not Path(self.messages).exists():
            return []
        with open(self.messages, encoding="utf-8", errors="replace") as file:
            file.seek(self.read)
            text = file.read()
        whole = text[: text.rfind("\n") + 1]
        self.read += len(whole.encode())
        return whole.splitlines()

    def watch(self):
        """Looks until the run is over; for a thread."""
        while not self.over.wait(LOOK_SECONDS):
            self.look()


class Plugin:
    """Passes pytest's hooks on to a Progress, and keeps pytest from writing a letter for each test."""

    def __init__(self, progress):
        self.progress = progress
        self.thread = threading.Thread(target=progress.watch, daemon=True)

    def pytest_sessionstart(self):
        self.thread.start()

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids):
        if not self.progress.waiting and not self.progress.busy:
            self.progress.collected(list(ids))

    def pytest_collection_finish(self, session):
        if session.items:
            self.progress.collected([item.nodeid for item in session.items])

    def pytest_runtest_logstart(self, nodeid):
        self.progress.started(nodeid)

    def pytest_runtest_logreport(self, report):
        self.progress.reported(report)

    def pytest_runtest_logfinish(self, nodeid):
        self.progress.finished(nodeid)

    def pytest_report_teststatus(self, report):
        if report.passed or report.failed and report.when == "call":
            return (report.outcome if report.when == "call" else ""), "", ""
        return ("error" if report.failed else "skipped"), "", ""

    def pytest_sessionfinish(self):
        self.progress.over.set()
        self.progress.look()
