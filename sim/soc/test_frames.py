# SPDX-License-Identifier: BSD-2-Clause
"""Checked frames at the simulated SoC, through its TCP port and its terminal. The bridge itself is tested at its pins (tb_frames)."""

import contextlib
import os
import random
import select
import socket
import time
import tty

import pytest

from litepulse import regs
from sim.soc.framing import READ, frame, heard, read, spoilt, words_of, write
from sim.soc.soc_rig import CONFIG, CSR, Simulated, fields, register

PATIENCE = 0.06  # seconds without an answer after which a host asks again
SILENCE = regs.BRIDGE_FRAME_SILENCE_MS / 1000
PLAIN = 2.2  # seconds without a frame after which plain commands are obeyed for certain


class Line:
    """A host on a file descriptor. `damage(bytes, to_board)` is what the cable makes of them."""

    def __init__(self, soc, damage=None):
        self.number, self.repeated = 0x80, 0
        self.damage = damage or (lambda data, to_board: data)
        if "tcp" in soc.info:
            self.socket = socket.create_connection(("127.0.0.1", soc.info["tcp"]), 10)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.fd = self.socket.fileno()
        else:
            self.fd = os.open(soc.info["pty"], os.O_RDWR | os.O_NOCTTY)
            tty.setraw(self.fd)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(AttributeError):
            return self.socket.close()
        os.close(self.fd)

    def send(self, data):
        os.write(self.fd, data)

    def receive(self, count, patience):
        """`count` bytes, or those that came in time."""
        got, end = b"", time.monotonic() + patience
        while len(got) < count and select.select([self.fd], [], [], max(0, end - time.monotonic()))[0]:
            got += os.read(self.fd, count - len(got))
        return got

    def plain(self, data, words=0, patience=10):
        """A plain command; the bytes that answer it."""
        self.send(data)
        return self.receive(4 * words, patience)

    def frame(self, *commands, words=0, number=None):
        """A frame with the next number, sent until it is answered, as docs/bridge.md says a host should. The words read."""
        if number is None:
            self.number = self.number + 1 & 0xFF | 0x80
        data = frame(self.number if number is None else number, *commands)
        for self.repeated in range(40):
            self.send(self.damage(data, True))
            got = self.damage(self.receive(4 * words + 3, PATIENCE * (1 + self.repeated)), False)
            with contextlib.suppress(AssertionError):
                assert len(got) == 4 * words + 3
                return words_of(got, data[1])
            while self.receive(1000, 1.2 * SILENCE):  # what may still come of the answer
                pass
        raise AssertionError(f"never answered: {data.hex()}")

    def applied(self):
        """The configuration words that took effect, modulo 256."""
        return fields(register(regs.CSRS, "configs"), self.frame(read(CSR["configs"]), words=1)[0])["applied"]


MODES = [("--lockstep", 20000), ("--always",), (), ("--pace",)]


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: " ".join(map(str, mode)) or "none")
def test_frames(mode):
    """As on a board: registers, writes once, reads each time, broken frames not at all, in all kinds of time."""
    with Simulated(*mode, connect=False) as soc, Line(soc) as line:
        assert line.plain(read(regs.BRIDGE_BASE, 2), 2) == bytes(4) + (1).to_bytes(4, "big")
        assert line.frame(read(CSR["id_magic"]), words=1) == [regs.MAGIC]
        before = line.applied()
        word = write(CONFIG["train_num"], 1234)
        assert line.frame(word) == []
        while line.applied() == before:
            pass
        assert line.applied() == before + 1
        assert line.frame(word, write(CSR["session"], 5), read(CSR["session"]), words=1) == [5]
        for _ in range(3):  # the same again
            assert line.frame(word, write(CSR["session"], 6), read(CSR["session"]), words=1, number=line.number) == [5]
        assert line.applied() == before + 2
        data = frame(line.number + 1 & 0xFF | 0x80, word, read(CSR["session"]))
        for bad in (spoilt(data), data[:7] + data[8:], data[:-1], data[1:], data[:5] + data[4:], b"\0" + data, data[:1]):
            assert not heard(bad)
            line.send(bad)
            assert line.receive(1, PATIENCE) == b""
            assert line.frame(word, read(CSR["session"]), words=1) == [5]
        assert line.applied() == before + 9
        line.send(data[:2] + data[2:] + data[-1:])  # the last byte twice: that comes while the frame is carried out
        assert len(line.receive(8, PATIENCE)) == 7
        assert line.frame(read(CSR["session"]), words=1) == [5] and line.repeated == 0


def test_plain_commands_wait_for_two_seconds_without_a_frame():
    with Simulated("--lockstep", 20000, connect=False) as soc:
        with Line(soc) as line:
            line.frame(write(CSR["session"], 7))
            for _ in range(3):
                assert line.plain(read(CSR["session"]), 1, PATIENCE) == b""
                assert line.plain(write(CSR["session"], 8) + read(CSR["session"]), 1, PATIENCE) == b""
                assert line.frame(read(CSR["session"]), words=1) == [7]
        with Line(soc) as line:  # another client, but the same line
            assert line.plain(read(CSR["session"]), 1, PATIENCE) == b""
            time.sleep(PLAIN)
            assert line.plain(read(CSR["session"]), 1) == bytes([0, 0, 0, 7])
            # Frames are as they were: that number was carried out.
            assert line.frame(write(CSR["session"], 9), read(CSR["session"]), words=1) == [9]


def test_terminal(tmp_path):
    with Simulated("--pty", tmp_path / "board", tcp=False, connect=False) as soc:
        for session in (1, 2):  # clients come and go within the two seconds
            with Line(soc) as line:
                line.number += session
                assert line.frame(write(CSR["session"], session), read(CSR["session"], 1, READ), words=1) == [session]
            time.sleep(0.05)


@pytest.mark.parametrize("seed", range(2))
def test_exactly_once_over_a_bad_cable(seed):
    """Two of five frames and answers are damaged, in any way; each write is done once, and all is read right."""
    chance = random.Random(f"{seed} {os.environ.get('LITEPULSE_SEED', '')}")

    def damage(data, _):
        if not data or chance.random() < 0.6:
            return data
        place = chance.randrange(len(data))
        return chance.choice(
            (
                lambda: data[:place] + data[place + 1 :],
                lambda: data[:place] + data[place : place + 1] + data[place:],
                lambda: data[:place] + bytes([data[place] ^ 1 << chance.randrange(8)]) + data[place + 1 :],
                lambda: data[:place],
                lambda: data[place:],
                lambda: data + data,
                lambda: data[:place] + chance.randbytes(3) + data[place:],
                lambda: chance.randbytes(len(data)),
                lambda: b"",
            )
        )()

    with Simulated("--lockstep", 20000, connect=False) as soc, Line(soc) as line:
        before = line.applied()
        line.damage = damage
        repeated = 0
        for n in range(25):
            assert line.frame(
                write(CONFIG["train_num"], n), write(CSR["session"], n), read(CSR["session"]), read(CONFIG["train_num"]), words=2
            ) == [n, n]
            repeated += line.repeated
        line.damage = lambda data, _: data
        time.sleep(SILENCE)
        assert line.applied() == before + 25
        assert repeated > 10


def test_lockstep_counts_a_frame_as_one_command():
    step = 5000
    with Simulated("--lockstep", step, connect=False) as soc, Line(soc) as line:
        now = read(regs.WINDOW_BASE, 4)
        line.frame(now, words=4)
        ticks = []
        for _ in range(5):
            words = line.frame(*[now] * 5, words=20)
            assert line.repeated == 0
            ticks.append([words[k + 2] | words[k + 3] << 32 for k in range(0, 20, 4)])
            time.sleep(0.1)
        assert all(step - 500 < b[0] - a[0] < step + 1500 for a, b in zip(ticks, ticks[1:], strict=False)), ticks
        assert all(0 < d[-1] - d[0] < 1000 for d in ticks), ticks
