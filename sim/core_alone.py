# SPDX-License-Identifier: BSD-2-Clause
"""Programs of the core alone, without SoC: Verilator's model of it and a main() in C++, which core_alone.h helps."""

from litex_soc import places, verilated
from sim.cocotb_rig import ROOT, SIM


def sources(_folder):
    """The core's Verilog."""
    hdl = places.hdl()
    packages = sorted(hdl.glob("*_pkg.sv"))
    return [f"+incdir+{hdl}", *packages, *sorted(set(hdl.glob("*.sv")) - set(packages))]


def program(name, title, main, *parameters, learn=None):
    """The verilated.Program of the C++ file `main`; `parameters` of the core, e.g. "LIN_ENTRIES=8"."""
    folders = (ROOT / "driver", verilated.HERE / "sim", SIM)
    return verilated.Program(
        name=name,
        title=title,
        top="litepulse",
        sources=sources,
        main=main,
        files=(folders[0] / "litepulse_regs.h", folders[1] / "arguments.h", folders[2] / "core_alone.h"),
        packages=("verilator",),
        options=(*(f"-G{parameter}" for parameter in parameters), "-CFLAGS", " ".join(f"-I{folder}" for folder in folders)),
        learn=learn,
    )
