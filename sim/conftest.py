# SPDX-License-Identifier: BSD-2-Clause
"""pytest, as this project uses it: helpers on the path, long tests first, a summary line per group.

A test's group is the folder it lies in (house, blocks, phy, core, netlist, formal, soc, boards, driver, linux_soc, linux,
pc, faults; sw/tests is `tools`). When
all is run (`make test` without ARGS), a group in which no test passed fails the run: tests that vanished must not go unnoticed.
"""

import json
import os
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

SIM = Path(__file__).resolve().parent
for folder in (SIM.parent, SIM.parent / "sw", SIM, *sorted(p for p in SIM.iterdir() if p.is_dir())):
    if str(folder) not in sys.path:
        sys.path.append(str(folder))

GROUPS = ("house", "blocks", "phy", "core", "netlist", "formal", "soc", "boards", "driver", "linux_soc", "linux", "pc", "tools", "faults")
TITLES = {
    "house": "lint, licences, generated files, the rig itself",
    "blocks": "cocotb, block by block, Verilator and Icarus",
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
    "faults": "seeded faults, each caught",
}
# Seconds of a test that never ran here: only their order matters.
FIRST_GUESS = {"boards": 1, "netlist": 20, "formal": 20, "soc": 20, "core": 15, "faults": 10, "blocks": 5, "phy": 3, "driver": 10,
               "linux_soc": 5, "linux": 30, "pc": 5}
DURATIONS = SIM.parent / "build" / "durations.json"


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


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    # The workers of one run must agree on the order, so the file is written only after a run.
    try:
        known = json.loads(DURATIONS.read_text())
    except (OSError, ValueError):
        known = {}
    items.sort(key=lambda item: (-expected_seconds(item, known), item.nodeid))


def is_worker(config):
    return hasattr(config, "workerinput")


def pytest_runtest_logreport(report):
    Recorder.report(report)


class Recorder:
    """Counts outcomes by group as they come in."""
    groups = defaultdict(Counter)
    durations = Counter()
    notes = []

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


def missing_groups():
    """Groups without a passed test, when all of them were meant to run."""
    if os.environ.get("LITEPULSE_WHOLE") != "1":
        return []
    return [group for group in GROUPS if not Recorder.groups[group]["passed"]]


def pytest_sessionstart(session):
    if not is_worker(session.config) and not os.environ.get("LITEPULSE_NESTED"):
        from rig import tidy
        tidy()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    if is_worker(session.config):
        return
    if exitstatus == 0 and not session.config.option.collectonly and missing_groups():
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    if Recorder.durations and not os.environ.get("LITEPULSE_NESTED"):
        try:
            known = json.loads(DURATIONS.read_text())
        except (OSError, ValueError):
            known = {}
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
    for group in missing_groups():
        terminalreporter.line(f"{group:8}    0 passed: a group without a passed test fails the whole run", red=True)
