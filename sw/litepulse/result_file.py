# SPDX-License-Identifier: BSD-2-Clause
"""Files of results, read in bounded memory: a JSON object whose long lists stay in the file, or lines of text."""

import codecs
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

IN_MEMORY = 50_000  # elements; a longer list is read again whenever it is needed
_PIECE = 1 << 16  # bytes that are read at a time
_LONGEST = 1 << 24  # characters of a value that is no list
_SPACE = " \t\n\r"


class Elements:
    """The elements of a list that stays in the file, as often as they are iterated."""

    def __init__(self, file: "ResultFile", name: str) -> None:
        self._file, self._name = file, name

    def __iter__(self) -> Iterator[object]:
        for name, _, elements in self._file.parts():
            if name == self._name and elements is not None:
                yield from elements
                return


class _Text:
    """The text of a file from its beginning, of which only a piece is in memory."""

    def __init__(self, file: int) -> None:
        self._file, self._offset, self._at, self._text = file, 0, 0, ""
        self._decoder, self._json = codecs.getincrementaldecoder("utf-8")(), json.JSONDecoder()

    def more(self) -> bool:
        """Another piece behind what is left of this one; False at the end of the file. UnicodeDecodeError."""
        size = max(_PIECE, len(self._text) - self._at)  # more each time, for a value that is longer than a piece
        data = os.pread(self._file, size, self._offset)
        self._offset += len(data)
        self._text, self._at = self._text[self._at :] + self._decoder.decode(data, final=not data), 0
        return bool(data)

    def peek(self) -> str:
        """The next character that is no space, '' at the end."""
        while True:
            while self._at < len(self._text):
                if self._text[self._at] not in _SPACE:
                    return self._text[self._at]
                self._at += 1
            if not self.more():
                return ""

    def skip(self, *characters: str) -> str:
        """Takes one of these. json.JSONDecodeError if something else comes."""
        found = self.peek()
        if found not in characters:
            raise json.JSONDecodeError(f"not {' or '.join(characters)}", self._text, self._at)
        self._at += len(found)
        return found

    def value(self) -> object:
        """The next value. json.JSONDecodeError, also for one that is longer than _LONGEST."""
        self.peek()
        while True:
            try:
                value, end = self._json.raw_decode(self._text, self._at)
            except json.JSONDecodeError:
                if len(self._text) - self._at > _LONGEST or not self.more():
                    raise
                continue
            size = end - self._at
            if end < len(self._text) or not self.more():  # else it may go on: 12 of 123
                self._at += size
                return value

    def elements(self) -> Iterator[object]:
        """Those of the list that comes next."""
        self.skip("[")
        if self.peek() == "]":
            self.skip("]")
            return
        while True:
            yield self.value()
            if self.skip(",", "]") == "]":
                return

    def lines(self) -> Iterator[str]:
        """All lines, without their ends."""
        while True:
            whole, end = self._text[self._at :].splitlines(), self._text[-1:]
            self._at = len(self._text)
            if whole and end not in ("\n", ""):  # the last one may go on
                self._at -= len(whole.pop())
            yield from whole
            if not self.more():
                yield from self._text[self._at :].splitlines()
                return


def _copied(file: BinaryIO) -> int:
    """A temporary file with what comes from a pipe."""
    with tempfile.TemporaryFile() as copy:
        shutil.copyfileobj(file, copy)
        copy.flush()
        return os.dup(copy.fileno())


class ResultFile:
    """An open file. A pipe is copied into a temporary one."""

    def __init__(self, path: str | Path) -> None:
        """`-` is standard input. OSError."""
        if str(path) == "-":
            self._file = _copied(sys.stdin.buffer)
            return
        with open(path, "rb") as file:
            self._file = os.dup(file.fileno()) if file.seekable() else _copied(file)

    def close(self) -> None:
        """Closes it; its Elements cannot be read any more."""
        os.close(self._file)

    def is_object(self) -> bool:
        """Whether it begins as a JSON object. UnicodeDecodeError."""
        return _Text(self._file).peek() == "{"

    def lines(self) -> Iterator[str]:
        """All lines, without their ends. UnicodeDecodeError."""
        return _Text(self._file).lines()

    def parts(self) -> Iterator[tuple[str, object, Iterator[object] | None]]:
        """(name, value, None) of each member of the object, or (name, None, its elements), which have to be read, if it is a list."""
        text = _Text(self._file)
        text.skip("{")
        more = text.peek() != "}"
        if not more:
            text.skip("}")
        while more:
            name = str(text.value())
            text.skip(":")
            if text.peek() == "[":
                yield name, None, (elements := text.elements())
                for _ in elements:
                    pass
            else:
                yield name, text.value(), None
            more = text.skip(",", "}") == ","
        text.skip("")

    def read(self) -> dict[str, object]:
        """The object; a list of more than IN_MEMORY elements is an Elements. json.JSONDecodeError, UnicodeDecodeError."""
        found: dict[str, object] = {}
        for name, value, elements in self.parts():
            if elements is None:
                found[name] = value
                continue
            kept: list[object] = []
            for element in elements:
                kept.append(element)
                if len(kept) > IN_MEMORY:
                    break
            found[name] = kept if len(kept) <= IN_MEMORY else Elements(self, name)
        return found
