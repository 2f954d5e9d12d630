# SPDX-License-Identifier: BSD-2-Clause
"""Which runs are judged on a machine that stalls."""

import time

import pytest

from sim.pc import quiet


def machine(*longest):
    """Stalls of as many runs, in order."""
    left = list(longest)

    class Known(quiet.Stalls):
        def watch(self):
            self.longest = left.pop(0)

    return Known


def fails(result):
    assert result == "good"


def test_a_fault_on_a_quiet_machine_fails():
    with pytest.raises(AssertionError):
        quiet.judged(lambda: "bad", fails, machine(quiet.STALL_SECONDS * 0.99))


def test_a_run_on_a_busy_machine_is_repeated():
    results = ["bad", "good"]
    quiet.judged(lambda: results.pop(0), fails, machine(1.0, 0.0))
    assert not results
    results = ["bad", "bad", "good"]
    with pytest.raises(AssertionError):
        quiet.judged(lambda: results.pop(0), fails, machine(1.0, 0.0))
    assert results == ["good"]


def test_a_machine_that_is_always_busy_is_no_verdict():
    results = ["bad"] * quiet.TRIES
    with pytest.raises(pytest.skip.Exception, match="stood still for 60, 70, 80 ms in 3 runs"):
        quiet.judged(lambda: results.pop(0), fails, machine(0.06, 0.07, 0.08))
    assert not results


def test_a_stall_is_seen():
    """The program blocks its own interpreter here, as a machine without a free CPU would."""
    with quiet.Stalls() as seen:
        end = time.monotonic() + 0.5
        sum(range(30_000_000))  # one call: no other thread runs meanwhile
        lasted = time.monotonic() - end + 0.5
    assert seen.longest > min(lasted, 0.5) / 2
