# SPDX-License-Identifier: BSD-2-Clause
"""litepulse certify on the simulated Linux SoC: liteuart and LitePulse's tty, its figures against the pins read by the core's own model."""

import re
from fractions import Fraction

import jsonschema
import pytest

from litepulse.certify import page
from litepulse.certify.result import schema
from litepulse.certify.words import summary
from sim.cocotb_rig import ROOT
from sim.guest.frames import data_of, profile, read_frames
from sim.guest.pins import changes, pulses
from sim.linux import certify
from sim.linux.certify import BAUD, BLOCK, BLOCKS, BYTES, HZ, LOADS, SAMPLES
from sim.linux.driver_bench import PEER, PULSE
from sw.tests.certify_model import frames_of, histogram

BIT = Fraction(HZ, BAUD)
ROW, ECHO = bytes(range(BYTES)), bytes(range(SAMPLES))


@pytest.fixture(scope="module", params=[PEER, PULSE], ids=lambda port: port.title)
def measured(request):
    """(port, result, what was seen)."""
    return (request.param, *certify.measure(request.param))


def line_of(measured):
    """[(byte, ticks of its edges)] that the port sent, breaks taken out."""
    port, _, seen = measured
    longer = {tick for tick, width in pulses(seen.result.pins, port.tx, 0) if width > 10 * BIT}
    edges = changes(seen.result.pins, port.tx)
    drop = {index for index, (tick, _) in enumerate(edges) if tick in longer}
    return frames_of([edge for index, edge in enumerate(edges) if index not in drop and index - 1 not in drop], BIT)


@pytest.mark.seconds(60)
def test_what_is_measured(measured):
    port, result, seen = measured
    jsonschema.Draft202012Validator(schema()).validate(result)
    assert result["port"]["driver"] == port.title and result["complaints"] == []
    for load in LOADS:
        for loss in result["loss"][load].values():
            assert loss == {"sent": BYTES, "received": BYTES, "lost": 0, "wrong": 0, "added": 0, "errors": 0}
        assert result["latency"][load]["missing"] == 0 and result["latency"][load]["left_out"] <= 1
    sent = BLOCKS * BLOCK + 2 * (BYTES + SAMPLES)
    assert (result["counters"]["tx"], result["counters"]["rx"]) == (sent, 2 * (BYTES + SAMPLES))
    assert "one simulation of their RTL" in page.html(result) and result["machine"]["kernel"].startswith("6.12")


def test_bits_and_rows(measured):
    """LitePulse's bits are exact. liteuart's frames are slightly more than a cycle longer than
    their bits, which shows in a row only."""
    port, result, seen = measured
    line = line_of(measured)
    assert bytes(byte for byte, _ in line) == b"\x55" * BLOCK * BLOCKS + 2 * (ROW + ECHO)
    blocks = [line[BLOCK * k : BLOCK * (k + 1)] for k in range(BLOCKS)]
    stops = [b[1][0] - a[1][-1] for block in blocks for a, b in zip(block, block[1:])]
    assert result["bits"]["stop_bit"]["histogram"] == histogram(stops)
    assert abs(result["baud"]["bits"]["ppm"]) <= result["baud"]["bits"]["uncertainty_ppm"] < 300
    starts = [ticks[0] for _, ticks in line[BLOCKS * BLOCK : BLOCKS * BLOCK + BYTES]]
    (distance,) = {b - a for a, b in zip(starts, starts[1:])}
    assert distance == (4340 if port is PULSE else 4342)
    rows = result["baud"]["rows"]
    assert abs(rows["ppm"] - float(10 * BIT / distance - 1) * 10**6) <= rows["uncertainty_ppm"] < 3
    if port is PULSE:
        edges = changes(seen.result.pins, port.tx)[: 10 * BLOCK]
        # the model of the core's tests reads the whole waveform, edge by edge, or fails
        assert data_of(read_frames([(0, 1), *edges], [profile(BAUD)])) == b"\x55" * BLOCK


def test_breaks_and_driver_enable(measured):
    """liteuart has neither; the tty's are those of the pins."""
    port, result, seen = measured
    if port is PEER:
        assert result["break"]["seen"]["count"] == 0 and result["break"]["asked"] == 5 and result["driver_enable"] is None
        return
    lows = [width for _, width in pulses(seen.result.pins, "tx", 0) if width > 10 * BIT]
    assert result["break"]["seen"]["histogram"] == histogram(lows) and len(lows) == 5 and min(lows) > 10 * certify.MS
    enable = result["driver_enable"]
    assert enable["active_level"] == 1 and enable["by_driver"] and enable["uncovered_frames"] == 0
    enabled = pulses(seen.result.pins, "de")[:BLOCKS]
    line = line_of(measured)
    lags = []
    for (on, width), k in zip(enabled, range(0, BLOCK * BLOCKS, BLOCK)):
        assert on == line[k][1][0], "driver enable comes with the start bit"
        lags.append(round((on + width - line[k + BLOCK - 1][1][0] - 10 * Fraction(result["bits"]["bit_ticks"])) * 20))
    assert enable["lead"]["histogram"] == [[0, BLOCKS]] and enable["lag"]["histogram"] == histogram(lags)


@pytest.mark.parametrize("load", LOADS)
def test_latencies(measured, load):
    """Round trips are those of the pins. The kernel's clock counts cycles, too: the readings give
    its offset, the same in all parts."""
    port, result, seen = measured
    place = BLOCKS * BLOCK + BYTES + (BYTES + SAMPLES) * (load == "loaded")
    answers = [ticks[0] + 1 for _, ticks in line_of(measured)[place : place + SAMPLES]]
    heard = frames_of(changes(seen.result.pins, port.rx), BIT)
    ends = [ticks[0] + int(10 * BIT) for _, ticks in heard[place - BLOCKS * BLOCK : place - BLOCKS * BLOCK + SAMPLES]]
    found = result["latency"][load]
    assert found["round_trip"]["histogram"] == histogram(answer - end for answer, end in zip(answers, ends))
    reads = [(int(row[0]), int(row[1])) for row in seen.all("read", load)]
    assert found["program"]["histogram"] == histogram(write - read for read, write in reads)
    marks = [tick for tick, level in changes(seen.result.pins, "printed") if level and tick > ends[0] - 35 * certify.MS][: SAMPLES + 1]
    brackets = [(int(before) - 20 * tick, int(after) - 20 * tick) for tick, (before, after) in zip(marks, seen.all("reading", load))]
    least, most = max(before for before, _ in brackets), min(after for _, after in brackets)
    assert least <= most, "one clock"
    open_ns = found["uncertainty_ns"]
    for name, wanted in (
        ("pin_to_read", [read - 20 * end - most for (read, _), end in zip(reads, ends)]),
        ("write_to_pin", [20 * answer + least - write for (_, write), answer in zip(reads, answers)]),
    ):
        values = [value for value, count in found[name]["histogram"] for _ in range(count)]
        assert len(values) >= SAMPLES - 1 and found["resolved"][name]
        # one may be left out: each value is near one of the true ones
        for value in values:
            assert min(abs(value - each) for each in wanted) <= open_ns + most - least


def test_the_sample_of_the_docs(measured):
    """Its rows are those of the command, and figures that do not depend on kernel and compiler are
    as measured."""
    port, result, _ = measured
    if port is not PEER:
        return
    text = (ROOT / "docs" / "certify.md").read_text()
    rows = summary(result)
    assert all(re.search(rf"(?m)^      {re.escape(name)}(?: |$)", text) for name, _ in rows)
    fixed = [(name, value) for name, value in rows if name in ("true baud", "in a row", "bit jitter", "stop bit", "break")]
    assert len(fixed) == 5 and all(f"      {name:<16}{value}\n" in text for name, value in fixed)
