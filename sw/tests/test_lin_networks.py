# SPDX-License-Identifier: BSD-2-Clause
"""LIN description files with one feature each (sw/tests/ldf): played as master, slave and monitor, and judged on the pins.

What each file means stands here, worked out by hand from the standard. lin_pins.py reads the pins and shares no code with the package.
"""

import json
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest

from litepulse import cli, lin
from litepulse.errors import BadInput
from litepulse.lin.description import is_lin_1

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

    for version in (LaterVersion(), None, "1.3", 1):
        with pytest.raises(BadInput, match="is a LIN version whose kind of checksum is not known"):
            is_lin_1(version)
