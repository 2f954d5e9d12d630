# SPDX-License-Identifier: BSD-2-Clause
"""The cards in docs/boards and their drawings are fresh, name every board, and show every pin of constraints/ where it is."""

import re
import xml.etree.ElementTree as ElementTree

import pytest

from litex_soc import board_cards, boards, boards_page
from litex_soc.board import choose

ROOT = board_cards.ROOT
SVG = "{http://www.w3.org/2000/svg}"
# White first, so that black lines are readable on a dark page, too.
BACKGROUND = re.compile(r'<svg [^>]*><rect width="100%" height="100%" fill="white" />')


@pytest.fixture(scope="module")
def files():
    return board_cards.files()


def test_no_card_is_left_over(files):
    there = {path.relative_to(ROOT).as_posix() for folder in ("docs/boards", "docs/images/boards") for path in (ROOT / folder).iterdir()}
    assert there == set(files)


def test_check_option(tmp_path, monkeypatch, capsys, files):
    monkeypatch.setattr(board_cards, "ROOT", tmp_path)
    assert board_cards.main(["--check"]) == 1
    assert capsys.readouterr().out.count("stale: ") == len(files)
    assert not list(tmp_path.iterdir())
    assert board_cards.main([]) == 0
    assert board_cards.main(["--check"]) == 0


@pytest.mark.parametrize("name", boards.NAMES)
def test_every_pin_is_shown(files, name):
    made = choose(name).constraints
    shown = ElementTree.fromstring(files[f"docs/images/boards/{name}.svg"]).iter(f"{SVG}text")
    words = [text.text for text in shown]
    signals = {**made.pins, **{f"in{n}": pin for n, pin in enumerate(made.aux)}}
    package = made.resolve(choose(name).board.fpgas[choose(name).fpga]())
    for signal, pin in signals.items():
        _, label = board_cards.places(name)[pin]
        assert words[words.index(signal) - 1] == label, signal
        assert f"| {label} | {package[signal.replace('in', 'aux', 1)]} |" in files[f"docs/boards/{name}.md"]


def test_first_pins_by_hand():
    """As printed on the boards: iCEBreaker P1A1, ECPIX-5's eighth signal on pin 10, ULX3S GP14."""
    assert board_cards.places("icebreaker")["PMOD1A:0"] == ("PMOD 1A", "1")
    assert board_cards.places("ecpix5")["pmod0:7"] == ("PMOD 0", "10")
    assert board_cards.places("ecpix5")["pmod0:4"] == ("PMOD 0", "7")
    assert board_cards.places("ulx3s")["U18"] == ("J2", "GP14")


def test_a_pin_without_a_place_is_refused(monkeypatch):
    monkeypatch.setitem(board_cards.HEADERS, "ulx3s", (board_cards.pins("J2", "GP15=N17"),))
    with pytest.raises(ValueError, match=r"no place for tx \(U18\), de \(N16\)"):
        board_cards.pins_drawing("ulx3s")


def test_drawings_are_readable_on_any_page(files):
    drawings = [text for path, text in files.items() if path.endswith(".svg")]
    assert len(drawings) == len(boards.NAMES) + 1
    assert all(BACKGROUND.match(text) for text in drawings)


def test_the_table_of_boards_links_to_the_cards():
    text = boards_page.PAGE.read_text()
    assert boards_page.cards() in text
    assert all(f"](boards/{name}.md)" in boards_page.cards() for name in boards.NAMES)
