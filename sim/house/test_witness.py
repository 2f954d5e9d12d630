# SPDX-License-Identifier: BSD-2-Clause
"""A counterexample of ABC is read as it is: which register of two copies parts first, when, and what it holds."""

import os
import shutil
import subprocess
import sys

import pytest

from sim.cocotb_rig import BUILD, ROOT, tool_environment
from sim.witness import Witness

TWO_COUNTERS = """
module once (input logic clk, input logic up, output logic [3:0] count, output logic seen);
  initial {count, seen} = 5'b1010_0;
  always_ff @(posedge clk) begin
    if (up) count <= count + 4'd1;
    seen <= count == 4'd13;
  end
endmodule
module twice (input logic clk);
  (* anyseq *) logic up;
  logic [3:0] one, other, cycle = 0;
  logic seen_one, seen_other;
  once a (.clk, .up(1'b1), .count(one), .seen(seen_one));
  once b (.clk, .up(up || cycle != 4'd2), .count(other), .seen(seen_other));
  always_ff @(posedge clk) cycle <= cycle + 4'd1;
  always_comb assert (seen_one == seen_other);
endmodule
"""
SBY = """
[options]
mode bmc
depth 9
aigsmt none
[engines]
abc bmc3
[script]
read -formal -sv twice.sv
prep -top twice -flatten
[files]
twice.sv
"""


@pytest.fixture(name="failed", scope="module")
def failed_proof():
    """The failed comparison of two counters of which one may miss a step in cycle 2."""
    folder = BUILD / "formal" / f"witness-{os.getpid()}"  # each worker has its own; the tools see relative paths only
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "twice.sv").write_text(TWO_COUNTERS)
    (folder / "twice.sby").write_text(SBY)
    result = subprocess.run(
        ["sby", "-f", "-d", "work", "twice.sby"],
        cwd=folder,
        env=tool_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 2, result.stdout
    yield folder / "work"
    shutil.rmtree(folder)


def test_differences(failed):
    # `a` counts 10, 11, 12, 13, 14; `b` stays at 12 for a cycle
    assert Witness(failed).differences() == [(3, "count", "1101", "1100"), (4, "seen", "1", "0")]


def test_command(failed):
    def run(*arguments):
        return subprocess.run(
            [sys.executable, str(ROOT / "sim" / "witness.py"), *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    assert run(failed, "b.count").stdout == "b.count 0:1010 1:1011 2:1100 4:1101\n"
    assert run(failed).stdout.split() == ["3", "count", "1101", "1100", "4", "seen", "1", "0"]
    for arguments in ((), (failed.parent,), (failed, "b.nothing")):
        result = run(*arguments)
        assert result.returncode == 1 and len(result.stderr.splitlines()) == 1 and not result.stdout, result
