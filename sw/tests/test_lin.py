# SPDX-License-Identifier: BSD-2-Clause
"""LIN: the protocol against the standard's own tables, and master, monitor and faults on the simulated SoC, the pins recorded.

This file makes the other nodes as a stimulus, from the rules of the standard. sigrok's LIN decoder reads the pins independently.
"""

import contextlib
import json
import random
import re
import subprocess
from fractions import Fraction
from pathlib import Path

import pytest

import litepulse
from litepulse import lin, witness
from litepulse.cli import make_parser
from litepulse.commands import lin as commands
from litepulse.errors import BadInput
from litepulse.lin import frames
from litepulse.lin.faults import Injection
from litepulse.lin.protocol import header_limit, response_limit, space_limit
from litepulse.streams import RxByte

from . import scenario
from .test_sim import COMMAND, ENV, HZ, frame_edges, pins

LDF = Path(__file__).resolve().parents[1] / "examples" / "door.ldf"
BIT = Fraction(HZ, 19200)  # 2500 ticks
# Table of the standard: identifiers with their parity, from 0 to 63.
PIDS = bytes.fromhex(
    "80c14203c48506470849ca8b4c0d8ecf501192d31455d697d8991a5b9cdd5e1f2061e2a36425a6e7a8e96a2becad2e6ff0b13273b4f576377839bafb3c7dfebf"
)


def reference_checksum(data, pid=None):
    """By the remainder, not by folding: the sum modulo 255, where 255 stays 255 unless all is 0."""
    total = sum(data) + (pid or 0)
    return 255 - (total % 255 or (255 if total else 0))


def bus_frame(tick, pid, response=b"", spaces=(), break_bits=13, header=True):
    """[(tick, level)] of a frame on the bus, and where each byte of the response begins. spaces: before each, in ticks."""
    place, edges, starts = Fraction(tick), [], []
    if header:
        edges += [(tick, 0), (int(tick + break_bits * BIT), 1)]
        for byte in (0x55, pid):
            edges += frame_edges(int(place + (break_bits + 1) * BIT), byte, BIT)
            place += 10 * BIT
    place = tick + (break_bits + 21) * BIT
    for number, byte in enumerate(response):
        place += spaces[number] if number < len(spaces) else 0
        starts.append(int(place))
        edges += frame_edges(int(place), byte, BIT)
        place += 10 * BIT
    return edges, starts


def result_of(*words, status=0, **options):
    done = subprocess.run(
        [*COMMAND, *map(str, words), "--json"], env=ENV, capture_output=True, text=True, timeout=300, check=False, **options
    )
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout)


# The protocol ---------------------------------------------------------------------------------------------------------------


def test_identifiers():
    assert [lin.protected_id(n) for n in range(64)] == list(PIDS)
    assert [lin.frame_id_of(pid) for pid in range(256)] == [pid & 63 if PIDS[pid & 63] == pid else None for pid in range(256)]
    with pytest.raises(BadInput, match="0x40 is outside 0x00 to 0x3f"):
        lin.protected_id(64)


def test_checksums():
    assert lin.checksum(bytes.fromhex("4a5593e5")) == 0xE6  # the standard's own example
    rng = random.Random(1)
    for _ in range(2000):
        data = rng.randbytes(rng.randint(1, 8))
        pid = PIDS[rng.randrange(60)]
        assert lin.checksum(data) == reference_checksum(data)
        assert lin.checksum(data, pid) == reference_checksum(data, pid)
    for pid in (0x3C, 0x7D, 0xFE, 0xBF):  # diagnostic frames, and the two reserved identifiers
        assert lin.checksum(b"\1\2", pid) == lin.checksum(b"\1\2")


def test_limits():
    """1.4 times 34 bits and 10 (N + 1) bits; spaces of 4 (N + 1) bits."""
    assert header_limit() == Fraction(476, 10)
    assert [response_limit(n) for n in (1, 2, 8)] == [28, 42, 126] and [space_limit(n) for n in (1, 2, 4, 8)] == [8, 12, 20, 36]


# Frames from bytes ----------------------------------------------------------------------------------------------------------


def heard(scene, expected=None):
    """Frames of [(bit time, byte or 'break')], and of silence."""
    assembler, found, last = frames.Assembler(BIT, expected), [], 0
    for at, what in scene:
        tick = int(at * BIT)
        last = int((at + (13 if what == "break" else 10)) * BIT)
        found += assembler.feed(RxByte(tick, 0 if what == "break" else what, is_break=what == "break", framing_error=what == "break"), last)
    return found + assembler.advance(int(last + 1000 * BIT))


def scene(*values, at=0, spaces=()):
    """A frame of `values` behind a break, back to back but for `spaces` bits before each byte of the response."""
    found, place = [(at, "break")], at + 14
    for number, value in enumerate(values):
        place += spaces[number - 2] if 0 <= number - 2 < len(spaces) else 0
        found.append((place, value))
        place += 10
    return found


GOOD = (0x55, PIDS[16], 1, 2)
ERRORS = (
    *(frames.NO_HEADER, frames.NO_SYNC, frames.NO_ID, frames.BAD_SYNC, frames.BAD_PARITY),
    *(frames.NO_RESPONSE, frames.SHORT, frames.FRAMING, frames.BAD_CHECKSUM),
)
KNOWN = {16: lin.Expected(2, lin.ENHANCED, "Window")}


@pytest.mark.parametrize(
    "values, error, model",
    [
        ((*GOOD, reference_checksum(b"\1\2", PIDS[16])), None, lin.ENHANCED),
        ((*GOOD, reference_checksum(b"\1\2")), "wrong checksum", lin.CLASSIC),
        ((*GOOD, 0x77), "wrong checksum", None),
        (GOOD, "short", None),
        ((0x55, PIDS[16]), "no response", None),
        ((0x55, PIDS[16] ^ 0x40), "wrong parity", None),
        ((0x54, PIDS[16]), "wrong sync", None),
        ((0x55,), "no identifier", None),
        ((), "no sync", None),
    ],
)
def test_what_is_wrong(values, error, model):
    (frame,) = heard(scene(*values), KNOWN)
    assert (frame.error, frame.model) == (error, model) and frame.tick == 0
    if frame.frame_id == 16:
        assert frame.name == "Window"


def test_without_a_description():
    """A checksum of either kind is right; the end is the next break, or silence, or the ninth byte."""
    for over in (PIDS[5], None):
        (frame,) = heard(scene(0x55, PIDS[5], 9, reference_checksum(b"\x09", over)))
        assert frame.error is None and frame.data == b"\x09" and frame.model == (lin.ENHANCED if over else lin.CLASSIC)
    first, second = heard(scene(0x55, PIDS[5], 9, 0xF6) + scene(0x55, PIDS[6], at=60))
    assert (first.error, second.error, second.tick) == (None, "no response", 60 * BIT)
    whole, stray = heard(scene(0x55, PIDS[5], *range(8), reference_checksum(bytes(range(8)))) + [(150, 0x12)])
    assert whole.data == bytes(range(8)) and whole.error is None and stray.error == "no header" and stray.data == b"\x12"


def test_spaces_are_exact():
    spaces = (Fraction(3), Fraction(1), Fraction(8))
    (frame,) = heard(scene(*GOOD, reference_checksum(b"\1\2", PIDS[16]), spaces=spaces), KNOWN)
    assert frame.space == 3 * BIT and frame.spaces == frame.limit == 12 * BIT and not frame.slow
    (frame,) = heard(scene(*GOOD, reference_checksum(b"\1\2", PIDS[16]), spaces=(*spaces[:2], Fraction(801, 100))), KNOWN)
    assert frame.slow and frame.error is None
    statistics = lin.Spaces()
    statistics.add(frame)
    assert (statistics.slow, statistics.bins) == (1, {frames.BINS: 1})


def test_random_traffic():
    """Thousands of frames with any spaces, break and pause: each is found complete, whatever its
    neighbours are."""
    rng, at, wanted, traffic = random.Random(7), Fraction(0), [], []
    for _ in range(3000):
        frame_id, data = rng.randrange(60), rng.randbytes(rng.randint(1, 8))
        classic = rng.random() < 0.3
        values = [0x55, PIDS[frame_id], *data, reference_checksum(data, None if classic else PIDS[frame_id])]
        spaces = [Fraction(rng.randrange(0, 30), 10) for _ in data]
        traffic += scene(*values, at=at, spaces=spaces)
        wanted.append((int(at * BIT), frame_id, data))
        at += 14 + 10 * len(values) + sum(spaces) + Fraction(rng.randrange(1, 400), 10)
    got = heard(traffic)
    assert [(frame.tick, frame.frame_id, frame.data) for frame in got] == wanted and not any(frame.error for frame in got)


# Descriptions ---------------------------------------------------------------------------------------------------------------


def test_description():
    network = lin.Description(LDF)
    assert network.baud == 19200 and network.master == "Body" and network.slaves == ("Window", "Mirror")
    assert network.schedules() == ("Normal", "Resolve", "Outputs", "Events") and network.published_by("Mirror") == ("MirrorState",)
    known = network.expected()
    assert known[16] == lin.Expected(2, lin.ENHANCED, "WindowControl") and known[60] == lin.Expected(8, lin.CLASSIC, "MasterReq")
    # bit 0 up, bits 1 to 7 the speed; what no signal uses is recessive
    assert network.encode("WindowControl", {"WindowUp": "up", "WindowSpeed": 50}) == bytes([1 | 50 << 1, 0xFF])
    assert network.encode("WindowControl", {"WindowUp": 1, "WindowSpeed": 50}) == bytes([1 | 50 << 1, 0xFF])
    assert network.encode("WindowControl", {"WindowUp": 0, "WindowSpeed": 1}) == bytes([1 << 1, 0xFF])
    assert network.decode("WindowControl", bytes([1 | 50 << 1, 0xFF])) == {"WindowUp": "up", "WindowSpeed": 50.0}
    # the first byte of a frame that an event-triggered one may bring is its identifier
    assert network.encode("MirrorState", {"MirrorAngle": 0x1234}) == b"\x61\x34\x12\xfe"
    for name in ("MirrorState", "AnyState"):
        assert network.decode(name, b"\x61\x34\x12\xfe") == {"MirrorAngle": 0x1234, "MirrorError": 0}
    assert network.decode("AnyState", b"\x62\x34\x12\xfe") == {} and known[40] == lin.Expected(4, lin.ENHANCED, "AnyState")
    assert [slot.kind for slot in network.schedule("Normal")] == ["unconditional"] * 3 + ["sporadic"]
    assert network.schedule("Events")[0].resolving == "Resolve" and network.schedule("Normal")[2].seconds == Fraction(15, 1000)


@pytest.mark.parametrize(
    "text, message",
    [
        (None, "cannot read it (No such file"),
        ("Hello", "line 1: not a LIN description file"),
        ("", "not a LIN description file that can be used: it has no LIN_protocol_version"),
        ("LIN_description_file; Nodes {", "not a LIN description file: it ends too early"),
        ('LIN_description_file; LIN_protocol_version = "2.1";', "not a"),
    ],
)
def test_a_bad_description(tmp_path, text, message, capsys):
    from litepulse import cli

    file = tmp_path / "x.ldf"
    if text is not None:
        file.write_text(text)
    assert cli.main(["--sim", "lin", "monitor", "--ldf", str(file), "--count", "1"]) == 2
    errors = capsys.readouterr().err
    assert errors.startswith(f"litepulse: {file}: ") and message in errors and errors.count("\n") == 1


@pytest.mark.parametrize(
    "words, message",
    [
        (["master", LDF], "schedule: door.ldf has Normal, Resolve, Outputs, Events: give one with --schedule"),
        (["master", LDF, "--schedule", "Nothing"], "door.ldf has no schedule Nothing; there is Normal, Resolve, Outputs, Events"),
        (["master", LDF, "--schedule", "Normal", "--set", "Door=1"], "door.ldf has no signal Door"),
        (["master", LDF, "--schedule", "Normal", "--set", "MirrorAngle=1"], "signal MirrorAngle: Mirror publishes it, not the master"),
        (
            ["master", LDF, "--schedule", "Normal", "--set", "WindowUp=sideways"],
            "WindowUp: 'sideways' is not one of its values: down; up; raw:N",
        ),
        (["master", LDF, "--schedule", "Normal", "--set", "WindowUp"], "set: 'WindowUp' is not like SIGNAL=VALUE"),
        (
            ["master", LDF, "--schedule", "Normal", "--baud", "4800"],
            "schedule Normal: the frame WindowControl does not fit its slot of 10 ms",
        ),
        (["inject", "--id", "64"], "id: 0x40 is outside 0x00 to 0x3f"),
        (["inject", "--id", "1", "--data", "xy"], "data: 'xy' is not bytes in hexadecimal"),
        (["inject", "--id", "1", "--data", "00" * 9], "data: 9 bytes, a frame has 1 to 8"),
        (["inject", "--id", "1", "--flip-checksum", "1"], "checksum: a header without data has none"),
        (["inject", "--id", "1", "--stretch", "2.0=1"], "stretch: the frame has no bit 0 of byte 2"),
        (["inject", "--id", "1", "--stretch", "1.3=-1"], "stretch: a bit can lose less than its whole length"),
        (["inject", "--id", "1", "--stretch", "1.3"], "stretch: '1.3' is not like 2.3=+0.4"),
        (["inject", "--id", "1", "--stretch", "1.3=1", "--stretch", "1.3=2"], "stretch: bit 3 of byte 1 is given twice"),
        (["monitor"], "nothing drives the simulated bus"),
    ],
)
def test_what_makes_no_sense(words, message, capsys):
    from litepulse import cli

    assert cli.main(["--sim", "lin", *map(str, words)]) == 2
    errors = capsys.readouterr().err
    assert errors.startswith(f"litepulse: {message}") and errors.count("\n") == 1


# On the simulated SoC --------------------------------------------------------------------------------------------------------


def stimulus(path, *changes):
    """A file for --stimulus, and with --wire bus: what the other nodes do."""
    edges = sorted(edge for part in changes for edge in part)
    path.write_text("".join(f"{tick} rx {level}\n" for tick, level in edges))
    return path


@pytest.mark.seconds(30)
def test_master_and_slaves(tmp_path):
    """Every header of two rounds lies at its tick on the pin, the slaves' answers are heard with theirs; sigrok reads the same."""
    start, round_ticks = 3_000_000, 45 * 48_000
    answers, wanted = [], []
    slots = [(16, 0), (32, 480_000), (33, 960_000), (17, 1_680_000)]
    # Window answers both times, the mirror the second time, with spaces
    window = bytes([0x20, 0x55, 0xFE, 0xFF])
    mirror = bytes([0x61, 0x34, 0x12, 0xFF])
    answers.append(bus_frame(start + 480_000, 0x20, window + bytes([reference_checksum(window, 0x20)]), [1000], header=False))
    answers.append(bus_frame(start + round_ticks + 480_000, 0x20, window + bytes([reference_checksum(window, 0x20)]), header=False))
    answers.append(
        bus_frame(
            start + round_ticks + 960_000, 0x61, mirror + bytes([reference_checksum(mirror, 0x61)]), [2500, 100, 0, 900], header=False
        )
    )
    vcd = tmp_path / "bus.vcd"
    result = result_of(
        *("--sim", "--wire", "bus", "--stimulus", stimulus(tmp_path / "nodes", *(edges for edges, _ in answers)), "--vcd", vcd),
        *("lin", "master", LDF, "--schedule", "Normal", "--rounds", 2, "--start", f"{start}t", "--set", "WindowUp=up", "--set", "Light=7"),
        status=1,
    )
    assert result["start"] == start and result["lost"] == 0 and result["errors"] == {"no response": 1}

    sent = []
    control = bytes([1 | 20 << 1, 0xFF])
    for turn in range(2):
        for frame_id, at in slots:
            response = b""
            if frame_id == 16:
                response = control + bytes([reference_checksum(control, 0x50)])
            if frame_id == 17:  # sporadic: only once
                response = b"\x07" + bytes([reference_checksum(b"\x07", 0x11)])
                if turn:
                    continue
            sent += bus_frame(start + turn * round_ticks + at, PIDS[frame_id], response)[0]
            wanted.append((start + turn * round_ticks + at + 1, frame_id))
    seen = pins(vcd)
    assert [edge for edge in seen["tx"] if edge[0] >= start] == sent
    assert [(frame["tick"], frame["id"]) for frame in result["frames"]] == wanted and all(frame["own_header"] for frame in result["frames"])
    states = [frame for frame in result["frames"] if frame["id"] in (32, 33)]
    assert [(frame["data"], frame["error"], frame["own_response"]) for frame in states] == [
        ("2055feff", None, False),
        ("", "no response", False),
        ("2055feff", None, False),
        ("613412ff", None, False),
    ]
    assert [frame["spaces_ticks"] for frame in states] == ["1000", None, "0", "3500"]
    assert result["spaces"]["0x21"]["most_ticks"] == "3500" and sum(result["spaces"]["0x20"]["histogram"]) == 2

    assert witness.available(), "the independent witness is not installed: apt install sigrok-cli"
    decoder = ["-P", "uart:rx=rx:baudrate=19200,lin", "-A", "lin"]
    output = subprocess.run(["sigrok-cli", "-i", vcd, *decoder], capture_output=True, text=True, check=True).stdout
    assert output.count("Break condition") == 7 and output.count("Parity: ") == output.count("(ok)") == 7
    data = [line.split(": ", 1)[1] for line in output.splitlines() if "Data: " in line or "Checksum: " in line]
    assert (
        data[3:8] == ["Data: 0x20", "Data: 0x55", "Data: 0xFE", "Data: 0xFF", f"Checksum: 0x{reference_checksum(window, 0x20):02X}"]
        and len(data) == 3 + 5 + 2 + 3 + 5 + 5
    )


@pytest.mark.seconds(20)
def test_a_collision_is_resolved(tmp_path):
    """Two nodes answer one event-triggered frame: their data collide, and the resolving schedule follows, once."""
    start = 3_000_000
    one = bytes([0x20, 0x01, 0xFE, 0xFF])
    two = bytes([0x61, 0x80, 0x02, 0xFE])
    both = [bus_frame(start, 0xE8, data + bytes([reference_checksum(data, 0xE8)]), header=False)[0] for data in (one, two)]
    # wired-and of the two: each is low where either is
    levels, merged, state = {}, [], [1, 1]
    for node, edges in enumerate(both):
        for tick, level in edges:
            levels.setdefault(tick, []).append((node, level))
    last = 1
    for tick in sorted(levels):
        for node, level in levels[tick]:
            state[node] = level
        if (now := min(state)) != last:
            merged.append((tick, now))
            last = now
    result = result_of(
        *("--sim", "--wire", "bus", "--stimulus", stimulus(tmp_path / "nodes", merged)),
        *("lin", "master", LDF, "--schedule", "Events", "--rounds", 4, "--start", f"{start}t"),
        status=1,
    )
    ids = [frame["id"] for frame in result["frames"]]
    assert result["frames"][0]["error"] in frames_of_collision() and ids.count(40) == 4 and ids.count(16) == 4
    place = ids.index(32)
    assert place == 1, "the slot behind the collision"
    assert ids[place : place + 2] == [32, 33] and ids.count(32) == ids.count(33) == 1
    # slots of 20 and 10 ms, and 10 and 15 ms of the resolving schedule between two of them
    lengths = {40: 960_000, 16: 480_000, 32: 480_000, 33: 720_000}
    ticks = [frame["tick"] for frame in result["frames"]]
    assert [after - before for before, after in zip(ticks, ticks[1:])] == [lengths[number] for number in ids[:-1]]


def frames_of_collision():
    return ("wrong checksum", "framing error", "short")


@pytest.mark.seconds(40)
@pytest.mark.parametrize("name", scenario.INJECTIONS)
def test_faults_on_purpose(name, tmp_path):
    """What is sent and what is heard is as requested, to the tick. sim/driver does the same on the
    kernel's driver."""
    vcd = tmp_path / "out.vcd"
    result = result_of("--sim", "--vcd", vcd, *scenario.inject(name), "--at", "2000000t")
    assert result["tick"] == 2_000_000
    scenario.check_injection(name, result, [edge for edge in pins(vcd)["tx"] if edge[0] >= 2_000_000], BIT)


@contextlib.contextmanager
def board_on_a_bus(vcd, *options):
    """The address of a simulated board that outlives a command, on a bus; then its pins are in `vcd`."""
    from litex_soc import sim_soc

    words = [sim_soc.build(), "--tcp", "0", "--exit-with-parent", "--lockstep", "20000", "--bus", "--vcd", vcd, *options]
    with subprocess.Popen([str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin and process.stdout
        try:
            yield f"tcp:127.0.0.1:{json.loads(process.stdout.readline())['tcp']}"
        finally:
            process.stdin.close()
            process.wait(timeout=20)


@pytest.mark.seconds(15)
def test_faults_on_purpose_over_a_port(tmp_path):
    """One after the other on one board: the same, and nothing else on the pin."""
    vcd = tmp_path / "bus.vcd"
    with board_on_a_bus(vcd) as spec:
        results = {name: result_of("--port", spec, *scenario.inject(name)) for name in scenario.INJECTIONS}
    scenario.check_injections(results, pins(vcd)["tx"][1:], BIT)


def slots_of(schedule):
    """[(name of the slot, identifier, slot in ms)] of a schedule, read here on our own from the text of the description."""
    text = LDF.read_text()
    identifiers = {name: int(number) for name, number in re.findall(r"(?m)^  (\w+): (\d+), \w+, \d+ \{", text)}
    identifiers |= {slot: identifiers[frame] for slot, frame in re.findall(r"Sporadic_frames \{\s*(\w+): (\w+);", text)}
    table = re.search(rf"(?ms)^Schedule_tables \{{.*?^  {schedule} \{{(.*?)^  \}}", text)
    assert table
    return [(name, identifiers[name], int(ms)) for name, ms in re.findall(r"(\w+) delay (\d+) ms;", table[1])]


@pytest.mark.seconds(15)
@pytest.mark.parametrize("schedule", ["Normal", "Outputs"])
def test_a_schedule_over_a_port(schedule, tmp_path):
    """Each break begins at the tick of its slot, in both rounds; the sporadic frame is sent once; no other edge is on the pin."""
    vcd, data = tmp_path / "bus.vcd", {16: b"\x29\xff", 17: b"\x07"}
    with board_on_a_bus(vcd) as spec:
        result = result_of(
            *("--port", spec, "lin", "master", LDF, "--schedule", schedule, "--rounds", 2, "--set", "WindowUp=1", "--set", "Light=7"),
            status=int(schedule == "Normal"),  # no node answers the headers of slaves
        )
    tick, edges, frames = result["start"], [], []
    for turn in range(2):
        for name, number, ms in slots_of(schedule):
            if name != "LightSlot" or not turn:
                response = data.get(number, b"")
                response += bytes([reference_checksum(response, PIDS[number])]) if response else b""
                edges += bus_frame(tick, PIDS[number], response)[0]
                frames.append((tick + 1, number, response[:-1].hex()))
            tick += ms * HZ // 1000
    assert pins(vcd)["tx"][1:] == edges
    assert [(frame["tick"], frame["id"], frame["data"]) for frame in result["frames"]] == frames
    assert all(frame["own_header"] for frame in result["frames"]) and result["lost"] == 0


@pytest.mark.seconds(10)
def test_a_short_break_is_a_byte():
    """A break of nine bits is too short: a receiver takes it for the byte 0x00 without an error, and hears no header."""
    result = result_of("--sim", "lin", "inject", "--id", 16, "--break", 9)
    assert [frame["error"] for frame in result["frames"]] == ["no header"] * 3
    assert [(record["byte"], record["break"]) for record in result["records"]] == [(0, False), (0x55, False), (PIDS[16], False)]


@pytest.mark.seconds(15)
def test_monitor(tmp_path):
    """Frames of another master, with and without a description: spaces, names, and a header that no node answers."""
    good = bytes([0x20, 0x55, 0xFE, 0xFF])
    one, starts = bus_frame(1_000_000, 0x20, good + bytes([reference_checksum(good, 0x20)]), [50_000, 500])
    two, _ = bus_frame(1_600_000, 0x61)
    file = stimulus(tmp_path / "bus", one, two)
    words = ["--sim", "--wire", "none", "--stimulus", file, "lin", "monitor", "--count", 2]
    plain, named = result_of(*words, status=1), result_of(*words, "--ldf", LDF, status=1)
    for result, name in ((plain, None), (named, "WindowState")):
        first, second = result["frames"]
        # a pin that changes at a tick is first sampled one later
        assert (first["tick"], first["id"], first["data"], first["name"]) == (1_000_001, 32, "2055feff", name)
        assert first["spaces_ticks"] == "50500"
        assert first["slow"] and first["limit_ticks"] == "50000" and not first["own_header"] and first["error"] is None
        assert (second["tick"], second["error"]) == (1_600_001, "no response")
    assert plain["spaces"]["0x20"]["histogram"][-1] == 1 and plain["spaces"]["0x20"]["slow"] == 1


@pytest.mark.seconds(15)
def test_from_python():
    """The package: a master whose signals change while it runs, and that ends on request."""
    network = lin.Description(LDF)
    with litepulse.open(sim=True) as board:
        with lin.master(board, network, "Normal", values={"WindowSpeed": 10}) as master:
            speeds = []
            for frame in master:
                if frame.name == "WindowControl":
                    speeds.append(network.decode(frame.name, frame.data)["WindowSpeed"])
                    master.set(WindowSpeed=70)
                if len(speeds) == 4:
                    break
        assert speeds[0] == 10 and speeds[-1] == 70 and speeds == sorted(speeds) and master.lost == 0
        assert board.status().queue_idle and not board.status().line_busy
        heard = lin.inject(board, Injection(5, b"\x01"), at=litepulse.ms(20))
        assert [one.error for one in heard.frames] == [None] and heard.frames[0].tick == heard.tick + 1
        monitor = lin.monitor(board, network, duration="2ms")
        assert list(monitor) == [] and monitor.lost == 0
        with pytest.raises(litepulse.BadInput, match="7 bytes are not 8"):
            with lin.master(board, network, "Normal", rounds=1) as master:
                master.request(bytes(7))


def check_example(line):
    """The command accepts it, and the description has the names in it."""
    network, args = lin.Description(LDF), make_parser().parse_args(line.split())
    assert args.lin_verb in line.split()
    assert getattr(args, "schedule", None) in (None, *network.schedules()) and getattr(args, "node", None) in (None, *network.slaves)
    for signal, value in getattr(args, "set", ()):
        assert [network.encode(name, {signal: value}) for name in network.frames_with(signal)]


def test_the_examples_of_the_help():
    lines = re.findall(r"(?m)^ +litepulse (.*)$", "\n".join(verb.EXAMPLES for verb in commands.INNER))
    assert len(lines) >= 10
    for line in lines:
        check_example(line.partition(" > ")[0])


# The page -------------------------------------------------------------------------------------------------------------------


def test_the_page(tmp_path, monkeypatch, capsys):
    """docs/lin.md: its example runs, and every command line in it is one that the command takes."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "lin.md").read_text()
    codes = re.findall(r"(?ms)^```python\n(.*?)^```", page)
    (tmp_path / "door.ldf").write_text(LDF.read_text())
    monkeypatch.chdir(tmp_path)
    assert len(codes) == 2 and "lin.slave(" in codes[1]
    exec(compile("\n".join(codes), "docs/lin.md", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert (
        lines[:4] == ["WindowControl 28ff None", "WindowState  no response", "MirrorState  no response", "LightControl 07 None"]
        and len(lines) == 7
    )
    lines = re.findall(r"(?m)^ +litepulse ((?:--sim )?lin (?:monitor|master|slave|request|inject|header) [^\[#\n]*?)(?: *#.*)?$", page)
    assert len(lines) >= 4
    for line in lines:
        check_example(line.partition(" > ")[0])
    for error in ERRORS:
        assert f"`{error}`" in page
