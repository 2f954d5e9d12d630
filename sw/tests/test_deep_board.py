# SPDX-License-Identifier: BSD-2-Clause
"""A board with the most events, simulated: the longest burst that nothing reads meanwhile, through `--sim`."""

import functools

import pytest

import litepulse
from litepulse import cli, regs
from litepulse.backends.interface import Wanted
from litepulse.streams import Lost
from litex_soc import sim_soc
from litex_soc.limits import depths

DEPTH = depths()["event"][1]
LONGEST = (1 << DEPTH) - regs.EVENT_RESERVE  # edges
BEGIN, SPACING = 3_000_000, 12  # ticks
TICKS = BEGIN + (LONGEST + 100) * SPACING


@pytest.fixture
def deep(monkeypatch):
    """`--sim` is a board that holds so many."""
    monkeypatch.setattr(sim_soc, "build", functools.partial(sim_soc.build, event_depth=DEPTH))


def test_info(deep, capsys):
    assert cli.main(["--sim", "info"]) == 0
    assert f" {1 << DEPTH} events, " in capsys.readouterr().out


@pytest.mark.parametrize("more", [0, 1])
def test_longest_burst(deep, tmp_path, more):
    """Nobody reads while it comes: no edge is lost, each has its tick; of one more it is known that it was."""
    edges = [BEGIN + n * SPACING for n in range(LONGEST + more)]
    stimulus = tmp_path / "burst"
    stimulus.write_text("".join(f"{tick} 0 {1 - n % 2}\n" for n, tick in enumerate(edges)))
    with litepulse.open(sim=True, stimulus=stimulus, step=TICKS) as board:
        recorder = board.backend.recorder
        recorder.record(Wanted(rise=1, fall=1))
        before = board.backend.now()
        while board.backend.now() < TICKS:
            recorder.wait(TICKS / 48e6)
        records = []
        while not records or len(records) < LONGEST + more:
            found = recorder.read().events
            assert found, len(records)
            records += found
        losses = recorder.losses()
    assert before < BEGIN
    seen = [record for record in records if not isinstance(record, Lost)]
    late = seen[0].tick - edges[0]
    assert [record.tick - late for record in seen] == edges[:LONGEST]
    assert 0 <= late <= 4
    lost = [record for record in records if isinstance(record, Lost)]
    assert [(one.tick - late, one.count, one.at_least) for one in lost] == [(edges[-1], 1, False)] * more
    assert losses.events == more
