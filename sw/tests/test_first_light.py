# SPDX-License-Identifier: BSD-2-Clause
"""`litepulse first-light` on a simulated PC: each fault that is planted fails at its step, which says what to look at; what does not need
that step goes on. The board is a model on a pseudo-terminal, the programmer a stand-in."""

import contextlib
import dataclasses
import hashlib
import json
import os
import pwd
import subprocess
import sys
from fractions import Fraction

import jsonschema
import pytest

import litepulse
from litepulse import compatibility, flash, flash_boards
from litepulse.doctor import FAULT, NOTE, OK, SKIPPED
from litepulse.first_light import crystal, report, steps, wires
from litepulse.first_light.steps import STEPS, FirstLight, Hands, Options

from . import fake_machine, scenario
from .fake_board import Bridge, Server
from .fake_machine import Machine
from .test_attach import TESTS
from .test_flash_verb import HEADS
from .test_unix import COMMAND, ENV
from .wired_board import RX, WiredBoard

ICEBREAKER = flash_boards.BOARDS["icebreaker"]
GOOD = crystal.Crystal(Fraction(12), Fraction(3), Fraction(60), 100_000, False)
EDGES = 300
MAP = compatibility.named(compatibility.OURS)
SKIPS = {"attach"}  # without the driver's modules


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A PC without the driver, whose clock is kept right, with a programmer and a bitstream."""
    made = Machine(tmp_path / "machine").make("none")
    made.write("programs/chronyc", "Leap status     : Normal")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "bin").mkdir()
    install(tmp_path)
    monkeypatch.setattr(steps, "WAIT", 0.2)
    monkeypatch.setattr(crystal, "measure", lambda *_: GOOD)  # a pseudo-terminal has no bits that take their time
    return made


def install(folder, status=0):
    """The programmer: it records its words in the file `ran`."""
    program = folder / "bin" / "iceprog"
    program.write_text(f'#!/bin/sh\necho "$@" >>"{folder}/ran"\necho programming\nexit {status}\n')
    program.chmod(0o755)


def bitstreams(folder, version=MAP, part="iCE40UP5K"):
    """A release with a bitstream of the iCEBreaker."""
    folder.mkdir(exist_ok=True)
    name = "icebreaker-uartbone-s1.bin"
    (folder / name).write_bytes(HEADS[part])
    row = {"board": "icebreaker", "fpga": "up5k", "variant": "uartbone", "samples": 1, "file": name}
    row["sha256"] = hashlib.sha256(HEADS[part]).hexdigest()
    (folder / flash.LIST).write_text(json.dumps({"litepulse": "0.2.0", "register_map": version, "bitstreams": [row]}))
    return folder


@contextlib.contextmanager
def plugged(machine, model=None, **plug):
    """A board in a plug."""
    with Server(model or WiredBoard(), bridge=Bridge()) as server:
        machine.plug(server.spec, **{"latency": "1"} | plug)
        yield server


@contextlib.contextmanager
def silent(machine):
    """A plug behind which nothing answers: the oscillator is dead, or the FPGA is empty."""
    far, near = os.openpty()
    machine.plug(os.ttyname(near), latency="1")
    yield
    os.close(far)
    os.close(near)


def try_it(machine, tmp_path, answer=lambda question: True, **options):
    """({step: Check}, the report). Each fault says what to look at."""
    folder = bitstreams(tmp_path / "release") if not (tmp_path / "release").exists() else tmp_path / "release"
    given = {"edges": EDGES, "bitstream": lambda board: flash.from_release(folder, board, None, None, None)} | options
    hands = Hands(answer, lambda where: litepulse.open(port=where, stay_in_touch=False), False, lambda *_: contextlib.nullcontext(int))
    light = FirstLight(machine.host, Options(**given), hands)
    checks = list(light.run())
    assert [check.name for check in checks] == [step.name for step in STEPS]
    assert all(check.finding for check in checks)
    assert all(check.fix for check in checks if check.state == FAULT), [check for check in checks if check.state == FAULT]
    made = report.report(light, checks)
    jsonschema.Draft202012Validator(report.schema()).validate(json.loads(json.dumps(made)))
    assert made["passed"] == (FAULT not in {check.state for check in checks})
    return {check.name: check for check in checks}, made


def states(checks):
    return {name: check.state for name, check in checks.items() if check.state != OK}


def fails(found, step, *parts, others=None):
    """Only this step failed, and it says so; others: states of those behind it that were not done."""
    checks, _ = found
    assert {name for name, check in checks.items() if check.state == FAULT} == {step}, checks
    text = f"{checks[step].finding}; {checks[step].fix}"
    assert all(part in text for part in parts), text
    skipped = {name for name, check in checks.items() if check.state == SKIPPED}
    assert skipped - SKIPS == set(others or ()), skipped


# Without a fault --------------------------------------------------------------------------------------------------------


def test_all_is_well(machine, tmp_path):
    questions = []
    with plugged(machine) as server:
        checks, made = try_it(machine, tmp_path, lambda question: questions.append(question) or True)
    assert states(checks) == {"attach": SKIPPED}
    assert (tmp_path / "ran").read_text().split() == [str(tmp_path / "release" / "icebreaker-uartbone-s1.bin")]
    assert questions == [
        "Write icebreaker-uartbone-s1.bin into the flash of the iCEBreaker?",
        "Connect tx (PMOD 1A pin 1) to rx (PMOD 1A pin 2) by one jumper wire.",
    ]
    own = made["measured"]["self"]
    assert own["edges"] >= EDGES and own["delay"]["histogram"] == [[1, own["edges"]]] and own["complaints"] == []
    assert made["measured"]["crystal"]["ppm"] == 12 and made["measured"]["latency_timer"]["in_use_ms"] == 1
    assert made["measured"]["wire"] == {"follow": ["rx"], "moving": []} and made["board"]["name"] == "icebreaker"
    assert server.board.armed is False and not server.board.queue


def test_nothing_names_a_person_or_a_machine(machine, tmp_path, monkeypatch):
    """Neither serial number, user, machine nor folder is in the report; the serial number is on request."""
    monkeypatch.setenv("USER", "somebody")
    monkeypatch.setenv("HOME", str(tmp_path))
    with plugged(machine, serial="ib7A"), open(os.devnull):
        (tmp_path / "release").mkdir()
        checks, made = try_it(machine, tmp_path, lambda _: False)
    text = json.dumps(made) + report.page(made)
    for word in ("ib7A", "somebody", os.uname().nodename, str(tmp_path), machine.dev.as_posix()):
        assert word not in text, word
    assert checks["wire"].state == checks["flash"].state == SKIPPED


@pytest.mark.parametrize(
    "text, clean",
    [
        ("sudo adduser somebody dialout", "sudo adduser USER dialout"),
        ("/dev/serial/by-id/usb-x_ib7A-if01", "/dev/serial/by-id/usb-x_SERIAL-if01"),
        ("somebodys ib7AB", "somebodys ib7AB"),
    ],
)
def test_names_are_replaced_where_they_are_words(text, clean):
    assert report.without(text, {"somebody": "USER", "ib7A": "SERIAL"}) == clean


def test_who_is_private(monkeypatch):
    monkeypatch.setenv("USER", "somebody")
    words = report.private_words(["ib7A", ""])
    assert words["somebody"] == "USER" and words["ib7A"] == "SERIAL" and words[os.uname().nodename] == "HOST"
    assert "" not in words and "root" not in words and pwd.getpwuid(0).pw_name not in words


def test_the_serial_number_on_request(machine, tmp_path):
    with plugged(machine, serial="ib7A"):
        hands = Hands(lambda _: False, lambda where: litepulse.open(port=where), False, lambda *_: contextlib.nullcontext(int))
        light = FirstLight(machine.host, Options(write=False), hands)
        checks = list(light.run())
    assert report.report(light, checks, True)["board"]["serial"] == "ib7A"
    assert report.report(light, checks)["board"]["serial"] is None


# The plug, the rights, the programmer -----------------------------------------------------------------------------------


BEHIND_THE_PORT = ["core", "wire", "self", "latency timer", "crystal"]


def test_nothing_is_plugged_in(machine, tmp_path):
    checks, _ = try_it(machine, tmp_path)
    assert {name for name, check in checks.items() if check.state == FAULT} == {"adapter", "port"}
    assert "none is found" in checks["adapter"].finding and "cable" in checks["adapter"].fix
    checks, _ = try_it(machine, tmp_path, board=ICEBREAKER)
    assert checks["adapter"].finding == "iCEBreaker is not there: no USB 0403:6010" and "carries data" in checks["adapter"].fix
    assert {check.state for name, check in checks.items() if name in (*BEHIND_THE_PORT, "flash")} == {SKIPPED}


def test_two_boards(machine, tmp_path):
    """Nothing is written; with its serial number the right one is, and is tried."""
    other = WiredBoard()
    with plugged(machine) as one, plugged(machine, other, name="ttyUSB3", place="1-3", serial="ib9B") as two:
        checks, _ = try_it(machine, tmp_path)
        assert {name for name, check in checks.items() if check.state == FAULT} == {"adapter", "port"}
        assert checks["adapter"].finding == "2 with USB 0403:6010 are plugged in"
        assert checks["adapter"].fix == "unplug all but one, or --serial N: ib7A, ib9B"
        assert not (tmp_path / "ran").exists() and one.received == two.received == b""
        checks, _ = try_it(machine, tmp_path, serial="ib9B")
        assert states(checks) == {"attach": SKIPPED} and checks["port"].finding.startswith("ttyUSB3")
        assert one.received == b"" and "0x0403:0x6010:ib9B" in (tmp_path / "ran").read_text()
        checks, _ = try_it(machine, tmp_path, serial="ib0")
        assert checks["adapter"].state == FAULT and "serial number" in checks["adapter"].finding


def test_another_board_in_the_plug(machine, tmp_path):
    with plugged(machine, product="Alchitry Cu V2"):
        checks, _ = try_it(machine, tmp_path, board=ICEBREAKER)
    assert checks["adapter"].state == FAULT and checks["adapter"].fix == "--board alchitry_cu, or the right board"
    assert checks["flash"].state == SKIPPED and not (tmp_path / "ran").exists()


def test_a_board_that_the_kernel_has(machine, tmp_path):
    with plugged(machine) as server:
        machine.appear("ttyUSB1")
        checks, _ = try_it(machine, tmp_path)
        assert server.received == b"" and not (tmp_path / "ran").exists()
    for step in ("adapter", "port"):
        assert checks[step].state == FAULT and checks[step].finding == "the kernel has it as litepulse0"
        assert checks[step].fix.startswith("sudo litepulse detach /")


def test_no_rights_to_write(machine, tmp_path, monkeypatch):
    monkeypatch.setattr(steps, "may_open", lambda path: "bus/usb" not in str(path))
    with plugged(machine):
        found = try_it(machine, tmp_path)
    fails(found, "permissions", "this user may not open", "udev rule", 'ATTRS{idVendor}=="0403"', others=["flash"])


def test_no_rights_to_the_port(machine, tmp_path, monkeypatch):
    monkeypatch.setattr("litepulse.doctor.may_open", lambda path: False)
    monkeypatch.setenv("USER", "somebody")
    with plugged(machine):
        found = try_it(machine, tmp_path)
    fails(found, "port", "this user may not open it", "sudo adduser somebody", others=["bridge", *BEHIND_THE_PORT])
    assert "somebody" not in json.dumps(found[1])


def test_no_programmer(machine, tmp_path):
    (tmp_path / "bin" / "iceprog").unlink()
    with plugged(machine):
        found = try_it(machine, tmp_path)
    fails(found, "programmer", "no iceprog or openFPGALoader here", "apt-get install fpga-icestorm", "--no-flash", others=["flash"])


def test_a_programmer_that_fails(machine, tmp_path):
    """The board may have a bitstream from before: it is tried."""
    install(tmp_path, status=3)
    with plugged(machine):
        found = try_it(machine, tmp_path)
    fails(found, "flash", "iceprog ended with status 3", "what the programmer reported")


def test_no_bitstream(machine, tmp_path):
    with plugged(machine):
        found = try_it(machine, tmp_path, bitstream=lambda board: flash.from_release(tmp_path, board, None, None, None))
    fails(found, "bitstream", "has no bitstreams.json", "--from FOLDER", others=["flash"])


def test_a_bitstream_of_another_board(machine, tmp_path):
    bitstreams(tmp_path / "release", part="iCE40HX8K")
    with plugged(machine):
        found = try_it(machine, tmp_path)
    fails(found, "bitstream", "this is a bitstream for iCE40HX8K, iCEBreaker has iCE40UP5K", others=["flash"])
    assert not (tmp_path / "ran").exists()


def test_a_bitstream_of_an_older_map(machine, tmp_path):
    """It works as far as it goes, and says so twice."""
    bitstreams(tmp_path / "release", version="0.8")
    with plugged(machine, WiredBoard(frozen="0.8")):
        checks, made = try_it(machine, tmp_path)
    assert states(checks) == {"bitstream": NOTE, "core": NOTE, "attach": SKIPPED} and made["passed"]
    assert "the core is version 0.8, without bursts" in checks["core"].finding and "version 0.8" in checks["bitstream"].finding


# The port and what answers ----------------------------------------------------------------------------------------------


def test_a_dead_oscillator(machine, tmp_path):
    with silent(machine):
        found = try_it(machine, tmp_path)
    fails(found, "bridge", "does not answer", "the oscillator and the PLL", "the bitstream", others=[*BEHIND_THE_PORT])


def test_a_clock_that_stands_still(machine, tmp_path):
    """The bridge's clock runs, the core's does not."""
    board = WiredBoard()
    board.stands = board.mute_config = True
    with plugged(machine, board):
        checks, made = try_it(machine, tmp_path)
    assert checks["bridge"].state == OK and not made["passed"]
    failed = [check for check in checks.values() if check.state == FAULT]
    assert failed and all("PLL" in check.fix or "clock" in check.finding or "answer" in check.finding for check in failed), failed


def test_the_core_of_another_board(machine, tmp_path):
    with plugged(machine, WiredBoard(clock_hz=100_000_000, samples=2)):
        found = try_it(machine, tmp_path)
    fails(found, "core", "100 MHz, 2 per cycle, which no bitstream of iCEBreaker has: that of Alchitry Cu", "--board icebreaker")


def test_another_core(machine, tmp_path):
    board = WiredBoard()
    board.magic = 5
    with plugged(machine, board):
        found = try_it(machine, tmp_path)
    fails(found, "core", "not a LitePulse", "litepulse flash", others=BEHIND_THE_PORT[1:])


def test_a_port_in_use(machine, tmp_path):
    with plugged(machine) as server:
        machine.write("proc/78/comm", "minicom")
        (machine.proc / "78" / "fd").mkdir()
        (machine.proc / "78" / "fd" / "3").symlink_to(server.spec)
        found = try_it(machine, tmp_path)
    fails(found, "port", "in use by minicom (process 78)", "end it", others=["bridge", *BEHIND_THE_PORT])


def test_a_board_whose_port_is_an_adapter(machine, tmp_path):
    """Its plug does not say which port that is; a crossed adapter is what to look at if nothing answers."""
    orangecrab = flash_boards.BOARDS["orangecrab"]
    with silent(machine):
        checks, _ = try_it(machine, tmp_path, board=orangecrab, write=False)
        assert checks["port"].state == FAULT and "--port /dev/ttyUSB0" in checks["port"].fix and "adapter" in checks["port"].fix
        (path,) = (str(each) for each in machine.dev.glob("ttyUSB*"))
        checks, _ = try_it(machine, tmp_path, board=orangecrab, write=False, where=path)
        assert checks["bridge"].fix.startswith("the adapter's TX to the board's RX and the other way round")


# The jumper -------------------------------------------------------------------------------------------------------------


AT = "one wire from tx (PMOD 1A pin 1) to rx (PMOD 1A pin 2), and nothing else there"
JUMPERS = {
    "none": ({"wires": ()}, ("no pulse of tx comes back at any pin", AT)),
    "at an input": ({"wires": (1,)}, ("tx comes to in1 (PMOD 1B pin 2), not to rx", "move that end of the wire to rx (PMOD 1A pin 2)")),
    "at GND": ({"wires": (), "low": (RX,)}, ("no pulse comes back, and rx is at 0", "GND", AT)),
    "loose, beside a lamp": ({"wires": (), "humming": RX}, ("rx changes by itself", AT)),
}


@pytest.mark.parametrize("case", JUMPERS)
def test_a_wrong_jumper(case, machine, tmp_path):
    options, parts = JUMPERS[case]
    with plugged(machine, WiredBoard(**options)):
        fails(try_it(machine, tmp_path, write=False), "wire", *parts, others=["self", *STEPS_OF_WRITING])


STEPS_OF_WRITING = ["adapter", "permissions", "programmer", "bitstream", "flash"]


def test_two_wires(machine, tmp_path):
    with plugged(machine, WiredBoard(wires=(RX, 0))):
        checks, _ = try_it(machine, tmp_path, write=False)
    assert checks["wire"].state == NOTE and checks["wire"].finding == "rx follows tx, and so does in0" and checks["self"].state == OK


def test_pads_that_add_a_tick(machine, tmp_path):
    """That is not a fault."""
    with plugged(machine, WiredBoard(late=1)):
        checks, made = try_it(machine, tmp_path, write=False)
    assert checks["self"].state == NOTE and "2 to 2 ticks after their launch" in checks["self"].finding and made["passed"]


def test_edges_that_get_lost(machine, tmp_path, monkeypatch):
    """A wire that comes loose after it was looked at."""
    board = WiredBoard()
    look = wires.look

    def loosen(*arguments):
        found = look(*arguments)
        board.wires = ()
        return found

    monkeypatch.setattr(steps.wires, "look", loosen)
    with plugged(machine, board):
        fails(try_it(machine, tmp_path, write=False), "self", "no edge comes back", "short, firm", others=STEPS_OF_WRITING)


def test_a_person_leaves_the_jumper_out(machine, tmp_path):
    with plugged(machine):
        checks, made = try_it(machine, tmp_path, lambda question: "jumper" not in question)
    assert states(checks) == {"wire": SKIPPED, "self": SKIPPED, "attach": SKIPPED} and made["passed"]


# Adapter and crystal ----------------------------------------------------------------------------------------------------


def test_an_adapter_that_holds_bytes_back(machine, tmp_path):
    with plugged(machine, latency="16"):
        found = try_it(machine, tmp_path, write=False)
    fails(found, "latency timer", "16 ms while the board is in use", f"sudo tee {machine.latency_file()}", others=STEPS_OF_WRITING)
    assert found[1]["measured"]["latency_timer"]["before_ms"] == 16


def measured(ppm, seconds=Fraction(2, 5)):
    """A crystal that is off, on TCP: no bits that take their time."""
    with Server(WiredBoard(ppm=ppm), "tcp") as server, litepulse.open(port=server.spec) as board:
        return crystal.measure(board, seconds, False, lambda done: None)


@pytest.mark.parametrize("ppm", [0, 800, -3000])
def test_a_crystal_is_as_far_off_as_it_is(ppm):
    found = measured(ppm)
    assert abs(found.ppm - ppm) <= found.uncertainty + 50 and not found.was_set  # this PC's own clock may be slewed


@pytest.mark.parametrize(
    "found, is_set, state, part",
    [
        (GOOD, True, OK, "+12.0 ppm ± 3.0 ppm"),
        (GOOD, False, NOTE, "no time service is known to keep right"),
        (GOOD, None, NOTE, "no time service"),
        (dataclasses.replace(GOOD, ppm=Fraction(-150)), True, FAULT, "-150.0 ppm"),
        (dataclasses.replace(GOOD, ppm=Fraction(-150)), False, NOTE, "no time service"),
        (dataclasses.replace(GOOD, ppm=Fraction(101)), True, OK, "+101.0"),
        (dataclasses.replace(GOOD, ppm=Fraction(400_000)), False, FAULT, "whether the bitstream is that of this board"),
        (dataclasses.replace(GOOD, was_set=True), True, NOTE, "was set meanwhile"),
    ],
)
def test_what_a_crystal_means(found, is_set, state, part, machine, tmp_path, monkeypatch):
    """Without NTP the PC's clock may be the one that is off: no failure, unless no crystal is that far off."""
    monkeypatch.setattr(crystal, "measure", lambda *_: found)
    monkeypatch.setattr(fake_machine.FakeHost, "clock_is_set", lambda host: is_set)
    with plugged(machine):
        checks, made = try_it(machine, tmp_path, write=False)
    check = checks["crystal"]
    assert check.state == state and part in f"{check.finding}; {check.fix}", check
    assert made["measured"]["crystal"]["clock_is_set"] is is_set


def reading(tick, ns, width=1000, set_by=0):
    return crystal.ClockReading(tick, ns - width, ns + width, ns, ns + set_by)


def test_readings_bound_the_rate():
    """48 MHz that is 10 ppm fast, read within 1 us, for 10 s: 0.2 ppm at most."""
    readings = [reading(48_000 * n + (48 * n + 99) // 100, n * 1_000_000) for n in range(0, 10_001, 100)]
    found = crystal.rate_of(readings, Fraction(48_000_000))
    assert abs(found.ppm - 10) <= found.uncertainty <= Fraction(7, 20) and not found.was_set and found.seconds == 10
    late = [reading(48_000 * n, n * 1_000_000, set_by=5_000_000 * (n > 5000)) for n in range(0, 10_001, 100)]
    assert crystal.rate_of(late, Fraction(48_000_000)).was_set
    with pytest.raises(litepulse.LitePulseError, match="stands still"):
        crystal.rate_of([reading(5, n * 10**6) for n in range(9)], Fraction(48_000_000))
    with pytest.raises(litepulse.LitePulseError, match="too short"):
        crystal.rate_of([reading(5 * n, n * 1000) for n in range(3)], Fraction(48_000_000))


# The driver -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def driven(machine):
    """The same with the driver's modules."""
    for module in ("litepulse", "litepulse_uartbone"):
        (machine.sysfs / "module" / module).mkdir(parents=True)
    machine.write("kernel", "good")
    return machine


def test_the_driver_takes_the_board_and_gives_it_back(driven, tmp_path):
    with plugged(driven):
        checks, made = try_it(driven, tmp_path, write=False)
    assert checks["attach"].state == OK and "baud, frames checked, round trip 0.250 ms" in checks["attach"].finding, checks["attach"]
    assert made["measured"]["attach"]["transactions"] == 5000 and not list(driven.sysfs.glob("devices/platform/litepulse*"))


@pytest.mark.parametrize(
    "kernel, state, part", [("not root", SKIPPED, "only root"), ("refuses", FAULT, "the kernel's driver refuses the board")]
)
def test_a_driver_that_does_not(kernel, state, part, driven, tmp_path, monkeypatch):
    monkeypatch.setattr("litepulse.attach._APPEAR", 0.3)
    driven.write("kernel", kernel)
    with plugged(driven):
        checks, _ = try_it(driven, tmp_path, write=False)
    assert (checks["attach"].state, part in checks["attach"].finding) == (state, True), checks["attach"]


# The command ------------------------------------------------------------------------------------------------------------


def command(machine, *words, stdin=subprocess.DEVNULL):
    code = [sys.executable, TESTS / "fake_machine.py", machine.folder, "first-light", *map(str, words)]
    return subprocess.run(
        code, env={**ENV, "PATH": os.environ["PATH"]}, stdin=stdin, capture_output=True, text=True, timeout=120, check=False
    )


WORDS = ("--edges", EDGES, "--for", "100ms")


def test_the_command_writes_page_and_json(machine, tmp_path):
    """--json has one object on standard output; what the programmer says goes to standard error."""
    folder = bitstreams(tmp_path / "release")
    with plugged(machine):
        done = command(machine, "--from", folder, "--yes", "--json", "-o", tmp_path / "x", *WORDS)
    result = json.loads(done.stdout)
    assert done.stderr == "programming\n" and json.loads((tmp_path / "x.json").read_text()) == result
    assert done.returncode == int(not result["passed"]) and result["measured"]["self"]["missing"] == 0
    text = (tmp_path / "x.md").read_text()
    assert text.startswith("# First light: icebreaker, ") and "| wire | ok | rx follows tx |" in text
    assert all(line.count("|") == text.splitlines()[4].count("|") for line in text.splitlines() if line.startswith("| --"))


def test_questions_in_a_terminal(machine, tmp_path):
    """Enter goes on; n leaves the step out."""
    folder = bitstreams(tmp_path / "release")
    ours, theirs = os.openpty()
    os.write(ours, b"n\n\n")
    with plugged(machine):
        done = command(machine, "--from", folder, "-o", tmp_path / "x", *WORDS, stdin=theirs)
    os.close(ours)
    os.close(theirs)
    assert not (tmp_path / "ran").exists() and "left as it is" in done.stdout and "rx follows tx" in done.stdout, done
    assert done.stderr.count("Enter goes on") == 2 and "Tested on metal" in done.stdout


BAD = {
    "no terminal": ([], "it asks before it writes and for a jumper, and there is no terminal: --yes asks nothing"),
    "a device": (["--device", "/dev/litepulse0"], "the kernel has /dev/litepulse0"),
    "file and folder": (["--file", "x", "--from", "y"], "--file and --from exclude each other"),
    "no flash": (["--no-flash", "--file", "x"], "--no-flash and --file exclude each other"),
    "ticks": (["--yes", "--for", "5t"], "for: this is a time of the PC's clock"),
    "board": (["--yes", "--board", "arty"], "board: no board 'arty'"),
    "fpga": (["--yes", "--board", "ulx3s", "--fpga", "12f"], "fpga: ULX3S has no '12f'"),
    "folder": (["--yes", "-o", "/nowhere/x"], "first-light: cannot write /nowhere/x.md"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line(case, monkeypatch, tmp_path):
    words, why = BAD[case]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", open(os.devnull))
    done = scenario.command([], ["first-light", *words])
    assert done["status"] == 2 and done["out"] == "" and done["err"].count("\n") == 1 and why in done["err"], done
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("wires_of, status, text", [(["rx"], 0, "rx follows tx"), (["0"], 1, "tx comes to in0, not to rx")])
def test_on_the_simulated_board(wires_of, status, text, tmp_path):
    """The steps without a board, on the core's RTL; the report says that it is simulated."""
    wire = [word for name in wires_of for word in ("--wire", name)]
    words = ["--sim", *wire, "first-light", "--edges", "300", "-o", str(tmp_path / "x")]
    done = subprocess.run([*COMMAND, *words], env=ENV, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == status and text in done.stdout and "SIMULATED" in done.stdout, done
    assert json.loads((tmp_path / "x.json").read_text())["board"]["simulated"] is True
    assert "**SIMULATED: no board.**" in (tmp_path / "x.md").read_text()


def test_markdown_of_others_means_nothing():
    assert report.cell("a | b\n<img src=x> `c` [d](e)") == r"a \| b \<img src=x\> \`c\` \[d\](e)"
