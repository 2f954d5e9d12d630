# SPDX-License-Identifier: BSD-2-Clause
"""A board with wrong answers, and a user who forges answers: the debug kernel survives both, and a
wrong tick is not believed."""

import re

import pytest

from sim.driver import fuzz_boots
from sim.driver.cable_rig import Board, cable_boot, modules
from sim.driver.hostile import Poison, WildTicks
from sim.driver.test_cable import FEW, check, counted

pytestmark = pytest.mark.seconds(120)


def test_wild_ticks():
    """The host once panicked on wrong ticks. The driver now repeats the request: every byte, launch
    and pulse is as it should be, nothing is lost."""
    with Board(between=WildTicks) as board:
        run = cable_boot(["counters"], [board])
        altered = board.between.altered
    check(run, 1)
    counts = counted(run)
    assert altered > 10 and altered <= int(counts["repeats"]) < altered + FEW and counts["failures"] == "0", (altered, counts)


def test_a_wrong_tick_that_was_believed():
    """The board's events arrive again after it: dropped records are reported as lost, and the next
    ones come as before."""
    with Board(between=Poison) as board:
        run = cable_boot(["poison"], [board])
        altered = board.between.altered
    check(run, 1)
    assert altered > 4 and int(re.search(r"(?m)^got \d+ lost (\d+)$", run.lines(2))[1]) > 0, (altered, run.log)


@pytest.mark.parametrize("seed", [1, 2])
def test_anything(seed):
    """Whatever the board sends: no complaint, no program hangs, and both modules can be removed."""
    calls, unplugs, answers, altered = fuzz_boots.hostile(seed, 12, timeout=300)
    assert calls > 1000 and unplugs > 3 and answers > 1000 and altered > 5


def test_forged_answers():
    """Bytes pushed into the port by TIOCSTI never reach the driver, and no other program can open
    the port or take it away."""
    with Board() as board:
        run = cable_boot(["forge"], [board])
    check(run, 1)
    counts = counted(run)
    assert int(re.search(r"(?m)^forged (\d+)$", run.lines(2))[1]) > 200
    # Each TIOCSTI keeps the port's bytes back for a moment, now and then for longer than an answer is waited for. None is damaged.
    # With the callback that it feeds, more than one in ten is repeated: test_control().
    assert 20 * int(counts["repeats"]) < int(counts["transactions"]) and counts["failures"] == "0", counts


def test_control():
    """Bytes of TIOCSTI are seen if they arrive: with the callback that receives them."""
    wrong = modules(
        (
            "litepulse_uartbone_ldisc.c",
            ".receive_buf2 = litepulse_ldisc_receive_buf,",
            ".receive_buf = (void *)litepulse_ldisc_receive_buf,",
        )
    )
    with Board() as board:
        run = cable_boot(["forge"], [board], made=wrong)
    assert run.status[2] or 10 * int(counted(run)["repeats"]) > int(counted(run)["transactions"]), run.log
