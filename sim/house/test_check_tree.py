# SPDX-License-Identifier: BSD-2-Clause
"""Our own checks of `make lint` find what they are for."""

import subprocess
import sys

import pytest

from scripts import check_tree
from scripts.check_tree import KEPT, SIGNED_CAST, editorconfig, names, pictures
from sim.cocotb_rig import ROOT


@pytest.mark.parametrize(
    "code, wrong",
    [
        ("a <= -W'(S);", True),
        ("x & ~32'(S - 1)", True),
        ("f(!(W - 1)'(y))", True),
        ("a && 3'(s) >= b", False),
        ("a - W'(S)", False),
        ("b & 3'(S - 1)", False),
        ("a == (W - SL)'(K)", False),
    ],
)
def test_signed_casts(code, wrong):
    assert bool(SIGNED_CAST.search(code)) == wrong


@pytest.mark.parametrize(
    "name, text, found",
    [
        ("a.py", "if x:\r\n    y()\r\n", (1, "a carriage return")),
        ("a.md", "text", (1, "no newline at the end")),
        ("a.toml", "x = 1 \n", (1, "spaces at the end")),
        ("a.py", "if x:\n\ty()\n", (2, "an indent of the other kind")),
        ("a.c", "int f(void)\n{\n    return 0;\n}\n", (3, "an indent of the other kind")),
        ("a.sv", "x" * 141 + "\n", (1, "141 columns, 140 are allowed")),
        ("driver/a.c", "\t" + "x" * 93 + "\n", (1, "101 columns, 100 are allowed")),
        ("init", "#!/bin/sh\n", (1, "a shell script that cannot be run: chmod +x")),
    ],
)
def test_editorconfig(tmp_path, name, text, found):
    assert found in findings(tmp_path, name, text)


def test_a_message_of_the_driver_may_be_long(tmp_path):
    assert findings(tmp_path, "driver/a.c", '\t"' + "x" * 100 + '"\n') == []


def findings(folder, name, text):
    """Of a file in a tree with our .editorconfig."""
    (folder / ".editorconfig").write_bytes((ROOT / ".editorconfig").read_bytes())
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text.encode())
    return list(editorconfig(path))


@pytest.mark.parametrize(
    "body, found",
    [
        ('<g id="000" /><use xlink:href="#000" />', []),
        ("<g id='000' /><use href='#000' />", []),
        ('<g id="000" /><use xlink:href="#1f2328" />', [(1, "refers to #1f2328, which is not in this file")]),
        ('<g id="a" />\n<use href="#b" /><use href="#b" />', [(2, "refers to #b, which is not in this file")]),
        ('<path style="marker-end:url(#tip)" />', [(1, "refers to #tip, which is not in this file")]),
        ('<g grid="000" /><use href="#000" />', [(1, "refers to #000, which is not in this file")]),
        ('<marker id="tip" /><path style="fill:#000;marker-end:url(#tip)" /><a href="https://x/#000" />', []),
    ],
)
def test_references_of_a_picture(tmp_path, body, found):
    (tmp_path / "a.svg").write_text(f'<svg width="9"><rect width="100%" height="100%" fill="white" />{body}</svg>')
    assert list(pictures(tmp_path / "a.svg")) == found


def test_a_picture_without_a_background_is_found(tmp_path):
    (tmp_path / "a.svg").write_text('<svg width="9"><rect width="50%" height="100%" fill="white" /></svg>')
    assert [line for line, _ in pictures(tmp_path / "a.svg")] == [1]


def test_findings_are_printed_with_their_place(tmp_path):
    (tmp_path / "a.sv").write_text("module a;\n  always_comb x = -W'(S);\nendmodule\n")
    command = [sys.executable, "scripts/check_tree.py", "hdl", str(tmp_path / "a.sv")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stdout.count(f"{tmp_path / 'a.sv'}:2: ") == 2


@pytest.mark.parametrize(
    "name, text, found",
    [
        ("a.py", "def told_to_stop(said):\n    return said\n", [(1, "told_to_stop", "told"), (1, "said", "said")]),
        ("a.py", "class Told:\n    NOBODY_ASKED = f'{1}'\n", [(1, "Told", "told"), (2, "NOBODY_ASKED", "nobody")]),
        ("a.py", "run.whoeverWaits()\n", [(1, "whoeverWaits", "whoever")]),
        ("a.py", "# told\nx = 'anew'  # said\nwhole, essays, tasked, retold, saying = 'asks', 1, 2, 3, 4\n", []),
        ("a.c", "/* told\n * anew */\nint x; // said\nu32 begin_anew(void)\n", [(4, "begin_anew", "anew")]),
        ("a.h", 'char *x = "told \\" said", y = \'"\'; int asks;\n', [(1, "asks", "asks")]),
        ("a.cpp", "int tellsOf(Frame saysWhat);\n", [(1, "tellsOf", "tells"), (1, "saysWhat", "says")]),
    ],
)
def test_names(tmp_path, name, text, found):
    (tmp_path / name).write_text(text)
    what = [(line, f"`{identifier}`: for `{odd}` write {check_tree.ODD[odd]}") for line, identifier, odd in found]
    assert list(names(tmp_path / name)) == what


def test_names_that_are_kept_are_there(monkeypatch):
    """Without their entries they are found, and no others in these files."""
    kept = dict(KEPT)
    monkeypatch.setattr(check_tree, "KEPT", {})
    for path, known in kept.items():
        assert {what.split("`")[1] for _, what in names(ROOT / path)} == known


TABLE = """[[figures]]
page = "docs/speed.md"
part = "python -m bench speed"
sources = ["src"]
commits = 1

[[figures]]
page = "docs/size.md"
sources = ["src"]
commits = 2
"""


class History:
    """A repository with sources and pages of figures."""

    def __init__(self, root):
        self.root = root
        self.git("init", "-q")
        for folder in ("src", "docs/develop"):
            (root / folder).mkdir(parents=True)
        (root / "docs/develop/figures.toml").write_text(TABLE)

    def git(self, *words):
        name = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        return subprocess.run(["git", *name, *words], cwd=self.root, capture_output=True, text=True, check=True).stdout.strip()

    def commit(self, path, text):
        (self.root / path).write_text(text)
        self.git("add", path)
        self.git("commit", "-qm", path)
        return self.git("rev-parse", "--short=7", "HEAD")


def test_the_age_of_figures(tmp_path, monkeypatch):
    """Only commits that touch what a figure is of make it older; a page without a commit counts from its own last change."""
    history = History(tmp_path)
    monkeypatch.setattr(check_tree, "ROOT", tmp_path)
    measured = history.commit("src/a", "1")
    history.commit("docs/size.md", "5 cells")
    history.commit("docs/speed.md", f"`python -m bench speed`, 2026-11-28, sources {measured}; 2 cores\n")
    history.commit("src/a", "2")
    history.commit("other", "1")
    history.commit("other", "2")
    assert list(check_tree.figures()) == []
    history.commit("src/a", "3")
    old = f"`python -m bench speed` was measured at {measured}; 2 commits have touched its sources since, 1 are allowed"
    assert list(check_tree.figures()) == [("docs/speed.md", 1, old)]
    history.commit("src/a", "4")
    assert [(page, line) for page, line, _ in check_tree.figures()] == [("docs/size.md", 1), ("docs/speed.md", 1)]
    history.commit("docs/size.md", "6 cells")
    history.commit("docs/speed.md", "\n`python -m bench speed`, sources 0123456\n\n`python -m bench drain`, sources 0123456\n")
    table = "docs/develop/figures.toml"
    assert list(check_tree.figures()) == [
        ("docs/speed.md", 2, "there is no commit 0123456"),
        ("docs/speed.md", 4, f"`python -m bench drain` has no entry in {table}"),
    ]
    history.commit("docs/speed.md", "nothing")
    history.git("rm", "-q", "-r", "src")
    history.git("commit", "-qm", "moved")
    assert list(check_tree.figures()) == [
        (table, 1, "docs/size.md: there is no src"),
        (table, 1, "docs/speed.md has no part `python -m bench speed` that names the commit of its sources"),
    ]
