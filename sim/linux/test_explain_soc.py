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

EACH = 3  # every third byte is late, see programs/late.c
EXACT = 1000  # ns, that parts and pins may differ by
LARGE = 1_000_000  # ns: what happens in any run takes less
NEAR = 400_000  # ns: from what was planted to what it made late: interrupts and switches around it
SLEEPS = 3_000_000  # ns


@dataclass(frozen=True)
class Case:
    """A case of programs/late.c. cause, name: what is named; all_late: each byte is late, not each
    third."""

    cause: str
    name: str = ""
    count: int = 9
    all_late: bool = False

    def is_late(self, number):
        """Whether the byte is late."""
        return bool(self.cause) and (self.all_late or number % EACH == EACH - 1)


CASES = {
    "quiet": Case("", count=16),
    "hog": Case("busy", "planter (real-time priority 50)"),
    "storm": Case("irq", "storm"),
    "irqs_off": Case("timer", "planter (nice 0)"),
    "worker": Case("worker", "kworker"),
    "resume": Case("resume", all_late=True),
    "halted": Case("idle", "1", all_late=True),
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
    assert len(errors) >= 100 and exact >= 0.99 * len(errors), sorted(errors)[-5:]


def overlap(planted, begin, end):
    """How much of a time was planted, ns."""
    return sum(max(0, min(stop, end) - max(start, begin)) for start, stop in planted)


@pytest.mark.full
@pytest.mark.parametrize("name", CASES)
def test_a_planted_cause_has_its_name(runs, name):
    """For as long as it lasted; and nothing else has taken long."""
    case, run = CASES[name], runs[name]
    for edge in run.found.edges:
        parts = merged(edge.parts)
        large = {part.cause for part in parts if part.ns > LARGE}
        if not case.is_late(edge.chain.number):
            assert not large, words.plain(edge)
            continue
        main = edge.main()
        assert main.cause == case.cause and case.name in main.name, words.plain(edge)
        assert large == {case.cause}, words.plain(edge)
        took = overlap(run.planted, edge.due, edge.edge) if run.planted else SLEEPS
        assert took > LARGE and abs(main.ns - took) < NEAR, words.plain(edge)
    if case.cause:
        top = run.found.shares[0]
        assert top.cause == case.cause and case.name in top.name


@pytest.mark.full
def test_lateness_and_its_parts_of_the_boards_own_tty(runs):
    """--self: the driver gives the bytes to the core within write(), and no interrupt is needed."""
    found = runs["self"].found
    assert all(part.ns < LARGE for edge in found.edges for part in edge.parts)
    assert "uart" not in {share.cause for share in found.shares}
