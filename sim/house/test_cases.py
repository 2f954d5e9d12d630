# SPDX-License-Identifier: BSD-2-Clause
"""The programs of the simulated SoC and PC have the cases that tests and benches name, and no others: read from the sources of both."""

import re

import pytest

from sim.cocotb_rig import ROOT
from sim.guest.cases import UNKNOWN, Texts, cases

GUEST, PC, LAB = ROOT / "sim/guest/programs", ROOT / "sim/pc/guest", ROOT / "lab/experiments/guest"
# {source: (Python sources that run it, functions there whose first or second argument is a case)}
PROGRAMS = {
    GUEST / "chardev.c": ("sim/linux/test_*.py sim/pc/test_*.py", "chardev"),
    GUEST / "ptp.c": ("sim/linux/test_ptp.py sim/linux/test_samples.py sim/pc/test_*.py", "ptp"),
    GUEST / "ring.c": ("sim/linux/test_ring.py", "ring"),
    GUEST / "bench.c": ("sim/linux/driver_bench.py", ""),
    GUEST / "lin_bench.c": ("sim/linux/lin_bench.py", ""),
    GUEST / "late.c": ("sim/linux/late_edges.py sim/linux/test_explain_soc.py", ""),
    GUEST / "response.c": ("sim/linux/test_answer.py lab/experiments/p5_*.py", ""),
    PC / "calls.c": ("sim/pc/test_calls.py", ""),
    PC / "unplug.c": ("sim/pc/test_*.py", ""),
    PC / "cable_bench.c": ("sim/pc/cable_bench.py", ""),
    LAB / "cycle.c": ("lab/experiments/p*.py", ""),
    LAB / "receive.c": ("lab/experiments/p*.py", ""),
}


def texts(patterns):
    """The `Texts` of Python sources."""
    return [Texts(path) for pattern in patterns.split() for path in sorted(ROOT.glob(pattern))]


@pytest.mark.parametrize("source", PROGRAMS, ids=lambda path: path.stem)
def test_each_case_is_named(source):
    """As a word of a string, by a source that runs the program."""
    words = {word for one in texts(PROGRAMS[source][0]) for text in one.all() for word in re.split(r"[^\w-]+", text)}
    there = cases(source)
    assert len(there) > 1 and there - words == set()


@pytest.mark.parametrize("source", [source for source, (_, name) in PROGRAMS.items() if name], ids=lambda path: path.stem)
def test_each_word_is_a_case(source):
    """Of those that tests run by a fixture of the program's name."""
    patterns, name = PROGRAMS[source]
    named = {text for one in texts(patterns) for _, given in one.arguments(name) for text in given}
    assert len(named) > 5 and UNKNOWN not in named and named - cases(source) == set()
