# SPDX-License-Identifier: BSD-2-Clause
"""Packs what a board boots Linux from: kernel, device tree, machine-mode firmware and initrd in one file, for its flash.

    python -m litex_soc.boot_image --board ulx3s --kernel Image [--initrd archive] [--bootargs ...] -o boot.img
    make BOARD=ulx3s VARIANT=linux IMAGE=boot.img flash-image

An image fits one bitstream: it has the addresses of that SoC. Exit status 1 if a tool failed, 2 for bad input; nothing is written then.
"""

import argparse
import logging
import os
import struct
import sys
from pathlib import Path

from litex_soc import boot, device_tree, firmware
from litex_soc.board import ChoiceError, choose, make_soc
from litex_soc.boot import ImageError
from litex_soc.constraints import ConstraintError
from litex_soc.device_tree import BOOTARGS

PAGE = 4096
# The header that every RISC-V kernel has (arch/riscv/include/asm/image.h): place from the start of memory, bytes it takes there, magic.
IMAGE_HEADER = struct.Struct("<8xQQ32xI4x")
IMAGE_MAGIC = int.from_bytes(b"RSC\x05", "little")
PLACE_RV32 = 0x40_0000
COMPRESSED = {b"\x1f\x8b": "gzip", b"\xfd7zXZ": "xz", b"BZh": "bzip2", b"\x28\xb5\x2f\xfd": "zstd", b"\x04\x22\x4d\x18": "lz4"}


def read(path, what):
    """A file's bytes. ImageError if it cannot be read or is empty."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise ImageError(f"{what} {path}: {error.strerror}") from error
    if not data:
        raise ImageError(f"{what} {path} is empty")
    return data


def memory_of(kernel, path):
    """Bytes of memory that a kernel takes, its variables included. ImageError if it is none for this CPU."""
    how = next((name for magic, name in COMPRESSED.items() if kernel.startswith(magic)), None)
    if how:
        raise ImageError(f"kernel {path} is compressed by {how}: give arch/riscv/boot/Image as it is")
    if len(kernel) < IMAGE_HEADER.size or IMAGE_HEADER.unpack_from(kernel)[2] != IMAGE_MAGIC:
        raise ImageError(f"kernel {path} is no RISC-V kernel: give arch/riscv/boot/Image")
    place, size, _ = IMAGE_HEADER.unpack_from(kernel)
    if place != PLACE_RV32:
        raise ImageError(f"kernel {path} is not for a 32-bit RISC-V with supervisor mode (ARCH_RV32I, RISCV_SBI)")
    return max(size, len(kernel))


def make(description, kernel, memory, initrd=b"", bootargs=BOOTARGS):
    """Parts for boot.pack(), the firmware last, for the SoC of a description.

    `kernel`, `initrd` : bytes; `memory` : bytes that the kernel takes.
    """
    layout = firmware.board_layout(description)
    text = device_tree.device_tree(description, bootargs, firmware=layout.firmware)
    start = layout.device_tree - len(initrd) & -PAGE
    if layout.kernel + memory > start:
        raise ImageError(
            f"kernel ({memory} bytes of memory) and initrd ({len(initrd)}) do not fit into the SDRAM: there are "
            f"{layout.device_tree - layout.kernel} bytes for both"
        )
    if initrd:
        text += f"/ {{ chosen {{ linux,initrd-start = <{start:#x}>; linux,initrd-end = <{start + len(initrd):#x}>; }}; }};\n"
    tree = device_tree.blob(text)
    room = layout.firmware[0] - layout.device_tree
    if len(tree) > room:
        raise ImageError(f"the device tree has {len(tree)} bytes, there is room for {room}: fewer bootargs")
    return [
        (layout.kernel, kernel),
        (start, initrd),
        (layout.device_tree, tree),
        (layout.firmware[0], firmware.build_for_board(description)),
    ]


def image_of(choice, kernel, initrd=None, bootargs=BOOTARGS):
    """The boot image of a board.Choice of variant `linux`; `kernel` and `initrd` : paths."""
    data = read(kernel, "kernel")
    memory = memory_of(data, kernel)
    archive = read(initrd, "initrd") if initrd else b""
    soc, _ = make_soc(choice)
    soc.finalize()
    description = soc.description()
    parts = make(description, data, memory, archive, bootargs)
    image = boot.pack(description, parts[-1][0], parts)
    room = boot.FLASHES[choice.board.name].room
    if len(image) > room:
        raise ImageError(f"the image has {len(image)} bytes, too many for the flash of {choice.board.title}: {room} behind the bitstream")
    return image


def write(path, data):
    """Whole or not at all."""
    if not path.name or path.is_dir():
        raise ImageError(f"{path} is a folder")
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        new.write_bytes(data)
        new.replace(path)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise ImageError(f"{path} cannot be written: {error.strerror}") from error


def main(argv=None):
    """`python -m litex_soc.boot_image`."""
    parser = argparse.ArgumentParser(prog="python -m litex_soc.boot_image", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--board", required=True, help="a board that has a variant `linux`")
    parser.add_argument("--fpga", help="of the board")
    parser.add_argument("--samples", help="of the board: samples per cycle, as its bitstream has them")
    parser.add_argument("--kernel", required=True, metavar="FILE", help="arch/riscv/boot/Image")
    parser.add_argument("--initrd", metavar="FILE", help="an archive, as the kernel is configured to unpack")
    parser.add_argument("--bootargs", default=BOOTARGS, help="of the kernel (default: %(default)s)")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", type=Path, help="the image")
    args = parser.parse_args(argv)
    logging.disable(logging.INFO)
    try:
        choice = choose(args.board, args.fpga, "linux", args.samples)
        image = image_of(choice, args.kernel, args.initrd, args.bootargs)
        write(args.output, image)
    except (ChoiceError, ConstraintError, ImageError) as error:
        print(error, file=sys.stderr)
        return 2
    except (firmware.FirmwareError, device_tree.DeviceTreeError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{args.output}: {len(image)} bytes of {boot.FLASHES[choice.board.name].room}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
