# SPDX-License-Identifier: BSD-2-Clause
"""Two cores in one SoC, which leave their reset together, and one driver: two devices, two ttys, one time."""

import random
from fractions import Fraction

import pytest

from sim.guest.pins import pulses, sampled_edges
from sim.linux.test_chardev import EDGE, TRAIN_DONE, TX, Report

pytestmark = pytest.mark.seconds(120)
INPUTS = ("aux0", "aux1", "aux2", "aux3")
# Of programs/lines.c: period, pulses, width.
TRAINS = {"tx": (Fraction(1000), 5, 100), "peer_tx": (862 + Fraction(2, 29), 8, 77)}


@pytest.fixture(scope="module")
def guest(linux):
    return linux("vexriscv", cores=2)


def test_what_there_is(guest):
    """Each core has its devices, its interrupt and its place; the CSRs are those of the device tree."""
    bases = guest.machine.description["csr_bases"]
    places = [f"{bases[core]:x}.serial" for core in ("pulse", "pulse1")]
    script = """
        for path in /dev/litepulse* /dev/ttyPULSE* /dev/ptp* /sys/bus/platform/drivers/litepulse/*.*; do echo ${path##*/}; done
        for place in %s; do grep -c $place /proc/interrupts; done
    """
    result = guest.run(script % " ".join(places))
    assert result.lines == ["litepulse0", "litepulse1", "ttyPULSE0", "ttyPULSE1", "ptp0", "ptp1", *places, "1", "1"]


def test_one_time(guest):
    """An edge that both see has the same tick in each, that of the pin; trains with the same start
    tick begin together."""
    rng, tick, steps, level = random.Random(4), 1000, [], dict.fromkeys(INPUTS, 0)
    for _ in range(60):
        tick += rng.choice((1, 2, rng.randrange(3, 5000)))
        for pin in rng.sample(INPUTS, rng.choice((1, 1, 2, 4))):
            level[pin] = 1 - level[pin]
            steps.append(f"+{tick} {pin} {level[pin]}\n")
    result = guest.run_program("lines", stimulus="after ready edges\n" + "".join(steps), max_cycles=100_000_000)
    report = Report(result.lines)
    assert all(before <= other <= after for before, other, after in report.all("time")) and len(report.all("time")) == 5

    wanted = sampled_edges(result.pins, INPUTS)
    seen = [report.events(["core", "0"], ["core", "1"]), report.events(["core", "1"], ["profile"])]
    assert {event[0] for events in seen for event in events} == {EDGE}
    edges = [
        sorted((event[2], bit, event[4] >> 16 + bit & 1) for event in events for bit in range(len(INPUTS)) if event[4] >> bit & 1)
        for events in seen
    ]
    assert edges == [wanted, wanted] and len(wanted) == len(steps)

    start = report.one("start")[0]
    assert report.results("train") == [(0, 0), (0, 0)]
    events = [report.events(["train", "0"], ["train", "1"]), report.events(["train", "1"], ["end"])]
    for records, (pin, (period, count, width)) in zip(events, TRAINS.items(), strict=True):
        ticks = [start + int(k * period) for k in range(count)]
        assert [event[2] for event in records if event[0] == TX] == ticks
        assert [event[4] for event in records if event[0] == TRAIN_DONE] == [count]
        assert pulses(result.pins, pin, active=0)[:count] == [(at, width) for at in ticks]
