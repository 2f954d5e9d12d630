#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Four serial lines with one time on a ULX3S, as a LiteX target: what happens on two of them is known to 10 ns, also which came first.

    examples/litex_ulx3s_lines.py --build      # Yosys and nextpnr-ecp5
    examples/litex_ulx3s_lines.py --load

    litepulse --port /dev/ttyUSB0 --csr build/radiona_ulx3s/csr.csv --core pulse2 info

Header J2, from GP14 on. Of each line: tx, rx, de (drives an RS-485 transceiver) and one capture input.

    line  core    tx    rx    de    input
    0     pulse   GP14  GP15  GP16  GP17
    1     pulse1  GN14  GN15  GN16  GN17
    2     pulse2  GP18  GP19  GP20  GP21
    3     pulse3  GN18  GN19  GN20  GN21
"""

from litex.build.generic_platform import IOStandard, Misc, Pins, Subsignal
from litex.gen import LiteXModule
from litex.soc.cores.clock import ECP5PLL
from litex.soc.integration.builder import Builder
from litex.soc.integration.soc_core import SoCMini
from litex_boards.platforms import radiona_ulx3s
from migen import ClockDomain, Signal

from litex_soc.litepulse import LitePulse

SYS_HZ, PULSE_HZ = 50e6, 100e6
PINS = ("U18 N17 N16 L16", "U17 P16 M17 L17", "H18 F17 D18 C18", "H17 G18 E17 D17")


def line(number, pins):
    """The pins of a line as a resource of the platform. By its pull-up a line that is not connected reads as a resting one."""
    tx, rx, de, aux = (Pins(pin) for pin in pins.split())
    return (
        "pulse",
        number,
        Subsignal("tx", tx),
        Subsignal("rx", rx, Misc("PULLMODE=UP")),
        Subsignal("de", de),
        Subsignal("aux", aux),
        IOStandard("LVCMOS33"),
    )


class Clocks(LiteXModule):
    """`sys` for the bus and `pulse` for the cores, from the board's crystal."""

    def __init__(self, platform):
        self.rst = Signal()
        self.cd_sys, self.cd_pulse = ClockDomain("sys"), ClockDomain("pulse")
        self.pll = pll = ECP5PLL()
        self.comb += [pll.reset.eq(self.rst), platform.request("wifi_gpio0").eq(1)]  # else the board's ESP32 resets the FPGA
        pll.register_clkin(platform.request("clk25"), 25e6)
        pll.create_clkout(self.cd_sys, SYS_HZ, margin=0)
        pll.create_clkout(self.cd_pulse, PULSE_HZ, margin=0)


class LinesSoC(SoCMini):
    """No CPU: LiteX's UARTBone on the USB plug, and a core for each line, all of which leave the reset in one cycle."""

    def __init__(self, device="LFE5U-85F", toolchain="trellis"):
        platform = radiona_ulx3s.Platform(device=device, toolchain=toolchain)
        platform.add_extension([line(number, pins) for number, pins in enumerate(PINS)])
        self.crg = Clocks(platform)
        SoCMini.__init__(self, platform, SYS_HZ, ident="Four LitePulse lines on ULX3S")
        self.add_uartbone()
        self.pulse = LitePulse(platform, platform.request("pulse", 0), PULSE_HZ, clock_domain="pulse")
        self.pulse.add_to_soc(self)  # where a host looks by itself
        for number in range(1, len(PINS)):
            name = f"pulse{number}"
            pads = platform.request("pulse", number)
            setattr(self, name, LitePulse(platform, pads, PULSE_HZ, clock_domain="pulse", together_with=self.pulse))
            getattr(self, name).add_to_soc(self, name, csr_location=None, window=None)


def main():
    """A target like those of litex-boards; all its options are LiteX's."""
    from litex.build.parser import LiteXArgumentParser  # not to be imported before the SoC

    parser = LiteXArgumentParser(platform=radiona_ulx3s.Platform, description="Four LitePulse lines on ULX3S.")
    parser.add_target_argument("--device", default="LFE5U-85F", help="LFE5U-85F or LFE5U-45F")
    args = parser.parse_args()
    soc = LinesSoC(args.device, args.toolchain)
    builder = Builder(soc, **parser.builder_argdict)
    if args.build:
        builder.build(**parser.toolchain_argdict)
    if args.load:
        soc.platform.create_programmer().load_bitstream(builder.get_bitstream_filename(mode="sram"))


if __name__ == "__main__":
    main()
