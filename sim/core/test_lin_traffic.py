# SPDX-License-Identifier: BSD-2-Clause
"""100,000 random headers, with faults, collisions, rates, entries and spaces: each is answered as the model says, or not at all."""

import pytest

from sim.cocotb_rig import choose_seed, run_folder
from sim.core import lin_traffic
from sim.core.lin_model import Entry

HEADERS, PARTS = 100_000, 4


@pytest.mark.full
@pytest.mark.seconds(150)
@pytest.mark.parametrize("part", range(PARTS))
def test_random_traffic(part):
    counts = lin_traffic.run(choose_seed("lin_traffic", part), HEADERS // PARTS)
    assert counts.headers == HEADERS // PARTS and counts.answers > counts.headers // 4


def test_fewer_entries():
    """With 8 of them every other identifier stays unanswered, those whose low bits are an entry's too."""
    counts = lin_traffic.run(choose_seed("lin_traffic", "fewer"), 1200, entries=8)
    assert counts.answers > counts.headers // 8


def test_a_wrong_answer_is_noticed():
    """A control: the same batch, judged by entries, a space or a line that were not the core's."""
    batch = lin_traffic.Batch("control")
    batch.set_up()
    for _ in range(20):
        batch.header()
    printed = batch.run(lin_traffic.program().build(), run_folder("control") / "script")
    assert batch.judge(printed)
    entries, space = batch.entries, batch.space
    for wrong in range(1, len(printed.line)):  # the first one is how the line begins
        tick, level = printed.line[wrong]
        printed.line[wrong] = (tick + 1, level)
        with pytest.raises(AssertionError, match="edges|launched|received"):
            batch.judge(printed)
        printed.line[wrong] = (tick, level)
    batch.space = space + 1
    with pytest.raises(AssertionError, match="launched"):
        batch.judge(printed)
    batch.space = space
    batch.entries = [(identifier, Entry(entry.data, not entry.enhanced)) for identifier, entry in entries]
    with pytest.raises(AssertionError, match="launched"):
        batch.judge(printed)
