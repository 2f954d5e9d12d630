# SPDX-License-Identifier: BSD-2-Clause
"""How a board boots Linux: a ROM that sets up the SDRAM and copies a boot image from the configuration flash, behind the bitstream.

`BootingSoC` is a LinuxSoC whose ROM is that program (boot.c); litex_soc/boot_image.py makes the image.

A boot image is words of 32 bits, little-endian: the header (HEADER), then the data of each part, filled up with zeros to whole words.
"""

import json
import struct
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from litex.soc.cores.spi import SPIMaster
from migen import Instance, Record, ResetSignal

from litex_soc import firmware
from litex_soc.linux_soc import LinuxSoC

HERE = Path(__file__).resolve().parent
SOURCES = [HERE / "start.S", HERE / "boot.c"]
ROM_SIZE = 0x2000


@dataclass(frozen=True)
class Flash:
    """A board's configuration flash, in bytes: its size, and where in it the boot image begins."""

    size: int
    image: int

    @property
    def room(self):
        """Bytes that a boot image may have."""
        return self.size - self.image


# The largest bitstream for an 85F, not compressed, has less than 2 MB.
FLASHES = {"ulx3s": Flash(size=16 << 20, image=4 << 20)}

MAGIC = int.from_bytes(b"LPBI", "little")
PARTS = 4  # kernel, device tree, firmware, initrd: each with address and bytes, 0 bytes if there is none
# magic, machine_id(), entry, CRC-32 of all data; address and bytes of each part; CRC-32 of all that precedes
HEADER = struct.Struct(f"<4I{2 * PARTS}I")
HEADER_SIZE = HEADER.size + 4


class ImageError(ValueError):
    """There is something wrong with a boot image; the message, one line, says what."""


def machine_id(description):
    """What distinguishes SoCs with different software: a CRC-32 of LinuxSoC.description()."""
    return zlib.crc32(json.dumps(description, sort_keys=True).encode())


def padded(data):
    """Filled up to whole words."""
    return data + bytes(-len(data) % 4)


def pack(description, entry, parts):
    """A boot image. `parts` : up to PARTS of (address, data)."""
    data = b"".join(padded(part) for _, part in parts)
    places = [number for address, part in parts for number in (address, len(padded(part)))]
    header = HEADER.pack(MAGIC, machine_id(description), entry, zlib.crc32(data), *places, *[0] * (2 * PARTS - len(places)))
    return header + struct.pack("<I", zlib.crc32(header)) + data


def check(image):
    """Raises ImageError unless these bytes are a whole boot image."""
    if len(image) < HEADER_SIZE or HEADER.unpack_from(image)[0] != MAGIC:
        raise ImageError("it is no boot image; python -m litex_soc.boot_image makes one")
    (header_crc,) = struct.unpack_from("<I", image, HEADER.size)
    _, _, _, crc, *places = HEADER.unpack_from(image)
    if (
        header_crc != zlib.crc32(image[: HEADER.size])
        or sum(places[1::2]) != len(image) - HEADER_SIZE
        or crc != zlib.crc32(image[HEADER_SIZE:])
    ):
        raise ImageError("it is damaged: make a new one by python -m litex_soc.boot_image")


class FlashPort(SPIMaster):
    """An SPI master, 32 bits at a time, on the flash that an ECP5 is configured from, whose clock pin only USRMCLK reaches.

    MISO is sampled half a period after the clock edge on which the flash changes it: a quarter
    of `sys` leaves it 40 ns at 50 MHz.
    """

    def __init__(self, pads, sys_hz):
        wires = Record(SPIMaster.pads_layout)
        SPIMaster.__init__(self, wires, 32, sys_hz, sys_hz / 4)
        self.comb += [pads.cs_n.eq(wires.cs_n), pads.mosi.eq(wires.mosi), wires.miso.eq(pads.miso), pads.wp.eq(1), pads.hold.eq(1)]
        self.specials += Instance("USRMCLK", i_USRMCLKI=wires.clk, i_USRMCLKTS=ResetSignal("sys"))


class BootingSoC(LinuxSoC):
    """A LinuxSoC that boots itself. Its `sdram` and its `spiflash`, a FlashPort, are added by the board.

    Raises firmware.FirmwareError when finalized where there is no compiler for its CPU.
    """

    def __init__(self, platform, crg, sys_hz, board, **more):
        LinuxSoC.__init__(self, platform, crg, sys_hz, rom_size=ROM_SIZE, **more)
        self.board = board

    def finalize(self):
        """Only then all addresses are known that the ROM's program needs."""
        if not self.finalized:
            LinuxSoC.finalize(self)
            data = padded(rom(self))
            self.init_rom("rom", [word for (word,) in struct.iter_unpack("<I", data)], auto_size=False)


def sdram_source(soc, description):
    """C: sdram_init(), the sequence LiteDRAM has for this chip and PHY."""
    from litedram.init import get_sdram_phy_c_header

    settings = soc.sdram.controller.settings
    header = get_sdram_phy_c_header(settings.phy, settings.timing, settings.geom)
    registers = {
        name: csr["addr"] for name, csr in description["csr_registers"].items() if name.startswith("sdram_dfii_") and csr["size"] == 1
    }
    return "\n".join(
        [
            *(
                f"#define {name}_write(value) (*(volatile unsigned int *){address:#x} = (value))\n"
                f"#define CSR_{name.upper()}_ADDR {address:#x}"
                for name, address in registers.items()
            ),
            # its includes would tell the same
            *(line for line in header.splitlines() if not line.startswith("#include")),
            "void sdram_init(void);",
            "void sdram_init(void)",
            "{",
            "\tsdram_dfii_control_write(DFII_CONTROL_CKE | DFII_CONTROL_ODT | DFII_CONTROL_RESET_N);\t/* ours, not the controller's */",
            "\tinit_sequence();",
            "\tsdram_dfii_control_write(DFII_CONTROL_SEL);",
            "}",
            "",
        ]
    )


def rom(soc):
    """The ROM's program, raw bytes, of a finalized BootingSoC."""
    description = soc.description()
    memories, registers, flash = description["memories"], description["csr_registers"], FLASHES[soc.board]
    ram, sram = memories["main_ram"], memories["sram"]
    defines = {
        "RAM": ram["base"],
        "RAM_SIZE": ram["size"],
        "L2_SIZE": description["constants"]["config_l2_size"],
        "SYS_HZ": description["sys_hz"],
        "FLASH_IMAGE": flash.image,
        "FLASH_ROOM": flash.room,
        "MAGIC": MAGIC,
        "MACHINE": machine_id(description),
        "PARTS": PARTS,
        **{
            name.upper(): registers[name]["addr"]
            for name in (
                "uart_rxtx",
                "uart_txfull",
                "uart_rxempty",
                "spiflash_control",
                "spiflash_status",
                "spiflash_mosi",
                "spiflash_miso",
                "spiflash_cs",
            )
        },
        "CONTROLLER_RESET": registers["ctrl_reset"]["addr"],
    }
    with tempfile.TemporaryDirectory(prefix="litepulse-boot-") as folder:
        generated = Path(folder) / "sdram.c"
        generated.write_text(sdram_source(soc, description))
        return firmware.link(description["cpu"], [*SOURCES, generated], defines, memories["rom"]["base"], sram["base"] + sram["size"])
