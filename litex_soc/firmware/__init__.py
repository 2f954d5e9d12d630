# SPDX-License-Identifier: BSD-2-Clause
"""What runs before and below the kernel: VexRiscv's machine-mode shim, mor1kx' six instructions.

    firmware.build(soc.description(), kernel=0x4000_0000, device_tree=0x41bf_0000)      -> bytes, to be placed at `text`

Needs the cross compilers of the distribution. Nothing in it depends on the SoC but what its description says.
"""

import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
FLAGS = ["-nostdlib", "-static", "-Wl,--build-id=none", "-Wl,-z,noexecstack"]
TOOLS = {
    # CPU: (prefix, Debian's package, sources, flags)
    "vexriscv": (
        "riscv64-linux-gnu-",
        "gcc-riscv64-linux-gnu",
        ["shim.S", "sbi.c"],
        [
            "-march=rv32ima_zicsr_zifencei",
            "-mabi=ilp32",
            "-O2",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-ffreestanding",
            "-fno-pic",
            "-no-pie",
            "-mcmodel=medany",
            "-fno-stack-protector",
            "-fno-asynchronous-unwind-tables",
        ],
    ),
    "mor1kx": (
        "or1k-elf-",
        "gcc-or1k-elf",
        ["start_mor1kx.S"],
        ["-mhard-mul", "-mhard-div", "-O2", "-Wall", "-Wextra", "-Werror", "-ffreestanding", "-fno-asynchronous-unwind-tables"],
    ),
}
SOURCES = sorted(path for path in HERE.iterdir() if path.suffix in (".S", ".c", ".ld", ".py"))


@dataclass(frozen=True)
class BoardLayout:
    """Where things are in the main memory of a board: physical addresses; `firmware`: (address, bytes), the end of the memory."""

    kernel: int
    device_tree: int
    firmware: tuple


FIRMWARE_SIZE = DEVICE_TREE_SIZE = 0x1_0000


def board_layout(description):
    """BoardLayout of a SoC whose boot loader, in ROM, fills the SDRAM and jumps to the firmware there."""
    ram = description["memories"]["main_ram"]
    end = ram["base"] + ram["size"]
    return BoardLayout(ram["base"], end - FIRMWARE_SIZE - DEVICE_TREE_SIZE, (end - FIRMWARE_SIZE, FIRMWARE_SIZE))


def build_for_board(description):
    """The firmware of a board as raw bytes, for the address that board_layout() says; its stack is in the same place."""
    layout = board_layout(description)
    start, size = layout.firmware
    return build(description, layout.kernel, layout.device_tree, text=start, stack_top=start + size)


class FirmwareError(RuntimeError):
    """It cannot be built; the message says why."""


def addresses(description, kernel, device_tree, shutdown_resets=False):
    """{name: number} of all the sources want to know of a SoC."""
    found = {"KERNEL": kernel, "DEVICE_TREE": device_tree}
    if description["cpu"] == "vexriscv":
        registers = description["csr_registers"]
        for name, register in (("TIMER_TIME", "cpu_timer_time"), ("TIMER_COMPARE", "cpu_timer_time_cmp")):
            if registers[register]["size"] != 2:
                raise FirmwareError(f"{register} has {registers[register]['size']} words, expected 2")
            # LiteX puts the most significant word first
            found[f"{name}_HIGH"], found[f"{name}_LOW"] = registers[register]["addr"], registers[register]["addr"] + 4
        found["TIMER_LATCH"] = registers["cpu_timer_latch"]["addr"]
        found["CONTROLLER_RESET"] = registers["ctrl_reset"]["addr"]
        found["SHUTDOWN_RESETS"] = int(shutdown_resets)
    return found


def run(*command, cwd):
    """FirmwareError with the tool's output unless it ends with 0 and without output."""
    result = subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if result.returncode or result.stderr:
        raise FirmwareError(f"{' '.join(map(str, command[:1]))}: status {result.returncode}\n{result.stderr}")
    return result.stdout


def build(description, kernel, device_tree, text=None, stack_top=None, shutdown_resets=False, elf=None):
    """The firmware as raw bytes for address `text` (default: the ROM), where the CPU enters it.

    `kernel`, `device_tree` : physical addresses. `stack_top` : end of 256 bytes of memory of its own (default: the end of `sram`).
    `shutdown_resets` : a shutdown resets the SoC, which ends a simulation; a board would stop. `elf` : a copy with symbols goes there.
    """
    memories = description["memories"]
    text = memories["rom"]["base"] if text is None else text
    stack_top = memories["sram"]["base"] + memories["sram"]["size"] if stack_top is None else stack_top
    sources = [HERE / name for name in TOOLS[description["cpu"]][2]]
    return link(description["cpu"], sources, addresses(description, kernel, device_tree, shutdown_resets), text, stack_top, elf)


def link(cpu, sources, defines, text, stack_top, elf=None):
    """The raw bytes, for address `text`, of a program without variables: C and assembler sources with `defines` {name: number}."""
    prefix, package, _, flags = TOOLS[cpu]
    if not shutil.which(f"{prefix}gcc"):
        raise FirmwareError(f"no {prefix}gcc here (Debian's package {package}): run `make setup`")
    options = [*flags, *FLAGS, *(f"-D{name}={value:#x}" for name, value in defines.items())]
    with tempfile.TemporaryDirectory(prefix="litepulse-firmware-") as folder:
        script = ["-T", str(HERE / "shim.ld"), f"-Wl,--defsym=TEXT={text:#x},--defsym=STACK_TOP={stack_top:#x}"]
        run(f"{prefix}gcc", *options, *script, "-o", "firmware.elf", *map(str, sources), cwd=folder)
        run(f"{prefix}objcopy", "-O", "binary", "firmware.elf", "firmware.bin", cwd=folder)
        if elf:
            shutil.copyfile(Path(folder) / "firmware.elf", elf)
        return (Path(folder) / "firmware.bin").read_bytes()
