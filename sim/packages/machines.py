# SPDX-License-Identifier: BSD-2-Clause
"""Minimal Debian machines to build packages in and to install them on.

A release's base is made once by scripts/fresh_machine.sh, with apt's lists and the archives of DOWNLOADS, none of them installed. It
is kept in the cache. A test works in a layer of its own above it (overlayfs), so each begins with the same minimal Debian and
downloads nothing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from litex_soc.build_cache import Store, content_key
from sim.cocotb_rig import ROOT

MACHINES = Store("machines")
RELEASES = ("bookworm", "trixie")
SCRIPT = ROOT / "scripts" / "fresh_machine.sh"
# Namespaces of its own for a command; its mounts end with it, and it ends with this program.
ALONE = ("setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child", "--uts", "--ipc", "--")
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
class Layer:
    """A machine above the folder `base`, which stays as it is; `work` has what was changed."""

    base: Path
    work: Path

    def outside(self, name: str) -> Path:
        """Where the host puts a file for the machine: into its layer."""
        return self.work / "upper" / name.lstrip("/")

    def try_run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """The finished process of a command that root runs in the machine."""
        options = f"lowerdir={self.base},upperdir={self.work}/upper,workdir={self.work}/work"
        mounted = [*ALONE, "/bin/sh", "-c", LAYER, "layer", options, str(self.work / "machine")]
        return entered(mounted, self.work / "machine", ["env", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8", *words])

    def do(self, *words: str) -> str:
        """Standard output of a command that must succeed."""
        result = self.try_run(*words)
        assert result.returncode == 0, f"{' '.join(words)}: status {result.returncode}\n{result.stdout[-6000:]}{result.stderr[-6000:]}"
        return result.stdout

    def install(self, *packages: str) -> str:
        """apt-get installs packages: names, or paths of archives in the machine."""
        return self.do("apt-get", "install", "-y", "--no-install-recommends", "-o", "Dpkg::Use-Pty=0", *packages)


def entered(alone: list[str] | tuple[str, ...], machine: Path, words: list[str]) -> subprocess.CompletedProcess[str]:
    """The finished process of a command that root runs in the folder of a machine."""
    command = [*alone, str(SCRIPT), "enter", str(machine), *words]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def missing() -> str:
    """Why no machine can be made here, or ""."""
    os.environ["PATH"] = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    if os.geteuid() != 0:
        return "only root can make a machine"
    lacks = [program for program in ("debootstrap", "unshare", "setpriv") if not shutil.which(program)]
    return f"{', '.join(lacks)} not installed" if lacks else ""


def base(release: str) -> Path:
    """The folder of a release's base, made if there is none."""

    def make(folder: Path) -> None:
        root = folder / "root"
        subprocess.run([SCRIPT, "system", root], env={**os.environ, "RELEASE": release}, stdin=subprocess.DEVNULL, check=True)
        download = "apt-get update && apt-get install -y --no-install-recommends --download-only"
        result = entered(ALONE, root, ["sh", "-c", f"{download} {' '.join(DOWNLOADS)}"])
        assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]

    what = f"a minimal Debian {release} with the archives that its packages need"
    return MACHINES.folder(release, content_key(release, DOWNLOADS, SCRIPT.read_text()), make, what) / "root"


def layer(release: str, folder: Path) -> Layer:
    """A machine as it is after a minimal installation; what it writes goes below `folder`."""
    lower = base(release)
    for name in ("upper", "work", "machine"):
        (folder / name).mkdir(parents=True)
    machine = Layer(lower, folder)
    resolv = machine.outside("/etc/resolv.conf")
    resolv.parent.mkdir(parents=True)
    shutil.copyfile("/etc/resolv.conf", resolv)
    return machine
