# SPDX-License-Identifier: BSD-2-Clause
"""The rig must fail when it should: a test that fails, one that does not exist, sources that do not compile, a hang."""

import pytest
import rig
from rig import BuildError, content_key, recall, remember, simulate

COUNTER = """
module counter #(parameter int STEP = 1) (input logic clk, output logic [7:0] count);
  initial count = 0;
  always_ff @(posedge clk) count <= count + STEP;
endmodule
"""
BENCH = """
import os
import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, Timer

@cocotb.test()
async def counts(dut):
    Clock(dut.clk, 10, "ns").start()
    await ClockCycles(dut.clk, 1)
    start = int(dut.count.value)
    await ClockCycles(dut.clk, 5)
    assert int(dut.count.value) - start == 5 * int(os.environ["LITEPULSE_PARAM_STEP"])

@cocotb.test()
async def breaks(dut):
    await Timer(1, "ns")
    assert False, "as asked"

@cocotb.test(skip=True)
async def skipped(dut):
    pass

@cocotb.test()
async def draws(dut):
    import random
    with open(os.environ["DRAWN"], "a") as file:
        file.write(f"{random.getrandbits(60)}\\n")

@cocotb.test()
async def hangs(dut):
    while True:
        await Timer(1, "ms")
"""
SIMULATORS = pytest.mark.parametrize("simulator", ["verilator", "icarus"])


@pytest.fixture
def counter(tmp_path, monkeypatch):
    """Sources of a tiny design, its bench importable as tb_rig_counter."""
    (tmp_path / "counter.sv").write_text(COUNTER)
    (tmp_path / "tb_rig_counter.py").write_text(BENCH)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv("LITEPULSE_SEED", raising=False)
    return [tmp_path / "counter.sv"]


@SIMULATORS
def test_pass_and_parameters(counter, simulator):
    assert simulate("tb_rig_counter", "counter", counter, {"STEP": 3}, simulator, testcase="counts") == ["tb_rig_counter.counts"]


@SIMULATORS
def test_failure_is_named(counter, simulator):
    with pytest.raises(AssertionError, match=r"failed: tb_rig_counter\.breaks\n(.*\n)*.*as asked"):
        simulate("tb_rig_counter", "counter", counter, {"STEP": 3}, simulator, testcase=["counts", "breaks"])


def test_nothing_run_is_a_failure(counter):
    with pytest.raises(AssertionError):
        simulate("tb_rig_counter", "counter", counter, {"STEP": 3}, "icarus", testcase="no_such_case")


def test_missing_bench_is_a_failure(counter):
    with pytest.raises(AssertionError):
        simulate("tb_there_is_none", "counter", counter, {"STEP": 3}, "icarus")


@SIMULATORS
def test_compile_error_is_not_a_test_failure(tmp_path, simulator):
    (tmp_path / "broken.sv").write_text("module broken (input logic clk; endmodule\n")
    with pytest.raises(BuildError, match="syntax error"):
        simulate("tb_there_is_none", "broken", [tmp_path / "broken.sv"], simulator=simulator)


def test_hang_is_stopped(counter):
    with pytest.raises(AssertionError, match="stopped after 3 s"):
        simulate("tb_rig_counter", "counter", counter, {"STEP": 3}, "icarus", testcase="hangs", timeout=3)


def test_seed_is_repeatable_and_can_be_set(counter, tmp_path, monkeypatch):
    def drawn(seed=None):
        monkeypatch.setenv("LITEPULSE_SEED", seed or "")
        file = tmp_path / "drawn"
        file.unlink(missing_ok=True)
        simulate("tb_rig_counter", "counter", counter, {"STEP": 3}, "icarus", env={"DRAWN": file}, testcase="draws")
        return file.read_text()
    assert drawn() == drawn()
    assert drawn("7") == drawn("7") != drawn("8")
    assert drawn("random") != drawn("random")


def test_changed_source_is_built_anew(counter):
    simulate("tb_rig_counter", "counter", counter, {"STEP": 1}, "icarus", testcase="counts")
    counter[0].write_text(COUNTER.replace("count + STEP", "count - STEP"))
    with pytest.raises(AssertionError, match=r"failed: tb_rig_counter\.counts"):
        simulate("tb_rig_counter", "counter", counter, {"STEP": 1}, "icarus", testcase="counts")


def test_memory(tmp_path, monkeypatch):
    """What is remembered is found by the same inputs only, and not at all when all is to be run again."""
    monkeypatch.setattr(rig, "CACHE", tmp_path / "cache")
    monkeypatch.delenv("LITEPULSE_FRESH", raising=False)
    source = tmp_path / "source.sv"
    source.write_text("one")
    key = content_key("bench", [source])
    assert recall("kind", key) is None
    remember("kind", key, {"status": "PASS"})
    assert recall("kind", key) == {"status": "PASS"}
    assert recall("other", key) is None
    monkeypatch.setenv("LITEPULSE_FRESH", "1")
    assert recall("kind", key) is None
    monkeypatch.setenv("LITEPULSE_FRESH", "0")
    source.write_text("two")
    assert recall("kind", content_key("bench", [source])) is None
    (tmp_path / "cache" / "kind" / f"{key}.json").write_text("{half of a")
    assert recall("kind", key) is None
