# SPDX-License-Identifier: BSD-2-Clause
"""What a source file means to its compiler: its tokens, without comments and the amount of white space between them.

    tokens("litepulse_train.sv", data)      bytes that stay the same when only comments, blank lines or indentation change

Keys of the cache are made from this. Two rules keep it safe:

- White space between tokens becomes one space or, where a line's end ends a directive, one line's end. It never disappears, so no two
  tokens become one.
- A file with something that this module does not understand, or whose line numbers count (`__LINE__`), is taken byte for byte.

Comments that a tool obeys stay: `verilator lint_off`, `synthesis translate_off`, the `fall through` of a C compiler. Of Python, `#!` stays.
A complaint of a program that was kept may name a line that has moved since.

This module imports nothing of the project, so that every part of it can use it.
"""

from __future__ import annotations

import functools
import io
import re
import tokenize
from dataclasses import dataclass
from pathlib import PurePath


@dataclass(frozen=True)
class Language:
    """How a family of languages is cut into comments, white space and code."""

    token: re.Pattern[bytes]  # with the groups comment, space, code
    directive: bytes  # what a line contains whose end matters
    obeyed: re.Pattern[bytes]  # a comment that is code to a tool
    unknown: re.Pattern[bytes]  # what is in a file that is taken byte for byte
    splices: bool  # whether a backslash at the end of a line joins it with the next, wherever it is
    comment_ends_lines: bool  # whether a block comment's line ends may end a directive

    def tokens(self, data: bytes) -> bytes:
        """The tokens of a source, with single separators."""
        if self.unknown.search(data):
            return data
        if self.splices:
            data = re.sub(rb"\\\r?\n", b"", data)
        out: list[bytes] = []
        gap, directive = b"", False
        for match in self.token.finditer(data):
            kind, text = match.lastgroup, match[0]
            line_end = b"\n" in text
            if kind == "space":
                gap = b"\n" if gap == b"\n" or (directive and line_end) else b" "
                if line_end:
                    directive = directive and bool(out) and out[-1].endswith(b"\\")
                continue
            if kind == "comment":
                if text.rstrip().endswith(b"\\"):
                    return data  # does the macro go on?
                gap = gap or b" "
                if not self.obeyed.match(text) and not (self.comment_ends_lines and directive and line_end):
                    continue
            if gap and out:
                out.append(gap)
            out.append(text)
            gap = b"\n" if kind == "comment" and text.startswith(b"//") else b""
            directive = directive or self.directive in text
        return b"".join(out)


STRING = rb'"(?:\\.|[^"\\\n])*"'
COMMENT = rb"(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<space>\s+)"
VERILOG = Language(
    # An escaped identifier, which may contain anything, ends at white space.
    re.compile(COMMENT + rb"|(?P<code>" + STRING + rb'|\\\S+|[^\s"/\\]+|.)', re.DOTALL),
    b"`",
    re.compile(rb"/[/*]\W*(verilator|synopsys|synthesis|pragma|yosys|cadence|exemplar|xilinx|altera|lint)\b", re.IGNORECASE),
    # Quotes of macros, and strings of several lines.
    re.compile(rb'__LINE__|__FILE__|`"|`\\`|"""'),
    splices=False,
    comment_ends_lines=True,
)
C = Language(
    re.compile(
        COMMENT + rb"|(?P<code>" + STRING + rb"|'(?:\\.|[^'\\\n])+'|[A-Za-z_$]\w*|\.?\d(?:[eEpP][+-]|'\w|[\w.])*|[^\s\w\"'/]+|.)", re.DOTALL
    ),
    b"#",
    re.compile(rb"/[/*].*fall(s)?[ \t-]*thr(ough|u)", re.IGNORECASE | re.DOTALL),
    re.compile(rb'__LINE__|__FILE__|__COUNTER__|source_location|(?<!\w)(?:u8|[uUL])?R"|\?\?/'),
    splices=True,
    comment_ends_lines=False,
)
LANGUAGES = {**dict.fromkeys((".sv", ".svh", ".v", ".vh"), VERILOG), **dict.fromkeys((".c", ".h", ".cc", ".cpp", ".hpp"), C)}
# Since Python 3.12 an f-string is several tokens, and white space between these may be printed: f"{x = }".
STARTS = {number for number, name in tokenize.tok_name.items() if name in ("FSTRING_START", "TSTRING_START")}
ENDS = {number for number, name in tokenize.tok_name.items() if name in ("FSTRING_END", "TSTRING_END")}


def between(lines: list[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    """The text between two places, (line from 1, column from 0)."""
    part = lines[start[0] - 1 : end[0]]
    part[-1] = part[-1][: end[1]]
    part[0] = part[0][start[1] :]
    return "".join(part)


def python_tokens(data: bytes) -> bytes:
    """The tokens of a Python source, a line each; `data` if it is none."""
    out: list[str] = []
    start: list[tuple[int, int]] = []  # of the f-strings that are open
    lines: list[str] = []
    try:
        for token in tokenize.tokenize(io.BytesIO(data).readline):
            kind, text = token.type, token.string
            if kind == tokenize.ENCODING:
                lines = list(io.TextIOWrapper(io.BytesIO(data), text))
            if kind in STARTS:
                start.append(token.start)
            if start:
                if kind not in ENDS:
                    continue
                begin = start.pop()
                if start:
                    continue
                kind, text = tokenize.STRING, between(lines, begin, token.end)
            if kind == tokenize.NL or (kind == tokenize.COMMENT and not (token.start == (1, 0) and text.startswith("#!"))):
                continue
            if kind in (tokenize.INDENT, tokenize.DEDENT, tokenize.NEWLINE):
                text = f" {tokenize.tok_name[kind]}"  # no other token begins with a space
            out.append(f"{text}\n")
    except (SyntaxError, tokenize.TokenError, UnicodeDecodeError):
        return data
    return "".join(out).encode()


@functools.lru_cache(maxsize=1024)
def _tokens(suffix: str, data: bytes) -> bytes:
    return python_tokens(data) if suffix == ".py" else LANGUAGES[suffix].tokens(data)


def tokens(name: str, data: bytes) -> bytes:
    """What the file of this name, with these bytes, means; `data` itself if its language is not known here."""
    suffix = PurePath(name).suffix
    return _tokens(suffix, data) if suffix == ".py" or suffix in LANGUAGES else data
