# SPDX-License-Identifier: BSD-2-Clause
"""Waits in the launch queue of a board on the cable, through the kernel's driver: `litepulse sequence` places launches by edges that the
computer learns of only later, exactly, in the results and on the pins."""

import json
from itertools import pairwise

import pytest

from sim.cocotb_rig import ROOT
from sim.pc.python import COMMAND, python

HZ = 250_000  # so slow a board keeps its time, also on a busy machine
# Over the wire from TX to input 0 an edge is seen one tick after it left. 145 and 205 cycles are the least that is promised behind an edge
# and behind a timeout.
SHOTS = b"""after,width,wait,edge,timeout,then
0,1250t
0,,0,fall,1s,stop
145t,100t
1000/3t,100t
0,,1,rise,40ms,go on
205t,50t
2s,50t
0,,1,rise,20ms,stop
400t,50t
"""
PROGRAM = b"""
import contextlib, io, json, litepulse
from litepulse import cli
def command(*words):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        status = cli.main(["--device", "/dev/litepulse0", *words])
    print("step", json.dumps([status, out.getvalue()]), flush=True)
command("info", "--json")
command("sequence", "shots.csv", "--high", "--waits", "board", "--json")
with litepulse.open("/dev/litepulse0") as board:
    endless = [{"after": 0, "width": "50t"}, {"wait": 1}, {"after": "145t", "width": "50t"}]
    with board.sequence(endless, invert=True, waits="board") as sequence:
        first = next(sequence)
        waits = not board.status().queue_idle
        sequence.stop()
        print("stop", first.tick, first.tick == first.wanted, waits, list(sequence), sequence.ended, board.status().queue_idle, flush=True)
    with board.sequence([{"after": 0, "width": "60t"}], invert=True) as sequence:
        (last,) = sequence
        print("last", last.tick, flush=True)
"""


@pytest.mark.seconds(60)
def test_waits_of_the_board_through_the_driver(pc):
    """An edge, a timeout that goes on, one that stops; then a wait without end that is taken back."""
    files = {**python("command", COMMAND, [ROOT / "sw"]), "waits.py": PROGRAM, "shots.csv": SHOTS}
    result = pc("6.12").attached("./start waits.py", files, boards=[{"hz": HZ, "wires": ["tx:aux0"]}], seconds=600)
    steps = [json.loads(line.removeprefix("step ")) for line in result.lines if line.startswith("step ")]
    (status, info), (shots_status, shots) = ((status, json.loads(text)) for status, text in steps)
    assert status == 0 and info["sequence"] is True
    first = shots["launched"][0]["tick"]
    edge = first + 1250 + 1
    last = edge + 145 + 333
    out = last + HZ * 40 // 1000
    far = out + 205 + 2 * HZ
    over = far + HZ * 20 // 1000
    assert shots_status == 1 and shots["ended"] == "timeout" and shots["lost"] == 0 and shots["underrun"] is None
    assert [(each["n"], each["began"], each["tick"], each["ended"], each["by"]) for each in shots["waits"]] == [
        (1, first, edge, "edge", "board"),
        (4, last, out, "timeout", "board"),
        (7, far, over, "timeout", "board"),
    ]
    launched = [(first, 1250), (edge + 145, 100), (last, 100), (out + 205, 50), (far, 50)]
    assert [(each["n"], each["tick"]) for each in shots["launched"]] == list(
        zip((0, 2, 3, 5, 6), (tick for tick, _ in launched), strict=True)
    )
    (_, begun, *stopped), (_, end) = (line.split() for line in result.lines if line.startswith(("stop", "last")))
    assert stopped == ["True", "True", "[]", "stop", "True"]
    tx = [change for change in result.boards[0].pins_of("tx") if change[0] >= first]
    pulses = [(tick, then - tick) for (tick, level), (then, _) in pairwise(tx) if level]
    # Between the jobs the line rests at 1, for longer. Nothing leaves of what is behind the waits that stopped, or were taken back.
    assert [(tick, width) for tick, width in pulses if width in (50, 60, 100, 1250)] == [*launched, (int(begun), 50), (int(end), 60)]
