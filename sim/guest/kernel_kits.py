# SPDX-License-Identifier: BSD-2-Clause
"""Headers of Debian's kernels, each with the compiler that built it: all that a module build needs but make and perl.

    from sim.guest.kernel_kits import kernel_kit
    kit = kernel_kit("6.12")          # kit.make(folder, "W=1", "modules") builds the module in `folder`

A kit is unpacked below the cache folder and never installed. Its programs want the C library of their own suite, which is in the
kit: they are run with that one, so they run on any distribution, without root, chroot or container.
"""

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from litex_soc.build_cache import COMPLETE, Store, content_key, locked
from scripts.debian_apt import by_version
from scripts.debian_package import PackageError, answers, by_routes, fetch, note_answer, packages_in, run, say
from scripts.debian_table import KERNELS
from sim.guest.builds import environment

ARCHITECTURE = "amd64"
MULTIARCH = "x86_64-linux-gnu"
FORMAT = 3  # of a kit
KITS = Store("kernels")
LINES = tuple(KERNELS)


@dataclass(frozen=True)
class KernelKit:
    """Headers and compiler of one kernel."""

    path: Path
    release: str  # what `uname -r` says on it
    version: str  # of Debian's packages
    suite: str  # that they came from

    @property
    def headers(self):
        """Folder for `make -C`."""
        return self.path / "usr" / "src" / f"linux-headers-{self.release}"

    @property
    def environment(self):
        """Environment in which the kit's compiler and binutils come first."""
        return {**environment(), "PATH": f"{self.path / 'path'}{os.pathsep}{os.environ['PATH']}"}

    def make(self, folder, *arguments, timeout=600):
        """Runs the kernel's make on the module in `folder`: (exit status, output)."""
        result = subprocess.run(
            ["make", "-C", self.headers, f"M={Path(folder).resolve()}", *arguments],
            env=self.environment,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout,
        )
        return result.returncode, result.stdout


def named(packages, release):
    """Names of the packages of a release, without the architecture in it."""
    return [package.format(release=release) for package in packages]


def choose_release(series, route, patience):
    """(release, version) of the kernel of the series that a route has: the tested version, else its rebuild, else the newest."""
    prefixes = named((*series.headers, *series.image), f"{series.name}.*")
    listed = packages_in(route.suite, [name.split("*")[0] for name in prefixes], architecture=ARCHITECTURE, patience=patience)
    pattern = re.escape(series.headers[0]).replace(r"\{release\}", rf"({re.escape(series.name)}\.[\w.+~]+(?:-\d+)?)")
    found = {}  # version: release
    for package, versions in listed.items():
        release = re.fullmatch(pattern, package)
        if release and all(name in listed for name in named((*series.headers, *series.image), release[1])):
            found[versions[0]] = release[1]
    if not found:
        raise PackageError(f"{route.suite} has no Linux {series.name}", reason=f"no Linux {series.name}")
    versions = by_version(found)
    version = next((version for version in versions if f"{version}~".startswith(f"{series.version}~")), versions[0])
    if version != series.version:
        say(f"{route.suite} has Linux {found[version]} (version {version}) instead of {series.version}, which was tested")
    return found[version], version


def assemble(series, route, patience):
    """Folder of a new kit, with what a route has. Raises PackageError."""
    release, version = choose_release(series, route, patience)
    names = named(series.headers, release)
    options = {"architecture": ARCHITECTURE, "base": route.base, "patience": patience}
    headers = fetch([f"{names[0]}={version}", *names[1:]], route.suite, **options)
    variables = (headers.path / "usr/src" / names[0] / ".kernelvariables").read_text()
    compiler = re.search(r"\bgcc-\d+", variables)[0]
    tools = fetch([compiler, names[2]], route.suite, dependencies=True, **options)

    def make(folder):
        say(f"preparing the headers of Linux {release} and {compiler} ...")
        for source in (tools.path, headers.path):
            # links: the packages' own folders stay as they are
            run(["cp", "--archive", "--link", "--force", f"{source}/.", folder])
        relocate(folder)
        about = {"release": f"{release}-{ARCHITECTURE}", "version": version, "suite": route.suite}
        (folder / "kit.json").write_text(json.dumps(about))

    # It knows its own place.
    return KITS.folder(f"headers-{series.name}", content_key(FORMAT, headers.versions, tools.versions, str(KITS.path)), make)


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


def relocate(folder):
    """Makes programs and makefiles in `folder` ready to be used there: with their own loader and libraries."""
    loader = next(path for path in (folder / "usr/lib64/ld-linux-x86-64.so.2", folder / "lib64/ld-linux-x86-64.so.2") if path.exists())
    libraries = os.pathsep.join(str(folder / place) for place in (f"usr/lib/{MULTIARCH}", f"lib/{MULTIARCH}"))
    for path in list(elf_programs(folder)):
        new = path.with_name(f"{path.name}.new")
        # RPATH, not RUNPATH: it also serves the libraries' own needs
        run(["patchelf", "--set-interpreter", loader, "--force-rpath", "--set-rpath", libraries, "--output", new, path])
        new.replace(path)  # a new file: the old one may be a link to what the cache has
    for path in (folder / "usr/src").glob("linux-headers-*/Makefile"):
        text = path.read_text()
        if len(text) < 1000:  # Debian's, which names the real one
            path.unlink()
            path.write_text(text.replace("/usr/src/", f"{folder}/usr/src/"))
    (folder / "path").mkdir()
    for path in (folder / "usr/bin").iterdir():
        if path.name.startswith(MULTIARCH) or path.name in ("as", "ld", "pahole"):
            (folder / "path" / path.name).symlink_to(folder / "usr/bin" / path.name)


def read_kit(path):
    """The `KernelKit` in a folder, None if there is none."""
    try:
        return KernelKit(path.resolve(), **json.loads((path / "kit.json").read_text()))
    except (OSError, ValueError):
        return None


def kernel_kit(line, refresh=False):
    """The `KernelKit` of a kernel line of LINES; fetched and unpacked the first time, and again by `refresh`. Raises PackageError.

    When no mirror has one, another version that the cache has is taken, and a line says so.
    """
    series = KERNELS[line]
    with locked(KITS.path / ".locks" / line):
        kits = [kit for entry in KITS.entries(f"headers-{line}") if (kit := read_kit(entry.path))]
        asked = content_key(FORMAT, series.version)
        for kit in () if refresh else kits:
            if asked in answers(kit.path):
                os.utime(kit.path / COMPLETE)
                return kit
        try:
            path = by_routes(f"Linux {line}", series.routes, lambda route, patience: assemble(series, route, patience))
        except PackageError as error:
            if not kits:
                raise
            say(f"{error}: taking Linux {kits[0].release}, which the cache has")
            return kits[0]
        note_answer(path, asked)
        return read_kit(path)


if __name__ == "__main__":
    try:
        for wanted in sys.argv[1:] or LINES:
            print(kernel_kit(wanted).headers)
    except PackageError as error:
        say(error)
        sys.exit(2)
