# SPDX-License-Identifier: BSD-2-Clause
"""The command on the simulated SoC, end to end: real RTL, real bridge, the pins recorded and read by an independent decoder."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import zipfile
from fractions import Fraction
from pathlib import Path

import pytest

import litepulse
from litepulse import regs, witness
from litepulse.attach import Found, inspect
from litepulse.backends import connect_port
from litepulse.doctor import Doctor
from litepulse.errors import LitePulseError, Refused
from litepulse.line import Launch, Profile
from litepulse.ports import Host, describe
from litepulse.train import change_train
from litepulse.units import Period

ROOT = Path(__file__).resolve().parents[2]
ENV = {**os.environ, "PYTHONPATH": f"{ROOT / 'sw'}{os.pathsep}{ROOT}", "COLUMNS": "80", "PYTHONUNBUFFERED": "1"}
COMMAND = [sys.executable, "-m", "litepulse"]
HZ = 48_000_000


@pytest.fixture(scope="session", autouse=True)
def program():
    """The simulated SoC, built."""
    from litex_soc import sim_soc

    return sim_soc.build()


def run(*arguments, timeout=300, **options):
    return subprocess.run([*COMMAND, *arguments], env=ENV, capture_output=True, text=True, timeout=timeout, check=False, **options)


def result_of(*arguments, **options):
    done = run(*arguments, "--json", **options)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return json.loads(done.stdout)


def pins(path, hz=HZ, scale="10 ns"):
    """{name: [(tick, level)]} of a VCD, read here on our own: each time is a tick rounded to the unit, so rounding returns it."""
    text = Path(path).read_text()
    assert f"$timescale {scale} $end" in text
    unit = int(scale.split()[0]) * {"us": Fraction(1, 10**6), "ns": Fraction(1, 10**9)}[scale.split()[1]]
    assert unit <= Fraction(1, hz) / 2 < 10 * unit, "as coarse as ticks still differ"
    names = {code: name for code, name in re.findall(r"\$var wire 1 (\S+) (\S+) \$end", text)}
    changes, tick = {name: [] for name in names.values()}, 0
    for line in text.split("$enddefinitions $end", 1)[1].splitlines():
        if line.startswith("#"):
            exact = int(line[1:]) * unit * hz
            tick = round(exact)
            assert abs(exact - tick) / hz <= unit / 2
        elif line[:1] in ("0", "1"):
            changes[names[line[1:]]].append((tick, int(line[0])))
    return changes


def falls(changes):
    return [tick for tick, level in changes[1:] if level == 0]


def frame_edges(start, byte, bit):
    """Where 8N1 changes the line, from the format's definition."""
    levels = [1, 0, *(byte >> k & 1 for k in range(8)), 1]
    return [(start + int(k * bit), levels[k + 1]) for k in range(10) if levels[k] != levels[k + 1]]


# The main job -------------------------------------------------------------------------------------------------------


@pytest.mark.full  # `make demo` does the same
@pytest.mark.seconds(30)
def test_58_hz_to_the_tick(tmp_path):
    vcd = tmp_path / "out.vcd"
    arguments = "--sim train --rate 58 --byte 0xff --baud 9600 --count 30 --json --vcd"
    done = run(*arguments.split(), str(vcd))
    assert done.returncode == 0 and done.stderr == ""
    result = json.loads(done.stdout)
    assert result["backend"] == "sim" and result["simulated"] is True and result["samples_per_cycle"] == 1
    assert [Fraction(result[k]) for k in ("clock_hz", "tick_hz", "rate_hz", "period_ticks")] == [HZ, HZ, 58, Fraction(24_000_000, 29)]
    start = result["launched"][0]
    assert result["launched"] == [start + n * 24_000_000 // 29 for n in range(30)]
    assert result["received"] == [tick + regs.LOOPBACK_TICKS for tick in result["launched"]]
    assert result["max_error_ticks"] == 0 and result["lost"] == 0 and result["received_bytes"] == [0xFF] * 30

    seen = pins(vcd)
    wanted = [edge for tick in result["launched"] for edge in frame_edges(tick, 0xFF, Fraction(5000))]
    assert seen["tx"][1:] == wanted and seen["rx"][1:] == wanted  # a wire: both pins change at the same instant

    assert witness.available(), "the independent witness is not installed: apt install sigrok-cli"
    assert witness.read_uart(vcd, HZ, "tx", 9600) == [(tick, 0xFF) for tick in result["launched"]]


@pytest.mark.parametrize(
    "rate, baud, byte", [("44.1k", "2M", "0x55"), ("12345.678", "230400", "0x00"), ("1M/7", "12M", "0xa5"), ("617/2", "9600", "0x80")]
)
def test_real_fractions(rate, baud, byte, tmp_path):
    vcd = tmp_path / "out.vcd"
    result = result_of(
        "--sim", "train", "--rate", rate, "--baud", baud, "--byte", byte, "--count", "100" if "/2" not in rate else "10", "--vcd", str(vcd)
    )
    period, bit, value = Fraction(result["period_ticks"]), Fraction(result["bit_period_ticks"]), int(byte, 16)
    count = result["count"]
    assert result["launched"] == [result["start"] + int(n * period) for n in range(count)] and result["lost"] == 0
    assert result["received"] == [tick + 1 for tick in result["launched"]] and result["received_bytes"] == [value] * count
    assert pins(vcd)["tx"][1:] == [edge for tick in result["launched"] for edge in frame_edges(tick, value, bit)]


@pytest.mark.parametrize("width", ["1t", "5us"])
def test_raw_pulses(width, tmp_path):
    vcd = tmp_path / "out.vcd"
    result = result_of("--sim", "train", "--rate", "50k", "--width", width, "--count", "300", "--vcd", str(vcd))
    ticks = {"1t": 1, "5us": 240}[width]
    assert result["launched"] == [result["start"] + 960 * n for n in range(300)] == [t - 1 for t in result["received"]]
    assert pins(vcd)["tx"][1:] == [edge for tick in result["launched"] for edge in ((tick, 0), (tick + ticks, 1))]


@pytest.mark.parametrize("fmt, bits", [("7E1", 10), ("5N1.5", Fraction(15, 2)), ("8O2", 12)])
def test_formats_and_polarity(fmt, bits, tmp_path):
    vcd = tmp_path / "out.vcd"
    result = result_of(
        "--sim",
        "train",
        "--period",
        f"{int(bits * 480)}t",
        "--baud",
        "100k",
        "--byte",
        "0x15",
        "--format",
        fmt,
        "--invert",
        "--count",
        "50",
        "--vcd",
        str(vcd),
    )  # back to back
    assert result["received_bytes"] == [0x15] * 50 and result["bad_frames"] == 0 and result["max_error_ticks"] == 0
    assert [t - 1 for t in result["received"]] == result["launched"] and {
        b - a for a, b in zip(result["launched"], result["launched"][1:])
    } == {bits * 480}


def test_the_start_tick_is_kept():
    result = result_of("--sim", "train", "--rate", "10k", "--baud", "1M", "--start", "2500001t", "--count", "5")
    assert result["launched"] == [2_500_001 + 4800 * n for n in range(5)]


def test_people_see_that_it_is_simulated():
    done = run("--sim", "train", "--rate", "10k", "--baud", "1M", "--count", "20")
    assert done.returncode == 0 and done.stderr == "" and done.stdout.startswith("SIMULATED")
    assert (
        "20 launched, 20 received" in done.stdout
        and "SIMULATED: no board" in done.stdout
        and "every edge is where it belongs" in done.stdout
    )
    assert max(map(len, done.stdout.splitlines())) <= 80
    done = run("--sim", "info")
    assert done.returncode == 0 and done.stdout.startswith("SIMULATED") and "48 MHz" in done.stdout


@pytest.mark.parametrize("style", ["vnl", "csv"])
def test_rows_stream_while_it_runs_and_ctrl_c_ends_it(style, tmp_path):
    vcd = tmp_path / "out.vcd"
    process = subprocess.Popen(
        [*COMMAND, "--sim", "--vcd", str(vcd), "train", "--rate", "1k", "--baud", "115200", f"--{style}"],
        env=ENV,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    first = [process.stdout.readline() for _ in range(12)]
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    rest, errors = process.stdout.read(), process.stderr.read()  # communicate() forgets what readline() has buffered
    process.wait(timeout=240)
    assert process.returncode == 0 and "every edge is where it belongs" in errors and "SIMULATED" in errors and "Traceback" not in errors
    rows = [line for line in "".join([*first, rest]).splitlines() if not line.startswith("##")]
    assert rows[0] == ("# t_ns dt_ms" if style == "vnl" else "pulse,tick,t_ns,dt_ms,error_ticks")
    split = None if style == "vnl" else ","
    ticks = [round(Fraction(row.split(split)[0 if style == "vnl" else 2]) * HZ / 10**9) for row in rows[1:]]
    seen = pins(vcd)
    starts = [tick for tick, _ in seen["tx"][1:]][::2]
    assert ticks == starts and {b - a for a, b in zip(ticks, ticks[1:])} == {48_000}
    assert seen["tx"][-1][1] == 1  # the line is left idle


def test_a_closed_pipe_ends_quietly():
    done = subprocess.run(
        f"{sys.executable} -m litepulse --sim train --rate 1k --baud 115200 --csv | head -n 4",
        shell=True,
        env=ENV,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0 and done.stderr == "" and len(done.stdout.splitlines()) == 4


# Other processes ------------------------------------------------------------------------------------------------------


class Program:
    """The simulated SoC by itself, as a user runs it to have a board."""

    def __init__(self, program, *arguments):
        self.process = subprocess.Popen(
            [program, *arguments, "--loop-tx-rx", "--exit-with-parent"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.where = json.loads(self.process.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.communicate(timeout=240)


def test_keep_adjust_stop_through_tcp(program, tmp_path):
    vcd = tmp_path / "out.vcd"
    with Program(program, "--tcp", "0", "--vcd", str(vcd)) as soc:
        port = ["--port", f"tcp:127.0.0.1:{soc.where['tcp']}"]
        kept = result_of(*port, "train", "--rate", "1k", "--baud", "115200", "--keep")
        assert kept["ended"] == "running" and kept["launched"] and kept["backend"] == "uartbone"
        done = run(*port, "train", "--rate", "58")
        assert done.returncode == 2 and "running already" in done.stderr and done.stderr.count("\n") == 1
        adjusted = result_of(*port, "adjust", "--rate", "2k", "--step", "-5us")
        assert adjusted["step_ticks"] == -240 and adjusted["period_ticks"] == "24000"
        assert result_of(*port, "info")["train_running"] is True
        stopped = result_of(*port, "stop")
        assert stopped["stopped"] == ["train"]
        assert result_of(*port, "info")["train_running"] is False
    starts = [tick for tick, _ in pins(vcd)["tx"][1:]][::2]
    gaps = [b - a for a, b in zip(starts, starts[1:])]
    change = next(i for i, gap in enumerate(gaps) if gap != 48_000)
    assert gaps[change] == 24_000 - 240 and set(gaps[change + 1 :]) <= {24_000} and change + 1 == adjusted["at_pulse"]
    assert stopped["pulses"] == len(starts)


def test_the_lead_stays_while_a_train_runs(program):
    with Program(program, "--tcp", "0") as soc:
        port = f"tcp:127.0.0.1:{soc.where['tcp']}"
        result_of("--port", port, "train", "--rate", "1k", "--baud", "115200", "--keep")
        with contextlib.closing(connect_port(port)) as device:
            device.line.set_driver_enable(0, 480)
            with pytest.raises(Refused, match="lead: it cannot change while a train runs"):
                device.line.set_driver_enable(48, 480)
            device.session.quiet()
            while device.registers.read_status().train_running:
                pass
            device.line.set_driver_enable(48, 480)


def test_width_of_a_running_train(program, tmp_path):
    """From the pulse on that is reported; a train that is too fast takes no change, and is stopped."""
    vcd = tmp_path / "out.vcd"
    with Program(program, "--tcp", "0", "--vcd", str(vcd)) as soc:
        port = ["--port", f"tcp:127.0.0.1:{soc.where['tcp']}"]
        assert result_of(*port, "train", "--rate", "1k", "--width", "100us", "--keep")["launched"]
        adjusted = result_of(*port, "adjust", "--width", "37us")
        assert adjusted["width_ticks"] == 1776 and adjusted["period_ticks"] == "48000"
        done = run(*port, "adjust", "--width", "50us", "--at-pulse", "4000000000")
        assert done.returncode == 2 and "pulse 4000000000 is too far ahead" in done.stderr and done.stderr.count("\n") == 1
        first = result_of(*port, "stop")["pulses"]
        assert result_of(*port, "train", "--rate", "400k", "--width", "1us", "--keep")["ended"] == "running"
        done = run(*port, "adjust", "--step", "1us")
        assert done.returncode == 2 and "too fast to be changed" in done.stderr and done.stderr.count("\n") == 1
        assert result_of(*port, "stop")["stopped"] == ["train"]
    edges = pins(vcd)["tx"][1:]
    pulses = [(a, b - a) for (a, _), (b, _) in zip(edges[::2], edges[1::2])]
    change = adjusted["at_pulse"]
    assert [width for _, width in pulses[:first]] == [4800] * change + [1776] * (first - change)
    assert {width for _, width in pulses[first:]} == {48}
    assert {b[0] - a[0] for a, b in zip(pulses[first:], pulses[first + 1 :])} == {120}


def test_stop_and_adjust_beside_a_follower(program, tmp_path):
    with Program(program, "--pty") as soc:
        port = ["--port", soc.where["pty"]]
        process = subprocess.Popen(
            [*COMMAND, *port, "train", "--rate", "1k", "--baud", "115200", "--json"],
            env=ENV,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        while not result_of(*port, "info")["train_running"]:
            assert process.poll() is None, process.communicate()
        assert result_of(*port, "adjust", "--rate", "1234.5")["period_ticks"] == "32000000/823"
        assert result_of(*port, "stop")["stopped"] == ["train"]
        out, errors = process.communicate(timeout=240)
    result = json.loads(out)
    assert process.returncode == 0 and errors == "" and result["ended"] == "stop" and result["max_error_ticks"] == 0 and result["lost"] == 0
    assert [c["period_ticks"] for c in result["changes"]] == ["32000000/823"]
    assert [t - 1 for t in result["received"]] == result["launched"]


def test_adjust_reports_its_outcome_although_others_take_the_records(program, tmp_path):
    """Half of the changes come too late for the next pulse; others take that record before the
    program can read it."""
    vcd, ended = tmp_path / "out.vcd", threading.Event()
    long, short = Period(96_000, 0, 1), Period(24_000, 0, 1)

    def take():
        while not ended.is_set():
            follower.recorder.events.discard()

    with Program(program, "--pty", "--vcd", str(vcd)) as soc:
        port = soc.where["pty"]
        with contextlib.closing(connect_port(port)) as device, contextlib.closing(connect_port(port, own=False)) as follower:
            device.line.set_profile(1, Profile(device.identity.timescale.bit_period(115200)))
            device.train.start(Launch("pulse", width=100), long, 0, None)
            taker = threading.Thread(target=take)
            taker.start()
            try:
                for turn in range(21):
                    seen = device.now()
                    while device.now() < seen + 2 * 96_000 + turn * 4801:
                        pass
                    if turn < 20:
                        old, new = (short, long) if turn % 2 else (long, short)
                        change_train(device, old, new, 0, 0)
            finally:
                ended.set()
                taker.join()
            device.session.quiet()
    starts = [tick for tick, _ in pins(vcd)["tx"][1:]][::2]
    gaps = [b - a for a, b in zip(starts, starts[1:])]
    assert set(gaps) == {96_000, 24_000}
    assert sum(a != b for a, b in zip(gaps, gaps[1:])) == 20


def test_a_killed_program_leaves_nothing_running(program, tmp_path):
    """After SIGKILL the board stops the train by itself; with --keep it goes on."""
    vcd = tmp_path / "out.vcd"
    # So slow a clock, as it says, that the limit is over in seconds although the simulator is as fast as it can be.
    with Program(program, "--pty", "--always", "--pulse-hz", "250000", "--vcd", str(vcd)) as soc:
        port = ["--port", soc.where["pty"]]
        train = ["train", "--rate", "50", "--width", "1ms"]
        process = subprocess.Popen([*COMMAND, *port, *train, "--json"], env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while not (before := result_of(*port, "info"))["train_running"]:
            assert process.poll() is None, process.communicate()
        process.kill()
        process.communicate()
        for seconds in (4, 8, 16, 32):  # looking is talking: the limit has to be over before
            time.sleep(seconds)
            if not (after := result_of(*port, "info"))["train_running"]:
                break
        assert not after["train_running"] and after["session"] != before["session"]
        kept = result_of(*port, *train, "--keep")
        time.sleep(seconds)
        later = result_of(*port, "info")
        assert later["train_running"] and later["session"] == after["session"]
        assert result_of(*port, "stop")["stopped"] == ["train"]
    starts = [tick for tick, _ in pins(vcd, 250_000, "1 us")["tx"][1:]][::2]
    first = [tick for tick in starts if tick < kept["start"]]
    again = starts[len(first) :]
    assert again[0] == kept["start"] and {b - a for run in (first, again) for a, b in zip(run, run[1:])} == {5000}
    units = -(-5 * 250_000 // (1 << 18))
    assert (first[-1] - first[0]) > units * 2 * (1 << 18) - 5000, "it ran on until the limit was over"


def test_the_simulator_is_recognised_behind_a_port(program):
    with Program(program, "--tcp", "0") as soc:
        result = result_of("--port", f"tcp:127.0.0.1:{soc.where['tcp']}", "info")
        assert result["simulated"] is True and result["backend"] == "uartbone"


def test_attach_and_doctor_look_at_it(program):
    """What they read before they give a port to the kernel, from the real thing."""
    with Program(program, "--pty") as soc:
        port = describe(Host(), soc.where["pty"])
        found = inspect(port)
        assert found == Found((regs.VERSION_MAJOR, regs.VERSION_MINOR), HZ, True, found.bridge_hz, True)
        checks = {check.name: check.state for check in Doctor(Host(), soc.where["pty"]).run()}
        assert checks["bridge"] == checks["core"] == checks["permissions"] == "ok" and checks["cable"] == "skipped"


def test_a_board_that_restarts_is_a_new_session(program):
    sessions = []
    for _ in range(2):
        with Program(program, "--tcp", "0") as soc:
            port = ["--port", f"tcp:127.0.0.1:{soc.where['tcp']}"]
            sessions += [result_of(*port, "info")["session"] for _ in range(2)]
    assert sessions[0] == sessions[1] != sessions[2] == sessions[3]


# Send, capture, respond --------------------------------------------------------------------------------------------------


def test_send_round_trip(tmp_path):
    data, vcd = tmp_path / "data", tmp_path / "out.vcd"
    data.write_bytes(bytes(range(256)))
    result = result_of("--sim", "--vcd", str(vcd), "send", str(data), "--every", "1/8000", "--baud", "115200")
    ticks = [x["tick"] for x in result["launched"]]
    assert (
        result["max_error_ticks"] == 0
        and ticks == [ticks[0] + 6000 * n for n in range(256)]
        and not result["refused"]
        and not result["lost"]
    )
    assert [(x["tick"] - 1, x["byte"]) for x in result["received"]] == list(zip(ticks, range(256)))
    bit = Fraction(106667, 256)
    assert pins(vcd)["tx"][1:] == [edge for tick, byte in zip(ticks, range(256)) for edge in frame_edges(tick, byte, bit)]


def test_send_at_a_tick_back_to_back(tmp_path):
    data = tmp_path / "data"
    data.write_bytes(b"LitePulse")
    result = result_of("--sim", "send", str(data), "--at", "5000000t", "--baud", "1M")
    assert [x["tick"] for x in result["launched"]] == [5_000_000 + 480 * n for n in range(9)]
    assert bytes(x["byte"] for x in result["received"]) == b"LitePulse"


@pytest.mark.parametrize(
    "wire, text, message",
    [
        (
            "rx",
            "# levels\n5 0 1\n9 rx 0 # low\n",
            "drives rx, and tx is wired to it: set the wire (--wire) to none, or to bus, where both drive it",
        ),
        ("2", "5 2 1\n", "drives input 2, and tx is wired to it: set the wire (--wire) to none"),
    ],
)
def test_a_stimulus_for_what_tx_drives(wire, text, message, tmp_path):
    (tmp_path / "stimulus").write_text(text)
    done = run("--sim", "--wire", wire, "--stimulus", str(tmp_path / "stimulus"), "capture", "--count", "1")
    assert (done.returncode, done.stderr) == (2, f"litepulse: stimulus: {tmp_path / 'stimulus'} {message}\n")


def test_capture_shows_the_stimulus_to_the_tick(tmp_path):
    stimulus = tmp_path / "stimulus"
    base = 3_000_000
    wanted = [(base + 100 * n, str(n % 3), 1 - (n // 3) % 2) for n in range(60)]
    stimulus.write_text("".join(f"{tick} {channel} {level}\n" for tick, channel, level in wanted))
    result = result_of("--sim", "--stimulus", str(stimulus), "capture", "--inputs", "0,1,2", "--count", "60")
    assert [(e["tick"] - regs.LOOPBACK_TICKS, e["channel"], e["level"]) for e in result["edges"]] == wanted and result["lost"] == 0


@pytest.mark.full
def test_capture_decodes_bytes_and_filters_glitches(tmp_path):
    stimulus = tmp_path / "stimulus"
    start, text = 3_000_000, b"Hi!"
    changes = [(start + 48_000 * n, byte) for n, byte in enumerate(text)]
    lines = [(tick, level) for at, byte in changes for tick, level in frame_edges(at, byte, Fraction(5000))]
    lines += [(start + 48_000 * 4, 0), (start + 48_000 * 4 + 3, 1)]  # a glitch of three ticks
    stimulus.write_text("".join(f"{tick} rx {level}\n" for tick, level in sorted(lines)))
    result = result_of("--sim", "--wire", "none", "--stimulus", str(stimulus), "capture", "--bytes", "--filter", "8", "--for", "0.12")
    assert [(b["tick"] - 1, b["data"], b["flags"]) for b in result["bytes"]] == [(at, byte, []) for at, byte in changes]
    assert [(e["tick"] - 1, e["level"]) for e in result["edges"]] == sorted(lines)[:-2]


@pytest.mark.skipif(not witness.available(), reason="NOT TESTED: sigrok-cli is not installed")
def test_sessions_and_vcd_in_plain_sigrok(tmp_path):
    """As a user calls it: no option but the decoder's. In a session the number of a sample is the tick."""
    vcd, session, data = tmp_path / "pins.vcd", tmp_path / "pins.sr", tmp_path / "data"
    data.write_bytes(b"LitePulse")
    result = result_of("--sim", "--vcd", str(vcd), "--sr", str(session), "send", str(data), "--every", "2ms", "--baud", "115200")
    ticks = [item["tick"] for item in result["launched"]]
    assert len(ticks) == 9 and witness.read_uart(vcd, HZ, "tx", 115200) == list(zip(ticks, b"LitePulse"))
    for file, options in ((vcd, []), (session, ["--protocol-decoder-samplenum"])):
        command = ["sigrok-cli", "-i", file, "-P", "uart:rx=tx:baudrate=115200:format=ascii", "-A", "uart=rx-data:rx-start", *options]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found = [re.fullmatch(r"(?:(\d+)-\d+ )?uart-1: (.*)", line).groups() for line in done.stdout.splitlines()]
        assert "".join(text for _, text in found if text != "Start bit") == "LitePulse"
        if options:
            assert [int(at) for at, text in found if text == "Start bit"] == ticks
    assert not [path for path in tmp_path.iterdir() if path not in (vcd, session, data)]


@pytest.mark.parametrize("output, message", [("a warning\nno such input", "no such input"), ("", "exit status 3")])
def test_a_witness_that_fails_is_reported_in_one_line(tmp_path, monkeypatch, output, message):
    (tmp_path / "said").write_text(output)
    program = tmp_path / witness.NAME
    program.write_text(f"#!/bin/sh\ncat {tmp_path / 'said'} >&2\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    vcd = tmp_path / "pins.vcd"
    vcd.write_text("$timescale 10 ns $end\n$var wire 1 ! tx $end\n$enddefinitions $end\n#0\n1!\n")
    with pytest.raises(LitePulseError, match=f"^{witness.NAME} failed: {message}$"):
        witness.read_uart(vcd, HZ, "tx", 9600)


def test_a_session_alone_leaves_no_other_file(tmp_path):
    session = tmp_path / "pins.sr"
    result_of("--sim", "--sr", str(session), "info")
    assert list(tmp_path.iterdir()) == [session] and zipfile.is_zipfile(session)


def test_respond_to_edges_after_exactly_the_delay(tmp_path):
    stimulus, vcd = tmp_path / "stimulus", tmp_path / "out.vcd"
    rises = [3_000_000 + 7_777 * n for n in range(40)]
    stimulus.write_text("".join(f"{tick} 0 1\n{tick + 1000} 0 0\n" for tick in rises))
    result = result_of(
        "--sim",
        "--stimulus",
        str(stimulus),
        "--vcd",
        str(vcd),
        "respond",
        "--on",
        "edge:0:rise",
        "--delay",
        "5us",
        "--width",
        "1us",
        "--count",
        "40",
    )
    assert [(a["reference"] - 1, a["delay_ticks"]) for a in result["answers"]] == [(tick, 240) for tick in rises] and not result["missed"]
    assert falls(pins(vcd)["tx"]) == [tick + 1 + 240 for tick in rises]


@pytest.mark.parametrize("echo, answered", [(None, [0, 1, 2]), ("0", [0, 1, 2]), ("700t", [0, 2])])
def test_respond_ignores_its_own_echo_for_the_requested_time(echo, answered, tmp_path):
    """The second of three edges on the line comes 600 ticks after the end of our transmission, the
    third 5000."""
    stimulus = tmp_path / "stimulus"
    delay, width = 240, 48
    first = 3_000_000
    end = first + regs.LOOPBACK_TICKS + delay + width
    starts = [first, end + 600, end + 600 + delay + width + 5000]
    stimulus.write_text("".join(f"{tick} rx 0\n{tick + 20} rx 1\n" for tick in starts))
    words = ["respond", "--on", "edge:rx:fall", "--delay", f"{delay}t", "--width", f"{width}t", "--for", "0.065"]
    words += ["--echo", echo] if echo else []
    result = result_of("--sim", "--wire", "none", "--stimulus", str(stimulus), *words)
    assert result["echo_ticks"] == (16 if echo is None else int(echo.strip("t")))
    assert [a["tick"] for a in result["answers"]] == [starts[n] + regs.LOOPBACK_TICKS + delay for n in answered]
    assert not result["missed"]


@pytest.mark.full
def test_respond_to_bytes_and_say_what_was_missed(tmp_path):
    stimulus = tmp_path / "stimulus"
    starts = [3_000_000 + 100_000 * n for n in range(4)]
    data = [0x55, 0x56, 0xF5, 0x00]
    stimulus.write_text("".join(f"{t} rx {v}\n" for at, byte in zip(starts, data) for t, v in frame_edges(at, byte, Fraction(5000))))
    arguments = [
        "--sim",
        "--wire",
        "none",
        "--stimulus",
        str(stimulus),
        "respond",
        "--on",
        "byte:0x55/0x0f",
        "--byte",
        "0x42",
        "--for",
        "0.3",
    ]
    result = result_of(*arguments, "--delay", "100t")
    assert [(a["tick"], a["delay_ticks"]) for a in result["answers"]] == [(at + 1 + 50_000 + 100, 100) for at in (starts[0], starts[2])]
    arguments[arguments.index("byte:0x55/0x0f")] = "edge:rx:fall"
    done = run(*arguments, "--delay", "1t", "--once", "--json")
    result = json.loads(done.stdout)
    assert done.returncode == 1 and not result["answers"] and [m["reason"] for m in result["missed"]] == ["late"]


# The demo -------------------------------------------------------------------------------------------------------------------


@pytest.mark.seconds(10)
def test_the_demo_in_short(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "litepulse.demo", "--count", "6", "--output", str(tmp_path)],
        env=ENV,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0 and done.stderr == "", done.stderr
    for part in (
        "SIMULATED",
        "±0.1 ms at best",
        "largest error 0 ticks",
        "sigrok-cli, an independent witness, reads 6 times 0xFF at these ticks",
        "±50 ppm",
    ):
        assert part in done.stdout
    assert (tmp_path / "period-error.png").read_bytes().startswith(b"\x89PNG") and falls(pins(tmp_path / "pins.vcd")["tx"])
    assert json.loads((tmp_path / "train.json").read_text())["max_error_ticks"] == 0


def test_the_demo_goes_on_without_the_witness(tmp_path):
    for name in ("env", "cat"):
        (tmp_path / name).symlink_to(shutil.which(name))
    done = subprocess.run(
        [sys.executable, "-m", "litepulse.demo", "--count", "2", "--output", str(tmp_path / "out")],
        env={**ENV, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0 and "sigrok-cli is not installed" in done.stdout, done.stderr


def test_each_run_gives_the_same_ticks(monkeypatch):
    """However long the program takes from one command to the next."""
    found = []
    for pause in (0, 0.003):
        with litepulse.open(sim=True) as board:
            ask = board.backend.registers.bus.read

            def slow(*arguments, ask=ask, pause=pause):
                time.sleep(pause)
                return ask(*arguments)

            monkeypatch.setattr(board.backend.registers.bus, "read", slow)
            with board.train(rate=1000, byte=0x55, baud=115200, count=5) as train:
                pulses = [(pulse.tick, pulse.received) for pulse in train]
            launched = board.launch(at=board.now() + litepulse.ms(2), byte=0x33)
            found.append((pulses, launched.tick, board.now()))
    assert found[0] == found[1]
