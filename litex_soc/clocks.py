# SPDX-License-Identifier: BSD-2-Clause
"""Clocks of the boards: the core's clock and a bus clock derived from the same crystal, never from an internal oscillator.

Each class has the domains `pulse` and `sys`, a `rst` for a reset by software, and as Fractions of Hz `pulse_hz` and `sys_hz`. All
domains stay in reset until the PLL has locked.
"""

from fractions import Fraction

from litex.gen import LiteXModule
from litex.soc.cores.clock import ECP5PLL
from migen import ClockDomain, ClockSignal, If, Instance, Signal
from migen.genlib.resetsync import AsyncResetSynchronizer

from litex_soc.constraints import ConstraintError
from litex_soc.phys import HDL

START = HDL / "phy" / "litepulse_phy_ecp5_start.sv"
# (PLLOUT / crystal) -> DIVR, DIVF, DIVQ, FILTER_RANGE of an iCE40's PLL, by crystal and output in MHz: feedback SIMPLE,
# output = crystal (DIVF + 1) / (DIVR + 1) / 2^DIVQ, VCO within 533 to 1066 MHz. The filter goes by crystal / (DIVR + 1).
ICE40_PLL: dict[tuple[int, Fraction | int], tuple[int, int, int, int]] = {
    (12, 48): (0, 63, 4, 1),
    (12, 42): (0, 55, 4, 1),
    (100, 100): (0, 7, 3, 5),
}

VCO_MAX_HZ = 1_066_000_000
RAM_READABLE_S = Fraction(15, 10**6)  # after configuration, with a margin: 3 us were observed


class Ice40Clocks(LiteXModule):
    """iCE40 with a crystal on a pad of a PLL: `pulse` = its output, `sys` = half of it from the same PLL, their edges aligned.

    `reset` (optional signal) resets both domains.
    """

    edge_clk = phy_rst = None

    def __init__(self, platform, crystal, crystal_hz, pulse_hz, reset=0):
        self.pulse_hz, self.sys_hz = Fraction(pulse_hz), Fraction(pulse_hz, 2)
        self.rst = Signal()
        self.cd_sys, self.cd_pulse, self.cd_por = ClockDomain("sys"), ClockDomain("pulse"), ClockDomain("por", reset_less=True)

        setting = ICE40_PLL.get((crystal_hz // 10**6, Fraction(pulse_hz) / 10**6))
        if setting is None:
            there = ", ".join(str(out) for crystal_mhz, out in ICE40_PLL if crystal_mhz * 10**6 == crystal_hz)
            raise ConstraintError(f"pulse = {float(pulse_hz) / 1e6:g} MHz: litex_soc/clocks.py has no PLL setting for it; there is {there}")
        divr, divf, divq, filter_range = setting
        assert Fraction(crystal_hz, (divr + 1) * 2**divq) * (divf + 1) == pulse_hz
        locked = Signal()
        self.specials += Instance(
            "SB_PLL40_2F_PAD",
            p_FEEDBACK_PATH="SIMPLE",
            p_DIVR=divr,
            p_DIVF=divf,
            p_DIVQ=divq,
            p_FILTER_RANGE=filter_range,
            p_PLLOUT_SELECT_PORTA="GENCLK",
            p_PLLOUT_SELECT_PORTB="GENCLK_HALF",
            i_PACKAGEPIN=crystal,
            i_RESETB=1,
            i_BYPASS=0,
            o_LOCK=locked,
            o_PLLOUTGLOBALA=self.cd_pulse.clk,
            o_PLLOUTGLOBALB=self.cd_sys.clk,
        )

        # Block RAM reads 0 for some microseconds after configuration; the core must not run before it can be read. The PLL's clock is not
        # faster than its VCO allows while it locks.
        wait = Signal(10, reset=1023)
        assert Fraction(wait.reset.value * 2 ** (divq + 1), VCO_MAX_HZ) >= RAM_READABLE_S
        self.comb += self.cd_por.clk.eq(self.cd_sys.clk)
        self.sync.por += If(wait != 0, wait.eq(wait - 1))
        hold = (wait != 0) | ~locked | self.rst | reset
        self.specials += AsyncResetSynchronizer(self.cd_sys, hold)
        self.specials += AsyncResetSynchronizer(self.cd_pulse, hold)
        platform.add_period_constraint(self.cd_pulse.clk, 1e9 / pulse_hz)
        platform.add_period_constraint(self.cd_sys.clk, 2e9 / pulse_hz)


class Ecp5Clocks(LiteXModule):
    """ECP5: `pulse` and `sys` from one PLL.

    `gearing` : samples per cycle; with more than 2 the pads run on `edge_clk` = pulse x gearing / 2, both its edges count.
    `edge_clk` and `phy_rst` are what the PHYs of the ECP5 want. The gearing of all pads starts in step: litepulse_phy_ecp5_start.
    `more` : {ClockDomain: (Hz, phase in degrees)}, further outputs of the PLL (SDRAM).
    """

    def __init__(self, platform, crystal, crystal_hz, pulse_hz, sys_hz, gearing=2, reset=0, more=None):
        self.pulse_hz, self.sys_hz = Fraction(pulse_hz), Fraction(sys_hz)
        self.rst, self.phy_rst = Signal(), Signal()
        self.cd_sys, self.cd_pulse, self.cd_crystal = ClockDomain("sys"), ClockDomain("pulse"), ClockDomain("crystal", reset_less=True)
        self.comb += self.cd_crystal.clk.eq(crystal)
        self.pll = pll = ECP5PLL()
        pll.register_clkin(crystal, crystal_hz)
        ready = Signal()
        if gearing <= 2:
            self.edge_clk = None
            pll.create_clkout(self.cd_pulse, pulse_hz, margin=0, with_reset=False)
            self.comb += ready.eq(pll.locked)
            # the pads' registers start as soon as there is a clock
            self.cd_gear = ClockDomain("gear")
            self.comb += [self.cd_gear.clk.eq(self.cd_pulse.clk), self.phy_rst.eq(self.cd_gear.rst)]
            self.specials += AsyncResetSynchronizer(self.cd_gear, ~ready)
        else:
            self.cd_fast = ClockDomain("fast", reset_less=True)
            pll.create_clkout(self.cd_fast, pulse_hz * gearing // 2, margin=0, with_reset=False)
            self.edge_clk, stop = Signal(), Signal()
            self.specials += [
                Instance(
                    "litepulse_phy_ecp5_start",
                    i_clk=ClockSignal("crystal"),
                    i_locked=pll.locked,
                    o_stop=stop,
                    o_gear_rst=self.phy_rst,
                    o_ready=ready,
                ),
                Instance("ECLKSYNCB", i_ECLKI=self.cd_fast.clk, i_STOP=stop, o_ECLKO=self.edge_clk),
                Instance(
                    "CLKDIVF", p_DIV=f"{gearing / 2:.1f}", i_CLKI=self.edge_clk, i_RST=self.phy_rst, i_ALIGNWD=0, o_CDIVX=self.cd_pulse.clk
                ),
            ]
            platform.add_source(str(START), "systemverilog")
            platform.add_period_constraint(self.edge_clk, 2e9 / pulse_hz / gearing)
        pll.create_clkout(self.cd_sys, sys_hz, margin=0, with_reset=False)
        for domain, (hz, phase) in (more or {}).items():
            pll.create_clkout(domain, hz, phase=phase, margin=0, with_reset=False)
        for domain in (self.cd_pulse, self.cd_sys):
            self.specials += AsyncResetSynchronizer(domain, ~ready | self.rst | reset)
        platform.add_period_constraint(self.cd_pulse.clk, 1e9 / pulse_hz)
        platform.add_period_constraint(self.cd_sys.clk, 1e9 / sys_hz)
