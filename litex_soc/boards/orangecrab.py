# SPDX-License-Identifier: BSD-2-Clause
"""OrangeCrab r0.2: ECP5. Its USB is wired to the FPGA itself, so the bridge needs a serial adapter at the header."""

from litex_boards.platforms import gsd_orangecrab

from litex_soc.board import Board
from litex_soc.clocks import Ecp5Clocks

BOARD = Board(
    name="orangecrab",
    title="OrangeCrab r0.2",
    family="ecp5",
    fpgas={size: lambda size=size: gsd_orangecrab.Platform(revision="0.2", device=size.upper()) for size in ("25f", "85f")},
    clocks=lambda platform, choice: Ecp5Clocks(
        platform, platform.request("clk48"), 48_000_000, choice.pulse_hz, choice.constraints.sys_hz, choice.samples
    ),
    phys=("ecp5_serdes", "ecp5_ddr", "generic"),
    serial_is="a USB serial adapter at header pins 0 (FPGA's RX) and 1 (TX), 3.3 V",
    add_serial=gsd_orangecrab.feather_serial,
    programmers={"dfu-util": {"flash": ["-d", "1209:5af0", "-a", "0", "-R", "-D"]}, "openFPGALoader": {"flash": ["-b", "orangeCrab"]}},
    usb=("1209", "5af0", "DFU boot loader"),
    attach="hold its button while plugging in the USB cable",
)
