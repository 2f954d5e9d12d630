# SPDX-License-Identifier: BSD-2-Clause
"""The simulator as a program: what it refuses, when it ends, how time goes."""

import contextlib
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from litepulse import regs
from litex_soc import sim_soc
from sim.soc.soc_rig import CSR, WINDOW, Simulated, read_vcd, tick_of, vcd_unit


def run(*arguments, timeout=60):
    """The program to its end."""
    return subprocess.run(
        [str(sim_soc.build(quiet=True)), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=timeout,
        stdin=subprocess.DEVNULL,
        check=False,
    )


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([], "nothing to do"),
        (["--frobnicate"], "--frobnicate: no such option"),
        (["--tcp"], "--tcp needs an argument"),
        (["--tcp", "no"], "'no' is not a whole number"),
        (["--tcp", "65536"], "65536 is not within 0 to 65535"),
        (["--tcp", "0", "--once=1"], "--once takes no argument"),
        (["--tcp", "0", "--pulse-hz", "0"], "0 is not within 1"),
        (["--tcp", "0", "--pulse-hz", "48000000/0"], "0 is not within 1"),
        (["--tcp", "0", "--pulse-hz", "48e6"], "'48e6' is not a whole number"),
        (["--tcp", "0", "--lockstep", "0"], "0 is not within 1"),
        (["--tcp", "0", "--lockstep", "5", "--pace"], "--lockstep excludes"),
        (["--tcp", "0", "--step", "0"], "0 is not within 1"),
        (["--tcp", "0", "--step", "5", "--always"], "--step excludes"),
        (["--tcp", "0", "--step", "5", "--lockstep", "5"], "--step and --lockstep exclude each other"),
        (["--tcp", "0", "--loop-tx-input", "4"], "4 is not within 0 to 3"),
        (["--tcp", "0", "--level", "rx"], "not CHANNEL=0 or CHANNEL=1"),
        (["--tcp", "0", "--level", "rx=2"], "not CHANNEL=0 or CHANNEL=1"),
        (["--tcp", "0", "--loop-tx-rx", "--level", "rx=1"], "channel 4 is wired to tx"),
        (["--tcp", "0", "--bus", "--loop-tx-rx"], "--bus: rx is wired to tx and the stimulus"),
        (["--tcp", "0", "--bus", "--level", "rx=1"], "--bus: rx is wired to tx and the stimulus"),
        (["--stop-at-cycle", "0"], "0 is not within 1"),
        (["--stop-at-cycle", "9", "--stimulus", "/nonexistent/x"], "cannot read /nonexistent/x: No such file"),
        (["--stop-at-cycle", "9", "--vcd", "/nonexistent/x"], "cannot write /nonexistent/x: No such file"),
        (["--stop-at-cycle", "9", "--trace", "x.vcd"], "was built without it"),
    ],
)
def test_wrong_usage(arguments, message):
    result = run(*arguments)
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert result.stderr.startswith("litepulse-sim: ") and message in result.stderr


@pytest.mark.parametrize(
    "text, message",
    [
        ("5 0\n", ":1: expected `tick channel level`"),
        ("5 0 1\n6 0 2\n", ":2: expected `tick channel level`"),
        ("5 0 1 1\n", ":1: expected"),
        ("5 7 1\n", "7 is not within 0 to 3"),
        ("x 0 1\n", "'x' is not a whole number"),
        ("7 0 1\n\n6 0 0\n", ":3: tick 6 is less than the one before it"),
    ],
)
def test_wrong_stimulus(text, message, tmp_path):
    file = tmp_path / "stimulus"
    file.write_text(text)
    result = run("--stop-at-cycle", 10, "--stimulus", file)
    assert result.returncode == 2 and message in result.stderr and str(file) in result.stderr and result.stderr.count("\n") == 1


def test_port_in_use():
    with Simulated() as soc:
        result = run("--tcp", soc.info["tcp"])
        assert result.returncode == 2 and "in use" in result.stderr


def test_help_names_every_option():
    result = run("--help")
    assert result.returncode == 0 and result.stderr == ""
    source = (sim_soc.HERE / "sim" / "main.cpp").read_text()
    options = {line.split('"')[1] for line in source.splitlines() if 'a.is("--' in line}
    assert len(options) > 15 and all(f"  {option}" in result.stdout for option in options - {"--help"})


def test_batch_run_stops_exactly(tmp_path):
    vcd = tmp_path / "x.vcd"
    result = run("--stop-at-cycle", 480_000, "--vcd", vcd, "--stats")
    assert (result.returncode, result.stdout) == (0, "")
    stats = json.loads(result.stderr)
    assert stats["cycles"] == 480_000 and stats["cycles_per_second"] > 0
    pins, end = read_vcd(vcd)
    assert end == 10_000_000_000  # 10 ms in ps
    assert pins["tx"] == [(0, 1)]  # undriven until released, then idle


def test_once(tmp_path):
    with Simulated("--once") as soc:
        assert soc.bus.read(CSR["id_magic"]) == regs.MAGIC
        soc.bus.close()
        soc.bus = None
        assert soc.process.wait(timeout=10) == 0


def test_exits_with_parent():
    """Its parent killed, the simulator ends by itself, though the client's socket and its standard input stay open."""
    code = (
        "import subprocess, sys, time\n"
        "p = subprocess.Popen([sys.argv[1], '--tcp', '0', '--exit-with-parent'])\n"
        "print(p.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code, str(sim_soc.build(quiet=True))], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    lines = [parent.stdout.readline(), parent.stdout.readline()]
    child = next(int(line) for line in lines if not line.startswith(b"{"))
    try:
        os.kill(child, 0)
        parent.kill()
        parent.wait()
        # The pipe's last writer is the simulator: it closes when that has gone.
        assert select.select([parent.stdout], [], [], 10)[0] and parent.stdout.read() == b""
    finally:
        parent.stdin.close()
        parent.stdout.close()


def test_exits_when_standard_input_closes():
    with Simulated() as soc:
        soc.process.stdin.close()
        assert soc.process.wait(timeout=10) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_it_in_order(number, tmp_path):
    vcd = tmp_path / "x.vcd"
    with Simulated("--always", "--vcd", vcd, "--stats") as soc:
        while soc.now() < 1000:
            pass
        soc.process.send_signal(number)
        assert soc.process.wait(timeout=10) == 0
        cycles = json.loads(soc.close()[1])["cycles"]
    pins, end = read_vcd(vcd)
    assert set(pins) == {"tx", "rx", "de", "tx_oe", "irq", "in0", "in1", "in2", "in3", *(f"port{n}" for n in range(8))}
    assert cycles > 1000 and tick_of(end) == cycles


def test_killed_run_leaves_a_vcd(tmp_path):
    """Even SIGKILL leaves whole lines of everything older than a moment."""
    stimulus, vcd = tmp_path / "stimulus", tmp_path / "x.vcd"
    stimulus.write_text("".join(f"{1000 * n} 0 {n % 2}\n" for n in range(1, 200_001)))
    with Simulated("--always", "--stimulus", stimulus, "--vcd", vcd) as soc:
        while soc.now() < 3_000_000:
            pass
        soc.process.kill()
        soc.process.wait()
    pins, _ = read_vcd(vcd)
    assert len(pins["in0"]) > 100
    assert [level for _, level in pins["in0"]] == [n % 2 for n in range(len(pins["in0"]))]


def test_time_stands_still_without_a_client():
    with Simulated() as soc:
        before = soc.now()
        soc.bus.close()
        time.sleep(0.3)
        assert soc.process.poll() is None
        used = cpu_seconds(soc.process.pid)
        time.sleep(0.5)
        assert cpu_seconds(soc.process.pid) - used < 0.1
        soc.bus = soc.connect()
        assert before < soc.now() < before + sim_soc.PULSE_HZ  # half a second standing still would be more


def test_lockstep_lets_time_go_by_command():
    """At most N cycles past each command, whatever the wall clock does, and no work meanwhile."""
    step = 5000
    with Simulated("--lockstep", step) as soc:
        ticks = []
        for pause in (0, 0.05, 0, 0.1, 0.3):
            ticks.append(soc.now())
            time.sleep(pause)
        used = cpu_seconds(soc.process.pid)
        time.sleep(0.5)
        assert cpu_seconds(soc.process.pid) - used < 0.1
        differences = [b - a for a, b in zip(ticks, ticks[1:], strict=False)]
        assert all(0 < d < step + 1500 for d in differences), differences  # the command itself takes its bus cycles
        assert all(differences[k] >= step - 500 for k in (1, 3)), differences  # those with a pause get all of it


def ticks_of(soc, pauses):
    """The board's tick at each of a row of commands with pauses by the clock on the wall, and at the end of a wait behind each third."""
    commands, waits = [], []
    for n, pause in enumerate(pauses):
        commands.append(soc.now())
        time.sleep(pause)
        if n % 3 == 2:
            soc.process.stdin.write("3000\n")
            soc.process.stdin.flush()
            waits.append(json.loads(soc.process.stdout.readline())["tick"])
    soc.bus.read(WINDOW["EVENTS"], 200)  # takes longer than a step
    return [*commands, soc.now()], waits


def test_a_step_for_each_command_whatever_the_wall_clock_does():
    """And no work between two of them."""
    step, found = 900, []
    for pauses in ([0] * 9, [0, 0.05, 0, 0.1, 0.2, 0, 0, 0.05, 0]):
        with Simulated("--step", step, "--once") as soc:
            found.append(ticks_of(soc, pauses))
            used = cpu_seconds(soc.process.pid)
            time.sleep(0.5)
            assert cpu_seconds(soc.process.pid) - used < 0.1
    assert found[0] == found[1]
    commands, waits = found[0]
    distances = [b - a for a, b in zip(commands, commands[1:])]
    wanted = [step, step, step + 3000] * 2 + [step] * 2
    # A few bus cycles are the phase of the bus, and when in a command it is read.
    assert all(abs(ticks - want) < 32 for ticks, want in zip(distances, wanted)), distances
    assert all(commands[n] + step + 3000 - 500 < tick <= commands[n + 1] for n, tick in zip((2, 5), waits)) and len(waits) == 3
    assert distances[8] > step + 3000 + step, "the long read had all the time it needed"


def test_a_wait_that_is_no_number():
    with Simulated("--step", 900, connect=False) as soc:
        soc.process.stdin.write("soon\n")
        soc.process.stdin.flush()
        assert soc.process.wait(timeout=20) == 2
        assert soc.close()[1] == "litepulse-sim: standard input: 'soon' is not a whole number\n"


def cpu_seconds(pid):
    """Processor time a process has used."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


READ = b"\x02\x01" + (CSR["id_magic"] // 4).to_bytes(4, "big")


def send_until_it_waits(client, patience):
    """Sends reads whose answers are never fetched: (bytes sent, tries in a row that had to wait, `patience` unless 64 MiB went)."""
    client.setblocking(False)
    sent, waits = 0, 0
    while sent < 64 << 20 and waits < patience:
        try:
            sent += client.send(READ * 20_000)
            waits = 0
        except BlockingIOError:
            waits += 1
            time.sleep(0.05)
    return sent, waits


def test_a_client_that_only_sends_does_not_fill_the_memory():
    """Nor does one that reads no answer: it has to wait, and the memory of the simulator stays as it is."""

    def kilobytes():
        return int(re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{soc.process.pid}/status").read_text())[1])

    with Simulated(connect=False) as soc, socket.create_connection(("127.0.0.1", soc.info["tcp"])) as client:
        before = kilobytes()
        sent, waits = send_until_it_waits(client, 20)
        assert waits == 20 and kilobytes() - before < 8192, (sent, before, kilobytes())
        # What it sent whole is still carried out; then the next client has its turn.
        client.close()
        with contextlib.closing(soc.connect()) as bus:
            assert bus.read(CSR["id_magic"]) == regs.MAGIC


def test_the_next_client_is_served_whatever_the_last_one_left_unread():
    """Whatever it left behind: what it sent is carried out, its answers are discarded, and the next client is served."""
    with Simulated(connect=False) as soc:
        for first in range(0, 120_000, 40_000):
            with socket.create_connection(("127.0.0.1", soc.info["tcp"])) as client:
                client.send(READ * (first // len(READ)))
                assert send_until_it_waits(client, 5)[1] == 5
            with contextlib.closing(soc.connect()) as bus:
                assert bus.read(CSR["id_magic"]) == regs.MAGIC


@pytest.mark.wallclock
def test_paced_mode_keeps_to_the_wall_clock():
    """With a declared clock of 500 kHz, ticks and seconds agree, with a client and without."""
    begun = time.monotonic()
    with Simulated("--pace", "--pulse-hz", 500_000, "--stats") as soc:
        assert soc.csr("id_clock_num")["num"] == 500_000
        samples = []
        for pause in (0.3, 0.3, 0.3):
            earliest = time.monotonic()
            tick = soc.now()
            latest = time.monotonic()
            samples.append((earliest, tick, latest))
            time.sleep(pause)
        soc.bus.close()
        time.sleep(0.4)
        soc.bus = soc.connect()
        earliest = time.monotonic()
        tick = soc.now()
        samples.append((earliest, tick, time.monotonic()))
        _, stats = soc.close()
        slips = json.loads(stats)["slips"]
    pairs = list(zip(samples, samples[1:], strict=False))
    # It is never ahead of the clock, but for a chunk.
    assert all(tick / 500_000 <= late - begun + 0.005 for _, tick, late in samples)
    # It is faster than the clock only after a stall of the machine, until it has caught up; slower only by what the machine did not give.
    assert min((tick1 - tick0) / 500_000 - (late1 - early0) for (early0, tick0, _), (_, tick1, late1) in pairs) <= 0.005
    assert slips or all((tick1 - tick0) / 500_000 >= early1 - late0 - 0.3 for (_, tick0, late0), (early1, tick1, _) in pairs)


@pytest.mark.full
@pytest.mark.seconds(40)
def test_full_trace_agrees_with_the_pins(tmp_path):
    """The variant that traces everything shows the input at the same times as the VCD of the pins."""
    stimulus, vcd, trace = tmp_path / "stimulus", tmp_path / "pins.vcd", tmp_path / "all.vcd"
    stimulus.write_text("10 rx 0\n17 rx 1\n400 rx 0\n")
    program = sim_soc.build(trace=True, quiet=True)
    result = subprocess.run(
        [program, "--stop-at-cycle", "500", "--stimulus", stimulus, "--vcd", vcd, "--trace", trace],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")
    text = trace.read_text()
    code = re.search(r"\$var wire\s+1 (\S+) pins_rx \$end", text).group(1)
    at, seen = 0, []
    for line in text[text.index("$enddefinitions") :].splitlines():
        if line.startswith("#"):
            at = int(line[1:])
        elif line[1:] == code and line[0] in "01":
            seen.append((at, int(line[0])))
    pins = read_vcd(vcd)[0]["rx"]
    # The trace includes the time in reset before tick 0, and shows a level with the evaluation that follows its change.
    half = 10**12 // sim_soc.PULSE_HZ // 2
    assert [level for _, level in seen[-3:]] == [level for _, level in pins[1:]] == [0, 1, 0]
    offset = seen[-3][0] - pins[1][0]
    assert all(abs(a[0] - b[0] - offset) <= vcd_unit() for a, b in zip(seen[-3:], pins[1:], strict=True)) and offset > half
    assert len(re.findall(r"\$var ", text)) > 200


def test_module_offers_the_path(capsys):
    assert sim_soc.main(["--build"]) == 0
    assert capsys.readouterr().out.strip() == str(sim_soc.build())
    with pytest.raises(ValueError, match="multiple"):
        sim_soc.build(pulse_hz=48_000_000, sys_hz=36_000_000)
