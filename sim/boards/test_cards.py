# SPDX-License-Identifier: BSD-2-Clause
"""The cards in docs/boards and their drawings are fresh, name every board, and show every pin of constraints/ where it is."""

import dataclasses
import json
import re
import xml.etree.ElementTree as ElementTree

import pytest

from litex_soc import board_cards, boards, boards_page, tested
from litex_soc.board import choose
from litex_soc.headers import pins

ROOT = board_cards.ROOT
SVG = "{http://www.w3.org/2000/svg}"
# Paper first, so that lines are readable whatever the page's colour.
BACKGROUND = re.compile(r'<svg [^>]*><rect width="100%" height="100%" fill="(white|#0d1117)" />')


@pytest.fixture(scope="module")
def files():
    return board_cards.files()


def test_no_card_is_left_over(files):
    there = {
        path.relative_to(ROOT).as_posix()
        for folder in ("docs/boards", "docs/images/boards")
        for path in (ROOT / folder).iterdir()
        if path.is_file()
    }
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
    signals |= {f"port{n}": pin for n, pin in enumerate(made.port)}
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
    ulx3s = dataclasses.replace(boards.all_boards()["ulx3s"], headers=(pins("J2", "GP15=N17"),))
    monkeypatch.setattr(boards, "all_boards", lambda: {"ulx3s": ulx3s})
    with pytest.raises(ValueError, match=r"no place for tx \(U18\), de \(N16\)"):
        board_cards.pins_drawing("ulx3s")


def test_drawings_are_readable_on_any_page(files):
    drawings = [text for path, text in files.items() if path.endswith(".svg")]
    assert len(drawings) == 2 * (len(boards.NAMES) + 1)
    assert all(BACKGROUND.match(text) for text in drawings)


def shine(colour):
    """How bright a colour looks, from 0 to 255."""
    named = {"white": "#ffffff", "black": "#000000"}.get(colour, colour)
    red, green, blue = (int(named[place : place + 2], 16) for place in (1, 3, 5))
    return 0.3 * red + 0.6 * green + 0.1 * blue


def test_a_dark_drawing_is_the_light_one_on_dark_paper(files):
    """The same texts and shapes; the paper is dark, and each text stands out from what lies below it, as in the light one."""
    for path, text in files.items():
        if not path.endswith("-dark.svg"):
            continue
        light, dark = (ElementTree.fromstring(each) for each in (files[path.replace("-dark", "")], text))
        paper = None
        for one, other in zip(light.iter(), dark.iter(), strict=True):
            assert one.text == other.text and {**one.attrib, "fill": "", "stroke": ""} == {**other.attrib, "fill": "", "stroke": ""}
            if one.tag == f"{SVG}rect":
                below, paper = other.get("fill"), paper or other.get("fill")
            elif one.tag == f"{SVG}text":
                grounds = {paper, below}
                assert any(abs(shine(other.get("fill")) - shine(ground)) > 90 for ground in grounds), (path, one.text)
        assert shine(paper) < 20


def test_the_page_of_boards_begins_with_a_choice():
    """What needs no build is as the generator has it now, and the table of boards comes before any figure of nextpnr's."""
    text = boards_page.PAGE.read_text()
    assert text.startswith("\n".join(boards_page.head()) + "\n\n## Size and speed\n")
    table = [line.strip("| ").split(" | ") for line in text.partition("\n\n    make ")[0].splitlines() if line.startswith("| [")]
    assert [row[0].partition("](boards/")[2] for row in table] == [f"{name}.md)" for name in boards.NAMES]
    assert [row[5] for row in table] == ["64 identifiers", "no", *["64 identifiers"] * 4]


def test_the_page_of_boards_has_the_words_of_the_generator():
    """Also those between the figures, which are written only when all boards are built. The page is 100 columns wide."""
    written = boards_page.page({}).splitlines()
    lines = boards_page.PAGE.read_text().splitlines()
    assert not [line for line in written if line and line not in lines]
    assert all(len(line) <= 100 for line in written if not line.startswith(("|", "<!--")))


def sent(**changes):
    """A report as `litepulse first-light` writes it, as far as the page needs it."""
    own = {"edges": 20004, "delay": {"count": 20004, "histogram": [[1, 20000], [2, 4]]}}
    measured = {
        "wire": None,
        "self": own,
        "latency_timer": {"before_ms": 16, "in_use_ms": 1},
        "crystal": {"ppm": 12.345, "uncertainty_ppm": 3.2, "clock_is_set": True},
        "attach": {"baud": 3_000_000},
    }
    board = {"name": "icebreaker", "simulated": False, "clock_hz": "48000000", "register_map": "0.10"}
    made = {"command": "first-light", "schema": 1, "litepulse": "0.2.0", "date": "2027-01-02T03:04:05Z", "passed": True, "board": board}
    return made | {"measured": measured, "steps": [{"step": "wire", "state": "ok"}]} | changes


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A tree with a folder for reports."""
    (tmp_path / tested.FOLDER).mkdir(parents=True)
    monkeypatch.setattr(board_cards, "ROOT", tmp_path)
    return tmp_path


def put(root, name, report):
    (root / tested.FOLDER / name).write_text(json.dumps(report))


def test_the_page_without_reports(root):
    files = {path: " ".join(text.split()) for path, text in board_cards.files().items()}
    assert "**No report has been sent yet: nothing has been tested on hardware.**" in files["docs/boards/tested.md"]
    assert all("Nothing on this card has been tested on hardware yet" in files[f"docs/boards/{name}.md"] for name in boards.NAMES)


def test_a_report_that_was_sent_is_shown(root):
    """On the page, in the order of boards and dates, and on the board's card."""
    put(root, "ulx3s-1.json", sent(board=sent()["board"] | {"name": "ulx3s"}, measured=dict.fromkeys(sent()["measured"])))
    put(root, "icebreaker-2.json", sent(passed=False, steps=[{"step": "self", "state": "fault"}], date="2027-02-02T03:04:05Z"))
    put(root, "icebreaker-1.json", sent())
    files = board_cards.files()
    rows = [line for line in files["docs/boards/tested.md"].splitlines() if line.startswith("| ") and "JSON" in line]
    assert rows[0] == (
        "| iCEBreaker | 2027-01-02 | 0.2.0, map 0.10 | passed | 20,004 of 20,004 | 1, 2 | 48 MHz, +12.3 ± 3.2 ppm | 1 ms | 3,000,000 baud "
        "| [JSON](reports/icebreaker-1.json) |"
    )
    assert "| failed: self |" in rows[1] and rows[2].startswith("| ULX3S |") and "No report" not in files["docs/boards/tested.md"]
    assert "[Tested on metal](tested.md): 1 report without a fault." in files["docs/boards/icebreaker.md"].replace("\n", " ")
    assert "Nothing on this card has been tested" in " ".join(files["docs/boards/orangecrab.md"].split())


def test_a_report_is_taken_for_text(root):
    """It was written by somebody else."""
    put(root, "icebreaker-1.json", sent(litepulse="<b>|[x](y)", steps=[{"step": "<script>", "state": "fault"}]))
    text = board_cards.files()["docs/boards/tested.md"]
    assert r"\<b\>\|\[x\](y)" in text and r"failed: \<script\>" in text


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        {},
        sent(schema=2),
        sent(command="certify"),
        sent(board=sent()["board"] | {"simulated": True}),
        sent(board=sent()["board"] | {"name": "arty"}),
        sent(measured={}),
        sent(steps=None),
    ],
)
def test_what_is_no_report_is_named(wrong, root, capsys):
    """A simulated one is none."""
    put(root, "x.json", wrong)
    assert board_cards.main(["--check"]) == 1
    assert "docs/boards/reports/x.json: no report of litepulse first-light" in capsys.readouterr().err
