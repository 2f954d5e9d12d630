# SPDX-License-Identifier: BSD-2-Clause
"""ULX3S boots Linux: the board's SoC, its ROM, and models of its SDRAM and its flash; a payload in the kernel's place.

The images are made by litex_soc.boot_image, those that are wrong in some way are put together here. Each failure has its line.
"""

import re
import struct
import subprocess
import zlib
from pathlib import Path

import pytest

from litex_soc import boot, boot_image
from sim.linux_soc import bare_rig, board_rig

HERE = Path(__file__).resolve().parent
INITRD = bytes((n * n + n // 256) % 251 for n in range(3001))  # no whole words
OFFSET, SIZE = 0x40_0000, 0x100_0000  # of the image in the flash, of the flash
RAM, RAM_SIZE = 0x4000_0000, 32 << 20
DEVICE_TREE, FIRMWARE = 0x41FE_0000, 0x41FF_0000
HEADER = struct.Struct("<13I")
MAKE_ONE = "; make one by python -m litex_soc.boot_image and write it by make flash-image"
AGAIN = "; any key tries again"
pytestmark = pytest.mark.seconds(15)


@pytest.fixture(scope="module")
def description():
    return board_rig.machine()[0]


@pytest.fixture(scope="module")
def payload(description, tmp_path_factory):
    """Bytes of board_payload.c, as a kernel's Image."""
    folder = tmp_path_factory.mktemp("payload")
    csr = description["csr_registers"]
    defines = [f"-D{name.upper()}={csr[name]['addr']:#x}" for name in ("uart_rxtx", "uart_txfull")]
    subprocess.run(
        [
            *bare_rig.COMPILERS["vexriscv"],
            *bare_rig.FLAGS,
            *defines,
            f"-Wl,--defsym=RAM={RAM:#x}",
            "-T",
            HERE / "bare.ld",
            "-o",
            folder / "payload.elf",
            HERE / "board_payload.S",
            HERE / "board_payload.c",
        ],
        check=True,
    )
    subprocess.run(["riscv64-linux-gnu-objcopy", "-O", "binary", folder / "payload.elf", folder / "payload.bin"], check=True)
    return (folder / "payload.bin").read_bytes()


@pytest.fixture(scope="module")
def image(description, payload):
    """The boot image of payload and INITRD for the simulated board."""
    parts = boot_image.make(description, payload, boot_image.memory_of(payload, "payload"), INITRD)
    return boot.pack(description, FIRMWARE, parts)


def test_boots(tmp_path, image):
    """From reset into supervisor mode, with device tree and initrd where the one says that the other is, in a known time."""
    run = board_rig.run(tmp_path, board_rig.in_flash(image))
    size = len(image) - HEADER.size
    started = run.texts.index("boot: starting")
    assert (run.status, run.errors) == (0, "")
    assert run.texts[: started + 1] == ["boot: SDRAM 32 MB", f"boot: copying {size} bytes", "boot: starting"]
    found = dict(line.split() for line in run.texts[started + 1 : -1])
    sum_of = 0
    for byte in INITRD:
        sum_of = (sum_of * 31 + byte) % 2**32
    start = DEVICE_TREE - len(INITRD) & -4096
    assert {name: int(value, 16) for name, value in found.items()} == {
        "hart": 0,
        "tree": 0xD00DFEED,
        "sbi": 0x100_0000,
        "initrd": start,
        "bytes": len(INITRD),
        "sum": sum_of,
        "later": 1,
    }
    assert run.texts[-1] == "stops here"


def cycles_per_byte(folder, description, sizes):
    """Cycles from `copying` to `starting` for each byte more; what the console takes is the same for both."""
    took = []
    for size in sizes:
        data = bytes(n * 7 % 253 for n in range(size))
        run = board_rig.run(folder, board_rig.in_flash(boot.pack(description, RAM, [(RAM, data)])), until="starting\r", cycles=8_000_000)
        assert run.status == 0 and run.texts[1:] == [f"boot: copying {size} bytes", "boot: starting"]
        took.append(run.cycle("boot: starting") - run.cycle("boot: copying"))
    return (took[1] - took[0]) / (sizes[1] - sizes[0])


def test_speed(tmp_path, description):
    """What docs/linux-soc.md says of the time a boot takes, give or take what another compiler makes of the loops."""
    measured = cycles_per_byte(tmp_path, description, (20_000, 60_000))
    (stated,) = re.findall(r"(\d+) cycles for each byte", (HERE.parent.parent / "docs" / "linux-soc.md").read_text())
    assert abs(measured - int(stated)) <= 4


def damage(image, at, mask=0x10):
    """With bits of one byte turned."""
    return image[:at] + bytes([image[at] ^ mask]) + image[at + 1 :]


def forged(image, **fields):
    """With other numbers in the header, whose own CRC-32 is right."""
    names = ("magic", "machine", "entry", "crc", "address0", "bytes0", "address1", "bytes1", "address2", "bytes2", "address3", "bytes3")
    found = dict(zip(names, struct.unpack_from("<12I", image))) | fields
    header = struct.pack("<12I", *(found[name] for name in names))
    return header + struct.pack("<I", zlib.crc32(header)) + image[HEADER.size :]


def refused(folder, contents, after=(), **more):
    """The line that the ROM ends with, after `after` beside its first; nothing follows it for a
    long time."""
    run = board_rig.run(folder, contents, cycles=2_500_000, **more)
    assert (run.status, run.errors) == (1, "")
    assert run.texts[0] == "boot: SDRAM 32 MB" and run.texts[1:-1] == list(after)
    assert run.texts[-1].endswith(AGAIN)
    return run.texts[-1].removesuffix(AGAIN)


@pytest.mark.parametrize("contents", [None, "zeros"])
def test_no_image(tmp_path, contents):
    assert refused(tmp_path, contents and bytes(SIZE)) == "boot: no boot image in the flash at 0x00400000" + MAKE_ONE


def test_key(tmp_path):
    """A user who connects late gets the line by a key: everything starts again, which it does not
    without."""
    run = board_rig.run(tmp_path, cycles=5_000_000, key=2_500_000)
    line = "boot: no boot image in the flash at 0x00400000" + MAKE_ONE + AGAIN
    assert run.texts == ["boot: SDRAM 32 MB", line] * 2
    assert [cycle > 2_500_000 for cycle, text in run.lines if text] == [False, False, True, True]


def test_damaged(tmp_path, image):
    """In the header, and in the last word of the data; the CRC-32 is zlib's."""
    bad = damage(image, 9)
    expected = struct.unpack_from("<I", image, 48)[0]
    assert refused(tmp_path, board_rig.in_flash(bad)) == (
        f"boot: the boot image in the flash is damaged: CRC-32 {zlib.crc32(bad[:48]):#010x} instead of {expected:#010x}; "
        "write it again by make flash-image"
    )
    bad = damage(image, len(image) - 1)
    size = len(image) - HEADER.size
    assert refused(tmp_path, board_rig.in_flash(bad), [f"boot: copying {size} bytes"]) == (
        f"boot: the boot image in the flash is damaged: CRC-32 {zlib.crc32(bad[52:]):#010x} instead of {zlib.crc32(image[52:]):#010x}; "
        "write it again by make flash-image"
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"bytes0": RAM_SIZE + 4},
        {"address1": RAM + RAM_SIZE - 16},
        {"address0": 0},
        {"bytes2": 0xFFFF_FFFC},
        {"bytes3": 6},
        {"bytes0": 8 << 20, "bytes1": 8 << 20, "address1": RAM},
    ],
    ids=str,
)
def test_impossible_length(tmp_path, image, fields):
    """More than the memory, behind its end, before it, around it, no whole words, more than the flash."""
    assert (
        refused(tmp_path, board_rig.in_flash(forged(image, **fields)))
        == "boot: the length of the boot image in the flash cannot be" + MAKE_ONE
    )


def test_other_bitstream(tmp_path, image):
    other = forged(image, machine=struct.unpack_from("<I", image, 4)[0] ^ 1)
    assert refused(tmp_path, board_rig.in_flash(other)) == "boot: the boot image in the flash is for another bitstream than this" + MAKE_ONE


BROKEN = re.compile(
    r"boot: SDRAM at (0x[0-9a-f]{8}) is (0x[0-9a-f]{8}) instead of (0x[0-9a-f]{8}): the chip is broken, or not the one "
    "this bitstream is made for"
)


@pytest.mark.parametrize(
    "cut",
    [
        {"dead_data": 1 << 0},
        {"dead_data": 1 << 15},
        {"dead_address": 1 << 0},
        {"dead_address": 1 << 8},
        {"dead_address": 1 << 12},
        {"dead_address": 1 << 14},
    ],
    ids=str,
)
def test_broken_memory(tmp_path, image, cut):
    """A line of data, column, row or bank that is cut. A cut data line makes ones to zeros, in each half of a word."""
    match = BROKEN.fullmatch(refused(tmp_path, board_rig.in_flash(image), **cut))
    where, found, expected = (int(text, 16) for text in match.groups())
    assert RAM <= where < RAM + RAM_SIZE and found != expected
    if "dead_data" in cut:
        assert found == expected & ~(cut["dead_data"] * 0x10001)


@pytest.mark.parametrize("step", ["Load Mode Register / CL=2, BL=1", "[^*]*"])
def test_sdram_wants_its_initialisation(tmp_path, description, monkeypatch, step):
    """The model of the SDRAM insists on a mode, which LiteDRAM's sequence sets in its last step: without that, or all, it is a fault."""
    original = boot.sdram_source

    def without(soc, description):
        text, count = re.subn(rf"(?m)^\t/\* {step} \*/\n(?:\t.+\n)+", "", original(soc, description))
        assert count
        return text

    monkeypatch.setattr(boot, "sdram_source", without)
    soc, _ = board_rig.make_soc()
    run = board_rig.run(tmp_path, rom=list(soc.rom.mem.init))
    assert run.status == 3 and re.fullmatch(r"fault of the SDRAM in cycle \d+: 0x2\n", run.errors)
