# SPDX-License-Identifier: BSD-2-Clause
"""What is kept is whole, found by its inputs only, made once however many ask, and removed by one rule."""

import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from litex_soc import build_cache
from litex_soc.build_cache import ABOUT, COMPLETE, TOGETHER_SECONDS, UNUSED_DAYS, Store, clean, content_key, report
from sim.cocotb_rig import ROOT

DAY = 86400


@pytest.fixture
def store(tmp_path, monkeypatch):
    """An empty store in a cache of its own."""
    monkeypatch.setattr(build_cache, "CACHE", tmp_path / "cache")
    monkeypatch.delenv("LITEPULSE_FRESH", raising=False)
    return Store("linux")


def make(folder):
    """Fills an entry."""
    (folder / "made").write_text("whole")


def add(store, label, number, age):
    """An entry that was used `age` seconds ago; its folder."""
    folder = store.folder(label, content_key(number), make)
    os.utime(folder / COMPLETE, (time.time() - age, time.time() - age))
    return folder


def test_keys_stand_for_contents(tmp_path):
    source = tmp_path / "source.sv"
    source.write_text("one")
    keys = [
        content_key(*parts)
        for parts in ((source,), ([source],), ("one",), (b"one",), (1,), ("1",), ({"a": 1},), ({"a": 2},), ("a", "b"), ("ab",))
    ]
    assert len(set(keys)) == len(keys) and content_key(source) == keys[0] and content_key({"a": 1}) == keys[6]
    source.write_text("two")
    assert content_key(source) != keys[0]


def test_a_folder_is_made_once(store, capsys):
    made = []

    def slow(folder):
        made.append(folder)
        time.sleep(0.1)
        make(folder)

    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(lambda _: store.folder("kernel", content_key(1), slow, "a kernel"), range(4)))
    assert len(made) == 1 and found == set(made) and (made[0] / "made").read_text() == "whole"
    assert re.fullmatch(rf"making a kernel \.\.\.\nmade a kernel in \d+ s, kept in {re.escape(str(made[0]))}\n", capsys.readouterr().err)
    assert store.folder("kernel", content_key(2), slow) != made[0] and len(made) == 2
    assert store.find("kernel", content_key(3)) is None


def test_two_processes_make_it_once(store, tmp_path):
    code = (
        "import sys, time, pathlib; from litex_soc import build_cache as c; c.CACHE = pathlib.Path(sys.argv[1])\n"
        "def make(folder):\n    open(sys.argv[2], 'a').write('made\\n'); time.sleep(0.3)\n"
        "c.Store('linux').folder('kernel', c.content_key(1), make)"
    )
    command = [sys.executable, "-c", code, str(build_cache.CACHE), str(tmp_path / "log")]
    processes = [subprocess.Popen(command, cwd=ROOT) for _ in range(2)]
    assert [process.wait() for process in processes] == [0, 0]
    assert (tmp_path / "log").read_text() == "made\n" and store.find("kernel", content_key(1))


def test_half_of_it_is_nothing(store):
    def fails(folder):
        make(folder)
        raise ValueError("the disk is full")

    with pytest.raises(ValueError, match="disk is full"):
        store.folder("kernel", content_key(1), fails)
    assert store.find("kernel", content_key(1)) is None and not list(store.path.glob("kernel-*"))

    def fails_with_log(folder):
        (folder / "build.log").write_text("no space left")
        raise ValueError("the disk is full")

    with pytest.raises(ValueError):
        store.folder("kernel", content_key(1), fails_with_log)
    (unfinished,) = store.path.glob("kernel-*/build.log")
    assert store.find("kernel", content_key(1)) is None and unfinished.read_text() == "no space left"
    assert len(store.discard_unfinished()) == 1 and not unfinished.exists()
    assert (store.folder("kernel", content_key(1), make) / "made").exists()


def test_values(store, monkeypatch):
    key = content_key("bench")
    assert store.recall("train:prove", key) is None
    store.remember("train:prove", key, {"status": "PASS", "seconds": 1.5})
    assert store.recall("train:prove", key) == {"status": "PASS", "seconds": 1.5}
    assert store.recall("train:prove", content_key("other")) is None and Store("runs").recall("train:prove", key) is None
    monkeypatch.setenv("LITEPULSE_FRESH", "1")
    assert store.recall("train:prove", key) is None
    monkeypatch.setenv("LITEPULSE_FRESH", "0")
    (path,) = store.path.glob("train-prove-*")
    whole = path.read_bytes()
    for damaged in (b"", whole[:-1], whole[:10] + b"?" + whole[11:], b"{half of a"):
        path.write_bytes(damaged)
        assert store.recall("train:prove", key) is None
    monkeypatch.setattr(build_cache, "CACHE", ROOT / "README.md" / "no folder")
    store.remember("train:prove", key, {})  # a cache that cannot be written is no error
    assert store.recall("train:prove", key) is None


def test_a_new_entry_removes_old_ones_of_its_label(store):
    old = [add(store, "kernel", number, age) for number, age in enumerate((DAY, 2 * DAY))]
    other = add(store, "libc", 1, 5 * DAY)
    now = store.folder("kernel", content_key(7), make)
    assert [path.exists() for path in (now, *old, other)] == [True, True, False, True]


def test_what_one_run_needs_stays(store):
    """Tests that differ in their inputs only have one label."""
    together = [add(store, "model", number, 60 * number) for number in range(6)]
    assert 60 * 5 < TOGETHER_SECONDS and not store.evict(keep=1) and all(path.exists() for path in together)


def test_an_entry_in_the_making_stays(store):
    old = add(store, "kernel", 1, DAY)
    add(store, "kernel", 2, 0)
    with build_cache.locked(store.path / ".locks" / old.name):
        assert not store.evict(keep=1) and old.exists()
    assert [entry.path for entry in store.evict(keep=1)] == [old] and not old.exists()


def test_clean(store, tmp_path):
    superseded, unused = add(store, "kernel", 1, DAY), add(store, "rare", 1, (UNUSED_DAYS + 1) * DAY)
    needed = [add(store, "kernel", 2, 0), add(store, "libc", 1, 2 * DAY)]
    store.remember("value", content_key(1), {"a": 1})
    (build_cache.CACHE / "of-an-older-version").mkdir()
    lines = clean()
    assert not superseded.exists() and not unused.exists() and all(path.exists() for path in needed)
    assert store.recall("value", content_key(1)) == {"a": 1}
    assert "linux: 2 removed" in lines and "of-an-older-version: all, it is not of this version" in lines
    assert re.fullmatch(rf"\d+\.\d MB removed, \d+\.\d MB left in {re.escape(str(build_cache.CACHE))}", lines[-1])
    assert clean()[:-1] == []


def test_report(store):
    (build_cache.CACHE / "boards").mkdir(parents=True)
    (build_cache.CACHE / "boards" / "bits").write_bytes(b"x" * 3_000_000)
    os.link(build_cache.CACHE / "boards" / "bits", build_cache.CACHE / "boards" / "the same file")
    lines = report()
    assert lines[0].split() == ["boards", "3.0", "MB", "bitstreams"] and lines[-1].split()[:4] == ["in", "all", "3.0", "MB"]


def test_no_cache_yet(store):
    assert report() == [f"{'in all':12} {'0.0 MB':>12}  {build_cache.CACHE}"] and clean()[-1].startswith("0.0 MB removed")


def test_every_kind_is_explained():
    """ABOUT knows the stores of all sources, and what tools keep here."""
    sources = [
        path
        for folder in ("sim", "lab", "litex_soc", "scripts", "sw/tests")
        for path in (ROOT / folder).rglob("*.py")
        if path.name != "test_build_cache.py"
    ]
    named = {name for path in sources for name, root in re.findall(r'= Store\("(\w+)"(, \w+)?\)', path.read_text()) if not root}
    assert named and named | {"ccache", "yowasp"} == set(ABOUT)


@pytest.mark.parametrize("arguments, status", [([], 0), (["clean"], 0), (["empty"], 2), (["clean", "all"], 2)])
def test_the_command(arguments, status, tmp_path):
    command = [sys.executable, "-m", "litex_soc.build_cache", *arguments]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)}, capture_output=True, text=True)
    assert (
        done.returncode == status and (str(tmp_path) in done.stdout) == (not status) and done.stderr.startswith("usage:" if status else "")
    )
