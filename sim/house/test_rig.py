# SPDX-License-Identifier: BSD-2-Clause
"""The rig must fail when it should: a test that fails, one that does not exist, sources that do not compile, a hang."""

from pathlib import Path

import pytest

from litex_soc import build_cache
from sim.bench_files import bench_files
from sim.cocotb_rig import ROOT, BuildError, Count, hdl_sources, headers, simulate

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


def test_changed_source_is_built_again(counter):
    simulate("tb_rig_counter", "counter", counter, {"STEP": 1}, "icarus", testcase="counts")
    counter[0].write_text(COUNTER.replace("count + STEP", "count - STEP"))
    with pytest.raises(AssertionError, match=r"failed: tb_rig_counter\.counts"):
        simulate("tb_rig_counter", "counter", counter, {"STEP": 1}, "icarus", testcase="counts")


@pytest.fixture
def receive(tmp_path, monkeypatch):
    """receive(): simulates a small bench of the project, nothing known at first; returns whether it was really run."""
    monkeypatch.setattr(build_cache, "CACHE", tmp_path / "cache")
    for name in ("LITEPULSE_SEED", "LITEPULSE_FRESH", "WAVES"):
        monkeypatch.delenv(name, raising=False)

    def run(testcase=None, **options):
        known = Count.known
        top, parameters = "litepulse_receive", {"RING_AW": 4}
        passed = simulate("tb_receive", top, hdl_sources(top), parameters, "icarus", testcase=testcase, **options)
        assert passed and all(name.startswith("tb_receive.") for name in passed)
        return Count.known == known

    return run


@pytest.mark.full
def test_a_pass_is_remembered(receive, monkeypatch):
    """With the same model, bench and seed a simulation ends the same way, so it is not run again."""
    assert receive() and not receive()
    assert receive(env={"OTHER": "1"})
    monkeypatch.setenv("LITEPULSE_SEED", "7")
    assert receive() and not receive()
    monkeypatch.setenv("LITEPULSE_SEED", "random")
    assert receive() and receive()
    monkeypatch.delenv("LITEPULSE_SEED")
    assert not receive()
    monkeypatch.setenv("LITEPULSE_FRESH", "1")
    assert receive()


@pytest.mark.full
@pytest.mark.parametrize("file", ["sim/blocks/tb_receive.py", "hdl/limits.toml"])
def test_a_changed_bench_is_run_again(receive, file, append):
    assert receive() and not receive()
    append(file, b"\nmore\n")
    assert receive()


@pytest.mark.full
@pytest.mark.parametrize(
    "file, comment", [("sim/blocks/tb_receive.py", b"# more\n"), ("hdl/litepulse_receive.sv", b"\n// more\n"), ("docs/core.md", b"more")]
)
def test_a_comment_runs_nothing(receive, file, comment, append):
    assert receive()
    append(file, comment)
    assert not receive()


@pytest.fixture
def append(monkeypatch):
    """append(file, data): from now on a file of the project reads as if this were at its end."""

    def added(file, data):
        read_bytes = Path.read_bytes
        assert (ROOT / file).is_file()
        monkeypatch.setattr(Path, "read_bytes", lambda path: read_bytes(path) + data * (path == ROOT / file))

    return added


def test_a_failure_is_not_remembered(counter):
    for _ in range(2):
        with pytest.raises(AssertionError, match="breaks"):
            simulate("tb_rig_counter", "counter", counter, {"STEP": 3}, "icarus", testcase="breaks")


def test_a_bench_from_elsewhere_is_not_remembered(counter):
    known = Count.known
    for _ in range(2):
        simulate("tb_rig_counter", "counter", counter, {"STEP": 3}, "icarus", testcase="counts")
    assert Count.known == known


def test_a_comment_names_no_source(tmp_path):
    """Only code decides which modules and headers a source needs."""
    hdl = ROOT / "hdl"
    path = tmp_path / "uses.sv"
    path.write_text("// litepulse_slot\nmodule uses; /* litepulse_train */ litepulse_echo echo ();\nendmodule\n")
    assert hdl_sources(str(path)) == [path, hdl / "litepulse_echo.sv"]
    assert hdl_sources("litepulse_watchdog") == [hdl / "litepulse_watchdog.sv"]
    (tmp_path / "used.svh").touch()
    (tmp_path / "unused.svh").touch()
    path.write_text('// `include "unused.svh"\nmodule uses;\n  `include "used.svh"\nendmodule\n')
    assert headers([path]) == [tmp_path / "used.svh"]


def test_bench_files_are_followed():
    """Helpers of a bench and what these import, the generated register map among it; no test, and nothing of the design's own."""
    names = {str(path.relative_to(ROOT)) for path in bench_files(["sim.core.tb_launch"], ROOT / "hdl")}
    assert {"sim/core/tb_launch.py", "sim/core/bench.py", "sim/core/model.py", "litex_soc/regmap.py", "hdl/limits.toml"} <= names
    assert not any(name.startswith("sim/core/test_") or name.startswith("hdl/litepulse") for name in names)
    assert "sim/core/model.py" not in {str(path.relative_to(ROOT)) for path in bench_files(["sim.blocks.tb_receive"], ROOT / "hdl")}
