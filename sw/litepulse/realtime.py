# SPDX-License-Identifier: BSD-2-Clause
"""The settings with which a Linux program answers sooner and more evenly, each by itself, all of them undone in the end.

with litepulse.Realtime(priority=80, lock_memory=True, cpus={3}, dma_latency=0):
    ...
"""

import contextlib
import errno
import os
import struct
import sys
import threading
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self

from litepulse.errors import BadInput, Unsupported, shown
from litepulse.units import Whole, whole, within

DMA_LATENCY = "/dev/cpu_dma_latency"
ISOLATED = "/sys/devices/system/cpu/isolated"
DEFAULT_PRIORITY = 80  # above the kernel's interrupt threads, which have 50
_MCL_CURRENT_AND_FUTURE = 3
_LONGEST_LATENCY = 2_000_000_000  # us; the kernel keeps it in a signed 32-bit word


class Realtime:
    """A context in which the settings hold. What was before it is there again behind it, also after an exception.

    priority: SCHED_FIFO with this priority, 1 to 99, for the thread that enters. It does not pass to threads and processes that this one
        starts (SCHED_RESET_ON_FORK)
    lock_memory: all pages of the process stay in memory (mlockall)
    cpus: the thread that enters runs only on these processors, and what it starts, too
    dma_latency: no processor of the machine goes into an idle state that takes longer than this
    many microseconds to leave
        (/dev/cpu_dma_latency, held open)

    Unsupported, which names the setting: it cannot be had; then none is left in force. Enter and leave it in the same thread.
    """

    def __init__(
        self,
        *,
        priority: Whole | None = None,
        lock_memory: bool = False,
        cpus: Iterable[Whole] | None = None,
        dma_latency: Whole | None = None,
    ) -> None:
        self.lock_memory = lock_memory
        self.priority = None if priority is None else within(priority, "priority", 1, 99)
        self.dma_latency = None if dma_latency is None else whole(dma_latency, "dma_latency")
        try:
            self.cpus = None if cpus is None else {whole(cpu, "cpus") for cpu in cpus}
        except TypeError:
            raise BadInput(f"cpus: {shown(cpus)} is not a set of numbers") from None
        if self.cpus is not None and not self.cpus:
            raise BadInput("cpus: give one at least")
        if self.dma_latency is not None and not 0 <= self.dma_latency <= _LONGEST_LATENCY:
            raise BadInput(f"dma_latency: {dma_latency} us is outside 0 to {_LONGEST_LATENCY}")
        self._undo = contextlib.ExitStack()

    def __enter__(self) -> Self:
        _check_linux()
        with contextlib.ExitStack() as undo:
            for wanted, apply in (
                (self.priority is not None, self._schedule),
                (self.lock_memory, self._lock),
                (self.cpus is not None, self._pin),
                (self.dma_latency is not None, self._hold_latency),
            ):
                if wanted:
                    undo.callback(apply())
            self._undo = undo.pop_all()  # unless one could not be had: then the others are undone here
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._undo.close()

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
    """The processor to pin a thread to: an isolated one (isolcpus) that this process may use, else the last one that it may use."""
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
