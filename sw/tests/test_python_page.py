# SPDX-License-Identifier: BSD-2-Clause
"""docs/python.md: each example runs, on a simulated board, and prints what the page says; the page names all of the API."""

import ast
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import litepulse
from litepulse.streams import Lost

from .fake_board import FakeBoard, Server

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "python.md").read_text()
EXAMPLES = {  # each block, by its section
    f"{title} {number}": code
    for title, text in re.findall(r"(?ms)^## ([^\n]+)\n(.*?)(?=^## |\Z)", PAGE)
    for number, code in enumerate(re.findall(r"(?ms)^```python\n(.*?)^```", text), 1)
}
INTERNAL = {"Profile", "Format", "Launch", "CaptureEvent", "Timescale", "Adjusted"}  # are met as arguments or results only


def expected(code):
    """What `print(...)  # text` lines say that they print, in order."""
    return re.findall(r"(?m)^\s*print\(.*\)  # (.*)$", code)


@pytest.mark.parametrize("title", EXAMPLES)
def test_an_example(title, monkeypatch, tmp_path):
    """open() finds a simulated board whose TX is wired to RX and to input 0."""
    monkeypatch.chdir(tmp_path)
    code, printed = EXAMPLES[title], []
    open_board = litepulse.open
    monkeypatch.setattr(litepulse, "open", lambda clock=None, **options: open_board(sim=True, wires=["rx", "0"], clock=clock))
    # Only what the page says is compared: the rest is ticks.
    marked = re.sub(r"(?m)^(\s*)print\((.*)\)  # .*$", r"\1said(\2)", code)
    exec(compile(marked, title, "exec"), {"said": lambda *values: printed.append(" ".join(map(str, values))), "print": lambda *_: None})
    assert printed == expected(code)


def test_the_examples_are_found():
    assert len(EXAMPLES) >= 9 and sum(len(expected(code)) for code in EXAMPLES.values()) >= 18
    assert all(ast.parse(code) for code in EXAMPLES.values())


@pytest.mark.parametrize("name", sorted(set(litepulse.__all__) - INTERNAL))
def test_the_page_has_every_name(name):
    assert re.search(rf"\b{name}\b", PAGE) or name in (
        "Answer",
        "Board",
        "Capture",
        "ClockTime",
        "Duration",
        "Moment",
        "Outcome",
        "Pulse",
        "Responder",
        "Send",
        "Train",
        "Trigger",
    ), name


def test_every_name_is_there():
    """What type checkers read, what is loaded when it is used, and what is exported are the same."""
    (typed,) = [node for node in ast.parse(Path(litepulse.__file__).read_text()).body if isinstance(node, ast.If)]
    homes = {alias.name: node.module.removeprefix("litepulse.") for node in typed.body for alias in node.names}
    assert homes == litepulse._MODULES and sorted(homes) == sorted(litepulse.__all__)
    assert all(getattr(litepulse, name) is not None for name in litepulse.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        getattr(litepulse, "nothing")  # noqa: B009


PROGRAM = """
import os, signal, sys, threading
import litepulse
with litepulse.open(sim=True) as board:
    with board.train(rate=1000, baud=115200) as train:
        for pulse in train:
            if pulse.number == 5:
                threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    print("ended", train.interrupted, train.record.exact, board.status().train_running, board.status().line_busy)
    try:
        with board.train(rate=1000, baud=115200) as train:
            for pulse in train:
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        print("raised", board.status().train_running)
"""


def test_ctrl_c_ends_an_iteration():
    """While the iterator waits: cleanly, with all that came. Elsewhere it is raised, and nothing goes on."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert done.stdout.splitlines() == ["ended True True False False", "raised False"]


def test_a_handler_of_the_program_is_left_alone():
    seen = []
    before = signal.signal(signal.SIGINT, lambda number, _: seen.append(number))
    try:
        with litepulse.open(sim=True) as board, board.train(rate=1000, baud=115200, count=200) as train:
            for pulse in train:
                if pulse.number == 5:
                    signal.raise_signal(signal.SIGINT)
            assert seen == [signal.SIGINT] and not train.interrupted and pulse.number == 199
    finally:
        signal.signal(signal.SIGINT, before)


def test_in_another_thread():
    found = []

    def work():
        with litepulse.open(sim=True) as board, board.train(rate=1000, baud=115200, count=20) as train:
            found.extend(pulse.error for pulse in train)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(60)
    assert found == [0] * 20


def test_one_job_at_a_time():
    with litepulse.open(sim=True) as board:
        with board.train(rate=1000, baud=115200):
            for begin in (lambda: board.train(rate=58), lambda: board.launch(byte=1), lambda: board.send(b"x"), lambda: board.capture()):
                with pytest.raises(litepulse.InUse, match="job on it already"):
                    begin()
        assert board.launch(byte=1).reason is None


def test_errors_have_fields():
    with Server(FakeBoard(step=10_000), "tcp") as server, litepulse.open(port=server.spec, stay_in_touch=False) as board:
        refused = []
        # this board's time passes with commands: some of these ticks pass before the launch arrives
        for steps in range(60):
            wanted = board.now().tick + 10_000 * steps
            try:
                outcome = board.launch(at=wanted, byte=1, baud=115200)
                assert outcome.tick == wanted
            except litepulse.BadInput as error:
                assert f"tick {wanted} has passed" in str(error)
            except litepulse.Refused as error:
                refused.append((error.reason, error.tick == wanted, str(error) == f"the launch at tick {wanted} was refused: late"))
        assert refused and set(refused) == {("late", True, True)}
    with litepulse.open(sim=True) as board:
        with pytest.raises(litepulse.BadInput, match="at most 960 Hz"):
            board.train(rate=961)
        with pytest.raises(litepulse.BadInput, match="not a channel"):
            board.capture(inputs=[9])
        with pytest.raises(litepulse.Unsupported, match="only a board of the kernel driver has"):
            litepulse.open(sim=True, clock="phc")
        for bits in (0, 256):
            with pytest.raises(litepulse.BadInput, match=rf"break: {bits} is outside 1 to 255"):
                board.launch(break_bits=bits)
        with pytest.raises(litepulse.BadInput, match="echo and own exclude each other"):
            board.respond(on=litepulse.Break(), after="5us", own=True, echo="1us")
        with pytest.raises(litepulse.BadInput, match="more than 366 days ahead"):
            board.launch(at=board.now() + litepulse.s(367 * 86400), byte=1)


def test_whole_captures_are_arrays(tmp_path):
    stimulus = tmp_path / "stimulus"
    stimulus.write_text("".join(f"{10_000_000 + 1000 * n} 1 {(n + 1) % 2}\n" for n in range(40)))
    with litepulse.open(sim=True, stimulus=stimulus) as board:
        edges = board.capture(inputs=[1], count=40).array()
    assert list(edges["tick"]) == [10_000_001 + 1000 * n for n in range(40)]
    assert set(edges["channel"]) == {1} and list(edges["level"]) == [1, 0] * 20


def test_an_array_has_no_gaps(monkeypatch):
    with litepulse.open(sim=True) as board:
        capture = board.capture(inputs=[1])
        monkeypatch.setattr(capture._receiver, "poll_columns", lambda: [(5, "lost", Lost(5, 3), None, 0)])
        with pytest.raises(litepulse.LitePulseError, match="3 records were lost at tick 5"):
            capture.array()
        assert board.launch(byte=1).reason is None, "the board is free again"


def test_a_capture_beside_an_armed_responder():
    with litepulse.open(sim=True, wires=["rx", "0"]) as board:
        board.respond(on=litepulse.Edge(1, "rise"), after="500ns", width="1us")
        assert list(board.capture(inputs=[0], duration="1ms")) == []
        assert board.status().responder_armed
        with pytest.raises(litepulse.InUse):
            board.send(b"x")


def test_answers_of_the_responder(tmp_path):
    stimulus = tmp_path / "stimulus"
    stimulus.write_text("".join(f"{10_000_000 + 50_000 * n} 1 1\n{10_020_000 + 50_000 * n} 1 0\n" for n in range(3)))
    with litepulse.open(sim=True, stimulus=stimulus, wires=[]) as board:
        with board.respond(on=litepulse.Edge(1, "rise"), after="5us", width="1us") as responder:
            answers = [next(responder) for _ in range(3)]
        assert [(a.tick, a.delay, a.reason) for a in answers] == [(10_000_241 + 50_000 * n, 240, None) for n in range(3)]
        assert not board.status().responder_armed and responder.lost == 0


def test_the_package_is_typed():
    assert (ROOT / "sw" / "litepulse" / "py.typed").is_file()
