# SPDX-License-Identifier: GPL-2.0-only
"""Small changes of C sources that are written in the kernel's style. No parser of C: what it does not know it refuses."""

import re
import textwrap

from driver.upstream import SeriesError

COLUMNS = 100
TAB = 8
INCLUDE = re.compile(r'(?m)^#include ([<"])([^>"]+)[>"].*\n')
# From the first column on, as the kernel has it: the line of the name, and all up to the brace.
FUNCTION = re.compile(r"(?m)^(?!static\b|typedef\b|extern\b)[a-z_][\w \t\n*]*?\b(\w+)\(([^;{}]*)\)\n\{\n")
VARIABLE = re.compile(r"(?m)^(?!static\b|typedef\b|extern\b|return\b)[a-z_][\w \t*]*?\b(\w+)(?:\[\w*\])* = ")
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'')
# The end of a text that is a condition, or an `else`, without a brace: (indentation, "if", condition).
GUARD = re.compile(r"(?:^|(?<=\n))(\t+)(?:(if) \(((?:(?!\t+if \()[^;{}])*)\)|else)\n\Z")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def width(line):
    """Columns that a line takes."""
    return len(line.expandtabs(TAB))


def indentation(columns):
    """Tabs and blanks up to a column."""
    return "\t" * (columns // TAB) + " " * (columns % TAB)


def masked(text):
    """`text` of the same length, with nothing in its strings that could be taken for code."""
    return STRING.sub(lambda match: '"' + "_" * (len(match[0]) - 2) + '"', text)


def closing(text, start):
    """Index of the parenthesis that closes the one at `start`."""
    code, depth = masked(text[start:]), 0
    for index, letter in enumerate(code, start):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if not depth:
            return index
    raise SeriesError(f"a parenthesis is not closed: {text[start : start + 60]!r}")


def arguments(text):
    """The arguments in what stands between the parentheses of a call, each in one line."""
    found, depth = [""], 0
    for letter, code in zip(text, masked(text), strict=True):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(code, 0)
        if code == "," and not depth:
            found.append("")
        else:
            found[-1] += letter
    return [re.sub(r"\s*\n\s*", " ", argument).strip() for argument in found] if text.strip() else []


def fitted(line):
    """A line, broken behind commas of its outermost call if it is too long."""
    if width(line) <= COLUMNS or "(" not in line:
        return line
    start = line.index("(")
    end = closing(line, start)
    align = width(line[: start + 1])
    lines = [line[: start + 1]]
    for number, argument in enumerate(given := arguments(line[start + 1 : end])):
        word = argument + ("," if number + 1 < len(given) else line[end:])
        gap = "" if lines[-1].endswith("(") or not lines[-1].strip() else " "
        if width(lines[-1] + gap + word) > COLUMNS and lines[-1].strip():
            lines.append(indentation(align) + word)
        else:
            lines[-1] += gap + word
    return "\n".join(lines)


def put_in(expression, parameters, given):
    """A C expression or statement with arguments in place of parameters."""
    if len(parameters) != len(given):
        raise SeriesError(f"{', '.join(given) or 'nothing'} is given for the parameters {', '.join(parameters)}")
    for parameter, argument in zip(parameters, given, strict=True):
        if plain := re.fullmatch(r"&([\w.>\[\]-]+)", argument):
            expression = re.sub(rf"(?<![\w.>]){parameter}->", f"{plain[1]}.", expression)
        parts = re.split(rf"(?<![\w.>]){parameter}\b", expression)
        expression = parts[0]
        for part in parts[1:]:
            before, after = expression.rstrip(), part.lstrip()
            alone = (not before or before[-1] in "(,=") and (not after or after[0] in "),;")
            expression += (argument if alone or re.fullmatch(r"\w+", argument) else f"({argument})") + part
    return expression


def without_calls(text, name, parameters, expression):
    """`text` with an expression in place of each call of a function."""
    while match := re.search(rf"\b{name}\(", text):
        end = closing(text, match.end() - 1)
        inner = put_in(expression, parameters, arguments(text[match.end() : end]))
        start = text.rfind("\n", 0, match.start()) + 1
        stop = text.find("\n", end)
        line = text[start : match.start()] + inner + text[end + 1 : stop]
        text = text[:start] + fitted(re.sub(r"\b0 \?: ", "", line)) + text[stop:]
    return text


def without_statements(text, name, parameters, statements):
    """`text` with statements, maybe none, in place of each statement that is a call of a function."""
    while match := re.search(rf"\b{name}\(", text):
        end = closing(text, match.end() - 1)
        start = text.rfind("\n", 0, match.start()) + 1
        indent = text[start : match.start()]
        if indent.strip() or text[end + 1 : end + 3] != ";\n":
            raise SeriesError(f"{name}() is not called as a statement of its own")
        given = arguments(text[match.end() : end])
        if guard := GUARD.search(text[:start]):
            guarded = len(indent) > len(guard[1])
            alone = guard[2] and "(" not in masked(guard[3]) and not re.match(rf"{guard[1]}else\b", text[end + 3 :])
            if guarded and len(statements) != 1 and not (alone and not statements):
                raise SeriesError(f"{name}() is guarded by what cannot be left out: {guard[0].strip()}")
            start = guard.start() if guarded and not statements else start
        lines = "".join(f"{fitted(indent + put_in(statement, parameters, given) + ';')}\n" for statement in statements)
        text = text[:start] + lines + text[end + 3 :]
    return re.sub(r"\n\n\n+", "\n\n", re.sub(r"\n\n(\t*\})", r"\n\1", text))


def with_include(text, header):
    """`text` with `#include <header>` at its place in the first block of such lines."""
    lines = [match for match in INCLUDE.finditer(text) if match[1] == "<"]
    if any(match[2] == header for match in lines):
        return text
    block = lines[:1]
    for match in lines[1:]:
        if match.start() == block[-1].end():
            block.append(match)
    if not block:
        raise SeriesError(f"there is no place for #include <{header}>")
    later = next((match for match in block if match[2] > header), None)
    place = later.start() if later else block[-1].end()
    return f"{text[:place]}#include <{header}>\n{text[place:]}"


def includes(text, kind):
    """Names of the headers that `text` includes by <...> or "..."; `kind`: the first of the two marks."""
    return [match[2] for match in INCLUDE.finditer(text) if match[1] == kind]


def definitions(text):
    """Names of what a source defines for others."""
    return {match[1] for pattern in (FUNCTION, VARIABLE) for match in pattern.finditer(text)}


def words(text):
    """Identifiers in a source; those of comments, included files and structures left out."""
    return set(re.findall(r"\b[A-Za-z_]\w*\b", re.sub(r"\b(struct|enum|union)\s+\w+", "", INCLUDE.sub("", COMMENT.sub("", text)))))


def after_function(text, name, line):
    """`text` with a line right behind the function of that name."""
    match = next((match for match in FUNCTION.finditer(text) if match[1] == name), None)
    if not match:
        raise SeriesError(f"{name}() is not defined where it is looked for")
    end = text.index("\n}\n", match.end() - 1) + 3
    return f"{text[:end]}{line}\n{text[end:]}"


def tidy(text):
    """`text` with lines that became too long broken again, comments and calls alike, and without doubled blank lines."""
    lines, done = text.splitlines(), []
    while lines:
        line = lines.pop(0)
        if width(line) > COLUMNS and (mark := re.match(r"[ \t]*\* ", line)):
            while lines and re.match(r"[ \t]*\*[ \t]+[^@\s]", lines[0]):
                line += " " + re.sub(r"^[ \t]*\*[ \t]+", "", lines.pop(0))
            filled = textwrap.wrap(line[mark.end() :], COLUMNS - width(mark[0]), break_long_words=False, break_on_hyphens=False)
            done += [mark[0] + part for part in filled]
        elif width(line) > COLUMNS and "(" in line and '"' not in line and not re.match(r"\s*(\*|/\*|#|//)", line):
            while lines and line.count("(") > line.count(")"):
                line += " " + lines.pop(0).strip()
            done.append(fitted(line))
        else:
            done.append(line)
    return re.sub(r"\n\n\n+", "\n\n", "\n".join(done) + "\n")
