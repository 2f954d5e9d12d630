# SPDX-License-Identifier: BSD-2-Clause
"""ECPIX-5: ECP5-5G."""

from litex_boards.platforms import lambdaconcept_ecpix5

from litex_soc.board import Board
from litex_soc.clocks import Ecp5Clocks
from litex_soc.headers import pmod

BOARD = Board(
    name="ecpix5",
    title="ECPIX-5",
    family="ecp5",
    fpgas={size: lambda size=size: lambdaconcept_ecpix5.Platform(device=size.upper()) for size in ("85f", "45f")},
    clocks=lambda platform, choice: Ecp5Clocks(
        platform, platform.request("clk100"), 100_000_000, choice.pulse_hz, choice.constraints.sys_hz, choice.samples
    ),
    phys=("ecp5_serdes", "ecp5_ddr", "generic"),
    serial_is="second port of the FTDI on the board",
    programmers={"openFPGALoader": {"flash": ["-b", "ecpix5", "-f"], "ram": ["-b", "ecpix5", "-m"]}},
    usb=("0403", "6010", "FT2232H"),
    bridge=("ECPIX-5*", "01"),
    maker=("LambdaConcept", "https://docs.lambdaconcept.com/ecpix-5/"),
    headers=(pmod("PMOD 0", "pmod0"), pmod("PMOD 1", "pmod1")),
    special=(
        "The finest tick of the six boards, and with `SAMPLES=1` the soonest answer.",
        "At 200 MHz a synchroniser has little time to decide. If you have many edges and must be sure, read "
        "[how often they fail](../pins.md#synchronisers-and-how-often-they-fail).",
    ),
)
