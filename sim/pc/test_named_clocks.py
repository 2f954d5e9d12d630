# SPDX-License-Identifier: BSD-2-Clause
"""The PTP clock of a board on the cable as a named clock of the package, by the ioctls of a real kernel: against the driver's own times."""

import pytest

from sim.cocotb_rig import ROOT
from sim.pc.python import COMMAND, python

# The driver gives each launch its time in that clock, as a function of the tick alone: the package must say the same, within its bound.
PROGRAM = b"""
import litepulse
with litepulse.open("/dev/litepulse0", clock="phc") as board:
    for _ in range(3):
        outcome = board.launch(width="1ms")
        shown = board.time_of(outcome.tick, "phc:0")
        print("ptp", outcome.ns is not None and abs(shown.ns - outcome.ns) <= shown.uncertainty + 1, flush=True)
    then = -(-board.time_of(board.now(), "phc:/dev/ptp0").ns // 10**9) + 3
    outcome = board.launch(f"phc:0:{then}.5", width="1ms")
    late = outcome.ns - then * 10**9 - 5 * 10**8
    print("at", abs(late) <= board.time_of(outcome.tick, "phc:0").uncertainty + 10**6)
"""


@pytest.mark.seconds(40)
def test_the_clock_of_the_board(pc):
    files = {**python("named_clocks", f"{COMMAND}\nimport fcntl, struct", [ROOT / "sw"]), "named.py": PROGRAM}
    boards = [{"hz": 250_000}]  # so slow a board keeps its time, also on a busy machine
    result = pc("6.12").attached("./start named.py", files, boards=boards, seconds=600)
    assert [line for line in result.lines if line.startswith(("ptp", "at"))] == ["ptp True"] * 3 + ["at True"], result.lines
