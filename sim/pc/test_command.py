# SPDX-License-Identifier: BSD-2-Clause
"""`litepulse attach`, `detach` and `doctor` over a real USB serial driver: Debian's Python on Debian's kernel."""

import json
import re

import pytest

from sim.cocotb_rig import ROOT
from sim.pc.python import COMMAND, python

SW = ROOT / "sw"
# One process, as starting Python takes seconds there. The service of attach is another one.
STEPS = """
import contextlib, glob, io, json, os, sys, time
from litepulse import attach, cli
from litepulse.ports import Host
timer, = glob.glob("/sys/bus/usb-serial/devices/ttyUSB0/latency_timer")
def step(*words):
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        status = cli.main(list(words))
    print("step", json.dumps([words[0], status, open(timer).read().strip(), out.getvalue()]), flush=True)
open(timer, "w").write("16")
step("doctor", "/dev/ttyUSB0", "--json")
step("attach", "/dev/ttyUSB0", "--json")
step("attach", "/dev/ttyUSB0", "--json")
step("--port=/dev/ttyUSB0", "info")
step("doctor", "/dev/ttyUSB0", "--json")
step("detach")
step("attach", "--json", "/dev/ttyUSB0")
process = attach.find(Host()).process
print("pull", flush=True)
try:
    while open(f"/proc/{process}/stat").read().rsplit(")", 1)[1].split()[0] != "Z":
        time.sleep(0.1)
except (FileNotFoundError, ProcessLookupError):
    pass
print("ended", os.path.exists("/dev/litepulse0"), flush=True)
"""


@pytest.mark.seconds(60)
def test_the_command(pc):
    """Read, attached, read again, detached, attached and unplugged; the latency timer is 1 ms
    meanwhile, else as before."""
    guest = pc("6.12")
    result = guest.run(
        "insmod litepulse.ko && insmod litepulse_uartbone.ko && ./start steps.py",
        {**guest.driver(), **python("command", COMMAND, [SW]), "steps.py": STEPS.encode()},
        seconds=150,
        when={"pull": lambda machine: machine.unplug(0)},
    )
    steps = [json.loads(line.removeprefix("step ")) for line in result.lines if line.startswith("step ")]
    assert [(verb, status, timer) for verb, status, timer, _ in steps] == [
        ("doctor", 0, "16"),
        ("attach", 0, "1"),
        ("attach", 0, "1"),
        ("--port=/dev/ttyUSB0", 2, "1"),
        ("doctor", 0, "1"),
        ("detach", 0, "16"),
        ("attach", 0, "1"),
    ], steps
    texts = [text for *_, text in steps]
    first, again = json.loads(texts[1]), json.loads(texts[2])
    names = {"pulse": "/dev/litepulse0", "tty": "/dev/ttyPULSE0", "clock": "/dev/ptp0", "frames_checked": True, "latency_timer_ms": 1}
    assert {name: first[name] for name in names} == names and first["board"].startswith("QEMU QEMU USB SERIAL, serial number ")
    assert again == {**first, "already": True} and not first["already"]
    assert "attached to the kernel as /dev/litepulse0: use that" in texts[3]
    for text, attached in ((texts[0], False), (texts[4], True)):
        checks = {check["check"]: (check["state"], check["said"]) for check in json.loads(text)["checks"]}
        assert checks["latency timer"] == ("ok", "1 ms" if attached else "16 ms now; 'litepulse attach' sets 1 ms")
        assert checks["core"][0] == checks["bridge"][0] == checks["signing"][0] == "ok"
        assert bool(re.match(r"[1-9]\d* transactions, 0 repeated, 0 failed", checks["cable"][1])) == attached
    assert texts[5] == "detached: /dev/ttyUSB0 is free, /dev/litepulse0 is gone\n" and result.lines[-1] == "ended False"
