# SPDX-License-Identifier: BSD-2-Clause
"""The settings with which a Linux program answers sooner and more evenly, each by itself, all of
them undone in the end.

with litepulse.Realtime(priority=80, lock_memory=True, cpus={3}, dma_latency=0):
    ...

tuning.py has the table of all settings, and those of the machine.
"""

import contextlib
import errno
import os
import re
import struct
import sys
import threading
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from litepulse.errors import BadInput, Unsupported, check_text, shown
from litepulse.units import Whole, whole, within

if TYPE_CHECKING or sys.platform == "linux":  # another system has no files for this
    from litepulse import ports
    from litepulse.journal import Change
    from litepulse.tuning import Tuned, Tuning

DMA_LATENCY = "/dev/cpu_dma_latency"
ISOLATED = "/sys/devices/system/cpu/isolated"
DEFAULT_PRIORITY = 80  # above the kernel's interrupt threads, which have 50
_MCL_CURRENT_AND_FUTURE = 3
_LONGEST_LATENCY = 2_000_000_000  # us; the kernel keeps it in a signed 32-bit word
_MOST_STATES = 10  # CPUIDLE_STATE_MAX of the kernel


class Realtime:
    """A context in which the settings hold. What was before it is there again behind it, also after
    an exception.

    Of the program, undone by the kernel if it is killed:

    priority: SCHED_FIFO with this priority, 1 to 99, for the thread that enters. It does not pass
        to threads and processes that this one starts (SCHED_RESET_ON_FORK)
    lock_memory: all pages of the process stay in memory (mlockall)
    cpus: the thread that enters runs only on these processors, and what it starts, too
    dma_latency: no processor of the machine goes into an idle state that takes longer than this
    many microseconds to leave
        (/dev/cpu_dma_latency, held open)

    Unsupported, which names the setting: one of these cannot be had; then none at all is left in
    force.

    Of the machine, undone by a guardian process if the program is killed:

    worker_nice: nice, -20 to 19, of the kernel's workers that carry received bytes to the port's
        reader: those of the port alone from Linux 7.2 on, all workers of the kernel that are bound
        to no processor before
    worker_priority: SCHED_FIFO with this priority for all these workers
    power: the port's adapter, and the hubs and buses before it, are not suspended while they are
        idle (power/control)
    latency_timer: how many ms, 1 to 255, the port's USB adapter waits for more bytes
    cstates: numbers of idle states that no processor enters (cpuidle/stateN)
    governor: what chooses the clock of the processors, such as 'performance' (cpufreq)
    port: the serial port that worker_nice, power and latency_timer are about

    Of these, each holds as far as it can be had: `refused` has a line for each that cannot.

    changes: what was changed of the machine, with `name`, `where`, `before` and `after`
    notes: behind the context, what could not be put back, such as what another program has changed
        meanwhile; within it, what a program that was killed together with its guardian had left and
        what is now put back

    Enter and leave it in the same thread.
    """

    def __init__(
        self,
        *,
        priority: Whole | None = None,
        lock_memory: bool = False,
        cpus: Iterable[Whole] | None = None,
        dma_latency: Whole | None = None,
        worker_nice: Whole | None = None,
        worker_priority: Whole | None = None,
        power: bool = False,
        latency_timer: Whole | None = None,
        cstates: Iterable[Whole] | None = None,
        governor: str | None = None,
        port: str | None = None,
    ) -> None:
        self.lock_memory = lock_memory
        self.priority = None if priority is None else within(priority, "priority", 1, 99)
        self.dma_latency = None if dma_latency is None else whole(dma_latency, "dma_latency")
        self.cpus = None if cpus is None else _numbers(cpus, "cpus")
        if self.cpus is not None and not self.cpus:
            raise BadInput("cpus: give one at least")
        if self.dma_latency is not None and not 0 <= self.dma_latency <= _LONGEST_LATENCY:
            raise BadInput(f"dma_latency: {dma_latency} us is outside 0 to {_LONGEST_LATENCY}")
        self.worker_nice = None if worker_nice is None else within(worker_nice, "worker_nice", -20, 19)
        self.worker_priority = None if worker_priority is None else within(worker_priority, "worker_priority", 1, 99)
        if not isinstance(power, (bool, type(None))):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise BadInput(f"power: {shown(power)} is neither True nor False")
        self.power = bool(power)
        self.latency_timer = None if latency_timer is None else within(latency_timer, "latency_timer", 1, 255)
        self.cstates = set[int]() if cstates is None else _numbers(cstates, "cstates")
        if any(not 0 <= number < _MOST_STATES for number in self.cstates):
            raise BadInput(f"cstates: the kernel has states 0 to {_MOST_STATES - 1}")
        self.governor = None if governor is None else check_text(governor, "governor")
        if self.governor is not None and not re.fullmatch(r"\w{1,15}", self.governor):
            raise BadInput(f"governor: {shown(governor)} is no governor's name")
        self.port = None if port is None else check_text(port, "port")
        about_port = {"worker_nice": self.worker_nice is not None, "power": self.power, "latency_timer": self.latency_timer is not None}
        for name, wanted in about_port.items():
            if wanted and self.port is None:
                raise BadInput(f"{name}: name the serial port that it is about (port)")
        self.changes: list[Change] = []
        self.refused: list[str] = []
        self.notes: list[str] = []
        self._undo = contextlib.ExitStack()

    def __enter__(self) -> Self:
        _check_linux()
        with contextlib.ExitStack() as undo:
            tuned = self._tune(undo)  # first: the guardian gets nothing of what is the thread's
            for wanted, apply in (
                (self.priority is not None, self._schedule),
                (self.lock_memory, self._lock),
                (self.cpus is not None, self._pin),
                (self.dma_latency is not None, self._hold_latency),
            ):
                if wanted:
                    undo.callback(apply())
            self._undo = undo.pop_all()  # unless one could not be had: then the others are undone here
        self.changes, self.refused, self.notes = tuned.changes, tuned.refused, tuned.notes
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._undo.close()

    def _tune(self, undo: contextlib.ExitStack) -> "Tuned":
        """The machine."""
        tuned = Tuned(ports.Host())
        tuned.sweep()
        tuning = self._tuning()
        if tuning:
            undo.callback(tuned.release)
            tuned.apply(tuning)
        return tuned

    def _tuning(self) -> "Tuning":
        return Tuning(
            self.worker_nice, self.worker_priority, self.power, self.latency_timer, frozenset(self.cstates), self.governor, self.port
        )

    def _schedule(self) -> Callable[[], None]:
        assert self.priority is not None
        thread = threading.get_native_id()
        policy, parameters = os.sched_getscheduler(thread), os.sched_getparam(thread)
        try:
            os.sched_setscheduler(thread, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(self.priority))
        except OSError as error:
            what_to_do = f"it needs root, CAP_SYS_NICE or 'rtprio {self.priority}' in /etc/security/limits.conf"
            raise _cannot("priority", f"SCHED_FIFO {self.priority}", error, what_to_do) from None

        def undo() -> None:
            try:
                os.sched_setscheduler(thread, policy, parameters)
            except PermissionError:  # without CAP_SYS_NICE the flag stays, which means nothing without SCHED_FIFO
                os.sched_setscheduler(thread, policy | os.SCHED_RESET_ON_FORK, parameters)

        return undo

    @staticmethod
    def _lock() -> Callable[[], None]:
        import ctypes
        import resource

        libc = ctypes.CDLL(None, use_errno=True)
        if locked_kilobytes():
            raise Unsupported("memory: this process has locked memory already, and unlocking all in the end would undo that, too")
        if libc.mlockall(_MCL_CURRENT_AND_FUTURE):
            number = ctypes.get_errno()
            limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] // 1024
            raise _cannot(
                "memory",
                "mlockall()",
                OSError(number, os.strerror(number)),
                f"the limit is {limit} KiB; it needs root, CAP_IPC_LOCK or 'memlock unlimited' in /etc/security/limits.conf",
            )
        return lambda: libc.munlockall()

    def _pin(self) -> Callable[[], None]:
        assert self.cpus is not None
        thread = threading.get_native_id()
        before = os.sched_getaffinity(thread)
        try:
            os.sched_setaffinity(thread, self.cpus)
        except (OSError, ValueError, OverflowError) as error:
            allowed = ",".join(map(str, sorted(before)))
            shown = ",".join(map(str, sorted(self.cpus)))
            raise _cannot("cpus", f"processor {shown}", error, f"this process may use {allowed}") from None
        if os.sched_getaffinity(thread) != self.cpus:  # the kernel leaves out those that are not there
            missing = ",".join(map(str, sorted(self.cpus - os.sched_getaffinity(thread))))
            os.sched_setaffinity(thread, before)
            raise Unsupported(f"cpus: there is no processor {missing} for this process; it may use {','.join(map(str, sorted(before)))}")
        return lambda: os.sched_setaffinity(thread, before)

    def _hold_latency(self) -> Callable[[], None]:
        assert self.dma_latency is not None
        try:
            file = os.open(DMA_LATENCY, os.O_WRONLY | os.O_CLOEXEC)
        except OSError as error:
            if error.errno == errno.ENOENT:
                raise Unsupported(
                    f"dma_latency: {DMA_LATENCY} does not exist: this kernel has no CONFIG_CPU_IDLE, or a container hides it"
                ) from None
            raise _cannot(
                "dma_latency", f"opening {DMA_LATENCY}", error, "it needs root, or a udev rule that gives your group the file"
            ) from None
        try:
            os.write(file, struct.pack("=i", self.dma_latency))
        except OSError as error:
            os.close(file)
            raise _cannot("dma_latency", f"writing {DMA_LATENCY}", error, "the kernel takes microseconds from 0 on") from None
        return lambda: os.close(file)


def _numbers(values: Iterable[Whole], name: str) -> set[int]:
    try:
        return {whole(value, name) for value in values}
    except TypeError:
        raise BadInput(f"{name}: {shown(values)} is not a set of numbers") from None


def _check_linux() -> None:
    if sys.platform != "linux":
        raise Unsupported(f"real-time settings need Linux; this is {sys.platform}")


def _cannot(setting: str, what: str, error: Exception, what_to_do: str) -> Unsupported:
    return Unsupported(f"{setting}: {what} is refused ({getattr(error, 'strerror', None) or error}): {what_to_do}")


def locked_kilobytes() -> int:
    """Memory that this process has locked, in KiB."""
    with open("/proc/self/status") as file:
        return next((int(line.split()[1]) for line in file if line.startswith("VmLck:")), 0)


def quietest_cpu() -> int:
    """The processor to pin a thread to: an isolated one (isolcpus) that this process may use, else
    the last one that it may use."""
    _check_linux()
    allowed = os.sched_getaffinity(0)
    with contextlib.suppress(OSError, ValueError):
        with open(ISOLATED) as file:
            isolated = cpu_list(file.read().strip())
        if isolated:
            return max(isolated & allowed or isolated)
    return max(allowed)


def cpu_list(text: str) -> set[int]:
    """'0-2,5' as the kernel writes it; ValueError if it is something else."""
    found: set[int] = set()
    for part in text.split(",") if text else ():
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found
