# SPDX-License-Identifier: BSD-2-Clause
"""Headers of Debian's kernels, each with the compiler that built it: all that a module build needs but make and perl.

    from kernel_kits import kernel_kit
    kit = kernel_kit("6.12")          # kit.make(folder, "W=1", "modules") builds the module in `folder`

A kit is unpacked below the cache folder and never installed. Its programs want the C library of their own suite, which is in the
kit: they are told to use that one, so they run on any distribution, without root, chroot or container.
"""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from sim.rig import CACHE, content_key, locked

from scripts.debian_package import Apt, PackageError, fetch, run, say

ARCHITECTURE = "amd64"
MULTIARCH = "x86_64-linux-gnu"
FORMAT = 1          # of a kit


@dataclass(frozen=True)
class Pin:
    """A kernel that was tested: Debian's name for its release, the version of its packages, and the suite they were in."""
    suite: str
    release: str
    version: str


PINS = {
    "6.1": Pin("bookworm", "6.1.0-50", "6.1.176-1"),
    "6.12": Pin("trixie", "6.12.107+deb13", "6.12.107-1"),
    "7.2": Pin("forky", "7.2.12+deb14", "7.2.12-1"),
}


@dataclass(frozen=True)
class KernelKit:
    """Headers and compiler of one kernel."""
    path: Path
    release: str        # what `uname -r` says on it
    tested: bool        # False: the mirror only had a newer kernel line than the one that was tested

    @property
    def headers(self):
        """Folder for `make -C`."""
        return self.path / "usr" / "src" / f"linux-headers-{self.release}"

    @property
    def environment(self):
        """Environment in which the kit's compiler and binutils come first."""
        unwanted = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "CROSS_COMPILE", "ARCH")
        env = {name: value for name, value in os.environ.items() if name not in unwanted}
        return {**env, "PATH": f"{self.path / 'path'}{os.pathsep}{env['PATH']}", "LC_ALL": "C"}

    def make(self, folder, *arguments, timeout=600):
        """Runs the kernel's make on the module in `folder`: (exit status, what it said)."""
        result = subprocess.run(["make", "-C", self.headers, f"M={Path(folder).resolve()}", *arguments], env=self.environment, check=False,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout)
        return result.returncode, result.stdout


def packages_of(release):
    """The packages that make up the headers of a release; the compiler comes with what they say."""
    # 6.1 counts builds in its release but shares one kbuild among them.
    counted = re.match(r"(\d+\.\d+)\.0-\d+$", release)
    return (f"linux-headers-{release}-{ARCHITECTURE}", f"linux-headers-{release}-common",
            f"linux-kbuild-{counted[1] if counted else release}")


def newest(suite):
    """(release, version) of the kernel that `suite` has now."""
    apt = Apt(suite, ARCHITECTURE, False)
    with locked(apt.folder.with_suffix(".lock")):
        apt.update(False)
        about = run(["apt-cache", "show", "--no-all-versions", f"linux-headers-{ARCHITECTURE}"], apt.env)
    found = re.search(rf"linux-headers-(\d\S+)-{ARCHITECTURE} \(= (\S+)\)", about)
    if not found:
        raise PackageError(f"{suite} does not say which kernel it has")
    return found[1], found[2]


def fetch_headers(pin):
    """(release, folder, version): the pinned headers, or what their suite has instead."""
    try:
        names = packages_of(pin.release)
        fetched = fetch([f"{names[0]}={pin.version}", *names[1:]], pin.suite, architecture=ARCHITECTURE)
        return pin.release, fetched
    except PackageError as error:
        release, version = newest(pin.suite)
        if release == pin.release:
            raise
        say(f"{pin.suite} has Linux {release} instead of {pin.release}, which was tested ({error})")
        names = packages_of(release)
        return release, fetch([f"{names[0]}={version}", *names[1:]], pin.suite, architecture=ARCHITECTURE)


def elf_programs(folder):
    """Programs below `folder` that a dynamic loader starts."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink() and os.access(path, os.X_OK):
            with open(path, "rb") as handle:
                if handle.read(4) != b"\x7fELF":
                    continue
            found = subprocess.run(["patchelf", "--print-interpreter", path], capture_output=True, text=True, check=False)
            if found.returncode == 0 and found.stdout.strip():
                yield path


def relocate(folder, final):
    """Makes programs and makefiles in `folder` ready to be used as `final`: with their own loader and libraries."""
    loader = next(path for path in (folder / "usr/lib64/ld-linux-x86-64.so.2", folder / "lib64/ld-linux-x86-64.so.2") if path.exists())
    libraries = os.pathsep.join(str(final / place) for place in (f"usr/lib/{MULTIARCH}", f"lib/{MULTIARCH}"))
    for path in list(elf_programs(folder)):
        new = path.with_name(f"{path.name}.new")
        # RPATH, not RUNPATH: it also serves the libraries' own needs
        run(["patchelf", "--set-interpreter", final / loader.relative_to(folder), "--force-rpath", "--set-rpath", libraries,
             "--output", new, path])
        new.replace(path)       # a new file: the old one may be a link to what the cache has
    for path in (folder / "usr/src").glob("linux-headers-*/Makefile"):
        text = path.read_text()
        if len(text) < 1000:    # Debian's, which names the real one
            path.unlink()
            path.write_text(text.replace("/usr/src/", f"{final}/usr/src/"))
    (folder / "path").mkdir()
    for path in (folder / "usr/bin").iterdir():
        if path.name.startswith(MULTIARCH) or path.name in ("as", "ld", "pahole"):
            (folder / "path" / path.name).symlink_to(final / "usr/bin" / path.name)


def kernel_kit(line):
    """The `KernelKit` of a kernel line of PINS; fetched and unpacked the first time. Raises PackageError."""
    pin = PINS[line]
    base = CACHE / "kernels"
    with locked(base / f"headers-{line}.lock"):
        known = base / f"headers-{line}-{content_key(FORMAT, pin.suite, pin.release, pin.version, str(CACHE))[:12]}"
        if not known.is_symlink() or not (known / "release").exists():
            release, headers = fetch_headers(pin)
            name = packages_of(release)
            variables = (headers.path / "usr/src" / name[0] / ".kernelvariables").read_text()
            compiler = re.search(r"\bgcc-\d+", variables)[0]
            tools = fetch([compiler, name[2]], pin.suite, architecture=ARCHITECTURE, dependencies=True)
            final = base / f"headers-{line}-{content_key(FORMAT, headers.versions, tools.versions, str(CACHE))[:12]}.kit"
            new = final.with_name(f".{final.name}")
            shutil.rmtree(new, ignore_errors=True)
            say(f"preparing the headers of Linux {release} and {compiler} ...")
            for folder in (tools.path, headers.path):
                # links: the packages' own folders stay as they are
                run(["cp", "--archive", "--link", "--force", f"{folder}/.", new])
            relocate(new, final)
            (new / "release").write_text(f"{release}-{ARCHITECTURE}\n")
            shutil.rmtree(final, ignore_errors=True)
            new.replace(final)
            known.unlink(missing_ok=True)
            known.symlink_to(final.name)
        path = known.resolve()
    release = (path / "release").read_text().strip()
    return KernelKit(path, release, release.startswith(f"{line}."))


if __name__ == "__main__":
    for wanted in sys.argv[1:] or PINS:
        print(kernel_kit(wanted).headers)
