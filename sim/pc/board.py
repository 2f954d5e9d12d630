# SPDX-License-Identifier: BSD-2-Clause
"""A board for the PC's USB port: the simulated SoC, its pins recorded. Its time goes by the wall clock, at a clock it can keep up with."""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from litepulse.vcd import Vcd
from litex_soc import sim_soc
from sim.cocotb_rig import ROOT, dies_with_us
from sim.guest.console import Change, GuestError

HZ = 1_000_000  # a clock that one core does with ease, a slow one beside a PC, too
START_SECONDS = 20
# What a signal of the VCD is called in the other rigs.
PINS = {"tx": "tx", "rx": "rx", "de": "de", "tx_oe": "tx_oe", "irq": "irq", **{f"in{n}": f"aux{n}" for n in range(4)}}
PINS |= {f"port{n}": f"port{n}" for n in range(8)}


def connect_to(program):
    """A socket to a program that has a TCP port on this machine."""
    end = socket.create_connection(("127.0.0.1", program.port), timeout=START_SECONDS)
    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return end


def tcp_of(process):
    """The port that a program names in its first line; None if it printed nothing within
    START_SECONDS."""
    ready = select.select([process.stdout], [], [], START_SECONDS)[0]
    line = process.stdout.readline() if ready else b""
    return json.loads(line)["tcp"] if line else None


class Uart:
    """A UART at the pins of a simulated SoC (litex_soc.sim_uart), as something that can be put on a line of the PC."""

    baud, late = None, 0  # of the line: its bytes come as fast as the UART has them

    def __init__(self, link, hz, baud):
        command = [sys.executable, "-m", "litex_soc.sim_uart", "--link", link, "--baud", baud, "--pulse-hz", hz, "--tcp", "0"]
        self.process = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            start_new_session=True,
            preexec_fn=dies_with_us(signal.SIGKILL),
        )
        self.port = tcp_of(self.process)
        if self.port is None:
            self.end()
            raise GuestError("the UART at the board's pins does not start")

    connect = connect_to

    def end(self):
        """Ends it. May be called again."""
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


class Board:
    """A simulated SoC that runs. Use it as a context: then it ends."""

    def __init__(self, hz=HZ, wires=(), options=(), baud=None, late=0, record=True, bus_divider=2, link=None, uart=None):
        """hz: its clock; wires: "tx:rx", "tx:aux0" and so on; options: of litepulse-sim, further ones.

        baud: of the line to the adapter, which otherwise carries all at once; late: seconds that it takes besides, each way;
        record: its pins; bus_divider: its clock to that of its bus;
        link: a path, the same for two boards whose TX and RX are wired to each other (--link of litepulse-sim).
        uart: bit rate of a UART at its pins, `self.uart`, which can be put on the line of an adapter, or of the PC's 16550.
        """
        self.hz, self.baud, self.late = hz, baud, late
        self.folder = tempfile.TemporaryDirectory(prefix="litepulse-board-")
        self.vcd = Path(self.folder.name) / "pins.vcd" if record else None
        wired = [
            word for wire in wires for word in (("--loop-tx-rx",) if wire == "tx:rx" else ("--loop-tx-input", wire.removeprefix("tx:aux")))
        ]
        if uart:
            link = str(Path(self.folder.name) / "wire")
        program = sim_soc.build(sys_hz=sim_soc.PULSE_HZ // bus_divider)
        command = [
            program,
            "--tcp",
            "0",
            "--exit-with-parent",
            "--pace",
            "--pulse-hz",
            hz,
            "--stats",
            *(("--vcd", self.vcd) if record else ()),
            *wired,
            *(("--link", link) if link else ()),
            *options,
        ]
        self.errors = open(Path(self.folder.name) / "errors", "w+b")
        self.process = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            start_new_session=True,
            preexec_fn=dies_with_us(signal.SIGKILL),
        )
        self.pins, self.stats, self.printed, self.uart = [], {}, "", None
        self.port = tcp_of(self.process)
        if self.port is None:
            self.end()
            raise GuestError(f"the simulated SoC does not start: {self.printed}")
        if uart:
            try:
                self.uart = Uart(link, hz, uart)
            except BaseException:
                self.end()
                raise

    connect = connect_to

    def pins_of(self, name):
        """[(tick, level)] of one pin, the level of the start first."""
        return [(change.tick, change.level) for change in self.pins if change.pin == name]

    def recorded(self):
        """All changes of the pins."""
        assert self.vcd
        signals = Vcd(self.vcd, self.hz).signals
        return sorted(
            (Change(tick, PINS[name], level) for name, changes in signals.items() if name in PINS for tick, level in changes),
            key=lambda change: change.tick,
        )

    def end(self):
        """Ends it; then `pins` and `stats` are there. May be called again."""
        if self.uart:
            self.uart.end()
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
        if self.errors.closed:
            return
        self.process.stdin.close()
        self.process.stdout.close()
        self.errors.seek(0)
        self.printed = self.errors.read().decode(errors="replace").strip()
        self.errors.close()
        if self.process.returncode == 0:
            self.stats = json.loads(self.printed.splitlines()[-1])
            self.pins = self.recorded() if self.vcd else []
        self.folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()
