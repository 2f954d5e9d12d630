# SPDX-License-Identifier: BSD-2-Clause
"""litepulse explain on the simulated Linux SoC, whose pins are the truth: each planted cause has
its name, no other one is named, and the parts add up to the delay."""

from dataclasses import dataclass
from statistics import median

import pytest

from litepulse.explain import words
from litepulse.explain.causes import merged
from sim.linux import late_edges
from sim.linux.driver_bench import PEER, PULSE

EXACT = 1000  # ns, that parts and pins may differ by
LATE = 6_000_000  # ns: of slept and computes, as in programs/late.c
# ns: what happens in any run takes less. The timer's interrupt, traced, takes 1.0 to 1.15 ms.
LARGE = 2_000_000
# ns around each span that was planted: the way into an interrupt and out of it, the system call in
# which a process goes to sleep, and their events of the trace.
NEAR = 400_000
INTERRUPTS = ("irq", "softirq")


@dataclass(frozen=True)
class Case:
    """A case of programs/late.c. cause, name: what is named; first, each: the number of the first
    byte that is late, and of how many bytes one is."""

    cause: str
    name: str = ""
    count: int = 6
    first: int = 2
    each: int = 3

    def is_late(self, number):
        """Whether the byte is late."""
        return bool(self.cause) and number >= self.first and (number - self.first) % self.each == 0


CASES = {
    "quiet": Case("", count=12),
    "hog": Case("busy", "planter (real-time priority 50)"),
    "storm": Case("irq", "storm"),
    "irqs_off": Case("timer", "planter (nice 0)"),
    "worker": Case("worker", "kworker"),
    "resume": Case("resume", first=1, each=1),  # it was opened before the first byte
    "halted": Case("idle", "1", first=0, each=1),
    "slept": Case("slept"),
    "computes": Case("program"),
}


@pytest.fixture(scope="module")
def machine():
    return late_edges.guest()


@pytest.fixture(scope="module")
def runs(machine):
    """{case: what it gave}, of liteuart; and "self", of LitePulse's own tty without a cause."""
    found = {name: late_edges.run(machine, name, PEER, case.count) for name, case in CASES.items()}
    return found | {"self": late_edges.run(machine, "quiet", PULSE, CASES["quiet"].count)}


@pytest.mark.full
def test_events_of_probes_are_dropped(machine):
    """So Tracer sets none on 32-bit RISC-V: a breakpoint counts as an NMI, in which the trace must
    not use 64-bit atomics. If this fails, the kernel records drivers' functions: trace them."""
    hits, events = late_edges.probed(machine)
    assert hits > 0 and not events


@pytest.mark.full
@pytest.mark.seconds(400)
def test_parts_add_up_to_the_pins(runs):
    """From the time that the program requested to the edge at the pin, less the constant of the
    fastest one."""
    errors = []
    for run in runs.values():
        assert run.lost == 0 and run.found.lost == 0
        assert len(run.found.edges) == len(run.due)
        assert (run.found.missing, run.found.stray, run.found.blind) == (0, 0, 0)
        found = [sum(part.ns for part in edge.parts) for edge in run.found.edges]
        assert found == [edge.ns for edge in run.found.edges]
        left = [edge - due - ns for edge, due, ns in zip(run.edges, run.due, found, strict=True)]
        constant = median(left)
        errors += [abs(each - constant) for each in left]
    exact = sum(error <= EXACT for error in errors)
    assert len(errors) == 72 and exact >= 0.99 * len(errors), sorted(errors)[-5:]


def meeting(spans, begin, end):
    """How much of each of these spans, (begin, end), lies in a time, ns; of those that meet it."""
    found = [min(stop, end) - max(start, begin) for start, stop in spans]
    return [ns for ns in found if ns > 0]


def judge(case, run, edge):
    """The cause of a late edge has its name for as long as it lasted, and nothing else took long."""
    parts, what = merged(edge.parts), words.plain(edge)
    main = edge.main()
    assert main.cause == case.cause and case.name in main.name, what
    assert [part.cause for part in parts if part.ns > LARGE] == [case.cause], what
    planted = run.planted or [(edge.due, edge.due + LATE)]
    spans = meeting(planted, edge.due, edge.edge)
    # Interrupts that came while it lasted have their own names.
    others = [part for part in edge.parts if part.cause in INTERRUPTS and part.name != main.name]
    meanwhile = sum(sum(meeting(planted, part.begin, part.begin + part.ns)) for part in others)
    assert sum(spans) > LARGE, what
    assert -meanwhile - NEAR < main.ns - sum(spans) < NEAR * len(spans), (what, spans, meanwhile)


@pytest.mark.full
@pytest.mark.parametrize("name", CASES)
def test_a_planted_cause_has_its_name(runs, name):
    """For as long as it lasted; and nothing else has taken long."""
    case, run = CASES[name], runs[name]
    for edge in run.found.edges:
        if case.is_late(edge.chain.number):
            judge(case, run, edge)
        else:
            assert not [part for part in merged(edge.parts) if part.ns > LARGE], words.plain(edge)
    if case.cause:
        top = run.found.shares[0]
        assert top.cause == case.cause and case.name in top.name


@pytest.mark.full
def test_lateness_and_its_parts_of_the_boards_own_tty(runs):
    """--self: the driver gives the bytes to the core within write(), and no interrupt is needed."""
    found = runs["self"].found
    assert all(part.ns < LARGE for edge in found.edges for part in edge.parts)
    assert "uart" not in {share.cause for share in found.shares}
