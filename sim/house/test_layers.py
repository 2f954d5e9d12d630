# SPDX-License-Identifier: BSD-2-Clause
"""The layers of the Python package, by what its files import: commands, library, backends, each knows only the one below.

And the kinds of test, the folders of sim/: none imports from another one.
"""

import ast
import re
import subprocess
import sys

import pytest

from sim.cocotb_rig import ROOT, SIM

PACKAGE = ROOT / "sw" / "litepulse"
# What all layers share: words, numbers and records. It knows none of them.
MODEL = {"errors", "limits", "units", "line", "streams", "columns", "layout", "regs", "measurement", "compatibility"}
# What the kernel shows of ports and boards, who is plugged in where; and its clock. Also below the backends.
HOST = {"ports", "attached", "usb_boards", "flash_boards", "boottime"}
# Entry points, which wire the layers; `demo` is a program of its own, and pytest begins its plugin.
TOP = {"cli", "entry", "__main__", "demo", "pytest_plugin"}


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
                if alias.name == "__version__":  # a text that the package has before it imports anything
                    continue
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


# The parts of a backend: a file knows only files that stand before it here, so that each can be read, and extended, by itself.
PARTS = {
    "bus": "identification registers session record_stream recorder responder line train queue backend".split(),
    "driver": "device line_use claim tty recorder responder line train queue backend".split(),
}


@pytest.mark.parametrize("backend", PARTS)
def test_the_parts_of_a_backend_know_only_those_before(backend):
    folder, known = PACKAGE / "backends" / backend, modules()
    assert {path.stem for path in folder.glob("*.py")} == {"__init__", *PARTS[backend]}
    for place, name in enumerate(PARTS[backend]):
        used = {
            each.split(".")[2] for each in imports((folder / f"{name}.py").read_text(), known) if each.startswith(f"backends.{backend}.")
        }
        assert used <= set(PARTS[backend][:place]), (name, used)


def engines(text):
    """What a file uses that lies below a board's methods and the jobs that they begin: the backend, what feeds a job."""
    attributes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Attribute) and node.attr == "backend"]
    used = {f"{node.value.id}.backend" for node in attributes if isinstance(node.value, ast.Name)} - {"identity.backend"}
    return used | {name for line in re.findall(r"import (.*)", text) for name in re.findall(r"\w+Run\b", line)}


@pytest.mark.parametrize("name", [name for name in modules() if layer(name) == 3 or name == "demo"])
def test_a_command_calls_the_board_and_shows_the_job(name):
    """As every program does, so that the API can do what the command can. `certify` has procedures of its own."""
    assert not engines(modules()[name].read_text()) or name == "commands.certify"


@pytest.mark.parametrize(
    "text, used",
    [
        ("from litepulse.launch import Send, SendRun\n", {"SendRun"}),
        ("def f(board):\n    board.backend.stop_all()\n", {"board.backend"}),
        ("def f(board, identity):\n    return board.identity.backend, identity.backend\n", set()),
    ],
)
def test_an_engine_in_a_command_is_noticed(text, used):
    assert engines(text) == used


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
        ("commands.info", "import litepulse\nfrom litepulse.train import Train\n", []),
    ],
)
def test_a_wrong_import_is_noticed(name, text, wrong):
    assert faults(name, text, modules()) == wrong


@pytest.mark.parametrize("words", [["--version"], ["--help"]])
def test_what_only_talks_loads_no_backend(words):
    """Nothing that reaches for a board, for another process or for numbers in arrays, so that a shell's question is answered at once."""
    code = (
        f"import sys\nfrom litepulse.entry import main\ntry:\n    main({words!r})\nexcept SystemExit:\n    pass\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=PACKAGE.parent)
    loaded = set(ran.stderr.split())
    heavy = {"numpy", "serial", "rich", "socket", "subprocess", "tempfile", "difflib", "litepulse.board", "litepulse.latency"}
    assert "litepulse.commands.arguments" in loaded and ran.stdout
    assert not loaded & heavy and not {name for name in loaded if name.startswith("litepulse.backends")}


KINDS = {path.parent.name for path in SIM.glob("*/test_*.py")}
CORE_MODEL = "core.model"  # of the core: the documents name it, every kind may judge by it
ALLOWED = {
    "netlist": {"core.bench", "core.environment", "core.test_core"},  # the core's benches, on what synthesis makes of it
    "pc": {"linux.test_chardev", "linux.test_ptp", "linux.test_tty"},  # the same tests on other guests, see pc/test_shared.py
}


def of_other_kinds(kind, text):
    """Modules of other kinds of test that a file imports, below `sim`."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    parts = [name.split(".") for name in found if name.startswith("sim.")]
    return {".".join(names[1:3]) for names in parts if names[1] in KINDS - {kind}} - {CORE_MODEL}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_no_kind_of_test_imports_from_another(kind):
    assert set().union(*(of_other_kinds(kind, path.read_text()) for path in (SIM / kind).rglob("*.py"))) == ALLOWED.get(kind, set())


def test_what_kinds_share_imports_from_none():
    shared = [*SIM.glob("*.py"), *SIM.glob("guest/*.py")]
    assert not {path.name: found for path in shared if (found := of_other_kinds("", path.read_text()))}


def test_only_tests_of_the_lab_import_it():
    importing = {str(path.relative_to(SIM)) for path in SIM.rglob("*.py") if re.search(r"(?m)^\s*(from|import) lab\b", path.read_text())}
    assert importing == {"core/test_coverage.py", "house/test_fuzz.py"}


@pytest.mark.parametrize(
    "text, found",
    [
        ("from sim.driver import uml\n", {"driver.uml"}),
        ("def f():\n    import sim.linux.kernel\n", {"linux.kernel"}),
        ("from sim.pc import wire\nfrom sim.core.model import edges\nfrom sim.guest import pins\nfrom sim import series\n", set()),
    ],
)
def test_an_import_from_another_kind_is_noticed(text, found):
    assert of_other_kinds("pc", text) == found
