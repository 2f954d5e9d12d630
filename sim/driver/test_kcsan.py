# SPDX-License-Identifier: BSD-2-Clause
"""Two processors at the driver at once, and a 16550 below it: no data race, no wrong order of locks.

As this takes a kernel of its own, LITEPULSE_LONG=1 asks for it.
"""

import pytest

from sim.driver import cable_rig, fuzz_boots, kcsan
from sim.driver.uml import control_module
from sim.long_runs import LONG

long = pytest.mark.skipif(not LONG, reason="builds a kernel with KCSAN, minutes: LITEPULSE_LONG=1, or make fuzz")


@long
@pytest.mark.parametrize("sleeps", [0, 1])
def test_use(sleeps):
    """All that echo_board/use.c does."""
    run, jobs = kcsan.echo_boot("run /use all", parameters=f"sleeps={sleeps}")
    assert run.status == [0] * jobs and not run.complaints, run.log


@long
@pytest.mark.parametrize("seed", [1, 2])
def test_fuzz(seed):
    """Random calls, with a transport that sleeps and one that does not."""
    calls, unplugs = fuzz_boots.races(seed, 5000)
    assert calls >= 5000 and unplugs > 2


LOOP = "for (int i = 0; i < LITEPULSE_DEVICES; i++)\n\t\tlockdep_set_class("
# Without a lock class of their own for the locks of the board's tty, beside those of its port.
ONE_CLASS = cable_rig.mistake("litepulse_tty_serial.c", LOOP, LOOP.replace("LITEPULSE_DEVICES", "0"))


@long
@pytest.mark.parametrize("mistakes", [(), (ONE_CLASS,)], ids=["right", "one-class"])
def test_a_16550(mistakes):
    """The board's tty and its port are both of the serial core, and calls to one take the locks of
    both: lockdep does not complain."""
    with cable_rig.Board(between=cable_rig.Rated) as board:
        run, jobs = kcsan.cable_boot(["use", "baud"], board, kcsan.modules(*mistakes))
        assert board.between.register.requested
    assert run.status == [0] * jobs, run.log
    assert any("possible circular locking" in line for line in run.complaints) if mistakes else not run.complaints, run.log


@long
def test_control():
    """A race is reported."""
    module = control_module(built=kcsan.kernel(), architecture=kcsan.ARCHITECTURE)
    run = kcsan.boot(["insmod control.ko fault=race"], {"control.ko": module})
    assert run.status == [0] and any("data-race in count_for_a_second" in line for line in run.complaints), run.log


OURS = """BUG: KCSAN: data-race in litepulse_take_events [litepulse] / n_tty_read

read to 0x1 of 8 bytes by task 3 on cpu 1:
 litepulse_take_events+0x1/0x2 [litepulse]
"""
OTHERS = """BUG: KCSAN: data-race in n_tty_read / n_tty_receive_buf_common

read to 0x2 of 8 bytes by task 3 on cpu 1:
 n_tty_receive_buf_common+0x1/0x2
 litepulse_take_bytes+0x1/0x2 [litepulse]
"""


def test_races_of_others_do_not_count():
    """Neither of the two accesses is the driver's own, although its functions may be further up."""
    text = f"before\n{kcsan.RULE}\n{OTHERS}{kcsan.RULE}\nbetween\n{kcsan.RULE}\n{OURS}{kcsan.RULE}\nafter"
    console = "".join(f"[   12.345678] {line}\n" for line in text.split("\n"))
    assert kcsan.without_races_of_others(console) == f"before\nbetween\n{OURS}after\n"
