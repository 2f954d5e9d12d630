# SPDX-License-Identifier: BSD-2-Clause
"""The command as a Unix tool: every verb with a full disk, a closed pipe or output, signals, a narrow and an ASCII terminal.

One clear line, the right status, no traceback, nothing left running, no memory without end.
"""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from litepulse import cli

from .fake_board import FakeBoard, Server

ROOT = Path(__file__).resolve().parents[2]
ENV = {**os.environ, "PYTHONPATH": f"{ROOT / 'sw'}{os.pathsep}{ROOT}", "COLUMNS": "80"}
COMMAND = [sys.executable, "-m", "litepulse"]
LDF = Path(__file__).resolve().parents[1] / "examples" / "door.ldf"
ENTRIES = Path(__file__).resolve().parents[1] / "examples" / "ramp.csv"
TRAIN = ["train", "--rate", "1k", "--baud", "115200"]
RESPOND = ["respond", "--on", "break", "--delay", "1us"]
# Each verb in a form that ends by itself: (words, status where all is well). What is in {} is filled in.
VERBS = {
    "info": (["info"], 0),
    "train": ([*TRAIN, "--count", "20"], 0),
    "stop": (["stop"], 0),
    "adjust": (["adjust", "--step", "1us"], 2),  # no train runs
    "capture": (["capture", "--inputs", "0", "--for", "20ms"], 0),
    "lsl": (["lsl", "--inputs", "0", "--for", "20ms"], 0),
    "send": (["send", "{bytes}", "--baud", "115200"], 0),
    "sequence": (["sequence", "{entries}"], 0),
    "replay": (["replay", "{pulses}"], 0),
    "align": (["align", "--for", "20ms"], 2),  # there is one board
    "respond": ([*RESPOND, "--for", "20ms"], 1),  # nothing was answered
    "mark": (["mark", "0x2a", "--width", "5ms"], 0),
    "lin monitor": (["lin", "monitor", "--for", "20ms"], 1),  # nothing was heard
    "lin master": (["lin", "master", "{ldf}", "--schedule", "Normal", "--rounds", "1", "--loopback"], 1),  # no node answers
    "lin slave": (["lin", "slave", "{ldf}", "--node", "Window", "--for", "20ms"], 1),  # nothing was heard
    "lin request": (
        ["lin", "request", "{ldf}", "--node", "Window", "--data", "3e", "--timeout", "20ms", "--loopback"],
        1,
    ),  # no node answers
    "lin inject": (["lin", "inject", "--id", "16", "--loopback"], 0),
    "lin header": (["lin", "header", "--id", "16"], 0),
    "clock emit": (["clock", "emit", "harp", "--for", "20ms"], 0),
    "clock follow": (["clock", "follow", "irig-b", "--input", "0", "--for", "20ms"], 1),  # nothing was heard
    "clock compare": (["clock", "compare", "pps:0", "board", "--for", "20ms"], 1),  # no second came
    "latency": (["latency", "--width", "10us", "--on", "edge:0:fall", "--interval", "1ms", "--for", "20ms"], 1),  # nothing answers
    "certify": (["certify", "--self", "--edges", "20"], 1),  # tx is not wired to rx
    "explain": (["explain", "/nonexistent"], 2),
    "tty": (["tty", "--link", "/nonexistent/tty"], 2),
    "serve": (["serve", "--teensy-pulse", "--link", "/nonexistent/serve"], 2),
    "attach": (["attach", "/nonexistent"], 2),
    "detach": (["detach", "/nonexistent"], 2),
    "flash": (["flash", "--board", "ulx3s", "--file", "{bitstream}", "--dry-run"], 0),
    "doctor": (["doctor", "/nonexistent"], 1),
    "first-light": (["first-light", "--yes", "--edges", "20", "--for", "20ms", "-o", "{report}"], 1),  # tx is not wired to rx
    "plot": (["plot", "{result}"], 0),
    "completion": (["completion", "bash"], 0),
}
STYLES = dict.fromkeys(
    ["train", "capture", "send", "sequence", "replay", "respond", "lin monitor", "lin master", "lin slave", "latency"],
    ["json", "csv", "vnl"],
)
STYLES |= dict.fromkeys(["align", "clock emit", "clock follow", "clock compare"], ["json", "csv", "vnl"])
STYLES |= dict.fromkeys(
    ["info", "mark", "stop", "doctor", "lsl", "lin inject", "lin request", "certify", "explain", "first-light"], ["json"]
)
ALL = [(verb, style) for verb in VERBS for style in (None, *STYLES.get(verb, ()))]
# Those that go on until they are stopped.
ENDLESS = {
    "train": TRAIN,
    "capture": ["capture", "--inputs", "0"],
    "lsl": ["lsl", "--inputs", "0"],
    "respond": [*RESPOND, "--pulses", "3", "--every", "2ms"],
    "lin monitor": ["lin", "monitor"],
    "lin master": ["lin", "master", str(LDF), "--schedule", "Normal", "--loopback"],
    "lin slave": ["lin", "slave", str(LDF), "--node", "Window"],
    "send": ["send", "/dev/zero", "--every", "1ms", "--baud", "115200"],
    "latency": ["latency", "--width", "10us", "--on", "edge:0:fall", "--timeout", "10ms"],
    "clock emit": ["clock", "emit", "irig-b"],
    "clock follow": ["clock", "follow", "irig-b", "--input", "0"],
    "clock compare": ["clock", "compare", "pps:0"],
    "sequence": ["sequence", str(ENTRIES), "--repeat", "0"],
}


def is_one_line(text):
    return text.startswith("litepulse: ") and text.endswith("\n") and text.count("\n") == 1


@pytest.fixture
def board():
    with Server(FakeBoard(step=100_000), "tcp") as server:
        server.board.spec = server.spec
        yield server.board


@pytest.fixture
def words(board, tmp_path):
    """A function of a verb and a style: the command line."""
    (tmp_path / "bytes").write_bytes(b"some bytes")
    rows = [f"{20_000 * n},0,{1 - n % 2}" for n in range(1, 21)]
    (tmp_path / "pulses").write_text("\n".join(["tick,channel,value", *rows, ""]))
    (tmp_path / "bitstream").write_bytes(bytes.fromhex("ffffffbdb3ffffffff3b000000e200000041113043"))
    result = {"command": "capture", "simulated": True, "backend": "test", "tick_hz": "48000000", "bytes": [], "lost": 0}
    edges = [{"tick": 1000 * n, "channel": "rx", "level": n % 2} for n in range(10)]
    (tmp_path / "result").write_text(json.dumps(result | {"edges": edges}))

    def make(verb, style=None):
        made = {name: tmp_path / name for name in ("bytes", "pulses", "result", "bitstream", "report")}
        filled = [word.format(**made, ldf=LDF, entries=ENTRIES) for word in VERBS[verb][0]]
        port = [] if verb in ("attach", "detach", "doctor", "flash", "plot") else ["--port", board.spec]
        return [*COMMAND, *port, *filled, *([f"--{style}"] if style else [])]

    return make


def test_every_verb_is_tried():
    assert {verb.split()[0] for verb in VERBS} == {*cli.VERBS}


@pytest.mark.parametrize("verb, style", ALL)
def test_as_it_should_be(verb, style, words):
    done = subprocess.run(words(verb, style), env=ENV, capture_output=True, text=True, timeout=120, check=False)
    status = VERBS[verb][1]
    assert done.returncode == status and "Traceback" not in done.stderr
    assert is_one_line(done.stderr) if status == 2 else done.stdout, done.stderr


@pytest.mark.parametrize("verb, style", ALL)
def test_a_full_disk(verb, style, words):
    with open("/dev/full", "w") as full:
        done = subprocess.run(words(verb, style), env=ENV, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    lines = done.stderr.splitlines()
    assert done.returncode == 2 and "Traceback" not in done.stderr and lines[-1].startswith("litepulse: "), done.stderr
    if VERBS[verb][1] != 2:
        assert lines[-1] == "litepulse: standard output cannot be written: No space left on device"


@pytest.mark.parametrize("verb", VERBS)
def test_a_closed_standard_output(verb, words):
    line = " ".join(f"'{word}'" for word in words(verb))
    done = subprocess.run(["/bin/sh", "-c", f"{line} >&-"], env=ENV, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    assert done.returncode == 2 and "Traceback" not in done.stderr and done.stderr.splitlines()[-1].startswith("litepulse: "), done.stderr


@pytest.mark.parametrize("verb, style", ALL)
def test_output_to_a_closed_pipe(verb, style, words):
    """The pipe is closed before the first line."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(words(verb, style), env=ENV, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    os.close(writing)
    assert done.returncode == (2 if VERBS[verb][1] == 2 else 0) and "Traceback" not in done.stderr
    assert done.stderr == "" or VERBS[verb][1] == 2, done.stderr


@pytest.mark.parametrize("style", [None, "json", "csv"])
@pytest.mark.parametrize("verb", [verb for verb in ENDLESS if verb not in ("capture", "lsl")])  # no edge, no output
def test_a_reader_that_closes_the_pipe(verb, style, board):
    """`| head -1`: it ends although it may have nothing to write for long, and nothing goes on on the board."""
    line = " ".join([*COMMAND, "--port", board.spec, *ENDLESS[verb], *([f"--{style}"] if style else [])])
    done = subprocess.run(
        ["/bin/bash", "-c", f"set -o pipefail; {line} | true"], env=ENV, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert board.train is None and not board.armed and not board.queue


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("after", [0.0, 0.03, 0.1, 0.25, 0.5, 1.0])
@pytest.mark.parametrize("verb", ENDLESS)
def test_a_signal_at_any_moment(verb, after, number, board):
    process = subprocess.Popen(
        [*COMMAND, "--port", board.spec, *ENDLESS[verb], "--json"], env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    await_python(process)
    time.sleep(after)
    process.send_signal(number)
    out, errors = process.communicate(timeout=60)
    assert process.returncode in (0, 1, 128 + number, -number) and "Traceback" not in errors, (process.returncode, errors)
    assert errors == "" or is_one_line(errors)
    if out:
        assert json.loads(out)["command"] == verb
    assert board.train is None and not board.armed and not board.queue


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("after", [0.0, 0.03, 0.1, 0.25])
@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb not in ENDLESS])
def test_a_signal_to_a_verb_that_ends(verb, after, number, board, words):
    """It ends by the signal or, if that came too late, as it would have."""
    style = next(iter(STYLES.get(verb, ())), None)
    process = subprocess.Popen(words(verb, style), env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    await_python(process)
    time.sleep(after)
    process.send_signal(number)
    out, errors = process.communicate(timeout=60)
    assert process.returncode in (VERBS[verb][1], 128 + number, -number) and "Traceback" not in errors, (process.returncode, errors)
    assert errors == "" or is_one_line(errors)
    if out and style == "json":
        assert json.loads(out)["command"] == verb
    assert board.train is None and not board.armed and not board.queue


INTERRUPTED_WHILE_LOADING = """
import os, signal, sys, weakref
from litepulse.entry import main

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "litepulse.commands.train":
            thing = Finder()
            end = weakref.ref(thing, lambda _: os.kill(os.getpid(), signal.SIGINT))
            del thing

sys.meta_path.insert(0, Finder())
sys.exit(main(["train", "--help"]))
"""


def test_a_signal_behind_an_import():
    """The interpreter drops exceptions where it cleans up after an import; a command must not go on
    as without the signal."""
    command = [sys.executable, "-c", INTERRUPTED_WHILE_LOADING]
    done = subprocess.run(command, env=ENV, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


def await_python(process):
    """Until the interpreter loads what the command needs: before that a signal is the interpreter's."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        if "_decimal" in Path(f"/proc/{process.pid}/maps").read_text():
            return
        time.sleep(0.001)
    pytest.fail("does not start")


@pytest.mark.parametrize("verb, style", ALL)
@pytest.mark.parametrize(
    "surroundings", [{"COLUMNS": "40"}, {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}], ids=["40", "ascii"]
)
def test_a_narrow_or_plain_terminal(verb, style, surroundings, words):
    done = subprocess.run(words(verb, style), env={**ENV, **surroundings}, capture_output=True, timeout=120, check=False)
    assert done.returncode == VERBS[verb][1] and b"Traceback" not in done.stderr
    if "LC_ALL" in surroundings:
        assert done.stdout.isascii() and done.stderr.isascii()
    elif style is None and verb in ("info", "train", "send", "respond", "plot"):
        assert max(len(line) for line in done.stdout.decode().splitlines()) <= 76, done.stdout.decode()


def test_an_endless_file_takes_no_memory(board):
    """/dev/zero is launched byte by byte until Ctrl-C."""
    limit = 400 << 20
    process = subprocess.Popen(
        [*COMMAND, "--port", board.spec, *ENDLESS["send"], "--csv"],
        env=ENV,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    rows = [process.stdout.readline() for _ in range(400)]
    assert [row.split(",")[0] for row in rows[1:]] == [str(n) for n in range(399)]
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in errors and "launched" in errors


def test_statistics_take_no_memory(board):
    """An endless train for people keeps a bounded number of pulses; all are counted."""
    from fractions import Fraction

    from litepulse.measurement import IdealTrain, TrainRecord
    from litepulse.units import Period

    record = TrainRecord(IdealTrain(Period(1000, 1, 3), 0), limit=100)
    for n in range(10_000):
        tick = int(n * (1000 + Fraction(1, 3)))
        record.add_launch(n, tick)
        record.add_received(tick + 1, 0x55)
        record.compare()
    assert record.exact and record.launched_count == record.received_count == 10_000 and record.delays() == {1: 10_000}
    kept = (record.launched, record.received, record.received_bytes, record._launches, record._heard)
    assert all(len(each) <= 200 for each in kept) and max(record.launched) == 9_999


# What a file of each option begins with.
RECORDINGS = {"vcd": b"$version", "sr": b"PK"}


@pytest.mark.parametrize("option", RECORDINGS)
def test_two_runs_on_one_file(option, tmp_path):
    """The second one says so, and the first one's file is whole."""
    file = tmp_path / "pins"
    words = [*COMMAND, "--sim", f"--{option}", str(file), *TRAIN]
    first = subprocess.Popen([*words, "--count", "300", "--csv"], env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert first.stdout.readline().startswith("pulse")
    second = subprocess.run([*words, "--count", "1"], env=ENV, capture_output=True, text=True, timeout=120, check=False)
    assert second.returncode == 2 and second.stderr == f"litepulse: {option}: {file} is being written by another litepulse\n"
    out = first.stdout.read()  # communicate() would miss what readline() has buffered
    assert first.wait(timeout=120) == 0 and len(out.splitlines()) == 300 and file.read_bytes().startswith(RECORDINGS[option])
    assert list(tmp_path.iterdir()) == [file]


def test_two_runs_on_one_device():
    """A device is no file of anybody's: /dev/null and /dev/full are there for all at once."""
    from litepulse.backends.sim import lock_for_writing

    files = [lock_for_writing(device, "vcd") for device in ("/dev/null", "/dev/null", "/dev/full", "/dev/full")]
    for file in files:
        os.close(file)
    assert len(set(files)) == 4


@pytest.mark.parametrize("option", RECORDINGS)
def test_a_recording_that_finds_no_room(option):
    words = [*COMMAND, "--sim", f"--{option}", "/dev/full", *TRAIN, "--count", "2"]
    done = subprocess.run(words, env=ENV, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2 and is_one_line(done.stderr) and "/dev/full: " in done.stderr and "No space left on device" in done.stderr
    assert "2 launched" in done.stdout


@pytest.mark.parametrize("where, why", [("/nonexistent/pins", "No such file or directory"), ("/proc/pins", "No such file or directory")])
@pytest.mark.parametrize("option", RECORDINGS)
def test_a_recording_where_none_may_be(option, where, why):
    """No such folder, and one that takes no files, not even of root. Nothing is begun."""
    words = [*COMMAND, "--sim", f"--{option}", where, *TRAIN, "--count", "2"]
    done = subprocess.run(words, env=ENV, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2 and done.stderr == f"litepulse: {option}: cannot write {where}: {why}\n" and done.stdout == ""


@pytest.mark.parametrize("option", RECORDINGS)
def test_a_recording_in_a_read_only_folder(option, tmp_path):
    """Root may write into any folder, but not into a file system that is read-only."""
    words = [*COMMAND, "--sim", f"--{option}", str(tmp_path / "pins"), *TRAIN, "--count", "2"]
    why = "Permission denied"
    if os.geteuid() == 0:
        words = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o ro none "$0" && exec "$@"', str(tmp_path), *words]
        why = "Read-only file system"
    tmp_path.chmod(0o555)
    done = subprocess.run(words, env=ENV, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == f"litepulse: {option}: cannot write {tmp_path / 'pins'}: {why}\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("option", RECORDINGS)
def test_an_interrupted_recording_is_whole(option, number, tmp_path):
    file = tmp_path / "pins"
    words = [*COMMAND, "--sim", f"--{option}", str(file), *TRAIN, "--csv"]
    process = subprocess.Popen(words, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    rows = [process.stdout.readline() for _ in range(21)]
    process.send_signal(number)
    out, errors = process.communicate(timeout=120)
    assert process.returncode == (0 if number == signal.SIGINT else 143) and "Traceback" not in errors
    last = int((rows + out.splitlines())[-1].split(",")[1])
    if option == "vcd":
        assert 10 * int(file.read_text().splitlines()[-1].removeprefix("#")) > last * 1e9 / 48e6
    else:
        with zipfile.ZipFile(file) as session:
            assert session.testzip() is None
            assert sum(part.file_size for part in session.infolist() if part.filename.startswith("logic-1-")) > last
    assert list(tmp_path.iterdir()) == [file]


# A wait for the first launch --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("style", [None, "json", "csv"])
@pytest.mark.parametrize("verb, option, what", [("train", "--start", "pulse 0"), ("send", "--at", "the first byte")])
def test_a_long_wait_is_announced(verb, option, what, style, tmp_path):
    """The wait is announced at once in every style. Ctrl-C ends it before anything has left."""
    (tmp_path / "bytes").write_bytes(b"bytes")
    with Server(FakeBoard(step=100), "tcp") as server:
        words = [*COMMAND, "--port", server.spec, *(TRAIN if verb == "train" else ["send", str(tmp_path / "bytes")]), option, "+3600s"]
        words += [f"--{style}"] if style else []
        process = subprocess.Popen(words, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        message = process.stderr.readline()
        assert re.fullmatch(rf"litepulse: {what} leaves in (1 h|59 min 59 s|60 min), at tick \d+\n", message), message
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=60)
        assert process.returncode == (0 if verb == "train" else 130) and "Traceback" not in errors, errors
        if style == "json":
            assert json.loads(out)["launched"] == [] and json.loads(out)["ended"] == "interrupt"
        assert server.board.train is None and not server.board.queue and not server.board.line_log


def test_a_kept_train_may_start_later():
    """The command need not wait for it."""
    with Server(FakeBoard(step=100), "tcp") as server:
        words = [*COMMAND, "--port", server.spec, *TRAIN, "--start", "+100s", "--keep"]
        done = subprocess.run(words, env=ENV, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0 and re.search(r"pulse 0 leaves in (100|99\.9) s|1 min 40 s", done.stderr), done.stderr
        (tick,) = re.findall(r"pulse 0 at tick (\d+);", done.stdout)
        assert server.board.train is not None and not server.board.line_log
        server.board.advance(int(tick) + 4_000 - server.board.tick)
        assert server.board.line_log[0][0] == int(tick)


def test_what_is_too_far_ahead_is_a_mistake(board):
    words = [*COMMAND, "--port", board.spec, *TRAIN, "--start", "+99999999s"]
    done = subprocess.run(words, env=ENV, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and is_one_line(done.stderr) and "is more than 366 days ahead" in done.stderr and board.train is None


@pytest.mark.parametrize("words", [["--help"], ["--version"], *([*verb.split(), "--help"] for verb in VERBS)])
def test_help_that_finds_no_room(words):
    with open("/dev/full", "w") as full:
        done = subprocess.run([*COMMAND, *words], env=ENV, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert done.returncode == 2 and is_one_line(done.stderr) and "No space left" in done.stderr


@pytest.mark.parametrize("verb", VERBS)
def test_help_has_examples(verb):
    done = subprocess.run([*COMMAND, *verb.split(), "--help"], env=ENV, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and re.search(rf"(?m)^examples:\n  .*litepulse .*{verb}", done.stdout)


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb not in ("plot", "completion", "flash", "lin header")])
def test_every_verb_takes_the_options_of_a_device(verb):
    done = subprocess.run([*COMMAND, *verb.split(), "--help"], env=ENV, capture_output=True, text=True, timeout=60, check=False)
    assert all(option in done.stdout for option in ("--device DEV", "--port PORT", "--sim"))


@pytest.mark.parametrize(
    "words, near",
    [
        (["ttrain"], "train"),
        (["sstop"], "stop"),
        (["info", "--jsno"], "--json"),
        ([*TRAIN, "--cuont", "5"], "--count"),
        (["info", "--prot", "/dev/null"], "--port"),
        (["train", "--rat", "58"], "--rate"),
        (["train", "--rat=58", "--count", "5"], "--rate"),
        (["respond", "--on", "break", "--dely", "1us"], "--delay"),
        ([*RESPOND, "--pusles", "3"], "--pulses"),
        (["plot", "file", "--outptu", "x.png"], "--output"),
    ],
)
def test_did_you_mean(words, near):
    done = subprocess.run([*COMMAND, *words], env=ENV, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and is_one_line(done.stderr) and f"did you mean {near}?" in done.stderr


@pytest.mark.parametrize(
    "words, why",
    [
        (["plot", "--sim", "x"], "--sim: plot takes no device"),
        (["completion", "bash", "--port=/dev/null"], "--port: completion takes no device"),
        (["stop", "--rate", "5"], "--rate: stop takes no such option"),
        (["lin", "monitor", "--schedule", "x"], "--schedule: lin monitor takes no such option"),
    ],
)
def test_an_option_of_another_verb(words, why, capsys):
    """Is an error, without a question."""
    assert cli.main(words) == 2
    message = capsys.readouterr().err
    assert is_one_line(message) and message.startswith(f"litepulse: {why} (") and "did you mean" not in message


def test_nothing_is_offered_that_the_verb_does_not_take(capsys):
    assert cli.main(["plot", "x", "--prot", "y"]) == 2
    assert "did you mean" not in capsys.readouterr().err


@pytest.mark.parametrize("words", [["doctor", "--port-ba", "9600"], [*TRAIN, "--form", "8N1"], ["capture", "--dur", "1s"]])
def test_options_are_not_abbreviated(words):
    done = subprocess.run([*COMMAND, *words], env=ENV, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and is_one_line(done.stderr) and "unrecognized arguments" in done.stderr


def test_an_interrupted_capture_reports_it(board):
    process = subprocess.Popen(
        [*COMMAND, "--port", board.spec, "capture", "--inputs", "0", "--for", "1000"],
        env=ENV,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.readline()
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130


@pytest.mark.parametrize("verb", ENDLESS)
def test_a_vanished_board_is_reported_once_after_its_results(verb):
    """Without results only the fault is reported; else it follows the results and is among them."""
    server = Server(FakeBoard(step=100_000), "tcp")
    words = [*COMMAND, "--port", server.spec, *ENDLESS[verb], "--json"]
    process = subprocess.Popen(words, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    key = {"train": "launched", "send": "launched", "lin master": "frames", "latency": "stimuli"}.get(verb)  # what had come, in the result
    end = time.monotonic() + 60
    while time.monotonic() < end and (len(server.board.line_log) < 20 if key else server.board.reads < 300):
        time.sleep(0.01)
    server.close()
    out, errors = process.communicate(timeout=240)
    assert process.returncode == 2 and is_one_line(errors), errors
    assert bool(out) == bool(key)
    if key:
        result = json.loads(out)
        assert result[key] and errors == f"litepulse: {result['error']}\n"
