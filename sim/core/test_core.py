# SPDX-License-Identifier: BSD-2-Clause
"""Runs the whole-core tests: every module on Verilator at S = 1, 2, 4 and 8, most on Icarus, some across the carries of the time base,
and some with the pins of real boards. On Verilator each module checks what it takes for granted of the others (environment.py).

LITEPULSE_LONG=1 runs what takes minutes, too: full scale at the lowest bauds, more pulses and seeds, all modules on Icarus.
"""

import pytest

from sim.cocotb_rig import hdl_sources, simulate
from sim.core.environment import checks
from sim.long_runs import LONG

MODULES = (
    "tb_launch",
    "tb_train",
    "tb_besteffort",
    "tb_responder",
    "tb_capture",
    "tb_streams",
    "tb_pins",
    "tb_stranger",
    "tb_watchdog",
    "tb_port",
    "tb_lin",
    "tb_random",
)
# (INPUTS + 1) * S must not exceed 16.
INPUTS = {1: 4, 2: 4, 4: 3, 8: 1}
# Icarus is a second opinion, and slow.
ON_ICARUS = {
    1: ("tb_launch", "tb_responder", "tb_capture", "tb_watchdog", "tb_port", "tb_random"),
    2: ("tb_port", "tb_random"),
    4: ("tb_port", "tb_random"),
    8: (),
}


# The quick tier: each module once, and each number of samples per cycle that a board has.
QUICK = {
    1: ("tb_lin", "tb_random", "tb_responder", "tb_stranger", "tb_watchdog"),
    2: ("tb_besteffort", "tb_pins", "tb_train"),
    4: ("tb_capture", "tb_launch", "tb_port", "tb_streams"),
}
CASES = [
    pytest.param(
        module, samples, simulator, marks=() if simulator == "verilator" and module in QUICK.get(samples, ()) else pytest.mark.full
    )
    for simulator in ("verilator", "icarus")
    for samples in (1, 2, 4, 8)
    for module in MODULES
    if simulator == "verilator" or LONG or module in ON_ICARUS[samples]
]


def simulate_core(modules, samples, simulator, parameters=None, **options):
    """cocotb_rig.simulate() of the core, with its checks."""
    sources, build_args, defines = checks(simulator)
    simulate(
        modules,
        "litepulse_tb",
        [*sources, *hdl_sources("sim/core/litepulse_tb.sv")],
        {"S": samples, "INPUTS": INPUTS[samples], **(parameters or {})},
        simulator,
        build_args=[*build_args, "--timing"] if simulator == "verilator" else [],
        defines=defines,
        **options,
    )


@pytest.mark.parametrize("module, samples, simulator", CASES)
def test_core(module, samples, simulator):
    simulate_core(
        module,
        samples,
        simulator,
        env={"LITEPULSE_SHORT": 1} if samples == 8 and not LONG else {},  # no board has it
        timeout=3600 if LONG else 600,
    )


@pytest.mark.parametrize(
    "samples, simulator",
    [
        (1, "verilator"),
        pytest.param(2, "verilator", marks=pytest.mark.full),
        pytest.param(4, "verilator", marks=pytest.mark.full),
        pytest.param(1, "icarus", marks=pytest.mark.full),
    ],
)
def test_sequence(samples, simulator):
    """A core with waits and relative entries."""
    simulate_core("tb_sequence", samples, simulator, {"SEQUENCE": 1}, timeout=3600 if LONG else 600)


@pytest.mark.full
@pytest.mark.parametrize("samples", [1, 4])
def test_core_with_sequences(samples):
    """Launches that have nothing to do with a sequence are as without."""
    modules = ["tb_random", "tb_besteffort"]
    simulate_core(modules, samples, "verilator", {"SEQUENCE": 1}, timeout=3600 if LONG else 600)


@pytest.mark.full
@pytest.mark.parametrize("samples", [1, 2, 4])
@pytest.mark.parametrize(
    "module, case, parameters",
    [("tb_responder", "test_promise1_responder_bursts", {}), ("tb_sequence", "test_promise1_random_waits", {"SEQUENCE": 1})],
    ids=["bursts", "waits"],
)
def test_ten_thousand(module, case, parameters, samples):
    """Random triggers of bursts, random entries of the queue with waits."""
    simulate_core(module, samples, "verilator", parameters, testcase=case, env={"LITEPULSE_LONG": 1}, timeout=3600)


# A FIFO of events that is deeper than the window shows, and the deepest.
@pytest.mark.parametrize(
    "depth, samples, cases",
    [
        (9, 2, ("test_promise6_overflow_exact",)),
        (14, 1, ("test_promise6_longest_burst",)),
        pytest.param(10, 4, ("test_promise6_overflow_exact", "test_promise6_longest_burst"), marks=pytest.mark.full),
        pytest.param(14, 4, ("test_promise6_longest_burst",), marks=pytest.mark.full),
    ],
)
def test_deep_events(depth, samples, cases):
    simulate_core(["tb_streams"], samples, "verilator", {"EV_AW": depth}, testcase=list(cases), timeout=3600)


# The carries of the time base: the tick count starts some thousand cycles before the power of two. Each module with the cases that
# meet it, all of one build in one run.
ACROSS = {
    "tb_launch": ("test_promise3_every_format", "test_promise1_touching_within_one_cycle"),
    "tb_train": ("test_promise4_adjust_named_pulse", "test_promise4_skipped_pulses_use_their_number"),
    "tb_capture": ("test_promise5_filter", "test_promise5_received_less_launched", "test_promise5_receive_every_format"),
    "tb_stranger": ("test_promise5_stranger_sends",),
    "tb_port": ("test_promise1_marks",),
    "tb_lin": ("test_promise1_lin_across_a_carry", "test_promise1_lin_answers"),
    "tb_random": ("test_random_scenes",),
}
WRAP_CYCLES = 4000


@pytest.mark.full
@pytest.mark.parametrize(
    "samples, bit, simulator",
    [
        *((samples, bit, "verilator") for samples in (1, 2, 4) for bit in (32, 48)),
        (2, 33, "verilator"),
        (4, 34, "verilator"),
        (1, 48, "icarus"),
    ],
)
def test_across_a_carry(samples, bit, simulator):
    """The tick count passes 2**32 and 2**48 in the middle of everything; with several samples per cycle also the count of cycles 2**32."""
    modules = list(ACROSS) if simulator == "verilator" else ["tb_random"]
    simulate_core(
        modules,
        samples,
        simulator,
        {"WRAP_BIT": bit, "WRAP_CYCLES": WRAP_CYCLES},
        testcase=[case for module in modules for case in ACROSS[module]],
    )
