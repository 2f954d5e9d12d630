# SPDX-License-Identifier: BSD-2-Clause
"""The layers of each module, as the comment at the top of its header has them; and names by which a
function's file is known."""

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
# Those of the cable are named by what each is about: functions and structures begin with this instead.
PREFIXES = {
    "litepulse_uartbone_line.c": "litepulse_line",
    "litepulse_uartbone_bus.c": "litepulse_bus",
    "litepulse_uartbone_io.c": "litepulse_link",
    "litepulse_uartbone_ldisc.c": "litepulse_ldisc",
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
    """Parts of a module, bottom up."""
    comment = re.split(r"Layers of litepulse\w*\.ko, bottom up", header, maxsplit=1)[1].split("*/", 1)[0]
    return [name for line in re.findall(r"^ \* {3}([a-z_ ]+)\t", comment, re.MULTILINE) for name in line.split()]


def all_layers(texts):
    """{module, '' is litepulse.ko: its parts, bottom up}."""
    return {whose: order(texts[f"litepulse_{whose}.h" if whose else "litepulse.h"]) for whose in ("", *OTHERS)}


def module(name, layers):
    """'' of litepulse.ko, else a key of OTHERS."""
    return next((other for other in OTHERS if name.split("_")[0] == other), "" if name in layers else None)


def functions(text):
    """{name: whether it is static}."""
    return {match[2]: "static" in match[1].split() for match in DEFINITION.finditer(text)}


def upward(modules, sources):
    """What files include or name of a later layer of their module, or include of litepulse.ko and must not: (file, what)."""
    texts = {name: code(text) for name, text in sources.items()}
    found = [each for whose, layers in modules.items() for each in upward_within(whose, layers, texts)]
    for name, text in texts.items():
        if part(name) not in BELOW_ALL and (whose := module(part(name), modules[""])):
            included = {other or BOARD for other in INCLUDE.findall(text)} - BELOW_ALL
            found += [(name, other) for other in included if other not in OTHERS[whose] and module(other, modules[""]) != whose]
    return sorted(found)


def upward_within(whose, layers, texts):
    """What files of one module, '' is litepulse.ko, include or name of a later layer of it: (file, what)."""
    found, place, owner = [], {name: number for number, name in enumerate(layers)}, {}
    for name, text in texts.items():
        if name.endswith(".c") and part(name) in place:
            made = [function for function, static in functions(text).items() if not static]
            owner |= dict.fromkeys([*made, *VARIABLE.findall(text)], part(name))
    for name, text in texts.items():
        mine = part(name)
        included = {other or BOARD for other in INCLUDE.findall(text)} - BELOW_ALL
        if mine in place:
            # litepulse.ko includes headers of its layers only; another module also its common one, and those of litepulse.ko.
            found += [(name, other) for other in included if place.get(other, -1 if whose else len(place)) > place[mine]]
            named = set(re.findall(r"\blitepulse_\w+", text)) if name.endswith(".c") else set()
            found += [(name, other) for other in named if place[owner.get(other, mine)] > place[mine]]
    return found


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
    modules = all_layers(texts)
    layers = modules[""]
    assert len(layers) == len(set(layers)) > 10 and {part(name) for name in texts} >= set(layers)
    assert not upward(modules, texts)


def test_every_file_has_a_layer():
    texts = sources()
    modules = all_layers(texts)
    strangers = [name for name in texts if part(name) not in BELOW_ALL | {"test"} and module(part(name), modules[""]) is None]
    assert not strangers
    for whose in OTHERS:
        files = [part(name) for name in texts if name.endswith(".c") and module(part(name), modules[""]) == whose]
        assert len(files) > 3 and sorted(files) == sorted(modules[whose])


@pytest.mark.parametrize("name", [name for name in sources() if name.endswith(".c") and part(name) not in NAMED_OTHERWISE])
def test_names_begin_with_their_files(name):
    text = sources()[name]
    assert functions(code(text)), "none found"
    assert not misnamed(name, text)


LAYERS = {"": ["time", BOARD, "tty", "core"], "lin": ["lin_queue", "lin_net"], "uartbone": ["uartbone_line", "uartbone_io"]}


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
        ("litepulse_uartbone_line.c", "int litepulse_line_f(void)\n{\n\treturn litepulse_link_g(1);\n}", ["litepulse_link_g"]),
        ("litepulse_lin_queue.c", '#include "litepulse_lin_net.h"\n', ["lin_net"]),
        ("litepulse_uartbone_io.c", '#include "litepulse_uartbone.h"\n#include "litepulse.h"\nint i = litepulse_line_f(1);', []),
        ("litepulse_lin_net.c", '#include "litepulse_lin.h"\n#include "litepulse_consumer.h"\n', []),
        ("litepulse_board.c", '/* litepulse_tty_add(): */\n#include "litepulse_regs.h"\nchar *s = "litepulse_tty_add";', []),
        ("litepulse_core.c", '#include "litepulse_tty.h"\nint f(void)\n{\n\treturn litepulse_tty_add(1);\n}', []),
    ],
)
def test_a_wrong_call_is_noticed(name, text, wrong):
    tty = "const struct ops litepulse_tty_ops = {\n};\n\nint litepulse_tty_add(int a)\n{\n\treturn a;\n}\n"
    line, link = (f"int litepulse_{made}(int a)\n{{\n\treturn a;\n}}\n" for made in ("line_f", "link_g"))
    texts = {"litepulse_lin.h": "", "litepulse_consumer.h": "", "litepulse_tty.c": tty}
    texts |= {"litepulse_uartbone_line.c": line, "litepulse_uartbone_io.c": link, name: text}
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
