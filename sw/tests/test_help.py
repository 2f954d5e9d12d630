# SPDX-License-Identifier: BSD-2-Clause
"""Help in narrow and wide terminals: a verb's own options come first, and no line is wider than the
terminal."""

import re
import shlex

import pytest

from litepulse import cli, output
from litepulse.commands.arguments import fitted, join_negatives

from .test_unix import VERBS


def help_of(verb, capsys):
    with pytest.raises(SystemExit) as end:
        cli.make_parser().parse([*verb.split(), "--help"])
    assert end.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("columns", [40, 80, 120])
@pytest.mark.parametrize("verb", ["", *VERBS])
def test_help_fits_the_terminal(verb, columns, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    text = help_of(verb, capsys)
    usage, rest = text.split("\n\n", 1)
    wide = [line for line in (text if columns > 40 else rest).splitlines() if len(line) > columns and " " in line.strip()]
    assert wide == [] and usage.startswith("usage: litepulse")
    groups = re.findall(r"(?m)^(\S[^\n]*):$", rest)
    assert verb in ("", "plot", "completion", "flash", "lin header") or groups[-2:] == ["device", "examples"], groups


@pytest.mark.parametrize("columns", [40, 80])
@pytest.mark.parametrize("verb", ["", *VERBS])
def test_a_long_word_is_broken_behind_a_comma_or_bar(verb, columns, capsys, monkeypatch):
    """Whoever copies `dma[=US]` from a line needs all of it there."""
    texts: list[str] = []
    for width in (500, columns):
        monkeypatch.setenv("COLUMNS", str(width))
        texts.append(help_of(verb, capsys).split("\n\n", 1)[1])
    wide, narrow = texts
    pieces = set(narrow.split()) - set(wide.split()) - {"\\"}
    assert [piece for piece in pieces if piece[-1] not in ",|-" and not re.search("[,|-]" + re.escape(piece), wide)] == []


def test_an_example_that_is_folded_means_the_same():
    line = "  litepulse --sim --stimulus edges.txt capture --inputs 0 --count 3 --on 'edge:0: rise'"
    folded = fitted(line, 40)
    assert len(folded) > 2 and all(len(each) <= 40 for each in folded) and all(each.endswith(" \\") for each in folded[:-1])
    assert shlex.split("\n".join(folded).replace("\\\n", " ")) == shlex.split(line)
    assert fitted("  litepulse attach          the board that is plugged in, whichever it is", 40) == [
        "  litepulse attach",
        "      the board that is plugged in,",
        "      whichever it is",
    ]


def test_rows_fit_forty_columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    lines = output.aligned(
        [("loopback", "received − launched in ticks: 1 for each (a wire gives 1)"), ("a longer name", "one two three " * 9)]
    )
    assert max(map(len, lines)) <= 40


def test_the_command_alone_shows_its_help(capsys):
    with pytest.raises(SystemExit) as end:
        cli.main([])
    assert end.value.code == 0 and "usage: litepulse" in capsys.readouterr().out
    assert join_negatives([]) == []


@pytest.mark.parametrize(
    "words, message",
    [
        (["train", "--rate", "58", "--width", "10uS"], "width: '10uS' is not a number; units are s, ms, us, ns, and t for ticks"),
        (["train", "--period", "1d"], "period: '1d' is not a number; units are s, ms, us, ns, and t for ticks"),
        (["train", "--period", "soon"], "period: 'soon' is not a number"),
        (["--port", "/dev/null", "info"], "/dev/null: cannot open the port (it is not a serial port)"),
        (["--device", "/dev/tty", "info"], "/dev/tty: "),
    ],
)
def test_messages(words, message, capsys):
    assert cli.main(words) == 2
    errors = capsys.readouterr().err
    assert errors.startswith(f"litepulse: {message}") and errors.count("\n") == 1
    assert message.endswith(": ") or errors == f"litepulse: {message}\n"
