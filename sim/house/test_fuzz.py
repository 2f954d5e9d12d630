# SPDX-License-Identifier: BSD-2-Clause
"""The command `make fuzz`, without its boots."""

import re
from dataclasses import replace

import pytest

from lab import fuzz


@pytest.mark.parametrize("words", ["--calls -1", "--pulls -1", "--jobs 0", "--seed 0", f"--seed {1 << 20}", "more"])
def test_refuses(words, capsys):
    with pytest.raises(SystemExit) as ended:
        fuzz.main(words.split())
    assert ended.value.code == 2 and "error: " in capsys.readouterr().err


@pytest.mark.full
def test_boots_until_so_much_was_done(monkeypatch, capsys, tmp_path):
    """Boots until a given number of calls was made, and no more; a report ends it with its seed,
    and writes no page."""
    monkeypatch.setattr(fuzz, "PAGE", tmp_path / "page.md")
    boots = []

    def boot(name, *result):
        return lambda seed, *_: boots.append((name, seed)) or result

    monkeypatch.setattr(fuzz, "without_hardware", lambda seed, sleeps: boot(f"echo{sleeps}", fuzz.BOOT_CALLS, 5)(seed))
    monkeypatch.setattr(fuzz, "on_a_cable", boot("cable", 20_000, 7))
    monkeypatch.setattr(fuzz, "hostile", boot("hostile", 9, 3, 600, 4))
    monkeypatch.setattr(fuzz, "pull", boot("pull", 70_000, 25))
    monkeypatch.setattr(fuzz, "races", boot("races", 60_000, 9))
    for kind, made in list(fuzz.KINDS.items()):
        monkeypatch.setitem(fuzz.KINDS, kind, replace(made, build=list))
    words = "--calls 250000 --answers 1000 --pulls 26 --seed 30 --jobs 1 --write".split()
    assert fuzz.main(words) == 0
    names = ["hostile", "hostile", "pull", "pull", "races", "races", "cable", "cable", "echo0", "echo1", "echo0"]
    assert boots == [(name, 30 + n) for n, name in enumerate(names)]
    text = (tmp_path / "page.md").read_text()
    assert "seeds 30 to 40" in text and "| the same, its answers altered or random | 2 | 18 | 6 | 1,200 | 8 |" in text
    (tmp_path / "page.md").unlink()

    def fails(seed, sleeps):
        raise ValueError("BUG: a mistake")

    monkeypatch.setattr(fuzz, "without_hardware", fails)
    capsys.readouterr()
    assert fuzz.main(["--calls", "100000", "--answers", "0", "--pulls", "0", "--write", "--jobs", "2"]) == 1
    assert re.search(r"interrupts, seed \d+: FAILED\nBUG: a mistake\n", capsys.readouterr().out) and not (tmp_path / "page.md").exists()
