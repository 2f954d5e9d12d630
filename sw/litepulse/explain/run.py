# SPDX-License-Identifier: BSD-2-Clause
"""Runs a program while the board records the pin and the kernel its trace, and explains the edges."""

import contextlib
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from litepulse.backends.interface import Backend, Wanted
from litepulse.board import Board
from litepulse.capture import ByteEvent, CaptureEvent, EdgeEvent, Listen, LostEvent
from litepulse.errors import BadInput, LitePulseError
from litepulse.explain.align import frames_of_bytes, frames_of_edges
from litepulse.explain.causes import Explanation, explain
from litepulse.explain.perfetto import levels
from litepulse.explain.trace import parse
from litepulse.explain.tracefs import Tracer
from litepulse.interrupt import Flag
from litepulse.job import Job, Poller
from litepulse.line import Format, Launch
from litepulse.plan import profile_of
from litepulse.streams import Event, Lost
from litepulse.units import Number

SETTLE_SECONDS = 0.5  # after the program has ended: bytes that are still on their way
END_SECONDS = 2.0  # for a program that is to end
_PORT = re.compile(r"/dev/tty[A-Z]+\w*")
# (tick, level or value, ns or None, by how much that may be wrong)
Seen = tuple[int, int, "int | None", int]


@dataclass(frozen=True)
class Cost:
    """What it cost: seconds of the run; CPU seconds of this process; events of the trace, and what
    one costs, ns, as measured here; processors."""

    seconds: float
    cpu_seconds: float
    events: int
    event_ns: float
    processors: int

    @property
    def share(self) -> float:
        """Of all processors' time."""
        busy = self.cpu_seconds + self.events * self.event_ns / 10**9
        return busy / (self.seconds * self.processors) if self.seconds else 0.0


@dataclass
class Recorded:
    """What a run gave. edges: (tick, level) of the pin; ports: that the program had open, by their
    file numbers; status: of the program, None if it was ended; lost: records of the board."""

    pin: str
    found: Explanation
    edges: list[tuple[int, int]]
    cost: Cost
    lost: int
    status: int | None
    ports: dict[int, str] = field(default_factory=dict[int, str])

    @property
    def port(self) -> str | None:
        """The kernel's name of the serial port, if there is one."""
        names = sorted({path.removeprefix("/dev/") for path in self.ports.values()})
        return names[0] if len(names) == 1 else None


class Launches(Listen["Event | Lost", "Event | Lost"]):
    """What leaves the board's own tty."""

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend, Poller(backend))

    def _prepare(self) -> None:
        self._backend.recorder.record(Wanted(launched=("tty",)))

    def _poll(self) -> "Sequence[Event | Lost]":
        return self.poller.poll()[1].events


class Program:
    """A program that runs. Its output goes to our standard error, which has nothing to be parsed."""

    def __init__(self, command: Sequence[str]) -> None:
        self.ports: dict[int, str] = {}
        self.ended = False  # by us
        sys.stderr.flush()
        try:
            self.process = subprocess.Popen(command, stdout=sys.stderr.fileno())
        except OSError as error:
            raise BadInput(f"explain: {command[0]}: {error.strerror}") from None

    @property
    def status(self) -> int | None:
        """None while it runs."""
        return self.process.poll()

    def look(self) -> None:
        """Which serial ports it has open."""
        waiting = [self.process.pid]
        while waiting:
            process = waiting.pop()
            with contextlib.suppress(OSError, ValueError):
                waiting += map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split())
            with contextlib.suppress(OSError):
                for link in Path(f"/proc/{process}/fd").iterdir():
                    with contextlib.suppress(OSError):
                        if _PORT.fullmatch(path := os.readlink(link)):
                            self.ports[int(link.name)] = path

    def end(self) -> int | None:
        """Ends it; None if it had to be ended."""
        if (status := self.status) is not None:
            return None if self.ended else status
        self.ended = True
        self.process.terminate()
        try:
            self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        return None


def record(
    board: Board,
    command: Sequence[str],
    interrupt: Flag = False,
    *,
    wire: str = "rx",
    own: bool = False,
    baud: Number | str = 9600,
    format: Format | None = None,
    every: Fraction | None = None,
    duration: float | None = None,
    progress: Callable[[int], None] = lambda seen: None,
) -> Recorded:
    """Runs a program and explains the edges of its writes.

    wire: the channel to which the port's TX is wired; own: the port is the board's own tty; baud,
    format: of the port; every: see explain(); duration: ends the program after so many seconds;
    progress: is called with the number of bytes or edges, look by look
    """
    fmt = format or Format()
    profile = profile_of(board.timescale, baud, fmt)
    bit = profile.bit_period.ticks
    bits = Fraction(Launch("frame", 0).length(profile)) / bit
    seen: list[Seen] = []
    with Tracer() as tracer:
        if own:
            job = board.begin(Launches(board.backend))
        elif wire == "rx":
            job = board.capture((), bytes=True, baud=baud, format=fmt)
        else:
            job = board.capture((wire,))
        began, used = time.monotonic(), _cpu()
        with job:
            program = Program(command)
            try:
                for _ in _looks(job, seen, program, interrupt, duration):
                    progress(len(seen))
            finally:
                status = program.end()
        tracer.stop()
        seconds, used = time.monotonic() - began, _cpu() - used
    events = list(parse(tracer.lines()))
    threads = {int(name) for name in os.listdir("/proc/self/task")} | tracer.threads
    cost = Cost(seconds, used, len(events), tracer.cost_ns, os.cpu_count() or 1)
    known = _timed(seen, board.tick_hz)
    edges = [(tick, level) for tick, level, *_ in seen]
    idle = 0 if fmt.invert else 1
    if own or wire == "rx":
        frames = frames_of_bytes(known, bit, bits)
        edges = list(levels(frames, bit, fmt.data_bits, idle))
    else:
        frames = frames_of_edges(known, bit, bits, idle)
    found = explain(events, program.process.pid, frames, board.tick_hz, every=every, fds=program.ports, own=threads)
    result = Recorded("tx" if own else wire, found, edges, cost, job.losses.total, status, program.ports)
    check(result, command[0])
    return result


def check(result: Recorded, name: str) -> None:
    """LitePulseError, in one line, if there is nothing to explain."""
    found, status = result.found, result.status
    if not found.writes:
        how = "was ended" if status is None else f"ended with status {status}"
        raise LitePulseError(f"explain: {name} {how}, and wrote nothing to a serial port")
    if not found.edges and found.blind:
        raise LitePulseError("explain: the kernel lost events of each write: the trace is too much for this machine")
    if not found.edges:
        raise LitePulseError(f"explain: {name} wrote {found.bytes} bytes, but {result.pin} has no edges: is the port's TX wired to it?")


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _looks(
    job: "Job[CaptureEvent] | Job[Event | Lost]", seen: list[Seen], program: Program, interrupt: Flag, duration: float | None
) -> Iterator[None]:
    """Look by look, until the program has ended and its last bytes have come."""
    end = None if duration is None else time.monotonic() + duration
    quiet = float("inf")
    for batch in job.batches():
        seen += filter(None, map(_seen, batch))
        now = time.monotonic()
        if program.status is None:
            program.look()
            if interrupt or (end is not None and now >= end):
                program.end()
        else:
            quiet = min(quiet, now)
        yield
        if now > quiet + SETTLE_SECONDS or interrupt:
            break


def _seen(found: CaptureEvent | Event | Lost) -> Seen | None:
    """What counts of what a job gave."""
    match found:
        case LostEvent() | Lost():
            return None
        case EdgeEvent():
            return found.tick, found.level, found.ns, found.uncertainty
        case ByteEvent():
            return found.tick, found.data, found.ns, found.uncertainty
        case Event():
            return (found.tick, found.data & 0xFF, found.ns, found.uncertainty) if found.kind == "tx" else None


def _timed(seen: Sequence[Seen], tick_hz: Fraction) -> list[tuple[int, int, int, int]]:
    """The same, with times of CLOCK_MONOTONIC for all: one that has none gets that of another one,
    by the number of ticks in between."""
    known = next(((tick, ns, uncertainty) for tick, _, ns, uncertainty in seen if ns is not None), None)
    if known is None:
        if seen:
            raise LitePulseError("explain: the board's time is not known in CLOCK_MONOTONIC")
        return []
    tick0, ns0, uncertainty0 = known
    found: list[tuple[int, int, int, int]] = []
    for tick, value, ns, uncertainty in seen:
        if ns is None:
            ns, uncertainty = ns0 + round((tick - tick0) * 10**9 / tick_hz), uncertainty0
        found.append((tick, value, ns, uncertainty))
    return found
