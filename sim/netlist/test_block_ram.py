# SPDX-License-Identifier: BSD-2-Clause
"""sim/models/DP16KD.sv, the ECP5's block RAM, alone: Yosys has an outline of it only."""

import pytest

from sim.cocotb_rig import SIM, simulate

SOURCES = [SIM / "models" / "DP16KD.sv", SIM / "netlist" / "litepulse_block_ram_tb.sv"]
# widths, write modes, output registers, chip select, falling edges: first as the netlists of the core have them
CASES = (
    (36, 36, 0, 0, 0, 0, 0, 0),
    (36, 18, 0, 0, 0, 0, 0, 0),
    (36, 9, 0, 0, 0, 0, 0, 0),
    (36, 4, 0, 0, 0, 0, 0, 0),
    (18, 18, 2, 2, 0, 0, 0, 0),
    (9, 9, 0, 1, 1, 0, 5, 0),
    (4, 2, 1, 2, 0, 1, 3, 1),
    (1, 18, 2, 0, 1, 1, 7, 0),
    (9, 36, 1, 0, 0, 1, 6, 1),
)
# Verilator takes seconds to build each.
RUNS = [(case, "icarus") for case in CASES] + [(CASES[2], "verilator"), (CASES[7], "verilator")]


@pytest.mark.parametrize("case, simulator", RUNS, ids=lambda part: part if isinstance(part, str) else "-".join(map(str, part)))
def test_block_ram(case, simulator):
    names = ("WA", "WB", "MODE_A", "MODE_B", "OUT_A", "OUT_B", "SELECT", "INVERT")
    simulate("tb_block_ram", "litepulse_block_ram_tb", SOURCES, dict(zip(names, case)), simulator)
