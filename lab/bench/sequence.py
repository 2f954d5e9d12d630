# SPDX-License-Identifier: BSD-2-Clause
"""What a board carries of a sequence, without the driver: `python -m lab.bench sequence`.

The package runs sequences on the simulated SoC through the line and the adapter of port.py, in the time of the simulated board.
First it measures its rate, as it does on every board; then a sequence at that rate has to run without a launch that is missing.
"""

from concurrent.futures import ProcessPoolExecutor
from unittest import mock

import litepulse
from lab.bench.port import LINES, Adapter, Board
from litepulse.backends import uartbone
from litepulse.backends.bus.backend import BusBackend
from litepulse.backends.uartbone import UARTBone

ENTRIES = 150


def carried(baud, hertz, frames):
    """{"rate" entries per second, "reaction" in seconds, "entries" that ran at that rate}."""
    board = Board(hertz)
    adapter = Adapter(board, baud)
    bus = UARTBone(adapter, "board", baud)
    if not frames:
        bus.use_frames = lambda bridge: None

    def pause(seconds):
        adapter.now = board.pass_until(adapter.now + seconds)

    try:
        with mock.patch.object(uartbone, "boottime", lambda: adapter.now), mock.patch("time.thread_time", lambda: 0.0):
            user = litepulse.Board(BusBackend(bus, "uartbone", "board", sleep=pause))
            with user.sequence([{"after": "1ms", "width": "1us"}]) as first:
                list(first)
            entries = [{"after": litepulse.ticks(first.pace.each), "width": "1us"}] * ENTRIES
            with user.sequence(entries) as sequence:
                launched = sum(isinstance(each, litepulse.Outcome) and each.reason is None for each in sequence)
            if launched != ENTRIES or sequence.lost:
                raise RuntimeError(f"{ENTRIES - launched} of {ENTRIES} launches are missing, {sequence.lost} records are lost")
    finally:
        board.close()
    return {"rate": float(first.rate), "reaction": float(user.timescale.seconds(first.pace.reaction)), "entries": launched}


def measure():
    """{bit rate: {"plain", "frames"}} of carried(), each in a process of its own."""
    with ProcessPoolExecutor(2 * len(LINES)) as processes:
        runs = {
            str(baud): {name: processes.submit(carried, baud, hertz, name == "frames") for name in ("plain", "frames")}
            for baud, hertz, _ in LINES
        }
        return {baud: {name: run.result() for name, run in kinds.items()} for baud, kinds in runs.items()}


def lines(r):
    """The table of the page."""
    out = [
        "Sequences on a port without the driver, in the time of the simulated board, line and adapter, as above. The rate is the one that",
        f"the package measures at the start, with its margin of a quarter; {ENTRIES} entries then ran at it, none missing.",
        "",
        "| bit rate | commands | entries/s | behind a wait, ms |",
        "|---|---|---|---|",
    ]
    for baud, kinds in r.items():
        for name, text in (("plain", "plain"), ("frames", "checked frames")):
            one = kinds[name]
            out.append(f"| {int(baud):,} | {text} | {one['rate']:,.0f} | {1000 * one['reaction']:.2f} |")
    return out
