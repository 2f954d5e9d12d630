# SPDX-License-Identifier: BSD-2-Clause
"""The timing diagrams of docs/how-it-works.md: each is measured again, and is drawn on the page, for light and dark pages."""

import json
import re

import pytest

from scripts import waves
from sim.cocotb_rig import ROOT

PAGE = (ROOT / "docs" / "how-it-works.md").read_text()


@pytest.mark.parametrize("name", waves.SCENES)
def test_a_diagram_shows_what_the_board_does(name):
    assert waves.main(["--check", name]) == 0


def test_a_wrong_edge_and_a_stale_picture_are_noticed(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(waves, "FOLDER", tmp_path)
    monkeypatch.setattr(waves, "ROOT", tmp_path.parent)
    assert waves.main(["launch"]) == 0 and waves.main(["--check", "launch"]) == 0
    source = (tmp_path / "launch.json").read_text()
    moved = source.replace('"wave": "1.....0.......1', '"wave": "1....0........1')
    assert moved != source
    (tmp_path / "launch.json").write_text(moved)
    (tmp_path / "launch-dark.svg").write_text(waves.draw(json.loads(moved), "-dark"))
    capsys.readouterr()
    assert waves.main(["--check", "launch"]) == 1
    assert re.findall(r"(\S+) is stale", capsys.readouterr().out) == ["launch.json", "launch-dark.svg"]


def test_the_page_shows_every_diagram_twice():
    """A light and a dark picture, both opaque; no picture without a scene."""
    assert sorted(re.findall(r'srcset="images/waves/([\w-]+)-dark\.svg"', PAGE)) == sorted(waves.SCENES)
    assert re.findall(r'src="images/waves/([\w-]+)\.svg"', PAGE) == re.findall(r'srcset="images/waves/([\w-]+)-dark\.svg"', PAGE)
    made = {f"{name}{end}" for name in waves.SCENES for end in (".json", ".svg", "-dark.svg")}
    assert {path.name for path in waves.FOLDER.iterdir()} == made
    for name in waves.SCENES:
        for suffix, (paper, ink, *_) in waves.PAGES.items():
            text = (waves.FOLDER / f"{name}{suffix}.svg").read_text()
            assert re.match(rf'(<\?xml[^>]*>\s*)?<svg [^>]*><rect width="100%" height="100%" fill="{paper}" />', text), name
            assert ink in text and not re.search(r'(?<!href=")#(000|fff|aaa|888)\b', text, re.IGNORECASE), name


@pytest.mark.parametrize("suffix", waves.PAGES)
def test_a_low_level_is_drawn(suffix):
    """Two symbols draw a column of levels, the first may be an edge; the picture has them all."""
    row = {"name": "tx", "wave": "10..1.0.1"}
    text = waves.draw({"head": {"text": "a", "tick": [" "] * 10}, "config": {"skin": "narrow"}, "signal": [row], "foot": {}}, suffix)
    drawn = re.findall(r'href="#([^"]+)"', text)
    assert len(drawn) == 2 * 9 and drawn.count("000") == 8, drawn
    assert set(drawn) <= set(re.findall(r'<g id="([^"]+)">', text))


@pytest.mark.parametrize("name", waves.SCENES)
def test_the_text_in_place_of_a_picture_has_its_numbers(name):
    (text,) = re.findall(rf'src="images/waves/{name}\.svg" alt="([^"]+)"', PAGE)
    rows = json.loads((waves.FOLDER / f"{name}.json").read_text())["signal"]
    shown = {number for row in rows for label in row.get("data", ()) for number in re.findall(r"\b(?:0x)?\w*\d\b", label)}
    assert shown <= set(re.findall(r"\w+", text)), shown - set(re.findall(r"\w+", text))


def test_frames_follow_the_rule_of_the_core():
    """Edge k of a frame lies at floor(k · 4.5); 0x15 has an edge at bits 0, 1, 2, 3, 4 and 5."""
    rows = {row["name"]: row for row in json.loads((waves.FOLDER / "frame.json").read_text())["signal"]}
    assert [int(text) for text in rows["EDGE event"]["data"]] == [k * 9 // 2 + 1 for k in range(6)]
