# SPDX-License-Identifier: BSD-2-Clause
"""What `python -m litex_soc.boot_image` packs, what it refuses, and how an image gets onto the board. That it boots: test_board_boot.py."""

import gzip
import re
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from litex_soc import board, boot, boot_image, firmware, flash

ROOT = Path(boot_image.__file__).resolve().parent.parent
OFFSET, ROOM = 0x40_0000, 0xC0_0000  # of the image in the flash, and behind that
RAM, DEVICE_TREE, FIRMWARE = 0x4000_0000, 0x41FE_0000, 0x41FF_0000


def kernel(size=1 << 20, length=5000, place=0x40_0000):
    """Something with the header of a RISC-V kernel that takes `size` bytes."""
    header = struct.pack("<IIQQQIIQ8s4sI", 0x6F, 0, place, size, 0, 2, 0, 0, b"RISCV\0\0\0", b"RSC\x05", 0)
    return header + bytes(n * 3 % 256 for n in range(length - len(header)))


@pytest.fixture
def run(tmp_path, capfd):
    """Function: (status, standard output, standard error) of the command; the image is to be boot.img."""

    def call(*arguments, name="ulx3s", output=tmp_path / "boot.img"):
        try:
            status = boot_image.main(["--board", name, *map(str, arguments), "-o", str(output)])
        except SystemExit as end:
            status = end.code
        return status, *capfd.readouterr()

    return call


@pytest.fixture(scope="module")
def description():
    soc, _ = board.make_soc(board.choose("ulx3s", variant="linux"))
    soc.finalize()
    return soc.description()


def put(path, data):
    path.write_bytes(data)
    return path


def parts_of(image):
    """(machine, entry, [(address, data), ...]) of an image, all CRC-32 checked."""
    assert image[:4] == b"LPBI"
    _, machine, entry, crc, *places, header_crc = struct.unpack_from("<13I", image)
    assert header_crc == zlib.crc32(image[:48]) and crc == zlib.crc32(image[52:])
    at, parts = 52, []
    for address, size in zip(places[::2], places[1::2]):
        parts.append((address, image[at : at + size]))
        at += size
    assert at == len(image)
    return machine, entry, parts


def tree_of(data):
    return subprocess.run(["dtc", "-I", "dtb", "-O", "dts", "-"], input=data, capture_output=True, check=True).stdout.decode()


def test_parts(run, tmp_path, description):
    """Each where it belongs, the device tree names the initrd to the byte, the firmware is what is entered."""
    initrd = bytes(range(256)) * 20 + b"end"
    archive = put(tmp_path / "archive", initrd)
    image = put(tmp_path / "Image", kernel())
    status, out, err = run("--kernel", image, "--initrd", archive, "--bootargs", "console=liteuart quiet")
    data = (tmp_path / "boot.img").read_bytes()
    assert (status, err) == (0, "") and out == f"{tmp_path / 'boot.img'}: {len(data)} bytes of {ROOM}\n"
    machine, entry, parts = parts_of(data)
    start = 0x41FD_E000
    assert entry == FIRMWARE and machine == boot.machine_id(description)
    assert [address for address, _ in parts] == [RAM, start, DEVICE_TREE, FIRMWARE]
    (_, code), (_, disk), (_, tree), (_, shim) = parts
    assert code == kernel() and disk == initrd + b"\0" and len(disk) % 4 == 0
    assert shim == firmware.build_for_board(description) and len(shim) % 4 == 0
    text = tree_of(tree)
    assert f"linux,initrd-start = <{start:#x}>;" in text and f"linux,initrd-end = <{start + len(initrd):#x}>;" in text
    assert 'bootargs = "console=liteuart quiet";' in text and "firmware@41ff0000" in text


def test_without_initrd(run, tmp_path):
    status, _, err = run("--kernel", put(tmp_path / "Image", kernel()))
    _, _, parts = parts_of((tmp_path / "boot.img").read_bytes())
    assert (status, err) == (0, "") and parts[1][1] == b"" and "initrd" not in tree_of(parts[2][1])


def test_image_is_for_one_bitstream(description):
    """The ROM of a bitstream knows its own images, made by whomever, and takes those of no other SoC; how often the core samples its
    pins is nothing to software."""

    def rom(*choice):
        soc, _ = board.make_soc(board.choose(*choice))
        soc.finalize()
        return struct.pack(f"<{len(soc.rom.mem.init)}I", *soc.rom.mem.init), boot.machine_id(soc.description())

    program = (
        "import logging; logging.disable(50); from litex_soc import board, boot; "
        "soc = board.make_soc(board.choose('ulx3s', variant='linux'))[0]; soc.finalize(); print(boot.machine_id(soc.description()))"
    )
    printed = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    own, other = rom("ulx3s", None, "linux"), rom("ulx3s", None, "linux", None, "none")
    assert own == rom("ulx3s", "45f", "linux", 2) and len(own[0]) <= boot.ROM_SIZE
    assert own[1] == boot.machine_id(description) == int(printed) != other[1] and own[0] != other[0]


@pytest.mark.parametrize(
    "contents, complaint",
    [
        (None, "No such file or directory"),
        (b"", "is empty"),
        (gzip.compress(kernel()), "is compressed by gzip: give arch/riscv/boot/Image as it is"),
        (b"\x7fELF" + bytes(100), "is no RISC-V kernel: give arch/riscv/boot/Image"),
        (kernel()[:40], "is no RISC-V kernel: give arch/riscv/boot/Image"),
        (kernel(place=0x20_0000), r"is not for a 32-bit RISC-V with supervisor mode \(ARCH_RV32I, RISCV_SBI\)"),
        (kernel(length=ROOM), r"the image has \d+ bytes, too many for the flash of ULX3S: 12582912 behind the bitstream"),
        (
            kernel(size=0x1FE_0001),
            r"kernel \(33423361 bytes of memory\) and initrd \(0\) do not fit into the SDRAM: there are 33423360 bytes "
            "for both",
        ),
    ],
)
def test_bad_kernel(run, tmp_path, contents, complaint):
    """One line, status 2, nothing written."""
    path = tmp_path / "Image"
    if contents is not None:
        put(path, contents)
    status, out, err = run("--kernel", path)
    assert status == 2 and out == "" and re.fullmatch(f".*{complaint}\n", err)
    assert {file.name for file in tmp_path.iterdir()} <= {"Image"}


def test_bad_input(run, tmp_path):
    image = put(tmp_path / "Image", kernel())
    for arguments, more, complaint in (
        (["--initrd", tmp_path / "none"], {}, f"initrd {tmp_path / 'none'}: No such file or directory"),
        (["--initrd", tmp_path], {}, f"initrd {tmp_path}: Is a directory"),
        ([], {"name": "icebreaker"}, "no variant linux on iCEBreaker; there is uartbone"),
        ([], {"name": "nothing"}, "no board nothing; there is .*"),
        (["--fpga", "12f"], {}, "no FPGA 12f on ULX3S; there is 85f, 45f"),
        ([], {"output": tmp_path / "none" / "boot.img"}, ".* cannot be written: No such file or directory"),
        ([], {"output": tmp_path}, f"{tmp_path} is a folder"),
        (["--bootargs", "x" * 70_000], {}, r"the device tree has \d+ bytes, there is room for 65536: fewer bootargs"),
    ):
        status, out, err = run("--kernel", image, *arguments, **more)
        assert status == 2 and out == "" and re.fullmatch(f"{complaint}\n", err), err
    archive = put(tmp_path / "archive", bytes(8 << 20))
    status, _, err = run("--kernel", put(tmp_path / "Image", kernel(size=24 << 20)), "--initrd", archive)
    assert status == 2 and err.startswith("kernel (25165824 bytes of memory) and initrd (8388608) do not fit into the SDRAM")
    assert {file.name for file in tmp_path.iterdir()} == {"Image", "archive"}


def test_old_image_survives(run, tmp_path):
    """What was there stays until there is another."""
    put(tmp_path / "boot.img", b"old")
    assert run("--kernel", tmp_path / "none")[0] == 2 and (tmp_path / "boot.img").read_bytes() == b"old"


def test_no_compiler(run, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "/nothing")
    status, _, err = run("--kernel", put(tmp_path / "Image", kernel()))
    assert status == 1 and err.startswith("no riscv64-linux-gnu-gcc here")


# ---- onto the board


def make(*words):
    return subprocess.run(["make", "-s", *words], cwd=ROOT, capture_output=True, text=True, check=False)


def test_commands():
    """The bitstream at the flash's start, the image behind where it ends: 85F, not compressed, less than 2 MB."""
    result = make("flash", "BOARD=ulx3s", "VARIANT=linux", "DRY_RUN=1")
    # in a new tree make says before that it sets it up
    assert result.returncode == 0 and re.search(r"(?m)^openFPGALoader -b ulx3s -f \S+/ulx3s-85f-linux-s4.bit\n\Z", result.stdout)
    result = make("flash-image", "BOARD=ulx3s", "VARIANT=linux", "IMAGE=some/boot.img", "SERIAL=D1", "DRY_RUN=1")
    assert (result.returncode, result.stdout) == (0, f"openFPGALoader --ftdi-serial D1 -b ulx3s -f -o {OFFSET} some/boot.img\n")
    assert OFFSET >= 2 << 20 and OFFSET % 0x1_0000 == 0 and OFFSET + ROOM == 16 << 20


def test_image_is_written(description, tmp_path, monkeypatch, capfd):
    """A whole image by the programmer; nothing that is no image, not whole, too large or for elsewhere."""
    monkeypatch.setattr(flash, "choose_device", lambda *_: flash.Device("1-1", "", "", ()))
    programmer = tmp_path / "openFPGALoader"
    programmer.write_text('#!/bin/sh\necho "ran: $*"\n')
    programmer.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    good = boot.pack(description, FIRMWARE, [(RAM, bytes(range(200)))])
    path = tmp_path / "boot.img"

    def write(data, *more, board_is=("ulx3s", "--variant", "linux"), name=path):
        if data is not None:
            name.write_bytes(data)
        return flash.main([*board_is, "--image", str(name), *more]), *capfd.readouterr()

    assert write(good) == (0, f"openFPGALoader -b ulx3s -f -o {OFFSET} {path}\nran: -b ulx3s -f -o {OFFSET} {path}\n", "")
    large = boot.pack(description, FIRMWARE, [(RAM, bytes(ROOM))])
    for data, more, complaint in (
        (b"", {}, f"{path}: it is no boot image; python -m litex_soc.boot_image makes one"),
        (b"#!/bin/sh" * 50, {}, f"{path}: it is no boot image; python -m litex_soc.boot_image makes one"),
        (good[:-1], {}, f"{path}: it is damaged: make a new one by python -m litex_soc.boot_image"),
        (good[:-1] + b"!", {}, f"{path}: it is damaged: make a new one by python -m litex_soc.boot_image"),
        (good[:20] + b"!" + good[21:], {}, f"{path}: it is damaged: make a new one by python -m litex_soc.boot_image"),
        (large, {}, f"{path} has {len(large)} bytes, too many for the flash of ULX3S: {ROOM} behind the bitstream"),
        (
            None,
            {"name": tmp_path / "none.img"},
            f"{tmp_path / 'none.img'}: No such file or directory; to make it: python -m litex_soc.boot_image",
        ),
        (
            good,
            {"name": tmp_path / "boot.bit"},
            f"{tmp_path / 'boot.bit'}: call it .img, from which the programmer knows that it is to be written as it is",
        ),
        (good, {"board_is": ("ulx3s",)}, "a boot image is for a variant that runs Linux (VARIANT=linux), uartbone does not"),
    ):
        assert write(data, **more) == (2, "", f"{complaint}\n")
    assert write(good, "--ram") == (2, "", "a boot image can only be in the flash: without --ram (RAM=1)\n")
