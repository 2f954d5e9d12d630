# SPDX-License-Identifier: BSD-2-Clause
"""The guest's first file system: /init (init.c) and a busybox from Debian's source, as an uncompressed archive.

python -m sim.linux.initramfs vexriscv          builds if need be, prints its path
build("vexriscv")                               the same: (path, key)
"""

import argparse
import inspect
import re
import shlex
import shutil
import stat
import sys
from pathlib import Path

from litex_soc.build_cache import content_key
from scripts.debian_package import PackageError, obtain
from sim.guest import cpio
from sim.guest.builds import LINUX, BuildError, jobs, run
from sim.guest.cpio import archive
from sim.linux import libc
from sim.linux.targets import HERE, TARGETS, target

CONFIG = HERE / "config" / "busybox.config"
INIT = HERE / "init.c"
# The shell knows its commands without a file for each: these are for programs that execute them. Each costs cycles at boot.
LINKS = ("cat", "insmod", "rmmod", "sh", "stty")
PROFILE = """# Written by sim/linux/initramfs.py.
PS1='# '
cd /tmp
"""
LEAKS = """#!/bin/sh
# Written by sim/linux/initramfs.py. What kmemleak finds (boot with kmemleak=on); the second scan is the one that counts.
for i in 1 2; do echo scan >/sys/kernel/debug/kmemleak || exit; done
cat /sys/kernel/debug/kmemleak
"""


def build_busybox(cpu, cc, source, folder):
    """Builds the program busybox in `folder`."""
    log = folder / "build.log"
    work = folder / "work"
    shutil.copytree(source, work)
    of = target(cpu)
    wanted = CONFIG.read_text()
    make = ["make", "-s", "-C", work, "ARCH=" + of.arch, f"CROSS_COMPILE={of.prefix}", f"CC={cc}", "SKIP_STRIP=y", "SOURCE_DATE_EPOCH=0"]
    # Its allnoconfig takes no wishes: so all that it could ask for is answered beforehand.
    run([*make, "allnoconfig"], log)
    options = {name for path in work.rglob("Config.in") for name in re.findall(r"(?m)^\s*config\s+(\w+)", path.read_text())}
    (work / ".config").write_text(
        wanted + "".join(f"# CONFIG_{name} is not set\n" for name in sorted(options) if f"CONFIG_{name}=" not in wanted)
    )
    run(["sh", "-c", f"yes '' | {shlex.join(map(str, make))} oldconfig"], log)
    have = (work / ".config").read_text()
    missing = [line for line in wanted.splitlines() if line.startswith("CONFIG_") and line not in have.splitlines()]
    if missing:
        raise BuildError(f"busybox cannot be configured so: {', '.join(missing)}")
    run([*make, f"-j{jobs()}", "busybox"], log)
    run([f"{of.prefix}strip", "-o", folder / "busybox", work / "busybox"], log)
    shutil.rmtree(work)


def build(cpu):
    """(path of the archive, key), built unless the cache has it."""
    library = libc.build(cpu)
    try:
        source = obtain("busybox")
    except PackageError as error:
        raise BuildError(str(error)) from error
    busybox_key = content_key(library.key, source.versions, CONFIG, inspect.getsource(build_busybox))

    def make_busybox(folder):
        build_busybox(cpu, library.cc, source.path, folder)

    folder = LINUX.folder(f"busybox-{cpu}", busybox_key, make_busybox, f"busybox for {cpu} (once, half a minute)")
    key = content_key(busybox_key, INIT, Path(__file__), Path(cpio.__file__))

    def make(place):
        init = library.compile([INIT], place / "init", "-Wextra")
        folders = ("bin", "dev", "proc", "sys", "tmp", "etc")
        (place / "initramfs.cpio").write_bytes(
            archive(
                [
                    *((name, stat.S_IFDIR | 0o755) for name in folders),
                    ("dev/console", stat.S_IFCHR | 0o600, b"", (5, 1)),
                    ("init", stat.S_IFREG | 0o755, init.read_bytes()),
                    ("bin/busybox", stat.S_IFREG | 0o755, (folder / "busybox").read_bytes()),
                    *((f"bin/{name}", stat.S_IFLNK | 0o777, b"busybox") for name in LINKS),
                    ("bin/leaks", stat.S_IFREG | 0o755, LEAKS.encode()),
                    ("etc/profile", stat.S_IFREG | 0o644, PROFILE.encode()),
                ]
            )
        )

    return LINUX.folder(f"initramfs-{cpu}", key, make, f"the initramfs for {cpu}") / "initramfs.cpio", key


def main(argv=None):
    """`python -m sim.linux.initramfs`."""
    parser = argparse.ArgumentParser(prog="python -m sim.linux.initramfs", description="Builds the guest's first file system.")
    parser.add_argument("cpu", choices=TARGETS)
    args = parser.parse_args(argv)
    try:
        print(build(args.cpu)[0])
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
