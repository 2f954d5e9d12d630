# SPDX-License-Identifier: BSD-2-Clause
"""Which simulators run which cases of a block."""

import pytest

from sim.long_runs import LONG


def on_both_simulators(*cases, slow=()):
    """For parametrize: each case, a tuple that begins with the samples per cycle, with "verilator" at its end; the first and the last
    one, with LITEPULSE_LONG=1 all, also with "icarus".

    The quick tier leaves out `slow`, tuples of this sort; it has what boards have on Verilator, and the first case on Icarus.
    """
    on = {"verilator": cases, "icarus": cases if LONG else (cases[0], cases[-1])}
    found = []
    for simulator, chosen in on.items():
        for case in chosen:
            is_full = (*case, simulator) in slow or case[0] == 8 or (simulator == "icarus" and case != cases[0])
            found.append(pytest.param(*case, simulator, marks=pytest.mark.full if is_full else ()))
    return found
