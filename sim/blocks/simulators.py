# SPDX-License-Identifier: BSD-2-Clause
"""Which simulators run a block: Verilator all cases, Icarus the first and the last, with LITEPULSE_LONG=1 all."""

import os

from sim.cocotb_rig import on_both_simulators

LONG = os.environ.get("LITEPULSE_LONG", "") not in ("", "0")


def few_on_icarus(*cases, slow=()):
    """As on_both_simulators(), with fewer cases for the slower simulator."""
    cases_kept = (cases[0], cases[-1])
    return [
        param
        for param in on_both_simulators(*cases, slow=slow)
        if LONG or param.values[-1] == "verilator" or param.values[:-1] in cases_kept
    ]
