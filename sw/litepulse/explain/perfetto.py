# SPDX-License-Identifier: BSD-2-Clause
"""The pins beside the scheduler, as a file for ui.perfetto.dev and chrome://tracing: JSON in
Chrome's trace event format, times in microseconds of CLOCK_MONOTONIC."""

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from litepulse.explain.align import Frame
from litepulse.explain.causes import Explanation

MARGIN = 5_000_000  # ns around what is explained
PINS, BYTES, PROCESSORS = 1, 2, 3  # processes: in the viewer each is a group of tracks


def _us(ns: int) -> float:
    return ns / 1000


def _slice(group: int, track: int, name: str, begin: int, ns: int, **more: Any) -> dict[str, Any]:
    return {"ph": "X", "pid": group, "tid": track, "name": name, "ts": _us(begin), "dur": _us(ns)} | ({"args": more} if more else {})


def _named(kind: str, group: int, track: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "pid": group, "tid": track, "name": kind, "args": {"name": name}}


def levels(frames: Iterable[Frame], bit: Fraction, bits: int, idle: int = 1) -> Iterator[tuple[int, int]]:
    """(tick, level) of each edge of received bytes. bit: ticks; bits: of data. A parity bit is not shown: a
    byte is given without it."""
    for frame in frames:
        level = 1
        value = (1 << bits) - 1 if frame.data is None else frame.data
        for number, next_level in enumerate([0, *(value >> place & 1 for place in range(bits)), 1]):
            if next_level != level:
                yield frame.tick + int(number * bit), next_level if idle else 1 - next_level
                level = next_level


def events(found: Explanation, pin: str, edges: Sequence[tuple[int, int]], idle: int = 1) -> Iterator[dict[str, Any]]:
    """All events. pin: what the board calls it; edges: (tick, level) of it."""
    yield _named("process_name", PINS, 0, "LitePulse")
    yield _named("process_name", BYTES, 0, "late edges")
    yield _named("process_name", PROCESSORS, 0, "CPUs")
    if not found.edges or found.alignment is None:
        return
    begin = min(edge.due for edge in found.edges) - MARGIN
    end = max(edge.edge for edge in found.edges) + MARGIN
    yield {"ph": "C", "pid": PINS, "name": pin, "ts": _us(begin), "args": {"level": idle}}
    for tick, level in edges:
        at = found.alignment.ns_of(tick)
        if begin <= at <= end:
            yield {"ph": "C", "pid": PINS, "name": pin, "ts": _us(at), "args": {"level": level}}
    lanes: list[int] = []  # when each is free: what overlaps needs a track of its own
    for edge in sorted(found.edges, key=lambda edge: edge.due):
        lane = next((number for number, free in enumerate(lanes) if free <= edge.due), len(lanes))
        if lane == len(lanes):
            lanes.append(0)
            yield _named("thread_name", BYTES, lane + 1, "from due to edge")
        lanes[lane] = edge.edge
        more = {"tick": edge.frame.tick, "task": edge.chain.task, "late_us": _us(edge.ns)}
        yield _slice(BYTES, lane + 1, f"edge {edge.chain.number}", edge.due, edge.ns, **more)
        for part in edge.parts:
            yield _slice(BYTES, lane + 1, part.label, part.begin, part.ns, edge=edge.chain.number, cause=part.cause)
    for cpu in sorted(found.timeline.cpus):
        yield _named("thread_name", PROCESSORS, cpu, f"CPU {cpu}")
        for span in found.timeline.spans(cpu, begin, end):
            if span.kind == "task" and span.pid == 0:
                continue
            name = {"task": span.name, "idle": f"halted (idle state {span.name})", "unknown": "no trace"}.get(span.kind)
            yield _slice(PROCESSORS, cpu, name or f"{span.kind} {span.name}", span.begin, span.end - span.begin)


def trace(found: Explanation, pin: str, edges: Sequence[tuple[int, int]], idle: int = 1) -> dict[str, Any]:
    """The whole file."""
    return {"displayTimeUnit": "ns", "traceEvents": list(events(found, pin, edges, idle))}
