# SPDX-License-Identifier: BSD-2-Clause
"""pytest, as this project uses it: tiers, long tests first, failures at once, a summary line per group.

A test's group is the folder it lies in (sim/groups.py).

A test's tier: `make test` runs all but those marked `full`, `make test-all` runs everything. In the folders of FULL_GROUPS all tests are
`full` that are not marked `quick`. When a tier is run whole, a group in which no test passed fails the run: tests that vanished must not
go unnoticed.

A test that cannot run because something from outside is missing skips with a reason that begins with NOT_TESTED. The run ends with a
list of these reasons.

What sim/run.py says in the environment: LITEPULSE_GROUPS, LITEPULSE_FAILED, LITEPULSE_MEMORY and LITEPULSE_KNOWN, see there.
"""

import json
import os
import signal
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from sim.cocotb_rig import Count
from sim.groups import FULL_GROUPS, GROUPS, TITLES, WITHOUT_QUICK, group_of

ROOT = Path(__file__).resolve().parent

# Seconds of a test that never ran here: the mean of its group in a first run on two cores.
FIRST_GUESS = {
    "house": 0.7,
    "blocks": 30,
    "bus": 20,
    "phy": 2,
    "core": 20,
    "netlist": 100,
    "formal": 21,
    "soc": 5,
    "boards": 5,
    "driver": 8,
    "linux_soc": 1,
    "linux": 10,
    "pc": 4,
    "tools": 0.5,
    "packages": 3,
    "experiments": 10,
    "faults": 2.4,
}
NOT_TESTED = "NOT TESTED: "
DURATIONS = Path(os.environ.get("LITEPULSE_BUILD", ROOT / "build")) / "durations.json"
MESSAGE_LINES = 12  # of a failure, shown at once; all of it comes at the end


def expected_seconds(item, known):
    """How long a test took last time here, else what its mark says, else a guess by its group."""
    if item.nodeid in known:
        return known[item.nodeid]
    mark = item.get_closest_marker("seconds")
    return mark.args[0] if mark else FIRST_GUESS.get(group_of(item.nodeid), 0)


def known_durations():
    """{nodeid: seconds} of the last runs here."""
    try:
        return json.loads(DURATIONS.read_text())
    except (OSError, ValueError):
        return {}


def passed_earlier():
    """Tests that need not run: they passed with the same inputs."""
    file = os.environ.get("LITEPULSE_KNOWN")
    return set(Path(file).read_text().split("\n")) - {""} if file else set()


def is_requested(item):
    """Whether LITEPULSE_GROUPS asks for it, a dict as groups_for() of sim/groups.py gives."""
    requested = json.loads(os.environ.get("LITEPULSE_GROUPS", "null"))
    return (
        requested is None
        or requested.get(group_of(item.nodeid), None) is not None
        and not (not requested[group_of(item.nodeid)] and item.get_closest_marker("full"))
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config, items):
    for item in items:
        if group_of(item.nodeid) in FULL_GROUPS and not item.get_closest_marker("quick"):
            item.add_marker(pytest.mark.full)
    yield
    known = passed_earlier()
    left = [item for item in items if item.nodeid in known or not is_requested(item)]
    if left:
        config.hook.pytest_deselected(items=left)
        unwanted = set(left)
        items[:] = [item for item in items if item not in unwanted]
    # The workers of one run must agree on the order, so the file is written only after a run.
    durations = known_durations()
    items.sort(key=lambda item: (-expected_seconds(item, durations), item.nodeid))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """The summary counts tests all of whose simulations were known to pass."""
    requested, known = Count.requested, Count.known
    result = yield
    if Count.requested > requested:
        item.user_properties.append(("cached", Count.known - known == Count.requested - requested))
    return result


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell's background job ignores it, and so would all programs that tests interrupt.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if not (is_worker(config) or config.option.collectonly or os.environ.get("LITEPULSE_NESTED")):
        config.pluginmanager.register(Recorder(config.get_terminal_writer()), "recorder")


def is_worker(config):
    return hasattr(config, "workerinput")


def first_lines(report):
    """What a failure says, in a few lines: the assertion and what it compares, else the end of the report."""
    lines = report.longreprtext.splitlines()
    return ([line[1:].strip() for line in lines if line.startswith("E ")] or lines[-MESSAGE_LINES:])[:MESSAGE_LINES]


class Recorder:
    """Counts outcomes by group as they come in, shows failures at once, and notes what passed and what failed.

    Registered, because pytest calls hooks of this file for the tests below its folder alone.
    """

    def __init__(self, out):
        self.out = out
        self.groups = defaultdict(Counter)
        self.durations = Counter()
        self.notes = []
        self.not_tested = defaultdict(list)
        self.passed, self.failed = {}, {}  # by nodeid, in order
        for nodeid in passed_earlier():
            self.groups[group_of(nodeid)]["earlier"] += 1
        self.memory = json.loads(os.environ.get("LITEPULSE_MEMORY", "{}"))

    def pytest_runtest_logreport(self, report):
        counts = self.groups[group_of(report.nodeid)]
        self.durations[report.nodeid] += report.duration
        counts["seconds"] += report.duration
        if report.failed:
            self.show(report)
            self.failed[report.nodeid] = None
        if report.when == "call":
            counts[report.outcome] += 1
            properties = dict(report.user_properties)
            counts["cached"] += bool(properties.get("cached"))
            if "note" in properties:
                self.notes.append((group_of(report.nodeid), properties["note"]))
            if report.passed:
                self.passed[report.nodeid] = None
        elif report.failed:
            counts["failed"] += 1
        elif report.skipped:
            counts["skipped"] += 1
        if report.skipped and (reason := report.longrepr[2].removeprefix("Skipped: ")).startswith(NOT_TESTED):
            self.not_tested[reason.removeprefix(NOT_TESTED)].append(report.nodeid)

    def pytest_collectreport(self, report):
        if report.failed:
            self.failed[report.nodeid] = None

    def pytest_runtest_logfinish(self, nodeid):
        """Keeps the pass at once: a run may be ended at any moment."""
        file = self.memory.get(group_of(nodeid))
        if file and nodeid in self.passed and nodeid not in self.failed:
            with open(file, "a", encoding="utf-8") as handle:
                handle.write(f"{nodeid}\n")

    def show(self, report):
        """A failure, at once."""
        where = "" if report.when == "call" else f" ({report.when})"
        self.out.line(f"\nFAILED {report.nodeid}{where}, {report.duration:.1f} s", red=True)
        for line in first_lines(report):
            self.out.line(f"    {line}")
        self.out.flush()

    def missing_groups(self):
        """Groups without a passed test, when all of a tier was meant to run (LITEPULSE_TIER)."""
        tiers = {"test": [group for group in GROUPS if group not in WITHOUT_QUICK], "all": GROUPS}
        expected = tiers.get(os.environ.get("LITEPULSE_TIER"), ())
        return [group for group in expected if not self.groups[group]["passed"] + self.groups[group]["earlier"]]

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session, exitstatus):
        if exitstatus == 0 and self.missing_groups():
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if file := os.environ.get("LITEPULSE_FAILED"):
            Path(file).write_text("".join(f"{nodeid}\n" for nodeid in self.failed))
        if self.durations:
            known = known_durations() | {name: round(seconds, 2) for name, seconds in self.durations.items()}
            DURATIONS.parent.mkdir(parents=True, exist_ok=True)
            DURATIONS.write_text(json.dumps(known, indent=0, sort_keys=True))

    def pytest_terminal_summary(self, terminalreporter):
        line, section = terminalreporter.line, terminalreporter.section
        if self.notes:
            section("proofs and other results")
            for group, note in sorted(self.notes):
                line(f"{group:8} {note}")
        section("groups")
        for group in (*GROUPS, "other"):
            counts = self.groups.get(group)
            if not counts:
                continue
            text = f"{group:8} {counts['passed']:4} passed"
            for what in ("failed", "skipped"):
                if counts[what]:
                    text += f", {counts[what]} {what}"
            if counts["earlier"]:
                text += f", {counts['earlier']} passed earlier with the same inputs (FRESH=1 runs them again)"
            if counts["cached"]:
                what = "judged what was simulated earlier" if group == "linux" else "known from an earlier run"
                text += f" ({counts['cached']} {what}, same inputs; FRESH=1 runs them again)"
            line(f"{text:30} {counts['seconds']:7.1f} s  {TITLES.get(group, '')}", red=bool(counts["failed"]))
        if self.not_tested:
            section("NOT TESTED")
            for reason, nodeids in sorted(self.not_tested.items()):
                line(f"{reason} ({len(nodeids)} tests)", yellow=True)
        for group in self.missing_groups():
            line(f"{group:8}    0 passed: a group without a passed test fails the whole run", red=True)


def pytest_sessionstart(session):
    if not is_worker(session.config) and not os.environ.get("LITEPULSE_NESTED"):
        from sim.cocotb_rig import tidy

        tidy()
