# SPDX-License-Identifier: BSD-2-Clause
"""One process of a user at a time reads a board's streams over a port; others may still stop and adjust what runs."""

import contextlib
import fcntl
import hashlib
import os
import stat
import tempfile
from pathlib import Path

from litepulse.errors import LitePulseError, printable

_LONGEST_ID = 12  # bytes of a process's id, and its line's end
_LONGEST_NAME = 200  # bytes; a file's name has 255 at most


class Owner:
    """The right to read them, held by a lock on a file."""

    def __init__(self, name: str) -> None:
        folder = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir())
        if not folder.is_dir():
            folder = Path(tempfile.gettempdir())
        key = os.path.realpath(name) if name.startswith("/") else name
        word = "".join(c if c.isalnum() and c.isascii() else "_" for c in key)
        if len(word) > _LONGEST_NAME:
            word = hashlib.sha256(key.encode(errors="surrogateescape")).hexdigest()
        self.path = folder / f"litepulse-{os.getuid()}-{word}.lock"
        self._file: int | None = None

    def acquire(self) -> bool:
        """True if no other process of this user has it. LitePulseError if its file is another user's, or a trap, or cannot be."""
        while True:
            number = self._open()
            try:
                fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(number)
                return False
            except OSError as error:
                os.close(number)
                raise LitePulseError(f"{self.path}: cannot be locked ({error.strerror})") from None
            if self._is_named(number):
                break
            os.close(number)  # its owner removed it after our open(): the next owner locks another file
        self._file = number
        with contextlib.suppress(OSError):  # a full disk: only the owner's number is missing then
            os.ftruncate(number, 0)
            os.write(number, f"{os.getpid()}\n".encode())
        return True

    def _open(self) -> int:
        """The file, made if there is none. LitePulseError if it is not ours."""
        try:
            number = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            there = os.path.lexists(str(self.path).replace("\0", ""))
            what = "remove it" if there else "XDG_RUNTIME_DIR, or else TMPDIR, must be a folder that you may write to"
            raise LitePulseError(f"{printable(str(self.path))}: cannot be locked ({reason}): {what}") from None
        status = os.fstat(number)
        if status.st_uid != os.getuid() or not stat.S_ISREG(status.st_mode):
            os.close(number)
            raise LitePulseError(f"{printable(str(self.path))}: belongs to another user, or is no plain file: remove it")
        return number

    def _is_named(self, number: int) -> bool:
        """Whether an open file is the one that has our name now."""
        try:
            named = os.stat(self.path, follow_symlinks=False)
        except OSError:
            return False
        return os.path.samestat(named, os.fstat(number))

    def holder(self) -> str:
        """The other process's id, or '?'."""
        try:
            with open(self.path, "rb") as file:
                content = file.read(_LONGEST_ID).strip()
        except OSError:
            return "?"
        return content.decode() if content.isdigit() else "?"

    def release(self) -> None:
        """Releases the lock, and removes the file while it is still locked, so that no other
        process uses the removed
        one: see acquire()."""
        if self._file is not None:
            if self._is_named(self._file):
                with contextlib.suppress(OSError):
                    os.unlink(self.path)
            os.close(self._file)
            self._file = None
