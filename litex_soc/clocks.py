# SPDX-License-Identifier: BSD-2-Clause
"""Clocks of the boards: the core's clock and a bus clock derived from the same crystal, never from an internal oscillator."""

from migen import ClockDomain, If, Instance, Signal
from migen.genlib.resetsync import AsyncResetSynchronizer

from litex.gen import LiteXModule


class Up5kClocks(LiteXModule):
    """UP5K with a crystal of 12 MHz on `clk12`: pulse = 48 MHz, sys = pulse / 2 from the same PLL, their edges aligned.

    `reset` (optional signal) resets both domains; `rst` is LiteX's, for a reset by software.
    """

    pulse_hz = 48_000_000
    sys_hz = 24_000_000

    def __init__(self, platform, clk12, reset=0):
        self.rst = Signal()
        self.cd_sys, self.cd_pulse, self.cd_por = ClockDomain("sys"), ClockDomain("pulse"), ClockDomain("por", reset_less=True)

        locked = Signal()
        self.specials += Instance("SB_PLL40_2F_PAD",
            p_FEEDBACK_PATH="SIMPLE", p_DIVR=0, p_DIVF=63, p_DIVQ=4, p_FILTER_RANGE=1,
            p_PLLOUT_SELECT_PORTA="GENCLK", p_PLLOUT_SELECT_PORTB="GENCLK_HALF",
            i_PACKAGEPIN=clk12, i_RESETB=1, i_BYPASS=0, o_LOCK=locked,
            o_PLLOUTGLOBALA=self.cd_pulse.clk, o_PLLOUTGLOBALB=self.cd_sys.clk)

        # Block RAM can be read wrongly for some microseconds after configuration.
        wait = Signal(10, reset=1023)
        self.comb += self.cd_por.clk.eq(self.cd_sys.clk)
        self.sync.por += If(wait != 0, wait.eq(wait - 1))
        hold = (wait != 0) | ~locked | self.rst | reset
        self.specials += AsyncResetSynchronizer(self.cd_sys, hold)
        self.specials += AsyncResetSynchronizer(self.cd_pulse, hold)
        platform.add_period_constraint(self.cd_pulse.clk, 1e9 / self.pulse_hz)
        platform.add_period_constraint(self.cd_sys.clk, 1e9 / self.sys_hz)
