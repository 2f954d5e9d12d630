# SPDX-License-Identifier: BSD-2-Clause
"""Minimal Debian machines to build packages in and to install them on.

A release's base is made once by debootstrap, with apt's lists and the archives of DOWNLOADS, none of them installed. It is kept in the
cache. A test works in a layer of its own above it (overlayfs), so each begins with the same minimal Debian and downloads nothing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from litex_soc.build_cache import Store, content_key
from sim import fresh_machine
from sim.fresh_machine import FreshMachineError, Machine

MACHINES = Store("machines")
RELEASES = fresh_machine.RELEASES
# To build and check the packages, and what they need where they are installed; with the headers of the release's kernel.
BUILD = (
    "build-essential",
    "debhelper",
    "dh-dkms",
    "dh-python",
    "help2man",
    "lintian",
    "pybuild-plugin-pyproject",
    "python3-all",
    "python3-hatchling",
)
USE = ("dkms", "linux-headers-amd64", "man-db", "mandoc", "python3-rich", "python3-serial", "systemd", "udev")
DOWNLOADS = (*BUILD, *USE)
# $1: options of the overlay, $2: where it is mounted, then the command.
LAYER = 'mount -t overlay overlay -o "$1" "$2" && shift 2 && exec "$@"'


@dataclass(frozen=True)
class Layer(Machine):
    """A machine above the folder `base`, which stays as it is; `work` has what was changed."""

    base: Path = Path("/")
    work: Path = Path("/")

    def command(self, words: Sequence[str], root: bool = False, environment: Mapping[str, str] | None = None) -> list[str]:
        """The host's command; the layer is mounted for it alone."""
        whole = super().command(words, root, environment)
        at = whole.index("--") + 1
        options = f"lowerdir={self.base},upperdir={self.work}/upper,workdir={self.work}/work"
        return [*whole[:at], "/bin/sh", "-c", LAYER, "layer", options, str(self.path), *whole[at:]]

    def outside(self, name: str) -> Path:
        """Where the host puts a file for the machine: into its layer."""
        return self.work / "upper" / name.lstrip("/")

    def try_run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """The finished process of a command that root runs in the machine."""
        command = self.command(words, root=True, environment={"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"})
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)

    def do(self, *words: str) -> str:
        """Standard output of a command that must succeed."""
        result = self.try_run(*words)
        assert result.returncode == 0, f"{' '.join(words)}: status {result.returncode}\n{result.stdout[-6000:]}{result.stderr[-6000:]}"
        return result.stdout

    def install(self, *packages: str) -> str:
        """apt-get installs packages: names, or paths of archives in the machine."""
        return self.do("apt-get", "install", "-y", "--no-install-recommends", "-o", "Dpkg::Use-Pty=0", *packages)


def missing() -> str:
    """Why no machine can be made here, or ""."""
    os.environ["PATH"] = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    try:
        fresh_machine.check_host()
    except FreshMachineError as error:
        return str(error)
    return ""


def base(release: str) -> Path:
    """The folder of a release's base, made if there is none. Raises FreshMachineError."""

    def make(folder: Path) -> None:
        machine = Machine(folder / "root")
        fresh_machine.make_system(machine, release)
        machine.run(["apt-get", "update"])
        machine.run(["apt-get", "install", "-y", "--no-install-recommends", "--download-only", *DOWNLOADS])

    what = f"a minimal Debian {release} with the archives that its packages need"
    return MACHINES.folder(release, content_key(release, DOWNLOADS, fresh_machine.PACKAGES), make, what) / "root"


def layer(release: str, folder: Path) -> Layer:
    """A machine as it is after a minimal installation; what it writes goes below `folder`."""
    lower = base(release)
    for name in ("upper", "work", "machine"):
        (folder / name).mkdir(parents=True)
    machine = Layer(folder / "machine", base=lower, work=folder)
    resolv = machine.outside("/etc/resolv.conf")
    resolv.parent.mkdir(parents=True)
    shutil.copyfile("/etc/resolv.conf", resolv)
    return machine
