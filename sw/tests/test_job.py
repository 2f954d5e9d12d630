# SPDX-License-Identifier: BSD-2-Clause
"""What all jobs have in common: a start that is interrupted or refused, and ways to end a job while
it waits."""

import signal
from pathlib import Path

import pytest

import litepulse
from litepulse import lin
from litepulse.interrupt import Interrupt

from .fake_board import FakeBoard, Server

LDF = Path(__file__).resolve().parents[1] / "examples" / "door.ldf"
# Each job that sends something, and the call that starts it.
STARTS = {
    "train": (lambda board: board.train(rate=1000, baud=115200), "train", "start"),
    "respond": (lambda board: board.respond(on=litepulse.Break(), after="1us"), "responder", "arm"),
    "send": (lambda board: board.send(bytes(100), every="10ms"), "queue", "launch"),
    "launch": (lambda board: board.launch(byte=1, at="+1s"), "queue", "launch"),
    "slave": (lambda board: lin.slave(board, lin.Description(LDF), "Window"), "responder", "arm"),
    "master": (lambda board: lin.master(board, lin.Description(LDF), "Normal", start="+10ms"), "queue", "launch"),
    "inject": (lambda board: lin.inject(board, lin.Injection(16), at="+1s"), "queue", "launch"),
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
    """Ctrl-C comes just after the board was started: nothing goes on there, and the next job may begin."""
    begin, part, call = STARTS[job]
    control = getattr(opened.backend, part)
    start, started = getattr(control, call), []

    def interrupted(*words):
        start(*words)
        with board.lock:
            started.append(bool(board.train or board.armed or board.queue))
        raise KeyboardInterrupt

    monkeypatch.setattr(control, call, interrupted)
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


def test_ctrl_c_ends_an_injection(board, opened, monkeypatch):
    """It raises KeyboardInterrupt; within an Interrupt, what was heard until then is returned."""
    once = [signal.SIGINT]
    monkeypatch.setattr(opened.backend.recorder, "wait", lambda _: signal.raise_signal(once.pop()) if once else None)
    with pytest.raises(KeyboardInterrupt):
        lin.inject(opened, lin.Injection(16), at="+1s")
    assert not board.queue and not opened.busy
    once.append(signal.SIGINT)
    with Interrupt() as interrupt:
        assert lin.inject(opened, lin.Injection(16), at="+1s").frames == () and interrupt.signal == signal.SIGINT
    assert not board.queue and not opened.busy


def test_batches(board, opened):
    """The items of an iteration over the job, look by look, and those of its end."""
    with opened.train(rate=1000, baud=115200, count=40) as train:
        batches = list(train.batches())
    with opened.train(rate=1000, baud=115200, count=40) as again:
        pulses = list(again)
    assert len(batches) > 2 and [pulse.number for batch in batches for pulse in batch] == [pulse.number for pulse in pulses]
    assert list(train.batches()) == [[]]


def test_a_job_that_is_left(board, opened):
    """detach(): the train runs on, and the next job may begin."""
    train = opened.train(rate=1000, baud=115200)
    train.detach()
    train.stop()
    assert [pulse.number for pulse in train] == [0] and board.train and not opened.busy
    assert opened.stop().what == ("train",)


@pytest.fixture
def waits(opened, monkeypatch):
    """Seconds of each wait between two looks; it takes no time here."""
    seconds = []
    monkeypatch.setattr(opened.backend.recorder, "_sleep", seconds.append)
    return seconds


def test_poll_does_not_wait(opened, waits):
    found = []
    with opened.train(rate=1000, baud=115200, count=40) as train:
        first = train.poll()
        while not train.over:
            found += train.poll()
        assert len(first) < 40 and [pulse.number for pulse in [*first, *found]] == list(range(40))
        assert train.poll() == [] and train.recv() is None
    assert set(waits) <= {0, 0.002}, waits  # 2 ms: a train that is being started or ended


def test_recv_waits_as_long_as_it_may(opened, waits):
    with opened.capture(duration="2s") as capture:
        assert capture.recv(0) is None and not capture.over and not any(waits)
        assert capture.recv(litepulse.ms(1)) is None and 0 < max(waits) <= 0.001
        waits.clear()
        assert capture.recv() is None and capture.over and max(waits) > 0.001
        for timeout in (-1, "soon"):
            with pytest.raises(litepulse.BadInput, match="^timeout: "):
                capture.recv(timeout)
    with opened.train(rate=1000, baud=115200, count=5) as train:
        assert [train.recv("1s").number for _ in range(5)] == list(range(5)) and train.recv(1) is None and train.over
    assert list(train) == []


def test_poll_on_the_simulated_board():
    """Its time goes on although the program does not wait."""
    with litepulse.open(sim=True) as board, board.train(rate=1000, width="1us", count=5) as train:
        found = []
        while not train.over:
            found += train.poll()
        assert [pulse.number for pulse in found] == list(range(5))
