# SPDX-License-Identifier: BSD-2-Clause
"""Each delay cut into parts that add up to it, each part with its cause; and what would have
helped."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from litepulse.errors import BadInput
from litepulse.explain.align import Alignment, Frame, align, paired
from litepulse.explain.chain import RESUME, Chain, Chains
from litepulse.explain.timeline import IDLE, Timeline
from litepulse.explain.trace import Event

# What a cause is called in a table, and in a sentence behind "for 12 us ...". {} is the name of
# what it was, if it has one.
CAUSES = {
    "slept": ("slept late", "the program itself had requested to wake up later"),
    "slack": ("timer slack", "the kernel let the timer wait, within the program's timer slack"),
    "idle": ("CPU halted", "the CPU was halted in idle state {}"),
    "timer": ("timer late", "the timer's interrupt had to wait: {} ran with interrupts off, or the machine stood still"),
    "irq": ("interrupt {}", "the CPU served interrupt {}"),
    "softirq": ("softirq {}", "the CPU served the softirq {}"),
    "busy": ("CPU busy: {}", "the CPU ran {}"),
    "wake": ("scheduler", "the kernel switched to the task"),
    "blocked": ("blocked", "the program waited for a disk or for memory"),
    "program": ("program", "the program ran, before its write()"),
    "write": ("write()", "write() and the tty layer took their time"),
    "worker": ("worker", "the kernel's worker had other work: {}"),
    "handover": ("work queue", "the bytes waited for a worker of the kernel, which did {}"),
    "resume": ("port suspended", "the port had been suspended and was resumed"),
    "uart": ("UART's interrupt", "the driver waited for the UART's interrupt"),
    "line": ("bytes before it", "bytes before it were still on the wire"),
    "adapter": ("UART or adapter", "the UART or adapter had the byte and waited"),
    "unknown": ("unknown", "the trace has a gap"),
}
PROGRAMS = ("program", "write")  # what the program does itself; the others are of workers
WORST = 10
OWN = "this command"
PLAIN = Fraction(1, 20)  # of a delay: smaller parts are not named one by one
NEXT = Fraction(21, 20)  # of a frame: one that begins sooner has waited for it
USUAL = Fraction(1, 50)  # of all delays: a cause with less than that gets no advice


class Part(NamedTuple):
    """A part of a delay. cause: a key of CAUSES; name: of the task, interrupt or idle state;
    begin: ns of CLOCK_MONOTONIC."""

    cause: str
    name: str
    begin: int
    ns: int

    @property
    def label(self) -> str:
        """For a table."""
        return CAUSES[self.cause][0].format(self.name)

    def plain(self) -> str:
        """What happened, in words."""
        return CAUSES[self.cause][1].format(self.name)


@dataclass(frozen=True)
class Explained:
    """A write, its edge, and the parts of the time from `due` to the edge, which add up to `ns`."""

    chain: Chain
    frame: Frame
    due: int
    edge: int  # ns of CLOCK_MONOTONIC, as if the fastest byte had left when the UART got it
    parts: tuple[Part, ...]

    @property
    def ns(self) -> int:
        """How late the edge was, over the fastest."""
        return self.edge - self.due

    def main(self) -> Part:
        """The largest cause, with all of its parts."""
        return max(merged(self.parts), key=lambda part: part.ns)


@dataclass(frozen=True)
class Share:
    """A cause in all delays: ns in all, the largest one of an edge, and of how many edges it was
    a part; share: of all delays."""

    cause: str
    name: str
    ns: int
    worst: int
    edges: int
    share: Fraction

    @property
    def label(self) -> str:
        """For a table."""
        return CAUSES[self.cause][0].format(self.name)


@dataclass(frozen=True)
class Explanation:
    """Why the edges of a program were late.

    edges: each write that was explained; blind: writes in whose time events of the trace were lost;
    missing: writes without an edge; stray: edges without a write
    """

    edges: list[Explained]
    alignment: Alignment | None
    timeline: Timeline
    writes: int
    bytes: int
    blind: int = 0
    missing: int = 0
    stray: int = 0
    lost: int = 0
    shares: list[Share] = field(default_factory=list[Share])

    def worst(self, count: int = WORST) -> list[Explained]:
        """The latest edges, the latest first."""
        return sorted(self.edges, key=lambda edge: -edge.ns)[:count]


def merged(parts: Iterable[Part]) -> list[Part]:
    """One part for each cause, as it first came."""
    sums: dict[tuple[str, str], int] = defaultdict(int)
    begins: dict[tuple[str, str], int] = {}
    for part in parts:
        key = part.cause, part.name
        sums[key] += part.ns
        begins.setdefault(key, part.begin)
    return [Part(*key, begins[key], ns) for key, ns in sums.items()]


class _Cutter:
    """Cuts a chain into parts."""

    def __init__(self, timeline: Timeline, own: Iterable[int] = ()) -> None:
        self.timeline, self.own = timeline, set(own)

    def on_cpu(self, cpu: int, begin: int, end: int, task: str, pids: Iterable[int] = ()) -> Iterator[Part]:
        """What a processor did, while a task was to run there. task: the cause when it ran one
        of `pids`; '': that waits, too."""
        for span in self.timeline.spans(cpu, begin, end):
            length = span.end - span.begin
            if span.kind == "task":
                if span.pid in pids and task:
                    yield Part(task, "", span.begin, length)
                elif span.pid == IDLE:
                    yield Part("wake", "", span.begin, length)
                else:
                    yield Part("busy", OWN if span.pid in self.own else span.name, span.begin, length)
            else:
                yield Part(span.kind, span.name, span.begin, length)

    def task(self, pid: int, begin: int, end: int, cpu: int, cause: str, name: str = "") -> Iterator[Part]:
        """What a task did, `cause` being the name for its own time, and why it did not run in
        between."""
        for ran, start, stop, where in self.timeline.of_task(pid, begin, end, cpu):
            if ran:
                for part in self.on_cpu(where, start, stop, cause, (pid,)):
                    yield part._replace(name=name) if part.cause == cause and not part.name else part
            else:
                yield from self._waiting(pid, start, stop, where, cause, name)

    def _waiting(self, pid: int, begin: int, end: int, cpu: int, cause: str, name: str) -> Iterator[Part]:
        """What a task waited for. Its own sleeps belong to what it does, so to `cause`; before it
        has been woken for that (`wake`), it is the processor that counts."""
        at = begin
        for sleep in self.timeline.asleep(pid, begin, end) if cause != "wake" else ():
            yield from self.on_cpu(cpu, at, sleep.begin, "")
            blocked = sleep.blocked and cause in PROGRAMS
            yield Part("blocked" if blocked else cause, "" if blocked else name, sleep.begin, sleep.end - sleep.begin)
            at = sleep.end
        yield from self.on_cpu(cpu, at, end, "")

    def timer(self, chain: Chain) -> Iterator[Part]:
        """From the time that the program requested to the timer's interrupt."""
        if chain.limit > chain.due:
            yield Part("slack", "", chain.due, chain.limit - chain.due)
        for part in self.on_cpu(chain.cpu_fired, chain.limit, chain.fired, ""):
            yield part._replace(cause="timer") if part.cause == "busy" else part

    def chain(self, chain: Chain) -> Iterator[Part]:
        """All parts from `due` to `handed`."""
        pid, cpu = chain.pid, chain.cpu_fired
        if chain.wake == "timer":
            yield from self.timer(chain)
        if chain.wake != "again":
            yield from self.task(pid, chain.fired, chain.running, cpu, "wake")
            yield from self.task(pid, chain.running, chain.write, cpu, "program")
        at = chain.write
        if chain.via_worker and chain.queued is not None and chain.worker is not None:
            worker = chain.worker_pid
            yield from self.task(pid, at, chain.queued, cpu, "write")
            # In a worker that runs already: what it does is other work.
            yield from self.task(worker, chain.queued, chain.worker, cpu, "worker", self._other_work(worker))
            at = chain.worker
            end = chain.start if chain.start is not None and chain.start >= at else chain.handed
            yield from self._in_worker(chain, at, end, cpu)
            at = end
        elif chain.start is not None:
            yield from self.task(pid, at, chain.start, cpu, "write")
            at = chain.start
        else:
            yield from self.task(pid, at, chain.handed, cpu, "write")
            at = chain.handed
        yield from self._until_handed(chain, at)

    def _other_work(self, worker: int) -> str:
        return self.timeline.names.get(worker, "a worker")

    def _in_worker(self, chain: Chain, begin: int, end: int, cpu: int) -> Iterator[Part]:
        """What the kernel's worker did for the bytes."""
        cause, name = ("resume", "") if chain.work == RESUME else ("handover", chain.work)
        yield from self.task(chain.worker_pid, begin, end, cpu, cause, name)

    def _until_handed(self, chain: Chain, begin: int) -> Iterator[Part]:
        """The UART's interrupt; another one that comes before is named. Some drivers need none: they
        give the UART its bytes within write(), or within the worker."""
        if chain.handed_by == chain.pid:
            yield from self.task(chain.pid, begin, chain.handed, chain.cpu_handed, "write")
            return
        if chain.handed_by and chain.handed_by == chain.worker_pid:
            yield from self._in_worker(chain, begin, chain.handed, chain.cpu_handed)
            return
        for part in self.on_cpu(chain.cpu_handed, begin, chain.handed, "uart", (chain.pid, chain.worker_pid)):
            own = part.cause == "irq" and part.begin + part.ns >= chain.handed
            yield part._replace(cause="uart", name="") if own or part.cause == "wake" else part


def _tidy(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Neighbours of the same cause as one; none that is empty."""
    found: list[Part] = []
    for part in parts:
        if part.ns <= 0:
            continue
        if found and found[-1][:2] == part[:2]:
            found[-1] = found[-1]._replace(ns=found[-1].ns + part.ns)
        else:
            found.append(part)
    return tuple(found)


def _beat(dues: Sequence[int], every: Fraction) -> list[int]:
    """When each would have been due by an even beat of `every` ns that begins with the one that
    is the earliest by it."""
    base = min(due - number * every for number, due in enumerate(dues))
    return [round(base + number * every) for number in range(len(dues))]


def explain(
    events: Iterable[Event],
    pid: int,
    frames: Sequence[Frame],
    tick_hz: Fraction,
    *,
    every: Fraction | None = None,
    fds: Iterable[int] = (),
    own: Iterable[int] = (),
) -> Explanation:
    """Why the edges of a program were late.

    events: of the trace; pid: of the program; frames: what the board saw; every: seconds between
    two writes, as the program means to do them: then lateness counts from that beat; fds: the
    port's file numbers, for a trace without functions of its driver; own: threads of the measurement
    itself
    """
    if every is not None and every <= 0:
        raise BadInput("every: it is more than 0")
    events = list(events)
    timeline, machine = Timeline(events), _followed(events, pid, fds)
    chains = sorted(machine.close(), key=lambda chain: chain.write if chain.by_call else chain.handed)
    size = sum(chain.size for chain in chains)
    lost = sum(int(event.values["count"]) for event in machine.losses)
    first = paired([(chain.write if chain.by_call else chain.handed, chain.size) for chain in chains], frames)
    found = [(chain, frame) for chain, frame in zip(chains, first) if frame is not None]
    for chain, frame in found:
        if chain.by_call:
            _before_its_edge(chain, frame)
    stray = max(0, len(frames) - sum(chain.size for chain, _ in found))
    if not found:
        return Explanation([], None, timeline, len(chains), size, 0, len(chains), stray, lost)
    waited = {after.tick for before, after in zip(frames, frames[1:]) if after.tick - before.tick < before.ticks * NEXT}
    alignment = align([chain.handed for chain, _ in found], [frame for _, frame in found], tick_hz, waited)
    ideal: Sequence[int | None] = [None] * len(found)
    if every is not None:
        by_write = sorted((chain for chain, _ in found), key=lambda chain: chain.write)
        beat = dict(zip((chain.number for chain in by_write), _beat([chain.due for chain in by_write], every * 10**9)))
        ideal = [beat[chain.number] for chain, _ in found]
    cutter, edges, blind = _Cutter(timeline, own), list[Explained](), 0
    wire = _Wire(frames, alignment)
    for (chain, frame), late, due in zip(found, alignment.late, ideal):
        if any(chain.due <= loss.at <= chain.handed for loss in machine.losses):
            blind += 1
            continue
        begin = chain.due if due is None else min(due, chain.due)
        requested = [Part("slept", "", begin, chain.due - begin)]
        parts = _tidy([*requested, *cutter.chain(chain), *wire.parts(chain.handed, late, frame)])
        edges.append(Explained(chain, frame, begin, chain.handed + late, parts))
    edges.sort(key=lambda edge: edge.edge)
    return Explanation(edges, alignment, timeline, len(chains), size, blind, len(chains) - len(found), stray, lost, list(_shares(edges)))


def _followed(events: Sequence[Event], pid: int, fds: Iterable[int]) -> Chains:
    """The program's writes, by functions of the driver; by system calls alone if it shows none."""
    machine = Chains(pid)
    for files in ((), fds):
        machine = Chains(pid, files)
        for event in events:
            machine.feed(event)
        if machine.close():
            break
    return machine


def _before_its_edge(chain: Chain, frame: Frame) -> None:
    """The UART has its byte before the edge, which may come before the end of write(), or while a
    worker resumes the port; it has not waited for a worker that began later."""
    edge, begin = frame.ns + frame.uncertainty, chain.write
    if chain.via_worker and chain.worker is not None and chain.worker <= edge:
        begin = chain.worker
    elif chain.via_worker:
        chain.via_worker, chain.handed = False, chain.handed if chain.written is None else chain.written
    chain.handed = max(begin, min(chain.handed, edge))


class _Wire:
    """When the line was busy."""

    def __init__(self, frames: Sequence[Frame], alignment: Alignment) -> None:
        self._ends: dict[int, int] = {}
        for before, frame in zip(frames, frames[1:]):
            self._ends[frame.tick] = alignment.ns_of(before.tick + before.ticks)

    def parts(self, handed: int, late: int, frame: Frame) -> Iterator[Part]:
        """Between the moment at which the UART got the byte and the edge."""
        busy = max(0, min(late, self._ends.get(frame.tick, handed) - handed))
        yield Part("line", "", handed, busy)
        yield Part("adapter", "", handed + busy, late - busy)


def _shares(edges: Sequence[Explained]) -> Iterator[Share]:
    """The causes in all delays, the largest first."""
    each: dict[tuple[str, str], list[int]] = defaultdict(list)
    for edge in edges:
        for part in merged(edge.parts):
            each[part.cause, part.name].append(part.ns)
    total = sum(map(sum, each.values())) or 1
    for key, values in sorted(each.items(), key=lambda item: -sum(item[1])):
        yield Share(*key, sum(values), max(values), len(values), Fraction(sum(values), total))
