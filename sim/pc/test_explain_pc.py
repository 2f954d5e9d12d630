# SPDX-License-Identifier: BSD-2-Clause
"""litepulse explain on a PC with Debian's kernels: a program writes to the PC's 16550, whose TX is
wired to the board's rx, and a real-time process takes the CPU from it.

The board's time goes by the wall clock of this machine in steps, so nothing is said about what the
hardware does; what the kernel did is what it says itself."""

import json

import pytest

from sim.cocotb_rig import ROOT
from sim.long_runs import LONG
from sim.pc import pc_rig
from sim.pc.python import COMMAND, python

HZ, BAUD, PULSES = 500_000, 9600, 30
BUSY = 60  # ms of each 200 ms
STEPS = f"""
import contextlib, io, json, os, signal, subprocess, sys, time
sys.executable = os.path.abspath("start")
from litepulse import cli
TRACING = "/sys/kernel/debug/tracing"
def state():
    return [sorted(os.listdir(TRACING + "/instances")), open(TRACING + "/kprobe_events").read(), open(TRACING + "/tracing_on").read()]
def step(name, *words):
    out, err = io.StringIO(), io.StringIO()
    err.fileno = sys.stderr.fileno
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = cli.main(["--port", "/dev/ttyUSB0", "explain", *words])
    print("step", json.dumps([name, status, err.getvalue(), out.getvalue(), state()]), flush=True)
print("wire", flush=True)
time.sleep(1)
step("silent", "--", "./start", "-c", "pass")
hog = subprocess.Popen(["./hog", "{BUSY}", "200"])
step("late", "--json", "--perfetto", "trace.json", "--", "./p1_tty", "/dev/ttyS1", "{PULSES}")
print("perfetto", json.dumps(json.load(open("trace.json"))), flush=True)
step("people", "--every", "1/58", "--", "./p1_tty", "/dev/ttyS1", "{PULSES}")
hog.kill()
step("ended", "--for", "1s", "--json", "--", "./p1_tty", "/dev/ttyS1", "1000000")
print("unwire", flush=True)
time.sleep(1)
step("no edges", "--", "./p1_tty", "/dev/ttyS1", "3")
# Killed: what it set in the kernel is taken back all the same.
words = ["--port", "/dev/ttyUSB0", "explain", "--", "./p1_tty", "/dev/ttyS1", "1000000"]
child = subprocess.Popen(["./start", "-c", "import sys; from litepulse import cli; sys.exit(cli.main(sys.argv[1:]))", *words])
while child.poll() is None and "uart_write" not in state()[1]:
    time.sleep(0.1)
time.sleep(1)
child.kill()
child.wait()
os.system("killall p1_tty")
end = time.monotonic() + 20
while state()[0] and time.monotonic() < end:
    time.sleep(0.1)
time.sleep(0.5)
print("step", json.dumps(["killed", 0, "", "", state()]), flush=True)
"""


@pytest.fixture(scope="module", params=pc_rig.LINES if LONG else ["6.12"])
def ran(pc, request):
    """{step: (status, standard error, output, state of tracefs behind it)}, the trace for Perfetto."""
    guest = pc(request.param)
    files = {
        **python("certify", COMMAND, [ROOT / "sw"]),
        "steps.py": STEPS.encode(),
        "p1_tty": guest.program(ROOT / "sw" / "examples" / "p1_tty.c", flags=("-D_GNU_SOURCE",)),
        "hog": guest.guest_program("hog"),
    }
    result = guest.run(
        "./start steps.py",
        files,
        boards=[{"hz": HZ, "uart": BAUD}],
        seconds=400,
        when={
            "wire": lambda machine: machine.com2.connect(machine.adapters[0].board.uart),
            "unwire": lambda machine: machine.com2.connect(None),
        },
    )
    steps = [json.loads(line.removeprefix("step ")) for line in result.lines if line.startswith("step ")]
    (trace,) = (json.loads(line.removeprefix("perfetto ")) for line in result.lines if line.startswith("perfetto "))
    return {name: rest for name, *rest in steps}, trace


@pytest.mark.seconds(120)
def test_the_kernel_is_as_it_was(ran):
    """However it ended: no instance, no probe is left."""
    assert [rest[3] for rest in ran[0].values()] == [[[], "", "1\n"]] * 6


def test_a_hog_is_named(ran):
    status, err, out, _ = ran[0]["late"]
    result = json.loads(out)
    assert status == 0, err
    assert (result["writes"], result["bytes"], result["missing"], result["stray"]) == (PULSES, PULSES, 0, 0)
    assert result["explained"] + result["blind"] == PULSES and result["port"] == "ttyS1"
    for edge in result["edges"]:
        assert sum(part["ns"] for part in edge["parts"]) == edge["late_ns"] == edge["edge_ns"] - edge["due_ns"]
    hog = [cause for cause in result["causes"] if cause["name"] == "hog (real-time priority 50)"]
    assert hog and hog[0]["cause"] == "busy" and hog[0]["worst_ns"] > BUSY * 10**6 // 4
    waits = [sum(part["ns"] for part in edge["parts"] if part["name"].startswith("hog ")) for edge in result["edges"]]
    assert all(wait < 3 * BUSY * 10**6 for wait in waits), "it is not blamed for more than it took"
    causes = {cause["cause"] for cause in result["causes"]}
    assert "uart" in causes, "the functions of the kernel were traced: the UART got its bytes in its interrupt"
    assert "irq" not in causes or not any(cause["name"].startswith("3 ") for cause in result["causes"] if cause["cause"] == "irq")
    cost = result["cost"]
    assert cost["events"] > 100 and 0 < cost["event_ns"] < 10**6 and 0 < cost["share"]


def test_for_people(ran):
    status, err, out, _ = ran[0]["people"]
    assert status == 0, err
    assert "CPU busy: hog (real-time priority 50)" in out and "would have helped: " in out
    assert "slept late" in out, "usleep() behind write() cannot keep the beat"
    assert f"{PULSES} writes explained" in out and "of the CPU: " in out


def test_refusals(ran):
    status, err, out, _ = ran[0]["silent"]
    assert (status, err, out) == (2, "litepulse: explain: ./start ended with status 0, and wrote nothing to a serial port\n", "")
    status, err, out, _ = ran[0]["no edges"]
    assert (status, out) == (2, "")
    assert err == "litepulse: explain: ./p1_tty wrote 3 bytes, but rx has no edges: is the port's TX wired to it?\n"


def test_a_time_limit(ran):
    status, err, out, _ = ran[0]["ended"]
    result = json.loads(out)
    assert status == 0 and result["status"] is None and result["explained"] > 0, err


def test_perfetto(ran):
    """As a viewer reads it: every slice lies within its parent, processors do one thing at a time."""
    events = ran[1]["traceEvents"]
    result = json.loads(ran[0]["late"][2])
    assert {event["ph"] for event in events} == {"M", "C", "X"}
    levels = [event["args"]["level"] for event in events if event["ph"] == "C"]
    assert levels[0] == 1 and levels[1:] == [0, 1] * PULSES
    edges = [event for event in events if event["ph"] == "X" and event["name"].startswith("edge ")]
    assert [round(event["dur"] * 1000) for event in edges] == [edge["late_ns"] for edge in result["edges"]]
    on_cpu = sorted((event["ts"], event["dur"]) for event in events if event["ph"] == "X" and event["pid"] == 3)
    assert all(begin + length <= after + 1e-3 for (begin, length), (after, _) in zip(on_cpu, on_cpu[1:]))
