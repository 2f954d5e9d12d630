# SPDX-License-Identifier: BSD-2-Clause
"""The command as scripts and people meet it: subprocesses against a board in Python behind a real UARTBone."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import termios
import threading
import time
from fractions import Fraction
from pathlib import Path

import pytest

from litepulse import regs

from .fake_board import Bridge, FakeBoard, Server
from .terminal import in_a_terminal, surroundings

ROOT = Path(__file__).resolve().parents[2]
ENV = {**os.environ, "PYTHONPATH": f"{ROOT / 'sw'}{os.pathsep}{ROOT}", "COLUMNS": "80", "PYTHONUNBUFFERED": "1"}
COMMAND = [sys.executable, "-m", "litepulse"]


def run(*arguments, timeout=300, **options):
    return subprocess.run([*COMMAND, *arguments], env=ENV, capture_output=True, text=True, timeout=timeout, check=False, **options)


def start(*arguments):
    return subprocess.Popen([*COMMAND, *arguments], env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def is_one_line(text):
    return text.endswith("\n") and text.count("\n") == 1 and "Traceback" not in text


@pytest.fixture
def board():
    with Server(FakeBoard(step=100_000), "tcp") as server:
        server.board.spec = server.spec
        yield server.board


# Bad input ----------------------------------------------------------------------------------------------------------

BAD_TRAINS = {
    "rate 0": (["--rate", "0"], "rate: 0"),
    "rate negative": (["--rate", "-58"], "rate"),
    "rate nan": (["--rate", "nan"], "'nan'"),
    "rate empty": (["--rate", ""], "rate"),
    "rate huge exponent": (["--rate", "1e999999999"], "not a number"),
    "rate too high": (["--rate", "10M"], "rate: 10 MHz is too fast, the highest is 400 kHz"),
    "frames overlap": (["--rate", "961"], "overlap"),
    "frames overlap by a fraction of a tick": (["--rate", "960.0001"], "overlap"),
    "pulses overlap": (["--rate", "1k", "--width", "1001us"], "overlap"),
    "breaks overlap": (["--rate", "100", "--break", "200"], "overlap"),
    "period too long": (["--rate", "0.001"], "does not fit"),
    "period's fraction too fine": (["--rate", "58.000000000001"], "does not fit"),
    "period 0": (["--period", "0"], "period"),
    "period negative": (["--period", "-1ms"], "period"),
    "period nonsense": (["--period", "soon"], "period"),
    "neither": ([], "--rate"),
    "both": (["--rate", "58", "--period", "1ms"], "not allowed"),
    "byte 300": (["--rate", "58", "--byte", "300"], "byte"),
    "byte too wide for the format": (["--rate", "58", "--byte", "0xff", "--format", "7N1"], "does not fit 7"),
    "byte and width": (["--rate", "58", "--byte", "1", "--width", "1us"], "not allowed"),
    "width 0": (["--rate", "58", "--width", "0"], "width"),
    "break 0": (["--rate", "58", "--break", "0"], "break"),
    "baud too low": (["--rate", "0.1", "--baud", "0.1"], "baud: 0.1 is outside 0.179 (bits of 5.592 s) to 12000000"),
    "period too long by a little": (["--period", "120s", "--width", "1ms"], "the longest is 89.478 s"),
    "baud too high": (["--rate", "58", "--baud", "12000001"], "quarter of the clock"),
    "baud 0": (["--rate", "58", "--baud", "0"], "baud"),
    "format": (["--rate", "58", "--format", "9X3"], "format"),
    "count": (["--rate", "58", "--count", "-1"], "count"),
    "count too large": (["--rate", "58", "--count", "4294967296"], "count"),
    "start nonsense": (["--rate", "58", "--start", "tomorrow"], "start"),
    "start in the past": (["--rate", "58", "--start", "1t"], "passed"),
    "two formats": (["--rate", "58", "--json", "--csv"], "not allowed"),
    "vcd of a real board": (["--rate", "58", "--vcd", "x.vcd"], "--sim"),
    "no such option": (["--rate", "58", "--fast"], "--fast"),
}


@pytest.mark.parametrize("case", BAD_TRAINS)
def test_bad_trains_say_why_in_one_line_and_start_nothing(case, board):
    arguments, why = BAD_TRAINS[case]
    done = run("--port", board.spec, "train", *arguments)
    assert done.returncode == 2 and is_one_line(done.stderr) and why in done.stderr and done.stdout == ""
    assert board.train is None and not board.line_log


BAD_OTHERS = {
    "unknown verb": (["fly"], "fly"),
    "stop of a simulation": (["--sim", "stop"], "--port"),
    "keep on a simulation": (["--sim", "train", "--rate", "58", "--keep"], "--keep"),
    "sim and port": (["--sim", "--port", "/dev/null", "info"], "exclude"),
    "wire": (["--sim", "--wire", "9", "info"], "wire"),
    "capture with nothing to see": (["--sim", "capture"], "--stimulus"),
    "plot of nothing": (["plot", "/nonexistent.json"], "cannot read"),
    "send of nothing": (["--port", "/dev/null", "send", "/nonexistent"], "cannot read"),
    "respond without a trigger": (["--port", "/dev/null", "respond"], "--on"),
    "respond to nonsense": (["--port", "/dev/null", "respond", "--on", "noise", "--delay", "1us"], "edge:0:rise"),
    "respond with an echo that is no time": (
        ["--port", "/dev/null", "respond", "--on", "break", "--delay", "1us", "--echo", "long"],
        "echo: 'long'",
    ),
    "respond with a negative echo": (
        ["--port", "/dev/null", "respond", "--on", "break", "--delay", "1us", "--echo", "-1us"],
        "echo: -1us is negative",
    ),
    "respond to its own echo": (
        ["--port", "/dev/null", "respond", "--on", "break", "--delay", "1us", "--echo", "0", "--own"],
        "echo and own exclude each other",
    ),
    "adjust nothing": (["--port", "/dev/null", "adjust"], "nothing to adjust"),
    "port baud": (["--port", "/dev/null", "--port-baud", "fast", "info"], "port-baud"),
    "bridge baud": (["--port", "/dev/null", "--bridge-baud", "fast", "info"], "bridge-baud: 'fast'"),
    "bridge baud too low": (["--port", "/dev/null", "--bridge-baud", "9600", "info"], "bridge-baud: 9600 is outside"),
    "bridge baud nearly 115200": (["--port", "/dev/null", "--bridge-baud", "150k", "info"], "at least 230400"),
    "bridge baud a fraction": (["--port", "/dev/null", "--bridge-baud", "1M/7", "info"], "not a whole number"),
    "bridge baud over TCP": (["--port", "tcp:127.0.0.1:1", "--bridge-baud", "1M", "info"], "TCP connection has no bit rate"),
    "bridge baud of a simulation": (["--sim", "--bridge-baud", "1M", "info"], "bridge-baud works with a port only"),
    "bridge baud of another rate": (["--port", "/dev/null", "--port-baud", "9600", "--bridge-baud", "1M", "info"], "--port-baud 9600"),
    "vcd not writable": (["--sim", "--vcd", "/nonexistent/x.vcd", "train", "--rate", "58"], "cannot write"),
    "sim rate 0": (["--sim", "train", "--rate", "0"], "rate"),
    "no such port": (["--port", "/dev/ttyNOTHERE", "info"], "No such file"),
    "not a port": (["--port", "/etc/hostname", "info"], "cannot open"),
    "port nonsense": (["--port", "tcp:here", "info"], "tcp:localhost:1234"),
}


@pytest.mark.parametrize("case", BAD_OTHERS)
def test_other_bad_input(case):
    arguments, why = BAD_OTHERS[case]
    done = run(*arguments)
    assert done.returncode == 2 and is_one_line(done.stderr) and why in done.stderr and done.stdout == ""


@pytest.mark.parametrize(
    "verb", [["info"], ["train", "--rate", "58"], ["stop"], ["adjust", "--step", "1t"], ["capture"], ["respond", "--off"]]
)
def test_without_a_device_it_fails_and_does_not_simulate(verb):
    if Path("/dev/litepulse0").exists():
        pytest.skip("a real device is there")
    done = run(*verb)
    assert done.returncode == 2 and is_one_line(done.stderr) and "no device" in done.stderr and "--sim" in done.stderr


@pytest.mark.parametrize(
    "change, why", [({"magic": 0x12345678}, "not a LitePulse"), ({"version": 5}, "version 0.5"), ({"version": 1 << 16}, "version 1.0")]
)
def test_other_devices_and_versions(change, why, board):
    for name, value in change.items():
        setattr(board, name, value)
    done = run("--port", board.spec, "train", "--rate", "58")
    assert done.returncode == 2 and is_one_line(done.stderr) and why in done.stderr and board.writes == 0


def test_a_port_that_is_no_bridge():
    quiet, other = os.openpty()
    done = run("--port", os.ttyname(other), "info")
    assert done.returncode == 2 and is_one_line(done.stderr) and "no LiteX UARTBone" in done.stderr
    os.close(quiet)
    os.close(other)


def test_bad_adjustments(board):
    done = run("--port", board.spec, "adjust", "--rate", "60")
    assert done.returncode == 2 and is_one_line(done.stderr) and "no train is running" in done.stderr
    assert run("--port", board.spec, "train", "--rate", "58", "--keep").returncode == 0
    for arguments, why in (
        (["--rate", "961"], "overlap"),
        (["--rate", "0"], "rate"),
        (["--step", "soon"], "step"),
        (["--at-pulse", "1"], "passed"),
        (["--step", "100s"], "step"),
        (["--width", "1ms"], "each pulse of this train is a frame, which has none"),
        (["--width", "0s"], "width"),
    ):
        done = run("--port", board.spec, "adjust", *(["--step", "1t"] if arguments[0] == "--at-pulse" else []), *arguments)
        assert done.returncode == 2 and is_one_line(done.stderr) and why in done.stderr
        assert board.train["period"] == Fraction(24_000_000, 29) and board.word("train_period") == 827586


# Trains -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rate, hz", [("58", Fraction(58)), ("61.7", Fraction(617, 10)), ("617/10", Fraction(617, 10)), ("44.1k", Fraction(44100))]
)
def test_json(rate, hz, board):
    if hz > 1000:
        board.step = 30_000
    done = run("--port", board.spec, "train", "--rate", rate, "--baud", "2000000/3", "--count", "20", "--json")
    assert done.returncode == 0 and done.stderr == ""
    result = json.loads(done.stdout)
    assert result["backend"] == "uartbone" and result["simulated"] is False
    assert Fraction(result["clock_hz"]) == 48_000_000 and result["samples_per_cycle"] == 1
    assert Fraction(result["rate_hz"]) == hz and Fraction(result["period_ticks"]) == 48_000_000 / hz == Fraction(result["tick_hz"]) / hz
    assert result["launched"] == [result["start"] + int(n * (48_000_000 / hz)) for n in range(20)]
    assert result["received"] == [t + regs.LOOPBACK_TICKS for t in result["launched"]]
    assert result["max_error_ticks"] == 0 and result["lost"] == 0 and result["ended"] == "count"
    assert Fraction(result["baud"]) == Fraction(48_000_000 * 256, round(72 * 256)) and result["received_bytes"] == [255] * 20
    assert board.train is None


def test_the_baud_reported_is_the_one_used(board):
    result = json.loads(run("--port", board.spec, "train", "--rate", "58", "--baud", "115200", "--count", "2", "--json").stdout)
    assert result["bit_period_ticks"] == "106667/256" and Fraction(result["baud"]) == Fraction(48_000_000 * 256, 106667)


def test_statistics_and_plot_for_people(board):
    done = run("--port", board.spec, "train", "--rate", "58", "--count", "30")
    assert done.returncode == 0 and done.stderr == ""
    for part in (
        "30 launched, 30 received, 0 refused, 0 records lost",
        "24000000/29 ticks",
        "every edge is where it belongs",
        "±50 ppm",
        "┤",
    ):
        assert part in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80 and "\x1b" not in done.stdout and "SIMULATED" not in done.stdout


def test_rows_stream_while_it_runs(board):
    for style, head, split in (("vnl", "# t_ns dt_ms", None), ("csv", "pulse,tick,t_ns,dt_ms,error_ticks", ",")):
        board.step = 50_000
        process = start("--port", board.spec, "train", "--rate", "58", f"--{style}")
        lines = []
        while len(lines) < 8:
            line = process.stdout.readline()
            assert line, process.stderr.read()
            if not line.startswith("##"):
                lines.append(line.rstrip("\n"))
        assert process.poll() is None and board.train  # rows came although the train goes on
        process.send_signal(signal.SIGINT)
        rest, errors = process.stdout.read(), process.stderr.read()  # communicate() forgets what readline() has buffered
        process.wait(timeout=240)
        assert process.returncode == 0 and "every edge is where it belongs" in errors and "Traceback" not in errors
        assert lines[0] == head and board.train is None
        rows = [line.split(split) for line in lines[1:] + rest.splitlines()]
        assert {len(r) for r in rows} == {len(head.lstrip("# ").split(split))}
        dt = -1 if style == "vnl" else 3
        assert rows[0][dt] in ("-", "") and {r[dt] for r in rows[1:]} <= {"17.241375000", "17.241395833"}


@pytest.mark.full
@pytest.mark.parametrize("style", ["vnl", "csv", "json"])
def test_a_progress_bar_on_the_terminal_leaves_standard_output_alone(style, board):
    terminal, other = os.openpty()
    process = subprocess.Popen(
        [*COMMAND, "--port", board.spec, "train", "--rate", "58", "--count", "30", f"--{style}"],
        env={**ENV, "TERM": "xterm"},
        stdout=subprocess.PIPE,
        stderr=other,
        text=True,
    )
    os.close(other)
    shown = bytearray()

    def watch():
        try:
            while part := os.read(terminal, 65536):
                shown.extend(part)
        except OSError:  # the terminal's other end is closed
            pass

    watcher = threading.Thread(target=watch)
    watcher.start()
    out, _ = process.communicate(timeout=240)
    watcher.join(timeout=60)
    os.close(terminal)
    assert process.returncode == 0 and b"58 Hz, byte 0xff" in shown and b"\x1b[" in shown and b"\xe2\x94\x81" in shown
    assert "\x1b" not in out
    if style == "json":
        assert len(json.loads(out)["launched"]) == 30
    else:
        assert len([line for line in out.splitlines() if not line.startswith("##")]) == 31


@pytest.mark.parametrize("columns", [60, 150])
def test_a_live_picture_as_wide_as_the_terminal(columns, board):
    """While the train runs: below the table, above the bar; only the last picture stays."""
    command = [*COMMAND, "--port", board.spec, "train", "--rate", "58", "--count", "200"]
    shown, errors, status = in_a_terminal(columns, command, ENV)
    assert status == 0 and errors == b""
    lines = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line) for line in shown.split("\n")]
    live = [n for n, line in enumerate(lines) if line.startswith("the last ")]
    assert live and all(" [edge − exact ideal [ns]]" in lines[n] for n in live)
    pictures = [line for line in lines if "└─" in line]
    assert len(pictures) >= len(live) and all(columns - 3 <= len(line) <= columns for line in pictures)


@pytest.mark.parametrize("verb", ["train", "send"])
def test_the_time_left_until_the_first_launch_counts_down(verb, tmp_path):
    """In a terminal; Ctrl-C ends the wait."""
    (tmp_path / "bytes").write_bytes(b"bytes")
    words = ["train", "--rate", "58", "--start", "+3600s"] if verb == "train" else ["send", str(tmp_path / "bytes"), "--at", "+3600s"]
    terminal, other = os.openpty()
    termios.tcsetwinsize(other, (40, 150))
    with Server(FakeBoard(step=10_000_000), "tcp") as server:
        command = [*COMMAND, "--port", server.spec, *words]
        with subprocess.Popen(command, env=surroundings(ENV), stdin=subprocess.DEVNULL, stdout=other, stderr=other) as process:
            os.close(other)
            shown, left, interrupted = "", [], False
            with contextlib.suppress(OSError):  # the terminal's other end is closed
                while part := os.read(terminal, 65536):
                    shown += part.decode(errors="replace")
                    left = re.findall(r", in (\d+) min (\d+) s", shown)
                    if len(set(left)) > 3 and not interrupted:
                        process.send_signal(signal.SIGINT)
                        interrupted = True
        os.close(terminal)
        seconds = [60 * int(minutes) + int(rest) for minutes, rest in left]
        assert len(set(seconds)) > 3 and seconds == sorted(seconds, reverse=True) and seconds[0] < 3600
        assert "Traceback" not in shown and process.returncode in (0, 130) and not server.board.line_log and not server.board.queue


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupts_stop_the_train_and_print_the_statistics(number, board):
    process = start("--port", board.spec, "train", "--rate", "58")
    while len(board.line_log) < 20:
        time.sleep(0.01)
    process.send_signal(number)
    out, errors = process.communicate(timeout=240)
    assert process.returncode == (0 if number == signal.SIGINT else 128 + number) and errors == ""
    assert "every edge is where it belongs" in out and board.train is None and board.tick >= board.busy_until
    launched = len(board.line_log)
    assert f"{launched} launched, {launched} received" in out


def test_an_interrupted_count_reports_it(board):
    process = start("--port", board.spec, "train", "--rate", "58", "--count", "1000000", "--json")
    while len(board.line_log) < 5:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=240)
    result = json.loads(out)
    assert (
        process.returncode == 130
        and result["ended"] == "interrupt"
        and len(result["launched"]) == len(board.line_log)
        and board.train is None
    )


def test_a_closed_pipe_ends_quietly_and_stops_the_train(board):
    process = subprocess.Popen(
        f"{sys.executable} -m litepulse --port {board.spec} train --rate 58 --vnl | head -n 5",
        shell=True,
        env=ENV,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        executable="/bin/bash",
    )
    out, errors = process.communicate(timeout=240)
    assert process.returncode == 0 and errors == "" and len(out.splitlines()) == 5
    end = time.monotonic() + 10
    while board.train and time.monotonic() < end:
        time.sleep(0.01)
    assert board.train is None


def test_a_board_unplugged_in_the_middle_still_gives_statistics():
    server = Server(FakeBoard(step=100_000), "tcp")
    process = start("--port", server.spec, "train", "--rate", "58", "--json")
    while len(server.board.line_log) < 10:
        time.sleep(0.01)
    server.close()
    out, errors = process.communicate(timeout=240)
    result = json.loads(out)
    assert process.returncode == 2 and is_one_line(errors) and result["error"] in errors
    assert result["launched"] and result["max_error_ticks"] == 0


def test_a_restart_in_the_middle_is_reported():
    with Server(FakeBoard(step=100_000), "tcp") as server:
        process = start("--port", server.spec, "train", "--rate", "58")
        while len(server.board.line_log) < 10:
            time.sleep(0.01)
        with server.lock:
            server.board.reset()
        out, errors = process.communicate(timeout=240)
        assert process.returncode == 2 and is_one_line(errors) and "restarted" in errors and "launched" in out


def test_keep_stop_and_adjust_from_other_processes(board):
    done = run("--port", board.spec, "train", "--rate", "1k", "--baud", "115200", "--keep", "--json")
    kept = json.loads(done.stdout)
    assert done.returncode == 0 and board.train and kept["ended"] == "running" and kept["max_error_ticks"] == 0
    done = run("--port", board.spec, "train", "--rate", "58")
    assert done.returncode == 2 and is_one_line(done.stderr) and "running already" in done.stderr and board.train["period"] == 48_000
    done = run("--port", board.spec, "adjust", "--step", "5us", "--json")
    adjusted = json.loads(done.stdout)
    assert done.returncode == 0 and adjusted["step_ticks"] == 240 and adjusted["period_ticks"] == "48000"
    moved = adjusted["at_pulse"]
    assert moved and [t for t, *_ in board.line_log][moved] == kept["start"] + 48_000 * moved + 240
    done = run("--port", board.spec, "adjust", "--rate", "1M/7001", "--json")
    assert json.loads(done.stdout)["period_ticks"] == "336048" and board.train["period"] == 336048
    # ten times faster, requested at ten phases: the coming pulse's new place has often passed
    board.step = 10_000
    for rate in ("1k", "9k") * 5:
        done = run("--port", board.spec, "adjust", "--rate", rate, "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["at_pulse"] and board.train["period"] == 48_000_000 / Fraction(rate.replace("k", "000"))
    done = run("--port", board.spec, "stop", "--json")
    stopped = json.loads(done.stdout)
    assert done.returncode == 0 and stopped["stopped"] == ["train"] and board.train is None
    assert stopped["pulses"] == len(board.line_log)
    done = run("--port", board.spec, "stop")
    assert done.returncode == 0 and "nothing was running" in done.stdout


def test_adjust_changes_the_width(board):
    """From the pulse on that it names, and back again; a change that is refused leaves it, also for the next one."""
    done = run("--port", board.spec, "train", "--rate", "1k", "--width", "100us", "--keep", "--json")
    assert done.returncode == 0, done.stderr
    first = len(board.line_log) + 40
    done = run("--port", board.spec, "adjust", "--width", "37us", "--at-pulse", str(first), "--json")
    adjusted = json.loads(done.stdout)
    assert (adjusted["width_ticks"], adjusted["step_ticks"], adjusted["at_pulse"]) == (1776, 0, first)
    assert board.train["width"] == 1776 and board.train["period"] == 48_000
    assert [end - start for start, end, *_ in board.line_log][first - 1 : first + 1] == [4800, 1776]
    done = run("--port", board.spec, "adjust", "--width", "1ms", "--at-pulse", "1")
    assert done.returncode == 2 and "passed" in done.stderr and board.word("train_width") == 1776
    done = run("--port", board.spec, "adjust", "--width", "1001us")
    assert done.returncode == 2 and "overlap" in done.stderr and board.word("train_width") == 1776
    done = run("--port", board.spec, "adjust", "--rate", "2k")
    assert done.returncode == 0 and "width" not in done.stdout and board.train["width"] == 1776
    done = run("--port", board.spec, "adjust", "--width", "1t")
    assert done.returncode == 0 and ", width 1 tick" in done.stdout and board.train["width"] == 1


def test_a_fast_train_takes_no_change(board):
    """Faster than 320 cycles: the board is not even asked."""
    done = run("--port", board.spec, "train", "--rate", "400k", "--width", "1us", "--keep", "--json")
    assert done.returncode == 0, done.stderr
    for arguments in (["--rate", "1k"], ["--step", "1t"], ["--width", "2us"]):
        done = run("--port", board.spec, "adjust", *arguments)
        assert done.returncode == 2 and is_one_line(done.stderr)
        assert "too fast to be changed: its period is 2.5 µs (120 ticks), the shortest that can be changed 6.667 µs" in done.stderr
    assert board.word("train_period") == 120 and not board.change and board.train
    done = run("--port", board.spec, "train", "--rate", "401k", "--width", "1us")
    assert done.returncode == 2 and "too fast, the highest is 400 kHz" in done.stderr
    assert run("--port", board.spec, "stop").returncode == 0 and not board.train


TOO_FAR = "litepulse: pulse %d is too far ahead: a change can name one that is at most 2147483647 after the next\n"


@pytest.mark.parametrize("what", [["--width", "200us"], ["--step", "-1us"], ["--rate", "999"]])
def test_a_pulse_that_is_too_far_ahead(what, board):
    """It is not too close, nor has it passed: numbers of 32 bits are compared. The train goes on as it was."""
    assert run("--port", board.spec, "train", "--rate", "1k", "--width", "100us", "--keep").returncode == 0
    for pulse in (4_000_000_000, 3_000_000_000, (1 << 32) - 1):
        done = run("--port", board.spec, "adjust", *what, "--at-pulse", str(pulse))
        assert (done.returncode, done.stdout, done.stderr) == (2, "", TOO_FAR % pulse)
    assert board.train["period"] == 48_000 and board.train["width"] == 4800 and board.word("train_width") == 4800
    done = run("--port", board.spec, "adjust", *what, "--at-pulse", "1")
    assert done.returncode == 2 and "that pulse is too close or has passed" in done.stderr
    done = run("--port", board.spec, "adjust", *what, "--at-pulse", "2147483647")
    assert done.returncode == 0 and "accepted; the pulse it waits for has not come yet" in done.stderr and board.change[0] == 2147483647


def test_a_pulse_far_ahead_of_a_long_train(board):
    """The distance counts, not the number. One that has passed is not too far ahead."""
    assert run("--port", board.spec, "train", "--rate", "1k", "--width", "100us", "--keep").returncode == 0
    board.train["n"] = 3_000_000_000
    done = run("--port", board.spec, "adjust", "--step", "1us", "--at-pulse", "2999999999")
    assert done.returncode == 2 and "that pulse is too close, has passed, or is more than 2147483647 after the next one" in done.stderr
    done = run("--port", board.spec, "adjust", "--step", "1us", "--at-pulse", "4000000000")
    assert done.returncode == 0 and board.change[0] == 4_000_000_000


def test_adjust_waits_in_the_boards_time(board):
    """A simulated board that takes longer for two pulses than a user would wait has not refused the
    change."""
    done = run("--port", board.spec, "train", "--rate", "1k", "--baud", "115200", "--keep", "--json")
    assert done.returncode == 0
    board.step = 6
    begun, pulse = time.monotonic(), len(board.line_log) + 2
    done = run("--port", board.spec, "adjust", "--rate", "1M/7001", "--at-pulse", str(pulse), "--json")
    assert time.monotonic() - begun > 6, "slow enough to tell"
    assert done.returncode == 0 and done.stderr == "" and json.loads(done.stdout)["at_pulse"] == pulse, done.stderr


def test_stop_and_adjust_beside_a_process_that_follows():
    """Both processes share a serial port, transaction by transaction."""
    with Server(FakeBoard(step=20_000), "pty") as server:
        process = start("--port", server.spec, "train", "--rate", "1k", "--baud", "115200", "--json")
        while len(server.board.line_log) < 20:
            time.sleep(0.01)
        done = run("--port", server.spec, "adjust", "--rate", "1100", "--step", "-1t", "--json")
        assert done.returncode == 0, done.stderr
        done = run("--port", server.spec, "stop")
        assert done.returncode == 0 and "stopped: train" in done.stdout
        out, errors = process.communicate(timeout=240)
        result = json.loads(out)
        assert process.returncode == 0 and errors == "" and result["ended"] == "stop"
        assert [c["period_ticks"] for c in result["changes"]] == ["480000/11"] and result["changes"][0]["step_ticks"] == -1
        assert result["max_error_ticks"] == 0 and result["launched"] == [t for t, *_ in server.board.line_log]


# A raised bit rate ----------------------------------------------------------------------------------------------------------


def test_a_raised_bridge_is_at_115200_again_afterwards():
    with Server(FakeBoard(step=100_000), bridge=Bridge()) as server:
        for place in (lambda *verb: ("--bridge-baud", "1.5M", *verb), lambda *verb: (*verb, "--bridge-baud", "1500000")):
            server.bridge.rates.clear()
            done = run("--port", server.spec, *place("train", "--rate", "58", "--count", "20", "--json"))
            assert done.returncode == 0 and done.stderr == "", done.stderr
            assert json.loads(done.stdout)["max_error_ticks"] == 0 and len(server.board.line_log) == 20
            assert server.bridge.rates == [4096, 315]
            server.board.line_log.clear()
        assert run("--port", server.spec, "info").returncode == 0
        assert server.bridge.garbled == 0 and server.bridge.rates == [4096, 315]


def test_a_bridge_of_a_fixed_rate_is_left_alone():
    with Server(FakeBoard()) as server:
        done = run("--port", server.spec, "train", "--rate", "58", "--bridge-baud", "1M")
        assert done.returncode == 2 and is_one_line(done.stderr) and "fixed bit rate" in done.stderr and done.stdout == ""
        assert server.board.writes == 0 and server.board.session == 0


def test_who_raises_the_rate_has_the_port_alone_until_it_dies():
    with Server(FakeBoard(step=20_000), bridge=Bridge()) as server:
        process = start("--port", server.spec, "--bridge-baud", "1M", "train", "--rate", "1k", "--baud", "115200")
        while len(server.board.line_log) < 20:
            time.sleep(0.01)
        for verb in (["stop"], ["info", "--bridge-baud", "1M"], ["train", "--rate", "58"]):
            done = run("--port", server.spec, *verb)
            assert done.returncode == 2 and is_one_line(done.stderr), done.stderr
            assert f"in use at a raised bit rate by process {process.pid}" in done.stderr
        assert server.bridge.garbled == 0 and server.bridge.rates == [2731]
        process.kill()
        process.communicate()
        done = run("--port", server.spec, "stop")
        assert done.returncode == 0 and "stopped: train" in done.stdout
        assert server.bridge.rates == [2731, 315]


def test_a_port_that_another_process_uses_is_not_raised():
    with Server(FakeBoard(step=20_000), bridge=Bridge()) as server:
        process = start("--port", server.spec, "train", "--rate", "1k", "--baud", "115200", "--json")
        while len(server.board.line_log) < 20:
            time.sleep(0.01)
        done = run("--port", server.spec, "--bridge-baud", "1M", "stop")
        assert done.returncode == 2 and is_one_line(done.stderr) and f"process {process.pid} uses the port, too" in done.stderr
        assert run("--port", server.spec, "stop").returncode == 0
        out, errors = process.communicate(timeout=240)
        assert process.returncode == 0 and errors == "" and json.loads(out)["ended"] == "stop"
        assert server.bridge.rates == [] and server.bridge.garbled == 0


# Other verbs ---------------------------------------------------------------------------------------------------------------


def test_info(board):
    result = json.loads(run("--port", board.spec, "info", "--json").stdout)
    assert (
        result["clock_hz"] == "48000000"
        and result["event_depth"] == 256
        and result["version"] == f"{regs.VERSION_MAJOR}.{regs.VERSION_MINOR}"
        and result["train_running"] is False
    )
    done = run("info", "--port", board.spec)
    output = " ".join(done.stdout.split())  # wherever its lines end
    assert done.returncode == 0 and "48 MHz" in output and "±50 ppm" in output and "idle" in output


RESPOND = ["respond", "--on", "break", "--delay", "1us", "--keep"]


@pytest.mark.parametrize("echo, ticks", [(None, 16), ("0", 0), ("5us", 240), ("1023t", 1023)])
def test_the_echo_of_a_responder(echo, ticks, board):
    """It is written each time: an earlier command's setting does not stay."""
    assert run("--port", board.spec, *RESPOND, "--echo", "7t").returncode == 0 and board.word("echo") == 7
    done = run("--port", board.spec, *RESPOND, *(["--echo", echo] if echo else []), "--json")
    assert done.returncode == 0 and done.stderr == "" and json.loads(done.stdout)["echo_ticks"] == ticks
    assert board.word("echo") == ticks and board.armed


@pytest.mark.parametrize("echo", ["1024t", "22us"])
def test_an_echo_that_is_too_long_is_refused_and_nothing_armed(echo, board):
    done = run("--port", board.spec, *RESPOND, "--echo", echo)
    assert (
        done.returncode == 2
        and is_one_line(done.stderr)
        and "echo: " in done.stderr
        and "outside 0 to 21.312 µs (1023 ticks)" in done.stderr
    )
    assert not board.armed and board.word("echo") == 0


def test_send(board, tmp_path):
    file = tmp_path / "bytes"
    file.write_bytes(bytes(range(200)))
    done = run("--port", board.spec, "send", str(file), "--every", "1.5ms", "--json")
    result = json.loads(done.stdout)
    assert done.returncode == 0 and [x["byte"] for x in result["launched"]] == list(range(200)) and result["max_error_ticks"] == 0
    assert {b["tick"] - a["tick"] for a, b in zip(result["launched"], result["launched"][1:])} == {72_000}
    assert [x["byte"] for x in result["received"]] == list(range(200))


def test_send_back_to_back_from_standard_input(board):
    done = subprocess.run(
        [*COMMAND, "--port", board.spec, "send", "-", "--at", "+200ms", "--baud", "115200", "--csv"],
        env=ENV,
        input=b"hello",
        capture_output=True,
        timeout=240,
        check=True,
    )
    rows = [line.split(",") for line in done.stdout.decode().splitlines()]
    ticks = [int(r[1]) for r in rows[1:]]
    assert rows[0] == ["n", "tick", "t_ns", "error_ticks", "outcome"] and [r[4] for r in rows[1:]] == ["launched"] * 5
    assert [b - a for a, b in zip(ticks, ticks[1:])] == [106667 * 10 // 256] * 4


def test_send_that_cannot_be(board, tmp_path):
    file = tmp_path / "bytes"
    file.write_bytes(b"ab")
    for arguments, why in (
        (["--every", "1ms"], "overlap"),
        (["--at", "1t"], "passed"),
        (["--every", "0"], "every"),
        (["--format", "5N1"], "5 data bits"),
    ):
        done = run("--port", board.spec, "send", str(file), *arguments)
        assert done.returncode == 2 and is_one_line(done.stderr) and why in done.stderr and not board.line_log


@pytest.mark.full
def test_plots(board, tmp_path):
    done = run("--port", board.spec, "train", "--rate", "58", "--count", "20", "--json")
    file = tmp_path / "train.json"
    file.write_text(done.stdout)
    for suffix, magic in ((".png", b"\x89PNG"), (".svg", b"<?xml")):
        image = tmp_path / f"train{suffix}"
        done = run("plot", str(file), "-o", str(image))
        assert done.returncode == 0 and image.read_bytes().startswith(magic) and image.stat().st_size > 5000
    done = run("plot", str(file))
    assert done.returncode == 0 and "20 pulses at 58 Hz" in done.stdout
    done = run("plot", str(file), "-o", str(tmp_path / "train.gif"))
    assert done.returncode == 2 and is_one_line(done.stderr) and ".png" in done.stderr
    for text in ("", "{}", "{", "not a result", '{"command": "train"}', "a,b\n1,2\n"):
        file.write_text(text)
        done = run("plot", str(file))
        assert done.returncode == 2 and is_one_line(done.stderr) and "not a result" in done.stderr
    vnl = run("--port", board.spec, "train", "--rate", "58", "--count", "5", "--vnl")
    file.write_text(vnl.stdout)
    done = run("plot", str(file))
    assert done.returncode == 0 and "5 edges" in done.stdout


def test_help_and_version():
    for arguments in (["--help"], ["train", "--help"], ["--version"]):
        done = run(*arguments)
        assert done.returncode == 0 and done.stderr == "" and "litepulse" in done.stdout


# Bytes as numbers, with their flags ------------------------------------------------------------------------------------------

FLAGS = {0: "", 1 << 9: "parity", 1 << 10: "framing", 3 << 10: "framing+break", 1 << 14: "noise", 1 << 9 | 1 << 13: "parity+own"}


@pytest.mark.parametrize("style", ["csv", "vnl", "json"])
def test_bytes_alone_with_all_that_is_known_of_them(style, board):
    for number, flags in enumerate(FLAGS):
        tick = 50_000_000 + 10_000 * number
        board.arrives(tick + 5_000, tick, 0x41 + number | flags)
    done = run("--port", board.spec, "capture", "--bytes", "--inputs", "none", "--count", str(len(FLAGS)), f"--{style}")
    assert done.returncode == 0, done.stderr
    ticks, values = ([50_000_000 + 10_000 * n for n in range(len(FLAGS))], [0x41 + n for n in range(len(FLAGS))])
    if style == "json":
        result = json.loads(done.stdout)
        assert result["edges"] == [] and [byte["tick"] for byte in result["bytes"]] == ticks
        assert [("+".join(byte["flags"]), byte["data"]) for byte in result["bytes"]] == list(zip(FLAGS.values(), values))
        return
    lines = [line for line in done.stdout.splitlines() if not line.startswith("##")]
    names, *rows = [line.removeprefix("# ").split("," if style == "csv" else None) for line in lines]
    found = [dict(zip(names, row, strict=True)) for row in rows]
    assert [int(row["tick"]) for row in found] == ticks and [int(row["value"]) for row in found] == values
    assert [row["flags"] for row in found] == [flags or ("" if style == "csv" else "-") for flags in FLAGS.values()]
    assert {row["channel"] for row in found} == {"byte"}


@pytest.mark.parametrize("words, why", [(["--inputs", "none"], "without --bytes"), (["--inputs", ""], "not like 0,1,rx or none")])
def test_nothing_to_capture(words, why):
    done = run("--port", "/dev/null", "capture", *words)
    assert done.returncode == 2 and is_one_line(done.stderr) and why in done.stderr


def test_the_beginning_loads_no_decoder_and_no_backend():
    """What a verb alone needs is loaded by that verb: the beginning of each command would wait for it."""
    code = "import contextlib, sys\nfrom litepulse import cli\nwith contextlib.suppress(SystemExit):\n    cli.main(['--version'])\n"
    code += "print(*(name for name in sys.modules if name.startswith('litepulse.')))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "litepulse.named_time" in loaded
    assert [name for name in loaded if name.startswith(("litepulse.codes.", "litepulse.backends"))] == ["litepulse.codes.scale"]
