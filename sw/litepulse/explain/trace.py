# SPDX-License-Identifier: BSD-2-Clause
"""The kernel's trace as text (trace_pipe of tracefs), parsed: the events that explain uses, of
kernels 6.1 to 7.x.

The clock of the trace is `mono`: its times are those of CLOCK_MONOTONIC, in whole microseconds.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from litepulse.errors import printable

COMM = 16  # columns of a task's name, which may contain anything
LOST = "lost"
# Behind the name of the task: -PID (TGID) [CPU] flags SECONDS.MICROSECONDS: what happened
_HEAD = re.compile(r"-(\d+)\s+(?:\([^)]*\)\s+)?\[(\d+)\]\s+(\S+)\s+(\d+)\.(\d+): (.*)")
_INTERRUPT = ("h", "H", "s", "z", "Z")  # the flag hardirq/softirq
_LOST = re.compile(r"CPU:(\d+) \[LOST (\d+) EVENTS\]")
_SYSCALL = re.compile(r"sys_(\w+)(?:\((?:fd: (?:0x)?([0-9a-f]+))?| -> (-?\w+))")
_PROBE = re.compile(r"\((\w+)[^)]*\)(?: port=(0x[0-9a-f]+))?(?: count=(-?\d+))?")
_WAKE = re.compile(r"comm=(?P<comm>.*) pid=(?P<pid>\d+) prio=(?P<prio>-?\d+) .*target_cpu=(?P<cpu>\d+)")
_WORK = re.compile(r"work struct[= ](?P<work>\S+?):? function[=:]? ?(?P<function>\S+)(?: workqueue=(?P<queue>\S+))?")
_EVENTS = {
    "sched_switch": re.compile(
        r"prev_comm=(?P<prev_comm>.*) prev_pid=(?P<prev>\d+) prev_prio=(?P<prev_prio>-?\d+) prev_state=(?P<state>\S+)"
        r" ==> next_comm=(?P<comm>.*) next_pid=(?P<pid>\d+) next_prio=(?P<prio>-?\d+)"
    ),
    "sched_waking": _WAKE,
    "sched_process_fork": re.compile(r"comm=.* pid=(?P<parent>\d+) child_comm=(?P<comm>.*) child_pid=(?P<pid>\d+)"),
    "hrtimer_start": re.compile(
        r"hrtimer=\S+ function=(?P<function>[\w.]+)\S* expires=(?P<expires>\d+) softexpires=(?P<soft>\d+)(?: mode=(?P<mode>\S+))?"
    ),
    "hrtimer_expire_entry": re.compile(r"hrtimer=\S+ function=(?P<function>[\w.]+)\S* now=(?P<now>\d+)"),
    "irq_handler_entry": re.compile(r"irq=(?P<irq>\d+) name=(?P<name>.*)"),
    "irq_handler_exit": re.compile(r"irq=(?P<irq>\d+)"),
    "softirq_entry": re.compile(r"vec=(?P<irq>\d+) \[action=(?P<name>\w+)\]"),
    "softirq_exit": re.compile(r"vec=(?P<irq>\d+)"),
    "cpu_idle": re.compile(r"state=(?P<state>\d+) cpu_id=(?P<cpu>\d+)"),
    "workqueue_queue_work": _WORK,
    "workqueue_execute_start": _WORK,
    "workqueue_execute_end": _WORK,
    "rpm_resume": re.compile(r"(?P<device>\S+) flags"),
}


class Event(NamedTuple):
    """An event of the trace.

    at: ns of CLOCK_MONOTONIC; pid, task: what ran on the processor, also where an interrupt did
    something name: of the event; `write` and `written` for the system calls, `probe` for a
    function's begin, LOST for a gap
    """

    at: int
    cpu: int
    pid: int
    task: str
    name: str
    values: dict[str, str]
    interrupt: bool = False  # an interrupt did it, in whatever task


def shown(task: str) -> str:
    """A task's name for people: what was read byte by byte, as the UTF-8 that it is."""
    return printable(task.encode("latin-1", "replace").decode("utf-8", "replace"))


def parse(lines: Iterable[str]) -> Iterator[Event]:
    """The events that explain uses. Lines are decoded as Latin-1, since the columns are bytes.
    Other lines are passed over."""
    at = 0
    for line in lines:
        head = _HEAD.match(line, COMM)
        if head is None:
            if lost := _LOST.match(line):
                yield Event(at, int(lost[1]), 0, "", LOST, {"count": lost[2]})
            continue
        pid, cpu, flags, seconds, fraction, text = head.groups()
        if (found := _event(text)) is None:
            continue
        at = int(seconds) * 10**9 + int(f"{fraction:0<9}")
        yield Event(at, int(cpu), int(pid), shown(line[:COMM].strip()), *found, flags[2:3] in _INTERRUPT)


def _event(text: str) -> tuple[str, dict[str, str]] | None:
    """(name, values) of what happened."""
    if text.startswith("sys_"):
        if (call := _SYSCALL.match(text)) is None or call[1] not in ("write", "writev"):
            return None
        return ("write", {"fd": call[2]}) if call[2] else ("written", {"result": call[3] or ""})
    name, _, rest = text.partition(": ")
    if rest.startswith("("):
        if probe := _PROBE.match(rest):
            return "probe", {"function": probe[1], "port": probe[2] or "", "count": probe[3] or ""}
        return None
    pattern = _EVENTS.get(name)
    if pattern is None or (match := pattern.match(rest)) is None:
        return None
    values = {key: shown(value) if "comm" in key or key == "name" else value for key, value in match.groupdict("").items()}
    return name, values
