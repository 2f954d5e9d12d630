# SPDX-License-Identifier: BSD-2-Clause
"""scripts/debian_package.py with an archive of our own: mirrors that are stale, half synchronised, slow or gone; no other network."""

import re
import shutil
import tarfile
import time

import pytest

from litex_soc import build_cache
from scripts import debian_apt, debian_package
from scripts.debian_package import PackageError, Patience, fetch, obtain
from scripts.debian_table import Entry, Route, Series
from sim import series
from sim.guest import kernel_kits
from sim.house.debian_archive import STALL, Archive, Key, Mirror

SUITE = "trixie"
INDEX = "binary-amd64/Packages"
AMD64 = {"architecture": "amd64"}


@pytest.fixture(scope="session")
def key(tmp_path_factory):
    """The key that signs the archive."""
    return Key(tmp_path_factory.mktemp("key"))


@pytest.fixture
def mirror(tmp_path, monkeypatch, key):
    """A mirror that apt asks, with an empty cache. Pauses take no time but count; they are in `pauses`."""
    mirror = Mirror(tmp_path / "served")
    mirror.pauses = []
    monkeypatch.setenv("LITEPULSE_DEBIAN_MIRROR", mirror.address)
    monkeypatch.setattr(build_cache, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(debian_package, "failures", {})
    monkeypatch.setattr(debian_apt, "KEYRING", key.keyring)
    monkeypatch.setattr(debian_apt, "sleep", mirror.pauses.append)
    monkeypatch.setattr(debian_apt, "clock", lambda: time.monotonic() + sum(mirror.pauses))
    yield mirror
    mirror.close()


@pytest.fixture(scope="session")
def first_archive(tmp_path_factory, key):
    """An archive with one package in two versions; and in bookworm-backports with the first of them rebuilt, and a newer one."""
    archive = Archive(tmp_path_factory.mktemp("archive") / "debian", key)
    for suite, version in ((SUITE, "1.0-1"), (SUITE, "2.0-1"), ("bookworm-backports", "1.0-1~bpo12+1"), ("bookworm-backports", "1.5-1")):
        archive.make(suite, "thing", version)
    archive.publish()
    return archive


@pytest.fixture
def archive(mirror, first_archive):
    """A copy of that archive, on the mirror."""
    return first_archive.copy(mirror.folder / "debian")


@pytest.fixture
def entry(archive, monkeypatch):
    """An entry of the table: the package `thing`, whose tested version is in trixie."""
    routes = (Route(SUITE), Route("trixie-security"), Route("bookworm-backports"))
    entry = Entry("thing", "a test", ("thing=1.0-1",), routes, 1, AMD64)
    monkeypatch.setitem(debian_package.ENTRIES, "thing", entry)
    return entry


def get(package="thing", **options):
    """The packages as fetched from trixie."""
    return fetch(package, SUITE, **AMD64, **options)


def version_in(fetched):
    """The version that the package itself says it has."""
    return (fetched.path / "usr/share/thing/version").read_text()


# What apt and the cache do when the mirror is good.


def test_newest_and_wanted_version(archive, capsys):
    newest = get()
    assert newest.versions == {"thing": "2.0-1"} and version_in(newest) == "2.0-1"
    wanted = get("thing=1.0-1")
    assert wanted.versions == {"thing": "1.0-1"} and wanted.path != newest.path
    assert "tested" not in capsys.readouterr().err
    gone = get("thing=0.9-1")
    assert gone.path == newest.path and "thing 0.9-1, which was tested, is not in trixie: taking 2.0-1" in capsys.readouterr().err


def test_downloads_are_printed(archive, capsys):
    """Before it does: what, how much, and where it is kept."""
    data = b"x" * 2_345_678
    archive.make(SUITE, "big", "1", {"usr/big": data})
    archive.publish()
    fetched = get("big")
    lists, download = capsys.readouterr().err.splitlines()[:2]
    assert re.fullmatch(rf"debian: asking {debian_apt.mirror(SUITE)} what trixie has \(10 MB\), kept in \S+ \.\.\.", lists)
    assert download == f"debian: downloading big=1 of trixie: 2.4 MB, kept in {fetched.path.parent} ..."


def test_what_the_cache_has_needs_no_mirror(archive, mirror, monkeypatch):
    first = get()
    archive.make(SUITE, "thing", "3.0-1")
    archive.publish()
    mirror.requests.clear()
    assert get() == first and not mirror.requests
    assert get(refresh=True).versions == {"thing": "3.0-1"} and first.path.is_dir()
    mirror.requests.clear()
    mirror.close()
    for name in ("mirror", "Apt"):
        monkeypatch.setattr(debian_package, name, lambda *_: pytest.fail("a mirror was used"))
    assert get().versions == {"thing": "3.0-1"} and not mirror.requests


def test_dependencies_patterns_and_archives_inside(archive, tmp_path, capsys):
    with tarfile.open(tmp_path / "inner.tar", "w") as tar:
        tar.add(__file__, "inner/file")
    archive.make(SUITE, "base-files", "1", {"etc/base": b""})
    archive.make("bookworm", "needed", "1", {"usr/lib/needed": b"here"})
    archive.make(SUITE, "user", "1", {"usr/bin/user": b"", "usr/share/user.tar": (tmp_path / "inner.tar").read_bytes()}, "needed (>= 1)")
    archive.publish()
    alone = get("user", unpack=["usr/share/user.tar"])
    assert list(alone.versions) == ["user"] and not (alone.path / "usr/share/user.tar").exists()
    assert (alone.path / "usr/share/inner/file").read_bytes() == open(__file__, "rb").read()
    whole = get("user", dependencies=True, base="bookworm")
    assert set(whole.versions) == {"base-files", "needed", "user"} and (whole.path / "usr/lib/needed").read_bytes() == b"here"
    assert "downloading user=1 base-files=1 and 1 packages they depend on of trixie" in capsys.readouterr().err
    some = get(["user", "thing"], only=["usr/bin/*"])
    assert [path.name for path in some.path.rglob("*") if path.is_file()] == ["user"]


# What they do when it is not.


def test_another_route_after_two_minutes(entry, mirror, capsys):
    """Half synchronised: InRelease is new, the list is not. The second route does not exist at all, the third has a rebuild."""
    mirror.odd[f"trixie/main/{INDEX}"] = b"the list of yesterday"
    fetched = obtain("thing")
    assert fetched.versions == {"thing": "1.0-1~bpo12+1"}
    assert 60 < sum(mirror.pauses) <= 120 and mirror.pauses == sorted(mirror.pauses)
    output = capsys.readouterr().err
    assert re.search(r"thing 1\.0-1 cannot be had from trixie \(.*unexpected size.*\): trying trixie-security\n", output)
    assert re.search(
        r"thing 1\.0-1 cannot be had from trixie-security \(it does not have this suite\): trying bookworm-backports\n", output
    )
    assert "thing 1.0-1, which was tested, is not in bookworm-backports: taking 1.0-1~bpo12+1" in output
    requests = [path for path in mirror.requests if "trixie-security/InRelease" in path]
    # An archive of its own; a definite answer is not requested again.
    assert len(requests) == 1 and requests[0].startswith("/debian-security/")
    mirror.requests.clear()
    assert obtain("thing") == fetched and not mirror.requests


@pytest.mark.parametrize("content, message", [(404, "404"), ("other", "Hash Sum mismatch")])
def test_a_package_that_the_mirror_lacks_or_changed(entry, archive, mirror, capsys, content, message):
    """A mirror that is half synchronised, or a package with another hash than the signed list says: it is taken by another route."""
    name = "pool/thing_1.0-1_amd64.deb"
    mirror.odd[name] = content if content == 404 else b"x" * (archive.folder / name).stat().st_size
    assert obtain("thing").versions == {"thing": "1.0-1~bpo12+1"}
    errors = capsys.readouterr().err
    assert "does not deliver thing of trixie" in errors and message in errors


@pytest.mark.parametrize("what", ["InRelease", "pool/"])
def test_a_slow_mirror_cannot_block(archive, mirror, monkeypatch, what):
    """A connection that brings no data ends after a time: this test ends."""
    monkeypatch.setattr(debian_apt, "TIMEOUT", 1)
    monkeypatch.setattr(debian_apt, "STALLED", 1)
    monkeypatch.setattr(debian_apt, "PAUSES", ())
    mirror.odd[what] = STALL
    with pytest.raises(PackageError, match="stalled|timed out") as caught:
        get()
    assert caught.value.passing


def test_a_mirror_that_is_gone(entry, mirror):
    """The message names each route with its reason, and what to do; the next request fails without
    a wait."""
    mirror.close()
    with pytest.raises(PackageError, match=r"trixie, trixie-security, bookworm-backports: InRelease Could not connect") as caught:
        obtain("thing")
    assert str(caught.value).endswith("(try again later, or set LITEPULSE_DEBIAN_MIRROR to the address of another mirror)")
    mirror.pauses.clear()
    debian_package.failures.clear()  # as another process has none
    with pytest.raises(PackageError, match="Could not connect"):
        obtain("thing")
    assert not mirror.pauses


def test_another_version_of_the_cache_when_the_mirror_is_gone(entry, mirror, monkeypatch, capsys):
    old = obtain("thing")
    mirror.close()
    monkeypatch.setitem(debian_package.ENTRIES, "thing", Entry("thing", "a test", ("thing=2.0-1",), entry.routes, 1, AMD64))
    assert obtain("thing") == old
    assert capsys.readouterr().err.splitlines()[-1].endswith(f"taking what the cache has, {old.path.name}")


# Signatures.


@pytest.mark.parametrize("how", ["unsigned", "another key", "changed"])
def test_an_archive_that_is_not_signed_is_refused(archive, mirror, tmp_path, capsys, how):
    release = mirror.folder / "debian/dists" / SUITE / "InRelease"
    if how == "changed":
        release.write_text(release.read_text().replace("Components: main", "Components: mail"))
    else:
        archive.key = archive.key if how == "unsigned" else Key(tmp_path)
        archive.publish(signed=how != "unsigned")
    assert debian_package.main(["--architecture", "amd64", SUITE, "thing"]) == 2
    assert capsys.readouterr().err.splitlines()[-1].endswith("not signed with a key of the package debian-archive-keyring")
    assert not [path for path in mirror.requests if "Packages" in path or "pool" in path] and not mirror.pauses


# Definite answers, in one line.


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([SUITE, "no-such-thing"], "trixie at http.* has no package no-such-thing"),
        (["sid", "thing"], "gives no list of what sid has: it does not have this suite"),
        (["noble", "thing"], "noble is no suite of Debian that is known here"),
        (["--source", SUITE, "one", "two"], "one source package at a time"),
    ],
)
def test_one_clear_line(archive, mirror, capsys, arguments, message):
    assert debian_package.main(["--architecture", "amd64", *arguments]) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if "asking" not in line]
    assert len(lines) == 1 and re.search(message, lines[0]) and not mirror.pauses


# Kernel series.

LINE = "7.2"


@pytest.fixture
def kernels(archive, monkeypatch, tmp_path):
    """forky has a newer series and, of 7.2, no image; trixie-backports has two releases of it, one for cloud, too."""
    routes = (Route("forky"), Route("trixie-backports", "trixie"))
    headers = ("linux-headers-{release}-amd64", "linux-headers-{release}-common", "linux-kbuild-{release}")
    names = headers, ("linux-modules-{release}-amd64",)
    monkeypatch.setitem(kernel_kits.KERNELS, LINE, Series(LINE, "7.2.12-1", *names, routes, {}))
    for suite, release, version, packages in (
        ("forky", "7.3.4+deb14", "7.3.4-1", (*headers, *names[1])),
        ("forky", "7.2.12+deb14", "7.2.12-1", headers),
        ("trixie-backports", "7.2.9+deb13", "7.2.9-1~bpo13+1", (*headers, *names[1])),
        ("trixie-backports", "7.2.13+deb13", "7.2.13-1~bpo13+1", (*headers, *names[1])),
        ("trixie-backports", "7.2.13+deb13-cloud", "7.2.13-1~bpo13+1", headers),
    ):
        for name in packages:
            archive.make(suite, name.format(release=release), version)
    archive.publish()
    return kernel_kits.KERNELS[LINE]


def test_a_release_of_the_same_series(kernels, archive, capsys):
    """The tested version, or its rebuild, or the newest of the series: whole, and never of another series."""
    with pytest.raises(PackageError, match="forky has no Linux 7.2"):
        kernel_kits.choose_release(kernels, kernels.routes[0], Patience())
    assert kernel_kits.choose_release(kernels, kernels.routes[1], Patience()) == ("7.2.13+deb13", "7.2.13-1~bpo13+1")
    assert "instead of 7.2.12-1, which was tested" in capsys.readouterr().err
    for name in (*kernels.headers, *kernels.image):
        archive.make("trixie-backports", name.format(release="7.2.12+deb13"), "7.2.12-1~bpo13+1")
    archive.publish()
    shutil.rmtree(build_cache.CACHE)
    assert kernel_kits.choose_release(kernels, kernels.routes[1], Patience()) == ("7.2.12+deb13", "7.2.12-1~bpo13+1")


def test_a_series_that_cannot_be_had(kernels, mirror):
    """Is not tested, and the reason is reported; the one that must be there fails."""
    mirror.close()
    get_kit = series.or_not_tested(kernel_kits.kernel_kit)
    reason = r"^NOT TESTED: Linux 7\.2 cannot be had: forky, trixie-backports: InRelease Could not connect .*mirror\)$"
    with pytest.raises(pytest.skip.Exception, match=reason):
        get_kit(LINE)

    def fails(line):
        raise PackageError("cannot be had")

    with pytest.raises(pytest.fail.Exception, match="^Linux 6.12: cannot be had. Without it the tests say too little$"):
        series.or_not_tested(fails)("6.12")
    assert series.or_not_tested(str.upper)("a") == "A"
