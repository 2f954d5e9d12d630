# SPDX-License-Identifier: BSD-2-Clause
"""Colorlight i5 on its extension board: ECP5."""

from litex_boards.platforms import colorlight_i5

from litex_soc.board import Board
from litex_soc.clocks import Ecp5Clocks
from litex_soc.headers import pmod

BOARD = Board(
    name="colorlight_i5",
    title="Colorlight i5",
    family="ecp5",
    fpgas={"25f": colorlight_i5.Platform},
    clocks=lambda platform, choice: Ecp5Clocks(
        platform, platform.request("clk25"), 25_000_000, choice.pulse_hz, choice.constraints.sys_hz, choice.samples
    ),
    phys=("ecp5_serdes", "ecp5_ddr", "generic"),
    serial_is="the DAPLink of the extension board",
    # its flash comes write-protected
    programmers={"openFPGALoader": {"flash": ["-b", "colorlight-i5", "-f", "--unprotect-flash"], "ram": ["-b", "colorlight-i5", "-m"]}},
    usb=("0d28", "0204", "DAPLink"),
    maker=("Colorlight", "https://github.com/wuxx/Colorlight-FPGA-Projects"),
    headers=(pmod("PMOD F, on P3", "pmodf"), pmod("PMOD E", "pmode")),
    port="/dev/ttyACM0",
    special=(
        "The card is for the module on its extension board, which has the DAPLink and the headers.",
        "Its flash comes write-protected. The command above removes that protection.",
        "Name the port yourself: a DAPLink does not say which board it is on.",
    ),
)
