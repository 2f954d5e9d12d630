# SPDX-License-Identifier: BSD-2-Clause
"""The example as nextpnr placed it for an iCEBreaker, with nextpnr's delays (delays.py): its pin, to the picosecond.

Of the example the wait after the reset, the period and the width are shorter than in the sources: a second simulates some 70 cycles.
"""

import json
import math
import subprocess

import pytest

from sim.cocotb_rig import ROOT, tool_environment
from sim.netlist.bitstream import CHIPS
from sim.netlist.delays import Sdf, arrivals, netlist, register_of
from sim.netlist.synthesis import HERE

CHIP = CHIPS["pulse_icebreaker"]
CLOCK_PS = 83_334  # of the board's oscillator, 12 MHz
CYCLES = {1: 520, 2: 850, 4: 1520}  # pulses, and the cycles in which they come, set-up included


def edges(folder, files, cycles, period_ps=CLOCK_PS, parameters=""):
    """[(level, cycle, ps after the edge of the clock at its pad)] of the pin, as delays_tb.sv prints them."""
    options = ["-g2012", f"-I{ROOT / 'hdl'}", "-DNO_ICE40_DEFAULT_ASSIGNMENTS", f"-DPARAMETERS={parameters}", "-s", "delays_tb"]
    build = ["iverilog", *options, "-o", "delays.vvp", HERE / "delays_tb.sv", *files]
    for command in (build, ["vvp", "-n", "delays.vvp", f"+period={period_ps}", f"+cycles={cycles}"]):
        done = subprocess.run(command, cwd=folder, env=tool_environment(), capture_output=True, text=True, timeout=3000, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    *lines, last = done.stdout.splitlines()
    assert last == "end", done.stdout
    return [(level, int(cycle), int(ps)) for _, level, cycle, ps in map(str.split, lines)]


def placed(folder, sdf, pulses, period_ps=CLOCK_PS):
    """(changes [(level, cycle)] of the pin of the netlist, {ps behind the clock's edge}, the changes by the sources)."""
    parameters = ", ".join(f".{name}({value})" for name, value in CHIP.parameters)
    sources = edges(folder, CHIP.sources, CYCLES[pulses], parameters=f"#({parameters})")
    assert [level for level, _, _ in sources] == ["1", "0"] * pulses
    found = edges(folder, netlist(CHIP, sdf, folder), CYCLES[pulses], period_ps)
    return [change[:2] for change in found], {ps for _, _, ps in found}, [change[:2] for change in sources]


def report():
    """nextpnr's report on the design."""
    return json.loads((CHIP.build() / "report.json").read_text())


def shortest_period_ps():
    """Of the clock, by nextpnr's report."""
    (clock,) = report()["fmax"].values()
    return math.ceil(1e6 / clock["achieved"])


@pytest.mark.seconds(300)
def test_pulses(tmp_path):
    """At the board's clock each edge is in its cycle, as long after the clock's edge as clock tree and way to the pin take."""
    sdf = Sdf(CHIP)
    found, late_ps, expected = placed(tmp_path, sdf, 4)
    assert found == expected
    assert late_ps == {arrivals(CHIP, sdf, "pulse")[register_of(CHIP, "tx")].ps}


def test_the_report_has_the_same_delays():
    """The delays from the slowest register to the pin have the sum that nextpnr reports. Its report has no delay of the clock."""
    (path,) = [path for path in report()["critical_paths"] if path["to"] == "<async>"]
    longest_ps = max(arrival.ps - arrival.clock_ps for arrival in arrivals(CHIP, Sdf(CHIP), "pulse").values())
    assert longest_ps == pytest.approx(1000 * sum(step["delay"] for step in path["path"]), abs=len(path["path"]))


@pytest.mark.seconds(60)
def test_pulses_with_the_fastest_clock(tmp_path):
    """With the clock that nextpnr reports as the fastest one, too."""
    found, late_ps, expected = placed(tmp_path, Sdf(CHIP), 2, shortest_period_ps())
    assert (found, len(late_ps)) == (expected, 1)


@pytest.mark.seconds(30)
def test_a_clock_that_is_too_fast_is_noticed(tmp_path):
    """The control: with twice that clock something arrives too late."""
    found, _, expected = placed(tmp_path, Sdf(CHIP), 1, shortest_period_ps() // 2)
    assert found != expected


@pytest.mark.seconds(30)
def test_a_late_wire_is_noticed(tmp_path):
    """The control: with wires to the register before the pin that take a period longer, the pulse comes one cycle late."""
    sdf, register = Sdf(CHIP), register_of(CHIP, "tx")
    for pin in sdf.setups[register]:
        sdf.wires[register, pin] += CLOCK_PS
    found, _, expected = placed(tmp_path, sdf, 1)
    assert found == [(level, cycle + 1) for level, cycle in expected]
