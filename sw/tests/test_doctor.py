# SPDX-License-Identifier: BSD-2-Clause
"""doctor: each fault that it knows, made in turn on a machine without faults, is reported with its
fix; and nothing else is."""

import json
import os

import pytest

from litepulse import regs
from litepulse.backends.uartbone import open_port
from litepulse.doctor import FAULT, NOTE, OK, SIGNATURE, SKIPPED, Doctor
from litepulse.errors import BadInput
from litepulse.ports import Host, preferred

from .fake_board import Bridge, FakeBoard, Server
from .fake_machine import Machine
from .test_attach import is_one_line, run, unchanged

NAMES = ["modules", "signing", "port", "interface", "permissions", "free", "latency timer", "idle states", "governor"]
NAMES += ["bridge", "rate", "core", "cable", "devices"]


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path / "machine").make()


class CheckingBoard(FakeBoard):
    """Its bridge says that it understands frames."""

    def read(self, address, count):
        return [regs.BRIDGE[1].reset] if address == regs.BRIDGE_BASE + 4 else super().read(address, count)


@pytest.fixture
def board():
    with Server(CheckingBoard(), bridge=Bridge()) as server:
        yield server


def examine(machine, path=None):
    """{name: Check}"""
    checks = Doctor(machine.host, path).run()
    assert [check.name for check in checks] == NAMES and all(check.finding for check in checks)
    assert all(bool(check.fix) == (check.state == FAULT) for check in checks)
    return {check.name: check for check in checks}


def states(checks):
    return {name: check.state for name, check in checks.items() if check.state != OK}


def test_all_right_before_attaching(machine, board):
    path = machine.plug(board.spec)
    with unchanged(board.spec):
        checks = examine(machine)
    assert states(checks) == {"cable": SKIPPED, "devices": NOTE}
    assert checks["rate"].finding == "up to 3000000 baud, checks frames" and "litepulse attach" in checks["devices"].finding
    assert checks["latency timer"].finding == "16 ms now; 'litepulse attach' sets 1 ms" and machine.latency_file().read_text() == "16\n"
    assert f"{path} is" not in checks["port"].finding and "serial number ib7A" in checks["port"].finding and board.board.writes == 0


def test_all_right_when_attached(machine, board):
    path = machine.plug(board.spec, latency="1")
    machine.appear("ttyUSB1", baud=3_000_000)
    machine.write("proc/4242/comm", "ldattach")
    before = board.received
    checks = examine(machine)
    assert states(checks) == {} and board.received == before
    assert checks["rate"].finding == "3000000 baud, frames checked"
    assert checks["cable"].finding == "5000 transactions, 0 repeated, 0 failed, round trip 0.250 ms"
    assert checks["devices"].finding == ", ".join(f"{machine.dev}/{name}" for name in ("litepulse0", "ttyPULSE0", "ptp3"))
    assert examine(machine, path)["port"].finding.startswith(path)


def test_processors_that_wake_up_late(machine):
    """No fault, but the states are named, how long it takes, and what limits them."""
    machine.processors()
    machine.write("sysfs/module/intel_idle/parameters/max_cstate", 2)
    machine.write("proc/cmdline", "quiet intel_idle.max_cstate=2")
    checks = examine(machine)
    assert checks["idle states"].state == checks["governor"].state == NOTE
    assert checks["idle states"].finding == (
        "intel_idle: POLL 0 µs, C1 2 µs, C6 133 µs; a wake-up takes up to 133 µs; intel_idle.max_cstate=2 (on the kernel's command line): "
        "no state above number 2 is there; litepulse.Realtime(dma_latency=0) or (cstates=[2]) prevents that"
    )
    assert checks["governor"].finding == (
        "powersave: the clock may be low when a byte comes; litepulse.Realtime(governor='performance') raises it meanwhile"
    )
    for cpu in range(4):
        machine.write(f"sysfs/devices/system/cpu/cpu{cpu}/cpuidle/state2/disable", 1)
    for policy in (0, 2):
        machine.write(f"sysfs/devices/system/cpu/cpufreq/policy{policy}/scaling_governor", "performance")
    checks = examine(machine)
    assert checks["idle states"].state == checks["governor"].state == OK and "a wake-up takes up to 2 µs" in checks["idle states"].finding
    assert checks["governor"].finding == "performance"


def no_module(machine):
    for name in ("litepulse", "litepulse_uartbone"):
        (machine.sysfs / "module" / name).rmdir()


def install(machine, *modules, release="6.12.9", signed=False):
    """Modules as files, for modprobe."""
    machine.write(f"modules/{release}/modules.dep", "\n".join(f"updates/{name}.ko: kernel/ptp.ko" for name in modules))
    for name in modules:
        path = machine.modules / release / "updates" / f"{name}.ko"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"\x7fELF" + bytes(100) + (SIGNATURE if signed else b""))


def test_modules(machine, board):
    machine.plug(board.spec)
    no_module(machine)
    check = examine(machine)["modules"]
    assert check.state == FAULT and check.finding == "kernel 6.12.9 has no litepulse_uartbone and no litepulse"
    assert check.fix == "make driver-install"
    install(machine, "litepulse_uartbone", "litepulse", release="6.1.0-50-amd64")
    assert examine(machine)["modules"].finding.endswith("and no litepulse, only 6.1.0-50-amd64 has")
    install(machine, "litepulse")
    assert examine(machine)["modules"].finding == "kernel 6.12.9 has no litepulse_uartbone, only 6.1.0-50-amd64 has"
    install(machine, "litepulse_uartbone", "litepulse")
    assert examine(machine)["modules"].finding == "litepulse_uartbone and litepulse are installed for kernel 6.12.9"


def enforce(machine):
    machine.write("sysfs/module/module/parameters/sig_enforce", "Y")


def lock_down(machine):
    machine.write("sysfs/kernel/security/lockdown", "none [integrity] confidentiality")


@pytest.mark.parametrize("how, reason", [(enforce, "module.sig_enforce"), (lock_down, "lockdown: integrity")])
def test_signing(machine, board, how, reason):
    machine.plug(board.spec)
    how(machine)
    machine.write("programs/mokutil", "SecureBoot enabled")
    assert examine(machine)["signing"].finding == "the kernel has taken the modules, Secure Boot is on"
    no_module(machine)
    install(machine, "litepulse_uartbone", "litepulse")
    check = examine(machine)["signing"]
    assert check.state == FAULT and "docs/driver-install.md" in check.fix
    assert check.finding == (
        f"this kernel takes signed modules only ({reason}, Secure Boot is on), litepulse_uartbone and litepulse are not signed"
    )
    install(machine, "litepulse_uartbone", "litepulse", signed=True)
    check = examine(machine)["signing"]
    assert check.state == NOTE and "whether it knows the key" in check.finding


def test_no_enforcement(machine, board):
    machine.plug(board.spec)
    no_module(machine)
    install(machine, "litepulse_uartbone", "litepulse")
    machine.write("sysfs/module/module/parameters/sig_enforce", "N")
    machine.write("sysfs/kernel/security/lockdown", "[none] integrity confidentiality")
    assert examine(machine)["signing"].finding == "this kernel takes modules without a signature"


def test_no_port(machine):
    checks = examine(machine)
    assert checks["port"].state == FAULT and "no board found" in checks["port"].finding and checks["bridge"].state == SKIPPED
    for path, why in (("/dev/ttyNOTHERE", "is not there"), ("/etc/hostname", "is no serial port")):
        checks = examine(machine, path)
        assert checks["port"].finding == f"{path} {why}"
        assert {checks[name].state for name in NAMES[3:] if name not in ("idle states", "governor")} == {SKIPPED}


def test_wrong_interface(machine, board):
    flash, spare = os.openpty()
    path = machine.plug(os.ttyname(spare), "ttyUSB0", "00")
    machine.plug(board.spec)
    check = examine(machine, path)["interface"]
    assert check.state == FAULT and check.finding == "interface 00 of the iCEBreaker is not its bridge"
    assert check.fix.startswith("use ") and check.fix.endswith("-if01-port0")
    assert examine(machine)["interface"].finding == "01, the bridge of the iCEBreaker"
    os.close(flash)
    os.close(spare)


def test_permissions(machine, board, monkeypatch):
    path = machine.plug(board.spec)
    monkeypatch.setattr(os, "access", lambda file, mode: os.path.realpath(file) != os.path.realpath(path))
    monkeypatch.setenv("USER", "somebody")
    checks = examine(machine)
    assert checks["permissions"].state == FAULT and checks["permissions"].fix.startswith("sudo adduser somebody ")
    assert checks["bridge"].state == checks["core"].state == SKIPPED and board.received == b""


def test_unplugged_before_its_permissions_are_read(machine, board, monkeypatch):
    """The port was there when doctor chose it."""
    path = machine.plug(board.spec)
    name = preferred(machine.host, path)

    def unplug(_):
        os.unlink(path)
        return False

    monkeypatch.setattr("litepulse.doctor.may_open", unplug)
    checks = examine(machine)
    assert (checks["permissions"].state, checks["permissions"].finding) == (FAULT, f"{name} has gone: No such file or directory")
    assert checks["permissions"].fix == "plug the board in again" and checks["bridge"].state == SKIPPED
    assert checks["free"].state == SKIPPED and "has gone" not in checks["free"].finding


def test_unplugged_while_doctor_looks_who_uses_it(machine, board, monkeypatch):
    path = machine.plug(board.spec)
    name = preferred(machine.host, path)
    machine.write("proc/77/comm", "ModemManager")
    monkeypatch.setattr("litepulse.attach.holding_process", lambda _: os.unlink(path))
    checks = examine(machine)
    assert (checks["free"].state, checks["free"].finding) == (FAULT, f"{name} has gone: No such file or directory")
    assert checks["free"].fix == "plug the board in again" and checks["bridge"].state == SKIPPED


def test_in_use(machine, board):
    path = machine.plug(board.spec)
    machine.write("proc/77/comm", "ModemManager")
    (machine.proc / "77" / "fd").mkdir()
    (machine.proc / "77" / "fd" / "9").symlink_to(board.spec)
    check = examine(machine)["free"]
    assert check.state == FAULT and check.finding == "in use by ModemManager (process 77)" and "ATTACH=1" in check.fix
    (machine.proc / "77" / "fd" / "9").unlink()
    check = examine(machine)["free"]
    assert check.state == NOTE and "ModemManager may try it out" in check.finding
    number = os.stat(path).st_rdev
    machine.write(f"udev/c{os.major(number)}:{os.minor(number)}", "S:serial/by-id/x\nE:ID_MM_PORT_IGNORE=1\nG:systemd")
    assert examine(machine)["free"].finding == "not in use"
    machine.write("proc/78/comm", "minicom")
    (machine.proc / "78" / "fd").mkdir()
    (machine.proc / "78" / "fd" / "3").symlink_to(board.spec)
    board.received = b""
    check = examine(machine)["free"]
    assert check.state == FAULT and check.finding == "in use by minicom (process 78)" and check.fix == "end it" and board.received == b""


def test_in_use_at_a_raised_rate(machine, board):
    machine.plug(board.spec)
    bus = open_port(board.spec, bridge_baud=1_000_000)
    check = examine(machine)["free"]
    assert check.state == FAULT and check.finding == f"in use by ? (process {os.getpid()})"
    bus.close()


def test_latency_timer_of_an_attached_board(machine, board):
    machine.plug(board.spec)
    machine.appear("ttyUSB1")
    check = examine(machine)["latency timer"]
    assert check.state == FAULT and check.finding.startswith("16 ms") and check.fix == f"echo 1 | sudo tee {machine.latency_file()}"
    machine.latency_file().write_text("1\n")
    assert examine(machine)["latency timer"].state == OK
    machine.latency_file().unlink()
    assert examine(machine)["latency timer"].finding == "this adapter has none that can be set"


def test_nothing_answers(machine):
    far, near = os.openpty()
    machine.plug(os.ttyname(near))
    checks = examine(machine)
    assert checks["bridge"].state == FAULT and checks["bridge"].finding.startswith("does not answer: no LiteX UARTBone there")
    assert checks["rate"].state == checks["core"].state == SKIPPED
    os.close(far)
    os.close(near)


def test_another_core(machine):
    board = FakeBoard()
    board.version = 9 << 16
    with Server(board, bridge=Bridge()) as server:
        machine.plug(server.spec)
        checks = examine(machine)
        assert (
            checks["bridge"].state == OK and checks["core"].state == FAULT and checks["core"].finding.startswith("the core is version 9.0")
        )
        assert f"version {regs.VERSION_MAJOR}.{regs.VERSION_MINOR}" in checks["core"].fix
        board.magic = 5
        assert "not a LitePulse" in examine(machine)["core"].finding


def test_a_fixed_rate(machine):
    with Server(FakeBoard()) as server:
        machine.plug(server.spec)
        check = examine(machine)["rate"]
        assert check.state == NOTE and "fixed rate and does not check frames" in check.finding


@pytest.mark.parametrize(
    "values, state",
    [
        ({}, OK),
        ({"transactions": 1000, "repeats": 1}, OK),
        ({"transactions": 999, "repeats": 1}, FAULT),
        ({"failures": 1}, FAULT),
        ({"transactions": 0}, OK),
    ],
)
def test_a_bad_cable(machine, board, values, state):
    machine.plug(board.spec, latency="1")
    machine.appear("ttyUSB1", **values)
    check = examine(machine)["cable"]
    assert check.state == state and f"{values.get('repeats', 0)} repeated, {values.get('failures', 0)} failed" in check.finding


@pytest.mark.parametrize(
    "values, finding",
    [
        ({"baud": 1_000_000}, None),
        ({"baud": 1_000_000, "checked": 0}, "1000000 baud, frames not checked"),
        ({}, "115200 baud, frames checked: the lowest; detach and attach again tries higher ones"),
    ],
)
def test_the_rate_of_an_attached_board(machine, board, values, finding):
    machine.plug(board.spec, latency="1")
    machine.appear("ttyUSB1", **values)
    check = examine(machine)["rate"]
    assert (check.state, check.finding) == ((NOTE, finding) if finding else (OK, "1000000 baud, frames checked"))


def test_devices_of_an_attached_board(machine, board, monkeypatch):
    machine.plug(board.spec, latency="1")
    machine.appear("ttyUSB1", driven=False)
    check = examine(machine)["devices"]
    assert check.state == FAULT and check.finding == "the kernel's driver refuses the board"
    machine.vanish("ttyUSB1")
    machine.appear("ttyUSB1")
    (machine.dev / "ttyPULSE0").unlink()
    check = examine(machine)["devices"]
    assert check.state == FAULT and check.finding == f"missing: {machine.dev}/ttyPULSE0"
    (machine.dev / "ttyPULSE0").symlink_to("/dev/null")
    monkeypatch.setattr(os, "access", lambda file, mode: "litepulse0" not in str(file))
    check = examine(machine)["devices"]
    assert check.state == FAULT and check.finding == f"this user may not open {machine.dev}/litepulse0" and "dialout" in check.fix


def test_which_port_is_meant(machine, board):
    first = machine.plug(board.spec)
    far, near = os.openpty()
    machine.plug(os.ttyname(near), "ttyUSB5", place="1-3", serial="ib9B")
    with pytest.raises(BadInput, match="2 boards are there, name the port of one"):
        examine(machine)
    assert states(examine(machine, first)) == {"cable": SKIPPED, "devices": NOTE}
    done = run(machine, "doctor")
    assert done.returncode == 2 and is_one_line(done.stderr)
    os.close(far)
    os.close(near)


def test_the_command(machine, board):
    path = machine.plug(board.spec)
    done = run(machine, "doctor", path)
    assert done.returncode == 0 and done.stderr == ""
    assert [line[6:21].strip() for line in done.stdout.splitlines()] == NAMES
    assert {line.split()[0] for line in done.stdout.splitlines()} == {"OK", "note", "-"}
    machine.latency_file().write_text("16\n")
    machine.appear("ttyUSB1")
    done = run(machine, "doctor", path)
    assert done.returncode == 1 and [line for line in done.stdout.splitlines() if line.startswith("FAULT")] == [
        f"FAULT latency timer  16 ms: every answer comes so much later; echo 1 | sudo tee {machine.latency_file()}"
    ]
    done = run(machine, "doctor", path, "--json")
    result = json.loads(done.stdout)
    assert done.returncode == 1 and result["wrong"] is True and [check["check"] for check in result["checks"]] == NAMES
    assert done.stderr == "" and result["port"] == path


def test_on_this_machine():
    """On any machine: it ends by itself, with a line for each check."""
    checks = {check.name: check for check in Doctor(Host(), "/dev/null").run()}
    assert list(checks) == NAMES and checks["port"].state == OK and checks["bridge"].state != OK
