#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""`make release VERSION=0.2.0`: everything that a release publishes, in one folder, from a clean tree. RELEASING.md says when to run it.

    release.py VERSION [--without PART]... [--bitstreams build|cached|none] [-o FOLDER]
    release.py --check VERSION        only whether versions, changelog and pages agree
    release.py --prepare VERSION      writes the version where it stands, the changelog's heading, and the frozen register map

Each part is the same to the bit when it is made again: times come from SOURCE_DATE_EPOCH, by default that of the last commit. Nothing is
published, no tag is made. Exit status 1 if a part cannot be made, 2 with a line for each thing that does not agree.
"""

import argparse
import gzip
import hashlib
import importlib.metadata
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "sw")]
# The modules of this tree, also where another one is installed.
OURS = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "sw")])}
VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(rc[1-9]\d*)?")
NUMBER = r"\d+\.\d+\.\d+(?:rc\d+)?"
# {file: what is before the version}: each is there once.
PLACES = {
    "sw/litepulse/__init__.py": '__version__ = "',
    "driver/dkms.conf": 'PACKAGE_VERSION="',
    "CITATION.cff": "\nversion: ",
    "CHANGELOG.md": "| package, modules, Debian packages | ",
    "docs/install.md": "build/dist/litepulse-",
}
SBOM_OF = "boards"  # requirements/: what the command, the simulator and the bitstreams are made with


class ReleaseError(RuntimeError):
    """A part cannot be made; the message says why, in one line."""


def git(*words: str, tree: Path = ROOT) -> str:
    """What git prints, nothing if it fails."""
    return subprocess.run(["git", *words], cwd=tree, capture_output=True, text=True, check=False).stdout.strip()


# What has to agree ---------------------------------------------------------------------------------------------------


def section(text: str, version: str) -> str:
    """What the changelog says of a version; '' if it has no such heading with a date."""
    found = re.search(rf"(?ms)^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d\n(.*?)(?=^## \[|\Z)", text)
    return found[1].strip() if found else ""


def disagreements(version: str, tree: Path = ROOT) -> Iterator[str]:
    """A line for each thing that keeps this tree from being that release."""
    if not VERSION.fullmatch(version):
        yield f"VERSION={version}: a version has three numbers: VERSION=0.2.0, or 0.2.0rc1"
        return
    prepare = f"make release-prepare VERSION={version} writes it"
    for name, before in PLACES.items():
        found = re.findall(rf"{re.escape(before)}({NUMBER})", (tree / name).read_text(encoding="utf-8"))
        if found != [version]:
            yield f"{name}: the version is {', '.join(found) or 'not there'}, not {version}: {prepare}"
    if not section((tree / "CHANGELOG.md").read_text(encoding="utf-8"), version):
        yield f"CHANGELOG.md: no section [{version}] with a date: {prepare}"
    command = [sys.executable, "-m", "litex_soc.frozen_map", "--check"]
    maps = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    if maps.returncode:
        yield f"sw/tests/maps: {maps.stderr.strip() or 'the register map cannot be read'}: {prepare}"
    if git("tag", "--list", f"v{version}", tree=tree):
        yield f"the tag v{version} is there: this version was released"
    changed = git("status", "--porcelain", tree=tree).splitlines()
    if changed:
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        yield f"the tree is not clean: {changed[0].strip()}{more}: commit it first"


def page_checks() -> Iterator[str]:
    """What the hooks know of versions and of generated files."""
    for words in (["scripts/check_tree.py", "versions"], ["scripts/generate.py", "--check"]):
        done = subprocess.run([sys.executable, *words], cwd=ROOT, env=OURS, capture_output=True, text=True, check=False)
        if done.returncode:
            yield (done.stdout + done.stderr).strip().splitlines()[0]


def prepare(version: str, tree: Path = ROOT, seconds: float | None = None) -> list[str]:
    """Writes a version into a tree; the files that changed. A second time nothing changes."""
    day = time.strftime("%Y-%m-%d", time.gmtime(seconds))
    written: list[str] = []
    for name, before in PLACES.items():
        path = tree / name
        old = path.read_text(encoding="utf-8")
        new, count = re.subn(rf"({re.escape(before)}){NUMBER}", rf"\g<1>{version}", old)
        if count != 1:
            raise ReleaseError(f"{name}: the version stands there {count} times, not once")
        if name == "CHANGELOG.md" and not section(new, version):
            new = new.replace("\n## [Unreleased]\n", f"\n## [Unreleased]\n\n## [{version}] - {day}\n", 1)
        if name == "CITATION.cff" and new != old:
            new = re.sub(r"\ndate-released: .*", "", new)
            new = new.replace(f"\nversion: {version}\n", f"\nversion: {version}\ndate-released: {day}\n")
        if new != old:
            path.write_text(new, encoding="utf-8")
            written.append(name)
    return written


# The parts ------------------------------------------------------------------------------------------------------------


class Release:
    """A release that is made in a folder."""

    def __init__(self, version: str, folder: Path, bitstreams: str = "build") -> None:
        self.version, self.folder, self.bitstreams_from = version, folder, bitstreams
        self.seconds = int(os.environ.get("SOURCE_DATE_EPOCH") or git("log", "-1", "--format=%ct") or 0)
        self.env = {**OURS, "SOURCE_DATE_EPOCH": str(self.seconds), "LC_ALL": "C.UTF-8", "TZ": "UTC"}

    def run(self, *words: str | Path, what: str) -> None:
        """A program; ReleaseError with its last line if it fails."""
        done = subprocess.run(
            [str(word) for word in words], cwd=ROOT, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        if done.returncode:
            last = (done.stderr.strip() or done.stdout.strip() or f"status {done.returncode}").splitlines()[-1]
            raise ReleaseError(f"{what}: {last}")

    def dist(self) -> None:
        """The wheel and the source archive."""
        self.run(sys.executable, "-m", "hatchling", "build", "-d", self.folder, what="wheel and source archive")

    def debs(self) -> None:
        """The Debian packages."""
        made = self.folder / "debian"
        self.run(sys.executable, "scripts/deb.py", made, what="Debian packages")
        for path in made.iterdir():
            if path.suffix != ".deb":  # the source archive is above; logs and lists of the build have times
                path.unlink()

    def kernel(self) -> None:
        """The patch series for the kernel's tree."""
        self.run(sys.executable, "-m", "driver.upstream", "-o", self.folder / "kernel", what="kernel series")

    def docs(self) -> None:
        """The site, as an archive."""
        site = ROOT / "build" / "release-site"
        shutil.rmtree(site, ignore_errors=True)
        self.run(sys.executable, "-m", "sphinx", "-q", "-E", "-b", "html", "-d", site / "cache", "docs", site / "html", what="docs")
        self.archive(site / "html", f"litepulse-{self.version}-docs")

    def archive(self, source: Path, name: str) -> None:
        """NAME.tar.gz of a folder, the same for the same contents."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for path in sorted(path for path in source.rglob("*") if path.is_file() and path.name != ".buildinfo"):
                member = tarfile.TarInfo(f"{name}/{path.relative_to(source)}")
                member.size, member.mtime, member.mode = path.stat().st_size, self.seconds, 0o644
                with path.open("rb") as file:
                    tar.addfile(member, file)
        (self.folder / f"{name}.tar.gz").write_bytes(gzip.compress(packed.getvalue(), mtime=0))

    def sbom(self) -> None:
        """The list of components, CycloneDX."""
        path = self.folder / "sbom.cdx.json"
        options = ["--pyproject", "pyproject.toml", "--output-reproducible", "--spec-version", "1.6", "--output-format", "JSON"]
        source = f"requirements/{SBOM_OF}.txt"
        self.run(sys.executable, "-m", "cyclonedx_py", "requirements", *options, "-o", path, source, what="list of components")
        made = json.loads(path.read_text(encoding="utf-8"))
        made["metadata"]["component"]["version"] = self.version  # pyproject.toml has none
        path.write_text(json.dumps(made, indent=1, sort_keys=True) + "\n", encoding="utf-8")

    def notes(self) -> None:
        """What the changelog says of it, and the licences."""
        text = section((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), self.version)
        (self.folder / "NOTES.md").write_text(f"# LitePulse {self.version}\n\n{text}\n", encoding="utf-8")
        shutil.copyfile(ROOT / "LICENSE", self.folder / "LICENSE")
        shutil.copytree(ROOT / "LICENSES", self.folder / "LICENSES", dirs_exist_ok=True)

    def bitstreams(self) -> None:
        """Those of all boards and variants, and what each is."""
        if self.bitstreams_from == "none":
            return
        from litex_soc import boards_page

        folder = self.folder / "bitstreams"
        folder.mkdir()
        choices = [choice for choice in boards_page.all_choices() if choice.with_core]
        rows = [self.bitstream(choice, folder) for choice in choices]
        write_list(folder, self.version, [row for row in rows if row])

    def bitstream(self, choice: Any, folder: Path) -> dict[str, Any] | None:
        """The row of one, which is then in `folder`."""
        from litex_soc import bitstream

        if self.bitstreams_from == "cached":
            results = bitstream.known(choice)
            if results is None:
                print(f"release: {choice.name}: not in the cache, left out", file=sys.stderr)
                return None
        else:
            results = bitstream.build(choice, say=lambda text: print(text, flush=True))
        missed = bitstream.shortcomings(choice, results[0])
        if missed:
            raise ReleaseError(missed[0])
        return row(choice, results[0], bitstream.bitstream_path(choice), folder)

    def sums(self) -> None:
        """SHA256SUMS of all there is."""
        files = sorted(path for path in self.folder.rglob("*") if path.is_file() and path.name != "SHA256SUMS")
        lines = [f"{sha256(path)}  {path.relative_to(self.folder)}\n" for path in files]
        (self.folder / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")


def sha256(path: Path) -> str:
    """Of a file, in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def row(choice: Any, result: Any, built: Path, folder: Path) -> dict[str, Any]:
    """What the list says of a bitstream, which is copied into `folder` with the places of its registers."""
    from litex_soc.bitstream import PACKAGES

    target = folder / built.name
    shutil.copyfile(built, target)
    shutil.copyfile(built.with_name("csr.json"), folder / f"{choice.name}.csr.json")
    return {
        "file": target.name,
        "sha256": sha256(target),
        "csr": f"{choice.name}.csr.json",
        "board": choice.board.name,
        "fpga": choice.fpga,
        "variant": choice.variant,
        "samples": choice.samples,
        "seed": result.seed,
        "clocks_mhz": {clock: {"needed": mhz, "reached": result.fmax[clock]} for clock, mhz in result.needed.items()},
        "used": dict(result.used),
        "tools": {name: importlib.metadata.version(name) for name in PACKAGES},
        "licence": "BSD-2-Clause" if choice.variant == "uartbone" else "BSD-2-Clause AND MIT",  # VexRiscv is MIT
    }


def write_list(folder: Path, version: str, rows: list[dict[str, Any]]) -> None:
    """bitstreams.json, which `litepulse flash` reads."""
    from litex_soc import regmap

    made = {"litepulse": version, "register_map": f"{regmap.VERSION_MAJOR}.{regmap.VERSION_MINOR}", "bitstreams": rows}
    (folder / "bitstreams.json").write_text(json.dumps(made, indent=1, sort_keys=True) + "\n", encoding="utf-8")


PARTS = ("dist", "debs", "kernel", "docs", "bitstreams", "sbom", "notes")


def make(release: Release, without: tuple[str, ...] = (), say: Callable[[str], None] = print) -> None:
    """All parts but some, in the folder of the release, which is emptied first."""
    shutil.rmtree(release.folder, ignore_errors=True)
    release.folder.mkdir(parents=True)
    for part in PARTS:
        if part not in without:
            say(f"release: {part} ...")
            getattr(release, part)()
    release.sums()


def main(argv: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="make release" if os.environ.get("MAKELEVEL") else None, description="Makes a release.")
    parser.add_argument("version", nargs="?", default="")
    parser.add_argument("--prepare", action="store_true", help="write the version into the tree")
    parser.add_argument("--check", action="store_true", help="only whether all agrees")
    parts = ", ".join(PARTS)
    parser.add_argument("--without", choices=PARTS, action="append", default=[], metavar="PART", help=f"leave out one of {parts}")
    parser.add_argument("--bitstreams", choices=("build", "cached", "none"), default="build", help="cached: those that were built here")
    parser.add_argument("-o", "--out", type=Path, metavar="FOLDER", help="default: build/release/litepulse-VERSION")
    args = parser.parse_args(argv)
    if not VERSION.fullmatch(args.version):
        print(f"release: {next(disagreements(args.version))}", file=sys.stderr)
        return 2
    try:
        if args.prepare:
            for name in prepare(args.version):
                print(f"written: {name}")
            return subprocess.run([sys.executable, "-m", "litex_soc.frozen_map"], cwd=ROOT, check=False).returncode
        found = [*disagreements(args.version), *page_checks()]
        for line in found:
            print(f"release: {line}", file=sys.stderr)
        if found or args.check:
            return 2 if found else 0
        folder = args.out or ROOT / "build" / "release" / f"litepulse-{args.version}"
        make(Release(args.version, folder.resolve(), args.bitstreams), tuple(args.without), lambda text: print(text, flush=True))
    except ReleaseError as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    print(f"release: {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
