# SPDX-License-Identifier: BSD-2-Clause
"""What make_soc gives the tools, for every board, FPGA, PHY and core: pins, clocks, and how the core is wired into it.

The pins are written down here once more, by their package names, so that none moves unnoticed when a connector of litex-boards or a
file of constraints/ changes; they were not read from schematics. Nothing is synthesised.
"""

import functools
import re
from fractions import Fraction

import pytest

from litex_soc import boards
from litex_soc.bitstream import write_sources
from litex_soc.board import CORES, choose
from litex_soc.limits import depths
from litex_soc.phys import HDL, PHYS

pytestmark = pytest.mark.full  # nextpnr says where a board's pins lie, and the step `test` has none

# tx, rx, de; capture inputs; the FPGA's own RX and TX of the bridge; crystal
PINS = {
    "icebreaker": ("4 2 47", "43 38 34 31", "6 9", "35 12"),
    "alchitry_cu": ("M1 L1 J1", "J3 G1 G3 E1", "P14 M9", "P7 100"),
    "ulx3s": ("U18 N17 N16", "L16 H18 F17 D18", "M1 L4", "G2 25"),
    "colorlight_i5": ("D1 C1 C2", "D2 A3 E3 E2", "H18 J17", "P3 25"),
    "orangecrab": ("H2 J2 L4", "N4 H4 N3 G4", "N17 M18", "A9 48"),
    "ecpix5": ("U25 V24 U24", "T25 U26 V26 T26", "R26 R24", "K23 100"),
}
# MHz of pulse with 1, 2 and 4 samples per cycle, and of sys; on iCE40 that is half of pulse
MHZ = {
    "icebreaker": ({1: 48, 2: 42}, None),
    "alchitry_cu": ({1: 100, 2: 100}, None),
    "ulx3s": ({1: 100, 2: 100, 4: 125}, 50),
    "colorlight_i5": ({1: 100, 2: 100, 4: 125}, 50),
    "orangecrab": ({1: 132, 2: 120, 4: 120}, 48),
    "ecpix5": ({1: 200, 2: 200, 4: 200}, 50),
}
# These chips are full.
WITHOUT_LIN = {("icebreaker", 2), ("alchitry_cu", 1), ("alchitry_cu", 2)}
# Inputs where there are not four: not each is a pad that the gearing can read, and a UP5K has room for one.
FEWER_INPUTS = {("ulx3s", 4): 3, ("colorlight_i5", 4): 2, ("orangecrab", 4): 2, ("ecpix5", 4): 3, ("icebreaker", 2): 1}
# The marker port, 0 to 7, where there is one.
PORT = {
    "ulx3s": "U17 P16 M17 L17 H17 G18 E17 D17",
    "colorlight_i5": "C17 B18 B20 F20 A18 A19 B19 D20",
    "orangecrab": "C10 C9 B10 B9 C8 B8 A8 T17",
    "ecpix5": "U23 V23 U22 V21 W25 W24 W23 W22",
}
# A board's other chips: kept from resetting the FPGA.
NEEDED_BY = {"ulx3s": ("wifi_gpio0",)}
LATENCIES = {"generic": (1, 1), "ice40_ddr": (2, 2), "ecp5_ddr": (2, 4), "ecp5_serdes": (3, 4)}
WITH_CORE = [
    (name, fpga, samples, "litepulse") for name, (mhz, _) in MHZ.items() for fpga in boards.all_boards()[name].fpgas for samples in mhz
]
CHOICES = [*WITH_CORE, *((name, None, None, core) for name in MHZ for core in CORES if core != "litepulse")]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Function: (Choice, LiteX's Verilog, the file with pins and clocks, names of the sources) of what was chosen, each made once."""

    @functools.lru_cache(maxsize=None)
    def write(name, fpga, samples, core):
        choice, folder = choose(name, fpga, "uartbone", samples, core), tmp_path_factory.mktemp("made") / "sources"
        top, _, _, _, files = write_sources(choice, folder)
        (pins,) = [*folder.glob(f"{top}.pcf"), *folder.glob(f"{top}.lpf")]
        return choice, (folder / f"{top}.v").read_text(), pins.read_text(), files

    return write


def places(text):
    """({port: pin}, {ports that are pulled up}) of a PCF or LPF."""
    pcf = re.findall(r"^set_io +(-pullup yes +)?(\S+) (\S+)$", text, re.MULTILINE)
    lpf = re.findall(r'^LOCATE COMP "(.+)" SITE "(.+)";$', text, re.MULTILINE)
    assert bool(pcf) != bool(lpf)
    up = {port for pull, port, _ in pcf if pull} | set(re.findall(r'^IOBUF PORT "(.+)" PULLMODE=UP;$', text, re.MULTILINE))
    found = [*((port, pin) for _, port, pin in pcf), *lpf]
    assert len({pin for _, pin in found}) == len(dict(found)) == len(found), "a port or a pin twice"
    return dict(found), up


def limits(text):
    """{net or port: MHz that must be met}, exact."""
    found = re.findall(r'^(?:set_frequency (\S+) (\S+)|FREQUENCY (?:PORT|NET) "(.+)" (\S+) MHz;)$', text, re.MULTILINE)
    assert len({a or c for a, _, c, _ in found}) == len(found)
    return {a or c: Fraction(b or d) for a, b, c, d in found}


def instances(verilog, module):
    """[({parameter: value}, {port: expression}), ...] of `module`."""

    def pairs(text):
        found = {}
        for line in text.splitlines():
            match = re.fullmatch(r"\s*\.(\w+)\s*\((.*)\),?", line)
            if match:
                assert match[1] not in found
                found[match[1]] = match[2]
        return found

    found = re.findall(rf"^{module}(?: #\((.*?)^\))? ?\w+ ?\((.*?)^\);", verilog, re.MULTILINE | re.DOTALL)
    return [(pairs(parameters), pairs(ports)) for parameters, ports in found]


def declared_ports(source):
    """{port: "input", "output" or "inout"} of a module."""
    header = re.search(r"^\) \((.*?)^\);", source, re.MULTILINE | re.DOTALL)[1]
    found = re.findall(r"^\s*(input|output|inout)\s[^/\n]*?(\w+)\s*(?:,|//|$)", header, re.MULTILINE)
    assert len(found) == len(re.findall(r"^\s*(?:input|output|inout)\b", header, re.MULTILINE)) > 5
    return {port: way for way, port in found}


def number(value):
    """Of a Verilog literal without x or z."""
    return int(re.fullmatch(r"(?:\d+'d)?(\d+)", value)[1])


def net_of(verilog, port):
    """The name a clock has further on: `assign name = port`."""
    (name,) = re.findall(rf"^assign (\w+) = {port};", verilog, re.MULTILINE)
    return name


def clocks_of_the_pll(choice, verilog, crystal_mhz):
    """{net: MHz} of the PLL's outputs by its dividers; what its VCO must be is checked."""
    if choice.board.family == "ice40":
        ((of, ports),) = instances(verilog, "SB_PLL40_2F_PAD")
        assert (of["FEEDBACK_PATH"], of["PLLOUT_SELECT_PORTA"], of["PLLOUT_SELECT_PORTB"]) == ('"SIMPLE"', '"GENCLK"', '"GENCLK_HALF"')
        compared = Fraction(crystal_mhz, number(of["DIVR"]) + 1)
        vco = compared * (number(of["DIVF"]) + 1)
        assert 10 <= compared <= 133 and 533 <= vco <= 1066
        out = vco / 2 ** number(of["DIVQ"])
        return {ports["PLLOUTGLOBALA"]: out, ports["PLLOUTGLOBALB"]: out / 2}
    ((of, ports),) = instances(verilog, "EHXPLLL")
    fed_back = re.fullmatch(r'"INT_(O\w+)"', of["FEEDBK_PATH"])[1]
    compared = Fraction(crystal_mhz, number(of["CLKI_DIV"]))
    vco = compared * number(of["CLKFB_DIV"]) * number(of[f"CLK{fed_back}_DIV"])
    assert compared >= 3 and 400 <= vco <= 800
    return {
        net_of(verilog, net): vco / number(of[f"{port}_DIV"])
        for port, net in ports.items()
        # one that is fed back may be used besides
        if port in ("CLKOP", "CLKOS", "CLKOS2", "CLKOS3") and (port != f"CLK{fed_back}" or re.search(rf"= {re.escape(net)};", verilog))
    }


@pytest.mark.parametrize("name, fpga, samples, core", CHOICES)
def test_pins(written, name, fpga, samples, core):
    """Every port is on its pin, nothing else has a pin, and rx is pulled up with every PHY."""
    choice, verilog, text, _ = written(name, fpga, samples, core)
    line, aux, (rx, tx), (crystal, _) = (part.split() for part in PINS[name])
    (clock,) = re.findall(r"^\s*input\s+wire\s+(clk\d+),", verilog, re.MULTILINE)
    found, up = places(text)
    expected = {clock: crystal, "serial_rx": rx, "serial_tx": tx}
    if core == "litepulse":
        inputs = aux[: FEWER_INPUTS.get((name, choice.samples), 4)]
        ports = [f"pulse_aux[{n}]" for n in range(len(inputs))] if len(inputs) > 1 else ["pulse_aux"]
        expected |= {**dict(zip(("pulse_tx", "pulse_rx", "pulse_de"), line)), **dict(zip(ports, inputs))}
        expected |= {f"pulse_port[{n}]": pin for n, pin in enumerate(PORT.get(name, "").split())}
        if choice.phy == "ice40_ddr":  # the pad is the PHY's own
            assert re.search(r"SB_IO #\(.*\.PULLUP\(1'b1\)\) rx_io \(", PHYS[choice.phy].source.read_text()) and not up
        else:
            assert up & set(expected) == {"pulse_rx"}
    elif core == "liteuart":  # what it has no use for may keep its pin
        expected |= dict(zip(("pulse_tx", "pulse_rx"), line))
        found = {port: pin for port, pin in found.items() if not port.startswith(("pulse_de", "pulse_aux", "pulse_port"))}
    # what the board itself wants driven, whatever is on it
    assert {port: pin for port, pin in found.items() if port not in NEEDED_BY.get(name, ())} == expected


@pytest.mark.parametrize("name, fpga, samples, core", CHOICES)
def test_clocks(written, name, fpga, samples, core):
    """The PLL's dividers make exactly the clocks that the core reports to the host, and that the tools must meet."""
    choice, verilog, text, _ = written(name, fpga, samples, core)
    of_samples, sys = MHZ[name]
    pulse = of_samples[choice.samples]
    sys = sys or Fraction(pulse, 2)
    made, needed = clocks_of_the_pll(choice, verilog, int(PINS[name][3].split()[1])), limits(text)
    if choice.samples == 4:
        # both edges of a clock twice as fast
        ((_, sync),), ((divider, divided),) = instances(verilog, "ECLKSYNCB"), instances(verilog, "CLKDIVF")
        assert made[sync["ECLKI"]] == 2 * pulse and (divider["DIV"], divided["CLKI"]) == ('"2.0"', sync["ECLKO"])
        made = {**made, divided["CDIVX"]: made[sync["ECLKI"]] / 2}
        if core == "litepulse":
            ((_, phy),) = instances(verilog, "litepulse_phy_ecp5_serdes")
            assert phy["eclk"] == sync["ECLKO"] and needed[sync["ECLKO"]] == 2 * pulse
    assert (made["pulse_clk"], made["sys_clk"], needed["sys_clk"]) == (pulse, sys, sys)
    if core == "litepulse":
        assert needed["pulse_clk"] == pulse == choice.pulse_hz / 10**6


# Block RAMs: of the part, and of a build besides the events (docs/boards.md); a record takes 128 of their 16 Kibit.
RAMS, BESIDE = {"25f": 56, "45f": 108, "85f": 208}, {"uartbone": 11, "linux": 44}
DEEP = {("ulx3s", "85f", "linux"): 14, ("orangecrab", "25f", "uartbone"): 12, ("orangecrab", "85f", "uartbone"): 14}  # log2 of the events


def test_events_that_an_ecp5_holds():
    """2,048; where the clock bears it as many as the core can hold, or as leave a tenth of the block RAMs free."""
    found = set()
    for board in boards.all_boards().values():
        for fpga, variant in [(fpga, variant) for fpga in board.fpgas for variant in board.variants if board.family == "ecp5"]:
            found.add((board.name, fpga, variant))
            depth = choose(board.name, fpga, variant).event_depth
            assert depth == DEEP.get((board.name, fpga, variant), 11)

            def used(depth, variant=variant):
                return (128 << depth) // 16384 + BESIDE[variant]

            assert used(depth) <= 0.9 * RAMS[fpga]
            assert depth in (11, depths()["event"][1]) or used(depth + 1) > 0.9 * RAMS[fpga]
    assert found > set(DEEP) and len(found) == 9


@pytest.mark.parametrize("name", ["icebreaker", "alchitry_cu"])
def test_small_parts_hold_the_default_number_of_events(name):
    assert choose(name).event_depth == 8


@pytest.mark.parametrize("name, fpga, samples, core", WITH_CORE)
def test_wiring(written, name, fpga, samples, core):
    """Core and PHY have parameters that fit each other, no port that there is not and none left open; their sources are there, once."""
    choice, verilog, _, files = written(name, fpga, samples, core)
    inputs = FEWER_INPUTS.get((name, samples), 4)
    ((core_of, core_ports),) = instances(verilog, "litepulse")
    ((phy_of, phy_ports),) = instances(verilog, f"litepulse_phy_{choice.phy}")
    assert core_of.pop("LARGE_RAM") == ('"huge"' if fpga == "up5k" else '"auto"')
    assert {key: number(value) for key, value in core_of.items()} == {
        "S": samples,
        "INPUTS": inputs,
        **dict(zip(("LATENCY_IN", "LATENCY_OUT"), LATENCIES[choice.phy])),
        "EV_AW": DEEP.get((name, fpga, choice.variant), 8 if choice.board.family == "ice40" else 11),
        "RX_AW": 9,
        "TX_AW": 9,
        "LQ_AW": 6,
        "LIN_ENTRIES": 0 if (name, samples) in WITHOUT_LIN else 64,
        "WATCHDOG_UNIT": 18,
        "IRQ_UNIT": 5,
        "IRQ_UNIT_STEP": 3,
        "PORT": int(name in PORT),
        "SEQUENCE": int(choice.board.family == "ecp5"),
    }
    pads = {} if choice.phy == "generic" else {"PADS": inputs, "DE": 1}
    assert {key: number(value) for key, value in phy_of.items()} == {"INPUTS": inputs, **pads}
    for source, ports in ((HDL / "litepulse.sv", core_ports), (PHYS[choice.phy].source, phy_ports)):
        declared = declared_ports(source.read_text())
        assert set(ports) <= set(declared)
        assert {port for port in declared if port not in ports} <= {
            port
            for port, way in declared.items()
            if way == "output" and (port.startswith("irq_") or (port == "port_o" and name not in PORT))
        }
    for here, there in (("tx_o", "tx_i"), ("tx_oe", "tx_oe_i"), ("de_o", "de_i"), ("rx_i", "rx_o"), ("aux_i", "aux_o")):
        assert core_ports[here] == phy_ports[there]
    assert core_ports["pulse_clk"] == phy_ports["clk"] == "pulse_clk" and core_ports["sys_clk"] == "sys_clk"
    assert len(set(files)) == len(files) and {path.name for path in HDL.glob("*.sv")} < set(files)
    assert {file for file in files if "_phy_" in file} == {
        f"litepulse_phy_{choice.phy}.sv",
        *(["litepulse_phy_ecp5_start.sv"] if samples == 4 else []),
    }


@pytest.mark.parametrize(
    "core, parts", [("liteuart", {"SerialBridge", "UART"}), ("none", {"SerialBridge"}), ("litepulse", {"SerialBridge", "LitePulse"})]
)
@pytest.mark.parametrize("name", MHZ)
def test_what_is_compared(written, name, core, parts):
    """docs/boards.md: the same SoC with LitePulse, with a LiteUART in its place, and with neither."""
    _, verilog, _, files = written(name, None, None, core)
    made = {kind for _, kind in re.findall(r"^└─── (\w+) \((\w+)\)$", verilog, re.MULTILINE)}
    assert made & {"SerialBridge", "UART", "LitePulse"} == parts
    assert len(instances(verilog, "litepulse")) == (core == "litepulse") == ("litepulse.sv" in files)


def test_every_choice_is_here():
    """A new board, PHY or FPGA is tested, or this fails."""
    every = boards.all_boards()
    assert list(PINS) == list(MHZ) == list(every)
    for name, board in every.items():
        assert {PHYS[phy].samples for phy in board.phys} == set(MHZ[name][0])
    assert set(LATENCIES) == set(PHYS)
