# SPDX-License-Identifier: BSD-2-Clause
"""An explanation in plain words, what would have helped, and all of it for JSON."""

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from litepulse.explain.causes import OWN, PLAIN, USUAL, WORST, Explained, Explanation, Share, merged
from litepulse.explain.run import Cost, Recorded
from litepulse.units import counted, fixed, si

ADVISED = Fraction(1, 10)  # of all delays: smaller causes get no line
FIFO, MOST_FIFO = 80, 99
_REALTIME = re.compile(r"real-time priority (\d+)")
_IRQ = re.compile(r"(\d+) \((.*)\)")


def us(ns: int) -> str:
    """In microseconds."""
    return fixed(Fraction(ns, 1000), 1)


def percent(share: Fraction | float) -> str:
    """71.3 %"""
    return f"{fixed(Fraction(share) * 100, 1)} %"


def table(found: Explanation) -> list[tuple[str, str, str, str, str]]:
    """Rows of the causes: (cause, share, mean, worst, edges). Small ones are in one row."""
    rows, rest = list[tuple[str, str, str, str, str]](), list[Share]()
    for share in found.shares:
        if share.share < USUAL / 4 and share.worst < 100_000:
            rest.append(share)
            continue
        mean = us(share.ns // len(found.edges))
        rows.append((share.label, percent(share.share), mean, us(share.worst), str(share.edges)))
    if rest:
        ns = sum(share.ns for share in rest)
        mean, worst = us(ns // len(found.edges)), us(max(share.worst for share in rest))
        rows.append(("others", percent(sum((share.share for share in rest), Fraction(0))), mean, worst, ""))
    return rows


def plain(edge: Explained) -> str:
    """One late edge: what happened, the largest part first."""
    parts = sorted(merged(edge.parts), key=lambda part: -part.ns)
    handed = [part for part in parts if part.ns >= PLAIN * edge.ns] or parts[:1]
    what = "; ".join(f"for {us(part.ns)} us {part.plain()}" for part in handed)
    return f"edge {edge.chain.number} at tick {edge.frame.tick} was {us(edge.ns)} us late: {what}"


def advice(found: Explanation, port: str | None) -> list[str]:
    """Lines that would have helped, for the causes that matter, the most important first."""
    lines = list[str]()
    for share in found.shares:
        if share.share >= ADVISED:
            lines += [line for line in _advice(share, port or "ttyS0") if line not in lines]
    return lines


def _advice(share: Share, port: str) -> Iterator[str]:
    power = f"/sys/class/tty/{port}/device/power/control"
    match share.cause:
        case "slept":
            yield "sleep until absolute times: clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, ...)"
        case "slack":
            yield f"chrt -f {FIFO} PROGRAM: a real-time program has no timer slack; or prctl(PR_SET_TIMERSLACK, 1)"
        case "idle":
            yield "hold /dev/cpu_dma_latency open with 0: litepulse.Realtime(dma_latency=0); or cpupower idle-set -D 0"
        case "timer":
            yield "find what holds interrupts off: the kernel's irqsoff tracer; in a virtual machine it is the host"
        case "irq":
            number = match[1] if (match := _IRQ.fullmatch(share.name)) else "N"
            yield f"taskset -c CPU PROGRAM, and the interrupt to another one: echo CPU >/proc/irq/{number}/smp_affinity_list"
        case "softirq":
            yield "taskset -c CPU PROGRAM: a CPU that has no network or disk interrupts, so that its softirqs are few"
        case "busy":
            yield _against(share.name)
        case "blocked":
            yield "lock the program's memory: mlockall(), litepulse.Realtime(lock_memory=True); write files in another thread"
        case "worker" | "handover":
            name = share.name if share.cause == "worker" else "kworker"
            yield f"renice -n -20 -p $(pgrep -f {name.split('/')[0]}); from Linux 7.2 on the nice of the driver's own workqueue in sysfs"
        case "resume":
            yield f"echo on >{power}: the port is not suspended"
        case "program":
            yield "the program computes between its wake-up and write(): do that before it sleeps"
        case "line":
            yield "a higher bit rate, or fewer bytes at a time: the wire is busy"
        case "adapter":
            yield "a USB adapter sends with the next USB frame, up to 1 ms later: use a UART of the machine, or LitePulse's own port"
        case _:
            return


def _against(name: str) -> str:
    """What helps against a task."""
    if name == OWN:
        return "taskset -c CPU litepulse explain ...: the measurement itself took the CPU; chrt -f 80 PROGRAM keeps it away, too"
    if match := _REALTIME.search(name):
        above = min(MOST_FIFO, int(match[1]) + 1)
        return f"chrt -f {above} PROGRAM: above {name}; or taskset -c CPU PROGRAM, another CPU than that one's"
    if "SCHED_DEADLINE" in name:
        return f"taskset -c CPU PROGRAM: another CPU than that of {name}"
    return f"chrt -f {FIFO} PROGRAM: above {name}"


def cost_line(cost: Cost) -> str:
    """What it cost."""
    each = si(Fraction(cost.event_ns) / 10**9, "s", 2)
    return f"{percent(cost.share)} of the CPU: {counted(cost.events, 'event')} of {each} each, and {fixed(Fraction(cost.cpu_seconds), 2)} s"


def hardware_line(found: Explanation) -> str:
    """What the lateness is counted from."""
    alignment = found.alignment
    assert alignment is not None
    constant, bound = us(alignment.constant), us(alignment.uncertainty)
    drift = fixed(alignment.drift * 10**6, 1)
    return f"over the fastest edge, {constant} us (± {bound}) after the UART got its byte; clocks drift by {drift} ppm"


def result(recorded: Recorded) -> dict[str, Any]:
    """For JSON, behind what all results have."""
    found, cost = recorded.found, recorded.cost
    alignment = found.alignment
    assert alignment is not None
    return {
        "pin": recorded.pin,
        "port": recorded.port,
        "writes": found.writes,
        "bytes": found.bytes,
        "explained": len(found.edges),
        "missing": found.missing,
        "stray": found.stray,
        "blind": found.blind,
        "lost": recorded.lost,
        "events_lost": found.lost,
        "status": recorded.status,
        "constant_ns": alignment.constant,
        "uncertainty_ns": alignment.uncertainty,
        "drift_ppm": float(alignment.drift * 10**6),
        "causes": [
            {
                "cause": share.cause,
                "name": share.name,
                "label": share.label,
                "ns": share.ns,
                "share": float(share.share),
                "worst_ns": share.worst,
                "edges": share.edges,
            }
            for share in found.shares
        ],
        "edges": [
            {
                "n": edge.chain.number,
                "tick": edge.frame.tick,
                "due_ns": edge.due,
                "edge_ns": edge.edge,
                "late_ns": edge.ns,
                "wake": edge.chain.wake,
                "parts": [{"cause": part.cause, "name": part.name, "ns": part.ns} for part in edge.parts],
            }
            for edge in found.edges
        ],
        "worst": [plain(edge) for edge in found.worst(WORST)],
        "advice": advice(found, recorded.port),
        "cost": {
            "share": cost.share,
            "seconds": cost.seconds,
            "cpu_seconds": cost.cpu_seconds,
            "events": cost.events,
            "event_ns": cost.event_ns,
        },
    }
