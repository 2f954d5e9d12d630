# SPDX-License-Identifier: BSD-2-Clause
"""The watchdog in the simulated SoC: a host that falls silent, exact to the tick in the recorded pins."""

import time
from fractions import Fraction
from math import floor

import pytest

from litepulse import regs
from sim.soc.soc_rig import CSR, KIND, SOURCE, Simulated, edges, pack, read_vcd, register

SESSION = next(r for r in regs.CSRS if r.name == "session")
LIMIT = 2
PERIOD, WIDTH = 40_000, 480
# Ticks of a unit: cycles of the bus, which has half the core's clock.
UNIT = 2 << regs.WATCHDOG_UNIT


def begin(soc, keep):
    """Starts a train, arms the responder, queues a launch that is far off: the train's start."""
    soc.profile(0, 16)
    soc.configure(event_mask=(1 << 11) - 1)
    soc.configure(
        resp_trigger=pack(register(regs.CONFIG, "resp_trigger"), trigger=1, channel=0, rise=1, rearm=1),
        resp_delay=100,
        resp_width=WIDTH,
        resp_launch=pack(register(regs.CONFIG, "resp_launch"), kind=2),
        resp_holdoff=0,
        resp_arm=1,
    )
    soc.bus.write(regs.WINDOW_BASE + regs.REGIONS["LAUNCH"][0], [0, 1 << 20, WIDTH, 2 << 10 | 7 << 16])
    soc.bus.write(CSR["session"], pack(SESSION, session=0xC0DE, limit=LIMIT, keep=keep))
    start = soc.now() + 200_000
    soc.configure(
        train_start_lo=start & 0xFFFFFFFF,
        train_start_hi=start >> 32,
        train_count=0,
        train_width=WIDTH,
        train_launch=pack(register(regs.CONFIG, "train_launch"), kind=2),
        train_period=PERIOD,
        train_num=1,
        train_den=3,
        train_command=pack(register(regs.CONFIG, "train_command"), command=1),
    )
    return start


@pytest.mark.parametrize("keep", [0, 1])
def test_a_silent_host(tmp_path, keep):
    """Output that was not to be kept stops `limit` units after the last access; nothing starts
    after the tick of the event."""
    vcd = tmp_path / "out.vcd"
    with Simulated("--vcd", vcd) as soc:
        start = begin(soc, keep)
        last = soc.now()  # the last access to the window; reading SESSION counts for nothing
        word = soc.bus.read(CSR["session"])
        assert word == pack(SESSION, session=0xC0DE, limit=LIMIT, keep=keep)
        if keep:
            silent, before = 0, last
            for seconds in (1, 2, 4, 8, 16, 32):  # the simulator is as fast as the machine
                time.sleep(seconds)
                before, now = soc.now(), before
                silent = before - now
                if silent > LIMIT * UNIT + 1000:
                    break
            assert silent > LIMIT * UNIT + 1000
            word = soc.bus.read(CSR["session"])
        while not keep and word:
            word = soc.bus.read(CSR["session"])
        found = [] if keep else soc.events()
        status = soc.bus.read(CSR["status"])
        assert soc.close()[0] == 0
    running = pack(next(r for r in regs.CSRS if r.name == "status"), train_running=1, responder_armed=1)
    starts = [tick for tick, level in edges(read_vcd(vcd)[0]["tx"]) if level == 0]
    assert starts[0] == start
    if keep:
        assert word >> 31 and status & running == running
        return
    stop = next(e for e in found if e[2:4] == (KIND["APPLIED"], SOURCE["TRAIN_CHANGE"]) and e[4])
    flush = next(e for e in found if e[2:4] == (KIND["APPLIED"], SOURCE["CONTROL"]) and e[0] > stop[0])
    assert word == 0 and status & running == 0
    assert 0 < stop[0] - last - LIMIT * UNIT < 400, "the header's other words come after its tick, the crossing takes its time"
    assert flush[5] == 1 << 16 | 1, "the launch is flushed"
    due = [start + floor(n * (PERIOD + Fraction(1, 3))) for n in range(stop[5] + 1)]
    assert starts == due[:-1], "as many as the event says"
    assert starts[-1] <= stop[0] and last + LIMIT * UNIT < due[-1], "none behind the stop, all before the limit was over"
