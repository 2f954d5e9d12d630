# SPDX-License-Identifier: BSD-2-Clause
"""LIN diagnostics, node configuration, sleep and wake-up; logs of frames, and files for --stimulus.

What is right is written here by hand from the standard, and read off the pins by lin_pins.py.
"""

import json
import random
import subprocess
import time
from fractions import Fraction
from pathlib import Path

import pytest

import litepulse
from litepulse import cli, lin
from litepulse.errors import BadInput
from litepulse.lin.configuration import Configured
from litepulse.lin.master import Request

from .fake_board import FakeBoard, Server
from .lin_pins import frames_of, header_edges, pid_of, response_edges, response_of, stimulus
from .terminal import in_a_terminal
from .test_lin_networks import file_of
from .test_sim import COMMAND, ENV, HZ, pins

BIT = Fraction(HZ, 19200)
C, E = "classic", "enhanced"
REQUEST, RESPONSE, MOTOR = 0x3C, 0x3D, 0x09
MS = HZ // 1000
START = 1_000_000
LATER = START + 80 * MS  # of a schedule: its slots are given to the board 60 ms ahead, so a program can still change them
READ_PRODUCT = bytes.fromhex("0a06b2001e000201")  # Motor of diagnostics.ldf: NAD 0x0a, supplier 0x1e, function 0x0102, variant 3
PRODUCT = bytes.fromhex("0a06f21e00020103")


# The transport layer ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "message, frames",
    [
        ("3e", ["05013effffffffff"]),
        ("b2001e000201", ["0506b2001e000201"]),
        ("22f190010203ff", ["05100722f1900102", "052103ffffffffff"]),  # seven bytes: a first frame with five, and two more
        ("00" * 11, ["05100b0000000000", "0521000000000000"]),
        ("11" * 12, ["05100c1111111111", "0521111111111111", "052211ffffffffff"]),
    ],
)
def test_segments(message, frames):
    data = bytes.fromhex(message)
    assert [frame.hex() for frame in lin.segments(5, data)] == frames
    parts = lin.Reassembly()
    assert [parts.feed(bytes.fromhex(frame)) for frame in frames] == [None] * (len(frames) - 1) + [(5, data)] and not parts.begun


def test_long_messages():
    """Up to 4095 bytes; the number of a consecutive frame counts from 1, and from 15 on to 0."""
    rng = random.Random(1)
    for length in (17, 100, 255, 256, 257, 4094, 4095):
        data = rng.randbytes(length)
        frames = lin.segments(0x7D, data)
        assert frames[0][1:3] == (0x1000 + length).to_bytes(2, "big")
        assert [frame[1] for frame in frames[1:]] == [0x20 + n % 16 for n in range(1, len(frames))]
        parts = lin.Reassembly()
        assert [found for frame in frames if (found := parts.feed(frame))] == [(0x7D, data)]
    for data in (b"", bytes(4096)):
        with pytest.raises(BadInput, match="it has 1 to 4095"):
            lin.segments(1, data)
    with pytest.raises(BadInput, match="nad: 0x100 is outside"):
        lin.segments(256, b"1")


def test_what_does_not_continue_a_message():
    first, second, third = lin.segments(5, bytes(range(13)))
    for wrong in (third, b"\6" + second[1:], bytes([5, 0x30]) + second[2:], first, second[:7]):
        parts = lin.Reassembly()
        assert parts.feed(first) is None and parts.feed(wrong) is None
        if wrong is not first and len(wrong) == 8:
            assert parts.feed(second) is None and parts.feed(third) is None, "the message is over"
    parts = lin.Reassembly()
    assert parts.feed(bytes([5, 0x07]) + bytes(6)) is None and parts.feed(bytes([5, 0]) + bytes(6)) is None, "no length of a single frame"
    assert parts.feed(bytes([5, 0x10, 6]) + bytes(5)) is None and not parts.begun, "six bytes need no first frame"


# A node's own configuration --------------------------------------------------------------------------------------------------


def node_of(name, node):
    network = lin.Description(file_of(name)).network
    return Configured(network, network.slaves[node])


@pytest.mark.parametrize(
    "nad, message, answer",
    [
        (0x0A, "b2001e000201", "f21e00020103"),  # ReadByIdentifier: supplier, function, variant
        (0x0A, "b200ff7fffff", "f21e00020103"),  # of any supplier and function
        (0x7F, "b200ff7fffff", "f21e00020103"),  # of all nodes
        (0x0A, "b200ff7f0201", "f21e00020103"),
        (0x0A, "b2001f000201", None),  # another supplier
        (0x0A, "b2001e000301", None),  # another function
        (0x0A, "b201ff7fffff", "7fb212"),  # the serial number: not there
        (0x0A, "b210ff7fffff", "7fb212"),  # a message identifier, which LIN 2.1 does not have
        (0x0A, "b220ff7fffff", "7fb212"),  # user-defined
        (0x0A, "b41122334455", "7fb411"),  # DataDump and SaveConfiguration are optional
        (0x0A, "b6", "7fb611"),
        (0x7F, "b6", None),  # to all nodes: no refusal, several would answer at once
        (0x7F, "b41122334455", None),
        (0x0C, "b200ff7fffff", None),  # another node
        (0x7E, "b200ff7fffff", None),  # functional: no node answers
        (0x0A, "b200ff7fff", None),  # too short
        (0x0A, "22f190", None),  # another service
        (0x0A, "b70049ffffff", "f7"),  # AssignFrameIdentifierRange
        (0x0A, "b700ff11ffff", "f7"),
        (0x0A, "b70000ffffff", "f7"),
        (0x0A, "b70048ffffff", None),  # wrong parity
        (0x0A, "b702c4ffffff", None),  # there are two frames
        (0x0B, "b01e00020155", "f0"),  # AssignNAD, to the initial address
        (0x0A, "b01e00020155", None),
        (0x0B, "b01f00020155", None),
        (0x0B, "b01e0002017f", None),  # no address of a single node
        (0x0A, "b30001ff1e55", "f3"),  # ConditionalChangeNAD: byte 1 of identifier 0 is 0x1e
        (0x0A, "b30001ff1f55", None),
        (0x0A, "b30001fe1f55", "f3"),  # the lowest bit does not count
        (0x0A, "b30005ff0355", "f3"),  # the variant
        (0x0A, "b30006ff0355", None),  # there are five bytes
        (0x0A, "b30000ff1e55", None),
        (0x0A, "b30101000055", None),  # the serial number: not there
        (0x0A, "b30001ff1e7e", None),
        (0x7F, "b30001ff1e55", "f3"),
        (0x0B, "b30001ff1e55", None),
    ],
)
def test_configuration_of_a_node(nad, message, answer):
    found = node_of("diagnostics", "Motor").answer(nad, bytes.fromhex(message))
    own = 0x0B if message.startswith("b0") else 0x0A
    assert found == (None if answer is None else (own, bytes.fromhex(answer)))


MORE = {1: bytes.fromhex("78563412"), 32: b"\x2a", 63: bytes(range(5))}


def test_what_a_node_can_read_and_dump():
    """The serial number, user-defined identifiers and DataDump, where they are given; in LIN 2.0 message identifiers, too."""
    network = lin.Description(file_of("diagnostics")).network
    motor = Configured(network, network.slaves["Motor"], MORE, bytes.fromhex("0102030405"))
    for message, answer in (
        ("b201ff7fffff", "f278563412"),
        ("b2011e000201", "f278563412"),
        ("b220ff7fffff", "f22a"),
        ("b23fff7fffff", "f20001020304"),
        ("b221ff7fffff", "7fb212"),
        ("b41122334455", "f40102030405"),
        ("b30102ff5755", None),  # byte 2 of the serial number is 0x56
        ("b30102ff5655", "f3"),
    ):
        assert motor.answer(0x0A, bytes.fromhex(message)) == (None if answer is None else (0x0A, bytes.fromhex(answer))), message
    assert motor.nad == 0x55
    fan = node_of("lin20", "Fan")
    assert fan.answer(0x20, bytes.fromhex("b210ff7fffff")) == (0x20, bytes.fromhex("f201101f"))  # ToFan: 0x1001, identifier 0x1f
    assert fan.answer(0x20, bytes.fromhex("b211ff7fffff")) == (0x20, bytes.fromhex("f202106f"))
    assert fan.answer(0x20, bytes.fromhex("b212ff7fffff")) == (0x20, bytes.fromhex("7fb212"))
    assert fan.answer(0x20, bytes.fromhex("b14f4a021040")) and fan.answer(0x20, bytes.fromhex("b211ff7fffff"))[1].hex() == "f2021040"


@pytest.mark.parametrize(
    "identifiers, dump, message",
    [
        ({0: b"12345"}, None, "identifier 0x00 is not 0x01"),
        ({16: b"123"}, None, "identifier 0x10 is not 0x01"),
        ({64: b"1"}, None, "identifier 0x40 is not 0x01"),
        ({256: b"1"}, None, "identifier 0x100 is not 0x01"),
        ({1: b"123"}, None, "identifier 0x01: 3 bytes, it has 4"),
        ({32: b""}, None, "identifier 0x20: 0 bytes, it has 1 to 5"),
        ({33: b"123456"}, None, "identifier 0x21: 6 bytes, it has 1 to 5"),
        ({}, b"1234", "dump: 4 bytes, the answer to DataDump has 5"),
    ],
)
def test_identifiers_that_make_no_sense(identifiers, dump, message):
    network = lin.Description(file_of("diagnostics")).network
    with pytest.raises(BadInput, match=message):
        Configured(network, network.slaves["Motor"], identifiers, dump)


def test_what_a_configuration_changes():
    motor = node_of("diagnostics", "Motor")
    assert motor.answer(0x0A, bytes.fromhex("b700c4ffffff")) and motor.frames == {"ToMotor": 0x04, "FromMotor": 0x09}
    assert motor.answer(0x0A, bytes.fromhex("b701854bffff")) is None and motor.frames["FromMotor"] == 0x09, "all or nothing"
    assert motor.answer(0x0A, bytes.fromhex("b70000c1ffff")) and motor.frames == {"ToMotor": None, "FromMotor": 0x01}
    assert motor.answer(0x0B, bytes.fromhex("b01e00020155")) and motor.nad == 0x55
    assert motor.answer(0x55, bytes.fromhex("b200ff7fffff")) and motor.answer(0x0A, bytes.fromhex("b200ff7fffff")) is None
    fan = node_of("lin20", "Fan")  # LIN 2.0: AssignFrameId, by message identifiers; 0x40 has a wrong parity
    assert fan.answer(0x20, bytes.fromhex("b14f4a0210c1")) == (0x20, b"\xf1") and fan.frames["FromFan"] == 0x01
    assert fan.answer(0x20, bytes.fromhex("b14f4a021040")) == (0x20, b"\xf1") and fan.frames["FromFan"] is None
    assert fan.answer(0x20, bytes.fromhex("b14f4a0310c1")) is None and fan.answer(0x20, bytes.fromhex("b14f4b0210c1")) is None
    for name, node in (("lin13", "Lamp"), ("mixed", "Old"), ("diagnostics", "Plain"), ("noattributes", "Mute")):
        assert node_of(name, node).answer(0x7F, bytes.fromhex("b200ff7fffff")) is None, "LIN 1.x, or no product_id"


# The slave -------------------------------------------------------------------------------------------------------------------


def slave_frames(tmp_path, scene, node="Motor", name="diagnostics", then=lambda slave, frame: None, begin=lambda slave: None, **options):
    """(what the bus has, frames) of a slave that hears [(identifier, response of others or b"")], 25 ms apart."""
    at = [START + n * 25 * MS for n in range(len(scene))]
    parts = [header_edges(tick, frame_id, BIT) for tick, (frame_id, _) in zip(at, scene)]
    parts += [response_edges(tick, response, BIT) for tick, (_, response) in zip(at, scene) if response]
    vcd = tmp_path / "bus.vcd"
    with litepulse.open(sim=True, stimulus=stimulus(tmp_path / "nodes", *parts), vcd=vcd, wires=["bus"], step=5_000) as board:
        with lin.slave(board, lin.Description(file_of(name)), node, count=len(scene), **options) as slave:
            begin(slave)
            found = []
            for frame in slave:
                found.append(frame)
                then(slave, frame)
    return [frame.response for frame in frames_of(pins(vcd)["rx"], BIT)], found


@pytest.mark.seconds(20)
def test_a_slave_answers_requests_of_configuration(tmp_path):
    """ReadByIdentifier to its own address; a request takes back what still waits; frames move to the identifiers assigned."""
    ask, own = response_of(READ_PRODUCT, REQUEST, C), response_of(PRODUCT, RESPONSE, C)
    assign = bytes.fromhex("0a06b700ffc4ffff")  # FromMotor to 0x04, with its parity
    moved = response_of(b"\x34", 0x04, E)
    scene = [
        (REQUEST, ask),
        (RESPONSE, own),
        (RESPONSE, b""),  # once
        (REQUEST, response_of(b"\x0c" + READ_PRODUCT[1:], REQUEST, C)),  # another node's
        (RESPONSE, b""),
        (REQUEST, ask),
        (REQUEST, response_of(bytes.fromhex("0c013effffffffff"), REQUEST, C)),  # takes the answer back
        (RESPONSE, b""),
        (REQUEST, response_of(READ_PRODUCT, REQUEST, C, flip=1)),  # a wrong checksum is no request
        (RESPONSE, b""),
        (MOTOR, response_of(b"\x34", MOTOR, E)),
        (REQUEST, response_of(assign, REQUEST, C)),
        (RESPONSE, response_of(bytes.fromhex("0a01f7ffffffffff"), RESPONSE, C)),
        (MOTOR, b""),
        (0x04, moved),
    ]
    mine = (RESPONSE, MOTOR, 0x04)
    heard, frames = slave_frames(tmp_path, [(number, b"" if number in mine else response) for number, response in scene])
    assert heard == [response for _, response in scene]
    assert [frame.own_response for frame in frames] == [number in mine and bool(response) for number, response in scene]
    assert (frames[-1].name, frames[-1].error) == ("FromMotor", None)


def node_request(message):
    """A request of node configuration, with its checksum."""
    return REQUEST, response_of(bytes.fromhex(message).ljust(8, b"\xff"), REQUEST, C)


def answered(message):
    """The same of an answer."""
    return RESPONSE, response_of(bytes.fromhex(message).ljust(8, b"\xff"), RESPONSE, C)


@pytest.mark.seconds(30)
def test_a_slave_keeps_its_configuration(tmp_path):
    """It begins with what it saved; options give what requests can read."""
    file = tmp_path / "motor.json"
    options = {"identifiers": {1: bytes.fromhex("78563412")}, "dump": bytes.fromhex("0a0b0c0d0e"), "configuration": file}
    scene = [
        node_request("0a06b201ff7fffff"),
        answered("0a05f278563412"),
        node_request("0a06b41122334455"),
        answered("0a06f40a0b0c0d0e"),
        node_request("0a06b30104ed1255"),  # byte 4 of the serial number is 0x12, so (0x12 ^ 0x12) & 0xed is 0
        answered("0a01f3"),
        node_request("5506b700ffc4ffff"),  # FromMotor to 0x04
        answered("5501f7"),
        node_request("5501b6"),
        answered("5501f6"),
    ]
    heard, _ = slave_frames(tmp_path, [(n, r if n == REQUEST else b"") for n, r in scene], **options)
    assert heard == [response for _, response in scene]
    assert json.loads(file.read_text()) == {"node": "Motor", "nad": 0x55, "frames": {"ToMotor": 8, "FromMotor": 4}}
    scene = [
        (MOTOR, b""),
        (0x04, response_of(b"\x34", 0x04, E)),
        node_request("0a01b6"),
        (RESPONSE, b""),
        node_request("5501b6"),
        answered("5501f6"),
    ]
    heard, frames = slave_frames(tmp_path, [(n, r if n == REQUEST else b"") for n, r in scene], configuration=file)
    assert heard == [response for _, response in scene]
    assert frames[1].name == "FromMotor" and frames[1].error is None
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(".")] == []


@pytest.mark.parametrize(
    "text, message",
    [
        ("{", "not a configuration that a slave saved"),
        ("[]", "the configuration is not of Motor"),
        ('{"node": "Plain", "nad": 1, "frames": {}}', "the configuration is not of Motor"),
        ('{"node": "Motor", "nad": 0, "frames": {"ToMotor": 8, "FromMotor": 9}}', "it does not have the NAD and the 2 configurable frames"),
        ('{"node": "Motor", "nad": 1, "frames": {"ToMotor": 8}}', "it does not have the NAD and the 2 configurable frames"),
        ('{"node": "Motor", "nad": 1, "frames": {"ToMotor": 8, "FromMotor": 64}}', "FromMotor cannot have the identifier 0x40"),
        ('{"node": "Motor", "nad": 1, "frames": {"ToMotor": 61, "FromMotor": 9}}', "ToMotor cannot have the identifier 0x3d"),
        ('{"node": "Motor", "nad": true, "frames": {"ToMotor": 8, "FromMotor": 9}}', "it does not have the NAD"),
    ],
)
def test_saved_configurations_of_others(text, message, tmp_path, capsys):
    file = tmp_path / "saved.json"
    file.write_text(text)
    words = ["--sim", "lin", "slave", str(file_of("diagnostics")), "--node", "Motor", "--for", "1ms", "--configuration", str(file)]
    assert cli.main(words) == 2
    errors = capsys.readouterr().err
    assert errors.startswith(f"litepulse: {file}: {message}") and errors.count("\n") == 1 and file.read_text() == text


@pytest.mark.parametrize(
    "node, words, message",
    [
        ("Motor", "--identifier 5=00", "identifier 0x05 is not 0x01 (serial number) or 0x20 to 0x3f, which are user-defined"),
        ("Motor", "--identifier 32", "identifier: '32' is not like 0x20=0a0b"),
        ("Motor", "--identifier 32=00 --identifier 32=01", "identifier: 0x20 is given twice"),
        ("Motor", "--dump 00", "dump: 1 bytes, the answer to DataDump has 5"),
        ("Motor", "--configuration /", "/: cannot read it (Is a directory)"),
        ("Plain", "--dump 0102030405", "Plain answers no node configuration: that takes LIN 2.x, a NAD and a product_id"),
    ],
)
def test_options_of_a_node_that_make_no_sense(node, words, message, capsys):
    assert cli.main(["--sim", "lin", "slave", str(file_of("diagnostics")), "--node", node, "--for", "1ms", *words.split()]) == 2
    errors = capsys.readouterr().err
    assert errors.startswith(f"litepulse: {message}") and errors.count("\n") == 1


def test_a_configuration_that_cannot_be_saved(tmp_path):
    """The slave ends with one line, and gives no wrong answer."""
    file = tmp_path / "no" / "motor.json"
    with Server(FakeBoard(step=5_000), "tcp") as server, litepulse.open(port=server.spec) as opened:
        with lin.slave(opened, lin.Description(file_of("diagnostics")), "Motor", configuration=file) as slave:
            with server.lock:
                server.board.hear(server.board.tick + 10_000, None, 0x55, pid_of(REQUEST), *node_request("0a01b6")[1])
                server.board.advance(1_000_000)
            with pytest.raises(litepulse.LitePulseError, match="the configuration cannot be saved: No such file"):
                next(slave)
        assert RESPONSE not in server.board.lin or not server.board.lin[RESPONSE][0]


@pytest.mark.seconds(15)
def test_answers_of_a_program(tmp_path):
    """Answers given beforehand stay until they are used; the next request discards answers to the
    one before; long ones in order."""
    early, long = bytes(range(8)), bytes(range(0x40, 0x4A))
    ask = response_of(bytes.fromhex("0a0322f190ffffff"), REQUEST, C)
    parts = [response_of(bytes.fromhex(frame), RESPONSE, C) for frame in ("0a100a4041424344", "0a214546474849ff")]
    scene = [
        (REQUEST, ask),
        (RESPONSE, response_of(early, RESPONSE, C)),
        (REQUEST, ask),
        (RESPONSE, parts[0]),
        (RESPONSE, parts[1]),
        (RESPONSE, b""),
        (REQUEST, ask),
        (REQUEST, ask),
        (RESPONSE, parts[0]),
        (REQUEST, ask),
        (RESPONSE, b""),
    ]
    requests = []

    def then(slave, frame):
        if frame.frame_id == REQUEST:
            requests.append(frame)
            if len(requests) in (2, 3, 4):
                slave.answer(long)

    heard, _ = slave_frames(tmp_path, [(n, r if n == REQUEST else b"") for n, r in scene], then=then, begin=lambda one: one.respond(early))
    assert heard == [response for _, response in scene]


def test_a_slave_sleeps_and_wakes():
    """By request, or by 4 s of silence; a header wakes it and is answered. It sends three wake-up pulses, and none once a master begins."""
    with Server(FakeBoard(step=5_000), "tcp") as server, litepulse.open(port=server.spec) as opened:
        board = server.board
        board.lock = server.lock
        with lin.slave(opened, lin.Description(file_of("diagnostics")), "Motor") as slave:

            def hear(frame_id, response=b""):
                with server.lock:
                    board.hear(board.tick + 10_000, None, 0x55, pid_of(frame_id), *response)
                    board.advance(1_000_000)
                return next(slave)

            assert not slave.asleep and hear(MOTOR).own_response
            assert hear(REQUEST, response_of(b"\0" + b"\xff" * 7, REQUEST, C)).error is None and slave.asleep
            assert hear(MOTOR).own_response and not slave.asleep
            with server.lock:
                board.advance(5 * HZ)
            slave.run.poll()
            assert slave.asleep
            before = len(board.line_log)
            slave.wake()
            for _ in range(40):
                with server.lock:
                    board.advance(30 * MS)
                slave.run.poll()
            pulses = board.line_log[before:]
            assert len(pulses) == 3 and not slave.asleep
            assert hear(MOTOR).own_response
        with pytest.raises(litepulse.LitePulseError, match="the slave does not run"):
            slave.wake()


# The master ------------------------------------------------------------------------------------------------------------------


def on_the_bus(tmp_path, nodes, name, use, schedule, **options):
    """What the pin of a master has while `use` has it."""
    vcd = tmp_path / "bus.vcd"
    with litepulse.open(sim=True, wires=["bus"], stimulus=stimulus(tmp_path / "nodes", *nodes), vcd=vcd, step=5_000) as board:
        with lin.master(board, lin.Description(file_of(name)), schedule, start=f"{LATER}t", **options) as master:
            found = use(master)
    return frames_of(pins(vcd)["tx"], BIT), pins(vcd), found


@pytest.mark.seconds(20)
def test_a_request_beside_a_schedule(tmp_path):
    """One slot of 10 ms behind a round for the request, one behind the next for the answer; all other slots keep their length."""
    answer = response_of(PRODUCT, RESPONSE, C)
    at = [0, 5, 10, 20, 25, 30, 40, 45]  # ms: ToMotor, FromMotor, request; these, answer; these
    wanted = [(0x08, b"\x12"), (0x09, None), (REQUEST, READ_PRODUCT), (0x08, b"\x12"), (0x09, None), (RESPONSE, None)]
    wanted += [(0x08, b"\x12"), (0x09, None)]
    nodes = [response_edges(LATER + 30 * MS, answer, BIT, space=1)]

    def use(master):
        request = master.ask(0x0A, bytes.fromhex("b2001e000201"))
        assert not request.done
        names = [frame.name for frame in master]
        return request, names

    heard, _, (request, names) = on_the_bus(tmp_path, nodes, "diagnostics", use, "Run", rounds=3)
    assert [frame.tick for frame in heard] == [LATER + ms * MS for ms in at]
    assert [frame.bytes for frame in heard] == [
        bytes([0x55, pid_of(number)]) + (b"" if data is None else response_of(data, number, C if number == REQUEST else E))
        for number, data in wanted
    ]
    assert request.done and request.answer == bytes.fromhex("f21e00020103") and not request.refused
    # The last slot, of 5 ms, is over before a response of FromMotor would have to be: its frame is reported all the same.
    assert names == ["ToMotor", "FromMotor", "MasterReq", "ToMotor", "FromMotor", "SlaveResp", "ToMotor", "FromMotor"]


@pytest.mark.seconds(20)
def test_a_raw_request_in_a_schedule_without_a_slot_for_it(tmp_path):
    def use(master):
        master.request(READ_PRODUCT)
        return [frame.name for frame in master]

    heard, _, names = on_the_bus(tmp_path, [], "diagnostics", use, "Run", rounds=2)
    assert names == ["ToMotor", "FromMotor", "MasterReq", "ToMotor", "FromMotor"]
    assert heard[2].bytes[2:] == response_of(READ_PRODUCT, REQUEST, C) and (heard[3].tick - heard[2].tick) == 10 * MS


@pytest.mark.seconds(20)
def test_schedules_are_switched_at_a_border(tmp_path):
    """No slot is cut, none is left out: the other schedule begins where the next slot would have."""

    def use(master):
        found = []
        for frame in master:
            found.append(frame.name)
            if len(found) == 2:
                master.switch("Ask")
        return found

    heard, _, names = on_the_bus(tmp_path, [], "diagnostics", use, "Run", rounds=15)
    ids = [frame.pid & 63 for frame in heard]
    border = ids.index(RESPONSE)
    assert set(ids[:border]) == {0x08, 0x09} and set(ids[border:]) == {RESPONSE} and len(ids) > border + 2, ids
    # MasterReq has nothing to send, so the first slot of Ask is silent.
    gaps = [after.tick - before.tick for before, after in zip(heard, heard[1:])]
    assert gaps == [5 * MS] * (border - 1) + [15 * MS] + [20 * MS] * (len(ids) - border - 1) and len(names) == len(ids)


@pytest.mark.seconds(25)
def test_a_master_sleeps_and_a_node_wakes_it(tmp_path):
    """After go-to-sleep nothing is sent; a node's pulse of 300 us brings the schedule back 100 to 150 ms later."""
    pulse = LATER + 40 * MS
    nodes = [[(pulse, 0), (pulse + 300 * MS // 1000, 1)]]

    def use(master):
        master.sleep()
        names = []
        for frame in master:
            names.append(frame.name or frame.error)
        return names

    heard, _, names = on_the_bus(tmp_path, nodes, "diagnostics", use, "Run", rounds=2)
    asleep = next(n for n, frame in enumerate(heard) if frame.pid == pid_of(REQUEST))
    assert heard[asleep].bytes[2:] == response_of(b"\0" + b"\xff" * 7, REQUEST, C) and "no header" in names
    assert heard[asleep].tick < pulse and 100 * MS <= heard[asleep + 1].tick - pulse <= 150 * MS


def answer_of(data, number="b2001e000201", nad=0x0A):
    request = Request(nad, bytes.fromhex(number), 1000)
    request.frames.clear()
    for frame in data:
        request.hear(bytes.fromhex(frame), 5)
    return request.done, request.answer and request.answer.hex(), request.refused


@pytest.mark.parametrize(
    "data, nad, wanted",
    [
        (["0a06f21e00020103"], 0x0A, (True, "f21e00020103", False)),
        (["0b06f21e00020103"], 0x0A, (False, None, False)),  # another node
        (["0b06f21e00020103"], 0x7F, (True, "f21e00020103", False)),  # of all nodes: any of them
        (["0a01f7ffffffffff"], 0x0A, (False, None, False)),  # to another request
        (["0a037fb212ffffff"], 0x0A, (True, "7fb212", True)),
        (["0a037fb712ffffff"], 0x0A, (False, None, False)),
        (["0a037fb278ffffff"], 0x0A, (False, None, False)),  # more time is needed
        (["0a037fb278ffffff", "0a06f21e00020103"], 0x0A, (True, "f21e00020103", False)),
        (["0a1008f201020304", "0a21050607ffffff"], 0x0A, (True, "f201020304050607", False)),
        (["0a1008f201020304", "0a22050607ffffff"], 0x0A, (False, None, False)),
    ],
)
def test_what_answers_a_request(data, nad, wanted):
    assert answer_of(data, nad=nad) == wanted


@pytest.mark.seconds(20)
@pytest.mark.parametrize("words, nad", [(["--node", "Motor"], 0x0A), (["--nad", "0x33"], 0x33)])
def test_a_request_by_command(words, nad, tmp_path, capsys):
    """No node answers: the request is on the pin, headers of SlaveResp follow until the time is
    over, and the status is 1."""
    vcd = tmp_path / "bus.vcd"
    options = ["--data", "b200ff7fffff", "--timeout", "100ms", "--json"]
    assert cli.main(["--sim", "--vcd", str(vcd), "lin", "request", str(file_of("diagnostics")), *words, *options]) == 1
    out, errors = capsys.readouterr()
    result = json.loads(out)
    assert errors == "" and (result["nad"], result["answer"], result["refused"], result["request"]) == (nad, None, False, "b200ff7fffff")
    heard = frames_of(pins(vcd)["tx"], BIT)
    assert heard[0].bytes[1:] == bytes([pid_of(REQUEST)]) + response_of(bytes([nad]) + bytes.fromhex("06b200ff7fffff"), REQUEST, C)
    assert len(heard) > 1 and {frame.bytes for frame in heard[1:]} == {bytes([0x55, pid_of(RESPONSE)])}
    assert 100 * MS <= heard[-1].tick - heard[0].tick + 30 * MS and heard[-1].tick - heard[0].tick <= 130 * MS


@pytest.mark.parametrize(
    "words, message",
    [
        (["--node", "Engine", "--data", "3e"], "diagnostics.ldf has no slave Engine; there is Motor, Plain"),
        (["--nad", "256", "--data", "3e"], "nad: 256 does not fit a byte"),
        (["--nad", "1", "--data", ""], "message: 0 bytes, it has 1 to 4095"),
        (["--nad", "1", "--data", "xx"], "data: 'xx' is not bytes in hexadecimal"),
        (["--data", "3e"], "one of the arguments --node --nad is required"),
        (["--nad", "1", "--data", "3e", "--schedule", "No"], "diagnostics.ldf has no schedule No"),
    ],
)
def test_requests_that_make_no_sense(words, message, capsys):
    assert cli.main(["--sim", "lin", "request", str(file_of("diagnostics")), *words]) == 2
    errors = capsys.readouterr().err
    assert errors.startswith(f"litepulse: {message}") and errors.count("\n") == 1


# The table -------------------------------------------------------------------------------------------------------------------


@pytest.mark.seconds(40)
def test_the_table_fits_the_terminal(tmp_path):
    """The words of a wide terminal, in their order, on lines that are not longer than the terminal; in a pipe a line for each frame."""
    answer = response_of(bytes.fromhex("4a5593e5"), 0x20, E)
    file = tmp_path / "nodes.txt"
    edges = sorted([*header_edges(40 * MS, 0x20, BIT), *response_edges(40 * MS, answer, BIT)])
    edges += sorted([*header_edges(60 * MS, 0x11, BIT), *response_edges(60 * MS, response_of(bytes(range(8)), 0x11, E), BIT)])
    file.write_text("".join(f"{tick} rx {level}\n" for tick, level in edges))
    door = Path(__file__).resolve().parents[1] / "examples" / "door.ldf"
    words = ["--sim", "--wire", "bus", "--stimulus", str(file), "lin", "monitor", "--ldf", str(door)]
    piped = subprocess.run([*COMMAND, *words, "--count", "2"], env=ENV, capture_output=True, text=True, check=False).stdout.splitlines()
    assert len([line for line in piped if "0x20" in line]) == 2 and max(map(len, piped)) > 113
    for columns in (40, 80, 160):
        shown, _, _ = in_a_terminal(columns, [*COMMAND, *words, "--count", "2"], ENV)
        lines = shown.rstrip("\n").split("\n")
        assert max(map(len, lines)) <= columns, lines
        drawn = [" ".join(lines).replace("#", "").split(), " ".join(piped).replace("#", "").split()]
        assert "".join(drawn[0]) == "".join(drawn[1])


# Files for --stimulus --------------------------------------------------------------------------------------------------------


def test_headers_for_a_stimulus(capsys):
    """Edge for edge what the standard says."""
    words = "lin header --id 0x20 --id 16 --data 2aff --id 0x3c --data 00ffffffffffffff --id 0x11 --data 07 --at 1ms --every 15ms"
    assert cli.main(words.split()) == 0
    frames = [(0x20, b""), (0x10, response_of(b"\x2a\xff", 0x10, E))]
    frames += [(0x3C, response_of(b"\0" + b"\xff" * 7, 0x3C, C)), (0x11, response_of(b"\7", 0x11, E))]
    edges = []
    for number, (frame_id, response) in enumerate(frames):
        tick = (1 + 15 * number) * MS
        edges += sorted([*header_edges(tick, frame_id, BIT), *response_edges(tick, response, BIT)])
    assert capsys.readouterr().out.splitlines() == [f"{tick} rx {level}" for tick, level in edges]


@pytest.mark.parametrize(
    "words, message",
    [
        ("--id 0x20 --id 0x21 --every 1ms", "every: a frame is longer than that"),
        ("--data 01", "data: give it behind the --id that it belongs to, once"),
        ("--id 1 --data 01 --data 02", "data: give it behind the --id that it belongs to, once"),
        ("--id 64", "id: 0x40 is outside 0x00 to 0x3f"),
        ("--id 1 --data 000102030405060708", "data: 9 bytes, a frame has 1 to 8"),
        ("--id 1 --model other", "argument --model: invalid choice"),
    ],
)
def test_headers_that_make_no_sense(words, message, capsys):
    assert cli.main(["lin", "header", *words.split()]) == 2
    out, errors = capsys.readouterr()
    assert errors.startswith(f"litepulse: {message}") and errors.count("\n") == 1 and out == ""


# Logs ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.seconds(15)
@pytest.mark.parametrize("suffix", ["asc", "blf", "log"])
def test_logs(suffix, tmp_path, capsys):
    """python-can's own readers find each frame, with its time, and its errors as lin0 reports
    them."""
    import can

    good, wrong = response_of(b"\x11", 0x08, E), response_of(b"\xbe\xef", 0x09, E)
    at = [START + n * 12 * MS for n in range(4)]
    nodes = [header_edges(tick, number, BIT) for tick, number in zip(at, (0x08, 0x09, 0x09, 0x05))]
    nodes += [response_edges(at[0], good, BIT), response_edges(at[1], wrong, BIT)]
    log, file = tmp_path / f"bus.{suffix}", stimulus(tmp_path / "nodes", *nodes)
    words = [
        "--sim",
        "--wire",
        "none",
        "--stimulus",
        file,
        "lin",
        "monitor",
        "--ldf",
        file_of("mixed"),
        "--count",
        4,
        "--log",
        log,
        "--json",
    ]
    before = time.time()
    assert cli.main([*map(str, words), "--json"]) == 1
    result = json.loads(capsys.readouterr().out)
    found = [one for one in can.LogReader(log) if not one.is_error_frame]
    assert [(one.arbitration_id, one.is_extended_id, bytes(one.data)) for one in found] == [
        (0x08, False, b"\x11"),
        (0x8009, True, b"\xbe\xef"),  # the wrong kind of checksum: Old is a node of LIN 1.3
        (0x4009, True, b""),
        (0x4005, True, b""),
    ]
    ticks = [frame["tick"] for frame in result["frames"]]
    for one, tick in zip(found, ticks):
        assert one.timestamp - found[0].timestamp == pytest.approx((tick - ticks[0]) / HZ, abs=2e-6)
    assert suffix == "asc" or before - 1 < found[0].timestamp < time.time() + 1


def test_logs_that_cannot_be_written(tmp_path, capsys):
    words = ["--sim", "lin", "monitor", "--for", "1ms", "--log"]
    for path, message in (("x.txt", "log: 'x.txt' does not end in .asc, .blf, .log"), (f"{tmp_path}/no/x.log", "log: cannot write ")):
        assert cli.main([*words, path]) == 2
        errors = capsys.readouterr().err
        assert errors.startswith(f"litepulse: {message}") and errors.count("\n") == 1
