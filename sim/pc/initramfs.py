# SPDX-License-Identifier: BSD-2-Clause
"""The guest's file system: init.sh, Debian's static busybox, and the modules of its kernel."""

import stat
from pathlib import Path

from litex_soc.build_cache import content_key
from scripts.debian_package import obtain
from sim.guest.builds import LINUX
from sim.guest.cpio import archive

INIT = Path(__file__).with_name("init.sh")


def build(kernel):
    """(path of the archive, key) for a Kernel, made unless the cache has it. Raises PackageError."""
    fetched = obtain("busybox-static")
    busybox = next(path for path in (fetched.path / "usr/bin/busybox", fetched.path / "bin/busybox") if path.exists())
    key = content_key(kernel.key, fetched.versions, INIT, Path(__file__))

    def make(folder):
        names = "".join(f"{path.name}\n" for path in kernel.modules)
        (folder / "initramfs.cpio").write_bytes(
            archive(
                [
                    *((name, stat.S_IFDIR | 0o755) for name in ("bin", "dev", "modules")),
                    ("dev/console", stat.S_IFCHR | 0o600, b"", (5, 1)),
                    ("init", stat.S_IFREG | 0o755, INIT.read_bytes()),
                    ("bin/busybox", stat.S_IFREG | 0o755, busybox.read_bytes()),
                    ("modules/order", stat.S_IFREG | 0o644, names.encode()),
                    *((f"modules/{path.name}", stat.S_IFREG | 0o644, path.read_bytes()) for path in kernel.modules),
                ]
            )
        )

    folder = LINUX.folder(f"pc-initramfs-{kernel.line}", key, make)
    return folder / "initramfs.cpio", key
