# SPDX-License-Identifier: BSD-2-Clause
"""The two CPUs of the simulated Linux SoC: what their compilers are called, and where what is built for them is kept."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from litex_soc.build_cache import Store, ccache_environment

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LINUX = Store("linux")  # kernels, C libraries, guests and their states after the boot
FLAVOURS = ("test", "bench")


class BuildError(RuntimeError):
    """Something of the guest cannot be built; the message says what, and the end of its log."""


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
        return subprocess.run([f"{of.prefix}gcc", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    except (OSError, subprocess.CalledProcessError) as error:
        raise BuildError(f"there is no {of.prefix}gcc (package {of.package}): `make setup` installs it") from error


def jobs():
    """How many compilers at a time."""
    return int(os.environ.get("JOBS") or min(os.cpu_count() or 1, 8))


def say(text):
    """A line for the person who waits."""
    print(f"linux: {text}", file=sys.stderr, flush=True)


def environment():
    """For compilers and make: no settings of a `make` around us, messages in English, ccache where the project keeps it."""
    env = {
        name: value
        for name, value in os.environ.items()
        if name
        not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "ARCH", "CROSS_COMPILE", "KBUILD_OUTPUT", "CFLAGS", "LDFLAGS", "W", "V", "C", "M", "O")
    }
    return {**env, **ccache_environment(), "LC_ALL": "C"}


def ccached(compiler):
    """The compiler's command, through ccache if that is there."""
    return f"ccache {compiler}" if shutil.which("ccache") else compiler


def run(command, log, **options):
    """Runs a step of a build, its words into `log`; BuildError with their end when it fails."""
    with open(log, "a", encoding="utf-8") as handle:
        handle.write(f"$ {' '.join(map(str, command))}\n")
        handle.flush()
        try:
            result = subprocess.run(
                [str(word) for word in command],
                stdin=subprocess.DEVNULL,
                stdout=handle,
                stderr=subprocess.STDOUT,
                env=environment(),
                check=False,
                **options,
            )
        except FileNotFoundError as error:
            raise BuildError(f"there is no {command[0]}: `make setup` installs it") from error
    if result.returncode:
        tail = "\n".join(Path(log).read_text(errors="replace").splitlines()[-25:])
        raise BuildError(f"{command[0]} failed:\n{tail}\nlog: {log}")
