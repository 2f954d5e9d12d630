# SPDX-License-Identifier: BSD-2-Clause
"""P1, P2 and P4, with few samples: what must be exact is, and what an experiment would not forgive is noticed."""

import json
from fractions import Fraction
from math import floor

import pytest

from lab.experiments import p1_pulses, p2_interrupts, p4_cycle
from lab.experiments.experiment import ExperimentError
from lab.experiments.p1_pulses import P1, WAYS
from lab.experiments.p2_interrupts import EACH, SHORT_WAIT
from lab.experiments.p4_cycle import P4
from lab.faults import test_faults
from sim.linux.driver_bench import PEER, PULSE


def test_p1_the_exact_ways_are_exact_under_load():
    found = {f"{way.name}-loaded": p1_pulses.pulses(way, 3, True) for way in WAYS}
    ideal = [floor(k * Fraction(50_000_000, 58)) for k in range(3)]
    assert found["timed-loaded"]["ticks"] == found["train-loaded"]["ticks"] == ideal
    assert found["usleep-loaded"]["misplaced"] and found["absolute-loaded"]["misplaced"]
    # By absolute times nothing adds up: the last pulse is no farther from its place than the program is late, here less than 2 ms.
    assert abs(found["absolute-loaded"]["ticks"][2] - ideal[2]) < 100_000
    table = P1.tables(found)
    assert sum("| loaded | 3 |" in line for line in table) == 4 and P1.charts(found)[0].series[-1].x == [100e-6]


@pytest.mark.seconds(130)
def test_p1_the_disciplined_train_follows():
    """One period of the reference: from its second edge on the pulses are as near as its change of rate lets them be."""
    found = p1_pulses.disciplined(1)
    assert len(found["errors"]) == len(found["free"]) == 30
    # Pulse 0 is early by what the reference has slowed since the last edge: 1 ppm of 25,000,000 ticks; a free train by 40 ppm and more.
    assert abs(found["errors"][0] + 25) <= 1 and max(map(abs, found["errors"])) <= 51
    assert abs(found["free"][29]) > 1000
    assert found["at_edges"][0][0] == 0 and abs(found["at_edges"][0][1] + 25) <= 1


def test_p2_fewer_interrupts_and_each_tick_exact():
    each, shared = p2_interrupts.receive(19_200, EACH, 0.05), p2_interrupts.receive(19_200, SHORT_WAIT, 0.05)
    assert each["error_ticks"] == shared["error_ticks"] == [0, 0] and each["bytes"] == shared["bytes"] == 96
    assert shared["interrupts"] <= 6 < each["interrupts"]
    assert 9_000 < shared["waits_us"] <= 11_000


def test_p2_room_is_left_for_what_comes():
    """The watermark counts as far as the board has room for 20 ms more: 389 bytes behind the first one at 57,600 baud are not too many;
    at 1 Mbaud half of the 512 is the most. More may come while these are taken."""
    far, near = p2_interrupts.Setting(390, 1_000_000), p2_interrupts.Setting(390, 50_000)
    first = p2_interrupts.measure(PULSE, 57_600, 390, ["receive", "chardev", 57_600, 390, "idle", far.watermark, far.timeout_us])
    assert first["interrupts"] == 1 and 389 <= first["waits_us"] * 57_600 / 10**7 < 390
    first = p2_interrupts.measure(PULSE, 1_000_000, 300, ["receive", "chardev", 1_000_000, 300, "idle", near.watermark, near.timeout_us])
    assert 255 <= first["waits_us"] * 1_000_000 / 10**7 < 256 and first["lost"] == 0


def test_p2_a_tty_does_not_tell_what_it_loses():
    """At 3 Mbaud liteuart's 16 bytes run over; the table says so and has no times."""
    lossy = p2_interrupts.receive_tty(PEER, 3_000_000, 0.01)
    assert 0 < lossy["lost"] < lossy["bytes"] == 3000 and not lossy["told"]
    (line,) = [line for line in p2_interrupts.tables({"liteuart": lossy}) if line.startswith("| liteuart |")]
    cells = f"{max(lossy['cpu'], 0):.1%} | - | **{lossy['lost']:,}**, not reported |"
    assert line.endswith(f" | - | - | {cells}")


def test_p2_the_other_ways_to_the_bytes():
    """A packed ring has each tick as read() has, the tty none; both have rows of their own."""
    found = {
        "ring": p2_interrupts.receive(3_000_000, p2_interrupts.RING, 0.01, "ring"),
        "tty": p2_interrupts.receive_tty(PULSE, 115_200, 0.01),
    }
    assert found["ring"]["error_ticks"] == [0, 0] and found["ring"]["bytes"] == 3000 and found["ring"]["lost"] == 0
    assert found["tty"]["lost"] == 0 and not found["tty"]["told"] and found["tty"]["error_ticks"][1] > 0
    rows = [line.split(" | ")[0] for line in p2_interrupts.tables(found) if line.startswith("| LitePulse, ")]
    assert rows == ["| LitePulse, tty", "| LitePulse, ring"]
    assert "Without loss: LitePulse, ring." in "\n".join(p2_interrupts.tables(found)) and not p2_interrupts.charts(found)


def test_p2_arithmetic():
    """Of the study: 1920 interrupts a second for 19200 baud; a byte of 16550 waits for 13 others."""
    assert p2_interrupts.arithmetic(19_200, 1) == [1920, 0]
    rate, waits = p2_interrupts.arithmetic(19_200, 14)
    assert abs(rate - 1920 / 14) < 1e-9 and abs(waits - 13 * 520.8333) < 0.1


@pytest.mark.parametrize("way", p4_cycle.WAYS)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_p4_exact(way, seed):
    found = p4_cycle.alone(way, 3000, seed)
    assert found["missing"] == found["extra"] == found["wrong_width"] == 0
    assert found["worst_parts"] == 2  # of 3: the fraction that a tick cannot show, and no more
    assert found["nudged"] == 3000 if way == "launches" else found["nudged"] > 2000
    assert found["overslept"] > 50 and found["longest_sleep"] > (5000 if way == "train" else 30_000)
    assert sum(count for _, count in found["distances"]) == 3000
    assert bool(found["refused"]) == (way == "train")  # commands that came too late are part of it


# {the way that must notice it: (file of hdl/program, text, the mistake that replaces it)}: a pulse one tick from its place.
FAULTS = {
    "train": ("train.asm", "TICK_LO = TICK_LO + I + 1     |", "TICK_LO = TICK_LO + I         |"),
    "launches": ("launch_queue.asm", "DISTANCE + HEAD_START         | load ", "DISTANCE + HEAD_START + 1     | load "),
}


@pytest.mark.parametrize("way", FAULTS)
def test_p4_notices_a_fault_of_the_core(way, monkeypatch):
    file, old, new = FAULTS[way]
    fault = {"name": f"p4-{way}", "file": f"hdl/program/{file}", "old": old, "new": new}
    monkeypatch.setenv("LITEPULSE_HDL", str(test_faults.patched_copy(fault, "p4")))
    with pytest.raises(ExperimentError, match="ticks from its place"):
        p4_cycle.alone(way, 300)


def test_p4_on_linux():
    """The commands given to the program are computed here independently; the timed launches are there, to the tick."""
    places_of = p4_cycle.commanded(12)
    nudges = [(later - tick) // 50 - 1000 for tick, later in zip(places_of, places_of[1:])]
    assert nudges == [2, -2, 5, 1, -3, 4, 0, -4, 3, -1, -5]
    found = p4_cycle.on_linux("timed", 60, True)
    assert found["errors_us"] == [0] * 60


def test_p4_tables(tmp_path):
    found = json.loads(json.dumps({"alone-train": p4_cycle.alone("train", 3000, 1), "timed-loaded": {"errors_us": [0.0] * 5}}))
    table = P4.tables(found)
    assert any("| 3,000 |" in line and "| 0 | 0 | 2/3 |" in line for line in table)
    assert [chart.name for chart in P4.charts(found)] == ["p4-follow", "p4-cycle"]
