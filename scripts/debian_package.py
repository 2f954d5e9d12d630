#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Fetches packages of any Debian suite and unpacks them into the cache; the system's packages and apt lists are not touched.

    debian_package.py SUITE PACKAGE[=VERSION]...       prints the folder that holds what is in the packages
    debian_package.py --source trixie musl             a source package, patches applied
    debian_package.py --with-dependencies sid gcc-16   with all they need, to run programs in by chroot
    debian_package.py --linux-source                   the kernel source that this project builds

    from scripts.debian_package import fetch, linux_source
    fetched = fetch(["linux-image-amd64"], suite="bookworm")        # .path, .versions

The mirror is the one in this machine's apt configuration, or LITEPULSE_DEBIAN_MIRROR. Signatures are checked with the keys of the
package debian-archive-keyring; without it a line says that they are not.

A version that is given is taken if the mirror still has it, else the suite's current one, and a line says so. What the cache has is
used without asking the mirror. Several processes may fetch at once; a folder is there whole or not at all.
"""

import argparse
import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "litepulse" / "debian"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
LISTS_FRESH = 6 * 3600          # seconds after which a mirror is asked again what it has
SUITES = re.compile(r"(bullseye|bookworm|trixie|forky|duke|sid|(old)*stable|testing|unstable)(-updates|-backports)?")

LINUX_SUITE = "trixie"
LINUX_SOURCE = "linux-source-6.12"
LINUX_VERSION = "6.12.107-1"    # what was tested


class PackageError(RuntimeError):
    """A package cannot be had; the message says why, in a line."""


@dataclass(frozen=True)
class Fetched:
    """What `fetch` gives."""
    path: Path          # folder with the files of the packages, as below /; of a source package its unpacked tree
    versions: dict      # package: version, of all that was unpacked


def say(text):
    """A line for the person who waits."""
    print(f"debian: {text}", file=sys.stderr, flush=True)


def run(command, env=None, cwd=None):
    """Standard output of a command that must succeed."""
    command = [str(word) for word in command]
    try:
        result = subprocess.run(command, env=env, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise PackageError(f"there is no {command[0]} here: this wants Debian or Ubuntu, with the package dpkg-dev") from error
    if result.returncode:
        lines = result.stderr.splitlines()
        said = [line for line in lines if line.startswith("E:")] or lines[-2:] or ["it says nothing"]
        raise PackageError(f"{command[0]} failed: {' '.join(said)}")
    return result.stdout


@contextlib.contextmanager
def locked(path):
    """Holds an exclusive lock, also against other processes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="utf-8") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def digest(*parts):
    """Short hash of anything that JSON can hold."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]


def mirror():
    """Address of a Debian mirror: LITEPULSE_DEBIAN_MIRROR, else the first Debian archive that this machine's apt knows."""
    if os.environ.get("LITEPULSE_DEBIAN_MIRROR"):
        return os.environ["LITEPULSE_DEBIAN_MIRROR"].rstrip("/")
    for address, suite in re.findall(r"'(?!cdrom)(\S+?)/*/dists/([^/\s]+)/InRelease'", run(["apt-get", "--print-uris", "update"])):
        if SUITES.fullmatch(suite):
            return address
    raise PackageError("the apt of this machine knows no Debian mirror: set LITEPULSE_DEBIAN_MIRROR to the address of one (the folder that "
                       "has `dists`)")


class Apt:
    """apt for one suite of a mirror and one architecture, with all its state in a folder of the cache."""

    def __init__(self, suite, architecture, source):
        self.suite, self.architecture, self.source, self.address = suite, architecture, source, mirror()
        kind = "source" if source else architecture
        self.folder = CACHE / "apt" / f"{suite}-{kind}-{digest(self.address)}"
        self.env = {**os.environ, "APT_CONFIG": str(self.folder / "apt.conf"), "LC_ALL": "C"}

    def configure(self):
        """Writes its configuration: of the machine's own only how to reach a network."""
        network = re.findall(r'(?m)^Acquire::(?!IndexTargets|Languages|GzipIndexes|Changelogs|CompressionTypes).* "[^"].*$',
                             run(["apt-config", "dump"]))
        for name in ("lists/partial", "archives/partial", "empty"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        (self.folder / "status").touch()
        trust = f"signed-by={KEYRING}" if KEYRING.exists() else "trusted=yes"
        kind = "deb-src" if self.source else "deb"
        (self.folder / "sources.list").write_text(f"{kind} [{trust} arch={self.architecture}] {self.address} {self.suite} main\n")
        settings = {
            "Dir::Etc::main": "/dev/null", "Dir::Etc::parts": f"{self.folder}/empty",
            "Dir::Etc::preferences": "/dev/null", "Dir::Etc::preferencesparts": f"{self.folder}/empty",
            "Dir::Etc::sourcelist": f"{self.folder}/sources.list", "Dir::Etc::sourceparts": f"{self.folder}/empty",
            "Dir::State": self.folder, "Dir::State::lists": f"{self.folder}/lists", "Dir::State::status": f"{self.folder}/status",
            "Dir::Cache": self.folder, "Dir::Cache::archives": f"{self.folder}/archives", "Dir::Log": self.folder,
            "APT::Architecture": self.architecture, "APT::Sandbox::User": "", "APT::Install-Recommends": "false",
            "Acquire::Languages": "none", "Debug::NoLocking": "true",
        }
        lines = [*network, f'APT::Architectures {{ "{self.architecture}"; }};', *(f'{key} "{value}";' for key, value in settings.items())]
        (self.folder / "apt.conf").write_text("".join(f"{line.rstrip(';')};\n" for line in lines))

    def update(self, force):
        """Brings the lists up to date, unless that was done a few hours ago."""
        stamp = self.folder / "updated"
        if not force and stamp.exists() and 0 <= time.time() - stamp.stat().st_mtime < LISTS_FRESH:
            return
        self.configure()
        if not KEYRING.exists():
            say("signatures are not checked: the package debian-archive-keyring is not installed")
        try:
            run(["apt-get", "-o", "APT::Update::Error-Mode=any", "update"], self.env)
        except PackageError as error:
            raise PackageError(f"{self.address} gives no list of what {self.suite} has (LITEPULSE_DEBIAN_MIRROR may name another mirror): "
                               f"{error}") from error
        stamp.touch()

    def choose(self, package, wanted):
        """The wanted version if the mirror has it, else the newest."""
        lines = [line.split("|") for line in run(["apt-cache", "madison", package], self.env).splitlines()]
        versions = [version.strip() for name, version, _ in lines if name.strip() == package]
        if not versions:
            raise PackageError(f"{self.suite} at {self.address} has no {'source ' if self.source else ''}package {package}")
        if wanted and wanted not in versions:
            say(f"{package} {wanted}, which was tested, is no longer in {self.suite}: taking {versions[0]}")
        return wanted if wanted in versions else versions[0]

    def download(self, packages, folder, dependencies):
        """Puts archives into `folder`; `packages` are named as package=version."""
        if self.source:
            run(["apt-get", "source", "--download-only", "--only-source", *packages], self.env, folder)
            return
        if dependencies:
            plan = run(["apt-get", "--simulate", "install", *packages], self.env)
            packages = [f"{name}={version}" for name, version in re.findall(r"(?m)^Inst (\S+) \((\S+)", plan)]
        run(["apt-get", "download", *packages], self.env, folder)


def unpack_binaries(archives, folder):
    """Unpacks binary packages into the empty `folder`; returns {package: version}."""
    versions = {}
    folder.mkdir()
    # base-files first: files of others go through its links.
    for archive in sorted(archives.glob("*.deb"), key=lambda path: (not path.name.startswith("base-files_"), path.name)):
        run(["dpkg-deb", "-x", archive, folder])
        name, version = run(["dpkg-deb", "-f", archive, "Package", "Version"]).split()[1::2]
        versions[name] = version
    return versions


def unpack_source(archives, folder):
    """Unpacks a source package, with Debian's patches, to `folder`."""
    control, = archives.glob("*.dsc")
    run(["dpkg-source", "--no-check", "-x", control.name, folder], cwd=archives)        # apt has compared the hashes
    text = control.read_text(errors="replace")
    return {re.search(r"(?m)^Source: (\S+)", text)[1]: re.search(r"(?m)^Version: (\S+)", text)[1]}


def place(apt, chosen, path, dependencies, unpack, only):
    """Fetches and unpacks to `path`, which is there whole or not at all; returns {package: version}."""
    start = time.monotonic()
    say(f"fetching {' '.join(chosen)}{' and what it needs' if dependencies else ''} of {apt.suite} ...")
    new = path.with_name(f".{path.name}")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    apt.download(chosen, new, dependencies)
    versions = (unpack_source if apt.source else unpack_binaries)(new, new / "tree")
    if only:
        for file in [file for file in (new / "tree").rglob("*") if file.is_symlink() or not file.is_dir()]:
            if not any(file.relative_to(new / "tree").match(pattern) for pattern in only):
                file.unlink()
    for name in unpack:
        run(["tar", "-xf", new / "tree" / name, "-C", (new / "tree" / name).parent])
        (new / "tree" / name).unlink()
    shutil.rmtree(path, ignore_errors=True)
    (new / "tree").replace(path)
    shutil.rmtree(new)
    say(f"{path.name} in {time.monotonic() - start:.0f} s")
    return versions


def fetch(packages, suite, *, architecture=None, source=False, dependencies=False, unpack=(), only=(), refresh=False):
    """A `Fetched`: the packages, unpacked into one folder of the cache.

    packages: names, or "name=version" for the version that is preferred; a single name may be given as it is
    architecture: of Debian, the machine's own unless given
    source: one source package instead of binary ones
    dependencies: also all that the packages need
    only: patterns of the files that are kept (default: all)
    unpack: archives among the files, relative to the folder, that are unpacked where they lie and removed
    refresh: ask the mirror for newer versions, also when the cache has some

    Raises PackageError.
    """
    packages = [packages] if isinstance(packages, str) else list(packages)
    wanted = dict((*name.split("=", 1), None)[:2] for name in packages)
    if dependencies:
        wanted.setdefault("base-files")         # has the links /lib -> usr/lib and so on
    if not SUITES.fullmatch(suite):
        raise PackageError(f"{suite} is no suite of Debian that is known here")
    if not packages or (source and len(packages) != 1):
        raise PackageError("one source package at a time" if packages else "no package is named")
    architecture = architecture or run(["dpkg", "--print-architecture"]).strip()
    request = CACHE / "requests" / f"{digest(suite, architecture, source, dependencies, sorted(wanted.items()), unpack, *only)}.json"
    with locked(request.with_suffix(".lock")):
        if not refresh:
            with contextlib.suppress(OSError, ValueError, KeyError):
                known = json.loads(request.read_text())
                if (CACHE / known["path"]).is_dir():
                    return Fetched(CACHE / known["path"], known["versions"])
        apt = Apt(suite, architecture, source)
        with locked(apt.folder.with_suffix(".lock")):
            apt.update(refresh)
            chosen = [f"{name}={apt.choose(name, version)}" for name, version in wanted.items()]
        first = re.sub(r"[^\w.+-]", "-", chosen[0].replace("=", "_"))
        path = CACHE / suite / f"{first}{'-source' if source else ''}-{digest(architecture, dependencies, chosen, unpack, *only)}"
        with locked(path.with_name(f"{path.name}.lock")):
            contents = path.with_name(f"{path.name}.json")
            if not contents.exists() or not path.is_dir():
                versions = place(apt, chosen, path, dependencies, unpack, only)
                contents.write_text(json.dumps(versions, indent=1))
            versions = json.loads(contents.read_text())
        text = json.dumps({"path": str(path.relative_to(CACHE)), "versions": versions}, indent=1)
        request.with_suffix(".new").write_text(text)
        request.with_suffix(".new").replace(request)
    return Fetched(path, versions)


def linux_source():
    """(folder, version): the kernel source that this project builds, as Debian ships it."""
    fetched = fetch(f"{LINUX_SOURCE}={LINUX_VERSION}", LINUX_SUITE, architecture="all", unpack=[f"usr/src/{LINUX_SOURCE}.tar.xz"])
    return fetched.path / "usr" / "src" / LINUX_SOURCE, fetched.versions[LINUX_SOURCE]


def main(argv=None):
    """The command; exit status 2 when something cannot be had."""
    parser = argparse.ArgumentParser(prog="debian_package.py", description="Fetches packages of a Debian suite and unpacks them into the "
                                     "cache; prints the folder.")
    parser.add_argument("suite", nargs="?", help="bookworm, bookworm-backports, trixie, sid, ...")
    parser.add_argument("packages", nargs="*", metavar="PACKAGE[=VERSION]")
    parser.add_argument("--architecture", help="amd64, all, riscv64, ... (default: this machine's)")
    parser.add_argument("--source", action="store_true", help="a source package")
    parser.add_argument("--with-dependencies", action="store_true", help="also all that the packages need")
    parser.add_argument("--refresh", action="store_true", help="look for newer versions")
    parser.add_argument("--linux-source", action="store_true", help="the kernel source of this project")
    args = parser.parse_args(argv)
    if args.linux_source == bool(args.suite and args.packages):
        parser.error("a suite and packages, or --linux-source")
    try:
        if args.linux_source:
            print(linux_source()[0])
        else:
            print(fetch(args.packages, args.suite, architecture=args.architecture, source=args.source,
                        dependencies=args.with_dependencies, refresh=args.refresh).path)
    except PackageError as error:
        say(error)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
