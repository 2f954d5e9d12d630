# SPDX-License-Identifier: BSD-2-Clause
"""The groups of tests: one folder each (sw/tests is `tools`), what they are, which changes ask for them, what they depend on."""

import fnmatch
import functools
import os
import re
import subprocess
import sys
from pathlib import Path

from litex_soc.build_cache import Store, content_key
from litex_soc.tokens import tokens

ROOT = Path(__file__).resolve().parent.parent
PASSED = Store("passed")

TITLES = {
    "house": "the rig itself, set-up, the pages' code blocks",
    "blocks": "cocotb, block by block, Verilator and Icarus",
    "bus": "cocotb, the core behind Wishbone and AXI4-Lite",
    "phy": "pins: every PHY, models of pads, start of the gearing",
    "core": "cocotb, the whole core, against the model and an independent UART",
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
    "faults": "bugs that the core once had, put back, each caught",
}
GROUPS = tuple(TITLES)
# All tests of these are left to `make test-all` that are not marked `quick`; elsewhere those that are marked `full`.
FULL_GROUPS = ("netlist", "formal", "driver", "linux_soc", "linux", "pc", "experiments", "faults")
WITHOUT_QUICK = ("linux_soc", "linux", "experiments", "faults")  # `make test` has none of them

# What `make test-changed` runs: the first pattern that matches a path names whole groups, or with `:quick` what `make test` runs of one.
# A path that none matches asks for all of `make test`.
CHANGED = (
    (r"(docs|LICENSES|\.github|debian)/|[^/]*\.(md|cff|yml)$|\.[^/]*$", ""),
    (r"hdl/", "blocks bus phy core netlist formal faults soc:quick"),
    (r"litex_soc/|constraints/", "soc linux_soc boards tools:quick"),
    (r"driver/uapi/", "driver pc:quick tools"),
    (r"driver/", "driver pc:quick"),
    (r"examples/verilog/", "boards netlist"),
    (r"sw/|examples/", "tools pc:quick"),
    (rf"(?:sim|lab)/({'|'.join(GROUPS)})/", r"\1"),
)
# What the tests of a group cannot see. The keys under which passed tests are remembered leave it out.
UNSEEN = {
    "blocks bus phy core formal faults": r"(driver|sw|docs|debian|examples)/",
    "netlist": r"(driver|sw|docs|debian)/",
    "soc linux_soc boards": r"(driver|docs|debian)/",
    "driver linux pc packages experiments": r"docs/",
}
# Environment that decides what tests do.
SWITCHES = ("LITEPULSE_LONG", "LITEPULSE_SEED", "LITEPULSE_DEBUG_KERNEL", "LITEPULSE_NETLISTS", "SLLIN", "INTERRUPT_RESPONSE_TIMES")


def group_of(nodeid):
    """sim/blocks/test_x.py::test_y -> blocks, lab/faults/test_x.py::test_y -> faults."""
    path = nodeid.split("::")[0].replace("\\", "/")
    if path.startswith("sw/"):
        return "tools"
    parts = path.split("/")
    return parts[1] if parts[0] in ("sim", "lab") and len(parts) > 2 else "other"


def folder_of(group):
    """Where the tests of a group lie, from the root on."""
    return {"tools": "sw/tests", "experiments": "lab/experiments", "faults": "lab/faults"}.get(group, f"sim/{group}")


def git(*arguments):
    """What git prints about this tree; raises CalledProcessError."""
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=True).stdout


def tree():
    """Paths from the root on of all files that are under version control or could be."""
    names = git("ls-files", "-z", "--cached", "--others", "--exclude-standard").decode().split("\0")
    return sorted({name for name in names if name and (ROOT / name).is_file()})


@functools.lru_cache(maxsize=None)
def file_key(name):
    """The key of a file's meaning."""
    return content_key(ROOT / name)


def packages(group):
    """Patterns of the names of the Debian packages that a group's tests use, from requirements/system.txt."""
    lines = (line.split() for line in (ROOT / "requirements" / "system.txt").read_text().splitlines() if line and not line.startswith("#"))
    used = [words[2] for words in lines if len(words) < 4 or uses(group) & {*words[3].split(",")}]
    return {name.replace("@", "3*") for names in used for name in names.split("|")}


@functools.lru_cache(maxsize=None)
def installed():
    """Lines "package version" of what Debian's package manager has installed."""
    return subprocess.run(["dpkg-query", "-W"], capture_output=True, text=True, check=False).stdout.splitlines()


def machine(group):
    """What of the machine decides how a group's tests end: its Python, and its versions of the packages that they use."""
    patterns = packages(group)
    return [sys.version, *(line for line in installed() if any(fnmatch.fnmatch(line.split()[0].split(":")[0], one) for one in patterns))]


@functools.lru_cache(maxsize=None)
def uses(group):
    """Groups whose folders the Python files of this one name, itself included, and those that they name in turn."""
    found, todo = set(), [group]
    while todo:
        one = todo.pop()
        if one not in found:
            found.add(one)
            if one == "tools" != group:
                continue  # others use its table of verbs, which uses nothing
            text = "".join(path.read_text() for path in sorted((ROOT / folder_of(one)).rglob("*.py")))
            todo += [other for other in GROUPS if re.search(rf"\b{folder_of(other).replace('/', '[./]')}\b", text)]
    return found


def inputs(group):
    """Paths of all files that the tests of a group can see."""
    unseen = [pattern for groups, pattern in UNSEEN.items() if group in groups.split()]
    unseen.append(f"({'|'.join(folder_of(other) for other in GROUPS if other not in uses(group)) or '$'})/")
    return [name for name in tree() if not any(re.match(pattern, name) for pattern in unseen)]


def memory(groups):
    """{group: path of the list of its tests that passed with the same inputs}."""
    switches = {name: os.environ.get(name, "") for name in SWITCHES}
    paths = {}
    for group in groups:
        key = content_key(machine(group), switches, [(name, file_key(name)) for name in inputs(group)])
        paths[group] = PASSED.folder(group, key, lambda folder: (folder / "tests").touch()) / "tests"
    return paths


def is_changed(name, base):
    """Whether a file means something else than in the commit `base`: comments and white space are not looked at."""
    try:
        return tokens(name, (ROOT / name).read_bytes()) != tokens(name, git("show", f"{base}:{name}"))
    except (subprocess.CalledProcessError, FileNotFoundError):
        return True


def changed_files(base):
    """Paths of the files that differ from a commit in more than comments and white space, those not yet added included."""
    listed = git("diff", "--name-only", "-z", base) + git("ls-files", "-z", "--others", "--exclude-standard")
    return sorted(name for name in {*listed.decode().split("\0")} if name and is_changed(name, base))


def groups_for(names):
    """{group: whether all of it is requested, not only what `make test` runs} for changed files."""
    requested = {}
    for name in names:
        for pattern, groups in CHANGED:
            if match := re.match(pattern, name):
                words = match.expand(groups).split()
                break
        else:
            words = [f"{group}:quick" for group in GROUPS if group not in WITHOUT_QUICK]
        for word in words:
            group, _, part = word.partition(":")
            requested[group] = requested.get(group, False) or not part
    return {group: requested[group] for group in GROUPS if group in requested}
