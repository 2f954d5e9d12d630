# SPDX-License-Identifier: BSD-2-Clause
"""LIN description files with one feature each (sw/tests/ldf): played as master, slave and monitor, and judged on the pins.

What each file means stands here, worked out by hand from the standard. lin_pins.py reads the pins and shares no code with the package.
"""

import contextlib
import json
import random
import re
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest

from litepulse import cli, lin
from litepulse.errors import BadInput
from litepulse.lin.ldf import is_lin_1

from .lin_pins import frames_of, header_edges, pid_of, response_edges, response_of, stimulus
from .test_sim import HZ, pins

FOLDER = Path(__file__).parent / "ldf"
START = 600_000
C, E = "classic", "enhanced"


@dataclass(frozen=True)
class Wanted:
    """A frame: name, identifier, publisher, data with all signals at their initial value, kind of checksum."""

    name: str
    frame_id: int
    publisher: str
    data: bytes
    model: str

    @property
    def response(self):
        return response_of(self.data, self.frame_id, self.model)


@dataclass(frozen=True)
class Network:
    """A file: its bit rate, its master, its frames, and its schedule Run as (frame, ms)."""

    baud: int
    master: str
    frames: tuple[Wanted, ...]
    slots: tuple[tuple[str, int], ...]

    @property
    def bit(self):
        return Fraction(HZ, self.baud)

    def frame(self, name):
        return next(frame for frame in self.frames if frame.name == name)


def network(baud, master, frames, slots):
    return Network(
        baud, master, tuple(Wanted(name, number, node, bytes.fromhex(data), kind) for name, number, node, data, kind in frames), slots
    )


NETWORKS = {
    # Classic, all of them. Orders has no length: identifiers 0 to 31 have two bytes. What no signal uses is recessive.
    "lin13": network(
        19200,
        "Roof",
        [("Orders", 0x04, "Roof", "64f5", C), ("LampIs", 0x20, "Lamp", "f0efbeff", C), ("BlindIs", 0x05, "Blind", "81ff", C)],
        (("Orders", 5), ("LampIs", 6), ("BlindIs", 5)),
    ),
    # J2602 is built on LIN 2.0: enhanced. The status 2 lies in bits 5 to 7.
    "j2602": network(
        10417, "Gate", [("ToSeat", 0x01, "Gate", "fcff", E), ("FromSeat", 0x02, "Seat", "5f3e", E)], (("ToSeat", 10), ("FromSeat", 10))
    ),
    # 0x9AB << 2, the other four bits recessive
    "iso17987": network(
        19200, "Gate", [("ToPump", 0x0A, "Gate", "afe6", E), ("FromPump", 0x0B, "Pump", "3412fe", E)], (("ToPump", 5), ("FromPump", 5))
    ),
    # 0xA5 << 3; frames to and from Old are classic
    "mixed": network(
        19200,
        "Boss",
        [
            ("ToNew", 0x05, "Boss", "5a", E),
            ("ToOld", 0x06, "Boss", "2ffd", C),
            ("ToBoth", 0x07, "Boss", "3c", C),
            ("NewIs", 0x08, "New", "11", E),
            ("OldIs", 0x09, "Old", "efbe", C),
        ],
        (("ToNew", 5), ("ToOld", 5), ("ToBoth", 5), ("NewIs", 5), ("OldIs", 5)),
    ),
    # 0x155 << 3; identifiers 0x00 to 0x1f have two bytes, 0x20 to 0x2f four; FanError is bit 31
    "lin20": network(
        9600, "Gate", [("ToFan", 0x1F, "Gate", "afea", E), ("FromFan", 0x2F, "Fan", "80ffff7f", E)], (("ToFan", 10), ("FromFan", 12))
    ),
    # 01 02 03 04 from bit 12 on; 1 << 9, "ABC", bit 47
    "lin21": network(
        19200,
        "Gate",
        [("ToHeater", 0x10, "Gate", "691f203040f0ffff", E), ("FromHeater", 0x21, "Heater", "41f34142437f", E)],
        (("ToHeater", 8), ("FromHeater", 7)),
    ),
    # 0xABC << 4
    "lin22": network(
        19200, "Gate", [("ToRain", 0x3A, "Gate", "0f", E), ("FromRain", 0x3B, "Rain", "cfab", E)], (("ToRain", 5), ("FromRain", 5))
    ),
    # 9 << 2 in the first byte, then 12 34; the bytes of an array keep their order
    "bigendian": network(
        19200, "Gate", [("ToPump", 0x10, "Gate", "e71234", E), ("FromPump", 0x11, "Pump", "beefcafe", E)], (("ToPump", 5), ("FromPump", 6))
    ),
    "noslaves": network(
        19200, "Gate", [("Alive", 0x01, "Gate", "77", E), ("Nothing", 0x02, "Gate", "ffff", E)], (("Alive", 5), ("Nothing", 5))
    ),
    "noattributes": network(
        19200, "Gate", [("ToMute", 0x03, "Gate", "66", E), ("FromMute", 0x04, "Mute", "ffff", E)], (("ToMute", 5), ("FromMute", 5))
    ),
    "errorsignal": network(
        19200, "Gate", [("FromPanel", 0x12, "Panel", "21", E), ("FromDial", 0x13, "Dial", "f7", E)], (("FromPanel", 5), ("FromDial", 5))
    ),
    # The first byte is the identifier with its parity, for AnyKey may bring both.
    "event": network(
        19200, "Gate", [("FromLeft", 0x14, "Left", "1401", E), ("FromRight", 0x15, "Right", "5502", E)], (("FromLeft", 5), ("FromRight", 5))
    ),
    "sporadic": network(
        19200,
        "Gate",
        [("ToRed", 0x24, "Gate", "10", E), ("ToGreen", 0x25, "Gate", "20", E), ("ToBlue", 0x26, "Gate", "30", E)],
        (("ToRed", 5), ("ToGreen", 5), ("ToBlue", 5)),
    ),
    "diagnostics": network(
        19200, "Gate", [("ToMotor", 0x08, "Gate", "12", E), ("FromMotor", 0x09, "Motor", "34", E)], (("ToMotor", 5), ("FromMotor", 5))
    ),
    "texts": network(
        19200, "Gate", [("ToOven", 0x18, "Gate", "50", E), ("FromOven", 0x19, "Oven", "02", E)], (("ToOven", 5), ("FromOven", 5))
    ),
}
SLAVES = [(name, node) for name, one in NETWORKS.items() for node in dict.fromkeys(f.publisher for f in one.frames) if node != one.master]


def file_of(name):
    return FOLDER / f"{name}.ldf"


def played(capsys, *words, status=0):
    """The result of a command, and what it wrote to its error output."""
    assert cli.main([*map(str, words), "--json"]) == status
    out, errors = capsys.readouterr()
    return json.loads(out), errors


def test_every_file_is_played():
    assert {file.stem for file in FOLDER.glob("*.ldf")} == set(NETWORKS)


@pytest.mark.parametrize("name", NETWORKS)
def test_lengths_and_checksums(name):
    """What the description says of each identifier."""
    known = lin.Description(file_of(name)).expected()
    for frame in NETWORKS[name].frames:
        assert known[frame.frame_id] == lin.Expected(len(frame.data), frame.model, frame.name)
    assert [known[number] for number in (0x3C, 0x3D)] == [lin.Expected(8, C, "MasterReq"), lin.Expected(8, C, "SlaveResp")]


@pytest.mark.seconds(15)
@pytest.mark.parametrize("name", NETWORKS)
def test_master(name, tmp_path, capsys):
    """Each header at its tick and each of the master's responses, on the pin; the slaves' responses are heard without an error."""
    one, tick, answers, at = NETWORKS[name], Fraction(START), [], []
    for slot, ms in one.slots:
        frame = one.frame(slot)
        at.append(int(tick))
        if frame.publisher != one.master:
            answers.append(response_edges(int(tick), frame.response, one.bit, space=1))
        tick += Fraction(ms * HZ, 1000)
    nodes, vcd = stimulus(tmp_path / "nodes", *answers), tmp_path / "bus.vcd"
    result, _ = played(
        capsys,
        *("--sim", "--wire", "bus", "--stimulus", nodes, "--vcd", vcd),
        *("lin", "master", file_of(name), "--schedule", "Run", "--rounds", 1, "--start", f"{START}t"),
    )
    frames = [one.frame(slot) for slot, _ in one.slots]
    heard = frames_of(pins(vcd)["tx"], one.bit)
    assert [frame.tick for frame in heard] == at
    assert [frame.bytes for frame in heard] == [
        bytes([0x55, pid_of(frame.frame_id)]) + (frame.response if frame.publisher == one.master else b"") for frame in frames
    ]
    assert [frame.response for frame in frames_of(pins(vcd)["rx"], one.bit)] == [frame.response for frame in frames]
    assert [(frame["name"], frame["data"], frame["model"], frame["error"]) for frame in result["frames"]] == [
        (frame.name, frame.data.hex(), frame.model, None) for frame in frames
    ]


@pytest.mark.seconds(15)
def test_the_last_slot_may_be_short(capsys):
    """It is over before the longest response would be; a missing one is still reported."""
    result, _ = played(capsys, "--sim", "lin", "master", file_of("lin22"), "--schedule", "Run", "--rounds", 2, status=1)
    names = [(frame["name"], frame["error"]) for frame in result["frames"]]
    assert names == [("ToRain", None), ("FromRain", "no response")] * 2 and result["errors"] == {"no response": 2}


@pytest.mark.parametrize(
    "words, message",
    [
        (["slave", "--node", "Rai"], "lin22.ldf has no slave Rai; there is Rain"),
        (["request", "--node", "Rai", "--data", "b2"], "lin22.ldf has no slave Rai; there is Rain"),
        (["master", "--schedule", "Rn"], "lin22.ldf has no schedule Rn; there is Run"),
        (["request", "--node", "Rain", "--data", "b2", "--schedule", "Rn"], "lin22.ldf has no schedule Rn; there is Run"),
        (["request", "--nad", "1", "--data", ""], "message: 0 bytes, it has 1 to 4095"),
        (["master", "--set", "Nothing=1"], "lin22.ldf has no signal Nothing"),
    ],
)
def test_names_are_looked_up_before_a_board(words, message, capsys):
    """Names that the description does not have, or that do not fit, are reported as such, also
    without a board."""
    verb, *options = words
    assert cli.main(["--port", "/nonexistent/port", "lin", verb, str(file_of("lin22")), *options]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == f"litepulse: {message}"


@pytest.mark.seconds(15)
@pytest.mark.parametrize("name, node", SLAVES)
def test_slave(name, node, tmp_path, capsys):
    """Each header of the network once: the node answers its own, and no other."""
    one, step = NETWORKS[name], 140 * NETWORKS[name].bit
    at = [int(START + n * step) for n in range(len(one.frames))]
    nodes = [header_edges(tick, frame.frame_id, one.bit) for tick, frame in zip(at, one.frames)]
    nodes += [response_edges(tick, frame.response, one.bit) for tick, frame in zip(at, one.frames) if frame.publisher != node]
    file, vcd = stimulus(tmp_path / "nodes", *nodes), tmp_path / "bus.vcd"
    result, _ = played(
        capsys, "--sim", "--stimulus", file, "--vcd", vcd, "lin", "slave", file_of(name), "--node", node, "--count", len(one.frames)
    )
    assert [frame.response for frame in frames_of(pins(vcd)["rx"], one.bit)] == [frame.response for frame in one.frames]
    own = [frame.publisher == node for frame in one.frames]
    assert [frame["own_response"] for frame in result["frames"]] == own and (result["answered"], result["missed"]) == (sum(own), 0)
    assert not any(frame["error"] for frame in result["frames"])


@pytest.mark.seconds(15)
@pytest.mark.parametrize("name", NETWORKS)
def test_monitor(name, tmp_path, capsys):
    """Frames with the right kind of checksum have no error, those with the other kind are wrong."""
    one, step = NETWORKS[name], 140 * NETWORKS[name].bit
    scene = [(frame, kind) for kind in (C, E) for frame in one.frames]
    nodes = []
    for number, (frame, kind) in enumerate(scene):
        tick = int(START + number * step)
        nodes.append(header_edges(tick, frame.frame_id, one.bit))
        nodes.append(response_edges(tick, response_of(frame.data, frame.frame_id, kind), one.bit, space=Fraction(1, 2)))
    file = stimulus(tmp_path / "nodes", *nodes)
    words = ("--sim", "--wire", "none", "--stimulus", file, "lin", "monitor", "--ldf", file_of(name), "--count", len(scene))
    result, _ = played(capsys, *words, status=1)
    assert [(frame["name"], frame["data"], frame["model"]) for frame in result["frames"]] == [
        (frame.name, frame.data.hex(), kind) for frame, kind in scene
    ]
    assert [frame["error"] for frame in result["frames"]] == [None if frame.model == kind else "wrong checksum" for frame, kind in scene]


def test_a_version_that_is_not_known():
    """It has no checksum by default."""

    class LaterVersion:
        major = 1

    for version in (LaterVersion(), None, "1.3", 1, 1.3):
        with pytest.raises(BadInput, match="is a LIN version whose kind of checksum is not known"):
            is_lin_1(version)


# Other schedules -------------------------------------------------------------------------------------------------------------


def master_frames(tmp_path, capsys, file, schedule, *words, rounds=1, status=0, nodes=(), ms=0):
    """What the master sends in a schedule, as the pin has it."""
    vcd = tmp_path / "bus.vcd"
    played(
        capsys,
        *("--sim", "--wire", "bus", "--stimulus", stimulus(tmp_path / "nodes", *nodes), "--vcd", vcd, "lin", "master", file),
        *("--schedule", schedule, "--rounds", rounds, "--start", f"{START}t", *words),
        status=status,
    )
    return frames_of(pins(vcd)["tx"], Fraction(HZ, 19200))


@pytest.mark.seconds(10)
def test_sporadic_frames(tmp_path, capsys):
    """Of those that were updated the first one; none if none was."""
    heard = master_frames(tmp_path, capsys, file_of("sporadic"), "Changes", "--set", "Green=7", "--set", "Red=8", rounds=3)
    assert [frame.bytes[1:] for frame in heard] == [
        *(bytes([pid_of(0x24)]) + response_of(b"\x08", 0x24, E), bytes([pid_of(0x26)]) + response_of(b"\x30", 0x26, E)),
        *(bytes([pid_of(0x25)]) + response_of(b"\x07", 0x25, E), bytes([pid_of(0x26)]) + response_of(b"\x30", 0x26, E)),
        bytes([pid_of(0x26)]) + response_of(b"\x30", 0x26, E),
    ]
    assert [frame.tick - START for frame in heard] == [slot * HZ // 200 for slot in (0, 1, 2, 3, 5)]


@pytest.mark.seconds(15)
@pytest.mark.parametrize(
    "name, baud, ms, wanted",
    [
        (
            "diagnostics",
            19200,
            10,
            [
                "0b06b01e0002010a",  # AssignNAD: initial NAD, supplier, function, the NAD to come
                "0a06b3010355aa0d",  # ConditionalChangeNAD
                "0a06b41122334455",  # DataDump
                "0a01b6ffffffffff",  # SaveConfiguration
                "0a06b7000849ffff",  # AssignFrameIdRange: identifiers 0x08 and 0x09 of the file, with their parity
                "0a06b7014900ffff",  # as it stands there
                "7f013effffffffff",  # FreeFormat
            ],
        ),
        (
            "lin20",
            9600,
            20,
            [
                "2006b04f4a414820",  # AssignNAD
                "2006b14f4a02106f",  # AssignFrameId: supplier, message identifier 0x1002, 0x2f with its parity
                "2006b14f4a011040",  # UnassignFrameId
            ],
        ),
    ],
)
def test_configuration_tables(name, baud, ms, wanted, tmp_path, capsys):
    """Each entry is a request with the classic checksum, at the tick of its slot."""
    vcd = tmp_path / "bus.vcd"
    words = ("--sim", "--vcd", vcd, "lin", "master", file_of(name), "--schedule", "Setup", "--rounds", 1, "--start", f"{START}t")
    result, _ = played(capsys, *words)
    heard = frames_of(pins(vcd)["tx"], Fraction(HZ, baud))
    assert [frame.tick for frame in heard] == [START + n * ms * HZ // 1000 for n in range(len(wanted))]
    assert [frame.bytes for frame in heard] == [bytes([0x55, pid_of(0x3C)]) + response_of(bytes.fromhex(data), 0x3C, C) for data in wanted]
    assert [(frame["name"], frame["data"], frame["error"]) for frame in result["frames"]] == [("MasterReq", data, None) for data in wanted]


def test_a_configuration_that_is_not_described():
    with pytest.raises(BadInput, match="line 105: Plain has no product_id in its Node_attributes"):
        lin.Description(file_of("diagnostics")).schedule("NoProduct")


# Texts -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data, given",
    [
        (lambda text: text.encode("utf-8"), None),
        (lambda text: text.encode("utf-8-sig"), None),
        (lambda text: text.encode("utf-16"), None),
        (lambda text: b"\xfe\xff" + text.encode("utf-16-be"), None),
        (lambda text: text.encode("cp1252"), None),
        (lambda text: text.replace("\n", "\r\n").encode("cp1252"), None),
        (lambda text: text.encode("utf-16-le"), "utf-16-le"),
        (lambda text: text.encode("cp850"), "cp850"),
        (lambda text: text.encode("utf-8-sig"), "utf-8"),
    ],
)
def test_encodings(data, given, tmp_path):
    """The same network, the same texts, whatever the file's encoding."""
    file = tmp_path / "x.ldf"
    file.write_bytes(data(file_of("texts").read_text("utf-8")))
    network = lin.Description(file, given)
    assert network.encode("ToOven", {"Heat": "100°C"}) == b"\x32" and network.encode("FromOven", {"Warm": "geöffnet"}) == b"\x01"
    assert network.decode("FromOven", b"\x02") == {"Warm": "geschlossen für immer"}


@pytest.mark.parametrize("comment", ["Geprüft: Müller".encode("cp1252"), "门控制器".encode("gbk"), bytes(range(0x80, 0x100))])
def test_comments_in_any_encoding(comment, tmp_path):
    file = tmp_path / "x.ldf"
    file.write_bytes(b"/* " + comment + b" */ // " + comment + b"\n" + file_of("lin13").read_bytes())
    assert lin.Description(file).published_by("Lamp") == ("LampIs",)


def sections(text):
    """A file's sections and single lines, without the comments before them."""
    return [match[0] for match in re.finditer(r"(?ms)^\w[^\n]*;$|^\w[^\n]*\{$.*?^\}$", text)]


def meaning(network):
    """What master, slave and monitor take from a description."""
    frames = [frame for node in (network.master, *network.slaves) for frame in network.published_by(node)]
    return (
        network.baud,
        network.expected(),
        {frame: (network.encode(frame, {}), network.decode(frame, network.encode(frame, {}))) for frame in frames},
        {name: network.schedule(name) for name in network.schedules()},
        {node: (network.response_error(node), network.network.slaves[node]) for node in network.slaves},
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("  ", "\t").replace("\n", "\r\n"),
        lambda text: text.replace(";\n", "; // the last\r").replace("\n", "\r"),
        lambda text: text + "\r\n\x1a",
        lambda text: text.replace(" ", "\xa0").replace("SPDX", "\v"),
        lambda text: re.sub(r"([{};:,=])(?=[^\"\n]*\n)", r'/*/ ; } "*/\1/**///", " }\n', "\n".join(sections(text))),
        lambda text: "\n".join(reversed(sections(text))),
        lambda text: re.sub(r"\s*([{};:,=])\s*", r"\1", text.split("*/")[-1]),
        lambda text: re.sub(r"0x(\w+)", lambda match: f"0X{match[1].lower()}", text),
        lambda text: re.sub(r"(?<![.\d])(\d+) ms", r"+\1. ms", text).replace("0.1 ms", ".1 ms").replace("19.2 kbps", "1.92E+1kbps"),
        lambda text: text.replace("0, 253, 0.5, -40,", "0x00, 253.0, 5e-1, -40.,").replace("2, 7, 10, 100", "+2, 0x7, +10, 1.e2"),
        lambda text: text.replace("Signals {", "composite {\n configuration All { Both { Heater, Idle }; }\n}\nSignals {"),
        lambda text: text.replace(
            "Frames {", "composite { }\nSignal_groups { }\nDiagnostic_addresses { }\nDiagnostic_frames { }\nFrames {"
        ),
    ],
)
def test_as_other_programs_write_it(change, tmp_path):
    """The same network with other line ends, comments, orders and numbers."""
    file, text = tmp_path / "x.ldf", file_of("lin21").read_text("utf-8")
    changed = change(text)
    assert changed != text
    file.write_bytes(changed.encode("utf-8"))
    assert meaning(lin.Description(file)) == meaning(lin.Description(file_of("lin21")))


@pytest.mark.parametrize(
    "version, kind",
    [
        *(("1.2", C), ("2.2", E), ("ISO17987:2015", E), ("ISO 17987:2016", E), ("ISO17987-2:2016", E)),
        *(("J2602_1_1.0", E), ("J2602_1_0", E), ("J2602_1.0", E), ("J2602", E), ("J2602:2012", E)),
    ],
)
def test_versions(version, kind, tmp_path):
    """However a standard is written, its checksum is known."""
    file = tmp_path / "x.ldf"
    file.write_text(file_of("lin22").read_text("utf-8").replace('"2.2"', f'"{version}"'))
    assert {one.checksum for number, one in lin.Description(file).expected().items() if number < 60} == {kind}


@pytest.mark.parametrize(
    "data, words, message",
    [
        ("ü".encode("cp1252"), ["--encoding", "utf-8"], "{file}: encoding: 'utf-8' is not its encoding"),
        (b"LIN", ["--encoding", "klingon"], "{file}: encoding: 'klingon' is not an encoding"),
        (b"LIN", ["--encoding", "hex"], "{file}: encoding: 'hex' is not an encoding"),
        ("LIN".encode("utf-16-le"), [], "{file}: it is not text of one byte a character: give its encoding, e.g. utf-16-le"),
    ],
)
def test_encodings_that_do_not_fit(data, words, message, tmp_path, capsys):
    file = tmp_path / "x.ldf"
    file.write_bytes(data)
    assert cli.main(["--sim", "lin", "monitor", "--ldf", str(file), *words, "--count", "1"]) == 2
    assert capsys.readouterr().err == f"litepulse: {message.format(file=file)}\n"


def test_an_encoding_without_a_description(capsys):
    assert cli.main(["--sim", "lin", "monitor", "--encoding", "utf-8", "--count", "1"]) == 2
    assert capsys.readouterr().err.startswith("litepulse: encoding: there is no description whose text it could be")


@pytest.mark.seconds(10)
def test_texts_cannot_command_the_terminal(tmp_path, capsys):
    """A description's name of a value is shown without escape sequences."""
    evil, file = "\x1b]0;title\x07\x1b[2J\u202e", tmp_path / "x.ldf"
    file.write_text(file_of("texts").read_text("utf-8").replace("geschlossen für immer", evil), "utf-8")
    frame = NETWORKS["texts"].frame("FromOven")
    bit = Fraction(HZ, 19200)
    nodes = stimulus(tmp_path / "nodes", header_edges(START, frame.frame_id, bit), response_edges(START, frame.response, bit))
    words = ["--sim", "--wire", "none", "--stimulus", nodes, "lin", "monitor", "--ldf", file, "--count", 1]
    assert cli.main([str(word) for word in words]) == 0
    out = capsys.readouterr().out
    assert "Warm=?]0;title??[2J?" in out and "\x1b" not in out and "\u202e" not in out
    assert cli.main(["--sim", "lin", "master", str(file), "--schedule", "Run", "--set", "Heat=hot\x1b[2J"]) == 2
    errors = capsys.readouterr().err
    assert "\x1b" not in errors and errors.count("\n") == 1


# What is read and not used, and what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, node, notes",
    [
        ("lin22", "Rain", ["not used: composite, Signal_groups"]),
        ("j2602", "Seat", ["line 35: Seat: its response_error SeatStatus has 3 bits: nothing sets it"]),
        ("errorsignal", "Panel", ["line 32: Panel: its response_error DialError is published by Dial: nothing sets it"]),
        ("errorsignal", "Dial", []),
        ("noattributes", "Mute", ["no Node_attributes of Mute: taken for 2.1, without response_error"]),
        ("mixed", "Old", []),
    ],
)
def test_unused_parts_are_reported(name, node, notes, capsys):
    """One line each, and the node is still played."""
    assert cli.main(["--sim", "lin", "slave", str(file_of(name)), "--node", node, "--for", "1ms", "--json"]) == 1
    assert capsys.readouterr().err == "".join(f"litepulse: {name}.ldf: {note}\n" for note in notes)


def test_a_receiver_that_does_not_know_the_checksum(tmp_path):
    file = tmp_path / "x.ldf"
    file.write_text(file_of("mixed").read_text().replace("FromNew: 8, 0x11, New, Boss;", "FromNew: 8, 0x11, New, Boss, Old;"))
    assert lin.Description(file).notes == ("NewIs: New publishes it with the enhanced checksum, which Old of LIN 1.3 does not know",)


@pytest.mark.parametrize(
    "name, old, new, note",
    [
        ("mixed", "ForNew, 0;", "FromNew, 0;", "line {line}: ToNew: Boss publishes the frame, New its signal FromNew"),
        (
            "diagnostics",
            "Node_attributes {",
            "Sporadic_frames { Now: FromMotor; } Node_attributes {",
            "line {line}: Now: FromMotor is published by Motor, so it is never sent in this slot",
        ),
        (
            "lin21",
            "Steps: State;",
            "Steps: State; Celsius: State;",
            "line {line}: State has the encoding Steps already: Celsius is not used",
        ),
        ("lin21", "Steps: State;", "Steps: State; Steps: State;", None),
        (
            "event",
            "FromRight: 0x15, Right, 2",
            "FromRight: 0x15, Right, 3",
            "line {event}: AnyKey: its frames have different lengths, so any length is right",
        ),
    ],
)
def test_contradictions_are_reported(name, old, new, note, tmp_path):
    """The file is played, and one line names the contradiction."""
    file, text = tmp_path / "x.ldf", file_of(name).read_text("utf-8")
    assert text.count(old) == 1

    def line_of(part):
        return text.partition(part)[0].count("\n") + 1

    file.write_text(text.replace(old, new), "utf-8")
    notes = [one for one in lin.Description(file).notes if not one.startswith("not used: ")]
    assert notes == ([] if note is None else [note.format(line=line_of(old), event=line_of("AnyKey"))])


@pytest.mark.parametrize(
    "name, old, new, message",
    [
        ("mixed", "NewIs: 0x08", "NewIs: 0x05", "line {line}: NewIs has the identifier of ToNew, 0x05"),
        ("event", "AnyKey: Ask, 0x16", "AnyKey: Ask, 0x15", "line {line}: AnyKey has the identifier of FromRight, 0x15"),
        ("mixed", "NewIs: 0x08, New, 1", "NewIs: 0x08, New, 9", "line {line}: NewIs has 9 bytes; a frame has 1 to 8"),
        ("mixed", "NewIs: 0x08, New, 1", "NewIs: 0x08, New, 0", "line {line}: NewIs has 0 bytes; a frame has 1 to 8"),
        ("mixed", "NewIs: 0x08", "NewIs: 68", "line {line}: NewIs: the identifier 0x44 is outside 0x00 to 0x3f"),
        ("mixed", "NewIs: 0x08, New", "NewIs: 0x08, Newt", "line {line}: there is no node Newt"),
        ("mixed", "NewIs: 0x08", "OldIs: 0x08", "line 34: the frame OldIs is described twice"),
        ("mixed", "FromNew: 8, 0x11, New", "FromNew: 8, 0x111, New", "line {line}: FromNew: initial value 273 is outside 0 to 255"),
        ("mixed", "FromNew: 8, 0x11, New", "FromNew: 65, 0x11, New", "line {line}: FromNew: width 65 is outside 1 to 64"),
        ("mixed", "FromNew: 8, 0x11, New", "FromNew: 8, 0x11, Newt", "line {line}: there is no node Newt"),
        ("mixed", "FromNew, 0;", "FromNewt, 0;", "line {line}: there is no signal FromNewt"),
        ("mixed", "ForOld, 3;", "ForOld, 9;", "line {line}: ToOld: ForOld at bit 9 is longer than the frame of 2 bytes"),
        ("lin13", "Mode, 8;", "Mode, 7;", "line {line}: Orders: Mode at bit 7 overlaps Bright"),
        ("lin21", "{0x01, 0x02, 0x03, 0x04}", "{1, 2, 3}", "line {line}: Serial: 3 initial bytes do not fit 32 bits"),
        ("bigendian", "Speed, 8;", "Speed, 7;", "line {line}: ToPump: Speed crosses a byte: with big-endian signals only whole bytes can"),
        ("mixed", "Slaves: New, Old;", "Slaves: New, Old, New;", "line {line}: the node New is listed twice"),
        ("mixed", "ToNew delay", "ToNewt delay", "line {line}: there is no frame ToNewt"),
        ("mixed", "ToNew delay 5 ms", "ToNew delay 1e30 ms", "line {line}: schedule Run: a slot is longer than 3600 s"),
        ("mixed", "LIN_speed = 19.2", "LIN_speed = 1e99", "'1e99' is no sensible number"),
        ("mixed", "LIN_speed = 19.2", "LIN_speed = 0", "LIN_speed: a bus has at least 1 bit per second"),
        ("mixed", "LIN_speed = 19.2 kbps;", "", "not a LIN description file that can be used: it has no LIN_speed"),
        ("mixed", "LIN_speed = 19.2 kbps;", "LIN_speed = 19.2 kbps;" * 2, "LIN_speed is given twice"),
        ("mixed", "Signals {", "Signals", "line {next}: not a LIN description file: 'ForNew' is not expected here, but '{{'"),
        ("mixed", "19.2 kbps", "19200 bps", "line {line}: not a LIN description file: 'bps' is not expected here, but 'kbps'"),
        ("mixed", "19.2 kbps", "19,2 kbps", "line {line}: not a LIN description file: ',' is not expected here, but 'kbps'"),
        ("mixed", "ForNew: 8", "Fürn: 8", "line {line}: not a LIN description file: 'Fürn' is not expected here"),
        ("mixed", "ForNew: 8", "ForNew: \x1b[2J8", "line {line}: not a LIN description file: '?' is not expected here, but a whole number"),
        ("mixed", "Schedule_tables {", "}; Schedule_tables {", "line {line}: not a LIN description file: '}}' is not expected here"),
        ("mixed", "Schedule_tables {", "/* Schedule_tables {", "line {line}: not a LIN description file: '/*' is not expected here"),
        (
            "texts",
            '"geschlossen',
            '"geschlo\nssen',
            "line {line}: not a LIN description file: '\"geschlo' is not expected here, but a text",
        ),
        (
            "j2602",
            'LIN_protocol_version = "J2602_1_1.0"',
            'LIN_protocol_version = "J2601_1.0"',
            "line {line}: 'J2601_1.0' is not a LIN version",
        ),
        ("mixed", 'LIN_protocol = "1.3"', 'LIN_protocol = "LIN 1.3"', "line {line}: 'LIN 1.3' is not a LIN version"),
        ("mixed", "ForOld, 3;", "ForOld, 3; ForOld, 0;", "line {line}: ToOld has the signal ForOld twice"),
        ("sporadic", "Change: ToRed", "ToRed: ToRed", "line {line}: the frame ToRed is described twice"),
        ("event", "AnyKey: Ask", "FromLeft: Ask", "line {line}: the frame FromLeft is described twice"),
        ("mixed", "NewIs: 0x08", "NewIs: 0x3d", "line {line}: NewIs has 1 byte; 0x3d has 8"),
        ("lin21", "physical_value, 0, 253,", "physical_value, 0.5, 253,", "line 64: Celsius: 0.5 is not a whole number"),
        ("diagnostics", "DataDump { Motor, 0x11", "DataDump { Motor, 0x111", "line {line}: schedule Setup: data 273 is outside 0 to 255"),
        ("diagnostics", "configured_NAD = 0x0A", "configured_NAD = 256", "line 70: Motor: NAD 0x100 is outside 0x00 to 0xff"),
        ("diagnostics", "SaveConfiguration { Motor }", "SaveConfiguration { Gate }", "line {line}: there is no slave Gate"),
        ("event", "AnyKey: Ask", "AnyKey: Asked", "line {line}: there is no schedule Asked"),
    ],
)
def test_what_cannot_be_played(name, old, new, message, tmp_path, capsys):
    """One line, with the file and the line in it."""
    file, text = tmp_path / "x.ldf", file_of(name).read_text("utf-8")
    assert text.count(old) >= 1
    file.write_text(text.replace(old, new, 1), "utf-8")
    line = text[: text.index(old)].count("\n") + 1
    assert cli.main(["--sim", "lin", "monitor", "--ldf", str(file), "--count", "1"]) == 2
    errors = capsys.readouterr().err
    assert errors.startswith(f"litepulse: {file}: {message.format(line=line, next=line + 1)}") and errors.count("\n") == 1


def test_the_bit_rate_is_exact(tmp_path):
    """10.417 kbps are 10417 bits per second, without a float's error."""
    file = tmp_path / "x.ldf"
    for text, baud in (("10.417", 10417), ("9.615", 9615), ("2.4", 2400), ("16.4", 16400), ("1.001", 1001), ("4.35e0", 4350)):
        file.write_text(file_of("mixed").read_text().replace("19.2", text))
        assert lin.Description(file).baud == baud


def test_later_j2602(tmp_path):
    """J2602:2021 is built on ISO 17987."""
    file = tmp_path / "x.ldf"
    file.write_text(file_of("j2602").read_text().replace("J2602_1_1.0", "J2602_1_2.0"))
    assert {known.checksum for number, known in lin.Description(file).expected().items() if number < 60} == {E}


# Values ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "frame, text, data",
    [
        ("ToHeater", "Wanted=12.5", "69"),  # (12.5 + 40) / 0.5
        ("ToHeater", "Wanted=12", "68"),
        ("ToHeater", "Wanted=12.5C", "69"),
        ("ToHeater", "Wanted=-40", "00"),
        ("ToHeater", "Wanted=not there", "fe"),
        ("ToHeater", "Wanted=255", "ff"),  # a logical value without a name
        ("ToHeater", "Wanted=0x12", "12"),
        ("ToHeater", "Wanted=0b11", "03"),
        ("ToHeater", "Wanted=raw:5", "05"),
        ("ToHeater", "Wanted=RAW:0xfd", "fd"),
        ("ToHeater", "Serial=0xdeadbeef", "69efadbeeaf"),
        ("ToHeater", "Serial=0xde,0xad,190,239", "69efadbeeaf"),
        ("ToHeater", "Serial={222, 173, 190, 239}", "69efadbeeaf"),
        ("ToHeater", "Serial=[222,173,190,239]", "69efadbeeaf"),
        ("ToHeater", "Serial=3735928559", "69efadbeeaf"),
        ("ToHeater", "Level=2", "691f203040f0ffbf"),
        ("FromHeater", "State=on", "41f3"),
        ("FromHeater", "State=1", "41f3"),
        ("FromHeater", "State=150", "41fb"),  # (150 - 100) / 10
        ("FromHeater", "State=raw:7", "41ff"),
        ("FromHeater", "Name=xyz", "41f378797a"),
        ("FromHeater", "Name=0x010203", "41f3010203"),
        ("FromHeater", "Name=1,2,3", "41f3010203"),
    ],
)
def test_values_that_are_set(frame, text, data):
    from litepulse.commands.lin.words import signal_value

    if data == "69efadbeeaf":  # from bit 12 on: de ad be ef
        bits = int.from_bytes(bytes.fromhex("deadbeef"), "little") << 12 | 0xF69 | 0xFFFFF << 44
        data = bits.to_bytes(8, "little").hex()
    name, value = signal_value(text)
    assert lin.Description(file_of("lin21")).encode(frame, {name: value}).hex().startswith(data)


@pytest.mark.parametrize(
    "text, message",
    [
        ("Wanted=200", "Wanted: 200 is not one of its values: -40 to 86.5 C; not there; 255; raw:N (lin.Raw(N)) sends N"),
        ("Wanted=raw:256", "Wanted: 256 does not fit its 8 bits"),
        ("Wanted=raw:-1", "Wanted: -1 does not fit its 8 bits"),
        ("Wanted=raw:x", "set: 'Wanted=raw:x' is not like SIGNAL=raw:31 or SIGNAL=raw:0x1f"),
        ("Wanted=1,2", "Wanted: 2 bytes are given, the signal has a number, no bytes"),
        ("Serial=1,2,3", "Serial: 3 bytes are given, the signal has 4 bytes"),
        ("Serial=1,2,3,256", "Serial: a byte is 0 to 255"),
        ("Serial=de,ad,be,ef", "Serial: 'de,ad,be,ef' is not 4 bytes, like 1,2,0x03 or 0x010203, and the signal has no encoding"),
        ("Serial=0x1deadbeef", "Serial: 8030895855 does not fit its 32 bits"),
        ("Level=4", "Level: 4 does not fit its 2 bits"),
        ("Level=1.5", "Level: 1.5 is not a whole number, and the signal has no encoding"),
        ("Wanted=nan", "Wanted: nan is not one of its values"),
        ("Wanted=inf", "Wanted: inf is not one of its values"),
        ("Wanted=1e400", "Wanted: inf is not one of its values"),
    ],
)
def test_values_that_cannot_be_set(text, message, capsys):
    assert cli.main(["--sim", "lin", "master", str(file_of("lin21")), "--schedule", "Run", "--set", text]) == 2
    errors = capsys.readouterr().err
    assert errors.startswith(f"litepulse: {message}") and errors.count("\n") == 1


def test_values_are_read_back():
    network = lin.Description(file_of("lin21"))
    assert network.decode("FromHeater", bytes.fromhex("41f34142437f")) == {"Temp": -7.5, "State": "on", "Name": "ABC", "HeaterError": 0}
    # not a letter, no value of Celsius, 5 of Steps
    assert network.decode("FromHeater", bytes.fromhex("ffeb00ff43ff")) == {
        "Temp": 255,
        "State": 150.0,
        "Name": [0x00, 0xFF, 0x43],
        "HeaterError": 1,
    }
    assert network.decode("ToHeater", bytes.fromhex("fe1f203040f0ffbf")) == {"Wanted": "not there", "Serial": [1, 2, 3, 4], "Level": 2}
    assert network.decode("ToHeater", b"1") == {} and network.decode("Other", b"1") == {}
    assert lin.Description(file_of("bigendian")).decode("ToPump", bytes.fromhex("e71234")) == {"Mode": 9, "Speed": 0x1234}
    assert lin.Description(file_of("bigendian")).encode("ToPump", {"Speed": 0xABCD, "Mode": lin.Raw(1)}).hex() == "c7abcd"
    assert network.encode("ToHeater", {"Serial": b"\xde\xad\xbe\xef"}) == network.encode("ToHeater", {"Serial": [0xDE, 0xAD, 0xBE, 0xEF]})


def test_a_long_number(tmp_path):
    """More than 16 bits with one initial value: a number, although the standard has arrays only."""
    file, text = tmp_path / "x.ldf", file_of("lin21").read_text()
    array = "{0x01, 0x02, 0x03, 0x04}"
    assert text.count(array) == 1
    file.write_text(text.replace(array, "67305985"))
    network, known = lin.Description(file), lin.Description(file_of("lin21"))
    assert network.encode("ToHeater", {}) == known.encode("ToHeater", {})
    for number in (0, 0xDEADBEEF):
        data = network.encode("ToHeater", {"Serial": number})
        assert data == known.encode("ToHeater", {"Serial": list(number.to_bytes(4, "little"))})
        assert network.decode("ToHeater", data)["Serial"] == number


# Mutations -------------------------------------------------------------------------------------------------------------------

TOKENS = [
    "{",
    "}",
    ";",
    ",",
    ":",
    "=",
    '"',
    "-1",
    "0",
    "255",
    "65536",
    "1e9",
    "99999999999999999999",
    "0x",
    "/*",
    "*/",
    "//",
    "delay",
    "ms",
]


def mutated(rng, text):
    """A file with a few small mistakes."""
    for _ in range(rng.randint(1, 3)):
        place = rng.randrange(len(text))
        kind = rng.randrange(6)
        if kind == 0:
            text = text[:place] + text[place + rng.randint(1, 20) :]
        elif kind == 1:
            text = text[:place] + rng.choice(TOKENS) + text[place:]
        elif kind == 2:  # a number becomes another
            numbers = list(re.finditer(r"\b(0x[0-9A-Fa-f]+|\d+)\b", text))
            match = rng.choice(numbers)
            text = text[: match.start()] + rng.choice(["0", "1", "7", "9", "64", "0x3d", "256", "-1", "1e40", "070"]) + text[match.end() :]
        elif kind == 3:  # a name becomes another
            names = list(re.finditer(r"\b[A-Z]\w+\b", text))
            match, other = rng.choice(names), rng.choice(names)
            text = text[: match.start()] + other[0] + text[match.end() :]
        elif kind == 4:  # a line twice, or moved
            lines = text.splitlines(True)
            lines.insert(rng.randrange(len(lines)), rng.choice(lines))
            text = "".join(lines)
        else:
            text = text[:place] + chr(rng.choice([0, 7, 27, 0xB0, 0x2028, 0xFEFF])) + text[place:]
        text = text or " "
    return text


def use(network):
    """All that master, slave and monitor ask of a description."""
    network.expected()
    for name in network.schedules():
        with contextlib.suppress(BadInput):
            network.schedule(name)
    for node in (network.master, *network.slaves):
        network.received_by(node)
        for frame in network.published_by(node):
            network.decode(frame, network.encode(frame, {}))
    for node in network.slaves:
        network.check_slave(node)
        with contextlib.suppress(BadInput):
            network.events_of(node)
        network.notes_of(node)
        if network.response_error(node):
            assert network.frames_with(network.response_error(node))


@pytest.mark.seconds(60)
@pytest.mark.parametrize("name", NETWORKS)
def test_mutated_files(name, tmp_path, seed=1):
    """Each is used or refused in one line that names the file or a part of it; none raises anything else, and none takes long."""
    rng, text, file = random.Random(f"{name} {seed}"), file_of(name).read_text("utf-8"), tmp_path / "x.ldf"
    used = 0
    for _ in range(60):
        file.write_text(mutated(rng, text), rng.choice(["utf-8", "utf-8", "utf-16"]), "replace")
        begin = time.process_time()
        try:
            use(lin.Description(file))
            used += 1
        except BadInput as error:
            assert len(str(error).splitlines()) == 1 and str(error).isprintable()
        assert time.process_time() - begin < 10
    assert 0 < used < 60


@pytest.mark.parametrize("text", ['"' + "\\" * 200_000, "/*" * 200_000, "{" * 200_000, "9" * 200_000, "1e" + "9" * 1000, "/" * 200_000])
def test_files_that_are_hard_to_read(text, tmp_path):
    """Long strings, comments and numbers without an end take no long time."""
    file = tmp_path / "x.ldf"
    for before in ("", "LIN_speed = ", "Channel_name = ", 'LIN_protocol_version = "'):
        file.write_text(before + text)
        begin = time.process_time()
        with pytest.raises(BadInput):
            lin.Description(file)
        assert time.process_time() - begin < 10
