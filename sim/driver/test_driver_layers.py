# SPDX-License-Identifier: BSD-2-Clause
"""The layers of the driver, as the comment at the top of driver/litepulse.h has them; and names that tell a function's file."""

import re

import pytest

from sim.cocotb_rig import ROOT

DRIVER = ROOT / "driver"
BOARD = "board"  # what litepulse.h belongs to
BELOW_ALL = {"compat", "regs"}  # headers alone
# Of other modules: what they may include of litepulse.ko, beside headers of their own.
OTHERS = {"uartbone": {"time", "clock_map", "packed", BOARD}, "lin": {"consumer"}}
# Whose functions are named by what they convert, as all modules use them; and cases of KUnit, which prints their names.
NAMED_OTHERWISE = {"time", "test"}
# The three of the cable are named by what each is about: functions and structures begin with this instead.
PREFIXES = {
    "litepulse_uartbone_bus.c": "litepulse_bus",
    "litepulse_uartbone_io.c": "litepulse_link",
    "litepulse_uartbone_ldisc.c": "litepulse_line",
}
# A definition: in the first column, return type, name, parameters, and a block.
DEFINITION = re.compile(r"^(?!(?:return|else|if|typedef)\b)((?:[a-zA-Z_]\w*[ \t\n]+\**)+?)(\w+)\((?=[^;{]*\)\s*\{)", re.MULTILINE)
VARIABLE = re.compile(r"^(?!static\b)(?:[a-zA-Z_]\w*[ \t]+\**)+(\w+)(?:\[\w*\])* = ", re.MULTILINE)
STRUCTURE = re.compile(r"^(?:static )?(?:const )?(?:struct|union|enum) (\w+) \{", re.MULTILINE)
ATTRIBUTE = re.compile(r"^static DEVICE_ATTR_R[WO]\((\w+)\);", re.MULTILINE)  # the macro's functions are named by the attribute
# What changes a member of a structure.
CHANGE = re.compile(
    r"->\w+(?:\[[^\]]*\])?(?:\.\w+)*\s*(?:[-+*/|&^]|<<|>>)?=(?!=)|->[\w.]+(?:\+\+|--)|(?:\+\+|--)\w+->|\bWRITE_ONCE\(|\bset_bit\("
)
INCLUDE = re.compile(r'^#include "litepulse(?:_(\w+))?\.h"', re.MULTILINE)


def part(name):
    """`litepulse_tty.c` is of the part `tty`."""
    stem = name.rsplit(".", 1)[0].removeprefix("litepulse").removeprefix("_")
    return stem or BOARD


def code(text):
    """Without comments and strings."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.DOTALL)
    return re.sub(r'(?<!include )"(?:[^"\\\n]|\\.)*"', '""', text)


def order(header):
    """Parts of litepulse.ko, bottom up."""
    comment = header.split("Layers of litepulse.ko, bottom up.", 1)[1].split("*/", 1)[0]
    return [name for line in re.findall(r"^ \* {3}([a-z_ ]+)\t", comment, re.MULTILINE) for name in line.split()]


def module(name, layers):
    """'' of litepulse.ko, else a key of OTHERS."""
    return next((other for other in OTHERS if name.split("_")[0] == other), "" if name in layers else None)


def functions(text):
    """{name: whether it is static}."""
    return {match[2]: "static" in match[1].split() for match in DEFINITION.finditer(text)}


def upward(layers, sources):
    """What files of litepulse.ko include or name of a later layer, and what other modules include that they must not: (file, what)."""
    found, place = [], {name: number for number, name in enumerate(layers)}
    texts = {name: code(text) for name, text in sources.items()}
    owner = {}
    for name, text in texts.items():
        if name.endswith(".c") and part(name) in place:
            made = [function for function, static in functions(text).items() if not static]
            owner |= dict.fromkeys([*made, *VARIABLE.findall(text)], part(name))
    for name, text in texts.items():
        mine = part(name)
        included = {other or BOARD for other in INCLUDE.findall(text)} - BELOW_ALL
        if mine in place:
            found += [(name, other) for other in included if place.get(other, len(place)) > place[mine]]
            named = set(re.findall(r"\blitepulse_\w+", text)) if name.endswith(".c") else set()
            found += [(name, other) for other in named if place[owner.get(other, mine)] > place[mine]]
        elif mine not in BELOW_ALL and (whose := module(mine, layers)):
            found += [(name, other) for other in included if other not in OTHERS[whose] and module(other, layers) != whose]
    return sorted(found)


def misnamed(name, text):
    """Functions and structures of a .c file whose names do not begin with its own."""
    prefix, text = PREFIXES.get(name, name.removesuffix(".c")), code(text)
    given = {f"{attribute}_{what}" for attribute in ATTRIBUTE.findall(text) for what in ("show", "store")}
    return sorted(made for made in {*functions(text), *STRUCTURE.findall(text)} - given if not re.match(rf"{prefix}(_|$)", made))


def changed_by_reading(texts):
    """[(show, function)]: functions that a read of an attribute calls, itself included, and that change a member of a structure."""
    bodies = {}
    for text in map(code, texts):
        bodies |= {match[2]: text[match.end() : text.index("\n}", match.end())] for match in DEFINITION.finditer(text)}
    found = []
    for show in (name for name in bodies if name.endswith("_show")):
        seen, left = set(), [show]
        while left:
            name = left.pop()
            seen.add(name)
            if CHANGE.search(bodies[name]):
                found.append((show, name))
            left += [called for called in re.findall(r"\b(\w+)\(", bodies[name]) if called in bodies and called not in seen]
    return sorted(set(found))


def sources():
    """{name: text} of the driver."""
    return {path.name: path.read_text() for path in sorted(DRIVER.glob("litepulse*.[ch]"))}


def test_no_file_calls_upwards():
    texts = sources()
    layers = order(texts["litepulse.h"])
    assert len(layers) == len(set(layers)) > 10 and {part(name) for name in texts} >= set(layers)
    assert not upward(layers, texts)


def test_every_file_has_a_layer():
    texts = sources()
    layers = order(texts["litepulse.h"])
    strangers = [name for name in texts if part(name) not in BELOW_ALL | {"test"} and module(part(name), layers) is None]
    assert not strangers


@pytest.mark.parametrize("name", [name for name in sources() if name.endswith(".c") and part(name) not in NAMED_OTHERWISE])
def test_names_begin_with_their_files(name):
    text = sources()[name]
    assert functions(code(text)), "none found"
    assert not misnamed(name, text)


LAYERS = ["time", BOARD, "tty", "core"]


@pytest.mark.parametrize(
    "name, text, wrong",
    [
        ("litepulse_board.c", "void litepulse_board_f(void)\n{\n\tlitepulse_tty_add(1);\n}", ["litepulse_tty_add"]),
        ("litepulse_board.c", "static struct ops o = { .f = litepulse_tty_add };", ["litepulse_tty_add"]),
        ("litepulse_board.c", "int i = litepulse_tty_ops.a;", ["litepulse_tty_ops"]),
        ("litepulse_board.c", '#include "litepulse_tty.h"\n', ["tty"]),
        ("litepulse.h", '#include "litepulse_core.h"\n', ["core"]),
        ("litepulse_lin_net.c", '#include "litepulse_tty.h"\n', ["tty"]),
        ("litepulse_uartbone_io.c", '#include "litepulse_tty.h"\n', ["tty"]),
        ("litepulse_lin_net.c", '#include "litepulse_lin.h"\n#include "litepulse_consumer.h"\n', []),
        ("litepulse_board.c", '/* litepulse_tty_add(): */\n#include "litepulse_regs.h"\nchar *s = "litepulse_tty_add";', []),
        ("litepulse_core.c", '#include "litepulse_tty.h"\nint f(void)\n{\n\treturn litepulse_tty_add(1);\n}', []),
    ],
)
def test_a_wrong_call_is_noticed(name, text, wrong):
    tty = "const struct ops litepulse_tty_ops = {\n};\n\nint litepulse_tty_add(int a)\n{\n\treturn a;\n}\n"
    texts = {"litepulse_lin.h": "", "litepulse_consumer.h": "", "litepulse_tty.c": tty, name: text}
    assert upward(LAYERS, texts) == [(name, other) for other in wrong]


@pytest.mark.parametrize(
    "text, wrong",
    [
        ("static int f(int a)\n{\n\treturn a;\n}", ["f"]),
        ("static struct step *litepulse_tt_y(struct a *b,\n\t\t\t\t  int c)\n{\n}", ["litepulse_tt_y"]),
        ("struct step {\n\tint a;\n};", ["step"]),
        ("static int role_show(int a)\n{\n}\nstatic int id_show(int a)\n{\n}\nstatic DEVICE_ATTR_RO(role);", ["id_show"]),
        ("static const struct a *\nlitepulse_tty_f(int b)\n{\n\tif (b)\n\t\tg(b);\n}\nstruct litepulse_tty {\n};", []),
    ],
)
def test_a_wrong_name_is_noticed(text, wrong):
    assert misnamed("litepulse_tty.c", text) == wrong


def test_reading_an_attribute_changes_nothing():
    """A read may come at any moment, from any user, also between the steps of a set-up."""
    texts = [text for name, text in sources().items() if name.endswith(".c") and part(name) != "test"]
    shows = [name for text in texts for name in functions(code(text)) if name.endswith("_show")]
    assert len(shows) > 10 and not changed_by_reading(texts)


@pytest.mark.parametrize(
    "line, wrong",
    [
        ("lin->period = 1;", True),
        ("lin->can.bittiming.bitrate = 1;", True),
        ("lin->responses[id(attr)].cached |= 1;", True),
        ("++lin->count;", True),
        ("lin->count++;", True),
        ("WRITE_ONCE(lin->phc, true);", True),
        ("if (lin->period == 1 || lin->period <= 2)\n\t\tperiod = lin->period;", False),
    ],
)
def test_a_show_that_changes_something_is_noticed(line, wrong):
    text = f"u64 space(struct lin *lin)\n{{\n\t{line}\n\treturn 0;\n}}\n\nstatic ssize_t a_show(int a)\n{{\n\treturn space(of(a));\n}}\n"
    assert changed_by_reading([text]) == ([("a_show", "space")] if wrong else [])
