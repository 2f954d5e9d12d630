# SPDX-License-Identifier: BSD-2-Clause
"""For simulations of the core in which each module checks what it takes for granted of the others: sim/formal/litepulse_*_environment.sv,
which its own proof assumes.

    sources, build_args, defines = checks(simulator)      beside those of the core
"""

from sim.cocotb_rig import SIM
from sim.proofs import FORMAL

SOURCES = [FORMAL / "litepulse_environment.svh", *sorted(FORMAL.glob("litepulse_*_environment.sv")), SIM / "core" / "environment.sv"]


def checks(simulator):
    """(sources, build arguments, defines); nothing on Icarus, which cannot bind a module to another."""
    return (SOURCES, ["--assert", "--relative-includes"], {"LITEPULSE_CHECK": 1}) if simulator == "verilator" else ([], [], {})
