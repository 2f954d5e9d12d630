# SPDX-License-Identifier: BSD-2-Clause
"""litepulse.labscript: the pulses of a shot, on the simulated SoC and on a simulated board; with
labscript itself: the recipe's script, and what is refused."""

import json
import os
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

import litepulse
from litepulse.labscript.shot import Program, Row, Shot, Wait, Waits, check_rows, one_train, places, rows_of, waits_of

from . import test_sequence
from .adapters import ROOT, environment, pinned
from .test_launches import connected
from .test_sim import HZ, pins

MS = HZ // 1000
RESUME = 240
PAGE = (ROOT / "docs" / "recipes" / "labscript.md").read_text(encoding="utf-8")
SHOT = [Row(0, 480_000, 1), Row(480_000, 96_000, 1), Row(576_000, 4_800, 18), Row(720_000, 3_200, 1)]


def program(rows, width=48, high=True, tick_hz=HZ, waits=()):
    return Program(rows, width, high, Fraction(tick_hz), *waits)


def highs(vcd):
    """[(tick, length)] of the high pulses on TX. It rests at 0 once the first job has begun."""
    changes = pins(vcd)["tx"]
    return [(tick, end - tick) for (tick, level), (end, _) in zip(changes, changes[1:]) if level == 1 and tick > 0]


def test_rows_of_a_clock():
    """As labscript describes a clock: in seconds, with lines that do not tick, and rows without a pulse."""
    steps = [
        {"start": 0, "reps": 1, "step": 0.01, "enabled_clocks": ["tx"]},
        {"start": 0.01, "reps": 1, "step": 0.001, "enabled_clocks": ["other"]},
        {"start": 0.011, "reps": 0, "step": 0.001, "enabled_clocks": ["tx"]},
        {"start": 0.011, "reps": 7, "step": 0.001, "enabled_clocks": ["other", "tx"]},
    ]
    assert rows_of(steps, "tx", HZ) == [(0, 480_000, 1), (528_000, 48_000, 7)]


def test_waits_of_a_clock():
    """They are at the row behind them. A timeout is one that a board can have."""
    after = {"start": 0.011, "reps": 1, "step": 0.001, "enabled_clocks": ["tx"]}
    steps = ["WAIT", after | {"start": 0}, after, "WAIT", after | {"start": 0.5}]
    assert rows_of(steps, "tx", HZ) == [(0, 48_000, 1), (528_000, 48_000, 1), (24_000_000, 48_000, 1)]
    table = [("first", 5.0), ("last", 256 / HZ)]
    assert waits_of(steps, table, HZ) == [("first", 0, 240_000_000), ("last", 24_000_000, 256)]
    with pytest.raises(litepulse.BadInput, match=r"wait\(\): two of first, last are at the same tick"):
        waits_of(steps[:3], table, HZ)
    for timeout in (255 / HZ, -1, 400 * 86400, float("inf"), float("nan")):
        with pytest.raises(litepulse.BadInput, match="wait 'last': its timeout is 256 ticks to 366 days, not"):
            waits_of(steps, [table[0], ("last", timeout)], HZ)


@pytest.mark.parametrize("rows", [[Row(0, 48, 2)], [Row(0, 96, 1), Row(48, 96, 1)], [Row(0, 96, 2), Row(100, 96, 1)]])
def test_pulses_that_meet(rows):
    with pytest.raises(litepulse.BadInput, match="pulse of 48 ticks does not end before the next one"):
        check_rows(rows, 48)
    check_rows(SHOT, 48)


@pytest.mark.parametrize(
    "rows, train",
    [
        ([Row(0, 4800, 100)], (0, 4800, 100)),
        ([Row(0, 4800, 1), Row(4800, 4800, 98), Row(475_200, 100, 1)], (0, 4800, 100)),
        ([Row(0, 4800, 99), Row(475_201, 100, 1)], None),
        ([Row(0, 4800, 50), Row(240_000, 4801, 50)], None),
        ([Row(0, 4800, 1), Row(4800, 4801, 99)], None),
        ([Row(10, 4800, 100)], None),
        ([Row(0, 4800, 64)], None),
        ([Row(0, 319, 100)], None),
        ([Row(0, 1 << 32, 100)], None),
        ([], None),
    ],
)
def test_which_shots_are_a_train(rows, train):
    assert one_train(rows, 320) == train
    if train:
        assert list(places(rows)) == list(places([Row(*train)]))


@pytest.mark.parametrize("rows, is_train", [(SHOT, False), ([Row(0, 4800, 1), Row(4800, 4800, 99)], True)])
def test_on_the_pins(rows, is_train, tmp_path):
    """Launches or a train: each pulse at its tick, as long as it should be."""
    vcd = tmp_path / "pins.vcd"
    with litepulse.open(sim=True, vcd=vcd) as board:
        shot = Shot(board, program(rows))
        assert shot.wait(300) and shot.is_train == is_train
        shot.check()
        assert not board.busy
    wanted = list(places(rows))
    assert highs(vcd) == [(shot.first_tick + place, 48) for place in wanted]
    assert shot.left == [(place, place, True) for place in wanted]


def waits(*each, channel=0, edge="rise"):
    """(Waits,) for program()."""
    return (Waits([Wait(*one) for one in each], channel, edge, RESUME),)


def test_waits_on_the_pins(tmp_path):
    """One ends by its edge, one by its timeout: all that is behind each is at its exact tick from there."""
    vcd, stimulus = tmp_path / "pins.vcd", tmp_path / "stimulus.txt"
    stimulus.write_text("6000000 2 1\n6000500 2 0\n")
    rows = [Row(0, 4_800, 1), Row(480_000, 48_000, 3), Row(960_000, 3_200, 1), Row(964_800, 4_800, 100)]
    both = waits(("edge", 480_000, 24_000_000), ("timeout", 960_000, 96_000), channel=2, edge="fall")
    with litepulse.open(sim=True, vcd=vcd, stimulus=stimulus) as board:
        shot = Shot(board, program(rows, waits=both))
        assert shot.wait(300) and not shot.is_train
        shot.check()
        assert not board.busy
    first = shot.first_tick
    begun, edge = first + 480_000, 6_000_501
    assert begun < edge
    goes_on = [edge + RESUME + place for place in (0, 48_000, 96_000)]
    again = edge + RESUME + 480_000 + 96_000 + RESUME
    goes_on += [again, *(again + 4_800 * n for n in range(1, 101))]
    assert highs(vcd) == [(tick, 48) for tick in (first, *goes_on)]
    assert shot.left == [(tick - first, tick - first, True) for tick in (first, *goes_on)]
    assert shot.pauses == [(edge - begun + RESUME, False), (96_000 + RESUME, True)]


@pytest.fixture
def waiting():
    """A board in Python whose launch queue has waits, with levels of its inputs in device.stimulus."""
    device, backend = test_sequence.connected(sequence=True)
    with litepulse.Board(backend) as board:
        board.device = device
        yield board


def test_a_shot_that_begins_with_a_wait(waiting):
    """Then nothing leaves before the edge."""
    edge = waiting.now().tick + 200 * MS
    waiting.device.stimulus = [(edge, 0, 1)]
    shot = Shot(waiting, program([Row(0, 4_800, 1), Row(480_000, 4_800, 1)], waits=waits(("start", 0, HZ))))
    assert shot.wait(60)
    shot.check()
    assert test_sequence.launched(waiting.device) == [(edge + RESUME, 48), (edge + RESUME + 480_000, 48)]
    assert shot.pauses == [(edge + RESUME - shot.first_tick, False)]


def test_an_edge_before_the_board_listens(waiting):
    """The shot fails, and what is behind the wait does not leave: it would not be where the script has it."""
    rows = [Row(0, 4_800, 1), Row(480_000, 4_800, 100)]
    Shot(waiting, program(rows[:1])).wait(60)
    before = len(test_sequence.launched(waiting.device))
    # The shot begins in the future: the edge's place is known once it has begun.
    shot = Shot(waiting, program(rows, waits=waits(("start", 480_000, HZ))))
    waiting.device.stimulus = [(shot.first_tick + 480_000 + 30, 0, 1)]
    assert shot.wait(60) and len(test_sequence.launched(waiting.device)) == before + 1
    with pytest.raises(litepulse.LitePulseError, match="^wait 'start': its edge came at tick .* before the board listened"):
        shot.check()
    assert shot.pauses == [(None, False)] and not waiting.busy


def test_an_aborted_wait(waiting):
    """Nothing is left on the board, and the next shot begins."""
    rows, wait = [Row(0, 4_800, 1), Row(480_000, 4_800, 100)], waits(("endless", 480_000, 300 * HZ))
    for _ in range(2):
        shot = Shot(waiting, program(rows, waits=wait))
        while not shot.left:
            assert not shot.wait(0.01)
        shot.abort()
        assert shot.over and not waiting.busy and not waiting.device.queue and len(shot.left) == 1
        with pytest.raises(litepulse.LitePulseError, match="nothing is known"):
            shot.check()


def test_a_board_without_waits():
    """It refuses such a shot, and nothing leaves. So does one that needs more ticks behind an edge."""
    device, backend = test_sequence.connected()
    shot = program([Row(0, 4_800, 1), Row(480_000, 4_800, 1)], waits=waits(("later", 480_000, HZ)))
    with litepulse.Board(backend) as board:
        with pytest.raises(
            litepulse.Unsupported, match=r"^wait\(\): the launch queue of fake has no waits, or its kernel driver is too old"
        ):
            Shot(board, shot)
        assert not board.busy and not device.line_log


@pytest.mark.parametrize(
    "change, message", [({"resume": 204}, "behind a wait is too near: .*205 ticks"), ({"channel": 7}, "^wait_input: 7 is not a channel")]
)
def test_waits_that_no_board_has(change, message, waiting):
    """Before anything leaves."""
    (each,) = waits(("later", 480_000, HZ))
    with pytest.raises(litepulse.BadInput, match=message):
        Shot(waiting, program([Row(0, 4_800, 1), Row(480_000, 4_800, 1)], waits=(each._replace(**change),)))
    assert not waiting.busy and not waiting.device.line_log


def test_a_shot_for_another_board():
    with litepulse.open(sim=True) as board, pytest.raises(litepulse.BadInput, match="made for 100000000 ticks a second, .* 48000000"):
        Shot(board, program(SHOT, tick_hz=100_000_000))


def test_an_aborted_shot():
    """Nothing runs on the board afterwards, and the next shot begins."""
    with litepulse.open(sim=True) as board:
        for rows in ([Row(0, 480_000, 100_000)], [Row(0, 480_000, 63), Row(63 * 480_000 + 7, 480_000, 100_000)]):
            shot = Shot(board, program(rows))
            assert not shot.wait(0.1)
            shot.abort()
            assert shot.over and not board.busy and not board.status().train_running
            with pytest.raises(litepulse.LitePulseError, match="nothing is known"):
                shot.check()


def test_pulses_that_come_too_late():
    """A PC that is too slow for the shot: the shot fails, and each pulse is written down."""
    device, backend = connected(step=200_000)
    with litepulse.Board(backend) as board:
        assert device.tick < 10**9
        shot = Shot(board, program([Row(0, 200, 40), Row(8_001, 200, 400)]))
        assert shot.wait(300)
        with pytest.raises(litepulse.LitePulseError, match="pulses of the shot did not leave at their ticks, the first is pulse"):
            shot.check()
    assert [each.wanted for each in shot.left] == list(places(shot.program.rows))


# With labscript itself --------------------------------------------------------------------------------------------------


def in_labscript(folder, script, *words):
    """What the rig reports of a script."""
    path = folder / "experiment.py"
    path.write_text(script)
    suite, servers = Path.home() / "labscript-suite", running("zprocess")
    was_there = suite.exists()
    command = [sys.executable, Path(__file__).with_name("labscript_rig.py"), folder, path, *words]
    done = subprocess.run(command, env=environment("labscript"), capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert suite.exists() == was_there and running("zprocess") <= servers, "the rig has side effects"
    return json.loads(done.stdout)


def running(word):
    """Numbers of the processes with this word among theirs."""
    found = set()
    for number in filter(str.isdecimal, os.listdir("/proc")):
        try:
            found |= {number} if word.encode() in Path(f"/proc/{number}/cmdline").read_bytes() else set()
        except OSError:
            pass
    return found


@pytest.mark.full
@pytest.mark.seconds(20)
def test_the_recipe(tmp_path):
    """Its script becomes the rows that the page shows, and BLACS's worker sends them exactly; its tab is found through labconfig."""
    script = re.findall(r"(?ms)^```python\n(.*?)^```", PAGE)[0]
    result = in_labscript(tmp_path, script)
    assert result["rows"] == [[int(n) for n in row.split()] for row in re.findall(r"(?m)^    +(\d+ +\d+ +\d+)$", PAGE)]
    assert "waits" not in result and result["posted"] == []
    assert result["attributes"] == {"tick_hz": HZ, "width": 48, "high": 1}
    wanted = list(places(Row(*row) for row in result["rows"]))
    assert result["left"] == [[place, place, True] for place in wanted] and len(wanted) == 25
    assert set(result["start"]) == {"first_tick", "start_ns", "start_uncertainty_ns"}
    looks = ["queue_work check_if_done"] * 2
    assert result["calls"] == ["queue_work start_run", "add wait_until_done", *looks, "remove wait_until_done", "done"]
    for name in ("labscript", "labscript-devices"):
        assert f"{name} {pinned('labscript', name)}" in PAGE


@pytest.mark.full
@pytest.mark.seconds(15)
def test_the_recipe_with_waits(tmp_path):
    """One wait ends by an edge, one by its timeout. The durations are those of the pins, and other programs of labscript learn of them."""
    script = re.findall(r"(?ms)^```python\n(.*?)^```", PAGE)[1]
    (tmp_path / "stimulus.txt").write_text("5000000 0 1\n")
    result = in_labscript(tmp_path, script)
    assert result["waits"] == [["atoms", 10 * MS, 500 * MS], ["camera", 20 * MS, 2 * MS]]
    assert result["wait_attributes"] == {"input": "0", "edge": "rise", "resume": str(RESUME)}
    first, edge = result["start"]["first_tick"], 5_000_001
    pauses = [edge - first - 10 * MS + RESUME, 2 * MS + RESUME]
    assert pauses[0] > RESUME
    waited = [["atoms", 0.01, 0.5, pauses[0] / HZ, False], ["camera", 0.02, 0.002, pauses[1] / HZ, True]]
    assert result["waited"] == waited
    wanted = [place * MS + sum(pauses[: (place >= 10) + (place >= 20)]) for place in (0, 10, 11, 20, 21, 30)]
    assert result["left"] == [[tick, tick, True] for tick in wanted]
    assert highs(tmp_path / "pins.vcd")[:6] == [(first + tick, 48) for tick in wanted]
    posted = [["wait_completed", "atoms"], ["wait_completed", "camera"], ["all_waits_finished", None], ["wait_durations_analysed", None]]
    assert result["posted"] == posted
    # In the page an edge came at another time.
    shown = [row.split() for row in re.findall(r"(?m)^    ((?:atoms|camera) .*)$", PAGE)]
    for row, (label, time, timeout, duration, timed_out) in zip(shown, waited, strict=True):
        assert [row[0], float(row[1]), float(row[2]), row[4]] == [label, time, timeout, str(timed_out)]
        assert float(row[3]) == duration or not timed_out and float(row[3]) < timeout


TABLE = """
from labscript import *
from labscript_devices.DummyIntermediateDevice import DummyIntermediateDevice
from litepulse.labscript.labscript_devices import LitePulse

LitePulse("lp"{})
DummyIntermediateDevice("dev", lp.clockline)
DigitalOut("shutter", dev, "port0/line0")
AnalogOut("coil", dev, "ao0")
{}
start()
{}
stop(0.1)
"""


@pytest.mark.full
@pytest.mark.parametrize(
    "options, more, shot, complaint",
    [
        ("", "", "add_time_marker(0, 'x'); wait('later', 0.01); shutter.go_high(0.02)", "wait 'later': wait_input is not given"),
        (", wait_input=0", "", "wait('later', 0.01, timeout=5e-6); shutter.go_high(0.02)", "wait 'later': its timeout is 256 ticks to"),
        (
            ", wait_input=0",
            "",
            "wait('a', 0.01); wait('b', 0.01 + 1e-9); shutter.go_high(0.02)",
            "wait(): two of a, b are at the same tick",
        ),
        (", wait_input=0", "", "wait('a', 0.01); shutter.go_high(0.010005)", "cannot support update delays shorter"),
        (", wait_input=-1", "", "", "wait_input: -1 is no input"),
        (", wait_input='in0'", "", "", "wait_input: 'in0'"),
        (", wait_input=0, wait_edge='up'", "", "", "wait_edge: 'up' is not rise, fall or both"),
        (", wait_input=0, resume='soon'", "", "", "resume: 'soon'"),
        (", width='1s'", "", "shutter.go_high(0.01)", "cannot support update delays shorter"),
        (", width='soon'", "", "", "width: 'soon'"),
        (", trigger_device=0", "", "", "it does not start at a trigger"),
        ("", "DummyIntermediateDevice('other', lp)", "", "must be an instance of ClockLine"),
        ("", "ClockLine('other', lp.clockline.parent_device, 'x')", "", "connect it to lp.clockline"),
        (", width='200ns'", "", "", "what lp_clock_line clocks needs a pulse of 5e-07 s"),
        ("", "", "coil.ramp(0.01, duration=0.01, initial=0, final=1, samplerate=200e3)", "cannot support clock rates higher than 150000"),
    ],
)
def test_what_is_refused(options, more, shot, complaint, tmp_path):
    """When the script is compiled, in one sentence."""
    result = in_labscript(tmp_path, TABLE.format(options, more, shot), "compile")
    assert complaint in result["error"], result


@pytest.mark.full
def test_a_board_with_other_ticks(tmp_path):
    """The times of a shot are whole ticks of the board that the script names."""
    result = in_labscript(tmp_path, TABLE.format(", tick_hz=800_000_000, high=False", "", "shutter.go_high(0.01)"), "compile")
    assert result["attributes"] == {"tick_hz": 800_000_000, "width": 800, "high": 0}
    assert [row[0] for row in result["rows"]] == [0, 8_000_000, 80_000_000]


@pytest.mark.full
def test_waits_in_the_shot_file(tmp_path):
    """Also one at the start of a shot, and one right behind a ramp. The board is the wait monitor."""
    shot = """
wait("start", 0, timeout=60); shutter.go_high(0)
coil.ramp(0.01, duration=0.01, initial=0, final=1, samplerate=1000)
wait("ramp", 0.02)"""
    result = in_labscript(tmp_path, TABLE.format(", wait_input='rx', wait_edge='both', resume='10us'", "", shot), "compile")
    assert result["waits"] == [["start", 0, 60_000 * MS], ["ramp", 20 * MS, 5_000 * MS]]
    assert result["wait_attributes"] == {"input": "rx", "edge": "both", "resume": "480"}
    assert list(places(Row(*row) for row in result["rows"])) == [0, *range(10 * MS, 21 * MS, MS), 100 * MS]
    assert {result["monitor"][f"wait_monitor_{what}_device"] for what in ("acquisition", "timeout")} == {"lp_wait_outputs"}
