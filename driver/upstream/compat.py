# SPDX-License-Identifier: GPL-2.0-only
"""litepulse_compat.h taken away: what it says for one kernel goes to where it is used."""

import re
from dataclasses import dataclass

from driver.upstream import SeriesError
from driver.upstream.c_text import arguments, includes, with_include, without_calls, without_statements, words

NAME = "litepulse_compat.h"
# A file that included it gets those of its headers that it uses. Of a header that is not here it is taken to use something.
USES = {
    "linux/cacheinfo.h": r"\bcpu_dcache_is_aliasing\(",
    "linux/circ_buf.h": r"\bCIRC_|\bcirc_buf\b",
    "linux/hrtimer.h": r"\bhrtimer_|\bHRTIMER_|\bstruct hrtimer\b|_hrtimeout\(",
    "linux/kthread.h": r"\bkthread_",
    "linux/ktime.h": r"\bktime_|\bktime_t\b",
    "linux/minmax.h": r"\b(min|max|clamp)(_t)?\(",
    "linux/mm.h": r"\bvm_|\bVM_|\bvma_|\bstruct vm_area_struct\b|\b__free_page\(|\bvmalloc_|\bkv?[mz]alloc|\btotalram_pages\b",
    "linux/ptp_clock_kernel.h": r"\bptp_clock_|\bstruct ptp_",
    "linux/serial_core.h": r"\buart_|\bUPF_|\bstruct uart_",
    "linux/string.h": r"\b(mem|str)[a-z_]+\(",
    "linux/timer.h": r"\btimer_|\bstruct timer_list\b|\bfrom_timer\b|\bmod_timer\b",
    "linux/timekeeping.h": r"\bktime_get",
    "linux/uio.h": r"\biov_iter|\biter_i|\buser_backed_iter\b",
    "linux/unaligned.h": r"\b(get|put)_unaligned",
    "linux/version.h": r"\bLINUX_VERSION_",
}
ITEM = re.compile(
    r"(?P<comment>/\*.*?\*/)\s*?\n"
    r"|\#include <(?P<header>[^>]+)>[^\n]*\n"
    r"|\#define (?P<macro>\w+)(?!\()[ \t]*(?P<value>[^\n]*)\n"
    r"|(?P<guard>\#(?:if IS_ENABLED\(\w+\)|endif)[^\n]*\n)"
    r"|(?P<struct>struct \w+ \{\n.*?\n\};\n)"
    r"|static inline (?P<type>[\w \t\n*]*?)\b(?P<function>\w+)\((?P<parameters>[^{};]*)\)\n\{\n(?P<body>.*?)\n?\}\n"
    r"|(?P<blank>[ \t]*\n)",
    re.DOTALL,
)
DECLARES = re.compile(r"(const |struct |unsigned |int |bool |[us](8|16|32|64) |for\b|if\b|while\b|do\b|switch\b|\{|#)")


@dataclass
class Function:
    """An inline function: what replaces its calls, if statements alone can."""

    name: str
    parameters: list
    statements: list  # None: it has to stay a function
    is_value: bool


@dataclass
class Compat:
    """What the header says for one kernel."""

    headers: list
    macros: dict
    functions: list
    kept: list  # (name, text) of functions that have to stay, each with the structures that it needs


def parse(text):
    """The `Compat` of the header as unifdef left it for one kernel. Raises SeriesError."""
    inside = re.search(r"(?s)#define LITEPULSE_COMPAT_H\n(.*)#endif[^\n]*\n\Z", text)
    if not inside:
        raise SeriesError(f"{NAME} has no include guard LITEPULSE_COMPAT_H")
    text, at, comment, found = inside[1], 0, "", Compat([], {}, [], [])
    structures = {}
    while at < len(text):
        match = ITEM.match(text, at)
        if not match:
            raise SeriesError(f"{NAME}: the series cannot resolve {text[at:].splitlines()[0]!r}")
        at = match.end()
        if match["comment"]:
            comment = f"{match['comment']}\n"
            continue
        if match["header"]:
            found.headers.append(match["header"])
        elif match["macro"]:
            found.macros[match["macro"]] = match["value"].strip()
        elif match["struct"]:
            structures[match["struct"].split()[1]] = comment + match["struct"]
        elif match["function"]:
            add_function(found, match, comment, structures)
        if not match["blank"]:
            comment = ""
    if structures:
        raise SeriesError(f"{NAME}: no function that stays needs struct {next(iter(structures))}")
    return found


def add_function(found, match, comment, structures):
    """Notes a function of the header; takes the structures that it needs, if it has to stay."""
    name = match["function"]
    given = [argument for argument in arguments(match["parameters"]) if argument != "void"]
    parameters = [name for argument in given for name in re.findall(r"\(\*(\w+)\)|(\w+)$", argument)[0] if name]
    lines = [re.sub(r"\s+", " ", statement).strip() for statement in match["body"].split(";")]
    is_value = len(lines) == 2 and lines[0].startswith("return ")
    if is_value or not any(DECLARES.match(line) or line.startswith("return") for line in lines):
        statements = [line.removeprefix("return ") for line in lines if line]
        found.functions.append(Function(name, parameters, statements, is_value))
        return
    head = " ".join(match["type"].split())
    head += "" if head.endswith("*") else " "
    text = f"{comment}static {head}{name}({match['parameters']})\n{{\n{match['body']}\n}}\n"
    needs = [structure for structure in structures if re.search(rf"\bstruct {structure}\b", text)]
    found.kept.append((name, "".join(f"{structures.pop(structure)}\n" for structure in needs) + text))


def with_macros(text, macros):
    """A text with macros replaced by what they stand for."""
    for name, value in macros.items():
        if not value:
            text = re.sub(rf"(?m)^[ \t]*{name}\n", "", text)
        text = re.sub(rf"\b{name}\b", lambda _, value=value: value, text)
    return text


def resolve(files, compat):
    """{name: text} of all files without the header. Raises SeriesError."""
    made, had = {}, set()
    functions = [
        Function(f.name, f.parameters, [with_macros(statement, compat.macros) for statement in f.statements], f.is_value)
        for f in compat.functions
    ]
    for name, text in files.items():
        if NAME in includes(text, '"'):
            had.add(name)
            text = re.sub(rf'(?m)^#include "{NAME}"\n', "", text)
        text = with_macros(text, compat.macros)
        for function in functions:
            if function.is_value:
                text = without_calls(text, function.name, function.parameters, function.statements[0])
            else:
                text = without_statements(text, function.name, function.parameters, function.statements)
        made[name] = text
    for name, text in compat.kept:
        had.add(keep(made, name, with_macros(text, compat.macros)))
    for name in sorted(had - {""}):
        for header in compat.headers:
            if re.search(USES.get(header, ""), made[name]):
                made[name] = with_include(made[name], header)
    return made


def keep(files, name, function):
    """Moves a function to the only source that uses it, else to a header that all its users
    include.

    Returns that file, or "" if nothing uses the function.
    """
    users = [user for user, text in files.items() if name in words(text)]
    if not users:
        return ""
    if len(users) > 1:
        shared = [header for header in includes(files[users[0]], '"') if all(header in includes(files[user], '"') for user in users)]
        if not shared:
            raise SeriesError(f"{NAME}: {name}() cannot go to where it is used: {', '.join(sorted(users))} have no header in common")
        text = files[shared[0]]
        end = text.rindex("\n#endif")
        files[shared[0]] = f"{text[:end]}\n{inline(function, name)}{text[end:]}"
        return shared[0]
    text = files[users[0]]
    end = max(match.end() for match in re.finditer(r"(?m)^#include .*\n", text))
    files[users[0]] = f"{text[:end]}\n{function}{text[end:]}"
    return users[0]


def inline(text, name):
    """A function as it is in a header."""
    return re.sub(rf"(?m)^static (?=[^;{{}}]*\b{name}\()", "static inline ", text)
