# SPDX-License-Identifier: BSD-2-Clause
"""What was left running with --keep goes on, to the tick, whatever other commands do on the board,
as the pins of the simulated SoC show."""

import json
import subprocess
from fractions import Fraction

import pytest

import litepulse
from litepulse.backends.bus.backend import BusBackend
from litepulse.line import Launch, Profile, Response, Trigger
from litepulse.units import Period
from litex_soc import sim_soc

from .fake_board import FakeBoard
from .test_sim import frame_edges, pins, run

HZ = 500_000  # as the simulated board declares it: little has to be simulated for a second
BIT = Fraction(round(Fraction(HZ, 9600) * 256), 256)
FIRST, EVERY, FRAMES = 60_000, 15_000, 400  # of 0x55 on RX, in ticks
RESPOND = ["respond", "--on", "byte:0x55", "--byte", "0xaa", "--delay", "1ms", "--baud", "9600", "--keep"]
PULSES = ["train", "--width", "100us", "--invert", "--rate", "100", "--keep"]


class Soc:
    """A simulated SoC that outlives commands; its time passes with their requests alone."""

    def __init__(self, folder, *words):
        self.vcd, stimulus = folder / "pins.vcd", folder / "stimulus"
        lines = [(FIRST + n * EVERY, 0x55) for n in range(FRAMES)]
        stimulus.write_text("".join(f"{tick} rx {level}\n" for start, byte in lines for tick, level in frame_edges(start, byte, BIT)))
        program = sim_soc.build(sys_hz=sim_soc.PULSE_HZ // 2)
        options = ["--tcp", "0", "--exit-with-parent", "--step", "500", "--pulse-hz", str(HZ), "--vcd", str(self.vcd)]
        command = [str(program), *options, *(words or ["--stimulus", str(stimulus)])]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = f"tcp:127.0.0.1:{json.loads(self.process.stdout.readline())['tcp']}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(timeout=20)
        self.process.stdout.close()

    def run(self, *words):
        return run("--port", self.port, *words)

    def info(self):
        return json.loads(self.run("info", "--json").stdout)

    def tx(self, first, last):
        """[(tick, level)] of the pin within."""
        return [(tick, level) for tick, level in pins(self.vcd, HZ, "1 us")["tx"] if first <= tick < last]


@pytest.fixture
def soc(tmp_path):
    with Soc(tmp_path) as soc:
        yield soc


def answers(first, last):
    """Edges of TX within: each frame is answered 1 ms behind its end. A stamp is a tick behind the pin."""
    starts = [FIRST + n * EVERY for n in range(FRAMES)]
    edges = [edge for start in starts for edge in frame_edges(start + 1 + int(10 * BIT) + HZ // 1000, 0xAA, BIT)]
    return [(tick, level) for tick, level in edges if first <= tick < last]


# What may be done beside it, and what not: (words, what the refusal names).
LISTENERS = [
    ["info"],
    ["capture", "--inputs", "0", "--for", "60ms"],
    ["capture", "--inputs", "0", "--filter", "10", "--for", "60ms"],
    ["capture", "--bytes", "--baud", "9600", "--for", "60ms"],
    ["capture", "--inputs", "none", "--bytes", "--baud", "9600", "--for", "60ms", "--json"],
]
REFUSED = [
    (["capture", "--bytes", "--baud", "115200", "--for", "60ms"], "receives at 9600 baud 8N1"),
    (["capture", "--bytes", "--format", "8E1", "--for", "60ms"], "receives at 9600 baud 8N1"),
    (["capture", "--bytes", "--invert", "--move-tx", "--for", "60ms"], "receives at 9600 baud 8N1"),
    (["capture", "--loopback", "--for", "60ms"], "listens to the pin"),
    (["capture", "--filter", "20", "--for", "60ms"], "with a filter of 1 samples on rx"),
    (["train", "--rate", "100", "--count", "5", "--baud", "19200"], "goes on here"),
    (["train", "--rate", "100", "--width", "1ms", "--keep"], "goes on here"),
    (["send", "{bytes}", "--baud", "9600"], "goes on here"),
    (["latency", "--width", "100us", "--on", "edge:0:fall", "--count", "3"], "goes on here"),
    (["certify", "--self", "--edges", "20", "--baud", "9600"], "goes on here"),
    (["lin", "monitor", "--baud", "2400", "--for", "60ms"], "receives at 9600 baud 8N1"),
    (["lin", "inject", "--id", "16", "--baud", "9600"], "goes on here"),
]


def test_a_kept_responder_answers_through_all(soc, tmp_path):
    (tmp_path / "bytes").write_bytes(b"bytes")
    assert soc.run(*RESPOND).returncode == 0
    begin = soc.info()["tick"]
    for words in LISTENERS:
        done = soc.run(*words)
        assert done.returncode == 0 and done.stderr == "", (words, done)
    heard = json.loads(done.stdout)["bytes"]
    starts = range(FIRST, FIRST + FRAMES * EVERY, EVERY)
    assert heard and all(byte["data"] == 0x55 and byte["tick"] - 1 in starts for byte in heard)
    for words, why in REFUSED:
        done = soc.run(*(word.format(bytes=tmp_path / "bytes") for word in words))
        assert done.returncode == 2 and done.stderr.count("\n") == 1 and "a responder to byte 0x55" in done.stderr, (words, done)
        assert why in done.stderr, (words, done.stderr)
        assert done.stdout == "" or words[0] != "capture"
    assert soc.run("capture", "--inputs", "0", "--for", "100ms").returncode == 0
    result = soc.info()
    end = result["tick"] - EVERY
    assert result["responder_armed"] and len(answers(begin, end)) > 9 * 15
    soc.__exit__()
    assert soc.tx(begin, end) == answers(begin, end)


def test_a_responder_replaces_a_kept_one_and_stop_ends_it(soc):
    """There is one responder: arming it says that the one before is over. A refusal leaves the one before as it is."""
    assert soc.run(*RESPOND).returncode == 0
    assert soc.run(*RESPOND[:-1], "--for", "60ms").returncode == 0
    assert soc.info()["responder_armed"] is False
    assert soc.run(*RESPOND).returncode == 0
    assert soc.run("respond", "--on", "byte:0x55", "--delay", "999999t", "--echo", "1s").returncode == 2
    assert soc.info()["responder_armed"] is True
    assert json.loads(soc.run("stop", "--json").stdout)["stopped"] == ["responder"]


def test_a_kept_inverted_train_goes_on(soc):
    """Pulses from 0 to 1, without a missing one, beside listeners and a responder that is armed and
    stopped."""
    result = json.loads(soc.run(*PULSES, "--json").stdout)
    for words in (
        ["info"],
        ["capture", "--inputs", "0", "--for", "60ms"],
        ["capture", "--bytes", "--invert", "--baud", "115200", "--for", "30ms"],
        ["capture", "--loopback", "--for", "30ms"],
        ["respond", "--on", "edge:1:rise", "--delay", "1ms", "--width", "50us", "--invert", "--for", "60ms"],
        ["respond", "--on", "edge:1:rise", "--delay", "1ms", "--width", "50us", "--invert", "--keep"],
        ["respond", "--off"],
    ):
        done = soc.run(*words)
        assert done.returncode == (1 if "--for" in words and "respond" in words else 0), (words, done)
    for words in (
        ["capture", "--bytes", "--for", "30ms", "--move-tx"],
        ["respond", "--on", "edge:1:rise", "--delay", "1ms", "--width", "50us", "--keep"],
    ):
        done = soc.run(*words)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, (words, done)
        assert "a train (pulse of 50 ticks) goes on here with an idle level of 0" in done.stderr
    for words in (["send", "/etc/hostname"], ["certify", "--self", "--edges", "20"]):
        done = soc.run(*words)
        assert done.returncode == 2 and "a train is running" in done.stderr, (words, done)
    end = soc.info()
    assert end["train_running"] and not end["responder_armed"]
    last, period = end["tick"] - 10_000, HZ // 100
    soc.__exit__()
    places = range(result["start"], last, period)
    assert len(places) > 20
    assert soc.tx(result["start"], last) == [edge for place in places for edge in ((place, 1), (place + 50, 0)) if edge[0] < last]


@pytest.mark.parametrize("words", [["--invert"], ["--invert", "--format", "8E2"]])
def test_to_listen_moves_no_pin(words, tmp_path):
    """The receiver's polarity is also that of TX at rest: a listener that would move it says so, unless it may."""
    with Soc(tmp_path, "--loop-tx-input", "0") as soc:
        done = soc.run("capture", "--bytes", *words, "--for", "10ms")
        assert done.returncode == 2 and done.stderr.count("\n") == 1 and "--move-tx" in done.stderr
        assert soc.run("lin", "monitor", "--baud", "9600", "--for", "10ms").returncode == 1, "nothing heard"
        before = soc.info()["tick"]
        assert soc.run("capture", "--bytes", *words, "--move-tx", "--for", "10ms").returncode == 0
        done = soc.run("capture", "--bytes", "--for", "10ms")
        assert done.returncode == 2 and "TX rests at 0" in done.stderr
        after = soc.info()["tick"]
    moves = [tick for tick, level in pins(soc.vcd, HZ, "1 us")["tx"][1:]]
    assert len(moves) == 1 and before < moves[0] < after


# Without a simulation ---------------------------------------------------------------------------------------------------


def left(board):
    """A train and a responder that another program left on a board."""
    device = BusBackend(board, "test", "first")
    profile = Profile(device.identity.timescale.bit_period(115200))
    device.line.set_receiver(profile, True, False)
    device.line.set_profile(1, profile)
    device.pledge(keep=False)
    device.train.start(Launch("frame", 0x55), Period(480_000, 0, 1))
    device.responder.arm(Response(Trigger("byte", value=7), Launch("frame", 1), 1000))
    device.leave()


def test_a_job_ends_what_it_began_and_nothing_else():
    board = FakeBoard(step=100)
    left(board)
    session, config = board.session, dict(board.config)
    device = BusBackend(board, "test", "second")
    assert device.kept() == ("a train (byte 0x55)", "a responder to byte 0x07")
    device.release()
    assert board.train and board.armed and board.session == session and board.session >> 31 == 1
    changed = {index for index, word in board.config.items() if config.get(index) != word}
    assert not changed & {*range(10), 11, *range(16, 39)}, "profiles, line, filter, train and responder are as they were"
    board.silence(60 * 48_000_000)
    assert board.train and board.armed


def test_what_a_dead_program_left_still_stops_by_itself():
    """A program that starts meanwhile does not switch its watchdog off."""
    board = FakeBoard(step=100)
    device = BusBackend(board, "test", "dead")
    device.line.set_profile(1, Profile(device.identity.timescale.bit_period(115200)))
    device.pledge(keep=False)
    device.train.start(Launch("frame", 0x55), Period(480_000, 0, 1))
    other = BusBackend(board, "test", "other")
    other.release()
    assert board.train
    board.silence(60 * 48_000_000)
    assert board.train is None


def test_a_launch_beside_a_kept_train_has_another_profile():
    board = FakeBoard(step=100)
    left(board)
    device = BusBackend(board, "test", "second")
    before = device.registers.profile(1)
    slower = Profile(device.identity.timescale.bit_period(9600))
    device.line.set_profile(1, slower)
    assert device.registers.profile(1) == before and device.registers.profile(2) == slower
    device.queue.launch([(board.tick + 1_000_000, 1, Launch("frame", 3))])
    assert board.queue[0][2] >> 8 & 3 == 2


def test_a_capture_beside_one_s_own_responder():
    """The package: what this program armed is protected from its own capture, too."""
    backend = BusBackend(FakeBoard(step=1000), "test", "board")
    with litepulse.Board(backend) as board:
        board.respond(litepulse.Byte(0x55), "1ms", byte=0xAA, baud=115200)
        with board.capture(inputs=[0], duration="1ms") as capture:
            list(capture)
        assert backend.registers.config_words("line", "line")["line"] == 8, "the receiver is still on"
        with board.capture(bytes=True, baud=115200, duration="1ms") as capture:
            list(capture)
        with pytest.raises(litepulse.InUse, match="a responder to byte 0x55 goes on here and receives at 115200 baud 8N1"):
            board.capture(bytes=True, baud=9600, duration="1ms")
        assert board.status().responder_armed
