# SPDX-License-Identifier: BSD-2-Clause
"""`make bench`: what it prints when there is nothing to print, what its tables say."""

import importlib
import importlib.machinery
import json
import os
import subprocess
import sys

import pytest

from sim.cocotb_rig import ROOT

bench = importlib.import_module("sim.bench.__main__")
PLACE = {
    "machine": {"processor": "P", "mhz": 1, "cores": 2, "load": 0.1},
    "date": "2026-01-02 03:04 UTC",
    "sources": "abc",
    "seconds": 5,
    "cpu_seconds": 4,
}


def run(*arguments, build):
    """`python -m sim.bench ...` to its end, results kept in `build`."""
    env = {**os.environ, "LITEPULSE_BUILD": str(build)}
    return subprocess.run(
        [sys.executable, "-m", "sim.bench", *arguments],
        cwd=ROOT,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def note(path, **rows):
    """An exactness.json as the tests write it; a row is (promise, what, simulator, S, stimuli, error)."""
    names = ("promise", "what", "simulator", "samples_per_cycle", "stimuli", "largest_error_ticks")
    path.write_text(json.dumps({name: {**dict(zip(names, row)), "seed": 1} for name, row in rows.items()}))


def test_help(tmp_path):
    result = run("--help", build=tmp_path)
    assert result.returncode == 0 and result.stderr == "" and all(part in result.stdout for part in bench.PARTS)
    result = run("weight", build=tmp_path)
    assert result.returncode == 2 and "no part is called weight" in result.stderr


def test_no_exactness_noted(tmp_path):
    before = bench.PAGE.read_bytes() if bench.PAGE.exists() else None
    result = run("exactness", "--no-write", build=tmp_path)
    said = [line for line in result.stderr.splitlines() if not line.startswith("measuring")]
    assert result.returncode == 1 and len(said) == 1 and "Traceback" not in result.stderr
    assert said[0].startswith("exactness: not measured: no exactness noted yet") and bench.CORE_TESTS in said[0]
    assert (bench.PAGE.read_bytes() if bench.PAGE.exists() else None) == before


def test_a_part_that_fails_keeps_the_old_figures(tmp_path, monkeypatch, capsys):
    """On the page and among the results; one line says why, and the exit status is 1. The other parts are written."""

    def fails():
        raise error

    def measured():
        return {"noted": "now"}

    monkeypatch.setenv("LITEPULSE_BUILD", str(tmp_path))
    monkeypatch.setattr(bench, "PAGE", tmp_path / "page.md")
    monkeypatch.setitem(bench.PARTS, "drain", (bench.PARTS["drain"][0], fails))
    monkeypatch.setitem(bench.PARTS, "exactness", (bench.PARTS["exactness"][0], measured))
    monkeypatch.setitem(bench.LINES, "exactness", lambda figures: [f"noted {figures['noted']}"])
    kept = {"drain": {**PLACE, "format": bench.FORMAT, "figures": {"raw": 1.0}}}
    monkeypatch.setitem(bench.LINES, "drain", lambda figures: [f"{figures['raw']} records"])
    for error in (bench.BenchError("the records drained are wrong"), KeyError("raw")):
        bench.PAGE.write_text(bench.page(kept))
        (tmp_path / "bench.json").write_text(json.dumps(kept))
        assert bench.main(["drain", "exactness"]) == 1
        said = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("measuring")]
        assert len(said) == 1 and said[0].startswith("drain: not measured: ") and str(error) in said[0]
        assert "1.0 records" in bench.PAGE.read_text() and "noted now" in bench.PAGE.read_text()
        assert json.loads((tmp_path / "bench.json").read_text())["drain"] == kept["drain"]


def test_damaged_exactness(tmp_path):
    (tmp_path / "exactness.json").write_text('{"1/x": {')
    with pytest.raises(bench.BenchError) as error:
        bench.measure_exactness(tmp_path / "exactness.json")
    assert "damaged" in str(error.value) and "\n" not in str(error.value)


def test_exactness_adds_up(tmp_path):
    path = tmp_path / "exactness.json"
    note(
        path,
        a=(3, "formats", "verilator", 1, 1000, 0),
        b=(3, "formats", "icarus", 2, 234, "1/256"),
        c=(4, "skipped pulses", "icarus", 1, 7, 0),
        d=("all", "random scene 1", "icarus", 1, 5, 0),
        e=("all", "random scene 2", "icarus", 1, 6, 0),
        f=(6, "bytes lost and told", "icarus", 1, 9, None),
    )
    found = bench.measure_exactness(path)
    rows = {(row["promise"], row["what"]): row for row in found["rows"]}
    assert rows[3, "formats"] == {
        "promise": 3,
        "what": "formats",
        "stimuli": 1234,
        "error": "1/256",
        "samples": [1, 2],
        "simulators": ["icarus", "verilator"],
    }
    assert rows["all", "random scenes"]["stimuli"] == 11 and len(rows) == 4
    assert {"1", "2", "5", "6", "7"} <= set(found["missing"]) and "all" not in found["missing"] and not found["older"]
    text = "\n".join(bench.exactness_lines(found))
    assert "| 3 identical frames | 1,234 | 1/256 |" in text and "| 1 precise or not at all | 0 | not noted |" in text
    assert "| 6 no silent loss | 9 | records only, all equal |" in text
    assert "**Incomplete" in text and bench.CORE_TESTS in text
    os.utime(path, (1, 1))
    found = bench.measure_exactness(path)
    assert found["older"] and "newer than these figures" in "\n".join(bench.exactness_lines(found))


def test_every_promise_is_expected_to_note_something():
    assert {promise for promise, _ in bench.expected_rows()} == set(bench.PROMISES)


def test_a_design_that_does_not_fit_is_called_so():
    large = {"seed": 1, "LC": 6000, "RAM": 24, "fmax": {}}
    small = {"seed": 2, "LC": 5000, "RAM": 24, "fmax": {"pulse": 47.0, "sys": 30.0}}
    blocks = {"litepulse": {"LC": 3001, "RAM": 20}}
    text = "\n".join(bench.size_lines({"soc": [large, large], "bridge": None, "blocks": blocks}))
    assert text.count("**does not fit**") == 1 and "not placed" in text and "no clock frequency" in text
    assert "| the core alone, packed | 3,001 |" in text
    text = "\n".join(bench.size_lines({"soc": [small], "bridge": None, "blocks": {}}))
    assert "**clocks not met**" in text and "47.0" in text and "does not fit" not in text
    small["fmax"]["pulse"] = 48.0
    assert "both clocks met" in "\n".join(bench.size_lines({"soc": [small], "bridge": None, "blocks": {}}))


def test_what_is_missed_is_told():
    """One placement that meets both clocks is enough to build it, three of four with 5 % to spare are wanted; told in the page too."""
    from litex_soc.size import shortcomings

    spare, good, slow = ({"seed": 1, "LC": 5000, "RAM": 28, "fmax": {"pulse": mhz, "sys": 30.0}} for mhz in (50.4, 48.5, 47.0))
    assert not shortcomings([slow, good]) and not shortcomings([slow, spare, spare, spare])
    assert shortcomings([slow, slow]) == ["pulse: 47.0 MHz, needed 48"]
    assert shortcomings([spare, good, good, spare]) == ["2 of 4 placements have 5% to spare, 3 are wanted"]
    missed = shortcomings([{"seed": 1, "LC": 5281, "RAM": 28, "fmax": {}}])
    assert len(missed) == 1 and "does not fit" in missed[0]
    assert "**Missed:** " + "; ".join(missed) in "\n".join(bench.size_lines({"soc": [slow], "missed": missed}))


def test_the_longest_way_is_told():
    """Ends by the names in the source, the sum of all delays, gates without the carries between them."""
    from litex_soc.bitstream import longest_way

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


def test_page_says_what_is_not_there(tmp_path, monkeypatch):
    """Figures that were measured elsewhere stay; what was never measured is said."""
    monkeypatch.setattr(bench, "PAGE", tmp_path / "page.md")
    monkeypatch.setitem(bench.LINES, "size", lambda figures: [f"{figures} cells"])
    text = bench.page({"size": {**PLACE, "figures": 5000}})
    assert text.splitlines()[0].startswith("<!-- Written by `python -m sim.bench`") and "5000 cells" in text
    assert "2026-01-02 03:04 UTC, sources abc; P, 2 cores, load 0.1" in text
    assert all(f"Not measured yet: `python -m sim.bench {part}`" in text for part in ("speed", "drain", "exactness"))
    bench.PAGE.write_text(text.replace("Not measured yet: `python -m sim.bench drain`.", "40,000 records\n\n| a |"))
    kept = bench.page({})
    assert "\n## Events through the bridge\n\n40,000 records\n\n| a |\n\n## Exactness\n" in kept and "5000 cells" in kept
    bench.PAGE.write_text(kept)
    assert bench.page({}) == kept


def test_results_of_another_program_are_not_shown(tmp_path, monkeypatch):
    monkeypatch.setenv("LITEPULSE_BUILD", str(tmp_path))
    kept = {"drain": {"figures": 1}, "speed": {"format": bench.FORMAT, "error": "x"}, "size": {"format": bench.FORMAT, "figures": 1}}
    for text in (json.dumps(kept), "{", "[]"):
        (tmp_path / "bench.json").write_text(text)
        assert set(bench.load()) == ({"size"} if "size" in text else set())
