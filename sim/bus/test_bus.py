# SPDX-License-Identifier: BSD-2-Clause
"""The core without LiteX: behind Wishbone and AXI4-Lite, with its own registers and resets."""

import re
import shutil

import pytest

from sim.cocotb_rig import hdl_sources, headers, simulate

LARGE = {"INPUTS": 4, "LIN_ENTRIES": 64, "EV_AW": 8, "LQ_AW": 6}
SMALL = {"INPUTS": 2, "LIN_ENTRIES": 0, "EV_AW": 5, "LQ_AW": 3}
SLOW = "a_host_that_falls_silent"  # millions of cycles
CASES = ["what_it_is", "settings", "what_happened", "interrupts", "to_the_tick", "parts_of_words"]
AXIL = ["all_channels_at_once", "answers_wait"]
NO_WAIT = {"wishbone": {}, "axil": {"RESET_WAIT": 0}}  # these RAMs can be read at once
TOP = {"wishbone": "sim/bus/litepulse_wishbone_tb.sv", "axil": "examples/verilog/axi_lite.sv"}


def run(kind, size, simulator, *cases):
    file = TOP[kind]
    top = file.rpartition("/")[2].removesuffix(".sv")
    passed = simulate(
        "tb_bus", top, hdl_sources(file), {**size, **NO_WAIT[kind], "SIMULATED": 1}, simulator, env={"BUS_KIND": kind}, testcase=cases
    )
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


@pytest.mark.parametrize("wait", [0, 1, 37])
def test_resets(wait):
    simulate("tb_reset", "litepulse_reset", hdl_sources("litepulse_reset"), {"WAIT": wait}, "icarus")


# A chip that wakes up: memories that synthesis may put into block RAM read 0 for a while after configuration, as an iCE40's do.


def waking(folder, sources, dead_ns):
    """Copies of `sources` in `folder`, in the same order, in which each read of a memory gives 0 until `dead_ns` after configuration."""
    copies, changed = [], set()
    for source in sources:
        text = source.read_text()
        for memory in re.findall(r"\(\*[^*]*ram_style[^*]*\*\) logic [^;]*?(\w+)\[[^;\]]*\];", text):
            text, reads = re.subn(rf"<= ([^;<]*\b{memory}\[[^;]*);", rf"<= $realtime < {dead_ns} ? 0 : \1;", text)
            assert reads, f"{source.name}: no read of {memory} found"
            changed.add((source.stem, memory))
        copies.append(folder / source.name)
        copies[-1].write_text(text)
    for header in headers(sources):
        shutil.copyfile(header, folder / header.name)
    memories = {
        ("litepulse_program", "code"),
        ("litepulse_program_sequence", "code"),
        ("litepulse_ram", "mem"),
        ("litepulse_sequencer", "mem"),
    }
    stores = {("litepulse_receive_store", "mem_lo"), ("litepulse_receive_store", "mem_hi"), ("litepulse_lin", "entry_memory")}
    stores |= {("litepulse_responder", "stored")}
    assert changed == memories | stores
    return copies


def wake(tmp_path, case, dead_ns, period_ps, wait=None):
    """Runs a case of tb_wake on the example of 58 pulses a second."""
    sources = hdl_sources("examples/verilog/pulse_58hz.sv")
    found = (re.search(r"parameter int (?:RESET_)?WAIT = (\d+)", source.read_text()) for source in sources)
    (default,) = {int(match[1]) for match in found if match}  # of litepulse_reset and of the example
    held = default if wait is None else wait
    environment = {"WAKE_PERIOD_PS": period_ps, "WAKE_RESET_CYCLES": max(held + 3, 6) + 2}
    passed = simulate(
        "tb_wake", "pulse_58hz", waking(tmp_path, sources, dead_ns), {"RESET_WAIT": held}, "icarus", env=environment, testcase=case
    )
    assert {name.rpartition(".")[2] for name in passed} == {case}


@pytest.mark.parametrize("dead_us, period_ps", [(3, 83_334), (15, 3_664)], ids=["at-12-MHz", "at-273-MHz"])
def test_block_ram_that_wakes_up_late(tmp_path, dead_us, period_ps):
    """The reset outlasts it, also with the fastest clock for which docs/verilog.md says that it is enough."""
    wake(tmp_path, "the_first_pulse", dead_us * 1000, period_ps)


def test_without_the_wait_it_would_be_noticed(tmp_path):
    """The model of a chip that wakes up shows the fault that the wait is for, and is right without it."""
    for case, dead_ns in (("no_pulse", 1000), ("the_first_pulse", 0)):
        folder = tmp_path / case
        folder.mkdir()
        wake(folder, case, dead_ns, 83_334, wait=0)
