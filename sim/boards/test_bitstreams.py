# SPDX-License-Identifier: BSD-2-Clause
"""Bitstreams: those that are built in every run, what a build refuses, and the page with the figures of all boards."""

import json
import math
import re
import subprocess
import sys
import threading
import time
from fractions import Fraction
from pathlib import Path

import pytest

from litex_soc import bitstream, boards, boards_page, regmap
from litex_soc.bitstream import (
    Result,
    ToolError,
    bitstream_path,
    build,
    crossing_ns,
    longest_way,
    main,
    read_report,
    settling_ns,
    shortcomings,
)
from litex_soc.board import ChoiceError, choose, make_soc
from litex_soc.phys import PHYS
from sim.cocotb_rig import ROOT

SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
FIRST = {".bin": bytes.fromhex("ff0000ff7eaa997e"), ".bit": bytes.fromhex("ff00")}  # how a bitstream begins


@pytest.mark.parametrize(
    "name", [pytest.param("icebreaker", marks=pytest.mark.seconds(400)), pytest.param("ulx3s", marks=pytest.mark.seconds(300))]
)
@pytest.mark.full
def test_board(name):
    """It fits, meets both clocks with the margin that is reported, and there is a bitstream of the part."""
    choice = choose(name)
    results = build(choice)
    best = results[0]
    assert best.fits and shortcomings(choice, best) == []
    assert best.margin >= 0 and set(best.fmax) == set(best.needed) == {"pulse", "sys"}
    assert best.needed["pulse"] * 10**6 == choice.pulse_hz and all(best.fmax[c] >= mhz for c, mhz in best.needed.items())
    path = bitstream_path(choice)
    data = path.read_bytes()
    assert data.startswith(FIRST[path.suffix]) and len(data) > 100_000
    if path.suffix == ".bit":
        assert b"LFE5U-85F" in data[:200]


def test_two_builds_of_one_board(monkeypatch, tmp_path):
    """The second one waits: it begins with an empty folder, and would take the first one's files away."""
    monkeypatch.setattr(bitstream, "BUILD", tmp_path / "boards")
    inside, most = [], []

    def begin(choice, folder):
        inside.append(folder)
        most.append(len(inside))
        time.sleep(0.2)
        inside.pop()
        raise InterruptedError

    monkeypatch.setattr(bitstream, "write_sources", begin)

    def attempt():
        with pytest.raises(InterruptedError):
            build(choose("icebreaker"))

    others = [threading.Thread(target=attempt) for _ in range(2)]
    for other in others:
        other.start()
    for other in others:
        other.join()
    assert most == [1, 1]


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([], "no board given (BOARD=...); there is icebreaker, alchitry_cu, ulx3s, colorlight_i5, orangecrab, ecpix5"),
        (["icestick"], "no board icestick; there is icebreaker, alchitry_cu"),
        (["alchitry_cu", "--samples", "4"], "no PHY with samples per cycle 4 on Alchitry Cu; there is 2, 1"),
        (["ulx3s", "--fpga", "12f"], "no FPGA 12f on ULX3S; there is 85f, 45f"),
        (["icebreaker", "--variant", "linux"], "no variant linux on iCEBreaker; there is uartbone"),
        (["ulx3s", "--samples", "x"], "no PHY with samples per cycle x on ULX3S; there is 4, 2, 1"),
    ],
)
def test_refuses(arguments, message, capsys, monkeypatch, tmp_path):
    """One line that lists what there is, exit status 2, nothing built."""
    monkeypatch.setattr(bitstream, "BUILD", tmp_path / "boards")
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith(message) and err.count("\n") == 1
    assert not (tmp_path / "boards").exists()


def test_pins_that_clash(monkeypatch, tmp_path, capsys):
    """The same for pins: before anything is synthesised."""
    from litex_soc import constraints

    text = (ROOT / "constraints" / "icebreaker.toml").read_text()
    (tmp_path / "icebreaker.toml").write_text(text.replace('rx = "PMOD1A:1"', 'rx = "PMOD1A:0"'))
    monkeypatch.setattr(constraints.load, "__defaults__", (tmp_path,))
    assert main(["icebreaker"]) == 2
    assert capsys.readouterr().err == "constraints/icebreaker.toml: rx and tx are both on pin 4\n"


@pytest.mark.full
def test_make_passes_the_choice_on():
    """make BOARD=... with a wrong option ends with that line and an error."""
    result = subprocess.run(
        ["make", "--no-print-directory", "BOARD=ulx3s", "SAMPLES=3", "flash", "DRY_RUN=1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode != 0 and "no PHY with samples per cycle 3 on ULX3S; there is 4, 2, 1\n" in result.stderr


def report(net, achieved, constraint):
    """A report.json of nextpnr with one clock."""
    step = {"type": "clk-to-q", "delay": 1.0, "from": {"cell": "a_SB_DFF_Q", "port": "Q"}, "to": {"cell": "a_SB_DFF_Q", "port": "Q"}}
    gate = {"type": "logic", "delay": 2.5, "from": {"cell": "l", "port": "I"}, "to": {"cell": "b_SB_LUT4_O", "port": "O"}}
    return {
        "fmax": {net: {"achieved": achieved, "constraint": constraint}},
        "critical_paths": [{"from": f"posedge {net}", "to": f"posedge {net}", "path": [step, gate]}],
        "detailed_net_timings": [],
        "utilization": {"ICESTORM_LC": {"used": 10, "available": 5280}, "ICESTORM_RAM": {"used": 1, "available": 30}},
    }


def test_a_missed_clock_is_a_shortcoming():
    """By the clock's net, whatever it is called besides."""
    choice = choose("icebreaker")
    found = read_report(choice, report("pulse_clk_$glb_clk", 47.96, 48.0), {"pulse": 48.0}, {"pulse": "pulse_clk"}, 3, 1.0)
    assert found.fmax == {"pulse": 47.9} and found.ways == {"pulse": "a -> b, 3.5 ns, gates: 1"}, "47.96 is not 48"
    found = read_report(choice, report("x", 40.0, 48.0), {"pulse": 48.0}, {"pulse": "pulse_clk"}, 3, 1.0)
    assert shortcomings(choice, found) == ["icebreaker-uartbone-s1 misses timing: pulse reaches 40.0 MHz, needed 48"]
    assert Fraction(str(round(found.margin, 6))) == Fraction("-0.166667")
    full = Result(1, {}, {"pulse": 48.0}, {"cells": 5300, "rams": 30}, {"cells": 5280, "rams": 30}, {}, 0.0)
    assert full.margin == -1 and shortcomings(choice, full) == ["icebreaker-uartbone-s1 does not fit: 5300 of 5280 cells, 30 of 30 rams"]
    assert longest_way([report("x", 1, 1)["critical_paths"][0]["path"][0]]) == "a -> a, 1.0 ns, gates: 0"


def test_a_seed_that_finds_no_place_is_not_the_end(monkeypatch, tmp_path):
    """A full part: one placement may fail where another is found."""
    choice = choose("icebreaker")
    output = "ICESTORM_LC: 4736/ 5280 89%\nICESTORM_RAM: 30/ 30 100%\nERROR: Unable to find legal placement for all cells, design"
    monkeypatch.setattr(bitstream, "run_tool", lambda *arguments, allow: output)
    found = bitstream.place(choice, tmp_path, "top", [], {"pulse": 48.0}, {}, 2)
    assert found.fits and found.margin == -1
    assert shortcomings(choice, found) == ["icebreaker-uartbone-s1: no placement found, with 4736 of 5280 cells"]
    monkeypatch.setattr(bitstream, "run_tool", lambda *arguments, allow: "ERROR: something else")
    with pytest.raises(bitstream.ToolError, match="something else"):
        bitstream.place(choice, tmp_path, "top", [], {"pulse": 48.0}, {}, 2)


FULL = """
module top(input clk, input d, output q);
  reg [199:0] r;
  for (genvar i = 0; i < 200; i = i + 1)
    always @(posedge clk) if (r[(i + 7) % 200]) r[i] <= r[(i + 199) % 200] ^ d;
  assign q = ^r;
endmodule
"""  # 200 clock enables, for 160 tiles of one each


@pytest.mark.full  # needs nextpnr, which the quick tier does not install
def test_nextpnr_finds_no_place(tmp_path):
    """What nextpnr itself ends with is not the end either."""
    (tmp_path / "top.v").write_text(FULL)
    (tmp_path / "top.pcf").write_text("")
    bitstream.run_tool(tmp_path, "yosys", "-q", "-p", "read_verilog -sv top.v; synth_ice40 -top top -json top.json")
    options = ["--lp1k", "--package", "qn84", "--pcf-allow-unconstrained"]
    found = bitstream.place(choose("icebreaker"), tmp_path, "top", options, {"pulse": 48.0}, {"pulse": "clk"}, 2)
    assert found.fits and found.margin == -1 and found.used["cells"] < found.available["cells"] == 1280
    assert bitstream.UNPLACED in (tmp_path / "nextpnr.log").read_text()


@pytest.mark.parametrize(
    "margins, ends",
    [
        ([-1], False),
        ([-0.2, -0.001], False),
        ([0.03], True),
        ([-0.1, 0.0], False),
        ([0.029, -0.1, 0.001], False),
        ([0.0, -0.1, -0.1, 0.005], True),
        ([-0.1, 0.004, 0.02, 0.003], False),
        ([-0.1, 0.004, 0.02, 0.003, -0.3], True),
        ([0.002, 0.04], True),
    ],
)
def test_when_the_search_ends(margins, ends):
    """Three hundredths to spare, or three more placements behind the first that meets all clocks."""
    assert bitstream.enough(margins) is ends


def net(name, edge, *ends):
    """One of nextpnr's detailed timings: (edge, ns of its arrival) of each end."""
    return {"net": name, "event": f"{edge} clk", "endpoints": [{"event": f"{end} clk", "delay": [ns - 1, ns]} for end, ns in ends]}


def test_settling_by_hand():
    """Two registers leave a cycle; three with the first in the pad half a cycle more, or a whole one for samples of the rising edge."""
    one = [
        net("litepulse_phy_generic.rx_meta", "posedge", ("posedge", 1.5)),
        net("litepulse_phy_generic.aux_meta[0]", "posedge", ("posedge", 1.0), ("posedge", 2.0)),
        net("litepulse_phy_generic.rx_o", "posedge", ("posedge", 9.0)),
        net("litepulse.rx_meta", "posedge", ("posedge", 9.0)),
    ]
    assert settling_ns({"detailed_net_timings": one}, 200) == 3.0
    phy = "litepulse_phy_ice40_ddr"
    two = [
        net(f"{phy}.seen[0]", "posedge", ("posedge", 3.0)),
        net(f"{phy}.meta[0]", "posedge", ("posedge", 4.0)),
        net(f"{phy}.seen[1]", "negedge", ("posedge", 1.0)),
        net(f"{phy}.meta[1]", "posedge", ("posedge", 2.0)),
    ]
    assert settling_ns({"detailed_net_timings": two[:2]}, 100) == 13.0 and settling_ns({"detailed_net_timings": two}, 100) == 12.0
    assert settling_ns({"detailed_net_timings": one[2:]}, 200) is None


# Of a build of the iCEBreaker: its critical paths, the ends of the synchronisers and what is used; places and sources left out.
RECORDED = Path(__file__).with_name("nextpnr_icebreaker.json")
NETS = {"sys": "core_sys_clk", "pulse": "core_pulse_clk"}


def test_what_crosses_arrives_in_time():
    """Two cycles of the receiving clock, by nextpnr's own report; what takes longer is a shortcoming, though both clocks are met."""
    choice, recorded = choose("icebreaker"), json.loads(RECORDED.read_text())
    recorded["fmax"]["core_pulse_clk"]["achieved"] = 50.0  # the placement missed that clock
    found = read_report(choice, recorded, {"sys": 24.0, "pulse": 48.0}, NETS, 1, 1.0)
    assert found.crossings == {"pulse -> sys": [11.0, 83.3], "sys -> pulse": [16.3, 41.7]}, "as nextpnr's log says: 11.01 and 16.26 ns"
    assert found.margin >= 0 and shortcomings(choice, found) == []
    # the same delays, and a faster clock, which is met
    recorded["fmax"]["core_pulse_clk"] = {"achieved": 210.0, "constraint": 200.0}
    found = read_report(choice, recorded, {"sys": 24.0, "pulse": 200.0}, NETS, 1, 1.0)
    assert found.crossings["sys -> pulse"] == [16.3, 10.0] and found.margin < 0
    assert shortcomings(choice, found) == ["icebreaker-uartbone-s1 misses timing: sys -> pulse takes 16.3 ns, at most 10"]
    # a report that does not tell
    recorded["critical_paths"] = [path for path in recorded["critical_paths"] if path["from"].split()[-1] == path["to"].split()[-1]]
    with pytest.raises(ToolError, match="in 0 of 2 directions: none"):
        crossing_ns(recorded, {"sys": 24.0, "pulse": 200.0}, NETS)


def test_choices_are_the_boards_files():
    """Every board has a default that is first in its list, and a tick that is exact."""
    for name, board in boards.all_boards().items():
        choice = choose(name)
        assert (choice.fpga, choice.variant, choice.phy) == (next(iter(board.fpgas)), next(iter(board.variants)), board.phys[0])
        assert choice.tick_ns * choice.pulse_hz * choice.samples == 10**9
        assert all(PHYS[phy].family in ("", board.family) for phy in board.phys)
    with pytest.raises(ChoiceError, match="no core uart; there is litepulse, liteuart, none"):
        choose("ulx3s", core="uart")


def test_page_lists_every_board():
    """docs/boards.md is of these boards, pins, clocks and constants, and no board in it misses anything."""
    text = boards_page.PAGE.read_text()
    assert "**Missed" not in text and "All fit and meet their clocks." in text
    for name, board in boards.all_boards().items():
        choice = choose(name)
        (line,) = [line for line in text.splitlines() if line.startswith(f"| {board.title} (`{name}`)")]
        for phy in board.phys:
            assert f"`{phy}`, {float(choice.constraints.pulse_hz(phy)) / 1e6:g} MHz" in line
        assert all(pin in line for pin in (*choice.constraints.pins.values(), *choice.constraints.aux))
        for built in (*(choose(name, fpga) for fpga in board.fpgas), *(choose(name, samples=PHYS[phy].samples) for phy in board.phys)):
            (row,) = [line for line in text.splitlines() if line.startswith(f"| `{built.name}` ")]
            cells = [cell.strip() for cell in row.split("|")]
            needed, reached = map(float, cells[2].split(" / "))
            assert needed * 10**6 == built.pulse_hz and reached >= needed
            assert cells[5] == f"{float(built.tick_ns):.3f}" and cells[6] == f"{boards_page.response_ns(built):.0f}"


def rows_of(text, columns):
    """The cells of all rows of `columns` columns."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    return [row for row in rows if len(row) == columns]


def test_pins_page_by_the_formula():
    """docs/pins.md: how long each PHY takes to answer; settling times as placed, and what follows from them."""
    text, placed = (ROOT / "docs" / "pins.md").read_text(), rows_of(boards_page.PAGE.read_text(), 12)
    figures = {row[0].strip("`"): row[7] for row in rows_of(text, 8)[2:]}
    for board in boards.all_boards().values():
        for choice in (choose(board.name, samples=PHYS[phy].samples) for phy in board.phys):
            assert figures[choice.phy] == f"{round(boards_page.response_ns(choice) * choice.pulse_hz / 10**9, 6):g} cycles"
    table = rows_of(text, 7)
    table = table[[row[0] for row in table].index("bitstream") + 2 :]
    assert len(table) == 7
    for name, clock, settle, pad, *times in table:
        (row,) = [row for row in placed if row[0] == name]
        mhz, left = float(row[1].split(" / ")[0]), float(row[6])
        assert clock == f"{mhz:g} MHz" and settle == f"{left} ns"
        # three quarters or half of a cycle to the last register in the pad of an ECP5, less 0.5 ns for each on the way
        in_pad = round(750 / mhz - 1, 1) if "-s4" in name else round(500 / mhz - 0.5, 1) if "ecpix5" in name and "-s2" in name else 0
        assert pad == (f"{in_pad} ns" if in_pad else "-")
        for shown, tau, window in zip(times, (0.1093, 0.2186, 0.0538), (15.6, 15.6, 0.33)):
            seconds = math.exp((left + in_pad) / tau) / (window * 1e-12 * mhz * 1e6 * 10e6)
            value, unit = shown.split()
            whole = seconds / {"year": 31557600, "day": 86400, "minute": 60}[unit.removesuffix("s")]
            assert unit.endswith("s") == (value != "1")
            assert value == (f"10{str(int(math.log10(whole))).translate(SUPERSCRIPT)}" if value.startswith("10") else str(int(whole)))


def test_response_by_hand():
    """6 cycles of 48 or 200 MHz; with the pads and samples of the ECP5's gearing 6 + (3 + 4 - 2) + 1 of 125 or 200 MHz."""
    assert round(boards_page.response_ns(choose("icebreaker")), 3) == 125.0
    assert boards_page.response_ns(choose("ecpix5", samples=1)) == 30.0
    assert boards_page.response_ns(choose("ulx3s")) == 96.0
    assert boards_page.response_ns(choose("ecpix5")) == 60.0


def test_unknown_board_of_the_page(capsys):
    assert boards_page.main(["icestick"]) == 2
    assert capsys.readouterr().err.startswith("no board icestick; there is icebreaker")


def test_module_runs():
    """`python -m litex_soc.bitstream` as the Makefile calls it."""
    result = subprocess.run([sys.executable, "-m", "litex_soc.bitstream", "nothing"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 2 and re.fullmatch(r"no board nothing; there is .*\n", result.stderr)
    assert json.dumps(sorted(boards.NAMES)) == json.dumps(sorted(f.stem for f in (ROOT / "constraints").glob("*.toml")))


@pytest.mark.full  # needs nextpnr, which the quick tier does not install
@pytest.mark.parametrize(
    "arguments", [("icebreaker",), ("alchitry_cu",), ("ulx3s",), ("ulx3s", "45f", None, 2), ("orangecrab",), ("ulx3s", "85f", "linux")]
)
def test_a_host_finds_the_core(arguments):
    """Registers and window of a board lie where a host behind its bridge looks, and tell clock, samples and inputs exactly; also when
    another SoC, with a CPU, was made before."""
    from litepulse import regs

    make_soc(choose("ulx3s", "85f", "linux"))[0].finalize()
    choice = choose(*arguments)
    soc, platform = make_soc(choice)
    soc.finalize()
    csr = soc.bus.regions["csr"].origin
    if choice.variant == "uartbone":
        assert csr + 0x800 * soc.csr.locs["pulse"] == regs.CSR_BASE
        assert csr + 0x800 * soc.csr.locs["bridge"] == regmap.BRIDGE_BASE
    # the CPU that runs Linux would cache the usual window
    window = 0xB000_0000 if choice.variant == "linux" else regs.WINDOW_BASE
    assert soc.bus.regions["pulse_window"].origin == window and soc.csr.locs["pulse"] == regmap.CSR_LOCATION
    csrs = {csr.name: csr for csr in soc.pulse.get_csrs()}
    values = {
        field.name: field.reset.value for name in ("id_geometry", "id_clock_num", "id_clock_den") for field in csrs[name].fields.fields
    }
    assert Fraction(values["num"], values["den"]) == choice.pulse_hz
    assert (values["samples"], values["inputs"]) == (choice.samples, len(choice.constraints.inputs(choice.phy)))
    assert values["interrupts"] == (choice.variant == "linux")
    names = {Path(name).name for name, *_ in platform.sources}
    assert f"litepulse_phy_{choice.phy}.sv" in names and ("litepulse_phy_ecp5_start.sv" in names) == (choice.samples == 4)


@pytest.mark.full  # needs nextpnr, which the quick tier does not install
def test_a_comment_builds_nothing(tmp_path):
    """What was built is known by the tokens of the sources."""
    text = "module top (input logic a, output logic b);\n  assign b = !a;\nendmodule\n"

    def key(name, text):
        (tmp_path / name).write_text(text)
        return bitstream.content(tmp_path)

    for name in ("core.sv", "types.svh", "top.v"):
        known = key(name, text)
        assert key(name, text.replace("  assign", "\n  // one\n  assign")) == known != key(name, text.replace("!a", "a"))
    assert key("top.pcf", "set_io a 1\n") != key("top.pcf", "set_io a 2\n")
