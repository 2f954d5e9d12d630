# SPDX-License-Identifier: BSD-2-Clause
"""The responder from pad to pad at the clock of an ECPIX-5, 200 MHz: edges at any instant, what the pads did in ps.

LITEPULSE_RESPONSES: how many edges. What is found goes into the figures of the run, response.json, under the PHY and that number.
"""

import json
import os
from fractions import Fraction
from math import ceil
from pathlib import Path

import cocotb
from cocotb.triggers import Timer
from cocotb.utils import get_sim_time

from sim.core import bench as rig
from sim.core.bench import CONSTANTS, NETLIST, PHY, Bench, S
from sim.core.model import PULSE, Launch, Profile

COUNT = int(os.environ["LITEPULSE_RESPONSES"])
HZ = 200_000_000
# The clock of the bench, which is one of 125 MHz otherwise; `sys` is that of the board, 50 MHz.
rig.CYCLE = 10**12 // HZ
rig.TICK = rig.CYCLE // S
rig.PHASE = rig.CYCLE // 2 if PHY == "ecp5_serdes" else 0
rig.CLOCKS["board"] = (2 * rig.CYCLE, 0)
DELAY = CONSTANTS["RESPONSE_MIN_INPUT"] * S  # ticks, by docs/core.md and the PHY's header
WIDTH = 8 * S
APART = 60 + CONSTANTS["RESPONSE_REST"]  # cycles between edges, more than an answer and its rest


@cocotb.test()
async def responses(dut):
    """Each edge is stamped with the first sample after it, each answer starts DELAY ticks after the stamp, to the ps. No other comes."""
    bench = await Bench.start(dut, "board")
    await bench.record("edge", "missed")
    assert await bench.profile(1, Profile(Fraction(5 * S)))
    await bench.config("capture_edges", rise=1)
    answer = Launch(PULSE, bench.profiles[1], width=WIDTH, index=1)
    await bench.config("resp_trigger", trigger=1, channel=0, rise=1, rearm=1)
    for name, word in (("delay", DELAY), ("width", WIDTH), ("launch", answer.word()), ("holdoff", 0)):
        await bench.config(f"resp_{name}", word)
    await bench.config("resp_arm", arm=1)
    bench.drain_start()
    moments = []
    for _ in range(COUNT):
        # At the instant itself a sample may show either level: that is not specified.
        tick = bench.now + (APART + bench.random.randrange(40)) * S
        moments.append(bench.zero + tick * rig.TICK + bench.random.randrange(1, rig.TICK))
        await Timer(moments[-1] - int(get_sim_time("step")), "step")
        bench.set_aux(0, 1)
        await Timer(10 * rig.CYCLE, "step")
        bench.set_aux(0, 0)
    await bench.cycles(APART)
    await bench.drain_stop()

    stamps = [ceil(Fraction(moment - bench.zero, rig.TICK)) for moment in moments]
    assert not bench.select(7), f"missed: {bench.select(7)[:3]}"
    # The record of an edge has the cycle's first tick, and a bit for the sample.
    seen = [r.tick + (r.data & (1 << S) - 1).bit_length() - 1 for r in bench.select(2)]
    assert seen == stamps, "a stamp is not that of the first sample after the edge"
    changes = [(time, level) for time, level in bench.pins["tx"].changes if time > moments[0]]
    starts = [bench.zero + (stamp + DELAY) * rig.TICK for stamp in stamps]
    assert changes == [(start + after, level) for start in starts for after, level in ((0, 0), (WIDTH * rig.TICK, 1))], (
        "an answer is not at its tick"
    )
    found = {"delays_ps": [time - moment for (time, _), moment in zip(changes[::2], moments)], "tick_ps": rig.TICK}
    Path(os.environ["LITEPULSE_FIGURES"]).write_text(json.dumps({"response.json": {f"{NETLIST or PHY}/{COUNT}": found}}))
