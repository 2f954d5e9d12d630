# SPDX-License-Identifier: BSD-2-Clause
"""Boots in which guest/cable/fuzz.c makes random calls to the driver: in User-mode Linux, and under KCSAN with two processors."""

import functools
import re
from typing import cast

from sim.driver import cable_rig, echo_rig, kcsan
from sim.driver.hostile import Anything
from sim.guest.cable_programs import program

BOOT_CALLS, CABLE_ROUNDS, HOSTILE_ROUNDS, RACE_BOOT_CALLS = 100_000, 20, 20, 25_000
TIMEOUT = 1800
COUNTS = re.compile(r"(?m)^calls (\d+) unplugs (\d+)$")


def judge(run, jobs):
    """(calls, unplugs) of a boot; ValueError with what went wrong."""
    counts = COUNTS.search(run.log)
    if run.complaints or run.status != [0] * jobs or not counts:
        raise ValueError("\n".join([f"status of the jobs: {run.status}", *run.complaints[:10], *run.log.splitlines()[-60:]]))
    return int(counts[1]), int(counts[2])


def without_hardware(seed, sleeps, calls=BOOT_CALLS, timeout=TIMEOUT):
    """(calls, unplugs) of a boot with an echo board."""
    files = {"fuzz": program("fuzz")}
    run, jobs = echo_rig.echo_boot(
        f"run /fuzz unbind litepulse {seed} {calls}", parameters=f"sleeps={sleeps}", files=files, timeout=timeout
    )
    return judge(run, jobs)


def on_a_cable(seed, rounds=CABLE_ROUNDS, timeout=TIMEOUT):
    """The same with a simulated SoC on a serial port; it works afterwards."""
    with cable_rig.Board() as board:
        return judge(cable_rig.cable_boot([f"run {seed} {rounds}"], [board], name="fuzz", timeout=timeout), 6)


def hostile(seed, rounds=HOSTILE_ROUNDS, timeout=TIMEOUT):
    """(calls, unplugs, answers, altered answers) with a board that gives wrong answers. No call
    hangs, and both modules can be removed."""
    with cable_rig.Board(between=functools.partial(Anything, seed=seed)) as board:
        counted = judge(cable_rig.cable_boot([f"hostile {seed} {rounds}"], [board], name="fuzz", timeout=timeout), 6)
        liar = cast(Anything, board.between)
        return *counted, liar.answers, liar.altered


def races(seed, calls=RACE_BOOT_CALLS, timeout=TIMEOUT):
    """(calls, unplugs) of a boot with two processors, under KCSAN: of odd seeds a board whose transport sleeps."""
    files = {"fuzz": program("fuzz")}
    run, jobs = kcsan.echo_boot(f"run /fuzz unbind litepulse {seed} {calls}", parameters=f"sleeps={seed % 2}", files=files, timeout=timeout)
    return judge(run, jobs)
