# SPDX-License-Identifier: BSD-2-Clause
"""`litepulse attach`, `detach` and `doctor` on a real kernel with the real line discipline: Debian's Python in the debug kernel."""

import json
import re
import socket

import pytest

from scripts.debian_package import obtain
from sim.cocotb_rig import ROOT, run_folder
from sim.driver.cable_rig import Board, modules
from sim.driver.uml import boot

pytestmark = pytest.mark.seconds(200)
LOAD = [
    "insmod litepulse.ko",
    "insmod litepulse_uartbone.ko",
    "run /usr/lib/systemd/systemd-udevd --daemon",
    "run /usr/bin/udevadm trigger --action=add --settle /sys/class/tty/ttyS0",
]
UNLOAD = ["rmmod litepulse_uartbone", "rmmod litepulse"]
SETTLE = "run /usr/bin/udevadm settle"
PYTHON = "/usr/bin/env PYTHONPATH=/sw COLUMNS=200 /usr/bin/python3"
SOMEBODY = "/usr/sbin/chroot --userspec=1000:20 / "
# As when the machine has no memory left: nothing is tidied up.
KILL = """
import os, signal
from litepulse import attach
from litepulse.ports import Host
held = attach.find(Host())
os.kill(held.process, signal.SIGKILL)
assert attach.await_gone(Host(), held.board.port)
"""


def package_files():
    """{name in the guest: path} of the Python package."""
    folder = ROOT / "sw" / "litepulse"
    return {f"sw/litepulse/{path.relative_to(folder)}": path for path in folder.rglob("*.py")}


def command(words, who=""):
    """A job of the guest: the command with these words, as root or as SOMEBODY in group dialout."""
    return f"run {who}{PYTHON} -m litepulse {words}"


@pytest.fixture(scope="module")
def guest():
    """(folder with Debian's Python and udev, {name in the guest: path} of driver and command)."""
    tree = obtain("python-uml").path
    folder = run_folder("guest")
    (folder / "group").write_text("root:x:0:\ntty:x:5:\ndialout:x:20:\n")
    (folder / "kill.py").write_text(KILL)
    files = package_files()
    files |= {f"{name}.ko": path for name, path in modules().items()}
    files["etc/udev/rules.d/70-litepulse.rules"] = ROOT / "driver" / "70-litepulse.rules"
    return tree, files | {"etc/group": folder / "group", "kill.py": folder / "kill.py"}


def result(run, job):
    """The JSON object that a job printed."""
    return json.loads(re.search(r"(?ms)^\{\n.*?^\}$", run.lines(job))[0])


def test_there_and_back(guest):
    """A board is attached, read, attached again, detached, found by plain commands at once, and
    removed without a kernel message."""
    tree, files = guest
    jobs = [
        *LOAD,
        command("attach /dev/ttyS0 --json"),
        SETTLE,
        command("attach /dev/ttyS0"),
        command("doctor /dev/ttyS0"),
        command("--port /dev/ttyS0 info"),
        command("detach /dev/ttyS0", SOMEBODY),
        "run /usr/bin/stat -c %a:%g:%n /sys/devices/platform/litepulse.0.auto/uartbone/baud /dev/litepulse0",
        command("detach"),
        command("detach /dev/ttyS0"),
        command("--port /dev/ttyS0 info"),
        command("doctor /dev/ttyS0"),
        *UNLOAD,
    ]
    with Board() as board:
        run = boot(jobs, files, tree=tree, lines=[board.line])
    assert not run.complaints, run.log
    # A machine that stands still for 0.1 s makes a transaction be repeated, which the doctor rightly calls a fault.
    repeated = int(re.search(r"(?m)^\w+ +cable +\d+ transactions, (\d+) repeated", run.lines(7))[1])
    assert repeated < 3, run.lines(7)
    assert run.status == [0] * 7 + [int(repeated > 0)] + [2, 2, 0, 0, 2, 0, 0, 0, 0], run.log
    attached = result(run, 4)
    process = attached["process"]
    # A serial line of this kernel has no bit rate, and always says 38400.
    assert attached == {
        "command": "attach",
        "port": "/dev/ttyS0",
        "stable_name": "/dev/ttyS0",
        "board": "",
        "pulse": "/dev/litepulse0",
        "tty": "/dev/ttyPULSE0",
        "clock": "/dev/ptp0",
        "baud": 38400,
        "frames_checked": True,
        "latency_timer_ms": None,
        "raised": [],
        "process": process,
        "already": False,
        "remark": None,
    }
    again = run.lines(6)
    assert "attached already: /dev/ttyS0\n" in again and f"process {process} holds it; 'litepulse detach /dev/ttyS0'" in again
    checks = dict(re.findall(r"(?m)^\w+ +(modules|free|bridge|cable|devices) +(.*)$", run.lines(7)))
    assert checks["modules"] == "litepulse_uartbone and litepulse are loaded" and checks["bridge"] == "the kernel speaks to it"
    assert checks["free"] == f"attached as litepulse0, held by process {process}"
    assert re.match(rf"[1-9]\d* transactions, {repeated} repeated, 0 failed, round trip \d+\.\d+ ms", checks["cable"])
    assert checks["devices"] == "/dev/litepulse0, /dev/ttyPULSE0, /dev/ptp0"
    assert (run.lines(7) + run.lines(14)).count("FAULT") == int(repeated > 0)
    assert "litepulse: /dev/ttyS0: attached to the kernel as /dev/litepulse0: use that" in run.lines(8)
    assert "/dev/ttyS0: only root can detach it: try it with sudo" in run.lines(9)
    assert re.findall(r"(?m)^\d+:\d+:/\S+", run.lines(10)) == [
        "664:20:/sys/devices/platform/litepulse.0.auto/uartbone/baud",
        "660:20:/dev/litepulse0",
    ]
    assert "detached: /dev/ttyS0 is free, /dev/litepulse0 is gone" in run.lines(11)
    assert "litepulse: /dev/ttyS0: no board is attached there" in run.lines(12) and "SIMULATED SoC at 48 MHz" in run.lines(13)
    assert re.search(r"(?m)^OK +core +LitePulse", run.lines(14)) and re.search(r"(?m)^note +devices +not attached", run.lines(14))


def test_what_is_refused(guest):
    """Without module, board or root; and a service that was killed leaves nothing behind."""
    tree, files = guest
    silent, line = socket.socketpair()
    jobs = [
        command("attach /dev/ttyS0"),
        *LOAD,
        command("attach /dev/ttyS1"),
        command("attach /dev/ttyS0", SOMEBODY),
        command("attach /dev/ttyS0"),
        f"run {PYTHON} /kill.py",
        "sleep 3",
        command("attach /dev/ttyS0"),
        command("detach"),
        *UNLOAD,
    ]
    with silent, line, Board() as board:
        run = boot(jobs, files, tree=tree, lines=[board.line, line])
    assert not run.complaints, run.log
    assert run.status == [2, 0, 0, 0, 0, 2, 2] + [0] * 7, run.log
    assert "litepulse: the kernel has no module litepulse_uartbone: 'make driver-install' installs it" in run.lines(0)
    assert "litepulse: /dev/ttyS1: does not answer: no LiteX UARTBone there" in run.lines(5)
    assert "litepulse: /dev/ttyS0: only root may give a port to the kernel: try it with sudo" in run.lines(6)
    assert "attached: /dev/ttyS0" in run.lines(7) and "attached: /dev/ttyS0" in run.lines(10)
