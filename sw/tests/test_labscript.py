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
from litepulse.labscript.shot import Program, Row, Shot, check_rows, one_train, places, rows_of

from .adapters import ROOT, environment, pinned
from .test_launches import connected
from .test_sim import HZ, pins

PAGE = (ROOT / "docs" / "recipes" / "labscript.md").read_text(encoding="utf-8")
SHOT = [Row(0, 480_000, 1), Row(480_000, 96_000, 1), Row(576_000, 4_800, 18), Row(720_000, 3_200, 1)]


def program(rows, width=48, high=True, tick_hz=HZ):
    return Program(rows, width, high, Fraction(tick_hz))


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
    with pytest.raises(litepulse.BadInput, match=r"does not support wait\(\) yet"):
        rows_of([*steps, "WAIT"], "tx", HZ)


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
    (script,) = re.findall(r"(?ms)^```python\n(.*?)^```", PAGE)
    result = in_labscript(tmp_path, script)
    assert result["rows"] == [[int(n) for n in row.split()] for row in re.findall(r"(?m)^    +(\d+ +\d+ +\d+)$", PAGE)]
    assert result["attributes"] == {"tick_hz": HZ, "width": 48, "high": 1}
    wanted = list(places(Row(*row) for row in result["rows"]))
    assert result["left"] == [[place, place, True] for place in wanted] and len(wanted) == 25
    assert set(result["start"]) == {"first_tick", "start_ns", "start_uncertainty_ns"}
    looks = ["queue_work check_if_done"] * 2
    assert result["calls"] == ["queue_work start_run", "add wait_until_done", *looks, "remove wait_until_done", "done"]
    for name in ("labscript", "labscript-devices"):
        assert f"{name} {pinned('labscript', name)}" in PAGE


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
        ("", "", "add_time_marker(0, 'x'); wait('later', 0.01); shutter.go_high(0.02)", "does not support wait() yet"),
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
