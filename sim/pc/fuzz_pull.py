# SPDX-License-Identifier: BSD-2-Clause
"""Runs in which guest/cable/fuzz.c makes random calls to the driver while the board's USB adapter
is unplugged from a PC."""

import re

from sim.guest.cable_programs import program
from sim.guest.console import GuestError
from sim.pc import pc_rig

LINE = "6.12"
PULL_ROUNDS, TIMEOUT = 25, 1800


def pull(seed, rounds=PULL_ROUNDS, timeout=TIMEOUT):
    """(calls, unplugs) of a PC with one of Debian's kernels. It works afterwards, and both modules can be removed."""
    guest, boards = pc_rig.boot(LINE), []

    def pull_out(machine):
        boards.append(machine.adapters[0].board)
        machine.unplug(0)

    when = {f"pull {number:04}": pull_out for number in range(1, rounds + 1)}
    when |= {f"plug {number:04}": lambda machine: machine.plug(0, boards[-1]) for number in range(1, rounds + 1)}
    try:
        result = guest.run(
            f"insmod litepulse.ko && insmod litepulse_uartbone.ko && ./fuzz pull /dev/ttyUSB0 {seed} {rounds} && "
            "rmmod litepulse_uartbone && rmmod litepulse",
            {**guest.driver(), "fuzz": program("fuzz")},
            wires=["tx:rx"],
            when=when,
            seconds=timeout,
        )
    except GuestError as error:
        raise ValueError(str(error)) from None
    counts = re.search(r"(?m)^calls (\d+) unplugs (\d+)$", "\n".join(result.lines))
    return int(counts[1]), int(counts[2])
