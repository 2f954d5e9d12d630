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


RATE, TUNED_AT, PPM, COUNT = 10, 12, 200, 40
# clock_adjtime() with ADJ_FREQUENCY, as a servo calls it: Python has no function for it.
FOLLOWED = f"""
import ctypes, os, struct, litepulse
def tune(ppm):
    handle = os.open("/dev/ptp0", os.O_RDWR)
    request = ctypes.create_string_buffer(struct.pack("=IIqq", 2, 0, 0, ppm << 16), 208)
    print("tuned", ctypes.CDLL(None).clock_adjtime(~handle << 3 | 3, request) >= 0, flush=True)
    os.close(handle)
with litepulse.open("/dev/litepulse0", clock="phc") as board, board.train({RATE}, width="1ms", clock="phc", count={COUNT}) as train:
    for pulse in train:
        due = int(train.first * 10**9) + pulse.number * 10**9 // {RATE}
        print("pulse", pulse.number, pulse.ns - due, pulse.error, flush=True)
        if pulse.number == {TUNED_AT}:
            tune({PPM})
    print("end", train.first.denominator, train.worst, *(each.why for each in train.steered), flush=True)
"""


@pytest.mark.seconds(60)
def test_a_train_follows_the_clock_of_the_board(pc):
    """The driver keeps each pulse less than a tick from its time, though the clock is tuned meanwhile."""
    hz = 250_000
    tick = 10**9 // hz
    files = {**python("named_clocks", f"{COMMAND}\nimport ctypes, fcntl, struct", [ROOT / "sw"]), "followed.py": FOLLOWED.encode()}
    result = pc("6.12").attached("./start followed.py", files, boards=[{"hz": hz}], seconds=600)
    rows = [[int(word) for word in line.split()[1:]] for line in result.lines if line.startswith("pulse ")]
    assert [row[0] for row in rows] == list(range(COUNT))
    assert [line for line in result.lines if line.startswith(("tuned", "end"))] == ["tuned True", f"end 1 {tick} driver"]
    assert all(error == 0 for _, _, error in rows), "the package knows the periods that the driver gave the train"
    unchanged = PPM * (COUNT - TUNED_AT) * 1000 // RATE
    assert unchanged > 20 * tick, "a train that is not changed would be that far off"
    # Until the change has come to the train, it goes on at the old rate.
    late = [row for row in rows if abs(row[1]) >= tick]
    assert all(TUNED_AT < number <= TUNED_AT + 5 and abs(off) < tick + PPM * 500 for number, off, _ in late), late
