# SPDX-License-Identifier: BSD-2-Clause
"""OrangeCrab r0.2: ECP5. Its USB is wired to the FPGA itself, so the bridge needs a serial adapter at the header."""

from litex_boards.platforms import gsd_orangecrab

from litex_soc.board import Board
from litex_soc.clocks import Ecp5Clocks
from litex_soc.headers import pins

BOARD = Board(
    name="orangecrab",
    title="OrangeCrab r0.2",
    family="ecp5",
    fpgas={size: lambda size=size: gsd_orangecrab.Platform(revision="0.2", device=size.upper()) for size in ("25f", "85f")},
    clocks=lambda platform, choice: Ecp5Clocks(
        platform, platform.request("clk48"), 48_000_000, choice.pulse_hz, choice.constraints.sys_hz, choice.samples
    ),
    phys=("ecp5_serdes", "ecp5_ddr", "generic"),
    event_depths={("25f", "uartbone"): 12, ("85f", "uartbone"): 14},  # its FPGA is faster than its clock needs
    serial_is="a USB serial adapter at header pins 0 (FPGA's RX) and 1 (TX), 3.3 V",
    add_serial=gsd_orangecrab.feather_serial,
    programmers={"dfu-util": {"flash": ["-d", "1209:5af0", "-a", "0", "-R", "-D"]}, "openFPGALoader": {"flash": ["-b", "orangeCrab"]}},
    usb=("1209", "5af0", "DFU boot loader"),
    attach="hold its button while plugging in the USB cable",
    maker=("OrangeCrab", "https://github.com/orangecrab-fpga/orangecrab-hardware"),
    headers=(
        pins(
            "Feather header",
            "13=GPIO:13 12=GPIO:12 11=GPIO:11 10=GPIO:10 9=GPIO:9 6=GPIO:6 5=GPIO:5 SCL=GPIO:3 SDA=GPIO:2 0/RX=GPIO:0 1/TX=GPIO:1",
            "A0=GPIO:18 A1=GPIO:19 A2=GPIO:20 A3=GPIO:21 A4=GPIO:22 A5=GPIO:23",
        ),
    ),
    port="/dev/ttyUSB0",
    special=(
        "`make flash` talks to the boot loader: hold the board's button while you plug in its USB cable.",
        "The board's own USB is not used afterwards. A second cable, the serial adapter, carries the bridge: its TX to pin 0, its RX to "
        "pin 1, GND to GND. It must be a 3.3 V adapter.",
    ),
)
