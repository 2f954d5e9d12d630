# SPDX-License-Identifier: GPL-2.0-only
"""The driver without some of its parts: calls of these go, and then everything that nothing uses any more.

A series brings a part of the driver only. What its patches add must be used when they are applied, so that functions, structures,
members and macros for later series come with these. The sources are in the kernel's style; whatever is misread shows as a warning or an
error of the compiler, as the tests build each patch.
"""

import functools
import re
from dataclasses import dataclass, field

from driver.upstream import SeriesError, compat
from driver.upstream.c_text import includes, masked, without_calls, without_statements

WORD = re.compile(r"\b[A-Za-z_]\w*\b")
# Of what no other item uses: what the kernel itself takes from a source.
FOLLOWS = re.compile(r"(EXPORT_SYMBOL\w*|static_assert)\(")
DEFINES = re.compile(r"(?:static )?(?:DEVICE_ATTR\w*|DEFINE_\w+|LIST_HEAD|DECLARE_\w+)\((\w+)")
TRACEPOINT = re.compile(r"TRACE_EVENT\((\w+),")
VALUES = re.compile(r"(?:static )?(?:const )?struct (\w+) \w+ = \{\n")
NO_CODE = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


@dataclass
class Item:
    """What stands at the top level of a source."""

    text: str
    kind: str  # "blank", "comment", "cpp", "macro", "struct", "code", "forward", "root", "follower"
    names: frozenset = frozenset()
    heading: str = ""  # comment right above it
    words: frozenset = field(default=frozenset())

    def __post_init__(self):
        self.words = frozenset(words(self.text)) | self.words


def words(text):
    """All identifiers of a text, without those in comments and strings."""
    return set(WORD.findall(masked(NO_CODE.sub(" ", re.sub(r"(?m)^#[ \t]*include.*$", "", text)))))


def parse(text):
    """[Item] of a source, which together are the source."""
    return list(parsed(text))


@functools.cache
def parsed(text):
    """As parse(): sources are read again and again."""
    lines, items, heading = text.splitlines(keepends=True), [], ""
    while lines:
        line = lines.pop(0)
        if not line.strip():
            items += [Item(heading, "comment")] if heading else []
            heading = ""
            items.append(Item(line, "blank"))
        elif line.startswith(("/*", "//")):
            while line.startswith("/*") and "*/" not in line:
                line += lines.pop(0)
            heading += line
        elif line.startswith("#"):
            while line.endswith("\\\n"):
                line += lines.pop(0)
            # One without a value is for the preprocessor, and pr_fmt() for the kernel's headers.
            macro = re.match(r"#[ \t]*define[ \t]+(\w+)(.)", line, re.DOTALL)
            plain = macro and macro[2] != "\n" and macro[1] not in ("pr_fmt", "dev_fmt")
            items.append(Item(line, "macro" if plain else "cpp", frozenset([macro[1]] if macro and plain else ()), heading))
            heading = ""
        else:
            while not ends(line):
                if not lines:
                    raise SeriesError(f"what begins with {line.splitlines()[0]!r} does not end")
                line += lines.pop(0)
            items.append(item_of(line, heading))
            heading = ""
    return (*items, *([Item(heading, "comment")] if heading else ()))


def ends(text):
    """Is this a whole declaration or definition?"""
    code = masked(NO_CODE.sub(" ", text))
    if any(code.count(one) != code.count(other) for one, other in ("()", "{}", "[]")):
        return False
    return code.rstrip().endswith(";") or code.rstrip().endswith("\n}")


def item_of(text, heading):
    """The Item of a declaration, a definition or a macro's call."""
    code = masked(NO_CODE.sub(" ", text))
    if FOLLOWS.match(code):
        return Item(text, "follower", heading=heading)
    if defined := DEFINES.match(code):
        name = defined[1]
        extra = frozenset(f"{name}_{what}" for what in ("show", "store"))
        made = f"dev_attr_{name}" if "DEVICE_ATTR" in code else f"{name}_fops" if "SHOW_ATTRIBUTE" in code else name
        return Item(text, "code", frozenset([made]), heading, extra)
    if event := TRACEPOINT.match(code):
        return Item(text, "code", frozenset((f"trace_{event[1]}", f"trace_{event[1]}_enabled")), heading)
    if re.match(r"[A-Za-z_]\w*\(", code):
        return Item(text, "root", heading=heading)
    if forward := re.fullmatch(r"(?:struct|union) (\w+);\s*", code):
        return Item(text, "forward", frozenset([forward[1]]), heading)
    if tagged := re.match(r"(struct|union|enum)\s*(\w*) \{", code):
        constants = re.findall(r"(?:[{,]\s*)(\w+)", code) if tagged[1] == "enum" else []
        return Item(text, "code" if tagged[1] == "enum" else "struct", frozenset([*constants, tagged[2]]) - {""}, heading)
    is_function = re.search(r"\)\s*\{", code)
    outside = code.split("{", 1)[0] if is_function else re.sub(r"\{.*?\n?\}", "", code, flags=re.DOTALL)
    head = re.split(r"=|\[|;", outside)[0]
    function = re.search(r"\b(\w+)\s*\(", head)
    name = function[1] if function else WORD.findall(head)[-1]
    inner = re.match(r"(?:static )?(?:const )?struct (\w+) \{", code)
    return Item(text, "code", frozenset([name, *(inner.groups() if inner else ())]), heading)


# --- calls of functions that are missing ---


def stubs_of(header, option):
    """[Function] that a header has for a driver without an option: they do nothing, or return one value."""
    found = re.search(rf"(?s)#if IS_ENABLED\(CONFIG_(?:SERIAL_)?LITEPULSE_{option}\)\n.*?#else\n(.*?)#endif\n", header)
    if not found:
        return []
    parsed = compat.parse(f"#define LITEPULSE_COMPAT_H\n{found[1]}#endif\n")
    if parsed.kept:
        raise SeriesError(f"a call of {parsed.kept[0][0]}() cannot be left out of a driver without {option}")
    return parsed.functions


def without_stubs(text, functions):
    """A source without calls of functions that do nothing."""
    before = text
    for function in functions:
        if function.is_value:
            text = without_calls(text, function.name, function.parameters, function.statements[0])
        else:
            text = without_statements(text, function.name, function.parameters, function.statements)
    return without_dead_code(text) if text != before else text


def without_dead_code(text):
    """A source without `error = 0` that is looked at, labels to which nothing goes, and what is never reached."""
    text = re.sub(r"\n\t+(?:int )?error = 0;\n\t+if \(error\)\n\t+(?:goto \w+|return error);(?=\n)", "", text)
    made = []
    for item in parse(text):
        body = item.text
        while body.startswith("static") or item.kind == "code":
            gone = [label for label in re.findall(r"(?m)^(\w+):$", body) if not re.search(rf"\bgoto {label};", body) and label != "default"]
            for label in gone:
                body = re.sub(rf"(?m)^{label}:\n", "\v\n", body)
            # Behind a return, up to the next label that is used.
            shorter = re.sub(r"(?m)^(\treturn [^\n]*;\n)\n*\v\n(?:(?!\w+:$|\}).*\n)*", r"\1\n", body)
            shorter = re.sub(r"\v\n", "", shorter)
            shorter = re.sub(r"\n\n\}", "\n}", shorter)
            if shorter == body:
                break
            body = shorter
        made.append(item.heading + body)
    return "".join(made)


# --- what nothing uses ---


PASTES = re.compile(r"(?m)^#[ \t]*define[ \t]+(\w+)\([^)]*\).*?\b(\w+_)##")


def with_pasted(items, text):
    """Items of a source; those with macros that make names of their arguments use these names."""
    made = []
    for item in items:
        pasted = set()
        for name, prefix in PASTES.findall(item.text):
            pasted |= {prefix + word for call in re.findall(rf"\b{name}\(([^()]*)\)", text) for word in WORD.findall(call)}
        made.append(Item(item.text, item.kind, item.names, item.heading, frozenset(pasted)) if pasted else item)
    return made


class Shaker:
    """Sources of which only what is used stays."""

    def __init__(self, files, whole=(), interfaces=(), wanted=frozenset()):
        self.wanted = wanted  # what tests use, if a header has it
        self.files = {name: with_pasted(parse(text), text) for name, text in files.items()}
        self.whole = set(whole)  # of these all stays
        self.interfaces = set(whole) | set(interfaces)  # whose structures stay as they are

    def shaken(self):
        """{name: text} of what is used."""
        while True:
            live = self.mark()
            before = sum(len(items) for items in self.files.values()), sum(len(i.text) for items in self.files.values() for i in items)
            self.files = {name: self.sweep(name, items, live) for name, items in self.files.items()}
            used = set().union(*(self.mentioned(i) for items in self.files.values() for i in items))
            had = {tag: members_of(item) for tag, item in self.structures().items()}
            for name, items in self.files.items():
                if name not in self.whole | self.interfaces:
                    self.files[name] = [without_members(item, used) if item.kind == "struct" else item for item in items]
            lost = {tag: had[tag] - members_of(item) for tag, item in self.structures().items()}
            self.files = {name: [without_values(item, lost) for item in items] for name, items in self.files.items()}
            after = sum(len(items) for items in self.files.values()), sum(len(i.text) for items in self.files.values() for i in items)
            if after == before:
                return {name: "".join(item.heading + item.text for item in items) for name, items in self.files.items()}

    def mark(self):
        """Names that are used, from what the kernel itself uses on."""
        defined = {}
        for name, items in self.files.items():
            for item in items:
                if item.kind not in ("forward", "follower"):
                    for one in item.names:
                        defined.setdefault(one, []).append(item)
        self.defined = set(defined)
        todo, live = [], set()
        for name, items in self.files.items():
            todo += [item for item in items if item.kind == "root" or (name in self.whole and name not in self.interfaces)]
            for item in items if name.endswith(".h") else ():
                if item.names & self.wanted and (item.kind == "macro" or "\n{" in item.text):
                    todo.append(item)
                    live |= item.names
        while todo:
            for word in todo.pop().words - live:
                if word in defined:
                    live.add(word)
                    todo += defined[word]
        return live

    def sweep(self, name, items, live):
        """The items of a source that stay."""
        if name in self.whole:
            return items
        left, group = [], ""
        used = [item for item in items if item.kind not in ("forward", "follower") and (not item.names or item.names & live)]
        here = set().union(*(item.words for item in used))
        for item in items:
            if item.kind in ("blank", "comment", "cpp", "root"):
                stays = True
            elif item.kind == "follower":
                stays = not (item.words & self.defined) - live
            elif item.kind == "forward":
                stays = bool(item.names & here)
            else:
                # The headers of tracepoints define what the kernel's own headers use.
                stays = bool(item.names & live) or (item.kind == "macro" and name.endswith("_trace.h"))
            if item.kind == "macro":
                # A comment above several macros is of all of them.
                group = item.heading or group
                if stays and group and not item.heading:
                    item = Item(item.text, item.kind, item.names, group)
                group = "" if stays else group
            else:
                group = ""
            if stays:
                left.append(item)
        return left

    def structures(self):
        """{tag: Item} of all structures."""
        return {tag: item for items in self.files.values() for item in items if item.kind == "struct" for tag in item.names}

    @staticmethod
    def mentioned(item):
        """Words by which an item may mean a member of a structure. To give a constant structure a value is no use of it."""
        if VALUES.match(item.text):
            return frozenset(words(re.sub(r"(?m)^\t\.\w+ =", "", item.text)))
        if item.kind != "struct":
            return item.words
        return item.words - {one for names, _, _ in members(item.text) for one in names}


def members(text):
    """[(names, begin, end)] of the simple members of a structure, by lines: nested ones stay."""
    found, lines, depth, start = [], text.splitlines(), 0, None
    in_comment = False
    for number, line in enumerate(lines):
        code = masked(NO_CODE.sub(" ", line))
        if in_comment or ("/*" in code):
            in_comment = "*/" not in line
            code = code.split("/*")[0] if "/*" in code else ""
        if depth == 1 and start is None and code.strip() and not code.strip().startswith("}"):
            start = number
        depth += code.count("{") - code.count("}")
        if depth == 1 and start is not None and code.rstrip().endswith(";"):
            declaration = " ".join(NO_CODE.sub(" ", "\n".join(lines[start : number + 1])).split())
            last = number
            while in_comment and "*/" not in lines[last]:
                last += 1
            if "{" not in declaration and not re.match(r"[A-Z_]+\(", declaration):
                if pointer := re.search(r"\(\*(\w+)(?:\[\w+\])?\)\(", declaration):
                    names = [pointer[1]]
                else:
                    parts = re.sub(r"\[[^]]*\]", "", declaration.rstrip(";")).split(",")
                    names = [re.sub(r"[\[:].*", "", part).split()[-1].lstrip("*") for part in parts]
                found.append((names, start, last + 1))
            start = None
        elif depth == 1 and start is not None and "{" in "".join(lines[start : number + 1]) and code.rstrip().endswith(";"):
            start = None
    return found


def members_of(item):
    """Names of the simple members of a structure."""
    return {name for names, _, _ in members(item.text) for name in names}


def without_values(item, lost):
    """A variable without values for members that its structure has lost: {tag: names}."""
    found = VALUES.match(item.text)
    gone = lost.get(found[1], set()) if found else set()
    if not gone:
        return item
    text = re.sub(rf"(?m)^\t\.({'|'.join(sorted(gone))}) = .*,\n", "", item.text)
    return Item(text, item.kind, item.names, item.heading)


def without_members(item, used):
    """A structure without the members of which no source speaks."""
    lines, gone = item.text.splitlines(keepends=True), set()
    dead = set()
    for names, begin, end in members(item.text):
        if not set(names) & used:
            gone.update(range(begin, end))
            dead.update(names)
    if not dead:
        return item
    text, comment = [], []
    for number, line in enumerate(lines):
        if re.match(r"\t+/\*", line) or comment and "*/" not in comment[-1]:
            comment.append(line)
        elif number in gone:
            # A comment above several members is of all of them, up to a blank line.
            continue
        else:
            if line.strip() and not line.strip().startswith("}"):
                text += comment
            comment = []
            text.append(line)
    heading = without_described(item.heading, dead)
    return Item("".join(text), item.kind, item.names, heading)


def without_described(heading, names):
    """A kernel-doc comment without what it says of some members."""
    lines, left, skip = heading.splitlines(keepends=True), [], False
    for line in lines:
        if described := re.match(r" \* @(\w+):", line):
            skip = described[1] in names
        elif not re.match(r" \*\t", line):
            skip = False
        if not skip:
            left.append(line)
    return "".join(left)


def without_parts(files, gone, stubs, whole=(), interfaces=(), wanted=frozenset()):
    """{name: text} of a driver that lacks files, whose functions' stubs are these; what nothing uses then is not there either.

    Of the files `whole` all stays, and structures of `interfaces` stay as they are. Tests use what is `wanted` of headers.
    """
    files = {name: text for name, text in files.items() if name not in gone}
    for name, text in files.items():
        text = without_stubs(text, stubs) if name.endswith(".c") else text
        for header in includes(text, '"'):
            if header in gone:
                text = re.sub(rf'(?m)^#include "{re.escape(header)}"\n', "", text)
        files[name] = text
    return cleaned(Shaker(files, whole, interfaces, wanted).shaken())


def cleaned(files):
    """Files in which something is left; nothing includes the others."""
    kept = {name: [item for item in parse(text) if not guard(item, name)] for name, text in files.items()}
    empty = {name for name, items in kept.items() if not any(item.names or item.kind == "root" for item in items)}
    made = {}
    for name, text in files.items():
        if name in empty:
            continue
        for header in includes(text, '"'):
            if header in empty:
                text = re.sub(rf'(?m)^#include "{re.escape(header)}"\n', "", text)
        text = re.sub(r"\n\n\n+", "\n\n", text).rstrip("\n") + "\n"
        # Headings of parts in which nothing is left.
        made[name] = re.sub(r"(?m)^/\* --- .* --- \*/\n\n*(?=/\* --- |\Z)", "", text).rstrip("\n") + "\n"
    return made


def guard(item, name):
    """Is this the macro that keeps a header from being read twice?"""
    return item.kind == "macro" and name.rsplit("/", 1)[-1].upper().replace(".", "_") in item.text


# --- tests ---


def names(files):
    """What sources define."""
    return set().union(*(item.names for text in files.values() for item in parse(text) if item.kind not in ("forward", "follower")))


def without_cases(text, missing):
    """A source of KUnit tests without those that use what is missing."""
    dead = set(missing)
    items = parse(text)
    while True:
        users = [item for item in items if item.kind != "root" and "KUNIT_CASE(" not in item.text and item.words & dead]
        gone = {name for item in users for name in item.names}
        if gone <= dead:
            break
        dead |= gone
    text = "".join(item.heading + item.text for item in items if not item.names & dead or "KUNIT_CASE(" in item.text)
    text = re.sub(rf"(?m)^\tKUNIT_CASE\(({'|'.join(sorted(dead)) or '(?!)'})\),\n", "", text)
    return cleaned(Shaker({"tests": text}).shaken())["tests"]
