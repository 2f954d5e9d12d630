# SPDX-License-Identifier: BSD-2-Clause
"""Alchitry Cu: iCE40 HX8K, the fast iCE40."""

from litex_boards.platforms import alchitry_cu

from litex_soc.board import Board
from litex_soc.clocks import Ice40Clocks
from litex_soc.headers import pins

BOARD = Board(
    name="alchitry_cu",
    title="Alchitry Cu",
    family="ice40",
    fpgas={"hx8k": alchitry_cu.Platform},
    clocks=lambda platform, choice: Ice40Clocks(platform, platform.request("clk100"), 100_000_000, choice.pulse_hz),
    phys=("ice40_ddr", "generic"),
    serial_is="second port of the FTDI on the board (the first is the flash)",
    programmers={"iceprog": {"flash": []}, "openFPGALoader": {"flash": ["-b", "ice40_generic", "-f"]}},
    usb=("0403", "6010", "FT2232H"),
    bridge=("Alchitry Cu*", "01"),
    lin_entries={"generic": 0, "ice40_ddr": 0},
    note="all 32 block RAMs are in use, so there is no LIN slave",
    maker=("SparkFun", "https://www.sparkfun.com/products/16526"),
    headers=(pins("bank A", "2=M1 3=L1 5=J1 6=J3 8=G1 9=G3 11=E1"),),
    special=("The pins are on the fine-pitch headers of bank A: you need a board on top that brings them out.",),
)
