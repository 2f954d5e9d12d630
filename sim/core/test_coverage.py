# SPDX-License-Identifier: BSD-2-Clause
"""The report of `make coverage`: what counts as reached, and that nothing is passed over."""

from lab import coverage
from lab.coverage import Point, points

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
