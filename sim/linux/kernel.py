# SPDX-License-Identifier: BSD-2-Clause
"""Kernels for the simulated Linux SoC: Debian's linux-source, unmodified, one per CPU and flavour, and modules for them.

    python -m sim.linux.kernel vexriscv test        builds if need be, prints the folder
    build("vexriscv", "test")                       the same: a Kernel
    build_module(kernel, source, work)              the .ko files of an out-of-tree module

The configuration is config/common.config, <cpu>.config, <flavour>.config and, if there is one, <flavour>-<cpu>.config, over
allnoconfig; each of their lines must come true or the build fails. `test` finds mistakes (lockdep, sleeping while atomic, objects, on
riscv kmemleak), `bench` is lean, `trace` is that with the kernel's trace.
"""

import argparse
import inspect
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from litex_soc.build_cache import content_key
from scripts.debian_package import PackageError, linux_source
from sim.guest.builds import LINUX, BuildError, ccached, jobs, run, shortcomings
from sim.linux.targets import FLAVOURS, HERE, TARGETS, compiler_version, target

CONFIG = HERE / "config"
# Nothing of the machine or the moment goes into an image: the same sources boot the same way, cycle by cycle.
REPRODUCIBLE = (
    "KBUILD_BUILD_TIMESTAMP=Thu Jan 1 00:00:00 UTC 1970",
    "KBUILD_BUILD_USER=litepulse",
    "KBUILD_BUILD_HOST=litepulse",
    "KBUILD_BUILD_VERSION=1",
)


@dataclass(frozen=True)
class Kernel:
    """A kernel that was built."""

    cpu: str
    flavour: str
    folder: Path  # its build tree, enough of it for modules
    source: Path
    key: str

    @property
    def image(self):
        """What is loaded at the start of main memory."""
        return self.folder / "image"

    def make(self):
        """The command that runs make on the build tree."""
        of = target(self.cpu)
        return [
            "make",
            "-s",
            "-C",
            self.source,
            f"O={self.folder}",
            f"ARCH={of.arch}",
            f"CROSS_COMPILE={of.prefix}",
            f"CC={ccached(of.prefix + 'gcc')}",
            *REPRODUCIBLE,
        ]


def fragments(cpu, flavour):
    """The files of the configuration."""
    names = ("common", cpu, flavour, f"{flavour}-{cpu}")
    return [CONFIG / f"{name}.config" for name in names if (CONFIG / f"{name}.config").exists()]


def build(cpu, flavour):
    """The `Kernel`, built unless the cache has it."""
    of = target(cpu)
    if flavour not in FLAVOURS:
        raise BuildError(f"no flavour {flavour}: there are {', '.join(FLAVOURS)}")
    try:
        source, version = linux_source()
    except PackageError as error:
        raise BuildError(str(error)) from error
    wanted = "".join(path.read_text() for path in fragments(cpu, flavour))
    key = content_key(version, wanted, compiler_version(of), REPRODUCIBLE, inspect.getsource(build), inspect.getsource(tidy))

    def make(folder):
        log = folder / "build.log"
        kernel = Kernel(cpu, flavour, folder, source, key)
        (folder / "wanted.config").write_text(wanted)
        run([*kernel.make(), f"KCONFIG_ALLCONFIG={folder / 'wanted.config'}", "allnoconfig"], log)
        missing = shortcomings(wanted, (folder / ".config").read_text())
        if missing:
            raise BuildError(f"the kernel for {cpu} cannot be configured as {flavour}: {', '.join(missing)}")
        run([*kernel.make(), f"-j{jobs()}", "Image" if of.arch == "riscv" else "vmlinux", "modules"], log)
        if of.arch == "riscv":
            shutil.copyfile(folder / of.image, kernel.image)
        else:
            run([f"{of.prefix}objcopy", "-O", "binary", "-R", ".note", "-R", ".comment", "-S", folder / "vmlinux", kernel.image], log)
        tidy(folder)

    folder = LINUX.folder(f"kernel-{cpu}-{flavour}", key, make, f"Linux {version} for {cpu}, flavour {flavour} (once, some minutes)")
    return Kernel(cpu, flavour, folder, source, key)


def tidy(folder):
    """Removes what neither modules nor reading a trace need: four fifths of the tree."""
    for path in folder.iterdir():
        if path.name not in ("scripts", "include", "arch", "source") and path.is_dir():
            shutil.rmtree(path)
    for path in [*folder.rglob("*.o"), *folder.rglob("*.a"), *folder.rglob(".*.cmd")]:
        if "scripts" not in path.relative_to(folder).parts:
            path.unlink()


def module_files(source):
    """The files of an out-of-tree module: C sources, headers and what kbuild reads, in folders too."""
    return sorted(path for path in Path(source).rglob("*") if path.suffix in (".c", ".h", ".S") or path.name in ("Kbuild", "Makefile"))


def build_module(kernel, source, work, *, variables=(), names=None):
    """Builds the out-of-tree module(s) in folder `source` for a kernel, in a copy in `work`; returns {name: path of the .ko, stripped}.

    variables: words for make, such as "W=1". names: which files of `source` to take (default: all of module_files).
    """
    source, work = Path(source), Path(work)
    work.mkdir(parents=True, exist_ok=True)
    for path in module_files(source):
        if names is None or path.name in names:
            place_if_new(path, work / path.relative_to(source))
    log = work / "module.log"
    log.unlink(missing_ok=True)
    run([*kernel.make(), f"M={work}", f"-j{jobs()}", *variables, "modules"], log)
    modules = {}
    for path in sorted(work.glob("*.ko")):
        stripped = work / "stripped" / path.name
        stripped.parent.mkdir(exist_ok=True)
        run([f"{target(kernel.cpu).prefix}strip", "--strip-debug", "-o", stripped, path], log)
        modules[path.stem] = stripped
    if not modules:
        raise BuildError(f"{source}: no module came of it; log: {log}")
    return modules


def place_if_new(source, destination):
    """Copies a file unless the copy is the same already: its date decides what make does again."""
    destination.parent.mkdir(parents=True, exist_ok=True)
    if not destination.exists() or destination.read_bytes() != source.read_bytes():
        shutil.copyfile(source, destination)


def main(argv=None):
    """`python -m sim.linux.kernel`."""
    parser = argparse.ArgumentParser(prog="python -m sim.linux.kernel", description="Builds a kernel for the simulated Linux SoC.")
    parser.add_argument("cpu", choices=TARGETS)
    parser.add_argument("flavour", choices=FLAVOURS)
    args = parser.parse_args(argv)
    try:
        print(build(args.cpu, args.flavour).folder)
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
