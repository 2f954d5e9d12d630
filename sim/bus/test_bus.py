# SPDX-License-Identifier: BSD-2-Clause
"""The core without LiteX: behind Wishbone and AXI4-Lite, with its own registers and resets."""

import pytest

from sim.cocotb_rig import hdl_sources, simulate

LARGE = {"INPUTS": 4, "LIN_ENTRIES": 64, "EV_AW": 8, "LQ_AW": 6}
SMALL = {"INPUTS": 2, "LIN_ENTRIES": 0, "EV_AW": 5, "LQ_AW": 3}
SLOW = "a_host_that_falls_silent"  # millions of cycles
CASES = ["what_it_is", "settings", "what_happened", "interrupts", "to_the_tick", "parts_of_words"]
AXIL = ["all_channels_at_once", "answers_wait"]
TOP = {"wishbone": "sim/bus/litepulse_wishbone_tb.sv", "axil": "examples/verilog/axi_lite.sv"}


def run(kind, size, simulator, *cases):
    file = TOP[kind]
    top = file.rpartition("/")[2].removesuffix(".sv")
    passed = simulate("tb_bus", top, hdl_sources(file), {**size, "SIMULATED": 1}, simulator, env={"BUS_KIND": kind}, testcase=cases)
    assert {name.rpartition(".")[2] for name in passed} == set(cases)


@pytest.mark.parametrize("case", CASES)
def test_wishbone(case):
    run("wishbone", LARGE, "icarus", case)


@pytest.mark.parametrize("case", [*CASES, *AXIL])
def test_axil(case):
    """The example of docs/verilog.md is what is tested."""
    run("axil", SMALL, "icarus", case)


@pytest.mark.full
@pytest.mark.seconds(50)
def test_axil_on_verilator():
    run("axil", LARGE, "verilator", SLOW, *CASES, *AXIL)


@pytest.mark.parametrize("clocks", ["pulse", "sys"])
def test_as_the_litex_wrapper(clocks):
    """What holds for the LiteX wrapper holds for this one: its bench, on two clocks and on one."""
    parameters = {**LARGE, "ONE_CLOCK": int(clocks == "sys")}
    simulate("tb_wrapper", "litepulse_wishbone_tb", hdl_sources(TOP["wishbone"]), parameters, "icarus", env={"WRAPPER_DOMAIN": clocks})


def test_resets():
    simulate("tb_reset", "litepulse_reset", hdl_sources("litepulse_reset"), simulator="icarus")
