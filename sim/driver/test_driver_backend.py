# SPDX-License-Identifier: BSD-2-Clause
"""The command and the Python package on the kernel's driver: Debian's Python in the debug kernel, the real driver, a simulated board."""

import csv
import importlib.util
import itertools
import json
import re
from pathlib import Path

import pytest

from litepulse.vcd import Vcd
from scripts.debian_package import obtain
from sim.cocotb_rig import ROOT, run_folder
from sim.core.model import edges
from sim.driver.cable_rig import Board, modules
from sim.driver.test_cable_command import LOAD, SETTLE, UNLOAD, package_files
from sim.driver.uml import boot
from sim.guest.frames import wave
from sim.guest.lin_bus import PIDS as SOME_PIDS
from sim.guest.lin_bus import SLOW_BUS as BUS
from sim.guest.lin_bus import SLOW_HZ as HZ
from sim.guest.lin_bus import checksum
from sim.scenario import SCENARIO, judge, scenario, unpacked

pytestmark = pytest.mark.seconds(200)
PYTHON = "run /usr/bin/env PYTHONPATH=/sw COLUMNS=200 HOME=/tmp /usr/bin/python3"


# What only a board of the kernel has: a claim that is reported to others, times in the host's clocks, a device that goes away.
PARTICULAR = """
import os, subprocess, sys, threading
import litepulse
with litepulse.open() as board, litepulse.open("/dev/litepulse0") as other:
    print("clocks", *board.clocks)
    with board.train(rate=1000, baud=115200):
        try:
            other.respond(on=litepulse.Break(), after="1us")
        except litepulse.InUse as error:
            print("claimed", error.process == os.getpid(), other.status().train_running)
        with other.capture(count=20) as capture:
            print("beside", len(list(capture)), capture.lost)
        try:
            other.stop()
        except litepulse.InUse:
            print("not stopped", other.status().train_running)
    print("stopped", other.status().train_running)
for clock in board.clocks:
    with litepulse.open(clock=clock) as board, board.train(rate=1000, baud=115200, count=5) as train:
        times = [pulse.ns for pulse in train]
    print("times", clock, None not in times and times == sorted(times) and times[0] > 0)
try:
    litepulse.open("/dev/null")
except litepulse.LitePulseError as error:
    print("refused", error)
with litepulse.open() as board:
    words = [sys.executable, "-m", "litepulse", "detach"]
    try:
        with board.capture() as capture:
            threading.Timer(1, subprocess.run, [words]).start()
            for event in capture:
                pass
    except litepulse.TransportError as error:
        print("gone", error)
"""
# lin0 has the line of a board: another program that wants it gets an error.
NETWORK = """
import fcntl, socket, struct
import litepulse
def set_flags(flags):
    with socket.socket(socket.AF_UNIX) as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh22x", b"lin0", flags))
set_flags(1)
with litepulse.open() as board:
    try:
        board.respond(on=litepulse.Break(), after="1us")
    except litepulse.InUse as error:
        print("lin0", error)
    try:
        board.train(rate=100)
    except litepulse.InUse as error:
        print("lin0", error)
    set_flags(0)
    board.respond(on=litepulse.Break(), after="1us").close()
"""
# Verbs of LIN: what each printed.
VERBS = """
import sys
sys.path.insert(0, "/")
from scenario import INJECTIONS, command, inject, pack
def do(*words):
    return command(["--device", "/dev/litepulse0"], [*words, "--json"])
%s
for line in pack(results):
    print(line, flush=True)
"""
# While another master is on the bus.
LISTENING = """
slave = ["lin", "slave", "/door.ldf", "--node", "Window"]
results = {
    "slave": do(*slave, "--set", "WindowPlace=40", "--respond", "0001020304050607", "--space", "2", "--count", "20"),
    "silent": do("lin", "monitor", "--ldf", "/door.ldf", "--count", "20"),
    "fast": do(*slave, "--baud", "4k"),
    "keep": do(*slave, "--set", "WindowPlace=41", "--flip-checksum", "WindowState=0x80", "--keep"),
    "kept": do("lin", "monitor", "--ldf", "/door.ldf", "--count", "20"),
    "armed": do("info"),
    "stop": do("stop"),
    "stopped": do("lin", "monitor", "--ldf", "/door.ldf", "--count", "20"),
}
"""
# On a silent bus.
SENDING = """
outputs = ["lin", "master", "/door.ldf", "--schedule", "Outputs", "--rounds", "2"]
results = {"master": do(*outputs, "--set", "WindowSpeed=70", "--set", "Light=7")}
for name in INJECTIONS:
    results["inject " + name] = command(["--device", "/dev/litepulse0"], [*inject(name), "--baud", "%d"])
"""
WINDOW, CONTROL, LIGHT, RESPONSE = 0x20, 0x10, 0x11, 0x3D
PIDS = SOME_PIDS | {RESPONSE: 0x7D}
# The other master goes on for longer than the guest may take.
TIMEOUT = 900  # seconds
FIRST, LAST, SLOT = 12 * HZ, TIMEOUT * HZ, 3 * HZ // 25
TURN = (WINDOW, CONTROL, RESPONSE)
STEP = HZ // 10_000  # 0.1 ms


def files():
    """{name in the guest: path} of driver, command and tests."""
    found = package_files() | {f"{name}.ko": path for name, path in modules().items()}
    return found | {"scenario.py": SCENARIO, "etc/udev/rules.d/70-litepulse.rules": ROOT / "driver" / "70-litepulse.rules"}


def test_what_only_the_driver_has(tmp_path):
    """One claim, and its holder's name; captures beside it; times in each clock; a board that is
    removed meanwhile."""
    script = tmp_path / "particular.py"
    script.write_text(PARTICULAR)
    network = tmp_path / "network.py"
    network.write_text(NETWORK)
    jobs = [
        *LOAD,
        f"{PYTHON} -m litepulse attach /dev/ttyS0 --json",
        SETTLE,
        "insmod litepulse_lin.ko",
        f"{PYTHON} /network.py",
        "rmmod litepulse_lin",
        f"{PYTHON} /particular.py",
        "sleep 5",
        *UNLOAD,
        "leaks",
    ]
    with Board() as board:
        run = boot(
            jobs,
            files() | {"particular.py": script, "network.py": network},
            tree=obtain("python-uml").path,
            lines=[board.line],
            timeout=900,
        )
    assert not run.complaints and run.status == [0] * len(jobs), run.log
    printed = [line for line in run.lines(9).splitlines() if not line.startswith(("kobject", "rig", "detached", "litepulse"))]
    assert printed == [
        "clocks monotonic realtime tai phc",
        "claimed True True",
        "beside 20 0",
        "not stopped True",
        "stopped False",
        *(f"times {clock} True" for clock in ("monotonic", "realtime", "tai", "phc")),
        "refused /dev/null: not a device of LitePulse's driver (Inappropriate ioctl for device)",
        "gone /dev/litepulse0: the board is gone",
    ], run.lines(9)
    taken = "lin0 /dev/litepulse0: the network device lin0 has the line; 'ip link set lin0 down' gives it back"
    assert run.lines(7).splitlines().count(taken) == 2, run.lines(7)


def test_every_verb_on_the_driver():
    """As on the simulated SoC and over a port: sw/tests/test_backends.py. The board's time passes
    with the driver's requests, so a launch needs little lead; each second of it is simulated.
    """
    jobs = [
        *LOAD,
        f"{PYTHON} -m litepulse attach /dev/ttyS0 --json",
        SETTLE,
        f"{PYTHON} /scenario.py --device /dev/litepulse0 0.2",
        f"{PYTHON} -m litepulse info",
        f"{PYTHON} -m litepulse detach",
        *UNLOAD,
        "leaks",
    ]
    with Board("--loop-tx-input", "0") as board:
        run = boot(jobs, files(), tree=obtain("python-uml").path, lines=[board.line], timeout=900)
    assert not run.complaints, run.log
    assert run.status == [0] * len(jobs), run.log
    judge(run.lines(6).splitlines(), "driver")
    found = run.lines(7)
    assert "/dev/litepulse0: SIMULATED SoC at 48 MHz" in found and "/dev/ttyPULSE0" in found


def rows_of(text):
    """What a command with --csv printed."""
    return list(csv.DictReader(line for line in text.splitlines() if not line.startswith(("kobject", "rig", "SIMULATED"))))


def test_pulses_from_0_to_1_go_on_while_the_board_is_attached_again():
    """The line rests at 0 until the train is stopped: it changes at no other tick."""
    vcd = run_folder("rest-low") / "pins.vcd"
    command = f"{PYTHON} -m litepulse"
    jobs = [
        *LOAD,
        f"{command} attach /dev/ttyS0 --json",
        SETTLE,
        f"{command} train --rate 100 --width 100us --invert --keep --json",
        f"{command} detach",
        f"{command} attach /dev/ttyS0 --json",
        SETTLE,
        f"{command} capture --inputs rx --count 20 --csv",
        f"{command} stop --json",
        f"{command} detach",
        *UNLOAD,
        "leaks",
    ]
    with Board("--vcd", vcd) as board:
        run = boot(jobs, files(), tree=obtain("python-uml").path, lines=[board.line], timeout=900)
    assert not run.complaints and run.status == [0] * len(jobs), run.log
    start = json.loads(run.lines(6))["start"]
    pins = Vcd(vcd, 48_000_000)
    (first, down), *pulses, (last, up) = edges(pins.signals["tx"])
    assert down == 0 < first < start and up == 1
    pairs = list(zip(pulses[::2], pulses[1::2]))
    assert pairs == [((start + n * 480_000, 1), (start + n * 480_000 + 4800, 0)) for n in range(len(pairs))] and len(pairs) >= 12
    assert last > pulses[-1][0]
    seen = [(int(row["tick"]) - 1, int(row["value"])) for row in rows_of(run.lines(10))]
    assert len(seen) == 20 and set(seen) < set(pulses)


def test_what_a_port_left_behind_goes_on_as_it_was():
    """A responder to bytes of another bit rate than the tty's first one, kept with a train: attach, detach, attach, a use of the tty.

    The captures see 80 edges, eight in a period, and four bytes.
    """
    vcd = run_folder("left-behind") / "pins.vcd"
    command, line = f"{PYTHON} -m litepulse", "--baud 19200"
    jobs = [
        *LOAD,
        f"{command} --port /dev/ttyS0 train --rate 200 --byte 0x33 {line} --keep",
        f"{command} --port /dev/ttyS0 respond --on byte:0x33 --own --delay 1ms --width 100us {line} --keep",
        *(f"{command} attach /dev/ttyS0 --json", SETTLE, f"{command} capture --inputs rx --count 20 --csv", f"{command} detach"),
        *(f"{command} attach /dev/ttyS0 --json", SETTLE, f"{command} capture --inputs none --bytes --count 4 {line} --csv"),
        *(f"{command} capture --inputs rx --count 60 --csv", f"{command} stop"),
        f"{command} detach",
        *UNLOAD,
        "leaks",
    ]
    with Board("--vcd", vcd) as board:
        run = boot(jobs, files(), tree=obtain("python-uml").path, lines=[board.line], timeout=900)
    assert not run.complaints and run.status == [0] * len(jobs), run.log
    assert str(0x33) in {row["value"] for row in rows_of(run.lines(12))}, run.lines(12)
    falls = [tick for tick, level in edges(Vcd(vcd, 48_000_000).signals["tx"]) if not level]
    # 0x33 has three falling edges; the answer is as far behind each byte as behind the first that was answered.
    start, period, bit = falls[0], 240_000, 2500
    expected = {start + n * period + offset for n in range(len(falls)) for offset in (0, 3 * bit, 7 * bit)}
    answers = [tick for tick in falls if tick not in expected]
    (offset,) = {(tick - start) % period for tick in answers}
    assert offset > 9 * bit + 48_000 and answers == [answers[0] + n * period for n in range(len(answers))] and len(answers) > 10
    assert falls[-1] < answers[-1] + period, "answered to the end"


def ldf_files(folder):
    """{name in the guest: path} of the parser of descriptions, with all it needs, and of a description of the slow bus."""
    found = {}
    for name in ("ldfparser", "lark", "bitstruct", "jinja2", "markupsafe"):
        spec = importlib.util.find_spec(name)
        assert spec and spec.origin
        root = Path(spec.origin).parent
        found |= {f"sw/{name}/{path.relative_to(root)}": path for path in root.rglob("*") if path.suffix in (".py", ".lark")}
    text = (ROOT / "sw" / "examples" / "door.ldf").read_text().replace("19.2 kbps", f"{BUS.baud / 1000} kbps")
    description = folder / "door.ldf"
    description.write_text(re.sub(r"delay (\d+) ms", r"delay \g<1>0 ms", text))
    return found | {"door.ldf": description}


def with_checksum(number, data, flip=0):
    """Data of a frame and the checksum of LIN 2, or of a diagnostic frame."""
    return data + bytes([checksum(data, None if number == RESPONSE else PIDS[number]) ^ flip])


def window(place):
    """Data of WindowState."""
    return bytes([PIDS[WINDOW], place, 0xFE, 0xFF])


def heard(outputs, name):
    """[(number of the slot, frame)] of a command that lists frames: no slot is missing between. It may begin within a frame."""
    frames = list(itertools.dropwhile(lambda frame: frame["id"] is None, outputs[name]["frames"]))
    slots = [(frame["tick"] - 1 - FIRST) // SLOT for frame in frames]
    assert [frame["tick"] for frame in frames] == [FIRST + n * SLOT + 1 for n in range(slots[0], slots[0] + len(frames))], (name, slots)
    return list(zip(slots, frames))


def results_on_bus(folder, steps, stimulus=(), lockstep=None):
    """({name: result} of the commands in `steps`, edges of TX) on a board on a bus; stimulus: [(tick, level)] of the other nodes.

    lockstep: ticks by which the board's time goes on at each transaction, so a slow machine slows the board, too; None: by the wall clock.
    """
    vcd, nodes, script = folder / "pins.vcd", folder / "nodes", folder / "lin.py"
    script.write_text(VERBS % steps)
    nodes.write_text("".join(f"{tick} rx {level}\n" for tick, level in stimulus))
    jobs = [
        *LOAD,
        f"{PYTHON} -m litepulse attach /dev/ttyS0 --json",
        SETTLE,
        f"{PYTHON} /lin.py",
        f"{PYTHON} -m litepulse detach",
        *UNLOAD,
        "leaks",
    ]
    # The time of a board without lockstep goes on from its start: what takes long to make is made before.
    made, tree = files() | ldf_files(folder) | {"lin.py": script}, obtain("python-uml").path
    options = ["--bus", "--pulse-hz", HZ, *([] if lockstep else ["--pace"]), "--stimulus", nodes, "--vcd", vcd]
    with Board(*options, wired=False, lockstep=lockstep) as board:
        run = boot(jobs, made, tree=tree, lines=[board.line], timeout=TIMEOUT)
    assert not run.complaints and run.status == [0] * len(jobs), run.log
    return unpacked(run.lines(6).splitlines()), edges(Vcd(vcd, HZ).signals["tx"])


CONTROL_DATA = b"\x8c\xff"


@pytest.mark.seconds(200)
def test_the_verbs_of_lin_that_listen_on_the_driver():
    """Slave and monitor: what they print and what lies on the pins is what a bus must have, to the tick; a slave is kept."""
    control = with_checksum(CONTROL, CONTROL_DATA)
    others = [
        one
        for n, start in enumerate(range(FIRST, LAST, SLOT))
        for one in (BUS.published(start, PIDS[CONTROL], control) if TURN[n % 3] == CONTROL else BUS.header(start, PIDS[TURN[n % 3]]))
    ]
    results, sent = results_on_bus(run_folder("lin-listen"), LISTENING, edges(wave(others)))
    fast = results.pop("fast")
    assert fast["status"] == 2 and fast["err"].startswith("litepulse: baud: a LIN slave needs bits of 64 cycles or more, at most 3906 baud")
    assert [(name, one["status"], one["err"]) for name, one in results.items() if one["err"]] == []
    outputs = {name: json.loads(one["out"]) for name, one in results.items()}

    def check(name, space, answers):
        """The result of a command, all frames and the pins meanwhile are right; answers:
        {identifier: of each header in turn}."""
        frames, left = heard(outputs, name), {number: iter(each) for number, each in answers.items()}
        expected, before = [], FIRST + (frames[0][0] - 1) * SLOT
        # A header is answered from its last byte on, and heard from its first.
        if [tick for tick, _ in sent if before <= tick < before + SLOT]:
            next(left.get(TURN[(frames[0][0] - 1) % 3], iter(())), None)
        # Arming is the last step of a slave: headers that begin between listening and arming are heard and not answered.
        if answers:
            del frames[: next((n for n, (_, frame) in enumerate(frames[: len(TURN)]) if frame["own_response"]), 0)]
        for n, frame in frames:
            number = TURN[n % 3]
            assert frame["id"] == number and not frame["own_header"]
            if number == CONTROL:
                assert (frame["data"], frame["error"], frame["own_response"]) == ("8cff", None, False)
                continue
            answer = next(left.get(number, iter(())), b"")
            expected += BUS.answer(FIRST + n * SLOT, answer, space) if answer else []
            assert frame["own_response"] is bool(answer) and frame["data"] == answer[:-1].hex(), (name, n, frame)
        first, last = frames[0][0], frames[-1][0]
        assert len(frames) >= 9
        assert [edge for edge in sent if FIRST + first * SLOT <= edge[0] < FIRST + (last + 1) * SLOT] == edges(wave(expected)), name
        return first, last

    _, last = check(
        "slave",
        BUS.bits(2),
        {WINDOW: itertools.repeat(with_checksum(WINDOW, window(40))), RESPONSE: [with_checksum(RESPONSE, bytes(range(8)))]},
    )
    own = sum(frame["own_response"] for frame in outputs["slave"]["frames"])
    assert own >= 4 and (outputs["slave"]["missed"], outputs["slave"]["lost"]) == (0, 0)
    first, _ = check("silent", 0, {})
    # What the board answers between the 20th frame and its disarming is counted, too, if it was heard whole.
    late = {(tick - FIRST) // SLOT for tick, _ in sent if FIRST + (last + 1) * SLOT <= tick < FIRST + first * SLOT}
    assert own <= outputs["slave"]["answered"] <= own + len(late)
    check("kept", BUS.bits(1), {WINDOW: itertools.repeat(with_checksum(WINDOW, window(41), 0x80))})
    check("stopped", 0, {})
    assert outputs["keep"]["armed"] and outputs["armed"]["responder_armed"] and outputs["stop"]["stopped"] == ["responder"]
    assert outputs["armed"]["lin_entries"] == 64


@pytest.mark.seconds(100)
def test_the_verbs_of_lin_that_send_on_the_driver():
    """Master and faults: what they print and what lies on the pins is the same, to the tick. A slow machine slows the board, too."""
    results, sent = results_on_bus(run_folder("lin-send"), SENDING % BUS.baud, lockstep=STEP)
    assert [(name, one["status"], one["err"]) for name, one in results.items() if one["err"]] == []
    outputs = {name: json.loads(one["out"]) for name, one in results.items()}
    control = with_checksum(CONTROL, CONTROL_DATA)
    injections = {name.removeprefix("inject "): one for name, one in outputs.items() if name.startswith("inject ")}
    begun = min(one["tick"] for one in injections.values())
    scenario().check_injections(injections, [edge for edge in sent if edge[0] >= begun], BUS.form.period)
    start, gap = outputs["master"]["start"], HZ // 10
    light = with_checksum(LIGHT, b"\x07")
    published = [(start, CONTROL, control), (start + gap, LIGHT, light), (start + 2 * gap, CONTROL, control)]
    expected = [one for tick, number, data in published for one in BUS.published(tick, PIDS[number], data)]
    assert [edge for edge in sent if edge[0] < begun] == edges(wave(expected))
    assert [(frame["tick"], frame["id"], frame["data"], frame["error"]) for frame in outputs["master"]["frames"]] == [
        (tick + 1, number, data[:-1].hex(), None) for tick, number, data in published
    ]
