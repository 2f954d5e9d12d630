# SPDX-License-Identifier: BSD-2-Clause
"""Parameters with which the core cannot work are refused when it is elaborated, by Verilator and by Yosys, with the reason."""

import pytest

from litex_soc.limits import depths
from sim.hdl_lint import verilator, yosys

SAMPLES, INPUTS, LATENCY, LIN = "S must be", "INPUTS must be", "LATENCY_IN + LATENCY_OUT must", "LIN_ENTRIES must"
NO_LATENCY = "LATENCY_IN and LATENCY_OUT must be at least 1"
DEPTHS = {"EV_AW": "event", "RX_AW": "receive", "TX_AW": "transmit", "LQ_AW": "launch"}
REFUSED = [
    ({"S": 3}, SAMPLES),
    ({"INPUTS": 0}, INPUTS),
    ({"S": 4, "INPUTS": 4}, INPUTS),
    ({"LATENCY_IN": 14}, LATENCY),
    ({"S": 2, "LATENCY_IN": 11}, LATENCY),
    ({"LATENCY_IN": 0}, NO_LATENCY),
    ({"LATENCY_OUT": 0}, NO_LATENCY),
    *(({name: depths()[fifo][0] - 1}, f"{name} ") for name, fifo in DEPTHS.items()),
    *(({name: depths()[fifo][1] + 1}, f"{name} ") for name, fifo in DEPTHS.items()),
    ({"LIN_ENTRIES": 12}, LIN),
]
TAKEN = [
    {"S": 1, "INPUTS": 15},
    {"S": 4, "INPUTS": 3},
    {"LATENCY_IN": 13},
    {"S": 2, "LATENCY_IN": 10},
    {"LIN_ENTRIES": 8},
    *({name: depths()[fifo][end] for name, fifo in DEPTHS.items()} for end in (0, 1)),
]


@pytest.mark.parametrize("tool", [verilator, yosys])
@pytest.mark.parametrize(("parameters", "said"), REFUSED, ids=lambda value: str(value).replace(" ", ""))
def test_refused(parameters, said, tool):
    """One that does not fit."""
    assert any(said in line and "ERROR" in line for line in tool("litepulse", parameters))


@pytest.mark.parametrize("parameters", TAKEN, ids=str)
def test_taken(parameters):
    """The last that fits."""
    assert not [line for line in verilator("litepulse", parameters) if "ERROR" in line.upper()]
