# SPDX-License-Identifier: BSD-2-Clause
"""What all jobs have in common: a start that is cut short or refused, and what ends one while it waits."""

import signal
from pathlib import Path

import pytest

import litepulse
from litepulse import lin

from .fake_board import FakeBoard, Server

LDF = Path(__file__).resolve().parents[1] / "examples" / "door.ldf"
# Each job that sends something, and the call that starts it.
STARTS = {
    "train": (lambda board: board.train(rate=1000, baud=115200), "start_train"),
    "respond": (lambda board: board.respond(on=litepulse.Break(), after="1us"), "arm"),
    "send": (lambda board: board.send(bytes(100), every="10ms"), "launch"),
    "launch": (lambda board: board.launch(byte=1, at="+1s"), "launch"),
    "slave": (lambda board: lin.slave(board, lin.Description(LDF), "Window"), "arm"),
    "master": (lambda board: lin.master(board, lin.Description(LDF), "Normal", start="+10ms"), "launch"),
    "inject": (lambda board: lin.inject(board, lin.Injection(16), at="+1s"), "launch"),
}


@pytest.fixture
def board():
    with Server(FakeBoard(step=5_000), "tcp") as server:
        server.board.spec, server.board.lock = server.spec, server.lock
        yield server.board


@pytest.fixture
def opened(board):
    with litepulse.open(port=board.spec) as one:
        yield one


@pytest.mark.parametrize("job", STARTS)
def test_a_start_that_is_cut_short(job, board, opened, monkeypatch):
    """Ctrl-C comes when the board has just been told to start: nothing goes on there, and the next job may begin."""
    begin, call = STARTS[job]
    start, started = getattr(opened.backend, call), []

    def interrupted(*words):
        start(*words)
        with board.lock:
            started.append(bool(board.train or board.armed or board.queue))
        raise KeyboardInterrupt

    monkeypatch.setattr(opened.backend, call, interrupted)
    with pytest.raises(KeyboardInterrupt):
        begin(opened)
    assert started == [True]
    assert board.train is None and not board.armed and not board.queue and not opened.busy
    monkeypatch.undo()
    assert list(opened.capture(duration="1ms")) == []


def test_a_refused_start_leaves_what_runs(board, opened):
    """A capture that would disturb the responder of the same program: the responder's answers are still reported."""
    with opened.respond(on=litepulse.Break(), after="1us") as responder:
        with pytest.raises(litepulse.LitePulseError):
            opened.capture(bytes=True, invert=True)
        with board.lock:
            board.event(board.tick, 1, 2, 0, 0, "tx_responder")
    assert [answer.number for answer in responder] == [0]


class Flag:
    """Says that it is over when it was asked a second time."""

    def __init__(self):
        self.asked = 0

    def __bool__(self):
        self.asked += 1
        return self.asked > 1


def test_ctrl_c_ends_an_injection(board, opened, monkeypatch):
    """Without a flag it raises KeyboardInterrupt; with one, what was heard until then is returned."""
    once = iter([signal.SIGINT])
    monkeypatch.setattr(opened.backend, "wait", lambda _: [signal.raise_signal(number) for number in once])
    with pytest.raises(KeyboardInterrupt):
        lin.inject(opened, lin.Injection(16), at="+1s")
    assert not board.queue and not opened.busy
    monkeypatch.undo()
    flag = Flag()
    assert lin.inject(opened, lin.Injection(16), at="+1s", interrupt=flag).frames == () and flag.asked > 1
    assert not board.queue and not opened.busy
