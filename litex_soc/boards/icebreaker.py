# SPDX-License-Identifier: BSD-2-Clause
"""iCEBreaker: iCE40 UP5K, the reference cheap board."""

from litex_boards.platforms import icebreaker

from litex_soc.board import Board
from litex_soc.clocks import Ice40Clocks
from litex_soc.headers import pmod

BOARD = Board(
    name="icebreaker",
    title="iCEBreaker",
    family="ice40",
    fpgas={"up5k": icebreaker.Platform},
    clocks=lambda platform, choice: Ice40Clocks(platform, platform.request("clk12"), 12_000_000, choice.pulse_hz),
    phys=("generic", "ice40_ddr"),
    serial_is="second port of the FTDI on the board (the first is the flash)",
    programmers={"iceprog": {"flash": []}, "openFPGALoader": {"flash": ["-b", "ice40_generic", "-f"]}},
    usb=("0403", "6010", "FT2232H"),
    bridge=("iCEBreaker*", "01"),
    lin_entries={"ice40_ddr": 0},
    packs=False,  # the UP5K is full
    crowded=("generic", "ice40_ddr"),
    note="with two samples per cycle there is room for one input instead of four, and none for a LIN slave",
    maker=("1BitSquared", "https://1bitsquared.com/products/icebreaker"),
    headers=(pmod("PMOD 1A", "PMOD1A"), pmod("PMOD 1B", "PMOD1B")),
    special=(
        "The cheapest way to begin: [the first hour](../first-hour.md) is written for this board.",
        "The FPGA is nearly full, and its bridge does not pack answers ([bridge.md](../bridge.md#packed-answers)).",
    ),
)
