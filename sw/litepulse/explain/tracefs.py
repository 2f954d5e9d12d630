# SPDX-License-Identifier: BSD-2-Clause
"""The kernel's trace, recorded in an instance of its own and read as text while it goes on.

A shell that waits for the end of this process takes everything back, however that comes.
"""

import contextlib
import errno
import os
import shlex
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from litepulse.child import end
from litepulse.errors import LitePulseError, Unsupported
from litepulse.explain.chain import FUNCTIONS
from litepulse.ports import text

PLACES = (Path("/sys/kernel/tracing"), Path("/sys/kernel/debug/tracing"))
LOCKDOWN = Path("/sys/kernel/security/lockdown")
NEEDED = ("sched/sched_switch", "sched/sched_waking", "sched/sched_process_fork")
EVENTS = (
    *NEEDED,
    "timer/hrtimer_start",
    "timer/hrtimer_expire_entry",
    "irq/irq_handler_entry",
    "irq/irq_handler_exit",
    "irq/softirq_entry",
    "irq/softirq_exit",
    "workqueue/workqueue_queue_work",
    "workqueue/workqueue_execute_start",
    "workqueue/workqueue_execute_end",
    "power/cpu_idle",
    "syscalls/sys_enter_write",
    "syscalls/sys_exit_write",
    "syscalls/sys_enter_writev",
    "syscalls/sys_exit_writev",
)
# What is recorded of a function's arguments: its tty or UART, and the number of bytes.
ARGUMENTS = {
    "uart_write": "port=$arg1:x64 count=$arg3:s32",
    "serial_write": "port=$arg1:x64 count=$arg3:s32",
    "acm_tty_write": "port=$arg1:x64 count=$arg3:s32",
    "liteuart_interrupt": "port=$arg2:x64",
    **dict.fromkeys((name for name in FUNCTIONS if name.endswith(("start_tx", "tx_chars"))), "port=$arg1:x64"),
}
WITHOUT_PROBES = "riscv32"
BUFFER_KB = 4096  # of each processor
READ_SECONDS = 0.2
MEASURED = 2000  # write() calls that show what an event costs
# Takes back what was set, when the process at the other end of the standard input is gone: the
# trace's own files may be open for a moment longer.
UNDO = """trap '' INT TERM HUP QUIT
read -r line
cd {place} || exit
tries=0
while [ -d instances/{name} ] && [ $tries -lt 50 ]; do
    echo 0 >instances/{name}/tracing_on
    echo 0 >instances/{name}/events/enable
    for function in {functions}; do echo "-:{name}/$function" >>kprobe_events; done
    rmdir instances/{name} || sleep 0.1
    tries=$((tries + 1))
done 2>/dev/null
for function in {functions}; do echo "-:{name}/$function" >>kprobe_events; done 2>/dev/null
"""


def place_of(places: tuple[Path, ...] = PLACES, lockdown: Path = LOCKDOWN, user: int | None = None) -> Path:
    """Where tracefs is. Unsupported, in one line, if the kernel's trace cannot be had."""
    if (os.geteuid() if user is None else user) != 0:
        raise Unsupported("explain: the kernel's trace needs root: sudo litepulse explain ...")
    if "[confidentiality]" in text(lockdown):
        raise Unsupported("explain: the kernel is locked down (confidentiality), so that nothing can be traced")
    for place in places:
        if (place / "instances").is_dir():
            return place
    raise Unsupported("explain: there is no tracefs: mount -t tracefs nodev /sys/kernel/tracing, or the kernel has no CONFIG_FTRACE")


def probe_of(group: str, function: str) -> str:
    """The kprobe of one of FUNCTIONS, as a line for kprobe_events."""
    return f"p:{group}/{function} {function} {ARGUMENTS.get(function, '')}".rstrip()


class Tracer:
    """Records while its context lasts. `lines()` has the text afterwards.

    functions: of the kernel that are traced, of those in chain.FUNCTIONS; cost_ns: what an event
    costs here, measured; seconds: of CPU time that reading took
    """

    def __init__(self, place: Path | None = None) -> None:
        self.place = place_of() if place is None else place
        self.machine = os.uname().machine
        self.name = f"litepulse_{os.getpid()}"
        self.folder = self.place / "instances" / self.name
        self.functions: list[str] = []
        self.cost_ns = 0.0
        self.seconds = 0.0
        self.threads: set[int] = set()  # of this process, for the trace
        self._undo: subprocess.Popen[bytes] | None = None
        self._thread: threading.Thread | None = None
        self._over = threading.Event()
        self._spool = tempfile.TemporaryFile(prefix="litepulse-explain-")
        self._failed: OSError | None = None

    def __enter__(self) -> Self:
        try:
            self._begin()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()
        self.close()

    def _begin(self) -> None:
        words = {"place": shlex.quote(str(self.place)), "name": self.name, "functions": " ".join(FUNCTIONS)}
        # A session of its own: Ctrl-C is for us.
        self._undo = subprocess.Popen(
            ["/bin/sh", "-c", UNDO.format(**words)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            self.folder.mkdir()
            self._set("trace_clock", "mono")
            self._set("buffer_size_kb", str(BUFFER_KB))
        except OSError as error:
            why = "locked down" if error.errno == errno.EPERM else error.strerror
            raise Unsupported(f"explain: {self.place}: the kernel refuses an instance of its trace ({why})") from None
        self._probe()
        for event in EVENTS:
            try:
                self._set(f"events/{event}/enable", "1")
            except OSError:
                if event in NEEDED:
                    raise Unsupported(f"explain: this kernel does not trace {event}") from None
        self._set("tracing_on", "1")
        self._measure()
        file = os.open(self.folder / "trace_pipe", os.O_RDONLY | os.O_NONBLOCK)
        self._thread = threading.Thread(target=self._read, args=(file,), daemon=True)
        self._thread.start()

    def _set(self, name: str, value: str) -> None:
        with open(self.folder / name, "w") as file:
            file.write(value)

    def _probe(self) -> None:
        """The functions that this kernel has; a kernel without kprobes has none. That of 32-bit
        RISC-V drops their events: a breakpoint counts as an NMI there, in which the trace must not use
        64-bit atomics."""
        for function in FUNCTIONS if self.machine != WITHOUT_PROBES else ():
            with contextlib.suppress(OSError):
                _append(self.place / "kprobe_events", f"{probe_of(self.name, function)}\n")
                self._set(f"events/{self.name}/{function}/enable", "1")
                self.functions.append(function)

    def _measure(self) -> None:
        """What an event costs, by calls that have two."""
        with open("/dev/null", "wb", buffering=0) as file:
            each = list[float]()
            for on in ("0", "1", "0", "1"):
                self._set("tracing_on", on)
                begin = time.perf_counter_ns()
                for _ in range(MEASURED):
                    file.write(b"")
                each.append((time.perf_counter_ns() - begin) / MEASURED)
        self.cost_ns = max(0.0, (min(each[1::2]) - min(each[0::2])) / 2)
        self._set("trace", "")

    def _read(self, file: int) -> None:
        """In a thread: until all is read, and nothing is recorded any more."""
        self.threads.add(threading.get_native_id())
        try:
            while True:
                over = self._over.wait(READ_SECONDS)
                while data := _some(file):
                    self._spool.write(data)
                if over:
                    return
        except OSError as error:
            self._failed = error
        finally:
            self.seconds = time.thread_time()
            os.close(file)

    def stop(self) -> None:
        """Nothing more is recorded, and all that was is read. May be called again."""
        if self._thread is None:
            return
        with contextlib.suppress(OSError):
            self._set("tracing_on", "0")
        self._over.set()
        self._thread.join()
        self._thread = None
        if self._failed:
            raise LitePulseError(f"explain: the trace cannot be kept: {self._failed.strerror}")

    def close(self) -> None:
        """The kernel is as it was."""
        self._over.set()
        if self._undo is None:
            return
        undo, self._undo = self._undo, None
        end(undo)

    def lines(self) -> Iterator[str]:
        """What was recorded, a byte for each character."""
        self._spool.seek(0)
        for line in self._spool:
            yield line.decode("latin-1")


def _append(path: Path, line: str) -> None:
    """A line to a file of the kernel's. open() would look for its end first, which has none."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(file, line.encode())
    finally:
        os.close(file)


def _some(file: int) -> bytes:
    """What is in the pipe; nothing if it is empty now."""
    try:
        return os.read(file, 1 << 16)
    except BlockingIOError:
        return b""
