# SPDX-License-Identifier: BSD-2-Clause
"""debian_packages.toml: which packages of other suites of Debian this project uses, in which versions, and where they can be had."""

import platform
import tomllib
from dataclasses import dataclass
from pathlib import Path

TABLE = Path(__file__).with_name("debian_packages.toml")
OPTIONS = ("architecture", "source", "dependencies", "only", "unpack")


@dataclass(frozen=True)
class Route:
    """A place where something can be had."""

    suite: str
    base: str = ""  # suite that has what the packages depend on, if `suite` is not whole by itself
    versions: tuple = ()  # instead of those that were tested


@dataclass(frozen=True)
class Entry:
    """Packages that are unpacked into one folder."""

    name: str
    what: str
    packages: tuple  # "name=version", the version that was tested
    routes: tuple  # of Route, the preferred one first
    download_mb: float  # by the first route, without the lists
    options: dict  # for debian_package.fetch

    def wanted(self, route):
        """The packages, "name=version", as they are preferred from a route."""
        if not route.versions:
            return list(self.packages)
        return [f"{package.split('=')[0]}={version}" for package, version in zip(self.packages, route.versions)]


@dataclass(frozen=True)
class Series:
    """A kernel series: "6.12". In names of packages {release} is to be replaced by the release, "6.12.107+deb13"."""

    name: str
    version: str  # that was tested, of Debian's packages
    headers: tuple
    image: tuple
    routes: tuple[Route, ...]
    download_mb: dict  # {"headers": ..., "compiler": ..., "image": ...} by the first route, without the lists


def routes(table):
    """The `Route`s of an entry."""
    return tuple(Route(route["suite"], route.get("base", ""), tuple(route.get("versions", ()))) for route in table["routes"])


def own_release():
    """The suite of this machine, "" if it is not Debian."""
    try:
        about = platform.freedesktop_os_release()
    except OSError:
        return ""
    return about.get("VERSION_CODENAME", "") if about.get("ID") == "debian" else ""


def nearest_first(found):
    """Routes in order, but that of this machine's own release before the others."""
    return tuple(sorted(found, key=lambda route: route.suite != own_release()))


def load():
    """({name: Entry}, {name: Series}, {suite: (MB of binary packages, of source packages)}), in the table's order."""
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    entries = {
        name: Entry(
            name,
            of["what"],
            tuple(of["packages"]),
            nearest_first(routes(of)) if of.get("near") else routes(of),
            of["download_mb"],
            {key: of[key] for key in OPTIONS if key in of},
        )
        for name, of in table["package"].items()
    }
    series = {
        name: Series(name, of["version"], tuple(of["headers"]), tuple(of["image"]), routes(of), of["download_mb"])
        for name, of in table["kernel"].items()
    }
    return entries, series, {suite: tuple(sizes) for suite, sizes in table["lists_mb"].items()}


ENTRIES, KERNELS, LISTS_MB = load()
