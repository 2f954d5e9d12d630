# SPDX-License-Identifier: BSD-2-Clause
"""UARTBone over a pseudo-terminal and TCP: bursts, silence, garbage, unplugging, locks."""

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from litepulse.backends import Owner, connect
from litepulse.backends import uartbone as transport
from litepulse.backends.bus.backend import BusBackend
from litepulse.backends.bus.identification import identify
from litepulse.backends.bus.record_stream import RecordStream
from litepulse.backends.bus.registers import Registers
from litepulse.backends.uartbone import MAX_BURST, SerialStream, open_port
from litepulse.errors import BadInput, LitePulseError, Refused, Restarted, TransportError
from litepulse.layout import regs
from litepulse.ports import SerialFlags
from litepulse.streams import EventStream
from sim.bridge_rules import RULES, Watcher

from .fake_board import Bridge, FakeBoard, Server

TOO_SHORT, GOOD = 5, 5000 << 8  # words of a bit period


def started(target, calls):
    """A running thread for each tuple of arguments."""
    threads = [threading.Thread(target=target, args=arguments) for arguments in calls]
    for thread in threads:
        thread.start()
    return threads


class Memory:
    """A bus with plain words on it."""

    def __init__(self):
        self.words, self.bursts, self.written = {}, [], []

    def read(self, address, count):
        self.bursts.append(count)
        return [self.words.get(address + 4 * i, 0) for i in range(count)]

    def write(self, address, words):
        self.bursts.append(-len(words))
        for i, word in enumerate(words):
            self.words[address + 4 * i] = word
            self.written.append((address + 4 * i, word))


@pytest.mark.parametrize("kind", ["pty", "tcp"])
def test_words_go_both_ways_in_bursts(kind):
    memory = Memory()
    with Server(memory, kind) as server:
        bus = open_port(server.spec)
        values = [(i * 2654435761) & 0xFFFFFFFF for i in range(600)]
        bus.write(0x1000, values)
        assert bus.read(0x1000, 600) == values
        assert bus.read(0x1000 + 4 * 599) == values[-1:]
        bus.close()
    assert memory.bursts == [-255, -255, -90, 255, 255, 90, 1] and MAX_BURST == 255


def test_the_bytes_are_those_of_litex():
    memory = Memory()
    with Server(memory) as server:
        bus = open_port(server.spec)
        bus.write(0x90006000, [0x01020304])
        bus.read(0x8000, 2)
        bus.close()
        assert server.received == bytes.fromhex("01012400180001020304020200002000")


@pytest.mark.parametrize("kind", ["pty", "tcp"])
def test_a_port_that_another_thread_has_closed(kind):
    """The thread that keeps in touch meets this at the end: it must be an error of this package, which the thread takes for the end."""
    with Server(Memory(), kind) as server:
        bus = open_port(server.spec)
        bus.close()
        with pytest.raises(TransportError, match="the port is gone"):
            bus.read(0x40)


def test_silence_is_reported():
    quiet, other = os.openpty()
    with pytest.raises(TransportError, match="does not answer"):
        open_port(os.ttyname(other), timeout=0.1).read(0x8000)
    os.close(quiet)
    os.close(other)


def test_a_port_that_chatters_is_no_bridge():
    chatty, other = os.openpty()
    name = os.ttyname(other)
    stop = threading.Event()

    def chatter():
        while not stop.is_set():
            os.write(chatty, b"Hello from a GPS receiver\r\n")
            time.sleep(0.005)

    thread = threading.Thread(target=chatter)
    bus = open_port(name, timeout=0.1)
    thread.start()
    try:
        with pytest.raises((TransportError, LitePulseError)):
            BusBackend(bus, "test", name)
    finally:
        stop.set()
        thread.join()
        os.close(chatty)
        os.close(other)


def test_a_read_that_lost_bytes_is_repeated():
    memory = Memory()
    memory.words[0x40] = 0xCAFEF00D
    cut = [True]

    def answer(reply):
        if cut:
            cut.pop()
            return reply[:-1]
        return reply

    with Server(memory, answer=answer) as server:
        bus = open_port(server.spec, timeout=0.2)
        assert bus.read(0x40) == [0xCAFEF00D] and bus.repeated == 1
        bus.close()


def test_bytes_without_a_request_are_discarded():
    memory = Memory()
    memory.words[0x40] = 1
    with Server(memory) as server:
        bus = open_port(server.spec)
        os.write(server.fd, b"noise before the question")
        time.sleep(0.05)
        assert bus.read(0x40) == [1] and bus.repeated == 0
        bus.close()


def test_too_long_an_answer_is_requested_again():
    memory = Memory()
    memory.words[0x40] = 7
    first = [True]
    with Server(memory, answer=lambda reply: reply + b"x" if first and first.pop() else reply) as server:
        bus = open_port(server.spec, timeout=0.3)
        assert bus.read(0x40) == [7]
        bus.close()


@pytest.mark.parametrize("kind", ["pty", "tcp"])
def test_unplugging_is_reported(kind):
    board = FakeBoard()
    server = Server(board, kind)
    bus = open_port(server.spec, timeout=0.2)
    device = BusBackend(bus, "test", server.spec)
    server.close()
    with pytest.raises(TransportError, match="gone|does not answer"):
        for _ in range(5):
            device.registers.read_status()


def test_ports_that_cannot_be_opened():
    for spec, why in (("/dev/ttyNOTHERE", "No such file"), ("/etc/hostname", "cannot open"), (f"tcp:127.0.0.1:{free_port()}", "refused")):
        with pytest.raises(TransportError, match=why):
            open_port(spec)
    for spec in ("tcp:nowhere", "tcp::80", "tcp:host:x", "tcp:host:70000"):
        with pytest.raises(BadInput):
            open_port(spec)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def test_two_processes_share_a_port_transaction_by_transaction():
    memory = Memory()
    memory.words.update({4 * i: i for i in range(1000)})
    with Server(memory) as server:
        buses = [open_port(server.spec) for _ in range(2)]
        wrong = []

        def work(bus, base):
            for k in range(100):
                if bus.read(4 * (base + k), 50) != list(range(base + k, base + k + 50)):
                    wrong.append(k)

        threads = started(work, [(bus, 100 * i) for i, bus in enumerate(buses)])
        while any(thread.is_alive() for thread in threads):  # opening a port takes nothing from those who have it
            open_port(server.spec).close()
        assert not wrong and not any(bus.repeated for bus in buses)
        for bus in buses:
            bus.close()


def test_first_contact_of_several_at_once_is_one_session():
    for _ in range(10):
        with Server(FakeBoard()) as server:
            buses = [open_port(server.spec) for _ in range(4)]
            ready, sessions = threading.Barrier(len(buses)), []

            def contact(bus, ready=ready, sessions=sessions):
                device = BusBackend(bus, "uartbone", "board", identified=lambda core: ready.wait())
                sessions.append(device.identity.session)

            for thread in started(contact, [(bus,) for bus in buses]):
                thread.join()
            for bus in buses:
                bus.close()
        assert len(sessions) == len(buses) and len(set(sessions)) == 1


def test_answers_to_settings_are_counted_for_who_wrote_them():
    board = FakeBoard()
    with Server(board) as server:
        buses = [open_port(server.spec) for _ in range(2)]
        devices = [BusBackend(bus, "uartbone", "board") for bus in buses]
        refused = []

        def write(device, period):
            for _ in range(50):
                try:
                    device.registers.configure(("profile1_period", period))
                except Refused:
                    refused.append(period)

        for thread in started(write, zip(devices, (TOO_SHORT, GOOD))):
            thread.join()
        assert refused == [TOO_SHORT] * 50
        for bus in buses:
            bus.close()


def test_one_owner_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with Server(FakeBoard()) as server:
        first = connect(port=server.spec)
        with pytest.raises(LitePulseError, match=f"in use by another litepulse .process {os.getpid()}"):
            connect(port=server.spec)
        beside = connect(port=server.spec, own=False)
        beside.close()
        first.close()
        connect(port=server.spec).close()


def test_owners_of_the_same_port_by_another_name(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    link = tmp_path / "board"
    link.symlink_to("/dev/null")
    assert Owner(str(link)).path == Owner("/dev/null").path


def test_the_lock_of_a_port_goes_with_its_owner(tmp_path, monkeypatch):
    """One file for each port in use, and none for earlier ones."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    for number in range(3):
        owner = Owner(f"tcp:127.0.0.1:{number}")
        assert owner.acquire() and owner.holder() == str(os.getpid()) and list(tmp_path.iterdir()) == [owner.path]
        assert not Owner(f"tcp:127.0.0.1:{number}").acquire() and owner.path.exists()
        owner.release()
        assert list(tmp_path.iterdir()) == []
    with Server(FakeBoard()) as server:
        connect(port=server.spec).close()
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_is_removed_before_it_is_taken(tmp_path, monkeypatch):
    """Between open() and flock() its owner ends and another one begins: the opened file has no name
    any more."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    first, second, third = (Owner("tcp:127.0.0.1:1") for _ in range(3))
    opened = second._open

    def open_late():
        number = opened()
        if first._file is not None:
            first.release()
            assert third.acquire()
        return number

    monkeypatch.setattr(second, "_open", open_late)
    assert first.acquire() and not second.acquire()
    third.release()
    assert second.acquire() and list(tmp_path.iterdir()) == [second.path]
    second.release()


def test_many_owners_of_one_port(tmp_path, monkeypatch):
    """They come and go, and there are never two."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    inside, most = [], []

    def come_and_go():
        for _ in range(500):
            owner = Owner("tcp:127.0.0.1:1")
            if owner.acquire():
                inside.append(owner)
                most.append(len(inside))
                inside.remove(owner)
                owner.release()

    threads = [threading.Thread(target=come_and_go) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 1 and list(tmp_path.iterdir()) == []


def test_a_lock_that_cannot_be(tmp_path, monkeypatch):
    """One line gives the reason and what to do; a name of any length has a file."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/proc/self")  # a folder that takes no files
    with pytest.raises(LitePulseError, match=r"/proc/self/litepulse-.*: cannot be locked .*: XDG_RUNTIME_DIR, or else TMPDIR, must be"):
        Owner("tcp:127.0.0.1:1").acquire()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    owner = Owner("tcp:" + 300 * "x" + ":1")
    assert owner.acquire()
    owner.release()


@pytest.mark.parametrize("content", ["", "12\x1b[2J", "１２", 5000 * "9", "nobody"])
def test_the_content_of_a_lock_is_a_number_or_nothing(content, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    owner = Owner("tcp:127.0.0.1:1")
    owner.path.write_text(content)
    assert owner.holder() in ("?", 12 * "9")


def test_without_a_device_nothing_is_simulated():
    if Path("/dev/litepulse0").exists():
        pytest.skip("a real device is there")
    with pytest.raises(LitePulseError, match="open\\(sim=True\\)"):
        connect()
    with pytest.raises(BadInput, match="exclude"):
        connect(sim=True, port="/dev/null")


def test_registers_are_at_the_addresses_of_the_map():
    seen = []

    class Spy(FakeBoard):
        def read(self, address, count):
            seen.append((address, count))
            return super().read(address, count)

    board = Spy()
    device = Registers(board, identify(board, "test", "spy"))
    device.read_status()
    RecordStream(device, "EVENTS", EventStream(), device.identity.event_depth).drain()
    assert seen == [(regs.CSR_BASE, 5), (regs.CSR_BASE + 80, 1), (regs.CSR_BASE + 20, 7), (regs.WINDOW_BASE, 4 + 8 * 4)]


# A raised bit rate ----------------------------------------------------------------------------------------------------


@pytest.fixture
def raisable():
    """A Memory behind a bridge at 24 MHz whose rate can be raised."""
    with Server(Memory(), bridge=Bridge()) as server:
        yield server


WORD_1M, WORD_1M5, WORD_BASE = 2731, 4096, 315


def test_raised_and_lowered(raisable):
    bus = open_port(raisable.spec, bridge_baud=1_500_000)
    assert raisable.bridge.rates == [WORD_1M5] and bus.baud == 1_500_000
    bus.write(0x40, [1, 2, 3])
    assert bus.read(0x40, 3) == [1, 2, 3]
    bus.lower_baud()
    assert bus.read(0x44) == [2] and raisable.bridge.rates == [WORD_1M5, WORD_BASE] and bus.baud == 115200
    bus.raise_baud(1_000_000)
    assert bus.read(0x44) == [2]
    bus.close()
    with open_and_close(raisable.spec) as other:  # at once, at 115200
        assert other.read(0x48) == [3] and other.repeated == 0
    assert raisable.bridge.rates == [WORD_1M5, WORD_BASE, WORD_1M, WORD_BASE] and raisable.bridge.garbled == 0


@contextlib.contextmanager
def open_and_close(spec, **options):
    bus = open_port(spec, **options)
    try:
        yield bus
    finally:
        bus.close()


def test_115200_is_not_raised(raisable):
    with open_and_close(raisable.spec, bridge_baud=115200) as bus:
        assert bus.read(0x40) == [0] and raisable.received == bytes.fromhex("020100000010")


@pytest.mark.wallclock
@pytest.mark.parametrize("silence", [1.7, 2.6])
def test_after_silence_nothing_but_a_read_goes_out_at_a_doubtful_rate(raisable, silence):
    with open_and_close(raisable.spec, bridge_baud=1_000_000) as bus:
        bus.write(0x40, [7])
        assert bus.read(0x40) == [7]
        time.sleep(silence)
        before, raisable.received = raisable.received, b""
        bus.write(0x40, [8])
        assert bus.read(0x40) == [8] and raisable.board.written == [(0x40, 7), (0x40, 8)]
        assert raisable.received.startswith(bytes.fromhex("020100002200")) and before
        fell = silence > 2
        assert raisable.bridge.rates == ([WORD_1M, WORD_BASE, WORD_1M] if fell else [WORD_1M])
        # Garbled were reads of the register, and whole ones.
        assert (raisable.bridge.garbled > 0) == fell and raisable.bridge.garbled % 6 == 0


def test_time_passes_while_the_machine_is_suspended(raisable, monkeypatch):
    """A program that is woken up does not take the rate for certain, though time.monotonic() stood still."""
    with open_and_close(raisable.spec, bridge_baud=1_000_000) as bus:
        assert bus.read(0x40) == [0]
        real = time.clock_gettime
        monkeypatch.setattr(time, "clock_gettime", lambda clock: real(clock) + (60 if clock == time.CLOCK_BOOTTIME else 0))
        raisable.received = b""
        bus.write(0x40, [8])
        assert raisable.received.startswith(bytes.fromhex("020100002200")), "a read of the rate comes first"


@pytest.mark.wallclock
@pytest.mark.parametrize("silence", [1.7, 2.6])
def test_lowered_after_silence(silence):
    """The bridge is at 115200 baud when the port is given up, also if it had not fallen back by itself."""
    watcher = Watcher()
    with Server(Memory(), bridge=Bridge(), watcher=watcher) as server:
        with open_and_close(server.spec, bridge_baud=1_000_000):
            time.sleep(silence)
        watcher.end(time.monotonic())
        server.watcher = None  # the next is another host
        with open_and_close(server.spec) as other:
            assert other.read(0x48) == [0] and other.repeated == 0
        assert server.bridge.rates == [WORD_1M, WORD_BASE]
    assert watcher.broken == []


@pytest.mark.wallclock
def test_a_host_that_stays_busy_keeps_the_rate(raisable):
    with open_and_close(raisable.spec, bridge_baud=1_000_000) as bus:
        for _ in range(5):
            time.sleep(0.6)
            bus.read(0x40)
    assert raisable.bridge.rates == [WORD_1M, WORD_BASE] and raisable.bridge.garbled == 0


def test_a_board_that_restarts_is_raised_again(raisable):
    with open_and_close(raisable.spec, bridge_baud=1_000_000) as bus:
        raisable.bridge.set(WORD_BASE)
        assert bus.read(0x40) == [0] and bus.repeated == 1 and bus.baud == 1_000_000
        bus.write(0x40, [5])
        assert bus.read(0x40) == [5]
    assert raisable.bridge.rates == [WORD_1M, WORD_BASE, WORD_1M, WORD_BASE]


def test_the_next_process_finds_a_bridge_whose_host_died(raisable):
    """It is raised when the successor opens the port; the successor's own patience covers the fallback."""
    child = subprocess.Popen(
        [sys.executable, "-c", RAISE_AND_WAIT, raisable.spec], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": SW}
    )
    assert child.stdout.readline() == b"raised\n"
    with pytest.raises(TransportError, match=f"in use at a raised bit rate by process {child.pid}$"):
        open_port(raisable.spec)
    assert raisable.bridge.word == WORD_1M and raisable.bridge.garbled == 0
    child.kill()
    child.wait()
    child.stdout.close()
    with open_and_close(raisable.spec) as bus:
        assert raisable.bridge.word == WORD_1M
        assert bus.read(0x40) == [6]
    assert raisable.bridge.rates == [WORD_1M, WORD_BASE]
    with open_and_close(raisable.spec, bridge_baud=1_500_000) as bus:
        assert bus.read(0x40) == [6]


def test_a_bridge_that_checks_frames_until_it_has_been_silent_for_2_s(raisable):
    """The kernel had it a moment ago: plain commands are not answered until then, and the first contact has the patience."""
    raisable.board.write(0x40, [6])
    heard_again = time.monotonic() + regs.BRIDGE_FALLBACK_SECONDS + 0.01
    raisable.answer = lambda reply: reply if time.monotonic() > heard_again else b""
    with open_and_close(raisable.spec) as bus:
        assert bus.read(0x40) == [6] and time.monotonic() > heard_again


SW = str(Path(transport.__file__).resolve().parents[1])
RAISE_AND_WAIT = """
import sys, time
from litepulse.backends.uartbone import open_port
bus = open_port(sys.argv[1], bridge_baud=1_000_000)
bus.write(0x40, [6])
assert bus.read(0x40) == [6]
print("raised", flush=True)
while True:
    time.sleep(0.5)
    bus.read(0x40)
"""


def test_a_port_in_use_is_not_raised(raisable):
    with open_and_close(raisable.spec) as first:
        with pytest.raises(TransportError, match=f"process {os.getpid()} uses the port, too"):
            open_port(raisable.spec, bridge_baud=1_000_000)
        second = open_port(raisable.spec)
        with pytest.raises(TransportError, match="uses the port, too"):
            second.raise_baud(1_000_000)
        assert first.read(0x40) == second.read(0x40) == [0]
        second.close()
        first.raise_baud(1_000_000)
        with pytest.raises(TransportError, match="in use at a raised bit rate"):
            open_port(raisable.spec)
        first.lower_baud()
        open_port(raisable.spec).close()
    assert raisable.bridge.rates == [WORD_1M, WORD_BASE] and raisable.bridge.garbled == 0


@pytest.mark.parametrize("register", [0, 0x0960013A, 0x0960013D, 0xFFFFFFFF, 0x12345678, 2400 << 16])
def test_a_bridge_without_the_register_is_left_alone(register):
    """What an older bitstream reads there, or another device."""
    memory = Memory()
    memory.words[0x8800] = register
    with Server(memory) as server:
        with pytest.raises(TransportError, match=f"has a fixed bit rate .*0x{register:08x}"):
            open_port(server.spec, bridge_baud=1_000_000)
        assert server.received == bytes.fromhex("020100002200")
        open_port(server.spec).close()


@pytest.mark.full
def test_a_cable_that_cannot_do_it(raisable):
    raisable.bridge.deaf = True
    with pytest.raises(TransportError, match="does not answer at 1000000 baud, only at 115200"):
        open_port(raisable.spec, bridge_baud=1_000_000)
    assert raisable.bridge.rates[::2] == [WORD_1M, WORD_1M]
    with open_and_close(raisable.spec) as bus:
        assert bus.read(0x40) == [0] and bus.repeated == 0
    assert raisable.bridge.rates == [WORD_1M, WORD_BASE] * 2


def test_rates_that_cannot_be_raised_to(raisable):
    for spec, baud, options, why in (
        (raisable.spec, 3_001_000, {}, "at most 3000000"),
        (raisable.spec, 150_000, {}, "at least 230400"),
        (raisable.spec, 1_000_000, {"baud": 9600}, "--port-baud 9600"),
        ("tcp:127.0.0.1:1", 1_000_000, {}, "TCP"),
        ("tcp:127.0.0.1:1", 115200, {}, "TCP"),
    ):
        with pytest.raises(BadInput, match=why):
            open_port(spec, bridge_baud=baud, **options)
    with pytest.raises(BadInput, match="with a port only"):
        connect(sim=True, bridge_baud=1_000_000)
    assert raisable.bridge.rates == []


def test_a_raised_port_that_is_unplugged():
    server = Server(FakeBoard(), bridge=Bridge())
    bus = open_port(server.spec, timeout=0.2, bridge_baud=1_000_000)
    server.close()
    with pytest.raises(TransportError, match="gone|does not answer"):
        for _ in range(5):
            bus.read(0x8000)
    bus.close()


def test_a_port_that_cannot_do_the_rate(raisable, monkeypatch):
    with open_and_close(raisable.spec) as bus:
        able = transport.SerialStream.set_baud

        def set_baud(stream, baud):
            if baud != 115200:
                raise TransportError(f"the port cannot do {baud} baud")
            able(stream, baud)

        monkeypatch.setattr(transport.SerialStream, "set_baud", set_baud)
        with pytest.raises(TransportError, match="cannot do 1000000"):
            bus.raise_baud(1_000_000)
        assert bus.read(0x40) == [0] and raisable.bridge.rates == []
        open_port(raisable.spec).close()  # not claimed any more


@pytest.mark.wallclock
def test_rules_of_the_bridge(tmp_path, monkeypatch):
    """All that a host has that sends plain commands: pledges, silence while the bridge falls back, a board that was reset."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    watcher, board = Watcher(), FakeBoard()
    with Server(board, bridge=Bridge(), watcher=watcher) as server:
        backend = connect(port=server.spec, bridge_baud=1_000_000)
        for keep, silence in ((False, 0), (True, 1.7), (False, 2.6)):
            time.sleep(silence)
            backend.pledge(keep=keep)
            assert board.session >> 31 == keep and board.session & 0xFFFF == backend.identity.session
        with server.lock:
            board.reset()
        with pytest.raises(Restarted):
            backend.pledge(keep=True)
        assert board.session == 0
        backend.close()
        watcher.end(time.monotonic())
        assert server.bridge.rates == [WORD_1M, WORD_BASE, WORD_1M, WORD_BASE]
    assert watcher.broken == []
    assert not [rule.name for rule in RULES if rule.of != "frames" and not watcher.judged[rule.name]], watcher.judged


def test_an_adapter_does_not_hold_answers_back(monkeypatch):
    """The flag is set while the port is open, and restored afterwards; an adapter that has it already, or cannot have it, is left alone."""
    before, written = SerialFlags(bytes(range(128))), []
    monkeypatch.setattr(SerialFlags, "write", lambda flags, file: written.append(flags) or True)
    with Server(FakeBoard()) as server:
        for flags, wanted in (
            (SerialFlags(before.raw[:16] + bytes(112)), True),
            (SerialFlags(before.raw[:16] + bytes(112)).with_low_latency(), False),
            (None, False),
        ):
            written.clear()
            monkeypatch.setattr(SerialFlags, "read", lambda file, flags=flags: flags)
            bus = open_port(server.spec)
            assert [each.low_latency for each in written] == [True] * wanted
            bus.close()
            assert written[1:] == ([flags] if wanted else [])
            written.clear()
            os.close(SerialStream(server.spec, 115_200).keep())
            assert [each.low_latency for each in written] == [True] * wanted  # the next user of the port needs it, too
        monkeypatch.setattr(SerialFlags, "write", lambda flags, file: False)
        monkeypatch.setattr(SerialFlags, "read", lambda file: before)
        open_port(server.spec).close()
