# SPDX-License-Identifier: BSD-2-Clause
"""The benchmark of LIN slaves: that it measures, and notices what is wrong. Its figures are in docs/lin.md."""

import pytest

from sim.linux import lin_bench
from sim.linux.lin_bench import BUS, HEADERS, HZ, MS, SLAVES, Bench
from sim.measured import BenchError

LIN0 = next(slave for slave in SLAVES if slave.words == "lin0")
PEER = next(slave for slave in SLAVES if slave.words == "tty /dev/ttyLXU1")


@pytest.fixture(scope="module")
def bench():
    return Bench()


def test_lin0_is_exact(bench):
    """The space that is programmed, and the tick after which a byte on the line is received; nothing runs on the CPU meanwhile."""
    assert bench.spaces(LIN0, 1, "halted") == [BUS.bits(1) + 1] * HEADERS


def test_a_program_is_late(bench):
    """It answers each header, some time later, and not each at the same."""
    spaces = bench.spaces(PEER, 1, "loaded")
    assert len(set(spaces)) > HEADERS // 2 and min(spaces) > 0


def test_what_is_wrong_is_noticed(bench, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(lin_bench, "checksum", lambda data: 0)
        with pytest.raises(BenchError, match="lin0, 1 bytes, halted: the answer is wrong"):
            bench.spaces(LIN0, 1, "halted")
    right = BUS.answer
    monkeypatch.setattr(BUS, "answer", lambda tick, data, space: right(tick, data, space + 1))
    with pytest.raises(BenchError, match="an edge is not at its tick"):
        bench.spaces(LIN0, 1, "halted")


def test_late_is_what_the_standard_says():
    """40 % of the response's nominal duration: 8 bit times for a byte and its checksum."""
    limit = 8 * HZ // BUS.baud
    found = lin_bench.summary([limit, limit + 1, None, 2 * MS], 1)
    assert (found["late"], found["missing"], found["least"]) == (2, 1, limit * 10**6 / HZ)
