# SPDX-License-Identifier: BSD-2-Clause
"""The report of `make coverage`: what counts as reached, and that nothing is passed over."""

import pytest

from sim import coverage
from sim.coverage import Point, points

SLOT = "/somewhere/hdl/litepulse_slot.sv"


def record(kind, line, what, times, file=SLOT, column=3, scope="TOP.tb.a"):
    """A line of Verilator's file."""
    fields = {"f": file, "l": line, "n": column, "page": f"v_{kind}/litepulse_slot", "o": what, "h": scope}
    return "C '" + "".join(f"\x01{name}\x02{value}" for name, value in fields.items()) + f"' {times}\n"


def test_points_of_all_instances_are_one():
    text = "# SystemC::Coverage-3\n" + record("line", 7, "block", 0) + record("line", 7, "block", 3, scope="TOP.tb.b")
    text += record("toggle", 9, "sum[3]:0->1", 0) + record("line", 1, "block", 5, file="/somewhere/sim/litepulse_tb.sv")
    text += record("user", 9, "cover", 5)
    assert dict(points(text)) == {
        Point("litepulse_slot", "line", 7, 3, "block"): 3,
        Point("litepulse_slot", "toggle", 9, 3, "sum[3]:0->1"): 0,
    }


@pytest.mark.parametrize(
    "what, signal", [("sum[3]:0->1", "sum"), ("due:1->0", "due"), ("head.level[2][1]:0->1", "head.level"), ("launch.off", "launch.off")]
)
def test_signal_of_a_toggle(what, signal):
    assert Point("m", "toggle", 1, 1, what).signal == signal


def test_what_is_not_reached_needs_a_reason():
    """One line for each signal; a reason of the module comes before one of all."""
    lines = (coverage.ROOT / "hdl" / "litepulse_slot.sv").read_text().splitlines()
    place = next(number for number, line in enumerate(lines, 1) if "armed <= 1'b0;" in line)
    reached = {
        Point("litepulse_slot", "toggle", 9, 3, "sum[0]:0->1"): 1,
        Point("litepulse_slot", "toggle", 9, 3, "sum[1]:0->1"): 0,
        Point("litepulse_slot", "toggle", 9, 3, "sum[1]:1->0"): 0,
        Point("litepulse_slot", "branch", place, 3, "else"): 0,
    }
    page, unexplained = coverage.module_part("litepulse_slot", reached, {"*": {"sum": "of all"}})
    assert "Lines -, branches 0 of 1, toggles 1 of 3." in page and "| `sum[1]` | 2 | of all |" in page
    (name,) = unexplained
    assert name == f"litepulse_slot: branch else: {lines[place - 1].strip()}"
    known = {"*": {"sum": "of all"}, "litepulse_slot": {"su*": "its own", "branch else: *": "never"}}
    page, unexplained = coverage.module_part("litepulse_slot", reached, known)
    assert not unexplained and "| `sum[1]` | 2 | its own |" in page
    page, _ = coverage.module_part("litepulse_slot", reached, {"*": {"*": "the same"}})
    assert f"| `sum[1]`, `branch else: {lines[place - 1].strip()}` | 3 | the same |" in page


def test_bits():
    group = [Point("m", "toggle", 1, 1, f"off[{bit}]:{way}") for bit in (7, 6, 3, 1, 0) for way in ("0->1", "1->0")]
    assert coverage.bits(group) == "[7:6,3,1:0]" and coverage.bits([Point("m", "toggle", 1, 1, "due:0->1")]) == ""


def test_runs():
    """Each bench with each number of samples, and what crosses a carry."""
    found = coverage.runs((1, 8), ("tb_launch", "tb_pins"))
    assert [(one.name, one.benches) for one in found] == [
        ("tb_launch-1", ("tb_launch",)),
        ("tb_pins-1", ("tb_pins",)),
        ("tb_launch-8", ("tb_launch",)),
        ("tb_pins-8", ("tb_pins",)),
        ("carry32-1", ("tb_launch",)),
        ("carry48-1", ("tb_launch",)),
    ]


def test_reasons_are_of_modules_there_are():
    for module, patterns in coverage.reasons().items():
        assert module == "*" or (coverage.ROOT / "hdl" / f"{module}.sv").is_file()
        assert all(patterns.values())


@pytest.mark.parametrize("words", [["--samples", "3"], ["--benches", "tb_none"]])
def test_bad_words(words, capsys):
    with pytest.raises(SystemExit) as ended:
        coverage.main(words)
    assert ended.value.code == 2 and "error: " in capsys.readouterr().err
