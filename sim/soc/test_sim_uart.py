# SPDX-License-Identifier: BSD-2-Clause
"""A UART at the pins of the simulated SoC: its edges to the tick, its bytes both ways, its program."""

import json
import os
import random
import select
import socket
import subprocess
import sys
from fractions import Fraction
from math import floor

import pytest

import litepulse
from litepulse.vcd import Vcd
from litex_soc import sim_soc
from litex_soc.sim_uart import DELAY, FIFO, SimUart
from sim.cocotb_rig import ROOT

HZ = 1_000_000
COMMAND = [sys.executable, "-m", "litex_soc.sim_uart"]


def source(data):
    """take() that hands out bytes as there is room, and what it handed out each time."""
    rest, taken = bytearray(data), []

    def take(room):
        part = bytes(rest[:room])
        del rest[:room]
        taken.append((room, len(part)))
        return part

    return take, taken


def wave(data, start, bit):
    """[(tick, level)] of 8N1 in a row, edge k of it at floor(start + k * bit)."""
    found, level, k = [], 1, 0
    for byte in data:
        for now in (0, *(byte >> n & 1 for n in range(8)), 1):
            if now != level:
                found.append((floor(start + k * bit), now))
                level = now
            k += 1
    return found


@pytest.mark.parametrize("seed", range(10))
def test_a_row_of_bytes_to_the_tick(seed):
    """However it is cut into steps; another one hears the same bytes."""
    rng = random.Random(seed)
    bit, data = Fraction(rng.randrange(400, 30_000), 97), rng.randbytes(60)
    take, taken = source(data)
    heard = bytearray()
    sender = SimUart(bit, DELAY, take, lambda _: None)
    listener = SimUart(bit * Fraction(101, 100), DELAY, lambda _: b"", heard.extend)
    changes, tick = [], 0
    while tick < 62 * 10 * bit:
        tick += rng.randrange(1, 4000)
        passed = sender.pass_time(tick)
        assert passed[-1] == (tick, sender.level)
        changes += [each for each in passed[:-1]]
        for each in passed:
            listener.hear(*each)
        listener.pass_time(tick)
    assert changes == wave(data, 0, bit) and heard == data
    assert all(part <= room <= FIFO for room, part in taken)


def test_what_is_no_frame_is_no_byte():
    heard = bytearray()
    uart = SimUart(Fraction(10), DELAY, lambda _: b"", heard.extend)
    for tick, level in ((100, 0), (350, 1), *wave(b"A", 500, Fraction(10)), (800, 0), (899, 1), (1000, 0), (1004, 1)):
        uart.hear(tick, level)
    uart.pass_time(2000)
    assert heard == b"A", "a break, a stop bit that is low, a start bit that does not last"


def test_on_a_simulated_board(tmp_path):
    """The program, its pseudo-terminal and the recorded pins. It ends with the simulator, and takes the link away."""
    vcd, wire, link = tmp_path / "pins.vcd", tmp_path / "wire", tmp_path / "patient"
    board = [sim_soc.build(), "--tcp", "0", "--pace", "--link", wire, "--vcd", vcd, "--exit-with-parent"]
    with subprocess.Popen(list(map(str, board)), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as simulator:
        port = json.loads(simulator.stdout.readline())["tcp"]
        words = ["--link", wire, "--baud", "19200/2", "--pty", link]
        with subprocess.Popen(list(map(str, [*COMMAND, *words])), cwd=ROOT, stdout=subprocess.PIPE) as uart:
            started = json.loads(uart.stdout.readline())
            assert os.readlink(link) == started["pty"] and (started["baud"], started["pid"]) == ("9600", uart.pid)
            file = os.open(link, os.O_RDWR | os.O_NOCTTY)
            with litepulse.open(port=f"tcp:127.0.0.1:{port}") as opened:
                with opened.capture(("rx",), bytes=True, count=5) as capture:
                    os.write(file, b"hello")
                    got = bytes(event.data for event in capture if isinstance(event, litepulse.ByteEvent))
                with opened.send(b"answer") as sent:
                    assert [outcome.reason for outcome in sent] == [None] * 6
            answer = b""
            while len(answer) < 6 and select.select([file], [], [], 5)[0]:
                answer += os.read(file, 100)
            os.close(file)
            simulator.terminate()
            assert simulator.wait(10) == 0 and uart.wait(10) == 0 and not link.exists()
    assert answer == b"answer"
    rx = Vcd(vcd, HZ).signals["rx"][1:]
    assert rx == wave(b"hello", rx[0][0], Fraction(HZ, 9600))
    assert b"hello".startswith(got)


def test_a_tcp_port(tmp_path):
    wire = str(tmp_path / "wire")
    with subprocess.Popen(
        [sim_soc.build(), "--tcp", "0", "--pace", "--link", wire, "--exit-with-parent", "--loop-tx-input", "0"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as simulator:
        port = json.loads(simulator.stdout.readline())["tcp"]
        with subprocess.Popen([*COMMAND, "--link", wire, "--baud", "9600", "--tcp", "0"], cwd=ROOT, stdout=subprocess.PIPE) as uart:
            client = socket.create_connection(("127.0.0.1", json.loads(uart.stdout.readline())["tcp"]), timeout=5)
            with litepulse.open(port=f"tcp:127.0.0.1:{port}") as opened, litepulse.Serial(opened, 9600, timeout=5) as line:
                client.sendall(b"to the board")
                assert line.read(12) == b"to the board"
                line.write(b"back")
                answer = b""
                while len(answer) < 4:
                    answer += client.recv(10)
                assert answer == b"back"
            client.close()
            uart.terminate()
            assert uart.wait(10) == 0
        simulator.terminate()


@pytest.mark.parametrize(
    "words, why",
    [
        (["--link", "x"], "--baud"),
        (["--link", "x", "--baud", "300000"], "--baud: 300000 is not within 0 and a quarter of the clock, 250000"),
        (["--link", "x", "--baud", "0"], "--baud: 0 is not within"),
        (["--link", "x", "--baud", "9600", "--pty", "--tcp", "0"], "--pty and --tcp exclude each other"),
    ],
)
def test_bad_options(words, why):
    done = subprocess.run([*COMMAND, *words], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and done.stdout == "" and why in done.stderr
