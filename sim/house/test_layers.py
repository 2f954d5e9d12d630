# SPDX-License-Identifier: BSD-2-Clause
"""The layers of the Python package, by what its files import: commands, library, backends, each knows only the one below."""

import ast

import pytest

from sim.cocotb_rig import ROOT

PACKAGE = ROOT / "sw" / "litepulse"
# What all layers share: words, numbers and records. It knows none of them.
MODEL = {"errors", "units", "line", "streams", "layout", "regs", "measurement"}
# Who is plugged in where: what the kernel shows of ports and boards. Also below the backends.
HOST = {"ports", "attached", "usb_boards"}
# Entry points, which wire the layers; `demo` is a program of its own.
TOP = {"cli", "entry", "__main__", "demo"}


def layer(name):
    """Of a module, by its name below the package: 0 model and host, 1 backends, 2 library, 3 commands, 4 entry points."""
    first = name.split(".")[0]
    if first in MODEL | HOST:
        return 0
    if first == "backends":
        return 1
    return 3 if first == "commands" else 4 if first in TOP else 2


def modules():
    """{name below the package: path}."""
    return {str(path.relative_to(PACKAGE).with_suffix("")).replace("/", "."): path for path in sorted(PACKAGE.rglob("*.py"))}


def imports(text, known):
    """Names below the package that a file imports, also within functions."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "litepulse":
            base = node.module.removeprefix("litepulse").lstrip(".")
            for alias in node.names:
                whole = f"{base}.{alias.name}".lstrip(".")
                found.add(whole if whole in known or f"{whole}.__init__" in known else base or "__init__")
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "litepulse":
                    found.add(alias.name.removeprefix("litepulse").lstrip(".") or "__init__")
    return found


def faults(name, text, known):
    """Imports that a layer must not have."""
    mine = layer(name)
    return sorted(other for other in imports(text, known) if layer(other) > mine)


@pytest.mark.parametrize("name", modules())
def test_a_layer_knows_only_those_below(name):
    known = modules()
    assert not faults(name, known[name].read_text(), known)


@pytest.mark.parametrize("name", [name for name in modules() if layer(name) == 3])
def test_no_command_speaks_to_a_particular_backend(name):
    """They may ask which backends there are; what one of them does is the library's business. Ports belong to the verbs about ports."""
    used = {each for each in imports(modules()[name].read_text(), modules()) if each.startswith("backends.")}
    about_ports = {"commands.attach", "commands.cable"}
    assert used <= ({"backends.uartbone"} if name in about_ports else set()), used


@pytest.mark.parametrize("name", [name for name in modules() if layer(name) in (1, 2) and not name.endswith("__init__")])
def test_nothing_below_the_commands_reads_what_a_person_typed(name):
    """Arguments of a command line; the API takes text where a program writes it, through units.to_...() alone."""
    text = modules()[name].read_text()
    parsers = {"parse_rate", "parse_duration", "parse_byte", "parse_count"}
    names = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    assert not names & parsers and "argparse" not in imports_of_others(text)


def imports_of_others(text):
    """Top names of what a file imports."""
    return {alias.name.split(".")[0] for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import) for alias in node.names}


@pytest.mark.parametrize(
    "name, text, wrong",
    [
        ("backends.driver", "from litepulse.train import Train\n", ["train"]),
        ("backends.driver", "def f():\n    from litepulse import board\n", ["board"]),
        ("train", "from litepulse.commands.report import headline\n", ["commands.report"]),
        ("units", "import litepulse.backends.driver\n", ["backends.driver"]),
        ("train", "from litepulse.backends.interface import Backend\nfrom litepulse import units\n", []),
        ("commands.info", "import litepulse\nfrom litepulse.train import TrainRun\n", []),
    ],
)
def test_a_wrong_import_is_noticed(name, text, wrong):
    assert faults(name, text, modules()) == wrong
