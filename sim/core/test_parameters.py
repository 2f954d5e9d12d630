# SPDX-License-Identifier: BSD-2-Clause
"""Parameters with which the core cannot work are refused when it is elaborated, by Verilator and by Yosys, with the reason."""

import pytest

from sim.cocotb_rig import hdl_dir, hdl_sources
from sim.hdl_lint import run

SOURCES = hdl_sources("litepulse")
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


def elaborate(tool, parameters):
    """(exit status, what the tool said) for the core with these parameters."""
    if tool == "verilator":
        values = [f"-G{name}={value}" for name, value in parameters.items()]
        status, lines = run("verilator", "--lint-only", "-Wno-fatal", "--top-module", "litepulse", f"-I{hdl_dir()}", *values, *SOURCES)
    else:
        values = "".join(f" -set {name} {value}" for name, value in parameters.items())
        files = " ".join(map(str, SOURCES))
        status, lines = run("yosys", "-q", "-p", f"read_verilog -sv {files}; chparam{values} litepulse; hierarchy -check -top litepulse")
    return status, "\n".join(lines)


@pytest.mark.parametrize("tool", ["verilator", "yosys"])
@pytest.mark.parametrize(("parameters", "said"), REFUSED, ids=lambda value: str(value).replace(" ", ""))
def test_refused(parameters, said, tool):
    """One that does not fit."""
    status, text = elaborate(tool, parameters)
    assert said in text and (status != 0 or "USERERROR" in text), text


@pytest.mark.parametrize("parameters", TAKEN, ids=str)
def test_taken(parameters):
    """The last that fits."""
    _, text = elaborate("verilator", parameters)
    assert "USERERROR" not in text, text
