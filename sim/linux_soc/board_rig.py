# SPDX-License-Identifier: BSD-2-Clause
"""ULX3S' Linux SoC as Verilator's program, with models of its SDRAM and its flash: boots what the flash has."""

import functools
import logging
import re
import subprocess
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

from litex_soc import boot, verilated
from litex_soc.boards import ulx3s
from litex_soc.verilated import group

HERE = Path(__file__).resolve().parent
SYS_HZ = 50_000_000
TOP = "board_tb"
CHIPS = [HERE / name for name in ("USRMCLK.sv", "flash_chip.sv", "sdram_chip.sv", "board_tb.sv")]


def clocks(pins):
    """The clock from outside; the SoC may reset itself."""
    from litex.gen import LiteXModule
    from migen import ClockDomain, Signal

    class Clocks(LiteXModule):
        """As litex_soc/clocks.py has them for the board."""

        def __init__(self):
            self.sys_hz, self.rst, self.cd_sys = Fraction(SYS_HZ), Signal(), ClockDomain("sys")
            self.comb += [self.cd_sys.clk.eq(pins.sys), self.cd_sys.rst.eq(pins.rst | self.rst)]

    return Clocks()


def make_soc():
    """(SoC, platform): the board's own, without LitePulse; clocks come from outside."""
    from litex.build.generic_platform import GenericPlatform

    logging.disable(logging.INFO)
    try:
        platform = GenericPlatform(
            "simulation",
            [
                group("clocks", ("sys", 1), ("rst", 1)),
                group("serial", ("tx", 1), ("rx", 1)),
                group(
                    "sdram", ("a", 13), ("dq", 16), ("we_n", 1), ("ras_n", 1), ("cas_n", 1), ("cs_n", 1), ("cke", 1), ("ba", 2), ("dm", 2)
                ),
                group("spiflash", ("cs_n", 1), ("miso", 1), ("mosi", 1), ("wp", 1), ("hold", 1)),
            ],
            name="litepulse_board",
        )
        soc = ulx3s.linux_soc(platform, clocks(platform.request("clocks")), SimpleNamespace(with_core=False), add_core=None)
        soc.finalize()
    finally:
        logging.disable(logging.NOTSET)
    return soc, platform


@functools.cache
def machine():
    """(description of the SoC, words of its ROM, path of the program), built if there is none."""
    soc, platform = make_soc()
    description, rom = soc.description(), list(soc.rom.mem.init)
    for memory in (soc.rom, soc.sram, soc.identifier):
        memory.mem.init = None  # else they would be read from files at run time
    made = platform.get_verilog(soc, name="litepulse_board", special_overrides=verilated.reset_synchronizer(False))
    assert not made.data_files
    # LiteX writes the date there, and in any order what is within what
    gateware = re.sub(r"(?ms)/\*.*?\*/|^//[^\n]*$", "", made.main_source)

    def sources(folder):
        (folder / "litepulse_board.v").write_text(gateware)
        return [
            *(f"+incdir+{path}" for path in platform.verilog_include_paths),
            *(source for source, *_ in platform.sources),
            verilated.RESET_SOURCE,
            folder / "litepulse_board.v",
            *CHIPS,
        ]

    program = verilated.Program(
        name="board-boot",
        title="the simulated ULX3S",
        top=TOP,
        sources=sources,
        main=HERE / "board_main.cpp",
        files=tuple(CHIPS),
        inputs=(gateware,),
        packages=("litex", "migen", "litedram", "verilator", "pythondata-cpu-vexriscv"),
    )
    return description, rom, program.build()


@dataclass
class Run:
    """`lines`: [(cycle, text)] of the console."""

    status: int
    lines: list
    errors: str

    @property
    def texts(self):
        """The texts alone, empty lines left out."""
        return [text for _, text in self.lines if text]

    def cycle(self, text):
        """When the one line began that begins so."""
        (cycle,) = [cycle for cycle, line in self.lines if line.startswith(text)]
        return cycle


def run(folder, flash=None, until="stops here", cycles=4_000_000, key=0, dead_address=0, dead_data=0, rom=None):
    """Boots in `folder` until the console has printed `until`.

    `flash` : bytes of it, or None: empty; `key` : the cycle a key is typed at; `rom` : words in its own's place.
    """
    _, own, program = machine()
    rom = rom or own
    (folder / "rom.hex").write_text("".join(f"{word:08x}\n" for word in rom))
    chips = [f"+rom={folder / 'rom.hex'}"]
    if flash is not None:
        (folder / "flash.bin").write_bytes(flash)
        chips.append(f"+flash={folder / 'flash.bin'}")
    result = subprocess.run(
        [program, *map(str, (cycles, until, key, dead_address, dead_data)), *chips],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    lines = [line.partition(" ")[::2] for line in result.stdout.splitlines()]
    return Run(result.returncode, [(int(cycle), text) for cycle, text in lines], result.stderr)


def in_flash(image):
    """Bytes of a flash that has, behind a bitstream, a boot image."""
    return b"\x5a" * boot.FLASHES["ulx3s"].image + image
