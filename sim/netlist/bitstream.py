# SPDX-License-Identifier: BSD-2-Clause
"""Packs a design for an iCE40 HX8K, reads the bitstream back, and writes the netlist that is in it.

    CHIPS["litepulse_chip"].read_back()     a Verilog file, with a port for each pad

Yosys, nextpnr-ice40 and icepack make the bitstream as for a board. What is simulated is made of the packed file alone: Debian's
iceunpack writes its bits as text, icebox_vlog follows the wires of the chip that they switch on, and each LUT, flip-flop, carry, pad and
block RAM that they set up. The only other input is which pad has which name. icebox_vlog writes registers of pads in a way that
glitches where two pads are wired together, so each pad with one becomes an SB_IO of sim/models; block RAMs are Yosys' model.
"""

import json
import re
import shutil
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from litex_soc.bitstream import ToolError, run_tool, synthesis
from litex_soc.build_cache import content_key
from sim.cocotb_rig import ROOT, BuildError, hdl_sources, headers, simulate
from sim.netlist.synthesis import HERE, NETLISTS_MADE, PINS, TB, VERILATOR, cells, replaced, write_once, yosys_version

PACKAGES = {"hx8k": "ct256", "up5k": "sg48"}
SEED = 1
# In the bits of a LUT's cell, by entry: inputs 3, 2, 1, 0 as a number. Of icestorm's page "LOGIC Tile".
LUT_BITS = (4, 14, 15, 5, 6, 16, 17, 7, 3, 13, 12, 2, 1, 11, 10, 0)
LUT_COLUMNS = 36  # of a logic tile, before those of its eight cells
# A pad with a register: where it lies, what it is connected to, and what icebox_vlog makes of it.
PAD = re.compile(r"^// IO Cell \((\d+), (\d+), (\d+)\)\n((?:// .*\n)+)((?:(?!// |\n).*\n)*)", re.MULTILINE)


@lru_cache(maxsize=None)
def tool_versions():
    """Of what makes a bitstream and reads it back: part of the key of a build."""
    packages = run_tool(ROOT, "dpkg-query", "-W", "fpga-icestorm")
    return yosys_version(), run_tool(ROOT, "nextpnr-ice40", "--version").strip(), packages.strip()


def pad(match):
    """The SB_IO that stands for what icebox_vlog writes of a pad."""
    about = dict(re.findall(r"// (\w+) +=[ ]?(.*)", match[4]))
    net = {name: {"0": "1'b0", "1": "1'b1"}.get(value, value) for name, value in about.items()}
    pin_type = about["TYPE"].split()[0][::-1]
    first = re.search(r"always @\((pos|neg)edge", match[5])
    negative = int(bool(first) and first[1] == "neg")
    return (
        f"SB_IO #(.PIN_TYPE(6'b{pin_type}), .NEG_TRIGGER(1'b{negative})) io_{match[1]}_{match[2]}_{match[3]} (\n"
        f"  .PACKAGE_PIN({net['PAD']}), .LATCH_INPUT_VALUE({net['LATCH']}), .CLOCK_ENABLE({net['CLK_EN']}),\n"
        f"  .INPUT_CLK({net['IN_CLK']}), .OUTPUT_CLK({net['OUT_CLK']}), .OUTPUT_ENABLE({net['OUT_ENB']}),\n"
        f"  .D_OUT_0({net['D_OUT_0']}), .D_OUT_1({net['D_OUT_1']}), .D_IN_0({net['D_IN_0']}), .D_IN_1({net['D_IN_1']})\n);\n"
    )


@dataclass(frozen=True)
class Chip:
    """A design; `pins` are ((port, pin of the package), ...). Without them nextpnr chooses, and its choice is taken from post.json."""

    name: str
    sources: tuple
    samples: int
    pins: tuple = ()
    fpga: str = "hx8k"
    module: str = ""  # the top module, if its name is another one
    parameters: tuple = ()  # ((name, number), ...) of the top module

    @property
    def top(self):
        """Name of the top module."""
        return self.module or self.name

    def build(self):
        """The folder with the bitstream chip.bin, nextpnr's post.json and post.sdf, and pads.pcf, which names the pads."""
        sources = list(self.sources)
        files = " ".join(path.name for path in sources)
        values = "".join(f"chparam -set {name} {value} {self.top}\n" for name, value in self.parameters)
        script = f"read_verilog -sv {files}\n{values}hierarchy -top {self.top}\n{synthesis(self.fpga, self.samples).format(self.top)}\n"
        options = [f"--{self.fpga}", "--package", PACKAGES[self.fpga], "--seed", str(SEED), "--timing-allow-fail", "-q"]

        def make(folder):
            for path in [*sources, *headers(sources)]:
                shutil.copyfile(path, folder / path.name)
            (folder / "synth.ys").write_text(script)
            (folder / "pads.pcf").write_text("".join(f"set_io {name} {pin}\n" for name, pin in self.pins))
            where = ["--pcf", "pads.pcf"] if self.pins else []
            try:
                run_tool(folder, "yosys", "-q", "-l", "yosys.log", "synth.ys")
                output = ["--asc", "chip.asc", "--write", "post.json", "--sdf", "post.sdf", "--report", "report.json"]
                run_tool(folder, "nextpnr-ice40", *options, "--json", f"{self.top}.json", *where, *output, "-l", "nextpnr.log")
                run_tool(folder, "icepack", "chip.asc", "chip.bin")
            except ToolError as error:
                raise BuildError(f"{self.name}: {error}") from None
            if not self.pins:
                (folder / "pads.pcf").write_text("".join(f"set_io {bit} {pin}\n" for bit, pin in placed(folder)))

        key = content_key([*sources, *headers(sources)], script, options, self.pins, tool_versions())
        return NETLISTS_MADE.folder(self.name, key, make)

    def simulate_core(self, modules, cases, netlist, **options):
        """cocotb_rig.simulate() of litepulse_tb with this netlist of litepulse_chip in it."""
        parts = {"LIN_ENTRIES": 0, "PORT": 0, "SEQUENCE": 0}
        parameters = {"PHY": '"ice40_ddr"', "S": 2, "INPUTS": 4, **parts, "LATENCY_IN": 2, "LATENCY_OUT": 2}
        return simulate(
            modules,
            TB.stem,
            [*cells("ice40"), netlist, as_core(netlist), TB],
            parameters,
            "verilator",
            testcase=cases,
            timeout=3600,
            env={"LITEPULSE_NETLIST_NAME": self.name, "LITEPULSE_SHORT": 1},
            build_args=VERILATOR,
            defines={"LITEPULSE_NETLIST": 1, "NO_ICE40_DEFAULT_ASSIGNMENTS": 1},
            **options,
        )

    def read_back(self, bitstream=None):
        """The netlist, a Verilog file with the module `chip`, of the bitstream or of the file `bitstream` in its place."""
        folder = self.build()
        bitstream = bitstream or folder / "chip.bin"
        pads = (folder / "pads.pcf").read_text()

        def make(made):
            shutil.copyfile(bitstream, made / "chip.bin")
            (made / "pads.pcf").write_text(pads)
            try:
                run_tool(made, "iceunpack", "chip.bin", "back.asc")
                text = run_tool(made, "icebox_vlog", "-S", "-d", PACKAGES[self.fpga], "-p", "pads.pcf", "back.asc")
            except ToolError as error:
                raise BuildError(f"{self.name}: {error}") from None
            (made / "chip.v").write_text(with_pads(text))

        key = content_key(bitstream.read_bytes(), pads, tool_versions(), Path(__file__).read_bytes())
        return NETLISTS_MADE.folder(f"{self.name}-back", key, make) / "chip.v"


def flipped(folder, net):
    """A packed file that differs in one bit: the first 1 in the LUT of the cell that drives a net, by its name in the sources.

    Inputs that are not used read 0, so this entry is in use, whichever inputs nextpnr has taken.
    """
    text, (x, y, index) = run_tool(folder, "iceunpack", "chip.bin"), cell_of(folder, net)
    lines = text.splitlines()
    first = lines.index(f".logic_tile {x} {y}") + 1 + 2 * index
    places = [(first + bit // 10, LUT_COLUMNS + bit % 10) for bit in LUT_BITS]
    line, column = next((line, column) for line, column in places if lines[line][column] == "1")
    lines[line] = f"{lines[line][:column]}0{lines[line][column + 1 :]}"

    def make(made):
        (made / "flipped.asc").write_text("\n".join(lines) + "\n")
        run_tool(made, "icepack", "flipped.asc", "chip.bin")

    return NETLISTS_MADE.folder("flipped", content_key("\n".join(lines)), make) / "chip.bin"


def cell_of(folder, net):
    """(x, y, index in the tile) of the cell that drives a net."""
    design = placement(folder)
    (bit,) = design["netnames"][net]["bits"]
    (cell,) = [one for one in design["cells"].values() if one["type"] == "ICESTORM_LC" and one["connections"]["O"] == [bit]]
    return tuple(map(int, re.fullmatch(r"X(\d+)/Y(\d+)/lc(\d)", cell["attributes"]["NEXTPNR_BEL"]).groups()))


def placement(folder):
    """The design as nextpnr placed it."""
    (design,) = [one for one in json.loads((folder / "post.json").read_text())["modules"].values() if one["ports"]]
    return design


def placed(folder):
    """("bus_adr_3", "33 14 1") for each bit of each port, by the pads that nextpnr chose."""
    design = placement(folder)
    pads = {name: cell for name, cell in design["cells"].items() if cell["type"] == "SB_IO"}
    by_net = {cell["connections"]["PACKAGE_PIN"][0]: cell for cell in pads.values()}
    for port, about in design["ports"].items():
        for bit, net in enumerate(about["bits"]):
            one = len(about["bits"]) == 1
            cell = pads.get(f"{port}$sb_io" if one else f"{port}[{bit}]$sb_io") or by_net[net]
            x, y, z = re.fullmatch(r"X(\d+)/Y(\d+)/io(\d)", cell["attributes"]["NEXTPNR_BEL"]).groups()
            yield (port if one else f"{port}_{bit}"), f"{x} {y} {z}"


def with_pads(text):
    """icebox_vlog's text with an SB_IO in place of each pad that it writes out."""
    text, count = PAD.subn(pad, text)
    if count != text.count("SB_IO #(") or "IO Cell" in text:
        raise BuildError("icebox_vlog writes pads in another way")
    if "unmatched port" in text:
        raise BuildError(f"a pad is not in the bitstream: {re.findall('unmatched port.*', text)}")
    # Each port is declared again as a wire or a register, which the older style of a header allows.
    header = re.search(r"^module chip \((.*)\);\n", text, re.MULTILINE)
    ports = [port.split() for port in header[1].split(", ")]
    tristate = set(re.findall(r"\.PACKAGE_PIN\((\w+)\)", text))
    declared = "".join(f"{'inout' if name in tristate and kind == 'output' else kind} {name};\n" for kind, name in ports)
    return text[: header.start()] + f"module chip ({', '.join(name for _, name in ports)});\n{declared}" + text[header.end() :]


def as_core(chip_v):
    """A file with litepulse_pins, for litepulse_tb, which has the read-back litepulse_chip in it."""
    ports = re.search(r"^module chip \((.*)\);", chip_v.read_text(), re.MULTILINE)[1].split(", ")
    first = {"bus_adr": 2}  # bits of litepulse_chip count from 0
    connected = []
    for port in ports:
        name, bit = re.fullmatch(r"(\w+?)(?:_(\d+))?", port).groups()
        connected.append(f".{port}({name}{'' if bit is None else f'[{int(bit) + first.get(name, 0)}]'})")
    header = PINS.read_text().partition("\n);\n")[0]
    body = f"assign port_pad = 8'd0;\nchip chip ({', '.join(connected)});\n"
    return write_once("litepulse-pins", "litepulse_pins.v", f"{header}\n);\n{body}endmodule\n")


def waking_cells():
    """Models of cells in which block RAM reads 0 for the first 3 us behind configuration, as it does on the chip."""
    first, *others = cells("ice40")
    read = "RDATA_I <= memory[RADDR[7:0]] & ~RMASK_I;"
    text = replaced(first.read_text(), [(read, read.replace("<= ", "<= $realtime < 3us ? 16'd0 : "))])
    return [write_once("cells-ice40-waking", "ice40_cells.v", text), *others]


EXAMPLE = tuple(hdl_sources("examples/verilog/pulse_58hz.sv"))
# For a simulation with delays, which takes a second for 50 cycles: the shortest reset, and close to the shortest period.
FAST = (("RESET_WAIT", 0), ("PERIOD", 333), ("WIDTH", 41))
CHIPS = {
    chip.name: chip
    for chip in (
        Chip("pulse_58hz", EXAMPLE, 1, (("clk", "P7"), ("pulse", "B5"))),
        Chip("pulse_icebreaker", EXAMPLE, 1, (("clk", "35"), ("pulse", "4")), "up5k", "pulse_58hz", FAST),
        Chip("litepulse_chip", (*hdl_sources("litepulse", "litepulse_phy_ice40_ddr"), PINS, HERE / "litepulse_chip.sv"), 2),
    )
}
