# SPDX-License-Identifier: BSD-2-Clause
"""What each processor did, and when each task ran, by a trace."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from litepulse.explain.trace import LOST, Event

IDLE = 0  # pid of the idle task
AWAKE = 4294967295  # state of cpu_idle: none
NORMAL = 120  # prio of a task of nice 0; below 100 it is a real-time task


class Span(NamedTuple):
    """What a processor did for a while. kind: `idle` (halted), `irq`, `softirq`, `task`, or
    `unknown` where events were lost."""

    begin: int
    end: int
    kind: str
    name: str
    pid: int = 0


class Run(NamedTuple):
    """A task on a processor."""

    begin: int
    end: int
    cpu: int


class Sleep(NamedTuple):
    """A task did not want to run. blocked: it waited for a disk, for memory, or for a timer in the
    kernel."""

    begin: int
    end: int
    blocked: bool


def priority(prio: int) -> str:
    """As `chrt -f` and `nice` count, for people: the kernel counts them in one row."""
    if prio < 0:
        return "SCHED_DEADLINE"
    return f"real-time priority {99 - prio}" if prio < 100 else f"nice {prio - NORMAL}"


class _Cpu:
    """What a processor does now."""

    def __init__(self, at: int, pid: int, task: str) -> None:
        self.since, self.pid, self.task = at, pid, task
        self.halted = ""
        self.interrupts: list[tuple[str, str]] = []
        self.blind = False

    def doing(self, prios: dict[int, int]) -> tuple[str, str, int]:
        """(kind, name, pid)"""
        if self.blind:
            return "unknown", "", self.pid
        if self.interrupts:
            return *self.interrupts[-1], self.pid
        if self.pid != IDLE:
            return "task", f"{self.task} ({priority(prios.get(self.pid, NORMAL))})", self.pid
        return ("idle", self.halted, IDLE) if self.halted else ("task", "", IDLE)


class Timeline:
    """Of a whole trace."""

    def __init__(self, events: Iterable[Event]) -> None:
        self.cpus: dict[int, list[Span]] = defaultdict(list)
        self.runs: dict[int, list[Run]] = defaultdict(list)
        self._asleep: dict[int, list[Sleep]] = defaultdict(list)
        self.names: dict[int, str] = {}
        self.prios: dict[int, int] = {}
        self._now: dict[int, _Cpu] = {}
        self._began: dict[int, dict[int, int]] = defaultdict(dict)  # runs that go on: {cpu: {pid: since}}
        self._out: dict[int, tuple[int, str]] = {}
        self.last = 0
        for event in events:
            self._feed(event)
        for number, cpu in self._now.items():
            self._change(number, cpu, self.last)
            for pid, since in self._began[number].items():
                self.runs[pid].append(Run(since, self.last, number))
        for runs in self.runs.values():
            runs.sort()
        self._begins = {number: [span.begin for span in spans] for number, spans in self.cpus.items()}

    def _change(self, number: int, cpu: _Cpu, at: int) -> None:
        """Until now it did what it does."""
        if at > cpu.since:
            self.cpus[number].append(Span(cpu.since, at, *cpu.doing(self.prios)))
        cpu.since = at

    def _feed(self, event: Event) -> None:
        name, values = event.name, event.values
        cpu = self._now.get(event.cpu)
        if cpu is None:
            if name == LOST:
                return
            cpu = self._now[event.cpu] = _Cpu(event.at, event.pid, event.task)
            self._began[event.cpu][event.pid] = event.at
        self.last = max(self.last, event.at)
        if name == "sched_switch":
            self._switch(event, cpu)
        elif name == "sched_waking":
            self.prios[int(values["pid"])] = int(values["prio"])
            out = self._out.pop(int(values["pid"]), None)
            if out and not out[1].startswith("R"):
                self._asleep[int(values["pid"])].append(Sleep(out[0], event.at, out[1].startswith("D")))
        elif name == "cpu_idle":
            # Entered for another processor nowhere: the event is of the processor that halts.
            self._change(event.cpu, cpu, event.at)
            cpu.halted = "" if int(values["state"]) == AWAKE else values["state"]
        elif name.endswith("_entry") and "irq" in name and "name" in values:
            kind = "softirq" if name.startswith("soft") else "irq"
            self._change(event.cpu, cpu, event.at)
            cpu.interrupts.append((kind, values["name"] if kind == "softirq" else f"{values['irq']} ({values['name']})"))
        elif name in ("irq_handler_exit", "softirq_exit"):
            self._change(event.cpu, cpu, event.at)
            if cpu.interrupts:
                cpu.interrupts.pop()
        elif name == LOST:
            self._change(event.cpu, cpu, event.at)
            cpu.blind = True
            return
        if cpu.blind:
            self._change(event.cpu, cpu, event.at)
            cpu.blind, cpu.interrupts, cpu.halted = False, [], ""
            cpu.pid, cpu.task = (int(values["pid"]), values["comm"]) if name == "sched_switch" else (event.pid, event.task)

    def _switch(self, event: Event, cpu: _Cpu) -> None:
        values = event.values
        before, after = int(values["prev"]), int(values["pid"])
        self.prios[before], self.prios[after] = int(values["prev_prio"]), int(values["prio"])
        self.names[before], self.names[after] = values["prev_comm"], values["comm"]
        if before != cpu.pid and not cpu.blind:
            cpu.pid, cpu.task = before, values["prev_comm"]
        self._change(event.cpu, cpu, event.at)
        began = self._began[event.cpu].pop(before, None)
        if began is not None:
            self.runs[before].append(Run(began, event.at, event.cpu))
        self._began[event.cpu] = {after: event.at}
        self._out[before] = event.at, values["state"]
        cpu.pid, cpu.task, cpu.halted = after, values["comm"], ""

    def spans(self, cpu: int, begin: int, end: int) -> Iterator[Span]:
        """What a processor did between two times, cut to them, without a gap."""
        spans = self.cpus.get(cpu, [])
        at = begin
        for number in range(max(0, bisect_right(self._begins.get(cpu, []), begin) - 1), len(spans)):
            span = spans[number]
            if span.begin >= end or at >= end:
                break
            if span.end <= at:
                continue
            if span.begin > at:
                yield Span(at, span.begin, "unknown", "")
                at = span.begin
            last = min(span.end, end)
            yield Span(at, last, *span[2:])
            at = last
        if at < end:
            yield Span(at, end, "unknown", "")

    def asleep(self, pid: int, begin: int, end: int) -> Iterator[Sleep]:
        """When a task slept between two times, cut to them."""
        sleeps = self._asleep.get(pid, [])
        for number in range(max(0, bisect_right(sleeps, (begin,)) - 1), len(sleeps)):
            sleep = sleeps[number]
            if sleep.begin >= end:
                break
            if sleep.end > begin:
                yield Sleep(max(sleep.begin, begin), min(sleep.end, end), sleep.blocked)

    def of_task(self, pid: int, begin: int, end: int, cpu: int) -> Iterator[tuple[bool, int, int, int]]:
        """(whether it ran, begin, end, processor) between two times, without a gap; a wait has the
        processor on which it ran next.

        cpu: where, if the trace has no run
        """
        runs, at = self.runs.get(pid, []), begin
        for number in range(max(0, bisect_right(runs, (begin, 0, 0)) - 2), len(runs)):
            run = runs[number]
            if run.end <= at:
                cpu = run.cpu
                continue
            if run.begin >= end:
                cpu = run.cpu
                break
            if run.begin > at:
                yield False, at, run.begin, run.cpu
                at = run.begin
            last = min(run.end, end)
            yield True, at, last, run.cpu
            at, cpu = last, run.cpu
        if at < end:
            yield False, at, end, cpu
