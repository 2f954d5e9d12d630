# SPDX-License-Identifier: BSD-2-Clause
"""scripts/debian_package.py with an archive of our own in a folder: no network, and nothing of the system's apt is touched."""

import gzip
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
from concurrent.futures import ThreadPoolExecutor

import pytest

from scripts import debian_package
from scripts.debian_package import PackageError, fetch
from sim.linux.targets import ROOT

SUITE = "trixie"
INDEX = "main/binary-amd64/Packages"


def make_package(archive, name, version, files, depends=""):
    """Puts a binary package into the archive's pool."""
    tree = archive / "work" / name
    shutil.rmtree(tree, ignore_errors=True)
    for path, content in files.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_bytes(content)
    (tree / "DEBIAN").mkdir()
    lines = [f"Package: {name}", f"Version: {version}", "Architecture: amd64", "Maintainer: none <none@example.org>", "Description: test"]
    (tree / "DEBIAN" / "control").write_text("\n".join([*lines, *([f"Depends: {depends}"] if depends else []), ""]))
    (archive / "pool").mkdir(exist_ok=True)
    subprocess.run(["dpkg-deb", "--root-owner-group", "-b", tree, archive / "pool" / f"{name}_{version}_amd64.deb"], check=True,
                   capture_output=True)


def publish(archive):
    """Writes the archive's index of what is in its pool."""
    entries = []
    for path in sorted((archive / "pool").glob("*.deb")):
        data = path.read_bytes()
        control = subprocess.run(["dpkg-deb", "-f", path], check=True, capture_output=True, text=True).stdout.strip()
        entries.append(f"{control}\nFilename: pool/{path.name}\nSize: {len(data)}\nSHA256: {hashlib.sha256(data).hexdigest()}\n")
    folder = archive / "dists" / SUITE
    text = "\n".join(entries).encode()
    sums = []
    for name, data in ((INDEX, text), (f"{INDEX}.gz", gzip.compress(text))):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
        sums.append(f" {hashlib.sha256(data).hexdigest()} {len(data)} {name}\n")
    (folder / "Release").write_text(f"Suite: {SUITE}\nCodename: {SUITE}\nArchitectures: amd64\nComponents: main\n"
                                    f"Date: Thu, 01 Jan 2026 00:00:00 UTC\nSHA256:\n{''.join(sums)}")


@pytest.fixture
def archive(tmp_path, monkeypatch):
    """An archive with one package in two versions; apt asks it, with an empty cache."""
    folder = tmp_path / "archive"
    for version in ("1.0-1", "2.0-1"):
        make_package(folder, "thing", version, {"usr/share/thing/version": version.encode()})
    publish(folder)
    monkeypatch.setenv("LITEPULSE_DEBIAN_MIRROR", f"file:{folder}")
    monkeypatch.setattr(debian_package, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(debian_package, "KEYRING", tmp_path / "no-keys")        # nobody signs this archive
    return folder


def test_newest_and_wanted_version(archive, capsys):
    newest = fetch("thing", SUITE, architecture="amd64")
    assert newest.versions == {"thing": "2.0-1"} and (newest.path / "usr/share/thing/version").read_text() == "2.0-1"
    wanted = fetch("thing=1.0-1", SUITE, architecture="amd64")
    assert wanted.versions == {"thing": "1.0-1"} and wanted.path != newest.path
    said = capsys.readouterr().err
    assert "signatures are not checked" in said and "no longer" not in said
    gone = fetch("thing=0.9-1", SUITE, architecture="amd64")
    assert gone.path == newest.path and "thing 0.9-1, which was tested, is no longer in trixie: taking 2.0-1" in capsys.readouterr().err


def test_what_is_there_needs_no_mirror(archive, monkeypatch, capsys):
    first = fetch("thing", SUITE, architecture="amd64")
    make_package(archive, "thing", "3.0-1", {"usr/share/thing/version": b"3.0-1"})
    publish(archive)
    assert fetch("thing", SUITE, architecture="amd64") == first
    assert fetch("thing", SUITE, architecture="amd64", refresh=True).versions == {"thing": "3.0-1"}
    assert first.path.is_dir()
    shutil.rmtree(archive)
    monkeypatch.delenv("LITEPULSE_DEBIAN_MIRROR")
    monkeypatch.setattr(debian_package, "mirror", lambda: pytest.fail("the mirror was asked for"))
    assert fetch("thing", SUITE, architecture="amd64").versions == {"thing": "3.0-1"}


def test_dependencies_patterns_and_archives_inside(archive, tmp_path):
    with tarfile.open(tmp_path / "inner.tar", "w") as tar:
        tar.add(__file__, "inner/file")
    make_package(archive, "base-files", "1", {"etc/base": b""})
    make_package(archive, "needed", "1", {"usr/lib/needed": b"here"})
    make_package(archive, "user", "1", {"usr/bin/user": b"", "usr/share/user.tar": (tmp_path / "inner.tar").read_bytes()}, "needed (>= 1)")
    publish(archive)
    alone = fetch("user", SUITE, architecture="amd64", unpack=["usr/share/user.tar"])
    assert list(alone.versions) == ["user"] and not (alone.path / "usr/share/user.tar").exists()
    assert (alone.path / "usr/share/inner/file").read_bytes() == open(__file__, "rb").read()
    whole = fetch("user", SUITE, architecture="amd64", dependencies=True)
    assert set(whole.versions) == {"base-files", "needed", "user"} and (whole.path / "usr/lib/needed").read_bytes() == b"here"
    some = fetch(["user", "needed"], SUITE, architecture="amd64", only=["usr/lib/*"])
    assert [path.name for path in some.path.rglob("*") if path.is_file()] == ["needed"]


def test_several_at_once(archive):
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda _: fetch("thing", SUITE, architecture="amd64"), range(4)))
    assert len({one.path for one in done}) == 1 and (done[0].path / "usr/share/thing/version").exists()


def test_nothing_half_done_is_left(archive, monkeypatch):
    """An unpacking that fails leaves no folder, and the next one does all of it."""
    whole = debian_package.unpack_binaries

    def fails(archives, folder):
        whole(archives, folder)
        raise PackageError("the disk is full")
    monkeypatch.setattr(debian_package, "unpack_binaries", fails)
    with pytest.raises(PackageError, match="disk is full"):
        fetch("thing", SUITE, architecture="amd64")
    monkeypatch.setattr(debian_package, "unpack_binaries", whole)
    assert not [path for path in (debian_package.CACHE / SUITE).iterdir() if path.is_dir() and not path.name.startswith(".")]
    assert (fetch("thing", SUITE, architecture="amd64").path / "usr/share/thing/version").read_text() == "2.0-1"


def command(*arguments, **env):
    """The script, as from a shell."""
    return subprocess.run([sys.executable, ROOT / "scripts" / "debian_package.py", *arguments], env={**os.environ, **env},
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("arguments, said", [
    (["trixie", "no-such-thing"], "has no package no-such-thing"),
    (["sid", "thing"], "gives no list of what sid has"),
    (["noble", "thing"], "noble is no suite of Debian"),
    (["--source", "trixie", "one", "two"], "one source package at a time"),
])
def test_one_clear_line(archive, tmp_path, arguments, said):
    result = command("--architecture", "amd64", *arguments, XDG_CACHE_HOME=str(tmp_path))
    lines = [line for line in result.stderr.splitlines() if "signatures" not in line]
    if debian_package.Path("/usr/share/keyrings/debian-archive-keyring.gpg").exists() and arguments[0] == "trixie":
        said = "gives no list of what trixie has"               # nobody has signed it
    assert result.returncode == 2 and len(lines) == 1 and said in lines[0], result.stderr


def test_no_debian_mirror_known(tmp_path):
    """On Ubuntu, say."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "apt-get").write_text("#!/bin/sh\necho \"'http://archive.example.org/ubuntu/dists/noble/InRelease' x 0\"\n")
    (folder / "apt-get").chmod(0o755)
    result = command("--architecture", "amd64", "trixie", "thing", XDG_CACHE_HOME=str(tmp_path), LITEPULSE_DEBIAN_MIRROR="",
                     PATH=f"{folder}:{os.environ['PATH']}")
    assert result.returncode == 2 and len(result.stderr.splitlines()) == 1 and "set LITEPULSE_DEBIAN_MIRROR" in result.stderr
