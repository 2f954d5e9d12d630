# SPDX-License-Identifier: BSD-2-Clause
"""A placed and routed iCE40 design with the delays of nextpnr's SDF file, as Verilog that Icarus simulates.

    chip = CHIPS["pulse_icebreaker"]        of bitstream.py
    sdf = Sdf(chip)                         its delays; a test may change one
    netlist(chip, sdf, folder)              Verilog files with the cells as nextpnr placed them, and these delays between them

Icarus 11 cannot take the SDF file itself ($sdf_annotate with -gspecify):

- "INTERCONNECT not supported": wires would have no delay, and they are most of it.
- "Cannot find": it finds no cell by an escaped name, as most of nextpnr's are.
- SETUPHOLD is ignored, without a message.
- It delays a cell with several inputs wrongly. Take `assign O = I0 ^ I3`, with IOPATH 5000 ps from I0 and 1000 ps from I3. I3 changes at
  0 ps, I0 at 900 ps. O must change at 1000 ps and at 5900 ps. Icarus changes its mind at 1000 ps: it shows what I0 has made of O 4900 ps
  too early. So a path that is too slow could pass.

So each delay becomes an element between two cells:

- An input of a logic path: the wire to it, and the cell's path from it to the output. A cell with two outputs is there twice.
- An input that a clock samples: the wire to it, and its set-up time. A level that arrives too late is sampled one cycle later.
- A clock: the wire to it. What it clocks out: the cell's path from the clock.

An element delays each change of its input by the same time, however short the level is.
"""

import json
import re
from collections import defaultdict
from dataclasses import dataclass

from sim.cocotb_rig import BuildError
from sim.netlist.bitstream import placement
from sim.netlist.synthesis import yosys_share

MODELS = ("SB_IO", "SB_GB", "ICESTORM_LC", "ICESTORM_RAM", "SB_RAM40_4K")
CLOCKS = {"CLK", "RCLK", "WCLK"}
ELEMENT = """`timescale 1ps / 1ps
module late #(parameter int PS = 0) (input i, output reg o);
  always begin
    o <= #(PS) i;
    @(i);
  end
endmodule
"""
TIME = r"\(([\d.]+):([\d.]+):([\d.]+)\)"
INSTANCE = re.compile(r"\(INSTANCE (\S*)\)")
WIRE = re.compile(rf"\(INTERCONNECT \S+/\S+ (\S+)/(\S+) {TIME} {TIME}\)")
PATH = re.compile(rf"\(IOPATH (\w+) (\w+) {TIME} {TIME}\)")
CHECK = re.compile(rf"\(SETUPHOLD \((?:pos|neg)edge (\w+)\) \(posedge (\w+)\) {TIME} {TIME}\)")


def plain(name):
    """A name without SDF's escapes."""
    return re.sub(r"\\(.)", r"\1", name)


def longest(times):
    """The longest of times, in ps."""
    return max(round(float(time)) for time in times)


class Sdf:
    """The delays in ps of a Chip of bitstream.py.

    wires {(cell, pin): of the wire that ends there}, paths {cell: {output: {input: ps}}}, setups {cell: {input: ps}}
    """

    def __init__(self, chip):
        self.wires, self.paths, self.setups = {}, defaultdict(lambda: defaultdict(dict)), defaultdict(dict)
        cell = ""
        for line in map(str.strip, (chip.build() / "post.sdf").read_text().splitlines()):
            if found := INSTANCE.fullmatch(line):
                cell = plain(found[1])
            elif found := WIRE.fullmatch(line):
                self.wires[plain(found[1]), found[2]] = longest(found.groups()[2:])
            elif found := PATH.fullmatch(line):
                self.paths[cell][found[2]][found[1]] = longest(found.groups()[2:])
            elif found := CHECK.fullmatch(line):
                self.setups[cell][found[1]] = max(longest(found.groups()[2:5]), self.setups[cell].get(found[1], 0))
                if any(float(hold) for hold in found.groups()[5:]):
                    raise BuildError(f"{cell} has a hold time, which is not simulated: {line}")
            elif line.startswith(("(INTERCONNECT", "(IOPATH", "(SETUPHOLD")):
                raise BuildError(f"nextpnr writes delays in another way: {line}")

    def wire(self, cell, pin):
        """The wire to a pin."""
        return self.wires.get((cell, pin), 0)

    def is_clocked(self, cell, output):
        """Whether an output follows the cell's clock."""
        return bool(CLOCKS & set(self.paths[cell][output]))


@dataclass(frozen=True)
class Arrival:
    """How long a change takes from the clock's pad by way of a register to a port; `clock_ps` of it to the register."""

    ps: int
    clock_ps: int


def drivers(design):
    """{net: (cell, pin)}."""
    return {bits[0]: (name, pin) for name, cell in design["cells"].items() for pin, bits in outputs(cell)}


def register_of(chip, net):
    """The cell that drives a net, by its name in the sources."""
    design = placement(chip.build())
    return drivers(design)[design["netnames"][net]["bits"][0]][0]


def arrivals(chip, sdf, port):
    """{register: its longest Arrival} of all registers from which a path leads to an output. Delays are added, nothing is simulated."""
    design = placement(chip.build())
    cells, driver = design["cells"], drivers(design)

    def back(name, pin):
        """[(cell, ps)] of what starts at a register or pad and ends at the wire to a pin."""
        source, output = driver[cells[name]["connections"][pin][0]]
        wire = sdf.wire(name, pin)
        if sdf.is_clocked(source, output) or cells[source]["type"] == "SB_IO":
            return [(source, wire + max(sdf.paths[source][output].values(), default=0))]
        return [(start, ps + path + wire) for through, path in sdf.paths[source][output].items() for start, ps in back(source, through)]

    found = {}
    for register, ps in sorted(back(f"{port}$sb_io", "D_OUT_0"), key=lambda way: way[1]):
        ((_, clock_ps),) = back(register, "CLK")
        found[register] = Arrival(clock_ps + ps, clock_ps)
    return found


def outputs(cell):
    """(pin, bits) of the outputs of a cell that are connected."""
    return [(pin, bits) for pin, bits in cell["connections"].items() if bits and cell["port_directions"][pin] == "output"]


def models():
    """Yosys' models of the cells of a placed design, which have no delays; Icarus does not take the whole file."""
    text = (yosys_share() / "ice40" / "cells_sim.v").read_text()
    found = [re.search(rf"^module {cell} ?\(.*?^endmodule\n", text, re.MULTILINE | re.DOTALL)[0] for cell in MODELS]
    return text[: text.index("module ")] + "".join(found)


def value(parameter):
    """A parameter of a cell, from nextpnr's JSON to Verilog."""
    return f"{len(parameter)}'b{parameter}" if re.fullmatch("[01xz]+", parameter) else json.dumps(parameter.rstrip())


class Writer:
    """Cells of a design in Verilog, with elements between them."""

    def __init__(self, design, sdf):
        self.sdf = sdf
        self.ports = design["ports"]
        self.names = {about["bits"][0]: name for name, about in self.ports.items()}
        self.wires, self.late, self.lines = set(), {}, []  # late {net: (net before an element, ps)}
        for name, cell in design["cells"].items():
            self.add(name, cell)

    def net(self, bit, ps=0):
        """The name of a net, which nextpnr gives as a number, or of that net `ps` later; a constant is text there."""
        if isinstance(bit, str):
            return f"1'b{bit}"
        name = self.names.get(bit, f"n{bit}")
        if bit not in self.names:
            self.wires.add(name)
        if not ps:
            return name
        self.late[f"{name}_{ps}"] = (name, ps)
        return f"{name}_{ps}"

    def clocked_out(self, bit, ps):
        """The name of a net before the delay of the register that drives it."""
        if not ps:
            return self.net(bit)
        self.wires.add(f"n{bit}_now")
        self.late[self.net(bit)] = (f"n{bit}_now", ps)
        return f"n{bit}_now"

    def add(self, name, cell):
        """A cell: once for all that its clock samples and clocks out, and once for each output of a logic path."""
        driven = outputs(cell)
        logic = [pin for pin, _ in driven if cell["type"] != "SB_IO" and not self.sdf.is_clocked(name, pin)]
        paths = self.sdf.paths[name]
        clocked = {pin: self.clocked_out(bits[0], max(paths[pin].values(), default=0)) for pin, bits in driven if pin not in logic}
        if clocked or not logic:
            ends = {pin: self.net(bits[0], self.sdf.wire(name, pin) + self.sdf.setups[name].get(pin, 0)) for pin, bits in inputs(cell)}
            self.instance(cell, {**clocked, **ends}, name)
        for output in logic:
            path = paths[output]
            ends = {pin: self.net(bits[0], self.sdf.wire(name, pin) + path[pin]) for pin, bits in inputs(cell) if pin in path}
            self.instance(cell, {output: self.net(cell["connections"][output][0]), **ends}, name)

    def instance(self, cell, pins, comment):
        """An instance with these pins connected."""
        parameters = ", ".join(f".{name}({value(text)})" for name, text in cell["parameters"].items())
        connected = ", ".join(f".{pin}({net})" for pin, net in pins.items())
        self.lines.append(f"{cell['type']} #({parameters}) c{len(self.lines)} ({connected}); // {comment}")

    def module(self, name):
        """The design as a module."""
        header = ", ".join(f"{about['direction']} {port}" for port, about in self.ports.items())
        wires = [f"wire {net};" for net in sorted(self.wires | set(self.late))]
        elements = [f"late #({ps}) e_{net} (.i({source}), .o({net}));" for net, (source, ps) in self.late.items()]
        return "\n".join([f"module {name} ({header});", *wires, *elements, *self.lines, "endmodule", ""])


def inputs(cell):
    """(pin, bits) of the other pins of a cell that are connected."""
    return [(pin, bits) for pin, bits in cell["connections"].items() if bits and cell["port_directions"][pin] != "output"]


def netlist(chip, sdf, folder):
    """Files with a module of the chip's name, its cells and its delays."""
    (folder / "cells.v").write_text(models())
    (folder / "placed.v").write_text(ELEMENT + Writer(placement(chip.build()), sdf).module(chip.top))
    return [folder / "placed.v", folder / "cells.v"]
