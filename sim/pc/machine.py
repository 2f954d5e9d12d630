# SPDX-License-Identifier: BSD-2-Clause
"""A PC in QEMU: starts it or resumes a saved state, plugs and unplugs USB adapters, carries bytes
between them and the boards.

QEMU computes every instruction (TCG): a KVM that is there may still not work. It ends with this process.

QEMU writes to an adapter's socket from its main loop and waits until all is written. So the other end must always read,
or all stands still, its monitor too: everything here happens in one loop, `pump`, which never waits
for one end.
"""

import contextlib
import itertools
import json
import os
import re
import select
import selectors
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from sim.cocotb_rig import dies_with_us
from sim.guest.console import KERNEL_LINE, GuestError, Line
from sim.pc.wire import Wire

QEMU = "qemu-system-x86_64"
MEMORY_MB = 256
# Of the machine: nothing but what the tests use. TCG simulates a processor that has more than most, and is slower for that: not `max`.
HARDWARE = (
    "-machine",
    "q35,accel=tcg,usb=off,vmport=off",
    "-cpu",
    "qemu64",
    "-m",
    str(MEMORY_MB),
    "-display",
    "none",
    "-nodefaults",
    "-no-user-config",
    "-no-reboot",
    "-rtc",
    "clock=host",
    "-device",
    "qemu-xhci,id=usb",
    "-device",
    "virtio-serial-pci",
    "-device",
    "virtserialport,chardev=channel,name=litepulse",
    "-serial",
    "chardev:kernel",
    "-serial",
    "chardev:com2",
    "-qmp",
    "chardev:monitor",
)
# Clocks are not compared: on a busy machine that ends in complaints. Addresses in a trace are the same each time.
BOOTARGS = "console=ttyS0 ignore_loglevel panic=-1 tsc=unstable nokaslr"
START_SECONDS = 30


class Stream:
    """One end of a socket; what is to be sent waits here until it can be."""

    def __init__(self, loop, end, received):
        end.setblocking(False)
        self.loop, self.end, self.received, self.waiting, self.open = loop, end, received, bytearray(), True
        loop.register(end, selectors.EVENT_READ, self)

    def send(self, data):
        """Sends, now or when the other side takes it."""
        if self.open:
            self.waiting += data
            self.flush()

    def flush(self):
        """Sends what can be sent at once."""
        with contextlib.suppress(BlockingIOError):
            while self.waiting:
                try:
                    del self.waiting[: self.end.send(self.waiting)]
                except (BrokenPipeError, ConnectionResetError):
                    self.close()
                    return
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if self.waiting else 0)
        if self.loop.get_key(self.end).events != wanted:
            self.loop.modify(self.end, wanted, self)

    def serve(self, events):
        """Called by the loop."""
        if events & selectors.EVENT_WRITE:
            self.flush()
        if self.open and events & selectors.EVENT_READ:
            try:
                data = self.end.recv(1 << 16)
            except BlockingIOError:
                return
            except ConnectionResetError:
                data = b""
            if data:
                self.received(data)
            else:
                self.close()

    def close(self):
        """Both directions."""
        if self.open:
            self.open = False
            self.loop.unregister(self.end)
            self.end.close()


class Adapter:
    """A USB adapter with a board on it, or with none (`board` None)."""

    def __init__(self, machine, number):
        self.machine, self.number = machine, number
        self.board = self.to_board = None
        self.to_pc: Stream | None = None
        self.chardev = None  # QEMU's end of the line to the PC
        # What passes: mangle(to_the_pc, data) -> data. A test damages the line with it.
        self.mangle = None
        self.wires = {}  # {to_the_pc: Wire}, where the line has a bit rate

    def carry(self, to_the_pc, data):
        """Bytes came from one side; the other one gets them if it is there."""
        if self.mangle:
            data = self.mangle(to_the_pc, data)
        if self.wires:
            self.wires[to_the_pc].send(data)
        else:
            self.deliver(to_the_pc, data)

    def baud(self):
        """The bit rate that the PC has set, of the adapter that set its rate last; None if none has since watch_baud()."""
        rates = re.findall(rb"usb_serial_set_baud .* rate (\d+)", self.machine.path("errors").read_bytes())
        return int(rates[-1]) if rates else None

    def watch_baud(self):
        """Lets QEMU say which bit rates are set: it does not make bytes of another rate wrong."""
        self.machine.ask("trace-event-set-state", name="usb_serial_set_baud", enable=True)

    def deliver(self, to_the_pc, data):
        """Bytes arrive at a side."""
        to = self.to_pc if to_the_pc else self.to_board
        if to and data:
            to.send(data)

    def connect(self, board):
        """The board on the line: None takes it off."""
        if self.to_board:
            self.to_board.close()
        self.board = board
        self.wires = {}
        if board and board.baud:
            self.wires = {way: Wire(board.baud, lambda data, way=way: self.deliver(way, data), late=board.late) for way in (True, False)}
        self.to_board = board and Stream(self.machine.loop, board.connect(), lambda data: self.carry(True, data))


class Machine:
    """A PC that runs. Use it as a context: then it ends."""

    def __init__(self, kernel=None, archive=None, state=None, bootargs=""):
        """From `state`, a file that save() wrote; else from the beginning. Kernel and archive must be those of the state."""
        self.start = time.monotonic()
        self.loop = selectors.DefaultSelector()
        self.lines, self.partial, self.replies, self.adapters = [], {"kernel": b"", "channel": b""}, [], {}
        self.listeners = []  # functions that get each line
        self.happened = []  # names of QEMU's events, as "SUSPEND"
        self.folder = tempfile.TemporaryDirectory(prefix="litepulse-pc-")
        self.errors = open(Path(self.folder.name) / "errors", "w+b")
        names = ("kernel", "channel", "monitor", "com2")
        doors = {name: self.door(name) for name in names}
        command = [
            QEMU,
            *(word for name in names for word in ("-chardev", f"socket,id={name},path={self.path(name)}")),
            *HARDWARE,
            "-kernel",
            kernel.image,
            "-initrd",
            archive,
            "-append",
            f"{BOOTARGS} {bootargs}".strip(),
        ]
        if state:
            command += ["-incoming", f"exec:exec cat {state}"]
        try:
            self.process = subprocess.Popen(
                [str(word) for word in command],
                stdin=subprocess.DEVNULL,
                stdout=self.errors,
                stderr=self.errors,
                start_new_session=True,
                preexec_fn=dies_with_us(signal.SIGKILL),
            )
        except FileNotFoundError as error:
            raise GuestError(f"there is no {QEMU} (package qemu-system-x86): `make setup` installs it") from error
        try:
            ends = {name: self.accept(doors[name]) for name in names}
            self.kernel = Stream(self.loop, ends["kernel"], lambda data: self.printed("kernel", data))
            self.channel = Stream(self.loop, ends["channel"], lambda data: self.printed("channel", data))
            self.monitor = Stream(self.loop, ends["monitor"], self.answered)
            # The PC's 16550, /dev/ttyS1: connect() puts something on its line.
            self.com2 = Adapter(self, "com2")
            self.com2.to_pc = Stream(self.loop, ends["com2"], lambda data: self.com2.carry(False, data))
            self.heard = b""
            self.ask("qmp_capabilities")
            if state:
                self.pump(lambda: self.ask("query-status")["status"] == "paused", START_SECONDS, "the state is not taken up", pause=0.02)
                self.ask("cont")
        except BaseException:
            self.close()
            raise

    # --- sockets ---

    def path(self, name):
        """Of a socket."""
        return Path(self.folder.name) / name

    def door(self, name):
        """A socket to which QEMU connects."""
        door = socket.socket(socket.AF_UNIX)
        door.bind(str(self.path(name)))
        door.listen(1)
        door.settimeout(0.1)
        return door

    def accept(self, door):
        """The end that QEMU connected to."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            with contextlib.suppress(TimeoutError):
                end, _ = door.accept()
                door.close()
                return end
        raise GuestError(f"{QEMU} does not start: {self.error_output()}")

    def error_output(self):
        """QEMU's own messages."""
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace").strip() or "it says nothing"

    # --- the loop ---

    def pump(self, until, seconds, what, pause=None):
        """Keeps all going until `until()`; GuestError `what` after `seconds`, or when QEMU has
        gone. `pause`: between two looks."""
        deadline = time.monotonic() + seconds
        while not until():
            left = deadline - time.monotonic()
            if left <= 0:
                raise GuestError(f"{what} within {seconds:g} s")
            if self.process.poll() is not None:
                raise GuestError(f"{what}: {QEMU} has ended: {self.error_output()}")
            for key, events in self.events(min(left, pause or 0.5)):
                key.data.serve(events)
            for wire in self.wires():
                wire.pass_on()

    def wires(self):
        """Of all adapters whose lines have a bit rate."""
        return [wire for adapter in self.adapters.values() for wire in adapter.wires.values()]

    def events(self, seconds):
        """What happened at the sockets, after `seconds` at most, or when something is to arrive."""
        arrivals = [at for wire in self.wires() if (at := wire.next_at()) is not None]
        if not arrivals:
            return self.loop.select(seconds)
        # The loop's own select() waits whole milliseconds.
        select.select([self.loop.fileno()], [], [], max(0, min(seconds, min(arrivals) - time.monotonic())))
        return self.loop.select(0)

    def rest(self, seconds):
        """Keeps all going for `seconds`."""
        end = time.monotonic() + seconds
        self.pump(lambda: time.monotonic() >= end, seconds + 1, "rest", pause=0.05)

    def now(self):
        """Milliseconds since the start."""
        return int((time.monotonic() - self.start) * 1000)

    def printed(self, source, data):
        """Takes what came from the serial console or the channel, line by line."""
        *whole, self.partial[source] = (self.partial[source] + data).split(b"\n")
        for line in whole:
            text = line.decode(errors="replace").rstrip("\r")
            if source == "kernel" and not KERNEL_LINE.match(text):
                if not text.strip():
                    continue
                text = f"[    0.000000] {text}"  # the firmware's, a panic's
            self.lines.append(Line(self.now(), text))
            for listener in list(self.listeners):
                listener(text)

    # --- the monitor ---

    def answered(self, data):
        """Takes what the monitor says."""
        *whole, self.heard = (self.heard + data).split(b"\n")
        for line in whole:
            message = json.loads(line)
            if "return" in message or "error" in message:
                self.replies.append(message)
            elif "event" in message:
                self.happened.append(message["event"])

    def ask(self, command, **arguments):
        """Does a command of QEMU's monitor (QMP); what it returns."""
        self.replies.clear()
        words = {"execute": command, **({"arguments": arguments} if arguments else {})}
        self.monitor.send(json.dumps(words).encode() + b"\n")
        self.pump(lambda: self.replies, START_SECONDS, f"the monitor does not answer {command}")
        reply = self.replies.pop()
        if "error" in reply:
            raise GuestError(f"{command}: {reply['error']['desc']}")
        return reply["return"]

    def asleep(self, seconds):
        """Waits until the machine is in ACPI state S3 (`echo mem >/sys/power/state`)."""
        self.pump(lambda: "SUSPEND" in self.happened, seconds, "the machine does not fall asleep", pause=0.02)

    def wake(self):
        """Wakes it, as a key would: from the next line on the firmware runs."""
        self.happened.remove("SUSPEND")
        self.ask("system_wakeup")

    def save(self, state):
        """Stops the machine and writes its whole state to a file. No adapter may be plugged in: QEMU cannot save them."""
        self.ask("stop")
        self.ask("migrate-set-parameters", **{"max-bandwidth": 1 << 40})
        self.ask("migrate", uri=f"exec:exec cat >{state}")

        def done():
            status = self.ask("query-migrate")["status"]
            if status == "failed":
                raise GuestError("QEMU could not save its state")
            return status == "completed"

        self.pump(done, START_SECONDS, "the state is not saved", pause=0.02)

    def plug(self, number=0, board=None):
        """Plugs in an adapter, with a Board on it; returns the Adapter."""
        if number not in self.adapters:
            self.adapters[number] = Adapter(self, number)
        adapter = self.adapters[number]
        if adapter.chardev:
            # For a moment after it was pulled out QEMU still has it.
            self.pump(lambda: self.removed(adapter.chardev), START_SECONDS, "the old line is not given up", pause=0.02)
        adapter.chardev = f"cable{number}.{next(TURNS)}"
        path = self.path(adapter.chardev)
        door = self.door(path.name)
        self.ask(
            "chardev-add",
            id=adapter.chardev,
            backend={"type": "socket", "data": {"addr": {"type": "unix", "data": {"path": str(path)}}, "server": False}},
        )
        adapter.to_pc = Stream(self.loop, self.accept(door), lambda data: adapter.carry(False, data))
        adapter.connect(board)
        self.ask(
            "device_add",
            driver="usb-serial",
            id=f"adapter{number}",
            chardev=adapter.chardev,
            bus="usb.0",
            port=str(number + 1),
            **{"always-plugged": True},
        )
        return adapter

    def removed(self, chardev):
        """Has QEMU given up a line?"""
        try:
            self.ask("chardev-remove", id=chardev)
        except GuestError as error:
            if "is busy" not in str(error):
                raise
            return False
        return True

    def unplug(self, number=0):
        """Pulls the adapter out. The board goes on without."""
        adapter = self.adapters[number]
        # QEMU 7.2 crashed once in 150 times when bytes arrived for an adapter that it took away.
        adapter.connect(None)
        self.rest(0.01)
        self.ask("device_del", id=f"adapter{number}")
        adapter.to_pc.close()
        adapter.to_pc = None

    # --- the end ---

    def close(self):
        """Ends it."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for key in list(self.loop.get_map().values()):
            key.data.close()
        self.loop.close()
        self.errors.close()
        self.folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


TURNS = itertools.count()
