# SPDX-License-Identifier: BSD-2-Clause
"""attach and detach: what is refused and how, the service that holds the port, the way back; the kernel and the plugs are simulated."""

import contextlib
import errno
import fcntl
import itertools
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path

import pytest

from litepulse import attach, ports, regs
from litepulse.backends import driver_abi
from litepulse.backends import uartbone as transport
from litepulse.backends.uartbone import open_port
from litepulse.errors import BadInput, LitePulseError
from litepulse.ports import SerialFlags, choose, describe, find_bridges, preferred

from .fake_board import Bridge, FakeBoard, Server
from .fake_machine import ICEBREAKER, Machine

WORKQUEUES = "devices/virtual/workqueue"
TESTS = Path(__file__).resolve().parent
ENV = {**os.environ, "PYTHONPATH": f"{TESTS.parent}{os.pathsep}{TESTS.parents[1]}{os.pathsep}{TESTS}", "COLUMNS": "200"}
ENV.pop("NOTIFY_SOCKET", None)


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path / "machine").make()


@pytest.fixture
def board():
    """A LitePulse behind a bridge whose rate can be raised, on a pseudo-terminal."""
    with Server(FakeBoard(), bridge=Bridge()) as server:
        yield server


@pytest.fixture
def ended():
    """A list of processes that are ended after the test, however it ends."""
    numbers = []
    yield numbers
    for number in numbers:
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)


def run(machine, *arguments, **options):
    """The command on the machine."""
    return subprocess.run(
        [sys.executable, TESTS / "fake_machine.py", machine.folder, *arguments],
        env=ENV | options,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def is_one_line(text):
    return re.fullmatch(r"litepulse: [^\n]+\n", text) is not None


def is_running(number):
    try:
        return Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def attached(machine, ended, *arguments):
    """The result of a successful `attach`."""
    done = run(machine, "attach", *arguments, "--json")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    result = json.loads(done.stdout)
    ended.append(result["process"])
    return result


@contextlib.contextmanager
def unchanged(terminal):
    """A port's settings after the block are those of before: unusual ones, which no program
    sets by accident."""
    file = os.open(terminal, os.O_RDWR | os.O_NOCTTY)
    try:
        settings = termios.tcgetattr(file)
        settings[0] |= termios.IXON | termios.ISTRIP
        settings[2] = settings[2] & ~termios.CSIZE | termios.CS7 | termios.PARENB
        settings[3] |= termios.ECHO
        settings[4] = settings[5] = termios.B4800
        settings[6][termios.VMIN] = b"\x07"
        termios.tcsetattr(file, termios.TCSANOW, settings)
        before = termios.tcgetattr(file)
        yield
        assert termios.tcgetattr(file) == before
    finally:
        os.close(file)


# Refused --------------------------------------------------------------------------------------------------------------


class Words:
    """A bus with a LitePulse's neighbours on it, simulated as memory."""

    def read(self, address, count):
        return [0x600DF00D] * count

    def write(self, address, words):
        pass


def of_version(major, minor):
    board = FakeBoard()
    board.version = major << 16 | minor
    return board


@pytest.mark.parametrize(
    "what, message",
    [
        (Words(), "not a LitePulse .read 0x600df00d at 0x00008000, "),
        (of_version(7, 1), f"the core is version 7.1, .* to {regs.VERSION_MAJOR}.{regs.VERSION_MINOR}: litepulse flash writes"),
        (of_version(0, 5), "the core is version 0.5, this program drives versions 0.6 to "),
    ],
)
def test_what_is_no_litepulse_of_ours(machine, what, message):
    with Server(what) as server:
        port = machine.plug(server.spec)
        with unchanged(server.spec):
            done = run(machine, "attach", port)
        assert done.returncode == 2 and done.stdout == "" and is_one_line(done.stderr), done.stderr
        assert re.search(message, done.stderr) and done.stderr.startswith(f"litepulse: {port}: ")


def other_end(kind, terminal, stop):
    """What is behind a port that is no bridge."""
    while not stop.wait(0.004):
        if kind == "echo":
            with contextlib.suppress(BlockingIOError):
                os.write(terminal, os.read(terminal, 4096))
        elif kind == "GPS receiver":
            os.write(terminal, b"$GPGGA,092750.000,5321.6802,N,00630.3372,W,1,8,1.03,61.7,M,55.2,M,,*76\r\n")
        elif kind == "flood":
            with contextlib.suppress(BlockingIOError):
                os.write(terminal, b"U" * 400)


@contextlib.contextmanager
def other_device(machine, kind):
    """The path of a port with this at its other end, and the terminal behind it."""
    far, near = os.openpty()
    os.set_blocking(far, False)
    stop = threading.Event()
    thread = threading.Thread(target=other_end, args=(kind, far, stop))
    thread.start()
    try:
        yield machine.plug(os.ttyname(near)), os.ttyname(near)
    finally:
        stop.set()
        thread.join()
        os.close(near)
        os.close(far)


OTHERS = ["silence", "echo", "GPS receiver", "flood"]


@pytest.mark.wallclock
@pytest.mark.parametrize("kind", OTHERS)
def test_another_device_is_refused_within_two_seconds(machine, kind):
    """From the port to the answer; starting Python does not count."""
    with other_device(machine, kind) as (port, _):
        start = time.monotonic()
        with pytest.raises(LitePulseError):
            attach.inspect(describe(machine.host, port))
        assert time.monotonic() - start < 2


@pytest.mark.parametrize("kind", OTHERS)
def test_what_is_no_uartbone(machine, kind):
    with other_device(machine, kind) as (port, terminal), unchanged(terminal):
        done = run(machine, "attach", port)
    assert done.returncode == 2 and done.stdout == "" and is_one_line(done.stderr), done.stderr
    assert re.search("no LiteX UARTBone there|not a LiteX UARTBone|not a LitePulse", done.stderr)
    assert machine.latency_file().read_text() == "16\n" and machine.kernel == "good"
    assert (machine.folder / "discipline").read_text() == "0\n"


def test_without_the_module(machine, board):
    """The simulated kernel has no such line discipline, and there is no module to load."""
    machine.write("kernel", "none")
    for module in (machine.sysfs / "module").iterdir():
        module.rmdir()
    machine.write("programs/modprobe", "modprobe: FATAL: Module litepulse_uartbone not found in directory /lib/modules/6.12.9")
    port = machine.plug(board.spec)
    with unchanged(board.spec):
        done = run(machine, "attach", port)
    assert done.returncode == 2 and is_one_line(done.stderr)
    assert "no module litepulse_uartbone: 'make driver-install'" in done.stderr
    assert machine.latency_file().read_text() == "16\n" and open_port(board.spec).read(regs.CSR_BASE) == [regs.MAGIC]


@pytest.mark.parametrize(
    "problem, message",
    [
        ("Key was rejected by service", "which no key that it knows has signed: docs/driver-install.md"),
        ("Operation not permitted", "installed but not loaded (Operation not permitted): 'sudo modprobe litepulse_uartbone'"),
    ],
)
def test_a_module_that_is_not_loaded(machine, board, problem, message):
    machine.write("kernel", "none")
    for module in (machine.sysfs / "module").iterdir():
        module.rmdir()
    machine.write("modules/6.12.9/modules.dep", "updates/litepulse_uartbone.ko: updates/litepulse.ko\nupdates/litepulse.ko:")
    machine.write("programs/modprobe", f"modprobe: ERROR: could not insert 'litepulse_uartbone': {problem}")
    done = run(machine, "attach", machine.plug(board.spec))
    assert done.returncode == 2 and is_one_line(done.stderr)
    assert message in done.stderr


def test_not_root(machine, board):
    machine.write("kernel", "not root")
    with unchanged(board.spec):
        done = run(machine, "attach", machine.plug(board.spec))
    assert done.returncode == 2 and is_one_line(done.stderr) and "only root may give a port to the kernel: try it with sudo" in done.stderr


def test_on_this_kernel_without_the_module(board):
    """TIOCSETD itself, with no module that has the line discipline."""
    if Path("/sys/module/litepulse_uartbone").exists():
        pytest.skip("the module is loaded here")
    command = [sys.executable, "-m", "litepulse", "attach", board.spec]
    with unchanged(board.spec):
        done = subprocess.run(command, env=ENV, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and is_one_line(done.stderr) and "module litepulse_uartbone" in done.stderr


@pytest.mark.parametrize(
    "kernel, message",
    [("no board", "the kernel found no board there within"), ("refuses", "the kernel's driver refuses the board; its log may say why")],
)
def test_what_the_kernel_refuses(machine, board, kernel, message, monkeypatch):
    monkeypatch.setattr(attach, "_APPEAR", 0.3)
    machine.write("kernel", kernel)
    port = describe(machine.host, machine.plug(board.spec))
    with unchanged(board.spec), pytest.raises(LitePulseError, match=message):
        attach.Link(machine.host, port)
    assert (machine.folder / "discipline").read_text() == "0\n" and machine.latency_file().read_text() == "16\n"


def test_one_board_too_many(machine, board, monkeypatch):
    machine.write("kernel", "refuses")
    monkeypatch.setattr(attach, "_APPEAR", 0.1)
    for number in range(driver_abi.DEVICES):
        machine.appear(f"ttyS{number}", number + 1)
    port = describe(machine.host, machine.plug(board.spec))
    with pytest.raises(LitePulseError, match="16 boards at most can be attached, and so many are: detach one"):
        attach.Link(machine.host, port)


def test_unplugged_while_the_kernel_looks(machine, monkeypatch):
    machine.write("kernel", "no board")
    server = Server(FakeBoard(), bridge=Bridge())
    port = describe(machine.host, machine.plug(server.spec))
    monkeypatch.setattr(machine, "appear", lambda *_: None)
    set_discipline = machine.set_discipline

    def unplug(terminal, number):
        set_discipline(terminal, number)
        server.close()

    monkeypatch.setattr(machine, "set_discipline", unplug)
    with pytest.raises(LitePulseError, match="the port is gone"):
        attach.Link(machine.host, port)


def test_signals_do_not_interrupt_it():
    """TIOCSETD fails with EINTR whenever a signal is pending, which the freezing of processes is, too: it is called again."""
    server, terminal = os.openpty()
    signals = itertools.count()
    before = signal.signal(signal.SIGALRM, lambda *_: next(signals))
    try:
        signal.setitimer(signal.ITIMER_REAL, 1e-4, 1e-4)
        for _ in range(20_000):
            ports.Host().set_discipline(terminal, attach.N_TTY)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        os.close(terminal)
        os.close(server)
    assert next(signals) > 100


def test_a_port_that_another_process_uses(machine, board):
    port = machine.plug(board.spec)
    other = open_port(board.spec)
    before = termios.tcgetattr(other.stream.serial.fileno())
    done = run(machine, "attach", port, "--port-baud", "9600")
    assert termios.tcgetattr(other.stream.serial.fileno()) == before
    assert done.returncode == 2 and is_one_line(done.stderr)
    assert f"process {os.getpid()} uses the port, too: it cannot be attached meanwhile" in done.stderr
    assert other.read(regs.CSR_BASE) == [regs.MAGIC]
    other.close()


@pytest.mark.parametrize(
    "path, message",
    [
        ("/dev/ttyNOTHERE", "there is no such port"),
        ("/etc/hostname", "not a serial port"),
        ("/dev/null", "not a serial port"),
        ("tcp:localhost:1234", "only a serial port of this computer"),
    ],
)
def test_what_is_no_port(machine, path, message):
    for verb in ("attach", "detach"):
        if (verb, path) == ("detach", "tcp:localhost:1234"):
            continue
        done = run(machine, verb, path)
        assert done.returncode == 2 and is_one_line(done.stderr), done.stderr
        assert message in done.stderr or verb == "detach"


def test_arguments_that_make_no_sense(machine, board):
    port = machine.plug(board.spec)
    for arguments, message in (
        (["attach", port, "--baud", "150000"], "neither 115200 nor at least 230400"),
        (["attach", port, "--baud", "x"], "baud"),
        (["attach", port, "--baud", "1M", "--port-baud", "9600"], "only a bridge at 115200"),
        (["attach", port, "--port-baud", "1"], "port-baud"),
        (["--sim", "attach"], "not for --sim"),
        (["--port", "/dev/null", "attach", port], "two ports"),
        (["attach", port, port], "unrecognized"),
        (["detach", "--sim"], "not for --sim"),
        (["--sim", "doctor"], "not for --sim"),
    ):
        done = run(machine, *arguments)
        assert done.returncode == 2 and is_one_line(done.stderr) and message in done.stderr, (arguments, done.stderr)
    assert board.received == b""


# Just plugged in ------------------------------------------------------------------------------------------------------


@pytest.mark.full
def test_attach_waits_for_a_port_that_is_not_ready(machine, board, ended):
    """The kernel makes the node of a port a moment before the port can be opened, udev sets its rights a moment later."""
    port = machine.plug(board.spec)
    for error in ("ENXIO", "ENODEV"):
        machine.refuse_to_open(error, 5)
        process = attached(machine, ended, port)["process"]
        machine.refuse_to_open(error, 5)
        done = run(machine, "detach", port)
        assert done.returncode == 0 and done.stderr == "" and not is_running(process)
        assert (machine.folder / "refusals").read_text() == f"{error} 0\n"


def test_the_service_waits_for_a_port_that_is_not_ready(machine, board, tmp_path):
    port = machine.plug(board.spec)
    machine.refuse_to_open("ENXIO", 20)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "notify"))
        listener.settimeout(20)
        with subprocess.Popen(
            [sys.executable, TESTS / "fake_machine.py", machine.folder, "attach", "--foreground", port],
            env=ENV | {"NOTIFY_SOCKET": str(tmp_path / "notify")},
            stdout=subprocess.DEVNULL,
        ) as process:
            try:
                assert listener.recv(200).startswith(b"READY=1\n")
            finally:
                process.terminate()
    assert process.returncode == 0


@pytest.mark.full
@pytest.mark.parametrize("verb", [["attach"], ["detach"], ["--port"]])
def test_a_port_that_never_gets_ready(machine, board, verb):
    """The wait for it is limited, and one line says what is wrong."""
    port = machine.plug(board.spec)
    if verb == ["detach"]:
        machine.appear("ttyUSB1")
    machine.refuse_to_open("ENXIO", 10_000)
    start = time.monotonic()
    done = run(machine, *verb, port, *(["info"] if verb == ["--port"] else []))
    assert time.monotonic() - start >= ports.OPEN_SECONDS
    assert done.returncode == 2 and done.stderr == f"litepulse: {port}: cannot open the port (No such device or address)\n"
    assert board.received == b""


def test_a_port_that_is_not_there_is_not_waited_for(machine, monkeypatch):
    path = str(machine.dev / "ttyUSB9")
    for verb in ("attach", "detach"):
        done = run(machine, verb, path)
        assert done.returncode == 2 and is_one_line(done.stderr) and "there is no such port" in done.stderr
    monkeypatch.setattr(ports.time, "sleep", lambda seconds: pytest.fail("waits"))
    with pytest.raises(LitePulseError, match="cannot open the port .No such file"):
        open_port(path)


def test_the_rights_of_a_new_port(machine, board, monkeypatch):
    """Until udev has set them only root may open it; those of an older port are left as they
    are."""
    port = machine.plug(board.spec)
    real, tried = os.access, []

    def access(path, mode):
        tried.append(path)
        return len(tried) > 5 and real(path, mode)

    monkeypatch.setattr(os, "access", access)
    monkeypatch.setattr(ports.time, "time", lambda: os.stat(port).st_ctime + 0.1)
    assert ports.may_open(port) and len(tried) == 6
    tried.clear()
    monkeypatch.setattr(ports.time, "time", lambda: os.stat(port).st_ctime + ports.OPEN_SECONDS)
    assert not ports.may_open(port) and len(tried) == 1
    for error, young, old in ((errno.EACCES, 1, 0), (errno.ENXIO, 1, 1), (errno.ENODEV, 1, 1), (errno.ENOENT, 0, 0), (errno.EBUSY, 0, 0)):
        for age, settles in ((0.1, young), (ports.OPEN_SECONDS, old), (-3600, old)):
            monkeypatch.setattr(ports.time, "time", lambda age=age: os.stat(port).st_ctime + age)
            assert ports.is_settling(port, error) == settles, (error, age)


def test_the_node_comes_after_the_plug(machine, board):
    """The kernel lists a port before it makes the node."""
    port = Path(machine.plug(board.spec))
    port.unlink()
    threading.Timer(0.3, port.symlink_to, [board.spec]).start()
    found = choose(machine.host, None)
    assert found.path == str(port) and port.exists()
    port.unlink()
    with pytest.raises(LitePulseError, match="cannot open the port .No such file"):
        attach.inspect(choose(machine.host, None))


# Which port -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def terminals():
    """Pseudo-terminals with nothing behind them."""
    pairs = [os.openpty() for _ in range(4)]
    yield [os.ttyname(near) for _, near in pairs]
    for pair in pairs:
        for file in pair:
            os.close(file)


def test_the_first_port_of_an_icebreaker_is_its_flash(machine, terminals):
    flash, bridge = machine.plug(terminals[0], "ttyUSB0", "00"), machine.plug(terminals[1], "ttyUSB1", "01")
    done = run(machine, "attach", flash)
    assert done.returncode == 2 and is_one_line(done.stderr)
    assert done.stderr == (
        f"litepulse: {flash}: this is interface 00 of the iCEBreaker, its bridge is interface 01: "
        f"{machine.dev}/serial/by-id/usb-1BitSquared_iCEBreaker_V1.0e_ib7A-if01-port0\n"
    )
    assert choose(machine.host, bridge).name == "ttyUSB1" and choose(machine.host, None).name == "ttyUSB1"


def test_a_lone_wrong_port(machine, terminals):
    flash = machine.plug(terminals[0], "ttyUSB0", "00")
    with pytest.raises(BadInput, match="its bridge is interface 01, which is not there"):
        choose(machine.host, flash)
    with pytest.raises(BadInput, match="no board found by what its USB plug says .iCEBreaker, .*plug it in, or name the port"):
        choose(machine.host, None)


def test_a_cable_with_the_same_chip_is_taken_at_its_word(machine, terminals):
    """An FT2232H of any maker: no board is found there automatically, and each of its ports may be
    named."""
    for name, interface in (("ttyUSB0", "00"), ("ttyUSB1", "01")):
        path = machine.plug(terminals[int(interface)], name, interface, product="Dual RS232-HS", manufacturer="FTDI")
        assert choose(machine.host, path).board is None
    assert find_bridges(machine.host) == []


def test_several_boards_are_listed(machine, terminals):
    for number, terminal in enumerate(terminals[:3]):
        machine.plug(terminal, f"ttyUSB{8 + number}", "01", place=f"1-{number}", serial=f"ib{number}")
    assert [port.name for port in find_bridges(machine.host)] == ["ttyUSB8", "ttyUSB9", "ttyUSB10"]
    done = run(machine, "attach")
    assert done.returncode == 2 and is_one_line(done.stderr) and "3 boards are there, name the port of one" in done.stderr
    assert all(f"by-id/usb-1BitSquared_iCEBreaker_V1.0e_ib{n}-if01-port0 (iCEBreaker V1.0e)" in done.stderr for n in range(3))


def test_descriptors_of_a_plug(machine, terminals):
    path = machine.plug(terminals[0])
    stable = preferred(machine.host, path)
    for name in (path, stable, terminals[0]):
        port = describe(machine.host, name)
        assert (port.name, port.interface, port.serial, port.latency) == ("ttyUSB1", "01", "ib7A", 16)
        assert port.title() == "1BitSquared iCEBreaker V1.0e, serial number ib7A" and port.board.title == "iCEBreaker"
    assert stable.endswith("-if01-port0") and preferred(machine.host, terminals[1]) == terminals[1]
    port = describe(machine.host, terminals[1])
    assert (port.name, port.usb, port.latency, port.board) == (f"pts{os.path.basename(terminals[1])}", None, None, None)


def test_low_latency_is_one_bit():
    flags = SerialFlags(bytes(range(128)))
    changed = flags.with_low_latency()
    assert changed.low_latency and changed.with_low_latency() == changed
    assert [i for i, (a, b) in enumerate(zip(flags.raw, changed.raw)) if a != b] == [17] and changed.raw[17] == flags.raw[17] | 0x20


# Attached -------------------------------------------------------------------------------------------------------------


def test_attach_and_detach(machine, board, ended):
    port = machine.plug(board.spec)
    stable = preferred(machine.host, port)
    with unchanged(board.spec):
        result = attached(machine, ended)
        assert result == {
            "command": "attach",
            "port": port,
            "stable_name": stable,
            "board": "1BitSquared iCEBreaker V1.0e, serial number ib7A",
            "pulse": f"{machine.dev}/litepulse0",
            "tty": f"{machine.dev}/ttyPULSE0",
            "clock": f"{machine.dev}/ptp3",
            "baud": 3_000_000,
            "frames_checked": True,
            "latency_timer_ms": 1,
            "process": result["process"],
            "raised": [],
            "already": False,
            "remark": None,
        }
        assert machine.rates() == [3_000_000] and is_running(result["process"]) and machine.latency_file().read_text() == "1\n"
        assert (machine.folder / "discipline").read_text() == "8\n" and board.board.writes == 0

        again = run(machine, "attach", stable)
        assert again.returncode == 0 and again.stdout.startswith("attached already: ") and "/dev/litepulse0" in again.stdout
        assert f"process {result['process']} holds it" in again.stdout and machine.rates() == [3_000_000]

        start = time.monotonic()
        done = run(machine, "detach", port)
        assert done.returncode == 0 and done.stdout == f"detached: {port} is free, /dev/litepulse0 is gone\n", done.stderr
        # The bridge has to be silent for a while before it takes plain commands at 115200 baud.
        assert time.monotonic() - start > 2 and not is_running(result["process"])
    assert (machine.folder / "discipline").read_text() == "0\n" and machine.latency_file().read_text() == "16\n"
    for verb in ("detach", "attach"):
        done = run(machine, "detach", port)
        assert done.returncode == 2 and is_one_line(done.stderr) and f"{port}: no board is attached there" in done.stderr
        assert run(machine, "detach").stderr == "litepulse: no board is attached\n"
    assert open_port(board.spec).read(regs.CSR_BASE) == [regs.MAGIC]


def queues(machine, *names):
    """The files `nice` of workqueues, which the machine gets."""
    for name in names:
        machine.write(f"sysfs/{WORKQUEUES}/{name}/nice", "0")
    return [machine.sysfs / WORKQUEUES / name / "nice" for name in names]


def test_workers_are_raised(machine, board, ended):
    """Those of the port's driver and of ours, of no other; also of a board that is attached already."""
    port = machine.plug(board.spec)
    *ours, other = queues(machine, "ttyPULSE-litepulse", "ttyUSB-usbserial", "ttyUSBX-other")
    assert attached(machine, ended, "--realtime")["raised"] == ["ttyPULSE-litepulse", "ttyUSB-usbserial"]
    assert [path.read_text() for path in (*ours, other)] == ["-20\n", "-20\n", "0\n"]
    ours[1].write_text("0\n")
    again = run(machine, "attach", port, "--realtime")
    assert again.returncode == 0 and "nice   -20 of the workers ttyPULSE-litepulse, ttyUSB-usbserial" in again.stdout
    assert ours[1].read_text() == "-20\n"


def test_workers_that_are_those_of_all(machine, board):
    """Before Linux 7.2: nothing is attached."""
    machine.plug(board.spec)
    queues(machine, "ttyPULSE-litepulse", "events_unbound")
    with unchanged(board.spec):
        done = run(machine, "attach", "--realtime")
    assert done.returncode == 2 and is_one_line(done.stderr) and "this kernel has no workers for this port alone" in done.stderr
    assert (machine.folder / "discipline").read_text() == "0\n"


def test_workers_that_cannot_be_raised(machine, board):
    """The kernel refuses: the board is detached again."""
    machine.plug(board.spec)
    (nice,) = queues(machine, "ttyUSB-usbserial")
    nice.unlink()
    nice.mkdir()
    with unchanged(board.spec):
        done = run(machine, "attach", "--realtime")
    assert done.returncode == 2 and is_one_line(done.stderr) and f"realtime: {nice}: Is a directory" in done.stderr
    assert (machine.folder / "discipline").read_text() == "0\n"


def test_what_people_see(machine, board, ended):
    port = machine.plug(board.spec)
    done = run(machine, "attach", port)
    number = int(re.search(r"process (\d+) holds it", done.stdout)[1])
    ended.append(number)
    stable = preferred(machine.host, port)
    assert done.returncode == 0 and done.stdout.splitlines() == [
        f"attached: 1BitSquared iCEBreaker V1.0e, serial number ib7A on {port}",
        f"  pulse  {machine.dev}/litepulse0",
        f"  tty    {machine.dev}/ttyPULSE0",
        f"  clock  {machine.dev}/ptp3",
        "  cable  3000000 baud, frames checked, latency timer 1 ms",
        f"  name   {stable} is this port wherever else is plugged in: better use that",
        f"  end    process {number} holds it; 'litepulse detach {stable}', or unplug it",
    ]


def test_the_service_keeps_nothing_open(machine, board, ended):
    """A program that waits for the end of a pipe that the command inherited does not wait until the
    board is unplugged."""
    port = machine.plug(board.spec)
    reader, writer = os.pipe()
    command = [sys.executable, TESTS / "fake_machine.py", machine.folder, "attach", port, "--json"]
    done = subprocess.run(command, env=ENV, capture_output=True, text=True, timeout=60, check=True, pass_fds=[writer])
    number = json.loads(done.stdout)["process"]
    ended.append(number)
    os.close(writer)
    assert select.select([reader], [], [], 10)[0] and os.read(reader, 1) == b"" and is_running(number)
    os.close(reader)
    files = [os.readlink(f"/proc/{number}/fd/{name}") for name in os.listdir(f"/proc/{number}/fd")]
    assert files.count(board.spec) == 1 and set(files) - {board.spec, os.devnull} == {f for f in files if f.startswith("pipe:")}
    assert os.stat(f"/proc/{number}").st_uid == os.getuid() and os.readlink(f"/proc/{number}/cwd") == "/"


def test_other_commands_are_sent_to_the_device(machine, board, ended):
    port = machine.plug(board.spec)
    result = attached(machine, ended, port)
    before = board.received
    for verb in (["info"], ["stop"], ["train", "--rate", "58"], ["--bridge-baud", "1M", "info"]):
        done = run(machine, "--port", port, *verb)
        assert done.returncode == 2 and is_one_line(done.stderr), done.stderr
        assert f"{port}: attached to the kernel as /dev/litepulse0: use that, or 'litepulse detach {port}' gives" in done.stderr
    assert board.received == before and is_running(result["process"])


def test_detach_by_device_and_alone(machine, board, ended):
    port = machine.plug(board.spec)
    machine.write("carries", "115200")
    for arguments in ([f"{machine.dev}/litepulse0"], [f"{machine.dev}/ttyPULSE0"], []):
        (machine.dev / "ttyPULSE9").unlink(missing_ok=True)
        result = attached(machine, ended, port)
        for node in ("litepulse0", "ttyPULSE0", "ptp3"):  # files of their own, as devices are
            (machine.dev / node).unlink()
            (machine.dev / node).symlink_to(f"/dev/{ {'litepulse0': 'null', 'ttyPULSE0': 'zero', 'ptp3': 'full'}[node] }")
        done = run(machine, "detach", *arguments, "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == {
            "command": "detach",
            "port": port,
            "pulse": f"{machine.dev}/litepulse0",
            "process": result["process"],
        }


def test_attach_waits_for_who_is_leaving(machine, board, ended):
    """Attached again at once: the service that ends has the port until the bridge is at rest."""
    port = machine.plug(board.spec)
    first = attached(machine, ended, port)["process"]
    os.kill(first, signal.SIGTERM)
    while (machine.folder / "discipline").read_text() != "0\n":
        time.sleep(0.01)
    assert is_running(first)
    second = attached(machine, ended, port)["process"]
    assert second != first and not is_running(first) and is_running(second)


def test_a_lock_that_names_another_process(machine, board):
    """Any user who can open a port can place the lock that names its holder; detach ends only a process that has the port open."""
    port = machine.plug(board.spec)
    machine.set_discipline(board.spec, attach.N_LITEPULSE)
    victim = subprocess.Popen(["sleep", "60"])
    file = transport.open_for_locks(board.spec)
    try:
        for byte in (0, victim.pid):
            assert transport._lock_byte(file, fcntl.F_RDLCK if byte else fcntl.F_WRLCK, byte)
        done = run(machine, "detach", port)
        assert done.returncode == 2 and is_one_line(done.stderr)
        assert f"process {victim.pid} is named as its holder but does not have it open: left alone" in done.stderr
        assert victim.poll() is None
    finally:
        os.close(file)
        victim.kill()
        victim.wait()


def test_another_owner_of_the_line_discipline(machine, board):
    """The kernel lets two modules register one number; the last one has it."""
    machine.write("proc/tty/ldiscs", "n_tty       0\nsllin       8")
    done = run(machine, "attach", machine.plug(board.spec))
    assert done.returncode == 2 and is_one_line(done.stderr)
    assert "line discipline 8 belongs to 'sllin', another module of the kernel: unload that, or load litepulse_uartbone" in done.stderr
    assert (machine.folder / "discipline").read_text() == "0\n"


def test_a_port_attached_by_others(machine, board):
    """By ldattach, say: there is a board, and no lock."""
    port = machine.plug(board.spec)
    machine.set_discipline(board.spec, attach.N_LITEPULSE)
    done = run(machine, "attach", port)
    assert done.returncode == 0 and "attached already" in done.stdout and "holds it" not in done.stdout
    done = run(machine, "detach", port)
    assert done.returncode == 2 and is_one_line(done.stderr) and "attached by another program" in done.stderr
    machine.appear("ttyUSB7", 1, driven=False)
    done = run(machine, "detach")
    assert done.returncode == 2 and is_one_line(done.stderr) and "2 boards are attached, name the port of one" in done.stderr


def test_unplugged(machine, ended):
    server = Server(FakeBoard(), bridge=Bridge())
    result = attached(machine, ended, machine.plug(server.spec))
    machine.vanish("ttyUSB1")
    server.close()
    end = time.monotonic() + 60
    while is_running(result["process"]):
        assert time.monotonic() < end, "the service does not notice"
        time.sleep(0.02)


def test_foreground_for_systemd(machine, board, tmp_path):
    port = machine.plug(board.spec)
    machine.write("carries", "115200")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "notify"))
        listener.settimeout(20)
        process = subprocess.Popen(
            [sys.executable, TESTS / "fake_machine.py", machine.folder, "attach", "--foreground", port],
            env=ENV | {"NOTIFY_SOCKET": str(tmp_path / "notify")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert listener.recv(200).decode() == f"READY=1\nSTATUS=/dev/litepulse0 on {port}"
            assert (machine.folder / "discipline").read_text() == "8\n" and process.poll() is None
            assert attach.holding_process(board.spec) == process.pid
            process.send_signal(signal.SIGTERM)
            assert listener.recv(200) == b"STOPPING=1"
            out, errors = process.communicate(timeout=20)
        finally:
            process.kill()
    assert process.returncode == 0 and out.startswith("attached: ") and errors == f"{port}: detached\n"
    assert (machine.folder / "discipline").read_text() == "0\n"


# The bit rate ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "carries, arguments, tried, remark",
    [
        (12_000_000, [], [3_000_000], None),
        (1_700_000, [], [3_000_000, 2_000_000, 1_500_000], None),
        (230_400, [], list(attach.BAUDS), None),
        (115_200, [], list(attach.BAUDS), None),
        (12_000_000, ["--baud", "1M"], [1_000_000], None),
        (12_000_000, ["--baud", "750k"], [750_000], None),
        (600_000, ["--baud", "1M"], [1_000_000, 500_000], "the bit rate is 500000, not 1000000: 1000000 cannot be had (no answer)"),
        (12_000_000, ["--baud", "6M"], [3_000_000], "the bit rate is 3000000, not 6000000: the bridge can do 3000000 at most"),
        (12_000_000, ["--baud", "115200"], [], None),
    ],
)
def test_the_highest_rate_that_both_carry(machine, board, ended, carries, arguments, tried, remark):
    machine.write("carries", carries)
    result = attached(machine, ended, machine.plug(board.spec), *arguments)
    assert machine.rates() == tried and result["remark"] == remark
    assert result["baud"] == (tried[-1] if tried and tried[-1] <= carries else 115200)


def test_a_bridge_with_a_fixed_rate(machine, ended):
    with Server(FakeBoard()) as server:
        port = machine.plug(server.spec)
        result = attached(machine, ended, port, "--baud", "1M")
        assert machine.rates() == [] and result["remark"] == "the bit rate is 115200, not 1000000: this bitstream's bridge has a fixed one"


def test_rates_of_a_slower_bridge():
    found = attach.Found((0, 2), 1, False, 12_000_000, True)
    assert found.bauds(None) == [1_500_000, 1_000_000, 500_000, 230_400] and found.bauds(1_000_000) == [1_000_000, 500_000, 230_400]
    assert attach.Found((0, 2), 1, False, 0, True).bauds(None) == [] and found.bauds(115200) == []


def test_the_board_table_is_the_one_source():
    """Each board in it identifies itself, and no two can be confused."""
    from litepulse.ports import BOARDS

    assert [board.title for board in BOARDS][0] == "iCEBreaker" and len({board.title for board in BOARDS}) == len(BOARDS)
    assert BOARDS[0].product == "iCEBreaker*" and ICEBREAKER["product"].startswith("iCEBreaker")
    assert all(re.fullmatch("[0-9a-f]{4}", text) for board in BOARDS for text in (board.vendor, board.chip))
    assert all(re.fullmatch("[0-9]{2}", board.interface) and len(board.product) > 5 for board in BOARDS)
