# SPDX-License-Identifier: BSD-2-Clause
"""What litepulse_output_answer() of driver/litepulse_output.c promises to a module that answers in the interrupt, with the one in echo/.

How soon it answers, and that a lead that is too short is refused, is measured in lab/experiments.
"""

import pytest

from sim.guest import echo_module
from sim.guest.pins import changes, pulses
from sim.linux import linux_rig

HZ = 50_000_000
WIDTH = 33
LEAD = 2000
DEPTH = 64  # launches the core holds: launch_depth of test_chardev's INFO


@pytest.fixture(scope="module")
def guest(linux):
    return linux(linux_rig.CPUS[0])


def rises(*ticks):
    """Edges of input 0."""
    return [f"+{tick + after} aux0 {level}" for tick in ticks for after, level in ((0, 1), (200, 0))]


def seen_and_refused(result):
    """(edges seen, numbers of those whose answer was refused) as response.c prints them."""
    words = [line.split() for line in result.lines]
    return int(next(row[1] for row in words if row[0] == "seen")), [int(row[1]) for row in words if row[0] == "refused"]


def answers(result):
    """(ticks of the edges, of the answers), answers of another width left out."""
    edges = [tick for tick, level in changes(result.pins, "aux0") if level]
    return edges, [tick for tick, width in pulses(result.pins, "tx", 0) if width == WIDTH and tick > edges[0]]


def run(guest, lead, stimulus, ms, width=WIDTH, **options):
    """A run of response.c while the module answers."""
    holder = echo_module.loaded(guest, lead, width)
    return holder.run_program("response", ["kernel", "alone", 0, ms], stimulus=["after ready go", *stimulus], **options)


def test_a_full_queue_refuses(guest):
    """A launch without room is not queued, not even in part: the launches before it wait for their
    tick, seconds ahead."""
    count = DEPTH + 3
    result = run(guest, 100 * HZ // 10, rises(*(1_000_000 + n * 60_000 for n in range(count))), 130)
    seen, refused = seen_and_refused(result)
    assert (seen, refused) == (count, list(range(DEPTH, count)))
    edges, sent = answers(result)
    assert len(edges) == count and sent == []


def test_what_is_no_launch_is_refused(guest):
    """A pulse of no ticks; the core gets no request."""
    result = run(guest, LEAD, rises(500_000, 1_000_000), 40, width=0)
    assert seen_and_refused(result) == (2, [0, 1])
    assert len(answers(result)[0]) == 2 and changes(result.pins, "tx") == []


def test_a_reset_ends_it(guest):
    """The claim is stale then: edges are still reported, and no answer is sent."""
    reset = "+3000000 core_rst 1", "+3000100 core_rst 0"
    holder = echo_module.loaded(guest, LEAD, WIDTH)
    result = holder.run_program(
        "response",
        ["reset", 200],
        stimulus=["after ready go", *rises(1_000_000, 2_000_000), *reset, *rises(8_000_000, 9_000_000)],
        complaints=["the board was reset"],
    )
    assert seen_and_refused(result) == (4, [2, 3])
    edges, sent = answers(result)
    assert len(edges) == 4 and len(sent) == 2 and edges[0] < sent[0] < edges[1] < sent[1] < edges[2]


def test_line_and_claim_are_given_back(guest):
    """While the module is loaded nothing else has them. When it is removed, launches that wait in
    the queue are not sent."""
    lead = 120 * HZ // 1000
    holder = echo_module.loaded(guest, lead, WIDTH)
    script = """
        (echo x >/dev/ttyPULSE0) 2>/dev/null && exit 1
        echo ready go
        usleep 20000
        cat /sys/module/litepulse_echo/parameters/seen
        rmmod litepulse_echo
        echo x >/dev/ttyPULSE0 && echo free
        usleep 130000
    """
    result = holder.run(script, stimulus=["after ready go", *rises(500_000)], max_cycles=60_000_000)
    assert result.lines == ["ready go", "1", "free"]
    edges, sent = answers(result)
    # It was free before the answer was due, and the run went on until after that.
    free = next(line.at for line in result.console if line.text == "free") + result.stats["start_tick"] - result.stats["start_cycle"]
    assert len(edges) == 1 and free < edges[0] + lead < result.stats["end_tick"] and sent == []
