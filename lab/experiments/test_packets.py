# SPDX-License-Identifier: BSD-2-Clause
"""P2's table of packets, with few bytes: what is exact is, and a server that does otherwise is noticed."""

from fractions import Fraction

import pytest

from lab.experiments import p2_interrupts, p2_packets
from lab.experiments.experiment import ExperimentError

BAUD, SECONDS = 19_200, Fraction(7, 10)


@pytest.fixture(scope="module")
def found():
    return p2_packets.measure(BAUD, SECONDS)


def test_each_byte_has_its_tick(found):
    assert found["error_ticks"] == [0, 0] and found["bytes"] == 1344
    assert found["direct"]["looks_per_second"] > 250 and -1000 / BAUD < found["direct"]["late_ms"] < 5


def test_gathered_packets(found):
    """Served at once there are as many packets as looks; 200 ms make 5 a second of them, and the last byte waits no longer."""
    once, gathered = found["served"]["0"], found["served"]["200"]
    assert once["packets_per_second"] == pytest.approx(found["direct"]["looks_per_second"], rel=0.1)
    assert 4.9 <= gathered["packets_per_second"] <= 5.02
    assert once["late_ms"] < 5 and gathered["late_ms"] <= 203
    assert gathered["transfer_s"] == pytest.approx(48_890 * 10 / BAUD, abs=0.203)
    assert 0 < gathered["acks_per_packet"] <= 2


def test_table(found):
    """Of these rows alone, and behind the others; a tick that is wrong is said."""
    table = p2_interrupts.tables({"packets-19200": found})
    rows = [line for line in table if line.startswith("| 19,200 |")]
    assert [row.split(" | ")[1] for row in rows] == ["directly", "served at once", "served, `--gather 200ms`"]
    assert all("each to the tick" in row for row in rows) and "reached" in table[-1]
    assert not p2_interrupts.charts({"packets-19200": found})
    table = p2_interrupts.tables({"packets-19200": {**found, "error_ticks": [0, 1]}})
    assert "**0 to 1 ticks**" in "\n".join(table) and "**missed**" in table[-1]


def test_a_server_that_moves_a_tick_is_noticed(monkeypatch):
    looked, errors, starts = p2_packets.looks(BAUD, 40)
    assert errors == [0] * 40
    with pytest.raises(ExperimentError, match="the server's ticks"):
        p2_packets.serve(looked, 0, [0] * 39 + [1], starts, BAUD)
