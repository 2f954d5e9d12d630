# SPDX-License-Identifier: BSD-2-Clause
"""The two CPUs of the simulated Linux SoC, and the names of their compilers."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from sim.guest import builds
from sim.guest.builds import BuildError

HERE = Path(__file__).resolve().parent
FLAVOURS = ("test", "bench", "trace")


@dataclass(frozen=True)
class Target:
    """One CPU."""

    cpu: str  # as LiteX and litex_soc.linux_sim call it
    arch: str  # as the kernel calls it
    musl: str  # as musl calls it
    prefix: str  # of the compiler and its tools
    flags: tuple  # for programs
    package: str  # Debian's name of the compiler
    image: str  # the kernel as it is loaded, below the build folder
    byteorder: str


TARGETS = {
    "vexriscv": Target(
        "vexriscv",
        "riscv",
        "riscv32",
        "riscv64-linux-gnu-",
        ("-march=rv32ima_zicsr_zifencei", "-mabi=ilp32"),
        "gcc-riscv64-linux-gnu",
        "arch/riscv/boot/Image",
        "little",
    ),
    "mor1kx": Target("mor1kx", "openrisc", "or1k", "or1k-elf-", ("-mhard-mul", "-mhard-div"), "gcc-or1k-elf", "vmlinux.bin", "big"),
}


def target(cpu):
    """The `Target` of a CPU's name."""
    if cpu not in TARGETS:
        raise BuildError(f"no CPU {cpu}: there are {', '.join(TARGETS)}")
    return TARGETS[cpu]


def compiler_version(of):
    """First line of the compiler's version: part of the key of all that it makes."""
    try:
        return builds.compiler_version(f"{of.prefix}gcc")
    except (OSError, subprocess.CalledProcessError) as error:
        raise BuildError(f"there is no {of.prefix}gcc (package {of.package}): `make setup` installs it") from error
