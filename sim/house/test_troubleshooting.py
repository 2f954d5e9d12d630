# SPDX-License-Identifier: BSD-2-Clause
"""docs/troubleshooting.md quotes messages that exist: each is compared with the strings of the sources that print them."""

import ast
import re

import pytest

from sim.cocotb_rig import ROOT

PAGE = ROOT / "docs" / "troubleshooting.md"
GAP = "\0"  # where a source puts something in
# Of shell: $name, ${name...}, $(command); of C: %s and the like.
SHELL = re.compile(r"\$\{[^}]*\}|\$\w+|\$\([^)]*\)")
FORMAT = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?(?:hh?|ll?|z)?[a-zA-Z]+")
C_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*')


def python_strings(text):
    """The strings of a Python source, with GAP for what is put in; no docstrings."""
    tree = ast.parse(text)
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if id(node) in docs:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else GAP for part in node.values)


def c_strings(text):
    """The strings of a C source, likewise."""
    for found in C_STRING.findall(text):
        yield FORMAT.sub(GAP, re.sub(r'"\s*"', "", found)[1:-1])


def strings():
    """All strings that a user may see."""
    found = []
    for folder in ("sw/litepulse", "litex_soc"):
        for path in (ROOT / folder).rglob("*.py"):
            found += python_strings(path.read_text())
    for path in (ROOT / "driver").glob("*.c"):
        found += c_strings(path.read_text())
    for name in ("scripts/setup.sh", "driver/install.sh"):
        found += [SHELL.sub(GAP, line) for line in (ROOT / name).read_text().splitlines() if not line.lstrip().startswith("#")]
    return found


def quoted(text):
    """The messages in the first column of the tables."""
    rows = re.findall(r"(?m)^\| (.+?) \| .+ \|$", text)
    return [message for cell in rows if cell != "you see" for message in re.findall(r"`([^`]+)`", cell)]


def pattern(message):
    """What a source's string has to hold: the words of a message, with something put in where it says `…`."""
    return re.compile(".+?".join(re.escape(part) for part in message.strip("… :").split("…")), re.DOTALL)


@pytest.fixture(scope="module")
def sources():
    return strings()


def test_messages_exist(sources):
    messages = quoted(PAGE.read_text())
    assert len(messages) > 50
    unknown = [message for message in messages if not any(pattern(message).search(text) for text in sources)]
    assert not unknown, "no source prints this: " + "; ".join(unknown)


def test_every_row_quotes_a_message():
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("|") and not set(line) <= set("|-")]
    assert all(line.startswith(("| `", "| you see |")) and line.count(" | ") == 2 for line in rows)


@pytest.mark.parametrize(
    "message, text, there",
    [
        ("…: cannot open the port (…)", f"{GAP}: cannot open the port ({GAP})", True),
        ("…: cannot open a port (…)", f"{GAP}: cannot open the port ({GAP})", False),
        ("version …, this program", f"the core is version {GAP}.{GAP}, this program drives", True),
        ("version …, this driver", f"the core is version {GAP}.{GAP}, this program drives", False),
        ("no such board", "a board", False),
    ],
)
def test_a_wrong_message_is_noticed(message, text, there):
    assert bool(pattern(message).search(text)) == there


def test_strings_are_read():
    assert next(python_strings('x = f"a {b} c" "d"')) == f"a {GAP} cd"
    assert not list(python_strings('"""a"""'))
    assert list(c_strings('dev_err(d, "%s: no "\n\t"answer %#x\\n", x);')) == [f"{GAP}: no answer {GAP}\\n"]
