# SPDX-License-Identifier: BSD-2-Clause
"""Parameters with which the core cannot work are refused when it is elaborated, by Verilator and by Yosys, with the reason."""

import pytest

from sim.hdl_lint import verilator, yosys

SAMPLES, INPUTS, LATENCY, DEPTH, LIN = "S must be", "INPUTS must be", "LATENCY_IN + LATENCY_OUT must", "EV_AW must", "LIN_ENTRIES must"
REFUSED = [
    ({"S": 3}, SAMPLES),
    ({"INPUTS": 0}, INPUTS),
    ({"S": 4, "INPUTS": 4}, INPUTS),
    ({"LATENCY_IN": 14}, LATENCY),
    ({"S": 2, "LATENCY_IN": 11}, LATENCY),
    ({"EV_AW": 9}, DEPTH),
    ({"RX_AW": 10}, DEPTH),
    ({"LIN_ENTRIES": 12}, LIN),
]
TAKEN = [{"S": 1, "INPUTS": 15}, {"S": 4, "INPUTS": 3}, {"LATENCY_IN": 13}, {"S": 2, "LATENCY_IN": 10}, {"LIN_ENTRIES": 8}]


@pytest.mark.parametrize("tool", [verilator, yosys])
@pytest.mark.parametrize(("parameters", "said"), REFUSED, ids=lambda value: str(value).replace(" ", ""))
def test_refused(parameters, said, tool):
    """One that does not fit."""
    assert any(said in line and "ERROR" in line for line in tool("litepulse", parameters))


@pytest.mark.parametrize("parameters", TAKEN, ids=str)
def test_taken(parameters):
    """The last that fits."""
    assert not [line for line in verilator("litepulse", parameters) if "ERROR" in line.upper()]
