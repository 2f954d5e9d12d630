# SPDX-License-Identifier: BSD-2-Clause
"""One process of a user at a time reads a board's streams over a port; others may still stop and adjust what runs."""

import fcntl
import os
import tempfile
from pathlib import Path

from litepulse.errors import LitePulseError


class Owner:
    """The right to read them, held by a lock on a file."""

    def __init__(self, name: str) -> None:
        folder = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir())
        if not folder.is_dir():
            folder = Path(tempfile.gettempdir())
        key = os.path.realpath(name) if name.startswith("/") else name
        self.path = folder / f"litepulse-{os.getuid()}-{''.join(c if c.isalnum() else '_' for c in key)}.lock"
        self._file: int | None = None

    def acquire(self) -> bool:
        """True if no other process of this user has it. LitePulseError if its file is another user's, or a trap."""
        try:
            number = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise LitePulseError(f"{self.path}: cannot be locked ({error.strerror}): remove it") from None
        if os.fstat(number).st_uid != os.getuid():
            os.close(number)
            raise LitePulseError(f"{self.path}: belongs to another user: remove it")
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(number)
            return False
        os.ftruncate(number, 0)
        os.write(number, f"{os.getpid()}\n".encode())
        self._file = number
        return True

    def holder(self) -> str:
        """The other process's id, or '?'."""
        try:
            said = self.path.read_text(encoding="ascii", errors="replace").strip()
        except OSError:
            return "?"
        return said if said.isdigit() else "?"

    def release(self) -> None:
        """Lets others in."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
