# SPDX-License-Identifier: BSD-2-Clause
"""The LIN slave: on the simulated SoC with an independent master, the pins recorded; and on a board in Python behind a port.

The master, and nodes that disturb, are a stimulus of exact edges, made here from the rules of the standard.
"""

import json
import signal
import subprocess
import threading
import time
from fractions import Fraction

import pytest

import litepulse
from litepulse import cli, lin
from litepulse.capture import LostEvent
from litepulse.line import LinEntry

from .fake_board import FakeBoard, Server
from .lin_pins import header_edges
from .test_lin import BIT, LDF, PIDS, board_on_a_bus, bus_frame, reference_checksum, result_of, stimulus
from .test_sim import COMMAND, ENV, frame_edges, pins

START = 1_000_000
STEP = 1_000_000  # 21 ms between two headers, in which a program has heard the first and changed the table
WINDOW, MIRROR, CONTROL, LIGHT, ANY, REQUEST, RESPONSE = 32, 33, 16, 17, 40, 60, 61


def with_checksum(data, frame_id, flip=0):
    return data + bytes([reference_checksum(data, None if frame_id in (60, 61) else PIDS[frame_id]) ^ flip])


def header(tick, frame_id, response=b"", **options):
    """Edges of a header at a tick, and of a response of the master's."""
    return bus_frame(tick, PIDS[frame_id], response, **options)[0]


def answer(tick, values, space, bit=BIT):
    """What the slave sends after a header at a tick: each byte `space` ticks behind the end of the one before, as it was received.

    A pin that changes at a tick is first sampled one later: the slave counts from as much later
    than its own pin shows.
    """
    edges, start = [], int(tick + 24 * bit)
    for value in values:
        start += 1 + int(10 * bit) + space
        edges += frame_edges(start, value, bit)
    return edges


def sent(vcd):
    """All edges of TX behind the first level."""
    return pins(vcd)["tx"][1:]


def window(place, error=0):
    """The data of WindowState."""
    return bytes([PIDS[WINDOW], place, 0xFE | error, 0xFF])


# On the simulated SoC, the pins to the tick ---------------------------------------------------------------------------------


@pytest.mark.seconds(15)
@pytest.mark.parametrize("bits", [None, "0.004", "7/3", "4"])
def test_answers_start_at_their_tick(tmp_path, bits):
    """Headers of the node, of another node, of the master, of a sporadic frame, of no node, and
    SlaveResp."""
    space = int(Fraction(bits or 1) * BIT)
    mirror = with_checksum(b"\x61\x34\x12\xff", MIRROR)
    control, light = with_checksum(b"\x03\xff", CONTROL), with_checksum(b"\x09", LIGHT)
    gap = 400_000
    headers = [(WINDOW, b""), (MIRROR, mirror), (CONTROL, control), (LIGHT, light), (RESPONSE, b""), (WINDOW, b"")]
    at = [START + n * gap for n in range(len(headers))]
    nodes = stimulus(tmp_path / "nodes", *(header(tick, number, response) for tick, (number, response) in zip(at, headers)))
    vcd = tmp_path / "bus.vcd"
    result = result_of(
        *("--sim", "--stimulus", nodes, "--vcd", vcd, "lin", "slave", LDF, "--node", "Window", "--set", "WindowPlace=0x55"),
        *(*([] if bits is None else ["--space", bits]), "--count", 6),
        status=1,  # no node answered SlaveResp
    )
    values = with_checksum(window(0x55), WINDOW)
    assert sent(vcd) == answer(at[0], values, space) + answer(at[-1], values, space)
    frames = result["frames"]
    assert [(frame["tick"], frame["id"]) for frame in frames] == [(tick + 1, number) for tick, (number, _) in zip(at, headers)]
    assert [frame["name"] for frame in frames] == [
        *("WindowState", "MirrorState", "WindowControl", "LightControl", "SlaveResp", "WindowState")
    ]
    assert [frame["own_response"] for frame in frames] == [True, False, False, False, False, True]
    assert [frame["error"] for frame in frames] == [None] * 4 + ["no response", None] and not any(one["own_header"] for one in frames)
    assert [frames[n]["data"] for n in (0, 5)] == [window(0x55).hex()] * 2
    # what the bus shows of a space is one tick more: that between pin and stamp
    assert frames[0]["space_ticks"] == str(space + 1) and frames[0]["spaces_ticks"] == str(5 * (space + 1))
    assert frames[0]["slow"] is (bits == "4")
    assert (result["node"], result["space_ticks"], result["answered"], result["missed"], result["lost"]) == ("Window", space, 2, 0, 0)


def hear(board_options, node, count, then=lambda slave, frame: None, begin=lambda slave: None):
    """Frames that a slave in Python hears, and (answers, missed answers). begin: is called once, then: with each frame."""
    found = []
    with litepulse.open(sim=True, wires=["bus"], step=5_000, **board_options) as board:
        with lin.slave(board, lin.Description(LDF), node, count=count) as slave:
            begin(slave)
            for frame in slave:
                found.append(frame)
                then(slave, frame)
        assert slave.lost == 0 and not board.status().responder_armed
        found.append((slave.answered, slave.missed))
    return found


@pytest.mark.seconds(15)
@pytest.mark.parametrize("other_thread", [False, True])
def test_a_signal_changes_between_two_headers(tmp_path, other_thread):
    """The answers before are all old, those behind all new; the entry changes whole."""
    at = [START + n * STEP for n in range(4)]
    places = [255, 17, 18, 19]
    nodes = stimulus(tmp_path / "nodes", *(header(tick, WINDOW) for tick in at))

    def then(slave, frame):
        new = {255: 17, 17: 18, 18: 19}.get(frame.data[1])
        if new is None:
            return
        if not other_thread:
            slave.set(WindowPlace=new)
            return
        thread = threading.Thread(target=lambda: slave.set(WindowPlace=new))
        thread.start()
        thread.join()

    vcd = tmp_path / "bus.vcd"
    *frames, counts = hear({"stimulus": nodes, "vcd": vcd}, "Window", 4, then)
    assert [frame.data[1] for frame in frames] == places and counts == (4, 0)
    assert sent(vcd) == [edge for tick, place in zip(at, places) for edge in answer(tick, with_checksum(window(place), WINDOW), int(BIT))]


@pytest.mark.seconds(15)
def test_response_error(tmp_path):
    """Set by a wrong response of a frame that the node receives, not by one of others, nor by none; cleared when it was sent."""
    wrong = with_checksum(b"\x03\xff", CONTROL, flip=4)
    scene = [
        (WINDOW, b"", 0),
        (MIRROR, with_checksum(b"\x61\x34\x12\xff", MIRROR, flip=1), None),  # not a frame of this node
        (CONTROL, b"", None),  # no response is no error
        (WINDOW, b"", 0),
        (CONTROL, wrong, None),
        (WINDOW, b"", 1),
        (WINDOW, b"", 0),
        (CONTROL, wrong[:1], None),  # too short
        (REQUEST, with_checksum(bytes(8), REQUEST), None),
        (WINDOW, b"", 1),
        (REQUEST, with_checksum(bytes(8), REQUEST, flip=1), None),
        (WINDOW, b"", 1),
        (WINDOW, b"", 0),
    ]
    at = [START + n * STEP for n in range(len(scene))]
    nodes = stimulus(tmp_path / "nodes", *(header(tick, number, response) for tick, (number, response, _) in zip(at, scene)))
    vcd = tmp_path / "bus.vcd"
    *frames, counts = hear({"stimulus": nodes, "vcd": vcd}, "Window", len(scene))
    assert [frame.frame_id for frame in frames] == [number for number, _, _ in scene] and counts == (7, 0)
    assert sent(vcd) == [
        edge
        for tick, (_, _, error) in zip(at, scene)
        if error is not None
        for edge in answer(tick, with_checksum(window(255, error), WINDOW), int(BIT))
    ]


@pytest.mark.seconds(15)
def test_a_disturbed_answer_is_a_response_error(tmp_path):
    """Another node pulls a bit of the answer's second byte low: the third is not sent, and the next answer reports it."""
    at = [START + n * STEP for n in range(3)]
    second = answer(at[0], window(255)[:2], int(BIT))[-2:]  # 255: the start bit alone is low
    low = [(second[0][0] + 8 * 2500, 0), (second[0][0] + 9 * 2500, 1)]
    nodes = stimulus(tmp_path / "nodes", low, *(header(tick, WINDOW) for tick in at))
    vcd = tmp_path / "bus.vcd"
    *frames, counts = hear({"stimulus": nodes, "vcd": vcd}, "Window", 3)
    assert sent(vcd) == [
        *answer(at[0], window(255)[:2], int(BIT)),
        *answer(at[1], with_checksum(window(255, 1), WINDOW), int(BIT)),
        *answer(at[2], with_checksum(window(255), WINDOW), int(BIT)),
    ]
    assert [frame.error for frame in frames] == ["short", None, None] and counts == (2, 0)


@pytest.mark.seconds(15)
def test_event_triggered(tmp_path):
    """Answered once after an update, and not after the frame itself was polled; after a collision again."""
    scene = [
        (ANY, b"", None),  # nothing was updated
        (ANY, b"", 1),  # set after the frame before
        (ANY, b"", None),
        (WINDOW, b"", 2),  # set, and polled
        (ANY, b"", None),
        (ANY, b"", "collision"),  # set
        (ANY, b"", 3),  # WindowState has not been requested, so it is still an event
        (ANY, b"", None),
    ]
    at = [START + n * STEP for n in range(len(scene))]
    edges, wanted = [], []
    for tick, (number, response, place) in zip(at, scene):
        edges.append(header(tick, number))
        if place == "collision":
            # Both begin at the same tick. Bit 5 of our first byte is 1, and the other node pulls it low.
            ours = answer(tick, [PIDS[WINDOW]], int(BIT))
            edges.append([(ours[0][0], 0), (ours[0][0] + 9 * 2500, 1)])
            wanted += ours
        elif place is not None:
            wanted += answer(tick, with_checksum(window(place), number), int(BIT))
    turns = {0: 1, 2: 2, 4: 3}
    seen = []

    def then(slave, _frame):
        if len(seen) in turns:
            slave.set(WindowPlace=turns[len(seen)])
        seen.append(None)

    vcd = tmp_path / "bus.vcd"
    *frames, counts = hear({"stimulus": stimulus(tmp_path / "nodes", *edges), "vcd": vcd}, "Window", len(scene), then)
    assert sent(vcd) == wanted
    silent = "no response"
    assert [frame.error for frame in frames] == [silent, None, silent, None, silent, "short", None, silent] and counts == (3, 0)
    assert [frame.name for frame in frames if frame.own_response] == ["AnyState", "WindowState", "AnyState", "AnyState"]


@pytest.mark.seconds(10)
def test_diagnostic_responses(tmp_path):
    """Each answers one header, in order, with the classic checksum; then no node answers."""
    at = [START + n * STEP for n in range(4)]
    nodes = stimulus(tmp_path / "nodes", *(header(tick, RESPONSE) for tick in at))
    first, second = bytes(range(8)), bytes(range(100, 108))

    def begin(slave):
        slave.respond(first)
        slave.respond(second)
        with pytest.raises(litepulse.BadInput, match="response: 7 bytes are not 8"):
            slave.respond(bytes(7))

    vcd = tmp_path / "bus.vcd"
    *frames, counts = hear({"stimulus": nodes, "vcd": vcd}, "Mirror", 4, begin=begin)
    assert sent(vcd) == [edge for tick, data in zip(at, (first, second)) for edge in answer(tick, with_checksum(data, RESPONSE), int(BIT))]
    assert [frame.error for frame in frames] == [None, None, "no response", "no response"] and counts == (2, 0)
    assert [frame.model for frame in frames[:2]] == [lin.CLASSIC] * 2


@pytest.mark.seconds(10)
@pytest.mark.parametrize("words, last", [(["--flip-checksum", "0x20=0x81"], 0x81), (["--checksum", "WindowState=0x5a"], None)])
def test_wrong_checksums_on_purpose(tmp_path, words, last):
    """They are on the pins, are marked as such, and do not set our own response_error."""
    nodes = stimulus(tmp_path / "nodes", header(START, WINDOW), header(START + STEP, WINDOW))
    vcd = tmp_path / "bus.vcd"
    result = result_of(
        *("--sim", "--stimulus", nodes, "--vcd", vcd, "lin", "slave", LDF, "--node", "Window", *words, "--count", 2), status=1
    )
    values = window(255) + (b"\x5a" if last is None else with_checksum(window(255), WINDOW, last)[-1:])
    assert sent(vcd) == answer(START, values, int(BIT)) + answer(START + STEP, values, int(BIT))
    assert [(one["error"], one["own_response"]) for one in result["frames"]] == [("wrong checksum", True)] * 2
    assert (result["answered"], result["missed"], result["errors"]) == (2, 0, {"wrong checksum": 2})


@pytest.mark.seconds(10)
def test_missed_answers_are_errors_of_their_frames(tmp_path):
    """Another node begins first: `missed busy`. A driver that is enabled too late: `missed late`. Nothing is sent."""
    foreign = with_checksum(window(9), WINDOW)
    nodes = stimulus(tmp_path / "nodes", header(START, WINDOW, foreign), header(START + STEP, WINDOW))
    vcd = tmp_path / "busy.vcd"
    *frames, counts = hear({"stimulus": nodes, "vcd": vcd}, "Window", 2)
    assert [(frame.error, frame.data, frame.own_response) for frame in frames] == [
        ("missed busy", window(9), False),
        (None, window(255), True),
    ]
    assert counts == (1, 1) and sent(vcd) == answer(START + STEP, with_checksum(window(255), WINDOW), int(BIT))

    vcd = tmp_path / "late.vcd"
    with litepulse.open(sim=True, wires=["bus"], stimulus=nodes, vcd=vcd) as board:
        board.backend.line.set_driver_enable(2600, 0)  # ticks, and the space has 2500
        with lin.slave(board, lin.Description(LDF), "Window", count=2) as slave:
            frames = list(slave)
    assert [(frame.error, frame.data) for frame in frames] == [("missed late", window(9)), ("missed late", b"")]
    assert (slave.answered, slave.missed) == (0, 2) and sent(vcd) == []


@pytest.mark.seconds(10)
def test_a_master_of_another_bit_rate(tmp_path):
    """What the page says: bits 4.8 % shorter and 5.4 % longer are understood; those that are further off are errors, without an answer."""
    off = [Fraction(n, 1000) for n in (-48, 54, -52, 58)]
    nodes = stimulus(tmp_path / "nodes", *(header_edges(START + n * STEP, WINDOW, BIT * (1 + one)) for n, one in enumerate(off)))
    *frames, counts = hear({"stimulus": nodes}, "Window", 4)
    assert [(frame.tick, frame.own_response, frame.error) for frame in frames] == [
        (START + n * STEP + 1, n < 2, None if n < 2 else "wrong sync") for n in range(4)
    ]
    assert counts == (2, 0)


@pytest.mark.seconds(10)
def test_the_table_of_another_slave_is_cleared(tmp_path):
    """What another program left in the board's table is not answered."""
    nodes = stimulus(tmp_path / "nodes", header(START, MIRROR), header(START + STEP, WINDOW))
    vcd = tmp_path / "bus.vcd"
    with litepulse.open(sim=True, wires=["bus"], stimulus=nodes, vcd=vcd) as board:
        board.backend.responder.set_lin([LinEntry(number, b"\x01") for number in range(64)])
        with lin.slave(board, lin.Description(LDF), "Window", count=2) as slave:
            assert [frame.error for frame in slave] == ["no response", None]
    assert sent(vcd) == answer(START + STEP, with_checksum(window(255), WINDOW), int(BIT))


@pytest.mark.seconds(10)
def test_over_a_port(tmp_path):
    """A board that outlives the command: the same answers, and none after the command has ended."""
    at = [START, START + STEP]
    nodes, vcd = stimulus(tmp_path / "nodes", *(header(tick, WINDOW) for tick in at)), tmp_path / "bus.vcd"
    with board_on_a_bus(vcd, "--stimulus", nodes) as spec:
        result = result_of("--port", spec, "lin", "slave", LDF, "--node", "Window", "--count", 1)
        heard = result_of("--port", spec, "lin", "monitor", "--ldf", LDF, "--count", 1, status=1)
    assert (result["backend"], result["answered"]) == ("uartbone", 1) and heard["frames"][0]["error"] == "no response"
    assert sent(vcd) == answer(at[0], with_checksum(window(255), WINDOW), int(BIT))


@pytest.mark.seconds(10)
def test_a_slave_is_kept(tmp_path):
    """The board goes on answering when the command has ended, SlaveResp once, until `litepulse stop`."""
    numbers, data = (WINDOW, RESPONSE, RESPONSE, WINDOW), bytes(range(8))
    at = [8 * START + n * STEP for n in range(4)] + [24 * START]
    nodes, vcd = stimulus(tmp_path / "nodes", *(header(tick, number) for tick, number in zip(at, (*numbers, WINDOW)))), tmp_path / "bus.vcd"
    with board_on_a_bus(vcd, "--stimulus", nodes) as spec:
        kept = result_of(
            *("--port", spec, "lin", "slave", LDF, "--node", "Window", "--set", "WindowPlace=7", "--flip-checksum", "WindowState=3"),
            *("--respond", data.hex(), "--keep"),
        )
        heard = result_of("--port", spec, "lin", "monitor", "--ldf", LDF, "--count", 4, status=1)
        armed = result_of("--port", spec, "info")["responder_armed"]
        stopped = result_of("--port", spec, "stop")["stopped"]
        silent = result_of("--port", spec, "lin", "monitor", "--ldf", LDF, "--count", 1, status=1)
    assert (kept["armed"], kept["node"], kept["space_ticks"], kept["answers"]) == (True, "Window", int(BIT), {"32": "WindowState"})
    assert [frame["tick"] for frame in heard["frames"]] == [tick + 1 for tick in at[:4]] and armed and stopped == ["responder"]
    assert [frame["error"] for frame in heard["frames"]] == ["wrong checksum", None, "no response", "wrong checksum"]
    assert [frame["error"] for frame in silent["frames"]] == ["no response"]
    values, response = with_checksum(window(7), WINDOW, flip=3), with_checksum(data, RESPONSE)
    assert sent(vcd) == [edge for tick, one in zip(at, (values, response, b"", values)) for edge in answer(tick, one, int(BIT))]


# On a board in Python behind a port -----------------------------------------------------------------------------------------


@pytest.fixture
def board():
    with Server(FakeBoard(step=5_000), "tcp") as server:
        server.board.spec, server.board.lock = server.spec, server.lock
        yield server.board


def slave_of(board, node="Window", **options):
    """The command on a board, as a process, once it is armed."""
    words = [*COMMAND, "--port", board.spec, "lin", "slave", LDF, "--node", node, *options.pop("words", [])]
    process = subprocess.Popen(list(map(str, words)), env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 60
    while not board.armed and time.monotonic() < end:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.01)
    assert board.armed and board.by_lin
    return process


def headers(board, *frames):
    """Another node's headers and responses, one behind the other."""
    with board.lock:
        place = board.tick + 10_000
        for frame_id, response in frames:
            place = board.hear(place, None, 0x55, PIDS[frame_id], *response) + 300_000


@pytest.mark.parametrize("number, status", [(signal.SIGINT, 0), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("style", ["--json", "--csv", None])
def test_a_signal_ends_it(board, number, status, style):
    """It reports the frames until then, and the board no longer answers."""
    process = slave_of(board, words=[style] if style else [])
    headers(board, (WINDOW, b""), (CONTROL, with_checksum(b"\x03\xff", CONTROL)))
    end = time.monotonic() + 60
    while board.received.position < 14 and time.monotonic() < end:
        time.sleep(0.01)
    process.send_signal(number)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == status and not board.armed
    sent_bytes = [data for _, _, source, data in board.line_log if source == "responder"]
    assert bytes(sent_bytes) == with_checksum(window(255), WINDOW)
    if style == "--json":
        result = json.loads(out)
        assert [(one["name"], one["own_response"], one["error"]) for one in result["frames"]][:1] == [("WindowState", True, None)]
        assert (result["answered"], result["missed"], result["lost"], errors) == (1, 0, 0, "")
    elif style == "--csv":
        row = dict(zip(*(line.split(",") for line in out.splitlines()[:2])))
        assert (row["name"], row["own"], row["data"], row["error"]) == ("WindowState", "response", "20fffeff", "")
        assert "1 sent whole, 0 missed" in errors
    else:
        (line,) = [line for line in out.splitlines() if " WindowState " in line]
        assert line.split()[-4:] == ["bits", "own", "WindowPlace=255", "WindowError=0"] and "answers  1 sent whole, 0 missed" in out


def test_lost_records_are_reported():
    """The receive stream is too short for all bytes: the number of missing ones is reported, with
    status 1."""
    with Server(FakeBoard(step=5_000, receive_depth=4), "tcp") as server:
        board = server.board
        board.spec, board.lock = server.spec, server.lock
        process = slave_of(board, words=["--for", "2s", "--json"])
        with board.lock:
            board.hear(board.tick + 1000, None, 0x55, *[7] * 60)
            board.advance(2_000_000)
        board.step = 500_000
        out, errors = process.communicate(timeout=60)
    result = json.loads(out)
    assert process.returncode == 1 and errors == "" and result["lost"] > 40 and result["lost_at_least"] is False


def test_events_whose_answer_is_lost_are_given_again():
    """Records are missing, so it is unknown whether the update was read: the next header gets it,
    too."""
    with Server(FakeBoard(step=5_000, receive_depth=4), "tcp") as server, litepulse.open(port=server.spec) as opened:
        board = server.board
        with lin.slave(opened, lin.Description(LDF), "Window", values={"WindowPlace": 5}) as slave:
            with server.lock:
                board.hear(board.hear(board.tick + 1000, *[7] * 60), None, 0x55, PIDS[ANY])
                board.advance(3_000_000)
                assert board.lin[ANY][0] == b"", "its answer is used up"
            next(slave)
            with server.lock:
                board.hear(board.tick + 1000, 7)  # the loss is reported with the next record
            while not isinstance(next(slave), LostEvent):
                pass
            assert board.lin[ANY][0] == window(5) and slave.lost > 40


def test_a_board_that_restarts(board):
    process = slave_of(board, words=["--json"])
    headers(board, (WINDOW, b""))
    time.sleep(0.5)
    with board.lock:
        board.reset()
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 2 and errors.startswith("litepulse: ") and "restarted" in errors and errors.count("\n") == 1
    assert not out or json.loads(out)["error"] in errors


def error_output(capsys):
    """The one line of an error."""
    text = capsys.readouterr().err
    assert text.startswith("litepulse: ") and text.count("\n") == 1, text
    return text.removeprefix("litepulse: ").removesuffix("\n")


NO_SENSE = [
    ("--node Door", "door.ldf has no slave Door; there is Window, Mirror"),
    ("--node Body", "Body is the master of door.ldf: 'litepulse lin master' plays it"),
    ("", "the following arguments are required: --node"),
    ("--set Nothing=1", "door.ldf has no signal Nothing"),
    ("--set MirrorAngle=1", "signal MirrorAngle: Mirror publishes it, not Window"),
    ("--set WindowPlace=256", "WindowPlace: 256 does not fit its 8 bits"),
    ("--set WindowPlace=1 --set WindowError=2", "signal WindowError: 2 is not 0 or 1"),
    ("--space x", "space: 'x' is not a number"),
    ("--flip-checksum WindowControl=1", "flip-checksum: Window does not answer WindowControl"),
    ("--flip-checksum 33=1", "flip-checksum: Window does not answer identifier 0x21"),
    ("--flip-checksum Door=1", "door.ldf has no frame Door"),
    ("--flip-checksum 32=256", "flip-checksum: 256 does not fit a byte"),
    ("--flip-checksum 32", "flip-checksum: '32' is not like 0x20=0x01"),
    ("--flip-checksum 32=1 --flip-checksum 32=2", "flip-checksum: 0x20 is given twice"),
    ("--flip-checksum 32=1 --flip-checksum WindowState=2", "flip-checksum: identifier 0x20 is given twice"),
    ("--flip-checksum 32=1 --checksum 32=2", "checksum: flip-checksum of identifier 0x20 is given, too"),
    ("--respond 0102", "response: 2 bytes are not 8"),
    ("--respond 0x", "response: 0 bytes are not 8"),
    ("--respond 1g", "respond: '1g' is not bytes in hexadecimal, like 4a5593e5"),
    ("--identifier 2=01", "identifier 0x02 is not 0x01 (serial number) or 0x20 to 0x3f, which are user-defined"),
    ("--identifier 1=01", "identifier 0x01: 1 bytes, it has 4"),
    ("--dump 01", "dump: 1 bytes, the answer to DataDump has 5"),
    ("--configuration /", "/: cannot read it (Is a directory)"),
    ("--keep", "--keep returns at once: --count and --for have nothing to count"),
]


@pytest.mark.parametrize("words, message", NO_SENSE)
def test_what_makes_no_sense(words, message, capsys, board):
    """It is named whether there is a board or not, and a board is left as it is."""
    node = [] if not words or "--node" in words else ["--node", "Window"]
    for port in ("/nonexistent/port", board.spec):
        assert cli.main(["--port", port, "lin", "slave", str(LDF), *node, *words.split(), "--for", "1ms"]) == 2
        assert error_output(capsys).startswith(message) and not board.armed and not board.lin


@pytest.mark.parametrize(
    "words, message",
    [
        ("--space 0.002", "space: 0.002 bit times is outside 0.003 to 1717986.918, what the board can do at this bit rate"),
        ("--space 1e9", "space: 1000000000 bit times is outside"),
        ("--baud 751k", "baud: a LIN slave needs bits of 64 cycles or more, at most 750000 baud on this board"),
    ],
)
def test_what_the_board_cannot_do(words, message, capsys, board):
    assert cli.main(["--port", board.spec, "lin", "slave", str(LDF), "--node", "Window", *words.split(), "--for", "1ms"]) == 2
    assert error_output(capsys).startswith(message) and not board.armed and not board.lin


@pytest.mark.parametrize(
    "words, message",
    [
        ("--sim lin slave", "--keep needs a device that outlives this command; the simulated SoC of --sim ends with it"),
        ("lin slave --count 1", "--keep returns at once: --count and --for have nothing to count"),
        ("lin slave --csv", "--keep returns at once: there are no rows for --csv"),
        ("lin slave --loopback", "--keep and --loopback exclude each other: "),
        ("lin slave --dump 0102030405", "--keep returns at once: nobody would answer the requests for --identifier, --dump and"),
        (f"lin slave --respond {'00' * 8} --respond {'01' * 8}", "respond: with --keep the board can answer one header of SlaveResp"),
    ],
)
def test_what_cannot_be_kept(words, message, capsys, board):
    device = [] if "--sim" in words else ["--port", board.spec]
    assert cli.main([*device, *words.split(), str(LDF), "--node", "Window", "--keep"]) == 2
    assert error_output(capsys).startswith(message) and not board.armed and not board.lin


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("WindowPlace, 8;", "WindowPlace, 0;", "WindowState: AnyState needs its first byte for the identifier, but WindowPlace lies there"),
        ("WindowState, MirrorState;", "WindowState, More;", "AnyState: Window publishes both WindowState and More, so it cannot know"),
        ("WindowState: 32, Window, 4", "WindowState: 32, Window, 2", "{file}: line 53: WindowState: WindowError at bit 16 is longer than"),
        ("Frames {", "Frames", "{file}: line "),
    ],
)
def test_a_bad_description(old, new, message, capsys, board, tmp_path):
    more = "  More: 34, Window, 4 {\n    WindowPlace, 8;\n  }\n}\n\nSporadic_frames"
    text = LDF.read_text().replace("}\n\nSporadic_frames", more)
    assert old in text
    file = tmp_path / "x.ldf"
    file.write_text(text.replace(old, new))
    assert cli.main(["--port", board.spec, "lin", "slave", str(file), "--node", "Window", "--for", "1ms"]) == 2
    assert error_output(capsys).startswith(message.format(file=file)) and not board.armed


@pytest.mark.parametrize(
    "depth, node, message",
    [
        (0, "Window", "the board's core was built without a LIN slave (lin_entries=0)"),
        (5, "Window", "WindowState: identifier 0x20 is beyond the board's table of answers, which ends at 0x1f"),
    ],
)
def test_a_board_with_a_smaller_table(depth, node, message, capsys):
    with Server(FakeBoard(step=5_000, lin_depth=depth), "tcp") as server:
        assert cli.main(["--port", server.spec, "lin", "slave", str(LDF), "--node", node, "--for", "1ms"]) == 2
        assert error_output(capsys).endswith(message) and not server.board.armed


def test_slave_response_beyond_the_table(tmp_path):
    file = tmp_path / "x.ldf"
    file.write_text(LDF.read_text().replace("WindowState: 32", "WindowState: 30").replace("AnyState: Resolve, 40", "AnyState: Resolve, 31"))
    with Server(FakeBoard(step=5_000, lin_depth=5), "tcp") as server, litepulse.open(port=server.spec) as opened:
        with lin.slave(opened, lin.Description(file), "Window") as slave:
            with pytest.raises(litepulse.BadInput, match="SlaveResp: identifier 0x3d is beyond the board's table"):
                slave.respond(bytes(8))
        with pytest.raises(litepulse.LitePulseError, match="the slave has ended"):
            slave.set(WindowPlace=1)
        with pytest.raises(litepulse.InUse):
            with lin.slave(opened, lin.Description(file), "Window"):
                lin.slave(opened, lin.Description(file), "Window")
        assert not server.board.armed


def test_signals_change_together_or_not_at_all():
    with Server(FakeBoard(step=5_000), "tcp") as server, litepulse.open(port=server.spec) as opened:
        with lin.slave(opened, lin.Description(LDF), "Window") as slave:
            before = dict(server.board.lin)
            for values in ({"WindowPlace": 3, "Light": 1}, {"WindowPlace": 3, "WindowError": 5}, {"WindowPlace": 300}):
                with pytest.raises(litepulse.BadInput):
                    slave.set(**values)
            assert server.board.lin == before
            slave.set(WindowPlace=3, WindowError=1)
            assert server.board.lin[WINDOW][0] == window(3, 1) and server.board.lin[ANY][0] == window(3, 1)


def test_a_space_that_the_standard_does_not_allow(board, capsys):
    """It is still used, to test how a master handles it."""
    assert cli.main(["--port", board.spec, "lin", "slave", str(LDF), "--node", "Window", "--space", "4.5", "--for", "1ms", "--json"]) == 1
    out, errors = capsys.readouterr()
    assert json.loads(out)["space_ticks"] == 11250 and errors == "litepulse: space: the standard allows 4 bit times before each byte\n"


def test_a_train_on_the_line(board):
    assert cli.main(["--port", board.spec, "train", "--rate", "100", "--keep"]) == 0
    with litepulse.open(port=board.spec) as opened, pytest.raises(litepulse.BadInput, match="a train is running on this line"):
        lin.slave(opened, lin.Description(LDF), "Window")
    assert cli.main(["--port", board.spec, "lin", "slave", str(LDF), "--node", "Window", "--for", "1ms"]) == 2
    assert board.train is not None and not board.armed
