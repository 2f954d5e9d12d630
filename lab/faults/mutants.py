# SPDX-License-Identifier: BSD-2-Clause
"""Mutants of a SystemVerilog file: small changes of the kind that people make, one at a time.

    for mutant in mutants(text): ...        all of them, in the order of the text
    mutant.apply(text)                      the file with it
    str(mutant)                             && -> ||: state == SEND && may

Changed are operators, constants, conditions and whole assignments of the logic. Comments, declarations, ports, parameters and what
`ifdef FORMAL adds stay as they are. The text is read by patterns: a mutant may turn out not to compile.
"""

import re
from collections import Counter
from dataclasses import dataclass

# What an operator becomes. `<=` is a comparison only within parentheses: else it assigns.
SWAPS = {
    "&&": ("||",),
    "||": ("&&",),
    "==": ("!=",),
    "!=": ("==",),
    "<": ("<=",),
    ">": (">=",),
    ">=": (">",),
    "<=": ("<",),
    "+": ("-",),
    "-": ("+",),
    "&": ("|",),
    "|": ("&",),
    "^": ("|",),
    "!": ("",),
    "~": ("",),
}
# The longest first; what is here but not in SWAPS only keeps its parts from being taken for operators.
OPERATOR = re.compile(r"<<<|>>>|===|!==|&&|\|\||==|!=|<<|>>|>=|<=|\+:|-:|->|~\^|[-+&|^!~<>]")
NUMBER = re.compile(r"(?<![\w'])(\d+)'(s?)(d|h|b)([0-9a-fA-F_]+)\b")
CONDITION = re.compile(r"\bif \(")
ASSIGNMENT = re.compile(r"(?<=[\s:])[\w.]+(?:\[[^\[\]]*\])* <= [^;]*;")
# Lines of these are no logic.
DECLARATION = re.compile(
    r"(?m)^[ \t]*(?:(?:input|output|inout|logic|localparam|parameter|typedef|enum|int|genvar|import|state_t)\b|for \(|default:).*$"
)
HIDDEN = re.compile(r"//[^\n]*|/\*.*?\*/|\"[^\"\n]*\"|`ifdef FORMAL\b.*?`endif|`\w+", re.DOTALL)


@dataclass(frozen=True)
class Mutant:
    """text[start:end] becomes `new`; `kind` is operator, constant, condition or assignment."""

    kind: str
    start: int
    end: int
    old: str
    new: str
    line: int
    around: str  # the line's text
    place: int  # among the mutants that look alike, from 1

    def __str__(self):
        """A name that stays when other lines come or go."""
        return f"{self.old} -> {self.new or 'nothing'}: {self.around}" + (f" ({self.place})" if self.place > 1 else "")

    def apply(self, text):
        """The text with it."""
        assert text[self.start : self.end] == self.old, f"{self} is a mutant of another text"
        return text[: self.start] + self.new + text[self.end :]


def blanked(text):
    """The text with spaces in place of all that is no logic."""

    def spaces(match):
        return re.sub(r"[^\n]", " ", match[0])

    text = HIDDEN.sub(spaces, text)
    head = re.search(r"\bmodule\b.*?\);", text, re.DOTALL)  # ports and parameters
    if head:
        text = text[: head.start()] + spaces(head) + text[head.end() :]
    return DECLARATION.sub(spaces, text)


def closing(text, start):
    """Where the parenthesis that opens at `start` closes."""
    depth = 0
    for place in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if not depth:
            return place
    raise ValueError(f"no ) for the ( at {start}")


def others(width, base, digits):
    """The literals that a literal becomes: one more, one less, within its width.

    >>> others(2, "d", "3"), others(1, "b", "0"), others(4, "d", "7")
    (["2'd2"], ["1'b1"], ["4'd8", "4'd6"])
    """
    radix = {"d": 10, "h": 16, "b": 2}[base]
    value = int(digits.replace("_", ""), radix)
    form = {"d": "d", "h": "x", "b": "b"}[base]
    return [f"{width}'{base}{other:{form}}" for other in (value + 1, value - 1) if 0 <= other < 1 << width]


def depth_at(text):
    """How many parentheses and braces are open before each character, from the last `;` on."""
    depths, depth = [], 0
    for character in text:
        depths.append(depth)
        depth = 0 if character == ";" else depth + {"(": 1, "{": 1, ")": -1, "}": -1}.get(character, 0)
    return depths


def mutants(text):
    """All mutants of a file's text."""
    logic = blanked(text)
    depths = depth_at(logic)
    found = []

    def add(kind, start, end, new):
        found.append((start, end, new, kind))

    for match in OPERATOR.finditer(logic):
        before = logic[: match.start()].rstrip()[-1:]
        binary = before.isalnum() or before in ("_", ")", "]", "}", "'")
        if match[0] in ("!", "~") or (binary and (match[0] != "<=" or depths[match.start()])):
            for new in SWAPS.get(match[0], ()):
                add("operator", match.start(), match.end(), new)
    for match in NUMBER.finditer(logic):
        for new in others(int(match[1]), match[3], match[4]) if not match[2] else ():
            add("constant", match.start(), match.end(), new)
    for match in CONDITION.finditer(logic):
        end = closing(logic, match.end() - 1)
        inner = text[match.end() : end]
        add("condition", match.end(), end, f"!({inner})")
    for match in ASSIGNMENT.finditer(logic):
        if not depths[match.start()]:
            add("assignment", match.start(), match.end(), ";")
    lines, alike, made = text.splitlines(), Counter(), []
    for start, end, new, kind in sorted(found):
        line = text.count("\n", 0, start) + 1
        looks = (text[start:end], new, lines[line - 1].strip())
        alike[looks] += 1
        made.append(Mutant(kind, start, end, *looks[:2], line, looks[2], alike[looks]))
    return made
