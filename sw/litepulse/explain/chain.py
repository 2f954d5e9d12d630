# SPDX-License-Identifier: BSD-2-Clause
"""From the end of a program's sleep to the moment at which the UART is given a byte: a state
machine that reads a trace.

A chain is one write() to a serial port. Its times are ns of CLOCK_MONOTONIC:

    due -> fired -> running -> write -> [queued -> worker ->] start -> handed

due: when the program wanted to run, or was woken; fired: the timer's interrupt, or the event that
woke it; queued, worker: only if the bytes waited for a worker of the kernel; start: the driver was
ordered to send; handed: the UART has the bytes.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from litepulse.explain.trace import LOST, Event

# What functions of the kernel say: `write` is a driver's write(), `start` its order to send, `handed`
# where the UART gets bytes; `sends` where a driver that has no such order hands them on.
FUNCTIONS = {
    "uart_write": "write",
    "serial_write": "write",
    "acm_tty_write": "write",
    "serial8250_start_tx": "start",
    "serial8250_tx_chars": "handed",
    "pl011_start_tx": "start",
    "pl011_tx_chars": "handed",
    "liteuart_start_tx": "start",
    "liteuart_interrupt": "handed",
    "litepulse_tty_send_start_tx": "start",
    "litepulse_mmio_transmit": "handed",
    "litepulse_link_transmit": "handed",
    "usb_serial_generic_write_start": "sends",
    "acm_start_wb": "sends",
}
RESUME = "pm_runtime_work"  # the work that resumes a device
FAR = 10 * 10**9  # ns: a timer's clock that differs by more is another one, e.g. CLOCK_REALTIME
_WAKEUP = "hrtimer_wakeup"


@dataclass
class Chain:
    """A write to a serial port.

    wake: `timer` (the program slept until `due`), `event` (something woke it), `again` (no sleep
    since its last write) limit: until when the timer might be late by the program's own timer
    slack; by: what woke it, if no timer did work: the kernel's function in the worker; via_worker:
    whether the bytes waited for it; cpu_fired, cpu_handed: where that was; handed_by: the task that
    gave the UART its bytes, 0 if an interrupt did; by_call: no function of the driver was traced
    """

    number: int
    pid: int
    task: str
    size: int
    wake: str
    due: int
    limit: int
    fired: int
    running: int
    write: int
    cpu_fired: int
    port: str = ""
    by: str = ""
    queued: int | None = None
    worker: int | None = None
    worker_pid: int = 0
    work: str = ""
    via_worker: bool = False
    start: int | None = None
    handed: int = 0
    cpu_handed: int = 0
    handed_by: int = 0
    written: int | None = None
    by_call: bool = False
    works: list[tuple[str, str, int]] = field(default_factory=list[tuple[str, str, int]])


@dataclass
class _Sleep:
    """The last time that a task was woken."""

    wake: str
    due: int
    limit: int
    fired: int
    cpu: int
    by: str
    running: int | None = None
    used: bool = False


class Chains:
    """Takes the events of a trace in their order. `found`: the chains, complete after close().

    pid: of the program, whose processes and threads count, too; fds: files that are ports, where no
    function of the kernel can be traced
    """

    def __init__(self, pid: int, fds: Iterable[int] = ()) -> None:
        self.found: list[Chain] = []
        self.tasks, self._fds = {pid}, set(fds)
        self._armed: dict[int, tuple[int, int]] = {}
        self._fired: dict[int, tuple[int, int]] = {}
        self._sleeps: dict[int, _Sleep] = {}
        self._out: dict[int, str] = {}
        self._open: dict[int, Event] = {}
        self._writing: dict[int, Chain] = {}
        self._waiting: list[Chain] = []
        self._works: dict[int, tuple[str, str, int]] = {}
        self._uarts: dict[str, str] = {}  # the UART of a tty
        self.losses: list[Event] = []

    def feed(self, event: Event) -> None:
        """The next event."""
        handler = getattr(self, f"_on_{event.name}", None)
        if handler:
            handler(event)
        elif event.name == LOST:
            self.losses.append(event)

    def close(self) -> list[Chain]:
        """The end of the trace: chains whose driver shows no more than the end of write() have
        that as `handed`. May be called again."""
        for chain in self._waiting:
            at = chain.start if chain.start is not None else chain.written
            if at is not None:
                chain.handed = at
        self._waiting.clear()
        self.found = [chain for chain in self.found if chain.handed]
        return self.found

    # --- sleep and wake ---

    def _on_sched_process_fork(self, event: Event) -> None:
        if int(event.values["parent"]) in self.tasks:
            self.tasks.add(int(event.values["pid"]))

    def _on_hrtimer_start(self, event: Event) -> None:
        if event.pid in self.tasks and event.values["function"] == _WAKEUP:
            self._armed[event.pid] = int(event.values["soft"]), int(event.values["expires"])

    def _on_hrtimer_expire_entry(self, event: Event) -> None:
        self._fired.pop(event.cpu, None)
        if event.values["function"] == _WAKEUP:
            self._fired[event.cpu] = event.at, int(event.values["now"])

    def _on_sched_waking(self, event: Event) -> None:
        pid, fired = int(event.values["pid"]), self._fired.pop(event.cpu, None)
        if pid not in self.tasks or self._out.get(pid, "S").startswith("D"):
            return  # a wait for a disk or for memory belongs to what the program does
        armed = self._armed.pop(pid, None)
        if fired is None or armed is None:
            by = event.task or "the idle task"
            self._sleeps[pid] = _Sleep("event", event.at, event.at, event.at, event.cpu, by)
            return
        at, now = fired
        shift = at - now if abs(at - now) > FAR else 0
        due = min(armed[0] + shift, at)
        self._sleeps[pid] = _Sleep("timer", due, max(due, min(armed[1] + shift, at)), at, event.cpu, "")

    def _on_sched_switch(self, event: Event) -> None:
        before, after = int(event.values["prev"]), int(event.values["pid"])
        if before in self.tasks:
            self._out[before] = event.values["state"]
        if (sleep := self._sleeps.get(after)) and sleep.running is None:
            sleep.running = event.at

    # --- the write ---

    def _on_write(self, event: Event) -> None:
        if event.pid in self.tasks:
            self._open[event.pid] = event
            if int(event.values["fd"], 16) in self._fds:
                self._begin(event, "", 1).by_call = True

    def _on_written(self, event: Event) -> None:
        self._open.pop(event.pid, None)
        if chain := self._writing.pop(event.pid, None):
            chain.written = event.at

    def _begin(self, event: Event, port: str, size: int) -> Chain:
        """A driver has got bytes of the program."""
        if before := self._writing.pop(event.pid, None):
            before.written = event.at
        call, sleep = self._open.get(event.pid, event), self._sleeps.get(event.pid)
        at, number = call.at, len(self.found)
        if sleep is None or sleep.used or sleep.running is None or sleep.running > at:
            chain = Chain(number, event.pid, event.task, size, "again", at, at, at, at, at, event.cpu, port)
        else:
            sleep.used = True
            times = sleep.due, sleep.limit, sleep.fired, sleep.running, at
            chain = Chain(number, event.pid, event.task, size, sleep.wake, *times, sleep.cpu, port, sleep.by)
        self.found.append(chain)
        self._writing[event.pid] = chain
        self._waiting.append(chain)
        return chain

    def _on_workqueue_queue_work(self, event: Event) -> None:
        if chain := self._writing.get(event.pid):
            chain.works.append((event.values["work"], event.values["function"], event.at))

    def _on_workqueue_execute_start(self, event: Event) -> None:
        self._works[event.pid] = event.values["work"], event.values["function"], event.at

    def _on_workqueue_execute_end(self, event: Event) -> None:
        if event.values["function"] == RESUME:
            # Without functions of the driver: the port is resumed, so that it sends.
            for chain in [chain for chain in self._waiting if chain.by_call and self._worked(chain, event)]:
                self._handed(chain, event)
        self._works.pop(event.pid, None)

    def _on_probe(self, event: Event) -> None:
        role, port = FUNCTIONS.get(event.values["function"]), event.values["port"]
        if role == "write":
            if event.pid in self.tasks:
                self._begin(event, port, int(event.values["count"] or 1))
        elif role == "start":
            self._start(event, port)
        elif role == "handed":
            self._tell(event, port)
        elif role == "sends" and (chain := self._mine(event)) and chain in self._waiting:
            self._handed(chain, event)

    def _mine(self, event: Event) -> Chain | None:
        """The chain in whose write(), or in whose worker, this happens."""
        if event.interrupt:
            return None
        if chain := self._writing.get(event.pid):
            return chain
        return next((chain for chain in self._waiting if self._worked(chain, event)), None)

    def _worked(self, chain: Chain, event: Event) -> bool:
        """Whether this happens in a worker that the chain's write() had queued. The chain then
        has its times."""
        work = self._works.get(event.pid)
        for name, function, queued in chain.works:
            if work and not event.interrupt and (name, function) == work[:2] and queued <= work[2]:
                chain.via_worker, chain.work = True, function
                chain.queued, chain.worker, chain.worker_pid = queued, work[2], event.pid
                return True
        return False

    def _start(self, event: Event, uart: str) -> None:
        chain = self._mine(event)
        if chain and chain in self._waiting and chain.start is None and self._uarts.setdefault(chain.port, uart) == uart:
            chain.start = event.at

    def _tell(self, event: Event, uart: str) -> None:
        for chain in list(self._waiting):
            if chain.start is not None and (not uart or self._uarts.get(chain.port, uart) == uart):
                self._worked(chain, event)
                self._handed(chain, event)

    def _handed(self, chain: Chain, event: Event) -> None:
        chain.handed, chain.cpu_handed = event.at, event.cpu
        chain.handed_by = 0 if event.interrupt else event.pid
        self._waiting.remove(chain)


def chains(events: Iterable[Event], pid: int, fds: Iterable[int] = ()) -> list[Chain]:
    """All chains of a trace."""
    machine = Chains(pid, fds)
    for event in events:
        machine.feed(event)
    return machine.close()
