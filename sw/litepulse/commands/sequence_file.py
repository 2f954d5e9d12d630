# SPDX-License-Identifier: BSD-2-Clause
"""Files of sequences: CSV, read line by line, and JSON. Text becomes numbers here; each fault is reported with its line."""

import csv
import json
import os
import re
import select
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any, NoReturn, cast

from litepulse import Step
from litepulse.commands import arguments
from litepulse.errors import BadInput, printable, shown
from litepulse.limits import BREAK_MAX
from litepulse.line import Trigger
from litepulse.sequence_plan import NAMES, PROFILES, step_of
from litepulse.units import parse_byte, parse_count, parse_duration

SPACE = re.compile(r"[ \t\n\r]*")
BLOCK = 65536
LONGEST = 4096  # bytes of a line
PLACES, THINGS = {"at", "tick", "after"}, {"byte", "width", "break", "code", "wait"}
TICKS = (1 << 63) - 1


def value_of(name: str, text: str) -> Any:
    """What the text of a column means."""
    if "," in text:
        raise BadInput(f"{name}: '{shown_text(text)}' has a comma: decimals are written with a point")
    if name in ("at", "after", "width", "timeout"):
        time = parse_duration(text, name)
        return text if name == "at" and not time.relative else time
    if name == "tick":
        return parse_count(text, name, 0, TICKS)
    if name in ("byte", "code"):
        return parse_byte(text, name)
    if name == "break":
        return parse_count(text, name, 1, BREAK_MAX)
    if name == "profile":
        return parse_count(text, name, PROFILES[0], PROFILES[-1])
    if name == "wait" and text.startswith("edge:"):
        return edge_of(arguments.trigger(text))
    return text


def edge_of(trigger: Trigger) -> Trigger:
    """The same, if it is an edge."""
    if trigger.kind != "edge":
        raise BadInput(f"on: a sequence begins at an edge, not at a {trigger.kind}: edge:0:rise")
    return trigger


def shown_text(text: str) -> str:
    """As a message shows it."""
    return printable(text if len(text) <= 40 else f"{text[:37]}...")


class Lines:
    """The lines of a file, (number, text) of each that is neither blank nor a comment; None while a pipe has no more yet."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.regular = name != "-" and os.path.isfile(name)
        self._first = True
        if name == "-" and sys.stdin is None:
            raise BadInput("-: standard input is closed")

    def refuse(self, number: int, error: object) -> NoReturn:
        """BadInput at a line."""
        raise BadInput(f"{self.name}: line {number}: {error}") from None

    def __iter__(self) -> Iterator[tuple[int, str] | None]:
        number = 0
        for raw in self._raw():
            if raw is None:
                yield None
                continue
            number += 1
            text = self._decoded(raw, number).strip()
            if text and not text.startswith("#"):
                yield number, text

    def _raw(self) -> Iterator[bytes | None]:
        try:
            if self.regular:
                with open(self.name, "rb") as file:
                    while line := file.readline(LONGEST + 1):
                        yield line
            else:
                yield from self._streamed()
        except OSError as error:
            raise BadInput(f"{self.name}: cannot read it ({error.strerror})") from None

    def _streamed(self) -> Iterator[bytes | None]:
        """Of a pipe."""
        file = sys.stdin.fileno() if self.name == "-" else os.open(self.name, os.O_RDONLY | os.O_CLOEXEC)
        ready, rest = select.poll(), b""
        ready.register(file, select.POLLIN)
        try:
            while True:
                *lines, rest = rest.split(b"\n")
                yield from lines
                if len(rest) > LONGEST:
                    yield rest  # which is refused
                while not ready.poll(0):
                    yield None  # a pipe with nothing in it must not keep Ctrl-C from being seen
                block = os.read(file, BLOCK)
                if not block:
                    break
                rest += block
            if rest:
                yield rest
        finally:
            if self.name != "-":
                os.close(file)

    def _decoded(self, raw: bytes, number: int) -> str:
        if len(raw) > LONGEST:
            self.refuse(number, f"it has more than {LONGEST} bytes")
        if number == 1 and raw.startswith((b"\xff\xfe", b"\xfe\xff")):
            self.refuse(number, "the file is UTF-16: save it as UTF-8")
        try:
            text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            self.refuse(number, "it is not UTF-8 text")
        if "\0" in text or "\r" in text.rstrip("\r\n"):
            self.refuse(number, "it is not a line of text")
        return text


class Table:
    """A CSV file of entries: it can be read more than once, unless it is a pipe."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lines = Lines(name)

    def __iter__(self) -> Iterator[Step | None]:
        columns: list[str] = []
        delimiter = ","
        for line in self.lines:
            if line is None:
                yield None
                continue
            number, text = line
            try:
                if not columns:
                    delimiter = next((each for each in ",;\t" if each in text), ",")
                    columns = header(row_of(text, delimiter))
                    continue
                values = row_of(text, delimiter)
                if any(values):
                    yield self._step(columns, values, number)
            except BadInput as error:
                self.lines.refuse(number, error)

    def _step(self, columns: list[str], values: list[str], number: int) -> Step:
        if any(values[len(columns) :]):
            raise BadInput("more values than columns" + ("; decimals are written with a point" if len(values) > len(columns) else ""))
        given = {name: value_of(name, text) for name, text in zip(columns, values, strict=False) if text}
        return located(given, self.name, number)


class Sized(Table):
    """A Table on a disk. All its lines are looked at before."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._size = sum(1 for _ in self)
        if not self._size:
            raise BadInput(f"{name}: it has no entries")

    def __len__(self) -> int:
        return self._size


def row_of(text: str, delimiter: str) -> list[str]:
    """The values of a line."""
    try:
        return [value.strip() for value in next(csv.reader([text], delimiter=delimiter, strict=True, skipinitialspace=True))]
    except csv.Error as error:
        raise BadInput(f"it is no line of CSV ({error})") from None


def header(names: list[str]) -> list[str]:
    """The columns, in any order."""
    columns = [name.lower() for name in names]
    while columns and not columns[-1]:
        columns.pop()
    for name in columns:
        if name not in NAMES:
            raise BadInput(f"'{shown_text(name)}' is not a column: the first line names some of {', '.join(NAMES)}")
        if columns.count(name) > 1:
            raise BadInput(f"column {name} is there twice")
    if not PLACES & set(columns) or not THINGS & set(columns):
        raise BadInput("the first line names a column at, tick or after, and byte, width, break, code or wait")
    return columns


def located(given: Mapping[str, Any], name: str, number: int) -> Step:
    """The Step of a line."""
    if "at" in given and "tick" in given:
        raise BadInput("give one of at, tick and after")
    return replace(step_of(given), where=f"{name}: line {number}")


def read_json(name: str) -> list[Step]:
    """The entries of a JSON file: a list of objects."""
    try:
        with open(name, encoding="utf-8-sig") as file:
            text = file.read()
    except OSError as error:
        raise BadInput(f"{name}: cannot read it ({error.strerror})") from None
    except UnicodeError:
        raise BadInput(f"{name}: it is not UTF-8 text") from None
    steps: list[Step] = []
    number, counted = 1, 0
    try:
        for start, value in elements(text):
            number, counted = number + text.count("\n", counted, start), start
            if isinstance(value, BadInput):
                raise value
            steps.append(located(object_of(value), name, number))
    except json.JSONDecodeError as error:
        raise BadInput(f"{name}: line {error.lineno}: it is no JSON ({error.msg})") from None
    except BadInput as error:
        raise BadInput(f"{name}: line {number}: {error}") from None
    if not steps:
        raise BadInput(f"{name}: it has no entries")
    return steps


def elements(text: str) -> Iterator[tuple[int, Any]]:
    """(place, value) of each element of a list; a BadInput instead of the value for what JSON would take, and we do not."""

    def space(place: int) -> int:
        found = SPACE.match(text, place)
        return found.end() if found else place

    def constant(word: str) -> NoReturn:
        raise BadInput(f"{word} is not a number")

    decoder = json.JSONDecoder(parse_float=Decimal, parse_constant=constant, object_pairs_hook=unique)
    place = space(0)
    if text[place : place + 1] != "[":
        raise json.JSONDecodeError("a list of objects is expected: [{...}, ...]", text, place)
    place = space(place + 1)
    if text[place : place + 1] == "]":
        place += 1
    else:
        while True:
            try:
                value, end = decoder.raw_decode(text, place)
            except RecursionError:
                raise json.JSONDecodeError("too deep", text, place) from None
            except BadInput as error:
                yield place, error
                return
            yield place, value
            place = space(end)
            if text[place : place + 1] == "]":
                place += 1
                break
            if text[place : place + 1] != ",":
                raise json.JSONDecodeError("a comma or ] is expected", text, place)
            place = space(place + 1)
    if space(place) != len(text):
        raise json.JSONDecodeError("more follows behind the list", text, space(place))


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object, each of whose names is there once."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise BadInput(f"{shown(name)} is there twice")
        found[name] = value
    return found


def object_of(value: object) -> dict[str, Any]:
    """The values of an entry; text as in a table."""
    if not isinstance(value, dict):
        raise BadInput(f'{shown(value)} is not an object such as {{"after": "1ms", "width": "10us"}}')
    given = cast("dict[str, Any]", value)
    return {name: value_of(name, each) if isinstance(each, str) and name in NAMES else each for name, each in given.items()}


def read(name: str) -> "Table | list[Step]":
    """The entries of a file: NAME.json, else CSV; '-' is standard input."""
    if name.endswith(".json"):
        return read_json(name)
    table = Table(name)
    return Sized(name) if table.lines.regular or not os.path.exists(name) and name != "-" else table
