# SPDX-License-Identifier: BSD-2-Clause
"""docs/wiring.md: each pin that it names is where the board table has it, and each part in a circuit is in the bill of materials."""

import re

import pytest

from litex_soc import board_cards, boards
from litex_soc.board import choose
from litex_soc.constraints import voltage
from litex_soc.headers import GND, POWER
from sim.cocotb_rig import ROOT

PAGE = (ROOT / "docs" / "wiring.md").read_text(encoding="utf-8")
PINS = "## Which pin on which board"
BILL = "## Bill of materials"
# What is printed beside the pins of a board, and what a header is called.
PIN = re.compile(r"\b(?:G[NP]\d+|PMOD ?[0-9A-F]+|J2\b|bank A|Feather header)")
PART = re.compile(r"\b(?:74\w+|SN\w+|MAX\d+|TJA\w+(?:/\d+)?|ISO\d+\w*|6N137-L|1N4148)")


def section(title, text=PAGE):
    """The text below a heading."""
    return text.split(f"\n{title}\n", 1)[1].split("\n## ", 1)[0]


def rows(text):
    """[[cell, ...], ...] of the first table of a text, with its header."""
    lines = re.search(r"(?m)(?:^\|.*\n)+", text)[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if not set(line) <= set("|-")]


def pins_of(text, board):
    """{signal: (header, pin)} of a board by the page."""
    head, *body = rows(section(PINS, text))
    column = head.index(board)
    found, header = {}, ""
    for row in body:
        if row[0] == "header":
            header = row[column]
        elif row[column] != "-":
            found[re.sub(r"[`\[\]]", "", row[0])] = (header, row[column])
    return found


def pins_by_table(name):
    """The same by the board table."""
    at = board_cards.places(name)
    return {signal: at[pin] for signal, pin, *_ in board_cards.signals(name)}


@pytest.mark.parametrize("name", boards.NAMES)
def test_pins_are_those_of_the_board_table(name):
    assert pins_of(PAGE, boards.all_boards()[name].title) == pins_by_table(name)


def test_every_board_has_a_column():
    assert rows(section(PINS))[0] == ["signal", *(board.title for board in boards.all_boards().values())]


@pytest.mark.parametrize("old, new", [("| GP16 |", "| GP17 |"), ("| `in3` | 4 |", "| `in3` | 7 |"), ("| PMOD E |", "| PMOD F |")])
def test_a_wrong_pin_is_noticed(old, new):
    assert PAGE.count(old) == 1
    wrong = PAGE.replace(old, new)
    assert any(pins_of(wrong, board.title) != pins_by_table(name) for name, board in boards.all_boards().items())


def test_no_other_section_names_a_pin_of_a_board():
    """There no test would compare it."""
    assert not PIN.findall(PAGE.replace(section(PINS), ""))


def test_power_pins_of_a_pmod():
    pmods = [header for board in boards.all_boards().values() for header in board.headers if header.title.startswith("PMOD")]
    power = {tuple(label for line in header.rows for label, pin in line if pin == what) for header in pmods for what in (GND, POWER)}
    assert power == {("5", "11"), ("6", "12")}
    assert "On a PMOD, pins 5 and 11 are GND, pins 6 and 12 are 3.3 V." in section(PINS)


def test_inputs_with_the_default_samples():
    fewer = {}
    for name, board in boards.all_boards().items():
        fewer.setdefault(len(choose(name).constraints.inputs(board.phys[0])), set()).add(board.title)
    assert fewer == {4: {"iCEBreaker", "Alchitry Cu"}, 3: {"ULX3S", "ECPIX-5"}, 2: {"Colorlight i5", "OrangeCrab r0.2"}}
    text = " ".join(section(PINS).split())
    assert "a ULX3S and an ECPIX-5 have `in0` to `in2`, a Colorlight i5 and an OrangeCrab `in0` and `in1`." in text


def test_all_pins_have_the_voltage_of_the_page():
    assert {voltage(choose(name).constraints.iostandard) for name in boards.NAMES} == {3.3}
    assert "**All pins are 3.3 V** (LVCMOS33)" in PAGE


def test_each_part_of_the_bill_is_in_a_circuit():
    """And the other way: a part that a circuit needs is in the bill. A letter more or less is a package."""
    circuits = PAGE.split(PINS)[1].split("\n## What delay", 1)[0].partition("\n## ")[2]
    listed = set(PART.findall(section(BILL)))
    used = {part for row in re.findall(r"(?m)^\|.*\|$", circuits) for part in PART.findall(row)}

    def bare(part):
        return re.sub(r"^SN(?=74)|[DNP]$|T/\d+$", "", part)

    assert len(listed) > 8
    assert {bare(part) for part in used} - {bare(part) for part in listed} == set()
    assert all(bare(part) in circuits or part in circuits for part in listed)
