# SPDX-License-Identifier: BSD-2-Clause
"""Lists of a JSON object that is written at the end of a run, kept in a temporary file: a run of any length needs the same memory."""

import codecs
import json
import os
import tempfile
import zlib
from collections.abc import Iterator
from typing import Any

from litepulse.errors import OutputLost

BLOCK = 500  # values that are compressed at a time
IN_MEMORY = 1 << 16  # bytes; a longer list is in the file
PIECE = 1 << 16  # characters that are written at a time


class Spool:
    """A list that grows, compressed: pieces() gives it as JSON."""

    def __init__(self) -> None:
        self.count = 0
        self._values: list[str] = []
        self._begun = self._broken = False
        self._packer = zlib.compressobj(1)
        self._file = tempfile.SpooledTemporaryFile(IN_MEMORY, dir=_folder())

    def add(self, value: Any) -> None:
        """One more. OutputLost if the file cannot be written; pieces() then gives null."""
        self.count += 1
        self._values.append(json.dumps(value, ensure_ascii=False))
        if len(self._values) >= BLOCK:
            self._pack()

    def _pack(self) -> None:
        if self._values:
            text = (", " if self._begun else "") + ", ".join(self._values)
            self._begun = True
            self._values.clear()
            self._write(self._packer.compress(text.encode()))

    def _write(self, data: bytes) -> None:
        if self._broken:
            return
        try:
            self._file.write(data)
        except OSError as error:
            self._broken = True
            where = _folder() or tempfile.gettempdir()
            raise OutputLost(
                f"{where}: what --json will tell cannot be kept there: {error.strerror}; TMPDIR names another folder"
            ) from None

    def pieces(self) -> Iterator[str]:
        """The list as JSON, piece by piece. Nothing can be added after that."""
        if not self._broken:
            self._pack()
            self._write(self._packer.flush())
        if self._broken:
            yield "null"
            return
        yield "["
        self._file.seek(0)
        unpacker, decoder = zlib.decompressobj(), codecs.getincrementaldecoder("utf-8")()
        while packed := self._file.read(PIECE):
            while packed:
                yield decoder.decode(unpacker.decompress(packed, PIECE))
                packed = unpacker.unconsumed_tail
        yield decoder.decode(unpacker.flush()) + "]"


def _folder() -> str | None:
    """Where files may become large, unless the user names one: /tmp is memory on many machines."""
    named = any(os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP"))
    return "/var/tmp" if not named and os.access("/var/tmp", os.W_OK | os.X_OK) else None
