# SPDX-License-Identifier: BSD-2-Clause
"""Fetches packages of any Debian suite and unpacks them into the cache; the system's packages and apt lists are not touched.

    python -m scripts.debian_package SUITE PACKAGE[=VERSION]...       prints the folder that holds what is in the packages
    python -m scripts.debian_package --source trixie musl             a source package, patches applied
    python -m scripts.debian_package --with-dependencies sid gcc-16   with all they need, to run programs in by chroot
    python -m scripts.debian_package --entry linux-source             what this project uses, by its name in debian_packages.toml

    from scripts.debian_package import fetch, obtain, linux_source
    fetched = fetch(["linux-image-amd64"], suite="bookworm")          # .path, .versions
    fetched = obtain("musl")                                          # the tested version, by one of the routes of debian_packages.toml

What the cache has is used without asking a mirror. Else a failure that may pass is tried again for two minutes (debian_apt.Patience),
then the entry's other routes are taken, then another version that the cache has. Versions other than the tested one are reported.

Several processes may fetch at once; a folder is there whole or not at all.
"""

import argparse
import json
import os
import re
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from litex_soc.build_cache import COMPLETE, Store, content_key, locked
from scripts.debian_apt import SUITES, Apt, PackageError, Patience, mirror, own_architecture, run, say
from scripts.debian_table import ENTRIES, LISTS_MB

DEBIAN = Store("debian")
VERSIONS, ANSWERS = "versions.json", "answers"  # of an entry: what is in it; the requests that it answers
ADVICE = "try again later, or set LITEPULSE_DEBIAN_MIRROR to the address of another mirror"


@dataclass(frozen=True)
class Fetched:
    """What `fetch` gives."""

    path: Path  # folder with the files of the packages, as below /; of a source package its unpacked tree
    versions: dict  # package: version, of all that was unpacked


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
    (control,) = archives.glob("*.dsc")
    run(["dpkg-source", "--no-check", "-x", control.name, folder], cwd=archives)  # apt has compared the hashes
    text = control.read_text(errors="replace")
    return {re.search(r"(?m)^Source: (\S+)", text)[1]: re.search(r"(?m)^Version: (\S+)", text)[1]}


def open_apt(suite, base, architecture, source):
    """The `Apt` of a suite, and of another that has what its packages depend on."""
    sources = [(mirror(name), name) for name in (suite, base) if name]
    address = sources[0][0]
    kind = "source" if source else architecture
    name = f"{'+'.join(suite for _, suite in sources)}-{kind}-{content_key(sources)[:8]}"
    lists = DEBIAN.path / "apt"
    return Apt(sources, architecture, source, lists / name, lists / f"unreachable-{content_key(address)[:8]}")


def lists_size(apt):
    """How much the lists of an `Apt` are, for the person who waits."""
    sizes = [LISTS_MB.get(suite, (1, 1))[apt.source] for _, suite in apt.sources]
    return f" ({sum(sizes)} MB)"


def keep_trying(apt, attempt, patience):
    """attempt(number) until it succeeds; number is 0 for the first. PackageError when `patience` has ended."""
    number = 0
    while True:
        try:
            result = attempt(number)
            apt.remember()
            return result
        except PackageError as error:
            if error.passing and apt.failed_recently():
                raise
            try:
                patience.pause(error)
            except PackageError:
                if error.passing:
                    apt.remember(error)
                raise
        number += 1


def place(apt, chosen, folder, requested):
    """Fetches and unpacks `chosen` to `folder`/tree, and notes {package: version} beside it."""
    start = time.monotonic()
    packages, size = apt.plan(chosen, requested.dependencies)
    names = " ".join(chosen) + (f" and {len(packages) - len(chosen)} packages they depend on" if len(packages) > len(chosen) else "")
    say(f"downloading {names} of {apt.suite}: {max(size / 1e6, 0.1):.1f} MB, kept in {folder} ...")
    archives, tree = folder / "archives", folder / "tree"
    archives.mkdir()
    apt.download(packages, archives)
    versions = (unpack_source if apt.source else unpack_binaries)(archives, tree)
    if requested.only:
        for file in [file for file in tree.rglob("*") if file.is_symlink() or not file.is_dir()]:
            if not any(file.relative_to(tree).match(pattern) for pattern in requested.only):
                file.unlink()
    for name in requested.unpack:
        run(["tar", "-xf", tree / name, "-C", (tree / name).parent])
        (tree / name).unlink()
    shutil.rmtree(archives)
    (folder / VERSIONS).write_text(json.dumps(versions, indent=1))
    say(f"{' '.join(chosen)} in {time.monotonic() - start:.0f} s")


def fetched_in(folder):
    """The `Fetched` in the folder of an entry."""
    return Fetched(folder / "tree", json.loads((folder / VERSIONS).read_text()))


@dataclass(frozen=True)
class Request:
    """What is requested from a suite."""

    suite: str
    wanted: dict  # name: preferred version, or None
    architecture: str
    source: bool
    dependencies: bool
    unpack: tuple
    only: tuple

    @property
    def label(self):
        """Of entries in the cache: the same for all versions and suites of it."""
        kind = content_key(self.architecture, self.source, self.dependencies, sorted(self.wanted), self.unpack, self.only)
        return f"{next(iter(self.wanted))}-{kind[:6]}"

    @property
    def key(self):
        """Stands for the request, whatever answers it."""
        return content_key(self.suite, sorted(self.wanted.items()))

    def known(self):
        """The `Fetched` if the cache has it, else None. Makes no request."""
        for entry in DEBIAN.entries(self.label):
            if self.key in answers(entry.path):
                os.utime(entry.path / COMPLETE)
                return fetched_in(entry.path)
        return None

    def another(self):
        """The `Fetched` of another version or suite that the cache has, the one that was used last, else None."""
        entries = DEBIAN.entries(self.label)
        return fetched_in(entries[0].path) if entries else None


def answers(folder):
    """Keys of the requests that the entry in a folder answers."""
    try:
        return (folder / ANSWERS).read_text().split()
    except OSError:
        return []


def note_answer(folder, key):
    """Notes that the entry in a folder answers a request."""
    with open(folder / ANSWERS, "a", encoding="utf-8") as file:
        file.write(f"{key}\n")


def request(packages, suite, *, architecture=None, source=False, dependencies=False, unpack=(), only=()):
    """The `Request` for the arguments of `fetch`."""
    packages = [packages] if isinstance(packages, str) else list(packages)
    wanted = dict((*name.split("=", 1), None)[:2] for name in packages)
    if dependencies:
        wanted.setdefault("base-files")  # has the links /lib -> usr/lib and so on
    if not SUITES.fullmatch(suite):
        raise PackageError(f"{suite} is no suite of Debian that is known here")
    if not packages or (source and len(packages) != 1):
        raise PackageError("one source package at a time" if packages else "no package is named")
    # Packages for all architectures are in each architecture's list; that of binary-all may be stale while the others are not.
    architecture = architecture if architecture not in (None, "all") else own_architecture()
    return Request(suite, wanted, architecture, source, dependencies, tuple(unpack), tuple(only))


def fetch(packages, suite, *, base="", refresh=False, patience=None, **options):
    """A `Fetched`: the packages, unpacked into one folder of the cache.

    packages: names, or "name=version" for the version that is preferred; a single name may be given as it is
    base: a suite that has what the packages depend on, if `suite` is not whole by itself
    refresh: ask the mirror for newer versions, also when the cache has some
    patience: a `Patience`, if it is shared with other attempts
    options:
        architecture: of Debian, the machine's own unless given
        source: one source package instead of binary ones
        dependencies: also all that the packages need
        only: patterns of the files that are kept (default: all)
        unpack: archives among the files, relative to the folder, that are unpacked where they lie and removed

    Raises PackageError.
    """
    requested = request(packages, suite, **options)
    with locked(DEBIAN.path / ".locks" / requested.label):
        known = None if refresh else requested.known()
        if known:
            return known
        apt = open_apt(suite, base if requested.dependencies else "", requested.architecture, requested.source)

        def attempt(number):
            with locked(apt.folder.with_suffix(".lock")):
                # Lists that have the wanted versions need not be new; after a failure they must be.
                versions = apt.versions(*requested.wanted)
                listed = all(version and version in versions.get(name, ()) for name, version in requested.wanted.items())
                if refresh or number or not listed:
                    apt.update(refresh or number > 0, lists_size(apt))
                chosen = [f"{name}={apt.choose(name, version)}" for name, version in requested.wanted.items()]
            return DEBIAN.folder(requested.label, content_key(suite, chosen), lambda folder: place(apt, chosen, folder, requested))

        folder = keep_trying(apt, attempt, patience or Patience())
        note_answer(folder, requested.key)
    return fetched_in(folder)


def packages_in(suite, prefixes, *, architecture, patience=None):
    """{package: [versions, the newest first]} of the packages of a suite whose names begin with one of `prefixes`. Raises PackageError."""
    apt = open_apt(suite, "", architecture, False)

    def attempt(number):
        with locked(apt.folder.with_suffix(".lock")):
            apt.update(number > 0, lists_size(apt))
            names = {name for prefix in prefixes for name in apt.names(prefix)}
            return apt.versions(*names) if names else {}

    return keep_trying(apt, attempt, patience or Patience())


# Why something could not be fetched, by what it is: a second request of the same run fails
# likewise.
failures = {}


def by_routes(what, routes, get):
    """get(route, patience) of the first of the routes that has it; PackageError with the reasons when none has."""
    if what in failures:
        raise PackageError(failures[what])
    patience, reasons = Patience(), {}
    for number, route in enumerate(routes, 1):
        try:
            return get(route, patience)
        except PackageError as error:
            reasons.setdefault(error.reason, []).append(route.suite)
            if number < len(routes):
                say(f"{what} cannot be had from {route.suite} ({error.reason}): trying {routes[number].suite}")
    text = "; ".join(f"{', '.join(suites)}: {reason}" for reason, suites in reasons.items())
    failures[what] = f"{what} cannot be had: {text} ({ADVICE})"
    raise PackageError(failures[what])


def obtain(name, refresh=False):
    """The `Fetched` of an entry of debian_packages.toml, by the first of its routes that has it. Raises PackageError."""
    entry = ENTRIES[name]
    requests = [request(entry.wanted(route), route.suite, **entry.options) for route in entry.routes]
    if not refresh:
        for known in filter(None, (requested.known() for requested in requests)):
            return known

    def get(route, patience):
        return fetch(entry.wanted(route), route.suite, base=route.base, refresh=refresh, patience=patience, **entry.options)

    try:
        return by_routes(" ".join(package.replace("=", " ") for package in entry.packages), entry.routes, get)
    except PackageError as error:
        other = requests[0].another()
        if not other:
            raise
        say(f"{error}: taking what the cache has, {other.path.name}")
        return other


def linux_source(entry="linux-source"):
    """(folder, version): the kernel source that this project builds, or another entry's, as Debian ships it."""
    fetched = obtain(entry)
    (package,) = fetched.versions
    return fetched.path / "usr" / "src" / package, fetched.versions[package]


def main(argv=None):
    """The command; exit status 2 when something cannot be had."""
    parser = argparse.ArgumentParser(
        prog="python -m scripts.debian_package",
        description="Fetches packages of a Debian suite and unpacks them into the cache; prints the folder.",
    )
    parser.add_argument("suite", nargs="?", help="bookworm, bookworm-backports, trixie, sid, ...")
    parser.add_argument("packages", nargs="*", metavar="PACKAGE[=VERSION]")
    parser.add_argument("--architecture", help="amd64, all, riscv64, ... (default: this machine's)")
    parser.add_argument("--source", action="store_true", help="a source package")
    parser.add_argument("--with-dependencies", action="store_true", help="also all that the packages need")
    parser.add_argument("--refresh", action="store_true", help="look for newer versions")
    parser.add_argument("--entry", choices=ENTRIES, help="something that this project uses, by its name in debian_packages.toml")
    args = parser.parse_args(argv)
    if bool(args.entry) == bool(args.suite and args.packages):
        parser.error("a suite and packages, or --entry NAME")
    try:
        if args.entry:
            fetched = obtain(args.entry, args.refresh)
        else:
            options = {"architecture": args.architecture, "source": args.source, "dependencies": args.with_dependencies}
            fetched = fetch(args.packages, args.suite, refresh=args.refresh, **options)
        print(fetched.path)
    except PackageError as error:
        say(error)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
