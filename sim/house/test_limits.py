# SPDX-License-Identifier: BSD-2-Clause
"""docs/limits.md: what scripts/limits.py would write; a limit that has no source, or two, is noticed."""

import re

import pytest

from litex_soc.limits import cycles, latencies
from litex_soc.phys import PHYS
from scripts import limits
from sim.cocotb_rig import ROOT


def test_a_stale_page_is_noticed_and_written_again(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(limits, "PAGE", tmp_path / "limits.md")
    assert limits.main(["--check"]) == 1 and limits.main([]) == 0 and limits.main(["--check"]) == 0
    text = limits.PAGE.read_text()
    limits.PAGE.write_text(text.replace("400 kHz", "401 kHz"))
    assert limits.main(["--check"]) == 1 and "is stale; run: python scripts/limits.py" in capsys.readouterr().err


def test_what_newcomers_met_only_in_errors():
    """A limit at 48 MHz, written as an error message has it."""
    text = limits.page()
    for row in (
        "| shortest period | 2.5 µs (400 kHz) | 120 cycles",
        "| shortest period of a train that can be changed | 6.667 µs (150 kHz) | 320 cycles",
        "| longest period | 89.478 s |",
        "| longest delay | 89.478 s | 4,294,967,295 ticks |",
        "| period of a burst | 375 ns to 89.478 s | 18 cycles, and the `de` lead; up to 4,294,967,295 ticks |",
    ):
        assert row in text, row


def test_every_row_names_a_page():
    page = re.sub(r"(?s)\n#+ Bursts that nothing reads\n.*?(?=\n#|\Z)", "", limits.page())  # its table has other columns
    rows = [line for line in page.splitlines() if line.count(" | ") == 3 and not line.startswith("| |")]
    assert len(rows) > 50
    for row in rows:
        (page,) = re.findall(r"\[[\w. -]+\]\(([\w./-]+\.md)(?:#[\w-]+)?\) \|$", row)
        assert (ROOT / "docs" / page).is_file(), row


def test_a_source_that_is_gone_is_noticed():
    with pytest.raises(SystemExit, match=r"driver/litepulse_ring.h: 0 matches of \^#define LITEPULSE_RING_LEAST"):
        limits.defined("litepulse_ring.h", "LITEPULSE_RING_LEAST")
    with pytest.raises(SystemExit, match="matches of"):
        limits.found("driver/litepulse_ring.h", r"^#define (\w+)")


@pytest.mark.parametrize("number, text", [(1 << 32, "2³²"), ((1 << 32) - 2, "2³² − 2"), (1 << 15, "2¹⁵")])
def test_powers(number, text):
    assert limits.power(number) == text


def test_pages_and_headers_quote_the_constants():
    """hdl/limits.toml is their one source."""
    table = re.findall(r"(?m)^\| `([A-Z_]+)` \| (\d+) \|", (ROOT / "docs" / "core.md").read_text())
    assert {name: int(value) for name, value in table} == cycles() and len(table) == len(cycles())
    table = re.findall(r"(?m)^\| `(\w+)` \| \d \|.*\| (\d) \| (\d) \|[^|]*\|[^|]*\|$", (ROOT / "docs" / "pins.md").read_text())
    assert {name: (int(into), int(out)) for name, into, out in table} == {name: phy.latencies for name, phy in PHYS.items()}
    for name in (*PHYS, "model"):
        header = (ROOT / "hdl" / "phy" / f"litepulse_phy_{name}.sv").read_text().partition("\nmodule ")[0]
        stated = [re.findall(rf"LATENCY_{way} = (\d+)", header) for way in ("IN", "OUT")]
        assert stated == [[str(latency)] for latency in latencies(name)], name
