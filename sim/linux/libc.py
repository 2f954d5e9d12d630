# SPDX-License-Identifier: BSD-2-Clause
"""A C library for the guest: musl, static, from Debian's source, with the kernel's user headers, and a compiler command for each CPU.

    python -m sim.linux.libc vexriscv               builds if need be, prints the path of target-cc
    build("vexriscv")                               the same: a Libc
    libc.compile(["program.c"], "program")          a static program for the guest

target-cc takes the arguments of gcc and makes static programs. Debian has no C library for these CPUs, and for rv32 none of the
functions that gcc calls (128-bit floating point, for one): that library, libgcc.a, is taken from its compiler for bare RISC-V.
"""

import argparse
import inspect
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from litex_soc.build_cache import content_key
from scripts.debian_package import PackageError, linux_source, obtain
from sim.guest.builds import LINUX, BuildError, ccached, jobs, run
from sim.linux.targets import TARGETS, compiler_version, target

# or1k-elf-gcc is meant for bare metal. Its options must name the system and where a program begins,
# and leave room for the headers before that: musl reads them in memory.
EXTRA = {"vexriscv": (), "mor1kx": ("-D__linux__", "-D__unix__", "-Dlinux")}
LINK = {
    "vexriscv": ("-Wl,--build-id=none",),
    "mor1kx": ("-Wl,-e,_start", "-Wl,--section-start=.init=0x10200", "-Wl,-z,max-page-size=8192", "-Wl,-z,noexecstack"),
}


@dataclass(frozen=True)
class Libc:
    """A C library and the compiler that uses it."""

    cpu: str
    folder: Path
    key: str

    @property
    def cc(self):
        """The compiler command."""
        return self.folder / "target-cc"

    def compile(self, sources, output, *flags):
        """Compiles C sources to one static, stripped program."""
        output = Path(output)
        output.parent.mkdir(parents=True, exist_ok=True)
        command = [self.cc, "-O2", "-Wall", "-s", *flags, *sources, "-o", output]
        result = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if result.returncode:
            raise BuildError(f"{output.name} does not compile for {self.cpu}:\n{result.stderr}")
        return output


def libgcc(of):
    """The functions that gcc's code calls."""
    if of.cpu == "mor1kx":
        path = subprocess.run([f"{of.prefix}gcc", "-print-libgcc-file-name"], capture_output=True, text=True, check=True).stdout.strip()
        return Path(path)
    fetched = obtain("riscv-gcc")
    found = list(fetched.path.rglob("libgcc.a"))
    if len(found) != 1:
        raise BuildError(f"{fetched.path} has no libgcc.a for rv32im, or several: {found}")
    return found[0]


def build(cpu):
    """The `Libc` of a CPU, built unless the cache has it."""
    of = target(cpu)
    version = compiler_version(of)
    try:
        musl = obtain("musl")
        source, linux = linux_source()
        support = libgcc(of)
    except PackageError as error:
        raise BuildError(str(error)) from error
    key = content_key(musl.versions, linux, version, support, EXTRA[cpu], LINK[cpu], inspect.getsource(build), inspect.getsource(wrapper))

    def make(folder):
        log = folder / "build.log"
        work = folder / "work"
        work.mkdir()
        (folder / "lib").mkdir()
        # Its debugging information may be newer than the linker, and crash it.
        run([f"{of.prefix}strip", "-g", "-o", folder / "lib" / "libgcc.a", support], log)
        flags = " ".join([*of.flags, *EXTRA[cpu]])
        run(
            [
                "env",
                f"CC={ccached(of.prefix + 'gcc')}",
                f"CROSS_COMPILE={of.prefix}",
                f"CFLAGS={flags}",
                f"LIBCC={folder / 'lib' / 'libgcc.a'}",
                musl.path / "configure",
                f"--target={of.musl}",
                f"--prefix={folder}",
                "--disable-shared",
                "--enable-optimize=2",
            ],
            log,
            cwd=work,
        )
        run(["make", "-s", f"-j{jobs()}", "install-libs", "install-headers"], log, cwd=work)
        run(
            [
                "make",
                "-s",
                "-C",
                source,
                f"O={work / 'headers'}",
                f"ARCH={of.arch}",
                f"INSTALL_HDR_PATH={folder / 'linux'}",
                "headers_install",
            ],
            log,
        )
        shutil.rmtree(work)
        (folder / "target-cc").write_text(wrapper(of, folder))
        (folder / "target-cc").chmod(0o755)

    folder = LINUX.folder(f"libc-{cpu}", key, make, f"musl {next(iter(musl.versions.values()))} for {cpu} (once, half a minute)")
    return Libc(cpu, folder, key)


def wrapper(of, folder):
    """The text of target-cc."""
    no_program = "-c|-S|-E|-M|-MM|-fsyntax-only|-r|-nostdlib"
    flags = " ".join([*of.flags, *EXTRA[of.cpu], "-nostdinc", f"-isystem {folder}/include", f"-isystem {folder}/linux/include"])
    return f"""#!/bin/sh
# Written by sim/linux/libc.py.
for word in "$@"; do
    case $word in {no_program}) exec {of.prefix}gcc {flags} "$@";; esac
done
lib={folder}/lib
exec {of.prefix}gcc {flags} -static -no-pie -nostdlib {" ".join(LINK[of.cpu])} \\
    $lib/crt1.o $lib/crti.o "$@" -L$lib -Wl,--start-group -lc $lib/libgcc.a -Wl,--end-group $lib/crtn.o
"""


def main(argv=None):
    """`python -m sim.linux.libc`."""
    parser = argparse.ArgumentParser(prog="python -m sim.linux.libc", description="Builds the C library of the guest.")
    parser.add_argument("cpu", choices=TARGETS)
    args = parser.parse_args(argv)
    try:
        print(build(args.cpu).cc)
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
