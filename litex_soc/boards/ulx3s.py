# SPDX-License-Identifier: BSD-2-Clause
"""ULX3S: ECP5 with SDRAM; UARTBone, or a CPU that can run Linux."""

from litex.build.io import DDROutput
from litex_boards.platforms import radiona_ulx3s
from migen import ClockDomain, ClockSignal

from litex_soc.board import Board
from litex_soc.clocks import Ecp5Clocks
from litex_soc.headers import pins


def clocks(platform, choice):
    """The board's other chip, an ESP32, must not reset the FPGA. SDRAM gets `sys` a quarter of a period late."""
    sdram = ClockDomain("sys_ps", reset_less=True)
    linux = choice.variant == "linux"
    crg = Ecp5Clocks(
        platform,
        platform.request("clk25"),
        25_000_000,
        choice.pulse_hz,
        choice.constraints.sys_hz,
        choice.samples,
        more={sdram: (choice.constraints.sys_hz, 90)} if linux else None,
    )
    crg.comb += platform.request("wifi_gpio0").eq(1)
    if linux:
        crg.cd_sys_ps = sdram
        crg.specials += DDROutput(1, 0, platform.request("sdram_clock"), ClockSignal("sys_ps"))
    return crg


def linux_soc(platform, crg, choice, add_core):
    """The Linux SoC with the board's SDRAM. It boots from its configuration flash."""
    from litedram.modules import MT48LC16M16
    from litedram.phy import GENSDRPHY

    from litex_soc.boot import BootingSoC, FlashPort
    from litex_soc.linux_soc import PULSE_WINDOW

    sys_hz = int(crg.sys_hz)
    soc = BootingSoC(platform, crg, sys_hz, "ulx3s", ident="LitePulse on ULX3S")
    soc.sdrphy = GENSDRPHY(platform.request("sdram"), sys_hz)
    soc.add_sdram("sdram", phy=soc.sdrphy, module=MT48LC16M16(sys_hz, "1:1"), size=0x4000_0000, l2_cache_size=8192)
    soc.spiflash = FlashPort(platform.request("spiflash"), sys_hz)
    if choice.with_core:
        add_core(soc, interrupts=True, window=PULSE_WINDOW)
    return soc


BOARD = Board(
    name="ulx3s",
    title="ULX3S",
    family="ecp5",
    fpgas={size: lambda size=size: radiona_ulx3s.Platform(device=f"LFE5U-{size.upper()}") for size in ("85f", "45f")},
    clocks=clocks,
    phys=("ecp5_serdes", "ecp5_ddr", "generic"),
    serial_is="the FTDI on the board",
    variants={"uartbone": None, "linux": linux_soc},
    event_depths={("85f", "linux"): 14},  # with a CPU `pulse` is slower
    programmers={"openFPGALoader": {"flash": ["-b", "ulx3s", "-f"], "ram": ["-b", "ulx3s", "-m"]}},
    usb=("0403", "6015", "FT231X"),
    bridge=("ULX3S*", "00"),
    maker=("Radiona", "https://github.com/emard/ulx3s"),
    headers=(
        pins(
            "J2",
            "GP14=U18 GP15=N17 GP16=N16 GP17=L16 GP18=H18 GP19=F17 GP20=D18",
            "GN14=U17 GN15=P16 GN16=M17 GN17=L17 GN18=H17 GN19=G18 GN20=E17 GN21=D17",
        ),
    ),
    port="/dev/ttyUSB0",
    special=(
        "With `VARIANT=linux` the board has a CPU that boots Linux from the flash: [linux-soc.md](../linux-soc.md#a-real-board). "
        "That was tried in simulation only. There a tick is 2.5 ns.",
        "The pins of the marker port, GN14 to GN21, lie beside GP14 to GP21 on J2. Do not confuse GP with GN.",
    ),
)
