#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Two LitePulse cores on a Digilent Arty A7, as a LiteX target: a board that the project does not know.

    examples/litex_arty.py --build             # Vivado; --toolchain=yosys+nextpnr for the open one
    examples/litex_arty.py --load

    litepulse --port /dev/ttyUSB1 --csr build/digilent_arty/csr.csv --core pulse info
    litepulse --port /dev/ttyUSB1 --csr build/digilent_arty/csr.csv --core pulse1 train --rate 58

A line is on each of two PMODs: pin 1 is tx, 2 rx, 3 de (drives an RS-485 transceiver), 7 to 10 are capture inputs. Both cores leave
the reset in the same cycle, so that a tick of one is a tick of the other: 5 ns.
"""

from litex.build.generic_platform import IOStandard, Pins, Subsignal
from litex.gen import LiteXModule
from litex.soc.cores.clock import S7PLL
from litex.soc.integration.builder import Builder
from litex.soc.integration.soc_core import SoCMini
from litex_boards.platforms import digilent_arty
from migen import ClockDomain, Signal

from litex_soc.litepulse import LitePulse

SYS_HZ, PULSE_HZ = 100e6, 200e6


def line(number, connector):
    """What a line needs of a PMOD, as a resource of the platform."""
    return (
        "pulse",
        number,
        Subsignal("tx", Pins(f"{connector}:0")),
        Subsignal("rx", Pins(f"{connector}:1")),
        Subsignal("de", Pins(f"{connector}:2")),
        Subsignal("aux", Pins(" ".join(f"{connector}:{pin}" for pin in (4, 5, 6, 7)))),
        IOStandard("LVCMOS33"),
    )


class Clocks(LiteXModule):
    """`sys` for the bus and `pulse` for the cores, from the board's crystal."""

    def __init__(self, platform):
        self.rst = Signal()
        self.cd_sys, self.cd_pulse = ClockDomain("sys"), ClockDomain("pulse")
        self.pll = pll = S7PLL(speedgrade=-1)
        self.comb += pll.reset.eq(~platform.request("cpu_reset") | self.rst)
        pll.register_clkin(platform.request("clk100"), 100e6)
        pll.create_clkout(self.cd_sys, SYS_HZ, margin=0)
        pll.create_clkout(self.cd_pulse, PULSE_HZ, margin=0)
        # what crosses between them goes through the core's own crossings
        platform.add_false_path_constraints(self.cd_sys.clk, self.cd_pulse.clk)


class ArtySoC(SoCMini):
    """No CPU: LiteX's UARTBone on the USB plug, and two cores."""

    def __init__(self, variant="a7-35", toolchain="vivado"):
        platform = digilent_arty.Platform(variant=variant, toolchain=toolchain)
        platform.add_extension([line(0, "pmoda"), line(1, "pmodb")])
        self.crg = Clocks(platform)
        SoCMini.__init__(self, platform, SYS_HZ, ident="LitePulse on Arty")
        self.add_uartbone()

        self.pulse = LitePulse(platform, platform.request("pulse", 0), PULSE_HZ, clock_domain="pulse")
        self.pulse.add_to_soc(self)  # where a host looks by itself
        self.pulse1 = LitePulse(platform, platform.request("pulse", 1), PULSE_HZ, clock_domain="pulse", together_with=self.pulse)
        self.pulse1.add_to_soc(self, "pulse1", csr_location=20, window=None)  # its CSRs there, its window where there is room


def main():
    """A target like those of litex-boards; all its options are LiteX's."""
    from litex.build.parser import LiteXArgumentParser  # not to be imported before the SoC

    parser = LiteXArgumentParser(platform=digilent_arty.Platform, description="Two LitePulse cores on Digilent Arty.")
    parser.add_target_argument("--variant", default="a7-35", help="a7-35 or a7-100")
    args = parser.parse_args()
    soc = ArtySoC(args.variant, args.toolchain)
    builder = Builder(soc, **parser.builder_argdict)
    if args.build:
        builder.build(**parser.toolchain_argdict)
    if args.load:
        soc.platform.create_programmer().load_bitstream(builder.get_bitstream_filename(mode="sram"))


if __name__ == "__main__":
    main()
