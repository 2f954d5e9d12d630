# SPDX-License-Identifier: BSD-2-Clause
"""pytest, as this project uses it: tiers, long tests first, lines while it runs, a summary line per group.

A test's group is the folder it lies in (house, blocks, ...; sw/tests is `tools`).

A test's tier: `make test` runs all but those marked `full`, `make test-all` runs everything. In the folders of FULL_GROUPS all tests are
`full` that are not marked `quick`. When a tier is run whole, a group in which no test passed fails the run: tests that vanished must not
go unnoticed.

A test that cannot run because something from outside is missing skips with a reason that begins with NOT_TESTED. The run ends with a
list of these reasons.

LITEPULSE_MINUTES limits a run, for machines of which nobody knows how fast they are: a test that has not begun so many minutes after
LITEPULSE_BEGAN (a time in seconds) skips like that. Short tests then come first, and last those of LATE_GROUPS and those marked `late`,
which begin only while twice the time is left that they take.
"""

import json
import os
import shutil
import signal
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from sim.cocotb_rig import Count
from sim.progress import Plugin, Progress

SIM = Path(__file__).resolve().parent

GROUPS = (
    "house",
    "blocks",
    "bus",
    "phy",
    "core",
    "netlist",
    "formal",
    "soc",
    "boards",
    "driver",
    "linux_soc",
    "linux",
    "pc",
    "tools",
    "packages",
    "experiments",
    "faults",
)
TITLES = {
    "house": "lint, licences, generated files, the rig itself",
    "blocks": "cocotb, block by block, Verilator and Icarus",
    "bus": "cocotb, the core behind Wishbone and AXI4-Lite",
    "phy": "pins: every PHY, models of pads, start of the gearing",
    "core": "cocotb, the whole core, against the model and a stranger's UART",
    "netlist": "the same tests on what synthesis made of the core, pads included",
    "formal": "SymbiYosys",
    "soc": "the simulated SoC",
    "boards": "constraints, bitstreams, flashing",
    "driver": "the Linux driver: kernels 6.1 to 7.2, static checks, ABI, unit tests, User-mode Linux",
    "linux_soc": "the Linux SoC: interrupt controller, device tree, firmware, its simulator",
    "linux": "Linux on the simulated SoC, the driver loaded",
    "pc": "the driver on a PC: Debian's kernels 6.1 to 7.2, a board on a USB cable",
    "tools": "command and Python package",
    "packages": "what pip and dpkg install: wheel, source archive, Debian packages",
    "experiments": "the published experiments: what they measure, their runner, the interactive page in Chromium",
    "faults": "seeded faults, each caught",
}
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
FULL_GROUPS = ("netlist", "formal", "driver", "linux_soc", "linux", "pc", "experiments", "faults")
WITHOUT_QUICK = ("linux_soc", "linux", "experiments")  # groups that need what only the full tier builds
# What a limited run leaves out first: it takes longest, and shows again on a whole system what others show of its parts.
LATE_GROUPS = ("netlist", "linux", "experiments", "faults")
SHORT = 5  # seconds
NOT_TESTED = "NOT TESTED: "
OUT_OF_TIME = "the run had no time left"
DURATIONS = Path(os.environ.get("LITEPULSE_BUILD", SIM.parent / "build")) / "durations.json"


def group_of(nodeid):
    """sim/blocks/test_x.py::test_y -> blocks."""
    path = nodeid.split("::")[0].replace("\\", "/")
    if path.startswith("sw/"):
        return "tools"
    parts = path.split("/")
    return parts[1] if parts[0] == "sim" and len(parts) > 2 else "other"


def expected_seconds(item, known):
    """How long a test took last time here, else what its mark says, else a guess by its group."""
    if item.nodeid in known:
        return known[item.nodeid]
    mark = item.get_closest_marker("seconds")
    return mark.args[0] if mark else FIRST_GUESS.get(group_of(item.nodeid), 0)


def minutes_allowed():
    """How long a run may begin tests, None without a limit."""
    value = os.environ.get("LITEPULSE_MINUTES", "")
    return float(value) if value else None


def is_late(item):
    """Whether a limited run leaves it out first."""
    return group_of(item.nodeid) in LATE_GROUPS or item.get_closest_marker("late") is not None


def place(item, known):
    """Sort key: long tests first; in a limited run short ones before them, and those that are left out first at the end."""
    seconds = expected_seconds(item, known)
    part = 0 if minutes_allowed() is None else 2 if is_late(item) else int(seconds > SHORT)
    return part, -seconds, item.nodeid


def known_durations():
    """{nodeid: seconds} of the last runs here."""
    try:
        return json.loads(DURATIONS.read_text())
    except (OSError, ValueError):
        return {}


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if group_of(item.nodeid) in FULL_GROUPS and not item.get_closest_marker("quick"):
            item.add_marker(pytest.mark.full)
    yield
    # The workers of one run must agree on the order, so the file is written only after a run.
    known = known_durations()
    items.sort(key=lambda item: place(item, known))


class Limit:
    """Ends a limited run. Registered, because hooks of this file are asked about the tests below its folder alone."""

    @staticmethod
    def pytest_runtest_setup(item):
        left = 60 * minutes_allowed() - (time.time() - float(os.environ["LITEPULSE_BEGAN"]))
        # A machine on which so much time is over may need twice as long.
        if left < (2 * expected_seconds(item, {}) if is_late(item) else 0):
            pytest.skip(f"{NOT_TESTED}{OUT_OF_TIME} of its {minutes_allowed():g} minutes (MINUTES)")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """The summary counts tests all of whose simulations were known to pass."""
    asked, known = Count.asked, Count.known
    result = yield
    if Count.asked > asked:
        item.user_properties.append(("cached", Count.known - known == Count.asked - asked))
    return result


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell's background job ignores it, and so would all programs that tests interrupt.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if minutes_allowed() is not None:
        config.pluginmanager.register(Limit())
    if is_worker(config) or os.environ.get("LITEPULSE_NESTED") or config.option.verbose or config.option.collectonly:
        return
    folder = tempfile.mkdtemp(prefix="litepulse-tests-")
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    os.environ["LITEPULSE_MESSAGES"] = f"{folder}/messages"  # workers inherit it
    known = known_durations()
    # A worker's capture has not begun yet, and a run without workers captures what tests print, not this.
    out = config.get_terminal_writer()
    progress = Progress(
        lambda text, **markup: (out.line(text, **markup), out.flush()),
        group_of,
        lambda nodeid: known.get(nodeid, FIRST_GUESS.get(group_of(nodeid), 1)),
        f"{folder}/messages",
        int(getattr(config.option, "numprocesses", None) or 1),
    )
    config.pluginmanager.register(Plugin(progress))


def is_worker(config):
    return hasattr(config, "workerinput")


def pytest_runtest_logreport(report):
    Recorder.report(report)


class Recorder:
    """Counts outcomes by group as they come in."""

    groups = defaultdict(Counter)
    durations = Counter()
    notes = []
    not_tested = defaultdict(list)

    @classmethod
    def report(cls, report):
        counts = cls.groups[group_of(report.nodeid)]
        cls.durations[report.nodeid] += report.duration
        counts["seconds"] += report.duration
        if report.when == "call":
            counts[report.outcome] += 1
            properties = dict(report.user_properties)
            counts["cached"] += bool(properties.get("cached"))
            if "note" in properties:
                cls.notes.append((group_of(report.nodeid), properties["note"]))
        elif report.outcome == "failed":
            counts["failed"] += 1
        elif report.outcome == "skipped":
            counts["skipped"] += 1
        if report.skipped and (reason := report.longrepr[2].removeprefix("Skipped: ")).startswith(NOT_TESTED):
            cls.not_tested[reason.removeprefix(NOT_TESTED)].append(report.nodeid)


def missing_groups():
    """Groups without a passed test, when all of a tier was meant to run (LITEPULSE_TIER). Not those for which no time was left."""
    tier = os.environ.get("LITEPULSE_TIER")
    expected = {"test": [group for group in GROUPS if group not in WITHOUT_QUICK], "all": GROUPS}.get(tier, [])
    late = {group_of(nodeid) for reason, ids in Recorder.not_tested.items() if reason.startswith(OUT_OF_TIME) for nodeid in ids}
    return [group for group in expected if not Recorder.groups[group]["passed"] and group not in late]


def pytest_sessionstart(session):
    if not is_worker(session.config) and not os.environ.get("LITEPULSE_NESTED"):
        from sim.cocotb_rig import tidy

        tidy()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    if is_worker(session.config):
        return
    if exitstatus == 0 and not session.config.option.collectonly and missing_groups():
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    if Recorder.durations and not os.environ.get("LITEPULSE_NESTED"):
        known = known_durations()
        known.update({name: round(seconds, 2) for name, seconds in Recorder.durations.items()})
        DURATIONS.parent.mkdir(parents=True, exist_ok=True)
        DURATIONS.write_text(json.dumps(known, indent=0, sort_keys=True))


def pytest_terminal_summary(terminalreporter, config):
    if is_worker(config) or config.option.collectonly:
        return
    if Recorder.notes:
        terminalreporter.section("proofs and other results")
        for group, note in sorted(Recorder.notes):
            terminalreporter.line(f"{group:8} {note}")
    terminalreporter.section("groups")
    for group in (*GROUPS, "other"):
        counts = Recorder.groups.get(group)
        if not counts:
            continue
        line = f"{group:8} {counts['passed']:4} passed"
        for what in ("failed", "skipped"):
            if counts[what]:
                line += f", {counts[what]} {what}"
        if counts["cached"]:
            what = "judged what was simulated earlier" if group == "linux" else "known from an earlier run"
            line += f" ({counts['cached']} {what}, same inputs; FRESH=1 runs them again)"
        terminalreporter.line(f"{line:30} {counts['seconds']:7.1f} s  {TITLES.get(group, '')}", red=bool(counts["failed"]))
    if Recorder.not_tested:
        terminalreporter.section("NOT TESTED")
        for reason, nodeids in sorted(Recorder.not_tested.items()):
            terminalreporter.line(f"{reason} ({len(nodeids)} tests)", yellow=True)
    for group in missing_groups():
        terminalreporter.line(f"{group:8}    0 passed: a group without a passed test fails the whole run", red=True)
