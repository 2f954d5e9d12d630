# SPDX-License-Identifier: BSD-2-Clause
"""The pins of the core: which PHYs there are, what each gives, and how LitePulse is wired to its pads through one.

A PHY is a module `litepulse_phy_NAME` below hdl/phy/. Its latencies are in hdl/limits.toml, their only source.
"""

import re
from dataclasses import dataclass

from migen import Instance, Signal
from migen.fhdl.specials import Tristate

from litex_soc import limits, places

# The environment names another folder when a test puts a fault into a copy of the core.
HDL = places.hdl()


@dataclass(frozen=True)
class Phy:
    """`samples` per cycle; `family` of FPGAs that has its primitives ("" = any); `sides` of the chip whose pins can do it;
    `input_pads`: which pads of an I/O group can be inputs (() = all)."""

    name: str
    samples: int
    family: str = ""
    sides: tuple = ("left", "right", "top", "bottom")
    input_pads: tuple = ()

    @property
    def source(self):
        """Its Verilog file."""
        return HDL / "phy" / f"litepulse_phy_{self.name}.sv"

    @property
    def latencies(self):
        """(LATENCY_IN, LATENCY_OUT) in cycles."""
        return limits.latencies(self.name)


PHYS = {
    phy.name: phy
    for phy in (
        Phy("generic", 1),
        Phy("ice40_ddr", 2, "ice40"),
        Phy("ecp5_ddr", 2, "ecp5"),
        # nextpnr has no wire for the word alignment of the other two pads of a group
        Phy("ecp5_serdes", 4, "ecp5", sides=("left", "right"), input_pads=("PIOA", "PIOC")),
    )
}


def add_generic(module, pads, clk, core):
    """Plain registers; the pads' buffers come from the platform. With a pin tx_oe the output enables are pins of their own."""
    tx, tx_oe, de, rx, aux = Signal(), Signal(), Signal(), Signal(), Signal(module.inputs)
    module.specials += Instance(
        "litepulse_phy_generic",
        p_INPUTS=module.inputs,
        i_clk=clk,
        i_tx_i=core["tx_o"],
        i_tx_oe_i=core["tx_oe"],
        i_de_i=core["de_o"],
        o_rx_o=core["rx_i"],
        o_aux_o=core["aux_i"],
        o_tx_o=tx,
        o_tx_oe_o=tx_oe,
        o_de_o=de,
        i_rx_pin=rx,
        i_aux_pin=aux,
    )
    if hasattr(pads, "tx_oe"):
        module.comb += [pads.tx.eq(tx), pads.tx_oe.eq(tx_oe)]
        if hasattr(pads, "de"):
            module.comb += pads.de.eq(de)
    else:
        module.specials += Tristate(pads.tx, tx, tx_oe)
        if hasattr(pads, "de"):
            module.specials += Tristate(pads.de, de, tx_oe)
    module.comb += rx.eq(pads.rx)
    if hasattr(pads, "aux"):
        module.comb += aux.eq(pads.aux)


def add_phy(module, phy, pads, clk, core, edge_clk=None, phy_rst=None):
    """Wires `core` ({port: Signal} of the core's side) to `pads` through `phy`.

    `edge_clk` (clock of the pads, a multiple of `clk`) and `phy_rst` (start of their gearing, not the core's reset) only where the
    PHY has them; ValueError if one is missing.
    """
    # Where instant 0 of a cycle is not at the rising edge of `clk` the PHY has a register for the port.
    marks, own_port = core["port_o"], bool(re.search(r"^\s*input\b.*\bport_i\b", phy.source.read_text(), re.MULTILINE))
    if own_port:
        marks = Signal(8)
    if module.has_port:
        module.comb += pads.port.eq(marks)
    if phy.name == "generic":
        add_generic(module, pads, clk, core)
        return
    more = {}
    for port, name, signal in (("eclk", "edge_clk", edge_clk), ("rst", "phy_rst", phy_rst)):
        if re.search(rf"^\s*input\b.*\b{port}\b", phy.source.read_text(), re.MULTILINE):
            if signal is None:
                raise ValueError(f"the PHY {phy.name} needs {name}")
            more[f"i_{port}"] = signal
    aux = getattr(pads, "aux", None)
    if hasattr(pads, "de"):
        more["io_de_pad"] = pads.de
    if own_port:
        more |= {"i_port_i": core["port_o"], "o_port_o": marks}
    module.specials += Instance(
        f"litepulse_phy_{phy.name}",
        p_INPUTS=module.inputs,
        p_PADS=0 if aux is None else len(aux),
        p_DE=int(hasattr(pads, "de")),
        i_clk=clk,
        i_tx_i=core["tx_o"],
        i_tx_oe_i=core["tx_oe"],
        i_de_i=core["de_o"],
        o_rx_o=core["rx_i"],
        o_aux_o=core["aux_i"],
        io_tx_pad=pads.tx,
        i_rx_pad=pads.rx,
        i_aux_pad=0 if aux is None else aux,
        **more,
    )
