# SPDX-License-Identifier: BSD-2-Clause
"""The programs of sw/target and sw/examples on a real kernel: what they print and do, beside what the pins did."""

import re
from fractions import Fraction
from math import floor

import pytest

from sim.cocotb_rig import ROOT
from sim.guest.frames import data_of, profile, read_frames
from sim.guest.pins import pulses, sampled_edges
from sim.linux import demo, linux_rig

TARGET = ROOT / "sw" / "target"
HZ = 50_000_000
KEPT = "what another program started goes on; 'litepulse stop' ends it"


@pytest.fixture(params=linux_rig.TESTED_CPUS)
def guest(request, linux):
    """The Linux of one CPU."""
    return linux(request.param)


@pytest.fixture
def shell(guest):
    """Runs a shell script that may use the programs."""
    parts = [TARGET / "device.c", TARGET / "quantity.c"]
    programs = {
        f"litepulse-{name}": guest.program(TARGET / f"{name}.c", *parts, includes=(TARGET, linux_rig.UAPI))
        for name in ("info", "train", "capture", "send")
    }

    def run(script, **options):
        return guest.run(f"PATH=.:$PATH\n{script}", {**programs, **options.pop("files", {})}, **options)

    return run


def rows(lines, header):
    """[[word, ...], ...]: the lines after a header, up to one that is no row."""
    at = lines.index(header) + 1
    found = []
    for line in lines[at:]:
        words = line.split()
        if line.startswith("##") or len(words) != len(header.split()) - 1 or not words[0].isdigit():
            break
        found.append([int(word) if word.lstrip("-").isdigit() else word for word in words])
    return found


def test_info(shell):
    """Says what there is."""
    lines = shell("litepulse-info").lines
    printed = dict(line.split("\t", 1) for line in lines)
    assert printed["device"] == "/dev/litepulse0, SIMULATED: no board" and printed["ticks"] == "50000000/1 per second, 1 per cycle"
    assert printed["inputs"].startswith("4 ") and printed["depth"] == "256 events, 512 bytes received, 512 bytes to send, 64 launches"
    assert printed["tty"] == "/dev/ttyPULSE0" and printed["clock"] == "/dev/ptp0" and printed["runs"] == "nothing"
    assert printed["lost"] == "0 events, 0 bytes by the board; it was reset 0 times since the driver came"


def test_train(shell):
    """Bytes at a rate that is not a decimal number: each at floor(start + k * period), as printed
    and as the pin shows."""
    result = shell("litepulse-train --rate 7000/3 --byte 0x55 --baud 115200 --format 7E2 --count 8")
    period = Fraction(HZ * 3, 7000)
    frames = read_frames(result.pin("tx"), [profile(115200, "7E2")])
    start = frames[0].tick
    ticks = [start + floor(k * period) for k in range(8)]
    assert [frame.tick for frame in frames] == ticks and data_of(frames) == bytes([0x55] * 8)
    intervals = [0] + [later - tick for tick, later in zip(ticks, ticks[1:])]
    assert rows(result.lines, "# pulse tick dt_ticks error_ticks") == [[k, tick, intervals[k], 0] for k, tick in enumerate(ticks)]
    assert result.lines[-1] == "8 launched, 0 refused, 0 records lost, 0 not at start + floor(k * period)"


def test_train_ends_with_a_signal_and_starts_at_its_time(shell):
    """Ctrl-C stops it, and it prints its counts; --start names the tick."""
    result = shell("""
        litepulse-train --period 1ms --width 30us --start +4ms >rows 2>told & pid=$!
        until [ -s rows ]; do usleep 5000; done
        usleep 15000
        kill -INT $pid
        wait $pid; echo status $?
        cat rows told
    """)
    assert "status 0" in result.lines
    recorded = pulses(result.pins, "tx", active=0)
    printed = rows(result.lines, "# pulse tick dt_ticks error_ticks")
    assert [tick for tick, _ in recorded] == [row[1] for row in printed] == [recorded[0][0] + 50_000 * k for k in range(len(recorded))]
    assert len(recorded) > 5 and {width for _, width in recorded} == {1500} and {row[3] for row in printed} == {0}
    assert f"{len(recorded)} launched, 0 refused, 0 records lost, 0 not at start + floor(k * period)" in result.lines
    assert f"stopped before pulse {len(recorded)}" in result.lines


def test_keep_adjust_and_stop(shell):
    """A kept train is changed and stopped by other programs, without a gap on the line in
    between."""
    result = shell("""
        litepulse-train --rate 5k --width 20us --keep
        litepulse-train --rate 5k --width 20us; echo status $?
        litepulse-train --adjust --rate 5100 --step 3us
        usleep 5000
        litepulse-train --stop
        usleep 2000
    """)
    assert "litepulse-train: a train runs already, which was kept; --stop ends it" in result.lines and "status 2" in result.lines
    recorded = pulses(result.pins, "tx", active=0)
    ticks = [tick for tick, _ in recorded]
    new = Fraction(HZ, 5100)
    change = next(n for n, (tick, later) in enumerate(zip(ticks, ticks[1:]), 1) if later - tick != 10_000)
    assert 2 < change < len(ticks) - 10
    # The first at its new place comes after period and step; then every period, the fraction kept.
    assert ticks[:change] == [ticks[0] + 10_000 * k for k in range(change)]
    assert ticks[change:] == [floor(ticks[change - 1] + 150 + k * new) for k in range(1, len(ticks) - change + 1)]
    assert f"stopped before pulse {len(ticks)}" in result.lines


def test_what_was_kept_stays_as_it_is(shell, guest):
    """A responder and a train of others go on with their line profile; a program that would change
    it is refused in one line."""
    sources = [linux_rig.GUEST / "chardev.c", *(demo.EXAMPLES / f"{name}.c" for name in ("p1_timed", "p1_train", "p1_disciplined"))]
    files = {source.stem: guest.program(source, includes=linux_rig.INCLUDES) for source in sources}
    result = shell(
        """
        try() { "$@" </dev/null; echo status $?; }
        chardev keep-responder
        try litepulse-train --rate 1k --count 3
        try litepulse-send --every 1ms
        try p1_timed /dev/litepulse0 2
        try p1_train /dev/litepulse0 2
        try p1_disciplined /dev/litepulse0 2
        try litepulse-train --rate 5k --byte 0x33 --baud 57600 --profile 2 --count 3 --quiet
        litepulse-train --rate 100 --start +5 --baud 57600 --profile 2 --keep
        try litepulse-send --every 1ms --profile 2
        try litepulse-send --every 1ms --profile 3
        litepulse-train --stop
        echo ready edges
        usleep 4000
        litepulse-info
    """,
        files=files,
        stimulus="after ready edges\n+1000 aux1 1\n+60000 aux1 0\n+120000 aux1 1\n",
    )
    kept = "that was kept goes on, and may use line profile 1: --profile chooses another"
    assert [line for line in result.lines if re.match("litepulse-|p1_|status", line)] == [
        f"litepulse-train: a responder {kept}",
        "status 2",
        f"litepulse-send: a responder {kept}",
        "status 2",
        *(line for name in ("timed", "train", "disciplined") for line in (f"p1_{name}: /dev/litepulse0: {KEPT}", "status 2")),
        "status 0",
        "litepulse-send: a train that was kept goes on, and uses line profile 2: --profile chooses another",
        "status 2",
        "status 0",
    ]
    assert "runs\tresponder" in [line.strip() for line in result.lines]
    frames = read_frames(result.pin("tx"), [profile(57600)] * 3 + [profile(115200)])
    rises = [tick for tick, _, level in sampled_edges(result.pins, ["aux1"]) if level]
    assert data_of(frames) == b"\x33\x33\x33\x5a\x5a" and [frame.tick for frame in frames[3:]] == [tick + 300 for tick in rises]


def test_capture(shell):
    """Edges of inputs and the line, in both directions, filtered; the clock's time grows with the ticks."""
    steps = "".join(
        f"+{2000 + 900 * k} {pin} {level}\n"
        for k, (pin, level) in enumerate(
            [("aux0", 1), ("aux1", 1), ("rx", 0), ("aux0", 0), ("rx", 1), ("aux2", 1), ("aux0", 1), ("aux0", 0)]
        )
    )
    result = shell(
        """
        litepulse-capture -i 0,line -c 6
        litepulse-capture -i 1 -e fall -F 8 -c 1 -t none
    """,
        stimulus=f"after # tick ns what value flags\n{steps}after # tick ns what value flags\n+2000 aux1 0\n+2007 aux1 1\n+4000 aux1 0\n",
    )
    edges = sampled_edges(result.pins, ["aux0", "aux1", "aux2", "aux3", "rx"])
    first = rows(result.lines, "# tick ns what value flags")
    names = {0: 0, 4: "line"}
    assert [(tick, what, level, flags) for tick, _, what, level, flags in first] == [
        (tick, names[channel], level, "-") for tick, channel, level in edges if channel in names
    ]
    assert all(abs((later[1] - row[1]) - (later[0] - row[0]) * 20) < 20_000 for row, later in zip(first, first[1:]))
    last = rows(result.lines[result.lines.index("# tick ns what value flags") + 1 :], "# tick ns what value flags")
    assert last == [[[tick for tick, channel, _ in edges if channel == 1][-1], "-", 1, 0, "filtered"]]
    assert "6 edges and bytes, 0 records lost" in result.lines and "1 edges and bytes, 0 records lost" in result.lines


def test_send(shell):
    """Bytes leave at their ticks; one that does not fit between two others is refused and
    reported."""
    result = shell("""
        printf 'LitePulse' | litepulse-send --every 1.5ms --at +6ms --baud 57600
        echo status $?
        printf 'abcd' >bytes
        litepulse-send --rate 10k --baud 57600 --format 8O1 bytes
        echo status $?
    """)
    frames = read_frames(result.pin("tx"), [profile(57600)] * 9 + [profile(57600, "8O1")])
    assert data_of(frames) == b"LitePulseac"
    ticks = [frame.tick for frame in frames]
    assert ticks[:9] == [ticks[0] + 75_000 * k for k in range(9)] and ticks[10] == ticks[9] + 10_000
    printed = rows(result.lines, "# byte tick outcome")
    assert printed == [[k, tick, "launched"] for k, tick in enumerate(ticks[:9])]
    assert [line for line in result.lines if line.startswith("status")] == ["status 0", "status 1"]
    late = rows(result.lines[result.lines.index("status 0") :], "# byte tick outcome")
    assert [row[2] for row in late] == [("launched" if row[1] in ticks else "busy") for row in late] and len(late) == 4


def test_one_at_a_time(shell):
    """The second program gets an error, in one line."""
    result = shell("""
        litepulse-train --rate 2k --width 5us -q 2>/dev/null & pid=$!
        usleep 10000
        echo x | litepulse-send --every 1ms; echo status $?
        litepulse-train --rate 1G --width 5us; echo status $?
        kill $pid; wait $pid
        litepulse-train --rate 1M --width 200ns; echo status $?
        litepulse-train --rate 1k --baud 100M; echo status $?
        litepulse-send --every 1ms --at 5 run; echo status $?
    """)
    busy = "another program (or the PTP clock's periodic output) has the device"
    printed = [line for line in result.lines if re.match("litepulse-|status", line)]
    assert printed == [
        f"litepulse-send: {busy}",
        "status 2",
        f"litepulse-train: {busy}",
        "status 2",
        "litepulse-train: the core has no such train: its period is too short",
        "status 2",
        "litepulse-train: baud: the core cannot do 100M",
        "status 2",
        "litepulse-send: byte 0: its tick 5 has passed; a later --at or a longer --every is needed",
        "status 2",
    ]


@pytest.mark.parametrize("cpu", linux_rig.TESTED_CPUS)
def test_the_three_ways(linux, cpu, tmp_path):
    """Problem P1: the two that the hardware times are exact; the one that the software times is near, and late."""
    measured = demo.measure(linux(cpu), 3)
    by_name = {one.name: one for one in measured}
    assert by_name["p1_timed"].misplaced == by_name["p1_train"].misplaced == 0
    assert all(0 < error < 10_000 for error in by_name["p1_tty"].errors_us)
    assert len(demo.table(measured)) == 5
    demo.draw(measured, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
