# SPDX-License-Identifier: BSD-2-Clause
"""The files of a result: the page and the JSON."""

import contextlib
import json
import os
import tempfile
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

from litepulse.certify.page import html
from litepulse.errors import BadInput, OutputLost


class Files:
    """NAME.html and NAME.json: found to be writable before anything is measured; what was there before stays until all is written.

    verb: whose result it is; ending, page: of another page
    """

    def __init__(
        self, name: str | None, verb: str = "certify", ending: str = "html", page: Callable[[Mapping[str, Any]], str] = html
    ) -> None:
        self.names = [] if name is None else [f"{name}.{ending}", f"{name}.json"]
        self._verb, self._page = verb, page
        self._made: list[tuple[str, str]] = []  # (of the new content, of the file)

    def __enter__(self) -> Self:
        for name in self.names:
            try:
                if os.path.isdir(name):
                    raise IsADirectoryError(21, "Is a directory")
                file, path = tempfile.mkstemp(prefix=f".{os.path.basename(name)}.", dir=os.path.dirname(name) or ".")
            except OSError as error:
                self._forget()
                raise BadInput(f"{self._verb}: cannot write {name}: {error.strerror}") from None
            os.close(file)
            self._made.append((path, name))
        return self

    def write(self, result: Mapping[str, Any]) -> None:
        """Both."""
        try:
            for path, name in self._made:
                text = self._page(result) if name == self.names[0] else json.dumps(result, ensure_ascii=False, indent=1) + "\n"
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                mask = os.umask(0)
                os.umask(mask)
                os.chmod(path, 0o666 & ~mask)
            while self._made:
                os.replace(*self._made[0])
                self._made.pop(0)
        except OSError as error:
            raise OutputLost(f"{self._verb}: {self.names[0]} and {self.names[1]} cannot be written: {error.strerror}") from None

    def _forget(self) -> None:
        for path, _ in self._made:
            with contextlib.suppress(OSError):
                os.unlink(path)
        self._made.clear()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._forget()
