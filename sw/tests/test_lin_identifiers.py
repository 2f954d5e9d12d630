# SPDX-License-Identifier: BSD-2-Clause
"""Identifiers and addresses of LIN are hexadecimal in every text: messages, rows, representations, keys. Values of JSON are numbers."""

import ast
import json
import re
from fractions import Fraction
from pathlib import Path

import pytest

from litepulse import cli, lin
from litepulse.errors import BadInput
from litepulse.lin.configuration import checked_identifiers

from .lin_pins import header_edges, pid_of, response_edges, response_of, stimulus
from .test_lin_networks import file_of
from .test_sim import HZ

ROOT = Path(__file__).resolve().parents[2]
BIT, START = Fraction(HZ, 19200), 1_000_000
FRAME_ID, PID = 0x2A, pid_of(0x2A)
# Names of what holds an identifier or an address.
HELD = {"frame_id", "pid", "nad", "identifier", "lin_entries"}


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: lin.protected_id(66), "id: 0x42 is outside 0x00 to 0x3f"),
        (lambda: lin.protected_id(-1), "id: -0x1 is outside 0x00 to 0x3f"),
        (lambda: lin.Injection(66).bytes, "id: 0x42 is outside 0x00 to 0x3f"),
        (lambda: lin.segments(266, b"\x3e"), "nad: 0x10a is outside 0x00 to 0xff"),
        (lambda: checked_identifiers({42: b""}), "identifier 0x2a: 0 bytes"),
        (lambda: checked_identifiers({17: b"1"}), "identifier 0x11 is not 0x01 (serial number) or 0x20 to 0x3f,"),
    ],
)
def test_errors_in_python(call, text):
    with pytest.raises(BadInput) as caught:
        call()
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize(
    "words, text",
    [
        ("header --id 66", "id: 0x42 is outside 0x00 to 0x3f"),
        ("inject --id -1", "id: -0x1 is outside 0x00 to 0x3f"),
        ("slave {mixed} --node New --for 1ms --checksum 42=1", "checksum: New does not answer identifier 0x2a"),
        ("slave {mixed} --node New --for 1ms --checksum 17=1 --checksum 17=2", "checksum: 0x11 is given twice"),
        ("slave {mixed} --node New --for 1ms --identifier 17=01", "identifier 0x11 is not 0x01 (serial number) or 0x20 to 0x3f,"),
        ("slave {mixed} --node New --for 1ms --identifier 42=01 --identifier 42=02", "identifier: 0x2a is given twice"),
    ],
)
def test_messages_of_the_command(words, text, capsys):
    assert cli.main(["--sim", "lin", *words.format(mixed=file_of("mixed")).split()]) == 2
    assert capsys.readouterr().err.startswith(f"litepulse: {text}")


def texts(value):
    """All keys and texts of a result."""
    if isinstance(value, dict):
        return [text for key, one in value.items() for text in (key, *texts(one))]
    if isinstance(value, list):
        return [text for one in value for text in texts(one)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize("style", [None, "csv", "vnl", "json"])
def test_rows(style, tmp_path, capsys):
    """A frame of the monitor, in each form."""
    edges = [*header_edges(START, FRAME_ID, BIT), *response_edges(START, response_of(b"\x07", FRAME_ID, "classic"), BIT)]
    file = stimulus(tmp_path / "nodes", edges)
    form = [f"--{style}"] if style else []
    words = ["--sim", "--wire", "none", "--stimulus", str(file), "lin", "monitor", "--baud", "19200", "--count", "1", *form]
    assert cli.main(words) == 0
    out = capsys.readouterr().out
    if style == "json":
        result = json.loads(out)
        (frame,) = result["frames"]
        assert (frame["id"], frame["pid"], list(result["spaces"])) == (FRAME_ID, PID, [f"0x{FRAME_ID:02x}"])
        out = "\n".join(texts(result))
    assert f"0x{FRAME_ID:02x}" in out and (style in (None, "json") or f"0x{PID:02x}" in out)
    assert not re.search(rf"(?<![\w.,])({FRAME_ID}|{PID})(?![\w.])", out), out


@pytest.mark.parametrize(
    "what, text",
    [
        (
            lin.Frame(5, pid=PID, frame_id=FRAME_ID, checksum=17),
            "Frame(tick=5, pid=0x6a, frame_id=0x2a, name='', data=b'', checksum=0x11, ",
        ),
        (lin.Frame(5), "Frame(tick=5, pid=None, frame_id=None, name='', data=b'', checksum=None, "),
        (lin.Injection(FRAME_ID, b"\x07"), "Injection(frame_id=0x2a, data=b'\\x07', model='enhanced', break_bits=13, sync=0x55, "),
        (lin.Description(file_of("mixed")).network.frames["NewIs"], "Unconditional(name='NewIs', frame_id=0x08, "),
        (lin.Description(file_of("event")).network.events["AnyKey"], "Event(name='AnyKey', frame_id=0x16, "),
        (lin.Description(file_of("diagnostics")).network.slaves["Motor"], "Node(name='Motor', "),
    ],
)
def test_representations(what, text):
    assert repr(what).startswith(text) and str(what) == repr(what)
    assert not re.search(r"(frame_id|pid|nad)=\d+\b(?<!x)[,)]", repr(what).replace("0x", "x")), repr(what)


def test_no_text_in_the_sources_has_them_in_decimal():
    """Neither an f-string of the package, nor a message of the driver."""
    found = []
    for path in sorted((ROOT / "sw" / "litepulse").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FormattedValue) and node.format_spec is None and isinstance(node.value, ast.Name | ast.Attribute):
                name = node.value.id if isinstance(node.value, ast.Name) else node.value.attr
                if name in HELD:
                    found.append(f"{path.relative_to(ROOT)}:{node.lineno}: {name}")
    for path in sorted((ROOT / "driver").glob("litepulse_lin*.c")):
        for text in re.findall(r'"[^"\n]*\b(?:identifier|NAD|PID)\b[^"\n]*"', path.read_text("utf-8")):
            found += [f"{path.name}: {text}" for form in re.findall(r"(?:0x)?%\w+", text) if form not in ("0x%02x", "%s")]
    assert found == []
