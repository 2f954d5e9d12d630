# SPDX-License-Identifier: BSD-2-Clause
"""Several cores in one chip, together_with each other: one time for all of them."""

import pytest
from migen import ClockDomain, Signal

from litex_soc.litepulse import LitePulse
from sim import cocotb_rig
from sim.soc.test_wrapper import Pads, Platform, finalize_csrs, write_top


def make_top(folder, cores):
    """(Verilog sources, top) of `cores` cores that share a bus' address and data, and their only
    capture input."""
    from litex.gen import LiteXModule

    platform = Platform()
    adr, we, dat_w = Signal(30, name_override="bus_adr"), Signal(name_override="bus_we"), Signal(32, name_override="bus_dat_w")
    aux = Signal(name_override="aux")
    ports = [adr, we, dat_w, aux]

    class Top(LiteXModule):
        def __init__(self):
            self.cd_sys, self.cd_pulse = ClockDomain("sys"), ClockDomain("pulse")
            for n in range(cores):
                pads = Pads(inputs=0, de=False)
                pads.aux = aux
                first = getattr(self, "pulse0", None)
                core = LitePulse(platform, pads, 131_250_000, clock_domain="pulse", interrupts=False, lin_entries=0, together_with=first)
                setattr(self, f"pulse{n}", core)
                cyc, ack, dat_r = (Signal(bits, name_override=f"{name}{n}") for name, bits in (("cyc", 1), ("ack", 1), ("dat_r", 32)))
                ports.extend([cyc, ack, dat_r])
                bus = core.bus
                self.comb += [bus.adr.eq(adr), bus.we.eq(we), bus.dat_w.eq(dat_w), bus.sel.eq(0b1111), bus.cyc.eq(cyc), bus.stb.eq(cyc)]
                self.comb += [ack.eq(bus.ack), dat_r.eq(bus.dat_r), pads.rx.eq(1)]
                finalize_csrs(self, core)

    top = Top()
    ios = {top.cd_sys.clk, top.cd_sys.rst, top.cd_pulse.clk, top.cd_pulse.rst, *ports}
    return write_top(folder, top, ios, "lines_top", platform)


@pytest.mark.full
@pytest.mark.seconds(40)
def test_one_time_for_all():
    sources, top = make_top(cocotb_rig.BUILD / "lines", 4)
    cocotb_rig.simulate("tb_lines", top, sources, simulator="icarus", env={"LINES_CORES": 4})


def test_only_in_one_domain():
    first = LitePulse(Platform(), Pads(), 48_000_000, clock_domain="pulse")
    with pytest.raises(ValueError, match="together_with: that core is in the clock domain pulse, not in sys"):
        LitePulse(Platform(), Pads(), 48_000_000, together_with=first)
