# SPDX-License-Identifier: BSD-2-Clause
"""`litepulse serve --teensy-pulse`: a client that has nothing but the protocol of Micro-Manager's
pulse generator, and the pulses that it gets, on the simulated board's pins."""

import contextlib
import re
import signal
import struct
import subprocess
import time

import pytest
import serial

import litepulse
from litepulse import teensy_pulse
from litepulse.teensy_pulse import TeensyPulse

from .fake_board import FakeBoard, Server
from .test_sim import COMMAND, ENV, HZ, pins

US = HZ // 10**6


def command(number, value=0):
    return struct.pack("<BI", number, value)


class Client:
    """Speaks as the device adapter does: a command or a query, and its answer within a second."""

    def __init__(self, path):
        self.port = serial.Serial(str(path), 115200, timeout=20)

    def read(self, number):
        answer = self.port.read(5)
        assert answer[:1] == bytes([number]), answer
        return struct.unpack("<I", answer[1:])[0]

    def tell(self, number, value=0):
        self.port.write(bytes([number]) + struct.pack("<I", value))
        return self.read(number)

    def ask(self, number):
        self.port.write(bytes([255, number]))
        return self.read(number)

    def wait_until_idle(self):
        end = time.monotonic() + 120
        while self.ask(1):
            assert time.monotonic() < end
            time.sleep(0.01)


@contextlib.contextmanager
def served(tmp_path, *device, words=()):
    """(client, path of the pins, what was printed once it has ended) of the command, which Ctrl-C ends."""
    link, vcd, printed = tmp_path / "pulses", tmp_path / "pins.vcd", []
    command = [*COMMAND, "--sim", "--vcd", str(vcd), *device, "serve", "--teensy-pulse", "--link", str(link), *words]
    with subprocess.Popen(command, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            printed += [process.stdout.readline(), process.stdout.readline()]
            assert link.exists() and str(link) in printed[1], (printed, process.poll())
            yield Client(link), vcd, printed
        finally:
            process.send_signal(signal.SIGINT)
            printed += process.communicate(timeout=60)
    assert process.returncode == 0 and not link.is_symlink()


def highs(vcd):
    """[(tick, length)] of the high pulses on TX, which rests at 0 from the first start on."""
    changes = pins(vcd)["tx"]
    return [(tick, end - tick) for (tick, level), (end, _) in zip(changes, changes[1:]) if level == 1 and tick > 0]


@pytest.mark.seconds(20)
def test_a_run_of_some_pulses(tmp_path):
    """As Micro-Manager begins: version, then each setting is read and set, then a start. Each pulse is at its tick."""
    with served(tmp_path) as (client, vcd, printed):
        assert [client.tell(0), client.ask(0)] == [1, 1]
        assert [client.ask(n) for n in range(1, 7)] == [0, 1, 500_000, 50_000, 0, 0], "as the device is after a reset"
        assert [client.tell(3, 500), client.tell(4, 25), client.tell(6, 12)] == [500, 25, 12]
        assert [client.ask(n) for n in range(3, 7)] == [500, 25, 0, 12]
        assert client.tell(1) == 1
        client.wait_until_idle()
        assert client.ask(2) == 1 and client.tell(2) == 12
        assert [client.tell(6, 3), client.tell(1)] == [3, 1]
        client.wait_until_idle()
    pulses = highs(vcd)
    assert [length for _, length in pulses] == [25 * US] * 15
    places = [tick for tick, _ in pulses]
    for run in (places[:12], places[12:]):
        assert [b - a for a, b in zip(run, run[1:])] == [500 * US] * (len(run) - 1)
    assert printed[2:] == ["15 pulses after 2 starts\n", ""]


@pytest.mark.seconds(20)
def test_until_it_is_stopped(tmp_path):
    """Stop answers with the pulses that have left. A new interval acts without a gap."""
    with served(tmp_path) as (client, vcd, _):
        assert [client.tell(3, 200), client.tell(4, 10), client.tell(1)] == [200, 10, 1]
        assert [client.ask(1) for _ in range(5)] == [1] * 5  # a look each, 400 us
        assert client.tell(3, 300) == 300 and [client.ask(1) for _ in range(5)] == [1] * 5
        count = client.tell(2)
        assert client.ask(1) == 0 and client.ask(2) == 1
    places = [tick for tick, _ in highs(vcd)]
    assert len(places) == count > 4
    distances = [b - a for a, b in zip(places, places[1:])]
    assert set(distances) == {200 * US, 300 * US} and distances == sorted(distances)


@pytest.mark.parametrize("count", [1, 3])
def test_pulses_that_wait_for_an_edge(count, tmp_path):
    """Each edge is answered after 1 us, but not within the interval behind a pulse; the run ends with its last pulse."""
    first, apart = 1_000_000, 48_000  # 1 ms
    edges = [first + n * apart + late for n in range(6) for late in (0, 4_800)]
    lines = [(edge + width, level) for edge in edges for width, level in ((0, 1), (480, 0))]
    stimulus, vcd = tmp_path / "edges.txt", tmp_path / "pins.vcd"
    stimulus.write_text("".join(f"{tick} 1 {level}\n" for tick, level in lines))
    with litepulse.open(sim=True, stimulus=stimulus, vcd=vcd) as board:
        with TeensyPulse(board, 1) as device:
            settings = {3: 500, 4: 10, 5: 1, 6: count}
            for number, value in settings.items():
                assert device.receive(command(number, value)) == command(number, value)
            assert device.receive(command(1)) == command(1, 1) and board.now().tick < first
            while device.running:
                device.look()
            assert device.receive(command(2)) == command(2, count)
        while board.now().tick < edges[-1]:
            pass
    stamps = [first + n * apart + 1 for n in range(count)]
    assert highs(vcd) == [(stamp + US, 10 * US) for stamp in stamps]


@pytest.fixture
def device():
    """On a simulated board: (the device, the board behind it, what it has reported)."""
    with Server(FakeBoard(step=100_000)) as server, litepulse.open(port=server.spec) as board:
        reports = []
        with TeensyPulse(board, report=reports.append) as device:
            yield device, server.board, reports


def test_bytes_that_come_one_by_one(device):
    """And several commands at once; unknown ones are passed over, in their length, without an answer."""
    teensy, _, _ = device
    stream = command(3, 20_000) + command(9, 1) + b"\xff\x08" + b"\xff\x03"
    assert b"".join(teensy.receive(bytes([byte])) for byte in stream) == command(3, 20_000) * 2
    assert teensy.receive(stream * 2) == command(3, 20_000) * 4


def test_what_the_board_cannot_do(device):
    """The answer has what holds, which is not what was set: Micro-Manager reports that."""
    teensy, _, reports = device
    assert teensy.receive(command(3, 2)) == command(3, 500_000)
    assert teensy.receive(command(4, 0)) == command(4, 50_000)
    assert teensy.receive(command(3, 50_000) + command(1)) == command(3, 50_000) + command(1, 0)
    assert teensy.receive(b"\xff\x01") == command(1, 0) and teensy.starts == 0
    assert [re.match("interval|pulse duration|start", report)[0] for report in reports] == ["interval", "pulse duration", "start"]


def test_another_job_has_the_board(device):
    teensy, _, reports = device
    with teensy.board.train(rate=100, width="10us"):
        assert teensy.receive(command(1)) == command(1, 0)
    assert "has a job on it already" in reports[0]
    assert teensy.receive(command(1)) == command(1, 1) and teensy.receive(command(2))[:1] == b"\x02"


def test_closing_disarms(device):
    """A run of N pulses ends with the Nth, whichever edges follow."""
    teensy, board, _ = device
    assert teensy.receive(command(5, 1) + command(6, 1) + command(1)) == command(5, 1) + command(6, 1) + command(1, 1)
    assert board.armed and teensy.running
    teensy.close()
    assert not board.armed and not teensy.running


def test_names_of_the_protocol():
    assert [teensy_pulse.VERSION, teensy_pulse.START, teensy_pulse.PULSES, teensy_pulse.QUERY] == [0, 1, 6, 255]
