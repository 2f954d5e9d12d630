# SPDX-License-Identifier: BSD-2-Clause
"""`make bench`: a part that fails leaves its figures as they are; the exactness of the tests adds up."""

import importlib
import json
import os
import subprocess
import sys

import pytest

from litex_soc.bitstream import longest_way
from litex_soc.size import shortcomings
from sim.cocotb_rig import ROOT

bench = importlib.import_module("lab.bench.__main__")
PLACE = {
    "machine": {"processor": "P", "mhz": 1, "cores": 2, "load": 0.1},
    "date": "2026-01-02 03:04 UTC",
    "sources": "abc",
    "seconds": 5,
    "cpu_seconds": 4,
}


def test_no_exactness_noted(tmp_path):
    """One line says what to run, and the page stays as it is."""
    before = bench.PAGE.read_bytes()
    env = {**os.environ, "LITEPULSE_BUILD": str(tmp_path)}
    command = [sys.executable, "-m", "lab.bench", "exactness", "--no-write"]
    result = subprocess.run(command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
    lines = [line for line in result.stderr.splitlines() if not line.startswith("measuring")]
    assert result.returncode == 1 and len(lines) == 1 and bench.CORE_TESTS in lines[0]
    assert bench.PAGE.read_bytes() == before


@pytest.mark.parametrize("kept_here", [True, False])
def test_a_part_that_fails_keeps_the_figures_of_the_page(tmp_path, monkeypatch, capsys, kept_here):
    """Also if this machine has other, maybe older results, or none. The other parts are written; the exit status is 1."""

    def fails():
        raise error

    monkeypatch.setenv("LITEPULSE_BUILD", str(tmp_path))
    monkeypatch.setattr(bench, "PAGE", tmp_path / "page.md")
    monkeypatch.setitem(bench.PARTS, "drain", (bench.PARTS["drain"][0], fails))
    monkeypatch.setitem(bench.PARTS, "exactness", (bench.PARTS["exactness"][0], lambda: {"noted": "now"}))
    monkeypatch.setitem(bench.LINES, "exactness", lambda figures: [f"noted {figures['noted']}"])
    monkeypatch.setitem(bench.LINES, "drain", lambda figures: [f"{figures['raw']} records"])
    monkeypatch.setitem(bench.LINES, "speed", lambda figures: [f"{figures['raw']} cycles"])
    on_page, here = ({"format": bench.FORMAT, **PLACE, "figures": {"raw": raw}} for raw in (2.0, 1.0))
    for error in (bench.BenchError("the records drained are wrong"), KeyError("raw")):
        bench.PAGE.write_text(bench.page({"drain": on_page, "speed": on_page}))
        (tmp_path / "bench.json").write_text(json.dumps({"drain": here, "speed": here} if kept_here else {}))
        assert bench.main(["drain", "exactness"]) == 1
        lines = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("measuring")]
        assert len(lines) == 1 and lines[0].startswith("drain: ") and str(error) in lines[0]
        text = bench.PAGE.read_text()
        assert "2.0 records" in text and "2.0 cycles" in text and "noted now" in text
        assert json.loads((tmp_path / "bench.json").read_text()).get("drain") == (here if kept_here else None)


def test_exactness_adds_up(tmp_path):
    """Of the stimuli and errors that the tests noted; a damaged file is an error of one line."""
    path, names = tmp_path / "exactness.json", ("promise", "what", "simulator", "samples_per_cycle", "stimuli", "largest_error_ticks")
    rows = {
        "a": (3, "formats", "verilator", 1, 1000, 0),
        "b": (3, "formats", "icarus", 2, 234, "1/256"),
        "c": ("all", "random scene 1", "icarus", 1, 5, 0),
        "d": ("all", "random scene 2", "icarus", 1, 6, 0),
    }
    path.write_text(json.dumps({name: {**dict(zip(names, row)), "seed": 1} for name, row in rows.items()}))
    found = bench.measure_exactness(path)
    totals = {(row["promise"], row["what"]): (row["stimuli"], row["error"], row["samples"]) for row in found["rows"]}
    assert totals[3, "formats"] == (1234, "1/256", [1, 2]) and totals["all", "random scenes"][0] == 11 and len(totals) == 2
    assert {"1", "2", "4", "5", "6", "7"} <= set(found["missing"])
    path.write_text('{"1/x": {')
    with pytest.raises(bench.BenchError, match="damaged"):
        bench.measure_exactness(path)


def test_a_design_that_is_too_large_or_too_slow_is_noticed():
    """One placement that meets both clocks is enough to build it; of four, three with 5 % to spare are wanted."""
    spare, good, slow = ({"seed": 1, "LC": 5000, "RAM": 28, "fmax": {"pulse": mhz, "sys": 30.0}} for mhz in (50.4, 48.5, 47.0))
    assert not shortcomings([slow, good]) and not shortcomings([slow, spare, spare, spare])
    assert shortcomings([slow, slow]) == ["pulse: 47.0 MHz, needed 48"]
    assert len(shortcomings([spare, good, good, spare])) == 1
    (missed,) = shortcomings([{"seed": 1, "LC": 5281, "RAM": 28, "fmax": {}}])
    assert "does not fit" in missed


def test_the_critical_path_adds_up():
    """Ends by the names in the source, the sum of all delays, gates without the carries between them."""
    steps = [
        ("clk-to-q", 1.4, "a.count_SB_DFF_Q_D_SB_LUT4_O_LC", "O", "a.count_SB_DFF_Q_D_SB_LUT4_O_LC", "O"),
        ("routing", 2.5, "a.count_SB_DFF_Q_D_SB_LUT4_O_LC", "O", "x", "I1"),
        ("logic", 0.7, "x", "I1", "x", "COUT"),
        ("routing", 0.6, "x", "COUT", "y", "I3"),
        ("logic", 0.9, "y", "I3", "y", "O"),
        ("routing", 1.8, "y", "O", "b.state_SB_DFF_Q_2_DFFLC", "I0"),
        ("setup", 1.2, *("b.state_SB_DFF_Q_2_DFFLC", "I0") * 2),
    ]
    path = [
        {"type": kind, "delay": delay, "from": {"cell": a, "port": p}, "to": {"cell": b, "port": q}} for kind, delay, a, p, b, q in steps
    ]
    assert longest_way(path) == "a.count -> b.state, 9.1 ns, gates: 1"


def test_events_in_python(monkeypatch):
    """Each kind of work has a figure; one that does less than it should is no figure."""
    python_bench = importlib.import_module("lab.bench.python")
    monkeypatch.setattr(python_bench, "BURSTS", 3)
    monkeypatch.setattr(python_bench, "ROUNDS", 1)
    monkeypatch.setattr(python_bench, "STARTS", 1)
    result = python_bench.measure()
    assert result["us"].keys() == python_bench.WORK.keys() and all(us > 0 for us in result["us"].values())
    assert result["start"].keys() == python_bench.START.keys() and all(ms > 0 for ms in result["start"].values())
    table = python_bench.lines(result)[2 : 4 + len(python_bench.WORK)]
    assert table[-1].startswith("| as many rows") and all(line.count("|") == 5 for line in table)
    monkeypatch.setattr(python_bench, "decode", lambda: 3 * python_bench.BURST - 1)
    with pytest.raises(RuntimeError, match="decode: 185 of 186 events"):
        python_bench.measure()


def test_a_port_carries_more_in_frames(monkeypatch):
    """In simulated time: at 3 Mbaud at least 11,000 events a second, at 115,200 baud 1,500, and more than twice as many as without."""
    port_bench = importlib.import_module("lab.bench.port")
    lines = [(baud, hertz, 1) for baud, hertz in ((115_200, 2_400_000), (3_000_000, 48_000_000))]
    monkeypatch.setattr(port_bench, "LINES", lines)
    result = port_bench.measure()
    for baud, least in (("115200", 1_500), ("3000000", 11_000)):
        plain, framed = (result[baud][kind]["per_second"] for kind in ("plain", "frames"))
        assert framed > least and framed > 2 * plain > least / 2, result
        assert result[baud]["frames"]["transactions"] <= 3 < result[baud]["plain"]["transactions"]
    assert [line.count("|") for line in port_bench.lines(result)[3:]] == [8] * 6
