# SPDX-License-Identifier: BSD-2-Clause
"""Settings of the machine that programs change for a while: what each was, which program holds it,
and how it is put back.

The kernel undoes nothing of this when a program ends. So a journal, a file in a folder of this
user, has each setting from before it is changed until it is put back: by the program when it leaves
its context, by its guardian (guardian.py) when it was killed, or by the next program that opens the
journal when both were.

An address names a setting: "file PATH", or "nice" or "policy" with "NUMBER STARTED PROC" of a
thread, so that another thread that has got the same number is not taken for it.
"""

import contextlib
import errno
import fcntl
import json
import os
import stat
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from litepulse.errors import LitePulseError

PROC = Path("/proc")
BOOT = PROC / "sys/kernel/random/boot_id"
_GONE = (errno.ENOENT, errno.ESRCH, errno.ENODEV, errno.ENXIO)  # an adapter was unplugged, a thread has ended


class Hold(TypedDict):
    """One program's wish."""

    id: str
    process: int
    started: str
    wanted: str


class Entry(TypedDict):
    """A setting that is not as it was. became: what was written last."""

    name: str
    was: str
    became: str
    holds: list[Hold]


Book = dict[str, Entry]  # by address, the oldest first


@dataclass(frozen=True)
class Wanted:
    """A value for the setting at an address; name: of the row of the table that it belongs to."""

    name: str
    address: str
    value: str


@dataclass(frozen=True)
class Change:
    """A setting as it was before, and as it is now; both are the same if it was so already. where:
    a file, or a thread of the kernel."""

    name: str
    where: str
    before: str
    after: str


@dataclass(frozen=True)
class Program:
    """A program that holds settings; `id` is that of one context of it."""

    id: str
    process: int
    started: str


# Settings by their addresses --------------------------------------------------------------------------------------------


def file_address(path: Path) -> str:
    """Of a file of sysfs."""
    return f"file {path}"


def thread_address(kind: str, folder: Path) -> str | None:
    """Of 'nice' or 'policy' of the thread that a folder of /proc is about; None if it has ended."""
    started = started_at(folder)
    return None if started is None else f"{kind} {folder.name} {started} {folder.parent}"


def where(address: str) -> str:
    """An address for people."""
    kind, _, rest = address.partition(" ")
    return rest if kind == "file" else f"{kind} of thread {rest.split()[0]}"


def read(address: str) -> str:
    """The value now. OSError."""
    kind, _, rest = address.partition(" ")
    if kind == "file":
        return Path(rest).read_text(encoding="utf-8", errors="replace").strip()
    thread = _thread(rest)
    if kind == "nice":
        return str(os.getpriority(os.PRIO_PROCESS, thread))
    return f"{os.sched_getscheduler(thread)}:{os.sched_getparam(thread).sched_priority}"


def write(address: str, value: str) -> None:
    """OSError if it is refused."""
    kind, _, rest = address.partition(" ")
    if kind == "file":
        file = os.open(rest, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)  # never made if it is not there
        try:
            os.write(file, f"{value}\n".encode())
        finally:
            os.close(file)
        return
    thread = _thread(rest)
    if kind == "nice":
        os.setpriority(os.PRIO_PROCESS, thread, int(value))
        return
    policy, _, priority = value.partition(":")
    os.sched_setscheduler(thread, int(policy), os.sched_param(int(priority)))


def _thread(words: str) -> int:
    number, started, proc = words.split(" ", 2)
    if started_at(Path(proc) / number) != started:
        raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH))
    return int(number)


def stat_fields(folder: Path) -> list[str]:
    """Those of /proc/N/stat behind the name: state, parent, …; none if the process is not there."""
    try:
        return (folder / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def started_at(folder: Path) -> str | None:
    """When a process started, in the kernel's ticks since boot; None if it has ended (a zombie
    has)."""
    fields = stat_fields(folder)
    return fields[19] if len(fields) > 19 and fields[0] not in "ZX" else None


def program(number: str) -> Program:
    """This process, with the name of one of its contexts."""
    return Program(number, os.getpid(), started_at(PROC / str(os.getpid())) or "")


# The journal ------------------------------------------------------------------------------------------------------------


class Journal:
    """The file, and the settings that it has. One program at a time has it open."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def exists(self) -> bool:
        """Some program has changed a setting since the machine was started."""
        return self._file.exists()

    @property
    def _file(self) -> Path:
        return self.folder / "settings.json"

    @contextlib.contextmanager
    def _open(self) -> Generator[Book]:
        """What it has, written back in the end.

        LitePulseError if others may write to the folder: what it says is written with the rights of
        this user.
        """
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            status = self.folder.lstat()
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o022:
                raise LitePulseError(f"{self.folder}: only this user may write there, or others could change settings: remove it")
            lock = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise LitePulseError(f"{self.folder}: what was before cannot be noted there: {error.strerror}") from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            book = self._load()
            try:
                yield book
            finally:
                self._save(book)
        finally:
            os.close(lock)

    def _load(self) -> Book:
        """What it has. Nothing of before the machine was started is true any more."""
        try:
            found = json.loads(self._file.read_text(encoding="utf-8"))
            return found["settings"] if found["boot"] == _boot() else {}
        except (OSError, ValueError, KeyError, TypeError):
            return {}

    def _save(self, book: Book) -> None:
        """At once the whole: a program may be killed at any moment. OSError."""
        if not book:
            self._file.unlink(missing_ok=True)
            return
        new = self._file.with_suffix(".new")
        new.write_text(json.dumps({"boot": _boot(), "settings": book}, indent=1), encoding="utf-8")
        new.replace(self._file)

    def take(self, who: Program, wanted: Iterable[Wanted]) -> tuple[list[Change], list[tuple[Wanted, OSError]], list[str]]:
        """(what was changed, what was refused, notes about what a killed program had left)."""
        changes: list[Change] = []
        refused: list[tuple[Wanted, OSError]] = []
        with self._open() as book:
            notes = self._sweep(book)
            for each in wanted:
                try:
                    changes.append(self._apply(book, who, each))
                except OSError as error:
                    refused.append((each, error))
        return changes, refused, notes

    def release(self, who: str) -> list[str]:
        """Puts back what one context holds alone; a sentence for each setting that is not as it
        was. May be called again."""
        if not self.exists:
            return []
        with self._open() as book:
            return self._drop(book, lambda hold: hold["id"] != who)

    def sweep(self) -> list[str]:
        """Puts back what programs hold that were killed, as release()."""
        if not self.exists:
            return []
        with self._open() as book:
            return self._sweep(book)

    def _sweep(self, book: Book) -> list[str]:
        holds = [hold for entry in book.values() for hold in entry["holds"]]
        dead = {hold["id"]: hold["process"] for hold in holds if started_at(PROC / str(hold["process"])) != hold["started"]}
        notes = self._drop(book, lambda hold: hold["id"] not in dead)
        return [*(f"settings of process {number}, which was killed, are put back now" for number in sorted(set(dead.values()))), *notes]

    def _apply(self, book: Book, who: Program, each: Wanted) -> Change:
        """OSError if it is refused; then nothing is changed."""
        before, entry = read(each.address), book.get(each.address)
        if entry is None and before == each.value:
            return Change(each.name, where(each.address), before, before)
        was = before if entry is None or entry["became"] != before else entry["was"]  # another program's change is put back, too
        holds: Sequence[Hold] = entry["holds"] if entry else ()
        hold: Hold = {"id": who.id, "process": who.process, "started": who.started, "wanted": each.value}
        book[each.address] = {"name": each.name, "was": was, "became": each.value, "holds": [*holds, hold]}
        after = before
        try:
            self._save(book)  # first, so that nothing is changed of which the journal does not know what it was
            if before != each.value:
                write(each.address, each.value)
                after = read(each.address)
        except OSError:
            if entry:
                book[each.address] = entry
            else:
                del book[each.address]
            raise
        book[each.address]["became"] = after
        return Change(each.name, where(each.address), before, after)

    @staticmethod
    def _drop(book: Book, keep: Callable[[Hold], bool]) -> list[str]:
        """Ends holds, the newest first. A setting goes to what the youngest of the others wanted,
        else to what it was.

        What another program has written meanwhile stays.
        """
        notes: list[str] = []
        for address, entry in reversed(list(book.items())):
            kept = [hold for hold in entry["holds"] if keep(hold)]
            if kept and len(kept) == len(entry["holds"]):
                continue
            entry["holds"] = kept
            value = kept[-1]["wanted"] if kept else entry["was"]
            about = f"{entry['name']}: {where(address)}"
            try:
                now = read(address)
                if now == entry["became"] != value:
                    write(address, value)
                    entry["became"] = value
                elif now not in (entry["became"], value):
                    notes.append(
                        f"{about} is now {now}: another program has changed it from {entry['became']}, so it is not put back to {value}"
                    )
            except OSError as error:
                if error.errno not in _GONE:
                    notes.append(f"{about} cannot be put back to {value}: {error.strerror}")
                    continue  # the next start tries again
            if not kept:
                del book[address]
        return notes


def _boot() -> str:
    """Of this start of the machine."""
    try:
        return BOOT.read_text(encoding="ascii").strip()
    except OSError:
        return ""
