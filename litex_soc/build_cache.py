# SPDX-License-Identifier: BSD-2-Clause
"""Keeps what is slow to make below one folder, by the content of everything it was made from.

    KERNELS = Store("kernels")
    folder = KERNELS.folder("vexriscv-test", content_key(version, config), make)     make(folder) runs once
    PROOFS.remember("train-prove", key, {"status": "PASS"})                          small results, as JSON
    PROOFS.recall("train-prove", key)

    python -m litex_soc.build_cache [clean]         says how large it is [and removes what no current input needs]

An entry has a label (what it is) and a key (from which inputs it was made). It is there whole or not at all, several processes may ask
for it at once, and each use is noted. The cache may be deleted at any time; it lies in $XDG_CACHE_HOME/litepulse, ~/.cache/litepulse
by default. This module imports nothing of the project but litex_soc.tokens, so that every part of it can use the cache.

A source file counts by its tokens (litex_soc/tokens.py): a comment, a blank line or another indentation makes no new key.

One rule says what goes: of each label the KEEP entries that were used last stay, and all that was used within TOGETHER_SECONDS of the
last use (one run may need several). It is applied to a label whenever a new entry of it is made. `clean` applies it to all labels with a
KEEP of 1, and removes what was not used for UNUSED_DAYS, too.
"""

from __future__ import annotations

import contextlib
import fcntl
import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from litex_soc.tokens import tokens

KEEP = 2
TOGETHER_SECONDS = 900
UNUSED_DAYS = 30
COMPLETE = ".complete"  # in a folder that is whole; its date is that of the last use
VALUE = ".json.gz"
KEY_DIGITS = 16
CCACHE_SIZE = "2G"

# What lies below the cache folder, for people. A test compares it with the stores that the sources name.
ABOUT = {
    "adapters": "Python packages that the full tests of adapters import",
    "boards": "bitstreams",
    "boots": "recorded runs of User-mode Linux",
    "ccache": "compiled C and C++ files",
    "debian": "packages of other Debian suites",
    "faults": "mutations that were caught",
    "formal": "proofs that passed",
    "machines": "minimal Debian machines that packages are installed on",
    "mutants": "verdicts on mutants",
    "kernels": "kernel headers with their compilers",
    "linux": "kernels, C libraries, guests and their states after the boot",
    "netlists": "netlists",
    "passed": "which tests passed, by their inputs",
    "pins": "pin constraints that nextpnr accepted",
    "runs": "recorded runs of Linux on the simulated SoC",
    "simulations": "cocotb simulations that passed",
    "simulators": "simulated SoCs",
    "uml": "User-mode Linux",
    "yowasp": "Yosys and nextpnr, compiled for this machine",
}


def cache_folder() -> Path:
    """Where the cache of this user lies; it need not exist."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "litepulse"


CACHE = cache_folder()


def is_fresh() -> bool:
    """Whether LITEPULSE_FRESH asks for results to be found again."""
    return os.environ.get("LITEPULSE_FRESH", "") not in ("", "0")


def ccache_environment() -> dict[str, str]:
    """Variables that make ccache keep its files here, within CCACHE_SIZE; {} without ccache.

    It goes by the compiler's own list of headers, so that a new file is not preprocessed twice:
    three tenths of the time of a kernel.
    """
    if not shutil.which("ccache"):
        return {}
    ours = {"CCACHE_DIR": str(CACHE / "ccache"), "CCACHE_MAXSIZE": CCACHE_SIZE, "CCACHE_DEPEND": "1"}
    return {name: os.environ.get(name, value) for name, value in ours.items()}


def say(text: str) -> None:
    """A line for the person who waits: on standard error, and in the file LITEPULSE_MESSAGES, which a run of tests shows as it goes."""
    print(text, file=sys.stderr, flush=True)
    if file := os.environ.get("LITEPULSE_MESSAGES"):
        with contextlib.suppress(OSError), open(file, "a", encoding="utf-8") as handle:
            handle.write(f"{text}\n")


@contextlib.contextmanager
def locked(path: Path) -> Generator[None]:
    """Holds an exclusive lock, also against other processes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="utf-8") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def content_key(*parts: Any) -> str:
    """64 hexadecimal digits that stand for texts, bytes, files, and lists and dicts of them.

    A file is a Path: its name, and its content or, of a source, its tokens. Where every byte of a source counts, pass its bytes.
    """
    digest = hashlib.sha256()

    def add(part: Any) -> None:
        if isinstance(part, (Path, bytes)):
            data = tokens(part.name, part.read_bytes()) if isinstance(part, Path) else part
            digest.update(f"{f'file {part.name}' if isinstance(part, Path) else 'bytes'} {len(data)}\n".encode())
            digest.update(data)
        elif isinstance(part, dict):
            add(sorted((str(name), str(value)) for name, value in cast("dict[Any, Any]", part).items()))
        elif isinstance(part, (list, tuple)):
            items = cast("list[Any] | tuple[Any, ...]", part)
            digest.update(f"list {len(items)}\n".encode())
            for item in items:
                add(item)
        else:
            digest.update(f"text {part!r}\n".encode())

    add(parts)
    return digest.hexdigest()


@dataclass(frozen=True)
class Entry:
    """Something that is kept; `used` in seconds since the epoch."""

    path: Path
    label: str
    used: float


class Store:
    """One kind of thing in the cache, or below another folder (`root`)."""

    def __init__(self, name: str, root: Path | None = None) -> None:
        self.name, self._root = name, root

    @property
    def path(self) -> Path:
        """The folder with the entries."""
        return (self._root or CACHE) / self.name

    def _entry(self, label: str, key: str) -> Path:
        name = re.sub(r"[^\w.+=@,-]+", "-", label)[:120]
        return self.path / f"{name}-{key[:KEY_DIGITS]}"

    def _value(self, label: str, key: str) -> Path:
        return self.path / (self._entry(label, key).name + VALUE)

    def _lock(self, entry: Path) -> Path:
        return self.path / ".locks" / entry.name

    def find(self, label: str, key: str) -> Path | None:
        """The folder of an entry if it is there; notes the use."""
        entry = self._entry(label, key)
        try:
            os.utime(entry / COMPLETE)
        except OSError:
            return None
        return entry

    def folder(self, label: str, key: str, make: Callable[[Path], object], what: str = "") -> Path:
        """The folder of an entry, filled by `make(folder)` unless it is there. Paths in it stay valid: it is made where it stays.

        what: printed on standard error while it is made
        """
        if found := self.find(label, key):
            return found
        entry = self._entry(label, key)
        with locked(self._lock(entry)):
            if found := self.find(label, key):
                return found
            remove(entry)
            entry.mkdir(parents=True)
            start = time.monotonic()
            if what:
                say(f"making {what} ...")
            try:
                make(entry)
            except BaseException:
                if not any(entry.rglob("*.log")):  # the error may name its log
                    remove(entry)
                raise
            (entry / COMPLETE).touch()
            if what:
                say(f"made {what} in {time.monotonic() - start:.0f} s, kept in {entry}")
        self.evict(label=entry.name.rpartition("-")[0])
        return entry

    def recall(self, label: str, key: str) -> dict[str, Any] | None:
        """The value that was remembered, None if there is none, none that is whole, or LITEPULSE_FRESH=1."""
        if is_fresh():
            return None
        path = self._value(label, key)
        try:
            value = json.loads(gzip.decompress(path.read_bytes()))
            os.utime(path)
        except (OSError, ValueError, EOFError, zlib.error):
            return None
        return value

    def remember(self, label: str, key: str, value: dict[str, Any]) -> None:
        """Keeps a dict of plain values for recall(), if the cache can be written."""
        path = self._value(label, key)
        new = path.with_name(f".{path.name}.{os.getpid()}.{time.monotonic_ns()}")
        with contextlib.suppress(OSError):  # a result that cannot be kept is found again next time
            path.parent.mkdir(parents=True, exist_ok=True)
            new.write_bytes(gzip.compress(json.dumps(value).encode(), mtime=0))
            new.replace(path)

    def entries(self, label: str | None = None) -> list[Entry]:
        """What is kept here, of one label or of all; the last used comes first."""
        found: list[Entry] = []
        with contextlib.suppress(FileNotFoundError):
            for path in self.path.iterdir():
                stamp = path if path.name.endswith(VALUE) else path / COMPLETE
                of, _, key = path.name.removesuffix(VALUE).rpartition("-")
                if of and label in (None, of) and re.fullmatch(rf"[0-9a-f]{{{KEY_DIGITS}}}", key):
                    with contextlib.suppress(OSError):
                        found.append(Entry(path, of, stamp.stat().st_mtime))
        return sorted(found, key=lambda entry: -entry.used)

    def evict(self, keep: int = KEEP, unused_days: float | None = None, label: str | None = None) -> list[Entry]:
        """Removes what the rule says (see above), of one label or of all; what was removed."""
        removed: list[Entry] = []
        by_label: dict[str, list[Entry]] = {}
        for entry in self.entries(label):
            by_label.setdefault(entry.label, []).append(entry)
        for entries in by_label.values():
            for rank, entry in enumerate(entries):
                superseded = rank >= keep and entry.used < entries[0].used - TOGETHER_SECONDS
                old = unused_days is not None and entry.used < time.time() - unused_days * 86400
                if (superseded or old) and self._discard(entry):
                    removed.append(entry)
        return removed

    def _discard(self, entry: Entry) -> bool:
        """Removes an entry unless a process is making it."""
        lock = self._lock(entry.path)
        lock.parent.mkdir(parents=True, exist_ok=True)
        with open(lock, "w", encoding="utf-8") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            remove(entry.path)
            lock.unlink(missing_ok=True)
        return True

    def discard_unfinished(self) -> list[Entry]:
        """Removes folders that are not whole and that no process is making; returns them."""
        removed: list[Entry] = []
        for lock in sorted(self.path.glob(".locks/*")):
            entry = self.path / lock.name
            if entry.is_dir() and not (entry / COMPLETE).exists():
                unfinished = Entry(entry, lock.name.rpartition("-")[0], 0)
                if self._discard(unfinished):
                    removed.append(unfinished)
        return removed


def remove(path: Path) -> None:
    """Removes a file or a folder; it need not be there."""
    if path.is_dir() and not path.is_symlink():
        (path / COMPLETE).unlink(missing_ok=True)  # first: half of it must not pass for whole
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def megabytes(size: float) -> str:
    """'12.3 MB' of `size` bytes."""
    return f"{size / 1e6:,.1f} MB"


def folder_size(path: Path) -> int:
    """Bytes on the disk of all below a folder, each file once however many links it has."""
    seen: set[tuple[int, int]] = set()
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            with contextlib.suppress(OSError):
                status = os.lstat(os.path.join(folder, name))
                if (status.st_dev, status.st_ino) not in seen:
                    seen.add((status.st_dev, status.st_ino))
                    total += status.st_blocks * 512
    return total


def report() -> list[str]:
    """Lines that say how large the cache is, and where."""
    kinds = sorted(path for path in CACHE.iterdir() if path.is_dir()) if CACHE.is_dir() else []
    lines = [f"{path.name:12} {megabytes(folder_size(path)):>12}  {ABOUT.get(path.name, 'not of this version')}" for path in kinds]
    return [*lines, f"{'in all':12} {megabytes(folder_size(CACHE)):>12}  {CACHE}"]


def clean() -> list[str]:
    """Removes what no current input needs; lines that say what went."""
    before = folder_size(CACHE)
    lines: list[str] = []
    for path in sorted(CACHE.iterdir()) if CACHE.is_dir() else []:
        if path.is_dir() and path.name not in ABOUT:
            remove(path)
            lines.append(f"{path.name}: all, it is not of this version")
        elif path.is_dir():
            store = Store(path.name)
            gone = [*store.discard_unfinished(), *store.evict(1, UNUSED_DAYS)]
            lines += [f"{path.name}: {len(gone)} removed"] if gone else []
    if (CACHE / "ccache").is_dir() and shutil.which("ccache"):
        command = ["ccache", "--evict-older-than", f"{UNUSED_DAYS}d"]
        subprocess.run(command, env={**os.environ, **ccache_environment()}, capture_output=True, check=False)
    return [*lines, f"{megabytes(before - folder_size(CACHE))} removed, {megabytes(folder_size(CACHE))} left in {CACHE}"]


def main(arguments: list[str]) -> int:
    """The command; exit status 2 for words it does not know."""
    if arguments not in ([], ["clean"]):
        print("usage: python -m litex_soc.build_cache [clean]", file=sys.stderr)
        return 2
    print("\n".join(clean() if arguments else report()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
