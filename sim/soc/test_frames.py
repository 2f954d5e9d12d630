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
from sim.bridge_frames import MARKER, PACKED, READ, frame, heard, pack, read, spoilt, words_of, write
from sim.soc.soc_rig import CONFIG, CSR, WINDOW, Simulated, fields, register

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

    def frame(self, *commands, words=0, number=None, packed=False):
        """A frame with the next number, sent until it is answered, as docs/bridge.md says a host should. The words read."""
        if number is None:
            self.number = self.number + 1 & 0xFF | 0x80
        data = frame(self.number if number is None else number, *commands, marker=PACKED if packed else MARKER)
        for self.repeated in range(40):
            self.send(self.damage(data, True))
            got = self.damage(self.receive((5 if packed else 4) * words + 3, PATIENCE * (1 + self.repeated)), False)
            with contextlib.suppress(AssertionError, IndexError):
                assert packed or len(got) == 4 * words + 3
                return words_of(got, data[1], words if packed else None)
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
        assert line.plain(read(regs.BRIDGE_BASE, 2), 2) == bytes(4) + (3).to_bytes(4, "big")
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
        # The header of the event stream, eight times, plain and packed: but for the tick they are the same.
        headers = [read(regs.WINDOW_BASE, 4)] * 8
        plain, packed = (line.frame(*headers, words=32, packed=packed) for packed in (False, True))
        assert [plain[n] for n in range(32) if n % 4 < 2] == [packed[n] for n in range(32) if n % 4 < 2]
        ticks = [words[n] | words[n + 1] << 32 for words in (plain, packed) for n in range(2, 32, 4)]
        assert ticks == sorted(set(ticks))
        line.send(frame(line.number + 1 & 0xFF | 0x80, *headers, marker=PACKED))
        assert len(line.receive(131, PATIENCE)) < 16 * 9 // 8 + 7 * (2 + 3) + 3
        line.send(data[:2] + data[2:] + data[-1:])  # the last byte twice: that comes while the frame is carried out
        assert len(line.receive(8, PATIENCE)) == 7
        assert line.frame(read(CSR["session"]), words=1) == [5] and line.repeated == 0


@pytest.mark.parametrize("mode", MODES[:2], ids=lambda mode: " ".join(map(str, mode)))
def test_frames_that_wait(mode):
    """Those that are sent at once are answered in order; of more than fit the last is lost, and is not carried out."""
    with Simulated(*mode, connect=False) as soc, Line(soc) as line:
        line.frame(write(CSR["session"], 1))
        for count in (2, 3, 7):
            # The first takes long enough for the others to come.
            frames = [frame(0x10 * count + 1, *[read(WINDOW["EVENTS"], 255)] * 3)]
            frames += [frame(0x10 * count + 2 + n, write(CSR["session"], n), read(CSR["session"])) for n in range(count)]
            kept = min(count, regs.BRIDGE_FRAME_WAITING // len(frames[-1]))
            assert kept == min(count, 6)
            line.send(b"".join(frames))
            assert words_of(line.receive(3 * 255 * 4 + 3, 10), frames[0][1])[0] == 0
            for n in range(kept):
                assert words_of(line.receive(7, 2), frames[1 + n][1]) == [n]
            assert line.receive(1, 2 * PATIENCE) == b""
            assert line.frame(read(CSR["session"]), words=1) == [kept - 1]


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


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])
def test_exactly_once_over_a_bad_cable(packed):
    """Two of five frames and answers are damaged, in any way; each write is done once, and all is read right."""
    chance = random.Random(f"{int(packed)} {os.environ.get('LITEPULSE_SEED', '')}")

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
            assert (
                line.frame(
                    write(CONFIG["train_num"], n),
                    write(CSR["session"], n),
                    *[read(CSR["session"])] * 5,
                    read(CONFIG["train_num"]),
                    words=6,
                    packed=packed,
                )
                == [n] * 6
            )
            repeated += line.repeated
        line.damage = lambda data, _: data
        time.sleep(SILENCE)
        assert line.applied() == before + 25
        assert repeated > 10


@pytest.mark.full
def test_each_place_of_a_packed_exchange():
    """Each byte of question and answer lost, doubled, each with a bit turned: the write is done once, and what is read is right."""
    chance, harmed = random.Random(5), []
    ways = {
        "lost": lambda data, place: data[:place] + data[place + 1 :],
        "doubled": lambda data, place: data[:place] + data[place : place + 1] + data[place:],
        "turned": lambda data, place: data[:place] + bytes([data[place] ^ 1 << chance.randrange(8)]) + data[place + 1 :],
    }
    with Simulated("--lockstep", 20000, connect=False) as soc, Line(soc) as line:
        before, count = line.applied(), 0
        for to_board in (True, False):
            for how, harm in ways.items():
                place, size = 0, 1
                while place < size:
                    left = [1]

                    def damage(data, way, left=left, place=place, harm=harm, to_board=to_board):
                        nonlocal size
                        if way != to_board or not left:
                            return data
                        left.clear()
                        size = len(data)
                        return harm(data, place)

                    line.damage = damage
                    count += 1
                    words = [write(CONFIG["train_num"], count), *[read(CSR["session"])] * 5, read(CONFIG["train_num"])]
                    assert line.frame(*words, words=6, packed=True) == [0] * 5 + [count], (to_board, how, place)
                    harmed.append((to_board, how, place))
                    place += 1
        line.damage = lambda data, _: data
        time.sleep(SILENCE)
        assert line.applied() == (before + count) % 256
    question, answer = (len({place for way, _, place in harmed if way == to_board}) for to_board in (True, False))
    assert question == 3 + 10 + 6 * 6 + 2 and answer == 3 + 16 + 1 + 3, (question, answer)


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


def test_events_take_the_bus_as_long_as_on_the_page(tmp_path):
    """A hundred edges, 2,667 ticks apart, read between two looks at the clock: 29 cycles of the bus each; packed 49, in 616 bytes."""
    stimulus = tmp_path / "edges"
    stimulus.write_text("".join(f"{200_000 + 2667 * n} rx {n % 2}\n" for n in range(110)))
    header, events = WINDOW["EVENTS"], WINDOW["EVENTS"] + 32
    taken, seen = {}, {}
    with Simulated("--lockstep", 20000, "--stimulus", stimulus, connect=False) as soc, Line(soc) as line:
        line.frame(write(CONFIG["event_mask"], 0x7FF), write(CONFIG["capture_edges"], 0xFFFFFFFF))
        while line.frame(read(header, 4), words=4)[0] & 0xFFFF < 105:
            pass
        for packed in (False, True):
            words = line.frame(read(header, 4), read(events, 200), read(events + 800, 200), read(header, 4), words=408, packed=packed)
            before, after = (words[at] | words[at + 1] << 32 for at in (2, 406))
            taken[packed], seen[packed] = (after - before) // 2, words[4:404]
    assert seen[False] == seen[True]
    ticks = seen[True][::4]
    assert [late - early for early, late in zip(ticks, ticks[1:], strict=False)] == [2667] * 99
    assert len(pack(b"".join(word.to_bytes(4, "big") for word in seen[True]))) == 616
    assert {packed: round(cycles / 100) for packed, cycles in taken.items()} == {False: 29, True: 49}, taken
