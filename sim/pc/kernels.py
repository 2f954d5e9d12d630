# SPDX-License-Identifier: BSD-2-Clause
"""Debian's own kernels, unmodified, with the few of their modules that a board on a USB cable needs; and this driver, built for each.

    system = kernel("6.12")             # .image, .modules in the order in which they go in, .release
    modules = driver("6.12")            # {"litepulse": path of the .ko, ...}

Image and headers are of one release, the one that sim/driver builds for (scripts/debian_packages.toml). All is kept below the cache folder.
"""

import lzma
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from litex_soc.build_cache import content_key
from scripts.debian_package import PackageError, by_routes, fetch
from scripts.debian_table import KERNELS
from sim.guest.builds import LINUX, BuildError
from sim.guest.driver_tree import DRIVER, sources
from sim.guest.kernel_kits import ARCHITECTURE, LINES, kernel_kit, named

# What the guest needs: USB and the adapter; and, built in in some kernels, the channel to the rig and what the driver asks for.
WANTED = ("xhci-pci", "ftdi_sio")
PERHAPS = ("virtio_pci", "virtio_console", "crc-itu-t")
# What litepulse_lin builds on, and the protocols that programs use it by: a test loads them, see can_modules().
CAN = ("can-dev", "can-raw", "can-bcm")
# All that these depend on, in any of the kernels: the rest of a package is not kept.
KEPT = (
    *PERHAPS,
    *WANTED,
    *CAN,
    "can",
    "virtio",
    "virtio_ring",
    "virtio_pci_modern_dev",
    "virtio_pci_legacy_dev",
    "xhci-hcd",
    "xhci-pci-renesas",
    "usbcore",
    "usb-common",
    "usbserial",
)
SUFFIX = re.compile(r"\.ko(\.xz)?$")


@dataclass(frozen=True)
class Kernel:
    """A kernel that can be booted."""

    line: str
    release: str  # what `uname -r` says on it
    image: Path
    modules: tuple  # paths of .ko files, each after those it depends on
    key: str


def fetch_image(line, kit):
    """The `Fetched` packages with image and modules of the release that the headers are of."""
    series = KERNELS[line]
    names = named(series.image, kit.release.removesuffix(f"-{ARCHITECTURE}"))
    # The suite of the headers first; archives of one Debian release have the same packages.
    routes = sorted(series.routes, key=lambda route: route.suite != kit.suite)

    def get(route, patience):
        return fetch(
            [f"{name}={kit.version}" for name in names],
            route.suite,
            patience=patience,
            architecture=ARCHITECTURE,
            only=["vmlinuz*", *(f"{name}.ko*" for name in KEPT)],
        )

    return by_routes(f"the image of Linux {kit.release}", routes, get)


def module_name(path):
    """usb-common.ko.xz -> usb_common: what the kernel calls it."""
    return SUFFIX.sub("", Path(path).name).replace("-", "_")


def unpacked(source, folder):
    """The .ko of a file that may be compressed."""
    target = folder / SUFFIX.sub(".ko", source.name)
    target.write_bytes(lzma.decompress(source.read_bytes()) if source.suffix == ".xz" else source.read_bytes())
    return target


def in_order(files, wanted):
    """The wanted modules and what they depend on, each after its own; `files` {name: path}. Raises BuildError."""
    order = []

    def add(name, asker):
        if name not in files:
            raise BuildError(f"{asker} needs the module {name}, which is not kept: add it to KEPT of {Path(__file__).name}")
        for other in depends(files[name]):
            add(other, name)
        if files[name] not in order:
            order.append(files[name])

    for name in wanted:
        add(name, "the guest")
    return order


def depends(path):
    """Names of the modules that a .ko needs."""
    output = subprocess.run(["modinfo", "-F", "depends", path], capture_output=True, text=True, check=True).stdout.strip()
    return [name.replace("-", "_") for name in output.split(",") if name]


def kernel(line):
    """The `Kernel` of a line of LINES, fetched the first time. Raises PackageError or BuildError."""
    kit = kernel_kit(line)
    try:
        fetched = fetch_image(line, kit)
    except PackageError:
        # Debian has dropped this release since its headers were fetched: it has another one.
        newer = kernel_kit(line, refresh=True)
        if newer.release == kit.release:
            raise
        kit, fetched = newer, fetch_image(line, newer)
    key = content_key(kit.release, str(fetched.versions), KEPT, PERHAPS, WANTED)

    def make(folder):
        (image,) = fetched.path.rglob("vmlinuz*")
        shutil.copy(image, folder / "vmlinuz")
        files = {module_name(path): unpacked(path, folder) for path in fetched.path.rglob("*.ko*")}
        wanted = [*(name for name in map(module_name, PERHAPS) if name in files), *map(module_name, WANTED)]
        (folder / "order").write_text("".join(f"{path.name}\n" for path in in_order(files, wanted)))

    folder = LINUX.folder(f"pc-kernel-{line}", key, make)
    return Kernel(line, kit.release, folder / "vmlinuz", tuple(folder / name for name in (folder / "order").read_text().split()), key)


def can_modules(system):
    """Paths of the .ko files of CAN for a `Kernel`, each after those it depends on."""
    files = {module_name(path): path for path in system.image.parent.glob("*.ko")}
    return in_order(files, map(module_name, CAN))


def driver(line):
    """{name: path} of the modules of driver/ for a kernel, stripped; built unless the same were."""
    return modules(line, DRIVER, sources(), "driver")


def modules(line, base, files, name):
    """{name: path} of out-of-tree modules for a kernel, stripped; built unless the same were. `files` lie below the folder `base`."""
    kit = kernel_kit(line)
    key = content_key(kit.path.name, [str(path.relative_to(base)) for path in files], files)

    def make(folder):
        work = folder / "work"
        for path in files:
            target = work / path.relative_to(base)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
        status, output = kit.make(work, "modules")
        if status:
            raise BuildError(f"{name} does not build for Linux {kit.release}:\n{output[-3000:]}")
        for module in work.glob("*.ko"):
            subprocess.run(["strip", "-g", "-o", folder / module.name, module], check=True)
        shutil.rmtree(work)

    folder = LINUX.folder(f"pc-{name}-{line}", key, make, f"{name} for Linux {kit.release}")
    return {path.stem: path for path in sorted(folder.glob("*.ko"))}


__all__ = ["LINES", "BuildError", "Kernel", "PackageError", "can_modules", "driver", "kernel", "modules"]
