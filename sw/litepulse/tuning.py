# SPDX-License-Identifier: BSD-2-Clause
"""The settings of litepulse.Realtime: one table of all, and those of the machine, which outlive the
program that sets them.

Of these, journal.py has what each was; guardian.py puts them back if the program is killed.
"""

import errno
import os
import uuid
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from litepulse import idle
from litepulse.errors import BadInput, LitePulseError
from litepulse.guardian import Guardian
from litepulse.journal import Change, Journal, Wanted, file_address, program, stat_fields, thread_address, where
from litepulse.ports import Host, Port, describe, text

WORKQUEUES = Path("devices/virtual/workqueue")  # below sysfs
GOVERNOR = "performance"
HIGHEST_NICE = -20
WORKER_PRIORITY = 50  # that of the kernel's interrupt threads
LATENCY_MS = 1  # an adapter's latency timer
_KTHREADD = "2"  # the parent of all threads of the kernel
BY_KERNEL = "the kernel, when the program ends"
BY_JOURNAL = "the program; killed, its guardian; else the next start"


@dataclass(frozen=True)
class Setting:
    """A row of the table. name: the argument of Realtime; word: that of --realtime; where: which
    file or call; becomes; undone: by whom.

    port: it is about a serial port
    """

    name: str
    word: str
    where: str
    becomes: str
    undone: str
    port: bool = False


TABLE = (
    Setting("priority", "priority", "sched_setscheduler() of the thread", "SCHED_FIFO", BY_KERNEL),
    Setting("lock_memory", "memory", "mlockall()", "all pages locked", BY_KERNEL),
    Setting("cpus", "cpu", "sched_setaffinity() of the thread", "these processors", BY_KERNEL),
    Setting("dma_latency", "dma", "/dev/cpu_dma_latency", "held open with 0 µs", BY_KERNEL),
    Setting("worker_nice", "flip", "/sys/devices/virtual/workqueue/DRIVER-*/nice; before 7.2 nice of kworker/u*", "-20", BY_JOURNAL, True),
    Setting("worker_priority", "kworkers", "sched_setscheduler() of kworker/u*", "SCHED_FIFO 50", BY_JOURNAL),
    Setting("power", "power", "power/control of the port's devices", "on", BY_JOURNAL, True),
    Setting("latency_timer", "timer", "latency_timer of the adapter", "1 ms", BY_JOURNAL, True),
    Setting("cstates", "cstates", "cpuN/cpuidle/stateN/disable", "1", BY_JOURNAL),
    Setting("governor", "governor", "cpufreq/policyN/scaling_governor", "performance", BY_JOURNAL),
)


@dataclass(frozen=True)
class Tuning:
    """What of the machine a program wants; None, False, or empty: as it is."""

    worker_nice: int | None = None
    worker_priority: int | None = None
    power: bool = False
    latency_timer: int | None = None
    cstates: Collection[int] = ()
    governor: str | None = None
    port: str | None = None

    def __bool__(self) -> bool:
        return bool(self._rows())

    def _rows(self) -> list[tuple[str, Callable[[Host], list[Wanted]]]]:
        rows: tuple[tuple[bool, str, Callable[[Host], list[Wanted]]], ...] = (
            (self.worker_nice is not None, "worker_nice", self._worker_nice),
            (self.worker_priority is not None, "worker_priority", self._worker_priority),
            (self.power, "power", self._power),
            (self.latency_timer is not None, "latency_timer", self._latency_timer),
            (bool(self.cstates), "cstates", self._cstates),
            (self.governor is not None, "governor", self._governor),
        )
        return [(name, find) for wanted, name, find in rows if wanted]

    def find(self, host: Host) -> tuple[list[Wanted], list[str]]:
        """(what to set, a line for each setting that this machine does not have)."""
        wanted: list[Wanted] = []
        lacking: list[str] = []
        for name, find in self._rows():
            try:
                wanted += find(host)
            except _Lacking as error:
                lacking.append(f"{name}: {error}")
        return wanted, lacking

    def _port(self, host: Host) -> Port:
        assert self.port is not None  # Realtime checks it
        try:
            return describe(host, self.port)
        except BadInput as error:
            raise _Lacking(str(error)) from None

    def _worker_nice(self, host: Host) -> list[Wanted]:
        queues = port_workers(host, self._port(host).name)
        if queues:
            return [Wanted("worker_nice", file_address(queue / "nice"), str(self.worker_nice)) for queue in queues]
        found = [address for folder in kworkers(host) if (address := thread_address("nice", folder))]
        if not found:
            raise _Lacking("this kernel shows no workers for this port")
        return [Wanted("worker_nice", address, str(self.worker_nice)) for address in found]

    def _worker_priority(self, host: Host) -> list[Wanted]:
        found = [address for folder in kworkers(host) if (address := thread_address("policy", folder))]
        if not found:
            raise _Lacking("no thread kworker/u* is seen here")
        return [Wanted("worker_priority", address, f"{os.SCHED_FIFO}:{self.worker_priority}") for address in found]

    def _power(self, host: Host) -> list[Wanted]:
        files = power_files(host, self._port(host).name)
        if not files:
            raise _Lacking(f"the kernel does not manage the power of {self.port}")
        return [Wanted("power", file_address(file), "on") for file in files]

    def _latency_timer(self, host: Host) -> list[Wanted]:
        file = self._port(host).latency_file
        if file is None:
            raise _Lacking(f"{self.port} has no adapter with a latency timer that can be set")
        return [Wanted("latency_timer", file_address(file), str(self.latency_timer))]

    def _cstates(self, host: Host) -> list[Wanted]:
        states = {state.number: state for state in idle.idle_states(host)}
        missing = sorted(set(self.cstates) - states.keys())
        if missing:
            there = ", ".join(f"{state.number} {state.name}" for state in states.values()) or "none"
            raise _Lacking(f"there is no idle state {', '.join(map(str, missing))}; there is: {there}")
        deepest_first = sorted(set(self.cstates), reverse=True)
        return [Wanted("cstates", file_address(file), "1") for number in deepest_first for file in states[number].files]

    def _governor(self, host: Host) -> list[Wanted]:
        files = governor_files(host)
        if not files:
            raise _Lacking("this kernel shows no governor (cpufreq)")
        for file in files:
            known = text(file.with_name("scaling_available_governors")).split()
            if known and self.governor not in known:
                raise _Lacking(f"{file.parent.name} has no governor {self.governor}; it has {', '.join(known)}")
        return [Wanted("governor", file_address(file), str(self.governor)) for file in files]


class _Lacking(Exception):
    """This machine does not have the setting."""


def port_workers(host: Host, port: str) -> list[Path]:
    """The workqueues that carry bytes from a port's driver and from the ttys of boards, as sysfs
    has them; from Linux 7.2 on."""
    folder, driver = host.sysfs / WORKQUEUES, port.rstrip("0123456789")
    if not folder.is_dir():
        return []
    queues = sorted(folder.iterdir())
    ours = [queue for queue in queues if queue.name.startswith(f"{driver}-")]
    return sorted({*ours, *(queue for queue in queues if queue.name.startswith("ttyPULSE-"))}) if ours else []


def kworkers(host: Host) -> list[Path]:
    """Folders of /proc of the kernel's threads that work for all processors; a program that only
    has such a name is none."""
    found = [folder for folder in host.proc.glob("[0-9]*") if text(folder / "comm").startswith("kworker/u")]
    return sorted((folder for folder in found if stat_fields(folder)[1:2] == [_KTHREADD]), key=lambda folder: int(folder.name))


def power_files(host: Host, port: str) -> list[Path]:
    """power/control of a port's device, its adapter and the hubs and buses that it is behind."""
    link = host.sysfs / "class" / "tty" / port
    if not link.exists():
        return []
    device, top = link.resolve(), (host.sysfs / "devices").resolve()
    folders = [folder for folder in (device, *device.parents) if folder.is_relative_to(top)]
    return [folder / "power/control" for folder in folders if (folder / "power/control").is_file()]


def governor_files(host: Host) -> list[Path]:
    """One for each group of processors with a common clock."""
    return sorted((host.sysfs / idle.CPUS).glob("cpufreq/policy[0-9]*/scaling_governor"), key=lambda file: int(file.parent.name[6:]))


def governors(host: Host) -> list[str]:
    """Those in use, each once."""
    return sorted({text(file) for file in governor_files(host)} - {""})


# A context --------------------------------------------------------------------------------------------------------------


@dataclass
class Tuned:
    """Settings of the machine in force for a program.

    changes: each with what it was and what it is; refused: a line for each that could not be had;
    notes: what a program that was killed had left, and what could not be put back
    """

    host: Host
    changes: list[Change] = field(default_factory=list[Change])
    refused: list[str] = field(default_factory=list[str])
    notes: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self._journal = Journal(self.host.state)
        self._who = program(uuid.uuid4().hex)
        self._guardian: Guardian | None = None

    def sweep(self) -> None:
        """Puts back what was left by programs that were killed."""
        try:
            self.notes += self._journal.sweep()
        except (LitePulseError, OSError) as error:
            self.notes.append(_sentence(error))

    def apply(self, tuning: Tuning) -> None:
        """As far as this user may. What is refused is in `refused`, in a line for each setting."""
        wanted, self.refused = tuning.find(self.host)
        if not wanted:
            return
        try:
            self._guardian = Guardian(self.host.state, self._who)
            changes, refused, notes = self._journal.take(self._who, wanted)
        except (LitePulseError, OSError) as error:
            self.refused += [f"{name}: {_sentence(error)}" for name in dict.fromkeys(each.name for each in wanted)]
            return
        self.changes += changes
        self.notes += notes
        self.refused += _lines(refused)

    def release(self) -> None:
        """Puts back what it was. In a process that was forked from this one it does nothing."""
        if os.getpid() != self._who.process:
            return
        try:
            self.notes += self._journal.release(self._who.id)
        except (LitePulseError, OSError) as error:
            self.notes.append(_sentence(error))
        guardian, self._guardian = self._guardian, None
        if guardian:
            guardian.close()


def _sentence(error: Exception) -> str:
    return f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else str(error)


def _lines(refused: Sequence[tuple[Wanted, OSError]]) -> list[str]:
    """One for each setting: the first file that refused, and how many more did."""
    lines: list[str] = []
    for name in dict.fromkeys(each.name for each, _ in refused):
        (first, error), *others = [row for row in refused if row[0].name == name]
        more = f", and {len(others)} more" if others else ""
        rights = ": it needs root" if error.errno in (errno.EACCES, errno.EPERM) else ""
        lines.append(f"{name}: {where(first.address)} is refused ({error.strerror}){more}{rights}")
    return lines
