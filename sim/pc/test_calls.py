# SPDX-License-Identifier: BSD-2-Clause
"""Calls that work on any device or terminal work on those of a board."""

import pytest

from sim import series
from sim.linux.test_chardev import Report
from sim.pc import pc_rig

EVENT = 48  # bytes
TX = 1
EACH = pytest.mark.parametrize("line", pc_rig.LINES)
LOOP = "modem=set,0x8000"


def run_case(guest, case):
    """What the program calls says of a case."""
    return Report(guest.run_program("calls", [case]).lines)


@EACH
def test_reading(pc, line):
    """readv() waits for its first event only; nothing of no bytes; O_ASYNC, which would never signal, is refused."""
    report = run_case(pc(line), "readv")
    assert report.all("event") == [[TX, ord("x")], [TX, ord("z")]]
    results = {label: report.result(label) for label in ("readv", "both", "nothing", "part", "async", "none")}
    assert results == {
        "readv": (EVENT, 0),
        "both": (2 * EVENT, 0),
        "nothing": (0, 0),
        "part": (-1, "EINVAL"),
        "async": (-1, "EOPNOTSUPP"),
        "none": (-1, "EAGAIN"),
    }


@EACH
def test_mapping_of_a_ring(pc, line):
    """It cannot grow (de), and no core dump has it (dd)."""
    flags = run_case(pc(line), "mapping").one("flags")
    assert {"de", "dd", "sh"} <= set(flags)


@EACH
def test_background(pc, line):
    """A process in the background that flushes its terminal is stopped before that has any effect."""
    assert run_case(pc(line), "background").all("background") == [[1, 6, 6]] * 2


@pytest.mark.parametrize("inpck, read", [("", "41"), ("inpck,", "")])
def test_parity_is_ignored_only_if_checked(pc, inpck, read):
    """IGNPAR drops a byte of the wrong parity with INPCK; without INPCK the parity is not
    checked."""
    guest = pc(series.OWN)
    result = guest.attached(
        f"./tty_steps /dev/ttyPULSE0 {LOOP} set=9600,8E1,{inpck}ignpar claim profile=1,9600,8O1 launch=500000,1,65 read=1,40 icount",
        {"tty_steps": guest.guest_program("tty_steps")},
    )
    printed = {line.split()[0]: line.split()[1:] for line in result.lines if line.strip()}
    assert printed["read"] == ([read] if read else []) and printed["icount"][4] == "1"


@EACH
def test_the_poller_runs_before_programs(pc, line):
    """SCHED_FIFO, of the lowest priority: behind the interrupt threads that it waits for."""
    result = pc(line).attached("cat /proc/$(pidof litepulse0)/stat")
    (stat,) = (text for text in result.lines if "(litepulse0)" in text)
    priority, policy = stat.split(") ")[1].split()[37:39]
    assert (priority, policy) == ("1", "1")


@EACH
def test_a_tty_cannot_wake_the_machine(pc, line):
    """An open tty that was to wake it could not be suspended."""
    wakeup = "/sys/class/tty/ttyPULSE0/power/wakeup"
    result = pc(line).attached(f"[ ! -e {wakeup} ] || echo enabled >{wakeup}; exec 5<>/dev/ttyPULSE0; ! [ -e {wakeup} ]")
    assert result.lines == []
