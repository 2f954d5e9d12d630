# SPDX-License-Identifier: BSD-2-Clause
"""The verbs of the scenario and the Python package, on a PC with a board on its USB port: through the driver, and over the port itself.

The scenario is that of sw/tests/test_backends.py, which runs it on the simulated SoC and over TCP; sim/driver runs it in User-mode Linux.
The SoC with a CPU cannot run it: Debian has no Python for its two CPUs (32-bit RISC-V, OpenRISC). There sim/linux/test_programs.py does the
same jobs with the programs in C of sw/target, on the same driver.
"""

import json

import pytest

from sim.cocotb_rig import ROOT
from sim.pc.python import COMMAND, python
from sim.scenario import SCENARIO, judge

SW = ROOT / "sw"
# What the scenario imports besides.
IMPORTED = f"{COMMAND}\nimport base64, contextlib, io, json, zlib"


# At 1 MHz a frame of 115,200 baud has 86 cycles, fewer than timed launches need from one to the next; 5 us are whole ticks of this clock.
BOARDS = [{"hz": 1_400_000, "wires": ["tx:rx", "tx:aux0"]}]


def files():
    """{name in the guest: path or bytes} of Python, the package and the scenario."""
    return {**python("backends", IMPORTED, [SW]), "scenario.py": SCENARIO}


def compare(result, backend):
    """The guest's output must be that of every board, and what the recorded pins show."""
    results = judge(result.lines, backend)
    falls = {change.tick for change in result.pins if change.pin == "tx" and not change.level}
    for name in ("train", "fraction", "break", "parity"):
        assert falls.issuperset(json.loads(results[name]["out"])["launched"]), name
    assert falls.issuperset(each["tick"] for each in json.loads(results["send"]["out"])["launched"])


@pytest.mark.seconds(25)
def test_every_verb_through_the_driver(pc):
    """The real driver on Debian's kernel, behind a real USB serial driver."""
    result = pc("6.12").attached("./start scenario.py --device /dev/litepulse0 2", files(), boards=BOARDS, seconds=900)
    compare(result, "driver")


@pytest.mark.seconds(25)
def test_every_verb_over_the_port(pc):
    """The same board without the driver: the command has /dev/ttyUSB0 to itself."""
    result = pc("6.12").run("./start scenario.py --port /dev/ttyUSB0 2", files(), boards=BOARDS, seconds=900)
    compare(result, "uartbone")
