# SPDX-License-Identifier: BSD-2-Clause
"""What a board on a serial port carries without the driver, in simulated time: `python -m lab.bench port`.

The package reads the simulated SoC through a line of a bit rate and an adapter with a latency timer. Both are a model here, in the
time of the simulated board: so a figure depends on no clock of this machine. The CPU time of Python is measured and stated apart.
"""

import contextlib
import json
import socket
import subprocess
import time
from unittest import mock

from litepulse.backends import uartbone
from litepulse.backends.bus.backend import BusBackend
from litepulse.backends.interface import Wanted
from litepulse.backends.uartbone import UARTBone
from litepulse.limits import DEFAULT_BAUD
from litepulse.line import Launch, Profile
from litepulse.units import BitPeriod, Period
from litex_soc import sim_soc
from sim import bridge_frames

LATENCY = 0.001  # seconds: the adapter passes on the rest this long after the last full packet
# (bit rate, Hz of the board, looks). At a low rate a slower board makes events fast enough, and fewer cycles are simulated.
LINES = ((DEFAULT_BAUD, 4_800_000, 5), (3_000_000, 48_000_000, 12))
PERIOD = 320  # ticks from frame to frame: 11 records, far more than any line carries


class Board:
    """A simulated SoC whose time passes only when pass_until() is called."""

    def __init__(self, hertz):
        command = [str(sim_soc.build()), "--tcp", "0", "--step", "1", "--pulse-hz", str(hertz), "--loop-tx-rx", "--exit-with-parent"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.hertz, self.tick = hertz, 0
        self.socket = socket.create_connection(("127.0.0.1", json.loads(self.process.stdout.readline())["tcp"]))

    def pass_until(self, seconds):
        """At least a cycle; the seconds since its reset."""
        cycles = max(1, round(seconds * self.hertz) - self.tick)
        self.process.stdin.write(f"{cycles}\n")
        self.process.stdin.flush()
        self.tick = json.loads(self.process.stdout.readline())["tick"]
        return self.tick / self.hertz

    def ask(self, request):
        """The bytes of the answer to a request."""
        self.socket.sendall(request.raw)
        answer = b""
        if request.number is None and not request.reads:
            return answer
        while True:
            answer += self.socket.recv(65536)
            with contextlib.suppress(IndexError):
                bridge_frames.answered(request, answer)
                return answer

    def close(self):
        """Ends it."""
        self.socket.close()
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class Adapter:
    """A uartbone.RatedStream to a Board. `now`: seconds since its reset; `cpu`: those that Python took between answer and question."""

    def __init__(self, board, baud):
        self.board, self.byte = board, 10 / baud
        self.now = self.cpu = 0.0
        self.since = time.process_time()
        self.line, self.requests = bridge_frames.Line(), []
        self.transactions = 0

    def lock(self):
        """There is no other program."""
        return contextlib.nullcontext()

    def has_frames(self):
        """No frames are used."""
        return False

    def mark_frames(self):
        """Nothing is recorded."""

    def send(self, data):
        """They are on the line at once."""
        self.cpu += time.process_time() - self.since
        self.now += len(data) * self.byte
        for request in self.line.requests(data):
            self.requests.append((self.now, request))

    def receive(self, timeout):
        """The answer to all that was sent, when its last byte has passed the adapter."""
        del timeout  # it comes in time
        answer = b""
        for arrived, request in self.requests:
            self.board.pass_until(arrived)
            answer += self.board.ask(request)
        if answer:
            self.transactions += 1
            done = self.board.pass_until(0)
            self.now = self.board.pass_until(max(done, self.now + len(answer) * self.byte) + LATENCY)
            self.since = time.process_time()
        self.requests = []
        return answer

    def close(self):
        """Nothing to do."""


def carried(baud, hertz, looks, frames):
    """{"per_second", "cpu_us" an event, "transactions" a look} of `looks` looks at a board with
    more events than can be read."""
    board = Board(hertz)
    adapter = Adapter(board, baud)
    bus = UARTBone(adapter, "board", baud)
    if not frames:
        bus.use_frames = lambda bridge: None
    try:
        with mock.patch.object(uartbone, "boottime", lambda: adapter.now):
            backend = BusBackend(bus, "uartbone", "board")
            if backend.registers.framed != frames:
                raise RuntimeError(f"the bridge has {'no ' * frames}frames")
            backend.line.set_profile(1, Profile(BitPeriod(16 * 256, backend.identity.timescale.tick_hz)))
            line = 1 << backend.identity.inputs
            backend.recorder.record(Wanted(rise=line, fall=line, launched=("train",)))
            backend.train.start(Launch("frame", 0x55, profile=1), Period(PERIOD, 0, 1))
            backend.look()
            backend.look()  # knows by now how many records there are
            begun, cpu, transactions, count = adapter.now, adapter.cpu, adapter.transactions, 0
            for _ in range(looks):
                count += len(backend.look()[1].events)
            seconds, cpu, transactions = adapter.now - begun, adapter.cpu - cpu, adapter.transactions - transactions
            if backend.recorder.events.decoder.broken:
                raise RuntimeError("records are missing without a word")
    finally:
        board.close()
    return {"per_second": count / seconds, "cpu_us": cpu / count * 1e6, "transactions": transactions / looks, "events": count / looks}


def measure():
    """{bit rate: {"plain", "frames"}} of carried()."""
    return {
        str(baud): {name: carried(baud, hertz, looks, name == "frames") for name in ("plain", "frames")} for baud, hertz, looks in LINES
    }


def lines(r):
    """The table of the page."""
    out = [
        "A board with more events than can be read, on a port without the driver. Time is that of the simulated board, line and",
        f"adapter: exact. What is less than a packet leaves the adapter after {1000 * LATENCY:.0f} ms, as with ASYNC_LOW_LATENCY.",
        "",
        "| bit rate | commands | events a look | transactions a look | events/s | µs of CPU an event, in Python | events/s with it |",
        "|---|---|---|---|---|---|---|",
    ]
    for baud, kinds in r.items():
        for name, text in (("plain", "plain"), ("frames", "checked frames, packed")):
            one = kinds[name]
            both = 1 / (1 / one["per_second"] + one["cpu_us"] / 1e6)
            out.append(
                f"| {int(baud):,} | {text} | {one['events']:.0f} | {one['transactions']:.1f} | {one['per_second']:,.0f} | "
                f"{one['cpu_us']:.1f} | {both:,.0f} |"
            )
    return out
