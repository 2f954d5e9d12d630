# SPDX-License-Identifier: BSD-2-Clause
"""From what the user asked for to an identified device: simulated SoC, UARTBone, later the kernel driver.

There is no fallback from one to another: without a device the command fails, it never simulates by itself.
"""

import contextlib
import fcntl
import os
import stat
import tempfile
from pathlib import Path

from litepulse.device import Device
from litepulse.errors import BadInput, LitePulseError
from litepulse.transport import DEFAULT_BAUD, check_not_raised, open_port

DRIVER_DEVICE = "/dev/litepulse0"
SIM, UARTBONE = "sim", "uartbone"  # what `backend` says in JSON


class Owner:
    """One process at a time reads a board's streams; others may still stop and adjust what runs."""

    def __init__(self, name):
        folder = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir())
        if not folder.is_dir():
            folder = Path(tempfile.gettempdir())
        key = os.path.realpath(name) if name.startswith("/") else name
        self.path = folder / f"litepulse-{os.getuid()}-{''.join(c if c.isalnum() else '_' for c in key)}.lock"
        self._file = None

    def acquire(self):
        """True if no other process of this user has it."""
        number = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(number)
            return False
        os.ftruncate(number, 0)
        os.write(number, f"{os.getpid()}\n".encode())
        self._file = number
        return True

    def holder(self):
        """The other process's id, or '?'."""
        try:
            return self.path.read_text().strip() or "?"
        except OSError:
            return "?"

    def release(self):
        """Lets others in."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


class Connection:
    """A device and all that has to be closed after it."""

    def __init__(self, device, closers, owner=None):
        self.device = device
        self._closers = closers
        self.owner = owner

    def close(self):
        """Closes everything, the device's output is not touched."""
        for closer in self._closers:
            with contextlib.suppress(LitePulseError, OSError):
                closer()
        if self.owner:
            self.owner.release()


def connect(sim=False, port=None, port_baud=DEFAULT_BAUD, own=True, sim_options=None, bridge_baud=None):
    """A Connection to the device that was asked for; the session is open. `own`: for whoever reads the streams.

    `port_baud` is the bridge's bit rate, `bridge_baud` the one it shall be raised to.
    """
    if sim and port:
        raise BadInput("--sim and --port exclude each other")
    if sim and bridge_baud is not None:
        raise BadInput("--bridge-baud works with --port only")
    if sim:
        from litepulse.simulator import Simulator

        simulator = Simulator(**(sim_options or {}))
        return _identified(simulator.bus, SIM, "simulated SoC", True, [simulator.close], None)
    if port:
        owner = Owner(port)
        if not own:
            owner = None
        elif not owner.acquire():
            check_not_raised(port)  # whoever has raised it has it alone: that is told instead
            raise LitePulseError(f"{port}: in use by another litepulse (process {owner.holder()}); 'stop' and 'adjust' work beside it")
        try:
            bus = open_port(port, port_baud, bridge_baud=bridge_baud)
            return _identified(bus, UARTBONE, port, False, [bus.close], owner)
        except BaseException:
            if owner:
                owner.release()
            raise
    with contextlib.suppress(OSError):
        if stat.S_ISCHR(os.stat(DRIVER_DEVICE).st_mode):
            # The place of the kernel-driver backend.
            raise LitePulseError(f"{DRIVER_DEVICE} is there, but this version does not use the kernel driver yet: give --port")
    raise LitePulseError("no device: give --port /dev/ttyUSB1 or --port tcp:host:port, or --sim for the simulated SoC")


def _identified(bus, backend, name, simulated, closers, owner):
    try:
        device = Device(bus, backend, name, simulated)
        device.open_session()
    except BaseException:
        for closer in closers:
            closer()
        raise
    return Connection(device, closers, owner)
